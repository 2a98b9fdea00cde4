//go:build unix

package main

import (
	"os"
	"syscall"
)

// apart leaves the terminal that the tests were started on: the programs that they start would ask there.
func apart() { _, _ = syscall.Setsid() }

// tryLock takes the lock of a file and says whether it was free.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

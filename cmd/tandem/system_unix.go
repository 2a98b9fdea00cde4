//go:build unix

package main

import (
	"os"
	"syscall"
)

const noFollow = syscall.O_NOFOLLOW

// writable fails where this user may not make files in a folder.
func writable(dir string) error {
	const writeAndSearch = 3
	return syscall.Access(dir, writeAndSearch)
}

// nonblocking makes reads of a pipe end when it is closed.
func nonblocking(f *os.File) (*os.File, error) {
	if err := syscall.SetNonblock(int(f.Fd()), true); err != nil {
		return nil, err
	}
	return os.NewFile(f.Fd(), f.Name()), nil
}

// noProcess says that no process has an id.
func noProcess(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

// tryLock takes the lock of a file and says whether nobody has it.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

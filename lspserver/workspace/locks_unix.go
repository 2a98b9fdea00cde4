//go:build unix

package workspace

import (
	"os"
	"syscall"
)

// noFollow refuses a file that is a link, dontBlock does not wait for one that is not regular.
const (
	noFollow  = syscall.O_NOFOLLOW
	dontBlock = syscall.O_NONBLOCK | syscall.O_CLOEXEC
)

// tryLock takes the lock of a file, alone or together with others; an error that is errHeld says that somebody has it.
func tryLock(f *os.File, alone bool) error {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK || err == syscall.EINTR {
		return errHeld
	}
	return err
}

// unlock gives a lock back.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

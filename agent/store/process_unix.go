//go:build unix

package store

import (
	"errors"
	"os"
	"syscall"
)

// Gone says that no process has the id.
func Gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// inode is a file's inode number, 0 if there is no such file.
func inode(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}

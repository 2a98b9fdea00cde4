//go:build unix

package main

import (
	"os"
	"syscall"
)

// nonblocking sets a pipe to non-blocking mode, so that closing it ends a pending read.
func nonblocking(f *os.File) (*os.File, error) {
	if err := syscall.SetNonblock(int(f.Fd()), true); err != nil {
		return nil, err
	}
	return os.NewFile(f.Fd(), f.Name()), nil
}

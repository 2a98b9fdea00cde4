//go:build unix

package main

import (
	"os"
	"syscall"
)

// nonblocking makes reads of a pipe end when it is closed.
func nonblocking(f *os.File) (*os.File, error) {
	if err := syscall.SetNonblock(int(f.Fd()), true); err != nil {
		return nil, err
	}
	return os.NewFile(f.Fd(), f.Name()), nil
}

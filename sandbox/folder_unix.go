//go:build unix

package sandbox

import (
	"os"
	"syscall"
)

// hold opens a folder; nil on an error.
func hold(path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil
	}
	return f
}

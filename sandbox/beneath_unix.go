//go:build unix

package sandbox

import (
	"io/fs"
	"syscall"
)

const dontWait = syscall.O_NONBLOCK

// linksOf is how many names a file has.
func linksOf(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}

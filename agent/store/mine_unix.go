//go:build unix

package store

import (
	"io/fs"
	"os"
	"syscall"
)

// noFollow refuses symbolic links, and does not block on a named pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// mine tells whether a file belongs to this user.
func mine(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(s.Uid) == os.Geteuid()
}

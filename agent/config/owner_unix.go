//go:build unix

package config

import (
	"io/fs"
	"os"
	"syscall"
)

// notOurs says that a file belongs to another user, other than root.
func notOurs(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) != os.Getuid() && s.Uid != 0
}

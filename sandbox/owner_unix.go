//go:build unix

package sandbox

import (
	"io/fs"
	"os"
	"syscall"
)

// foreign says that a file belongs to neither this user nor the system. In a user namespace the
// system's files have the owner of /.
func foreign(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || s.Uid == 0 || int(s.Uid) == os.Getuid() {
		return false
	}
	if top, err := os.Stat("/"); err == nil {
		if t, ok := top.Sys().(*syscall.Stat_t); ok && t.Uid == s.Uid {
			return false
		}
	}
	return true
}

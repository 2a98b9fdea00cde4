//go:build unix

package doctor

import "syscall"

// writable fails where this user may not make files in a folder.
func writable(dir string) error {
	const writeAndSearch = 3
	return syscall.Access(dir, writeAndSearch)
}

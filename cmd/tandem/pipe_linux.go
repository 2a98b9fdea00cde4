package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// widen gives a pipe room for a MiB, the most that a user may have where the system does not say otherwise: the two sides of it wait less often
// for one another when an answer is long. What is no pipe stays as it is, such as the sockets of libuv.
func widen(f *os.File) {
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
	}
}

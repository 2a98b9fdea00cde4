package terminal

import "golang.org/x/sys/unix"

func flush(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, unix.TCIFLUSH) }

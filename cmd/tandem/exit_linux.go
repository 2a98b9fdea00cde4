package main

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// awaitExit waits for the end of a process, or of ctx, and says which it was. The kernel tells by a file (pidfd_open) that is readable when
// the process has ended, so nothing is looked at meanwhile; an older kernel has none.
func awaitExit(ctx context.Context, pid int) bool {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return true
	}
	if err != nil {
		return pollExit(ctx, pid)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	defer context.AfterFunc(ctx, func() { _ = f.Close() })()
	readable, err := f.SyscallConn()
	if err != nil {
		return pollExit(ctx, pid)
	}
	over := false
	err = readable.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		over = err == nil && n > 0
		return over
	})
	if err != nil && ctx.Err() == nil {
		return pollExit(ctx, pid)
	}
	return over
}

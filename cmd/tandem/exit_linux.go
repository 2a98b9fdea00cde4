package main

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// waitForExit waits for the exit of a process, or the end of ctx, and reports whether the process
// exited. It blocks on a pidfd, which becomes readable at the exit; kernels without pidfd_open are
// polled.
func waitForExit(ctx context.Context, pid int) bool {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return true
	}
	if err != nil {
		return pollForExit(ctx, pid)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	defer context.AfterFunc(ctx, func() { _ = f.Close() })()
	readable, err := f.SyscallConn()
	if err != nil {
		return pollForExit(ctx, pid)
	}
	over := false
	err = readable.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		over = err == nil && n > 0
		return over
	})
	if err != nil && ctx.Err() == nil {
		return pollForExit(ctx, pid)
	}
	return over
}

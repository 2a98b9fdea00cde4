package tree

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// lower gives the goroutine, until it ends, a thread of its own that runs when no other wants to.
func lower() {
	runtime.LockOSThread() // the thread ends with the goroutine
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 19)
}

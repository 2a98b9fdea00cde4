//go:build unix

package tracked

import "syscall"

// nonblock makes that opening a pipe does not wait for its other end.
const nonblock = syscall.O_NONBLOCK

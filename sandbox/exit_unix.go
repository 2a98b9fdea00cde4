//go:build unix

package sandbox

import "syscall"

// exitCode is the code of a program that has ended; of one that a signal has ended, what a shell
// says.
func exitCode(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

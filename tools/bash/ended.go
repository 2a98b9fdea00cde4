package bash

import (
	"fmt"
	"time"
)

// timedOut says that the time of a command was over, and how to give it more.
func timedOut(took, limit time.Duration) string {
	const most, builds = 600 * time.Second, 120 * time.Second
	next := "run it with `background`"
	if limit < most {
		next = fmt.Sprintf("send it again with `timeout_ms` %d, or run it with `background`", min(most, max(builds, 2*limit)).Milliseconds())
	}
	return fmt.Sprintf("Command timed out after %s and was stopped. If it needs more time (a build, tests), %s.", seconds(took), next)
}

// signal is one of those that end commands, by its number, which Linux and macOS share; "" for any
// other.
func signal(number int) string {
	switch number {
	case 1:
		return "SIGHUP, hangup"
	case 2:
		return "SIGINT, interrupt"
	case 3:
		return "SIGQUIT, quit"
	case 4:
		return "SIGILL, illegal instruction"
	case 6:
		return "SIGABRT, abort"
	case 8:
		return "SIGFPE, arithmetic error"
	case 9:
		return "SIGKILL, killed, often for lack of memory"
	case 11:
		return "SIGSEGV, invalid memory access"
	case 13:
		return "SIGPIPE, nobody read its output"
	case 15:
		return "SIGTERM, asked to end"
	}
	return ""
}

// signalled says what an exit code tells of a signal, "" where it tells of none.
func signalled(code int) string {
	if name := signal(code - 128); name != "" {
		return fmt.Sprintf("The exit code %d is that of a program ended by signal %d (%s).", code, code-128, name)
	}
	return ""
}

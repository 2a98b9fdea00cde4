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

// signals are those that end commands, by their numbers, which Linux and macOS share.
var signals = map[int]string{
	1: "SIGHUP, hangup", 2: "SIGINT, interrupt", 3: "SIGQUIT, quit", 4: "SIGILL, illegal instruction", 6: "SIGABRT, abort",
	8: "SIGFPE, arithmetic error", 9: "SIGKILL, killed, often for lack of memory", 11: "SIGSEGV, invalid memory access",
	13: "SIGPIPE, nobody read its output", 15: "SIGTERM, asked to end",
}

// signalled says what an exit code tells of a signal, "" where it tells of none.
func signalled(code int) string {
	if name := signals[code-128]; name != "" {
		return fmt.Sprintf("The exit code %d is that of a program ended by signal %d (%s).", code, code-128, name)
	}
	return ""
}

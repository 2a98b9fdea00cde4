// Package sandbox holds what keeps a call inside its bounds: the one resolver of paths, the roots that confine them,
// and the Runner through which every child process is started.
package sandbox

import (
	"context"
	"fmt"
	"time"
)

// Stream names one of the two outputs of a command.
type Stream uint8

// The streams of a command.
const (
	Stdout Stream = iota + 1
	Stderr
)

// Command is one command as a Runner starts it: an argument vector, never a line for a shell to split. The program is an
// absolute path, or a name that is looked for in the PATH of this process.
type Command struct {
	Argv []string
	// Dir is the absolute working directory.
	Dir string
	// Env is the whole environment, "NAME=value"; nil means the filtered one of Environment.
	Env []string
	// Roots are folders that have no say in which programs run: no program is looked for in them, and neither an entry of
	// PATH nor a TMPDIR in them is handed on.
	Roots []string
	// Path are absolute folders that a person has named: PATH begins with them, wherever they are. Pass is what they have
	// named of the environment, see Environment.
	Path, Pass []string
	// Privileged keeps the capabilities that this process has; without it the command has none.
	Privileged bool
	// Stdin is what the command reads; nothing else is there to be read.
	Stdin string
	// Timeout ends the command; 0 means that only the context does.
	Timeout time.Duration
	// Grace is the time between TERM and KILL of the whole process group.
	Grace time.Duration
	// Hurry, once closed, cuts the grace to half a second: the program is about to end.
	Hurry <-chan struct{}
	// MaxOutput is how many bytes of each stream are kept: the head and the tail. 0 means 1 MiB.
	MaxOutput int
	// Output, when set, gets every chunk as it arrives, one call at a time; the chunk is its own only until it returns.
	Output func(s Stream, chunk []byte)
}

// Outcome is how a command ended. ExitCode is -1 where it timed out or was cancelled, 128+n where it died of signal n.
type Outcome struct {
	ExitCode       int
	Stdout, Stderr string
	// StdoutGap and StderrGap say what is missing from the two, where a stream was longer than Command.MaxOutput.
	StdoutGap, StderrGap Gap

	TimedOut  bool
	Cancelled bool
	Duration  time.Duration
}

// Gap is what was not kept of an output: Bytes bytes, in which Chars characters begin, are missing at the byte offset At.
// The zero Gap is none.
type Gap struct {
	At           int
	Bytes, Chars int64
}

// Mark puts a line in the place of what is missing from s.
func (g Gap) Mark(s string) string {
	if g.Bytes == 0 {
		return s
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", s[:g.At], g.Bytes, s[g.At:])
}

// Level says what a Runner confines commands with: "full", "landlock+seccomp" or "none", and why.
type Level struct{ Name, Reason string }

// Runner starts commands. It may be called concurrently. An error means that the command never ran; a command that
// failed, timed out or was cancelled is an Outcome. When Run returns, no process of the command's group is alive.
type Runner interface {
	Run(ctx context.Context, c Command) (Outcome, error)
	Level() Level
}

// Package sandbox holds what keeps a call inside its bounds: the one judge of paths, the Places at which what was
// judged is opened, and the Runner through which every child process is started.
package sandbox

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Stream names one of the two outputs of a command.
type Stream uint8

// The streams of a command.
const (
	Stdout Stream = iota + 1
	Stderr
)

// Profile says what a command may do. The zero value is none and does not run.
type Profile uint8

// Unconfined is the profile of a command that has all the rights of the user.
const Unconfined Profile = 1

// Surroundings say where programs are looked for and what a command gets of the environment.
type Surroundings struct {
	// Roots are folders that have no say in which programs run: no program is looked for in them, and neither an entry of
	// PATH nor a TMPDIR in them is handed on.
	Roots []string
	// Path are absolute folders that a person has named: PATH begins with them, wherever they are. Pass is what they have
	// named of the environment, see Environment.
	Path, Pass []string
}

// Command is one command as a Runner starts it: an argument vector, never a line for a shell to split.
type Command struct {
	// Argv begins with the absolute path of the program, as Runner.Find gives it.
	Argv []string
	// Dir is the folder to run in: on Linux the very one that is held, whatever stands at its path by now. Elsewhere it is
	// compared before it is entered by its path. Start only borrows it.
	Dir     *Folder
	Profile Profile
	// Env is the whole environment, "NAME=value"; nil means the filtered one of Environment.
	Env          []string
	Surroundings Surroundings
	// Privileged keeps the capabilities that this process has; without it the command has none.
	Privileged bool
	// Leave lets processes live that the command leaves in the background: a program that a person has configured may
	// begin an agent of theirs. All others are killed.
	Leave bool
	// Stdin is what the command reads; nothing else is there to be read.
	Stdin string
	// Interactive leaves standard input and output to whoever starts the command, see Process.
	Interactive bool
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
	// Background is how many processes the command had left in the background when it ended by itself. They were killed.
	// Left is how many processes of it could not be killed; systems other than Linux do not say.
	Background, Left int
	// Level is what confined the command, a Level.Name.
	Level string
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

// Runner starts commands. It may be called concurrently.
type Runner interface {
	// Find gives the absolute path of a program, which is what is shown, judged and run. What was found once stays the program
	// of that name, as long as it is there. The Runner of a session looks where the session does, whatever in says, and starts
	// commands in the session's surroundings.
	Find(name string, in Surroundings) (string, error)
	// Start starts a command, which ends with the context at the latest. An error means that it never ran; a command that
	// failed, timed out or was cancelled is an Outcome, also where the context had ended before.
	Start(ctx context.Context, c Command) (Process, error)
	Level() Level
}

// Process is a command that was started. All methods may be called concurrently.
type Process interface {
	// Stdin and Stdout are the streams of an interactive command, and nil otherwise. Stdin is closed when the command has
	// ended; Stdout is read to its end and closed by whoever started the command, and is not in the Outcome.
	Stdin() io.WriteCloser
	Stdout() io.ReadCloser
	// Stop cancels the command: TERM, after its grace KILL. It does not wait.
	Stop()
	// Wait returns when the command has ended. On Linux nothing is alive then that it has started; elsewhere no process of
	// its group is.
	Wait() Outcome
}

// Run starts a command and waits for its end.
func Run(ctx context.Context, r Runner, c Command) (Outcome, error) {
	p, err := r.Start(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	return p.Wait(), nil
}

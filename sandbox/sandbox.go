// Package sandbox holds what keeps a call inside its bounds: the one judge of paths, the Places at
// which what was judged is opened, and the Runner through which every child process is started.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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

// The profiles. All but Unconfined read what is not hidden, and start nothing that outlives the
// command. What they may change are temporary files of their own, a cache and, from Write on, the
// folders of Surroundings.Write without what is protected there.
const (
	// Unconfined has all the rights of the user.
	Unconfined Profile = iota + 1
	// ReadOnly changes nothing and reaches no network: rg and other helpers, and git where it only
	// looks.
	ReadOnly
	// Write reaches no network.
	Write
	// Loopback reaches a loopback interface of its own, which has nothing in common with the
	// host's. It is the profile of the commands of a model.
	Loopback
	// Proxy reaches a proxy of this process at that interface, and no other network.
	Proxy
)

// String is the name of the profile in settings and records.
func (p Profile) String() string {
	names := [...]string{"none", "unconfined", "ro", "write", "write+loopback", "write+proxy"}
	if int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("profile %d", p)
}

// ErrNotConfined is what a Runner answers that cannot confine a command as its profile demands. The
// command did not run.
var ErrNotConfined = errors.New("no sandbox can confine the command")

// Surroundings say where programs are looked for and what a command gets of the environment.
type Surroundings struct {
	// Roots are folders that have no say in which programs run: no program is looked for in them,
	// and neither an entry of PATH nor a TMPDIR in them is handed on.
	Roots []string
	// Path are absolute folders that a person has named: PATH begins with them, wherever they are.
	// Pass is what they have named of the environment, see Environment.
	Path, Pass []string
	// Hosts are what a command of the profile Proxy reaches, each with or without a port, see
	// proxy.New.
	Hosts []string
	// Paths say what a confined command may change and read, the same as for tools that work with
	// files. Without them it may change nothing.
	Paths *Paths
}

// Command is one command as a Runner starts it: an argument vector, never a line for a shell to
// split.
type Command struct {
	// Argv begins with the absolute path of the program, as Runner.Find gives it.
	Argv []string
	// Dir is the folder to run in: on Linux the very one that is held, whatever stands at its path
	// by now. Elsewhere it is compared before it is entered by its path. Start only borrows it.
	Dir     *Folder
	Profile Profile
	// Keeps names the cache that a command of the profile ReadOnly has, which outlives it and is
	// that of all with this name. Without a name it has one that ends with it. A command that may
	// write has the cache of its workspace. It must not be a list of folders.
	Keeps string
	// Env is the whole environment, "NAME=value"; nil means the filtered one of Environment.
	Env          []string
	Surroundings Surroundings
	// Given are variables, "NAME=value", that a person has written down for this very program: it
	// gets them as they are, on top of the environment, whatever their names look like.
	Given []string
	// Privileged keeps the capabilities that this process has; without it, and when it is confined,
	// the command has none.
	Privileged bool
	// Leave lets processes live that the command leaves in the background: a program that a person
	// has configured may begin an agent of theirs. All others are killed. A confined command leaves
	// nothing.
	Leave bool
	// Stdin is what the command reads; nothing else is there to be read.
	Stdin string
	// Interactive leaves standard input and output to whoever starts the command, see Process.
	Interactive bool
	// Switched lets Process.Access be called.
	Switched bool
	// Ports are TCP ports of the command's own network that the host reaches at 127.0.0.1, see
	// Connections.Relays, as long as it runs.
	Ports []int
	// Timeout ends the command; 0 means that only the context does.
	Timeout time.Duration
	// Grace is the time between TERM and KILL of the whole process group.
	Grace time.Duration
	// Hurry, once closed, cuts the grace to half a second: the program is about to end.
	Hurry <-chan struct{}
	// MaxOutput is how many bytes of each stream are kept: the head and the tail. 0 means 1 MiB.
	MaxOutput int
	// Output, when set, gets every chunk as it arrives, one call at a time; the chunk is its own
	// only until it returns.
	Output func(s Stream, chunk []byte)
}

// Outcome is how a command ended. ExitCode is -1 where it timed out or was cancelled, 128+n where
// it died of signal n.
type Outcome struct {
	ExitCode       int
	Stdout, Stderr string
	// StdoutGap and StderrGap say what is missing from the two, where a stream was longer than
	// Command.MaxOutput.
	StdoutGap, StderrGap Gap

	TimedOut  bool
	Cancelled bool
	Duration  time.Duration
	// Background is how many processes the command had left in the background when it ended by
	// itself. They were killed. Left is how many processes of it could not be killed; systems other
	// than Linux do not say.
	Background, Left int
	// Refused is what the command wanted to connect to and could not. Systems other than Linux do
	// not say.
	Refused Refused
	// Level is what confined the command, a Level.Name: LevelNone where its profile is Unconfined.
	Level string
}

// Refused are connections that the sandbox does not let commands have, as the kernel has seen them:
// no output of a command says so.
type Refused struct {
	// Network says that the command asked for a socket of TCP or UDP and got none, or tried to
	// reach a host beyond its own network.
	Network bool
	// Unix says that it asked for a Unix socket, such as that of a database, of Docker or of an SSH
	// agent.
	Unix bool
}

// Connections is what is known of the network of a command that runs.
type Connections struct {
	Refused Refused
	// Listening are the ports at which it takes TCP connections in a network of its own; nothing
	// beyond that reaches them but a Relay.
	Listening []int
	// Relays are those of Command.Ports.
	Relays []Relay
}

// Unreached are the ports of Listening without a relay.
func (c Connections) Unreached() (ports []int) {
	for _, port := range c.Listening {
		if !slices.ContainsFunc(c.Relays, func(r Relay) bool { return r.Port == port }) {
			ports = append(ports, port)
		}
	}
	return ports
}

// Relay leads from a port of the host, at 127.0.0.1, to one of a command.
type Relay struct{ Port, Host int }

// Networked is a Process whose network is known. Connections waits a second at most; an error says
// that nothing can be known.
type Networked interface {
	Process
	Connections() (Connections, error)
}

// Gap is what was not kept of an output: Bytes bytes, with Lines line ends among them, are missing
// at the byte offset At. The zero Gap is none.
type Gap struct {
	At           int
	Bytes, Lines int64
}

// Mark puts a line in the place of what is missing from s.
func (g Gap) Mark(s string) string {
	if g.Bytes == 0 {
		return s
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", s[:g.At], g.Bytes, s[g.At:])
}

// The names of the levels.
const (
	// LevelFull confines by namespaces, Landlock and seccomp.
	LevelFull = "full"
	// LevelPart confines without namespaces: what is below the folders that may be written is not
	// protected there, and modes and owners of other files of the user can be changed.
	LevelPart = "landlock+seccomp"
	// LevelNone confines nothing.
	LevelNone = "none"
)

// Level says what a Runner confines commands with, by the name of a level, and why it is no more.
type Level struct {
	Name, Reason string
	// Below says that other systems of the kind can do more: a person is told.
	Below bool
}

// Confines says that commands of all profiles but Unconfined are confined.
func (l Level) Confines() bool { return l.Name == LevelFull || l.Name == LevelPart }

// Under is the level in force under the setting sandbox.level, and where commands are to keep their
// capabilities: then they cannot be confined.
func (l Level) Under(setting string, capabilities bool) Level {
	switch {
	case setting == "off":
		return Level{Name: LevelNone, Reason: "commands run with all the rights of this user: sandbox.level is off"}
	case capabilities:
		return Level{Name: LevelNone, Reason: "commands run with all the rights of this user: commands.capabilities is keep, and a confined command has none"}
	case setting == "strict" && l.Name == LevelPart:
		return Level{LevelNone, "sandbox.level is strict, and this system confines commands only in part: " + l.Reason, l.Below}
	}
	return l
}

// Runner starts commands. It may be called concurrently.
type Runner interface {
	// Find gives the absolute path of a program, which is what is shown, judged and run. What was
	// found once stays the program of that name, as long as it is there. The Runner of a session
	// looks where the session does, whatever in says, and starts commands in the session's
	// surroundings.
	Find(name string, in Surroundings) (string, error)
	// Start starts a command, which ends with the context at the latest. An error means that it
	// never ran; a command that failed, timed out or was cancelled is an Outcome, also where the
	// context had ended before. With ErrNotConfined the sandbox was not what Level had said. Level
	// says then what holds from now on.
	Start(ctx context.Context, c Command) (Process, error)
	// Level is found out by trying, at first and again after each ErrNotConfined; the call waits
	// for that. It gets lower at most.
	Level() Level
}

// Process is a command that was started. All methods may be called concurrently.
type Process interface {
	// Stdin and Stdout are the streams of an interactive command, and nil otherwise. Stdin is
	// closed when the command has ended; Stdout is read to its end and closed by whoever started
	// the command, and is not in the Outcome.
	Stdin() io.WriteCloser
	Stdout() io.ReadCloser
	// Access makes the folders that a confined command may write read-only for it, or lets them be
	// written again, as at first. It keeps its temporary files and its cache. An error says that
	// nothing has changed: it was not started as Command.Switched, it is not confined at LevelFull,
	// a file is open for writing there (EBUSY), or it has ended.
	Access(write bool) error
	// Stop cancels the command: TERM, after its grace KILL. It does not wait.
	Stop()
	// Wait returns when the command has ended. On Linux nothing is alive then that it has started;
	// elsewhere no process of its group is.
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

package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tandem/sandbox/keeper"
)

const (
	defaultOutput = 1 << 20
	// drain is how long a command that is over may keep its outputs open.
	drain = 200 * time.Millisecond
	// maxLate is how much is read after that, at least what a pipe holds.
	maxLate = 1 << 20
	// stuck is how long it may take until it is known what is left of a command that was killed.
	stuck = 5 * time.Second
	// haste is what is left of the grace when there is no time for it.
	haste = 500 * time.Millisecond
)

// Local runs commands, each in a session and a process group of its own, without input, and ending
// with this process. What confines them is what it finds that this system can do.
type Local struct {
	// Environ is what the environment of commands is taken out of; nil is the environment of this
	// process.
	Environ []string
	// Pass is what Environment lets through beyond the usual.
	Pass []string
	// Cache is a folder in which confined commands keep what they can make or download again, each
	// workspace in a folder of its own. One that was not used for 30 days is removed. Without it
	// they have one among their temporary files.
	Cache string

	judged  sync.Once
	path    []string // the folders of PATH that were judged fit
	finding sync.Mutex
	found   map[string]string   // programs
	outside map[string][]string // folders, by the roots that they do not lie in

	probing sync.Mutex // guards level
	level   Level      // the zero value is not known yet

	tidied sync.Once
	system system // what starts commands here
}

var _ Runner = (*Local)(nil)

// Level tries the sandbox out, once. It is LevelNone from then on that a command could not be
// confined and a new trial has failed too.
func (l *Local) Level() Level {
	l.probing.Lock()
	defer l.probing.Unlock()
	if l.level.Name == "" {
		level, settled := l.probe()
		if !settled { // it says nothing about the sandbox, so it is tried out again at the next command
			return level
		}
		l.level = level
	}
	return l.level
}

// Exhausted reports whether an error says that this process, or the system, can open no more files.
func Exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// errSlow says that a trial of the sandbox was not over in time, as on a very busy system.
var errSlow = fmt.Errorf("a trial of the sandbox was not over after %v", trialTime)

// trialTime is how long a trial of the sandbox may take: milliseconds, where a system is not busy.
const trialTime = 30 * time.Second

// undecided reports whether a trial of the sandbox has failed for a reason that says nothing of it.
func undecided(err error) bool { return Exhausted(err) || errors.Is(err, errSlow) }

// unsettled is the level while too many files are open to try the sandbox out, or it took too long.
func unsettled(err error) Level {
	return Level{Reason: "the sandbox could not be tried out, which is done again at the next command: " + err.Error()}
}

// doubt tries the sandbox out again after it has failed at a command. Where the trial succeeds, it
// was about that command alone. A lower level is no way out: nobody was told that commands run at
// it.
func (l *Local) doubt(level string, failure error) {
	l.probing.Lock()
	defer l.probing.Unlock()
	if l.level.Name != level || undecided(failure) { // it was found out already, or is no fault of the sandbox
		return
	}
	if err := l.again(level); err != nil && !undecided(err) {
		l.level = Level{LevelNone, "commands run with all the rights of this user: the level " + level + " was to be had when Tandem started, and " +
			"has failed since (" + failure.Error() + "), also at a new trial (" + err.Error() + "). It is not tried again before Tandem starts anew", true}
	}
}

// Close ends the processes that wait for the next command. It may be called at any time, and Local
// used again.
func (l *Local) Close() { l.system.close() }

// Start starts c. A context that has run out of time makes a timed-out Outcome, any other end of it
// a cancelled one.
func (l *Local) Start(ctx context.Context, c Command) (Process, error) {
	switch {
	case len(c.Argv) == 0:
		return nil, errors.New("no command to run")
	case !filepath.IsAbs(c.Argv[0]):
		return nil, fmt.Errorf("cannot start %s: it is no absolute path of a program", c.Argv[0])
	case c.Dir == nil:
		return nil, fmt.Errorf("cannot start %s: it has no folder to run in", c.Argv[0])
	case c.Profile == 0, c.Profile > Proxy:
		return nil, fmt.Errorf("cannot start %s: nobody has said what it may do (%v)", c.Argv[0], c.Profile)
	}
	level := Level{Name: LevelNone}
	if c.Profile != Unconfined {
		if level = l.Level(); !level.Confines() {
			return nil, fmt.Errorf("cannot start %s: %w: %s", c.Argv[0], ErrNotConfined, level.Reason)
		}
	}
	p, err := l.start(ctx, c, level.Name)
	if errors.Is(err, ErrNotConfined) {
		l.doubt(level.Name, err)
	}
	return p, err
}

// start starts a command at a level, which is LevelNone for Unconfined alone.
func (l *Local) start(ctx context.Context, c Command, level string) (Process, error) {
	p := &process{ended: make(chan struct{}), outcome: Outcome{Level: level}}
	if ctx.Err() != nil {
		return p.neverBegun(ctx), nil
	}
	env := c.Env
	if env == nil {
		env = unattended(l.environment(c.Surroundings), func(name string) bool { return l.named(c.Surroundings, name) })
		env = shellNamed(env, c.Argv[0])
	}
	in, cache := c.Surroundings, ""
	if level != LevelNone {
		temp := l.system.temp(level)
		env = set(env, "TMPDIR", temp)
		cache = l.cache(c)
		env = redirected(env, cmp.Or(cache, filepath.Join(temp, "cache")), proxyURL(c.Profile, level, keeper.ProxyAddress),
			func(name string) bool { return l.named(in, name) })
		if c.Profile == ReadOnly {
			env = inert(env)
		}
		in.Path = slices.Concat(in.Path, l.folders(in.Roots), toolchains(env))
	}
	for _, g := range c.Given {
		name, _, _ := strings.Cut(g, "=")
		env = append(set(env, name, ""), g)
	}
	env = append(env[:len(env):len(env)], "PWD="+c.Dir.path)
	out, err := capture(c)
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", c.Argv[0], err)
	}
	if level == LevelFull { // without a network of its own it is on the host's, or has none
		if p.relays, err = listenFor(c.Ports); err != nil {
			out.abort()
			return nil, fmt.Errorf("cannot start %s: %w", c.Argv[0], err)
		}
	}
	begun := time.Now()
	running, err := l.system.start(ctx, launch{
		argv: c.Argv, env: env, dir: c.Dir, streams: out.theirs, privileged: c.Privileged, leave: c.Leave, switched: c.Switched,
		level: level, profile: c.Profile, in: in, cache: cache,
	})
	if err != nil {
		closeAll(p.relays)
	}
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		out.abort()
		return p.neverBegun(ctx), nil
	case err != nil:
		out.abort()
		return nil, fmt.Errorf("cannot start %s: %w", c.Argv[0], err)
	}
	out.started(c.Stdin)
	p.running = running
	ctx, p.stop = context.WithCancel(ctx)
	if c.Interactive {
		p.stdin, p.stdout = out.stdin, out.stdout
	}
	for _, r := range p.relays {
		r.served.Go(func() { r.serve(running.dial) })
	}
	go func() {
		defer close(p.ended)
		defer p.stop()
		p.attend(ctx, running, c, begun)
		closeAll(p.relays)
		out.finish()
		p.outcome.Stdout, p.outcome.StdoutGap = out.kept[0].Output()
		p.outcome.Stderr, p.outcome.StderrGap = out.kept[1].Output()
		p.outcome.Duration = time.Since(begun)
	}()
	return p, nil
}

// launch is what a system starts. streams are the three of the command, which the system only
// borrows.
type launch struct {
	argv, env         []string
	dir               *Folder
	streams           [3]*os.File
	privileged, leave bool
	switched          bool

	level   string
	profile Profile
	in      Surroundings
	cache   string // may be written too, "" for none
}

// child is a program that was started, and what it starts. After wait has returned, the other
// methods do nothing.
type child interface {
	// wait returns when the program has ended and what it has left behind was killed, as far as the
	// system allows that.
	wait() end
	// terminate asks the process group to end.
	terminate()
	// kill ends all of it.
	kill()
	// access is Process.Access.
	access(write bool) error
	// connections and dial are what a Networked and its Relays need.
	connections() (Connections, error)
	dial(port int) (net.Conn, error)
	// abandon makes wait return, though it may not be known that all is gone.
	abandon()
}

// end is how a child has ended.
type end struct {
	code, background, left int
	refused                Refused
}

// process is a Process of Local.
type process struct {
	stop    context.CancelFunc
	running child // nil for one that was never begun
	ended   chan struct{}
	outcome Outcome // once ended is closed

	stdin, stdout *os.File
	relays        []*relay
}

// neverBegun is a process that the end of ctx has cut short before it was started.
func (p *process) neverBegun(ctx context.Context) *process {
	p.outcome.cutShort(ctx)
	p.stop = func() {}
	close(p.ended)
	return p
}

func (p *process) Stop() { p.stop() }

func (p *process) Wait() Outcome {
	<-p.ended
	return p.outcome
}

func (p *process) Access(write bool) error {
	if p.running == nil {
		return os.ErrProcessDone
	}
	return p.running.access(write)
}

func (p *process) Connections() (c Connections, err error) {
	if p.running == nil {
		return c, os.ErrProcessDone
	}
	c, err = p.running.connections()
	for _, r := range p.relays {
		c.Relays = append(c.Relays, r.leads)
	}
	return c, err
}

func (p *process) Stdin() io.WriteCloser {
	if p.stdin == nil {
		return nil
	}
	return p.stdin
}

func (p *process) Stdout() io.ReadCloser {
	if p.stdout == nil {
		return nil
	}
	return p.stdout
}

// attend waits until the command has ended by itself, or ends it: TERM first, KILL after the grace.
// Its time began before it was started, since a busy machine may take long for that.
func (p *process) attend(ctx context.Context, running child, c Command, begun time.Time) {
	var expired <-chan time.Time
	if c.Timeout > 0 {
		expired = time.After(time.Until(begun.Add(c.Timeout)))
	}
	var e end
	exited := make(chan struct{})
	go func() {
		e = running.wait()
		close(exited)
	}()
	o := &p.outcome
	select {
	case <-exited:
		o.ExitCode, o.Background, o.Left, o.Refused = e.code, e.background, e.left, e.refused
		return
	case <-ctx.Done():
		o.cutShort(ctx)
	case <-expired:
		o.TimedOut, o.ExitCode = true, -1
	}
	running.terminate()
	waitOr(exited, c.Hurry, c.Grace)
	running.kill()
	if !wait(exited, stuck) {
		running.abandon()
		<-exited
	}
	o.Left, o.Refused = e.left, e.refused
}

func wait(c <-chan struct{}, atMost time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(atMost):
		return false
	}
}

// waitOr is wait, of which little is left once hurry is closed.
func waitOr(c, hurry <-chan struct{}, atMost time.Duration) {
	select {
	case <-c:
	case <-time.After(atMost):
	case <-hurry:
		wait(c, min(atMost, haste))
	}
}

// cutShort says that the end of the context ended the command.
func (o *Outcome) cutShort(ctx context.Context) {
	o.ExitCode = -1
	o.TimedOut = errors.Is(ctx.Err(), context.DeadlineExceeded)
	o.Cancelled = !o.TimedOut
}

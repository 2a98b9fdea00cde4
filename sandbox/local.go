package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	defaultOutput = 1 << 20
	// drain is how long a command that is over may keep its outputs open, and a killed one may take to be gone.
	drain = 200 * time.Millisecond
	// maxLate is how much is read after that, at least what a pipe holds.
	maxLate = 1 << 20
	// haste is what is left of the grace when there is no time for it.
	haste = 500 * time.Millisecond
)

// Local runs commands with nothing that confines them. Each gets a session and a process group of its own, no input,
// and ends with this process.
type Local struct {
	// Environ is what the environment of commands is taken out of; nil is the environment of this process.
	Environ []string
	// Pass is what Environment lets through beyond the usual.
	Pass []string

	judged  sync.Once
	path    []string // the folders of PATH that were judged fit
	finding sync.Mutex
	found   map[string]string   // programs
	outside map[string][]string // folders, by the roots that they do not lie in
}

var _ Runner = (*Local)(nil)

// Level is "none".
func (l *Local) Level() Level {
	return Level{Name: "none", Reason: "commands run with all the rights of this user: no sandbox is in force" + caveat}
}

// Run starts c and waits for its end. A context that has run out of time makes a timed-out Outcome, any other end of it
// a cancelled one.
func (l *Local) Run(ctx context.Context, c Command) (Outcome, error) {
	if len(c.Argv) == 0 {
		return Outcome{}, errors.New("no command to run")
	}
	if ctx.Err() != nil {
		return ended(ctx, Outcome{}), nil
	}
	program, err := l.program(c.Argv[0], c)
	if err != nil {
		return Outcome{}, fmt.Errorf("cannot start %s: %w", c.Argv[0], err)
	}
	cmd := exec.Command(program, c.Argv[1:]...)
	cmd.Args[0] = c.Argv[0]
	cmd.Dir, cmd.Env = c.Dir, c.Env
	if cmd.Env == nil {
		cmd.Env = l.environment(c)
	}
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "PWD="+c.Dir)
	if c.Stdin != "" {
		cmd.Stdin = strings.NewReader(c.Stdin)
		cmd.WaitDelay = drain // a process that has left the group may hold this pipe open too
	}
	cmd.SysProcAttr = attributes()
	out, err := capture(cmd, c)
	if err != nil {
		return Outcome{}, err
	}
	begun := time.Now()
	exited, err := start(cmd, c.Privileged)
	out.started()
	if err != nil {
		out.finish()
		return Outcome{}, fmt.Errorf("cannot start %s: %w", c.Argv[0], err)
	}
	o := attend(ctx, cmd, c, exited)
	out.finish()
	o.Stdout, o.StdoutGap = out.kept[0].output()
	o.Stderr, o.StderrGap = out.kept[1].output()
	o.Duration = time.Since(begun)
	return o, nil
}

// start starts the command; exited is closed when it has ended, uncollected where the system allows that.
func start(cmd *exec.Cmd, privileged bool) (exited <-chan struct{}, err error) {
	started, over := make(chan error), make(chan struct{})
	go func() {
		// The signal at our death hangs on the thread that started the command, so that thread must outlive it.
		runtime.LockOSThread()
		var err error
		if privileged {
			defer runtime.UnlockOSThread()
		} else if err = dropCapabilities(); err != nil {
			started <- err
			return
		} // the thread has lost them too, so it ends with this goroutine
		err = cmd.Start()
		started <- err
		if err == nil {
			awaitExit(cmd)
			close(over)
		}
	}()
	return over, <-started
}

// attend waits until the command has ended by itself, or ends it: TERM first, KILL after the grace. Nothing of its
// process group is left when it returns.
func attend(ctx context.Context, cmd *exec.Cmd, c Command, exited <-chan struct{}) (o Outcome) {
	var expired <-chan time.Time
	if c.Timeout > 0 {
		t := time.NewTimer(c.Timeout)
		defer t.Stop()
		expired = t.C
	}
	select {
	case <-exited:
	case <-ctx.Done():
		o = ended(ctx, o)
	case <-expired:
		o.TimedOut, o.ExitCode = true, -1
	}
	if o.ExitCode < 0 {
		terminate(cmd)
		waitOr(exited, c.Hurry, c.Grace)
	}
	kill(cmd)
	if !wait(exited, drain) {
		go func() { // the kernel does not let go of it; whoever hangs there is no reason to hang here
			<-exited
			_ = cmd.Wait()
		}()
		return o
	}
	if cmd.ProcessState == nil {
		_ = cmd.Wait() // how it ended is in its state
	}
	if o.ExitCode == 0 {
		o.ExitCode = exitCode(cmd)
	}
	return o
}

func wait(c <-chan struct{}, atMost time.Duration) bool {
	t := time.NewTimer(atMost)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

// waitOr is wait, of which little is left once hurry is closed.
func waitOr(c, hurry <-chan struct{}, atMost time.Duration) {
	t := time.NewTimer(atMost)
	defer t.Stop()
	select {
	case <-c:
	case <-t.C:
	case <-hurry:
		wait(c, min(atMost, haste))
	}
}

func ended(ctx context.Context, o Outcome) Outcome {
	o.ExitCode = -1
	o.TimedOut = errors.Is(ctx.Err(), context.DeadlineExceeded)
	o.Cancelled = !o.TimedOut
	return o
}

// outputs are the two pipes of a command, read as it writes.
type outputs struct {
	readers, writers [2]*os.File
	kept             [2]kept
	done             sync.WaitGroup
}

func capture(cmd *exec.Cmd, c Command) (*outputs, error) {
	if c.MaxOutput <= 0 {
		c.MaxOutput = defaultOutput
	}
	o := &outputs{}
	for i := range o.readers {
		r, w, err := os.Pipe()
		if err != nil {
			o.started()
			for _, r := range o.readers[:i] {
				_ = r.Close()
			}
			return nil, fmt.Errorf("no pipe for the command's output: %w", err)
		}
		o.readers[i], o.writers[i] = r, w
		o.kept[i].half = max(1, c.MaxOutput/2)
	}
	cmd.Stdout, cmd.Stderr = o.writers[0], o.writers[1]
	var one sync.Mutex
	for i := range o.readers {
		o.done.Go(func() {
			o.read(i, func(chunk []byte) {
				if o.kept[i].Write(chunk); c.Output != nil && len(chunk) > 0 {
					one.Lock()
					defer one.Unlock()
					c.Output(Stdout+Stream(i), chunk)
				}
			})
		})
	}
	return o, nil
}

// read takes what comes from one of the pipes, until it is closed or the deadline of finish is over.
func (o *outputs) read(i int, take func(chunk []byte)) {
	buf := make([]byte, 32<<10)
	var err error
	for n := 0; err == nil; {
		n, err = o.readers[i].Read(buf)
		take(buf[:n])
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	// On a busy machine nobody may have read until now what the command has left in the pipe. A read whose deadline lies
	// ahead looks there before it waits.
	err = o.readers[i].SetReadDeadline(time.Now().Add(drain / 4))
	for n, left := 0, maxLate; err == nil && left > 0; left -= n {
		n, err = o.readers[i].Read(buf)
		take(buf[:n])
	}
}

// started lets go of our copies of the ends that the command writes to.
func (o *outputs) started() {
	for _, w := range o.writers {
		if w != nil {
			_ = w.Close()
		}
	}
}

// finish reads what is left. A process that has left the group may hold a pipe open: it is not waited for.
func (o *outputs) finish() {
	for _, r := range o.readers {
		_ = r.SetReadDeadline(time.Now().Add(drain))
	}
	o.done.Wait()
	for _, r := range o.readers {
		_ = r.Close()
	}
}

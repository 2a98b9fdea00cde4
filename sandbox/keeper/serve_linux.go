package keeper

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"

	"tandem/sandbox/confine"
)

// name is what a process is called that is a keeper.
const name = "tandem-keeper"

// A program of which this package is a part becomes a keeper before anything else of it is set up. That it happens here,
// and not in main, also holds for test programs.
func init() {
	if len(os.Args) == 1 && os.Args[0] == name {
		syscall.Exit(serve()) // at once: nothing of the program is to be put away
	}
	if len(os.Args) == 5 && os.Args[1] == ProbeName {
		syscall.Exit(probe(os.Args[2], os.Args[3], os.Args[4] == "full"))
	}
}

// serve is the keeper's life. It returns when the socket has ended and nothing runs any more.
func serve() int {
	debug.SetGCPercent(20) // a heap of 4 MB before the first collection, as usual, would be most of what a keeper needs
	k := guard{first: os.Getpid() == 1}
	if !k.first {
		conceal()
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 1
	}
	// Nothing that the server was given open by whoever started it is for the commands. Kernels before 5.11 cannot do it at once.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	unix.CloseOnExec(3)
	if unix.SetNonblock(3, true) != nil {
		return 1
	}
	k.socket = os.NewFile(3, "server")
	// While packages are initialised this goroutine is locked to its thread: each time it waits, another thread is woken.
	ended := make(chan int)
	go func() { ended <- k.obey() }()
	return <-ended
}

// obey does what the server says.
func (k *guard) obey() int {
	socket, requests := k.socket, make(chan request)
	go func() {
		defer close(requests)
		for {
			kind, body, files, err := receive(socket)
			if err != nil {
				return
			}
			requests <- request{kind, body, files}
		}
	}()
	for r := range requests {
		switch r.kind {
		case msgConfine:
			b, err := decodeBounds(string(r.body))
			if err != nil {
				return 1
			}
			k.bounds = b
		case msgStart:
			spec, err := decodeSpec(r.body, r.files)
			if err != nil {
				return 1
			}
			if spec.Bounds = k.bounds; !k.run(spec, requests) {
				return 0
			}
		} // anything else was meant for a command that has ended by itself
	}
	return 0
}

// conceal keeps the commands, which have the same user, from reading the memory and the descriptors of this process.
func conceal() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// guard is a keeper, seen from within.
type guard struct {
	socket *os.File
	first  bool    // it is pid 1
	bounds *Bounds // nil for none
	view   *view   // nil before the first command, and without namespaces

	starter   *starter   // nil before the first command
	listening []*os.File // the socket for a proxy, until the server has it
}

// prepare makes what the commands are to see.
func (k *guard) prepare() error {
	switch {
	case k.bounds == nil || k.first != k.bounds.Namespaces:
		if k.first || k.bounds != nil {
			return errors.New("namespaces: the keeper is one of another kind")
		}
		return nil
	case !k.first:
		return nil
	case k.view == nil:
		v, err := newView(k.bounds)
		conceal() // not before: the files in /proc that newView writes would not be this user's
		if err == nil && k.bounds.Policy.Network != confine.NoNetwork {
			err = up()
		}
		if err == nil && k.bounds.Policy.Network == confine.Proxy {
			k.listening, err = listen()
		}
		if err != nil {
			return fmt.Errorf("namespaces: %w", err)
		}
		k.view = v
	}
	if err := k.view.show(k.bounds); err != nil {
		return fmt.Errorf("mounts: %w", err)
	}
	return nil
}

// unfit says that a command cannot be confined. The keeper has to end.
func (k *guard) unfit(err error) bool {
	changed := 0
	if errors.Is(err, errChanged) {
		changed = 1
	}
	_ = send(k.socket, msgUnfit, append(numbers(changed), err.Error()...))
	return false
}

type request struct {
	kind  byte
	body  []byte
	files []*os.File
}

// run runs one command to its end and says whether another one can follow.
func (k *guard) run(spec *Spec, requests <-chan request) bool {
	socket := k.socket
	if err := k.prepare(); err != nil {
		return k.unfit(err)
	}
	pid, op, err := k.spawn(spec)
	for _, f := range []*os.File{spec.Dir, spec.Stdin, spec.Stdout, spec.Stderr} {
		_ = f.Close()
	}
	var unfit unfitError
	switch {
	case errors.As(err, &unfit):
		return k.unfit(unfit)
	case err != nil:
		var no syscall.Errno
		errors.As(err, &no)
		return send(socket, msgFailed, append(numbers(int(no)), op...)) == nil
	}
	connected := send(socket, msgStarted, numbers(pid), k.listening...) == nil
	for _, f := range k.listening { // it is the server's from now on
		_ = f.Close()
	}
	k.listening = nil
	c := command{pid: pid, dead: make(chan struct{}), collected: make(chan struct{})}
	go c.watch()
	for connected {
		select {
		case r, ok := <-requests:
			switch {
			case !ok:
				connected = false
			case r.kind == msgKill:
				end := c.sweep()
				return send(socket, msgEnded, numbers(int(end.Status), 0, end.Left)) == nil && end.Left == 0
			case r.kind == msgTerminate:
				_ = unix.Kill(-pid, unix.SIGTERM)
				_ = unix.Kill(-pid, unix.SIGCONT) // one that is stopped could not even die
			}
		case <-c.dead:
			c.collect()
			if c.ended && spec.Leave {
				_ = send(socket, msgEnded, numbers(int(c.status), 0, 0))
				return false
			}
			c.collected <- struct{}{}
			if c.ended {
				end := c.sweep()
				return send(socket, msgEnded, numbers(int(end.Status), end.Background, end.Left)) == nil && end.Left == 0
			}
		}
	}
	c.sweep()
	return false
}

// starter is a thread that is restricted as commands are to be, and starts one after another. Nothing takes back what restricts
// it, so the thread ends with the goroutine that is locked to it. The signal at the death of the parent hangs on that thread too:
// it lives at least as long as the command.
type starter struct {
	bounds     *Bounds
	privileged bool
	basis      *confine.Basis // nil without bounds
	starts     chan func()
}

// newStarter makes a starter for commands such as spec.
func newStarter(spec *Spec) (*starter, error) {
	s := &starter{bounds: spec.Bounds, privileged: spec.Privileged, starts: make(chan func())}
	restricted := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := s.restrict()
		if restricted <- err; err != nil {
			return
		}
		for start := range s.starts {
			start()
		}
	}()
	return s, <-restricted
}

// restrict restricts the calling thread.
func (s *starter) restrict() (err error) {
	switch {
	case s.bounds != nil:
		s.basis, err = confine.Restrict(s.bounds.Policy, s.bounds.Namespaces)
	case !s.privileged:
		err = confine.DropCapabilities()
	}
	return err
}

// fits says that commands such as spec can be started.
func (s *starter) fits(spec *Spec) bool {
	return s.bounds == spec.Bounds && s.privileged == spec.Privileged && (s.basis == nil || s.basis.Holds())
}

// unfitError is for a thread that could not be restricted.
type unfitError struct{ error }

// spawn starts the command in a session of its own. op is what failed.
func (k *guard) spawn(spec *Spec) (pid int, op string, err error) {
	// All threads share the folder, but only one command runs.
	if err := enter(spec); err != nil {
		return 0, "enter the folder of", err
	}
	defer func() { _ = unix.Chdir("/") }()
	if k.starter == nil || !k.starter.fits(spec) {
		if k.starter != nil {
			close(k.starter.starts)
			k.starter = nil
		}
		s, err := newStarter(spec)
		switch {
		case err != nil && spec.Bounds == nil:
			return 0, "drop the capabilities of", err
		case err != nil:
			return 0, "", unfitError{err}
		}
		k.starter = s
	}
	started := make(chan struct{})
	k.starter.starts <- func() {
		defer close(started)
		pid, err = syscall.ForkExec(spec.Argv[0], spec.Argv, &syscall.ProcAttr{
			Env: spec.Env, Files: []uintptr{spec.Stdin.Fd(), spec.Stdout.Fd(), spec.Stderr.Fd()},
			Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
		})
	}
	<-started
	return pid, "fork/exec", err
}

// enter makes the folder of the handle the one of this process, and no other one, whatever its path leads to now.
func enter(spec *Spec) error {
	dir := int(spec.Dir.Fd())
	if spec.Bounds == nil || !spec.Bounds.Namespaces {
		return unix.Fchdir(dir)
	}
	if err := unix.Chdir(spec.Path); err != nil {
		return err
	}
	var here, handle unix.Stat_t
	if err := errors.Join(unix.Stat(".", &here), unix.Fstat(dir, &handle)); err != nil {
		return err
	}
	if markOf(&here) != markOf(&handle) {
		return unix.ESTALE // another folder has come to stand there
	}
	return nil
}

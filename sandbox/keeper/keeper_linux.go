package keeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// answer is how long a keeper may take to say that the command was started.
	answer = 5 * time.Second
	// resuming is the time between two attempts to continue a keeper that has not answered yet.
	resuming = 20 * time.Millisecond
	// hurried is what is left of answer when the context of a start ends: a command that may have
	// begun is better ended by its keeper.
	hurried = 500 * time.Millisecond
	// farewell is how long a keeper that is closed may take to end by itself.
	farewell = time.Second
)

// Keeper is the handle of a keeper's process. Run, Terminate, Kill, Destroy and Close may be called
// while another goroutine is in Wait; a second Run only after Wait has returned.
type Keeper struct {
	cmd    *exec.Cmd
	socket *os.File
	answer time.Duration
	first  bool // it is pid 1 of a namespace: all that is below it ends with it

	// Proxied, if set before the first Run, is called by the first Run of a policy whose network is
	// a proxy, in a goroutine of its own, with the listener at ProxyAddress in the network of the
	// commands. Close closes it.
	Proxied  func(net.Listener)
	listener net.Listener

	accessed chan syscall.Errno // answers to Access
	network  chan Network       // answers to Network

	dialing sync.Mutex
	dials   map[int]chan dial // that wait for an answer
	lastID  int

	close   sync.Once
	closing chan struct{} // closed by Close

	mu sync.Mutex
	// over says that the keeper was destroyed or collected: its process id may be another
	// process's.
	over bool
	left int // what Destroy has given
}

// New starts a keeper, in namespaces of its own or without. It holds a goroutine and its thread
// until Close.
func New(namespaces bool) (*Keeper, error) { return start(program(namespaces), namespaces) }

// program is this one as a keeper, which is told what user it is to be in its namespaces.
func program(namespaces bool) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args[0] = name
	if namespaces {
		cmd.Args = append(cmd.Args, strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid()))
	}
	return cmd
}

// start starts the program that is to be a keeper.
func start(cmd *exec.Cmd, namespaces bool) (*Keeper, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("no socket for the keeper of a command: %w", err)
	}
	err = unix.SetNonblock(fds[0], true) // so that a goroutine that reads from it holds no thread, and for deadlines
	ours, theirs := os.NewFile(uintptr(fds[0]), "keeper"), os.NewFile(uintptr(fds[1]), "keeper")
	defer theirs.Close()
	if err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("no socket for the keeper of a command: %w", err)
	}
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.ExtraFiles = []*os.File{theirs}
	// In a session of its own it gets no keys typed into a terminal. A keeper that a command has
	// stopped does not see the end of its socket; so the kernel continues it when this process
	// ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT}
	if namespaces {
		// It has these capabilities within its own namespaces alone. Nobody there can stop it.
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Setsid: true, Pdeathsig: syscall.SIGKILL,
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC,
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP},
		}
	}
	k := &Keeper{cmd: cmd, socket: ours, answer: answer, first: namespaces, closing: make(chan struct{}), accessed: make(chan syscall.Errno, 1), network: make(chan Network, 1), dials: map[int]chan dial{}}
	started := make(chan error)
	go k.attend(started)
	if err := <-started; err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("the keeper of a command cannot be started: %w", err)
	}
	return k, nil
}

// attend starts the keeper and collects it after Close. The kernel sends the signal at the death of
// the parent when the thread that forked ends, so that thread lives as long as the keeper.
func (k *Keeper) attend(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := k.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	<-k.closing
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for { // without collecting it, so that its process id stays its own
			err := unix.Waitid(unix.P_PID, k.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	select {
	case <-ended:
	case <-time.After(farewell):
		k.Destroy()
		<-ended
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	_ = k.cmd.Wait()
}

// ErrGone says that a keeper had ended before it began with anything, so another one can be asked.
var ErrGone = errors.New("the keeper has ended")

// UnfitError says that a keeper could not confine a command, which did not run: which layer failed,
// and how.
type UnfitError string

func (e UnfitError) Error() string { return string(e) }

// Run starts a command and gives its process id. An *os.PathError says why it could not be started;
// after it the keeper can be used again. After any other error it is of no more use: with ErrGone
// and UnfitError nothing has begun; with the error of ctx, which has ended before the keeper
// answered, and with any other one, the command may have begun, and was killed. A keeper that does
// not answer within five seconds is destroyed.
func (k *Keeper) Run(ctx context.Context, s *Spec) (pid int, err error) {
	body, err := s.encode()
	if err != nil {
		return 0, &os.PathError{Op: "fork/exec", Path: s.Argv[0], Err: err}
	}
	deadline := time.Now().Add(k.answer)
	_ = k.socket.SetDeadline(deadline)
	answered, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		if !k.first { // no command can stop the first process of a namespace; a person may have
			k.resume()
		}
		done := ctx.Done()
		again := time.NewTicker(resuming) // the command may stop the keeper before the keeper has answered
		defer again.Stop()
		for {
			select {
			case <-again.C:
				k.resume()
			case <-done:
				done = nil
				if t := time.Now().Add(hurried); t.Before(deadline) {
					_ = k.socket.SetDeadline(t)
				}
			case <-answered:
				return
			}
		}
	}()
	sent := send(k.socket, msgStart, body, s.Dir, s.Stdin, s.Stdout, s.Stderr)
	var kind byte
	var files []*os.File
	if err = sent; err == nil {
		kind, body, files, err = receive(k.socket)
	}
	close(answered)
	<-ended
	if errors.Is(err, os.ErrDeadlineExceeded) {
		k.Destroy()
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if sent == nil { // what a killed process has not read makes ECONNRESET here, once it is dead
			_ = k.socket.SetDeadline(time.Now().Add(answer))
			kind, body, files, err = receive(k.socket)
		}
	}
	k.proxied(files)
	_ = k.socket.SetDeadline(time.Time{})
	switch {
	case sent != nil, errors.Is(err, syscall.ECONNRESET): // it has not read everything, and it begins only then
		return 0, fmt.Errorf("%w: %w", ErrGone, err)
	case err != nil:
		k.Destroy()
		return 0, err
	}
	if kind == msgUnfit {
		return 0, UnfitError(body)
	}
	switch n, err := parseNumbers(body[:min(4, len(body))], 1); {
	case err != nil:
		return 0, err
	case kind == msgStarted:
		return n[0], nil
	case kind == msgFailed:
		return 0, &os.PathError{Op: string(body[4:]), Path: s.Argv[0], Err: syscall.Errno(n[0])}
	}
	return 0, errMessage
}

// proxied takes the socket for a proxy, where one has come.
func (k *Keeper) proxied(files []*os.File) {
	for _, f := range files {
		l, err := net.FileListener(f)
		_ = f.Close()
		switch {
		case err != nil: // the commands reach nothing then
		case k.Proxied == nil || k.listener != nil:
			_ = l.Close()
		default:
			k.listener = l
			go k.Proxied(l)
		}
	}
}

// resume continues the keeper, where its command has stopped it.
func (k *Keeper) resume() { _ = k.cmd.Process.Signal(unix.SIGCONT) }

// Terminate sends TERM to the process group of the command.
func (k *Keeper) Terminate() {
	k.resume()
	_ = send(k.socket, msgTerminate, nil)
}

// Kill ends the command and all that it has started.
func (k *Keeper) Kill() {
	k.resume()
	_ = send(k.socket, msgKill, nil)
}

// Destroy ends a keeper that does not answer, or is not to be relied on any more: it kills all that
// is below the keeper, then the keeper, also where that is stopped. left is how many processes
// could not be killed.
func (k *Keeper) Destroy() (left int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.over {
		k.over = true
		if !k.first {
			k.left = killBelow(k.cmd.Process.Pid)
		}
		_ = k.cmd.Process.Kill()
	}
	return k.left
}

// Access makes what Bounds.Switched names read-only for the command, or lets it be written again.
// While a file is open for writing there, the kernel refuses to (EBUSY). It needs another goroutine
// in Wait, and returns when ended is closed at the latest. One call at a time.
func (k *Keeper) Access(write bool, ended <-chan struct{}) error {
	select {
	case <-k.accessed: // of a command that ended meanwhile
	default:
	}
	how := "r"
	if write {
		how = "w"
	}
	if err := send(k.socket, msgAccess, []byte(how)); err != nil {
		return err
	}
	select {
	case no := <-k.accessed:
		if no != 0 {
			return no
		}
		return nil
	case <-ended:
		return os.ErrProcessDone
	}
}

// Wait returns when the command has ended and nothing of it is left. An error means that the keeper
// itself has ended.
func (k *Keeper) Wait() (End, error) {
	kind, body, err := k.answered()
	if err != nil {
		return End{}, err
	}
	n, err := parseNumbers(body, 4)
	if err != nil || kind != msgEnded {
		return End{}, errMessage
	}
	return End{syscall.WaitStatus(n[0]), n[1], n[2], socketsOf(n[3])}, nil
}

// answered receives the next message that is no answer to Access, Network or Dial.
func (k *Keeper) answered() (kind byte, body []byte, err error) {
	for {
		kind, body, files, err := receive(k.socket)
		if err != nil || kind != msgAccess && kind != msgNetwork && kind != msgDial {
			return kind, body, err
		}
		n, err := parseNumbers(body, len(body)/4)
		if err != nil || len(n) == 0 || kind == msgDial && len(n) != 2 {
			return 0, nil, errMessage
		}
		switch kind {
		case msgAccess:
			offer(k.accessed, syscall.Errno(n[0]))
		case msgNetwork:
			offer(k.network, Network{socketsOf(n[0]), n[1:]})
		case msgDial:
			k.dialed(n[0], syscall.Errno(n[1]), files)
		}
	}
}

// offer gives an answer to whoever waits for it; nobody may.
func offer[T any](c chan T, answer T) {
	select {
	case c <- answer:
	default:
	}
}

// Network is what is known of the network of the running command. It needs another goroutine in
// Wait, and returns when ended is closed at the latest, or after a second. One call at a time.
func (k *Keeper) Network(ended <-chan struct{}) (Network, error) {
	select {
	case <-k.network: // of a call that did not wait for it
	default:
	}
	if err := send(k.socket, msgNetwork, nil); err != nil {
		return Network{}, err
	}
	select {
	case n := <-k.network:
		return n, nil
	case <-ended:
		return Network{}, os.ErrProcessDone
	case <-time.After(time.Second):
		return Network{}, os.ErrDeadlineExceeded
	}
}

// dial is an answer to Dial.
type dial struct {
	conn net.Conn
	err  error
}

// Dial connects to a port of the running command, in the network of its namespaces. It needs
// another goroutine in Wait, and returns when ended is closed at the latest.
func (k *Keeper) Dial(port int, ended <-chan struct{}) (net.Conn, error) {
	answer := make(chan dial, 1)
	k.dialing.Lock()
	k.lastID++
	id := k.lastID
	k.dials[id] = answer
	k.dialing.Unlock()
	err := send(k.socket, msgDial, numbers(id, port))
	if err == nil {
		select {
		case d := <-answer:
			return d.conn, d.err
		case <-ended:
			err = os.ErrProcessDone
		}
	}
	k.dialing.Lock()
	defer k.dialing.Unlock()
	delete(k.dials, id)
	select {
	case d := <-answer: // it came meanwhile
		if d.conn != nil {
			_ = d.conn.Close()
		}
	default:
	}
	return nil, err
}

// dialed gives the answer to Dial to whoever waits for it.
func (k *Keeper) dialed(id int, no syscall.Errno, files []*os.File) {
	var d dial
	if d.err = no; no == 0 {
		d.err = errMessage
	}
	for _, f := range files {
		if c, err := net.FileConn(f); err == nil && d.conn == nil && no == 0 {
			d.conn, d.err = c, nil
		}
		_ = f.Close()
	}
	k.dialing.Lock()
	defer k.dialing.Unlock()
	if answer, waits := k.dials[id]; waits {
		delete(k.dials, id)
		answer <- d
	} else if d.conn != nil {
		_ = d.conn.Close()
	}
}

// Close ends the keeper, and whatever it runs. It does not wait for that: a keeper that does not
// end by itself within a second is destroyed.
func (k *Keeper) Close() {
	k.close.Do(func() {
		k.resume()
		_ = k.socket.Close()
		if k.listener != nil {
			_ = k.listener.Close()
		}
		close(k.closing)
	})
}

package keeper

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tandem/sandbox/confine"
)

// name is what a process is called that is a keeper.
const name = "tandem-keeper"

// A program of which this package is a part becomes a keeper before anything else of it is set up.
// That it happens here, and not in main, also holds for test programs.
func init() {
	if os.Args[0] == name && (len(os.Args) == 1 || len(os.Args) == 3) {
		syscall.Exit(serve(os.Args[1:])) // at once: nothing of the program is to be put away
	}
	if len(os.Args) == 5 && os.Args[1] == ProbeName {
		syscall.Exit(probe(os.Args[2], os.Args[3], os.Args[4] == "full"))
	}
}

// serve is the keeper's life. It returns when the socket has ended and nothing runs any more. user
// are the numbers of the user and the group to be in namespaces, where there are some.
func serve(user []string) int {
	debug.SetGCPercent(20) // a heap of 4 MB before the first collection, as usual, would be most of what a keeper needs
	runtime.GOMAXPROCS(1)  // it does one thing after the other: a second processor is woken to wait
	var k guard
	if k.first = len(user) > 0; k.first {
		if os.Getpid() != 1 {
			return 1
		}
		k.ground, k.broken = newGround(user[0], user[1])
	}
	conceal() // not before: the files in /proc that newGround writes would not be this user's
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 1
	}
	// Nothing that the server was given open by whoever started it is for the commands. Kernels
	// before 5.11 cannot do it at once.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	unix.CloseOnExec(3)
	if unix.SetNonblock(3, true) != nil {
		return 1
	}
	k.socket = os.NewFile(3, "server")
	// While packages are initialised this goroutine is locked to its thread: each time it waits,
	// another thread is woken.
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
		if r.kind != msgStart { // it was meant for a command that has ended by itself
			continue
		}
		spec, err := decodeSpec(r.body, r.files)
		if err != nil {
			return 1
		}
		if !k.run(spec, requests) {
			return 0
		}
	}
	return 0
}

// conceal keeps the commands, which have the same user, from reading the memory and the descriptors
// of this process.
func conceal() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// guard is a keeper, seen from within.
type guard struct {
	socket *os.File
	first  bool    // it is pid 1 of namespaces
	ground *ground // of these
	broken error   // why there is none

	landlock confine.Landlock // kept from command to command

	unrouted int          // packets and connections of all commands so far that had no route
	earlier  int          // of them, those before this command
	refused  atomic.Int32 // bits of the sockets that the listener refused to this command
	listener *os.File     // of the seccomp filter of this command; nil where there is none

	mounts *os.File // the namespace of the command's mounts, where Bounds.Switched has some

	listened  bool
	listening []*os.File // the socket for a proxy, until the server has it
}

// kill gives what kills a command and all that it has started.
func (k *guard) kill() func() (alive int) {
	if k.first {
		return killNamespace
	}
	self, found := os.Getpid(), map[int]bool{}
	return func() int { return killAll(self, found) }
}

// proc is where the processes of the commands are.
func (k *guard) proc() string {
	if !k.first {
		return "/proc"
	}
	return path.Join(scratchAt, kernels["/proc"].name)
}

// refusals are the bits of the sockets that the command did not get, or had no route for in the
// network of the namespaces. The kernel counts what has no route there, and datagrams to a resolver
// of the host that does not listen there.
func (k *guard) refusals() int {
	if k.first {
		k.unrouted = k.counters()
	}
	if k.unrouted != k.earlier {
		k.refused.Or(int32(bits(confine.Sockets{Network: true})))
	}
	return int(k.refused.Load())
}

// counters is the sum of what had no route so far.
func (k *guard) counters() (sum int) {
	for _, file := range []string{"snmp", "snmp6"} {
		text, _ := os.ReadFile(path.Join(k.proc(), "self/net", file))
		sum += counted(string(text), "Ip:OutNoRoutes", "Udp:NoPorts", "Ip6OutNoRoutes", "Udp6NoPorts")
	}
	return sum
}

// listensAt are the ports at which TCP connections are taken in the network of the namespaces.
func (k *guard) listensAt() (ports []int) {
	const state, listening = 3, "0A"
	if !k.first {
		return nil
	}
	_, own, _ := net.SplitHostPort(ProxyAddress)
	for _, file := range []string{"tcp", "tcp6"} {
		text, _ := os.ReadFile(path.Join(k.proc(), "self/net", file))
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) <= state || fields[state] != listening {
				continue
			}
			_, hex, _ := strings.Cut(fields[1], ":")
			if port, err := strconv.ParseInt(hex, 16, 32); err == nil && strconv.Itoa(int(port)) != own {
				ports = append(ports, int(port))
			}
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// dialed is a connection to a port in the network of the namespaces, or why there is none.
type dialed struct {
	body []byte
	file *os.File
}

// dial connects to a port, at the loopback address of either family.
func (k *guard) dial(id, port int) dialed {
	const atMost = 5 * time.Second
	no := unix.ENETUNREACH
	if k.first {
		for _, host := range []string{"127.0.0.1", "::1"} {
			c, err := net.DialTimeout("tcp", net.JoinHostPort(host, strconv.Itoa(port)), atMost)
			if err != nil {
				no = unix.ECONNREFUSED
				continue
			}
			f, err := c.(*net.TCPConn).File()
			_ = c.Close()
			if err == nil {
				return dialed{numbers(id, 0), f}
			}
		}
	}
	return dialed{numbers(id, int(no)), nil}
}

// counted adds counters of the kernel up: lines NAME VALUE, or two lines GROUP: NAME … and GROUP:
// VALUE ….
func counted(text string, names ...string) (sum int) {
	var head []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		value, err := strconv.Atoi(fields[1])
		switch group, ok := strings.CutSuffix(fields[0], ":"); {
		case !ok && err == nil && slices.Contains(names, fields[0]):
			sum += value
		case ok && err != nil:
			head = fields
		case ok && len(head) == len(fields):
			for i, name := range head[1:] {
				if n, err := strconv.Atoi(fields[i+1]); err == nil && slices.Contains(names, group+":"+name) {
					sum += n
				}
			}
		}
	}
	return sum
}

type request struct {
	kind  byte
	body  []byte
	files []*os.File
}

// run runs one command to its end and says whether another one can follow.
func (k *guard) run(spec *Spec, requests <-chan request) bool {
	socket, over := k.socket, make(chan struct{})
	defer close(over)
	defer k.forget()
	k.refused.Store(0)
	k.earlier = k.unrouted
	pid, op, err := k.spawn(spec, over)
	for _, f := range []*os.File{spec.Dir, spec.Stdin, spec.Stdout, spec.Stderr} {
		_ = f.Close()
	}
	switch no, plain := err.(syscall.Errno); {
	case plain:
		return send(socket, msgFailed, append(numbers(int(no)), op...)) == nil
	case err != nil: // it cannot be confined, and this keeper has to end
		_ = send(socket, msgUnfit, []byte(err.Error()))
		return false
	}
	connected := send(socket, msgStarted, numbers(pid), k.listening...) == nil
	for _, f := range k.listening { // it is the server's from now on
		_ = f.Close()
	}
	k.listening = nil
	c := command{pid: pid, kill: k.kill(), dead: make(chan struct{}), collected: make(chan struct{})}
	go c.watch()
	connections := make(chan dialed)
	for connected {
		select {
		case d := <-connections:
			var files []*os.File
			if d.file != nil {
				files = append(files, d.file)
			}
			connected = send(socket, msgDial, d.body, files...) == nil
			_ = d.file.Close()
		case r, ok := <-requests:
			switch {
			case !ok:
				connected = false
			case r.kind == msgKill:
				end := c.sweep()
				return send(socket, msgEnded, numbers(int(end.Status), 0, end.Left, k.refusals())) == nil && end.Left == 0
			case r.kind == msgTerminate:
				_ = unix.Kill(-pid, unix.SIGTERM)
				_ = unix.Kill(-pid, unix.SIGCONT) // one that is stopped could not even die
			case r.kind == msgAccess:
				connected = send(socket, msgAccess, numbers(int(k.access(spec, string(r.body) == "w")))) == nil
			case r.kind == msgNetwork:
				connected = send(socket, msgNetwork, numbers(append([]int{k.refusals()}, k.listensAt()...)...)) == nil
			case r.kind == msgDial:
				if n, err := parseNumbers(r.body, 2); err == nil {
					go func() {
						d := k.dial(n[0], n[1])
						select {
						case connections <- d:
						case <-over:
							_ = d.file.Close()
						}
					}()
				}
			}
		case <-c.dead:
			c.collect()
			if c.ended && spec.Leave {
				_ = send(socket, msgEnded, numbers(int(c.status), 0, 0, k.refusals()))
				return false
			}
			c.collected <- struct{}{}
			if c.ended {
				end := c.sweep()
				return send(socket, msgEnded, numbers(int(end.Status), end.Background, end.Left, k.refusals())) == nil && end.Left == 0
			}
		}
	}
	c.sweep()
	return false
}

// spawn starts the command in a session of its own, from a thread that is restricted as the command
// is to be. Nothing takes that back, so the thread ends with the goroutine that is locked to it,
// once over is closed: the signal at the death of the parent hangs on it. A syscall.Errno is why
// the command could not be started, and op what failed; any other error is why it cannot be
// confined.
func (k *guard) spawn(spec *Spec, over <-chan struct{}) (pid int, op string, err error) {
	started := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		if op, err = k.restrict(spec); err == nil {
			op = "fork/exec"
			pid, err = syscall.ForkExec(spec.Argv[0], spec.Argv, &syscall.ProcAttr{
				Env: spec.Env, Files: []uintptr{spec.Stdin.Fd(), spec.Stdout.Fd(), spec.Stderr.Fd()},
				Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
			})
		}
		close(started)
		<-over
	}()
	<-started
	if !k.first { // all threads have the same folder; unshare, which would change that, is refused in many containers
		_ = unix.Chdir("/")
	}
	return pid, op, err
}

// restrict makes the calling thread what a command is to be started from: its view of the files,
// its folder and its rights.
func (k *guard) restrict(spec *Spec) (op string, err error) {
	b := spec.Bounds
	switch {
	case !k.first:
	case k.broken != nil:
		return "", fmt.Errorf("namespaces: %w", k.broken)
	case b == nil:
		return "", errors.New("namespaces: a command that is not to be confined")
	default:
		if b.Policy.Network == confine.Proxy && !k.listened {
			k.listened = true
			if k.listening, err = listen(); err != nil {
				return "", fmt.Errorf("network: %v", err)
			}
		}
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return "", fmt.Errorf("namespaces: %w", err)
		}
		if err := k.ground.show(b); err != nil {
			return "", fmt.Errorf("mounts: %w", err)
		}
		if len(b.Switched) > 0 {
			if k.mounts, err = os.Open("/proc/thread-self/ns/mnt"); err != nil {
				return "", fmt.Errorf("mounts: %w", err)
			}
		}
	}
	if err == nil {
		err = enter(spec, k.first)
	}
	if err != nil {
		return "enter the folder of", err
	}
	switch {
	case b != nil:
		listener, err := k.landlock.Restrict(b.Policy, k.first)
		if err == nil && listener >= 0 {
			k.listen(listener)
		}
		return "", err
	case !spec.Privileged:
		err = confine.DropCapabilities()
	}
	return "drop the capabilities of", err
}

// listen answers the calls that the command's seccomp filter leaves to the keeper.
func (k *guard) listen(fd int) {
	_ = unix.SetNonblock(fd, true) // for the poller
	k.listener = os.NewFile(uintptr(fd), "seccomp")
	go confine.Refuse(k.listener, k.proc(), func(s confine.Sockets) { k.refused.Or(int32(bits(s))) })
}

// enter makes the folder of the handle the one of this thread, and no other one, whatever its path
// leads to now.
func enter(spec *Spec, namespaces bool) error {
	dir := int(spec.Dir.Fd())
	if !namespaces {
		return unix.Fchdir(dir)
	}
	if err := unix.Chdir(spec.Path); err != nil {
		return err
	}
	var here, handle unix.Stat_t
	if err := unix.Stat(".", &here); err != nil {
		return err
	}
	if err := unix.Fstat(dir, &handle); err != nil {
		return err
	}
	if markOf(&here) != markOf(&handle) {
		return unix.ESTALE // another folder has come to stand there
	}
	return nil
}

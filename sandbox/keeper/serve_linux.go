package keeper

import (
	"errors"
	"math"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// name is what a process is called that is a keeper.
const name = "tandem-keeper"

// A program of which this package is a part becomes a keeper before anything else of it is set up. That it happens here,
// and not in main, also holds for test programs.
func init() {
	if len(os.Args) == 1 && os.Args[0] == name {
		syscall.Exit(serve()) // at once: nothing of the program is to be put away
	}
}

// serve is the keeper's life. It returns when the socket has ended and nothing runs any more.
func serve() int {
	// The commands have the same rights and could read the memory and the descriptors of this process.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 1
	}
	// Nothing that the server was given open by whoever started it is for the commands. Kernels before 5.11 cannot do it at once.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	unix.CloseOnExec(3)
	if unix.SetNonblock(3, true) != nil {
		return 1
	}
	socket := os.NewFile(3, "server")
	requests := make(chan request)
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
		if r.kind != msgStart {
			continue // it was meant for a command that has ended by itself
		}
		spec, err := decodeSpec(r.body, r.files)
		if err != nil {
			return 1
		}
		if !run(spec, requests, socket) {
			return 0
		}
	}
	return 0
}

type request struct {
	kind  byte
	body  []byte
	files []*os.File
}

// run runs one command to its end and says whether another one can follow.
func run(spec *Spec, requests <-chan request, socket *os.File) bool {
	over := make(chan struct{})
	defer close(over)
	pid, op, err := spawn(spec, over)
	for _, f := range []*os.File{spec.Dir, spec.Stdin, spec.Stdout, spec.Stderr} {
		_ = f.Close()
	}
	if err != nil {
		var no syscall.Errno
		errors.As(err, &no)
		return send(socket, msgFailed, append(numbers(int(no)), op...)) == nil
	}
	connected := send(socket, msgStarted, numbers(pid)) == nil
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

// spawn starts the command in a session of its own. op is what failed.
func spawn(spec *Spec, over <-chan struct{}) (pid int, op string, err error) {
	started := make(chan struct{})
	go func() {
		// The signal at the death of the parent hangs on the thread that forked, so that thread lives as long as the
		// command. It has lost its capabilities for good, so it ends with this goroutine.
		runtime.LockOSThread()
		pid, op, err = fork(spec)
		close(started)
		<-over
	}()
	<-started
	return pid, op, err
}

func fork(spec *Spec) (pid int, op string, err error) {
	if !spec.Privileged {
		if err := dropCapabilities(); err != nil {
			return 0, "drop the capabilities of", err
		}
	}
	// The folder of the handle and no other one, whatever its path leads to now. All threads share it, but only one
	// command runs.
	if err := unix.Fchdir(int(spec.Dir.Fd())); err != nil {
		return 0, "enter the folder of", err
	}
	defer func() { _ = unix.Chdir("/") }()
	pid, err = syscall.ForkExec(spec.Argv[0], spec.Argv, &syscall.ProcAttr{
		Env: spec.Env, Files: []uintptr{spec.Stdin.Fd(), spec.Stdout.Fd(), spec.Stderr.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	return pid, "fork/exec", err
}

// dropCapabilities makes the programs that this thread starts have no capabilities, also as root: with them they could
// read the memory, environment and messages of the server. The thread keeps its own, so that it can enter the folder to
// start in. It must not be used for anything else afterwards.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return err
	}
	if have[0].Permitted|have[1].Permitted == 0 {
		return nil
	}
	have[0].Inheritable, have[1].Inheritable = 0, 0
	if err := unix.Capset(&header, &have[0]); err != nil { // takes the ambient ones away too
		return err
	}
	if os.Getuid() != 0 && os.Geteuid() != 0 { // the bounding set gives nothing to programs of an ordinary user
		return nil
	}
	for c := uintptr(0); ; c++ {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil { // the kernel has no more
			return nil
		}
		if has == 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && c == unix.CAP_SYS_PTRACE {
			return err
		}
	}
}

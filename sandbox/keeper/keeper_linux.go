package keeper

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Keeper is the handle of a keeper's process. Run, Terminate, Kill and Close may be called while another goroutine is in
// Wait; a second Run only after Wait has returned.
type Keeper struct {
	cmd    *exec.Cmd
	socket *os.File
}

// New starts a keeper.
func New() (*Keeper, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("no socket for the keeper of a command: %w", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil { // so that a goroutine that reads from it holds no thread
		return nil, fmt.Errorf("no socket for the keeper of a command: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "keeper"), os.NewFile(uintptr(fds[1]), "keeper")
	defer theirs.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args[0] = name
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // keys typed into a terminal are not for it
	if err := cmd.Start(); err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("the keeper of a command cannot be started: %w", err)
	}
	return &Keeper{cmd, ours}, nil
}

// ErrGone says that a keeper had ended before it began with anything, so another one can be asked.
var ErrGone = errors.New("the keeper has ended")

// Run starts a command and gives its process id. An *os.PathError says why it could not be started; after it the keeper can
// be used again. After any error but that and ErrGone the keeper has ended, and the command may have begun.
func (k *Keeper) Run(s *Spec) (pid int, err error) {
	body, err := s.encode()
	if err != nil {
		return 0, &os.PathError{Op: "fork/exec", Path: s.Argv[0], Err: err}
	}
	if err := send(k.socket, msgStart, body, s.Dir, s.Stdin, s.Stdout, s.Stderr); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrGone, err)
	}
	kind, body, _, err := receive(k.socket)
	switch {
	case errors.Is(err, syscall.ECONNRESET): // it has not read everything, and it begins only then
		return 0, fmt.Errorf("%w: %w", ErrGone, err)
	case err != nil:
		return 0, err
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

// Terminate sends TERM to the process group of the command.
func (k *Keeper) Terminate() { _ = send(k.socket, msgTerminate, nil) }

// Kill ends the command and all that it has started.
func (k *Keeper) Kill() { _ = send(k.socket, msgKill, nil) }

// Wait returns when the command has ended and nothing of it is left. An error means that the keeper itself has ended.
func (k *Keeper) Wait() (End, error) {
	kind, body, _, err := receive(k.socket)
	if err != nil {
		return End{}, err
	}
	n, err := parseNumbers(body, 3)
	if err != nil || kind != msgEnded {
		return End{}, errMessage
	}
	return End{syscall.WaitStatus(n[0]), n[1], n[2]}, nil
}

// Close ends the keeper, and whatever it runs.
func (k *Keeper) Close() {
	_ = k.socket.Close()
	go func() { _ = k.cmd.Wait() }() // it ends by itself now
}

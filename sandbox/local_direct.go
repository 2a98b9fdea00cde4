//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"sync"
)

// system starts commands as children of this process. What leaves their process group is out of its
// reach, and nothing is known of what they leave in the background.
type system struct{ confiner }

// start enters the folder by its path, after it has compared it. It may be exchanged between the
// two.
func (s *system) start(_ context.Context, l launch) (child, error) {
	if l.dir.Replaced() {
		return nil, ErrExchanged
	}
	argv, release := l.argv, func() {}
	if l.profile != Unconfined {
		var err error
		if argv, release, err = s.confined(l); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotConfined, err)
		}
	}
	cmd := &exec.Cmd{
		Path: argv[0], Args: argv, Env: l.env, Dir: l.dir.path,
		Stdin: l.streams[0], Stdout: l.streams[1], Stderr: l.streams[2], SysProcAttr: separate(),
	}
	if err := cmd.Start(); err != nil {
		release()
		return nil, err
	}
	return &direct{cmd: cmd, release: release, leave: l.leave, left: make(chan struct{})}, nil
}

type direct struct {
	cmd     *exec.Cmd
	release func() // once the command has ended
	leave   bool
	once    sync.Once
	left    chan struct{}
}

func (d *direct) wait() end {
	ended := make(chan struct{})
	go func() {
		_ = d.cmd.Wait()
		d.release()
		close(ended)
	}()
	select {
	case <-ended:
	case <-d.left:
		return end{code: -1, left: 1}
	}
	if !d.leave {
		kill(d.cmd)
	}
	return end{code: code(d.cmd)}
}

func (d *direct) terminate()                        { terminate(d.cmd) }
func (d *direct) kill()                             { kill(d.cmd) }
func (d *direct) access(bool) error                 { return errors.ErrUnsupported }
func (d *direct) connections() (Connections, error) { return Connections{}, errors.ErrUnsupported }
func (d *direct) dial(int) (net.Conn, error)        { return nil, errors.ErrUnsupported }
func (d *direct) abandon()                          { d.once.Do(func() { close(d.left) }) }

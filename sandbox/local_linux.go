package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tandem/sandbox/keeper"
)

const (
	// maxIdle is how many keepers wait for the next command, and rest how long they do.
	maxIdle = 2
	rest    = time.Minute
	// caveat is what Level says beside that nothing confines commands.
	caveat = ""
)

// system starts commands below keepers, and has those at hand that have nothing to do.
type system struct {
	mu   sync.Mutex
	idle []*keeper.Keeper
	end  *time.Timer // of those that are idle
}

// start starts a command. Where the keeper that was idle has ended or does not answer, a new one is asked.
func (s *system) start(ctx context.Context, l launch) (child, error) {
	if l.dir.held == nil {
		return nil, fmt.Errorf("there is no folder %s to run in", l.dir.path)
	}
	spec := keeper.Spec{
		Argv: l.argv, Env: l.env, Dir: l.dir.held, Stdin: l.streams[0], Stdout: l.streams[1], Stderr: l.streams[2],
		Privileged: l.privileged, Leave: l.leave,
	}
	k := s.take()
	for {
		used := k != nil
		if !used {
			var err error
			if k, err = keeper.New(); err != nil {
				return nil, err
			}
		}
		pid, err := k.Run(ctx, &spec)
		var failed *os.PathError
		switch {
		case errors.As(err, &failed):
			s.give(k)
			return nil, err
		case errors.Is(err, keeper.ErrGone) && used:
			k.Close()
			k = nil
			continue
		case errors.Is(err, keeper.ErrGone), err != nil && errors.Is(err, ctx.Err()):
			k.Close()
			return nil, err
		}
		// Where there is another error, the command has ended its keeper already: waiting will show it.
		return &guarded{system: s, keeper: k, pid: pid, leave: l.leave}, nil
	}
}

// take gives a keeper that has run a command and has nothing to do, or nil.
func (s *system) take() *keeper.Keeper {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.idle)
	if n == 0 {
		return nil
	}
	k := s.idle[n-1]
	s.idle = s.idle[:n-1]
	return k
}

// give takes a keeper back that has nothing to do.
func (s *system) give(k *keeper.Keeper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.idle) == maxIdle {
		k.Close()
		return
	}
	s.idle = append(s.idle, k)
	if s.end == nil {
		s.end = time.AfterFunc(rest, s.close)
	}
	s.end.Reset(rest)
}

func (s *system) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.idle {
		k.Close()
	}
	s.idle = nil
	if s.end != nil {
		s.end.Stop()
	}
}

// guarded is a command below a keeper.
type guarded struct {
	system *system
	pid    int
	leave  bool

	mu     sync.Mutex
	keeper *keeper.Keeper // nil once the command has ended
}

func (g *guarded) wait() end {
	g.mu.Lock()
	k := g.keeper
	g.mu.Unlock()
	e, err := k.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keeper = nil
	switch {
	case err != nil: // somebody has killed the keeper, or it does not answer
		left := k.Destroy()
		k.Close()
		if g.pid != 0 {
			_ = unix.Kill(-g.pid, unix.SIGKILL)
		}
		return end{code: 128 + int(unix.SIGKILL), left: left}
	case g.leave || e.Left > 0:
		k.Close()
	default:
		g.system.give(k)
	}
	return end{exitCode(e.Status), e.Background, e.Left}
}

// with calls f while the keeper is this command's.
func (g *guarded) with(f func(*keeper.Keeper)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.keeper != nil {
		f(g.keeper)
	}
}

func (g *guarded) terminate() { g.with((*keeper.Keeper).Terminate) }
func (g *guarded) kill()      { g.with((*keeper.Keeper).Kill) }

// abandon kills what is below the keeper from here.
func (g *guarded) abandon() {
	g.with(func(k *keeper.Keeper) {
		k.Destroy()
		k.Close() // so that wait returns even if the keeper does not die
	})
}

// Conceal keeps other processes of the same person, such as the commands that are run, from reading this one's memory and
// environment, where keys are. It also means that no core is dumped.
func Conceal() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) } // cannot fail with these arguments

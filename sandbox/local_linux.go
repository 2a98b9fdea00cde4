package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tandem/sandbox/confine"
	"tandem/sandbox/dial"
	"tandem/sandbox/keeper"
	"tandem/sandbox/proxy"
)

const (
	// maxIdle is how many keepers of one kind wait for the next command, and maxAll how many in
	// all.
	maxIdle = 2
	maxAll  = 6
	// rest is how long they do. One that confines has the commands' /tmp, which ends with it.
	rest         = time.Minute
	restConfined = 10 * time.Minute
)

// system starts commands below keepers, and has those at hand that have nothing to do.
type system struct {
	mu       sync.Mutex
	idle     []idle // the longest idle first
	end      *time.Timer
	closed   int           // how often
	starting chan struct{} // closed when the spare that is being started is there; nil if none is
	alone    bool          // no spare is started
	misses   int           // commands for which no keeper of their kind was waiting

	dialer dial.Dialer // of the proxy of commands

	made   sync.Once
	folder string // for temporary files, where there are no mounts
}

// spare is the kind of a keeper in namespaces that was started ahead and has run nothing: it will
// do for any command there.
const spare = "spare"

// idle is a keeper that has nothing to do. It is used again for commands of the same kind.
type idle struct {
	*keeper.Keeper
	kind  string
	until time.Time
}

// start starts a command. Where the keeper that was idle has ended or does not answer, or where its
// mounts cannot be brought to what is allowed now, a new one is asked.
func (s *system) start(ctx context.Context, l launch) (child, error) {
	switch {
	case l.dir.held == nil:
		return nil, fmt.Errorf("there is no folder %s to run in", l.dir.path)
	case l.leave && l.profile != Unconfined:
		return nil, errors.New("a confined command leaves nothing")
	}
	spec := keeper.Spec{
		Argv: l.argv, Env: l.env, Dir: l.dir.held, Path: l.dir.path, Stdin: l.streams[0], Stdout: l.streams[1], Stderr: l.streams[2],
		Privileged: l.privileged, Leave: l.leave,
	}
	kind := ""
	var guard gitGuard
	if l.level == LevelFull {
		var err error
		if guard, err = guardGit(l.in.Paths.guarded(l.profile)); err != nil {
			return nil, err
		}
	}
	begun := false
	defer func() {
		if !begun {
			guard.release()
		}
	}()
	if l.profile != Unconfined {
		kind, spec.Bounds = s.bounds(l)
	}
	reached, err := proxy.New(l.in.Hosts, s.dialer)
	if err != nil {
		return nil, fmt.Errorf("the hosts that commands may reach: %w", err)
	}
	k, more := s.take(kind), false
	if k == nil && l.level == LevelFull {
		if k = s.spare(); k != nil {
			k.Proxied = reached.Serve
		}
		more = s.missed(k != nil)
	}
	for {
		used := k != nil
		if !used {
			var err error
			k, err = keeper.New(l.level == LevelFull)
			if err != nil {
				if l.profile != Unconfined {
					err = fmt.Errorf("%w: namespaces: %w", ErrNotConfined, err)
				}
				return nil, err
			}
			k.Proxied = reached.Serve
		}
		pid, err := k.Run(ctx, &spec)
		var failed *os.PathError
		var unfit keeper.UnfitError
		switch {
		case errors.As(err, &failed):
			s.give(k, kind)
			return nil, err
		case errors.Is(err, keeper.ErrGone) && used, errors.As(err, &unfit) && used:
			k.Close()
			k = nil
			continue
		case errors.As(err, &unfit):
			k.Close()
			return nil, fmt.Errorf("%w: %w", ErrNotConfined, err)
		case errors.Is(err, keeper.ErrGone), err != nil && errors.Is(err, ctx.Err()):
			k.Close()
			return nil, err
		}
		// Where there is another error, the command has ended its keeper already: waiting will show
		// it.
		begun = true
		return &guarded{system: s, keeper: k, kind: kind, more: more, pid: pid, leave: l.leave, guard: guard, ended: make(chan struct{})}, nil
	}
}

// bounds are what a command is confined to. Keepers are of one kind for the same profile and the
// same folders, that of caches included.
func (s *system) bounds(l launch) (kind string, b *keeper.Bounds) {
	b = &keeper.Bounds{
		Policy: policy(l.profile, l.in, l.dir.path, l.level == LevelFull, s.temp(l.level), l.cache),
		Marks:  map[string]keeper.Mark{},
	}
	if l.switched && l.level == LevelFull {
		b.Switched = switched(b.Policy, l.cache)
	}
	kind = fmt.Sprintf("%v %s %q %q", l.profile, l.level, l.in.Hosts, l.cache)
	if l.in.Paths == nil {
		return kind, b
	}
	for _, r := range l.in.Paths.roots {
		if info := r.held(); info != nil {
			if at, ok := info.Sys().(*syscall.Stat_t); ok {
				b.Marks[r.path] = keeper.Mark{Dev: at.Dev, Ino: at.Ino}
			}
		}
		kind += fmt.Sprintf("\x00%s %v", r.path, b.Marks[r.path])
	}
	kind += fmt.Sprintf("\x00%q", l.in.Paths.Linked()) // a keeper takes back no mount
	return kind, b
}

// switched are the rules of a policy that let the workspace be written: all but those of devices
// and of the cache. There are none where everything may be written.
func switched(p confine.Policy, cache string) (paths []string) {
	for _, r := range p.Rules {
		switch {
		case r.Access != confine.Write, r.Path == cache, strings.HasPrefix(r.Path, "/dev/"):
		case r.Path == "/":
			return nil
		default:
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// temp is the folder that the commands of a level have for temporary files: a /tmp of their own, or
// where there are no mounts, a folder that is made once.
func (s *system) temp(level string) string {
	if level == LevelFull {
		return "/tmp"
	}
	s.made.Do(func() {
		if dir, err := os.MkdirTemp("", "tandem-commands-"); err == nil {
			s.folder = Canonical(dir)
		}
	})
	return s.folder
}

// ahead begins to start a spare, where there is none.
func (s *system) ahead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.alone || s.starting != nil || slices.ContainsFunc(s.idle, func(k idle) bool { return k.kind == spare }) {
		return
	}
	started, closed := make(chan struct{}), s.closed
	s.starting = started
	go func() {
		defer close(started)
		k, err := keeper.New(true)
		s.mu.Lock()
		defer s.mu.Unlock()
		switch s.starting = nil; {
		case err != nil: // the next command says why
		case closed != s.closed:
			k.Close()
		default:
			s.put(k, spare)
		}
	}()
}

// missed records that no keeper of a command's kind was waiting, and reports whether a spare is
// worth its memory. After the first such command it is not: most sessions run one kind.
func (s *system) missed(spared bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.misses++
	return spared || s.misses > 1
}

// spare takes the spare, or nil. One that is being started is there sooner than another new one.
func (s *system) spare() *keeper.Keeper {
	s.mu.Lock()
	starting := s.starting
	s.mu.Unlock()
	if starting != nil {
		<-starting
	}
	return s.take(spare)
}

// take gives a keeper of a kind that has nothing to do, or nil.
func (s *system) take(kind string) *keeper.Keeper {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, k := range slices.Backward(s.idle) {
		if k.kind == kind {
			s.idle = slices.Delete(s.idle, i, i+1)
			return k.Keeper
		}
	}
	return nil
}

// give takes a keeper back that has nothing to do.
func (s *system) give(k *keeper.Keeper, kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(k, kind)
}

// put is give, with the lock. Where there are too many, the one ends that has been idle for the
// longest time.
func (s *system) put(k *keeper.Keeper, kind string) {
	last := rest
	if kind != "" {
		last = restConfined
	}
	s.idle = append(s.idle, idle{k, kind, time.Now().Add(last)})
	same := func(k idle) bool { return k.kind == kind }
	n := 0
	for _, k := range s.idle {
		if same(k) {
			n++
		}
	}
	drop := -1
	switch {
	case n > maxIdle:
		drop = slices.IndexFunc(s.idle, same)
	case len(s.idle) > maxAll:
		drop = 0
	}
	if drop >= 0 {
		s.idle[drop].Close()
		s.idle = slices.Delete(s.idle, drop, drop+1)
	}
	if s.end == nil {
		s.end = time.AfterFunc(rest, s.expire)
	}
	s.end.Reset(rest)
}

// expire ends the keepers that have been idle for long enough.
func (s *system) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = slices.DeleteFunc(s.idle, func(k idle) bool {
		over := !time.Now().Before(k.until)
		if over {
			k.Close()
		}
		return over
	})
	if len(s.idle) > 0 {
		s.end.Reset(rest)
	}
}

func (s *system) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.idle {
		k.Close()
	}
	s.idle = nil
	s.closed++
	if s.end != nil {
		s.end.Stop()
	}
	if s.folder != "" {
		_ = os.RemoveAll(s.folder)
		s.folder, s.made = "", sync.Once{}
	}
}

// guarded is a command below a keeper.
type guarded struct {
	system *system
	kind   string
	more   bool // a spare is started after it
	pid    int
	leave  bool
	guard  gitGuard
	ended  chan struct{}

	switching sync.Mutex // held while the access is switched
	asking    sync.Mutex // held while the keeper is asked for the network

	mu     sync.Mutex
	keeper *keeper.Keeper // nil once the command has ended
}

func (g *guarded) wait() end {
	g.mu.Lock()
	k := g.keeper
	g.mu.Unlock()
	e, err := k.Wait()
	close(g.ended)
	defer g.guard.release()
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
		g.system.give(k, g.kind)
	}
	if g.more { // not before: starting one takes the time of commands
		g.system.ahead()
	}
	return end{exitCode(e.Status), e.Background, e.Left, Refused{Network: e.Refused.Network, Unix: e.Refused.Unix}}
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

func (g *guarded) access(write bool) error {
	g.switching.Lock()
	defer g.switching.Unlock()
	k, err := g.running()
	if err != nil {
		return err
	}
	return k.Access(write, g.ended)
}

// running is the keeper of a command that has not ended.
func (g *guarded) running() (*keeper.Keeper, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.keeper == nil {
		return nil, os.ErrProcessDone
	}
	return g.keeper, nil
}

func (g *guarded) connections() (Connections, error) {
	g.asking.Lock()
	defer g.asking.Unlock()
	k, err := g.running()
	if err != nil {
		return Connections{}, err
	}
	n, err := k.Network(g.ended)
	return Connections{Refused: Refused{Network: n.Refused.Network, Unix: n.Refused.Unix}, Listening: n.Listening}, err
}

func (g *guarded) dial(port int) (net.Conn, error) {
	k, err := g.running()
	if err != nil {
		return nil, err
	}
	return k.Dial(port, g.ended)
}

// abandon kills what is below the keeper from here.
func (g *guarded) abandon() {
	g.with(func(k *keeper.Keeper) {
		k.Destroy()
		k.Close() // so that wait returns even if the keeper does not die
	})
}

// Conceal keeps other processes of the same person, such as the commands that are run, from reading
// this one's memory and environment, where keys are. It also means that no core is dumped.
func Conceal() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) } // cannot fail with these arguments

package locks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tandem/filetime"
)

const (
	// shards is the number of lock files that the paths of all processes are spread over.
	shards = 256
	// Wait is the limit of waiting for other processes.
	Wait = 10 * time.Second
	// Polling interval of a lock file: it doubles from the first to the last.
	firstPoll, lastPoll = 200 * time.Microsecond, 10 * time.Millisecond
	// The files of a shard: the lock, and the ticket of the process that gets it next.
	theLock, theTurn = "lock", "turn"
)

// processes are advisory locks of paths between processes with the same folder: flock on files
// there, one for each of a fixed number of shards. The kernel releases those of a killed process.
// They only avoid conflicts; correctness rests on the compare-and-swap.
type processes struct {
	dir  string
	log  *slog.Logger
	wait time.Duration // Wait but in tests

	mu     sync.Mutex
	shards map[int]*shard
	none   bool // they do not work here
}

// shard is one of the locks. The calls of this process share it, since they exclude each other by
// locks of their own.
type shard struct {
	slot    chan struct{} // guards the fields below
	file    *os.File      // nil while the lock is free
	holding []holding
}

// holding is a line in a lock file.
type holding struct {
	PID     int       `json:"pid"`
	Session string    `json:"session,omitempty"`
	Call    string    `json:"call,omitempty"`
	Path    string    `json:"path"`
	Since   time.Time `json:"since"`
}

func newProcesses(dir string, log *slog.Logger) *processes {
	return &processes{dir: dir, log: log, wait: Wait, shards: map[int]*shard{}}
}

func shardOf(path string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(path)) // a hash never fails
	return int(h.Sum32() % shards)
}

func (p *processes) name(n int, what string) string {
	return filepath.Join(p.dir, fmt.Sprintf("%02x.%s", n, what))
}

// lock takes the locks of paths in the order of their shards, against deadlocks. since is when the
// call began to wait for another process.
func (p *processes) lock(ctx context.Context, paths []string, who filetime.Holder, since time.Time) (release func(), err error) {
	paths = slices.Clone(paths)
	slices.SortFunc(paths, func(a, b string) int { return cmp.Compare(shardOf(a), shardOf(b)) })
	var taken []string
	release = func() {
		for _, path := range slices.Backward(taken) {
			p.release(path)
		}
	}
	ctx, cancel := context.WithDeadlineCause(ctx, since.Add(p.wait), errLocked)
	defer cancel()
	for _, path := range paths {
		err := p.take(ctx, path, who)
		switch {
		case err == nil:
			taken = append(taken, path)
		case ctx.Err() != nil:
			release()
			if errors.Is(err, errLocked) {
				err = p.refusal(path, err)
			}
			return nil, err
		default:
			p.mu.Lock()
			if !p.none {
				p.log.Warn("processes cannot lock files against each other here; edits are still compared and swapped", "error", err)
			}
			p.none = true
			p.mu.Unlock()
		}
	}
	return release, nil
}

var errLocked = errors.New("another process has the lock")

// timedOut is a wait for a lock file that reached the limit.
type timedOut struct {
	what string
	err  error
}

func (w *timedOut) Error() string { return w.err.Error() }

func (w *timedOut) Unwrap() error { return w.err }

// refusal is the error of a lock that timed out, with its holder.
func (p *processes) refusal(path string, err error) error {
	what := []string{theLock, theTurn}
	if w, ok := errors.AsType[*timedOut](err); ok {
		what = []string{w.what}
	}
	who, does := "another process", "is changing it"
	for _, k := range what {
		h, ok := p.reads(shardOf(path), k, func(h holding) bool { return h.Path == path })
		if !ok {
			h, ok = p.reads(shardOf(path), k, func(holding) bool { return true })
		}
		if !ok {
			continue
		}
		who = fmt.Sprintf("process %d, since %s,", h.PID, h.Since.Format(time.TimeOnly))
		if h.Call != "" {
			who = fmt.Sprintf("the call %s of session %s in %s", h.Call, h.Session, who)
		}
		switch {
		case k == theTurn:
			does = "is before this one in the queue and does not proceed"
		case h.Path != path:
			does = "is changing " + h.Path + ", which has the same lock"
		}
		break
	}
	return &filetime.Error{Code: filetime.Timeout, Reason: "locked", Path: path, Message: fmt.Sprintf(
		"%s could not be locked within %v: %s %s. Nothing was written; try again.", path, p.wait, who, does)}
}

// shard gives a shard with its slot taken, nil if locks do not work here.
func (p *processes) shard(ctx context.Context, path string) (*shard, error) {
	n := shardOf(path)
	p.mu.Lock()
	k := p.shards[n]
	if k == nil {
		k = &shard{slot: make(chan struct{}, 1)}
		p.shards[n] = k
	}
	none := p.none
	p.mu.Unlock()
	if none {
		return nil, nil
	}
	select {
	case k.slot <- struct{}{}: // it is tried even if there is no time to wait
		return k, nil
	default:
	}
	select {
	case k.slot <- struct{}{}:
		return k, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (p *processes) take(ctx context.Context, path string, who filetime.Holder) error {
	k, err := p.shard(ctx, path)
	if k == nil || err != nil {
		return err
	}
	defer func() { <-k.slot }()
	h := holding{who.PID, who.Session, who.Call, path, who.Since}
	if k.file == nil {
		if k.file, err = p.acquire(ctx, h); err != nil {
			return err
		}
	}
	k.holding = append(k.holding, h)
	write(k.file, k.holding...)
	return nil
}

// acquire takes a FIFO ticket lock, so that a process that takes the lock repeatedly cannot starve
// another.
func (p *processes) acquire(ctx context.Context, who holding) (*os.File, error) {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, err
	}
	n := shardOf(who.Path)
	turn, err := p.flock(ctx, n, theTurn, func() {})
	if err != nil {
		return nil, err
	}
	defer unlockAndClose(turn)
	return p.flock(ctx, n, theLock, func() { write(turn, holding{PID: who.PID, Since: who.Since}) })
}

// flock locks one of the files of a shard; waits is called if it is locked.
func (p *processes) flock(ctx context.Context, n int, what string, waits func()) (*os.File, error) {
	f, err := os.OpenFile(p.name(n, what), os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		err := tryLock(f, true)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, errHeld) {
			return nil, errors.Join(err, f.Close())
		}
		if pause == firstPoll {
			waits()
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			_ = f.Close()
			return nil, &timedOut{what, context.Cause(ctx)}
		}
	}
}

// errHeld says that a file is locked.
var errHeld = errors.New("the lock is taken")

// unlockAndClose unlocks before it closes: a child process that is being started may have inherited
// the file.
func unlockAndClose(f *os.File) {
	unlock(f)
	_ = f.Close()
}

func (p *processes) release(path string) {
	p.mu.Lock()
	k := p.shards[shardOf(path)] // not by shard, which gives none if locks have stopped to work
	p.mu.Unlock()
	if k == nil {
		return
	}
	k.slot <- struct{}{} // no call holds a slot for long while the lock is taken
	defer func() { <-k.slot }()
	i := slices.IndexFunc(k.holding, func(h holding) bool { return h.Path == path })
	if i < 0 {
		return
	}
	k.holding = slices.Delete(k.holding, i, i+1)
	write(k.file, k.holding...)
	if len(k.holding) == 0 {
		unlockAndClose(k.file)
		k.file = nil
	}
}

// write writes the holder into a lock file, for information only.
func write(f *os.File, all ...holding) {
	var b []byte
	for _, h := range all {
		line, _ := json.Marshal(h) // strings and numbers
		b = append(append(b, line...), '\n')
	}
	_ = f.Truncate(0)
	_, _ = f.WriteAt(b, 0)
}

// holder is the holder of the lock of a path in another process.
func (p *processes) holder(path string) (filetime.Holder, bool) {
	h, ok := p.reads(shardOf(path), theLock, func(h holding) bool { return h.Path == path })
	return filetime.Holder{PID: h.PID, Session: h.Session, Call: h.Call, Since: h.Since}, ok
}

// reads reads the holder from a lock file; that of a killed process does not count.
func (p *processes) reads(n int, what string, is func(holding) bool) (holding, bool) {
	f, err := os.OpenFile(p.name(n, what), os.O_RDONLY|noFollow, 0)
	if err != nil {
		return holding{}, false
	}
	defer f.Close()
	for d := json.NewDecoder(f); ; {
		var h holding
		if d.Decode(&h) != nil {
			return holding{}, false
		}
		if is(h) {
			return h, tryLock(f, false) != nil
		}
	}
}

// Empty empties the lock files of a folder that killed processes have left. The files stay, since a
// process may lock one at any moment.
func Empty(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.lock"))
	for _, name := range files {
		f, openErr := os.OpenFile(name, os.O_RDWR|noFollow, 0)
		if openErr != nil {
			err = errors.Join(err, openErr)
			continue
		}
		if locked := tryLock(f, true); locked == nil || errors.Is(locked, errors.ErrUnsupported) {
			err = errors.Join(err, f.Truncate(0))
		}
		err = errors.Join(err, f.Close())
	}
	return err
}

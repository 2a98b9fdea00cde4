package workspace

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
	"syscall"
	"time"

	"tandem/filetime"
)

const (
	// shards is the number of locks that the paths of all processes are spread over.
	shards = 256
	// lockWait is how long another process is waited for; an edit through its editor takes no longer.
	lockWait = budget + grace + time.Second
	// The time between two looks at a lock that somebody has.
	lockSoon, lockLate = 200 * time.Microsecond, 10 * time.Millisecond
)

// shared are the locks of paths that processes share which have one folder for their state: flock on the files of that
// folder, one for each of a fixed number of shards. The kernel lets go of those of a process that was killed. They keep
// processes from hindering each other; that nothing gets lost rests on the compare-and-swap alone.
type shared struct {
	dir string
	log *slog.Logger

	mu     sync.Mutex
	shards map[int]*shard
	none   bool // there are no such locks here
}

// shard is one of the locks, as this process has it: for all of its calls together, since they have their own.
type shard struct {
	slot    chan struct{} // guards the fields below
	file    *os.File      // nil while the lock is free
	holding []holding
}

// holding is a line in the file of a lock.
type holding struct {
	PID     int       `json:"pid"`
	Session string    `json:"session,omitempty"`
	Call    string    `json:"call,omitempty"`
	Path    string    `json:"path"`
	Since   time.Time `json:"since"`
}

func newShared(dir string, log *slog.Logger) *shared {
	return &shared{dir: dir, log: log, shards: map[int]*shard{}}
}

func shardOf(path string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(path)) // a hash never fails
	return int(h.Sum32() % shards)
}

func (s *shared) name(n int, what string) string {
	return filepath.Join(s.dir, fmt.Sprintf("%02x.%s", n, what))
}

// lock takes the locks of paths in the order of their shards, so that two processes never wait for each other.
func (s *shared) lock(ctx context.Context, paths []string, who filetime.Holder) (release func(), err error) {
	paths = slices.Clone(paths)
	slices.SortFunc(paths, func(a, b string) int { return cmp.Compare(shardOf(a), shardOf(b)) })
	var taken []string
	release = func() {
		for _, p := range slices.Backward(taken) {
			s.release(p)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait, errLocked)
	defer cancel()
	for _, p := range paths {
		err := s.take(ctx, p, who)
		switch {
		case err == nil:
			taken = append(taken, p)
		case ctx.Err() != nil:
			release()
			if errors.Is(err, errLocked) {
				err = s.refusal(p)
			}
			return nil, err
		default:
			s.mu.Lock()
			if !s.none {
				s.log.Warn("processes cannot lock files against each other here; edits are still compared and swapped", "error", err)
			}
			s.none = true
			s.mu.Unlock()
		}
	}
	return release, nil
}

var errLocked = errors.New("another process has the lock")

func (s *shared) refusal(path string) error {
	who := "another process"
	if h, ok := s.holder(path); ok {
		who = fmt.Sprintf("the call %s of session %s in process %d, since %s", h.Call, h.Session, h.PID, h.Since.Format(time.TimeOnly))
	}
	return &filetime.Error{
		Code: filetime.Timeout, Reason: "locked", Path: path, Message: fmt.Sprintf(
			"%s is being changed by %s, and was not let go of within %v. Nothing was written; try again.", path, who, lockWait),
	}
}

// shard gives a shard with its slot taken, nil where there are no locks.
func (s *shared) shard(ctx context.Context, path string) (*shard, error) {
	n := shardOf(path)
	s.mu.Lock()
	k := s.shards[n]
	if k == nil {
		k = &shard{slot: make(chan struct{}, 1)}
		s.shards[n] = k
	}
	none := s.none
	s.mu.Unlock()
	if none {
		return nil, nil
	}
	select {
	case k.slot <- struct{}{}:
		return k, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *shared) take(ctx context.Context, path string, who filetime.Holder) error {
	k, err := s.shard(ctx, path)
	if k == nil || err != nil {
		return err
	}
	defer func() { <-k.slot }()
	if k.file == nil {
		if k.file, err = s.acquire(ctx, shardOf(path)); err != nil {
			return err
		}
	}
	k.holding = append(k.holding, holding{who.PID, who.Session, who.Call, path, who.Since})
	k.write()
	return nil
}

// acquire waits for a lock. Who waits holds the turn, which comes first, so that a process that has the lock again and
// again cannot keep another from it.
func (s *shared) acquire(ctx context.Context, n int) (*os.File, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	turn, err := s.flock(ctx, s.name(n, "turn"))
	if err != nil {
		return nil, err
	}
	defer letGo(turn)
	return s.flock(ctx, s.name(n, "lock"))
}

func (s *shared) flock(ctx context.Context, name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for pause := lockSoon; ; pause = min(2*pause, lockLate) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, f.Close())
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			_ = f.Close()
			return nil, context.Cause(ctx)
		}
	}
}

// letGo unlocks before it closes: a child that is just being started may have the file, too.
func letGo(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}

func (s *shared) release(path string) {
	s.mu.Lock()
	k := s.shards[shardOf(path)] // not by shard: what is held is let go of where there are no locks by now, too
	s.mu.Unlock()
	if k == nil {
		return
	}
	k.slot <- struct{}{} // nobody holds a slot for long while the lock is taken
	defer func() { <-k.slot }()
	i := slices.IndexFunc(k.holding, func(h holding) bool { return h.Path == path })
	if i < 0 {
		return
	}
	k.holding = slices.Delete(k.holding, i, i+1)
	k.write()
	if len(k.holding) == 0 {
		letGo(k.file)
		k.file = nil
	}
}

// write says in the file who holds the lock. It is for those who ask, and nothing rests on it.
func (k *shard) write() {
	var b []byte
	for _, h := range k.holding {
		line, _ := json.Marshal(h) // strings and numbers
		b = append(append(b, line...), '\n')
	}
	_ = k.file.Truncate(0)
	_, _ = k.file.WriteAt(b, 0)
}

// holder is who has the lock of a path in another process. What a killed process has left in the file does not count.
func (s *shared) holder(path string) (filetime.Holder, bool) {
	f, err := os.OpenFile(s.name(shardOf(path), "lock"), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return filetime.Holder{}, false
	}
	defer f.Close()
	for d := json.NewDecoder(f); ; {
		var h holding
		if d.Decode(&h) != nil {
			return filetime.Holder{}, false
		}
		if h.Path != path {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
			return filetime.Holder{}, false
		}
		return filetime.Holder{PID: h.PID, Session: h.Session, Call: h.Call, Since: h.Since}, true
	}
}

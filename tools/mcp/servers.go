package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tandem/tools"
)

// hello is how long a server may take to begin, since a turn waits for it.
const hello = 30 * time.Second

// Silence is how long a server may not be heard of while it has to answer.
const Silence = 60 * time.Second

// Pins keep what the tools of servers were when they were first seen. All methods may be called
// concurrently.
type Pins interface {
	// Load gives what was kept under a name of hexadecimal digits, nil where nothing was.
	Load(name string) ([]byte, error)
	// Save keeps data under a name, in the place of what was kept.
	Save(name string, data []byte) error
}

// Options are what the servers of a session need of it. Log, Pins, Told, Planted and Clarify may be
// nil; all else must be set, except where noted.
type Options struct {
	// Env gives the environment of a call of the session, whose Runner starts what this room has
	// judged by itself.
	Env func() *tools.Env
	// Allow says whether a server may be started, and asks a person where that takes it. An error
	// is why not, see ErrRejected and NotNowError.
	Allow func(ctx context.Context, l Launch) error
	// Accept asks a person whether a tool may go on as what it has become. An error is why not.
	Accept func(ctx context.Context, c Change) error
	// Changed is called when Layers or States gives something else; it must not block.
	Changed func()
	// Told is called with one sentence for a person when a server has failed; it must not block.
	Told func(sentence string)
	// Autorun is called with whole sentences for a person and the model where a process has changed
	// files that run later, other than in a call: see autorun.Guard. It must not block.
	Autorun func(said []string)
	// Clarify puts a question of a server's to the person, see tools.Env.
	Clarify func(ctx context.Context, server string, q tools.Clarification) (string, error)
	// Key gives the key that a command prints; an error is the predicate of a sentence about the
	// command. It must be set where an entry has a KeyCommand.
	Key  func(command []string) (string, error)
	Pins Pins
	// Folders gives the absolute folders of the session, which servers get as roots. nil is none.
	Folders func() []string
	// Silence is how long a server may not be heard of; 0 means Silence.
	Silence time.Duration
	// Idle is how long the process of a server lives without a call; nil, or 0 from it, is until
	// the session ends.
	Idle func() time.Duration
	// Judge says why an address of a server with a URL is not to be connected to; nil is
	// dial.Public, and what the person has written down as an address. For tests.
	Judge func(netip.Addr) error
	Log   *slog.Logger
}

func (o Options) log() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// Servers are those of one session. All methods may be called concurrently. They must be closed.
type Servers struct {
	o      Options
	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu      sync.Mutex
	entries []Entry           // as configured
	list    []*server         // sorted by key
	refused map[string]string // entries that cannot be: why, by name
	closed  bool
	work    sync.WaitGroup

	layersMu   sync.Mutex // held while layers is made, so that what was made last is kept
	layers     atomic.Pointer[[]tools.Layer]
	layeredSet atomic.Pointer[layeredSet]
}

// layeredSet is a set with layers on it, made once.
type layeredSet struct {
	base, all *tools.Set
	layers    *[]tools.Layer
}

// New makes the servers of a session, of which there are none yet.
func New(o Options) *Servers {
	s := &Servers{o: o}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.layers.Store(&[]tools.Layer{})
	return s
}

// Configure has these servers be the ones that there are. Those that are the same as before go on;
// the others end in the background. None is started. Of two with the same key the first one counts.
func (s *Servers) Configure(entries []Entry) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	if s.entries != nil && reflect.DeepEqual(s.entries, entries) {
		s.mu.Unlock()
		return
	}
	s.entries = append([]Entry{}, entries...)
	before := s.list
	s.list, s.refused = nil, map[string]string{}
	taken := map[string]string{}
	for _, e := range entries {
		key := e.Key()
		if err := e.Check(); err != nil {
			s.refused[e.Name] = err.Error()
			continue
		}
		if by, is := taken[key]; is {
			s.refused[e.Name] = fmt.Sprintf("its tools would be named as those of %s (%s)", by, e.Gate())
			continue
		}
		taken[key] = e.Name
		i := slices.IndexFunc(before, func(o *server) bool { return reflect.DeepEqual(o.entry, e) })
		if i >= 0 {
			s.list = append(s.list, before[i])
			continue
		}
		n := newServer(s, e)
		n.recall()
		s.list = append(s.list, n)
	}
	slices.SortFunc(s.list, func(a, b *server) int { return compare(a.key, b.key) })
	now := s.list
	s.mu.Unlock()
	for _, o := range before {
		if !slices.Contains(now, o) {
			s.later(func(context.Context) { o.shut(errRemoved) })
		}
	}
	s.changed()
}

// servers are the present ones.
func (s *Servers) servers() []*server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// Layers are the tools of the servers, as far as they are known. The slice is the same one until
// they change, and never changed.
func (s *Servers) Layers() []tools.Layer { return *s.layers.Load() }

// Over is a set with the layers put in; the same set for the same one until the layers change.
func (s *Servers) Over(base *tools.Set) *tools.Set {
	layers := s.layers.Load()
	if len(*layers) == 0 {
		return base
	}
	if o := s.layeredSet.Load(); o != nil && o.base == base && o.layers == layers {
		return o.all
	}
	all := base
	for _, l := range *layers {
		all = all.With(l)
	}
	s.layeredSet.Store(&layeredSet{base, all, layers})
	return all
}

// changed makes the layers anew.
func (s *Servers) changed() {
	s.layersMu.Lock()
	layers := []tools.Layer{}
	for _, v := range s.servers() {
		v.mu.Lock()
		if v.listed && !v.stays {
			layers = append(layers, v.layer)
		}
		v.mu.Unlock()
	}
	s.layers.Store(&layers)
	s.layersMu.Unlock()
	s.o.Changed()
}

// Prepare makes the tools of all servers known: of each whose tools were never seen by starting it.
// It returns when that is done, or ctx has ended. What a person has to be asked about tools that
// have changed is asked then.
func (s *Servers) Prepare(ctx context.Context) {
	var wg sync.WaitGroup
	for _, v := range s.servers() {
		v.mu.Lock()
		need := !v.listed && !v.stays
		v.mu.Unlock()
		if need {
			wg.Go(func() { _, _ = v.ready(ctx) })
		}
	}
	wg.Wait()
	for _, v := range s.servers() {
		v.settle(ctx)
	}
}

// Resolve makes the tool of that name known by starting the server that it would be of. It says
// whether there is such a tool now.
func (s *Servers) Resolve(ctx context.Context, name string) (bool, error) {
	key := KeyOf(name)
	for _, v := range s.servers() {
		if key == "" || !equalFold(v.key, key) {
			continue
		}
		if _, err := v.ready(ctx); err != nil {
			return false, fmt.Errorf("the MCP server %s is off: %w", v.entry.Name, err)
		}
		v.settle(ctx)
		return v.offers(name), nil
	}
	return false, nil
}

// State is how a server is doing.
type State struct {
	Name, Source string
	// Own says that the person has written it down themselves, Command is its command or its URL in
	// one line.
	Own     bool
	Command string
	// State is off, starting or ready; Reason is why it is off, where there is a reason.
	State, Reason string
	// Tools are the names of those on offer; Held are those that have changed and wait for a
	// person.
	Tools, Held []string
	// Remarks are what else is to be known, each a sentence.
	Remarks []string
}

// States gives the servers sorted by name, those that cannot be included.
func (s *Servers) States() []State {
	var out []State
	for _, v := range s.servers() {
		out = append(out, v.describe())
	}
	s.mu.Lock()
	for name, why := range s.refused {
		out = append(out, State{Name: name, State: Off, Reason: why})
	}
	s.mu.Unlock()
	slices.SortStableFunc(out, func(a, b State) int { return compare(a.Name, b.Name) })
	return out
}

func (s *server) describe() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := State{
		Name: s.entry.Name, Source: s.entry.Source, Own: s.entry.Own, State: s.state, Reason: s.reason, Remarks: slices.Clone(s.remarks),
		Tools: slices.Sorted(maps.Keys(s.names)), Held: slices.Sorted(maps.Keys(s.changedTools)), Command: s.entry.Command,
	}
	if s.noisy != "" {
		st.Remarks = append(st.Remarks, s.noisy)
	}
	if s.conn != nil && s.conn.files != nil && s.conn.files.keeps.Load() {
		st.Remarks = append(st.Remarks, "It keeps files of the workspace open for writing, so it may change them between its calls.")
	}
	if s.entry.URL != "" {
		if u, err := url.Parse(s.entry.URL); err == nil {
			st.Command = u.Redacted()
		}
	}
	return st
}

// Close ends all servers and waits for their end. No other is started.
func (s *Servers) Close() {
	s.mu.Lock()
	s.closed = true
	list := s.list
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, v := range list {
		wg.Go(func() { v.shut(errClosed) })
	}
	wg.Wait()
	s.cancel()
	s.work.Wait()
}

// later runs fn in the background; Close waits for it.
func (s *Servers) later(fn func(ctx context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.work.Go(func() { fn(s.ctx) })
}

func (s *Servers) hello() time.Duration { return min(hello, s.silence()) }

func (s *Servers) silence() time.Duration {
	if s.o.Silence > 0 {
		return s.o.Silence
	}
	return Silence
}

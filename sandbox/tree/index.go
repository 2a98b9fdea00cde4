package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tandem/sandbox"
	"tandem/sandbox/tree/trigrams"
)

// Indexes are what is remembered of roots between scans: a table of the files of each, and which trigrams are in them. The index of a
// root is built in the background once a scan has shown that it is worth it. A scan believes a folder to be as it was where the
// system's queue of events says so, and compares each file of the others with the file system; what has changed since is read, and so
// is each file with a hit. The fields are set before the first scan; the methods may be called concurrently. The zero value without
// Later builds none.
type Indexes struct {
	// Later runs a function in a goroutine of its own, with a context that ends with the process.
	Later func(func(context.Context))
	Now   func() time.Time
	// Files and Bytes are how large an index may become; 0 is the default.
	Files, Bytes int
	// Least is how many files a root has that is indexed; 0 is the default.
	Least int

	unwatched bool      // folders get no watch; for tests
	turns     turns     // of scans, and of what builds
	buffers   sync.Pool // of those into which files are read
	mu        sync.Mutex
	roots     map[string]*index
}

// buffer is one into which files are read; reuse gives it back. x may be nil.
func (x *Indexes) buffer() []byte {
	if x != nil {
		if b, is := x.buffers.Get().(*[]byte); is {
			return *b
		}
	}
	return make([]byte, 64<<10)
}

func (x *Indexes) reuse(buf []byte) {
	if x != nil {
		x.buffers.Put(&buf)
	}
}

const (
	mostFiles = 400_000
	mostBytes = 128 << 20
	leastOf   = 2000
	// perEntry is how many bytes an entry of a table takes, roughly.
	perEntry = 180
	// checkEvery is how long after it ended what no event tells of is looked for again, where there is a scan then; checkShare is how much longer
	// than it has worked, where that is more, up to checkMost.
	checkEvery = 2 * time.Second
	checkShare = 9
	checkMost  = time.Minute
	// listenAgain is how long after it began to hear of changes it may begin anew: a busy system may have told of them too late, or of too many.
	// listenLater is that where it could not begin.
	listenAgain = 10 * time.Second
	listenLater = 10 * time.Minute
	// tableWait is how long a scan waits for a table.
	tableWait = 3 * time.Second
	// stale is how many files that are not indexed have the index brought up to date, also where they are less than an eighth of all.
	stale = 64
)

// State is that of the index of a root: building, ready, which has a reason where it is not of all files, or walking with a reason. Files is of how
// many files it is.
type State struct {
	Root, State, Reason string
	Files, Bytes        int
}

// States are those of the roots that were searched, by their paths.
func (x *Indexes) States() (out []State) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for root, i := range x.roots {
		i.told.Lock()
		s := i.state
		i.told.Unlock()
		s.Root = root
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b State) int { return strings.Compare(a.Root, b.Root) })
	return out
}

// Doubt has the next scan look at everything, as after a command, which may change files in ways that no event tells of.
func (x *Indexes) Doubt() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, i := range x.roots {
		i.doubted.Store(true)
	}
}

// index is that of one root.
type index struct {
	of      *Indexes
	doubted atomic.Bool // see Doubt

	told     sync.Mutex
	state    State
	building bool // under told

	// table is one of the values below. While the first one is made mu is held, and scans of the whole root wait for it.
	table atomic.Int32
	// tried is closed when the table was made, or could not be.
	tried chan struct{} // under told

	mu        sync.Mutex // held during a pass
	top       *folder
	above     *layers
	segments  []*trigrams.Segment
	files     int       // when it was last indexed
	w         *watch    // nil where there is none, or no more
	listenDue time.Time // when to try to have one again, where there is a scan then
	checking  bool
	checkDue  time.Time
	// whole says that all folders of the table were looked at, and that but for those in open, all are believed since.
	whole bool
	open  [][]*folder // by depth
	flat  *flat       // of the table as it is; nil where it has changed
}

// What there is of a table.
const (
	none    int32 = iota
	making        // by one goroutine of low priority
	hurried       // by all processors, as a scan waits for it
	usable
)

// of finds the index for a tree, nil where there is none.
func (x *Indexes) of(t *Tree) *index {
	if x == nil || x.Later == nil || t.all || t.itself || t.root.Class().Unlisted() || t.place.Class().Unlisted() {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.roots == nil {
		x.roots = map[string]*index{}
	}
	i := x.roots[t.root.Path()]
	if i == nil {
		reason := fmt.Sprintf("no search has come by %d files yet", x.limit(x.Least, leastOf))
		i = &index{of: x, state: State{State: "walking", Reason: reason}}
		x.roots[t.root.Path()] = i
	}
	return i
}

// most is how many files an index may have.
func (x *Indexes) most() int { return x.limit(x.Files, mostFiles) }

func (x *Indexes) limit(set, otherwise int) int {
	if set > 0 {
		return set
	}
	return otherwise
}

// say sets the state.
func (i *index) say(s State) {
	i.told.Lock()
	i.state = s
	i.told.Unlock()
}

// walked says how many files a walk over a tree has come by, which may be reason enough to build the index.
func (i *index) walked(t *Tree, files int) {
	if files >= i.of.limit(i.of.Least, leastOf) {
		i.build(t)
	}
}

// build builds the index in the background, or brings it up to date, unless that is going on or was given up.
func (i *index) build(t *Tree) {
	i.told.Lock()
	defer i.told.Unlock()
	if i.building {
		return
	}
	i.building = true
	root, tried := t.root, make(chan struct{})
	i.tried = tried
	i.of.Later(func(ctx context.Context) {
		err := i.work(ctx, root, sync.OnceFunc(func() { close(tried) }))
		i.told.Lock()
		defer i.told.Unlock()
		if i.building = errors.As(err, new(given)); err != nil {
			i.state = State{State: "walking", Reason: err.Error()}
		}
	})
}

// await says that there is a table. It waits for the first one where that is being made, and then has all processors make it: this takes
// about as long as one and a half walks, and most scans after it need none. Where it takes longer than tableWait the scan walks.
func (i *index) await(ctx context.Context, t *Tree) bool {
	if t.dir == "." && (i.table.CompareAndSwap(making, hurried) || i.table.Load() == hurried) {
		i.told.Lock()
		tried := i.tried
		i.told.Unlock()
		enough := time.NewTimer(tableWait)
		defer enough.Stop()
		select {
		case <-tried:
		case <-enough.C:
		case <-ctx.Done():
		}
	}
	return i.table.Load() == usable
}

// job is a file to be indexed.
type job struct {
	e     *entry
	path  string
	ident sandbox.Ident
	text  int32
	parts int32
}

// work indexes what is not indexed. It calls tried when there is a table, or cannot be one. An error says why that cannot be.
func (i *index) work(ctx context.Context, root sandbox.Place, tried func()) error {
	i.table.CompareAndSwap(none, making)
	defer func() {
		if i.table.Load() != usable {
			i.table.Store(none)
		}
		tried()
	}()
	t, err := Open(root)
	if err != nil {
		return err
	}
	var jobs []job
	if jobs, err = i.pending(ctx, t); err != nil {
		return err
	}
	tried()
	i.told.Lock()
	if i.state.State != "ready" {
		i.state = State{State: "building", Files: len(jobs)}
	}
	i.told.Unlock()
	lower()
	yields := &background{turns: &i.of.turns, now: i.of.Now, patience: buildWaits, share: buildShare}
	b, buf, full := trigrams.NewBuilder(), make([]byte, 256<<10), false
	for len(jobs) > 0 && ctx.Err() == nil {
		n := 0
		for n < len(jobs) && !b.Full(Head) && ctx.Err() == nil {
			yields.yield(ctx)
			buf = i.read(t, &jobs[n], b, buf, full)
			n++
		}
		if ctx.Err() != nil {
			break
		}
		s := b.Finish()
		if i.size()+s.Bytes() > i.most() {
			full = true
			for n := range jobs[:n] {
				if jobs[n].text >= 0 {
					jobs[n].text = beyond
				}
			}
			s = &trigrams.Segment{}
		}
		i.install(s, jobs[:n])
		jobs = jobs[n:]
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	i.mu.Lock()
	c := i.top.count()
	i.mu.Unlock()
	debug.FreeOSMemory()
	ready := State{State: "ready", Bytes: i.size(), Files: c.files - c.beyond}
	if c.beyond > 0 {
		ready.Reason = fmt.Sprintf("%d of %d files are read by each search, as with them it would take more than %d MiB",
			c.beyond, c.files, i.most()>>20)
	}
	i.say(ready)
	return nil
}

// most is how many bytes the index may take.
func (i *index) most() int { return i.of.limit(i.of.Bytes, mostBytes) }

// given is why an index is given up for good.
type given string

func (g given) Error() string { return string(g) }

// pending brings the table up to date, or makes it, and lists the files that are to be indexed. Where most of what was indexed is no more,
// or enough of it to make room for files that had none, all is indexed anew; where the table has no room beside the segments, the last ones go.
func (i *index) pending(ctx context.Context, t *Tree) (jobs []job, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	d, err := t.open(".")
	if err != nil {
		return nil, err
	}
	remote := d.Remote()
	d.Close()
	if remote {
		return nil, remoteReason
	}
	if i.top == nil {
		i.top = &folder{at: "."}
	}
	if i.w == nil && !i.of.unwatched {
		next := listenAgain
		if i.listen(ctx); i.w == nil {
			next = listenLater
		}
		i.listenDue = i.of.Now().Add(next)
	}
	if err := i.refresh(ctx, t, "", func() bool { return i.table.Load() != making }); err != nil {
		if errors.As(err, new(given)) {
			i.forget()
		}
		return nil, err
	}
	c := i.top.count()
	if most := i.of.most(); c.files > most {
		i.forget()
		return nil, tooMany(most)
	}
	i.files = c.files
	if i.wasteful(c) {
		i.say(State{State: "building", Files: c.files})
		i.drop(0, unread)
	}
	for i.bytes() > i.most() && len(i.segments) > 0 { // the table has grown
		i.drop(len(i.segments)-1, beyond)
	}
	now := i.of.Now()
	if i.table.Load() != usable { // all of it was looked at just now
		i.checkDue = now.Add(checkEvery)
	}
	_ = i.top.each("", func(f *folder, e *entry) error {
		if e.regular() && e.text == unread && e.ident.Settled(now) {
			jobs = append(jobs, job{e: e, path: f.join(e.name), ident: e.ident})
		}
		return nil
	})
	i.table.Store(usable)
	return jobs, nil
}

// wasteful says that of what is indexed enough is gone for all to be indexed anew. i.mu is held.
func (i *index) wasteful(c counts) bool {
	gone := -c.texts
	for _, s := range i.segments {
		gone += s.Texts()
	}
	return gone > c.texts+4*trigrams.Texts || c.beyond > 0 && 4*gone > c.texts
}

// drop ends the segments from one on. What is known of their files is known then; if that is unread it is so of all files. i.mu is held.
func (i *index) drop(from int, known int32) {
	i.segments, i.flat = slices.Delete(i.segments, from, len(i.segments)), nil
	_ = i.top.each("", func(_ *folder, e *entry) error {
		if known == unread || int(e.text) >= from*trigrams.Texts {
			e.text = known
		}
		return nil
	})
}

// read reads a file for the segment that is built, and says with a number or otherwise what is known of it then. full says that the index has no
// room for it.
func (i *index) read(t *Tree, j *job, b *trigrams.Builder, buf []byte, full bool) []byte {
	j.text = unread
	dir, name := path.Split(j.path)
	d, err := t.open(dir)
	if err != nil {
		return buf
	}
	defer d.Close()
	if now, err := d.Ident(name); err != nil || now != j.ident {
		return buf
	}
	n, rest, err := d.Read(name, buf)
	if err == nil && rest != nil && !full {
		buf, n, rest, err = more(buf, n, rest)
	}
	if rest != nil {
		defer rest.Close()
	}
	text := buf[:n]
	switch {
	case t.note(err) != nil: // a search may be able to open it
	case err != nil: // nor can a search read it, as long as its metadata are the same
		j.text = always
	case bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")):
		j.text = always // it is not searched as it stands
	case bytes.IndexByte(text[:min(n, Sniffed)], 0) >= 0:
		j.text = never
	case full:
		j.text = beyond
	case rest != nil:
		j.text = always
	default:
		first, parts := b.Add(text)
		j.text, j.parts = int32(first), int32(parts)
	}
	return buf
}

// install adds a segment with the files that were read for it.
func (i *index) install(s *trigrams.Segment, jobs []job) {
	i.mu.Lock()
	defer i.mu.Unlock()
	first := int32(len(i.segments) * trigrams.Texts)
	if i.flat = nil; s.Texts() > 0 {
		i.segments = append(i.segments, s)
	}
	for _, j := range jobs {
		if j.e.ident != j.ident || j.e.text != unread {
			continue
		}
		if j.e.text, j.e.parts = j.text, j.parts; j.text >= 0 {
			j.e.text += first
		}
	}
}

// size is how many bytes the index takes, roughly.
func (i *index) size() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.bytes()
}

// bytes is size where i.mu is held.
func (i *index) bytes() (n int) {
	for _, s := range i.segments {
		n += s.Bytes()
	}
	return n + i.files*perEntry
}

// forget has the index be as before the first search. i.mu is held.
func (i *index) forget() {
	i.deaf()
	i.table.Store(none)
	i.top, i.segments, i.files, i.flat = nil, nil, 0, nil
}

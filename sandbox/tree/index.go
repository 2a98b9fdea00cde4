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
	// RunInBackground runs a function in a goroutine of its own, with a context that ends with the process.
	RunInBackground func(func(context.Context))
	Now             func() time.Time
	// Files and Bytes are how large an index may become; 0 is the default.
	Files, Bytes int
	// Least is how many files a root has that is indexed; 0 is the default.
	Least int

	unwatched bool       // folders get no watch; for tests
	searches  searchGate // of scans, and of what builds
	buffers   sync.Pool  // of those into which files are read
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
	defaultMaxFiles = 400_000
	defaultMaxBytes = 128 << 20
	defaultMinFiles = 2000
	// entryBytes is how many bytes an entry of a table takes, roughly.
	entryBytes = 180
	// checkInterval is how long after it ended what no event tells of is looked for again, where there is a scan then; checkShare is how much longer
	// than it has worked, where that is more, up to checkMost.
	checkInterval    = 2 * time.Second
	checkDutyCycle   = 9
	maxCheckInterval = time.Minute
	// watchRestartInterval is how long after it began to hear of changes it may begin anew: a busy system may have told of them too late, or of too many.
	// listenLater is that where it could not begin.
	watchRestartInterval = 10 * time.Second
	watchRetryInterval   = 10 * time.Minute
	// tableTimeout is how long a scan waits for a table.
	tableTimeout = 3 * time.Second
	// maxUnindexed is how many files that are not indexed have the index brought up to date, also where they are less than an eighth of all.
	maxUnindexed = 64
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
		i.stateMu.Lock()
		s := i.state
		i.stateMu.Unlock()
		s.Root = root
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b State) int { return strings.Compare(a.Root, b.Root) })
	return out
}

// Invalidate has the next scan look at everything, as after a command, which may change files in ways that no event tells of.
func (x *Indexes) Invalidate() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, i := range x.roots {
		i.invalidated.Store(true)
	}
}

// index is that of one root.
type index struct {
	indexes     *Indexes
	invalidated atomic.Bool // see Doubt

	stateMu  sync.Mutex
	state    State
	building bool // under told

	// table is one of the values below. While the first one is made mu is held, and scans of the whole root wait for it.
	table atomic.Int32
	// tableDone is closed when the table was made, or could not be.
	tableDone chan struct{} // under told

	mu          sync.Mutex // held during a pass
	top         *folder
	parentRules *layers
	segments    []*trigrams.Segment
	files       int       // when it was last indexed
	w           *watch    // nil where there is none, or no more
	watchDue    time.Time // when to try to have one again, where there is a scan then
	checking    bool
	checkDue    time.Time
	// allValid says that all folders of the table were looked at, and that but for those in open, all are believed since.
	allValid       bool
	invalidFolders [][]*folder // by depth
	flat           *flat       // of the table as it is; nil where it has changed
}

// What there is of a table.
const (
	tableNone             int32 = iota
	tableBuilding               // by one goroutine of low priority
	tableBuildingParallel       // by all processors, as a scan waits for it
	tableReady
)

// indexFor finds the index for a tree, nil where there is none.
func (x *Indexes) indexFor(t *Tree) *index {
	if x == nil || x.RunInBackground == nil || t.all || t.itself || t.root.Class().Unlisted() || t.place.Class().Unlisted() {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.roots == nil {
		x.roots = map[string]*index{}
	}
	i := x.roots[t.root.Path()]
	if i == nil {
		reason := fmt.Sprintf("no search has come by %d files yet", x.limit(x.Least, defaultMinFiles))
		i = &index{indexes: x, state: State{State: "walking", Reason: reason}}
		x.roots[t.root.Path()] = i
	}
	return i
}

// maxFiles is how many files an index may have.
func (x *Indexes) maxFiles() int { return x.limit(x.Files, defaultMaxFiles) }

func (x *Indexes) limit(set, otherwise int) int {
	if set > 0 {
		return set
	}
	return otherwise
}

// setState sets the state.
func (i *index) setState(s State) {
	i.stateMu.Lock()
	i.state = s
	i.stateMu.Unlock()
}

// noteWalk says how many files a walk over a tree has come by, which may be reason enough to build the index.
func (i *index) noteWalk(t *Tree, files int) {
	if files >= i.indexes.limit(i.indexes.Least, defaultMinFiles) {
		i.build(t)
	}
}

// build builds the index in the background, or brings it up to date, unless that is going on or was given up.
func (i *index) build(t *Tree) {
	i.stateMu.Lock()
	defer i.stateMu.Unlock()
	if i.building {
		return
	}
	i.building = true
	root, done := t.root, make(chan struct{})
	i.tableDone = done
	i.indexes.RunInBackground(func(ctx context.Context) {
		err := i.work(ctx, root, sync.OnceFunc(func() { close(done) }))
		i.stateMu.Lock()
		defer i.stateMu.Unlock()
		if i.building = errors.As(err, new(gaveUpError)); err != nil {
			i.state = State{State: "walking", Reason: err.Error()}
		}
	})
}

// awaitTable says that there is a table. It waits for the first one where that is being made, and then has all processors make it: this takes
// about as long as one and a half walks, and most scans after it need none. Where it takes longer than tableWait the scan walks.
func (i *index) awaitTable(ctx context.Context, t *Tree) bool {
	if t.dir == "." && (i.table.CompareAndSwap(tableBuilding, tableBuildingParallel) || i.table.Load() == tableBuildingParallel) {
		i.stateMu.Lock()
		done := i.tableDone
		i.stateMu.Unlock()
		enough := time.NewTimer(tableTimeout)
		defer enough.Stop()
		select {
		case <-done:
		case <-enough.C:
		case <-ctx.Done():
		}
	}
	return i.table.Load() == tableReady
}

// pendingFile is a file to be indexed.
type pendingFile struct {
	e     *entry
	path  string
	ident sandbox.Ident
	text  int32
	parts int32
}

// work indexes what is not indexed. It calls tried when there is a table, or cannot be one. An error says why that cannot be.
func (i *index) work(ctx context.Context, root sandbox.Place, tableDone func()) error {
	i.table.CompareAndSwap(tableNone, tableBuilding)
	defer func() {
		if i.table.Load() != tableReady {
			i.table.Store(tableNone)
		}
		tableDone()
	}()
	t, err := Open(root)
	if err != nil {
		return err
	}
	var jobs []pendingFile
	if jobs, err = i.pending(ctx, t); err != nil {
		return err
	}
	tableDone()
	i.stateMu.Lock()
	if i.state.State != "ready" {
		i.state = State{State: "building", Files: len(jobs)}
	}
	i.stateMu.Unlock()
	lower()
	yields := &throttle{searches: &i.indexes.searches, now: i.indexes.Now, waitBudget: buildWaitBudget, dutyCycle: buildDutyCycle}
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
		if i.size()+s.Bytes() > i.maxBytes() {
			full = true
			for n := range jobs[:n] {
				if jobs[n].text >= 0 {
					jobs[n].text = textOverLimit
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
	ready := State{State: "ready", Bytes: i.size(), Files: c.files - c.overLimit}
	if c.overLimit > 0 {
		ready.Reason = fmt.Sprintf("%d of %d files are read by each search, as with them it would take more than %d MiB",
			c.overLimit, c.files, i.maxBytes()>>20)
	}
	i.setState(ready)
	return nil
}

// maxBytes is how many bytes the index may take.
func (i *index) maxBytes() int { return i.indexes.limit(i.indexes.Bytes, defaultMaxBytes) }

// gaveUpError is why an index is given up for good.
type gaveUpError string

func (e gaveUpError) Error() string { return string(e) }

// pending brings the table up to date, or makes it, and lists the files that are to be indexed. Where most of what was indexed is no more,
// or enough of it to make room for files that had none, all is indexed anew; where the table has no room beside the segments, the last ones go.
func (i *index) pending(ctx context.Context, t *Tree) (jobs []pendingFile, err error) {
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
	if i.w == nil && !i.indexes.unwatched {
		next := watchRestartInterval
		if i.startWatch(ctx); i.w == nil {
			next = watchRetryInterval
		}
		i.watchDue = i.indexes.Now().Add(next)
	}
	if err := i.refresh(ctx, t, "", func() bool { return i.table.Load() != tableBuilding }); err != nil {
		if errors.As(err, new(gaveUpError)) {
			i.forget()
		}
		return nil, err
	}
	c := i.top.count()
	if most := i.indexes.maxFiles(); c.files > most {
		i.forget()
		return nil, tooMany(most)
	}
	i.files = c.files
	if i.needsRebuild(c) {
		i.setState(State{State: "building", Files: c.files})
		i.drop(0, textUnread)
	}
	for i.bytes() > i.maxBytes() && len(i.segments) > 0 { // the table has grown
		i.drop(len(i.segments)-1, textOverLimit)
	}
	now := i.indexes.Now()
	if i.table.Load() != tableReady { // all of it was looked at just now
		i.checkDue = now.Add(checkInterval)
	}
	_ = i.top.each("", func(f *folder, e *entry) error {
		if e.regular() && e.text == textUnread && e.ident.Settled(now) {
			jobs = append(jobs, pendingFile{e: e, path: f.join(e.name), ident: e.ident})
		}
		return nil
	})
	i.table.Store(tableReady)
	return jobs, nil
}

// needsRebuild says that of what is indexed enough is gone for all to be indexed anew. i.mu is held.
func (i *index) needsRebuild(c counts) bool {
	gone := -c.texts
	for _, s := range i.segments {
		gone += s.Texts()
	}
	return gone > c.texts+4*trigrams.Texts || c.overLimit > 0 && 4*gone > c.texts
}

// drop ends the segments from one on. What is known of their files is known then; if that is unread it is so of all files. i.mu is held.
func (i *index) drop(from int, known int32) {
	i.segments, i.flat = slices.Delete(i.segments, from, len(i.segments)), nil
	_ = i.top.each("", func(_ *folder, e *entry) error {
		if known == textUnread || int(e.text) >= from*trigrams.Texts {
			e.text = known
		}
		return nil
	})
}

// read reads a file for the segment that is built, and says with a number or otherwise what is known of it then. full says that the index has no
// room for it.
func (i *index) read(t *Tree, j *pendingFile, b *trigrams.Builder, buf []byte, full bool) []byte {
	j.text = textUnread
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
		j.text = textUnindexed
	case bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")):
		j.text = textUnindexed // it is not searched as it stands
	case bytes.IndexByte(text[:min(n, Sniffed)], 0) >= 0:
		j.text = textBinary
	case full:
		j.text = textOverLimit
	case rest != nil:
		j.text = textUnindexed
	default:
		first, parts := b.Add(text)
		j.text, j.parts = int32(first), int32(parts)
	}
	return buf
}

// install adds a segment with the files that were read for it.
func (i *index) install(s *trigrams.Segment, jobs []pendingFile) {
	i.mu.Lock()
	defer i.mu.Unlock()
	first := int32(len(i.segments) * trigrams.Texts)
	if i.flat = nil; s.Texts() > 0 {
		i.segments = append(i.segments, s)
	}
	for _, j := range jobs {
		if j.e.ident != j.ident || j.e.text != textUnread {
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
	return n + i.files*entryBytes
}

// forget has the index be as before the first search. i.mu is held.
func (i *index) forget() {
	i.stopWatch()
	i.table.Store(tableNone)
	i.top, i.segments, i.files, i.flat = nil, nil, 0, nil
}

// Package index searches the files of a tree: it reads them on all processors and delivers in the
// order of a walk, and leaves out those that a trigram index of the root says have no match. The
// index is built in the background, compared with the file system at every search, and follows
// what the kernel reports of the folders.
package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tandem/sandbox"
	"tandem/sandbox/search/trigrams"
	"tandem/sandbox/tree"
)

// Indexes are trigram indexes of roots, kept between scans: a table of the files of each root, and
// the trigrams in them. An index is built in the background after a scan has found enough files. A
// scan skips the folders for which inotify has reported no event, compares the metadata of all
// other files, and reads those that changed and those with a hit. The fields are set before the
// first scan; the methods may be called concurrently. Without RunInBackground no index is built.
type Indexes struct {
	// RunInBackground runs a function in a goroutine, with a context that ends with the process.
	RunInBackground func(func(context.Context))
	Now             func() time.Time
	// Files and Bytes limit the size of an index; 0 is the default.
	Files, Bytes int
	// Least is the minimum number of files of an indexed root; 0 is the default.
	Least int

	unwatched bool       // no folder is watched; for tests
	searches  searchGate // pauses builds while scans run
	buffers   sync.Pool  // read buffers
	mu        sync.Mutex
	roots     map[string]*index
}

// buffer takes a read buffer from the pool; reuse puts it back. x may be nil.
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
	// entryBytes estimates the memory of a table's entry.
	entryBytes = 180
	// checkInterval is the minimum interval between rescans for changes that the watch cannot
	// report. A rescan rests for checkDutyCycle times its own duration if that is longer, up to
	// maxCheckInterval.
	checkInterval    = 2 * time.Second
	checkDutyCycle   = 9
	maxCheckInterval = time.Minute
	// watchRestartInterval is the minimum time between restarts of the watch after a queue overflow
	// or late events. watchRetryInterval is that after a failed start.
	watchRestartInterval = 10 * time.Second
	watchRetryInterval   = 10 * time.Minute
	// tableTimeout limits how long a scan waits for a table.
	tableTimeout = 3 * time.Second
	// maxUnindexed files without an entry in the index start an update, even if they are less than
	// an eighth of all files.
	maxUnindexed = 64
)

// State is the state of a root's index: "building"; "ready", with a Reason if some files are left
// out; or "walking", with the Reason for having no index. Files counts the indexed files.
type State struct {
	Root, State, Reason string
	Files, Bytes        int
}

// States returns the states of the roots that were searched, sorted by path.
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

// Invalidate makes the next scan check all files. Call it after a command, which may change files
// without an event, for example through a memory mapping.
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
	invalidated atomic.Bool // see Invalidate

	stateMu  sync.Mutex
	state    State
	building bool // under stateMu

	// table is one of the values below. mu is held while the first table is built; scans of the
	// whole root wait for it.
	table atomic.Int32
	// tableDone is closed when the build of the table has ended or failed.
	tableDone chan struct{} // under stateMu

	mu          sync.Mutex // held during a refresh
	top         *folder
	parentRules *tree.Rules
	segments    []*trigrams.Segment
	files       int       // at the last indexing
	w           *watch    // nil while there is none
	watchDue    time.Time // the earliest time of the next attempt
	checking    bool
	checkDue    time.Time
	// allValid is set if all folders of the table were checked, and all except invalidFolders are
	// valid.
	allValid       bool
	invalidFolders [][]*folder // by depth
	flat           *flat       // cache of the table's files; nil after a change
}

// The states of a table.
const (
	tableNone             int32 = iota
	tableBuilding               // by one goroutine at low priority
	tableBuildingParallel       // by all processors, since a scan waits for it
	tableReady
)

// indexFor returns the index for a tree, nil if it can have none.
func (x *Indexes) indexFor(t *tree.Tree) *index {
	if x == nil || x.RunInBackground == nil || !t.Indexable() {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.roots == nil {
		x.roots = map[string]*index{}
	}
	i := x.roots[t.Root().Path()]
	if i == nil {
		reason := fmt.Sprintf("no search has come by %d files yet", x.limit(x.Least, defaultMinFiles))
		i = &index{indexes: x, state: State{State: "walking", Reason: reason}}
		x.roots[t.Root().Path()] = i
	}
	return i
}

// maxFiles is the limit of files in an index.
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

// noteWalk starts a build if a walk has found enough files.
func (i *index) noteWalk(t *tree.Tree, files int) {
	if files >= i.indexes.limit(i.indexes.Least, defaultMinFiles) {
		i.build(t)
	}
}

// build builds or updates the index in the background, unless a build is running or was given up.
func (i *index) build(t *tree.Tree) {
	i.stateMu.Lock()
	defer i.stateMu.Unlock()
	if i.building {
		return
	}
	i.building = true
	root, done := t.Root(), make(chan struct{})
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

// awaitTable reports whether the table is ready. If the first table is being built, it switches the
// build to all processors and waits: that costs about one and a half walks, which later scans save.
// After tableTimeout the scan walks instead.
func (i *index) awaitTable(ctx context.Context, t *tree.Tree) bool {
	if t.Dir() == "." && (i.table.CompareAndSwap(tableBuilding, tableBuildingParallel) || i.table.Load() == tableBuildingParallel) {
		i.stateMu.Lock()
		done := i.tableDone
		i.stateMu.Unlock()
		select {
		case <-done:
		case <-time.After(tableTimeout):
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

// work indexes the files that have no entry. It calls tableDone when the table is ready or its
// build has failed. The error is the reason for having no index.
func (i *index) work(ctx context.Context, root sandbox.Place, tableDone func()) error {
	i.table.CompareAndSwap(tableNone, tableBuilding)
	defer func() {
		if i.table.Load() != tableReady {
			i.table.Store(tableNone)
		}
		tableDone()
	}()
	t, err := tree.Open(root)
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
		for n < len(jobs) && !b.Full(max(Head, min(jobs[n].ident.Size(), trigrams.MaxFile))) && ctx.Err() == nil {
			buf = i.read(t, &jobs[n], b, buf, full, func() bool { yields.yield(ctx); return ctx.Err() == nil })
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

// maxBytes is the limit of memory for the index.
func (i *index) maxBytes() int { return i.indexes.limit(i.indexes.Bytes, defaultMaxBytes) }

// gaveUpError is the reason for never building an index of a root again.
type gaveUpError string

func (e gaveUpError) Error() string { return string(e) }

// pending builds or updates the table and lists the files to index. It drops the whole index to
// rebuild it if most indexed texts are gone, or if those that are gone would make room for files
// that had none. If the table leaves no room for the segments, the last segments are dropped.
func (i *index) pending(ctx context.Context, t *tree.Tree) (jobs []pendingFile, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	d, err := t.OpenDir(".")
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
	if i.table.Load() != tableReady { // all of it was checked just now
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

// needsRebuild reports whether enough of the indexed texts are gone to rebuild the index. i.mu is
// held.
func (i *index) needsRebuild(c counts) bool {
	gone := -c.texts
	for _, s := range i.segments {
		gone += s.Texts()
	}
	return gone > c.texts+4*trigrams.Texts || c.overLimit > 0 && 4*gone > c.texts
}

// drop deletes the segments from the given one on and sets their files to known; textUnread resets
// all files. i.mu is held.
func (i *index) drop(from int, known int32) {
	i.segments, i.flat = slices.Delete(i.segments, from, len(i.segments)), nil
	_ = i.top.each("", func(_ *folder, e *entry) error {
		if known == textUnread || int(e.text) >= from*trigrams.Texts {
			e.text = known
		}
		return nil
	})
}

// read reads a file into the segment being built and records its number or its text state. full is
// set if the index has no room for it. proceed waits before each piece of it; false ends the build.
func (i *index) read(t *tree.Tree, j *pendingFile, b *trigrams.Builder, buf []byte, full bool, proceed func() bool) []byte {
	if j.text = textUnread; !proceed() {
		return buf
	}
	dir, name := path.Split(j.path)
	d, err := t.OpenDir(dir)
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
	case t.Note(err) != nil: // a search may be able to open it
	case err != nil: // nor can a search read it, as long as its metadata are the same
		j.text = textUnindexed
	case bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")):
		j.text = textUnindexed // it is not searched as it stands
	case bytes.IndexByte(text[:min(n, Sniffed)], 0) >= 0:
		j.text = textBinary
	case full:
		j.text = textOverLimit
	case rest != nil && j.ident.Size() > trigrams.MaxFile:
		j.text = textUnindexed
	default:
		j.text, j.parts = addFile(b, j.ident.Size(), buf, n, rest, proceed)
	}
	return buf
}

// addFile adds a file whose first n bytes are in buf, which is used again for the rest of it. Where
// it has no room in a segment or cannot be read to its end, text is the state that says so.
func addFile(b *trigrams.Builder, size int64, buf []byte, n int, rest io.Reader, proceed func() bool) (text, parts int32) {
	b.Begin(size)
	ok := b.Write(buf[:n])
	for rest != nil && ok {
		if !proceed() {
			b.Discard()
			return textUnread, 0
		}
		n, err := rest.Read(buf)
		if ok = b.Write(buf[:n]); err == io.EOF {
			break
		} else if err != nil {
			ok = false
		}
	}
	if !ok {
		b.Discard()
		return textUnindexed, 0
	}
	first, all := b.End()
	return int32(first), int32(all)
}

// install adds a segment and the entries of its files.
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

// size estimates the memory of the index.
func (i *index) size() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.bytes()
}

// bytes is size with i.mu held.
func (i *index) bytes() (n int) {
	for _, s := range i.segments {
		n += s.Bytes()
	}
	return n + i.files*entryBytes
}

// forget resets the index to the state before the first search. i.mu is held.
func (i *index) forget() {
	i.stopWatch()
	i.table.Store(tableNone)
	i.top, i.segments, i.files, i.flat = nil, nil, 0, nil
}

// Outlook is a forecast of a root's index. No index is built for it.
type Outlook struct {
	// Files and Folders count what a search visits, Most is the limit of files in an index.
	Files, Folders, Most int
	// Reason is why there can be no index, "" if there can be one.
	Reason string
	// Few is set if the root has too few files for an index.
	Few bool
	// Watched is the number of folders that the system can watch. With more folders, each search
	// compares all files with the file system.
	Watched int
}

const (
	remoteReason = gaveUpError("the folder is on a file system that does not tell of changes")
	keysReason   = gaveUpError("keys are kept in the folder")
)

// tooMany is the reason for a root with too many files.
func tooMany(most int) gaveUpError {
	return gaveUpError(fmt.Sprintf("it has more than %d files", most))
}

// Foresee forecasts the index of a root with the default limits. The error is the cause of ctx, or
// one of os.
func Foresee(ctx context.Context, root sandbox.Place) (Outlook, error) {
	return foresee(ctx, root, defaultMinFiles, defaultMaxFiles)
}

func foresee(ctx context.Context, root sandbox.Place, least, most int) (Outlook, error) {
	o := Outlook{Folders: 1, Most: most, Watched: maxWatches()}
	t, err := tree.Open(root)
	if err != nil {
		return o, err
	}
	d, err := t.OpenDir(".")
	if err != nil {
		return o, err
	}
	remote := d.Remote()
	d.Close()
	if _, err = t.Walk(ctx, 0, func(e tree.Entry) error {
		switch {
		case e.Type.IsDir():
			o.Folders++
		case e.Type.IsRegular():
			o.Files++
		}
		if o.Files > most {
			return fs.SkipAll
		}
		return nil
	}); err != nil {
		return o, err
	}
	switch {
	case root.Class().Unlisted():
		o.Reason = string(keysReason)
	case remote:
		o.Reason = string(remoteReason)
	case o.Files > most:
		o.Reason = string(tooMany(most))
	}
	o.Few = o.Files < least
	return o, nil
}

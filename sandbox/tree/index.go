package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/bits"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tandem/sandbox"
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
	// than it has worked, where that is more.
	checkEvery = 2 * time.Second
	checkShare = 9
	// stale is how many files that are not indexed have the index brought up to date, also where they are less than an eighth of all.
	stale = 64
)

// State is that of the index of a root: building, ready, which has a reason where it is not of all files, or walking with a reason. Files are those
// that are in it.
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

	// usable says that there is a table. Until then a scan does not wait for mu, which is held while it is made.
	usable atomic.Bool

	mu       sync.Mutex // held during a pass
	top      *folder
	above    *layers
	segments []*segment
	files    int    // when it was last indexed
	w        *watch // nil where there is none, or no more
	checking bool
	checkDue time.Time
	// whole says that all folders of the table were looked at, and that but for those in open, all are believed since.
	whole bool
	open  [][]*folder // by depth
	flat  *flat       // of the table as it is; nil where it has changed
}

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
	root := t.root
	i.of.Later(func(ctx context.Context) {
		err := i.work(ctx, root)
		i.told.Lock()
		defer i.told.Unlock()
		if i.building = errors.As(err, new(given)); err != nil {
			i.state = State{State: "walking", Reason: err.Error()}
		}
	})
}

// job is a file to be indexed.
type job struct {
	e     *entry
	path  string
	ident sandbox.Ident
	text  int32
	parts int32
}

// work indexes what is not indexed. An error says why that cannot be.
func (i *index) work(ctx context.Context, root sandbox.Place) error {
	t, err := Open(root)
	if err != nil {
		return err
	}
	if !i.usable.Load() { // a scan does not wait for the first table
		lower()
	}
	var jobs []job
	if jobs, err = i.pending(ctx, t); err != nil {
		return err
	}
	i.told.Lock()
	if i.state.State != "ready" {
		i.state = State{State: "building", Files: len(jobs)}
	}
	i.told.Unlock()
	lower()
	yields := &background{turns: &i.of.turns, now: i.of.Now, patience: buildWaits, share: buildShare}
	b, buf := newBuilder(), make([]byte, 256<<10)
	for len(jobs) > 0 && ctx.Err() == nil {
		n := 0
		for n < len(jobs) && !b.full() && ctx.Err() == nil {
			yields.yield(ctx)
			buf = i.read(t, &jobs[n], b, buf)
			n++
		}
		if ctx.Err() != nil {
			break
		}
		s := b.finish()
		if i.size()+s.bytes() > i.of.limit(i.of.Bytes, mostBytes) {
			for n := range jobs {
				jobs[n].text = beyond
			}
			s, n = &segment{}, len(jobs)
		}
		i.install(s, jobs[:n])
		jobs = jobs[n:]
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ready := State{State: "ready", Bytes: i.size()}
	i.mu.Lock()
	c := i.top.count()
	i.mu.Unlock()
	debug.FreeOSMemory()
	if ready.Files = c.files - c.beyond; c.beyond > 0 {
		ready.Reason = fmt.Sprintf("%d of %d files are read by each search, as with them it would take more than %d MiB",
			c.beyond, c.files, i.of.limit(i.of.Bytes, mostBytes)>>20)
	}
	i.say(ready)
	return nil
}

// given is why an index is given up for good.
type given string

func (g given) Error() string { return string(g) }

// pending brings the table up to date, or makes it, and lists the files that are to be indexed. Where most of what was indexed is no more,
// or enough of it to make room for files that had none, all is indexed anew.
func (i *index) pending(ctx context.Context, t *Tree) (jobs []job, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	d, err := t.at(".").OpenDir()
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
		i.listen(ctx)
	}
	workers := runtime.GOMAXPROCS(0)
	if !i.usable.Load() { // nobody waits for it
		workers = 1
	}
	if err := i.refresh(ctx, t, "", workers); err != nil {
		return nil, err
	}
	c := i.top.count()
	if most := i.of.limit(i.of.Files, mostFiles); c.files > most {
		i.forget()
		return nil, tooMany(most)
	}
	i.files = c.files
	gone := -c.texts
	for _, s := range i.segments {
		gone += s.texts
	}
	if gone > c.texts+4*segmentFiles || c.beyond > 0 && 4*gone > c.texts {
		i.segments, i.flat = nil, nil
		_ = i.top.each("", func(_ *folder, e *entry) error { e.text = unread; return nil })
	}
	now := i.of.Now()
	_ = i.top.each("", func(f *folder, e *entry) error {
		if e.sub == nil && e.ident.Type == 0 && e.text == unread && e.ident.Settled(now) {
			jobs = append(jobs, job{e: e, path: f.join(e.name), ident: e.ident})
		}
		return nil
	})
	i.usable.Store(true)
	return jobs, nil
}

// listen begins to hear of what happens in the folders, until ctx ends. i.mu is held.
func (i *index) listen(ctx context.Context) {
	w, err := newWatch()
	if err != nil {
		return
	}
	i.w = w
	context.AfterFunc(ctx, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.w == w {
			i.deaf()
		}
	})
}

// deaf ends that: no folder is believed any more. i.mu is held.
func (i *index) deaf() {
	if i.w == nil {
		return
	}
	i.w.close()
	i.w, i.whole = nil, false
	if i.top != nil {
		(&pass{}).doubt(i.top)
	}
}

// refresh brings the part of the table up to date that lies at under, all of it where that is "". i.mu is held.
func (i *index) refresh(ctx context.Context, t *Tree, under string, workers int) error {
	if i.above == nil || !i.above.equal(&t.ignore) {
		above := t.ignore
		i.above, i.whole = &above, false
	}
	p := &pass{t: t, w: i.w, now: i.of.Now(), under: under, workers: workers}
	defer func() {
		if p.changed.Load() {
			i.flat = nil
		}
	}()
	if i.doubted.Swap(false) {
		i.top.disbelieve()
		i.whole = false
	}
	if i.w != nil {
		paths, ok := i.w.since()
		if !ok {
			i.deaf()
			p.w = nil
		}
		for path := range paths {
			p.hear(i.top, path)
			i.whole = false
		}
		// What lies above the root has no watch: it may be another folder by now. Of what happens in it there are events.
		d, err := t.at(".").OpenDir()
		if err != nil {
			return err
		}
		if now, err := d.Ident("."); err != nil || !now.Same(i.top.ident) {
			p.doubt(i.top)
			i.whole = false
		} else if i.top.unheard() && !i.top.sameRules(d) {
			i.top.believed, i.whole = false, false
		}
		d.Close()
	}
	if i.whole {
		for _, level := range i.open { // a folder may drop what is below it
			together(workers, level, func(f *folder) { p.check(f, f.above) })
		}
		if !p.listed.Load() {
			return nil
		}
		i.whole = false
	}
	err := p.refresh(ctx, i.top, i.above)
	if i.whole = err == nil && under == "" && p.w != nil; i.whole {
		i.open = i.top.open(nil, 0)
	}
	return err
}

// check looks for what no event tells of: what is written by way of a mapping into memory, by a name elsewhere, or mounted.
func (i *index) check(ctx context.Context, t *Tree) {
	yields := &background{turns: &i.of.turns, now: i.of.Now, patience: checkWaits}
	defer func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.checking, i.checkDue = false, i.of.Now().Add(max(checkEvery, checkShare*yields.worked))
	}()
	i.mu.Lock()
	if i.top == nil {
		i.mu.Unlock()
		return
	}
	list := []*folder{i.top}
	_ = i.top.each("", func(_ *folder, e *entry) error {
		if e.sub != nil && e.sub.believed {
			list = append(list, e.sub)
		}
		return nil
	})
	i.mu.Unlock()
	for _, f := range list {
		yields.yield(ctx)
		i.checkOne(t, f)
	}
}

func (i *index) checkOne(t *Tree, f *folder) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !f.believed || i.w == nil {
		return
	}
	p := &pass{t: t, w: i.w, now: i.of.Now(), workers: 1}
	if p.check(f, f.above); !f.believed || p.listed.Load() {
		i.whole = false
	}
	if p.changed.Load() {
		i.flat = nil
	}
}

// read reads a file for the segment that is built, and says with a number or otherwise what is known of it then.
func (i *index) read(t *Tree, j *job, b *builder, buf []byte) []byte {
	j.text = unread
	folder, name := t.at(j.path).Parent()
	d, err := folder.OpenDir()
	if err != nil {
		return buf
	}
	defer d.Close()
	if now, err := d.Ident(name); err != nil || now != j.ident {
		return buf
	}
	n, rest, err := d.Read(name, buf)
	if err == nil && rest != nil {
		buf, n, rest, err = more(buf, n, rest)
	}
	text := buf[:n]
	switch {
	case err != nil: // nor can a search read it, as long as its metadata are the same
		j.text = always
	case rest != nil:
		j.text = always
		_ = rest.Close()
	case bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")):
		j.text = always // it is not searched as it stands
	case bytes.IndexByte(text[:min(n, Sniffed)], 0) >= 0:
		j.text = never
	default:
		j.text = int32(len(b.ends))
		b.parts(text)
		j.parts = int32(len(b.ends)) - j.text
	}
	return buf
}

// install adds a segment with the files that were read for it.
func (i *index) install(s *segment, jobs []job) {
	i.mu.Lock()
	defer i.mu.Unlock()
	first := int32(len(i.segments) * segmentFiles)
	if i.flat = nil; s.texts > 0 {
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
func (i *index) size() (n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, s := range i.segments {
		n += s.bytes()
	}
	return n + i.files*perEntry
}

func (i *index) forget() {
	i.deaf()
	i.usable.Store(false)
	i.top, i.segments, i.files, i.flat = nil, nil, 0, nil
}

// Walk is Tree.Walk of a table that is brought up to date first, where there is one that the system keeps current. visit may not use
// the Indexes.
func (x *Indexes) Walk(ctx context.Context, t *Tree, depth int, visit func(Entry) error) (ignored int, err error) {
	i := x.of(t)
	if i != nil {
		defer x.turns.begin()()
		if ok, ignored, err := i.walk(ctx, t, depth, visit); ok {
			return ignored, err
		}
	}
	files := 0
	ignored, err = t.Walk(ctx, depth, func(e Entry) error {
		if e.Type.IsRegular() {
			files++
		}
		return visit(e)
	})
	if i != nil && depth == 0 {
		i.walked(t, files)
	}
	return ignored, err
}

// walk is Walk where the table can tell.
func (i *index) walk(ctx context.Context, t *Tree, depth int, visit func(Entry) error) (ok bool, ignored int, err error) {
	if !i.usable.Load() {
		return false, 0, nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.w == nil {
		return false, 0, nil
	}
	root, ok := i.root(t)
	if !ok {
		return false, 0, nil
	}
	if err := i.refresh(ctx, root, prefix(t), runtime.GOMAXPROCS(0)); err != nil {
		return true, 0, err
	}
	top := i.top.down(t.dir)
	if top == nil {
		return false, 0, nil
	}
	if _, known := t.named(top, prefix(t)); !known {
		return false, 0, nil
	}
	ignored, err = t.visit(ctx, top, prefix(t), depth, visit)
	if errors.Is(err, fs.SkipAll) || errors.Is(err, fs.SkipDir) {
		err = nil
	}
	return true, ignored, err
}

// visit visits what is in a folder of a table, whose paths begin with at where they lie in the tree.
func (t *Tree) visit(ctx context.Context, f *folder, at string, depth int, visit func(Entry) error) (ignored int, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	t.withheld.Add(int64(len(f.withheld)))
	for _, name := range f.withheld {
		if t.OnWithheld != nil {
			t.OnWithheld(t.at(strings.TrimPrefix(f.join(name), at)))
		}
	}
	ignored = len(f.ignored)
	named := t.namedIn(f, at)
	visitNamed := func(before string) error { // up to an entry
		for ; len(named) > 0 && (before == "" || named[0].name < before); named = named[1:] {
			ignored--
			err := visit(Entry{Path: strings.TrimPrefix(f.join(named[0].name), at), Type: named[0].kind, tree: t})
			if err != nil && !errors.Is(err, fs.SkipDir) {
				return err
			}
		}
		return nil
	}
	for _, e := range f.entries {
		if e.ident.Type == fs.ModeIrregular {
			continue
		}
		if err := visitNamed(e.name); err != nil {
			return ignored, err
		}
		if e.sub == nil && t.only.rejects(e.name) {
			continue
		}
		rel := strings.TrimPrefix(f.join(e.name), at)
		if t.only.judge(rel, e.sub != nil) == excludes {
			continue
		}
		err := visit(Entry{Path: rel, Type: e.ident.Type, tree: t})
		switch {
		case errors.Is(err, fs.SkipDir) && e.sub != nil:
			continue
		case err != nil:
			return ignored, err
		}
		if e.sub != nil && depth != 1 {
			n, err := t.visit(ctx, e.sub, at, depth-1, visit)
			if ignored += n; err != nil {
				return ignored, err
			}
		}
	}
	return ignored, visitNamed("")
}

// root opens the root of the table for a tree in it; ok is false where there is no table, or the tree has rules of its own.
func (i *index) root(t *Tree) (root *Tree, ok bool) {
	if i.top == nil {
		return nil, false
	}
	if t.dir == "." {
		return t, true
	}
	root, err := Open(t.root)
	return root, err == nil
}

// candidate is a file to be searched.
type candidate struct {
	in   *folder // of which only at is used
	name string
}

// path is that of the file, relative to the root of the table.
func (c candidate) path() string { return c.in.join(c.name) }

// flat is the regular files of a table in the order of a walk.
type flat struct {
	files []flatFile
	// numbered are the places in files of those whose parts have a number, by it; -1 is none.
	numbered []int32
	// others are the places of those that have none, and are searched; several of those with more than one part.
	others, several []int32
}

type flatFile struct {
	candidate
	e *entry
}

func newFlat(top *folder, segments int) *flat {
	l := &flat{numbered: make([]int32, segments*segmentFiles)}
	for n := range l.numbered {
		l.numbered[n] = -1
	}
	_ = top.each("", func(f *folder, e *entry) error {
		at := int32(len(l.files))
		switch {
		case e.sub != nil || e.ident.Type != 0 || e.text == never:
			return nil
		case e.text >= 0:
			for n := range e.parts {
				l.numbered[e.text+n] = at
			}
			if e.parts > 1 {
				l.several = append(l.several, at)
			}
		default:
			l.others = append(l.others, at)
		}
		l.files = append(l.files, flatFile{candidate{f, e.name}, e})
		return nil
	})
	return l
}

// marked are the files with a part that is marked, and the others, in their order. Where a match needs no more than one line the parts are told
// apart, as what it needs may be in several else. It may be gone through when the table is another already.
func (l *flat) marked(has []*marks, oneLine bool) iter.Seq[candidate] {
	wanted := make([]uint64, (len(l.files)+63)/64)
	want := func(at int32) { wanted[at/64] |= 1 << (at % 64) }
	for n, m := range has {
		for i, word := range m {
			for ; word != 0; word &= word - 1 {
				if at := l.numbered[n*segmentFiles+i*64+bits.TrailingZeros64(word)]; at >= 0 {
					want(at)
				}
			}
		}
	}
	for _, at := range l.others {
		want(at)
	}
	if !oneLine {
		for _, at := range l.several {
			want(at)
		}
	}
	return func(yield func(candidate) bool) {
		for i, word := range wanted {
			for ; word != 0; word &= word - 1 {
				if !yield(l.files[i*64+bits.TrailingZeros64(word)].candidate) {
					return
				}
			}
		}
	}
}

// scan calls visit for the files of a tree that are wanted and may have one literal of each list, in the order of a walk; ok is false
// where that cannot be told now.
func (i *index) scan(
	ctx context.Context, t *Tree, o Options, visit func(d *sandbox.Dir, name, path string) error,
) (ok bool, err error) {
	if i == nil || !i.usable.Load() {
		return false, nil
	}
	root, list, ok, err := i.candidates(ctx, t, o)
	if !ok || err != nil {
		return ok, err
	}
	at := prefix(t)
	var d *sandbox.Dir
	var in *folder
	defer func() {
		if d != nil {
			d.Close()
		}
	}()
	for c := range list {
		if ctx.Err() != nil {
			return true, context.Cause(ctx)
		}
		rel, below := strings.CutPrefix(c.path(), at)
		if !below || !t.only.Fits(rel) || !o.Wants(rel) {
			continue
		}
		if c.in != in {
			if d != nil {
				d.Close()
			}
			in = c.in
			if d, err = root.at(in.at).OpenDir(); err != nil {
				d = nil
			}
		}
		if d == nil {
			continue
		}
		if err := visit(d, c.name, rel); err != nil {
			return true, err
		}
	}
	return true, nil
}

// prefix is what the paths in a table begin with that lie in a tree.
func prefix(t *Tree) string { return strings.Join(append(components(t.dir), ""), "/") }

// candidates are the files that scan visits where they are below the tree and wanted, as they are when it is called.
func (i *index) candidates(ctx context.Context, t *Tree, o Options) (root *Tree, list iter.Seq[candidate], ok bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if root, ok = i.root(t); !ok {
		return nil, nil, false, nil
	}
	at := prefix(t)
	if err := i.refresh(ctx, root, at, runtime.GOMAXPROCS(0)); err != nil {
		return nil, nil, true, err
	}
	named, known := t.named(i.top.down(t.dir), at)
	if !known {
		return nil, nil, false, nil
	}
	if i.flat == nil {
		i.flat = newFlat(i.top, len(i.segments))
	}
	var has []*marks
	for _, s := range i.segments {
		has = append(has, s.match(o.Need))
	}
	list = i.flat.marked(has, o.OneLine)
	if len(named) > 0 {
		list = inOrder(append(named, slices.Collect(list)...))
	}
	dirty, now := 0, i.of.Now()
	for _, n := range i.flat.others {
		if e := i.flat.files[n].e; e.text == unread && e.ident.Settled(now) {
			dirty++
		}
	}
	if dirty >= stale || 8*dirty > i.files {
		i.build(t)
	}
	if i.w != nil && !i.checking && now.After(i.checkDue) {
		i.checking = true
		i.of.Later(func(ctx context.Context) { i.check(ctx, root) })
	}
	return root, list, true, nil
}

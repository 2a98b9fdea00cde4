package effects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tandem/sandbox"
	"tandem/sandbox/git"
	"tandem/sandbox/tree"
)

// stat is the metadata by which an unchanged file is recognised.
type stat struct {
	ino          uint64
	size         int64
	mode         uint32 // as the system has it
	links        uint32
	mtime, ctime int64 // in nanoseconds
}

// repository is a repository whose work tree is looked through.
type repository struct {
	*git.Repository
	stat    stat // of the index
	index   map[string]git.Entry
	tracked *git.Tracked
	objects *git.Objects
}

// walk is one look through the folders.
type walk struct {
	m     *Memory
	ctx   context.Context
	paths *sandbox.Paths
	seen  map[string]bool
	look  look
	// before is the look before the command, if this is the one after it.
	before *look
	nested []string // repositories that the command has made
	left   int
	room   int64 // for the content of changed files
	repos  map[string]*repository
	open   []*repository // those whose objects are open
}

func (m *Memory) walk(ctx context.Context, paths *sandbox.Paths, seen []string, before *look) *walk {
	now := time.Now
	if m.Now != nil {
		now = m.Now
	}
	w := &walk{m: m, ctx: ctx, paths: paths, seen: map[string]bool{}, before: before, left: cmp.Or(m.Most, maxEntries), room: maxAll, repos: map[string]*repository{}}
	w.look = look{folders: make(map[string]*folder, len(m.folders)), singles: map[string]entry{}, at: now()}
	for _, at := range seen {
		w.seen[at] = true
	}
	for _, root := range paths.WriteRoots() {
		if place, err := paths.Readable(root); err == nil {
			w.root(place)
		}
	}
	for _, at := range seen {
		w.single(at)
	}
	m.repos = w.repos
	return w
}

// root looks through a root.
func (w *walk) root(place sandbox.Place) {
	f, err := place.Dir()
	if err != nil {
		w.failed(err)
		return
	}
	defer f.Close()
	at := place.Path()
	if w.look.folders[at] != nil {
		return
	}
	w.folder(handle(f), at, w.above(at))
}

// above are the rules that a root gets from the repository that it lies in.
func (w *walk) above(root string) *rules {
	top := root
	for {
		if repo := w.repository(top); repo != nil {
			r := &rules{from: len(namesOf(top)), repo: repo, Rules: repo.rules()}
			r.filtered = strings.Contains(git.Text(filepath.Join(top, ".git", "info", "attributes")), "filter")
			names := namesOf(root)[r.from:]
			for i := range names {
				dir := filepath.Join(top, filepath.Join(names[:i]...))
				r.Rules = r.AddFolder(dir, names[:i])
				r.filtered = r.filtered || strings.Contains(git.Text(filepath.Join(dir, ".gitattributes")), "filter")
			}
			return w.reuse(root, r)
		}
		if top == path.Dir(top) {
			return w.reuse(root, &rules{from: len(namesOf(root))})
		}
		top = path.Dir(top)
	}
}

// reuse gives the rules of the last look if they are the same, so that what was judged by them
// holds.
func (w *walk) reuse(root string, r *rules) *rules {
	if f := w.m.folders[root]; f != nil && f.rules.same(r) {
		return f.rules
	}
	return r
}

func (r *rules) same(o *rules) bool {
	return r.from == o.from && r.filtered == o.filtered && r.repo == o.repo && r.Equal(o.Rules)
}

func namesOf(at string) []string {
	if at = strings.Trim(at, "/"); at == "" {
		return nil
	}
	return strings.Split(at, "/")
}

// repository opens the repository of a work tree, nil if there is none that can be trusted: its
// folder belongs to the owner of the work tree. One of another user could say what it likes about
// the files.
func (w *walk) repository(top string) *repository {
	if r, ok := w.repos[top]; ok {
		return r
	}
	w.repos[top] = nil
	here, err := os.Lstat(top)
	if err != nil {
		return nil
	}
	meta, err := os.Lstat(filepath.Join(top, ".git"))
	if err != nil || !sameOwner(here, meta) {
		return nil
	}
	opened, err := git.Open(top)
	if err != nil {
		return nil
	}
	r := &repository{Repository: opened}
	if info, err := os.Stat(opened.IndexFile()); err == nil {
		r.stat = statOf(info)
	}
	if old := w.m.repos[top]; old != nil && old.stat == r.stat {
		r = old
	} else {
		r.index, _ = opened.Index() // what it does not have is kept in memory
		if r.tracked, err = opened.Tracked(); errors.Is(err, fs.ErrNotExist) {
			r.tracked = &git.Tracked{}
		}
	}
	w.repos[top] = r
	return r
}

// rules are those that hold in all of the work tree. Where it cannot be told what git tracks,
// nothing is ignored.
func (r *repository) rules() git.Rules {
	if r.tracked == nil {
		return git.Rules{}.Doubt()
	}
	return r.Rules()
}

// folder looks through a folder.
func (w *walk) folder(dir dirHandle, at string, above *rules) {
	self, err := dir.self()
	if err != nil {
		return
	}
	old := w.m.folders[at]
	f := &folder{self: self, rules: above, below: above, young: w.young(self)}
	w.look.folders[at] = f
	if old != nil && old.self == self && !old.young {
		f.names, f.hints = old.names, old.hints
	} else if f.names, err = dir.names(); err != nil {
		f.partial = w.failed(err)
		return
	} else {
		slices.Sort(f.names)
		f.hints = hints(at, f.names)
	}
	if w.before != nil && w.before.folders[at] == nil && has(f.names, ".git") {
		delete(w.look.folders, at)
		w.nested = append(w.nested, at)
		return
	}
	f.entries = make([]entry, 0, len(f.names))
	f.below = w.rulesOf(at, f, old)
	if old != nil && old.below != f.below {
		f.hints = slices.Clone(f.hints)
		for i := range f.hints {
			f.hints[i].judged = false
		}
	}
	var was *folder
	if w.before != nil {
		was = w.before.folders[at]
	}
	parts := namesOf(at)[f.below.from:]
	next := 0 // of the old entries
	for i, name := range f.names {
		if tree.Hidden(name) {
			continue
		}
		if w.left--; w.left < 0 || w.left%1024 == 0 && w.ctx.Err() != nil {
			why := "the search for them was cancelled"
			if w.left < 0 {
				why = fmt.Sprintf("the workspace has more than %d entries", cmp.Or(w.m.Most, maxEntries))
			}
			w.look.cut, f.partial = cmp.Or(w.look.cut, why), true
			return
		}
		s, err := dir.stat(name)
		if err != nil {
			continue
		}
		h := &f.hints[i]
		isDir := s.kind()&fs.ModeDir != 0
		if !h.judged {
			h.ignored, h.judged = f.below.ignores(parts, name, isDir), true
		}
		ignored := h.ignored
		if was != nil && was.below != f.below {
			ignored = w.ignored(was, at, name, isDir, ignored)
		}
		ignored = ignored && !(len(w.seen) > 0 && w.seen[path.Join(at, name)])
		if isDir && !ignored {
			switch {
			case h.secret:
			case len(at)+len("/")+len(name)+len("/x") >= tree.MaxPath:
				w.look.deep = true
			default:
				w.enter(dir, name, path.Join(at, name), f.below)
			}
			continue
		}
		e := entry{name: name, stat: s, ignored: ignored, young: w.young(s)}
		var o *entry
		if old != nil {
			for next < len(old.entries) && old.entries[next].name < name {
				next++
			}
			if next < len(old.entries) && old.entries[next].name == name {
				o = &old.entries[next]
			}
		}
		w.classify(&e, o, h.secret, parts, f.below)
		f.entries = append(f.entries, e)
	}
}

// failed notes that a folder is missing in the look because too many files are open. Any other
// folder that cannot be read is left out.
func (w *walk) failed(err error) bool {
	if sandbox.Exhausted(err) {
		w.look.cut = cmp.Or(w.look.cut, "too many files are open")
		return true
	}
	return false
}

// ignores says that git ignores an entry of a folder: by the rules, unless the index has it or
// something below it.
func (r *rules) ignores(parts []string, name string, isDir bool) bool {
	names := append(parts[:len(parts):len(parts)], name)
	return r.repo != nil && r.Ignore(names, isDir) && !r.repo.tracked.Has(strings.Join(names, "/"))
}

// ignored judges an entry after a command that has changed the rules of its folder, or what git
// has: one that was there as it was judged then, another by the rules of both times.
func (w *walk) ignored(was *folder, at, name string, isDir, now bool) bool {
	below := path.Join(at, name)
	if isDir && w.before.folders[below] != nil {
		return false
	}
	if e := w.before.find(below); e != nil && (e.kind()&fs.ModeDir != 0) == isDir {
		return e.ignored
	}
	return now || was.below.ignores(namesOf(at)[was.below.from:], name, isDir)
}

func hints(at string, names []string) []hint {
	out := make([]hint, len(names))
	for i, name := range names {
		out[i].secret = sandbox.EntryClass(path.Base(at), name).Is(sandbox.Secret)
	}
	return out
}

func (w *walk) enter(dir dirHandle, name, at string, below *rules) {
	if w.look.folders[at] != nil { // a root of its own
		return
	}
	sub, err := dir.open(name)
	if err != nil {
		w.failed(err)
		return
	}
	defer sub.close()
	w.folder(sub, at, below)
}

// rulesOf are the rules for the entries of a folder: those from above, with its own files.
func (w *walk) rulesOf(at string, f, old *folder) *rules {
	r := *f.rules
	mine := false
	if has(f.names, ".git") {
		if repo := w.repository(at); repo != nil && repo != r.repo {
			r.repo, mine = repo, true
			r.Rules, r.from = repo.rules(), len(namesOf(at))
		}
	}
	parts := namesOf(at)[r.from:]
	if has(f.names, ".gitignore") {
		r.Rules, mine = r.AddFolder(at, parts), true
	}
	if has(f.names, ".gitattributes") && strings.Contains(git.Text(path.Join(at, ".gitattributes")), "filter") {
		r.filtered, mine = true, true
	}
	switch {
	case !mine:
		return f.rules
	case old != nil && old.below.same(&r):
		return old.below
	}
	return &r
}

func has(names []string, name string) bool {
	_, ok := slices.BinarySearch(names, name)
	return ok
}

// classify says where the content of a file is, unless it has to be read. old is the file in the
// last look, nil if it was not there.
func (w *walk) classify(e, old *entry, secret bool, parts []string, r *rules) {
	e.repo = r.repo
	known := old != nil && old.stat == e.stat && !old.young && old.ignored == e.ignored
	switch {
	case e.ignored:
		e.in = nowhere
	case secret:
		e.in, e.why = nowhere, whySecret
	case e.kind() != 0:
		e.in, e.why = nowhere, whySpecial
	case known && old.repo == r.repo:
		e.in, e.id, e.content, e.why = old.in, old.id, old.content, old.why
	case r.repo != nil && !r.filtered && w.tracked(e, parts, r.repo):
	case known && old.in == memory:
		e.in, e.content = memory, old.content
	}
}

// tracked says that git has a file as it is.
func (w *walk) tracked(e *entry, parts []string, repo *repository) bool {
	rel := e.name
	if len(parts) > 0 {
		rel = strings.Join(parts, "/") + "/" + e.name
	}
	k, ok := repo.index[rel]
	if ok = ok && clean(e.stat, k, repo.stat); ok {
		e.in, e.id = objects, k.ID
	}
	return ok
}

// clean says that a file is as the index has it. One that was changed when the index was written
// may have been changed once more.
func clean(s stat, k git.Entry, index stat) bool {
	nanos := func(sec, ns uint32) int64 { return int64(sec)*1e9 + int64(ns) }
	mode := uint32(0o100644)
	if s.mode&0o100 != 0 {
		mode = 0o100755
	}
	return uint32(s.size) == k.Size && s.size < 1<<32 && uint32(s.ino) == k.Inode && s.mtime == nanos(k.Seconds, k.Nanos) &&
		s.ctime == nanos(k.ChangeSeconds, k.ChangeNanos) && k.Mode == mode && s.mtime < index.mtime
}

// young says that a later change of a file may have the times that it has now.
func (w *walk) young(s stat) bool { return w.look.at.UnixNano()-max(s.mtime, s.ctime) < int64(racy) }

// single looks at a file that was asked for by name, if it is in none of the folders.
func (w *walk) single(at string) {
	if w.look.find(at) != nil || w.look.folders[path.Dir(at)] != nil {
		return
	}
	place, err := w.paths.Writable(at)
	if err != nil {
		return
	}
	info, err := place.Stat()
	if err != nil {
		return
	}
	e := entry{name: path.Base(at), stat: statOf(info)}
	e.young = w.young(e.stat)
	if place.Class().Is(sandbox.Secret) {
		e.in, e.why = nowhere, whySecret
	}
	w.look.singles[at] = e
}

// keep reads what has to be, within the bounds.
func (w *walk) keep() {
	room := int64(maxAll)
	for _, f := range w.look.folders {
		for _, e := range f.entries {
			if e.in == memory {
				room -= int64(len(e.content))
			}
		}
	}
	read := func(at string, e *entry) {
		if e.in != unknown {
			return
		}
		most := int64(maxFile)
		if w.seen[at] {
			most = maxSeen
		}
		if e.size <= most && e.size > room {
			e.in, e.why = nowhere, whyTooMany
			return
		}
		w.read(at, e, most)
		room -= int64(len(e.content))
	}
	for at, e := range w.look.singles {
		read(at, &e)
		w.look.singles[at] = e
	}
	for at := range w.seen {
		if e := w.look.find(at); e != nil {
			read(at, e)
		}
	}
	for at, f := range w.look.folders {
		for i := range f.entries {
			read(path.Join(at, f.entries[i].name), &f.entries[i])
		}
	}
}

func (w *walk) objects(r *repository) *git.Objects {
	if r.objects == nil {
		r.objects = r.Objects()
		w.open = append(w.open, r)
	}
	return r.objects
}

// close closes what was opened.
func (w *walk) close() {
	for _, r := range w.open {
		r.objects.Close()
		r.objects = nil
	}
}

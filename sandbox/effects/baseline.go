// Package effects says what a command has changed in folders: it looks through them before the
// command and after it, and compares. What a file said before comes from memory or, where git had
// it as it was, from git's objects.
//
// A look is a table of all files with their metadata; only files whose metadata are not those of
// the look before are read. So a look costs a call of lstat for each file, and nothing is copied
// that git has or that the last look has read. What git ignores is not looked through, and of it
// only the topmost entries are compared.
package effects

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/sandbox"
	"tandem/sandbox/git"
)

// Bounds of what is looked at and kept.
const (
	// maxFile is how large a file that git does not have may be to be kept, maxAll how much of all
	// of them is.
	maxFile = 1 << 20
	maxAll  = 64 << 20
	// maxSeen bounds a file that the session has seen, and one that git has.
	maxSeen = 10 << 20
	// maxEntries is how many entries of folders are looked at.
	maxEntries = 200_000
)

// racy is the age that a time of a file must have to prove anything: a later change may have the
// same time.
const racy = 2 * time.Second

// Memory is what was read in the last look. It serves several sessions. The zero value is ready;
// all methods may be called concurrently.
type Memory struct {
	Now  func() time.Time // nil is time.Now
	Most int              // entries of folders that are looked at, 0 for maxEntries

	mu      sync.Mutex
	folders map[string]*folder // by absolute path
	repos   map[string]*repository
}

// Why a file's former content is not kept.
const (
	whyTooLarge = "larger than 1 MiB"
	whyHuge     = "larger than 10 MiB"
	whyTooMany  = "more than 64 MiB of files that git does not have"
	whySecret   = "holds keys or passwords"
	whySpecial  = "no regular file"
	whyCut      = "among more than 200,000 files"
	whyUnread   = "could not be read"
	whyUnobject = "git has its content in another form"
)

// File is a file as it was before a command or is after it.
type File struct {
	Exists bool
	Mode   fs.FileMode
	Size   int64
	// Changed is when the file or its metadata were last changed.
	Changed time.Time
	// Content is what it says; Why, where it is not known, says why.
	Content []byte
	Why     string
}

// Change is what a command has done to a file. Path is absolute and canonical.
type Change struct {
	Path          string
	Before, After File
	// From is the path that the file had before, if it was renamed.
	From string
}

// How says what was done: created, deleted or modified.
func (c Change) How() string {
	switch {
	case !c.Before.Exists:
		return "created"
	case !c.After.Exists:
		return "deleted"
	}
	return "modified"
}

// Changes are what a command has done.
type Changes struct {
	Files []Change // sorted by path
	// Ignored are entries that git ignores and that the command has made, removed or written to, as
	// far as that shows without looking into them.
	Ignored []string
	// Cut is why not all folders were looked through, "" if they were. What lies in those that were
	// not is left out.
	Cut string
	// Deep says that some were not whose entries have paths that are longer than the system takes.
	Deep bool
}

// Baseline is what the folders held before a command.
type Baseline struct {
	m     *Memory
	paths *sandbox.Paths
	seen  []string
	look  look
}

// look is a table of all files.
type look struct {
	folders map[string]*folder
	singles map[string]entry // files that were asked for by name and are in no folder of the table
	cut     string           // why it is not whole
	deep    bool             // a folder was left out, since what is in it has paths that are too long
	at      time.Time
}

// folder is a folder of a look; never changed once the look is over.
type folder struct {
	self    stat
	young   bool // a later change may not show in self
	rules   *rules
	below   *rules // those for its entries
	names   []string
	hints   []hint
	entries []entry // in the order of names, those that are looked at
	partial bool    // it does not have all of them, as the look is cut
}

// hint is what is known of an entry by its name.
type hint struct {
	secret  bool
	ignored bool
	judged  bool // ignored is known
}

// entry is a file or another thing that is no folder, or one that is ignored.
type entry struct {
	name string
	stat
	young   bool
	ignored bool
	in      source
	id      git.ID
	repo    *repository
	content []byte
	why     string
}

// source is where the content of a file is kept.
type source uint8

const (
	unknown source = iota // it is to be read
	nowhere               // see why
	memory
	objects
)

// rules are what a folder gets from those above it.
type rules struct {
	git.Rules
	from     int  // how many names of a path are above where the rules begin
	filtered bool // the content of files is not what git has
	repo     *repository
}

// Before looks through the folders that commands may write. seen are paths of files that are kept
// also if git ignores them, and if they are larger than others may be.
func (m *Memory) Before(ctx context.Context, paths *sandbox.Paths, seen []string) *Baseline {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := &Baseline{m: m, paths: paths, seen: seen}
	w := m.walk(ctx, paths, seen, nil)
	w.keep()
	b.look = w.look
	m.folders = w.look.folders
	return b
}

// Beyond are the files whose content is not kept, by their absolute paths, and why. Those that hold
// keys, which commands do not see, and what is no regular file are left out.
func (b *Baseline) Beyond() map[string]string {
	out := map[string]string{}
	for at, f := range b.look.folders {
		for _, e := range f.entries {
			if e.in == nowhere && !e.ignored && e.why != whySecret && e.why != whySpecial {
				out[path.Join(at, e.name)] = e.why
			}
		}
	}
	return out
}

// After looks again, and says what has changed since. A file is judged by what git ignored before
// the command, and a new one by what it ignored before or ignores now.
func (b *Baseline) After(ctx context.Context) Changes {
	m := b.m
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.walk(ctx, b.paths, b.seen, &b.look)
	defer w.close()
	out := Changes{Cut: cmp.Or(b.look.cut, w.look.cut), Deep: b.look.deep || w.look.deep, Ignored: w.nested}
	compare := func(at string, was, is *entry) {
		if (was == nil || was.ignored) && (is == nil || is.ignored) {
			if was == nil || is == nil || was.stat != is.stat {
				out.Ignored = append(out.Ignored, at)
			}
			return
		}
		if c, changed := w.change(at, was, is); changed {
			out.Files = append(out.Files, c)
		}
	}
	both := func(at string, was, is *folder) {
		// What only one of two looks has may have been there all the time if the other one is not
		// whole.
		sure := was.all(out.Cut) && is.all(out.Cut)
		was.pairs(is, func(name string, was, is *entry) {
			if sure || was != nil && is != nil {
				compare(path.Join(at, name), was, is)
			}
		})
	}
	for at, f := range w.look.folders {
		both(at, b.look.folders[at], f)
	}
	for at, f := range b.look.folders {
		if w.look.folders[at] == nil {
			both(at, f, nil)
		}
	}
	for at, was := range b.look.singles {
		if is, ok := w.look.singles[at]; ok {
			compare(at, &was, &is)
		} else {
			compare(at, &was, nil)
		}
	}
	m.folders = w.look.folders
	slices.SortFunc(out.Files, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(out.Ignored)
	w.renames(b.look, out.Files)
	return out
}

// change compares a file with what it was; nil is no file.
func (w *walk) change(at string, was, is *entry) (c Change, changed bool) {
	c.Path = at
	if was != nil && is != nil {
		same := was.stat == is.stat
		if same && !was.young {
			return c, false
		}
		if was.kind() == 0 && is.kind() == 0 && was.size == is.size && was.mode == is.mode {
			switch c.After = w.present(at, is); {
			case c.After.Why != "":
			case was.in == memory:
				same = bytes.Equal(was.content, c.After.Content)
			case was.in == objects:
				same = same || git.BlobID(c.After.Content) == was.id
			}
		}
		if same {
			return c, false
		}
	}
	if was != nil {
		c.Before = w.former(*was)
	}
	if is != nil {
		c.After = w.present(at, is)
	}
	return c, true
}

// all says that a look has all entries of a folder, nil being one that it does not have. cut is why
// a look is not whole.
func (f *folder) all(cut string) bool { return f != nil && !f.partial || f == nil && cut == "" }

// pairs gives the entries of two looks at a folder that are not the very same; nil is a folder that
// is not there.
func (f *folder) pairs(g *folder, each func(name string, was, is *entry)) {
	var was, is []entry
	if f != nil {
		was = f.entries
	}
	if g != nil {
		is = g.entries
	}
	for len(was) > 0 || len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0].name < is[0].name:
			each(was[0].name, &was[0], nil)
			was = was[1:]
		case len(was) == 0 || is[0].name < was[0].name:
			each(is[0].name, nil, &is[0])
			is = is[1:]
		default:
			each(was[0].name, &was[0], &is[0])
			was, is = was[1:], is[1:]
		}
	}
}

// file is a file without its content.
func (e entry) file() File {
	return File{Exists: true, Mode: e.fileMode(), Size: e.size, Changed: time.Unix(0, max(e.mtime, e.ctime))}
}

// former is a file as it was.
func (w *walk) former(e entry) File {
	f := e.file()
	f.Why = e.why
	switch e.in {
	case memory:
		f.Content = e.content
	case objects:
		content, err := w.objects(e.repo).Blob(e.id, maxSeen)
		if err == nil && int64(len(content)) != e.size {
			content = bytes.ReplaceAll(content, []byte("\n"), []byte("\r\n")) // as core.autocrlf would have it
		}
		if f.Content = content; err != nil || int64(len(content)) != e.size {
			f.Content, f.Why = nil, whyUnobject
		}
	default:
		f.Why = cmp.Or(f.Why, whyUnread)
	}
	return f
}

// present is a file as it is, and keeps what was read for the next look.
func (w *walk) present(at string, e *entry) File {
	f := e.file()
	if e.in == unknown {
		w.read(at, e, min(maxSeen, w.room))
		w.room -= int64(len(e.content))
	}
	switch e.in {
	case memory:
		f.Content = e.content
	case objects:
		return w.former(*e)
	default:
		f.Why = cmp.Or(e.why, whyUnread)
	}
	return f
}

// renames finds files that have another path. The number of an inode may be given to a new file,
// but not with the times of the old one.
func (w *walk) renames(before look, files []Change) {
	type identity struct {
		ino   uint64
		size  int64
		mtime int64
	}
	of := func(l look, at string) (identity, bool) {
		e := l.find(at)
		if e == nil || e.ino == 0 {
			return identity{}, false
		}
		return identity{e.ino, e.size, e.mtime}, true
	}
	gone := map[identity]string{}
	for _, c := range files {
		if id, ok := of(before, c.Path); ok && !c.After.Exists {
			gone[id] = c.Path
		}
	}
	for i, c := range files {
		if id, ok := of(w.look, c.Path); ok && !c.Before.Exists {
			files[i].From = gone[id]
		}
	}
}

func (l look) find(at string) *entry {
	if e, ok := l.singles[at]; ok {
		return &e
	}
	f := l.folders[path.Dir(at)]
	if f == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(f.entries, path.Base(at), func(e entry, name string) int { return strings.Compare(e.name, name) })
	if !ok {
		return nil
	}
	return &f.entries[i]
}

// read reads a file into its entry.
func (w *walk) read(at string, e *entry, most int64) {
	e.in, e.content, e.why = nowhere, nil, ""
	switch {
	case e.kind() != 0:
		e.why = whySpecial
		return
	case e.size > most:
		e.why = tooLarge(most)
		return
	}
	place, err := w.paths.Readable(at)
	if err != nil {
		e.why = whyUnread
		return
	}
	f, _, err := place.Open()
	if err != nil {
		e.why = whyUnread
		return
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		e.why = whyUnread
	case int64(len(content)) > most:
		e.why = tooLarge(most)
	default:
		e.in, e.content = memory, content
	}
}

func tooLarge(most int64) string {
	switch most {
	case maxFile:
		return whyTooLarge
	case maxSeen:
		return whyHuge
	}
	return whyTooMany
}

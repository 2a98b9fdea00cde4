package autorun

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tandem/sandbox"
	"tandem/sandbox/git"
)

const (
	// maxEntries is how many entries of folders are looked at.
	maxEntries = 200_000
	// maxText is how much of a file is kept to be compared and put back, maxAll of all together.
	maxText = 256 << 10
	maxAll  = 32 << 20
)

// looker lists what is executed later in the folders that commands may write. What it has seen of a
// folder holds as long as the system's own time of its last change (ctime), which nobody can set,
// stays the same; so a second look opens few. It is for one goroutine at a time.
type looker struct {
	Paths *sandbox.Paths
	// MaxEntries is how many entries are looked at, 0 for 200,000.
	MaxEntries int

	folders map[string]*folder
	now     func() time.Time // nil is time.Now
}

// look lists what is there now, the topmost folders first. node_modules is not looked into: what
// lies there is code of others that is run anyway.
func (l *looker) look() *listing {
	w := walk{
		listing: listing{Entries: map[string]entry{}, Folders: map[string]bool{}, Repositories: map[string]bool{}},
		looker:  l, left: cmp.Or(l.MaxEntries, maxEntries), room: maxAll, seen: map[string]*folder{}, begun: time.Now(),
	}
	if l.now != nil {
		w.begun = l.now()
	}
	for _, root := range l.Paths.WriteRoots() {
		w.within(root, w.root)
	}
	for _, dotGit := range l.Paths.Linked() {
		w.within(dotGit, func() { w.repository(".", w.at) })
	}
	w.follow()
	w.named()
	w.follow()
	l.folders = w.seen
	return &w.listing
}

// folder is what a folder was found to have.
type folder struct {
	stamp   stamp
	names   []name
	count   int
	git     bool   // git takes it as a repository
	folders []name // that are to be looked through
	special []name // that are executed later, or hold what is
}

type name struct {
	string
	dir bool
}

type walk struct {
	listing
	*looker
	top        *os.Root
	at         string // of top
	left, room int
	seen       map[string]*folder
	links      []string // entries that lead elsewhere
	begun      time.Time
}

// within calls f with a root as the top.
func (w *walk) within(root string, f func()) {
	top, err := os.OpenRoot(filepath.FromSlash(root))
	if err != nil {
		w.failed(err)
		return
	}
	defer top.Close()
	w.top, w.at = top, filepath.ToSlash(root)
	f()
}

func (w *walk) root() {
	for folders := []string{"."}; len(folders) > 0; folders = folders[1:] {
		if w.left <= 0 {
			w.Cut = true
			return
		}
		folders = append(folders, w.folder(folders[0])...)
	}
}

// folder looks through a folder, and gives those in it that are still to be looked through.
func (w *walk) folder(dir string) (folders []string) {
	f := w.list(dir)
	if f == nil {
		return nil
	}
	w.Folders[w.abs(dir)] = true
	if f.git {
		w.repository(dir, w.abs(dir))
	}
	for _, e := range f.special {
		switch at := path.Join(dir, e.string); {
		case w.Paths.Internal(w.abs(at)):
		case strings.EqualFold(e.string, ".git") && e.dir:
			w.repository(at, w.abs(dir))
		case strings.EqualFold(e.string, ".git"):
			w.keep(at, kindPointer, w.abs(dir))
		case e.string == ".gitmodules": // git reads commands from it, but not the paths and URLs that it is for
			w.keep(at, kindConfig, w.abs(dir))
		default:
			w.below(at, e.dir, w.abs(dir))
		}
	}
	for _, e := range f.folders {
		folders = append(folders, path.Join(dir, e.string))
	}
	return folders
}

// below keeps all that lies in a folder that is executed later, or the file itself.
func (w *walk) below(at string, dir bool, folder string) {
	if !dir {
		w.keep(at, kindLater, folder)
		return
	}
	for _, e := range w.names(at) {
		w.below(path.Join(at, e.string), e.dir, folder)
	}
}

// repository keeps what git executes of a repository, of its submodules and its work trees.
func (w *walk) repository(at, folder string) {
	w.Repositories[w.abs(at)] = git.IsRepository(func(name string) bool {
		_, err := w.top.Lstat(path.Join(at, name))
		return err == nil
	})
	if path.Base(at) == ".git" {
		head := path.Join(at, "HEAD")
		w.keep(head, kindHead, folder)
		e := w.Entries[w.abs(head)]
		w.Repositories[w.abs(at)] = w.Repositories[w.abs(at)] && (!e.Mode.IsRegular() || git.IsHead(e.Text))
	}
	for name, kind := range map[string]kind{"config": kindConfig, "config.worktree": kindConfig, "commondir": kindPointer} {
		w.keep(path.Join(at, name), kind, folder)
	}
	for dir, files := range map[string]map[string]kind{
		"rebase-merge": {"git-rebase-todo": kindTodo, "strategy": kindStrategy}, "sequencer": {"opts": kindConfig},
	} {
		dir = path.Join(at, dir)
		w.keep(dir, kindPointer, folder) // a link, which leads to a repository never
		for _, e := range w.names(dir) {
			if kind := files[e.string]; kind != 0 {
				w.keep(path.Join(dir, e.string), kind, folder)
			}
		}
	}
	w.hooks(path.Join(at, "hooks"), folder, false)
	w.repositories(path.Join(at, "modules"), folder)
	w.repositories(path.Join(at, "worktrees"), folder)
}

// hooks keeps what is in a folder of hooks, or what stands in its place. Of a folder that has other
// files too, known says that only those are kept whose names are those of hooks.
func (w *walk) hooks(at, folder string, known bool) {
	info, err := w.top.Lstat(at)
	if err != nil {
		return
	}
	if !info.IsDir() {
		w.keep(at, kindHook, folder)
		return
	}
	for _, e := range w.names(at) {
		if !e.dir && path.Ext(e.string) != ".sample" && (!known || git.IsHook(e.string)) {
			w.keep(path.Join(at, e.string), kindHook, folder)
		}
	}
}

func (w *walk) repositories(at, folder string) {
	for _, e := range w.names(at) {
		below := path.Join(at, e.string)
		if !e.dir {
			continue
		}
		if _, err := w.top.Lstat(path.Join(below, "HEAD")); err == nil {
			w.repository(below, folder)
		} else {
			w.repositories(below, folder)
		}
	}
}

// named keeps what the configurations of repositories name. A configuration that is included may
// name more.
func (w *walk) named() {
	trees := map[string][]string{} // the topmost folders of work trees, of each repository
	for at, e := range w.Entries {
		if target, ok := git.Pointer(e.Text); ok && path.Base(at) == ".git" {
			target = git.From(path.Dir(at), target)
			trees[target] = append(trees[target], path.Dir(at))
		}
	}
	for at := range w.Repositories {
		trees[at] = append(trees[at], at, path.Dir(at))
	}
	for at := range w.Repositories {
		if main := path.Dir(path.Dir(at)); path.Base(path.Dir(at)) == "worktrees" {
			trees[main] = append(trees[main], trees[at]...)
		}
	}
	own := w.Paths.GitSettings()
	for at := range w.Repositories {
		for _, name := range []string{"config", "config.worktree"} {
			w.configured(path.Join(at, name), w.Entries[path.Join(at, name)].Text, trees[at])
		}
		for name, text := range own {
			w.configured(name, text, trees[at])
		}
	}
}

// configured keeps what one configuration names.
func (w *walk) configured(config, text string, trees []string) {
	for _, n := range git.NamedBy(text, config, w.Paths.Home, trees) {
		if _, there := w.Entries[n.Path]; !there {
			w.executed(n, trees)
		}
	}
}

// executed keeps what is at a path that a configuration names.
func (w *walk) executed(n git.Named, trees []string) {
	w.rooted(n.Path, func(name string) {
		switch n.Role {
		case git.Hooks:
			w.hooks(name, path.Dir(n.Path), n.Known)
		case git.Program:
			w.keep(name, kindHook, path.Dir(n.Path))
		case git.Include:
			w.keep(name, kindConfig, path.Dir(n.Path))
			if e, there := w.Entries[n.Path]; there {
				w.configured(n.Path, e.Text, trees)
			}
		}
	})
}

// follow keeps what links lead to that are executed later.
func (w *walk) follow() {
	for ; len(w.links) > 0; w.links = w.links[1:] {
		from := w.Entries[w.links[0]]
		to := filepath.ToSlash(sandbox.Canonical(filepath.FromSlash(w.links[0])))
		if _, there := w.Entries[to]; there || to == w.links[0] {
			continue
		}
		w.rooted(to, func(name string) {
			info, err := w.top.Lstat(filepath.FromSlash(name))
			switch {
			case err != nil || name == ".":
			case info.IsDir() && from.Kind == kindHook:
				w.hooks(name, path.Dir(to), false)
			case info.IsDir() && from.Kind == kindLater:
				w.below(name, true, path.Dir(to))
			case !info.IsDir() && from.Kind == kindConfig:
				w.keep(name, kindConfig, path.Dir(to))
			case !info.IsDir() && (from.Kind == kindHook || from.Kind == kindLater):
				w.keep(name, kindHook, path.Dir(to))
			}
		})
	}
}

// rooted calls f with the name of a path below its root, if it lies in one, which is the top then.
func (w *walk) rooted(at string, f func(name string)) {
	for _, root := range w.Paths.WriteRoots() {
		if root = filepath.ToSlash(root); at == root {
			w.within(root, func() { f(".") })
		} else if name, ok := strings.CutPrefix(at, strings.TrimSuffix(root, "/")+"/"); ok {
			w.within(root, func() { f(name) })
		}
	}
}

// names are the entries of a folder.
func (w *walk) names(dir string) []name {
	if f := w.list(dir); f != nil {
		return f.names
	}
	return nil
}

// list gives what is in a folder, nil where it cannot be read, and counts it.
func (w *walk) list(dir string) *folder {
	at := w.abs(dir)
	if f := w.seen[at]; f != nil {
		return f
	}
	if w.left <= 0 {
		w.Cut = true
		return nil
	}
	// Not below w.top, whose folders look each entry up. Whatever a link in the way shows, it is
	// read and moved below w.top alone.
	info, err := os.Lstat(filepath.FromSlash(at))
	if err != nil || !info.IsDir() {
		w.failed(err)
		return nil
	}
	now := stampOf(info, w.begun)
	f := w.folders[at]
	if f == nil || !f.stamp.holds(now) {
		if f, err = read(at, now); err != nil {
			w.failed(err)
			return nil
		}
	}
	w.left -= f.count
	w.seen[at] = f
	return f
}

// failed notes that something is missing because too many files are open.
func (w *walk) failed(err error) {
	if sandbox.Exhausted(err) {
		w.Cut, w.Blind = true, true
	}
}

// read reads a folder.
func read(at string, now stamp) (*folder, error) {
	dir, err := os.OpenFile(filepath.FromSlash(at), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	f := &folder{stamp: now, count: len(entries) + 1}
	f.git = git.IsRepository(func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), name) })
	})
	base := path.Base(at)
	for _, e := range entries {
		n := name{e.Name(), e.IsDir()}
		f.names = append(f.names, n)
		class := sandbox.EntryClass(base, n.string)
		switch {
		case class.Is(sandbox.LaterCode) && (class.Is(sandbox.Own) || !class.Is(sandbox.Secret)): // keys are executed by nobody
			f.special = append(f.special, n)
		case n.dir && n.string != "node_modules":
			f.folders = append(f.folders, n)
		}
	}
	return f, nil
}

// keep keeps what stands at a path, if anything.
func (w *walk) keep(at string, kind kind, folder string) {
	name := filepath.FromSlash(at)
	info, err := w.top.Lstat(name)
	if err != nil || info.IsDir() {
		w.failed(err)
		return
	}
	e := entry{Kind: kind, Mode: info.Mode(), Folder: folder, Root: w.at, Mark: fmt.Sprint(info.Size(), info.ModTime().UnixNano())}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		e.Text, err = w.top.Readlink(name)
		e.Whole = err == nil
		w.links = append(w.links, w.abs(at))
	case info.Mode().IsRegular(): // a mapped file may change without a new time, so its text is read each time
		e.Text, e.Whole = w.read(name)
	}
	w.Entries[w.abs(at)] = e
}

func (w *walk) read(name string) (string, bool) {
	f, err := w.top.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		w.failed(err)
		return "", false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > int64(min(maxText, w.room)) {
		return "", false
	}
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	w.room -= len(text)
	if err != nil || len(text) > maxText {
		return "", false
	}
	return string(text), true
}

func (w *walk) abs(at string) string { return path.Join(w.at, at) }

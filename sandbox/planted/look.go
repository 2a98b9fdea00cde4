package planted

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"tandem/sandbox"
	"tandem/sandbox/gitdir"
)

const (
	// MaxEntries is how many entries of folders are looked at.
	MaxEntries = 200_000
	// maxText is how much of a file is kept to be compared and put back, maxAll of all together.
	maxText = 256 << 10
	maxAll  = 32 << 20
)

// Look lists what is executed later in the folders that commands may write, the topmost folders first. It looks at no more than most
// entries. node_modules is not looked into: what lies there is code of others that is run anyway.
func Look(paths *sandbox.Paths, most int) *Listing {
	w := walk{
		Listing: Listing{Entries: map[string]Entry{}, Folders: map[string]bool{}, Repositories: map[string]bool{}},
		paths:   paths, left: most, room: maxAll,
	}
	for _, root := range paths.WriteRoots() {
		w.within(root, w.root)
	}
	w.named()
	return &w.Listing
}

type walk struct {
	Listing
	paths      *sandbox.Paths
	top        *os.Root
	at         string // of top
	left, room int
}

// within calls f with a root as the top.
func (w *walk) within(root string, f func()) {
	top, err := os.OpenRoot(filepath.FromSlash(root))
	if err != nil {
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
	entries, ok := w.list(dir)
	if !ok {
		return nil
	}
	w.Folders[w.abs(dir)] = true
	if gitdir.Is(func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), name) })
	}) {
		w.repository(dir, w.abs(dir))
	}
	for _, e := range entries {
		name, at := e.Name(), path.Join(dir, e.Name())
		switch class := sandbox.EntryClass(path.Base(dir), name); {
		case w.special(class, at):
			switch {
			case strings.EqualFold(name, ".git") && e.IsDir():
				w.repository(at, w.abs(dir))
			case strings.EqualFold(name, ".git"):
				w.keep(at, Pointer, w.abs(dir))
			case name == ".gitmodules": // git reads commands from it, but not the paths and URLs that it is for
				w.keep(at, Config, w.abs(dir))
			default:
				w.below(at, e, w.abs(dir))
			}
		case e.IsDir() && name != "node_modules":
			folders = append(folders, at)
		}
	}
	return folders
}

// special says that an entry of a class is executed later, or belongs to git. Keys are neither.
func (w *walk) special(class sandbox.Class, at string) bool {
	return class.Is(sandbox.LaterCode) && (class.Is(sandbox.Own) || !class.Is(sandbox.Secret)) && !w.paths.Internal(w.abs(at))
}

// below keeps all that lies in a folder that is executed later, or the file itself.
func (w *walk) below(at string, e fs.DirEntry, folder string) {
	if !e.IsDir() {
		w.keep(at, Later, folder)
		return
	}
	entries, _ := w.list(at)
	for _, e := range entries {
		w.below(path.Join(at, e.Name()), e, folder)
	}
}

// repository keeps what git executes of a repository, of its submodules and its work trees.
func (w *walk) repository(at, folder string) {
	w.Repositories[w.abs(at)] = gitdir.Is(func(name string) bool {
		_, err := w.top.Lstat(path.Join(at, name))
		return err == nil
	})
	if path.Base(at) == ".git" {
		head := path.Join(at, "HEAD")
		w.keep(head, Head, folder)
		e := w.Entries[w.abs(head)]
		w.Repositories[w.abs(at)] = w.Repositories[w.abs(at)] && (!e.Mode.IsRegular() || gitdir.Head(e.Text))
	}
	for name, kind := range map[string]Kind{"config": Config, "config.worktree": Config, "commondir": Pointer} {
		w.keep(path.Join(at, name), kind, folder)
	}
	w.hooks(path.Join(at, "hooks"), folder, false)
	w.repositories(path.Join(at, "modules"), folder)
	w.repositories(path.Join(at, "worktrees"), folder)
}

// hooks keeps what is in a folder of hooks, or what stands in its place. Of a folder that has other files too, known says that only
// those are kept whose names are those of hooks.
func (w *walk) hooks(at, folder string, known bool) {
	info, err := w.top.Lstat(at)
	if err != nil {
		return
	}
	if !info.IsDir() {
		w.keep(at, Hook, folder)
		return
	}
	entries, _ := w.list(at)
	for _, e := range entries {
		if !e.IsDir() && path.Ext(e.Name()) != ".sample" && (!known || gitdir.Hook(e.Name())) {
			w.keep(path.Join(at, e.Name()), Hook, folder)
		}
	}
}

func (w *walk) repositories(at, folder string) {
	entries, _ := w.list(at)
	for _, e := range entries {
		below := path.Join(at, e.Name())
		if !e.IsDir() {
			continue
		}
		if _, err := w.top.Lstat(path.Join(below, "HEAD")); err == nil {
			w.repository(below, folder)
		} else {
			w.repositories(below, folder)
		}
	}
}

// named keeps what the configurations of repositories name. A configuration that is included may name more.
func (w *walk) named() {
	trees := map[string][]string{} // the topmost folders of work trees, of each repository
	for at, e := range w.Entries {
		if target, ok := gitdir.Pointer(e.Text); ok && path.Base(at) == ".git" {
			target = gitdir.From(path.Dir(at), target)
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
	own := w.paths.GitSettings()
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
	for _, n := range gitdir.NamedBy(text, config, w.paths.Home, trees) {
		if _, there := w.Entries[n.Path]; !there {
			w.executed(n, trees)
		}
	}
}

// executed keeps what is at a path that a configuration names.
func (w *walk) executed(n gitdir.Named, trees []string) {
	for _, root := range w.paths.WriteRoots() {
		name, below := strings.CutPrefix(n.Path, root+"/")
		if n.Path == root {
			name, below = ".", true
		}
		if !below {
			continue
		}
		w.within(root, func() {
			switch n.Role {
			case gitdir.Hooks:
				w.hooks(name, path.Dir(n.Path), n.Known)
			case gitdir.Program:
				w.keep(name, Hook, path.Dir(n.Path))
			case gitdir.Include:
				w.keep(name, Config, path.Dir(n.Path))
				if e, there := w.Entries[n.Path]; there {
					w.configured(n.Path, e.Text, trees)
				}
			}
		})
	}
}

// list gives the entries of a folder, and counts them.
func (w *walk) list(dir string) ([]fs.DirEntry, bool) {
	if w.left <= 0 {
		w.Cut = true
		return nil, false
	}
	// Not below w.top, whose folders look each entry up. Whatever a link in the way shows, it is read and moved below w.top alone.
	f, err := os.OpenFile(filepath.FromSlash(w.abs(dir)), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	w.left -= len(entries) + 1
	return entries, err == nil
}

// keep keeps what stands at a path, if anything.
func (w *walk) keep(at string, kind Kind, folder string) {
	name := filepath.FromSlash(at)
	info, err := w.top.Lstat(name)
	if err != nil || info.IsDir() {
		return
	}
	e := Entry{Kind: kind, Mode: info.Mode(), Folder: folder, Root: w.at, Mark: fmt.Sprint(info.Size(), info.ModTime().UnixNano())}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		e.Text, err = w.top.Readlink(name)
		e.Whole = err == nil
	case info.Mode().IsRegular():
		e.Text, e.Whole = w.read(name)
	}
	w.Entries[w.abs(at)] = e
}

func (w *walk) read(name string) (string, bool) {
	f, err := w.top.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
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

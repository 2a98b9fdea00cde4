package planted

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"tandem/sandbox"
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
		w.root(root)
	}
	return &w.Listing
}

type walk struct {
	Listing
	paths      *sandbox.Paths
	top        *os.Root
	at         string // of top
	left, room int
	folders    []string // still to be looked through, relative to top
}

func (w *walk) root(root string) {
	top, err := os.OpenRoot(root)
	if err != nil {
		return
	}
	defer top.Close()
	w.top, w.at, w.folders = top, filepath.ToSlash(root), []string{"."}
	for len(w.folders) > 0 {
		dir := w.folders[0]
		w.folders = w.folders[1:]
		if w.left <= 0 {
			w.Cut = true
			return
		}
		w.folder(dir)
	}
}

func (w *walk) folder(dir string) {
	entries, ok := w.list(dir)
	if !ok {
		return
	}
	w.Folders[w.abs(dir)] = true
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
			w.folders = append(w.folders, at)
		}
	}
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
	w.Repositories[w.abs(at)] = true
	for name, kind := range map[string]Kind{"config": Config, "config.worktree": Config, "commondir": Pointer} {
		w.keep(path.Join(at, name), kind, folder)
	}
	hooks := path.Join(at, "hooks")
	if info, err := w.top.Lstat(hooks); err == nil && !info.IsDir() {
		w.keep(hooks, Hook, folder)
	} else if err == nil {
		entries, _ := w.list(hooks)
		for _, e := range entries {
			if !e.IsDir() && path.Ext(e.Name()) != ".sample" {
				w.keep(path.Join(hooks, e.Name()), Hook, folder)
			}
		}
	}
	w.repositories(path.Join(at, "modules"), folder)
	w.repositories(path.Join(at, "worktrees"), folder)
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

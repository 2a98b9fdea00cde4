package workspace

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// moving is a move that the editor is carrying out. It is guarded by Workspace.mu.
type moving struct {
	from, to string
	over     map[string]bool // the new paths that have got their state
}

// below is the rest of path after dir, "" for dir itself; ok is false where it is neither.
func below(dir, path string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, dir)
	return rest, ok && (rest == "" || rest[0] == filepath.Separator)
}

// takeMovedState gives a path the state of the file that the editor is moving there, once.
func (w *Workspace) takeMovedState(path string) {
	w.mu.Lock()
	for _, m := range w.moves {
		rest, ok := below(m.to, path)
		if !ok || m.over[path] {
			continue
		}
		m.over[path] = true
		if from := w.files[m.from+rest]; from != nil {
			to := w.fileLocked(path)
			w.mu.Unlock()
			w.moveState(to, from)
			return
		}
	}
	w.mu.Unlock()
}

// movingAway says that the editor is moving a file away whose new path has not got its state yet.
func (w *Workspace) movingAway(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.moves, func(m *moving) bool {
		rest, ok := below(m.from, path)
		return ok && !m.over[m.to+rest]
	})
}

// both locks two files.
func both(a, b *file) (unlock func()) {
	if a.path > b.path {
		a, b = b, a
	}
	a.mu.Lock()
	b.mu.Lock()
	return func() {
		b.mu.Unlock()
		a.mu.Unlock()
	}
}

// moveState makes to what from is, and from a path at which there is nothing.
func (w *Workspace) moveState(to, from *file) {
	unlock := both(to, from)
	defer unlock()
	if !from.Loaded() && from.status.seen == "" {
		return
	}
	to.History, to.disk, to.status = from.MovedAway(w.next()), from.disk, from.status
	to.disk.removed, to.disk.wake = deletion{}, nil
	to.distrust() // a rename changes the times of a file
	from.disk, from.status, from.expected = diskState{removed: from.disk.removed}, status{}, nil
	if from.doc != nil {
		from.doc.editorText = nil
	}
	to.Wake()
	from.Wake()
	if to.status.seen != "" && w.o.Watcher != nil {
		w.o.Watcher.Add(to.path)
	}
}

// moveStates gives what is at or below from to the paths below to, except for what has been taken over already.
func (w *Workspace) moveStates(from, to string, over map[string]bool) {
	var pairs [][2]*file
	w.mu.Lock()
	for path, f := range w.files {
		if rest, ok := below(from, path); ok && !over[to+rest] {
			pairs = append(pairs, [2]*file{nil, f})
		}
	}
	for i, p := range pairs {
		rest, _ := below(from, p[1].path)
		pairs[i][0] = w.fileLocked(to + rest)
	}
	w.mu.Unlock()
	for _, p := range pairs {
		w.moveState(p[0], p[1])
	}
}

// openBelow lists the open documents at or below a path.
func (w *Workspace) openBelow(path string) (out []*file) {
	for _, f := range w.opened() {
		if _, ok := below(path, f.path); ok {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *file) int { return cmp.Compare(a.path, b.path) })
	return slices.Compact(out)
}

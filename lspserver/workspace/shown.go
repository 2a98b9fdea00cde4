package workspace

import (
	"cmp"
	"slices"

	"tandem/filetime/text"
)

// Shown is an open document.
type Shown struct {
	Path, URI string
	Text      text.Text
	rev       uint64
}

// Shown lists the open documents, those that were opened or changed last first. It never blocks.
func (w *Workspace) Shown() []Shown {
	var out []Shown
	for uri, f := range w.opened() {
		f.mu.Lock()
		if f.open() && f.uri == uri {
			out = append(out, Shown{Path: f.path, URI: uri, Text: f.Text(), rev: f.Rev()})
		}
		f.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b Shown) int { return cmp.Compare(b.rev, a.rev) })
	return out
}

package filetime

import (
	"cmp"
	"maps"
	"slices"

	"tandem/filetime/text"
)

// source is where in the conversation a text stands: in the result of a call, or, for the session's
// own edits, in its words. An empty call is what came without one.
type source struct {
	call  string
	words bool
}

// By is f for a call: what is recorded by it stands in the result of the call.
func (f *FileTime) By(call string) *FileTime { return &FileTime{memory: f.memory, call: call} }

// Forget drops what the model no longer has: gone says of a call that its result has left the
// conversation, and with words that its arguments have. It must be called while no call runs.
func (f *FileTime) Forget(gone func(call string, words bool) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	has := func(s source, _ []span) bool { return gone(s.call, s.words) }
	for path, list := range f.views {
		f.views[path] = slices.DeleteFunc(list, func(v *view) bool {
			maps.DeleteFunc(v.shown, has)
			v.settle()
			return len(v.shown) == 0
		}) // a path without views has been seen: see Knows
	}
	for _, at := range f.sent {
		maps.DeleteFunc(at.lines, has)
	}
	maps.DeleteFunc(f.bytes, func(_ string, b shownBytes) bool { return gone(b.by.call, b.by.words) })
}

// Part is a part of a file that stands in the conversation: its text, and its lines (1-based).
type Part struct {
	First, Last int
	Text        string
}

// Shown gives the parts of the newest text of a file that stand in the conversation, each in one
// place of it, in the order of the file; they may overlap.
func (f *FileTime) Shown(path string) (parts []Part) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance(path, f.views[path])
	list := f.views[path]
	if len(list) == 0 {
		return nil
	}
	newest := list[len(list)-1]
	for _, spans := range newest.shown {
		for _, s := range spans {
			parts = append(parts, Part{
				First: newest.Text.Line(s.start) + 1, Last: newest.Text.Line(max(s.start, s.end-1)) + 1,
				Text: newest.Text.Slice(s.start, s.end),
			})
		}
	}
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Compare(a.First, b.First) })
	return parts
}

// union is the spans of all sources, sorted and apart.
func union(shown map[source][]span) (all []span) {
	for _, spans := range shown {
		all = append(all, spans...)
	}
	return mergeSpans(all)
}

// carryShown is carrySpans for all sources.
func carryShown(shown map[source][]span, set text.Set) map[source][]span {
	out := make(map[source][]span, len(shown))
	for by, spans := range shown {
		out[by] = carrySpans(spans, set, false)
	}
	return out
}

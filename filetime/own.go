package filetime

import (
	"crypto/sha256"
	"slices"
	"sort"

	"tandem/filetime/text"
)

// maxOwnEdits is how many of a session's own edits of one file are remembered.
const maxOwnEdits = 64

// ownEdit is an edit of the session that landed: the hash of its arguments, and the ranges of its
// text at revision rev.
type ownEdit struct {
	argsHash [sha256.Size]byte
	rev      uint64
	ranges   []editedRange
}

// editedRange is the range of one replacement, and those parts of it that were inserted.
type editedRange struct {
	span
	insertedParts []span
}

// RecordEdit records that an edit has landed: what are its arguments, at the ranges that it
// replaced, in the text that it was made for.
func (f *FileTime) RecordEdit(what string, l LandedFile, at []text.Range) {
	if !l.Applied || l.Already {
		return
	}
	m := ownEdit{argsHash: sha256.Sum256([]byte(what)), rev: l.Rev}
	parts, rebased, landed := insertedSpans(l.Set), l.Rebased.Mapping(), l.Set.Mapping()
	for _, r := range at {
		p := editedRange{span: span{landed.Pos(rebased.Pos(r.Start, true), false), landed.Pos(rebased.Pos(r.End, false), true)}}
		first := sort.Search(len(parts), func(i int) bool { return parts[i].start >= p.start })
		for i := first; i < len(parts) && parts[i].end <= p.end; i++ {
			p.insertedParts = append(p.insertedParts, parts[i])
		}
		m.ranges = append(m.ranges, p)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	list := append(f.ownEdits[l.Path], m)
	f.ownEdits[l.Path] = list[max(0, len(list)-maxOwnEdits):]
}

// StandingEdits gives the ranges of now that come from edits of the session with the same
// arguments, without those from which text was deleted since.
func (f *FileTime) StandingEdits(what string, now Snapshot) []text.Range {
	key := sha256.Sum256([]byte(what))
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []text.Range
	for _, m := range f.ownEdits[now.Path] {
		if m.argsHash != key {
			continue
		}
		revs, _, ok := f.files.History(now.Path, m.rev)
		if !ok {
			continue
		}
		places := carryOver(m.rev, now.Rev, m.ranges, revs, func(places []editedRange, r Revision) []editedRange {
			return carryRanges(places, r.Set)
		})
		for _, p := range places {
			out = append(out, text.Range{Start: p.start, End: p.end})
		}
	}
	return out
}

// carryRanges maps places through a set, without those of which the set deletes an inserted part.
func carryRanges(places []editedRange, set text.Set) []editedRange {
	var out []editedRange
	after := set.Mapping()
	for _, p := range places {
		if slices.ContainsFunc(p.insertedParts, func(s span) bool { return set.Meets(s.start, s.end) }) {
			continue
		}
		to := editedRange{span: span{after.Pos(p.start, true), after.Pos(p.end, false)}}
		for _, s := range p.insertedParts {
			to.insertedParts = append(to.insertedParts, span{after.Pos(s.start, true), after.Pos(s.end, false)})
		}
		out = append(out, to)
	}
	return out
}

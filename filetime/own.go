package filetime

import (
	"crypto/sha256"
	"slices"

	"tandem/filetime/text"
)

// maxMade is how many of a session's own edits of one file are remembered.
const maxMade = 64

// made is an edit of the session that landed: the hash of its arguments, and the ranges of its text at revision rev.
type made struct {
	what   [sha256.Size]byte
	rev    uint64
	places []place
}

// place is the range of one replacement, and those parts of it that were inserted.
type place struct {
	span
	parts []span
}

// Made records that an edit has landed: what are its arguments, at the ranges that it replaced, in the text that it was
// made for.
func (f *FileTime) Made(what string, l LandedFile, at []text.Range) {
	if !l.Applied || l.Already {
		return
	}
	m := made{what: sha256.Sum256([]byte(what)), rev: l.Rev}
	parts := inserted(l.Set)
	for _, r := range at {
		p := place{span: span{
			l.Set.MapPos(l.Rebased.MapPos(r.Start, true), false), l.Set.MapPos(l.Rebased.MapPos(r.End, false), true),
		}}
		for _, s := range parts {
			if p.start <= s.start && s.end <= p.end {
				p.parts = append(p.parts, s)
			}
		}
		m.places = append(m.places, p)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	list := append(f.made[l.Path], m)
	f.made[l.Path] = list[max(0, len(list)-maxMade):]
}

// Standing gives the ranges of now that come from edits of the session with the same arguments, without those from which
// text was deleted since.
func (f *FileTime) Standing(what string, now Snapshot) []text.Range {
	key := sha256.Sum256([]byte(what))
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []text.Range
	for _, m := range f.made[now.Path] {
		if m.what != key {
			continue
		}
		revs, _, ok := f.files.History(now.Path, m.rev)
		if !ok {
			continue
		}
		places := slices.Clone(m.places)
		for _, r := range revs {
			if r.Rev > now.Rev {
				break
			}
			places = carryPlaces(places, r.Set)
		}
		for _, p := range places {
			out = append(out, text.Range{Start: p.start, End: p.end})
		}
	}
	return out
}

// carryPlaces maps places through a set, without those of which the set deletes an inserted part.
func carryPlaces(places []place, set text.Set) []place {
	var out []place
	for _, p := range places {
		gone := slices.ContainsFunc(set, func(e text.Edit) bool {
			return slices.ContainsFunc(p.parts, func(s span) bool { return e.Start < s.end && s.start < e.End })
		})
		if gone {
			continue
		}
		to := place{span: span{set.MapPos(p.start, true), set.MapPos(p.end, false)}}
		for _, s := range p.parts {
			to.parts = append(to.parts, span{set.MapPos(s.start, true), set.MapPos(s.end, false)})
		}
		out = append(out, to)
	}
	return out
}

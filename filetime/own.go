package filetime

import (
	"crypto/sha256"
	"slices"
	"sort"

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
	parts, rebased, landed := inserted(l.Set), l.Rebased.Mapping(), l.Set.Mapping()
	for _, r := range at {
		p := place{span: span{landed.Pos(rebased.Pos(r.Start, true), false), landed.Pos(rebased.Pos(r.End, false), true)}}
		first := sort.Search(len(parts), func(i int) bool { return parts[i].start >= p.start })
		for i := first; i < len(parts) && parts[i].end <= p.end; i++ {
			p.parts = append(p.parts, parts[i])
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
	after := set.Mapping()
	for _, p := range places {
		if slices.ContainsFunc(p.parts, func(s span) bool { return set.Meets(s.start, s.end) }) {
			continue
		}
		to := place{span: span{after.Pos(p.start, true), after.Pos(p.end, false)}}
		for _, s := range p.parts {
			to.parts = append(to.parts, span{after.Pos(s.start, true), after.Pos(s.end, false)})
		}
		out = append(out, to)
	}
	return out
}

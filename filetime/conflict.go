package filetime

import (
	"slices"

	"tandem/filetime/text"
)

// Collision is the Conflict of e with theirs, which leads from its base to now: found are the
// places, in offsets of the base, by is the author of the last change in theirs.
func Collision(e FileEdit, theirs text.Set, now text.Text, found []text.Conflict, by Author) *Conflict {
	ours := e.Edits
	if e.Delete {
		ours = text.Set{{Start: 0, End: e.Base.Len()}}
	}
	wanted := ours.Apply(e.Base)
	c := &Conflict{Path: e.Path, Base: e.Base, Now: now, Author: by}
	if slices.ContainsFunc(found, func(k text.Conflict) bool { return k.Rule == text.RuleDoubled || k.Rule == text.RuleParted }) {
		ours, theirs = text.SlideLines(e.Base, ours), text.SlideLines(e.Base, theirs) // there they were compared
	}
	for _, s := range conflictSpans(e.Base, ours, theirs, found) {
		from, to := wholeLines(wanted, carrySpan(s, ours, e.Base))
		start, end := wholeLines(now, carrySpan(s, theirs, e.Base))
		c.Hunks = append(c.Hunks, Hunk{
			Base: e.Base.Slice(s.start, s.end), Ours: wanted.Slice(from, to), Now: now.Slice(start, end),
			BaseLine: e.Base.Line(s.start) + 1, Line: now.Line(start) + 1,
		})
	}
	return c
}

// conflictSpans are the lines of base in which the places of a conflict lie, with all lines of the
// edits of both sides that lie in them too.
func conflictSpans(base text.Text, ours, theirs text.Set, found []text.Conflict) []span {
	var out []span
	for _, k := range found {
		s := linesAround(base, span{k.Start, k.End})
		for again := true; again; {
			again = false
			for _, e := range slices.Concat(ours, theirs) {
				if e.Start >= s.end && e.Start < base.Len() || e.End < s.start || e.End == s.start && e.Start < e.End {
					continue
				}
				grown := linesAround(base, span{min(s.start, e.Start), max(s.end, e.End)})
				again = again || grown != s
				s = grown
			}
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b span) int { return a.start - b.start })
	merged := out[:0]
	for _, s := range out {
		if n := len(merged); n > 0 && s.start <= merged[n-1].end {
			merged[n-1].end = max(merged[n-1].end, s.end)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// linesAround is the lines that s lies in, with their ends.
func linesAround(t text.Text, s span) span {
	start, end := wholeLines(t, s)
	if start == end { // a place between two lines is shown by the one that follows
		end = t.LineStart(t.Line(start) + 1)
	}
	return span{start, end}
}

// wholeLines widens s to whole lines. An empty span at the start of a line stays empty.
func wholeLines(t text.Text, s span) (start, end int) {
	start = t.LineStart(t.Line(s.start))
	end = max(start, s.end)
	if line := t.Line(end); end > t.LineStart(line) {
		end = t.LineStart(line + 1)
	}
	return start, end
}

// carrySpan is where lines of base stand after a set; what was put in at the end of base belongs to
// its last line.
func carrySpan(s span, set text.Set, base text.Text) span {
	start := set.MapPos(s.start, false)
	return span{start, max(start, set.MapPos(s.end, s.end == base.Len()))}
}

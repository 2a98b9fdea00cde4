package backend

import (
	"fmt"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text"
)

// nearTheirs gives the first line, counted from 1, at which an edit landed on or next to a line that others have
// changed since the edit's base text; 0 if there is none.
func nearTheirs(f filetime.LandedFile) int {
	mine := written(f.Set, f.After, func(off int) int { return off })
	theirs := written(f.Rebased, f.After, func(off int) int { return f.Set.MapPos(off, false) })
	for _, a := range mine {
		for _, b := range theirs {
			if a[0] <= b[1]+1 && b[0] <= a[1]+1 {
				return b[0] + 1
			}
		}
	}
	return 0
}

// tiesOf gives the lines, counted from 1, of both insertions of each tie.
func tiesOf(f filetime.LandedFile) string {
	lines := func(r text.Range) string {
		first, last := f.After.Line(r.Start)+1, f.After.Line(max(r.Start, r.End-1))+1
		if first == last {
			return fmt.Sprint("line ", first)
		}
		return fmt.Sprintf("lines %d-%d", first, last)
	}
	var out []string
	for _, t := range f.Ties {
		out = append(out, fmt.Sprintf("yours: %s, the agent's: %s", lines(t.Theirs), lines(t.Ours)))
	}
	return strings.Join(out, "; ")
}

// written gives the first and the last line, in now, of each insertion of a set; place maps an offset after the set to
// one in now.
func written(set text.Set, now text.Text, place func(off int) int) [][2]int {
	var out [][2]int
	grown := 0
	for _, e := range set {
		start := place(e.Start + grown)
		end := max(start, place(e.Start+grown+len(e.New)))
		grown += len(e.New) - (e.End - e.Start)
		first := now.Line(min(start, now.Len()))
		out = append(out, [2]int{first, max(first, now.Line(max(start, min(end, now.Len())-1)))})
	}
	return out
}

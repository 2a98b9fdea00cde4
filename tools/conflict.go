package tools

import (
	"tandem/filetime"
	"tandem/filetime/text"
)

// Conflict words what Rebase found as the error that the pipeline understands: e did not go over since, which leads
// from its base to now.
func Conflict(e filetime.FileEdit, since text.Set, now text.Text, found []text.Conflict, by filetime.Author) error {
	c := &filetime.Conflict{Path: e.Path, Base: e.Base, Now: now, Author: by}
	for _, x := range found {
		start := since.MapPos(x.Start, false)
		end := max(start, since.MapPos(x.End, true))
		c.Hunks = append(c.Hunks, filetime.Hunk{
			Base: x.Base, Ours: x.Ours, Now: now.Slice(start, end), Line: now.Line(start) + 1,
		})
	}
	return c
}

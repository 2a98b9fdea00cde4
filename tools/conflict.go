package tools

import (
	"context"
	"errors"

	"tandem/filetime"
	"tandem/filetime/text"
)

// Seen gives what a file says now and the texts of it that the model has seen, the newest first; see FileTime.Assert.
// Where nothing has to be read before it is changed, the present text counts as seen, as the last of them.
func Seen(ctx context.Context, env *Env, path string, whole bool) (filetime.Snapshot, []filetime.View, error) {
	now, views, err := env.FileTime.Assert(ctx, path, whole)
	var unread *filetime.Error
	switch {
	case env.RequireRead:
		return now, views, err
	case errors.As(err, &unread) && unread.Code == filetime.NotRead:
		err = nil
	}
	return now, append(views, filetime.View{Text: now.Text, Rev: now.Rev}), err
}

// Conflict words what Rebase found as the error that the pipeline understands: e did not go over since, which leads
// from its base to now.
func Conflict(e filetime.FileEdit, since text.Set, now text.Text, found []text.Conflict, by filetime.Author) error {
	c := &filetime.Conflict{Path: e.Path, Base: e.Base, Now: now, Author: by}
	for _, x := range found {
		start := since.MapPos(x.Start, false)
		end := max(start, since.MapPos(x.End, true))
		c.Hunks = append(c.Hunks, filetime.Hunk{
			Base: x.Base, Ours: x.Ours, Now: now.Slice(start, end),
			BaseLine: e.Base.Line(x.Start) + 1, Line: now.Line(start) + 1,
		})
	}
	return c
}

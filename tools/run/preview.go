package run

import (
	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/tools"
)

// preview is what the plan would change as things stand, for the person who is asked. What would be refused anyway is
// refused here, unasked.
func (c *call) preview() ([]DiffPreview, error) {
	if c.plan.Change == nil {
		return nil, nil
	}
	var out []DiffPreview
	for _, e := range c.plan.Change.Files {
		now, after, err := c.apply(e)
		if err != nil {
			return nil, err
		}
		opts := show.Options{MaxBytes: c.env.Limits.MaxDiffBytes, Created: e.Create}
		d := DiffPreview{Path: e.Path, Old: now.String(), New: after.String()}
		d.Unified = show.Diff(c.env.Paths.Rel(e.Path), now, after, opts).Unified
		out = append(out, d)
	}
	return out, nil
}

// apply carries an edit to the present without landing it.
func (c *call) apply(e filetime.FileEdit) (now, after text.Text, err error) {
	if e.Create {
		return text.Text{}, e.Edits.Apply(e.Base), nil
	}
	revs, snap, ok := c.env.Files.History(e.Path, e.Rev)
	since := e.Since
	for _, r := range revs {
		since = text.Compose(since, r.Set)
	}
	if !ok {
		since = text.Diff(e.Base, snap.Text)
	}
	r := text.Rebase(e.Base, e.Edits, since)
	if len(r.Conflicts) > 0 {
		author := filetime.User
		if len(revs) > 0 {
			author = revs[len(revs)-1].Author
		}
		return now, after, tools.Conflict(e, since, snap.Text, r.Conflicts, author)
	}
	return snap.Text, r.Set.Apply(snap.Text), nil
}

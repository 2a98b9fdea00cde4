package run

import (
	"fmt"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/tools"
)

// maxAsked is the size of the largest diff that a person is asked about. It depends on no setting: whoever allows a change
// has it before them. Encoded it fits in a message, whatever is in it.
const maxAsked = 8 << 20

// preview is what the plan would change as things stand, for the person who is asked. What would be refused anyway is
// refused here, unasked, and so is what is too large to be shown.
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
		diff := show.Diff(c.env.Paths.Rel(e.Path), now, after, show.Options{MaxBytes: maxAsked, Created: e.Create})
		if diff.Truncated {
			reason := fmt.Sprintf("the change of %s is larger than %d MiB, so nobody could see what they allow", c.env.Name(e.Path), maxAsked>>20)
			r := tools.Fail(tools.GateDenied, "too_large", "Permission denied: %s. Nothing was done. Make it in several smaller calls.", reason)
			r.Denial = &tools.Denial{Reason: reason, Layer: "person", Source: "too_large"}
			return nil, &tools.Refusal{Result: r}
		}
		out = append(out, DiffPreview{Path: e.Path, Old: now.String(), New: after.String(), Unified: diff.Unified})
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
		return now, after, filetime.Collision(e, since, snap.Text, r.Conflicts, author)
	}
	return snap.Text, r.Set.Apply(snap.Text), nil
}

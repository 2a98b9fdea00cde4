package run

import (
	"fmt"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/tools"
)

// maxAsked is the size of the largest diff that a person is asked about. It depends on no setting: whoever allows a change
// has it before them. Encoded it fits in a message, whatever is in it.
const maxAsked = 8 << 20

// preview is what the plan would change as things stand, for the person who is asked: a commit that applies nothing. What
// would be refused anyway is refused here, unasked, and so is what is too large to be shown.
func (c *call) preview() ([]DiffPreview, error) {
	if c.plan.Change == nil {
		return nil, nil
	}
	change := *c.plan.Change
	change.Apply = filetime.None
	worked, err := c.host.Files.Commit(c.ctx, change)
	if err != nil {
		return nil, c.refused(c.why(c.ctx, err))
	}
	var out []DiffPreview
	for _, f := range worked.Files {
		if f.Entry != filetime.File {
			continue // the title and the locations of the plan say it
		}
		opts := show.Options{MaxBytes: maxAsked, Created: f.Created, Deleted: f.Deleted}
		if f.Origin != "" {
			opts.OldPath = c.env.Paths.Rel(f.Origin)
		}
		diff := show.Diff(c.env.Paths.Rel(f.Path), f.Before, f.After, opts)
		if diff.Truncated {
			reason := fmt.Sprintf("the change of %s is larger than %d MiB, so nobody could see what they allow", c.env.Name(f.Path), maxAsked>>20)
			r := tools.Fail(tools.GateDenied, "too_large", "Permission denied: %s. Nothing was done. Make it in several smaller calls.", reason)
			r.Denial = &tools.Denial{Reason: reason, Layer: "person", Source: "too_large"}
			return nil, &tools.Refusal{Result: r}
		}
		out = append(out, DiffPreview{
			Path: f.Path, Old: f.Before.String(), New: f.After.String(), Unified: diff.Unified, Spans: diff.Spans(),
		})
	}
	return out, nil
}

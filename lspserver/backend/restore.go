package backend

import (
	"context"
	"encoding/json"

	"tandem/agent"
	"tandem/filetime/text"
	"tandem/lspserver/review"
)

// decided stores the user's decision about the session's changes.
func (se *Session) decided(d review.Decision) {
	raw, err := json.Marshal(d)
	if err != nil { // strings only
		panic(err)
	}
	se.Decided(raw)
}

// restore replays the stored changes and decisions of a session into an empty log. After the end of ctx the log is
// incomplete.
func (b *Backend) restore(ctx context.Context, changes *review.Log, id string) error {
	list, err := agent.ChangesAndDecisions(b.keeper.store(), id)
	if err != nil {
		return err
	}
	steps := make([]review.Step, len(list))
	for i, c := range list {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if c.Decision != nil {
			steps[i].Decision = &review.Decision{}
			if err := json.Unmarshal(c.Decision, steps[i].Decision); err != nil {
				return err
			}
			continue
		}
		before, after, kept, err := c.Texts(b.keeper.store())
		if err != nil {
			return err
		}
		steps[i] = review.Step{
			Path: c.Path, Origin: c.Origin, Entry: c.Entry, Call: c.Call, Turn: c.Turn,
			Created: c.BeforeHash == "", Deleted: c.AfterHash == "", Mode: c.Mode,
			Before: text.New(before), After: text.New(after), Lost: !kept, Allowed: c.Allowed,
			Person: c.Operation == agent.OpUndo, Command: c.Operation == agent.OpShell,
		}
	}
	return changes.Restore(ctx, steps)
}

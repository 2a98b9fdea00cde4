package backend

import (
	"context"

	"tandem/agent"
	"tandem/filetime/text/show"
	"tandem/tools"
	"tandem/tools/run"
)

// DeadLetters gives the calls that failed for good, of all folders and processes that share the store, the newest first.
func (b *Backend) DeadLetters() ([]agent.DeadLetter, error) {
	for _, se := range b.All() {
		se.Written()
	}
	return agent.DeadLetters(b.keeper.store(), b.o.Redact)
}

// letters gives the dead letters with these ids, or refuses all where one is none.
func (b *Backend) letters(ids []int64) ([]agent.DeadLetter, error) {
	all, err := b.DeadLetters()
	if err != nil {
		return nil, err
	}
	known := map[int64]agent.DeadLetter{}
	for _, l := range all {
		known[l.ID] = l
	}
	var out []agent.DeadLetter
	for _, id := range ids {
		l, ok := known[id]
		if !ok {
			return nil, refuse(Invalid, "There is no dead letter %d; tandem/deadLetters/list has those that there are.", id)
		}
		out = append(out, l)
	}
	return out, nil
}

// RetryDeadLetters makes calls again, one after another, each in its session, which must be open, and through all stages: a person is asked
// again. A letter is dropped once its call was made; one that fails for good again makes a new letter. The error says that a call
// cannot be made; then none is.
func (b *Backend) RetryDeadLetters(ctx context.Context, ids []int64) ([]tools.Result, error) {
	letters, err := b.letters(ids)
	if err != nil {
		return nil, err
	}
	sessions := make([]*Session, len(letters))
	for i, l := range letters {
		if sessions[i], err = b.Find(l.Session); err != nil {
			return nil, err
		}
		if l.Args == nil {
			return nil, refuse(Invalid, "The arguments of the dead letter %d (%s) are not kept, since they were too long: it can only be discarded.", l.ID, show.Visible(l.Tool, false))
		}
	}
	var out []tools.Result
	for i, l := range letters {
		results, _, err := sessions[i].CallTools(ctx, []run.Call{{Name: l.Tool, Arguments: l.Args}}, agent.CallOptions{})
		if err != nil {
			return out, Refused(err)
		}
		sessions[i].View.Flush()
		out = append(out, results...)
		if _, err := b.keeper.store().Discard(l.ID); err != nil {
			return out, err
		}
	}
	return out, nil
}

// DiscardDeadLetters drops letters, all or with an error none.
func (b *Backend) DiscardDeadLetters(ids []int64) error {
	if _, err := b.letters(ids); err != nil {
		return err
	}
	_, err := b.keeper.store().Discard(ids...)
	return err
}

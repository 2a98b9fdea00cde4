package backend

import (
	"context"
	"errors"

	"tandem/agent"
	"tandem/agent/store"
	"tandem/filetime"
	"tandem/lspserver/review"
	"tandem/tools"
)

// Accept accepts hunks of a session: those of ids, or all of a path, or with neither all pending ones. An error is an
// *Error.
func (se *Session) Accept(path string, ids []string) (review.JudgeResult, error) {
	return se.judge(ids, func() review.JudgeResult { return se.Changes.Accept(path, ids) })
}

// Reject reverts hunks, which are selected as in Accept.
func (se *Session) Reject(ctx context.Context, path string, ids []string) (review.JudgeResult, error) {
	return se.judge(ids, func() review.JudgeResult { return se.Changes.Reject(ctx, path, ids) })
}

func (se *Session) judge(ids []string, do func() review.JudgeResult) (review.JudgeResult, error) {
	for _, id := range ids {
		if !se.Changes.Has(id) {
			return review.JudgeResult{}, refuse(Invalid, "The session has no hunk %.40q; tandem/changes/list names those that there are.", id)
		}
	}
	done := do()
	se.news.hunksChanged(done.Paths...)
	return done, nil
}

// Undo reverts a session's changes within a scope.
func (se *Session) Undo(ctx context.Context, within review.Scope) review.UndoResult {
	done := se.Changes.Undo(ctx, within)
	for _, f := range se.unsure() {
		if within.All || within.Path == f.Path || within.Call == f.Call && f.Call != "" ||
			within.Turn != nil && *within.Turn == f.Turn || within.Since != nil && *within.Since <= f.Turn {
			done.Conflicts[f.Path] = notKnown
		}
	}
	se.news.hunksChanged(done.Changed...)
	return done
}

// notKnown is why an edit that is in flight cannot be undone.
const notKnown = "it is not known yet whether an edit of it has landed: the editor has not told of it"

// Redo applies reverted changes within a scope again.
func (se *Session) Redo(ctx context.Context, within review.Scope) review.UndoResult {
	done := se.Changes.Redo(ctx, within)
	se.news.hunksChanged(done.Changed...)
	return done
}

// Typed tells the sessions that the text of a document has changed.
func (b *Backend) Typed(path string) {
	canonical := ""
	for _, se := range b.All() {
		if !se.Changes.Tracks("") {
			continue
		}
		if canonical == "" {
			canonical = real(path)
		}
		se.news.textChanged(canonical)
	}
}

// Record is one stored change of a file. Before and After are its texts, if requested and stored; nil if there was no
// file.
type Record struct {
	agent.FileChange
	Before, After *string
}

// Records gives the stored changes of a session, of one file if path is not empty and of one turn if turn is not nil.
// An error may be an *Error.
func (b *Backend) Records(se *Session, path string, turn *int, contents bool) ([]Record, error) {
	se.Written()
	all, err := agent.Changes(b.keeper.store(), se.id)
	if errors.Is(err, store.ErrUnknown) { // it is not stored yet
		return nil, nil
	}
	if err != nil {
		return nil, b.refusal(se.id, err)
	}
	var out []Record
	for _, c := range all {
		if path != "" && c.Path != path || turn != nil && c.Turn != *turn {
			continue
		}
		r := Record{FileChange: c}
		if contents {
			before, after, had, err := c.Texts(b.keeper.store())
			if err != nil {
				return nil, err
			}
			if had && c.BeforeHash != "" {
				r.Before = &before
			}
			if had && c.AfterHash != "" {
				r.After = &after
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// recorded is file access whose changes a session stores as reverts by the user.
type recorded struct {
	filetime.Files
	b       *Backend
	session *Session
}

// Commit implements filetime.Files.
func (r recorded) Commit(ctx context.Context, c filetime.Change) (filetime.Landed, error) {
	l, err := r.Files.Commit(ctx, c)
	r.session.Changed(c, l)
	r.b.movedFor(r.session, l)
	r.b.stale(l)
	return l, err
}

// undo is the review of a session as its tools see it.
type undo struct{ changes *review.Log }

// Turn implements tools.Undo.
func (u undo) Turn() int { return u.changes.LastTurn() }

// Paths implements tools.Undo.
func (u undo) Paths(turn int) []string { return u.changes.ChangedIn(turn) }

// Origins implements tools.Undo.
func (u undo) Origins(path string) []string { return u.changes.Origins(path) }

// RevertTurn implements tools.Undo.
func (u undo) RevertTurn(ctx context.Context, call, path string, turn int) tools.Revert {
	return tools.Revert(u.changes.RevertTurn(ctx, call, path, turn))
}

// RevertLast implements tools.Undo.
func (u undo) RevertLast(ctx context.Context, call, path string) tools.Revert {
	return tools.Revert(u.changes.RevertLast(ctx, call, path))
}

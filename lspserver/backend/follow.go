package backend

import (
	"context"

	"tandem/agent"
	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/run"
)

// follower follows the changes of one session, for its review, the other sessions and the language servers.
type follower struct {
	b  *Backend
	se *Session
}

var _ agent.Review = follower{}

func (f follower) Landed(c filetime.Change, l filetime.Landed) { f.b.landed(f.se, c, l) }

func (f follower) Stale(l filetime.Landed) { f.b.stale(l) }

func (f follower) BeforeCommand(ctx context.Context, c run.Command) run.Began {
	return f.b.beforeCommand(ctx, f.se, c)
}

func (f follower) Unkept(ctx context.Context, c run.Command) string { return f.b.forGood(ctx, c) }

func (f follower) Undo() tools.Undo { return undo{f.se.Changes} }

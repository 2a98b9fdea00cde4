package backend

import (
	"context"
	"strings"

	"tandem/agent"
	"tandem/agent/model"
	"tandem/agent/prompt"
)

// Prompt is what a person sends.
type Prompt struct {
	Blocks []prompt.Block
	// Title is what a session without a title is called by it.
	Title string
	// Model is another model for this one prompt, "" for the session's.
	Model string
	// Attention is what the person has in front of them, nil where that is not known.
	Attention *Attention
}

// Prompt begins a turn at once, so that a cancel that comes after it finds it. What it gives carries the turn out and must be
// called; begun is called when the turn has begun, and may be nil. An error is an *Error; then nothing has happened.
func (b *Backend) Prompt(se *Session, p Prompt) (run func(ctx context.Context, begun func()) (agent.TurnResult, error), err error) {
	in := se.input(p.Blocks)
	in.Model, in.Title = p.Model, p.Title
	in.Editor = b.attention(se, p.Attention, in.Blocks)
	told := func() {}
	if in.Shown != "" {
		in.News = func(ctx context.Context) (news string) {
			news, told = se.Changes.News(ctx, b.Short)
			return strings.TrimSuffix(news, "\n")
		}
	}
	turn, err := se.Begin(in)
	if err != nil {
		return nil, Refused(err)
	}
	return func(ctx context.Context, begun func()) (agent.TurnResult, error) {
		if err := turn.Open(ctx); err != nil {
			return agent.TurnResult{}, Refused(err)
		}
		told()
		b.touch(se, model.Usage{})
		if begun != nil {
			begun()
		}
		r := turn.Run(ctx)
		se.View.Flush()
		b.touch(se, r.Usage)
		return r, nil
	}, nil
}

// input is what a person sends.
func (se *Session) input(blocks []prompt.Block) agent.Input {
	return agent.Input{Blocks: blocks, Shown: prompt.User(se.cwd, blocks)}
}

// Steer adds to the running turn at once; see agent.Session.Steer. What it gives must be called and returns when the words
// are kept.
func (se *Session) Steer(blocks []prompt.Block) (keep func(ctx context.Context) error, err error) {
	kept, err := se.Session.Steer(se.input(blocks))
	if err != nil {
		return nil, Refused(err)
	}
	return func(ctx context.Context) error { return Refused(kept(ctx)) }, nil
}

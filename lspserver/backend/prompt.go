package backend

import (
	"context"
	"strings"

	"tandem/agent"
	"tandem/agent/model"
	"tandem/agent/prompt"
)

// Prompt is a user's prompt.
type Prompt struct {
	Blocks []prompt.Block
	// Title becomes the title of a session that has none.
	Title string
	// Model overrides the session's model for this prompt, unless "".
	Model string
	// Tools are those that the client runs, on offer in this turn alone.
	Tools []ToolSpec
	// Attention is the editor's context, nil if unknown.
	Attention *Attention
}

// Prompt claims the session for a turn without blocking, so that a later cancel finds it. The caller must call run,
// which runs the turn; begun is called when the turn is open, and may be nil. An error is an *Error; then nothing has
// happened.
func (b *Backend) Prompt(se *Session, p Prompt) (run func(ctx context.Context, begun func()) (agent.TurnResult, error), err error) {
	in := se.input(p.Blocks)
	in.Model, in.Title = p.Model, p.Title
	if in.Tools, err = b.turnTools(p.Tools); err != nil {
		return nil, err
	}
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

// input is a user's message.
func (se *Session) input(blocks []prompt.Block) agent.Input {
	return agent.Input{Blocks: blocks, Shown: prompt.Shown(se.cwd, blocks)}
}

// Steer queues a message for the running turn; see agent.Session.Steer. The caller must call keep, which returns when
// the message is stored.
func (se *Session) Steer(blocks []prompt.Block) (keep func(ctx context.Context) error, err error) {
	kept, err := se.Session.Steer(se.input(blocks))
	if err != nil {
		return nil, Refused(err)
	}
	return func(ctx context.Context) error { return Refused(kept(ctx)) }, nil
}

package backend

import (
	"context"
	"time"

	"tandem/sandbox/search/index"
	"tandem/tools"
	"tandem/tools/run"
)

// PutTools puts a layer of tools in, in the place of one of the same rank and name.
func (b *Backend) PutTools(l tools.Layer) {
	_ = b.changeTools(func(s *tools.Set) (*tools.Set, error) { return s.With(l), nil })
}

// TakeTools takes the layer of that rank and name out.
func (b *Backend) TakeTools(rank tools.Rank, name string) {
	_ = b.changeTools(func(s *tools.Set) (*tools.Set, error) { return s.Without(rank, name), nil })
}

// BeforeCommand is what happens before a command of a session runs.
func (b *Backend) BeforeCommand(ctx context.Context, se *Session, c run.Command) run.Began {
	return b.beforeCommand(ctx, se, c)
}

// Indexes are those of the roots that are searched, of which one with any file gets one, by a clock for which no file is young.
func (b *Backend) Indexes() *index.Indexes {
	b.indexes.Least, b.indexes.Now = 1, func() time.Time { return time.Now().Add(time.Minute) }
	return &b.indexes
}

// Drain waits for the end of what is done in the background.
func (b *Backend) Drain() { b.life.wait() }

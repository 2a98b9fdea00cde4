package lspserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"tandem/agent/model"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
)

func (s *server) lendRoutes(r *wire.Router) {
	handleNote(r, protocol.ModelChunked, s.modelChunk)
}

// lender gives the access to the editor's own model, nil if it has none.
func (s *server) lender() model.Lend {
	if !s.client.tandem.Model {
		return nil
	}
	return s.lend
}

// maxWaiting limits the buffered chunks of an answer, in bytes.
const maxWaiting = 16 << 20

// loan is an answer of the editor's model that streams in: a bounded buffer of chunks.
type loan struct {
	more chan struct{} // buffered for one: a wake-up

	mu      sync.Mutex
	waiting []model.Chunk
	size    int
}

// put appends a chunk; the first that exceeds maxWaiting ends the loan.
func (l *loan) put(c model.Chunk) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size += 64 + len(c.Text) + len(c.Thought)
	if c.ToolCall != nil {
		l.size += len(c.ToolCall.ArgumentsDelta)
	}
	if l.size <= maxWaiting {
		l.waiting = append(l.waiting, c)
	}
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// take empties the buffer; ok is false if it has overflowed.
func (l *loan) take() (chunks []model.Chunk, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	chunks, ok = l.waiting, l.size <= maxWaiting
	l.waiting, l.size = nil, 0
	return chunks, ok
}

// lend asks the editor for an answer of its own model.
func (s *server) lend(ctx context.Context, r model.Loan, on func(model.Chunk)) (model.Lent, error) {
	ctx, cancel := context.WithCancel(ctx)
	l := &loan{more: make(chan struct{}, 1)}
	s.mu.Lock()
	s.lent++
	id := fmt.Sprintf("answer-%d", s.lent)
	s.loans[id] = l
	s.mu.Unlock()
	var result protocol.ModelStreamResult
	ended := make(chan error, 1)
	go func() {
		var err error
		defer func() { ended <- err }()
		defer s.b.Caught("the editor's model", &err)
		err = call(ctx, s.conn, protocol.ModelStream, protocol.ModelStreamParams{
			StreamID: id, Messages: r.Messages, Tools: r.Tools, Options: protocol.ModelOptions{Model: r.Model},
		}, &result)
	}()
	defer func() { // later chunks are dropped
		s.mu.Lock()
		delete(s.loans, id)
		s.mu.Unlock()
		cancel()
	}()
	hear := func() error {
		chunks, ok := l.take()
		switch {
		case ctx.Err() != nil:
			return ctx.Err() // chunks after a cancellation are dropped too
		case !ok:
			return &model.Error{Kind: "bad_response", Message: "The editor's model sends more than can be taken in."}
		}
		for _, c := range chunks {
			on(c)
		}
		return nil
	}
	for {
		select {
		case <-l.more:
			if err := hear(); err != nil {
				cancel()
				<-ended
				return model.Lent{}, err
			}
		case err := <-ended:
			// Chunks arrive in order and before the response.
			if failure := hear(); failure != nil || err != nil {
				return model.Lent{}, cmp.Or(failure, lent(err))
			}
			return lentOf(result), nil
		}
	}
}

func lentOf(r protocol.ModelStreamResult) model.Lent {
	out := model.Lent{StopReason: r.StopReason}
	if u := r.Usage; u != nil {
		out.Usage = model.Usage{Input: u.InputTokens, Output: u.OutputTokens, CachedInput: u.CachedInputTokens}
	}
	return out
}

// lent converts an error of the editor's model.
func lent(err error) error {
	var coded *wire.Error
	if !errors.As(err, &coded) {
		return err
	}
	switch coded.Code {
	case codeModelUnavailable:
		said := fmt.Sprintf("The editor's model does not answer: %s", coded.Message)
		return &model.Error{Kind: "unavailable", Message: said}
	case wire.CodeMethodNotFound:
		return &model.Error{Kind: "unavailable", Message: "The editor says that it lends a model, but does not answer " +
			"tandem/model/stream. Set \"model\" to another one."}
	}
	return err
}

// modelChunk receives a piece of an answer. One of an unknown stream is late and dropped.
func (s *server) modelChunk(_ context.Context, p protocol.ModelChunk) {
	s.mu.Lock()
	l := s.loans[p.StreamID]
	s.mu.Unlock()
	if l == nil {
		s.log.Debug("chunk of an answer that has ended", "stream", p.StreamID)
		return
	}
	c := model.Chunk{Text: p.Text, Thought: p.Thought}
	if t := p.ToolCall; t != nil {
		c.ToolCall = &model.ChunkCall{
			Index: t.Index, ID: clone(t.ID), Name: clone(t.Name), ArgumentsDelta: t.ArgumentsDelta,
		}
	}
	l.put(c)
}

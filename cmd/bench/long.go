package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tandem/lspserver/client"
	"tandem/lspserver/protocol"
)

// longCalls is how many calls a long session has.
const longCalls = 3000

// long measures what a read costs after many of them: the processor time of the last ones beside
// that of the first ones, with the time for the requests. It reads a file of few lines, so that
// what is sent, which grows with the conversation, stays small beside the work. Then another
// process loads the session.
func (b *bench) long(ctx context.Context) error {
	s, err := newService()
	if err != nil {
		return err
	}
	defer s.server.Close()
	if err := os.WriteFile(filepath.Join(b.work, "short.go"), []byte(lines(5, 0)), 0o600); err != nil {
		return err
	}
	settings := object{
		"model": "bench/m", "mode": "auto", "providers": object{"bench": object{"api": "openai-chat", "baseUrl": s.url + "/v1"}},
		"budget": object{"maxTurnRequests": 100},
	}
	session, err := b.longSession(ctx, s, settings)
	if err != nil {
		return err
	}
	rounds := b.rounds(5)
	found := map[string][]float64{}
	for range rounds {
		if err := b.load(ctx, session, settings, func(name string, v float64) { found[name] = append(found[name], v) }); err != nil {
			return err
		}
	}
	b.add("Load/3000", rounds, median(found["took"]), "ns/op")
	for _, name := range []string{"Memory/load/before", "Memory/load/3000"} {
		b.add(name, rounds, median(found[name]), "B")
	}
	return nil
}

// longSession makes the session and returns its id.
func (b *bench) longSession(ctx context.Context, s *service, settings object) (id string, err error) {
	e, err := b.edit(ctx, client.NewBuffer(filepath.Join(b.work, "none.go"), ""), settings)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, e.end(ctx)) }()
	session, err := e.session(ctx)
	if err != nil {
		return "", err
	}
	var batches [][]call
	for range reads {
		batches = append(batches, []call{{"read_file", object{"path": "short.go"}}})
	}
	var used []float64
	for range longCalls / reads {
		if err := s.play("openai-chat", batches); err != nil {
			return "", err
		}
		before, err := e.process.cpu()
		if err == nil {
			err = e.ask(ctx, session)
		}
		if err != nil {
			return "", err
		}
		after, err := e.process.cpu()
		if err != nil {
			return "", err
		}
		used = append(used, float64(after-before)/reads)
	}
	const few = 4 // turns
	for name, calls := range map[string]int{"first": 100, "last": 600, "3000": 3000} {
		some := used[calls/reads-few : calls/reads]
		b.add("Turn/long/"+name, few*reads, median(some), "ns/op")
	}
	return session, nil
}

// load has a new process load a session, from the request to the answer, which comes after all that
// is replayed.
func (b *bench) load(ctx context.Context, session string, settings object, tell func(name string, v float64)) (err error) {
	e, err := b.edit(ctx, nil, settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.end(ctx)) }()
	before, _, err := e.process.resident()
	if err != nil {
		return err
	}
	began := time.Now()
	var r protocol.NewSessionResult
	if err := e.Call(ctx, "tandem/session/load", protocol.LoadSessionParams{SessionID: session}, &r); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	tell("took", float64(time.Since(began)))
	after, _, err := e.process.resident()
	tell("Memory/load/before", before)
	tell("Memory/load/3000", after)
	return err
}

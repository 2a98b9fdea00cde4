package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"tandem/lspserver/client"
)

// sessions measures the memory of an open session at rest: what each of ten sessions adds to that
// of a process which has had one. The first one brings what all of them use: the program's code,
// the store and the descriptions of tools.
func (b *bench) sessions(ctx context.Context) (err error) {
	const more, turns, readsInTurn = 10, 15, 6
	const rest = 42 * time.Second // what has not been used is released by then
	s, err := newService()
	if err != nil {
		return err
	}
	defer s.server.Close()
	if err := os.WriteFile(filepath.Join(b.work, "turns.go"), []byte(lines(250, 0)), 0o600); err != nil {
		return err
	}
	e, err := b.edit(ctx, client.NewBuffer(filepath.Join(b.work, "none.go"), ""), object{
		"model": "bench/m", "mode": "auto", "providers": object{"bench": object{"api": "openai-chat", "baseUrl": s.url + "/v1"}},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.end(ctx)) }()
	one := func() error {
		session, err := e.session(ctx)
		if err != nil {
			return err
		}
		for turn := range turns {
			var batches [][]call
			for i := range readsInTurn {
				batches = append(batches, []call{{"read_file", object{"path": "turns.go", "offset": 1 + turn*readsInTurn + i, "limit": 100}}})
			}
			if err := s.play("openai-chat", batches); err != nil {
				return err
			}
			if err := e.ask(ctx, session); err != nil {
				return err
			}
		}
		return nil
	}
	resting := func() (float64, error) {
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		sum, _, err := e.process.resident()
		return sum, err
	}
	if err := one(); err != nil {
		return err
	}
	first, err := resting()
	if err != nil {
		return err
	}
	for range more {
		if err := one(); err != nil {
			return err
		}
	}
	all, err := resting()
	if err != nil {
		return err
	}
	b.add("Memory/session", more, (all-first)/more, "B")
	b.add("Memory/session/first", 1, first, "B")
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// start measures from the start of the process to the whole answer of initialize.
func (b *bench) start(context.Context) error {
	once := func(program string) (took time.Duration, err error) {
		began := time.Now()
		p, err := b.spawn(program)
		if err != nil {
			return 0, err
		}
		err = p.initialize(b.work)
		took = time.Since(began)
		return took, errors.Join(err, p.kill())
	}
	rounds := b.rounds(100)
	var ours, empty []float64
	for round := range rounds + 1 {
		t, err1 := once(b.program)
		e, err2 := once(b.empty)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if round > 0 {
			ours, empty = append(ours, float64(t)), append(empty, float64(e))
		}
	}
	b.add("Start/empty", rounds, median(empty), "ns/op")
	b.add("Start/tandem", rounds, median(ours), "ns/op")
	return nil
}

// memory measures what lies in memory before anything is asked for, and after 200 calls of tools in
// one session.
func (b *bench) memory(ctx context.Context) error {
	p, err := b.spawn(b.empty)
	if err != nil {
		return err
	}
	err = p.initialize(b.work)
	empty := 0.0
	if err == nil {
		empty, err = p.resident()
	}
	if err := errors.Join(err, p.kill()); err != nil {
		return err
	}
	rounds := b.rounds(5)
	var idle, used []float64
	for range rounds {
		i, u, err := b.memoryOnce(ctx)
		if err != nil {
			return err
		}
		idle, used = append(idle, i), append(used, u)
	}
	b.add("Memory/empty", 1, empty, "B")
	b.add("Memory/idle", rounds, median(idle), "B")
	b.add("Memory/used", rounds, median(used), "B")
	return nil
}

// memoryOnce makes 120 reads, 40 listings and 40 edits of files that no editor has open.
func (b *bench) memoryOnce(ctx context.Context) (idle, used float64, err error) {
	e, err := b.edit(ctx, nil, object{"mode": "auto"})
	if err != nil {
		return 0, 0, err
	}
	if idle, err = e.process.resident(); err != nil {
		return 0, 0, err
	}
	session, err := e.session(ctx)
	if err != nil {
		return 0, 0, err
	}
	for i := range 40 {
		path := filepath.Join(b.work, fmt.Sprintf("memory%d.go", i))
		if err := os.WriteFile(path, []byte("count = 0\n"+lines(500, i)), 0o600); err != nil {
			return 0, 0, err
		}
		err := errors.Join(
			e.call(ctx, session, "read_file", object{"path": path}),
			e.call(ctx, session, "edit_file", object{"path": path, "old_text": "count = 0\n", "new_text": "count = 1\n"}),
			e.call(ctx, session, "read_file", object{"path": path}),
			e.call(ctx, session, "read_file", object{"path": path, "offset": 200}),
			e.call(ctx, session, "list_dir", object{"path": b.work}),
		)
		if err != nil {
			return 0, 0, err
		}
	}
	if used, err = e.process.resident(); err != nil {
		return 0, 0, err
	}
	return idle, used, e.end(ctx)
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// start measures from the start of the process to the whole answer of initialize, and to that of
// the first session. Then it measures the processor time of all its processes, once they rest.
func (b *bench) start(context.Context) error {
	const rest = 300 * time.Millisecond
	var ours, session, used, empty, emptyUsed []float64
	once := func(program string, to, cpu *[]float64, more func(p *process, began time.Time) error) error {
		began := time.Now()
		p, err := b.spawn(program)
		if err != nil {
			return err
		}
		if err = p.initialize(b.work); err == nil {
			*to = append(*to, float64(time.Since(began)))
			err = more(p, began)
		}
		if err == nil {
			var all time.Duration
			all, err = p.allCPU()
			*cpu = append(*cpu, float64(all))
		}
		return errors.Join(err, p.kill())
	}
	rounds := b.rounds(100)
	for range rounds + 1 {
		err1 := once(b.program, &ours, &used, func(p *process, began time.Time) error {
			answer, _, err := p.ask("tandem/session/new", map[string]any{})
			if err == nil {
				session = append(session, float64(time.Since(began)))
				_, err = result[json.RawMessage](answer)
			}
			time.Sleep(rest)
			return err
		})
		err2 := once(b.empty, &empty, &emptyUsed, func(*process, time.Time) error { return nil })
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
	}
	for name, all := range map[string][]float64{
		"tandem": ours, "session": session, "cpu": used, "empty": empty, "empty-cpu": emptyUsed,
	} {
		b.add("Start/"+name, rounds, median(all[1:]), "ns/op")
	}
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
		empty, _, err = p.resident()
	}
	if err := errors.Join(err, p.kill()); err != nil {
		return err
	}
	rounds := b.rounds(5)
	found := map[string][]float64{}
	for range rounds {
		if err := b.memoryOnce(ctx, func(name string, sum, shared float64) {
			found[name], found[name+"-shared-once"] = append(found[name], sum), append(found[name+"-shared-once"], shared)
		}); err != nil {
			return err
		}
	}
	b.add("Memory/empty", 1, empty, "B")
	for name, all := range found {
		b.add("Memory/"+name, rounds, median(all), "B")
	}
	return nil
}

// memoryOnce makes 120 reads, 40 listings and 40 edits of files that no editor has open, and then
// runs a command.
func (b *bench) memoryOnce(ctx context.Context, tell func(name string, sum, shared float64)) error {
	e, err := b.edit(ctx, nil, object{"mode": "auto"})
	if err != nil {
		return err
	}
	measure := func(name string) error {
		sum, shared, err := e.process.resident()
		tell(name, sum, shared)
		return err
	}
	if err := measure("idle"); err != nil {
		return err
	}
	session, err := e.session(ctx)
	if err != nil {
		return err
	}
	for i := range 40 {
		path := filepath.Join(b.work, fmt.Sprintf("memory%d.go", i))
		if err := os.WriteFile(path, []byte("count = 0\n"+lines(500, i)), 0o600); err != nil {
			return err
		}
		err := errors.Join(
			e.call(ctx, session, "read_file", object{"path": path}),
			e.call(ctx, session, "edit_file", object{"path": path, "old_text": "count = 0\n", "new_text": "count = 1\n"}),
			e.call(ctx, session, "read_file", object{"path": path}),
			e.call(ctx, session, "read_file", object{"path": path, "offset": 200}),
			e.call(ctx, session, "list_dir", object{"path": b.work}),
		)
		if err != nil {
			return err
		}
	}
	if err := measure("used"); err != nil {
		return err
	}
	if err := e.call(ctx, session, "bash", object{"command": "true"}); err != nil {
		return err
	}
	if err := measure("command"); err != nil {
		return err
	}
	return e.end(ctx)
}

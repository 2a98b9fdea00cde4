package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tandem/lspserver/client"
)

// openEdits measures the memory after few and after many edits of one open document, and the
// processor time of the last ones.
func (b *bench) openEdits(ctx context.Context) error {
	for _, d := range []struct {
		name         string
		lines, edits int
	}{{"56KB", 1590, 1000}, {"560KB", 15700, 250}} {
		if err := b.openEditsOf(ctx, d.name, d.lines, d.edits); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return nil
}

// openEditsOf makes edits of one open document in turns of 50. Each is a call of the model, for
// another line.
func (b *bench) openEditsOf(ctx context.Context, name string, size, edits int) error {
	const inTurn = 50
	s, err := newService()
	if err != nil {
		return err
	}
	defer s.server.Close()
	path := filepath.Join(b.work, "open"+name+".go")
	doc := client.NewBuffer(path, lines(size, 0))
	e, err := b.edit(ctx, doc, object{
		"model": "bench/m", "mode": "auto", "providers": object{"bench": object{"api": "openai-chat", "baseUrl": s.url + "/v1"}},
		"budget": object{"maxTurnRequests": 2 * inTurn},
	})
	if err != nil {
		return err
	}
	session, err := e.session(ctx)
	if err != nil {
		return errors.Join(err, e.end(ctx))
	}
	turn := func(batches [][]call) error {
		if err := s.play("openai-chat", batches); err != nil {
			return err
		}
		return e.ask(ctx, session)
	}
	if err := turn([][]call{{{"read_file", object{"path": path}}}}); err != nil {
		return errors.Join(err, e.end(ctx))
	}
	var used time.Duration
	for made := 0; made < edits; made += inTurn {
		var batches [][]call
		for n := made; n < made+inTurn; n++ {
			line := n * 7919 % (size / 3) * 3 // of the lines that begin with a value
			head := fmt.Sprintf("\tvalue%d, err := ", line)
			batches = append(batches, []call{{"edit_file", object{
				"path": path, "old_text": head + lineTail(doc.Text(), head), "new_text": fmt.Sprintf("%scall(ctx, %d, %d)\n", head, n+1, line),
			}}})
		}
		before, err := e.process.allCPU()
		if err == nil {
			err = turn(batches)
		}
		if err != nil {
			return errors.Join(err, e.end(ctx))
		}
		after, err := e.process.allCPU()
		if err != nil {
			return errors.Join(err, e.end(ctx))
		}
		used = after - before
		if n := strings.Count(doc.Text(), fmt.Sprintf("call(ctx, %d, ", made+inTurn)); n != 1 {
			return errors.Join(fmt.Errorf("edit %d did not land", made+inTurn), e.end(ctx))
		}
		if made == 0 {
			sum, _, err := e.process.resident()
			if err != nil {
				return errors.Join(err, e.end(ctx))
			}
			b.add("Memory/edits/"+name+"/50", 1, sum, "B")
		}
	}
	sum, _, err := e.process.resident()
	if err != nil {
		return errors.Join(err, e.end(ctx))
	}
	b.add(fmt.Sprintf("Memory/edits/%s/%d", name, edits), 1, sum, "B")
	b.add("Edits/"+name+"/cpu", inTurn, float64(used)/inTurn, "ns/op")
	return e.end(ctx)
}

// lineTail is what follows head in its line of text.
func lineTail(text, head string) string {
	_, rest, _ := strings.Cut(text, head)
	line, _, _ := strings.Cut(rest, "\n")
	return line + "\n"
}

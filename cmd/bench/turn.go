package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tandem/lspserver/client"
	"tandem/lspserver/protocol"
)

const (
	reads    = 20 // in a turn that reads one file after another
	parallel = 8
)

// turns measures what a turn costs over the model's own time: that is how long a plain client takes
// for the same requests.
func (b *bench) turns(ctx context.Context) error {
	for _, api := range []string{"openai-chat", "anthropic"} {
		if err := b.turnsOver(ctx, api); err != nil {
			return fmt.Errorf("%s: %w", api, err)
		}
	}
	if err := b.requests(ctx); err != nil {
		return err
	}
	return b.first(ctx)
}

// requests counts the bytes that a model is sent: the first request of a session, and the last
// request of a turn of ten pairs of a read and an edit, which holds all of their answers.
func (b *bench) requests(ctx context.Context) error {
	const pairs = 10
	s, err := newService()
	if err != nil {
		return err
	}
	defer s.server.Close()
	path := filepath.Join(b.work, "pairs.go")
	doc := client.NewBuffer(path, lines(150, 0))
	e, err := b.edit(ctx, doc, object{
		"model": "bench/m", "mode": "auto", "providers": object{"bench": object{"api": "openai-chat", "baseUrl": s.url + "/v1"}},
	})
	if err != nil {
		return err
	}
	defer e.end(ctx) //nolint:errcheck // what was measured is measured
	session, err := e.session(ctx)
	if err != nil {
		return err
	}
	var batches [][]call
	for i := range pairs {
		line := 15 * i // of the lines that begin with a value
		old := fmt.Sprintf("\tvalue%d, err := call(ctx, 0, %d)\n", line, line*7919%1009)
		batches = append(
			batches,
			[]call{{"read_file", object{"path": path, "offset": line, "limit": 20}}},
			[]call{{"edit_file", object{"path": path, "old_text": old, "new_text": strings.Replace(old, "call(", "callAgain(", 1)}}},
		)
	}
	if err := s.play("openai-chat", batches); err != nil {
		return err
	}
	if err := e.ask(ctx, session); err != nil {
		return err
	}
	if n := strings.Count(doc.Text(), "callAgain("); n != pairs {
		return fmt.Errorf("%d of %d edits landed", n, pairs)
	}
	b.add("Request/first", 1, float64(len(s.asked[0].body)), "bytes")
	b.add("Request/pairs", 1, float64(len(s.asked[len(s.asked)-1].body)-len(s.asked[0].body)), "bytes")
	return nil
}

func (b *bench) turnsOver(ctx context.Context, api string) error {
	s, err := newService()
	if err != nil {
		return err
	}
	defer s.server.Close()
	for i := range reads {
		if err := os.WriteFile(filepath.Join(b.work, fmt.Sprintf("read%d.go", i)), []byte(lines(150, i)), 0o600); err != nil {
			return err
		}
	}
	path := filepath.Join(b.work, "open.go")
	doc := client.NewBuffer(path, "count = 0\n"+lines(150, 0))
	base := s.url + "/v1"
	if api == "anthropic" {
		base = s.url
	}
	e, err := b.edit(ctx, doc, object{
		"model": "bench/m", "mode": "auto", "providers": object{"bench": object{"api": api, "baseUrl": base}},
	})
	if err != nil {
		return err
	}
	defer e.end(ctx) //nolint:errcheck // what was measured is measured

	read := func(i int) call { return call{"read_file", object{"path": fmt.Sprintf("read%d.go", i)}} }
	var inTurn, atOnce [][]call
	for i := range reads {
		inTurn = append(inTurn, []call{read(i)})
	}
	atOnce = [][]call{nil}
	for i := range parallel {
		atOnce[0] = append(atOnce[0], read(i))
	}
	edits := 0
	plain := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer plain.CloseIdleConnections()
	kinds := []struct {
		name    string
		per     int // calls in it
		batches func() [][]call
	}{
		{"none", 0, func() [][]call { return nil }},
		{"reads", reads, func() [][]call { return inTurn }},
		{"parallel", parallel, func() [][]call { return atOnce }},
		{"command", 1, func() [][]call { return [][]call{{{"bash", object{"command": "true"}}}} }},
		{"edit", 2, func() [][]call {
			edits++
			return [][]call{
				{{"read_file", object{"path": path}}},
				{{"edit_file", object{
					"path": path, "old_text": fmt.Sprintf("count = %d\n", edits-1), "new_text": fmt.Sprintf("count = %d\n", edits),
				}}},
			}
		}},
	}
	rounds := b.rounds(40)
	over, used, asked := map[string][]float64{}, map[string]time.Duration{}, []float64{}
	for round := range rounds + 1 {
		for _, k := range kinds {
			batches := k.batches()
			took, cpu, err := e.turn(ctx, s, api, batches)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			began := time.Now()
			n, err := s.replay(plain)
			again := time.Since(began)
			if err == nil && n != len(batches)+1 {
				err = fmt.Errorf("%d requests instead of %d", n, len(batches)+1)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			if round == 0 { // everything is made once
				continue
			}
			over[k.name] = append(over[k.name], float64(took-again))
			used[k.name] += cpu
			if k.name == "none" {
				asked = append(asked, float64(again))
			}
		}
	}
	if text := doc.Text(); !strings.HasPrefix(text, fmt.Sprintf("count = %d\n", edits)) {
		return fmt.Errorf("the document begins with %.20q after %d edits", text, edits)
	}
	name := "Turn/" + api + "/"
	none := median(over["none"])
	b.add(name+"request", rounds, median(asked), "ns/op")
	b.add(name+"none", rounds, none, "ns/op")
	b.add(name+"read", rounds*reads, (median(over["reads"])-none)/reads, "ns/op")
	b.add(name+"read-cpu", rounds*reads, float64(used["reads"])/float64(rounds*reads), "ns/op")
	b.add(name+"parallel", rounds, median(over["parallel"]), "ns/op")
	b.add(name+"command", rounds, median(over["command"]), "ns/op")
	b.add(name+"command-cpu", rounds, float64(used["command"])/float64(rounds), "ns/op")
	b.add(name+"edit", rounds, median(over["edit"]), "ns/op")
	return nil
}

// first measures the first turn of a process, from the prompt to the answer, and the third one of
// the same session.
func (b *bench) first(ctx context.Context) error {
	s, err := newService()
	if err != nil {
		return err
	}
	defer s.server.Close()
	plain := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer plain.CloseIdleConnections()
	rounds := b.rounds(20)
	var over [3][]float64
	for round := range rounds + 1 {
		if err := b.fresh(ctx, s, plain, len(over), func(turn int, ns float64) {
			if round > 0 { // everything is made once
				over[turn] = append(over[turn], ns)
			}
		}); err != nil {
			return err
		}
	}
	b.add("Turn/first", rounds, median(over[0]), "ns/op")
	b.add("Turn/third", rounds, median(over[2]), "ns/op")
	return nil
}

// fresh starts a server, has it answer so many prompts in one session, and tells how long each took
// beyond the model's own time. The first prompt comes when the session has been there for a moment,
// as a person's does.
func (b *bench) fresh(ctx context.Context, s *service, plain *http.Client, turns int, tell func(turn int, ns float64)) error {
	e, err := b.edit(ctx, client.NewBuffer(filepath.Join(b.work, "none.go"), ""), object{
		"model": "bench/m", "mode": "auto", "providers": object{"bench": object{"api": "openai-chat", "baseUrl": s.url + "/v1"}},
	})
	if err != nil {
		return err
	}
	defer e.end(ctx) //nolint:errcheck // what was measured is measured
	session, err := e.session(ctx)
	if err != nil {
		return err
	}
	time.Sleep(100 * time.Millisecond)
	for turn := range turns {
		if err := s.play("openai-chat", nil); err != nil {
			return err
		}
		began := time.Now()
		if err := e.ask(ctx, session); err != nil {
			return err
		}
		took := time.Since(began)
		began = time.Now()
		if _, err := s.replay(plain); err != nil {
			return err
		}
		tell(turn, float64(took-time.Since(began)))
	}
	return nil
}

// ask sends a prompt and waits for the end of its turn.
func (e *editor) ask(ctx context.Context, session string) error {
	var r protocol.PromptResult
	p := protocol.PromptParams{SessionID: session, Prompt: []protocol.ContentBlock{{Type: "text", Text: "Go on."}}}
	if err := e.Call(ctx, "tandem/session/prompt", p, &r); err != nil {
		return err
	}
	if r.StopReason != "end_turn" {
		return fmt.Errorf("the turn ended with %s %+v", r.StopReason, r.Error)
	}
	return nil
}

// turn carries out a turn in a session that has had one before, and says how long the client waited
// and how much processor time the server and its keepers used.
func (e *editor) turn(ctx context.Context, s *service, api string, batches [][]call) (took, cpu time.Duration, err error) {
	session, err := e.session(ctx)
	if err != nil {
		return 0, 0, err
	}
	if err := s.play(api, nil); err != nil {
		return 0, 0, err
	}
	if err := e.ask(ctx, session); err != nil {
		return 0, 0, err
	}
	if err := s.play(api, batches); err != nil {
		return 0, 0, err
	}
	before, err := e.process.allCPU()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := e.ask(ctx, session); err != nil {
		return 0, 0, err
	}
	took = time.Since(began)
	after, err := e.process.allCPU()
	return took, after - before, err
}

// lines is a text of so many lines that look like code, 150 of which are 5 kB.
func lines(n, seed int) string {
	var b strings.Builder
	for i := range n {
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, "\tvalue%d, err := call(ctx, %d, %d)\n", i, seed, i*7919%1009)
		case 1:
			b.WriteString("\tif err != nil {\n")
		default:
			fmt.Fprintf(&b, "\t\treturn fmt.Errorf(\"call %d: %%w\", err)\n\t}\n", i)
		}
	}
	return b.String()
}

package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/outputs"
)

// reader is a model that makes calls of look in each turn before it ends it, and keeps its requests.
type reader struct {
	calls    int
	requests []model.Request
	made     int
}

func (*reader) Name() string { return "main" }

func (m *reader) Stream(_ context.Context, r model.Request, on on) (model.Response, error) {
	m.requests = append(m.requests, r)
	u := model.Usage{Input: int64(bytesOf(r.Messages) / 4), Output: 5}
	if m.made++; m.made%(m.calls+1) == 0 {
		on(model.Delta{Text: "Done."})
		return model.Response{Stop: model.StopEnd, Usage: u}, nil
	}
	id := fmt.Sprint("c", m.made)
	on(model.Delta{Call: &model.CallDelta{ID: id, Name: "look", Arguments: fmt.Sprintf(`{"text":%q}`, id), Done: true}})
	return model.Response{Stop: model.StopCalls, Usage: u}, nil
}

func bytesOf(messages []model.Message) (n int) {
	for _, m := range messages {
		n += len(m.Text)
	}
	return n
}

// lookAt answers at length, with the text of the call in each line.
func lookAt(size int) tools.Tool {
	return tool("look", tools.Read, tools.WithReads, tools.Reads, func(_ context.Context, _ *tools.Env, in note) (tools.Result, error) {
		line := "This is what " + in.Text + " says.\n"
		return tools.Result{Success: true, Data: strings.Repeat(line, size/len(line))}, nil
	})
}

// keptReader is a session of a model that can read a number of tokens.
func keptReader(t *testing.T, m model.Model, tokens int64, st store.Store, past *Past, kit ...tools.Tool) (*Session, *client) {
	t.Helper()
	c := &client{}
	return session(t, c, nil, func(o *setup) {
		o.ID, o.Mode, o.Past, o.Models = "kept", gate.ModeAuto, past, sized{opener{"main": m}, tokens}
		o.Tools = offering(kit...)
		if st != nil {
			o.Keeping.Store = func() store.Store { return st }
		}
	}), c
}

// TestOneRewriteAPass fills a window by a turn of many calls. No request is too long, most of them begin with the one before, the
// person is told, and what was cleared can be read. In another process the session goes on with the same request, and its
// transcript has all.
func TestOneRewriteAPass(t *testing.T) {
	for name, st := range stores(t) {
		t.Run(name, func(t *testing.T) {
			const tokens, calls = 20_000, 40
			m := &reader{calls: calls}
			s, c := keptReader(t, m, tokens, st, nil, lookAt(6000))
			if r := ask(t, s, "go"); r.Stop != EndTurn {
				t.Fatalf("%+v", r)
			}
			rewrites := 0
			for i, r := range m.requests {
				if n := bytesOf(r.Messages) / 4; n > tokens*3/4 {
					t.Errorf("request %d has %d tokens", i, n)
				}
				if i == 0 {
					continue
				}
				before := m.requests[i-1].Messages
				for k := range before {
					if !before[k].Same(r.Messages[k]) {
						rewrites++
						break
					}
				}
			}
			if rewrites == 0 || rewrites > calls/4 {
				t.Errorf("%d rewrites in %d requests", rewrites, len(m.requests))
			}
			var live []string
			for _, e := range c.events {
				if e.Compaction != "" {
					live = append(live, e.Compaction+": "+e.Notice)
				}
			}
			if got := strings.Count(c.transcript(), "old results of tools were cleared for the model"); got != rewrites {
				t.Errorf("told of %d of %d rewrites", got, rewrites)
			}
			first := s.History()[2]
			if !strings.HasPrefix(first.Text, "[Cleared: look, ") || !strings.HasSuffix(first.Text, "read_file output:c1 shows it.]") {
				t.Fatalf("%+v", first)
			}
			shown := func(s *Session) {
				t.Helper()
				if got, err := s.outputs.Get(outputs.ID("c1")); err != nil || strings.Count(got, "This is what c1 says.\n") < 100 {
					t.Errorf("%.80q, %v", got, err)
				}
				if got, err := s.outputs.Get("nothing"); err == nil {
					t.Errorf("%q", got)
				}
			}
			shown(s)
			want := s.History()
			s.Close()

			past, err := ReadPast(st, "kept")
			if err != nil {
				t.Fatal(err)
			}
			var replayed []string
			for e := range past.Events() {
				if e.Compaction != "" {
					replayed = append(replayed, e.Compaction+": "+e.Notice)
				}
			}
			if diff := cmp.Diff(live, replayed); diff != "" || len(live) != rewrites {
				t.Error(diff, len(live))
			}
			page := past.Markdown()
			for i := 1; i <= calls; i++ {
				if !strings.Contains(page, fmt.Sprintf("This is what c%d says.", i)) {
					t.Errorf("c%d is not in the transcript", i)
				}
			}
			if strings.Contains(page, "[Cleared: ") || strings.Count(page, "cleared for the model") != rewrites {
				t.Errorf("the transcript has lines of the model's, or no word of the rewrites:\n%.2000s", page)
			}
			s, _ = keptReader(t, m, tokens, st, past, lookAt(6000))
			if diff := cmp.Diff(want, s.History()); diff != "" {
				t.Error(diff)
			}
			shown(s)
		})
	}
}

// TestNotTidied leaves the conversation alone where the person wants it, or nothing is known of the window.
func TestNotTidied(t *testing.T) {
	for name, c := range map[string]struct {
		tokens int64
		auto   bool
	}{"by the person": {8000, false}, "an unknown window": {0, true}} {
		m := &reader{calls: 20}
		s, seen := keptReader(t, m, c.tokens, nil, nil, lookAt(6000))
		reconfigure(s, func(conf *config.Config) { conf.Context.Auto = c.auto })
		if r := ask(t, s, "go"); r.Stop != EndTurn || strings.Contains(seen.transcript(), "cleared") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestClearedIsReadWithoutAStore keeps results for the model where nothing else keeps them.
func TestClearedIsReadWithoutAStore(t *testing.T) {
	s, _ := keptReader(t, &reader{calls: 20}, 10_000, nil, nil, lookAt(6000))
	ask(t, s, "go")
	if got, err := s.outputs.Get("c1"); err != nil || strings.Count(got, "This is what c1 says.\n") < 100 {
		t.Errorf("%.80q, %v", got, err)
	}
}

// TestKilledAtAnyRequest reads the store at each request of a turn in which the conversation is rewritten: another process would send the
// same messages.
func TestKilledAtAnyRequest(t *testing.T) {
	st := memory(t)
	m := &reader{calls: 30}
	var s *Session
	rewritten := false
	checked := fake(func(ctx context.Context, r model.Request, on on) (model.Response, error) {
		s.record.flush()
		past, err := ReadPast(st, "kept")
		if err != nil {
			t.Error(err)
			return model.Response{}, err
		}
		if diff := cmp.Diff(r.Messages[1:], past.history); diff != "" {
			t.Error(diff)
		}
		rewritten = rewritten || len(r.Messages) > 3 && strings.HasPrefix(r.Messages[3].Text, "[Cleared: ")
		return m.Stream(ctx, r, on)
	})
	s, _ = keptReader(t, checked, 20_000, st, nil, lookAt(6000))
	if r := ask(t, s, "go"); r.Stop != EndTurn || len(m.requests) != 31 || !rewritten {
		t.Errorf("%+v, %d requests, rewritten %t", r, len(m.requests), rewritten)
	}
}

// TestForkOfARewrittenSession goes on from before a rewrite with all that was there then, and from after it with what is left.
func TestForkOfARewrittenSession(t *testing.T) {
	st := memory(t)
	m := &reader{calls: 4}
	s, _ := keptReader(t, m, 20_000, st, nil, lookAt(6000))
	full := map[int][]model.Message{}
	last := 0
	for turn := 1; turn <= 6; turn++ {
		if r := ask(t, s, "go"); r.Stop != EndTurn {
			t.Fatalf("%+v", r)
		}
		full[turn], last = s.History(), turn
	}
	s.Close()
	if strings.HasPrefix(full[1][2].Text, "[Cleared: ") || !strings.HasPrefix(full[last][2].Text, "[Cleared: ") {
		t.Fatal("the rewrite is not between the first turn and the last")
	}
	for turn, want := range full {
		id := fmt.Sprint("fork", turn)
		if err := Fork(st, "kept", &turn, id); err != nil {
			t.Fatal(err)
		}
		past, err := ReadPast(st, id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, past.history); diff != "" {
			t.Errorf("turn %d: %s", turn, diff)
		}
		c := &client{}
		f := session(t, c, nil, func(o *setup) {
			o.ID, o.Mode, o.Past, o.Models = id, gate.ModeAuto, past, sized{opener{"main": m}, 20_000}
			o.Tools, o.Keeping.Store = offering(lookAt(6000)), func() store.Store { return st }
		})
		if got, err := f.outputs.Get(outputs.ID("c1")); err != nil || !strings.Contains(got, "This is what c1 says.") {
			t.Errorf("turn %d: %.80q, %v", turn, got, err)
		}
	}
}

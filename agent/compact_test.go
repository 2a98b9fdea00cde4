package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"tandem/agent/model"
)

// wish has the model write four thousand tokens.
func wish(t *testing.T, s *Session) {
	t.Helper()
	for range 4 {
		if r := ask(t, s, "A wish."); r.Stop != EndTurn {
			t.Fatalf("%+v", r)
		}
	}
}

// TestCompactBetweenTurns has the model summarise the conversation as a person wants it, long before the window is full; a model that
// writes none has its results cleared, and where nothing can be shorter, nothing is asked.
func TestCompactBetweenTurns(t *testing.T) {
	var asked string
	good := true
	m := &writer{t: t}
	m.summary = func(n int, on on) (model.Response, error) {
		last := m.requests[len(m.requests)-1].Messages
		asked = last[len(last)-1].Text
		if good {
			on(model.Delta{Text: goodSummary(n)})
		}
		return model.Response{Stop: model.StopEnd}, nil
	}
	st := memory(t)
	s, c := keptReader(t, m, 0, st, nil)
	if done, err := s.Compact(t.Context(), ""); err != nil || done.Kind != "none" || m.questions > 0 {
		t.Errorf("nothing to compact: %+v, %v", done, err)
	}
	wish(t, s)
	done, err := s.Compact(t.Context(), "Keep the names.")
	if err != nil || done.Kind != "summary" || done.ID == "" || done.After >= done.Before || !strings.HasSuffix(asked, "Keep the names.") {
		t.Fatalf("%+v, %v, asked %q", done, err, asked)
	}
	if h := s.History(); !strings.Contains(h[0].Text, "The Goal of summary 1.") || s.Busy() {
		t.Errorf("%+v", h)
	}
	found := false
	for _, e := range c.events {
		found = found || e.Compaction == done.ID
	}
	if !found {
		t.Error("the client is not told")
	}
	wish(t, s)
	good = false
	if done, err = s.Compact(t.Context(), ""); err != nil || done.Kind != "none" || done.Before != done.After {
		t.Errorf("%+v, %v", done, err)
	}
	s.Close()
	if _, err := s.Compact(t.Context(), ""); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	past, err := ReadPast(st, "kept")
	if err != nil || past.usage.CostUSD != float64(len(m.requests)) || past.turns != 8 {
		t.Errorf("%v: another process knows of $%g for %d requests, and of %d turns", err, past.usage.CostUSD, len(m.requests), past.turns)
	}
}

// TestCompactPrunes clears the results of a conversation whose model writes no summary.
func TestCompactPrunes(t *testing.T) {
	m := &steps{before: func(model.Request) {}}
	n := 0
	m.next = func() step {
		if n++; n > 6 {
			return step{}
		}
		return step{"look", map[string]any{"text": "x"}}
	}
	s, _ := keptReader(t, m, 0, nil, nil, lookAt(6000))
	ask(t, s, "go")
	done, err := s.Compact(t.Context(), "")
	if err != nil || done.Kind != "prune" || done.After >= done.Before || !strings.HasPrefix(s.History()[2].Text, "[Cleared: look") {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestCompactInATurn does it before the next request, for all who wait, and not in the middle of an answer. A cancel ends the waiting, and
// one that comes after the last request is done when the turn is over.
func TestCompactInATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &writer{t: t}
		m.summary = func(n int, on on) (model.Response, error) {
			on(model.Delta{Text: goodSummary(n)})
			return model.Response{Stop: model.StopEnd}, nil
		}
		inside, release := make(chan struct{}), make(chan struct{})
		hold := false
		calls := 0
		held := fake(func(ctx context.Context, r model.Request, on on) (model.Response, error) {
			if !hold || strings.HasPrefix(r.Messages[len(r.Messages)-1].Text, "[From the program, ") {
				return m.Stream(ctx, r, on)
			}
			if calls++; calls > 1 {
				return m.Stream(ctx, r, on)
			}
			m.requests = append(m.requests, r)
			inside <- struct{}{}
			<-release
			on(model.Delta{Call: &model.CallDelta{ID: "c", Name: "look", Arguments: `{"text":"x"}`, Done: true}})
			return model.Response{Stop: model.StopCalls}, nil
		})
		s, _ := keptReader(t, held, 0, nil, nil, lookAt(100))
		wish(t, s)
		hold = true
		turn := begin(t, s, text("go"))
		go turn.Run(context.Background())
		<-inside
		results := make(chan Compaction, 2)
		for range 2 {
			go func() {
				done, err := s.Compact(context.Background(), "")
				if err != nil {
					t.Error(err)
				}
				results <- done
			}()
		}
		synctest.Wait()
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Compact(cancelled, ""); !errors.Is(err, context.Canceled) || m.questions > 0 {
			t.Errorf("%v, %d questions", err, m.questions)
		}
		close(release)
		a, b := <-results, <-results
		if a != b || a.Kind != "summary" || m.questions != 1 {
			t.Errorf("%+v and %+v, %d questions", a, b, m.questions)
		}
		if again, err := s.Compact(t.Context(), ""); err != nil || again.Kind == "" {
			t.Errorf("%+v, %v", again, err)
		}
	})
}

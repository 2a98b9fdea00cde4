package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/tools"
)

// steers says something to the turn from within a request, and wants it taken or refused.
func steers(t *testing.T, s *Session, said string, want error) {
	t.Helper()
	keep, err := s.Steer(text(said))
	if err == nil {
		err = keep(t.Context())
	}
	if !errors.Is(err, want) {
		t.Errorf("steered %q: %v, want %v", said, err, want)
	}
}

func TestSteerJoinsAtTheNextRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{}
		var s *Session
		plays := play(t, "call look {\"text\": \"a\"}\n\nsay Done.\n\nsay Twice.\n")
		requests := 0
		s = session(t, c, opener{"main": fake(func(ctx context.Context, r model.Request, on on) (model.Response, error) {
			switch requests++; requests {
			case 1:
				steers(t, s, "one", nil)
			case 2:
				steers(t, s, "two", nil)
				steers(t, s, " ", ErrEmpty)
				steers(t, s, "three", nil)
			}
			return plays.Stream(ctx, r, on)
		})})
		steers(t, s, "too early", ErrIdle)
		if r := ask(t, s, "go"); r.Stop != EndTurn || requests != 3 {
			t.Errorf("%+v after %d requests", r, requests)
		}
		steers(t, s, "too late", ErrIdle)
		s.Close()
		steers(t, s, "much too late", ErrClosed)
		same(t, `
user: go
assistant: 
  call_1_1 look {"text": "a"}
tool call_1_1: saw a
user: one
assistant: Done.
user: two
user: three
assistant: Twice.
`, history(s))
	})
}

// Whenever a turn ends by anything but the model's word, nothing that was said to it is lost.
func TestSteeredTextOutlivesItsTurn(t *testing.T) {
	for name, end := range map[string]func(*Session) (model.Response, error){
		"cancelled": func(s *Session) (model.Response, error) {
			s.Cancel()
			return model.Response{}, context.Canceled
		},
		"error": func(*Session) (model.Response, error) {
			return model.Response{}, &model.Error{Kind: "cut", Message: "It broke off."}
		},
		"refusal":    func(*Session) (model.Response, error) { return model.Response{Stop: model.StopRefusal}, nil },
		"max_tokens": func(*Session) (model.Response, error) { return model.Response{Stop: model.StopMaxTokens}, nil },
		"a panic":    func(*Session) (model.Response, error) { panic("driver") },
	} {
		t.Run(name, func(t *testing.T) {
			c := &client{}
			var s *Session
			requests := 0
			s = session(t, c, opener{"main": fake(func(_ context.Context, r model.Request, on on) (model.Response, error) {
				if requests++; requests == 1 {
					steers(t, s, "remember", nil)
					return end(s)
				}
				on(model.Delta{Text: "Yes."})
				return model.Response{Stop: model.StopEnd}, nil
			})})
			ask(t, s, "go")
			c.told(t, "The turn ended before your message was sent")
			if r := ask(t, s, "and"); r.Stop != EndTurn || requests != 2 {
				t.Errorf("%+v after %d requests", r, requests)
			}
			if got := history(s); !strings.HasPrefix(got, "user: go\nuser: remember\nassistant: (The turn ended: ") ||
				!strings.HasSuffix(got, "user: and\nassistant: Yes.\n") {
				t.Error(got)
			}
		})
	}
}

// What was said to a turn that the end of the process has cut short is there in the next one, in each kind of store,
// and what had joined before is not there twice.
func TestSteeredTextOutlivesTheProcess(t *testing.T) {
	for name, st := range stores(t) {
		t.Run(name, func(t *testing.T) {
			inside, release := make(chan struct{}), make(chan struct{})
			defer close(release)
			blocks := tool("look", tools.Read, tools.Alone, tools.Reads, func(context.Context, *tools.Env, note) (tools.Result, error) {
				close(inside)
				<-release
				return saw(note{}), nil
			})
			plays := play(t, "say One.\n\ncall look {}\n\nsay Never.\n")
			var s *Session
			requests := 0
			s, _ = newKeptSession(t, st, nil, fake(func(ctx context.Context, r model.Request, on on) (model.Response, error) {
				if requests++; requests == 1 {
					steers(t, s, "joined", nil)
				}
				return plays.Stream(ctx, r, on)
			}), blocks)
			turn := begin(t, s, text("Go."))
			steers(t, s, "first", nil) // before the prompt itself is written down
			go turn.Run(context.Background())
			<-inside
			steers(t, s, "waits", nil)
			past, err := TakePast(t.Context(), st, "kept", s.o.Workspace, time.Now, func(store.Session) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			next, _ := newKeptSession(t, st, past, play(t, "see /waits[\\s\\S]*And\\?/\nsay Well.\n"))
			if r := ask(t, next, "And?"); r.Stop != EndTurn {
				t.Errorf("%+v", r)
			}
			got := history(next)
			for _, said := range []string{"user: Go.\nuser: first\nassistant: One.\nuser: joined\nassistant: \n", "user: waits\nassistant: (The turn"} {
				if strings.Count(got, said) != 1 {
					t.Errorf("%q is not there once in\n%s", said, got)
				}
			}
			var told []string
			for e := range past.Events() {
				if e.User != "" {
					told = append(told, e.User)
				}
			}
			if strings.Join(told, ",") != "Go.,first,joined,waits" {
				t.Errorf("the person is told of %q", told)
			}
		})
	}
}

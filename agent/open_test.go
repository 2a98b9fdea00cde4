package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent/model"
	"tandem/agent/store"
)

// slowly opens what do gives, once the session is made.
type slowly struct {
	opener
	do func(name string) (model.Model, error)
}

func (s *slowly) Open(name string) (model.Model, error) {
	if name == "slow" {
		return s.do(name)
	}
	return s.opener.Open(name)
}

// However the opening of a model ends, the session goes on, and only a turn that was carried out is counted.
func TestOpeningEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		models := &slowly{opener: opener{"main": play(t, "say one\n\nsay two")}}
		s := session(t, &client{}, nil, func(o *setup) { o.Models = models })
		slow := Input{Blocks: text("slow").Blocks, Model: "slow", Title: "Slow"}
		hour := func(string) (model.Model, error) {
			time.Sleep(time.Hour)
			return nil, &model.Error{Kind: "unavailable", Message: "Too late."}
		}

		models.do = func(string) (model.Model, error) { return nil, &model.Error{Kind: "unavailable", Message: "No."} }
		if _, err := s.Prompt(t.Context(), slow); !errors.As(err, new(*model.Error)) {
			t.Error(err)
		}
		models.do = func(string) (model.Model, error) { panic("opener") }
		if _, err := s.Prompt(t.Context(), slow); err == nil || !strings.Contains(err.Error(), "internal error") {
			t.Error(err)
		}
		if s.Busy() || s.Title() != "" || s.History() != nil {
			t.Errorf("busy %v, called %q, said %s", s.Busy(), s.Title(), history(s))
		}
		if r := ask(t, s, "first"); r.Stop != EndTurn || r.Turn != 1 {
			t.Errorf("%+v", r)
		}

		models.do = hour
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r, err := s.Prompt(ctx, slow); err != nil || r.Stop != Cancelled || r.Turn != 2 || time.Since(began) != time.Second {
			t.Errorf("%+v, %v after %v", r, err, time.Since(began))
		}
		if r := ask(t, s, "third"); r.Stop != EndTurn || r.Turn != 3 || s.Title() != "Slow" {
			t.Errorf("%+v, called %q", r, s.Title())
		}

		ended := make(chan TurnResult)
		go func() {
			r, err := s.Prompt(context.Background(), slow)
			if err != nil {
				t.Error(err)
			}
			ended <- r
		}()
		synctest.Wait()
		began = time.Now()
		go s.Close()
		if r := <-ended; r.Stop != Cancelled || time.Since(began) != 0 {
			t.Errorf("%+v after %v", r, time.Since(began))
		}
		time.Sleep(2 * time.Hour) // until nobody opens anything any more
	})
}

// What several say at once to a turn that is just being opened is kept in the order in which it was said, once.
func TestSteeredAtOnce(t *testing.T) {
	const many = 50
	st := memory(t)
	s, _ := newKeptSession(t, st, nil, play(t, "say one\n\nsay two\n\nsay three"))
	turn, err := s.Begin(text("go"))
	if err != nil {
		t.Fatal(err)
	}
	var keepers sync.WaitGroup
	want := "go"
	for i := range many {
		said := fmt.Sprint("s", i)
		want += "," + said
		keep, err := s.Steer(text(said))
		if err != nil {
			t.Fatal(err)
		}
		keepers.Go(func() {
			if err := keep(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	if err := turn.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	turn.Run(t.Context())
	keepers.Wait()
	_, entries, err := st.Entries("kept")
	if err != nil {
		t.Fatal(err)
	}
	var waited, joined []string
	at := map[string]int{}
	for i, e := range entries {
		switch {
		case e.Kind == store.Steer:
			waited = append(waited, e.Text)
			at[e.Text] = i
		case e.Kind == store.Message && e.Text != "" && !strings.Contains("one two three", e.Text):
			joined = append(joined, e.Text)
			if was, ok := at[e.Text]; ok && was > i {
				t.Errorf("%s waited after it had joined", e.Text)
			}
		}
	}
	if got := strings.Join(joined, ","); got != want {
		t.Errorf("joined: %s", got)
	}
	for i := 1; i < len(waited); i++ {
		if at[waited[i]] < at[waited[i-1]] || len(waited) > many {
			t.Errorf("waited: %q", waited)
		}
	}
	if p, err := read(entries); err != nil || len(p.steered) != 0 {
		t.Errorf("left over: %+v, %v", p.steered, err)
	}
}

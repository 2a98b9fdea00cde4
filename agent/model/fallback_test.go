package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// named is a model that fails with err, or says its name.
type named struct {
	name, text string
	err        error
	asked      *strings.Builder
}

func (m *named) Name() string { return m.name }

func (m *named) Stream(_ context.Context, _ Request, on func(Delta)) (Response, error) {
	fmt.Fprint(m.asked, m.name, " ")
	if m.text != "" {
		on(Delta{Text: m.text})
	}
	if m.err != nil {
		return Response{}, m.err
	}
	on(Delta{Text: m.name})
	return Response{Stop: StopEnd}, nil
}

func TestFallbacks(t *testing.T) {
	down := &Error{Kind: "overloaded", Message: "Down."}
	long := &Error{Kind: "context_window", Message: "Too long."}
	for _, c := range []struct {
		name   string
		first  named
		others []*named
		want   string
		fails  error
		asked  string
	}{
		{"not needed", named{}, []*named{{name: "b"}}, "a", nil, "a "},
		{"the next one", named{err: down}, []*named{{name: "b"}, {name: "c"}}, "[Down. b answers instead.]b", nil, "a b "},
		{"the one after", named{err: down}, []*named{{name: "b", err: &Error{Message: "No."}}, {name: "c"}}, "[Down. b answers instead.][No. c answers instead.]c", nil, "a b c "},
		{"cannot be opened", named{err: down}, []*named{{name: "lost"}, {name: "c"}}, "[Down. Lost. c answers instead.]c", nil, "a c "},
		{"none", named{err: down}, []*named{{name: "b", err: &Error{Message: "No."}}}, "[Down. b answers instead.][No.]", down, "a b "},
		{"none that can be opened", named{err: down}, []*named{{name: "lost"}}, "[Lost.]", down, "a "},
		{"itself", named{err: down}, []*named{{name: "a"}}, "", down, "a "},
		{"after words", named{err: down, text: "Half"}, []*named{{name: "b"}}, "Half", down, "a "},
		{"too long a request", named{err: long}, []*named{{name: "b"}}, "", long, "a "},
		{"too long for the next one", named{err: down}, []*named{{name: "b", err: long}, {name: "c"}}, "[Down. b answers instead.]", long, "a b "},
		{"cancelled", named{err: context.Canceled}, []*named{{name: "b"}}, "", context.Canceled, "a "},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked, got strings.Builder
			c.first.name, c.first.asked = "a", &asked
			var names []string
			for _, o := range c.others {
				o.asked = &asked
				names = append(names, o.name)
			}
			m := WithFallbacks(&c.first, names, func(name string) (Model, error) {
				for _, o := range c.others {
					if o.name == name && name != "lost" {
						return o, nil
					}
				}
				return nil, &Error{Kind: "unavailable", Message: "Lost."}
			})
			_, err := m.Stream(t.Context(), Request{}, func(d Delta) {
				if d.Notice != "" {
					d.Text = "[" + d.Notice + "]"
				}
				got.WriteString(d.Text)
			})
			if !errors.Is(err, c.fails) || got.String() != c.want || asked.String() != c.asked || m.Name() != "a" {
				t.Errorf("%v, said %q, asked %q", err, got.String(), asked.String())
			}
		})
	}
}

// TestFallbackRests sees that a model which failed is left alone for a while.
func TestFallbackRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked strings.Builder
		first := &named{name: "a", err: &Error{Message: "Down."}, asked: &asked}
		m := WithFallbacks(first, []string{"b"}, func(string) (Model, error) { return &named{name: "b", asked: &asked}, nil })
		notice := ""
		ask := func() {
			if _, err := m.Stream(t.Context(), Request{}, func(d Delta) { notice += d.Notice }); err != nil {
				t.Error(err)
			}
		}
		ask()
		ask()
		first.err = nil
		time.Sleep(time.Minute)
		ask()
		if asked.String() != "a b b a " || notice != "Down. b answers instead.a failed a moment ago. b answers instead." {
			t.Error(asked.String(), notice)
		}
	})
}

package window_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tandem/agent/model"
	"tandem/agent/window"
)

func message(role model.Role, text string) model.Message {
	return model.Message{Role: role, Text: text}
}

// TestWindowBegins takes the instructions out of a history and leaves the order of both.
func TestWindowBegins(t *testing.T) {
	w := window.New("k", []model.Message{
		message(model.System, "one"), message(model.User, "a"), message(model.System, "two"), message(model.Assistant, "b"),
	}, model.Usage{Input: 2})
	if diff := cmp.Diff([]string{"one", "two"}, w.Instructions()); diff != "" || w.Key() != "k" {
		t.Error(diff, w.Key())
	}
	if diff := cmp.Diff([]model.Message{message(model.User, "a"), message(model.Assistant, "b")}, w.Since(0)); diff != "" {
		t.Error(diff)
	}
	if sum := w.Use(model.Usage{Input: 3, Output: 1}); sum.Input != 5 || sum.Output != 1 {
		t.Errorf("%+v", sum)
	}
}

// TestWindowAppends gives a reader that keeps up by Since the same messages as one that reads all, and no reader sees or makes a change
// of what was read before.
func TestWindowAppends(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := window.New("", nil, model.Usage{})
		var want, kept []model.Message
		for i, n := range rapid.SliceOf(rapid.IntRange(0, 3)).Draw(t, "sizes") {
			var more []model.Message
			for range n {
				more = append(more, message(model.User, string(rune('a'+i%26))))
			}
			w.Add(more...)
			want = append(want, more...)
			if rapid.Bool().Draw(t, "read") {
				kept = append(kept, w.Since(len(kept))...)
				_ = append(w.Since(0), message(model.User, "of the reader"))
			}
		}
		kept = append(kept, w.Since(len(kept))...)
		if !slices.EqualFunc(want, kept, same) || !slices.EqualFunc(want, w.Since(0), same) {
			t.Fatalf("%v, kept up %v, all %v", want, kept, w.Since(0))
		}
	})
}

func same(a, b model.Message) bool { return a.Role == b.Role && a.Text == b.Text }

// TestWindowEndTurn has every turn end with an answer of the model.
func TestWindowEndTurn(t *testing.T) {
	called := model.Message{Role: model.Assistant, Calls: []model.Call{{ID: "1"}}}
	for name, c := range map[string]struct {
		history []model.Message
		added   int
	}{
		"nothing":         {nil, 1},
		"a prompt":        {[]model.Message{message(model.User, "go")}, 1},
		"a result":        {[]model.Message{called, {Role: model.Tool, CallID: "1"}}, 1},
		"a call":          {[]model.Message{called}, 1},
		"an answer":       {[]model.Message{message(model.Assistant, "done")}, 0},
		"an empty answer": {[]model.Message{message(model.Assistant, "")}, 0},
	} {
		w := window.New("", c.history, model.Usage{})
		added := w.EndTurn("(end)")
		all := w.Since(0)
		if last := all[len(all)-1]; len(added) != c.added || len(all) != len(c.history)+c.added || last.Role != model.Assistant {
			t.Errorf("%s: %d added, last %+v", name, len(added), last)
		}
	}
}

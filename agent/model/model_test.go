package model

import (
	"fmt"
	"strings"
	"testing"
)

func TestParts(t *testing.T) {
	m := Message{
		Text:  "One. Two.",
		Calls: []Call{{ID: "a"}, {ID: "b"}, {ID: "c"}},
		Thoughts: []Thought{
			{Model: "m", Text: "first"},
			{Model: "other", Text: "foreign", AfterText: 2},
			{Model: "m", Text: "middle", AfterText: 5},
			{Model: "m", Text: "late", AfterText: 9, AfterCalls: 2},
			{Model: "m", Text: "beyond", AfterText: 99, AfterCalls: 99},
		},
	}
	for name, want := range map[string]string{
		"m":    "(first)[One. ](middle)[Two.]ab(late)c(beyond)",
		"none": "[One. Two.]abc",
	} {
		var b strings.Builder
		for _, p := range m.Parts(name) {
			switch {
			case p.Thought != nil:
				fmt.Fprintf(&b, "(%s)", p.Thought.Text)
			case p.Call != nil:
				b.WriteString(p.Call.ID)
			default:
				fmt.Fprintf(&b, "[%s]", p.Text)
			}
		}
		if b.String() != want {
			t.Errorf("%s: %s", name, &b)
		}
	}
}

func TestCost(t *testing.T) {
	p := Price{Input: 4, Output: 20, CachedInput: 0.2, CacheWrite: 5}
	u := Usage{Input: 1_000_000, CachedInput: 500_000, CacheWrite: 100_000, Output: 10_000}
	u.CostUSD = p.Of(u)
	if sum := u.Add(u); fmt.Sprintf("%.4f %d", sum.CostUSD, sum.Input) != "4.8000 2000000" {
		t.Errorf("%+v", sum)
	}
}

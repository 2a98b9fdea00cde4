package rule_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tandem/tools/rule"
)

func some(t *rapid.T) rule.Rule {
	word := func(name string) string { return rapid.SampledFrom([]string{"", "a", "b*"}).Draw(t, name) }
	r := rule.Rule{
		Tool: rapid.SampledFrom([]string{"bash", "edit_*"}).Draw(t, "tool"), Class: rule.Class(word("class")), Workspace: word("workspace"),
		Act: rapid.SampledFrom([]string{"", rule.Create, rule.Edit, rule.Replace}).Draw(t, "act"), Profile: word("profile"), Scripts: word("scripts"),
	}
	if p := word("params"); p != "" {
		r.Params = map[string]string{"path": p}
	}
	return r
}

// TestWritten reads what was written, which has no empty member; the effect is the name of the list and not in it.
func TestWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := some(t)
		want.Effect = rule.Allow
		raw, err := json.Marshal(want.Compact())
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		var got rule.Rule
		if err := json.Unmarshal(raw, &members); err != nil {
			t.Fatal(err)
		}
		for name, v := range members {
			if v == "" || v == nil {
				t.Fatalf("%s is empty in %s", name, raw)
			}
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if got.Effect = rule.Allow; !reflect.DeepEqual(got, want) || got.ID() != want.ID() {
			t.Fatalf("%+v became %+v", want, got)
		}
	})
}

// TestIDs: two rules have one id if they do the same in the same scope, whatever their source says.
func TestIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := some(t), some(t)
		a.Effect, b.Effect = rule.Verdict(rapid.IntRange(0, 3).Draw(t, "effect")), rule.Verdict(rapid.IntRange(0, 3).Draw(t, "other effect"))
		a.Turn, b.Turn = rapid.IntRange(0, 1).Draw(t, "turn"), rapid.IntRange(0, 1).Draw(t, "other turn")
		same := reflect.DeepEqual(a, b)
		if a.Source, b.Source = "here", "there"; (a.ID() == b.ID()) != same {
			t.Fatalf("%+v is %s, %+v is %s", a, a.ID(), b, b.ID())
		}
		session := a
		if session.Scope = "session"; session.ID() == a.ID() {
			t.Fatal("the rule of a session is that of all")
		}
	})
	// Clients and records have ids: they stay.
	if id := (rule.Rule{Effect: rule.Allow, Tool: "edit_file", Params: map[string]string{"path": "*"}, Act: rule.Edit}).ID(); id != "re29dcfb1bc" {
		t.Error(id)
	}
}

// TestHolds: an answer for a turn holds in it alone, any other rule always.
func TestHolds(t *testing.T) {
	now := time.Unix(0, 0)
	for _, c := range []struct {
		of, in int
		want   bool
	}{{0, 0, true}, {0, 3, true}, {3, 3, true}, {3, 4, false}, {3, 0, false}} {
		if got := (rule.Rule{Tool: "x", Turn: c.of}).Holds(c.in, now); got != c.want {
			t.Errorf("a rule of turn %d in turn %d: %t", c.of, c.in, got)
		}
	}
}

// TestIn has paths below the folder relative to it, and is literal about its name.
func TestIn(t *testing.T) {
	const folder = "/home/me/shop [old]"
	for pattern, want := range map[string]string{
		rule.Literal(folder) + "/src/**": "src/**", rule.Literal(folder): ".", folder + "/src/**": folder + "/src/**", "/etc/**": "/etc/**",
	} {
		r := rule.Rule{Tool: "x", Params: map[string]string{"path": pattern, rule.CommandParam: rule.Literal(folder) + "/run"}}
		in := r.In(folder)
		if in.Params["path"] != want || in.Params[rule.CommandParam] != r.Params[rule.CommandParam] || r.Params["path"] != pattern {
			t.Errorf("%s became %v", pattern, in.Params)
		}
	}
}

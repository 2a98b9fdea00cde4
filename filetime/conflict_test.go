package filetime

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/filetime/text"
)

// TestFindingP10WholeLines has the places of a conflict be whole lines, each once, with all that both sides did in them.
func TestFindingP10WholeLines(t *testing.T) {
	const base = "one\ntwo two\nthree\nfour\n"
	for name, c := range map[string]struct {
		base, ours, now string
		want            []Hunk
	}{
		"a word":         {base, "one\ntwo 2\nthree\nfour\n", "one\ntwo zwei\nthree\nfour\n", []Hunk{{"two two\n", "two 2\n", "two zwei\n", 2, 2}}},
		"a word deleted": {base, "one\ntwo 2\nthree\nfour\n", "one\ntwo \nthree\nfour\n", []Hunk{{"two two\n", "two 2\n", "two \n", 2, 2}}},
		"line deleted":   {base, "one\ntwo 2\nthree\nfour\n", "one\nthree\nfour\n", []Hunk{{"two two\n", "two 2\n", "", 2, 2}}},
		"lines shifted":  {base, "one\ntwo two\n3\nfour\n", "zero\none\ntwo two\ndrei\nfour\n", []Hunk{{"three\n", "3\n", "drei\n", 3, 4}}},
		"no line end":    {"a\nb", "a\nB", "a\nc\n", []Hunk{{"b", "B", "c\n", 2, 2}}},
		"two words of a line": {
			"a b c\n", "A b C\n", "1 b 2\n", []Hunk{{"a b c\n", "A b C\n", "1 b 2\n", 1, 1}},
		},
	} {
		b := text.New(c.base)
		ours, theirs := text.Diff(b, text.New(c.ours)), text.Diff(b, text.New(c.now))
		r := text.Rebase(b, ours, theirs)
		if len(r.Conflicts) == 0 {
			t.Fatalf("%s: no conflict", name)
		}
		got := Collision(FileEdit{Path: "f", Base: b, Edits: ours}, theirs, text.New(c.now), r.Conflicts, User).Hunks
		if len(got) != len(c.want) || got[0] != c.want[0] {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestFaultE16ConflictShowsBoth shows what the person typed, wherever it was typed, beside what the agent would put in.
func TestFaultE16ConflictShowsBoth(t *testing.T) {
	base := text.New("x()\nz()\n")
	ours := text.Set{{Start: 4, End: 4, New: "agent()\n"}}
	for _, typed := range []text.Edit{{Start: 3, End: 3, New: "\n@cached"}, {Start: 4, End: 4, New: "@cached\n"}} {
		theirs := text.Set{typed}
		r := text.Rebase(base, ours, theirs)
		if len(r.Conflicts) != 1 || r.Conflicts[0].Rule != text.RuleParted {
			t.Fatalf("%+v", r)
		}
		got := Collision(FileEdit{Path: "f", Base: base, Edits: ours}, theirs, theirs.Apply(base), r.Conflicts, User).Hunks
		if want := (Hunk{"z()\n", "agent()\nz()\n", "@cached\nz()\n", 2, 2}); len(got) != 1 || got[0] != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// Whatever both sides do: the places are lines of the three texts, in order, and hold every place where they met.
func TestFindingP10WholeLinesAlways(t *testing.T) {
	set := func(rt *rapid.T, b text.Text, who string) text.Set {
		var out text.Set
		at := 0
		for range rapid.IntRange(1, 4).Draw(rt, who) {
			start := rapid.IntRange(at, b.Len()).Draw(rt, "start")
			end := rapid.IntRange(start, min(b.Len(), start+6)).Draw(rt, "end")
			if at = end + 1; start > 0 && end > 0 && at <= b.Len() {
				out = append(out, text.Edit{Start: start, End: end, New: rapid.StringMatching(`[xy\n]{0,3}`).Draw(rt, "new")})
			}
			if at > b.Len() {
				break
			}
		}
		return out
	}
	whole := func(s, of string, line int) bool {
		before := text.New(of).LineStart(line - 1)
		return strings.HasPrefix(of[before:], s) && (s == "" || strings.HasSuffix(s, "\n") || before+len(s) == len(of))
	}
	met := 0
	rapid.Check(t, func(rt *rapid.T) {
		b := text.New(rapid.StringMatching(`([ab]{0,3}\n){1,6}[ab]{0,2}`).Draw(rt, "base"))
		ours, theirs := set(rt, b, "ours"), set(rt, b, "theirs")
		r := text.Rebase(b, ours, theirs)
		if len(r.Conflicts) == 0 {
			return
		}
		met++
		now := theirs.Apply(b)
		c := Collision(FileEdit{Path: "f", Base: b, Edits: ours}, theirs, now, r.Conflicts, User)
		at := 0
		for _, h := range c.Hunks {
			if !whole(h.Base, b.String(), h.BaseLine) || !whole(h.Now, now.String(), h.Line) || h.BaseLine <= at {
				rt.Fatalf("%+v of %q, %q", h, b.String(), now.String())
			}
			if h.Ours != "" && !strings.Contains(ours.Apply(b).String(), h.Ours) {
				rt.Fatalf("%q is nothing of the edit", h.Ours)
			}
			at = h.BaseLine
		}
		for _, k := range r.Conflicts {
			line := b.Line(k.Start) + 1
			held := false
			for _, h := range c.Hunks {
				held = held || h.BaseLine <= line && line <= h.BaseLine+strings.Count(h.Base, "\n")
			}
			if !held {
				rt.Fatalf("line %d is in none of %+v", line, c.Hunks)
			}
		}
	})
	if met == 0 {
		t.Error("nothing met")
	}
}

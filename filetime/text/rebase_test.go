package text

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// stands reports whether an edit that does what e does, an insertion, can be made at off, and what it puts in there.
func stands(base string, e Edit, off int) (string, bool) {
	after := splice(base, Set{e})
	ok := strings.HasPrefix(after, base[:off]) && strings.HasSuffix(after, base[off:])
	return after[off:max(off, len(after)-len(base)+off)], ok
}

// passes reports whether there is another edit of s on the way from edit i to off.
func passes(s Set, i, off int) bool {
	from, to := min(s[i].Start, off), max(s[i].Start, off)
	return i > 0 && s[i-1].End > from || i+1 < len(s) && s[i+1].Start < to
}

// within reports whether edit i of s stands at off, or an insertion could.
func within(base string, s Set, i, off int) bool {
	if s[i].Start < s[i].End {
		return s[i].Start <= off && off <= s[i].End
	}
	_, ok := stands(base, s[i], off)
	return ok && !passes(s, i, off)
}

// ownLines returns the lines with a word in them that have something of what an edit puts in.
func ownLines(base string, e Edit) []string {
	var out []string
	at := 0
	for line := range lines(splice(base, Set{e})) {
		text := strings.TrimRight(line, "\r\n")
		if at < e.Start+len(e.New) && e.Start < at+len(text) && strings.ContainsFunc(text, isWord) {
			out = append(out, text)
		}
		at += len(line)
	}
	return out
}

// lines yields the lines of a text, whatever they end in.
func lines(s string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for s != "" {
			n := eolEnd(s)
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}

// adds reports whether two edits that touch are of one word: one adds to what the other takes away.
func adds(base string, x, y Edit) bool {
	if x.Start > y.Start || x.Start == y.Start && x.End > y.End {
		x, y = y, x
	}
	word := func(l, r string) bool {
		a, b := []rune(l), []rune(r)
		return len(a) > 0 && len(b) > 0 && isWord(a[len(a)-1]) && isWord(b[0])
	}
	return x.End == y.Start && (word(base[x.Start:x.End], y.New) || word(x.New, base[y.Start:y.End]))
}

// lineStart reports whether a line of a text begins at i, and no CRLF is cut there.
func lineStart(s string, i int) bool { return i == 0 || endsLine(s[:i]) && !splits(s, i) }

// asLinesOf is slideLines, worked out by trying all places.
func asLinesOf(base string, s, other Set) Set {
	out := slices.Clone(s)
	for i := len(s) - 1; i >= 0; i-- {
		e := s[i]
		free := func(off int) bool {
			return !slices.ContainsFunc(other, func(t Edit) bool {
				from, to := min(e.Start, off), max(e.Start, off)
				return t.Start < t.End && t.Start <= to && from <= t.End
			})
		}
		best := -1
		for off := 0; off <= len(base) && e.Start == e.End; off++ {
			n, ok := stands(base, e, off)
			switch {
			case !ok || passes(out, i, off) || !lineStart(base, off) || !endsLine(n) || off != e.Start && !free(off):
			case n[len(n)-1] == '\r' && strings.HasPrefix(base[off:], "\n"), n[0] == '\n' && strings.HasSuffix(base[:off], "\r"):
			case off < e.Start && startsEOL(e.New) && (e.Start == len(base) || startsEOL(base[e.Start:])):
			case best < e.Start || off >= e.Start:
				best = off
			}
		}
		if best >= 0 {
			text, _ := stands(base, e, best)
			out[i] = Edit{best, best, text}
			continue
		}
		n := strings.IndexAny(e.New, "\r\n")
		if n < 0 || n == 0 && e.Start == e.End || !startsEOL(e.New[n+eolEnd(e.New[n:]):]) || !free(e.End) {
			continue
		}
		tail := asLinesOf(base, slices.Concat(Set{{e.End, e.End, e.New[n:]}}, out[i+1:]), other)
		if tail[0].Start > e.End {
			out = slices.Concat(out[:i], Set{{e.Start, e.End, e.New[:n]}}, tail)
		}
	}
	for i := len(out) - 1; i > 0; i-- {
		if out[i].Start == out[i].End && out[i-1].Start == out[i].Start {
			out[i-1].New += out[i].New
			out = slices.Delete(out, i, i+1)
		}
	}
	return out
}

// meetAt says which of two insertions at one point comes first, and whether that parts the user's from its line.
func meetAt(base string, o, t Edit) (agentFirst, parted bool) {
	starts := o.Start == 0 || endsLine(base[:o.Start])
	ends := o.Start == len(base) || startsEOL(base[o.Start:])
	lines := func(s string) bool { return starts && endsLine(s) || ends && startsEOL(s) }
	switch a, b := lines(o.New), lines(t.New); {
	case a && !b:
		return starts && endsLine(o.New), false
	case b && !a:
		return !starts || !endsLine(t.New), false
	case !a:
		return false, false
	}
	split := func(s string) []string {
		return strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s), "\n")
	}
	before, after := split(base[:o.Start]), split(base[o.Start:])
	above, below := before[len(before)-1], ""
	ours, theirs := split(o.New), split(t.New)
	if starts {
		if below = after[0]; len(before) > 1 {
			above = before[len(before)-2]
		}
	} else if len(after) > 1 {
		below = after[1]
	}
	whole := func(s string, l []string) []string {
		if starts && endsLine(s) {
			return l[:len(l)-1]
		}
		return l[1:]
	}
	r := orderLines(whole(o.New, ours), whole(t.New, theirs), above, below)
	return r.agentFirst, r.separates
}

// merged is what two people who edit base in their own ways should get, worked out
// the plain way: byte by byte for what is deleted, place by place for what is put in.
// ok is false where a person has to decide.
func merged(base string, ours, theirs Set) (text string, ok bool) {
	ours, theirs = asLinesOf(base, ours, theirs), asLinesOf(base, theirs, ours)
	for i, o := range ours {
		if o.Start < o.End {
			continue
		}
		for _, t := range theirs {
			if s, ok := stands(base, o, t.Start); ok && s == t.New && t.Start == t.End && !passes(ours, i, t.Start) {
				ours[i] = t
				break
			}
		}
	}
	for i, o := range ours {
		for j, t := range theirs {
			if o.Start < o.End && t.Start < t.End || o == t || o.Start < t.End && t.Start < o.End {
				continue
			}
			shared := slices.ContainsFunc(ownLines(base, o), func(l string) bool { return slices.Contains(ownLines(base, t), l) })
			for off := 0; off <= len(base) && shared; off++ {
				here, there := within(base, ours, i, off), within(base, theirs, j, off)
				if here && there {
					return "", false
				}
			}
		}
	}
	for _, o := range ours {
		for _, t := range theirs {
			if !slices.Contains(theirs, o) && !slices.Contains(ours, t) && adds(base, o, t) {
				return "", false
			}
		}
	}
	type piece struct {
		text string
		who  side
		end  bool // a line end that the agent takes away, and that stays where text of the user's would be glued
	}
	pieces := make([][]piece, 2*len(base)+2) // at 2*i insertions at i, at 2*i+1 replacements
	gone := make([]bool, len(base))
	touches := func(a, b Edit) bool { // more than an edge
		switch {
		case a.Start == a.End && b.Start == b.End:
			return false
		case a.Start == a.End:
			return b.Start < a.Start && a.Start < b.End
		case b.Start == b.End:
			return a.Start < b.Start && b.Start < a.End
		}
		return max(a.Start, b.Start) < min(a.End, b.End)
	}
	put := func(e Edit, who side) {
		at := 2 * e.Start
		if e.Start < e.End {
			at++
		}
		if e.New != "" {
			pieces[at] = append(pieces[at], piece{e.New, who, false})
		}
		for i := e.Start; i < e.End; i++ {
			gone[i] = true
		}
	}
	for _, t := range theirs {
		if !slices.Contains(ours, t) {
			put(t, user)
		}
	}
	for _, o := range ours {
		if slices.Contains(theirs, o) {
			put(o, nobody)
			continue
		}
		for _, t := range theirs {
			if touches(o, t) && (o.New != "" || t.New != "") {
				return "", false
			}
		}
		put(o, agent)
		if at := pieces[2*o.Start]; o.Start == o.End && len(at) == 2 && at[0].who == user {
			first, parted := meetAt(base, o, Edit{o.Start, o.Start, at[0].text})
			if parted {
				return "", false
			}
			if first {
				at[0], at[1] = at[1], at[0]
			}
		}
	}
	for _, o := range ours {
		for _, t := range theirs {
			gone := base[o.Start:o.End]
			if t.Start < t.End || !strings.Contains(gone, "\n") || slices.Contains(theirs, o) || slices.Contains(ours, t) {
				continue
			}
			end := piece{"\n", nobody, true}
			if at := &pieces[2*t.Start]; t.Start == o.End && (o.New == "" || endsLine(gone)) && (*at)[0].who == user {
				*at = slices.Insert(*at, 0, end)
			}
			if at := &pieces[2*o.Start+1]; t.Start == o.Start && (o.New == "" || startsEOL(gone)) {
				*at = slices.Insert(*at, 0, end)
			}
		}
	}
	var out strings.Builder
	var end string
	write := func(s string) {
		if isGlued(out.String(), s) {
			out.WriteString(end)
		}
		end = ""
		out.WriteString(s)
	}
	last, who := ' ', nobody
	for i := 0; i <= len(base); i++ {
		for _, p := range slices.Concat(pieces[2*i], pieces[2*i+1]) {
			if p.end {
				end = p.text
				continue
			}
			first := []rune(p.text)[0]
			if end == "" && who != nobody && p.who != nobody && who != p.who && isWord(last) && isWord(first) {
				return "", false
			}
			write(p.text)
			runes := []rune(p.text)
			last, who = runes[len(runes)-1], p.who
		}
		if i < len(base) && !gone[i] {
			n := i + 1
			for ; splits(base, n); n++ {
			}
			write(base[i:n])
			i = n - 1
			last, who = ' ', nobody
		}
	}
	return out.String(), true
}

// alphabet hands out characters that occur once, so that each has an identity.
type alphabet struct {
	word, sign rune
	eol        string // not the same on two sides either
	turns      bool   // an insertion may end in what stands before it in the base, and hold more than the other side's
}

func (a *alphabet) draw(t *rapid.T, label string, n int) string {
	var b strings.Builder
	for range rapid.IntRange(0, n).Draw(t, label) {
		switch rapid.IntRange(0, 5).Draw(t, label) {
		case 0:
			b.WriteString(a.eol)
		case 1, 2:
			b.WriteRune(a.sign)
			a.sign++
		default:
			b.WriteRune(a.word)
			a.word++
		}
	}
	return b.String()
}

// drawApart returns a set whose edits do not touch, some of them taken from other.
func drawApart(t *rapid.T, label, base string, a *alphabet, other Set) Set {
	at := places(base)
	var s Set
	from := 0
	for from < len(at) && len(s) < 5 {
		i := rapid.IntRange(from, len(at)-1).Draw(t, label)
		e := Edit{at[i], at[min(len(at)-1, i+rapid.IntRange(0, 4).Draw(t, label))], ""}
		if rapid.IntRange(0, 2).Draw(t, label) > 0 {
			e.New = a.draw(t, label, 3)
		}
		if a.turns && e.New != "" && e.Start == e.End && i > from && rapid.IntRange(0, 3).Draw(t, label) == 0 {
			e.New += base[at[i-1]:at[i]] // as well a place further up
		}
		if len(other) > 0 && rapid.IntRange(0, 3).Draw(t, label) == 0 {
			if o := rapid.SampledFrom(other).Draw(t, label); o.Start >= at[from] {
				e = o
				if back := o.Start - 1; o.Start == o.End && a.turns && back > 0 && back >= at[from] && rapid.Bool().Draw(t, label) {
					for splits(base, back) {
						back--
					}
					if s, ok := stands(base, o, back); ok && back >= at[from] {
						e = Edit{back, back, s}
					}
				}
				switch n := rapid.IntRange(0, 5).Draw(t, label); {
				case n == 0 && a.turns:
					e.New += a.draw(t, label, 3) + a.eol
				case n == 1 && a.turns:
					e.New = a.draw(t, label, 3) + a.eol + e.New
				}
			}
		}
		if e.Start < e.End || e.New != "" {
			s = append(s, e)
		}
		if rapid.IntRange(0, 3).Draw(t, label) == 0 {
			break
		}
		for from < len(at) && at[from] <= e.End {
			from++
		}
	}
	return s
}

// TestRebaseAgainstIdentity holds the whole of Rebase against the plain merge: no text
// of anybody is lost or moved, nothing else is deleted, and it refuses exactly where
// it has to.
func TestRebaseAgainstIdentity(t *testing.T) {
	t.Parallel()
	clean, refused, alike := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		base := (&alphabet{'一', '←', "\n", false}).draw(t, "base", 14)
		theirs := drawApart(t, "theirs", base, &alphabet{'а', '─', "\r", true}, nil)
		ours := drawApart(t, "ours", base, &alphabet{'가', '①', ";\n", true}, theirs)
		want, ok := merged(base, ours, theirs)
		r := Rebase(New(base), ours, theirs)
		if ok != (len(r.Conflicts) == 0) {
			t.Fatalf("%q, ours %v, theirs %v: conflicts %v, want a merge: %v", base, ours, theirs, r.Conflicts, ok)
		}
		if alike += r.Coalesced; !ok {
			refused++
			checkConflicts(t, base, r)
			return
		}
		clean++
		now := theirs.Apply(New(base))
		if got := r.Set.Apply(now).String(); got != want {
			t.Fatalf("%q, ours %v, theirs %v: %q, want %q", base, ours, theirs, got, want)
		}
		m := RebaseTheirs(New(base), theirs, ours)
		if got := m.Set.Apply(ours.Apply(New(base))).String(); got != want {
			t.Fatalf("%q, ours %v, theirs %v: mirrored %q, want %q", base, ours, theirs, got, want)
		}
		if !SameSpans(New(base), ours, now, r.Set) {
			t.Fatalf("%q, ours %v, theirs %v: %v deletes other text", base, ours, theirs, r.Set)
		}
	})
	if clean < 1000 || refused < 1000 || alike < 100 {
		t.Errorf("%d merges, %d refusals, %d coalesced: too few to mean anything", clean, refused, alike)
	}
}

func checkConflicts(t failer, base string, r Rebased) {
	if r.Set != nil {
		t.Fatalf("a set in spite of conflicts: %v", r.Set)
	}
	for _, c := range r.Conflicts {
		rules := []string{RuleFusion, RuleDoubled, RuleWord, RuleParted, RuleOverlap}
		if c.Base != base[c.Start:c.End] || !slices.Contains(rules, c.Rule) || c.Rule == RuleOverlap && c.Ours == c.Theirs {
			t.Fatalf("conflict %+v", c)
		}
	}
}

// TestRevertLosesNothing has somebody change what is to be taken back, or take some of it back as well: all that was put in
// goes, all that was typed stays, and what had been there comes once.
func TestRevertLosesNothing(t *testing.T) {
	t.Parallel()
	met, put := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		base := (&alphabet{'一', '←', "\n", false}).draw(t, "base", 14)
		back := drawApart(t, "back", base, &alphabet{'가', '①', ";\n", false}, nil)
		theirs := drawApart(t, "theirs", base, &alphabet{'а', '─', "\r", false}, back)
		now := theirs.Apply(New(base))
		got, typed := Revert(New(base), back, theirs)
		if err := got.Validate(now); err != nil {
			t.Fatalf("%q, back %v, theirs %v: %v: %v", base, back, theirs, got, err)
		}
		if len(typed.Conflicts) > 0 {
			met++
		} else if then := typed.Set.Apply(back.Apply(New(base))); !then.Equal(got.Apply(now)) {
			t.Fatalf("%q, back %v, theirs %v: %v and %v lead to two texts", base, back, theirs, got, typed.Set)
		}
		want := map[rune]int{}
		for _, c := range base {
			want[c] = 1
		}
		for _, e := range slices.Concat(back, theirs) {
			for _, c := range base[e.Start:e.End] {
				want[c] = 0
			}
		}
		for _, e := range slices.Concat(back, theirs) {
			for _, c := range e.New {
				want[c] = 1
				put++
			}
		}
		after := got.Apply(now).String()
		for c, n := range want {
			if c > 0x7F && strings.Count(after, string(c)) != n {
				t.Fatalf("%q, back %v, theirs %v: %v leads to %q, where %c should be %d times", base, back, theirs, got, after, c, n)
			}
		}
	})
	if met < 1000 || put < 1000 {
		t.Errorf("%d conflicts, %d characters put in: too few to mean anything", met, put)
	}
}

// TestRebaseConverges has texts full of repetition, touching edits, and characters
// that the edits of both sides make or take apart.
func TestRebaseConverges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := drawText(t, "base", 16)
		var keys []Set
		now := base
		for range rapid.IntRange(0, 4).Draw(t, "keys") {
			s := drawSet(t, "key", now, 2)
			keys, now = append(keys, s), splice(now, s)
		}
		theirs := ComposeAll(keys)
		ours := drawSet(t, "ours", base, 4)
		r, m := Rebase(New(base), ours, theirs), RebaseTheirs(New(base), theirs, ours)
		if (len(r.Conflicts) == 0) != (len(m.Conflicts) == 0) {
			t.Fatalf("conflicts %v and %v", r.Conflicts, m.Conflicts)
		}
		if len(r.Conflicts) > 0 {
			checkConflicts(t, base, r)
			return
		}
		if err := r.Set.Validate(New(now)); err != nil {
			t.Fatalf("%q: ours %v, theirs %v give %v: %v", base, ours, theirs, r.Set, err)
		}
		alone := splice(base, ours)
		if err := m.Set.Validate(New(alone)); err != nil {
			t.Fatalf("%q: ours %v, theirs %v give mirrored %v: %v", base, ours, theirs, m.Set, err)
		}
		if a, b := splice(now, r.Set), splice(alone, m.Set); a != b {
			t.Fatalf("%q: ours %v, theirs %v: %q and %q", base, ours, theirs, a, b)
		}
	})
}

func TestRebaseRules(t *testing.T) {
	const line = "one\ntwo\nthree\n"
	for _, tt := range []struct {
		name         string
		base         string
		ours, theirs Set
		want         string // "" for a conflict
		rule         string
		coalesced    int
		sameLine     bool
	}{
		{name: "R1 disjoint", base: line, ours: Set{{8, 13, "3"}}, theirs: Set{{0, 3, "1"}}, want: "1\ntwo\n3\n"},
		{
			name: "R1 same line", base: "a b c", ours: Set{{4, 5, "C"}}, theirs: Set{{0, 1, "A"}}, want: "A b C",
			sameLine: true,
		},
		{name: "R1 touching", base: "a-b", ours: Set{{0, 1, "x"}}, theirs: Set{{1, 2, "+"}}, want: "x+b", sameLine: true},
		{name: "R1 touching deletions", base: line, ours: Set{{0, 4, ""}}, theirs: Set{{4, 8, ""}}, want: "three\n"},
		{name: "R1 typed at the edge of a replacement", base: "f(a)", ours: Set{{2, 3, "b"}}, theirs: Set{{
			3, 3,
			", c",
		}}, want: "f(b, c)", sameLine: true},
		{
			name: "R1 line put before a changed one", base: line, ours: Set{{4, 4, "new\n"}}, theirs: Set{{4, 7, "2"}},
			want: "one\nnew\n2\nthree\n", sameLine: true,
		},

		{name: "R2 identical", base: "a b c", ours: Set{{2, 3, "x"}}, theirs: Set{{2, 3, "x"}}, want: "a x c", coalesced: 1},
		{
			name: "R2 identical insertion", base: "a", ours: Set{{1, 1, "x"}}, theirs: Set{{1, 1, "x"}}, want: "ax",
			coalesced: 1,
		},
		{name: "R2 already so, in pieces", base: "abcd", ours: Set{{0, 4, "aXcY"}}, theirs: Set{{1, 2, "X"}, {
			3, 4,
			"Y",
		}}, want: "aXcY", coalesced: 1},
		{name: "R2 the user has typed what the agent puts in with its word", base: "foo ", ours: Set{{
			0, 3,
			"foobar",
		}}, theirs: Set{{3, 3, "bar"}}, want: "foobar ", coalesced: 1},
		{name: "R2 typed on both sides", base: "foo", ours: Set{{0, 3, "(foo)"}}, theirs: Set{{0, 0, "("}, {
			3, 3,
			")",
		}}, want: "(foo)", coalesced: 1},
		{name: "R2 the user's in one piece", base: "foo", ours: Set{{0, 0, "("}, {3, 3, ")"}}, theirs: Set{{
			0, 3,
			"(foo)",
		}}, want: "(foo)", coalesced: 1},
		{
			name: "R2 one alike, one not", base: "a b c", ours: Set{{0, 1, "x"}, {4, 5, "z"}}, theirs: Set{{0, 1, "x"}},
			want: "x b z", coalesced: 1,
		},
		{name: "R2 typed and taken back", base: "a b", ours: Set{{2, 3, "x"}}, theirs: Set{{2, 3, "b"}}, want: "a x"},

		{name: "R3 user first", base: "()", ours: Set{{1, 1, "-"}}, theirs: Set{{1, 1, "+"}}, want: "(+-)", sameLine: true},
		{
			name: "R3 whole lines first", base: line, ours: Set{{4, 4, "new\n"}}, theirs: Set{{4, 4, "// "}},
			want: "one\nnew\n// two\nthree\n",
		},
		{
			name: "R3 both whole lines", base: line, ours: Set{{4, 4, "new\n"}}, theirs: Set{{4, 4, "typed\n"}},
			want: "one\ntyped\nnew\ntwo\nthree\n",
		},
		{
			name: "R3 whole lines at the start", base: "x", ours: Set{{0, 0, "new\n"}}, theirs: Set{{0, 0, "y"}},
			want: "new\nyx",
		},
		{
			name: "R3 not at a line start", base: "a b\n", ours: Set{{2, 2, ";\n"}}, theirs: Set{{2, 2, "x"}},
			want: "a x;\nb\n", sameLine: true,
		},
		{
			name: "R3 at the end, after a line end", base: "a\n", ours: Set{{2, 2, "new\n"}}, theirs: Set{{2, 2, "x"}},
			want: "a\nnew\nx",
		},

		{
			name: "R4 deletions overlap", base: "abcdef", ours: Set{{1, 4, ""}}, theirs: Set{{3, 5, ""}}, want: "af",
			sameLine: true,
		},
		{
			name: "R4 one inside the other", base: "abcdef", ours: Set{{2, 3, ""}}, theirs: Set{{1, 5, ""}}, want: "af",
			sameLine: true,
		},
		{
			name: "R4 in a chain", base: "abcdefgh", ours: Set{{0, 3, ""}, {4, 7, ""}}, theirs: Set{{2, 5, ""}},
			want: "h", sameLine: true,
		},
		{name: "R4 whole lines", base: line, ours: Set{{0, 8, ""}}, theirs: Set{{4, 14, ""}}, want: "\x00"},

		{
			name: "R5 typed inside a deletion", base: "abcdef", ours: Set{{1, 5, ""}}, theirs: Set{{3, 3, "x"}},
			rule: RuleOverlap,
		},
		{
			name: "R5 typed inside a replacement", base: "abcdef", ours: Set{{1, 5, "y"}}, theirs: Set{{3, 3, "x"}},
			rule: RuleOverlap,
		},
		{
			name: "R5 put into what the user deleted", base: "abcdef", ours: Set{{3, 3, "x"}}, theirs: Set{{1, 5, ""}},
			rule: RuleOverlap,
		},
		{name: "R5 two replacements", base: "abcdef", ours: Set{{1, 4, "x"}}, theirs: Set{{3, 5, "y"}}, rule: RuleOverlap},
		{
			name: "R5 replacement and deletion", base: "abcdef", ours: Set{{1, 4, ""}}, theirs: Set{{3, 5, "y"}},
			rule: RuleOverlap,
		},
		{name: "R5 same range, other text", base: "abc", ours: Set{{1, 2, "x"}}, theirs: Set{{1, 2, "y"}}, rule: RuleOverlap},

		{
			name: "R5 alike in part, with more that reaches into it", base: "ab\n#\n", ours: Set{{2, 5, "\n#"}},
			theirs: Set{{1, 3, ""}, {4, 5, ""}}, rule: RuleOverlap,
		},

		{
			name: "R6 two words at one place", base: "()", ours: Set{{1, 1, "foo"}}, theirs: Set{{1, 1, "bar"}},
			rule: RuleFusion,
		},
		{name: "R6 typed at the end of a replaced word", base: "foo ", ours: Set{{0, 3, "bar"}}, theirs: Set{{
			3, 3,
			"d",
		}}, rule: RuleFusion},
		{name: "R6 typed at its start", base: "foo ", ours: Set{{0, 3, "bar"}}, theirs: Set{{0, 0, "d"}}, rule: RuleFusion},
		{name: "R6 over a deletion", base: "a-b", ours: Set{{0, 1, "x"}}, theirs: Set{{1, 3, "y"}}, rule: RuleFusion},
		{name: "R6 other letters", base: "", ours: Set{{0, 0, "é"}}, theirs: Set{{0, 0, "λ"}}, rule: RuleFusion},
		{
			name: "R6 not words", base: "", ours: Set{{0, 0, "foo"}}, theirs: Set{{0, 0, "bar "}}, want: "bar foo",
			sameLine: true,
		},
		{
			name: "R6 kept text between", base: "-", ours: Set{{0, 0, "foo"}}, theirs: Set{{1, 1, "bar"}},
			want: "foo-bar", sameLine: true,
		},

		{name: "R4 what is left is half a CRLF", base: "\rab\n", ours: Set{{2, 4, ""}}, theirs: Set{{1, 3, ""}}, want: "\r"},
		{
			name: "cuts made by the user", base: "\rx\n", ours: Set{{1, 1, "-"}}, theirs: Set{{1, 2, ""}}, want: "\r-\n",
			sameLine: true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := New(tt.base)
			r := Rebase(base, tt.ours, tt.theirs)
			if tt.want == "" {
				if len(r.Conflicts) != 1 || r.Conflicts[0].Rule != tt.rule {
					t.Fatalf("got %+v", r)
				}
				checkConflicts(t, tt.base, r)
				return
			}
			now := tt.theirs.Apply(base)
			got := r.Set.Apply(now).String()
			if got != strings.Trim(tt.want, "\x00") || r.Coalesced != tt.coalesced || r.SameLine != tt.sameLine ||
				len(r.Conflicts) > 0 {
				t.Fatalf("got %q, %+v", got, r)
			}
			if err := r.Set.Validate(now); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestRebaseTheirsAroundNewCharacters has the agent complete a character beside which, not
// in which, the user has edited.
func TestRebaseTheirsAroundNewCharacters(t *testing.T) {
	base := New("a\xf0\x9f")
	ours, theirs := Set{{3, 3, "\x98\x80"}}, Set{{0, 2, ""}}
	m := RebaseTheirs(base, theirs, ours)
	if err := m.Set.Validate(ours.Apply(base)); err != nil || m.Set.Apply(ours.Apply(base)).String() != "\x9f\x98\x80" {
		t.Errorf("%+v: %v", m, err)
	}
}

var codePieces = rapid.SampledFrom([]string{
	"a", "foo", "\n", "\n\t", "\n\t\t", " ", "  ", "\r\n", "(", ")", ",", ";", "+", "-", "{", "}", "é", "\"", "'", "//", "`",
	"\"b c\"", "/*", "*/", "\\", "\n#",
})

func drawCode(t *rapid.T, name string, n int) string {
	return strings.Join(rapid.SliceOfN(codePieces, 0, n).Draw(t, name), "")
}

// drawFormatted returns a set that changes blanks only, each of its edits in one place.
func drawFormatted(t *rapid.T, base string) Set {
	blanks := func(s string) int { return len(s) - len(strings.TrimLeft(s, " \t\r\n")) }
	var s Set
	at := places(base)
	for i := 0; i < len(at); i++ {
		end := at[i] + blanks(base[at[i]:])
		if rapid.IntRange(0, 2).Draw(t, "gap") > 0 {
			if end > at[i] {
				for ; at[i] < end; i++ {
				}
			}
			continue
		}
		e := Edit{at[i], end, rapid.SampledFrom([]string{"", " ", "  ", "\n", "\n\t", "\n\t\t", "\r\n"}).Draw(t, "blanks")}
		for ; i+1 < len(at) && at[i] < end; i++ {
		}
		if base[e.Start:e.End] != e.New {
			s = append(s, e)
		}
	}
	return s
}

// drawEdits returns a set of edits that do not touch, of code.
func drawEdits(t *rapid.T, name, base string) Set {
	var s Set
	at := places(base)
	for from := 0; from < len(at) && len(s) < 3; {
		i := rapid.IntRange(from, min(from+6, len(at)-1)).Draw(t, name)
		j := rapid.IntRange(i, min(i+6, len(at)-1)).Draw(t, name)
		s = append(s, Edit{at[i], at[j], drawCode(t, name, 4)})
		from = j + 1
	}
	return s
}

// TestSameEveryTime does everything twice: no answer may hang on the order of a map.
func TestSameEveryTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, other := drawCode(t, "base", 30), drawCode(t, "other", 30)
		old, new := drawCode(t, "old", 4), drawCode(t, "new", 4)
		theirs, ours := drawFormatted(t, base), drawEdits(t, "ours", base)
		all := func() []any {
			x, y := New(base), New(other)
			found, err := Locate(x, old, new, false)
			return []any{
				Diff(x, y), Minimize(x, ours), Canonical(x, ours), Overwrite(x, other), found, err,
				Rebase(x, ours, theirs), RebaseTheirs(x, theirs, ours),
			}
		}
		if a, b := all(), all(); !reflect.DeepEqual(a, b) {
			t.Fatalf("%+v and %+v", a, b)
		}
	})
}

func TestRebaseTellsEveryConflict(t *testing.T) {
	base := "one two three four"
	r := Rebase(New(base), Set{{0, 3, "1"}, {4, 7, "2"}, {14, 18, "4"}}, Set{{0, 3, "I"}, {14, 18, "IV"}})
	want := []Conflict{
		{Start: 0, End: 3, Base: "one", Ours: "1", Theirs: "I", Rule: RuleOverlap},
		{Start: 14, End: 18, Base: "four", Ours: "4", Theirs: "IV", Rule: RuleOverlap},
	}
	if !slices.Equal(r.Conflicts, want) || r.Set != nil {
		t.Errorf("got %+v", r)
	}
}

func TestSameSpansRefuses(t *testing.T) {
	base, now := New("one two three"), New("zero one two three")
	ours := Set{{4, 7, "2"}}
	if !SameSpans(base, ours, now, Set{{9, 12, "2"}}) {
		t.Error("the right place is refused")
	}
	for _, wrong := range []Set{{{8, 11, "2"}}, {{9, 13, "2"}}, {{4, 7, "2"}}, {{9, 12, "2"}, {13, 14, ""}}} {
		if SameSpans(base, ours, now, wrong) {
			t.Errorf("%v is taken", wrong)
		}
	}
}

// TestMergeOfTexts has both sides as whole texts, so that the edits come from a diff.
func TestMergeOfTexts(t *testing.T) {
	for _, tt := range []struct{ base, ours, theirs, want string }{ // want "!" for a conflict
		{"a b c d", "a X b c d", "a b c Y d", "a X b c Y d"},
		{"a b c d", "a c d", "a b c", "a c"},
		{"a\nb\nc\n", "a\nX\nb\nc\n", "a\nX\nb\nc\n", "a\nX\nb\nc\n"},
		{"a\nb\nc\n", "a\nX\nb\nc\n", "a\nY\nb\nc\n", "a\nY\nX\nb\nc\n"},
		{"a\nb\nc\n", "a\nX\nb\nZ\nc\n", "a\nX\nb\nY\nc\n", "a\nX\nb\nY\nZ\nc\n"},
		{"a\nb\nc\nd\n", "d\n", "a\n", ""},
		{"a\nb\nc\nd\n", "a\nd\n", "a\nb\nX\nd\n", "!"},
		{"a\nb\nc\nd\n", "a\nb\nX\nd\n", "a\nb\nY\nd\n", "!"},
		{"f(a, b)\n", "f(a, b, c)\n", "g(a, b)\n", "g(a, b, c)\n"},
		{"f(a, b)\n", "f(x, b)\n", "f(a, y)\n", "f(x, y)\n"},
		{"f(a, b)\n", "f(x, b)\n", "f(y, b)\n", "!"},
		{"if x {\n\ty()\n}\n", "if x {\n\tz()\n}\n", "if x {\n\t\ty()\n}\n", "if x {\n\t\tz()\n}\n"},
		// reindented and changed
		{"a\nb\n", "a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"},
		// other line ends and changed
		{"one\n", "one\n", "two\n", "two\n"},
		{"", "X\n", "Y\n", "Y\nX\n"},
	} {
		base, theirs := New(tt.base), New(tt.theirs)
		r := Rebase(base, Diff(base, New(tt.ours)), Infer(base, theirs))
		got := "!"
		if len(r.Conflicts) == 0 {
			got = r.Set.Apply(theirs).String()
		}
		if got != tt.want {
			t.Errorf("%q, ours %q, theirs %q: %q, want %q (%+v)", tt.base, tt.ours, tt.theirs, got, tt.want, r)
		}
	}
}

// TestF157EditAfterShift has the user type above and beside an edit that is on its way.
func TestF157EditAfterShift(t *testing.T) {
	base := New("package p\n\nfunc add(a, b int) int { return a - b }\n")
	f, err := Locate(base, "return a - b", "return a + b", false)
	if err != nil {
		t.Fatal(err)
	}
	var keys []Set
	now := base
	for i, c := range "// Package p adds.\n" {
		keys = append(keys, Set{{i, i, string(c)}})
		now = now.Replace(i, i, string(c))
	}
	r := Rebase(base, f.Edits, ComposeAll(keys))
	want := "// Package p adds.\npackage p\n\nfunc add(a, b int) int { return a + b }\n"
	if got := r.Set.Apply(now).String(); got != want || r.SameLine {
		t.Errorf("got %q, %+v", got, r)
	}
}

// Edits that touch become one over the other's text, with a line end of the old text in the middle of the new one: that deletes nothing else.
func TestFindingE10TouchingDeletions(t *testing.T) {
	base := New("\n\n\n\n\n\n\n\n←\n")
	ours := Set{{3, 6, ";\n"}, {7, 12, "①"}}
	theirs := Set{{6, 7, ""}, {12, 12, "─\n"}}
	r := Rebase(base, ours, theirs)
	now := theirs.Apply(base)
	if got := r.Set.Apply(now).String(); len(r.Conflicts) > 0 || got != "\n\n\n;\n①\n─\n" || !SameSpans(base, ours, now, r.Set) {
		t.Errorf("%q by %v, conflicts %v", got, r.Set, r.Conflicts)
	}
	if SameSpans(base, ours, now, Set{{2, 10, ";\n①"}}) || SameSpans(base, ours, now, Set{{3, 10, ""}, {11, 12, ""}}) {
		t.Error("what deletes more is let through")
	}
}

// TestFindingE10EveryPairOfLineEnds: of texts that are line ends alone every pair of edits is merged without a loss, or refused: what is merged
// passes the last check, and all that was put in is there once.
func TestFindingE10EveryPairOfLineEnds(t *testing.T) {
	sets := func(n int, letters string) (out []Set) {
		var all []Edit
		for from := range n + 1 {
			for to := from; to <= n; to++ {
				if all = append(all, Edit{from, to, "x"}); to > from {
					all = append(all, Edit{from, to, ""})
				}
			}
		}
		for _, e := range all {
			e.New = strings.ReplaceAll(e.New, "x", letters[:1])
			out = append(out, Set{e})
			for _, f := range all {
				if f.Start > e.End || f.Start == e.End && e.Start < e.End && f.Start < f.End {
					f.New = strings.ReplaceAll(f.New, "x", letters[1:])
					out = append(out, Set{e, f})
				}
			}
		}
		return out
	}
	merged := 0
	for n := 1; n <= 4; n++ {
		base := New(strings.Repeat("\n", n))
		for _, ours := range sets(n, "AB") {
			for _, theirs := range sets(n, "ab") {
				r := Rebase(base, ours, theirs)
				if len(r.Conflicts) > 0 {
					continue
				}
				merged++
				now := theirs.Apply(base)
				got := r.Set.Apply(now).String()
				if !SameSpans(base, ours, now, r.Set) {
					t.Errorf("%q, ours %v, theirs %v: %v deletes something else", base, ours, theirs, r.Set)
				}
				for _, e := range slices.Concat(ours, theirs) {
					if e.New != "" && strings.Count(got, e.New) != 1 {
						t.Errorf("%q, ours %v, theirs %v: %q", base, ours, theirs, got)
					}
				}
			}
		}
	}
	if merged < 5000 {
		t.Errorf("only %d pairs were merged", merged)
	}
}

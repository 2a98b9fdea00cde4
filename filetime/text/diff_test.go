package text

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func checkDiff(t failer, a, b string) Set {
	s := Diff(New(a), New(b))
	if err := s.Validate(New(a)); err != nil {
		t.Fatalf("%q to %q: %v: %v", a, b, s, err)
	}
	if got := splice(a, s); got != b {
		t.Fatalf("%q to %q: %v gives %q", a, b, s, got)
	}
	for i, e := range s {
		if a[e.Start:e.End] == e.New || i > 0 && s[i-1].End == e.Start {
			t.Fatalf("%q to %q: %v is not minimal", a, b, s)
		}
	}
	return s
}

func TestDiff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawText(t, "a", 25), drawText(t, "b", 25)
		if !slices.Equal(checkDiff(t, a, b), checkDiff(t, a, b)) {
			t.Fatalf("%q to %q is not the same each time", a, b)
		}
		checkDiff(t, a, splice(a, drawSet(t, "s", a, 4)))
	})
}

// TestOneTokenIsTheDiff holds the short way against the long one.
func TestOneTokenIsTheDiff(t *testing.T) {
	t.Parallel()
	short := 0
	rapid.Check(t, func(t *rapid.T) {
		a := drawText(t, "a", 8)
		a = a[:eolEnd(a)]
		b := splice(a, drawSet(t, "s", a, 1))
		b = b[:eolEnd(b)]
		got, ok := oneToken(a, b)
		if !ok || a == b || a == "" || b == "" {
			return
		}
		short++
		d := newDiffer(0)
		ta, tb := d.sequence(a, tokenEnd), d.sequence(b, tokenEnd)
		hunks := d.diff(ta, tb)
		if len(hunks) != 1 {
			t.Fatalf("%q to %q: %v, the long way %v", a, b, got, hunks)
		}
		h := hunks[0]
		if want := (Edit{ta.at(h.a0), ta.at(h.a1), tb.slice(h.b0, h.b1)}); got != want {
			t.Fatalf("%q to %q: %v, the long way %v", a, b, got, want)
		}
	})
	if short < 300 {
		t.Errorf("only %d times", short)
	}
}

func TestDiffOfLargeTexts(t *testing.T) {
	base := source(200_000, 1)
	for _, other := range []string{
		changed(base, 1), changed(base, 300), strings.ToUpper(base), source(200_000, 2), base[5000:] + base[:5000],
		strings.ReplaceAll(base, "\n", "\r\n"), strings.ReplaceAll(base, "\n", "\n\t"), strings.ReplaceAll(base, "\n", ""),
		strings.Repeat("}\n", 50_000), strings.Repeat("}\n\n", 50_000) + base, "", "\x00" + base + "\xff",
	} {
		checkDiff(t, base, other)
		checkDiff(t, other, base)
	}
}

func TestDiffIsFine(t *testing.T) {
	const f = "func f() {\n\treturn\n}\n"
	const g = "func g() {\n\treturn\n}\n"
	for _, tt := range []struct {
		name, a, b string
		want       Set
	}{
		{"one word", "a - b\n", "a + b\n", Set{{2, 3, "+"}}},
		{"one word of a line of several", "x\nfoo(a, b)\ny\n", "x\nfoo(a, c)\ny\n", Set{{9, 10, "c"}}},
		{"words that are the same stay apart", "if a == nil { return b }\n", "if a != nil { return c }\n", Set{{
			5, 6,
			"!",
		}, {21, 22, "c"}}},
		{"blanks do not hold unlike words apart", "alpha beta\n", "gamma delta\n", Set{{0, 10, "gamma delta"}}},
		{"a word between does", "alphabet in beta_gamma\n", "deltadelta in epsilonzz\n", Set{
			{0, 8, "deltadelta"},
			{12, 22, "epsilonzz"},
		}},
		{"a word is not cut", "foobar\n", "foobaz\n", Set{{0, 6, "foobaz"}}},
		{"indentation", "a\n  b\n  c\n", "a\n    b\n    c\n", Set{{2, 4, "    "}, {6, 8, "    "}}},
		{"indentation with a change within", "if x {\n\ta()\n\tb()\n}\n", "if x {\n\t\ta()\n\t\tc()\n}\n", Set{{
			7, 8,
			"\t\t",
		}, {12, 14, "\t\tc"}}},
		{"line end at the end", "a\nb", "a\nb\n", Set{{3, 3, "\n"}}},
		{"line ends", "a\r\nb\r\n", "a\nb\r\n", Set{{1, 3, "\n"}}},
		{"empty", "", "x\n", Set{{0, 0, "x\n"}}},
		{"emptied", "x\n", "", Set{{0, 2, ""}}},

		{"slider: a function added after", f, f + "\n" + g, Set{{21, 21, "\n" + g}}},
		{"slider: a function added before", f + "\n" + g, g + "\n" + f + "\n" + g, Set{{0, 0, g + "\n"}}},
		{"slider: between, with its blank line", f + "\n" + g, f + "\nfunc h() {\n\treturn\n}\n\n" + g, Set{{
			22, 22,
			"func h() {\n\treturn\n}\n\n",
		}}},
		{"slider: repeated line goes down", "a\na\nb\n", "a\na\na\nb\n", Set{{4, 4, "a\n"}}},
		{"slider: deleted repeated line", "a\na\na\nb\n", "a\na\nb\n", Set{{4, 6, ""}}},
		{"slider: a blank line ends it", "h\n\nfoo\nend\n", "h\n\nfoo\n\nfoo\nend\n", Set{{3, 3, "foo\n\n"}}},
		{"slider: argument", "f(a, c)", "f(a, b, c)", Set{{5, 5, "b, "}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := checkDiff(t, tt.a, tt.b); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestF258DiffIsBounded has texts for which a plain shortest edit script takes forever.
func TestF258DiffIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	noise := func(n int, of string) string {
		var b strings.Builder
		for range n {
			b.WriteByte(of[r.IntN(len(of))])
		}
		return b.String()
	}
	checkDiff(t, noise(1<<20, "a \n"), noise(1<<20, "a \n"))
	checkDiff(t, noise(300_000, "(),;"), noise(300_000, "(),;"))
	checkDiff(t, strings.Repeat("a\nb\n", 100_000), strings.Repeat("b\nc\na\n", 80_000))
}

func TestInfers(t *testing.T) {
	base := New("0123456789")
	for _, tt := range []struct {
		s    Set
		want bool
	}{
		{Set{{0, 10, "x"}}, true},
		{Set{{2, 8, ""}}, true},
		{Set{{0, 5, "x"}}, false},
		{Set{{0, 5, "x"}, {5, 10, "y"}}, false},
		{Set{{0, 0, "a very long insertion"}}, false},
	} {
		if got := Infers(base, tt.s); got != tt.want {
			t.Errorf("%v: %v", tt.s, got)
		}
	}
	if Infers(Text{}, Set{{0, 0, "x"}}) {
		t.Error("text typed into an empty document is taken for a replacement")
	}
}

func TestMinimize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := drawText(t, "base", 20)
		s := drawSet(t, "s", base, 3)
		m := Minimize(New(base), s)
		if err := m.Validate(New(base)); err != nil {
			t.Fatal(err)
		}
		if got, want := splice(base, m), splice(base, s); got != want {
			t.Fatalf("%v became %v: %q, want %q", s, m, got, want)
		}
	})
	base := "a\nb\nc\n"
	if got := Minimize(New(base), Set{{0, 6, "a\nx\nc\n"}}); !slices.Equal(got, Set{{2, 3, "x"}}) {
		t.Errorf("got %v", got)
	}
}

// TestMergeLikeGit has two people change a text and compares with git merge-file: a
// merge that git makes, we make too, and with the same result.
func TestMergeLikeGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not here")
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(5, 5))
	clean, same, more := 0, 0, 0
	for i := range 120 {
		lines := make([]string, 12+r.IntN(20))
		for k := range lines {
			lines[k] = fmt.Sprintf("line %d of %d words %d\n", k, i, r.IntN(1000))
		}
		edit := func(who string) string {
			out := slices.Clone(lines)
			for range 1 + r.IntN(3) {
				k := r.IntN(len(out))
				switch r.IntN(3) {
				case 0:
					out[k] = strings.Replace(out[k], "words", who, 1)
				case 1:
					out[k] += who + fmt.Sprintf(" adds %d\n", r.IntN(1000))
				default:
					out[k] = ""
				}
			}
			return strings.Join(out, "")
		}
		base, ours, theirs := strings.Join(lines, ""), edit("agent"), edit("user")
		var names []string
		for name, s := range map[string]string{"1theirs": theirs, "2base": base, "3ours": ours} {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
				t.Fatal(err)
			}
			names = append(names, path)
		}
		slices.Sort(names)
		want, gitErr := exec.Command(git, "merge-file", "-p", names[0], names[1], names[2]).Output()
		x := New(base)
		rb := Rebase(x, Diff(x, New(ours)), Diff(x, New(theirs)))
		if gitErr != nil {
			if len(rb.Conflicts) == 0 {
				more++
			}
			continue
		}
		clean++
		if len(rb.Conflicts) > 0 {
			t.Errorf("case %d: git merges, we do not: %+v", i, rb.Conflicts)
		} else if got := rb.Set.Apply(New(theirs)).String(); !bytes.Equal([]byte(got), want) {
			t.Errorf("case %d: base %q, ours %q, theirs %q: got %q, git %q", i, base, ours, theirs, got, want)
		} else {
			same++
		}
	}
	t.Logf("git merged %d of 120, %d with our result; we merged %d more", clean, same, more)
	if clean < 20 {
		t.Error("too few merges to mean anything")
	}
}

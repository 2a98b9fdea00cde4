package text

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// turnedInto is the edits that make one text of another.
func turnedInto(base, after string) Set { return Diff(New(base), New(after)) }

// TestFaultE11TypedBlocks has a person press Enter at the end of a line and type lines of their own, while the agent adds
// lines below the same line: what each of them wrote stays beside what it was written for.
func TestFaultE11TypedBlocks(t *testing.T) {
	const code, alsoIf = "if (a) {\n  x();\n}\n\nz();\n", "\n\nif (u) {\n  y();\n}"
	const withElse = "if (a) {\n  x();\n}\nelse {\n  w();\n}\n\nz();\n"
	checkMeetings(t, []meeting{
		{
			name: "an else, and a block behind a blank line", base: code, ours: turnedInto(code, withElse), theirs: Set{{17, 17, alsoIf}},
			want: "if (a) {\n  x();\n}\nelse {\n  w();\n}\n\nif (u) {\n  y();\n}\n\nz();\n",
		},
		{
			name: "the same, typed below the blank line", base: code, ours: turnedInto(code, withElse),
			theirs: Set{{19, 19, "if (u) {\n  y();\n}\n\n"}},
			want:   "if (a) {\n  x();\n}\nelse {\n  w();\n}\n\nif (u) {\n  y();\n}\n\nz();\n",
		},
		{
			name: "typed from the blank line on", base: code, ours: turnedInto(code, withElse), theirs: Set{{18, 18, "\nif (u) {\n  y();\n}\n"}},
			want: "if (a) {\n  x();\n}\nelse {\n  w();\n}\n\nif (u) {\n  y();\n}\n\nz();\n",
		},
		{
			name: "it is the agent's insertion that begins with a line end", base: code,
			ours: Set{{17, 17, alsoIf}}, theirs: Set{{18, 18, "else {\n  w();\n}\n"}},
			want: "if (a) {\n  x();\n}\nelse {\n  w();\n}\n\nif (u) {\n  y();\n}\n\nz();\n",
		},
		{
			name: "items of a list", base: "- a\n- b\n\n# z\n", ours: Set{{8, 8, "- agent\n"}}, theirs: Set{{7, 7, "\n\n# mine\n\ntext"}},
			want: "- a\n- b\n- agent\n\n# mine\n\ntext\n\n# z\n",
		},
		{
			name: "CRLF", base: "a\r\n\r\nz\r\n", ours: Set{{3, 3, "b\r\n"}}, theirs: Set{{1, 1, "\r\n\r\nmine"}},
			want: "a\r\nb\r\n\r\nmine\r\n\r\nz\r\n",
		},
		{
			name: "nothing but Enter", base: "a\n\nz\n", ours: Set{{2, 2, "b\n"}}, theirs: Set{{1, 1, "\n"}}, want: "a\nb\n\n\nz\n",
		},
		{
			name: "at the end", base: "a\n", ours: Set{{1, 1, ";"}}, theirs: Set{{1, 1, "\nmine"}}, want: "a;\nmine\n",
		},
		{
			name: "at the end, without a line end", base: "a", ours: Set{{1, 1, ";"}}, theirs: Set{{1, 1, "\nmine"}}, want: "a;\nmine",
			sameLine: true,
		},
		{
			name: "a sign at the end of the line before", base: "a\nz\n", ours: Set{{1, 1, ";"}}, theirs: Set{{1, 1, "\nmine"}},
			want: "a;\nmine\nz\n",
		},
		{
			name: "a word before the line below", base: "a\nz\n", ours: Set{{2, 2, "- "}}, theirs: Set{{1, 1, "\nmine"}}, want: "a\nmine\n- z\n",
		},
		{
			name: "both typed on the line of an equal one", base: "f(a)\nf(b)\n", ours: Set{{5, 5, "g()\n"}}, theirs: Set{{2, 2, "x)\nf("}},
			want: "f(x)\nf(a)\ng()\nf(b)\n",
		},
		{
			name: "past an edit of one's own further up", base: "a\n\nz\n", ours: Set{{2, 2, "b\n"}}, theirs: Set{{0, 1, "A"}, {1, 1, "\n\nmine"}},
			want: "A\nb\n\nmine\n\nz\n",
		},
		{
			name: "not into what the agent deletes", base: "a\n\nb\nz\n", ours: Set{{1, 5, ""}, {5, 5, "c\n"}}, theirs: Set{{3, 3, "mine\n"}},
			rule: RuleOverlap,
		},
	})
}

// TestFaultE11OrderOfATie has the insertions still meet at one point. Blank lines, and lines that go on with a block, say
// which of them belongs to the line above.
func TestFaultE11OrderOfATie(t *testing.T) {
	const fn = "def agent():\n    pass\n\n"
	checkMeetings(t, []meeting{
		{
			name: "no blank line below", base: "}\nz\n", ours: Set{{2, 2, "else {\n}\n"}}, theirs: Set{{1, 1, "\n\nif (u) {\n}"}},
			want: "}\nelse {\n}\n\nif (u) {\n}\nz\n",
		},
		{
			name: "at the end of the text", base: "}", ours: Set{{1, 1, "\nelse {\n}"}}, theirs: Set{{1, 1, "\n\nif (u) {\n}"}},
			want: "}\nelse {\n}\n\nif (u) {\n}", sameLine: true,
		},
		{
			name: "a plain line behind the same block", base: "}\n\nz\n", ours: Set{{2, 2, "else {\n}\n"}}, theirs: Set{{1, 1, "\nmine();"}},
			want: "}\nelse {\n}\nmine();\n\nz\n",
		},
		{
			name: "the user goes on with the block", base: "}\n\nz\n", ours: Set{{2, 2, "w();\n"}}, theirs: Set{{1, 1, "\nelse {\n}"}},
			want: "}\nelse {\n}\nw();\n\nz\n",
		},
		{
			name: "a paragraph of the user's", base: "a\nz\n", ours: Set{{2, 2, "more\n"}}, theirs: Set{{2, 2, "\nmine\n"}}, want: "a\nmore\n\nmine\nz\n",
		},
		{
			name: "a decorator above a function, below a blank line", base: "x\n\ndef z():\n", ours: Set{{3, 3, fn}}, theirs: Set{{3, 3, "@cached\n"}},
			want: "x\n\n" + fn + "@cached\ndef z():\n",
		},
		{
			name: "a decorator at the start", base: "def z():\n", ours: Set{{0, 0, fn}}, theirs: Set{{0, 0, "@cached\n"}},
			want: fn + "@cached\ndef z():\n",
		},
		{
			name: "a function of the user's", base: "x\n\ndef z():\n", ours: Set{{3, 3, fn}}, theirs: Set{{3, 3, "def mine():\n    run()\n\n"}},
			want: "x\n\ndef mine():\n    run()\n\n" + fn + "def z():\n",
		},
		{
			name: "lines of a block", base: "{\n}\n", ours: Set{{2, 2, "  agent();\n"}}, theirs: Set{{1, 1, "\n  mine();"}},
			want: "{\n  mine();\n  agent();\n}\n",
		},
	})
}

// TestFaultE16Parted has the agent's lines come between a line that the person typed and the one that this belongs to.
func TestFaultE16Parted(t *testing.T) {
	const block, call = "f() {\n  a();\n}\n", "  agent();\n"
	parted := func(name, base string, at int, ours, theirs string) meeting {
		return meeting{name: name, base: base, ours: Set{{at, at, ours}}, theirs: Set{{at, at, theirs}}, rule: RuleParted}
	}
	list := []meeting{
		parted("return at the end of a block", block, 13, call, "  return 1;\n"),
		parted("throw", block, 13, call, "  throw e;\n"),
		parted("return before a blank line", "def f():\n    a()\n\nz()\n", 17, "    agent()\n", "    return 1\n"),
		{
			name: "a function behind a return", base: "def f():\n    a()\n\nz()\n", ours: Set{{17, 17, "def g():\n    b()\n"}},
			theirs: Set{{17, 17, "    return 1\n"}}, want: "def f():\n    a()\n    return 1\ndef g():\n    b()\n\nz()\n",
		},
		{
			name: "the next case", base: "switch x {\ncase 1:\n\ta()\n}\n", ours: Set{{24, 24, "case 2:\n\tb()\n"}}, theirs: Set{{24, 24, "\tbreak\n"}},
			want: "switch x {\ncase 1:\n\ta()\n\tbreak\ncase 2:\n\tb()\n}\n",
		},
		{
			name: "a comment with a blank line below", base: block, ours: Set{{6, 6, call}}, theirs: Set{{6, 6, "  // said\n\n"}},
			want: "f() {\n  // said\n\n" + call + "  a();\n}\n",
		},
		{
			name: "two decorators", base: "x\ndef z():\n", ours: Set{{2, 2, "@agent\n"}}, theirs: Set{{2, 2, "@cached\n"}},
			want: "x\n@cached\n@agent\ndef z():\n",
		},
	}
	for _, line := range []string{
		"@cached", "#[test]", "[Fact]", "// said", "# said", "/* said */", "<!-- said -->", "-- said", "; said", "if (b) {", "if b:", "x = \\",
	} {
		list = append(list, parted(line, "x();\nz();\n", 5, "agent();\n", line+"\n"))
	}
	checkMeetings(t, list)
}

// TestFaultE16Ties has those ties told, and no others, whose order the texts do not say, each with the places of both in the
// merged text.
func TestFaultE16Ties(t *testing.T) {
	for _, tt := range []struct {
		name, base   string
		ours, theirs Set
		want         []string // the user's and the agent's of each tie
	}{
		{"lines", "a\nz\n", Set{{2, 2, "agent\n"}}, Set{{1, 1, "\nmine"}}, []string{"mine\n", "agent\n"}},
		{"the agent's first", "}\nz\n", Set{{2, 2, "else\n"}}, Set{{1, 1, "\n\nif"}}, []string{"\nif\n", "else\n"}},
		{"within a line", "()", Set{{1, 1, "-"}}, Set{{1, 1, "+"}}, []string{"+", "-"}},
		{"behind an insertion further up", "a\nz\n", Set{{0, 0, "0"}, {2, 2, "agent\n"}}, Set{{1, 1, "\nmine"}}, []string{"mine\n", "agent\n"}},
		{
			"behind a line end that is kept", "a\nb\nz\n",
			Set{{1, 2, ""}, {4, 4, "agent\n"}},
			Set{{1, 1, ";"}, {4, 4, "mine\n"}},
			[]string{"mine\n", "agent\n"},
		},
		{"two", "a\nb\nc\n", Set{{2, 2, "1\n"}, {4, 4, "2\n"}}, Set{{2, 2, "3\n"}, {4, 4, "4\n"}}, []string{"3\n", "1\n", "4\n", "2\n"}},
		{"on an empty line", "a\n\nz\n", Set{{2, 2, "agent\n"}}, Set{{2, 2, "mine"}}, []string{"mine", "agent\n"}},

		{"a line and a part of the next", "a\nz\n", Set{{2, 2, "agent\n"}}, Set{{2, 2, "// "}}, nil},
		{"a line and a part of the one before", "a\nz\n", Set{{1, 1, ";"}}, Set{{1, 1, "\nmine"}}, nil},
		{"a block behind the blank line", "}\n\nz\n", Set{{2, 2, "else\n"}}, Set{{1, 1, "\n\nif"}}, nil},
		{"the same", "a\nz\n", Set{{2, 2, "x\n"}}, Set{{1, 1, "\nx"}}, nil},
		{"beside a replacement", "a\nz\n", Set{{2, 3, "Z"}}, Set{{2, 2, "mine\n"}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := New(tt.base)
			r, m := Rebase(base, tt.ours, tt.theirs), RebaseTheirs(base, tt.theirs, tt.ours)
			if len(r.Conflicts) > 0 || !slices.Equal(r.Ties, m.Ties) {
				t.Fatalf("%+v and %+v", r, m)
			}
			after := r.Set.Apply(tt.theirs.Apply(base))
			var got []string
			for _, tie := range r.Ties {
				got = append(got, after.Slice(tie.Theirs.Start, tie.Theirs.End), after.Slice(tie.Ours.Start, tie.Ours.End))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q: got %q, want %q", after, got, tt.want)
			}
		})
	}
}

// TestFaultE11WhereverItIsTyped types the same lines at each place at which they make the same text: the merge does not
// depend on it.
func TestFaultE11WhereverItIsTyped(t *testing.T) {
	t.Parallel()
	moved, met := 0, 0
	line := rapid.SampledFrom([]string{"", "", "}", "a", "b", "else"})
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, least int) string {
			return strings.Join(rapid.SliceOfN(line, least, 5).Draw(t, name), "\n") + "\n"
		}
		base := draw("base", 0)
		x := New(base)
		insertion := func(name string) Edit {
			at := x.LineStart(rapid.IntRange(0, x.LineCount()-1).Draw(t, name))
			return Edit{at, at, draw(name, 1)}
		}
		ours := Set{insertion("ours")}
		theirs := insertion("theirs")
		want := Rebase(x, ours, Set{theirs})
		if len(want.Conflicts) > 0 {
			met++
			return
		}
		after := theirs
		text := want.Set.Apply(Set{theirs}.Apply(x))
		for off := range len(base) + 1 {
			s, ok := stands(base, theirs, off)
			if !ok || off == theirs.Start {
				continue
			}
			moved++
			after = Edit{off, off, s}
			got := Rebase(x, ours, Set{after})
			if len(got.Conflicts) > 0 || !got.Set.Apply(Set{after}.Apply(x)).Equal(text) {
				t.Fatalf("%q, ours %v: theirs %v give %q, %v give %+v", base, ours, theirs, text, after, got)
			}
		}
	})
	if moved < 1000 || met == 0 {
		t.Errorf("%d other places, %d conflicts: too few to mean anything", moved, met)
	}
}

// typedWithEnter is a set whose insertions of lines are typed at the end of the line before, as most are.
func typedWithEnter(base Text, s Set) (Set, int) {
	out, n := slices.Clone(s), 0
	for i, e := range out {
		before := e.Start - 1
		if e.Start < e.End || before < 0 || !strings.HasSuffix(e.New, "\n") || base.Slice(before, e.Start) != "\n" || i > 0 && out[i-1].End > before {
			continue
		}
		out[i] = Edit{before, before, "\n" + strings.TrimSuffix(e.New, "\n")}
		n++
	}
	return out, n
}

// TestFaultE11TypedIntoRealFiles has a person type lines into files of Go's library, each block with Enter at the end of a
// line, and compares with git merge-file.
func TestFaultE11TypedIntoRealFiles(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not here")
	}
	dir := t.TempDir()
	clean, same, typed := 0, 0, 0
	for i, base := range corpus(t, 250, 5) {
		r := rand.New(rand.NewPCG(uint64(i), 6))
		hot := r.IntN(strings.Count(base, "\n"))
		edit := func(who string) string {
			a, lines := author{r, who}, strings.SplitAfter(base, "\n")
			for range 1 + r.IntN(4) {
				at := min(max(0, hot+r.IntN(5)-2), len(lines)-1)
				block := []string{a.line(), fmt.Sprintf("\tif %s {\n", a.word()), a.line(), "\t}\n"}[r.IntN(4):]
				if r.IntN(2) == 0 {
					block = append([]string{"\n"}, block...)
				}
				lines = slices.Insert(lines, at, block...)
			}
			return strings.Join(lines, "")
		}
		ours, theirs := edit("agent"), edit("user")
		want, conflicts := gitMerge(t, git, dir, base, ours, theirs)
		x := New(base)
		b, n := typedWithEnter(x, Infer(x, New(theirs)))
		m := Rebase(x, Diff(x, New(ours)), b)
		if conflicts > 0 {
			continue
		}
		clean++
		typed += n
		if len(m.Conflicts) == 0 && m.Set.Apply(New(theirs)).String() == want {
			same++
		} else {
			t.Logf("file %d: git merges otherwise: %+v", i, m)
		}
	}
	t.Logf("of %d merges %d are as git's, with %d blocks typed at the end of a line", clean, same, typed)
	if clean < 50 || typed < 50 {
		t.Error("too few to mean anything")
	}
	if float64(same) < 0.99*float64(clean) {
		t.Errorf("the same result in %d of %d files", same, clean)
	}
}

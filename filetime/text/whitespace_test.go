package text

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var golang = Rules{Whitespace: true, Language: "go"}

// edit1 returns the edit that puts new in the place of the only old in base.
func edit1(t *testing.T, base, old, new string) Edit {
	t.Helper()
	if strings.Count(base, old) != 1 {
		t.Fatalf("%q is not once in %q", old, base)
	}
	i := strings.Index(base, old)
	return Edit{i, i + len(old), new}
}

// TestWhitespaceRule has the agent replace old by new while theirs was made of base.
func TestWhitespaceRule(t *testing.T) {
	const f = "func f() {\n\tone()\n\ttwo()\n\tthree()\n}\n"
	for _, tt := range []struct {
		name, language, base, old, new, theirs string
		want                                   string // "" for a conflict
	}{
		{
			"indented deeper", "go", f, "one()\n\ttwo()\n", "1()\n\tif x {\n\t\t2()\n\t}\n",
			"func f() {\n\t\tone()\n\t\ttwo()\n\t\tthree()\n}\n",
			"func f() {\n\t\t1()\n\t\tif x {\n\t\t\t2()\n\t\t}\n\t\tthree()\n}\n",
		},
		{
			"whole lines, indented deeper", "go", f, "\tone()\n\ttwo()\n", "\t1()\n\n\t2()\n",
			"func f() {\n\t\tone()\n\t\ttwo()\n\t\tthree()\n}\n", "func f() {\n\t\t1()\n\n\t\t2()\n\t\tthree()\n}\n",
		},
		{
			"less indented", "java", "{\n    one();\n    two();\n}\n", "one();\n    two();", "one();\n    {\n      2();\n    }",
			"{\n  one();\n  two();\n}\n", "{\n  one();\n  {\n    2();\n  }\n}\n",
		},
		{
			"other line ends", "go", f, "one()\n\ttwo()\n", "1()\n\t2()\n\t3()\n", strings.ReplaceAll(f, "\n", "\r\n"),
			"func f() {\r\n\t1()\r\n\t2()\r\n\t3()\r\n\tthree()\r\n}\r\n",
		},
		{
			"to plain line ends", "c", "{\r\n\ta();\r\n\tb();\r\n}\r\n", "a();\r\n\tb();", "x();\r\n\ty();",
			"{\n\ta();\n\tb();\n}\n", "{\n\tx();\n\ty();\n}\n",
		},
		{"within a line", "go", "x:=f(a,b)\n", "a,b", "c, d", "x := f(a, b)\n", "x := f(c, d)\n"},
		{"beside is kept", "go", "x:=f(a,b);y:=1\n", "f(a,b)", "g()", "x := f(a, b);  y := 1\n", "x := g();  y := 1\n"},
		{"a line broken", "json", `{"a": [1,2,3]}`, "1,2,3", "4", "{\n  \"a\": [1,\n2,\n3]\n}", "{\n  \"a\": [4]\n}"},
		{"lines joined", "c", "f(a,\n  b);\n", "a,\n  b", "c", "f(a, b);\n", "f(c);\n"},
		{
			"deleted by the agent", "go", f, "\tone()\n\ttwo()\n", "", strings.ReplaceAll(f, "\t", "\t\t"),
			"func f() {\n\t\tthree()\n}\n",
		},
		{
			"blank line put in", "go", f, "one()\n\ttwo()", "1()\n\t2()", strings.Replace(f, "one()\n", "one()\n\n", 1),
			"func f() {\n\t1()\n\t2()\n\tthree()\n}\n",
		},
		{
			"after a comment", "go", "{\n\ta() // c\n\tb()\n}\n", "a() // c\n\tb()", "x()\n\ty()",
			"{\n\t\ta() // c\n\t\tb()\n}\n",
			"{\n\t\tx()\n\t\ty()\n}\n",
		},

		{"a word typed too", "go", "x:=f(a,b)\n", "a,b", "c, d", "x := f(a, bb)\n", ""},
		{"a word split", "go", "f(ab, c)\n", "ab, c", "d", "f(a b, c)\n", ""},
		{"words joined", "go", "f(a b, c)\n", "a b, c", "d", "f(ab, c)\n", ""},
		{"an operator made", "c", "f(a - -b)\n", "a - -b", "d", "f(a --b)\n", ""},
		{"a number made", "go", "f(a, 1 .5)\n", "a, 1 .5", "d", "f(a, 1.5)\n", ""},
		{"in a string", "go", "f(a, \"b c\")\n", "a, \"b c\"", "d", "f(a, \"b  c\")\n", ""},
		{"in a raw string", "go", "f(a, `\nb\n`)\n", "a, `\nb\n`", "d", "f(a, `\n\tb\n`)\n", ""},
		{
			"in a text block", "java", "f(a, \"\"\"\n \"b\n\"\"\")\n", "a, \"\"\"\n \"b\n\"\"\"", "d",
			"f(a, \"\"\"\n  \"b\n\"\"\")\n", "",
		},
		{"in a rune", "go", "f(a, ' ')\n", "a, ' '", "d", "f(a, '  ')\n", ""},
		{"in a comment", "go", "f(a, // b c\n)\n", "a, // b c", "d", "f(a, // b  c\n)\n", ""},
		{"at the end of a comment", "go", "f(a, // b\n)\n", "a, // b\n", "d", "f(a, // b  \n)\n", ""},
		{"code made a comment", "c", "f(a // b\n, c)\n", "a // b\n, c", "d", "f(a // b, c)\n", ""},
		{"in a block comment", "c", "f(a, /* b c */ x)\n", "a, /* b c */", "d", "f(a, /* b  c */ x)\n", ""},
		{"in a macro", "c", "#define F(a,b) a\n", "F(a,b)", "G(a,b)", "#define F(a, b) a\n", ""},
		{"after a raw string of C++", "cpp", "s = R\"(\")\"; f(a,b)\n", "a,b", "d", "s = R\"(\")\"; f(a, b)\n", ""},
		{"after a string without end", "go", "x := \"\nf(a,b)\n", "a,b", "d", "x := \"\nf(a, b)\n", ""},
		{"blanks on both sides", "go", "f(a,b,c)\n", "a,b,c", "a, b, c", "f(a,b,  c)\n", ""},
		{"reaches out of the edit", "go", "f(a,    b)\n", "a,  ", "d,", "f(a, b)\n", ""},
		{
			"lines moved in different ways", "go", f, "one()\n\ttwo()\n\tthree()", "x()",
			"func f() {\n\tone()\n\t\ttwo()\n\t\t\tthree()\n}\n", "",
		},
		{"tabs made blanks", "go", f, "one()\n\ttwo()", "x()\n\ty()", strings.ReplaceAll(f, "\t", "    "), ""},
		{"put into deleted blanks", "go", "a()      b\n", "", "x", "a() b\n", ""},

		{"python", "python", "f(a,b)\n", "a,b", "c", "f(a, b)\n", ""},
		{"yaml", "yaml", "[a,b]\n", "a,b", "c", "[a, b]\n", ""},
		{"make", "makefile", "f(a,b)\n", "a,b", "c", "f(a, b)\n", ""},
		{"haskell", "haskell", "f(a,b)\n", "a,b", "c", "f(a, b)\n", ""},
		{"markdown", "markdown", "f(a,b)\n", "a,b", "c", "f(a, b)\n", ""},
		{"F#", "fsharp", "f(a,b)\n", "a,b", "c", "f(a, b)\n", ""},
		{"unknown", "", "f(a,b)\n", "a,b", "c", "f(a, b)\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, now := New(tt.base), New(tt.theirs)
			rules := Rules{Whitespace: true, Language: tt.language}
			ours, theirs := Set{{5, 5, tt.new}}, Infer(base, now)
			if tt.old != "" {
				ours = Set{edit1(t, tt.base, tt.old, tt.new)}
			}
			if r := Rebase(base, ours, theirs); len(r.Conflicts) == 0 {
				t.Fatalf("there is no conflict to begin with: %+v", r)
			}
			if off := (Rules{Language: tt.language}).Rebase(base, ours, theirs); len(off.Conflicts) == 0 {
				t.Fatalf("the rule works without its switch: %+v", off)
			}
			r := rules.Rebase(base, ours, theirs)
			if tt.want == "" {
				if len(r.Conflicts) == 0 {
					t.Fatalf("got %q", r.Set.Apply(now).String())
				}
				checkConflicts(t, tt.base, r)
				return
			}
			if got := r.Set.Apply(now).String(); got != tt.want || r.Reformatted != 1 {
				t.Fatalf("got %q, %+v", got, r)
			}
			m := rules.Mirror(base, theirs, ours)
			if got := m.Set.Apply(ours.Apply(base)).String(); got != tt.want {
				t.Errorf("mirrored %q", got)
			}
			if !rules.SameSpans(base, ours, now, r.Set) {
				t.Error("its own result is refused")
			}
			if wrong := (Set{{0, 1, ""}}); rules.SameSpans(base, ours, now, wrong) {
				t.Error("another deletion is taken")
			}
		})
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
	var s Set
	at := places(base)
	for i := 0; i < len(at); i++ {
		end := at[i] + blankRun(base[at[i]:])
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

// TestWhitespaceRuleChangesNothingElse compares with the same merge without the rule.
func TestWhitespaceRuleChangesNothingElse(t *testing.T) {
	t.Parallel()
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		base := drawCode(t, "base", 20)
		theirs := drawFormatted(t, base)
		if rapid.Bool().Draw(t, "typed") {
			theirs = Compose(theirs, drawEdits(t, "theirs", splice(base, theirs)))
		}
		ours := drawEdits(t, "ours", base)
		x := New(base)
		plain := Rebase(x, ours, theirs)
		for _, language := range []string{"python", "yaml", "makefile", "haskell", "markdown", "fsharp", "", "other"} {
			if r := (Rules{true, language}).Rebase(x, ours, theirs); !reflect.DeepEqual(r, plain) {
				t.Fatalf("%s: %+v, without the rule %+v", language, r, plain)
			}
		}
		r := golang.Rebase(x, ours, theirs)
		if len(plain.Conflicts) == 0 || len(r.Conflicts) > 0 {
			if len(plain.Conflicts) == 0 && !reflect.DeepEqual(r, plain) {
				t.Fatalf("%q: %+v, without the rule %+v", base, r, plain)
			}
			return
		}
		taken++
		for _, c := range plain.Conflicts {
			if c.Rule != RuleOverlap || squeeze(c.Theirs) != squeeze(c.Base) || squeeze(c.Ours) == squeeze(c.Base) {
				t.Fatalf("the conflict %+v is gone", c)
			}
		}
		now := theirs.Apply(x)
		if err := r.Set.Validate(now); err != nil {
			t.Fatal(err)
		}
		got := r.Set.Apply(now).String()
		if m := golang.Mirror(x, theirs, ours).Set.Apply(ours.Apply(x)).String(); m != got {
			t.Fatalf("%q: ours %v, theirs %v: %q and %q", base, ours, theirs, got, m)
		}
		if !golang.SameSpans(x, ours, now, r.Set) {
			t.Fatalf("%q: ours %v, theirs %v: %v deletes other text", base, ours, theirs, r.Set)
		}
		// But for blanks it is what comes out when the user has changed no blanks.
		var typed Set
		for _, e := range Compose(theirs, nil) {
			if squeeze(base[e.Start:e.End]) != squeeze(e.New) {
				typed = append(typed, e)
			}
		}
		want := Rebase(x, ours, typed)
		if len(want.Conflicts) > 0 || squeeze(want.Set.Apply(typed.Apply(x)).String()) != squeeze(got) {
			t.Fatalf("%q: ours %v, theirs %v: %q, without blanks %+v", base, ours, theirs, got, want)
		}
	})
	t.Logf("%d conflicts less", taken)
	if taken < 30 {
		t.Errorf("only %d times: too few to mean anything", taken)
	}
}

// TestWhitespaceRuleStaysInItsEdits sees that of what the user has, only what the agent
// replaces goes away.
func TestWhitespaceRuleStaysInItsEdits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := drawCode(t, "base", 20)
		var theirs Set
		for _, e := range drawFormatted(t, base) {
			theirs = append(theirs, trim(New(base), e))
		}
		ours := drawEdits(t, "ours", base)
		r := golang.Rebase(New(base), ours, theirs)
		if len(r.Conflicts) > 0 || r.Reformatted == 0 {
			return
		}
		now := splice(base, theirs)
		for _, e := range r.Set {
			for at := e.Start; at < e.End || at == e.Start; at++ {
				end := min(at+1, e.End)
				inside := slices.ContainsFunc(ours, func(o Edit) bool {
					return theirs.MapPos(o.Start, false) <= at && end <= theirs.MapPos(o.End, true)
				})
				if !inside && now[e.Start:e.End] != e.New {
					t.Fatalf("%q: ours %v, theirs %v: %v", base, ours, theirs, r.Set)
				}
			}
		}
	})
}

// TestWhitespaceRuleNotInStrings has everything happen in a string, then in a comment.
func TestWhitespaceRuleNotInStrings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := strings.NewReplacer("`", "", "/", "", "\\", "").Replace(drawCode(t, "text", 20)) + "."
		for _, around := range [][2]string{{"x := `.", "`\n"}, {"/*.", "*/\n"}} {
			base := around[0] + in + around[1]
			n := len(around[0])
			shift := func(s Set) Set {
				var out Set
				for _, e := range s {
					out = append(out, Edit{e.Start + n, e.End + n, e.New})
				}
				return out
			}
			theirs, ours := shift(drawFormatted(t, in)), shift(drawEdits(t, "ours", in))
			if x := New(base); !reflect.DeepEqual(golang.Rebase(x, ours, theirs), Rebase(x, ours, theirs)) {
				t.Fatalf("%q: ours %v, theirs %v", base, ours, theirs)
			}
		}
	})
}

package text

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestF155EditUnique(t *testing.T) {
	for _, tt := range []struct {
		name           string
		text, old, new string
		want           string
		tier           int
		lines          []int
	}{
		{"word", "a b c\n", "b", "x", "a x c\n", TierExact, []int{1}},
		{"lines", "a\nb\nc\nd\n", "b\nc\n", "x\n", "a\nx\nd\n", TierExact, []int{2}},
		{"deleted", "a\nb\nc\n", "b\n", "", "a\nc\n", TierExact, []int{2}},
		{"last line without its end", "a\nb", "b", "x", "a\nx", TierExact, []int{2}},
		{"last line given one", "a\nb", "b", "x\n", "a\nx\n", TierExact, []int{2}},
		{
			"part of a line to part of a line", "one two\nthree four\n", "two\nthree", "2\n3", "one 2\n3 four\n",
			TierExact,
			[]int{1},
		},
		{"NUL and invalid bytes around", "\x00\xff a \xfe\r\n", "a", "b", "\x00\xff b \xfe\r\n", TierExact, []int{1}},

		{"F093 CRLF", "a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", "a\r\nx\r\ny\r\nc\r\n", TierLineEnds, []int{1}},
		{"F093 CRLF, quoted as CRLF", "a\r\nb\r\nc\r\n", "b\r\n", "x\r\ny\r\n", "a\r\nx\r\ny\r\nc\r\n", TierExact, []int{2}},
		{"F093 one line of a CRLF file", "a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n", TierExact, []int{2}},
		{"F093 CRLF quotation, LF file", "a\nb\nc\n", "a\r\nb\r\n", "x\r\nb\r\n", "x\nb\nc\n", TierLineEnds, []int{1}},
		{"F093 line end joined away", "a\r\nb\r\n", "a\nb", "a b", "a b\r\n", TierLineEnds, []int{1}},
		{
			"F093 mixed: unchanged lines keep theirs", "a\nb\r\nc\nd\r\n", "b\nc\nd\n", "b\nx\nd\n", "a\nb\r\nx\nd\r\n",
			TierLineEnds,
			[]int{2},
		},
		{
			"F093 mixed: new lines take that of the first", "a\nb\r\nc\n", "b\nc", "b\nx\nc", "a\nb\r\nx\r\nc\n",
			TierLineEnds,
			[]int{2},
		},
		{"F093 last line takes that of the one before", "a\r\nb", "b", "b\nc", "a\r\nb\r\nc", TierExact, []int{2}},
		{"F093 lone CR", "a\rb\rc\r", "a\nb\n", "a\nx\ny\n", "a\rx\ry\rc\r", TierLineEnds, []int{1}},
		{"F093 stray CR elsewhere stays", "a\rb\nc\n", "c", "d", "a\rb\nd\n", TierExact, []int{2}},
		{"F093 CR quoted", "a\rb\nc\n", "a\rb", "a\rx", "a\rx\nc\n", TierExact, []int{1}},
		{"F093 CRs tell the place", "a\r\nb\na\nb\n", "a\r\nb", "x\r\nb", "x\r\nb\na\nb\n", TierExact, []int{1}},
		{"BOM", bom + "a\nb\n", "a\n", "x\n", bom + "x\nb\n", TierExact, []int{1}},
		{"BOM quoted", bom + "a\nb\n", bom + "a\n", bom + "x\n", bom + "x\nb\n", TierExact, []int{1}},
		{"BOM within", "foo" + bom + bom + bom + "a", bom + bom + bom + "a", "b", "foo" + bom + "b", TierExact, []int{1}},
		{"BOM quoted, not there", "a\nb\n", bom + "a\n", "x\n", "x\nb\n", TierExact, []int{1}},

		{"trailing blanks in the file", "a  \nb\t\nc\n", "a\nb\nc\n", "a\nx\nc\n", "a  \nx\t\nc\n", TierTrailing, []int{1}},
		{"trailing blanks in the quotation", "a\nb\nc\n", "a \nb  \n", "a \nx  \n", "a\nx\nc\n", TierTrailing, []int{1}},
		{"trailing blanks, line goes", "a  \nb\t\nc\n", "a\nb\n", "a\n", "a  \nc\n", TierTrailing, []int{1}},
		{"trailing blanks, appended", "a  \nb\nc\n", "a\nb\n", "a;\nb\n", "a;  \nb\nc\n", TierTrailing, []int{1}},
		{"trailing blanks taken off", "a   \nb\n", "a  \nb\n", "a\nb\n", "a\nb\n", TierTrailing, []int{1}},
		{"trailing blanks in a CRLF file", "a  \r\nb\r\n", "a\nb", "a\nx\nb", "a  \r\nx\r\nb\r\n", TierTrailing, []int{1}},
		{"trailing blanks at the end", "x\nfoo", "foo  ", "bar", "x\nbar", TierTrailing, []int{2}},
		{"blank line with blanks", "a\n   \nb\n", "a\n\nb\n", "a\n\nx\n", "a\n   \nx\n", TierTrailing, []int{1}},

		{
			"less indented", "{\n    a()\n      b()\n}\n", "a()\n  b()\n", "a()\n  c()\n  d()\n",
			"{\n    a()\n      c()\n      d()\n}\n", TierIndent,
			[]int{2},
		},
		{
			"tabs", "{\n\t\ta()\n\t\tb()\n}\n", "\ta()\n\tb()", "\ta()\n\tif c {\n\t\tb()\n\t}",
			"{\n\t\ta()\n\t\tif c {\n\t\t\tb()\n\t\t}\n}\n", TierIndent,
			[]int{2},
		},
		{"more indented", "a()\nb()\n", "  a()\n  b()\n", "  a()\n  c()\n", "a()\nc()\n", TierIndent, []int{1}},
		{
			"indented, with a blank line", "\ta()\n\n\tb()\n", "a()\n\nb()\n", "a()\n\nx()\n", "\ta()\n\n\tx()\n",
			TierIndent,
			[]int{1},
		},
		{
			"indented, trailing blanks stay", "\ta() \n\tb()\n", "a()\nb()\n", "a()\nx()\n", "\ta() \n\tx()\n",
			TierIndent,
			[]int{1},
		},
		{
			"indented, CRLF", "\ta()\r\n\tb()\r\n", "a()\nb()\n", "a()\nx()\ny()\n", "\ta()\r\n\tx()\r\n\ty()\r\n",
			TierIndent,
			[]int{1},
		},

		{
			"quotes", "say “hello” now\n", "say \"hello\"", "say \"hello\" twice", "say “hello” twice now\n", TierGlyphs,
			[]int{1},
		},
		{"dash and space", "a\u00a0— b\nc\n", "a - b\nc", "a - b\nd", "a\u00a0— b\nd\n", TierGlyphs, []int{1}},
		{"plain in the file", "it's - so\n", "it’s – so", "it’s – not so", "it's - not so\n", TierGlyphs, []int{1}},

		{"escaped", "a\nb\tc \"d\"\n", `a\nb\tc \"d\"`, `a\nb\tx \"d\"`, "a\nb\tx \"d\"\n", TierEscapes, []int{1}},
		{
			"escaped quotes, escape in the code", "f(\"x\\n\")\n", `f(\"x\\n\")`, `f(\"y\\n\")`, "f(\"y\\n\")\n",
			TierEscapes,
			[]int{1},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := New(tt.text)
			f, err := Locate(base, tt.old, tt.new, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Edits.Validate(base); err != nil {
				t.Fatal(err)
			}
			if got := f.Edits.Apply(base).String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if f.Tier != tt.tier || f.Count != 1 || !slices.Equal(f.Lines, tt.lines) || f.TierName == "" {
				t.Errorf("found %+v", f)
			}
			if m := f.Matches[0]; m.Start >= m.End || f.Edits[0].Start < m.Start || f.Edits[len(f.Edits)-1].End > m.End {
				t.Errorf("match %v, edits %v", m, f.Edits)
			}
		})
	}
}

func TestF110TextNotFound(t *testing.T) {
	const text = "func a() {\n\tone()\n\ttwo()\n}\n\nfunc b() {\n\tthree()\n}\n"
	for _, tt := range []struct {
		name, text, old string
		near            int // line of the best candidate, 0 for none
	}{
		{"nothing like it", text, "completely unrelated prose", 0},
		{"a line has changed", text, "func a() {\n\tone()\n\t2()\n}\n", 1},
		{"a word has changed", text, "\tthree(x)\n", 7},
		{"a line is forgotten", text, "func b() {\n}\n", 6},
		{"one indented line is too little", "    return x\n", "\treturn x", 1},
		{"one line indented too far is too little", "return x\n", "  return x", 1},
		{"indentation not uniform", "  a()\n    b()\n", "a()\n b()\n", 1},
		{"only part of a word with blanks after it", "foobar\n", "foo  ", 1},
		{"blanks alone", "a\n", "   ", 0},
		{"other blanks within a line", "a  b\n", "a b", 1},
		{"similar is not enough", "return 9\n", "return 2", 1},
		{"first and last line alone", "begin\nx\nend\n", "begin\ny\nend\n", 1},
		{"elided", "begin\nx\nend\n", "begin\n...\nend\n", 1},
		{"escapes in a quotation of several lines", "a\tb\nc\n", "a\\tb\nc", 1},
		{"empty text", "", "a", 0},
		{"quotation longer than the text", "a\n", "a\nb\nc\n", 0},
		{"needs a line end that is not there", "a\nb", "b\n\n", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Locate(New(tt.text), tt.old, "new", false)
			var missing *NotFoundError
			if !errors.As(err, &missing) {
				t.Fatalf("found %+v, %v", f, err)
			}
			got := 0
			if len(missing.Candidates) > 0 {
				c := missing.Candidates[0]
				got = c.Line
				if c.Text == "" || c.Score <= 0 || c.Score > 1 {
					t.Errorf("candidate %+v", c)
				}
			}
			if got != tt.near && len(tt.old) > 8 {
				t.Errorf("candidates %+v, want line %d", missing.Candidates, tt.near)
			}
		})
	}
}

func TestF111TextMultipleMatches(t *testing.T) {
	for _, tt := range []struct {
		name, text, old string
		lines           []int
	}{
		{"twice", "a\nb\na\n", "a", []int{1, 3}},
		{"overlapping", "aaa\n", "aa", []int{1, 1}},
		{"with different line ends", "a\r\nb\na\nb\n", "a\nb", []int{1, 3}},
		{"trailing blanks", "a \nb\n\na  \nb\n", "a\nb\n", []int{1, 4}},
		{"indented", "\ta\n\tb\n  a\n  b\n", "a\nb\n", []int{1, 3}},
		{"quotes", "“a”\n\"a”\n", "\"a\"", []int{1, 2}},
		{"escaped", "a\nb\na\nb\n", `a\nb`, []int{1, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Locate(New(tt.text), tt.old, "new", false)
			var many *AmbiguousError
			if !errors.As(err, &many) || !slices.Equal(many.Lines, tt.lines) || many.Count != len(tt.lines) {
				t.Errorf("got %v", err)
			}
		})
	}
	// An exact place is preferred to one that is nearly so.
	f, err := Locate(New("a \nb\n\na\nb\n"), "a\nb\n", "x\n", false)
	if err != nil || f.Lines[0] != 4 {
		t.Errorf("found %+v, %v", f, err)
	}
	_, err = Locate(New(strings.Repeat("a\n", 5000)), "a", "b", false)
	var many *AmbiguousError
	if !errors.As(err, &many) || many.Count != 5000 || len(many.Lines) != maxLines {
		t.Errorf("got %v", err)
	}
}

func TestLocateAll(t *testing.T) {
	for _, tt := range []struct {
		name, text, old, new, want string
		lines                      []int
	}{
		{"words", "a b a\na\n", "a", "xy", "xy b xy\nxy\n", []int{1, 1, 2}},
		{"not overlapping", "aaaa\n", "aa", "b", "bb\n", []int{1, 1}},
		{"mixed line ends", "a\r\nb\na\nb\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\na\nx\nb\n", []int{1, 3}},
		{"each with its indentation", "\ta\n\tb\n  a\n  b\n", "a\nb\n", "a\nc\n", "\ta\n\tc\n  a\n  c\n", []int{1, 3}},
		{"only one there", "a\nb\n", "b", "c", "a\nc\n", []int{2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Locate(New(tt.text), tt.old, tt.new, true)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Edits.Apply(New(tt.text)).String(); got != tt.want || !slices.Equal(f.Lines, tt.lines) ||
				f.Count != len(tt.lines) {
				t.Errorf("got %q, %+v", got, f)
			}
		})
	}
}

func TestLocateRefuses(t *testing.T) {
	for _, tt := range []struct {
		text, old, new string
		want           error
	}{
		{"a", "", "b", ErrEmptyOld},
		{"a", bom, "b", ErrEmptyOld},
		{"a\n", "a", "a", ErrNoChange},
		{"a\r\nb\r\n", "a\nb", "a\r\nb", ErrNoChange},
		{"a\r\n\tb\r\n", `a\n\tb`, "a\n\tb", ErrNoChange}, // it says so already
	} {
		if f, err := Locate(New(tt.text), tt.old, tt.new, false); !errors.Is(err, tt.want) {
			t.Errorf("%q for %q: %+v, %v", tt.old, tt.new, f, err)
		}
	}
}

func TestF256EditIsIdempotent(t *testing.T) {
	base := New("one\ntwo\nthree\n")
	f, err := Locate(base, "two\n", "2\n", false)
	if err != nil {
		t.Fatal(err)
	}
	after := f.Edits.Apply(base)
	var missing *NotFoundError
	if _, err := Locate(after, "two\n", "2\n", false); !errors.As(err, &missing) {
		t.Errorf("the second time: %v", err)
	}
}

func TestLocateIsMinimal(t *testing.T) {
	base := New("a\nfunc add(x, y int) int {\n\treturn x - y\n}\nb\n")
	f, err := Locate(base, "func add(x, y int) int {\n\treturn x - y\n}\n",
		"func add(x, y int) int {\n\treturn x + y\n}\n", false)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Edits) != 1 || f.Edits[0].New != "+" || base.Slice(f.Edits[0].Start, f.Edits[0].End) != "-" {
		t.Errorf("got %v", f.Edits)
	}
}

// checkLocate holds whatever is found against what may be promised of any text.
func checkLocate(t failer, s, old, new string, all bool) {
	base := New(s)
	f, err := Locate(base, old, new, all)
	var missing *NotFoundError
	if err != nil {
		if errors.As(err, &missing) && old != "" && strings.Contains(s, old) && !strings.Contains(old, bom) &&
			!splitsAt(s, old) {
			t.Fatalf("%q is in %q", old, s)
		}
		return
	}
	if !all && f.Count != 1 || len(f.Edits) == 0 || len(f.Lines) != f.Count || len(f.Matches) != f.Count {
		t.Fatalf("%q in %q: %+v", old, s, f)
	}
	if err := f.Edits.Validate(base); err != nil {
		t.Fatalf("%q in %q: %v", old, s, err)
	}
	for i, m := range f.Matches {
		if i > 0 && m.Start < f.Matches[i-1].End || f.Lines[i] != base.Line(m.Start)+1 {
			t.Fatalf("%q in %q: %+v", old, s, f)
		}
	}
	for _, e := range f.Edits { // nothing outside the matches
		in := slices.ContainsFunc(f.Matches, func(m Range) bool { return m.Start <= e.Start && e.Start <= m.End }) &&
			slices.ContainsFunc(f.Matches, func(m Range) bool { return m.Start <= e.End && e.End <= m.End })
		if !in {
			t.Fatalf("%q in %q: edit %v is outside of %v", old, s, e, f.Matches)
		}
	}
	if f.Tier == TierExact && f.Count == 1 && !strings.ContainsAny(s+old+new, "\r\uFEFF") {
		m := f.Matches[0]
		if got, want := splice(s, f.Edits), s[:m.Start]+new+s[m.End:]; s[m.Start:m.End] != old || got != want {
			t.Fatalf("%q for %q in %q: %q, want %q", new, old, s, got, want)
		}
	}
}

// splitsAt reports whether some place of old in s cuts a character.
func splitsAt(s, old string) bool {
	for i := range s {
		if strings.HasPrefix(s[i:], old) && (splits(s, i) || splits(s, i+len(old))) {
			return true
		}
	}
	return splits(s, strings.Index(s, old)) || splits(s, strings.Index(s, old)+len(old))
}

// TestFinalLineEnd: a quotation may end with a line end that the text lacks. Whatever line end the new text has then, nothing
// beside the match is deleted.
func TestFinalLineEnd(t *testing.T) {
	for _, c := range []struct{ text, old, new, want string }{
		{"a", "\r\n", "\r", "a"},
		{"ab", "b\r\n", "c\r", "ac"},
		{"a\r\nb", "b\r\n", "c\r", "a\r\nc"},
		{"a\r\nb", "b\n", "c\n", "a\r\nc"},
		{"x\na\r\nb", "x\na\r\nb\r\n", "y\n", "y"},
		{"x\ra", "a\n", "b\n", "x\rb"},
		{"a\nb", "b\n", "c\r\n", "a\nc"},
		{"a", "a\n", "\n", ""},
	} {
		f, err := Locate(New(c.text), c.old, c.new, false)
		if errors.Is(err, ErrNoChange) && c.want == c.text {
			continue
		}
		if err != nil {
			t.Errorf("%q for %q in %q: %v", c.new, c.old, c.text, err)
			continue
		}
		if got := f.Edits.Apply(New(c.text)).String(); got != c.want {
			t.Errorf("%q for %q in %q: %q, want %q", c.new, c.old, c.text, got, c.want)
		}
		checkLocate(t, c.text, c.old, c.new, false)
	}
}

func TestLocateNeverGuesses(t *testing.T) {
	t.Parallel()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawText(t, "text", 15)
		old := drawText(t, "old", 3)
		if at := places(s); rapid.Bool().Draw(t, "quoted") {
			i := rapid.IntRange(0, len(at)-1).Draw(t, "from")
			old = s[at[i]:at[rapid.IntRange(i, min(i+6, len(at)-1)).Draw(t, "to")]]
			found++
		}
		checkLocate(t, s, old, drawText(t, "new", 3), rapid.Bool().Draw(t, "all"))
	})
	if found < 1000 {
		t.Error("too few real quotations")
	}
}

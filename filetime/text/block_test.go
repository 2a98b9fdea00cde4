package text

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// blockOf reads a hunk: "@" lines are Under, and the words AtStart, AtEnd, Open and Loose set what they say.
func blockOf(s string) Block {
	var b Block
	for _, l := range strings.Split(s, "\n") {
		switch {
		case l == "AtStart":
			b.AtStart = true
		case l == "AtEnd":
			b.AtEnd = true
		case l == "Open":
			b.Open = true
		case l == "Loose":
			b.Loose = true
		case strings.HasPrefix(l, "@"):
			b.Under = append(b.Under, l[1:])
		case strings.HasPrefix(l, "#"):
			b.Section = l[1:]
		case strings.HasPrefix(l, "="):
			fmt.Sscan(l[1:], &b.Number)
		case l != "":
			b.Lines = append(b.Lines, Line{Op(l[0]), l[1:]})
		}
	}
	return b
}

func TestF158BlockStandsOnce(t *testing.T) {
	const classes = "class A:\n  def f(self):\n    x = 1\n    return x\n\nclass B:\n  def f(self):\n    x = 1\n    return x\n"
	for _, tt := range []struct {
		name, text, block string
		want              string // the text after it, or the error
		tier              int
	}{
		{"replaced", "a\nb\nc\n", " a\n-b\n+x", "a\nx\nc\n", TierExact},
		{"whole lines only", "ab\nb\nbc\n", "-b\n+x", "ab\nx\nbc\n", TierExact},
		{"part of a line is not it", "ab\nbc\n", "-b\n+x", "not found", 0},
		{"removed", "a\nb\nc\n", "-b", "a\nc\n", TierExact},
		{"two changes", "a\nb\nc\nd\n", "-a\n+A\n b\n c\n-d\n+D", "A\nb\nc\nD\n", TierExact},
		{"repeated lines in order", "a\nb\n", "-a\n-b\n+b\n+b\n+a", "b\nb\na\n", TierExact},
		{"several places", "a\nb\na\nb\n", "-b\n+x", "lines 2 4", 0},
		{"overlapping places", "a\na\na\n", "-a\n-a\n+x", "lines 1 2", 0},
		{"told apart by context", "a\nb\nc\nb\n", " c\n-b\n+x", "a\nb\nc\nx\n", TierExact},
		{"told apart by the number", "a\nb\na\nb\n", "=4\n-b\n+x", "a\nb\na\nx\n", TierExact},
		{"a wrong number does not tell apart", "a\nb\na\nb\n", "=3\n-b\n+x", "lines 2 4", 0},
		{"a wrong number does no harm", "a\nb\n", "=9\n-b\n+x", "a\nx\n", TierExact},
		{"nothing changes", "a\nb\n", " b", "a\nb\n", TierExact},

		{"below a line", classes, "@class B:\n-    x = 1\n+    x = 2", classes[:strings.LastIndex(classes, "1")] + "2\n    return x\n", TierExact},
		{"below nested lines", classes, "@class A:\n@  def f(self):\n-    x = 1\n+    x = 2", strings.Replace(classes, "1", "2", 1), TierExact},
		{"the inner line is in both", classes, "@  def f(self):\n-    x = 1\n+    x = 2", "lines 3 8", 0},
		{"with its own line", classes, "@class B:\n class B:\n   def f(self):\n-    x = 1\n+    x = 2", classes[:strings.LastIndex(classes, "1")] + "2\n    return x\n", TierExact},
		{"other indentation of the line", classes, "@def f(self):\n@x = 1\n-    return x\n+    return 2", "lines 4 9", 0},
		{"the begin of the line", classes, "@class B\n-    x = 1\n+    x = 2", classes[:strings.LastIndex(classes, "1")] + "2\n    return x\n", TierExact},
		{"no such line", classes, "@class C:\n-    x = 1\n+    x = 2", `no line "class C:"`, 0},
		{"a section that is not there", "a\nb\n", "#func f\n-b\n+x", "a\nx\n", TierExact},
		{"a section", classes, "#class B:\n-    x = 1\n+    x = 2", classes[:strings.LastIndex(classes, "1")] + "2\n    return x\n", TierExact},
		{"below braces", "f() {\n\tx\n}\ng()\n{\n\tx\n}\nh\nx\n", "@g()\n-\tx\n+\ty", "f() {\n\tx\n}\ng()\n{\n\ty\n}\nh\nx\n", TierExact},
		{"after the line where it is not below", "# A\nx\n# B\ny\n", "@# A\n-y\n+z", "# A\nx\n# B\nz\n", TierExact},

		{"added after a line", "a\nb\n", " a\n+x", "a\nx\nb\n", TierExact},
		{"added before a line", "a\nb\n", "+x\n a", "x\na\nb\n", TierExact},
		{"added alone", "a\nb\n", "+x\n+y", "a\nb\nx\ny\n", TierExact},
		{"added alone below a line", "a\nb\n", "@a\n+x", "a\nx\nb\n", TierExact},
		{"added alone below one of several", "a\na\nb\n", "@a\n+x", "lines 2 3", 0},
		{"added at the start", "a\nb\n", "AtStart\n+x", "x\na\nb\n", TierExact},
		{"added to nothing", "", "+x\n+y", "x\ny\n", TierExact},

		{"at the end", "a\nb\na\n", "AtEnd\n-a\n+x", "a\nb\nx\n", TierExact},
		{"not at the end", "a\nb\n", "AtEnd\n-a\n+x", "not found", 0},
		{"no line end: replaced gets one", "a\nb", "-b\n+x", "a\nx\n", TierExact},
		{"no line end: replaced gets none", "a\nb", "Open\n-b\n+x", "a\nx", TierExact},
		{"no line end: elsewhere", "a\nb", "-a\n+x", "x\nb", TierExact},
		{"no line end: kept", "a\nb", "-a\n+x\n b", "x\nb", TierExact},
		{"no line end: removed", "a\nb", " a\n-b", "a\n", TierExact},
		{"no line end: added", "a\nb", " b\n+x", "a\nb\nx\n", TierExact},
		{"no line end: added alone", "a\nb", "+x", "a\nb\nx\n", TierExact},
		{"no line end: added, gets none", "a\nb", "Open\n b\n+x", "a\nb\nx", TierExact},
		{"a line end goes", "a\nb\n", "Open\n-b\n+b", "a\nb", TierExact},

		{"F093 CRLF", "a\r\nb\r\nc\r\n", " a\n-b\n+x\n+y\n c", "a\r\nx\r\ny\r\nc\r\n", TierLineEnds},
		{"F093 CRLF at the end", "a\r\nb", " b\n+x", "a\r\nb\r\nx\r\n", TierExact},
		{"F093 mixed line ends stay", "one\r\ntwo\nthree\r\nfour\n", " one\n two\n-three\n+THREE\n four", "one\r\ntwo\nTHREE\r\nfour\n", TierLineEnds},
		{"F093 the line that is named goes", "same\r\nsame\n", "-same\n same", "same\n", TierLineEnds},
		{"BOM", bom + "a\nb\n", "-a\n+x\n b", bom + "x\nb\n", TierExact},
		{"BOM stays before what is added", bom + "a\n", "+x\n a", bom + "x\na\n", TierExact},

		{"trailing blanks of context stay", "a  \nb\t\nc\n", " a\n-b\n+x\n c", "a  \nx\t\nc\n", TierTrailing},
		{"trailing blanks in the block", "a\nb\n", " a \n-b \n+x", "a\nx\n", TierTrailing},
		{"indented", "\t\ta\n\t\tb\n", " a\n-b\n+x\n+\ty", "\t\ta\n\t\tx\n\t\t\ty\n", TierIndent},
		{"indented less", "a\nb\n", "   a\n-  b\n+  x", "a\nx\n", TierIndent},
		{"glyphs of context stay", "say “a”\nb\n", " say \"a\"\n-b\n+x", "say “a”\nx\n", TierGlyphs},
		{"glyphs of what does not change stay", "say “a” now\n", "-say \"a\" now\n+say \"a\" later", "say “a” later\n", TierGlyphs},
		{"each line indented otherwise", "\tif a {\n\t\tb\n\t}\n", "Loose\n   if a {\n-    b\n+    x\n+    y\n   }", "\tif a {\n\t\tx\n\t\ty\n\t}\n", TierTrim},
		{"each line indented otherwise, not loose", "\tif a {\n\t\tb\n\t}\n", "   if a {\n-    b\n+    x\n   }", "not found", 0},
		{"deeper than what is there", "\tif a {\n\t}\n", "Loose\n if a {\n+  b\n }", "\tif a {\n\t  b\n\t}\n", TierIndent},
		{"exact before loose", " a\na\n", "Loose\n-a\n+x", " a\nx\n", TierExact},
		{"blank lines are not like each other", "a\n \n\t\nb\n", "Loose\n-\n+x", "not found", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := LocateBlock(New(tt.text), blockOf(tt.block), 0)
			var missing *NotFoundError
			var several *AmbiguousError
			var context *ContextError
			got := ""
			switch {
			case errors.As(err, &missing):
				got = "not found"
			case errors.As(err, &several):
				got = strings.Trim(fmt.Sprint("lines ", several.Lines), "]")
				got = strings.Replace(got, "[", "", 1)
			case errors.As(err, &context):
				got = fmt.Sprintf("no line %q", context.Line)
			case err != nil:
				t.Fatal(err)
			default:
				got = f.Edits.Apply(New(tt.text)).String()
			}
			if got != tt.want || err == nil && f.Tier != tt.tier {
				t.Errorf("%q, tier %d; want %q, tier %d", got, f.Tier, tt.want, tt.tier)
			}
		})
	}
}

func TestF158BlocksInOrder(t *testing.T) {
	base := New("a\nb\na\nb\n")
	f, err := LocateBlock(base, blockOf("-b\n+x"), base.LineStart(2))
	if err != nil || f.Lines[0] != 4 {
		t.Errorf("%v %v: the place after the offset is meant", f.Lines, err)
	}
	if f, err = LocateBlock(base, blockOf(" b\n-a\n+x"), base.LineStart(3)); err != nil || f.Lines[0] != 2 {
		t.Errorf("%v %v: the only place is meant, wherever it is", f.Lines, err)
	}
}

// TestF158BlockLaw cuts a block out of a text and changes lines of it. Where the block is found, the text has the block's new lines in
// the place of its old ones, and nothing else is changed; where it is refused, its lines stand at several places.
func TestF158BlockLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "  a", "a ", "é"}), 1, 12).Draw(t, "lines")
		eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
		start := rapid.IntRange(0, len(lines)-1).Draw(t, "start")
		end := rapid.IntRange(start+1, len(lines)).Draw(t, "end")
		var b Block
		var after []string
		for _, l := range lines[start:end] {
			if rapid.Bool().Draw(t, "adds") {
				n := rapid.SampledFrom([]string{"X", "a", ""}).Draw(t, "new")
				b.Lines = append(b.Lines, Line{Add, n})
				after = append(after, n)
			}
			op := rapid.SampledFrom([]Op{Keep, Remove}).Draw(t, "op")
			b.Lines = append(b.Lines, Line{op, l})
			if op == Keep {
				after = append(after, l)
			}
		}
		joined := func(s []string) string {
			var out string
			for _, l := range s {
				out += l + eol
			}
			return out
		}
		base := New(joined(lines))
		f, err := LocateBlock(base, b, 0)
		var several *AmbiguousError
		if errors.As(err, &several) {
			if several.Count < 2 || !slices.Contains(several.Lines, start+1) {
				t.Fatalf("%v without line %d", several, start+1)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		want := joined(slices.Concat(lines[:start], after, lines[end:]))
		if got := f.Edits.Apply(base).String(); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
		if err := f.Edits.Validate(base); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzLocateBlock(f *testing.F) {
	f.Add("a\r\nb\n", "@a\n-b\n+x", 0)
	f.Add(bom+"\x00\xff\r", "Loose\nOpen\n \x00\xff\n+y", 2)
	f.Fuzz(func(t *testing.T, text, block string, from int) {
		base := New(text)
		found, err := LocateBlock(base, blockOf(block), from)
		if err != nil {
			return
		}
		if err := found.Edits.Validate(base); err != nil || len(found.Matches) != 1 || len(found.Lines) != 1 {
			t.Fatalf("%v: %+v", err, found)
		}
		for _, e := range found.Edits {
			if m := found.Matches[0]; e.Start < m.Start || e.End > m.End {
				t.Fatalf("%v lies outside of %v", e, m)
			}
		}
	})
}

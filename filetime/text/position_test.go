package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// plainLines is the plain way to lines: each with its offset and without its end.
func plainLines(s string) (starts, ends []int) {
	start := 0
	for line := range strings.SplitAfterSeq(s, "\n") {
		starts, ends = append(starts, start), append(ends, start+len(line))
		if bare, ok := strings.CutSuffix(line, "\n"); ok {
			ends[len(ends)-1] = start + len(strings.TrimSuffix(bare, "\r"))
		}
		start += len(line)
	}
	return starts, ends
}

// plainRows is the same for rows.
func plainRows(s string) (starts, ends []int) {
	start := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\r' && i+1 < len(s) && s[i+1] == '\n':
			starts, ends = append(starts, start), append(ends, i)
			i++
			start = i + 1
		case s[i] == '\n' || s[i] == '\r':
			starts, ends = append(starts, start), append(ends, i)
			start = i + 1
		}
	}
	return append(starts, start), append(ends, len(s))
}

func plainUnits(s string, e Encoding) int {
	switch e {
	case UTF8:
		return len(s)
	case UTF32:
		return len([]rune(s))
	}
	return len(utf16.Encode([]rune(s)))
}

func checkPositions(t failer, s string, line, char int) {
	x := New(s)
	starts, ends := plainLines(s)
	if x.LineCount() != len(starts) {
		t.Fatalf("%q: %d lines, want %d", s, x.LineCount(), len(starts))
	}
	for i := range starts {
		if x.LineStart(i) != starts[i] || x.LineEnd(i) != ends[i] {
			t.Fatalf("%q: line %d is %d-%d, want %d-%d", s, i, x.LineStart(i), x.LineEnd(i), starts[i], ends[i])
		}
	}
	for off := range len(s) + 1 {
		if want := strings.Count(s[:off], "\n"); x.Line(off) != want {
			t.Fatalf("%q: offset %d is on line %d, want %d", s, off, x.Line(off), want)
		}
	}
	starts, ends = plainRows(s)
	for _, e := range []Encoding{UTF8, UTF16, UTF32} {
		// Every place an editor knows goes there and back.
		for i := range starts {
			for off := starts[i]; off <= ends[i]; off++ {
				want := Position{i, plainUnits(s[starts[i]:off], e)}
				if splits(s, off) {
					continue
				}
				if got := x.Position(off, e); got != want {
					t.Fatalf("%q: offset %d is %v in encoding %d, want %v", s, off, got, e, want)
				}
				if got, clamped := x.Offset(want, e); got != off || clamped {
					t.Fatalf("%q: %v is offset %d (%v) in encoding %d, want %d", s, want, got, clamped, e, off)
				}
			}
		}
		// Any other goes down to the nearest such place, and says so.
		got, clamped := x.Offset(Position{line, char}, e)
		want, exact := 0, false
		switch {
		case line < 0:
		case line >= len(starts):
			want = len(s)
		default:
			want = starts[line]
			for off := want; off <= ends[line]; off++ {
				if u := plainUnits(s[starts[line]:off], e); !splits(s, off) && u <= char {
					want, exact = off, u == char
				}
			}
		}
		if got != want || clamped == exact {
			t.Fatalf("%q: %d:%d is %d (%v) in encoding %d, want %d (%v)", s, line, char, got, clamped, e, want, !exact)
		}
	}
}

// TestFaultE20Lines has lines that end with \n alone and positions whose lines end with a lone \r too.
func TestFaultE20Lines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawText(t, "text", 12)
		checkPositions(t, s, rapid.IntRange(-1, 12).Draw(t, "line"), rapid.IntRange(-1, 20).Draw(t, "char"))
	})
}

// TestPositionsAcrossChunks has lines that are many chunks long.
func TestPositionsAcrossChunks(t *testing.T) {
	s := strings.Repeat("é😀x", 5000) + "\r\n" + strings.Repeat("y", 20_000) + "\r" + strings.Repeat("\xff😀", 3000)
	x := New(s)
	starts, ends := plainRows(s)
	for _, e := range []Encoding{UTF8, UTF16, UTF32} {
		for i := range starts {
			units := 0
			for off := starts[i]; off <= ends[i]; {
				if off%97 < 7 {
					if got := x.Position(off, e); got != (Position{i, units}) {
						t.Fatalf("offset %d is %v in encoding %d, want %d:%d", off, got, e, i, units)
					}
					if got, clamped := x.Offset(Position{i, units}, e); got != off || clamped {
						t.Fatalf("%d:%d is %d (%v) in encoding %d, want %d", i, units, got, clamped, e, off)
					}
				}
				_, n := utf8.DecodeRuneInString(s[off:])
				if off == ends[i] {
					break
				}
				units += plainUnits(s[off:off+n], e)
				off += n
			}
			if got, clamped := x.Offset(Position{i, units + 1}, e); got != ends[i] || !clamped {
				t.Fatalf("past the end of line %d: %d (%v), want %d", i, got, clamped, ends[i])
			}
		}
	}
}

func FuzzPositions(f *testing.F) {
	f.Add("a\r\nb\rc\nd", 1, 0)
	f.Add("😀é\xff\xf0\x9f", 0, 1)
	f.Fuzz(func(t *testing.T, s string, line, char int) {
		if len(s) < 200 {
			checkPositions(t, s, line, char)
		}
	})
}

// TestFaultE20LineStarts looks for lines in any order, all at once and each alone.
func TestFaultE20LineStarts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.SampledFrom([]rune("a\r\n\n\néb")), 0, 300, -1).Draw(t, "text")
		s = strings.Repeat(s, rapid.IntRange(1, 60).Draw(t, "times")) // of several chunks
		tx := New(s)
		lines := rapid.SliceOfN(rapid.IntRange(-2, tx.LineCount()+2), 0, 30).Draw(t, "lines")
		if rapid.Bool().Draw(t, "ascending") {
			slices.Sort(lines)
		}
		starts, _ := plainLines(s)
		for i, at := range tx.LineStarts(lines) {
			want := len(s)
			if n := lines[i]; n < len(starts) {
				want = starts[max(n, 0)]
			}
			if at != want || tx.LineStart(lines[i]) != want {
				t.Fatalf("line %d of %d starts at %d, alone at %d, not at %d", lines[i], len(starts), at, tx.LineStart(lines[i]), want)
			}
		}
	})
}

package text

import (
	"crypto/sha256"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

type failer interface{ Fatalf(string, ...any) }

// sound checks what chunks promise: their sizes, their sums and where they are cut.
func sound(t failer, x Text) {
	c := x.chunks()
	var tot total
	for i, p := range c.parts {
		if p == "" || len(p) > maxChunk || len(c.parts) > 1 && len(p) < minChunk {
			t.Fatalf("chunk %d of %d has %d bytes", i, len(c.parts), len(p))
		}
		if i > 0 && splitsAcross(c.parts[i-1], p) {
			t.Fatalf("chunk %d begins inside a character: %q | %q", i, c.parts[i-1], p)
		}
		if m := countUnits(p); m != c.sums[i] {
			t.Fatalf("chunk %d: sums %+v, want %+v", i, c.sums[i], m)
		}
		tot.add(len(p), c.sums[i])
	}
	if tot != c.total {
		t.Fatalf("total %+v, want %+v", c.total, tot)
	}
	if whole := measureAll(x.String()); whole != c.total {
		t.Fatalf("total %+v, of the whole text %+v", c.total, whole)
	}
}

func measureAll(s string) total {
	t := total{bytes: len(s), lines: strings.Count(s, "\n"), rows: countEOL(s)}
	for _, r := range s {
		t.runes++
		t.utf16++
		if r > 0xFFFF {
			t.utf16++
		}
	}
	return t
}

// TestRandomReplace keeps a text of many chunks next to a plain string, with pieces
// that complete each other's characters and line ends.
func TestRandomReplace(t *testing.T) {
	pieces := []string{"a", "\r", "\n", "\r\n", "é", "\xe4", "\xb8", "\xad", "😀", "\xf0\x9f\x98", "\x80", "line\n"}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		word := func(n int) string {
			var b strings.Builder
			for b.Len() < n {
				b.WriteString(pieces[r.IntN(len(pieces))])
			}
			return b.String()
		}
		want := word(40_000)
		got := New(want)
		sound(t, got)
		for range 300 {
			i := r.IntN(len(want) + 1)
			if r.IntN(4) == 0 { // at the border of a chunk
				i = 0
				for _, p := range got.chunks().parts[:r.IntN(len(got.chunks().parts)+1)] {
					i += len(p)
				}
			}
			j := min(len(want), i+r.IntN([]int{1, 2, 9, 5000}[r.IntN(4)]))
			s := word([]int{0, 1, 1, 3, 6000}[r.IntN(5)])
			got, want = got.Replace(i, j, s), want[:i]+s+want[j:]
			if got.Len() != len(want) {
				t.Fatalf("seed %d: length %d, want %d", seed, got.Len(), len(want))
			}
			a := r.IntN(len(want) + 1)
			b := a + r.IntN(len(want)-a+1)
			if got.Slice(a, b) != want[a:b] {
				t.Fatalf("seed %d: slice %d-%d differs", seed, a, b)
			}
			line := r.IntN(got.LineCount())
			if start := got.LineStart(line); got.Line(start) != line || got.LineEnd(line) < start {
				t.Fatalf("seed %d: line %d begins at %d, which is on line %d", seed, line, start, got.Line(start))
			}
		}
		if got.String() != want {
			t.Fatalf("seed %d: texts differ", seed)
		}
		sound(t, got)
		if got.Hash() != sha256.Sum256([]byte(want)) || !got.Equal(New(want)) || New(want).Replace(0, 0, "x").Equal(got) {
			t.Fatalf("seed %d: hash or equality", seed)
		}
	}
}

func TestCutBetweenChunksMakesCRLF(t *testing.T) {
	const n = targetChunk
	x := New(strings.Repeat("x", n-1) + "\r" + strings.Repeat("y", n) + "\n" + strings.Repeat("z", 3*n-1))
	if len(x.c.parts) != 4 || x.c.total.rows != 2 {
		t.Fatalf("%d chunks, %d rows", len(x.c.parts), x.c.total.rows)
	}
	x = x.Replace(n, 2*n, "")
	sound(t, x)
	if x.c.total.rows != 1 || x.LineCount() != 2 {
		t.Errorf("%d row ends, %d lines", x.c.total.rows, x.LineCount())
	}
}

func TestZeroText(t *testing.T) {
	var x Text
	if x.Len() != 0 || x.String() != "" || x.LineCount() != 1 || x.LineStart(3) != 0 || x.LineEnd(0) != 0 ||
		x.Line(0) != 0 {
		t.Error("the zero text is not empty")
	}
	if !x.Equal(New("")) || x.Hash() != sha256.Sum256(nil) || x.Slice(0, 0) != "" {
		t.Error("the zero text is not the empty text")
	}
	if got := x.Replace(0, 0, "hi").String(); got != "hi" {
		t.Errorf("got %q", got)
	}
	if got := New("hi").Replace(0, 2, ""); got.Len() != 0 || !got.Equal(x) {
		t.Errorf("got %q", got)
	}
}

func TestConcurrentReaders(t *testing.T) {
	x := New(strings.Repeat("line\n", 10_000)).Replace(5, 9, "other")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if x.String()[5:10] != "other" || x.Hash() == (Text{}).Hash() || x.LineCount() != 10_001 {
				t.Error("wrong text")
			}
		})
	}
	wg.Wait()
}

func TestUneditedTextIsUnmoved(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("edits out of order are applied")
		}
	}()
	Set{{2, 3, ""}, {0, 1, ""}}.Apply(New("abc"))
}

package grep

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"tandem/filetime/text"
	"tandem/sandbox/search/index"
)

// TestSearchInPieces: a text that comes in pieces, as a large file and an unsaved text do, has the matches of the text as a whole, with the
// numbers of their lines and the lines around them, wherever a piece ends.
func TestSearchInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		words := rapid.SampledFrom([]string{"hit", "a", "other words\n", "\n", "\n", "before\n", "hit\n", "\r\n", "é\n"})
		for range rapid.IntRange(1, 6).Draw(t, "stretches") {
			b.WriteString(strings.Join(rapid.SliceOfN(words, 1, 30).Draw(t, "words"), ""))
			filler := rapid.SampledFrom([]string{"filler\n", "long line ", "hit\n", "x\n"}).Draw(t, "filler")
			size := rapid.SampledFrom([]int{10, sniffed - 20, sniffed, 2 * sniffed, bufferRoom - 30, bufferRoom}).Draw(t, "size") - b.Len()%7
			b.WriteString(strings.Repeat(filler, max(0, size/len(filler))))
		}
		if rapid.IntRange(0, 5).Draw(t, "a NUL") == 0 {
			b.WriteString("\x00hit\n")
		}
		all := b.String()
		in := input{
			Pattern: rapid.SampledFrom([]string{"hit", "^hit$", `\bbefore`, "x", "none", "^$"}).Draw(t, "pattern"),
			Before:  rapid.IntRange(0, 5).Draw(t, "before"), After: rapid.IntRange(0, 5).Draw(t, "after"),
			OutputMode: rapid.SampledFrom([]string{content, counts, names}).Draw(t, "mode"),
			HeadLimit:  rapid.SampledFrom([]int{1, 100, 1 << 30}).Draw(t, "limit"),
		}
		q, err := parse(in)
		if err != nil {
			t.Fatal(err)
		}
		want, wanted := newSearch(t.Context(), q).file(index.File{Head: []byte(all)})
		same := func(name string, got found, ok bool) {
			if ok != wanted || got.hits != want.hits || !slices.Equal(got.lines, want.lines) {
				for n := range min(len(got.lines), len(want.lines)) {
					if got.lines[n] != want.lines[n] {
						t.Fatalf("%s: line %d is %+.80v, want %+.80v", name, n, got.lines[n], want.lines[n])
					}
				}
				t.Fatalf("%s: %d hits and %d lines, want %d and %d", name, got.hits, len(got.lines), want.hits, len(want.lines))
			}
		}
		got := engine{}.text(t.Context(), q, text.New(all))
		same("an unsaved text", got, got.hits > 0)
		for _, room := range []int{sniffed, sniffed + 1, 3 * sniffed} {
			s := newSearch(t.Context(), q)
			s.room = room
			n := min(len(all), room)
			f := index.File{Head: []byte(all[:n])}
			if n < len(all) {
				f.Rest = strings.NewReader(all[n:])
			}
			got, ok := s.file(f)
			same(fmt.Sprintf("%d bytes at once", room), got, ok)
		}
	})
}

// TestReaderOfAText: what is read of a text is the text, however much is asked for at once.
func TestReaderOfAText(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789\n"), 20_000)
	if err := iotest.TestReader(&reader{t: text.New(string(want))}, want); err != nil {
		t.Error(err)
	}
}

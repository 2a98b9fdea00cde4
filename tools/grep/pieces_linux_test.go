package grep

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/tools/txtar"
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

// counting counts the searches of files.
type counting struct {
	engine
	searches *int
}

func (c counting) files(ctx context.Context, q *query, to sink) error {
	*c.searches++
	return c.engine.files(ctx, q, to)
}

// TestLookalikesNeedSigns: what looks like a pattern of ASCII is looked for in texts that have other signs, wherever they stand, and not in others.
func TestLookalikesNeedSigns(t *testing.T) {
	for name, c := range map[string]struct {
		files    []txtar.File
		pattern  string
		searches int
		found    string
	}{
		"ASCII":           {[]txtar.File{{Name: "disk/a", Data: []byte("some text\n")}}, "other", 1, "No matches"},
		"another sign":    {[]txtar.File{{Name: "disk/a", Data: []byte("some text\n")}, {Name: "disk/b", Data: []byte("\u00e9\n")}}, "other", 2, "No matches"},
		"a lookalike":     {[]txtar.File{{Name: "disk/a", Data: []byte("\u043ether\n")}}, "other", 2, "\u043ether"},
		"in a buffer":     {[]txtar.File{{Name: "disk/a", Data: []byte("x\n")}, {Name: "buffer/a", Data: []byte("\u043ether\n")}}, "other", 2, "\u043ether"},
		"an odd pattern":  {[]txtar.File{{Name: "disk/a", Data: []byte("other\n")}}, "\u043ether", 2, "other"},
		"far behind":      {[]txtar.File{{Name: "disk/a", Data: []byte(strings.Repeat("x\n", index.Head/2+9) + "\u043ether\n")}}, "other", 2, "\u043ether"},
		"what is found":   {[]txtar.File{{Name: "disk/a", Data: []byte("other \u043ether\n")}}, "other", 1, "other \u043ether"},
		"UTF-16, decoded": {[]txtar.File{{Name: "disk/a", Data: []byte("\xff\xfe\x3e\x04t\x00h\x00e\x00r\x00\n\x00")}}, "other", 2, "\u043ether"},
	} {
		searches := 0
		r := call(t, define(counting{searches: &searches}), workspace(t, c.files...), `{"pattern":"`+c.pattern+`"}`)
		if !r.Success || searches != c.searches || !strings.Contains(r.Data, c.found) {
			t.Errorf("%s: %d searches, want %d: %.200s", name, searches, c.searches, r.Data)
		}
	}
}

package trigrams

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestFaultT8EdgesOfParts: a word is found in the part that it stands in, also where it is the first of the part or the last, and where a
// part ends right after partSize bytes or a line later.
func TestFaultT8EdgesOfParts(t *testing.T) {
	word := func(edge string, n int) string { return fmt.Sprintf("%s%c", edge, 'a'+n) } // one trigram
	for over := range 3 {
		const parts = 5
		var text []byte
		for n := range parts {
			var part []byte
			part = append(part, word("<-", n)+"\n"...)
			// The last line of a part is the one that the byte at partSize is in.
			filler := bytes.Repeat([]byte("x"), partSize-len(part)-1)
			part = append(append(part, filler...), '\n')
			part = append(part, bytes.Repeat([]byte("y"), over)...)
			text = append(text, append(part, word("->", n)+"\n"...)...)
		}
		b := NewBuilder()
		b.Add([]byte("another file\n"))
		first, got := b.Add(text)
		if first != 1 || got != parts+1 { // what follows the last line end is a part, too
			t.Fatalf("%d bytes over: %d parts from %d on, want %d", over, got, first, parts+1)
		}
		s := b.Finish()
		for n := range parts {
			for _, edge := range []string{"<-", "->"} {
				m := s.Match([][]string{{word(edge, n)}})
				if at := first + n; m[at/64]>>(at%64)&1 == 0 {
					t.Errorf("%d bytes over: %q is not in part %d", over, word(edge, n), n)
				}
			}
		}
	}
}

// TestFilesInPieces: a file that comes in pieces, wherever they are cut, is what it is as a whole, also behind a file that was forgotten.
func TestFilesInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringOfN(rapid.RuneFrom([]rune("abcXYZ\r é")), 0, 40, -1)
		lines := strings.Join(rapid.SliceOfN(line, 1, 20).Draw(t, "lines"), "\n")
		long := strings.Repeat(rapid.StringOfN(rapid.RuneFrom([]rune("qrs")), 1, 9, -1).Draw(t, "a long line"), rapid.IntRange(0, partSize).Draw(t, "times"))
		text := []byte(strings.Repeat(lines+rapid.SampledFrom([]string{"\n", ""}).Draw(t, "end"), rapid.IntRange(1, 3*partSize/(len(lines)+1)).Draw(t, "repeated")) + long + lines)
		whole, pieces := NewBuilder(), NewBuilder()
		whole.Add([]byte("before"))
		_, want := whole.Add(text)
		whole.Add([]byte("behind"))
		pieces.Add([]byte("before"))
		pieces.Begin(1)
		pieces.Write([]byte("for\ngotten"))
		pieces.Discard()
		pieces.Begin(int64(len(text)))
		for rest := text; len(rest) > 0; {
			n := min(len(rest), rapid.SampledFrom([]int{1, 2, 3, 1000, partSize - 1, partSize, partSize + 1}).Draw(t, "piece"))
			if len(rest) > 4*partSize {
				n = partSize + n
			}
			if !pieces.Write(rest[:n]) {
				t.Fatal("no room")
			}
			rest = rest[n:]
			if n < 4 && len(rest) > 100 { // not a million pieces
				pieces.Write(rest[:len(rest)/2])
				rest = rest[len(rest)/2:]
			}
		}
		if _, got := pieces.End(); got != want {
			t.Fatalf("%d parts, want %d", got, want)
		}
		pieces.Add([]byte("behind"))
		if a, b := whole.Finish(), pieces.Finish(); a.texts != b.texts || !bytes.Equal(a.data, b.data) || !slices.Equal(a.starts, b.starts) {
			t.Fatal("the segments differ")
		}
	})
}

// TestFileWithoutRoom: a file that has too many trigrams, or is larger than was said, leaves nothing behind.
func TestFileWithoutRoom(t *testing.T) {
	b := NewBuilder()
	b.Add([]byte("before"))
	b.Begin(1)
	ok := true
	piece := []byte(strings.Repeat(strings.Repeat("x", partSize)+"\n", 64))
	for n := 0; ok && n < 2*Texts; n += 64 {
		ok = b.Write(piece)
	}
	if ok {
		t.Fatal("there is room for everything")
	}
	b.Discard()
	b.Add([]byte("behind"))
	s := b.Finish()
	for text, want := range map[string][]int{"xxx": nil, "before": {0}, "behind": {1}} {
		if got := slices.Collect(s.Match([][]string{{text}}).All()); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

package trigrams

import (
	"bytes"
	"fmt"
	"testing"
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

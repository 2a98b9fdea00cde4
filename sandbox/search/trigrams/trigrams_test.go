package trigrams

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSegment makes segments of texts that have trigrams of every number of texts, from one to all, and looks each bucket up.
func TestSegment(t *testing.T) {
	b, r := NewBuilder(), rand.New(rand.NewPCG(1, 2))
	for _, texts := range []int{0, 1, 40, 3000, Texts} {
		want := map[uint32][]int{}
		for n := range texts {
			text := fmt.Sprintf("Word%d\r\nof", n%(2+n/2))
			for range n % 7 {
				text += string(rune(r.IntN(0x300)))
			}
			b.Add([]byte(text + "\n"))
			for i := 0; i+3 <= len(text); i++ {
				x, y, z := fold(text[i]), fold(text[i+1]), fold(text[i+2])
				list := want[bucket(x<<16|y<<8|z)]
				if x > 0 && y > 0 && z > 0 && (len(list) == 0 || list[len(list)-1] != n) {
					want[bucket(x<<16|y<<8|z)] = append(list, n)
				}
			}
		}
		s := b.Finish()
		many := 0
		for n := range uint32(1 << bucketBits) {
			var m Marks
			s.list(n, &m)
			got := slices.Collect(m.All())
			if !slices.Equal(got, want[n]) {
				t.Fatalf("bucket %d of %d texts: %v, want %v", n, texts, got, want[n])
			}
			if len(got) >= dense {
				many++
			}
		}
		if s.Texts() != texts || texts == Texts && many == 0 {
			t.Errorf("%d texts: it has %d, %d lists of many, %d bytes for %d lists", texts, s.Texts(), many, s.Bytes(), len(want))
		}
	}
}

package tree

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSegment makes segments of texts that have trigrams of every number of texts, from one to all, and looks each bucket up.
func TestSegment(t *testing.T) {
	b, r := newBuilder(), rand.New(rand.NewPCG(1, 2))
	for _, texts := range []int{0, 1, 40, 3000, segmentFiles} {
		want := map[uint32][]int{}
		for n := range texts {
			text := fmt.Sprintf("Word%d\r\nof", n%(2+n/2))
			for range n % 7 {
				text += string(rune(r.IntN(0x300)))
			}
			b.parts([]byte(text + "\n"))
			for i := 0; i+3 <= len(text); i++ {
				x, y, z := fold(text[i]), fold(text[i+1]), fold(text[i+2])
				list := want[bucket(x<<16|y<<8|z)]
				if x > 0 && y > 0 && z > 0 && (len(list) == 0 || list[len(list)-1] != n) {
					want[bucket(x<<16|y<<8|z)] = append(list, n)
				}
			}
		}
		s := b.finish()
		many := 0
		for n := range uint32(1 << bucketBits) {
			var m marks
			s.list(n, &m)
			var got []int
			for i, word := range m {
				for ; word != 0; word &= word - 1 {
					got = append(got, 64*i+bits.TrailingZeros64(word))
				}
			}
			if !slices.Equal(got, want[n]) {
				t.Fatalf("bucket %d of %d texts: %v, want %v", n, texts, got, want[n])
			}
			if len(got) >= dense {
				many++
			}
		}
		if s.texts != texts || texts == segmentFiles && many == 0 {
			t.Errorf("%d texts: it has %d, %d lists of many, %d bytes for %d lists", texts, s.texts, many, s.bytes(), len(want))
		}
	}
}

package wire

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestLargeAnswers has answers of all sizes come at once, those that are sent without being copied among them, each with something that
// is told behind it: every one is whole.
func TestLargeAnswers(t *testing.T) {
	server, client := NewRouter(), NewRouter()
	Handle(server, "text", func(ctx context.Context, n int) (string, error) {
		After(ctx, func() { _ = From(ctx).Notify(context.Background(), "behind", n) })
		return strings.Repeat("é\"", n/4), nil // of n bytes, two of them for the backslashes
	})
	var mu sync.Mutex
	told := map[int]int{}
	all := make(chan struct{})
	sizes := []int{4, keepBuf - 4, keepBuf, keepBuf + 4, 3 * keepBuf, 4, 5 * keepBuf, keepBuf / 2}
	const rounds = 2
	Notify(client, "behind", func(_ context.Context, n int) {
		mu.Lock()
		defer mu.Unlock()
		told[n]++
		sum := 0
		for _, k := range told {
			sum += k
		}
		if sum == rounds*len(sizes) {
			close(all)
		}
	})
	_, c := pair(t, server, client)
	var wg sync.WaitGroup
	for _, n := range sizes {
		wg.Go(func() {
			for range rounds {
				var got string
				if err := c.Call(t.Context(), "text", n, &got); err != nil || got != strings.Repeat("é\"", n/4) {
					t.Errorf("%d: %d bytes, %v", n, len(got), err)
				}
			}
		})
	}
	wg.Wait()
	<-all
	c.stream.mu.Lock()
	defer c.stream.mu.Unlock()
	if n := len(c.stream.answers); n > 0 {
		t.Errorf("%d answers are kept", n)
	}
}

// inPieces is a result that writes itself.
type inPieces [][]byte

func (p inPieces) JSONPieces() ([][]byte, error) {
	return slices.Concat([][]byte{[]byte(`"`)}, p, p, [][]byte{[]byte(`"`)}), nil
}

// TestPiecesStayAsTheyAre has results in pieces sent, some of them small, between other answers: they arrive whole, and what they are made
// of does not change.
func TestPiecesStayAsTheyAre(t *testing.T) {
	server := NewRouter()
	sizes := []int{1, 10, keepBuf / 8, chunk / 2, keepBuf / 4, 2 * keepBuf}
	all := map[int]inPieces{}
	for _, n := range sizes {
		for i, size := range []int{n, 3, n, 0, n} {
			b := slices.Grow([]byte(nil), chunk) // as large as one that is used again
			all[n] = append(all[n], append(b, bytes.Repeat([]byte{byte('a' + i)}, size)...))
		}
	}
	whole := func(n int) string {
		s := string(slices.Concat(all[n]...))
		return s + s
	}
	want := map[int]string{}
	for _, n := range sizes {
		want[n] = whole(n)
	}
	Handle(server, "pieces", func(_ context.Context, n int) (inPieces, error) { return all[n], nil })
	Handle(server, "text", func(_ context.Context, n int) (string, error) { return strings.Repeat("x", n), nil })
	_, c := pair(t, server, NewRouter())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a frame that is not whole is waited for
	defer cancel()
	var wg sync.WaitGroup
	for _, n := range sizes {
		for _, method := range []string{"pieces", "text"} {
			wg.Go(func() {
				for range 10 {
					var got string
					if err := c.Call(ctx, method, n, &got); err != nil || method == "pieces" && got != want[n] {
						t.Errorf("%s %d: %d bytes, %v", method, n, len(got), err)
					}
				}
			})
		}
	}
	wg.Wait()
	for _, n := range sizes {
		if whole(n) != want[n] {
			t.Errorf("the pieces of %d have changed", n)
		}
	}
}

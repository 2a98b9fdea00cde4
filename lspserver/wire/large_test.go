package wire

import (
	"context"
	"strings"
	"sync"
	"testing"
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

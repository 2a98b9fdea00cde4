package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tandem/lspserver/wire/wiretest"
)

// TestLargeAnswers has answers of all sizes come at once, those that are sent without being copied
// among them, each with something that is told behind it: every one is whole.
func TestLargeAnswers(t *testing.T) {
	server, client := NewRouter(), NewRouter()
	Handle(server, "text", func(ctx context.Context, n int) (string, error) {
		After(ctx, func() { _ = From(ctx).Notify(context.Background(), "behind", n) })
		return strings.Repeat("é\"", n/4), nil // of n bytes, two of them for the backslashes
	})
	var mu sync.Mutex
	told := map[int]int{}
	all := make(chan struct{})
	sizes := []int{4, maxPooledBytes - 4, maxPooledBytes, maxPooledBytes + 4, 3 * maxPooledBytes, 4, 5 * maxPooledBytes, maxPooledBytes / 2}
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
	if n := len(c.stream.extras); n > 0 {
		t.Errorf("%d answers are kept", n)
	}
}

// inPieces is a result that writes itself.
type inPieces [][]byte

func (p inPieces) JSONPieces() ([][]byte, error) {
	return slices.Concat([][]byte{[]byte(`"`)}, p, p, [][]byte{[]byte(`"`)}), nil
}

// TestPiecesStayAsTheyAre has results in pieces sent, some of them small, between other answers:
// they arrive whole, and what they are made of does not change.
func TestPiecesStayAsTheyAre(t *testing.T) {
	server := NewRouter()
	sizes := []int{1, 10, maxPooledBytes / 8, chunkBytes / 2, maxPooledBytes / 4, 2 * maxPooledBytes}
	all := map[int]inPieces{}
	for _, n := range sizes {
		for i, size := range []int{n, 3, n, 0, n} {
			b := slices.Grow([]byte(nil), chunkBytes) // as large as one that is used again
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

// TestLargeAnswerIsNoBacklog: one answer may be longer than what may wait for a peer, and other
// messages go on while it is read.
func TestLargeAnswerIsNoBacklog(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		fromPeer, in := io.Pipe()
		out, toPeer := io.Pipe()
		server := NewRouter()
		long := bytes.Repeat([]byte("x"), 4*maxPooledBytes)
		serveBasics(server)
		Handle(server, "long", func(context.Context, struct{}) (inPieces, error) { return inPieces{long}, nil })
		s := Serve(t.Context(), Join(fromPeer, toPeer), server, Options{})
		s.stream.mu.Lock()
		s.stream.maxPending = maxPooledBytes
		s.stream.mu.Unlock()
		read := make([]byte, 10*maxPooledBytes)
		for _, method := range []string{"initialize", "long"} {
			ask := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{}}`, method)
			if _, err := fmt.Fprintf(in, "Content-Length: %d\r\n\r\n%s", len(ask), ask); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if method == "initialize" {
				if _, err := out.Read(read); err != nil {
					t.Fatal(err)
				}
			}
		}
		said := strings.Repeat("y", maxPooledBytes/2)
		for range 2 {
			if err := s.Notify(t.Context(), "x", said); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		for n < 2*len(long)+2*len(said) {
			m, err := out.Read(read[n:])
			if n += m; err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := s.stream.backlog(); n > 0 || len(s.stream.largeRemaining) > 0 {
			t.Errorf("%d bytes wait, of large answers %d", n, s.stream.largeRemaining)
		}
		sent := 0 // what others have to wait with is bounded as before
		for ; sent < 10 && s.Notify(t.Context(), "x", said) == nil; sent++ {
		}
		if <-s.Done(); sent > 4 {
			t.Errorf("%d messages wait, where there is room for 2", sent)
		}
		in.Close()
	})
}

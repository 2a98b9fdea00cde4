package wire

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.lsp.dev/jsonrpc2"
)

// BenchmarkRoundTrip is one request and its answer through two kernel pipes, of ours and of the
// library by itself.
func BenchmarkRoundTrip(b *testing.B) {
	b.Run("library", benchmarkLibrary)
	for _, size := range []int{16, 64 << 10, 10 << 20} {
		server := NewRouter()
		serveBasics(server)
		Handle(server, "echo", func(_ context.Context, s string) (string, error) { return s, nil })
		r1, w1, err1 := os.Pipe()
		r2, w2, err2 := os.Pipe()
		if err1 != nil || err2 != nil {
			b.Fatal(err1, err2)
		}
		s := Serve(b.Context(), Join(r1, w2), server, Options{})
		c := Serve(b.Context(), Join(r2, w1), NewRouter(), Options{Client: true})
		if err := c.Call(b.Context(), "initialize", nil, nil); err != nil {
			b.Fatal(err)
		}
		text := strings.Repeat("x", size)
		call := func() {
			var got string
			if err := c.Call(b.Context(), "echo", text, &got); err != nil || len(got) != size {
				b.Error(len(got), err)
			}
		}
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
		if size == 16 {
			b.Run("16B parallel", func(b *testing.B) {
				b.SetParallelism(4)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						call()
					}
				})
			})
		}
		c.Close()
		<-s.Done()
	}
}

func benchmarkLibrary(b *testing.B) {
	r1, w1, err1 := os.Pipe()
	r2, w2, err2 := os.Pipe()
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	s := jsonrpc2.NewConn(jsonrpc2.NewHeaderStream(Join(r1, w2)))
	s.Go(b.Context(), func(_ context.Context, r *jsonrpc2.Request) (any, error) { return r.Params(), nil })
	c := jsonrpc2.NewConn(jsonrpc2.NewHeaderStream(Join(r2, w1)))
	c.Go(b.Context(), jsonrpc2.MethodNotFoundHandler)
	text := strings.Repeat("x", 16)
	b.ReportAllocs()
	for b.Loop() {
		var got []string
		if _, err := c.Call(b.Context(), "echo", []string{text}, &got); err != nil || len(got) != 1 || got[0] != text {
			b.Fatal(got, err)
		}
	}
	_, _ = c.Close(), s.Close()
	<-c.Done()
	<-s.Done()
}

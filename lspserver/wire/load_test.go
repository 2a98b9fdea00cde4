package wire

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/lspserver/wire/wiretest"
)

// flood sends n requests and gives how many are refused as too many.
func flood(g *rig, n int, ids func(int) string, method, params string) (refused int) {
	var b strings.Builder
	for i := range n {
		b.WriteString(frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, ids(i), method, params)))
	}
	for _, answer := range g.send(b.String()) {
		if strings.HasSuffix(answer, fmt.Sprint(CodeRequestFailed)) {
			refused++
		} else {
			g.t.Errorf("got %s", answer)
		}
	}
	return refused
}

// A client that sends requests without end has the surplus refused, is told of it in words, and can
// still be served where it matters, cancel, and go on.
func TestFloodOfRequests(t *testing.T) {
	r := NewRouter()
	Handle(r, "status", func(context.Context, struct{}) (string, error) { return "well", nil })
	r.Prioritize("status")
	bubble(t, r, func(g *rig) {
		if n := flood(g, maxInflight+500, func(i int) string { return fmt.Sprint(i) }, "wait", "{}"); n != 500 {
			t.Errorf("%d requests were refused", n)
		}
		expect(t, g.send(request(`"s"`, "status")), `"s" "well"`)
		expect(t, g.send(frame(ping)), fmt.Sprintf(`"p" error %d`, CodeRequestFailed))
		expect(t, g.send(note("$/cancelRequest", `{"id":7}`)), fmt.Sprintf("7 error %d", CodeCancelled))
		g.served()
		expect(t, g.send(request(`"d"`, "shutdown")), `"d" null`)
	})
}

// Few requests with much in them are as many as many.
func TestFloodOfBytes(t *testing.T) {
	r := NewRouter()
	Handle(r, "hold", func(ctx context.Context, s string) (int, error) {
		time.Sleep(time.Second)
		return len(s), nil
	})
	bubble(t, r, func(g *rig) {
		const size, fit = 1 << 20, 6
		g.conn.mu.Lock()
		g.conn.maxParamBytes = fit*size + size/2
		g.conn.mu.Unlock()
		params := `"` + strings.Repeat("x", size) + `"`
		if n := flood(g, 9, func(i int) string { return fmt.Sprint(i) }, "hold", params); n != 9-fit {
			t.Errorf("%d requests were refused", n)
		}
		g.served()
		time.Sleep(time.Second)
		if got := g.still(); len(got) != fit {
			t.Errorf("%d answers", len(got))
		}
		g.served()
	})
}

// What the peer has not read is counted, whoever holds it, and the log tells of it.
func TestBacklog(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		fromPeer, in := io.Pipe()
		out, toPeer := io.Pipe()
		var log strings.Builder
		c := Serve(t.Context(), Join(fromPeer, toPeer), NewRouter(), Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		for range 100 {
			if err := c.Notify(t.Context(), "x", strings.Repeat("y", 100<<10)); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if n := c.Backlog(); n < 9<<20 || n > 10<<20 {
			t.Errorf("%d bytes wait", n)
		}
		peer := newFrameReader(out, 1<<20, slog.New(slog.DiscardHandler))
		for range 100 {
			if _, err := peer.next(); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := c.Backlog(); n != 0 {
			t.Errorf("%d bytes wait in the end", n)
		}
		in.Close()
		<-c.Done()
		if strings.Count(log.String(), "the peer reads slowly") != 1 {
			t.Error(log.String())
		}
	})
}

// Everything that is said is traced, and everything that is dealt with is told.
func TestTraceAndHandled(t *testing.T) {
	var trace, handled []string
	r := NewRouter()
	Notify(r, "note", func(context.Context, struct{}) {})
	o := Options{
		Trace: func(in bool, body []byte) { trace = append(trace, fmt.Sprintf("%v %s", in, body)) },
		Handled: func(method string, took time.Duration, err error) {
			handled = append(handled, fmt.Sprint(method, " ", took, " ", err))
		},
	}
	bubbleOf(t, r, o, func(g *rig) {
		g.served()
		g.send(frame("no json"), note("note", "{}"), note("note", "[]"), request("9", "none"))
	})
	for _, want := range []string{
		"true " + ping, `false {"jsonrpc":"2.0","id":"p","result":"pong"}`, "true no json",
		`true {"jsonrpc":"2.0","method":"note","params":{}}`,
	} {
		if !slices.Contains(trace, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(trace, "\n"))
		}
	}
	if got := strings.Join(handled, "\n"); !strings.HasPrefix(got, "initialize 0s <nil>\nping 0s <nil>\nnote 0s <nil>\nnote 0s ") {
		t.Error(got)
	}
}

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tandem/lspserver/wire/wiretest"
)

// rig is a server under test and a peer that speaks bytes. It lives in a synctest bubble.
type rig struct {
	t    testing.TB
	conn *Conn
	in   *io.PipeWriter
	log  *strings.Builder

	mu  sync.Mutex
	got []reply
	eof bool
}

// reply is one message the server sent.
type reply struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    jsontext.Value `json:"data"`
	} `json:"error"`
}

func (r reply) String() string {
	switch {
	case r.Method != "":
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.Params, r.ID))
	case r.Error != nil:
		return fmt.Sprintf("%s error %d", r.ID, r.Error.Code)
	}
	return fmt.Sprintf("%s %s", r.ID, r.Result)
}

// newRig starts a server of r, which is given initialize, "ping" (answers "pong") and "wait"
// (answers its context's error once that has ended).
func newRig(t testing.TB, r *Router, o Options) *rig {
	if r == nil {
		r = NewRouter()
	}
	serveBasics(r)
	fromPeer, in := io.Pipe()
	out, toPeer := io.Pipe()
	g := &rig{t: t, in: in, log: &strings.Builder{}}
	var answers frames = newFrameReader(out, 1<<30, slog.New(slog.DiscardHandler))
	if o.ACP {
		answers = newLineReader(out, 1<<30)
	}
	o.Log = slog.New(slog.NewTextHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	g.conn = Serve(t.Context(), Join(fromPeer, toPeer), r, o)
	go g.read(answers)
	return g
}

func serveBasics(r *Router) {
	if r.requests["initialize"] == nil {
		Handle(r, "initialize", func(context.Context, jsontext.Value) (struct{}, error) { return struct{}{}, nil })
	}
	Handle(r, "ping", func(context.Context, struct{}) (string, error) { return "pong", nil })
	Handle(r, "wait", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
}

func (g *rig) read(in frames) {
	for {
		body, err := in.next()
		if err != nil {
			g.mu.Lock()
			g.eof = err == io.EOF
			g.mu.Unlock()
			return
		}
		var m reply
		if err := json.Unmarshal(body, &m); err != nil {
			g.t.Errorf("the server sent %.200q: %v", body, err)
		}
		g.mu.Lock()
		g.got = append(g.got, m)
		g.mu.Unlock()
	}
}

// send writes bytes and returns what the server has answered once everything is still.
func (g *rig) send(raw ...string) []string {
	for _, s := range raw {
		if _, err := io.WriteString(g.in, s); err != nil && !errors.Is(err, io.ErrClosedPipe) {
			g.t.Error(err)
		}
	}
	return g.still()
}

func (g *rig) still() []string {
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	var lines []string
	for _, m := range g.got {
		lines = append(lines, m.String())
	}
	g.got = nil
	return lines
}

func (g *rig) initialize() {
	got := g.send(frame(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}`))
	if fmt.Sprint(got) != `["i" {}]` {
		g.t.Fatalf("initialize: %v", got)
	}
}

// served fails unless the server answers a ping and nothing else.
func (g *rig) served() {
	g.t.Helper()
	if got := g.send(frame(ping)); fmt.Sprint(got) != `["p" "pong"]` {
		g.t.Errorf("afterwards a ping gets %v", got)
	}
}

const ping = `{"jsonrpc":"2.0","id":"p","method":"ping"}`

func frame(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

func request(id, method string) string {
	return frame(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"}`)
}

func note(method, params string) string {
	return frame(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`)
}

// bubble runs fn on an initialized rig inside a bubble, and sees to it that the connection ends.
func bubble(t *testing.T, r *Router, fn func(g *rig)) {
	t.Helper()
	bubbleOf(t, r, Options{}, fn)
}

func bubbleOf(t *testing.T, r *Router, o Options, fn func(g *rig)) {
	t.Helper()
	wiretest.Bubble(t, func(t *testing.T) {
		g := newRig(t, r, o)
		g.initialize()
		fn(g)
		g.in.Close()
		<-g.conn.Done()
	})
}

// expect compares what was answered.
func expect(t testing.TB, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"tandem/lspserver/wire/wiretest"
)

// pair connects an initialized server to a client.
func pair(t testing.TB, server, client *Router) (s, c *Conn) {
	a, b := wiretest.Pipes()
	serveBasics(server)
	if client == nil {
		client = NewRouter()
	}
	s = Serve(t.Context(), a, server, Options{})
	c = Serve(t.Context(), b, client, Options{Client: true})
	if err := c.Call(t.Context(), "initialize", nil, nil); err != nil {
		t.Fatal(err)
	}
	return s, c
}

func holdUntilDone(ended chan<- struct{}) func(context.Context, struct{}) (struct{}, error) {
	return func(ctx context.Context, _ struct{}) (struct{}, error) {
		<-ctx.Done()
		close(ended)
		return struct{}{}, ctx.Err()
	}
}

func TestCaseJ09Lifecycle(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		r := NewRouter()
		var notes []string
		Notify(r, "note", func(_ context.Context, s string) { notes = append(notes, s) })
		g := newRig(t, r, Options{})
		expect(t, g.send(frame(ping), request("1", "nope"), note("note", `"early"`)), `"p" error -32002`, "1 error -32002")
		expect(t, g.send(request("0", "shutdown")), "0 error -32002")
		g.initialize()
		expect(t, g.send(request("1", "initialize"), request("2", "nope")), "1 error -32600", "2 error -32601")
		expect(t, g.send(note("note", `"heard"`)))
		g.served()
		expect(t, g.send(request("3", "shutdown")), "3 null")
		expect(t, g.send(frame(ping), request("4", "initialize"), request("5", "shutdown"), note("note", `"late"`)),
			`"p" error -32600`, "4 error -32600", "5 error -32600")
		g.send(note("exit", "null"))
		if code := g.conn.Wait(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		expect(t, notes, "heard")
	})
}

// F239: a script of raw frames gets from initialize to exit 0, though it closes its end at once.
func TestScriptClosesItsEndAtOnce(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		g := newRig(t, nil, Options{})
		io.WriteString(g.in, frame(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null}}`)+
			note("initialized", "{}")+request("2", "ping")+request("3", "shutdown")+note("exit", "{}"))
		g.in.Close()
		if code := g.conn.Wait(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		got := strings.Join(g.still(), ", ")
		for _, want := range []string{"1 {}", `2 "pong"`, "3 null"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %s in %s", want, got)
			}
		}
		if !g.eof {
			t.Error("the output was not closed")
		}
	})
}

func TestExitCode(t *testing.T) {
	for name, c := range map[string]struct {
		end  []string
		want int
	}{
		"exit without shutdown": {[]string{note("exit", "{}")}, 1},
		"exit after shutdown":   {[]string{request("1", "shutdown"), note("exit", "{}")}, 0},
		"end without shutdown":  {nil, 1},
		"end after shutdown":    {[]string{request("1", "shutdown")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(g *rig) {
				g.send(c.end...)
				g.in.Close()
				if code := g.conn.Wait(); code != c.want {
					t.Errorf("exit code %d", code)
				}
			})
		})
	}
	t.Run("exit before initialize", func(t *testing.T) {
		wiretest.Bubble(t, func(t *testing.T) {
			g := newRig(t, nil, Options{})
			g.send(note("exit", "{}"))
			if code := g.conn.Wait(); code != 1 {
				t.Errorf("exit code %d", code)
			}
		})
	})
}

// What comes right behind initialize finds the server initialized; a failed initialize may be tried
// again.
func TestInitializeRunsAlone(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		r := NewRouter()
		tries := 0
		Handle(r, "initialize", func(context.Context, struct{}) (struct{}, error) {
			time.Sleep(time.Second)
			if tries++; tries == 1 {
				return struct{}{}, errors.New("no")
			}
			return struct{}{}, nil
		})
		g := newRig(t, r, Options{})
		io.WriteString(g.in, request("1", "initialize")+request("2", "ping")+request("3", "initialize")+request("4", "ping"))
		time.Sleep(3 * time.Second)
		expect(t, g.still(), "1 error -32603", "2 error -32002", "3 {}", `4 "pong"`)
		g.in.Close()
		<-g.conn.Done()
	})
}

// exit that follows shutdown at once does not cut it short.
func TestExitWaitsForShutdown(t *testing.T) {
	r := NewRouter()
	cleaned := false
	Handle(r, "shutdown", func(ctx context.Context, _ struct{}) (any, error) {
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
			cleaned = true
		}
		return nil, nil
	})
	bubble(t, r, func(g *rig) {
		io.WriteString(g.in, request("1", "shutdown")+note("exit", "{}"))
		if code := g.conn.Wait(); code != 0 || !cleaned {
			t.Errorf("exit code %d, cleaned up: %t", code, cleaned)
		}
		expect(t, g.still(), "1 null")
	})
}

// A handler that ignores the end holds it up for a bounded time.
func TestEndDoesNotWaitForStuckHandlers(t *testing.T) {
	r := NewRouter()
	var release chan struct{} // of the bubble
	Handle(r, "stuck", func(context.Context, struct{}) (any, error) { <-release; return nil, nil })
	bubble(t, r, func(g *rig) {
		release = make(chan struct{})
		g.send(request("1", "stuck"))
		begin := time.Now()
		g.in.Close()
		<-g.conn.Done()
		if took := time.Since(begin); took > 1500*time.Millisecond {
			t.Errorf("took %v", took)
		}
		close(release)
	})
}

// The end of the input reaches running handlers at once, whatever else the server is doing.
func TestEndOfInputCancelsHandlers(t *testing.T) {
	r := NewRouter()
	ended := make(chan struct{})
	Handle(r, "hold", holdUntilDone(ended))
	bubble(t, r, func(g *rig) {
		g.send(request("1", "hold"))
		begin := time.Now()
		g.in.Close()
		<-ended
		if took := time.Since(begin); took != 0 {
			t.Errorf("took %v", took)
		}
	})
}

// A context derived from a handler's stays whole when the request's memory is used again.
func TestDerivedContextsSurvivePooling(t *testing.T) {
	const calls = 20_000
	server := NewRouter()
	derive := func(ctx context.Context) {
		one, cancel := context.WithTimeout(ctx, time.Hour)
		two, cancelTwo := context.WithCancel(one)
		context.AfterFunc(two, func() {})
		cancel()
		cancelTwo()
		_ = context.WithoutCancel(two)
	}
	Handle(server, "derive", func(ctx context.Context, _ struct{}) (any, error) { derive(ctx); return nil, nil })
	Notify(server, "derive/note", func(ctx context.Context, _ struct{}) { derive(ctx) })
	_, c := pair(t, server, nil)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range calls / 4 {
				err := c.Notify(t.Context(), "derive/note", nil)
				if err = errors.Join(err, c.Call(t.Context(), "derive", nil, nil)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	c.Close()
}

// 2000 changes arrive in order, and each request sees all the changes sent before it.
func TestNotificationsInOrder(t *testing.T) {
	server := NewRouter()
	var version atomic.Int32
	Notify(server, "textDocument/didChange", func(_ context.Context, p protocol.DidChangeTextDocumentParams) {
		if was := version.Swap(p.TextDocument.Version); was != p.TextDocument.Version-1 {
			t.Errorf("version %d after %d", p.TextDocument.Version, was)
		}
	})
	Handle(server, "version", func(context.Context, struct{}) (int32, error) { return version.Load(), nil })
	_, c := pair(t, server, nil)
	var all sync.WaitGroup
	for v := int32(1); v <= 2000; v++ {
		p := protocol.DidChangeTextDocumentParams{TextDocument: protocol.VersionedTextDocumentIdentifier{Version: v}}
		p.TextDocument.URI = "file:///x"
		if err := c.Notify(t.Context(), "textDocument/didChange", &p); err != nil {
			t.Fatal(err)
		}
		if v%50 == 0 {
			all.Go(func() {
				var seen int32
				if err := c.Call(t.Context(), "version", nil, &seen); err != nil || seen < v {
					t.Errorf("request after version %d saw %d, %v", v, seen, err)
				}
			})
		}
	}
	all.Wait()
	c.Close()
}

// The first part of such a request has happened when the next message is looked at; the second
// holds nothing up.
func TestHandleInOrder(t *testing.T) {
	r := NewRouter()
	var order []string
	HandleInOrder(r, "begin", func(ctx context.Context, n int) (func(context.Context) (int, error), error) {
		if n < 0 {
			return nil, &Error{Code: CodeInvalidParams, Message: "negative"}
		}
		if err := From(ctx).Call(ctx, "x", nil, nil); err == nil || !strings.Contains(err.Error(), "wait for itself") {
			t.Errorf("a call from the first part: %v", err)
		}
		time.Sleep(time.Second)
		order = append(order, fmt.Sprint("begun ", n))
		return func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}, nil
	})
	Notify(r, "note", func(_ context.Context, n int) { order = append(order, fmt.Sprint("note ", n)) })
	bubble(t, r, func(g *rig) {
		call := func(id, n string) string {
			return frame(`{"jsonrpc":"2.0","id":` + id + `,"method":"begin","params":` + n + `}`)
		}
		io.WriteString(g.in, call("1", "1")+note("note", "1")+call("2", "2")+note("note", "2"))
		time.Sleep(3 * time.Second)
		expect(t, g.send(call("3", "-1"), call("4", `"x"`)), "3 error -32602", "4 error -32602")
		expect(t, order, "begun 1", "note 1", "begun 2", "note 2")
		expect(t, g.send(note("$/cancelRequest", `{"id":2}`)), "2 error -32800")
		g.served()
	})
}

// Two peers that both write much before they read anything do not hold each other up.
func TestBothWriteAtOnce(t *testing.T) {
	server, client := NewRouter(), NewRouter()
	big := strings.Repeat("x", 256<<10) // more than any pipe holds
	const rounds = 10
	var echoes atomic.Int32
	for _, r := range []*Router{server, client} {
		Notify(r, "flood", func(ctx context.Context, s string) {
			for range 3 {
				if err := From(ctx).Notify(ctx, "echo", s); err != nil { // from the reading goroutine
					t.Error(err)
				}
			}
		})
		Notify(r, "echo", func(context.Context, string) { echoes.Add(1) })
		Handle(r, "callback", func(ctx context.Context, s string) (string, error) { return s, nil })
	}
	Handle(server, "ask", func(ctx context.Context, s string) (got string, err error) {
		return got, From(ctx).Call(ctx, "callback", s, &got)
	})
	s, c := pair(t, server, client)
	var all sync.WaitGroup
	for _, conn := range []*Conn{s, c} {
		all.Go(func() {
			for range rounds {
				if err := conn.Notify(t.Context(), "flood", big); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var got string
	if err := c.Call(t.Context(), "ask", "hello", &got); err != nil || got != "hello" {
		t.Errorf("a request that asks back got %q, %v", got, err)
	}
	all.Wait()
	for range 3 { // each round trip lets what was in flight arrive
		for _, conn := range []*Conn{s, c} {
			if err := conn.Call(t.Context(), "callback", "", &got); err != nil {
				t.Error(err)
			}
		}
	}
	if n := echoes.Load(); n != 2*3*rounds {
		t.Errorf("%d of %d arrived", n, 2*3*rounds)
	}
	c.Close()
	s.Close()
}

// A peer that reads nothing at all loses its connection, not the server its memory.
func TestPeerThatNeverReads(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		fromPeer, in := io.Pipe()
		_, toPeer := io.Pipe()
		c := Serve(t.Context(), Join(fromPeer, toPeer), NewRouter(), Options{})
		c.stream.mu.Lock()
		c.stream.maxPending = 1 << 20
		c.stream.mu.Unlock()
		kilobyte := strings.Repeat("x", 1000)
		sent := 0
		for ; sent < 10_000; sent++ {
			if err := c.Notify(t.Context(), "x", kilobyte); err != nil {
				break
			}
		}
		if sent < 900 || sent > 2200 { // what waits, and what the writer has taken
			t.Errorf("gave up after %d kB", sent)
		}
		<-c.Done()
		if err := context.Cause(c.Context()); err != errPeerNotReading {
			t.Errorf("ended by %v", err)
		}
		in.Close()
	})
}

func TestErrors(t *testing.T) {
	r := NewRouter()
	fail := map[string]error{
		"plain":   errors.New("the disk is full\xff"),
		"named":   &Error{Code: -32011, Name: "unknown_session", Message: "no session x"},
		"wrapped": fmt.Errorf("prompt: %w", &Error{Code: -32012, Name: "session_busy", Message: "busy"}),
	}
	for name, err := range fail {
		Handle(r, name, func(context.Context, struct{}) (any, error) { return nil, err })
	}
	Handle(r, "panic", func(context.Context, struct{}) (any, error) { panic("secret") })
	Handle(r, "badResult", func(context.Context, struct{}) (any, error) { return make(chan int), nil })
	Handle(r, "panickyResult", func(context.Context, struct{}) (any, error) { return panicky{}, nil })
	Notify(r, "panic/note", func(context.Context, struct{}) { panic("secret") })
	Handle(r, "lsp", func(context.Context, protocol.HoverParams) (any, error) { return nil, nil })
	bubble(t, r, func(g *rig) {
		for method, want := range map[string]string{
			"plain":         "-32603 the disk is full\ufffd null",
			"named":         `-32011 no session x {"code":"unknown_session"}`,
			"wrapped":       `-32012 prompt: busy {"code":"session_busy"}`,
			"panic":         "-32603 internal error; the log has the details null",
			"panickyResult": "-32603 internal error; the log has the details null",
		} {
			io.WriteString(g.in, request("1", method))
			synctest.Wait()
			g.mu.Lock()
			e := g.got[0].Error
			g.mu.Unlock()
			if got := fmt.Sprintf("%d %s %s", e.Code, e.Message, e.Data); got != want {
				t.Errorf("%s: %s", method, got)
			}
			g.still()
		}
		expect(t, g.send(request("2", "badResult")), "2 error -32603")
		expect(t, g.send(note("panic/note", "{}")))
		if log := g.log.String(); !strings.Contains(log, "conn_test.go") || !strings.Contains(log, "secret") {
			t.Error("no stack in the log")
		}
		expect(t, g.send(frame(`{"jsonrpc":"2.0","id":3,"method":"lsp","params":{"textDocument":7}}`)), "3 error -32602")
		g.served()
	})
}

type panicky struct{}

func (panicky) MarshalJSON() ([]byte, error) { panic("secret") }

func TestCancel(t *testing.T) {
	r := NewRouter()
	Handle(r, "finish", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "done all the same", nil
	})
	bubble(t, r, func(g *rig) {
		expect(t, g.send(request("1", "wait"), request(`"1"`, "wait"), request("8589934592", "wait"), request("4", "finish")))
		expect(t, g.send(note("$/cancelRequest", `{"id":"1"}`)), `"1" error -32800`)
		expect(t, g.send(note("$/cancelRequest", `{"id":8589934592}`)), "8589934592 error -32800")
		expect(t, g.send(note("$/cancelRequest", `{"id":1}`), note("$/cancelRequest", `{"id":1}`)), "1 error -32800")
		expect(t, g.send(note("$/cancelRequest", `{"id":4}`)), `4 "done all the same"`)
		g.served()
	})
}

// J08: a request under an id still in flight is refused, and not under that id.
func TestCaseJ08IDInFlight(t *testing.T) {
	bubble(t, nil, func(g *rig) {
		g.send(request("7", "wait"))
		expect(t, g.send(request("7", "ping")), "null error -32600")
		expect(t, g.send(note("$/cancelRequest", `{"id":7}`)), "7 error -32800")
		expect(t, g.send(request("7", "ping")), `7 "pong"`)
	})
}

func TestCall(t *testing.T) {
	type answer struct{ N int }
	client := NewRouter()
	started := make(chan struct{}, 1)
	stopped := make(chan struct{}, 1)
	Handle(client, "add", func(_ context.Context, p []int) (answer, error) { return answer{p[0] + p[1]}, nil })
	Handle(client, "hang", func(ctx context.Context, _ struct{}) (any, error) {
		started <- struct{}{}
		<-ctx.Done()
		stopped <- struct{}{}
		return nil, ctx.Err()
	})
	Handle(client, "refuse", func(context.Context, struct{}) (any, error) {
		return nil, &Error{Code: -32013, Name: "model_unavailable", Message: "set a key"}
	})
	Handle(client, "null", func(context.Context, struct{}) (any, error) { return nil, nil })
	server := NewRouter()
	Handle(server, "early", func(ctx context.Context, _ struct{}) (any, error) { return nil, nil })
	noteErr := make(chan error, 1)
	Notify(server, "note", func(ctx context.Context, _ struct{}) { noteErr <- From(ctx).Call(ctx, "null", nil, nil) })
	s, c := pair(t, server, client)

	var got answer
	if err := s.Call(t.Context(), "add", []int{2, 3}, &got); err != nil || got.N != 5 {
		t.Errorf("add: %v, %v", got, err)
	}
	if err := s.Call(t.Context(), "null", nil, &got); err != nil {
		t.Error(err)
	}
	var e *Error
	refusal := Error{Code: -32013, Name: "model_unavailable", Message: "set a key"}
	if err := s.Call(t.Context(), "refuse", nil, nil); !errors.As(err, &e) || *e != refusal {
		t.Errorf("refuse: %#v", err)
	}
	if err := s.Call(t.Context(), "nope", nil, nil); !errors.As(err, &e) || e.Code != CodeMethodNotFound {
		t.Errorf("nope: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if err := s.Call(ctx, "hang", nil, nil); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	<-stopped // the client was told
	if err := c.Notify(t.Context(), "note", nil); err != nil {
		t.Error(err)
	}
	if err := <-noteErr; err == nil || !strings.Contains(err.Error(), "wait for itself") {
		t.Errorf("a call from a notification's handler: %v", err)
	}
	go func() { <-started; c.Close() }()
	// Its last answer and the end of the bytes come together: either may be seen first.
	err := s.Call(context.Background(), "hang", nil, nil)
	if cancelled := errors.As(err, &e) && e.Code == CodeCancelled; !cancelled && err != ErrClosed {
		t.Errorf("the client that closes says %v", err)
	}
	<-s.Done()
	if err := s.Call(context.Background(), "add", []int{1, 2}, nil); err != ErrClosed {
		t.Errorf("after the end: %v", err)
	}
	if err := s.Notify(context.Background(), "add", nil); err != ErrClosed {
		t.Errorf("after the end: %v", err)
	}
}

// The end of the connection ends a call, whatever its own context.
func TestEndOfInputEndsCalls(t *testing.T) {
	bubble(t, nil, func(g *rig) {
		failed := make(chan error, 1)
		go func() { failed <- g.conn.Call(context.Background(), "x", nil, nil) }()
		expect(t, g.still(), "x null 1")
		g.in.Close()
		if err := <-failed; err != ErrClosed {
			t.Error(err)
		}
	})
}

// What a client answers wrongly still ends the call.
func TestMisshapenAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":5}`:                                "<nil>",
		`{"jsonrpc":"2.0","id":1,"result":5,"error":null}`:                   "<nil>",
		`{"id":1,"result":5}`:                                                "<nil>",
		`{"jsonrpc":"2.0","id":1,"result":5,"result":6}`:                     "<nil>",
		`{"jsonrpc":"2.0","id":1,"error":{"code":-7,"message":"m"}}`:         "m",
		`{"jsonrpc":"2.0","id":1,"error":"no"}`:                              "error response of another shape",
		`{"jsonrpc":"2.0","id":1,"error":{"code":1e9,"message":"m"}}`:        "error response of another shape",
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":7}}`: "m",
		`{"jsonrpc":"2.0","id":1,"result":"x"}`:                              "unmarshal",
		`{"jsonrpc":"2.0","id":1,"result":5,"half":"\ud83d"}`:                "<nil>",
	} {
		bubble(t, nil, func(g *rig) {
			failed := make(chan error, 1)
			go func() {
				var n int
				failed <- g.conn.Call(context.Background(), "x", nil, &n)
			}()
			expect(t, g.still(), "x null 1")
			g.send(frame(answer))
			if err := <-failed; !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s: %v", answer, err)
			}
		})
	}
}

// What is written is JSON whatever the Go strings hold, and what is decoded does not alias the
// frame.
func TestCodec(t *testing.T) {
	type own struct {
		Text  string         `json:"text"`
		List  []int          `json:"list"`
		Map   map[string]int `json:"map"`
		Empty string         `json:"empty,omitempty"`
		Zero  int            `json:"zero,omitempty"`
		No    bool           `json:"no,omitzero"`
		Raw   jsontext.Value `json:"raw,omitempty"`
	}
	for v, want := range map[any]string{
		&own{Text: "a\xffb\x00<"}: `{"text":"a�b\u0000<","list":[],"map":{},"zero":0}`,
		&protocol.TextEdit{NewText: "a\xff"}: `{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},` +
			`"newText":"a�"}`,
	} {
		got, err := codec{}.Marshal(v)
		if string(got) != want || err != nil {
			t.Errorf("%s, %v", got, err)
		}
	}
	data := []byte(`{"text":"abc","raw":{"x":1},"unknown":[]}`)
	v, err := decoder[own]()(data)
	for i := range data {
		data[i] = '#'
	}
	if err != nil || v.Text != "abc" || string(v.Raw) != `{"x":1}` {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := decoder[own]()([]byte(`{"TEXT":"x","text":1}`)); err == nil {
		t.Error("text took a number")
	}
	if v, err := decoder[own]()([]byte(`{"TEXT":"x"}`)); err != nil || v.Text != "" {
		t.Errorf("TEXT was taken for text: %+v, %v", v, err)
	}
	type mixed struct {
		Edit protocol.WorkspaceEdit `json:"edit"`
		Own  int                    `json:"own"`
		Text string                 `json:"text,omitempty"`
	}
	create := &protocol.CreateFile{Kind: "create", URI: "file:///x"}
	edit := protocol.WorkspaceEdit{DocumentChanges: []protocol.DocumentChange{create}}
	raw, err := codec{}.Marshal(mixed{Edit: edit, Own: 1, Text: "half \xff"})
	if err != nil {
		t.Fatal(err)
	}
	if library, err := protocol.Marshal(mixed{Edit: edit, Own: 1, Text: "half \xff"}); err != nil || string(library) != string(raw) {
		t.Errorf("%s is %s, %v, with the library alone", raw, library, err)
	}
	if v, err := decoder[mixed]()(raw); err != nil || len(v.Edit.DocumentChanges) != 1 || v.Own != 1 {
		t.Errorf("%+v, %v", v, err)
	} else if _, ok := v.Edit.DocumentChanges[0].(*protocol.CreateFile); !ok {
		t.Errorf("%T came of %s", v.Edit.DocumentChanges[0], raw)
	}
	if v, err := decoder[protocol.Position]()([]byte(`{"line":1,"line":2}`)); err != nil || v.Line != 2 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestRegisteringTwicePanics(t *testing.T) {
	for _, method := range []string{"a", "b", "exit", "$/cancelRequest"} {
		r := NewRouter()
		Handle(r, "a", func(context.Context, struct{}) (any, error) { return nil, nil })
		Notify(r, "b", func(context.Context, struct{}) {})
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was taken", method)
				}
			}()
			Notify(r, method, func(context.Context, struct{}) {})
		}()
	}
}

// Twenty connections of one router at once, each with requests, notifications, calls back, cancels
// and damage.
func TestTwentyConnections(t *testing.T) {
	server, client := NewRouter(), NewRouter()
	serveBasics(server)
	Handle(client, "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	Handle(server, "quadruple", func(ctx context.Context, n int) (int, error) {
		for range 2 {
			if err := From(ctx).Call(ctx, "double", n, &n); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	Notify(server, "note", func(ctx context.Context, n int) { _ = From(ctx).Notify(ctx, "note", n) })
	Notify(client, "note", func(context.Context, int) {})
	var all sync.WaitGroup
	for range 20 {
		a, b := wiretest.Pipes()
		s := Serve(t.Context(), a, server, Options{})
		c := Serve(t.Context(), b, client, Options{Client: true})
		if err := c.Call(t.Context(), "initialize", nil, nil); err != nil {
			t.Fatal(err)
		}
		var work sync.WaitGroup
		for i := range 8 {
			work.Go(func() {
				for n := range 50 {
					got := 0
					if err := c.Call(t.Context(), "quadruple", n, &got); err != nil || got != 4*n {
						t.Errorf("got %d, %v", got, err)
					}
					_ = c.Notify(t.Context(), "note", n)
					if i == 0 {
						ctx, cancel := context.WithCancel(t.Context())
						time.AfterFunc(time.Duration(rand.IntN(200))*time.Microsecond, cancel)
						if err := c.Call(ctx, "wait", nil, nil); err == nil {
							t.Error("wait came back")
						}
						_, _ = c.stream.enqueue(jsonrpc2.NewNotification("damage", jsonrpc2.RawMessage("{abc")), false)
					}
				}
			})
		}
		all.Go(func() {
			work.Wait()
			c.Close()
			<-s.Done()
		})
	}
	all.Wait()
}

func FuzzFrameReader(f *testing.F) {
	for _, s := range []string{
		frame(ping), "Content-Length: 50\r\n\r\n" + ping + frame(ping), "Content-Length: -1\r\n\r\n" + frame(ping),
		"\ufeffcontent-length:2\n\n{}", "X: " + strings.Repeat("y", maxLine) + frame(ping), "Content-Length: 3000\r\n\r\n{}",
		"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}Content-Length: 2\r\n\r\n{}",
	} {
		f.Add(s, 1)
	}
	f.Fuzz(func(t *testing.T, in string, chunk int) {
		const limit = 1000
		run := func(src io.Reader) (out []string) {
			r := newFrameReader(src, limit, slog.New(slog.DiscardHandler))
			for {
				body, err := r.next()
				var bad *Error
				switch {
				case errors.As(err, &bad):
					out = append(out, "error")
				case err != nil:
					return out
				case len(body) > limit:
					t.Fatalf("body of %d bytes", len(body))
				default:
					out = append(out, string(body))
				}
			}
		}
		whole := run(strings.NewReader(in))
		if pieces := run(&chunks{in, max(1, chunk%100)}); fmt.Sprint(whole) != fmt.Sprint(pieces) {
			t.Fatalf("whole  %q\npieces %q", whole, pieces)
		}
		// Wherever the damage left off, the second of two good frames behind it is read.
		after := run(strings.NewReader(in + "\r\n\r\n" + frame(ping) + frame(ping)))
		if len(after) == 0 || after[len(after)-1] != ping {
			t.Fatalf("a good frame behind it is lost: %q", after)
		}
	})
}

// chunks reads n bytes at a time.
type chunks struct {
	s string
	n int
}

func (c *chunks) Read(b []byte) (int, error) {
	if c.s == "" {
		return 0, io.EOF
	}
	n := copy(b, c.s[:min(c.n, len(c.s))])
	c.s = c.s[n:]
	return n, nil
}

// FuzzParse checks that jsonrpc2, shown what parse accepted, sees the same message.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		ping, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"a\u0000\"b","params":[1]}`, `[]`, `{}`,
		`{"jsonrpc":"2.0","id":"\n","error":{"code":1,"message":"x","data":{"code":"y"}}}`, `{"id":1e999,"method":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var p parser
		m, bad := p.parse(body)
		valid := jsontext.Value(strings.TrimPrefix(string(body), "\ufeff")).IsValid(jsontext.AllowDuplicateNames(true))
		if valid == (bad != nil && bad.Code == CodeParseError) {
			t.Fatalf("JSON is valid: %t, answer %v", valid, bad)
		}
		if bad != nil || m.response && !m.id.IsValid() {
			return
		}
		shown, err := jsonrpc2.DecodeMessage(m.frame(nil))
		if err != nil {
			t.Fatal(err)
		}
		switch shown := shown.(type) {
		case *jsonrpc2.Call:
			if m.response || shown.ID() != m.id || shown.Method() != m.method {
				t.Fatalf("%+v shown as %+v", m, shown)
			}
		case *jsonrpc2.Notification:
			if m.response || m.id.IsValid() || shown.Method() != m.method {
				t.Fatalf("%+v shown as %+v", m, shown)
			}
		case *jsonrpc2.Response:
			if !m.response || shown.ID() != m.id || (shown.Err() == nil) != (m.err == nil) {
				t.Fatalf("%+v shown as %+v", m, shown)
			}
		}
	})
}

package wire

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"tandem/lspserver/wire/wiretest"
)

// acp runs fn on a rig that speaks the Agent Client Protocol and has been initialized.
func acp(t *testing.T, r *Router, o Options, fn func(g *rig)) {
	t.Helper()
	wiretest.Bubble(t, func(t *testing.T) {
		o.ACP = true
		g := newRig(t, r, o)
		expect(t, g.send(`{"jsonrpc":"2.0","id":"i","method":"initialize"}`+"\n"), `"i" {}`)
		fn(g)
		g.in.Close()
		if code := g.conn.Wait(); code != 0 {
			t.Errorf("the end of the bytes ends it with %d", code)
		}
	})
}

const line = ping + "\n"

func TestLinesLifecycle(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		r := NewRouter()
		var notes []string
		Notify(r, "note", func(_ context.Context, s string) { notes = append(notes, s) })
		g := newRig(t, r, Options{ACP: true})
		expect(t, g.send(line), `"p" error -32600`)
		expect(t, g.send(`{"jsonrpc":"2.0","id":"i","method":"initialize"}`+"\r\n"), `"i" {}`)
		// What ends a connection of LSP means nothing here.
		expect(t, g.send(`{"jsonrpc":"2.0","id":1,"method":"shutdown"}`+"\n", `{"jsonrpc":"2.0","method":"exit"}`+"\n"), "1 error -32601")
		expect(t, g.send(`{"jsonrpc":"2.0","method":"note","params":"heard"}`+"\n", line), `"p" "pong"`)
		if len(notes) != 1 {
			t.Errorf("heard %q", notes)
		}
		g.in.Close()
		if code := g.conn.Wait(); code != 0 {
			t.Errorf("the end of the bytes ends it with %d", code)
		}
	})
}

func TestLinesDamaged(t *testing.T) {
	acp(t, nil, Options{MaxMessage: 100}, func(g *rig) {
		for _, bad := range []struct{ name, line, want string }{
			{"no JSON", "nonsense", "null error -32700"},
			{"half a message", `{"jsonrpc":"2.0","id":1,`, "null error -32700"},
			{"a header of LSP", "Content-Length: 12", "null error -32700"},
			{"a batch", "[" + ping + "]", "null error -32600"},
			{"two messages", ping + " " + ping, "null error -32700"},
			{"no version", `{"id":1,"method":"ping"}`, "1 error -32600"},
			{"over the limit", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("a", 1<<20) + `"}`, "null error -32600"},
			{"NUL", "\x00", "null error -32700"},
		} {
			got := g.send(bad.line+"\n", "\n", "  \r\n", line)
			expect(t, got, bad.want, `"p" "pong"`)
		}
		expect(t, g.send(ping[:20])) // not a message before its line has ended
		expect(t, g.send(ping[20:]+"\n"+line), `"p" "pong"`, `"p" "pong"`)
	})
}

func TestLinesCutOff(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		g := newRig(t, nil, Options{ACP: true})
		expect(t, g.send(`{"jsonrpc":"2.0","id":"i","method":"initialize"}`))
		g.in.Close()
		if code := g.conn.Wait(); code != 1 {
			t.Errorf("an end within a message ends it with %d", code)
		}
	})
}

func TestLinesCancel(t *testing.T) {
	r := NewRouter()
	asked := make(chan error, 1)
	Handle(r, "ask", func(ctx context.Context, _ struct{}) (string, error) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		asked <- From(ctx).Call(ctx, "permission", nil, nil)
		return "asked", nil
	})
	acp(t, r, Options{}, func(g *rig) {
		expect(t, g.send(`{"jsonrpc":"2.0","id":7,"method":"wait"}`+"\n"))
		expect(t, g.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}`+"\n"))
		expect(t, g.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`+"\n"), "7 error -32800")

		got := strings.Join(g.send(`{"jsonrpc":"2.0","id":8,"method":"ask"}`+"\n"), "\n")
		if err := <-asked; err == nil || !strings.Contains(got, `$/cancel_request {"requestId":1}`) {
			t.Errorf("a request that is given up: %v, told of by %s", err, got)
		}
	})
}

// A JSON text with line ends between its tokens goes out as one line.
func TestLinesGoOutWhole(t *testing.T) {
	r := NewRouter()
	Handle(r, "echo", func(_ context.Context, p jsontext.Value) (any, error) { return p, nil })
	acp(t, r, Options{}, func(g *rig) {
		expect(t, g.send(`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":"x\ny"}}`+"\n"), `1 {"a":"x\ny"}`)
	})
	if got := string(appendLine(nil, []byte("{\r\n\"a\":\n1}"))); got != "{  \"a\": 1}\n" {
		t.Errorf("%q", got)
	}
}

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"tandem/lspserver/conformance"
	"tandem/lspserver/wire"
	"tandem/tools/mcp/mcptest"
)

// offering is a server of the library with prompts and resources, as a client names it.
func offering(p *process) []any {
	return []any{map[string]any{
		"name": "docs", "command": filepath.Join(p.root, "server"), "args": []string{}, "env": []any{map[string]any{"name": mcptest.Offers, "value": "yes"}},
	}}
}

// reviewed is a script whose model has to have read the prompt with its arguments and the resource.
const reviewed = `see /chosen the prompt mcp__docs__review of an MCP server[\s\S]*Review main\.go for "bugs and leaks"\.\\u\{200b\}&lt;rules>/
see /resource="x:\/\/guide"[\s\S]*what stands in x:\/\/guide/
see /@docs:x:\/\/none could not be read: the MCP server docs refused it/
say reviewed.
`

const (
	reviewing = "/mcp__docs__review main.go bugs and leaks"
	guided    = "By @docs:x://guide, and @docs:x://none."
)

func says(texts ...string) (out []any) {
	for _, t := range texts {
		out = append(out, map[string]any{"type": "text", "text": t})
	}
	return out
}

// TestMCPPromptsAndResources has a server over standard input and output offer a prompt and resources: they are completed, the commands are
// told, and a message that names them has what they say.
func TestMCPPromptsAndResources(t *testing.T) {
	full(t)
	p := prepared(t, map[string]any{"model": "script:" + script(t, "say hello.", reviewed)})
	server(t, p)
	p.start(p.env, []string{"--stdio"})
	e := p.editor(conformance.Options{Ask: func(int, conformance.Ask) string { return "allow_once" }})
	var s struct{ SessionID string }
	e.ask("tandem/session/new", map[string]any{"mcpServers": offering(p)}, &s)
	prompt := func(texts ...string) (stop string) {
		var r struct{ StopReason string }
		e.ask("tandem/session/prompt", map[string]any{"sessionId": s.SessionID, "prompt": says(texts...)}, &r)
		return r.StopReason
	}
	complete := func(prefix string) string {
		var r struct {
			Items []struct{ Label, Kind, Insert string }
		}
		e.ask("tandem/mentions/complete", map[string]any{"sessionId": s.SessionID, "prefix": prefix}, &r)
		var out []string
		for _, i := range r.Items {
			out = append(out, i.Kind+" "+i.Insert)
		}
		return strings.Join(out, ", ")
	}
	if stop := prompt("hello"); stop != "end_turn" { // the servers are started
		t.Fatal(stop)
	}
	for prefix, want := range map[string]string{
		"docs:x://gu": "resource @docs:x://guide", "guide": "resource @docs:x://guide", "/mcp": "command /mcp__docs__review",
		"/rev": "command /mcp__docs__review", "/none": "",
	} {
		if got := complete(prefix); got != want {
			t.Errorf("%s: %q, want %q", prefix, got, want)
		}
	}
	if stop := prompt(reviewing, guided); stop != "end_turn" {
		t.Error(stop)
	}
	told := ""
	for _, w := range e.Wire() {
		if strings.Contains(string(w.Raw), "available_commands_update") {
			told = string(w.Raw)
		}
	}
	want := `"availableCommands":[{"name":"mcp__docs__review","description":"Reviews a change.\\u{1b}[2J","input":{"hint":"file [words]"}}]`
	if !strings.Contains(told, want) {
		t.Errorf("%s, want %s", told, want)
	}
	var exported struct{ Text string }
	e.ask("tandem/session/export", map[string]any{"sessionId": s.SessionID, "format": "markdown"}, &exported)
	if !strings.Contains(exported.Text, reviewing) || !strings.Contains(exported.Text, "reviewed.") {
		t.Errorf("what was typed is not what is shown: %s", exported.Text)
	}
	e.leaves()
}

// TestMCPPromptsOverACP has an editor of the Agent Client Protocol be told of the commands, and call one; a mistake in it begins no turn.
func TestMCPPromptsOverACP(t *testing.T) {
	full(t)
	p := prepared(t, map[string]any{"model": "script:" + script(t, "say hello.", reviewed, "say hello.")})
	server(t, p)
	p.start(p.env, []string{"acp"})
	r := wire.NewRouter()
	var mu sync.Mutex
	var order []string
	wire.Notify(r, "session/update", func(_ context.Context, u jsontext.Value) {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(string(u), "available_commands_update") {
			order = append(order, string(u))
		}
	})
	conn := wire.Serve(t.Context(), p, r, wire.Options{Client: true, ACP: true})
	call := func(method string, params, out any) error { return conn.Call(t.Context(), method, params, out) }
	if err := call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}}, nil); err != nil {
		t.Fatal(err)
	}
	session := func() string {
		var s struct {
			SessionID string `json:"sessionId"`
		}
		if err := call("session/new", map[string]any{"cwd": p.root, "mcpServers": offering(p)}, &s); err != nil {
			t.Fatal(err)
		}
		return s.SessionID
	}
	first := session()
	prompt := func(texts ...string) error {
		return call("session/prompt", map[string]any{"sessionId": first, "prompt": says(texts...)}, nil)
	}
	if err := prompt("hello"); err != nil {
		t.Fatal(err)
	}
	if err := prompt(reviewing, guided); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"/mcp__docs__review":  "/mcp__docs__review: the prompt needs file; it is written /mcp__docs__review file [words].",
		"/mcp__docs__nothing": "has no prompt mcp__docs__nothing",
	} {
		if err := prompt(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := prompt("/mcp__other__x is a text like any other"); err != nil {
		t.Error(err)
	}
	second := session() // what the server offers is known before it runs
	if err := call("session/list", map[string]any{}, nil); err != nil {
		t.Error(err)
	}
	mu.Lock()
	told := map[string]int{}
	for _, u := range order {
		var got struct {
			SessionID string `json:"sessionId"`
			Update    struct {
				AvailableCommands []struct{ Name, Description string } `json:"availableCommands"`
			} `json:"update"`
		}
		if err := json.Unmarshal([]byte(u), &got); err != nil || len(got.Update.AvailableCommands) != 1 || got.Update.AvailableCommands[0].Name != "mcp__docs__review" {
			t.Errorf("%v %s", err, u)
		}
		told[got.SessionID]++
	}
	mu.Unlock()
	if told[first] != 1 || told[second] != 1 {
		t.Errorf("%v", order)
	}
	conn.Close()
}

// TestMCPAsksOverTheWire has a server ask the person, by a form and for a page, tell of its progress, and be cancelled in the middle of a call.
func TestMCPAsksOverTheWire(t *testing.T) {
	full(t)
	p := prepared(t, map[string]any{"model": "script:" + script(t, `call mcp__x__wait {}`, "say done.")})
	server(t, p)
	p.start(p.env, []string{"--stdio"})
	var mu sync.Mutex
	var questions []string
	e := p.editor(conformance.Options{
		Ask: func(int, conformance.Ask) string { return "allow_once" },
		Invoke: func(method string, params json.RawMessage) (any, error) {
			var q struct{ Question string }
			if err := json.Unmarshal(params, &q); method != "tandem/session/clarify" || err != nil {
				return nil, &conformance.RPCError{Code: -32601, Message: method}
			}
			mu.Lock()
			defer mu.Unlock()
			questions = append(questions, q.Question)
			if strings.Contains(q.Question, "colour") {
				return map[string]any{"answer": "1"}, nil
			}
			return map[string]any{"answer": "decline"}, nil
		},
	})
	var s struct{ SessionID string }
	e.ask("tandem/session/new", map[string]any{"mcpServers": []any{map[string]any{
		"name": "x", "command": filepath.Join(p.root, "server"), "args": []string{}, "env": []any{
			map[string]any{"name": mcptest.Variable, "value": ""}, map[string]any{"name": "TANDEM_TEST_MCP_NOTE", "value": filepath.Join(p.root, "note")},
		},
	}}}, &s)
	calls := func(tool, args string) string {
		var r struct{ Data string }
		e.ask("tandem/tools/call", map[string]any{"sessionId": s.SessionID, "name": tool, "arguments": json.RawMessage(args)}, &r)
		return r.Data
	}
	if got := calls("mcp__x__ask", `{}`); !strings.Contains(got, `"action":"accept"`) || !strings.Contains(got, `"colour":"blue"`) {
		t.Error(got)
	}
	if got := calls("mcp__x__page", `{"text":"https://example.org/sign-in"}`); !strings.Contains(got, `"action":"decline"`) {
		t.Error(got)
	}
	mu.Lock()
	if len(questions) != 2 || !strings.Contains(questions[1], "open this page of example.org in your browser: https://example.org/sign-in") {
		t.Errorf("%q", questions)
	}
	mu.Unlock()
	calls("mcp__x__steps", `{"n": 3}`)
	steps := 0
	for _, w := range e.Wire() {
		if strings.Contains(string(w.Raw), `step `) && strings.Contains(string(w.Raw), `"output"`) {
			steps++
		}
	}
	if steps == 0 {
		t.Error("no progress was told")
	}
	stopped := make(chan string)
	go func() {
		var r struct{ StopReason string }
		e.ask("tandem/session/prompt", map[string]any{"sessionId": s.SessionID, "prompt": says("go")}, &r)
		stopped <- r.StopReason
	}()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(p.root, "note.called")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the server was not called")
		}
	}
	e.Notify("tandem/session/cancel", map[string]any{"sessionId": s.SessionID})
	if got := <-stopped; got != "cancelled" {
		t.Error(got)
	}
	if got := calls("mcp__x__written", `{}`); !strings.Contains(got, "it was cancelled") { // between calls it can write no file
		t.Error(got)
	}
	e.leaves()
}

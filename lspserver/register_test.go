package lspserver_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tandem/lspserver/conformance"
)

// guest is a client with tools of its own: what it was asked to run, and what it was told of tools.
type guest struct {
	// answer gives the answer to a call; nil is what the editor cannot do.
	answer func(i invocation) (any, error)

	mu      sync.Mutex
	invoked []invocation
	events  []toolEvent
	cancels int
}

type invocation struct {
	Name, SessionID, CallID string
	Arguments               json.RawMessage
}

type toolEvent struct {
	Type, Name, Source, SessionID, CallID, Error string
	DurationMs                                   float64
}

// options are those of an editor that is the guest.
func (g *guest) options() conformance.Options {
	return conformance.Options{
		Capabilities: map[string]any{"experimental": map[string]any{"tandem": map[string]any{"events": true}}},
		Heard:        g.hear,
		Invoke: func(method string, params json.RawMessage) (any, error) {
			var i invocation
			if err := json.Unmarshal(params, &i); err != nil || method != "tandem/tools/invoke" {
				return nil, fmt.Errorf("%s: %w", method, err)
			}
			g.mu.Lock()
			g.invoked = append(g.invoked, i)
			g.mu.Unlock()
			return g.answer(i)
		},
	}
}

func (g *guest) hear(method string, params json.RawMessage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch method {
	case "tandem/tools/event":
		var e toolEvent
		if json.Unmarshal(params, &e) == nil {
			g.events = append(g.events, e)
		}
	case "$/cancelRequest":
		g.cancels++
	}
}

func (g *guest) told() (out []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range g.events {
		out = append(out, strings.TrimSpace(e.Type+" "+e.Name+" "+e.Source+" "+e.CallID+" "+e.Error))
	}
	return out
}

func (g *guest) calls() []invocation {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.invoked)
}

// lookup is a tool that needs no question.
func lookup(name string, more ...any) map[string]any {
	spec := map[string]any{
		"name": name, "description": "Looks a symbol up. Use it for names.", "kind": "read",
		"parameters": map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"symbol"},
			"properties": map[string]any{"symbol": map[string]any{"type": "string"}, "depth": map[string]any{"type": "integer", "default": 1}},
		},
	}
	for i := 0; i < len(more); i += 2 {
		spec[more[i].(string)] = more[i+1]
	}
	return spec
}

func (r *rig) register(specs ...map[string]any) {
	r.t.Helper()
	r.ask("tandem/tools/register", map[string]any{"tools": specs}, nil)
}

// toolInfo is a ToolInfo as a client reads it; nil where there is none.
type toolInfo struct {
	Name, Title, Kind, Danger, PermissionClass, Source, DisabledBy, Description, Interrupt string
	Aliases                                                                                []string
	ReadOnly, ConcurrencySafe, Destructive, Deferred, Enabled, InputStreaming              bool
	Parameters                                                                             json.RawMessage
}

func (r *rig) tool(name string, more ...any) (info *toolInfo) {
	r.t.Helper()
	params := map[string]any{"name": name}
	for i := 0; i < len(more); i += 2 {
		params[more[i].(string)] = more[i+1]
	}
	r.ask("tandem/tools/get", params, &info)
	return info
}

// A registered tool is listed, checked, called by both names, and run by the client.
func TestF002Register(t *testing.T) {
	g := &guest{answer: func(i invocation) (any, error) {
		return map[string]any{"success": true, "data": "found " + i.Name, "result": map[string]any{"n": 1}, "summary": "Found"}, nil
	}}
	r := start(t, g.options(), options(nil))
	r.register(lookup("lookup", "aliases", []string{"find_symbol"}, "title", "Look up"))
	if !slices.Contains(r.tools(), "lookup") {
		t.Error("it is not listed")
	}
	info := r.tool("find_symbol")
	if info == nil || info.Name != "lookup" || info.Title != "Look up" || info.Source != "client" || !info.ReadOnly || info.Destructive ||
		info.Danger != "safe" || !info.Enabled {
		t.Errorf("%+v", info)
	}
	s := r.session(nil)
	for _, name := range []string{"lookup", "Find_Symbol"} {
		got := r.call(s, name, `{"Symbol":"main"}`)
		if !got.Success || got.Data != "found lookup" || string(got.Result) != `{"n":1}` || got.Summary != "Found" {
			t.Errorf("%s", got.raw)
		}
	}
	calls := g.calls()
	if len(calls) != 2 || calls[0].SessionID != s || calls[0].CallID == "" || !sameJSON(calls[0].Arguments, []byte(`{"symbol":"main","depth":1}`)) {
		t.Errorf("%+v", calls)
	}
	bad := r.call(s, "lookup", `{"symbol":7,"more":true}`, "callId", "bad")
	if bad.Error != "INVALID_ARGS" || len(bad.Issues) != 1 || bad.Issues[0].Path != "$.more" || len(g.calls()) != 2 {
		t.Errorf("%s", bad.raw)
	}
	r.end()
}

func TestF003Unregister(t *testing.T) {
	g := &guest{answer: func(invocation) (any, error) { return "ok", nil }}
	r := start(t, g.options(), options(nil))
	s := r.session(nil)
	r.register(lookup("one"), lookup("two"))
	if e := r.refused("tandem/tools/unregister", map[string]any{"names": []string{"one", "grep"}}); e.Code != -32602 || !strings.Contains(e.Message, `"grep"`) {
		t.Errorf("%+v", e)
	}
	if r.tool("one") == nil {
		t.Error("a refused request has taken a tool away")
	}
	r.ask("tandem/tools/unregister", map[string]any{"names": []string{"ONE"}}, nil)
	if slices.Contains(r.tools(), "one") || r.tool("one") != nil || r.tool("two") == nil {
		t.Errorf("%v", r.tools())
	}
	if got := r.call(s, "one", `{"symbol":"x"}`); got.Error != "TOOL_NOT_FOUND" || len(g.calls()) != 0 {
		t.Errorf("%s", got.raw)
	}
	if told := g.told(); !slices.Contains(told, "unregister one client") {
		t.Errorf("%q", told)
	}
	r.register(lookup("one")) // the name is free again
	r.end()
}

// A taken name or alias is refused with the holder's name, and nothing of the request is done.
func TestF017TakenNameIsRefused(t *testing.T) {
	g := &guest{}
	r := start(t, g.options(), options(nil))
	r.register(lookup("lookup", "aliases", []string{"seek"}))
	before := r.tools()
	for want, spec := range map[string]map[string]any{
		"read_file": lookup("READ_FILE"), "tool read_file": lookup("fresh", "aliases", []string{"View"}), "tool lookup": lookup("seek"),
		"tool fresh": lookup("fresh_too", "aliases", []string{"fresh"}), "not valid": lookup("two words"), "not a usable JSON Schema": lookup("x", "parameters", map[string]any{"type": 7}),
		"contradict": lookup("x", "permissionClass", "write"), "is not a kind": lookup("x", "kind", "magic"), "read-only": lookup("x", "readOnly", false),
	} {
		e := r.refused("tandem/tools/register", map[string]any{"tools": []any{lookup("fresh"), spec}})
		if e.Code != -32602 || !strings.Contains(e.Message, want) {
			t.Errorf("want %q: %+v", want, e)
		}
	}
	sameList(t, "tools", r.tools(), before...)
	if len(g.told()) != 1 {
		t.Errorf("%q", g.told())
	}
	r.end()
}

// F33: without declarations a tool counts as one that can destroy things, and a person is asked about each call.
func TestF033UndeclaredAsks(t *testing.T) {
	g := &guest{answer: func(invocation) (any, error) { return "done", nil }}
	o := g.options()
	var asked []string
	o.Ask = func(_ int, a conformance.Ask) string {
		asked = append(asked, a.ToolCall.Title)
		return "reject_once"
	}
	r := start(t, o, options(nil))
	r.register(map[string]any{"name": "mystery"})
	info := r.tool("mystery")
	if info == nil || info.ConcurrencySafe || !info.Destructive || info.Kind != "other" || info.Danger != "dangerous" || info.ReadOnly {
		t.Errorf("%+v", info)
	}
	s := r.session(map[string]any{"mode": "auto"})
	if got := r.call(s, "mystery", `{"free":["form"]}`); got.Error != "GATE_DENIED" || len(g.calls()) != 0 {
		t.Errorf("%s", got.raw)
	}
	if len(asked) != 1 || !strings.Contains(asked[0], `mystery {"free":["form"]}`) {
		t.Errorf("asked %q", asked)
	}
	r.end()
}

// The four events come in order, with the call and how long it took.
func TestF032Events(t *testing.T) {
	g := &guest{answer: func(i invocation) (any, error) {
		if strings.Contains(string(i.Arguments), "bad") {
			return map[string]any{"success": false, "data": "no such symbol", "error": "READ_ERROR"}, nil
		}
		return "ok", nil
	}}
	r := start(t, g.options(), options(nil))
	r.register(lookup("lookup"))
	s := r.session(nil)
	r.call(s, "lookup", `{"symbol":"a"}`, "callId", "c1")
	r.call(s, "lookup", `{"symbol":"bad"}`, "callId", "c2")
	r.ask("tandem/tools/unregister", map[string]any{"names": []string{"lookup"}}, nil)
	sameList(t, "events", g.told(), "register lookup client", "execute lookup client c1", "error lookup client c2 READ_ERROR", "unregister lookup client")
	g.mu.Lock()
	for _, e := range g.events[1:3] {
		if e.DurationMs <= 0 || e.SessionID != s {
			t.Errorf("%+v", e)
		}
	}
	g.mu.Unlock()
	r.end()
}

// F20, F282: tools of one turn are offered in that turn alone, take the place of others of their name, and the client runs them.
func TestF018_F020_F282ToolsOfATurn(t *testing.T) {
	g := &guest{answer: func(i invocation) (any, error) { return "the client ran " + i.Name, nil }}
	r := start(t, g.options(), options(nil))
	r.write("a.txt", "from the disk\n")
	model := r.script("call deploy {\"symbol\":\"x\"}\ncall read_file {\"symbol\":\"y\"}\n\nsee /the client ran deploy/\nsee /the client ran read_file/\nsay one\n\n" +
		"call deploy {\"symbol\":\"x\"}\ncall read_file {\"path\":\"a.txt\"}\n\nsee /TOOL_NOT_FOUND/\nsee /from the disk/\nsay two\n")
	s := r.session(map[string]any{"model": model})
	p := prompt(s, "go")
	p["tools"] = []any{lookup("deploy"), lookup("read_file")}
	var end turnEnd
	r.ask("tandem/session/prompt", p, &end)
	equal(t, "first turn", end.StopReason, "end_turn")
	if calls := g.calls(); len(calls) != 2 {
		t.Errorf("%+v", calls)
	}
	if slices.Contains(r.tools(), "deploy") {
		t.Error("it is still listed")
	}
	equal(t, "second turn", r.prompt(s, "again").StopReason, "end_turn")
	equal(t, "invocations", len(g.calls()), 2)
	p["tools"] = []any{lookup("twice"), lookup("twice")}
	if e := r.refused("tandem/session/prompt", p); e.Code != -32602 || !strings.Contains(e.Message, "twice") {
		t.Errorf("%+v", e)
	}
	sameList(t, "events", g.told(), "execute deploy turn call_1_1", "execute read_file turn call_1_2",
		"error deploy  call_3_1 TOOL_NOT_FOUND", "execute read_file builtin call_3_2")
	r.end()
}

// What the client answers is a result, whatever it is; its errors too.
func TestInvokeAnswers(t *testing.T) {
	var answer any
	var failure error
	g := &guest{answer: func(invocation) (any, error) { return answer, failure }}
	r := start(t, g.options(), options(nil))
	r.register(lookup("lookup"))
	s := r.session(nil)
	for _, c := range []struct {
		answer     any
		code, want string
	}{
		{nil, "", "(no output)"},
		{map[string]any{"rows": []int{1}}, "", `{"rows":[1]}`},
		{map[string]any{"success": "yes"}, "EXECUTION_ERROR", "not a valid tool result"},
		{map[string]any{"success": false, "error": "GATE_DENIED", "data": "the user said no"}, "EXECUTION_ERROR", "the user said no"},
		{errors.New("out of memory"), "EXECUTION_ERROR", "out of memory"},
		{map[string]any{"success": true, "data": strings.Repeat("long ", 20_000)}, "", " bytes cut: read_file"},
	} {
		if answer, failure = c.answer, nil; c.answer != nil {
			failure, _ = c.answer.(error)
		}
		if got := r.call(s, "lookup", `{"symbol":"a"}`); got.Error != c.code || !strings.Contains(got.Data, c.want) || got.Success != (c.code == "") {
			t.Errorf("%v: %.300s", c.answer, got.raw)
		}
	}
	r.end()
}

// A client that has registered a tool and does not run it.
func TestInvokeNotServed(t *testing.T) {
	g := &guest{answer: func(invocation) (any, error) {
		return nil, &conformance.RPCError{Code: -32601, Message: "no such method"}
	}}
	r := start(t, g.options(), options(nil))
	r.register(lookup("lookup"))
	got := r.call(r.session(nil), "lookup", `{"symbol":"a"}`)
	if got.Error != "EXECUTION_ERROR" || !strings.Contains(got.Data, "does not run it") {
		t.Errorf("%s", got.raw)
	}
	r.end()
}

// The time of a call is over, and so is the client's.
func TestInvokeTimeout(t *testing.T) {
	release := make(chan struct{})
	g := &guest{answer: func(invocation) (any, error) {
		<-release
		return "late", nil
	}}
	o := g.options()
	o.Settings = map[string]any{"limits": map[string]any{"toolTimeoutMs": 100, "killGraceMs": 100}}
	r := start(t, o, options(nil))
	r.register(lookup("lookup"))
	got := r.call(r.session(nil), "lookup", `{"symbol":"a"}`)
	if got.Error != "TIMEOUT" {
		t.Errorf("%s", got.raw)
	}
	until(t, "the client is told", soon, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.cancels > 0
	})
	close(release)
	r.end()
}

// A cancelled turn cancels the call at the client.
func TestInvokeCancelled(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	g := &guest{answer: func(invocation) (any, error) {
		close(begun)
		<-release
		return "late", nil
	}}
	r := start(t, g.options(), options(nil))
	r.register(lookup("lookup"))
	s := r.session(map[string]any{"model": r.script("call lookup {\"symbol\":\"x\"}\n\nsay never\n")})
	ended := make(chan turnEnd, 1)
	go func() { ended <- r.prompt(s, "go") }()
	<-begun
	r.Notify("tandem/session/cancel", map[string]any{"sessionId": s})
	end := <-ended
	equal(t, "the turn", end.StopReason, "cancelled")
	until(t, "the client is told", soon, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.cancels > 0
	})
	close(release)
	r.end()
}

// A client that goes away ends its calls; the server does not wait for an answer.
func TestInvokeClientDies(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	g := &guest{answer: func(invocation) (any, error) {
		close(begun)
		<-release
		return "late", nil
	}}
	r := start(t, g.options(), options(nil))
	r.register(lookup("lookup"))
	s := r.session(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = r.Request(r.ctx, "tandem/tools/call", map[string]any{"sessionId": s, "name": "lookup", "arguments": map[string]any{"symbol": "x"}})
	}()
	<-begun
	_ = r.line.Close()
	r.ended(1)
	close(release)
	<-done
}

// Feature flags and providers filter registered tools like any other, and the client is told.
func TestF007_F008_F262Filters(t *testing.T) {
	g := &guest{answer: func(invocation) (any, error) { return "ok", nil }}
	o := g.options()
	o.Settings = map[string]any{"providers": map[string]any{"other": map[string]any{"api": "openai-chat", "baseUrl": "http://127.0.0.1:1/v1"}}}
	r := start(t, o, options(nil))
	r.register(lookup("trial", "featureFlag", "dreams"), lookup("scripted", "providers", []string{"script"}), lookup("plain"),
		lookup("chatty", "providers", []string{"openai-chat"}))
	if r.tool("trial") != nil || slices.Contains(r.tools(), "trial") {
		t.Error("the tool behind a flag is there")
	}
	r.Notify("workspace/didChangeConfiguration", map[string]any{"settings": map[string]any{"tandem": map[string]any{"featureFlags": map[string]any{"dreams": true}}}})
	until(t, "the flag", soon, func() bool { return r.tool("trial") != nil })
	r.Notify("workspace/didChangeConfiguration", map[string]any{"settings": map[string]any{"tandem": map[string]any{
		"featureFlags": map[string]any{"dreams": true}, "disabledTools": []string{"plain"},
	}}})
	until(t, "the disabled tool", soon, func() bool { return r.tool("plain") == nil })
	sameList(t, "events", g.told(), "register chatty client", "register plain client", "register scripted client", "register trial client", "unregister plain client")

	s := r.session(map[string]any{"model": r.script("say hello\n")})
	if r.tool("scripted", "sessionId", s) == nil {
		t.Error("the provider's own tool is not there")
	}
	listed := func(params map[string]any) bool {
		var out struct{ Tools []toolInfo }
		r.ask("tandem/tools/list", params, &out)
		return slices.ContainsFunc(out.Tools, func(i toolInfo) bool { return i.Name == "scripted" })
	}
	if !listed(map[string]any{}) || !listed(map[string]any{"provider": "script"}) || listed(map[string]any{"provider": "openai"}) {
		t.Error("tandem/tools/list by provider")
	}
	r.ask("tandem/session/setModel", map[string]any{"sessionId": s, "model": "other/m"}, nil)
	if r.tool("chatty", "sessionId", s) == nil {
		t.Error("the tool for the protocol of the provider is not there")
	}
	if r.tool("scripted", "sessionId", s) != nil || listed(map[string]any{"sessionId": s}) || !listed(map[string]any{}) {
		t.Error("the tool of another provider is there")
	}
	if got := r.call(s, "scripted", `{"symbol":"x"}`); got.Error != "TOOL_NOT_FOUND" || got.Reason != "disabled" {
		t.Errorf("%s", got.raw)
	}
	g.mu.Lock()
	var told []string
	for _, e := range g.events {
		if e.SessionID == s && (e.Type == "register" || e.Type == "unregister") {
			told = append(told, e.Type+" "+e.Name)
		}
	}
	g.mu.Unlock()
	sameList(t, "events of the session", told, "unregister scripted", "register chatty")
	r.end()
}

// Only where all three layers agree is a tool there.
func TestF006ThreeLayers(t *testing.T) {
	g := &guest{answer: func(invocation) (any, error) { return "ok", nil }}
	r := start(t, g.options(), options(nil))
	r.register(lookup("trial", "featureFlag", "dreams", "providers", []string{"openai"}))
	for i := range 8 {
		enabled, flag, fits := i&1 != 0, i&2 != 0, i&4 != 0
		settings := map[string]any{"featureFlags": map[string]any{"dreams": flag}, "disabledTools": []string{"trial"}}
		if enabled {
			settings["disabledTools"] = []string{}
		}
		r.Notify("workspace/didChangeConfiguration", map[string]any{"settings": map[string]any{"tandem": settings}})
		provider := map[bool]string{true: "openai", false: "anthropic"}[fits]
		want := enabled && flag && fits
		until(t, fmt.Sprintf("enabled %v, flag %v, provider %v", enabled, flag, fits), soon, func() bool {
			var out struct{ Tools []toolInfo }
			r.ask("tandem/tools/list", map[string]any{"provider": provider}, &out)
			return slices.ContainsFunc(out.Tools, func(i toolInfo) bool { return i.Name == "trial" }) == want
		})
	}
	r.end()
}

// The list is the same bytes whatever the order in which tools came.
func TestF026ListIsByteIdentical(t *testing.T) {
	sum := func(names []string) string {
		r := start(t, conformance.Options{}, options(nil))
		for _, n := range names {
			r.register(lookup(n))
		}
		var raw json.RawMessage
		r.ask("tandem/tools/list", map[string]any{}, &raw)
		var again json.RawMessage
		r.ask("tandem/tools/list", map[string]any{}, &again)
		r.end()
		if string(raw) != string(again) {
			t.Error("two lists differ")
		}
		return fmt.Sprintf("%x", sha256.Sum256(raw))
	}
	if a, b := sum([]string{"zeta", "alpha", "mid"}), sum([]string{"mid", "zeta", "alpha"}); a != b {
		t.Error("the order of registration shows")
	}
}

// Rules by a pattern and names that are disabled by an alias hold for tools from elsewhere as for those that are shipped.
func TestF274FiltersHoldForForeignTools(t *testing.T) {
	g := &guest{answer: func(invocation) (any, error) { return "ok", nil }}
	o := g.options()
	o.Settings = map[string]any{
		"permissions": map[string]any{"deny": []any{map[string]any{"tool": "mcp__*"}}}, "disabledTools": []string{"Seek_It"},
	}
	r := start(t, o, options(nil))
	r.register(lookup("mcp__db__query"), lookup("lookup", "aliases", []string{"seek_it"}), lookup("plain"))
	s := r.session(map[string]any{"mode": "auto"})
	if got := r.call(s, "MCP__db__query", `{"symbol":"x"}`); got.Error != "GATE_DENIED" {
		t.Errorf("%s", got.raw)
	}
	if got := r.call(s, "lookup", `{"symbol":"x"}`); got.Error != "TOOL_NOT_FOUND" || got.Reason != "disabled" {
		t.Errorf("%s", got.raw)
	}
	if got := r.call(s, "plain", `{"symbol":"x"}`); !got.Success {
		t.Errorf("%s", got.raw)
	}
	if names := r.tools(); slices.Contains(names, "mcp__db__query") || slices.Contains(names, "lookup") || !slices.Contains(names, "plain") {
		t.Errorf("%v", names)
	}
	r.end()
}

// F15: a tool of the client that takes its arguments piece by piece is told of before they are complete, one that does not is not.
func TestF015InputStreaming(t *testing.T) {
	s := newService(t, "right", map[int]string{
		0: toolCall("streams", `{"symbol":"a rather long symbol"}`) + stop("tool_calls"),
		1: toolCall("waits", `{"symbol":"another long symbol"}`) + stop("tool_calls"),
		2: content("Done.") + stop("stop"),
	})
	g := &guest{answer: func(invocation) (any, error) { return "ok", nil }}
	o := g.options()
	o.Settings = s.settings()
	partial := map[string][]string{}
	hear := o.Heard
	o.Heard = func(method string, params json.RawMessage) {
		hear(method, params)
		var u struct {
			Update struct {
				ToolCallID string
				Meta       struct {
					Tandem struct{ State, PartialInput string }
				} `json:"_meta"`
			}
		}
		if method != "tandem/session/update" || json.Unmarshal(params, &u) != nil {
			return
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if about := u.Update.Meta.Tandem; about.PartialInput != "" {
			partial[u.Update.ToolCallID] = append(partial[u.Update.ToolCallID], about.State+" "+about.PartialInput)
		}
	}
	r := start(t, o, options(map[string]string{"MOCK_KEY": "right"}))
	r.register(lookup("streams", "inputStreaming", true), lookup("waits"))
	if info := r.tool("streams"); info == nil || !info.InputStreaming {
		t.Errorf("%+v", info)
	}
	equal(t, "stop", r.prompt(r.session(nil), "go").StopReason, "end_turn")
	r.end()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(partial["id_waits"]) != 0 || len(partial["id_streams"]) == 0 || !strings.HasPrefix(partial["id_streams"][0], `queued {"symbol":`) {
		t.Errorf("%q", partial)
	}
}

// Tools that are there from the start are no news: nothing is told of them before the answer to initialize, nor after it.
func TestF019_F032NoNewsAtTheStart(t *testing.T) {
	g := &guest{}
	o := g.options()
	plugin := folder(t)
	put(t, filepath.Join(plugin, "plugin.json"), `{"id":"p","tools":[{"name":"plugged","description":"Does it. Use it.","command":["/bin/true"]}]}`)
	o.Settings = map[string]any{"plugins": []string{plugin}, "disabledTools": []string{"grep"}}
	r := start(t, o, options(nil))
	if info := r.tool("plugged"); info == nil || info.Source != "plugin:p" || r.tool("grep") != nil {
		t.Errorf("%+v", info)
	}
	sameList(t, "events", g.told())
	r.register(lookup("later"))
	sameList(t, "events", g.told(), "register later client")
	r.end()
}

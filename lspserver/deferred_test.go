package lspserver_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tandem/agent/agenttest"
	"tandem/agent/config"
	"tandem/agent/store"
)

// toolBlock is the tools of a request to a model.
type toolBlock struct {
	raw   string
	names []string
	about map[string]string
}

func (s *service) toolBlocks(t *testing.T) (out []toolBlock) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, body := range s.bodies {
		var q struct{ Tools json.RawMessage }
		var list []struct {
			Function struct{ Name, Description string }
		}
		if json.Unmarshal([]byte(body), &q) != nil || json.Unmarshal(q.Tools, &list) != nil {
			t.Fatal(body)
		}
		b := toolBlock{raw: string(q.Tools), about: map[string]string{}}
		for _, x := range list {
			b.names = append(b.names, x.Function.Name)
			b.about[x.Function.Name] = x.Function.Description
		}
		out = append(out, b)
	}
	return out
}

// wide is a tool whose schema is as long as those of servers usually are.
func wide(i int) map[string]any {
	properties := map[string]any{}
	for p := range 8 {
		properties[fmt.Sprintf("field_%d", p)] = map[string]any{
			"type": "string", "description": fmt.Sprintf("The field number %d of the object that tool %d changes, as the service gave it.", p, i),
		}
	}
	return map[string]any{
		"name": fmt.Sprintf("mcp__big__tool_%02d", i), "kind": "read",
		"description": fmt.Sprintf("Changes the objects of sort %d. Use it for these. If it fails, look at the fields.", i),
		"parameters":  map[string]any{"type": "object", "properties": properties, "required": []string{"field_0"}, "additionalProperties": false},
	}
}

var neverDeferred = []string{"bash", "clarify", "edit_file", "glob", "grep", "list_files", "read_file", "tool_search", "write_file"}

// Over the threshold a request has the tools that are always needed, and one line for each other; what was searched for is in the
// next request, in its place, and stays for the session, in another process too.
func TestF027_F028_F029_F031_F181Deferred(t *testing.T) {
	const asked = "mcp__big__tool_07"
	s := newService(t, "right", map[int]string{
		0: toolCall("tool_search", `{"query":"select:`+asked+`"}`) + stop("tool_calls"),
		1: toolCall(asked, `{"field_0":"x"}`) + stop("tool_calls"),
		2: toolCall("mcp__big__tool_03", `{"field_0":"y"}`) + stop("tool_calls"), // not loaded, and its arguments are valid
		3: toolCall("mcp__big__tool_05", `{"field":"z"}`) + stop("tool_calls"),   // a guess
		4: content("Done.") + stop("stop"),
	})
	g := &guest{answer: func(i invocation) (any, error) { return "ran " + i.Name, nil }}
	o := g.options()
	o.Settings, o.Root = s.settings(), folder(t)
	kept := agenttest.Store(t)
	so := options(map[string]string{"MOCK_KEY": "right"})
	so.Store = func(config.Config) (store.Store, error) { return kept, nil }
	r := start(t, o, so)
	var specs []map[string]any
	for i := range 50 {
		specs = append(specs, wide(i))
	}
	r.register(specs...)
	id := r.session(nil)
	equal(t, "stop", r.prompt(id, "go").StopReason, "end_turn")

	blocks := s.toolBlocks(t)
	if len(blocks) != 5 {
		t.Fatalf("%d requests", len(blocks))
	}
	first := blocks[0]
	sameList(t, "first request", first.names, neverDeferred...)
	index := first.about["tool_search"]
	for i := range 50 {
		if want := fmt.Sprintf("- mcp__big__tool_%02d: Changes the objects of sort %d\n", i, i); !strings.Contains(index+"\n", want) {
			t.Errorf("no line %q", want)
		}
	}
	if strings.Contains(first.raw, "The field number") {
		t.Error("a schema of a deferred tool was sent")
	}
	with := append(slices.Clone(neverDeferred), asked)
	slices.Sort(with)
	sameList(t, "after the search", blocks[1].names, with...)
	sameList(t, "after a call that was not loaded", blocks[3].names, with...)
	equal(t, "the lines", blocks[1].about["tool_search"], index)
	equal(t, "the requests", blocks[1].raw, blocks[2].raw)
	guessed := append(slices.Clone(with), "mcp__big__tool_05")
	slices.Sort(guessed)
	sameList(t, "after a guess", blocks[4].names, guessed...)
	last := s.bodies[4]
	for _, want := range []string{"ran " + asked, "ran mcp__big__tool_03", "[INVALID_ARGS]", `\"name\":\"mcp__big__tool_05\"`, "did you mean"} {
		if !strings.Contains(last, want) {
			t.Errorf("the model was not told %q", want)
		}
	}
	if len(g.calls()) != 2 {
		t.Errorf("%+v", g.calls())
	}

	var status struct {
		Deferred struct {
			Names       []string
			TokensSaved int
		}
	}
	r.ask("tandem/status", map[string]any{}, &status)
	if n := len(status.Deferred.Names); n < 48 || slices.Contains(status.Deferred.Names, asked) {
		t.Errorf("%d deferred: %v", n, status.Deferred.Names)
	}
	if saved := status.Deferred.TokensSaved; saved < 10_000 || saved > 25_000 {
		t.Errorf("%d tokens saved", saved)
	}
	t.Logf("%d tools deferred, %d tokens saved in each request; the tools of the first request have %d bytes", len(status.Deferred.Names),
		status.Deferred.TokensSaved, len(first.raw))
	if info := r.tool(asked, "sessionId", id); info == nil || info.Deferred {
		t.Errorf("%+v", info)
	}
	if info := r.tool(asked); info == nil || !info.Deferred {
		t.Errorf("%+v", info)
	}
	r.end()

	// Another process goes on with the session.
	r = start(t, o, so)
	r.register(specs...)
	r.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	if info := r.tool(asked, "sessionId", id); info == nil || info.Deferred {
		t.Errorf("loaded again: %+v", info)
	}
	equal(t, "stop", r.prompt(id, "again").StopReason, "end_turn")
	blocks = s.toolBlocks(t)
	sameList(t, "of the session that goes on", blocks[len(blocks)-1].names, guessed...)
	r.end()
}

// With the threshold 0 what is never deferred is sent in full all the same, and tools of one turn are.
func TestF029NeverDeferred(t *testing.T) {
	s := newService(t, "right", map[int]string{0: content("Done.") + stop("stop")})
	g := &guest{}
	o := g.options()
	o.Settings = s.settings()
	o.Settings.(map[string]any)["deferTools"] = map[string]any{"threshold": 0}
	r := start(t, o, options(map[string]string{"MOCK_KEY": "right"}))
	p := prompt(r.session(nil), "go")
	p["tools"] = []any{lookup("mine")}
	r.ask("tandem/session/prompt", p, nil)
	want := append(slices.Clone(neverDeferred), "mine")
	slices.Sort(want)
	sameList(t, "offered", s.toolBlocks(t)[0].names, want...)
	var out struct{ Tools []toolInfo }
	r.ask("tandem/tools/list", map[string]any{}, &out)
	for _, x := range out.Tools {
		if x.Deferred || !slices.Contains(neverDeferred, x.Name) {
			t.Errorf("listed: %+v", x)
		}
	}
	r.ask("tandem/tools/list", map[string]any{"includeDeferred": true}, &out)
	if i := slices.IndexFunc(out.Tools, func(x toolInfo) bool { return x.Name == "fetch" }); i < 0 || !out.Tools[i].Deferred {
		t.Error("fetch is not listed as deferred")
	}
	r.end()
}

// F26: the tools of a request are the same bytes whatever the order in which they came.
func TestF026RequestsAreByteIdentical(t *testing.T) {
	sums := map[string]bool{}
	for turn := range 2 {
		s := newService(t, "right", map[int]string{0: content("Done.") + stop("stop")})
		g := &guest{}
		o := g.options()
		o.Settings = s.settings()
		r := start(t, o, options(map[string]string{"MOCK_KEY": "right"}))
		order := []int{3, 1, 2, 0}
		if turn == 1 {
			slices.Sort(order)
		}
		for _, i := range order {
			r.register(wide(i))
		}
		id := r.session(nil)
		r.prompt(id, "one")
		r.prompt(id, "two")
		for _, b := range s.toolBlocks(t) {
			sums[fmt.Sprintf("%x", sha256.Sum256([]byte(b.raw)))] = true
		}
		r.end()
	}
	if len(sums) != 1 {
		t.Errorf("%d different blocks of tools", len(sums))
	}
}

// tandem/tools/search finds by words and by names, and loads nothing.
func TestF181Search(t *testing.T) {
	g := &guest{}
	r := start(t, g.options(), options(nil))
	r.register(lookup("send_mail", "description", "Sends a letter to a person."), lookup("readMail", "aliases", []string{"inbox"}))
	search := func(query string, more ...any) (names []string) {
		var out struct{ Tools []toolInfo }
		p := map[string]any{"query": query}
		for i := 0; i < len(more); i += 2 {
			p[more[i].(string)] = more[i+1]
		}
		r.ask("tandem/tools/search", p, &out)
		for _, x := range out.Tools {
			names = append(names, x.Name)
		}
		return names
	}
	for query, want := range map[string]string{
		"mail": "readMail send_mail", "letter to send": "send_mail", "inbox": "readMail", "select:SEND_MAIL, inbox,none": "send_mail readMail",
		"select:none": "", "zebra": "", "": "", "command line": "bash",
	} {
		if got := strings.Join(search(query, "limit", 2), " "); got != want && !strings.HasPrefix(got, want+" ") || want == "" && got != "" {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	if got := search("file", "limit", 3); len(got) != 3 {
		t.Errorf("%q", got)
	}
	if e := r.refused("tandem/tools/search", map[string]any{"query": "x", "limit": -1}); e.Code != -32602 {
		t.Errorf("%+v", e)
	}
	s := r.session(nil)
	got := r.call(s, "ToolSearch", `{"query":"select:send_mail,nothing"}`)
	if !got.Success || !strings.Contains(got.Data, `{"name":"send_mail","description":"Sends a letter to a person.","parameters":{`) ||
		!strings.Contains(got.Data, `Tool not found: "nothing".`) || !strings.Contains(string(got.Result), `"missing":["nothing"]`) {
		t.Errorf("%s", got.raw)
	}
	if got := r.call(s, "tool_search", `{"query":"select:nothing"}`); got.Error != "TOOL_NOT_FOUND" {
		t.Errorf("%s", got.raw)
	}
	if got := r.call(s, "tool_search", `{"query":"zebra"}`); !got.Success || !strings.Contains(got.Data, `No tool fits "zebra"`) {
		t.Errorf("%s", got.raw)
	}
	r.end()
}

// The tools for commands in the background are sent in full from the moment that there is one.
func TestF027JobsAreAtHand(t *testing.T) {
	s := newService(t, "right", map[int]string{
		0: toolCall("bash", `{"command":"sleep 60","background":true}`) + stop("tool_calls"),
		1: content("Done.") + stop("stop"),
	})
	g := &guest{}
	o := g.options()
	o.Settings = s.settings()
	o.Settings.(map[string]any)["deferTools"] = map[string]any{"threshold": 0}
	r := start(t, o, options(map[string]string{"MOCK_KEY": "right"}))
	equal(t, "stop", r.prompt(r.session(nil), "go").StopReason, "end_turn")
	blocks := s.toolBlocks(t)
	want := append(slices.Clone(neverDeferred), "job_kill", "job_output")
	slices.Sort(want)
	sameList(t, "before", blocks[0].names, neverDeferred...)
	sameList(t, "after", blocks[1].names, want...)
	r.end()
}

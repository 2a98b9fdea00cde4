package lspserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	santhosh "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"tandem/lspserver/conformance"
	"tandem/tools"
)

// probe makes a tool that runs fn.
func probe[I any](spec tools.Spec, fn func(context.Context, *tools.Env, I) (tools.Result, error)) tools.Tool {
	return tools.Define(tools.Definition[I]{
		Spec: spec, Needs: tools.Always[I](tools.Need{Act: tools.Reads}),
		Plan: func(_ context.Context, env *tools.Env, in I) (*tools.Plan, error) {
			return &tools.Plan{Run: func(ctx context.Context) (tools.Result, error) { return fn(ctx, env, in) }}, nil
		},
	})
}

// echo answers with the arguments as its own struct holds them.
func echo[I any](name string) tools.Tool {
	spec := tools.Spec{Name: name, Kind: tools.Read}
	return probe(spec, func(_ context.Context, _ *tools.Env, in I) (tools.Result, error) {
		return tools.Result{Success: true, Data: fmt.Sprintf("%T", in), Value: in}, nil
	})
}

type (
	words struct {
		A string `json:"a"`
		B string `json:"b" desc:"Another." default:"none"`
	}
	figures struct {
		A int     `json:"a" min:"1"`
		B float64 `json:"b"`
	}
	choice struct {
		A string `json:"a" enum:"left,right"`
		B bool   `json:"b" default:"false"`
	}
	nested struct {
		A []words        `json:"a"`
		B map[string]int `json:"b"`
	}
)

func TestF012_F260EachToolHasItsOwnArguments(t *testing.T) {
	kinds := []struct {
		tool             func(string) tools.Tool
		typ, send, want  string
		wrong, wrongPath string
	}{
		{echo[words], "words", `{"a":"x"}`, `{"a":"x","b":"none"}`, `{"a":[]}`, "$.a"},
		{echo[figures], "figures", `{"a":2,"b":1.5}`, `{"a":2,"b":1.5}`, `{"a":0,"b":1}`, "$.a"},
		{echo[choice], "choice", `{"a":"left"}`, `{"a":"left","b":false}`, `{"a":"up"}`, "$.a"},
		{
			echo[nested], "nested", `{"a":[{"a":"x","b":"y"}],"b":{"n":3}}`, `{"a":[{"a":"x","b":"y"}],"b":{"n":3}}`,
			`{"a":[{"a":{}}],"b":{}}`, "$.a[0].a",
		},
	}
	var list []tools.Tool
	for i := range 80 {
		list = append(list, kinds[i%len(kinds)].tool(fmt.Sprintf("probe_%02d", i)))
	}
	r := start(t, conformance.Options{}, options(nil, list...))
	s := r.session(nil)
	for i := range 80 {
		k, name := kinds[i%len(kinds)], fmt.Sprintf("probe_%02d", i)
		got := r.call(s, name, k.send)
		if got.Data != "lspserver_test."+k.typ || string(got.Result) != k.want {
			t.Errorf("%s got %s: %s", name, got.Data, got.Result)
		}
		got = r.call(s, name, k.wrong)
		if got.Error != "INVALID_ARGS" || len(got.Issues) != 1 || got.Issues[0].Path != k.wrongPath {
			t.Errorf("%s: %s", name, got.raw)
		}
	}
	r.end()
}

func TestF013_F035ToolInfo(t *testing.T) {
	spec := tools.Spec{
		Name: "measure", Aliases: []string{"gauge"}, Kind: tools.Search, Category: "probes", Description: "Measures.",
		Danger: tools.Moderate, Class: tools.ClassNetwork, Together: tools.WithReads, NotDestructive: true, Block: true,
		InputStreaming: true, Providers: []string{"openai", "local"},
	}
	measure := probe(spec, func(context.Context, *tools.Env, words) (tools.Result, error) {
		return tools.Result{}, errors.New("not called")
	})
	r := start(t, conformance.Options{}, options(nil, measure))
	const want = `{"name":"measure","aliases":["gauge"],"title":"measure","kind":"search","category":"probes",` +
		`"description":"Measures.","parameters":{"type":"object","properties":{"a":{"type":"string"},` +
		`"b":{"type":"string","description":"Another.","default":"none"}},"required":["a"],` +
		`"additionalProperties":false},"readOnly":true,"concurrencySafe":true,"destructive":false,"danger":"moderate",` +
		`"permissionClass":"network","interrupt":"block","inputStreaming":true,"providers":["openai","local"],` +
		`"source":"builtin","deferred":false,"enabled":true}`
	for _, name := range []string{"measure", "gauge"} {
		var info json.RawMessage
		r.ask("tandem/tools/get", map[string]any{"name": name}, &info)
		if !sameJSON(info, []byte(want)) {
			t.Errorf("%s is %s\nwant %s", name, info, want)
		}
	}
	var none json.RawMessage
	r.ask("tandem/tools/get", map[string]any{"name": "frobnicate"}, &none)
	equal(t, "an unknown tool", string(none), "null")
	r.end()
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

// A call is called by its title as soon as its arguments are known, and by the name of its tool where that has no
// title.
func TestF014Titles(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil, echo[words]("nameless")))
	r.write("src/main.go", "package main\n")
	want := map[string]string{"read_file": "Read src/main.go", "nameless": "nameless"}

	s := r.session(nil)
	r.call(s, "read_file", `{"path":"src/main.go"}`, "callId", "read_file")
	r.call(s, "nameless", `{"a":"x"}`, "callId", "nameless")
	first := map[string]string{}
	for _, u := range r.told(s) {
		if id := u.Update.ToolCallID; u.Update.SessionUpdate == "tool_call" {
			first[id] = u.Update.Title
		} else {
			equal(t, "later title", u.Update.Title, want[id])
		}
	}
	if !maps.Equal(first, want) {
		t.Errorf("first titles %v", first)
	}

	// Of a model's call the arguments are known when the last piece of them has come.
	s = r.session(map[string]any{"model": r.script(`call read_file {"path": "src/main.go"}
call nameless {"a": "x"}

say Done.
`)})
	equal(t, "stop", r.prompt(s, "go").StopReason, "end_turn")
	titles := map[string]string{} // by id, the latest
	for _, u := range r.told(s) {
		if id := u.Update.ToolCallID; id != "" && len(u.Update.RawInput) > 0 {
			titles[id] = u.Update.Title
		} else if known := titles[id]; id != "" && known != "" {
			equal(t, "later title", u.Update.Title, known)
		}
	}
	sameList(t, "titles", slices.Sorted(maps.Values(titles)), "Read src/main.go", "nameless")
	r.end()
}

func TestF081CallContext(t *testing.T) {
	begun, over := make(chan struct{}, 1), make(chan error, 1)
	look := probe(tools.Spec{Name: "look", Kind: tools.Read},
		func(ctx context.Context, env *tools.Env, _ struct{}) (tools.Result, error) {
			deadline, ok := ctx.Deadline()
			left := time.Until(deadline)
			return tools.Result{Success: true, Data: "seen", Value: map[string]any{
				"session": env.Session, "cwd": env.Paths.Cwd, "write": env.Paths.Write,
				"limit": env.Limits.ToolTimeout.Milliseconds(), "under": ok && left > 0 && left <= 12_345*time.Millisecond,
			}}, nil
		})
	linger := probe(tools.Spec{Name: "linger", Kind: tools.Read},
		func(ctx context.Context, _ *tools.Env, _ struct{}) (tools.Result, error) {
			begun <- struct{}{}
			<-ctx.Done()
			over <- ctx.Err()
			return tools.Result{}, ctx.Err()
		})
	dir := folder(t)
	r := start(t, conformance.Options{Root: dir, Settings: map[string]any{
		"limits": map[string]any{"toolTimeoutMs": 12_345}, "writeRoots": []string{"only/here"},
	}}, options(nil, look, linger))
	r.write("a/x", "")
	r.write("b/x", "")
	for _, name := range []string{"a", "b"} {
		cwd := filepath.Join(dir, name)
		s := r.session(map[string]any{"cwd": cwd})
		got := r.call(s, "look", `{}`)
		want := fmt.Sprintf(`{"session":%q,"cwd":%q,"write":[%q],"limit":12345,"under":true}`,
			s, cwd, filepath.Join(cwd, "only/here"))
		if !sameJSON(got.Result, []byte(want)) {
			t.Errorf("%s\nwant %s", got.Result, want)
		}
	}
	s := r.session(nil)
	ctx, cancel := context.WithCancel(r.ctx)
	wait := r.Begin("tandem/tools/call", map[string]any{"sessionId": s, "name": "linger", "arguments": map[string]any{}})
	<-begun
	cancel()
	if _, err := wait(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case err := <-over:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("the tool was not told")
	}
	r.end()
	for _, v := range r.Violations() {
		if !strings.Contains(v, "answer") { // the answer to what was cancelled comes all the same
			t.Error(v)
		}
	}
}

// resultSchema is the published schema of ToolResult.
func resultSchema(t *testing.T) *santhosh.Schema {
	t.Helper()
	raw, err := os.ReadFile("../docs/protocol.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := santhosh.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := santhosh.NewCompiler()
	if err := c.AddResource("protocol.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("protocol.json#/$defs/ToolResult")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sound checks what holds for every result that there is.
func sound(schema *santhosh.Schema, what string, got result) (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	value, err := santhosh.UnmarshalJSON(bytes.NewReader(got.raw))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		bad("against the schema: %v", err)
	}
	if got.Success == (got.Error != "") || strings.Contains(string(got.raw), `"error":""`) {
		bad("success %v with error %q", got.Success, got.Error)
	}
	if strings.TrimSpace(got.Data) == "" || got.Data != got.Context {
		bad("data %q, context %q", got.Data, got.Context)
	}
	var object map[string]any
	var list []any
	if json.Unmarshal([]byte(got.Data), &object) == nil || json.Unmarshal([]byte(got.Data), &list) == nil {
		bad("data is a dump: %s", got.Data)
	}
	if strings.Contains(got.Summary, "\n") {
		bad("a summary of several lines: %q", got.Summary)
	}
	if got.CallID == "" {
		bad("no callId")
	}
	if len(wrong) > 0 {
		wrong = append(wrong, what, string(got.raw))
	}
	return wrong
}

// arguments draws arguments of every tool: fitting ones, near misses and nonsense.
func arguments(t *rapid.T, outside string) (name, args string) {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	path := pick("path",
		"a.txt", "a.txt", "a.txt", "", "data.json", "list.json", "dir", "dir/b.go", "new.txt", "deep/new.txt", "bin",
		"crlf.txt", "loop", "../x", "/etc/hostname", "~", "a\x00b", outside, "@a.txt", "empty", "dir/../a.txt", "no/such/file")
	text := func(label string) string {
		return pick(label, "one", "two\n", "", "{}", "[1]", "func", "\r\n", "é😀", "nothing like it", "(", "*.go")
	}
	in := map[string]any{}
	switch name = pick("tool", "read_file", "edit_file", "write_file", "list_files", "glob", "grep", "bash"); name {
	case "read_file":
		in["path"] = path
		in["start_line"], in["end_line"] = rapid.IntRange(1, 4).Draw(t, "start"), rapid.IntRange(1, 9).Draw(t, "end")
	case "edit_file":
		in["path"], in["old_text"], in["new_text"] = path, text("old"), text("new")
		in["replace_all"] = rapid.Bool().Draw(t, "all")
	case "write_file":
		in["path"], in["content"], in["mode"] = path, text("content"), pick("mode", "overwrite", "append", "append", "x")
	case "list_files":
		in["path"], in["pattern"], in["depth"] = path, text("pattern"), rapid.IntRange(0, 4).Draw(t, "depth")
	case "glob":
		in["path"], in["pattern"] = pick("below", ".", path), pick("glob", "**/*", "*.txt", "[", "{a,b}*", "")
	case "grep":
		in["path"], in["pattern"] = pick("where", ".", path), text("regexp")
		in["output_mode"] = pick("output", "content", "files_with_matches", "count")
	case "bash":
		in["cwd"] = pick("cwd", ".", ".", "dir", path)
		in["command"] = pick("command", "true", "false", "exit 3", "echo one; echo two >&2", `printf '{"a":1}'`,
			`printf '[1]'; exit 1`, "kill -9 $$", "nosuchprogram", `printf '\377\0x'`, "", "(", "cat a.txt")
	}
	for _, key := range slices.Sorted(maps.Keys(in)) {
		if rapid.IntRange(0, 15).Draw(t, "without "+key) == 15 {
			delete(in, key)
		}
	}
	switch rapid.IntRange(0, 15).Draw(t, "twist") {
	case 13:
		in["bogus"] = 7
	case 14:
		return name, pick("junk", `null`, `[]`, `"x"`, `7`, `{}`, `{"path":7}`, `"{\"path\":\"a.txt\"}"`)
	case 15:
		return pick("name", "", "view", "Read_File", "shell", "reed_file", "a\nb", "{}"), `{"path":"a.txt"}`
	}
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return name, string(raw)
}

// Whatever is called with whatever arguments, through the whole server: one shape, one flag, readable text.
func TestF098F100F102EveryResult(t *testing.T) {
	schema := resultSchema(t)
	var questions atomic.Int32
	outside := filepath.Join(folder(t), "secret")
	r := start(t, conformance.Options{
		Ask: func(n int, _ conformance.Ask) string {
			questions.Add(1)
			return []string{"allow_once", "allow_once", "reject_once", "cancelled"}[n%4]
		},
	}, options(nil))
	for name, content := range map[string]string{
		"a.txt": "one\ntwo\nthree\n", "data.json": `{"a": [1, 2]}` + "\n", "list.json": "[1]",
		"dir/b.go": "package b\n\nfunc one() {}\n", "bin": "\x00\x01\x02", "crlf.txt": "one\r\ntwo\r\n", "empty": "",
	} {
		r.write(name, content)
	}
	err := errors.Join(os.Symlink("loop", filepath.Join(r.root, "loop")), os.WriteFile(outside, []byte("s"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Open("a.txt"); err != nil {
		t.Fatal(err)
	}
	sessions := []string{r.session(map[string]any{"mode": "auto"}), r.session(map[string]any{"mode": "ask"})}
	classes, names := map[string]int{}, map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		for range 5 {
			name, args := arguments(rt, outside)
			session := rapid.SampledFrom(sessions).Draw(rt, "session")
			apply := rapid.SampledFrom([]string{"auto", "auto", "disk", "none", "editor"}).Draw(rt, "apply")
			got := r.call(session, name, args, "apply", apply, "trace", rapid.Bool().Draw(rt, "trace"))
			for _, w := range sound(schema, name+" "+args, got) {
				rt.Error(w)
			}
			classes[got.Error]++
			names[name]++
		}
	})
	t.Log(classes, names, questions.Load())
	if !t.Failed() && (len(classes) < 10 || len(names) < 10) {
		t.Errorf("too little was tried: %v %v, %d questions", classes, names, questions.Load())
	}
	if content, err := os.ReadFile(outside); err != nil || string(content) != "s" {
		t.Errorf("outside: %q %v", content, err)
	}
	r.end()
}

func TestF099DataAndResult(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	s := r.session(nil)
	got := r.call(s, "bash", `{"command":"echo out; echo err >&2; exit 3"}`)
	var v map[string]any
	if err := json.Unmarshal(got.Result, &v); err != nil {
		t.Fatal(err, string(got.raw))
	}
	equal(t, "exitCode", v["exitCode"], any(3.0))
	equal(t, "stdout", v["stdout"], any("out\n"))
	equal(t, "stderr", v["stderr"], any("err\n"))
	equal(t, "data", got.Data, "stdout:\nout\nstderr:\nerr\n[Exit code: 3]")
	equal(t, "context", got.Context, got.Data)
	equal(t, "error", got.Error, "EXIT_CODE_3")
	r.end()
}

func TestDiffOfWhatChanges(t *testing.T) {
	for _, apply := range []string{"auto", "disk", "none"} {
		r := start(t, conformance.Options{}, options(nil))
		r.write("a.txt", "one\ntwo\n")
		s := r.session(map[string]any{"mode": "auto"})
		for _, c := range []struct{ name, args, unified string }{
			{"read_file", `{"path":"a.txt"}`, ""},
			{
				"edit_file", `{"path":"a.txt","old_text":"one","new_text":"1"}`,
				"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n",
			},
			{"write_file", `{"path":"b.txt","content":"x\n"}`, "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+x\n"},
			{"list_files", `{}`, ""},
			{"glob", `{"pattern":"*"}`, ""},
			{"grep", `{"pattern":"two"}`, ""},
			{"bash", `{"command":"echo y > c.txt"}`, ""},
			{"edit_file", `{"path":"a.txt","old_text":"nowhere","new_text":"1"}`, ""},
		} {
			got := r.call(s, c.name, c.args, "apply", apply)
			var diff struct{ Unified string }
			if len(got.Diff) > 0 && json.Unmarshal(got.Diff, &diff) != nil {
				t.Errorf("%s", got.raw)
			}
			if diff.Unified != c.unified || (got.Diff == nil) != (c.unified == "") || (got.Edit == nil) != (c.unified == "") {
				t.Errorf("apply %s, %s: diff %s, edit %s", apply, c.name, got.Diff, got.Edit)
			}
			if c.unified != "" && (got.Applied == nil || *got.Applied != (apply != "none")) {
				t.Errorf("apply %s, %s: %s", apply, c.name, got.raw)
			}
		}
		r.end()
	}
}

// Each hook of a tool answers its own question: turning one changes that answer and no other.
func TestF197ThreeQuestions(t *testing.T) {
	type in struct {
		N int `json:"n" min:"1"`
	}
	make := func(name string, act tools.Act, together tools.Together) tools.Tool {
		return tools.Define(tools.Definition[in]{
			Spec:  tools.Spec{Name: name, Kind: tools.Read, Together: together},
			Needs: tools.Always[in](tools.Need{Act: act}),
			Plan: func(context.Context, *tools.Env, in) (*tools.Plan, error) {
				return &tools.Plan{Run: func(context.Context) (tools.Result, error) {
					return tools.Result{Success: true, Data: "ran"}, nil
				}}, nil
			},
		})
	}
	var asked atomic.Int32
	r := start(t, conformance.Options{Ask: func(int, conformance.Ask) string { asked.Add(1); return "reject_once" }}, options(nil,
		make("free_beside", tools.Reads, tools.WithReads), make("free_alone", tools.Reads, tools.Alone),
		make("asks_beside", tools.Runs, tools.WithReads), make("asks_alone", tools.Runs, tools.Alone)))
	s := r.session(map[string]any{"mode": "auto"})
	for _, allowed := range []string{"free", "asks"} {
		for _, beside := range []string{"beside", "alone"} {
			for _, n := range []int{1, 0} {
				name := allowed + "_" + beside
				call := map[string]any{"name": name, "arguments": map[string]any{"n": n}}
				before := asked.Load()
				var out struct {
					Results []result
					Batches [][]int
				}
				r.ask("tandem/tools/batch", map[string]any{"sessionId": s, "calls": []any{call, call}}, &out)
				wantError, wantAsked := "", int32(0)
				switch {
				case n == 0:
					wantError = "INVALID_ARGS"
				case allowed == "asks":
					wantError, wantAsked = "GATE_DENIED", 2
				}
				for _, res := range out.Results {
					equal(t, name, res.Error, wantError)
				}
				equal(t, name+": questions", asked.Load()-before, wantAsked)
				if n == 1 {
					equal(t, name+": batches", len(out.Batches), map[string]int{"beside": 1, "alone": 2}[beside])
				}
			}
		}
	}
	r.end()
}

// The parts of a result go to a host as blocks of content, and to a person with the call's update.
func TestPartsOnTheWire(t *testing.T) {
	show := probe(tools.Spec{Name: "show", Kind: tools.Read}, func(context.Context, *tools.Env, struct{}) (tools.Result, error) {
		return tools.Result{Success: true, Data: "Here.", Parts: []tools.Part{
			{Kind: tools.TextPart, Text: "A caption."},
			{Kind: tools.ImagePart, MIMEType: "image/png", Data: []byte("png")},
			{Kind: tools.DocumentPart, MIMEType: "application/pdf", Name: "a.pdf", Data: []byte("pdf")},
		}}, nil
	})
	r := start(t, conformance.Options{}, options(nil, show))
	s := r.session(map[string]any{"mode": "auto"})
	var raw struct {
		Content json.RawMessage `json:"content"`
	}
	r.ask("tandem/tools/call", map[string]any{"sessionId": s, "callId": "c", "name": "show", "arguments": map[string]any{}}, &raw)
	equal(t, "content", string(raw.Content), `[{"type":"text","text":"A caption."},{"type":"image","mediaType":"image/png","data":"cG5n"},`+
		`{"type":"document","mediaType":"application/pdf","name":"a.pdf","data":"cGRm"}]`)
	r.end()
}

func TestF220TraceOfADispatch(t *testing.T) {
	r := start(t, conformance.Options{Ask: func(int, conformance.Ask) string { return "reject_once" }}, options(nil))
	r.write("a.txt", "one\n")
	s := r.session(map[string]any{"mode": "auto"})
	stages := []string{"resolve", "normalise", "validate", "before-hooks", "needs", "admission", "plan", "policy", "safety", "permission", "claim", "cache", "execute"}
	for _, c := range []struct {
		name, args, err, last string
	}{
		{"frobnicate", `{}`, "TOOL_NOT_FOUND", "resolve"},
		{"read_file", `{}`, "INVALID_ARGS", "validate"},
		{"edit_file", `{"path":"none","old_text":"a","new_text":"b"}`, "READ_ERROR", "plan"},
		{"bash", `{"command":"true"}`, "GATE_DENIED", "permission"},
		{"read_file", `{"path":"a.txt"}`, "", "execute"},
	} {
		got := r.call(s, c.name, c.args, "trace", true)
		var trace []string
		for _, st := range got.Meta.Trace {
			trace = append(trace, st.Stage)
		}
		equal(t, c.name, got.Error, c.err)
		want := slices.Clone(stages[:slices.Index(stages, c.last)+1])
		sameList(t, c.name+" "+c.args, trace, append(want, "after-hooks", "truncate", "record", "ast-invalidation", "syntax", "audit", "emit")...)
		if untraced := r.call(s, c.name, c.args); untraced.Meta.Trace != nil {
			t.Errorf("%s: a trace that was not requested", c.name)
		}
	}
	r.end()
}

package backend_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tandem/agent"
	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/prompt"
	"tandem/filetime/text"
	"tandem/lspserver/backend"
	"tandem/lspserver/languages"
	"tandem/lspserver/workspace"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/plugin"
	"tandem/tools/run"
)

// TestSettingsChangeTheTools: the client's settings hold from when it sends them: tools come and go, the program hears of what has changed
// and not of what is the same, and a state names what is worth a remark.
func TestSettingsChangeTheTools(t *testing.T) {
	dir, plugged := canonical(t), canonical(t)
	put(t, filepath.Join(plugged, plugin.Manifest), `{"id":"p","tools":[{"name":"hello","description":"Says hello.","kind":"read","parameters":{"type":"object"},"command":["./run"]}]}`)
	started := 0
	var opened []string
	f := &face{}
	b := begin(t, f, backend.Client{Folders: []string{dir}, OwnSection: true}, backend.Options{
		Started: func(config.Config) { started++ }, Opened: func(folders ...string) { opened = append(opened, folders...) },
	})
	made(t, b, backend.NewSession{})
	f.said()
	has := func(name string) bool { return b.Tools().Get(name) != nil }
	for _, tt := range []struct {
		section string
		started int
		has     map[string]bool
	}{
		{`{}`, 0, map[string]bool{"read_file": true, "glob": true, "web_search": false, "hello": false}},
		{`{"disabledTools":["glob"]}`, 1, map[string]bool{"read_file": true, "glob": false}},
		{`{"disabledTools":["glob"]}`, 0, map[string]bool{"glob": false}},
		{`{"disabledTools": ["glob"]}`, 0, map[string]bool{"glob": false}},
		{`{"toolset":"simple"}`, 1, map[string]bool{"read_file": true, "glob": false, "edit_file": true, "grep": false}},
		{`{"webSearch":{"provider":"tavily"}}`, 1, map[string]bool{"web_search": true, "glob": true}},
		{`{"plugins":["` + plugged + `"]}`, 1, map[string]bool{"hello": true, "web_search": false}},
		{`{"plugins":["` + plugged + `","` + dir + `"]}`, 1, map[string]bool{"hello": true}},
		{`{}`, 1, map[string]bool{"hello": false, "glob": true}},
	} {
		started = 0
		b.SetSection([]byte(tt.section))
		if started != tt.started {
			t.Errorf("%s: it has begun %d times, want %d", tt.section, started, tt.started)
		}
		for name, want := range tt.has {
			if has(name) != want {
				t.Errorf("%s: %s is there: %v", tt.section, name, has(name))
			}
		}
	}
	told := strings.Join(f.said(), "\n")
	for _, want := range []string{"gone: glob ", "come: glob ", "come: hello ", "gone: hello "} {
		if !strings.Contains(told, want) {
			t.Errorf("%s was not told of", want)
		}
	}
	if !slices.Contains(opened, dir) {
		t.Errorf("opened %q", opened)
	}
	opened = nil
	b.SetSection([]byte(`{"writeRoots":["sub","/abs"]}`))
	if !slices.Contains(opened, filepath.Join(dir, "sub")) || !slices.Contains(opened, "/abs") {
		t.Errorf("opened %q", opened)
	}
	remarks := func() string { return strings.Join(b.Status(t.Context()).Remarks, "\n") }
	if strings.Contains(remarks(), "anywhere") {
		t.Errorf("with some roots: %s", remarks())
	}
	anywhere := begin(t, &face{}, backend.Client{Options: []byte(`{"writeRoots":[]}`), Own: true}, backend.Options{})
	if remarks := strings.Join(anywhere.Status(t.Context()).Remarks, "\n"); !strings.Contains(remarks, "anywhere") {
		t.Errorf("with none: %s", remarks)
	}
	b.SetSection([]byte(`{"providers":{"one":{"api":"openai","baseUrl":"https://x","apiKeyEnv":"ONE_KEY"},"two":{"api":"openai","baseUrl":"https://y"}}}`))
	st := b.Status(t.Context())
	if i := slices.IndexFunc(st.Keys, func(k backend.KeyVariable) bool { return k.Provider == "one" }); i < 0 || st.Keys[i].Variable != "ONE_KEY" {
		t.Errorf("keys %+v", st.Keys)
	}
	for _, k := range st.Keys {
		if k.Variable == "" {
			t.Errorf("a key without a variable: %+v", st.Keys)
		}
	}
}

// TestRulesAboutScripts: a rule that allows a command with its scripts takes the place of that for the same command with other scripts.
func TestRulesAboutScripts(t *testing.T) {
	b := begin(t, &face{}, backend.Client{Folders: []string{canonical(t)}}, backend.Options{Inputs: config.Inputs{UserFile: filepath.Join(canonical(t), "config.json")}})
	rule := func(effect gate.Verdict, scripts string) []gate.Rule {
		return []gate.Rule{{Effect: effect, Tool: "bash", Params: map[string]string{"command": "make"}, Scripts: scripts}}
	}
	for _, r := range [][]gate.Rule{rule(gate.Allow, "Makefile 1"), rule(gate.Allow, "Makefile 2"), rule(gate.Allow, ""), rule(gate.Deny, "")} {
		if err := b.SetRules("user", nil, r, nil); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range b.Rules(nil) {
		got = append(got, fmt.Sprint(r.Effect, " ", r.Scripts))
	}
	if want := []string{"deny ", "allow Makefile 2", "allow "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestOffersAndModels: a tool that no session could call is not on offer; a model that cannot be had is refused, and so are two tools of
// one name in a turn.
func TestOffersAndModels(t *testing.T) {
	home := canonical(t)
	settings := filepath.Join(home, "config.json")
	put(t, settings, `{"permissions":{"deny":[{"tool":"web_fetch"}]}}`)
	b := begin(t, &face{}, backend.Client{Folders: []string{canonical(t)}}, backend.Options{
		Inputs: config.Inputs{UserFile: settings}, Opener: func(config.Config, model.Lend) model.Opener { return choosy{models{"say x\n"}} },
	})
	drops := b.Drops()
	for name, dropped := range map[string]bool{"read_file": false, "web_fetch": true, "definition": true, "rename_symbol": true} {
		if stage, _ := drops(b.Tools().Get(name).Spec()); (stage != "") != dropped {
			t.Errorf("%s is dropped at %q", name, stage)
		}
	}
	var offered []string
	for _, x := range b.Offer().Full {
		offered = append(offered, x.Spec().Name)
	}
	if slices.Contains(offered, "web_fetch") || !slices.Contains(offered, "read_file") {
		t.Errorf("on offer are %q", offered)
	}
	served := begin(t, &face{}, backend.Client{Languages: &symbols{}}, backend.Options{})
	if stage, _ := served.Drops()(served.Tools().Get("definition").Spec()); stage != "" {
		t.Errorf("a client's language servers are of no use: %s", stage)
	}
	se := made(t, b, backend.NewSession{})
	if err := b.SetModel(se, "script/none"); !backend.ModelUnavailable.Is(err) {
		t.Errorf("a model that is not there: %v", err)
	}
	if err := b.SetModel(se, "script/test"); err != nil {
		t.Error(err)
	}
	one := backend.ToolSpec{Spec: tools.Spec{Name: "one", Description: "Does it.", Kind: tools.Read}}
	say := []prompt.Block{{Type: "text", Text: "go"}}
	if _, err := b.Prompt(se, backend.Prompt{Blocks: say, Tools: []backend.ToolSpec{one, one}}); !backend.Invalid.Is(err) {
		t.Errorf("two tools of one name: %v", err)
	}
	carryOut, err := b.Prompt(se, backend.Prompt{Blocks: say, Tools: []backend.ToolSpec{one}})
	if err != nil {
		t.Fatalf("one tool: %v", err)
	}
	if _, err := carryOut(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// choosy has no model script/none.
type choosy struct{ models }

func (c choosy) Open(name string) (model.Model, error) {
	if name == "script/none" {
		return nil, &model.Error{Kind: "unavailable", Message: "there is no such model"}
	}
	return c.models.Open(name)
}

// symbols is a client's language server that knows one symbol, and what it was asked.
type symbols struct {
	uri string

	mu    sync.Mutex
	asked int
}

func (*symbols) Serves(string) bool { return true }

func (s *symbols) Ask(context.Context, languages.Request) ([]languages.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return []languages.Reply{{Server: "s", Encoding: text.UTF16, Result: json.RawMessage(`[{"name":"abc","kind":12,"location":{"uri":"` + s.uri + `","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}}}}]`)}}, nil
}

// TestSymbolsAreCompleted: language servers are asked for a part of a name that is long enough to be one, and is no path.
func TestSymbolsAreCompleted(t *testing.T) {
	dir := canonical(t)
	put(t, filepath.Join(dir, "x.go"), "abc\n")
	s := &symbols{uri: workspace.URI(filepath.Join(dir, "x.go"))}
	b := begin(t, &face{}, backend.Client{Folders: []string{dir}, Languages: s}, backend.Options{})
	se := made(t, b, backend.NewSession{})
	for prefix, asked := range map[string]int{"a": 0, "ab": 1, "a/b": 0, agent.MentionSymbol + "a": 0, agent.MentionSymbol + "ab": 1} {
		s.mu.Lock()
		s.asked = 0
		s.mu.Unlock()
		all, err := b.Complete(t.Context(), se.ID(), prefix, 9)
		found := slices.ContainsFunc(all, func(m backend.Mention) bool { return m.Label == "abc" && m.Kind == backend.MentionSymbol })
		if err != nil || s.asked != asked || found != (asked > 0) {
			t.Errorf("%q: %+v, %v, asked %d times", prefix, all, err, s.asked)
		}
	}
}

// TestRecordsAndMoves: the records of a session are those of a file or a turn where one is named; what one session has changed is followed
// where another one moves the file, and an undo reaches it there.
func TestRecordsAndMoves(t *testing.T) {
	dir := canonical(t)
	for _, name := range []string{"a", "b", "c"} {
		put(t, filepath.Join(dir, name), "one\n")
	}
	b := begin(t, &face{answer: run.Allowed}, backend.Client{Folders: []string{dir}}, backend.Options{Store: kept(t.TempDir())})
	first, second := made(t, b, backend.NewSession{Mode: "auto"}), made(t, b, backend.NewSession{Mode: "auto"})
	call := func(se *backend.Session, tool, args string) {
		t.Helper()
		r, _, err := se.CallTools(t.Context(), []run.Call{{Name: tool, Arguments: json.RawMessage(args)}}, agent.CallOptions{})
		if err != nil || !r[0].Success {
			t.Fatalf("%s %s: %+v, %v", tool, args, r, err)
		}
	}
	for _, name := range []string{"a", "b"} {
		call(first, "read_file", `{"path":"`+name+`"}`)
		call(first, "edit_file", `{"path":"`+name+`","old_text":"one","new_text":"two"}`)
	}
	count := func(path string, turn *int, contents bool) int {
		t.Helper()
		all, err := b.Records(first, path, turn, contents)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			if (r.Before != nil) != contents || contents && (*r.Before != "one\n" || *r.After != "two\n") {
				t.Errorf("%+v", r)
			}
		}
		return len(all)
	}
	all, err := b.Records(first, "", nil, false)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	turn, other := all[0].Turn, all[0].Turn+7
	for _, got := range []struct{ n, want int }{
		{count("", nil, true), 2},
		{count(filepath.Join(dir, "a"), nil, false), 1},
		{count(filepath.Join(dir, "c"), nil, false), 0},
		{count("", &turn, true), 2},
		{count("", &other, false), 0},
	} {
		if got.n != got.want {
			t.Errorf("%d records, want %d", got.n, got.want)
		}
	}
	for _, name := range []string{"a", "c"} {
		call(second, "read_file", `{"path":"`+name+`"}`)
	}
	call(second, "move_file", `{"path":"a","destination":"moved"}`)
	call(second, "move_file", `{"path":"c","destination":"elsewhere"}`)
	if moved, from := filepath.Join(dir, "moved"), filepath.Join(dir, "a"); !first.Changes.Tracks(moved) || first.Changes.Tracks(from) || first.Changes.Tracks(filepath.Join(dir, "elsewhere")) {
		t.Error("the session does not follow its file")
	}
	if done, err := first.Reject(t.Context(), "", nil); err != nil || len(done.Conflicts) > 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "moved")); err != nil || string(raw) != "one\n" {
		t.Errorf("%q, %v", raw, err)
	}
}

// TestAttentionOfOtherDocuments: a document that is not open is named with its line, one of another folder is not, and a selection that
// is attached to the prompt is not sent twice.
func TestAttentionOfOtherDocuments(t *testing.T) {
	dir := canonical(t)
	var seen string
	b := begin(t, &face{}, backend.Client{Folders: []string{dir}, Features: workspace.Features{Apply: true}}, backend.Options{
		Opener: func(config.Config, model.Lend) model.Opener { return reading{&seen} },
	})
	se := made(t, b, backend.NewSession{})
	open, closed := filepath.Join(dir, "open.go"), filepath.Join(dir, "closed.go")
	b.Workspace().Open(open, workspace.URI(open), 1, "selected words\n")
	selection := &workspace.Range{End: text.Position{Character: 8}}
	for name, tt := range map[string]struct {
		a      backend.Attention
		blocks []prompt.Block
		has    map[string]bool
	}{
		"closed":    {backend.Attention{URI: workspace.URI(closed), Path: closed, Cursor: text.Position{Line: 41}}, nil, map[string]bool{"closed.go": true, "42": true}},
		"elsewhere": {backend.Attention{URI: "file:///x/closed.go", Path: "/x/closed.go"}, nil, map[string]bool{"closed.go": false}},
		"no file":   {backend.Attention{URI: "untitled:x"}, nil, map[string]bool{"untitled": false}},
		"selected":  {backend.Attention{URI: workspace.URI(open), Path: open, Selection: selection}, nil, map[string]bool{"selected": true, "words": false}},
		"attached": {
			backend.Attention{URI: workspace.URI(open), Path: open, Selection: selection},
			[]prompt.Block{{Type: "resource", URI: workspace.URI(open) + "#L1", Text: "attached"}},
			map[string]bool{"selected": false, "attached": true},
		},
	} {
		seen = ""
		carryOut, err := b.Prompt(se, backend.Prompt{Blocks: append([]prompt.Block{{Type: "text", Text: "go"}}, tt.blocks...), Attention: &tt.a})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := carryOut(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		last := seen[strings.LastIndex(seen, "go"):]
		if i := strings.LastIndex(seen, "{user"); i >= 0 {
			last = seen[i:]
		}
		for part, want := range tt.has {
			if strings.Contains(last, part) != want {
				t.Errorf("%s: of %s the model reads %s", name, part, last)
			}
		}
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

package lspserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tandem/lspserver/conformance"
	"tandem/tools"
)

// ear keeps what the server tells of the configuration.
type ear struct {
	mu      sync.Mutex
	shown   []string
	marks   map[string][]mark
	changes int
}

// mark is a diagnostic.
type mark struct {
	Message  string
	Severity int
	Range    struct{ Start, End struct{ Line, Character int } }
}

func (e *ear) hear(method string, params json.RawMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch method {
	case "window/showMessage":
		var m struct{ Message string }
		_ = json.Unmarshal(params, &m)
		e.shown = append(e.shown, m.Message)
	case "textDocument/publishDiagnostics":
		var d struct {
			URI         string
			Diagnostics []mark
		}
		_ = json.Unmarshal(params, &d)
		e.marks[d.URI] = d.Diagnostics
		e.changes++
	}
}

func (e *ear) marked(path string) []mark {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.marks[conformance.ToURI(path)]
}

// messages gives what was shown that has a part in it.
func (e *ear) messages(part string) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.shown {
		if strings.Contains(m, part) {
			n++
		}
	}
	return n
}

func put(t *testing.T, path, text string) {
	t.Helper()
	// Editors save by renaming a new file over the old one.
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path+"~", []byte(text), 0o600), os.Rename(path+"~", path))
	if err != nil {
		t.Fatal(err)
	}
}

func (r *rig) tools() (names []string) {
	r.t.Helper()
	var list struct{ Tools []struct{ Name string } }
	r.ask("tandem/tools/list", map[string]any{}, &list)
	for _, x := range list.Tools {
		names = append(names, x.Name)
	}
	return names
}

// TestConfigurationIsReadAnew changes the person's file and the workspace's while the server runs. Neither is there,
// nor its folder, when it starts.
func TestConfigurationIsReadAnew(t *testing.T) {
	e := &ear{marks: map[string][]mark{}}
	so := options(nil)
	user := filepath.Join(folder(t), "home", ".config", "tandem", "config.json")
	so.Inputs.UserFile = user
	r := start(t, conformance.Options{Heard: e.hear, Capabilities: map[string]any{
		"textDocument": map[string]any{"publishDiagnostics": map[string]any{}},
	}}, so)
	session := r.session(nil)
	whole := r.tools()

	put(t, user, `{"toolset": "simple"}`)
	until(t, "F24: the small set", patience, func() bool { return slices.Equal(r.tools(), []string{"bash", "edit_file", "read_file"}) })

	put(t, user, `{"writeRoots": []}`)
	until(t, "F76: the status tells of what lifts a limit", patience, func() bool {
		var status struct{ Config []string }
		r.ask("tandem/status", map[string]any{}, &status)
		return slices.Contains(status.Config, `"writeRoots" is []: files may be changed anywhere`)
	})

	put(t, user, `{"mode": "readOnly", "apply": "disk"}`)
	n := 0
	write := func() result {
		n++
		return r.call(session, "write_file", fmt.Sprintf(`{"path":"%d.txt","content":"a"}`, n))
	}
	until(t, "the mode of a session that runs", patience, func() bool { return write().Error == "GATE_DENIED" })
	if _, err := os.Stat(filepath.Join(r.root, fmt.Sprint(n, ".txt"))); err == nil {
		t.Error("written all the same")
	}

	// What is broken is said once, where it is; its previous content stays in effect.
	put(t, user, "{\n  \"mode\": \"auto\", \"é\" 5\n}")
	until(t, "a mark", patience, func() bool { return len(e.marked(user)) == 1 })
	m := e.marked(user)[0]
	if m.Severity != 1 || m.Range.Start.Line != 1 || m.Range.Start.Character != 22 || !strings.Contains(m.Message, "its previous content stays in effect") {
		t.Errorf("%+v", m)
	}
	equal(t, "a file that is broken", write().Error, "GATE_DENIED")
	equal(t, "the tools", strings.Join(r.tools(), " "), strings.Join(whole, " "))

	put(t, user, "{\n  \"mode\": \"auto\", \"é\" 5\n}\n")
	put(t, user, `{"mod": "auto"}`)
	until(t, "another mark", patience, func() bool { return len(e.marked(user)) == 1 && strings.Contains(e.marked(user)[0].Message, "mode") })
	equal(t, "a message for each problem", e.messages("not valid JSON"), 1)

	put(t, user, `{"mode": "auto", "apply": "disk"}`)
	until(t, "no mark", patience, func() bool { return len(e.marked(user)) == 0 })
	until(t, "the mode", patience, func() bool { return write().Success })

	// The workspace's folder for it is made while the server runs; what it loosens is passed over.
	policy := filepath.Join(r.root, ".tandem", "config.json")
	put(t, policy, `{"disabledTools": ["grep"], "strictPaths": true, "writeRoots": []}`)
	until(t, "the workspace's word", patience, func() bool { return !slices.Contains(r.tools(), "grep") })
	until(t, "a mark for what is passed over", patience, func() bool { return len(e.marked(policy)) == 1 })
	if m := e.marked(policy)[0]; m.Severity != 2 || !strings.Contains(m.Message, "stricter") {
		t.Errorf("%+v", m)
	}
	equal(t, "strict paths", r.call(session, "read_file", fmt.Sprintf(`{"path":"%d.txt"}`, n)).Success, false)

	if err := errors.Join(os.Remove(user), os.RemoveAll(filepath.Dir(policy))); err != nil {
		t.Fatal(err)
	}
	until(t, "nothing is set", patience, func() bool { return len(r.tools()) == len(whole) && len(e.marked(policy)) == 0 })
	r.end()
}

// TestCarefulInAnyMode asks although a looser mode was chosen for the session, as long as a restriction is not
// understood.
func TestCarefulInAnyMode(t *testing.T) {
	so := options(nil)
	user := filepath.Join(folder(t), "home", ".config", "tandem", "config.json")
	so.Inputs.UserFile = user
	put(t, user, `{"disabledTool": ["grep"], "apply": "disk"}`)
	r := start(t, conformance.Options{Capabilities: map[string]any{
		"experimental": map[string]any{"tandem": map[string]any{"permission": false}}, "window": map[string]any{"showMessage": nil},
	}}, so)
	session := r.session(map[string]any{"mode": "auto"})
	n := 0
	write := func() result {
		n++
		return r.call(session, "write_file", fmt.Sprintf(`{"path":"%d.txt","content":"a"}`, n))
	}
	equal(t, "with a restriction that is not understood", write().Error, "GATE_DENIED")
	put(t, user, `{"disabledTools": ["grep"], "apply": "disk"}`)
	until(t, "it is understood", patience, func() bool { return write().Success })
	r.end()
}

// TestConfigurationOfAnotherFolder heeds the file of the folder that a session works in, though no editor has it open.
func TestConfigurationOfAnotherFolder(t *testing.T) {
	r := start(t, conformance.Options{Settings: map[string]any{"mode": "auto"}}, options(nil))
	elsewhere := folder(t)
	policy := filepath.Join(elsewhere, ".tandem", "config.json")
	put(t, policy, `{"permissions": {"deny": [{"tool": "write_file"}]}}`)
	here, there := r.session(nil), r.session(map[string]any{"cwd": elsewhere})
	for _, session := range []string{here, there} {
		if x := r.call(session, "write_file", `{"path":"a","content":"a"}`); x.Error != "GATE_DENIED" {
			t.Errorf("%+v", x)
		}
	}
	put(t, policy, `{}`)
	n := 0
	until(t, "a change of that file", patience, func() bool {
		n++
		return r.call(there, "write_file", fmt.Sprintf(`{"path":"%d","content":"a"}`, n)).Success
	})
	r.end()
}

// TestConfigurationWithoutWatch relies on the editor to tell what has changed.
func TestConfigurationWithoutWatch(t *testing.T) {
	so := options(nil)
	so.Watch = false
	so.Inputs.UserFile = filepath.Join(folder(t), "config.json")
	r := start(t, conformance.Options{}, so)
	put(t, so.Inputs.UserFile, `{"disabledTools": ["glob"]}`)
	r.Notify("workspace/didChangeWatchedFiles", map[string]any{
		"changes": []any{map[string]any{"uri": conformance.ToURI(so.Inputs.UserFile), "type": 1}},
	})
	until(t, "the file", patience, func() bool { return !slices.Contains(r.tools(), "glob") })
	r.end()
}

// TestF206_F211RulesAndBudget has a rule in the workspace's file, a command that nothing confines, and a turn that
// wants more than it may.
func TestF206_F211RulesAndBudget(t *testing.T) {
	asked := 0
	root := folder(t)
	put(t, filepath.Join(root, ".tandem", "config.json"),
		`{"permissions": {"deny": [{"tool": "Write"}]}, "sandbox": {"level": "strict"}, "budget": {"maxToolCalls": 1}}`)
	r := start(t, conformance.Options{
		Root: root, Settings: map[string]any{"mode": "auto"},
		Ask: func(int, conformance.Ask) string { asked++; return "allow_once" },
	}, options(nil))
	session := r.session(map[string]any{"model": r.script("call list_files {}\ncall list_files {}\n\nsee /BUDGET_EXCEEDED/\nsay Enough.")})
	for call, want := range map[string]string{
		`write_file {"path":"a","content":"a"}`: "write_file is refused by a rule of .tandem/config.json (permissions.deny)",
		`bash {"command":"touch a"}`:            "sandbox.level is strict, and there is no sandbox",
	} {
		name, arguments, _ := strings.Cut(call, " ")
		if x := r.call(session, name, arguments); x.Error != "GATE_DENIED" || !strings.Contains(x.Data, want) {
			t.Errorf("%s: %+v", call, x)
		}
	}
	if x := r.call(session, "write_file", `{"path":".tandem/config.json","content":"{}"}`); x.Error != "PROTECTED_PATH" {
		t.Errorf("A14: %+v", x)
	}
	equal(t, "how the turn ends", r.prompt(session, "go").StopReason, "budget_exceeded")
	equal(t, "questions", asked, 0)
	r.end()
}

type nothing struct{}

// TestF261Section turns tools off and on by the editor's settings.
func TestF261Section(t *testing.T) {
	trial := tools.Define(tools.Definition[nothing]{
		Spec: tools.Spec{Name: "trial", Kind: tools.Read, Flag: "dreams"},
		Plan: func(context.Context, *tools.Env, nothing) (*tools.Plan, error) { return nil, errors.New("never") },
	})
	r := start(t, conformance.Options{}, options(nil, trial))
	whole := r.tools()
	set := func(settings string) {
		r.Notify("workspace/didChangeConfiguration", json.RawMessage(fmt.Sprintf(`{"settings": {"tandem": %s}}`, settings)))
	}
	set(`{"disabledTools": ["Bash"], "featureFlags": {"dreams": true}}`)
	until(t, "the list", patience, func() bool {
		now := r.tools()
		return slices.Contains(now, "trial") && !slices.Contains(now, "bash")
	})
	session := r.session(nil)
	if x := r.call(session, "bash", `{"command":"true"}`); x.Error != "TOOL_NOT_FOUND" || !strings.Contains(x.Data, "disabled by config") {
		t.Errorf("F4: %+v", x)
	}
	set(`{}`)
	until(t, "the list", patience, func() bool { return slices.Equal(r.tools(), whole) })
	// A section that is taken away says nothing any more.
	for _, settings := range []string{`{"tandem": null}`, `{}`} {
		set(`{"disabledTools": ["bash"]}`)
		until(t, "the list", patience, func() bool { return !slices.Contains(r.tools(), "bash") })
		r.Notify("workspace/didChangeConfiguration", json.RawMessage(`{"settings": `+settings+`}`))
		until(t, "the list after "+settings, patience, func() bool { return slices.Equal(r.tools(), whole) })
	}
	r.end()
}

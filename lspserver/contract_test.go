package lspserver_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/lspserver/conformance"
)

// TestFaultM2EffectiveTime: the time limit in force is among the effective arguments, whatever set it.
func TestFaultM2EffectiveTime(t *testing.T) {
	for _, c := range []struct{ settings, args, want string }{
		{`{}`, `{"command":"true"}`, `"timeout_ms":30000`},
		{`{"limits":{"bashTimeoutMs":7000}}`, `{"command":"true"}`, `"timeout_ms":7000`},
		{`{"limits":{"bashTimeoutMs":7000,"bashReadOnlyTimeoutMs":3000}}`, `{"command":"ls"}`, `"timeout_ms":3000`},
		{`{}`, `{"command":"true","timeout_ms":100}`, `"timeout_ms":100`},
		{`{}`, `{"command":"true","timeout":2}`, `"timeout":2`},
	} {
		var settings map[string]any
		if err := json.Unmarshal([]byte(c.settings), &settings); err != nil {
			t.Fatal(err)
		}
		r := start(t, conformance.Options{Settings: settings}, options(nil))
		var got struct {
			Meta struct{ EffectiveArgs json.RawMessage }
		}
		s := r.session(map[string]any{"mode": "auto"})
		if err := json.Unmarshal(r.call(s, "bash", c.args).raw, &got); err != nil {
			t.Fatal(err)
		}
		args := string(got.Meta.EffectiveArgs)
		if !strings.Contains(args, c.want) || strings.Contains(args, "null") || strings.Count(args, "timeout") != 1 {
			t.Errorf("%s %s: %s", c.settings, c.args, args)
		}
		r.end()
	}
}

// TestFaultM3M8WhyAToolIsNotThere: a tool that lacks a setting names it, and one that the tool set leaves out says so.
func TestFaultM3M8WhyAToolIsNotThere(t *testing.T) {
	type dropped struct{ Name, Stage, Reason string }
	why := func(r *rig, s, name string) (out dropped) {
		var got struct{ Dropped []dropped }
		r.ask("tandem/tools/list", map[string]any{"sessionId": s, "explain": true}, &got)
		for _, d := range got.Dropped {
			if d.Name == name {
				out = d
			}
		}
		return out
	}
	r := start(t, conformance.Options{}, options(nil))
	s := r.session(nil)
	got := r.call(s, "tavily", `{"query":"x"}`)
	if got.Error != "UNSUPPORTED" || got.Reason != "setting" || !strings.Contains(got.Data, "webSearch.provider") || strings.Contains(got.Data, "disabled") {
		t.Errorf("%s", got.raw)
	}
	equal(t, "web_search", why(r, s, "web_search"), dropped{"web_search", "enabled", "the setting webSearch.provider is missing"})
	r.end()

	r = start(t, conformance.Options{Settings: map[string]any{"toolset": "simple", "disabledTools": []string{"glob"}}}, options(nil))
	s = r.session(nil)
	equal(t, "grep", why(r, s, "grep"), dropped{"grep", "mode", "the setting toolset is simple"})
	equal(t, "glob", why(r, s, "glob"), dropped{"glob", "enabled", "it is disabled by config"})
	r.end()
}

// TestFaultM6HostReplacesABuiltin: a client's tool takes the place of a built-in one where the client asks for that, in all of its
// sessions and until it is unregistered; no other name that is taken can be had.
func TestFaultM6HostReplacesABuiltin(t *testing.T) {
	g := &guest{answer: func(i invocation) (any, error) { return "the host's " + i.Name, nil }}
	r := start(t, g.options(), options(nil))
	r.write("a.txt", "on disk\n")
	s := r.session(nil)
	read := func() string { return r.call(s, "Read", `{"path":"a.txt","symbol":"s"}`).Data }
	replaces := func() string {
		var info struct{ Replaces, Source string }
		r.ask("tandem/tools/get", map[string]any{"name": "read_file", "sessionId": s}, &info)
		return info.Source + " " + info.Replaces
	}
	mine := lookup("read_file", "parameters", map[string]any{"type": "object"})
	if err := r.refused("tandem/tools/register", map[string]any{"tools": []any{mine}}); !strings.Contains(err.Message, "taken") {
		t.Errorf("without replace: %v", err)
	}
	other := map[string]any{"tools": []any{lookup("view")}, "replace": true}
	if err := r.refused("tandem/tools/register", other); !strings.Contains(err.Message, "taken") {
		t.Errorf("an alias of a built-in: %v", err)
	}
	r.ask("tandem/tools/register", map[string]any{"tools": []any{mine}, "replace": true}, nil)
	equal(t, "who answers", r.call(s, "read_file", `{}`).Data, "the host's read_file")
	equal(t, "the definition", replaces(), "client read_file")
	if err := r.refused("tandem/tools/register", map[string]any{"tools": []any{mine}, "replace": true}); !strings.Contains(err.Message, "taken") {
		t.Errorf("twice: %v", err)
	}
	r.ask("tandem/tools/unregister", map[string]any{"names": []string{"read_file"}}, nil)
	if got := read(); !strings.Contains(got, "symbol") && !strings.Contains(got, "on disk") {
		t.Errorf("after unregister: %s", got)
	}
	equal(t, "the definition", replaces(), "builtin ")
	r.end()
}

// TestFaultM9UnknownTool: a model that names no tool is told of those that it can have, and of no others.
func TestFaultM9UnknownTool(t *testing.T) {
	r := start(t, conformance.Options{Settings: map[string]any{"mode": "readOnly"}}, options(nil))
	s := r.session(nil)
	var got struct{ Tools []struct{ Name string } }
	r.ask("tandem/tools/list", map[string]any{"sessionId": s, "includeDeferred": true}, &got)
	there := map[string]bool{}
	for _, info := range got.Tools {
		there[info.Name] = true
	}
	data := r.call(s, "run_tests", `{}`).Data
	_, list, ok := strings.Cut(data, "The tools are ")
	list, _, _ = strings.Cut(strings.TrimSuffix(list, "."), ";")
	names := strings.Split(list, ", ")
	if !ok || len(names) < 3 {
		t.Fatal(data)
	}
	for _, name := range names {
		if !there[name] {
			t.Errorf("%s is named and cannot be had", name)
		}
	}
	if data := r.call(s, "refernces", `{}`).Data; strings.Contains(data, "references") {
		t.Errorf("a slip of a tool that cannot be had: %s", data)
	}
	r.end()
}

// TestFaultS11UnknownMembers: a call with a member that it does not have is refused, since what it asks for would not be done.
func TestFaultS11UnknownMembers(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	s := r.session(map[string]any{"mode": "auto"})
	call := map[string]any{"name": "write_file", "arguments": map[string]any{"path": "made.txt", "content": "x"}}
	with := func(to map[string]any, more ...any) map[string]any {
		out := map[string]any{}
		maps.Copy(out, to)
		for i := 0; i < len(more); i += 2 {
			out[more[i].(string)] = more[i+1]
		}
		return out
	}
	for what, c := range map[string]struct {
		method string
		params map[string]any
	}{
		"a call":            {"tandem/tools/call", with(call, "sessionId", s, "approved", true)},
		"a batch":           {"tandem/tools/batch", map[string]any{"sessionId": s, "calls": []any{call}, "dryrun": true}},
		"a call of a batch": {"tandem/tools/batch", map[string]any{"sessionId": s, "calls": []any{with(call, "apply", "none")}}},
	} {
		if err := r.refused(c.method, c.params); err.Code != -32602 || !strings.Contains(err.Message, "unknown") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(filepath.Join(r.root, "made.txt")); err == nil {
		t.Error("what was refused was done")
	}
	r.end()
}

package lspserver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/lspserver/conformance"
)

// listed is a tool as tandem/tools/list shows it.
type listed struct {
	Name, Kind, Category, Danger, DisabledBy string
	ReadOnly, Enabled, Deferred              bool
	Parameters                               struct{ Properties map[string]json.RawMessage }
}

func (r *rig) list(params map[string]any) (out []listed) {
	r.t.Helper()
	var answer struct{ Tools []listed }
	r.ask("tandem/tools/list", params, &answer)
	return answer.Tools
}

func toolNames(list []listed) (out []string) {
	for _, t := range list {
		out = append(out, t.Name)
	}
	return out
}

// The list is exactly what can be called: by kind, by whether a tool changes anything, and with what is disabled and
// why.
func TestF001_F005_F009_F039ListOfTools(t *testing.T) {
	r := start(t, conformance.Options{Settings: map[string]any{"disabledTools": []string{"clarify"}}}, options(nil))
	s := r.session(nil)
	all := r.list(nil)
	var none result
	for _, name := range append(toolNames(all), "frobnicate", "clarify") {
		if none = r.call(s, name, `[]`); (none.Error == "TOOL_NOT_FOUND") == slices.Contains(toolNames(all), name) {
			t.Errorf("%s: %s", name, none.raw)
		}
	}
	if !slices.IsSorted(toolNames(all)) || len(all) < 7 || slices.Contains(toolNames(all), "clarify") {
		t.Errorf("all: %v", toolNames(all))
	}
	reads, changes := r.list(map[string]any{"readOnly": true}), r.list(map[string]any{"readOnly": false})
	both := slices.Sorted(slices.Values(append(toolNames(reads), toolNames(changes)...)))
	if len(reads) == 0 || len(changes) == 0 || !slices.Equal(both, toolNames(all)) {
		t.Errorf("readOnly: %v and %v of %v", toolNames(reads), toolNames(changes), toolNames(all))
	}
	byKind := 0
	for _, kind := range []string{"read", "search", "edit", "delete", "move", "execute", "fetch", "think", "other"} {
		for _, x := range r.list(map[string]any{"kind": kind}) {
			byKind++
			if x.Kind != kind {
				t.Errorf("%s is of kind %s, asked for %s", x.Name, x.Kind, kind)
			}
		}
	}
	if byKind != len(all) {
		t.Errorf("%d tools by kind, %d in all", byKind, len(all))
	}
	for _, x := range all {
		if x.Category == "" || !x.Enabled || x.DisabledBy != "" || x.ReadOnly != (x.Kind == "read" || x.Kind == "search") {
			t.Errorf("%+v", x)
		}
	}
	disabled := slices.DeleteFunc(r.list(map[string]any{"includeDisabled": true}), func(x listed) bool { return x.Enabled })
	if !slices.Equal(toolNames(disabled), []string{
		"clarify", "code_actions", "definition", "diagnostics", "document_symbols", "format", "references", "rename_symbol", "todo_write", "web_search", "workspace_symbols",
	}) ||
		slices.ContainsFunc(disabled, func(x listed) bool { return x.DisabledBy == "" }) || disabled[2].DisabledBy != "pool" {
		t.Errorf("disabled: %+v", disabled)
	}
	r.end()
}

// The kind of a call is its tool's: among the arguments it is unknown, and the call is still one that runs alone.
func TestF011_F271BatchesFollowTheTools(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	r.write("a.txt", "one\n")
	s := r.session(map[string]any{"mode": "auto"})
	call := func(name, args string) map[string]any {
		return map[string]any{"name": name, "arguments": json.RawMessage(args)}
	}
	calls := []any{
		call("read_file", `{"path":"a.txt"}`), call("grep", `{"pattern":"one"}`),
		call("bash", `{"command":"touch made","kind":"read"}`),
		call("edit_file", `{"path":"a.txt","old_text":"one","new_text":"1","kind":"read"}`), call("read_file", `{"path":"a.txt"}`),
	}
	for _, dry := range []bool{true, false} {
		var got struct {
			Results []result
			Batches [][]int
		}
		r.ask("tandem/tools/batch", map[string]any{"sessionId": s, "calls": calls, "dryRun": dry}, &got)
		raw, _ := json.Marshal(got.Batches)
		equal(t, "batches", string(raw), "[[0,1],[2],[3],[4]]")
		if dry {
			continue
		}
		for _, i := range []int{2, 3} {
			if x := got.Results[i]; x.Error != "INVALID_ARGS" || len(x.Issues) != 1 || x.Issues[0].Path != "$.kind" || x.Issues[0].Expected != "absent" {
				t.Errorf("%+v", x)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(r.root, "made")); err == nil {
		t.Error("what was refused ran")
	}
	r.end()
}

// What is left out has its default, a whole number may be written as a float, and the result says what the tool was
// given.
func TestF054_F061_F062EffectiveArguments(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	r.write("a.txt", "one\ntwo\n")
	s := r.session(map[string]any{"mode": "auto"})
	for _, c := range []struct{ tool, args, effective, coerced string }{
		{"read_file", `{"path":"a.txt","offset":1.0,"limit":1}`, `"offset":1`, ""},
		{"edit_file", `{"path":"a.txt","old_text":"one","new_text":"1"}`, `"replace_all":false`, ""},
		{"edit_file", `{"path":"a.txt","old_text":"two","new_text":"2","replace_all":"true"}`, `"replace_all":true`, `"coerced":["$.replace_all"]`},
	} {
		got := r.call(s, c.tool, c.args)
		var of struct {
			Meta struct{ EffectiveArgs json.RawMessage }
		}
		_ = json.Unmarshal(got.raw, &of)
		if !got.Success || !strings.Contains(string(of.Meta.EffectiveArgs), c.effective) || !strings.Contains(string(got.raw), c.coerced) {
			t.Errorf("%s %s: %s", c.tool, c.args, got.raw)
		}
	}
	if got := r.call(s, "read_file", `{"path":"a.txt","offset":1.5}`); got.Error != "INVALID_ARGS" {
		t.Errorf("%s", got.raw)
	}
	r.end()
}

// A relative path is refused where only absolute ones pass, and taken from the session's folder elsewhere.
func TestF066StrictPaths(t *testing.T) {
	for _, strict := range []bool{true, false} {
		r := start(t, conformance.Options{Settings: map[string]any{"strictPaths": strict}}, options(nil))
		path := r.write("a.txt", "one\n")
		s := r.session(nil)
		if got := r.call(s, "read_file", `{"path":"a.txt"}`); got.Success == strict {
			t.Errorf("strict %v: %s", strict, got.raw)
		}
		if got := r.call(s, "read_file", `{"path":"`+path+`"}`); !got.Success {
			t.Errorf("strict %v: %s", strict, got.raw)
		}
		r.end()
	}
}

// One situation has one code, whichever tool meets it.
func TestF090_F091_F257OneCodeForOneSituation(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	outside := filepath.Join(folder(t), "outside.txt")
	put(t, outside, "x\n")
	r.write("program", "\x7fELF\x00\x01\x02\x03")
	if err := os.Truncate(r.write("large", ""), 15<<20+3<<20/10); err != nil {
		t.Fatal(err)
	}
	s := r.session(map[string]any{"mode": "auto"})
	edit := `,"old_text":"a","new_text":"b"}`
	for _, c := range []struct{ code, path, says string }{
		{"READ_ERROR", "none/none.txt", "not found"}, {"BINARY_FILE", "program", ""}, {"FILE_TOO_LARGE", "large", "15.3MB"},
	} {
		for tool, rest := range map[string]string{"read_file": "}", "edit_file": edit} {
			if got := r.call(s, tool, `{"path":"`+c.path+`"`+rest); got.Error != c.code || !strings.Contains(got.Data, c.says) {
				t.Errorf("%s of %s: %s", tool, c.path, got.raw)
			}
		}
	}
	for tool, args := range map[string]string{"list_files": "", "grep": `,"pattern":"x"`, "glob": `,"pattern":"*"`, "read_file": ""} {
		if got := r.call(s, tool, `{"path":"none"`+args+"}"); got.Error != "READ_ERROR" || got.Reason != "enoent" {
			t.Errorf("%s of nothing: %s", tool, got.raw)
		}
		if got := r.call(s, tool, `{"path":"`+filepath.Dir(outside)+`"`+args+"}"); got.Error != "OUTSIDE_ROOTS" {
			t.Errorf("%s outside: %s", tool, got.raw)
		}
	}
	for tool, args := range map[string]string{"edit_file": edit, "write_file": `,"content":"y"}`} {
		if got := r.call(s, tool, `{"path":"`+outside+`"`+args); got.Error != "OUTSIDE_WRITE_ROOTS" {
			t.Errorf("%s outside: %s", tool, got.raw)
		}
	}
	r.end()
}

// writeRoots that are empty lift the confinement; without the setting the workspace folders are the roots.
func TestF076WriteRoots(t *testing.T) {
	outside := filepath.Join(folder(t), "outside.txt")
	for name, settings := range map[string]map[string]any{"empty": {"writeRoots": []string{}}, "absent": {}} {
		r := start(t, conformance.Options{Settings: settings}, options(nil))
		s := r.session(map[string]any{"mode": "auto"})
		got := r.call(s, "write_file", `{"path":"`+outside+`","content":"x"}`)
		if want := map[string]string{"absent": "OUTSIDE_WRITE_ROOTS"}[name]; got.Error != want {
			t.Errorf("%s: %s", name, got.raw)
		}
		r.end()
	}
}

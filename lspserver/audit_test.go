package lspserver_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/agent/agenttest"
	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/lspserver/conformance"
	"tandem/lspserver/logs"
	"tandem/lspserver/protocol"
	"tandem/tools"
)

func hashed(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

func (r *rig) audit(params any) (entries []protocol.AuditEntry) {
	r.t.Helper()
	var res protocol.AuditResult
	r.ask("tandem/audit/query", params, &res)
	return res.Entries
}

// TestF210_F247Audit makes calls that end in every way, and wants one record of each.
func TestF210_F247Audit(t *testing.T) {
	so := options(nil)
	so.Redact = logs.New(new(bytes.Buffer), logs.Options{}).Redact
	r := start(t, conformance.Options{Settings: map[string]any{
		"mode": "acceptEdits", "permissions": map[string]any{"deny": []any{map[string]any{"tool": "glob"}}},
	}}, so)
	r.write("a.txt", "one\n")
	s := r.session(nil)
	key := "sk-ant-" + strings.Repeat("abcdef", 5)
	for _, row := range []struct {
		name, args                     string
		tool, error, decision, by, box string
	}{
		{"Read", `{"filePath": "a.txt"}`, "read_file", "", "allow", "mode acceptEdits", ""},
		{"edit_file", `{"path": "a.txt", "old_text": "one", "new_text": "two"}`, "edit_file", "", "allow", "mode acceptEdits", ""},
		{"edit_file", `{"path": "a.txt", "old_text": "gone", "new_text": "x"}`, "edit_file", "TEXT_NOT_FOUND", "allow", "mode acceptEdits", ""},
		{"frobnicate", `{"x": 1}`, "frobnicate", "TOOL_NOT_FOUND", "deny", "resolve ", ""},
		{"read_file", `{"path": 7}`, "read_file", "INVALID_ARGS", "deny", "validate ", ""},
		{"read_file", `{"path": "../x"}`, "read_file", "OUTSIDE_ROOTS", "deny", "needs ", ""},
		{"glob", `{"pattern": "*"}`, "glob", "GATE_DENIED", "deny", "rules ", ""},
		{"write_file", `{"path": ".git/config", "content": "x"}`, "write_file", "PROTECTED_PATH", "deny", "needs ", ""},
		{"bash", `{"command": "echo ` + key + `"}`, "bash", "", "allow", "person allow_once", "bash"},
		{"grep", `{"pattern": "Authorization: Bearer ` + key + `"}`, "grep", "", "allow", "mode acceptEdits", ""},
		{"grep", `{"pattern": "https://ann:hunter22@example.org/x"}`, "grep", "", "allow", "mode acceptEdits", ""},
	} {
		got := r.call(s, row.name, row.args)
		all := r.audit(map[string]any{"sessionId": s, "limit": 1})
		if len(all) != 1 || all[0].CallID != got.CallID {
			t.Fatalf("%s %s: %+v", row.name, row.args, all)
		}
		e := all[0]
		equal(t, "tool", e.Tool, row.tool)
		equal(t, row.args+" error", e.Error, row.error)
		rule := e.Rule
		if e.Layer == "rules" { // its name
			rule = ""
		}
		equal(t, row.args+" decision", e.Decision+" "+e.Layer+" "+rule, row.decision+" "+row.by)
		if (row.box != "") != (len(strings.Fields(e.Sandbox)) == 2) { // the level and the profile are the machine's
			t.Errorf("%s: the sandbox is %q", row.args, e.Sandbox)
		}
		equal(t, "resultHash", e.ResultHash, hashed(got.Data))
		if args := got.Meta.EffectiveArgs; len(args) > 0 {
			equal(t, "argsHash", e.ArgsHash, hashed(string(args)))
		}
		if raw, _ := json.Marshal(e); strings.Contains(string(raw), key) || strings.Contains(string(raw), "hunter22") {
			t.Errorf("a secret is in %s", raw)
		}
		if u, err := user.Current(); err == nil {
			equal(t, "user", e.Who.User, u.Username)
		}
		if !strings.HasPrefix(e.Who.Client, "lsptest") || e.Who.Agent.Session != s || e.Time == "" || e.DurationMs < 0 || e.Pending {
			t.Errorf("%+v", e)
		}
	}
	// Nothing of it depends on the session, or is changed by a later one.
	before := r.audit(map[string]any{})
	r.ask("tandem/session/delete", map[string]any{"sessionId": s}, nil)
	after := r.audit(map[string]any{"since": "2020-01-01T00:00:00Z"})
	if len(after) != len(before) || len(after) != 11 {
		t.Errorf("%d records, %d before", len(after), len(before))
	}
	for i, e := range after {
		if len(e.Args) > 0 && string(e.Args) != "null" {
			t.Errorf("arguments of a deleted session: %s", e.Args)
		}
		equal(t, "argsHash", e.ArgsHash, before[i].ArgsHash)
	}
	for _, p := range []map[string]any{{"since": "yesterday"}, {"limit": -1}} {
		if e := r.refused("tandem/audit/query", p); e.Code != -32602 {
			t.Errorf("%v: %+v", p, e)
		}
	}
	r.end()
}

// TestF079_F257AuthorizedKeys is about a file outside of the workspace.
func TestF079_F257AuthorizedKeys(t *testing.T) {
	home := folder(t)
	t.Setenv("HOME", home)
	keys := filepath.Join(home, ".ssh", "authorized_keys")
	if err := errors.Join(os.Mkdir(filepath.Dir(keys), 0o700), os.WriteFile(keys, []byte("mine\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	r := start(t, conformance.Options{Settings: map[string]any{"mode": "auto"}}, options(nil))
	s := r.session(nil)
	got := r.call(s, "write_file", `{"path": "~/.ssh/authorized_keys", "content": "theirs"}`)
	equal(t, "error", got.Error, "OUTSIDE_WRITE_ROOTS")
	if raw, err := os.ReadFile(keys); err != nil || string(raw) != "mine\n" {
		t.Errorf("%q %v", raw, err)
	}
	if all := r.audit(map[string]any{"sessionId": s}); len(all) != 1 || all[0].Error != "OUTSIDE_WRITE_ROOTS" || all[0].Decision != "deny" {
		t.Errorf("%+v", all)
	}
	r.end()
}

// TestCaseA14 has the tools asked to change what Tandem goes by and what it records.
func TestCaseA14(t *testing.T) {
	dir := folder(t)
	state := filepath.Join(dir, "state")
	path := filepath.Join(state, "sessions.db")
	so := keeping(path)
	so.Own = func(config.Config) []string { return []string{state} }
	r := start(t, conformance.Options{Settings: map[string]any{"mode": "auto", "writeRoots": []any{}, "readRoots": []any{dir}}}, so)
	s := r.session(nil)
	r.call(s, "list_files", `{}`) // so that there is a store
	for _, args := range []string{
		`{"path": "` + path + `", "content": ""}`, `{"path": "` + path + `-wal", "content": "x"}`, `{"path": "` + state + `/config.json", "content": "{}"}`,
	} {
		got := r.call(s, "write_file", args)
		if got.Success || got.Error != "PROTECTED_PATH" {
			t.Errorf("%s: %s", args, got.raw)
		}
	}
	if all := r.audit(map[string]any{"sessionId": s}); len(all) != 4 {
		t.Errorf("%d records", len(all))
	}
	r.end()
}

// TestCaseE04 looks at the rights of what is kept.
func TestCaseE04(t *testing.T) {
	state := filepath.Join(folder(t), "state")
	r := start(t, conformance.Options{}, keeping(filepath.Join(state, "sessions.db")))
	r.call(r.session(nil), "list_files", `{}`)
	if info, err := os.Stat(state); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	files, err := os.ReadDir(state)
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f.Name(), info.Mode(), err)
		}
	}
	r.end()
}

// refusing is a store that cannot record what is about to happen.
type refusing struct{ store.Store }

func (refusing) Intend(string, bool, ...store.Entry) error {
	return errors.New("the audit cannot be written: the disk is full")
}

// TestCaseE06 has calls made while nothing can be recorded: what changes something is refused, what only reads goes on.
func TestCaseE06(t *testing.T) {
	for name, so := range map[string]func(config.Config) (store.Store, error){
		"full":      func(config.Config) (store.Store, error) { return refusing{agenttest.Store(t)}, nil },
		"no store":  func(config.Config) (store.Store, error) { return nil, errors.New("the disk is full") },
		"unwritten": nil,
	} {
		t.Run(name, func(t *testing.T) {
			ran := false
			change := probe(tools.Spec{Name: "change", Kind: tools.Edit}, func(context.Context, *tools.Env, struct{}) (tools.Result, error) {
				ran = true
				return tools.Result{Success: true, Data: "done"}, nil
			})
			o := options(nil, change)
			o.Store = so
			r := start(t, conformance.Options{Settings: map[string]any{"mode": "auto"}}, o)
			r.write("a.txt", "one\n")
			s := r.session(nil)
			if got := r.call(s, "read_file", `{"path": "a.txt"}`); !got.Success {
				t.Errorf("%s", got.raw)
			}
			for _, c := range [][2]string{
				{"edit_file", `{"path": "a.txt", "old_text": "one", "new_text": "two"}`},
				{"write_file", `{"path": "b.txt", "content": "x"}`},
				{"bash", `{"command": "true"}`},
				{"change", `{}`},
			} {
				got := r.call(s, c[0], c[1])
				if so == nil {
					continue
				}
				if got.Error != "GATE_DENIED" || got.Denial.Layer != "audit" || !strings.Contains(got.Data, "disk is full") {
					t.Errorf("%s: %s", c[0], got.raw)
				}
			}
			if raw, err := os.ReadFile(filepath.Join(r.root, "a.txt")); err != nil || (string(raw) == "one\n") != (so != nil) {
				t.Errorf("%q %v", raw, err)
			}
			if ran != (so == nil) {
				t.Errorf("the tool ran: %v", ran)
			}
			if got := r.call(s, "grep", `{"pattern": "o"}`); !got.Success {
				t.Errorf("%s", got.raw)
			}
			r.end()
		})
	}
}

// TestCaseE03KeysInOutput: what looks like a key in the answer of a tool reaches the model and the person, and neither the log nor the audit.
func TestCaseE03KeysInOutput(t *testing.T) {
	dir := folder(t)
	l := logs.New(new(lockedBuilder), logs.Options{Version: "test", Now: time.Now})
	defer l.Close()
	so := options(nil)
	so.Log, so.Redact = l.Logger(), l.Redact
	so.Started = func(config.Config) { l.Configure("debug", filepath.Join(dir, "log"), filepath.Join(dir, "crashes")) }
	key := "sk-ant-" + strings.Repeat("abcdef", 5)
	r := start(t, conformance.Options{Settings: map[string]any{"mode": "auto"}}, so)
	r.write("notes.txt", "the key is "+key+"\n")
	s := r.session(nil)
	for _, c := range [][2]string{
		{"read_file", `{"path": "notes.txt"}`},
		{"grep", `{"pattern": "the key is"}`},
		{"bash", `{"command": "cat notes.txt; echo failed >&2; exit 3"}`},
	} {
		if got := r.call(s, c[0], c[1]); !strings.Contains(string(got.raw), key) {
			t.Errorf("%s does not show the file: %s", c[0], got.raw)
		}
	}
	all := r.audit(map[string]any{"sessionId": s})
	raw, err := json.Marshal(all)
	if err != nil || len(all) != 3 || strings.Contains(string(raw), key) {
		t.Errorf("%d records: %s, %v", len(all), raw, err)
	}
	l.Logger().Error("the tool said", "data", "the key is "+key)
	r.end()
	text, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil || strings.Contains(string(text), key) || !strings.Contains(string(text), "the key is [redacted]") {
		t.Errorf("%s, %v", text, err)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/lspserver/conformance"
	"tandem/sandbox"
)

// TestCaseE01E02E03Canaries plants 20 keys where a person has theirs, and looks for them everywhere a key must not come to: what commands
// print and find, the environment and the arguments of processes, the log, standard error, the audit, and the texts of errors.
func TestCaseE01E02E03Canaries(t *testing.T) {
	var local sandbox.Local
	if level := local.Level(); level.Name != sandbox.LevelFull {
		t.Skipf("level %s: %s", level.Name, level.Reason)
	}
	canaries := map[string]string{}
	plant := func(where, shape string) string {
		canaries[where] = fmt.Sprintf(shape, fmt.Sprintf("CaNaRy%02dq8Zr4Wm1Xt6Lb3Jk9", len(canaries)))
		return canaries[where]
	}
	model := plant("the key of the model", "%s")
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}))
	defer service.Close()
	p := prepared(t, map[string]any{
		"log": map[string]any{"level": "debug"},
		"providers": map[string]any{"mock": map[string]any{
			"api": "openai-chat", "baseUrl": service.URL + "/v1", "apiKeyEnv": "MOCK_KEY", "headers": map[string]any{"X-Team": plant("a header of the configuration", "%s")},
		}},
		"model": "mock/m",
	})
	env := []string{"MOCK_KEY=" + model, "LANG=C.UTF-8"}
	for _, name := range []string{
		"FOO_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "NPM_TOKEN", "PGPASSWORD", "DB_CREDENTIALS", "PROXY_AUTH", "BASH_ENV", "NODE_OPTIONS",
	} {
		env = append(env, name+"="+plant("the variable "+name, "%s"))
	}
	env = append(env, "DATABASE="+plant("a URL in a variable", "postgres://ann:%s@db/x"))
	home := filepath.Join(filepath.Dir(p.root), "home")
	for name, shape := range map[string]string{
		"home/.ssh/id_ed25519": "%s", "home/.aws/credentials": "%s", "home/.netrc": "machine x password %s", "home/.config/gh/hosts.yml": "oauth_token: %s", "work/.env": "TOKEN=%s",
	} {
		path := filepath.Join(filepath.Dir(home), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(plant(name, shape)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inCommand, inFile, inURL := plant("a command", "sk-ant-%s"), plant("a file that is written", "ghp_%s"), plant("a URL that is fetched", "%s")
	if len(canaries) != 20 {
		t.Fatalf("%d canaries", len(canaries))
	}

	p.start(append(env, p.env...), []string{"--stdio"})
	e := p.editor(conformance.Options{})
	session := e.session("auto")
	tool := func(name string, args map[string]any) string { // what is said of it; the arguments come back to whoever sent them
		t.Helper()
		var r struct{ Data, Reason, Summary string }
		e.ask("tandem/tools/call", map[string]any{"sessionId": session, "name": name, "arguments": args}, &r)
		return r.Data + r.Reason + r.Summary
	}
	found := map[string]string{ // where, and what is there
		"what a command finds": tool("bash", map[string]any{
			"command": "env; set; cat /proc/[0-9]*/environ; cat /proc/[0-9]*/cmdline; grep -rs CaNaRy ~ . /tmp /run; exit 0",
		}),
		"a refused URL": tool("fetch", map[string]any{"url": "https://ann:" + inURL + "@127.0.0.1/"}),
	}
	if seen := found["what a command finds"]; !strings.Contains(seen, "LANG=C.UTF-8") || !strings.Contains(found["a refused URL"], "127.0.0.1") {
		t.Errorf("said is %q", found)
	}
	tool("bash", map[string]any{"command": "echo " + inCommand + " >&2; exit 1"})
	tool("write_file", map[string]any{"path": "notes", "content": "my key is " + inFile})
	tool("bash", map[string]any{"command": "sleep 300", "background": true})
	found["processes"] = processesBelow(t, p)
	raw, err := e.Request(e.ctx, "tandem/session/prompt", map[string]any{
		"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": "Go on."}},
	})
	if err == nil && !strings.Contains(string(raw), "Incorrect API key") {
		t.Errorf("the model is refused with %s", raw)
	}
	found["the end of a turn"] = fmt.Sprint(string(raw), err)
	for _, method := range []string{"tandem/audit/query", "tandem/status"} {
		raw, err := e.Request(e.ctx, method, map[string]any{})
		if err != nil {
			t.Fatal(err)
		}
		found[method] = string(raw)
	}
	var audit struct{ Entries []json.RawMessage }
	if err := json.Unmarshal([]byte(found["tandem/audit/query"]), &audit); err != nil || len(audit.Entries) != 5 {
		t.Errorf("%d records of the audit, %v", len(audit.Entries), err)
	}
	if n := strings.Count(found["tandem/audit/query"], "[redacted]"); n != 3 {
		t.Errorf("%d texts of the audit are redacted", n)
	}
	e.leaves()
	found["standard error"] = p.err.String()
	logs := 0
	err = filepath.WalkDir(filepath.Join(home, "tandem"), func(path string, d fs.DirEntry, err error) error {
		// The configuration is the person's, and the store has the texts of the session.
		if err != nil || d.IsDir() || filepath.Base(path) == "config.json" || strings.HasPrefix(filepath.Base(path), "sessions.db") {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		found[path] = string(text)
		logs++
		return err
	})
	if err != nil || logs == 0 {
		t.Errorf("%d logs, %v", logs, err)
	}

	hits := 0
	for where, secret := range canaries {
		core := secret[strings.Index(secret, "CaNaRy"):][:len("CaNaRy00q8Zr4Wm1Xt6Lb3Jk9")]
		for place, text := range found {
			if at := strings.Index(text, core); at >= 0 {
				hits++
				t.Errorf("%s is in %s: …%s", where, place, text[max(0, at-100):at+len(core)])
			}
		}
	}
	t.Logf("%d hits of %d canaries in %d places", hits, len(canaries), len(found))
}

// processesBelow are the environments and arguments of all processes that the program has started.
func processesBelow(t *testing.T, p *process) string {
	t.Helper()
	var all strings.Builder
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		dir := filepath.Dir(f)
		for at := dir; ; {
			stat, err := os.ReadFile(filepath.Join(at, "stat"))
			_, rest, ok := strings.Cut(string(stat), ") ")
			if err != nil || !ok {
				break
			}
			parent := strings.Fields(rest)[1]
			if parent == fmt.Sprint(p.cmd.Process.Pid) {
				for _, name := range []string{"environ", "cmdline"} {
					text, _ := os.ReadFile(filepath.Join(dir, name))
					all.Write(text)
				}
				n++
				break
			}
			at = filepath.Join("/proc", parent)
		}
	}
	if n == 0 {
		t.Error("there are no processes")
	}
	return all.String()
}

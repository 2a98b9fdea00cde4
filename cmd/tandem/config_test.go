package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tandem/agent/config"
)

// TestFilesToBeginWith takes the // away, as a person does, and wants each line to be right.
func TestFilesToBeginWith(t *testing.T) {
	none, some := config.Choice{}, config.Choice{Model: "a/m", Why: "it is there"}
	off := regexp.MustCompile(`(?m)^(\s*)// (".*)$`)
	for name, text := range map[string]string{
		"nothing found": config.UserStarter(none, nil), "found": config.UserStarter(some, []config.Choice{{Model: "b/m", Why: "so is it"}}),
		"workspace": config.WorkspaceStarter(),
	} {
		for _, text := range []string{text, off.ReplaceAllString(text, "$1$2")} {
			dir := t.TempDir()
			in := config.Inputs{UserFile: filepath.Join(dir, "config.json")}
			path := in.UserFile
			if name == "workspace" {
				in = config.Inputs{Workspace: dir}
				path = config.WorkspaceFile(dir)
			}
			for _, folder := range []string{filepath.Dir(path), filepath.Join(dir, "src")} {
				if err := os.MkdirAll(folder, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, problems := config.Load(in)
			for _, p := range problems {
				if !strings.Contains(p.Message, `"model" is set twice`) { // the others that were found
					t.Errorf("%s: %v\n%s", name, p, text)
				}
			}
		}
	}
}

// TestDoctorAsksTheService shows a service that is there, one that wants another key, one that is gone, and one that is
// found on this machine. No key is ever printed.
func TestDoctorAsksTheService(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if k := r.Header.Get("Authorization"); k != "Bearer sk-right" && strings.HasPrefix(r.URL.Path, "/keyed") {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error": {"message": "bad key %s"}}`, k)
			return
		}
		_, _ = w.Write([]byte(`{"data": [{"id": "m"}]}`))
	}))
	defer s.Close()
	nowhere := "http://127.0.0.1:1/v1"
	for _, c := range []struct {
		name, model, ollama, key string
		code                     int
		want, next               string
	}{
		{"all is well", "mine/m", nowhere, "sk-right", 0, "✓ model mine/m, answers at " + s.URL + "/keyed", ""},
		{"a name that is not listed", "mine/n", nowhere, "sk-right", 0, "! model mine/n, answers at " + s.URL + "/keyed, which does not list this model", "check the name"},
		{"the wrong key", "mine/m", nowhere, "sk-wrong", 1, "✗ model mine/m: mine refused the key (401: bad key Bearer [redacted]). Set MY_KEY to a key that is valid.", "set a valid key"},
		{"no network", "gone/m", nowhere, "", 1, "✗ model gone/m: gone cannot be reached at http://127.0.0.1:1/v1", "check the network, proxies"},
		{"a local service", "", s.URL + "/v1", "", 0, "✓ model ollama/m, because it runs at " + s.URL + "/v1, answers at " + s.URL + "/v1", ""},
		{"the editor's", "editor", nowhere, "", 0, "· model the editor's own model", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, ".config", "tandem", "config.json")
			text, err := json.Marshal(map[string]any{"model": c.model, "providers": map[string]any{
				"mine": map[string]any{"api": "openai-chat", "baseUrl": s.URL + "/keyed", "apiKeyEnv": "MY_KEY"},
				"gone": map[string]any{"api": "openai-chat", "baseUrl": nowhere},
			}})
			if err == nil {
				err = os.MkdirAll(filepath.Dir(path), 0o700)
			}
			if err == nil {
				err = os.WriteFile(path, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, "doctor")
			cmd.Dir = home
			cmd.Env = []string{
				"HOME=" + home, "PATH=" + os.Getenv("PATH"), "MY_KEY=" + c.key,
				"OLLAMA_BASE_URL=" + c.ollama, "LMSTUDIO_BASE_URL=" + nowhere,
			}
			out, _ := cmd.Output()
			got := strings.Join(strings.Fields(string(out)), " ")
			if cmd.ProcessState.ExitCode() != c.code || !strings.Contains(got, c.want) || !strings.Contains(got, c.next) {
				t.Errorf("exit code %d\n%s", cmd.ProcessState.ExitCode(), out)
			}
			if strings.Contains(got, "sk-") {
				t.Errorf("a key is shown:\n%s", out)
			}
		})
	}
}

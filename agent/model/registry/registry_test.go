package registry

import (
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/agent/config"
	"tandem/agent/model"
)

func with(providers map[string]config.Provider, env map[string]string) *Registry {
	c := config.Default()
	c.Providers = providers
	return &Registry{Config: c, Getenv: func(k string) string { return env[k] }}
}

func TestF268Unavailable(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.script")
	if err := os.WriteFile(bad, []byte("say a\n\nshout"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := with(map[string]config.Provider{
		"local":  {API: "openai-chat", BaseURL: "http://127.0.0.1:1/v1", APIKeyEnv: "LOCAL_KEY"},
		"lost":   {API: "openai-chat"},
		"silent": {BaseURL: "http://127.0.0.1:1/v1"},
	}, nil)
	for name, want := range map[string]string{
		"gpt":                  `names no provider: write provider/model. Known providers are anthropic, deepseek, llamacpp, lmstudio, local, lost, ollama, openai,`,
		"openai/":              "names no provider",
		"nope/m":               `There is no provider "nope". Known providers are`,
		"anthropic/claude":     "The provider anthropic needs a key: set the environment variable ANTHROPIC_API_KEY, or",
		"openai/m":             "set the environment variable OPENAI_API_KEY, or providers.openai.apiKeyCommand to a command",
		"local/m":              "The provider local needs a key: set the environment variable LOCAL_KEY, or",
		"lost/m":               `set providers.lost.baseUrl`,
		"silent/m":             `set providers.silent.api to "anthropic", "openai" or "openai-chat".`,
		"editor":               "This editor lends no model of its own: set \"model\" to another one, or use",
		"editor/x":             "This editor lends no model of its own",
		"script:x":             "needs an absolute path",
		"script:/none":         "The script /none cannot be read: no such file or directory.",
		"script:" + dir:        "cannot be read: it is not a regular file.",
		"script:" + bad:        `has a mistake: line 3: "shout" is none of`,
		"script/embedded/more": `There is no provider "script"`,
	} {
		m, err := r.Open(name)
		var e *model.Error
		if !errors.As(err, &e) || m != nil || e.Kind != "unavailable" || !strings.Contains(e.Message, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAddresses sees where requests would go, and with which key.
func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		name      string
		providers map[string]config.Provider
		env       map[string]string
		want      string
	}{
		{"openai/a/b", nil, map[string]string{"OPENAI_API_KEY": "k"}, "https://api.openai.com/v1/responses Bearer k"},
		{
			"openai/m", nil,
			map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://h/v2/"},
			"https://h/v2/responses Bearer k",
		},
		{
			"openai/m",
			map[string]config.Provider{"openai": {BaseURL: "https://c/v1", APIKeyEnv: "MINE"}},
			map[string]string{"OPENAI_API_KEY": "k", "MINE": "mine", "OPENAI_BASE_URL": "https://h/v2"},
			"https://c/v1/responses Bearer mine",
		},
		{
			"anthropic/m",
			map[string]config.Provider{"anthropic": {API: "openai-chat"}},
			map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "https://h/v1"},
			"https://h/v1/chat/completions Bearer k",
		},
		{"anthropic/m", nil, map[string]string{"ANTHROPIC_API_KEY": "k"}, "https://api.anthropic.com/v1/messages "},
		{"ollama/m:8b", nil, nil, "http://127.0.0.1:11434/v1/chat/completions "},
		{"lmstudio/m", nil, map[string]string{"LMSTUDIO_API_KEY": "k"}, "http://127.0.0.1:1234/v1/chat/completions Bearer k"},
		{
			"x/m",
			map[string]config.Provider{"x": {API: "openai-chat", BaseURL: "https://x/v1", Headers: map[string]string{"Authorization": "own"}}},
			nil,
			"https://x/v1/chat/completions own",
		},
	} {
		r := with(c.providers, c.env)
		r.Config.Retry.Attempts = 1
		var got string
		r.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
			got = req.URL.String() + " " + req.Header.Get("Authorization")
			return nil, io.EOF
		})
		m, err := r.Open(c.name)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if _, err := m.Stream(t.Context(), model.Request{}, func(model.Delta) {}); err == nil || got != c.want || m.Name() != c.name {
			t.Errorf("%s: %s (%v)", c.name, got, err)
		}
	}
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestDefault(t *testing.T) {
	r := with(nil, map[string]string{"OPENAI_API_KEY": "secret-key"})
	m, err := r.Open("")
	if err != nil || m.Name() != "script/embedded" || !slices.Equal(r.Names(), []string{"script/embedded"}) {
		t.Fatal(err, m, r.Names())
	}
	var said strings.Builder
	if _, err := m.Stream(t.Context(), model.Request{}, func(d model.Delta) { said.WriteString(d.Text) }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"OPENAI_API_KEY is set, so openai/NAME", "deepseek (key in DEEPSEEK_API_KEY)", "ollama"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in %s", want, &said)
		}
	}
	if strings.Contains(said.String(), "secret-key") {
		t.Errorf("it says too much: %s", &said)
	}

	path := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(path, []byte("say hi"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Config.Model = "script:" + path
	if m, err := r.Open(""); err != nil || m.Name() != r.Config.Model || r.Names()[0] != r.Config.Model {
		t.Error(err, m)
	}
}

func TestKeyVariables(t *testing.T) {
	got := with(map[string]config.Provider{"a": {APIKeyEnv: "MINE"}, "b": {}}, nil).KeyVariables()
	want := []string{
		"ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY", "LLAMACPP_API_KEY", "LMSTUDIO_API_KEY", "MINE", "OLLAMA_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY",
	}
	if !slices.Equal(got, want) {
		t.Error(got)
	}
}

package registry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"tandem/agent/config"
)

// TestWindow takes the configured window before the listed one, that before the table's, and none where nobody says one.
func TestWindow(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"id":"plain"},{"id":"vllm","max_model_len":8192},{"id":"router","context_length":131072},{"id":"studio","context_length":9,"loaded_context_length":4096}]}`)
	}))
	defer s.Close()
	r := &Registry{
		Config: config.Config{Providers: map[string]config.Provider{
			"ollama":    {BaseURL: s.URL + "/v1", Windows: map[string]int{"router": 5000, "mine": 6000}},
			"lmstudio":  {BaseURL: "http://127.0.0.1:1/v1"},
			"anthropic": {Windows: map[string]int{"claude-sonnet-4-5": 1_000_000}},
			"own":       {BaseURL: s.URL},
		}},
		Getenv: func(string) string { return "" },
	}
	if found, _ := r.running(); len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	for name, want := range map[string]int64{
		"ollama/plain": 0, "ollama/vllm": 8192, "ollama/router": 5000, "ollama/studio": 4096, "ollama/mine": 6000,
		"ollama/gpt-5": 0, "own/gpt-5": 0, "openai/gpt-5-mini": 272_000, "openai/gpt-4o-2024-08-06": 128_000,
		"anthropic/claude-sonnet-4-5": 1_000_000, "anthropic/claude-haiku-4-5-20251001": 200_000, "anthropic/claude-unheard-of": 0,
		"openrouter/anthropic/claude-sonnet-4.5": 200_000, "openai/gpt-4.1-mini": 1_047_576, "script:/x": 0, "editor": 0, "": 0,
	} {
		if got := r.Window(name); got != want {
			t.Errorf("%s: %d, not %d", name, got, want)
		}
	}
}

// TestNoWindowHidesAnother wants no prefix of the table to stand before a longer one that begins with it.
func TestNoWindowHidesAnother(t *testing.T) {
	for i, a := range windows() {
		for _, b := range windows()[i+1:] {
			if len(b.prefix) > len(a.prefix) && b.prefix[:len(a.prefix)] == a.prefix {
				t.Errorf("%s is never reached behind %s", b.prefix, a.prefix)
			}
		}
	}
}

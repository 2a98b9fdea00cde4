package registry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/agent/config"
)

// TestCheck asks services for their models, as tandem doctor does, and sees what becomes of every kind of answer.
func TestCheck(t *testing.T) {
	var seen string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = fmt.Sprintf("%s %s %s%s", r.Method, r.URL, r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"))
		switch {
		case strings.HasPrefix(r.URL.Path, "/none"):
			http.NotFound(w, r)
		case strings.HasPrefix(r.URL.Path, "/page"):
			_, _ = w.Write([]byte("<html>"))
		case strings.HasPrefix(r.URL.Path, "/down"):
			w.WriteHeader(http.StatusBadGateway)
		case !strings.Contains(seen, "right"):
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":{"message":"No such key: wrong"}}`))
		default:
			_, _ = w.Write([]byte(`{"data":[{"id":"small"},{"id":"large"}]}`))
		}
	}))
	defer s.Close()
	provider := func(api, path string) config.Provider {
		return config.Provider{API: api, BaseURL: s.URL + path, APIKeyEnv: "KEY"}
	}
	providers := map[string]config.Provider{
		"messages": provider("anthropic", ""), "responses": provider("openai", "/v1"), "chat": provider("openai-chat", "/v1/"),
		"none": provider("openai-chat", "/none"), "page": provider("openai-chat", "/page"), "down": provider("openai-chat", "/down"),
		"silent": {BaseURL: s.URL}, "nobody": {API: "openai-chat", BaseURL: "http://ann:secret@127.0.0.1:1/v1"},
	}
	for _, c := range []struct{ model, key, want, seen string }{
		{"messages/small", "right", "messages/small at $U, listed true", "GET /v1/models?limit=1000 right"},
		{"responses/tiny", "right", "responses/tiny at $U/v1, listed false", "GET /v1/models Bearer right"},
		{"chat/large", "right", "chat/large at $U/v1/, listed true", "GET /v1/models Bearer right"},
		{"chat/large", "wrong", "chat refused the key (401: No such key: [redacted]). Set KEY to a key that is valid.", "GET /v1/models Bearer wrong"},
		{"chat/large", "", "The provider chat needs a key: set the environment variable KEY,", ""},
		{"none/m", "right", "none/m at $U/none", "GET /none/models Bearer right"},
		{"page/m", "right", "page/m at $U/page", "GET /page/models Bearer right"},
		{"down/m", "right", "down is failing or overloaded (502)", "GET /down/models Bearer right"},
		{"silent/m", "", "The provider \"silent\" has no protocol", ""},
		{"nobody/m", "", "nobody cannot be reached at http://[redacted]@127.0.0.1:1/v1: dial tcp 127.0.0.1:1:", ""},
		{"nope/m", "", "There is no provider \"nope\"", ""},
		{"gpt", "", "names no provider", ""},
		{"script/embedded", "", "script/embedded", ""},
		{"script:/none/at/all", "", "cannot be read: no such file", ""},
		{"editor", "", "editor", ""},
		{"", "", "script/embedded", ""},
	} {
		seen = ""
		r := with(providers, map[string]string{"KEY": c.key})
		checked, err := r.Check(t.Context(), c.model)
		got := fmt.Sprint(err)
		if err == nil {
			got = checked.Model
			if checked.Address != "" {
				got += " at " + strings.ReplaceAll(checked.Address, s.URL, "$U")
			}
			if checked.Listed != nil {
				got += fmt.Sprintf(", listed %t", *checked.Listed)
			}
		}
		if !strings.Contains(got, c.want) || (err == nil && got != c.want) || seen != c.seen {
			t.Errorf("%s with key %q: %s, seen %q", c.model, c.key, got, seen)
		}
	}
}

func TestChoices(t *testing.T) {
	r := with(nil, map[string]string{"OPENAI_API_KEY": "k", "DEEPSEEK_API_KEY": "k", "LMSTUDIO_BASE_URL": "http://me:canary@box/v1"})
	r.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		if req.URL.Host == "box" {
			_, _ = w.WriteString(`{"data":[{"id":"x"}]}`)
		} else {
			_, _ = w.WriteString(`{"object":"list","data":null}`)
		}
		return w.Result(), nil
	})
	var got []string
	choices, idle := r.Choices()
	for _, c := range choices {
		got = append(got, fmt.Sprintf("%s: %s, %t", c.Model, c.Why, c.Local))
	}
	want := []string{
		"openai/gpt-6.1-sol: OPENAI_API_KEY is set, false", "deepseek/deepseek-flash: DEEPSEEK_API_KEY is set, false",
		"lmstudio/x: it runs at http://[redacted]@box/v1, true",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", got)
	}
	if s := strings.Join(idle, "; "); s != "ollama runs at http://127.0.0.1:11434/v1 and has no model" {
		t.Error(s)
	}
}

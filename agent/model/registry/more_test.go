package registry

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/modeltest"
)

const chatHi = `data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

func say(t *testing.T, m model.Model) string {
	t.Helper()
	return modeltest.Write(t.Context(), t, m, model.Request{Messages: []model.Message{{Role: model.User, Text: "Go."}}})
}

func hi(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, chatHi) }

// TestCustomCA speaks to a service whose certificate only the configured file vouches for.
func TestCustomCA(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(hi))
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	defer s.Close()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	for ca, want := range map[string]string{
		good:                    "text Hi\n",
		"":                      "failed to verify certificate",
		dir + "/none":           "cannot be read from " + dir + "/none (providers.p.caFile): no such file or directory.",
		file("bad.pem", "oops"): "There is no certificate in PEM form in",
	} {
		r := with(map[string]config.Provider{"p": {API: "openai-chat", BaseURL: s.URL + "/v1", CAFile: ca}}, nil)
		r.Config.Retry.Attempts = 1
		m, err := r.Open("p/m")
		got := fmt.Sprint(err)
		if err == nil {
			got = say(t, m)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s", ca, got)
		}
	}
}

// TestProxy reaches a service through a proxy, also with a name and a password, and by TLS in a tunnel.
func TestProxy(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(hi))
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	var seen []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
		if r.Method != http.MethodConnect {
			hi(w, r)
			return
		}
		there, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer there.Close()
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer here.Close()
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(there, here) }()
		_, _ = io.Copy(here, there)
	}))
	defer proxy.Close()
	at := strings.TrimPrefix(proxy.URL, "http://")
	for _, c := range []struct{ base, proxy, want, seen string }{
		{"http://model.example/v1", "http://" + at, "text Hi\n", "POST model.example "},
		{"http://model.example/v1", "http://ann:pw@" + at, "text Hi\n", "POST model.example Basic YW5uOnB3"},
		{"https://example.com/v1", "http://" + at, "text Hi\n", "CONNECT example.com:443 "},
		{s.URL + "/v1", "none", "text Hi\n", ""},
		{"http://model.example/v1", "oops", `set providers.p.proxy to something like http://proxy:3128, or to "none".`, ""},
	} {
		seen = nil
		r := with(map[string]config.Provider{"p": {API: "openai-chat", BaseURL: c.base, Proxy: c.proxy, CAFile: ca}}, nil)
		r.Config.Retry.Attempts = 1
		m, err := r.Open("p/m")
		got := fmt.Sprint(err)
		if err == nil {
			got = say(t, m)
		}
		if !strings.Contains(got, c.want) || strings.Join(seen, ",") != c.seen || strings.Contains(got, "pw@") {
			t.Errorf("%s by %s: %s, the proxy saw %q", c.base, c.proxy, got, seen)
		}
	}
}

func TestKeyCommand(t *testing.T) {
	provider := config.Provider{API: "openai-chat", BaseURL: "https://x/v1", APIKeyEnv: "MINE", APIKeyCommand: []string{"pass", "show"}}
	for _, c := range []struct {
		env, prints string
		err         error
		want        string
	}{
		{"from-env", "no", nil, "Bearer from-env"},
		{"", "  secret \nsecond line\n", nil, "Bearer secret"},
		{"", " \n", nil, "apiKeyCommand printed nothing."},
		{"", "", errors.New("exit status 1"), "apiKeyCommand failed: exit status 1."},
	} {
		r := with(map[string]config.Provider{"p": provider}, map[string]string{"MINE": c.env})
		r.Config.Retry.Attempts = 1
		r.Command = func(argv []string) (string, error) {
			if strings.Join(argv, " ") != "pass show" {
				t.Error(argv)
			}
			return c.prints, c.err
		}
		got := ""
		r.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
			got = req.Header.Get("Authorization")
			return nil, io.EOF
		})
		if m, err := r.Open("p/m"); err != nil {
			got = err.Error()
		} else {
			say(t, m)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if _, err := with(map[string]config.Provider{"p": provider}, nil).Open("p/m"); err == nil ||
		!strings.Contains(err.Error(), "apiKeyCommand is not run here") {
		t.Error(err)
	}
}

// TestDiscover sees which model answers when none is set, and that the person is told.
func TestDiscover(t *testing.T) {
	lists := map[string]string{}
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		list, ok := lists[r.URL.Host+r.URL.Path]
		if r.Method == http.MethodGet && !ok {
			return nil, io.EOF
		} else if !ok {
			list = chatHi
		}
		return modeltest.Answer(list).RoundTrip(r)
	})
	for _, c := range []struct {
		name      string
		env       map[string]string
		providers map[string]config.Provider
		lists     map[string]string
		want, why string
	}{
		{name: "nothing", want: "script/embedded"},
		{name: "keys", env: map[string]string{"OPENAI_API_KEY": "k", "DEEPSEEK_API_KEY": "k"}, want: "openai/gpt-6.1-sol", why: "OPENAI_API_KEY is set"},
		{
			name: "a key of another name", env: map[string]string{"MINE": "k"},
			providers: map[string]config.Provider{"deepseek": {APIKeyEnv: "MINE"}}, want: "deepseek/deepseek-flash", why: "MINE is set",
		},
		{
			name: "here", lists: map[string]string{
				"127.0.0.1:11434/v1/models": `{"data":[{"id":"nomic-embed-text"},{"id":"qwen3:8b"}]}`,
				"127.0.0.1:1234/v1/models":  `{"data":[{"id":"x"}]}`,
			}, want: "ollama/qwen3:8b", why: "it runs at http://127.0.0.1:11434/v1",
		},
		{name: "the other one", lists: map[string]string{"127.0.0.1:1234/v1/models": `{"data":[{"id":"x"}]}`}, want: "lmstudio/x"},
		{name: "a key of blanks", env: map[string]string{"OPENAI_API_KEY": " "}, want: "script/embedded"},
		{name: "nothing in it", lists: map[string]string{"127.0.0.1:11434/v1/models": `<html>`}, want: "script/embedded"},
	} {
		lists = c.lists
		r := with(c.providers, c.env)
		r.Transport, r.Discover = transport, true
		m, err := r.Open("")
		if err != nil || m.Name() != c.want {
			t.Errorf("%s: %v %v", c.name, m, err)
			continue
		}
		if c.why == "" {
			continue
		}
		notice := ""
		for range 2 {
			_, _ = m.Stream(t.Context(), model.Request{}, func(d model.Delta) { notice += d.Notice })
		}
		if !strings.HasPrefix(notice, "No model is set: "+c.want+" answers, because "+c.why) || strings.Count(notice, "No model") != 1 {
			t.Errorf("%s: %q", c.name, notice)
		}
	}
}

func TestPrices(t *testing.T) {
	mine := map[string]config.Provider{
		"anthropic": {Prices: map[string]config.Price{"claude-opus-5": {Input: 1}}},
		"gateway":   {API: "anthropic", BaseURL: "http://gateway"},
	}
	for name, want := range map[string]float64{
		"anthropic/claude-sonnet-4-5-20250929": 3, "anthropic/claude-opus-5": 1, "openai/gpt-5-2025-08-07": 1.25, "openai/unheard-of": 0,
		"gateway/claude-opus-5": 0,
	} {
		provider, id, _ := strings.Cut(name, "/")
		built, own := presetOf(provider)
		price := priceOf(provider, id, mine[provider], own && built.name != "")
		if (price == nil) != (want == 0) || price != nil && price.Input != want {
			t.Errorf("%s: %+v", name, price)
		}
	}
}

// TestFallbackModels answers by the second model when the first one's service is down.
func TestFallbackModels(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/down") {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		hi(w, r)
	}))
	defer s.Close()
	r := with(map[string]config.Provider{
		"down": {API: "anthropic", BaseURL: s.URL + "/down"}, "up": {API: "openai-chat", BaseURL: s.URL + "/v1"},
	}, nil)
	r.Config.FallbackModels = []string{"anthropic/no-key", "up/m"}
	r.Config.Retry.Attempts = 1
	m, err := r.Open("down/m")
	if err != nil {
		t.Fatal(err)
	}
	want := "notice down is failing or overloaded (503). The provider anthropic needs a key: set the environment variable " +
		"ANTHROPIC_API_KEY, or providers.anthropic.apiKeyCommand to a command that prints it. up/m answers instead.\ntext Hi\n= end_turn; in 0 (cached 0, written 0), out 0, $0.0000\n"
	if got := say(t, m); got != want || m.Name() != "down/m" {
		t.Error(got)
	}
}

func TestNames(t *testing.T) {
	r := with(nil, nil)
	lend := func(_ context.Context, l model.Loan, on func(model.Chunk)) (model.Lent, error) {
		on(model.Chunk{Text: "Lent " + l.Model + "."})
		return model.Lent{}, nil
	}
	for _, c := range []struct {
		model     string
		fallbacks []string
		editor    model.Lend
		want      string
	}{
		{"", nil, nil, "script/embedded"},
		{"", nil, lend, "script/embedded editor"},
		{"a/b", []string{"c/d", "a/b"}, nil, "a/b c/d script/embedded"},
		{"editor", nil, lend, "editor script/embedded"},
	} {
		r.Config.Model, r.Config.FallbackModels, r.Editor = c.model, c.fallbacks, c.editor
		if got := strings.Join(r.Names(), " "); got != c.want {
			t.Errorf("%s: %s", c.want, got)
		}
	}
	keyed := with(nil, map[string]string{"DEEPSEEK_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})
	keyed.Discover = true
	if got := strings.Join(keyed.Names(), " "); got != "anthropic/claude-sonnet-5-5 deepseek/deepseek-flash script/embedded" {
		t.Error(got)
	}
	for name, want := range map[string]string{"": "text Lent .\n", "editor/copilot/gpt": "text Lent copilot/gpt.\n"} {
		m, err := r.Open(name)
		if err != nil || !strings.HasPrefix(say(t, m), want) {
			t.Error(m, err)
		}
	}
}

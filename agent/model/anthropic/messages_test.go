package anthropic

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

func TestLimits(t *testing.T) {
	for name, want := range map[string]limits{
		"claude-sonnet-5-5":          {64_000, true},
		"claude-opus-5":              {64_000, true},
		"claude-opus-4-6":            {64_000, true},
		"claude-opus-4-5-20251101":   {64_000, false},
		"claude-sonnet-4-5-20250929": {64_000, false},
		"claude-sonnet-4-20250514":   {64_000, false},
		"claude-opus-4-1":            {32_000, false},
		"claude-opus-4@20250514":     {32_000, false},
		"claude-3-7-sonnet-latest":   {64_000, false},
		"claude-3-5-haiku-20241022":  {8192, false},
		"claude-3-opus-20240229":     {4096, false},
		"claude-mythos-preview":      {16_000, false},
		"deepseek-flash":             {16_000, false},
	} {
		if got := limitsOf(name); got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRequestOfAModelThatThinks sees what is sent besides the conversation, and that the environment does not matter.
func TestRequestOfAModelThatThinks(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "from-the-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "from-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://from-the-environment")
	for _, c := range []struct{ base, key, want string }{
		{"https://api.anthropic.com", "k", "https://api.anthropic.com/v1/messages"},
		{"http://gateway/claude/v1/", "", "http://gateway/claude/v1/messages"},
	} {
		var got *http.Request
		var body struct {
			Thinking map[string]string `json:"thinking"`
			Stream   bool              `json:"stream"`
		}
		m, err := New(wire.Service{
			Provider: "anthropic", Model: "claude-sonnet-5-5", BaseURL: c.base, Key: c.key,
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				got = r
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				return nil, io.EOF
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Stream(t.Context(), model.Request{}, func(model.Delta) {}); err == nil {
			t.Error("it worked")
		}
		h := got.Header
		if got.URL.String() != c.want || h.Get("X-Api-Key") != c.key || h.Get("Authorization") != "" ||
			h.Get("Anthropic-Version") != "2023-06-01" {
			t.Error(got.URL, h)
		}
		if diff := cmp.Diff(map[string]string{"type": "adaptive", "display": "summarized"}, body.Thinking); diff != "" || !body.Stream {
			t.Error(diff)
		}
	}
}

// TestCacheMarks sees that what was marked once is found again by every later request: the prefix stays the same.
func TestCacheMarks(t *testing.T) {
	m := &messages{Client: &wire.Client{Service: wire.Service{Provider: "p", Model: "m"}}}
	r := model.Request{
		Tools:    []model.ToolSpec{{Name: "a"}, {Name: "b"}},
		Messages: []model.Message{{Role: model.System, Text: "S"}, {Role: model.User, Text: "U"}},
	}
	text := func() string {
		body, err := m.body(r, false)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(body.Reader())
		if err != nil {
			t.Fatal(err)
		}
		var ordered any // by key
		if err := json.Unmarshal(b, &ordered); err != nil {
			t.Fatal(err)
		}
		if b, err = json.Marshal(ordered); err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const mark = `"cache_control":{"type":"ephemeral"}`
	plain := func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, mark+",", ""), ","+mark, "")
	}
	tail := `],"model":"m"`
	before, _, _ := strings.Cut(plain(text()), tail)
	for i := range 5 {
		r.Messages = append(r.Messages,
			model.Message{Role: model.Assistant, Calls: []model.Call{{ID: "c" + string(rune('0'+i)), Name: "a"}}},
			model.Message{Role: model.Tool, CallID: "c" + string(rune('0'+i)), Text: "R"})
		now := text()
		if n := strings.Count(now, mark); n != 4 {
			t.Errorf("%d marks in %s", n, now)
		}
		if !strings.HasPrefix(plain(now), before) {
			t.Errorf("the beginning has changed:\n%s\n%s", before, plain(now))
		}
		before, _, _ = strings.Cut(plain(now), tail)
	}
}

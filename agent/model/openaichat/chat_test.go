package openaichat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tandem/agent/model"
)

const key = "sk-very-secret-0001"

// serve gives a model whose service answers with h.
func serve(t *testing.T, h http.HandlerFunc) model.Model {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return open(t, Options{BaseURL: s.URL + "/v1"})
}

func open(t *testing.T, o Options) model.Model {
	t.Helper()
	o.Provider, o.Model, o.Key, o.KeyEnv = "mock", "m", key, "MOCK_KEY"
	o.Headers = map[string]string{"X-Team": "team-secret"}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ask sends one request and writes down everything that comes back, a line for each piece.
func ask(ctx context.Context, m model.Model, r model.Request) (string, error) {
	var b strings.Builder
	resp, err := m.Stream(ctx, r, func(d model.Delta) {
		switch c := d.Call; {
		case c != nil && c.Done:
			fmt.Fprintf(&b, "done %d%s\n", c.Index, c.Arguments)
		case c != nil:
			fmt.Fprintf(&b, "call %d %s %s %s\n", c.Index, c.ID, c.Name, c.Arguments)
		case d.Thought != "":
			fmt.Fprintf(&b, "thought %s\n", d.Thought)
		default:
			fmt.Fprintf(&b, "text %s\n", d.Text)
		}
	})
	if err == nil {
		fmt.Fprintf(&b, "%s in %d (%d cached) out %d\n", resp.Stop, resp.Usage.Input, resp.Usage.CachedInput, resp.Usage.Output)
	}
	return b.String(), err
}

// events makes a stream of the pieces: a piece that begins with { is a delta, anything else is sent as it is.
func events(pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		if strings.HasPrefix(p, "{") {
			p = `data: {"id":"c","choices":[{"index":0,"delta":` + p + `,"finish_reason":null}]}` + "\n\n"
		}
		b.WriteString(p)
	}
	return b.String()
}

func finish(reason string) string {
	return fmt.Sprintf(`data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":%q}]}`+"\n\n", reason)
}

const (
	doneEvent = "data: [DONE]\n\n"
	usage     = `data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8}}}` +
		"\n\n"
)

func TestRequestByteForByte(t *testing.T) {
	var got, headers string
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = string(body)
		headers = fmt.Sprint(r.Method, " ", r.URL, " ", r.Header["Authorization"], r.Header["X-Team"], r.Header["Content-Type"])
		_, _ = io.WriteString(w, events(`{"content":"ok"}`, finish("stop"), doneEvent))
	})
	_, err := ask(t.Context(), m, model.Request{
		Messages: []model.Message{
			{Role: model.System, Text: "Be kind."},
			{Role: model.User, Text: "Go & do"},
			{Role: model.Assistant, Calls: []model.Call{
				{ID: "1", Name: "bash", Arguments: `{"command": "ls"}`},
				{ID: "2", Name: "bash", Arguments: `{"command": `},
				{ID: "3", Name: "functions.bäsh"},
			}},
			{Role: model.Tool, CallID: "1", Name: "bash", Text: "a"},
			{Role: model.Tool, CallID: "2", Name: "bash", Text: "[INVALID_ARGS] no JSON"},
			{Role: model.Tool, CallID: "3", Name: "bash"},
			{Role: model.Assistant},
		},
		Tools: []model.ToolSpec{
			{Name: "bash", Description: "Runs.", Parameters: json.RawMessage(`{"type":"object", "properties":{"b":{},"a":{}}}`)},
			{Name: "none"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","messages":[` +
		`{"role":"system","content":"Be kind."},` +
		`{"role":"user","content":"Go \u0026 do"},` +
		`{"role":"assistant","tool_calls":[` +
		`{"id":"1","type":"function","function":{"name":"bash","arguments":"{\"command\": \"ls\"}"}},` +
		`{"id":"2","type":"function","function":{"name":"bash","arguments":"{\"invalid_arguments\":\"{\\\"command\\\":\"}"}},` +
		`{"id":"3","type":"function","function":{"name":"functions_b_sh","arguments":"{}"}}]},` +
		`{"role":"tool","content":"a","tool_call_id":"1"},` +
		`{"role":"tool","content":"[INVALID_ARGS] no JSON","tool_call_id":"2"},` +
		`{"role":"tool","content":"(empty)","tool_call_id":"3"}],` +
		`"stream":true,"tools":[` +
		`{"function":{"name":"bash","description":"Runs.","parameters":{"type":"object","properties":{"b":{},"a":{}}}},"type":"function"},` +
		`{"function":{"name":"none","parameters":{"type":"object","properties":{}}},"type":"function"}],` +
		`"stream_options":{"include_usage":true}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := "POST /v1/chat/completions [Bearer " + key + "] [team-secret] [application/json]"; headers != want {
		t.Error(headers)
	}
}

func TestStreams(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{
			"text, thoughts and usage",
			events(`{"role":"assistant","content":""}`, `{"reasoning_content":"Hm"}`, `{"reasoning":"m"}`,
				`{"content":"Hello "}`, `{"content":"wörld"}`, finish("stop"), usage, doneEvent),
			"thought Hm\nthought m\ntext Hello \ntext wörld\nend_turn in 10 (8 cached) out 5\n",
		},
		{
			"calls end when the next begins",
			events(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read_file","arguments":""}}]}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]}`,
				`{"tool_calls":[{"index":1,"id":"b","function":{"name":"bash","arguments":"{}"}}]}`,
				finish("tool_calls"), doneEvent),
			"call 0 a read_file \ncall 0   {\"path\":\ncall 0   \"a\"}\ndone 0\ncall 1 b bash {}\ndone 1\n" +
				"tool_calls in 0 (0 cached) out 0\n",
		},
		{
			"the end with the reason stop, the last event without a line's end, no usage",
			events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}`) +
				strings.TrimSpace(finish("stop")),
			"call 0 a x {}\ndone 0\ntool_calls in 0 (0 cached) out 0\n",
		},
		{
			"calls that share an index",
			events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}`,
				`{"tool_calls":[{"index":0,"id":"b","function":{"name":"y","arguments":"{}"}}]}`, finish("stop"), doneEvent),
			"call 0 a x {}\ndone 0\ncall 1 b y {}\ndone 1\ntool_calls in 0 (0 cached) out 0\n",
		},
		{
			"no index at all, the id with every piece",
			events(`{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{\"k\""}}]}`,
				`{"tool_calls":[{"id":"a","function":{"arguments":":1}"}}]}`,
				`{"tool_calls":[{"id":"b","function":{"name":"y","arguments":"{}"}}]}`, finish("tool_calls"), doneEvent),
			"call 0 a x {\"k\"\ncall 0   :1}\ndone 0\ncall 1 b y {}\ndone 1\ntool_calls in 0 (0 cached) out 0\n",
		},
		{
			"interleaved calls",
			events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"k\""}}]}`,
				`{"tool_calls":[{"index":1,"id":"b","function":{"name":"y","arguments":"{}"}}]}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`, finish("tool_calls"), doneEvent),
			"call 0 a x {\"k\"\ncall 1 b y {}\ncall 0   :1}\ndone 0\ndone 1\ntool_calls in 0 (0 cached) out 0\n",
		},
		{
			"the name comes late, the arguments are no JSON",
			events(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{\"k"}}]}`,
				`{"tool_calls":[{"index":0,"function":{"name":"x","arguments":"\""}}]}`, finish("tool_calls"), doneEvent),
			"call 0 a x {\"k\"\ndone 0\ntool_calls in 0 (0 cached) out 0\n",
		},
		{
			"a call without a name",
			events(`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`, finish("tool_calls"), doneEvent),
			"call 0   {}\ndone 0\ntool_calls in 0 (0 cached) out 0\n",
		},
		{
			"cut off by the limit of tokens: what is not whole is never done",
			events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}`,
				`{"tool_calls":[{"index":1,"id":"b","function":{"name":"y","arguments":"{\"comm"}}]}`, finish("length"), doneEvent),
			"call 0 a x {}\ndone 0\ncall 1 b y {\"comm\nmax_tokens in 0 (0 cached) out 0\n",
		},
		{"filtered", events(`{"content":"I"}`, finish("content_filter"), doneEvent), "text I\nrefusal in 0 (0 cached) out 0\n"},
		{"refused", events(`{"refusal":"No."}`, finish("stop"), doneEvent), "text No.\nrefusal in 0 (0 cached) out 0\n"},
		{"only done", events(`{"content":"I"}`, doneEvent), "text I\nend_turn in 0 (0 cached) out 0\n"},
		{
			"comments, other fields, line ends, other choices",
			strings.Repeat(": still busy\r\n\r\n", 1000) + "event: message\nid: 7\nretry: 5\n" +
				strings.ReplaceAll(events(`{"content":"I"}`), "\n", "\r\n") +
				`data:{"choices":[{"index":1,"delta":{"content":"not this"}}]}` + "\n" + finish("stop") + doneEvent,
			"text I\nend_turn in 0 (0 cached) out 0\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.body) })
			got, err := ask(t.Context(), m, model.Request{})
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	apiError := func(message, code string) string {
		b, _ := json.Marshal(map[string]any{"error": map[string]any{"message": message, "code": code}})
		return string(b)
	}
	for _, c := range []struct {
		name   string
		status int
		header string
		body   string
		want   model.Error
	}{
		{
			"wrong key, which the service repeats", 401, "", apiError("Incorrect key "+key+" of team-secret.", ""),
			model.Error{Kind: "auth", Message: "mock refused the key (401: Incorrect key [redacted] of [redacted]). " +
				"Set MOCK_KEY to a key that is valid."},
		},
		{
			"no such model", 404, "", `{"error":"model \"m\" not found"}`,
			model.Error{Kind: "http", Message: `mock does not know the model "m" (404: model "m" not found). Set "model" to one ` +
				`that it serves, or correct providers.mock.baseUrl (it is BASE).`},
		},
		{
			"too many requests", 429, "Retry-After: 7", apiError("Slow down", "rate_limit_exceeded"),
			model.Error{
				Kind: "rate_limit", Retryable: true, After: 7 * time.Second,
				Message: "mock limits the rate of requests (429: Slow down).",
			},
		},
		{
			"no money", 429, "", apiError("You exceeded your quota.", "insufficient_quota"),
			model.Error{Kind: "rate_limit", Message: "mock limits the rate of requests (429: You exceeded your quota)."},
		},
		{
			"overloaded, with a web page", 503, "Retry-After-Ms: 30", "<html>oops</html>",
			model.Error{
				Kind: "overloaded", Retryable: true, After: 30 * time.Millisecond,
				Message: "mock is failing or overloaded (503: a web page).",
			},
		},
		{"overloaded, without a word", 500, "", "", model.Error{
			Kind: "overloaded", Retryable: true,
			Message: "mock is failing or overloaded (500).",
		}},
		{
			"conversation too long", 400, "", apiError("This model's maximum context length is 8 tokens.", "context_length_exceeded"),
			model.Error{Kind: "context_window", Message: "The conversation has outgrown what mock/m can read (This model's maximum " +
				"context length is 8 tokens). Start a new session."},
		},
		{"bad request", 422, "", `{"detail":[{"msg":"no"}]}`, model.Error{
			Kind:    "http",
			Message: `mock refused the request (422: [{"msg":"no"}]).`,
		}},
		{"a list of errors", 400, "", `[{"error":{"code":400,"message":"no"}}]`, model.Error{
			Kind:    "http",
			Message: `mock refused the request (400: no).`,
		}},
		{
			"redirect", 307, "Location: http://evil.example/" + key, "",
			model.Error{Kind: "http", Message: `mock redirects to "http://evil.example/[redacted]" (307), which is not followed. ` +
				`Correct providers.mock.baseUrl (it is BASE).`},
		},
		{
			"a page with status 200", 200, "", "<!doctype html>\n<p>Log in</p>",
			model.Error{Kind: "bad_response", Status: 200, Message: "mock/m answered with a web page instead of a stream; check " +
				"providers.mock.baseUrl (it is BASE)."},
		},
		{
			"no stream", 200, "", `{"choices":[{"message":{"content":"hi ` + key + `"}}]}`,
			model.Error{Kind: "bad_response", Message: `mock/m sent something else than a stream of events: ` +
				`{"choices":[{"message":{"content":"hi [redacted]"}}]}.`},
		},
		{"nothing", 200, "", "\n", model.Error{Kind: "bad_response", Message: "mock/m sent an empty answer."}},
		{"an error with status 200", 200, "", "{\n\"error\": {\"message\": \"bad luck\"}}", model.Error{
			Kind:      "overloaded",
			Retryable: true, Message: "mock/m reported an error: bad luck.",
		}},
		{"an error event", 200, "", `data: {"error":{"message":"The engine died.","type":"x"}}` + "\n\n", model.Error{
			Kind: "overloaded", Retryable: true, Message: "mock/m reported an error: The engine died.",
		}},
		{"an error in plain text", 200, "", `data: {"error":"died"}` + "\n\n", model.Error{
			Kind: "overloaded", Retryable: true, Message: "mock/m reported an error: died.",
		}},
		{
			"an error beside choices", 200, "",
			`data: {"id":"c","error":{"code":502,"message":"upstream"},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}` + "\n",
			model.Error{Kind: "overloaded", Retryable: true, Message: "mock/m reported an error: upstream."},
		},
		{"another format", 200, "", "data: {\"choices\":7}\n\n", model.Error{
			Kind:    "bad_response",
			Message: `mock/m sent an event that is not of the Chat Completions format: {"choices":7}.`,
		}},
		{
			"more of a call that was complete", 200, "",
			events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}`,
				`{"tool_calls":[{"index":1,"id":"b","function":{"name":"y","arguments":"{}"}}]}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`),
			model.Error{Kind: "bad_response", Message: "mock/m went on with the arguments of x after they were complete."},
		},
		{"cut between events", 200, "", events(`{"content":"I"}`), model.Error{
			Kind: "cut", Retryable: true,
			Message: "mock/m broke off in the middle of its answer.",
		}},
		{"cut in an event", 200, "", events(`{"content":"I"}`) + `data: {"choices":[{"ind`, model.Error{
			Kind:      "cut",
			Retryable: true, Message: "mock/m broke off in the middle of its answer.",
		}},
		{"an endless event", 200, "", "data: " + strings.Repeat("x", maxEvent+1), model.Error{
			Kind:    "bad_response",
			Message: "mock/m sent an event of more than 16 MiB.",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var base string
			m := serve(t, func(w http.ResponseWriter, r *http.Request) {
				base = "http://" + r.Host + "/v1"
				if k, v, ok := strings.Cut(c.header, ": "); ok {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			_, err := ask(t.Context(), m, model.Request{})
			var got *model.Error
			if !errors.As(err, &got) {
				t.Fatal(err)
			}
			if c.status != 200 {
				c.want.Status = c.status
			}
			if c.want.Status == 0 {
				got.Status = 0
			}
			got.Message = strings.ReplaceAll(got.Message, base, "BASE")
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConnectionTornInTheMiddle(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, events(`{"content":"Half"}`))
		_ = http.NewResponseController(w).Flush()
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
	})
	got, err := ask(t.Context(), m, model.Request{})
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != "cut" || got != "text Half\n" {
		t.Error(got, err)
	}
}

func TestNobodyListens(t *testing.T) {
	s := httptest.NewServer(nil)
	base := s.URL + "/v1"
	s.Close()
	_, err := ask(t.Context(), open(t, Options{BaseURL: base}), model.Request{})
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != "http" || !e.Retryable || !strings.Contains(e.Message, "cannot be reached at "+base) {
		t.Error(err)
	}
}

func TestSilence(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, events(`{"content":"I"}`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	got, err := ask(t.Context(), open(t, Options{BaseURL: s.URL, Idle: 50 * time.Millisecond}), model.Request{})
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != "cut" || e.Message != "mock/m has been silent for 50ms." || got != "text I\n" {
		t.Error(got, err)
	}
}

func TestCancelEndsTheRequest(t *testing.T) {
	gone := make(chan struct{})
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, events(`{"content":"I"}`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := m.Stream(ctx, model.Request{}, func(model.Delta) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-gone
}

func TestConnectionIsUsedAgain(t *testing.T) {
	peers := map[string]bool{}
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		peers[r.RemoteAddr] = true
		_, _ = io.WriteString(w, events(`{"content":"I"}`, finish("stop"), usage, doneEvent))
	})
	for range 5 {
		if _, err := ask(t.Context(), m, model.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(peers) != 1 {
		t.Errorf("%d connections for 5 requests", len(peers))
	}
}

func TestAddress(t *testing.T) {
	for _, bad := range []string{"", "localhost:11434", "ftp://x/v1", "http://", "http://[", "/v1"} {
		_, err := New(Options{Provider: "p", BaseURL: bad})
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != "unavailable" || !strings.Contains(e.Message, "providers.p.baseUrl") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestRetryAfterDate(t *testing.T) {
	h := http.Header{}
	h.Set("Date", "Wed, 21 Oct 2026 07:28:00 GMT")
	h.Set("Retry-After", "Wed, 21 Oct 2026 07:28:05 GMT")
	if d := retryAfter(h); d != 5*time.Second {
		t.Error(d)
	}
	h.Set("Retry-After", "soon")
	if d := retryAfter(h); d != 0 {
		t.Error(d)
	}
}

// BenchmarkStream is one answer of 100 words over loopback.
func BenchmarkStream(b *testing.B) {
	words := make([]string, 100)
	for i := range words {
		words[i] = `{"content":"word "}`
	}
	body := events(words...) + finish("stop") + usage + doneEvent
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
	defer s.Close()
	m, err := New(Options{Provider: "mock", Model: "m", BaseURL: s.URL + "/v1"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := m.Stream(b.Context(), model.Request{}, func(model.Delta) {}); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzStream feeds an arbitrary body: whatever it is, the answer is one or an error, and each call is done at most once.
func FuzzStream(f *testing.F) {
	f.Add([]byte(events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}`, finish("stop"), usage, doneEvent)))
	f.Add([]byte("data: {\"error\":\n\ndata: [DONE]"))
	f.Add([]byte("<html>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		m := open(t, Options{BaseURL: "http://x/v1", Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(body)))}, nil
		})})
		begun, done := map[int]bool{}, map[int]bool{}
		_, err := m.Stream(t.Context(), model.Request{}, func(d model.Delta) {
			if c := d.Call; c != nil {
				if done[c.Index] || (c.Done && !begun[c.Index]) {
					t.Errorf("%+v out of order", c)
				}
				begun[c.Index], done[c.Index] = true, c.Done
			}
		})
		if err != nil && !errors.As(err, new(*model.Error)) {
			t.Error(err)
		}
		if err != nil && strings.Contains(err.Error(), key) {
			t.Error("the key is in", err)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/registry"
	"tandem/agent/prompt"
	"tandem/filetime/filetimetest"
	"tandem/tools"
	"tandem/tools/builtin"
	"tandem/tools/toolstest"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestFindingC7FirstRequestIsSmall measures what a person pays for before the first word of their own, with all tools, of which some are
// sent in full and the others by name alone.
func TestFindingC7FirstRequestIsSmall(t *testing.T) {
	const limit, word = 7_900, "PERSON"
	conf := config.Default()
	conf.Retry.Attempts = 1
	for _, api := range []string{"anthropic", "openai", "openai-chat"} {
		conf.Providers = map[string]config.Provider{"mock": {API: api, BaseURL: "http://mock/v1"}}
		var body []byte
		models := &registry.Registry{
			Config: conf, Getenv: func(string) string { return "" },
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				body, _ = io.ReadAll(r.Body)
				return nil, io.EOF
			}),
		}
		s := session(t, &client{}, nil, func(o *setup) {
			o.Config, o.Models, o.Model, o.Tools = conf, models, "mock/claude-sonnet-5-5", func() *tools.Set {
				return toolstest.SetOf(builtin.Tools()...)
			}
		})
		if r := ask(t, s, word); r.Stop != Failed || !bytes.Contains(body, []byte(word)) {
			t.Fatalf("%+v", r)
		}
		n := len(body) - len(word)
		t.Logf("%s: %d bytes", api, n)
		if n > limit {
			t.Errorf("%s: %d bytes are sent with a first word; the limit is %d", api, n, limit)
		}
	}
}

// TestModelSwitch changes the model in the middle of a session, through every protocol: what was said and done before
// goes along, what only the model itself understands does not, and comes back with it.
func TestModelSwitch(t *testing.T) {
	sse := func(events ...string) string { return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n" }
	answers := map[string]string{
		"/claude/v1/messages": sse(
			`{"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm."}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"SEALED-A"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"look","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"text\":\"a\"}"}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}`, `{"type":"message_stop"}`),
		"/gpt/responses": sse(`{"type":"response.completed","response":{"status":"completed","output":[` +
			`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"SEALED-R"},` +
			`{"type":"message","content":[{"type":"output_text","text":"From gpt."}]}]}}`),
		"/chat/chat/completions": sse(`{"choices":[{"index":0,"delta":{"content":"From chat."},"finish_reason":"stop"}]}`, "[DONE]"),
	}
	var mu sync.Mutex
	bodies := map[string]string{}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		answer := answers[r.URL.Path]
		if strings.Contains(answer, "toolu_1") && strings.Contains(string(body), "saw a") {
			answer = sse(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"From claude."}}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`)
		}
		bodies[r.URL.Path] = string(body)
		_, _ = io.WriteString(w, answer)
	}))
	defer service.Close()
	conf := config.Default()
	conf.Providers = map[string]config.Provider{
		"claude": {API: "anthropic", BaseURL: service.URL + "/claude"}, "gpt": {API: "openai", BaseURL: service.URL + "/gpt"},
		"chat": {API: "openai-chat", BaseURL: service.URL + "/chat"},
	}
	s := session(t, &client{}, nil, func(o *setup) {
		o.Config, o.Models = conf, &registry.Registry{Config: conf, Getenv: func(string) string { return "" }}
		o.Model = "claude/m"
	})
	turn := func(name, path string, has, lacks []string) {
		t.Helper()
		if err := s.SetModel(name); err != nil {
			t.Fatal(err)
		}
		if r := ask(t, s, "To "+name); r.Stop != EndTurn {
			t.Fatalf("%+v", r)
		}
		for _, want := range has {
			if !strings.Contains(bodies[path], want) {
				t.Errorf("%s is not told %q: %s", name, want, bodies[path])
			}
		}
		for _, no := range lacks {
			if strings.Contains(bodies[path], no) {
				t.Errorf("%s is told %q", name, no)
			}
		}
	}
	turn("claude/m", "/claude/v1/messages", []string{"SEALED-A", "saw a", "toolu_1"}, nil)
	turn("gpt/gpt-5", "/gpt/responses", []string{"saw a", "From claude.", "toolu_1"}, []string{"SEALED"})
	turn("chat/m", "/chat/chat/completions", []string{"saw a", "From gpt.", "toolu_1"}, []string{"SEALED"})
	turn("gpt/gpt-5", "/gpt/responses", []string{"SEALED-R", "From chat."}, []string{"SEALED-A"})
	turn("claude/m", "/claude/v1/messages", []string{"SEALED-A", "From gpt."}, []string{"SEALED-R"})
}

// TestPrefixesStayTheSame compares the requests of a session of two turns, with calls, rules and thoughts in them: what
// was sent once is sent again byte for byte, at the same place, so that services find it in their caches.
func TestPrefixesStayTheSame(t *testing.T) {
	sse := func(events ...string) string { return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n" }
	for api, answers := range map[string]struct{ call, text string }{
		"anthropic": {
			sse(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm.","signature":"S"}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_ID","name":"look","input":{}}}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"text\": \"ä\"}"}}`,
				`{"type":"content_block_stop","index":1}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`),
			sse(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"<Done> & done."}}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`),
		},
		"openai": {
			sse(`{"type":"response.completed","response":{"status":"completed","output":[` +
				`{"type":"reasoning","id":"rs_ID","summary":[],"encrypted_content":"SEALED"},` +
				`{"type":"function_call","id":"fc_ID","call_id":"call_ID","name":"look","arguments":"{\"text\": \"ä\"}"}]}}`),
			sse(`{"type":"response.completed","response":{"status":"completed","output":[` +
				`{"type":"message","content":[{"type":"output_text","text":"<Done> & done."}]}]}}`),
		},
		"openai-chat": {
			sse(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"ID","function":{"name":"look",`+
				`"arguments":"{\"text\": \"ä\"}"}}]},"finish_reason":"tool_calls"}]}`, "[DONE]"),
			sse(`{"choices":[{"index":0,"delta":{"content":"<Done> & done."},"finish_reason":"stop"}]}`, "[DONE]"),
		},
	} {
		t.Run(api, func(t *testing.T) {
			conf := config.Default()
			conf.Providers = map[string]config.Provider{"mock": {API: api, BaseURL: "http://mock/v1"}}
			var bodies []map[string]json.RawMessage
			models := &registry.Registry{
				Config: conf, Getenv: func(string) string { return "" },
				Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					var body map[string]json.RawMessage
					if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
						return nil, err
					}
					bodies = append(bodies, body)
					answer := answers.text
					if len(bodies)%3 != 0 {
						answer = strings.ReplaceAll(answers.call, "ID", fmt.Sprint("id", len(bodies)))
					}
					return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}, nil
				}),
			}
			files := filetimetest.New()
			for path, text := range map[string]string{"/home/ann/AGENTS.md": "Root rules.", "/home/ann/api/AGENTS.md": "API rules."} {
				files.Put(path, text, false)
			}
			s := session(t, &client{}, nil, func(o *setup) { o.Config, o.Models, o.Model, o.Files = conf, models, "mock/gpt-5", files })
			for _, text := range []string{"Look at @api/x.go.", "And again."} {
				if r := ask(t, s, text); r.Stop != EndTurn {
					t.Fatalf("%+v", r)
				}
			}
			if len(bodies) != 6 {
				t.Fatalf("%d requests", len(bodies))
			}
			list := func(raw json.RawMessage) (out []string) {
				var parts []json.RawMessage
				if json.Unmarshal(raw, &parts) != nil {
					return []string{string(raw)}
				}
				for _, p := range parts {
					// Where the service may cache what it has read moves on with every request.
					out = append(out, strings.ReplaceAll(string(p), `,"cache_control":{"type":"ephemeral"}`, ""))
				}
				return out
			}
			for i := 1; i < len(bodies); i++ {
				for key, raw := range bodies[i] {
					now, before := list(raw), list(bodies[i-1][key])
					grows := key == "messages" || key == "input"
					if grows && len(now) <= len(before) || !grows && len(now) != len(before) {
						t.Errorf("request %d: %d parts of %s after %d", i, len(now), key, len(before))
						continue
					}
					if diff := cmp.Diff(before, now[:len(before)]); diff != "" {
						t.Errorf("request %d, %s: %s", i, key, diff)
					}
				}
				if len(bodies[i]) != len(bodies[i-1]) {
					t.Errorf("request %d has other fields", i)
				}
			}
		})
	}
}

// named is a fake with a name of its own.
type named struct {
	name string
	fake
}

func (n named) Name() string { return "fake/" + n.name }

// TestModelSwitchDuringATurn changes the model while a turn runs, which goes on with its own.
func TestModelSwitchDuringATurn(t *testing.T) {
	var s *Session
	var asked []string
	speaks := func(name string) model.Model {
		return named{name, func(_ context.Context, r model.Request, on on) (model.Response, error) {
			asked = append(asked, name)
			if len(asked) == 1 {
				if err := s.SetModel("second"); err != nil {
					t.Error(err)
				}
				on(model.Delta{Call: &model.CallDelta{ID: "c", Name: "look", Arguments: `{"text":"a"}`}})
				on(model.Delta{Call: &model.CallDelta{Done: true}})
				return model.Response{Stop: model.StopCalls}, nil
			}
			on(model.Delta{Text: "Done."})
			return model.Response{Stop: model.StopEnd}, nil
		}}
	}
	s = session(t, &client{}, opener{"main": speaks("first"), "second": speaks("second")})
	ask(t, s, "go")
	ask(t, s, "go on")
	if diff := cmp.Diff([]string{"first", "first", "second"}, asked); diff != "" {
		t.Error(diff)
	}
}

// TestUsageAddsUp sees usage and cost of a turn of several requests.
func TestUsageAddsUp(t *testing.T) {
	n := 0
	m := fake(func(_ context.Context, _ model.Request, on on) (model.Response, error) {
		u := model.Usage{Input: 100, CachedInput: 60, CacheWrite: 30, Output: 10, CostUSD: 0.25}
		if n++; n == 1 {
			on(model.Delta{Call: &model.CallDelta{ID: "c", Name: "look", Arguments: "{}"}})
			on(model.Delta{Call: &model.CallDelta{Done: true}})
			return model.Response{Stop: model.StopCalls, Usage: u}, nil
		}
		on(model.Delta{Text: "Done."})
		return model.Response{Stop: model.StopEnd, Usage: u}, nil
	})
	want := model.Usage{Input: 200, CachedInput: 120, CacheWrite: 60, Output: 20, CostUSD: 0.5}
	seen := &client{}
	s := session(t, seen, nil, func(o *setup) { o.Models = sized{opener{"main": m}, 200_000} })
	if r := ask(t, s, "go"); r.Usage != want {
		t.Errorf("%+v", r.Usage)
	}
	if r := ask(t, s, "go on"); r.Usage != (model.Usage{Input: 100, CachedInput: 60, CacheWrite: 30, Output: 10, CostUSD: 0.25}) {
		t.Errorf("%+v", r.Usage)
	}
	var told []string
	for _, e := range seen.events {
		if e.Usage != nil {
			told = append(told, fmt.Sprintf("%g of %g, %d of %d", e.Usage.CostUSD, e.Session.CostUSD, e.Context, e.Window))
		}
	}
	if diff := cmp.Diff([]string{"0.25 of 0.25, 110 of 200000", "0.5 of 0.5, 110 of 200000", "0.25 of 0.75, 110 of 200000"}, told); diff != "" {
		t.Error(diff)
	}
}

// TestCostHasALimit ends a turn that has cost what it may before the next request, with all calls answered.
func TestCostHasALimit(t *testing.T) {
	for _, c := range []struct {
		name        string
		cost, limit float64
		stop        StopReason
		requests    int
		notice      string
	}{
		{"no limit", 1, 0, EndTurn, 4, ""},
		{"below", 0.1, 0.5, EndTurn, 4, ""},
		{"reached", 0.2, 0.5, BudgetExceeded, 3, "The turn has cost $0.6000, and budget.maxCostUsd is 0.5."},
		{"at once", 0.6, 0.5, BudgetExceeded, 1, "The turn has cost $0.6000, and budget.maxCostUsd is 0.5."},
		{"not known", 0, 0.5, EndTurn, 4, "budget.maxCostUsd is ignored: no price is configured for fake/m."},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			m := fake(func(_ context.Context, r model.Request, on on) (model.Response, error) {
				resp := model.Response{Stop: model.StopEnd, Usage: model.Usage{Input: 100, Output: 10, CostUSD: c.cost}}
				if n++; n < 4 {
					on(model.Delta{Call: &model.CallDelta{ID: fmt.Sprint("c", n), Name: "look", Arguments: `{"text":"a"}`}})
					on(model.Delta{Call: &model.CallDelta{Done: true}})
					resp.Stop = model.StopCalls
				}
				on(model.Delta{Text: "Hm."})
				return resp, nil
			})
			seen := &client{}
			s := session(t, seen, opener{"main": m}, func(o *setup) { o.Config.Budget.MaxCostUSD = c.limit })
			r := ask(t, s, "go")
			if r.Stop != c.stop || n != c.requests || r.Err != nil {
				t.Errorf("%+v after %d requests", r, n)
			}
			if told := strings.Count(seen.transcript(), "notice "); c.notice == "" && told > 0 || c.notice != "" && told != 1 ||
				!strings.Contains(seen.transcript(), c.notice) {
				t.Error(seen.transcript())
			}
			asked := map[string]bool{}
			for _, msg := range s.History() {
				for _, call := range msg.Calls {
					asked[call.ID] = true
				}
				if msg.Role == model.Tool && !asked[msg.CallID] {
					t.Errorf("%+v", msg)
				}
				delete(asked, msg.CallID)
			}
			if len(asked) > 0 {
				t.Errorf("without a result: %v", asked)
			}
		})
	}
}

// TestThoughtsGoBackWhereTheyWere keeps the places of thoughts among text and calls.
func TestThoughtsGoBackWhereTheyWere(t *testing.T) {
	var last model.Request
	n := 0
	m := fake(func(_ context.Context, r model.Request, on on) (model.Response, error) {
		last = r
		if n++; n > 1 {
			on(model.Delta{Text: "Done."})
			return model.Response{Stop: model.StopEnd}, nil
		}
		keep := func(text string) { on(model.Delta{Kept: &model.Thought{Model: "fake/m", Text: text}}) }
		call := func(i int) {
			on(model.Delta{Call: &model.CallDelta{Index: i, ID: fmt.Sprint("c", i), Name: "look", Arguments: "{}"}})
			on(model.Delta{Call: &model.CallDelta{Index: i, Done: true}})
		}
		keep("one")
		on(model.Delta{Text: "Looking."})
		keep("two")
		call(0)
		keep("three")
		call(1)
		return model.Response{Stop: model.StopCalls}, nil
	})
	ask(t, session(t, &client{}, opener{"main": m}), "go")
	var got []string
	for _, p := range last.Messages[2].Parts("fake/m") {
		switch {
		case p.Thought != nil:
			got = append(got, p.Thought.Text)
		case p.Call != nil:
			got = append(got, p.Call.ID)
		default:
			got = append(got, p.Text)
		}
	}
	if diff := cmp.Diff([]string{"one", "Looking.", "two", "c0", "three", "c1"}, got); diff != "" {
		t.Error(diff)
	}
	if last.Session == "" || !last.Messages[3].Failed == (last.Messages[3].Text[0] == '[') {
		t.Errorf("%+v", last)
	}
}

// TestRulesStayInside wants a link in a workspace not to send a file of another place to the model.
func TestRulesStayInside(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := filetimetest.New()
	for link, to := range map[string]string{
		"ws/AGENTS.md": "../outside", "ws/in/AGENTS.md": "../RULES.md", "ws/out/AGENTS.md": "../../outside", "ws/key/AGENTS.md": "../.env",
	} {
		path := filepath.Join(dir, link)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(to, path)); err != nil {
			t.Fatal(err)
		}
		files.Put(path, "Rules of "+to+" end.", false)
	}
	for _, name := range []string{"outside", "ws/RULES.md", "ws/.env"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var seen string
	m := fake(func(_ context.Context, r model.Request, on on) (model.Response, error) {
		b, err := json.Marshal(r.Messages)
		seen += string(b)
		return model.Response{Stop: model.StopEnd}, err
	})
	s := session(t, &client{}, opener{"main": m}, func(o *setup) { o.Files, o.Cwd = files, filepath.Join(dir, "ws") })
	in := text("go")
	for _, folder := range []string{"in", "out", "key"} {
		in.Blocks = append(in.Blocks, prompt.Block{Type: "resource_link", URI: "file://" + filepath.Join(dir, "ws", folder, "x")})
	}
	if _, err := s.Prompt(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if strings.Count(seen, "Rules of") != 1 || !strings.Contains(seen, "Rules of ../RULES.md end.") {
		t.Error(seen)
	}
}

// TestRulesNearestWins plays a workspace with nested rules: its own are in the system prompt, those of a folder come
// when the model first sees something there, once.
func TestRulesNearestWins(t *testing.T) {
	files := filetimetest.New()
	for path, content := range map[string]string{
		"/home/ann/AGENTS.md": "Root rules.", "/home/ann/api/AGENTS.md": "API rules.", "/home/ann/api/v2/AGENTS.md": "V2 rules.",
		"/home/ann/web/AGENTS.md": "Web rules.", "/elsewhere/AGENTS.md": "Foreign rules.", "/lib/AGENTS.md": "Library rules.",
		"/home/ann/api/v2/x.go": "package x", "/elsewhere/y.go": "package y",
	} {
		files.Put(path, content, false)
	}
	var requests []string
	n := 0
	var s *Session
	m := fake(func(ctx context.Context, r model.Request, on on) (model.Response, error) {
		b, err := json.Marshal(r.Messages)
		if err != nil {
			t.Error(err)
		}
		requests = append(requests, string(b))
		if n++; n%2 == 0 {
			on(model.Delta{Text: "Done."})
			return model.Response{Stop: model.StopEnd}, nil
		}
		for _, path := range []string{"/home/ann/api/v2/x.go", "/elsewhere/y.go"} { // as a tool would
			snapshot, err := files.Read(ctx, path)
			if err != nil {
				t.Error(err)
			}
			s.FileTime().Read(snapshot, 1, 1)
		}
		on(model.Delta{Call: &model.CallDelta{ID: fmt.Sprint("c", n), Name: "look", Arguments: "{}"}})
		on(model.Delta{Call: &model.CallDelta{Done: true}})
		return model.Response{Stop: model.StopCalls}, nil
	})
	s = session(t, &client{}, opener{"main": m}, func(o *setup) {
		o.Files, o.Own.Rules, o.More = files, "My own rules.", []string{"/lib"}
	})
	in := text("go")
	in.Blocks = append(in.Blocks, prompt.Block{Type: "resource_link", URI: "file:///home/ann/web/page.ts"})
	for range 2 {
		if _, err := s.Prompt(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	order := func(text string, words ...string) bool {
		for _, w := range words {
			_, rest, ok := strings.Cut(text, w)
			if !ok || strings.HasSuffix(w, " rules.") && strings.Contains(rest, w) {
				return false
			}
			text = rest
		}
		return true
	}
	if !order(requests[0], "My own rules.", "Root rules.", "Library rules.", "Attached", "Web rules.") ||
		strings.Contains(requests[0], "API") {
		t.Error(requests[0])
	}
	if !order(requests[3], "Root rules.", "Web rules.", "saw", "API rules.", "V2 rules.", "saw") ||
		strings.Contains(requests[3], "Foreign") {
		t.Error(requests[3])
	}
	if prefix := requests[0][:len(requests[0])-1]; !strings.HasPrefix(requests[3], prefix) {
		t.Error("the beginning of the conversation has changed")
	}
}

// TestEditorAndPictures sees what a person has in front of them reach the model, after their words.
func TestEditorAndPictures(t *testing.T) {
	var got model.Message
	m := fake(func(_ context.Context, r model.Request, on on) (model.Response, error) {
		got = r.Messages[len(r.Messages)-1]
		on(model.Delta{Text: "I see."})
		return model.Response{Stop: model.StopEnd}, nil
	})
	s := session(t, &client{}, opener{"main": m})
	in := text("What is this?")
	in.Blocks = append(in.Blocks, prompt.Block{Type: "image", MIMEType: "image/png", Data: []byte("png"), Name: "a.png"})
	in.Editor = prompt.Editor{Active: "/home/ann/a.go", Line: 3}
	if _, err := s.Prompt(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	want := "What is this?\n\n(Attached image: a.png)\n\n<editor>\nIn front of the person: a.go, cursor at line 3\n</editor>"
	if got.Text != want || len(got.Attachments) != 1 || string(got.Attachments[0].Data) != "png" {
		t.Errorf("%+v", got)
	}
	if _, err := s.Prompt(t.Context(), Input{Editor: in.Editor}); !errors.Is(err, ErrEmpty) {
		t.Error(err)
	}
}

// TestPersonSeesRetries plays a service that is overloaded at first and names its pause: what the client is told.
func TestPersonSeesRetries(t *testing.T) {
	n := 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n++; n < 3 {
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(529)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
			return
		}
		_, _ = io.WriteString(w, `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hello."}}`+
			"\n\n"+`data: {"type":"message_stop"}`+"\n\n")
	}))
	defer service.Close()
	conf := config.Default()
	conf.Retry.BackoffMs = 1
	conf.Providers = map[string]config.Provider{"claude": {API: "anthropic", BaseURL: service.URL}}
	c := &client{}
	s := session(t, c, nil, func(o *setup) {
		o.Config, o.Models = conf, &registry.Registry{Config: conf, Getenv: func(string) string { return "" }}
		o.Model = "claude/m"
	})
	if r := ask(t, s, "go"); r.Stop != EndTurn {
		t.Errorf("%+v", r)
	}
	c.told(t, "notice claude is failing or overloaded (529: Overloaded). Trying again in 1ms (2 of 3).\n")
	c.told(t, "notice claude is failing or overloaded (529: Overloaded). Trying again in 2ms (3 of 3).\n")
	c.told(t, `text "Hello."`)
}

// Calls of one message were asked for together: the second cannot know of the mistake of the first. Only a mistake that
// was answered before is a repeated one.
func TestFindingP6SiblingsDoNotCount(t *testing.T) {
	n := 0
	m := fake(func(_ context.Context, _ model.Request, on on) (model.Response, error) {
		if n++; n == 3 {
			on(model.Delta{Text: "I give up."})
			return model.Response{Stop: model.StopEnd}, nil
		}
		for i := range 3 {
			on(model.Delta{Call: &model.CallDelta{Index: i, ID: fmt.Sprint("c", n, i), Name: "look", Arguments: `{"txt":1}`}})
			on(model.Delta{Call: &model.CallDelta{Index: i, Done: true}})
		}
		return model.Response{Stop: model.StopCalls}, nil
	})
	s := session(t, &client{}, opener{"main": m})
	ask(t, s, "go")
	var got []bool
	for _, msg := range s.History() {
		if msg.Role == model.Tool {
			got = append(got, strings.Contains(msg.Text, "the same mistake"))
		}
	}
	if want := []bool{false, false, false, true, true, true}; !slices.Equal(got, want) {
		t.Errorf("hints at %v, want %v", got, want)
	}
}

// F053: the second equal mistake in a row is answered with a hint, at most three times in a turn.
func TestF053Reflection(t *testing.T) {
	n := 0
	bad := func(args string) func(on on) {
		return func(on on) {
			on(model.Delta{Call: &model.CallDelta{ID: fmt.Sprint("c", n), Name: "look", Arguments: args}})
			on(model.Delta{Call: &model.CallDelta{Done: true}})
		}
	}
	wrong, other, good := bad(`{"txt":1}`), bad(`{"text":[]}`), bad(`{}`)
	calls := []func(on on){wrong, wrong, wrong, other, good, other, wrong, wrong, wrong, wrong}
	m := fake(func(_ context.Context, _ model.Request, on on) (model.Response, error) {
		if n == len(calls) {
			on(model.Delta{Text: "I give up."})
			return model.Response{Stop: model.StopEnd}, nil
		}
		calls[n](on)
		n++
		return model.Response{Stop: model.StopCalls}, nil
	})
	s := session(t, &client{}, opener{"main": m})
	ask(t, s, "go")
	var got strings.Builder
	for _, msg := range s.History() {
		switch {
		case msg.Role != model.Tool:
		case strings.Contains(msg.Text, "the same mistake"):
			got.WriteString("h")
		case msg.Failed:
			got.WriteString("f")
		default:
			got.WriteString(".")
		}
	}
	if got.String() != "fhhf.ffhff" {
		t.Error(got.String())
	}
}

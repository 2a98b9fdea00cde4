package lspserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"tandem/lspserver/conformance"
)

// service is a loopback service that speaks Chat Completions. Each answer is the events of one stream; which one comes
// depends on how many messages of tools the request holds.
type service struct {
	*httptest.Server
	key string

	mu     sync.Mutex
	bodies []string
}

// chunk is one event of a stream.
func chunk(delta, finish string) string {
	return fmt.Sprintf(`data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":%s,`+
		`"finish_reason":%s}]}`+"\n\n", delta, finish)
}

func content(text string) string { return chunk(fmt.Sprintf(`{"content":%q}`, text), "null") }

// toolCall is a call whose arguments come in two pieces.
func toolCall(name, arguments string) string {
	half := len(arguments) / 2
	return chunk(fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"id_%s","type":"function","function":`+
		`{"name":%q,"arguments":%q}}]}`, name, name, arguments[:half]), "null") +
		chunk(fmt.Sprintf(`{"tool_calls":[{"index":0,"function":{"arguments":%q}}]}`, arguments[half:]), "null")
}

func stop(reason string) string {
	return chunk(`{}`, fmt.Sprintf("%q", reason)) +
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":3,\"total_tokens\":14}}\n\ndata: [DONE]\n\n"
}

func newService(t *testing.T, key string, answers map[int]string) *service {
	s := &service{key: key}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer "+s.key {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error"}}`)
			return
		}
		body, err := io.ReadAll(q.Body)
		var request struct {
			Stream   bool
			Messages []struct{ Role string }
		}
		if err != nil || json.Unmarshal(body, &request) != nil || !request.Stream || q.URL.Path != "/v1/chat/completions" {
			t.Errorf("%s: %s %v", q.URL, body, err)
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, string(body))
		s.mu.Unlock()
		done := 0
		for _, m := range request.Messages {
			if m.Role == "tool" {
				done++
			}
		}
		answer, ok := answers[done]
		if !ok {
			t.Errorf("unexpected request with %d results", done)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for event := range strings.SplitAfterSeq(answer, "\n\n") {
			fmt.Fprint(w, event)
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// settings name the service as the model.
func (s *service) settings() map[string]any {
	mock := map[string]any{"api": "openai-chat", "baseUrl": s.URL + "/v1", "apiKeyEnv": "MOCK_KEY"}
	return map[string]any{"model": "mock/m", "mode": "auto", "providers": map[string]any{"mock": mock}}
}

func TestF104SummaryIsForPeople(t *testing.T) {
	s := newService(t, "right", map[int]string{
		0: toolCall("read_file", `{"path":"a.txt"}`) + stop("tool_calls"),
		1: toolCall("edit_file", `{"path":"a.txt","old_text":"one","new_text":"1"}`) + stop("tool_calls"),
		2: content("Done.") + stop("stop"),
	})
	r := start(t, conformance.Options{Settings: s.settings()}, options(map[string]string{"MOCK_KEY": "right"}))
	r.write("a.txt", "one\ntwo\n")
	id := r.session(nil)
	equal(t, "stop", r.prompt(id, "go").StopReason, "end_turn")
	summaries := map[string]bool{}
	for _, u := range r.told(id) {
		if u.Update.Meta.Tandem.State == "completed" {
			summaries[u.Update.Meta.Tandem.Summary] = true
		}
	}
	for _, want := range []string{"Modified: a.txt (+1 -1)", "Read a.txt (2 lines)"} {
		if !summaries[want] {
			t.Errorf("no update says %q: %v", want, summaries)
		}
		for _, body := range s.bodies {
			if strings.Contains(body, want) {
				t.Errorf("the model was told %q", want)
			}
		}
	}
	if all := strings.Join(s.bodies, ""); len(s.bodies) != 3 || !strings.Contains(all, "File edited: a.txt") {
		t.Errorf("the model was told:\n%s", all)
	}
	r.end()
}

// An image of the prompt reaches the model as it is; one that cannot be read is told of.
func TestImagesReachTheModel(t *testing.T) {
	s := newService(t, "right", map[int]string{0: content("Nice.") + stop("stop")})
	r := start(t, conformance.Options{Settings: s.settings()}, options(map[string]string{"MOCK_KEY": "right"}))
	id := r.session(nil)
	var end struct{ StopReason string }
	r.ask("tandem/session/prompt", map[string]any{"sessionId": id, "prompt": []any{
		map[string]any{"type": "text", "text": "What is this?"},
		map[string]any{"type": "image", "mimeType": "image/png", "data": "aW1hZ2U="},
		map[string]any{"type": "image", "mimeType": "image/gif", "data": "no base64"},
	}}, &end)
	equal(t, "stop", end.StopReason, "end_turn")
	all := strings.Join(s.bodies, "")
	for _, want := range []string{"data:image/png;base64,aW1hZ2U=", "cannot be shown to you: image/gif"} {
		if !strings.Contains(all, want) {
			t.Errorf("the model was not told %q", want)
		}
	}
	r.end()
}

func TestF230TurnIsAStream(t *testing.T) {
	for _, c := range []struct{ last, stop string }{
		{"", "end_turn"}, {"\nstop max_tokens", "max_tokens"}, {"\nstop refusal", "refusal"}, {"\nstop error", "error"},
	} {
		r := start(t, conformance.Options{}, options(nil))
		r.write("a.txt", "one\n")
		script := "think Where is it?\nsay Looking.\ncall read_file {\"path\":\"a.txt\"}\n\nsay Found." + c.last + "\n"
		s := r.session(map[string]any{"model": r.script(script)})
		end := r.prompt(s, "go")
		equal(t, "stop", end.StopReason, c.stop)
		equal(t, "turn", end.Turn, 1)
		equal(t, "thought", r.said(s, "agent_thought_chunk"), "Where is it?")
		equal(t, "said", r.said(s, "agent_message_chunk"), "Looking.Found.")
		if c.stop == "error" && end.Error.Message == "" {
			t.Errorf("%+v", end)
		}
		// All news of the turn comes before its end.
		over := false
		var states []string
		for _, w := range r.Wire() {
			var m struct {
				Method string
				Params update
				Result struct{ StopReason string }
			}
			if w.ToServer || json.Unmarshal(w.Raw, &m) != nil {
				continue
			}
			over = over || m.Result.StopReason != ""
			if m.Method == "tandem/session/update" {
				if over {
					t.Errorf("after the end: %s", w.Raw)
				}
				if st := m.Params.Update.Meta.Tandem.State; st != "" && (len(states) == 0 || states[len(states)-1] != st) {
					states = append(states, st)
				}
			}
		}
		sameList(t, "states", states, "queued", "executing", "completed", "yielded")
		r.end()
	}
}

func TestF268UnknownModelSaysWhatToSet(t *testing.T) {
	env := map[string]string{}
	r := start(t, conformance.Options{Settings: map[string]any{"providers": map[string]any{
		"mine": map[string]any{"api": "openai-chat", "baseUrl": "http://127.0.0.1:1/v1", "apiKeyEnv": "MINE_KEY"},
	}}}, options(env))
	good := r.session(nil)
	for model, want := range map[string]string{
		"nobody/m": "Known providers are", "gpt": "provider/model", "openai/m": "set the environment variable OPENAI_API_KEY",
		"mine/m": "set the environment variable MINE_KEY", "script:/none": "cannot be read",
	} {
		ask := prompt(good, "go")
		ask["model"] = model
		for _, e := range []*conformance.RPCError{
			r.refused("tandem/session/new", map[string]any{"model": model}),
			r.refused("tandem/session/setModel", map[string]any{"sessionId": good, "model": model}),
			r.refused("tandem/session/prompt", ask),
		} {
			if e.Code != -32013 || !strings.Contains(e.Message, want) || !strings.Contains(string(e.Data), "model_unavailable") {
				t.Errorf("%s: %v %s", model, e, e.Data)
			}
		}
	}
	equal(t, "a prompt afterwards", r.prompt(good, "go").StopReason, "end_turn")
	r.end()
}

func TestF268WrongKeySaysWhatToSet(t *testing.T) {
	s := newService(t, "right", map[int]string{0: content("Here.") + stop("stop")})
	r := start(t, conformance.Options{Settings: s.settings()}, options(map[string]string{"MOCK_KEY": "sk-wrong"}))
	r.write("a.txt", "one\n")
	before := tree(t, r.root)
	id := r.session(nil)
	end := r.prompt(id, "go")
	notice := r.said(id, "notice")
	equal(t, "stop", end.StopReason, "error")
	for _, said := range []string{end.Error.Message, notice} {
		if !strings.Contains(said, "401") || !strings.Contains(said, "MOCK_KEY") || strings.Contains(said, "sk-wrong") {
			t.Errorf("said %q", said)
		}
	}
	equal(t, "files", tree(t, r.root), before)
	s.key = "sk-wrong" // now it is right; the session goes on
	equal(t, "stop", r.prompt(id, "again").StopReason, "end_turn")
	equal(t, "said", r.said(id, "agent_message_chunk"), "Here.")
	r.end()
}

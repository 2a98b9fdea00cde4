package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/registry"
	"tandem/agent/store"
	"tandem/agent/window"
	"tandem/tools"
	"tandem/tools/gate"
)

// narrow is a service that can read a number of tokens, of four bytes each.
type narrow struct {
	t      *testing.T
	tokens int
	// refuse answers a request that is too long; nil cuts it without a word.
	refuse  func(w http.ResponseWriter, asked int)
	reports bool // usage
	calls   int  // in an answer
	rounds  int  // answers with calls in a turn

	made, round, refused int
	sizes                []int // of the requests that were taken
}

type wireMessage struct {
	Role       string `json:"role"`
	Content    any    `json:"content"`
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID string `json:"id"`
	} `json:"tool_calls"`
}

func (n *narrow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Messages []wireMessage `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		n.t.Error(err)
	}
	n.whole(req.Messages)
	raw, _ := json.Marshal(req.Messages)
	size := len(raw) / 4
	if size > n.tokens && n.refuse != nil {
		n.refused++
		n.refuse(w, size)
		return
	}
	n.sizes = append(n.sizes, size)
	event := func(delta, finish string) {
		fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
	}
	if n.round++; n.round > n.rounds {
		n.round = 0
		event(`{"content":"Done."}`, `"stop"`)
	} else {
		for i := range n.calls {
			n.made++
			event(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"look","arguments":"{\"text\":\"number %d\"}"}}]}`, i, n.made, n.made), "null")
		}
		event(`{}`, `"tool_calls"`)
	}
	if n.reports {
		fmt.Fprintf(w, `data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":20}}`+"\n\n", min(size, n.tokens))
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// whole wants every result to follow its call, and every call to have its result, as services do.
func (n *narrow) whole(messages []wireMessage) {
	open := map[string]bool{}
	for _, m := range messages {
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				n.t.Errorf("the result of %s has no call", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			n.t.Errorf("%d calls have no result", len(open))
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
	}
}

// session is one that talks to the service, with calls of look that answer at length.
func (n *narrow) session(t *testing.T, windows map[string]int, st store.Store) (*Session, *client) {
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	conf := config.Default()
	conf.Retry.Attempts = 1
	conf.Providers = map[string]config.Provider{"mock": {API: "openai-chat", BaseURL: server.URL + "/v1", Windows: windows}}
	conf.FallbackModels = []string{"mock/other"}
	c := &client{}
	return session(t, c, nil, func(o *setup) {
		o.ID, o.Mode, o.Config, o.Model = "kept", gate.ModeAuto, conf, "mock/m"
		o.Models = &registry.Registry{Config: conf, Getenv: func(string) string { return "" }}
		o.Tools, o.Keeping.Store = offering(lookAt(9000)), func() store.Store { return st }
	}), c
}

// TestOverflowNeverBricks goes on and on in sessions whose service cannot read all of it, says so in one way or another, or cuts without a
// word: each turn ends as the model ends it, and another process goes on with the same messages at any time.
func TestOverflowNeverBricks(t *testing.T) {
	named := func(w http.ResponseWriter, asked int, tokens int) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.","code":"context_length_exceeded"}}`, tokens, asked)
	}
	for name, n := range map[string]*narrow{
		"8k, named":            {tokens: 8000, calls: 1, rounds: 6, reports: true, refuse: func(w http.ResponseWriter, asked int) { named(w, asked, 8000) }},
		"8k, no usage":         {tokens: 8000, calls: 3, rounds: 3, refuse: func(w http.ResponseWriter, asked int) { named(w, asked, 8000) }},
		"32k, named":           {tokens: 32_000, calls: 4, rounds: 5, reports: true, refuse: func(w http.ResponseWriter, asked int) { named(w, asked, 32_000) }},
		"of an unknown size":   {tokens: 8000, calls: 2, rounds: 5, reports: true, refuse: func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusRequestEntityTooLarge) }},
		"unknown, no usage":    {tokens: 8000, calls: 2, rounds: 5, refuse: func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusRequestEntityTooLarge) }},
		"4k, more than it has": {tokens: 4000, calls: 2, rounds: 5, reports: true, refuse: func(w http.ResponseWriter, asked int) { named(w, asked, 30_000) }},
		"cut silently":         {tokens: 8000, calls: 1, rounds: 6, reports: true},
	} {
		t.Run(name, func(t *testing.T) {
			n.t = t
			st := memory(t)
			s, c := n.session(t, nil, st)
			for turn := range 6 {
				prompt := fmt.Sprintf("Do number %d.", turn)
				if turn == 3 {
					prompt += strings.Repeat(" And mind all of this.", 3000)
				}
				if r := ask(t, s, prompt); r.Stop != EndTurn {
					t.Fatalf("turn %d: %+v\n%s", turn, r, c.transcript())
				}
				past, err := ReadPast(st, "kept") // as if the process had been killed
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(s.History(), past.history); diff != "" {
					t.Fatalf("turn %d: %s", turn, diff)
				}
			}
			told := c.transcript()
			if n.refuse != nil && (n.refused == 0 || n.refused > 3) {
				t.Errorf("%d refusals", n.refused)
			}
			if last := n.sizes[len(n.sizes)-1]; last > n.tokens {
				t.Errorf("the last request has %d tokens of %d", last, n.tokens)
			}
			if !strings.Contains(told, " for the model") || n.refuse == nil && !strings.Contains(told, "leaves out what is before them") {
				t.Error("the person is not told")
			}
			if strings.Contains(told, "answers instead") {
				t.Error("a fallback model was asked")
			}
			t.Logf("%d requests, %d refused", len(n.sizes)+n.refused, n.refused)
		})
	}
}

// TestWindowIsConfigured is never refused where the size is configured.
func TestWindowIsConfigured(t *testing.T) {
	n := &narrow{t: t, tokens: 32_000, calls: 2, rounds: 10, reports: true, refuse: func(w http.ResponseWriter, _ int) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	}}
	s, c := n.session(t, map[string]int{"m": 32_000}, memory(t))
	for range 4 {
		if r := ask(t, s, "go"); r.Stop != EndTurn {
			t.Fatalf("%+v", r)
		}
	}
	if n.refused > 0 || !strings.Contains(c.transcript(), "cleared for the model") {
		t.Errorf("%d refusals", n.refused)
	}
	for _, e := range c.events {
		if e.Usage != nil && e.Window != 32_000 {
			t.Errorf("the window has %d tokens", e.Window)
		}
	}
}

// TestNothingFits ends the turn with the service's error where even the last words are too much, and the next one as well, but a service
// that can read more goes on.
func TestNothingFits(t *testing.T) {
	n := &narrow{t: t, tokens: 1, calls: 1, rounds: 3, refuse: func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusRequestEntityTooLarge) }}
	s, c := n.session(t, nil, memory(t))
	for range 2 {
		if r := ask(t, s, "go"); r.Stop != Failed {
			t.Fatalf("%+v", r)
		}
	}
	c.told(t, "notice The conversation has outgrown what mock/m can read")
	if n.refused > 10 {
		t.Errorf("%d requests", n.refused)
	}
	n.tokens = 50_000
	if r := ask(t, s, "go"); r.Stop != EndTurn {
		t.Fatalf("%+v", r)
	}
}

// TestRulesComeAgain gives the rules of a folder again once the conversation no longer has them.
func TestRulesComeAgain(t *testing.T) {
	var r rules
	r.read, r.fresh = map[string]bool{"/w": true, "/w/a": true}, map[string]bool{}
	r.given = []string{"/w/a"}
	r.forget()
	if r.read["/w/a"] || !r.read["/w"] || !r.fresh["/w/a"] || r.given != nil {
		t.Errorf("%+v", r.read)
	}
}

// TestFactsOfALedger says which files the session has seen and where, and what is on its list, in the place of the conversation.
func TestFactsOfALedger(t *testing.T) {
	m := &steps{before: func(model.Request) {}}
	plan := []step{
		{"read_file", map[string]any{"path": "a.txt", "start_line": 1, "end_line": 3}},
		{"read_file", map[string]any{"path": "a.txt", "start_line": 10, "end_line": 12}},
		{"read_file", map[string]any{"path": "a.txt", "start_line": 13, "end_line": 13}},
		{},
	}
	m.next = func() step {
		s := plan[0]
		plan = plan[1:]
		return s
	}
	s, _, _, root := withFiles(t, m, 0)
	if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte(strings.Repeat("a line\n", 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.tasks.now = []tools.Task{{ID: "task_1", Title: "Mend it.", Status: "pending"}}
	turn := begin(t, s, text("go"))
	turn.Run(t.Context())
	want := []string{
		"The list of tasks:\n- task_1 pending: Mend it.\n",
		"Files that you have seen, and which of their lines were still in the conversation:\n- a.txt (lines 1-3, 10-13)\n",
	}
	if diff := cmp.Diff(window.Facts{Turn: 1, Sections: want}, conversation{turn}.facts()); diff != "" {
		t.Error(diff)
	}
}

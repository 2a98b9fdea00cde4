package loop_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/agent/loop"
	"tandem/agent/model"
	"tandem/filetime"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

// memory is a conversation that is kept nowhere, as that of a subagent is.
type memory struct {
	messages []model.Message
	later    []string // what a person says, one before each request
	used     model.Usage
	told     []string
	calls    int
}

func (m *memory) BeforeRequest(context.Context, loop.Ask) bool {
	if len(m.later) > 0 {
		m.messages = append(m.messages, model.Message{Role: model.User, Text: m.later[0]})
		m.later = m.later[1:]
	}
	return false
}

// Shorten drops the oldest message of a conversation that is too long.
func (m *memory) Shorten(_ context.Context, err error) bool {
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != "context_window" || len(m.messages) == 1 {
		return false
	}
	m.messages = m.messages[1:]
	return true
}

func (m *memory) Since(n int) []model.Message { return slices.Clone(m.messages[n:]) }
func (m *memory) AddAnswer(_ string, messages ...model.Message) {
	m.messages = append(m.messages, messages...)
}
func (m *memory) AddUsage(u model.Usage, _ int) { m.used = m.used.Add(u) }
func (m *memory) TryClose() bool                { return len(m.later) == 0 }
func (m *memory) CallID(wanted string) string {
	m.calls++
	return fmt.Sprintf("%s#%d", cmp.Or(wanted, "call"), m.calls)
}

func (m *memory) AnnounceCall(id, text string) { m.told = append(m.told, "calling "+id+" after "+text) }

func (m *memory) Notify(e loop.Event) {
	switch {
	case e.Notice != "":
		m.told = append(m.told, "notice "+e.Notice)
	case e.Call != nil && e.Call.Result != nil && e.Call.State == run.Completed:
		m.told = append(m.told, fmt.Sprintf("done %s %s%s", e.Call.Call.ID, e.Call.Result.Data, e.Call.Result.Error))
	}
}

// scripted answers each request with the next of its steps and keeps the requests.
type scripted struct {
	steps    []func(emit func(model.Delta)) (model.Response, error)
	requests []model.Request
}

func (s *scripted) Name() string { return "scripted" }
func (s *scripted) Stream(_ context.Context, r model.Request, emit func(model.Delta)) (model.Response, error) {
	s.requests = append(s.requests, r)
	step := s.steps[min(len(s.requests), len(s.steps))-1]
	return step(emit)
}

func says(text string, stop model.StopReason, calls ...model.CallDelta) func(func(model.Delta)) (model.Response, error) {
	return func(emit func(model.Delta)) (model.Response, error) {
		emit(model.Delta{Text: text})
		for i, c := range calls {
			c.Index = i
			emit(model.Delta{Call: &c})
		}
		return model.Response{Stop: stop, Usage: model.Usage{Input: 10, Output: 1, CostUSD: 0.5}}, nil
	}
}

func note(args string) model.CallDelta {
	return model.CallDelta{ID: "n", Name: "note", Arguments: args, Done: true}
}

// newLoop has one tool, note, which answers what it is given.
func newLoop(t *testing.T, m model.Model, c loop.Conversation) *loop.Loop {
	t.Helper()
	type in struct {
		Text string `json:"text" doc:"What to note"`
	}
	set := toolstest.SetOf(tools.Define(tools.Definition[in]{
		Spec:  tools.Spec{Name: "note", Kind: tools.Think, Description: "Notes something."},
		Needs: tools.Always[in](tools.Need{Act: tools.Reads}),
		Plan: func(_ context.Context, _ *tools.Env, in in) (*tools.Plan, error) {
			return &tools.Plan{Run: func(context.Context) (tools.Result, error) {
				return tools.Result{Success: true, Data: "noted " + in.Text}, nil
			}}, nil
		},
	}))
	return &loop.Loop{
		Model: m, Conversation: c, Calls: &run.Budget{}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		System: func() string { return "system" },
		Limits: func() loop.Limits { return loop.Limits{Requests: 5} },
		Host: func() *run.Host {
			return &run.Host{
				Tools: set, Gate: gate.ModeAuto,
				Env: func(c run.Call) *tools.Env {
					return &tools.Env{Call: c.ID, Paths: &sandbox.Paths{}, FileTime: filetime.New(nil, "s", nil), Now: time.Now}
				},
			}
		},
	}
}

func (m *memory) transcript() string {
	var b strings.Builder
	for _, msg := range m.messages {
		fmt.Fprintf(&b, "%s: %s", msg.Role, msg.Text)
		for _, c := range msg.Calls {
			fmt.Fprintf(&b, " [%s %s %s]", c.ID, c.Name, c.Arguments)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestConversationInMemory runs a loop over messages that belong to no session.
func TestConversationInMemory(t *testing.T) {
	mem := &memory{messages: []model.Message{{Role: model.User, Text: "begin"}}}
	m := &scripted{steps: []func(func(model.Delta)) (model.Response, error){
		says("I note.", model.StopCalls, note(`{"text":"a"}`), note(`{"text":"b"}`)),
		says("Done.", model.StopEnd),
		says("Really done.", model.StopEnd),
	}}
	m.steps[1] = func(emit func(model.Delta)) (model.Response, error) {
		mem.later = []string{"one thing more"} // said while the model answers
		return says("Done.", model.StopEnd)(emit)
	}
	stop, err := newLoop(t, m, mem).Run(context.Background())
	if stop != loop.EndTurn || err != nil {
		t.Fatalf("stop %s, %v", stop, err)
	}
	want := "user: begin\n" +
		`assistant: I note. [n#1 note {"text":"a"}] [n#2 note {"text":"b"}]` + "\n" +
		"tool: noted a\ntool: noted b\nassistant: Done.\nuser: one thing more\nassistant: Really done.\n"
	if got := mem.transcript(); got != want {
		t.Errorf("the conversation is\n%s\nand should be\n%s", got, want)
	}
	if n := len(m.requests[2].Messages); n != 7 || m.requests[2].Messages[0].Text != "system" {
		t.Errorf("the last request has %d messages", n)
	}
	if mem.used.Input != 30 {
		t.Errorf("30 tokens were read, and %d are known", mem.used.Input)
	}
}

// TestRefusedRequestIsSentShorter sends a request that was refused for its length again as long as it becomes shorter, unless its answer has
// begun; other errors are the turn's.
func TestRefusedRequestIsSentShorter(t *testing.T) {
	for _, c := range []struct {
		name     string
		fits     int // messages that the model takes
		kind     string
		text     string // that comes before the error
		stop     loop.StopReason
		requests int
	}{
		{"fits", 3, "context_window", "", loop.EndTurn, 1},
		{"once", 2, "context_window", "", loop.EndTurn, 2},
		{"twice", 1, "context_window", "", loop.EndTurn, 3},
		{"never", 0, "context_window", "", loop.Failed, 3},
		{"another error", 0, "overloaded", "", loop.Failed, 1},
		{"in the middle of an answer", 0, "context_window", "Half", loop.Failed, 1},
	} {
		mem := &memory{messages: []model.Message{{Role: model.User, Text: "a"}, {Role: model.Assistant, Text: "b"}, {Role: model.User, Text: "c"}}}
		m := &scripted{}
		m.steps = append(m.steps, func(emit func(model.Delta)) (model.Response, error) {
			sent := m.requests[len(m.requests)-1].Messages
			if sent[0].Text != "system" || sent[len(sent)-1].Text != "c" {
				t.Errorf("%s: sent %+v", c.name, sent)
			}
			if len(sent)-1 <= c.fits {
				return says("Done.", model.StopEnd)(emit)
			}
			if c.text != "" {
				emit(model.Delta{Text: c.text})
			}
			return model.Response{}, &model.Error{Kind: c.kind, Message: "No."}
		})
		if stop, err := newLoop(t, m, mem).Run(t.Context()); stop != c.stop || len(m.requests) != c.requests || (err != nil) != (stop == loop.Failed) {
			t.Errorf("%s: %s after %d requests, %v", c.name, stop, len(m.requests), err)
		}
	}
}

// TestEveryCallHasItsResult cuts the model off within a call, lets it fail, and bounds it.
func TestEveryCallHasItsResult(t *testing.T) {
	open := note(`{"text":`)
	open.Done = false
	begin := func() *memory { return &memory{messages: []model.Message{{Role: model.User, Text: "begin"}}} }
	failing := func(emit func(model.Delta)) (model.Response, error) {
		_, _ = says("", model.StopCalls, note(`{"text":"a"}`), open)(emit)
		return model.Response{}, &model.Error{Kind: "bad_response", Message: "broken"}
	}
	for _, c := range []struct {
		name   string
		step   func(func(model.Delta)) (model.Response, error)
		limits loop.Limits
		stop   loop.StopReason
		tail   string
	}{
		{"the stream breaks", failing, loop.Limits{Requests: 3}, loop.Failed, "[CANCELLED] The call was cut off before it was complete: nothing was done.\n"},
		{"the driver panics", func(func(model.Delta)) (model.Response, error) { panic("boom") }, loop.Limits{Requests: 3}, loop.Failed, "user: begin\n"},
		{"too many requests", says("again", model.StopCalls, note(`{"text":"a"}`)), loop.Limits{Requests: 2}, loop.MaxTurnRequests, "tool: noted a\n"},
		{"too costly", says("again", model.StopCalls, note(`{"text":"a"}`)), loop.Limits{Requests: 9, CostUSD: 1}, loop.BudgetExceeded, "tool: noted a\n"},
		{"refused", says("no", model.StopRefusal), loop.Limits{Requests: 2}, loop.Refusal, "assistant: no\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := begin()
			l := newLoop(t, &scripted{steps: []func(func(model.Delta)) (model.Response, error){c.step}}, mem)
			l.Limits = func() loop.Limits { return c.limits }
			stop, err := l.Run(context.Background())
			if stop != c.stop || (err != nil) != (stop == loop.Failed) {
				t.Errorf("stop %s, %v", stop, err)
			}
			if got := mem.transcript(); !strings.HasSuffix(got, c.tail) {
				t.Errorf("the conversation is\n%s", got)
			}
			calls, results := 0, 0
			for _, m := range mem.messages {
				calls += len(m.Calls)
				if m.Role == model.Tool {
					results++
				}
			}
			if calls != results {
				t.Errorf("%d calls have %d results", calls, results)
			}
		})
	}
}

// A model that reads again what it has, unchanged, is told so in a line, once; and only as long as
// it has it.
func TestR38Unchanged(t *testing.T) {
	const text = "<file path=\"a\" lines=\"1-1\" total=\"1\">\n   1 | x\n</file>"
	again := &tools.Repeat{Head: "<file path=\"a\" ", Lines: "\n   1 | x\n", Instead: "Unchanged."}
	result := tools.Result{Success: true, Data: text}
	answers := []*tools.Repeat{nil, again, again, again, {Head: "<file path=\"b\" ", Lines: again.Lines, Instead: "b"}, {Head: again.Head, Lines: "\n   1 | y\n", Instead: "y"}}
	mem := &memory{messages: []model.Message{{Role: model.User, Text: "begin"}}}
	var steps []func(func(model.Delta)) (model.Response, error)
	for range answers {
		steps = append(steps, says("", model.StopCalls, model.CallDelta{ID: "r", Name: "show", Arguments: "{}", Done: true}))
	}
	l := newLoop(t, &scripted{steps: append(steps, says("end", model.StopEnd))}, mem)
	l.Limits = func() loop.Limits { return loop.Limits{Requests: 20} }
	n := 0
	set := toolstest.SetOf(tools.Define(tools.Definition[struct{}]{
		Spec: tools.Spec{Name: "show", Kind: tools.Think}, Needs: tools.Always[struct{}](tools.Need{Act: tools.Reads}),
		Plan: func(context.Context, *tools.Env, struct{}) (*tools.Plan, error) {
			return &tools.Plan{Run: func(context.Context) (tools.Result, error) {
				r := result
				r.Again = answers[n]
				n++
				return r, nil
			}}, nil
		},
	}))
	host := l.Host
	l.Host = func() *run.Host {
		h := host()
		h.Tools = set
		return h
	}
	if stop, err := l.Run(t.Context()); stop != loop.EndTurn || err != nil {
		t.Fatal(stop, err)
	}
	var got []string
	for _, m := range mem.messages {
		if m.Role == model.Tool {
			got = append(got, strings.ReplaceAll(m.Text, text, "text"))
		}
	}
	if want := []string{"text", "Unchanged.", "text", "Unchanged.", "text", "text"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

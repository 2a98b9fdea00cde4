package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/script"
	"tandem/agent/prompt"
	"tandem/filetime"
	"tandem/filetime/filetimetest"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

// client writes down what it is told and answers every question with answer.
type client struct {
	answer func(context.Context, run.Question) run.Answer

	mu     sync.Mutex
	events []Event
}

func (c *client) Update(_ string, e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
}

func (c *client) Ask(ctx context.Context, _ string, q run.Question) run.Answer {
	if c.answer == nil {
		return run.Answer{Outcome: run.Unavailable}
	}
	return c.answer(ctx, q)
}

func (c *client) Plans() bool { return true }

// transcript is what the client was told, a line for each event.
func (c *client) transcript() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, e := range c.events {
		fmt.Fprintf(&b, "%d %4dms ", e.Turn, e.At.Milliseconds())
		switch {
		case e.Call != nil && e.Call.State == run.Queued && e.Call.Call.Arguments == nil:
			fmt.Fprintf(&b, "%s %s %s writes %s\n", e.Call.Call.ID, e.Call.Tool, e.Call.Kind, e.Partial)
		case e.Call != nil:
			fmt.Fprintf(&b, "%s %s %s %s", e.Call.Call.ID, e.Call.Tool, e.Call.State, e.Call.Phase)
			if e.Call.Progress != nil {
				fmt.Fprintf(&b, " %s", e.Call.Progress.Text)
			}
			if e.Call.State == run.Completed && e.Call.Result.Error != "" {
				fmt.Fprintf(&b, " %s", e.Call.Result.Error)
			}
			b.WriteString("\n")
		case e.Usage != nil:
			fmt.Fprintf(&b, "usage %d %d %d\n", e.Usage.Input, e.Usage.Output, e.Usage.CachedInput)
		case e.Text != "":
			fmt.Fprintf(&b, "text %q\n", e.Text)
		case e.Thought != "":
			fmt.Fprintf(&b, "thought %q\n", e.Thought)
		case e.Notice != "":
			fmt.Fprintf(&b, "notice %s\n", e.Notice)
		case e.Mode != "":
			fmt.Fprintf(&b, "mode %s\n", e.Mode)
		}
	}
	return b.String()
}

func (c *client) told(t *testing.T, line string) {
	t.Helper()
	if got := c.transcript(); !strings.Contains(got, line) {
		t.Errorf("no %q in\n%s", line, got)
	}
}

// fake is a model in Go, on what it calls for every piece.
type fake func(ctx context.Context, r model.Request, on on) (model.Response, error)

type on = func(model.Delta)

func (fake) Name() string { return "fake/m" }

func (f fake) Stream(ctx context.Context, r model.Request, on on) (model.Response, error) {
	return f(ctx, r, on)
}

// opener opens what is in it, by name; "" is "main".
type opener map[string]model.Model

func (o opener) Open(name string) (model.Model, error) {
	if name == "" {
		name = "main"
	}
	if m := o[name]; m != nil {
		return m, nil
	}
	return nil, &model.Error{Kind: "unavailable", Message: "There is no " + name + "."}
}

func (o opener) Names() []string { return []string{"main"} }
func (opener) API(string) string { return "" }

// sized is an opener that knows what its models can read.
type sized struct {
	opener
	tokens int64
}

func (o sized) Window(string) int64 { return o.tokens }

func play(t *testing.T, text string) model.Model {
	t.Helper()
	s, err := script.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return script.New("main", s)
}

// note is the argument of the tools below.
type note struct {
	Text string `json:"text,omitempty" desc:"What to say."`
}

type action func(context.Context, *tools.Env, note) (tools.Result, error)

func tool(name string, kind tools.Kind, together tools.Together, act tools.Act, do action) tools.Tool {
	return tools.Define(tools.Definition[note]{
		Spec:  tools.Spec{Name: name, Kind: kind, Together: together, Description: "Does " + name + ".", InputStreaming: name == "look"},
		Needs: tools.Always[note](tools.Need{Act: act}),
		Plan: func(_ context.Context, env *tools.Env, in note) (*tools.Plan, error) {
			return &tools.Plan{Title: name, Kind: kind, Run: func(ctx context.Context) (tools.Result, error) {
				return do(ctx, env, in)
			}}, nil
		},
	})
}

func saw(in note) tools.Result { return tools.Result{Success: true, Data: "saw " + in.Text} }

// toolbox holds look (answers at once), slow (takes a second, says so after half of it) and put (wants permission).
func toolbox() func() *tools.Set {
	say := func(_ context.Context, _ *tools.Env, in note) (tools.Result, error) { return saw(in), nil }
	slowly := func(ctx context.Context, env *tools.Env, in note) (tools.Result, error) {
		for range 2 {
			select {
			case <-time.After(500 * time.Millisecond):
			case <-ctx.Done():
				return tools.Result{}, ctx.Err()
			}
			env.Person.Progress(tools.Progress{Text: "still at it"})
		}
		return saw(in), nil
	}
	return offering(
		tool("put", tools.Edit, tools.Alone, tools.Edits, say),
		tool("look", tools.Read, tools.WithReads, tools.Reads, say),
		tool("slow", tools.Read, tools.WithReads, tools.Reads, slowly),
	)
}

func offering(list ...tools.Tool) func() *tools.Set {
	set := toolstest.SetOf(list...)
	return func() *tools.Set { return set }
}

// setup is what a session is made with.
type setup struct {
	Options
	Start
	Files filetime.Files
}

func setupOf(c *client, models opener) setup {
	return setup{
		Options: Options{ID: "s1", Cwd: "/home/ann", Tools: toolbox(), Client: c, Now: time.Now},
		Start:   Start{Settings: Settings{Config: config.Default(), Models: models}},
		Files:   filetimetest.New(),
	}
}

func (o setup) session() (*Session, error) {
	o.Workspace = unopened{o.Files}
	return New(o.Options, o.Start)
}

// reconfigure changes the configuration of an open session.
func reconfigure(s *Session, change func(*config.Config)) {
	next := s.settings
	change(&next.Config)
	s.Configure(next)
}

// unopened is a workspace without open documents.
type unopened struct{ filetime.Files }

func (unopened) Unsaved() []string                    { return nil }
func (unopened) Seen(string)                          {}
func (unopened) InPlace(string) bool                  { return false }
func (unopened) Wrote(string, string, time.Time) bool { return false }

func session(t *testing.T, c *client, models opener, change ...func(*setup)) *Session {
	t.Helper()
	o := setupOf(c, models)
	for _, f := range change {
		f(&o)
	}
	s, err := o.session()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func text(s string) Input { return Input{Blocks: []prompt.Block{{Type: "text", Text: s}}} }

// begin gives a turn that is ready to be run.
func begin(t *testing.T, s *Session, in Input) *Turn {
	t.Helper()
	turn, err := s.Begin(in)
	if err == nil {
		err = turn.Open(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func ask(t *testing.T, s *Session, p string) TurnResult {
	t.Helper()
	r, err := s.Prompt(t.Context(), text(p))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// history is a session's conversation, a line for each message and call.
func history(s *Session) string {
	var b strings.Builder
	for _, m := range s.History() {
		fmt.Fprintf(&b, "%s", m.Role)
		if m.CallID != "" {
			fmt.Fprintf(&b, " %s", m.CallID)
		}
		first, _, more := strings.Cut(m.Text, "\n")
		if more {
			first += " …"
		}
		fmt.Fprintf(&b, ": %s\n", first)
		for _, c := range m.Calls {
			fmt.Fprintf(&b, "  %s %s %s\n", c.ID, c.Name, c.Arguments)
		}
	}
	return b.String()
}

func same(t *testing.T, want, got string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimLeft(want, "\n"), got); diff != "" {
		t.Error(diff)
	}
}

func TestF135CallsStartWhileTheModelWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{}
		s := session(t, c, opener{"main": play(t, `think Hm.
say Looking.
call slow {"text": "this"}
wait 200ms
call look {"text": "a"}
wait 2s

say Done.`)})
		if r := ask(t, s, "go"); r.Stop != EndTurn || r.Turn != 1 || r.Err != nil {
			t.Errorf("%+v", r)
		}
		same(t, `
1    0ms thought "Hm."
1    0ms text "Looking."
1    0ms call_1_1 slow read writes 
1    0ms call_1_1 slow queued use
1    0ms call_1_1 slow executing use
1  200ms call_1_2 look read writes 
1  200ms call_1_2 look read writes {"text": "a"}
1  200ms call_1_2 look queued use
1  200ms call_1_2 look executing use
1  200ms call_1_2 look completed result
1  500ms call_1_1 slow executing progress still at it
1 1000ms call_1_1 slow executing progress still at it
1 1000ms call_1_1 slow completed result
1 1000ms call_1_1 slow yielded result
1 1000ms call_1_2 look yielded result
1 2200ms text "Done."
`, c.transcript())
		same(t, `
user: go
assistant: Looking.
  call_1_1 slow {"text": "this"}
  call_1_2 look {"text": "a"}
tool call_1_1: saw this
tool call_1_2: saw a
assistant: Done.
`, history(s))
	})
}

// The arguments of a tool that takes them piece by piece are told so; of another tool the client is told that it is called.
func TestF015PartialInput(t *testing.T) {
	c := &client{}
	s := session(t, c, opener{"main": play(t, "call look {\"text\": \"a long text in pieces\"}\ncall slow {\"text\": \"another text in pieces\"}")})
	ask(t, s, "go")
	c.told(t, `call_1_1 look read writes {"text": "a long`+"\n")
	c.told(t, `call_1_1 look read writes {"text": "a long text in pieces"}`+"\n")
	c.told(t, "call_1_2 slow read writes \n")
	if got := c.transcript(); strings.Count(got, "slow read writes") != 1 {
		t.Error(got)
	}
}

func TestFailedCallsAreToldWithTheirCode(t *testing.T) {
	c := &client{answer: func(context.Context, run.Question) run.Answer { return run.Answer{Outcome: run.Rejected} }}
	m := fake(func(_ context.Context, r model.Request, on on) (model.Response, error) {
		if r.Messages[len(r.Messages)-1].Role == model.Tool {
			on(model.Delta{Text: "Well."})
			return model.Response{Stop: model.StopEnd, Usage: model.Usage{Input: 7, Output: 3, CachedInput: 5}}, nil
		}
		for i, call := range []model.CallDelta{
			{ID: "a", Name: "look", Arguments: `{"text": `},
			{ID: "b", Name: "nothing", Arguments: `{}`},
			{ID: "c", Name: "put", Arguments: `{}`},
			{ID: "d", Name: "look", Arguments: "\n"},
			{Name: "look", Arguments: `[]`},
		} {
			call.Index = i
			on(model.Delta{Call: &call})
			on(model.Delta{Call: &model.CallDelta{Index: i, Done: true}})
		}
		return model.Response{Stop: model.StopCalls, Usage: model.Usage{Input: 10, Output: 20}}, nil
	})
	s := session(t, c, opener{"main": m})
	r := ask(t, s, "go")
	if want := (model.Usage{Input: 17, Output: 23, CachedInput: 5}); r.Stop != EndTurn || r.Usage != want {
		t.Errorf("%+v", r)
	}
	got := history(s)
	for _, want := range []string{
		"  a look {\"text\": \n", "tool a: [INVALID_ARGS] ",
		"tool b: [TOOL_NOT_FOUND] ",
		"tool c: [GATE_DENIED] Permission denied",
		"tool d: saw \n",
		"  call_4 look []\n", "tool call_4: [INVALID_ARGS] ",
		"assistant: Well.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	c.told(t, "usage 10 20 0\n")
	c.told(t, "usage 17 23 5\n")
}

func TestCallsDoneOutOfOrder(t *testing.T) {
	asked := false
	m := fake(func(_ context.Context, _ model.Request, on on) (model.Response, error) {
		if asked {
			return model.Response{Stop: model.StopEnd}, nil
		}
		asked = true
		on(model.Delta{Call: &model.CallDelta{Index: 0, ID: "x", Name: "look", Arguments: `{"text":`}})
		on(model.Delta{Call: &model.CallDelta{Index: 1, ID: "x", Name: "look", Arguments: `{"text":"second"}`}})
		on(model.Delta{Call: &model.CallDelta{Index: 1, Done: true}})
		on(model.Delta{Call: &model.CallDelta{Index: 1, Arguments: "late"}})
		on(model.Delta{Call: &model.CallDelta{Index: 1, Done: true}})
		on(model.Delta{Call: &model.CallDelta{Index: 0, Arguments: `"first"}`}})
		on(model.Delta{Call: &model.CallDelta{Index: 0, Done: true}})
		return model.Response{Stop: model.StopCalls}, nil
	})
	s := session(t, &client{}, opener{"main": m})
	ask(t, s, "go")
	same(t, `
user: go
assistant: 
  x look {"text":"first"}
  x_1 look {"text":"second"}
tool x: saw first
tool x_1: saw second
assistant: (The turn ended: end_turn.)
`, history(s))
}

func TestCancelWhileTheModelWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{}
		unfinished := fake(func(ctx context.Context, _ model.Request, on on) (model.Response, error) {
			on(model.Delta{Text: "Half an "})
			on(model.Delta{Call: &model.CallDelta{ID: "a", Name: "look", Arguments: `{"te`}})
			<-ctx.Done()
			on(model.Delta{Call: &model.CallDelta{Index: 1, ID: "b", Name: "put", Arguments: "{}"}})
			on(model.Delta{Call: &model.CallDelta{Index: 1, Done: true}})
			return model.Response{}, ctx.Err()
		})
		s := session(t, c, opener{"main": unfinished})
		time.AfterFunc(3*time.Second, s.Cancel)
		began := time.Now()
		if r := ask(t, s, "go"); r.Stop != Cancelled || r.Err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("%+v after %s", r, time.Since(began))
		}
		same(t, `
user: go
assistant: Half an 
  a look {"te
  b put {}
tool a: [CANCELLED] The call was cut off before it was complete: nothing was done.
tool b: [CANCELLED] The call was cut off before it was complete: nothing was done.
assistant: (The turn ended: cancelled.)
`, history(s))
		c.told(t, "a look completed error CANCELLED\n1 3000ms a look yielded error\n")
	})
}

func TestCancelWhileAToolRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session(t, &client{}, opener{"main": play(t, "call slow {}\ncall put {}\n\nsay Never mind.")})
		ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
		defer cancel()
		began := time.Now()
		r, err := s.Prompt(ctx, text("go"))
		if err != nil || r.Stop != Cancelled || time.Since(began) != 700*time.Millisecond {
			t.Errorf("%+v after %s (%v)", r, time.Since(began), err)
		}
		got := history(s)
		if strings.Count(got, "\ntool ") != 2 || strings.Count(got, ": [CANCELLED] ") != 2 {
			t.Error(got)
		}
		if r := ask(t, s, "again"); r.Stop != EndTurn || r.Turn != 2 {
			t.Errorf("not usable afterwards: %+v", r)
		}
	})
}

func TestPermission(t *testing.T) {
	for _, c := range []struct {
		name   string
		mode   gate.Mode
		answer run.Answer
		stop   StopReason
		told   string
	}{
		{"allowed", gate.ModeAsk, run.Answer{Outcome: run.Allowed}, EndTurn, "tool call_1_1: saw it"},
		{"rejected", gate.ModeAsk, run.Answer{Outcome: run.Rejected}, EndTurn, "tool call_1_1: [GATE_DENIED] Permission denied: the user denied"},
		{"nobody there", gate.ModeAsk, run.Answer{Outcome: run.Unavailable}, EndTurn, "tool call_1_1: [GATE_DENIED]"},
		{"cancelled", gate.ModeAsk, run.Answer{Outcome: run.Cancelled}, Cancelled, "tool call_1_1: [CANCELLED]"},
		{"not asked", gate.ModeAuto, run.Answer{Outcome: run.Cancelled}, EndTurn, "tool call_1_1: saw it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				cl := &client{answer: func(context.Context, run.Question) run.Answer {
					asked++
					time.Sleep(time.Second)
					return c.answer
				}}
				// The model goes on writing for a minute: an answer that ends the turn must not wait for it.
				s := session(t, cl, opener{"main": play(t, "call put {\"text\": \"it\"}\nwait 1m\n\nsay Done.")},
					func(o *setup) { o.Mode = c.mode })
				began := time.Now()
				r := ask(t, s, "go")
				if r.Stop != c.stop || (asked == 1) != (c.mode == gate.ModeAsk) {
					t.Errorf("%+v, asked %d times", r, asked)
				}
				if took := time.Since(began); c.stop == Cancelled && took != time.Second {
					t.Errorf("it took %s", took)
				}
				if got := history(s); !strings.Contains(got, c.told) {
					t.Error(got)
				}
			})
		})
	}
}

func TestCancelWhileAPersonIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session(t, &client{answer: func(ctx context.Context, _ run.Question) run.Answer {
			<-ctx.Done()
			return run.Answer{Outcome: run.Rejected}
		}}, opener{"main": play(t, "call put {}")})
		time.AfterFunc(time.Minute, s.Cancel)
		began := time.Now()
		if r := ask(t, s, "go"); r.Stop != Cancelled || time.Since(began) != time.Minute {
			t.Errorf("%+v after %s", r, time.Since(began))
		}
		if got := history(s); !strings.Contains(got, "tool call_1_1: [CANCELLED]") {
			t.Error(got)
		}
	})
}

func TestModelFailsInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{}
		s := session(t, c, opener{"main": play(t, "say Let me\ncall slow {}\nstop error\n\nsay Better.")})
		r := ask(t, s, "go")
		var e *model.Error
		if r.Stop != Failed || !errors.As(r.Err, &e) || e.Kind != "cut" {
			t.Errorf("%+v", r)
		}
		c.told(t, "1 1000ms notice The answer broke off, as line 3 of the script says.\n")
		if r := ask(t, s, "again"); r.Stop != EndTurn {
			t.Errorf("%+v", r)
		}
		same(t, `
user: go
assistant: Let me
  call_1_1 slow {}
tool call_1_1: saw 
assistant: (The turn ended: error.)
user: again
assistant: Better.
`, history(s))
	})
}

func TestModelDriverPanics(t *testing.T) {
	boom := fake(func(context.Context, model.Request, on) (model.Response, error) { panic("boom") })
	s := session(t, &client{}, opener{"main": boom})
	if r := ask(t, s, "go"); r.Stop != Failed || !strings.Contains(r.Err.Error(), "The driver of fake/m failed: boom.") {
		t.Errorf("%+v", r)
	}
}

func TestStopReasons(t *testing.T) {
	for text, want := range map[string]StopReason{
		"say a":                             EndTurn,
		"say a\nstop max_tokens":            MaxTokens,
		"say a\nstop refusal":               Refusal,
		"call look {}\nstop end_turn":       EndTurn,
		"call look {}\n\ncall look {}\n\n.": MaxTurnRequests,
	} {
		c := &client{}
		text = strings.TrimSuffix(text, "\n\n.")
		s := session(t, c, opener{"main": play(t, text)}, func(o *setup) { o.Config.Budget.MaxTurnRequests = 2 })
		if r := ask(t, s, "go"); r.Stop != want {
			t.Errorf("%q: %+v", text, r)
		}
		if want == MaxTurnRequests {
			c.told(t, "notice The turn stopped after 2 requests to the model (budget.maxTurnRequests).\n")
		}
	}
}

func TestLimitOfTokensIsExplained(t *testing.T) {
	c := &client{}
	m := fake(func(_ context.Context, _ model.Request, on on) (model.Response, error) {
		on(model.Delta{Notice: "Trying again."})
		on(model.Delta{Call: &model.CallDelta{ID: "a", Name: "look", Arguments: `{"text": "`}})
		return model.Response{Stop: model.StopMaxTokens, Detail: "Too long."}, nil
	})
	s := session(t, c, opener{"main": m})
	if r := ask(t, s, "go"); r.Stop != MaxTokens {
		t.Errorf("%+v", r)
	}
	c.told(t, "notice Trying again.\n")
	c.told(t, "a look yielded error\n")
	c.told(t, "notice Too long.\n")
	if got := history(s); !strings.Contains(got, "tool a: [CANCELLED] The call was cut off") {
		t.Error(got)
	}
}

func TestRefusedBeforeAnythingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		models := opener{"main": play(t, "wait 1s\nsay done")}
		s := session(t, &client{}, models)
		var e *model.Error
		if _, err := s.Prompt(t.Context(), text(" \n")); !errors.Is(err, ErrEmpty) {
			t.Error(err)
		}
		if _, err := s.Prompt(t.Context(), Input{Blocks: text("x").Blocks, Model: "none/m"}); !errors.As(err, &e) || e.Kind != "unavailable" {
			t.Error(err)
		}
		if err := s.SetModel("none/m"); !errors.As(err, &e) || s.Model() != "main" {
			t.Error(err)
		}
		var me *ModeError
		if err := s.SetMode("yolo"); !errors.As(err, &me) || s.Mode() != gate.ModeAsk {
			t.Error(err)
		}
		at := Start{Settings: s.settings, Mode: "yolo"}
		if _, err := New(s.o, at); !errors.As(err, &me) {
			t.Error(err)
		}
		at.Mode, at.Model = "", "none/m"
		if _, err := New(s.o, at); !errors.As(err, &e) {
			t.Error(err)
		}
		if s.History() != nil {
			t.Error(history(s))
		}

		turn, err := s.Begin(text("one"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Prompt(t.Context(), text("two")); !errors.Is(err, ErrBusy) {
			t.Error(err)
		}
		s.Cancel() // as it may overtake a turn that has not come to run
		if err := turn.Open(t.Context()); err != nil {
			t.Error(err)
		}
		if r := turn.Run(t.Context()); r.Stop != Cancelled || r.Turn != 1 {
			t.Errorf("%+v", r)
		}
		s.Cancel() // of nothing
		if r := ask(t, s, "three"); r.Stop != EndTurn || r.Turn != 2 {
			t.Errorf("%+v", r)
		}
		s.Close()
		if _, err := s.Prompt(t.Context(), text("four")); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if _, _, err := s.CallTools(t.Context(), nil, CallOptions{}); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

func TestCloseEndsWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session(t, &client{}, opener{"main": play(t, "wait 1h")})
		stop := make(chan StopReason, 1)
		turn := begin(t, s, text("go"))
		go func() { stop <- turn.Run(t.Context()).Stop }()
		synctest.Wait()
		s.Close()
		if got := <-stop; got != Cancelled {
			t.Error(got)
		}
	})
}

func TestF268ModelOfOnePrompt(t *testing.T) {
	s := session(t, &client{}, opener{"main": play(t, "say one\n\nsay two"), "fake/m": fake(
		func(_ context.Context, r model.Request, on on) (model.Response, error) {
			on(model.Delta{Text: fmt.Sprintf("%d messages", len(r.Messages))})
			return model.Response{Stop: model.StopEnd}, nil
		})})
	ask(t, s, "a")
	if _, err := s.Prompt(t.Context(), Input{Blocks: text("b").Blocks, Model: "fake/m"}); err != nil {
		t.Fatal(err)
	}
	ask(t, s, "c")
	same(t, "user: a\nassistant: one\nuser: b\nassistant: 4 messages\nuser: c\nassistant: two\n", history(s))
}

func TestF026RequestsBeginAlike(t *testing.T) {
	var heads []string
	m := fake(func(_ context.Context, r model.Request, on on) (model.Response, error) {
		head, err := json.Marshal([]any{r.Messages[0], r.Tools})
		if err != nil {
			return model.Response{}, err
		}
		heads = append(heads, string(head))
		if len(heads) == 1 {
			on(model.Delta{Call: &model.CallDelta{ID: "a", Name: "look"}})
			on(model.Delta{Call: &model.CallDelta{Done: true}})
			return model.Response{Stop: model.StopCalls}, nil
		}
		return model.Response{Stop: model.StopEnd}, nil
	})
	s := session(t, &client{}, opener{"main": m})
	ask(t, s, "go")
	ask(t, s, "go")
	if len(heads) != 3 || heads[0] != heads[1] || heads[1] != heads[2] {
		t.Errorf("%q", heads)
	}
	look, put := strings.Index(heads[0], `"name":"look"`), strings.Index(heads[0], `"name":"put"`)
	if look < 0 || put < look {
		t.Error("the tools are not in the order of their names")
	}
	if !strings.Contains(heads[0], "Workspace: /home/ann\\n") {
		t.Error(heads[0])
	}
}

func TestCallTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{}
		s := session(t, c, opener{"main": play(t, "wait 1h")})
		turn := begin(t, s, text("go"))
		go turn.Run(t.Context())
		results, batches, err := s.CallTools(t.Context(), []run.Call{
			{ID: "a", Name: "slow"}, {Name: "look", Arguments: json.RawMessage(`{"text": "b"}`)}, {ID: "c", Name: "put"},
		}, CallOptions{Trace: true})
		if err != nil || len(results) != 3 {
			t.Fatal(err, results)
		}
		if results[0].Call != "a" || results[1].Call != "call_1" || results[1].Data != "saw b" ||
			results[2].Error != tools.GateDenied {
			t.Errorf("%+v", results)
		}
		if len(results[1].Meta.Trace) == 0 || fmt.Sprint(batches) != "[[0 1] [2]]" {
			t.Errorf("%+v %v", results[1].Meta, batches)
		}
		c.told(t, "0 1000ms a slow completed result\n")

		var e *CallIDError
		for _, ids := range [][]string{{"a"}, {"d", "call_1"}, {"d", "d"}} {
			var calls []run.Call
			for _, id := range ids {
				calls = append(calls, run.Call{ID: id, Name: "look"})
			}
			if _, _, err := s.CallTools(t.Context(), calls, CallOptions{}); !errors.As(err, &e) || e.ID != ids[len(ids)-1] {
				t.Errorf("%v: %v", ids, err)
			}
		}
		two := []run.Call{{ID: "d", Name: "look"}, {Name: "put"}}
		results, batches, err = s.CallTools(t.Context(), two, CallOptions{DryRun: true})
		if err != nil || results != nil || fmt.Sprint(batches) != "[[0] [1]]" {
			t.Error(err, results, batches)
		}
		s.Cancel()
		if _, _, err := s.CallTools(t.Context(), []run.Call{{ID: "e", Name: "look"}}, CallOptions{}); err != nil {
			t.Error("a cancelled turn is no matter of other calls:", err)
		}
	})
}

func TestModeAndConfigurationChange(t *testing.T) {
	c := &client{}
	s := session(t, c, opener{"main": play(t, "call put {}\n\nsay a\n\ncall put {}\n\nsay b")})
	ask(t, s, "go")
	if err := s.SetMode(gate.ModeAuto); err != nil {
		t.Fatal(err)
	}
	ask(t, s, "go")
	if got := history(s); !strings.Contains(got, "call_1_1: [GATE_DENIED]") || !strings.Contains(got, "call_3_1: saw") {
		t.Error(got)
	}
	c.told(t, "mode auto\n")
	conf := config.Default()
	conf.Limits.MaxToolOutputChars, conf.Limits.KillGraceMs, conf.RequireRead = 1234, 5, false
	conf.WriteRoots, conf.ReadRoots, conf.StrictPaths = []string{"src", "/else"}, []string{"/mod"}, true
	s.Configure(Settings{Config: conf, Models: s.models.opener})
	env := s.env(1, run.Call{ID: "x"}, s.Tools)
	if env.Limits.MaxToolOutputChars != 1234 || env.Limits.KillGrace != 5*time.Millisecond || env.RequireRead {
		t.Errorf("%+v", env)
	}
	if p := env.Paths; !p.Strict || p.Unrestricted || fmt.Sprint(p.Write, p.Read) != "[/home/ann/src /else] [/home/ann /mod]" {
		t.Errorf("%v %v %v", p.Strict, p.Write, p.Read)
	}
	conf.WriteRoots = []string{}
	if s.Configure(Settings{Config: conf, Models: s.models.opener}); !s.env(1, run.Call{}, s.Tools).Paths.Unrestricted {
		t.Error("an empty list is no limit")
	}
}

func TestTwentySessionsAtOnce(t *testing.T) {
	r := toolbox()
	files := filetimetest.New()
	c := &client{answer: func(context.Context, run.Question) run.Answer { return run.Answer{Outcome: run.Allowed} }}
	var wg sync.WaitGroup
	for i := range 20 {
		s := session(t, c, opener{"main": play(t, strings.Repeat(
			"say Working.\ncall look {\"text\": \"1\"}\ncall look {\"text\": \"2\"}\ncall put {\"text\": \"3\"}\n\n", 10)+"say Done.")},
			func(o *setup) { o.ID, o.Tools, o.Files = fmt.Sprint(i), r, files })
		wg.Go(func() {
			res, err := s.Prompt(context.Background(), text("go"))
			if err != nil || res.Stop != EndTurn {
				t.Error(err, res)
			}
			h := s.History()
			if len(h) != 1+10*4+1 {
				t.Errorf("%d messages", len(h))
			}
			for i, m := range h {
				if m.Role == model.Tool && m.Text != fmt.Sprintf("saw %d", (i-2)%4+1) {
					t.Errorf("message %d is %q", i, m.Text)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkTurn is a turn of one call, with a model that takes no time.
func BenchmarkTurn(b *testing.B) {
	m := fake(func(_ context.Context, r model.Request, on on) (model.Response, error) {
		if r.Messages[len(r.Messages)-1].Role == model.Tool {
			return model.Response{Stop: model.StopEnd}, nil
		}
		on(model.Delta{Call: &model.CallDelta{Name: "look", Arguments: "{}"}})
		on(model.Delta{Call: &model.CallDelta{Done: true}})
		return model.Response{Stop: model.StopCalls}, nil
	})
	set := offering(tool("look", tools.Read, tools.WithReads, tools.Reads,
		func(context.Context, *tools.Env, note) (tools.Result, error) {
			return tools.Result{Success: true, Data: "x"}, nil
		}))
	for b.Loop() {
		o := setupOf(&client{}, opener{"main": m})
		o.Tools = set
		s, err := o.session()
		if err != nil {
			b.Fatal(err)
		}
		if r, err := s.Prompt(b.Context(), text("go")); err != nil || r.Stop != EndTurn {
			b.Fatal(err, r)
		}
	}
}

package lspserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/lspserver"
	"tandem/lspserver/backend"
	"tandem/lspserver/wire/wiretest"
	"tandem/tools"
)

// models is an opener of models that are Go functions, by name.
type models map[string]func(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error)

type goModel struct {
	name string
	fn   func(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error)
}

func (m goModel) Name() string { return m.name }

func (m goModel) Stream(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
	return m.fn(ctx, r, on)
}

func (m models) Open(name string) (model.Model, error) {
	if fn := m[name]; fn != nil {
		return goModel{name, fn}, nil
	}
	return nil, &model.Error{Kind: "unavailable", Message: "There is no " + name + "."}
}

func (m models) Names() []string { return nil }
func (models) API(string) string { return "" }

func ended() (model.Response, error) { return model.Response{Stop: model.StopEnd}, nil }

// line is a client in a bubble that reads when it is let.
type line struct {
	t    *testing.T
	in   io.ReadWriteCloser
	exit chan int
	next int

	mu      sync.Mutex
	may     sync.Cond // stopped is false
	stopped bool
	got     map[string]json.RawMessage // answers by id
	heard   func(method string, params json.RawMessage)
}

func newLine(t *testing.T, o lspserver.Options) *line {
	return newLineOf(t, o, `{"experimental":{"tandem":{}}}`)
}

// newLineOf is newLine with what the client says of itself.
func newLineOf(t *testing.T, o lspserver.Options, capabilities string) *line {
	ours, theirs := wiretest.Pipes()
	l := &line{t: t, in: ours, exit: make(chan int, 1), got: map[string]json.RawMessage{}}
	l.may.L = &l.mu
	go func() { l.exit <- lspserver.Serve(t.Context(), theirs, o) }()
	go func() {
		for r := bufio.NewReader(ours); ; {
			body, err := readFrame(r)
			if err != nil {
				return
			}
			var m struct {
				ID             json.RawMessage
				Method         string
				Params, Result json.RawMessage
				Error          json.RawMessage
			}
			if err := json.Unmarshal([]byte(body), &m); err != nil {
				t.Error(err)
			}
			l.mu.Lock()
			for l.stopped {
				l.may.Wait()
			}
			if m.Method == "" {
				l.got[string(m.ID)] = append(m.Result, m.Error...)
			} else if l.heard != nil {
				l.heard(m.Method, m.Params)
			}
			l.mu.Unlock()
		}
	}()
	l.ask("initialize", fmt.Sprintf(`{"processId":null,"capabilities":%s}`, capabilities))
	l.say("initialized", "{}")
	synctest.Wait()
	return l
}

func (l *line) stop(stopped bool) {
	l.mu.Lock()
	l.stopped = stopped
	l.mu.Unlock()
	l.may.Broadcast()
}

// begin sends a request and gives its id.
func (l *line) begin(method, params string) string {
	l.next++
	id := fmt.Sprint(l.next)
	if _, err := io.WriteString(l.in, request(id, method, params)); err != nil {
		l.t.Error(method, err)
	}
	return id
}

func (l *line) answer(id string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.got[id])
}

// ask sends a request and gives its answer once everything is still.
func (l *line) ask(method, params string) string {
	id := l.begin(method, params)
	synctest.Wait()
	return l.answer(id)
}

func (l *line) say(method, params string) {
	if _, err := io.WriteString(l.in, frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))); err != nil {
		l.t.Error(method, err)
	}
}

// session makes one with a model.
func (l *line) session(name, cwd string) string {
	var s struct{ SessionID string }
	if err := json.Unmarshal([]byte(l.ask("tandem/session/new", fmt.Sprintf(`{"model":%q,"cwd":%q}`, name, cwd))), &s); err != nil {
		l.t.Fatal(err)
	}
	return s.SessionID
}

func (l *line) prompt(session string) string {
	return l.begin("tandem/session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}`, session))
}

func (l *line) end() {
	l.ask("shutdown", "null")
	l.say("exit", "null")
	if code := <-l.exit; code != 0 {
		l.t.Errorf("exit code %d", code)
	}
}

// A client stops reading for five seconds while a model writes 7 MB, nearly the largest answer. The turn does not wait for
// it, unread output takes little more memory than its own size, and the client gets every byte in the end, in at most 30
// updates a second.
func TestSlowClient(t *testing.T) {
	size, piece := 720*10<<10, 10<<10
	if wiretest.Raced() {
		size >>= 3
	}
	dir := folder(t)
	wiretest.Bubble(t, func(t *testing.T) {
		var others atomic.Int32
		before := live()
		m := models{
			"talker": func(ctx context.Context, _ model.Request, on func(model.Delta)) (model.Response, error) {
				for n := 0; n < size; n += piece {
					text := fmt.Sprintf("%08d", n)
					on(model.Delta{Text: text + strings.Repeat("x", piece-len(text))})
					time.Sleep(7 * time.Millisecond)
				}
				return ended()
			},
			"other": func(_ context.Context, _ model.Request, on func(model.Delta)) (model.Response, error) {
				others.Add(1)
				on(model.Delta{Text: "Hello."})
				return ended()
			},
		}
		var log strings.Builder
		l := newLine(t, lspserver.Options{Options: backend.Options{
			Opener: func(config.Config, model.Lend) model.Opener { return m }, Log: slog.New(slog.NewTextHandler(&log, nil)),
		}})
		said, updates := 0, 0
		talker, other := l.session("talker", dir), l.session("other", dir)
		l.heard = func(_ string, params json.RawMessage) {
			var u update
			var c struct{ Text string }
			if json.Unmarshal(params, &u) != nil || json.Unmarshal(u.Update.Content, &c) != nil || u.SessionID != talker {
				return
			}
			updates++
			for text := c.Text; text != ""; text = text[piece:] {
				if !strings.HasPrefix(text, fmt.Sprintf("%08d", said)) {
					t.Fatalf("after %d bytes came %.20q", said, text)
				}
				said += piece
			}
		}
		id := l.prompt(talker)
		began := time.Now()
		l.stop(true)
		turns := []string{}
		for range 10 {
			turns = append(turns, l.prompt(other))
			time.Sleep(500 * time.Millisecond)
			if int(others.Load()) != len(turns) {
				t.Fatalf("%d turns of the other session came to their end behind a client that does not read", others.Load())
			}
		}
		held := (int64(live()) - int64(before)) >> 20 // below 0 where garbage of another test was collected meanwhile
		l.stop(false)
		for l.answer(id) == "" {
			time.Sleep(100 * time.Millisecond)
		}
		seconds := time.Since(began).Seconds()
		if said != size {
			t.Errorf("%d bytes came", said)
		}
		for _, turn := range turns {
			if got := l.answer(turn); !strings.Contains(got, "end_turn") {
				t.Errorf("the other session: %s", got)
			}
		}
		if float64(updates) > 30*seconds+1 {
			t.Errorf("%d updates in %.1f seconds", updates, seconds)
		}
		if held > int64(3*size>>20) && !wiretest.Raced() { // the model's answer, what waits, and as much again for a slice that grows
			t.Errorf("%d MB were held", held)
		}
		t.Logf("%d updates in %.1f seconds; %d MB held", updates, seconds, held)
		l.end()
	})
}

// While a client does not read, a call that runs through its states is one update, with all that each of them says.
func TestSlowClientIsToldOfTheLastState(t *testing.T) {
	dir := folder(t)
	wiretest.Bubble(t, func(t *testing.T) {
		print := tools.Define(tools.Definition[struct{}]{
			Spec:  tools.Spec{Name: "print", Kind: tools.Read, Description: "Prints."},
			Needs: tools.Always[struct{}](tools.Need{Act: tools.Reads}),
			Plan: func(_ context.Context, env *tools.Env, _ struct{}) (*tools.Plan, error) {
				return &tools.Plan{Title: "print", Kind: tools.Read, Run: func(context.Context) (tools.Result, error) {
					for range 1000 {
						env.Person.Progress(tools.Progress{Text: strings.Repeat("y", 1000)})
					}
					env.Person.Progress(tools.Progress{Text: "the end"})
					return tools.Result{Success: true, Data: "printed", Summary: "Printed."}, nil
				}}, nil
			},
		})
		asked := 0
		m := models{"m": func(_ context.Context, _ model.Request, on func(model.Delta)) (model.Response, error) {
			if asked++; asked > 1 {
				return ended()
			}
			for _, n := range []int{1 << 20, 6 << 20} { // the client takes the first
				on(model.Delta{Text: strings.Repeat("x", n)})
			}
			on(model.Delta{Call: &model.CallDelta{ID: "c", Name: "print", Arguments: "{}", Done: true}})
			return model.Response{Stop: model.StopCalls}, nil
		}}
		l := newLine(t, lspserver.Options{Options: backend.Options{
			Opener: func(config.Config, model.Lend) model.Opener { return m }, Tools: []tools.Tool{print},
		}})
		var told []string
		l.heard = func(_ string, params json.RawMessage) {
			if strings.Contains(string(params), `"toolCallId"`) {
				told = append(told, string(params))
			}
		}
		s := l.session("m", dir)
		l.stop(true)
		id := l.prompt(s)
		time.Sleep(time.Second)
		l.stop(false)
		time.Sleep(time.Second)
		if !strings.Contains(l.answer(id), "end_turn") {
			t.Error(l.answer(id))
		}
		if len(told) != 1 {
			t.Fatalf("told %d times of the call: %.2000q", len(told), told)
		}
		for _, want := range []string{
			`"sessionUpdate":"tool_call"`, `"status":"completed"`, `"state":"yielded"`, `"rawInput":{}`, `"text":"printed"`,
			`"summary":"Printed."`, `ythe end"`, " bytes]",
		} {
			if !strings.Contains(told[0], want) {
				t.Errorf("no %s in %.300s … %s", want, told[0], told[0][max(0, len(told[0])-800):])
			}
		}
		if len(told[0]) > 300<<10 {
			t.Errorf("%d bytes", len(told[0]))
		}
		l.end()
	})
}

// A question about a call follows the updates of the call, also when updates are queued for a client that does not
// read.
func TestSlowClientKnowsWhatItIsAskedAbout(t *testing.T) {
	dir := folder(t)
	for question, tool := range map[string]tools.Tool{
		"tandem/session/requestPermission": simple("put", tools.Edit, func(_ context.Context, env *tools.Env) (tools.Result, error) {
			return tools.Result{Success: true, Data: "put"}, nil
		}),
		"tandem/session/clarify": simple("ask", tools.Read, func(ctx context.Context, env *tools.Env) (tools.Result, error) {
			answer, err := env.Person.Clarify(ctx, tools.Clarification{Call: env.Call, Question: "Which?"})
			return tools.Result{Success: true, Data: answer}, err
		}),
	} {
		t.Run(question, func(t *testing.T) {
			wiretest.Bubble(t, func(t *testing.T) {
				m := models{"m": func(_ context.Context, _ model.Request, on func(model.Delta)) (model.Response, error) {
					for _, n := range []int{1 << 20, 6 << 20} { // the client takes the first
						on(model.Delta{Text: strings.Repeat("x", n)})
					}
					on(model.Delta{Call: &model.CallDelta{ID: "c", Name: tool.Spec().Name, Arguments: "{}"}})
					on(model.Delta{Call: &model.CallDelta{Done: true}})
					return model.Response{Stop: model.StopCalls}, nil
				}}
				l := newLineOf(t, lspserver.Options{Options: backend.Options{Opener: opened(m), Tools: []tools.Tool{tool}}},
					`{"experimental":{"tandem":{"permission":true,"clarify":true}}}`)
				var told []string
				l.heard = func(method string, params json.RawMessage) {
					if strings.Contains(string(params), `"toolCallId":"c"`) {
						told = append(told, method)
					}
				}
				s := l.session("m", dir)
				l.stop(true)
				id := l.prompt(s)
				synctest.Wait()
				time.Sleep(time.Second)
				l.stop(false)
				time.Sleep(time.Second)
				synctest.Wait()
				if len(told) < 2 || told[0] != "tandem/session/update" || !slices.Contains(told[1:], question) {
					t.Errorf("told of the call by %q", told)
				}
				l.say("tandem/session/cancel", fmt.Sprintf(`{"sessionId":%q}`, s))
				time.Sleep(time.Second)
				if got := l.answer(id); !strings.Contains(got, `"cancelled"`) {
					t.Error(got)
				}
				l.end()
			})
		})
	}
}

// simple is a tool without arguments.
func simple(name string, kind tools.Kind, do func(context.Context, *tools.Env) (tools.Result, error)) tools.Tool {
	act := tools.Reads
	if kind == tools.Edit {
		act = tools.Edits
	}
	return tools.Define(tools.Definition[struct{}]{
		Spec:  tools.Spec{Name: name, Kind: kind, Description: "Does " + name + "."},
		Needs: tools.Always[struct{}](tools.Need{Act: act}),
		Plan: func(_ context.Context, env *tools.Env, _ struct{}) (*tools.Plan, error) {
			return &tools.Plan{Title: name, Kind: kind, Run: func(ctx context.Context) (tools.Result, error) {
				return do(ctx, env)
			}}, nil
		},
	})
}

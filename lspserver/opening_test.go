package lspserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent/agenttest"
	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/lspserver"
	"tandem/lspserver/backend"
	"tandem/lspserver/conformance"
	"tandem/lspserver/wire/wiretest"
	"tandem/tools"
)

// slowOpener takes until gate says how it went, for the model "slow".
type slowOpener struct {
	models
	gate chan error
}

func (o slowOpener) Open(name string) (model.Model, error) {
	if name == "slow" {
		if err := <-o.gate; err != nil {
			return nil, err
		}
	}
	return o.models.Open(name)
}

func talks(_ context.Context, _ model.Request, on func(model.Delta)) (model.Response, error) {
	on(model.Delta{Text: "Hello."})
	return ended()
}

func opened(o model.Opener) func(config.Config, model.Lend) model.Opener {
	return func(config.Config, model.Lend) model.Opener { return o }
}

// A model takes as long as it likes to be opened, as where a command has to find its key: everything else is answered
// meanwhile, the session is taken, and a cancel ends it at once.
func TestOpeningAModelHoldsNothingUp(t *testing.T) {
	dir := folder(t)
	wiretest.Bubble(t, func(t *testing.T) {
		o := slowOpener{models{"quick": talks}, make(chan error)}
		var asked []string
		o.models["slow"] = func(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
			for _, m := range r.Messages[1:] {
				asked = append(asked, fmt.Sprintf("%s: %s", m.Role, m.Text))
			}
			time.Sleep(time.Second)
			return talks(ctx, r, on)
		}
		st := agenttest.Store(t)
		l := newLine(t, lspserver.Options{Options: backend.Options{
			Opener: opened(o), Store: func(config.Config) (store.Store, error) { return st, nil },
		}})
		s := l.session("quick", dir)
		prompt := func(text string) string {
			id := l.begin("tandem/session/prompt", fmt.Sprintf(`{"sessionId":%q,"model":"slow","prompt":[{"type":"text","text":%q}]}`, s, text))
			synctest.Wait()
			return id
		}
		steer := func(text string) string {
			id := l.begin("tandem/session/steer", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, s, text))
			synctest.Wait()
			return id
		}
		says := func(what, got string, want ...string) {
			t.Helper()
			for _, w := range want {
				if !strings.Contains(got, w) {
					t.Errorf("%s: %q, want %s", what, got, w)
				}
			}
		}
		kept := func() int {
			found, _, err := st.Sessions(store.Query{Limit: 10})
			if err != nil {
				t.Error(err)
			}
			return len(found)
		}

		// It cannot be had in the end: as if nothing had been asked.
		first := prompt("one")
		says("status meanwhile", l.ask("tandem/status", "null"), `"sessions"`)
		says("another prompt", l.answer(prompt("two")), "-32012")
		added := steer("one more")
		says("the prompt and what was added", "<"+l.answer(first)+l.answer(added)+">", "<>")
		o.gate <- &model.Error{Kind: "unavailable", Message: "No key today."}
		synctest.Wait()
		says("the prompt", l.answer(first), "-32013", "No key today.")
		says("what was added", l.answer(added), "no_turn")
		equal(t, "sessions that are kept", kept(), 0)
		says("the list", l.ask("tandem/session/list", "{}"), `"title":""`)

		// A cancel that follows the prompt finds it, and does not block.
		second := l.begin("tandem/session/prompt", fmt.Sprintf(`{"sessionId":%q,"model":"slow","prompt":[{"type":"text","text":"three"}]}`, s))
		l.say("tandem/session/cancel", fmt.Sprintf(`{"sessionId":%q}`, s))
		synctest.Wait()
		says("the cancelled prompt", l.answer(second), `"cancelled"`, `"turn":1`)
		o.gate <- nil // it comes too late
		synctest.Wait()

		// It can be had, and is had already: what was added meanwhile is there.
		third := l.begin("tandem/session/prompt", fmt.Sprintf(`{"sessionId":%q,"model":"slow","prompt":[{"type":"text","text":"four"}]}`, s))
		added = steer("five")
		time.Sleep(5 * time.Second)
		says("the prompt", l.answer(third), `"end_turn"`, `"turn":2`)
		says("what was added", l.answer(added), "{}")
		want := []string{"user: three", "assistant: (The turn ended: cancelled.)", "user: four"}
		if len(asked) < len(want) || strings.Join(asked[:len(want)], "|") != strings.Join(want, "|") {
			t.Errorf("the model was asked %q", asked)
		}
		says("what was asked", strings.Join(asked, "|"), "user: five")
		l.end()
	})
}

// slowStore writes nothing while gate is held.
type slowStore struct {
	store.Store
	gate *chan struct{}
}

func (s slowStore) wait() {
	if g := *s.gate; g != nil {
		<-g
	}
}

func (s slowStore) Append(id string, e ...store.Entry) error {
	s.wait()
	return s.Store.Append(id, e...)
}

func (s slowStore) Save(m store.Session) error {
	s.wait()
	return s.Store.Save(m)
}

// A database that another process has locked delays requests that write to it, and neither the reading of messages nor
// requests that only read the session.
func TestASlowStoreHoldsNothingUp(t *testing.T) {
	dir := folder(t)
	wiretest.Bubble(t, func(t *testing.T) {
		var gate chan struct{}
		release := make(chan struct{})
		m := models{"m": func(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return talks(ctx, r, on)
		}}
		look := tools.Define(tools.Definition[struct{}]{
			Spec:  tools.Spec{Name: "look", Kind: tools.Read, Description: "Looks."},
			Needs: tools.Always[struct{}](tools.Need{Act: tools.Reads}),
			Plan: func(context.Context, *tools.Env, struct{}) (*tools.Plan, error) {
				return &tools.Plan{Title: "look", Kind: tools.Read, Run: func(context.Context) (tools.Result, error) {
					return tools.Result{Success: true, Data: "seen"}, nil
				}}, nil
			},
		})
		l := newLine(t, lspserver.Options{Options: backend.Options{
			Opener: opened(m), Tools: []tools.Tool{look},
			Store: func(config.Config) (store.Store, error) {
				return slowStore{agenttest.Store(t), &gate}, nil
			},
		}})
		s := l.session("m", dir)
		l.ask("tandem/tools/call", fmt.Sprintf(`{"sessionId":%q,"name":"look","arguments":{}}`, s)) // now it is kept, without a title
		answered := func(what string) {
			t.Helper()
			if got := l.ask("tandem/status", "null"); !strings.Contains(got, `"sessions"`) {
				t.Errorf("%s: the status is not answered: %q", what, got)
			}
			if got := l.ask("tandem/session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"x"}]}`, s)); !strings.Contains(got, "-32012") {
				t.Errorf("%s: another prompt: %q", what, got)
			}
		}
		hold := func() { gate = make(chan struct{}) }
		free := func() {
			g := gate
			gate = nil
			close(g)
			synctest.Wait()
		}
		hold()
		turn := l.prompt(s)
		synctest.Wait()
		answered("the title")
		free()
		hold()
		added := l.begin("tandem/session/steer", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"and"}]}`, s))
		synctest.Wait()
		answered("what was added")
		if got := l.answer(added); got != "" {
			t.Errorf("it was answered before it was kept: %s", got)
		}
		free()
		if got := l.answer(added); got != "{}" {
			t.Errorf("what was added: %s", got)
		}
		close(release)
		synctest.Wait()
		if got := l.answer(turn); !strings.Contains(got, "end_turn") {
			t.Errorf("the prompt: %s", got)
		}
		l.end()
	})
}

// slowRelease tells that a session is to be let go, and does so once it may.
type slowRelease struct {
	store.Store
	asked, may chan struct{}
}

func (s slowRelease) Release(id string) error {
	s.asked <- struct{}{}
	<-s.may
	return s.Store.Release(id)
}

// A session that is loaded while it is being closed is one that can be used, and one that is renamed then has its new
// name.
func TestLoadedWhileItIsClosed(t *testing.T) {
	st := slowRelease{agenttest.Store(t), make(chan struct{}, 9), make(chan struct{}, 9)}
	o := options(nil)
	o.Store = func(config.Config) (store.Store, error) { return st, nil }
	r := start(t, conformance.Options{}, o)
	id := r.session(map[string]any{"model": r.script("say One.\n\nsay Two.\n\nsay Three.")})
	equal(t, "stop", r.prompt(id, "go").StopReason, "end_turn")
	during := func(method string, p map[string]any) {
		t.Helper()
		closed, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(closed)
			r.ask("tandem/session/close", map[string]any{"sessionId": id}, nil)
		}()
		<-st.asked
		go func() {
			defer close(done)
			r.ask(method, p, nil)
		}()
		select {
		case <-done: // it did not wait for the end of the other one
		case <-time.After(200 * time.Millisecond):
		}
		st.may <- struct{}{}
		<-closed
		st.may <- struct{}{} // to rename takes hold of the session for a moment
		<-done
	}
	during("tandem/session/rename", map[string]any{"sessionId": id, "title": "Late"})
	if k, _, err := st.Entries(id); err != nil || k.Title != "Late" {
		t.Errorf("it is called %q, %v", k.Title, err)
	}
	for len(st.asked)+len(st.may) > 0 {
		select {
		case <-st.asked:
		case <-st.may:
		}
	}
	r.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	during("tandem/session/load", map[string]any{"sessionId": id})
	equal(t, "stop", r.prompt(id, "go").StopReason, "end_turn")
	close(st.may)
	r.end()
}

// An empty model is the one of the configuration, of now and later.
func TestSetModelToTheDefault(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	one, two, own := r.script("say One."), r.script("say Two."), r.script("say Own.\n\nsay Own again.")
	r.Notify("workspace/didChangeConfiguration", map[string]any{"settings": map[string]any{"tandem": map[string]any{"model": one}}})
	id := r.session(map[string]any{"model": own})
	ask := func(want string) {
		t.Helper()
		before := r.said(id, "agent_message_chunk")
		equal(t, "stop", r.prompt(id, "go").StopReason, "end_turn")
		equal(t, "said", strings.TrimPrefix(r.said(id, "agent_message_chunk"), before), want)
	}
	ask("Own.")
	var nothing json.RawMessage
	r.ask("tandem/session/setModel", map[string]any{"sessionId": id, "model": ""}, &nothing)
	ask("One.")
	r.Notify("workspace/didChangeConfiguration", map[string]any{"settings": map[string]any{"tandem": map[string]any{"model": two}}})
	r.ask("tandem/status", map[string]any{}, nil)
	ask("Two.")
	r.end()
}

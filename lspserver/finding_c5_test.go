package lspserver_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tandem/agent/agenttest"
	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/lspserver/conformance"
)

// opening is a store that takes until may is closed, and tells when it is opened and closed.
type opening struct {
	store.Store
	opened, may, closed chan struct{}
}

func newOpening(t *testing.T) *opening {
	return &opening{
		Store: agenttest.Store(t), opened: make(chan struct{}, 9), may: make(chan struct{}), closed: make(chan struct{}, 9),
	}
}

func (o *opening) open(config.Config) (store.Store, error) {
	o.opened <- struct{}{}
	<-o.may
	return o, nil
}

func (o *opening) Close() error {
	o.closed <- struct{}{}
	return o.Store.Close()
}

// begins waits for the opening to begin.
func (o *opening) begins(t *testing.T) {
	t.Helper()
	select {
	case <-o.opened:
	case <-time.After(patience):
		t.Fatal("the store is not opened")
	}
}

// The store is opened when the first session begins, once, and neither before nor by the first turn. The answer does
// not wait for it, and neither does another session's.
func TestFindingC5TheStoreIsOpenedWithTheFirstSession(t *testing.T) {
	st := newOpening(t)
	o := options(nil)
	o.Store = st.open
	r := start(t, conformance.Options{}, o)
	r.ask("tandem/status", map[string]any{}, nil)
	equal(t, "opened before there is a session", len(st.opened), 0)
	model := r.script("say One.")
	first := r.session(map[string]any{"model": model}) // its answer came although the store is not open
	st.begins(t)
	second := r.session(map[string]any{"model": r.script("say Two.")})
	close(st.may)
	equal(t, "the first turn", r.prompt(first, "go").StopReason, "end_turn")
	equal(t, "the other session's", r.prompt(second, "go").StopReason, "end_turn")
	r.end()
	equal(t, "opened once more", len(st.opened), 0)
	equal(t, "closed", len(st.closed), 1)
}

// A session that is closed, and a connection that ends, while the store is being opened: it is closed once it is there.
func TestFindingC5TheEndWhileTheStoreIsOpened(t *testing.T) {
	st := newOpening(t)
	o := options(nil)
	o.Store = st.open
	r := start(t, conformance.Options{}, o)
	id := r.session(nil)
	st.begins(t)
	r.ask("tandem/session/close", map[string]any{"sessionId": id}, nil)
	if err := r.Close(r.ctx); err != nil { // the answer to shutdown does not wait for it either
		t.Error(err)
	}
	equal(t, "closed before it is open", len(st.closed), 0)
	close(st.may)
	r.ended(0)
	equal(t, "closed", len(st.closed), 1)
}

// That it cannot be opened is told as soon as there is a session, once.
func TestFindingC5AStoreThatCannotBeOpened(t *testing.T) {
	told := make(chan string, 9)
	o := options(nil)
	o.Store = func(config.Config) (store.Store, error) { return nil, store.ErrDamaged }
	r := start(t, conformance.Options{Heard: func(method string, params json.RawMessage) {
		if method == "window/showMessage" && strings.Contains(string(params), "sessions are not stored") {
			told <- string(params)
		}
	}}, o)
	id := r.session(map[string]any{"model": r.script("say One.")})
	select {
	case <-told:
	case <-time.After(patience):
		t.Fatal("no message to the user")
	}
	equal(t, "the turn", r.prompt(id, "go").StopReason, "end_turn")
	r.end()
	equal(t, "told again", len(told), 0)
}

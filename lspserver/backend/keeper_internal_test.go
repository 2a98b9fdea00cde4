package backend

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent/agenttest"
	"tandem/agent/store"
)

// emptied is a store whose file was found empty.
type emptied struct{ store.Store }

func (emptied) Emptied() bool { return true }

// slowStats answers for its figures when it is let.
type slowStats struct {
	store.Store
	answer chan store.Stats
}

func (s slowStats) Stats() (store.Stats, error) { return <-s.answer, nil }

func keeping(open func() (store.Store, error)) (k *keeper, warned *[]string) {
	warned = new([]string)
	life := &lifetime{log: slog.New(slog.DiscardHandler)}
	return &keeper{open: open, warn: func(s string) { *warned = append(*warned, s) }, now: time.Now, life: life}, warned
}

// TestKeeperOpens opens the store once, on first use. Where that fails, sessions go on in memory, the person gets one sentence, and what
// needs a record first is refused.
func TestKeeperOpens(t *testing.T) {
	for name, c := range map[string]struct {
		open     func() (store.Store, error)
		warning  string // a part of it
		unkept   bool
		recorded bool // what needs a record is not refused
	}{
		"in memory":     {nil, "", false, true},
		"a file":        {func() (store.Store, error) { return agenttest.Store(t), nil }, "", false, true},
		"an empty file": {func() (store.Store, error) { return emptied{agenttest.Store(t)}, nil }, "was empty", false, true},
		"a newer file":  {func() (store.Store, error) { return nil, fmt.Errorf("x: %w", store.ErrNewer) }, "Move that file away", true, false},
		"a broken disk": {func() (store.Store, error) { return nil, errors.New("input/output error") }, "input/output error", true, false},
	} {
		opened := 0
		open := c.open
		if open != nil {
			open = func() (store.Store, error) { opened++; return c.open() }
		}
		k, warned := keeping(open)
		if state := k.state(t.Context()); state.Kind != "closed" || opened != 0 {
			t.Errorf("%s: %+v before the first use", name, state)
		}
		st := k.store()
		if k.store() != st || opened > 1 {
			t.Errorf("%s: opened %d times", name, opened)
		}
		if err := st.Save(store.Session{ID: "s", Cwd: "/w"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := st.Intend("s", true, store.Entry{Kind: store.Audit, Body: []byte("{}")}); (err == nil) != c.recorded {
			t.Errorf("%s: a record: %v", name, err)
		}
		if all := strings.Join(*warned, "\n"); (c.warning == "") != (all == "") || !strings.Contains(all, c.warning) || len(*warned) > 1 {
			t.Errorf("%s: %q", name, all)
		}
		if (k.unkept() != "") != c.unkept {
			t.Errorf("%s: unkept %q", name, k.unkept())
		}
		k.close()
	}
}

// TestKeeperFigures gives the last known figures while the store is busy, and asks it once.
func TestKeeperFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := slowStats{agenttest.Store(t), make(chan store.Stats)}
		k, _ := keeping(func() (store.Store, error) { return st, nil })
		k.store()
		began := time.Now()
		if state := k.state(t.Context()); state.Sessions != 0 || time.Since(began) != statsTimeout {
			t.Errorf("%+v after %v", state, time.Since(began))
		}
		k.state(t.Context())
		st.answer <- store.Stats{Path: "/db", Sessions: 3} // both requests have asked once
		synctest.Wait()
		go func() { st.answer <- store.Stats{Path: "/db", Sessions: 4} }()
		if state := k.state(t.Context()); state.Sessions != 4 || state.Kind != "file" {
			t.Errorf("%+v", state)
		}
	})
}

package agent

import (
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent/store"
)

// written notes every Append of a store. With a gate each of them tells that it has been entered and waits at the gate.
type written struct {
	store.Store
	entered, gate chan struct{}

	mu    sync.Mutex
	order []string // the entries, with "|" after each Append
}

func (w *written) Save(store.Session) error { return nil }

func (w *written) Release(string) error { return nil }

func (w *written) Append(_ string, entries ...store.Entry) error {
	if w.gate != nil {
		w.entered <- struct{}{}
		<-w.gate
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range entries {
		w.order = append(w.order, e.Text)
	}
	w.order = append(w.order, "|")
	return nil
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.order, " ")
}

func newWritten() (*written, *record) {
	w := &written{}
	return w, &record{
		open: func() store.Store { return w }, now: time.Now, log: slog.New(slog.DiscardHandler), failed: func(error) {},
		saying: map[string]string{},
	}
}

func entryOf(text string) store.Entry { return store.Entry{Kind: store.Message, Text: text} }

func TestEntriesWaitForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWritten()
		want := func(s string) {
			t.Helper()
			if got := w.String(); got != s {
				t.Errorf("written is %q, not %q", got, s)
			}
		}
		r.soon(entryOf("a"), entryOf("b"))
		r.soon(entryOf("c"))
		want("")
		r.add(entryOf("d"))
		want("a b c d |")
		r.soon(entryOf("e"))
		want("a b c d |")
		r.pending()
		want("a b c d | e |")
		r.soon(entryOf("f"))
		r.release()
		want("a b c d | e | f |")
		r.flush()
		want("a b c d | e | f |")
	})
}

// TestEntriesOfMany wants what is added while something is written to be written together after it, each once and before
// add returns.
func TestEntriesOfMany(t *testing.T) {
	w, r := newWritten()
	w.entered, w.gate = make(chan struct{}, 100), make(chan struct{})
	var wg sync.WaitGroup
	add := func(text string) {
		wg.Go(func() {
			r.soon(entryOf(text + ".0"))
			r.add(entryOf(text + ".1"))
			if !strings.Contains(w.String(), text+".1") {
				t.Errorf("%s is not written when add returns", text)
			}
		})
	}
	add("first")
	<-w.entered
	const many = 8
	for i := range many {
		add(fmt.Sprint(i))
	}
	for waiting := 0; waiting < 2*many; runtime.Gosched() {
		r.mu.Lock()
		if r.next != nil {
			waiting = len(r.next.entries)
		}
		r.mu.Unlock()
	}
	close(w.gate)
	wg.Wait()
	batches := strings.Split(w.String(), " | ")
	if len(batches) != 2 || batches[0] != "first.0 first.1" {
		t.Fatalf("%d batches: %s", len(batches), w)
	}
	got := strings.Fields(strings.TrimSuffix(batches[1], "|"))
	for i := range many {
		zero, one := slices.Index(got, fmt.Sprintf("%d.0", i)), slices.Index(got, fmt.Sprintf("%d.1", i))
		if zero < 0 || one < zero {
			t.Errorf("%d: %v", i, got)
		}
	}
	if len(got) != 2*many {
		t.Errorf("%d entries, not %d: %v", len(got), 2*many, got)
	}
}

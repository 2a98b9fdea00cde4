package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tandem/agent/store"
)

// heard is what an outbox has delivered, and what was not kept when it did.
type heard struct {
	mu    sync.Mutex
	texts []string
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.texts, " ")
}

func outboxOf(r *record, told func(string)) (*outbox, *heard) {
	h := &heard{}
	return newOutbox(r, func(e Event) {
		told(e.Text)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.texts = append(h.texts, e.Text)
	}), h
}

func TestToldOnceKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWritten()
		box, h := outboxOf(r, func(string) {})
		step := func(what, told, kept string) {
			t.Helper()
			synctest.Wait()
			if h.String() != told || w.String() != kept {
				t.Errorf("%s: told %q and kept %q, not %q and %q", what, h, w, told, kept)
			}
		}
		box.put(Event{Text: "a"}, nil)
		step("what need not be kept", "a", "")
		box.put(Event{Text: "b"}, r.soon(entryOf("b")))
		box.put(Event{Text: "c"}, nil)
		box.put(Event{Text: "d"}, r.soon(entryOf("d")))
		step("what waits holds up what follows", "a", "")
		time.Sleep(gather)
		step("a moment later", "a b c d", "b d |")
		box.barrier(r.soon(entryOf("e")))
		box.put(Event{Text: "f"}, nil)
		step("what is kept without a word", "a b c d", "b d |")
		box.flush()
		step("at once", "a b c d f", "b d | e |")
		box.put(Event{Text: "g"}, r.soon(entryOf("g")))
		r.add(entryOf("h"))
		step("what was kept with something else", "a b c d f", "b d | e | g h |")
		box.put(Event{Text: "i"}, nil)
		step("is told with the next", "a b c d f g i", "b d | e | g h |")
		much := entryOf("j")
		much.Body = json.RawMessage(strings.Repeat("x", enough))
		box.put(Event{Text: "j"}, r.soon(much))
		step("much waits too", "a b c d f g i", "b d | e | g h |")
		box.barrier(r.soon(entryOf("k")))
		step("much is kept at once", "a b c d f g i j", "b d | e | g h | j k |")
		for i := range maxWaiting + 1 {
			box.put(Event{Text: fmt.Sprint(i)}, r.soon(entryOf(fmt.Sprint(i))))
		}
		if got := strings.Fields(h.String()); len(got) < maxWaiting {
			t.Errorf("%d events wait", maxWaiting-len(got))
		}
		time.Sleep(time.Second) // the last timer
	})
}

func TestToldInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"say", "kept", "keep", "add", "drain", "sleep", "soon", "before"}), 1, 40).Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			w, r := newWritten()
			var needs sync.Map
			box, h := outboxOf(r, func(text string) {
				if _, ok := needs.Load(text); ok && !slices.Contains(strings.Fields(w.String()), text) {
					rt.Errorf("%s was told and is not kept", text)
				}
			})
			var want []string
			for i, step := range steps {
				text := fmt.Sprint(i)
				switch step {
				case "say":
					want = append(want, text)
					box.put(Event{Text: text}, nil)
				case "kept":
					want = append(want, text)
					needs.Store(text, true)
					box.put(Event{Text: text}, r.soon(entryOf(text)))
				case "keep":
					box.barrier(r.soon(entryOf(text)))
				case "add":
					r.add(entryOf(text))
				case "soon": // another one tells of it
					r.soon(store.Entry{Text: text})
				case "before": // a call is told of behind one that was written down after it
					first := r.soon(entryOf(text))
					if rapid.Bool().Draw(rt, "apart") {
						r.add(entryOf("x"))
					}
					want = append(want, text+"b", text)
					needs.Store(text, true)
					needs.Store(text+"b", true)
					box.put(Event{Text: text + "b"}, r.soon(entryOf(text+"b")))
					box.put(Event{Text: text}, first)
				case "drain":
					box.flush()
				case "sleep":
					time.Sleep(gather / 2)
				}
			}
			box.flush()
			synctest.Wait()
			if got := h.String(); got != strings.Join(want, " ") {
				rt.Errorf("told %q, not %q", got, want)
			}
			time.Sleep(time.Second)
		})
	})
}

func TestMessageOfALostResult(t *testing.T) {
	p, err := read([]store.Entry{
		{Kind: store.Message, Turn: 1, Text: "Go.", Body: []byte(`{"message":{"role":"user","text":"Go."}}`)},
		{Kind: store.Message, Turn: 1, Call: "c", Body: []byte(`{"ofCall":true,"message":{"role":"tool","callId":"c","text":" hint"}}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.bodies[1].Message.Text, "[UNKNOWN] The result of this call was not kept. hint"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

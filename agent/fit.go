package agent

import (
	"fmt"
	"slices"

	"tandem/agent/loop"
	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/agent/window"
	"tandem/tools/outputs"
	"tandem/tools/run"
)

// tidy clears old results before a request that would come near the model's window, and reports whether it did.
func (c conversation) tidy() bool {
	w, name := c.s.window, c.model.Name()
	cold := w.Serve(name, c.s.models.window(name), c.s.o.Now())
	if !c.s.config().Context.Auto {
		return false
	}
	r, before := w.Tidy(cold, handle)
	c.rewrote(r, before)
	return r != nil
}

// handle is the path by which read_file shows the result of a call.
func handle(call string) string { return outputs.Prefix + outputs.ID(call) }

// rewrote keeps a rewrite of the messages before it, and tells of it.
func (c conversation) rewrote(r *window.Rewrite, before []model.Message) {
	if r == nil {
		return
	}
	s := c.s
	cleared := r.Cleared(before)
	texts := map[string]string{}
	for _, m := range before {
		if m.Role == model.Tool {
			texts[m.CallID] = m.Text
		}
	}
	for _, call := range cleared {
		if id := outputs.ID(call); s.o.Keeping.Store == nil && !s.outputs.Has(id) {
			s.outputs.Keep(id, texts[call])
		}
	}
	s.forget(*r, before, cleared)
	notice := fmt.Sprintf("The conversation had about %s. %s cleared for the model, which leaves about %d; the files and your view of it are as they were.",
		filled(r.Before, r.Size), results(len(cleared), len(r.Bare)), r.After)
	c.tellOnce(s.record.rewrote(c.number, notice, *r), Event{Notice: notice})
}

// forget has the session's views lose what a rewrite has cleared. No call runs between two requests.
func (s *Session) forget(r window.Rewrite, before []model.Message, cleared []string) {
	gone := map[string]bool{} // by call: whether its arguments are gone too, or do not hold what it has written
	for _, call := range cleared {
		gone[call] = true
	}
	for i, m := range before {
		for _, c := range m.Calls {
			if _, ok := gone[c.ID]; ok && i >= r.Through {
				gone[c.ID] = !slices.Contains([]string{"edit_file", "write_file", "patch"}, c.Name)
			}
		}
	}
	s.reach.fileTime.Forget(func(call string, words bool) bool {
		wordsGone, ok := gone[call]
		return ok && (!words || wordsGone) || call == "" && r.Through > 0 // what a message of the user's showed
	})
}

// filled says how much of a window is full.
func filled(tokens, size int64) string {
	if size <= 0 {
		return fmt.Sprintf("%d tokens", tokens)
	}
	return fmt.Sprintf("%d of %d tokens", tokens, size)
}

// results says what was cleared.
func results(calls, pictures int) string {
	switch {
	case pictures == 0 && calls == 1:
		return "1 old result of a tool was"
	case pictures == 0:
		return fmt.Sprintf("%d old results of tools were", calls)
	}
	return fmt.Sprintf("%d old results of tools and the pictures of %d messages were", calls, pictures)
}

// rewrote stores a rewrite. Text is what the person reads of it.
func (r *record) rewrote(turn int, text string, w window.Rewrite) *batch {
	if r.open == nil {
		return nil
	}
	return r.soon(r.entry(turn, store.Window, "", text, body{Window: &w}))
}

// storedOutput finds the result of a call in the store.
func (s *Session) storedOutput(id string) (string, bool) {
	s.record.pending()
	_, entries, err := s.record.open().Entries(s.o.ID)
	if err != nil {
		return "", false
	}
	for _, e := range entries {
		if e.Kind != store.Result || e.Turn == 0 || outputs.ID(e.Call) != id {
			continue
		}
		var b body
		if b.decode(e) == nil && b.Result != nil {
			return loop.ResultMessage(run.Call{ID: e.Call}, *b.Result).Text, true
		}
	}
	return "", false
}

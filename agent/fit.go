package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tandem/agent/loop"
	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/agent/window"
	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/tools/outputs"
	"tandem/tools/run"
)

// tidy clears old results before a request that would come near the model's window, or has the model summarise the conversation where that
// is not enough, and reports whether it did.
func (c conversation) tidy(ctx context.Context, ask loop.Ask) bool {
	w, name := c.s.window, c.model.Name()
	cold := w.Serve(name, c.s.models.window(name), c.s.o.Now())
	if !c.s.config().Context.Auto {
		return false
	}
	if w.IsFull(handle) && c.summarise(ctx, ask, "").ID != "" {
		return true
	}
	r, before := w.Tidy(cold, handle)
	c.rewrote(r, before)
	if w.Overflows() {
		more, before := w.Ledger(0, c.facts(), handle)
		c.rewrote(more, before)
		return r != nil || more != nil
	}
	return r != nil
}

// Shorten makes the conversation shorter after the service has refused it for its length: old results are cleared, then it is replaced
// by what can be said of it without a model, each time in fewer words.
func (c conversation) Shorten(ctx context.Context, err error) bool {
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != "context_window" {
		return false
	}
	w := c.s.window
	w.Refused(e.Window)
	c.shortened++
	if c.shortened == 1 {
		if r, before := w.Prune(handle); r != nil {
			c.rewrote(r, before)
			return true
		}
		c.shortened++
	}
	r, before := w.Ledger(c.shortened-2, c.facts(), handle)
	c.rewrote(r, before)
	if r == nil {
		return false
	}
	if news := c.s.reach.rules.found(ctx); news != "" {
		c.AddAnswer("", model.Message{Role: model.User, Text: news})
	}
	return true
}

// facts are what the session knows of the conversation, for a ledger.
func (c conversation) facts() window.Facts {
	s := c.s
	f := window.Facts{Turn: c.number}
	add := func(heading string, lines []string) {
		if len(lines) > 0 {
			f.Sections = append(f.Sections, heading+"\n- "+strings.Join(lines, "\n- ")+"\n")
		}
	}
	var list []string
	for _, t := range (turnTasks{s, c.number, ""}).Get() {
		list = append(list, fmt.Sprintf("%s %s: %s", t.ID, t.Status, t.Title))
	}
	add("The list of tasks:", list)
	list = nil
	for _, j := range s.jobs.Alive() {
		list = append(list, fmt.Sprintf("%s: %s", j.ID, j.Title))
	}
	add("Commands that run in the background:", list)
	add("Files that you have changed, and whose changes stand, the latest turn first:", s.changed(c.number))
	list = nil
	for _, path := range s.reach.fileTime.Paths() {
		list = append(list, show.Visible(s.reach.current().Rel(path), false)+shownLines(s.reach.fileTime.Shown(path)))
	}
	add("Files that you have seen, and which of their lines were still in the conversation:", list)
	return f
}

// shownLines names the lines of some parts of a file, the first few of them.
func shownLines(parts []filetime.Part) string {
	const most = 4
	var names []string
	for i := 0; i < len(parts); {
		first, last := parts[i].First, parts[i].Last
		for i++; i < len(parts) && parts[i].First <= last+1; i++ {
			last = max(last, parts[i].Last)
		}
		if len(names) == most {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("%d-%d", first, last))
	}
	if len(names) == 0 {
		return ""
	}
	return " (lines " + strings.Join(names, ", ") + ")"
}

// changed are the files that the session has changed and whose changes stand, a line for each of its turns.
func (s *Session) changed(turn int) (lines []string) {
	if s.o.Review == nil {
		return nil
	}
	undo := s.o.Review.Undo()
	for ; turn > 0 && len(lines) < maxTurnsNamed; turn-- {
		var names []string
		for _, path := range undo.Paths(turn) {
			names = append(names, show.Visible(s.reach.current().Rel(path), false))
		}
		if len(names) > 0 {
			lines = append(lines, fmt.Sprintf("turn %d: %s", turn, strings.Join(names, ", ")))
		}
	}
	return lines
}

// maxTurnsNamed is how many turns a ledger names the changed files of.
const maxTurnsNamed = 20

// handle is the path by which read_file shows the result of a call.
func handle(call string) string { return outputs.Prefix + outputs.ID(call) }

// rewrote keeps a rewrite of the messages before it, and tells of it under an id.
func (c conversation) rewrote(r *window.Rewrite, before []model.Message) (id string) {
	if r == nil {
		return ""
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
	what := results(len(cleared), len(r.Bare)) + " cleared for the model"
	if r.Through > 0 && r.Summary != "" {
		what = fmt.Sprintf("The first %d messages were replaced for the model by its own summary, with what you asked and refused", r.Through)
	} else if r.Through > 0 {
		what = fmt.Sprintf("The first %d messages were replaced for the model by a list of what you asked, what you refused and which files it worked on", r.Through)
	}
	if r.Through > 0 {
		s.reach.rules.forget()
	}
	notice := fmt.Sprintf("The conversation had about %s. %s, which leaves about %d. Your view of it is complete.",
		filled(r.Before, r.Size), what, r.After)
	if n := s.window.Overhead(); r.Through > 0 && r.Size > 0 && n > r.Size/2 {
		notice += fmt.Sprintf(" The system prompt and the tools alone have about %d: a model that can read more, or fewer MCP servers, would leave room.", n)
	}
	id = s.ids.of("compaction")
	c.tellOnce(s.record.rewrote(c.number, id, notice, *r), Event{Notice: notice, Compaction: id})
	return id
}

// forget has the session's views lose what a rewrite has cleared. No call runs between two requests.
func (s *Session) forget(r window.Rewrite, before []model.Message, cleared []string) {
	gone := map[string]bool{} // the calls whose results are gone; true where the text of their arguments is no source either
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
func (r *record) rewrote(turn int, id, text string, w window.Rewrite) *batch {
	if r.open == nil {
		return nil
	}
	return r.soon(r.entry(turn, store.Window, id, text, body{Window: &w}))
}

// storedOutput finds the result of a call in the store.
func (s *Session) storedOutput(id string) (string, bool) {
	s.record.pending()
	_, entries, err := s.record.open().Entries(s.o.ID, store.Result)
	if err != nil {
		return "", false
	}
	for _, e := range entries {
		if e.Turn == 0 || outputs.ID(e.Call) != id {
			continue
		}
		var b body
		if b.decode(e) == nil && b.Result != nil {
			return loop.ResultMessage(run.Call{ID: e.Call}, *b.Result).Text, true
		}
	}
	return "", false
}

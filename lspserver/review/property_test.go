package review

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/filetime"
	"tandem/filetime/text"
)

// The runes that are the only ones of their kind, by who wrote them.
const (
	firstOld   = 0x4E00
	firstTyped = 0x20000
	firstMade  = 0x30000
)

// truth knows every rune of a desk by name: who took it away, and which call wrote it.
type truth struct {
	*desk
	fatalf func(format string, args ...any)
	story  []string                 // what was done, for tell
	wrote  map[rune]string          // the call that wrote it
	killer map[rune]string          // the call that took it away, "user" for the person, "" while it is there
	once   map[rune]map[string]bool // the calls that have ever taken it away
	undo   []past
	redo   []past
	calls  []string
	turns  map[string]int
	blanks map[string]bool // calls that wrote or took away what has no name, too
	seen   map[string]bool // all texts that there were
	vague  map[string]bool // calls that were brought again
	unsure map[rune]bool   // those that the call in killer has taken away by a hunk that may be reverted: another of its hunks was not
}

// past is a text with what was true of it.
type past struct {
	text   string
	killer map[rune]string
	sets   []text.Set // what leads there, one after another
}

func named(r rune) bool { return r >= firstOld && r < 0x9FFF || r >= firstTyped }

func runes(s string) map[rune]int {
	out := map[rune]int{}
	for _, r := range s {
		if named(r) {
			out[r]++
		}
	}
	return out
}

func blank(s string) bool { return strings.ContainsFunc(s, func(r rune) bool { return !named(r) }) }

func (w *truth) text() string { return w.buffer.text.String() }

// did takes in that somebody did something: what is gone was taken by who.
func (w *truth) did(before, who string) {
	a, b := runes(before), runes(w.text())
	for r := range a {
		if b[r] > 0 {
			continue
		}
		w.killer[r], w.unsure[r] = who, false
		if w.once[r] == nil {
			w.once[r] = map[string]bool{}
		}
		w.once[r][who] = true
	}
	for r := range b {
		w.killer[r] = ""
	}
}

// step is one entry of the editor's undo stack.
func (w *truth) step(who string, do func()) {
	p, n := past{w.text(), maps.Clone(w.killer), nil}, len(w.back)
	do()
	p.sets = slices.Clone(w.back[n:])
	slices.Reverse(p.sets)
	if w.text() == p.text {
		return
	}
	w.did(p.text, who)
	w.undo, w.redo = append(w.undo, p), nil
}

func (w *truth) editor(from, to *[]past) {
	if len(*from) == 0 {
		return
	}
	n := len(*from) - 1
	p, now, done := (*from)[n], past{w.text(), maps.Clone(w.killer), nil}, len(w.back)
	for _, set := range p.sets {
		w.change(set)
	}
	now.sets = slices.Clone(w.back[done:])
	slices.Reverse(now.sets)
	*from, *to = (*from)[:n], append(*to, now)
	w.killer = maps.Clone(p.killer)
	for r := range runes(now.text) {
		if runes(p.text)[r] == 0 && w.killer[r] == "" {
			w.killer[r] = "user"
		}
	}
}

// call is a tool call that replaces a range.
func (w *truth) call(start, end int, fresh string, turn int, looked bool) {
	set := text.Set{{Start: start, End: end, New: fresh}}
	w.n++
	id := fmt.Sprintf("call%d", w.n)
	w.turns[id] = turn
	w.calls = append(w.calls, id)
	for r := range runes(fresh) {
		w.wrote[r] = id
	}
	// To take away the same again looks like redoing a call that only took away.
	w.blanks[id] = fresh == "" || blank(fresh) || blank(w.text()[start:end])
	w.step(id, func() {
		s, err := w.w.Read(w.t.Context(), w.path)
		if err != nil {
			w.fatalf("%v", err)
		}
		c := filetime.Change{Session: "s", Call: id, Turn: turn, Files: []filetime.FileEdit{
			{Path: w.path, Base: s.Text, Rev: s.Rev, Edits: set},
		}}
		l, err := w.w.Commit(w.t.Context(), c)
		if err != nil {
			w.fatalf("%v", err)
		}
		if looked {
			w.log.Marks(w.path)
		}
		w.log.Landed(c, l)
	})
}

// standing says by the runes alone whether something of a call is there.
func (w *truth) standing(call string) bool {
	for r := range runes(w.text()) {
		if w.wrote[r] == call {
			return true
		}
	}
	for _, by := range w.killer {
		if by == call {
			return true
		}
	}
	return false
}

// listed are the calls of which the log says that something stands.
func (w *truth) listed() map[string]bool {
	out := map[string]bool{}
	for _, h := range w.log.Marks(w.path) {
		out[h.Call] = true
	}
	return out
}

// revert checks what an undo or a rejection left: of every call that it says is gone nothing, and of all others
// everything that was there, typed text above all.
func (w *truth) revert(what string, calls []string, do func() (conflicts int)) {
	before := w.text()
	// Of what has no name the runes know less than the list, which check compares.
	listed := w.listed()
	stood := slices.DeleteFunc(slices.Clone(calls), func(c string) bool { return !w.standing(c) || !listed[c] })
	conflicts := 0
	w.step("user", func() { conflicts = do() })
	now := runes(w.text())
	for r := range runes(before) {
		if now[r] == 0 && !slices.Contains(calls, w.wrote[r]) {
			w.fatalf("%s took %c away, which %q wrote\n%q\n%q", what, r, w.wrote[r], before, w.text())
		}
	}
	stay := w.listed()
	for r, by := range w.killer {
		if slices.Contains(calls, by) && slices.Contains(calls, w.wrote[r]) {
			if w.killer[r] = "user"; conflicts > 0 && stay[by] { // of the two this one may be what stays
				w.killer[r], w.unsure[r] = by, true
				w.blanks[by] = true
			}
		}
	}
	if conflicts > 0 {
		return
	}
	for _, c := range stood {
		if w.standing(c) && !w.vague[c] {
			w.fatalf("%s says that nothing of %s stays\n%q\n%q", what, c, before, w.text())
		}
	}
}

// check holds what the log lists against the runes.
func (w *truth) check() {
	for r, n := range runes(w.text()) {
		if n > 1 {
			w.fatalf("%c is there %d times in %q", r, n, w.text())
		}
	}
	listed, live := map[string]bool{}, runes(w.text())
	for _, f := range w.log.List(w.t.Context(), "", filepath.Base) {
		for _, h := range f.Hunks {
			listed[h.Call] = true
			inside := runes(h.Now.Slice(h.Start, h.End))
			for r := range runes(h.New) {
				if w.wrote[r] == h.Call && live[r] > 0 && inside[r] == 0 {
					w.fatalf("hunk %s wrote %c, which stands outside %q of %q", h.ID, r, h.Now.Slice(h.Start, h.End), w.text())
				}
			}
		}
	}
	for _, c := range w.calls {
		if s := w.standing(c); listed[c] != s && !w.blanks[c] {
			w.fatalf("%s: listed %v, standing %v in %q", c, listed[c], w.standing(c), w.text())
		}
	}
}

// tell does one thing of a story, in the words of TestReviewStories, and checks what is true then.
func (w *truth) tell(line string) {
	w.story = append(w.story, line)
	var start, end, turn int
	var fresh, name string
	read := func(format string, args ...any) bool {
		n, err := fmt.Sscanf(line, format, args...)
		return err == nil && n == len(args)
	}
	fits := func() bool {
		s := w.text()
		whole := func(at int) bool { return at >= 0 && at <= len(s) && (at == len(s) || s[at]&0xC0 != 0x80) }
		return start <= end && whole(start) && whole(end) && (start < end || fresh != "")
	}
	ctx := w.t.Context()
	undo := func(s Scope, calls []string) {
		w.revert(line, calls, func() int { return len(w.log.Undo(ctx, s).Conflicts) })
	}
	switch {
	case read("type %d %d %q", &start, &end, &fresh):
		set := text.Set{{Start: start, End: end, New: fresh}}
		// What leads by hand to a text that was there before is an undo to all who see only texts.
		if fits() && !w.seen[set.Apply(w.buffer.text).String()] {
			w.step("user", func() { w.change(set) })
		}
	case read("agent %d %d %q turn %d", &start, &end, &fresh, &turn):
		if fits() {
			w.call(start, end, fresh, turn, strings.HasSuffix(line, "looked at before told"))
		}
	case line == "editor undo":
		w.editor(&w.undo, &w.redo)
	case line == "editor redo":
		w.editor(&w.redo, &w.undo)
	case read("undo call %s", &name):
		undo(Scope{Call: name}, []string{name})
	case read("undo turn %d", &turn):
		undo(Scope{Turn: &turn}, slices.DeleteFunc(slices.Clone(w.calls), func(c string) bool { return w.turns[c] != turn }))
	case read("redo call %s", &name):
		w.bringAgain(line, Scope{Call: name}, []string{name})
	case line == "redo all":
		w.bringAgain(line, Scope{All: true}, w.calls)
	case line == "undo file":
		undo(Scope{Path: w.path}, w.calls)
	case line == "undo all":
		undo(Scope{All: true}, w.calls)
	case read("call undoes turn %d", &turn):
		calls := slices.DeleteFunc(slices.Clone(w.calls), func(c string) bool { return w.turns[c] != turn })
		w.own(line, calls, func(call string) Revert { return w.log.RevertTurn(ctx, call, w.path, turn) })
	case strings.HasPrefix(line, "call undoes its last change"):
		var calls []string
		if marks := w.log.Marks(w.path); len(marks) > 0 {
			calls = []string{marks[len(marks)-1].Call}
		}
		w.own(line, calls, func(call string) Revert { return w.log.RevertLast(ctx, call, w.path) })
	case read("reject %d", &turn):
		w.reject(turn)
	case line == "accept":
		w.log.Accept("", nil)
	default:
		w.fatalf("%q is no line of a story", line)
	}
	w.seen[w.text()] = true
	w.check()
}

// bringAgain checks what a redo left: of others' text it takes away only what its calls had taken away before, and what it
// brings is theirs.
func (w *truth) bringAgain(what string, s Scope, calls []string) {
	before, killer := w.text(), maps.Clone(w.killer)
	var done UndoResult
	w.step("user", func() { done = w.log.Redo(w.t.Context(), s) })
	if len(done.Changed) == 0 && w.text() != before {
		w.fatalf("%s changed the text and says that it did not", what)
	}
	a, b, listed := runes(before), runes(w.text()), w.listed()
	for r := range a {
		if b[r] > 0 {
			continue
		}
		w.killer[r] = ""
		for _, c := range calls { // the last of them; what the editor took back stays so
			if w.once[r][c] && listed[c] {
				w.killer[r] = c
			}
		}
		if w.killer[r] == "" {
			w.fatalf("%s took %c away, which none of its calls ever did\n%q\n%q", what, r, before, w.text())
		}
	}
	for _, c := range calls { // of those that stand on another's text the runes do not tell any more
		if len(done.Changed) > 0 {
			w.blanks[c], w.vague[c] = true, true
		}
	}
	for r := range b {
		if a[r] == 0 && (!slices.Contains(calls, w.wrote[r]) || killer[r] != "" && killer[r] != "user" && !w.unsure[r]) {
			w.fatalf("%s brought %c, which %q wrote and %q took away\n%q\n%q", what, r, w.wrote[r], killer[r], before, w.text())
		}
	}
}

// own is a call of the session that takes changes back.
func (w *truth) own(line string, calls []string, plan func(call string) Revert) {
	w.n++
	id := fmt.Sprintf("undo%d", w.n)
	w.revert(line, calls, func() int {
		r := plan(id)
		if r.Err != nil {
			w.fatalf("%v", r.Err)
		}
		if r.Edit != nil {
			c := filetime.Change{Session: "s", Call: id, Turn: 9, Undo: true, Files: []filetime.FileEdit{*r.Edit}}
			l, err := w.w.Commit(w.t.Context(), c)
			if err != nil {
				w.fatalf("%v", err)
			}
			if strings.HasSuffix(line, "looked at before told") {
				w.log.Marks(w.path)
			}
			w.log.Landed(c, l)
		} else if r.Taken > 0 {
			w.fatalf("%d changes are taken back by nothing", r.Taken)
		}
		if r.Edit == nil && len(r.Stay)+r.Accepted == 0 && len(w.log.Marks(w.path)) > 0 {
			return 1 // what remains is another turn's, or cancels itself out
		}
		return len(r.Stay) + r.Accepted
	})
}

// reject takes back the n-th hunk that is listed, from 1 on.
func (w *truth) reject(n int) {
	hunks := w.log.Marks(w.path)
	if n < 1 || n > len(hunks) {
		return
	}
	id := hunks[n-1].ID
	is := func(h Hunk) bool { return h.ID == id }
	w.revert(fmt.Sprint("reject ", n), []string{hunks[n-1].Call}, func() int {
		j := w.log.Reject(w.t.Context(), "", []string{id})
		if len(j.Changed)+len(j.Conflicts) != 1 {
			w.fatalf("one hunk was asked for: %+v", j)
		}
		if left := slices.ContainsFunc(w.log.Marks(w.path), is); left != (len(j.Conflicts) == 1) {
			w.fatalf("%+v, and the hunk is listed: %v", j, left)
		}
		return len(j.Conflicts) + len(w.log.Marks(w.path)) // other hunks of the call may stay
	})
}

func newTruth(t *testing.T, old string, fatalf func(string, ...any)) *truth {
	w := &truth{
		desk: newDesk(t, old, true), wrote: map[rune]string{}, killer: map[rune]string{}, once: map[rune]map[string]bool{},
		turns: map[string]int{}, blanks: map[string]bool{}, seen: map[string]bool{old: true}, vague: map[string]bool{}, unsure: map[rune]bool{},
	}
	w.fatalf = func(format string, args ...any) {
		t.Helper()
		fatalf("%q\n%s\n%s", old, strings.Join(w.story, "\n"), fmt.Sprintf(format, args...))
	}
	w.did(old, "")
	return w
}

// Whatever person, agent, the editor's own undo and ours do to one text in whatever order: nothing typed is lost or doubled
// by taking changes back, of what is said to be gone nothing is left, and the list is what is true.
func TestReviewProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		old := ""
		for i := range rapid.IntRange(1, 8).Draw(rt, "lines") {
			old += fmt.Sprintf("%c %c%c\n", firstOld+3*i, firstOld+3*i+1, firstOld+3*i+2)
		}
		w := newTruth(t, old, rt.Fatalf)
		typed, made := firstTyped, firstMade
		span := func() (int, int) {
			s := w.text()
			a := rapid.IntRange(0, len(s)).Draw(rt, "from")
			for a > 0 && a < len(s) && s[a]&0xC0 == 0x80 {
				a--
			}
			b := a
			for n := rapid.IntRange(0, 6).Draw(rt, "length"); n > 0 && b < len(s); n-- {
				for b++; b < len(s) && s[b]&0xC0 == 0x80; b++ {
				}
			}
			return a, b
		}
		edit := func(next *int) string {
			start, end := span()
			fresh := ""
			if start == end || rapid.Bool().Draw(rt, "insert") {
				for range rapid.IntRange(1, 3).Draw(rt, "runes") {
					*next++
					fresh += string(rune(*next))
				}
				form := rapid.SampledFrom([]string{"%s", " %s", "%s ", "%s\n", "\n%s", " %s\n"}).Draw(rt, "form")
				fresh = fmt.Sprintf(form, fresh)
			}
			return fmt.Sprintf("%d %d %q", start, end, fresh)
		}
		turn := func() int { return rapid.IntRange(1, 3).Draw(rt, "turn") }
		rt.Repeat(map[string]func(*rapid.T){
			"type": func(*rapid.T) { w.tell("type " + edit(&typed)) },
			"agent": func(*rapid.T) {
				line := fmt.Sprintf("agent %s turn %d", edit(&made), turn())
				if rapid.Bool().Draw(rt, "looked") {
					line += " looked at before told"
				}
				w.tell(line)
			},
			"editor undo": func(*rapid.T) { w.tell("editor undo") },
			"editor redo": func(*rapid.T) { w.tell("editor redo") },
			"undo": func(*rapid.T) {
				if len(w.calls) == 0 {
					return
				}
				switch rapid.IntRange(0, 3).Draw(rt, "scope") {
				case 0:
					w.tell("undo call " + rapid.SampledFrom(w.calls).Draw(rt, "call"))
				case 1:
					w.tell(fmt.Sprintf("undo turn %d", turn()))
				case 2:
					w.tell("undo file")
				default:
					w.tell("undo all")
				}
			},
			"reject": func(*rapid.T) {
				if hunks := w.log.Marks(w.path); len(hunks) > 0 {
					w.tell(fmt.Sprint("reject ", rapid.IntRange(1, len(hunks)).Draw(rt, "hunk")))
				}
			},
			"redo": func(*rapid.T) {
				if len(w.calls) > 0 && rapid.Bool().Draw(rt, "one") {
					w.tell("redo call " + rapid.SampledFrom(w.calls).Draw(rt, "call"))
				} else {
					w.tell("redo all")
				}
			},
			"accept": func(*rapid.T) { w.tell("accept") },
			"own undo": func(*rapid.T) {
				line := "call undoes its last change"
				if rapid.Bool().Draw(rt, "of a turn") {
					line = fmt.Sprintf("call undoes turn %d", turn())
				}
				if rapid.Bool().Draw(rt, "looked") {
					line += " looked at before told"
				}
				w.tell(line)
			},
		})
	})
}

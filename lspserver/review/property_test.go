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
	t      *rapid.T
	typed  rune
	made   rune
	wrote  map[rune]string // the call that wrote it
	killer map[rune]string // the call that took it away, "user" for the person, "" while it is there
	undo   []past
	redo   []past
	calls  []string
	turns  map[string]int
	blanks map[string]bool // calls that wrote or took away what has no name, too
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
		if b[r] == 0 {
			w.killer[r] = who
		}
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

func (w *truth) spot(label string) int {
	s := w.text()
	at := rapid.IntRange(0, len(s)).Draw(w.t, label)
	for at > 0 && at < len(s) && s[at]&0xC0 == 0x80 {
		at--
	}
	return at
}

func (w *truth) span() (int, int) {
	a := w.spot("from")
	b := a
	for n := rapid.IntRange(0, 6).Draw(w.t, "length"); n > 0 && b < len(w.text()); n-- {
		for b++; b < len(w.text()) && w.text()[b]&0xC0 == 0x80; b++ {
		}
	}
	return a, b
}

func (w *truth) fresh(next *rune) string {
	var s string
	for range rapid.IntRange(1, 3).Draw(w.t, "runes") {
		*next++
		s += string(*next)
	}
	return fmt.Sprintf(rapid.SampledFrom([]string{"%s", " %s", "%s ", "%s\n", "\n%s", " %s\n"}).Draw(w.t, "form"), s)
}

func (w *truth) call() {
	start, end := w.span()
	fresh := ""
	if start == end || rapid.Bool().Draw(w.t, "insert") {
		fresh = w.fresh(&w.made)
	}
	if start == end && fresh == "" {
		return
	}
	set := text.Set{{Start: start, End: end, New: fresh}}
	w.n++
	id := fmt.Sprintf("call%d", w.n)
	w.turns[id] = rapid.IntRange(1, 3).Draw(w.t, "turn")
	w.calls = append(w.calls, id)
	for r := range runes(fresh) {
		w.wrote[r] = id
	}
	// To take away the same again looks like redoing a call that only took away.
	w.blanks[id] = fresh == "" || blank(fresh) || blank(w.text()[start:end])
	w.step(id, func() {
		s, err := w.w.Read(w.desk.t.Context(), w.path)
		if err != nil {
			w.t.Fatal(err)
		}
		c := filetime.Change{Session: "s", Call: id, Turn: w.turns[id], Files: []filetime.FileEdit{
			{Path: w.path, Base: s.Text, Rev: s.Rev, Edits: set},
		}}
		l, err := w.w.Commit(w.desk.t.Context(), c)
		if err != nil {
			w.t.Fatal(err)
		}
		if rapid.Bool().Draw(w.t, "looked at before told") {
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

// takeBack checks what an undo or a rejection left: of every call that it says is gone nothing, and of all others
// everything that was there, typed text above all.
func (w *truth) takeBack(what string, calls []string, do func() (conflicts int)) {
	before := w.text()
	listed := map[string]bool{} // of what has no name the runes know less than the list, which check compares
	for _, h := range w.log.Marks(w.path) {
		listed[h.Call] = true
	}
	stood := slices.DeleteFunc(slices.Clone(calls), func(c string) bool { return !w.standing(c) || !listed[c] })
	conflicts := 0
	w.step("user", func() { conflicts = do() })
	now := runes(w.text())
	for r := range runes(before) {
		if now[r] == 0 && !slices.Contains(calls, w.wrote[r]) {
			w.t.Fatalf("%s took %c away, which %q wrote\n%q\n%q", what, r, w.wrote[r], before, w.text())
		}
	}
	for r, by := range w.killer {
		if slices.Contains(calls, by) && slices.Contains(calls, w.wrote[r]) {
			if w.killer[r] = "user"; conflicts > 0 { // one of the two may stay
				w.killer[r] = by
				w.blanks[by] = true
			}
		}
	}
	if conflicts > 0 {
		return
	}
	for _, c := range stood {
		if w.standing(c) {
			w.t.Fatalf("%s says that nothing of %s stays\n%q\n%q", what, c, before, w.text())
		}
	}
}

// check holds what the log lists against the runes.
func (w *truth) check() {
	for r, n := range runes(w.text()) {
		if n > 1 {
			w.t.Fatalf("%c is there %d times in %q", r, n, w.text())
		}
	}
	listed, live := map[string]bool{}, runes(w.text())
	for _, f := range w.log.List(w.desk.t.Context(), "", filepath.Base) {
		for _, h := range f.Hunks {
			listed[h.Call] = true
			inside := runes(h.Now.Slice(h.Start, h.End))
			for r := range runes(h.New) {
				if w.wrote[r] == h.Call && live[r] > 0 && inside[r] == 0 {
					w.t.Fatalf("hunk %s wrote %c, which stands outside %q of %q", h.ID, r, h.Now.Slice(h.Start, h.End), w.text())
				}
			}
		}
	}
	for _, c := range w.calls {
		if s := w.standing(c); listed[c] != s && !w.blanks[c] {
			w.t.Fatalf("%s: listed %v, standing %v in %q", c, listed[c], w.standing(c), w.text())
		}
	}
}

// Whatever person, agent, the editor's own undo and ours do to one text in whatever order: nothing typed is lost or doubled
// by taking changes back, of what is said to be gone nothing is left, and the list is what is true.
func TestReviewProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		old := ""
		for i := range rapid.IntRange(1, 8).Draw(rt, "lines") {
			old += fmt.Sprintf("%c %c%c\n", firstOld+3*i, firstOld+3*i+1, firstOld+3*i+2)
		}
		w := &truth{
			desk: newDesk(t, old, true), t: rt, typed: firstTyped, made: firstMade,
			wrote: map[rune]string{}, killer: map[rune]string{}, turns: map[string]int{}, blanks: map[string]bool{},
		}
		w.did(old, "")
		ctx := t.Context()
		rt.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { w.check() },
			"type": func(rt *rapid.T) {
				w.t = rt
				start, end := w.span()
				fresh := ""
				if start == end || rapid.Bool().Draw(rt, "insert") {
					fresh = w.fresh(&w.typed)
				}
				w.step("user", func() { w.change(text.Set{{Start: start, End: end, New: fresh}}) })
			},
			"agent":       func(rt *rapid.T) { w.t = rt; w.call() },
			"editor undo": func(rt *rapid.T) { w.t = rt; w.editor(&w.undo, &w.redo) },
			"editor redo": func(rt *rapid.T) { w.t = rt; w.editor(&w.redo, &w.undo) },
			"undo": func(rt *rapid.T) {
				w.t = rt
				if len(w.calls) == 0 {
					return
				}
				var s Scope
				calls := w.calls
				switch rapid.IntRange(0, 3).Draw(rt, "scope") {
				case 0:
					s.Call = rapid.SampledFrom(w.calls).Draw(rt, "call")
					calls = []string{s.Call}
				case 1:
					n := rapid.IntRange(1, 3).Draw(rt, "turn")
					s.Turn = &n
					calls = slices.DeleteFunc(slices.Clone(calls), func(c string) bool { return w.turns[c] != n })
				case 2:
					s.Path = w.path
				default:
					s.All = true
				}
				w.takeBack(fmt.Sprintf("undo %+v", s), calls, func() int { return len(w.log.Undo(ctx, s).Conflicts) })
			},
			"reject": func(rt *rapid.T) {
				w.t = rt
				hunks := w.log.Marks(w.path)
				if len(hunks) == 0 {
					return
				}
				h := rapid.SampledFrom(hunks).Draw(rt, "hunk")
				w.takeBack("reject "+h.ID, []string{h.Call}, func() int {
					j := w.log.Reject(ctx, "", []string{h.ID})
					if len(j.Changed)+len(j.Conflicts) != 1 {
						rt.Fatalf("one hunk was asked for: %+v", j)
					}
					left := slices.IndexFunc(w.log.Marks(w.path), func(o Hunk) bool { return o.ID == h.ID })
					if (left >= 0) != (len(j.Conflicts) == 1) {
						rt.Fatalf("%+v, and the hunk is listed at %d", j, left)
					}
					return len(j.Conflicts) + len(w.log.Marks(w.path)) // other hunks of the call may stay
				})
			},
			"accept": func(rt *rapid.T) {
				w.t = rt
				w.log.Accept("", nil)
			},
		})
	})
}

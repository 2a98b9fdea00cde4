package text

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// typist writes lines of real code into a file key by key, as a person does: with slips
// that are taken back, an editor that indents and closes brackets, and detours to lines
// nearby in which a word is exchanged.
type typist struct {
	r     *rand.Rand
	now   string
	caret int
	home  int      // where the code goes on after a detour
	code  []string // lines that are still to be written
	todo  []string // keys of the burst that are still to come; "\b" takes one back
}

// newTypist takes some lines out of a file, for the person to write them again.
func newTypist(r *rand.Rand, file string) *typist {
	lines := strings.SplitAfter(file, "\n")
	at := 1 + r.IntN(len(lines)-1)
	end := min(len(lines), at+20)
	p := &typist{r: r, code: slices.Clone(lines[at:end])}
	before := strings.Join(lines[:at], "")
	p.now, p.caret = before+strings.Join(lines[end:], ""), len(before)-1
	p.home = p.caret
	return p
}

// key does what the next key does, and returns it as an edit.
func (p *typist) key() Edit {
	if len(p.todo) == 0 {
		p.plan()
	}
	k := p.todo[0]
	p.todo = p.todo[1:]
	e := Edit{p.caret, p.caret, k}
	switch k {
	case "\b":
		_, n := utf8.DecodeLastRuneInString(p.now[:p.caret])
		e = Edit{p.caret - n, p.caret, ""}
	case "(":
		e.New = "()"
	case ")": // typed over
		if strings.HasPrefix(p.now[p.caret:], ")") {
			e = Edit{p.caret, p.caret + 1, k}
		}
	}
	p.land(Set{e})
	if p.caret = e.Start + len(e.New); k == "(" {
		p.caret--
	}
	return e
}

// land takes in an edit, whoever made it.
func (p *typist) land(s Set) {
	p.caret, p.home = s.MapPos(p.caret, true), s.MapPos(p.home, true)
	p.now = splice(p.now, s)
}

func (p *typist) plan() {
	n := p.r.IntN(10)
	switch {
	case n < 8 && len(p.code) > 0: // the next line; what indents it comes with the line end
		p.caret = p.home
		line := strings.TrimSuffix(p.code[0], "\n")
		p.code = p.code[1:]
		p.todo = append(p.todo, "\n"+head(line))
		p.write(strings.TrimSpace(line))
	default:
		line := max(0, New(p.now).Line(p.home)+p.r.IntN(21)-10)
		x := New(p.now)
		start := x.LineStart(line)
		p.caret = x.LineEnd(line)
		if ws := words(x.Slice(start, p.caret)); len(ws) > 0 {
			w := ws[p.r.IntN(len(ws))]
			p.caret = start + w.End
			p.todo = slices.Repeat([]string{"\b"}, utf8.RuneCountInString(x.Slice(start+w.Start, start+w.End)))
		}
		p.write(author{p.r, "my"}.word())
	}
}

func (p *typist) write(text string) {
	for _, c := range text {
		if p.r.IntN(25) == 0 {
			p.todo = append(p.todo, string('a'+rune(p.r.IntN(26))), "\b")
		}
		p.todo = append(p.todo, string(c))
	}
}

// linesOnly returns edits of whole lines that turn a into b.
func linesOnly(a, b string, at int) Set {
	d := newDiffer(0)
	la, lb := d.sequence(a, eolEnd), d.sequence(b, eolEnd)
	var out Set
	for _, h := range d.diff(la, lb) {
		out = append(out, Edit{at + la.at(h.a0), at + la.at(h.a1), lb.slice(h.b0, h.b1)})
	}
	return out
}

// rewritten is what a model makes of a few lines that it quotes.
func (a author) rewritten(lines []string) []string {
	out := append([]string(nil), lines...)
	for range 1 + a.r.IntN(2) {
		k := a.r.IntN(len(out))
		switch n := a.r.IntN(20); {
		case n < 12:
			out[k] = a.renamed(out[k])
		case n < 17:
			out = append(out[:k], append([]string{a.line()}, out[k:]...)...)
		case n < 18:
			out[k] = a.line()
		case len(out) > 1:
			out = append(out[:k], out[k+1:]...)
		}
	}
	return out
}

// meets reports whether an edit takes away what stands on either side of a place.
func meets(s Set, at int) bool {
	return slices.ContainsFunc(s, func(e Edit) bool { return e.Start < e.End && e.Start <= at && at <= e.End })
}

// TestConflictsWithTyping has a model edit while a person types: it quotes lines, four
// times in five within ten lines of the caret, and its edit arrives up to forty keys
// later. How often that is a conflict depends on how fine the hunks of the edit are.
// Edits that take away the very word that is being written are counted apart: they have
// to be conflicts.
func TestConflictsWithTyping(t *testing.T) {
	var edits, block, line, token, near, caret, caretToken int
	for i, base := range corpus(t, 600, 4) {
		r := rand.New(rand.NewPCG(uint64(i), 21))
		p := newTypist(r, base)
		a := author{r, "agent"}
		for range 8 {
			seen, at := New(p.now), 0
			if at = seen.Line(p.caret) + r.IntN(21) - 10; r.IntN(5) == 0 {
				at = r.IntN(seen.LineCount())
			}
			at = max(0, min(at, seen.LineCount()-2))
			start, end := seen.LineStart(at), seen.LineStart(at+1+r.IntN(8))
			old := seen.Slice(start, end)
			whole := Set{{start, end, strings.Join(a.rewritten(slices.Collect(strings.Lines(old))), "")}}
			fine := Minimize(seen, whole)
			half := meets(fine, p.caret)
			var keys []Set
			for range 1 + r.IntN(40) {
				keys = append(keys, Set{p.key()})
			}
			theirs := ComposeAll(keys)
			if splice(seen.String(), theirs) != p.now {
				t.Fatal("the keys do not make the text")
			}
			conflict := func(ours Set) int { return min(1, len(Rebase(seen, ours, theirs).Conflicts)) }
			if half {
				caret++
				caretToken += conflict(fine)
				continue
			}
			edits++
			block += conflict(whole)
			line += conflict(linesOnly(old, whole[0].New, start))
			token += conflict(fine)
			if slices.ContainsFunc(theirs, func(e Edit) bool { return abs(seen.Line(e.Start)-at) <= 10 }) {
				near++
			}
			if m := Rebase(seen, fine, theirs); len(m.Conflicts) == 0 && r.IntN(2) == 0 {
				p.land(m.Set) // and the person goes on
			}
		}
	}
	rate := func(n int) float64 { return 100 * float64(n) / float64(edits) }
	t.Logf("%d edits, %.0f%% with typing within 10 lines; conflicts: tokens %.2f%%, lines %.1f%%, whole block %.1f%%; "+
		"%d of %d edits of the word being written",
		edits, rate(near), rate(token), rate(line), rate(block), caretToken, caret)
	if edits < 2000 || rate(near) < 60 {
		t.Error("too few edits near the caret to mean anything")
	}
	if rate(token) > 1 || token >= line || line >= block {
		t.Error("too many conflicts")
	}
}

package text

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// stroke is one change that an editor tells of: so many bytes before the caret go, and a text comes.
type stroke struct {
	back int
	text string
}

// typist writes lines of real code into a file as a person does: in bursts at the caret, with slips that are taken back
// and words that are completed, an editor that indents and closes brackets, pastes, deletions, detours to lines nearby
// in which a word is exchanged, and now and then a new place to go on at.
type typist struct {
	r     *rand.Rand
	now   string
	caret int
	home  int      // where the code goes on after a detour
	code  []string // lines that are still to be written
	todo  []stroke // of the burst that is going on
	kinds map[string]int
}

// newTypist takes some lines out of a file, for the person to write them again.
func newTypist(r *rand.Rand, file string) *typist {
	lines := strings.SplitAfter(file, "\n")
	at := 1 + r.IntN(len(lines)-1)
	end := min(len(lines), at+20)
	p := &typist{r: r, code: slices.Clone(lines[at:end]), kinds: map[string]int{}}
	before := strings.Join(lines[:at], "")
	p.now, p.caret = before+strings.Join(lines[end:], ""), len(before)-1
	p.home = p.caret
	return p
}

// key does what comes next, and returns it as an edit.
func (p *typist) key() Edit {
	for len(p.todo) == 0 {
		p.plan()
	}
	k := p.todo[0]
	p.todo = p.todo[1:]
	e := Edit{p.caret - k.back, p.caret, k.text}
	switch k.text {
	case "(":
		e.New = "()"
	case ")": // typed over
		if strings.HasPrefix(p.now[p.caret:], ")") {
			e.End++
		}
	}
	p.land(Set{e})
	if p.caret = e.Start + len(e.New); k.text == "(" {
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
	x := New(p.now)
	n := p.r.IntN(100)
	if len(p.code) == 0 {
		n = 70 + n*30/100
	}
	near := min(max(0, x.Line(p.home)+p.r.IntN(21)-10), x.LineCount()-1)
	start, end := x.LineStart(near), x.LineEnd(near)
	did := func(what string) { p.kinds[what]++ }
	switch {
	case n < 64: // the next line; what indents it comes with the line end
		did("line")
		p.caret = p.home
		line := strings.TrimSuffix(p.code[0], "\n")
		p.code = p.code[1:]
		p.todo = append(p.todo, stroke{text: "\n" + head(line)})
		p.write(strings.TrimSpace(line))
	case n < 70: // the next lines come out of the clipboard
		did("paste")
		p.caret = p.home
		k := min(len(p.code), 1+p.r.IntN(5))
		p.todo = append(p.todo, stroke{text: "\n" + strings.TrimSuffix(strings.Join(p.code[:k], ""), "\n")})
		p.code = p.code[k:]
	case n < 88: // another word for one nearby
		did("word")
		p.caret = end
		if ws := words(x.Slice(start, end)); len(ws) > 0 {
			w := ws[p.r.IntN(len(ws))]
			p.caret = start + w.End
			if p.r.IntN(2) == 0 { // selected, and typed over
				p.todo = append(p.todo, stroke{back: w.End - w.Start})
			} else {
				for _, c := range slices.Backward([]rune(x.Slice(start+w.Start, start+w.End))) {
					p.todo = append(p.todo, stroke{back: utf8.RuneLen(c)})
				}
			}
		}
		p.write(author{p.r, "my"}.word())
	case n < 92: // a line nearby goes
		did("line gone")
		if next := x.LineStart(near + 1); next > start {
			p.caret = next
			p.todo = append(p.todo, stroke{back: next - start})
		}
	case n < 96: // a line of the person's own nearby
		did("line put in")
		p.caret = end
		p.todo = append(p.todo, stroke{text: "\n" + head(x.Slice(start, end))})
		p.write(strings.TrimSpace(author{p.r, "my"}.line()))
	default:
		did("moved")
		p.home = x.LineEnd(p.r.IntN(x.LineCount()))
	}
}

// write types a text. Of long words only the beginning is typed now and then, and the editor completes them.
func (p *typist) write(text string) {
	for text != "" {
		n := tokenEnd(text)
		word := text[:n]
		text = text[n:]
		done := len(word)
		if len(word) > 4 && isASCII(word) && p.r.IntN(3) == 0 {
			done = 2 + p.r.IntN(2)
		}
		for _, c := range word[:done] {
			if p.r.IntN(25) == 0 {
				p.todo = append(p.todo, stroke{text: string('a' + rune(p.r.IntN(26)))}, stroke{back: 1})
			}
			p.todo = append(p.todo, stroke{text: string(c)})
		}
		if done < len(word) {
			p.todo = append(p.todo, stroke{done, word})
		}
	}
}

// linesOnly returns edits of whole lines that turn a into b.
func linesOnly(a, b string, at int) Set {
	d := newDiffer(0)
	la, lb := d.sequence(a, eolEnd), d.sequence(b, eolEnd)
	var out Set
	for _, h := range d.lines(la, lb) {
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

// TestConflictsWithTyping has a model edit while a person types: it quotes lines, four times in five within ten lines of
// the caret, and its edit arrives up to forty keys later. How often that is a conflict depends on how fine the hunks of
// the edit are. Edits that take away the very word that is being written have to be conflicts, so the rate is told with
// them and without. The conflicts that are so by R9 or R11 alone are told apart.
func TestConflictsWithTyping(t *testing.T) {
	t.Parallel()
	type count struct{ edits, block, line, token, doubled, word int }
	var all, rest count
	near := 0
	kinds := map[string]int{}
	for i, base := range corpus(t, 600, 4) {
		r := rand.New(rand.NewPCG(uint64(i), 21))
		p := newTypist(r, base)
		p.kinds = kinds
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
			c := count{edits: 1, block: conflict(whole), line: conflict(linesOnly(old, whole[0].New, start)), token: conflict(fine)}
			switch found := Rebase(seen, fine, theirs).Conflicts; {
			case len(found) == 0 || slices.ContainsFunc(found, func(k Conflict) bool { return k.Rule == RuleOverlap || k.Rule == RuleFusion }):
			case slices.ContainsFunc(found, func(k Conflict) bool { return k.Rule == RuleDoubled }):
				c.doubled++
			default:
				c.word++
			}
			for _, sum := range []*count{&all, &rest} {
				if sum == &rest && half {
					continue
				}
				sum.edits += c.edits
				sum.block += c.block
				sum.line += c.line
				sum.token += c.token
				sum.doubled += c.doubled
				sum.word += c.word
			}
			if slices.ContainsFunc(theirs, func(e Edit) bool { return abs(seen.Line(e.Start)-at) <= 10 }) {
				near++
			}
			if m := Rebase(seen, fine, theirs); len(m.Conflicts) == 0 && r.IntN(2) == 0 {
				p.land(m.Set) // and the person goes on
			}
		}
	}
	rate := func(n, of int) float64 { return 100 * float64(n) / float64(of) }
	t.Logf("%d edits, %.0f%% with typing within 10 lines; the person did %v", all.edits, rate(near, all.edits), kinds)
	for i, what := range []string{"all of them", "without those of the word being written"} {
		c := []count{all, rest}[i]
		t.Logf("%s: %d edits, conflicts: tokens %.2f%% (of these by R9 alone %.2f%%, by R11 alone %.2f%%), lines %.1f%%, whole block %.1f%%",
			what, c.edits, rate(c.token, c.edits), rate(c.doubled, c.edits), rate(c.word, c.edits), rate(c.line, c.edits),
			rate(c.block, c.edits))
	}
	if rest.edits < 2000 || rate(near, all.edits) < 60 || len(kinds) < 6 {
		t.Error("too few edits near the caret to mean anything")
	}
	if rate(rest.token, rest.edits) > 1 || rest.token >= rest.line || rest.line >= rest.block {
		t.Error("too many conflicts")
	}
}

// head returns the blanks with which a text begins, up to the end of its first line.
func head(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

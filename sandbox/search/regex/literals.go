package regex

import (
	"bytes"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of what is kept of the literals of a pattern.
const (
	maxExact  = 16  // texts that a part of a pattern is known to be one of
	maxLength = 256 // bytes of each of them
	maxChoice = 64  // texts one of which a match must have
	// mostWritten is how often what is repeated is looked at.
	mostWritten = 8
)

// facts are what is known of the texts that a part of a pattern matches.
type facts struct {
	// exact are all of them, nil where they are not known.
	exact []string
	// need are texts in each of them: one of each list.
	need [][]string
}

// analysis finds the texts that a match must have. fold says that in all of them upper and lower case of ASCII are taken as the same, cased
// that for some letter they are not.
type analysis struct{ fold, cased, looks bool }

func (a *analysis) of(n *node) facts {
	switch n.op {
	case opEmpty:
		return facts{exact: []string{""}}
	case opLook:
		a.looks = true
		return facts{exact: []string{""}}
	case opSet:
		return facts{exact: a.characters(n.set)}
	case opConcat:
		return a.concat(n.subs)
	case opAlt:
		return a.alt(n.subs)
	case opRepeat:
		return a.repeat(n)
	}
	return facts{}
}

// characters are the characters of a small set. Both cases of a letter are one, which makes all literals ones without case.
func (a *analysis) characters(s set) []string {
	if len(s) == 0 || s.size() > maxExact {
		return nil
	}
	var out []string
	for _, p := range s {
		for r := p.lo; r <= p.hi; r++ {
			if other := r ^ 0x20; r < utf8.RuneSelf && r|0x20 >= 'a' && r|0x20 <= 'z' {
				if s.has(other) {
					if a.fold = true; r < other {
						out = append(out, string(other))
					}
					continue
				}
				a.cased = true
			}
			out = append(out, string(r))
		}
	}
	if slices.Contains(out, "\u212A") || slices.Contains(out, "\u017F") { // they are k and s without case
		return nil
	}
	return out
}

func product(a, b []string) []string {
	if len(a)*len(b) > maxExact {
		return nil
	}
	var out []string
	for _, x := range a {
		for _, y := range b {
			if len(x)+len(y) > maxLength {
				return nil
			}
			out = append(out, x+y)
		}
	}
	return out
}

// required is what facts with exact texts say is needed.
func (f facts) required() [][]string {
	if f.exact == nil || slices.Contains(f.exact, "") {
		return f.need
	}
	return append(slices.Clip(f.need), f.exact)
}

func (a *analysis) concat(subs []*node) facts {
	out, cur, whole := facts{}, []string{""}, true
	flush := func() {
		out.need = facts{cur, out.need}.required()
		cur, whole = []string{""}, false
	}
	for _, sub := range written(subs) {
		if sub == nil {
			flush()
			continue
		}
		f := a.of(sub)
		if f.exact != nil {
			if p := product(cur, f.exact); p != nil {
				cur = p
				continue
			}
			flush()
			cur = f.exact
			continue
		}
		flush()
		out.need = append(out.need, f.need...)
	}
	if whole {
		return facts{exact: cur}
	}
	flush()
	return out
}

// written is a sequence with what is repeated in it written out, so that its literals go together with those before it: what comes at
// least so many times that often, and then nil where more may follow.
func written(subs []*node) (out []*node) {
	for _, n := range subs {
		if n.op != opRepeat || n.min == 0 {
			out = append(out, n)
			continue
		}
		once, times := written(n.subs), min(n.min, mostWritten)
		for range times {
			out = append(out, once...)
		}
		if n.max != times {
			out = append(out, nil)
		}
	}
	return out
}

func (a *analysis) alt(subs []*node) facts {
	var exact, choice []string
	known, needed := true, true
	for _, sub := range subs {
		f := a.of(sub)
		known = known && f.exact != nil && len(exact)+len(f.exact) <= maxExact
		exact = append(exact, f.exact...)
		best := choose(f.required())
		needed = needed && best != nil
		choice = append(choice, best...)
	}
	switch {
	case known:
		return facts{exact: exact}
	case needed && len(choice) <= maxChoice:
		return facts{need: [][]string{choice}}
	}
	return facts{}
}

func (a *analysis) repeat(n *node) facts {
	if n.min > 0 {
		return a.concat([]*node{n})
	}
	if f := a.of(n.subs[0]); n.max == 1 && f.exact != nil && len(f.exact) < maxExact {
		return facts{exact: append(slices.Clip(f.exact), "")}
	}
	return facts{}
}

// choose takes the list whose texts are the rarest to be found.
func choose(need [][]string) []string {
	var best []string
	least := 0.0
	for _, texts := range need {
		often := 0.0
		for _, t := range texts {
			often += frequency(t)
		}
		if best == nil || often < least {
			best, least = texts, often
		}
	}
	return best
}

// common are the bytes of source code, roughly from the most frequent one on.
const common = " etarionslcdu\n\tpmfh\"_.,()-g/y0;:1x2bv=w*kAE{}'TSCI>#<OPLRND3MF4j5q6[]8B&79UzGVH!|X+WK?%Q@YJ$Z^`~\\"

// share is roughly which part of a text a byte is.
func share(b byte) float64 {
	if i := strings.IndexByte(common, b); i >= 0 {
		return 0.04 / (1 + float64(i)/12)
	}
	return 0.0002
}

// frequency is roughly how often a text is come by, in parts of a text.
func frequency(t string) float64 {
	f := 1.0
	for i := range len(t) {
		f *= share(t[i])
	}
	return f
}

// finder finds literals by the three bytes of each that are the rarest.
type finder struct {
	window *window
	texts  [ways][]literal
	fold   bool
}

// literal is one of them, in lower case where it is without case. rare is where the three bytes begin.
type literal struct {
	text []byte
	rare int
}

func newFinder(texts []string, fold bool) *finder {
	f := &finder{fold: fold}
	var list []way
	for n, t := range texts {
		if fold {
			t = strings.Map(lower, t)
		}
		var best way
		l := literal{text: []byte(t)}
		for at := 0; at == 0 || at+width <= len(t); at++ {
			if w := l.way(at, fold); at == 0 || w.often() < best.often() {
				best, l.rare = w, at
			}
		}
		list = append(list, best)
		f.texts[n%ways] = append(f.texts[n%ways], l)
	}
	f.window = newWindow(list)
	return f
}

// way is what the bytes may be from a place in the literal on.
func (l *literal) way(at int, fold bool) (w way) {
	for i := range w {
		if at+i >= len(l.text) {
			w[i] = everyByte()
			continue
		}
		b := l.text[at+i]
		if w[i].add(b); fold && b >= 'a' && b <= 'z' {
			w[i].add(b - 0x20)
		}
	}
	return w
}

func lower(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r | 0x20
	}
	return r
}

// find gives a place in a literal that begins at from or after it, and where no other one that does has its three bytes before. It is the
// length of the text where there is none.
func (f *finder) find(text []byte, from int) int {
	for at := from; ; at++ {
		var ways byte
		if at, ways = f.window.find(text, at); at == len(text) {
			return at
		}
		for ; ways != 0; ways &= ways - 1 {
			for i := range f.texts[bits.TrailingZeros8(ways)] {
				l := &f.texts[bits.TrailingZeros8(ways)][i]
				if begin := at - l.rare; begin >= from && l.here(text[begin:], f.fold) {
					return at
				}
			}
		}
	}
}

// here says that a text begins with the literal.
func (l *literal) here(text []byte, fold bool) bool {
	if !fold || len(text) < len(l.text) {
		return bytes.HasPrefix(text, l.text)
	}
	for i, want := range l.text {
		b := text[i]
		if b >= 'A' && b <= 'Z' {
			b |= 0x20
		}
		if b != want {
			return false
		}
	}
	return true
}

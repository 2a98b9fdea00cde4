// Package regex is regular expressions as ripgrep reads them: the syntax of Rust's regex crate with all of Unicode, matched in linear
// time by an automaton that is built while it runs, and with the literals that every match must have.
package regex

import (
	"bytes"
	"strings"
)

// Options say how a pattern is read.
type Options struct {
	IgnoreCase bool
	Word       bool // no word character stands before or after a match
	Fixed      bool // the pattern is a text
	Multiline  bool // a match may run over several lines, and . fits their ends
	// CRLF says that $ stands before the \r at the end of a line too, which nothing else in a pattern with $ fits then, and that a line end
	// in a pattern fits \r\n too. A pattern that names \r is taken as it stands. To ripgrep \r is text.
	CRLF bool
}

// Regexp is a pattern. It is immutable and may be used concurrently.
type Regexp struct {
	program *program
	perl    *perl // in place of program
	// Multiline says that matches may run over several lines: it was asked for, or a line end stands in the pattern.
	Multiline bool
	// Braces says that a brace that repeats nothing was taken literally. Then the whole pattern as a text matches too.
	Braces bool
	need   [][]string
	// finder finds those of need that are best looked for, inner bytes that each match has; one of them is nil, or both where it is better to
	// look at each character. beginning finds where a match may begin, or is nil.
	finder           *finder
	inner, beginning *window
	// complete says that a line with one of those that finder finds matches.
	complete bool
}

// Parse reads a pattern. The error is a *SyntaxError. A pattern that looks around or refers back is matched by another
// engine, which may take long.
func Parse(pattern string, o Options) (*Regexp, error) {
	r, err := parse(pattern, o)
	if se, is := err.(*SyntaxError); is && se.Kind == Perl {
		return parsePerl(pattern, o, se)
	}
	return r, err
}

func parse(pattern string, o Options) (*Regexp, error) {
	windows := o.CRLF && !strings.Contains(pattern, `\r`) && !strings.Contains(pattern, "\r")
	p := &parser{
		in: pattern, line: !o.Multiline, crlf: windows && strings.Contains(pattern, "$"), returns: windows && o.Multiline,
		flags: flags{fold: o.IgnoreCase, dotAll: o.Multiline, multi: true},
	}
	tree, err := p.tree(o)
	if err != nil {
		return nil, err
	}
	if p.newline && !o.Multiline {
		o.Multiline = true
		return parse(pattern, o)
	}
	if err := size(tree); err != nil {
		return nil, err
	}
	if o.Word {
		tree = &node{op: opConcat, subs: []*node{{op: opLook, look: lookHalfStart}, tree, {op: opLook, look: lookHalfEnd}}}
	}
	r := &Regexp{Multiline: o.Multiline, Braces: p.braces}
	if r.program, err = link(tree); err != nil {
		return nil, err
	}
	r.require(tree)
	return r, nil
}

// tree parses the pattern, or takes it literally.
func (p *parser) tree(o Options) (*node, error) {
	n := &node{op: opConcat}
	for _, c := range p.in {
		n.subs = append(n.subs, p.literal(c))
	}
	if o.Fixed {
		return n, nil
	}
	outer := p.newline
	p.newline = false
	p.in = "(?:" + p.in + ")" // as ripgrep does, so that ")(" is a pattern
	read, err := p.parse()
	if err == nil && p.braces {
		p.newline = p.newline || outer
		read = &node{op: opAlt, subs: []*node{read, n}}
	}
	return read, err
}

// size refuses a pattern that stands for too much, before it is written out.
func size(n *node) error {
	if count(n) > maxSteps {
		return &SyntaxError{TooLarge, "pattern stands for too many characters or classes"}
	}
	return nil
}

func count(n *node) int {
	total := 1
	for _, sub := range n.subs {
		total = min(total+count(sub), 2*maxSteps)
	}
	if n.op == opRepeat {
		total *= max(1, n.min, n.max)
	}
	return min(total, 2*maxSteps)
}

// require finds the literals.
func (r *Regexp) require(tree *node) {
	a := &analysis{}
	f := a.of(tree)
	r.need = f.required()
	if r.need != nil && !r.Multiline {
		r.program.alone()
	}
	r.beginning = r.program.beginning()
	most := dense
	if r.beginning != nil {
		most = r.beginning.often
	}
	if best := choose(r.need); best != nil {
		r.finder = newFinder(best, a.fold)
		r.complete = len(r.need) == 1 && f.exact != nil && !a.looks && !(a.fold && a.cased) && !r.Multiline
		if !r.complete && r.finder.window.often > most {
			r.finder = nil // to look at each character takes no longer
		}
	}
	if r.complete || r.Multiline {
		return
	}
	if r.finder != nil {
		most = r.finder.window.often
	}
	if r.inner = r.program.inner(most / 2); r.inner != nil {
		r.finder = nil
	}
}

// seek gives a place from a position on in a line that may have a match, where no other line before may. It is the length of the text where
// there is none.
func (r *Regexp) seek(text []byte, from int) int {
	if r.finder != nil {
		return r.finder.find(text, from)
	}
	at, _ := r.inner.find(text, from)
	return at
}

// Crosses says that a match may have the end of a line in it, or depends on where one is: then a text is searched as one, by ripgrep too.
func (r *Regexp) Crosses() bool { return r.Multiline && (r.program == nil || r.program.crosses()) }

// Required gives texts that every text with a match has: one of each list. Upper and lower case of ASCII are not told apart.
func (r *Regexp) Required() [][]string { return r.need }

// Matcher makes a way to match, which is for one goroutine. Stop, where it is not nil, is asked now and then whether to give up;
// what is found then means nothing.
func (r *Regexp) Matcher(stop func() bool) *Matcher {
	m := &Matcher{r: r, stop: stop}
	if r.program != nil {
		m.dfa = newDFA(r.program, r.beginning)
		m.dfa.stop = stop
		m.spans = spans{p: r.program, stop: stop}
	}
	return m
}

// Matcher looks for matches in texts. Lines end in \n alone.
type Matcher struct {
	r     *Regexp
	dfa   *dfa
	spans spans
	stop  func() bool

	// sought is how many lines of the present text were looked at without a match, passed how many bytes were passed over for them, crowded
	// that these were too few: then each character is looked at.
	sought, passed int
	crowded        bool
}

// Lines calls visit with the bounds of each line that has a match, until it answers false. Only for patterns whose matches do not cross
// ends of lines.
func (m *Matcher) Lines(text []byte, visit func(start, end int) bool) {
	m.sought, m.passed, m.crowded = 0, 0, false
	for from := 0; from < len(text); {
		start, end, ok := m.line(text[from:], 0) // what is before does not count, as with ripgrep
		if !ok || !visit(from+start, from+end) {
			return
		}
		from += end + 1
	}
}

// leastPassed is how many bytes have to be passed over for a line that is looked at, on average, to be worth it.
const leastPassed = 64

// line finds the next line with a match. from is where a line begins.
func (m *Matcher) line(text []byte, from int) (start, end int, ok bool) {
	if m.r.perl != nil {
		return m.perlLine(text, from)
	}
	if m.r.finder == nil && m.r.inner == nil || m.crowded {
		last := len(text)
		if text[last-1] == '\n' {
			last--
		}
		at := m.dfa.find(text, from, last)
		if at < 0 {
			return 0, 0, false
		}
		start, end = bounds(text, at)
		return start, end, true
	}
	for from < len(text) {
		at := m.r.seek(text, from)
		if at == len(text) {
			return 0, 0, false
		}
		start, end = bounds(text, at)
		if m.r.complete || m.dfa.find(text, start, end) >= 0 {
			return start, end, true
		}
		if m.stop != nil && m.dfa.work == 0 && m.stop() {
			return 0, 0, false
		}
		m.sought, m.passed = m.sought+1, m.passed+start-from
		from = end + 1
		if m.sought == 64 {
			if m.passed < 64*leastPassed {
				m.crowded = true
				return m.line(text, min(from, len(text)-1))
			}
			m.sought, m.passed = 0, 0
		}
	}
	return 0, 0, false
}

// bounds is the line around a position.
func bounds(text []byte, at int) (start, end int) {
	start = bytes.LastIndexByte(text[:at], '\n') + 1
	if end = bytes.IndexByte(text[at:], '\n'); end < 0 {
		return start, len(text)
	}
	return start, at + end
}

// Has says that a text has a match.
func (m *Matcher) Has(text []byte) bool {
	if m.r.perl != nil {
		_, _, ok := m.Find(text, 0)
		return ok
	}
	return (m.r.finder == nil || m.r.finder.find(text, 0) < len(text)) && m.dfa.find(text, 0, len(text)) >= 0
}

// Bounds of what Near looks at.
const (
	nearBefore = 8 << 10
	nearAfter  = 1 << 10
)

// Near gives a place in a line that has a match, at which one begins, or near its end where it is longer than some kilobytes. It is the
// first one, unless that is as far before the one that ends first.
func (m *Matcher) Near(line []byte) int {
	if m.r.perl != nil {
		start, _, _ := m.perlFind(line, 0)
		return start
	}
	end := m.dfa.find(line, 0, len(line))
	if end < 0 {
		return 0
	}
	from := max(0, end-nearBefore)
	if start, _, ok := m.spans.find(line[:min(len(line), end+nearAfter)], from); ok {
		return start
	}
	return end
}

// Find gives the first match from a position on: of those that begin first the one that the pattern prefers.
func (m *Matcher) Find(text []byte, from int) (start, end int, ok bool) {
	if m.r.perl != nil {
		return m.perlFind(text, from)
	}
	return m.spans.find(text, from)
}

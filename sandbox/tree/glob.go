package tree

import (
	"errors"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// glob is a pattern of paths as ripgrep reads it (Rust's crate globset): * and ? and no more stop
// at a slash, {a,b} are alternatives, ** as a whole name is any number of names. It is about bytes,
// so a ? fits one byte of a letter that has two. A path is matched in time that is linear in its
// length, whatever the pattern. It is immutable.
type glob struct {
	kind byte
	text string // of a name, an ending or a path
	// ending is what every path ends with that fits.
	ending string
	m      matcher
}

// The kinds of globs. Most are a name, or a star and an ending, for which no pattern has to be
// matched.
const (
	aPattern     byte = iota // the whole path
	aNamePattern             // the last name
	aName                    // the last name is text
	anEnding                 // the last name ends with text
	aPath                    // the whole path is text
	anything
)

var (
	errClass  = errors.New("a bracket is not closed")
	errBraces = errors.New("a brace is not closed, or was not opened")
	errEscape = errors.New("nothing follows the last \\")
	errRange  = errors.New("a range ends before it begins")
	errLong   = errors.New("it is too long")
)

// parseGlob reads a pattern. With openClass a bracket that is not closed is taken as it stands.
func parseGlob(pattern string, openClass bool) (*glob, error) {
	p := &globParser{in: []rune(pattern), openClass: openClass, branches: [][]token{nil}}
	if err := p.parse(); err != nil {
		return nil, err
	}
	if len(p.branches) > 1 {
		return nil, errBraces
	}
	tokens := p.branches[0]
	if len(tokens) == 1 && tokens[0].kind == anyFolders {
		return &glob{kind: anything}, nil
	}
	g := &glob{}
	begin := len(tokens)
	for begin > 0 && tokens[begin-1].kind == aByte {
		begin--
	}
	g.ending = letters(tokens[begin:])
	switch rest := tokens[min(1, len(tokens)):]; {
	case begin == 0:
		g.kind, g.text = aPath, g.ending
		return g, nil
	case tokens[0].kind != anyFolders || len(rest) == 0 || slices.ContainsFunc(rest, token.leavesName):
	case begin == 1:
		g.kind, g.text = aName, g.ending
		return g, nil
	case begin == 2 && tokens[1].kind == aStar:
		g.kind, g.text = anEnding, g.ending
		return g, nil
	default:
		g.kind, tokens = aNamePattern, rest
	}
	return g, g.m.compile(tokens)
}

// ofName says that the pattern is about the last name of a path alone.
func (g *glob) ofName() bool { return g.kind == aName || g.kind == anEnding || g.kind == aNamePattern }

// fits says that the pattern is one of a path, whose last name is name.
func (g *glob) fits(path, name string) bool {
	switch g.kind {
	case anything:
		return true
	case aName:
		return g.text == name
	case anEnding:
		return strings.HasSuffix(name, g.text)
	case aPath:
		return g.text == path
	case aNamePattern:
		return strings.HasSuffix(name, g.ending) && g.m.match(name)
	}
	return strings.HasSuffix(path, g.ending) && g.m.match(path)
}

// token is a part of a pattern.
type token struct {
	kind byte
	set  byteSet   // of aByte, with that alone, and of aClass
	alts [][]token // of aChoice
}

// The kinds of tokens.
const (
	aByte byte = iota
	aClass
	aStar           // any bytes but slashes
	anyFolders      // **/ at the beginning
	anyBelow        // /** at the end
	anyFoldersAfter // /**/
	aChoice
)

// leavesName says that a token may fit a slash, or is one that takes more to tell.
func (t token) leavesName() bool {
	return t.kind != aStar && (t.kind > aClass || t.set.has('/'))
}

func letters(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte(t.set.first())
	}
	return b.String()
}

// byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) add(b byte)     { s[b/64] |= 1 << (b % 64) }
func (s byteSet) has(b byte) bool { return s[b/64]>>(b%64)&1 != 0 }

func (s byteSet) first() byte {
	for b := range 256 {
		if s.has(byte(b)) {
			return byte(b)
		}
	}
	return 0
}

func (s byteSet) not() byteSet {
	for i := range s {
		s[i] = ^s[i]
	}
	return s
}

func oneByte(b byte) (s byteSet) {
	s.add(b)
	return s
}

// globParser reads a pattern. The names and the order of what it does are those of globset, so that
// odd patterns are read alike.
type globParser struct {
	in        []rune
	at        int // what was read last stands before it
	openClass bool
	open      bool // a bracket was found that is not closed
	// branches are the alternatives that are open, the pattern itself first; begun says where those
	// of each brace begin.
	branches [][]token
	begun    []int
}

func (p *globParser) push(t token) {
	last := len(p.branches) - 1
	p.branches[last] = append(p.branches[last], t)
}

func (p *globParser) literal(r rune) {
	for _, b := range utf8.AppendRune(nil, r) {
		p.push(token{kind: aByte, set: oneByte(b)})
	}
}

// peek is what comes next, -1 at the end.
func (p *globParser) peek() rune {
	if p.at == len(p.in) {
		return -1
	}
	return p.in[p.at]
}

func (p *globParser) parse() error {
	for p.at < len(p.in) {
		r := p.in[p.at]
		p.at++
		switch {
		case r == '?':
			p.push(token{kind: aClass, set: oneByte('/').not()})
		case r == '*':
			p.star()
		case r == '[' && !p.open:
			if err := p.class(); err != nil {
				return err
			}
		case r == '{':
			p.begun = append(p.begun, len(p.branches))
			p.branches = append(p.branches, nil)
		case r == '}':
			if len(p.begun) == 0 {
				return errBraces
			}
			from := p.begun[len(p.begun)-1]
			p.begun = p.begun[:len(p.begun)-1]
			alts := slices.Clone(p.branches[from:])
			p.branches = p.branches[:from]
			p.push(token{kind: aChoice, alts: alts})
		case r == ',' && len(p.begun) > 0:
			p.branches = append(p.branches, nil)
		case r == '\\':
			if p.at == len(p.in) {
				return errEscape
			}
			p.literal(p.in[p.at])
			p.at++
		default:
			p.literal(r)
		}
	}
	return nil
}

// star reads what follows a *.
func (p *globParser) star() {
	if p.peek() != '*' {
		p.push(token{kind: aStar})
		return
	}
	before := rune(-1)
	if p.at > 1 {
		before = p.in[p.at-2]
	}
	p.at++
	two := func() { p.push(token{kind: aStar}); p.push(token{kind: aStar}) }
	now := p.branches[len(p.branches)-1]
	next := p.peek()
	switch {
	case len(now) == 0 && next != -1 && next != '/':
		two()
		return
	case len(now) == 0:
		p.push(token{kind: anyFolders})
		p.at = min(p.at+1, len(p.in))
		return
	case before != '/' && (len(p.branches) <= 1 || before != ',' && before != '{'):
		two()
		return
	}
	kind := anyFoldersAfter
	switch {
	case next == -1 || (next == ',' || next == '}') && len(p.branches) >= 2:
		kind = anyBelow
	case next == '/':
		p.at++
	default:
		two()
		return
	}
	if last := now[len(now)-1].kind; last != anyFolders && last != anyBelow {
		now[len(now)-1] = token{kind: kind} // in place of the slash before
	}
}

// class reads what follows a [.
func (p *globParser) class() error {
	begun := p.at
	not := false
	if r := p.peek(); r == '!' || r == '^' {
		not = true
		p.at++
	}
	type span struct{ lo, hi rune }
	var spans []span
	first, inRange := true, false
	for ; ; first = false {
		if p.at == len(p.in) {
			if !p.openClass {
				return errClass
			}
			p.at, p.open = begun, true
			p.literal('[')
			return nil
		}
		r := p.in[p.at]
		p.at++
		if r == ']' && !first {
			break
		}
		switch {
		case r == '-' && !first && !inRange:
			inRange = true
			continue
		case inRange:
			last := &spans[len(spans)-1]
			if last.hi = r; r < last.lo {
				return errRange
			}
		default:
			spans = append(spans, span{r, r})
		}
		inRange = false
	}
	if inRange {
		spans = append(spans, span{'-', '-'})
	}
	var set byteSet
	for _, s := range spans {
		// Of a letter with more than one byte each is in the set; a range is one from the last byte
		// to the first.
		lo, hi := utf8.AppendRune(nil, s.lo), utf8.AppendRune(nil, s.hi)
		for _, b := range slices.Concat(lo, hi) {
			set.add(b)
		}
		for b := int(lo[len(lo)-1]); b <= int(hi[0]) && s.lo != s.hi; b++ {
			set.add(byte(b))
		}
	}
	if not {
		set = set.not()
	}
	p.push(token{kind: aClass, set: set})
	return nil
}

// matcher is a pattern as an automaton whose states are the places in it that fit one byte.
type matcher struct {
	words int // of a set of states
	// has are the states that fit each byte, first those that may come first, follow those that may
	// come after each state, last those at which the pattern may end.
	has, first, last, follow []uint64
	empty                    bool // it fits the empty text
}

// maxStates is how long a pattern may be.
const maxStates = 4096

func (m *matcher) compile(tokens []token) error {
	c := &globCompiler{}
	whole := c.sequence(tokens)
	if len(c.sets) > maxStates {
		return errLong
	}
	m.words = (len(c.sets) + 63) / 64
	set := func(states []int) []uint64 {
		out := make([]uint64, m.words)
		for _, s := range states {
			out[s/64] |= 1 << (s % 64)
		}
		return out
	}
	m.first, m.last, m.empty = set(whole.first), set(whole.last), whole.empty
	for _, f := range c.follow {
		m.follow = append(m.follow, set(f)...)
	}
	for b := range 256 {
		var states []int
		for s, bytes := range c.sets {
			if bytes.has(byte(b)) {
				states = append(states, s)
			}
		}
		m.has = append(m.has, set(states)...)
	}
	return nil
}

// match says that a text fits.
func (m *matcher) match(text string) bool {
	if len(text) == 0 {
		return m.empty
	}
	if m.words == 1 {
		return m.short(text)
	}
	now, may := make([]uint64, m.words), slices.Clone(m.first)
	for i := range len(text) {
		any := uint64(0)
		for w := range now {
			now[w] = may[w] & m.has[m.words*int(text[i])+w]
			any |= now[w]
		}
		if any == 0 {
			return false
		}
		clear(may)
		for w, left := range now {
			for ; left != 0; left &= left - 1 {
				from := m.words * (64*w + bits.TrailingZeros64(left))
				for v, f := range m.follow[from : from+m.words] {
					may[v] |= f
				}
			}
		}
	}
	for w, last := range m.last {
		if now[w]&last != 0 {
			return true
		}
	}
	return false
}

// short is match for a pattern with up to 64 states.
func (m *matcher) short(text string) bool {
	now, may := uint64(0), m.first[0]
	for i := range len(text) {
		if now = may & m.has[text[i]]; now == 0 {
			return false
		}
		may = 0
		for left := now; left != 0; left &= left - 1 {
			may |= m.follow[bits.TrailingZeros64(left)]
		}
	}
	return now&m.last[0] != 0
}

// part is what is known of a part of a pattern: whether it may be empty, and the states that may
// come first and last in it.
type part struct {
	empty       bool
	first, last []int
}

// globCompiler makes the states.
type globCompiler struct {
	sets   []byteSet
	follow [][]int
}

func (c *globCompiler) state(s byteSet) part {
	n := len(c.sets)
	c.sets, c.follow = append(c.sets, s), append(c.follow, nil)
	return part{first: []int{n}, last: []int{n}}
}

func (c *globCompiler) then(a, b part) part {
	for _, s := range a.last {
		c.follow[s] = append(c.follow[s], b.first...)
	}
	out := part{empty: a.empty && b.empty, first: a.first, last: b.last}
	if a.empty {
		out.first = slices.Concat(a.first, b.first)
	}
	if b.empty {
		out.last = slices.Concat(a.last, b.last)
	}
	return out
}

// many is any number of bytes of a set.
func (c *globCompiler) many(s byteSet) part {
	p := c.state(s)
	p.empty = true
	c.follow[p.first[0]] = append(c.follow[p.first[0]], p.first...)
	return p
}

// folders is any number of names, each with its slash.
func (c *globCompiler) folders() part {
	p := c.then(c.many(byteSet{}.not()), c.state(oneByte('/')))
	p.empty = true
	return p
}

func (c *globCompiler) sequence(tokens []token) part {
	out := part{empty: true}
	for _, t := range tokens {
		if len(c.sets) > maxStates {
			return out
		}
		var p part
		switch t.kind {
		case aByte, aClass:
			p = c.state(t.set)
		case aStar:
			p = c.many(oneByte('/').not())
		case anyFolders:
			p = c.folders()
		case anyBelow:
			p = c.then(c.state(oneByte('/')), c.many(byteSet{}.not()))
		case anyFoldersAfter:
			p = c.then(c.state(oneByte('/')), c.folders())
		case aChoice:
			p = c.choice(t.alts)
		}
		out = c.then(out, p)
	}
	return out
}

// choice is one of the alternatives; those that are empty count for nothing.
func (c *globCompiler) choice(alts [][]token) part {
	out, none := part{}, true
	for _, alt := range alts {
		if !nothing(alt) {
			p := c.sequence(alt)
			out.empty, out.first, out.last = out.empty || p.empty, append(out.first, p.first...), append(out.last, p.last...)
			none = false
		}
	}
	out.empty = out.empty || none
	return out
}

// nothing says that tokens are no more than empty alternatives.
func nothing(tokens []token) bool {
	return !slices.ContainsFunc(tokens, func(t token) bool {
		return t.kind != aChoice || slices.ContainsFunc(t.alts, func(alt []token) bool { return !nothing(alt) })
	})
}

package regex

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// op says what a node matches.
type op uint8

const (
	opEmpty  op = iota // the empty text
	opSet              // one character of set
	opLook             // the empty text at a place of the kind look
	opConcat           // subs one after the other
	opAlt              // one of subs, the first that leads to a match
	opRepeat           // subs[0] from min to max times, max < 0 for no end
)

// node is a pattern as a tree. A node may be in it more than once; it is not changed after parsing.
type node struct {
	op       op
	set      set
	look     look
	subs     []*node
	min, max int
	lazy     bool
}

// look is a kind of place between two characters.
type look uint8

const (
	lookLineStart look = iota
	lookLineEnd
	lookTextStart
	lookTextEnd
	lookCRLFStart // as lookLineStart, where lines end at \r, \n and \r\n
	lookCRLFEnd
	lookWord    // a word begins or ends
	lookNotWord // neither
	lookWordStart
	lookWordEnd
	lookHalfStart               // no word goes on before it
	lookHalfEnd                 // no word goes on after it
	lookASCII     look = 1 << 6 // words are of ASCII
)

// Kind says what is wrong with a pattern.
type Kind uint8

// The kinds of errors.
const (
	Invalid    Kind = iota
	Unbalanced      // a bracket or a parenthesis without the other one
	Perl            // it looks around or refers back, which takes another engine
	TooLarge        // it stands for too many characters
)

// SyntaxError is the error of a pattern that is none.
type SyntaxError struct {
	Kind    Kind
	Message string
}

func (e *SyntaxError) Error() string { return e.Message }

// flags are what (?flags) sets.
type flags struct{ fold, dotAll, multi, swap, ascii, spaced, crlf bool }

// parser reads the syntax of Rust's regex crate.
type parser struct {
	in    string
	at    int
	flags flags
	// line says that a match stays within a line: then no set has the line end.
	line    bool
	newline bool // a line end stands in the pattern
	crlf    bool // only $ fits a \r, see Options
	returns bool // a line end fits \r\n too, see Options
	braces  bool // a brace that repeats nothing was taken literally
	names   map[string]bool
	depth   int
}

// maxDepth is how deep groups may be nested.
const maxDepth = 250

func (p *parser) fail(kind Kind, format string, args ...any) error {
	return &SyntaxError{kind, fmt.Sprintf(format, args...)}
}

func (p *parser) more() bool { return p.at < len(p.in) }

func (p *parser) peek() rune {
	r, _ := utf8.DecodeRuneInString(p.in[p.at:])
	return r
}

func (p *parser) next() rune {
	r, n := utf8.DecodeRuneInString(p.in[p.at:])
	p.at += n
	return r
}

func (p *parser) take(s string) bool {
	if !strings.HasPrefix(p.in[p.at:], s) {
		return false
	}
	p.at += len(s)
	return true
}

// skip passes over blanks and remarks where (?x) is on.
func (p *parser) skip() {
	for p.flags.spaced && p.more() {
		r := p.peek()
		switch {
		case spaces().has(r):
			p.next()
		case r == '#':
			for p.more() && p.next() != '\n' { // a remark ends with its line
			}
		default:
			return
		}
	}
}

// parse reads a whole pattern.
func (p *parser) parse() (*node, error) {
	n, err := p.alternation()
	if err == nil && p.more() {
		return nil, p.fail(Unbalanced, "unexpected )")
	}
	return n, err
}

func (p *parser) alternation() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(TooLarge, "groups are nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	var subs []*node
	for {
		n, err := p.concatenation()
		if err != nil {
			return nil, err
		}
		subs = append(subs, n)
		if !p.take("|") {
			break
		}
	}
	if len(subs) == 1 {
		return subs[0], nil
	}
	return &node{op: opAlt, subs: subs}, nil
}

func (p *parser) concatenation() (*node, error) {
	n := &node{op: opConcat}
	repeatable := false
	for {
		p.skip()
		if !p.more() {
			return n, nil
		}
		switch c := p.peek(); c {
		case '|', ')':
			return n, nil
		case '*', '+', '?':
			p.next()
			if !repeatable {
				return nil, p.fail(Invalid, "repetition operator missing expression: %c repeats nothing", c)
			}
			low, high := 0, -1
			if c == '+' {
				low = 1
			} else if c == '?' {
				high = 1
			}
			p.repeat(n, low, high)
		case '{':
			low, high, ok, err := p.counted()
			if err != nil {
				return nil, err
			}
			if ok && repeatable {
				p.repeat(n, low, high)
				continue
			}
			p.braces = true
			p.next()
			n.subs = append(n.subs, p.literal('{'))
			repeatable = true
		default:
			sub, err := p.atom()
			if err != nil {
				return nil, err
			}
			if repeatable = sub != nil; repeatable {
				n.subs = append(n.subs, sub)
			}
		}
	}
}

// repeat makes the last node of a concatenation one that is repeated.
func (p *parser) repeat(n *node, low, high int) {
	last := len(n.subs) - 1
	lazy := p.take("?") != p.flags.swap
	n.subs[last] = &node{op: opRepeat, subs: []*node{n.subs[last]}, min: low, max: high, lazy: lazy}
}

// counted reads {2}, {2,} or {2,3}; ok is false, and nothing is read, where there is no such.
func (p *parser) counted() (low, high int, ok bool, err error) {
	begun := p.at
	p.at++
	number := func() (n int, ok bool) {
		p.blank()
		from := p.at
		for p.more() && p.in[p.at] >= '0' && p.in[p.at] <= '9' {
			p.at++
		}
		digits := p.in[from:p.at]
		p.blank()
		n, err := strconv.Atoi(digits)
		if err != nil && digits != "" {
			n = maxSteps + 1
		}
		return n, digits != ""
	}
	low, ok = number()
	high = low
	if ok && p.take(",") {
		if n, bounded := number(); bounded {
			high = n
		} else {
			high = -1
		}
	}
	if !ok || !p.take("}") {
		p.at = begun
		return 0, 0, false, nil
	}
	if high >= 0 && high < low {
		return 0, 0, false, p.fail(Invalid, "invalid repetition count range: %d is more than %d", low, high)
	}
	return low, high, true, nil
}

func (p *parser) blank() {
	for p.more() && p.in[p.at] == ' ' {
		p.at++
	}
}

// literal matches one character, in all cases where case is ignored.
func (p *parser) literal(r rune) *node {
	p.newline = p.newline || r == '\n'
	s := one(r)
	if p.flags.fold {
		s = s.folded()
	}
	if r == '\n' && p.returns {
		return &node{op: opConcat, subs: []*node{{op: opRepeat, subs: []*node{{op: opSet, set: one('\r')}}, max: 1}, {op: opSet, set: s}}}
	}
	return &node{op: opSet, set: s}
}

// class matches one character of a set.
func (p *parser) class(s set) *node {
	if len(s) == 1 && s[0] == (span{'\n', '\n'}) {
		return p.literal('\n')
	}
	if p.line {
		s = s.without(span{'\n', '\n'})
	}
	if p.crlf {
		s = s.without(span{'\r', '\r'})
	}
	return &node{op: opSet, set: s}
}

// atom reads what can be repeated; nil is a (?flags) alone.
func (p *parser) atom() (*node, error) {
	switch c := p.next(); c {
	case '(':
		return p.group()
	case '[':
		s, err := p.bracket()
		if err != nil {
			return nil, err
		}
		return p.class(s), nil
	case '.':
		if p.flags.ascii {
			return nil, p.fail(Invalid, "(?-u) with a . matches bytes, and searches are of text")
		}
		s := all()
		if !p.flags.dotAll {
			s = s.without(span{'\n', '\n'})
			if p.flags.crlf {
				s = s.without(span{'\r', '\r'})
			}
		}
		return p.class(s), nil
	case '^':
		return p.place(lookLineStart, lookTextStart, lookCRLFStart), nil
	case '$':
		end := p.place(lookLineEnd, lookTextEnd, lookCRLFEnd)
		if p.crlf && end.look == lookLineEnd {
			end = &node{op: opConcat, subs: []*node{{op: opRepeat, subs: []*node{{op: opSet, set: one('\r')}}, max: 1}, end}}
		}
		return end, nil
	case '\\':
		return p.escape()
	default:
		return p.literal(c), nil
	}
}

func (p *parser) place(multi, single, crlf look) *node {
	switch {
	case p.flags.multi && p.flags.crlf:
		return &node{op: opLook, look: crlf}
	case p.flags.multi || p.line:
		return &node{op: opLook, look: multi}
	}
	return &node{op: opLook, look: single}
}

func (p *parser) group() (*node, error) {
	outer := p.flags
	for _, around := range []string{"?=", "?!", "?<=", "?<!", "?>"} {
		if strings.HasPrefix(p.in[p.at:], around) {
			return nil, p.fail(Perl, "look-around, including look-ahead and look-behind, is not supported")
		}
	}
	switch {
	case p.take("?P<"), p.take("?<"):
		end := strings.IndexByte(p.in[p.at:], '>')
		if end <= 0 {
			return nil, p.fail(Invalid, "the name of a group is empty or not closed")
		}
		name := p.in[p.at : p.at+end]
		for i, r := range name {
			if r != '_' && !words().has(r) && (i == 0 || r != '.' && r != '[' && r != ']') || i == 0 && digits().has(r) {
				return nil, p.fail(Invalid, "%q cannot be the name of a group", name)
			}
		}
		if p.names[name] {
			return nil, p.fail(Invalid, "duplicate capture group name %q", name)
		}
		if p.names == nil {
			p.names = map[string]bool{}
		}
		p.names[name] = true
		p.at += end + 1
	case strings.HasPrefix(p.in[p.at:], "?P="), strings.HasPrefix(p.in[p.at:], "?P>"):
		return nil, p.fail(Perl, "backreferences are not supported")
	case p.take("?"):
		alone, err := p.setFlags()
		if err != nil {
			return nil, err
		}
		if alone {
			return nil, nil
		}
	}
	n, err := p.alternation()
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, p.fail(Unbalanced, "missing closing )")
	}
	p.flags = outer
	return n, nil
}

// setFlags reads the flags of a group up to the : or the ), which stands alone.
func (p *parser) setFlags() (alone bool, err error) {
	on := true
	for n := 0; p.more(); n++ {
		switch c := p.next(); c {
		case 'i':
			p.flags.fold = on
		case 's':
			p.flags.dotAll = on
		case 'm':
			p.flags.multi = on
		case 'U':
			p.flags.swap = on
		case 'u':
			p.flags.ascii = !on
		case 'x':
			p.flags.spaced = on
		case 'R':
			p.flags.crlf = on
		case '-':
			if !on {
				return false, p.fail(Invalid, "flag negation operator repeated")
			}
			on = false
		case ':', ')':
			if c == ')' && n == 0 {
				return false, p.fail(Invalid, "repetition operator missing expression: ? repeats nothing")
			}
			return c == ')', nil
		default:
			return false, p.fail(Invalid, "unrecognized flag %q", c)
		}
	}
	return false, p.fail(Unbalanced, "missing closing )")
}

// escape reads what follows a \ outside of brackets.
func (p *parser) escape() (*node, error) {
	if !p.more() {
		return nil, p.fail(Invalid, "incomplete escape sequence: a \\ ends the pattern")
	}
	kind := look(0)
	if p.flags.ascii {
		kind = lookASCII
	}
	at := func(l look) (*node, error) { return &node{op: opLook, look: l}, nil }
	switch c := p.peek(); {
	case c >= '1' && c <= '9' || c == '0':
		return nil, p.fail(Perl, "backreferences are not supported")
	case c == 'A' || c == 'z':
		p.next()
		switch { // a line is all of the text where matches stay within lines
		case c == 'A' && p.line:
			return at(lookLineStart)
		case c == 'A':
			return at(lookTextStart)
		case p.line:
			return at(lookLineEnd)
		}
		return at(lookTextEnd)
	case c == '<' || c == '>' || c == 'B':
		p.next()
		return at(map[rune]look{'<': lookWordStart, '>': lookWordEnd, 'B': lookNotWord}[c] | kind)
	case c == 'b':
		p.next()
		for name, l := range map[string]look{
			"{start}": lookWordStart, "{end}": lookWordEnd, "{start-half}": lookHalfStart, "{end-half}": lookHalfEnd,
		} {
			if p.take(name) {
				return at(l | kind)
			}
		}
		return at(lookWord | kind)
	}
	s, r, err := p.escaped()
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return p.literal(r), nil
	}
	return p.class(s), nil
}

// escaped reads an escape that stands for a set, or for one character where the set is nil.
func (p *parser) escaped() (set, rune, error) {
	if !p.more() {
		return nil, 0, p.fail(Invalid, "incomplete escape sequence: a \\ ends the pattern")
	}
	c := p.next()
	switch c {
	case 'd', 'D', 's', 'S', 'w', 'W':
		s, err := p.letter(c)
		return s, 0, err
	case 'p', 'P':
		s, err := p.property(c == 'P')
		return s, 0, err
	case 'x', 'u', 'U':
		r, err := p.hex(map[rune]int{'x': 2, 'u': 4, 'U': 8}[c])
		return nil, r, err
	case 'a':
		return nil, '\a', nil
	case 'f':
		return nil, '\f', nil
	case 't':
		return nil, '\t', nil
	case 'n':
		return nil, '\n', nil
	case 'r':
		return nil, '\r', nil
	case 'v':
		return nil, '\v', nil
	case 'h', 'H', 'K', 'R', 'Z', 'G', 'X', 'k', 'g':
		return nil, 0, p.fail(Perl, "unrecognized escape sequence \\%c", c)
	}
	if c < utf8.RuneSelf && !asciiWords().has(c) && c != '<' && c != '>' && c > 0 {
		return nil, c, nil
	}
	return nil, 0, p.fail(Invalid, "unrecognized escape sequence \\%c", c)
}

// letter is the set of \d, \s or \w; the capital is what is not in it.
func (p *parser) letter(c rune) (set, error) {
	var s set
	switch c | 0x20 {
	case 'd':
		s = digits()
	case 's':
		s = spaces()
	default:
		s = words()
	}
	if p.flags.ascii {
		s = map[rune]func() set{'d': asciiDigits, 's': asciiSpaces, 'w': asciiWords}[c|0x20]()
	}
	if c&0x20 == 0 {
		if p.flags.ascii {
			return nil, p.fail(Invalid, "(?-u) with \\%c matches bytes, and searches are of text", c)
		}
		s = s.not()
	}
	return s, nil
}

func (p *parser) property(not bool) (set, error) {
	if !p.more() {
		return nil, p.fail(Invalid, "incomplete escape sequence, reached end of pattern prematurely")
	}
	name := ""
	if p.take("{") {
		end := strings.IndexByte(p.in[p.at:], '}')
		if end < 0 {
			return nil, p.fail(Invalid, "incomplete escape sequence: \\p{ is not closed")
		}
		name = p.in[p.at : p.at+end]
		p.at += end + 1
		if k, v, ok := strings.Cut(name, "!="); ok {
			name, not = k+"="+v, !not
		}
	} else {
		name = string(p.next())
	}
	s, ok := property(name)
	if !ok {
		return nil, p.fail(Invalid, "Unicode property not found: %s", name)
	}
	if p.flags.fold {
		s = s.folded()
	}
	if not {
		s = s.not()
	}
	return s, nil
}

// hex reads a character by its number: so many digits, or any number of them in braces.
func (p *parser) hex(n int) (rune, error) {
	text := ""
	if p.take("{") {
		end := strings.IndexByte(p.in[p.at:], '}')
		if end < 0 {
			return 0, p.fail(Invalid, "hexadecimal literal is not closed")
		}
		text = p.in[p.at : p.at+end]
		p.at += end + 1
	} else {
		text = p.in[p.at:min(len(p.in), p.at+n)]
		if len(text) < n {
			return 0, p.fail(Invalid, "incomplete escape sequence, reached end of pattern prematurely")
		}
		p.at += n
	}
	v, err := strconv.ParseUint(text, 16, 32)
	if err != nil || v > utf8.MaxRune || v >= surrogates && v <= lastSurrogate {
		return 0, p.fail(Invalid, "hexadecimal literal %q is not a Unicode scalar value", text)
	}
	return rune(v), nil
}

package git

import (
	"strings"
	"sync"
)

// wildmatch tells whether a pattern fits all of a text, as git's function of that name does, odd
// patterns included. With paths only ** crosses a slash.
func wildmatch(pattern, text string, paths, fold bool) bool {
	m := matcher{p: pattern, t: text, paths: paths, fold: fold}
	return m.match(0, 0) == fits
}

// outcome is how a match ended.
type outcome int8

const (
	untried    outcome = iota
	fits               // all of the text
	differs            // not here; a star may go on
	atAnyStars         // not here; only a star that crosses slashes may go on
	never              // the text is at its end, or the pattern is none
)

// matcher matches one text. Outcomes of the rest of a pattern with the rest of a text are
// remembered, so the time is at most the product of their lengths, where git's is exponential.
type matcher struct {
	p, t        string
	paths, fold bool
	known       []outcome // by the positions in p and t; nil until a star was met
}

// at is a byte, 0 at the end.
func at(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

func (m *matcher) folded(c byte) byte {
	if m.fold {
		return lower(c)
	}
	return c
}

func (m *matcher) match(p, t int) outcome {
	if m.known == nil {
		return m.try(p, t)
	}
	k := &m.known[p*(len(m.t)+1)+t]
	if *k == untried {
		*k = m.try(p, t)
	}
	return *k
}

// try matches the pattern from p on with the text from t on.
func (m *matcher) try(p, t int) outcome {
	for begin := p; p < len(m.p); p, t = p+1, t+1 {
		sign, c := m.p[p], m.folded(at(m.t, t))
		if t >= len(m.t) && sign != '*' {
			return never
		}
		switch sign {
		case '?':
			if m.paths && c == '/' {
				return differs
			}
		case '*':
			return m.star(begin, p, t)
		case '[':
			end, in := m.class(p+1, c)
			if end < 0 {
				return never
			}
			if !in || m.paths && c == '/' {
				return differs
			}
			p = end
		case '\\':
			p++ // what follows is literal, also in capitals where their case does not count
			if p >= len(m.p) || c != m.p[p] {
				return differs
			}
		default:
			if c != m.folded(sign) {
				return differs
			}
		}
	}
	if t < len(m.t) {
		return differs
	}
	return fits
}

// star goes on at stars, which are at p in what is matched from begin on.
func (m *matcher) star(begin, p, t int) outcome {
	if m.known == nil {
		m.known = make([]outcome, (len(m.p)+1)*(len(m.t)+1))
	}
	before, stars := p-1, 0
	for at(m.p, p) == '*' {
		p, stars = p+1, stars+1
	}
	cross := !m.paths
	if m.paths && stars > 1 && (before < begin || m.p[before] == '/') {
		next := at(m.p, p)
		if cross = p >= len(m.p) || next == '/' || next == '\\' && at(m.p, p+1) == '/'; cross && next == '/' && m.match(p+1, t) == fits {
			return fits
		}
	}
	switch {
	case p >= len(m.p):
		if !cross && strings.Contains(m.t[t:], "/") {
			return differs
		}
		return fits
	case !cross && m.p[p] == '/': // one star and a slash: the rest of this name
		slash := strings.IndexByte(m.t[t:], '/')
		if slash < 0 {
			return differs
		}
		return m.try(p+1, t+slash+1)
	}
	for ; t < len(m.t); t++ {
		if c := m.p[p]; !strings.ContainsRune(`*?[\`, rune(c)) {
			for c = m.folded(c); t < len(m.t) && (cross || m.t[t] != '/') && m.folded(m.t[t]) != c; t++ {
			}
			if m.folded(at(m.t, t)) != c {
				return differs
			}
		}
		switch o := m.match(p, t); {
		case o != differs:
			if !cross || o != atAnyStars {
				return o
			}
		case !cross && m.t[t] == '/':
			return atAnyStars
		}
	}
	return never
}

// class reads a bracket behind its first sign, and tells whether a byte is in it. end is where its
// last sign stands, -1 where there is none.
func (m *matcher) class(p int, c byte) (end int, in bool) {
	negated := at(m.p, p) == '!' || at(m.p, p) == '^'
	if negated {
		p++
	}
	upper := c
	if m.fold && 'a' <= c && c <= 'z' {
		upper = c - 'a' + 'A'
	}
	var last byte // what a range begins with
	for first := true; first || at(m.p, p) != ']'; first = false {
		sign := at(m.p, p)
		if p >= len(m.p) {
			return -1, false
		}
		name, rest, closed := strings.Cut(m.p[min(p+2, len(m.p)):], "]")
		switch {
		case sign == '\\':
			if p++; p >= len(m.p) {
				return -1, false
			}
			last = m.p[p]
			in = in || c == last
		case sign == '-' && last != 0 && p+1 < len(m.p) && m.p[p+1] != ']':
			if p++; m.p[p] == '\\' {
				if p++; p >= len(m.p) {
					return -1, false
				}
			}
			to := m.p[p]
			in = in || last <= c && c <= to || last <= upper && upper <= to
			last = 0
		case sign == '[' && at(m.p, p+1) == ':' && !closed:
			return -1, false
		case sign == '[' && at(m.p, p+1) == ':' && strings.HasSuffix(name, ":"):
			is := classes()[strings.TrimSuffix(name, ":")]
			if is == nil {
				return -1, false
			}
			in = in || is(c) || m.fold && name == "upper:" && is(upper)
			p, last = len(m.p)-len(rest)-1, 0
		default:
			in = in || c == sign
			last = sign
		}
		p++
	}
	return p, in != negated
}

// classes are the names of classes, which are of ASCII alone.
var classes = sync.OnceValue(func() map[string]func(c byte) bool {
	return map[string]func(c byte) bool{
		"alnum":  func(c byte) bool { return alpha(c) || digit(c) },
		"alpha":  alpha,
		"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
		"cntrl":  func(c byte) bool { return c < ' ' || c == 0x7f },
		"digit":  digit,
		"graph":  func(c byte) bool { return '!' <= c && c <= '~' },
		"lower":  func(c byte) bool { return 'a' <= c && c <= 'z' },
		"print":  func(c byte) bool { return ' ' <= c && c <= '~' },
		"punct":  func(c byte) bool { return '!' <= c && c <= '~' && !alpha(c) && !digit(c) },
		"space":  func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' },
		"upper":  func(c byte) bool { return 'A' <= c && c <= 'Z' },
		"xdigit": func(c byte) bool { return digit(c) || 'a' <= lower(c) && lower(c) <= 'f' },
	}
})

func alpha(c byte) bool { return 'a' <= lower(c) && lower(c) <= 'z' }
func digit(c byte) bool { return '0' <= c && c <= '9' }

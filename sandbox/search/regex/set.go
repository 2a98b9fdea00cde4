package regex

import (
	"slices"
	"sort"
	"unicode"
)

// span is a range of characters, both ends included.
type span struct{ lo, hi rune }

// set is a set of characters: spans in ascending order, with something between each two of them. Surrogates are in none.
type set []span

const (
	surrogates    = 0xD800
	lastSurrogate = 0xDFFF
)

// all are the characters that a text can have.
func all() set { return set{{0, surrogates - 1}, {lastSurrogate + 1, unicode.MaxRune}} }

// of makes a set of spans in any order.
func of(spans ...span) set {
	slices.SortFunc(spans, func(a, b span) int { return int(a.lo - b.lo) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.lo <= out[n-1].hi+1 {
			out[n-1].hi = max(out[n-1].hi, s.hi)
		} else {
			out = append(out, s)
		}
	}
	return out
}

func one(r rune) set { return set{{r, r}} }

func (s set) has(r rune) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].hi >= r })
	return i < len(s) && s[i].lo <= r
}

// size is how many characters the set has.
func (s set) size() (n int) {
	for _, p := range s {
		n += int(p.hi-p.lo) + 1
	}
	return n
}

func (s set) union(o set) set { return of(slices.Concat(s, o)...) }

func (s set) not() set {
	var out set
	next := rune(0)
	for _, p := range s {
		if p.lo > next {
			out = append(out, span{next, p.lo - 1})
		}
		next = p.hi + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, span{next, unicode.MaxRune})
	}
	return out.without(span{surrogates, lastSurrogate})
}

// without takes a span out.
func (s set) without(hole span) set {
	var out set
	for _, p := range s {
		if p.lo < hole.lo {
			out = append(out, span{p.lo, min(p.hi, hole.lo-1)})
		}
		if p.hi > hole.hi {
			out = append(out, span{max(p.lo, hole.hi+1), p.hi})
		}
	}
	return out
}

func (s set) and(o set) set { return s.not().union(o.not()).not() }

func (s set) minus(o set) set { return s.and(o.not()) }

// folded adds all cases of each character.
func (s set) folded() set {
	out := slices.Clone(s)
	if s.size() <= 64 {
		for _, p := range s {
			for r := p.lo; r <= p.hi; r++ {
				for _, f := range orbits()[r] {
					out = append(out, span{f, f})
				}
			}
		}
		return of(out...)
	}
	for r, orbit := range orbits() {
		if s.has(r) {
			for _, f := range orbit {
				out = append(out, span{f, f})
			}
		}
	}
	return of(out...)
}

// The same where Unicode is off.
func asciiWords() set  { return set{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}} }
func asciiDigits() set { return set{{'0', '9'}} }
func asciiSpaces() set { return set{{'\t', '\r'}, {' ', ' '}} }

// posix are the classes [:name:].
func posix(name string) (set, bool) {
	switch name {
	case "alnum":
		return set{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}, true
	case "alpha":
		return set{{'A', 'Z'}, {'a', 'z'}}, true
	case "ascii":
		return set{{0, 0x7F}}, true
	case "blank":
		return set{{'\t', '\t'}, {' ', ' '}}, true
	case "cntrl":
		return set{{0, 0x1F}, {0x7F, 0x7F}}, true
	case "digit":
		return asciiDigits(), true
	case "graph":
		return set{{'!', '~'}}, true
	case "lower":
		return set{{'a', 'z'}}, true
	case "print":
		return set{{' ', '~'}}, true
	case "punct":
		return set{{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}, true
	case "space":
		return asciiSpaces(), true
	case "upper":
		return set{{'A', 'Z'}}, true
	case "word":
		return asciiWords(), true
	case "xdigit":
		return set{{'0', '9'}, {'A', 'F'}, {'a', 'f'}}, true
	}
	return nil, false
}

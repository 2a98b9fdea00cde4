package regex

import (
	"slices"
	"sort"
	"strings"
	"sync"
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

// orbits are the characters that have other cases, each with all of them.
var orbits = sync.OnceValue(func() map[rune][]rune {
	out := map[rune][]rune{}
	add := func(r rune) {
		if _, done := out[r]; done {
			return
		}
		var orbit []rune
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			orbit = append(orbit, f)
		}
		if orbit != nil {
			out[r] = orbit
		}
	}
	for _, c := range unicode.CaseRanges {
		for r := rune(c.Lo); r <= rune(c.Hi); r++ {
			add(r)
			for _, f := range out[r] {
				add(f)
			}
		}
	}
	return out
})

// folded adds all cases of each character.
func (s set) folded() set {
	out := slices.Clone(s)
	if s.size() <= 64 {
		for _, p := range s {
			for r := p.lo; r <= p.hi; r++ {
				for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
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

// table makes a set of a table of the standard library.
func table(t *unicode.RangeTable) set {
	var out set
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			out = append(out, span{lo, hi})
			return
		}
		for r := lo; r <= hi; r += stride {
			out = append(out, span{r, r})
		}
	}
	for _, r := range t.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range t.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return of(out...).without(span{surrogates, lastSurrogate})
}

func tables(ts ...*unicode.RangeTable) (out set) {
	for _, t := range ts {
		out = append(out, table(t)...)
	}
	return of(out...)
}

// The classes of one letter, as Rust has them: all of Unicode.
var (
	words = sync.OnceValue(func() set {
		return tables(unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.M, unicode.Nd, unicode.Pc, unicode.Join_Control)
	})
	digits = sync.OnceValue(func() set { return table(unicode.Nd) })
	spaces = sync.OnceValue(func() set { return table(unicode.White_Space) })
)

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

// property finds what \p{name} stands for: a category, a script or a property of Unicode, by a name in which case, blanks and
// underlines do not matter.
func property(name string) (set, bool) {
	kind, value, two := strings.Cut(name, "=")
	if !two {
		kind, value, two = strings.Cut(name, ":")
	}
	if two {
		switch loose(kind) {
		case "gc", "generalcategory":
			return category(loose(value))
		case "sc", "script", "scx", "scriptextensions":
			return script(loose(value))
		}
		return nil, false
	}
	want := loose(name)
	for _, find := range []func(string) (set, bool){derived, category, script, listed} {
		if s, ok := find(want); ok {
			return s, true
		}
	}
	return nil, false
}

func loose(name string) string {
	name = strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "").Replace(name))
	if rest, ok := strings.CutPrefix(name, "is"); ok && rest != "o" && rest != "" {
		return rest
	}
	return name
}

// derived are the properties that are made of others.
func derived(name string) (set, bool) {
	switch name {
	case "any":
		return all(), true
	case "ascii":
		return set{{0, 0x7F}}, true
	case "assigned":
		return table(unicode.Cn).not(), true
	case "alphabetic", "alpha":
		return tables(unicode.L, unicode.Nl, unicode.Other_Alphabetic), true
	case "lowercase", "lower":
		return tables(unicode.Ll, unicode.Other_Lowercase), true
	case "uppercase", "upper":
		return tables(unicode.Lu, unicode.Other_Uppercase), true
	case "cased":
		return tables(unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase), true
	case "idstart", "ids", "xidstart", "xids":
		return idStart(), true
	case "idcontinue", "idc", "xidcontinue", "xidc":
		return idStart().union(tables(unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)), true
	case "math":
		return tables(unicode.Sm, unicode.Other_Math), true
	case "space", "whitespace", "wspace":
		return spaces(), true
	}
	return nil, false
}

func idStart() set {
	return tables(unicode.L, unicode.Nl, unicode.Other_ID_Start).minus(tables(unicode.Pattern_Syntax, unicode.Pattern_White_Space))
}

func category(name string) (set, bool) {
	for n, t := range unicode.Categories {
		if strings.ToLower(n) == name {
			return table(t), true
		}
	}
	for n, short := range unicode.CategoryAliases {
		if loose(n) == name {
			return table(unicode.Categories[short]), true
		}
	}
	return nil, false
}

func script(name string) (set, bool) {
	for n, t := range unicode.Scripts {
		if loose(n) == name {
			return table(t), true
		}
	}
	return nil, false
}

func listed(name string) (set, bool) {
	for n, t := range unicode.Properties {
		if loose(n) == name {
			return table(t), true
		}
	}
	return nil, false
}

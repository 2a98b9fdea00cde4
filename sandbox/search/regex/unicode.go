package regex

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// unicodeText has the sets of characters that have a name, and which characters are cases of one another. Go's own tables are those of
// another version of Unicode, and do not have all.
//
//go:embed unicode.txt
var unicodeText string

// foldName is the name of the line that says which characters are cases of one another.
const foldName = "fold"

// lines are those of unicodeText by each of their names.
var lines = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(unicodeText) {
		names, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		for name := range strings.SplitSeq(names, ",") {
			out[name] = text
		}
	}
	return out
})

// ofBase36 reads one in base 36.
func ofBase36(s string) rune {
	n, err := strconv.ParseInt(s, 36, 32)
	if err != nil {
		panic(err) // the text is a part of the program
	}
	return rune(n)
}

// named gives the set of a name.
func named(name string) (set, bool) {
	text, ok := lines()[name]
	if !ok || name == foldName || name == "#" {
		return nil, false
	}
	var out set
	at := rune(0)
	for field := range strings.FieldsSeq(text) {
		from, more, long := strings.Cut(field, "-")
		lo := at + ofBase36(from)
		if at = lo; long {
			at += ofBase36(more)
		}
		out = append(out, span{lo, at})
	}
	return out.without(span{surrogates, lastSurrogate}), true
}

// class is a named class, made when it is first asked for.
type class struct {
	name string
	once sync.Once
	set  set
}

func (c *class) get() set {
	c.once.Do(func() { c.set, _ = named(c.name) })
	return c.set
}

// The classes of one letter, as Rust has them: all of Unicode.
var (
	wordClass  = class{name: `\w`}
	digitClass = class{name: `\d`}
	spaceClass = class{name: `\s`}
)

func words() set  { return wordClass.get() }
func digits() set { return digitClass.get() }
func spaces() set { return spaceClass.get() }

// orbits are the characters that have other cases, each with the others.
var orbits = sync.OnceValue(func() map[rune][]rune {
	out := map[rune][]rune{}
	first := rune(0)
	for field := range strings.FieldsSeq(lines()[foldName]) {
		var orbit []rune
		at := first
		for i, distance := range strings.Split(field, ".") {
			if at += ofBase36(distance); i == 0 {
				first = at
			}
			orbit = append(orbit, at)
		}
		for i, r := range orbit {
			others := append(append([]rune{}, orbit[:i]...), orbit[i+1:]...)
			out[r] = others
		}
	}
	return out
})

// property finds what \p{name} stands for: a category, a script or another property of Unicode, by a name in which case, blanks and
// underlines do not matter; with = or : in it, a value of a property.
func property(name string) (set, bool) {
	at := strings.IndexByte(name, ':')
	if at < 0 {
		at = strings.IndexByte(name, '=')
	}
	if at < 0 {
		name = loose(name)
		if strings.ContainsAny(name, `=\`) {
			return nil, false
		}
		return named(name)
	}
	kind := map[string]string{
		"gc": "gc", "generalcategory": "gc", "sc": "sc", "script": "sc", "scx": "scx", "scriptextensions": "scx", "age": "age",
		"gcb": "gcb", "graphemeclusterbreak": "gcb", "sb": "sb", "sentencebreak": "sb", "wb": "wb", "wordbreak": "wb",
	}[loose(name[:at])]
	return named(kind + "=" + loose(name[at+1:]))
}

// loose is a name without what does not matter in it.
func loose(name string) string {
	is := len(name) >= 2 && strings.EqualFold(name[:2], "is")
	if is {
		name = name[2:]
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '_' || r == '-' || r > 0x7F:
			return -1
		case r >= 'A' && r <= 'Z':
			return r | 0x20
		}
		return r
	}, name)
	if is && name == "c" {
		return "isc"
	}
	return name
}

package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// word is a word of a command. Where it is exact, text is what the command gets. Otherwise text is
// what can be said of it: patterns as they are written, ~ for the home folder however it is spelt,
// and unknown for what is only known at run time.
type word struct {
	text  string
	exact bool
}

const unknown = "\x00"

// wordOf reads a word of the syntax tree.
func wordOf(w *syntax.Word) word {
	var b strings.Builder
	exact := parts(&b, w.Parts, false)
	return word{b.String(), exact && !braces(w)}
}

func wordsOf(list []*syntax.Word) []word {
	out := make([]word, len(list))
	for i, w := range list {
		out[i] = wordOf(w)
	}
	return out
}

// parts writes what the parts of a word stand for and says whether that is exact.
func parts(b *strings.Builder, list []syntax.WordPart, quoted bool) (exact bool) {
	exact = true
	for i, p := range list {
		switch p := p.(type) {
		case *syntax.Lit:
			bracket := len(list) == 1 && (p.Value == "[" || p.Value == "]") // no pattern: nothing closes or opens it
			exact = (lit(b, p.Value, quoted, i == 0) || bracket) && exact
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				exact = false
				if decoded, _, err := expand.Format(nil, p.Value, nil); err == nil {
					text, _, _ = strings.Cut(decoded, "\x00")
				}
			}
			b.WriteString(text)
		case *syntax.DblQuoted:
			exact = parts(b, p.Parts, true) && exact && !p.Dollar
		case *syntax.ParamExp:
			exact = false
			if p.Param != nil && p.Param.Value == "HOME" && p.Exp == nil && p.Slice == nil && p.Repl == nil && p.Index == nil {
				b.WriteString("~")
			} else {
				b.WriteString(unknown)
			}
		default:
			exact = false
			b.WriteString(unknown)
		}
	}
	return exact
}

// lit writes literal text without its backslashes. It is exact if bash expands nothing in it.
func lit(b *strings.Builder, s string, quoted, first bool) (exact bool) {
	exact = true
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\", s[i+1]) >= 0):
			i++
			b.WriteByte(s[i])
			continue
		case c == '\\' && !quoted: // the last of the text: mvdan/sh and bash need not agree
			exact = false
		case quoted:
		case c == '*', c == '?', c == '[':
			exact = false
		case c == '~' && (i == 0 && first || i > 0 && (s[i-1] == '=' || s[i-1] == ':')):
			exact = false
		case c == '$' || c == '`':
			exact = false
		}
		b.WriteByte(s[i])
	}
	return exact
}

// braces says that bash may make several words of one.
func braces(w *syntax.Word) bool {
	open, parted := false, false
	var look func(parts []syntax.WordPart, quoted bool)
	look = func(parts []syntax.WordPart, quoted bool) {
		for _, p := range parts {
			switch p := p.(type) {
			case *syntax.Lit:
				open = open || !quoted && strings.Contains(p.Value, "{")
				parted = parted || strings.Contains(p.Value, ",") || strings.Contains(p.Value, "..")
			case *syntax.SglQuoted:
				parted = parted || strings.ContainsAny(p.Value, ",.")
			case *syntax.DblQuoted:
				look(p.Parts, true)
			case *syntax.BraceExp:
				open, parted = true, true
			}
		}
	}
	look(w.Parts, false)
	return open && parted
}

// A word with braces that bash reads in one way: lists, and ranges of numbers or letters, which are
// not within each other.
var (
	bracedText = expression{whole: true, text: `(?:` + bracedChar + `*\{(?:` + bracedChar + `*(?:,` + bracedChar + `*)+|` + bracedRange + `)\})+` + bracedChar + `*`}
	rangeText  = expression{whole: true, text: bracedRange}
)

const (
	bracedChar  = `[A-Za-z0-9_./:@%+=*?-]`
	bracedRange = `(?:0|[1-9][0-9]{0,3})\.\.(?:0|[1-9][0-9]{0,3})|[a-z]\.\.[a-z]|[A-Z]\.\.[A-Z]`
)

// expanded are the words that bash makes of one with braces; nil where it has none, or some that
// are not understood.
func expanded(w *syntax.Word) []string {
	text := ""
	for _, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			return nil
		}
		text += lit.Value
	}
	if !bracedText.match(text) {
		return nil
	}
	out := []string{""}
	for text != "" {
		before, rest, _ := strings.Cut(text, "{")
		inner, after, _ := strings.Cut(rest, "}")
		items := strings.Split(inner, ",")
		if rangeText.match(inner) {
			items = between(inner)
		}
		var next []string
		for _, o := range out {
			for _, item := range items {
				next = append(next, o+before+item)
			}
			if len(next) > maxNames {
				return nil
			}
		}
		out, text = next, after
	}
	if slices.Contains(out, "") { // no word
		return nil
	}
	return out
}

// between are the items of a range, up to one more than a word may become.
func between(s string) (items []string) {
	from, to, _ := strings.Cut(s, "..")
	a, err := strconv.Atoi(from)
	b, _ := strconv.Atoi(to)
	name := strconv.Itoa
	if err != nil {
		a, b, name = int(from[0]), int(to[0]), func(c int) string { return string(rune(c)) }
	}
	step := 1
	if a > b {
		step = -1
	}
	for ; a != b && len(items) < maxNames; a += step {
		items = append(items, name(a))
	}
	return append(items, name(a))
}

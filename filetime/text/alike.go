package text

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Skeleton returns what can be seen of a text: letters and their accents as one sign each, no signs
// of no width, one kind of blank and of hyphen, and Latin letters for those of other scripts that
// look the same.
func Skeleton(s string) string {
	if isASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if l, ok := latinLookalike(r); ok {
			return l
		}
		switch {
		case unicode.Is(unicode.Zs, r):
			return ' '
		case r == '\u2010' || r == '\u2011':
			return '-'
		}
		return r
	}, norm.NFC.String(strings.Map(func(r rune) rune {
		if isInvisible(r) {
			return -1
		}
		return r
	}, s)))
}

// LooksLike returns a regular expression, in the syntax of Rust's crate, for the texts that cannot
// be told from a literal one by their looks: those with its Skeleton.
func LooksLike(literal string) string {
	const unseen = `[\p{Cf}\x{34F}\x{115F}\x{180B}-\x{180F}\x{3164}\x{FE00}-\x{FE0F}\x{E0100}-\x{E01EF}]*`
	var b strings.Builder
	for _, r := range Skeleton(literal) {
		if b.Len() > 0 {
			b.WriteString(unseen)
		}
		parted := norm.NFD.String(string(r))
		switch {
		case r == ' ':
			b.WriteString(`\p{Zs}`)
		case r == '-':
			b.WriteString(`[-\x{2010}\x{2011}]`)
		case parted != string(r):
			b.WriteString("(?:" + string(r) + "|" + parted + ")")
		case strings.ContainsRune(lookalikes, r):
			b.WriteString("[" + string(r))
			for _, other := range lookalikes {
				if l, ok := latinLookalike(other); ok && l == r {
					b.WriteRune(other)
				}
			}
			b.WriteString("]")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}

// OtherForm returns a text in the other Unicode form, in which letters with accents are one sign or
// several; "" where it has none.
func OtherForm(s string) string {
	for _, form := range []norm.Form{norm.NFD, norm.NFC} {
		if other := form.String(s); other != s {
			return other
		}
	}
	return ""
}

// isInvisible reports whether a sign has no width.
func isInvisible(r rune) bool {
	return r >= utf8.RuneSelf && (unicode.In(r, unicode.Cf, unicode.Variation_Selector) || r == '\u034F' || r == '\u115F' || r == '\u3164')
}

// lookalikes are letters of other scripts, each before the Latin one that it looks like.
const lookalikes = "аaеeоoрpсcуyхxіiјjѕsԁdһhԛqԝwАAВBЕEКKМMНHОOРPСCТTУYХXІIЈJЅSΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXοoνvαa"

func latinLookalike(r rune) (rune, bool) {
	i := strings.IndexRune(lookalikes, r)
	if i < 0 || r < utf8.RuneSelf {
		return 0, false
	}
	l, _ := utf8.DecodeRuneInString(lookalikes[i+utf8.RuneLen(r):])
	return l, true
}

// Odd describes the first sign of a line that another one lacks and that cannot be told from others
// by its looks: a sign of no width, another kind of blank, an accent that is a sign of its own, a
// letter of another script that looks Latin. It is "" where there is none.
func Odd(line, other string) string {
	had := map[rune]int{}
	for _, r := range other {
		had[r]++
	}
	column := 0
	for _, r := range line {
		column++
		if had[r]--; had[r] >= 0 {
			continue
		}
		what := ""
		if _, ok := latinLookalike(r); ok {
			what = "a " + script(r) + " letter"
		} else if name, ok := signNames[r]; ok {
			what = name
		} else if unicode.Is(unicode.Variation_Selector, r) {
			what = "a variation selector"
		} else if isInvisible(r) {
			what = "a sign of no width"
		} else if r != ' ' && unicode.Is(unicode.Zs, r) {
			what = "another kind of blank"
		} else if unicode.Is(unicode.M, r) {
			what = "an accent that is a sign of its own"
		} else if 0x1100 <= r && r <= 0x11FF {
			what = "a part of a syllable of Hangul"
		}
		if what != "" {
			return fmt.Sprintf("U+%04X (%s) at column %d", r, what, column)
		}
	}
	return ""
}

var signNames = map[rune]string{
	'\u00AD': "soft hyphen", '\u200B': "zero width space", '\u200C': "zero width non-joiner", '\u200D': "zero width joiner",
	'\u00A0': "no-break space", '\u202F': "narrow no-break space", '\u3000': "ideographic space", '\u2010': "hyphen", '\u2011': "non-breaking hyphen",
	'\u2060': "word joiner", '\uFEFF': "zero width no-break space", '\u200E': "left-to-right mark", '\u200F': "right-to-left mark",
}

func script(r rune) string {
	if unicode.Is(unicode.Greek, r) {
		return "Greek"
	}
	return "Cyrillic"
}

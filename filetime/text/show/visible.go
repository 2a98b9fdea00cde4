package show

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible makes a text of unknown origin safe to put before a person: every character that has no
// shape of its own, or that changes what stands around it, is written out as \u{…}, its number in
// hexadecimal. These are control characters (C0, DEL, C1), format characters (among them those for
// direction, zero width and tags), whatever else Unicode ignores by default, and the line and
// paragraph separators. A byte that is not valid UTF-8 becomes \x{…}. In a multiline text \n and \t
// stay; else they are written out too, so that the result is one line.
//
// One thing stays that could be left out: the emoji selector directly behind a symbol, as in ⚠️. A
// text without any of the above is returned as it is, so Visible of a visible text is the same
// text. The form is for people: whether \u{1b} was one character or six cannot be told from it, and
// the text itself has to be kept wherever it is used again.
func Visible(text string, multiline bool) string {
	return written(text, func(r rune) bool { return hidden(r) && !(multiline && (r == '\n' || r == '\t')) })
}

// Line is Visible for a text as one line, with one blank in the place of all white space.
func Line(text string) string { return Visible(strings.Join(strings.Fields(text), " "), false) }

// Clip is the beginning of a text, of at most n characters; the last of them is … where it goes on.
func Clip(text string, n int) string {
	last := 0
	for i := range text {
		switch n--; n {
		case 0:
			last = i
		case -1:
			return text[:last] + "…"
		}
	}
	return text
}

// Prose is Visible for what a model says, many lines of any language: only what moves a cursor,
// begins an escape sequence, embeds or overrides a direction, or is a tag is written out. Joiners
// and marks of direction stay, which languages and emoji are written with.
func Prose(text string) string {
	return written(text, func(r rune) bool {
		return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
			r == 0x2028 || r == 0x2029 || r >= 0xe0000 && r <= 0xe007f
	})
}

// written writes out the characters that out says, none of them one of ASCII that is printed, and
// broken bytes.
func written(text string, out func(rune) bool) string {
	from, symbol := 0, false
	var b strings.Builder
	for i := 0; i < len(text); {
		if c := text[i]; c >= 0x20 && c < 0x7f { // nothing of ASCII that is printed is written out
			symbol = false
			i++
			continue
		}
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(text[i:])
		}
		broken := r == utf8.RuneError && n == 1
		if broken || out(r) && !(symbol && r == emojiSelector) {
			b.WriteString(text[from:i])
			if broken {
				b.WriteString(`\x{` + strconv.FormatUint(uint64(text[i]), 16) + "}")
			} else {
				b.WriteString(`\u{` + strconv.FormatUint(uint64(r), 16) + "}")
			}
			from = i + n
		}
		symbol = r > unicode.MaxLatin1 && !broken && unicode.IsSymbol(r)
		i += n
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	return b.String()
}

const emojiSelector = '\uFE0F'

// hidden says whether a character shows nothing of itself.
func hidden(r rune) bool {
	switch {
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r < 0x7f:
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) // these are signs of Arabic and Kaithi, seen like any letter
}

package regex

import (
	"bytes"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// perl is a pattern that looks around or refers back. The engine for it tries one way after the other, which for some texts
// takes long: a single match has patience.
type perl struct {
	re   *regexp2.Regexp
	crlf bool
}

// patience is how long one line may be looked at.
const patience = time.Second

func parsePerl(pattern string, o Options, why *SyntaxError) (*Regexp, error) {
	if o.Word {
		pattern = `(?<!\w)(?:` + pattern + `)(?!\w)`
	}
	flags := regexp2.RegexOptions(regexp2.Multiline)
	if o.IgnoreCase {
		flags |= regexp2.IgnoreCase
	}
	if o.Multiline {
		flags |= regexp2.Singleline
	}
	re, err := regexp2.Compile(pattern, flags)
	if err != nil {
		return nil, why
	}
	re.MatchTimeout = patience
	return &Regexp{perl: &perl{re, o.CRLF}, Multiline: o.Multiline}, nil
}

// perlLine tries one line after the other.
func (m *Matcher) perlLine(text []byte, from int) (start, end int, ok bool) {
	for from < len(text) {
		if m.stop != nil && m.stop() {
			return 0, 0, false
		}
		end := len(text)
		if i := bytes.IndexByte(text[from:], '\n'); i >= 0 {
			end = from + i
		}
		line := text[from:end]
		if _, _, ok := m.perlFind(line, 0); ok {
			return from, end, true
		}
		if bare, ok := bytes.CutSuffix(line, []byte("\r")); ok && m.r.perl.crlf {
			if _, _, ok := m.perlFind(bare, 0); ok {
				return from, end, true
			}
		}
		from = end + 1
	}
	return 0, 0, false
}

// perlFind counts in characters on the way and answers in bytes. A match that takes too long is none.
func (m *Matcher) perlFind(text []byte, from int) (start, end int, ok bool) {
	runes := []rune(string(text))
	found, err := m.r.perl.re.FindRunesMatchStartingAt(runes, utf8.RuneCount(text[:from]))
	if err != nil || found == nil {
		return 0, 0, false
	}
	start = offset(text, found.Index)
	return start, start + offset(text[start:], found.Length), true
}

// offset is how many bytes the first characters of a text have.
func offset(text []byte, characters int) (n int) {
	for ; characters > 0 && n < len(text); characters-- {
		_, width := utf8.DecodeRune(text[n:])
		n += width
	}
	return n
}

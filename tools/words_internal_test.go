package tools

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"tandem/filetime/text/show"
)

// TestFirstSentence and the words of a text are as looking at all of the text at once has them.
func TestFirstSentence(t *testing.T) {
	letters := []rune("aB.. \n\té9_İ\u200b…")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom(letters)).Draw(t, "text")
		if rapid.Bool().Draw(t, "long") {
			text = strings.Repeat(text, 60)
		}
		line, _, _ := strings.Cut(strings.Join(strings.Fields(text), " "), ". ")
		line = strings.TrimSuffix(line, ".")
		if all := []rune(line); len(all) >= 120 {
			line = string(all[:119]) + "…"
		}
		if want, got := show.Visible(line, false), (Spec{Description: text}).Summary(); got != want {
			t.Errorf("%q begins with %q, want %q", text, got, want)
		}
		var b strings.Builder
		lower := false
		for _, r := range text {
			if lower && unicode.IsUpper(r) {
				b.WriteByte(' ')
			}
			lower = unicode.IsLower(r)
			b.WriteRune(unicode.ToLower(r))
		}
		want := strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if got := wordsOf(text); !slices.Equal(got, want) {
			t.Errorf("%q has the words %q, want %q", text, got, want)
		}
	})
}

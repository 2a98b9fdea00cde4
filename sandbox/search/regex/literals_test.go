package regex

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestRequired holds the texts that a match must have against matches, with patterns and texts of few letters.
func TestRequired(t *testing.T) {
	atom := rapid.SampledFrom([]string{"a", "b", "0", "0x", "ab", "[ab]", "[0-9a-f]", "[a-c]", ".", "(?:ab|b0)", "(?:a|bb|)", `\b`, "^"})
	times := rapid.SampledFrom([]string{"", "", "", "?", "*", "+", "{2}", "{2,}", "{0,1}", "{1,3}", "{9}", "{9,10}"})
	piece := rapid.Custom(func(t *rapid.T) string {
		a := atom.Draw(t, "atom")
		if n := times.Draw(t, "times"); n != "" && a != `\b` && a != "^" {
			return "(?:" + a + ")" + n
		}
		return a
	})
	pattern := rapid.Custom(func(t *rapid.T) string {
		p := strings.Join(rapid.SliceOfN(piece, 1, 4).Draw(t, "pieces"), "")
		if rapid.IntRange(0, 4).Draw(t, "repeated") == 0 {
			return "(?:" + p + ")" + times.Draw(t, "times") + piece.Draw(t, "last")
		}
		return p
	})
	few := rapid.StringOfN(rapid.SampledFrom([]rune("aaabbb00x1")), 0, 40, -1)
	text := rapid.OneOf(few, rapid.Map(rapid.IntRange(1, 11), func(n int) string { return strings.Repeat("a", n) + "b" }))
	matches := 0
	rapid.Check(t, func(t *rapid.T) {
		p, fold := pattern.Draw(t, "pattern"), rapid.Bool().Draw(t, "fold")
		re, err := Parse(p, Options{IgnoreCase: fold})
		if err != nil {
			t.Skip(err)
		}
		theirs := p
		if fold {
			theirs = "(?i)" + p
		}
		match := regexp.MustCompile(theirs)
		for _, s := range rapid.SliceOfN(text, 1, 20).Draw(t, "texts") {
			has := false
			re.Matcher(nil).Lines([]byte(s), func(int, int) bool { has = true; return false })
			if want := match.MatchString(s); has != want && s != "" {
				t.Errorf("%s matches %q: %t, not %t", p, s, has, want)
			} else if !want {
				continue
			}
			matches++
			for _, list := range re.Required() {
				if !slices.ContainsFunc(list, func(l string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(l)) }) {
					t.Errorf("%s matches %q, which has none of %q", p, s, list)
				}
			}
		}
	})
	if matches == 0 {
		t.Error("nothing was matched")
	}
}

// A class beside a literal makes literals of both, also where it is repeated, since an index knows no text of less than three bytes.
func TestRequiredOverRepetitions(t *testing.T) {
	for pattern, want := range map[string]string{
		"0x[0-3]{16}": "0x00", "0x[0-3]+": "0x0", "a(bc){2,}d": "abcbc", "[xy]{3}z": "xxxz", "ab{2}c?": "abb", "ab{9}": "abbbbbbbb",
	} {
		re, err := Parse(pattern, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(re.Required(), func(list []string) bool { return slices.Contains(list, want) }) {
			t.Errorf("%s needs %q, which does not have %q", pattern, re.Required(), want)
		}
	}
}

// What is repeated in what is repeated is looked at once for each, however deep it lies.
func TestRequiredOfNested(t *testing.T) {
	for name, p := range map[string]string{
		"stacked": "foo +" + strings.Repeat("+", 200), "groups": strings.Repeat("(", 60) + "a+" + strings.Repeat(")+", 60),
		"empty": strings.Repeat("(", 60) + "a" + strings.Repeat("|)", 60), "optional": strings.Repeat("(", 60) + "a*" + strings.Repeat(")*", 60),
	} {
		if _, err := Parse(p, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package text

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Texts that differ in signs that cannot be seen have one skeleton, and the sign that makes the difference is named with its place.
func TestFaultW2Skeleton(t *testing.T) {
	for odd, plain := range map[string]string{
		"e\u0301": "\u00e9", "a\u200bb": "ab", "co\u00adop": "coop", "\u2764\ufe0f": "\u2764", "p\u0430ge": "page", "\u1112\u1161\u11a8": "\ud559", "\u039f": "O",
		"a\u202fb": "a b", "a\u00a0b": "a b", "a\u2009b": "a b", "a\u3000b": "a b", "a\u2011b": "a-b",
	} {
		rapid.Check(t, func(t *rapid.T) {
			before := strings.Repeat("x", rapid.IntRange(0, 5).Draw(t, "before"))
			a, b := before+odd+"z", before+plain+"z"
			if Skeleton(a) != Skeleton(b) || Skeleton(Skeleton(a)) != Skeleton(a) {
				t.Fatalf("%+q is %+q, %+q is %+q", a, Skeleton(a), b, Skeleton(b))
			}
			if says := Odd(a, b); !strings.HasPrefix(says, "U+") || !strings.Contains(says, "at column ") || Odd(b, a) != "" {
				t.Fatalf("%+q beside %+q: %q, %q", a, b, says, Odd(b, a))
			}
		})
	}
	if says := Odd("ab\u00e9c\u200bd", "ab\u00e9cd"); says != "U+200B (zero width space) at column 5" {
		t.Error(says)
	}
	for _, r := range lookalikes {
		if l, ok := latinLookalike(r); ok && (l >= 0x80 || Skeleton(string(r)) != string(l)) {
			t.Errorf("%+q looks like %+q", r, l)
		}
	}
}

// A text is found by what it looks like, whichever of the two has the odd signs; one that looks otherwise is not.
func TestFaultW2LooksLike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{
			"a", "b", "O", "-", " ", ".", "(", "\u00e9", "e\u0301", "\u0430", "\u03bf", "\u200b", "\u00ad", "\ufe0f", "\u00a0", "\u202f", "\u2011", "\ud559", "\u1112\u1161\u11a8",
		})
		words := rapid.Map(rapid.SliceOfN(piece, 1, 5), func(p []string) string { return strings.Join(p, "") })
		a, b := "x"+words.Draw(t, "one")+"x", "x"+words.Draw(t, "other")+"x"
		if got, want := regexp.MustCompile("^"+LooksLike(a)+"$").MatchString(b), Skeleton(a) == Skeleton(b); got != want {
			t.Fatalf("%+q as %+q: %v, want %v by %s", b, a, got, want, LooksLike(a))
		}
	})
}

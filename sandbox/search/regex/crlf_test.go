package regex

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// lines are the numbers of the lines that match.
func linesOf(r *Regexp, text []byte) (out []int) {
	r.Matcher(nil).Lines(text, func(start, _ int) bool {
		out = append(out, bytes.Count(text[:start], []byte("\n")))
		return true
	})
	return out
}

// With CRLF, $ stands before the end of a line of Windows as before any other: the same lines match as where the \r is not there. The
// prefilter passes over none of them.
func TestFaultW3T18LineEndsOfWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SampledFrom([]string{"x", "end", "foo", "[a-d]", "o+", "(x|end)", "d?", "."})
		pattern := strings.Join(rapid.SliceOfN(pieces, 1, 4).Draw(t, "pattern"), "") + "$"
		if rapid.Bool().Draw(t, "anchored") {
			pattern = "^" + pattern
		}
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "end", "foo", "a", "oo", " ", "dx", "xend", strings.Repeat("pad ", 40)}), 0, 4)
		var crlf, lf []byte
		var want []int
		plain := regexp.MustCompile(pattern)
		for i, line := range rapid.SliceOfN(words, 1, 40).Draw(t, "lines") {
			text := strings.Join(line, "")
			lf = append(append(lf, text...), '\n')
			crlf = append(append(crlf, text...), "\r\n"...)
			if plain.MatchString(text) {
				want = append(want, i)
			}
		}
		r, err := Parse(pattern, Options{CRLF: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{crlf, lf} {
			if got := linesOf(r, text); !slices.Equal(got, want) {
				t.Fatalf("%s: %v, want %v in %q", pattern, got, want, text)
			}
		}
	})
}

// With CRLF, a line end in a pattern fits that of Windows: the same lines match as where the \r is not there.
func TestFaultW3LineEndsInPatterns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SampledFrom([]string{"x", "end", "o+", `\n`, `\n`, "\n", `\n+`, `(\nx)?`, `[\n]`, "[a-d]*"})
		pattern := strings.Join(rapid.SliceOfN(pieces, 1, 5).Draw(t, "pattern"), "")
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "end", "foo", "a", "", strings.Repeat("pad ", 40)}), 1, 12)
		lf := strings.Join(words.Draw(t, "lines"), "\n") + "\n"
		r, err := Parse(pattern, Options{CRLF: true, Multiline: true})
		if err != nil {
			t.Fatal(err)
		}
		want := linesOf(r, []byte(lf))
		if got := linesOf(r, []byte(strings.ReplaceAll(lf, "\n", "\r\n"))); !slices.Equal(got, want) {
			t.Fatalf("%q: %v, want %v in %q", pattern, got, want, lf)
		}
	})
}

// A pattern for the \r itself still finds it, and to ripgrep $ does not stand before one.
func TestFaultW3ReturnsAreText(t *testing.T) {
	text := []byte("a\r\nb\nend\r\n\r\n")
	for _, tt := range []struct {
		pattern string
		crlf    bool
		want    []int
	}{
		{`\r$`, true, []int{0, 2, 3}}, {`[^a]$`, true, []int{1, 2}}, {`\s$`, true, nil}, {`.$`, true, []int{0, 1, 2}}, {`^end$`, true, []int{2}}, {`^end$`, false, nil}, {`^$`, true, []int{3}}, {`(?<=n)d$`, true, []int{2}}, {`(?<=n)d\r$`, true, []int{2}},
	} {
		r, err := Parse(tt.pattern, Options{CRLF: tt.crlf})
		if err != nil {
			t.Fatal(err)
		}
		if got := linesOf(r, text); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.pattern, got, tt.want)
		}
	}
}

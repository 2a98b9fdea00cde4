package lspserver

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A wish is found in each line that it has, whole, and nowhere else.
func TestFaultL5Wishes(t *testing.T) {
	for name, c := range map[string]struct {
		text        string
		want        string // of the lines first to last, from 0
		first, last int
	}{
		"a comment":                    {"a()\n// tandem: do it\nb()", "do it", 1, 1},
		"no blanks, another case":      {"//TANDEM:do it", "do it", 0, 0},
		"a note":                       {"tandem: do it\nnext", "do it", 0, 0},
		"two lines":                    {"x = 1\n# tandem: do it\n#   and that\nz = 2", "do it\nand that", 1, 2},
		"an empty comment ends it":     {"# tandem: do it\n#\n# a header", "do it", 0, 0},
		"code ends it":                 {"# tandem: do it\nx = 1\n# more", "do it", 0, 0},
		"the next wish ends it":        {"# tandem: do it\n# tandem: do that", "do it", 0, 0},
		"indented":                     {"\t\t-- tandem: do it\n\t\t-- and that\n\t\tx", "do it\nand that", 0, 1},
		"another sign ends it":         {"// tandem: do it\n# and that", "do it", 0, 0},
		"a block in a line":            {"/* tandem: do it */ x", "do it", 0, 0},
		"a block of lines":             {"/* tandem: do it\n * and that\n   and more */\nx", "do it\nand that\nand more", 0, 2},
		"a block with its end below":   {"/**\n * tandem: do it\n * and that\n */\nx", "do it\nand that", 1, 3},
		"the last line of a block":     {"/* a header\n * tandem: do it */", "do it", 1, 1},
		"markup":                       {"<p>\n<!-- tandem: do it -->\n</p>", "do it", 1, 1},
		"markup of lines":              {"<!-- tandem: do it\n     and that -->\n</p>", "do it\nand that", 0, 1},
		"a docstring":                  {"\"\"\" tandem: do it \"\"\"", "do it", 0, 0},
		"Lisp, TeX, SQL, BASIC":        {";; tandem: do it\n;; and that", "do it\nand that", 0, 1},
		"behind code":                  {"q = 3  # tandem: do it\nother = 5", "do it", 0, 0},
		"behind code, in C":            {"int x; // tandem: do it\nint y;", "do it", 0, 0},
		"a block behind code":          {"int x; /* tandem: do it */", "do it", 0, 0},
		"behind code with a string":    {"q = \"a # b\"  # tandem: do it", "do it", 0, 0},
		"behind code ends in its line": {"q = 3  # tandem: do it\n# a comment", "do it", 0, 0},
		"a string":                     {"say(\"tandem: do it\")", "", 0, 0},
		"a string with a sign":         {"say(\"see # tandem: do it\")", "", 0, 0},
		"a string of a list":           {"  \"tandem: do it\",", "", 0, 0},
		"a string in single quotes":    {"  'tandem: do it',", "", 0, 0},
		"a link":                       {"see http://tandem: do it", "", 0, 0},
		"prose":                        {"We use tandem: it does", "", 0, 0},
		"a comment that speaks of it":  {"// we use tandem: it does", "", 0, 0},
		"another word":                 {"// tandems: do it", "", 0, 0},
		"nothing is wished":            {"// tandem:\nx", "", 0, 0},
		"the wish is below":            {"# tandem:\n# do it", "do it", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			lines := strings.Split(c.text, "\n")
			line := func(n int) (string, bool) {
				if n < 0 || n >= len(lines) {
					return "", false
				}
				return lines[n], true
			}
			for at := range lines {
				got, first := wish(line, at)
				switch in := c.want != "" && c.first <= at && at <= c.last; {
				case in && (got != c.want || first != c.first):
					t.Errorf("line %d: %q from line %d", at, got, first)
				case !in && got == c.want && got != "":
					t.Errorf("line %d is said to be of the wish", at)
				case c.want == "" && got != "":
					t.Errorf("line %d: %q", at, got)
				}
			}
		})
	}
}

// Whatever a text says, a wish is found in time and in the text.
func TestWishInAnyText(t *testing.T) {
	part := rapid.SampledFrom([]string{"tandem:", " ", "\n", "//", "/*", "*/", "#", "\"", "'", "a", "é", "<!--", "-->", "*", "--"})
	rapid.Check(t, func(t *rapid.T) {
		lines := strings.Split(strings.Join(rapid.SliceOf(part).Draw(t, "text"), ""), "\n")
		for at := range lines {
			got, first := wish(func(n int) (string, bool) {
				if n < 0 || n >= len(lines) {
					return "", false
				}
				return lines[n], true
			}, at)
			if got != "" && (first > at || !strings.Contains(strings.ToLower(lines[first]), "tandem:")) {
				t.Fatalf("%q at %d: %q from %d", lines, at, got, first)
			}
		}
	})
}

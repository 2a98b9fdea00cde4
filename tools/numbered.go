package tools

import (
	"fmt"
	"strings"

	"tandem/filetime/text"
)

// Lines counts the lines of t as a person does: what follows the last line end is a line only if there is something.
func Lines(t text.Text) int {
	n := t.LineCount()
	if t.LineStart(n-1) == t.Len() {
		n--
	}
	return n
}

// Numbered gives the lines first to last (1-based, inclusive) of t as every tool shows text to a model: the number, a
// bar, the line, without a byte order mark. Lines that t does not have are left out.
func Numbered(t text.Text, first, last int) string {
	var b strings.Builder
	for n := max(1, first); n <= min(last, Lines(t)); n++ {
		line := t.Slice(t.LineStart(n-1), t.LineEnd(n-1))
		if n == 1 {
			line = strings.TrimPrefix(line, "\uFEFF")
		}
		fmt.Fprintf(&b, "%4d | %s\n", n, line)
	}
	return b.String()
}

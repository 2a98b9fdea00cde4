package text

import "strings"

// EqualLines compares texts without byte order mark and kind of line end, which editors may change.
func EqualLines(a, b Text) bool { return a.Equal(b) || Unified(a) == Unified(b) }

// Unified is a text with \n as line end and no byte order mark.
func Unified(t Text) string {
	return strings.ReplaceAll(strings.TrimPrefix(t.String(), "\ufeff"), "\r\n", "\n")
}

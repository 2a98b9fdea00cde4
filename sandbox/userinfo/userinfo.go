// Package userinfo finds passwords in the URLs of a text, such as https://user:password@host/path.
package userinfo

import (
	"bytes"
	"strings"
)

// Gone stands where a password was.
const Gone = "[redacted]"

const (
	// longest is the length of the longest user and password that are looked for.
	longest = 4 << 10
	// token is the length from which on a user without a password is one: services take tokens so.
	token = 16
)

// Passwords are the places of passwords in a text, each from the first byte up to the one after the
// last.
func Passwords(text []byte) (found [][2]int) {
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte("://"))
		if i < 0 {
			return found
		}
		start := from + i + len("://")
		end := start
		for end < len(text) && end-start < longest && bytes.IndexByte([]byte("/?#@ \"'<>\\\r\n\t"), text[end]) < 0 {
			end++
		}
		from = start
		if end == len(text) || text[end] != '@' {
			continue
		}
		switch _, password, has := bytes.Cut(text[start:end], []byte(":")); {
		case len(password) > 0:
			found = append(found, [2]int{end - len(password), end})
		case !has && end-start >= token:
			found = append(found, [2]int{start, end})
		}
	}
}

// Without is a text without the passwords in its URLs.
func Without(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	found := Passwords([]byte(text))
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f[0]] + Gone)
		at = f[1]
	}
	return b.String() + text[at:]
}

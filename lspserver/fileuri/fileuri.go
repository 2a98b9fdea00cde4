// Package fileuri translates between file URIs and paths. Clients spell one URI differently: which
// characters they escape, the case of the scheme, and the host "localhost", which is no host (RFC
// 8089). All spellings give one path; the spelling itself is the client's, and whoever sends a URI
// back sends it as it came.
package fileuri

import (
	"fmt"
	"path/filepath"
	"strings"

	"go.lsp.dev/uri"
)

// Path is the path that a URI names; ok is false for other schemes, other hosts, and what is no
// absolute path.
func Path(u string) (path string, ok bool) {
	scheme, rest, found := strings.Cut(u, ":")
	if !found || !strings.EqualFold(scheme, "file") {
		return "", false
	}
	if after, has := strings.CutPrefix(rest, "//"); has {
		host, path, _ := strings.Cut(after, "/")
		if host != "" && !strings.EqualFold(host, "localhost") {
			return "", false
		}
		rest = "/" + path
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	path = unescape(rest)
	if !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
		return "", false
	}
	return filepath.Clean(path), true
}

// Of is the file URI of an absolute path, in the spelling of VS Code: all but letters, digits and
// -._~ of ASCII is escaped.
func Of(path string) string {
	if !strings.HasPrefix(path, "/") { // of Windows
		return string(uri.File(path))
	}
	out := []byte("file://")
	for i := range len(path) {
		switch c := path[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			out = append(out, c)
		default:
			out = fmt.Appendf(out, "%%%02X", c)
		}
	}
	return string(out)
}

// unescape decodes %XX; a percent sign that begins no such sequence stands for itself.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if hi, lo := hexDigit(s[i+1]), hexDigit(s[i+2]); hi >= 0 && lo >= 0 {
				out = append(out, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

// hexDigit is the value of a hexadecimal digit, -1 for another character.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

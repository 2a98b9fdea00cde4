package logs

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tandem/sandbox/userinfo"
)

const gone = userinfo.Gone

// shortest is the length from which on a text is a secret: a shorter one would be found in
// everything.
const shortest = 8

// hidden knows what must not be written. It may be used concurrently.
type hidden struct {
	mu    sync.RWMutex
	texts [][]byte
}

// named adds a value where its name says that it is a secret. Many such variables name a file or a
// socket.
func (h *hidden) named(name, value string) {
	name = strings.ToLower(name)
	secret := strings.HasSuffix(name, "auth") || slices.ContainsFunc(
		[]string{"key", "token", "secret", "passw", "credential", "authorization", "cookie"},
		func(word string) bool { return strings.Contains(name, word) })
	if secret && !strings.HasPrefix(value, "/") {
		h.add(value)
	}
}

func (h *hidden) add(text string) {
	text = strings.TrimSpace(text)
	if len(text) < shortest {
		return
	}
	quoted := strconv.Quote(text)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range []string{text, quoted[1 : len(quoted)-1]} {
		if !slices.ContainsFunc(h.texts, func(known []byte) bool { return string(known) == t }) {
			h.texts = append(h.texts, []byte(t))
		}
	}
}

// span is a part of a text.
type span struct{ start, end int }

// redact gives text without what is known to be secret and what looks like it. JSON stays JSON,
// unless its names are odd.
func (h *hidden) redact(text []byte) []byte {
	found := append(h.known(text), append(shaped(text), fields(text)...)...)
	if len(found) == 0 {
		return text
	}
	slices.SortFunc(found, func(a, b span) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, s := range found {
		if s.end <= at {
			continue
		}
		if s.start >= at {
			out = append(append(out, text[at:s.start]...), gone...)
		}
		at = s.end
	}
	return append(out, text[at:]...)
}

func (h *hidden) known(text []byte) (found []span) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, t := range h.texts {
		each(text, t, func(at int) int {
			found = append(found, span{at, at + len(t)})
			return at + len(t)
		})
	}
	return found
}

// each calls do with every place of word in text; do says where to go on.
func each(text, word []byte, do func(at int) int) {
	for from := 0; from < len(text); {
		i := bytes.Index(text[from:], word)
		if i < 0 {
			return
		}
		from = max(do(from+i), from+i+1)
	}
}

// shapes are how keys of well-known services begin, and how many letters follow at least.
var shapes = []struct {
	prefix string
	more   string // letters besides those and digits
	least  int
}{
	{"sk-", "_-", 16},
	{"pk-", "_-", 16},
	{"rk-", "_-", 16},
	{"sk_live_", "", 10},
	{"sk_test_", "", 10},
	{"rk_live_", "", 10},
	{"AKIA", "", 16},
	{"ASIA", "", 16},
	{"ghp_", "", 20},
	{"gho_", "", 20},
	{"ghu_", "", 20},
	{"ghs_", "", 20},
	{"ghr_", "", 20},
	{"github_pat_", "_", 20},
	{"glpat-", "_-", 16},
	{"xox", "-", 12},
	{"AIza", "_-", 30},
	{"ya29.", "_-", 20},
	{"hf_", "", 20},
	{"npm_", "", 30},
	{"eyJ", "_-.", 30}, // a JSON web token
}

func shaped(text []byte) (found []span) {
	for _, s := range shapes {
		each(text, []byte(s.prefix), func(at int) int {
			end := at + len(s.prefix)
			for end < len(text) && (alphanumeric(text[end]) || strings.IndexByte(s.more, text[end]) >= 0) {
				end++
			}
			if end-at >= len(s.prefix)+s.least && begins(text, at) {
				found = append(found, span{at, end})
			}
			return end
		})
	}
	for _, at := range userinfo.Passwords(text) {
		found = append(found, span{at[0], at[1]})
	}
	each(text, []byte("-----BEGIN "), func(at int) int {
		const name, last = "PRIVATE KEY-----", "-----END "
		head := bytes.Index(text[at:min(len(text), at+64)], []byte(name))
		if head < 0 {
			return at + 1
		}
		end := len(text)
		if i := bytes.Index(text[at:], []byte(last)); i >= 0 {
			end = at + i + len(last)
			if i := bytes.Index(text[end:], []byte(name)); i >= 0 {
				end += i + len(name)
			}
		}
		found = append(found, span{at, end})
		return end
	})
	return found
}

// begins says that a word may begin there. In JSON the letter before it may be that of a line
// break, or part of a number that stands for a character.
func begins(text []byte, at int) bool {
	if at == 0 || !alphanumeric(text[at-1]) && text[at-1] != '_' {
		return true
	}
	if at >= 2 && text[at-2] == '\\' && strings.IndexByte("bfnrt", text[at-1]) >= 0 {
		return true
	}
	return at >= 6 && text[at-6] == '\\' && text[at-5] == 'u' && strings.Trim(string(text[at-4:at]), "0123456789abcdefABCDEF") == ""
}

// shouted says that a word is the last one of the name of a variable that is set there, as in
// API_TOKEN=value.
func shouted(text []byte, at, end int) bool {
	word := text[at:end]
	return end < len(text) && text[end] == '=' && bytes.Equal(word, bytes.ToUpper(word)) &&
		(begins(text, at) || text[at-1] == '_')
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// fields are the values of headers, members and parameters with the name of a secret, and of all
// headers that a configuration names: nobody can tell which of them is one.
func fields(text []byte) (found []span) {
	const longest = 16 // of what stands before the word that a name ends with
	lower := bytes.ToLower(text)
	if len(lower) != len(text) { // letters whose other case has another length
		lower = text
	}
	for _, word := range []string{"authorization", "key", "cookie", "token", "secret", "passw"} {
		each(lower, []byte(word), func(at int) int {
			end, p := at+len(word), patterns()
			before := p.before[word]
			if before != nil && !before.Match(lower[max(0, at-longest):at]) && !shouted(text, at, end) {
				return end
			}
			m := p.value.FindSubmatchIndex(text[end:])
			if m == nil || p.literal.Match(text[end+m[2]:end+m[3]]) {
				return end
			}
			found = append(found, span{end + m[2], end + m[3]})
			return end + m[3]
		})
	}
	each(text, []byte(`"headers"`), func(at int) int {
		m := patterns().headers.FindSubmatchIndex(text[at:])
		if m == nil {
			return at + 1
		}
		for _, v := range patterns().text.FindAllSubmatchIndex(text[at+m[2]:at+m[3]], -1) {
			if start := at + m[2]; v[3] > v[2] {
				found = append(found, span{start + v[2], start + v[3]})
			}
		}
		return at + m[3]
	})
	return found
}

type pattern struct {
	value, literal *regexp.Regexp
	headers, text  *regexp.Regexp            // an object of headers, a value in it
	before         map[string]*regexp.Regexp // what stands before words that are harmless alone
}

var patterns = sync.OnceValue(func() pattern {
	return pattern{
		value: regexp.MustCompile(`^(?i)(?:ord|d)?\\*["']?\s*[:=]\s*\[?\\*["']?(?:(?:bearer|basic|token)\s+)?` +
			`([^\s"'\\,;&\]})]+)`),
		literal: regexp.MustCompile(`^(?:null|true|false|<nil>|[\[{].*|-?[0-9.]+(?:[eE][+-]?[0-9]+)?)$`), // without quotes
		headers: regexp.MustCompile(`^"headers"\s*:\s*\{((?:"(?:[^"\\]|\\.)*"\s*[:,]?\s*)*)\}`),
		text:    regexp.MustCompile(`:\s*"((?:[^"\\]|\\.)*)"`),
		before: map[string]*regexp.Regexp{
			"key":   regexp.MustCompile(`(?:api|private)[-_]?$`),
			"token": regexp.MustCompile(`(?:access|auth|refresh|id|api|bearer)[-_]?$`),
		},
	}
})

package run

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"

	"tandem/sandbox"
	"tandem/tools"
)

const (
	// shortestKey is the length from which on a word of a file of keys is looked for; shortestWord is that of one of small letters
	// alone, such as "development".
	shortestKey, shortestWord = 8, 16
	maxKeys                   = 4000
)

// Keys are what a session was told of files that hold keys or passwords: a request to the network that carries some of it is asked
// about. The zero value and nil know nothing; it may be used concurrently.
type Keys struct {
	mu    sync.Mutex
	words []string // and what they are in base64 and hex
}

// learn adds what may be keys in a text: what stands behind = as a whole, and words, but not those before = or :, which are names.
func (k *Keys) learn(text string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "<") { // what a tool says of the file
			continue
		}
		if _, value, ok := strings.Cut(line, "="); ok {
			k.add(strings.Trim(strings.TrimSpace(value), `"'`))
		}
		for rest := line; rest != ""; {
			word, after := rest, ""
			if i := strings.IndexFunc(rest, separates); i >= 0 {
				word, after = rest[:i], rest[i+1:]
				padding := strings.Trim(strings.SplitN(after+" ", " ", 2)[0], "=\r\n") == ""
				if rest[i] == ':' || rest[i] == '=' && !padding {
					word = ""
				}
			}
			k.add(word)
			rest = after
		}
	}
}

// add adds a word unless it is a usual one. k.mu is held.
func (k *Keys) add(word string) {
	if isKey(word) && len(k.words) < maxKeys && !slices.Contains(k.words, word) {
		k.words = append(k.words, word, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(word)), "="),
			strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(word)), "="), hex.EncodeToString([]byte(word)))
	}
}

// separates says that a character stands between words.
func separates(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("\"'`=:,;|<>(){}[]@", r)
}

// isKey says that a word is no usual one.
func isKey(word string) bool {
	least := shortestKey
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-_./") == "" {
		least = shortestWord
	}
	return len(word) >= least
}

// in says that arguments hold one of the keys.
func (k *Keys) in(args json.RawMessage) bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.words) == 0 {
		return false
	}
	texts := []string{string(args)}
	var all any
	if json.Unmarshal(args, &all) == nil {
		texts = strung(texts, all)
	}
	for _, t := range texts {
		if plain, err := url.QueryUnescape(t); err == nil && plain != t {
			texts = append(texts, plain)
		}
	}
	return slices.ContainsFunc(texts, func(t string) bool {
		return slices.ContainsFunc(k.words, func(w string) bool { return strings.Contains(t, w) })
	})
}

// strung appends the strings in a value of JSON.
func strung(to []string, v any) []string {
	switch v := v.(type) {
	case string:
		return append(to, v)
	case []any:
		for _, e := range v {
			to = strung(to, e)
		}
	case map[string]any:
		for _, e := range v {
			to = strung(to, e)
		}
	}
	return to
}

// flagged marks the needs by which arguments leave the machine with a key.
func (k *Keys) flagged(args json.RawMessage, needs []tools.Need) []tools.Need {
	leaves := func(n tools.Need) bool {
		return n.Act == tools.Reaches || n.Act == tools.Runs && n.Profile == sandbox.Proxy
	}
	if !slices.ContainsFunc(needs, leaves) || !k.in(args) {
		return needs
	}
	needs = slices.Clone(needs)
	for i := range needs {
		needs[i].Secret = leaves(needs[i])
	}
	return needs
}

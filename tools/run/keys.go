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
	maxKeys                   = 1000
)

// Keys are what a session was told of files that hold keys or passwords: a request to the network that carries some of it is asked
// about. The zero value and nil know nothing; it may be used concurrently.
type Keys struct {
	mu    sync.Mutex
	words []string
	// spelled are the words as base64 and hexadecimal have them.
	spelled []spelling
}

// spelling is what an encoded text has of a word. folded says that letters of either case stand for the same.
type spelling struct {
	text   string
	folded bool
}

// spellings are those of a word. Base64 has three, by where the word stands among the bytes that are encoded; of each only the
// characters count that no byte before or after the word has a part in.
func spellings(word string) []spelling {
	out := []spelling{{hex.EncodeToString([]byte(word)), true}}
	for before := range 3 {
		first := (before*8 + 5) / 6
		last := (before + len(word)) * 8 / 6
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			text := encoding.EncodeToString(append(make([]byte, before), word...))
			out = append(out, spelling{text[first:last], false})
		}
	}
	return out
}

// Recall adds what a call has shown before the session was loaded again: secret says that a text of its arguments names a file of
// keys or passwords.
func (k *Keys) Recall(args json.RawMessage, shown string, secret func(path string) bool) {
	var all any
	if json.Unmarshal(args, &all) == nil && slices.ContainsFunc(strung(nil, all), secret) {
		k.learn(shown)
	}
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
		k.words = append(k.words, word)
		k.spelled = append(k.spelled, spellings(word)...)
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
	return slices.ContainsFunc(texts, k.within)
}

// within says that a text holds one of the keys. Encoded texts may be broken into lines. k.mu is held.
func (k *Keys) within(text string) bool {
	if slices.ContainsFunc(k.words, func(w string) bool { return strings.Contains(text, w) }) {
		return true
	}
	joined := strings.Join(strings.Fields(text), "")
	folded := strings.ToLower(joined)
	return slices.ContainsFunc(k.spelled, func(s spelling) bool {
		if s.folded {
			return strings.Contains(folded, s.text)
		}
		return strings.Contains(joined, s.text)
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

// Leave says that the arguments of a call with these needs take a key to the network.
func (k *Keys) Leave(args json.RawMessage, needs []tools.Need) bool {
	return slices.ContainsFunc(k.flagged(args, needs), func(n tools.Need) bool { return n.Secret })
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

package bash

import (
	"bytes"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tandem/sandbox"
	"tandem/sandbox/userinfo"
	"tandem/tools"
)

// clean makes the output of a program fit to be shown as text: what would move a terminal's cursor,
// colour it or set its clipboard is taken out, ends of lines become \n, what is no UTF-8 is
// replaced, and so are passwords in URLs: git and others print those of remotes.
func clean(s string) string {
	return userinfo.Without(plain(s))
}

// plain is clean without a look at what the text says.
func plain(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var b strings.Builder
	from := 0 // s[from:i] is text that stays. Of a text that stays as a whole no copy is made
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) {
			i += n
			continue
		}
		if b.Cap() == 0 {
			b.Grow(len(s))
		}
		b.WriteString(s[from:i])
		switch {
		case r == '\x1b':
			n = escape(s[i:])
		case r == '\r' && !strings.HasPrefix(s[i:], "\r\n"):
			b.WriteByte('\n')
		}
		i += n
		from = i
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// escape is the length of the escape sequence that s begins with.
func escape(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[': // parameters and intermediates, then one final byte
		for i := 2; i < len(s); i++ {
			if s[i] < ' ' || s[i] > '?' {
				if s[i] >= '@' && s[i] <= '~' {
					return i + 1
				}
				return i
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_': // a string, up to BEL or ST; one that never ends is only its introducer
		for i := 2; i < len(s); i++ {
			if s[i] == '\a' {
				return i + 1
			}
			if s[i] == '\x1b' && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
		return 2
	}
	if s[1] < utf8.RuneSelf {
		return 2
	}
	return 1
}

const (
	// newsEvery is how often a person is told what a command prints, newsBytes how much of it each
	// time.
	newsEvery = 50 * time.Millisecond
	newsBytes = 8 << 10
)

// reporter passes the output on to whoever looks on, whole lines at a time and no more than can be
// read.
type reporter struct {
	env *tools.Env

	mu      sync.Mutex
	pending []byte
	timer   *time.Timer // tells what waits; nil while nothing has been told for a while
	over    bool
}

func (r *reporter) output(_ sandbox.Stream, chunk []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, chunk...)
	if over := len(r.pending) - newsBytes; over > 0 {
		r.pending = append(r.pending[:0], r.pending[over:]...)
	}
	if r.timer == nil {
		r.lines()
	}
}

// lines tells the whole lines that wait, and again after a while as long as there are any. r.mu is
// held.
func (r *reporter) lines() {
	r.timer = nil
	end := bytes.LastIndexByte(r.pending, '\n') + 1
	if end == 0 || r.over {
		return
	}
	r.send(end)
	r.timer = time.AfterFunc(newsEvery, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lines()
	})
}

// flush tells what is left; nothing is told after it.
func (r *reporter) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	r.over = true
	r.send(len(r.pending))
}

// send tells the first n bytes of what waits. r.mu is held.
func (r *reporter) send(n int) {
	if text := clean(string(r.pending[:n])); text != "" {
		r.env.Person.Progress(tools.Progress{Text: text})
	}
	r.pending = append(r.pending[:0], r.pending[n:]...)
}

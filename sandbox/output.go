package sandbox

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Kept is what is kept of an output: its head, and a ring with its tail. NewKept makes one. It may
// not be called concurrently.
type Kept struct {
	half  int
	head  []byte
	ring  []byte
	start int // of the oldest byte in a full ring
	lost  int64
	lines int64 // that ended in everything that was written
}

// NewKept keeps size bytes, half of them of the beginning.
func NewKept(size int) *Kept { return &Kept{half: max(1, size/2)} }

// Write takes what comes next.
func (k *Kept) Write(p []byte) {
	k.lines += int64(bytes.Count(p, newline))
	if room := k.half - len(k.head); room > 0 {
		n := min(room, len(p))
		k.head = append(k.grown(k.head, n), p[:n]...)
		p = p[n:]
	}
	if over := len(p) - k.half; over > 0 {
		k.lost += int64(over)
		p = p[over:]
	}
	if room := k.half - len(k.ring); room > 0 {
		n := min(room, len(p))
		k.ring = append(k.grown(k.ring, n), p[:n]...)
		p = p[n:]
	}
	k.lost += int64(len(p))
	for len(p) > 0 {
		n := copy(k.ring[k.start:], p)
		p = p[n:]
		k.start = (k.start + n) % len(k.ring)
	}
}

// grown makes room in a buffer for n bytes more. A small one grows by doubling. A larger one gets
// all that it may need at once: most of what a flood would cost is the buffers that it has
// outgrown.
func (k *Kept) grown(b []byte, n int) []byte {
	const small = 64 << 10
	if need := len(b) + n; need > cap(b) && need > small {
		return append(make([]byte, 0, k.half), b...)
	}
	return b
}

var newline = []byte("\n")

// Output is what was kept, and what is missing from it. No rune is cut in two.
func (k *Kept) Output() (string, Gap) {
	var all strings.Builder // one copy: an output may be large
	all.Grow(len(k.head) + len(k.ring))
	for _, part := range [][]byte{k.head, k.ring[k.start:], k.ring[:k.start]} {
		all.Write(part)
	}
	text := all.String()
	head, tail := text[:len(k.head)], text[len(k.head):]
	if k.lost == 0 {
		return text, Gap{}
	}
	lost := k.lost
	for i := 1; i <= min(utf8.UTFMax, len(head)); i++ {
		if c := head[len(head)-i]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(head[len(head)-i:]) {
				head, lost = head[:len(head)-i], lost+int64(i)
			}
			break
		}
	}
	for i := 0; i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail, lost = tail[1:], lost+1
	}
	if len(head)+len(tail) < len(text) {
		text = head + tail
	}
	return text, Gap{At: len(head), Bytes: lost, Lines: k.lines - int64(strings.Count(text, "\n"))}
}

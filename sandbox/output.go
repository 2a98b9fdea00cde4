package sandbox

import (
	"fmt"
	"unicode/utf8"
)

// kept is what is kept of an output: its head, and a ring with its tail.
type kept struct {
	half  int
	head  []byte
	ring  []byte
	start int // of the oldest byte in a full ring
	lost  int64
}

func (k *kept) Write(p []byte) {
	if room := k.half - len(k.head); room > 0 {
		n := min(room, len(p))
		k.head = append(k.head, p[:n]...)
		p = p[n:]
	}
	if over := len(p) - k.half; over > 0 {
		k.lost += int64(over)
		p = p[over:]
	}
	if room := k.half - len(k.ring); room > 0 {
		n := min(room, len(p))
		k.ring = append(k.ring, p[:n]...)
		p = p[n:]
	}
	k.lost += int64(len(p))
	for len(p) > 0 {
		n := copy(k.ring[k.start:], p)
		p = p[n:]
		k.start = (k.start + n) % len(k.ring)
	}
}

// String is the output, with a line in place of what was not kept. No rune is cut in two.
func (k *kept) String() (s string, lost int64) {
	tail := append(k.ring[k.start:len(k.ring):len(k.ring)], k.ring[:k.start]...)
	if k.lost == 0 {
		return string(k.head) + string(tail), 0
	}
	head, lost := k.head, k.lost
	for i := 1; i <= min(utf8.UTFMax, len(head)); i++ {
		if c := head[len(head)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(head[len(head)-i:]) {
				head, lost = head[:len(head)-i], lost+int64(i)
			}
			break
		}
	}
	for i := 0; i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail, lost = tail[1:], lost+1
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", head, lost, tail), lost
}

package store

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"strings"
	"sync"
)

// How a text is packed: its first byte.
const (
	plain    = 0
	deflated = 1
)

// packer makes texts small where that is worth the time. Its writers are large and used again.
type packer struct{ writers sync.Pool }

func (p *packer) pack(s string) []byte {
	const little = 512
	if len(s) < little {
		return append([]byte{plain}, s...)
	}
	var b bytes.Buffer
	b.WriteByte(deflated)
	w, _ := p.writers.Get().(*flate.Writer)
	if w == nil {
		w, _ = flate.NewWriter(nil, flate.BestSpeed) // fails for levels that there are not
	}
	defer p.writers.Put(w)
	w.Reset(&b)
	if _, err := io.WriteString(w, s); err != nil || w.Close() != nil || b.Len() > len(s) {
		return append([]byte{plain}, s...)
	}
	return b.Bytes()
}

// unpack is the inverse of pack.
func unpack(b []byte) (string, error) {
	switch {
	case len(b) > 0 && b[0] == plain:
		return string(b[1:]), nil
	case len(b) > 0 && b[0] == deflated:
		var s strings.Builder
		if _, err := io.Copy(&s, flate.NewReader(bytes.NewReader(b[1:]))); err != nil {
			return "", fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return s.String(), nil
	}
	return "", fmt.Errorf("%w: a text has no form", ErrDamaged)
}

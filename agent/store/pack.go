package store

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/s2"
)

// The first byte of a stored text names its compression.
const (
	plain    = 0
	deflated = 1 // of schema 1 and 2: read, never written
	snappy   = 2 // S2, a superset of Snappy
)

// packer compresses texts with S2, a fast codec. It may be used concurrently.
type packer struct{ buffers sync.Pool }

// pack gives a text as it is stored: compressed, if that makes it smaller.
func (p *packer) pack(s []byte) []byte {
	const little, large = 512, 256 << 10
	if most := s2.MaxEncodedLen(len(s)); len(s) >= little && most > 0 {
		buffer, _ := p.buffers.Get().(*[]byte)
		if buffer == nil {
			buffer = new([]byte)
		}
		*buffer = slices.Grow((*buffer)[:0], most)
		small := s2.Encode((*buffer)[:most], s)
		if most <= large { // a larger one would be held for texts that are rare
			defer p.buffers.Put(buffer)
		}
		if len(small) < len(s) {
			return append([]byte{snappy}, small...)
		}
	}
	return append([]byte{plain}, s...)
}

// unpack is the inverse of pack.
func unpack(b []byte) (string, error) {
	if len(b) == 0 {
		return "", fmt.Errorf("%w: a text has no form", ErrDamaged)
	}
	switch form, rest := b[0], b[1:]; form {
	case plain:
		return string(rest), nil
	case snappy:
		s, err := s2.Decode(nil, rest)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return string(s), nil
	case deflated:
		var s strings.Builder
		if _, err := io.Copy(&s, flate.NewReader(bytes.NewReader(rest))); err != nil {
			return "", fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return s.String(), nil
	}
	return "", fmt.Errorf("%w: a text has no form", ErrDamaged)
}

package store

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/s2"
)

// The first byte of a stored text names its compression.
const (
	plain    = 0
	deflated = 1 // of schema 1 and 2: read, never written
	snappy   = 2 // S2, a superset of Snappy
)

// pack compresses a text with S2, a fast codec, if that makes it smaller.
func pack(s string) []byte {
	const little = 512
	if most := s2.MaxEncodedLen(len(s)); len(s) >= little && most > 0 {
		packed := make([]byte, 1+most)
		packed[0] = snappy
		if small := s2.Encode(packed[1:], []byte(s)); len(small) < len(s) {
			return bytes.Clone(packed[:1+len(small)]) // frees the rest of the buffer
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

package filetime

import (
	"crypto/sha256"
	"encoding/hex"

	"tandem/filetime/text"
)

// Decode is the text that a file of these bytes says.
func Decode(raw []byte) (text.Text, error) {
	t, _, err := text.Decode(raw)
	return t, err
}

// Says reports whether a file of bytes with this SHA-256, in hexadecimal digits, says t.
func Says(t text.Text, hash string) bool {
	for _, c := range []text.Charset{text.CharsetUTF8, text.CharsetUTF16LE, text.CharsetUTF16BE} {
		raw, err := text.Encode(t, c)
		if sum := sha256.Sum256(raw); err == nil && hex.EncodeToString(sum[:]) == hash {
			return true
		}
	}
	return false
}

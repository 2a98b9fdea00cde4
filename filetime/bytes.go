package filetime

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"tandem/filetime/text"
)

// Decode decodes the bytes of a file.
func Decode(raw []byte) (text.Text, error) {
	t, _, err := text.Decode(raw)
	return t, err
}

// Says reports whether t, encoded in a charset that files may have, has this SHA-256 in hexadecimal
// digits.
func Says(t text.Text, hash string) bool {
	for _, c := range []text.Charset{text.CharsetUTF8, text.CharsetUTF16LE, text.CharsetUTF16BE} {
		raw, err := text.Encode(t, c)
		if sum := sha256.Sum256(raw); err == nil && hex.EncodeToString(sum[:]) == hash {
			return true
		}
	}
	return false
}

// Size formats a number of bytes for people, such as 15.3MB.
func Size(n int64) string {
	f, unit := float64(n), 0
	for f >= 1024 && unit < 4 {
		f, unit = f/1024, unit+1
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10) + "B"
	}
	return string(append(strconv.AppendFloat(nil, f, 'f', 1, 64), "BKMGT"[unit], 'B'))
}

// TooLarge refuses a file that has size bytes, which is over the limit.
func TooLarge(path string, size, limit int64) *Error {
	return &Error{
		Code: FileTooLarge, Reason: "size", Path: path, Message: fmt.Sprintf(
			"%s is too large: %s, the limit is %s. Read a part of it with start_line and end_line of read_file, or find the "+
				"place with grep. It cannot be edited or overwritten: write another file, or delete it first.", path, Size(size), Size(limit)),
		Person: fmt.Sprintf("The file is too large: %s, and the limit is %s. The setting limits.maxFileBytes raises the limit.",
			Size(size), Size(limit)),
	}
}

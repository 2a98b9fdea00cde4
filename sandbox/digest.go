package sandbox

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
)

const maxDigest = 512 << 20

// Digest is the SHA-256 of the content of a regular file, behind symbolic links. ok is false where
// there is none. A file that cannot be read is an error. Of a file that is larger than 512 MiB it
// is the digest of the first 512 MiB, its size and its time.
func Digest(path string) (sum [sha256.Size]byte, ok bool, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return sum, false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return sum, false, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxDigest)); err != nil {
		return sum, false, err
	}
	if info.Size() > maxDigest {
		fmt.Fprintf(h, "%d %d", info.Size(), info.ModTime().UnixNano())
	}
	h.Sum(sum[:0])
	return sum, true, nil
}

package filetime

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"tandem/filetime/text"
)

func TestSays(t *testing.T) {
	for _, raw := range []string{"", "größer\r\n", "\ufeffone\n", "\xff\xfeo\x00\n\x00", "\xfe\xff\x00o\x00\n"} {
		said, err := Decode([]byte(raw))
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		hash := fmt.Sprintf("%x", sha256.Sum256([]byte(raw)))
		if !Says(said, hash) {
			t.Errorf("%q does not say %q", raw, said)
		}
		if Says(text.New(said.String()+"x"), hash) || Says(said, "") {
			t.Errorf("%q says anything", raw)
		}
	}
	for _, raw := range []string{"\xff", "\xff\xfeo", "\xff\xfe\x00\xd8"} {
		if said, err := Decode([]byte(raw)); err == nil {
			t.Errorf("%q says %q", raw, said)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1.0KB", 16043213: "15.3MB", 5 << 50: "5120.0TB"} {
		if got := Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

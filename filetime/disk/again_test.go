//go:build linux

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fewest is the version that lacks the fewest lines of data.
func fewest(versions [][]byte, data []byte) (best int) {
	least := -1
	for i, v := range versions {
		n := 0
		for line := range strings.Lines(string(data)) {
			if !strings.Contains(string(v), line) {
				n++
			}
		}
		if least < 0 || n < least {
			best, least = i, n
		}
	}
	return best
}

// TestF152SavedAgainOnTheWayBack has another program save text that conflicts with ours, and once more while that goes back
// into its place: the file says what it saved last, and not both brought together. Only what was made for our text is brought
// together with what it had saved before.
func TestF152SavedAgainOnTheWayBack(t *testing.T) {
	const first = "one\nhello\ntwo\n3\n"
	for _, tt := range []struct{ name, second, want string }{
		{"a line more", "one\nhello\nworld\ntwo\n3\n", ""},
		{"a line less", "one\ntwo\n3\n", ""},
		{"as it was before", "one\ntwo\nthree\n", ""},
		{"all of it anew", "else\n", ""},
		{"a line more than ours", "one\ntwo\nagent\nmore\n", "one\nhello\ntwo\n3\nmore\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, filepath.Join(memory(t), "w"), map[string]string{"f": "one\ntwo\nthree\n"})
			saves := []string{first, tt.second}
			w.fail = func(op, _ string) error {
				if op == "exchange" && len(saves) > 0 {
					was, _ := w.read("f")
					w.version(was, saves[0])
					w.must(os.WriteFile(w.path("other.swp"), []byte(saves[0]), 0o600))
					w.must(os.Rename(w.path("other.swp"), w.path("f")))
					saves = saves[1:]
				}
				return nil
			}
			w.start(0)
			w.d.o.Nearest = fewest
			w.change(w.edit("f", "three", "agent"))
			if !errors.Is(w.err, errConflict) {
				t.Errorf("the edit: %v", w.err)
			}
			w.sim.pass()
			w.check(true)
			want := tt.want
			if want == "" {
				want = tt.second
			}
			if got, _ := w.read("f"); got != want || len(saves) > 0 {
				t.Errorf("the file says %q, want %q, and %d saves are to come", got, want, len(saves))
			}
		})
	}
}

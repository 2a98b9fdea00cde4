//go:build linux

package disk

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestF152SavedFasterThanMerged has another program append to the file between each of our looks at it and the exchange, as
// one does that writes more often than a merge takes. The change ends nevertheless: with both where they go together, and with
// the conflict where they do not.
func TestF152SavedFasterThanMerged(t *testing.T) {
	const many = 2000
	for _, tt := range []struct {
		name  string
		first func(w *world) bool
		want  error
	}{
		{"lines at the end", func(w *world) bool { return w.append("f") }, nil},
		{"the line that is edited, then lines at the end", func(w *world) bool { return w.save("f", "three", "drei") }, errConflict},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, filepath.Join(memory(t), "w"), map[string]string{"f": pre})
			appended, waited, first := 0, 0, tt.first
			w.fail = func(op, _ string) error {
				switch {
				case op != "exchange" || appended == many:
				case first != nil:
					first(w)
					first = nil
				case w.append("f"):
					appended++
				default:
					waited++
				}
				return nil
			}
			w.start(0)
			w.d.o.Nearest = func(versions [][]byte, data []byte) int {
				differ := func(a, b []byte) (n int) {
					for line := range strings.Lines(string(a)) {
						if !strings.Contains(string(b), line) {
							n++
						}
					}
					return n
				}
				best, least := 0, -1
				for i, v := range versions {
					if n := differ(v, data) + differ(data, v); least < 0 || n < least {
						best, least = i, n
					}
				}
				return best
			}
			one(w)
			if !errors.Is(w.err, tt.want) {
				t.Errorf("the edit: %v, want %v", w.err, tt.want)
			}
			if appended == many {
				t.Errorf("the edit ended only after the other program did")
			}
			t.Logf("%d lines appended, %d times the program had to wait", appended, waited)
			w.fail, w.sim.fault = nil, nil
			w.sim.pass()
			w.check(true)
			got, _ := w.read("f")
			if (tt.want == nil) != strings.Contains(got, "THREE") || strings.Count(got, "typed") != len(w.marks) {
				t.Errorf("the file says %q", got)
			}
		})
	}
}

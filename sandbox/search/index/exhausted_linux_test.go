package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tandem/sandbox"
	"tandem/sandbox/tree"
	"tandem/sandbox/tree/treetest"
)

// TestFaultS11TooManyOpenFiles: a walk, a scan and one with an index end with an error where files could not be opened, in place of an answer
// that lacks them, and find all once they can be opened.
func TestFaultS11TooManyOpenFiles(t *testing.T) {
	t.Run("one below the other", func(t *testing.T) { exhausted(t, "d/") })
	t.Run("side by side", func(t *testing.T) { exhausted(t, "") })
}

// exhausted tries files of which each lies in a folder more.
func exhausted(t *testing.T, folder string) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const files = 12
	for i := range files {
		below := filepath.Join(dir, strings.Repeat(folder, i))
		if err := errors.Join(os.MkdirAll(below, 0o755), os.WriteFile(filepath.Join(below, fmt.Sprint("f", i)), []byte("text"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	p := &sandbox.Paths{Cwd: dir, Read: []string{dir}}
	defer p.Close()
	walk := func(x *Indexes) (n int, err error) {
		tr, err := open(p, dir)
		if err != nil {
			return 0, err
		}
		_, err = x.Walk(t.Context(), tr, 0, func(e tree.Entry) error {
			if e.Type.IsRegular() {
				n++
			}
			return nil
		})
		return n, err
	}
	scan := func(x *Indexes) (n int, err error) {
		tr, err := open(p, dir)
		if err != nil {
			return 0, err
		}
		err = Scan(t.Context(), tr, Options{Wants: func(string) bool { return true }, Indexes: x},
			func() func(File) (string, bool) { return func(f File) (string, bool) { return f.Path, true } },
			func(string, string) bool { n++; return true })
		return n, err
	}
	for name, find := range map[string]func(*Indexes) (int, error){"walk": walk, "scan": scan} {
		t.Run(name, func(t *testing.T) {
			var x Indexes
			if n, err := find(&x); n != files || err != nil {
				t.Fatal("at first", n, err)
			}
			for more := range 2 * files {
				restore := treetest.OpenFiles(t, more)
				n, err := find(&x)
				restore()
				if n != files && !errors.Is(err, syscall.EMFILE) {
					t.Errorf("with %d files more it finds %d of %d, and the error is %v", more, n, files, err)
				}
				if n, err := find(&x); n != files || err != nil {
					t.Errorf("after %d files more it finds %d of %d, and the error is %v", more, n, files, err)
				}
			}
		})
	}
}

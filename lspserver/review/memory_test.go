package review

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"tandem/filetime/text"
)

// TestFaultS10OneTextOfAFile: many changes of a file take little more memory than the file, also where each comes with a text of its own:
// that of a file which the editor opens for the change and closes again.
func TestFaultS10OneTextOfAFile(t *testing.T) {
	var lines strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&lines, "line %d of a file that is long\n", i)
	}
	d := newDesk(t, lines.String(), false)
	change := func(from, to int) {
		for i := from; i < to; i++ {
			raw, err := os.ReadFile(d.path)
			if err != nil {
				t.Fatal(err)
			}
			d.text, d.ver = text.New(string(raw)), 1
			d.w.Open(d.path, d.uri, 1, string(raw))
			d.agent(1, fmt.Sprintf("line %d of", 7*i), fmt.Sprintf("the line %d of", 7*i))
			d.log.Marks(d.path)
			if err := os.WriteFile(d.path, []byte(d.text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			d.w.Close(d.uri)
		}
		d.back = nil
	}
	change(1, 5)
	before := heap()
	change(5, 45)
	if grown := heap() - before; grown > 4*int64(lines.Len()) {
		t.Errorf("%d bytes for 40 changes of a file of %d", grown, lines.Len())
	}
	if n := len(d.log.Marks(d.path)); n != 44 {
		t.Errorf("%d hunks", n)
	}
	if u := d.log.Undo(t.Context(), Scope{All: true}); len(u.Conflicts) > 0 || d.now() != lines.String() {
		t.Errorf("%+v", u)
	}
	runtime.KeepAlive(d)
}

// heap is how many bytes are in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

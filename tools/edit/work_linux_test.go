package edit_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"tandem/tools/edit"
	"tandem/tools/toolstest"
)

// shapes are files in which a text stands at n places.
func shapes(n int) map[string]string {
	var each, apart strings.Builder
	for i := range n {
		fmt.Fprintf(&each, "value_%d = old_name\n", i)
		fmt.Fprintf(&apart, "keep %d\nvalue_%d = old_name\n", i, i)
	}
	return map[string]string{"each line": each.String(), "every second line": apart.String(), "one line": strings.Repeat("old_name, ", n)}
}

// everywhere replaces a text everywhere, twice, the second time by a call that was made before.
func everywhere(t testing.TB, content string) {
	w := toolstest.NewWorld(t, edit.New())
	w.Env.RequireRead = false
	w.Files.Put(w.Path("f"), content, false)
	for _, args := range []string{`"old_text":"old_name","new_text":"a_name"`, `"old_text":"a_name","new_text":"b"`, `"old_text":"old_name","new_text":"a_name"`} {
		if r := w.Call("edit_file", `{"path":"f",`+args+`,"replace_all":true}`); !r.Success && !strings.Contains(r.Data, "not in f") {
			t.Fatal(r.Data)
		}
	}
}

// The work of a replacement grows as the number of its places does: four times as many take far less than sixteen times the processor.
func TestFaultW18ReplaceAllIsLinear(t *testing.T) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	const n = 2500
	few, many := shapes(n), shapes(4*n)
	for shape := range few {
		least := func(content string) time.Duration {
			out := time.Hour
			for range 3 {
				before := used()
				everywhere(t, content)
				out = min(out, used()-before)
			}
			return out
		}
		if a, b := least(few[shape]), least(many[shape]); b > 9*a+20*time.Millisecond {
			t.Errorf("%s: %d places take %v, %d places %v", shape, n, a, 4*n, b)
		}
	}
}

func BenchmarkFaultW18ReplaceAll(b *testing.B) {
	for shape, content := range shapes(73_000) {
		b.Run(strings.ReplaceAll(shape, " ", "-"), func(b *testing.B) {
			for b.Loop() {
				everywhere(b, content)
			}
		})
	}
}

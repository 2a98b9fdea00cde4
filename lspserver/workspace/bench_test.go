package workspace

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tandem/filetime/text"
)

// BenchmarkMinute takes in what an editor sends in a minute at 1,000 changes a second, at all places of a document of
// 10 MB, with a model that looks at it now and then. It tells what the heap holds after 10,000 of them (the history is
// half full), at the most, and in the end.
func BenchmarkMinute(b *testing.B) {
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	path := filepath.Join(b.TempDir(), "f.go")
	body := strings.Repeat("\tif value, err := the.Call(context, 12345); err != nil { // and so on\n", 10<<20/69)
	for b.Loop() {
		r := rand.New(rand.NewPCG(1, 1))
		w := New(Options{Roots: everything(), Features: Features{Apply: true}})
		w.Open(path, URI(path), 1, body)
		var first, most float64
		for i := range 60_000 {
			if i%5_000 == 0 {
				h := heap()
				if i == 10_000 {
					first = h
				}
				most = max(most, h)
				if _, err := w.Read(b.Context(), path); err != nil {
					b.Fatal(err)
				}
			}
			at := text.Position{Line: r.IntN(150_000)}
			change := ContentChange{Range: &Range{Start: at, End: at}, Text: "x"}
			if i%3 == 2 { // and one back
				change.Range.End.Character, change.Text = 1, ""
			}
			w.Change(URI(path), int32(i+2), []ContentChange{change})
		}
		b.ReportMetric(first, "MB-after-10k")
		b.ReportMetric(most, "MB-most")
		b.ReportMetric(heap(), "MB-after-60k")
		runtime.KeepAlive(w)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/60_000/float64(b.N), "µs/change")
}

// BenchmarkChange is a key in an open document, from the change as it was decoded on.
func BenchmarkChange(b *testing.B) {
	for _, mb := range []int{1, 10} {
		b.Run(fmt.Sprintf("%dMB", mb), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "f.go")
			w := New(Options{Roots: everything(), Features: Features{Apply: true}})
			w.Open(path, URI(path), 1, strings.Repeat("\tif value, err := the.Call(context, 12345); err != nil {\n", mb<<20/57))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				at := text.Position{Line: mb << 20 / 57 / 2, Character: i % 2000}
				w.Change(URI(path), int32(i+2), []ContentChange{{Range: &Range{Start: at, End: at}, Text: "x"}})
			}
		})
	}
}

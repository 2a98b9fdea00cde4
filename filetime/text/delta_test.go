package text

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// versions draws a text and later versions of it, of one or several chunks.
func versions(t *rapid.T) []Text {
	line := rapid.SampledFrom([]string{"ab\n", "line\r\n", "日本\n", ""}).Draw(t, "line")
	out := []Text{New(strings.Repeat(line, rapid.IntRange(0, 9000).Draw(t, "lines")))}
	for range rapid.IntRange(1, 8).Draw(t, "steps") {
		now := out[len(out)-1]
		start := rapid.IntRange(0, now.Len()).Draw(t, "start")
		end := rapid.IntRange(start, min(now.Len(), start+rapid.SampledFrom([]int{1, 30, 20_000}).Draw(t, "most"))).Draw(t, "end")
		fresh := rapid.SampledFrom([]string{"", "a", "é", "b\r\n"}).Draw(t, "new")
		set := snapToRunes(now, Set{{start, end, strings.Repeat(fresh, rapid.SampledFrom([]int{1, 2, 20_000}).Draw(t, "times"))}})
		out = append(out, set.Apply(now))
	}
	return out
}

// TestDelta: a delta leads from any version to any other, and its edits are valid.
func TestDelta(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := versions(t)
		a, b := rapid.SampledFrom(all).Draw(t, "a"), rapid.SampledFrom(all).Draw(t, "b")
		set := Delta(a, b)
		if err := set.Validate(a); err != nil {
			t.Fatal(err)
		}
		if !set.Apply(a).Equal(b) {
			t.Fatalf("%d edits lead elsewhere", len(set))
		}
	})
}

// TestDeltaIsWhatChanged: edits here and there in a long text are as many edits, each no
// longer than its chunk.
func TestDeltaIsWhatChanged(t *testing.T) {
	a := New(source(1<<20, 1))
	var set Set
	for off := 1000; off < a.Len(); off += 100_000 {
		at := a.LineStart(a.Line(off))
		set = append(set, Edit{at, at, "something new\n"})
	}
	b := set.Apply(a)
	for _, d := range []Set{Delta(a, b), Delta(b, a)} {
		size := 0
		for _, e := range d {
			size += e.End - e.Start + len(e.New)
		}
		if most := len(set) * len("something new\n"); len(d) != len(set) || size > most {
			t.Errorf("%d edits of %d bytes for %d of %d", len(d), size, len(set), most)
		}
	}
}

// TestRuns: what two sequences differ in, replaced, makes the one of the other.
func TestRuns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 120)
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		var out []int
		at, last := 0, Run{}
		for i, r := range Runs(a, b, func(x, y int) bool { return x == y }) {
			if r.A0 == r.A1 && r.B0 == r.B1 || i > 0 && (r.A0 <= last.A1 && r.B0 <= last.B1) {
				t.Fatalf("%v after %v", r, last)
			}
			out = append(append(out, a[at:r.A0]...), b[r.B0:r.B1]...)
			at, last = r.A1, r
		}
		if out = append(out, a[at:]...); !slices.Equal(out, b) {
			t.Fatalf("%v", out)
		}
	})
}

// TestVersionsShareMemory: versions of a document of which each was joined keep no whole
// text each, so many of them take little more memory than their changes.
func TestVersionsShareMemory(t *testing.T) {
	const size, count = 1 << 20, 200
	now := New(source(size, 1))
	before := heapInUse()
	var all []Text
	for i := range count {
		at := now.LineStart(i * 100)
		now = now.Replace(at, at, fmt.Sprintf("version %d\n", i))
		all = append(all, now)
		if s := now.String(); len(s) != now.Len() || s != now.String() {
			t.Fatal("the joined text differs")
		}
	}
	grown := heapInUse() - before // of chunks and their lists
	for i, v := range all {
		if w := v.c.joined.Load(); w == nil || w.Value() != nil {
			t.Fatalf("version %d keeps its joined text", i)
		}
	}
	if most := int64(count * (maxChunk + 40*size/targetChunk)); grown > most {
		t.Errorf("%d bytes for %d versions of %d bytes, at most %d are for their chunks", grown, count, size, most)
	}
	runtime.KeepAlive(all)
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestEditsOwnTheirText: short edits that come of a comparison are no parts of the texts
// that were compared, which they would keep in memory.
func TestEditsOwnTheirText(t *testing.T) {
	was := source(64<<10, 1)
	lines := strings.SplitAfter(was, "\n")
	lines[0], lines[len(lines)-2] = "// first\n", "// last\n"
	now := strings.Join(lines, "")
	inside := func(s, whole string) bool {
		at, from := uintptr(unsafe.Pointer(unsafe.StringData(s))), uintptr(unsafe.Pointer(unsafe.StringData(whole)))
		return at >= from && at < from+uintptr(len(whole))
	}
	for name, set := range map[string]Set{
		"Diff": Diff(New(was), New(now)), "Overwrite": Overwrite(New(was), now),
		"Minimize": Minimize(New(was), Set{{0, len(was), now}}),
	} {
		if len(set) < 2 {
			t.Errorf("%s: %d edits", name, len(set))
		}
		for _, e := range set {
			if inside(e.New, now) {
				t.Errorf("%s: %.40q is a part of the text", name, e.New)
			}
		}
	}
	runtime.KeepAlive(now)
}

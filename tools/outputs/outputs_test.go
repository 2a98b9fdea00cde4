package outputs

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func folder(t *testing.T) func() (File, error) {
	dir := t.TempDir()
	n := 0
	return func() (File, error) {
		n++
		return os.Create(filepath.Join(dir, strconv.Itoa(n)))
	}
}

// A text is kept whole, but for line ends within lines that are too long to be shown.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "runs") {
			b.WriteString(strings.Repeat(rapid.SampledFrom([]string{"a", "ä", "\n", "a\n", "😀"}).Draw(t, "what"), rapid.IntRange(1, 2*Width+3).Draw(t, "times")))
		}
		got := Lines(b.String())
		if strings.ReplaceAll(got, "\n", "") != strings.ReplaceAll(b.String(), "\n", "") || strings.Count(got, "\n") < strings.Count(b.String(), "\n") {
			t.Fatal("it is another text")
		}
		for _, l := range strings.Split(got, "\n") {
			if utf8.RuneCountInString(l) > Width {
				t.Fatalf("a line of %d characters", utf8.RuneCountInString(l))
			}
		}
		for i, at := 0, 0; i < strings.Count(b.String(), "\n"); i++ { // each line begins where it began
			at += strings.IndexByte(b.String()[at:], '\n') + 1
			if !strings.HasPrefix(got, Lines(b.String()[:at])) {
				t.Fatal("the lines before a line end depend on what follows")
			}
		}
	})
}

// The latest outputs are there, in memory or in files, and the oldest go.
func TestFindingP7OutputsAreBounded(t *testing.T) {
	for name, with := range map[string]bool{"memory": false, "files": true} {
		t.Run(name, func(t *testing.T) {
			var o Outputs
			if with {
				o.Spill = folder(t)
			}
			each, least := 600_000, 2
			if with {
				each, least = 3_000_000, 15
			}
			text := func(i int) string { return strings.Repeat(strconv.Itoa(100+i)+"\n", each/4) }
			for i := range 40 {
				o.Keep(strconv.Itoa(i), text(i))
			}
			memory := 0
			for _, p := range o.list {
				memory += len(p.text)
			}
			if files := len(o.files); memory > maxMemory || o.spilled() > maxSpilled || files > 2*maxSpilled/fullFile || (files > 0) != with || with && memory > 0 {
				t.Errorf("%d bytes, %d in %d files", memory, o.spilled(), files)
			}
			for i := range 40 {
				got, err := o.Get(strconv.Itoa(i))
				if there := err == nil; there != errors.Is(err, ErrGone) && there && got != text(i) || !there && i >= 40-least {
					t.Errorf("%d: %d bytes, %v", i, len(got), err)
				}
			}
			if _, err := o.Get("0"); !errors.Is(err, ErrGone) {
				t.Error("the oldest is kept for ever")
			}
			o.Keep("39", "new")
			if got, err := o.Get("39"); got != "new" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			o.Close()
			o.Keep("later", "x")
			if _, err := o.Get("39"); !errors.Is(err, ErrGone) || len(o.list)+len(o.files) > 0 {
				t.Error("it is kept after the end")
			}
		})
	}
}

// One output that is larger than memory may be is in a file, or is not kept at all.
func TestLargeOutput(t *testing.T) {
	large := strings.Repeat("x\n", maxMemory)
	o := Outputs{Spill: func() (File, error) { return nil, errors.New("no") }}
	o.Keep("a", "small")
	o.Keep("b", large)
	if _, err := o.Get("b"); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
	if got, err := o.Get("a"); got != "small" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	o.Spill = folder(t)
	o.Keep("b", large)
	if got, err := o.Get("b"); got != large || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	o.Close()
}

// TestFaultS10NothingInMemory: what a session keeps is in few files, whatever was written before or cannot be written now.
func TestFaultS10NothingInMemory(t *testing.T) {
	o := Outputs{Spill: folder(t)}
	before := heap()
	text := func(i int) string { return strings.Repeat("word "+strconv.Itoa(i)+"\n", 15_000) }
	for i := range 100 {
		o.Keep(strconv.Itoa(i), text(i))
	}
	if grown := heap() - before; grown > 1<<20 || len(o.files) > 3 {
		t.Errorf("%d bytes of memory and %d files for 100 outputs of 100 KB", grown, len(o.files))
	}
	for i := range 100 {
		if got, err := o.Get(strconv.Itoa(i)); got != text(i) || err != nil {
			t.Fatalf("%d: %d bytes, %v", i, len(got), err)
		}
	}
	full := &breaking{left: 10}
	o.Spill = func() (File, error) { return full, nil }
	large := strings.Repeat("x\n", fullFile/2-1)
	o.Keep("large", large) // a file of its own, whose disk is full
	o.Keep("after", "small")
	if got, err := o.Get("after"); got != "small" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := o.Get("large"); !errors.Is(err, ErrGone) || !full.closed {
		t.Errorf("%v; the file is closed: %v", err, full.closed)
	}
	if got, err := o.Get("99"); got != text(99) || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	o.Close()
	if len(o.files) > 0 {
		t.Error("a file is open after the end")
	}
}

// breaking is a file that can be written up to a number of bytes.
type breaking struct {
	File
	left   int
	closed bool
}

func (b *breaking) Write(p []byte) (int, error) {
	n := min(b.left, len(p))
	if b.left -= n; n < len(p) {
		return n, errors.New("the disk is full")
	}
	return n, nil
}

func (b *breaking) Close() error {
	b.closed = true
	return nil
}

// heap is how many bytes are in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

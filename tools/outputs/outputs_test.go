package outputs

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func spill(t *testing.T) func() (File, error) {
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
				o.Spill = spill(t)
			}
			text := func(i int) string { return strings.Repeat(strconv.Itoa(i)+"\n", 200_000) }
			for i := range 40 {
				o.Keep(strconv.Itoa(i), text(i))
			}
			memory, files := 0, 0
			for _, p := range o.list {
				memory += len(p.text)
				if p.file != nil {
					files++
				}
			}
			if memory > maxMemory || files > maxFiles || (files > 0) != with {
				t.Errorf("%d bytes, %d files", memory, files)
			}
			least := 2
			if with {
				least = maxFiles
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
			if _, err := o.Get("39"); !errors.Is(err, ErrGone) || len(o.list) > 0 {
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
	o.Spill = spill(t)
	o.Keep("b", large)
	if got, err := o.Get("b"); got != large || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	o.Close()
}

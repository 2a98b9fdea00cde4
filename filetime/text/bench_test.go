package text

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// source makes n bytes that look like code, the same each time.
func source(n int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 7))
	words := strings.Fields("if err return nil func range value count index for type struct string int map error context")
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(strings.Repeat("\t", r.IntN(4)))
		for range 1 + r.IntN(6) {
			fmt.Fprintf(&b, "%s%d ", words[r.IntN(len(words))], r.IntN(300))
		}
		b.WriteString("{}\n")
		if r.IntN(8) == 0 {
			b.WriteString("}\n\n")
		}
	}
	return b.String()
}

// changed changes so many of a thousand lines, in one word each.
func changed(s string, perMille int) string {
	r := rand.New(rand.NewPCG(3, 3))
	lines := strings.SplitAfter(s, "\n")
	for i := range lines {
		if r.IntN(1000) < perMille {
			lines[i] = strings.Replace(lines[i], "{", fmt.Sprintf("changed%d {", r.IntN(1e6)), 1)
		}
	}
	return strings.Join(lines, "")
}

// change is what an editor sends for a key.
const change = `{"textDocument":{"uri":"file:///home/me/src/project/main.go","version":%d},"contentChanges":[{"range":` +
	`{"start":{"line":%d,"character":%d},"end":{"line":%d,"character":%d}},"rangeLength":0,"text":"x"}]}`

type didChange struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int32  `json:"version"`
	} `json:"textDocument"`
	ContentChanges []struct {
		Range struct {
			Start position `json:"start"`
			End   position `json:"end"`
		} `json:"range"`
		Text string `json:"text"`
	} `json:"contentChanges"`
}

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

func (p position) of() Position { return Position(p) }

// typed applies a message to a text: decoded, both positions converted, spliced.
func typed(tb testing.TB, t Text, message []byte) (Text, Set) {
	var m didChange
	if err := json.Unmarshal(message, &m); err != nil {
		tb.Fatal(err)
	}
	c := m.ContentChanges[0]
	start, bad1 := t.Offset(c.Range.Start.of(), UTF16)
	end, bad2 := t.Offset(c.Range.End.of(), UTF16)
	if bad1 || bad2 {
		tb.Fatal("a position outside of the text")
	}
	s := Set{{start, end, c.Text}}
	return s.Apply(t), s
}

// BenchmarkKeystroke takes a message in from the bytes on: JSON, two UTF-16 positions on a
// line with characters of two units, one byte more in the text.
func BenchmarkKeystroke(b *testing.B) {
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			var m didChange
			if err := json.Unmarshal(fmt.Appendf(nil, change, 1, 9999, 10, 9999, 10), &m); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, mb := range []int{1, 10} {
		b.Run(fmt.Sprintf("%dMB", mb), func(b *testing.B) {
			half := source(mb<<19, 1)
			t := New(half + "// 日本語 😀 \n" + half)
			p := Position{strings.Count(half, "\n"), 10}
			b.ReportAllocs()
			for b.Loop() {
				if p.Character == 2000 {
					p.Line, p.Character = p.Line/2, 0
				}
				t, _ = typed(b, t, fmt.Appendf(nil, change, 1, p.Line, p.Character, p.Line, p.Character))
				p.Character++
			}
		})
	}
}

// BenchmarkOpen says what an open document weighs, by its size: its bytes and what there
// is besides, and what each further version that is kept adds.
func BenchmarkOpen(b *testing.B) {
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for _, kb := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("%dkB", kb), func(b *testing.B) {
			for b.Loop() {
				s := source(kb<<10, 1)
				none := heap()
				docs := make([]Text, max(1, 10_000/kb)) // many small ones, or the figure is noise
				for i := range docs {
					docs[i] = New(s)
				}
				open := heap()
				t := docs[0]
				versions := make([]Text, 8)
				for i := range versions {
					t = t.Replace(t.Len()/2, t.Len()/2, "x")
					versions[i] = t
				}
				b.ReportMetric(100*(open-none)/float64(len(s)*len(docs)), "%-over-its-bytes")
				b.ReportMetric((heap()-open)/8/1024, "kB/version")
				runtime.KeepAlive(docs)
				runtime.KeepAlive(versions)
			}
		})
	}
}

func BenchmarkPosition(b *testing.B) {
	t := New(source(10<<20, 1))
	r := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		off, _ := t.Offset(Position{r.IntN(t.LineCount()), 3}, UTF16)
		t.Position(off, UTF16)
	}
}

func BenchmarkRebase(b *testing.B) {
	base := New(source(5<<20, 1))
	r := rand.New(rand.NewPCG(1, 1))
	var ours Set
	for line := 500; len(ours) < 100; line += 900 {
		p := base.LineStart(line)
		ours = append(ours, Edit{p, base.LineEnd(line), "changed by the agent"})
	}
	var now Text
	for _, bursts := range []int{20, 1000} {
		var keys []Set
		now = base
		for range bursts {
			p := now.LineEnd(r.IntN(now.LineCount()))
			for k := range 1000 / bursts {
				keys = append(keys, Set{{p + k, p + k, "x"}})
				now = now.Replace(p+k, p+k, "x")
			}
		}
		b.Run(fmt.Sprintf("%dbursts", bursts), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Rebase(base, ours, ComposeAll(keys))
			}
		})
	}
	b.Run("git", func(b *testing.B) {
		git(b, []Text{ours.Apply(base), base, now}, "merge-file", "-p", "-q")
	})
}

// git runs git on files with those texts, as what does the same is compared with it. It tells of differences, and of
// conflicts, by its exit code.
func git(b *testing.B, texts []Text, args ...string) {
	program, err := exec.LookPath("git")
	if err != nil {
		b.Skip("no git")
	}
	for i, t := range texts {
		path := filepath.Join(b.TempDir(), fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(t.String()), 0o600); err != nil {
			b.Fatal(err)
		}
		args = append(args, path)
	}
	var exit *exec.ExitError
	for b.Loop() {
		if out, err := exec.Command(program, args...).Output(); len(out) == 0 || err != nil && !errors.As(err, &exit) {
			b.Fatal(err)
		}
	}
}

func BenchmarkComposeKeystroke(b *testing.B) {
	var s Set
	for i := range 1000 {
		s = append(s, Edit{i * 100, i*100 + 5, "replaced"})
	}
	for b.Loop() {
		Compose(s, Set{{50_000, 50_000, "x"}})
	}
}

func BenchmarkDiff(b *testing.B) {
	base := source(1<<20, 1)
	b.Run("git", func(b *testing.B) {
		git(b, []Text{New(base), New(changed(base, 400))}, "diff", "--no-index", "--no-color")
	})
	for _, perMille := range []int{2, 50, 400} {
		b.Run(fmt.Sprintf("%dpermille", perMille), func(b *testing.B) {
			x, y := New(base), New(changed(base, perMille))
			for b.Loop() {
				Diff(x, y)
			}
		})
	}
	for name, after := range map[string]string{
		"disjoint": strings.ToUpper(base), "reindented": strings.ReplaceAll(base, "\n", "\n\t"),
		"crlf":      strings.ReplaceAll(base, "\n", "\r\n"),
		"unrelated": source(1<<20, 2),
		"repeated":  strings.Repeat("}\n\n", 1<<18),
	} {
		b.Run(name, func(b *testing.B) {
			x, y := New(base), New(after)
			for b.Loop() {
				Diff(x, y)
			}
		})
	}
	b.Run("keystroke10MB", func(b *testing.B) {
		x := New(source(10<<20, 1))
		y := x.Replace(5<<20, 5<<20, "typed")
		for b.Loop() {
			Diff(x, y)
		}
	})
}

func BenchmarkLocate(b *testing.B) {
	s := source(1<<20, 1) + "the only one\nof its kind\n"
	x, crlf := New(s), New(strings.ReplaceAll(s, "\n", "\r\n"))
	for name, run := range map[string]func() error{
		"exact":    func() error { _, err := Locate(x, "only one\nof", "new\nof", false); return err },
		"crlf":     func() error { _, err := Locate(crlf, "only one\nof", "new\nof", false); return err },
		"trailing": func() error { _, err := Locate(x, "only one  \nof", "new\nof", false); return err },
		"indent":   func() error { _, err := Locate(x, "  the only one\n  of its kind\n", "  new\n", false); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("absent", func(b *testing.B) {
		for b.Loop() {
			if _, err := Locate(x, "the lonely one\nof his kind\n", "", false); err == nil {
				b.Fatal("found")
			}
		}
	})
}

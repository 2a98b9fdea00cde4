package show

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tandem/filetime/text"
)

// patient is Diff on a machine that is fast enough.
func patient(path string, old, new text.Text, o Options) File {
	return diff(path, old, new, o, time.Hour)
}

// TestF258OutOfTime: a machine without time shows the same lines in the same hunks, only not the characters within them.
func TestF258OutOfTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := text.New(drawFile(t, "old")), text.New(drawFile(t, "new"))
		slow, quick := diff("p", old, new, Options{}, 0), patient("p", old, new, Options{})
		for i := range quick.Hunks {
			quick.Hunks[i].Inline = nil
		}
		if !reflect.DeepEqual(slow, quick) {
			t.Fatalf("without time %+v, with it %+v", slow, quick)
		}
	})
}

func TestF094UnifiedDiff(t *testing.T) {
	for _, tt := range []struct {
		name, old, new string
		o              Options
		unified        string
		adds, dels     int
		hunks          []Hunk
	}{
		{name: "same", old: "a\n", new: "a\n"},
		{
			name: "one line", old: "a\nb\nc\n", new: "a\nx\nc\n", adds: 1, dels: 1,
			unified: "--- a/p\n+++ b/p\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n",
			hunks:   []Hunk{{2, 1, 2, 1, "b\n", "x\n", []Span{{0, 1, "delete"}, {0, 1, "insert"}}}},
		},
		{
			name: "far apart", old: "1\n2\n3\n4\n5\n6\n7\n8\n9\n", new: "1\n2\n3\n5\n6\n7\n8\n9\nx\n", adds: 1, dels: 1,
			o:       Options{Context: 1},
			unified: "--- a/p\n+++ b/p\n@@ -3,3 +3,2 @@\n 3\n-4\n 5\n@@ -9 +8,2 @@\n 9\n+x\n",
			hunks:   []Hunk{{4, 1, 3, 0, "4\n", "", nil}, {9, 0, 9, 1, "", "x\n", nil}},
		},
		{
			name: "no context", old: "1\n2\n3\n", new: "1\n3\n", dels: 1, o: Options{Context: -1},
			unified: "--- a/p\n+++ b/p\n@@ -2 +1,0 @@\n-2\n",
			hunks:   []Hunk{{2, 1, 1, 0, "2\n", "", nil}},
		},
		{
			name: "no newline at the end", old: "a\nb", new: "a\nb\n", adds: 1, dels: 1,
			unified: "--- a/p\n+++ b/p\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
			hunks:   []Hunk{{2, 1, 2, 1, "b", "b\n", []Span{{1, 2, "insert"}}}},
		},
		{
			name: "created", new: "a\n", adds: 1, o: Options{Created: true},
			unified: "--- /dev/null\n+++ b/p\n@@ -0,0 +1 @@\n+a\n",
			hunks:   []Hunk{{0, 0, 1, 1, "", "a\n", nil}},
		},
		{
			name: "deleted", old: "a\nb\n", dels: 2, o: Options{Deleted: true},
			unified: "--- a/p\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n",
			hunks:   []Hunk{{1, 2, 0, 0, "a\nb\n", "", nil}},
		},
		{
			name: "renamed", old: "a\n", new: "a\n", o: Options{OldPath: "o p"},
			unified: "diff --git a/o p b/p\nrename from o p\nrename to p\n",
		},
		{
			name: "within a line, in characters", old: "日本 old 語\n", new: "日本 new 語\n", adds: 1, dels: 1,
			unified: "--- a/p\n+++ b/p\n@@ -1 +1 @@\n-日本 old 語\n+日本 new 語\n",
			hunks:   []Hunk{{1, 1, 1, 1, "日本 old 語\n", "日本 new 語\n", []Span{{3, 6, "delete"}, {3, 6, "insert"}}}},
		},
		{
			name: "invalid UTF-8 has no parts", old: "\xff a\n", new: "\xff b\n", adds: 1, dels: 1,
			unified: "--- a/p\n+++ b/p\n@@ -1 +1 @@\n-\xff a\n+\xff b\n",
			hunks:   []Hunk{{1, 1, 1, 1, "\xff a\n", "\xff b\n", nil}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := patient("p", text.New(tt.old), text.New(tt.new), tt.o)
			if f.Unified != tt.unified {
				t.Errorf("unified is\n%s\nwant\n%s", f.Unified, tt.unified)
			}
			if f.Additions != tt.adds || f.Deletions != tt.dels || f.Truncated || f.Path != "p" {
				t.Errorf("got %+v", f)
			}
			if fmt.Sprint(f.Hunks) != fmt.Sprint(tt.hunks) {
				t.Errorf("hunks %+v, want %+v", f.Hunks, tt.hunks)
			}
		})
	}
}

func drawFile(t *rapid.T, label string) string {
	line := rapid.SampledFrom([]string{
		"a\n", "b\n", "c\n", "\n", "foo bar\n", "foo baz\n", "x\r\n", "é\n", "}\n", " \n", "\xff\n", "- x\n", "+ y\n",
		"@@ z\n", "\\ w\n",
	})
	end := rapid.SampledFrom([]string{"", "", "end", " "})
	return strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, label), "") + end.Draw(t, label)
}

// TestHunksTellTheChange rebuilds the new file from the old one and the hunks, and
// each hunk's new lines from its old ones and their parts.
func TestHunksTellTheChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := drawFile(t, "old"), drawFile(t, "new")
		limit := rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "limit")
		f := diff("p", text.New(old), text.New(new), Options{}, limit)
		lines := split(old)
		var out strings.Builder
		at, adds, dels := 0, 0, 0
		for _, h := range f.Hunks {
			from := h.OldStart - 1
			if h.OldLines == 0 {
				from++
			}
			out.WriteString(strings.Join(lines[at:from], ""))
			if got := strings.Count(out.String(), "\n"); h.NewLines > 0 && got != h.NewStart-1 || h.NewLines == 0 &&
				got != h.NewStart {
				t.Fatalf("hunk %+v begins after %d lines", h, got)
			}
			if got := strings.Join(lines[from:from+h.OldLines], ""); got != h.Old {
				t.Fatalf("hunk %+v, the lines are %q", h, got)
			}
			if h.OldLines != len(split(h.Old)) || h.NewLines != len(split(h.New)) {
				t.Fatalf("hunk %+v counts its lines wrong", h)
			}
			if h.Inline != nil || limit > 0 {
				checkInline(t, h)
			}
			out.WriteString(h.New)
			at = from + h.OldLines
			adds, dels = adds+h.NewLines, dels+h.OldLines
		}
		out.WriteString(strings.Join(lines[at:], ""))
		if out.String() != new || adds != f.Additions || dels != f.Deletions {
			t.Fatalf("%q to %q: %+v", old, new, f)
		}
	})
}

// checkInline takes the deleted parts out of the old lines and the inserted ones out
// of the new lines: the same must remain.
func checkInline(t *rapid.T, h Hunk) {
	if h.Inline == nil {
		if h.Old != "" && h.New != "" && utf8.ValidString(h.Old+h.New) {
			t.Fatalf("hunk %+v has no parts", h)
		}
		return
	}
	without := func(s, op string) string {
		runes := []rune(s)
		var out []rune
		at := 0
		for _, p := range h.Inline {
			if p.Op == op {
				out = append(out, runes[at:p.Start]...)
				at = p.End
			}
		}
		return string(append(out, runes[at:]...))
	}
	if a, b := without(h.Old, "delete"), without(h.New, "insert"); a != b {
		t.Fatalf("hunk %+v leaves %q and %q", h, a, b)
	}
}

// TestGitApplies lets git make the new file out of the old one and the unified diff.
func TestGitApplies(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not here")
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(9, 9))
	pieces := []string{
		"a\n", "b\n", "\n", "foo bar\n", "foo baz\n", "x\r\n", "\r\n", "é\n", "}\n", " \n", "\xff\n", "-- x\n",
		"++ y\n", "@@ -1 +1 @@\n", "\\ w\n", "lone\rcr\n",
	}
	write := func(name, s string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// One patch of many files: each is its own case.
	names := []string{"plain", "with blank", "tab\there", "quo\"te", "ünïcode", `back\slash`}
	var patch strings.Builder
	want := map[string]string{}
	for i := range 300 {
		lines := func(n int) []string {
			out := make([]string, n)
			for k := range out {
				out[k] = pieces[r.IntN(len(pieces))]
			}
			return out
		}
		a := lines(r.IntN(25))
		b := slices.Clone(a)
		for range r.IntN(4) {
			k := r.IntN(len(b) + 1)
			b = slices.Replace(b, k, min(len(b), k+r.IntN(4)), lines(r.IntN(3))...)
		}
		end := []string{"", "", "end", "other"}
		old, new := strings.Join(a, "")+end[r.IntN(4)], strings.Join(b, "")+end[r.IntN(4)]
		name := fmt.Sprintf("dir%d/%s", i, names[i%len(names)])
		o := Options{Context: r.IntN(4)}
		switch {
		case old == "" && new == "":
			continue
		case old == "":
			o.Created = true
		case new == "":
			o.Deleted = true
			write(name, old)
		default:
			write(name, old)
		}
		if i%7 == 0 && old != "" && new != "" && old != new {
			o.OldPath = name
			name += " moved"
		}
		patch.WriteString(patient(name, text.New(old), text.New(new), o).Unified)
		want[name] = new
	}
	write("all.patch", patch.String())
	cmd := exec.Command(git, "apply", "--unidiff-zero", "--whitespace=nowarn", "all.patch")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s", err, out)
	}
	for name, s := range want {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) && s == "" {
			continue
		}
		if err != nil || string(got) != s {
			t.Errorf("%q: got %q, want %q (%v)", name, got, s, err)
		}
	}
}

func TestF259LargeDiffIsTruncated(t *testing.T) {
	var a, b strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&a, "line %d of the old file\n", i)
		fmt.Fprintf(&b, "line %d of the new file\n", i)
	}
	f := patient("p", text.New(a.String()), text.New(b.String()), Options{})
	if !f.Truncated || f.Unified != "" || f.Hunks != nil || f.Additions != 60_000 || f.Deletions != 60_000 {
		t.Errorf("got %+v", f)
	}
	// The limit is on the diff, not on the file.
	f = patient("p", text.New(a.String()), text.New(a.String()+"end\n"), Options{})
	if f.Truncated || f.Additions != 1 || len(f.Hunks) != 1 {
		t.Errorf("got %+v", f)
	}
	// Lines that have only moved are found out to be too many when they are written.
	f = patient("p", text.New("a\nb\nc\nd\n"), text.New("c\nd\na\nb\n"), Options{MaxBytes: 20})
	if !f.Truncated || f.Unified != "" || f.Hunks != nil || f.Additions != 2 || f.Deletions != 2 {
		t.Errorf("got %+v", f)
	}
}

// TestF258ManyRepeatedLines: lines that repeat often are compared with bounded work too.
func TestF258ManyRepeatedLines(t *testing.T) {
	a := "first\n" + strings.Repeat("a\nb\n", 40_000)
	b := "second\n" + strings.Repeat("b\nc\na\n", 30_000)
	f := patient("p", text.New(a), text.New(b), Options{MaxBytes: 1 << 24})
	if len(f.Hunks) < 2 {
		t.Errorf("%d hunks", len(f.Hunks))
	}
}

func BenchmarkDiff(b *testing.B) {
	var s strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&s, "line %d with a few words\n", i%200_000)
	}
	old := text.New(s.String())
	new := old.Replace(old.Len()/2, old.Len()/2+9, "typed\nhere").Replace(100, 101, "x")
	rewritten := text.New(strings.ToUpper(s.String()))
	b.Run("edit7MB", func(b *testing.B) {
		for b.Loop() {
			Diff("p", old, new, Options{})
		}
	})
	b.Run("rewrite7MB", func(b *testing.B) {
		for b.Loop() {
			Diff("p", old, rewritten, Options{})
		}
	})
}

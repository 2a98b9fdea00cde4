//go:build linux

package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// appended is a journal that writes each intent to a file and syncs it: what a journal costs at the least.
type appended struct {
	notes
	h *os.File
}

func (j *appended) Begin(in Intent) (int64, error) {
	for _, f := range in.Files {
		if _, err := fmt.Fprintf(j.h, "%d %s %s %s\n%s", in.ID, f.Path, f.BeforeHash, f.AfterHash, f.Before); err != nil {
			return 0, err
		}
	}
	return 1, j.h.Sync()
}

func (j *appended) End(int64, Outcome) error { return nil }

// BenchmarkEdit is an edit of a file that nobody else changes, in turn with what its parts take by themselves: a line
// appended to a file and synced, a file of that size made and synced, and the edit without a journal.
func BenchmarkEdit(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			dir := b.TempDir()
			content := []byte(strings.Repeat("a line of a file, as long as lines are\n", size/39))
			must := func(err error) {
				if err != nil {
					b.Fatal(err)
				}
			}
			logged, err := os.Create(filepath.Join(dir, "log"))
			must(err)
			defer logged.Close()
			journal, err := os.Create(filepath.Join(dir, "journal"))
			must(err)
			defer journal.Close()
			plain, journalled := New(Options{}), New(Options{Journal: &appended{h: journal}})
			defer plain.Settle()
			defer journalled.Settle()
			other := slices.Clone(content)
			other[len(other)/2] = 'X'
			edit := func(d *Disk, name string) func(int) {
				path, now, next := filepath.Join(dir, name), content, other
				must(os.WriteFile(path, content, 0o644))
				return func(int) {
					c := d.Change(Intent{Session: "s", Call: "c"})
					_, err := c.Replace(path, now, next)
					must(err)
					c.End(Landed)
					now, next = next, now
				}
			}
			parts := []part{
				{name: "append", do: func(int) {
					_, err := logged.Write(content[:100])
					must(err)
					must(logged.Sync())
				}},
				{name: "new-file", do: func(i int) {
					h, err := os.Create(filepath.Join(dir, fmt.Sprint("new", i)))
					must(err)
					_, err = h.Write(content)
					must(err)
					must(h.Sync())
					must(h.Close())
				}},
				{name: "no-journal", do: edit(plain, "p")},
				{name: "edit", do: edit(journalled, "j")},
			}
			for i := 0; b.Loop(); i++ {
				for k := range parts {
					start := time.Now()
					parts[k].do(i)
					parts[k].took = append(parts[k].took, time.Since(start))
				}
			}
			for _, p := range parts {
				slices.Sort(p.took)
				b.ReportMetric(float64(p.took[len(p.took)/2].Microseconds()), "µs-"+p.name)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// part is something that is measured in turn with others.
type part struct {
	name string
	do   func(i int)
	took []time.Duration
}

// BenchmarkRecover judges 10,000 intents that a process has left, of 20 files, every hundredth with something beside it.
func BenchmarkRecover(b *testing.B) {
	dir := b.TempDir()
	var all []*note
	says := map[string]string{}
	for i := range 10_000 {
		path := filepath.Join(dir, fmt.Sprintf("f%d", i%20))
		was := says[path]
		now := fmt.Sprintf("%s %d\n%s", path, i, strings.Repeat("a line\n", 500))
		in := Intent{ID: int64(i + 1), Session: "s", Call: fmt.Sprint(i), Files: []Planned{{
			Op: Edit, Path: path, Before: []byte(was), BeforeHash: Hash([]byte(was)), AfterHash: Hash([]byte(now)),
		}}}
		says[path] = now
		all = append(all, &note{Intent: in})
	}
	for path, content := range says {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		b.StopTimer()
		j := &notes{s: &sim{open: map[any]func() error{}}, kept: map[string]string{}, intents: all}
		for i, n := range all {
			n.mine, n.outcome = false, Open
			if i%100 == 0 {
				w := loggedIntent{Intent: n.Intent, mark: markOf(n.Intent)}
				if err := os.WriteFile(filepath.Join(dir, w.temp(0)+"1"), n.Files[0].Before, 0o600); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.StartTimer()
		d := New(Options{Journal: j})
		found, err := d.Recover()
		if err != nil || len(found) != len(all) {
			b.Fatal(len(found), err)
		}
		b.StopTimer()
		for _, f := range found {
			if f.Outcome != Landed {
				b.Fatalf("intent %d: %s", f.ID, f.Outcome)
			}
		}
		b.StartTimer()
	}
}

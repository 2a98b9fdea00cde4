package workspace

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"tandem/filetime"
	"tandem/lspserver/history"
)

// TestF152StaleSave has a program save, right after an edit has landed, what it had read before: the edit is put back, unless
// it was taken back on purpose.
func TestF152StaleSave(t *testing.T) {
	const begin = "one\ntwo\nthree\nfour\n"
	edited := strings.Replace(begin, "two", "TWO", 1)
	rows := []struct {
		name, saved, want string
		before            func(w *Workspace, clock *time.Time)
	}{
		{"with a line more", begin + "five\n", edited + "five\n", nil},
		{"with another line changed", strings.Replace(begin, "four", "FOUR", 1), strings.Replace(edited, "four", "FOUR", 1), nil},
		{"with the same line changed", strings.Replace(begin, "two", "2", 1) + "five\n", strings.Replace(begin, "two", "2", 1) + "five\n", nil},
		{"for the text with the edit", edited + "five\n", edited + "five\n", nil},
		{"just as it was", begin, begin, nil},
		{"all other text", "something\nelse\n", "something\nelse\n", nil},
		{"much later", begin + "five\n", begin + "five\n", func(_ *Workspace, clock *time.Time) { *clock = clock.Add(2 * wakeTime) }},
		{"by a command", begin + "five\n", begin + "five\n", func(w *Workspace, _ *time.Time) { w.SaveForCommand(context.Background()) }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, b, path := opened(t, begin)
			clock := time.Now()
			w.o.Now = func() time.Time { return clock }
			w.Close(b.uri)
			s, err := w.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			c := replaceIn(s, "two", "TWO")
			c.Apply = filetime.OnDisk
			landed, err := w.Commit(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			w.Seen(path)
			if row.before != nil {
				row.before(w, &clock)
			}
			if err := os.WriteFile(path, []byte(row.saved), 0o644); err != nil {
				t.Fatal(err)
			}
			w.Changed(path, false)
			if raw, err := os.ReadFile(path); err != nil || string(raw) != row.want {
				t.Errorf("the file is %q %v, want %q", raw, err, row.want)
			}
			revs, now, ok := w.History(path, landed.Files[0].Rev)
			if !ok || now.Text.String() != row.want || history.Compose(revs).Apply(landed.Files[0].After).String() != row.want {
				t.Errorf("the text is %q after %+v", now.Text, revs)
			}
		})
	}
}

// A document is opened right after an edit of its file, typed into and closed without being saved: what was typed is thrown
// away, and does not come to the disk.
func TestF152ClosedInTheWake(t *testing.T) {
	const begin = "one\ntwo\nthree\nfour\n"
	edited := strings.Replace(begin, "two", "TWO", 1)
	rows := []struct {
		name string
		can  bool // whether the editor can apply edits; where it cannot, they land on disk behind it
	}{{"opened anew", true}, {"open all the time", false}}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, b, path := opened(t, begin)
			shown := begin
			if w.o.Features.Apply = row.can; row.can {
				w.Close(b.uri)
				shown = edited
			}
			s, err := w.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			c := replaceIn(s, "two", "TWO")
			c.Apply = filetime.OnDisk
			if _, err := w.Commit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if row.can {
				w.Open(path, b.uri, 1, shown)
			}
			w.Change(b.uri, 7, []ContentChange{{Text: "typed\nand\ntyped\n" + shown}})
			w.Close(b.uri)
			raw, err := os.ReadFile(path)
			if s, now := w.Read(t.Context(), path); err != nil || now != nil || string(raw) != edited || s.Text.String() != edited {
				t.Errorf("the file is %q %v, the text %q %v, want %q", raw, err, s.Text, now, edited)
			}
		})
	}
}

// TestF188ManyFiles has more files read than are kept track of: a change of one of them all is told of.
func TestF188ManyFiles(t *testing.T) {
	w, _, path := opened(t, "")
	told := map[string]string{}
	w.o.Notify = func(s State) { told[s.Path] = s.State }
	var paths []string
	for range maxFiles + 100 {
		p := path + strings.Repeat("x", len(paths)%100+1) + strings.Repeat("y", len(paths)/100)
		if err := os.WriteFile(p, []byte("one\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Read(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		w.Seen(p)
		paths = append(paths, p)
	}
	if n := len(w.States(nil)); n != len(paths) {
		t.Errorf("%d of %d files are known", n, len(paths))
	}
	for _, p := range paths[:10] {
		w.Changed(p, true)
		if told[p] != "read" {
			t.Errorf("%s is %s, though nobody changed it", p, told[p])
		}
		if err := os.WriteFile(p, []byte("two\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		w.Changed(p, false)
		if told[p] != "stale" {
			t.Errorf("%s is %s", p, told[p])
		}
	}
}

package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
)

// refusing is an editor that does not save.
type refusing struct {
	*buffer
	failed map[string]string
	err    error
}

func (e refusing) Save(ctx context.Context, _ []string) (map[string]string, error) {
	if e.failed == nil && e.err == nil { // it never answers
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return e.failed, e.err
}

// An editor that does not save what the agent has changed is named, with what it said, and none holds a command up for ever.
func TestNotSavedForCommand(t *testing.T) {
	for want, editor := range map[string]func(b *buffer) refusing{
		"text that was last saved. The editor did not save it: the disk is full.": func(b *buffer) refusing {
			return refusing{b, map[string]string{b.uri: "the disk is full."}, nil}
		},
		"The editor did not save it: boom.":                      func(b *buffer) refusing { return refusing{b, nil, errors.New("boom")} },
		"The editor did not save it: context deadline exceeded.": func(b *buffer) refusing { return refusing{b, nil, nil} },
	} {
		synctest.Test(t, func(t *testing.T) {
			w, b, path := opened(t, "one\n")
			w.o.Editor = editor(b)
			s, err := w.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Commit(t.Context(), replaceIn(s, "one", "1")); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			said := w.SaveForCommand(t.Context())
			if len(said) != 1 || !strings.HasSuffix(said[0].Says, want) || time.Since(began) > saving {
				t.Errorf("%q after %v, want %q", said, time.Since(began), want)
			}
		})
	}
}

// A document with unsaved text of the user's is not saved, and is named once the agent has changed it.
func TestUnsavedForCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, b, path := opened(t, "one\n")
		b.typeAt(0, "mine ")
		if said := w.SaveForCommand(t.Context()); len(said) != 0 {
			t.Errorf("typed alone: %q", said)
		}
		s, err := w.Read(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(t.Context(), replaceIn(s, "one", "1")); err != nil {
			t.Fatal(err)
		}
		if said := w.SaveForCommand(t.Context()); len(said) != 1 || !strings.HasSuffix(said[0].Says, "the command sees the text that was last saved.") {
			t.Errorf("typed and edited: %q", said)
		}
	})
}

const one, two = "a\nb\nc\n", "a\nB\nc\n"

func command() filetime.Change {
	return filetime.Change{Session: "s", Call: "c1", Turn: 1, Tool: "bash"}
}

// TestLandClosed takes in what a command has done to files that are not open, whatever was known of them before.
func TestLandClosed(t *testing.T) {
	for name, tt := range map[string]struct {
		known  string // what was read before the command, "" for nothing
		during func(w *Workspace, path string)
		left   error
		others int // revisions besides the command's
	}{
		"unknown":                  {},
		"known":                    {known: one},
		"known as it was long ago": {known: "old\n", others: 1},
		"known as it is":           {known: two, others: 1},
		"seen by the watcher":      {known: one, during: func(w *Workspace, path string) { w.Changed(path, true) }},
		"read by another session": {during: func(w *Workspace, path string) {
			_, _ = w.Read(context.Background(), path)
		}},
		"edited by another session": {known: one, left: errTwice, during: func(w *Workspace, path string) {
			s, _ := w.Read(context.Background(), path)
			c := replaceIn(s, "c", "C")
			c.Session, c.Apply = "other", filetime.OnDisk
			_, _ = w.Commit(context.Background(), c)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, open := opened(t, "")
			path := strings.TrimSuffix(open, "f.txt") + "g.txt"
			write := func(s string) {
				if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var was filetime.Snapshot
			if tt.known != "" {
				write(tt.known)
				var err error
				if was, err = w.Read(t.Context(), path); err != nil {
					t.Fatal(err)
				}
			}
			mark := w.Mark()
			write(two)
			if tt.during != nil {
				tt.during(w, path)
			}
			l := mark.Land(command(), []Effect{{Path: path, Before: []byte(one), After: []byte(two)}}, nil)
			if tt.left != nil {
				if !errors.Is(l.Left[path], tt.left) || len(l.Landed.Files) > 0 {
					t.Fatalf("%+v", l)
				}
				return
			}
			if len(l.Landed.Files) != 1 || len(l.Change.Files) != 1 || len(l.Left) > 0 {
				t.Fatalf("%+v", l)
			}
			f := l.Landed.Files[0]
			now, err := w.Read(t.Context(), path)
			if err != nil || f.Rev != now.Rev || f.Set.Apply(f.Before).String() != two || f.Before.String() != one || now.Text.String() != two {
				t.Errorf("%+v, %v", f, err)
			}
			if tt.known == "" {
				return
			}
			revs, _, ok := w.History(path, was.Rev)
			if !ok || len(revs) != 1+tt.others {
				t.Fatalf("%+v, %v", revs, ok)
			}
			text := was.Text
			for _, r := range revs {
				text = r.Set.Apply(text)
			}
			if r := revs[tt.others]; r.Author != filetime.Command || r.Session != "s" || r.Call != "c1" || text.String() != two {
				t.Errorf("%+v lead to %q", revs, text)
			}
		})
	}
}

// TestLandOpen takes in what a command has done to an open document: it is the command's once the editor has read the file, and whatever a
// person has done is not.
func TestLandOpen(t *testing.T) {
	reload := func(b *buffer) { b.change([]text.Edit{{Start: 2, End: 3, New: "B"}}) }
	type outcome struct {
		landed, late, awaited bool
		left                  error
	}
	for name, tt := range map[string]struct {
		before, during, after func(w *Workspace, b *buffer)
		want                  outcome
	}{
		"never read again":      {want: outcome{awaited: true}},
		"read again at once":    {during: func(_ *Workspace, b *buffer) { reload(b) }, want: outcome{landed: true}},
		"read again later":      {after: func(_ *Workspace, b *buffer) { reload(b) }, want: outcome{awaited: true, late: true}},
		"read again and typed":  {during: func(_ *Workspace, b *buffer) { reload(b); b.typeAt(0, "x") }, want: outcome{landed: true}},
		"unsaved":               {before: func(_ *Workspace, b *buffer) { b.typeAt(0, "x") }, want: outcome{left: errUnsaved}},
		"typed meanwhile":       {during: func(_ *Workspace, b *buffer) { b.typeAt(0, "x") }, want: outcome{left: errUnsaved}},
		"typed into afterwards": {after: func(_ *Workspace, b *buffer) { b.typeAt(0, "x") }, want: outcome{awaited: true}},
		"closed afterwards":     {after: func(w *Workspace, b *buffer) { w.Close(b.uri) }, want: outcome{awaited: true, late: true}},
		"made by a save":        {during: func(w *Workspace, b *buffer) { reload(b); w.Saved(b.uri, nil) }, want: outcome{}},
		"saved over it": {after: func(w *Workspace, b *buffer) {
			b.typeAt(0, "x")
			_ = os.WriteFile(strings.TrimPrefix(b.uri, "file://"), []byte("x"+one), 0o600)
			w.Saved(b.uri, nil)
			reload(b)
		}, want: outcome{awaited: true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, b, path := opened(t, one)
				run := func(f func(w *Workspace, b *buffer)) {
					if f != nil {
						f(w, b)
					}
				}
				run(tt.before)
				mark := w.Mark()
				if err := os.WriteFile(path, []byte(two), 0o600); err != nil {
					t.Fatal(err)
				}
				run(tt.during)
				late := make(chan filetime.Landed, 9)
				l := mark.Land(command(), []Effect{{Path: path, Before: []byte(one), After: []byte(two)}}, func(c filetime.Change, l filetime.Landed) {
					if c.Call != "c1" || len(c.Files) != 1 {
						t.Errorf("%+v", c)
					}
					late <- l
				})
				run(tt.after)
				synctest.Wait()
				got := outcome{landed: len(l.Landed.Files) > 0, late: len(late) > 0, awaited: len(l.Awaited) > 0, left: l.Left[path]}
				if got != tt.want {
					t.Errorf("%+v, want %+v", got, tt.want)
				}
				all := l.Landed.Files
				if got.late {
					all = append(all, (<-late).Files...)
				}
				for _, f := range all {
					if f.Before.String() != one || f.After.String() != two {
						t.Errorf("%q -> %q", f.Before, f.After)
					}
				}
			})
		})
	}
}

// A file that a command has removed comes back with its permissions, and one that is no text is left.
func TestLandRemoved(t *testing.T) {
	w, _, open := opened(t, "")
	path := strings.TrimSuffix(open, "f.txt") + "g.sh"
	mark := w.Mark()
	l := mark.Land(command(), []Effect{
		{Path: path, Before: []byte(one), Deleted: true, Mode: 0o750},
		{Path: path + ".bin", Before: []byte("a\x00b"), Deleted: true},
		{Path: open, Before: nil, Deleted: true},
	}, nil)
	if len(l.Landed.Files) != 1 || !l.Landed.Files[0].Deleted || !l.Change.Files[0].Delete || !errors.Is(l.Left[path+".bin"], errNotText) ||
		!errors.Is(l.Left[open], errKept) {
		t.Fatalf("%+v", l)
	}
	f := l.Landed.Files[0]
	back := filetime.Change{Apply: filetime.OnDisk, Files: []filetime.FileEdit{{
		Path: path, Create: true, Mode: f.Mode, Rev: f.Rev, Edits: text.Set{{New: f.Before.String()}},
	}}}
	if _, err := w.Commit(t.Context(), back); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != fs.FileMode(0o750) {
		t.Errorf("%v, %v", info, err)
	}
}

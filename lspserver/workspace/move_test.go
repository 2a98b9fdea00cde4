package workspace

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/text"
)

// moves is the change that moves a file, and edits it where edit is old>new.
func moves(t *testing.T, w *Workspace, path func(string) string, from, to, edit string) filetime.Change {
	t.Helper()
	s, err := w.Read(t.Context(), path(from))
	if err != nil {
		t.Fatal(err)
	}
	c := filetime.Change{Session: "s", Call: "c", Tool: "move_file", Turn: 3}
	e := filetime.FileEdit{Path: s.Path, To: path(to), Base: s.Text, Rev: s.Rev}
	if old, now, ok := strings.Cut(edit, ">"); ok {
		e.Edits = replaceIn(s, old, now).Files[0].Edits
	}
	c.Files = []filetime.FileEdit{e}
	return c
}

func TestF162MoveOnDisk(t *testing.T) {
	for _, k := range []struct{ name, was, edit, want, journal string }{
		{"alone", "one\ntwo\n", "", "one\ntwo\n", "move a to b: landed"},
		{"with an edit", "one\ntwo\n", "two>2", "one\n2\n", "move a to b: landed; edit b: landed"},
		{"line ends and no last one", "one\r\ntwo", "two>2", "one\r\n2", "move a to b: landed; edit b: landed"},
		{"a mark", "\ufeffone\n", "", "\ufeffone\n", "move a to b: landed"},
		{"empty", "", "", "", "move a to b: landed"},
	} {
		t.Run(k.name, func(t *testing.T) {
			w, b, j, path := folder(t, map[string]string{"a": k.was}, "")
			c := moves(t, w, path, "a", "d/b", k.edit)
			l, err := w.Commit(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if got := on(t, path, "d/b"); got != k.want || on(t, path, "a") != "-" || b.tries != 0 {
				t.Errorf("d/b says %q, a %q; the editor was asked %d times", got, on(t, path, "a"), b.tries)
			}
			f := l.Files[0]
			if f.Path != path("d/b") || f.Origin != path("a") || f.Before.String() != k.was || f.After.String() != k.want || !f.Applied || f.Source != "disk" {
				t.Errorf("landed as %+v", f)
			}
			if got := j.told(w); got != k.journal {
				t.Errorf("journal %q, want %q", got, k.journal)
			}
			revs, now, ok := w.History(path("d/b"), c.Files[0].Rev)
			if !ok || len(revs) == 0 || revs[len(revs)-1].Session != "s" || now.Rev != f.Rev {
				t.Errorf("history %+v of %+v, %v", revs, now, ok)
			}
			if s, err := w.Read(t.Context(), path("a")); err != nil || s.Exists || s.Text.Len() > 0 {
				t.Errorf("a is %+v, %v", s, err)
			}
		})
	}
}

// What others saved since the model saw the file moves along, and is in its history there.
func TestF162MoveCarriesOthers(t *testing.T) {
	w, _, _, path := folder(t, map[string]string{"a": "one\ntwo\n"}, "")
	c := moves(t, w, path, "a", "b", "two>2")
	if err := os.WriteFile(path("a"), []byte("0\none\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := w.Commit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got := on(t, path, "b"); got != "0\none\n2\n" || l.Files[0].Over != 1 {
		t.Errorf("b says %q, over %d", got, l.Files[0].Over)
	}
}

func TestF162MoveRefused(t *testing.T) {
	for _, k := range []struct {
		name, open string
		do         func(t *testing.T, w *Workspace, b *buffer, path func(string) string, c *filetime.Change)
		code       filetime.Code
		reason     string
	}{
		{"onto a file", "", func(t *testing.T, w *Workspace, b *buffer, path func(string) string, c *filetime.Change) {
			c.Files[0].To = path("b")
		}, filetime.FileExists, "exists"},
		{"onto an open document that is not saved", "", func(t *testing.T, w *Workspace, b *buffer, path func(string) string, c *filetime.Change) {
			w.Open(path("to"), URI(path("to")), 1, "new\n")
		}, filetime.FileExists, "exists"},
		{"of a file that is gone", "", func(t *testing.T, w *Workspace, b *buffer, path func(string) string, c *filetime.Change) {
			os.Remove(path("a"))
		}, filetime.EditConflict, "deleted"},
		{"of an open document whose editor cannot", "a", func(*testing.T, *Workspace, *buffer, func(string) string, *filetime.Change) {
		}, filetime.Unsupported, "no_rename"},
		{"of a link", "", func(t *testing.T, w *Workspace, b *buffer, path func(string) string, c *filetime.Change) {
			os.Remove(path("a"))
			os.Symlink("b", path("a"))
		}, filetime.ReadError, "not_regular"},
	} {
		t.Run(k.name, func(t *testing.T) {
			w, b, j, path := folder(t, map[string]string{"a": "one\n", "b": "two\n"}, k.open)
			c := moves(t, w, path, "a", "to", "")
			k.do(t, w, b, path, &c)
			_, err := w.Commit(t.Context(), c)
			var refused *filetime.Error
			if !errors.As(err, &refused) || refused.Code != k.code || refused.Reason != k.reason {
				t.Errorf("%v, %+v", err, refused)
			}
			if got := on(t, path, "b"); got != "two\n" || b.tries > 0 {
				t.Errorf("b says %q, %d tries", got, b.tries)
			}
			if got := j.told(w); got != "" && !strings.HasSuffix(got, ": not_landed") {
				t.Errorf("journal %q", got)
			}
		})
	}
}

// An edit that conflicts leaves the file where it is.
func TestF162MoveWithConflict(t *testing.T) {
	w, _, j, path := folder(t, map[string]string{"a": "one\ntwo\n"}, "")
	c := moves(t, w, path, "a", "b", "two>2")
	if err := os.WriteFile(path("a"), []byte("one\nTWO!\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var met *filetime.Conflict
	if _, err := w.Commit(t.Context(), c); !errors.As(err, &met) {
		t.Error(err)
	}
	if on(t, path, "a") != "one\nTWO!\n" || on(t, path, "b") != "-" || j.told(w) != "" {
		t.Errorf("a %q, b %q, journal %q", on(t, path, "a"), on(t, path, "b"), j.told(w))
	}
}

// An open document keeps what is not saved, and its history goes on under the new name, in whatever order the editor tells.
func TestF162MoveInEditor(t *testing.T) {
	for name, set := range map[string]func(*buffer){
		"opened first": func(*buffer) {},
		"closed first": func(b *buffer) { b.closes = true },
		"told late":    func(b *buffer) { b.late = 300 * time.Millisecond },
		"typed while on the way": func(b *buffer) {
			b.before = func(try int) {
				if try == 1 {
					b.typeAt(0, "zero\n")
				}
			}
		},
	} {
		for _, edit := range []string{"", "two>2"} {
			t.Run(name+edit, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, b, j, path := folder(t, map[string]string{"a": "one\ntwo\n"}, "a")
					w.o.Features.Rename = true
					b.typeAt(0, "mine ")
					c := moves(t, w, path, "a", "d/b", edit)
					set(b)
					l, err := w.Commit(t.Context(), c)
					if err != nil {
						t.Fatal(err)
					}
					want := "mine one\ntwo\n"
					if b.before != nil {
						want = "zero\n" + want
					}
					if edit != "" {
						want = strings.Replace(want, "two", "2", 1)
					}
					if b.text != want || b.uri != URI(path("d/b")) || on(t, path, "d/b") != "one\ntwo\n" || on(t, path, "a") != "-" {
						t.Errorf("the buffer %s says %q, the disk %q", b.uri, b.text, on(t, path, "d/b"))
					}
					f := l.Files[0]
					if f.Path != path("d/b") || f.Origin != path("a") || f.After.String() != want || f.Source != "buffer" || f.Stale != "" {
						t.Errorf("landed as %+v", f)
					}
					s, err := w.Read(t.Context(), path("d/b"))
					if err != nil || !s.Open || !s.Dirty || s.Text.String() != want {
						t.Errorf("d/b is %+v, %v", s, err)
					}
					if s, err := w.Read(t.Context(), path("a")); err != nil || s.Open || s.Exists {
						t.Errorf("a is %+v, %v", s, err)
					}
					revs, _, ok := w.History(path("d/b"), c.Files[0].Rev)
					for _, r := range revs {
						if r.Author == filetime.Disk || r.Author == filetime.User && b.before == nil {
							t.Errorf("%+v", r)
						}
					}
					if !ok {
						t.Error("the history does not go on")
					}
					if got := j.told(w); !strings.HasPrefix(got, "move a to b: landed") {
						t.Errorf("journal %q", got)
					}
					w.Settle()
				})
			})
		}
	}
}

func TestF162MoveEditorFails(t *testing.T) {
	for name, k := range map[string]struct {
		set  func(*buffer)
		code filetime.Code
		says string
	}{
		"refused":           {func(b *buffer) { b.says = "not now" }, filetime.WriteError, "not now"},
		"cannot at all":     {func(b *buffer) { b.fails = &RefusedError{Words: "read only"} }, filetime.WriteError, "read only"},
		"says so, does not": {func(b *buffer) { b.drop = true }, filetime.Unknown, "the disk does not show it"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, b, _, path := folder(t, map[string]string{"a": "one\n"}, "a")
				w.o.Features.Rename = true
				c := moves(t, w, path, "a", "d/b", "")
				k.set(b)
				_, err := w.Commit(t.Context(), c)
				var refused *filetime.Error
				if !errors.As(err, &refused) || refused.Code != k.code || !strings.Contains(refused.Message, k.says) {
					t.Errorf("%v", err)
				}
				if _, err := os.Stat(path("d")); err == nil {
					t.Error("the folder is left behind")
				}
				s, err := w.Read(t.Context(), path("a"))
				if err != nil || !s.Open || s.Text.String() != "one\n" {
					t.Errorf("a is %+v, %v", s, err)
				}
				b.typeAt(0, "x")
				if s, _ := w.Read(t.Context(), path("a")); s.Text.String() != "xone\n" {
					t.Errorf("a says %q", s.Text)
				}
				w.Settle()
			})
		})
	}
}

// An editor that goes on under the old name is told of, and the file is where it is.
func TestF162MoveEditorStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, b, _, path := folder(t, map[string]string{"a": "one\n"}, "a")
		w.o.Features.Rename = true
		b.stays = true
		l, err := w.Commit(t.Context(), moves(t, w, path, "a", "b", ""))
		if err != nil || len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0].Says, "old name") || on(t, path, "b") != "one\n" {
			t.Errorf("%+v, %v", l, err)
		}
		w.Settle()
	})
}

// A move of several files: one that cannot land takes the others back, with what was typed since.
func TestF162MoveOfSeveral(t *testing.T) {
	w, _, j, path := folder(t, map[string]string{"a": "one\n", "b": "two\n", "c": "three\n"}, "")
	del := changing(t, w, path, "b: ")
	c := moves(t, w, path, "a", "b", "one>1")
	c.Files = append(del.Files, c.Files...) // a takes the place of b
	if _, err := w.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if on(t, path, "b") != "1\n" || on(t, path, "a") != "-" {
		t.Errorf("a %q, b %q", on(t, path, "a"), on(t, path, "b"))
	}
	if got := j.told(w); got != "delete b, move a to b, edit b: landed" {
		t.Errorf("journal %q", got)
	}
	c = moves(t, w, path, "b", "d/a", "1>one")
	edit := changing(t, w, path, "c: three>3")
	c.Files = append(c.Files, edit.Files...)
	j.begun = func(in disk.Intent) {
		if len(in.Files) > 1 {
			if err := os.WriteFile(path("c"), []byte("drei\n"), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
	_, err := w.Commit(t.Context(), c)
	var part *filetime.Incomplete
	if !errors.As(err, &part) || part.Files[0].State != filetime.Reverted {
		t.Errorf("%v, %+v", err, part)
	}
	if on(t, path, "b") != "1\n" || on(t, path, "d/a") != "-" || on(t, path, "c") != "drei\n" {
		t.Errorf("b %q, d/a %q, c %q", on(t, path, "b"), on(t, path, "d/a"), on(t, path, "c"))
	}
}

// Text that a person has typed and not saved is not deleted; what the agent put there is.
func TestF160DeleteKeepsTyping(t *testing.T) {
	for _, k := range []struct {
		name string
		do   func(t *testing.T, w *Workspace, b *buffer, path string)
		want filetime.Code
	}{
		{"saved", func(*testing.T, *Workspace, *buffer, string) {}, ""},
		{"typed", func(_ *testing.T, _ *Workspace, b *buffer, _ string) { b.typeAt(0, "x") }, filetime.EditConflict},
		{"edited by the agent", func(t *testing.T, w *Workspace, b *buffer, path string) {
			s, _ := w.Read(t.Context(), path)
			if _, err := w.Commit(t.Context(), replaceIn(s, "one", "1")); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"edited, then typed", func(t *testing.T, w *Workspace, b *buffer, path string) {
			s, _ := w.Read(t.Context(), path)
			if _, err := w.Commit(t.Context(), replaceIn(s, "one", "1")); err != nil {
				t.Fatal(err)
			}
			b.typeAt(0, "x")
		}, filetime.EditConflict},
	} {
		t.Run(k.name, func(t *testing.T) {
			w, b, _, path := folder(t, map[string]string{"a": "one\n"}, "a")
			w.o.Features.Delete = true
			k.do(t, w, b, path("a"))
			c := changing(t, w, path, "a: ")
			l, err := w.Commit(t.Context(), c)
			var refused *filetime.Error
			switch {
			case k.want == "" && (err != nil || !l.Files[0].Deleted || l.Files[0].After.Len() > 0):
				t.Errorf("%+v, %v", l, err)
			case k.want != "" && (!errors.As(err, &refused) || refused.Code != k.want || refused.Reason != "unsaved"):
				t.Errorf("%v", err)
			}
		})
	}
	w, _, _, path := folder(t, map[string]string{"a": "one\n"}, "a")
	_, err := w.Commit(t.Context(), changing(t, w, path, "a: "))
	var refused *filetime.Error
	if !errors.As(err, &refused) || refused.Code != filetime.Unsupported || on(t, path, "a") != "one\n" {
		t.Errorf("an editor that deletes nothing: %v", err)
	}
}

// What is no text is replaced by a text in one change, which is only worked out first where nothing is to be applied; if the bytes are
// others than those that were looked at, they stay.
func TestF265BytesAreReplaced(t *testing.T) {
	w, _, j, path := folder(t, map[string]string{"a": "b\x00c"}, "")
	info, err := os.Lstat(path("a"))
	if err != nil {
		t.Fatal(err)
	}
	c := filetime.Change{Session: "s", Call: "c", Tool: "write_file", Turn: 1, Apply: filetime.None, Files: []filetime.FileEdit{
		{Path: path("a"), Delete: true, Entry: filetime.Bytes, Was: filetime.Mark(info)},
		{Path: path("a"), Create: true, Edits: text.Set{{New: "text\n"}}},
	}}
	if l, err := w.Commit(t.Context(), c); err != nil || len(l.Files) != 2 || l.Files[1].Applied || on(t, path, "a") != "b\x00c" {
		t.Fatalf("%+v, %v; it says %q", l, err, on(t, path, "a"))
	}
	c.Apply = ""
	other := c
	other.Files = slices.Clone(c.Files)
	other.Files[0].Was = "other"
	if l, err := w.Commit(t.Context(), other); err == nil || on(t, path, "a") != "b\x00c" {
		t.Fatalf("%+v; it says %q", l, on(t, path, "a"))
	}
	l, err := w.Commit(t.Context(), c)
	if err != nil || len(l.Files) != 2 || !l.Files[1].Applied || on(t, path, "a") != "text\n" {
		t.Fatalf("%+v, %v; it says %q", l, err, on(t, path, "a"))
	}
	if s, err := w.Read(t.Context(), path("a")); err != nil || s.Text.String() != "text\n" {
		t.Errorf("%+v, %v", s, err)
	}
	if got := j.told(w); !strings.Contains(got, "create a: landed") {
		t.Error(got)
	}
}

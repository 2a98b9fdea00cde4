package workspace

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/history"
)

// A clean buffer may be older than its file. Whatever deletes the document then refuses, shows the newer text, and has the editor load it.
func TestFaultE10DeletionComparesTheDisk(t *testing.T) {
	const newer = "one\ntwo\nsaved elsewhere\n"
	remove := func(s filetime.Snapshot) filetime.Change {
		return filetime.Change{Session: "s", Call: "c", Tool: "delete_file", Files: []filetime.FileEdit{
			{Path: s.Path, Delete: true, Base: s.Text, Rev: s.Rev},
		}}
	}
	for name, tt := range map[string]struct {
		change func(c filetime.Change, other string) filetime.Change
		meant  func(w *Workspace, b *buffer, path string) // while the editor's buffer is older
		loads  bool                                       // the editor does it by itself
	}{
		"delete_file": {},
		"undo of a created file": {change: func(c filetime.Change, _ string) filetime.Change {
			c.ForUser = true
			return c
		}},
		"overwriting move": {change: func(c filetime.Change, other string) filetime.Change {
			text := text.New("other\n")
			c.Files = append(c.Files, filetime.FileEdit{Path: other, To: c.Files[0].Path, Base: text})
			return c
		}},
		"patch of two files": {change: func(c filetime.Change, other string) filetime.Change {
			text := text.New("other\n")
			c.Files = append([]filetime.FileEdit{{Path: other, Delete: true, Base: text}}, c.Files...)
			return c
		}},
		"the editor loads it by itself": {loads: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, b, path := opened(t, "one\ntwo\n")
				w.o.Features.Delete, w.o.Features.Rename, w.o.Journal = true, true, &written{}
				other := strings.TrimSuffix(path, "f.txt") + "other.txt"
				for p, says := range map[string]string{other: "other\n", path: newer} {
					if err := os.WriteFile(p, []byte(says), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				s, err := w.Read(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				c := remove(s)
				if tt.change != nil {
					c = tt.change(c, other)
				}
				for i, e := range c.Files {
					if e.Path == other {
						s, err := w.Read(t.Context(), other)
						if err != nil {
							t.Fatal(err)
						}
						c.Files[i].Rev = s.Rev
					}
				}
				if tt.loads {
					time.AfterFunc(reloadWait/2, func() { b.typeAt(8, "saved elsewhere\n") })
				}
				_, err = w.Commit(t.Context(), c)
				var refused *filetime.Error
				if !errors.As(err, &refused) || refused.Reason != newerReason || refused.Now.String() != newer {
					t.Errorf("%v", err)
				}
				for p, want := range map[string]string{other: "other\n", path: newer} {
					if got, _ := os.ReadFile(p); string(got) != want {
						t.Errorf("%s says %q", p, got)
					}
				}
				now, err := w.Read(t.Context(), path)
				if err != nil || b.text != newer || now.Text.String() != newer || now.Dirty {
					t.Errorf("%+v, %v, buffer %q", now, err, b.text)
				}
				if tt.loads && b.tries > 0 {
					t.Errorf("asked %d times", b.tries)
				}
				// Both have seen it now.
				if _, err := w.Commit(t.Context(), remove(now)); err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
					t.Error(err)
				}
			})
		})
	}
}

// What the disk has is known in these cases: the document is deleted as before.
func TestFaultE10DeletionOfWhatIsKnown(t *testing.T) {
	bare := strings.TrimSuffix(doc, "\n")
	for name, says := range map[string]string{
		"as it is": bare, "the editor has added the final line end": doc, "other line ends": strings.ReplaceAll(doc, "\n", "\r\n"),
		"emptied": "", "a byte order mark": "\ufeff" + doc,
	} {
		t.Run(name, func(t *testing.T) {
			w, _, path := opened(t, bare)
			w.o.Features.Delete = true
			s, err := w.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(says), 0o755); err != nil {
				t.Fatal(err)
			}
			l, err := w.Commit(t.Context(), filetime.Change{Session: "s", Call: "c", Files: []filetime.FileEdit{
				{Path: path, Delete: true, Base: s.Text, Rev: s.Rev},
			}})
			if err != nil || !l.Files[0].Deleted || l.Files[0].Before.String() != bare {
				t.Errorf("%+v, %v", l, err)
			}
		})
	}
}

// An undo of a deletion gives the file the bytes and the permissions that it had on disk when it was deleted, also with an editor that
// makes new files itself: it would write its buffer. The text that the undo brings back is the buffer's, and the rest the disk's.
func TestFaultE10UndoBringsBackTheDisk(t *testing.T) {
	wide, err := text.Encode(text.New("\ufeff"+doc), text.CharsetUTF16LE)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		raw    string
		mode   os.FileMode
		closed filetime.Apply
	}{
		"another charset":     {string(wide), 0o644, ""},
		"a byte order mark":   {"\ufeff" + doc, 0o644, ""},
		"other line ends":     {strings.ReplaceAll(doc, "\n", "\r\n"), 0o644, ""},
		"mixed line ends":     {strings.Replace(doc, "\n", "\r\n", 1), 0o644, ""},
		"a program":           {"\ufeff" + doc, 0o755, ""},
		"written to the disk": {string(wide), 0o755, filetime.OnDisk},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, path := opened(t, doc)
			w.o.Features.Delete, w.o.Closed = true, tt.closed
			if err := os.WriteFile(path, []byte(tt.raw), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			w.Saved(URI(path), nil)
			s, err := w.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			l, err := w.Commit(t.Context(), filetime.Change{Session: "s", Call: "c", Files: []filetime.FileEdit{
				{Path: path, Delete: true, Base: s.Text, Rev: s.Rev},
			}})
			if err != nil {
				t.Fatal(err)
			}
			f := l.Files[0]
			l, err = w.Commit(t.Context(), filetime.Change{Session: "s", Call: "undo", ForUser: true, Files: []filetime.FileEdit{
				{Path: path, Create: true, Edits: text.Set{{New: f.Before.String()}}, Mode: f.Mode},
			}})
			if err != nil || l.Files[0].After.String() != doc {
				t.Fatalf("%+v, %v", l, err)
			}
			revs, _, _ := w.History(path, l.Files[0].Rev)
			for _, r := range revs {
				if r.Author != filetime.Disk {
					t.Errorf("the other form is by %v", r.Author)
				}
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != tt.mode {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			if got, _ := os.ReadFile(path); string(got) != tt.raw {
				t.Errorf("%q, want %q", got, tt.raw)
			}
		})
	}
}

// Saving a buffer for a command would overwrite what another program has saved: the editor is not asked to, and the warning says so.
func TestFaultE10CommandSavesOverNothingNewer(t *testing.T) {
	w, b, path := opened(t, doc)
	if _, err := edit(t, w, path, "four", "FOUR"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(doc+"saved elsewhere\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	warnings := w.SaveForCommand(t.Context())
	if len(b.saved) > 0 || len(warnings) != 1 || !strings.Contains(warnings[0].Says, "Another program") {
		t.Errorf("saved %v, %+v", b.saved, warnings)
	}
	if err := os.WriteFile(path, []byte(doc), 0o644); err != nil {
		t.Fatal(err)
	}
	if warnings := w.SaveForCommand(t.Context()); len(b.saved) != 1 || len(warnings) > 0 {
		t.Errorf("saved %v, %+v", b.saved, warnings)
	}
}

// The change by which an editor loads a newer file is the disk's, and leaves the buffer clean; a key, and a save of it, are the person's.
func TestFaultE10ReloadIsTheDisks(t *testing.T) {
	for name, tt := range map[string]struct {
		do    func(w *Workspace, b *buffer, write func(string))
		by    filetime.Author
		dirty bool
	}{
		"a reload": {func(_ *Workspace, b *buffer, write func(string)) { write("x" + doc); b.typeAt(0, "x") }, filetime.Disk, false},
		"a key":    {func(_ *Workspace, b *buffer, _ func(string)) { b.typeAt(0, "x") }, filetime.User, true},
		"a key while it is newer": {func(_ *Workspace, b *buffer, write func(string)) {
			write("y" + doc)
			b.typeAt(0, "x")
		}, filetime.User, true},
		"a save that was faster": {func(w *Workspace, b *buffer, write func(string)) {
			write("x" + doc)
			b.typeAt(0, "x")
			w.Saved(b.uri, nil)
		}, filetime.User, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, b, path := opened(t, doc)
			before, err := w.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			tt.do(w, b, func(s string) {
				if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
					t.Fatal(err)
				}
			})
			revs, now, ok := w.History(path, before.Rev)
			if !ok || len(revs) != 1 || revs[0].Author != tt.by || now.Dirty != tt.dirty {
				t.Errorf("%+v, dirty %v, %v", revs, now.Dirty, ok)
			}
		})
	}
}

// Some clients send no didClose for a document that went with its file. It is deleted all the same: it reads so, it can be made again,
// and a didClose that comes late changes nothing.
func TestFaultE10DeletedWithoutDidClose(t *testing.T) {
	for _, late := range []bool{false, true} {
		w, b, path := opened(t, doc)
		w.o.Features.Delete, w.o.Closed, b.stays = true, filetime.OnDisk, true
		s, err := w.Read(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		l, err := w.Commit(t.Context(), filetime.Change{Session: "s", Call: "c", Files: []filetime.FileEdit{{Path: path, Delete: true, Base: s.Text, Rev: s.Rev}}})
		if err != nil || !l.Files[0].Deleted || l.Files[0].Before.String() != doc {
			t.Fatalf("%+v, %v", l, err)
		}
		if s, err = w.Read(t.Context(), path); err != nil || s.Exists || s.Open {
			t.Errorf("%+v, %v", s, err)
		}
		if late {
			w.Close(b.uri)
		}
		l, err = w.Commit(t.Context(), filetime.Change{Session: "s", Call: "d", Files: []filetime.FileEdit{{Path: path, Create: true, Edits: text.Set{{New: "anew\n"}}}}})
		if err != nil || !l.Files[0].Created {
			t.Fatalf("%+v, %v", l, err)
		}
		w.Close(b.uri)
		if s, err = w.Read(t.Context(), path); err != nil || !s.Exists || s.Text.String() != "anew\n" {
			t.Errorf("%q, %v", s.Text, err)
		}
	}
}

// A reload in several parts is the disk's as a whole, also where the history is folded between two of them.
func TestReloadMeetsFold(t *testing.T) {
	for _, ahead := range []int{2, 1, 0} {
		w, b, path := opened(t, "x\n")
		f := w.file(path)
		for len(f.All()) < history.MaxRevisions-ahead {
			b.typeAt(0, "y")
		}
		if err := os.WriteFile(path, []byte(b.text), 0o644); err != nil {
			t.Fatal(err)
		}
		w.Saved(b.uri, nil)
		was := f.Rev()
		if err := os.WriteFile(path, []byte("b"+b.text+"e\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		b.change([]text.Edit{{New: "b"}, {Start: len(b.text), End: len(b.text), New: "e\n"}})
		revs, now, ok := w.History(path, was)
		if !ok || len(revs) != 2 || now.Dirty {
			t.Fatalf("%d before the fold: %v, %v, dirty %v", ahead, revs, ok, now.Dirty)
		}
		for _, r := range revs {
			if r.Author != filetime.Disk {
				t.Errorf("%d before the fold: %+v", ahead, r)
			}
		}
	}
}

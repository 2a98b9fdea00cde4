package workspace

import (
	"context"
	"errors"
	"os"
	"testing"

	"tandem/filetime"
	"tandem/sandbox"
)

// whole is an editor without versions: texts by path, "" among them, and what it refuses.
type whole struct {
	texts   map[string]string // by URI; others it refuses to give
	refuse  bool              // to write
	silent  error             // what it fails with
	unsaved bool              // what it is given it does not save
	path    func(string) string
	writes  int
	reads   int
}

func (e *whole) Resync(_ context.Context, uri string) (string, int32, error) {
	e.reads++
	if e.silent != nil {
		return "", 0, e.silent
	}
	s, ok := e.texts[uri]
	if !ok {
		return "", 0, &RefusedError{Words: "no such file"}
	}
	return s, 0, nil
}

func (e *whole) Apply(_ context.Context, d Delivery) (Applied, error) {
	if e.refuse {
		return Applied{}, &RefusedError{Words: "not this one"}
	}
	if e.silent != nil {
		return Applied{}, e.silent
	}
	e.writes++
	e.texts[d.URI] = d.New.String()
	if e.unsaved {
		return Applied{OK: true}, nil
	}
	return Applied{OK: true}, os.WriteFile(d.URI[len("file://"):], []byte(d.New.String()), 0o644)
}

func (e *whole) Save(context.Context, []string) (map[string]string, error) { return nil, nil }

// versionless is a workspace of files in an editor without versions, which has texts of its own for some.
func versionless(t *testing.T, files, texts map[string]string) (*Workspace, *whole, *written, func(string) string) {
	t.Helper()
	_, _, _, path := folder(t, files, "")
	e, j := &whole{texts: map[string]string{}, path: path}, &written{}
	for name, s := range texts {
		e.texts[URI(path(name))] = s
	}
	w := New(Options{Roots: everything(), Editor: e, Features: Features{Versionless: true}, Journal: j})
	t.Cleanup(w.Settle)
	return w, e, j, path
}

func outcome(err error) string {
	var e *filetime.Error
	if errors.As(err, &e) {
		return string(e.Code) + " " + e.Reason
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestVersionlessUnsavedTextIsReadAndMerged(t *testing.T) {
	w, e, j, path := versionless(t, map[string]string{"a": "one\ntwo\nthree\n"}, map[string]string{"a": "one\ntwo\nthree, typed\n"})
	s, err := w.Read(t.Context(), path("a"))
	if err != nil || s.Text.String() != "one\ntwo\nthree, typed\n" {
		t.Fatalf("read %q, %v", s.Text, err)
	}
	c := changing(t, w, path, "a: one>1")
	e.texts[URI(path("a"))] = "one\ntwo, too\nthree, typed\n" // after it was seen
	landed, err := w.Commit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got := on(t, path, "a"); got != "1\ntwo, too\nthree, typed\n" {
		t.Errorf("it was given %q", got)
	}
	if l := landed.Files[0]; l.Source != "buffer" || l.Stale != "" || l.After.String() != on(t, path, "a") {
		t.Errorf("landed as %+v", l)
	}
	if got := j.told(w); got != "edit a in its buffer: landed" {
		t.Errorf("the journal has %q", got)
	}
}

func TestVersionlessConflicts(t *testing.T) {
	w, e, _, path := versionless(t, map[string]string{"a": "one\n"}, map[string]string{"a": "one\n"})
	c := changing(t, w, path, "a: one>1")
	e.texts[URI(path("a"))] = "eins\n"
	if _, err := w.Commit(t.Context(), c); outcome(err) == "" || e.writes > 0 || on(t, path, "a") != "one\n" {
		t.Errorf("%v, %d writes, the disk says %q", err, e.writes, on(t, path, "a"))
	}
}

func TestVersionlessEndsOfAWrite(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*whole)
		edit string
		want string // code and reason
		disk string
	}{
		{"refused", func(e *whole) { e.refuse = true }, "a: one>1", "WRITE_ERROR refused", "one\n"},
		{"no answer", func(e *whole) { e.silent = context.DeadlineExceeded }, "a: one>1", "READ_ERROR editor", "one\n"},
		{"a file that it does not give", func(e *whole) { clear(e.texts) }, "a: one>1", "", "1\n"},
		{"deleted", func(*whole) {}, "a: ", "", "-"},
		{"deleted, with unsaved text", func(e *whole) { e.texts[URI(e.path("a"))] = "one\nmore\n" }, "a: ", "EDIT_CONFLICT unsaved", "one\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, e, _, path := versionless(t, map[string]string{"a": "one\n"}, map[string]string{"a": "one\n"})
			if tt.name == "deleted, with unsaved text" { // as the model has seen it
				tt.set(e)
			}
			c := changing(t, w, path, tt.edit)
			tt.set(e)
			_, err := w.Commit(t.Context(), c)
			if outcome(err) != tt.want || on(t, path, "a") != tt.disk {
				t.Errorf("%q (%v), the disk says %q", outcome(err), err, on(t, path, "a"))
			}
		})
	}
}

func TestVersionlessCreates(t *testing.T) {
	w, e, _, path := versionless(t, nil, nil)
	e.texts[URI(path("b"))] = "" // some say so for a file that is not there
	for _, name := range []string{"a", "b"} {
		landed, err := w.Commit(t.Context(), changing(t, w, path, name+": text\n"))
		if err != nil || !landed.Files[0].Created || on(t, path, name) != "text\n" {
			t.Errorf("%s: %v, the disk says %q", name, err, on(t, path, name))
		}
	}
}

func TestVersionlessNotSaved(t *testing.T) {
	w, e, _, path := versionless(t, map[string]string{"a": "one\n"}, map[string]string{"a": "one\n"})
	e.unsaved = true
	landed, err := w.Commit(t.Context(), changing(t, w, path, "a: one>1"))
	if err != nil || landed.Files[0].Stale == "" {
		t.Errorf("%+v, %v", landed, err)
	}
}

// What may not be read on the disk is not asked for.
func TestVersionlessOutside(t *testing.T) {
	w, e, _, path := versionless(t, map[string]string{"a": "one\n"}, map[string]string{"a": "secret\n"})
	w.o.Roots = &sandbox.Roots{}
	if s, err := w.Read(t.Context(), path("a")); err == nil || e.reads > 0 {
		t.Errorf("read %q, asked %d times", s.Text, e.reads)
	}
}

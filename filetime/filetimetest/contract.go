package filetimetest

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
)

// Subject is an implementation of filetime.Files with the hands of somebody else, who changes its files below Dir.
type Subject struct {
	Files  filetime.Files
	Dir    string
	Write  func(t *testing.T, path, content string)
	Remove func(t *testing.T, path string)
}

// Contract examines what tools rely on in a filetime.Files. begin makes a new one without files.
func Contract(t *testing.T, begin func(t *testing.T) Subject) {
	const was = "one\ntwo\nthree\n"
	two := text.Set{{Start: 4, End: 7, New: "2"}}
	for name, check := range map[string]func(t *testing.T, s Subject, path string, e filetime.FileEdit){
		"a path without a file is no error": func(t *testing.T, s Subject, path string, _ filetime.FileEdit) {
			if snap, err := s.Files.Read(t.Context(), path+"x"); err != nil || snap.Exists || snap.Text.Len() > 0 {
				t.Errorf("%+v, %v", snap, err)
			}
		},
		"an edit lands": func(t *testing.T, s Subject, path string, e filetime.FileEdit) {
			l, err := s.commit(t, "", e)
			if err != nil || !l.Applied || l.Already || l.Rev <= e.Rev || l.Before.String() != was || s.text(t, path) != "one\n2\nthree\n" {
				t.Errorf("%+v, %v", l, err)
			}
			revs, now, ok := s.Files.History(path, e.Rev)
			if !ok || len(revs) != 1 || revs[0].Author != filetime.Agent || revs[0].Session != "s" || now.Rev != l.Rev {
				t.Errorf("history %+v, %+v, %v", revs, now, ok)
			}
		},
		"it is carried over what others did": func(t *testing.T, s Subject, path string, e filetime.FileEdit) {
			s.Write(t, path, "0\n"+was)
			l, err := s.commit(t, "", e)
			if err != nil || l.Over == 0 || s.text(t, path) != "0\none\n2\nthree\n" {
				t.Errorf("%+v, %v: %q", l, err, s.text(t, path))
			}
		},
		"it conflicts with what it meets, and nothing is changed": func(t *testing.T, s Subject, path string, e filetime.FileEdit) {
			const now = "one\nTWO!\nthree\n"
			s.Write(t, path, now)
			for _, where := range []filetime.Apply{"", filetime.None} {
				_, err := s.commit(t, where, e)
				var c *filetime.Conflict
				if !errors.As(err, &c) || c.Path != path || c.Now.String() != now || len(c.Hunks) != 1 || s.text(t, path) != now {
					t.Errorf("%q: %v: %q", where, err, s.text(t, path))
				}
			}
		},
		"with Apply None it is worked out only": func(t *testing.T, s Subject, path string, e filetime.FileEdit) {
			s.Write(t, path, "0\n"+was)
			l, err := s.commit(t, filetime.None, e)
			if err != nil || l.Applied || l.Before.String() != "0\n"+was || l.After.String() != "0\none\n2\nthree\n" || s.text(t, path) != "0\n"+was {
				t.Errorf("%+v, %v: %q", l, err, s.text(t, path))
			}
		},
		"what somebody else did already is a success": func(t *testing.T, s Subject, path string, e filetime.FileEdit) {
			s.Write(t, path, "one\n2\nthree\n")
			if l, err := s.commit(t, "", e); err != nil || !l.Applied || !l.Already || len(l.Set) > 0 {
				t.Errorf("%+v, %v", l, err)
			}
		},
		"a file is created, but not over another": func(t *testing.T, s Subject, path string, _ filetime.FileEdit) {
			e := filetime.FileEdit{Path: path + "x", Create: true, Edits: text.Set{{New: "new\n"}}}
			if l, err := s.commit(t, filetime.None, e); err != nil || !l.Created || l.Applied || l.After.String() != "new\n" {
				t.Errorf("worked out: %+v, %v", l, err)
			}
			if l, err := s.commit(t, "", e); err != nil || !l.Created || !l.Applied || s.text(t, e.Path) != "new\n" {
				t.Errorf("%+v, %v", l, err)
			}
			var refused *filetime.Error
			if _, err := s.commit(t, "", e); !errors.As(err, &refused) || refused.Code != filetime.FileExists || !refused.Known {
				t.Errorf("again: %v", err)
			}
		},
		"a file is moved, edited on the way, and its history goes on": func(t *testing.T, s Subject, path string, e filetime.FileEdit) {
			e.To = path + "x"
			if l, err := s.commit(t, filetime.None, e); err != nil || l.Applied || l.Path != e.To || l.Origin != path {
				t.Errorf("worked out: %+v, %v", l, err)
			}
			s.Write(t, path, "0\n"+was)
			l, err := s.commit(t, "", e)
			if err != nil || l.Path != e.To || l.Origin != path || !l.Applied || l.Over == 0 || s.text(t, e.To) != "0\none\n2\nthree\n" {
				t.Errorf("%+v, %v: %q", l, err, s.text(t, e.To))
			}
			if snap, err := s.Files.Read(t.Context(), path); err != nil || snap.Exists || snap.Text.Len() > 0 {
				t.Errorf("what it left: %+v, %v", snap, err)
			}
			if revs, now, ok := s.Files.History(e.To, e.Rev); !ok || len(revs) < 2 || now.Rev != l.Rev {
				t.Errorf("history %+v, %+v, %v", revs, now, ok)
			}
		},
		"a file is not moved over another": func(t *testing.T, s Subject, path string, e filetime.FileEdit) {
			e.To, e.Edits = path+"x", nil
			s.Write(t, e.To, "in the way\n")
			var refused *filetime.Error
			if _, err := s.commit(t, "", e); !errors.As(err, &refused) || refused.Code != filetime.FileExists || s.text(t, path) != was {
				t.Errorf("%v", err)
			}
			del := filetime.FileEdit{Path: e.To, Delete: true}
			snap, err := s.Files.Read(t.Context(), e.To)
			if err != nil {
				t.Fatal(err)
			}
			del.Base, del.Rev = snap.Text, snap.Rev
			if l, err := s.commit(t, "", del, e); err != nil || !l.Deleted || s.text(t, e.To) != was {
				t.Errorf("once that is deleted: %+v, %v", l, err)
			}
		},
		"a file that was deleted is not made again": func(t *testing.T, s Subject, path string, e filetime.FileEdit) {
			s.Remove(t, path)
			var refused *filetime.Error
			if _, err := s.commit(t, "", e); !errors.As(err, &refused) || refused.Code != filetime.EditConflict || refused.Reason != "deleted" {
				t.Errorf("%v", err)
			}
		},
		"of several files none is changed where one conflicts": func(t *testing.T, s Subject, path string, e filetime.FileEdit) {
			other := e
			other.Path = path + "x"
			s.Write(t, other.Path, was)
			snap, err := s.Files.Read(t.Context(), other.Path)
			if err != nil {
				t.Fatal(err)
			}
			other.Rev, other.Base = snap.Rev, snap.Text
			s.Write(t, other.Path, "one\nTWO!\nthree\n")
			if _, err := s.commit(t, "", e, other); err == nil || s.text(t, path) != was {
				t.Errorf("%v: %q", err, s.text(t, path))
			}
		},
		"a lock is had by one": func(t *testing.T, s Subject, path string, _ filetime.FileEdit) {
			unlock, err := s.Files.Lock(t.Context(), path, path+"x")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if _, err := s.Files.Lock(ctx, path+"x"); err == nil {
				t.Error("two have it")
			}
			unlock()
			again, err := s.Files.Lock(t.Context(), path+"x")
			if err != nil {
				t.Fatal(err)
			}
			again()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			path := filepath.Join(s.Dir, "f")
			s.Write(t, path, was)
			snap, err := s.Files.Read(t.Context(), path)
			if err != nil || !snap.Exists || snap.Path != path || snap.Text.String() != was {
				t.Fatalf("%+v, %v", snap, err)
			}
			check(t, s, path, filetime.FileEdit{Path: path, Base: snap.Text, Rev: snap.Rev, Edits: two})
		})
	}
}

// commit gives the first file.
func (s Subject) commit(t *testing.T, where filetime.Apply, files ...filetime.FileEdit) (filetime.LandedFile, error) {
	t.Helper()
	l, err := s.Files.Commit(t.Context(), filetime.Change{Session: "s", Call: "c", Turn: 1, Tool: "edit_file", Apply: where, Files: files})
	if err != nil {
		return filetime.LandedFile{}, err
	}
	if len(l.Files) != len(files) {
		t.Fatalf("%d files landed of %d", len(l.Files), len(files))
	}
	return l.Files[0], nil
}

func (s Subject) text(t *testing.T, path string) string {
	t.Helper()
	snap, err := s.Files.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return snap.Text.String()
}

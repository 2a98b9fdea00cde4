package workspace

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"tandem/filetime"
)

// A plain client deletes a document whatever has been typed into it. It is emptied by an edit first, and deleted when its echo shows
// that nothing else was in it.
func TestFaultE13PlainDeletion(t *testing.T) {
	for name, tt := range map[string]struct {
		features Features
		before   func(b *buffer, try int)
		lies     bool
		code     filetime.Code
		text     string // "" where it is deleted
	}{
		"nobody types": {},
		"no versions":  {features: Features{Apply: true, Delete: true}},
		"a key before it, the edit is passed over": {lies: true, before: func(b *buffer, try int) {
			if try == 1 {
				b.typeAt(3, " typed")
			}
		}, text: "one typed two\nthree four\nfive six\n"},
		"a key before it, the edit is refused": {before: func(b *buffer, try int) {
			if try == 1 {
				b.typeAt(3, " typed")
			}
		}, text: "one typed two\nthree four\nfive six\n"},
		"a key behind the last character": {lies: true, before: func(b *buffer, try int) {
			if try == 1 {
				b.typeAt(len(doc), "typed")
			}
		}, text: doc + "typed"},
		"the operation is refused": {before: func(b *buffer, try int) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.fails = nil; try == 2 {
				b.fails = &RefusedError{Words: "not this file"}
			}
		}, code: filetime.WriteError, text: doc},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				have := tt.features
				if !have.Apply {
					have = Features{Apply: true, Delete: true, Versions: true}
				}
				w, b, path := plainly(t, have)
				b.lies = tt.lies
				if !have.Versions {
					b.blind = true
				}
				if tt.before != nil {
					b.before = func(try int) { tt.before(b, try) }
				}
				s, err := w.Read(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				l, err := w.Commit(t.Context(), filetime.Change{Session: "s", Call: "c", Files: []filetime.FileEdit{
					{Path: path, Delete: true, Base: s.Text, Rev: s.Rev},
				}})
				_, gone := os.Stat(path)
				if tt.text == "" {
					revs, now, _ := w.History(path, s.Rev)
					if err != nil || !errors.Is(gone, os.ErrNotExist) || now.Exists || l.Files[0].Before.String() != doc || l.Files[0].Rev != now.Rev {
						t.Errorf("%+v, %v, %v", l, err, gone)
					}
					if len(revs) != 1 || revs[0].Author != filetime.Agent || revs[0].Set.Apply(s.Text).Len() > 0 {
						t.Errorf("history %+v", revs)
					}
					return
				}
				var refused *filetime.Error
				var met *filetime.Conflict
				switch {
				case tt.code != "":
					if !errors.As(err, &refused) || refused.Code != tt.code {
						t.Errorf("%v", err)
					}
				case !errors.As(err, &met) && !(tt.lies && errors.As(err, &refused) && refused.Code == filetime.Timeout):
					t.Errorf("%v", err)
				}
				if b.text != tt.text || gone != nil {
					t.Errorf("%q, %v", b.text, gone)
				}
			})
		})
	}
}

// Wherever a key falls before the deletion, it is in the buffer afterwards.
func TestFaultE13NoKeyIsLost(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		at, key := rapid.IntRange(0, len(doc)).Draw(r, "at"), rapid.SampledFrom([]string{"x", "\n", "word ", "\n\n"}).Draw(r, "key")
		lies := rapid.Bool().Draw(r, "lies")
		synctest.Test(t, func(t *testing.T) {
			w, b, path := plainly(t, Features{Apply: true, Delete: true, Versions: true})
			b.lies = lies
			b.before = func(try int) {
				if try == 1 {
					b.typeAt(at, key)
				}
			}
			s, err := w.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Commit(t.Context(), filetime.Change{Session: "s", Call: "c", Files: []filetime.FileEdit{
				{Path: path, Delete: true, Base: s.Text, Rev: s.Rev},
			}})
			if err == nil || !strings.Contains(b.text, doc[:at]+key+doc[at:]) {
				t.Errorf("%v, %q", err, b.text)
			}
		})
	})
}

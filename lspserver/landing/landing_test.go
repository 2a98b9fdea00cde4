package landing

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/text"
)

// memory is files without a disk: a path is changed if it has the text that the edit was made for.
type memory struct {
	texts  map[string]string
	landed func(path string) // somebody sees that a file has landed
}

func (m memory) Plan(_ context.Context, tx *Transaction, i int) ([]disk.Planned, error) {
	return []disk.Planned{{Op: disk.Edit, Path: tx.Change.Files[i].Path, Buffer: true}}, nil
}

func (m memory) Land(_ context.Context, tx *Transaction, e filetime.FileEdit) (filetime.LandedFile, error) {
	is, there := m.texts[e.Path]
	if there == e.Create || is != e.Base.String() {
		return filetime.LandedFile{}, &filetime.Error{Code: filetime.EditConflict, Reason: "changed", Path: e.Path, Message: "it has changed"}
	}
	l := filetime.LandedFile{
		Path: e.Path, Before: e.Base, After: e.Edits.Apply(e.Base), Set: e.Edits, Created: e.Create, Deleted: e.Delete, Applied: true,
	}
	delete(m.texts, e.Path)
	if e.To != "" {
		l.Path, l.Origin = e.To, e.Path
	}
	if !e.Delete {
		m.texts[l.Path] = l.After.String()
	}
	if !tx.Reverts {
		m.landed(l.Path)
	}
	return l, nil
}

// outcomes is a journal that knows how each change ended.
type outcomes struct {
	mu    sync.Mutex
	ended []disk.Outcome
}

func (o *outcomes) Begin(disk.Intent) (int64, error)                 { return 1, nil }
func (o *outcomes) Keep(_ int64, _ string, b []byte) (string, error) { return disk.Hash(b), nil }
func (o *outcomes) Orphans() ([]disk.Intent, error)                  { return nil, nil }
func (o *outcomes) End(_ int64, how disk.Outcome) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = append(o.ended, how)
	return nil
}

// TestAllOrNothing has changes of several files, of which one cannot be changed, and people who
// change some of the others once those have landed: what nobody has touched is as it was before.
func TestAllOrNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := map[string]string{}
		var c filetime.Change
		for i := range rapid.IntRange(2, 5).Draw(t, "files") {
			e := filetime.FileEdit{Path: fmt.Sprint("f", i), Base: text.New(fmt.Sprint("text ", i, "\n"))}
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				e.Create, e.Base, e.Edits = true, text.Text{}, text.Set{{New: "new\n"}}
			case 1:
				e.Delete = true
			case 2:
				e.To = e.Path + " moved"
			default:
				e.Edits = text.Set{{Start: 0, End: 4, New: "words"}}
			}
			if !e.Create {
				texts[e.Path] = e.Base.String()
			}
			c.Files = append(c.Files, e)
		}
		bad := rapid.IntRange(-1, len(c.Files)-1).Draw(t, "bad")
		if bad >= 0 {
			texts[c.Files[bad].Path] = "another text\n"
		}
		want, touched := maps.Clone(texts), map[string]bool{}
		m := memory{texts: texts, landed: func(path string) {
			if _, there := texts[path]; there && rapid.Bool().Draw(t, "somebody changes it") {
				texts[path], touched[path] = "typed\n", true
			}
		}}
		j := &outcomes{}
		d := disk.New(disk.Options{FS: disk.System(nil), Journal: j})
		out, err := Begin(d, true, c).Commit(t.Context(), m)
		d.Settle()
		var parts *filetime.Incomplete
		switch {
		case bad < 0:
			if err != nil || len(out.Files) != len(c.Files) || !slices.Equal(j.ended, []disk.Outcome{disk.Landed}) {
				t.Fatalf("%v, %d landed, %v", err, len(out.Files), j.ended)
			}
			return
		case bad == 0:
			if err == nil || errors.As(err, &parts) || len(out.Files) > 0 {
				t.Fatalf("%v, %v", err, out)
			}
		case !errors.As(err, &parts) || len(parts.Files) != len(c.Files):
			t.Fatalf("%v", err)
		}
		stay := 0
		for i, e := range c.Files {
			path := e.Path
			if e.To != "" {
				path = e.To
			}
			state := filetime.Untouched
			switch {
			case i == bad:
				state = filetime.Refused
			case i < bad && touched[path]:
				state = filetime.Stays
				if delete(want, e.Path); texts[path] != "typed\n" || out.Files[stay].Path != path {
					t.Errorf("what somebody has typed into %s is %q, and %v stay", path, texts[path], out.Files)
				}
				want[path] = "typed\n"
				stay++
			case i < bad:
				state = filetime.Reverted
			}
			if parts != nil && parts.Files[i].State != state {
				t.Errorf("%s is told as %s, want %s", path, parts.Files[i].State, state)
			}
		}
		how := disk.NotLanded
		if stay > 0 {
			how = disk.Partly
		}
		if !maps.Equal(texts, want) || len(out.Files) != stay || !slices.Equal(j.ended, []disk.Outcome{how}) {
			t.Errorf("%q, want %q; %d stay; the journal has %v", texts, want, stay, j.ended)
		}
	})
}

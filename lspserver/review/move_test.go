package review

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/workspace"
)

// files is a session at work on the closed files of a folder.
type files struct {
	t     *testing.T
	dir   string
	w     *workspace.Workspace
	log   *Log
	steps []Step
}

func newFiles(t *testing.T, content map[string]string) *files {
	t.Helper()
	d := &files{t: t, dir: t.TempDir()}
	for name, c := range content {
		d.write(name, c)
	}
	d.w = workspace.New(workspace.Options{Roots: everything()})
	d.log = New(keeper{d.w, &d.steps}, "s", func(x Decision) { d.steps = append(d.steps, Step{Decision: &x}) })
	return d
}

func (d *files) path(name string) string { return filepath.Join(d.dir, name) }

func (d *files) write(name, content string) {
	d.t.Helper()
	if err := os.WriteFile(d.path(name), []byte(content), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// says is what all files of the folder say.
func (d *files) says() string {
	d.t.Helper()
	d.w.Settle()
	var out []string
	err := filepath.WalkDir(d.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		name, _ := filepath.Rel(d.dir, path)
		out = append(out, name+"="+strings.ReplaceAll(string(raw), "\n", "/"))
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return strings.Join(out, " ")
}

// do makes one tool call: "a>b" moves, "a>b old>new" moves and edits, "a: old>new" edits, "a:" deletes, "a: text" creates.
func (d *files) do(call string, steps ...string) {
	d.t.Helper()
	c := filetime.Change{Session: "s", Call: call, Turn: 1}
	for _, step := range steps {
		name, what, _ := strings.Cut(step, ":")
		from, to, _ := strings.Cut(name, ">")
		s, err := d.w.Read(d.t.Context(), d.path(from))
		if err != nil {
			d.t.Fatal(err)
		}
		e := filetime.FileEdit{Path: s.Path, Base: s.Text, Rev: s.Rev}
		if to != "" {
			e.To = d.path(to)
		}
		old, now, edits := strings.Cut(strings.TrimPrefix(what, " "), ">")
		switch {
		case edits:
			i := strings.Index(s.Text.String(), old)
			e.Edits = text.Set{{Start: i, End: i + len(old), New: now}}
		case to == "" && what == "":
			e.Delete = true
		case to == "":
			e.Create, e.Edits = true, text.Set{{New: old}}
		}
		c.Files = append(c.Files, e)
	}
	l, err := d.w.Commit(d.t.Context(), c)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, f := range l.Files {
		d.steps = append(d.steps, Step{
			Path: f.Path, Origin: f.Origin, Call: call, Turn: 1, Created: f.Created, Deleted: f.Deleted, Mode: f.Mode, Before: f.Before, After: f.After,
		})
	}
	d.log.Landed(c, l)
}

func (d *files) list() string {
	var out []string
	for _, f := range d.log.List(d.t.Context(), "", filepath.Base) {
		s := f.Status + " " + filepath.Base(f.Path)
		if f.Origin != "" {
			s += " from " + filepath.Base(f.Origin)
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// A move is taken back and brought again whole, with everything that was written since on either side of it.
func TestF162UndoOfMoves(t *testing.T) {
	const was = "one\ntwo\nthree\n"
	for _, k := range []struct {
		name   string
		calls  [][]string
		typed  func(d *files)
		list   string
		says   string
		undone string // after taking everything back
		redone string // and bringing it again
	}{
		{
			"move",
			[][]string{{"a>d/b"}},
			nil, "renamed b from a",
			"c=c/ d/b=one/two/three/", "a=one/two/three/ c=c/", "c=c/ d/b=one/two/three/",
		},
		{
			"edit, move, edit",
			[][]string{{"a: one>1"}, {"a>b"}, {"b: three>3"}},
			nil, "renamed b from a",
			"b=1/two/3/ c=c/", "a=one/two/three/ c=c/", "b=1/two/3/ c=c/",
		},
		{
			"move with an edit",
			[][]string{{"a>b: one>1"}},
			func(d *files) { d.write("b", "1\ntwo\nthree\nfour\n") }, "renamed b from a",
			"b=1/two/three/four/ c=c/", "a=one/two/three/four/ c=c/", "b=1/two/three/four/ c=c/",
		},
		{
			"twice",
			[][]string{{"a>b"}, {"b>e"}},
			nil, "renamed e from a",
			"c=c/ e=one/two/three/", "a=one/two/three/ c=c/", "c=c/ e=one/two/three/",
		},
		{
			"made and moved",
			[][]string{{"n: new\n"}, {"n>m"}},
			nil, "added m",
			"a=one/two/three/ c=c/ m=new/", "a=one/two/three/ c=c/", "a=one/two/three/ c=c/ m=new/",
		},
		{
			"over another",
			[][]string{{"c:", "a>c"}},
			nil, "renamed c from a",
			"c=one/two/three/", "a=one/two/three/ c=c/", "c=one/two/three/",
		},
	} {
		t.Run(k.name, func(t *testing.T) {
			d := newFiles(t, map[string]string{"a": was, "c": "c\n"})
			for i, steps := range k.calls {
				d.do("call"+string(rune('0'+i)), steps...)
			}
			if k.typed != nil {
				k.typed(d)
			}
			check := func(when, want string) {
				t.Helper()
				if got := d.says(); got != want {
					t.Errorf("%s: %q, want %q", when, got, want)
				}
			}
			if got := d.list(); got != k.list {
				t.Errorf("listed %q, want %q", got, k.list)
			}
			check("done", k.says)
			if u := d.log.Undo(t.Context(), Scope{All: true}); len(u.Conflicts) > 0 {
				t.Errorf("undone %+v", u)
			}
			check("undone", k.undone)
			if got := d.list(); got != "" {
				t.Errorf("undone, listed %q", got)
			}
			if u := d.log.Redo(t.Context(), Scope{All: true}); len(u.Conflicts) > 0 {
				t.Errorf("redone %+v", u)
			}
			check("redone", k.redone)
			if got := d.list(); got != k.list {
				t.Errorf("redone, listed %q, want %q", got, k.list)
			}

			// In the next process it goes on.
			d.w = workspace.New(workspace.Options{Roots: everything()})
			steps := d.steps
			d.log = New(keeper{d.w, &d.steps}, "s", nil)
			if err := d.log.Restore(t.Context(), steps); err != nil {
				t.Fatal(err)
			}
			if got := d.list(); got != k.list {
				t.Errorf("restored, listed %q, want %q", got, k.list)
			}
			if u := d.log.Undo(t.Context(), Scope{All: true}); len(u.Conflicts) > 0 {
				t.Errorf("undone after a restart %+v", u)
			}
			check("undone after a restart", k.undone)
		})
	}
}

// A path that is taken keeps the move, and the rest is taken back where the file is.
func TestF162UndoOfMoveInTheWay(t *testing.T) {
	d := newFiles(t, map[string]string{"a": "one\ntwo\n"})
	d.do("1", "a>b: one>1")
	d.write("a", "another\n")
	u := d.log.Undo(t.Context(), Scope{All: true})
	if got := d.says(); got != "a=another/ b=one/two/" || !strings.Contains(u.Conflicts[d.path("b")], "exists now") {
		t.Errorf("%q, %+v", got, u)
	}
	if got := d.list(); got != "renamed b from a" {
		t.Errorf("listed %q", got)
	}
	// Of two moves the first stays while the second stands.
	d = newFiles(t, map[string]string{"a": "one\n"})
	d.do("1", "a>b")
	d.do("2", "b>c")
	if u := d.log.Undo(t.Context(), Scope{Call: "1"}); d.says() != "c=one/" || len(u.Conflicts) != 1 {
		t.Errorf("%q, %+v", d.says(), u)
	}
	if u := d.log.Undo(t.Context(), Scope{Call: "2"}); d.says() != "b=one/" || len(u.Conflicts) != 0 {
		t.Errorf("%q, %+v", d.says(), u)
	}
	if u := d.log.Undo(t.Context(), Scope{Call: "1"}); d.says() != "a=one/" || len(u.Conflicts) != 0 {
		t.Errorf("%q, %+v", d.says(), u)
	}
}

package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/text"
)

// written is a journal that keeps what it is told.
type written struct {
	mu      sync.Mutex
	full    bool
	intents []disk.Intent
	ends    map[int64]disk.Outcome
	begun   func(disk.Intent)
}

func (j *written) Begin(in disk.Intent) (int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.full {
		return 0, syscall.ENOSPC
	}
	if j.begun != nil {
		j.begun(in)
	}
	in.ID = int64(len(j.intents) + 1)
	j.intents = append(j.intents, in)
	return in.ID, nil
}

func (j *written) Keep(_ int64, _ string, data []byte) (string, error) { return disk.Hash(data), nil }

func (j *written) End(id int64, o disk.Outcome) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ends == nil {
		j.ends = map[int64]disk.Outcome{}
	}
	j.ends[id] = o
	return nil
}

func (j *written) Orphans() ([]disk.Intent, error) { return nil, nil }

// told is what the journal has of each intent: what it was to do, and how it ended.
func (j *written) told(w *Workspace) string {
	w.Settle()
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for _, in := range j.intents {
		var files []string
		for _, f := range in.Files {
			s := fmt.Sprintf("%s %s", f.Op, filepath.Base(f.Path))
			if f.To != "" {
				s += " to " + filepath.Base(f.To)
			}
			if f.Buffer {
				s += " in its buffer"
			}
			files = append(files, s)
		}
		out = append(out, fmt.Sprintf("%s: %s", strings.Join(files, ", "), j.ends[in.ID]))
	}
	return strings.Join(out, "; ")
}

// folder is a workspace of several files, of which those that are named are open in an editor.
func folder(t *testing.T, files map[string]string, open string) (*Workspace, *buffer, *written, func(string) string) {
	t.Helper()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, content := range files {
		if err := os.WriteFile(path(name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	j := &written{}
	b := &buffer{ver: 1}
	b.w = New(Options{
		Roots:  everything(),
		Editor: b, Features: Features{Apply: true, Create: true, Save: true}, Journal: j, Closed: filetime.OnDisk,
	})
	if open != "" {
		b.uri, b.text = URI(path(open)), files[open]
		b.w.Open(path(open), b.uri, 1, b.text)
	}
	return b.w, b, j, path
}

// changing is an edit of each file: old>new, or a whole text for one that is to be made, or nothing for one that is to go.
func changing(t *testing.T, w *Workspace, path func(string) string, edits ...string) filetime.Change {
	t.Helper()
	c := filetime.Change{Session: "s", Call: "c", Tool: "edit_file", Turn: 3}
	for _, e := range edits {
		name, what, _ := strings.Cut(e, ": ")
		s, err := w.Read(t.Context(), path(name))
		if err != nil {
			t.Fatal(err)
		}
		old, new, edit := strings.Cut(what, ">")
		switch {
		case what == "":
			c.Files = append(c.Files, filetime.FileEdit{Path: s.Path, Delete: true, Base: s.Text, Rev: s.Rev})
		case edit:
			c.Files = append(c.Files, replaceIn(s, old, new).Files...)
		default:
			c.Files = append(c.Files, filetime.FileEdit{Path: s.Path, Create: true, Edits: text.Set{{New: what}}})
		}
	}
	return c
}

func on(t *testing.T, path func(string) string, name string) string {
	t.Helper()
	raw, err := os.ReadFile(path(name))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.EISDIR) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestF152WrittenDown wants each change to be in the journal before the first of it happens, with what was there before.
func TestF152WrittenDown(t *testing.T) {
	files := map[string]string{"a": "one\n", "b": "two\n", "open": "three\n"}
	for _, tt := range []struct {
		edits []string
		want  string
	}{
		{[]string{"a: one>1"}, "edit a: landed"},
		{[]string{"new: new"}, "create new: landed"},
		{[]string{"b: "}, "delete b: landed"},
		{[]string{"open: three>3"}, "edit open in its buffer: landed"},
		{[]string{"a: one>1", "open: three>3", "b: ", "new: new"}, "edit a, edit open in its buffer, delete b, create new: landed"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			w, b, j, path := folder(t, files, "open")
			c := changing(t, w, path, tt.edits...)
			j.begun = func(in disk.Intent) {
				for name, content := range files {
					if on(t, path, name) != content {
						t.Errorf("%s says %q before it is written down", name, on(t, path, name))
					}
				}
				if b.tries > 0 {
					t.Error("the editor was asked before it is written down")
				}
				if in.Session != "s" || in.Call != "c" || in.Turn != 3 || in.Tool != "edit_file" || in.Time.IsZero() {
					t.Errorf("written down as %+v", in)
				}
				for _, f := range in.Files {
					if was, ok := files[filepath.Base(f.Path)]; string(f.Before) != was || ok != (f.BeforeHash == disk.Hash([]byte(was))) {
						t.Errorf("%s said %q, %s", f.Path, f.Before, f.BeforeHash)
					}
				}
			}
			if _, err := w.Commit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if got := j.told(w); got != tt.want {
				t.Errorf("the journal has %q", got)
			}
		})
	}
}

// TestF275JournalFull wants nothing to happen that cannot be written down, on disk and in a buffer.
func TestF275JournalFull(t *testing.T) {
	files := map[string]string{"a": "one\n", "b": "two\n", "open": "three\n"}
	for _, edits := range [][]string{{"a: one>1"}, {"new: new"}, {"b: "}, {"open: three>3"}, {"a: one>1", "open: three>3"}} {
		w, b, j, path := folder(t, files, "open")
		c := changing(t, w, path, edits...)
		j.full = true
		_, err := w.Commit(t.Context(), c)
		var refused *filetime.Error
		if !errors.As(err, &refused) || refused.Code != filetime.WriteError || refused.Reason != "journal" {
			t.Errorf("%v: %v", edits, err)
		}
		for name, content := range files {
			if got := on(t, path, name); got != content {
				t.Errorf("%v: %s says %q", edits, name, got)
			}
		}
		if b.tries > 0 || on(t, path, "new") != "-" {
			t.Errorf("%v: the editor was asked %d times", edits, b.tries)
		}
	}
}

// TestF152SeveralFiles has one file of a change refuse: the others are as before, but for what somebody did to them since.
func TestF152SeveralFiles(t *testing.T) {
	files := map[string]string{"a": "one\ntwo\nthree\n", "b": "b\n", "open": "four\nfive\n", "last": "last\n"}
	for _, tt := range []struct {
		name  string
		edits []string
		since func(b *buffer, path func(string) string)
		want  map[string]string
		state []filetime.FileState
		told  string
	}{
		{
			"taken back",
			[]string{"open: four>4", "b: ", "new: new", "a: two>2", "last: last>x"},
			nil,
			map[string]string{"a": files["a"], "b": files["b"], "open": files["open"], "new": "-"},
			[]filetime.FileState{filetime.Reverted, filetime.Reverted, filetime.Reverted, filetime.Reverted, filetime.Refused},
			"edit open in its buffer, delete b, create new, edit a, edit last: not_landed; edit a: landed; delete new: landed; " +
				"create b: landed; edit open in its buffer: landed",
		},
		{
			"the last of them never had its turn",
			[]string{"a: two>2", "last: last>x", "open: four>4"},
			nil,
			map[string]string{"a": files["a"], "open": files["open"]},
			[]filetime.FileState{filetime.Reverted, filetime.Refused, filetime.Untouched},
			"edit a, edit last, edit open in its buffer: not_landed; edit a: landed",
		},
		{
			"saved and typed elsewhere since",
			[]string{"open: four>4", "a: two>2", "last: last>x"},
			func(b *buffer, path func(string) string) {
				os.WriteFile(path("a"), []byte("one\n2\nthree\nmore\n"), 0o644)
				b.typeAt(len(b.text), "typed\n")
			},
			map[string]string{"a": "one\ntwo\nthree\nmore\n", "open": "four\nfive\ntyped\n"},
			[]filetime.FileState{filetime.Reverted, filetime.Reverted, filetime.Refused},
			"",
		},
		{
			"saved and typed at the same place since",
			[]string{"open: four>4", "a: two>2", "last: last>x"},
			func(b *buffer, path func(string) string) {
				os.WriteFile(path("a"), []byte("one\nzwei\nthree\n"), 0o644)
				b.mu.Lock()
				defer b.mu.Unlock()
				b.change([]text.Edit{{Start: 0, End: 1, New: "fourth"}})
			},
			map[string]string{"a": "one\nzwei\nthree\n", "open": "fourth\nfive\n"},
			[]filetime.FileState{filetime.Stays, filetime.Stays, filetime.Refused},
			"edit open in its buffer, edit a, edit last: partly",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, b, j, path := folder(t, files, "open")
			c := changing(t, w, path, tt.edits...)
			w.o.Notify = func(s State) { // before the turn of the last
				if s.State != "written" || s.Path != path("a") || on(t, path, "last") != files["last"] {
					return
				}
				if err := os.Remove(path("last")); err != nil {
					t.Error(err)
				}
				if err := os.Mkdir(path("last"), 0o755); err != nil {
					t.Error(err)
				}
				if tt.since != nil {
					tt.since(b, path)
				}
			}
			landed, err := w.Commit(t.Context(), c)
			var report *filetime.Incomplete
			if !errors.As(err, &report) {
				t.Fatalf("got %v", err)
			}
			var states []filetime.FileState
			for _, f := range report.Files {
				states = append(states, f.State)
			}
			if !slices.Equal(states, tt.state) {
				t.Errorf("states %q, want %q\n%v", states, tt.state, err)
			}
			for name, want := range tt.want {
				got := b.text
				if name != "open" {
					got = on(t, path, name)
				}
				if got != want {
					t.Errorf("%s says %q, want %q", name, got, want)
				}
			}
			stays := 0
			for _, s := range states {
				if s == filetime.Stays {
					stays++
				}
			}
			if len(landed.Files) != stays {
				t.Errorf("%d files are said to have landed", len(landed.Files))
			}
			if got := j.told(w); !strings.HasPrefix(got, tt.told) {
				t.Errorf("the journal has %q", got)
			}
		})
	}
}

// TestF275Refused has the tools' files refuse what cannot be written, in words that say why.
func TestF275Refused(t *testing.T) {
	for _, tt := range []struct {
		name   string
		set    func(path func(string) string) error
		code   filetime.Code
		reason string
	}{
		{"a read-only file", func(path func(string) string) error { return os.Chmod(path("a"), 0o444) }, filetime.WriteError, "eacces"},
		{"a link in its place", func(path func(string) string) error {
			return errors.Join(os.Rename(path("a"), path("b")), os.Symlink("b", path("a")))
		}, filetime.ReadError, "not_regular"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, _, j, path := folder(t, map[string]string{"a": "one\n"}, "")
			change := changing(t, w, path, "a: one>1")
			if err := tt.set(path); err != nil {
				t.Fatal(err)
			}
			_, err := w.Commit(t.Context(), change)
			var refused *filetime.Error
			if !errors.As(err, &refused) || refused.Code != tt.code || refused.Reason != tt.reason || !strings.HasSuffix(refused.Message, "The file is unchanged.") &&
				!strings.Contains(refused.Message, "Nothing was done.") || strings.Contains(refused.Message, disk.TempPrefix) {
				t.Errorf("got %v", err)
			}
			if on(t, path, "a") != "one\n" || j.told(w) != "" {
				t.Errorf("the file says %q, the journal %q", on(t, path, "a"), j.told(w))
			}
		})
	}
}

// TestF152HardLinks wants a file's other names to keep what they say, and a person to be told.
func TestF152HardLinks(t *testing.T) {
	w, _, _, path := folder(t, map[string]string{"a": "one\n"}, "")
	if err := os.Link(path("a"), path("second")); err != nil {
		t.Skip(err)
	}
	landed, err := w.Commit(t.Context(), changing(t, w, path, "a: one>1"))
	if err != nil {
		t.Fatal(err)
	}
	if on(t, path, "a") != "1\n" || on(t, path, "second") != "one\n" {
		t.Errorf("a says %q, second %q", on(t, path, "a"), on(t, path, "second"))
	}
	if len(landed.Warnings) != 1 || !strings.Contains(landed.Warnings[0].Says, "nlink > 1") {
		t.Errorf("warnings %q", landed.Warnings)
	}
}

// TestDeleteMeetsSave wants a file to stay that somebody changed since it was to be deleted.
func TestDeleteMeetsSave(t *testing.T) {
	w, _, _, path := folder(t, map[string]string{"a": "one\n"}, "")
	c := changing(t, w, path, "a: ")
	if err := os.WriteFile(path("a"), []byte("one\nmore\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := w.Commit(t.Context(), c)
	var conflict *filetime.Conflict
	if !errors.As(err, &conflict) || conflict.Author != filetime.Disk || on(t, path, "a") != "one\nmore\n" {
		t.Errorf("got %v, and the file says %q", err, on(t, path, "a"))
	}
}

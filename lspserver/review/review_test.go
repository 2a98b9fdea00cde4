package review

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/workspace"
	"tandem/sandbox"
)

// buffer is an editor with one document that takes every edit for its present version.
type buffer struct {
	w    *workspace.Workspace
	uri  string
	text text.Text
	ver  int32
	back []text.Set // what takes each change back
	age  time.Duration
	slip func() // run once before an edit, which then comes to the place that it was sent for
}

func (b *buffer) change(set text.Set) {
	var changes []workspace.ContentChange
	for i := len(set) - 1; i >= 0; i-- {
		e := set[i]
		changes = append(changes, workspace.ContentChange{
			Range: &workspace.Range{Start: b.text.Position(e.Start, text.UTF16), End: b.text.Position(e.End, text.UTF16)}, Text: e.New,
		})
	}
	b.back = append(b.back, set.Inverse(b.text))
	b.text = set.Apply(b.text)
	b.ver++
	b.w.Change(b.uri, b.ver, changes)
}

func (b *buffer) insert(before, s string) {
	at := strings.Index(b.text.String(), before)
	b.change(text.Set{{Start: at, End: at, New: s}})
}

func (b *buffer) Apply(_ context.Context, d workspace.Delivery) (workspace.Applied, error) {
	if d.Delete {
		err := os.Remove(strings.TrimPrefix(d.URI, "file://"))
		b.w.Close(d.URI)
		return workspace.Applied{OK: err == nil}, nil
	}
	if d.Version == nil || *d.Version != b.ver {
		return workspace.Applied{Reason: "version"}, nil
	}
	if b.slip != nil {
		b.slip()
		b.slip = nil
	}
	var set text.Set
	for _, e := range d.Edits {
		start, _ := b.text.Offset(e.Range.Start, text.UTF16)
		end, _ := b.text.Offset(e.Range.End, text.UTF16)
		set = append(set, text.Edit{Start: start, End: end, New: e.New})
	}
	b.change(set)
	return workspace.Applied{OK: true}, nil
}

func (b *buffer) Save(context.Context, []string) (map[string]string, error) { return nil, nil }
func (b *buffer) Resync(context.Context, string) (string, int32, error) {
	return "", 0, errors.New("not served")
}

// desk is a session at work on one file.
type desk struct {
	*buffer
	t    *testing.T
	path string
	log  *Log
	n    int
}

func newDesk(t *testing.T, content string, open bool) *desk {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.txt")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	b := &buffer{uri: workspace.URI(path), text: text.New(content), ver: 1}
	b.w = workspace.New(workspace.Options{
		Roots: everything(), Editor: b, Features: workspace.Features{Apply: true, Delete: true}, Now: func() time.Time { return time.Now().Add(b.age) },
	})
	if open {
		b.w.Open(path, b.uri, 1, content)
	}
	return &desk{buffer: b, t: t, path: path, log: New(b.w, "s", nil)}
}

// agent makes one tool call that replaces old by new.
func (d *desk) agent(turn int, old, new string) string {
	d.t.Helper()
	s, err := d.w.Read(d.t.Context(), d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	i := strings.Index(s.Text.String(), old)
	d.n++
	c := filetime.Change{Session: "s", Call: "call" + string(rune('0'+d.n)), Turn: turn, Files: []filetime.FileEdit{{
		Path: d.path, Base: s.Text, Rev: s.Rev, Edits: text.Minimize(s.Text, text.Set{{Start: i, End: i + len(old), New: new}}),
	}}}
	l, err := d.w.Commit(d.t.Context(), c)
	if err != nil {
		d.t.Fatal(err)
	}
	d.log.Landed(c, l)
	return c.Call
}

func (d *desk) now() string {
	s, err := d.w.Read(d.t.Context(), d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	return s.Text.String()
}

func turn(n int) Scope { return Scope{Turn: &n} }

const four = "alpha\nbeta\ngamma\ndelta\n"

func TestF180UndoTurnKeepsTyping(t *testing.T) {
	d := newDesk(t, four, true)
	d.agent(1, "beta", "BETA")
	d.insert("gamma", "typed\n")
	d.agent(1, "delta", "DELTA")
	d.insert("alpha", "first\n")
	d.agent(2, "gamma", "GAMMA")
	u := d.log.Undo(t.Context(), turn(1))
	if len(u.Conflicts) > 0 || len(u.Changed) != 1 {
		t.Errorf("undone %+v", u)
	}
	if got, want := d.now(), "first\nalpha\nbeta\ntyped\nGAMMA\ndelta\n"; got != want {
		t.Errorf("after undoing turn 1: %q, want %q", got, want)
	}
	d.log.Undo(t.Context(), turn(1))
	if got := d.now(); !strings.Contains(got, "GAMMA") {
		t.Errorf("a second undo of the same turn did something: %q", got)
	}
	d.log.Undo(t.Context(), Scope{All: true})
	if got, want := d.now(), "first\nalpha\nbeta\ntyped\ngamma\ndelta\n"; got != want {
		t.Errorf("after undoing all: %q, want %q", got, want)
	}
	if got := d.buffer.text.String(); got != d.now() {
		t.Errorf("buffer %q", got)
	}
}

func TestUndoMeetsTyping(t *testing.T) {
	d := newDesk(t, four, true)
	d.agent(1, "beta", "one two three")
	other := d.agent(1, "delta", "DELTA")
	at := strings.Index(d.buffer.text.String(), "two")
	d.change(text.Set{{Start: at, End: at + 3, New: "2"}})
	u := d.log.Undo(t.Context(), turn(1))
	if len(u.Conflicts) != 1 {
		t.Errorf("undone %+v", u)
	}
	if got, want := d.now(), "alpha\none 2 three\ngamma\ndelta\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	files := d.log.List(t.Context(), "", filepath.Base)
	if len(files) != 1 || len(files[0].Hunks) != 1 || files[0].Hunks[0].Call == other {
		t.Errorf("what stands: %+v", files)
	}
}

// TestF180DiscardedDeletion has a person type again what the agent had deleted, as a part of a longer text, or close the document
// without saving it: taking the deletion back does not bring that in once more.
func TestF180DiscardedDeletion(t *testing.T) {
	for _, tt := range []struct {
		name, saved string
		deleted     []string // by the person, before the agent deletes a word
		typed       string   // afterwards; where it is empty, the document is opened again
		want        string
		conflicts   int
	}{
		{"the head of a word", "one\nalphabeta\nmore\nend\n", []string{"beta\nmore"}, "alphabeta\nmore", "one\nalphabeta\nmore\nend\n", 1},
		{"the tail of a word", "one\nmore\nbetaalpha\nend\n", []string{"more\nbeta"}, "more\nbetaalpha", "one\nmore\nbetaalpha\nend\n", 1},
		{"a word", "one\nalpha more\nend\n", []string{" more"}, "alpha more", "one\nalpha more\nend\n", 1},
		{"the middle of a word", "one\nbetaalphamore\nend\n", []string{"beta", "more"}, "betaalphamore", "one\nbetaalphamore\nend\n", 1},
		{"a word, not saved", "one\nalpha more\nend\n", []string{" more"}, "", "one\nalpha more\nend\n", 0},
		{"all that was deleted", "one\nbetaalphamore\nend\n", nil, "", "one\nbetaalphamore\nend\n", 0},
		{"other words are typed there", "one\nalpha\nend\n", nil, "beta ", "one\nbeta alpha\nend\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, tt.saved, true)
			for _, s := range tt.deleted {
				at := strings.Index(d.buffer.text.String(), s)
				d.change(text.Set{{Start: at, End: at + len(s)}})
			}
			d.agent(1, "alpha", "")
			if tt.typed != "" {
				d.insert("\nend", tt.typed)
			} else {
				d.w.Close(d.uri)
				d.buffer.text, d.ver = text.New(tt.saved), 1
				d.w.Open(d.path, d.uri, 1, tt.saved)
			}
			u := d.log.Undo(t.Context(), turn(1))
			if got := d.now(); got != tt.want || len(u.Conflicts) != tt.conflicts {
				t.Errorf("%q with %v, want %q with %d conflicts", got, u.Conflicts, tt.want, tt.conflicts)
			}
		})
	}
}

func TestUndoOneCall(t *testing.T) {
	d := newDesk(t, four, false)
	first := d.agent(1, "beta", "BETA")
	d.agent(1, "BETA\ngamma", "BETA\nGAMMA")
	if u := d.log.Undo(t.Context(), Scope{Call: first}); len(u.Changed) != 1 {
		t.Errorf("undone %+v", u)
	}
	if got, want := d.now(), "alpha\nbeta\nGAMMA\ndelta\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestHunksFollowTyping(t *testing.T) {
	d := newDesk(t, four, true)
	d.agent(1, "beta", "BETA")
	d.insert("alpha", "first\n")
	files := d.log.List(t.Context(), d.path, filepath.Base)
	if len(files) != 1 || len(files[0].Hunks) != 1 {
		t.Fatalf("files %+v", files)
	}
	h := files[0].Hunks[0]
	if h.Old != "beta\n" || h.New != "BETA\n" || h.Now.Slice(h.Start, h.End) != "BETA\n" {
		t.Errorf("hunk %q → %q, stands at %q", h.Old, h.New, h.Now.Slice(h.Start, h.End))
	}
	if f := files[0]; f.Diff.Additions != 1 || f.Diff.Deletions != 1 || strings.Contains(f.Diff.Unified, "+first") {
		t.Errorf("the user's typing is in the agent's diff:\n%s", f.Diff.Unified)
	}
}

func TestUndoOfANewFile(t *testing.T) {
	d := newDesk(t, "", false)
	path := filepath.Join(filepath.Dir(d.path), "sub", "new.txt")
	c := filetime.Change{Session: "s", Call: "c", Turn: 1, Files: []filetime.FileEdit{{
		Path: path, Create: true, Edits: text.Set{{New: "hello\n"}},
	}}}
	l, err := d.w.Commit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	d.log.Landed(c, l)
	if files := d.log.List(t.Context(), "", filepath.Base); len(files) != 1 || files[0].Status != "added" {
		t.Errorf("files %+v", files)
	}
	if u := d.log.Undo(t.Context(), turn(1)); len(u.Conflicts) > 0 {
		t.Errorf("undone %+v", u)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

// A file whose form its buffer lacks is brought back as it was on disk, which is no change of somebody else.
func TestFaultE10UndoOfADeletionIsNoConflict(t *testing.T) {
	for _, raw := range []string{four, "\ufeff" + four, strings.ReplaceAll(four, "\n", "\r\n")} {
		d := newDesk(t, raw, false)
		d.w.Open(d.path, d.uri, 1, four)
		s, err := d.w.Read(t.Context(), d.path)
		if err != nil {
			t.Fatal(err)
		}
		c := filetime.Change{Session: "s", Call: "c", Turn: 1, Files: []filetime.FileEdit{{Path: d.path, Delete: true, Base: s.Text, Rev: s.Rev}}}
		l, err := d.w.Commit(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		d.log.Landed(c, l)
		if u := d.log.Undo(t.Context(), turn(1)); len(u.Conflicts) > 0 || len(u.Changed) != 1 {
			t.Errorf("%q: %+v", raw, u)
		}
		if got, err := os.ReadFile(d.path); string(got) != raw {
			t.Errorf("%q, %v, want %q", got, err, raw)
		}
	}
}

func TestF259DiffOnDemand(t *testing.T) {
	d := newDesk(t, four, true)
	d.agent(1, "beta", "BETA")
	d.agent(1, "delta", "DELTA")
	d.insert("alpha", "first\n")
	whole, ok := d.log.Diff(t.Context(), d.path, filepath.Base, false, nil)
	if !ok || len(whole.Hunks) != 2 || whole.Diff.Additions != 2 {
		t.Fatalf("whole %+v", whole)
	}
	one, ok := d.log.Diff(t.Context(), d.path, filepath.Base, false, []string{whole.Hunks[1].ID})
	if !ok || len(one.Hunks) != 1 || strings.Contains(one.Diff.Unified, "+BETA") || !strings.Contains(one.Diff.Unified, "+DELTA") {
		t.Errorf("one hunk:\n%s", one.Diff.Unified)
	}
	if _, ok := d.log.Diff(t.Context(), d.path, filepath.Base, false, []string{"none"}); ok {
		t.Error("a hunk that is not there")
	}
}

func TestF259TooLargeToShow(t *testing.T) {
	long := strings.Repeat("a line of text\n", 100_000)
	d := newDesk(t, long, true)
	d.agent(1, long, strings.Repeat("another line\n", 100_000))
	short, _ := d.log.Diff(t.Context(), d.path, filepath.Base, false, nil)
	full, _ := d.log.Diff(t.Context(), d.path, filepath.Base, true, nil)
	if !short.Diff.Truncated || full.Diff.Truncated || !strings.Contains(full.Diff.Unified, "+another line") {
		t.Errorf("short truncated %v, full %.200q", short.Diff.Truncated, full.Diff.Unified)
	}
}

func TestTheEditorsOwnUndo(t *testing.T) {
	d := newDesk(t, four, true)
	d.agent(1, "beta", "BETA")
	d.insert("alpha", "first\n")
	back := func(old, new string) {
		at := strings.Index(d.buffer.text.String(), old)
		d.change(text.Set{{Start: at, End: at + len(old), New: new}})
	}
	back("BETA", "beta")
	if files := d.log.List(t.Context(), "", filepath.Base); len(files) != 0 {
		t.Errorf("taken back in the editor, still listed: %+v", files)
	}
	if news, _ := d.log.News(t.Context(), filepath.Base); !strings.Contains(news, "Changes rejected, and not in the files any more") {
		t.Errorf("news of it: %q", news)
	}
	if u := d.log.Undo(t.Context(), turn(1)); len(u.Changed)+len(u.Conflicts) > 0 {
		t.Errorf("undone twice: %+v", u)
	}
	back("beta", "BETA") // and redone
	if files := d.log.List(t.Context(), "", filepath.Base); len(files) != 1 {
		t.Errorf("redone in the editor, not listed: %+v", files)
	}
}

// An edit came to a wrong place and was repaired, and the editor's undo takes the repair back: what the edit had deleted is
// there again, and an undo of the turn brings it no second time.
func TestTheEditorsUndoOfARepair(t *testing.T) {
	d := newDesk(t, four, true)
	d.slip = func() { d.change(text.Set{{New: "first\n"}}) }
	d.agent(1, "beta\n", "")
	if want := "first\n" + strings.Replace(four, "beta\n", "", 1); d.now() != want {
		t.Fatalf("landed as %q", d.now())
	}
	d.change(d.back[len(d.back)-1])
	d.log.Undo(t.Context(), turn(1))
	if now := d.now(); strings.Count(now, "beta") != 1 {
		t.Errorf("%q", now)
	}
}

func TestNewsOfTheEditorsUndo(t *testing.T) {
	d := newDesk(t, four, true)
	d.agent(1, "beta", "BETA")
	d.change(d.back[len(d.back)-1])
	if news, _ := d.log.News(t.Context(), filepath.Base); !strings.Contains(news, "Changes rejected, and not in the files any more") {
		t.Errorf("%q", news)
	}
	d.change(d.back[len(d.back)-1])
	if news, _ := d.log.News(t.Context(), filepath.Base); news != "" || len(d.log.Marks(d.path)) != 1 {
		t.Errorf("after its redo %q, %+v", news, d.log.Marks(d.path))
	}
}

func TestRedo(t *testing.T) {
	d := newDesk(t, four, true)
	d.agent(1, "beta", "BETA")
	d.agent(1, "delta", "DELTA")
	d.log.Undo(t.Context(), turn(1))
	if got := d.log.LastTaken(); got != 1 {
		t.Errorf("the turn that was taken back last is %d", got)
	}
	if news, told := d.log.News(t.Context(), filepath.Base); strings.Count(news, "\nChanges rejected, and not in the files") != 1 || !strings.Contains(news, "+BETA\n…\n-delta") {
		t.Errorf("news of an undo: %q", news)
	} else {
		told()
	}
	d.insert("gamma", "typed\n")
	at := strings.Index(d.buffer.text.String(), "delta")
	d.change(text.Set{{Start: at + 2, End: at + 2, New: "xx"}}) // into what the redo would take away
	if u := d.log.Redo(t.Context(), turn(1)); len(u.Changed) != 1 || len(u.Conflicts) != 1 {
		t.Errorf("redone %+v", u)
	}
	if got, want := d.now(), "alpha\nBETA\ntyped\ngamma\ndexxlta\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	back := "Changes in the files again as you made them, after you were told otherwise:\nf.txt:\n-beta\n+BETA\n"
	if news, _ := d.log.News(t.Context(), filepath.Base); strings.Count(news, back) != 1 {
		t.Errorf("news of a redo: %q", news)
	}
	at = strings.Index(d.buffer.text.String(), "xx")
	d.change(text.Set{{Start: at, End: at + 2}})
	if u := d.log.Redo(t.Context(), Scope{All: true}); len(u.Changed) != 1 || len(u.Conflicts) > 0 {
		t.Errorf("redone %+v", u)
	}
	if got, want := d.now(), "alpha\nBETA\ntyped\ngamma\nDELTA\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if u := d.log.Redo(t.Context(), Scope{All: true}); len(u.Changed)+len(u.Conflicts) > 0 || d.log.LastTaken() != 0 {
		t.Errorf("redone twice: %+v", u)
	}
}

func TestRedoOfANewFile(t *testing.T) {
	d := newDesk(t, "", false)
	for _, content := range []string{"hello\n", ""} {
		path := filepath.Join(filepath.Dir(d.path), "new"+content[:min(1, len(content))]+".txt")
		c := filetime.Change{Session: "s", Call: "c" + path, Turn: 1, Files: []filetime.FileEdit{{Path: path, Create: true}}}
		if content != "" {
			c.Files[0].Edits = text.Set{{New: content}}
		}
		l, err := d.w.Commit(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		d.log.Landed(c, l)
		for range 2 {
			if u := d.log.Undo(t.Context(), Scope{Path: path}); len(u.Changed) != 1 || len(u.Conflicts) > 0 {
				t.Errorf("undone %+v", u)
			}
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Errorf("the file is still there: %v", err)
			}
			if u := d.log.Redo(t.Context(), Scope{Path: path}); len(u.Changed) != 1 || len(u.Conflicts) > 0 {
				t.Errorf("redone %+v", u)
			}
			if raw, err := os.ReadFile(path); err != nil || string(raw) != content {
				t.Errorf("%q %v, want %q", raw, err, content)
			}
		}
	}
}

// A Log that is restored from what happened goes on as the one that saw it happen.
func TestRestore(t *testing.T) {
	d := newDesk(t, four, false)
	var steps []Step
	d.log = New(keeper{d.w, &steps}, "s", func(x Decision) { steps = append(steps, Step{Decision: &x}) })
	note := func(call string, before string) {
		steps = append(steps, Step{Path: d.path, Call: call, Turn: 1, Before: text.New(before), After: text.New(d.now())})
	}
	edit := func(old, fresh string) {
		before := d.now()
		note(d.agent(1, old, fresh), before)
	}
	edit("beta", "BETA")
	edit("delta", "DELTA")
	edit("gamma", "GAMMA")
	hunks := d.log.Marks(d.path)
	d.log.Accept("", []string{hunks[0].ID})
	d.log.Reject(t.Context(), "", []string{hunks[1].ID})
	_, told := d.log.News(t.Context(), filepath.Base)
	told()
	want := d.log.Marks(d.path)
	if err := os.WriteFile(d.path, []byte("first\n"+d.now()), 0o600); err != nil {
		t.Fatal(err)
	}

	w := workspace.New(workspace.Options{Roots: everything()})
	l := New(w, "s", nil)
	l.Restore(t.Context(), append(steps, Step{Path: d.path, Call: "large", Turn: 2, Lost: true}))
	got := l.Marks(d.path)
	if len(got) != len(want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	for i, h := range got {
		if w := want[i]; h.ID != w.ID || h.Status != w.Status || h.Turn != w.Turn || h.Call != w.Call || h.New != w.New ||
			h.Now.Slice(h.Start, h.End) != w.Now.Slice(w.Start, w.End) {
			t.Errorf("hunk %+v, want %+v", h, w)
		}
	}
	if news, _ := l.News(t.Context(), filepath.Base); news != "" {
		t.Errorf("the model is told again: %q", news)
	}
	read := func() string {
		s, err := w.Read(t.Context(), d.path)
		if err != nil {
			t.Fatal(err)
		}
		return s.Text.String()
	}
	if u := l.Redo(t.Context(), Scope{All: true}); len(u.Changed) != 1 || read() != "first\nalpha\nBETA\nGAMMA\nDELTA\n" {
		t.Errorf("redone %+v: %q", u, read())
	}
	u := l.Undo(t.Context(), Scope{All: true})
	if len(u.Changed) != 1 || read() != "first\nalpha\nbeta\ngamma\ndelta\n" ||
		!strings.Contains(u.Conflicts[d.path], "no longer stored") {
		t.Errorf("undone %+v: %q", u, read())
	}
}

// keeper notes what is changed by a person.
type keeper struct {
	filetime.Files
	steps *[]Step
}

func (k keeper) Commit(ctx context.Context, c filetime.Change) (filetime.Landed, error) {
	l, err := k.Files.Commit(ctx, c)
	for _, f := range l.Files {
		*k.steps = append(*k.steps, Step{Path: f.Path, Origin: f.Origin, Created: f.Created, Deleted: f.Deleted, Person: true, Before: f.Before, After: f.After})
	}
	return l, err
}

// everything are Roots below which all of the machine lies.
func everything() *sandbox.Roots {
	r := &sandbox.Roots{}
	r.Add("/")
	return r
}

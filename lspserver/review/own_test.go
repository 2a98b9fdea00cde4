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

// own carries out a Revert as a call of the session.
func (d *desk) own(call string, r Revert) {
	d.t.Helper()
	if r.Err != nil || r.Edit == nil {
		d.t.Fatalf("%+v", r)
	}
	c := filetime.Change{Session: "s", Call: call, Turn: 2, Undo: true, Files: []filetime.FileEdit{*r.Edit}}
	l, err := d.w.Commit(d.t.Context(), c)
	if err != nil {
		d.t.Fatal(err)
	}
	d.log.Landed(c, l)
}

// What the model has taken back itself is no news to it; what a person brings again then is.
func TestF180OwnUndoIsNoNews(t *testing.T) {
	d := newDesk(t, four, true)
	d.agent(1, "beta", "BETA")
	d.agent(1, "delta", "DELTA")
	d.insert("gamma", "typed\n")
	d.own("u1", d.log.RevertTurn(t.Context(), "u1", d.path, 1))
	if got, want := d.now(), "alpha\nbeta\ntyped\ngamma\ndelta\n"; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	if hunks := d.log.Marks(d.path); len(hunks) > 0 {
		t.Errorf("the review shows %+v", hunks)
	}
	if news, _ := d.log.News(t.Context(), filepath.Base); news != "" {
		t.Errorf("the model is told: %q", news)
	}
	if u := d.log.Redo(t.Context(), turn(1)); len(u.Changed) != 1 || !strings.Contains(d.now(), "BETA\ntyped") {
		t.Errorf("%+v %q", u, d.now())
	}
	if news, _ := d.log.News(t.Context(), filepath.Base); !strings.Contains(news, "Changes in the files again as you made them") {
		t.Errorf("the model is told: %q", news)
	}
}

// A typed text between the plan and the landing stays, and a plan that never lands leaves nothing.
func TestF179TypingBeforeItLands(t *testing.T) {
	d := newDesk(t, four, true)
	d.agent(1, "beta", "BETA")
	d.log.RevertLast(t.Context(), "denied", d.path)
	if len(d.log.Marks(d.path)) != 1 {
		t.Fatal("a plan alone has changed the list")
	}
	r := d.log.RevertLast(t.Context(), "u1", d.path)
	d.insert("alpha", "first\n")
	d.own("u1", r)
	if got, want := d.now(), "first\nalpha\nbeta\ngamma\ndelta\n"; got != want || len(d.log.Marks(d.path)) > 0 {
		t.Errorf("%q, want %q", got, want)
	}
	d.agent(2, "beta", "beta 2")
	if hunks := d.log.Marks(d.path); len(hunks) != 1 || hunks[0].Call != "call2" {
		t.Errorf("%+v", hunks)
	}
}

// A change of several files of which one is refused is reverted by the workspace: then what was to be undone stands.
func TestF180RevertedUndo(t *testing.T) {
	d := newDesk(t, four, false)
	other := filepath.Join(filepath.Dir(d.path), "g.txt")
	if err := os.WriteFile(other, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.agent(1, "beta", "BETA")
	r := d.log.RevertLast(t.Context(), "u1", d.path)
	stale := filetime.FileEdit{Path: other, Base: text.New("y\n"), Edits: text.Set{{Start: 0, End: 1, New: "z"}}}
	c := filetime.Change{Session: "s", Call: "u1", Turn: 2, Undo: true, Files: []filetime.FileEdit{*r.Edit, stale}}
	l, err := d.w.Commit(t.Context(), c)
	if err == nil {
		t.Fatal("it landed")
	}
	d.log.Landed(c, l)
	if hunks := d.log.Marks(d.path); len(hunks) != 1 || hunks[0].Call != "call1" || !strings.Contains(d.now(), "BETA") {
		t.Errorf("%q %+v", d.now(), hunks)
	}
	d.own("u2", d.log.RevertLast(t.Context(), "u2", d.path))
	if d.now() != four || len(d.log.Marks(d.path)) > 0 {
		t.Errorf("%q", d.now())
	}
}

// A session that is loaded again knows what its model has taken back.
func TestF180OwnUndoIsRestored(t *testing.T) {
	d := newDesk(t, four, false)
	var steps []Step
	d.log = New(d.w, "s", func(x Decision) { steps = append(steps, Step{Decision: &x}) })
	for _, e := range [][2]string{{"beta", "BETA"}, {"delta", "DELTA"}} {
		before := d.now()
		call := d.agent(1, e[0], e[1])
		steps = append(steps, Step{Path: d.path, Call: call, Turn: 1, Before: text.New(before), After: text.New(d.now())})
	}
	kept := d.log.Marks(d.path)[0].ID
	d.log.Accept("", []string{kept})
	r := d.log.RevertTurn(t.Context(), "u1", d.path, 1)
	if r.Accepted != 1 || r.Taken != 1 {
		t.Fatalf("%+v", r)
	}
	c := filetime.Change{Session: "s", Call: "u1", Turn: 2, Undo: true, Files: []filetime.FileEdit{*r.Edit}}
	l, err := d.w.Commit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	steps = append(steps, Step{Path: d.path, Person: true, Before: l.Files[0].Before, After: l.Files[0].After}) // as the backend keeps it
	d.log.Landed(c, l)

	again := New(workspace.New(workspace.Options{Roots: everything()}), "s", nil)
	if err := again.Restore(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
	if hunks := again.Marks(d.path); len(hunks) != 1 || hunks[0].Status != "accepted" || hunks[0].New != "BETA\n" {
		t.Errorf("%+v", hunks)
	}
	if news, _ := again.News(t.Context(), filepath.Base); news != "" {
		t.Errorf("the model is told: %q", news)
	}
	if u := again.Redo(t.Context(), turn(1)); len(u.Changed) != 1 {
		t.Errorf("%+v", u)
	}
	if r := again.RevertTurn(t.Context(), "u3", d.path, 1); r.Taken != 1 || r.Accepted != 1 {
		t.Errorf("%+v", r)
	}
}

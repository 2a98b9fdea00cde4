package lspserver_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/lspserver/conformance"
)

// changeList is tandem/changes/list as a client reads it.
type changeList struct {
	Files []struct {
		URI, Status, Unified string
		Hunks                []struct {
			ID, OldText, NewText, Status, ToolCallID string
			Turn                                     int
			Range                                    struct{ Start, End struct{ Line, Character int } }
		}
	}
}

func (r *rig) changes(id string) (out changeList) {
	r.t.Helper()
	r.ask("tandem/changes/list", map[string]any{"sessionId": id}, &out)
	return out
}

// turned is what undo, redo, accept and reject answer.
type turned struct {
	Changed   []string
	Conflicts []any
}

func (r *rig) turn(what, id string, more map[string]any) (out turned) {
	r.t.Helper()
	params := map[string]any{"sessionId": id}
	maps.Copy(params, more)
	r.ask("tandem/changes/"+what, params, &out)
	return out
}

// disk wants a file to say something.
func (r *rig) disk(name, want string) {
	r.t.Helper()
	raw, err := os.ReadFile(filepath.Join(r.root, name))
	if err != nil || string(raw) != want {
		r.t.Errorf("%s says %q (%v), want %q", name, raw, err, want)
	}
}

// Hunks, what was decided about them and what can be undone are the same in the next process, whatever happened to the
// files meanwhile.
func TestReviewAfterRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	quick := map[string]any{"mode": "auto", "closedFiles": "disk"}
	a := start(t, conformance.Options{Settings: quick}, keeping(path))
	a.write("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
	id := a.session(nil)
	edit := func(r *rig, call, old, fresh string) {
		t.Helper()
		r.call(id, "read_file", `{"path":"a.txt"}`)
		arguments := `{"path":"a.txt","old_text":"` + old + `","new_text":"` + fresh + `"}`
		if out := r.call(id, "edit_file", arguments, "callId", call); !out.Success {
			t.Fatalf("%s: %s", call, out.Data)
		}
	}
	edit(a, "c1", "one", "ONE")
	edit(a, "c2", "three", "THREE")
	edit(a, "c3", "five", "FIVE")
	edit(a, "c4", "seven", "SEVEN")
	a.call(id, "write_file", `{"path":"new.txt","content":"fresh\n"}`, "callId", "c5")
	a.write("big.txt", "first\n"+strings.Repeat("a line of a large file\n", 60_000))
	a.call(id, "read_file", `{"path":"big.txt","limit":1}`)
	a.call(id, "edit_file", `{"path":"big.txt","old_text":"first","new_text":"FIRST"}`, "callId", "c0")
	hunk := func(l changeList, call string) (out string) {
		for _, f := range l.Files {
			for _, h := range f.Hunks {
				if h.ToolCallID == call {
					out = h.ID
				}
			}
		}
		if out == "" {
			t.Fatalf("no hunk of %s in %+v", call, l)
		}
		return out
	}
	first := a.changes(id)
	a.turn("accept", id, map[string]any{"hunkIds": []string{hunk(first, "c1")}})
	a.turn("reject", id, map[string]any{"hunkIds": []string{hunk(first, "c2")}})
	a.turn("undo", id, map[string]any{"scope": "toolCall", "toolCallId": "c4"})
	a.turn("accept", id, map[string]any{"uri": a.URI("big.txt")})
	before := a.changes(id)
	if len(before.Files) != 3 || !strings.HasSuffix(before.Files[1].URI, "/big.txt") {
		t.Fatalf("%+v", before)
	}
	before.Files = append(before.Files[:1], before.Files[2:]...)
	a.end()

	b := start(t, conformance.Options{Root: a.root, Settings: quick}, keeping(path))
	b.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	if diff := cmp.Diff(before, b.changes(id)); diff != "" {
		t.Errorf("the list after the restart: %s", diff)
	}
	var one struct{ Unified string }
	b.ask("tandem/changes/diff", map[string]any{
		"sessionId": id, "uri": b.URI("a.txt"), "hunkIds": []string{hunk(before, "c3")},
	}, &one)
	if !strings.Contains(one.Unified, "-five\n+FIVE\n") || strings.Contains(one.Unified, "ONE\n+") {
		t.Errorf("the diff of one hunk: %s", one.Unified)
	}
	// What was taken back before can be brought again, and taken back again.
	fourth := map[string]any{"scope": "toolCall", "toolCallId": "c4"}
	if out := b.turn("redo", id, fourth); len(out.Changed) != 1 || len(out.Conflicts) > 0 {
		t.Errorf("redo of what was undone before: %+v", out)
	}
	b.disk("a.txt", "ONE\ntwo\nthree\nfour\nFIVE\nsix\nSEVEN\n")
	if out := b.turn("redo", id, fourth); len(out.Changed)+len(out.Conflicts) > 0 {
		t.Errorf("redo of what is there: %+v", out)
	}
	edit(b, "c7", "two", "TWO")
	b.end()

	// Another program changes the file while no server runs, over one hunk, and the user goes on typing in the next editor.
	a.write("a.txt", "zero\nONE\nTWO\nthree\nfour\nFIxVE\nsix\nSEVEN\n")
	c := start(t, conformance.Options{Root: a.root, Settings: quick}, keeping(path))
	if err := c.Open("a.txt"); err != nil {
		t.Fatal(err)
	}
	c.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	err := c.Change("a.txt", func(text string) []conformance.Splice {
		at := strings.Index(text, "SEVEN")
		return []conformance.Splice{{Start: at, End: at, New: "typed\n"}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := c.turn("undo", id, map[string]any{"scope": "session"}); len(out.Changed) != 2 || len(out.Conflicts) != 1 {
		t.Errorf("undo of all: %+v", out)
	}
	want := "zero\none\ntwo\nthree\nfour\nFIxVE\nsix\ntyped\nseven\n"
	if got, _ := c.Text("a.txt"); got != want {
		t.Errorf("after undo of all %q, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(a.root, "new.txt")); !os.IsNotExist(err) {
		t.Errorf("new.txt is still there: %v", err)
	}
	if left := c.changes(id); len(left.Files) != 0 {
		t.Errorf("what stays: %+v", left)
	}
	c.end()

	// The text before is too much to be kept: what it was of cannot be taken back any more, and says so.
	d := start(t, conformance.Options{Root: a.root, Settings: quick}, keeping(path))
	d.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	out := d.turn("undo", id, map[string]any{"scope": "toolCall", "toolCallId": "c0"})
	if len(out.Changed) > 0 || len(out.Conflicts) != 1 ||
		!strings.Contains(out.Conflicts[0].(map[string]any)["reason"].(string), "no longer stored") {
		t.Errorf("undo without the text: %+v", out)
	}
	d.end()
}

// The list says of each session how many turns it had and how many of its hunks wait, whether it lives here, in another
// process, or in none.
func TestFindingU1ListSaysWhatWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	quick := map[string]any{"mode": "auto", "closedFiles": "disk"}
	a := start(t, conformance.Options{Settings: quick}, keeping(path))
	a.write("a.txt", "one\ntwo\nthree\nfour\nfive\n")
	id := a.session(map[string]any{"mode": "auto", "model": a.script(`call read_file {"path":"a.txt"}

call edit_file {"path":"a.txt","old_text":"one","new_text":"ONE"}
call edit_file {"path":"a.txt","old_text":"three","new_text":"THREE"}
call edit_file {"path":"a.txt","old_text":"five","new_text":"FIVE"}

say Done.

say Well.
`)})
	a.prompt(id, "Shout.")
	a.prompt(id, "Well?")
	a.session(map[string]any{"mode": "ask"}) // nothing has happened in it
	first := a.changes(id).Files[0].Hunks
	a.turn("accept", id, map[string]any{"hunkIds": []string{first[0].ID}})
	a.turn("reject", id, map[string]any{"hunkIds": []string{first[1].ID}})
	listed := func(r *rig) map[string][2]int {
		var list struct {
			Sessions []struct {
				SessionID string
				Meta      struct{ Tandem struct{ Turns, Pending int } } `json:"_meta"`
			}
		}
		r.ask("tandem/session/list", map[string]any{"cwd": r.root}, &list)
		out := map[string][2]int{}
		for _, s := range list.Sessions {
			out[s.SessionID] = [2]int{s.Meta.Tandem.Turns, s.Meta.Tandem.Pending}
		}
		return out
	}
	if got := listed(a); len(got) != 2 || got[id] != [2]int{2, 1} {
		t.Errorf("where it lives: %v, of %s", got, id)
	}
	b := start(t, conformance.Options{Root: a.root, Settings: quick}, keeping(path))
	if got := listed(b); len(got) != 1 || got[id] != [2]int{2, 1} {
		t.Errorf("in another process: %v", got)
	}
	a.end()
	a.write("a.txt", "one\ntwo\nthree\nfour\nfive\n") // nothing of it stands any more
	if got := listed(b); got[id] != [2]int{2, 0} {
		t.Errorf("after the file was put back: %v", got)
	}
	b.end()
}

// slowTexts is a store that gives no text of a file until it may.
type slowTexts struct {
	store.Store
	may chan struct{}
}

func (s *slowTexts) Blob(hash string) (string, error) {
	<-s.may
	return s.Store.Blob(hash)
}

// The list comes in time where the texts of a session's changes take long to read: it is complete but for what it says
// of that session.
func TestFindingU1ListWaitsForNoText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	quick := map[string]any{"mode": "auto", "closedFiles": "disk"}
	a := start(t, conformance.Options{Settings: quick}, keeping(path))
	id := a.session(nil)
	a.call(id, "write_file", `{"path":"new.txt","content":"fresh\n"}`)
	a.end()

	slow := &slowTexts{may: make(chan struct{})}
	o := keeping(path)
	o.Store = func(config.Config) (store.Store, error) {
		var err error
		slow.Store, err = store.Open(path, store.Options{})
		return slow, err
	}
	b := start(t, conformance.Options{Root: a.root, Settings: quick}, o)
	list := func() *struct{ Tandem struct{ Pending int } } {
		t.Helper()
		var out struct {
			Sessions []struct {
				SessionID string
				Meta      *struct{ Tandem struct{ Pending int } } `json:"_meta"`
			}
		}
		b.ask("tandem/session/list", map[string]any{"cwd": b.root}, &out)
		if len(out.Sessions) != 1 || out.Sessions[0].SessionID != id {
			t.Fatalf("listed %+v", out)
		}
		return out.Sessions[0].Meta
	}
	if m := list(); m != nil {
		t.Errorf("what is not known is said: %+v", m)
	}
	close(slow.may)
	m := list()
	for i := 0; m == nil && i < 20; i++ { // on a busy machine the time may not be enough
		m = list()
	}
	if m == nil || m.Tandem.Pending != 1 {
		t.Errorf("once it can be read: %+v", m)
	}
	b.end()
}

package lspserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tandem/lspserver/conformance"
)

// A fork goes on from a turn of another session, in the present files, and leaves that session, its changes and its review alone.
func TestForkGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	a := start(t, conformance.Options{Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}}, keeping(path))
	a.write("a.txt", "one\ntwo\n")
	type opened struct {
		SessionID string
		Modes     struct{ CurrentModeID string }
	}
	id := a.session(map[string]any{"mode": "acceptEdits", "model": a.script(`call read_file {"path":"a.txt"}

call edit_file {"path":"a.txt","old_text":"two","new_text":"TWO"}

say The first is done.

call edit_file {"path":"a.txt","old_text":"one","new_text":"ONE"}
call write_file {"path":"b.txt","content":"new\n"}

say The second is done.
`)})
	fork := func(from string, params map[string]any) (out opened) {
		t.Helper()
		params["sessionId"] = from
		a.ask("tandem/session/fork", params, &out)
		return out
	}
	if e := a.refused("tandem/session/fork", map[string]any{"sessionId": id}); e.Code != -32602 {
		t.Errorf("before its first turn: %+v", e)
	}
	a.prompt(id, "Do the first.")
	a.prompt(id, "Do the second.")
	hunks := func(id string) (n int) {
		for _, f := range a.changes(id).Files {
			n += len(f.Hunks)
		}
		return n
	}
	markdown := func(id string) string {
		t.Helper()
		var out struct{ Text string }
		a.ask("tandem/session/export", map[string]any{"sessionId": id, "format": "markdown"}, &out)
		return out.Text
	}
	whole, pending := markdown(id), hunks(id)
	if pending == 0 {
		t.Fatal("nothing to review")
	}
	for _, at := range []int{0, 1, 2} {
		f := fork(id, map[string]any{"atTurn": at})
		if f.SessionID == id || f.Modes.CurrentModeID != "acceptEdits" {
			t.Errorf("%+v", f)
		}
		got := markdown(f.SessionID)
		if strings.Contains(got, "The first is done.") != (at >= 1) || strings.Contains(got, "The second is done.") != (at >= 2) {
			t.Errorf("at %d it is\n%s", at, got)
		}
		if n := hunks(f.SessionID); n != 0 {
			t.Errorf("at %d: %d hunks", at, n)
		}
		news := `goes on from an earlier point[^\n]* a\.txt, b\.txt\.[\s\S]*And now`
		if at == 2 {
			news = "And now"
		}
		a.ask("tandem/session/setModel", map[string]any{"sessionId": f.SessionID, "model": a.script("see /" + news + "/\n" +
			`call read_file {"path":"b.txt"}` + "\n\n" + `call edit_file {"path":"b.txt","old_text":"new","new_text":"newer"}` + "\n\nsay Another course.\n\nsee /And then/\nsay Yes.\n")}, nil)
		var end turnEnd
		a.ask("tandem/session/prompt", prompt(f.SessionID, "And now?"), &end)
		if end.StopReason != "end_turn" || end.Turn != at+1 {
			t.Errorf("at %d: %+v", at, end)
		}
		if n := hunks(f.SessionID); n != 1 {
			t.Errorf("at %d, after its turn: %d hunks\n%s", at, n, markdown(f.SessionID))
		}
		if undone := a.turn("undo", f.SessionID, map[string]any{"scope": "session"}); len(undone.Conflicts) > 0 {
			t.Errorf("undone of the fork alone: %+v", undone)
		}
		a.disk("b.txt", "new\n")
		a.ask("tandem/session/prompt", prompt(f.SessionID, "And then?"), &end)
		if end.StopReason != "end_turn" || end.Turn != at+2 {
			t.Errorf("at %d: %+v", at, end)
		}
	}
	if markdown(id) != whole || hunks(id) != pending {
		t.Error("the session itself has changed")
	}
	for params, code := range map[string]int{"no such session": -32011, id: -32602} {
		if e := a.refused("tandem/session/fork", map[string]any{"sessionId": params, "atTurn": 3}); e.Code != code {
			t.Errorf("%q: %+v", params, e)
		}
	}
	if e := a.refused("tandem/session/fork", map[string]any{"sessionId": id, "atTurn": -1}); e.Code != -32602 {
		t.Errorf("%+v", e)
	}
	last := fork(fork(id, map[string]any{"atTurn": 1}).SessionID, map[string]any{}) // of a fork
	a.end()

	b := start(t, conformance.Options{Root: a.root, Settings: map[string]any{"mode": "ask"}}, keeping(path))
	var out opened
	b.ask("tandem/session/load", map[string]any{"sessionId": last.SessionID}, &out)
	b.ask("tandem/session/setModel", map[string]any{"sessionId": last.SessionID, "model": b.script("see /The first is done[\\s\\S]*Go on/\nsay Here.\n")}, nil)
	var end turnEnd
	if b.ask("tandem/session/prompt", prompt(last.SessionID, "Go on."), &end); end.StopReason != "end_turn" || end.Turn != 2 {
		t.Errorf("%+v", end)
	}
	b.end()
}

// While a turn runs, a fork goes on from the last one that has ended.
func TestForkOfARunningSession(t *testing.T) {
	a := start(t, conformance.Options{Settings: map[string]any{"mode": "auto"}}, keeping(filepath.Join(t.TempDir(), "sessions.db")))
	id := a.session(map[string]any{"model": a.script("say The first is done.\n\nsay Half.\nwait 10m\nsay Never.\n")})
	a.prompt(id, "Do the first.")
	turn := a.Begin("tandem/session/prompt", prompt(id, "Do the second."))
	until(t, "half of the second turn", patience, func() bool { return strings.Contains(a.said(id, "agent_message_chunk"), "Half.") })
	var f struct{ SessionID string }
	a.ask("tandem/session/fork", map[string]any{"sessionId": id}, &f)
	var out struct{ Text string }
	a.ask("tandem/session/export", map[string]any{"sessionId": f.SessionID, "format": "markdown"}, &out)
	if !strings.Contains(out.Text, "The first is done.") || strings.Contains(out.Text, "second") {
		t.Error(out.Text)
	}
	a.Notify("tandem/session/cancel", map[string]any{"sessionId": id})
	if raw, err := turn(a.ctx); err != nil || !strings.Contains(string(raw), `"cancelled"`) {
		t.Errorf("%s %v", raw, err)
	}
	a.end()
}

// restored is what tandem/session/restore answers.
type restored struct {
	SessionID, Prompt string
	Changed           []string
	Conflicts, Kept   []struct{ URI, Reason string }
}

// A session goes back to before any of its turns, with its conversation, its files, or both: what its person typed stays, a dry run changes
// nothing and says the same, and what was taken back can be brought again.
func TestRestore(t *testing.T) {
	const whole = "one\ntwo\nthree\nfour\n"
	turns := []struct{ old, new string }{{"two", "TWO"}, {"four", "FOUR"}, {"TWO", "2"}}
	script := ""
	for i, turn := range turns {
		script += fmt.Sprintf("call read_file {\"path\":\"a.txt\"}\n\ncall edit_file {\"path\":\"a.txt\",\"old_text\":%q,\"new_text\":%q}\n", turn.old, turn.new)
		if i == 1 {
			script += "call write_file {\"path\":\"b.txt\",\"content\":\"b\\n\"}\n"
		}
		script += fmt.Sprintf("\nsay That was %d.\n\n", i+1)
	}
	for _, what := range []string{"conversation", "files", "both"} {
		for turn := 1; turn <= len(turns); turn++ {
			t.Run(fmt.Sprint(what, " ", turn), func(t *testing.T) {
				a := start(t, conformance.Options{Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}}, keeping(filepath.Join(t.TempDir(), "sessions.db")))
				a.write("a.txt", whole)
				id := a.session(map[string]any{"mode": "auto", "model": a.script(script)})
				want := make([]string, len(turns)+1) // the texts before each turn
				for i := range turns {
					want[i] = a.now("a.txt")
					a.prompt(id, fmt.Sprintf("Do %d.", i+1))
				}
				want[len(turns)] = a.now("a.txt")
				var points struct {
					Checkpoints []struct {
						Turn                        int
						Time, Prompt                string
						Files, Additions, Deletions int
					}
				}
				a.ask("tandem/session/checkpoints", map[string]any{"sessionId": id}, &points)
				if len(points.Checkpoints) != len(turns) {
					t.Fatalf("%+v", points)
				}
				for i, c := range points.Checkpoints {
					files, additions := 1, 1
					if i == 1 {
						files, additions = 2, 2
					}
					if c.Turn != i+1 || c.Prompt != fmt.Sprintf("Do %d.", i+1) || c.Files != files || c.Additions != additions || c.Deletions != 1 || c.Time == "" {
						t.Errorf("%+v", c)
					}
				}
				// A person goes on at another place of the file.
				a.write("a.txt", strings.Replace(a.now("a.txt"), "three\n", "three\ntyped\n", 1))
				typed := func(text string) string { return strings.Replace(text, "three\n", "three\ntyped\n", 1) }
				params := map[string]any{"sessionId": id, "turn": turn, "what": what, "dryRun": true}
				var would, did restored
				a.ask("tandem/session/restore", params, &would)
				a.disk("a.txt", typed(want[len(turns)]))
				delete(params, "dryRun")
				a.ask("tandem/session/restore", params, &did)
				if d := cmp.Diff(would.Changed, did.Changed); d != "" || len(would.Conflicts)+len(did.Conflicts)+len(did.Kept) > 0 || did.Prompt != fmt.Sprintf("Do %d.", turn) {
					t.Errorf("it would be %+v, and is %+v", would, did)
				}
				var list struct{ Sessions []struct{ SessionID string } }
				a.ask("tandem/session/list", map[string]any{}, &list)
				if what == "conversation" {
					a.disk("a.txt", typed(want[len(turns)]))
				} else {
					a.disk("a.txt", typed(want[turn-1]))
				}
				if what == "files" {
					if did.SessionID != id || len(list.Sessions) != 1 {
						t.Errorf("%+v, %d sessions", did, len(list.Sessions))
					}
					for i := turn; i <= len(turns); i++ {
						a.turn("redo", id, map[string]any{"scope": "turn", "turn": i})
					}
					a.disk("a.txt", typed(want[len(turns)]))
					a.end()
					return
				}
				if did.SessionID == id || would.SessionID != id || len(list.Sessions) != 2 {
					t.Errorf("%+v, %d sessions", did, len(list.Sessions))
				}
				var out struct{ Text string }
				a.ask("tandem/session/export", map[string]any{"sessionId": did.SessionID, "format": "markdown"}, &out)
				for i := range turns {
					if said := strings.Contains(out.Text, fmt.Sprintf("That was %d.", i+1)); said != (i+1 < turn) {
						t.Errorf("turn %d in the conversation: %v", i+1, said)
					}
				}
				see := "see /changed after that point: [^\\n]*a\\.txt[^\\n]*They are not as they stand above/\nsay Yes.\n"
				if what == "both" { // what it names is gone again
					see = "say Yes.\n"
				}
				a.ask("tandem/session/setModel", map[string]any{"sessionId": did.SessionID, "model": a.script(see)}, nil)
				if end := a.prompt(did.SessionID, "And now?"); end.StopReason != "end_turn" || end.Turn != turn {
					t.Errorf("%+v", end)
				}
				a.end()
			})
		}
	}
}

// What a person has changed where a turn had stays, and is named; so does what cannot be restored.
func TestRestoreKeepsTyping(t *testing.T) {
	a := start(t, conformance.Options{Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}}, keeping(filepath.Join(t.TempDir(), "sessions.db")))
	a.write("a.txt", "one\ntwo\n")
	a.write("b.txt", "one\ntwo\n")
	id := a.session(map[string]any{"mode": "auto", "model": a.script("call read_file {\"path\":\"a.txt\"}\ncall read_file {\"path\":\"b.txt\"}\n\n" +
		"call edit_file {\"path\":\"a.txt\",\"old_text\":\"two\",\"new_text\":\"TWO\"}\ncall edit_file {\"path\":\"b.txt\",\"old_text\":\"two\",\"new_text\":\"TWO\"}\n\nsay Done.\n")})
	if e := a.refused("tandem/session/restore", map[string]any{"sessionId": id, "turn": 1, "what": "both"}); e.Code != -32602 {
		t.Errorf("before the first turn: %+v", e)
	}
	a.prompt(id, "Do it.")
	a.write("a.txt", "one\nTWO by hand\n")
	var would, did restored
	a.ask("tandem/session/restore", map[string]any{"sessionId": id, "turn": 1, "what": "files", "dryRun": true}, &would)
	a.ask("tandem/session/restore", map[string]any{"sessionId": id, "turn": 1, "what": "files"}, &did)
	if d := cmp.Diff(would, did); d != "" {
		t.Error(d)
	}
	if len(did.Changed) != 1 || did.Changed[0] != a.URI("b.txt") || len(did.Conflicts) != 1 || did.Conflicts[0].URI != a.URI("a.txt") {
		t.Errorf("%+v", did)
	}
	a.disk("a.txt", "one\nTWO by hand\n")
	a.disk("b.txt", "one\ntwo\n")
	for _, params := range []map[string]any{
		{"sessionId": id, "turn": 2, "what": "both"},
		{"sessionId": id, "turn": 0, "what": "both"},
		{"sessionId": id, "turn": 1, "what": "everything"},
		{"sessionId": id, "turn": 1},
	} {
		if e := a.refused("tandem/session/restore", params); e.Code != -32602 {
			t.Errorf("%v: %+v", params, e)
		}
	}
	if e := a.refused("tandem/session/restore", map[string]any{"sessionId": "s-none", "turn": 1, "what": "both"}); e.Code != -32011 {
		t.Errorf("%+v", e)
	}
	a.ask("tandem/session/setModel", map[string]any{"sessionId": id, "model": a.script("say Half.\nwait 10m\nsay Never.\n")}, nil)
	turn := a.Begin("tandem/session/prompt", prompt(id, "Do the second."))
	until(t, "half of the second turn", patience, func() bool { return strings.Contains(a.said(id, "agent_message_chunk"), "Half.") })
	if e := a.refused("tandem/session/restore", map[string]any{"sessionId": id, "turn": 1, "what": "both"}); e.Code != -32012 {
		t.Errorf("while a turn runs: %+v", e)
	}
	a.Notify("tandem/session/cancel", map[string]any{"sessionId": id})
	if raw, err := turn(a.ctx); err != nil || !strings.Contains(string(raw), `"cancelled"`) {
		t.Errorf("%s %v", raw, err)
	}
	a.end()
}

// now is what a file says.
func (r *rig) now(name string) string {
	r.t.Helper()
	raw, err := os.ReadFile(filepath.Join(r.root, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(raw)
}

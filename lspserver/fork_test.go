package lspserver_test

import (
	"path/filepath"
	"strings"
	"testing"

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

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tandem/lspserver/conformance"
)

// stashed is a session that has changed two files of a repository: one is open in the editor and saved, one is not open.
type stashed struct {
	t  *testing.T
	p  *process
	e  *editor
	id string
}

const (
	stashBefore = "one\ntwo\nthree\nfour\nfive\n"
	stashAfter  = "one\nTWO\nthree\nfour\nFIVE\n"
)

func (s *stashed) git(args ...string) {
	s.t.Helper()
	cmd := exec.Command("git", append([]string{
		"-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "advice.detachedHead=false",
	}, args...)...)
	cmd.Dir, cmd.Env = s.p.root, s.p.env
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func newStashed(t *testing.T) *stashed {
	model := ""
	for _, name := range []string{"open.txt", "closed.txt"} {
		for _, line := range [][2]string{{"two", "TWO"}, {"five", "FIVE"}} {
			model += fmt.Sprintf("call read_file {\"path\":%q}\ncall edit_file {\"path\":%q,\"old_text\":%q,\"new_text\":%q}\n\n", name, name, line[0], line[1])
		}
	}
	model += "say Done.\n\nsee /not in the files any more/\nsay Good.\n"
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &stashed{t: t, p: run(t, map[string]any{"model": "script:" + script}, nil, "--stdio")}
	for _, name := range []string{"open.txt", "closed.txt"} {
		if err := os.WriteFile(filepath.Join(s.p.root, name), []byte(stashBefore), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.git("init", "-q", "-b", "main")
	s.git("add", ".")
	s.git("commit", "-qm", "one")
	s.git("checkout", "-q", "-b", "other")
	other := []byte("one\ntwo of the other branch\nthree\nfour\nfive\n")
	if err := os.WriteFile(filepath.Join(s.p.root, "open.txt"), other, 0o600); err != nil {
		t.Fatal(err)
	}
	s.git("commit", "-qam", "two")
	s.git("checkout", "-q", "main")
	s.e = s.p.editor(quick(t, conformance.Options{}))
	if err := s.e.Open("open.txt"); err != nil {
		t.Fatal(err)
	}
	s.id = s.e.session("auto")
	s.prompt("Write the numbers large.")
	if err := s.e.Save("open.txt"); err != nil {
		t.Fatal(err)
	}
	s.shows("after the turn", map[string]string{"open.txt": stashAfter, "closed.txt": stashAfter}, 4, 4)
	return s
}

func (s *stashed) prompt(words string) {
	s.t.Helper()
	s.e.ask("tandem/session/prompt", map[string]any{
		"sessionId": s.id, "prompt": []any{map[string]any{"type": "text", "text": words}},
	}, nil)
}

// shows compares what a person sees: the texts, the hunks, the lines that are counted, the number that the list of sessions says.
func (s *stashed) shows(when string, texts map[string]string, hunks, lines int) {
	s.t.Helper()
	var list struct {
		Files []struct {
			Additions, Deletions int
			Hunks                []struct{ NewText, Status string }
		}
	}
	s.e.ask("tandem/changes/list", map[string]any{"sessionId": s.id}, &list)
	shown, added, removed := 0, 0, 0
	for _, f := range list.Files {
		shown, added, removed = shown+len(f.Hunks), added+f.Additions, removed+f.Deletions
	}
	s.lists(when, hunks)
	if shown != hunks || added != lines || removed != lines {
		s.t.Errorf("%s: %d hunks, +%d -%d, want %d and %d: %+v", when, shown, added, removed, hunks, lines, list)
	}
	for name, want := range texts {
		raw, err := os.ReadFile(filepath.Join(s.p.root, name))
		if err != nil || string(raw) != want {
			s.t.Errorf("%s: %s says %q (%v), want %q", when, name, raw, err, want)
		}
	}
}

// lists looks for the number of hunks that wait in the list of sessions.
func (s *stashed) lists(when string, hunks int) {
	s.t.Helper()
	var known struct {
		Sessions []struct {
			SessionID string
			Meta      *struct {
				Tandem struct{ Pending int }
			} `json:"_meta"`
		}
	}
	s.e.ask("tandem/session/list", map[string]any{}, &known)
	if len(known.Sessions) != 1 {
		s.t.Fatalf("%s: listed %+v", when, known)
	}
	if m := known.Sessions[0].Meta; m != nil && m.Tandem.Pending != hunks { // it is absent on a busy machine
		s.t.Errorf("%s: listed with %d, want %d", when, m.Tandem.Pending, hunks)
	}
}

func (s *stashed) reload() {
	s.t.Helper()
	if err := s.e.Reload("open.txt"); err != nil {
		s.t.Fatal(err)
	}
}

// TestFaultV2GitStash: the review shows what git has left of the agent's changes, whatever git does, in this process and in
// the next one.
func TestFaultV2GitStash(t *testing.T) {
	s := newStashed(t)
	before := map[string]string{"open.txt": stashBefore, "closed.txt": stashBefore}
	after := map[string]string{"open.txt": stashAfter, "closed.txt": stashAfter}
	s.git("stash")
	s.reload()
	s.shows("after git stash", before, 0, 0)
	s.e.ask("tandem/changes/reject", map[string]any{"sessionId": s.id}, nil)
	s.shows("after a rejection of nothing", before, 0, 0)
	s.git("stash", "pop")
	s.reload()
	s.shows("after git stash pop", after, 4, 4)
	s.git("checkout", "--", "closed.txt")
	s.shows("after git checkout of one file", map[string]string{"closed.txt": stashBefore}, 2, 2)
	s.git("checkout", "-qf", "other")
	s.reload()
	s.shows("on the other branch", map[string]string{"open.txt": "one\ntwo of the other branch\nthree\nfour\nfive\n"}, 0, 0)
	s.prompt("And now?")
	s.e.leaves()
}

// TestFaultV2WhileClosed: the same where git runs while no editor does.
func TestFaultV2WhileClosed(t *testing.T) {
	for name, git := range map[string][]string{
		"stash": {"stash"}, "another branch": {"checkout", "-qf", "other"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStashed(t)
			s.e.leaves()
			s.git(git...)
			s.p = s.p.another("--stdio")
			s.e = s.p.editor(quick(t, conformance.Options{}))
			s.lists("before it is loaded", 0)
			s.e.ask("tandem/session/load", map[string]any{"sessionId": s.id}, nil)
			s.shows("after a restart", nil, 0, 0)
			s.e.leaves()
		})
	}
}

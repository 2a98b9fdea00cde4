package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/lspserver/conformance"
	"tandem/lspserver/wire/wiretest"
)

// news is what a client was told of the calls of a session.
type news struct {
	mu    sync.Mutex
	order []string          // the calls that have ended
	ended map[string]string // status and error
	said  strings.Builder
	more  chan struct{}
}

func newNews() *news { return &news{ended: map[string]string{}, more: make(chan struct{}, 1000)} }

func (n *news) hear(method string, params json.RawMessage) {
	var u told
	if method != "tandem/session/update" || json.Unmarshal(params, &u) != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case strings.HasSuffix(u.Update.SessionUpdate, "_chunk"), u.Update.SessionUpdate == "notice":
		n.said.WriteString(u.Update.SessionUpdate[:4] + ": " + u.text() + "\n")
	case u.Update.Meta.Tandem.State == "completed":
		n.order = append(n.order, u.Update.ToolCallID)
		n.ended[u.Update.ToolCallID] = strings.TrimSpace(u.Update.Status + " " + u.Update.Meta.Tandem.Error)
		n.more <- struct{}{}
	}
}

// told is a tandem/session/update as this client reads it.
type told struct {
	Update struct {
		SessionUpdate, ToolCallID, Status string
		Content                           json.RawMessage
		Meta                              struct {
			Tandem struct{ State, Error string }
		} `json:"_meta"`
	}
}

func (u told) text() string {
	var c struct{ Text string }
	_ = json.Unmarshal(u.Update.Content, &c) // a list is no text
	return c.Text
}

func quick(t *testing.T, o conformance.Options) conformance.Options {
	t.Helper()
	o.Settings = map[string]any{"mode": "auto", "closedFiles": "disk"}
	return o
}

func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
}

// litter are the files that stand in the workspace beside those that are being changed.
func (p *process) litter() (paths []string) {
	p.t.Helper()
	err := filepath.WalkDir(p.root, func(path string, d os.DirEntry, err error) error {
		if err != nil && !errors.Is(err, os.ErrNotExist) { // they come and go
			return err
		}
		if strings.HasPrefix(filepath.Base(path), ".tandem-tmp-") {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return paths
}

// A server that is killed in the midst of a turn that writes and writes: the next process goes on with the session. All
// that the client was told had ended is there, what was under way is known to be unknown, nothing is done twice, and no
// file is torn.
func TestCaseR08SessionSurvivesKill(t *testing.T) {
	rounds := *kills
	if wiretest.Raced() { // a start takes twenty times as long then
		rounds = min(rounds, 8)
	}
	if testing.Short() {
		rounds = 3
	}
	const (
		calls = 12
		each  = 25 // rounds of a session
	)
	script := filepath.Join(t.TempDir(), "script")
	p := run(t, map[string]any{"model": "script:" + script}, nil, "--stdio")
	counter := filepath.Join(p.root, "count.txt")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	padding := strings.Repeat("padding\n", 2000)
	at, id, ended, unknown, litter := 0, "", 0, 0, 0
	told := map[string]string{} // what was told of every call before
	for round := range rounds {
		if round > 0 {
			p = p.another("--stdio")
		}
		var b strings.Builder
		first := round%each == 0
		if !first {
			fmt.Fprintf(&b, "see /Round %d\\b[\\s\\S]*Round %d\\b/\n", round-1, round)
		}
		write(counter, fmt.Sprintf("n=%d;\n%s", at, padding))
		b.WriteString("call read_file {\"path\":\"count.txt\",\"limit\":1}\n\n")
		for i := range calls {
			fmt.Fprintf(&b, "say Step %d.\ncall write_file {\"path\":\"r%d/%d.txt\",\"content\":\"whole %d\\n\"}\n", i, round, i, i)
			fmt.Fprintf(&b, "call edit_file {\"path\":\"count.txt\",\"old_text\":\"n=%d;\",\"new_text\":\"n=%d;\"}\n\n", at+i, at+i+1)
		}
		b.WriteString("say All done.\n")
		write(script, b.String())
		heard := newNews()
		e := p.editor(quick(t, conformance.Options{Heard: heard.hear}))
		if round > 0 {
			e.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
			until(t, fmt.Sprintf("round %d: nothing is left of the kill before", round), func() bool { return len(p.litter()) == 0 })
			heard.mu.Lock()
			for call, how := range told {
				if heard.ended[call] != how {
					t.Errorf("round %d: the call %s was told as %q, now %q", round, call, how, heard.ended[call])
				}
			}
			for call, how := range heard.ended {
				if _, known := told[call]; !known && how != "completed" && how != "failed UNKNOWN" && how != "failed CANCELLED" {
					t.Errorf("round %d: the unfinished call %s is %q", round, call, how)
				}
				if _, known := told[call]; !known && how == "failed UNKNOWN" {
					unknown++
				}
			}
			if n := len(heard.order); n != len(heard.ended) {
				t.Errorf("round %d: %d ends of %d calls", round, n, len(heard.ended))
			}
			if !strings.Contains(heard.said.String(), fmt.Sprintf("user: Round %d\n", round-1)) {
				t.Errorf("round %d: the prompt before is not there:\n%s", round, heard.said.String())
			}
			heard.mu.Unlock()
			for len(heard.more) > 0 {
				<-heard.more
			}
		}
		if first {
			heard.mu.Lock()
			clear(heard.ended)
			heard.mu.Unlock()
			id, ended = e.session("auto"), ended+len(told)
			clear(told)
		}
		e.Begin("tandem/session/prompt", map[string]any{
			"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": fmt.Sprintf("Round %d", round)}},
		})
		for range 1 + rand.IntN(2*calls) {
			select {
			case <-heard.more:
			case <-time.After(patience):
				t.Fatalf("round %d: nothing happens: %s", round, heard.said.String())
			}
		}
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond) // anywhere in the work on a call
		p.kill()
		litter += len(p.litter())
		heard.mu.Lock()
		maps.Copy(told, heard.ended)
		heard.mu.Unlock()
		raw, err := os.ReadFile(counter)
		n, after := 0, ""
		if _, scanErr := fmt.Sscanf(string(raw), "n=%d;\n", &n); err != nil || scanErr != nil || n < at || n > at+calls {
			t.Fatalf("round %d: %.40q %v %v", round, raw, err, scanErr)
		}
		if _, after, _ = strings.Cut(string(raw), "\n"); after != padding {
			t.Errorf("round %d: the counter is torn: %d bytes", round, len(raw))
		}
		at = n
		files, err := filepath.Glob(filepath.Join(p.root, fmt.Sprintf("r%d", round), "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			raw, err := os.ReadFile(f)
			want := "whole " + strings.TrimSuffix(filepath.Base(f), ".txt") + "\n"
			if err != nil || string(raw) != want && !strings.HasPrefix(filepath.Base(f), ".tandem-tmp-") {
				t.Errorf("round %d: %s is %q, %v", round, f, raw, err)
			}
		}
	}
	t.Logf("%d kills, %d calls were told of, %d were UNKNOWN; %d files were left beside others, and taken away by the next start",
		rounds, ended+len(told), unknown, litter)
	// The next one clears up, and has all that was ever in the file.
	p = p.another("--stdio")
	e := p.editor(quick(t, conformance.Options{}))
	e.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	err := filepath.WalkDir(p.root, func(path string, d os.DirEntry, err error) error {
		if strings.HasPrefix(d.Name(), ".tandem-tmp-") {
			t.Errorf("%s was left behind", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	e.leaves()
	kept := strings.Split(strings.TrimSpace(p.tandem(0, "session", "kept", counter)), "\n")
	if len(kept) < at/2 || !strings.Contains(kept[0], "  "+counter+"  edit_file  "+id) {
		t.Errorf("%d texts are kept: %q", len(kept), kept[0])
	}
	last, _, _ := strings.Cut(kept[0], " ")
	if out := p.tandem(0, "session", "kept", "--show", last); !strings.HasPrefix(out, "n=") || !strings.HasSuffix(out, padding) {
		t.Errorf("%s is %.40q", last, out)
	}
	if out := p.tandem(1, "session", "kept", "--show", "nonsense"); !strings.Contains(out, "no backup has a hash that starts with nonsense") {
		t.Error(out)
	}
}

// Two processes share what is kept: a session belongs to the one that has it until it is closed there.
func TestSessionOfAnotherProcess(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("say Hello there.\n\nsay Hello again.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := run(t, map[string]any{"model": "script:" + script}, nil, "--stdio")
	a := p.editor(quick(t, conformance.Options{}))
	heard := newNews()
	b := p.another("--stdio").editor(quick(t, conformance.Options{Heard: heard.hear}))
	if _, err := os.Stat(filepath.Join(filepath.Dir(p.root), "home", "tandem", "sessions.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a database before there is a session: %v", err)
	}
	id := a.session("auto")
	ask := map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": "Are you there?"}}}
	a.ask("tandem/session/prompt", ask, nil)

	held := fmt.Sprintf("(%d)", p.cmd.Process.Pid)
	for method, params := range map[string]any{
		"tandem/session/load": map[string]any{"sessionId": id}, "tandem/session/delete": map[string]any{"sessionId": id},
		"tandem/session/rename": map[string]any{"sessionId": id, "title": "Mine"},
	} {
		_, err := b.Request(b.ctx, method, params)
		var refusal *conformance.RPCError
		if !errors.As(err, &refusal) || refusal.Code != -32012 || !strings.Contains(refusal.Message, held) ||
			string(refusal.Data) != fmt.Sprintf(`{"code":"session_busy","pid":%d}`, p.cmd.Process.Pid) {
			t.Errorf("%s of another's session: %v %s, want the process %s", method, err, refusal.Data, held)
		}
	}
	if out := p.tandem(0, "session", "list", "--all"); !strings.Contains(out, fmt.Sprintf("Are you there?  (open in process %d)", p.cmd.Process.Pid)) {
		t.Errorf("session list: %s", out)
	}
	if out := p.tandem(1, "session", "delete", "--all"); !strings.Contains(out, "still open, close them first: "+id) {
		t.Errorf("session delete --all: %s", out)
	}
	a.ask("tandem/session/close", map[string]any{"sessionId": id}, nil)
	b.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	if got := heard.said.String(); got != "user: Are you there?\nagen: Hello there.\n" {
		t.Errorf("loaded: %q", got)
	}
	b.ask("tandem/session/prompt", ask, nil)
	a.leaves()
	b.leaves()

	if out := p.tandem(0, "session", "show", id[:6]); !strings.Contains(out, "# Are you there?") || strings.Count(out, "Hello there.") != 2 {
		t.Errorf("session show: %s", out)
	}
	lines := strings.Split(strings.TrimSpace(p.tandem(0, "session", "export", "--format=jsonl", id)), "\n")
	if len(lines) != 7 || slices.ContainsFunc(lines, func(l string) bool { return !json.Valid([]byte(l)) }) {
		t.Errorf("%d lines: %s", len(lines), lines)
	}
	if out := p.tandem(0, "session", "gc"); !strings.HasPrefix(out, "deleted 0 sessions (0 B); ") {
		t.Errorf("session gc: %s", out)
	}
	lock := filepath.Join(filepath.Dir(p.root), "home", "tandem", "locks", "00.lock")
	err := errors.Join(os.MkdirAll(filepath.Dir(lock), 0o700), os.WriteFile(lock, []byte("of a killed process: "+id), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if out := p.tandem(0, "session", "delete", "--all"); out != "deleted 1 session and the log\n" {
		t.Errorf("session delete --all: %s", out)
	}
	err = filepath.WalkDir(filepath.Join(filepath.Dir(p.root), "home"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), "Are you there") || strings.Contains(string(raw), id) {
			t.Errorf("%s still tells of the session", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A second editor is open when the first one's server is killed, with an edit of a buffer on its way that nobody has
// answered: it can have the session at once, with all that had ended; what was on its way is unknown, with the text as it
// is, and is not tried again. The journal knows no open change any more.
func TestSecondEditorAfterKill(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte(`call read_file {"path":"a.txt"}

call edit_file {"path":"b.txt","old_text":"","new_text":"x"}
call write_file {"path":"b.txt","content":"b\n"}

call edit_file {"path":"a.txt","old_text":"one","new_text":"ONE"}

say Not reached.

see /UNKNOWN[\s\S]*typed two/
say I see.
`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := run(t, map[string]any{"model": "script:" + script, "mode": "auto", "closedFiles": "disk"}, nil, "--stdio")
	if err := os.WriteFile(filepath.Join(p.root, "a.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, asked, release := newNews(), make(chan struct{}), make(chan struct{})
	defer close(release)
	a := p.editor(conformance.Options{Heard: first.hear, BeforeApply: func(int) {
		close(asked)
		<-release
	}})
	if err := a.Open("a.txt"); err != nil {
		t.Fatal(err)
	}
	second := newNews()
	q := p.another("--stdio")
	b := q.editor(conformance.Options{Heard: second.hear})
	if err := b.Open("a.txt"); err != nil {
		t.Fatal(err)
	}
	err := b.Change("a.txt", func(string) []conformance.Splice { return []conformance.Splice{{Start: 4, End: 4, New: "typed "}} })
	if err != nil {
		t.Fatal(err)
	}
	id := a.session("auto")
	params := map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": "Go."}}}
	a.Begin("tandem/session/prompt", params)
	select {
	case <-asked:
	case <-time.After(patience):
		t.Fatal("no edit comes")
	}
	p.kill()

	b.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	first.mu.Lock()
	second.mu.Lock()
	for call, how := range first.ended {
		if second.ended[call] != how {
			t.Errorf("the call %s was told as %q, now %q", call, how, second.ended[call])
		}
	}
	n := len(first.ended)
	if len(second.ended) != n+1 || second.ended[second.order[n]] != "failed UNKNOWN" || n != 3 {
		t.Errorf("before: %v, now: %v", first.ended, second.ended)
	}
	if told := second.said.String(); !strings.Contains(told, "noti: The program ended while a change was on its way (edit_file). Whether it is in "+
		filepath.Join(p.root, "a.txt")+" cannot be told.") {
		t.Errorf("a person was told:\n%s", told)
	}
	second.mu.Unlock()
	first.mu.Unlock()
	var end struct{ StopReason string }
	b.ask("tandem/session/prompt", params, &end)
	if end.StopReason != "end_turn" {
		t.Errorf("the model was told otherwise: %+v\n%s", end, second.said.String())
	}
	for name, want := range map[string]string{"a.txt": "one\ntwo\n", "b.txt": "b\n"} {
		if raw, err := os.ReadFile(filepath.Join(p.root, name)); err != nil || string(raw) != want {
			t.Errorf("%s: %q %v", name, raw, err)
		}
	}
	var status struct {
		Store struct{ Intents, Sessions int }
	}
	b.ask("tandem/status", map[string]any{}, &status)
	if status.Store.Intents != 0 || status.Store.Sessions != 1 {
		t.Errorf("%+v", status)
	}
	b.leaves()
}

// tandem runs the program to its end and gives all that it printed.
func (p *process) tandem(code int, args ...string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), program, args...)
	cmd.Dir, cmd.Env = p.root, p.cmd.Env
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		p.t.Errorf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// A damaged database, or one of a newer program, does not keep the server from working; a person is told.
func TestSessionsNotKept(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("say Hello.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := run(t, map[string]any{"model": "script:" + script}, nil, "version")
	<-p.ended
	path := filepath.Join(filepath.Dir(p.root), "home", "tandem", "sessions.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var messages strings.Builder
	e := p.another("--stdio").editor(quick(t, conformance.Options{Heard: func(method string, params json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		if method == "window/showMessage" {
			messages.Write(params)
		}
	}}))
	id := e.session("auto")
	ask := map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": "Are you there?"}}}
	e.ask("tandem/session/prompt", ask, nil)
	e.ask("tandem/session/close", map[string]any{"sessionId": id}, nil)
	e.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	e.leaves()
	mu.Lock()
	defer mu.Unlock()
	if got := messages.String(); strings.Count(got, "sessions are not stored") != 1 || !strings.Contains(got, path) {
		t.Errorf("a person was told: %s", got)
	}
	if out := p.tandem(1, "session", "list", "--all"); !strings.Contains(out, "damaged") {
		t.Errorf("session list: %s", out)
	}
	if out := p.tandem(0, "session", "delete", "--all"); !strings.Contains(out, "deleted the damaged "+path) {
		t.Errorf("session delete --all: %s", out)
	}
	if out := p.tandem(0, "session", "list", "--all"); out != "no sessions\n" {
		t.Errorf("session list: %s", out)
	}
}

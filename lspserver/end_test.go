package lspserver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/lspserver/conformance"
)

// stubborn is a command that is deaf to TERM, as are its children; it writes their ids to the file pids.
const stubborn = `trap '' TERM; sleep 300 & echo $! $$ > pids.tmp; mv pids.tmp pids; while :; do wait; done`

func stubbornScript(t *testing.T) string {
	command, err := json.Marshal(map[string]string{"command": stubborn})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("call bash %s\n\nsay Never.\n", command)
}

// pids waits for the processes of a stubborn command in dir.
func pids(t *testing.T, dir string) (out []int) {
	t.Helper()
	path := filepath.Join(dir, "pids")
	until(t, "the command runs", patience, func() bool { _, err := os.Stat(path); return err == nil })
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range strings.Fields(string(raw)) {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
		command, err := os.FindProcess(n)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = command.Kill() })
	}
	if len(out) != 2 {
		t.Fatalf("pids %q", raw)
	}
	return out
}

// gone wants none of the processes to live; those of another parent may be dead and not yet collected.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, p := range pids {
		until(t, fmt.Sprintf("process %d is gone", p), soon, func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
			return err != nil || strings.Contains(string(stat), ") Z ")
		})
	}
}

func TestF086ShutdownEndsAStubbornCommand(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	s := r.session(map[string]any{"mode": "auto", "model": r.script(stubbornScript(t))})
	turn := r.Begin("tandem/session/prompt", prompt(s, "go"))
	running := pids(t, r.root)
	began := time.Now()
	r.ask("shutdown", nil, nil)
	if took := time.Since(began); took > soon || took < 400*time.Millisecond {
		t.Errorf("shutdown took %v, though TERM comes first and KILL half a second later", took)
	}
	gone(t, running)
	if raw, err := turn(r.ctx); err == nil && !strings.Contains(string(raw), `"cancelled"`) {
		t.Errorf("%s %v", raw, err)
	}
	r.Notify("exit", nil)
	r.HangUp()
	r.ended(0)
	for _, v := range r.Violations() {
		t.Error(v)
	}
}

// The end of the input is as good as a shutdown, but for the exit code, and nothing stays: no process and no goroutine,
// whatever was going on.
func TestF086_F257_CaseA09EndOfInputLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	asked, release := make(chan struct{}, 1), make(chan struct{})
	so := options(nil)
	so.Store = func(config.Config) (store.Store, error) { return store.NewMemory(store.Quota, time.Now), nil }
	r := start(t, conformance.Options{
		Ask: func(_ int, a conformance.Ask) string {
			if strings.Contains(a.ToolCall.Title, "sleep") {
				return "allow_once"
			}
			asked <- struct{}{}
			<-release
			return "allow_once"
		},
	}, so)
	r.write("a.txt", "one\n")
	if err := r.Open("a.txt"); err != nil {
		t.Fatal(err)
	}
	runs := r.session(map[string]any{"mode": "auto", "model": r.script(stubbornScript(t))})
	r.Begin("tandem/session/prompt", prompt(runs, "go"))
	questions := r.session(map[string]any{"model": r.script("call read_file {\"path\":\"a.txt\"}\n\n" +
		"call edit_file {\"path\":\"a.txt\",\"old_text\":\"one\",\"new_text\":\"1\"}\n\nsay Never.\n")})
	r.Begin("tandem/session/prompt", prompt(questions, "go"))
	waits := r.session(map[string]any{"model": r.script("say Wait.\nwait 60s\n")})
	r.Begin("tandem/session/prompt", prompt(waits, "go"))
	running := pids(t, r.root)
	<-asked
	until(t, "the third model speaks", patience, func() bool { return r.said(waits, "agent_message_chunk") == "Wait." })

	began := time.Now()
	_ = r.line.Close()
	r.ended(1)
	if took := time.Since(began); took > soon {
		t.Errorf("the end took %v", took)
	}
	gone(t, running)
	if text, err := os.ReadFile(r.Path("a.txt")); err != nil || string(text) != "one\n" {
		t.Errorf("%q %v", text, err)
	}
	close(release)
	r.HangUp()
	commands.Close()
	goleak.VerifyNone(t, before)
}

func TestCancelRightBehindAPrompt(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	for _, message := range []string{"wait 60s\nsay Never.\n\n", "call bash {\"command\":\"sleep 60\"}\nwait 60s\nsay Never.\n\n"} {
		s := r.session(map[string]any{"mode": "auto", "model": r.script(strings.Repeat(message, 3))})
		for turn := 1; turn <= 3; turn++ {
			began := time.Now()
			wait := r.Begin("tandem/session/prompt", prompt(s, "go"))
			r.Notify("tandem/session/cancel", map[string]any{"sessionId": s})
			raw, err := wait(r.ctx)
			var end turnEnd
			if err != nil || json.Unmarshal(raw, &end) != nil || end.StopReason != "cancelled" || end.Turn != turn {
				t.Errorf("turn %d: %s %v", turn, raw, err)
			}
			if took := time.Since(began); took > soon {
				t.Errorf("turn %d took %v", turn, took)
			}
		}
		if said := r.said(s, "agent_message_chunk"); strings.Contains(said, "Never") {
			t.Errorf("said %q", said)
		}
	}
	s := r.session(nil)
	r.Notify("tandem/session/cancel", map[string]any{"sessionId": s}) // of nothing
	r.Notify("tandem/session/cancel", map[string]any{"sessionId": "s-none"})
	equal(t, "the next prompt", r.prompt(s, "go").StopReason, "end_turn")
	r.end()
}

// A prompt that is cancelled by its request ends the same way.
func TestCancelRequestOfAPrompt(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	s := r.session(map[string]any{"model": r.script("say Wait.\nwait 60s\n\nsay Again.\n")})
	raw := make(chan string, 1)
	go func() {
		answer, err := r.Begin("tandem/session/prompt", prompt(s, "go"))(r.ctx)
		raw <- fmt.Sprint(string(answer), err)
	}()
	until(t, "the model speaks", patience, func() bool { return r.said(s, "agent_message_chunk") != "" })
	var id json.RawMessage
	for _, w := range r.Wire() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(w.Raw, &m) == nil && m.Method == "tandem/session/prompt" {
			id = m.ID
		}
	}
	r.Notify("$/cancelRequest", map[string]any{"id": id})
	select {
	case got := <-raw:
		if !strings.Contains(got, "cancelled") && !strings.Contains(got, "-32800") {
			t.Error(got)
		}
	case <-time.After(patience):
		t.Fatal("no answer")
	}
	equal(t, "the next prompt", r.prompt(s, "go").StopReason, "end_turn")
	r.end()
}

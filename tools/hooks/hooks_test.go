//go:build unix

package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/hooks"
	"tandem/tools/run"
)

// programs run hooks in a folder of their own.
func programs(t *testing.T) (p hooks.Programs, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	runner := &sandbox.Local{}
	folder := sandbox.OpenFolder(dir)
	t.Cleanup(func() { folder.Close(); runner.Close() })
	return hooks.Programs{Runner: runner, Folder: folder}, dir
}

func sh(script string) hooks.Hook { return hooks.Hook{Argv: []string{"sh", "-c", script}} }

func before(t *testing.T, p hooks.Programs, h hooks.Hook) (json.RawMessage, error) {
	t.Helper()
	return p.Around([]hooks.Hook{h}, nil)[0].Before(t.Context(), run.Hooked{
		Session: "s", Call: "c1", Turn: 2, Tool: "bash", Args: json.RawMessage(`{"command":"ls"}`),
	})
}

func TestF221WhatAHookReads(t *testing.T) {
	p, dir := programs(t)
	if _, err := before(t, p, sh("cat > event.json; echo '{}'")); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "event.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"event":"beforeToolCall","sessionId":"s","tool":"bash","input":{"command":"ls"},"callId":"c1","turn":2}` + "\n"
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
}

func TestF221Answers(t *testing.T) {
	p, _ := programs(t)
	for _, c := range []struct{ script, input, err string }{
		{`echo '{}'`, "", ""},
		{`echo '{"decision": "allow"}'`, "", ""},
		{`echo '{"input": null}'`, "", ""},
		{`echo '{"input": {"command": "ls -l"}}'`, `{"command": "ls -l"}`, ""},
		{`echo '{"decision": "deny", "reason": "no"}'`, "", "denied: no"},
		{`echo '{"decision": "deny"}'`, "", "denied: it gave no reason"},
		{`true`, "", "printed no answer"},
		{`echo '{"decision": "ask"}'`, "", `decision is "ask"`},
		{`echo '{"continue": false}'`, "", `unknown field "continue"`},
		{`echo '{"output": "x"}'`, "", "has an output"},
		{`echo '{"input": []}'`, "", "input is no JSON object"},
		{`echo '[]'`, "", "no JSON object"},
		{`echo '{} {}'`, "", "more than one JSON value"},
		{`echo ok`, "", "not a valid answer"},
		{`echo '{}'; echo broken >&2; exit 3`, "", "exit code 3: broken"},
		{`kill -9 $$`, "", "exit code 137"},
		{`head -c 2000000 /dev/zero | tr '\0' ' '; echo '{}'`, "", "more than 1048576 bytes"},
	} {
		input, err := before(t, p, sh(c.script))
		got := ""
		var denial *run.HookDenial
		if errors.As(err, &denial) {
			got = "denied: " + denial.Reason
		} else if err != nil {
			got = err.Error()
		}
		if string(input) != c.input || (c.err == "") != (got == "") || !strings.Contains(got, c.err) {
			t.Errorf("%s: %s, %q", c.script, input, got)
		}
	}
	for _, h := range []hooks.Hook{{}, {Argv: []string{"tandem-no-such-program"}}, {Argv: []string{"./here"}}} {
		if _, err := before(t, p, h); err == nil {
			t.Errorf("%q is a hook", h.Argv)
		}
	}
	if _, err := before(t, hooks.Programs{}, sh("echo '{}'")); err == nil {
		t.Error("a hook without a runner let the call go on")
	}
	slow := sh("sleep 60; echo '{}'")
	slow.Timeout = 50 * time.Millisecond
	if _, err := before(t, p, slow); err == nil || !strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("a slow hook: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the turn is over")
	cancel(cause)
	if _, _, err := p.Run(ctx, slow, hooks.Event{}); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestF221AfterAnswers(t *testing.T) {
	p, _ := programs(t)
	for _, c := range []struct{ script, output, err string }{
		{`true`, "was", ""},
		{`echo '{}'`, "was", ""},
		{`grep -q '"output":"was"' && echo '{"output": "is"}'`, "is", ""},
		{`echo '{"output": ""}'`, "", ""},
		{`echo '{"decision": "deny"}'`, "", "the call is over"},
		{`exit 1`, "", "exit code 1"},
	} {
		output, err := p.Around(nil, []hooks.Hook{sh(c.script)})[0].After(t.Context(), run.Hooked{Tool: "bash", Args: json.RawMessage(`{}`)}, "was")
		if output != c.output || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", c.script, output, err)
		}
	}
}

func TestF221Matchers(t *testing.T) {
	spec := tools.Spec{Name: "edit_file", Aliases: []string{"Edit", "str_replace"}}
	for matcher, want := range map[string]bool{
		"": true, "*": true, "edit_file": true, "EDIT": true, "str_*": true, "bash": false, "edit": true, "edit_": false, "[": true,
	} {
		if got := (hooks.Programs{}).Around([]hooks.Hook{{Matcher: matcher}}, nil)[0].Matches(spec); got != want {
			t.Errorf("%q: %v", matcher, got)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(`{"input": {"a": 1}}`)
	f.Add(`{"decision": "deny", "reason": "no"}`)
	f.Add(`{"output": "x"} `)
	f.Fuzz(func(t *testing.T, s string) {
		a, err := hooks.Parse(s)
		if err != nil {
			return
		}
		if !json.Valid([]byte(s)) || a.Input != nil && !json.Valid(a.Input) || a.Decision != "" && a.Decision != "deny" && a.Decision != "allow" {
			t.Errorf("%q is an answer: %+v", s, a)
		}
	})
}

//go:build unix

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/agent/model"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/run"
)

// TestF221HooksOfASession configures a hook for each event, and looks at what the model reads and what the hooks were told.
func TestF221HooksOfASession(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	runner := &sandbox.Local{}
	t.Cleanup(func() { runner.Close() })
	sh := func(script string) string { return fmt.Sprintf(`[{"command": ["sh", "-c", %q]}]`, script) }
	c := &client{}
	var first string
	m := fake(func(_ context.Context, r model.Request, on on) (model.Response, error) {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == model.User {
			first = last.Text
			on(model.Delta{Call: &model.CallDelta{ID: "c1", Name: "look", Arguments: `{"text": "a"}`, Done: true}})
			on(model.Delta{Call: &model.CallDelta{Index: 1, ID: "c2", Name: "put", Arguments: `{"text": "a"}`, Done: true}})
			return model.Response{Stop: model.StopCalls}, nil
		}
		on(model.Delta{Text: "done"})
		return model.Response{Stop: model.StopEnd}, nil
	})
	s := session(t, c, opener{"main": m}, func(o *setup) {
		o.Cwd, o.Shared.Runner = dir, runner
		o.Config = settings(t, `{"mode": "auto", "hooks": {
			"sessionStart": [
				{"command": ["sh", "-c", "cat >> log; echo '{\"output\": \"The build is red.\"}'"]},
				{"command": ["sh", "-c", "exit 4"]}
			],
			"beforeToolCall": [
				{"matcher": "look", "command": ["sh", "-c", "cat >> log; echo '{\"input\": {\"text\": \"b\"}}'"]},
				{"matcher": "put", "command": ["sh", "-c", "echo '{\"decision\": \"deny\", \"reason\": \"frozen\"}'"]}
			],
			"afterToolCall": `+sh(`sed "s/.*/{\"output\": \"rewritten\"}/"`)+`,
			"turnEnd": `+sh(`cat >> log`)+`}}`)
	})
	ask(t, s, "go")
	if !strings.HasPrefix(first, "hooks.sessionStart[0] (sh), which the user has configured, says at the beginning of this session:\nThe build is red.\n") {
		t.Errorf("the first message is %q", first)
	}
	got := history(s)
	for _, want := range []string{
		"tool c1: rewritten …\n", "tool c2: [GATE_DENIED] Permission denied by the hook hooks.beforeToolCall[1] (sh): frozen …\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	c.told(t, "notice The hook hooks.sessionStart[1] (sh) failed: it ended with the exit code 4")
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	want := `{"event":"sessionStart","sessionId":"s1"}
{"event":"beforeToolCall","sessionId":"s1","tool":"look","input":{"text":"a"},"callId":"c1","turn":1}
{"event":"turnEnd","sessionId":"s1","turn":1,"stopReason":"end_turn"}
`
	if err != nil || string(log) != want {
		t.Errorf("the hooks were told\n%s\n%v", log, err)
	}
	// What is said at the beginning is said once.
	if ask(t, s, "again"); strings.Contains(first, "red") {
		t.Errorf("the second message is %q", first)
	}
}

// TestCaseA11HookOfTheConfiguration: a hook that allows lifts no rule that denies, and one that cannot run denies.
func TestCaseA11HookOfTheConfiguration(t *testing.T) {
	runner := &sandbox.Local{}
	t.Cleanup(func() { runner.Close() })
	for _, c := range []struct {
		settings string
		want     string
	}{
		{`"permissions": {"deny": [{"tool": "put"}]}, "hooks": {"beforeToolCall": [{"command": ["sh", "-c", "echo '{\"decision\": \"allow\"}'"]}]}`, "rules"},
		{`"hooks": {"beforeToolCall": [{"command": ["sh", "-c", "echo '{\"decision\": \"allow\"}'"]}]}`, ""},
		{`"hooks": {"beforeToolCall": [{"command": ["tandem-no-such-hook"]}]}`, "hook"},
		{`"hooks": {"beforeToolCall": [{"matcher": "p*"}]}`, "hook"},
		{`"hooks": {"beforeToolCall": [{"matcher": "look"}]}`, ""},
	} {
		s := session(t, &client{}, opener{"main": play(t, "")}, func(o *setup) {
			o.Cwd, o.Shared.Runner, o.Config = t.TempDir(), runner, settings(t, `{"mode": "auto", `+c.settings+`}`)
		})
		results, _, err := s.CallTools(t.Context(), []run.Call{{Name: "put", Arguments: json.RawMessage(`{"text":"x"}`)}}, CallOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if d := results[0].Denial; d != nil && results[0].Error == tools.GateDenied {
			got = d.Layer
		}
		if got != c.want || results[0].Success != (c.want == "") {
			t.Errorf("%s: denied by %q: %s", c.settings, got, results[0].Data)
		}
	}
}

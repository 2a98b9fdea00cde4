package updates

import (
	"strings"
	"testing"

	"tandem/lspserver/protocol"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/run"
)

func answered(option string) (r protocol.PermissionResult) {
	r.Outcome = protocol.PermissionOutcome{Outcome: "selected", OptionID: option}
	return r
}

// TestCaseA08BadAnswers: an answer that was not on offer is none, so that nothing runs on it.
func TestCaseA08BadAnswers(t *testing.T) {
	rule := &gate.Rule{Effect: gate.Allow, Tool: "bash"}
	once := run.Question{Turn: 1, Judged: gate.Decision{Verdict: gate.Ask, Once: true}}
	edit := run.Question{Turn: 1, Judged: gate.Decision{Verdict: gate.Ask, Allows: rule, Denies: rule, Edits: []string{"/a"}}}
	outside := edit
	outside.Turn = 0
	for option, in := range map[string][3]bool{ // once, an edit in a turn, outside of one
		"allow_once": {true, true, true}, "reject_once": {true, true, true}, "allow_turn": {false, true, false}, "allow_files": {false, true, true},
		"allow_session": {false, true, true}, "allow_always": {false, true, true}, "reject_always": {false, true, true},
		"allow_wide": {}, "allow": {}, "yes": {}, "": {}, "ALLOW_ONCE": {},
	} {
		for i, q := range []run.Question{once, edit, outside} {
			a, ok := Answer(q, answered(option))
			if ok != in[i] || (a.Outcome == run.Allowed) != (ok && strings.HasPrefix(option, "allow")) || !ok && a.Outcome != run.Unanswered {
				t.Errorf("%s in %d: %+v, %v", option, i, a, ok)
			}
		}
	}
	for _, outcome := range []string{"", "allowed", "Selected"} {
		r := answered("allow_once")
		r.Outcome.Outcome = outcome
		if a, ok := Answer(edit, r); ok || a.Outcome != run.Unanswered {
			t.Errorf("%q: %+v", outcome, a)
		}
	}
}

// TestCaseA15Shown: what a question shows hides nothing: no control characters, and all of a command.
func TestCaseA15Shown(t *testing.T) {
	text := "echo \x1b[2Jok\u202e" + strings.Repeat("x", 100<<10) + "\nrm -r y"
	rule := gate.Rule{Effect: gate.Allow, Tool: "bash", Params: map[string]string{"command": text}}
	p := Permission("s", run.Question{
		Plan:   &tools.Plan{Needs: []tools.Need{{Act: tools.Runs, Argv: []string{"bash", "-c", text}}}},
		Judged: gate.Decision{Verdict: gate.Ask, Why: "x\x1b[1my", Allows: &rule, Denies: &rule},
	}, 1<<20)
	shown := p.ToolCall.Content.([]protocol.ToolContent)[0].Content.Text
	all := []string{shown, p.Meta.Tandem.(protocol.PermissionMeta).Reason, p.Meta.Tandem.(protocol.PermissionMeta).SuggestedRule.Text}
	for _, o := range p.Options {
		all = append(all, o.Name)
	}
	for _, s := range all {
		if strings.ContainsAny(s, "\x1b\u202e") {
			t.Errorf("%.80q", s)
		}
	}
	if len(shown) < len(text) || !strings.HasSuffix(shown, "\nrm -r y") {
		t.Errorf("%d bytes of %d", len(shown), len(text))
	}
	for _, s := range all[2:] {
		if strings.Contains(s, "\n") {
			t.Errorf("%.80q", s)
		}
	}
}

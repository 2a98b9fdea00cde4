package run_test

import (
	"context"
	"strings"
	"testing"

	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/run"
	"tandem/tools/toolstest"
	"tandem/tools/write"
)

// Whatever a tool makes of its arguments, the lines for a person are lines and have nothing invisible in them.
func TestFindingS3S4TitlesAreVisible(t *testing.T) {
	const evil, shown = "ls\x1b[2K\r\n\u202etxt\u200b", `ls\u{1b}[2K\u{d}\u{a}\u{202e}txt\u{200b}`
	tool := tools.Define(tools.Definition[args]{
		Spec:  tools.Spec{Name: "say", Kind: tools.Execute},
		Title: func(in args) string { return "$ " + in.Path },
		Needs: func(_ *tools.Env, in args) ([]tools.Need, error) {
			return []tools.Need{{Act: tools.Runs, Argv: []string{"sh", "-c", in.Path}}}, nil
		},
		Plan: func(_ context.Context, _ *tools.Env, in args) (*tools.Plan, error) {
			return &tools.Plan{Title: "Run " + in.Path, Run: func(context.Context) (tools.Result, error) {
				return tools.Result{Success: true, Data: in.Path, Summary: "Ran " + in.Path}, nil
			}}, nil
		},
	})
	w := toolstest.NewWorld(t, tool)
	var titles []string
	w.Host.Observe = func(e run.Event) { titles = append(titles, e.Title) }
	w.Host.Gate, w.Host.Asker = gate.ModeAsk, askFunc(func(q run.Question) run.Answer {
		equal(t, "title of the question", q.Plan.Title, "Run "+shown)
		equal(t, "command", q.Plan.Command(), evil)
		return run.Answer{Outcome: run.Allowed}
	})
	r := w.Call("say", `{"path":"ls\u001b[2K\r\n\u202etxt\u200b"}`)
	equal(t, "summary", r.Summary, "Ran "+shown)
	equal(t, "data", r.Data, evil)
	equal(t, "title before the plan", titles[0], "$ "+shown)
	equal(t, "title after it", titles[len(titles)-1], "Run "+shown)
	r = w.Call("no\nsuch\x1btool", `{}`)
	if strings.ContainsAny(r.Summary+titles[len(titles)-1], "\n\x1b") {
		t.Errorf("%q, %q", r.Summary, titles[len(titles)-1])
	}
}

// A question always has the whole change in it, whatever limit there is for changes that are only told of. What is too large
// for that is not asked about.
func TestFindingS17NothingIsAllowedUnseen(t *testing.T) {
	w := toolstest.NewWorld(t, write.New())
	asked := 0
	w.Host.Gate, w.Host.Asker = gate.ModeAsk, askFunc(func(q run.Question) run.Answer {
		asked++
		if !strings.HasSuffix(q.Diffs[0].Unified, "+last\n") {
			t.Errorf("the question has %d bytes of the diff", len(q.Diffs[0].Unified))
		}
		return run.Answer{Outcome: run.Allowed}
	})
	change := func(size int) tools.Result {
		return w.Call("write_file", `{"path":"f`+strings.Repeat("x", asked)+`","content":"`+strings.Repeat("line\\n", size/5)+`last\n"}`)
	}
	if r := change(3 << 20); !r.Success || asked != 1 {
		t.Fatalf("asked %d times, %s", asked, r.Data)
	}
	r := change(9 << 20)
	if r.Error != tools.GateDenied || r.Reason != "too_large" || asked != 1 || r.Denial == nil {
		t.Errorf("asked %d times, %s, %+v: %.200s", asked, r.Error, r.Denial, r.Data)
	}
	w.Host.Gate = gate.ModeAuto
	if r := change(9 << 20); !r.Success {
		t.Errorf("where nobody has to be asked: %.200s", r.Data)
	}
}

package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/edit"
	"tandem/tools/gate"
	"tandem/tools/run"
	shellwords "tandem/tools/shell"
	"tandem/tools/toolstest"
	"tandem/tools/write"
)

// TestAnswersOnOffer: for a question that can be about more than the call its answers are there, those for once first, and for no other.
func TestAnswersOnOffer(t *testing.T) {
	rule := &gate.Rule{}
	once := []run.Option{run.AllowOnce, run.RejectOnce}
	for name, tt := range map[string]struct {
		q    run.Question
		want []run.Option
	}{
		"a call":                   {run.Question{}, once},
		"a call of a turn":         {run.Question{Turn: 1}, once},
		"without a sandbox":        {run.Question{Judged: gate.Decision{Layer: gate.LayerSandbox}}, []run.Option{run.RejectOnce, run.AllowOnce}},
		"an edit in no turn":       {run.Question{Judged: gate.Decision{Edits: []string{"a"}}}, append(once[:2:2], run.AllowFiles)},
		"an edit":                  {run.Question{Turn: 1, Judged: gate.Decision{Edits: []string{"a"}}}, append(once[:2:2], run.AllowTurn, run.AllowFiles)},
		"what a rule can allow":    {run.Question{Judged: gate.Decision{Allows: rule}}, append(once[:2:2], run.AllowSession, run.AllowAlways)},
		"what a wider one allows":  {run.Question{Judged: gate.Decision{Wide: rule}}, append(once[:2:2], run.AllowWide)},
		"what a rule can deny":     {run.Question{Judged: gate.Decision{Denies: rule}}, append(once[:2:2], run.RejectAlways)},
		"an edit that a rule can…": {run.Question{Turn: 1, Judged: gate.Decision{Edits: []string{"a"}, Allows: rule, Denies: rule}}, append(once[:2:2], run.AllowTurn, run.AllowFiles, run.AllowSession, run.AllowAlways, run.RejectAlways)},
	} {
		equal(t, name, tt.q.Options(), tt.want)
	}
	for option, want := range map[run.Option]run.Outcome{
		run.AllowOnce: run.Allowed, run.AllowTurn: run.Allowed, run.AllowFiles: run.Allowed, run.AllowSession: run.Allowed,
		run.AllowAlways: run.Allowed, run.AllowWide: run.Allowed, run.RejectOnce: run.Rejected, run.RejectAlways: run.Rejected,
		"": run.Unanswered, "allow": run.Unanswered,
	} {
		equal(t, string(option), option.Outcome(), want)
	}
}

// TestDeadCalls: dead is what failed for good and not by anybody's choice.
func TestDeadCalls(t *testing.T) {
	failed := func(code filetime.Code, retryable bool) *tools.Result {
		return &tools.Result{Error: code, Retryable: retryable}
	}
	for name, tt := range map[string]struct {
		r    run.Record
		want bool
	}{
		"still running":          {run.Record{Attempts: 1}, false},
		"success":                {run.Record{Attempts: 1, Result: &tools.Result{Success: true}}, false},
		"success after failures": {run.Record{Attempts: 2, Result: &tools.Result{Success: true, Retryable: true}}, false},
		"the tool broke":         {run.Record{Attempts: 1, Result: failed(tools.ExecutionError, false)}, true},
		"it never began":         {run.Record{Result: failed(tools.ExecutionError, false)}, false},
		"its time was over":      {run.Record{Attempts: 1, Result: failed(filetime.Timeout, false)}, true},
		"nobody knows":           {run.Record{Attempts: 1, Result: failed(filetime.Unknown, false)}, true},
		"the disk is full":       {run.Record{Attempts: 1, Result: failed(filetime.WriteError, false)}, true},
		"denied":                 {run.Record{Attempts: 1, Result: failed(tools.GateDenied, false)}, false},
		"wrong arguments":        {run.Record{Attempts: 1, Result: failed(tools.InvalidArgs, false)}, false},
		"it may pass":            {run.Record{Attempts: 1, Result: failed("NETWORK", true)}, true},
	} {
		equal(t, name, tt.r.Dead(), tt.want)
	}
}

// needing is a tool with these needs, which runs fn.
func needing(spec tools.Spec, fn func(context.Context, *tools.Env) (tools.Result, error), needs ...tools.Need) tools.Tool {
	return tools.Define(tools.Definition[args]{
		Spec:  spec,
		Needs: func(*tools.Env, args) ([]tools.Need, error) { return needs, nil },
		Plan: func(_ context.Context, env *tools.Env, _ args) (*tools.Plan, error) {
			return &tools.Plan{Run: func(ctx context.Context) (tools.Result, error) { return fn(ctx, env) }}, nil
		},
	})
}

func says(context.Context, *tools.Env) (tools.Result, error) { return done("done"), nil }

// TestAssess: an assessment tells what a call could break, whether it only looks, with whom it may run and what becomes of it, and does
// nothing.
func TestAssess(t *testing.T) {
	w := toolstest.NewWorld(t)
	place, err := w.Env.Paths.Writable("a")
	if err != nil {
		t.Fatal(err)
	}
	ran := func(context.Context, *tools.Env) (tools.Result, error) {
		t.Error("an assessed call ran")
		return done(""), nil
	}
	looks := tools.Need{
		Act: tools.Runs, Argv: []string{"ls"}, Place: place, Confined: true, Profile: sandbox.ReadOnly, Shell: shellwords.Command{ReadOnly: true},
	}
	writes, danger := looks, tools.Need{Act: tools.Replaces, Place: place, Danger: tools.Dangerous}
	writes.Shell.ReadOnly = false
	w.Host.Tools = toolstest.SetOf(
		needing(tools.Spec{Name: "look", Kind: tools.Read, Together: tools.WithReads, Danger: tools.Safe}, ran, tools.Need{Act: tools.Reads, Place: place}),
		needing(tools.Spec{Name: "plain", Kind: tools.Edit}, ran, tools.Need{Act: tools.Edits, Place: place}),
		needing(tools.Spec{Name: "wipe", Kind: tools.Delete}, ran, danger),
		needing(tools.Spec{Name: "ls", Kind: tools.Execute}, ran, looks),
		needing(tools.Spec{Name: "make", Kind: tools.Execute}, ran, writes),
	)
	for _, tt := range []struct {
		call               string
		danger             tools.Danger
		readOnly, together bool
		verdict            gate.Verdict
		paths              int
		failed             string
	}{
		{`look {}`, tools.Safe, true, true, gate.Allow, 1, ""},
		{`plain {}`, tools.Moderate, false, false, gate.Ask, 1, ""},
		{`wipe {}`, tools.Dangerous, false, false, gate.Ask, 1, ""},
		{`ls {}`, tools.Moderate, true, false, gate.Allow, 1, ""},
		{`make {}`, tools.Moderate, false, false, gate.Ask, 1, ""},
		{`look {"ms":-1}`, tools.Dangerous, false, false, gate.Deny, 0, "INVALID_ARGS"},
		{`none {}`, tools.Dangerous, false, false, gate.Deny, 0, "TOOL_NOT_FOUND"},
	} {
		w.Host.Gate = gate.ModeAsk
		a := run.Assess(t.Context(), w.Host, calls(tt.call)[0])
		if a.Danger != tt.danger || a.ReadOnly != tt.readOnly || a.Together != tt.together || a.Decision.Verdict != tt.verdict || len(a.Paths) != tt.paths {
			t.Errorf("%s: %+v", tt.call, a)
		}
		if code := ""; a.Failed != nil {
			code = string(a.Failed.Error)
			equal(t, tt.call, code, tt.failed)
		} else if tt.failed != "" || a.Tool == nil {
			t.Errorf("%s: it did not fail, or has no tool: %+v", tt.call, a)
		}
	}
}

// ledger is an Audit that keeps records in memory, and refuses to keep what is intended where it is full.
type ledger struct {
	full     bool
	intended []run.Record
	ended    []run.Record
}

func (l *ledger) Intend(r run.Record) error {
	if l.full {
		return errors.New("the record cannot be written")
	}
	l.intended = append(l.intended, r)
	return nil
}

func (l *ledger) Ended(r run.Record) { l.ended = append(l.ended, r) }

// TestAuditOfCalls: what a call changes, runs or reaches is recorded before it happens, and how each call ended, with who let it go on.
func TestAuditOfCalls(t *testing.T) {
	w := toolstest.NewWorld(t)
	place, err := w.Env.Paths.Writable("a")
	if err != nil {
		t.Fatal(err)
	}
	ls := tools.Need{Act: tools.Runs, Argv: []string{"ls"}, Place: place, Profile: sandbox.ReadOnly}
	confined := ls
	confined.Confined = true
	tried := 0
	w.Env.Commands.Runner = &counting{}
	w.Host.Retry = run.Retry{Attempts: 2, Sleep: func(context.Context, time.Duration) {}}
	w.Host.Tools = toolstest.SetOf(
		write.New(),
		needing(tools.Spec{Name: "look", Kind: tools.Read}, says, tools.Need{Act: tools.Reads, Place: place}),
		needing(tools.Spec{Name: "nothing", Kind: tools.Read}, says),
		needing(tools.Spec{Name: "note", Kind: tools.Think}, says, tools.Need{Act: tools.Nothing}),
		needing(tools.Spec{Name: "odd", Kind: tools.Edit}, says, tools.Need{Act: tools.Reads, Place: place}),
		needing(tools.Spec{Name: "get", Kind: tools.Fetch}, says, tools.Need{Act: tools.Reaches, Host: "example.org"}),
		needing(tools.Spec{Name: "ls", Kind: tools.Execute}, says, ls),
		needing(tools.Spec{Name: "confined", Kind: tools.Execute}, says, confined),
		needing(tools.Spec{Name: "breaks", Kind: tools.Read}, func(context.Context, *tools.Env) (tools.Result, error) {
			return tools.Result{}, errors.New("boom")
		}, tools.Need{Act: tools.Reads, Place: place}),
		needing(tools.Spec{Name: "flaky", Kind: tools.Read}, func(context.Context, *tools.Env) (tools.Result, error) {
			if tried++; tried%2 == 1 {
				return tools.Result{Error: "NETWORK", Data: "no", Retryable: true}, nil
			}
			return done("done"), nil
		}, tools.Need{Act: tools.Reads, Place: place}),
		tools.Define(tools.Definition[args]{
			Spec: tools.Spec{Name: "unplanned", Kind: tools.Read},
			Needs: func(*tools.Env, args) ([]tools.Need, error) {
				return []tools.Need{{Act: tools.Reads, Place: place}}, nil
			},
			Plan: func(context.Context, *tools.Env, args) (*tools.Plan, error) { return nil, errors.New("boom") },
		}),
	)
	w.Host.Log = slog.New(slog.DiscardHandler)
	denial := gate.Rule{Effect: gate.Deny, Tool: "look", Source: "s"}
	deny := gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: w.Root, Rules: []gate.Rule{denial}})
	writing := `write_file {"path":"b","content":"x"}`
	for _, tt := range []struct {
		name, call string
		gate       run.Gate
		answer     run.Answer
		intended   bool
		allowed    bool
		layer      string
		rule       string
		sandbox    string
		attempts   int
	}{
		{name: "a read", call: `look {}`, allowed: true, layer: "policy", attempts: 1},
		{name: "a note", call: `note {}`, allowed: true, layer: "policy", attempts: 1},
		{name: "a read that a rule denies", call: `look {}`, gate: deny, layer: "rules", rule: denial.ID()},
		{name: "a read of nothing that is named", call: `nothing {}`, intended: true, allowed: true, layer: "policy", attempts: 1},
		{name: "an edit of what it says to read", call: `odd {}`, intended: true, allowed: true, layer: "policy", attempts: 1},
		{name: "a request", call: `get {}`, intended: true, allowed: true, layer: "policy", attempts: 1},
		{name: "a command", call: `ls {}`, intended: true, allowed: true, layer: "policy", sandbox: "none ro", attempts: 1},
		{name: "a confined command", call: `confined {}`, intended: true, allowed: true, layer: "policy", sandbox: "full ro", attempts: 1},
		{name: "an edit that a person allows", call: writing, gate: gate.ModeAsk, answer: run.Answer{Outcome: run.Allowed, Option: run.AllowOnce}, intended: true, allowed: true, layer: "person", rule: "allow_once", attempts: 1},
		{name: "an edit that a person rejects", call: strings.Replace(writing, `"b"`, `"e"`, 1), gate: gate.ModeAsk, layer: "person"},
		{name: "no such tool", call: `none {}`, layer: "resolve"},
		{name: "wrong arguments", call: `look {"ms":-1}`, layer: "validate"},
		{name: "a tool that breaks", call: `breaks {}`, allowed: true, layer: "policy", attempts: 1},
		{name: "a tool that makes no plan", call: `unplanned {}`, allowed: true, layer: "policy", attempts: 1},
		{name: "a second attempt", call: `flaky {}`, allowed: true, layer: "policy", attempts: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := &ledger{}
			w.Host.Audit, w.Host.Gate, w.Answer = l, run.Gate(allowing{}), tt.answer
			if tt.gate != nil {
				w.Host.Gate = tt.gate
			}
			if tt.layer == "policy" { // what allowing says
				tt.layer = ""
			}
			c := calls(tt.call)[0]
			toolstest.One(t.Context(), w.Host, c)
			if len(l.ended) != 1 || len(l.intended) > 1 || (len(l.intended) == 1) != tt.intended {
				t.Fatalf("intended %+v, ended %+v", l.intended, l.ended)
			}
			r := l.ended[0]
			if r.Allowed != tt.allowed || r.Layer != tt.layer || r.Rule != tt.rule || r.Sandbox != tt.sandbox || r.Attempts != tt.attempts {
				t.Errorf("%+v", r)
			}
			if r.Result == nil || r.Call.ID != c.ID || r.Tool != c.Name || len(r.Trace) == 0 {
				t.Errorf("%+v", r)
			}
			if tt.intended && (l.intended[0].Result != nil || !l.intended[0].Allowed || l.intended[0].Plan == nil) {
				t.Errorf("intended as %+v", l.intended[0])
			}
		})
	}
	t.Run("arguments", func(t *testing.T) {
		l := &ledger{}
		w.Host.Audit, w.Host.Gate = l, run.Gate(allowing{})
		w.Call("write_file", `{"content":"x","path":"c"}`)
		w.Call("write_file", `{"content": 7}`)
		w.Call("none", `{"a": 7}`)
		var got []string
		for _, r := range l.ended {
			got = append(got, string(r.Args))
		}
		equal(t, "those that ran, and those that were sent", got, []string{`{"content":"x","mode":"overwrite","path":"c"}`, `{"content": 7}`, `{"a": 7}`})
	})
	t.Run("without a record nothing is done", func(t *testing.T) {
		w.Host.Audit, w.Host.Gate = &ledger{full: true}, run.Gate(allowing{})
		for name, want := range map[string]bool{"look": true, "note": true, "write_file": false, "get": false, "ls": false, "nothing": false} {
			args := `{}`
			if name == "write_file" {
				args = `{"path":"d","content":"x"}`
			}
			r := w.Call(name, args)
			if r.Success != want || !want && (r.Denial == nil || r.Denial.Layer != "audit") {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if _, there := w.Files.Text(w.Path("d")); there {
			t.Error("a file was written without a record")
		}
	})
}

// TestLostSandbox: a command that no sandbox could confine after all did not run: the call is judged and asked about once more, as one
// without a sandbox, and fails where that fails too.
func TestLostSandbox(t *testing.T) {
	for name, tt := range map[string]struct {
		failures int
		answers  []run.Outcome
		success  bool
		ran      int
		asked    int
	}{
		"it holds":                    {0, []run.Outcome{run.Allowed}, true, 1, 1},
		"lost, and allowed without":   {1, []run.Outcome{run.Allowed, run.Allowed}, true, 2, 2},
		"lost, and rejected without":  {1, []run.Outcome{run.Allowed, run.Rejected}, false, 1, 2},
		"lost a second time":          {2, []run.Outcome{run.Allowed, run.Allowed}, false, 2, 2},
		"rejected before it was lost": {1, []run.Outcome{run.Rejected}, false, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := toolstest.NewWorld(t)
			w.Env.Commands.Runner = &counting{}
			w.Host.Gate, w.Host.Log = gate.ModeAsk, slog.New(slog.DiscardHandler)
			place, err := w.Env.Paths.Writable("a")
			if err != nil {
				t.Fatal(err)
			}
			ran := 0
			w.Host.Tools = toolstest.SetOf(tools.Define(tools.Definition[args]{
				Spec: tools.Spec{Name: "x", Kind: tools.Execute},
				Needs: func(env *tools.Env, _ args) ([]tools.Need, error) {
					return []tools.Need{{Act: tools.Runs, Argv: []string{"make"}, Place: place, Confined: env.Commands.Runner.Level().Name != sandbox.LevelNone}}, nil
				},
				Plan: func(context.Context, *tools.Env, args) (*tools.Plan, error) {
					return &tools.Plan{Run: func(context.Context) (tools.Result, error) {
						if ran++; ran <= tt.failures {
							return tools.Result{}, fmt.Errorf("%w: no namespaces", sandbox.ErrNotConfined)
						}
						return done("made"), nil
					}}, nil
				},
			}))
			answers := tt.answers
			var asked []run.Question
			w.Host.Asker = asking(func(q run.Question) run.Answer {
				asked = append(asked, q)
				next := run.Answer{Outcome: answers[0]}
				answers = answers[1:]
				return next
			})
			r := w.Call("x", `{}`)
			if r.Success != tt.success || ran != tt.ran || len(asked) != tt.asked {
				t.Errorf("%+v, ran %d times, asked %d times", r, ran, len(asked))
			}
			if len(asked) == 2 && (!strings.Contains(asked[1].Judged.Reason, "the sandbox that there is failed (no namespaces)") || asked[1].Plan.Needs[0].Confined) {
				t.Errorf("asked again for %q", asked[1].Judged.Reason)
			}
		})
	}
}

// asking is a person.
type asking func(run.Question) run.Answer

func (a asking) Ask(_ context.Context, q run.Question) run.Answer { return a(q) }

// TestMayRead: a tool may read beside its own file what read_file could without a question; without read_file nothing forbids it, unless
// that was disabled.
func TestMayRead(t *testing.T) {
	deny := []gate.Rule{{Effect: gate.Deny, Tool: tools.ReadFile, Params: map[string]string{"path": "b"}, Source: "s"}}
	for name, tt := range map[string]struct {
		there, off bool
		path       string
		want       bool
	}{
		"a file":                {true, false, "a", true},
		"a denied file":         {true, false, "b", false},
		"without read_file":     {false, false, "b", true},
		"read_file is disabled": {false, true, "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := toolstest.NewWorld(t)
			place, err := w.Env.Paths.Writable(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			may := false
			list := []tools.Tool{needing(tools.Spec{Name: "x", Kind: tools.Read}, func(_ context.Context, env *tools.Env) (tools.Result, error) {
				may = env.Judged.MayRead(place)
				return done("x"), nil
			}, tools.Need{Act: tools.Reads, Place: place})}
			if tt.there || tt.off {
				list = append(list, needing(tools.Spec{Name: tools.ReadFile, Kind: tools.Read}, says, tools.Need{Act: tools.Reads, Place: place}))
			}
			w.Host.Tools = toolstest.SetOf(list...)
			if tt.off {
				w.Host.Tools = w.Host.Tools.Narrow(tools.Without("the user", []string{tools.ReadFile}))
			}
			w.Host.Gate = gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: w.Root, Rules: deny})
			w.Call("x", `{}`)
			equal(t, "may read", may, tt.want)
		})
	}
}

// TestResolveLate: a tool that is in no set yet is asked for once, where there is a set to have it then, and one that there is is not.
func TestResolveLate(t *testing.T) {
	for name, tt := range map[string]struct {
		call  string
		there bool
		err   error
		asked int
		says  string
	}{
		"a tool that is there":  {"here", true, nil, 0, "done"},
		"one that comes":        {"late", true, nil, 1, "done"},
		"one that there is not": {"late", false, nil, 1, "does not exist"},
		"a server that is off":  {"late", false, errors.New("the server is off"), 1, `Tool "late" cannot be had: the server is off. Go on`},
	} {
		t.Run(name, func(t *testing.T) {
			w := toolstest.NewWorld(t, needing(tools.Spec{Name: "here", Kind: tools.Read}, says))
			late := needing(tools.Spec{Name: "late", Kind: tools.Read}, says)
			present := w.Host.Tools
			w.Host.Offering.Present = func() *tools.Set { return present }
			asked := 0
			w.Host.Offering.Resolve = func(context.Context, string) (bool, error) {
				if asked++; tt.there {
					present = toolstest.SetOf(append(w.Host.Tools.List(), late)...)
				}
				return tt.there, tt.err
			}
			r := w.Call(tt.call, `{}`)
			if asked != tt.asked || !strings.Contains(r.Data, tt.says) {
				t.Errorf("asked %d times: %s", asked, r.Data)
			}
		})
	}
}

// TestEffectsOfACommand: what a command changed is told, kept and given to whoever reviews, and the exit code stays the last line.
func TestEffectsOfACommand(t *testing.T) {
	for name, tt := range map[string]struct {
		data    string
		changes bool
		heard   bool
		want    string
	}{
		"none":             {"out", false, true, "out"},
		"some":             {"out", true, true, "out\nchanged files:\n  modified a"},
		"and an exit code": {"out\n[Exit code: 1]", true, true, "out\nchanged files:\n  modified a\n[Exit code: 1]"},
		"nobody listens":   {"out", true, false, "out\nchanged files:\n  modified a"},
	} {
		t.Run(name, func(t *testing.T) {
			w := toolstest.NewWorld(t)
			place, err := w.Env.Paths.Writable(".")
			if err != nil {
				t.Fatal(err)
			}
			w.Host.Tools = toolstest.SetOf(needing(tools.Spec{Name: "x", Kind: tools.Execute}, func(context.Context, *tools.Env) (tools.Result, error) {
				return done("%s", tt.data), nil
			}, tools.Need{Act: tools.Runs, Argv: []string{"make"}, Place: place}))
			w.Host.Gate = allowing{}
			var about run.Command
			w.Host.Changes.BeforeCommand = func(_ context.Context, c run.Command) run.Began {
				about = c
				return run.Began{
					Warnings: []filetime.Warning{{Path: w.Path("b"), Says: "is older on disk."}},
					Ended: func(context.Context) tools.Effects {
						e := tools.Effects{Change: filetime.Change{Call: "of the command"}}
						if tt.changes {
							e.Landed.Files = []filetime.LandedFile{{Path: w.Path("a")}}
							e.Told(&w.Env)
						}
						return e
					},
				}
			}
			var heard []string
			if tt.heard {
				w.Host.Changes.Landed = func(c filetime.Change, l filetime.Landed) { heard = append(heard, c.Call) }
			}
			r := w.Call("x", `{}`)
			warned := "\nb is older on disk."
			got := strings.Replace(r.Data, warned, "", 1)
			if got != tt.want || got == r.Data || !slices.Equal(r.Warnings, []string{warned[1:]}) {
				t.Errorf("%q with %q", r.Data, r.Warnings)
			}
			if (r.Effects != nil) != tt.changes || (len(heard) == 1) != (tt.changes && tt.heard) || (len(r.Meta.Modified) == 1) != tt.changes {
				t.Errorf("effects %+v, heard %q, modified %q", r.Effects, heard, r.Meta.Modified)
			}
			if about.Unwatched || about.Change.Tool != "x" || about.Change.Call != "call1" {
				t.Errorf("told %+v", about)
			}
		})
	}
}

// TestWatchedCommands: a command is watched for what it changes unless it provably only reads or goes on; what is no command is not.
func TestWatchedCommands(t *testing.T) {
	w := toolstest.NewWorld(t)
	place, err := w.Env.Paths.Writable(".")
	if err != nil {
		t.Fatal(err)
	}
	ls := tools.Need{Act: tools.Runs, Argv: []string{"ls"}, Place: place}
	reads := ls
	reads.Confined, reads.Profile, reads.Shell.ReadOnly = true, sandbox.ReadOnly, true
	for name, tt := range map[string]struct {
		need             tools.Need
		touches, goesOn  bool
		told, watched, q bool
	}{
		"a command":             {need: ls, told: true, watched: true},
		"one that only reads":   {need: reads, told: true},
		"one that goes on":      {need: ls, goesOn: true, told: true},
		"a read":                {need: tools.Need{Act: tools.Reads, Place: place}},
		"a process at its work": {need: tools.Need{Act: tools.Reads, Place: place}, touches: true, told: true, watched: true},
	} {
		w.Host.Tools = toolstest.SetOf(tools.Define(tools.Definition[args]{
			Spec:  tools.Spec{Name: "x", Kind: tools.Execute},
			Needs: func(*tools.Env, args) ([]tools.Need, error) { return []tools.Need{tt.need}, nil },
			Plan: func(context.Context, *tools.Env, args) (*tools.Plan, error) {
				return &tools.Plan{Touches: tt.touches, GoesOn: tt.goesOn, Run: func(context.Context) (tools.Result, error) { return done("x"), nil }}, nil
			},
		}))
		told, watched, unkept := false, false, 0
		w.Host.Changes.BeforeCommand = func(_ context.Context, c run.Command) run.Began {
			told, watched = true, !c.Unwatched
			return run.Began{}
		}
		w.Host.Changes.Unkept = func(context.Context, run.Command) string {
			unkept++
			return "unkept"
		}
		w.Host.Gate, w.Asked = allowing{}, nil
		w.Call("x", `{}`)
		if told != tt.told || watched != tt.watched || unkept > 0 {
			t.Errorf("%s: notified %v, watched %v, %d notices of files that are not kept", name, told, watched, unkept)
		}
		w.Host.Gate = once{}
		w.Call("x", `{}`)
		if want := map[bool]string{true: "unkept"}[tt.told]; len(w.Asked) != 1 || w.Asked[0].Unkept != want {
			t.Errorf("%s: asked %+v", name, w.Asked)
		}
	}
}

// once asks a person about each call.
type once struct{}

func (once) Judge(gate.Call) gate.Decision { return gate.Decision{Verdict: gate.Ask, Once: true} }

// TestConflictsAreShown: a conflict names who changed the text and shows the lines as they were, would be and are, which count as seen.
func TestConflictsAreShown(t *testing.T) {
	lines := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	for _, tt := range []struct {
		author filetime.Author
		now    string // of line 5
		want   []string
	}{
		{filetime.User, "five\n", []string{"the user changed", "As it is now, with the lines around:\n   2 | 2\n   3 | 3\n   4 | 4\n   5 | five\n   6 | 6\n   7 | 7\n   8 | 8\n"}},
		{filetime.Disk, "five\n", []string{"something outside the editor changed"}},
		{filetime.Agent, "five\n", []string{"another edit by an agent changed"}},
		{filetime.Command, "five\n", []string{"a command that was run changed"}},
		{filetime.User, "five\nand a half\n", []string{"   2 | 2\n   3 | 3\n   4 | 4\n   5 | five\n   6 | and a half\n   7 | 6\n   8 | 7\n   9 | 8\n"}},
		{filetime.User, "", []string{"It is gone now, with the lines around:\n"}},
	} {
		w := toolstest.NewWorld(t, edit.New())
		w.Files.Put(w.Path("f"), lines, true)
		if err := w.See("f", 1, 0); err != nil {
			t.Fatal(err)
		}
		w.Files.Type(w.Path("f"), text.Set{{Start: 8, End: 10, New: tt.now}}, tt.author)
		r := w.Call("edit_file", `{"path":"f","old_text":"5","new_text":"V"}`)
		if r.Error != filetime.EditConflict {
			t.Errorf("%d: %s", tt.author, r.Data)
			continue
		}
		for _, want := range append(tt.want, "As you read it:\n   5 | 5\n", "As your edit would have it:\n   5 | V\n") {
			if !strings.Contains(r.Data, want) {
				t.Errorf("%d: no %q in\n%s", tt.author, want, r.Data)
			}
		}
		raw, err := json.Marshal(r.Value)
		if err != nil || !strings.Contains(string(raw), `"line":5`) || !strings.Contains(string(raw), `"firstLine":2`) || !strings.Contains(string(raw), `"current":"2\n3\n4\n`) {
			t.Errorf("%s, %v", raw, err)
		}
		if strings.Contains(r.Data, "Not all of it is shown") {
			t.Errorf("a short conflict is shown in part: %s", r.Data)
		}
		if tt.now == "five\n" {
			if r := w.Call("edit_file", `{"path":"f","old_text":"five","new_text":"V"}`); !r.Success {
				t.Errorf("what a conflict showed does not count as seen: %s", r.Data)
			}
		}
	}
}

// glancing is language servers that find what each text of a file says behind "bad ".
type glancing struct {
	tools.Languages
	err   error
	stale bool
}

func (g *glancing) Glance(_ context.Context, file filetime.Snapshot, _ time.Duration) (tools.Diagnosis, error) {
	d := tools.Diagnosis{Fresh: !g.stale}
	at := 0
	for line := range strings.Lines(file.Text.String()) {
		if what, ok := strings.CutPrefix(line, "bad "); ok {
			severity := tools.SeverityError
			if strings.HasPrefix(what, "style") {
				severity = tools.SeverityWarning
			}
			d.Findings = append(d.Findings, tools.Finding{
				Severity: severity, Message: strings.TrimSpace(what),
				Span: tools.Span{Path: file.Path},
			})
		}
		at += len(line)
	}
	return d, g.err
}

// TestNewErrorsAfterAnEdit: the model is warned of errors that an edit made, not of those that were there, nor of warnings; if no
// server checked the file, the answer gives the reason, once.
func TestNewErrorsAfterAnEdit(t *testing.T) {
	for name, tt := range map[string]struct {
		none      bool
		g         glancing
		old, new  string
		path      string
		want      []string
		wantAgain []string // of the same edit once more
	}{
		"an error":       {old: "a\n", new: "bad x\n", want: []string{"New: ", "x"}},
		"one that stood": {old: "bad x\n", new: "bad x\nb\n"},
		"a warning":      {old: "a\n", new: "bad style\n"},
		"more than are named": {
			old: "a\n", new: "bad 1\nbad 2\nbad 3\nbad 4\nbad 5\nbad 6\nbad 7\n",
			want: []string{"New: ", "… 2 more new errors: see diagnostics"},
		},
		"an answer about an older text": {old: "a\n", new: "bad x\n", g: glancing{stale: true}, want: []string{"has not answered yet"}},
		"no server":                     {old: "a\n", new: "bad x\n", g: glancing{err: &tools.NoServerError{}}, want: []string{"there is no language server for .rs files"}},
		"a server that does not run": {
			old: "a\n", new: "bad x\n", g: glancing{err: &tools.NoServerError{Idle: "rust-analyzer"}}, want: []string{"rust-analyzer is not running. diagnostics starts it."},
		},
		"no language servers": {none: true, old: "a\n", new: "b\n", want: []string{"there is no language server for .rs files"}},
		"no code":             {none: true, path: "a.txt", old: "a\n", new: "b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := toolstest.NewWorld(t, write.New())
			w.Env.Servers.Findings = &tools.Findings{}
			if !tt.none {
				w.Env.Servers.Languages = &tt.g
			}
			path := "a.rs"
			if tt.path != "" {
				path = tt.path
			}
			w.Files.Put(w.Path(path), tt.old, true)
			if err := w.See(path, 1, 0); err != nil {
				t.Fatal(err)
			}
			put := func(s string) []string {
				raw, err := json.Marshal(map[string]string{"path": path, "content": s})
				if err != nil {
					t.Fatal(err)
				}
				r := w.Call("write_file", string(raw))
				if !r.Success {
					t.Fatal(r.Data)
				}
				return r.Warnings
			}
			got := put(tt.new)
			all := strings.Join(got, "\n")
			if len(tt.want) == 0 && len(got) > 0 {
				t.Errorf("warned of %q", got)
			}
			for _, want := range tt.want {
				if !strings.Contains(all, want) {
					t.Errorf("no %q in %q", want, got)
				}
			}
			if strings.Contains(all, "Not checked") {
				if again := put(tt.new + "more\n"); len(again) > 0 {
					t.Errorf("told twice: %q", again)
				}
			}
		})
	}
}

// TestKeysAreAskedAbout: a request or a command with the network whose arguments carry a key is judged as such; others are not.
func TestKeysAreAskedAbout(t *testing.T) {
	w := toolstest.NewWorld(t)
	place, err := w.Env.Paths.Writable("a")
	if err != nil {
		t.Fatal(err)
	}
	keys := &run.Keys{}
	keys.Recall(json.RawMessage(`{"path":".env"}`), "TOKEN=abcd1234EFGH\n", func(path string) bool { return path == ".env" })
	for name, tt := range map[string]struct {
		keys *run.Keys
		args string
		need tools.Need
		want bool
	}{
		"a request":                 {keys, `{"url":"https://x/?k=abcd1234EFGH"}`, tools.Need{Act: tools.Reaches, Host: "x"}, true},
		"a request without":         {keys, `{"url":"https://x/"}`, tools.Need{Act: tools.Reaches, Host: "x"}, false},
		"a command with a proxy":    {keys, `{"command":"curl -d abcd1234EFGH x"}`, tools.Need{Act: tools.Runs, Profile: sandbox.Proxy}, true},
		"a command without network": {keys, `{"command":"grep abcd1234EFGH x"}`, tools.Need{Act: tools.Runs, Profile: sandbox.ReadOnly}, false},
		"a read":                    {keys, `{"path":"abcd1234EFGH"}`, tools.Need{Act: tools.Reads, Place: place}, false},
		"no keys":                   {nil, `{"url":"https://x/?k=abcd1234EFGH"}`, tools.Need{Act: tools.Reaches, Host: "x"}, false},
		"none yet":                  {&run.Keys{}, `{"url":"https://x/?k=abcd1234EFGH"}`, tools.Need{Act: tools.Reaches, Host: "x"}, false},
	} {
		equal(t, name, tt.keys.Leave(json.RawMessage(tt.args), []tools.Need{tt.need}), tt.want)
	}
}

// TestClaimsTouch: texts that only touch are two, those of which one holds a part of the other are one, and another file is another.
func TestClaimsTouch(t *testing.T) {
	files := toolstest.NewWorld(t).Files
	files.Put("/f", "abcdef", true)
	files.Put("/g", "abcdef", true)
	snap, err := files.Read(t.Context(), "/f")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path       string
		start, end int
		want       bool
	}{
		{"/f", 2, 4, true},
		{"/f", 0, 2, false},
		{"/f", 4, 6, false},
		{"/f", 0, 3, true},
		{"/f", 3, 6, true},
		{"/f", 0, 6, true},
		{"/f", 3, 3, true},
		{"/f", 2, 2, false},
		{"/f", 4, 4, false},
		{"/g", 2, 4, false},
	} {
		edit := func(path string, start, end int) filetime.FileEdit {
			return filetime.FileEdit{Path: path, Rev: snap.Rev, Base: snap.Text, Edits: text.Set{{Start: start, End: end, New: "x"}}}
		}
		if got := run.Meets(files, edit("/f", 2, 4), edit(tt.path, tt.start, tt.end)); got != tt.want {
			t.Errorf("%s from %d to %d: %v", tt.path, tt.start, tt.end, got)
		}
	}
}

// TestNoBudget: nothing was refused where there is no budget.
func TestNoBudget(t *testing.T) {
	var none *run.Budget
	equal(t, "refused", none.Refused(), false)
}

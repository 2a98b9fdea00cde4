package agent

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/prompt"
	"tandem/tools"
	"tandem/tools/gate"
)

// settings loads a configuration from what a person wrote.
func settings(t *testing.T, text string) config.Config {
	t.Helper()
	c, _ := config.Load(config.Inputs{OwnClient: true, Client: []byte(text)})
	return c
}

// TestF211_F248BudgetEndsTheTurn lets the model know, gives it one request to wind up in, and ends.
func TestF211_F248BudgetEndsTheTurn(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         StopReason
		requests     int
	}{
		{"within", "call look {}\n\ncall look {}\n\nsay done", EndTurn, 3},
		{"winds up", "call look {}\ncall look {}\ncall look {}\n\nsee /\\[BUDGET_EXCEEDED\\] The 2 tool calls/\nsay That was it.", BudgetExceeded, 2},
		{"goes on", "call look {}\ncall look {}\ncall look {}\n\ncall look {}\n\nsay never", BudgetExceeded, 2},
	} {
		cl := &client{}
		requests := 0
		script := play(t, c.script)
		counted := fake(func(ctx context.Context, r model.Request, on on) (model.Response, error) {
			requests++
			return script.Stream(ctx, r, on)
		})
		s := session(t, cl, opener{"main": counted}, func(o *setup) {
			o.Config = settings(t, `{"budget": {"maxToolCalls": 2}}`)
		})
		r := ask(t, s, "go")
		if r.Stop != c.want || r.Err != nil || requests != c.requests {
			t.Errorf("%s: %+v after %d requests", c.name, r, requests)
		}
		if c.want == BudgetExceeded {
			cl.told(t, "notice The turn reached its limit of tool calls or tool time (budget.maxToolCalls, budget.maxToolTimeMs).\n")
		}
		// The next turn has a budget of its own.
		b := begin(t, s, text("again"))
		if b.budget.Refused() {
			t.Error("the budget of the turn before")
		}
		b.Run(t.Context())
	}
}

// TestF206RulesOfTheConfiguration decides about calls by rules and the sandbox before anybody is asked.
func TestF206RulesOfTheConfiguration(t *testing.T) {
	edit, command := []tools.Need{{Act: tools.Edits}}, []tools.Need{{Act: tools.Runs}}
	for _, c := range []struct {
		settings string
		needs    []tools.Need
		want     string
	}{
		{`{"mode": "auto"}`, edit, "allow mode"},
		{`{"mode": "acceptEdits"}`, edit, "allow mode"},
		{`{"mode": "readOnly"}`, edit, "deny mode"},
		{`{"mode": "plan"}`, edit, "queue mode"},
		{`{"mode": "ask", "permissions": {"allow": [{"tool": "put"}]}}`, edit, "allow rules"},
		{`{"mode": "readOnly", "permissions": {"allow": [{"tool": "put"}]}}`, edit, "deny mode"},
		{`{"mode": "auto", "permissions": {"deny": [{"tool": "PUT"}]}}`, edit, "deny rules"},
		{`{"mode": "auto", "permissions": {"deny": [{"tool": "put", "params": {"path": "x"}}]}}`, edit, "deny rules"},
		{`{"mode": "auto", "permissions": {"ask": [{"tool": "p*"}]}}`, edit, "ask rules"},
		{`{"mode": "auto", "permissions": {"allow": [{"tool": "put"}]}}`, command, "ask sandbox"},
		{`{"mode": "auto", "sandbox": {"level": "off"}}`, command, "ask sandbox"},
		{`{"mode": "auto", "sandbox": {"level": "strict"}}`, command, "deny sandbox"},
		{`{"mode": "auto", "review": "before"}`, edit, "ask mode"},
	} {
		s := session(t, &client{}, opener{"main": play(t, "")}, func(o *setup) { o.Config = settings(t, c.settings) })
		d := s.Judge(gate.Call{Tool: s.o.Tools().Get("put"), Needs: c.needs})
		if got := d.Verdict.String() + " " + d.Layer; got != c.want {
			t.Errorf("%s: %s (%s), want %s", c.settings, got, d.Reason, c.want)
		}
	}
}

type called struct {
	model.Model
	name string
}

func (c called) Name() string { return c.name }

// TestSettingsFollow changes the configuration of a session that runs.
func TestSettingsFollow(t *testing.T) {
	c := &client{}
	models := opener{"main": called{play(t, "say a"), "main"}, "other": called{play(t, "say b"), "other"}}
	s := session(t, c, models, func(o *setup) { o.Config = settings(t, `{"model": "main"}`) })
	s.Configure(Settings{Config: settings(t, `{"model": "other", "mode": "readOnly"}`), Models: models})
	if s.Mode() != gate.ModeReadOnly || s.Model() != "other" {
		t.Errorf("mode %s, model %s", s.Mode(), s.Model())
	}
	c.told(t, "mode readOnly\n")
	s.Configure(Settings{Config: settings(t, `{"model": "none/m", "mode": "readOnly"}`), Models: models})
	var e *model.Error
	if _, err := s.Prompt(t.Context(), text("go")); !errors.As(err, &e) || e.Message != "There is no none/m." {
		t.Errorf("a model that cannot be had: %v", err)
	}
	s.Configure(Settings{Config: settings(t, `{"mode": "readOnly"}`), Models: models})
	if r := ask(t, s, "go"); r.Stop != EndTurn || s.Model() != "main" {
		t.Errorf("the default one: %+v, model %s", r, s.Model())
	}

	// What was chosen for the session stays.
	for _, err := range []error{s.SetMode(gate.ModeAuto), s.SetModel("main")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Configure(Settings{Config: settings(t, `{"model": "other", "mode": "ask"}`), Models: models})
	if s.Mode() != gate.ModeAuto || s.Model() != "main" {
		t.Errorf("mode %s, model %s", s.Mode(), s.Model())
	}
	// The default is a choice that follows.
	if err := s.SetModel(""); err != nil {
		t.Fatal(err)
	}
	s.Configure(Settings{Config: settings(t, `{"model": "main", "writes": "serial"}`), Models: models})
	if s.Model() != "main" || !s.host(0, s.o.Now(), nil, s.Tools).Schedule.Serial {
		t.Errorf("model %s", s.Model())
	}
	// It is that of now, not the one of when it was first asked for.
	newer := opener{"main": called{play(t, "say c"), "newer"}, "other": models["other"]}
	if err := errors.Join(s.SetModel(""), s.SetModel("other")); err != nil {
		t.Fatal(err)
	}
	s.Configure(Settings{Config: settings(t, `{"model": "newer", "writes": "serial"}`), Models: newer})
	if err := s.SetModel(""); err != nil || s.Model() != "newer" {
		t.Errorf("the default model is %s, %v", s.Model(), err)
	}
}

func TestLargeImagesAreNotShown(t *testing.T) {
	s := session(t, &client{}, opener{"main": play(t, "say a\n\nsay b")}, func(o *setup) {
		o.Config = settings(t, `{"limits": {"maxImageBytes": 1000}}`)
	})
	picture := func(size int) Input {
		return Input{Blocks: []prompt.Block{{Type: "image", MIMEType: "image/png", Name: "cat", Data: bytes.Repeat([]byte("x"), size)}}}
	}
	for size, want := range map[int]string{1000: "(Attached image: cat)", 1001: "(Attached, but it cannot be shown to you: image/png cat)"} {
		in := picture(size)
		said, err := s.message(in)
		if err != nil || !strings.Contains(said.Text, want) || (len(said.Attachments) == 1) != (size == 1000) {
			t.Errorf("%d bytes: %q, %d images, %v", size, said.Text, len(said.Attachments), err)
		}
		if len(in.Blocks[0].Data) != size {
			t.Error("the caller's blocks were changed")
		}
	}
	// Their person is told, too.
	c := &client{}
	s = session(t, c, opener{"main": play(t, "say a")}, func(o *setup) {
		o.Config = settings(t, `{"limits": {"maxImageBytes": 1000}}`)
	})
	if _, err := s.Prompt(t.Context(), picture(1001)); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(c.events, func(e Event) bool { return strings.Contains(e.Notice, "image/png cat") }) {
		t.Errorf("%+v", c.events)
	}
}

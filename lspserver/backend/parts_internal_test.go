package backend

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/run"
)

// TestConsent asks about each wide folder until a person says yes, and makes no root of one that nobody has allowed.
func TestConsent(t *testing.T) {
	home := sandbox.Canonical(t.TempDir())
	project := filepath.Join(home, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	roots := &sandbox.Roots{Home: home}
	asked, answer := 0, false
	ask := func(context.Context, string) bool { asked++; return answer }
	isRoot := func(path string) bool { _, err := roots.Place(filepath.Join(path, "a")); return err == nil }
	var c consent
	for i, step := range []struct {
		ask    func(context.Context, string) bool
		answer bool
		folder string
		ok     bool
		asked  int
	}{
		{ask, false, project, true, 0}, // not wide
		{nil, true, home, false, 0},    // nobody can be asked
		{ask, false, home, false, 1},
		{ask, true, home, true, 2},
		{ask, false, home, true, 2}, // remembered
	} {
		answer = step.answer
		err := c.add(t.Context(), roots, step.ask, step.folder)
		if (err == nil) != step.ok || asked != step.asked || isRoot(filepath.Join(home, "elsewhere")) != (i >= 3) || err != nil && !NotPermitted.Is(err) {
			t.Errorf("%d: %v, asked %d times, the home folder is a root: %t", i, err, asked, isRoot(filepath.Join(home, "elsewhere")))
		}
	}
}

// TestTally counts calls by tool, and those of tools that nobody has as one.
func TestTally(t *testing.T) {
	var tl tally
	for _, e := range []run.Event{
		{Tool: "b", Source: "builtin", Result: &tools.Result{Success: true, Data: "12345", Duration: 2 * time.Millisecond}},
		{Tool: "b", Source: "builtin", Result: &tools.Result{Data: "1", Duration: time.Millisecond}},
		{Tool: "x", Result: &tools.Result{}},
		{Tool: "y", Result: &tools.Result{}},
	} {
		tl.count(&e)
	}
	tl.use(model.Usage{Input: 1})
	tl.use(model.Usage{Input: 2})
	figures, used := tl.figures()
	want := []ToolStats{{Name: "(unknown)", Calls: 2, Errors: 2}, {Name: "b", Calls: 2, Errors: 1, MS: 3, Bytes: 6, Tokens: 2}}
	if !slices.Equal(figures, want) || used.Input != 3 {
		t.Errorf("%+v, %+v", figures, used)
	}
}

// TestSettingsLoad says what has changed: a value, a problem alone, or nothing. The opener of models changes with a value.
func TestSettingsLoad(t *testing.T) {
	var s settings
	openers := 0
	load := func(text string) loading {
		s.loading.Lock()
		defer s.loading.Unlock()
		s.setSection([]byte(text))
		return s.load(config.Inputs{}, func(config.Config) model.Opener { openers++; return nothing{openers} })
	}
	for i, step := range []struct {
		section       string
		first         bool
		changed, news bool
		openers       int
	}{
		{`{}`, true, true, true, 1},
		{`{}`, false, false, false, 1},
		{`{"mode": "readOnly"}`, false, true, true, 2},
		{`{"mode": "readOnly", "nonsense": 1}`, false, false, true, 2},
		{`{"mode": "readOnly"}`, false, false, true, 2},
	} {
		l := load(step.section)
		if l.first != step.first || l.changed != step.changed || l.news != step.news || openers != step.openers {
			t.Errorf("%d: %t %t %t, %d openers", i, l.first, l.changed, l.news, openers)
		}
		if now := s.current(); now.Models != s.opener() || now.Config.Mode != s.config().Mode {
			t.Errorf("%d: %+v", i, now)
		}
	}
	if s.setSection([]byte(`{"mode": "readOnly"}`)) {
		t.Error("the same section is a change")
	}
}

type nothing struct{ n int }

func (nothing) Open(string) (model.Model, error) { return nil, &model.Error{Kind: "unavailable"} }
func (nothing) Names() []string                  { return nil }
func (nothing) API(string) string                { return "" }

// TestSettingsReport reports a problem as new until it was reported, and again after it was away.
func TestSettingsReport(t *testing.T) {
	var s settings
	for i, step := range []struct {
		section   string
		all, news int
	}{{`{"nonsense": 1}`, 1, 1}, {`{"nonsense": 1, "rubbish": 2}`, 2, 1}, {`{}`, 0, 0}, {`{"nonsense": 1}`, 1, 1}} {
		s.setSection([]byte(step.section))
		s.load(config.Inputs{}, func(config.Config) model.Opener { return nothing{} })
		all, _ := s.report()
		news := 0
		for _, p := range all {
			if p.New {
				news++
			}
		}
		if len(all) != step.all || news != step.news || len(s.remarks()) != step.all {
			t.Errorf("%d: %d problems, %d new, %d remarks", i, len(all), news, len(s.remarks()))
		}
	}
}

// TestSettingsFolders keeps the order of folders, each once; those of sessions do not become the workspace's.
func TestSettingsFolders(t *testing.T) {
	var s settings
	s.changeFolders(nil, []string{"/a", "/b"})
	if !s.addOthers([]string{"/b", "/c"}) || s.addOthers([]string{"/c", "/a"}) {
		t.Error("what is new is not said")
	}
	s.changeFolders([]string{"/a"}, []string{"/b", "/d"})
	if got := s.workspace(); !slices.Equal(got, []string{"/b", "/d"}) {
		t.Error(got)
	}
	if more := s.inputs(config.Inputs{More: []string{"/z"}}).More; !slices.Equal(more, []string{"/z", "/b", "/d", "/c"}) {
		t.Error(more)
	}
}

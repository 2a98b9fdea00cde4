package toolstest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/tools"
	"tandem/tools/run"
)

// Contract checks what holds for every tool, wherever it comes from: that it says all that a
// scheduler, a person and a model need, that what it says fits together, and that it refuses
// arguments of the wrong shape with issues, called through the pipeline and without it. A tool that
// takes any object has no wrong parameters, only arguments that are no object.
func Contract(t *testing.T, x tools.Tool) {
	t.Helper()
	s := x.Spec()
	switch {
	case !s.Kind.Known(), !s.Class.Known(), s.Category == "", s.Source == "",
		!slices.Contains([]tools.Danger{tools.Safe, tools.Moderate, tools.Dangerous}, s.Danger):
		t.Errorf("%s: incomplete: %+v", s.Name, s)
	case s.Kind.ReadOnly() != (s.Class == tools.ClassRead):
		t.Errorf("%s: kind %s and class %s", s.Name, s.Kind, s.Class)
	case s.Kind.ReadOnly() && !s.NotDestructive:
		t.Errorf("%s only reads, and is destructive", s.Name)
	case strings.TrimSpace(s.Description) == "", s.Summary() == "":
		t.Errorf("%s: no description", s.Name)
	}
	js := x.Schema().JSON()
	var root struct{ Type string }
	if err := json.Unmarshal(js, &root); err != nil || root.Type != "object" || !slices.Equal(js, x.Schema().JSON()) {
		t.Errorf("%s: the schema is %s (%v)", s.Name, js, err)
	}
	if x.Title([]byte("{}")) == "" || x.Title([]byte(`{"path":`)) == "" || x.Title(nil) == "" {
		t.Errorf("%s: no title", s.Name)
	}
	env := Workspace(t, &txtar.Archive{})
	for _, args := range []string{`{"no such parameter":1}`, `[]`, `{`, `7`, `{}{}`} {
		if args[0] == '{' && json.Valid([]byte(args)) && len(x.Schema().Params()) == 0 {
			continue
		}
		_, err := x.Plan(t.Context(), env, json.RawMessage(args))
		var refusal *tools.Refusal
		if !errors.As(err, &refusal) || refusal.Result.Error != tools.InvalidArgs || len(refusal.Result.Issues) == 0 {
			t.Errorf("%s %s: %v", s.Name, args, err)
		}
		w := NewWorld(t, x)
		w.Answer = run.Answer{Outcome: run.Rejected}
		if r := w.Call(strings.ToUpper(s.Name), args); r.Error != tools.InvalidArgs || len(r.Issues) == 0 || len(w.Asked) != 0 {
			t.Errorf("%s %s: %+v", s.Name, args, r)
		}
	}
}

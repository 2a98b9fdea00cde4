package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/jobs"
)

// TestEnvOfNobody is what an environment says that no pipeline and no host has filled: everything may be read, nothing is refused, nobody
// is asked, and nothing is remembered.
func TestEnvOfNobody(t *testing.T) {
	var env tools.Env
	place := placeOf(t, "a.txt")
	if !env.Judged.MayRead(place) || env.Judged.Denied(place) || env.Judged.Waiting().Done() != nil {
		t.Error("a call that no pipeline carries out is judged")
	}
	if err := env.Judged.Again(t.Context(), "", nil, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	env.Person.Progress(tools.Progress{Text: "x"})
	env.Person.Asking()()
	if _, err := env.Person.Clarify(t.Context(), tools.Clarification{}); !errors.Is(err, errors.ErrUnsupported) || env.Person.Asked() {
		t.Error(err)
	}
	if env.Searches.Buffers() != nil || env.Servers.Compares() || env.Commands.Outlasts(false) || env.Commands.Profile() != sandbox.Loopback {
		t.Errorf("%+v", env)
	}
	if _, err := env.Servers.Ask(); !errors.As(err, new(*tools.NoServerError)) {
		t.Error(err)
	}
	list := []tools.Finding{{Message: "a"}}
	if got := env.Servers.New("/w/a", list); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func placeOf(t *testing.T, name string) sandbox.Place {
	t.Helper()
	dir := t.TempDir()
	paths := &sandbox.Paths{Cwd: dir, Read: []string{dir}}
	t.Cleanup(paths.Close)
	place, err := paths.Readable(name)
	if err != nil {
		t.Fatal(err)
	}
	return place
}

// TestEnvJudged hands each question to who judges it.
func TestEnvJudged(t *testing.T) {
	open, closed := placeOf(t, "open.txt"), placeOf(t, "closed.txt")
	ctx, end := context.WithCancel(t.Context())
	var asked []string
	j := tools.Judged{
		Context: ctx,
		Allows:  func(p sandbox.Place) bool { return p == open },
		Denies:  func(p sandbox.Place) bool { return p == closed },
		More: func(_ context.Context, title string, _ json.RawMessage, _ []tools.Need) error {
			asked = append(asked, title)
			return context.Canceled
		},
	}
	if !j.MayRead(open) || j.MayRead(closed) || j.Denied(open) || !j.Denied(closed) {
		t.Error("a place is judged in another way than by who judges")
	}
	if err := j.Again(t.Context(), "Fetch b.org", nil, nil); !errors.Is(err, context.Canceled) || !slices.Equal(asked, []string{"Fetch b.org"}) {
		t.Error(err, asked)
	}
	if end(); j.Waiting().Err() == nil {
		t.Error("it waits for a call that has ended")
	}
}

// TestEnvCommands: a command outlasts its answer where there are jobs, the host lets it, and nobody has named a time for it.
func TestEnvCommands(t *testing.T) {
	for _, c := range []struct {
		env   tools.CommandEnv
		named bool
		want  bool
	}{
		{tools.CommandEnv{Jobs: jobs.New(), Continues: true}, false, true},
		{tools.CommandEnv{Jobs: jobs.New(), Continues: true}, true, false},
		{tools.CommandEnv{Jobs: jobs.New()}, false, false},
		{tools.CommandEnv{Continues: true}, false, false},
	} {
		if got := c.env.Outlasts(c.named); got != c.want {
			t.Errorf("%+v, named %t: %t", c.env, c.named, got)
		}
	}
	if p := (tools.CommandEnv{Confined: sandbox.Proxy}).Profile(); p != sandbox.Proxy {
		t.Error(p)
	}
}

// TestEnvServers compares with what was found before the session changed a file.
func TestEnvServers(t *testing.T) {
	s := tools.CodeServers{Findings: &tools.Findings{}}
	old, fresh := tools.Finding{Message: "old"}, tools.Finding{Message: "fresh"}
	s.Findings.Keep("/w/a", []tools.Finding{old})
	if got := s.New("/w/a", []tools.Finding{old, fresh}); len(got) != 1 || got[0].Message != "fresh" || s.Compares() {
		t.Errorf("%v, compares %t", got, s.Compares())
	}
}

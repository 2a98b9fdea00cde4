package agent

import (
	"context"
	"slices"
	"testing"

	"tandem/agent/config"
	"tandem/agent/model"
)

// counting opens a new model at each call, under the full name of the one that was asked for.
type counting struct {
	opener
	full   map[string]string
	during func() // runs while a model is opened
	count  int
}

func (o *counting) Open(name string) (model.Model, error) {
	if o.during != nil {
		o.during()
	}
	full, ok := o.full[name]
	if !ok {
		return nil, &model.Error{Kind: "unavailable"}
	}
	o.count++
	return &numbered{full, o.count}, nil
}

type numbered struct {
	name string
	n    int
}

func (m *numbered) Name() string { return m.name }

func (*numbered) Stream(context.Context, model.Request, func(model.Delta)) (model.Response, error) {
	return model.Response{}, nil
}

// TestModelsCache has one name stay one model until the configuration of models changes.
func TestModelsCache(t *testing.T) {
	base := config.Default()
	base.Model = "a"
	cases := []struct {
		name   string
		change func(*config.Config)
		anew   []string // the names that are opened anew after the change
	}{
		{"nothing", func(*config.Config) {}, nil},
		{"a setting of something else", func(c *config.Config) { c.Mode = "auto" }, nil},
		{"the default model", func(c *config.Config) { c.Model = "b" }, []string{""}},
		{"retry", func(c *config.Config) { c.Retry.Attempts++ }, []string{"", "short", "p/long"}},
		{"a provider", func(c *config.Config) { c.Providers = map[string]config.Provider{"p": {}} }, []string{"", "short", "p/long"}},
		{"fallback models", func(c *config.Config) { c.FallbackModels = []string{"b"} }, []string{"", "short", "p/long"}},
	}
	names := []string{"", "short", "p/long"}
	for _, c := range cases {
		o := &counting{full: map[string]string{"": "p/a", "short": "p/long", "p/long": "p/long"}}
		m := newModels()
		m.configure(base, o)
		before := map[string]model.Model{}
		for _, name := range names {
			before[name] = opened(t, m, name)
		}
		if before["short"] != before["p/long"] {
			t.Error("a short name and the full one are two models")
		}
		after := base
		c.change(&after)
		o.full[""] = "p/" + after.Model
		m.configure(after, o)
		for _, name := range names {
			if anew := opened(t, m, name) != before[name]; anew != slices.Contains(c.anew, name) {
				t.Errorf("%s: %q is opened anew: %t", c.name, name, anew)
			}
		}
	}
}

func opened(t *testing.T, m *models, name string) model.Model {
	t.Helper()
	got, err := m.open(name)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestModelsOutdated does not cache a model that was being opened while the configuration changed.
func TestModelsOutdated(t *testing.T) {
	o := &counting{full: map[string]string{"a": "p/a"}}
	m := newModels()
	m.configure(config.Default(), o)
	o.during = func() {
		o.during = nil
		next := config.Default()
		next.Retry.Attempts++
		m.configure(next, o)
	}
	old := opened(t, m, "a")
	if m.cached("a") != nil || opened(t, m, "a") == old {
		t.Error("an outdated model is in the cache")
	}
	m.forget()
	if m.cached("a") != nil {
		t.Error("a forgotten model is in the cache")
	}
}

// TestModelsFollow has the session's model follow the configured one, unless the user has chosen it.
func TestModelsFollow(t *testing.T) {
	o := &counting{full: map[string]string{"a": "p/a", "b": "p/b", "": "p/a"}}
	configured := func(name string) config.Config {
		c := config.Default()
		c.Model = name
		return c
	}
	m := newModels()
	m.configure(configured("a"), o)
	if m.current() != "" {
		t.Errorf("%q before a choice", m.current())
	}
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { _, err := m.choose("a", false); return err }, "p/a"},
		{func() error { m.configure(configured("b"), o); return nil }, "b"},
		{func() error { m.resolved("x", "p/x"); return nil }, "b"},
		{func() error { m.resolved("b", "p/b"); return nil }, "p/b"},
		{func() error { _, err := m.choose("a", true); return err }, "p/a"},
		{func() error { m.configure(configured("a"), o); m.configure(configured("b"), o); return nil }, "p/a"},
		{func() error {
			if _, err := m.choose("none", true); err == nil {
				t.Error("an unknown model was chosen")
			}
			return nil
		}, "p/a"},
	} {
		if err := step.do(); err != nil || m.current() != step.want {
			t.Errorf("%q, %v; want %q", m.current(), err, step.want)
		}
	}
	if m.resolved("p/a", "p/a") {
		t.Error("the same name is a change")
	}
}

package agent

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"tandem/agent/config"
	"tandem/agent/model"
)

// models is the choice of a session's model and a cache of opened models. A scripted model has state from turn to turn, so one name
// stays one model until the configuration of models changes. Opening may take long, so it happens outside of the lock.
type models struct {
	mu         sync.Mutex
	config     modelConfig
	opener     model.Opener
	generation int // incremented when the cache is cleared: a model that was being opened meanwhile is outdated
	opened     map[string]model.Model
	name       string
	chosen     bool // by the user for this session, so that it does not follow the configuration
}

// modelConfig is what of a configuration decides which model a name stands for.
type modelConfig struct {
	providers map[string]config.Provider
	retry     config.Retry
	fallback  []string
	byDefault string
}

func newModels() *models { return &models{opened: map[string]model.Model{}} }

// configure replaces the configuration for the next opening. Models of a changed configuration are opened anew. The session's model
// follows the configured one unless the user has chosen it.
func (m *models) configure(c config.Config, opener model.Opener) {
	next := modelConfig{c.Providers, c.Retry, c.FallbackModels, c.Model}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.config
	if !reflect.DeepEqual(before.providers, next.providers) || before.retry != next.retry || !slices.Equal(before.fallback, next.fallback) {
		clear(m.opened)
		m.generation++
	}
	if before.byDefault != next.byDefault {
		delete(m.opened, "") // "" is the default model
		m.generation++
		if m.name != "" && !m.chosen {
			m.name = next.byDefault // opened by the next prompt
		}
	}
	m.config, m.opener = next, opener
}

// choose opens a model and makes it the session's; "" is the default one. With chosen it no longer follows the configuration.
func (m *models) choose(name string, chosen bool) (full string, err error) {
	opened, err := m.open(name)
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.name, m.chosen = opened.Name(), chosen
	return m.name, nil
}

// resolved replaces the session's model by the full name that opening it gave, and reports whether it did.
func (m *models) resolved(short, full string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.name != short || full == short {
		return false
	}
	m.name = full
	return true
}

// current is the name of the session's model.
func (m *models) current() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.name
}

// cached is an opened model, or nil.
func (m *models) cached(name string) model.Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.opened[name]
}

// open gives a model, from the cache if it is there.
func (m *models) open(name string) (model.Model, error) {
	m.mu.Lock()
	known, opener, generation := m.opened[name], m.opener, m.generation
	m.mu.Unlock()
	if known != nil {
		return known, nil
	}
	opened, err := opener.Open(name)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.generation != generation {
		return opened, nil
	}
	if known := m.opened[opened.Name()]; known != nil {
		opened = known
	}
	m.opened[name], m.opened[opened.Name()] = opened, opened
	return opened, nil
}

// forget clears the cache, so that the next prompt reads the keys again.
func (m *models) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.opened)
}

// window is how many tokens a model can read, 0 if unknown.
func (m *models) window(name string) int64 {
	m.mu.Lock()
	opener := m.opener
	m.mu.Unlock()
	if s, ok := opener.(model.Sizer); ok {
		return s.Window(name)
	}
	return 0
}

// provider is the first part of a model's name, "anthropic" of "anthropic/…" and "script" of "script:…", and the protocol that it
// speaks.
func (m *models) provider(name string) [2]string {
	if i := strings.IndexAny(name, "/:"); i >= 0 {
		name = name[:i]
	}
	m.mu.Lock()
	opener := m.opener
	m.mu.Unlock()
	return [2]string{name, opener.API(name)}
}

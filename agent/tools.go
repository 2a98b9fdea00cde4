package agent

import (
	"maps"
	"slices"
	"sync"

	"tandem/agent/store"
	"tandem/tools"
)

// toolset is a cache of one set: the tools of all sessions, as models of a provider take them, with the layer of a turn. The zero
// value is empty.
type toolset struct {
	mu       sync.Mutex
	base     *tools.Set
	provider [2]string
	set      *tools.Set
}

// of gives the set for a base. The layer, which may be nil, is the same at every call.
func (t *toolset) of(base *tools.Set, provider [2]string, layer *tools.Layer) *tools.Set {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.set == nil || t.base != base || t.provider != provider {
		t.base, t.provider, t.set = base, provider, base
		if layer != nil {
			t.set = t.set.With(*layer)
		}
		t.set = t.set.Narrow(tools.ForProvider(provider[:]...))
	}
	return t.set
}

// loadedTools are the names of the deferred tools that the model has asked for. The zero value has none.
type loadedTools struct {
	mu    sync.Mutex
	names map[string]bool
}

// add gives those of the names that are new.
func (l *loadedTools) add(names ...string) (fresh []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		if !l.names[name] {
			if l.names == nil {
				l.names = map[string]bool{}
			}
			l.names[name] = true
			fresh = append(fresh, name)
		}
	}
	return fresh
}

// all are the names as of now.
func (l *loadedTools) all() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.names)
}

// Tools is the present set of the session's tools: those that its model's provider takes. A turn may have more.
func (s *Session) Tools() *tools.Set { return s.tools.of(s.base(), s.models.provider(s.Model()), nil) }

// Tools is the present set of the turn's tools.
func (t *Turn) Tools() *tools.Set {
	return t.tools.of(t.s.base(), t.s.models.provider(t.name), t.in.Tools)
}

// Offer is what the next request of the session's model shows of its tools.
func (s *Session) Offer() tools.Offer { return s.offer(s.Tools()) }

// offer leaves tools out whose calls would be refused or of no use, and defers others.
func (s *Session) offer(set *tools.Set) tools.Offer {
	threshold, loaded := s.config().DeferTools.Threshold, s.loaded.all()
	list := slices.DeleteFunc(set.List(), func(t tools.Tool) bool {
		stage, _ := s.Drops(t.Spec())
		return stage != ""
	})
	return tools.NewOffer(list, threshold, func(name string) bool {
		return loaded[name] || name == tools.JobOutput || name == tools.JobKill // these are on offer where a command needs them
	})
}

// load has the following requests show deferred tools in full, in this session for good.
func (s *Session) load(names ...string) {
	if names = s.loaded.add(names...); len(names) > 0 {
		s.mu.Lock()
		turn := s.turns
		s.mu.Unlock()
		s.record.add(s.record.entry(turn, store.Loaded, "", "", body{Names: names}))
	}
}

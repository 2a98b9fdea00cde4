package tools

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tandem/tools/schema"
)

// Registry holds the tools of a server: nothing else knows which there are. Names and aliases match case-insensitively
// and are unique together. All methods may be called concurrently.
type Registry struct {
	mu sync.RWMutex
	// tools are by folded name, names leads from every folded name and alias to the folded name.
	tools map[string]Tool
	names map[string]string
	// disabled are folded names as somebody wrote them, aliases included; so are only, which is nil where all will do.
	disabled, only map[string]bool
	flags          map[string]bool
}

// NewRegistry makes an empty Registry.
func NewRegistry() *Registry {
	return &Registry{tools: map[string]Tool{}, names: map[string]string{}}
}

// Register adds t. A name or alias that is taken is an error naming its holder, and then nothing has changed.
func (r *Registry) Register(t Tool) error {
	spec := t.Spec()
	if strings.TrimSpace(spec.Name) == "" {
		return fmt.Errorf("tools: a tool needs a name")
	}
	name := strings.ToLower(spec.Name)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range append([]string{spec.Name}, spec.Aliases...) {
		if holder, taken := r.names[strings.ToLower(n)]; taken {
			by := r.tools[holder].Spec().Name
			return fmt.Errorf("tools: the name %q of tool %s is taken by tool %s", n, spec.Name, by)
		}
	}
	r.tools[name] = t
	r.names[name] = name
	for _, a := range spec.Aliases {
		r.names[strings.ToLower(a)] = name
	}
	return nil
}

// Unregister takes the tool of that name or alias out and says whether there was one.
func (r *Registry) Unregister(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	folded, ok := r.names[strings.ToLower(name)]
	if !ok {
		return false
	}
	delete(r.tools, folded)
	for n, holder := range r.names {
		if holder == folded {
			delete(r.names, n)
		}
	}
	return true
}

// SetDisabled replaces the set of tools, by name or alias, that are registered but not to be had. Names that no tool
// has yet are kept for the day that one comes.
func (r *Registry) SetDisabled(names []string) {
	disabled := folded(names)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.disabled = disabled
}

// SetOffer says which tools, by name or alias, can be had at all, nil for every one, and which feature flags are set: a
// tool behind a flag can be had where the flag is true.
func (r *Registry) SetOffer(only []string, flags map[string]bool) {
	flags = maps.Clone(flags)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.only, r.flags = nil, flags
	if only != nil {
		r.only = folded(only)
	}
}

func folded(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[strings.ToLower(n)] = true
	}
	return set
}

// Get gives the tool of that name or alias; nil where there is none or it is disabled.
func (r *Registry) Get(name string) Tool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t := r.tools[r.names[strings.ToLower(name)]]
	if t == nil || r.off(t) {
		return nil
	}
	return t
}

// DisabledBy says what keeps a registered tool from being had, "" where nothing does or there is no such tool.
func (r *Registry) DisabledBy(name string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if t := r.tools[r.names[strings.ToLower(name)]]; t != nil && r.off(t) {
		return "config"
	}
	return ""
}

func (r *Registry) off(t Tool) bool {
	spec := t.Spec()
	in := func(set map[string]bool) bool {
		return len(set) > 0 && (set[strings.ToLower(spec.Name)] || slices.ContainsFunc(spec.Aliases, func(a string) bool {
			return set[strings.ToLower(a)]
		}))
	}
	return in(r.disabled) || r.only != nil && !in(r.only) || spec.Flag != "" && !r.flags[spec.Flag]
}

// List gives the tools that can be had, sorted by name.
func (r *Registry) List() []Tool { return r.list(false) }

// All is List with the disabled tools.
func (r *Registry) All() []Tool { return r.list(true) }

func (r *Registry) list(disabled bool) []Tool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	list := make([]Tool, 0, len(r.tools))
	for _, t := range r.tools {
		if disabled || !r.off(t) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b Tool) int { return cmp.Compare(a.Spec().Name, b.Spec().Name) })
	return list
}

// Nearest gives up to three names of tools that can be had and that name was probably meant to be, the likeliest first.
func (r *Registry) Nearest(name string) []string {
	name = strings.ToLower(name)
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, t := range r.List() {
		spec := t.Spec()
		best := candidate{spec.Name, len(name) + len(spec.Name)}
		for _, n := range append([]string{spec.Name}, spec.Aliases...) {
			n = strings.ToLower(n)
			d := schema.Distance(name[:min(len(name), 64)], n) // a model may have written anything
			if len(name) > 2 && (strings.Contains(n, name) || strings.Contains(name, n)) {
				d = 1
			}
			if d <= max(1, min(len(name), len(n))/3) {
				best.distance = min(best.distance, d)
			}
		}
		if best.distance < len(name)+len(spec.Name) {
			found = append(found, best)
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, c := range found[:min(3, len(found))] {
		names = append(names, c.name)
	}
	return names
}

package tools

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Rank says how near to a call a layer is; the nearest wins.
type Rank uint8

// The ranks, from the farthest on.
const (
	RankBuiltin Rank = iota
	RankPlugin
	RankMCP
	RankClient
	RankTurn
)

// Layer is the tools of one origin. It is never changed; the zero value has none.
type Layer struct {
	Rank Rank
	// Name tells layers of one rank apart, such as the id of a plug-in or the name of an MCP server. Of two the one whose name
	// sorts first is nearer.
	Name  string
	tools []Tool
}

// Len is how many tools there are.
func (l Layer) Len() int { return len(l.tools) }

// NewLayer makes a layer of tools, whose names and aliases are unique together, whatever the case of their letters. A tool
// without a name, with one that an earlier tool has, or that cannot be compared is left out, and the error says so.
func NewLayer(rank Rank, name string, list ...Tool) (Layer, error) {
	l := Layer{Rank: rank, Name: name}
	holders := map[string]string{}
	var errs []error
	for _, t := range list {
		spec := t.Spec()
		if err := claim(holders, t); err != nil {
			errs = append(errs, err)
			continue
		}
		for _, n := range namesOf(spec) {
			holders[n] = spec.Name
		}
		l.tools = append(l.tools, t)
	}
	return l, errors.Join(errs...)
}

func claim(holders map[string]string, t Tool) error {
	spec := t.Spec()
	if strings.TrimSpace(spec.Name) == "" {
		return errors.New("tools: a tool needs a name")
	}
	if !reflect.ValueOf(t).Comparable() {
		return fmt.Errorf("tools: the tool %s cannot be compared with ==", spec.Name)
	}
	for _, n := range append([]string{spec.Name}, spec.Aliases...) {
		if by, taken := holders[strings.ToLower(n)]; taken {
			return fmt.Errorf("tools: the name %q of tool %s is taken by tool %s", n, spec.Name, by)
		}
	}
	return nil
}

// namesOf are the folded name and aliases of a tool.
func namesOf(s Spec) []string {
	names := []string{strings.ToLower(s.Name)}
	for _, a := range s.Aliases {
		names = append(names, strings.ToLower(a))
	}
	return names
}

// View leaves tools out of a set. Drops must be a pure function; By is what a person knows it as: "config", "flag",
// "provider", "mode", …
type View struct {
	By    string
	Drops func(Spec) bool
	// Setting, if not "", is what the person has to set to have the tools that the view drops: they are not turned off, they have
	// nothing to work with.
	Setting string
}

// Without drops the tools of these names or aliases, whatever the case of their letters.
func Without(by string, names []string) View {
	set := folded(names)
	return View{By: by, Drops: func(s Spec) bool { return named(set, s) }}
}

// Only drops all tools but those of these names or aliases.
func Only(by string, names []string) View {
	set := folded(names)
	return View{By: by, Drops: func(s Spec) bool { return !named(set, s) }}
}

// WithFlags drops the tools that stand behind a feature flag which is not set.
func WithFlags(flags map[string]bool) View {
	flags = maps.Clone(flags)
	return View{By: "flag", Drops: func(s Spec) bool { return s.Flag != "" && !flags[s.Flag] }}
}

// ForProvider drops the tools that models of that provider do not take: it is named by none of these, its name and its protocol.
func ForProvider(names ...string) View {
	named := func(name string) bool { return name != "" && slices.Contains(names, name) }
	return View{By: "provider", Drops: func(s Spec) bool { return len(s.Providers) > 0 && !slices.ContainsFunc(s.Providers, named) }}
}

func folded(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[strings.ToLower(n)] = true
	}
	return set
}

func named(set map[string]bool, s Spec) bool {
	return slices.ContainsFunc(namesOf(s), func(n string) bool { return set[n] })
}

// NeedsSetting drops the tools of these names or aliases for lack of a setting.
func NeedsSetting(setting string, names ...string) View {
	v := Without("setting", names)
	v.Setting = setting
	return v
}

// Set is what may be called: layers, of which the nearest wins, seen through views. Names and aliases match
// case-insensitively. A tool is there under its own name or not at all: where a nearer tool has its name, or an alias that
// is its name, it is covered, and taking the nearer layer out uncovers it. A tool that a view drops still covers those below,
// so that what was refused by name is not had from elsewhere.
//
// A Set is never changed; With, Without and Narrow give another one. All methods may be called concurrently, nil is
// an empty set.
type Set struct {
	layers []Layer // the nearest first
	views  []View  // in the order in which they are asked

	tools   []Tool           // sorted by name, those that views drop included
	names   map[string]Tool  // by folded name and alias
	dropped map[string]*View // by folded name: the first view that drops it
	covered []Dropped
}

// NewSet makes a set of layers. Of two layers of the same rank and name the later one counts.
func NewSet(layers ...Layer) *Set { return (&Set{}).with(layers, nil) }

// With is the set with a layer put in, in the place of one of the same rank and name.
func (s *Set) With(l Layer) *Set { return s.with([]Layer{l}, nil) }

// Without is the set with the layer of that rank and name taken out.
func (s *Set) Without(rank Rank, name string) *Set {
	if s == nil {
		return NewSet()
	}
	n := &Set{views: s.views}
	for _, l := range s.layers {
		if l.Rank != rank || l.Name != name {
			n.layers = append(n.layers, l)
		}
	}
	return n.with(nil, nil)
}

// Layer gives the tools of the layer of that rank and name, views or not.
func (s *Set) Layer(rank Rank, name string) []Tool {
	if s == nil {
		return nil
	}
	for _, l := range s.layers {
		if l.Rank == rank && l.Name == name {
			return slices.Clone(l.tools)
		}
	}
	return nil
}

// Covers says that a tool of the set covers one of its name from another source.
func (s *Set) Covers(t Tool, source string) bool {
	return slices.ContainsFunc(s.covered, func(d Dropped) bool {
		return d.By == t.Spec().Name && strings.EqualFold(d.Tool.Spec().Name, d.By) && d.Tool.Spec().Source == source
	})
}

// Holder gives the tool of the layers that holds the name or an alias of t, views or not, and that name; nil where none does.
func (s *Set) Holder(t Tool) (by Tool, name string) {
	if s == nil {
		return nil, ""
	}
	spec := t.Spec()
	for _, n := range append([]string{spec.Name}, spec.Aliases...) {
		if by := s.names[strings.ToLower(n)]; by != nil {
			return by, n
		}
	}
	return nil, ""
}

// Narrow is the set seen through further views.
func (s *Set) Narrow(views ...View) *Set { return s.with(nil, views) }

func (s *Set) with(layers []Layer, views []View) *Set {
	n := &Set{names: map[string]Tool{}, dropped: map[string]*View{}}
	if s != nil {
		n.layers, n.views = slices.Clone(s.layers), slices.Concat(s.views, views)
	}
	for _, l := range layers {
		n.layers = slices.DeleteFunc(n.layers, func(o Layer) bool { return o.Rank == l.Rank && o.Name == l.Name })
		n.layers = append(n.layers, l)
	}
	slices.SortFunc(n.layers, func(a, b Layer) int { return cmp.Or(cmp.Compare(b.Rank, a.Rank), cmp.Compare(a.Name, b.Name)) })
	for _, l := range n.layers {
		taken := maps.Clone(n.names) // a layer's own tools do not cover one another
		for _, t := range l.tools {
			spec := t.Spec()
			if by, is := taken[strings.ToLower(spec.Name)]; is {
				n.covered = append(n.covered, Dropped{t, by.Spec().Name})
				continue
			}
			n.tools = append(n.tools, t)
			for _, name := range namesOf(spec) {
				if _, is := taken[name]; !is {
					n.names[name] = t
				}
			}
			if i := slices.IndexFunc(n.views, func(v View) bool { return v.Drops(spec) }); i >= 0 {
				n.dropped[strings.ToLower(spec.Name)] = &n.views[i]
			}
		}
	}
	slices.SortFunc(n.tools, func(a, b Tool) int { return cmp.Compare(a.Spec().Name, b.Spec().Name) })
	return n
}

// Get gives the tool of that name or alias; nil where there is none or a view drops it.
func (s *Set) Get(name string) Tool {
	if s == nil {
		return nil
	}
	t := s.names[strings.ToLower(name)]
	if t == nil || s.dropping(t) != nil {
		return nil
	}
	return t
}

func (s *Set) dropping(t Tool) *View { return s.dropped[strings.ToLower(t.Spec().Name)] }

// Dropping is the view that drops the tool of that name or alias; nil where none does or there is no such tool.
func (s *Set) Dropping(name string) *View {
	if s == nil {
		return nil
	}
	if t := s.names[strings.ToLower(name)]; t != nil {
		return s.dropping(t)
	}
	return nil
}

// DroppedBy is By of the view that drops the tool of that name or alias; "" where none does or there is no such tool.
func (s *Set) DroppedBy(name string) string {
	if v := s.Dropping(name); v != nil {
		return v.By
	}
	return ""
}

// Holds says that a tool is in one of the layers, covered or not, and that no view drops it.
func (s *Set) Holds(t Tool) bool {
	return s != nil &&
		slices.ContainsFunc(s.layers, func(l Layer) bool { return slices.Contains(l.tools, t) }) &&
		!slices.ContainsFunc(s.views, func(v View) bool { return v.Drops(t.Spec()) })
}

// List gives the tools that can be had, sorted by name.
func (s *Set) List() []Tool {
	if s == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.tools), func(t Tool) bool { return s.dropping(t) != nil })
}

// All is List with the tools that views drop.
func (s *Set) All() []Tool {
	if s == nil {
		return nil
	}
	return slices.Clone(s.tools)
}

// Dropped is a tool that cannot be had, and by what: a view, or the name of the tool that covers it.
type Dropped struct {
	Tool Tool
	By   string
}

// Explain gives the tools of the layers that cannot be had, sorted by name.
func (s *Set) Explain() []Dropped {
	if s == nil {
		return nil
	}
	out := slices.Clone(s.covered)
	for _, t := range s.tools {
		if v := s.dropping(t); v != nil {
			out = append(out, Dropped{t, v.By})
		}
	}
	slices.SortStableFunc(out, func(a, b Dropped) int { return cmp.Compare(a.Tool.Spec().Name, b.Tool.Spec().Name) })
	return out
}

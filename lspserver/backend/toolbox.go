package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tandem/tools"
	"tandem/tools/foreign"
	"tandem/tools/run"
)

// toolbox holds the tools of the backend: a set of layers, and the same seen through the views of the configuration. Sets are never
// changed; a change makes another one.
type toolbox struct {
	changing sync.Mutex // held while one set takes the place of another, and its events are sent
	layers   *tools.Set // without views
	views    []tools.View
	// open says that the client is told of changes: it must not hear of any before it has the answer to its first message.
	open bool
	now  atomic.Pointer[tools.Set]

	mu      sync.Mutex
	plugins []Plugin // of the configuration, in its order
}

// swapPlugins replaces the plug-ins, and gives those before.
func (t *toolbox) swapPlugins(next []Plugin) (before []Plugin) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, t.plugins = t.plugins, next
	return before
}

// pluginList is the plug-ins.
func (t *toolbox) pluginList() []Plugin {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.plugins)
}

// Tools is the set of tools by the present configuration.
func (b *Backend) Tools() *tools.Set { return b.toolbox.now.Load() }

// changeTools replaces the layers, unless change fails.
func (b *Backend) changeTools(change func(*tools.Set) (*tools.Set, error)) error {
	t := &b.toolbox
	t.changing.Lock()
	defer t.changing.Unlock()
	layers, err := change(t.layers)
	if err != nil {
		return err
	}
	t.layers = layers
	b.showTools()
	return nil
}

// viewTools replaces the views.
func (b *Backend) viewTools(views []tools.View) {
	t := &b.toolbox
	t.changing.Lock()
	defer t.changing.Unlock()
	t.views = views
	b.showTools()
}

// openTools has the client told of changes from now on.
func (b *Backend) openTools() {
	t := &b.toolbox
	t.changing.Lock()
	defer t.changing.Unlock()
	t.open = true
}

// showTools makes what is seen through the views the present set. b.toolbox.changing is held.
func (b *Backend) showTools() {
	t := &b.toolbox
	if before := t.now.Swap(t.layers.Narrow(t.views...)); t.open {
		b.tellTools(before)
	}
}

// tellTools tells the client by what the tools differ from those before, first those of all sessions, then those of each.
func (b *Backend) tellTools(before *tools.Set) {
	was, is := before.List(), b.Tools().List()
	b.tellOf("", without(was, is), without(is, was))
	for _, se := range b.All() {
		b.tellSession(se)
	}
}

// tellSession tells the client of tools that a session has or lacks by itself: those of its MCP servers, and those that are not for the
// provider of its model.
func (b *Backend) tellSession(se *Session) {
	se.telling.Lock()
	defer se.telling.Unlock()
	extra, lacks := b.differs(se)
	has := se.Tools().List()
	gone := slices.Concat(without(se.extra, has), without(lacks, se.lacks))
	come := slices.Concat(without(extra, se.extra), common(se.lacks, has))
	se.extra, se.lacks = extra, lacks
	b.tellOf(se.id, gone, come)
}

// differs gives the tools that a session has beyond those of all sessions, and those of all sessions that it lacks.
func (b *Backend) differs(se *Session) (extra, lacks []tools.Tool) {
	all, has := b.Tools().List(), se.Tools().List()
	return without(has, all), without(all, has)
}

func (b *Backend) tellOf(session string, gone, come []tools.Tool) {
	if len(gone)+len(come) > 0 {
		b.Guard("telling of tools", func() { b.face.ToolsChanged(session, gone, come) })
	}
}

// common is the tools that are in both lists.
func common(list, other []tools.Tool) []tools.Tool { return without(list, without(list, other)) }

// without is a list without the tools of another.
func without(list, other []tools.Tool) []tools.Tool {
	return slices.DeleteFunc(slices.Clone(list), func(t tools.Tool) bool { return slices.Contains(other, t) })
}

// ToolSpec describes a tool that the client runs.
type ToolSpec = foreign.Spec

// ToolDescription is a ToolSpec as its owner writes it down.
type ToolDescription = foreign.Description

// Invocation is a call of a tool that the client runs. Arguments are checked and hold the defaults.
type Invocation struct {
	Session, Call, Tool string
	Arguments           json.RawMessage
}

// Register puts tools that the client runs into its layer, all of them or none. With replace a tool may have the name of a built-in one,
// which it covers. An error is an *Error of the kind Invalid, which names who holds a name that is taken.
func (b *Backend) Register(specs []ToolSpec, replace bool) error {
	return b.changeTools(func(s *tools.Set) (*tools.Set, error) {
		made, err := b.clientTools(tools.SourceClient, specs)
		if err != nil {
			return nil, err
		}
		for _, t := range made {
			by, name := s.Holder(t)
			if by != nil && !(replace && strings.EqualFold(t.Spec().Name, by.Spec().Name) && by.Spec().Source == tools.SourceBuiltin) {
				return nil, refuse(Invalid, "the name %q of the tool %s is taken by the tool %s (%s). Choose another name, or unregister that tool first.",
					name, t.Spec().Name, by.Spec().Name, run.Source(by.Spec()))
			}
		}
		l, err := tools.NewLayer(tools.RankClient, "", slices.Concat(s.Layer(tools.RankClient, ""), made)...)
		if err != nil {
			return nil, refuse(Invalid, "%v", err)
		}
		return s.With(l), nil
	})
}

// Unregister takes tools that the client has registered away, all of them or none. Calls that run end as they are, those that have
// not begun do not begin.
func (b *Backend) Unregister(names []string) error {
	return b.changeTools(func(s *tools.Set) (*tools.Set, error) {
		own := s.Layer(tools.RankClient, "")
		for _, name := range names {
			i := slices.IndexFunc(own, func(t tools.Tool) bool { return strings.EqualFold(t.Spec().Name, name) })
			if i < 0 {
				return nil, refuse(Invalid, "there is no registered tool %q. Only tools of tandem/tools/register can be unregistered.", clipped(name))
			}
			own = slices.Delete(own, i, i+1)
		}
		l, err := tools.NewLayer(tools.RankClient, "", own...)
		if err != nil {
			return nil, err
		}
		return s.With(l), nil
	})
}

// turnTools makes the layer of the tools of one turn; nil where there are none.
func (b *Backend) turnTools(specs []ToolSpec) (*tools.Layer, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	made, err := b.clientTools(tools.SourceTurn, specs)
	if err != nil {
		return nil, err
	}
	l, err := tools.NewLayer(tools.RankTurn, "", made...)
	if err != nil {
		return nil, refuse(Invalid, "%v", err)
	}
	return &l, nil
}

// maxClientTools bounds the tools of one request.
const maxClientTools = 500

func (b *Backend) clientTools(source string, specs []ToolSpec) ([]tools.Tool, error) {
	if len(specs) > maxClientTools {
		return nil, refuse(Invalid, "%d tools are too many; the limit is %d", len(specs), maxClientTools)
	}
	made := make([]tools.Tool, len(specs))
	for i, spec := range specs {
		spec.Source = source
		name := spec.Name
		t, err := foreign.New(spec, nil, func(ctx context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error) {
			raw, err := b.face.Invoke(ctx, Invocation{Session: env.Session, Call: env.Call, Tool: name, Arguments: args})
			if errors.Is(err, errors.ErrUnsupported) {
				err = errors.New("the editor has registered it, and does not run it")
			}
			if err != nil {
				return tools.Result{}, err
			}
			return foreign.Parse(raw), nil
		})
		if err != nil {
			return nil, refuse(Invalid, "%v", err)
		}
		made[i] = t
	}
	return made, nil
}

func clipped(name string) string { return fmt.Sprintf("%.80s", name) }

// SetModel changes the model of a session, see agent.Session.SetModel. A model of another provider may take other tools, of which the
// client is told.
func (b *Backend) SetModel(se *Session, name string) error {
	if err := se.SetModel(name); err != nil {
		return Refused(err)
	}
	b.tellSession(se)
	return nil
}

// Offer is what a request of a new session would show a model of the tools.
func (b *Backend) Offer() tools.Offer {
	drops := b.Drops()
	list := slices.DeleteFunc(b.Tools().List(), func(t tools.Tool) bool {
		stage, _ := drops(t.Spec())
		return stage != ""
	})
	return tools.NewOffer(list, b.config().DeferTools.Threshold, func(string) bool { return false })
}

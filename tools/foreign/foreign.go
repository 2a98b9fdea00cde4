// Package foreign makes a tool of data: its name, its description and the JSON Schema of its
// parameters come from elsewhere, such as an editor, a plug-in or an MCP server, and so do its
// answers. New checks the data, Parse reads an answer.
//
// What a description does not declare is assumed to be the worst: kind other, destructive,
// dangerous, alone, a call that nobody has judged. What comes back is untrusted: text is shown with
// nothing invisible in it, sizes are bounded, and a tool can neither speak for the person nor
// change a file by its answer.
package foreign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/sandbox/lazy"
	"tandem/tools"
	"tandem/tools/schema"
)

// Spec describes a tool that runs elsewhere. Parameters is the JSON Schema of its arguments;
// absent, true or anything else that is no object is no constraints.
type Spec struct {
	tools.Spec
	Parameters json.RawMessage
	// Lenient leaves out what is wrong with Parameters, since nobody is there who would mend it:
	// see schema.Lenient.
	Lenient bool
}

// Needs says what a call is about to touch, see tools.Tool. It is the host's word and never that of
// whoever sent the Spec.
type Needs func(env *tools.Env, args json.RawMessage) ([]tools.Need, error)

// Run carries a call out; args are checked and hold the defaults. A Result of any shape is fine,
// and so is any error.
type Run func(ctx context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error)

// Bounds on a description.
const (
	maxName        = 64
	maxAliases     = 16
	maxDescription = 8 << 10
	maxParameters  = 256 << 10
	maxTitle       = 200
)

var (
	names    = lazy.Regexp{Text: `^[A-Za-z_][A-Za-z0-9_-]*$`}
	literals = lazy.Regexp{Text: `"(?:[^"\\]|\\.)*"`}
)

// New makes a tool. nil needs are what the Spec declares, see Declared. The error says what is
// wrong with the Spec.
func New(s Spec, needs Needs, run Run) (tools.Tool, error) {
	spec, err := complete(s.Spec)
	if err != nil {
		return nil, err
	}
	if len(s.Parameters) > maxParameters {
		return nil, fmt.Errorf("the parameters of tool %s have %d bytes; the limit is %d", spec.Name, len(s.Parameters), maxParameters)
	}
	read := schema.Raw
	if s.Lenient {
		read = schema.Lenient
	}
	sc, err := read(visible(s.Parameters))
	if err != nil {
		return nil, fmt.Errorf("the parameters of tool %s are not a usable JSON Schema: %w", spec.Name, err)
	}
	if needs == nil {
		needs = func(*tools.Env, json.RawMessage) ([]tools.Need, error) { return Declared(spec), nil }
	}
	return &tool{spec: spec, schema: sc, needs: needs, run: run}, nil
}

// complete checks a Spec and fills in what it does not declare.
func complete(s tools.Spec) (tools.Spec, error) {
	for _, n := range append([]string{s.Name}, s.Aliases...) {
		if len(n) > maxName || !names.Get().MatchString(n) {
			return s, fmt.Errorf("the name \"%s\" of a tool is not valid: it has 1 to %d letters, digits, _ and -, and begins with a letter or _",
				show.Visible(show.Clip(n, maxName+1), false), maxName)
		}
	}
	if len(s.Aliases) > maxAliases {
		return s, fmt.Errorf("tool %s has %d aliases; the limit is %d", s.Name, len(s.Aliases), maxAliases)
	}
	if s.Kind == "" {
		s.Kind = tools.Other
	}
	if !s.Kind.Known() {
		return s, fmt.Errorf("tool %s: %q is not a kind of tool", s.Name, show.Clip(show.Visible(string(s.Kind), false), maxName))
	}
	if s.Class == "" {
		s.Class = classOf(s.Kind)
	}
	if !s.Class.Known() {
		return s, fmt.Errorf("tool %s: %q is not a permission class", s.Name, show.Clip(show.Visible(string(s.Class), false), maxName))
	}
	if s.Kind.ReadOnly() != (s.Class == tools.ClassRead) {
		return s, fmt.Errorf("tool %s: the kind %s and the permission class %s contradict each other: the kinds read and search, and no others, "+
			"are of the class read", s.Name, s.Kind, s.Class)
	}
	if s.Kind.ReadOnly() {
		s.NotDestructive = true
	}
	switch s.Danger {
	case "":
		s.Danger = tools.Moderate
		if !s.NotDestructive {
			s.Danger = tools.Dangerous
		} else if s.Kind.ReadOnly() {
			s.Danger = tools.Safe
		}
	case tools.Safe, tools.Moderate, tools.Dangerous:
	default:
		return s, fmt.Errorf("tool %s: %q is not a level of danger", s.Name, show.Clip(show.Visible(string(s.Danger), false), maxName))
	}
	if s.Together == tools.Commands || s.Together == tools.OtherFiles {
		s.Together = tools.Alone // what they rest on is not known of a foreign tool
	}
	if s.Category == "" {
		s.Category = "other"
	}
	s.Title = show.Clip(show.Visible(s.Title, false), maxTitle)
	s.Description = show.Clip(show.Visible(strings.TrimSpace(s.Description), true), maxDescription)
	s.Pages = false // its answer is cut by the pipeline like any other
	return s, nil
}

func classOf(k tools.Kind) tools.Class {
	switch k {
	case tools.Read, tools.Search:
		return tools.ClassRead
	case tools.Edit, tools.Delete, tools.Move:
		return tools.ClassWrite
	case tools.Fetch:
		return tools.ClassNetwork
	}
	return tools.ClassExecute
}

// Declared is what a call needs by what its Spec declares, for a tool whose owner is trusted to
// declare it: the editor, or a plug-in that the person has installed. That of a tool which declares
// nothing is unknown, nil: a person is asked about each call.
func Declared(s tools.Spec) []tools.Need {
	switch {
	case s.Kind == tools.Think, s.Class == tools.ClassRead:
		return []tools.Need{{Act: tools.Nothing}}
	case s.Class == tools.ClassWrite:
		return []tools.Need{{Act: tools.Replaces}}
	case s.Class == tools.ClassNetwork:
		return []tools.Need{{Act: tools.Reaches}}
	}
	return nil
}

// visible is a schema whose names and texts have nothing invisible in them. What is no JSON is left
// to schema.Raw.
func visible(js json.RawMessage) json.RawMessage {
	return literals.Get().ReplaceAllFunc(js, func(literal []byte) []byte {
		var s string
		if json.Unmarshal(literal, &s) != nil {
			return literal
		}
		v := show.Visible(s, true)
		if v == s {
			return literal
		}
		out, err := json.Marshal(v)
		if err != nil {
			return literal
		}
		return out
	})
}

type tool struct {
	spec   tools.Spec
	schema *schema.Schema
	needs  Needs
	run    Run
}

func (t *tool) Spec() tools.Spec       { return t.spec }
func (t *tool) Schema() *schema.Schema { return t.schema }

// Title has the arguments, since a person can know of a foreign call by nothing else what it is
// about.
func (t *tool) Title(args json.RawMessage) string {
	name := t.name()
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil || len(fields) == 0 {
		return name
	}
	return show.Clip(show.Visible(name+" "+string(args), false), maxTitle)
}

func (t *tool) name() string { return cmp.Or(t.spec.Title, t.spec.Name) }

func (t *tool) Needs(env *tools.Env, args json.RawMessage) ([]tools.Need, error) {
	return t.needs(env, args)
}

func (t *tool) Plan(_ context.Context, env *tools.Env, args json.RawMessage) (*tools.Plan, error) {
	if !env.Judged.Checked {
		checked := t.schema.Check(args, true)
		if len(checked.Issues) > 0 {
			return nil, tools.Invalid(checked.Issues)
		}
		args = checked.Args
	}
	return &tools.Plan{
		Title: t.Title(args), Kind: t.spec.Kind, Danger: t.spec.Danger,
		Run: func(ctx context.Context) (tools.Result, error) {
			r, err := t.run(ctx, env, args)
			if err != nil {
				return r, t.failed(ctx, err)
			}
			r = clean(r)
			if r.Success && r.Summary == "" {
				r.Summary = t.name() + " answered"
			}
			return r, nil
		},
	}, nil
}

// failed is an error of a run as the model may read it. Errors that the pipeline words itself go on
// as they are.
func (t *tool) failed(ctx context.Context, err error) error {
	if refusal, ok := errors.AsType[*tools.Refusal](err); ok {
		return &tools.Refusal{Result: clean(refusal.Result)}
	}
	var path *sandbox.PathError
	var file *filetime.Error
	if ctx.Err() != nil || errors.As(err, &path) || errors.As(err, &file) || errors.Is(err, sandbox.ErrNotConfined) {
		return err
	}
	return tools.Refuse(tools.ExecutionError, "failed", "The tool %s failed: %s. This is a fault of the tool, not of the arguments.",
		t.spec.Name, strings.TrimRight(show.Clip(show.Visible(err.Error(), false), 1000), ". "))
}

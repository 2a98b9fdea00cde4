// Package schema makes one definition of a tool's arguments serve three readers: the Go struct that
// the tool works with, the JSON Schema that programs and in short the model are shown, and the
// validator that stands between them.
//
// A struct says everything in its tags:
//
//	json:"old_text"        the name; omitempty, a pointer or a default makes the parameter optional
//	desc:"what it is for"  what the model reads
//	default:"2000"         put in where the parameter is absent
//	absent:"30000"         what the tool takes where the parameter is absent, told as the default and not put in
//	enum:"a,b"             the values allowed
//	const:"a"              the only value allowed
//	types:"string,integer" the types allowed, for a field of type any
//	min:"1" max:"9"        bounds of a number; above:"0" is an exclusive lower bound
//	unit:"in seconds"      told with a bound that is not kept
//	minlen:"1" maxlen:"9"  bounds of a text in characters, or of a list in items
//	alias:"oldString"      other names that models use, separated by commas, never shown to them; variants in case and
//	                       in underscores are understood without being listed
//	nocoerce:"true"        a value of another type is never turned into text; so it is with lists of such values, and without the tag where
//	                       the name says that it is a path, an address or a command
//	argv:"apply_patch"     for a text: an array that begins with this word is another agent's command line, and its last text is meant
//	shown:"false"          for what a call is no better with, such as a second way to say what another parameter says: accepted, and not
//	                       shown to the model
//	shown:"nodefault"      for a limit that an answer names when it is reached: its default is not shown to the model
//
// A field _ with always:"-n" names parameters of other tools that are switches for what this one
// does in any case: true is dropped.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema describes the arguments of one tool. It is immutable; all methods may be called
// concurrently.
type Schema struct {
	json, shown json.RawMessage
	root        *node
	// foreign judges what root cannot say; nil for every schema that comes from a Go type.
	foreign *jsonschema.Resolved
}

// Lazy gives a function that describes I when it is first called. That call panics when I cannot be
// described, which is a mistake in the program.
func Lazy[I any]() func() *Schema {
	return sync.OnceValue(func() *Schema {
		s, err := For[I]()
		if err != nil {
			panic(err)
		}
		return s
	})
}

// For describes the struct type I. An error says which of its fields or tags cannot be expressed.
func For[I any]() (*Schema, error) { return of(reflect.TypeFor[I]()) }

func of(t reflect.Type) (*Schema, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("schema: arguments must be a struct, not %v", t)
	}
	root, n, err := inferred(t)
	if err != nil {
		return nil, fmt.Errorf("schema: %v: %w", t, err)
	}
	js, err := encode(root, n)
	if err != nil {
		return nil, fmt.Errorf("schema: %v: %w", t, err)
	}
	shown, err := encodeShown(root, n)
	if err != nil {
		return nil, fmt.Errorf("schema: %v: %w", t, err)
	}
	return &Schema{json: js, shown: shown, root: n}, nil
}

// inferred is the schema of a type with what its tags say, and the validator's form of it.
func inferred(t reflect.Type) (*jsonschema.Schema, *node, error) {
	root, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
	}})
	if err != nil {
		return nil, nil, err
	}
	n, err := describe(root, t)
	return root, n, err
}

// maxSchemas bounds the work that a foreign schema may cause for each value.
const maxSchemas = 10_000

// Raw takes a JSON Schema of somebody who can be told what is wrong with it, such as the author of
// a plug-in. One that is not an object means "no constraints". Of one that contains itself, the
// keywords that our nodes cannot express are left to whoever runs the tool. An error means that it
// is no usable JSON Schema.
func Raw(js json.RawMessage) (*Schema, error) {
	if js = bytes.TrimSpace(js); len(js) > 0 && js[0] == '{' {
		var root jsonschema.Schema
		err := json.Unmarshal(js, &root)
		if err == nil {
			_, err = root.Resolve(nil)
		}
		if err != nil {
			return nil, fmt.Errorf("schema: %w", err)
		}
	}
	return Lenient(js)
}

// Lenient takes a JSON Schema of a stranger, such as an MCP server, who checks what it is called
// with by itself. Keywords with values that no draft allows, patterns that cannot be compiled here,
// and references that lead nowhere are left out. An error means that it is no JSON.
func Lenient(js json.RawMessage) (*Schema, error) {
	js = bytes.TrimSpace(js)
	if len(js) == 0 || js[0] != '{' {
		anything := json.RawMessage(`{"type":"object"}`)
		return &Schema{json: anything, shown: plain(anything), root: &node{types: []string{"object"}}}, nil
	}
	if !json.Valid(js) {
		return nil, fmt.Errorf("schema: %w", json.Unmarshal(js, new(any)))
	}
	js = (&tidier{root: js}).schema(js)
	var root jsonschema.Schema
	if err := json.Unmarshal((&tidier{root: js, patterns: compiles}).schema(js), &root); err != nil {
		root = jsonschema.Schema{} // some value is beyond the library's types
	}
	resolved, err := root.Resolve(nil)
	c := compiler{root: &root, done: map[*jsonschema.Schema]*node{}}
	s := &Schema{root: c.compile(&root)}
	s.root.inOrder(js)
	if budget := maxSchemas; err == nil && c.beyond && c.bounded(&root, &budget) {
		s.foreign = resolved
	}
	if m, _ := object(js); !isKind(m.get("type"), "object") {
		// Services insist on this type; the arguments of a call are an object in any case.
		if root.Type != "" || root.Types != nil { // what it says of other values is of no use
			s.root, s.foreign = &node{}, nil
		}
		s.root.types = []string{"object"}
		m.drop("type")
		js = m.json()
		rest := bytes.TrimSpace(js[1:])
		comma := ","
		if rest[0] == '}' {
			comma = ""
		}
		js = append([]byte(`{"type":"object"`+comma), rest...)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, js); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s.json = compact.Bytes()
	s.shown = compacted(plain(s.json))
	return s, nil
}

// JSON is the whole schema, for programs: the same bytes at every call, owned by the schema. It
// accepts what Check accepts without coercion.
func (s *Schema) JSON() json.RawMessage { return s.json }

// Shown is the schema as a model is shown it: the same bytes at every call, owned by the schema.
// One that comes from a Go type has names, types, descriptions, choices and defaults in it, and no
// bounds: a model keeps them without being told, and Check answers the call that does not with a
// sentence. It has one way to say each thing. One that somebody else wrote is shown whole.
func (s *Schema) Shown() json.RawMessage { return s.shown }

// Param is the canonical name of a parameter, from any name that a call may give it; ok is false
// where there is none.
func (s *Schema) Param(name string) (canonical string, ok bool) {
	if _, ok := s.root.props[name]; ok {
		return name, true
	}
	canonical, ok = s.root.folded[fold(name)]
	return canonical, ok
}

// Params are the canonical names of the parameters, in the order in which a model is shown them.
func (s *Schema) Params() []string { return slices.Clone(s.root.order) }

// describe adds to s what the tags of t say, and builds the validator's form of it. s is the schema
// of t as jsonschema.For made it.
func describe(s *jsonschema.Schema, t reflect.Type) (*node, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	// null stands for an absent value in Go and is never offered to a model.
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	n := fromKeywords(s)
	n.goInt = s.Type == "integer"
	var err error
	switch {
	case s.Type == "array":
		n.items, err = describe(s.Items, t.Elem())
	case s.Type == "object" && t.Kind() == reflect.Map:
		n.extra, err = describe(s.AdditionalProperties, t.Elem())
	case s.Type == "object":
		n.closed = true
		err = describeFields(s, n, t)
	}
	return n, err
}

func describeFields(s *jsonschema.Schema, n *node, t reflect.Type) error {
	fields := map[string]reflect.StructField{}
	n.always = map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if f.IsExported() && !f.Anonymous {
			fields[name] = f
		}
		for switched := range strings.SplitSeq(f.Tag.Get("always"), ",") {
			n.always[fold(switched)] = true
		}
	}
	required := map[string]bool{}
	for _, name := range s.Required {
		required[name] = true
	}
	s.Required = nil
	for _, name := range s.PropertyOrder {
		f := fields[name]
		p := s.Properties[name]
		child, err := describe(p, f.Type)
		if err == nil {
			err = readTags(p, child, f)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if f.Tag.Get("nocoerce") == "true" || exact(name) {
			child.exact()
		}
		n.add(name, child)
		if required[name] && f.Type.Kind() != reflect.Pointer && p.Default == nil {
			s.Required = append(s.Required, name)
		}
		for alias := range strings.SplitSeq(f.Tag.Get("alias"), ",") {
			if err := n.alias(alias, name); err != nil {
				return err
			}
		}
	}
	n.required = s.Required
	return nil
}

// readTags reads the tags of f into the schema p of the field and into its validator.
func readTags(p *jsonschema.Schema, n *node, f reflect.StructField) error {
	p.Description = f.Tag.Get("desc")
	n.argv = f.Tag.Get("argv")
	switch shown := f.Tag.Get("shown"); shown {
	case "false":
		n.unshown = true
	case "nodefault":
		n.defaultUnshown = true
	case "":
	default:
		return fmt.Errorf("tag shown: %q", shown)
	}
	for tag, dst := range map[string]**float64{"min": &p.Minimum, "max": &p.Maximum, "above": &p.ExclusiveMinimum} {
		if v, ok := f.Tag.Lookup(tag); ok {
			x, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return fmt.Errorf("tag %s: %w", tag, err)
			}
			*dst = &x
		}
	}
	lengths := map[string]**int{"minlen": &p.MinLength, "maxlen": &p.MaxLength}
	if p.Type == "array" {
		lengths = map[string]**int{"minlen": &p.MinItems, "maxlen": &p.MaxItems}
	}
	for tag, dst := range lengths {
		if v, ok := f.Tag.Lookup(tag); ok {
			x, err := strconv.Atoi(v)
			if err != nil {
				return fmt.Errorf("tag %s: %w", tag, err)
			}
			*dst = &x
		}
	}
	if v, ok := f.Tag.Lookup("enum"); ok {
		for e := range strings.SplitSeq(v, ",") {
			p.Enum = append(p.Enum, e)
		}
	}
	if v, ok := f.Tag.Lookup("const"); ok {
		p.Const = new(any(v))
	}
	if v, ok := f.Tag.Lookup("types"); ok {
		p.Types = strings.Split(v, ",")
		n.types = p.Types
	}
	taken := func(tag string) {
		v, ok := f.Tag.Lookup(tag)
		if !ok {
			return
		}
		p.Default = json.RawMessage(v)
		if p.Type == "string" {
			p.Default, _ = json.Marshal(v)
		}
		if len(p.Enum) > 0 {
			p.Description = strings.TrimSpace(fmt.Sprintf("%s (default %s)", p.Description, v))
		}
	}
	taken("default")
	n.keywords(p)
	n.unit = f.Tag.Get("unit")
	taken("absent")
	if n.def == nil {
		return nil
	}
	probe := checker{}
	if v, err := decode(n.def); err != nil {
		return fmt.Errorf("tag default: %w", err)
	} else if probe.value(n, v, place{}); len(probe.issues) > 0 {
		return fmt.Errorf("tag default: %s", probe.issues[0].Message)
	}
	return nil
}

// Package schema makes one definition of a tool's arguments serve three readers: the Go struct that the tool works
// with, the JSON Schema that the model is shown, and the validator that stands between them.
//
// A struct says everything in its tags:
//
//	json:"old_text"        the name; omitempty, a pointer or a default makes the parameter optional
//	desc:"what it is for"  what the model reads
//	default:"2000"         put in where the parameter is absent
//	absent:"30000"         what the tool takes where the parameter is absent, told as the default and not put in
//	enum:"a,b"             the values allowed
//	min:"1" max:"9"        bounds of a number; above:"0" is an exclusive lower bound
//	minlen:"1" maxlen:"9"  bounds of a text in characters, or of a list in items
//	alias:"oldString"      other names that models use, separated by commas, never shown to them; variants in case and
//	                       in underscores are understood without being listed
//	nocoerce:"true"        for paths and commands: a value of another type is never turned into text
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema describes the arguments of one tool. It is immutable; all methods may be called concurrently.
type Schema struct {
	json json.RawMessage
	root *node
	// foreign judges what root cannot say; nil for every schema that comes from a Go type.
	foreign *jsonschema.Resolved
}

// Lazy gives a function that describes I when it is first called. That call panics when I cannot be described, which is
// a mistake in the program.
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
func For[I any]() (*Schema, error) {
	t := reflect.TypeFor[I]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("schema: arguments must be a struct, not %v", t)
	}
	root, err := jsonschema.For[I](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
	}})
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	n, err := describe(root, t)
	if err != nil {
		return nil, fmt.Errorf("schema: %v: %w", t, err)
	}
	js, err := root.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("schema: %v: %w", t, err)
	}
	return &Schema{json: js, root: n}, nil
}

// maxSchemas bounds the work that a foreign schema may cause for each value.
const maxSchemas = 10_000

// Raw takes a JSON Schema written by hand or by somebody else. One that is not an object means "no constraints". Of
// one that contains itself, the keywords that we do not know are left to whoever runs the tool. An error means that it
// is no usable JSON Schema.
func Raw(js json.RawMessage) (*Schema, error) {
	js = bytes.TrimSpace(js)
	if len(js) == 0 || js[0] != '{' {
		return &Schema{json: json.RawMessage(`{"type":"object"}`), root: &node{types: []string{"object"}}}, nil
	}
	var root jsonschema.Schema
	if err := json.Unmarshal(js, &root); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	c := compiler{root: &root, done: map[*jsonschema.Schema]*node{}}
	s := &Schema{root: c.compile(&root)}
	if budget := maxSchemas; c.beyond && c.bounded(&root, &budget) {
		s.foreign = resolved
	}
	if root.Type == "" && root.Types == nil {
		// Providers insist on a type; the arguments of a call are an object in any case.
		s.root.types = []string{"object"}
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
	return s, nil
}

// JSON is the schema as the model is shown it: the same bytes at every call, owned by the schema.
func (s *Schema) JSON() json.RawMessage { return s.json }

// Param is the canonical name of a parameter, from any name that a call may give it; ok is false where there is none.
func (s *Schema) Param(name string) (canonical string, ok bool) {
	if _, ok := s.root.props[name]; ok {
		return name, true
	}
	canonical, ok = s.root.folded[fold(name)]
	return canonical, ok
}

// describe adds to s what the tags of t say, and builds the validator's form of it. s is the schema of t as
// jsonschema.For made it.
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
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if f.IsExported() && !f.Anonymous {
			fields[name] = f
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
	n.strict = f.Tag.Get("nocoerce") == "true"
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
	if v, ok := f.Tag.Lookup("default"); ok {
		p.Default = json.RawMessage(v)
		if p.Type == "string" {
			p.Default, _ = json.Marshal(v)
		}
		if len(p.Enum) > 0 {
			p.Description += fmt.Sprintf(" (default %s)", v)
		}
	}
	n.keywords(p)
	if v, ok := f.Tag.Lookup("absent"); ok {
		p.Default = json.RawMessage(v)
	}
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

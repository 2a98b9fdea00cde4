package schema

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
)

// encoder writes schemas of Go types as jsonschema.Schema.MarshalJSON does, with the keywords that
// describe sets. The library's reflection over every keyword for each property took a quarter of
// the processor time of a start.
type encoder struct {
	out []byte
	// shown leaves out what a check alone needs, see Schema.Shown.
	shown bool
	// loose is set if plain may complete what was written: a truth value, a list without a word
	// about its items, or a name that is required and not shown.
	loose bool
	err   error
}

// encode writes the whole of s, of which n is the validator's form.
func encode(s *jsonschema.Schema, n *node) (json.RawMessage, error) {
	var e encoder
	e.schema(s, n)
	return e.out, e.err
}

// encodeShown writes s as a model is shown it, see plain.
func encodeShown(s *jsonschema.Schema, n *node) (json.RawMessage, error) {
	e := encoder{shown: true}
	e.schema(s, n)
	empty := !slices.ContainsFunc(s.PropertyOrder, func(name string) bool { return !n.props[name].unshown })
	if e.err == nil && (e.loose || empty) {
		return plain(e.out), nil
	}
	return e.out, e.err
}

func (e *encoder) schema(s *jsonschema.Schema, n *node) {
	if s.Not != nil {
		e.out, e.loose = append(e.out, "false"...), true
		return
	}
	e.loose = e.loose || s.Items == nil && (s.Type == "array" || slices.Contains(s.Types, "array")) ||
		slices.ContainsFunc(s.Required, func(name string) bool { return n.props[name] == nil || n.props[name].unshown })
	begun := len(e.out)
	e.out = append(e.out, '{')
	switch {
	case s.Type != "":
		e.value("type", s.Type)
	case s.Types != nil:
		e.value("type", s.Types)
	}
	if s.Properties != nil {
		e.properties(s, n)
	}
	if s.Items != nil {
		e.name("items")
		e.schema(s.Items, n.items)
	}
	if s.Description != "" {
		e.value("description", s.Description)
	}
	if len(s.Default) > 0 && !(e.shown && n.impliesDefault(s)) {
		e.value("default", s.Default)
	}
	if len(s.Enum) > 0 {
		e.value("enum", s.Enum)
	}
	if s.Const != nil {
		e.value("const", *s.Const)
	}
	if !e.shown {
		e.number("minimum", s.Minimum)
		e.number("maximum", s.Maximum)
		e.number("exclusiveMinimum", s.ExclusiveMinimum)
		e.count("minLength", s.MinLength)
		e.count("maxLength", s.MaxLength)
		e.count("minItems", s.MinItems)
		e.count("maxItems", s.MaxItems)
	}
	if len(s.Required) > 0 {
		e.value("required", s.Required)
	}
	if more := s.AdditionalProperties; more != nil && !(e.shown && more.Not != nil) {
		e.name("additionalProperties")
		all := encoder{out: e.out} // what a check needs too
		all.schema(more, n.extra)
		e.out, e.loose, e.err = all.out, e.loose || all.loose, firstError(e.err, all.err)
	}
	if len(e.out) == begun+1 {
		e.out, e.loose = append(e.out[:begun], "true"...), true
		return
	}
	e.out = append(e.out, '}')
}

// properties writes the parameters in the order of the struct's fields.
func (e *encoder) properties(s *jsonschema.Schema, n *node) {
	e.name("properties")
	e.out = append(e.out, '{')
	for _, name := range s.PropertyOrder {
		if child := n.props[name]; !e.shown || !child.unshown {
			e.name(name)
			e.schema(s.Properties[name], child)
		}
	}
	e.out = append(e.out, '}')
}

// impliesDefault reports whether the description or an answer names the default, or absence says
// the same.
func (n *node) impliesDefault(s *jsonschema.Schema) bool {
	return len(s.Enum) > 0 || n.defaultUnshown || string(s.Default) == "false" || string(s.Default) == `"."`
}

func (e *encoder) name(name string) {
	if e.out[len(e.out)-1] != '{' {
		e.out = append(e.out, ',')
	}
	e.out = append(strconv.AppendQuote(e.out, name), ':')
}

func (e *encoder) value(name string, v any) {
	e.name(name)
	raw, err := json.Marshal(v)
	e.out, e.err = append(e.out, raw...), firstError(e.err, err)
}

func (e *encoder) number(name string, v *float64) {
	if v != nil {
		e.value(name, *v)
	}
}

func (e *encoder) count(name string, v *int) {
	if v != nil {
		e.value(name, *v)
	}
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// node is one schema in the form that the validator walks. No types means any type.
type node struct {
	types    []string
	nullable bool
	// strict values are never coerced; goInt ones end up in a Go integer of 64 bits.
	strict, goInt bool
	// argv begins an array in place of a text, of which the last element is meant.
	argv string
	// unshown is a property that a model is not told of.
	unshown bool
	// defaultUnshown is one that a model is told of without its default.
	defaultUnshown bool

	// unit is what a message about a bound adds.
	unit string

	enum             []any
	min, max         *float64
	above, below     *float64
	minLen, maxLen   *int
	minItems, maxItm *int
	pattern          *regexp.Regexp
	def              json.RawMessage

	items *node
	// ref stands for another node, so that a schema may contain itself.
	ref *node

	order    []string
	props    map[string]*node
	required []string
	// closed forbids other properties; else extra, when set, judges them.
	closed bool
	extra  *node
	// folded leads from every way to write a name to the name.
	folded map[string]string
	// always are names that stand for true where the tool does so in any case.
	always map[string]bool
}

func fromKeywords(s *jsonschema.Schema) *node {
	n := &node{types: s.Types}
	if s.Type != "" {
		n.types = []string{s.Type}
	}
	if i := slices.Index(n.types, "null"); i >= 0 && len(n.types) > 1 {
		n.types, n.nullable = slices.Delete(slices.Clone(n.types), i, i+1), true
	}
	n.keywords(s)
	return n
}

func (n *node) keywords(s *jsonschema.Schema) {
	n.enum, n.def = s.Enum, s.Default
	if slices.ContainsFunc(n.enum, notScalar) {
		n.enum = nil
	}
	if s.Const != nil && !notScalar(*s.Const) {
		n.enum = []any{*s.Const}
	}
	n.min, n.max, n.above, n.below = s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum
	n.minLen, n.maxLen, n.minItems, n.maxItm = s.MinLength, s.MaxLength, s.MinItems, s.MaxItems
	if s.Pattern != "" {
		n.pattern, _ = regexp.Compile(s.Pattern) // Resolve has refused what does not compile
	}
}

func (n *node) add(name string, child *node) {
	if n.props == nil {
		n.props, n.folded = map[string]*node{}, map[string]string{}
	}
	n.props[name] = child
	n.order = append(n.order, name)
	if _, taken := n.folded[fold(name)]; !taken {
		n.folded[fold(name)] = name
	}
}

// exact says that a name is that of a path, an address or a command, as far as a name tells, since
// a JSON Schema cannot declare it.
func exact(name string) bool {
	name = fold(name)
	return slices.ContainsFunc([]string{
		"path", "file", "dir", "directory", "folder", "directories", "cwd", "command", "cmd", "script", "url", "uri",
	}, func(end string) bool {
		return strings.HasSuffix(strings.TrimSuffix(name, "s"), end) || strings.HasSuffix(name, end)
	})
}

// exact makes the values of n, and those in a list of it, never be made of values of another type.
func (n *node) exact() {
	for ; n != nil; n = n.items {
		n.strict = true
	}
}

// alias makes another name lead to the property name.
func (n *node) alias(alias, name string) error {
	if alias == "" {
		return nil
	}
	if other, taken := n.folded[fold(alias)]; taken && other != name {
		return fmt.Errorf("alias %s: already means %s", alias, other)
	}
	n.folded[fold(alias)] = name
	return nil
}

// fold drops the differences between filePath, file_path, FilePath and filepath. An option of a
// command keeps its case: -B is not -b.
func fold(name string) string {
	if strings.HasPrefix(name, "-") {
		return name
	}
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", ""))
}

// compiler turns a schema that somebody else wrote into nodes, and notes in beyond whether it says
// more than they can.
type compiler struct {
	root   *jsonschema.Schema
	done   map[*jsonschema.Schema]*node
	beyond bool
}

func (c *compiler) compile(s *jsonschema.Schema) *node {
	if n, ok := c.done[s]; ok {
		return n
	}
	n := &node{}
	c.done[s] = n
	alternatives := slices.Concat(s.AnyOf, s.OneOf)
	target := c.local(s.Ref)
	if target == nil && s.Type == "" && s.Types == nil && s.Properties == nil {
		// "this or null", as generators write what is optional.
		target = notNull(alternatives)
		n.nullable = target != nil
	}
	if target != nil {
		n.ref, n.def = c.compile(target), s.Default
		c.beyond = c.beyond || saysMore(s)
		return n
	}
	*n = *fromKeywords(s)
	c.beyond = c.beyond || s.Ref != "" || s.DynamicRef != "" || alternatives != nil || s.AllOf != nil || s.Not != nil ||
		s.If != nil || s.PrefixItems != nil || s.ItemsArray != nil || s.AdditionalItems != nil || s.Contains != nil ||
		s.UniqueItems || s.MultipleOf != nil || s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil ||
		s.MinProperties != nil || s.MaxProperties != nil || s.PatternProperties != nil || s.PropertyNames != nil ||
		slices.ContainsFunc(s.Enum, notScalar) || s.Const != nil ||
		s.DependentRequired != nil || s.DependentSchemas != nil || s.DependencySchemas != nil || s.DependencyStrings != nil
	if s.Items != nil && s.PrefixItems == nil {
		n.items = c.compile(s.Items)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		child := c.compile(s.Properties[name])
		if exact(name) {
			child.exact()
		}
		n.add(name, child)
	}
	n.required = s.Required
	if a := s.AdditionalProperties; a != nil && s.PatternProperties == nil {
		if n.closed = isFalse(a); !n.closed {
			n.extra = c.compile(a)
		}
	}
	return n
}

// inOrder brings the properties of n into the order of the schema that it was compiled from, which
// the library does not keep.
func (n *node) inOrder(js json.RawMessage) {
	var s struct{ Properties, Items json.RawMessage }
	if n == nil || json.Unmarshal(js, &s) != nil {
		return
	}
	n.items.inOrder(s.Items)
	d := json.NewDecoder(bytes.NewReader(s.Properties))
	_, _ = d.Token()
	at := map[string]int{}
	for d.More() {
		name, _ := d.Token()
		key, ok := name.(string)
		var below json.RawMessage
		if !ok || d.Decode(&below) != nil {
			return
		}
		at[key] = len(at)
		n.props[key].inOrder(below)
	}
	slices.SortStableFunc(n.order, func(a, b string) int { return cmp.Compare(at[a], at[b]) })
}

// local is the definition that ref names inside the schema itself, nil for any other ref.
func (c *compiler) local(ref string) *jsonschema.Schema {
	if ref == "#" {
		return c.root
	}
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return c.root.Defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return c.root.Definitions[name]
	}
	return nil
}

// bounded counts how many schemas a value may be held against at worst, down to nothing left of
// budget. It is false for a schema that contains itself: the library follows such a one without
// end, or for a time that doubles with every level of the value.
func (c *compiler) bounded(s *jsonschema.Schema, budget *int) bool {
	if *budget--; *budget < 0 || s.DynamicRef != "" {
		return false
	}
	if s.Ref != "" {
		target := c.local(s.Ref)
		if target == nil || !c.bounded(target, budget) {
			return false
		}
	}
	several := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems, s.ItemsArray, []*jsonschema.Schema{
		s.Not, s.If, s.Then, s.Else, s.Items, s.AdditionalItems, s.Contains, s.UnevaluatedItems,
		s.AdditionalProperties, s.PropertyNames, s.UnevaluatedProperties, s.ContentSchema,
	})
	for _, m := range []map[string]*jsonschema.Schema{
		s.Properties, s.PatternProperties, s.DependentSchemas, s.DependencySchemas,
	} {
		several = slices.AppendSeq(several, maps.Values(m))
	}
	for _, child := range several {
		if child != nil && !c.bounded(child, budget) {
			return false
		}
	}
	return true
}

// notNull is the one of two alternatives that is not just null, nil where that is not how they
// stand.
func notNull(alternatives []*jsonschema.Schema) *jsonschema.Schema {
	if len(alternatives) == 2 && alternatives[0].Type == "null" {
		return alternatives[1]
	}
	if len(alternatives) == 2 && alternatives[1].Type == "null" {
		return alternatives[0]
	}
	return nil
}

// saysMore tells whether s constrains anything beside its reference or its pair of alternatives.
func saysMore(s *jsonschema.Schema) bool {
	rest := *s
	rest.Ref, rest.Description, rest.Title, rest.Default, rest.Schema = "", "", "", nil, ""
	rest.Defs, rest.Definitions, rest.Examples = nil, nil, nil
	if s.Ref == "" {
		rest.AnyOf, rest.OneOf = nil, nil
	}
	js, err := rest.MarshalJSON()
	return err != nil || string(js) != "true"
}

// isFalse recognises the schema false, which the library reads as {"not": {}}.
func isFalse(s *jsonschema.Schema) bool {
	if s.Not == nil {
		return false
	}
	js, err := s.MarshalJSON()
	return err == nil && string(js) == "false"
}

func notScalar(v any) bool {
	switch v.(type) {
	case nil, bool, string, float64:
		return false
	}
	return true
}

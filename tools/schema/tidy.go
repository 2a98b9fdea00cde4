package schema

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Schemas of others break rules that some services hold them to, and a service refuses the whole
// request for one tool. tidy makes of such a schema one that fits the meta-schema of JSON Schema
// 2020-12: a keyword whose value has another shape than the meta-schema wants is left out, or
// translated where an older draft means it. What is left out is not checked here; whoever runs the
// tool does.

// members are those of an object in their order.
type members []member

type member struct {
	name  string
	value json.RawMessage
}

// object reads the members of an object; ok is false for anything else.
func object(js json.RawMessage) (out members, ok bool) {
	d := json.NewDecoder(bytes.NewReader(js))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		t, err := d.Token()
		name, is := t.(string)
		var value json.RawMessage
		if err != nil || !is || d.Decode(&value) != nil {
			return nil, false
		}
		out.set(name, value)
	}
	return out, true
}

func (m members) get(name string) json.RawMessage {
	if i := slices.IndexFunc(m, func(o member) bool { return o.name == name }); i >= 0 {
		return m[i].value
	}
	return nil
}

func (m *members) set(name string, value json.RawMessage) {
	if i := slices.IndexFunc(*m, func(o member) bool { return o.name == name }); i >= 0 {
		(*m)[i].value = value
		return
	}
	*m = append(*m, member{name, value})
}

func (m *members) drop(names ...string) {
	*m = slices.DeleteFunc(*m, func(o member) bool { return slices.Contains(names, o.name) })
}

func (m members) json() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, o := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quoted(o.name))
		b.WriteByte(':')
		b.Write(o.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func quoted(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string
	return bytes.TrimSpace(b.Bytes())
}

func list(items []json.RawMessage) json.RawMessage {
	return slices.Concat([]byte{'['}, bytes.Join(raws(items), []byte{','}), []byte{']'})
}

func raws(items []json.RawMessage) [][]byte {
	out := make([][]byte, len(items))
	for i, v := range items {
		out[i] = v
	}
	return out
}

// shape makes of the value of a keyword one that the meta-schema allows; ok is false where there is
// none.
type shape func(w *tidier, value json.RawMessage) (out json.RawMessage, ok bool)

// tidier walks through one schema.
type tidier struct {
	// root is the whole schema, for references.
	root json.RawMessage
	// patterns says what is kept of regular expressions; nil is all of them.
	patterns func(pattern string) bool
	services bool // what services want besides, see plain
	parts    int  // see maxParts
}

// shapes are the keywords of JSON Schema. Others are kept as they are.
var shapes func() map[string]shape

func init() { // the table and the walk refer to each other
	shapes = sync.OnceValue(func() map[string]shape {
		all := map[string]shape{
			"type": kinds, "enum": choices, "required": names, "pattern": pattern, "dependencies": mapOf(either), "dependentRequired": mapOf(names),
			"patternProperties": byPattern,
		}
		for name, s := range map[string]shape{
			"title description format $comment $schema $dynamicRef contentEncoding contentMediaType": text,
			"$id": matching(ids), "$anchor $dynamicAnchor": matching(anchors),
			"$ref": reference,
			"deprecated readOnly writeOnly uniqueItems":         boolean,
			"maximum minimum exclusiveMaximum exclusiveMinimum": number,
			"multipleOf": positive,
			"maxLength minLength maxItems minItems maxProperties minProperties maxContains minContains": count,
			"items contains not if then else propertyNames contentSchema":                               below,
			"additionalItems additionalProperties unevaluatedItems unevaluatedProperties":               limit,
			"allOf anyOf oneOf prefixItems":                                                             several,
			"properties $defs definitions dependentSchemas":                                             mapOf(below),
			"examples": array,
		} {
			for n := range strings.FieldsSeq(name) {
				all[n] = s
			}
		}
		return all
	})
}

// What the meta-schema of 2020-12 wants of identifiers.
const (
	ids     = `^[^#]*#?$`
	anchors = `^[A-Za-z_][-A-Za-z0-9._]*$`
)

// matching is a text of a form.
func matching(pattern string) shape {
	form := regexp.MustCompile(pattern)
	return func(_ *tidier, v json.RawMessage) (json.RawMessage, bool) {
		var s string
		return v, json.Unmarshal(v, &s) == nil && v[0] == '"' && form.MatchString(s)
	}
}

func text(_ *tidier, v json.RawMessage) (json.RawMessage, bool) {
	return v, len(v) > 0 && v[0] == '"'
}

func boolean(_ *tidier, v json.RawMessage) (json.RawMessage, bool) {
	return v, string(v) == "true" || string(v) == "false"
}

func array(_ *tidier, v json.RawMessage) (json.RawMessage, bool) {
	return v, len(v) > 0 && v[0] == '['
}

func value(v json.RawMessage) (f float64, ok bool) {
	return f, json.Unmarshal(v, &f) == nil && string(v) != "null"
}

func number(_ *tidier, v json.RawMessage) (json.RawMessage, bool) {
	_, ok := value(v)
	return v, ok
}

func positive(_ *tidier, v json.RawMessage) (json.RawMessage, bool) {
	f, ok := value(v)
	return v, ok && f > 0
}

func count(_ *tidier, v json.RawMessage) (json.RawMessage, bool) {
	f, ok := value(v)
	if !ok || f < 0 || f != math.Trunc(f) || f > 1<<53 {
		return nil, false
	}
	out, err := json.Marshal(int64(f))
	return out, err == nil
}

// names are different strings.
func names(_ *tidier, v json.RawMessage) (json.RawMessage, bool) {
	var items []any
	if json.Unmarshal(v, &items) != nil || string(v) == "null" {
		return nil, false
	}
	seen, plain := map[any]bool{}, true
	var out []json.RawMessage
	for _, i := range items {
		s, is := i.(string)
		if plain = plain && is && !seen[i]; is && !seen[i] {
			out = append(out, quoted(s))
			seen[i] = true
		}
	}
	if plain {
		return v, true
	}
	return list(out), true
}

func choices(_ *tidier, v json.RawMessage) (json.RawMessage, bool) {
	var items []json.RawMessage
	return v, json.Unmarshal(v, &items) == nil && len(items) > 0
}

// names of types in other languages, as generators write them.
var otherKinds = map[string]string{
	"int": "integer", "long": "integer", "float": "number", "double": "number", "decimal": "number", "bool": "boolean", "str": "string",
	"text": "string", "dict": "object", "map": "object", "list": "array", "tuple": "array", "none": "null",
}

func kind(s string) (string, bool) {
	lower := strings.ToLower(strings.TrimSpace(s))
	if other := otherKinds[lower]; other != "" {
		lower = other
	}
	return lower, slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array", "null"}, lower)
}

func kinds(_ *tidier, v json.RawMessage) (json.RawMessage, bool) {
	var one string
	if json.Unmarshal(v, &one) == nil {
		k, ok := kind(one)
		if k == one {
			return v, ok
		}
		return quoted(k), ok
	}
	var all []any
	if json.Unmarshal(v, &all) != nil {
		return nil, false
	}
	var out []json.RawMessage
	seen, same := map[string]bool{}, true
	for _, a := range all {
		s, _ := a.(string)
		if a == nil {
			s = "null"
		}
		k, ok := kind(s)
		if !ok { // such as any: then all of it says nothing
			return nil, false
		}
		if same = same && k == a && !seen[k]; !seen[k] {
			out = append(out, quoted(k))
			seen[k] = true
		}
	}
	if same {
		return v, len(out) > 0
	}
	return list(out), len(out) > 0
}

func pattern(w *tidier, v json.RawMessage) (json.RawMessage, bool) {
	var s string
	return v, json.Unmarshal(v, &s) == nil && len(v) > 0 && v[0] == '"' && (w.patterns == nil || w.patterns(s))
}

// compiles says that a pattern can be checked here.
func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}

// reference is one that leads somewhere within the schema.
func reference(w *tidier, v json.RawMessage) (json.RawMessage, bool) {
	var ref string
	if json.Unmarshal(v, &ref) != nil {
		return nil, false
	}
	return v, w.target(ref) != nil
}

// target is the schema that a reference within the whole leads to, nil for no such.
func (w *tidier) target(ref string) json.RawMessage {
	at := w.root
	if ref == "#" {
		return at
	}
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	for step := range strings.SplitSeq(path, "/") {
		var next json.RawMessage
		step = strings.NewReplacer("~1", "/", "~0", "~", "%25", "%", "%24", "$", "%20", " ").Replace(step)
		if m, ok := object(at); ok {
			next = m.get(step)
		} else {
			var items []json.RawMessage
			if n, ok := value(json.RawMessage(step)); ok && json.Unmarshal(at, &items) == nil && n >= 0 && int(n) < len(items) {
				next = items[int(n)]
			}
		}
		if at = next; at == nil {
			return nil
		}
	}
	if !isSchema(at) {
		return nil
	}
	return at
}

func isSchema(v json.RawMessage) bool {
	return len(v) > 0 && (v[0] == '{' || string(v) == "true" || string(v) == "false")
}

func below(w *tidier, v json.RawMessage) (json.RawMessage, bool) {
	if !isSchema(v) {
		return nil, false
	}
	return w.schema(v), true
}

func several(w *tidier, v json.RawMessage) (json.RawMessage, bool) {
	var items []json.RawMessage
	if json.Unmarshal(v, &items) != nil {
		return nil, false
	}
	var out []json.RawMessage
	same := true
	for _, i := range items {
		if !isSchema(i) {
			same = false
			continue
		}
		o := w.schema(i)
		same = same && bytes.Equal(o, i)
		out = append(out, o)
	}
	if same {
		return v, len(out) > 0
	}
	return list(out), len(out) > 0
}

// either is a schema, or the names of the older keyword dependencies.
func either(w *tidier, v json.RawMessage) (json.RawMessage, bool) {
	if out, ok := below(w, v); ok {
		return out, true
	}
	return names(w, v)
}

func mapOf(of shape) shape {
	return func(w *tidier, v json.RawMessage) (json.RawMessage, bool) {
		m, ok := object(v)
		if !ok {
			return nil, false
		}
		same := true
		var out members
		for _, o := range m {
			now, ok := of(w, o.value)
			if same = same && ok && bytes.Equal(now, o.value); ok {
				out = append(out, member{o.name, now})
			}
		}
		if same {
			return v, true
		}
		return out.json(), true
	}
}

func byPattern(w *tidier, v json.RawMessage) (json.RawMessage, bool) {
	out, ok := mapOf(below)(w, v)
	if !ok || w.patterns == nil {
		return out, ok
	}
	m, _ := object(out)
	for _, o := range m {
		ok = ok && w.patterns(o.name)
	}
	return out, ok
}

// limit is below, but that a truth value stays one.
func limit(w *tidier, v json.RawMessage) (json.RawMessage, bool) {
	if isSchema(v) && v[0] != '{' {
		return v, true
	}
	return below(w, v)
}

// schema tidies one schema and all below it. One that is in order stays the same bytes.
func (w *tidier) schema(js json.RawMessage) json.RawMessage {
	m, ok := object(js)
	switch {
	case !ok && w.services:
		return json.RawMessage("{}")
	case !ok:
		return js
	}
	same := true
	same = w.older(&m) && same
	var out members
	for _, o := range m {
		of := shapes()[o.name]
		if of == nil {
			out = append(out, o)
			continue
		}
		now, ok := of(w, o.value)
		if same = same && ok && bytes.Equal(now, o.value); ok {
			out = append(out, member{o.name, now})
		}
	}
	if m.get("patternProperties") != nil && out.get("patternProperties") == nil { // these judge what the patterns leave
		out.drop("additionalProperties", "unevaluatedProperties")
	}
	same = (!w.services || out.complete()) && same
	if same {
		return js
	}
	return out.json()
}

// older translates what older drafts write in another way: exclusiveMinimum: true beside minimum,
// and items as a list. It says whether there was nothing of it.
func (w *tidier) older(m *members) (none bool) {
	none = true
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		limit := m.get(bound)
		if string(m.get(exclusive)) == "true" && limit != nil {
			m.set(exclusive, limit)
			m.drop(bound)
			none = false
		}
	}
	if items := m.get("items"); len(items) > 0 && items[0] == '[' {
		rest := m.get("additionalItems")
		m.drop("items", "additionalItems")
		m.set("prefixItems", items)
		if rest != nil {
			m.set("items", rest)
		}
		none = false
	}
	return none
}

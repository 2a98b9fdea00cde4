package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"tandem/agent/model"
)

// Schema gives the parameters of a tool as services take them: an object at the root with
// properties of its own, and keywords of the types that JSON Schema 2020-12 has. Services refuse a
// whole request for one schema that is otherwise. A schema that is well stays as it is; the server
// of the tool checks arguments by its own.
func Schema(t model.ToolSpec) json.RawMessage {
	if t.Plain {
		return t.Parameters
	}
	none := json.RawMessage(`{"type":"object","properties":{}}`)
	if len(bytes.TrimSpace(t.Parameters)) == 0 {
		return none
	}
	var was, root map[string]any
	if unmarshal(t.Parameters, &was) != nil || unmarshal(t.Parameters, &root) != nil || root == nil {
		return none
	}
	normal(root, 0)
	o := objects{root, maxSchema}
	o.object(root)
	if reflect.DeepEqual(was, root) {
		return t.Parameters
	}
	raw, err := Encode(root)
	if err != nil {
		return none
	}
	return raw
}

// unmarshal keeps numbers as they are written.
func unmarshal(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v)
}

// maxSchema is how deep schemas are looked into, and how many parts of one root are joined.
const maxSchema = 64

// objects makes schemas those of objects.
type objects struct {
	root map[string]any
	left int // of the parts that may still be joined
}

// object makes a schema one of an object: what alternatives and a reference at the root say becomes
// its own.
func (o *objects) object(s map[string]any) {
	if o.left--; o.left < 0 {
		return
	}
	properties, _ := s["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	required := texts(s["required"])
	take := func(part any) []string {
		m, _ := part.(map[string]any)
		if m == nil {
			return nil
		}
		o.object(m)
		of, _ := m["properties"].(map[string]any)
		for name, p := range of {
			if _, there := properties[name]; !there {
				properties[name] = p
			}
		}
		return texts(m["required"])
	}
	if ref, ok := s["$ref"].(string); ok {
		required = append(required, take(clone(referred(o.root, ref)))...)
		delete(s, "$ref")
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := s[keyword].([]any)
		var common []string // required by each
		for i, part := range parts {
			of := take(part)
			switch {
			case keyword == "allOf":
				required = append(required, of...)
			case i == 0:
				common = of
			default:
				common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(of, name) })
			}
		}
		required = append(required, common...)
		delete(s, keyword)
	}
	for _, keyword := range []string{"enum", "const", "not", "if", "then", "else", "items", "prefixItems"} {
		delete(s, keyword)
	}
	s["type"], s["properties"] = "object", properties
	var known []any
	for _, name := range required {
		if _, there := properties[name]; there && !slices.Contains(known, any(name)) {
			known = append(known, name)
		}
	}
	delete(s, "required")
	if len(known) > 0 {
		s["required"] = known
	}
}

// referred gives the part of a schema that a reference means.
func referred(root map[string]any, ref string) any {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	var at any = root
	for _, name := range strings.Split(path, "/") {
		m, _ := at.(map[string]any)
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return at
}

func clone(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var out any
	_ = unmarshal(raw, &out)
	return out
}

func texts(v any) (out []string) {
	list, _ := v.([]any)
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// normal drops keywords of a wrong type, and writes those of older drafts as the present one does.
func normal(s map[string]any, depth int) {
	if depth > maxSchema {
		return
	}
	for keyword, v := range s {
		if !normalKeyword(s, keyword, v, depth) {
			delete(s, keyword)
		}
	}
	if _, there := s["items"]; s["type"] == "array" && !there {
		s["items"] = map[string]any{}
	}
}

// normalKeyword is false for a keyword that has to go.
func normalKeyword(s map[string]any, keyword string, v any, depth int) bool {
	switch keyword {
	case "type":
		if list, ok := v.([]any); ok {
			known := slices.DeleteFunc(slices.Clone(list), func(t any) bool { return !knownType(t) })
			s[keyword] = known
			return len(known) > 0
		}
		return knownType(v)
	case "title", "description", "format", "pattern", "$ref", "$comment":
		_, ok := v.(string)
		return ok
	case "required":
		list, ok := v.([]any)
		return ok && len(texts(v)) == len(list)
	case "enum", "examples":
		list, ok := v.([]any)
		return ok && len(list) > 0
	case "uniqueItems":
		_, ok := v.(bool)
		return ok
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minimum", "maximum", "multipleOf":
		return isNumber(s, keyword, v)
	case "exclusiveMinimum", "exclusiveMaximum":
		limit := map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[keyword]
		if exclusive, draft4 := v.(bool); draft4 {
			n, ok := s[limit].(json.Number)
			if exclusive && ok {
				s[keyword] = n
				delete(s, limit)
			}
			return exclusive && ok
		}
		return isNumber(s, keyword, v)
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		all, ok := v.(map[string]any)
		for name, one := range all {
			all[name] = subschema(one, depth)
		}
		return ok
	case "allOf", "anyOf", "oneOf", "prefixItems":
		list, ok := v.([]any)
		for i, one := range list {
			list[i] = subschema(one, depth)
		}
		return ok && len(list) > 0
	case "items":
		if _, tuple := v.([]any); tuple { // of older drafts
			v = map[string]any{}
		}
		s[keyword] = subschema(v, depth)
	case "not", "contains", "propertyNames", "if", "then", "else":
		s[keyword] = subschema(v, depth)
	case "additionalProperties":
		if _, ok := v.(bool); !ok {
			s[keyword] = subschema(v, depth)
		}
	}
	return true
}

func knownType(t any) bool {
	return slices.Contains([]any{"object", "array", "string", "number", "integer", "boolean", "null"}, t)
}

func isNumber(s map[string]any, keyword string, v any) bool {
	if text, ok := v.(string); ok {
		if _, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
			s[keyword] = json.Number(text)
			return true
		}
	}
	_, ok := v.(json.Number)
	return ok
}

// subschema is a schema within another; one that is none allows everything.
func subschema(v any, depth int) any {
	m, ok := v.(map[string]any)
	if !ok {
		return map[string]any{}
	}
	normal(m, depth+1)
	return m
}

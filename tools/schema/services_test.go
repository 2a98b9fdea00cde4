package schema

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// shown is a schema of a stranger as services get it.
func shown(t interface{ Fatal(...any) }, js string) json.RawMessage {
	s, err := Lenient(json.RawMessage(js))
	if err != nil {
		t.Fatal(err)
	}
	return s.Shown()
}

// TestFaultW9Schema sees what becomes of schemas that services refuse.
func TestFaultW9Schema(t *testing.T) {
	for _, c := range []struct{ was, want string }{
		{``, `{"type":"object","properties":{}}`},
		{`7`, `{"type":"object","properties":{}}`},
		{`{"type":"string"}`, `{"type":"object","properties":{}}`},
		{`{"type":"object"}`, `{"type":"object","properties":{}}`},
		{`{"type":["object","null"],"properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{
			`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"},"c":{}},"required":["a","c"]},{"type":"object","properties":{"b":{"type":"integer"},"c":{}},"required":["c"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{}},"required":["c"],"description":"One of these is wanted: a, c; c."}`,
		},
		{
			`{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"$ref":"#/$defs/B"}],"$defs":{"B":{"properties":{"b":{}},"required":["b"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{}},"required":["a","b"],"$defs":{"B":{"properties":{"b":{}},"required":["b"]}}}`,
		},
		{`{"$ref":"#/$defs/A","$defs":{"A":{"allOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/A"}]}}}`, ``},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		{
			`{"type":"object","properties":{"u":{"type":"integer","minimum":0,"exclusiveMinimum":true}}}`,
			`{"type":"object","properties":{"u":{"type":"integer","exclusiveMinimum":0}}}`,
		},
		{
			`{"type":"object","properties":{"u":{"type":"string","required":true,"minLength":"1","title":5,"enum":[],"examples":"x"},"l":{"type":"array"},"t":{"items":[{"type":"string"}]},"any":true}}`,
			`{"type":"object","properties":{"u":{"type":"string"},"l":{"type":"array","items":{}},"t":{"prefixItems":[{"type":"string"}]},"any":{}}}`,
		},
		{`{"type":"object","properties":{"p":{"type":"array","items":[{"type":"string"}]}}}`, `{"type":"object","properties":{"p":{"type":"array","prefixItems":[{"type":"string"}],"items":{}}}}`},
		{`{"type":"object","properties":{"n":{"type":"any"},"m":{"type":["string","float"]}}}`, `{"type":"object","properties":{"n":{},"m":{"type":["string","number"]}}}`},
		{`{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},null]}},"enum":[1],"not":{},"oneOf":[]}`, `{"type":"object","properties":{"x":{"anyOf":[{"type":"string"}]}}}`},
	} {
		got := shown(t, c.was)
		var a, b any
		if err := json.Unmarshal(got, &a); err != nil || c.want != "" && (json.Unmarshal([]byte(c.want), &b) != nil || !reflect.DeepEqual(a, b)) {
			t.Errorf("%s\n got %s\nwant %s", c.was, got, c.want)
		}
	}
	for _, well := range []string{
		`{"type":"object","properties":{}}`,
		`{ "properties": {"a": {"type": "string", "pattern": "^(?!x)"}}, "type": "object", "additionalProperties": false}`,
		`{"type":"object","$schema":"x","properties":{"a":{"oneOf":[{"type":"null"},{"$ref":"#/$defs/A"}]}},"$defs":{"A":{"type":"array","items":{"type":"string"}}}}`,
	} {
		if got := shown(t, well); string(got) != string(compacted(json.RawMessage(well))) {
			t.Errorf("%s became %s", well, got)
		}
	}
}

// schemas draws values with the keywords of schemas, right and wrong.
func schemas() *rapid.Generator[any] {
	keyword := rapid.SampledFrom([]string{
		"type", "properties", "items", "anyOf", "allOf", "oneOf", "required", "enum", "$ref", "$defs", "minimum", "exclusiveMinimum", "title", "not",
		"additionalProperties", "minLength", "const",
	})
	leaf := rapid.SampledFrom([]any{nil, true, 1, "1", "object", "array", "string", "x", "#/$defs/type", []any{"object"}, []any{}, []any{"a", 1}})
	var deep func(depth int) *rapid.Generator[any]
	deep = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return leaf
		}
		return rapid.OneOf(leaf,
			rapid.Map(rapid.MapOfN(keyword, deep(depth-1), 0, 4), func(m map[string]any) any { return m }),
			rapid.Map(rapid.SliceOfN(deep(depth-1), 0, 3), func(l []any) any { return l }))
	}
	return deep(4)
}

// TestFaultW9Strict sees that whatever a server calls a schema is one that the strictest service takes, and stays as it is
// from then on.
func TestFaultW9Strict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(schemas().Draw(t, "schema"))
		if err != nil {
			t.Fatal(err)
		}
		got := shown(t, string(raw))
		var root map[string]any
		if err := json.Unmarshal(got, &root); err != nil {
			t.Fatal(err)
		}
		properties, ok := root["properties"].(map[string]any)
		if root["type"] != "object" || !ok {
			t.Fatalf("%s became %s", raw, got)
		}
		for _, keyword := range []string{"anyOf", "oneOf", "allOf", "enum", "not", "const", "$ref"} {
			if _, there := root[keyword]; there {
				t.Fatalf("%s became %s", raw, got)
			}
		}
		required, _ := root["required"].([]any)
		for _, name := range required {
			if _, there := properties[name.(string)]; !there {
				t.Fatalf("%s became %s", raw, got)
			}
		}
		if again := shown(t, string(got)); string(again) != string(got) {
			t.Fatalf("%s became %s and then %s", raw, got, again)
		}
	})
}

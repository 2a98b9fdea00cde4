package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// metaschema is that of 2020-12, which services hold parameters to.
func metaschema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile("https://json-schema.org/draft/2020-12/schema")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refused says why a service that is strict would refuse the parameters of a tool, "" where it would not.
func refused(meta *jsonschema.Schema, js json.RawMessage) string {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(js))
	if err != nil {
		return err.Error()
	}
	if err := meta.Validate(v); err != nil {
		return err.Error()
	}
	root, _ := v.(map[string]any)
	if root["type"] != "object" {
		return fmt.Sprintf("the root has the type %v", root["type"])
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf", "enum", "not", "const", "$ref"} {
		if root[name] != nil {
			return "the root has " + name
		}
	}
	var below func(v any) string
	below = func(v any) string {
		m, is := v.(map[string]any)
		if !is {
			return ""
		}
		if m["type"] == "array" && m["items"] == nil && m["prefixItems"] == nil {
			return "a list without items"
		}
		if props, has := m["properties"].(map[string]any); has {
			all, _ := m["required"].([]any)
			for _, r := range all {
				if _, known := props[r.(string)]; !known {
					return fmt.Sprintf("%v is required and not described", r)
				}
			}
			for _, p := range props {
				if why := below(p); why != "" {
					return why
				}
			}
		}
		return below(m["items"])
	}
	return below(root)
}

// strange are schemas of real generators and of older drafts, each with arguments that its server takes.
var strange = []struct{ name, schema, args string }{
	{"a root of another type", `{"type":"string"}`, `{"a":1}`},
	{"a root that may be null", `{"type":["object","null"],"properties":{"a":{"type":"string"}}}`, `{"a":"x"}`},
	{"a root with a choice", `{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"integer"}}}]}`, `{"b":1}`},
	{"a root of several", `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"$ref":"#/$defs/b"}],"$defs":{"b":{"properties":{"b":{"type":"integer"}}}}}`, `{"a":"x","b":1}`},
	{"a root with a condition", `{"type":"object","properties":{"k":{"type":"string"}},"if":{"properties":{"k":{"const":"x"}}},"then":{"properties":{"a":{"type":"string"}},"required":["a"]}}`, `{"k":"x","a":"y"}`},
	{"a root that refers", `{"$ref":"#/definitions/In","definitions":{"In":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}}`, `{"a":"x"}`},
	{"a root that is a choice of values", `{"type":"object","enum":[{"a":1}]}`, `{"a":1}`},
	{"a root that contains itself", `{"type":"object","properties":{"below":{"$ref":"#"}},"anyOf":[{"$ref":"#"},{"required":["below"]}]}`, `{"below":{"below":{}}}`},
	{"no types", `{"properties":{"a":{}}}`, `{"a":[1]}`},
	{"a pattern that looks ahead", `{"type":"object","properties":{"u":{"type":"string","pattern":"^(?!x).*$"}}}`, `{"u":"yes"}`},
	{"a pattern with \\u", `{"type":"object","properties":{"u":{"type":"string","pattern":"^[\\u4e00-\\u9fa5]+$"}}}`, `{"u":"x"}`},
	{"a pattern that is too long", `{"type":"object","properties":{"u":{"type":"string","pattern":"^.{0,2000}$"}}}`, `{"u":"yes"}`},
	{"patterns of properties", `{"type":"object","patternProperties":{"^(?=x)":{"type":"string"}},"additionalProperties":false}`, `{"xa":"yes"}`},
	{"bounds of draft 4", `{"type":"object","properties":{"u":{"type":"integer","minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}}}`, `{"u":9}`},
	{"required as in draft 3", `{"type":"object","properties":{"u":{"type":"string","required":true}}}`, `{"u":"x"}`},
	{"required among the properties", `{"type":"object","properties":{"u":{"type":"string"},"required":["u"]}}`, `{"u":"x"}`},
	{"required without a property", `{"type":"object","properties":{"u":{"type":"string"}},"required":["u","gone"]}`, `{"u":"x","gone":1}`},
	{"required twice", `{"type":"object","properties":{"u":{"type":"string"}},"required":["u","u"]}`, `{"u":"x"}`},
	{"required null", `{"type":"object","properties":null,"required":null}`, `{"u":"x"}`},
	{"properties as a list", `{"type":"object","properties":[]}`, `{"u":"x"}`},
	{"a length as a text", `{"type":"object","properties":{"u":{"type":"string","minLength":"1"}}}`, `{"u":"x"}`},
	{"a length with a point", `{"type":"object","properties":{"u":{"type":"string","maxLength":5.0}}}`, `{"u":"x"}`},
	{"a length below zero", `{"type":"object","properties":{"u":{"type":"string","minLength":-1}}}`, `{"u":"x"}`},
	{"a title that is a number", `{"type":"object","title":5,"properties":{"u":{"type":"string","title":5,"description":null}}}`, `{"u":"x"}`},
	{"a list without items", `{"type":"object","properties":{"l":{"type":"array"}}}`, `{"l":[1]}`},
	{"items as a list", `{"type":"object","properties":{"l":{"type":"array","items":[{"type":"integer"},{"type":"string"}],"additionalItems":false}}}`, `{"l":[1,"x"]}`},
	{"types of Python", `{"type":"dict","properties":{"a":{"type":"str"},"b":{"type":"int"},"c":{"type":"any"},"d":{"type":["String","null"]}}}`, `{"a":"x","b":1,"c":{},"d":null}`},
	{"an empty choice", `{"type":"object","properties":{"u":{"enum":[]},"v":{"anyOf":[]}}}`, `{"u":"x","v":1}`},
	{"a reference that leads nowhere", `{"type":"object","properties":{"u":{"$ref":"#/components/schemas/U"},"v":{"$ref":"https://example.org/v.json"}}}`, `{"u":{"a":1},"v":2}`},
	{"a reference to a property", `{"type":"object","properties":{"u":{"type":"object","properties":{"x":{"type":"integer"}}},"v":{"$ref":"#/properties/u"}}}`, `{"u":{"x":1},"v":{"x":2}}`},
	{"a dialect that is not known", `{"$schema":"https://example.org/my-schema","type":"object","properties":{"u":{"type":"string"}}}`, `{"u":"x"}`},
	{"nullable of OpenAPI", `{"type":"object","properties":{"u":{"type":"string","nullable":true,"example":"x"}}}`, `{"u":"x"}`},
	{"a factor of zero", `{"type":"object","properties":{"u":{"type":"number","multipleOf":0}}}`, `{"u":1.5}`},
	{"a property that is a text", `{"type":"object","properties":{"u":"string"}}`, `{"u":"x"}`},
	{"a number that no Go integer holds", `{"type":"object","properties":{"u":{"type":"string","maxLength":1e30}}}`, `{"u":"x"}`},
	{"dependencies of draft 7", `{"type":"object","properties":{"a":{},"b":{}},"dependencies":{"a":["b"]}}`, `{"a":1,"b":2}`},
}

// TestFaultW9StrangeSchemas: whatever a server says of its parameters, no service refuses a request for it.
func TestFaultW9StrangeSchemas(t *testing.T) {
	meta := metaschema(t)
	for _, s := range strange {
		t.Run(s.name, func(t *testing.T) {
			got, err := Lenient(json.RawMessage(s.schema))
			if err != nil {
				t.Fatal(err)
			}
			if why := refused(meta, got.Shown()); why != "" {
				t.Errorf("refused: %s\n%s", why, got.Shown())
			}
		})
	}
}

// TestFaultW10KeywordsNotKnown: arguments that a server takes are not refused here for a keyword that is not understood.
func TestFaultW10KeywordsNotKnown(t *testing.T) {
	for _, s := range strange {
		t.Run(s.name, func(t *testing.T) {
			got, err := Lenient(json.RawMessage(s.schema))
			if err != nil {
				t.Fatal(err)
			}
			if c := got.Check(json.RawMessage(s.args), false); len(c.Issues) > 0 {
				t.Errorf("%+v", c.Issues)
			}
		})
	}
}

// TestFaultW9RootKeepsItsProperties: of alternatives at the root a model sees all properties, and what each of them wants.
func TestFaultW9RootKeepsItsProperties(t *testing.T) {
	for schema, want := range map[string]string{
		`{"description":"d","oneOf":[{"properties":{"a":{"type":"string"}},"required":["a","c"]},{"properties":{"b":{"type":"integer"}},"required":["c","b"]}],"properties":{"c":{}}}`: `{"type":"object",
			"description":"d\nOne of these is wanted: a, c; c, b.","properties":{"c":{},"a":{"type":"string"},"b":{"type":"integer"}},"required":["c"]}`,
		`{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"a":{"minLength":1}}}]}`: `{"type":"object",
			"properties":{"a":{"anyOf":[{"type":"string"},{"minLength":1}]}},"required":["a"]}`,
		`{"$ref":"#/$defs/x","$defs":{"x":{"type":"object","properties":{"a":{"type":"array"}}}}}`: `{"type":"object",
			"$defs":{"x":{"type":"object","properties":{"a":{"type":"array","items":{}}}}},"properties":{"a":{"type":"array","items":{}}}}`,
	} {
		s, err := Lenient(json.RawMessage(schema))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(s.Shown()); got != string(compacted(json.RawMessage(want))) {
			t.Errorf("%s\n%s", schema, got)
		}
	}
}

// anything draws JSON that looks like a schema, with keywords of every shape.
func anything(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		plain := []any{nil, true, false, 0, 1, -1.5, 1e30, "", "string", "object", "array", "any", "#", "#/$defs/a", "#/nowhere", "^(?=x)", "^a"}
		shape := rapid.IntRange(0, 5).Draw(t, "shape")
		switch {
		case depth == 0 || shape == 0:
			return rapid.SampledFrom(plain).Draw(t, "plain")
		case shape == 1:
			return rapid.SliceOfN(anything(depth-1), 0, 3).Draw(t, "list")
		}
		names := slices.Sorted(func(yield func(string) bool) {
			for name := range shapes() {
				if !yield(name) {
					return
				}
			}
			for _, other := range []string{"a", "b", "x-more"} {
				if !yield(other) {
					return
				}
			}
		})
		return rapid.MapOfN(rapid.SampledFrom(names), anything(depth-1), 0, 4).Draw(t, "object")
	})
}

// TestFaultW9AnySchema: the same for what no table has.
func TestFaultW9AnySchema(t *testing.T) {
	meta := metaschema(t)
	rapid.Check(t, func(t *rapid.T) {
		js, err := json.Marshal(anything(4).Draw(t, "schema"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Lenient(js)
		if err != nil {
			t.Fatalf("%s: %v", js, err)
		}
		if why := refused(meta, s.Shown()); why != "" && !strings.Contains(why, "'$vocabulary'") {
			t.Fatalf("%s\nis shown as %s\nrefused: %s", js, s.Shown(), why)
		}
		tidied := (&tidier{root: s.JSON()}).schema(s.JSON())
		if !bytes.Equal(tidied, s.JSON()) {
			t.Fatalf("%s\nis not tidy: %s\n%s", js, s.JSON(), tidied)
		}
		s.Check(json.RawMessage(`{"a":{"b":1},"c":[1]}`), true)
	})
}

package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	santhosh "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"tandem/tools/builtin"
	"tandem/tools/schema"
)

// oracle is a complete validator of a schema as a model is shown it.
func oracle(t interface {
	Helper()
	Fatal(args ...any)
}, js json.RawMessage,
) func(args []byte) error {
	t.Helper()
	c := santhosh.NewCompiler()
	doc, err := santhosh.UnmarshalJSON(bytes.NewReader(js))
	if err == nil {
		err = c.AddResource("s.json", doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(args []byte) error {
		instance, err := santhosh.UnmarshalJSON(bytes.NewReader(args))
		if err != nil {
			return err
		}
		return compiled.Validate(instance)
	}
}

// form is what a generator of arguments reads of a schema.
type form struct {
	Type       any              `json:"type"`
	Enum       []any            `json:"enum"`
	Const      any              `json:"const"`
	Minimum    *float64         `json:"minimum"`
	Above      *float64         `json:"exclusiveMinimum"`
	Maximum    *float64         `json:"maximum"`
	MinLength  int              `json:"minLength"`
	Properties map[string]*form `json:"properties"`
	Required   []string         `json:"required"`
	Items      *form            `json:"items"`
	Extra      json.RawMessage  `json:"additionalProperties"`
}

// UnmarshalJSON reads a schema, of which true and false are forms too.
func (f *form) UnmarshalJSON(js []byte) error {
	type plain form
	if js[0] != '{' {
		return nil
	}
	return json.Unmarshal(js, (*plain)(f))
}

// junk is a value that fits a place by chance. It is never null, which stands for an absent value.
func junk(t *rapid.T) any {
	return rapid.SampledFrom([]any{
		"", "a", "append", "append ", 0, 1, -1, 2.0, 1.5, 600001, 1e6, true, false, []any{}, []any{"a"}, []any{1, "b"}, map[string]any{}, map[string]any{"a": 1},
	}).Draw(t, "junk")
}

// draw gives a value that fits f, or now and then one that may not.
func (f *form) draw(t *rapid.T) any {
	if f == nil || rapid.IntRange(0, 12).Draw(t, "wrong") == 0 {
		return junk(t)
	}
	if f.Const != nil {
		return f.Const
	}
	if len(f.Enum) > 0 {
		return rapid.SampledFrom(f.Enum).Draw(t, "choice")
	}
	kinds, several := f.Type.([]any)
	if several {
		return (&form{Type: rapid.SampledFrom(kinds).Draw(t, "type")}).draw(t)
	}
	switch f.Type {
	case "string":
		return rapid.StringMatching(fmt.Sprintf(`[a-zä]{%d,%d}`, f.MinLength, f.MinLength+3)).Draw(t, "text")
	case "integer", "number":
		least, most := -2, 40
		if f.Minimum != nil {
			least = int(*f.Minimum)
		} else if f.Above != nil {
			least = int(*f.Above) + 1
		}
		if f.Maximum != nil {
			most = int(*f.Maximum)
		}
		n := rapid.IntRange(least, max(least, most)).Draw(t, "number")
		if f.Type == "number" {
			return float64(n) + rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "fraction")
		}
		return n
	case "boolean":
		return rapid.Bool().Draw(t, "switch")
	case "array":
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, f.Items.draw(t))
		}
		return list
	case "object":
		m := map[string]any{}
		for _, name := range sorted(f.Properties) {
			if odds := rapid.IntRange(0, 9).Draw(t, name); odds < 3 || odds < 9 && slices.Contains(f.Required, name) {
				m[name] = f.Properties[name].draw(t)
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "more") == 0 || len(f.Extra) > 0 && string(f.Extra) != "false" {
			m["unheard_of"] = junk(t)
		}
		return m
	}
	return junk(t)
}

func sorted[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// verdicts counts what a property has seen, so that a generator which only ever makes one kind is noticed.
type verdicts struct{ valid, invalid int }

// agree draws arguments for s and fails where we and the oracle differ, or where what we accept is not stable.
func (v *verdicts) agree(t *rapid.T, s *schema.Schema, refuses func([]byte) error) (args []byte, got schema.Checked) {
	var f form
	if err := json.Unmarshal(s.JSON(), &f); err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(f.draw(t))
	if err != nil {
		t.Fatal(err)
	}
	refused := refuses(args)
	got = s.Check(args, false)
	if (refused == nil) != (len(got.Issues) == 0) {
		t.Fatalf("%s\n%s\noracle: %v\nours: %v", s.JSON(), args, refused, got.Issues)
	}
	if refused != nil {
		v.invalid++
		return args, got
	}
	v.valid++
	if err := refuses(got.Args); err != nil {
		t.Fatalf("%s\n%s with its defaults is %s, which does not fit: %v", s.JSON(), args, got.Args, err)
	}
	return args, got
}

func (v *verdicts) both(t *testing.T, what string) {
	t.Helper()
	if v.valid == 0 || v.invalid == 0 {
		t.Errorf("%s: %d valid, %d invalid: the generator is one-sided", what, v.valid, v.invalid)
	}
}

// TestF042_F056OracleOfTools: without coercion and without other names, every shipped tool accepts exactly the arguments that the schema
// which its model is shown accepts, in the eyes of a complete validator.
func TestF042_F056OracleOfTools(t *testing.T) {
	for _, tool := range builtin.Tools() {
		t.Run(tool.Spec().Name, func(t *testing.T) {
			var seen verdicts
			s := tool.Schema()
			refuses := oracle(t, s.JSON())
			rapid.Check(t, func(t *rapid.T) { seen.agree(t, s, refuses) })
			seen.both(t, tool.Spec().Name)
		})
	}
}

// TestEncodedAsByTheLibrary compares the schemas of drawn types with what the library writes.
func TestEncodedAsByTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := structs(2).Draw(t, "type")
		want, err1 := schema.Library(of)
		s, err2 := schema.Of(of)
		if (err1 == nil) != (err2 == nil) {
			t.Fatalf("%v, %v", err1, err2)
		}
		if err1 == nil && string(s.JSON()) != string(want) {
			t.Fatalf("%s\nthe library writes\n%s", s.JSON(), want)
		}
		if err1 == nil && string(s.Shown()) != string(schema.Plain(s.Shown())) {
			t.Fatalf("%s is not what services take: %s", s.Shown(), schema.Plain(s.Shown()))
		}
	})
}

// structs draws Go types of arguments, with tags of every kind.
func structs(depth int) *rapid.Generator[reflect.Type] {
	return rapid.Custom(func(t *rapid.T) reflect.Type {
		var fields []reflect.StructField
		for i := range rapid.IntRange(1, 4).Draw(t, "fields") {
			kind, tag := value(depth).Draw(t, "type"), ""
			switch kind.Kind() {
			case reflect.String:
				tag = rapid.SampledFrom([]string{``, `enum:"append,b"`, `enum:"append,b" default:"b"`, `minlen:"1"`, `minlen:"2" maxlen:"4"`, `const:"append"`}).Draw(t, "tag")
			case reflect.Int, reflect.Float64:
				tag = rapid.SampledFrom([]string{``, `min:"0"`, `min:"1" max:"9"`, `above:"0"`, `default:"3"`, `absent:"3"`}).Draw(t, "tag")
			case reflect.Bool:
				tag = rapid.SampledFrom([]string{``, `default:"false"`}).Draw(t, "tag")
			case reflect.Slice:
				tag = rapid.SampledFrom([]string{``, `minlen:"1"`, `maxlen:"2"`}).Draw(t, "tag")
			case reflect.Interface:
				tag = rapid.SampledFrom([]string{``, `types:"string,integer"`, `types:"boolean,array,object"`}).Draw(t, "tag")
			}
			if rapid.IntRange(0, 3).Draw(t, "pointer") == 0 && kind.Kind() != reflect.Interface && kind.Kind() != reflect.Slice {
				kind = reflect.PointerTo(kind)
			}
			omit := rapid.SampledFrom([]string{"", ",omitempty"}).Draw(t, "optional")
			fields = append(fields, reflect.StructField{
				Name: fmt.Sprintf("F%d", i), Type: kind, Tag: reflect.StructTag(fmt.Sprintf(`json:"p%d%s" desc:"." %s`, i, omit, tag)),
			})
		}
		return reflect.StructOf(fields)
	})
}

func value(depth int) *rapid.Generator[reflect.Type] {
	return rapid.Custom(func(t *rapid.T) reflect.Type {
		plain := []reflect.Type{
			reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[float64](), reflect.TypeFor[bool](), reflect.TypeFor[any](),
		}
		switch n := rapid.IntRange(0, 7).Draw(t, "shape"); {
		case n == 5 && depth > 0:
			return reflect.SliceOf(value(depth-1).Draw(t, "item"))
		case n == 6 && depth > 0:
			return reflect.MapOf(plain[0], value(depth-1).Draw(t, "extra"))
		case n == 7 && depth > 0:
			return structs(depth-1).Draw(t, "struct")
		default:
			return plain[n%5]
		}
	})
}

// TestF042_F059OracleOfTypes: for any Go type of arguments, we accept what its schema accepts, what we accept decodes into the type, and
// what we refuse for its names and types does not decode.
func TestF042_F059OracleOfTypes(t *testing.T) {
	var seen verdicts
	byType := 0
	rapid.Check(t, func(t *rapid.T) {
		typ := structs(2).Draw(t, "type")
		s, err := schema.Of(typ)
		if err != nil {
			t.Fatalf("%v: %v", typ, err)
		}
		refuses := oracle(t, s.JSON())
		decode := func(args []byte) error {
			d := json.NewDecoder(bytes.NewReader(args))
			d.DisallowUnknownFields()
			return d.Decode(reflect.New(typ).Interface())
		}
		for range 8 {
			args, got := seen.agree(t, s, refuses)
			if len(got.Issues) == 0 {
				if err := decode(got.Args); err != nil {
					t.Fatalf("%v accepts %s, which does not decode: %v", typ, got.Args, err)
				}
				continue
			}
			for _, i := range got.Issues {
				wrong := i.Expected == "absent" || slices.Contains([]string{"string", "integer", "number", "boolean", "array", "object"}, i.Expected)
				if wrong {
					byType++
					if decode(args) == nil {
						t.Fatalf("%v refuses %s, which decodes: %+v", typ, args, i)
					}
				}
			}
		}
	})
	seen.both(t, "types")
	if byType == 0 {
		t.Error("nothing was refused for its type")
	}
}

// foreign draws a JSON Schema as somebody else may write it.
func foreign(t *rapid.T, depth int) map[string]any {
	s := map[string]any{}
	put := func(key string, v any) {
		if rapid.IntRange(0, 2).Draw(t, key) == 0 {
			s[key] = v
		}
	}
	switch kind := rapid.SampledFrom([]string{"string", "integer", "number", "boolean", "array", "object", "", "choice", "several", "ref"}).Draw(t, "kind"); kind {
	case "choice":
		s["enum"] = []any{"append", 1, true}
	case "several":
		s["type"] = []any{"string", "integer"}
	case "ref":
		s["$ref"] = "#/$defs/d"
	case "":
		if depth > 0 {
			word := rapid.SampledFrom([]string{"anyOf", "oneOf", "allOf", "not"}).Draw(t, "word")
			if s[word] = []any{foreign(t, depth-1), foreign(t, depth-1)}; word == "not" {
				s[word] = foreign(t, 0)
			}
		}
	default:
		s["type"] = kind
		switch kind {
		case "string":
			put("minLength", 1)
			put("maxLength", 3)
			put("pattern", "^[a-z]*$")
			put("const", "append")
		case "integer", "number":
			put("minimum", 0)
			put("exclusiveMaximum", 7)
			put("multipleOf", 2)
		case "array":
			put("minItems", 1)
			put("maxItems", 2)
			put("uniqueItems", true)
			if depth > 0 {
				put("items", foreign(t, depth-1))
			}
		case "object":
			objects(t, s, depth)
		}
	}
	return s
}

func objects(t *rapid.T, s map[string]any, depth int) {
	s["type"] = "object"
	properties := map[string]any{}
	for _, name := range []string{"one", "two", "three"}[:rapid.IntRange(0, 3).Draw(t, "properties")] {
		properties[name] = foreign(t, max(0, depth-1))
	}
	if len(properties) > 0 {
		s["properties"] = properties
		s["required"] = sorted(properties)[:rapid.IntRange(0, len(properties)).Draw(t, "required")]
	}
	switch rapid.SampledFrom([]string{"", "", "closed", "open", "typed"}).Draw(t, "additional") {
	case "closed":
		s["additionalProperties"] = false
	case "open":
		s["additionalProperties"] = true
	case "typed":
		s["additionalProperties"] = map[string]any{"type": "string"}
	}
}

// TestF043OracleOfForeign: of a schema that somebody else wrote we accept exactly what it accepts, too.
func TestF043OracleOfForeign(t *testing.T) {
	var seen verdicts
	rapid.Check(t, func(t *rapid.T) {
		written := map[string]any{"$defs": map[string]any{"d": map[string]any{"type": "integer", "minimum": 1}}}
		objects(t, written, 2)
		js, err := json.Marshal(written)
		if err != nil {
			t.Fatal(err)
		}
		s, err := schema.Raw(js)
		if err != nil {
			t.Fatalf("%s: %v", js, err)
		}
		refuses := oracle(t, s.JSON())
		for range 4 {
			seen.agree(t, s, refuses)
		}
	})
	seen.both(t, "foreign schemas")
}

// TestF059Constructs is the golden list of what each Go construct becomes.
func TestF059Constructs(t *testing.T) {
	for _, c := range []struct {
		name string
		of   any
		want string
	}{
		{"string", struct {
			A string `json:"a" desc:"It."`
		}{}, `{"type":"string","description":"It."}!`},
		{"number", struct {
			A float64 `json:"a" desc:"It." above:"0" max:"9"`
		}{}, `{"type":"number","description":"It.","maximum":9,"exclusiveMinimum":0}!`},
		{"integer", struct {
			A int `json:"a" desc:"It." min:"1"`
		}{}, `{"type":"integer","description":"It.","minimum":1}!`},
		{"boolean", struct {
			A bool `json:"a" desc:"It."`
		}{}, `{"type":"boolean","description":"It."}!`},
		{"slice", struct {
			A []string `json:"a" desc:"It." minlen:"1" maxlen:"3"`
		}{}, `{"type":"array","items":{"type":"string"},"description":"It.","minItems":1,"maxItems":3}!`},
		{"struct", struct {
			A struct {
				B string `json:"b" desc:"That."`
			} `json:"a" desc:"It."`
		}{}, `{"type":"object","properties":{"b":{"type":"string","description":"That."}},"description":"It.","required":["b"],"additionalProperties":false}!`},
		{"map", struct {
			A map[string]int `json:"a" desc:"It."`
		}{}, `{"type":"object","description":"It.","additionalProperties":{"type":"integer"}}!`},
		{"enum", struct {
			A string `json:"a" desc:"It." enum:"x,y"`
		}{}, `{"type":"string","description":"It.","enum":["x","y"]}!`},
		{"optional", struct {
			A string `json:"a,omitempty" desc:"It."`
		}{}, `{"type":"string","description":"It."}`},
		{"pointer", struct {
			A *int `json:"a" desc:"It."`
		}{}, `{"type":"integer","description":"It."}`},
		{"default", struct {
			A int `json:"a" desc:"It." default:"7"`
		}{}, `{"type":"integer","description":"It.","default":7}`},
		{"union", struct {
			A any `json:"a" desc:"It." types:"string,array"`
		}{}, `{"type":["string","array"],"description":"It."}!`},
		{"anything", struct {
			A any `json:"a,omitempty" desc:"It."`
		}{}, `{"description":"It."}`},
		{"constant", struct {
			A string `json:"a" desc:"It." const:"x"`
		}{}, `{"type":"string","description":"It.","const":"x"}!`},
	} {
		s, err := schema.Of(reflect.TypeOf(c.of))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want, required := strings.CutSuffix(c.want, "!")
		want = `{"type":"object","properties":{"a":` + want + `}`
		if required {
			want += `,"required":["a"]`
		}
		if want += `,"additionalProperties":false}`; string(s.JSON()) != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, s.JSON(), want)
		}
		oracle(t, s.JSON())
	}
}

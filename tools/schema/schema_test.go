package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

type sample struct {
	Path    string    `json:"path" desc:"Which file." minlen:"1" alias:"filePath" nocoerce:"true"`
	OldText string    `json:"old_text,omitempty" desc:"What to look for." alias:"oldString,old_str"`
	Mode    string    `json:"mode" desc:"How." default:"overwrite" enum:"overwrite,append"`
	Limit   int       `json:"limit" desc:"How many." default:"2000" min:"1"`
	Timeout int       `json:"timeout_ms,omitempty" desc:"Milliseconds." min:"0" max:"600000"`
	Seconds float64   `json:"timeout,omitempty" desc:"Seconds." above:"0"`
	All     bool      `json:"replace_all" desc:"Every place." default:"false"`
	From    *int      `json:"from" desc:"First line."`
	Items   []item    `json:"items,omitempty" desc:"Several."`
	Tags    []string  `json:"tags,omitempty" desc:"Words." minlen:"1" maxlen:"3"`
	Any     any       `json:"any,omitempty" desc:"Anything."`
	Raw     rawObject `json:"raw,omitempty" desc:"Numbers by name."`
}

type item struct {
	Name string `json:"name" desc:"Its name." minlen:"3"`
	N    *int   `json:"n,omitempty" desc:"Its number."`
}

type rawObject map[string]int

func sampleSchema(t testing.TB) *Schema {
	t.Helper()
	s, err := For[sample]()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestF059_F276Schema(t *testing.T) {
	want := `{"type":"object","properties":{` +
		`"path":{"type":"string","description":"Which file.","minLength":1},` +
		`"old_text":{"type":"string","description":"What to look for."},` +
		`"mode":{"type":"string","description":"How. (default overwrite)","default":"overwrite","enum":["overwrite","append"]},` +
		`"limit":{"type":"integer","description":"How many.","default":2000,"minimum":1},` +
		`"timeout_ms":{"type":"integer","description":"Milliseconds.","minimum":0,"maximum":600000},` +
		`"timeout":{"type":"number","description":"Seconds.","exclusiveMinimum":0},` +
		`"replace_all":{"type":"boolean","description":"Every place.","default":false},` +
		`"from":{"type":"integer","description":"First line."},` +
		`"items":{"type":"array","items":{"type":"object","properties":{` +
		`"name":{"type":"string","description":"Its name.","minLength":3},` +
		`"n":{"type":"integer","description":"Its number."}},"required":["name"],"additionalProperties":false},` +
		`"description":"Several."},` +
		`"tags":{"type":"array","items":{"type":"string"},"description":"Words.","minItems":1,"maxItems":3},` +
		`"any":{"description":"Anything."},` +
		`"raw":{"type":"object","description":"Numbers by name.","additionalProperties":{"type":"integer"}}},` +
		`"required":["path"],"additionalProperties":false}`
	for range 20 {
		if got := string(sampleSchema(t).JSON()); got != want {
			t.Fatalf("schema:\n%s\nwant:\n%s", got, want)
		}
	}
}

// A model is shown one way to say each thing, and no bounds.
func TestFindingC7SchemaShown(t *testing.T) {
	type args struct {
		Path  string         `json:"path" desc:"Which file." minlen:"1"`
		Mode  string         `json:"mode" desc:"How." enum:"a,b" default:"b"`
		Limit int            `json:"limit,omitempty" desc:"How many." min:"1" max:"9" shown:"false"`
		Sort  string         `json:"sort" enum:"up,down" default:"up"`
		Dir   string         `json:"dir" desc:"Where." default:"."`
		Most  int            `json:"most" desc:"At most." default:"200" shown:"nodefault"`
		Depth int            `json:"depth" desc:"How deep." default:"1"`
		Items []item         `json:"items,omitempty" desc:"Several." minlen:"1"`
		Raw   map[string]int `json:"raw,omitempty" desc:"Numbers."`
	}
	s, err := For[args]()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","properties":{"path":{"type":"string","description":"Which file."},` +
		`"mode":{"type":"string","description":"How. (default b)","enum":["a","b"]},` +
		`"sort":{"type":"string","description":"(default up)","enum":["up","down"]},` +
		`"dir":{"type":"string","description":"Where."},"most":{"type":"integer","description":"At most."},` +
		`"depth":{"type":"integer","description":"How deep.","default":1},` +
		`"items":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string","description":"Its name."},` +
		`"n":{"type":"integer","description":"Its number."}},"required":["name"]},"description":"Several."},` +
		`"raw":{"type":"object","description":"Numbers.","additionalProperties":{"type":"integer"}}},"required":["path"]}`
	if got := string(s.Shown()); got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
	if c := s.Check(json.RawMessage(`{"path":"a","limit":10}`), false); len(c.Issues) != 1 || !strings.Contains(string(s.JSON()), `"limit"`) {
		t.Errorf("%+v", c)
	}
	whole, c := string(s.JSON()), s.Check(json.RawMessage(`{"path":"a"}`), false)
	if !strings.Contains(whole, `"default":200`) || !strings.Contains(whole, `"default":"."`) || !strings.Contains(string(c.Args), `"most":200`) {
		t.Errorf("a default is not shown to a model, and is there all the same: %s, %s", whole, c.Args)
	}
	type slip struct {
		Most int `json:"most" desc:"At most." default:"200" shown:"no"`
	}
	if _, err := For[slip](); err == nil {
		t.Error("the tag has a word that says nothing")
	}
	js := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"additionalProperties":false}`)
	if s, err = Raw(js); err != nil || string(s.Shown()) != string(js) {
		t.Errorf("%v: %s", err, s.Shown())
	}
}

// One definition serves the Go type, the schema and the validator: a further field shows up in all three.
func TestF042OneDefinition(t *testing.T) {
	type before struct {
		A string `json:"a" desc:"a"`
	}
	type after struct {
		A string `json:"a" desc:"a"`
		B bool   `json:"b" desc:"b"`
	}
	old, fresh := Lazy[before]()(), Lazy[after]()()
	if bytes.Contains(old.JSON(), []byte(`"b"`)) || !bytes.Contains(fresh.JSON(), []byte(`"b"`)) {
		t.Errorf("parameters: %s, %s", old.JSON(), fresh.JSON())
	}
	args := json.RawMessage(`{"a":"x","b":true}`)
	if got := old.Check(args, false).Issues; len(got) != 1 || got[0].Expected != "absent" {
		t.Errorf("before: %v", got)
	}
	checked := fresh.Check(args, false)
	var in after
	if err := json.Unmarshal(checked.Args, &in); err != nil || !in.B || checked.Issues != nil {
		t.Errorf("after: %v %v %v", in, err, checked.Issues)
	}
}

func TestF047F048F049F050F054F055F056F057F064Issues(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	tests := []struct {
		name, args string
		want       []Issue
	}{
		{"F056 missing", `{}`, []Issue{{"$.path", "/path", "present", "absent", "path is required"}}},
		{"F056 type", `{"path":42}`, []Issue{
			{"$.path", "/path", "string", "number 42", "path must be a string, got number 42"},
		}},
		{"F057 empty", `{"path":""}`, []Issue{
			{"$.path", "/path", "length >= 1", `string ""`, "path cannot be empty"},
		}},
		{"F055 F064 unknown", `{"pth":"a","path":"b"}`, []Issue{{
			"$.pth", "/pth", "absent", `string "a"`,
			`unknown parameter "pth"; the parameters are path, old_text, mode, limit, timeout_ms, timeout, replace_all, ` +
				`from, items, tags, any, raw`,
		}}},
		{"F064 near", `{"pth":"a"}`, []Issue{
			{"$.pth", "/pth", "absent", `string "a"`, `unknown parameter "pth", did you mean "path"?`},
			{"$.path", "/path", "present", "absent", "path is required"},
		}},
		{"near an alias", `{"path":"a","old_strng":"b"}`, []Issue{
			{"$.old_strng", "/old_strng", "absent", `string "b"`, `unknown parameter "old_strng", did you mean "old_text"?`},
		}},
		{"F049 enum", `{"path":"a","mode":"x"}`, []Issue{{
			"$.mode", "/mode", "enum[overwrite,append]", `string "x"`,
			`mode must be one of overwrite, append, got string "x"`,
		}}},
		{"F067 range", `{"path":"a","timeout_ms":600001}`, []Issue{
			{"$.timeout_ms", "/timeout_ms", "<= 600000", "number 600001", "timeout_ms must be <= 600000, got 600001"},
		}},
		{"F057 least", `{"path":"a","limit":0}`, []Issue{
			{"$.limit", "/limit", ">= 1", "number 0", "limit must be >= 1, got 0"},
		}},
		{"above", `{"path":"a","timeout":0}`, []Issue{
			{"$.timeout", "/timeout", "> 0", "number 0", "timeout must be > 0, got 0"},
		}},
		{"F054 fraction", `{"path":"a","limit":1.5}`, []Issue{
			{"$.limit", "/limit", "integer", "number 1.5", "limit must be an integer, got number 1.5"},
		}},
		{"integer too large", `{"path":"a","limit":99999999999999999999}`, []Issue{{
			"$.limit", "/limit", "integer", "number 99999999999999999999",
			"limit is too large a number: number 99999999999999999999",
		}}},
		{"number too large", `{"path":"a","timeout":1e999}`, []Issue{
			{"$.timeout", "/timeout", "number", "number 1e999", "timeout is too large a number: number 1e999"},
		}},
		{"F048 nested", `{"path":"a","items":[{"name":"abc"},{"name":"abc"},{"name":7}]}`, []Issue{{
			"$.items[2].name", "/items/2/name", "string", "number 7", "items[2].name must be a string, got number 7",
		}}},
		{"F049 length", `{"path":"a","items":[{"name":"äb"}]}`, []Issue{{
			"$.items[0].name", "/items/0/name", "length >= 3", `string "äb"`,
			"items[0].name must have at least 3 characters, got 2",
		}}},
		{"list length", `{"path":"a","tags":["a","b","c","d"]}`, []Issue{
			{"$.tags", "/tags", "length <= 3", "array of 4", "tags must have at most 3 items, got 4"},
		}},
		{"map values", `{"path":"a","raw":{"we.ird/~":"x"}}`, []Issue{{
			`$.raw["we.ird/~"]`, "/raw/we.ird~1~0", "integer", `string "x"`,
			`raw["we.ird/~"] must be an integer, got string "x"`,
		}}},
		{"F050 cut", `{"path":"a","limit":"` + long + `"}`, []Issue{{
			"$.limit", "/limit", "integer", `string "` + strings.Repeat("x", 51) + "…",
			`limit must be an integer, got string "` + strings.Repeat("x", 51) + "…",
		}}},
		{"alias and canonical", `{"path":"a","filePath":"b"}`, []Issue{{
			"$.filePath", "/filePath", "absent", `string "b"`,
			`"filePath" is another name of "path", which is there too: give only "path"`,
		}}},
		{"all at once", `{"limit":0,"mode":1,"bogus":true}`, []Issue{
			{
				"$.bogus", "/bogus", "absent", "boolean true", `unknown parameter "bogus"; the parameters are path, old_text, ` +
					`mode, limit, timeout_ms, timeout, replace_all, from, items, tags, any, raw`,
			},
			{"$.mode", "/mode", "string", "number 1", "mode must be a string, got number 1"},
			{"$.limit", "/limit", ">= 1", "number 0", "limit must be >= 1, got 0"},
			{"$.path", "/path", "present", "absent", "path is required"},
		}},
		{"no object", `[1]`, []Issue{
			{"$", "", "object", "array of 1", "the arguments must be an object, got array of 1"},
		}},
		{"required null", `{"path":null}`, []Issue{
			{"$.path", "/path", "string", "null", "path must be a string, got null"},
		}},
		{"cut off", `{"path":"a`, []Issue{{
			"$", "", "object", `"{\"path\":\"a"`,
			`the arguments are not valid JSON: they end in the middle after 10 bytes, which end with "{\"path\":\"a". ` +
				"Send the whole call again, one JSON object with path; if it was too long, do it in several smaller calls",
		}}},
		{"no JSON", `{"path": 'a'}`, []Issue{{
			"$", "", "object", `"{\"path\": 'a'}"`,
			`the arguments are not valid JSON: invalid character '\'' looking for beginning of value at byte 9 of 13, after "{\"path\": ". ` +
				"Send one JSON object with path",
		}}},
		{"two values", `{"path":"a"}{}`, []Issue{{
			"$", "", "object", `"{\"path\":\"a\"}{}"`,
			`the arguments are not valid JSON: there is more after the first value at byte 12 of 14, after "{\"path\":\"a\"}". ` +
				"Send one JSON object with path",
		}}},
	}
	s := sampleSchema(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := s.Check(json.RawMessage(tt.args), false)
			if d := cmp.Diff(tt.want, got.Issues); d != "" {
				t.Errorf("issues (-want +got):\n%s", d)
			}
			for _, i := range got.Issues {
				if n := utf8.RuneCountInString(i.Received); n > 60 {
					t.Errorf("received has %d characters", n)
				}
			}
		})
	}
}

func TestF054F061F062F064Normalised(t *testing.T) {
	const rest = `"limit":2000,"mode":"overwrite"`
	tests := []struct {
		name, args string
		coerce     bool
		want       string
		coerced    []string
	}{
		{"F061 defaults", `{"path":"a"}`, false, `{` + rest + `,"path":"a","replace_all":false}`, nil},
		{"F064 case", `{"Path":"a"}`, false, `{` + rest + `,"path":"a","replace_all":false}`, []string{"$.path"}},
		{"F064 camel", `{"filePath":"a"}`, false, `{` + rest + `,"path":"a","replace_all":false}`, []string{"$.path"}},
		{"F064 snake", `{"file_path":"a"}`, false, `{` + rest + `,"path":"a","replace_all":false}`, []string{"$.path"}},
		{"F064 lower", `{"filepath":"a"}`, false, `{` + rest + `,"path":"a","replace_all":false}`, []string{"$.path"}},
		{
			"F064 another word", `{"path":"a","oldString":"x<y>&z"}`, false,
			`{` + rest + `,"old_text":"x<y>&z","path":"a","replace_all":false}`,
			[]string{"$.old_text"},
		},
		{
			"F062 boolean", `{"path":"a","replace_all":"true"}`, true,
			`{` + rest + `,"path":"a","replace_all":true}`,
			[]string{"$.replace_all"},
		},
		{
			"F062 zero", `{"path":"a","replaceAll":"0"}`, true,
			`{` + rest + `,"path":"a","replace_all":false}`,
			[]string{"$.replace_all"},
		},
		{
			"F062 number", `{"path":"a","replace_all":1}`, true,
			`{` + rest + `,"path":"a","replace_all":true}`,
			[]string{"$.replace_all"},
		},
		{
			"F063 text", `{"path":"a","old_text":42}`, true,
			`{` + rest + `,"old_text":"42","path":"a","replace_all":false}`,
			[]string{"$.old_text"},
		},
		{
			"numeric text", `{"path":"a","limit":" 7 ","timeout":"1.5"}`, true,
			`{"limit":7,"mode":"overwrite","path":"a","replace_all":false,"timeout":1.5}`,
			[]string{"$.limit", "$.timeout"},
		},
		{
			"list in a text", `{"path":"a","items":"[{\"name\":\"abc\",\"n\":\"3\"}]"}`, true,
			`{"items":[{"n":3,"name":"abc"}],` + rest + `,"path":"a","replace_all":false}`,
			[]string{"$.items", "$.items[0].n"},
		},
		{
			"everything in a text", `"{\"path\":\"a\"}"`, true,
			`{` + rest + `,"path":"a","replace_all":false}`,
			[]string{"$"},
		},
		{
			"choice by case", `{"path":"a","mode":"Append"}`, true,
			`{"limit":2000,"mode":"append","path":"a","replace_all":false}`,
			[]string{"$.mode"},
		},
		{"F054 whole", `{"path":"a","limit":1.0}`, false, `{"limit":1,"mode":"overwrite","path":"a","replace_all":false}`, nil},
		{"exponent", `{"path":"a","limit":1e3}`, false, `{"limit":1000,"mode":"overwrite","path":"a","replace_all":false}`, nil},
		{"null is absent", `{"path":"a","limit":null,"from":null}`, false, `{` + rest + `,"path":"a","replace_all":false}`, nil},
		{"anything", `{"path":"a","any":[null,{"X":1.50}]}`, true, `{"any":[null,{"X":1.50}],` + rest + `,"path":"a","replace_all":false}`, nil},
	}
	s := sampleSchema(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := s.Check(json.RawMessage(tt.args), tt.coerce)
			if len(got.Issues) > 0 || string(got.Args) != tt.want {
				t.Errorf("args %s, issues %v\nwant %s", got.Args, got.Issues, tt.want)
			}
			if d := cmp.Diff(tt.coerced, got.Coerced); d != "" {
				t.Errorf("coerced (-want +got):\n%s", d)
			}
			again := s.Check(got.Args, false)
			if string(again.Args) != string(got.Args) || again.Coerced != nil || again.Issues != nil {
				t.Errorf("not stable: %s %v %v", again.Args, again.Coerced, again.Issues)
			}
		})
	}
}

// A schema that somebody else wrote cannot declare what is a path or a command: it goes by the name.
func TestF063RawNames(t *testing.T) {
	s, err := Raw(json.RawMessage(`{"properties":{"filePath":{"type":"string"},"paths":{"type":"array","items":{"type":"string"}},"q":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := s.Check(json.RawMessage(`{"filePath":1,"paths":[2],"q":3}`), true)
	if len(got.Issues) != 2 || !strings.Contains(string(got.Args), `"q":"3"`) {
		t.Errorf("%s %+v", got.Args, got.Issues)
	}
}

// Paths and commands are never made up from values of another type, and nothing is without coercion.
func TestF063NeverCoerced(t *testing.T) {
	s := sampleSchema(t)
	for _, tt := range []struct {
		args   string
		coerce bool
	}{
		{`{"path":42}`, true},
		{`{"path":true}`, true},
		{`{"path":"a","replace_all":"true"}`, false},
		{`{"path":"a","replace_all":"yes"}`, true},
		{`{"path":"a","limit":"7"}`, false},
		{`{"path":"a","limit":"7x"}`, true},
		{`{"path":"a","limit":""}`, true},
		{`{"path":"a","limit":"1.5"}`, true},
		{`{"path":"a","old_text":null,"items":"x"}`, true},
		{`{"path":"a","mode":"Append"}`, false},
	} {
		if got := s.Check(json.RawMessage(tt.args), tt.coerce); len(got.Issues) != 1 {
			t.Errorf("%s coerce=%v: %v", tt.args, tt.coerce, got.Issues)
		}
	}
}

func TestF043Twins(t *testing.T) {
	typed := sampleSchema(t)
	raw, err := Raw(typed.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if raw.foreign != nil {
		t.Error("our own schemas lie within what we check ourselves")
	}
	for _, args := range []string{`{}`, `{"path":1,"mode":"x"}`, `{"path":"a","items":[{"name":"a","z":1}],"timeout":-1}`} {
		a, b := typed.Check(json.RawMessage(args), false), raw.Check(json.RawMessage(args), false)
		byPath := func(issues []Issue) map[string]Issue {
			m := map[string]Issue{}
			for _, i := range issues {
				i.Message = ""
				m[i.Path] = i
			}
			return m
		}
		if d := cmp.Diff(byPath(a.Issues), byPath(b.Issues)); d != "" || len(a.Issues) == 0 {
			t.Errorf("%s:\n%s", args, d)
		}
	}
}

func TestRaw(t *testing.T) {
	tests := []struct {
		name, schema, args string
		issues             int
	}{
		{"F045 none", `true`, `{"a":1}`, 0},
		{"F045 absent", ``, `{"a":1}`, 0},
		{"F045 still an object", `null`, `[]`, 1},
		{"untyped", `{}`, `{"a":1}`, 0},
		{"open", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"A":1}`, 0},
		{"required variant", `{"properties":{"file_path":{"type":"string"}},"required":["file_path"]}`, `{"filePath":"x"}`, 0},
		{"reference", `{"$defs":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/n"}}}`, `{"a":"x"}`, 1},
		{"or null", `{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, `{"a":null}`, 0},
		{"or null, wrong", `{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, `{"a":"x"}`, 1},
		{"itself", `{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}`, `{"a":{"a":{"b":1}}}`, 1},
		{"nothing but itself", `{"$ref":"#"}`, `{"a":1}`, 0},
		{"alternatives", `{"properties":{"a":{"oneOf":[{"type":"integer"},{"type":"string"}]}}}`, `{"a":true}`, 1},
		{"literal", `{"properties":{"a":{"const":3}}}`, `{"a":4}`, 1},
		{"literal holds", `{"properties":{"a":{"const":3}}}`, `{"a":3.0}`, 0},
		{"type list", `{"properties":{"a":{"type":["string","null"]}}}`, `{"a":null}`, 0},
		{"alternatives that contain themselves", `{"anyOf":[{"type":"object"},{"$ref":"#"}]}`, `{"a":1}`, 0},
		{"false property", `{"properties":{"a":false}}`, `{"a":1}`, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Raw(json.RawMessage(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			got := s.Check(json.RawMessage(tt.args), false)
			if len(got.Issues) != tt.issues {
				t.Errorf("issues: %+v", got.Issues)
			}
			if !json.Valid(s.JSON()) || !strings.Contains(string(s.JSON()), `"type"`) {
				t.Errorf("shown: %s", s.JSON())
			}
		})
	}
	if _, err := Raw(json.RawMessage(`{"type":7}`)); err == nil {
		t.Error("a schema that is none must be refused")
	}
}

func TestMistakesInTags(t *testing.T) {
	check := func(_ *Schema, err error) {
		t.Helper()
		if err == nil {
			t.Error("no error")
		}
	}
	check(For[int]())
	check(For[struct{ F func() }]())
	check(For[struct {
		A int `json:"a" min:"x"`
	}]())
	check(For[struct {
		A int `json:"a" default:"0" min:"1"`
	}]())
	check(For[struct {
		A string `json:"a" maxlen:"x"`
	}]())
	check(For[struct {
		A string `json:"a"`
		B string `json:"b" alias:"A"`
	}]())
	defer func() {
		if recover() == nil {
			t.Error("Lazy must panic")
		}
	}()
	Lazy[int]()()
}

func TestProportion(t *testing.T) {
	s := sampleSchema(t)
	for name, args := range map[string]string{
		"deep": strings.Repeat(`{"any":`, 100_000),
		"wide": `{"path":"a","any":[` + strings.Repeat(`{},`, 1_000_000) + `{}]}`,
	} {
		if got := s.Check(json.RawMessage(args), true); len(got.Issues) != 1 || got.Args != nil {
			t.Errorf("%s: %d issues", name, len(got.Issues))
		}
	}
	text, _ := json.Marshal(map[string]string{"path": "a", "old_text": strings.Repeat(`{},"\`, 1_000_000)})
	if got := s.Check(text, false); got.Issues != nil {
		t.Errorf("a long text is no problem: %v", got.Issues)
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, ``, `"{\"path\":\"a\"}"`, `{"path":"a","items":[{"name":"abc"}]}`, `{"FILE-PATH":1e999,"raw":{"":-0}}`,
		`{"path":"\ud800","limit":"1e2","any":{"a":[[]]}}`, `{"items":"[{\"name\":\"[]\"}]"}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	s := sampleSchema(f)
	f.Fuzz(func(t *testing.T, raw []byte, coerce bool) {
		got := s.Check(raw, coerce)
		for _, i := range got.Issues {
			if i.Message == "" || i.Expected == "" || utf8.RuneCountInString(i.Received) > 60 {
				t.Errorf("issue %+v", i)
			}
		}
		if len(got.Issues) > 0 {
			return
		}
		var in sample
		if err := json.Unmarshal(got.Args, &in); err != nil {
			t.Fatalf("%q gives %q, which does not decode: %v", raw, got.Args, err)
		}
		again := s.Check(got.Args, false)
		if len(again.Issues) > 0 || again.Coerced != nil || !reflect.DeepEqual(again.Args, got.Args) {
			t.Fatalf("%q is not stable: %q, %+v", got.Args, again.Args, again)
		}
	})
}

func FuzzRaw(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#"}}}`), []byte(`{"a":{}}`))
	f.Add([]byte(`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`), []byte(`{}`))
	f.Add([]byte(`{"anyOf":[{"type":"null"},{"$ref":"#"}]}`), []byte(`{"a":{}}`))
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		s, err := Raw(schema)
		if err != nil {
			return
		}
		if !json.Valid(s.JSON()) {
			t.Errorf("shown: %q", s.JSON())
		}
		s.Check(args, true)
	})
}

// TestExact finds the names of paths, addresses and commands by their ends.
func TestExact(t *testing.T) {
	for name, want := range map[string]bool{
		"path": true, "file_path": true, "filePaths": true, "FILES": true, "dir": true, "directories": true, "sub_directories": true,
		"cwd": true, "cmds": true, "url": true, "scripts": true,
		"": false, "s": false, "paths_of": false, "pathss": false, "directorie": false, "filter": false, "files2": false, "profil": false,
	} {
		if got := exact(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	s := sampleSchema(b)
	args := json.RawMessage(`{"path":"src/main.go","oldString":"a","replace_all":"true","items":[{"name":"abc"}]}`)
	for b.Loop() {
		if c := s.Check(args, true); len(c.Issues) > 0 {
			b.Fatal(c.Issues)
		}
	}
}

func BenchmarkFor(b *testing.B) {
	for b.Loop() {
		sampleSchema(b)
	}
}

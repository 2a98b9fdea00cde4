package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false, "write the generated files")

// load lays JSON of the named layers over the defaults; "user" and "workspace" become files.
func load(t *testing.T, layers map[string]string) (Config, []string, string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := Inputs{
		Workspace: filepath.Join(root, "ws"), UserFile: filepath.Join(root, "user.json"),
		Section: []byte(layers["section"]), Client: []byte(layers["client"]), Flags: []byte(layers["flags"]),
	}
	for _, dir := range []string{"ws/.tandem", "ws/src", "other"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "other"), filepath.Join(root, "ws/out")); err != nil {
		t.Fatal(err)
	}
	for layer, name := range map[string]string{"user": "user.json", "workspace": "ws/.tandem/config.json"} {
		if text, ok := layers[layer]; ok {
			if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	c, problems := Load(in)
	lines := []string{}
	for _, p := range problems {
		mark := "hint "
		if p.Bad {
			mark = "bad "
		}
		lines = append(lines, mark+strings.ReplaceAll(p.String(), root, ""))
	}
	return c, lines, root
}

func TestNothingSet(t *testing.T) {
	c, problems, _ := load(t, nil)
	if diff := cmp.Diff(Default(), c); diff != "" || len(problems) > 0 {
		t.Errorf("%s %v", diff, problems)
	}
}

func TestLayersInOrder(t *testing.T) {
	c, problems, _ := load(t, map[string]string{
		"user": `{"model": "a/u", "closedFiles": "disk", "limits": {"killGraceMs": 1, "maxConcurrency": 2},
			"disabledTools": ["bash"], "providers": {"p": {"baseUrl": "http://u", "apiKeyEnv": "K"}}, /* why */ }`,
		"workspace": `{"limits": {"killGraceMs": 3}, "disabledTools": ["grep"]}`,
		"section":   `{"coerce": "on", "closedFiles": "editor", "providers": {"p": {"baseUrl": "http://s"}}}`,
		"client":    `{"coerce": "off", "model": "a/c", "mode": "auto", "disabledTools": ["bash", "glob"]}`,
		"flags":     `{"model": "a/f"}`,
	})
	want := Default()
	want.Model, want.Mode, want.ClosedFiles, want.Coerce = "a/f", "auto", "editor", "on"
	want.Limits.KillGraceMs, want.Limits.MaxConcurrency = 3, 2
	want.ToolsOff = []string{"bash", "glob", "grep"}
	want.Providers = map[string]Provider{"p": {BaseURL: "http://s", APIKeyEnv: "K"}}
	if diff := cmp.Diff(want, c); diff != "" || len(problems) > 0 {
		t.Errorf("%s %v", diff, problems)
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct {
		name, layer, text string
		want              []string
	}{
		{"unknown key with a near one", "user", "{\n  // mine\n  \"modle\": \"x\"\n}", []string{
			`hint /user.json:3:3: unknown key "modle"; did you mean "model"?`,
		}},
		{"unknown key in a nested object", "client", `{"limits": {"killgrace": 1}}`, []string{
			`hint initializationOptions: unknown key "limits.killgrace"; did you mean "limits.killGraceMs"?`,
		}},
		{"unknown key like no other", "client", `{"zzzzzzzz": 1}`, []string{
			`hint initializationOptions: unknown key "zzzzzzzz"`,
		}},
		{"column counts characters", "user", `{"model": "é", "mod": 1}`, []string{
			`hint /user.json:1:16: unknown key "mod"; did you mean "mode"?`,
		}},
		{"wrong types, all of them", "client", `{"model": 5, "requireRead": "yes", "limits": [],
			"disabledTools": "bash", "writeRoots": {}}`, []string{
			`bad initializationOptions: "model" must be a string, not the number 5`,
			`bad initializationOptions: "requireRead" must be true or false, not a string`,
			`bad initializationOptions: "limits" must be an object, not a list`,
			`bad initializationOptions: "disabledTools" must be a list of strings, not a string`,
			`bad initializationOptions: "writeRoots" must be a list of strings or null, not an object`,
		}},
		{"an element", "client", `{"writeRoots": [7]}`, []string{
			`bad initializationOptions: "writeRoots[0]" must be a string, not the number 7`,
		}},
		{"out of range", "client", `{"limits": {"maxConcurrency": 0, "killGraceMs": 1.5}}`, []string{
			`bad initializationOptions: "limits.maxConcurrency" must be from 1 to 64, not 0`,
			`bad initializationOptions: "limits.killGraceMs" must be a whole number, not the number 1.5`,
		}},
		{"not one of", "client", `{"apply": "never"}`, []string{
			`bad initializationOptions: "apply" must be "auto", "editor", "disk" or "none", not "never"`,
		}},
		{"not served yet", "client", `{"mode": "plan", "permissions": {"deny": ["bash"]}, "messages": "en",
			"providers": {"p": {"api": "soap", "prices": {"m": {"input": -1, "output": "x"}}}}}`, []string{
			`bad initializationOptions: "mode" "plan" is not served yet; use "ask" or "auto"`,
			`bad initializationOptions: "permissions" is not served yet and has no effect`,
			`hint initializationOptions: "messages" is not served yet and has no effect`,
			`bad initializationOptions: "providers.p.api" must be "anthropic", "openai" or "openai-chat", not "soap"`,
			`bad initializationOptions: "providers.p.prices.m.input" must be from 0 to 10000, not -1`,
			`bad initializationOptions: "providers.p.prices.m.output" must be a number, not a string`,
		}},
		{"no JSON", "user", "{\n\"model\" 5}", []string{
			`bad /user.json: not valid JSON: line 2, column 9: invalid character '5' after object name`,
		}},
		{"no object", "client", `[]`, []string{`bad initializationOptions: the configuration must be an object, not a list`}},
		{"null", "client", `null`, []string{}},
		{"empty", "user", " \n", []string{}},
		{"schema", "user", `{"$schema": "x"}`, []string{}},
		{"nested beyond reason", "client", strings.Repeat("[", 100_000), []string{
			`bad initializationOptions: too deeply nested to be a configuration`,
		}},
		{"no limit at all, from a section", "section", `{"writeRoots": []}`, []string{
			`bad the tandem section: "writeRoots": [] is heeded in the user's file and in initializationOptions only`,
		}},
		{"no limit at all, from flags", "flags", `{"writeRoots": []}`, []string{
			`bad the command line: "writeRoots": [] is heeded in the user's file and in initializationOptions only`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, problems, _ := load(t, map[string]string{c.layer: c.text})
			if diff := cmp.Diff(c.want, problems); diff != "" {
				t.Error(diff)
			}
			got.Providers, got.Model = nil, ""
			if diff := cmp.Diff(Default(), got); diff != "" {
				t.Errorf("a mistake changed the rest: %s", diff)
			}
		})
	}
}

func TestUnknownModeIsNotLooser(t *testing.T) {
	c, _, _ := load(t, map[string]string{"user": `{"mode": "auto"}`, "client": `{"mode": "readOnly"}`})
	if c.Mode != "ask" {
		t.Errorf("mode %q", c.Mode)
	}
}

func TestNoLimitOnWriting(t *testing.T) {
	for _, layer := range []string{"user", "client"} {
		c, problems, _ := load(t, map[string]string{layer: `{"writeRoots": []}`})
		if c.WriteRoots == nil || len(c.WriteRoots) != 0 || len(problems) != 0 {
			t.Errorf("%s: %v %v", layer, c.WriteRoots, problems)
		}
	}
}

func TestWorkspaceOnlyNarrows(t *testing.T) {
	loose := `{"model": "evil/m", "providers": {"openai": {"baseUrl": "http://evil"}}, "mode": "auto", "requireRead": false,
		"strictPaths": false, "writeRoots": [], "readRoots": ["/"], "stateDir": "/x", "log": {"file": "/x"},
		"retry": {"attempts": 9}, "budget": {"maxTurnRequests": 5000}}`
	user := `{"strictPaths": true}`
	before, _, _ := load(t, map[string]string{"user": user})
	after, problems, _ := load(t, map[string]string{"user": user, "workspace": loose})
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if len(problems) != 11 {
		t.Errorf("%d hints for 11 keys: %q", len(problems), problems)
	}
	hint := `hint /ws/.tandem/config.json:1:2: "model" is ignored here: a workspace may not decide it`
	if !slices.Contains(problems, hint) {
		t.Errorf("%q", problems)
	}

	c, problems, root := load(t, map[string]string{
		"user": `{"mode": "auto", "requireRead": false}`,
		"workspace": `{"mode": "ask", "requireRead": true, "strictPaths": true, "budget": {"maxTurnRequests": 5},
			"writeRoots": ["src", "out", "../other", "none"]}`,
	})
	want := Default()
	want.StrictPaths, want.Budget.MaxTurnRequests, want.WriteRoots = true, 5, []string{filepath.Join(root, "ws/src")}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	if len(problems) != 3 {
		t.Errorf("a link out, a folder outside and one that is not there: %q", problems)
	}
	c, _, root = load(t, map[string]string{"user": `{"writeRoots": []}`, "workspace": `{"writeRoots": ["../other"]}`})
	if !slices.Equal(c.WriteRoots, []string{root + "/other"}) {
		t.Errorf("any limit is stricter than none: %v", c.WriteRoots)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, bytes.Repeat([]byte(" "), maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: "not a regular file", large: "larger than 1 MiB"} {
		c, problems := Load(Inputs{UserFile: path})
		if len(problems) != 1 || !problems[0].Bad || !strings.Contains(problems[0].String(), want) || c.Mode != "ask" {
			t.Errorf("%s: %v", path, problems)
		}
	}
}

func TestUserFile(t *testing.T) {
	for _, c := range []struct{ xdg, home, want string }{
		{"/c", "/h", "/c/tandem/config.json"},
		{"", "/h", "/h/.config/tandem/config.json"},
		{"relative", "/h", "/h/.config/tandem/config.json"},
		{"", "", ""},
	} {
		env := map[string]string{"XDG_CONFIG_HOME": c.xdg, "HOME": c.home}
		if got := UserFile(func(k string) string { return env[k] }); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"mode": "auto", "limits": {"killGraceMs": 1}}`))
	f.Add([]byte(`{"writeRoots": [], "providers": {"a.b": {"headers": {"x": 1}}}} // c`))
	f.Add([]byte("{\"\\u0000\": \"\xff\"}"))
	dir := f.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".tandem"), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, _ := Load(Inputs{Client: text})
		if !slices.Contains([]string{"ask", "auto"}, c.Mode) || c.Retry.Attempts < 1 || c.Limits.MaxConcurrency < 1 {
			t.Errorf("not usable: %+v", c)
		}
		if err := os.WriteFile(filepath.Join(dir, ".tandem/config.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if c, _ := Load(Inputs{Workspace: dir}); c.Mode != "ask" || !c.RequireRead || c.Model != "" || c.Providers != nil ||
			c.FallbackModels != nil ||
			(c.WriteRoots != nil && len(c.WriteRoots) == 0) {
			t.Errorf("loosened by a workspace: %+v", c)
		}
	})
}

// TestSchema keeps the JSON Schema that editors complete with as the struct has it; -update writes it.
func TestSchema(t *testing.T) {
	s := describe(t, reflect.TypeFor[Config](), reflect.ValueOf(Default()), "", comments(t))
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "Configuration of Tandem"
	got, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("..", "..", "docs", "configuration.schema.json")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is out of date (%v); run go test ./agent/config -update", path, err)
	}
}

// comments gives what is written above each field of the package's structs, by "Type.Field".
func comments(t *testing.T) map[string]string {
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]string{}
	for n := range ast.Preorder(file) {
		if spec, ok := n.(*ast.TypeSpec); ok {
			for _, f := range spec.Type.(*ast.StructType).Fields.List {
				docs[spec.Name.Name+"."+f.Names[0].Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
			}
		}
	}
	return docs
}

func describe(
	t *testing.T, typ reflect.Type, value reflect.Value, tag reflect.StructTag, docs map[string]string,
) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	switch typ.Kind() {
	case reflect.Struct:
		s.Type, s.Properties = "object", map[string]*jsonschema.Schema{}
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, doc := f.Tag.Get("json"), docs[typ.Name()+"."+f.Name]
			if doc == "" {
				t.Errorf("%s.%s says nothing about itself", typ.Name(), f.Name)
			}
			s.Properties[name] = describe(t, f.Type, value.Field(i), f.Tag, docs)
			s.Properties[name].Description = doc
			s.PropertyOrder = append(s.PropertyOrder, name)
		}
		return s
	case reflect.Map:
		s.Type = "object"
		s.AdditionalProperties = describe(t, typ.Elem(), reflect.Zero(typ.Elem()), "", docs)
		return s
	case reflect.Slice:
		s.Type, s.Items = "array", &jsonschema.Schema{Type: "string"}
		if tag.Get("null") != "" {
			s.Type, s.Types = "", []string{"array", "null"}
		}
	case reflect.String:
		s.Type = "string"
		if enum := tag.Get("enum"); enum != "" {
			for _, v := range strings.Split(enum, ",") {
				s.Enum = append(s.Enum, v)
			}
		}
	case reflect.Bool:
		s.Type = "boolean"
	case reflect.Int:
		lo, hi := bounds(tag)
		s.Type, s.Minimum, s.Maximum = "integer", jsonschema.Ptr(float64(lo)), jsonschema.Ptr(float64(hi))
	case reflect.Float64:
		lo, hi := bounds(tag)
		s.Type, s.Minimum, s.Maximum = "number", jsonschema.Ptr(float64(lo)), jsonschema.Ptr(float64(hi))
	}
	if !value.IsZero() {
		s.Default, _ = json.Marshal(value.Interface())
	}
	return s
}

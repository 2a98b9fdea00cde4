package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false, "write the generated files")

// TestSchema keeps the JSON Schema that editors complete with as the struct has it; -update writes it.
func TestSchema(t *testing.T) {
	s := describe(t, reflect.TypeFor[Config](), reflect.ValueOf(Default()), "", comments(t))
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "Configuration of Tandem"
	s.Properties["$schema"] = &jsonschema.Schema{Type: "string", Description: "The schema of this file, for editors."}
	s.PropertyOrder = append([]string{"$schema"}, s.PropertyOrder...)
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	generated(t, filepath.Join("..", "..", "docs", "configuration.schema.json"), append(text, '\n'))
	generated(t, "schema.json", append(text, '\n'))
}

// generated compares a file with what it must be, or writes it.
func generated(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is out of date (%v); run go test ./agent/config -run 'Schema|Page' -update", path, err)
	}
}

// TestPage keeps the list of keys in the page about the configuration.
func TestPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "configuration.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- keys: generated -->\n", "<!-- end of keys -->\n"
	head, rest, ok1 := strings.Cut(string(page), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the keys", path)
	}
	var b strings.Builder
	b.WriteString("| key | takes | default | what it is | where |\n|---|---|---|---|---|\n")
	rows(&b, reflect.TypeFor[Config](), reflect.ValueOf(Default()), "", "", comments(t))
	generated(t, path, []byte(head+begin+b.String()+end+tail))
}

// rows writes a line for each key. say is where the list or the map may be set that the elements are in.
func rows(b *strings.Builder, typ reflect.Type, value reflect.Value, key, say string, docs map[string]string) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Tag.Get("json") == "-" { // it is not written
			continue
		}
		full := join(key, f.Tag.Get("json"))
		inner := f.Type
		if k := inner.Kind(); k == reflect.Map || k == reflect.Slice {
			inner = inner.Elem()
		}
		doc := docs[typ.Name()+"."+f.Name]
		if f.Type.Kind() != reflect.Struct {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s%s | %s |\n", full, takes(f), initial(value.Field(i)),
				strings.ReplaceAll(doc, "|", "\\|"), remarks(f.Tag), cmp.Or(say, where(f.Tag)))
		}
		switch {
		case inner.Kind() == reflect.Struct && f.Type.Kind() == reflect.Map:
			rows(b, inner, reflect.Zero(inner), full+".NAME", cmp.Or(say, where(f.Tag)), docs)
		case inner.Kind() == reflect.Struct && f.Type.Kind() == reflect.Slice:
			if f.Name != "Deny" && f.Name != "BeforeToolCall" { // all lists of a kind look the same: the served one stands for them
				continue
			}
			rows(b, inner, reflect.Zero(inner), full+"[]", cmp.Or(say, where(f.Tag)), docs)
		case inner.Kind() == reflect.Struct:
			rows(b, inner, value.Field(i), full, say, docs)
		}
	}
}

func takes(f reflect.StructField) string {
	switch f.Type.Kind() {
	case reflect.String:
		if enum := f.Tag.Get("enum"); enum != "" {
			out := "`" + strings.ReplaceAll(enum, ",", "` `") + "`"
			if f.Tag.Get("form") == "network" {
				out += " `{\"hosts\": […]}`"
			}
			return out
		}
	case reflect.Int, reflect.Float64:
		return fmt.Sprintf("%s to %s", f.Tag.Get("min"), f.Tag.Get("max"))
	case reflect.Map:
		if f.Type.Elem().Kind() != reflect.Struct {
			return "object"
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(expected(reflect.Zero(f.Type), f.Tag), "an "), "a ")
}

func initial(v reflect.Value) string {
	if v.IsZero() && (v.Kind() != reflect.Bool && v.Kind() != reflect.Int && v.Kind() != reflect.Float64) {
		return ""
	}
	return fmt.Sprintf("`%v`", v.Interface())
}

// remarks are what is to be said of a key besides its comment.
func remarks(tag reflect.StructTag) string {
	out := ""
	instead := tag.Get("instead")
	if instead == "" {
		instead = "it has no effect"
	}
	switch later := tag.Get("later"); later {
	case "":
	case "*":
		out += fmt.Sprintf(" **Not in this version: %s.**", instead)
	default:
		value, _, _ := strings.Cut(later, "=")
		out += fmt.Sprintf(" **`%s` is not supported in this version: %s.**", value, instead)
	}
	if tag.Get("adds") != "" {
		out += " The lists of all layers add up."
	}
	if tag.Get("restart") != "" {
		out += " A change holds from the next start on."
	}
	return out
}

// says is what a workspace's file has to say about a key.
func says(tag reflect.StructTag) string {
	switch rule, _, _ := strings.Cut(tag.Get("ws"), ":"); rule {
	case "":
		return "no say"
	case "free":
		return "free"
	case "proposal":
		return "proposal"
	}
	return "stricter only"
}

// where is where a key may be set.
func where(tag reflect.StructTag) string {
	return map[string]string{"no say": "yours", "stricter only": "yours; stricter anywhere", "free": "anywhere", "proposal": "yours; a proposal in a workspace"}[says(tag)]
}

// comments gives what is written above each field of the package's structs, by "Type.Field".
func comments(t *testing.T) map[string]string {
	docs := map[string]string{}
	for _, name := range []string{"config.go", filepath.Join("..", "..", "tools", "rule", "rule.go")} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for n := range ast.Preorder(file) {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				continue
			}
			if of, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range of.Fields.List {
					docs[spec.Name.Name+"."+f.Names[0].Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
				}
			}
		}
	}
	return docs
}

func describe(
	t *testing.T, typ reflect.Type, value reflect.Value, tag reflect.StructTag, docs map[string]string,
) *jsonschema.Schema {
	s := &jsonschema.Schema{Extra: map[string]any{}}
	if later := tag.Get("later"); later == "*" {
		s.Extra["deprecationMessage"] = strings.Trim(strings.TrimSpace(remarks(reflect.StructTag(
			fmt.Sprintf(`later:"*" instead:%q`, tag.Get("instead"))))), "*")
	}
	if tag.Get("ws") != "" && says(tag) != "proposal" {
		s.Extra["x-workspace"] = says(tag) // for what makes settings of this
	}
	switch typ.Kind() {
	case reflect.Struct:
		s.Type, s.Properties = "object", map[string]*jsonschema.Schema{}
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, doc := f.Tag.Get("json"), docs[typ.Name()+"."+f.Name]
			if name == "-" {
				continue
			}
			if doc == "" {
				t.Errorf("%s.%s says nothing about itself", typ.Name(), f.Name)
			}
			s.Properties[name] = describe(t, f.Type, value.Field(i), f.Tag, docs)
			s.Properties[name].Description = strings.TrimSpace(doc)
			s.PropertyOrder = append(s.PropertyOrder, name)
		}
		return s
	case reflect.Map:
		s.Type = "object"
		s.AdditionalProperties = describe(t, typ.Elem(), reflect.Zero(typ.Elem()), "", docs)
		return s
	case reflect.Slice:
		s.Type, s.Items = "array", describe(t, typ.Elem(), reflect.Zero(typ.Elem()), "", docs)
		if tag.Get("null") != "" {
			s.Type, s.Types = "", []string{"array", "null"}
		}
	case reflect.String:
		s.Type = "string"
		if tag.Get("form") == "network" {
			s.Type, s.AnyOf = "", []*jsonschema.Schema{
				describe(t, typ, reflect.Zero(typ), reflect.StructTag(fmt.Sprintf("enum:%q", tag.Get("enum"))), docs),
				{
					Type: "object", Required: []string{"hosts"}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
					Properties: map[string]*jsonschema.Schema{"hosts": {Type: "array", Items: &jsonschema.Schema{Type: "string"}}},
				},
			}
		} else if enum := tag.Get("enum"); enum != "" {
			for _, v := range strings.Split(enum, ",") {
				s.Enum = append(s.Enum, v)
			}
			if later := tag.Get("later"); later != "" {
				// Editors show these beside the values that they offer.
				value, _, _ := strings.Cut(later, "=")
				s.Extra["enumDescriptions"] = append(make([]string, len(s.Enum)), strings.ReplaceAll(
					strings.Trim(strings.TrimSpace(remarks(tag)), "*"), "`", ""))
				s.Enum = append(s.Enum, value)
			}
		}
	case reflect.Bool:
		s.Type = "boolean"
	case reflect.Int:
		lo, hi := bounds(tag)
		s.Type, s.Minimum, s.Maximum = "integer", new(float64(lo)), new(float64(hi))
	case reflect.Float64:
		lo, hi := bounds(tag)
		s.Type, s.Minimum, s.Maximum = "number", new(float64(lo)), new(float64(hi))
	}
	if !value.IsZero() {
		s.Default, _ = json.Marshal(value.Interface())
	}
	return s
}

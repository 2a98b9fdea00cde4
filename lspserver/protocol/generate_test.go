package protocol

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	lsp "go.lsp.dev/protocol"
)

var update = flag.Bool("update", false, "write docs/protocol.md and docs/protocol.schema.json anew")

// TestGenerated keeps the documentation and the JSON Schema as the table and the types have them; -update writes them.
func TestGenerated(t *testing.T) {
	s := describe(t)
	schema, err := json.MarshalIndent(s.schema(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{
		"protocol.schema.json": append(schema, '\n'),
		"protocol.md":          s.markdown(t),
	} {
		path := filepath.Join("..", "..", "docs", name)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(path); !bytes.Equal(have, want) {
			t.Errorf("%s is out of date (%v); run go test ./lspserver/protocol -update", path, err)
		}
	}
}

// description is everything that is known of the payloads: their types, by name, and the comments on them.
type description struct {
	types    map[string]reflect.Type
	comments map[string]string
}

// describe finds the types of this package that the table leads to, and reads their comments in the source.
func describe(t *testing.T) description {
	t.Helper()
	d := description{types: map[string]reflect.Type{}, comments: map[string]string{}}
	byName := map[string]reflect.Type{}
	for _, typ := range untabled() {
		byName[typ.Name()] = typ
	}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		switch {
		case typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map:
			visit(typ.Elem())
		case !ours(typ) || d.types[typ.Name()] != nil:
		default:
			d.types[typ.Name()] = typ
			for _, f := range reflect.VisibleFields(typ) {
				visit(f.Type)
				for _, name := range variants(f) {
					if v := byName[strings.TrimPrefix(name, "[]")]; v != nil {
						visit(v)
					}
				}
			}
		}
	}
	for _, m := range Methods() {
		for _, typ := range []reflect.Type{m.Params, m.Result} {
			if typ != nil {
				visit(typ)
			}
		}
	}
	for _, typ := range byName {
		visit(typ)
	}

	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range []string{"session.go", "changes.go", "plans.go", "tools.go", "audit.go", "deadletters.go", "permissions.go", "model.go"} {
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, "tandem/lspserver/protocol")
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range p.Types {
		d.comments[typ.Name] = strings.Join(strings.Fields(typ.Doc), " ")
	}
	for name := range d.types {
		if d.comments[name] == "" {
			t.Errorf("%s has no comment", name)
		}
	}
	return d
}

// untabled are the types that stand where the table has only one of LSP, or any.
func untabled() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[ClientExperimental](), reflect.TypeFor[ServerExperimental](), reflect.TypeFor[UpdateMeta](),
		reflect.TypeFor[DiffMeta](), reflect.TypeFor[PermissionMeta](), reflect.TypeFor[ToolContent](),
		reflect.TypeFor[FileDiff](), reflect.TypeFor[ReviewTarget](), reflect.TypeFor[AskTarget](), reflect.TypeFor[ChatMessage](),
		reflect.TypeFor[ChatPart](), reflect.TypeFor[ChatTool](),
		reflect.TypeFor[PatchOp](), reflect.TypeFor[ShellResult](),
	}
}

func ours(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[Empty]().PkgPath()
}

// variants are the types that a field of type any can have, from its tag.
func variants(f reflect.StructField) []string {
	if tag := f.Tag.Get("as"); tag != "" {
		return strings.Split(tag, ",")
	}
	return nil
}

func jsonName(f reflect.StructField) (name string, optional bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name, strings.Contains(options, "omit")
}

// schema is the JSON Schema: one definition for each type, and the methods that refer to them.
func (d description) schema(t *testing.T) map[string]any {
	t.Helper()
	ref := func(name string) *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + name} }
	natural := &jsonschema.Schema{Type: "integer", Minimum: new(0.0)}
	position := &jsonschema.Schema{
		Type: "object", Description: "LSP's.", Required: []string{"line", "character"},
		Properties: map[string]*jsonschema.Schema{"line": natural, "character": natural.CloneSchemas()},
	}
	defs := map[string]*jsonschema.Schema{
		"Position": position,
		"Range": {
			Type: "object", Description: "LSP's.", Required: []string{"start", "end"},
			Properties: map[string]*jsonschema.Schema{"start": ref("Position"), "end": ref("Position")},
		},
		"WorkspaceEdit": {
			Type: "object", Description: "LSP's, always with documentChanges where it holds any.",
			Properties: map[string]*jsonschema.Schema{
				"documentChanges": {Type: "array", Items: &jsonschema.Schema{Type: "object"}},
			},
		},
	}
	known := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[lsp.Position]():      ref("Position"),
		reflect.TypeFor[lsp.Range]():         ref("Range"),
		reflect.TypeFor[lsp.WorkspaceEdit](): ref("WorkspaceEdit"),
		reflect.TypeFor[json.RawMessage]():   {},
	}
	exits := &jsonschema.Schema{Pattern: `^EXIT_CODE_-?[0-9]+$`}
	names := &jsonschema.Schema{}
	for _, c := range explainedClasses(t) {
		names.Enum = append(names.Enum, c)
	}
	defs["FailureClass"] = &jsonschema.Schema{
		Description: "The class of a failed call, the same word for ever.", AnyOf: []*jsonschema.Schema{names, exits},
	}
	for name, typ := range d.types {
		known[typ] = ref(name)
	}
	for name, typ := range d.types {
		others := maps.Clone(known)
		delete(others, typ)
		s, err := jsonschema.ForType(typ, &jsonschema.ForOptions{TypeSchemas: others})
		if err != nil {
			t.Fatal(err)
		}
		s.Description = d.comments[name]
		s.AdditionalProperties = nil // fields may be added
		for _, f := range reflect.VisibleFields(typ) {
			field, _ := jsonName(f)
			p := plain(s.Properties[field])
			p.Description = f.Tag.Get("doc")
			for _, value := range enum(f) {
				p.Enum = append(p.Enum, value)
			}
			if classOfFailure(f) {
				p.AllOf = []*jsonschema.Schema{ref("FailureClass")}
			}
			for _, v := range variants(f) {
				if item, list := strings.CutPrefix(v, "[]"); list {
					p.AnyOf = append(p.AnyOf, &jsonschema.Schema{Type: "array", Items: ref(item)})
				} else {
					p.AnyOf = append(p.AnyOf, ref(v))
				}
			}
		}
		defs[name] = s
	}
	methods := map[string]any{}
	for _, m := range Methods() {
		if m.Since == "LSP" && !ours(indirect(m.Params)) {
			continue
		}
		row := map[string]any{"direction": m.Direction, "kind": m.Kind, "description": m.Doc, "since": m.Since}
		for member, typ := range map[string]reflect.Type{"params": m.Params, "result": m.Result} {
			switch name := indirect(typ).Name(); {
			case typ == nil || d.types[name] == nil:
			case typ.Kind() == reflect.Pointer:
				row[member] = map[string]any{"anyOf": []any{ref(name), map[string]any{"type": "null"}}}
			default:
				row[member] = ref(name)
			}
		}
		methods[m.Name] = row
	}
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   fmt.Sprintf("The tandem/* methods, version %d", Version),
		"$defs":   defs,
		"methods": methods,
	}
}

func indirect(t reflect.Type) reflect.Type {
	if t != nil && t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	if t == nil {
		return reflect.TypeFor[None]()
	}
	return t
}

// classOfFailure says that a field holds one of the classes of failure that testdata/protocol.md explains.
func classOfFailure(f reflect.StructField) bool {
	return f.Name == "Error" && f.Type.Kind() == reflect.String
}

func explainedClasses(t *testing.T) (out []string) {
	t.Helper()
	page, err := os.ReadFile("testdata/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		out = append(out, m[1])
	}
	return out
}

func enum(f reflect.StructField) []string {
	if tag := f.Tag.Get("enum"); tag != "" {
		return strings.Split(tag, ",")
	}
	return nil
}

// plain takes null back, which a nil slice or pointer is to the generator and never to us.
func plain(s *jsonschema.Schema) *jsonschema.Schema {
	if i := slices.Index(s.Types, "null"); i >= 0 {
		s.Types = slices.Delete(s.Types, i, i+1)
		if len(s.Types) == 1 {
			s.Type, s.Types = s.Types[0], nil
		} else if len(s.Types) == 0 {
			s.Types = nil
		}
	}
	if s.Items != nil {
		plain(s.Items)
	}
	return s
}

// markdown is docs/protocol.md.
func (d description) markdown(t *testing.T) []byte {
	t.Helper()
	head, err := os.ReadFile("testdata/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	b := bytes.NewBuffer(head)
	b.WriteString("\n## Errors\n\nThe codes of JSON-RPC and LSP have their own meaning. Beside them, with the name in " +
		"`error.data.code`:\n\n" +
		"| code | name | meaning |\n|---|---|---|\n")
	for _, f := range Failures() {
		fmt.Fprintf(b, "| %d | `%s` | %s |\n", f.Code, f.Name, f.Doc)
	}
	b.WriteString("\n## Methods\n\nWhat is not listed here is answered with -32601.\n")
	shown := map[string]bool{}
	for _, m := range Methods() {
		fmt.Fprintf(b, "\n### `%s`\n\n*%s, %s", m.Name, m.Kind, m.Direction)
		if m.Since != "LSP" {
			fmt.Fprintf(b, ", since version %s", m.Since)
		}
		fmt.Fprintf(b, ".* %s\n", m.Doc)
		for _, part := range []struct {
			what string
			typ  reflect.Type
		}{{"Parameters", m.Params}, {"Result", m.Result}} {
			switch name := typeName(part.typ); {
			case part.typ == nil && part.what == "Result" && m.Kind == Request:
				b.WriteString("\nResult: null.\n")
			case part.typ == nil:
			case ours(part.typ) && part.typ.NumField() == 0:
				fmt.Fprintf(b, "\n%s: `{}`.\n", part.what)
			case ours(part.typ) && !shown[name]:
				shown[name] = true
				fmt.Fprintf(b, "\n%s: %s\n\n", part.what, anchor(name))
				d.fields(b, part.typ)
			default:
				fmt.Fprintf(b, "\n%s: %s\n", part.what, name)
			}
		}
	}
	b.WriteString("\n## Types\n")
	for _, name := range slices.Sorted(maps.Keys(d.types)) {
		if typ := d.types[name]; !shown[typeName(typ)] && typ.NumField() > 0 {
			fmt.Fprintf(b, "\n### %s\n\n%s\n\n", name, d.comments[name])
			d.fields(b, typ)
		}
	}
	return b.Bytes()
}

// anchor is the name of a type at the place where its fields are listed, so that links find it.
func anchor(link string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(link, "["), "]")
	return fmt.Sprintf("<a id=%q></a>%s", strings.ToLower(name), name)
}

func (d description) fields(b *bytes.Buffer, typ reflect.Type) {
	b.WriteString("| field | type | |\n|---|---|---|\n")
	for _, f := range reflect.VisibleFields(typ) {
		name, optional := jsonName(f)
		if optional {
			name += "?"
		}
		kind := typeName(f.Type)
		if v := variants(f); v != nil {
			kind = ""
			for i, one := range v {
				if i > 0 {
					kind += " or "
				}
				if item, list := strings.CutPrefix(one, "[]"); list {
					kind += "list of "
					one = item
				}
				kind += link(one)
			}
		}
		text := f.Tag.Get("doc")
		if values := enum(f); values != nil {
			text = strings.TrimSpace("`" + strings.Join(values, "`, `") + "`. " + text)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, kind, text)
	}
}

func link(name string) string { return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name)) }

func typeName(t reflect.Type) string {
	switch {
	case t == nil:
		return ""
	case t == reflect.TypeFor[json.RawMessage](), t == reflect.TypeFor[lsp.LSPAny](), t.Kind() == reflect.Interface:
		return "any"
	case ours(t):
		return link(t.Name())
	case strings.HasPrefix(t.PkgPath(), "go.lsp.dev/"):
		return "LSP `" + t.Name() + "`"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Map:
		return "object of " + typeName(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	case reflect.String:
		return "string"
	}
	return "integer"
}

package protocol

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"tandem/tools/words"
)

// TestTable checks that each row can be relied on.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Methods() {
		if seen[m.Name] {
			t.Errorf("%s stands in the table twice", m.Name)
		}
		seen[m.Name] = true
		if !strings.HasSuffix(m.Doc, ".") {
			t.Errorf("%s is not described by sentences: %q", m.Name, m.Doc)
		}
		if m.Kind == Notification && m.Result != nil {
			t.Errorf("%s is a notification with a result", m.Name)
		}
	}
	methods := ServerMethods()
	sent := slices.Contains(methods, "tandem/session/update")
	if !slices.IsSorted(methods) || !slices.Contains(methods, "tandem/session/cancel") || sent {
		t.Errorf("the server takes %v", methods)
	}
}

// TestF101_F118_FaultM1Classes: the classes of failure that the product emits are those that the documentation explains and that the
// schema has as its enum, so that a renamed one, or one that a lower room words by itself, is noticed here. A class is a constant of
// type Code, or the first argument of a function that makes a refusal.
func TestF101_F118_FaultM1Classes(t *testing.T) {
	class := regexp.MustCompile("^[A-Z]+(_[A-Z]+)+$|^[A-Z]{6,}$")
	known := map[string]bool{}
	take := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok {
			if s, err := strconv.Unquote(lit.Value); err == nil && class.MatchString(s) {
				known[s] = true
			}
		}
	}
	named := func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.Ident:
			return e.Name
		case *ast.SelectorExpr:
			return e.Sel.Name
		}
		return ""
	}
	for _, dir := range []string{"../../filetime", "../../tools", "../../sandbox", "../../agent", "../../lspserver"} {
		sources(t, dir, func(path string, f *ast.File) {
			if strings.HasSuffix(path, "_test.go") {
				return
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ValueSpec:
					if n.Type != nil && named(n.Type) == "Code" && len(n.Values) == 1 {
						take(n.Values[0])
					}
				case *ast.CallExpr:
					if slices.Contains([]string{"refuse", "Refuse", "Fail", "Code"}, named(n.Fun)) && len(n.Args) > 0 {
						take(n.Args[0])
					}
				}
				return true
			})
		})
	}
	if len(known) < 20 {
		t.Errorf("only %d classes found: %v", len(known), known)
	}
	for _, name := range explainedClasses(t) {
		if !known[name] {
			t.Errorf("%s is explained and does not happen", name)
		}
		if words.Failures()[name] == "" {
			t.Errorf("there is no sentence for people of %s", name)
		}
		delete(known, name)
	}
	for name := range known {
		t.Errorf("%s is not explained in testdata/protocol.md", name)
	}
}

// TestTableIsServed compares the table with the server's source: every route is used there, the client's as an argument of
// handle, handleExact, handleInOrder or handleNote. The compiler sees to the types and the direction.
func TestTableIsServed(t *testing.T) {
	handled, used := map[string]bool{}, map[string]bool{}
	method := regexp.MustCompile(`^(tandem|window|workspace|textDocument|client|\$)/[A-Za-z/]+$`)
	sources(t, "..", func(path string, f *ast.File) {
		if filepath.Dir(path) != ".." || strings.HasSuffix(path, "_test.go") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); err == nil && method.MatchString(s) {
					t.Errorf("%s names %s, which has a route", path, s)
				}
			case *ast.SelectorExpr:
				if pkg, ok := identOf(n); ok && pkg == "protocol" {
					used[n.Sel.Name] = true
				}
			case *ast.CallExpr:
				fn, ok := n.Fun.(*ast.Ident)
				if !ok || !slices.Contains([]string{"handle", "handleExact", "handleInOrder", "handleNote", "handleNoteAs"}, fn.Name) || len(n.Args) != 3 {
					break
				}
				if route, ok := n.Args[1].(*ast.SelectorExpr); ok {
					handled[route.Sel.Name] = true
				}
			}
			return true
		})
	})
	inWire := map[string]bool{"exit": true, "$/cancelRequest": true}
	names := map[string]string{} // of the variables, by method
	for _, r := range declared(t) {
		names[r.method] = r.name
	}
	for _, m := range Methods() {
		switch {
		case inWire[m.Name]:
		case m.Direction == ToServer && !handled[names[m.Name]]:
			t.Errorf("%s is in the table and the server does not take it", m.Name)
		case m.Direction == ToClient && !used[names[m.Name]]:
			t.Errorf("%s is in the table and the server never sends it", m.Name)
		}
		delete(names, m.Name)
	}
	for name := range names {
		t.Errorf("%s is a route and not in the table", name)
	}
}

// declared are the variables of methods.go with the methods that they are.
func declared(t *testing.T) (out []struct{ name, method string }) {
	sources(t, ".", func(path string, f *ast.File) {
		if path != "methods.go" {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 {
				return true
			}
			if call, ok := spec.Values[0].(*ast.CallExpr); ok {
				for _, arg := range call.Args {
					if lit, ok := arg.(*ast.BasicLit); ok {
						s, _ := strconv.Unquote(lit.Value)
						out = append(out, struct{ name, method string }{spec.Names[0].Name, s})
						break
					}
				}
			}
			return true
		})
	})
	if len(out) < 50 {
		t.Fatalf("only %d routes found: %v", len(out), out)
	}
	return out
}

// sources parses the Go files below dir.
func sources(t *testing.T, dir string, fn func(path string, f *ast.File)) {
	t.Helper()
	fset := token.NewFileSet()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err == nil {
			fn(path, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFields checks names and tags against what the encoder makes of them: omitempty would leave out no number and no
// boolean.
func TestFields(t *testing.T) {
	camel := regexp.MustCompile(`^(_meta|[a-z][A-Za-z]*)$`)
	for name, typ := range describe(t).types {
		for _, f := range reflect.VisibleFields(typ) {
			field, _ := jsonName(f)
			if !camel.MatchString(field) && !strings.HasPrefix(name, "Chat") { // those are named as in Chat Completions
				t.Errorf("%s.%s is named %q", name, f.Name, field)
			}
			empty := strings.Contains(f.Tag.Get("json"), "omitempty")
			switch f.Type.Kind() {
			case reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64, reflect.Interface:
				if empty {
					t.Errorf("%s.%s: omitempty leaves no %s out; use omitzero", name, f.Name, f.Type)
				}
			}
			if (f.Type.Kind() == reflect.Interface) && variants(f) == nil && f.Tag.Get("doc") == "" {
				t.Errorf("%s.%s can be anything: say what", name, f.Name)
			}
			if doc := f.Tag.Get("doc"); doc != "" && strings.Contains(doc, "|") {
				t.Errorf("%s.%s: a | breaks the table", name, f.Name)
			}
		}
	}
}

// TestF272PayloadsFitTheSchema encodes every payload empty and full as the wire does, and holds it against the schema;
// what is decoded again must be what it was.
func TestF272PayloadsFitTheSchema(t *testing.T) {
	d := describe(t)
	raw, err := json.Marshal(map[string]any{"$defs": d.schema(t)["$defs"]})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(d.types)) {
		typ := d.types[name]
		s := &jsonschema.Schema{}
		if err := json.Unmarshal(raw, s); err != nil {
			t.Fatal(err)
		}
		s.Ref = "#/$defs/" + name
		schema, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		for what, v := range map[string]reflect.Value{"empty": emptied(typ), "full": filled(typ)} {
			encoded, err := lsp.Marshal(v.Interface())
			if err != nil {
				t.Fatalf("%s %s: %v", what, name, err)
			}
			var value any
			if err := json.Unmarshal(encoded, &value); err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(value); err != nil {
				t.Errorf("%s %s: %v\n%s", what, name, err, encoded)
			}
			if len(value.(map[string]any)) > typ.NumField() || what == "full" && len(value.(map[string]any)) != typ.NumField() {
				t.Errorf("%s %s has other members: %s", what, name, encoded)
			}
			back := reflect.New(typ)
			if err := lsp.Unmarshal(encoded, back.Interface()); err != nil {
				t.Errorf("%s %s: %v\n%s", what, name, err, encoded)
			}
			again, err := lsp.Marshal(back.Interface())
			if err != nil || !sameJSON(again, encoded) {
				t.Errorf("%s %s\nwas %s\nand is %s (%v)", what, name, encoded, again, err)
			}
		}
	}
	for _, want := range []string{"FileDiff", "Denial", "ContentBlock", "ContentPart", "PatchOp", "ShellResult"} {
		if d.types[want] == nil {
			t.Errorf("%s is not published", want)
		}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// emptied is a value with nothing in it but what its enumerations and open fields demand.
func emptied(typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	for _, f := range reflect.VisibleFields(typ) {
		_, optional := jsonName(f)
		at := v.FieldByIndex(f.Index)
		switch {
		case optional:
		case enum(f) != nil:
			at.SetString(enum(f)[0])
		case f.Type.Kind() == reflect.Interface:
			at.Set(open(f))
		case ours(f.Type):
			at.Set(emptied(f.Type))
		}
	}
	return v
}

// filled is a value in which every field has something, lists two of it.
func filled(typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	switch {
	case typ == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"a":[1]}`))
	case typ == reflect.TypeFor[lsp.WorkspaceEdit]():
		edit := &lsp.TextDocumentEdit{Edits: []lsp.TextDocumentEditElement{&lsp.TextEdit{NewText: "x"}}}
		edit.TextDocument.URI = "file:///x"
		v.Set(reflect.ValueOf(lsp.WorkspaceEdit{DocumentChanges: []lsp.DocumentChange{
			NewCreateFile("file:///x"), edit, NewDeleteFile("file:///y"),
		}}))
	case typ == reflect.TypeFor[lsp.Range]():
		v.Set(reflect.ValueOf(lsp.Range{End: lsp.Position{Line: 3, Character: 4}}))
	case typ.Kind() == reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
		v.Elem().Set(filled(typ.Elem()))
	case typ.Kind() == reflect.Slice:
		v.Set(reflect.Append(v, filled(typ.Elem()), filled(typ.Elem())))
	case typ.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(typ))
		v.SetMapIndex(reflect.ValueOf("key"), filled(typ.Elem()))
	case typ.Kind() == reflect.Struct:
		for _, f := range reflect.VisibleFields(typ) {
			at := v.FieldByIndex(f.Index)
			switch {
			case enum(f) != nil:
				at.SetString(enum(f)[0])
			case classOfFailure(f):
				at.SetString("NOT_READ")
			case f.Type.Kind() == reflect.Interface:
				at.Set(open(f))
			default:
				at.Set(filled(f.Type))
			}
		}
	case typ.Kind() == reflect.String:
		v.SetString("text <&> \u2028 é")
	case typ.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanFloat():
		v.SetFloat(1.5)
	case v.CanInt():
		v.SetInt(7)
	}
	return v
}

// open is a value of a field of type any: the first type that it may have.
func open(f reflect.StructField) reflect.Value {
	value := map[string]any{
		"":             map[string]any{"a": 1.0},
		"ContentBlock": ContentBlock{Type: "text", Text: "x"},
		"UpdateMeta":   UpdateMeta{State: "queued"},
		"FileDiff":     FileDiff{Path: "x", Hunks: []DiffHunk{}},

		"[]ChatMessage": []ChatMessage{{Role: "user", Content: "x"}},
		"[]ChatTool":    []ChatTool{{Type: "function", Function: ChatToolSpec{Name: "x", Parameters: map[string]any{}}}},
	}[append(variants(f), "")[0]]
	return reflect.ValueOf(value)
}

// TestConstructors: a file operation made here is read back as what it is.
func TestConstructors(t *testing.T) {
	u := uri.File("/w/a b.go")
	for _, made := range []lsp.DocumentChange{NewCreateFile(u), NewDeleteFile(u)} {
		raw, err := lsp.Marshal(lsp.WorkspaceEdit{DocumentChanges: []lsp.DocumentChange{made}})
		if err != nil {
			t.Fatal(err)
		}
		var back lsp.WorkspaceEdit
		if err := lsp.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(back.DocumentChanges[0], made) {
			t.Errorf("%T came back as %T: %s, %v", made, back.DocumentChanges[0], raw, err)
		}
	}
	for raw, want := range map[string]string{
		string(ProgressBegin("a", "b")): `{"kind":"begin","title":"a","cancellable":true,"message":"b"}`,
		string(ProgressEnd("b")):        `{"kind":"end","message":"b"}`,
	} {
		if !sameJSON([]byte(raw), []byte(want)) {
			t.Errorf("%s instead of %s", raw, want)
		}
	}
}

// TestLiteralKinds: these types of LSP leave their kind empty in a literal, so nothing but construct.go makes one.
func TestLiteralKinds(t *testing.T) {
	kinds := []string{
		"CreateFile", "RenameFile", "DeleteFile", "WorkDoneProgressBegin", "WorkDoneProgressReport", "WorkDoneProgressEnd",
		"StringValue",
	}
	found := 0
	sources(t, "../..", func(path string, f *ast.File) {
		pkg := ""
		for _, i := range f.Imports {
			if i.Path.Value == `"go.lsp.dev/protocol"` {
				pkg = "protocol"
				if i.Name != nil {
					pkg = i.Name.Name
				}
			}
		}
		if pkg == "" || strings.HasSuffix(path, "_test.go") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			sel, _ := lit.Type.(*ast.SelectorExpr)
			from, _ := identOf(sel)
			if from == pkg && slices.Contains(kinds, sel.Sel.Name) {
				if found++; !strings.HasSuffix(path, "lspserver/protocol/construct.go") {
					t.Errorf("%s makes a %s by hand; its kind would be empty", path, sel.Sel.Name)
				}
			}
			return true
		})
	})
	if found < 4 {
		t.Errorf("only %d literals found", found)
	}
}

func identOf(s *ast.SelectorExpr) (string, bool) {
	if s == nil {
		return "", false
	}
	id, ok := s.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	return id.Name, true
}

// A text that is empty is there: a file that is deleted or emptied has a new text.
func TestEmptyTexts(t *testing.T) {
	var empty string
	for _, c := range []struct {
		value any
		want  string
	}{
		{ToolContent{Type: "diff", Path: "/a", OldText: &empty, NewText: &empty}, `{"type":"diff","path":"/a","oldText":"","newText":""}`},
		{ToolContent{Type: "diff", Path: "/a", NewText: &empty}, `{"type":"diff","path":"/a","newText":""}`},
	} {
		got, err := jsonv2.Marshal(c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %v; want %s", got, err, c.want)
		}
	}
}

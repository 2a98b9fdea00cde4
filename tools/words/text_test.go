package words_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"tandem/tools/words"
)

// said are the calls that say something to a model, and which of their arguments is the format.
var said = map[string]int{
	"tools.Fail": 2, "tools.Refuse": 2, "tools.Transient": 2, "run.denied": 1, "run.spent": 1, "schema.fail": 3, "words.Of": 0,
}

// formats finds every format that the program says to a model, by where it stands.
func formats(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	consts := map[string]ast.Expr{}
	var files []*ast.File
	set := token.NewFileSet()
	for _, root := range []string{"../../tools", "../../agent"} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files = append(files, f)
			for _, decl := range f.Decls {
				g, ok := decl.(*ast.GenDecl)
				if !ok || g.Tok != token.CONST {
					continue
				}
				for _, spec := range g.Specs {
					for i, id := range spec.(*ast.ValueSpec).Names {
						if values := spec.(*ast.ValueSpec).Values; i < len(values) {
							consts[f.Name.Name+"."+id.Name] = values[i]
						}
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		var text func(ast.Expr) (string, bool)
		text = func(e ast.Expr) (string, bool) {
			switch e := e.(type) {
			case *ast.BasicLit:
				s, err := strconv.Unquote(e.Value)
				return s, err == nil
			case *ast.BinaryExpr:
				a, ok := text(e.X)
				b, also := text(e.Y)
				return a + b, ok && also
			case *ast.Ident:
				if value, ok := consts[f.Name.Name+"."+e.Name]; ok {
					return text(value)
				}
			}
			return "", false
		}
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := ""
			switch fun := c.Fun.(type) {
			case *ast.Ident:
				name = f.Name.Name + "." + fun.Name
			case *ast.SelectorExpr:
				if x, ok := fun.X.(*ast.Ident); ok {
					if name = x.Name + "." + fun.Sel.Name; x.Name == "c" && fun.Sel.Name == "fail" {
						name = f.Name.Name + ".fail"
					}
				}
			}
			at, ok := said[name]
			if !ok || len(c.Args) <= at {
				return true
			}
			where := set.Position(c.Pos()).String()
			format, ok := text(c.Args[at])
			if id, is := c.Args[at].(*ast.Ident); !ok && is && id.Name == "format" {
				return true // it passes on what it was given
			}
			if !ok {
				t.Errorf("%s: the format of %s is no constant, so it has no translation", where, name)
				return true
			}
			found[where] = format
			return true
		})
	}
	return found
}

var verb = regexp.MustCompile(`%(\[\d+\])?[.\d]*[a-z]`)

// TestF051Complete: whatever the program says to a model of its calls exists in Chinese, about the same things, and nothing else does.
func TestF051Complete(t *testing.T) {
	table := maps.Clone(words.Translations())
	known := map[string]bool{}
	all := formats(t)
	if len(all) < 130 {
		t.Errorf("%d messages were found", len(all))
	}
	for where, format := range all {
		if !strings.ContainsFunc(verb.ReplaceAllString(format, ""), unicode.IsLetter) {
			continue // it only puts together what was said elsewhere
		}
		known[format] = true
		if table[format] == "" {
			t.Errorf("%s: %q has no translation into Chinese in zh-CN.json", where, format)
		}
	}
	for english, chinese := range table {
		if !known[english] {
			t.Errorf("%q of zh-CN.json is said nowhere", english)
		}
		if !strings.ContainsFunc(chinese, func(r rune) bool { return unicode.Is(unicode.Han, r) }) && english != "a %s" && english != "an %s" {
			t.Errorf("%q is no Chinese", chinese)
		}
		// Each argument stands in both, with the same verb: in order, or by its number.
		want := verb.FindAllString(english, -1)
		have := make([]string, len(want))
		for i, v := range verb.FindAllString(chinese, -1) {
			m := verb.FindStringSubmatch(v)
			if m[1] != "" {
				i, _ = strconv.Atoi(strings.Trim(m[1], "[]"))
				i--
			}
			if i >= len(want) {
				t.Errorf("%q says more than %q", chinese, english)
				continue
			}
			have[i] = "%" + strings.TrimPrefix(strings.TrimPrefix(v, "%"), m[1])
			if strings.HasPrefix(want[i], "%[") {
				have[i] = want[i]
			}
		}
		if strings.Contains(english, "%[") {
			continue // an argument that stands there twice; the sentence is looked at by eye
		}
		if !slices.Equal(want, have) {
			t.Errorf("%q takes %v, %q takes %v", english, want, chinese, have)
		}
	}
}

// TestF051Languages: a text is said in its language with the texts that it is about; one that is not translated is said in English.
func TestF051Languages(t *testing.T) {
	text := words.Of("%s must be %s, got %s", words.Of("the arguments"), words.Of("an %s", "object"), "array of 1")
	for language, want := range map[words.Language]string{
		"":            "the arguments must be an object, got array of 1",
		words.English: "the arguments must be an object, got array of 1",
		words.Chinese: "参数 必须是 object，实际为 array of 1",
		"fr":          "the arguments must be an object, got array of 1",
	} {
		if got := text.In(language); got != want {
			t.Errorf("%s: %q", language, got)
		}
	}
	if got := words.Of("%s: not translated", "x").In(words.Chinese); got != "x: not translated" {
		t.Error(got)
	}
}

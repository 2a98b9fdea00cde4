package tandem

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/version"
	"io/fs"
	"os"
	"path"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

const module = "tandem"

// helper tells a package that only tests import, by its name: tooltest, conformance. It may use what tests may use.
func helper(dir string) bool { return strings.HasSuffix(dir, "test") }

// goFile is one Go file of the repository, parsed.
type goFile struct {
	path, dir string
	src       []byte
	ast       *ast.File
	fset      *token.FileSet
}

func (f goFile) test() bool    { return strings.HasSuffix(f.path, "_test.go") }
func (f goFile) product() bool { return !f.test() && !helper(f.dir) }

func (f goFile) imports() []string {
	var out []string
	for _, s := range f.ast.Imports {
		if p, err := strconv.Unquote(s.Path.Value); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// repository is every file that belongs to it (what .gitignore names does not), and the Go ones parsed.
type repository struct {
	files []string
	code  []goFile
}

var readOnce = sync.OnceValues(read)

func repo(t *testing.T) *repository {
	t.Helper()
	r, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read() (*repository, error) {
	var patterns []gitignore.Pattern
	ignored, err := os.ReadFile(".gitignore")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(ignored)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			patterns = append(patterns, gitignore.ParsePattern(line, nil))
		}
	}
	ignore := gitignore.NewMatcher(patterns)
	r := &repository{}
	fset := token.NewFileSet()
	err = fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if name == ".git" && !d.IsDir() { // in a linked work tree it is a file
			return nil
		}
		if d.IsDir() && (d.Name() == ".git" || ignore.Match(strings.Split(name, "/"), true)) {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || ignore.Match(strings.Split(name, "/"), false) {
			return nil
		}
		r.files = append(r.files, name)
		if path.Ext(name) != ".go" || strings.Contains("/"+name, "/testdata/") || name[0] == '.' { // what CI runs is no part of the program
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		tree, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		r.code = append(r.code, goFile{path: name, dir: path.Dir(name), src: src, ast: tree, fset: fset})
		return nil
	})
	return r, err
}

// packages are the folders that hold product code, or that of a helper.
func (r *repository) packages() map[string]bool {
	out := map[string]bool{}
	for _, f := range r.code {
		if !f.test() {
			out[f.dir] = true
		}
	}
	return out
}

// text gives a file's content; ok is false for one that is no text.
func text(t *testing.T, name string) (content string, ok bool) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), bytes.IndexByte(b, 0) < 0
}

// TestCaseP10Toolchain: the Go that builds the program does not follow a link to outside of a root where a slash stands at its end
// (CVE-2026-39822).
func TestCaseP10Toolchain(t *testing.T) {
	content, _ := text(t, "go.mod")
	m := regexp.MustCompile(`(?m)^toolchain (go\S+)$`).FindStringSubmatch(content)
	if m == nil || version.Compare(m[1], "go1.26.5") < 0 || version.Compare(runtime.Version(), "go1.26.5") < 0 {
		t.Errorf("go.mod has %q, and this is built by %s", m, runtime.Version())
	}
}

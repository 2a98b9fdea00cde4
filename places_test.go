package tandem

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// opening are the functions that open, look at or change what has a path, by package.
var opening = map[string][]string{
	"os": {
		"Open", "OpenFile", "OpenRoot", "OpenInRoot", "ReadFile", "ReadDir", "DirFS", "CopyFS", "Create", "CreateTemp", "WriteFile", "Truncate",
		"Mkdir", "MkdirAll", "MkdirTemp", "Remove", "RemoveAll", "Rename", "Link", "Symlink", "Chmod", "Chown", "Lchown", "Chtimes", "Readlink",
		"Stat", "Lstat", "Chdir", "StartProcess",
	},
	"path/filepath":         {"Walk", "WalkDir", "Glob", "EvalSymlinks"},
	"io/ioutil":             {"ReadFile", "ReadDir", "WriteFile", "TempDir", "TempFile"},
	"syscall":               {"Open", "Openat", "Stat", "Lstat", "Mkdir", "Rename", "Unlink", "Rmdir", "Readlink", "Link", "Symlink", "Chmod", "Truncate"},
	"golang.org/x/sys/unix": {"Open", "Openat", "Openat2", "Stat", "Lstat", "Fstatat", "Mkdir", "Mkdirat", "Rename", "Renameat", "Renameat2", "Unlink", "Unlinkat", "Readlink", "Readlinkat", "Link", "Linkat", "Symlink", "Truncate"},
}

// notAtPlaces are the functions that use paths by themselves, "file: function", each with its reason.
var notAtPlaces = map[string]string{
	"lspserver/languages/own.go: os.Stat":         "whether the program that a person configured is there, where the sandbox does not show it",
	"lspserver/languages/typescript.go: os.Open":  "the version beside a compiler on the PATH, outside of the workspace",
	"tools/bash/operands.go: path/filepath.Glob":  "the names that the shell will find; each is judged as a Place before anything is read",
	"lspserver/backend/sessions.go: os.Stat":      "whether a folder that an editor or a person names is there, before it is a root",
	"lspserver/logs/logs.go: os.MkdirAll":         "the log, below the state folder",
	"lspserver/logs/logs.go: os.OpenFile":         "the log, below the state folder",
	"lspserver/logs/logs.go: os.Lstat":            "the log, below the state folder",
	"lspserver/logs/logs.go: os.Rename":           "the log, below the state folder",
	"lspserver/logs/crash.go: os.MkdirAll":        "reports of crashes, below the state folder",
	"lspserver/logs/crash.go: os.OpenFile":        "reports of crashes, below the state folder",
	"lspserver/logs/crash.go: path/filepath.Glob": "reports of crashes, below the state folder",
	"lspserver/logs/crash.go: os.Remove":          "reports of crashes, below the state folder",
}

// otherFiles are the rooms whose files are none of a workspace, each with its reason.
var otherFiles = map[string]string{
	"lspserver/conformance": "it plays the editor, whose files these are",
	"lspserver/doctor":      "it looks at the machine, at programs, limits and extensions of editors, and opens no file of a workspace",
	"lspserver/terminal":    "it opens the terminal, and the files of its demonstration",
	"lspserver/state":       "it has the state folder alone",
}

// TestFindingS1OnlyPlacesAreOpened: below lspserver and tools a file is opened, looked at and changed at a sandbox.Place, and by its
// path only where there is a reason.
func TestFindingS1OnlyPlacesAreOpened(t *testing.T) {
	used := map[string]bool{}
	for _, f := range repo(t).code {
		if !f.product() || !allows([]string{"lspserver", "lspserver/...", "tools", "tools/..."}, f.dir) {
			continue
		}
		if otherFiles[f.dir] != "" {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]string{}
		for _, i := range tree.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			name := path[strings.LastIndex(path, "/")+1:]
			if i.Name != nil {
				name = i.Name.Name
			}
			names[name] = path
			if _, opens := opening[path]; opens && name == "." {
				t.Errorf("%s imports %s into its own names", f.path, path)
			}
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil && slices.Contains(opening[names[x.Name]], s.Sel.Name) {
				what := f.path + ": " + names[x.Name] + "." + s.Sel.Name
				used[what] = true
				if notAtPlaces[what] == "" {
					t.Errorf("%s: a path is opened at a sandbox.Place, or has a reason in notAtPlaces", what)
				}
			}
			return true
		})
	}
	for what := range notAtPlaces {
		if !used[what] {
			t.Errorf("%s is excepted and not there", what)
		}
	}
}

// The program runs no git of its own, so that no configuration of a repository runs through it: it reads .gitignore files itself,
// and only the doctor asks for the version. The other rooms name git to judge commands of a model.
func TestCaseG01G02G04G06NoGitOfOurOwn(t *testing.T) {
	named := map[string]bool{"lspserver/doctor": true, "tools/shell": true, "tools/gate": true}
	for _, f := range repo(t).code {
		if !f.product() || named[f.dir] {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && lit.Value == `"git"` {
				t.Errorf("%s names the program git", f.fset.Position(lit.Pos()))
			}
			return true
		})
	}
}

// TestCaseE05NoFixedNames: nothing of ours has a name in a folder for temporary files that another user could know, and so make first:
// such names come from os.MkdirTemp and os.CreateTemp, which make what was not there.
func TestCaseE05NoFixedNames(t *testing.T) {
	made := 0
	for _, f := range repo(t).code {
		if !f.product() {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "os" {
					switch n.Sel.Name {
					case "TempDir":
						t.Errorf("%s asks for the folder itself", f.fset.Position(n.Pos()))
					case "MkdirTemp", "CreateTemp":
						made++
					}
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING && (strings.HasPrefix(n.Value, `"/tmp/`) || strings.HasPrefix(n.Value, `"/var/tmp/`)) {
					t.Errorf("%s: a fixed name: %s", f.fset.Position(n.Pos()), n.Value)
				}
			}
			return true
		})
	}
	if made < 3 {
		t.Errorf("only %d names are made: the test looks for the wrong thing", made)
	}
}

package tandem

import (
	"go/ast"
	"slices"
	"testing"
)

// once are calls that belong in one room of those below in.
var once = []struct {
	pkg    string
	names  []string
	zero   bool // only with a literal 0 as the last argument
	in     []string
	home   string
	except map[string]string // package → reason
}{
	{
		pkg: "filepath", names: []string{"Abs", "EvalSymlinks"}, in: []string{"..."}, home: "sandbox",
		except: map[string]string{
			"cmd/commandline":       "the command line names folders from where it is typed",
			"cmd/tandem":            "the command line names folders from where it is typed",
			"cmd/bench":             "the command line names folders from where it is typed",
			"cmd/live":              "it makes the folders that it names to the server",
			"docs/examples/embed":   "it is as a program elsewhere would be",
			"lspserver/conformance": "it plays the editor, which names folders in its own way",
		},
	},
	{
		pkg: "context", names: []string{"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
		in: []string{"tools/...", "agent/loop"}, home: "tools/run",
		except: map[string]string{"tools/mcp": "a server that begins, or tells its tools, is waited for in no call"},
	},
	{pkg: "bytes", names: []string{"IndexByte"}, zero: true, in: []string{"tools/...", "filetime/..."}, home: "filetime/text"},
	{pkg: "strings", names: []string{"IndexByte"}, zero: true, in: []string{"tools/...", "filetime/..."}, home: "filetime/text"},
}

// TestF070Once finds paths resolved nowhere but in sandbox, time limits of calls set nowhere but in tools/run, and binary files
// told from texts nowhere but in filetime/text. That diffs are made in one room is in TestFivePackages.
func TestF070Once(t *testing.T) {
	for _, rule := range once {
		used := map[string]bool{}
		for _, f := range repo(t).code {
			if !f.product() || rule.in[0] != "..." && !allows(rule.in, f.dir) {
				continue
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				c, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				s, ok := c.Fun.(*ast.SelectorExpr)
				if !ok || !slices.Contains(rule.names, s.Sel.Name) {
					return true
				}
				if x, ok := s.X.(*ast.Ident); !ok || x.Name != rule.pkg {
					return true
				}
				if last, ok := c.Args[len(c.Args)-1].(*ast.BasicLit); rule.zero && (!ok || last.Value != "0") {
					return true
				}
				used[f.dir] = true
				if _, ok := rule.except[f.dir]; !ok && f.dir != rule.home {
					t.Errorf("%s calls %s.%s: that is done in %s", f.path, rule.pkg, s.Sel.Name, rule.home)
				}
				return true
			})
		}
		for dir := range rule.except {
			if !used[dir] {
				t.Errorf("%s is excepted from the rule about %s and does not need to be", dir, rule.pkg)
			}
		}
	}
}

// TestPatternsAreCompiledLate finds patterns that are compiled whenever the program starts, needed or not: of them alone the start took
// a tenth of its time.
func TestPatternsAreCompiledLate(t *testing.T) {
	for _, f := range repo(t).code {
		if !f.product() {
			continue
		}
		for _, d := range f.ast.Decls {
			if _, isFunc := d.(*ast.FuncDecl); isFunc {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if _, late := n.(*ast.FuncLit); late {
					return false
				}
				if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "MustCompile" || s.Sel.Name == "MustCompilePOSIX") {
					t.Errorf("%s compiles a pattern when the program starts: wrap it into sync.OnceValue", f.path)
				}
				return true
			})
		}
	}
}

package tandem

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"
)

// The heart is what an edit goes through on its way into an open document. What makes it hard to follow is counted here. Each limit is
// today's figure: a change may lower it, and then lowers the limit; it raises one only with its reason beside it.

// heartTypes are the types that hold the most.
var heartTypes = []struct {
	dir, name        string
	fields, booleans int
}{
	{"lspserver/workspace", "file", 11, 0},
	{"lspserver/workspace", "document", 10, 2},
	{"lspserver/history", "History", 13, 1}, // its past, in which review and delivery need not search any more
	{"lspserver/workspace", "diskState", 8, 2},
	{"lspserver/delivery", "try", 12, 1}, // what its steps handed on before: the plan, the reply, the state, and whether a call still waits for it
	{"lspserver/delivery", "attempt", 15, 3},
	{"lspserver/workspace", "Workspace", 19, 0}, // what the client has shown of itself is one of them
	{"lspserver/backend", "Backend", 22, 0},
	{"agent", "Session", 25, 1},
	{"agent", "Options", 14, 1},
	{"tools", "Env", 20, 1},
	{"tools/run", "call", 20, 0},
	{"tools/run", "Host", 20, 1},
}

func TestHeartTypes(t *testing.T) {
	found := map[string][2]int{}
	for _, f := range repo(t).code {
		if f.test() {
			continue
		}
		for _, d := range f.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				if spec, ok := s.(*ast.TypeSpec); ok {
					if of, ok := spec.Type.(*ast.StructType); ok {
						fields, booleans := fieldsOf(of)
						found[f.dir+"."+spec.Name.Name] = [2]int{fields, booleans}
					}
				}
			}
		}
	}
	for _, h := range heartTypes {
		is, ok := found[h.dir+"."+h.name]
		if !ok {
			t.Errorf("%s has no struct %s", h.dir, h.name)
			continue
		}
		if want := [2]int{h.fields, h.booleans}; is != want {
			t.Errorf("%s.%s has %d fields, %d of them booleans; the limits are %d and %d", h.dir, h.name, is[0], is[1], want[0], want[1])
		}
	}
}

func fieldsOf(s *ast.StructType) (fields, booleans int) {
	for _, f := range s.Fields.List {
		n := max(1, len(f.Names)) // an embedded one has no name
		fields += n
		if id, ok := f.Type.(*ast.Ident); ok && id.Name == "bool" {
			booleans += n
		}
	}
	return fields, booleans
}

// heartRooms are the rooms of the heart, the lower ones first: the compiler holds the walls between them.
var heartRooms = []string{"lspserver/follow", "lspserver/history", "lspserver/stored", "lspserver/delivery", "lspserver/landing", "lspserver/workspace"}

// heartFiles are the layers within the workspace, from commands down to the files. A call to a layer above counts as upward.
var heartFiles = []struct {
	part  string
	files []string
}{
	{"commands", []string{"command"}},
	{"commit", []string{"commit", "landing", "versionless", "move", "entries", "owner"}},
	{"documents", []string{"documents", "workspace", "shown", "present", "expected", "moved", "plan", "lineends", "wrote", "wake", "locks"}},
	{"file", []string{"file", "document"}},
}

const (
	// Functions of the rooms that calls from Commit reach: 227 when all but follow were one package, whose fields were read without a call.
	heartReached = 273
	heartUpward  = 0 // calls from a part of the workspace to one above it
)

// TestHeartCalls counts in the syntax trees. A call through an interface of a room is one of every method of the rooms that implements it;
// calls through values of function types are not followed.
func TestHeartCalls(t *testing.T) {
	level := map[string]int{}
	for i, part := range heartFiles {
		for _, f := range part.files {
			level[f] = i + 1
		}
	}
	fset := repo(t).code[0].fset
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	rooms := checked{}
	bodies := map[*types.Func]*ast.FuncDecl{}
	for _, dir := range heartRooms {
		var files []*ast.File
		for _, f := range repo(t).code {
			if f.dir == dir && !f.test() && !strings.HasSuffix(f.path, "_other.go") && !strings.HasSuffix(f.path, "_darwin.go") {
				files = append(files, f.ast)
			}
		}
		// What is imported from elsewhere is empty, and its use an error: only calls within the rooms are looked at.
		conf := types.Config{Importer: rooms, Error: func(error) {}}
		rooms["tandem/"+dir], _ = conf.Check("tandem/"+dir, fset, files, info)
		for _, f := range files {
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
					if fn, ok := info.Defs[d.Name].(*types.Func); ok {
						bodies[fn] = d
					}
				}
			}
		}
	}
	levelOf := func(fn *types.Func) int {
		if path.Base(fn.Pkg().Path()) != "workspace" {
			return len(heartFiles) + 1
		}
		return level[nameOf(fset, fn)]
	}
	calls := map[*types.Func][]*types.Func{}
	var upward []string
	for fn, d := range bodies {
		if levelOf(fn) == 0 {
			t.Errorf("%s belongs to no part", nameOf(fset, fn))
		}
		ast.Inspect(d.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			var id *ast.Ident
			switch f := ast.Unparen(call.Fun).(type) {
			case *ast.Ident:
				id = f
			case *ast.SelectorExpr:
				id = f.Sel
			}
			to, ok := info.Uses[id].(*types.Func)
			if id == nil || !ok {
				return true
			}
			if to = to.Origin(); bodies[to] == nil {
				calls[fn] = append(calls[fn], implementing(bodies, to)...)
				return true
			}
			calls[fn] = append(calls[fn], to)
			if levelOf(to) < levelOf(fn) {
				upward = append(upward, nameOf(fset, fn)+"."+fn.Name()+" calls "+nameOf(fset, to)+"."+to.Name())
			}
			return true
		})
	}
	reached := map[*types.Func]bool{}
	var visit func(fn *types.Func)
	visit = func(fn *types.Func) {
		if !reached[fn] {
			reached[fn] = true
			for _, to := range calls[fn] {
				visit(to)
			}
		}
	}
	for fn := range bodies {
		if fn.Name() == "Commit" && fn.Signature().Recv() != nil {
			visit(fn)
		}
	}
	if len(reached) != heartReached {
		of := map[string]int{}
		for fn := range reached {
			of[fn.Pkg().Path()]++
		}
		t.Errorf("%d functions are reached from Commit, %v; the limit is %d", len(reached), of, heartReached)
	}
	if len(upward) != heartUpward {
		slices.SortFunc(upward, cmp.Compare[string])
		t.Errorf("%d calls go upward; the limit is %d:\n%s", len(upward), heartUpward, strings.Join(upward, "\n"))
	}
}

// nameOf is the name of the file of a function.
func nameOf(fset *token.FileSet, fn *types.Func) string {
	return strings.TrimSuffix(path.Base(fset.Position(fn.Pos()).Filename), ".go")
}

// implementing are the methods that a call of a method of an interface of the rooms may reach.
func implementing(bodies map[*types.Func]*ast.FuncDecl, called *types.Func) (out []*types.Func) {
	recv := called.Signature().Recv()
	if recv == nil {
		return nil
	}
	of, ok := recv.Type().Underlying().(*types.Interface)
	if !ok {
		return nil
	}
	for fn := range bodies {
		if is := fn.Signature().Recv(); is != nil && fn.Name() == called.Name() && types.Implements(is.Type(), of) {
			out = append(out, fn)
		}
	}
	return out
}

// checked imports the rooms that were checked before, and any other package as an empty one.
type checked map[string]*types.Package

func (c checked) Import(name string) (*types.Package, error) {
	if p := c[name]; p != nil {
		return p, nil
	}
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

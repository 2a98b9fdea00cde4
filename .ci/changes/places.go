package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// change is one place of the code, or of an embedded table, and what is done to it.
type change struct {
	file string // from the module's folder
	line int
	what string // `function: text → other text`; with #n where that is not the only one of its file
	kind string // negate, drop, boundary, arithmetic, step, result, row
	row  []byte // of a table: the text from its beginning to the row's, which the binary holds
	at   int    // of a table: where the row begins in row
}

// name does not change when lines above are added.
func (c change) name() string { return c.file + " " + c.what }

// helpers is a file of each changed package. Which change is active is read from the program's own text, so that copies of the program
// which a test starts have it too, whatever became of their environment.
const helpers = `package %s

import (
	"cmp"
	"os"
	"strconv"
	"syscall"
)

var changesActive, changesHits = changesBegin()

func changesBegin() (int, []byte) {
	active := []byte(%q)
	n, _ := strconv.Atoi(string(active[len(active)-8:]))
	if n != 0 {
		return n, nil
	}
	f, err := os.OpenFile(%q, os.O_RDWR, 0)
	if err != nil {
		return 0, nil
	}
	defer f.Close()
	hits, _ := syscall.Mmap(int(f.Fd()), 0, %d, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	return 0, hits
}

func changesOn(n int) bool {
	if changesHits != nil {
		changesHits[n] = 1
	}
	return changesActive == n
}

func changesLess[T cmp.Ordered](n int, a, b T) bool    { return a < b || changesOn(n) && a == b }
func changesAtMost[T cmp.Ordered](n int, a, b T) bool  { return a < b || !changesOn(n) && a == b }
func changesMore[T cmp.Ordered](n int, a, b T) bool    { return a > b || changesOn(n) && a == b }
func changesAtLeast[T cmp.Ordered](n int, a, b T) bool { return a > b || !changesOn(n) && a == b }

type changesNumber interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

func changesAdd[T changesNumber](n int, a, b T) T {
	if changesOn(n) {
		return a - b
	}
	return a + b
}

func changesSub[T changesNumber](n int, a, b T) T {
	if changesOn(n) {
		return a + b
	}
	return a - b
}

func changesMul[T changesNumber](n int, a, b T) T {
	if changesOn(n) {
		return a / b
	}
	return a * b
}

func changesDiv[T changesNumber](n int, a, b T) T {
	if changesOn(n) {
		return a * b
	}
	return a / b
}

func changesStep[T changesNumber](n int, _ T) T {
	one := T(1)
	if changesOn(n) {
		return -one
	}
	return one
}
`

var (
	boundary = map[token.Token]struct{ helper, other string }{
		token.LSS: {"changesLess", "<="}, token.LEQ: {"changesAtMost", "<"},
		token.GTR: {"changesMore", ">="}, token.GEQ: {"changesAtLeast", ">"},
	}
	arithmetic = map[token.Token]struct{ helper, other string }{
		token.ADD: {"changesAdd", "-"}, token.SUB: {"changesSub", "+"},
		token.MUL: {"changesMul", "/"}, token.QUO: {"changesDiv", "*"},
	}
)

// edit puts text in the place of [from, to). Where several are at one place, what closes an inner expression comes first, what opens an
// outer one before what opens an inner one.
type edit struct {
	from, to, rank int
	with           string
}

// loaded is a package with its types.
type loaded struct {
	name, dir string
	fset      *token.FileSet
	info      *types.Info
	files     []*ast.File
	paths     []string
}

// load reads packages; what they import comes from the compiler's export data.
func load(module string, patterns []string) ([]loaded, error) {
	list := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=Name,Dir,ImportPath,Export,GoFiles,DepOnly"}, patterns...)...)
	list.Dir, list.Stderr = module, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var all []loaded
	type listed struct {
		Name, Dir, ImportPath, Export string
		GoFiles                       []string
		DepOnly                       bool
	}
	var wanted []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			wanted = append(wanted, p)
		}
	}
	for _, p := range wanted {
		l := loaded{name: p.Name, dir: p.Dir, fset: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}}
		for _, file := range p.GoFiles {
			path := filepath.Join(p.Dir, file)
			parsed, err := parser.ParseFile(l.fset, path, nil, parser.SkipObjectResolution|parser.ParseComments)
			if err != nil {
				return nil, err
			}
			l.files, l.paths = append(l.files, parsed), append(l.paths, path)
		}
		conf := types.Config{Importer: importer.ForCompiler(l.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
		if _, err := conf.Check(p.ImportPath, l.fset, l.files, l.info); err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// instrumented are the files of the packages in dirs with all changes built in, each off, by the file's path; and the changes, whose
// number is their place in the list plus one.
func instrumented(module string, dirs []string, marker, hits string) (map[string][]byte, []change, error) {
	var patterns []string
	for _, dir := range dirs {
		patterns = append(patterns, "./"+filepath.Clean(dir))
	}
	loaded, err := load(module, patterns)
	if err != nil {
		return nil, nil, err
	}
	var all []change
	for _, p := range loaded {
		tables, _ := filepath.Glob(filepath.Join(p.dir, "*.txt"))
		for _, table := range tables {
			rows, err := rowsOf(module, table)
			if err != nil {
				return nil, nil, err
			}
			all = append(all, rows...)
		}
	}
	texts := map[string][]byte{}
	for _, p := range loaded {
		for i, file := range p.files {
			path := p.paths[i]
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, nil, err
			}
			name, err := filepath.Rel(module, path)
			if err != nil {
				return nil, nil, err
			}
			w := &walker{fset: p.fset, info: p.info, text: text, file: name, first: len(all)}
			w.walk(file)
			all = append(all, w.changes...)
			texts[path] = w.result()
		}
	}
	for _, p := range loaded {
		texts[filepath.Join(p.dir, "zz_changes.go")] = fmt.Appendf(nil, helpers, p.name, marker, hits, len(all)+1)
	}
	seen := map[string]int{}
	for i := range all {
		seen[all[i].name()]++
		if n := seen[all[i].name()]; n > 1 {
			all[i].what += fmt.Sprint(" #", n)
		}
	}
	return texts, all, nil
}

// rowsOf are the lines of a table, of which each can be taken away: made a comment.
func rowsOf(module, file string) (all []change, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(module, file)
	if err != nil {
		return nil, err
	}
	at := 0
	for i, row := range bytes.SplitAfter(text, []byte("\n")) {
		if len(bytes.TrimSpace(row)) > 0 && row[0] != '#' {
			all = append(all, change{file: name, line: i + 1, what: "without the row " + string(bytes.TrimSpace(row)), kind: "row", row: text[:at+len(row)], at: at})
		}
		at += len(row)
	}
	return all, nil
}

type walker struct {
	fset    *token.FileSet
	info    *types.Info
	text    []byte
	file    string
	first   int
	changes []change
	edits   []edit
	within  string
}

func (w *walker) walk(file *ast.File) {
	for _, decl := range file.Decls {
		w.within = ""
		if f, ok := decl.(*ast.FuncDecl); ok {
			w.within = f.Name.Name
			if f.Recv != nil && len(f.Recv.List) > 0 {
				w.within = strings.TrimLeft(w.source(f.Recv.List[0].Type), "*") + "." + w.within
			}
		}
		depth := 0
		conditions := map[ast.Expr]bool{}
		ast.Inspect(decl, func(n ast.Node) bool {
			if n == nil {
				depth--
				return true
			}
			depth++
			w.node(n, depth, conditions)
			return true
		})
	}
}

// node notes the changes of a node. Conditions are the expressions that something above it found to be one.
func (w *walker) node(n ast.Node, depth int, conditions map[ast.Expr]bool) {
	condition := func(e ast.Expr) {
		for {
			switch x := e.(type) {
			case *ast.ParenExpr:
				e = x.X
				continue
			case *ast.UnaryExpr:
				if x.Op == token.NOT {
					e = x.X
					continue
				}
			}
			break
		}
		conditions[e] = true
	}
	switch n := n.(type) {
	case *ast.IfStmt:
		condition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			condition(n.Cond)
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					condition(e)
				}
			}
		}
	case *ast.ReturnStmt:
		for _, e := range n.Results {
			if id, ok := e.(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") {
				other := map[string]string{"true": "false", "false": "true"}[id.Name]
				w.wrap(e, depth, "((", ") != changesOn(%d))", "result", w.source(n)+" → "+other)
			}
		}
	case *ast.IncDecStmt:
		if w.number(n.X) {
			op, other := "+= ", "--"
			if n.Tok == token.DEC {
				op, other = "-= ", "++"
			}
			id := w.add(n, "step", w.source(n)+" → "+w.source(n.X)+other)
			w.put(n.TokPos, n.TokPos+2, depth, fmt.Sprintf("%schangesStep(%d, %s)", op, id, w.source(n.X)))
		}
	case *ast.BinaryExpr:
		w.binary(n, depth, condition)
	}
	e, ok := n.(ast.Expr)
	if !ok || w.info.Types[e].Value != nil {
		return
	}
	binary, isBinary := e.(*ast.BinaryExpr)
	comparison := isBinary && (binary.Op == token.EQL || binary.Op == token.NEQ || boundary[binary.Op].helper != "")
	if conditions[e] && (!isBinary || comparison) || comparison {
		w.wrap(e, depth, "((", ") != changesOn(%d))", "negate", w.source(e)+" → not")
	}
}

func (w *walker) binary(n *ast.BinaryExpr, depth int, condition func(ast.Expr)) {
	if w.info.Types[n].Value != nil {
		return
	}
	switch {
	case n.Op == token.LAND || n.Op == token.LOR:
		condition(n.X)
		condition(n.Y)
		closing, other := ") || changesOn(%d))", "true"
		if n.Op == token.LOR {
			closing, other = ") && !changesOn(%d))", "false"
		}
		for i, e := range []ast.Expr{n.X, n.Y} {
			text := [2]string{w.source(n.X), w.source(n.Y)}
			text[i] = other
			w.wrap(e, depth, "((", closing, "drop", w.source(n)+" → "+text[0]+" "+n.Op.String()+" "+text[1])
		}
	case boundary[n.Op].helper != "" && w.ordered(n.X) && w.ordered(n.Y):
		w.call(n, depth, boundary[n.Op].helper, "boundary", boundary[n.Op].other)
	case arithmetic[n.Op].helper != "" && w.number(n):
		w.call(n, depth, arithmetic[n.Op].helper, "arithmetic", arithmetic[n.Op].other)
	}
}

// call makes an expression a call of a helper with both operands.
func (w *walker) call(n *ast.BinaryExpr, depth int, helper, kind, other string) {
	id := w.add(n, kind, w.source(n)+" → "+other)
	// Operands are at a greater depth, what is around at a smaller one.
	w.put(n.Pos(), n.Pos(), 2*depth+1, fmt.Sprintf("%s(%d, ", helper, id))
	w.put(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), 2*depth+1, ",")
	w.put(n.End(), n.End(), -(2*depth + 1), ")")
}

func (w *walker) wrap(e ast.Expr, depth int, opening, closing, kind, what string) {
	if w.info.Types[e].Value != nil && kind != "result" {
		return
	}
	id := w.add(e, kind, what)
	rank := 2 * depth
	if kind == "drop" { // an operand is one level below the expression that is walked
		rank++
	}
	w.put(e.Pos(), e.Pos(), rank, opening)
	w.put(e.End(), e.End(), -rank, fmt.Sprintf(closing, id))
}

func (w *walker) add(n ast.Node, kind, what string) int {
	within := ""
	if w.within != "" {
		within = w.within + ": "
	}
	w.changes = append(w.changes, change{file: w.file, line: w.fset.Position(n.Pos()).Line, kind: kind, what: within + strings.Join(strings.Fields(what), " ")})
	return w.first + len(w.changes)
}

func (w *walker) put(from, to token.Pos, rank int, with string) {
	w.edits = append(w.edits, edit{w.fset.Position(from).Offset, w.fset.Position(to).Offset, rank, with})
}

func (w *walker) result() []byte {
	slices.SortStableFunc(w.edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.rank, b.rank))
	})
	var out []byte
	at := 0
	for _, e := range w.edits {
		out = append(append(out, w.text[at:e.from]...), e.with...)
		at = e.to
	}
	return append(out, w.text[at:]...)
}

func (w *walker) source(n ast.Node) string {
	return string(w.text[w.fset.Position(n.Pos()).Offset:w.fset.Position(n.End()).Offset])
}

func (w *walker) basic(e ast.Expr, want types.BasicInfo) bool {
	t := w.info.TypeOf(e)
	if t == nil {
		return false
	}
	if _, generic := t.(*types.TypeParam); generic {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&want != 0 && b.Info()&types.IsComplex == 0
}

func (w *walker) number(e ast.Expr) bool  { return w.basic(e, types.IsNumeric) }
func (w *walker) ordered(e ast.Expr) bool { return w.basic(e, types.IsOrdered) }

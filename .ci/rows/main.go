// Rows tells which rows of a table-driven test a change of the code would be noticed by: it changes the code of a package one place at
// a time and runs the test, each row of which is a subtest. A row that no change makes fail proves nothing and is listed.
//
//	go run ./.ci/rows [-in DIRS] [-at-most SHARE] PACKAGE TEST
//
// -in names folders whose code is changed, separated by commas (the package's own). A change counts only if it makes at most a share of
// all rows fail (0.25): one that breaks everything proves nothing about a row. Changed are conditions (always, never), comparisons,
// && and ||, cases of a switch without a tag, the results true and false, and the lines of embedded tables (*.txt, *.json is left alone).
// The working tree is not touched: the compiler reads the changed files through an overlay. It exits with 1 if a row was never noticed.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// change is one changed file: its text, and a name for people.
type change struct {
	file, name string
	text       []byte
}

func main() {
	log.SetFlags(0)
	in := flag.String("in", "", "folders whose code is changed, separated by commas")
	most := flag.Float64("at-most", 0.25, "share of rows that a change may make fail")
	workers := flag.Int("workers", runtime.NumCPU(), "changes tried at once")
	every := flag.Int("every", 1, "try each n-th change only")
	flag.Parse()
	if flag.NArg() != 2 {
		log.Fatal("rows: a package and the name of a test are needed")
	}
	pkg, test := flag.Arg(0), flag.Arg(1)
	dirs := []string{pkg}
	if *in != "" {
		dirs = strings.Split(*in, ",")
	}
	tmp, err := os.MkdirTemp("", "rows")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	r := &runner{pkg: pkg, test: test, tmp: tmp}
	rows, failed, err := r.run(0, nil)
	if err != nil || len(failed) > 0 {
		log.Fatalf("rows: the test fails as it is: %v %v", failed, err)
	}
	var all []change
	for _, dir := range dirs {
		all = append(all, changes(dir)...)
	}
	log.Printf("%d rows, %d changes", len(rows), len(all))

	var mu sync.Mutex
	noticedBy := map[string]string{}
	todo := make(chan int)
	var wg sync.WaitGroup
	counts := map[string]int{}
	for range *workers {
		wg.Go(func() {
			for i := range todo {
				_, failed, err := r.run(i+1, &all[i])
				mu.Lock()
				switch {
				case err != nil:
					counts["does not build, or stops the test"]++
				case len(failed) == 0:
					counts["noticed by no row"]++
				case float64(len(failed)) > *most*float64(len(rows)):
					counts["makes too many rows fail"]++
				default:
					counts["noticed"]++
					for _, row := range failed {
						if noticedBy[row] == "" {
							noticedBy[row] = all[i].name
						}
					}
				}
				mu.Unlock()
			}
		})
	}
	for i := range all {
		mu.Lock()
		done := len(noticedBy) == len(rows)
		mu.Unlock()
		if done {
			break
		}
		if i%*every == 0 {
			todo <- i
		}
	}
	close(todo)
	wg.Wait()
	for what, n := range counts {
		log.Printf("%5d changes: %s", n, what)
	}
	left := slices.DeleteFunc(rows, func(row string) bool { return noticedBy[row] != "" })
	for _, row := range left {
		fmt.Println(row)
	}
	log.Printf("%d rows are noticed by a change, %d by none", len(noticedBy), len(left))
	if len(left) > 0 {
		os.Exit(1)
	}
}

type runner struct{ pkg, test, tmp string }

var (
	ran  = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL): ([^ /]+/\S+)`)
	over = regexp.MustCompile(`(?m)^(PASS|FAIL)$`)
)

// run runs the test with a change: the names of all rows, and of those that failed.
func (r *runner) run(n int, c *change) (rows, failed []string, err error) {
	binary := filepath.Join(r.tmp, fmt.Sprint(n, ".test"))
	defer os.Remove(binary)
	args := []string{"test", "-c", "-o", binary}
	if c != nil {
		changed := filepath.Join(r.tmp, fmt.Sprint(n, filepath.Ext(c.file)))
		overlay := filepath.Join(r.tmp, fmt.Sprint(n, ".overlay"))
		text, err := json.Marshal(map[string]any{"Replace": map[string]string{c.file: changed}})
		if err == nil {
			err = errors.Join(os.WriteFile(changed, c.text, 0o600), os.WriteFile(overlay, text, 0o600))
		}
		if err != nil {
			return nil, nil, err
		}
		defer os.Remove(changed)
		defer os.Remove(overlay)
		args = append(args, "-overlay", overlay)
	}
	if out, err := exec.Command("go", append(args, r.pkg)...).CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("%w: %s", err, out)
	}
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, binary, "-test.v", "-test.run", "^"+r.test+"$")
	cmd.Dir = r.pkg
	out, _ := cmd.CombinedOutput() // a row that fails is no error here
	if !over.Match(out) || bytes.Contains(out, []byte("panic: ")) {
		return nil, nil, fmt.Errorf("the test did not end: %s", out)
	}
	for _, m := range ran.FindAllSubmatch(out, -1) {
		row := string(m[2])
		rows = append(rows, row)
		if string(m[1]) == "FAIL" {
			failed = append(failed, row)
		}
	}
	leaf := func(row string) bool {
		return !slices.ContainsFunc(rows, func(other string) bool { return strings.HasPrefix(other, row+"/") })
	}
	keep := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(row string) bool { return !leaf(row) })
	}
	return keep(rows), keep(failed), nil
}

// changes are those of all files of a folder: of the tables first, which say most about single rows.
func changes(dir string) []change {
	var tables, code []change
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		log.Fatal(err)
	}
	for _, file := range files {
		file, err := filepath.Abs(file)
		if err != nil {
			log.Fatal(err)
		}
		switch {
		case strings.HasSuffix(file, ".txt"):
			tables = append(tables, lines(file)...)
		case strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go"):
			code = append(code, places(file)...)
		}
	}
	return append(tables, code...)
}

// lines takes each line of a table away.
func lines(file string) (all []change) {
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	rows := bytes.SplitAfter(text, []byte("\n"))
	for i, row := range rows {
		if len(bytes.TrimSpace(row)) == 0 || row[0] == '#' {
			continue
		}
		all = append(all, change{file, fmt.Sprintf("%s:%d", filepath.Base(file), i+1), bytes.Join(slices.Delete(slices.Clone(rows), i, i+1), nil)})
	}
	return all
}

// places changes each condition, comparison, case and constant result of a file of code.
func places(file string) (all []change) {
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		log.Fatal(err)
	}
	put := func(from, to token.Pos, with string) {
		a, b := fset.Position(from), fset.Position(to)
		changed := slices.Concat(text[:a.Offset], []byte(with), text[b.Offset:])
		all = append(all, change{file, fmt.Sprintf("%s:%d %s", filepath.Base(file), a.Line, with), changed})
	}
	source := func(e ast.Node) string {
		return string(text[fset.Position(e.Pos()).Offset:fset.Position(e.End()).Offset])
	}
	// A condition keeps its names in use: (c) && false.
	always := func(e ast.Expr) {
		put(e.Pos(), e.End(), "("+source(e)+") || true")
		put(e.Pos(), e.End(), "("+source(e)+") && false")
	}
	opposite := map[token.Token]string{token.EQL: "!=", token.NEQ: "==", token.LSS: ">=", token.GTR: "<=", token.LEQ: ">", token.GEQ: "<", token.LAND: "||", token.LOR: "&&"}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			always(n.Cond)
		case *ast.SwitchStmt:
			if n.Tag == nil {
				for _, c := range n.Body.List {
					for _, e := range c.(*ast.CaseClause).List {
						put(e.Pos(), e.End(), "("+source(e)+") && false")
					}
				}
			}
		case *ast.BinaryExpr:
			if op := opposite[n.Op]; op != "" {
				put(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op)
			}
		case *ast.ReturnStmt:
			for _, e := range n.Results {
				if id, ok := e.(*ast.Ident); ok && id.Name == "true" {
					put(id.Pos(), id.End(), "false")
				} else if ok && id.Name == "false" {
					put(id.Pos(), id.End(), "true")
				}
			}
		}
		return true
	})
	return all
}

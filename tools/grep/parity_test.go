//go:build unix

package grep

import (
	"context"
	"encoding/json"
	"go/build"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tandem/sandbox"
	"tandem/sandbox/tree"
	"tandem/tools"
	"tandem/tools/toolstest"
)

// TestParity asks 70 questions about each of three trees, made of words in them, of ripgrep, of the engine that reads all files and of
// the one with an index: all three give the same lines.
func TestParity(t *testing.T) {
	rg := oracle(t)
	for name, dir := range map[string]string{
		"go": build.Default.GOROOT + "/src/net", "modules": filepath.Join(build.Default.GOPATH, "pkg/mod/mvdan.cc"), "npm": "/usr/lib/node_modules",
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(dir)
			if err != nil {
				t.Skip(err)
			}
			env := toolstest.Workspace(t, &txtar.Archive{})
			env.Paths = &sandbox.Paths{Cwd: dir, Read: []string{dir}}
			env.Limits.MaxToolOutputChars, env.Limits.ToolTimeout = 1<<30, 5*time.Minute
			words := wordsOf(t, dir)
			r := rand.New(rand.NewPCG(7, 8))
			word := func() string { return words[r.IntN(len(words))] }
			ask := func(tool tools.Tool, env *tools.Env, js []byte) *value {
				res, _ := toolstest.Call(t.Context(), tool, env, string(js))
				if !res.Success {
					t.Fatalf("%s: %s", js, res.Data)
				}
				return res.Value.(*value)
			}
			indexed := *env
			built := make(chan struct{}, 10)
			indexed.Indexes = &tree.Indexes{
				Now: time.Now, Least: 1,
				Later: func(f func(context.Context)) {
					go func() { f(context.WithoutCancel(t.Context())); built <- struct{}{} }()
				},
			}
			ask(New(), &indexed, []byte(`{"pattern":"nothing has this"}`))
			<-built
			found := 0
			for range 70 {
				args := map[string]any{"head_limit": 1 << 30, "output_mode": []string{content, content, names, counts}[r.IntN(4)]}
				args["pattern"] = []func() string{
					word, word,
					func() string { return word() + `\w*\(` },
					func() string { return `^\s*` + word() },
					func() string { return word() + "|" + word() + "|" + word() },
					func() string { return word() + ".*" + word() },
					func() string { return `\b` + word()[:3] + `[a-z]+\b\s*=` },
					func() string { return "(" + word() + "|" + word() + `)[^a-z]*$` },
					func() string { return word()[:2] + `[A-Z]{2,}\d` },
					func() string { return word() + `\s+\p{Lu}\S{3,9} ` },
				}[r.IntN(10)]()
				args["case_insensitive"], args["word"] = r.IntN(4) == 0, r.IntN(5) == 0
				js, err := json.Marshal(args)
				if err != nil {
					t.Fatal(err)
				}
				want := ask(define(rg), env, js)
				for way, env := range map[string]*tools.Env{"walking": env, "index": &indexed} {
					if d := cmp.Diff(want, ask(New(), env, js)); d != "" {
						t.Errorf("%s: %s (-rg +engine):\n%.1500s", way, js, d)
					}
				}
				if *want.Total > 0 {
					found++
				}
			}
			if found < 30 {
				t.Errorf("only %d of 70 questions had an answer", found)
			}
		})
	}
}

// wordsOf gives words of files of a tree, the same each time.
func wordsOf(t *testing.T, dir string) (out []string) {
	t.Helper()
	word := regexp.MustCompile(`[A-Za-z_]{4,20}`)
	r := rand.New(rand.NewPCG(1, 1))
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || r.IntN(20) != 0 {
			return nil
		}
		if b, err := os.ReadFile(path); err == nil && !strings.Contains(string(b[:min(len(b), 8000)]), "\x00") {
			if found := word.FindAllString(string(b), 2000); len(found) > 0 {
				out = append(out, found[r.IntN(len(found))], found[r.IntN(len(found))])
			}
		}
		return nil
	})
	slices.Sort(out)
	if out = slices.Compact(out); len(out) < 20 {
		t.Skipf("%s has %d words", dir, len(out))
	}
	return out
}

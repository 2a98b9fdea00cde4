//go:build unix

package glob

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tandem/sandbox"
	"tandem/sandbox/search/index"
	"tandem/sandbox/tree/treetest"
	"tandem/tools/toolstest"
)

// TestF164AsRipgrep asks for the files that globs name, made of the names that are there, in three trees and an odd one: both ways to find
// them, over the folders and over a table that is watched, give what ripgrep lists.
func TestF164AsRipgrep(t *testing.T) {
	rg := treetest.Ripgrep(t)
	trees := treetest.Trees(t)
	trees["odd"] = treetest.Odd(t)
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		t.Run(name, func(t *testing.T) {
			dir := trees[name]
			env := toolstest.Workspace(t, &txtar.Archive{})
			env.Paths = &sandbox.Paths{Cwd: dir, Read: []string{dir}}
			env.Limits.MaxToolOutputChars = 1 << 30
			indexed := *env
			built := make(chan struct{}, 100)
			indexed.Searches.Indexes = &index.Indexes{Now: time.Now, Least: 1, RunInBackground: func(f func(context.Context)) {
				go func() { f(context.WithoutCancel(t.Context())); built <- struct{}{} }()
			}}
			toolstest.Call(t.Context(), New(), &indexed, `{"pattern":"*"}`)
			<-built
			found := 0
			for _, glob := range treetest.Globs(treetest.Files(t, rg, dir, ""), dir, 30) {
				glob = strings.TrimLeft(glob, "/") // which begins a path of the file system here
				asked := glob
				if strings.HasSuffix(glob, "/") && glob[0] != '!' {
					asked += "**" // a folder stands for all below it, and no file is a folder
				}
				want := treetest.Files(t, rg, dir, asked)
				js, err := json.Marshal(map[string]any{"pattern": glob, "limit": 1 << 30})
				if err != nil {
					t.Fatal(err)
				}
				walking, _ := toolstest.Call(t.Context(), New(), env, string(js))
				index, _ := toolstest.Call(t.Context(), New(), &indexed, string(js))
				for way, r := range map[string]any{"walking": walking.Value, "index": index.Value} {
					v, ok := r.(*value)
					if !ok {
						t.Errorf("%s, %s: %+v", way, glob, walking)
						continue
					}
					got := slices.Sorted(slices.Values(v.Files))
					if !slices.Equal(got, want) {
						t.Errorf("%s, %s: %d files, ripgrep has %d\n%.300q\n%.300q", way, glob, len(got), len(want), minus(got, want), minus(want, got))
					}
				}
				if len(want) > 0 {
					found++
				}
			}
			if found < 20 {
				t.Errorf("only %d of 30 globs name files", found)
			}
		})
	}
}

func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

//go:build unix

package list

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/sandbox"
	"tandem/sandbox/tree/treetest"
	"tandem/tools/toolstest"
)

// TestF163AsRipgrep lists the files of an odd tree that globs name: those that ripgrep lists.
func TestF163AsRipgrep(t *testing.T) {
	rg := treetest.Ripgrep(t)
	dir := treetest.Odd(t)
	env := toolstest.Workspace(t, &txtar.Archive{})
	env.Paths = &sandbox.Paths{Cwd: dir, Read: []string{dir}}
	env.Limits.MaxToolOutputChars = 1 << 30
	for _, glob := range treetest.Globs(treetest.Files(t, rg, dir, ""), dir, 40) {
		if strings.HasSuffix(glob, "/") && glob[0] != '!' {
			continue // a folder, which a list has and a search for files has not
		}
		js, err := json.Marshal(map[string]any{"pattern": glob, "limit": 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		r, _ := toolstest.Call(t.Context(), New(), env, string(js))
		v, ok := r.Value.(*value)
		if !ok {
			t.Errorf("%s: %+v", glob, r)
			continue
		}
		var got []string
		for _, e := range v.Entries {
			got = append(got, e.Path)
		}
		slices.Sort(got)
		if want := treetest.Files(t, rg, dir, glob); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %.500q\nwant %.500q", glob, got, want)
		}
	}
}

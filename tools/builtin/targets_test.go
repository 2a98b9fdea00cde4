package builtin_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/builtin"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

// TestF270Targets has the needs of a call tell the files that it is about, and the scheduler, the locks of the files, the judgement and what
// the session has seen agree with them.
func TestF270Targets(t *testing.T) {
	const three = `*** Begin Patch\n*** Add File: n/new\n+x\n*** Update File: l\n@@\n-one\n+1\n*** Update File: b\n*** Move to: c\n*** Delete File: d\n*** End Patch`
	for _, tt := range []struct{ tool, args, want string }{
		{"read_file", `{"path":"a"}`, "a"},
		{"read_file", `{"path":"l"}`, "a"},
		{"edit_file", `{"path":"./a","old_text":"one","new_text":"1"}`, "a"},
		{"edit_file", `{"file_path":"l","old_text":"one","new_text":"1"}`, "a"},
		{"multi_edit", `{"path":"a","edits":[{"old_text":"one","new_text":"1"},{"old_text":"two","new_text":"2"}]}`, "a"},
		{"write_file", `{"path":"new","content":"x"}`, "new"},
		{"patch", `{"patch":"*** Update File: a\n-one\n+1"}`, "a"},
		{"patch", `{"patch":"*** Update File: l\n-one\n+1\n*** Update File: a\n-two\n+2"}`, "a"},
		{"apply_patch", `{"input":"` + three + `"}`, "n/new a b c d"},
		{"patch", `{"patch":"nothing"}`, ""},
	} {
		w := toolstest.NewWorld(t, builtin.Tools()...)
		for _, p := range []string{"a", "b", "d"} {
			w.Files.Put(w.Path(p), "one\ntwo\n", true)
			if err := w.See(p, 1, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("a", w.Path("l")); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, p := range strings.Fields(tt.want) {
			want = append(want, w.Path(p))
		}
		call := run.Call{ID: "c", Name: tt.tool, Arguments: json.RawMessage(tt.args)}
		if a := run.Assess(t.Context(), w.Host, call); !slices.Equal(a.Paths, want) {
			t.Errorf("%s %s is judged for %q, want %q", tt.tool, tt.args, a.Paths, want)
		}
		// Another call for each of the files is not run together with it, one for another file is.
		if tt.tool != "read_file" && len(want) > 0 {
			for _, p := range append(want, w.Path("other")) {
				other := run.Call{ID: "d", Name: "write_file", Arguments: json.RawMessage(`{"path":"` + p + `","content":"y"}`)}
				if n := len(run.Partition(w.Host, []run.Call{call, other})); (n == 1) != (p == w.Path("other")) {
					t.Errorf("%s %s and a write of %s: %d batches", tt.tool, tt.args, p, n)
				}
			}
		}
		var changed []string
		w.Files.Enter = func(c filetime.Change) {
			for _, f := range c.Files {
				if changed = append(changed, f.Path); f.To != "" {
					changed = append(changed, f.To)
				}
			}
		}
		r := w.Call(tt.tool, tt.args)
		if changed != nil && !slices.Equal(changed, want) || r.Success != (tt.want != "") {
			t.Errorf("%s %s changes %q, want %q: %s", tt.tool, tt.args, changed, want, r.Data)
		}
		for _, f := range r.Diffs {
			if !w.FileTime.Knows(f.Path) && f.Additions > 0 {
				t.Errorf("%s %s: %s does not count as seen", tt.tool, tt.args, f.Path)
			}
		}
	}
	if got := tools.Targets(nil); got != nil {
		t.Errorf("%q", got)
	}
}

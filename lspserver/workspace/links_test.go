package workspace

import (
	"os"
	"testing"
)

// TestFindingS2LinkedBeforeLanding: a change that was judged for one name of a file goes to no editor that would write into further
// ones, whether the file was opened or got its second name since it was judged.
func TestFindingS2LinkedBeforeLanding(t *testing.T) {
	for name, c := range map[string]struct {
		second, one bool
		want        string
	}{
		"one name":                   {false, true, ""},
		"two names":                  {true, true, "EDIT_CONFLICT linked"},
		"two names that were judged": {true, false, ""},
		"one name of any number":     {false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, b, path := opened(t, doc)
			v, e, _, at := versionless(t, map[string]string{"a": doc}, map[string]string{"a": doc})
			for w, path := range map[*Workspace]string{w: path, v: at("a")} {
				s, err := w.Read(t.Context(), path)
				if err == nil && c.second {
					err = os.Link(path, path+"2")
				}
				if err != nil || !w.InPlace(path) {
					t.Fatal(err, "or the editor does not write in place")
				}
				change := replaceIn(s, "four", "FOUR")
				change.Files[0].OneName = c.one
				if _, err := w.Commit(t.Context(), change); outcome(err) != c.want {
					t.Errorf("%v, want %s", err, c.want)
				}
			}
			if asked := b.text != doc || e.writes > 0; asked != (c.want == "") {
				t.Errorf("the editor has %q, was asked to write %d times", b.text, e.writes)
			}
		})
	}
}

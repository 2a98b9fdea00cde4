package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tandem/agent/store"
)

// A fork is told of the files that are not as its conversation shows them: those that the other session has changed after that point and has
// not taken back.
func TestForkIsToldWhatHasChanged(t *testing.T) {
	type change struct {
		turn                        int
		path, origin, before, after string
	}
	for name, c := range map[string]struct {
		changes []change
		want    string // "" for nothing
	}{
		"nothing":             {nil, ""},
		"before it":           {[]change{{1, "a", "", "0", "1"}}, ""},
		"after it":            {[]change{{1, "a", "", "0", "1"}, {2, "a", "", "1", "2"}}, "a"},
		"outside":             {[]change{{2, "/elsewhere/a", "", "1", "2"}}, "/elsewhere/a"},
		"several":             {[]change{{2, "b", "", "1", "2"}, {3, "a/c", "", "1", "2"}, {3, "b", "", "2", "3"}}, "a/c, b"},
		"taken back":          {[]change{{2, "a", "", "1", "2"}, {3, "a", "", "2", "3"}, {3, "a", "", "3", "2"}, {2, "a", "", "2", "1"}}, ""},
		"one of two":          {[]change{{2, "a", "", "1", "2"}, {3, "a", "", "2", "3"}, {3, "a", "", "3", "2"}}, "a"},
		"made":                {[]change{{2, "a", "", "", "2"}}, "a"},
		"deleted":             {[]change{{2, "a", "", "1", ""}}, "a"},
		"moved":               {[]change{{2, "b", "a", "1", "1"}}, "a, b"},
		"moved and back":      {[]change{{2, "b", "a", "1", "1"}, {2, "a", "b", "1", "1"}}, "b"},
		"what is no text":     {[]change{{2, "a", "", "", ""}}, "a"},
		"changed before, too": {[]change{{1, "a", "", "0", "1"}, {2, "b", "", "1", "2"}}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			st := store.NewMemory(1<<20, time.Now)
			t.Cleanup(func() { _ = st.Close() })
			must := func(err error) {
				if t.Helper(); err != nil {
					t.Fatal(err)
				}
			}
			at := func(path string) string {
				if path != "" && !strings.HasPrefix(path, "/") {
					return "/w/" + path
				}
				return path
			}
			must(st.Save(store.Session{ID: "from", Cwd: "/w"}))
			for _, c := range c.changes {
				raw, err := json.Marshal(body{Path: at(c.path), Origin: at(c.origin), Before: c.before, After: c.after, Operation: OpEdit})
				must(err)
				must(st.Append("from", store.Entry{Turn: c.turn, Kind: store.Change, Body: raw}))
			}
			must(st.Append("from", store.Entry{Turn: 1, Kind: store.End, Body: json.RawMessage(`{"stop":"end_turn"}`)}))
			one := 1
			must(Fork(st, "from", &one, "fork"))
			s, _, err := st.Entries("fork")
			must(err)
			news, err := changedSince(st, s)
			must(err)
			if news != "" != (c.want != "") || c.want != "" && !strings.Contains(news, ": "+c.want+". They") {
				t.Errorf("%q", news)
			}
			must(st.Delete("from"))
			if news, err := changedSince(st, s); news != "" || err != nil {
				t.Errorf("of a session that is gone: %q %v", news, err)
			}
		})
	}
}

package tools_test

import (
	"strings"
	"testing"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/sandbox"
	"tandem/tools"
)

// TestToldOfOthers has the model hear of everything that others did to the text that it edited.
func TestToldOfOthers(t *testing.T) {
	before := text.New("one\ntwo\nthree\n")
	set := text.Set{{Start: 4, End: 7, New: "2"}}
	l := filetime.LandedFile{
		Path: "/w/f.go", Before: before, After: set.Apply(before), Set: set, Applied: true, Source: "buffer",
		Rebased: text.Set{{Start: 0, End: 0, New: "o"}}, Over: 1, SameLine: true,
	}
	env := &tools.Env{Paths: &sandbox.Paths{Cwd: "/w"}, FileTime: filetime.New(nothing{}, "s", nil)}
	got := tools.Told(env, l)
	for _, want := range []string{
		"rebased over 1 change by the user (line 1)\n", "another part of the same line",
		"   2 | 2\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	l.Over, l.SameLine, l.Rebased = 0, false, nil
	if got := tools.Told(env, l); got != "   1 | one\n   2 | 2\n   3 | three\n" {
		t.Errorf("with nobody else there it says\n%s", got)
	}
}

// nothing is files without a history.
type nothing struct{ filetime.Files }

func (nothing) History(string, uint64) ([]filetime.Revision, filetime.Snapshot, bool) {
	return nil, filetime.Snapshot{}, false
}

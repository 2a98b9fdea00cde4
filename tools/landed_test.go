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
		By: filetime.Authors(0).Plus(filetime.User),
	}
	env := &tools.Env{Paths: &sandbox.Paths{Cwd: "/w"}, FileTime: filetime.New(nothing{}, "s", nil)}
	got := tools.Told(env, l, true)
	for _, want := range []string{
		"rebased over 1 change by the user (line 1)\n", "another part of the same line",
		"   2 | 2\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	l.Over, l.SameLine, l.Rebased = 0, false, nil
	if got := tools.Told(env, l, true); got != "   1 | one\n   2 | 2\n   3 | three\n" {
		t.Errorf("with nobody else there it says\n%s", got)
	}
}

// An author is named where all changes are known to be by that one, and nobody else is.
func TestFaultW17AuthorsThatAreKnown(t *testing.T) {
	set := text.Set{{Start: 0, End: 0, New: "o"}}
	env := &tools.Env{Paths: &sandbox.Paths{Cwd: "/w"}, FileTime: filetime.New(nothing{}, "s", nil)}
	var none filetime.Authors
	for by, want := range map[filetime.Authors]string{
		none:                        "over 1 change (line 1)",
		none.Unknown():              "over 1 change (line 1)",
		none.Plus(filetime.User):    "over 1 change by the user (line 1)",
		none.Plus(filetime.Disk):    "over 1 change on disk (line 1)",
		none.Plus(filetime.Command): "over 1 change by a command (line 1)",
		none.Plus(filetime.Agent):   "over 1 change by another agent (line 1)",
		none.Plus(filetime.User).Plus(filetime.Disk): "over 1 change (line 1)",
		none.Plus(filetime.User).Unknown():           "over 1 change (line 1)",
	} {
		for _, source := range []string{"buffer", "disk"} {
			l := filetime.LandedFile{Path: "/w/f.go", After: text.New("one\n"), Rebased: set, Over: 1, By: by, Source: source}
			if got := tools.Told(env, l, true); !strings.Contains(got, want) {
				t.Errorf("%q is not in\n%s", want, got)
			}
		}
	}
}

// nothing is files without a history.
type nothing struct{ filetime.Files }

func (nothing) History(string, uint64) ([]filetime.Revision, filetime.Snapshot, bool) {
	return nil, filetime.Snapshot{}, false
}

// TestFindingC7ToldIsNotRepeated shows the first and the last of many lines that the model has sent, and all of them where they are not as it sent
// them.
func TestFindingC7ToldIsNotRepeated(t *testing.T) {
	before := text.New("one\ntwo\nthree\n")
	env := &tools.Env{Paths: &sandbox.Paths{Cwd: "/w"}, FileTime: filetime.New(nothing{}, "s", nil)}
	told := func(set text.Set, sent bool) string {
		return tools.Told(env, filetime.LandedFile{Path: "/w/f.go", Before: before, After: set.Apply(before), Set: set, Applied: true, Source: "buffer"}, sent)
	}
	five := text.Set{{Start: 4, End: 7, New: "a\nb\nc\nd\ne"}}
	const short, long = "   1 | one\n   2 | a\n     …\n   6 | e\n   7 | three\n", "   1 | one\n   2 | a\n   3 | b\n   4 | c\n   5 | d\n   6 | e\n   7 | three\n"
	for what, c := range map[string]struct {
		set  text.Set
		sent bool
		want string
	}{
		"sent":                 {five, true, short},
		"sent, with its end":   {text.Set{{Start: 4, End: 8, New: "a\nb\nc\nd\ne\n"}}, true, short},
		"not as sent":          {five, false, long},
		"four lines":           {text.Set{{Start: 4, End: 7, New: "a\nb\nc\nd"}}, true, "   1 | one\n   2 | a\n   3 | b\n   4 | c\n   5 | d\n   6 | three\n"},
		"parts of their lines": {text.Set{{Start: 5, End: 12, New: "a\nb\nc\nd\nf"}}, true, "   1 | one\n   2 | ta\n   3 | b\n   4 | c\n   5 | d\n   6 | fe\n"},
		"two places": {
			text.Set{{Start: 0, End: 3, New: "a\nb\nc\nd\ne"}, {Start: 8, End: 13, New: "f\ng\nh\ni\nj"}},
			true,
			"   1 | a\n     …\n   5 | e\n   6 | two\n   7 | f\n     …\n  11 | j\n",
		},
	} {
		if got := told(c.set, c.sent); got != c.want {
			t.Errorf("%s: it says\n%s\ninstead of\n%s", what, got, c.want)
		}
	}
}

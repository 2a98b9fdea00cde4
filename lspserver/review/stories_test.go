package review

import (
	"strings"
	"testing"
)

// What TestReviewProperty once found, each as short as it can be told.
func TestReviewStories(t *testing.T) {
	for _, row := range []struct{ name, old, story string }{
		{"an undo of what was replaced by the same characters", "一 丁丂\n七 ", `
			agent 11 14 "𰀁" turn 1
			reject 1
			editor undo
			agent 0 4 "" turn 1
			type 6 12 " \n"
			editor undo`},
		{"an undo over a hunk that was rejected before", "丂", `
			agent 0 3 "" turn 1
			reject 1
			agent 0 3 "𰀁" turn 1
			editor undo
			editor undo
			editor redo
			editor redo
			reject 1`},
		{"what was typed over is gone and its text is that of before", "丂", `
			agent 0 3 "" turn 1
			type 0 0 " 𠀁"
			agent 1 5 "𰀁" turn 1
			type 0 5 ""`},
		{"an undo of two places, undone and redone by the editor", "丁丂\n丅", `
			agent 3 10 "\n" turn 1
			undo call call1
			agent 0 0 "𰀂" turn 1
			editor undo
			editor undo
			editor redo
			editor redo`},
		{"an undo that was told in two parts, of which the first is an older text", "一\n", `
			agent 0 3 "" turn 1
			agent 1 1 "𰀁" turn 1
			undo file
			editor undo
			editor redo
			editor undo`},
		{"typed into a place and deleted with it is no redo of the deletion", "一 丁丂\n七 丄丅\n丆 万丈\n三 上下\n丌 不与\n", `
			agent 4 10 "" turn 1
			agent 31 34 "" turn 1
			agent 0 3 "" turn 1
			editor undo
			editor undo
			editor undo
			editor redo
			type 0 0 "𠀁𠀂"
			agent 0 11 "" turn 2
			type 28 42 ""
			undo turn 2
			reject 1
			type 4 4 " 𠀃"
			type 0 16 ""
			editor undo
			editor redo
			editor undo
			editor undo
			agent 48 49 "" turn 1
			reject 1`},
		{"two calls that were undone are not redone by deleting what one of them had", "一丂\n", `
			type 3 3 "𠀂𠀃"
			agent 0 3 "𰀂" turn 1
			type 0 4 ""
			agent 4 8 "𰀃" turn 1
			agent 4 12 "" turn 1
			undo file
			agent 0 4 "" turn 1
			agent 0 0 "𰀄" turn 1
			type 4 12 ""`},
		{"an undo leads to one of two places with one text", "丂", `
			agent 0 3 "𰀁" turn 1
			agent 0 4 "" turn 1
			undo file
			agent 0 0 "𰀂" turn 1
			undo file
			editor undo
			editor undo
			editor undo`},
		{"what a later call hides cannot go either, and comes to light", "一 丁丂\n七 丄丅\n", `
			agent 0 3 " 𰀁" turn 1
			agent 0 12 "" turn 1
			undo file
			editor undo
			type 1 1 "\n"
			agent 1 12 " 𰀂\n" turn 1
			agent 2 7 "" turn 1
			type 1 2 ""
			undo file`},
		{"a redo of two calls, of which one hid the other", "\n", `
			agent 0 0 "𰀁" turn 1
			agent 0 4 "𰀂" turn 1
			undo file
			redo all
			undo call call2`},
		{"a redo brings nothing that a call took away which is brought too", "一 丁丂\n", `
			type 4 10 ""
			agent 4 4 "𰀁\n" turn 1
			agent 0 0 "𰀂" turn 1
			editor undo
			agent 0 4 "" turn 1
			agent 0 5 "\n𰀃" turn 1
			type 1 1 "𠀁"
			undo file
			redo all`},
		{"a redo that the editor tells in parts", "一 丁丂\n七 丄丅\n丆 万丈\n三 上下\n丌 不与\n", `
			agent 51 55 "" turn 1
			type 26 32 ""
			agent 0 4 "" turn 1
			agent 33 33 "\n" turn 1
			undo file
			redo all`},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newTruth(t, row.old, t.Fatalf)
			for line := range strings.Lines(strings.TrimSpace(row.story)) {
				w.tell(strings.TrimSpace(line))
			}
		})
	}
}

// TestFindingE11RedoOfAPartlyUndoneCall: a redo brings what another call had taken away by a hunk that is undone, though another hunk of that
// call stays.
func TestFindingE11RedoOfAPartlyUndoneCall(t *testing.T) {
	w := newTruth(t, "一 丁丂\n七 丄丅\n丆 万丈\n三 上下\n丌 不与\n丏 丐丑\n", t.Fatalf)
	for line := range strings.Lines(`agent 10 11 "𰀁" turn 1
		type 0 3 "𠀁"
		accept
		type 0 4 " 𠀂𠀃𠀄"
		agent 0 9 "𰀂\n" turn 1
		agent 20 23 "" turn 1
		accept
		type 0 4 ""
		agent 0 1 "" turn 1
		editor undo
		editor undo
		reject 1
		type 5 16 ""
		agent 0 6 "\n𰀃𰀄" turn 1
		call undoes its last change looked at before told
		redo call call5
		type 0 1 "𠀅𠀆"
		type 61 68 ""
		agent 35 39 "𰀅 " turn 3 looked at before told
		undo file
		redo call call2`) {
		w.tell(strings.TrimSpace(line))
	}
	if !strings.HasPrefix(w.text(), "𰀂\n𠀅𠀆𰀃𰀄") {
		t.Errorf("%q", w.text())
	}
}

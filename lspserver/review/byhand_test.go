package review

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/lspserver/workspace"
)

// TestRevertByHand: a hunk that somebody takes back without an undo, as the gutter of an editor does, is not listed any more and
// the others are, whichever changes it is told with and however alike the lines around it are.
func TestRevertByHand(t *testing.T) {
	told := map[string]func(now, after text.Text) text.Set{
		"hunks": text.Diff,
		"lines": func(now, after text.Text) text.Set { return show.Lines(now, after) },
		"one range of lines": func(now, after text.Text) text.Set {
			set := show.Lines(now, after)
			start, end := set[0].Start, set[len(set)-1].End
			return text.Set{{Start: start, End: end, New: after.Slice(start, end+after.Len()-now.Len())}}
		},
		"one range": func(now, after text.Text) text.Set {
			return text.Trim(now, text.Set{{Start: 0, End: now.Len(), New: after.String()}})
		},
	}
	for name, tell := range told {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { checkRevertByHand(t, rt, tell) })
		})
	}
}

// alike are lines of which many are the same, so that a change can be told at several places.
func alike(rt *rapid.T, least, most int) []string {
	line := rapid.SampledFrom([]string{"}\n", "\n", "a b c\n", "b c d\n", "\tif a {\n", "\t}\n"})
	return rapid.SliceOfN(line, least, most).Draw(rt, "lines")
}

// rewrite has the agent change some of the lines at two places in one call, and returns that as a step.
func (d *desk) rewrite(rt *rapid.T, old []string) (s Step, ok bool) {
	fresh := old
	for range 2 {
		from := rapid.IntRange(0, len(fresh)-1).Draw(rt, "from")
		to := min(len(fresh)-1, from+rapid.IntRange(0, 3).Draw(rt, "count"))
		fresh = append(append(append([]string{}, fresh[:from]...), alike(rt, 0, 3)...), fresh[to:]...)
	}
	now, err := d.w.Read(d.t.Context(), d.path)
	if err != nil {
		rt.Fatal(err)
	}
	set := text.Diff(now.Text, text.New(strings.Join(fresh, "")))
	if len(set) == 0 {
		return s, false
	}
	c := filetime.Change{Session: "s", Call: "c", Turn: 1, Files: []filetime.FileEdit{{Path: d.path, Base: now.Text, Rev: now.Rev, Edits: set}}}
	l, err := d.w.Commit(d.t.Context(), c)
	if err != nil {
		rt.Fatal(err)
	}
	d.log.Landed(c, l)
	return Step{Path: d.path, Call: "c", Turn: 1, Before: now.Text, After: l.Files[0].After}, true
}

func checkRevertByHand(t *testing.T, rt *rapid.T, tell func(now, after text.Text) text.Set) {
	old := append(alike(rt, 3, 12), "end\n")
	d := newDesk(t, strings.Join(old, ""), true)
	_, ok := d.rewrite(rt, old)
	hunks := d.log.Marks(d.path)
	if !ok || len(hunks) < 2 { // to take back the only one is an undo
		return
	}
	d.insert("end", "typed\n")
	n := rapid.IntRange(0, len(hunks)-1).Draw(rt, "hunk")
	v := d.log.view(d.log.tracks[d.path])
	back, _ := v.w.flip(func(e int) bool { return v.t.edits[e-1].id == hunks[n].ID }, false)
	after := back.Apply(d.buffer.text)
	if after.Equal(d.buffer.text) {
		return
	}
	d.change(tell(d.buffer.text, after))
	left := d.log.Marks(d.path)
	if len(left) != len(hunks)-1 {
		rt.Fatalf("%d hunks are left of %d: %+v", len(left), len(hunks), left)
	}
	for _, h := range left {
		if h.ID == hunks[n].ID {
			rt.Fatalf("%s is listed: %q", h.ID, after.String())
		}
	}
	if news, _ := d.log.News(t.Context(), func(p string) string { return p }); !strings.Contains(news, "rejected") {
		rt.Fatalf("the model is told: %q", news)
	}
}

// TestUndoAfterRestart: what an editor takes back and brings again of what landed before the server was started anew is known by
// the texts of that time, which the history does not have.
func TestUndoAfterRestart(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		old := append(alike(rt, 3, 12), "end\n")
		d := newDesk(t, strings.Join(old, ""), true)
		step, ok := d.rewrite(rt, old)
		hunks := d.log.Marks(d.path)
		if !ok || len(hunks) == 0 {
			return
		}
		before, after := d.back[len(d.back)-1], d.buffer.text
		d.buffer.w = workspace.New(workspace.Options{Roots: everything(), Editor: d.buffer, Features: workspace.Features{Apply: true}})
		d.buffer.w.Open(d.path, d.uri, d.ver, after.String())
		d.log = New(d.buffer.w, "s", nil)
		if err := d.log.Restore(t.Context(), []Step{step}); err != nil {
			rt.Fatal(err)
		}
		for range 2 {
			d.change(before)
			if left := d.log.Marks(d.path); len(left) > 0 {
				rt.Fatalf("taken back in the editor and listed: %+v", left)
			}
			d.change(d.back[len(d.back)-1])
			if again := d.log.Marks(d.path); len(again) != len(hunks) {
				rt.Fatalf("%d hunks of %d", len(again), len(hunks))
			}
		}
	})
}

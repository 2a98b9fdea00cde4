package review

import (
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
)

// land makes one tool call that replaces a range, with whatever set the caller has for it.
func (d *desk) land(call string, set text.Set) {
	d.t.Helper()
	s, err := d.w.Read(d.t.Context(), d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	c := filetime.Change{Session: "s", Call: call, Turn: 1, Files: []filetime.FileEdit{{Path: d.path, Base: s.Text, Rev: s.Rev, Edits: set}}}
	l, err := d.w.Commit(d.t.Context(), c)
	if err != nil {
		d.t.Fatal(err)
	}
	d.log.Landed(c, l)
}

func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

func wholeLines(s string, start, end int) bool {
	at := func(i int) bool { return i == 0 || i == len(s) || s[i-1] == '\n' }
	return at(start) && at(end)
}

// TestFindingU2HunksAreLines: whatever a call changed and however its edit was cut, its hunks are whole lines that lead from
// the text before to the text after, no line stands on both sides, and they count as many lines as the diff of the call's
// result and that of the list.
func TestFindingU2HunksAreLines(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		line := rapid.SampledFrom([]string{"\tfoo()\n", "\tbar()\n", "\tfoo(x)\n", "foo()\n", "}\n", "\n", "é\n", "\r\n"})
		lines := func(label string, least, most int) string {
			return strings.Join(rapid.SliceOfN(line, least, most).Draw(r, label), "")
		}
		content := lines("content", 1, 12) + rapid.SampledFrom([]string{"", "end"}).Draw(r, "last")
		d := newDesk(t, content, true)
		calls := rapid.IntRange(1, 3).Draw(r, "calls")
		for n := range calls {
			before := d.now()
			start := rapid.IntRange(0, len(before)).Draw(r, "start")
			end := rapid.IntRange(start, min(len(before), start+20)).Draw(r, "end")
			fresh := lines("new", 0, 2) + rapid.SampledFrom([]string{"", "", "\t", "foo", "o()"}).Draw(r, "rest")
			set := text.Set{{Start: start, End: end, New: fresh}}
			after := set.Apply(text.New(before)).String()
			if set.Validate(text.New(before)) != nil || after == before || after == "" {
				continue
			}
			call := "call" + string(rune('1'+n))
			d.land(call, set)
			if d.now() != after {
				r.Fatalf("the call left %q", d.now())
			}
			was := before
			shown := show.Diff("f.txt", text.New(before), text.New(after), show.Options{})
			adds, dels, back := 0, 0, text.Set{}
			for _, h := range d.log.Marks(d.path) {
				if h.Call != call {
					continue
				}
				if !wholeLines(after, h.Start, h.End) || after[h.Start:h.End] != h.New {
					r.Fatalf("%q stands at %q", h.New, after[h.Start:h.End])
				}
				for l := range strings.Lines(h.New) {
					for k := range strings.Lines(h.Old) {
						if k == l {
							r.Fatalf("%q stands on both sides of %q and %q", l, h.Old, h.New)
						}
					}
				}
				adds, dels = adds+lineCount(h.New), dels+lineCount(h.Old)
				back = append(back, text.Edit{Start: h.Start, End: h.End, New: h.Old})
			}
			if got := back.Apply(text.New(after)).String(); got != was {
				r.Fatalf("the hunks lead back to %q, not %q", got, was)
			}
			if adds != shown.Additions || dels != shown.Deletions {
				r.Fatalf("the hunks say +%d -%d, the result +%d -%d", adds, dels, shown.Additions, shown.Deletions)
			}
			if n > 0 {
				continue
			}
			list := d.log.List(t.Context(), "", filepath.Base)
			if len(list) != 1 || list[0].Diff.Unified != shown.Unified || list[0].Diff.Additions != adds || list[0].Diff.Deletions != dels {
				r.Fatalf("the list shows %+v, the result\n%s", list, shown.Unified)
			}
		}
	})
}

// TestFindingU2DeletionBesideALineThatBeginsAlike: a line that goes is one line, whether the edit was cut at its ends or at
// characters that it has in common with the next one.
func TestFindingU2DeletionBesideALineThatBeginsAlike(t *testing.T) {
	const content = "begin\n\tfoo()\n\tbar()\nend\n"
	for name, set := range map[string]text.Set{
		"at its ends":      {{Start: 6, End: 13}},
		"behind the blank": {{Start: 7, End: 14}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, content, true)
			d.land("call1", set)
			hunks := d.log.Marks(d.path)
			if len(hunks) != 1 || hunks[0].Old != "\tfoo()\n" || hunks[0].New != "" || hunks[0].Start != 6 || hunks[0].End != 6 {
				t.Fatalf("got %+v", hunks)
			}
			// The editor's own undo of what it was told is seen, and so is its redo.
			d.change(set.Inverse(text.New(content)))
			if got := d.log.Marks(d.path); len(got) > 0 || d.now() != content {
				t.Errorf("after the editor's undo: %+v", got)
			}
			d.change(set)
			if got := d.log.Marks(d.path); len(got) != 1 {
				t.Errorf("after the editor's redo: %+v", got)
			}
			d.insert("bar()", "not")
			if j := d.log.Reject(t.Context(), "", nil); len(j.Changed) != 1 || d.now() != "begin\n\tfoo()\n\tnotbar()\nend\n" {
				t.Errorf("rejected %+v, left %q", j, d.now())
			}
		})
	}
}

// TestFindingU2SeveralCalls: hunks of several calls in places of their own add up to the diff of the file.
func TestFindingU2SeveralCalls(t *testing.T) {
	d := newDesk(t, "a\n\tx\n\ty\nb\nc\n\tx\nd\n", true)
	d.agent(1, "\tx\n\ty", "\ty")
	d.agent(1, "c\n\tx\n", "c\n")
	d.agent(2, "d\n", "d\n\tx\n")
	adds, dels := 0, 0
	f := d.log.List(t.Context(), "", filepath.Base)[0]
	for _, h := range f.Hunks {
		adds, dels = adds+lineCount(h.New), dels+lineCount(h.Old)
	}
	if adds != 1 || dels != 2 || len(f.Hunks) != 3 || f.Diff.Additions != adds || f.Diff.Deletions != dels {
		t.Errorf("hunks +%d -%d: %+v\n%s", adds, dels, f.Hunks, f.Diff.Unified)
	}
}

package follow

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/filetime/text"
)

// drawn is a text of lines with words that stand in it once, and a set of edits of words and lines of it.
func drawnText(r *rapid.T) text.Text {
	var b strings.Builder
	for i := range rapid.IntRange(3, 12).Draw(r, "lines") {
		fmt.Fprintf(&b, "line%d one%d two%d\n", i, i, i)
	}
	return text.New(b.String())
}

func drawnEdit(r *rapid.T, base text.Text, name string, lines []int) text.Set {
	var out text.Set
	for _, l := range lines {
		start := base.LineStart(l)
		word := start + strings.Index(base.Slice(start, base.LineEnd(l)), " ") + 1
		new := fmt.Sprintf("%s%d", name, l)
		switch rapid.IntRange(0, 3).Draw(r, "kind") {
		case 0:
			out = append(out, text.Edit{Start: start, End: start, New: new + "\n"})
		case 1:
			out = append(out, text.Edit{Start: word, End: word + 3, New: new})
		case 2:
			out = append(out, text.Edit{Start: start, End: base.LineStart(l + 1), New: ""})
		default:
			out = append(out, text.Edit{Start: word, End: word, New: new + " "})
		}
	}
	return out
}

// TestFollowerFindsTheEdit has a person and the agent change different lines, told in one change or several, in any order, in ranges as
// small as they are or over all of it: the edit is found, and what is left of the changes is the person's.
func TestFollowerFindsTheEdit(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		base := drawnText(r)
		var ours, theirs []int
		for l := range base.LineCount() - 1 {
			switch rapid.IntRange(0, 5).Draw(r, "who") {
			case 0:
				if len(theirs) == 0 || theirs[len(theirs)-1] < l-1 {
					ours = append(ours, l)
				}
			case 1:
				if len(ours) == 0 || ours[len(ours)-1] < l-1 {
					theirs = append(theirs, l)
				}
			}
		}
		if len(ours) == 0 {
			ours = []int{0}
			theirs = nil
		}
		edit, typed := drawnEdit(r, base, "agent", ours), drawnEdit(r, base, "person", theirs)
		trail, changes := NewTrail(base, edit), []Change(nil)
		tell := func(before text.Text, s text.Set, part bool) text.Text {
			after := s.Apply(before)
			if len(s) > 0 && rapid.Bool().Draw(r, "wide") {
				from, to := s[0].Start, s[len(s)-1].End
				grown := after.Len() - before.Len()
				s = text.Set{{Start: from, End: to, New: after.Slice(from, to+grown)}}
			}
			changes = append(changes, Change{Set: s, Before: before, After: after, Part: part})
			return after
		}
		rebased := text.Rebase(base, edit, typed)
		want := rebased.Set.Apply(typed.Apply(base))
		if len(rebased.Conflicts) > 0 {
			return
		}
		switch rapid.IntRange(0, 2).Draw(r, "told") {
		case 0: // one by one, the person's first
			tell(tell(base, typed, rapid.Bool().Draw(r, "part")), rebased.Set, false)
		case 1:
			after := tell(base, edit, rapid.Bool().Draw(r, "part"))
			tell(after, text.Diff(after, want), false)
		default:
			tell(base, text.Compose(typed, rebased.Set), false)
		}
		trail.Follow(changes, func(text.Text) []text.Set { return nil }, false)
		in, f := trail.Shows()
		if in != Complete {
			r.Fatalf("%s: edit %v, typed %v, told %v", inputNames[in], edit, typed, changes)
		}
		before := changes[f.From].Before
		others := text.Diff(f.Start.Apply(before), changes[f.To-1].After)
		for _, e := range others {
			if strings.Contains(e.New, "agent") {
				r.Fatalf("%v is told as the person's: edit %v, typed %v", others, edit, typed)
			}
		}
		if len(typed) == 0 && f.Mixed {
			r.Fatalf("nothing was typed: edit %v, told %v", edit, changes)
		}
	})
}

// TestFollowerFindsNothing has the person alone change the text: no edit is found in it that does something else.
func TestFollowerFindsNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		base := drawnText(r)
		l := rapid.IntRange(0, base.LineCount()-2).Draw(r, "line")
		edit := drawnEdit(r, base, "agent", []int{l})
		trail, changes := NewTrail(base, edit), []Change(nil)
		now := base
		for range rapid.IntRange(1, 5).Draw(r, "changes") {
			k := rapid.IntRange(0, now.LineCount()-2).Draw(r, "at")
			start := now.LineStart(k)
			s := text.Set{{Start: start, End: start, New: rapid.SampledFrom([]string{"x", "\n", "person ", "}\n"}).Draw(r, "key")}}
			changes = append(changes, Change{Set: s, Before: now, After: s.Apply(now)})
			now = s.Apply(now)
		}
		trail.Follow(changes, func(text.Text) []text.Set { return nil }, false)
		if in, _ := trail.Shows(); in == Complete || in == Elsewhere {
			r.Fatalf("%s: edit %v, told %v", inputNames[in], edit, changes)
		}
	})
}

// TestWholeLines compares edits with what they are when widened to whole lines: they lead to the same text, and each begins a line.
func TestWholeLines(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "b", "\n", "\r\n", " "})
		base := text.New(strings.Join(rapid.SliceOfN(piece, 0, 20).Draw(r, "text"), ""))
		var s text.Set
		for at := 0; ; {
			start := at + rapid.IntRange(0, 6).Draw(r, "gap")
			end := start + rapid.IntRange(0, 4).Draw(r, "old")
			if end > base.Len() {
				break
			}
			s = append(s, text.Edit{Start: start, End: end, New: strings.Join(rapid.SliceOfN(piece, 0, 3).Draw(r, "new"), "")})
			at = end + 1
		}
		wide := wholeLines(base, s)
		if err := wide.Validate(base); err != nil || !wide.Apply(base).Equal(s.Apply(base)) {
			r.Fatalf("%q: %v widened to %v: %v", base.String(), s, wide, err)
		}
		for _, e := range wide {
			if base.LineStart(base.Line(e.Start)) != e.Start {
				r.Fatalf("%q: %v begins in a line", base.String(), e)
			}
		}
	})
}

// TestFollowerOfManyHunks follows an edit of more hunks than are looked at for each key: keys before it change nothing, and it is found.
func TestFollowerOfManyHunks(t *testing.T) {
	var b strings.Builder
	for i := range 600 {
		fmt.Fprintf(&b, "line%d one%d\n", i, i)
	}
	base := text.New(b.String())
	var edit text.Set
	for l := 0; l < 600; l += 2 {
		edit = append(edit, text.Edit{Start: base.LineStart(l), End: base.LineStart(l) + 4, New: "LINE"})
	}
	trail, changes := NewTrail(base, edit), []Change(nil)
	now, typed := base, text.Set(nil)
	for i := range 5 {
		at := now.LineStart(301) + i
		s := text.Set{{Start: at, End: at, New: "x"}}
		changes = append(changes, Change{Set: s, Before: now, After: s.Apply(now)})
		now, typed = s.Apply(now), text.Compose(typed, s)
	}
	set := text.Rebase(base, edit, typed).Set
	changes = append(changes, Change{Set: set, Before: now, After: set.Apply(now)})
	trail.Follow(changes, func(text.Text) []text.Set { return []text.Set{edit} }, false)
	if in, f := trail.Shows(); in != Complete || f.Mixed || f.From != 5 || f.To != 6 {
		t.Errorf("%s: %+v", inputNames[in], f)
	}
}

// Wherever a place comes to lie in whatever text, an edit is not looked for beyond the text.
func TestFaultE15LaidOverAnyPlace(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		texts := rapid.StringOfN(rapid.SampledFrom([]rune("ab\n")), 0, 12, -1)
		before, after := text.New(texts.Draw(r, "before")), text.New(texts.Draw(r, "after"))
		new := texts.Draw(r, "new")
		e := Change{Set: text.Diff(before, after), Before: before, After: after}
		at := rapid.IntRange(0, before.Len()).Draw(r, "own")
		pending := text.Rebased{Set: text.Set{{Start: at, End: at, New: new}}}
		place := rapid.IntRange(0, after.Len()).Draw(r, "sent")
		typed := LaidOver(e, pending, func(text.Text) []text.Set { return []text.Set{{{Start: place, End: place, New: new}}} })
		if mid := typed.Apply(before); typed != nil && mid.Len()+len(new) != after.Len() {
			r.Fatalf("typed %v", typed)
		}
	})
}

// TestFaultE14WideChangeIsNotTheEdit: a change that was told of as whole lines, and cut down to other hunks than a diff makes, is not the edit's.
func TestFaultE14WideChangeIsNotTheEdit(t *testing.T) {
	before := text.New("丗丘\n\n갅\tv5 := alpha(beta2, 😀 gamma) // é 5\n갆\tv6 := alpha(beta0, 😀 gamma) // é 6\ninstead of it 𠀁;\n갏\tv1 := alpha(beta0, 😀 gamma) // é 15\n")
	after := text.New("丗丘갅\tv5 := alpha(beta2, 😀 gamma) // é 5\n丙 }业\n}\n갆\tv6 := alpha(beta0, 😀 gamma) // é 6\n丝\n丞丠\n両\n}\n丢\n丣\n\n\ninstead of it 𠀁;\n갏\tv1 := alpha(beta0, 😀 gamma) // é 15\n")
	at := len("丗丘\n\n갅\tv5 := alpha(beta2, 😀 gamma) // é 5\n갆\tv6 := alpha(beta0, 😀 gamma) // é 6\ninstead of it 𠀁;\n갏\t")
	edit := text.Set{{Start: at, End: at + 2, New: "w𠀂"}}
	to := len("丗丘\n\n갅\tv5 := alpha(beta2, 😀 gamma) // é 5\n갆\tv6 := alpha(beta0, 😀 gamma) // é 6")
	change := text.Set{{Start: 0, End: to, New: after.Slice(0, after.Len()-(before.Len()-to))}}
	if !change.Apply(before).Equal(after) {
		t.Fatal("the change does not lead to the text")
	}
	change = text.Minimize(before, change)
	f := follow(before, edit)
	if f.step(0, 1, before, after, change); f.complete() || f.begun() {
		t.Errorf("complete %v, begun %v after %+v", f.complete(), f.begun(), change)
	}
}

// TestFaultE14HalfOfTheEditProvesNothing: what a person has left of an edit, told with it in one change, shows neither that it is in the text
// nor that it is not.
func TestFaultE14HalfOfTheEditProvesNothing(t *testing.T) {
	before := text.New("one\ntwo\n")
	edit := text.Set{{Start: 4, End: 4, New: "new line;\n"}}
	for _, left := range []string{"line;\n", "new line", "new lin;\n", "w line;\n"} {
		trail := NewTrail(before, edit)
		after := text.New("one\n" + left + "two\n")
		trail.Follow([]Change{{Set: text.Diff(before, after), Before: before, After: after}}, func(text.Text) []text.Set { return nil }, false)
		if in, _ := trail.Shows(); in != Met {
			t.Errorf("%q shows %s", left, inputNames[in])
		}
	}
	trail := NewTrail(before, edit)
	after := text.New("one\nli\ntwo, new line\n")
	trail.Follow([]Change{{Set: text.Diff(before, after), Before: before, After: after}}, func(text.Text) []text.Set { return nil }, false)
	if in, _ := trail.Shows(); in != Without {
		t.Errorf("a little of it, and more elsewhere, shows %s", inputNames[in])
	}
}

package filetime

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/filetime/text"
)

// TestForget clears the results of calls that have shown parts of a file, or changed it. What only they have shown is unread then.
func TestForget(t *testing.T) {
	const lines = "one\ntwo\nthree\n"
	type clear struct {
		call  string
		words bool
	}
	edit := func(s *shelf, f *FileTime, call string, set text.Set) {
		before := s.text
		r := s.change(set, Agent, "me")
		s.history[len(s.history)-1].Call = call
		f.By(call).Wrote(LandedFile{Path: "/f", Before: before, After: s.text, Set: r.Set, Rev: r.Rev, Applied: true})
	}
	for name, c := range map[string]struct {
		do      func(*shelf, *FileTime)
		clear   []clear
		part    Code // of an edit
		whole   Code // of an overwrite
		sent    bool // all of it
		unaware bool // of there being such a file
	}{
		"nothing":      {func(s *shelf, f *FileTime) { f.By("a").Read(s.snapshot(), 1, 4) }, nil, "", "", true, false},
		"another call": {func(s *shelf, f *FileTime) { f.By("a").Read(s.snapshot(), 1, 4) }, []clear{{"b", false}}, "", "", true, false},
		"the only one": {func(s *shelf, f *FileTime) { f.By("a").Read(s.snapshot(), 1, 4) }, []clear{{"a", false}}, NotRead, NotRead, false, false},
		"one of two": {func(s *shelf, f *FileTime) {
			f.By("a").Read(s.snapshot(), 1, 4)
			f.By("b").Read(s.snapshot(), 1, 4)
		}, []clear{{"a", false}}, "", "", true, false},
		"one of two parts": {func(s *shelf, f *FileTime) {
			f.By("a").Read(s.snapshot(), 1, 1)
			f.By("b").Read(s.snapshot(), 2, 4)
		}, []clear{{"a", false}}, "", NotRead, false, false},
		"what nothing was shown of": {func(s *shelf, f *FileTime) { f.By("a").Read(s.snapshot(), 1, 0) }, []clear{{"a", false}}, NotRead, NotRead, false, false},
		"a read before an own edit": {func(s *shelf, f *FileTime) {
			f.By("a").Read(s.snapshot(), 1, 4)
			edit(s, f, "b", text.Set{{Start: 4, End: 7, New: "zwei"}})
		}, []clear{{"a", false}}, "", NotRead, false, false},
		"a read and the words of an own edit": {func(s *shelf, f *FileTime) {
			f.By("a").Read(s.snapshot(), 1, 4)
			edit(s, f, "b", text.Set{{Start: 4, End: 7, New: "zwei"}})
		}, []clear{{"a", false}, {"b", true}}, NotRead, NotRead, false, false},
		"a read before an edit that deletes": {func(s *shelf, f *FileTime) {
			f.By("a").Read(s.snapshot(), 1, 4)
			edit(s, f, "b", text.Set{{Start: 4, End: 8}})
		}, []clear{{"a", false}}, NotRead, NotRead, false, false},
		"a file that was made": {func(s *shelf, f *FileTime) {
			f.By("a").Wrote(LandedFile{Path: "/f", After: s.text, Set: text.Set{{New: lines}}, Rev: s.rev, Created: true, Applied: true})
		}, []clear{{"a", false}}, "", "", false, false},
		"a view that was carried on": {func(s *shelf, f *FileTime) {
			f.By("a").Read(s.snapshot(), 1, 4)
			s.change(text.Set{{Start: 0, New: "typed\n"}}, User, "")
			f.By("b").Read(s.snapshot(), 1, 1)
		}, []clear{{"a", false}}, "", NotRead, false, false},
		"what nobody has seen": {func(*shelf, *FileTime) {}, []clear{{"a", false}}, NotRead, NotRead, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(lines)
			f := New(s, "me", nil)
			c.do(s, f)
			f.Forget(func(call string, words bool) bool { return slices.Contains(c.clear, clear{call, words}) })
			_, part := f.Assert(s.snapshot(), false)
			_, whole := f.Assert(s.snapshot(), true)
			if code(part) != c.part || code(whole) != c.whole || f.Sent(s.snapshot(), 1, s.text.LineCount()) != c.sent || f.Knows("/f") == c.unaware {
				t.Errorf("%v, %v, sent %t, known %t", part, whole, f.Sent(s.snapshot(), 1, s.text.LineCount()), f.Knows("/f"))
			}
		})
	}
}

// TestForgetBytes wants a picture to be read again.
func TestForgetBytes(t *testing.T) {
	f := New(newShelf(""), "me", nil)
	f.By("a").ReadBytes("/p", [32]byte{1})
	f.By("b").ReadBytes("/q", [32]byte{2})
	f.Forget(func(call string, _ bool) bool { return call == "a" })
	if err := f.AssertBytes("/p", [32]byte{1}); code(err) != NotRead {
		t.Error(err)
	}
	if err := f.AssertBytes("/q", [32]byte{2}); err != nil {
		t.Error(err)
	}
}

// TestForgetLeavesWhatOthersHaveShown compares a session that has forgotten calls with one in which they never showed anything.
func TestForgetLeavesWhatOthersHaveShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for i := range 30 {
			fmt.Fprintf(&b, "line %d\n", i)
		}
		s := newShelf(b.String())
		f, g := New(s, "me", nil), New(s, "me", nil)
		gone := map[string]bool{}
		for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
			call := fmt.Sprint("c", i)
			line := rapid.IntRange(0, s.text.LineCount()-1).Draw(t, "line")
			if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
				at := s.text.LineStart(line)
				s.change(text.Set{{Start: at, End: at, New: fmt.Sprintf("typed %d\n", i)}}, User, "")
				continue
			}
			last := min(s.text.LineCount(), line+rapid.IntRange(1, 20).Draw(t, "lines"))
			f.By(call).Read(s.snapshot(), line+1, last)
			if gone[call] = rapid.Bool().Draw(t, "gone"); !gone[call] {
				g.By(call).Read(s.snapshot(), line+1, last)
			}
		}
		f.Forget(func(call string, _ bool) bool { return gone[call] })
		for _, whole := range []bool{false, true} {
			_, err := f.Assert(s.snapshot(), whole)
			_, want := g.Assert(s.snapshot(), whole)
			if code(err) != code(want) {
				t.Fatalf("whole %t: %v, not %v", whole, err, want)
			}
		}
		for first := 1; first <= s.text.LineCount(); first += 3 {
			if f.Sent(s.snapshot(), first, first) && !g.Sent(s.snapshot(), first, first) {
				t.Fatalf("line %d counts as sent", first)
			}
		}
	})
}

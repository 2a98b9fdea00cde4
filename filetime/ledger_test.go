package filetime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/filetime/text"
)

// shelf is one file in memory with its whole history.
type shelf struct {
	text    text.Text
	rev     uint64
	history []Revision
	gone    bool
	short   int // how many revisions History still knows; 0 for all
}

func newShelf(s string) *shelf { return &shelf{text: text.New(s), rev: 10} }

func (s *shelf) change(set text.Set, a Author, session string) Revision {
	s.text = set.Apply(s.text)
	s.rev++
	r := Revision{Rev: s.rev, Set: set, Author: a, Session: session}
	s.history = append(s.history, r)
	return r
}

func (s *shelf) snapshot() Snapshot {
	return Snapshot{Path: "/f", Text: s.text, Rev: s.rev, Exists: !s.gone}
}

func (s *shelf) Read(context.Context, string) (Snapshot, error) { return s.snapshot(), nil }

func (s *shelf) History(_ string, rev uint64) ([]Revision, Snapshot, bool) {
	known := s.history
	if s.short > 0 && len(known) > s.short {
		known = known[len(known)-s.short:]
		if rev < known[0].Rev-1 {
			return nil, s.snapshot(), false
		}
	}
	for i, r := range known {
		if r.Rev > rev {
			return known[i:], s.snapshot(), true
		}
	}
	return nil, s.snapshot(), true
}

func (s *shelf) Commit(context.Context, Change) (Landed, error) {
	return Landed{}, errors.New("not here")
}
func (s *shelf) Lock(context.Context, ...string) (func(), error) { return func() {}, nil }

func code(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestF186Assert(t *testing.T) {
	lines := "one\ntwo\nthree\nfour\n"
	tests := []struct {
		name  string
		do    func(s *shelf, f *FileTime)
		whole bool
		want  Code
	}{
		{"never read", func(*shelf, *FileTime) {}, false, NotRead},
		{"read in part is enough to edit", func(s *shelf, f *FileTime) { f.Read(s.snapshot(), 2, 2) }, false, ""},
		{"read in part is not enough to overwrite", func(s *shelf, f *FileTime) { f.Read(s.snapshot(), 2, 3) }, true, NotRead},
		{"two parts make a whole", func(s *shelf, f *FileTime) { f.Read(s.snapshot(), 1, 2); f.Read(s.snapshot(), 3, 5) }, true, ""},
		{"parts of two versions make a whole", func(s *shelf, f *FileTime) {
			f.Read(s.snapshot(), 1, 2)
			s.change(text.Set{{Start: 14, End: 18, New: "FOUR"}}, User, "")
			f.Read(s.snapshot(), 3, 5)
		}, true, ""},
		{"text typed into a part that was read before is not seen", func(s *shelf, f *FileTime) {
			f.Read(s.snapshot(), 1, 2)
			s.change(text.Set{{Start: 4, End: 4, New: "typed\n"}}, User, "")
			f.Read(s.snapshot(), 4, 6)
		}, true, NotRead},
		{"own writes count as seen", func(s *shelf, f *FileTime) {
			f.Read(s.snapshot(), 1, 5)
			before := s.text
			r := s.change(text.Set{{Start: 4, End: 4, New: "mine\n"}}, Agent, "me")
			f.Wrote(LandedFile{Path: "/f", Before: before, After: s.text, Set: r.Set, Rev: r.Rev, Applied: true})
		}, true, ""},
		{"a file that was made was seen whole", func(s *shelf, f *FileTime) {
			f.Wrote(LandedFile{Path: "/f", After: s.text, Set: text.Set{{New: lines}}, Rev: s.rev, Created: true, Applied: true})
		}, true, ""},
		{"what another session wrote was not seen", func(s *shelf, f *FileTime) {
			s.change(text.Set{{Start: 0, End: 0, New: "x"}}, Agent, "other")
		}, false, NotRead},
		{"nothing of it was shown", func(s *shelf, f *FileTime) { f.Read(s.snapshot(), 1, 0) }, true, NotRead},
		{"gone", func(s *shelf, f *FileTime) { f.Read(s.snapshot(), 1, 5); s.gone = true }, false, ReadError},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShelf(lines)
			f := New(s, "me", nil)
			tt.do(s, f)
			if _, err := f.Assert(s.snapshot(), tt.whole); code(err) != tt.want {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestF185EmptyFile(t *testing.T) {
	s := newShelf("")
	f := New(s, "me", nil)
	f.Read(s.snapshot(), 1, 1)
	if views, err := f.Assert(s.snapshot(), true); err != nil || len(views) != 1 {
		t.Errorf("views %v, %v", views, err)
	}
}

// TestViewsFollow has the agent and others change a file at random. Whatever they do, every view leads to the present
// text, and the newest one holds what the model believes: what it read with its own edits, and nothing that it was not
// shown.
func TestViewsFollow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for i := range rapid.IntRange(1, 30).Draw(t, "lines") {
			fmt.Fprintf(&b, "line %d\n", i)
		}
		s := newShelf(b.String())
		s.short = rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "short")
		f := New(s, "me", nil)
		f.Read(s.snapshot(), 1, s.text.LineCount())
		typed := 0
		for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
			line := rapid.IntRange(0, s.text.LineCount()-1).Draw(t, "line")
			at := s.text.LineStart(line)
			switch rapid.IntRange(0, 3).Draw(t, "who") {
			case 0: // the agent, through its newest view
				views, err := f.Assert(s.snapshot(), false)
				if err != nil {
					t.Fatal(err)
				}
				v := views[0]
				from := v.Text.LineStart(min(line, v.Text.LineCount()-1))
				mine := text.Rebase(v.Text, text.Set{{Start: from, End: from, New: fmt.Sprintf("agent %d\n", i)}}, v.Since)
				if len(mine.Conflicts) > 0 {
					continue
				}
				before := s.text
				r := s.change(mine.Set, Agent, "me")
				f.Wrote(LandedFile{Path: "/f", Before: before, After: s.text, Set: r.Set, Rev: r.Rev, Applied: true})
			case 1:
				s.change(text.Set{{Start: at, End: at, New: fmt.Sprintf("typed %d\n", i)}}, User, "")
				typed++
			case 2:
				s.change(text.Set{{Start: at, End: s.text.LineStart(line + 1)}}, User, "")
			case 3:
				s.change(text.Set{{Start: at, End: at, New: "~"}}, Agent, "other")
			}
		}
		views, err := f.Assert(s.snapshot(), false)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range views {
			if got := v.Since.Apply(v.Text); !got.Equal(s.text) {
				t.Fatalf("view %d leads to %q, the file says %q", i, got, s.text)
			}
		}
		if s.short == 0 && len(views) == 1 && (strings.Contains(views[0].Text.String(), "typed") || strings.Contains(views[0].Text.String(), "~")) {
			t.Fatalf("the view holds what the model was not shown: %q", views[0].Text)
		}
	})
}

// A text that was seen, changed and changed back is the newest again once it is seen again.
func TestF183SeenAgain(t *testing.T) {
	s := newShelf("a b\n")
	f := New(s, "s", nil)
	f.Read(s.snapshot(), 1, 2)
	s.change(text.Set{{Start: 1, End: 1, New: "x"}}, User, "")
	f.Read(s.snapshot(), 1, 2)
	s.change(text.Set{{Start: 1, End: 2}}, User, "")
	f.Read(s.snapshot(), 1, 2)
	views, err := f.Assert(s.snapshot(), true)
	if err != nil || len(views) != 2 || views[0].Text.String() != "a b\n" || views[1].Text.String() != "ax b\n" {
		t.Errorf("%v %+v", err, views)
	}
}

// Sent knows the lines that were sent at the present revision, and no others.
func TestF150Sent(t *testing.T) {
	s := newShelf("1\n2\n3\n4\n5\n")
	f := New(s, "me", nil)
	sent := func(first, last int, want bool) {
		t.Helper()
		if got := f.Sent(s.snapshot(), first, last); got != want {
			t.Errorf("lines %d-%d: %v", first, last, got)
		}
	}
	sent(1, 1, false)
	f.Read(s.snapshot(), 1, 2)
	f.Read(s.snapshot(), 4, 4)
	sent(1, 2, true)
	sent(2, 2, true)
	sent(1, 3, false)
	sent(4, 4, true)
	f.Read(s.snapshot(), 3, 3)
	sent(1, 4, true)
	sent(1, 5, false)
	s.change(text.Set{{Start: 0, End: 1, New: "x"}}, User, "")
	sent(2, 2, false)
	f.Read(s.snapshot(), 2, 2)
	sent(2, 2, true)
	sent(1, 1, false)
}

// Since is what others have done since the last that was sent, and by whom; own edits are none of it.
func TestR7Since(t *testing.T) {
	s := newShelf("1\n2\n3\n")
	f := New(s, "me", nil)
	if since, _ := f.Since(s.snapshot()); len(since) > 0 {
		t.Errorf("%v", since)
	}
	f.Read(s.snapshot(), 1, 4)
	s.change(text.Set{{Start: 0, End: 1, New: "own"}}, Agent, "me")
	if since, _ := f.Since(s.snapshot()); len(since) > 0 {
		t.Errorf("%v", since)
	}
	s.change(text.Set{{Start: 4, End: 5, New: "theirs"}}, Disk, "")
	since, by := f.Since(s.snapshot())
	if len(since) != 1 || since[0].New != "theirs" || by != Disk {
		t.Errorf("%v by %d", since, by)
	}
	f.Read(s.snapshot(), 1, 4)
	if since, _ := f.Since(s.snapshot()); len(since) > 0 {
		t.Errorf("%v", since)
	}
}

// TestFaultE11ViewOfAnEditAmongTypedLines lands an edit within what was typed as one piece: the view still holds what the
// model believes.
func TestFaultE11ViewOfAnEditAmongTypedLines(t *testing.T) {
	s := newShelf("}\n\nz\n")
	f := New(s, "me", nil)
	f.Read(s.snapshot(), 1, s.text.LineCount())
	s.change(text.Set{{Start: 1, End: 1, New: "\n\nmine"}}, User, "")
	v, err := f.Assert(s.snapshot(), false)
	if err != nil {
		t.Fatal(err)
	}
	edit := text.Rebase(v[0].Text, text.Set{{Start: 2, End: 2, New: "else\n"}}, v[0].Since)
	before := s.text
	r := s.change(edit.Set, Agent, "me")
	f.Wrote(LandedFile{Path: "/f", Before: before, After: s.text, Set: r.Set, Rev: r.Rev, Applied: true})
	if v, err = f.Assert(s.snapshot(), false); err != nil {
		t.Fatal(err)
	}
	if got, now := v[0].Text.String(), s.text.String(); got != "}\nelse\n\nz\n" || now != "}\nelse\n\nmine\n\nz\n" {
		t.Errorf("the model believes %q of %q", got, now)
	}
}

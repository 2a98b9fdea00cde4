package workspace

import (
	"context"
	"errors"
	"os"
	"testing"

	"tandem/filetime"
	"tandem/filetime/text"
)

// teller is a buffer that gives its whole text when it is asked.
type teller struct {
	*buffer
	asked int
	// meanwhile is done between the giving and the coming of a text.
	meanwhile func(asked int)
}

func (e *teller) Resync(context.Context, string) (string, int32, error) {
	e.mu.Lock()
	now, version := e.text, e.ver
	e.mu.Unlock()
	e.asked++
	if e.meanwhile != nil {
		e.meanwhile(e.asked)
	}
	return now, version, nil
}

// telling opens a document in an editor that answers tandem/documents/resync.
func telling(t *testing.T, content string) (*Workspace, *teller, string) {
	t.Helper()
	w, b, path := opened(t, content)
	e := &teller{buffer: b}
	w.o.Editor, w.o.Features.Resync = e, true
	return w, e, path
}

// slip makes the server fall out of step: the editor has other text than it told of, and then tells of a place that is
// not in the server's text.
func (b *buffer) slip(t *testing.T, now string, at text.Position) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text, b.ver = now, b.ver+1
	b.w.Change(b.uri, b.ver, []ContentChange{{Range: &Range{Start: at, End: at}, Text: "?"}})
}

func TestClampedPositionIsResynced(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   text.Position
	}{
		{"past the end of the text", text.Position{Line: 99}},
		{"past the end of a line", text.Position{Line: 1, Character: 99}},
		{"inside a character", text.Position{Line: 0, Character: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, e, path := telling(t, "😀\none\n")
			const really = "😀\none\ntwo\n"
			e.slip(t, really, tt.at)
			if _, suspect := w.Documents(); suspect != 1 {
				t.Error("nobody would know of it")
			}
			s, err := w.Read(t.Context(), path)
			if err != nil || s.Text.String() != really || e.asked != 1 {
				t.Fatalf("read %q, %v, asked %d times", s.Text.String(), err, e.asked)
			}
			if _, err = w.Read(t.Context(), path); err != nil || e.asked != 1 {
				t.Errorf("asked again: %d, %v", e.asked, err)
			}
			if _, err := w.Commit(t.Context(), replaceIn(s, "two", "2")); err != nil || e.text != "😀\none\n2\n" {
				t.Errorf("the editor has %q, %v", e.text, err)
			}
		})
	}
}

// TestCommitWaitsForResync has a document fall out of step after the edit was worked out. The edit lands all the same.
func TestCommitWaitsForResync(t *testing.T) {
	w, e, path := telling(t, doc)
	s, err := w.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	e.slip(t, "zero\n"+doc, text.Position{Line: 99})
	if _, err := w.Commit(t.Context(), replaceIn(s, "four", "FOUR")); err != nil {
		t.Fatal(err)
	}
	if want := "zero\none two\nthree FOUR\nfive six\n"; e.text != want {
		t.Errorf("the editor has %q", e.text)
	}
}

// TestResyncIsRepeated has the person type between the giving of the text and its coming.
func TestResyncIsRepeated(t *testing.T) {
	w, e, path := telling(t, doc)
	e.meanwhile = func(asked int) {
		if asked < 3 {
			e.typeAt(0, "x")
		}
	}
	e.slip(t, "zero\n"+doc, text.Position{Line: 99})
	s, err := w.Read(t.Context(), path)
	if err != nil || s.Text.String() != "xxzero\n"+doc || e.asked != 3 {
		t.Errorf("read %q, %v after %d answers", s.Text.String(), err, e.asked)
	}
}

// TestDoubtWithoutResync has an editor that cannot be asked. A place past the end of a line is taken as everybody takes
// it; one inside a character stops all edits until the editor gives the text or saves it.
func TestDoubtWithoutResync(t *testing.T) {
	change := func(w *Workspace, s filetime.Snapshot) string {
		_, err := w.Commit(t.Context(), replaceIn(s, "one", "1"))
		var refused *filetime.Error
		switch {
		case err == nil:
			return ""
		case errors.As(err, &refused):
			return refused.Reason
		}
		return err.Error()
	}
	w, b, path := opened(t, "😀\none\n")
	b.mu.Lock()
	b.text, b.ver = "😀\none?\n", 2
	past := text.Position{Line: 1, Character: 9}
	w.Change(b.uri, 2, []ContentChange{{Range: &Range{Start: past, End: past}, Text: "?"}})
	b.mu.Unlock()
	s, _ := w.Read(t.Context(), path)
	if got := change(w, s); got != "" || b.text != "😀\n1?\n" {
		t.Errorf("past the end of a line: %s, the editor has %q", got, b.text)
	}

	w, b, path = opened(t, "😀\none\n")
	b.slip(t, "😀?\none\n", text.Position{Character: 1})
	s, _ = w.Read(t.Context(), path)
	if got := change(w, s); got != uncertainReason {
		t.Errorf("inside a character: %q", got)
	}
	if err := os.WriteFile(path, []byte("other\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.Saved(b.uri, nil)
	if got := change(w, s); got != uncertainReason {
		t.Errorf("saved, and the disk says something else: %q", got)
	}
	w.Saved(b.uri, &b.text)
	s, _ = w.Read(t.Context(), path)
	if got := change(w, s); got != "" || b.text != "😀?\n1\n" {
		t.Errorf("saved with its text: %q, the editor has %q", got, b.text)
	}
}

// Only what a person typed counts as typed: not the echo of an edit of ours, not what an editor reads again of a file that a
// program writes to, be it a part of what stands there by now.
func TestFindingL1Typed(t *testing.T) {
	w, b, path := opened(t, "one\ntwo\n")
	typed := func(what string, want bool) {
		t.Helper()
		if got := w.Typed(b.uri); got != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	b.typeAt(0, "x")
	typed("a key", true)
	b.typeAt(len(b.text), "y")
	typed("a key at the end", true)
	s, err := w.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context(), replaceIn(s, "two", "2")); err != nil {
		t.Fatal(err)
	}
	typed("our edit", false)

	w, b, path = opened(t, "one\ntwo\n")
	b.mu.Lock()
	b.change([]text.Edit{{Start: 4, End: 8}})
	b.mu.Unlock()
	typed("the last line is deleted", true)
	for _, more := range []string{"", "four\n"} {
		if err := os.WriteFile(path, []byte(b.text+"three\n"+more), 0o644); err != nil {
			t.Fatal(err)
		}
		b.typeAt(len(b.text), "three\n")
		typed("the editor reads the file again, which ends with "+more, false)
	}
}

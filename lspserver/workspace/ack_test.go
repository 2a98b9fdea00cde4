package workspace

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/delivery"
)

// named is an editor that promises to name the version of an edit: by says what it names.
func named(t *testing.T, content string, by func(made int32) int32) (*Workspace, *buffer, string) {
	t.Helper()
	w, b, path := opened(t, content)
	w.o.Features.Landed, b.names = true, by
	return w, b, path
}

func right(made int32) int32 { return made }

func insert(t *testing.T, w *Workspace, path string, at int, s string) (filetime.LandedFile, error) {
	t.Helper()
	snap, err := w.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.Commit(t.Context(), filetime.Change{Session: "s", Call: "c", Files: []filetime.FileEdit{{
		Path: path, Base: snap.Text, Rev: snap.Rev, Edits: text.Set{{Start: at, End: at, New: s}},
	}}})
	if err != nil {
		return filetime.LandedFile{}, err
	}
	return l.Files[0], nil
}

// An edit is the version that the client names, whatever is typed around it: also where the person types the very same text, by which
// a search in what the client tells could not tell one from the other.
func TestAckDecides(t *testing.T) {
	const content = "one\ntwo\nthree\n"
	for _, c := range []struct {
		name          string
		before, after string // typed at the end of the text: before the edit is made, and before its answer
		first         bool   // the answer comes before the echo
		tries         int
	}{
		{name: "alone"},
		{name: "typed before", before: "x", tries: 2},
		{name: "typed after", after: "x"},
		{name: "the same typed after", after: "new\n"},
		{name: "answer first", first: true},
		{name: "answer first, typed after", first: true, after: "new\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, b, path := named(t, content, right)
			b.before = func(try int) {
				if try == 1 && c.before != "" {
					b.typeAt(len(content), c.before)
				}
			}
			b.after = func() {
				if c.after != "" {
					b.typeAt(len(b.text), c.after)
				}
			}
			if c.first {
				b.late = 20 * time.Millisecond
			}
			l, err := insert(t, w, path, 4, "new\n")
			if err != nil {
				t.Fatal(err)
			}
			if got := l.Set.Apply(l.Before).String(); got != "one\nnew\ntwo\nthree\n"+c.before {
				t.Errorf("landed as %q", got)
			}
			if kept, broken := w.traffic.Named(); kept != 1 || broken != 0 {
				t.Errorf("%d acknowledged, %d wrong", kept, broken)
			}
			if l.Attempts != max(1, c.tries) {
				t.Errorf("%d tries", l.Attempts)
			}
		})
	}
}

// A version with more in it than the edit is two revisions: the agent's, and the person's.
func TestAckParts(t *testing.T) {
	w, b, path := named(t, "one\ntwo\nthree\n", right)
	b.join = "zero\n" // put in by the editor with the edit
	snap, err := w.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := insert(t, w, path, 8, "new\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Set.Apply(l.Before).String(); got != "one\ntwo\nnew\nthree\n" {
		t.Errorf("landed as %q", got)
	}
	revs, now, ok := w.History(path, snap.Rev)
	if !ok || len(revs) != 2 || revs[0].Author != filetime.Agent || revs[1].Author != filetime.User || revs[0].Rev >= revs[1].Rev {
		t.Errorf("%+v", revs)
	}
	if now.Text.String() != "zero\none\ntwo\nnew\nthree\n" || b.text != now.Text.String() {
		t.Errorf("%q, the editor has %q", now.Text, b.text)
	}
}

// A client that names wrong versions is not believed: the edit is searched for, and after three its word counts no more.
func TestAckBroken(t *testing.T) {
	w, b, path := named(t, "one\ntwo\nthree\n", right)
	b.names = func(made int32) int32 { return made + 1 } // the version of the key that comes behind
	b.after = func() { b.typeAt(len(b.text), "x") }
	for i := range 5 {
		l, err := insert(t, w, path, 4, fmt.Sprintf("new %d\n", i))
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Set.Apply(l.Before).String(); !strings.HasPrefix(got, fmt.Sprintf("one\nnew %d\n", i)) {
			t.Errorf("landed as %q", got)
		}
	}
	if kept, broken := w.traffic.Named(); kept != 0 || broken != delivery.MaxBroken || w.client().Promised() {
		t.Errorf("%d acknowledged, %d wrong", kept, broken)
	}
}

// An edit that is acknowledged and does not come is not sent again: it could be in the text twice.
func TestAckNeverSentTwice(t *testing.T) {
	w, b, path := named(t, "one\ntwo\n", right)
	b.drop = true
	_, err := insert(t, w, path, 4, "new\n")
	var e *filetime.Error
	if !errors.As(err, &e) || e.Code != filetime.Unknown || e.Reason != filetime.Held {
		t.Errorf("%v", err)
	}
	if b.tries != 1 {
		t.Errorf("sent %d times", b.tries)
	}
}

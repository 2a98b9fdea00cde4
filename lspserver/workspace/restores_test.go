package workspace

import (
	"path/filepath"
	"testing"

	"tandem/filetime/text"
)

// TestRestoresOfDocuments: an undo in an editor and a program that writes an older text are told alike, and neither typing nor a
// reload to a new text restores anything.
func TestRestoresOfDocuments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.txt")
	w := New(Options{Roots: everything(), Features: Features{Apply: true}})
	w.Open(path, URI(path), 1, "one\n")
	snap, err := w.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	at := func(line, character int) text.Position { return text.Position{Line: line, Character: character} }
	for i, c := range []ContentChange{
		{Range: &Range{Start: at(0, 3), End: at(0, 3)}, Text: "!"},
		{Range: &Range{Start: at(1, 0), End: at(1, 0)}, Text: "two\n"},
		{Range: &Range{Start: at(1, 0), End: at(2, 0)}},
		{Text: "one\n"},
		{Text: "one!\ntwo\n"},
		{Text: "another\n"},
	} {
		w.Change(URI(path), int32(i+2), []ContentChange{c})
	}
	revs, now, ok := w.History(path, snap.Rev)
	if !ok || len(revs) != 6 || now.Text.String() != "another\n" {
		t.Fatalf("%v %+v", revs, now)
	}
	for i, want := range []uint64{0, 0, revs[0].Rev, snap.Rev, revs[1].Rev, 0} {
		if got := revs[i].Restores; got != want {
			t.Errorf("change %d restores %d, want %d", i, got, want)
		}
	}
}

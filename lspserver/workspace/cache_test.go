package workspace

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/stored"
	"tandem/sandbox"
)

// told is a Watcher that a test plays: what is watched, and how many events there were.
type told struct {
	watched map[string]bool
	changes uint64
	off     bool
}

func (w *told) Add(path string)   { w.watched[path] = true }
func (w *told) Watch(path string) { w.watched[path] = true }
func (w *told) Covers(path string) (live bool, changes uint64) {
	live = w.watched[path] && !w.off
	return live, w.changes
}

// cached is a folder with files in it, and a workspace that is told of changes by a test.
func cached(t *testing.T) (*Workspace, *told, string) {
	t.Helper()
	dir, roots := t.TempDir(), &sandbox.Roots{}
	roots.Add(dir)
	watch := &told{watched: map[string]bool{}}
	w := New(Options{Roots: roots, Watcher: watch})
	t.Cleanup(w.Settle)
	return w, watch, filepath.Join(dir, "f")
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// reads wants a text and whether it was in memory.
func reads(t *testing.T, w *Workspace, path, want string, hit bool) filetime.Snapshot {
	t.Helper()
	s, err := w.Read(t.Context(), path)
	if err != nil || s.Text.String() != want || s.Cached != hit {
		t.Errorf("%q, cached %v, %v; want %q, %v", s.Text, s.Cached, err, want, hit)
	}
	return s
}

// A file that has just been written is read once, as long as the system tells of changes and has told of none.
func TestF150F190ReadOnce(t *testing.T) {
	w, watch, path := cached(t)
	put(t, path, "one")
	reads(t, w, path, "one", false)
	reads(t, w, path, "one", true)
	if hits, misses := w.Cache(); hits != 1 || misses != 1 {
		t.Errorf("%d hits, %d misses", hits, misses)
	}
	watch.changes++ // something has happened to it
	reads(t, w, path, "one", false)
	reads(t, w, path, "one", true)
	w.Changed(path, false) // for which it is read
	reads(t, w, path, "one", true)
	put(t, path, "longer")
	reads(t, w, path, "longer", false)
	reads(t, w, path, "longer", true)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if s, err := w.Read(t.Context(), path); err != nil || s.Exists || s.Cached {
		t.Errorf("%+v, %v", s, err)
	}
}

// A change that no stat shows is found once it is told of: the same size, inode and times.
func TestF150ToldOfWhatNoStatShows(t *testing.T) {
	w, _, path := cached(t)
	then := time.Now().Add(-time.Second).Truncate(time.Second)
	put(t, path, "one")
	reads(t, w, path, "one", false)
	f := w.file(path)
	put(t, path, "two")
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
	info, err := w.stored().Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f.disk.Stat = stored.Of(info, time.Now()) // as if both had been written within one tick of the clock
	w.Changed(path, false)
	reads(t, w, path, "two", true)
}

// Where the system tells of nothing, a stat proves that nothing has changed only once it is old enough.
func TestF150UnwatchedIsReadAgain(t *testing.T) {
	w, watch, path := cached(t)
	watch.off = true
	put(t, path, "one")
	reads(t, w, path, "one", false)
	reads(t, w, path, "one", false)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil { // its ctime stays young
		t.Fatal(err)
	}
	reads(t, w, path, "one", false)
	reads(t, w, path, "one", false)
}

// What was landed is in memory at once, also while the system has yet to tell of it; what others do to it after that is found.
func TestF137F191OwnWrites(t *testing.T) {
	w, watch, path := cached(t)
	land := func(c filetime.Change) {
		t.Helper()
		if _, err := w.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	land(filetime.Change{Files: []filetime.FileEdit{{Path: path, Create: true, Edits: text.Set{{New: "made"}}}}})
	watch.changes++ // the system has noticed, and is to tell of it
	s := reads(t, w, path, "made", true)
	land(filetime.Change{Files: []filetime.FileEdit{{Path: path, Base: s.Text, Rev: s.Rev, Edits: text.Set{{Start: 0, End: 4, New: "new!"}}}}})
	reads(t, w, path, "new!", true)
	put(t, path, "foreign")
	reads(t, w, path, "foreign", false)
	watch.changes++
	w.Changed(path, false)
	reads(t, w, path, "foreign", true)
}

// An open document is in memory.
func TestF150Buffer(t *testing.T) {
	w, _, path := cached(t)
	put(t, path, "disk")
	w.Open(path, URI(path), 1, "buffer")
	reads(t, w, path, "buffer", true)
	w.Close(URI(path))
	reads(t, w, path, "disk", true)
}

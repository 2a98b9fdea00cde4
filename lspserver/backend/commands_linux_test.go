package backend_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"tandem/filetime"
	"tandem/lspserver/backend"
	"tandem/sandbox"
	"tandem/sandbox/search/index"
	"tandem/sandbox/tree"
	"tandem/tools"
	"tandem/tools/run"
)

// commander is a backend with one folder and a session in it. The function begins a command of the session, and gives what is called when
// it has ended.
func commander(t *testing.T) (b *backend.Backend, paths *sandbox.Paths, command func(call string) func() tools.Effects) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b = start(t, &face{}, t.TempDir(), "say hello\n", dir)
	t.Cleanup(b.End)
	se, err := b.New(backend.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	paths = &sandbox.Paths{Cwd: dir, Read: []string{dir}, Write: []string{dir}}
	t.Cleanup(paths.Close)
	return b, paths, func(call string) func() tools.Effects {
		began := b.BeforeCommand(t.Context(), se, run.Command{Change: filetime.Change{Session: se.ID(), Call: call, Tool: "bash"}, Paths: paths})
		return func() tools.Effects { return began.Ended(t.Context()) }
	}
}

// TestFaultT5DeletedBesideAnotherCommand: a file that is deleted while two commands run has no time that tells which of them it was, so it is
// the change of neither, and both say why. One that is deleted while one runs is that one's.
func TestFaultT5DeletedBesideAnotherCommand(t *testing.T) {
	_, paths, command := commander(t)
	alone, both := filepath.Join(paths.Cwd, "alone"), filepath.Join(paths.Cwd, "both")
	put(t, alone, "text\n")
	put(t, both, "text\n")
	remove := func(path string) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	ended := command("c1")
	remove(alone)
	if e := ended(); len(e.Landed.Files) != 1 || !e.Landed.Files[0].Deleted || len(e.Left) > 0 {
		t.Errorf("alone: %+v", e)
	}
	first, second := command("c2"), command("c3")
	remove(both)
	want := []tools.Left{{Path: both, How: "deleted", Why: "another command ran at the same time, and may have done it"}}
	for _, e := range []tools.Effects{first(), second()} {
		if len(e.Landed.Files) > 0 || !slices.Equal(e.Left, want) {
			t.Errorf("beside each other: %+v", e)
		}
	}
}

// TestFaultT5OverlappingCommands: the changes of commands of which one ends before the other begins are each one's own, and of those that
// overlap only what changed while one of them ran alone.
func TestFaultT5OverlappingCommands(t *testing.T) {
	_, paths, command := commander(t)
	at := func(name string) string { return filepath.Join(paths.Cwd, name) }
	first := command("c1")
	second := command("c2")
	put(t, at("a"), "by one of them\n")
	if e := second(); len(e.Landed.Files) > 0 || len(e.Left) != 1 || e.Left[0].Path != at("a") {
		t.Errorf("the second: %+v", e)
	}
	if e := first(); len(e.Landed.Files) > 0 || len(e.Left) != 1 || e.Left[0].Path != at("a") {
		t.Errorf("the first, which ends later: %+v", e)
	}
	third := command("c3")
	put(t, at("b"), "by the third\n")
	if e := third(); len(e.Landed.Files) != 1 || len(e.Left) > 0 {
		t.Errorf("the third, which runs alone: %+v", e)
	}
}

// TestFaultT15SearchAfterACommand: a search after a command finds what that has written without an event.
func TestFaultT15SearchAfterACommand(t *testing.T) {
	b, paths, command := commander(t)
	indexes := b.Indexes()
	path := filepath.Join(paths.Cwd, "f")
	put(t, path, "one\n")
	place, err := paths.Readable(".")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := tree.Open(place)
	if err != nil {
		t.Fatal(err)
	}
	search := func(word string) (found []string) {
		err := index.Scan(t.Context(), tr, index.Options{Wants: func(string) bool { return true }, Need: [][]string{{word}}, Indexes: indexes},
			func() func(index.File) (bool, bool) {
				return func(f index.File) (bool, bool) { return bytes.Contains(f.Head, []byte(word)), true }
			},
			func(path string, has bool) bool {
				if has {
					found = append(found, path)
				}
				return true
			})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, err := unix.Mmap(int(f.Fd()), 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	search("one")
	b.Drain() // until the index is there
	ended := command("c1")
	copy(mem, "two\n")
	if err := unix.Msync(mem, unix.MS_SYNC); err != nil {
		t.Fatal(err)
	}
	if found := search("two"); len(found) > 0 {
		t.Skipf("the index hears of it, or has not been made: %v", found)
	}
	ended()
	if found := search("two"); !slices.Equal(found, []string{"f"}) {
		t.Errorf("%v are found after the command", found)
	}
}

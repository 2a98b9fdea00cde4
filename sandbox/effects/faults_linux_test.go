package effects

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tandem/sandbox"
)

// mapped makes a file that says "text 1", and gives what writes another digit without a change of its metadata, and what skips the test
// where that has changed since.
func mapped(t *testing.T, at string) (write func(digit int), timeless func(t *testing.T)) {
	t.Helper()
	if err := os.WriteFile(at, []byte("text 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(at, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	page, err := unix.Mmap(int(f.Fd()), 0, 7, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(page) })
	// The first write to a page gives the file another time, those that follow do not.
	write = func(digit int) { page[5] = '0' + byte(digit) }
	write(1)
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return write, func(t *testing.T) {
		t.Helper()
		if now, err := f.Stat(); err != nil || statOf(now) != statOf(info) {
			t.Skipf("this file system tells of it, or cannot be asked: %v", err)
		}
	}
}

// TestFaultT12SameTick: a change that leaves the size and all times of a file as they were, as one in the same tick of the file system's
// clock does, is found after a command and has what the file said before, whether that comes from this look or from one before it.
func TestFaultT12SameTick(t *testing.T) {
	for name, looksBefore := range map[string]int{"the first look": 0, "a look that follows one": 1, "a look that follows two": 2} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			at := filepath.Join(dir, "f")
			write, timeless := mapped(t, at)
			m, paths := &Memory{}, &sandbox.Paths{Cwd: dir, Read: []string{dir}, Write: []string{dir}}
			defer paths.Close()
			for n := range looksBefore {
				m.Before(t.Context(), paths, nil)
				write(2 + n)
			}
			before := m.Before(t.Context(), paths, nil)
			was, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			write(9)
			timeless(t)
			changes := before.After(t.Context()).Files
			if len(changes) != 1 || string(changes[0].Before.Content) != string(was) || string(changes[0].After.Content) != "text 9\n" {
				t.Errorf("%+v, it said %q", changes, was)
			}
		})
	}
}

// TestFaultT12IndexOfTheSameTick: a file that was changed in the tick in which git's index was written, or has a later time, may be another
// than the index says, so what it said comes from memory.
func TestFaultT12IndexOfTheSameTick(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "f")
	gitIn(t, dir, "init", "-q")
	write, _ := mapped(t, at)
	ahead := time.Now().Add(time.Hour)
	if err := os.Chtimes(at, ahead, ahead); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "add", "f")
	write(2)
	m, paths := &Memory{}, &sandbox.Paths{Cwd: dir, Read: []string{dir}, Write: []string{dir}}
	defer paths.Close()
	before := m.Before(t.Context(), paths, nil)
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if c := before.After(t.Context()).Files; len(c) != 1 || string(c[0].Before.Content) != "text 2\n" {
		t.Errorf("%+v", c)
	}
}

//go:build linux

package index

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tandem/sandbox"
)

// identOf is the identity of a folder, as a pass finds it.
func identOf(t *testing.T, dir string) sandbox.Ident {
	t.Helper()
	roots := &sandbox.Roots{}
	roots.Add(dir)
	place, err := roots.Place(dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := place.OpenDir(".")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ident, err := d.Ident(".")
	if err != nil {
		t.Fatal(err)
	}
	return ident
}

// TestWatchIsOnTheFolder has a watched folder get another path: the kernel has one watch for it and tells of the first, so that it does not
// hold for the other until the first is removed.
func TestWatchIsOnTheFolder(t *testing.T) {
	base := t.TempDir()
	one, two := filepath.Join(base, "one"), filepath.Join(base, "two")
	if err := os.Mkdir(one, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := newWatch()
	if err != nil {
		t.Skipf("no watch here: %v", err)
	}
	defer w.close()
	add := func(dir string) {
		if err := w.add(dir); err != nil {
			t.Fatal(err)
		}
	}
	heard := func(path string) bool {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		paths, ok := w.since()
		return ok && paths[path]
	}
	add(one)
	for range 2 {
		if !w.holds(one, identOf(t, one)) || !heard(filepath.Join(one, "f")) {
			t.Error("the watch is not on the folder")
		}
	}
	if err := os.Rename(one, two); err != nil {
		t.Fatal(err)
	}
	add(two)
	if w.holds(two, identOf(t, two)) {
		t.Error("it is told of by its old path, and yet held to be watched by the new one")
	}
	w.remove(two)
	w.remove(one)
	add(two)
	if !w.holds(two, identOf(t, two)) || !heard(filepath.Join(two, "g")) {
		t.Error("the folder is not watched by its new path")
	}
	// Another folder takes the path.
	if err := os.Rename(two, one); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(two, 0o755); err != nil {
		t.Fatal(err)
	}
	if w.holds(two, identOf(t, two)) {
		t.Error("the watch is on the folder that has moved away")
	}
	w.remove(two)
	if w.count != 0 || len(w.pathOf) != 0 || len(w.identOf) != 0 {
		t.Errorf("%d folders are counted, %v, %v", w.count, w.pathOf, w.identOf)
	}
	if err := w.add(filepath.Join(base, "none")); err == nil || w.count != 0 {
		t.Errorf("%d folders are counted after %v", w.count, err)
	}
}

// TestMountedTwice has a folder below the root that is another one mounted once more: what is written by either path is found.
func TestMountedTwice(t *testing.T) {
	base := t.TempDir()
	a, z := filepath.Join(base, "a"), filepath.Join(base, "z")
	for _, dir := range []string{a, z} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mount(z, a, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	defer func() { _ = unix.Unmount(a, unix.MNT_DETACH) }()
	w, err := newWatch()
	if err != nil {
		t.Skipf("no watch here: %v", err)
	}
	defer w.close()
	for _, dir := range []string{a, z} {
		if err := w.add(dir); err != nil {
			t.Fatal(err)
		}
	}
	if !w.holds(a, identOf(t, a)) || w.holds(z, identOf(t, z)) {
		t.Error("one watch holds for both paths")
	}
}

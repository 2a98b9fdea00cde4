package tree

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tandem/sandbox"
)

// deep makes folders within each other, each with a file.
func deep(t *testing.T, levels int) string {
	t.Helper()
	top := sandbox.Canonical(t.TempDir())
	at, err := unix.Open(top, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range levels {
		if err != nil {
			break
		}
		f, err2 := unix.Openat(at, "f", unix.O_CREAT|unix.O_CLOEXEC, 0o600)
		if err2 == nil {
			_ = unix.Close(f)
			err2 = unix.Mkdirat(at, "folder", 0o700)
		}
		var below int
		if err = err2; err == nil {
			below, err = unix.Openat(at, "folder", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		_ = unix.Close(at)
		at = below
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(at)
	return top
}

// TestFaultS10DeepTrees: a walk goes as deep as paths may be, says that there is more, and takes memory that is not quadratic in the depth.
func TestFaultS10DeepTrees(t *testing.T) {
	top := deep(t, 1500)
	reachable := (MaxPath - len(top) - len("/f")) / len("/folder")
	for name, walk := range map[string]func(*Tree, func(Entry) error) error{
		"of the disk": func(tr *Tree, visit func(Entry) error) error {
			_, err := tr.Walk(context.Background(), 0, visit)
			return err
		},
		"of everything": func(tr *Tree, visit func(Entry) error) error {
			tr.Everything()
			_, err := tr.Walk(context.Background(), 0, visit)
			return err
		},
	} {
		roots := &sandbox.Roots{}
		roots.Add(top)
		place, err := roots.Place(top)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := Open(place)
		if err != nil {
			t.Fatal(err)
		}
		files, longest := 0, 0
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = walk(tr, func(e Entry) error {
			if e.Type.IsRegular() {
				files++
			}
			longest = max(longest, strings.Count(e.Path, "/"))
			return nil
		})
		runtime.ReadMemStats(&after)
		if err != nil || tr.Deep() != 1 || files < reachable || files > reachable+2 || longest > reachable+2 {
			t.Errorf("%s: %d files to the depth %d of %d, %d folders too deep, %v", name, files, longest, reachable, tr.Deep(), err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 60<<20 {
			t.Errorf("%s: %d bytes", name, took)
		}
	}
	if _, err := ParseGlob(strings.Repeat("a", maxGlob+1)); err == nil {
		t.Error("a pattern of any length")
	}
	if _, err := ParseGlob(strings.Repeat("a", maxGlob)); err != nil {
		t.Error(err)
	}
	_ = os.RemoveAll(top)
}

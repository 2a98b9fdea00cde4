package effects

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tandem/sandbox"
	"tandem/sandbox/tree/treetest"
)

// TestFaultS11WhatIsNotSeenHasNotChanged: a snapshot cut by too many entries or open files gives the reason, and the comparison reports no
// file as created or deleted that one snapshot did not reach.
func TestFaultS11WhatIsNotSeenHasNotChanged(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"a", "b", "c"} {
		for i := range 5 {
			at := filepath.Join(dir, d, fmt.Sprint("f", i))
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(at), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	paths := &sandbox.Paths{Cwd: dir, Read: []string{dir}, Write: []string{dir}}
	defer paths.Close()
	made := filepath.Join(dir, "a", "f00")
	look := func(t *testing.T, before, after func() (undo func())) {
		t.Helper()
		m := &Memory{}
		m.Before(t.Context(), paths, nil) // so that there is a look before
		undo := before()
		b := m.Before(t.Context(), paths, nil)
		undo()
		if err := os.WriteFile(made, []byte("new"), 0o644); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(made)
		undo = after()
		found := b.After(t.Context())
		undo()
		for _, c := range found.Files {
			if c.Path != made {
				t.Errorf("%s is said to have changed: %+v", c.Path, c)
			}
		}
		if found.Cut == "" && len(found.Files) != 1 {
			t.Errorf("the change is not found, and the look is said to be whole")
		}
	}
	nothing := func() func() { return func() {} }
	for more := range 6 {
		few := func() func() { return treetest.OpenFiles(t, more) }
		look(t, few, nothing)
		look(t, nothing, few)
	}
	for most := 1; most < 25; most++ {
		m := &Memory{Most: most}
		b := m.Before(t.Context(), paths, nil)
		if err := os.WriteFile(made, []byte("new"), 0o644); err != nil {
			t.Fatal(err)
		}
		found := b.After(t.Context())
		for _, c := range found.Files {
			if c.Path != made {
				t.Errorf("with %d entries at most %s is said to have changed", most, c.Path)
			}
		}
		if whole := most >= 19; whole != (found.Cut == "") || whole && len(found.Files) != 1 {
			t.Errorf("with %d entries at most it finds %d changes, cut: %q", most, len(found.Files), found.Cut)
		}
		_ = os.Remove(made)
	}
}

// TestFaultS11CancelledSnapshot: a snapshot that ends with its context does not name the number of entries as the reason.
func TestFaultS11CancelledSnapshot(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1100 { // the context is looked at every 1,024 entries
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("f", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	paths := &sandbox.Paths{Cwd: dir, Read: []string{dir}, Write: []string{dir}}
	defer paths.Close()
	m := &Memory{}
	b := m.Before(t.Context(), paths, nil)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if found := b.After(over); found.Cut != "the search for them was cancelled" || len(found.Files) > 0 {
		t.Errorf("cut because %q, with %d changes", found.Cut, len(found.Files))
	}
}

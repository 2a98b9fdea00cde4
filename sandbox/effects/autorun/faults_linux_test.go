package autorun

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFaultT17ModeUnderANarrowUmask: a hook that is put back, and one that a person restores, is executable for whom it was, whatever the
// umask of the process is.
func TestFaultT17ModeUnderANarrowUmask(t *testing.T) {
	g, app := guard(t)
	hook := filepath.Join(app, ".git", "hooks", "pre-commit")
	must(t, os.MkdirAll(filepath.Dir(hook), 0o755), os.WriteFile(filepath.Join(app, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o644),
		os.MkdirAll(filepath.Join(app, ".git", "objects"), 0o755), os.MkdirAll(filepath.Join(app, ".git", "refs"), 0o755),
		os.WriteFile(hook, []byte("#!/bin/sh\n"), 0o755), os.Chmod(hook, 0o755))
	is := func(text string) {
		t.Helper()
		got, err := os.ReadFile(hook)
		must(t, err)
		info, err := os.Stat(hook)
		must(t, err)
		if string(got) != text || info.Mode() != fs.FileMode(0o755) {
			t.Errorf("%q with the mode %v", got, info.Mode())
		}
	}
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	g.Begin("c", "")
	must(t, os.WriteFile(hook, []byte("#!/bin/sh\nplanted\n"), 0o755))
	if said := g.End("c", ""); len(said) != 1 || !strings.Contains(said[0], "former text was put back") {
		t.Fatalf("%q", said)
	}
	is("#!/bin/sh\n")
	list, err := g.Quarantine.List()
	must(t, err, os.Remove(hook))
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	_, err = g.Quarantine.Restore(list[0].ID)
	must(t, err)
	is("#!/bin/sh\nplanted\n")
}

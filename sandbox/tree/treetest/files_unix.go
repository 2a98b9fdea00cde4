//go:build unix

package treetest

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// OpenFiles lets this process open so many files more, until restore is called. No other test may run meanwhile.
func OpenFiles(t testing.TB, more int) (restore func()) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	now := was
	now.Cur = uint64(f.Fd()) + uint64(more)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
	}
}

// Workspace makes a folder with files, each "name=content", or "name=-> target" of a link.
func Workspace(t testing.TB, files ...string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name, content, _ := strings.Cut(f, "=")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Shelves are files for Workspace: each kind of entry that a walk treats in its own way.
func Shelves() []string {
	return []string{
		".git/HEAD=", ".gitignore=out/\n*.log\n/b/only\n", "a.go=word\n", "a.log=word\n", "b/c.go=word\n", "b/c.log=word\n", "b/only/x=word\n", "b/d/e.go=word\n",
		"b/d/e.log=word\n", "out/x.go=word\n", "out/deep/y=word\n", ".env=word\n", "b/.env=word\n", "b/id_rsa=word\n", "link=-> a.go", "z.go=word\n", "bb/c.go=word\n",
	}
}

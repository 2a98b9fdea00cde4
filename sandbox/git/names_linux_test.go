package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func write(t testing.TB, top string, names ...string) {
	t.Helper()
	for _, name := range names {
		at := filepath.Join(top, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(name), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// found is the work tree that is found from a folder, with what is tracked in it.
func found(folder string) (top string, names []string, err error) {
	r, err := Find(folder)
	if r == nil || err != nil {
		return "", nil, err
	}
	names, err = r.Names()
	return r.Top(), names, err
}

// TestNames compares with what git lists, for each form of an index that git writes.
func TestNames(t *testing.T) {
	long := strings.Repeat("d/"+strings.Repeat("n", 200)+"/", 8) + "end"
	files := []string{"a", "b/c.go", ".env", "b/.env.test", "sübé/ü", "x y", "b/c/d/e", "b/c/d/f", long, "zz"}
	for i := range 300 {
		files = append(files, "many/"+strconv.Itoa(i)+"/file"+strings.Repeat("x", i%9))
	}
	for name, prepare := range map[string]func(top string){
		"2": func(top string) { gitIn(t, top, "update-index", "--index-version", "2") },
		"3": func(top string) {
			gitIn(t, top, "update-index", "--index-version", "3")
			gitIn(t, top, "add", "-N", "new")
		},
		"4": func(top string) {
			gitIn(t, top, "update-index", "--index-version", "4")
			gitIn(t, top, "add", "-N", "new")
		},
		"caches": func(top string) {
			gitIn(t, top, "commit", "-qm", "x")
			gitIn(t, top, "status")
			gitIn(t, top, "update-index", "--untracked-cache")
		},
	} {
		for _, format := range []string{"sha1", "sha256"} {
			t.Run(name+" "+format, func(t *testing.T) {
				top := t.TempDir()
				gitIn(t, top, "init", "-q", "--object-format="+format)
				write(t, top, files...)
				gitIn(t, top, "add", ".")
				write(t, top, "new")
				prepare(top)
				at, names, err := found(filepath.Join(top, "b", "not", "there"))
				if err != nil || at != top {
					t.Fatalf("%s, %v", at, err)
				}
				want := strings.Split(strings.TrimSuffix(gitIn(t, top, "ls-files", "-z"), "\x00"), "\x00")
				if !slices.Equal(names, want) {
					t.Errorf("%d names, want %d: %q", len(names), len(want), names)
				}
			})
		}
	}
}

// What does not name all files is not understood, and no part of an index passes for a whole one.
func TestUnknown(t *testing.T) {
	top := t.TempDir()
	gitIn(t, top, "init", "-q")
	if _, _, err := found(top); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no index: %v", err)
	}
	write(t, top, "a", "b/c", "d/e", ".env")
	gitIn(t, top, "add", ".")
	gitIn(t, top, "commit", "-qm", "x")
	index, err := os.ReadFile(top + "/.git/index")
	if err != nil {
		t.Fatal(err)
	}
	for n := range index {
		if files, err := parse(index[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes give %v", n, len(index), files)
		}
	}
	split := filepath.Join(t.TempDir(), "split")
	gitIn(t, top, "worktree", "add", "-q", split)
	if at, names, err := found(split + "/b"); err != nil || at != split || len(names) != 4 {
		t.Errorf("a linked worktree: %s, %q, %v", at, names, err)
	}
	gitIn(t, split, "update-index", "--split-index")
	if _, _, err := found(split); !errors.Is(err, ErrFormat) {
		t.Errorf("a split index: %v", err)
	}
	gitIn(t, top, "sparse-checkout", "set", "--sparse-index", "b")
	if _, names, err := found(top); !errors.Is(err, ErrFormat) {
		t.Errorf("a sparse index: %q, %v", names, err)
	}
}

// The repository is the one that git takes: a folder .git that is none does not end the search.
func TestFind(t *testing.T) {
	top := t.TempDir()
	if r, err := Find(top); r != nil || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	gitIn(t, top, "init", "-q")
	write(t, top, ".env", "sub/x")
	gitIn(t, top, "add", ".")
	for i, prepare := range []func() error{
		func() error { return os.Mkdir(top+"/sub/.git", 0o755) },
		func() error { return os.WriteFile(top+"/sub/.git/index", []byte("DIRC"), 0o644) },
		func() error { return os.WriteFile(top+"/sub/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o644) },
	} {
		if err := prepare(); err != nil {
			t.Fatal(err)
		}
		at, names, err := found(top + "/sub")
		if shown := strings.TrimSpace(gitIn(t, top+"/sub", "rev-parse", "--show-toplevel")); err != nil || at != shown || len(names) != 2 {
			t.Errorf("%d: %s, %q, %v, git says %s", i, at, names, err, shown)
		}
	}
	if err := errors.Join(os.RemoveAll(top+"/sub/.git"), os.WriteFile(top+"/sub/.git", []byte("gitdir: ../nothing\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := found(top + "/sub"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func FuzzIndex(f *testing.F) {
	top := f.TempDir()
	gitIn(f, top, "init", "-q")
	write(f, top, "a", "b/c", ".env")
	gitIn(f, top, "add", ".")
	for _, version := range []string{"2", "4"} {
		gitIn(f, top, "update-index", "--index-version", version)
		index, err := os.ReadFile(top + "/.git/index")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(index[:len(index)-20])
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = entries(data, 20) })
}

func BenchmarkFind(b *testing.B) {
	top := b.TempDir()
	gitIn(b, top, "init", "-q")
	for i := range 10_000 {
		write(b, top, "folder"+strconv.Itoa(i%100)+"/source/file"+strconv.Itoa(i)+".go")
	}
	gitIn(b, top, "add", ".")
	for b.Loop() {
		if _, names, err := found(top); err != nil || len(names) != 10_000 {
			b.Fatal(err)
		}
	}
}

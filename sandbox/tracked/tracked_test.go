package tracked

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// git runs git in a folder, without settings of this machine.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@y", "-c", "init.defaultBranch=main"}, args...)...)
	c.Dir = dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent"}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func write(t testing.TB, top string, names ...string) {
	t.Helper()
	for _, name := range names {
		at := filepath.Join(top, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(name), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNames compares with what git lists, for each form of an index that git writes.
func TestNames(t *testing.T) {
	long := strings.Repeat("d/"+strings.Repeat("n", 200)+"/", 8) + "end"
	files := []string{"a", "b/c.go", ".env", "b/.env.test", "sübé/ü", "x y", "b/c/d/e", "b/c/d/f", long, "zz"}
	for i := range 300 {
		files = append(files, "many/"+strconv.Itoa(i)+"/file"+strings.Repeat("x", i%9))
	}
	for name, prepare := range map[string]func(top string){
		"2": func(top string) { git(t, top, "update-index", "--index-version", "2") },
		"3": func(top string) { git(t, top, "update-index", "--index-version", "3"); git(t, top, "add", "-N", "new") },
		"4": func(top string) { git(t, top, "update-index", "--index-version", "4"); git(t, top, "add", "-N", "new") },
		"caches": func(top string) {
			git(t, top, "commit", "-qm", "x")
			git(t, top, "status")
			git(t, top, "update-index", "--untracked-cache")
		},
	} {
		for _, format := range []string{"sha1", "sha256"} {
			t.Run(name+" "+format, func(t *testing.T) {
				top := t.TempDir()
				git(t, top, "init", "-q", "--object-format="+format)
				write(t, top, files...)
				git(t, top, "add", ".")
				write(t, top, "new")
				prepare(top)
				r, err := Find(filepath.Join(top, "b", "not", "there"))
				if err != nil || r.Top != top {
					t.Fatalf("%+v, %v", r, err)
				}
				want := strings.Split(strings.TrimSuffix(git(t, top, "ls-files", "-z"), "\x00"), "\x00")
				if !slices.Equal(r.Names, want) {
					t.Errorf("%d names, want %d: %q", len(r.Names), len(want), r.Names)
				}
			})
		}
	}
}

// What does not name all files is not understood, and no part of an index passes for a whole one.
func TestUnknown(t *testing.T) {
	top := t.TempDir()
	git(t, top, "init", "-q")
	if _, err := Find(top); !errors.Is(err, ErrUnknown) {
		t.Errorf("no index: %v", err)
	}
	write(t, top, "a", "b/c", "d/e", ".env")
	git(t, top, "add", ".")
	git(t, top, "commit", "-qm", "x")
	index, err := os.ReadFile(top + "/.git/index")
	if err != nil {
		t.Fatal(err)
	}
	for n := range index {
		if names, err := parse(index[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes give %q", n, len(index), names)
		}
	}
	split := filepath.Join(t.TempDir(), "split")
	git(t, top, "worktree", "add", "-q", split)
	if r, err := Find(split + "/b"); err != nil || r.Top != split || len(r.Names) != 4 {
		t.Errorf("a linked worktree: %+v, %v", r, err)
	}
	git(t, split, "update-index", "--split-index")
	if _, err := Find(split); !errors.Is(err, ErrUnknown) {
		t.Errorf("a split index: %v", err)
	}
	git(t, top, "sparse-checkout", "set", "--sparse-index", "b")
	if r, err := Find(top); !errors.Is(err, ErrUnknown) {
		t.Errorf("a sparse index: %+v, %v", r, err)
	}
}

// The repository is the one that git takes: a folder .git that is none does not end the search.
func TestFind(t *testing.T) {
	top := t.TempDir()
	if r, err := Find(top); r != nil || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	git(t, top, "init", "-q")
	write(t, top, ".env", "sub/x")
	git(t, top, "add", ".")
	for i, prepare := range []func() error{
		func() error { return os.Mkdir(top+"/sub/.git", 0o755) },
		func() error { return os.WriteFile(top+"/sub/.git/index", []byte("DIRC"), 0o644) },
		func() error { return os.WriteFile(top+"/sub/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o644) },
	} {
		if err := prepare(); err != nil {
			t.Fatal(err)
		}
		r, err := Find(top + "/sub")
		if shown := strings.TrimSpace(git(t, top+"/sub", "rev-parse", "--show-toplevel")); err != nil || r.Top != shown || len(r.Names) != 2 {
			t.Errorf("%d: %+v, %v, git says %s", i, r, err, shown)
		}
	}
	if err := errors.Join(os.RemoveAll(top+"/sub/.git"), os.WriteFile(top+"/sub/.git", []byte("gitdir: ../nothing\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(top + "/sub"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	top := f.TempDir()
	git(f, top, "init", "-q")
	write(f, top, "a", "b/c", ".env")
	git(f, top, "add", ".")
	for _, version := range []string{"2", "4"} {
		git(f, top, "update-index", "--index-version", version)
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
	git(b, top, "init", "-q")
	for i := range 10_000 {
		write(b, top, "folder"+strconv.Itoa(i%100)+"/source/file"+strconv.Itoa(i)+".go")
	}
	git(b, top, "add", ".")
	for b.Loop() {
		if r, err := Find(top); err != nil || len(r.Names) != 10_000 {
			b.Fatal(err)
		}
	}
}

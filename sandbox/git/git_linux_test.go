package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// gitIn runs git, which writes what this package reads.
func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// repository is one with 300 versions of a file, so that a pack of it has deltas.
func repository(t *testing.T) (dir string, texts map[string]string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git to make repositories with")
	}
	dir, texts = t.TempDir(), map[string]string{}
	gitIn(t, dir, "init", "-q")
	for i := range 300 {
		name := fmt.Sprintf("sub/deep%d/file with blank %d", i%7, i)
		texts[name] = strings.Repeat(fmt.Sprintf("line %d of many\n", i/50), 400) + fmt.Sprint(i)
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(texts[name]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-q", "-m", "x")
	return dir, texts
}

func check(t *testing.T, worktree string, texts map[string]string) {
	t.Helper()
	r, err := Open(worktree)
	if err != nil {
		t.Fatal(err)
	}
	index, err := r.Index()
	if err != nil || len(index) != len(texts) {
		t.Fatalf("%d entries, want %d: %v", len(index), len(texts), err)
	}
	objects := r.Objects()
	defer objects.Close()
	for name, text := range texts {
		e := index[name]
		info, err := os.Lstat(filepath.Join(worktree, name))
		if err != nil {
			t.Fatal(err)
		}
		st := info.Sys().(*syscall.Stat_t)
		if e.Mode != 0o100644 || int(e.Size) != len(text) || int64(e.Seconds) != st.Mtim.Sec || int64(e.Nanos) != st.Mtim.Nsec ||
			int64(e.ChangeSeconds) != st.Ctim.Sec || e.Inode != uint32(st.Ino) {
			t.Fatalf("%s: %+v, %+v", name, e, st)
		}
		if got, err := objects.Blob(e.ID, 1<<20); err != nil || string(got) != text {
			t.Fatalf("%s: %d bytes, %v", name, len(got), err)
		}
		if _, err := objects.Blob(e.ID, 10); err == nil {
			t.Fatalf("%s: the limit does not hold", name)
		}
	}
	if _, err := objects.Blob(ID{1}, 1<<20); !os.IsNotExist(err) {
		t.Errorf("an object that is not there: %v", err)
	}
}

func TestReadsWhatGitWrites(t *testing.T) {
	dir, texts := repository(t)
	check(t, dir, texts)
	gitIn(t, dir, "repack", "-a", "-d", "-q", "--depth=50")
	if !strings.Contains(gitIn(t, dir, "verify-pack", "-s", packOf(t, dir)), "chain length = 2") {
		t.Fatal("the pack has no deltas of deltas")
	}
	check(t, dir, texts)
	gitIn(t, dir, "-c", "repack.useDeltaBaseOffset=false", "repack", "-a", "-d", "-f", "-q")
	check(t, dir, texts)
	gitIn(t, dir, "update-index", "--index-version", "4")
	check(t, dir, texts)
	other := filepath.Join(t.TempDir(), "other")
	gitIn(t, dir, "worktree", "add", "-q", other)
	check(t, other, texts)
}

func packOf(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.idx"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return found[0]
}

// A repository whose objects have other names has no entries here, and one that blocks whoever opens its files does not block.
func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	gitIn(t, dir, "init", "-q", "--object-format=sha256")
	write(t, dir, "a")
	gitIn(t, dir, "add", "a")
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if index, err := r.Index(); !errors.Is(err, ErrFormat) {
		t.Errorf("SHA-256: %v, %v", index, err)
	}
	if err := errors.Join(os.Remove(r.IndexFile()), syscall.Mkfifo(r.IndexFile(), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Names(); !errors.Is(err, ErrFormat) {
		t.Errorf("a pipe: %v", err)
	}
	if err := errors.Join(os.RemoveAll(dir+"/.git"), os.WriteFile(dir+"/.git", []byte("elsewhere"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrFormat) {
		t.Errorf("nowhere: %v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no repository: %v", err)
	}
}

func TestDamagedObject(t *testing.T) {
	dir, _ := repository(t)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	index, err := r.Index()
	if err != nil {
		t.Fatal(err)
	}
	var ids []ID
	for _, e := range index {
		ids = append(ids, e.ID)
	}
	object := func(id ID) string { return filepath.Join(dir, ".git/objects", id.String()[:2], id.String()[2:]) }
	other, err := os.ReadFile(object(ids[0]))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(object(ids[1])); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(object(ids[1]), other, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Objects().Blob(ids[1], 1<<20); err == nil {
		t.Error("the content of another object was given")
	}
}

func FuzzDelta(f *testing.F) {
	f.Add([]byte("base"), []byte("\x04\x04\x90\x04"))
	f.Fuzz(func(t *testing.T, base, delta []byte) {
		if out, err := patched(base, delta, 1<<16); err == nil && len(out) > 1<<16 {
			t.Error("over the limit")
		}
	})
}

package effects

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tandem/sandbox"
)

// gitIn runs git, which makes the repositories of the tests.
func gitIn(t testing.TB, dir string, args ...string) {
	t.Helper()
	c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// old makes the files of a folder an hour old, as far as a time of a file can be set.
func old(t testing.TB, dir string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.Contains(path, "/.git/") {
			err = os.Chtimes(path, then, then)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// later is a clock by which no file is young.
func later() time.Time { return time.Now().Add(time.Minute) }

// TestCases plays each file of testdata: git/PATH is committed, disk/PATH is there besides, "setup" and "command" are run by sh in the
// folder, "seen" names the files that the session has seen, and "changes" is what comes out, a line each. It is played with files that are
// older than the clock's doubt and with such that are not, with what the last look has left and without.
func TestCases(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git to make repositories with")
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, name := range files {
		for _, young := range []bool{false, true} {
			for _, again := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/young=%v/again=%v", strings.TrimSuffix(filepath.Base(name), ".txtar"), young, again), func(t *testing.T) {
					play(t, name, young, again)
				})
			}
		}
	}
}

func play(t *testing.T, name string, young, again bool) {
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	section := map[string]string{}
	put := func(prefix string) (n int) {
		for _, f := range a.Files {
			rel, ok := strings.CutPrefix(f.Name, prefix)
			if !ok {
				section[f.Name] = string(f.Data)
				continue
			}
			at := filepath.Join(dir, rel)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	shell := func(script string) {
		c := exec.Command("sh", "-e", "-c", script)
		c.Dir, c.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if put("git/") > 0 {
		gitIn(t, dir, "init", "-q")
		gitIn(t, dir, "config", "user.name", "a")
		gitIn(t, dir, "config", "user.email", "a@example.org")
		old(t, dir)
		gitIn(t, dir, "add", "-A")
		gitIn(t, dir, "commit", "-q", "-m", "x")
	}
	put("disk/")
	shell(section["setup"])
	m := &Memory{}
	if !young {
		m.Now = later
	}
	paths := &sandbox.Paths{Cwd: dir, Read: []string{dir}, Write: []string{dir}}
	defer paths.Close()
	var seen []string
	for _, rel := range strings.Fields(section["seen"]) {
		seen = append(seen, filepath.Join(dir, rel))
	}
	before := m.Before(t.Context(), paths, seen)
	if again {
		if c := before.After(t.Context()); len(c.Files)+len(c.Ignored) > 0 {
			t.Errorf("nothing happened: %+v", c)
		}
		before = m.Before(t.Context(), paths, seen)
	}
	shell(section["command"])
	got := told(dir, before.After(t.Context()))
	if got != section["changes"] {
		t.Errorf("changes:\n%swant:\n%s", got, section["changes"])
	}
	if c := m.Before(t.Context(), paths, seen).After(t.Context()); len(c.Files)+len(c.Ignored) > 0 {
		t.Errorf("nothing happened afterwards: %s", told(dir, c))
	}
}

// told is a line for each change.
func told(dir string, c Changes) string {
	var b strings.Builder
	rel := func(at string) string { return strings.TrimPrefix(at, dir+"/") }
	side := func(f File) string {
		switch {
		case !f.Exists:
			return "-"
		case f.Why != "":
			return "(" + f.Why + ")"
		case len(f.Content) > 40:
			return fmt.Sprintf("%d bytes", len(f.Content))
		}
		return fmt.Sprintf("%q", f.Content)
	}
	for _, f := range c.Files {
		fmt.Fprintf(&b, "%s %s: %s -> %s", f.How(), rel(f.Path), side(f.Before), side(f.After))
		if f.From != "" {
			b.WriteString(" from " + rel(f.From))
		}
		if f.Before.Exists && f.After.Exists && f.Before.Mode != f.After.Mode {
			fmt.Fprintf(&b, " %v -> %v", f.Before.Mode, f.After.Mode)
		}
		b.WriteString("\n")
	}
	for _, at := range c.Ignored {
		b.WriteString("ignored " + rel(at) + "\n")
	}
	return b.String()
}

// The bound of all files holds: what is over it is named before the command and after it.
func TestBeyond(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 70 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%02d", i)), make([]byte, maxFile), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "large"), make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	paths := &sandbox.Paths{Cwd: dir, Read: []string{dir}, Write: []string{dir}}
	defer paths.Close()
	m := &Memory{Now: later}
	b := m.Before(t.Context(), paths, nil)
	beyond := b.Beyond()
	if len(beyond) != 7 || beyond[filepath.Join(dir, "large")] != whyTooLarge {
		t.Fatalf("%v", beyond)
	}
	for at := range beyond {
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range b.After(t.Context()).Files {
		if c.Before.Why != beyond[c.Path] || c.How() != "deleted" {
			t.Errorf("%+v", c)
		}
	}
}

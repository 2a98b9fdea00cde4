package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/agent/config"
	"tandem/filetime/filetimetest"
	"tandem/sandbox"
)

// reaching is the reach of a session in a folder, which holds files by their relative paths.
func reaching(t *testing.T, files map[string]string) (r *reach, cwd string) {
	t.Helper()
	cwd = holding(t, files)
	r = newReach(Options{ID: "s", Cwd: cwd, Workspace: unopened{filetimetest.New()}, Now: time.Now}, nil, nil, nil)
	t.Cleanup(r.close)
	r.configure(config.Default())
	return r, cwd
}

func holding(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := sandbox.Canonical(t.TempDir())
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestReachRoots judges paths by the folders and the settings, as they are now.
func TestReachRoots(t *testing.T) {
	other := holding(t, map[string]string{"a.txt": "a"})
	r, cwd := reaching(t, map[string]string{"in/b.txt": "b"})
	mine, theirs := filepath.Join(cwd, "in/b.txt"), filepath.Join(other, "a.txt")
	may := func(path string) (out string) {
		if _, err := r.current().Readable(path); err == nil {
			out += "r"
		}
		if _, err := r.current().Writable(path); err == nil {
			out += "w"
		}
		return out
	}
	set := func(change func(*config.Config)) {
		c := config.Default()
		change(&c)
		r.configure(c)
	}
	for _, step := range []struct {
		name         string
		do           func()
		mine, theirs string
	}{
		{"the folder alone", func() {}, "rw", ""},
		{"a read root", func() { set(func(c *config.Config) { c.ReadRoots = []string{other} }) }, "rw", "r"},
		{"a relative write root", func() { set(func(c *config.Config) { c.WriteRoots = []string{"out"} }) }, "r", ""},
		{"no restriction", func() { set(func(c *config.Config) { c.WriteRoots = []string{} }) }, "rw", "rw"},
		{"a folder more", func() { set(func(*config.Config) {}); r.add(other) }, "rw", "rw"},
		{"a folder more and write roots", func() { set(func(c *config.Config) { c.WriteRoots = []string{cwd} }) }, "rw", "r"},
	} {
		if step.do(); may(mine) != step.mine || may(theirs) != step.theirs {
			t.Errorf("%s: %q and %q, want %q and %q", step.name, may(mine), may(theirs), step.mine, step.theirs)
		}
	}
}

// TestReachAdd adds a folder once, leaves the paths of running calls as they are, and hands the folder and its rules to the model once.
func TestReachAdd(t *testing.T) {
	r, cwd := reaching(t, nil)
	other := holding(t, map[string]string{"a.txt": "a"})
	files := r.workspace.(unopened).Files.(*filetimetest.Files)
	files.Put(filepath.Join(other, "AGENTS.md"), "Use tabs.", true)
	before := r.env().Paths
	if fresh := r.add(cwd, other, other); len(fresh) != 1 || fresh[0] != other {
		t.Errorf("new: %v", fresh)
	}
	if fresh := r.add(other); fresh != nil {
		t.Errorf("new again: %v", fresh)
	}
	if roots := r.roots(); len(roots) != 2 || roots[0] != cwd || roots[1] != other {
		t.Errorf("roots: %v", roots)
	}
	if _, err := before.Readable(filepath.Join(other, "a.txt")); err == nil || before.Intact() != nil {
		t.Errorf("a running call reaches it: %v, %v", err, before.Intact())
	}
	if _, err := r.env().Paths.Readable(filepath.Join(other, "a.txt")); err != nil {
		t.Error(err)
	}
	if said := r.takeAdded(t.Context()); strings.Count(said, other) != 2 || !strings.Contains(said, "Use tabs.") {
		t.Errorf("%q", said) // the folder, and the path of the rules
	}
	if said := r.takeAdded(t.Context()); said != "" {
		t.Errorf("again: %q", said)
	}
}

// TestReachReopen finds a folder that was replaced.
func TestReachReopen(t *testing.T) {
	r, cwd := reaching(t, map[string]string{"a.txt": "a"})
	if err := r.intact(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(cwd, cwd+".old"), os.Mkdir(cwd, 0o755)); err != nil {
		t.Fatal(err)
	}
	var refusal *sandbox.PathError
	if err := r.intact(); !errors.As(err, &refusal) {
		t.Errorf("replaced: %v", err)
	}
	r.reopen()
	if err := r.intact(); err != nil {
		t.Errorf("reopened: %v", err)
	}
}

// TestReachShows shows a model no keys, and nothing outside.
func TestReachShows(t *testing.T) {
	r, cwd := reaching(t, map[string]string{"a.txt": "a", ".env": "KEY=1"})
	if err := os.Symlink(filepath.Join(cwd, ".env"), filepath.Join(cwd, "link.txt")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][2]bool{ // shown, secret
		filepath.Join(cwd, "a.txt"): {true, false}, filepath.Join(cwd, ".env"): {false, true}, filepath.Join(cwd, "link.txt"): {false, true},
		"/etc/passwd": {false, false}, "a\nb": {true, false}, strings.Repeat("a", 5000): {false, false},
	} {
		if got := [2]bool{r.shows(path), r.secret(path)}; got != want {
			t.Errorf("%.40q: shown %t, secret %t", path, got[0], got[1])
		}
	}
}

// TestReachAutorun hands what was found to one prompt.
func TestReachAutorun(t *testing.T) {
	r, _ := reaching(t, nil)
	r.autorunFound([]string{"one", "two"})
	r.autorunFound([]string{"three"})
	if got := r.takeAutorun(); got != "one\ntwo\nthree" {
		t.Errorf("%q", got)
	}
	if got := r.takeAutorun(); got != "" {
		t.Errorf("again: %q", got)
	}
}

// TestReachSeen records a path that the model sees with the workspace and the rules of its folder.
func TestReachSeen(t *testing.T) {
	var seen []string
	files := filetimetest.New()
	cwd := holding(t, nil)
	r := newReach(Options{ID: "s", Cwd: cwd, Workspace: watched{unopened{files}, &seen}, Now: time.Now}, nil, nil, nil)
	t.Cleanup(r.close)
	r.configure(config.Default())
	files.Put(filepath.Join(cwd, "sub/AGENTS.md"), "Be brief.", true)
	files.Put(filepath.Join(cwd, "sub/a.txt"), "a", true)
	place, err := r.env().Paths.Readable("sub/a.txt")
	if err != nil {
		t.Fatal(err)
	}
	now, err := r.env().Read(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	r.fileTime.Read(now, 1, 1)
	if found := r.rules.found(t.Context()); len(seen) != 1 || seen[0] != place.Path() || !strings.Contains(found, "Be brief.") {
		t.Errorf("seen %v, rules %q", seen, found)
	}
}

type watched struct {
	unopened
	seen *[]string
}

func (w watched) Seen(path string) { *w.seen = append(*w.seen, path) }

package autorun

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tandem/sandbox"
)

var times = flag.Int("times", 1, "how often the figures are measured")

func guard(t testing.TB) (*Guard, string) {
	t.Helper()
	dir := sandbox.Canonical(t.TempDir())
	app := filepath.Join(dir, "app")
	must(t, os.Mkdir(app, 0o755))
	paths := &sandbox.Paths{
		Cwd: app, Home: dir + "/home", Write: []string{app}, Roots: &sandbox.Roots{Home: dir + "/home", Own: []string{dir + "/state"}},
	}
	t.Cleanup(paths.Close)
	return &Guard{Paths: paths, Quarantine: &Quarantine{Dir: dir + "/state/quarantine", Now: time.Now}, Session: "s", Name: paths.Rel}, app
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestCases runs the shell script of each case, between the two looks. "before" and "now" are scripts; "take", "revert", "mend" and "count"
// name what is found, "say" is what the answer has.
func TestCases(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	if len(files) == 0 {
		t.Fatal("no cases")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			must(t, err)
			parts := map[string]string{}
			for _, f := range a.Files {
				parts[f.Name] = string(f.Data)
			}
			g, app := guard(t)
			script := func(text string) {
				cmd := exec.Command("bash", "-ec", text)
				cmd.Dir = app
				cmd.Env = []string{
					"PATH=" + os.Getenv("PATH"), "HOME=" + app + "-home", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
					"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
				}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			script(parts["before"])
			g.Begin("c", "")
			before := g.before
			script(parts["now"])
			got := map[action][]string{}
			for _, f := range compare(before, g.look()) {
				got[f.Action] = append(got[f.Action], f.name())
			}
			for part, action := range map[string]action{"take": actionTake, "revert": actionRevert, "tell": actionTell, "count": actionCount, "mend": actionMend} {
				if want := strings.Fields(parts[part]); !slices.Equal(got[action], want) {
					t.Errorf("%s %q, want %q", part, got[action], want)
				}
			}
			said := strings.Join(g.End("c", ""), "\n")
			for want := range strings.Lines(parts["say"]) {
				if !strings.Contains(said, strings.TrimSpace(want)) {
					t.Errorf("says\n%s\nwithout\n%s", said, want)
				}
			}
			if said != "" != (len(got) > 0) {
				t.Errorf("says %q of %v", said, got)
			}
			for _, name := range got[actionTake] {
				if _, err := os.Lstat(filepath.Join(app, name)); err == nil {
					t.Errorf("%s is there still", name)
				}
			}
			if len(compare(before, g.look())) != len(got[actionTell])+len(got[actionCount]) {
				t.Error("something is left")
			}
			script(parts["after"])
		})
	}
}

// TestRestore puts what was taken back: files with their mode and links; never over what stands there.
func TestRestore(t *testing.T) {
	g, app := guard(t)
	g.Begin("c", "")
	must(t, os.MkdirAll(app+"/sub/.git/hooks", 0o755), os.WriteFile(app+"/sub/.git/hooks/pre-commit", []byte("hook"), 0o755),
		os.Symlink("elsewhere", app+"/.envrc"))
	if said := g.End("c", ""); len(said) != 1 {
		t.Fatalf("%q", said)
	}
	all, err := g.Quarantine.List()
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	for _, x := range all {
		if x.Session != "s" || x.Call != "c" || x.Root != app || x.Time.IsZero() {
			t.Errorf("%+v", x)
		}
		info, err := os.Stat(filepath.Join(g.Quarantine.Dir, x.ID))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v %v", info, err)
		}
	}
	must(t, os.WriteFile(app+"/.envrc", []byte("mine"), 0o644))
	for _, x := range all {
		if _, err := g.Quarantine.Restore(x.ID); (err != nil) != (x.Path == ".envrc") {
			t.Errorf("%s: %v", x.Path, err)
		}
	}
	text, err := os.ReadFile(app + "/sub/.git/hooks/pre-commit")
	info, _ := os.Stat(app + "/sub/.git/hooks/pre-commit")
	if string(text) != "hook" || err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%q %v %v", text, err, info)
	}
	if text, _ := os.ReadFile(app + "/.envrc"); string(text) != "mine" {
		t.Errorf("%q", text)
	}
	must(t, os.Remove(app+"/.envrc"))
	if _, err := g.Quarantine.Restore(all[slices.IndexFunc(all, func(x Quarantined) bool { return x.Path == ".envrc" })].ID); err != nil {
		t.Error(err)
	}
	if to, _ := os.Readlink(app + "/.envrc"); to != "elsewhere" {
		t.Errorf("%q", to)
	}
	if all, _ := g.Quarantine.List(); len(all) != 0 {
		t.Errorf("%v", all)
	}
}

// TestCut does not move what may have been there before, and says that it has not looked at all.
func TestCut(t *testing.T) {
	g, app := guard(t)
	must(t, os.MkdirAll(app+"/a/b/c", 0o755), os.WriteFile(app+"/a/b/c/.envrc", nil, 0o644))
	g.MaxEntries = 3
	g.Begin("c", "")
	g.looker, g.MaxEntries = nil, 0
	must(t, os.WriteFile(app+"/.envrc", nil, 0o644))
	said := strings.Join(g.End("c", ""), "\n")
	for _, want := range []string{"made .envrc. That was moved", "a/b/c/.envrc, which was left", "were not searched"} {
		if !strings.Contains(said, want) {
			t.Errorf("says\n%s\nwithout %s", said, want)
		}
	}
}

// TestNoQuarantine leaves all where it is, and tells.
func TestNoQuarantine(t *testing.T) {
	g, app := guard(t)
	g.Quarantine = nil
	g.Begin("c", "")
	must(t, os.WriteFile(app+"/.envrc", nil, 0o644))
	g.Begin("d", "")
	if said := g.End("d", ""); len(said) != 0 {
		t.Errorf("says twice %q", said)
	}
	must(t, os.WriteFile(app+"/.envrc", []byte("x"), 0o644))
	if said := g.End("c", ""); len(said) != 1 || !strings.Contains(said[0], ".envrc, which was left as it is") {
		t.Errorf("%q", said)
	}
}

// TestFiguresPlanted measures both looks in a workspace of 50,000 entries, or fewer if it is measured once, and finds each of 20 plants.
func TestFiguresPlanted(t *testing.T) {
	g, app := guard(t)
	n := 20
	if *times > 1 {
		n = 50
	}
	entries := big(t, app, n)
	g.looker = &looker{Paths: g.Paths, now: func() time.Time { return time.Now().Add(time.Minute) }} // the folders are not new
	var first, worst time.Duration
	found, all := 0, 0
	for range *times {
		begun := time.Now()
		g.Begin("c", "")
		took := time.Since(begun)
		for i := range 20 {
			dir := fmt.Sprintf("%s/d%d/d%d", app, i, i)
			must(t, os.WriteFile(dir+"/.envrc", []byte("x"), 0o644))
			all++
		}
		begun = time.Now()
		g.End("c", "")
		took += time.Since(begun)
		if first == 0 {
			first = took
		} else {
			worst = max(worst, took)
		}
		for i := range 20 {
			if _, err := os.Lstat(fmt.Sprintf("%s/d%d/d%d/.envrc", app, i, i)); err != nil {
				found++
			}
		}
	}
	if found != all {
		t.Errorf("%d of %d", found, all)
	}
	t.Logf("planted found: %d of %d; before and after a command with %d entries %v for the first one, then at most %v",
		found, all, entries, first.Round(time.Millisecond), worst.Round(time.Millisecond))
}

// big makes 20 n² entries, and gives how many these are.
func big(t testing.TB, app string, n int) int {
	for i := range n {
		for j := range n {
			dir := fmt.Sprintf("%s/d%d/d%d", app, i, j)
			must(t, os.MkdirAll(dir, 0o755))
			for k := range 19 {
				must(t, os.WriteFile(fmt.Sprintf("%s/f%d", dir, k), nil, 0o644))
			}
		}
	}
	return 20 * n * n
}

func BenchmarkLook(b *testing.B) {
	g, app := guard(b)
	big(b, app, 50)
	for b.Loop() {
		g.look()
	}
}

// TestWhileOthersRun: what a command that goes on plants is found when the next one begins, at each check, and at its end. What comes
// to stand while none runs is a person's.
func TestWhileOthersRun(t *testing.T) {
	g, app := guard(t)
	taken := func(said []string, names ...string) {
		t.Helper()
		all := strings.Join(said, "\n")
		if len(names) == 0 && all != "" {
			t.Errorf("says %q", all)
		}
		for _, name := range names {
			if _, err := os.Lstat(filepath.Join(app, name)); err == nil || !strings.Contains(all, name) {
				t.Errorf("%s is there, and it says %q", name, all)
			}
		}
	}
	plant := func(name, text string) { must(t, os.WriteFile(filepath.Join(app, name), []byte(text), 0o644)) }
	taken(g.Check("c"))
	plant(".envrc", "mine")
	taken(g.Begin("job", ""))
	plant(".mcp.json", "x")
	taken(g.Begin("c", ""), ".mcp.json")
	plant(".mcp.json", "x")
	taken(g.End("c", ""), ".mcp.json")
	plant(".tool-versions", "x")
	taken(g.Check("d"), ".tool-versions")
	plant(".envrc", "theirs")
	plant(".npmrc", "x")
	taken(g.End("job", ""), ".npmrc")
	plant(".npmrc", "x")
	taken(g.Check("e"))
	taken(g.Begin("f", ""))
	taken(g.End("f", ""))
	if text, _ := os.ReadFile(app + "/.envrc"); string(text) != "mine" {
		t.Errorf("%q", text)
	}
}

// TestWrote leaves what a person or another tool has written, as long as it is as they have written it.
func TestWrote(t *testing.T) {
	g, app := guard(t)
	begun := time.Now()
	g.Now = func() time.Time { return begun }
	g.Wrote = func(path, text string, since time.Time) bool {
		return path == app+"/.envrc" && text == "saved" && since.Equal(begun)
	}
	g.Begin("c", "")
	must(t, os.WriteFile(app+"/.envrc", []byte("saved"), 0o644), os.WriteFile(app+"/.mcp.json", []byte("saved"), 0o644))
	if said := g.End("c", ""); len(said) != 1 || strings.Contains(said[0], ".envrc") {
		t.Errorf("%q", said)
	}
	g.Begin("c", "")
	must(t, os.WriteFile(app+"/.envrc", []byte("other"), 0o644))
	if said := g.End("c", ""); len(said) != 1 {
		t.Errorf("%q", said)
	}
	if text, _ := os.ReadFile(app + "/.envrc"); string(text) != "saved" {
		t.Errorf("%q", text)
	}
}

// TestStampsHold: a folder that has not changed for a while is not read again, and one that has changed is, however its other times are set.
func TestStampsHold(t *testing.T) {
	g, app := guard(t)
	must(t, os.MkdirAll(app+"/a/b", 0o755))
	old := time.Now().Add(-time.Hour)
	g.looker = &looker{Paths: g.Paths, now: func() time.Time { return time.Now().Add(time.Minute) }}
	g.look()
	first := g.looker.folders[app+"/a/b"]
	g.look()
	if runtime.GOOS == "linux" && g.looker.folders[app+"/a/b"] != first {
		t.Error("it is read again")
	}
	must(t, os.WriteFile(app+"/a/b/.envrc", nil, 0o644), os.Chtimes(app+"/a/b", old, old))
	if l := g.look(); len(l.Entries) != 1 {
		t.Errorf("%v", l.Entries)
	}
	must(t, os.Rename(app+"/a/b", app+"/c"), os.Mkdir(app+"/a/b", 0o755))
	if l := g.look(); len(l.Entries) != 1 || l.Entries[app+"/c/.envrc"].Kind != kindLater {
		t.Errorf("%v", l.Entries)
	}
	must(t, os.Mkdir(app+"/a/b/.vscode", 0o755), os.Mkdir(app+"/a/b/.vscode/x", 0o755))
	g.look()
	must(t, os.WriteFile(app+"/a/b/.vscode/x/y", nil, 0o644))
	if l := g.look(); len(l.Entries) != 2 {
		t.Errorf("%v", l.Entries)
	}
}

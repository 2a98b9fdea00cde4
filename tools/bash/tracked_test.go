package bash

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/toolstest"
)

// repository is a workspace that is a repository of git, in which the files are tracked.
func repository(t *testing.T, names ...string) *tools.Env {
	t.Helper()
	env := toolstest.Workspace(t, &txtar.Archive{})
	env.Commands.Runner = &scripted{level: "full"}
	commit(t, env.Paths.Cwd, names...)
	return env
}

func commit(t *testing.T, top string, names ...string) {
	t.Helper()
	for _, name := range names {
		at := filepath.Join(top, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte("KEY=1\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"git init -q", "git add .", "git -c user.name=x -c user.email=x@y commit -qm x"} {
		c := exec.Command("sh", "-c", line)
		c.Dir, c.Env = top, []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
}

// keysOf are the files of keys that a line reads, and "opaque" where it is not known to only read.
func keysOf(t *testing.T, env *tools.Env, line string) (found string) {
	t.Helper()
	needs := needsOf(t, env, line)
	if !needs[0].Shell.ReadOnly {
		return "opaque"
	}
	for _, n := range needs[1:] {
		if n.Place.Class().Is(sandbox.Secret) && !strings.Contains(found, env.Paths.Rel(n.Place.Path())) {
			found += " " + env.Paths.Rel(n.Place.Path())
		}
	}
	return strings.TrimSpace(found)
}

// TestCaseC20Tracked: a command of git that shows content reads each tracked file of keys that it may show, and no other does.
func TestCaseC20Tracked(t *testing.T) {
	env := repository(t, ".env", "src/a.go", "src/tls/id_rsa", ".env.example", "docs/x")
	const all = ".env src/tls/id_rsa"
	for line, want := range map[string]string{
		"git log -p": all, "git show": all, "git show HEAD": all, "git diff": all, "git diff --cached": all, "git grep KEY": all, "git grep -l KEY": all,
		"git diff-tree -p HEAD": all, "git stash show -p": all, "git stash show": all, "git stash list -p": all, "git range-diff a...b": all,
		"git cat-file -p HEAD^{tree}": all, "git cat-file blob 1234abcd": all, "git show 1234abcd": all, "git show --stat 1234abcd": all,
		"git status -v": all, "git log -S KEY=1": all, "git log -G KEY": all, "git reflog --cc": all, "git log -L 1,3:docs/x": all,
		"git diff --stat -p": all, "git log --oneline -3 -U1": all, "git whatchanged -p": all, "cd src && git diff": all, "git -C src log -p": all,
		"git diff -- '*.go'": all, "git diff -- ':!docs'": all, "git show 1234abcd -- docs": all, "git diff HEAD docs/x": all,
		"git diff -- src": "src/tls/id_rsa", "git log -p -- src/tls": "src/tls/id_rsa", "git show HEAD -- src/a.go docs": "", "git grep KEY -- docs": "",
		"cd src && git diff -- tls": "src/tls/id_rsa", "git diff -- .env": ".env", "git show HEAD:.env": ".env", "git show main:docs/x": "", "git show HEAD:docs/x HEAD": all, "git show HEAD:docs/x main:.env": ".env", "git show -p HEAD:docs/x": all, "git show --all HEAD:docs/x": all, "git blame .env": ".env", "git annotate .env": ".env",
		"git log": "", "git log --oneline -5": "", "git log --stat": "", "git status": "", "git diff --stat": "", "git diff --name-only HEAD~1": "",
		"git show --stat": "", "git show --name-only HEAD~2": "", "git show -s --format=%h": "", "git diff --quiet": "", "git ls-files": "",
		"git cat-file -t 1234abcd": "", "git diff-tree HEAD": "", "git blame docs/x": "", "git branch -a": "", "git rev-parse HEAD": "",
		"git stash list": "", "git diff --shortstat": "", "git reflog": "", "git diff -- .env.example": "",
		"git archive HEAD": "opaque", "git format-patch -1 --stdout": "opaque", "git cat-file --batch": "opaque", "git diff --submodule=diff": "opaque", "git log -L /a:b/,+3:docs/x": "opaque",
	} {
		if got := keysOf(t, env, line); got != want {
			t.Errorf("%s reads %q, want %q", line, got, want)
		}
	}
	if d := judgedBy(t, env, "git log -p"); d.Reason != "bash reads a file that holds keys or passwords (.env)" || !d.Once {
		t.Errorf("%+v", d)
	}
	benign := repository(t, "a.go", ".env.example", "docs/x")
	if err := os.WriteFile(filepath.Join(benign.Paths.Cwd, ".env"), nil, 0o600); err != nil { // not tracked
		t.Fatal(err)
	}
	for _, line := range []string{"git log -p", "git show HEAD", "git diff", "git grep KEY", "git stash show -p", "cd docs && git diff"} {
		if got := keysOf(t, benign, line); got != "" {
			t.Errorf("%s reads %q", line, got)
		}
	}
	none := toolstest.Workspace(t, &txtar.Archive{})
	none.Commands.Runner = &scripted{level: "full"}
	if got := keysOf(t, none, "git diff"); got != "" {
		t.Errorf("without a repository: %q", got)
	}
}

// What cannot be told is an ordinary command: an index of an unknown form, and keys that are tracked outside of the workspace.
func TestCaseC20TrackedUnknown(t *testing.T) {
	env := repository(t, "a.go")
	if err := os.WriteFile(filepath.Join(env.Paths.Cwd, ".git/index"), []byte("DIRC"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := keysOf(t, env, "git diff"); got != "opaque" {
		t.Errorf("%q", got)
	}
	if got := keysOf(t, env, "git diff --stat"); got != "" {
		t.Errorf("%q", got)
	}
	above := t.TempDir()
	commit(t, above, "sub/a.go", "other/b.go")
	inner := toolstest.Workspace(t, &txtar.Archive{})
	inner.Commands.Runner, inner.Paths = &scripted{level: "full"}, &sandbox.Paths{Cwd: above + "/sub", Read: []string{above + "/sub"}}
	if got := keysOf(t, inner, "git diff"); got != "" {
		t.Errorf("%q", got)
	}
	commit(t, above, "other/.env")
	if got := keysOf(t, inner, "git diff"); got != "opaque" {
		t.Errorf("%q", got)
	}
	if got := keysOf(t, inner, "git diff -- a.go"); got != "" {
		t.Errorf("%q", got)
	}
}

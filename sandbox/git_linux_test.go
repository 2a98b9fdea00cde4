package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs it outside of the sandbox, as the person does.
func (s *suite) git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// move is a line that renames, without the copy that mv makes where that fails.
func move(path string) string {
	return `perl -e 'rename("` + path + `", "` + path + `2") or exit 1'`
}

const commit = "git -c user.name=x -c user.email=x@y commit --allow-empty -qm x"

// TestCaseS02NestedRepositories: what git executes in repositories below the topmost one, with a .git of whatever form, cannot be
// changed by a command that begins after they were found. Commits work in all of them.
func TestCaseS02NestedRepositories(t *testing.T) {
	s := newSuite(t, LevelFull)
	must(t, os.RemoveAll(s.app+"/.git"))
	s.git(t, s.dir, "init", "-q", "-b", "main", "lib")
	s.git(t, s.dir+"/lib", "commit", "--allow-empty", "-qm", "x")
	s.git(t, s.app, "init", "-q", "-b", "main")
	s.git(t, s.app, "init", "-q", "vendor/deep")
	s.git(t, s.app, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", s.dir+"/lib", "mod")
	s.git(t, s.app, "commit", "-qm", "x")
	s.git(t, s.app, "worktree", "add", "-q", "tree")
	s.git(t, s.app, "config", "core.hooksPath", "tools/hooks")
	must(t, os.MkdirAll(s.app+"/tools/hooks", 0o755), os.WriteFile(s.app+"/tools/hooks/pre-push", nil, 0o755))
	must(t, os.Symlink("../../tools/shared", s.app+"/.git/hooks/post-merge"), os.WriteFile(s.app+"/tools/shared", nil, 0o755))
	s.in.Paths.Found([]string{s.app + "/.git", s.app + "/vendor/deep/.git"})
	s.blocked(t,
		"echo x >vendor/deep/.git/hooks/pre-commit", "git -C vendor/deep config core.fsmonitor ./x", move("vendor/deep/.git"),
		"echo ../evil >vendor/deep/.git/commondir", "echo x >.git/modules/mod/hooks/pre-commit", "git -C mod config core.fsmonitor ./x",
		"echo x >.git/worktrees/tree/config.worktree && echo ../evil >.git/worktrees/tree/commondir", move(".git/modules/mod"),
		"echo x >tools/hooks/pre-commit", "rm tools/hooks/pre-push", move("tools/hooks"), "echo x >tools/shared",
		move(".git/objects"), move(".git/refs"), "rmdir .git/refs",
	)
	s.may(t, commit, "cd mod && "+commit, "cd tree && "+commit, "cd vendor/deep && "+commit, "git status --short && git gc -q && git fsck")
	if class := s.in.Paths.Roots.classOfPath(s.app+"/tools/hooks/new", 0); class != LaterCode {
		t.Errorf("the folder that core.hooksPath names is %v", class)
	}
	for _, dir := range []string{".git", "vendor/deep/.git", ".git/modules/mod"} {
		if there(filepath.Join(s.app, dir, "commondir")) {
			t.Errorf("%s has a commondir", dir)
		}
	}
}

// TestCaseS04LinkedWorktree: where the repository of a root lies outside of it, commits work, and nothing else may be written there. A
// .git file that names a repository which knows nothing of it opens nothing.
func TestCaseS04LinkedWorktree(t *testing.T) {
	levels(t, func(t *testing.T, s *suite) {
		must(t, os.RemoveAll(s.app))
		main := s.dir + "/beside/main"
		s.git(t, s.dir, "init", "-q", "-b", "main", main)
		s.git(t, main, "commit", "--allow-empty", "-qm", "x")
		s.git(t, main, "config", "extensions.worktreeConfig", "true")
		s.git(t, main, "worktree", "add", "-q", s.app)
		s.folder = OpenFolder(s.app)
		defer s.folder.Close()
		s.may(t, "echo x >new && git add new && "+commit+" && git checkout -qb other && git status")
		if log := s.git(t, s.app, "log", "--format=%s", "other"); log != "x\nx" {
			t.Errorf("%q", log)
		}
		s.blocked(t, "echo x >"+main+"/new", "echo x >"+main+"/.git/hooks/pre-commit", "git config core.fsmonitor ./x", "echo x >"+main+"/.git/HEAD",
			"touch "+main+"/.git/commondir", move(main+"/.git/refs"))
		if s.full() {
			s.blocked(t, "echo ../evil >"+main+"/.git/worktrees/app/commondir", "echo x >"+main+"/.git/worktrees/app/config.worktree")
		}
		must(t, os.WriteFile(main+"/.git/worktrees/app/gitdir", []byte(s.dir+"/other/.git\n"), 0o644))
		s.blocked(t, commit)
	})
}

// TestCaseS04LinkedSubmodule: a root may be a submodule of a repository that lies above it.
func TestCaseS04LinkedSubmodule(t *testing.T) {
	s := newSuite(t, LevelFull)
	must(t, os.RemoveAll(s.app))
	s.git(t, s.dir, "init", "-q", "-b", "main", "lib")
	s.git(t, s.dir+"/lib", "commit", "--allow-empty", "-qm", "x")
	s.git(t, s.dir, "init", "-q", "-b", "main", ".")
	s.git(t, s.dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", s.dir+"/lib", "app")
	s.folder, s.in.Paths.Read = OpenFolder(s.app), []string{s.dir}
	defer s.folder.Close()
	s.may(t, "echo x >new && git add new && "+commit)
	git := s.dir + "/.git/modules/app"
	s.blocked(t, "echo x >"+git+"/hooks/pre-commit", "git config core.fsmonitor ./x", "echo ../evil >"+git+"/commondir", "touch "+s.dir+"/.git/x")
	s.git(t, git, "config", "core.worktree", "../../../lib")
	s.blocked(t, commit)
}

// TestFaultW13GitIsALink: git works in commands where the .git of a root is a link, or a file, that leads to a repository elsewhere. One
// that does not say that it belongs to the root is only read. What is hidden stays hidden.
func TestFaultW13GitIsALink(t *testing.T) {
	link := func(s *suite, to string) error { return os.Symlink(to, s.app+"/.git") }
	file := func(s *suite, to string) error { return os.WriteFile(s.app+"/.git", []byte("gitdir: "+to+"\n"), 0o644) }
	for _, c := range []struct {
		name, at, settings string
		lead               func(s *suite, to string) error
		sees, commits      bool
	}{
		{"a link", "store/q.git", "", link, true, false},
		{"a link to the folder of another work tree", "other/.git", "", link, true, false},
		{"a link to one of the root's own", "store/q.git", "[core]\n\tworktree = ../../app\n", link, true, true},
		{"a link to one of another root's own", "store/q.git", "[core]\n\tworktree = ../../other\n", link, false, false},
		{"a file", "store/q.git", "", file, true, false},
		{"a file for one of the root's own", "store/q.git", "[core]\n\tworktree = ../../app\n", file, true, true},
		{"a link to what is hidden", "home/.aws", "", link, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			levels(t, func(t *testing.T, s *suite) {
				must(t, os.RemoveAll(s.app+"/.git"))
				at := s.dir + "/" + c.at
				s.git(t, s.app, "init", "-q", "-b", "main")
				s.git(t, s.app, "add", "-f", "a.txt")
				s.git(t, s.app, "commit", "-qm", "x")
				must(t, os.RemoveAll(at), os.MkdirAll(filepath.Dir(at), 0o755), os.Rename(s.app+"/.git", at))
				config, err := os.ReadFile(at + "/config")
				must(t, err, os.WriteFile(at+"/config", append(config, c.settings...), 0o644), c.lead(s, at), os.WriteFile(s.app+"/a.txt", []byte("b\n"), 0o644))
				for _, profile := range []Profile{Loopback, ReadOnly} {
					o := s.does(t, profile, "git log --format=%s && git status --short a.txt")
					if (o.ExitCode == 0 && o.Stdout == "x\n M a.txt\n") != c.sees {
						t.Errorf("level %s, %v: %d %q %s", s.level, profile, o.ExitCode, o.Stdout, o.Stderr)
					}
				}
				before := listing(t, at)
				if o := s.does(t, Loopback, asGit+"git commit -qam y"); (o.ExitCode == 0) != c.commits {
					t.Errorf("level %s: a commit: %d %s", s.level, o.ExitCode, o.Stderr)
				}
				if !c.commits && listing(t, at) != before {
					t.Errorf("level %s: the repository was changed", s.level)
				}
				if !c.commits || s.full() {
					s.blocked(t, "git config core.fsmonitor ./x", "echo x >"+at+"/hooks/pre-commit")
				}
				if s.full() {
					s.blocked(t, "rm .git", "mv .git x", "ln -sfn sub .git")
				}
			})
		})
	}
}

package sandbox

import (
	"os"
	"strings"
	"testing"
)

// asGit begins a line that works in the repository of a suite as somebody.
const asGit = "export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@y GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@y; "

// harmed says where a hostile repository has made files outside of the workspace, or hooks.
func (s *suite) harmed(t *testing.T) {
	t.Helper()
	for _, name := range []string{s.home + "/ran", s.dir + "/beside/ran", "/etc/tandem-ran", s.app + "/.git/hooks/pre-commit", s.app + "/.git/hooks/post-checkout"} {
		if there(name) {
			t.Errorf("level %s: there is %s", s.level, name)
		}
	}
	if text, err := os.ReadFile(s.app + "/.git/hooks/pre-push"); err != nil || string(text) != "h" {
		t.Errorf("level %s: a hook was changed: %q, %v", s.level, text, err)
	}
}

// runsWhat is a program of the repository that tries to write everywhere, and reaches the workspace alone.
const runsWhat = "#!/bin/sh\ntouch ran\nfor f in \"$HOME/ran\" ../beside/ran /etc/tandem-ran; do touch \"$f\"; done\nif [ -f \"$1\" ]; then cat \"$1\"; fi\n"

// TestCaseG02G03G04Programs: what the settings of a repository make git run, runs in the sandbox like git itself.
func TestCaseG02G03G04Programs(t *testing.T) {
	levels(t, func(t *testing.T, s *suite) {
		for setting, line := range map[string]string{
			"[diff]\n\texternal = ./evil\n":                              "git diff",
			"[diff \"y\"]\n\ttextconv = ./evil\n":                        "git diff",
			"[filter \"y\"]\n\tclean = ./evil\n\tsmudge = ./evil\n":      "git status; git add a.txt",
			"[core]\n\tfsmonitor = ./evil\n":                             "git status",
			"[core]\n\thooksPath = ./hooks\n":                            "git commit -qm y --allow-empty",
			"[alias]\n\tst = !./evil a.txt\n":                            "git st",
			"[gpg]\n\tprogram = ./evil\n[commit]\n\tgpgSign = true\n":    "git commit -qm y --allow-empty",
			"[core]\n\teditor = ./evil\n[sequence]\n\teditor = ./evil\n": "unset GIT_EDITOR; git commit --allow-empty",
		} {
			must(t, os.WriteFile(s.app+"/evil", []byte(runsWhat), 0o755), os.MkdirAll(s.app+"/hooks", 0o755),
				os.WriteFile(s.app+"/hooks/pre-commit", []byte(runsWhat), 0o755), os.WriteFile(s.app+"/.gitattributes", []byte("*.txt diff=y filter=y\n"), 0o644),
				os.WriteFile(s.app+"/.git/config", []byte("[core]\n"), 0o644))
			s.does(t, Loopback, asGit+"git add -f a.txt; git commit -qm x; echo b >>a.txt")
			must(t, os.WriteFile(s.app+"/.git/config", []byte("[core]\n\trepositoryformatversion = 0\n"+setting), 0o644))
			s.does(t, Loopback, asGit+line)
			if !there(s.app + "/ran") {
				t.Errorf("level %s: %s did not run what %q names: nothing is tested", s.level, line, setting)
			}
			_ = os.Remove(s.app + "/ran")
			s.harmed(t)
		}
	})
}

// TestCaseG05Remotes: a remote that is a program runs in the sandbox or not at all, and reaches no network.
func TestCaseG05Remotes(t *testing.T) {
	levels(t, func(t *testing.T, s *suite) {
		must(t, os.WriteFile(s.app+"/evil", []byte(runsWhat), 0o755), os.WriteFile(s.app+"/.git/config", []byte("[core]\n\tsshCommand = ./evil\n"+
			"[remote \"origin\"]\n\turl = ssh://example.org/x\n[credential]\n\thelper = !./evil\n[url \"ext::./evil \"]\n\tinsteadOf = https://\n"), 0o644))
		s.blocked(t, "git fetch", "git fetch https://example.org/x", "git ls-remote ext::./evil", "git clone ext::./evil c", "git push")
		s.harmed(t)
	})
}

// TestCaseG06BareRepository: a folder that is laid out as a bare repository is one for git, which runs in the sandbox.
func TestCaseG06BareRepository(t *testing.T) {
	levels(t, func(t *testing.T, s *suite) {
		must(t, os.WriteFile(s.app+"/evil", []byte(runsWhat), 0o755), os.MkdirAll(s.app+"/bare/objects", 0o755), os.MkdirAll(s.app+"/bare/refs", 0o755),
			os.WriteFile(s.app+"/bare/HEAD", []byte("ref: refs/heads/main\n"), 0o644),
			os.WriteFile(s.app+"/bare/config", []byte("[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = "+s.app+"\n\tfsmonitor = "+s.app+"/evil\n"), 0o644))
		s.does(t, Loopback, "cd bare && git status")
		if !there(s.app + "/ran") {
			t.Error("git did not take it for a repository: nothing is tested")
		}
		s.harmed(t)
	})
}

// TestCaseG07OtherOwner: git refuses a repository of another user, and nothing tells it otherwise. Only root can make one.
func TestCaseG07OtherOwner(t *testing.T) {
	if os.Getuid() != 0 {
		return
	}
	levels(t, func(t *testing.T, s *suite) {
		must(t, os.Chown(s.app, 65534, 65534), os.Chown(s.app+"/.git", 65534, 65534))
		o := s.does(t, Loopback, "git status")
		if o.ExitCode == 0 || !strings.Contains(o.Stderr, "dubious ownership") {
			t.Errorf("%+v", o)
		}
		if o := s.does(t, Loopback, "git config --get-all safe.directory; env | grep GIT_CONFIG"); o.Stdout != "" {
			t.Errorf("%q", o.Stdout)
		}
	})
}

// TestCaseG08Trees: a tree with .git in some spelling is not checked out, and no link in one leads a checkout into .git.
func TestCaseG08Trees(t *testing.T) {
	levels(t, func(t *testing.T, s *suite) {
		// tree NAME is a tree with the hook below a folder of that name; linked is a link, and then a folder, of one name.
		s.may(t, asGit+`blob=$(echo evil | git hash-object -w --stdin)
			hooks=$(printf '100755 blob %s\tpre-commit\n' $blob | git mktree)
			for name in .git .GIT .git. git~1 ".gi$(printf '\342\200\214')t"; do
				tree=$(printf '040000 tree %s\t%s\n' $(printf '040000 tree %s\thooks\n' $hooks | git mktree) "$name" | git mktree)
				git update-ref "refs/heads/x$((n += 1))" $(git commit-tree -m x $tree)
			done
			link=$(printf .git/hooks | git hash-object -w --stdin)
			git update-ref refs/heads/linked $(git commit-tree -m x $(printf '120000 blob %s\tdir\n' $link | git mktree))
			git update-ref refs/heads/folder $(git commit-tree -m x $(printf '040000 tree %s\tdir\n' $hooks | git mktree))`)
		for _, branch := range []string{"x1", "x2", "x3", "x4", "x5"} {
			if o := s.does(t, Loopback, "git -c core.protectHFS=true checkout -qf "+branch); o.ExitCode == 0 {
				t.Errorf("level %s: %s is checked out", s.level, branch)
			}
		}
		s.may(t, "git checkout -qf linked && [ -L dir ]", "git checkout -qf folder && [ -f dir/pre-commit ] && [ ! -L dir ]")
		if s.full() {
			s.blocked(t, "git checkout -qf linked && echo x >dir/pre-commit")
		}
		s.harmed(t)
	})
}

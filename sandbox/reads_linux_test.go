package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostile is a program of a repository: it says that it runs, and tries to change and to plant files there.
const hostile = "#!/bin/sh\necho RAN >&2\nd=$(dirname \"$0\")\necho changed >\"$d/a.txt\"; echo id >\"$d/.envrc\"; mkdir -p \"$d/.vscode\"; echo '{}' >\"$d/.vscode/x.json\"\n" +
	"echo x >\"$d/.git/hooks/pre-commit\"; rm -f \"$d/b.txt\"; mv \"$d/sub\" \"$d/gone\"; ln -s / \"$d/link\"; cat \"$d/.env\" >&2\ncat\n"

// listing is everything below a folder, with its text.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		all.WriteString(path + " " + info.Mode().String())
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all.Write(text)
		}
		all.WriteByte('\n')
		return nil
	}))
	return all.String()
}

// TestFaultS1ReadOnly: a command that only reads leaves a hostile repository as it is, whatever git is made to run there. What can be
// told to git beforehand does not run at all; quiet says so.
func TestFaultS1ReadOnly(t *testing.T) {
	const bare = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ../..\n\tfsmonitor = ../../evil\n"
	cases := []struct {
		name, settings, embedded, line string
		quiet                          bool
	}{
		{"monitor", "[core]\n\tfsmonitor = ./evil\n", "", "git status --short", true},
		{"monitor of a program that calls git", "[core]\n\tfsmonitor = ./evil\n", "", "sh -c 'git ls-files -m; git diff --stat'", true},
		{"embedded repository", "", bare, "cd sub/data && git status", true},
		{"signature", "[log]\n\tshowSignature = true\n[gpg]\n\tprogram = ./evil\n", "", "git log -1", true},
		{"diff", "[diff]\n\texternal = ./evil\n", "", "git diff", false},
		{"textconv", "[diff \"y\"]\n\ttextconv = ./evil\n", "", "git diff", false},
		{"filter", "[filter \"y\"]\n\tclean = ./evil\n", "", "git status", false},
		{"filter process", "[filter \"y\"]\n\tprocess = ./evil\n", "", "git diff", false},
	}
	levels(t, func(t *testing.T, s *suite) {
		for _, c := range cases {
			_ = os.RemoveAll(s.app + "/sub")
			must(t, os.WriteFile(s.app+"/evil", []byte(hostile), 0o755), os.WriteFile(s.app+"/.gitattributes", []byte("*.txt diff=y filter=y\n"), 0o644),
				os.WriteFile(s.app+"/.git/config", []byte("[core]\n"), 0o644), os.WriteFile(s.app+"/a.txt", []byte("one\n"), 0o644),
				os.WriteFile(s.app+"/b.txt", nil, 0o644), os.MkdirAll(s.app+"/sub/data/objects", 0o755), os.MkdirAll(s.app+"/sub/data/refs", 0o755))
			s.does(t, Loopback, asGit+"git add -f a.txt; git commit -qm x --allow-empty; echo two >a.txt")
			must(t, os.WriteFile(s.app+"/.git/config", []byte("[core]\n\trepositoryformatversion = 0\n"+c.settings), 0o644))
			if c.embedded != "" {
				must(t, os.WriteFile(s.app+"/sub/data/config", []byte(c.embedded), 0o644), os.WriteFile(s.app+"/sub/data/HEAD", []byte("ref: refs/heads/main\n"), 0o644))
			}
			before := listing(t, s.app)
			o := s.does(t, ReadOnly, c.line)
			if listing(t, s.app) != before {
				t.Errorf("%s, level %s: the workspace was changed: %s%s", c.name, s.level, o.Stdout, o.Stderr)
			}
			if said := o.Stdout + o.Stderr; strings.Contains(said, "RAN") == c.quiet {
				t.Errorf("%s, level %s: %s", c.name, s.level, said)
			} else if s.full() && strings.Contains(said, "KEY=1") {
				t.Errorf("%s, level %s: it shows the keys of the workspace: %s", c.name, s.level, said)
			}
		}
	})
}

// TestFaultS1Settings: git has the settings where a command only reads, whatever a person has put into the environment, and only there.
func TestFaultS1Settings(t *testing.T) {
	s := newSuite(t, LevelFull)
	s.in.Pass = append(s.in.Pass, "GIT_OPTIONAL_LOCKS=1")
	o := s.does(t, ReadOnly, "git config safe.bareRepository; git config core.fsmonitor; echo $GIT_OPTIONAL_LOCKS")
	if o.Stdout != "explicit\nfalse\n0\n" {
		t.Errorf("%q %q", o.Stdout, o.Stderr)
	}
	if o := s.does(t, Loopback, "git config safe.bareRepository; git config core.fsmonitor"); o.Stdout != "" {
		t.Errorf("an ordinary command: %q", o.Stdout)
	}
}

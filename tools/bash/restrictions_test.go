package bash

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/sandbox"
	"tandem/tools/toolstest"
)

// TestFaultW13Words: a command that failed names what the sandbox refused, and the setting that changes it, if the policy itself refuses
// the path that its error message names. The words alone say nothing.
func TestFaultW13Words(t *testing.T) {
	env := toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{{Name: "disk/a.txt"}, {Name: "disk/.git/config"}, {Name: "disk/.git/HEAD"}}})
	cwd := env.Paths.Cwd
	outside := sandbox.Canonical(filepath.Dir(cwd)) // temporary files of the host, which commands have of their own
	if err := os.MkdirAll(cwd+"/.git/hooks", 0o755); err != nil {
		t.Fatal(err)
	}
	env.Paths.Home = outside
	const write, protects, still, network = "writeRoots", "keeps commands from changing", "only reads", "sandbox.network"
	none, net, local := sandbox.Refused{}, sandbox.Refused{Network: true}, sandbox.Refused{Unix: true}
	const part, full = sandbox.LevelPart, ""
	for _, c := range []struct {
		profile sandbox.Profile
		stderr  string
		refused sandbox.Refused
		level   string
		want    []string
	}{
		{sandbox.Loopback, "bash: line 1: /etc/none: Read-only file system", none, "", []string{write}},
		{sandbox.Loopback, "touch: cannot touch '/etc/none': Read-only file system\ncp: cannot create '/etc/x': Read-only file system", none, "", []string{write}},
		{sandbox.Loopback, "OSError: [Errno 30] Read-only file system: '/usr/x'", none, "", []string{write}},
		{sandbox.Loopback, "bash: line 1: .git/hooks/pre-commit: Read-only file system", none, "", []string{protects}},
		{sandbox.Loopback, "error: could not write config file " + cwd + "/.git/config: Device or resource busy", none, "", []string{protects}},
		{sandbox.ReadOnly, "touch: cannot touch 'a.txt': Read-only file system", none, "", []string{still}},
		{sandbox.Loopback, "curl: (6) Could not resolve host", net, "", []string{network}},
		{sandbox.Loopback, "curl: (6) Could not resolve host", none, "", nil},
		{sandbox.Loopback, "touch: cannot touch 'a.txt': Read-only file system", none, "", nil}, // not by us
		{sandbox.Loopback, "cat: /etc/none: Permission denied", none, "", nil},                  // may be its mode
		{sandbox.Loopback, "cat: /etc/none: No such file or directory", none, "", nil},
		{sandbox.Loopback, "Read-only file system", none, "", nil},
		{sandbox.Loopback, "/etc/none\nRead-only file system", none, "", nil},
		{sandbox.Loopback, "bash: /etc/none: Read-only file system\n" + strings.Repeat("x", maxErrors), none, "", nil},
		{sandbox.Loopback, "docker: cannot connect", local, full, []string{"Unix socket"}},
		{sandbox.Loopback, "docker: /var/run/docker.sock: connect: permission denied", none, full, nil},
		{sandbox.ReadOnly, "", net, full, []string{"only reads"}},
		{sandbox.Write, "", net, full, []string{"sandbox.network` is deny"}},
		{sandbox.Proxy, "", net, full, []string{"HTTPS_PROXY"}},
		{sandbox.Loopback, "", net, part, []string{"its level is landlock+seccomp"}},
		{sandbox.Loopback, "", local, part, []string{"Unix socket"}},
		{sandbox.Loopback, "bash: line 1: /etc/none: Permission denied", none, part, []string{write}},
		{sandbox.Loopback, "bash: line 1: .git/hooks/pre-commit: Permission denied", none, part, nil}, // Landlock does not keep it
		{sandbox.Loopback, "touch: cannot touch 'a.txt': Permission denied", none, part, nil},
		{sandbox.Loopback, "bash: line 1: /etc/none: No such file or directory", none, part, nil},
		{sandbox.Loopback, "", net, sandbox.LevelNone, nil},
		{sandbox.Unconfined, "bash: /etc/none: Read-only file system", net, "", nil},
	} {
		r := ran{c.profile, cmp.Or(c.level, sandbox.LevelFull), cwd, c.stderr, c.refused}
		said := restrictions(env, r)
		if len(said) != len(c.want) || slices.ContainsFunc(c.want, func(w string) bool { return !strings.Contains(strings.Join(said, "\n"), w) }) {
			t.Errorf("%v, %q: %q", c.profile, c.stderr, said)
		}
	}
}

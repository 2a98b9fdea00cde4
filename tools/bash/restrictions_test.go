package bash

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/sandbox"
	"tandem/tools"
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
	place, err := env.Paths.Readable(".")
	if err != nil {
		t.Fatal(err)
	}
	const write, protects, still, network = "writeRoots", "keeps commands from changing", "only reads", "sandbox.network"
	for _, c := range []struct {
		profile     sandbox.Profile
		stderr      string
		unreachable bool
		want        []string
	}{
		{sandbox.Loopback, "bash: line 1: /etc/none: Read-only file system", false, []string{write}},
		{sandbox.Loopback, "touch: cannot touch '/etc/none': Read-only file system\ncp: cannot create '/etc/x': Read-only file system", false, []string{write}},
		{sandbox.Loopback, "OSError: [Errno 30] Read-only file system: '/usr/x'", false, []string{write}},
		{sandbox.Loopback, "bash: line 1: .git/hooks/pre-commit: Read-only file system", false, []string{protects}},
		{sandbox.Loopback, "error: could not write config file " + cwd + "/.git/config: Device or resource busy", false, []string{protects}},
		{sandbox.ReadOnly, "touch: cannot touch 'a.txt': Read-only file system", false, []string{still}},
		{sandbox.Loopback, "curl: (6) Could not resolve host", true, []string{network}},
		{sandbox.Loopback, "curl: (6) Could not resolve host", false, nil},
		{sandbox.Loopback, "touch: cannot touch 'a.txt': Read-only file system", false, nil}, // not by us
		{sandbox.Loopback, "cat: /etc/none: Permission denied", false, nil},                  // may be its mode
		{sandbox.Loopback, "cat: /etc/none: No such file or directory", false, nil},
		{sandbox.Loopback, "Read-only file system", false, nil},
		{sandbox.Loopback, "/etc/none\nRead-only file system", false, nil},
		{sandbox.Loopback, "bash: /etc/none: Read-only file system\n" + strings.Repeat("x", maxErrors), false, nil},
		{sandbox.Unconfined, "bash: /etc/none: Read-only file system", true, nil},
	} {
		need := tools.Need{Act: tools.Runs, Place: place, Profile: c.profile, Confined: c.profile != sandbox.Unconfined}
		o := sandbox.Outcome{ExitCode: 1, Stderr: c.stderr, Level: sandbox.LevelFull, Unreachable: c.unreachable}
		said := restrictions(env, need, o, nil)
		if len(said) != len(c.want) || slices.ContainsFunc(c.want, func(w string) bool { return !strings.Contains(strings.Join(said, "\n"), w) }) {
			t.Errorf("%v, %q: %q", c.profile, c.stderr, said)
		}
		o.ExitCode = 0
		if said := restrictions(env, need, o, nil); said != nil {
			t.Errorf("a success: %q", said)
		}
	}
}

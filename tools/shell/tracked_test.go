package shell

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCaseC20TrackedMarks gives git commands with the options of the table, one by one and several at once: where one prints what a
// tracked file of keys holds, the marks of the table say so.
func TestCaseC20TrackedMarks(t *testing.T) {
	const canary = "canary-5150"
	top := t.TempDir()
	run := func(args ...string) string {
		c := exec.Command("git", args...)
		c.Dir = top
		c.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_PAGER=cat", "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@y",
			"GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@y",
		}
		out, _ := c.CombinedOutput()
		return string(out)
	}
	write := func(text string) {
		for _, name := range []string{".env", "a.go"} {
			if name == "a.go" {
				text = strings.ReplaceAll(text, canary, "plain")
			}
			if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	run("init", "-q", "-b", "main")
	for _, text := range []string{"1\nKEY=" + canary + "\n2\n", "1\nKEY=" + canary + "-b  \n2\n3\n"} { // blanks at the end are for --check
		write(text)
		run("add", ".")
		run("commit", "-qm", "x")
	}
	run("branch", "side", "HEAD~1")
	run("checkout", "-q", "side")
	write("1\nKEY=" + canary + "-c\n2\n4\n")
	run("commit", "-qam", "y")
	run("checkout", "-q", "main")
	run("merge", "-q", "side")
	write("1\nKEY=" + canary + "-merged\n2\n5\n")
	run("commit", "-qam", "merged")
	write("1\nKEY=" + canary + "-stash\n2\n6\n")
	run("stash")
	write("1\nKEY=" + canary + "-index \n2\n7\n")
	run("add", ".")
	write("1\nKEY=" + canary + "-tree \n2\n8\n")
	blob := strings.TrimSpace(run("rev-parse", "HEAD:.env"))
	if !strings.Contains(run("cat-file", "-p", blob), canary) || !strings.Contains(run("stash", "show", "-p"), canary) {
		t.Fatal("the repository is not as it should be")
	}
	values := map[string][]string{
		"text": {"1", "KEY", "plain", "color"}, "num": {"1"}, "path": {"."}, "rev": {"1,3:a.go", "1,3:.env"}, "gitfmt": {"%h"}, "submodule": {"log"},
	}
	options := func(p *program) (out []string) {
		for name, o := range p.options {
			if o.kind == "" || o.optional {
				out = append(out, name)
			}
			for _, v := range values[o.kind] {
				if out = append(out, name+"="+v); !strings.HasPrefix(name, "--") {
					out[len(out)-1] = name + v
				}
			}
		}
		slices.Sort(out)
		return out
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	shown := 0
	for name, p := range programs() {
		sub, isGit := strings.CutPrefix(name, "git ")
		if !isGit || strings.HasPrefix(sub, "-") {
			continue
		}
		all := options(p)
		tails := [][]string{nil, {"HEAD"}, {"HEAD", "side"}, {blob}, {"main..side", "side..main"}, {"HEAD:a.go"}, {"HEAD:a.go", "HEAD:.env"}, {"HEAD:a.go", "side"}}
		if strings.Contains(name, "grep") {
			tails = [][]string{{"KEY"}, {"KEY", "HEAD"}}
		}
		var lines [][]string
		for _, tail := range tails {
			lines = append(lines, tail)
			for range 3 {
				var args []string
				for range 1 + rnd.IntN(3) {
					if len(all) > 0 {
						args = append(args, all[rnd.IntN(len(all))])
					}
				}
				lines = append(lines, append(args, tail...))
			}
		}
		for _, o := range all {
			lines = append(lines, append([]string{o}, tails[0]...))
		}
		for _, args := range lines {
			argv := append(strings.Fields(name), args...)
			reads, _, why := onlyReads(argv)
			out := run(argv[1:]...)
			if why != "" || !strings.Contains(out, canary) {
				continue
			}
			shown++
			if !slices.ContainsFunc(reads, func(r Read) bool { return r.Extent == Tracked || r.Path == ".env" }) {
				t.Errorf("%q prints what .env holds, and reads %v", argv, reads)
			}
		}
	}
	if shown < 150 {
		t.Errorf("only %d commands have printed it", shown)
	}
}

package bash

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/jobs"
	"tandem/tools/toolstest"
)

// TestFaultW15FilesThatWordsName: what a pattern, a loop or a runner opens by name is judged as if the name stood in the line; where a name
// could be taken for something else, it is an ordinary command.
func TestFaultW15FilesThatWordsName(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		links map[string]string
		lines map[string]string
	}{
		"plain names": {[]string{"a.txt", "src/b.go", "src/deep/c.go"}, nil, map[string]string{
			"cat *.txt": "", "for f in src/*.go; do cat \"$f\"; done": "", "find . -name '*.go' | xargs wc -l": "", "find . -exec cat {} +": "", "head $(ls)": "",
			"cat ../*": "opaque", "cat /etc/host*": "opaque", "for f in /etc/passwd; do cat \"$f\"; done": "opaque", "find /etc -name x | xargs cat": "opaque", "cat /*": "opaque",
			"ls \"$(pwd)/src\"": "", "d=../..; ls \"$d\"": "opaque", "echo /etc/passwd | xargs cat": "opaque", "cat \"$HOME/x\"": "opaque",
		}},
		"keys": {[]string{"a.txt", ".env", "sub/.env"}, nil, map[string]string{
			"cat *": "", "cat .e*": ".env", "cat .*": ".env", "for f in .env a.txt; do cat \"$f\"; done": ".env", "find . -exec cat {} +": "sub/.env", "ls -A | xargs cat": "sub/.env", "ls -a | xargs cat": "opaque", "for d in $(ls -a); do cat \"$d/x\"; done": "opaque",
			"cat */.env": "sub/.env", "echo .env | xargs cat": ".env", "f=.env; head \"$f\"": ".env", "cat < .env": ".env", "while read -r l; do echo \"$l\"; done < .env": ".env", "cat sub/.??*": "sub/.env",
		}},
		"blanks": {[]string{"a.txt", "x .env.txt"}, nil, map[string]string{
			"cat *.txt": "", "for f in *.txt; do cat \"$f\"; done": "", "for f in *.txt; do cat $f; done": "opaque", "ls | xargs cat": "opaque", "find . | xargs head": "opaque",
			"find . -print0 | xargs -0 cat": "", "find . -exec cat {} \\;": "", "cat $(ls)": "opaque",
		}},
		"dashes": {[]string{"-r", "a.txt"}, nil, map[string]string{
			"cat *": "opaque", "cat ./*": "", "for f in *; do grep foo \"$f\"; done": "opaque", "git ls-files | xargs wc": "opaque", "ls | xargs grep foo": "opaque",
		}},
		"line ends": {[]string{"a\n.txt"}, nil, map[string]string{"find . -exec cat {} +": "opaque", "cat *": "opaque", "ls | while read -r f; do cat \"$f\"; done": "opaque"}},
		"links": {[]string{"a.txt"}, map[string]string{"out": "/etc/passwd"}, map[string]string{
			"cat *": "opaque", "find . -exec cat {} +": "opaque", "ls | xargs cat": "opaque", "cat *.txt": "", "ls -la": "",
		}},
	} {
		env := toolstest.Workspace(t, &txtar.Archive{})
		env.Commands.Runner = &scripted{level: "full"}
		for _, file := range c.files {
			at := filepath.Join(env.Paths.Cwd, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte("KEY=1\n"), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		for link, to := range c.links {
			if err := os.Symlink(to, filepath.Join(env.Paths.Cwd, link)); err != nil {
				t.Fatal(err)
			}
		}
		for line, want := range c.lines {
			if got := keysOf(t, env, line); got != want {
				t.Errorf("%s: %s: %q, want %q: %s", name, line, got, want, needsOf(t, env, line)[0].Shell.Opaque)
			}
		}
	}
}

// TestFaultS10FloodIsCopiedFewTimes: an answer of a flood takes a few times the memory of what is kept of it, whatever it consists of.
func TestFaultS10FloodIsCopiedFewTimes(t *testing.T) {
	for name, line := range map[string]string{"lines": "some words\n", "one line": "words", "wide": "日本語", "returns": "a line\r\n", "colours": "\x1b[31mred\x1b[0m\n"} {
		for _, kept := range []int{maxOutput, 8 * maxOutput} { // what cannot be told from a fixed cost by one of them
			k := sandbox.NewKept(kept)
			part := []byte(strings.Repeat(line, 1000))
			taken := allocated(func() {
				for n := 0; n < 4*kept; n += len(part) {
					k.Write(part)
				}
			})
			var o sandbox.Outcome
			taken += allocated(func() {
				o.Stdout, o.StdoutGap = k.Output()
				o.Stderr, o.StderrGap = o.Stdout, o.StdoutGap
			})
			var r tools.Result
			taken += allocated(func() { r = answer("flood", o, 0) })
			if want := int64(10*kept + 8*maxValue + 1<<20); taken > want || len(r.Gaps) != 2 {
				t.Errorf("%s: %d bytes allocated for twice %d, want %d at most; %d gaps", name, taken, kept, want, len(r.Gaps))
			}
			look := allocated(func() { looked(jobs.Look{Text: o.Stdout, Gap: o.StdoutGap}) })
			if want := int64(4*kept + 8*maxValue); look > want {
				t.Errorf("%s: %d bytes allocated for a look at %d, want %d at most", name, look, kept, want)
			}
		}
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

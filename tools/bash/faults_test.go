package bash

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

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
		env.Runner = &scripted{level: "full"}
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

package shell

import (
	"slices"
	"strings"
	"testing"
)

// TestKnown: which commands an allow rule with * may cover: those of which a table has every option, by the bare name of their program.
func TestKnown(t *testing.T) {
	for line, want := range map[string]bool{
		"":                        false,
		"ls -la":                  true,
		"ls x --":                 true,
		"ls -- -l":                true,
		"/bin/ls":                 false,
		"./ls":                    false,
		"ls --what":               false,
		"npm test":                true,
		"npm test x":              true,
		"npm test --":             true,
		"npm test -- a":           true,
		"npm test -- --exec":      false,
		"ls -- --all":             false,
		"npm test -- a -xy":       false,
		"npm exec x":              false,
		"git --no-pager add a":    true,
		"git --no-pager":          false,
		"git --no-pager log":      true,
		"git add a":               true,
		"git add -p":              false,
		"git":                     false,
		"git -c a=b add a":        false,
		"go --no-pager test":      false,
		"go test ./...":           true,
		"go test -exec x ./...":   false,
		"go test --run=x ./...":   true,
		"go test -run x":          true,
		"go test -o x":            false,
		"make":                    true,
		"make -f x":               false,
		"test -f a":               true,
		"test -v a":               false,
		"[ -f a ]":                true,
		"[ -f a":                  false,
		"[":                       false,
		"sh -c ls":                false,
		"env ls":                  false,
		"xargs ls":                false,
		"python3 a.py":            false,
		"tar tf a.tar":            true,
		"tar xf a.tar":            false,
		"curl -sS http://a/":      true,
		"curl -o x http://a/":     false,
		"git push origin main":    true,
		"git push ext::sh main":   false,
		"git push ../x main":      false,
		"git log --format=%an":    true,
		"git log --format=%GK":    false,
		"sed -n 1,5p a":           true,
		"sed s/a/b/e a":           false,
		"find . -name x":          true,
		"find . -delete":          false,
		"find . -exec ls {} ;":    false,
		"gcc -Wall -c a.c":        true,
		"gcc -Wl,-plugin,x -c a":  false,
		"git commit -m x":         true,
		"git commit -S -m x":      false,
		"git config --get user.x": true,
		"git config user.x y":     false,
	} {
		if got := Known(strings.Fields(line)); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// TestScripts: which commands do what files say, and which files these are.
func TestScripts(t *testing.T) {
	for _, tt := range []struct {
		line             string
		manifests, words []string
		ok               bool
	}{
		{"", nil, nil, false},
		{"ls a", nil, nil, false},
		{"make", []string{"GNUmakefile", "makefile", "Makefile"}, nil, true},
		{"make test", []string{"GNUmakefile", "makefile", "Makefile"}, []string{"test"}, true},
		{"/usr/bin/make -f=x", []string{"GNUmakefile", "makefile", "Makefile"}, []string{"/usr/bin/make", "-f=x", "x"}, true},
		{"./build.sh a --file=b --end=", nil, []string{"./build.sh", "a", "--file=b", "b", "--end="}, true},
		{"bash a.sh", []string{}, []string{"a.sh"}, true},
		{"perl5.36 a.pl", []string{}, []string{"a.pl"}, true},
		{"12 a", nil, nil, false},
		{"cargo build", []string{"Cargo.toml", "build.rs"}, []string{"build"}, true},
	} {
		manifests, words, ok := Scripts(strings.Fields(tt.line))
		if !slices.Equal(manifests, tt.manifests) || !slices.Equal(words, tt.words) || ok != tt.ok {
			t.Errorf("%q: %q, %q, %v", tt.line, manifests, words, ok)
		}
	}
	if m, _, _ := Scripts([]string{"python3"}); !slices.Contains(m, "pyproject.toml") || !slices.Contains(m, "Pipfile") {
		t.Errorf("a row that goes on in the next line: %q", m)
	}
	for name := range scripts() {
		if strings.HasPrefix(name, "#") || name == "" {
			t.Errorf("%q is a row", name)
		}
	}
}

// TestSpellingsOfUnknownGit: a subcommand of git that is none of its own may be any, since an alias may stand behind it.
func TestSpellingsOfUnknownGit(t *testing.T) {
	for line, want := range map[string]bool{
		"git co x": true, "git -C a co": true, "git -c x=y co": true, "git --no-pager co": true, "git update-index x": true, "git-co x": true,
		"git add x": false, "git log": false, "git ls-files": false, "git merge-base a b": false, "git": false, "git -C a": false, "git -C": false,
		"git --git-dir a push": false, "git --version": false, "git stash list": false, "git push": false, "ls co": false,
	} {
		forms := Spellings(strings.Fields(line))
		if got := slices.ContainsFunc(forms, func(f []string) bool { return slices.Equal(f, []string{"git", ""}) }); got != want {
			t.Errorf("%q: %q", line, forms)
		}
	}
	if forms := Spellings([]string{"git", "push", "x"}); len(forms) != 1 {
		t.Errorf("one spelling twice: %q", forms)
	}
}

// TestRemoves: a line that only removes what it names says what that is; where a part of it is not known, or more is dangerous, it says
// nothing.
func TestRemoves(t *testing.T) {
	for line, want := range map[string]string{
		"rm -rf build":                "/w/build",
		"rm -rf a b && ls":            "/w/a /w/b",
		"rm -rf -- -x":                "/w/-x",
		"rm -r -f a -v":               "/w/a",
		"rm -rf /w/a/./b":             "/w/a/b",
		"rm -rf a; rm -r b":           "/w/a /w/b",
		"rm -rf '*'":                  "/w/*",
		"rm -rf *":                    "",
		"rm -rf $x":                   "",
		"rm -rf a $x":                 "",
		"rm -rf a/../b":               "",
		"rm -rf ~/a":                  "",
		"cd a; rm -rf b":              "",
		"rm -rf a; git push -f":       "",
		"rm -rf a > log":              "",
		"env rm -rf a":                "",
		"for f in a; do rm -rf a; do": "",
		"rm a":                        "",
		"rm -rf a; sudo ls":           "",
		"chmod -R 700 a":              "",
		"ls | xargs rm -rf a":         "",
		"rm -rf a < b":                "",
	} {
		c := parse(line, "/w", "/home/u")
		if got := strings.Join(c.Removes, " "); got != want {
			t.Errorf("%q removes %q, want %q", line, got, want)
		}
		if want != "" && (c.Danger != Dangerous || c.Risk == "") {
			t.Errorf("%q: %+v", line, c)
		}
	}
}

// TestLiteral: which lines are all that their words say.
func TestLiteral(t *testing.T) {
	for line, want := range map[string]bool{
		"npm test": true, "a | b && c || d; e": true, "a 'b c' \"d\" e\\ f": true, "a > /dev/null 2>&1": true, "a 2> /dev/stderr": true, "a &> /dev/null": true, "a < /dev/null": true,
		"a <b": false, "a | b <c": false, "a 3> /dev/null": false, "a > b": false, "a >> /dev/stdout": true, "a &> /dev/stdout": false, "a >&3": false, "x=1 a": false, "x=1": false,
		"a &": false, "a $x": false, "a *": false, "a ~": false, "a x=~": false, "a x:~/b": false, "a x~": true, "a {b,c}": false, "a {b}": true, "a {'b',c}": false, "a {b','c}": false,
		"a b..c": true, "a [": true, "a [b]": false, "a $'b'": false, "a $\"b\"": false, "a \"b\\c\"": true, "a \"\\$b\"": true, "a \"\\\"b\"": true,
		"env a": false, "a | xargs b": false, "time a": false, "! a": true, "(a)": false, "{ a; }": false, "if a; then b; fi": false,
		"alias a=b": false, "set -e": false, "eval a": false, "exec a": false, "source a": false, "export a": false, "unset a": false, "%1": false, "fi a": false, "[[ a ]]": false,
		"printf x": true, "printf -v x y": false, "printf %n x": false, "printf": true, "printf -- x": false, "echo -v %n": true, "bash -c a": false, "find . -exec a \\;": false,
		"find . -name a": true, "cd a": true, "pushd a": false, "command -v a": true, "": false, "a\nb": true, "a # b": true, "a; ": true,
	} {
		if got := parse(line, "/w").Literal; got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// TestCalls: the commands of a line, wherever they stand in it; a word that is known only when it runs is empty.
func TestCalls(t *testing.T) {
	for line, want := range map[string]string{
		"a b | c":                "a b|c",
		"a $x \"$y\" z*":         "a   ",
		"env -i X=1 a b":         "env -i X=1 a b|a b",
		"xargs":                  "xargs",
		"xargs a":                "xargs a|a ",
		"xargs -I{} a {} b":      "xargs -I{} a {} b|a  b ",
		"xargs -I X a X b{}":     "xargs -I X a X b{}|a   ",
		"xargs -i a {}":          "xargs -i a {}|  ",
		"xargs --replace=Y a Y":  "xargs --replace=Y a Y|  ",
		"xargs -IX -n 1 a bXc d": "xargs -IX -n 1 a bXc d|a  d ",
		"parallel a {} ::: b":    "parallel a {} ::: b|a  ::: b ",
		"parallel a {.}":         "parallel a {.}|a  ",
		"xargs env a":            "xargs env a|env a |a ",
		"find . -exec a {} \\; -exec b {} + -print": "find . -exec a {} ; -exec b {} + -print|a  |b  ",
		"find . -exec \\;":                          "find . -exec ;",
		"fd -x a b":                                 "fd -x a b|a b ",
		"timeout -k 1 5 a b":                        "timeout -k 1 5 a b|a b",
		"timeout --kill-after=1 5 a":                "timeout --kill-after=1 5 a|a",
		"nice -20 a":                                "nice -20 a|a",
		"nice -n 5 a":                               "nice -n 5 a|a",
		"env -uX a":                                 "env -uX a|a",
		"env -u X a":                                "env -u X a|a",
		"env -iu X a":                               "env -iu X a|a",
		"env -- a":                                  "env -- a|a",
		"env -":                                     "env -|-",
		"command -v a":                              "command -v a",
		"flock x a b":                               "flock x a b|a b",
		"flock -c 'a b' x":                          "flock -c 'a b' x|a b",
		"flock x --command='a b'":                   "flock x --command='a b'|--command='a b'",
		"env -S'a b' c":                             "env -S'a b' c|a b|c",
		"eval a 'b c'":                              "eval a 'b c'|a b c",
		"bash -c 'a b' c":                           "bash -c 'a b' c|a b",
		"bash -ec 'a b'":                            "bash -ec 'a b'|a b",
		"bash -e -c 'a b'":                          "bash -e -c 'a b'|a b",
		"bash -o pipefail -c 'a b'":                 "bash -o pipefail -c 'a b'|a b",
		"bash -O extglob -c 'a b'":                  "bash -O extglob -c 'a b'|a b",
		"bash +e -c 'a b'":                          "bash +e -c 'a b'|a b",
		"bash -c -e 'a b'":                          "bash -c -e 'a b'|a b",
		"bash --norc -c 'a b'":                      "bash --norc -c 'a b'|a b",
		"bash + -c 'a b'":                           "bash + -c 'a b'",
		"bash -c":                                   "bash -c",
		"bash x -c 'a b'":                           "bash x -c 'a b'",
		"f() { a; }; f":                             "a|f",
		"a $(b c)":                                  "a |b c",
		"a \"\\$b\" \"\\`\" \"\\\"\" \"\\\\\" \"\\c\"": "a $b ` \" \\ \\c",
		"export X=1": "export",
		"%1 a":       "%1 a",
	} {
		var got []string
		for _, call := range parse(line, "/w").Calls {
			got = append(got, strings.Join(call, " "))
		}
		want = strings.ReplaceAll(want, "'", "")
		if strings.Join(got, "|") != want {
			t.Errorf("%q runs\n%q, want\n%q", line, strings.Join(got, "|"), want)
		}
	}
}

// TestNamedAndInside: what stands in the words of a line is divided by whether it is in the folder, each once, and so many at most.
func TestNamedAndInside(t *testing.T) {
	for line, want := range map[string]string{
		"cat a /x /x a": "/x; /w/cat /w/a", "cat -f/x": "/x; /w/cat", "cat -I~/x": "~/x; /w/cat", "cat -x": "; /w/cat", "cat --f=/x -": "/x; /w/cat", "cat -/x": "/x; /w/cat", "cat .": "; /w/cat",
		"cat /w": "; /w/cat", "cat /wx": "/wx; /w/cat",
	} {
		c := parse(line, "/w")
		if got := strings.Join(c.Named, " ") + "; " + strings.Join(c.Inside, " "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	for _, place := range []string{"/", "a/"} {
		var line strings.Builder
		line.WriteString("cat")
		for i := range maxNamed + 10 {
			line.WriteString(" " + place + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676)))
		}
		line.WriteString(" /last a/last")
		c := parse(line.String(), "/w")
		if all := max(len(c.Named), len(c.Inside)); all != maxNamed {
			t.Errorf("%d are kept", all)
		}
		if !slices.Contains(c.Named, "/last") && !slices.Contains(c.Inside, "/w/a/last") {
			t.Error("many of one kind leave no room for the other")
		}
	}
}

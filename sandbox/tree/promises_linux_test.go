package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/sandbox"
	"tandem/sandbox/tree/treetest"
)

// TestIgnoredAndRel: whether a walk leaves out a file, which need not be there, and what a path is in the tree.
func TestIgnoredAndRel(t *testing.T) {
	p := workspace(t, treetest.Shelves()...)
	for _, tt := range []struct {
		dir, pattern, name string
		want               bool
	}{
		{".", "", "a.go", false},
		{".", "", "none.log", true},
		{".", "", "out/none", true},
		{".", "", "out", false},
		{".", "", "b/only", true},
		{".", "", "b/only/x", true},
		{".", "", "c/only", false},
		{".", "", ".git/x", true},
		{".", "", "a/.git", true},
		{".", "", "a/.tandem-tmp-1", true},
		{".", "", "b/d/e.log", true},
		{"b", "", "only", true},
		{"b", "", "d/x.log", true},
		{"b", "", "d/x", false},
		{".", "*.go", "a.md", true},
		{".", "*.go", "b/a.go", false},
		{".", "!b", "b/a.go", true},
		{".", "!b", "a.go", false},
		{".", "x.log", "x.log", false},
		{".", "x.log", "out/x.log", true},
	} {
		tr := tree(t, p, tt.dir)
		g, err := ParseGlob(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if tr.Only(g); tr.Ignored(tt.name) != tt.want {
			t.Errorf("%s in %s, %q: %v", tt.name, tt.dir, tt.pattern, !tt.want)
		}
		if tr.Everything(); tr.Ignored(tt.name) && !strings.Contains(tt.name, ".git") && !strings.Contains(tt.name, TempPrefix) && tt.pattern == "" {
			t.Errorf("%s is ignored in all", tt.name)
		}
	}
	tr := tree(t, p, "b")
	for name, want := range map[string]string{"b/c.go": "c.go true", "b/d/e": "d/e true", "b": ". true", "a.go": " false", "bb/c": " false"} {
		if rel, ok := tr.Rel(filepath.Join(p.Cwd, name)); fmt.Sprint(rel, " ", ok) != want {
			t.Errorf("%s: %q, %v", name, rel, ok)
		}
	}
	if !tr.Unreachable(strings.Repeat("x", MaxPath-len(p.Cwd)-3)) || tr.Unreachable(strings.Repeat("x", MaxPath-len(p.Cwd)-4)) || tr.Deep() != 0 {
		t.Error("the longest path")
	}
}

// TestGlobsOfEveryLength: a pattern that is longer than a word of the automaton fits what a short one does.
func TestGlobsOfEveryLength(t *testing.T) {
	long := strings.Repeat("abcdefghij", 10)
	for _, tt := range [][2]string{
		{"*x?", "+axb -ax -axbc -a/xb"},
		{"[a-c]*/?", "+ab/c +a/b -d/a -a/bc"},
		{"**/a[0-9]", "+a1 +x/a2 +x/y/a3 -a -a11 -x/ab"},
		{"a/**/[b]", "+a/b +a/x/b +a/x/y/b -b -a/x/bb"},
		{"a/**", "+a/b +a/b/c -a -ab"},
		{"{a,b}{c,d}", "+ac +bd -ab -a -cd"},
		{"{*,a/[b]}c", "+xc +a/bc -a/cc +c"},
		{"[!a]*", "+b +/ -a -ab"},
		{"a[^b-d]e", "+aae -abe -ace -ade +afe"},
		{"{a,b/**}/[c]", "+a/c +b/x/c +b/x/y/c"},
		{"[]a]b", "+]b +ab -bb"},
		{"[a-]b", "+-b +ab -bb"},
		{"[b-b]c", "+bc -ac"},
		{`\*a?`, "+*ab -xab"},
		{"*", "+a -a/b +"},
		{"?*", "+a -"},
		{"{,}a?", "+ab"},
		{"{**,x}/[a]", "+b/a +x/a"},
		{"{[a],**/b}", "+a +b +x/b -x/a"},
		{"x{/**,y}", "+x/a +xy -x -xa"},
		{"[é]a?", "+\xc3ab +\xa9ab -bab"},
		{"a[b/]c", "+abc +a/c -adc"},
		{"**/[/]a", "+/a"},
	} {
		for _, suffix := range []string{"", long} {
			g, err := parseGlob(tt[0]+suffix+map[bool]string{true: "?"}[suffix != ""], false)
			if err != nil {
				t.Fatal(tt[0], err)
			}
			for p := range strings.SplitSeq(tt[1], " ") {
				path := p[1:]
				if suffix != "" {
					if path == "" || strings.HasSuffix(tt[0], "**") {
						continue
					}
					path += suffix + "z"
				}
				if got := g.fits(path, path[strings.LastIndexByte(path, '/')+1:]); got != (p[0] == '+') {
					t.Errorf("%s on %s: %v", tt[0]+suffix, path, got)
				}
			}
		}
	}
	for pattern, kind := range map[string]byte{
		"**/a": aName, "**/*a": anEnding, "**/a*b": aNamePattern, "**/[a]": aNamePattern, "**/?": aNamePattern, "a/b": aPath, "a*": aPattern, "**": anything, "**/a/b": aPattern, "**/{a,b}": aPattern, "**/[/]": aPattern, "": aPath,
	} {
		if g, err := parseGlob(pattern, false); err != nil || g.kind != kind || g.ofName() != (kind == aName || kind == anEnding || kind == aNamePattern) {
			t.Errorf("%s: %+v, %v", pattern, g, err)
		}
	}
	for pattern, want := range map[string]bool{"a": true, "a/b": true, "*/b": true, `\*`: true, "a*": false, "a/": true, "*/": false, "a?": false, "[a]": false, "{a,b}": false, "a}": false, `a\`: true, "*/a/": true} {
		if spelt(pattern) != want {
			t.Errorf("%s is spelt out: %v", pattern, !want)
		}
	}
	if _, err := ParseGlob(strings.Repeat("a", maxGlob)); err != nil {
		t.Error(err)
	}
	if _, err := ParseGlob(strings.Repeat("a", maxGlob+1)); err == nil {
		t.Error("a pattern may have any length")
	}
	if g, err := ParseGlob(""); g != nil || err != nil || !g.Fits("a") || g.Names() || g.Rejects("a") || g.TakesIgnored("a", false) {
		t.Errorf("%v, %v", g, err)
	}
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{{"*.go", "a.md", true}, {"*.go", "a.go", false}, {"a/*.go", "a.md", false}, {"!*.go", "a.go", true}, {"!*.go", "a.md", false}, {"a", "b", true}} {
		if g, err := ParseGlob(tt.pattern); err != nil || g.Rejects(tt.name) != tt.want {
			t.Errorf("%s rejects %s: %v", tt.pattern, tt.name, !tt.want)
		}
	}
}

// TestLinesOfRules: what a line of a file of rules says.
func TestLinesOfRules(t *testing.T) {
	for line, want := range map[string]string{
		"a": "excludes a x/a, not ab", "/a": "excludes a, not x/a", "a/": "excludes a/ x/a/, not a", "!a": "includes a", "\\!a": "excludes !a, not a", "\\#a": "excludes #a", "#a": "nothing", "": "nothing",
		"  ": "nothing", "a ": "excludes a, not a_", "a\\ ": "excludes a_, not a", "a\t": "excludes a", "x/a": "excludes x/a, not a y/x/a", "**": "excludes a x/a", "a/**": "excludes a/b a/b/c, not a a/",
		"**/a": "excludes a x/a", "a\\/": "excludes a/", "!/a": "includes a, not x/a", "[a": "excludes [a, not a", "x/*": "excludes x/a, not x/a/b a", "*.o": "excludes a.o x/a.o, not a.oo",
	} {
		r, ok, err := parseRule(strings.ReplaceAll(line, "_", " "), 0, true)
		if err != nil || !ok {
			if want != "nothing" || err != nil {
				t.Errorf("%q says nothing, %v", line, err)
			}
			continue
		}
		yes, no, _ := strings.Cut(want, ", not ")
		verb, yes, _ := strings.Cut(yes, " ")
		for _, paths := range []struct {
			list string
			want verdict
		}{{yes, map[string]verdict{"excludes": excludes, "includes": includes}[verb]}, {no, silent}} {
			for path := range strings.FieldsSeq(paths.list) {
				path, folder := strings.CutSuffix(strings.ReplaceAll(path, "_", " "), "/")
				if got := r.says(&subject{names: strings.Split(path, "/"), folder: folder}); got != paths.want {
					t.Errorf("%q says %d of %s, want %d", line, got, path, paths.want)
				}
			}
		}
	}
	rules := func(text string) ruleList { return ruleList{}.add(text, nil) }
	for _, tt := range []struct {
		a, b ruleList
		want bool
	}{
		{rules("a\nb\n"), rules("\uFEFFa\r\nb"), true},
		{rules("a\n"), rules("b\n"), false},
		{rules("a\n"), rules("a\nb\n"), false},
		{rules("a\n\xff\nb\n"), rules("a\n"), true},
		{rules("a"), ruleList{}.add("a", []string{"x"}), false},
		{rules("# x\n\na"), rules("a"), true},
		{ruleList{}, rules(""), true},
	} {
		if tt.a.equal(tt.b) != tt.want {
			t.Errorf("%+v and %+v are equal: %v", tt.a, tt.b, !tt.want)
		}
	}
	for i := range 5 { // each part counts
		l, o := Rules{repository: true}, Rules{repository: true}
		switch i {
		case 0:
			o.repository = false
		case 1:
			o.ripgrep = rules("a")
		case 2:
			o.search = rules("a")
		case 3:
			o.git = rules("a")
		case 4:
			o.global = rules("a")
		}
		if l.Equal(&o) || !l.Equal(&l) {
			t.Errorf("layers that differ in %d are equal", i)
		}
	}
}

// TestRulesOfAPerson: what a person ignores in all repositories is what git's setting names, or the file that git looks at by default; elsewhere than
// in a repository it says nothing.
func TestRulesOfAPerson(t *testing.T) {
	home := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700), os.WriteFile(filepath.Join(home, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	says := func() string {
		var out []string
		for _, r := range global(nil).list {
			out = append(out, r.line)
		}
		return strings.Join(out, " ")
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	check := func(what, want string) {
		t.Helper()
		if got := says(); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	check("none", "")
	put(".config/git/ignore", "default\n")
	check("by default", "default")
	put(".config/git/config", "[core]\n\texcludesFile = \"~/mine\"\n")
	check("a file that is not there", "")
	put("mine", "mine\n")
	check("the setting", "mine")
	put(".gitconfig", "[user]\n\tname = x\n")
	check("the first file does not name one", "mine")
	put(".gitconfig", "[core]\nexcludesfile="+home+"/other\n")
	put("other", "other\n")
	check("the first file names one", "other")
	put(".gitconfig", "[core]\nexcludesfile=mine\n")
	t.Chdir(home)
	check("a relative one", "")
	if err := os.Remove(filepath.Join(home, ".gitconfig")); err != nil {
		t.Fatal(err)
	}
	put("xdg/git/ignore", "xdg\n")
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg"))
	check("another folder", "xdg")
	if text, ok := readRuleFile(home); ok || text != "" {
		t.Error("a folder is read")
	}
	put("large", strings.Repeat("a\n", maxRuleFile))
	if text, ok := readRuleFile(filepath.Join(home, "large")); !ok || len(text) != maxRuleFile {
		t.Errorf("%d bytes are read", len(text))
	}
	put("repo/.git/HEAD", "")
	put("repo/a", "")
	put("plain/a", "")
	put("plain/.gitignore", "a\n")
	put("plain/.ignore", "b\n")
	put("plain/b", "")
	put("plain/xdg", "")
	put("repo/xdg", "")
	p := &sandbox.Paths{Cwd: home, Read: []string{home}}
	for dir, want := range map[string]string{"repo": "a", "plain": ".gitignore .ignore a xdg"} {
		if got, _ := list(t, p, dir, 0); strings.Join(got, " ") != want {
			t.Errorf("%s: %q", dir, got)
		}
	}
	top := &sandbox.Paths{Cwd: filepath.Join(home, "repo"), Read: []string{filepath.Join(home, "repo")}}
	put("repo/.gitignore", "/sub/x\n")
	put("repo/sub/x", "")
	put("repo/sub/y", "")
	if got, _ := list(t, top, "sub", 0); strings.Join(got, " ") != "y" {
		t.Errorf("%q", got)
	}
	below := &sandbox.Paths{Cwd: filepath.Join(home, "repo/sub"), Read: []string{filepath.Join(home, "repo/sub")}}
	if got, _ := list(t, below, ".", 0); strings.Join(got, " ") != "y" {
		t.Errorf("rules above the root: %q", got)
	}
}

// TestSharedFolderOfWorkingTrees: where what git excludes in all working trees of a repository is said.
func TestSharedFolderOfWorkingTrees(t *testing.T) {
	for _, tt := range []struct {
		files map[string]string
		want  string
	}{
		{nil, ".git"},
		{map[string]string{".git": "nothing\n"}, ".git"},
		{map[string]string{".git": "gitdir: ../r/.git/worktrees/w\n"}, ".git"},
		{map[string]string{".git": "gitdir: ../r/.git/worktrees/w\n", "../r/.git/worktrees/w/commondir": "../..\n"}, "../r/.git"},
		{map[string]string{".git": "gitdir: /a/r/.git/worktrees/w\r\n", "../r/.git/worktrees/w/commondir": "../..\r\n"}, "../r/.git"},
		{map[string]string{".git": "gitdir: /a/r/.git/worktrees/w", "../r/.git/worktrees/w/commondir": "/a/s/.git\n"}, "../s/.git"},
		{map[string]string{".git": "gitdir: x\n", "x/commondir": "y\n"}, "y"},
	} {
		if got := common([]string{"a", "w"}, func(name string) (string, bool) { text, ok := tt.files[name]; return text, ok }); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.files, got, tt.want)
		}
	}
}

package git

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestClasses: the named classes of ASCII; space is what git takes as one.
func TestClasses(t *testing.T) {
	for name := range classes() {
		posix := regexp.MustCompile("[[:" + name + ":]]")
		for c := range byte(128) {
			want := posix.MatchString(string(rune(c)))
			if name == "space" {
				want = strings.ContainsRune(" \t\n\r", rune(c))
			}
			if got := wildmatch("[[:"+name+":]]", string(rune(c)), false, false); got != want {
				t.Errorf("[:%s:] and %q: %v", name, c, got)
			}
			if got := wildmatch("[^[:"+name+":]]", string(rune(c)), false, false); got == want {
				t.Errorf("not [:%s:] and %q: %v", name, c, got)
			}
		}
	}
	if len(classes()) != 12 {
		t.Errorf("%d classes", len(classes()))
	}
}

// TestWildmatch: patterns and texts that fit (+), do not (-), with paths (/) and without the case of letters (i).
func TestWildmatch(t *testing.T) {
	for _, row := range strings.Split(strings.TrimSpace(`
+ a*b ab
+ a*b axxb
- a*b a
+ / a*b axb
- / a*b a/b
+ a*b a/b
+ / ** a/b/c
- / * a/b
+ / **/b b
+ / **/b x/y/b
- / x**/b xy/z/b
+ / x/**/b x/b
+ / x/**/b x/y/z/b
- / x/**/b x/yb
- / x**y x/y
+ / x**y xzy
+ / x/** x/y/z
- / x/** x
+ / */y/* x/y/z
- / */y/* x/y/z/w
- / */y/* y/z
+ / **/y/* w/x/y/z
- / **/y/* w/x/y/z/v
+ / **/y/** w/x/y/z/v
+ / x*/y xz/y
- / x*/y xz/w/y
- / x*/y xz
+ / x*?/y xz/y
- / x*?/y x/y
- / a?b a/b
+ a?b a/b
- / a[/]b a/b
- / a[^x]b a/b
+ a[/]b a/b
+ [a-c] b
+ [a-c] a
+ [a-c] c
- [a-c] d
+ [!a-c] d
- [!a-c] b
+ [^a-c] d
+ []a] ]
+ [a-] -
- [a-] b
+ [-a] -
+ [a-c-e] -
- [a-c-e] d
+ [\]] ]
+ [\a-c] b
+ [a-\c] b
- [a-\c] d
+ [[] [
+ [[:digit:]x] x
+ [[:digit:]-z] -
- [[:digit:]-z] a
- [[:nope:]] n
- [[:digit 1
+ [[:] :
- [a a
- [ [
- [\ x
- [a-\ a
+ \* *
- \* x
- a\ a
+ a\b ab
- a\b aB
+ i AB ab
+ i ab AB
- AB ab
+ i [A-C] a
+ i [A-C] c
- i [A-C] d
+ i [a-c] B
+ i [[:upper:]] a
+ i [[:lower:]] A
- [[:upper:]] a
- i \A a
+ i \a A
- abc ab
- ab abc
+ * x
+ a* a
- ? 
`), "\n") {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimPrefix(row, "+"), "-"))
		paths, fold := false, false
		switch {
		case fields[0] == "/" && len(fields) > 2:
			paths, fields = true, fields[1:]
		case fields[0] == "i" && len(fields) > 2:
			fold, fields = true, fields[1:]
		}
		text := ""
		if len(fields) > 1 {
			text = fields[1]
		}
		if got := wildmatch(fields[0], text, paths, fold); got != (row[0] == '+') {
			t.Errorf("%s: %v", row, got)
		}
	}
}

// TestRulesOfFolders: the rules of a folder are about what is in it, the last that fits counts, and what cannot be read ignores nothing.
func TestRulesOfFolders(t *testing.T) {
	long := strings.Repeat("x", maxPattern)
	for _, c := range []struct {
		text   string
		folder string
		path   string
		dir    bool
		want   bool
	}{
		{"*", "", "a", false, true},
		{"*", "a/b", "a/b", true, false},
		{"*", "a/b", "a", true, false},
		{"*", "a/b", "a/b/c", false, true},
		{"c", "a/b", "a/b/d/c", false, true},
		{"/c", "a/b", "a/b/c", false, true},
		{"/c", "a/b", "a/b/d/c", false, false},
		{"d/c", "a/b", "a/b/d/c", false, true},
		{"d/c", "", "a/d/c", false, false},
		{"c/", "", "c", true, true},
		{"c/", "", "c", false, false},
		{"*.o\n!a.o", "", "a.o", false, false},
		{"!a.o\n*.o", "", "a.o", false, true},
		{"*.o\n!a.o", "", "b.o", false, true},
		{"# c", "", "# c", false, false},
		{`\#c`, "", "#c", false, true},
		{"c  ", "", "c", false, true},
		{`c\ `, "", "c ", false, true},
		{"c\r", "", "c", false, true},
		{"\uFEFFc", "", "c", false, true},
		{"*.tar.gz", "", "a.tar.gz", false, true},
		{"*.tar.gz", "", "gz", false, false},
		{long, "", "y", false, false},
		{"y\n" + long, "", "y", false, true},
		{"y\n" + long + "x", "", "y", false, false},
		{"", "", "y", false, false},
		{"a/*.c", "", "a/x.c", false, true},
		{"a/*.c", "", "a/b/x.c", false, false},
		{"a/b", "", "a/b", false, true},
		{"a/b", "", "a/bc", false, false},
		{"a/b", "", "a/c", false, false},
		{"a/b*", "", "a/b", false, true},
		{`c\`, "", "c", false, false},
		{`c\`, "", `c\`, false, false},
		{"?oo", "", "xoo", false, true},
		{"?oo", "", "xyoo", false, false},
	} {
		var folder []string
		if c.folder != "" {
			folder = strings.Split(c.folder, "/")
		}
		if got := (Rules{}).Add(c.text, folder).Ignore(strings.Split(c.path, "/"), c.dir); got != c.want {
			t.Errorf("%.40q in %q: %s: %v", c.text, c.folder, c.path, got)
		}
	}
	a := Rules{}.Add("c", nil)
	for name, c := range map[string]struct {
		other Rules
		want  bool
	}{
		"the same": {Rules{}.Add("c\n\n# x", nil), true}, "no case": {a.Fold(), false}, "doubt": {a.Doubt(), false},
		"another line": {Rules{}.Add("d", nil), false}, "another folder": {Rules{}.Add("c", []string{"x"}), false}, "more": {a.Add("d", nil), false},
	} {
		if a.Equal(c.other) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
	if !a.Fold().Ignore([]string{"C"}, false) || a.Ignore([]string{"C"}, false) || a.Doubt().Ignore([]string{"c"}, false) {
		t.Error("case, or doubt")
	}
}

// TestIgnores: what the repository says is ignored, but for what git tracks; and nothing where that cannot be told.
func TestIgnores(t *testing.T) {
	r := repositoryOf(t, sealed(t, indexOf(2, 20, nil, staged{name: "kept.log"}, staged{name: "out/kept"}), true))
	write := func(name, text string) {
		t.Helper()
		at := filepath.Join(r.top, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write(".gitignore", "*.log\nbuild/\nout/\n")
	write("sub/.gitignore", "!a.log\nmine\n")
	write(".git/info/exclude", "private\n")
	check := func(when string, paths map[string]bool) {
		t.Helper()
		for name, want := range paths {
			rel, dir := strings.CutSuffix(name, "/")
			if r.Ignores(rel, dir) != want {
				t.Errorf("%s: %s: %v", when, name, !want)
			}
		}
	}
	check("", map[string]bool{
		"a.log": true, "kept.log": false, "sub/a.log": false, "sub/b.log": true, "sub/mine": true, "mine": false, "build/": true, "build": false,
		"build/x": true, "build/x/y": true, "x/build/y": true, "private": true, "sub/private": true, "out/": false, "out/kept": false, "PRIVATE": false,
	})
	write(".git/config", "[core]\n\tignorecase = true\n")
	check("without case", map[string]bool{"A.LOG": true, "PRIVATE": true, "other": false})
	if err := os.Remove(r.IndexFile()); err != nil {
		t.Fatal(err)
	}
	check("no index", map[string]bool{"kept.log": true, "other": false})
	write(".git/index", "damaged")
	check("a damaged index", map[string]bool{"a.log": false, "build/": false})
}

// TestFurtherWorkTree: the objects and the settings of a further work tree are those of the repository that it belongs to.
func TestFurtherWorkTree(t *testing.T) {
	r := repositoryOf(t, nil)
	further := t.TempDir()
	dir := filepath.Join(r.dir, "worktrees/w")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(dir+"/commondir", []byte("../..\n"), 0o644),
		os.WriteFile(further+"/.git", []byte("gitdir: "+dir+"\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	w, err := Open(further)
	if err != nil || w.Top() != further || w.dir != dir || w.common != r.dir || w.IndexFile() != dir+"/index" {
		t.Errorf("%+v, %v", w, err)
	}
	if r.common != r.dir {
		t.Errorf("%+v", r)
	}
}

// TestFindInPack: objects are found by their names, the first and the last ones included.
func TestFindInPack(t *testing.T) {
	r := repositoryOf(t, nil)
	ids := []ID{{}, {0, 1}, {0, 2}, {7}, {7, 1}, {0xff}, {0xff, 0xff}}
	var objects []packedAs
	for _, id := range ids {
		objects = append(objects, packedAs{id: id, kind: blob, content: id.String()})
	}
	packOfObjects(t, r, false, objects...)
	p, err := openPack(filepath.Join(r.common, "objects/pack/pack-1.idx"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.data.Close()
	for _, id := range ids {
		at, ok := p.find(id)
		if !ok {
			t.Errorf("%s is not found", id)
			continue
		}
		if k, content, err := p.object(at, 99, 1); k != blob || string(content) != id.String() || err != nil {
			t.Errorf("%s: %d, %q, %v", id, k, content, err)
		}
	}
	for _, id := range []ID{{0, 3}, {1}, {6, 0xff}, {7, 2}, {8}, {0xff, 1}} {
		if at, ok := p.find(id); ok {
			t.Errorf("%s is found at %d", id, at)
		}
	}
	for _, at := range []int64{-1, 0, 11, p.size, p.size + 1} {
		if _, _, err := p.object(at, 99, 1); !errors.Is(err, ErrFormat) {
			t.Errorf("at %d: %v", at, err)
		}
	}
}

package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/sandbox"
)

// shelves is a workspace with each kind of entry that a walk treats in its own way.
func shelves(t *testing.T) *sandbox.Paths {
	t.Helper()
	return workspace(t, ".git/HEAD=", ".gitignore=out/\n*.log\n/b/only\n", "a.go=word\n", "a.log=word\n", "b/c.go=word\n", "b/c.log=word\n", "b/only/x=word\n", "b/d/e.go=word\n",
		"b/d/e.log=word\n", "out/x.go=word\n", "out/deep/y=word\n", ".env=word\n", "b/.env=word\n", "b/id_rsa=word\n", "link=-> a.go", "z.go=word\n", "bb/c.go=word\n")
}

// shown is what a walk has come by: the paths, how many are ignored, and what is withheld.
func shown(t *testing.T, tr *Tree, walk func(visit func(Entry) error) (int, error)) string {
	t.Helper()
	var paths, withheld []string
	tr.OnWithheld = func(p sandbox.Place) { withheld = append(withheld, p.Rel()) }
	before := tr.Withheld()
	ignored, err := walk(func(e Entry) error {
		paths = append(paths, e.Path)
		switch e.Path {
		case "skip", "b/d":
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := tr.Withheld() - before; n != len(withheld) {
		t.Errorf("%d are withheld, %q are told of", n, withheld)
	}
	return fmt.Sprintf("%s; %d ignored; withheld %s", strings.Join(paths, " "), ignored, strings.Join(withheld, " "))
}

// TestWalkAndTable: a walk, and one over a table, come by the same in the same order: of a whole root and of a folder, to a depth, and by patterns.
func TestWalkAndTable(t *testing.T) {
	p := shelves(t)
	x, settle := indexes(t)
	holding(t, tree(t, p, "."), x, "word")
	settle()
	if !x.hears() {
		t.Skip("this system does not tell of changes")
	}
	for _, tt := range []struct {
		dir     string
		depth   int
		pattern string
		want    string
		walks   bool // the table cannot tell
	}{
		{".", 0, "", ".gitignore a.go b b/c.go b/d bb bb/c.go link z.go; 4 ignored; withheld .env b/.env b/id_rsa", false},
		{".", 1, "", ".gitignore a.go b bb link z.go; 2 ignored; withheld .env", false},
		{".", 2, "", ".gitignore a.go b b/c.go b/d bb bb/c.go link z.go; 4 ignored; withheld .env b/.env b/id_rsa", false},
		{"b", 0, "", "c.go d d/e.go; 3 ignored; withheld b/.env b/id_rsa", false},
		{"b", 1, "", "c.go d; 2 ignored; withheld b/.env b/id_rsa", false},
		{"b/d", 0, "", "e.go; 1 ignored; withheld ", false},
		{"bb", 0, "", "c.go; 0 ignored; withheld ", false},
		{".", 0, "*.go", "a.go b b/c.go b/d bb bb/c.go z.go; 4 ignored; withheld .env b/.env b/id_rsa", false},
		{".", 0, "c.go", "b b/c.go b/d bb bb/c.go; 4 ignored; withheld .env b/.env b/id_rsa", false},
		{".", 0, "c.log", "b b/c.log b/d bb; 3 ignored; withheld .env b/.env b/id_rsa", false},
		{".", 0, "a.log", "a.log b b/d bb; 3 ignored; withheld .env b/.env b/id_rsa", false},
		{"b", 0, "e.log", "d d/e.log; 2 ignored; withheld b/.env b/id_rsa", false},
		{"b", 0, "c.log", "c.log d; 2 ignored; withheld b/.env b/id_rsa", false},
		{".", 0, "b/*.log", "b b/d bb; 4 ignored; withheld .env b/.env b/id_rsa", false},
		{".", 0, "!b", ".gitignore a.go bb bb/c.go link z.go; 2 ignored; withheld .env", false},
		{".", 0, "!*.go", ".gitignore b b/d bb link; 4 ignored; withheld .env b/.env b/id_rsa", false},
		{".", 0, "!b/d", ".gitignore a.go b b/c.go bb bb/c.go link z.go; 4 ignored; withheld .env b/.env b/id_rsa", false},
		{".", 0, "out", "b b/d bb out out/deep; 3 ignored; withheld .env b/.env b/id_rsa", true},
		{".", 0, ".env", "b b/d bb; 4 ignored; withheld .env b/.env b/id_rsa", false},
	} {
		tr := tree(t, p, tt.dir)
		if tt.pattern != "" {
			g, err := ParseGlob(tt.pattern)
			if err != nil {
				t.Fatal(err)
			}
			tr.Only(g)
		}
		if got := shown(t, tr, func(visit func(Entry) error) (int, error) { return tr.Walk(t.Context(), tt.depth, visit) }); got != tt.want {
			t.Errorf("%s, depth %d, %q: a walk shows\n%s, want\n%s", tt.dir, tt.depth, tt.pattern, got, tt.want)
		}
		told := true
		if got := shown(t, tr, func(visit func(Entry) error) (int, error) {
			ok, ignored, err := x.indexFor(tr).walk(t.Context(), tr, tt.depth, visit)
			if told = ok; !ok {
				return x.Walk(t.Context(), tr, tt.depth, visit)
			}
			return ignored, err
		}); got != tt.want || told == tt.walks {
			t.Errorf("%s, depth %d, %q: a table shows\n%s, want\n%s", tt.dir, tt.depth, tt.pattern, got, tt.want)
		}
		var got []string
		err := Scan(t.Context(), tr, Options{Wants: func(string) bool { return true }, Indexes: x}, func() func(File) (string, bool) {
			return func(f File) (string, bool) { return string(f.Head), true }
		}, func(path, text string) bool { got = append(got, path); return true })
		var want []string
		if _, err := tr.Walk(t.Context(), 0, func(e Entry) error {
			if e.Type.IsRegular() {
				want = append(want, e.Path)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s, %q: a scan reads %q, want %q (%v)", tt.dir, tt.pattern, got, want, err)
		}
	}
	all := tree(t, p, ".")
	all.Everything()
	if got := shown(t, all, func(visit func(Entry) error) (int, error) { return x.Walk(t.Context(), all, 0, visit) }); got !=
		".gitignore a.go a.log b b/c.go b/c.log b/d b/only b/only/x bb bb/c.go link out out/deep out/deep/y out/x.go z.go; 0 ignored; withheld .env b/.env b/id_rsa" {
		t.Errorf("all: %s", got)
	}
}

// TestWalksEnd: what a visit answers ends a walk over a table as it does a walk, also at a file that is ignored and named, and so does the end of
// the context, with its cause.
func TestWalksEnd(t *testing.T) {
	p := shelves(t)
	x, settle := indexes(t)
	holding(t, tree(t, p, "."), x, "word")
	settle()
	why := errors.New("why")
	for _, pattern := range []string{"", "c.log", "a.log"} {
		tr := tree(t, p, ".")
		g, err := ParseGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		tr.Only(g)
		var all []string
		if _, err := tr.Walk(t.Context(), 0, func(e Entry) error { all = append(all, e.Path); return nil }); err != nil {
			t.Fatal(err)
		}
		for _, last := range all {
			for _, answer := range []error{fs.SkipAll, why} {
				var got []string
				_, err := x.Walk(t.Context(), tr, 0, func(e Entry) error {
					if got = append(got, e.Path); e.Path == last {
						return answer
					}
					return nil
				})
				want := answer
				if answer == fs.SkipAll {
					want = nil
				}
				if !errors.Is(err, want) || (err == nil) != (want == nil) || !slices.Equal(got, all[:slices.Index(all, last)+1]) {
					t.Errorf("%q until %s: %q, %v", pattern, last, got, err)
				}
			}
		}
	}
	ended, end := context.WithCancelCause(t.Context())
	end(why)
	tr := tree(t, p, ".")
	if _, err := x.Walk(ended, tr, 0, func(Entry) error { t.Error("it goes on"); return nil }); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if err := Scan(ended, tr, Options{Wants: func(string) bool { return true }, Indexes: x}, func() func(File) (bool, bool) {
		return func(File) (bool, bool) { return true, true }
	}, func(string, bool) bool { t.Error("it goes on"); return true }); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	for name, indexes := range map[string]*Indexes{"walk": nil, "table": x} {
		var got []string
		if err := Scan(t.Context(), tr, Options{Wants: func(name string) bool { return strings.HasSuffix(name, ".go") }, Indexes: indexes}, func() func(File) (bool, bool) {
			return func(File) (bool, bool) { return true, true }
		}, func(path string, _ bool) bool { got = append(got, path); return len(got) < 2 }); err != nil || fmt.Sprint(got) != "[a.go b/c.go]" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestKeysAreShownToWhoMay: a folder of keys that may be read itself shows what is in it, and a folder beside it does not.
func TestKeysAreShownToWhoMay(t *testing.T) {
	p := workspace(t, ".ssh/id_rsa=x", ".ssh/deep/id_rsa=x", "a=x")
	tr := tree(t, p, ".ssh")
	if got := shown(t, tr, func(visit func(Entry) error) (int, error) { return tr.Walk(t.Context(), 0, visit) }); got != "deep deep/id_rsa id_rsa; 0 ignored; withheld " {
		t.Error(got)
	}
	if tr.Withholds("id_rsa") {
		t.Error("it withholds what is shown")
	}
	top := tree(t, p, ".")
	if got := shown(t, top, func(visit func(Entry) error) (int, error) { return top.Walk(t.Context(), 0, visit) }); got != "a; 0 ignored; withheld .ssh" {
		t.Error(got)
	}
	if !top.Withholds(".ssh/id_rsa") || !top.Withholds(".ssh") || top.Withholds("a") {
		t.Error("it withholds something else")
	}
	top.OnWithheld = nil
	if _, err := top.Walk(t.Context(), 0, func(Entry) error { return nil }); err != nil || top.Withheld() != 2 {
		t.Errorf("%d are withheld, %v", top.Withheld(), err)
	}
	x, _ := indexes(t)
	if x.indexFor(tr) != nil || x.indexFor(top) == nil {
		t.Error("keys are indexed")
	}
}

// TestIgnoredAndRel: whether a walk leaves out a file, which need not be there, and what a path is in the tree.
func TestIgnoredAndRel(t *testing.T) {
	p := shelves(t)
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
	if head, rest, err := tr.Read("d/e.go"); string(head) != "word\n" || rest != nil || err != nil {
		t.Errorf("%q, %v", head, err)
	}
	for _, name := range []string{"none", "none/x", "d"} {
		if _, rest, err := tr.Read(name); err == nil || rest != nil {
			t.Errorf("%s can be read", name)
		}
	}
	if !tr.unreachable(strings.Repeat("x", MaxPath-len(p.Cwd)-3)) || tr.unreachable(strings.Repeat("x", MaxPath-len(p.Cwd)-4)) || tr.Deep() != 0 {
		t.Error("the longest path")
	}
	if !tr.tooDeep(strings.Repeat("x", MaxPath)) || tr.tooDeep("x") || tr.Deep() != 1 {
		t.Errorf("%d folders are too deep", tr.Deep())
	}
}

// TestLargeFilesAreReadOn: a file is read to its end, its beginning at once and what is beyond by a Reader.
func TestLargeFilesAreReadOn(t *testing.T) {
	p := workspace(t, "a=x")
	for _, size := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 300 << 10, Head - 1, Head, Head + 1, Head + 100} {
		text := strings.Repeat("0123456789abcdef", size/16+1)[:size]
		if err := os.WriteFile(filepath.Join(p.Cwd, "a"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		tr := tree(t, p, ".")
		whole := func(head []byte, rest io.Reader) string {
			if rest == nil {
				return string(head)
			}
			more, err := io.ReadAll(rest)
			if err != nil {
				t.Fatal(err)
			}
			if len(head) != Head || len(more) != size-Head {
				t.Errorf("of %d bytes %d come at once, %d behind", size, len(head), len(more))
			}
			return string(head) + string(more)
		}
		head, rest, err := tr.Read("a")
		if err != nil {
			t.Fatal(err)
		}
		var r io.Reader
		if rest != nil {
			r = rest
		}
		if got := whole(head, r); got != text {
			t.Errorf("%d of %d bytes are read", len(got), size)
		}
		if rest != nil {
			_ = rest.Close()
		}
		got := ""
		if err := Scan(t.Context(), tr, Options{Wants: func(string) bool { return true }}, func() func(File) (string, bool) {
			return func(f File) (string, bool) { return whole(f.Head, f.Rest), true }
		}, func(_, text string) bool { got = text; return true }); err != nil || got != text {
			t.Errorf("%d of %d bytes are searched, %v", len(got), size, err)
		}
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
		if Spelt(pattern) != want {
			t.Errorf("%s is spelt out: %v", pattern, !want)
		}
	}
	if _, err := ParseGlob(strings.Repeat("a", maxGlob)); err != nil {
		t.Error(err)
	}
	if _, err := ParseGlob(strings.Repeat("a", maxGlob+1)); err == nil {
		t.Error("a pattern may have any length")
	}
	if g, err := ParseGlob(""); g != nil || err != nil || !g.Fits("a") || g.Names() || g.rejects("a") || g.names("a", false) {
		t.Errorf("%v, %v", g, err)
	}
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{{"*.go", "a.md", true}, {"*.go", "a.go", false}, {"a/*.go", "a.md", false}, {"!*.go", "a.go", true}, {"!*.go", "a.md", false}, {"a", "b", true}} {
		if g, err := ParseGlob(tt.pattern); err != nil || g.rejects(tt.name) != tt.want {
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
	rules := func(text string) Rules { return Rules{}.Add(text, nil) }
	for _, tt := range []struct {
		a, b Rules
		want bool
	}{
		{rules("a\nb\n"), rules("\uFEFFa\r\nb"), true},
		{rules("a\n"), rules("b\n"), false},
		{rules("a\n"), rules("a\nb\n"), false},
		{rules("a\n\xff\nb\n"), rules("a\n"), true},
		{rules("a"), Rules{}.Add("a", []string{"x"}), false},
		{rules("# x\n\na"), rules("a"), true},
		{Rules{}, rules(""), true},
	} {
		if tt.a.Equal(tt.b) != tt.want {
			t.Errorf("%+v and %+v are equal: %v", tt.a, tt.b, !tt.want)
		}
	}
	for i := range 5 { // each part counts
		l, o := layers{repository: true}, layers{repository: true}
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
		if l.equal(&o) || !l.equal(&l) {
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

// TestWhatATableLooksAtAgain: a folder is listed again where its files of rules have changed, came or went, or are too young to tell.
func TestWhatATableLooksAtAgain(t *testing.T) {
	p := workspace(t, ".git/info/exclude=x\n", ".gitignore=a\n", "b=word\n", "sub/.git=gitdir: x\n", "sub/c=word\n")
	tr := tree(t, p, ".")
	r := &refresh{t: tr, now: time.Now().Add(time.Minute)}
	top := &folder{at: "."}
	if r.check(top, &tr.ignore); top.valid {
		t.Error("it is believed without a watch")
	}
	d, err := tr.open(".")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	same := func(what string, want bool) {
		t.Helper()
		if got := top.sameRules(d); got != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	same("as it was", true)
	if !top.hasUnwatchedRules() || len(top.ruleFiles) != 2 {
		t.Errorf("%+v", top.ruleFiles)
	}
	young := *top
	young.ruleFiles = slices.Clone(top.ruleFiles)
	young.ruleFiles[0].settled = false
	if young.sameRules(d) {
		t.Error("a file that is too young counts as known")
	}
	gone := *top
	gone.ruleFiles = append(slices.Clone(top.ruleFiles), ruleFileIdent{name: ".ignore"})
	if !gone.sameRules(d) {
		t.Error("a file that was not there, and is not")
	}
	if err := os.WriteFile(filepath.Join(p.Cwd, ".ignore"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if gone.sameRules(d) {
		t.Error("a file that was not there has come")
	}
	if err := os.WriteFile(filepath.Join(p.Cwd, ".git/info/exclude"), []byte("y and more\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	same("what git excludes has changed", false)
	if err := os.RemoveAll(filepath.Join(p.Cwd, ".git")); err != nil {
		t.Fatal(err)
	}
	same("the repository has gone", false)
	sub := top.find("sub").sub
	if r.check(sub, top.rules); !sub.hasUnwatchedRules() || sub.sameRules(d) {
		t.Errorf("a working tree of another repository: %+v", sub.ruleFiles)
	}
	now := &refresh{t: tr, now: time.Now()}
	if now.check(top, &tr.ignore); top.settled && top.ident != (sandbox.Ident{}) && slices.ContainsFunc(top.ruleFiles, func(r ruleFileIdent) bool { return r.settled && r.name == ".ignore" }) {
		t.Errorf("a file that was written just now is known: %+v", top.ruleFiles)
	}
}

// TestCountsOfATable: what is in a table is counted, of all of it and of a part.
func TestCountsOfATable(t *testing.T) {
	file := func(name string, text, parts int32) *entry { return &entry{name: name, text: text, parts: parts} }
	in := func(at string, entries ...*entry) *entry {
		return &entry{name: filepath.Base(at), sub: &folder{at: at, entries: entries}}
	}
	top := &folder{at: ".", entries: []*entry{file("a", 0, 1), in("b", file("c", textOverLimit, 0), in("b/d", file("e", 5, 3))), in("bb", file("f", textUnread, 0)), file("g", textBinary, 0), {name: "link", ident: sandbox.Ident{Type: fs.ModeSymlink}}}}
	if c := top.count(); c != (counts{files: 5, overLimit: 1, texts: 4}) {
		t.Errorf("%+v", c)
	}
	for under, want := range map[string]string{"": "a b c d e bb f g link", "b/": "a b c d e g link", "b/d/": "a b c d e g link", "bb/": "a bb f g link", "x/": "a g link"} {
		var got []string
		if err := top.each(under, func(_ *folder, e *entry) error { got = append(got, e.name); return nil }); err != nil || strings.Join(got, " ") != want {
			t.Errorf("under %q: %q, %v", under, got, err)
		}
	}
	for answer, want := range map[error]string{fs.SkipDir: "a b bb f g link", fs.SkipAll: "a b"} {
		var got []string
		err := top.each("", func(_ *folder, e *entry) error {
			if got = append(got, e.name); e.name == "b" {
				return answer
			}
			return nil
		})
		if strings.Join(got, " ") != want || (answer == fs.SkipAll) != errors.Is(err, fs.SkipAll) {
			t.Errorf("%v: %q, %v", answer, got, err)
		}
	}
	levels := top.collectInvalid(nil, 0)
	if len(levels) != 1 || len(levels[0]) != 1 {
		t.Errorf("%v", levels)
	}
	top.subs = []*folder{top.entries[1].sub, top.entries[2].sub}
	top.subs[0].subs = []*folder{top.subs[0].entries[1].sub}
	top.subs[0].valid = true
	if levels := top.collectInvalid(nil, 0); len(levels) != 3 || len(levels[0]) != 1 || len(levels[1]) != 1 || levels[1][0].at != "bb" || levels[2][0].at != "b/d" {
		t.Errorf("%v", levels)
	}
	if top.down("b/d") != top.subs[0].subs[0] || top.down(".") != top || top.down("a") != nil || top.down("b/x") != nil {
		t.Error("down")
	}
}

// TestForEach does all of a list once, whether one goroutine does, several do, or several go on where one was.
func TestForEach(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 100} {
		for _, until := range []int{-1, 0, 3, 1000} {
			seen := make([]int32, n)
			var list []*int32
			for i := range seen {
				list = append(list, &seen[i])
			}
			p, asked := &refresh{}, 0
			if until >= 0 {
				p.parallel = func() bool { asked++; return asked > until }
			}
			forEach(p, list, func(x *int32) { *x++ })
			if slices.ContainsFunc(seen, func(x int32) bool { return x != 1 }) {
				t.Errorf("%d, until %d: %v", n, until, seen)
			}
			if until == 1000 && asked < n {
				t.Errorf("of %d it looks %d times whether it is hurried", n, asked)
			}
		}
	}
}

// TestStatesOfAnIndex: an index says of how many files it is, and why it is not of all, or is none.
func TestStatesOfAnIndex(t *testing.T) {
	p := shelves(t)
	x, settle := indexes(t)
	tr := tree(t, p, ".")
	if x.indexFor(tr); len(x.States()) != 1 || x.States()[0].State != "walking" || x.States()[0].Reason != "no search has come by 1 files yet" {
		t.Errorf("%+v", x.States())
	}
	holding(t, tr, x, "word")
	settle()
	if s := x.States()[0]; s.State != "ready" || s.Files != 6 || s.Reason != "" || s.Root != p.Cwd || s.Bytes < 6*entryBytes {
		t.Errorf("%+v", s)
	}
	full, settleFull := indexes(t)
	full.Bytes = 6*entryBytes + 10
	holding(t, tr, full, "word")
	settleFull()
	if s := full.States()[0]; s.State != "ready" || s.Files != 0 || s.Reason != "6 of 6 files are read by each search, as with them it would take more than 0 MiB" {
		t.Errorf("%+v", s)
	}
	if found, _ := holding(t, tr, full, "word"); len(found) != 5 {
		t.Errorf("%q are found without room", found)
	}
	none, _ := indexes(t)
	if none.RunInBackground = nil; none.indexFor(tr) != nil || (*Indexes)(nil).indexFor(tr) != nil {
		t.Error("an index without a background")
	}
	out := tree(t, p, "out")
	if x.indexFor(out) != nil {
		t.Error("an index of what is ignored")
	}
	i := &index{indexes: x, top: &folder{at: "."}}
	for _, tt := range []struct {
		c    counts
		want bool
	}{{counts{}, false}, {counts{overLimit: 1}, false}, {counts{overLimit: 1, texts: 1}, false}} {
		if i.needsRebuild(tt.c) != tt.want {
			t.Errorf("%+v: %v", tt.c, !tt.want)
		}
	}
}

// TestIndexOfManyFiles: a search reads the files that may have what it needs and no others, among more than a word of marks has room for, and in
// what was indexed later; what is binary from its first byte on is not read at all.
func TestIndexOfManyFiles(t *testing.T) {
	var names []string
	for n := range 150 {
		names = append(names, fmt.Sprintf("d%d/f%03d=the%dword\n", n%7, n, n))
	}
	p := workspace(t, append(names, "bin=\x00the3word")...)
	x, settle := indexes(t)
	tr := tree(t, p, ".")
	search := func(n int) {
		t.Helper()
		want := fmt.Sprintf("[d%d/f%03d] 1", n%7, n)
		if found, read := holding(t, tr, x, fmt.Sprintf("the%dword", n)); fmt.Sprint(found, read) != want {
			t.Errorf("%v are found of %d, want %s", found, read, want)
		}
	}
	holding(t, tr, x, "word")
	settle()
	for _, n := range []int{0, 1, 62, 63, 64, 65, 127, 128, 149} {
		search(n)
	}
	for n := 150; n < 180; n++ {
		if err := os.WriteFile(filepath.Join(p.Cwd, fmt.Sprintf("d%d/f%03d", n%7, n)), fmt.Appendf(nil, "the%dword\n", n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	holding(t, tr, x, "word") // more than an eighth is new: what is indexed is brought up to date
	settle()
	for _, n := range []int{0, 64, 149, 150, 151, 179} {
		search(n)
	}
	if _, read := holding(t, tr, x, "no such text"); read != 0 {
		t.Errorf("%d files are read for what none has", read)
	}
}

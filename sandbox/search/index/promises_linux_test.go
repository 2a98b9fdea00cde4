package index

import (
	"bytes"
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
	"tandem/sandbox/tree"
	"tandem/sandbox/tree/treetest"
)

// shown is what a walk has come by: the paths, how many are ignored, and what is withheld.
func shown(t *testing.T, tr *tree.Tree, walk func(visit func(tree.Entry) error) (int, error)) string {
	t.Helper()
	var paths, withheld []string
	tr.OnWithheld = func(p sandbox.Place) { withheld = append(withheld, p.Rel()) }
	before := tr.Withheld()
	ignored, err := walk(func(e tree.Entry) error {
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
	p := workspace(t, treetest.Shelves()...)
	x, settle := indexes(t)
	holding(t, treeIn(t, p, "."), x, "word")
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
		tr := treeIn(t, p, tt.dir)
		if tt.pattern != "" {
			g, err := tree.ParseGlob(tt.pattern)
			if err != nil {
				t.Fatal(err)
			}
			tr.Only(g)
		}
		if got := shown(t, tr, func(visit func(tree.Entry) error) (int, error) { return tr.Walk(t.Context(), tt.depth, visit) }); got != tt.want {
			t.Errorf("%s, depth %d, %q: a walk shows\n%s, want\n%s", tt.dir, tt.depth, tt.pattern, got, tt.want)
		}
		told := true
		if got := shown(t, tr, func(visit func(tree.Entry) error) (int, error) {
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
		if _, err := tr.Walk(t.Context(), 0, func(e tree.Entry) error {
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
	all := treeIn(t, p, ".")
	all.Everything()
	if got := shown(t, all, func(visit func(tree.Entry) error) (int, error) { return x.Walk(t.Context(), all, 0, visit) }); got !=
		".gitignore a.go a.log b b/c.go b/c.log b/d b/only b/only/x bb bb/c.go link out out/deep out/deep/y out/x.go z.go; 0 ignored; withheld .env b/.env b/id_rsa" {
		t.Errorf("all: %s", got)
	}
}

// TestListedSizes: the sizes of a list come from the table, as it is after the comparison with the file system, without a look at each
// file; those of ignored files that a pattern names, and of a walk, from the file system.
func TestListedSizes(t *testing.T) {
	p := workspace(t, "a=1", "b/c=12", "b/d=123", ".gitignore=*.log", "x.log=1234", ".git/HEAD=")
	x, settle := indexes(t)
	tr := treeIn(t, p, ".")
	holding(t, tr, x, "word")
	settle()
	if !x.hears() {
		t.Skip("this system does not tell of changes")
	}
	if err := os.WriteFile(filepath.Join(p.Cwd, "b/c"), []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	sizes := func(tr *tree.Tree, walk func(visit func(tree.Entry) error) (int, error), pattern, end string) string {
		g, err := tree.ParseGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		tr.Only(g)
		got := ""
		if _, err := walk(func(e tree.Entry) error {
			if !e.Type.IsRegular() {
				return nil
			}
			if e.Path == end {
				if err := os.RemoveAll(filepath.Join(p.Cwd, "b/d")); err != nil {
					t.Fatal(err)
				}
			}
			size, ok := e.Size()
			got += fmt.Sprintf("%s %d %t, ", e.Path, size, ok)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	const want = "a 1 true, b/c 5 true, b/d 3 true, "
	tr = treeIn(t, p, ".")
	if got := sizes(tr, func(visit func(tree.Entry) error) (int, error) { return tr.Walk(t.Context(), 0, visit) }, "{a,c,d}", ""); got != want {
		t.Errorf("a walk: %s", got)
	}
	tr = treeIn(t, p, ".")
	if got := sizes(tr, func(visit func(tree.Entry) error) (int, error) { return x.Walk(t.Context(), tr, 0, visit) }, "{a,c,d}", "b/d"); got != want {
		t.Errorf("a table: %s", got)
	}
	tr = treeIn(t, p, ".")
	if got := sizes(tr, func(visit func(tree.Entry) error) (int, error) { return x.Walk(t.Context(), tr, 0, visit) }, "{a,c,d}", ""); got != strings.Replace(want, "b/d 3 true, ", "", 1) {
		t.Errorf("a table after the file was removed: %s", got)
	}
	tr = treeIn(t, p, ".")
	if got := sizes(tr, func(visit func(tree.Entry) error) (int, error) { return x.Walk(t.Context(), tr, 0, visit) }, "x.log", ""); got != "x.log 4 true, " {
		t.Errorf("a table, of an ignored file: %s", got)
	}
}

// TestWalksEnd: what a visit answers ends a walk over a table as it does a walk, also at a file that is ignored and named, and so does the end of
// the context, with its cause.
func TestWalksEnd(t *testing.T) {
	p := workspace(t, treetest.Shelves()...)
	x, settle := indexes(t)
	holding(t, treeIn(t, p, "."), x, "word")
	settle()
	why := errors.New("why")
	for _, pattern := range []string{"", "c.log", "a.log"} {
		tr := treeIn(t, p, ".")
		g, err := tree.ParseGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		tr.Only(g)
		var all []string
		if _, err := tr.Walk(t.Context(), 0, func(e tree.Entry) error { all = append(all, e.Path); return nil }); err != nil {
			t.Fatal(err)
		}
		for _, last := range all {
			for _, answer := range []error{fs.SkipAll, why} {
				var got []string
				_, err := x.Walk(t.Context(), tr, 0, func(e tree.Entry) error {
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
	tr := treeIn(t, p, ".")
	if _, err := x.Walk(ended, tr, 0, func(tree.Entry) error { t.Error("it goes on"); return nil }); !errors.Is(err, why) {
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
	tr := treeIn(t, p, ".ssh")
	if got := shown(t, tr, func(visit func(tree.Entry) error) (int, error) { return tr.Walk(t.Context(), 0, visit) }); got != "deep deep/id_rsa id_rsa; 0 ignored; withheld " {
		t.Error(got)
	}
	if tr.Withholds("id_rsa") {
		t.Error("it withholds what is shown")
	}
	top := treeIn(t, p, ".")
	if got := shown(t, top, func(visit func(tree.Entry) error) (int, error) { return top.Walk(t.Context(), 0, visit) }); got != "a; 0 ignored; withheld .ssh" {
		t.Error(got)
	}
	if !top.Withholds(".ssh/id_rsa") || !top.Withholds(".ssh") || top.Withholds("a") {
		t.Error("it withholds something else")
	}
	top.OnWithheld = nil
	if _, err := top.Walk(t.Context(), 0, func(tree.Entry) error { return nil }); err != nil || top.Withheld() != 2 {
		t.Errorf("%d are withheld, %v", top.Withheld(), err)
	}
	x, _ := indexes(t)
	if x.indexFor(tr) != nil || x.indexFor(top) == nil {
		t.Error("keys are indexed")
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
		tr := treeIn(t, p, ".")
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
		head, rest, err := Read(tr, "a")
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
	tr := treeIn(t, workspace(t, "b/d/e.go=word\n"), "b")
	if head, rest, err := Read(tr, "d/e.go"); string(head) != "word\n" || rest != nil || err != nil {
		t.Errorf("%q, %v", head, err)
	}
	for _, name := range []string{"none", "none/x", "d"} {
		if _, rest, err := Read(tr, name); err == nil || rest != nil {
			t.Errorf("%s can be read", name)
		}
	}
}

// TestLargeFilesInTheIndex: files of more than Head are in the index, whether lines end at the edges of what is read at once or of a part, or a line
// goes over all of them: a search finds what a walk finds, and reads none of the files for what none of them has.
func TestLargeFilesInTheIndex(t *testing.T) {
	const part = 256 << 10
	filler := func(n int) string { return strings.Repeat("0123456789abcde\n", n/16+1)[:n] }
	var lines strings.Builder
	for n, at := range []int{3, part - 8, part - 1, part, part + 1, 2*part + 7, Head - 6, Head, Head + 1, Head + part - 3, 9 << 20} {
		lines.WriteString(filler(at - min(at, lines.Len())))
		fmt.Fprintf(&lines, "edge%dx\n", n)
	}
	long := strings.Repeat("x", Head-3) + "within" + strings.Repeat("y", Head/2) + "\nlast line"
	p := workspace(t, "small=word", "lines="+lines.String(), "long="+long, "marked=\xff\xfe"+filler(Head), "nul="+filler(Head)+"\x00within\n")
	x, settle := indexes(t)
	tr := treeIn(t, p, ".")
	holding(t, tr, x, "word")
	settle()
	find := func(x *Indexes, text string) (out []string, read int) {
		tr := treeIn(t, p, ".")
		if err := Scan(t.Context(), tr, Options{Wants: func(string) bool { return true }, Need: [][]string{{text}}, OneLine: true, Indexes: x},
			func() func(File) (bool, bool) {
				return func(f File) (bool, bool) {
					all := f.Head
					if f.Rest != nil {
						rest, err := io.ReadAll(f.Rest)
						if err != nil {
							t.Error(err)
						}
						all = append(bytes.Clone(f.Head), rest...)
					}
					return bytes.Contains(all, []byte(text)), true
				}
			}, func(path string, has bool) bool {
				if read++; has {
					out = append(out, path)
				}
				return true
			}); err != nil {
			t.Fatal(err)
		}
		return out, read
	}
	texts := []string{"within", "last line", "xwithin", "withiny", "nowhere", "edge99"}
	for n := range 11 {
		texts = append(texts, fmt.Sprintf("edge%dx", n))
	}
	for _, text := range texts {
		got, read := find(x, text)
		want, _ := find(nil, text)
		if !slices.Equal(got, want) || read > len(want)+1 { // what begins as UTF-16 does is in no index
			t.Errorf("%s: %q of %d that are read, want %q", text, got, read, want)
		}
	}
	f, err := os.OpenFile(filepath.Join(p.Cwd, "lines"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("nowhere"), Head-3); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got, _ := find(x, "nowhere"); !slices.Equal(got, []string{"lines"}) {
		t.Errorf("after a change on disk: %q", got)
	}
	settle()
	if got, read := find(x, "absent"); len(got) > 0 || read > 1 {
		t.Errorf("one changed file is not indexed again: %d are read", read)
	}
}

// TestWhatATableLooksAtAgain: a folder is listed again where its files of rules have changed, came or went, or are too young to tell.
func TestWhatATableLooksAtAgain(t *testing.T) {
	p := workspace(t, ".git/info/exclude=x\n", ".gitignore=a\n", "b=word\n", "sub/.git=gitdir: x\n", "sub/c=word\n")
	tr := treeIn(t, p, ".")
	r := &refresh{t: tr, now: time.Now().Add(time.Minute)}
	top := &folder{at: "."}
	if r.check(top, tr.Rules()); top.valid {
		t.Error("it is believed without a watch")
	}
	d, err := tr.OpenDir(".")
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
	if now.check(top, tr.Rules()); top.settled && top.ident != (sandbox.Ident{}) && slices.ContainsFunc(top.ruleFiles, func(r ruleFileIdent) bool { return r.settled && r.name == ".ignore" }) {
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
	p := workspace(t, treetest.Shelves()...)
	x, settle := indexes(t)
	tr := treeIn(t, p, ".")
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
	out := treeIn(t, p, "out")
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
	tr := treeIn(t, p, ".")
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

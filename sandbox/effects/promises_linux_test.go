package effects

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/sandbox"
	"tandem/sandbox/git"
	"tandem/sandbox/tree"
)

// ground is a folder with files, and a command's changes in it.
type ground struct {
	t     *testing.T
	dir   string
	m     *Memory
	paths *sandbox.Paths
	seen  []string
}

func newGround(t *testing.T, files ...string) *ground {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &ground{t: t, dir: dir, m: &Memory{Now: later}}
	g.root(dir)
	g.write(files...)
	return g
}

// root makes a folder the one that commands may write.
func (g *ground) root(dir string) {
	g.paths = &sandbox.Paths{Cwd: dir, Read: []string{dir}, Write: []string{dir}}
	g.t.Cleanup(g.paths.Close)
}

// write writes files, each given as its path and its text.
func (g *ground) write(files ...string) {
	g.t.Helper()
	for i := 0; i < len(files); i += 2 {
		at := filepath.Join(g.dir, files[i])
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(files[i+1]), 0o644)); err != nil {
			g.t.Fatal(err)
		}
	}
}

// commit makes a folder a repository that has all files in it.
func (g *ground) commit(rel string) {
	g.t.Helper()
	dir := filepath.Join(g.dir, rel)
	gitIn(g.t, dir, "init", "-q")
	old(g.t, dir)
	gitIn(g.t, dir, "add", "-A")
}

// changes are those of a command, a line each.
func (g *ground) changes(command func()) string {
	g.t.Helper()
	b := g.m.Before(g.t.Context(), g.paths, g.seen)
	command()
	return told(g.dir, b.After(g.t.Context()))
}

func (g *ground) want(what, want string, command func()) {
	g.t.Helper()
	if got := g.changes(command); got != want {
		g.t.Errorf("%s: got\n%swant\n%s", what, got, want)
	}
}

// TestRulesBetweenLooks: what git ignores, and whether files are filtered, is what the files say at each look, also those of folders
// above the one that commands may write.
func TestRulesBetweenLooks(t *testing.T) {
	g := newGround(t, "w/a.tmp", "1", "w/b.log", "1", "w/c", "1", ".gitignore", "*.log\n")
	g.commit(".")
	g.root(g.dir + "/w")
	g.m.Before(t.Context(), g.paths, nil)
	touch := func() { g.write("w/n.tmp", "x", "w/n.log", "x") }
	clear := func() {
		if err := errors.Join(os.Remove(g.dir+"/w/n.tmp"), os.Remove(g.dir+"/w/n.log")); err != nil {
			t.Fatal(err)
		}
	}
	g.want("at first", "created w/n.tmp: - -> \"x\"\nignored w/n.log\n", touch)
	clear()
	g.write(".gitignore", "*.tmp\n")
	g.want("other rules above", "created w/n.log: - -> \"x\"\nignored w/n.tmp\n", touch)
	clear()
	g.write("w/.gitignore", "*.log\n")
	g.want("more rules", "ignored w/n.log\nignored w/n.tmp\n", touch)
	clear()
	g.write("w/.gitignore", "")
	g.want("fewer rules", "created w/n.log: - -> \"x\"\nignored w/n.tmp\n", touch)
	clear()
	g.write(".git/info/exclude", "n.log\n")
	g.want("rules of the repository", "ignored w/n.log\nignored w/n.tmp\n", touch)
	clear()
	if err := os.RemoveAll(g.dir + "/.git"); err != nil {
		t.Fatal(err)
	}
	g.want("no repository", "created w/n.log: - -> \"x\"\ncreated w/n.tmp: - -> \"x\"\n", touch)
}

// TestIgnoredByTheCommand: a command hides nothing that was there by ignoring it, folders and all below them included.
func TestIgnoredByTheCommand(t *testing.T) {
	g := newGround(t, "dir/f", "1", "dir/g", "1", "file", "1", "kept.log", "1")
	g.commit(".")
	g.write("new/f", "1")
	g.want("", `created .gitignore: - -> "dir/\nfile\nnew/\nmade\n*.log\n"
modified dir/f: "1" -> "2"
modified file: "1" -> "2"
modified kept.log: "1" -> "2"
modified new/f: "1" -> "2"
ignored made
`, func() {
		g.write(".gitignore", "dir/\nfile\nnew/\nmade\n*.log\n", "dir/f", "2", "file", "2", "new/f", "2", "made", "x", "kept.log", "2")
	})
	g = newGround(t, "a", "1", "b/f", "1", "c", "1")
	g.commit(".")
	g.write("v/f", "1")
	want := "created .gitignore: - -> \"a\\nb\\nv\\n\"\ndeleted a: \"1\" -> -\ncreated a/f: - -> \"2\"\ncreated b: - -> \"2\"\n" +
		"deleted b/f: \"1\" -> -\ndeleted v/f: \"1\" -> -\nignored v\n"
	g.want("other kinds", want, func() {
		if err := errors.Join(os.Remove(g.dir+"/a"), os.RemoveAll(g.dir+"/b"), os.RemoveAll(g.dir+"/v")); err != nil {
			t.Fatal(err)
		}
		g.write(".gitignore", "a\nb\nv\n", "a/f", "2", "b", "2", "v", "2")
	})
}

// TestFiltered: a file that a filter changes is not what git has, so what it said comes from memory.
func TestFiltered(t *testing.T) {
	for _, at := range []string{"w/.gitattributes", ".gitattributes", ".git/info/attributes", "w/d/.gitattributes", ""} {
		for _, early := range []bool{true, false} {
			g := newGround(t)
			gitIn(t, g.dir, "init", "-q")
			gitIn(t, g.dir, "config", "filter.x.clean", "tr a b")
			g.write("w/d/e", "x")
			g.root(g.dir + "/w")
			if !early { // a look while nothing is filtered
				g.m.Before(t.Context(), g.paths, nil)
			}
			g.write("w/d/f", "aaa\n", ".git/info/attributes", "f filter=x\n")
			old(t, g.dir)
			gitIn(t, g.dir, "add", "-A")
			if err := os.Remove(g.dir + "/.git/info/attributes"); err != nil {
				t.Fatal(err)
			}
			want := `"aaa\n"`
			if at != "" {
				g.write(at, "f filter=x\n")
			} else {
				want = `"bbb\n"` // nobody says so
			}
			g.want(at, "deleted w/d/f: "+want+" -> -\n", func() { _ = os.Remove(g.dir + "/w/d/f") })
		}
	}
	long := newGround(t, "f", strings.Repeat("x", 1<<20), "g", strings.Repeat("x", 1<<20+1))
	if len(git.Text(long.dir+"/f")) != 1<<20 || git.Text(long.dir+"/g") != "" || git.Text(long.dir) != "" || git.Text(long.dir+"/none") != "" {
		t.Error("the text of a small file")
	}
}

// TestNestedRepository: a repository below another has its own rules and index.
func TestNestedRepository(t *testing.T) {
	g := newGround(t, "sub/f", "1", "sub/x.o", "1", "y.o", "1", ".gitignore", "*.log\n")
	g.write("sub/.git/info/exclude", "")
	if err := os.RemoveAll(g.dir + "/sub/.git"); err != nil {
		t.Fatal(err)
	}
	g.commit("sub")
	gitIn(t, g.dir+"/sub", "rm", "-q", "--cached", "x.o")
	gitIn(t, g.dir+"/sub", "commit", "-q", "-m", "x")
	g.write("sub/.git/info/exclude", "*.o\n", "sub/z.log", "1")
	g.commit(".")
	for _, when := range []string{"the first look", "the second"} {
		g.want(when, "modified sub/z.log: \"1\" -> \"2\"\nmodified y.o: \"1\" -> \"2\"\nignored sub/x.o\n", func() {
			g.write("sub/x.o", "2", "y.o", "2", "sub/z.log", "2")
		})
		g.write("sub/x.o", "1", "y.o", "1", "sub/z.log", "1")
	}
}

// TestSeen: what the session has seen is kept though git ignores it, and it need not be there.
func TestSeen(t *testing.T) {
	g := newGround(t, ".gitignore", "*.log\nout/\n", "a.log", "1", "b.log", "1", "out/c", "1", "out/d", "1")
	g.commit(".")
	g.seen = []string{g.dir + "/a.log", g.dir + "/none", g.dir + "/out/c", g.dir + "/out/none"}
	g.want("", "modified a.log: \"1\" -> \"2\"\nmodified out/c: \"1\" -> \"2\"\nignored b.log\n", func() {
		g.write("a.log", "2", "b.log", "2", "out/c", "2", "out/d", "2")
	})
}

// TestDeep: a folder whose entries have longer paths than the system takes is left out, which is said, whichever look met it.
func TestDeep(t *testing.T) {
	g := newGround(t, "f", "1")
	chain := func(length int) string {
		at := g.dir
		for len(at) < length {
			at += "/" + strings.Repeat("d", min(200, length-len(at)-1))
			if left := length - len(at); left == 1 { // no name would be left
				at += "d"
			}
		}
		return at
	}
	edge, over := chain(tree.MaxPath-3), chain(tree.MaxPath-2)
	if err := os.MkdirAll(edge, 0o755); err != nil {
		t.Fatal(err)
	}
	look := func(command func()) Changes {
		b := g.m.Before(t.Context(), g.paths, nil)
		command()
		return b.After(t.Context())
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if c := look(func() { must(os.WriteFile(edge+"/x", nil, 0o644)) }); c.Deep || len(c.Files) != 1 || c.Files[0].Path != edge+"/x" {
		t.Errorf("a path of the greatest length: %+v", c)
	}
	if c := look(func() { must(os.MkdirAll(over, 0o755)) }); !c.Deep || len(c.Files) != 0 {
		t.Errorf("a longer one that the command makes: %+v", c)
	}
	if c := look(func() { must(os.Remove(over)) }); !c.Deep {
		t.Errorf("a longer one that the command removes: %+v", c)
	}
	if c := look(func() {}); c.Deep {
		t.Errorf("no longer one: %+v", c)
	}
}

// TestNotReadAgain: what the last look has read is not read again while its metadata stay, whatever comes before it in its folder.
func TestNotReadAgain(t *testing.T) {
	g := newGround(t)
	write, timeless := mapped(t, g.dir+"/f")
	for _, name := range []string{"a", "b", "g"} {
		g.write(name, name)
	}
	g.m.Before(t.Context(), g.paths, nil)
	write(2)
	timeless(t)
	if err := os.Remove(g.dir + "/b"); err != nil {
		t.Fatal(err)
	}
	g.write("c", "c", "h", "h")
	g.want("", "deleted a: \"a\" -> -\ndeleted f: \"text 1\\n\" -> -\ndeleted h: \"h\" -> -\n", func() {
		if err := errors.Join(os.Remove(g.dir+"/a"), os.Remove(g.dir+"/f"), os.Remove(g.dir+"/h")); err != nil {
			t.Fatal(err)
		}
	})
}

// TestBoundOfAll: what is kept from the last look counts, and a file of the greatest size is kept whole.
func TestBoundOfAll(t *testing.T) {
	g := newGround(t)
	large := strings.Repeat("x", maxFile)
	for i := range maxAll / maxFile {
		g.write(fmt.Sprint("f", i), large)
	}
	if beyond := g.m.Before(t.Context(), g.paths, nil).Beyond(); len(beyond) != 0 {
		t.Errorf("%v", beyond)
	}
	g.write("more", "x")
	b := g.m.Before(t.Context(), g.paths, nil)
	if beyond := b.Beyond(); !maps.Equal(beyond, map[string]string{g.dir + "/more": whyTooMany}) {
		t.Errorf("%v", beyond)
	}
	if err := os.Remove(g.dir + "/f0"); err != nil {
		t.Fatal(err)
	}
	if c := b.After(t.Context()).Files; len(c) != 1 || len(c[0].Before.Content) != maxFile {
		t.Errorf("%d changes", len(c))
	}
}

// TestClean: a file is as the index has it if all that git compares is the same, and the index is younger.
func TestClean(t *testing.T) {
	s := stat{ino: 1<<32 + 5, size: 7, mode: 0o100644, mtime: 3e9 + 4, ctime: 1e9 + 2}
	k := git.Entry{Inode: 5, Size: 7, Mode: 0o100644, Seconds: 3, Nanos: 4, ChangeSeconds: 1, ChangeNanos: 2}
	index := stat{mtime: 3e9 + 5}
	if !clean(s, k, index) {
		t.Error("a clean file")
	}
	for name, change := range map[string]func(s *stat, k *git.Entry, index *stat){
		"the size":              func(s *stat, _ *git.Entry, _ *stat) { s.size = 8 },
		"the upper half of it":  func(s *stat, _ *git.Entry, _ *stat) { s.size = 1<<32 + 7 },
		"the inode":             func(s *stat, _ *git.Entry, _ *stat) { s.ino = 6 },
		"the time":              func(s *stat, _ *git.Entry, _ *stat) { s.mtime-- },
		"the seconds":           func(_ *stat, k *git.Entry, _ *stat) { k.Seconds = 2 },
		"the change":            func(s *stat, _ *git.Entry, _ *stat) { s.ctime++ },
		"the mode":              func(s *stat, _ *git.Entry, _ *stat) { s.mode = 0o100755 },
		"a link":                func(_ *stat, k *git.Entry, _ *stat) { k.Mode = 0o120000 },
		"the index of one time": func(_ *stat, _ *git.Entry, index *stat) { index.mtime-- },
		"an older index":        func(_ *stat, _ *git.Entry, index *stat) { index.mtime = 0 },
	} {
		s, k, index := s, k, index
		if change(&s, &k, &index); clean(s, k, index) {
			t.Errorf("clean in spite of %s", name)
		}
	}
	s.mode, k.Mode = 0o100755, 0o100755
	if !clean(s, k, index) {
		t.Error("a clean program")
	}
	if s.size, k.Size = 1<<32, 0; clean(s, k, index) {
		t.Error("4 GiB are not nothing")
	}
}

// TestYoung: a time proves nothing until it is two seconds old.
func TestYoung(t *testing.T) {
	w := &walk{look: look{at: time.Unix(100, 0)}}
	for nanos, want := range map[int64]bool{98e9: false, 98e9 + 1: true, 97e9: false, 100e9: true, 200e9: true} {
		if w.young(stat{mtime: nanos}) != want || w.young(stat{ctime: nanos}) != want || w.young(stat{mtime: 1, ctime: nanos}) != want {
			t.Errorf("%d: %v", nanos, !want)
		}
	}
	if !slices.Equal(namesOf("/a/b"), []string{"a", "b"}) || len(namesOf("/")) != 0 {
		t.Error("names of a path")
	}
	if w.failed(fs.ErrPermission) || w.look.cut != "" {
		t.Error("a folder that may not be read cuts no look")
	}
}

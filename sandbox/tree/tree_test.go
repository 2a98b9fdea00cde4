//go:build unix

package tree

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tandem/sandbox"
	"tandem/sandbox/tree/treetest"
)

func workspace(t *testing.T, files ...string) *sandbox.Paths {
	t.Helper()
	dir := treetest.Workspace(t, files...)
	return &sandbox.Paths{Cwd: dir, Read: []string{dir}}
}

// open opens a directory by its canonical path.
func open(p *sandbox.Paths, dir string) (*Tree, error) {
	place, err := p.Readable(dir)
	if err != nil {
		return nil, err
	}
	return Open(place)
}

func tree(t *testing.T, p *sandbox.Paths, dir string) *Tree {
	t.Helper()
	tr, err := open(p, filepath.Join(p.Cwd, dir))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func list(t *testing.T, p *sandbox.Paths, dir string, depth int) ([]string, int) {
	t.Helper()
	tr, err := open(p, filepath.Join(p.Cwd, dir))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	ignored, err := tr.Walk(t.Context(), depth, func(e Entry) error {
		if tr.Ignored(e.Path) && !e.Type.IsDir() {
			t.Errorf("%s is walked over and ignored", e.Path)
		}
		got = append(got, e.Path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, ignored
}

func TestWalk(t *testing.T) {
	p := workspace(t, "b/z", "b/a.log", "b/keep.log", "a.go", "b.go", ".gitignore=*.log\n/out/\n# x\n!keep.log\n", "out/x", "b/out/y",
		"b/.ignore=z\n", ".git/config", "c/.git/x", ".tandem-tmp-1", ".github/w", "loop=-> .", "up=-> /", "b/.gitignore=!a.log\r\n")
	tests := []struct {
		dir     string
		depth   int
		want    string
		ignored int
	}{
		{".", 0, ".github .github/w .gitignore a.go b b/.gitignore b/.ignore b/a.log b/keep.log b/out b/out/y b.go c loop up", 2},
		{".", 1, ".github .gitignore a.go b b.go c loop up", 1},
		{"b", 0, ".gitignore .ignore a.log keep.log out out/y", 1},
		{".github", 1, "w", 0},
		{"out", 0, "x", 0},
		{"c", 0, "", 0},
	}
	for _, tt := range tests {
		got, ignored := list(t, p, tt.dir, tt.depth)
		if strings.Join(got, " ") != tt.want || ignored != tt.ignored {
			t.Errorf("%s, depth %d: %s (%d ignored)\nwant %s (%d)", tt.dir, tt.depth, strings.Join(got, " "), ignored, tt.want, tt.ignored)
		}
	}
}

func TestStopAndCancel(t *testing.T) {
	p := workspace(t, "a/x", "b/x", "c/x")
	tr, err := open(p, p.Cwd)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if _, err := tr.Walk(t.Context(), 0, func(e Entry) error {
		got = append(got, e.Path)
		switch e.Path {
		case "a":
			return fs.SkipDir
		case "b/x":
			return fs.SkipAll
		}
		return nil
	}); err != nil || strings.Join(got, " ") != "a b b/x" {
		t.Errorf("%v, %v", got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	if _, err := tr.Walk(ctx, 0, func(Entry) error { cancel(why); return nil }); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
}

// What is no regular file is never opened, and nothing outside the roots is.
func TestOpen(t *testing.T) {
	p := workspace(t, "f=text", "sub/g=deep", "link=-> f", "away=-> /etc/passwd")
	if err := syscall.Mkfifo(filepath.Join(p.Cwd, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr, err := open(p, filepath.Join(p.Cwd, "sub"))
	if err != nil {
		t.Fatal(err)
	}
	if f, err := tr.Open("g"); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
	for _, name := range []string{"../link", "../away", "../fifo", "../../x", "..", "none"} {
		if f, err := tr.Open(name); err == nil {
			f.Close()
			t.Errorf("%s could be opened", name)
		}
	}
	for _, name := range []string{"f", "none"} {
		if _, err := open(p, filepath.Join(p.Cwd, name)); err == nil {
			t.Errorf("%s is no directory", name)
		}
	}
}

// git itself says what is ignored.
func TestIgnoreAsGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	names := []string{"a.o", "b.txt", "build/x", "src/build/y", "src/a.o", "src/deep/keep.o", "doc/a/b/c", "doc/c", "tmp x", "weird[1].c", "#f"}
	p := workspace(t, names...)
	for file, rules := range map[string]string{
		".gitignore":     "*.o\n/build\ndoc/**/c\n\\#f\nweird\\[1\\].c\n!src/deep/keep.o\n",
		"src/.gitignore": "build/\n!a.o\n",
	} {
		if err := os.WriteFile(filepath.Join(p.Cwd, file), []byte(rules), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git := gitIn(t, p.Cwd)
	git("init", "-q")
	if err := os.WriteFile(filepath.Join(p.Cwd, ".git/info/exclude"), []byte("tmp*\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	sameAsGit(t, p, git)
}

// gitIn runs git in a folder, without a person's settings.
func gitIn(t *testing.T, dir string) func(args ...string) string {
	return func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
}

// sameAsGit compares the files of a walk with those that git would add.
func sameAsGit(t *testing.T, p *sandbox.Paths, git func(args ...string) string) {
	t.Helper()
	var want []string
	if out := strings.Trim(git("ls-files", "-z", "--others", "--exclude-standard"), "\x00"); out != "" {
		want = strings.Split(out, "\x00")
	}
	slices.Sort(want)
	tr, err := open(p, p.Cwd)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if _, err := tr.Walk(t.Context(), 0, func(e Entry) error {
		if !e.Type.IsDir() {
			got = append(got, e.Path)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("walked %q\ngit has %q", got, want)
	}
}

// TestIgnoreAsGitAtRandom compares rules made of pieces with git, but for braces and for classes that may be a slash, which ripgrep reads in
// another way.
func TestIgnoreAsGitAtRandom(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	p := workspace(t, "a", "b", "ab", "a.o", "d/a", "d/b", "d/ab", "d/e/a", "d/e/f/a.o", "e/a", "e/d/b", "x y", "d/x ", "!a", "d/[a]")
	git := gitIn(t, p.Cwd)
	git("init", "-q")
	pieces := []string{"a", "b", "d", "e", "f", "*", "**", "?", "/", "/", "[ab]", ".o", "\\", " ", "!", "**/", "/**", "x"}
	odd := regexp.MustCompile(`[^/]\*\*|\*\*[^/]`)
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		for _, file := range []string{".gitignore", "d/.gitignore"} {
			var b strings.Builder
			for range 1 + r.IntN(4) {
				line := ""
				if r.IntN(4) == 0 {
					line = "!"
				}
				for range 1 + r.IntN(4) {
					line += pieces[r.IntN(len(pieces))]
				}
				// What nobody writes git reads in ways of its own: two stars beside other signs, an escaped slash, two slashes, a ! alone.
				for strings.Contains(line, "\\/") {
					line = strings.ReplaceAll(line, "\\/", "/")
				}
				for strings.Contains(line, "//") {
					line = strings.ReplaceAll(line, "//", "/")
				}
				if odd.MatchString(line) {
					line = strings.ReplaceAll(line, "*", "")
				}
				if strings.Trim(line, "! ") == "" {
					line = "a"
				}
				b.WriteString(line + "\n")
			}
			if err := os.WriteFile(filepath.Join(p.Cwd, file), []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if sameAsGit(t, p, git); t.Failed() {
			top, _ := os.ReadFile(filepath.Join(p.Cwd, ".gitignore"))
			below, _ := os.ReadFile(filepath.Join(p.Cwd, "d/.gitignore"))
			t.Fatalf("round %d: .gitignore %q, d/.gitignore %q", round, top, below)
		}
	}
}

func TestGlob(t *testing.T) {
	for pattern, paths := range map[string]string{
		"*.go":          "+a.go +b/a.go -a.go/x -a.gox",
		"./*.go":        "+a.go +b/a.go",
		"/*.go":         "+a.go -b/a.go",
		"src/*.go":      "+src/a.go -src/b/a.go -x/src/a.go",
		"src/**/*.go":   "+src/a.go +src/b/c/a.go -a.go",
		"**/*.{ts,tsx}": "+a.ts +b/a.tsx -a.js",
		"**/test_[a-c]": "+test_a +x/test_b -test_d",
		"a?c":           "+abc +x/abc -a/c",
		"caf?":          "-café +cafe",
		"caf??":         "+café",
		"**":            "+a +b/c",
		"a[!b]c":        "+a/c -abc",
		"exact name.md": "+exact name.md",
		"!*.go":         "-a.go -b/a.go +a.md",
		"!b":            "-b/a.go -c/b/d +a.go",
		"!/b/":          "-b/a.go +c/b/d +b",
		"src/":          "-src -src/a",
		"#a":            "+a +b",
		`\#a`:           "+#a -b",
		"{a,b/**}/c":    "+a/c +b/x/c -x/c",
		"a**b":          "+axb -a/b",
		"{,x}y":         "-y +xy",
	} {
		glob, err := ParseGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for p := range strings.SplitSeq(strings.ReplaceAll(paths, "exact name", "exact_name"), " ") {
			p = strings.ReplaceAll(p, "exact_name", "exact name")
			if glob.Fits(p[1:]) != (p[0] == '+') {
				t.Errorf("%s on %s", pattern, p)
			}
		}
	}
	for _, bad := range []string{"[a", "{a", "a/**/[z-", "a}", `a\`, "[b-a]"} {
		if _, err := ParseGlob(bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

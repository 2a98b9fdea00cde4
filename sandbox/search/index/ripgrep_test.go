//go:build linux

package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/sandbox"
	"tandem/sandbox/tree"
	"tandem/sandbox/tree/treetest"
)

// TestAsRipgrepAtRandom makes trees with rules and asks for files by globs: a walk, and one over a table, come by the files that ripgrep
// lists with the option --hidden.
func TestAsRipgrepAtRandom(t *testing.T) {
	rg := treetest.Ripgrep(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	for seed := range uint64(max(*rounds/300, 1)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { likeRipgrep(t, rg, home, rand.New(rand.NewPCG(seed, 2))) })
	}
}

func likeRipgrep(t *testing.T, rg, home string, r *rand.Rand) {
	above, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(above, "up", "root")
	put := func(name, content string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"a", "b", "ab", "a.o", "é", ".h", ".o", "d/a", "d/b", "d/ab", "d/e/a", "d/e/f/a.o", "d/e/é", "e/a", "e/d/b", "a{b}", "d/{a,b}", "x y", "d/x ",
		"!a", "d/[a]", "#a", "e/x/y/z", "x/a", "x/b/a", "x/b/c/d/a", "\xffb", "d/a\\b", "d/*", "d/-", "e/a]", "d/.h/a", "f", "g/h/a.c",
	} {
		put(filepath.Join(root, name), "x\n")
	}
	for _, link := range []string{"link", "d/link"} {
		if err := os.Symlink("a", filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	pieces := []string{
		"a", "b", "d", "e", "f", "x", "*", "*", "**", "?", "/", "/", "/", "[ab]", "[!a]", "[^a]", "[a-", "[", "]", ".o", ".", "{a,b}", "{a,", "}", "{", "\\", " ", "!", "**/", "/**",
		"é", "#", "ab", "-", ",", "{,a}", "{**/a,b}", "[a-z]", "[]a]", "[!]a]",
	}
	line := func() (out string) {
		if r.IntN(4) == 0 {
			out = "!"
		}
		for range 1 + r.IntN(4) {
			out += pieces[r.IntN(len(pieces))]
		}
		return out
	}
	rules := func() (out string) {
		if r.IntN(8) == 0 {
			out = "\uFEFF"
		}
		for range r.IntN(4) {
			out += line() + []string{"\n", "\n", "\n", "\r\n", " \n", "\\ \n", "\t\n", "\n\n", "\n#\n"}[r.IntN(9)]
		}
		if r.IntN(20) == 0 {
			out += "\xff\n" + line() + "\n"
		}
		return out + line()
	}
	files := []string{
		".gitignore", "d/.gitignore", "e/.gitignore", "x/.gitignore", "x/b/.gitignore", ".ignore", "d/.ignore", ".rgignore", "x/.rgignore", ".git/info/exclude", "x/.git/info/exclude",
		"x/b/.git/info/exclude", "../.gitignore", "../.ignore", "../../.rgignore", "../../.gitignore", "../.git/info/exclude", "../../.git/info/exclude",
	}
	p := &sandbox.Paths{Cwd: root, Read: []string{root}}
	tasks := make(chan func(context.Context), 100)
	x := &Indexes{RunInBackground: func(f func(context.Context)) { tasks <- f }, Now: func() time.Time { return time.Now().Add(time.Minute) }, Least: 1}
	for round := range 40 {
		for _, dir := range []string{"x/b", "e"} {
			if info, err := os.Lstat(filepath.Join(root, dir, ".git")); err == nil && !info.IsDir() {
				_ = os.Remove(filepath.Join(root, dir, ".git"))
			}
		}
		for _, name := range files {
			name = filepath.Join(root, name)
			_ = os.Remove(name)
			if strings.HasSuffix(name, "exclude") && r.IntN(2) == 0 {
				if err := os.RemoveAll(filepath.Dir(filepath.Dir(name))); err != nil {
					t.Fatal(err)
				}
			} else if r.IntN(3) == 0 {
				put(name, rules())
			}
		}
		for _, dir := range []string{"x/b", "e"} { // another working tree of a repository
			at := filepath.Join(root, dir)
			_ = os.RemoveAll(filepath.Join(at, ".jj"))
			switch _, err := os.Lstat(filepath.Join(at, ".git")); {
			case err == nil:
			case r.IntN(5) == 0:
				put(filepath.Join(at, ".git"), "gitdir: "+root+"/x/.git/worktrees/w\n")
				put(filepath.Join(root, "x/.git/worktrees/w/commondir"), "../..\n")
			case r.IntN(5) == 0:
				put(filepath.Join(at, ".jj/x"), "")
			}
		}
		_ = os.RemoveAll(filepath.Join(home, ".config"))
		if r.IntN(4) == 0 {
			put(filepath.Join(home, ".config/git/ignore"), strings.ReplaceAll(rules(), "/", ""))
		}
		for range 3 {
			dir, glob := []string{".", ".", "d", "x", "x/b"}[r.IntN(5)], ""
			if r.IntN(3) > 0 {
				glob = line()
			}
			args := []string{"--no-config", "--no-messages", "--files", "--hidden", "--null"}
			if glob != "" {
				args = append(args, "--glob="+glob)
			}
			cmd := exec.Command(rg, append(args, "--glob=!.git")...)
			cmd.Dir = filepath.Join(root, dir)
			out, err := cmd.Output()
			refused := false
			if err, failed := err.(*exec.ExitError); failed && err.ExitCode() == 2 && len(out) == 0 && glob != "" { // or a rule is none
				cmd := exec.Command(rg, "--no-config", "--no-ignore", "--files", "--glob="+glob)
				cmd.Dir = filepath.Join(root, "g")
				_, err := cmd.Output()
				err2, failed := err.(*exec.ExitError)
				refused = failed && err2.ExitCode() == 2
			}
			only, err := tree.ParseGlob(glob)
			if (err != nil) != refused {
				t.Fatalf("%q: %v, refused %t", glob, err, refused)
			}
			if refused || strings.HasPrefix(glob, "./") {
				continue
			}
			var want []string
			for name := range strings.SplitSeq(string(out), "\x00") {
				if name != "" {
					want = append(want, strings.TrimPrefix(name, "./"))
				}
			}
			if glob != "" && !treetest.Spelt(glob) { // ripgrep takes what is ignored where any glob fits
				cmd := exec.Command(rg, "--no-config", "--no-messages", "--files", "--hidden", "--null", "--glob=!.git")
				cmd.Dir = filepath.Join(root, dir)
				searched, _ := cmd.Output()
				names := strings.Split(string(searched), "\x00")
				want = slices.DeleteFunc(want, func(name string) bool { return !slices.Contains(names, name) })
			}
			slices.Sort(want)
			tr, err := open(p, filepath.Join(root, dir))
			if err != nil {
				t.Fatal(err)
			}
			tr.Only(only)
			scanned := func(x *Indexes) (out []string, err error) {
				err = Scan(t.Context(), tr, Options{Wants: func(string) bool { return true }, Indexes: x},
					func() func(File) (bool, bool) { return func(File) (bool, bool) { return true, true } },
					func(path string, _ bool) bool { out = append(out, path); return true })
				return out, err
			}
			for way, walk := range map[string]func() ([]string, error){
				"walk": func() ([]string, error) {
					return walked(t, func(visit func(tree.Entry) error) (int, error) { return tr.Walk(t.Context(), 0, visit) })
				},
				"table": func() ([]string, error) {
					return walked(t, func(visit func(tree.Entry) error) (int, error) { return x.Walk(t.Context(), tr, 0, visit) })
				},
				"scan": func() ([]string, error) { return scanned(nil) }, "scan by index": func() ([]string, error) { return scanned(x) },
			} {
				got, err := walk()
				if err != nil {
					t.Fatal(err)
				}
				sorted := slices.Clone(got)
				slices.SortFunc(sorted, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
				if !slices.Equal(sorted, got) {
					t.Errorf("%s: %q is out of order", way, got)
				}
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("round %d, %s of %s by %q:\n got %q\nwant %q", round, way, dir, glob, minus(got, want), minus(want, got))
				}
			}
			for _, name := range want {
				if tr.Ignored(name) {
					t.Errorf("%s is ignored and walked over", name)
				}
			}
			if t.Failed() {
				for _, name := range append(files, home+"/.config/git/ignore", "x/b/.git", "e/.git", "x/b/.jj", "e/.jj") {
					if !filepath.IsAbs(name) {
						name = filepath.Join(root, name)
					}
					if info, err := os.Stat(name); err == nil {
						text, _ := os.ReadFile(name)
						t.Logf("%s %s %q", name, info.Mode(), text)
					}
				}
				t.FailNow()
			}
		}
		for len(tasks) > 0 {
			done := make(chan struct{})
			go func() { defer close(done); (<-tasks)(t.Context()) }()
			<-done
		}
	}
}

// walked are the regular files that a walk comes by.
func walked(t *testing.T, walk func(func(tree.Entry) error) (int, error)) (out []string, err error) {
	t.Helper()
	_, err = walk(func(e tree.Entry) error {
		if e.Type.IsRegular() {
			out = append(out, e.Path)
		}
		return nil
	})
	return out, err
}

// minus are the names that are in a and not in b.
func minus(a, b []string) (out []string) {
	for _, name := range a {
		if !slices.Contains(b, name) {
			out = append(out, name)
		}
	}
	return out
}

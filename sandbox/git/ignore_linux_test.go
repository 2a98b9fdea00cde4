package git

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// trial is a work tree whose folders have a .gitignore each, and paths in them that are judged. git itself is the oracle.
type trial struct {
	top     string
	paths   []string
	ignored int // of all comparisons, as git says
}

// compare gives the paths of which git and Rules say different things.
func (x *trial) compare(t *testing.T, fold bool) {
	t.Helper()
	c := exec.Command("git", "-C", x.top, "-c", fmt.Sprintf("core.ignoreCase=%t", fold), "check-ignore", "--no-index", "-z", "--stdin")
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	c.Stdin = strings.NewReader(strings.Join(x.paths, "\x00") + "\x00")
	var said, failed bytes.Buffer
	c.Stdout, c.Stderr = &said, &failed
	if err := c.Run(); err != nil && (c.ProcessState.ExitCode() != 1 || failed.Len() > 0) {
		t.Fatalf("git check-ignore: %v\n%s", err, &failed)
	}
	ignored := map[string]bool{}
	for name := range strings.SplitSeq(said.String(), "\x00") {
		ignored[name] = true
	}
	x.ignored += len(ignored)
	for _, name := range x.paths {
		if got := x.ignores(name, fold); got != ignored[name] {
			folder, _, _ := strings.Cut(name, "/")
			text, _ := os.ReadFile(filepath.Join(x.top, folder, ".gitignore"))
			t.Errorf("%q: ignored %v, git says %v; by\n%q", name, got, ignored[name], text)
		}
	}
}

func (x *trial) ignores(name string, fold bool) bool {
	rules, names := Rules{}, strings.Split(name, "/")
	if fold {
		rules = rules.Fold()
	}
	for i := range names {
		rules = rules.AddFolder(filepath.Join(x.top, path.Join(names[:i]...)), names[:i])
		info, err := os.Lstat(filepath.Join(x.top, path.Join(names[:i+1]...)))
		if rules.Ignore(names[:i+1], err == nil && info.IsDir()) {
			return true
		}
	}
	return false
}

func (x *trial) add(t *testing.T, folder bool, name string) {
	t.Helper()
	at := filepath.Join(x.top, name)
	err := os.MkdirAll(filepath.Dir(at), 0o755)
	if folder && err == nil {
		err = os.MkdirAll(at, 0o755)
	} else if err == nil {
		err = os.WriteFile(at, nil, 0o644)
	}
	if err == nil && !slices.Contains(x.paths, name) {
		x.paths = append(x.paths, name)
	}
}

func newTrial(t *testing.T) *trial {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git to compare with")
	}
	x := &trial{top: t.TempDir()}
	gitIn(t, x.top, "init", "-q")
	return x
}

// rounds of some thousand paths each: the long form of the test has 300.
var rounds = flag.Int("rounds", 12, "how often rules are drawn and compared with git")

// Rules drawn from the signs that mean something to git or to ripgrep: git says which paths they ignore.
func TestFaultW6DrawnRules(t *testing.T) {
	x := newTrial(t)
	files := []string{"b", "B", "ab", "a b", "b ", "[b]", "{b,c}", "b.js", "b.ts", ".x", "!b", "#b", `b\`, `\!b`, "é", "b-c", "]", "c*", "bb.min.js", "0"}
	folders := []string{"a", "A", "a/a", "a/b c", "{a,b}", "d[1]", "a/a/a", "x"}
	const each = 20
	for i := range each {
		root := fmt.Sprintf("f%02d", i)
		for _, d := range folders {
			x.add(t, true, root+"/"+d)
		}
		for j, f := range files {
			x.add(t, false, root+"/"+f)
			x.add(t, false, root+"/"+folders[j%len(folders)]+"/"+f)
		}
	}
	r := rand.New(rand.NewPCG(1, 6))
	pieces := []string{
		"a", "b", "B", "c", "a b", "*", "*", "**", "**/", "/**", "/", "/", "?", "[ab]", "[!a]", "[^b]", "[a-c]", "[]]", "[]-a]", `[\]b]`, "[[:alpha:]]", "[[:upper:]]",
		"[[:bad:]]", "[", "]", "{", "}", ",", "{a,b}", "{b,c}", "*.{js,ts}", ".js", "*.js", "!", "#", `\`, `\!`, `\#`, `\ `, " ", "\t", "é", "-", ".", "x", "d", "1", "[[:space:]]", "[a-", `[\-b]`,
	}
	line := func() string {
		var b strings.Builder
		if r.IntN(6) == 0 {
			b.WriteString("!")
		}
		if r.IntN(8) == 0 {
			b.WriteString("/")
		}
		for range 1 + r.IntN(4) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		b.WriteString([]string{"", "", "", "/", " ", `\ `, "  ", "\r"}[r.IntN(8)])
		return b.String()
	}
	n := 0
	for range *rounds {
		for i := range each {
			var lines []string
			for range 1 + r.IntN(4) {
				lines = append(lines, line())
			}
			text := strings.Join(lines, "\n") + []string{"", "\n"}[r.IntN(2)]
			if r.IntN(20) == 0 {
				text = "\uFEFF" + text
			}
			if err := os.WriteFile(fmt.Sprintf("%s/f%02d/.gitignore", x.top, i), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		x.compare(t, r.IntN(4) == 0)
		if n += len(x.paths); t.Failed() {
			break
		}
	}
	if t.Logf("%d comparisons, %d ignored", n, x.ignored); x.ignored < n/50 || x.ignored > n*49/50 {
		t.Error("the rules say nothing")
	}
}

// The ignore files of the Go modules on this machine, each with paths made from its own patterns.
func TestFaultW6RealRules(t *testing.T) {
	x := newTrial(t)
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Skip("there is no go to ask for its modules")
	}
	var found []string
	_ = filepath.WalkDir(strings.TrimSpace(string(out)), func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".gitignore" && d.Type().IsRegular() {
			found = append(found, name)
		}
		if len(found) >= 300 {
			return fs.SkipAll
		}
		return nil
	})
	for i, name := range found {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		root := fmt.Sprintf("m%03d", i)
		x.add(t, true, root)
		if err := os.WriteFile(filepath.Join(x.top, root, ".gitignore"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		sample := strings.NewReplacer("**", "p/q", "*", "p", "?", "q", "[", "", "]", "", "!", "", `\`, "", "\r", "")
		for line := range strings.Lines(string(text)) {
			p := path.Clean("/" + strings.TrimSpace(sample.Replace(line)))[1:]
			if p == "" || len(p) > 200 || strings.HasPrefix(p, "#") {
				continue
			}
			for _, p := range []string{p, strings.ToUpper(p), "below/" + p, p + "x"} {
				x.add(t, true, root+"/"+p)
				x.add(t, false, root+"/"+p+"/in")
				x.add(t, false, root+"/file/"+p)
			}
		}
	}
	if len(x.paths) == 0 {
		t.Skip("no module on this machine has an ignore file")
	}
	x.compare(t, false)
	x.compare(t, true)
	t.Logf("%d files, %d paths", len(found), len(x.paths))
}

// A pattern that has git try without end is matched in time that is bounded by the product of the lengths.
func TestFaultW6Bounded(t *testing.T) {
	pattern := strings.Repeat("**/*a", 200) + "b"
	name := strings.Repeat("a/", 1000) + "a"
	if wildmatch(pattern, name, true, false) {
		t.Error("it fits")
	}
	if rules := (Rules{}).Add("*\n!"+strings.Repeat("a", maxPattern+1)+"\n", nil); rules.Ignore([]string{"x"}, false) {
		t.Error("a pattern that is not read, and might take the entry back in, is passed over")
	}
}

// What git tracks is told of each form of an index, or the rules are not trusted.
func TestFaultW6Tracked(t *testing.T) {
	for name, prepare := range map[string]func(top string){
		"plain":    func(string) {},
		"split":    func(top string) { gitIn(t, top, "update-index", "--split-index") },
		"sparse":   func(top string) { gitIn(t, top, "sparse-checkout", "set", "--sparse-index", "src") },
		"version4": func(top string) { gitIn(t, top, "update-index", "--index-version", "4") },
	} {
		for _, format := range []string{"sha1", "sha256"} {
			t.Run(name+" "+format, func(t *testing.T) {
				top := t.TempDir()
				gitIn(t, top, "init", "-q", "--object-format="+format)
				write(t, top, "build/kept", "src/a", "out/x", "far/away/b")
				if err := os.WriteFile(top+"/.gitignore", []byte("build/\nout/\nfar/\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				gitIn(t, top, "add", "-f", ".gitignore", "build", "src", "far")
				gitIn(t, top, "commit", "-qm", "one")
				prepare(top)
				write(t, top, "src/later", "gen/y")
				gitIn(t, top, "add", "--sparse", "src/later")
				r, err := Open(top)
				if err != nil {
					t.Fatal(err)
				}
				for rel, want := range map[string]bool{"build": false, "src": false, "far": false, "far/away": false, "out": true, "gen": false, "out/x": true} {
					if got := r.Ignores(rel, !strings.Contains(rel, "/x")); got != want {
						t.Errorf("%s: ignored %v", rel, got)
					}
				}
				if err := os.WriteFile(r.IndexFile(), []byte("DIRC of another time"), 0o644); err != nil {
					t.Fatal(err)
				}
				if r.Ignores("out", true) {
					t.Error("a rule is trusted though the index cannot be read")
				}
			})
		}
	}
}

//go:build unix

package grep

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tandem/sandbox"
	"tandem/sandbox/search/index"
	"tandem/sandbox/tree/treetest"
	"tandem/tools"
	"tandem/tools/toolstest"
)

// TestParity asks 70 questions about each of three trees and 40 about an odd one, made of what is in them, of ripgrep, of the engine that reads all
// files and of the one with an index: all three give the same lines.
func TestParity(t *testing.T) {
	rg := oracle(t)
	trees := treetest.Trees(t)
	trees["odd"] = treetest.Odd(t)
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		t.Run(name, func(t *testing.T) {
			dir := trees[name]
			env := toolstest.Workspace(t, &txtar.Archive{})
			env.Paths = &sandbox.Paths{Cwd: dir, Read: []string{dir}}
			env.Limits.MaxToolOutputChars, env.Limits.ToolTimeout = 1<<30, 5*time.Minute
			indexed := *env
			built := make(chan struct{}, 100)
			indexed.Searches.Indexes = &index.Indexes{
				Now: time.Now, Least: 1,
				RunInBackground: func(f func(context.Context)) {
					go func() { f(context.WithoutCancel(t.Context())); built <- struct{}{} }()
				},
			}
			answer(t, New(), &indexed, []byte(`{"pattern":"nothing has this"}`))
			<-built
			found, n := 0, 70/share
			if name == "odd" {
				n = 40 / share
			}
			for _, args := range questionsOf(t, dir, n) {
				js, err := json.Marshal(args)
				if err != nil {
					t.Fatal(err)
				}
				want := answer(t, define(rg), env, withReturns(js))
				lone := args["output_mode"] == content && strings.Contains(args["pattern"].(string), "$")
				if lone {
					withoutLoneReturns(want)
				}
				for way, env := range map[string]*tools.Env{"walking": env, "index": &indexed} {
					got := answer(t, New(), env, js)
					if lone {
						withoutLoneReturns(got)
					}
					if d := cmp.Diff(want, got); d != "" {
						t.Errorf("%s: %s (-rg +engine):\n%.1500s", way, js, d)
					}
				}
				if *want.Total > 0 {
					found++
				}
			}
			if found < n/3 {
				t.Errorf("only %d of %d questions had an answer", found, n)
			}
		})
	}
}

// withReturns is a question in which a line end of the pattern is one of Windows too, as this tool takes it.
func withReturns(js []byte) []byte { return bytes.ReplaceAll(js, []byte(`\\n`), []byte(`\\r?\\n`)) }

// withoutLoneReturns leaves out what is found in lines with a carriage return inside: for ripgrep with --crlf a line ends there, for this
// tool it does not.
func withoutLoneReturns(v *toldValue) {
	v.Matches = slices.DeleteFunc(v.Matches, func(m matchValue) bool { return strings.Contains(m.Text, "\r") })
	n := len(v.Matches)
	v.Total = &n
}

// answer is the value of an answer, which must be one. Which part is shown of a long line is left out: where the first match begins far before
// the one that ends first, it is not that of the first.
func answer(t *testing.T, tool tools.Tool, env *tools.Env, js []byte) *toldValue {
	t.Helper()
	res, _ := toolstest.Call(t.Context(), tool, env, string(js))
	if !res.Success {
		t.Fatalf("%s: %s", js, res.Data)
	}
	v := told(t, res)
	for i := range v.Matches {
		if m := &v.Matches[i]; strings.HasPrefix(m.Text, "…") || strings.HasSuffix(m.Text, "…") {
			m.Text = "…"
		}
	}
	return v
}

// questionsOf makes arguments of searches, the same each time, of words and pieces of lines of a tree.
func questionsOf(t *testing.T, dir string, n int) (out []map[string]any) {
	words, pieces := wordsOf(t, dir)
	r := rand.New(rand.NewPCG(7, 8))
	word := func() string { return words[r.IntN(len(words))] }
	piece := func() string { return pieces[r.IntN(len(pieces))] }
	for i := range n {
		args := map[string]any{"head_limit": 1 << 30, "output_mode": []string{content, content, names, counts}[r.IntN(4)]}
		args["case_insensitive"], args["word"] = r.IntN(4) == 0, r.IntN(5) == 0
		made := []func() string{
			word, word,
			func() string { return word() + `\w*\(` },
			func() string { return `^\s*` + word() },
			func() string { return word() + "|" + word() + "|" + word() },
			func() string { return word() + ".*" + word() },
			func() string { return `\b` + word()[:3] + `[a-z]+\b\s*=` },
			func() string { return "(" + word() + "|" + word() + `)[^a-z]*$` },
			func() string { return word()[:2] + `[A-Z]{2,}\d` },
			func() string { return word() + `\s+\p{Lu}\S{3,9} ` },
			func() string { return `\<` + word()[:2] + `\w{3}\>` },
			func() string { return `(?i)` + word()[:3] + `[k-s]+\b{end}` },
			func() string { return `\B` + word()[1:] + `\B` },
			func() string { return regexp.QuoteMeta(piece()) },
			func() string { return regexp.QuoteMeta(piece()) + `\r?$` },
			func() string { return `(?x) ` + word() + ` \ * [^\x00-\x7f\w] # a remark` },
			func() string { return `[\pL--[a-z]]{3}` + word()[:1] },
			func() string { args["fixed"] = true; return piece() },
			func() string { args["multiline"] = true; return word() + `[^\w]*\n\s*` },
			func() string { args["multiline"] = true; return `\{\n.{0,30}` + word()[:2] },
			func() string { return `^$` },
			func() string { return `[\p{Greek}\p{Han}]|` + word() + `\.` },
			func() string { args["glob"] = "*.{go,js,txt}"; return word()[:3] },
			func() string { args["glob"] = "!*.{go,js,txt}"; return word()[:3] },
			func() string { args["type"] = "go"; return word()[:4] },
		}
		args["pattern"] = made[i%len(made)]()
		out = append(out, args)
	}
	return out
}

// wordsOf gives words and pieces of lines of files of a tree, the same each time.
func wordsOf(t *testing.T, dir string) (words, pieces []string) {
	t.Helper()
	word := regexp.MustCompile(`[A-Za-z_]{4,20}`)
	r := rand.New(rand.NewPCG(1, 1))
	var files []string
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files = append(files, path)
		}
		return nil
	})
	for range 400 {
		b, err := os.ReadFile(files[r.IntN(len(files))])
		if err != nil || strings.Contains(string(b[:min(len(b), 8000)]), "\x00") {
			continue
		}
		if found := word.FindAllString(string(b), 2000); len(found) > 0 {
			words = append(words, found[r.IntN(len(found))], found[r.IntN(len(found))])
		}
		lines := strings.Split(string(b), "\n")
		if l := strings.TrimSpace(lines[r.IntN(len(lines))]); len(l) > 3 && len(l) < 80 && utf8.ValidString(l) {
			at := r.IntN(len(l) - 2)
			pieces = append(pieces, strings.ToValidUTF8(l[at:min(len(l), at+12)], ""))
		}
	}
	slices.Sort(words)
	if words = slices.Compact(words); len(words) < 3 || len(pieces) < 3 {
		t.Skipf("%s has %d words", dir, len(words))
	}
	return words, pieces
}

// TestParityOfUnsavedText asks about a tree in which documents are open with other text than on disk, or are not there yet, and about a
// copy in which that is saved: ripgrep finds there what the engine does here, with an index and without. So does git grep with what
// both mean alike, which are texts.
func TestParityOfUnsavedText(t *testing.T) {
	rg := oracle(t)
	root, ok := treetest.Trees(t)["go"]
	if !ok {
		t.Skip("no source of Go")
	}
	open, saved := &txtar.Archive{}, &txtar.Archive{}
	add := func(a *txtar.Archive, name, text string) {
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	for _, a := range []*txtar.Archive{open, saved} {
		add(a, "disk/.git/config", "")
		add(a, "disk/.gitignore", "left_out*\n")
	}
	n := 0
	for _, dir := range []string{"mail", "textproto", "url", "netip"} {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, text := dir+"/"+filepath.Base(path), string(b)
			add(open, "disk/"+name, text)
			switch n++; n % 4 {
			case 0:
				text = strings.ReplaceAll(text, "err", "mistake")
				add(open, "buffer/"+name, text)
			case 1:
				text = strings.ReplaceAll(text, "\n", "\r\n")
				add(open, "buffer/"+name, text)
			case 2:
				text = text[len(text)/2:]
				add(open, "buffer/"+name, strings.ToValidUTF8(text, ""))
				text = strings.ToValidUTF8(text, "")
				add(open, "buffer/new_"+name, text+text)
				add(saved, "disk/new_"+name, text+text)
				add(open, "buffer/"+dir+"/left_out.go", text)
				add(saved, "disk/"+dir+"/left_out.go", text)
			}
			add(saved, "disk/"+name, text)
		}
	}
	here, there := toolstest.Workspace(t, open), toolstest.Workspace(t, saved)
	here.Limits.MaxToolOutputChars, there.Limits.MaxToolOutputChars = 1<<30, 1<<30
	indexed := *here
	built := make(chan struct{}, 100)
	indexed.Searches.Indexes = &index.Indexes{
		Now: time.Now, Least: 1,
		RunInBackground: func(f func(context.Context)) {
			go func() { f(context.WithoutCancel(t.Context())); built <- struct{}{} }()
		},
	}
	answer(t, New(), &indexed, []byte(`{"pattern":"nothing has this"}`))
	<-built
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = there.Paths.Cwd
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.Output()
		if end, failed := err.(*exec.ExitError); err != nil && (!failed || end.ExitCode() > 1) {
			t.Fatal(args, err)
		}
		return string(out)
	}
	withGit := false
	if _, err := exec.LookPath("git"); err == nil {
		withGit = true
		git("init", "-q")
		git("add", "-A")
	}
	asked := 0
	for _, args := range questionsOf(t, there.Paths.Cwd, 50/share) {
		js, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		want := answer(t, define(rg), there, withReturns(js))
		for way, env := range map[string]*tools.Env{"walking": here, "index": &indexed} {
			got := answer(t, New(), env, js)
			for i := range got.Matches {
				got.Matches[i].Path = strings.Replace(got.Matches[i].Path, here.Paths.Cwd, there.Paths.Cwd, 1)
			}
			for i := range got.Files {
				got.Files[i] = strings.Replace(got.Files[i], here.Paths.Cwd, there.Paths.Cwd, 1)
			}
			for i := range got.Counts {
				got.Counts[i].Path = strings.Replace(got.Counts[i].Path, here.Paths.Cwd, there.Paths.Cwd, 1)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s (-rg +engine):\n%.1500s", way, js, d)
			}
		}
		if args["fixed"] == true && withGit {
			var places []string
			res := answer(t, New(), here, []byte(`{"head_limit":1000000,"fixed":true,"pattern":`+string(must(json.Marshal(args["pattern"])))+`}`))
			for _, m := range res.Matches {
				rel, err := filepath.Rel(here.Paths.Cwd, m.Path)
				if err != nil {
					t.Fatal(err)
				}
				places = append(places, fmt.Sprintf("%s:%d", rel, m.Line))
			}
			var theirs []string
			for line := range strings.Lines(git("grep", "-n", "-F", "-e", args["pattern"].(string))) {
				name, rest, _ := strings.Cut(line, ":")
				number, _, _ := strings.Cut(rest, ":")
				theirs = append(theirs, name+":"+number)
			}
			slices.Sort(places)
			slices.Sort(theirs)
			if !slices.Equal(places, theirs) {
				t.Errorf("%q: %q\ngit has %q", args["pattern"], places, theirs)
			}
			asked++
		}
	}
	if withGit && share == 1 && asked < 2 {
		t.Errorf("git was asked %d questions", asked)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

package treetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Trees are folders of a machine with which searches are compared: a part of Go's source, one of its modules, and what npm has installed.
// Those that are not there are left out.
func Trees(t testing.TB) map[string]string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		t.Skip("no go command: ", err)
	}
	root, modules, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	trees := map[string]string{
		"go": filepath.Join(root, "src", "net"), "modules": filepath.Join(modules, "mvdan.cc"), "npm": "/usr/lib/node_modules",
	}
	for name, dir := range trees {
		real, err := filepath.EvalSymlinks(dir)
		if trees[name] = real; err != nil {
			t.Logf("without %s: %v", name, err)
			delete(trees, name)
		}
	}
	return trees
}

// Odd makes a tree with files and rules that are odd, and two repositories, in a new folder.
func Odd(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range odd() {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Skip(err) // the file system has no such names
		}
	}
	for _, link := range []string{"link.txt", "src/link"} {
		if err := os.Symlink("plain.txt", filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func odd() map[string]string {
	text := "foo bar\nFoo_bar foobar()\n\n\tif err != nil {\n  été Ω٣ K s ſ\nTODO: x[1] = \"a.b\"\nfoo\n"
	wide := func(big bool, text string) string {
		var b strings.Builder
		for _, r := range "\uFEFF" + text {
			low, high := byte(r), byte(r>>8)
			if big {
				low, high = high, low
			}
			b.WriteByte(low)
			b.WriteByte(high)
		}
		return b.String()
	}
	many := strings.Repeat(text, 1100) // more than is read at once
	return map[string]string{
		"plain.txt": text, "src/a.go": text, "src/b_test.go": text, "src/deep/er/c.go": text, ".hidden/h.txt": text, ".dot": text, "sp ace.md": text,
		"Makefile": text, "dos.c": strings.ReplaceAll(text, "\n", "\r\n"), "mac.txt": strings.ReplaceAll(text, "\n", "\r"), "no_end": "foo\nfoo bar",
		"mixed.c": "foo\r\nfoo\n\r\nfoo\r\r\nbar\rfoo\r", "mark.txt": "\uFEFF" + text, "marks.txt": "\uFEFF\uFEFFfoo\n",
		"wide_le.txt": wide(false, text), "wide_be.txt": wide(true, strings.ReplaceAll(text, "\n", "\r\n")), "wide_odd.txt": wide(false, text) + "x",
		"wide_half.txt": wide(false, "foo\n") + "\x00\xd8f\x00o\x00o\x00\n\x00\x00\xdc", "wide_nul.txt": wide(false, "foo\n\x00foo\n"),
		"empty": "", "line": "\n", "lines": "\n\n", "return": "\r", "nul": "foo\x00foo\n", "nul_later": "foo\nbar\n\x00foo\n",
		"late": many + "\x00foo\n" + text, "later": many + many + "foo \x00 foo\n" + many, "latin1.txt": "caf\xe9 foo\n\xa9 foo\nfoo\xff\n \x85foo\x80\x80\x80\x80foo\n",
		"\xff\xfename.txt": text, "new\nline.txt": text, "{a,b}.txt": text, "[x].txt": text, "café.txt": text, "#x": text, "!x": text,
		".git/config": "foo\n", ".git/info/exclude": "excluded\n", "excluded": text, "out/x.go": text, "a.log": text, "keep.log": text, "src/b.log": text,
		".gitignore": "*.log\n!keep.log\n/out/\n# foo\n\\#x\nsp\\ ace.*\ntrailing   \n**/gen/**\nfoo{1,2}\n", "trailing": text, "src/gen/x.go": text, "src/gen/y/z.go": text,
		"foo1": text, "src/.ignore": "!b.log\nc.*\n", ".rgignore": "lines\n", "inner/.git/config": "", "inner/.gitignore": "in\n", "inner/in": text, "inner/a.log": text,
		"tree/.git": "gitdir: nowhere\n", "tree/.gitignore": "in\n", "tree/in": text, "tree/a.log": text, "src/bad/.gitignore": "[z-a]\n\xff\nx\n", "src/bad/x": text,
	}
}

// Globs makes so many patterns of names of files, from the names that are there; the same each time.
func Globs(files []string, dir string, n int) (out []string) {
	r := rand.New(rand.NewPCG(11, 12))
	for range n {
		rel, err := filepath.Rel(dir, files[r.IntN(len(files))])
		if err != nil {
			continue
		}
		names := strings.Split(strings.ToValidUTF8(strings.ReplaceAll(rel, "\n", "?"), "?"), "/")
		name := names[len(names)-1]
		ending := filepath.Ext(name)
		pick := func(s string) string {
			runes := []rune(s)
			if len(runes) == 0 {
				return "*"
			}
			at := r.IntN(len(runes))
			return string(runes[:at]) + []string{"?", "*", "[a-z]", "[!x]", "{" + string(runes[at]) + ",zz}"}[r.IntN(5)] + string(runes[at+1:])
		}
		for i, s := range names {
			names[i] = strings.NewReplacer("{", `\{`, "}", `\}`, "[", `\[`, "]", `\]`, "!", `\!`, "#", `\#`, "*", `\*`).Replace(s)
		}
		name = names[len(names)-1]
		top := names[0]
		out = append(out, []func() string{
			func() string { return "*" + ending },
			func() string { return "**/*" + ending },
			func() string { return "!*" + ending },
			func() string { return name },
			func() string { return "/" + strings.Join(names, "/") },
			func() string { return top + "/**" },
			func() string { return "/" + top + "/*" + ending },
			func() string { return "!" + top },
			func() string { return "**/" + pick(name) },
			func() string { return pick(name) },
			func() string { return fmt.Sprintf("**/*{%s,.md}", ending) },
			func() string { return strings.Join(names[:len(names)-1], "/") + "/**/*" },
			func() string { return "[a-m]*" + ending },
			func() string { return "**" },
			func() string { return top + "/" },
		}[r.IntN(15)]())
	}
	return out
}

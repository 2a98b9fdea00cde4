package syntax_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tandem/tools/syntax"
)

func TestF196Broken(t *testing.T) {
	for _, c := range []struct{ name, path, before, after, want string }{
		{"go", "a.go", "package a\n", "package a\n\nfunc f() {\n", "does not parse after this edit: line 3: expected '}', found 'EOF'."},
		{"go still", "a.go", "package a\nfunc {\n", "package a\n\nfunc {\n", "does not parse after this edit: line 3: expected 'IDENT', found '{'. It did not parse before the edit either."},
		{"go repaired", "a.go", "package a\nfunc {\n", "package a\n", ""},
		{"go types", "a.go", "", "package a\nvar x int = \"\"\n", ""},
		{"json", "a.json", "", "{\n \"a\": 1,\n}\n", "does not parse after this edit: line 3: invalid character '}' looking for beginning of object key string."},
		{"json twice", "a.json", "", "{}\n{}\n", "does not parse after this edit: line 2: there is more text after the end of the value."},
		{"json rest", "a.json", "", "{}\n}\n", "does not parse after this edit: line 2: there is more text after the end of the value."},
		{"json cut", "a.json", "{}", "{\n\"a\": [1, 2\n", "does not parse after this edit: line 2: unexpected end of the file."},
		{"json with comments before", "a.json", "{} // c\n", "{\"a\": 1,} // c\n", ""},
		{"json with comments before, broken", "a.json", "{} // c\n", "{\n\"a\": 1 // c\n\"b\": 2\n}\n", "does not parse after this edit: line 3: invalid character '\"' after object value (expecting ',' or '}')."},
		{"tsconfig", "/x/tsconfig.base.json", "", "{\n// c\n\"a\": 1,\n}", ""},
		{"settings", "/x/.vscode/settings.json", "", "{\n// c\n\"a\": 1,\n}", ""},
		{"yaml", "a.yml", "a: 1\n", "a: 1\nb: [1, 2\n", "does not parse after this edit: "},
		{"yaml documents", "a.yaml", "", "a: 1\n---\nb: !Ref x\nc: &a [1]\nd: *a\n", ""},
		{"yaml template", "a.yaml", "", "a: {{ .Values.a }}\n{{- if }}\n", ""},
		{"toml", "a.toml", "", "[a]\nb = 1\nb = \n", "does not parse after this edit: line 3: "},
		{"toml good", "Cargo.toml", "", "[a]\nb = 1\n[[c]]\nd = 2020-01-01\n", ""},
		{"FaultW14 script", "a.sh", "", "#!/bin/sh\nif true; then\n  echo\n", "does not parse after this edit: line 2: `if` statement must end with `fi`."},
		{"FaultW14 script with a stray end", "a.bash", "", "echo a\nfi\n", "does not parse after this edit: line 2: `fi` can only be used to end an `if`."},
		{"FaultW14 script with an open quote", "a.sh", "", "echo 'a\n", "does not parse after this edit: line 1: reached EOF without closing quote `'`."},
		{"FaultW14 script with an open here-document", "a.sh", "", "cat <<X\na\n", "does not parse after this edit: line 1: unclosed here-document `X`."},
		{"FaultW14 script still", "a.sh", "{ a", "echo; { a", "does not parse after this edit: line 1: reached EOF without matching `{` with `}`. It did not parse before the edit either."},
		{"FaultW14 script by its first line", "bin/run", "", "#!/usr/bin/env bash\nfor i in a; do b\n", "does not parse after this edit: line 2: `for` statement must end with `done`."},
		{"FaultW14 script of another shell", "a.sh", "", "#!/bin/zsh\nif [[ -n $x ]] { echo }\n", ""},
		{"FaultW14 no script", "LICENSE", "", "if true; then\n", ""},
		{"FaultW14 script, arrays", "a.sh", "", "#!/bin/sh\na=(1 2)\n[[ $a =~ ^(x|y)$ ]] && echo ${a[@]}\n", ""},
		{"FaultW14 script, what bash looks at later", "a.sh", "", "echo $((\"1\" + 2)) ${(%):-%N} ${a:=}\n", ""},
		{"text", "a.txt", "", "{", ""},
		{"empty", "a.json", "{}", "\n", ""},
		{"large", "a.json", "", "{" + strings.Repeat(" ", 1<<20), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := syntax.Broken(c.path, c.before, c.after)
			if got != c.want && (c.want == "" || !strings.HasSuffix(c.want, ": ") || !strings.HasPrefix(got, c.want)) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			t.Log(got)
		})
	}
}

func TestDeepTexts(t *testing.T) {
	for _, path := range []string{"a.go", "a.json", "tsconfig.json", "a.yaml", "a.toml", "a.sh"} {
		for _, s := range []string{"[", "{\"a\":", "a = [", "a: [", "- ", "(", "{ ", "$(", "`", "if ", "! ", "a|", "a&&", "case a in a) ", "a=(", "$((-", "[[ ! ", "<(", "${a:-"} {
			for _, times := range []int{99_999, (1 << 19) / len(s)} {
				syntax.Broken(path, "", map[string]string{"a.go": "package a\nvar x = ", "a.toml": "a = "}[path]+strings.Repeat(s, times)) // it returns
			}
		}
	}
}

func FuzzBroken(f *testing.F) {
	for _, s := range []string{"package a", "{}", "a: [1]", "a = 1", "&a [*a]", "? - x\n: y", "[[a]]\n[a]", "\x00", "\ufeff{}", "\"0000\n\"", "if a; then b", "cat <<X\n$(a", "case a in b) ;; esac"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, path := range []string{"a.go", "a.json", "a.jsonc", "a.yaml", "a.toml", "a.sh"} {
			if says := syntax.Broken(path, "", s); strings.Contains(says, "\n") {
				t.Errorf("%s: %q", path, says)
			}
		}
	})
}

// TestFaultW14NoFalseAlarm parses the scripts of this system: of none that bash can read is it said that it does not parse.
func TestFaultW14NoFalseAlarm(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	parsed := 0
	for _, root := range []string{"/etc", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/share", "/usr/local"} {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || filepath.Ext(path) != "" && filepath.Ext(path) != ".sh" && filepath.Ext(path) != ".bash" {
				return nil
			}
			if info, err := d.Info(); err != nil || info.Size() > 1<<20 {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil || filepath.Ext(path) == "" && !bytes.HasPrefix(text, []byte("#!")) {
				return nil
			}
			says := syntax.Broken(path, "", string(text))
			if says != "" && exec.Command(bash, "-n", path).Run() == nil {
				t.Errorf("%s %s", path, says)
			}
			parsed++
			return nil
		})
	}
	if parsed == 0 {
		t.Skip("no scripts")
	}
	t.Logf("%d files", parsed)
}

// TestFaultW14WhatBashReads has odd scripts, and wants no fault told of one that bash accepts.
func TestFaultW14WhatBashReads(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	for _, script := range []string{
		"((echo a) | cat)", "x=$((echo a) | cat)", "((\n a\n) | b)", "((a);(b))", "((case x in x) a;; esac) | b)", "((cat <<X\na\nX\n) | b)",
		"let $1=$1+$2", "let a=b+$1", "declare -A a=([x]=1 [y z]=2)", "a[b c]=d", "case x in (a) b;; esac", "case x in a) ;& b) ;;& c) ;; esac",
		"function a-b.c { echo; }", "for ((i=0;i<3;i++)) { a; }", "for i in a b; { echo; }", "coproc a { b; }", "time -p a | b", "a |& b &>> c",
		"[[ a == (b|c) ]]", "[[ $a =~ (b|c)* && ! -e d ]]", "echo ${a//\\'/x} 'b'", "echo \"${a:-\"b c\"}\" ${a#*'}'}", "echo `a \\`b\\``", "echo \"`echo \"x\"`\"",
		"cat <<-X\n\ta\n\tX", "cat <<'X' | b\n$(a\nX", "cat <<X <<Y\na\nX\nb\nY", "x=$(cat <<X\na'b\nX\n)", "x=\"$(cat <<X\na\"b\nX\n)\"", "a () if b; then c; fi",
		"# it's\necho", "echo a#'b'", "echo $'a\\'b'", "x=(a # it's\n b)", "alias x='if'", "shopt -s extglob\nls @(a|b) *(c)", "echo } { fi then", "fi=1; echo $fi",
		"exec {fd}>a", "a ||\n\n# c\nb", "trap 'a' 0\r", "cat <<X\r\na\r\nX\r", "while :; do case $1 in -a) shift;; *) break; esac; done", "if a\nthen b\nelif c; then d\nelse e\nfi",
	} {
		cmd := exec.Command(bash, "-n")
		cmd.Stdin = strings.NewReader(script + "\n")
		if says := syntax.Broken("a.sh", "", script+"\n"); says != "" && cmd.Run() == nil {
			t.Errorf("%q %s", script, says)
		}
	}
}

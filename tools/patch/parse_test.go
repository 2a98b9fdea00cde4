package patch

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// written writes operations in the form in which the tests expect them.
func written(ops []operation) string {
	var b strings.Builder
	for _, o := range ops {
		fmt.Fprintf(&b, "%d %s %s", o.line, o.op, o.path)
		if o.to != "" {
			b.WriteString(" -> " + o.to)
		}
		if o.program {
			b.WriteString(" +x")
		}
		if o.content != "" {
			fmt.Fprintf(&b, " %q", o.content)
		}
		for _, h := range o.hunks {
			fmt.Fprintf(&b, " {%d", h.line)
			if h.block.Number > 0 {
				fmt.Fprintf(&b, " =%d", h.block.Number)
			}
			for _, u := range h.block.Under {
				fmt.Fprintf(&b, " @%s", u)
			}
			if h.block.Section != "" {
				fmt.Fprintf(&b, " #%s", h.block.Section)
			}
			b.WriteString(":")
			for _, l := range h.block.Lines {
				fmt.Fprintf(&b, " %q", string(l.Op)+l.Text)
			}
			if h.bare > 0 {
				fmt.Fprintf(&b, " bare=%d", h.bare)
			}
			for word, is := range map[string]bool{" start": h.block.AtStart, " end": h.block.AtEnd, " open": h.block.Open} {
				if is {
					b.WriteString(word)
				}
			}
			b.WriteString("}")
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestF158Grammar(t *testing.T) {
	for _, tt := range []struct{ name, patch, want string }{
		{"all of it", `*** Begin Patch
*** Add File: new.txt
+one
+
+two
*** Delete File: old.txt
*** Update File: a.go
*** Move to: b.go
@@ class A
@@   def f
 a
-b
+c
@@
 x
+y
*** End of File
*** End Patch`, `2 add new.txt "one\n\ntwo\n"
6 delete old.txt
7 update a.go -> b.go {9 @class A @  def f: " a" "-b" "+c"} {14: " x" "+y" end}`},
		{"the first hunk has no @@", "*** Begin Patch\n*** Update File: a\n x\n-y\n*** End Patch", `2 update a {3: " x" "-y"}`},
		{"no end", "*** Begin Patch\n*** Update File: a\n@@\n-y\n", `2 update a {3: "-y"}`},
		{"no begin", "*** Update File: a\n@@\n-y\n*** End Patch", `1 update a {2: "-y"}`},
		{"neither", "\n\n*** Add File: a\n+x\n", `3 add a "x\n"`},
		{"marks with blanks around them", "  *** Begin Patch \n  *** Update File: a  \n@@\n-y\n *** End Patch \n", `2 update a   {3: "-y"}`},
		{"CRLF", "*** Begin Patch\r\n*** Update File: a\r\n@@\r\n-y\r\n+z\r\n*** End Patch\r\n", `2 update a {3: "-y" "+z"}`},
		{"a BOM", "\uFEFF*** Begin Patch\n*** Delete File: a\n*** End Patch", `2 delete a`},
		{"a here-document", "<<'EOF'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF\n", `3 delete a`},
		{"a command", "apply_patch <<\"PATCH\"\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nPATCH\n", `3 delete a`},
		{"a command at the end of a pipe", "cat <<EOF | apply_patch\n*** Begin Patch\n*** Delete File: a\nEOF\n", `3 delete a`},
		{"a block of code", "```diff\n*** Begin Patch\n*** Delete File: a\n*** End Patch\n```\n", `3 delete a`},
		{"a block of code in a here-document", "<<EOF\n```\n*** Begin Patch\n*** Delete File: a\n*** End Patch\n```\nEOF", `4 delete a`},
		{"two patches", "*** Begin Patch\n*** Delete File: a\n*** End Patch\n\n*** Begin Patch\n*** Delete File: b\n*** End Patch", "2 delete a\n6 delete b"},
		{"a blank line of a hunk without its mark", "*** Update File: a\n@@\n x\n\n-y\n", `1 update a {2: " x" " " "-y"}`},
		{"blank lines between operations", "*** Update File: a\n@@\n-y\n\n*** Delete File: b\n", "1 update a {2: \"-y\" \" \" bare=1}\n5 delete b"},
		{"blank lines before the first hunk", "*** Update File: a\n\n@@\n-y\n", `1 update a {3: "-y"}`},
		{"blank lines at the end of the file", "*** Update File: a\n@@\n-y\n\n*** End of File\n", `1 update a {2: "-y" end}`},
		{"a context line that looks like a mark", "*** Update File: a\n@@\n *** End Patch\n-*** Begin Patch\n+*** x\n", `1 update a {2: " *** End Patch" "-*** Begin Patch" "+*** x"}`},
		{"an added line that looks like a mark", "*** Add File: a\n+*** End Patch\n+@@\n", `1 add a "*** End Patch\n@@\n"`},
		{"an added file with a blank line without its mark", "*** Add File: a\n+x\n\n+y\n\n*** Delete File: b", "1 add a \"x\\n\\ny\\n\"\n6 delete b"},
		{"an empty file", "*** Begin Patch\n*** Add File: a\n*** End Patch", `2 add a`},
		{"a file without a last line end", "*** Add File: a\n+x\n\\ No newline at end of file\n", `1 add a "x"`},
		{"a move alone", "*** Update File: a\n*** Move to: b\n*** End Patch", `1 update a -> b`},
		{"@@ on both sides", "*** Update File: a\n@@ def f(): @@\n-x\n", `1 update a {2 @def f():: "-x"}`},
		{"@@ with dots", "*** Update File: a\n@@ ... @@\n-x\n", `1 update a {2: "-x"}`},
		{"numbers in an update", "*** Update File: a\n@@ -1,2 +3,4 @@ func f\n-x\n", `1 update a {2 =3 #func f: "-x"}`},
		{"the head of a diff in an update", "*** Update File: a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n", `1 update a {4 =1: "-x" "+y"}`},
		{"lines of a deleted file", "*** Delete File: a\n-x\n-y\n*** Delete File: b\n", "1 delete a\n4 delete b"},

		{"unified", "--- a/src/a.go\t2026-01-01\n+++ b/src/a.go\t2026-01-02\n@@ -1,3 +1,3 @@ func f\n x\n-y\n+z\n", `1 update src/a.go {3 =1 #func f: " x" "-y" "+z"}`},
		{"unified without a/ and b/", "--- a.go\n+++ a.go\n@@\n-y\n", `1 update a.go {3: "-y"}`},
		{"unified, folders a and b", "--- a/a/x\n+++ b/a/x\n@@\n-y\n", `1 update a/x {3: "-y"}`},
		{"unified, two files", "--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-y\n+z\n--- a/b\n+++ b/b\n@@ -2 +2 @@\n-y\n", "1 update a {3 =1: \"-y\" \"+z\"}\n6 update b {8 =2: \"-y\"}"},
		{"unified, in the marks of a patch", "*** Begin Patch\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-y\n*** End Patch", `2 update a {4 =1: "-y"}`},
		{"unified, added", "--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+x\n+y\n", `1 add new "x\ny\n"`},
		{"unified, added without a last line end", "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n", `1 add new "x"`},
		{"unified, deleted", "--- a/old\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n", `1 delete old {3: "-x" "-y"}`},
		{"unified, an added line at the start", "--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+x\n", `1 update a {3 =1: "+x" start}`},
		{"unified, a removed line that looks like a head", "--- a/a.sql\n+++ b/a.sql\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n x\n", `1 update a.sql {3 =1: "--- old" "+++ new" " x"}`},
		{"unified, wrong counts before the next file", "--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n-y\n--- a/b\n+++ b/b\n@@ -2 +2 @@\n-y\n", "1 update a {3 =1: \"-y\"}\n5 update b {7 =2: \"-y\"}"},
		{"unified, no last line end before and after", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n", `1 update a {3 =1: "-x" "+y" open}`},
		{"unified, a last line end comes", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n", `1 update a {3 =1: "-x" "+x"}`},
		{"git", "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\ndiff --git a/b b/b\nindex 1..2 100644\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n", "1 update a {5 =1: \"-x\" \"+y\"}\n8 update b {12 =1: \"-x\" \"+y\"}"},
		{"git, renamed", "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n", `1 update a -> b`},
		{"git, renamed and changed", "diff --git a/a b/b\nsimilarity index 80%\nrename from a\nrename to b\n--- a/a\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n", `1 update a -> b {7 =1: "-x" "+y"}`},
		{"git, an empty file", "diff --git a/e b/e\nnew file mode 100644\nindex 0..0\ndiff --git a/f b/f\ndeleted file mode 100644\nindex 0..0\n", "1 add e\n4 delete f"},
		{"git, a program", "diff --git a/e b/e\nnew file mode 100755\n--- /dev/null\n+++ b/e\n@@ -0,0 +1 @@\n+x\n", `1 add e +x "x\n"`},
		{"git, quoted names", "--- \"a/caf\\303\\251 x\"\n+++ \"b/caf\\303\\251 x\"\n@@\n-x\n", `1 update café x {3: "-x"}`},

		{"nothing", "", "Patch parse error: the end of the patch: it has no operation. " + wantOperation},
		{"no operation", "*** Begin Patch\n*** End Patch\n", "Patch parse error: the end of the patch: it has no operation. " + wantOperation},
		{"prose", "Here is the patch:\n*** Begin Patch\n", "Patch parse error: the end of the patch: it has no operation. " + wantOperation},
		{"another mark", "*** Begin Patch\n*** Frobnicate File: foo\n*** End Patch", `Patch parse error: line 2, "*** Frobnicate File: foo": it is no operation. ` + wantOperation},
		{"another mark after a hunk", "*** Update File: a\n@@\n-x\n*** Frobnicate\n", `Patch parse error: line 4, "*** Frobnicate": it is no operation. ` + wantOperation},
		{"no path", "*** Add File:\n+x\n", `Patch parse error: line 1, "*** Add File:": it names no file. Expected is *** Add File: path`},
		{"no destination", "*** Update File: a\n*** Move to:\n", `Patch parse error: line 2, "*** Move to:": it names no file. Expected is *** Move to: path`},
		{"no hunk", "*** Begin Patch\n*** Update File: foo.txt\n*** End Patch", `Patch parse error: line 3, "*** End Patch": the update of foo.txt has no hunk. Expected is @@, or a line that begins with a blank, - or +`},
		{"an empty hunk", "*** Update File: a\n@@\n@@\n", "Patch parse error: the end of the patch: the hunk before it is empty. Expected is a line that begins with a blank, - or +"},
		{"an empty hunk before another operation", "*** Update File: a\n@@\n*** Delete File: b\n", `Patch parse error: line 3, "*** Delete File: b": the hunk before it is empty. Expected is a line that begins with a blank, - or +`},
		{"a line without a mark", "*** Update File: a\n@@\n x\ny\n", `Patch parse error: line 4, "y": a line of a hunk begins with a blank (unchanged), - (removed) or + (added)`},
		{"an added line without a mark", "*** Add File: a\n+x\ny\n", `Patch parse error: line 3, "y": each line of a file that is added begins with +`},
		{"an operation after the end", "*** Begin Patch\n*** Delete File: a\n*** End Patch\n*** Delete File: b\n", `Patch parse error: line 4, "*** Delete File: b": the patch has ended before. Expected is nothing after *** End Patch`},
		{"a change of the mode", "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n", `Patch parse error: line 2, "old mode 100644": a patch cannot change the mode of a file. Do that with a command`},
		{"a binary file", "diff --git a/a b/a\nindex 1..2\nBinary files a/a and b/a differ\n", `Patch parse error: line 3, "Binary files a/a and b/a differ": a patch cannot change a file that is not text`},
		{"a symbolic link", "diff --git a/a b/a\nnew file mode 120000\n", `Patch parse error: line 2, "new file mode 120000": only files can be added, with the mode 100644 or 100755`},
		{"a copy", "diff --git a/a b/b\nsimilarity index 100%\ncopy from a\ncopy to b\n", `Patch parse error: line 3, "copy from a": a patch cannot copy a file. Expected is *** Add File: with its lines`},
		{"an added file with context", "--- /dev/null\n+++ b/a\n@@ -1 +1 @@\n x\n+y\n", `Patch parse error: line 3, "@@ -1 +1 @@": each line of a file that is added begins with +`},
		{"a file of a diff without hunks", "--- a/a\n+++ b/a\n", "Patch parse error: the end of the patch: the update of a has no hunk. Expected is @@ -1,2 +1,2 @@, or @@"},
		{"nowhere to nowhere", "--- /dev/null\n+++ /dev/null\n@@\n+x\n", `Patch parse error: line 1, "--- /dev/null": it names no file. Expected are --- a/path and +++ b/path`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ops, err := parse(tt.patch)
			got := written(ops)
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// FuzzParse has every patch be read or be refused with a line that it has.
func FuzzParse(f *testing.F) {
	f.Add("*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@ x\n a\n-b\n+c\n*** End of File\n*** End Patch")
	f.Add("diff --git a/a b/a\nrename from a\nrename to b\n--- a/a\n+++ b/b\n@@ -1,2 +1,2 @@ f\n x\n--- y\n+++ z\n\\ No newline at end of file\n")
	f.Add("apply_patch <<'EOF'\n```\n*** Delete File: x\n-\n\n```\nEOF")
	f.Fuzz(func(t *testing.T, s string) {
		ops, err := parse(s)
		var refused *ParseError
		if errors.As(err, &refused) {
			if n := strings.Count(s, "\n") + 1; refused.Line < 0 || refused.Line > n || refused.Want == "" {
				t.Fatalf("line %d of %d: %v", refused.Line, n, err)
			}
			return
		}
		if err != nil || len(ops) == 0 {
			t.Fatalf("%v, %d operations", err, len(ops))
		}
		last := 0
		for _, o := range ops {
			if o.path == "" || o.line <= last || o.op == Update && len(o.hunks) == 0 && o.to == "" || o.op == Add && len(o.hunks) > 0 {
				t.Fatalf("%+v", o)
			}
			last = o.line
			for _, h := range o.hunks {
				if len(h.block.Lines) == 0 || h.bare >= len(h.block.Lines) {
					t.Fatalf("%+v", h)
				}
			}
		}
	})
}

// TestFaultW16Wrappings has patches in what models put round them.
func TestFaultW16Wrappings(t *testing.T) {
	const patch = "*** Begin Patch\n*** Add File: x.txt\n+it's \"new\" $1\n*** End Patch\n"
	twice := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`).Replace(patch)
	once := strings.ReplaceAll(patch, "'", `'\''`)
	for _, s := range []string{
		patch,
		"apply_patch <<'PATCH-1'\n" + patch + "PATCH-1\n",
		"apply_patch <<\"END.OF\"\n" + patch + "END.OF\n",
		"Here is the patch:\n\n" + patch,
		"Here is the patch:\n\n" + patch + "\nIt makes a file. I hope that it's right.\n",
		"I call apply_patch:\n```patch\n" + patch + "```\nDone.\n",
		"```\napply_patch <<'EOF'\n" + patch + "EOF\n```\n",
		"apply_patch '" + once + "'",
		`apply_patch "` + twice + `"`,
		"apply_patch '" + strings.TrimSuffix(once, "\n") + "'\n",
		"bash -lc \"apply_patch <<'EOF'\n" + twice + "EOF\"\n",
		"bash -lc \"apply_patch <<'EOF'\n" + patch + "EOF\"\n",
		"/bin/sh -c 'apply_patch <<EOF\n" + once + "EOF'\n",
		strings.Replace(patch, "*** Add", "*** Environment ID: e-1\n*** Add", 1),
		"    " + strings.ReplaceAll(strings.TrimSuffix(patch, "\n"), "\n", "\n    "),
		"I apply:\n\n\t" + strings.ReplaceAll(strings.TrimSuffix(patch, "\n"), "\n", "\n\t") + "\n\nand test then.\n",
		"cat <<-'EOF' | apply_patch\n\t" + strings.ReplaceAll(patch, "\n", "\n\t") + "EOF\n",
		"*** BEGIN PATCH ***\n***  Add  File:x.txt\n+it's \"new\" $1\n***  End Patch\n",
		"*** begin patch\n*** add file: x.txt\n+it's \"new\" $1\n*** end patch\n",
		`{"input": "*** Begin Patch\n*** Add File: x.txt\n+it's \"new\" $1\n*** End Patch"}`,
		`*** Begin Patch\n*** Add File: x.txt\n+it's \"new\" $1\n*** End Patch`,
		`["apply_patch", "*** Begin Patch\n*** Add File: x.txt\n+it's \"new\" $1\n*** End Patch"]`,
		`{"command": ["apply_patch", "*** Begin Patch\n*** Add File: x.txt\n+it's \"new\" $1\n*** End Patch"], "workdir": "."}`,
		`{"patch": "*** Begin Patch\n*** Add File: x.txt\n+it's \"new\" $1\n*** End Patch", "explanation": "x"}`,
		"*** Begin Patch\n" + patch + "*** End Patch\n",
		"git apply -p1 <<'EOF'\n--- /dev/null\n+++ b/x.txt\n@@ -0,0 +1 @@\n+it's \"new\" $1\nEOF\n",
		"$ patch -p1 << END\ndiff --git a/x.txt b/x.txt\nnew file mode 100644\n--- /dev/null\n+++ b/x.txt\n@@ -0,0 +1 @@\n+it's \"new\" $1\nEND\n",
		"From 0123456789abcdef Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\nSubject: [PATCH] Add x\n\n---\n x.txt | 1 +\n\n" +
			"diff --git a/x.txt b/x.txt\nnew file mode 100644\n--- /dev/null\n+++ b/x.txt\n@@ -0,0 +1 @@\n+it's \"new\" $1\n-- \n2.47.1\n",
		"commit 0123456789abcdef\nAuthor: A <a@example.org>\n\n    Add x\n\n--- /dev/null\n+++ b/x.txt\n@@ -0,0 +1 @@\n+it's \"new\" $1\n",
	} {
		ops, err := parse(s)
		if err != nil || len(ops) != 1 || ops[0].path != "x.txt" || ops[0].content != "it's \"new\" $1\n" {
			t.Errorf("%s\ngives %+v, %v", s, ops, err)
		}
	}
	// What only looks like a wrapping is content.
	for _, line := range []string{" *** End patch", "+*** end patch", "    + indented", "-- "} {
		ops, err := parse("*** Begin Patch\n*** Add File: y.txt\n+" + line + "\n+last\n*** End Patch\n")
		if err != nil || len(ops) != 1 || ops[0].content != line+"\nlast\n" {
			t.Errorf("%q gives %+v, %v", line, ops, err)
		}
	}
	for head, want := range map[string]string{
		"cd sub && apply_patch <<'EOF'\n":                 "sub/x.txt",
		"cd 'my sub' && apply_patch <<'EOF'\n":            "my sub/x.txt",
		"cd ../sub; apply_patch <<'EOF'\n":                "../sub/x.txt",
		"cd -- /abs && apply_patch <<'EOF'\n":             "/abs/x.txt",
		"bash -lc \"cd sub/deep && apply_patch <<'EOF'\n": "sub/deep/x.txt",
		"First cd sub && look.\n":                         "x.txt",
		"set -e\ncd sub\napply_patch <<'EOF'\n":           "sub/x.txt",
		"cd sub &&\napply_patch <<'EOF'\n":                "sub/x.txt",
		"cd sub || exit 1\napply_patch <<'EOF'\n":         "sub/x.txt",
		"(cd sub; apply_patch <<'EOF'\n":                  "sub/x.txt",
		"pushd sub >/dev/null && apply_patch <<'EOF'\n":   "sub/x.txt",
		"cd sub && cd deep && apply_patch <<'EOF'\n":      "sub/deep/x.txt",
		"cd sub && cd /abs && apply_patch <<'EOF'\n":      "/abs/x.txt",
		"cd sub && ls && apply_patch <<'EOF'\n":           "sub/x.txt",
		"$ cd sub\n$ apply_patch <<'EOF'\n":               "sub/x.txt",
	} {
		ops, err := parse(head + patch)
		if err != nil || len(ops) != 1 || ops[0].path != want {
			t.Errorf("%s gives %+v, %v, want %s", head, ops, err, want)
		}
	}
	diff := "--- /dev/null\n+++ b/x.txt\n@@ -0,0 +1 @@\n+x\n"
	if ops, err := parse("cd sub && git apply <<EOF\n" + diff + "EOF\n"); err != nil || ops[0].path != "sub/x.txt" {
		t.Errorf("%+v, %v", ops, err)
	}
	// A folder that is not known here, or another way to apply it, is refused: another file could be meant.
	for _, s := range []string{
		"cd $DIR && apply_patch <<'EOF'\n" + patch, "cd\napply_patch <<'EOF'\n" + patch, "cd - && apply_patch <<'EOF'\n" + patch,
		"cd \"$(git rev-parse --show-toplevel)\" && apply_patch <<'EOF'\n" + patch, "cd sub*\napply_patch <<'EOF'\n" + patch,
		"git apply -R <<EOF\n" + diff + "EOF\n", "patch -R -p1 <<EOF\n" + diff + "EOF\n", "python3 <<EOF\n" + diff + "EOF\n",
	} {
		if ops, err := parse(s); err == nil {
			t.Errorf("%s gives %+v", s, ops)
		}
	}
}

package patch

import (
	"strings"
	"testing"
)

// TestHeadsAndCounts: what is a line of a hunk and what is the head of the next file, by the numbers of the hunk's head; and lines at the
// edges of a patch.
func TestHeadsAndCounts(t *testing.T) {
	const next = "--- b\n+++ b\n@@ -1 +1 @@\n-q\n"
	const sql = "--- old\n+++ new\n"
	for _, tt := range []struct{ name, patch, want string }{
		{"no number is one", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n" + sql, `1 update a {3 =1: "--- old" "+++ new"}`},
		{"both used up", "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n" + next, "1 update a {3 =1: \" x\" \"-y\" \"+z\"}\n7 update b {9 =1: \"-q\"}"},
		{"the old ones used up", "--- a/a\n+++ b/a\n@@ -1,1 +1,3 @@\n-x\n+y\n" + next, "1 update a {3 =1: \"-x\" \"+y\"}\n6 update b {8 =1: \"-q\"}"},
		{"the new ones used up", "--- a/a\n+++ b/a\n@@ -1,3 +1,1 @@\n-x\n+y\n" + next, "1 update a {3 =1: \"-x\" \"+y\"}\n6 update b {8 =1: \"-q\"}"},
		{"context counts as old", "--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n x\n y\n" + next, "1 update a {3 =1: \" x\" \" y\"}\n6 update b {8 =1: \"-q\"}"},
		{"context counts as new", "--- a/a\n+++ b/a\n@@ -1,3 +1,2 @@\n x\n y\n" + next, "1 update a {3 =1: \" x\" \" y\"}\n6 update b {8 =1: \"-q\"}"},
		{"removed ones are not new", "--- a/a\n+++ b/a\n@@ -1,3 +1,1 @@\n-x\n-y\n" + sql, `1 update a {3 =1: "-x" "-y" "--- old" "+++ new"}`},
		{"added ones are not old", "--- a/a\n+++ b/a\n@@ -1,1 +1,3 @@\n+x\n+y\n" + sql, `1 update a {3 =1: "+x" "+y" "--- old" "+++ new"}`},
		{"a great number", "--- a/a\n+++ b/a\n@@ -1 +99999999999999999999 @@\n-x\n", `1 update a {3 =9223372036854775807: "-x"}`},
		{"a start with context is none", "--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n x\n+y\n", `1 update a {3 =1: " x" "+y"}`},
		{"a mark of the end without a line", "*** Update File: a\n@@\n\\ No newline at end of file\n-x\n", `1 update a {2: "-x"}`},
		{"a last line like a head", "*** Update File: a\n--- x", `1 update a {2: "--- x"}`},
		{"@@ in an added file", "*** Add File: a\n@@\n+x\n", `1 add a "x\n"`},
		{"blank lines of a deleted file", "*** Delete File: a\n-x\n\n-y\n*** Delete File: b\n", "1 delete a\n5 delete b"},
		{"blank lines at the end", "*** Update File: a\n@@\n-x\n\n \n\n", `1 update a {2: "-x"}`},
		{"an index", "--- a\n+++ a\n@@\n-x\nIndex: b\n===\n--- b\n+++ b\n@@\n-q\n", "1 update a {3: \"-x\"}\n5 update b {9: \"-q\"}"},
		{"an index alone", "Index: a", `Patch parse error: line 1, "Index: a": it belongs to no operation. ` + wantOperation},
		{"blank lines of an added file", "--- /dev/null\n+++ b/a\n@@ -0,0 +1,3 @@\n+x\n\n+y\n\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+z\n", "1 add a \"x\\n\\ny\\n\"\n8 add b \"z\\n\""},
		{"a removed line in an added file", "--- /dev/null\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n", `Patch parse error: line 3, "@@ -1 +1 @@": each line of a file that is added begins with +`},
		{"renamed from alone", "diff --git a/a b/b\nrename from a\n", `Patch parse error: line 1, "diff --git a/a b/b": it does not say what a is renamed to`},
		{"a long line", strings.Repeat("x", 80), `Patch parse error: line 1, "` + strings.Repeat("x", 80) + `": it belongs to no operation. ` + wantOperation},
		{"a longer line", strings.Repeat("x", 81), `Patch parse error: line 1, "` + strings.Repeat("x", 80) + `…": it belongs to no operation. ` + wantOperation},
	} {
		ops, err := parse(tt.patch)
		got := written(ops)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestWrappingsEnd: what is around a patch goes and no line of it, and the numbers of lines stay those of what the model wrote.
func TestWrappingsEnd(t *testing.T) {
	const diff = "--- a/a\n+++ b/a\n@@\n-x\n"
	nothing := func(line, found string) string {
		return "Patch parse error: line " + line + ", \"" + found + "\": it belongs to no operation. " + wantOperation
	}
	empty := "Patch parse error: the end of the patch: it has no operation. " + wantOperation
	for _, tt := range []struct{ name, patch, want string }{
		{"a block without the last mark", "```\n*** Begin Patch\n*** Delete File: a\n```\n", `3 delete a`},
		{"a block that does not end", "```\n*** Begin Patch\n*** Update File: a\n@@\n-x\n+y", `3 update a {4: "-x" "+y"}`},
		{"a block without marks", "```\n*** Delete File: a\n```\n", `2 delete a`},
		{"a block without marks that does not end", "```\n*** Update File: a\n@@\n-x\n+y\n", `2 update a {3: "-x" "+y"}`},
		{"a here-document without marks", "<<EOF\n*** Delete File: a\nEOF\n", `2 delete a`},
		{"a fence in a here-document", "<<EOF\n*** Update File: a\n@@\n-x\n ```\n", `2 update a {3: "-x" " ` + "```" + `"}`},
		{"a here-document that does not end", "<<EOF\n*** Update File: a\n@@\n-x\n EOS\n", `2 update a {3: "-x" " EOS"}`},
		{"a fence alone", "```\n", empty},
		{"the first mark alone", "*** Begin Patch\n", empty},
		{"a block among words", "Words\n```diff\n" + diff + "```\nmore words\n", `3 update a {5: "-x"}`},
		{"a block among many words", "Words\n\nof some\n```diff\n" + diff + "```\nmore words\n", `5 update a {7: "-x"}`},
		{"a block after words that does not end", "Words\n```diff\n" + diff, nothing("1", "Words")},
		{"two blocks among words", "Words\n```\n" + diff + "```\nand\n```\n" + diff + "```\n", nothing("1", "Words")},
		{"an empty block among words", "Words\n```\n```\n", empty},
		{"fences in a diff", diff + " ```\n y\n ```\n", "1 update a {3: \"-x\" \" ```\" \" y\" \" ```\"}"},
		{"a commit", "commit 1\n\n" + diff, `3 update a {5: "-x"}`},
		{"a commit with a signature", "commit 1\n\n" + diff + "-- \n2.1.0\n", `3 update a {5: "-x"}`},
		{"words before a head alone", "words\n--- x\n", nothing("1", "words")},
		{"words before git's head alone", "words\ndiff --git a/a b/a\n", `Patch parse error: line 2, "diff --git a/a b/a": the update of a has no hunk. Expected are --- a/path and +++ b/path`},
		{"indented, without the last mark", "  *** Begin Patch\n  *** Delete File: a\n", `2 delete a`},
		{"indented, with a blank line", "  *** Begin Patch\n  *** Update File: a\n  @@\n   x\n\n  -y\n  *** End Patch\n", `2 update a {3: " x" " " "-y"}`},
		{"the first mark indented alone", "  *** Begin Patch\n*** Add File: a\n+x\n+  y\n*** End Patch\n", `2 add a "x\n  y\n"`},
		{"a bare quote in quotes", "apply_patch '*** Begin Patch\n*** Add File: x\n+it's '\\''q'\\''\n*** End Patch'\n", `2 add x "it's '\\''q'\\''\n"`},
		{"a bare quote in double quotes", "apply_patch \"*** Begin Patch\n*** Add File: x\n+a \"b\" \\$c\n*** End Patch\"\n", `2 add x "a \"b\" \\$c\n"`},
	} {
		ops, err := parse(tt.patch)
		got := written(ops)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestTitle: one file by its name, several by how many they are.
func TestTitle(t *testing.T) {
	for patch, want := range map[string]string{
		"*** Delete File: src/a": "Patch src/a", "*** Delete File: a\n*** Delete File: b": "Patch 2 files", "": "Patch", "words": "Patch",
	} {
		if got := title(Args{Patch: patch}); got != want {
			t.Errorf("%q: %q", patch, got)
		}
	}
}

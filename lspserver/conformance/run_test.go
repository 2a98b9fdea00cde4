package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/lspserver/wire/wiretest"
)

// play runs a scenario against the fake server.
func play(t *testing.T, text string) (*Scenario, *Report) {
	t.Helper()
	s, err := Parse("x.txtar", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s, perform(t, s, s.Profiles()[0], serveFake)
}

func perform(t *testing.T, s *Scenario, p Profile, serve Server) (r *Report) {
	t.Helper()
	top := root(t)
	inside, outside := filepath.Join(top, "in"), filepath.Join(top, "out")
	if err := errors.Join(os.Mkdir(inside, 0o755), os.Mkdir(outside, 0o755)); err != nil {
		t.Fatal(err)
	}
	wiretest.Bubble(t, func(t *testing.T) {
		var err error
		if r, err = s.Run(t.Context(), p, inside, outside, serve); err != nil {
			t.Error(err)
		}
	})
	if r == nil {
		t.FailNow()
	}
	return r
}

const good = `Everything that a scenario can hold, played by a server that does as it is told.
-- flags --
-mode=ask -quoted=crlf.txt -wire=workspace/applyEdit
-- disk/calc.go --
package calc

func Add(a, b int) int { return a - b }
-- disk/crlf.txt --
"a\r\nb"
-- buffer/calc.go --
package calc

// Add returns the sum.
func Add(a, b int) int { return a - b }
-- steps --
open calc.go
# A remark.
after call=1 type calc.go /the sum/ " of a and b"
before apply=1 write-disk crlf.txt "a\r\nB"
after apply=1 open crlf.txt
during call=4 type calc.go /^package calc/ " // here"
before answer=2 expect buffer calc.go /a - b/
on ask answer=allow_once
on ask=3 answer=reject_once
prompt "Add subtracts. Fix it." select=calc.go:/a - b/
expect buffer calc.go /a \+ b/
expect result /end_turn/
expect heard tandem/session/update /Fixed/
expect no other.go
type crlf.txt /B/ "C"
-- model --
call read_file {"path": "$ROOT/calc.go"}

call edit_file {"path": "$ROOT/calc.go", "old_text": "a - b", "new_text": "a + b"}

call bash {"command": "rm -rf $ROOT"}

call bash {"command": "go test"}

see /ok  calc/
think Well.
say Fixed. It
say works.
-- commands --
$ go test
out ok  calc
write crlf.txt "a\r\nB\r\n"
-- @updates --
1 read_file $ROOT/calc.go   asked, allow_once, completed
2 edit_file $ROOT/calc.go   asked, allow_once, completed
3 bash rm -rf $ROOT   asked, reject_once, failed GATE_DENIED
4 bash go test   asked, allow_once, completed
end_turn
-- @result --
prompt
{
  "stopReason": "end_turn",
  "turn": 1
}
-- @buffer/calc.go --
@@ -1,1 +1,1 @@
-package calc
+package calc // here
@@ -3,2 +3,2 @@
-// Add returns the sum.
-func Add(a, b int) int { return a - b }
+// Add returns the sum of a and b.
+func Add(a, b int) int { return a + b }
-- @buffer/crlf.txt --
@@ -2,1 +2,1 @@
-b
\ No newline at end of file
+BC
\ No newline at end of file
-- @disk/crlf.txt --
@@ -2,1 +2,1 @@
-b
\ No newline at end of file
+B␍
-- @wire --
<- workspace/applyEdit {"edit":{"documentChanges":[{"edits":[{"newText":"a + b","range":{"end":{"character":37,"line":3},"start":{"character":32,"line":3}}}],"textDocument":{"uri":"file://$ROOT/calc.go","version":2}}]}}
-> answer to workspace/applyEdit {"applied":true}
`

func TestScenarioRuns(t *testing.T) {
	s, r := play(t, good)
	for _, p := range r.Problems {
		t.Error(p)
	}
	if again := string(s.Update(r)); again != good {
		t.Errorf("an update changes what is right (- before, + after):\n%s", Diff(good, again))
	}
}

// Each of these must fail, with its line.
func TestScenarioIsStrict(t *testing.T) {
	const head = "Prose.\n-- disk/a --\none\n-- steps --\n"
	for _, c := range []struct{ name, text, want string }{
		{"see", head + "prompt \"\"\n-- model --\nsee /nothing like it/\nsay x\n-- @updates --\nerror\n", "line 7: the conv"},
		{"unused", head + "prompt \"\"\n-- model --\nsay x\n\nsay y\n-- @updates --\nend_turn\n", "line 9: say y"},
		{"asked too often", head + "prompt \"\"\n-- @updates --\nend_turn\n", "once more than"},
		{"trigger", head + "open a\nafter call=3 type a /one/ \"x\"\n-- @updates --\n", "x.txtar:6: this never happened"},
		{"place", head + "open a\ntype a /two/ \"x\"\n-- @updates --\n", "x.txtar:6: type a /two/"},
		{"two places", head + "open a\ntype a /[one]/ \"x\"\n-- @updates --\n", "more than one place"},
		{"not open", head + "type a /one/ \"x\"\n-- @updates --\n", "a is not open"},
		{"golden", head + "open a\ntype a /one/ \"x\"\n-- @updates --\n", "no section @buffer/a, which would be"},
		{"other golden", head + "open a\ntype a /one/ \"x\"\n-- @updates --\n-- @buffer/a --\n", "9: @buffer/a is not"},
		{"vain golden", head + "open a\n-- @updates --\n-- @disk/a --\nx\n", "x.txtar:8: nothing came of @disk/a"},
		{"question", "Prose.\n-- flags --\n-mode=ask\n-- steps --\nprompt \"\"\n-- model --\ncall read_file {}\n\nsay x\n" +
			"-- @updates --\n1 read_file   asked, failed GATE_DENIED\nend_turn\n", "nobody expected to be asked for: read_file"},
		{"answer", head + "on ask answer=allow_once\nopen a\n-- @updates --\n", "never happened: on ask"},
		{"command", head + "prompt \"\"\n-- model --\ncall bash {\"command\": \"ls\"}\n\nsay x\n" +
			"-- @updates --\n1 bash ls   failed EXECUTION_ERROR\nend_turn\n", "nobody expected the command: ls"},
		{"vain command", head + "open a\n-- commands --\n$ ls\n-- @updates --\n", "7: this command was never run: ls"},
		{"disk", head + "prompt \"\"\n-- model --\ncall write_disk {\"path\": \"$ROOT/b\", \"new_text\": \"x\"}\n\nsay x\n" +
			"-- @updates --\n1 write_disk $ROOT/b   completed\nend_turn\n", "no section @disk/b"},
		{"notification", head + "request tandem/surprise\n-- @updates --\n", "nobody expected tandem/unheardOf"},
		{"refusal", head + "request tandem/nothing\n-- @updates --\n", "+error -32601 no such method: tandem/nothing"},
		{"exit", head + "hang-up\n-- @updates --\n", "ended with 1, not 0"},
		{"expect", head + "expect disk a /two/\n-- @updates --\n", "no match in a"},
		{"expect no", head + "expect no a\n-- @updates --\n", "there is a a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, r := play(t, c.text)
			if all := strings.Join(r.Problems, "\n"); !strings.Contains(all, c.want) {
				t.Errorf("%q is not in:\n%s", c.want, all)
			}
			if len(r.Problems) > 1 && c.name != "see" { // what comes after a see is not played
				t.Errorf("more than one problem:\n%s", strings.Join(r.Problems, "\n"))
			}
			if !strings.HasPrefix(string(s.Update(r)), c.text[:strings.Index(c.text, "-- @")]) {
				t.Error("an update changes an input")
			}
		})
	}
}

func TestScenarioSyntax(t *testing.T) {
	for text, want := range map[string]string{
		"-- steps --\nopen a\n":                                   "x:1: a scenario begins with prose",
		"P\n-- flags --\n":                                        "nothing happens",
		"P\n-- step --\n":                                         "x:2: no section is called step",
		"P\n-- disk/a --\n\n-- disk/a --\n":                       "x:4: the section disk/a is there twice",
		"P\n-- flags --\n-no\n":                                   "x:3: flag provided but not defined: -no",
		"P\n-- flags --\n-profile=emacs\n":                        "no profile is called emacs",
		"P\n-- flags --\n-reply=lost\n":                           "not a reply: lost",
		"P\n-- flags --\nmode\n":                                  "not a flag: mode",
		"P\n-- steps --\nopen\n":                                  "x:3: \"open\" takes 1 to 1 arguments, not 0",
		"P\n-- steps --\n\nfly\n":                                 "x:4: nobody can \"fly\"",
		"P\n-- steps --\ntype a /b \"c\"\n":                       "a regular expression does not end",
		"P\n-- steps --\ntype a /b/ \"c\n":                        "a string does not end",
		"P\n-- steps --\ncall x {\n":                              "not JSON",
		"P\n-- steps --\nafter call open a\n":                     "wants a number",
		"P\n-- steps --\nafter call=0 open a\n":                   "no number of an event",
		"P\n-- steps --\nafter dinner=1 open a\n":                 "there is no \"after\" \"dinner\"",
		"P\n-- steps --\nafter call=1 prompt \"x\"\n":             "cannot wait",
		"P\n-- steps --\non ask yes\n":                            "wants answer=OPTION",
		"P\n-- steps --\nanswer allow_once\n":                     "write: on ask",
		"P\n-- steps --\nafter call=1\n":                          "wants an event and something to do",
		"P\n-- steps --\nopen a\nprompt \"x\" select=a:/b c/ y\n": "takes 1 to 2 arguments, not 3",
	} {
		if _, err := Parse("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestDiff(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"", "", ""},
		{"a\nb\nc\n", "a\nb\nc\n", ""},
		{"", "a\n", "@@ -0,0 +1,1 @@\n+a\n"},
		{"a\nb\nc\n", "a\nc\n", "@@ -2,1 +1,0 @@\n-b\n"},
		{"a\nb\nc\nd\n", "A\nb\nc\nD", "@@ -1,1 +1,1 @@\n-a\n+A\n@@ -4,1 +4,1 @@\n-d\n+D\n\\ No newline at end of file\n"},
		{"a\r\n", "a\n\ufeff\x00", "@@ -1,1 +1,2 @@\n-a␍\n+a\n+«BOM»␀\n\\ No newline at end of file\n"},
	} {
		if got := Diff(c.a, c.b); got != c.want {
			t.Errorf("Diff(%q, %q) =\n%s", c.a, c.b, got)
		}
	}
}

// Whatever a file holds, parsing ends, and an update of what parses parses again.
func FuzzParse(f *testing.F) {
	f.Add(good)
	_ = filepath.WalkDir("testdata", func(path string, d os.DirEntry, err error) error {
		if text, readErr := os.ReadFile(path); err == nil && readErr == nil {
			f.Add(string(text))
		}
		return nil
	})
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("x", []byte(text))
		if err != nil {
			return
		}
		again, err := Parse("x", s.Update(&Report{}))
		if err != nil || len(again.steps) != len(s.steps) {
			t.Errorf("an update breaks it: %v", err)
		}
	})
}

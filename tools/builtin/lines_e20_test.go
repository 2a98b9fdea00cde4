package builtin_test

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/tools/builtin"
	"tandem/tools/toolstest"
)

// A line has one number in all that a model is shown and says: that of grep, git and compilers, which know no line end but \n.
func TestFaultE20OneNumbering(t *testing.T) {
	w := toolstest.NewWorld(t, builtin.Tools()...)
	w.Env.RequireRead = false
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SampledFrom([]string{"\r", "\r", "\n", "\r\n", "a", "12%"})
		draw := func(name string) string {
			return strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, name), "")
		}
		before, after := draw("before"), draw("after")
		for strings.Contains(after+"\n", "\r\r\n") { // a patch cannot tell the \r of the line from that of its end
			after = strings.TrimSuffix(strings.ReplaceAll(after+"\n", "\r\r\n", "\r\n"), "\n")
		}
		content := before + "MARK_OF_THE_PLACE" + after + "\n"
		line := strings.Count(before, "\n") + 1
		n++
		name := "f" + strconv.Itoa(n)
		if err := os.WriteFile(w.Path(name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		call := func(tool string, args map[string]any) string {
			a, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			return w.Call(tool, string(a)).Data
		}
		number := func(from, data, pattern string) {
			m := regexp.MustCompile(pattern).FindStringSubmatch(data)
			if m == nil || m[1] != strconv.Itoa(line) {
				t.Fatalf("%s: want line %d of %q:\n%q", from, line, content, data)
			}
		}
		number("grep", call("grep", map[string]any{"pattern": "MARK", "path": name}), name+`:(\d+)`)
		number("read_file", call("read_file", map[string]any{"path": name}), `(?m)^ *(\d+) \| .*MARK`)
		number("read_file of the line", call("read_file", map[string]any{"path": name, "start_line": line, "end_line": line}), `(?m)^ *(\d+) \| .*MARK`)
		number("edit_file", call("edit_file", map[string]any{"path": name, "old_text": "MARK", "new_text": "MARKS"}), `location: line (\d+)`)
		number("edit_file's lines", call("edit_file", map[string]any{"path": name, "old_text": "MARKS", "new_text": "MARK"}), `(?m)^ *(\d+) \| .*MARK`)
		number("a text that is not there", call("edit_file", map[string]any{"path": name, "old_text": "MARK_OF_THE_PLACx", "new_text": "y"}), `(?m)^ *(\d+) \| .*MARK`)
		edits := []map[string]any{{"old_text": "MARK", "new_text": "DONE"}}
		number("multi_edit", call("multi_edit", map[string]any{"path": name, "edits": edits}), `line (\d+)`)
		patch := "*** Begin Patch\n*** Update File: " + name + "\n@@\n-" + lineOf(content, line, "DONE") + "\n+MARK\n*** End Patch"
		got := call("patch", map[string]any{"patch": patch})
		now, err := w.Files.Read(context.Background(), w.Path(name))
		if want := strings.Replace(content, lineOf(content, line, "MARK"), "MARK", 1); err != nil || now.Text.String() != want {
			t.Fatalf("patched %q to %q, want %q: %s\n%q", content, now.Text.String(), want, got, patch)
		}
	})
}

// lineOf is a line of a text without its end, with another word for MARK.
func lineOf(s string, line int, word string) string {
	l := strings.TrimSuffix(strings.Split(s, "\n")[line-1], "\r")
	return strings.Replace(l, "MARK", word, 1)
}

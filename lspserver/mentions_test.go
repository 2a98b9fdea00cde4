package lspserver_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/lspserver/conformance"
)

func TestMentions(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	for _, name := range strings.Fields("calc.go calc_test.go api/calc.go api/v2/server.go web/Calendar.tsx docs/örtlich.md node_modules/calc/x.js") {
		r.write(name, "")
	}
	r.write(".git/HEAD", "")
	r.write(".gitignore", "node_modules\n")
	id := r.session(nil)
	complete := func(params map[string]any) string {
		var out struct {
			Items []struct{ Label, Kind, Insert string }
		}
		r.ask("tandem/mentions/complete", params, &out)
		var all []string
		for _, i := range out.Items {
			if i.Insert != "@"+i.Label || (i.Kind == "folder") != strings.HasSuffix(i.Label, "/") {
				t.Errorf("%+v", i)
			}
			all = append(all, i.Label)
		}
		return strings.Join(all, " ")
	}
	for prefix, want := range map[string]string{
		"cal":    "calc.go calc_test.go api/calc.go web/Calendar.tsx",
		"@CALC.": "calc.go api/calc.go calc_test.go",
		"api/":   "api/ api/v2/ api/calc.go api/v2/server.go",
		"v2":     "api/v2/ api/v2/server.go",
		"wct":    "web/Calendar.tsx",
		"ört":    "docs/örtlich.md",
		"none":   "", "../": "", "node": "",
		"": "api/ web/ docs/ calc.go .gitignore calc_test.go api/v2/ api/calc.go docs/örtlich.md web/Calendar.tsx api/v2/server.go",
	} {
		equal(t, prefix, complete(map[string]any{"sessionId": id, "prefix": prefix}), want)
		equal(t, prefix, complete(map[string]any{"prefix": prefix}), want)
	}
	equal(t, "a few", complete(map[string]any{"sessionId": id, "prefix": "", "limit": 2}), "api/ web/")
	for _, name := range []string{"api/calc.go", "web/Calendar.tsx"} {
		if err := r.Open(name); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "open ones", complete(map[string]any{"sessionId": id, "prefix": "", "limit": 3}), "web/Calendar.tsx api/calc.go api/")
	if e := r.refused("tandem/mentions/complete", map[string]any{"sessionId": "s-none", "prefix": ""}); e.Code != -32011 {
		t.Errorf("%+v", e)
	}
	r.end()
}

// Files of every folder of the workspace are offered: those of the first by their relative path, the others below the
// name of their folder, and by a path that says which of them is meant. The model is told of each folder once.
func TestFindingU10EveryFolder(t *testing.T) {
	r, l := listening(t, conformance.Options{})
	more := folder(t)
	for name, content := range map[string]string{"lib.go": "", "sub/lib_test.go": ""} {
		path := filepath.Join(more, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	r.write("lib.go", "")
	r.Notify("workspace/didChangeWorkspaceFolders", map[string]any{"event": map[string]any{
		"added": []any{map[string]any{"uri": "file://" + more, "name": "more"}}, "removed": []any{},
	}})
	id := r.session(map[string]any{"additionalDirectories": []string{more}})
	var out struct {
		Items []struct{ Label, Kind, Insert string }
	}
	r.ask("tandem/mentions/complete", map[string]any{"sessionId": id, "prefix": "lib"}, &out)
	name := filepath.Base(more)
	equal(t, "offered", fmt.Sprint(out.Items), fmt.Sprintf("[{lib.go file @lib.go} {%s/lib.go file @%s/lib.go} {%s/sub/lib_test.go file @%s/sub/lib_test.go}]",
		name, more, name, more))
	r.prompt(id, "Look.")
	equal(t, "named", strings.Count(l.requests[0].Messages[0].Text, more), 1)
	r.end()
}

// TestMentionsOfManyFiles completes in a folder of many files.
func TestMentionsOfManyFiles(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	for i := range 2000 {
		r.write(fmt.Sprintf("d%02d/f%04d.go", i%50, i), "")
	}
	var out struct{ Items []struct{ Label string } }
	session := r.session(nil)
	until(t, "all files are found", patience, func() bool { // in the time that there is for a list
		r.ask("tandem/mentions/complete", map[string]any{"sessionId": session, "prefix": "f19", "limit": 500}, &out)
		return len(out.Items) >= 200
	})
	for i, item := range out.Items {
		if begins := strings.Contains(item.Label, "/f19"); begins != (i < 100) {
			t.Errorf("%d: %s", i, item.Label)
		}
	}
	equal(t, "items", len(out.Items), 200)
	r.end()
}

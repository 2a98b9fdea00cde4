package lspserver_test

import (
	"fmt"
	"strings"
	"testing"

	"tandem/lspserver/lsptest"
)

func TestMentions(t *testing.T) {
	r := start(t, lsptest.Options{}, options(nil))
	for _, name := range strings.Fields("calc.go calc_test.go api/calc.go api/v2/server.go web/Calendar.tsx docs/örtlich.md node_modules/calc/x.js") {
		r.write(name, "")
	}
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

// TestMentionsOfManyFiles completes in a folder of many files.
func TestMentionsOfManyFiles(t *testing.T) {
	r := start(t, lsptest.Options{}, options(nil))
	for i := range 2000 {
		r.write(fmt.Sprintf("d%02d/f%04d.go", i%50, i), "")
	}
	var out struct{ Items []struct{ Label string } }
	r.ask("tandem/mentions/complete", map[string]any{"sessionId": r.session(nil), "prefix": "f19", "limit": 500}, &out)
	for i, item := range out.Items {
		if begins := strings.Contains(item.Label, "/f19"); begins != (i < 100) {
			t.Errorf("%d: %s", i, item.Label)
		}
	}
	equal(t, "items", len(out.Items), 200)
	r.end()
}

package languages_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/languages"
	"tandem/tools"
)

// canned is a Server that has one answer.
type canned struct {
	result  json.RawMessage
	version *int32
}

func (canned) Serves(string) bool { return true }

func (c canned) Ask(context.Context, languages.Request) ([]languages.Reply, error) {
	return []languages.Reply{{Server: "server", Encoding: text.UTF16, Version: c.version, Result: c.result}}, nil
}

func spanText(s tools.Span) string {
	if s.Unplaced {
		return "somewhere"
	}
	return fmt.Sprintf("%d:%d-%d:%d", s.Start.Line, s.Start.Character, s.End.Line, s.End.Character)
}

// asked is what comes of a question, as text.
func asked(t *testing.T, l tools.Languages, what string) string {
	t.Helper()
	file := filetime.Snapshot{Path: "/w/a", Text: text.New("text\n"), Exists: true, Open: true, Version: 1}
	var out []string
	var err error
	switch what {
	case "definition":
		var list []tools.Span
		list, err = l.Definition(t.Context(), tools.Spot{File: file})
		for _, s := range list {
			out = append(out, s.Path+" "+spanText(s))
		}
	case "symbols":
		var list []tools.Symbol
		list, err = l.Find(t.Context(), "/w", "x", false)
		for _, s := range list {
			out = append(out, fmt.Sprintf("%s %s %s %s", s.Name, s.Kind, s.Span.URI+s.Span.Path, spanText(s.Span)))
		}
	case "outline":
		var list []tools.Symbol
		list, err = l.Outline(t.Context(), file)
		for _, s := range list {
			out = append(out, fmt.Sprintf("%s %s %s", s.Name, s.Kind, spanText(s.Span)))
		}
	case "diagnostics":
		var d tools.Diagnosis
		d, err = l.Diagnose(t.Context(), file)
		for _, f := range d.Findings {
			code := f.Code
			if code == "" {
				code = "-"
			}
			out = append(out, fmt.Sprintf("%s %s %s %s %s", spanText(f.Span), f.Severity, f.Source, code, f.Message))
		}
	case "rename":
		var list []tools.FileEdits
		list, err = l.Rename(t.Context(), tools.Spot{File: file}, "b")
		for _, f := range list {
			for _, e := range f.Edits {
				out = append(out, fmt.Sprintf("%s %s %s", f.Path, spanText(tools.Span{Start: e.Start, End: e.End}), e.New))
			}
		}
	case "actions":
		var list []tools.Action
		list, err = l.Actions(t.Context(), file, 0, 1, "")
		for _, a := range list {
			out = append(out, a.Title)
		}
	default:
		t.Fatal("no question", what)
	}
	if err != nil {
		return "refused: " + err.Error()
	}
	return strings.Join(out, "\n")
}

// What language servers answer beside the letter of LSP, each with where it was seen.
func TestFaultD3Quirks(t *testing.T) {
	raw, err := os.ReadFile("testdata/quirks.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Source, Quirk, Ask, Want string
		Result                   json.RawMessage
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	version := int32(1)
	for _, row := range rows {
		t.Run(row.Quirk, func(t *testing.T) {
			l := languages.New(canned{row.Result, &version})
			if got := asked(t, l, row.Ask); got != row.Want {
				t.Errorf("%s:\n%s\nwant\n%s", row.Source, got, row.Want)
			}
			// Numbers with a fraction of zero are the same answer.
			floats := strings.NewReplacer(`"line": 0`, `"line": 0.0`, `"line": 1`, `"line": 1.0`, `"line": 3`, `"line": 3e0`).Replace(string(row.Result))
			if got := asked(t, languages.New(canned{json.RawMessage(floats), &version}), row.Ask); got != row.Want {
				t.Errorf("%s: with fractions: %s, want %s", row.Source, got, row.Want)
			}
		})
	}
}

// TestFaultD3Opaque: a place whose URI names no file is kept, with the URI as it came; one that is
// no URI is dropped.
func TestFaultD3Opaque(t *testing.T) {
	const at = `"range":{"start":{"line":3,"character":0},"end":{"line":3,"character":1}}`
	for _, uri := range []string{
		"jdt://contents/rt.jar/java.util/List.class?=x", "zipfile:///a/b.zip::c/d.ts", "zipfile:/a.zip::b", "untitled:Untitled-1",
		"deno:/https/deno.land/std%40v1/x.ts", "csharp:/metadata/System%20Core/A.cs?p=%5C#f", "file+x://h/%41?a=b&c=%3D", "",
		"no uri", "file://%zz", "1", "a b:c",
	} {
		opaque := !slices.Contains([]string{"", "no uri", "file://%zz", "1", "a b:c"}, uri)
		name, _ := json.Marshal(uri)
		for _, result := range []string{
			`[{"uri":` + string(name) + `,` + at + `}]`,
			`[{"targetUri":` + string(name) + `,"targetRange":{},"targetSelection` + strings.Replace(at, `"r`, `R`, 1) + `}]`,
		} {
			list, err := languages.New(canned{json.RawMessage(result), nil}).References(t.Context(), tools.Spot{File: filetime.Snapshot{Path: "/w/a"}})
			if err != nil || opaque != (len(list) == 1) || opaque && (list[0].URI != uri || list[0].Path != "" || list[0].Start.Line != 3) {
				t.Errorf("%s: %+v %v", result, list, err)
			}
		}
		result := `[{"name":"x","kind":5,"location":{"uri":` + string(name) + `}}]`
		found, err := languages.New(canned{json.RawMessage(result), nil}).Find(t.Context(), "/w", "x", false)
		if err != nil || opaque != (len(found) == 1) || opaque && (found[0].Span.URI != uri || !found[0].Span.Unplaced) {
			t.Errorf("%s: %+v %v", result, found, err)
		}
	}
}

// One diagnostic that cannot be read costs no other; findings about a known older text are not
// shown beside the present one.
func TestFaultW14Findings(t *testing.T) {
	const items = `{"kind":"full","items":[{"range":"everywhere","message":"bad"},7,
		{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"message":"good"}]}`
	one, older := int32(1), int32(0)
	for _, row := range []struct {
		name    string
		version *int32
		want    string
		fresh   bool
	}{
		{"present", &one, "0:0-0:1 error server - good", true},
		{"older", &older, "", false},
		{"unknown", nil, "0:0-0:1 error server - good", false},
	} {
		l := languages.New(canned{json.RawMessage(items), row.version})
		if got := asked(t, l, "diagnostics"); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
		d, err := l.Glance(t.Context(), filetime.Snapshot{Path: "/w/a", Version: 1, Open: true}, 0)
		if err != nil || len(d.Findings) != 1 {
			t.Errorf("%s: what was known before an edit: %+v %v", row.name, d, err)
		}
	}
}

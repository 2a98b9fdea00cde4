package code_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/languages"
	"tandem/tools"
)

// toy is the language server of a language of which a line "def NAME" defines a name and a line "use NAME" uses one, in files that end in
// .toy. It answers from the present texts of a folder, as an editor's servers do, in UTF-16 and in the shapes that real servers answer in:
// a formatter replaces a whole text, joins lines that end with a backslash and knows line feeds alone, an action gets its edit when it is resolved.
type toy struct{ env *tools.Env }

// libraryURI is of no file; an encoder would change it.
const libraryURI = "jdt://contents/rt.jar/java.util/List.class?=proj/%5C/lib::b"

func (toy) Serves(string) bool { return true }

type toyFile struct {
	filetime.Snapshot
	uri string
}

// at is the LSP range of a part of a text.
func (f toyFile) at(start, end int) lsp.Range {
	p := func(off int) lsp.Position {
		at := f.Text.Position(off, text.UTF16)
		return lsp.Position{Line: uint32(at.Line), Character: uint32(at.Character)}
	}
	return lsp.Range{Start: p(start), End: p(end)}
}

// name is one that stands in a file.
type name struct {
	word  string
	def   bool
	file  toyFile
	rng   lsp.Range
	start int
}

var toyLine = regexp.MustCompile(`(?m)^[ \t]*(def|use)[ \t]+(\pL+)`)

func (t toy) read(ctx context.Context, path string) (toyFile, error) {
	place, err := t.env.Paths.Readable(path)
	if err != nil {
		return toyFile{}, err
	}
	now, err := t.env.Read(ctx, place)
	return toyFile{now, string(uri.File(path))}, err
}

// names are those of all files, in their order.
func (t toy) names(ctx context.Context) (out []name, err error) {
	paths := t.env.Searches.Unsaved()
	entries, err := os.ReadDir(t.env.Paths.Cwd)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		paths = append(paths, filepath.Join(t.env.Paths.Cwd, e.Name()))
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if filepath.Ext(path) != ".toy" {
			continue
		}
		f, err := t.read(ctx, path)
		if err != nil {
			return nil, err
		}
		s := f.Text.String()
		for _, m := range toyLine.FindAllStringSubmatchIndex(s, -1) {
			out = append(out, name{s[m[4]:m[5]], s[m[2]:m[3]] == "def", f, f.at(m[4], m[5]), m[4]})
		}
	}
	return out, nil
}

func (t toy) Ask(ctx context.Context, r languages.Request) ([]languages.Reply, error) {
	if info, err := os.Stat(r.Path); filepath.Ext(r.Path) != ".toy" && (err != nil || !info.IsDir()) {
		return nil, nil
	}
	raw, err := json.Marshal(r.Params(text.UTF16, string(uri.File(r.Path))))
	if err != nil {
		return nil, err
	}
	var p struct {
		Position       lsp.Position
		Range          lsp.Range
		NewName, Query string
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	all, err := t.names(ctx)
	if err != nil {
		return nil, err
	}
	reply := languages.Reply{Server: "toy", Encoding: text.UTF16}
	result, err := t.answer(ctx, r, all, p.Position, p.Range, p.NewName, p.Query)
	if err != nil {
		return nil, err
	}
	if r.Method == "textDocument/diagnostic" {
		f, err := t.read(ctx, r.Path)
		if err != nil {
			return nil, err
		}
		reply.Version = &f.Version
	}
	reply.Result, err = json.Marshal(result)
	return []languages.Reply{reply}, err
}

func (t toy) answer(
	ctx context.Context, r languages.Request, all []name, at lsp.Position, part lsp.Range, newName, query string,
) (result any, err error) {
	word := ""
	for _, n := range all {
		if n.file.Path == r.Path && n.rng.Start.Line == at.Line && n.rng.Start.Character <= at.Character && at.Character <= n.rng.End.Character {
			word = n.word
		}
	}
	places := []any{}
	edits := map[string][]any{}
	symbols := []any{}
	items := map[string][]any{}
	for _, n := range all {
		where := map[string]any{"uri": n.file.uri, "range": n.rng}
		if n.word == word {
			if n.def || r.Method == "textDocument/references" {
				places = append(places, where)
			}
			edits[n.file.uri] = append(edits[n.file.uri], map[string]any{"range": n.rng, "newText": newName})
		}
		if n.def && (r.Path == n.file.Path || strings.Contains(n.word, query) && query != "") {
			s := map[string]any{"name": n.word, "kind": 12, "location": where}
			symbols = append(symbols, s)
		}
		if !n.def && !slices.ContainsFunc(all, func(d name) bool { return d.def && d.word == n.word }) {
			items[n.file.uri] = append(items[n.file.uri], map[string]any{
				"range": n.rng, "severity": 1, "code": "Undefined", "message": "undefined: " + n.word,
			})
		}
	}
	if strings.HasPrefix(word, "lib") { // it is defined in a library, whose text only the server has
		places = append(places, map[string]any{"uri": libraryURI, "range": lsp.Range{Start: lsp.Position{Line: 6}}})
	}
	if strings.HasPrefix(query, "lib") {
		symbols = append(symbols, map[string]any{"name": query, "kind": 5, "location": map[string]any{"uri": libraryURI}})
	}
	switch r.Method {
	case "textDocument/definition", "textDocument/references":
		return places, nil
	case "textDocument/documentSymbol", "workspace/symbol":
		return symbols, nil
	case "textDocument/rename":
		if newName == "def" {
			return nil, tools.Refuse(tools.ExecutionError, "language_server", "The language server toy cannot answer: def is no name.")
		}
		return map[string]any{"changes": edits}, nil
	case "textDocument/diagnostic":
		return map[string]any{"kind": "full", "items": items[string(uri.File(r.Path))]}, nil
	case "workspace/diagnostic":
		list := []any{}
		for u, found := range items {
			list = append(list, map[string]any{"uri": u, "items": found})
		}
		return map[string]any{"items": list}, nil
	}
	f, err := t.read(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	if r.Method == "textDocument/formatting" {
		var lines []string
		for line := range strings.Lines(strings.ReplaceAll(f.Text.String(), "\\\n", "")) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		end := lsp.Position{Line: uint32(f.Text.LineCount())} // a line behind the last, as several servers say it
		return []any{map[string]any{"range": lsp.Range{End: end}, "newText": strings.Join(lines, "\n") + "\n"}}, nil
	}
	return t.actions(r, f, all, part), nil
}

// actions are repairs of names that are not defined, and of lines that begin with "odd" one of each kind that cannot be done.
func (t toy) actions(r languages.Request, f toyFile, all []name, part lsp.Range) []any {
	out := []any{}
	top := func(lines ...string) map[string]any {
		return map[string]any{"range": lsp.Range{}, "newText": strings.Join(lines, "\n") + "\n"}
	}
	edit := func(changes map[string]any) any { return map[string]any{"changes": changes} }
	uris := map[string]bool{}
	for _, n := range all {
		uris[n.file.uri] = true
	}
	for _, n := range all {
		inside := part.Start.Line <= n.rng.Start.Line && n.rng.Start.Line <= part.End.Line
		defined := slices.ContainsFunc(all, func(d name) bool { return d.def && d.word == n.word })
		if n.file.Path != f.Path || !inside || defined {
			continue
		}
		define := map[string]any{"title": "Define " + n.word, "kind": "quickfix", "isPreferred": true}
		if r.Resolve == define["title"] {
			define["edit"] = edit(map[string]any{f.uri: []any{top("# defined", "def "+n.word)}})
		}
		everywhere := map[string]any{}
		for u := range uris {
			everywhere[u] = []any{top("def " + n.word)}
		}
		out = append(out, define, map[string]any{"title": "Define " + n.word + " everywhere", "kind": "quickfix", "edit": edit(everywhere)})
	}
	if strings.Contains(f.Text.String(), "odd") {
		twice := func(s string) any {
			return map[string]any{"title": "Twice", "kind": "refactor", "edit": edit(map[string]any{f.uri: []any{top(s)}})}
		}
		out = append(out,
			map[string]any{"title": "Sort", "command": "toy.sort"},
			map[string]any{"title": "Test", "kind": "source.test", "command": map[string]any{"title": "Test", "command": "toy.test"}},
			map[string]any{"title": "Extract", "kind": "refactor.extract", "disabled": map[string]any{"reason": "Nothing is selected."}},
			map[string]any{"title": "Move", "kind": "refactor.move", "edit": map[string]any{"documentChanges": []any{
				map[string]any{"kind": "create", "uri": f.uri + "2"},
			}}},
			map[string]any{"title": "Move away", "kind": "refactor.move", "edit": edit(map[string]any{"file:///elsewhere.toy": []any{top("# moved")}})},
			map[string]any{"title": "Title", "kind": "source", "edit": edit(map[string]any{f.uri: []any{top("# title")}}), "command": map[string]any{
				"title": "Title", "command": "toy.title",
			}},
			map[string]any{"title": "Nothing", "kind": "source"},
			twice("# one"), twice("# two"),
		)
	}
	return out
}

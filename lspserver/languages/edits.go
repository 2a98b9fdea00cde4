package languages

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	lsp "go.lsp.dev/protocol"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/fileuri"
	"tandem/lspserver/wire"
	"tandem/sandbox"
	"tandem/tools"
)

func (l *languageServers) Rename(ctx context.Context, at tools.Spot, name string) ([]tools.FileEdits, error) {
	replies, err := l.ask(ctx, Request{Path: at.File.Path, Method: "textDocument/rename", Params: func(e text.Encoding, uri string) any {
		p := textDocumentParams(uri)
		p["position"], p["newName"] = lspPosition(at.File.Text.Position(at.Offset, e)), name
		return p
	}})
	if err != nil {
		return nil, err
	}
	for _, r := range replies {
		list, err := workspaceEdits(r.Result, r.Encoding)
		if err != nil {
			return nil, &filetime.Error{
				Code: filetime.Unsupported, Reason: "files",
				Message: "The language server cannot be followed here: " + err.Error() + ". Nothing was changed. Use edit_file and move_file.",
			}
		}
		if len(list) > 0 { // a second server would repeat it
			return list, nil
		}
	}
	return nil, nil
}

func (l *languageServers) Format(ctx context.Context, file filetime.Snapshot) ([]tools.FileEdits, error) {
	replies, err := l.ask(ctx, Request{Path: file.Path, Method: "textDocument/formatting", Params: func(_ text.Encoding, uri string) any {
		p := textDocumentParams(uri)
		p["options"] = indentation(file.Text.String())
		return p
	}})
	if err != nil {
		return nil, err
	}
	for _, r := range replies {
		var list []textEdit
		if err := wire.Unmarshal(r.Result, &list); err != nil {
			return nil, err
		}
		if len(list) > 0 { // the edits of two formatters would overlap
			return []tools.FileEdits{{Path: file.Path, Encoding: r.Encoding, Edits: spanEdits(file.Path, list, r.Encoding)}}, nil
		}
	}
	return nil, nil
}

// indentation detects the formatting options of a text: tabs if most indented lines begin with one,
// else as many blanks as the least indented line has. Formatters without settings of their own use
// them.
func indentation(s string) map[string]any {
	tabs, blanks, least := 0, 0, 8
	for line := range strings.Lines(s) {
		n := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case strings.HasPrefix(line, "\t"):
			tabs++
		case n > 1 && strings.TrimSpace(line) != "":
			blanks, least = blanks+1, min(least, n)
		}
	}
	if blanks == 0 {
		least = 4
	}
	return map[string]any{"tabSize": least, "insertSpaces": tabs <= blanks}
}

func (l *languageServers) Actions(ctx context.Context, file filetime.Snapshot, start, end int, title string) ([]tools.Action, error) {
	replies, err := l.ask(ctx, Request{Path: file.Path, Method: "textDocument/codeAction", Resolve: title, Params: func(e text.Encoding, uri string) any {
		p := textDocumentParams(uri)
		p["range"] = lsp.Range{Start: lspPosition(file.Text.Position(start, e)), End: lspPosition(file.Text.Position(end, e))}
		p["context"] = map[string]any{"diagnostics": []any{}, "triggerKind": 1}
		return p
	}})
	if err != nil {
		return nil, err
	}
	var out []tools.Action
	for _, r := range replies {
		for _, raw := range elements(r.Result) {
			if a, ok := actionOf(raw, r); ok {
				out = append(out, a)
			}
		}
	}
	return out, nil
}

// actionOf decodes a CodeAction of LSP, or a Command in its place.
func actionOf(raw json.RawMessage, r Reply) (tools.Action, bool) {
	var a struct {
		Title     string `json:"title"`
		Kind      string `json:"kind"`
		Preferred bool   `json:"isPreferred"`
		Disabled  *struct {
			Reason string `json:"reason"`
		} `json:"disabled"`
		Edit    json.RawMessage `json:"edit"`
		Command json.RawMessage `json:"command"`
	}
	if wire.Unmarshal(raw, &a) != nil || a.Title == "" {
		return tools.Action{}, false
	}
	out := tools.Action{Title: a.Title, Kind: a.Kind, Preferred: a.Preferred}
	if len(a.Command) > 0 && json.Unmarshal(a.Command, &out.Command) != nil { // of a CodeAction it is a Command
		var c struct{ Command string }
		if json.Unmarshal(a.Command, &c) == nil {
			out.Command = c.Command
		}
	}
	var err error
	if isSet(a.Edit) {
		out.Edits, err = workspaceEdits(a.Edit, r.Encoding)
	}
	switch {
	case a.Disabled != nil:
		out.Refused = cmp.Or(strings.TrimSuffix(a.Disabled.Reason, "."), "the language server does not say why")
	case err != nil:
		out.Refused = err.Error()
	case out.Command != "" && len(out.Edits) == 0:
		out.Refused = "it is the command " + out.Command + " of the language server, which does not say what it changes"
	}
	return out, true
}

// isSet reports whether a value is present and not null.
func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// textEdit is a TextEdit of LSP, also one with an annotation.
type textEdit struct {
	Range   lsp.Range `json:"range"`
	NewText string    `json:"newText"`
}

// workspaceEdits decodes the edits of a WorkspaceEdit, sorted by path. An edit that creates, moves
// or deletes files is refused.
func workspaceEdits(edit json.RawMessage, encoding text.Encoding) ([]tools.FileEdits, error) {
	var w struct {
		Changes         map[string][]textEdit `json:"changes"`
		DocumentChanges []struct {
			Kind         string `json:"kind"`
			TextDocument struct {
				URI string `json:"uri"`
			} `json:"textDocument"`
			Edits []textEdit `json:"edits"`
		} `json:"documentChanges"`
	}
	if err := wire.Unmarshal(edit, &w); err != nil {
		return nil, err
	}
	byPath := map[string][]tools.SpanEdit{}
	add := func(u string, list []textEdit) error {
		path, ok := fileuri.Path(u)
		if !ok {
			return fmt.Errorf("it wants to change something that is no file: %s", u)
		}
		path = sandbox.Canonical(path)
		byPath[path] = append(byPath[path], spanEdits(path, list, encoding)...)
		return nil
	}
	for _, c := range w.DocumentChanges {
		if c.Kind != "" {
			return nil, fmt.Errorf("it wants to %s a file too", c.Kind)
		}
		if err := add(c.TextDocument.URI, c.Edits); err != nil {
			return nil, err
		}
	}
	if len(w.DocumentChanges) == 0 {
		for u, list := range w.Changes {
			if err := add(u, list); err != nil {
				return nil, err
			}
		}
	}
	var out []tools.FileEdits
	for path, list := range byPath {
		out = append(out, tools.FileEdits{Path: path, Encoding: encoding, Edits: list})
	}
	slices.SortFunc(out, func(a, b tools.FileEdits) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

func spanEdits(path string, list []textEdit, encoding text.Encoding) []tools.SpanEdit {
	out := make([]tools.SpanEdit, len(list))
	for i, e := range list {
		s := spanOf(path, e.Range, encoding)
		out[i] = tools.SpanEdit{Start: s.Start, End: s.End, New: e.NewText}
	}
	return out
}

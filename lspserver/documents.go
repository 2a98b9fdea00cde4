package lspserver

import (
	"context"
	"encoding/json"

	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"tandem/filetime/text"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
	"tandem/lspserver/workspace"
)

func (s *server) documentRoutes(r *wire.Router) {
	handleNote(r, protocol.TextDocumentDidOpen, s.didOpen)
	handleNote(r, protocol.TextDocumentDidChange, s.didChange)
	handleNote(r, protocol.TextDocumentWillSave, func(context.Context, lsp.WillSaveTextDocumentParams) {})
	handleNote(r, protocol.TextDocumentDidSave, s.didSave)
	handleNote(r, protocol.TextDocumentDidClose, s.didClose)
	handleNote(r, protocol.DocumentsElsewhere, s.documentsElsewhere)
	handleNote(r, protocol.WorkspaceDidChangeWatchedFiles, s.didChangeWatchedFiles)
}

// pathOf gives the path of a file URI; ok is false for other schemes.
func pathOf(u string) (path string, ok bool) {
	parsed, err := uri.ParseStrict(u)
	if err != nil {
		return "", false
	}
	if !parsed.IsFile() || parsed.Authority() != "" {
		return "", false
	}
	return parsed.Path(), true
}

func (s *server) didOpen(_ context.Context, p lsp.DidOpenTextDocumentParams) {
	d := p.TextDocument
	path, ok := pathOf(string(d.URI))
	if !ok {
		s.log.Debug("document without a path is not kept", "uri", d.URI)
		return
	}
	s.ws.Open(path, string(d.URI), d.Version, clone(d.Text))
}

func (s *server) didChange(_ context.Context, p lsp.DidChangeTextDocumentParams) {
	noKey := s.questions.typed()
	changes := make([]workspace.ContentChange, 0, len(p.ContentChanges))
	for _, c := range p.ContentChanges {
		switch c := c.(type) {
		case *lsp.TextDocumentContentChangePartial:
			r := workspace.Range{Start: fromPosition(c.Range.Start), End: fromPosition(c.Range.End)}
			changes = append(changes, workspace.ContentChange{Range: &r, Text: clone(c.Text)})
		case *lsp.TextDocumentContentChangeWholeDocument:
			changes = append(changes, workspace.ContentChange{Text: clone(c.Text)})
		default:
			s.log.Warn("a change of a form that is not known", "uri", p.TextDocument.URI)
		}
	}
	if !s.ws.Change(string(p.TextDocument.URI), p.TextDocument.Version, changes) {
		s.log.Debug("a change of a document that is not open", "uri", p.TextDocument.URI)
		return
	}
	if path, ok := pathOf(string(p.TextDocument.URI)); ok {
		s.b.Typed(path)
	}
	if s.questions.stand() {
		s.b.Later(func(context.Context) {
			if !s.ws.Typed(string(p.TextDocument.URI)) {
				noKey()
			}
		})
	}
}

func (s *server) didSave(_ context.Context, p lsp.DidSaveTextDocumentParams) {
	s.ws.Saved(string(p.TextDocument.URI), p.Text)
}

func (s *server) didClose(_ context.Context, p lsp.DidCloseTextDocumentParams) {
	s.ws.Close(string(p.TextDocument.URI))
}

func (s *server) documentsElsewhere(_ context.Context, p protocol.ElsewhereParams) {
	paths := make([]string, 0, len(p.URIs))
	for _, u := range p.URIs {
		if path, ok := pathOf(u); ok {
			paths = append(paths, path)
		}
	}
	s.ws.Elsewhere(paths)
}

func (s *server) didChangeWatchedFiles(_ context.Context, p lsp.DidChangeWatchedFilesParams) {
	for _, c := range p.Changes {
		if path, ok := pathOf(string(c.URI)); ok {
			s.b.Changed(path)
		}
	}
}

// dropped marks the document of a malformed didChange as suspect.
func (s *server) dropped(_ string, params []byte) {
	var p struct {
		TextDocument struct {
			URI string `json:"uri"`
		} `json:"textDocument"`
	}
	if json.Unmarshal(params, &p) == nil && p.TextDocument.URI != "" && s.ws != nil {
		s.ws.Suspect(p.TextDocument.URI)
	}
}

// clone copies a string, so that it does not keep the whole message in memory.
func clone(s string) string { return string([]byte(s)) }

func fromPosition(p lsp.Position) text.Position {
	return text.Position{Line: int(p.Line), Character: int(p.Character)}
}

func fromRange(r *lsp.Range) *workspace.Range {
	if r == nil {
		return nil
	}
	return &workspace.Range{Start: fromPosition(r.Start), End: fromPosition(r.End)}
}

func toPosition(p text.Position) lsp.Position {
	return lsp.Position{Line: uint32(p.Line), Character: uint32(p.Character)}
}

func (s *server) toRange(t text.Text, start, end int) lsp.Range {
	return lsp.Range{
		Start: toPosition(t.Position(start, s.client.encoding)), End: toPosition(t.Position(end, s.client.encoding)),
	}
}

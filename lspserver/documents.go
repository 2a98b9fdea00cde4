package lspserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	lsp "go.lsp.dev/protocol"

	"tandem/filetime/text"
	"tandem/lspserver/fileuri"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
	"tandem/lspserver/workspace"
)

func (s *server) documentRoutes(r *wire.Router) {
	handleNoteAs(r, protocol.TextDocumentDidOpen, s.didOpen)
	handleNoteAs(r, protocol.TextDocumentDidChange, s.didChange)
	handleNote(r, protocol.TextDocumentWillSave, func(context.Context, lsp.WillSaveTextDocumentParams) {})
	handleNoteAs(r, protocol.TextDocumentDidSave, s.didSave)
	handleNoteAs(r, protocol.TextDocumentDidClose, s.didClose)
	handleNote(r, protocol.DocumentsElsewhere, s.documentsElsewhere)
	handleNote(r, protocol.WorkspaceDidChangeWatchedFiles, s.didChangeWatchedFiles)
}

// pathOf gives the path of a file URI; ok is false for other schemes.
func pathOf(u string) (path string, ok bool) { return fileuri.Path(u) }

func (s *server) didOpen(_ context.Context, p protocol.DidOpen) {
	d := p.TextDocument
	path, ok := pathOf(d.URI)
	if !ok {
		s.log.Debug("document without a path is not kept", "uri", d.URI)
		return
	}
	u := clone(d.URI)
	s.order.opened(u, versionOf(d.Version))
	s.ws.Open(path, u, versionOf(d.Version), clone(d.Text))
}

// versionOf is workspace.NoVersion where the client does not say one.
func versionOf(n protocol.OptionalNumber) int32 {
	if !n.Known {
		return workspace.NoVersion
	}
	return n.Value
}

func (s *server) didChange(_ context.Context, p protocol.DidChange) {
	u, version := clone(p.TextDocument.URI), versionOf(p.TextDocument.Version)
	if err := p.Changes.Err; err != nil {
		s.order.change(u, version, func() { s.outOfSync(u, err) })
		return
	}
	noKey := s.questions.typed()
	changes := make([]workspace.ContentChange, len(p.Changes.List))
	for i, c := range p.Changes.List {
		changes[i] = workspace.ContentChange{Range: fromRange(c.Range), Text: clone(c.Text)}
	}
	s.order.change(u, version, func() { s.applyChange(u, version, changes, noKey) })
}

// applyChange takes in a change in its order. noKey takes back that it was a key.
func (s *server) applyChange(u string, version int32, changes []workspace.ContentChange, noKey func()) {
	if !s.ws.Change(u, version, changes) {
		s.log.Debug("a change of a document that is not open", "uri", u)
		return
	}
	if path, ok := pathOf(u); ok {
		s.b.Typed(path)
	}
	if s.questions.stand() {
		s.b.Later(func(context.Context) {
			if !s.ws.Typed(u) {
				noKey()
			}
		})
	}
}

// requested is called for a request about a document, in the order of messages.
func (s *server) requested(u string) {
	if s.order.complete(u) {
		s.ws.Requested(u)
	}
}

func (s *server) didSave(_ context.Context, p protocol.DidSave) {
	s.order.settle(p.TextDocument.URI)
	s.ws.Saved(p.TextDocument.URI, p.Text)
}

func (s *server) didClose(_ context.Context, p protocol.DidClose) {
	s.order.closed(p.TextDocument.URI)
	s.ws.Close(p.TextDocument.URI)
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

// dropped is called for a notification whose parameters are not understood at all.
func (s *server) dropped(method string, params []byte) {
	if method != protocol.TextDocumentDidOpen.Name && method != protocol.TextDocumentDidChange.Name || s.ws == nil {
		return
	}
	var p struct {
		TextDocument struct {
			URI string `json:"uri"`
		} `json:"textDocument"`
	}
	if json.Unmarshal(params, &p) == nil && p.TextDocument.URI != "" {
		s.outOfSync(p.TextDocument.URI, errors.New("parameters are not understood"))
	}
}

// outOfSync gives up the text of a document after a change that was not understood. A client that cannot send it again has
// its person do so.
func (s *server) outOfSync(u string, why error) {
	s.log.Warn("a content change was not understood", "uri", u, "error", why)
	if !s.ws.LoseSync(u) || s.client.tandem.Resync {
		return
	}
	name := u
	if path, ok := pathOf(u); ok {
		name = s.b.Short(path)
	}
	s.warn(fmt.Sprintf("Tandem's copy of %s is out of sync with the editor. Close and reopen it.", name))
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

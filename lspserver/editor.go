package lspserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/lspserver/languages"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
	"tandem/lspserver/workspace"
)

// editor implements workspace.Editor by requests to the client.
type editor struct{ s *server }

func (e editor) Apply(ctx context.Context, d workspace.Delivery) (out workspace.Applied, err error) {
	s := e.s
	defer s.b.Caught("applyEdit", &err)
	p := protocol.ApplyEditParams{Edit: s.workspaceEdit(d)}
	switch {
	case !s.client.plain:
		path, _ := pathOf(d.URI)
		old := ""
		if to, ok := pathOf(d.To); ok {
			path, old = to, s.b.Short(path)
		}
		p.Label = d.Label
		p.Tandem = &protocol.ApplyEditInfo{
			SessionID: d.Session, ToolCallID: d.Call, Turn: d.Turn, Save: d.Save,
			Unified: []protocol.UnifiedDiff{{URI: d.URI, Diff: show.Diff(s.b.Short(path), d.Old, d.New, show.Options{
				Created: d.Create, Deleted: d.Delete, MaxBytes: s.b.MaxDiff(), OldPath: old,
			}).Unified}},
		}
	case !s.client.documents:
		p.Edit = lsp.WorkspaceEdit{Changes: map[uri.URI][]lsp.TextEdit{uri.URI(d.URI): textEdits(d)}}
	}
	var r protocol.ApplyEditResult
	err = call(ctx, s.conn, protocol.WorkspaceApplyEdit, p, &r)
	s.order.await(d.URI)
	if err != nil {
		var coded *wire.Error
		switch {
		case errors.Is(err, wire.ErrClosed):
			err = workspace.ErrGone
		case errors.As(err, &coded) && coded.Code == wire.CodeRequestFailed:
			err = &workspace.RefusedError{Words: coded.Message}
		}
		return workspace.Applied{Reason: err.Error()}, err
	}
	out = workspace.Applied{OK: r.Applied, Reason: clone(r.FailureReason)}
	if r.Tandem == nil || !s.client.tandem.Landed {
		return out, nil
	}
	for _, v := range r.Tandem.Versions {
		if same(v.URI, d.URI) {
			out.Version = &v.Version
		}
	}
	return out, nil
}

// same reports that two URIs name one file, which a client may spell in another way than it was asked.
func same(a, b string) bool {
	if a == b {
		return true
	}
	p, ok := pathOf(a)
	q, is := pathOf(b)
	return ok && is && p == q
}

func (e editor) Save(ctx context.Context, uris []string) (map[string]string, error) {
	var r protocol.SaveResult
	if err := call(ctx, e.s.conn, protocol.DocumentsSave, protocol.SaveParams{URIs: uris}, &r); err != nil {
		return nil, err
	}
	failed := map[string]string{}
	for _, f := range r.Failed {
		failed[f.URI] = f.Reason
		for _, asked := range uris {
			if same(asked, f.URI) {
				failed[asked] = f.Reason
			}
		}
	}
	return failed, nil
}

func (e editor) Resync(ctx context.Context, uri string) (string, int32, error) {
	var r protocol.ResyncResult
	err := call(ctx, e.s.conn, protocol.DocumentsResync, protocol.ResyncParams{URI: uri}, &r)
	return clone(r.Text), r.Version, err
}

// Serves is part of languages.Server: which languages the editor's servers know shows when they are asked.
func (e editor) Serves(string) bool { return true }

// Ask implements languages.Server by a request to the client.
func (e editor) Ask(ctx context.Context, r languages.Request) ([]languages.Reply, error) {
	var answer protocol.EditorRequestResult
	if r.Running && !r.Open && strings.HasPrefix(r.Method, "textDocument/") {
		return nil, nil
	}
	defer e.s.ws.Asking(r.Path)()
	u := e.s.ws.URIOf(r.Path)
	err := call(ctx, e.s.conn, protocol.EditorRequest, protocol.EditorRequestParams{
		URI: u, Method: r.Method, Params: r.Params(e.s.client.encoding, u), Resolve: r.Resolve,
	}, &answer)
	if wire.Is(err, wire.CodeMethodNotFound) { // it does not answer this method
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := make([]languages.Reply, len(answer.Results))
	for i, a := range answer.Results {
		out[i] = languages.Reply{Server: clone(a.Server), Encoding: e.s.client.encoding, Version: a.Version, Result: bytes.Clone(a.Result)}
		for encoding, name := range positionEncodings {
			if string(name) == a.PositionEncoding {
				out[i].Encoding = encoding
			}
		}
	}
	return out, nil
}

// workspaceEdit converts a delivery to LSP.
func (s *server) workspaceEdit(d workspace.Delivery) lsp.WorkspaceEdit {
	u := uri.URI(d.URI)
	switch {
	case d.To != "":
		return lsp.WorkspaceEdit{DocumentChanges: []lsp.DocumentChange{protocol.NewRenameFile(u, uri.URI(d.To))}}
	case d.Delete:
		w := lsp.WorkspaceEdit{DocumentChanges: []lsp.DocumentChange{protocol.NewDeleteFile(u)}}
		if d.Version != nil && !s.client.plain { // what is typed until then keeps the file: an edit of nothing has a version
			guard := &lsp.TextDocumentEdit{TextDocument: lsp.OptionalVersionedTextDocumentIdentifier{
				TextDocumentIdentifier: lsp.TextDocumentIdentifier{URI: u}, Version: d.Version,
			}, Edits: []lsp.TextDocumentEditElement{}}
			w.DocumentChanges = append([]lsp.DocumentChange{guard}, w.DocumentChanges...)
		}
		return w
	}
	var w lsp.WorkspaceEdit
	var note lsp.ChangeAnnotationIdentifier
	if s.client.annotate {
		path, _ := pathOf(d.URI)
		note = lsp.ChangeAnnotationIdentifier(d.Call)
		w.ChangeAnnotations = map[lsp.ChangeAnnotationIdentifier]lsp.ChangeAnnotation{
			note: {Label: fmt.Sprintf("%s %s", d.Tool, s.b.Short(path))},
		}
	}
	if d.Create {
		w.DocumentChanges = append(w.DocumentChanges, protocol.NewCreateFile(u))
	}
	edit := &lsp.TextDocumentEdit{
		TextDocument: lsp.OptionalVersionedTextDocumentIdentifier{
			TextDocumentIdentifier: lsp.TextDocumentIdentifier{URI: u}, Version: d.Version,
		},
	}
	for _, t := range textEdits(d) {
		if note != "" {
			edit.Edits = append(edit.Edits, &lsp.AnnotatedTextEdit{TextEdit: t, AnnotationID: note})
			continue
		}
		edit.Edits = append(edit.Edits, &t)
	}
	if len(edit.Edits) > 0 {
		w.DocumentChanges = append(w.DocumentChanges, edit)
	}
	return w
}

func textEdits(d workspace.Delivery) []lsp.TextEdit {
	out := make([]lsp.TextEdit, len(d.Edits))
	for i, e := range d.Edits {
		out[i] = lsp.TextEdit{Range: lsp.Range{Start: toPosition(e.Range.Start), End: toPosition(e.Range.End)}, NewText: e.New}
	}
	return out
}

// editOf converts a change that landed, or would land, to LSP.
func (s *server) editOf(l filetime.Landed, call string) *lsp.WorkspaceEdit {
	out := &lsp.WorkspaceEdit{}
	for _, f := range l.Files {
		if f.Already {
			continue
		}
		if f.Entry == filetime.Folder && f.Created {
			continue // there is no operation for that
		}
		if f.Origin != "" {
			out.DocumentChanges = append(out.DocumentChanges,
				protocol.NewRenameFile(uri.URI(s.ws.URIOf(f.Origin)), uri.URI(s.ws.URIOf(f.Path))))
			if len(f.Set) == 0 {
				continue
			}
		}
		d := workspace.Delivery{URI: s.ws.URIOf(f.Path), Version: f.BeforeVersion, Create: f.Created, Delete: f.Deleted, Call: call}
		if f.Deleted {
			d.Version = nil
		}
		for _, e := range f.Set {
			d.Edits = append(d.Edits, workspace.TextEdit{
				Range: workspace.Range{Start: s.position(f.Before, e.Start), End: s.position(f.Before, e.End)}, New: e.New,
			})
		}
		w := s.workspaceEdit(d)
		out.DocumentChanges = append(out.DocumentChanges, w.DocumentChanges...)
		for k, v := range w.ChangeAnnotations {
			if out.ChangeAnnotations == nil {
				out.ChangeAnnotations = map[lsp.ChangeAnnotationIdentifier]lsp.ChangeAnnotation{}
			}
			out.ChangeAnnotations[k] = v
		}
	}
	return out
}

func (s *server) position(t text.Text, off int) text.Position {
	return t.Position(off, s.client.encoding)
}

// FileState sends the new state of a file.
func (f face) FileState(st workspace.State) {
	n := protocol.FileTimeNotice{URI: st.URI, State: st.State, By: st.By, Mtime: stamp(st.ModTime)}
	if st.Open {
		n.Version = &st.Version
	}
	notify(f.s, protocol.FileTimeChanged, n)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

package acp

import (
	"context"
	"errors"
	"path/filepath"

	"go.lsp.dev/uri"

	"tandem/lspserver/backend"
	"tandem/lspserver/wire"
	"tandem/lspserver/workspace"
)

// files implements workspace.Editor by fs/read_text_file and fs/write_text_file, an editor without
// document versions.
type files struct{ s *server }

var _ workspace.Editor = files{}

type fileParams struct {
	SessionID string  `json:"sessionId"`
	Path      string  `json:"path"`
	Content   *string `json:"content,omitzero"`
}

// request sends a request about a file. Its path is below the session's folder as the client
// spelled it, with symbolic links, since a client may not know the resolved one.
func (f files) request(ctx context.Context, method string, se *backend.Session, u string, content *string, result any) error {
	path := uri.URI(u).Path()
	if rel, _ := filepath.Rel(f.s.b.Canonical(se.Cwd()), path); filepath.IsLocal(rel) { // "" is not local
		path = filepath.Join(se.Cwd(), rel)
	}
	err := f.s.conn.Call(ctx, method, fileParams{se.ID(), path, content}, result)
	var coded *wire.Error
	switch {
	case errors.As(err, &coded):
		return &workspace.RefusedError{Words: coded.Message}
	case errors.Is(err, wire.ErrClosed):
		return workspace.ErrGone
	}
	return err
}

// Resync reads a file's text from the client. The request must name a session, so it takes the most
// recently used one and fails before there is any.
func (f files) Resync(ctx context.Context, u string) (string, int32, error) {
	se := f.s.b.Latest()
	if se == nil {
		return "", 0, &workspace.RefusedError{Words: "there is no session yet"}
	}
	var r struct {
		Content string `json:"content"`
	}
	err := f.request(ctx, "fs/read_text_file", se, u, nil, &r)
	return r.Content, 0, err
}

// Apply writes the whole new text.
func (f files) Apply(ctx context.Context, d workspace.Delivery) (workspace.Applied, error) {
	se, err := f.s.b.Find(d.Session)
	if err != nil {
		return workspace.Applied{}, &workspace.RefusedError{Words: err.Error()}
	}
	err = f.request(ctx, "fs/write_text_file", se, d.URI, new(d.New.String()), nil)
	return workspace.Applied{OK: err == nil}, err
}

// Save does nothing: the client saves each written file itself.
func (files) Save(context.Context, []string) (map[string]string, error) { return nil, nil }

// Package client is the editor's end of a connection for programs in Go: what the command line and
// the demonstration speak to a server with, over the same wire as any editor.
package client

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"

	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
)

// Handlers are what a Client answers. Nil ones are not offered to the server.
type Handlers struct {
	// Update gets every tandem/session/update, in order; it must not block.
	Update func(protocol.UpdateParams)
	// Permission answers tandem/session/requestPermission. The error ErrNobody says that nobody can
	// be asked.
	Permission func(context.Context, protocol.PermissionParams) (protocol.PermissionResult, error)
	// Buffer is the document that is open.
	Buffer *Buffer
	// Message gets what window/showMessage and window/logMessage say; it must not block.
	Message func(message string)
}

// ErrNobody answers a question where nobody can be asked.
var ErrNobody error = &wire.Error{Code: wire.CodeMethodNotFound, Message: "nobody can be asked"}

// Client is one connection to a server. Its methods may be called concurrently.
type Client struct{ *wire.Conn }

// Dial begins a connection on rwc, which it owns from now on, and initializes the server on a
// workspace folder. options are the initializationOptions.
func Dial(ctx context.Context, rwc io.ReadWriteCloser, folder string, options json.RawMessage, h Handlers, log *slog.Logger) (*Client, error) {
	r := wire.NewRouter()
	if h.Update != nil {
		wire.Notify(r, "tandem/session/update", func(_ context.Context, p protocol.UpdateParams) { h.Update(p) })
	}
	if h.Permission != nil {
		wire.Handle(r, "tandem/session/requestPermission", h.Permission)
	}
	if h.Permission != nil { // a question of two answers, the first of which refuses, is one of those
		wire.Handle(r, "window/showMessageRequest",
			func(ctx context.Context, p lsp.ShowMessageRequestParams) (*lsp.MessageActionItem, error) {
				if len(p.Actions) != 2 {
					return nil, ErrNobody
				}
				answer, err := h.Permission(ctx, protocol.PermissionParams{
					ToolCall: protocol.Update{Title: p.Message, Kind: "other"},
					Options: []protocol.PermissionOption{
						{OptionID: "allow_once", Name: p.Actions[1].Title, Kind: "allow_once"},
						{OptionID: "reject_once", Name: p.Actions[0].Title, Kind: "reject_once"},
					},
				})
				if err != nil || answer.Outcome.OptionID != "allow_once" {
					return &p.Actions[0], err
				}
				return &p.Actions[1], nil
			})
	}
	if h.Buffer != nil {
		wire.Handle(r, "workspace/applyEdit",
			func(ctx context.Context, p protocol.ApplyEditParams) (lsp.ApplyWorkspaceEditResult, error) {
				return h.Buffer.apply(ctx, p), nil
			})
	}
	message := func(_ context.Context, p lsp.ShowMessageParams) {
		if h.Message != nil {
			h.Message(p.Message)
		}
	}
	wire.Notify(r, "window/showMessage", message)
	wire.Notify(r, "window/logMessage", message)
	c := &Client{wire.Serve(ctx, rwc, r, wire.Options{Log: log, Client: true})}

	experimental, err := json.Marshal(map[string]any{"tandem": protocol.ClientExperimental{Permission: h.Permission != nil}})
	if err != nil {
		return nil, err
	}
	pid := int32(os.Getpid())
	apply := h.Buffer != nil
	p := lsp.InitializeParams{
		ProcessID: &pid,
		WorkspaceFoldersInitializeParams: lsp.WorkspaceFoldersInitializeParams{
			WorkspaceFolders: lsp.NewNullable([]lsp.WorkspaceFolder{{URI: uri.File(folder), Name: folder}}),
		},
		InitializationOptions: lsp.LSPAny(options),
		Capabilities: lsp.ClientCapabilities{
			Workspace: &lsp.WorkspaceClientCapabilities{
				ApplyEdit: &apply, WorkspaceEdit: &lsp.WorkspaceEditClientCapabilities{DocumentChanges: &apply},
			},
			General:      &lsp.GeneralClientCapabilities{PositionEncodings: []lsp.PositionEncodingKind{lsp.PositionEncodingKindUTF8}},
			Experimental: experimental,
		},
	}
	if err := c.Call(ctx, "initialize", p, nil); err != nil {
		c.Close()
		return nil, err
	}
	err = c.Notify(ctx, "initialized", lsp.InitializedParams{})
	if err == nil && h.Buffer != nil {
		err = h.Buffer.open(ctx, c)
	}
	return c, err
}

// Shutdown takes leave of the server.
func (c *Client) Shutdown(ctx context.Context) error {
	err := c.Call(ctx, "shutdown", nil, nil)
	if err == nil {
		err = c.Notify(ctx, "exit", nil)
	}
	<-c.Done()
	return err
}

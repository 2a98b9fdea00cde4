package client

import (
	"context"
	"slices"
	"sync"

	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"tandem/filetime/text"
	"tandem/lspserver/protocol"
)

// Buffer is one open document of a plain editor: it takes an edit for the version that it was made
// for and no other, and reports every change. Its methods may be called concurrently.
type Buffer struct {
	// Applied is told of every edit that was taken, with its 1-based line; it must not call the
	// Buffer. May be nil.
	Applied func(label string, line int, old, new string)

	uri uri.URI
	cl  *Client

	mu      sync.Mutex
	text    text.Text
	version int32
	refused int
}

// NewBuffer makes the buffer of a file; Dial opens it.
func NewBuffer(path, content string) *Buffer {
	return &Buffer{uri: uri.File(path), text: text.New(content), version: 1}
}

// Text is what the buffer holds.
func (b *Buffer) Text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Refused counts the edits that came for an older text.
func (b *Buffer) Refused() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// Insert puts s where at says, as a byte offset of the text that it is given.
func (b *Buffer) Insert(ctx context.Context, s string, at func(now string) int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	off := at(b.text.String())
	return b.change(ctx, text.Set{{Start: off, End: off, New: s}})
}

func (b *Buffer) open(ctx context.Context, cl *Client) error {
	b.cl = cl
	return cl.Notify(ctx, "textDocument/didOpen", lsp.DidOpenTextDocumentParams{TextDocument: lsp.TextDocumentItem{
		URI: b.uri, LanguageID: "plaintext", Version: b.version, Text: b.text.String(),
	}})
}

// change applies a set and reports it, the last edit first, so that every range holds when it is
// applied. b.mu is held.
func (b *Buffer) change(ctx context.Context, set text.Set) error {
	b.version++
	p := lsp.DidChangeTextDocumentParams{}
	p.TextDocument.URI, p.TextDocument.Version = b.uri, b.version
	for _, e := range slices.Backward(set) {
		p.ContentChanges = append(p.ContentChanges, &lsp.TextDocumentContentChangePartial{
			Range: lsp.Range{Start: b.position(e.Start), End: b.position(e.End)}, Text: e.New,
		})
	}
	b.text = set.Apply(b.text)
	return b.cl.Notify(ctx, "textDocument/didChange", p)
}

func (b *Buffer) position(off int) lsp.Position {
	p := b.text.Position(off, text.UTF8)
	return lsp.Position{Line: uint32(p.Line), Character: uint32(p.Character)}
}

func (b *Buffer) offset(p lsp.Position) int {
	off, _ := b.text.Offset(text.Position{Line: int(p.Line), Character: int(p.Character)}, text.UTF8)
	return off
}

func (b *Buffer) apply(ctx context.Context, p protocol.ApplyEditParams) lsp.ApplyWorkspaceEditResult {
	b.mu.Lock()
	defer b.mu.Unlock()
	refuse := func(reason string) lsp.ApplyWorkspaceEditResult {
		b.refused++
		return lsp.ApplyWorkspaceEditResult{FailureReason: &reason}
	}
	var set text.Set
	for _, c := range p.Edit.DocumentChanges {
		edit, ok := c.(*lsp.TextDocumentEdit)
		if !ok || edit.TextDocument.URI != b.uri {
			return refuse("this editor has one document")
		}
		if edit.TextDocument.Version == nil || *edit.TextDocument.Version != b.version {
			return refuse("the text has moved on")
		}
		for _, e := range edit.Edits {
			if t, ok := e.(*lsp.TextEdit); ok {
				set = append(set, text.Edit{Start: b.offset(t.Range.Start), End: b.offset(t.Range.End), New: t.NewText})
			}
		}
	}
	if b.Applied != nil {
		for _, e := range set {
			b.Applied(p.Label, b.text.Line(e.Start)+1, b.text.Slice(e.Start, e.End), e.New)
		}
	}
	if err := b.change(ctx, set); err != nil {
		return refuse(err.Error())
	}
	return lsp.ApplyWorkspaceEditResult{Applied: true}
}

// Package delivery says how an edit gets into an open document: it sends the edit for the version
// that it was made for, takes the reply as a hint and the document's own changes as proof, sends it
// again where the client has refused it, and takes it back where the client has put it at the
// places of an older text.
package delivery

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
)

// Range is a range of a document in the editor's positions.
type Range struct{ Start, End text.Position }

// TextEdit replaces a range by New.
type TextEdit struct {
	Range Range
	New   string
}

// Request is the request to the editor to apply one edit of one document.
type Request struct {
	URI string
	// Version is the document's version that the edit is for; nil for a document that is not open.
	Version *int32
	// Create makes the file first, Delete removes it instead of editing it. To, where it is not "",
	// is the URI that the file or folder is renamed to instead.
	Create, Delete bool
	To             string
	Edits          []TextEdit
	Label          string
	Session, Call  string
	Tool           string
	Turn           int
	// Old and New are the whole texts before and after, for a diff.
	Old, New text.Text
	// Save says that a request to save the document will follow.
	Save bool
}

// ErrGone is the error of an Editor whose connection has ended.
var ErrGone = errors.New("the editor has disconnected")

// Where an edit goes may change while it is on its way.
var (
	ErrOpened = errors.New("the document was opened") // while its change was to go to the disk
	ErrClosed = errors.New("the document was closed") // while its edit was to go to the editor
)

// RefusedError is the error of an Editor that cannot make an edit at all; Words are for a person.
type RefusedError struct{ Words string }

func (e *RefusedError) Error() string { return e.Words }

// Applied is the editor's reply to a Request.
type Applied struct {
	// OK says that it was applied: a hint, unless Version is there. Reason is why it was not.
	OK     bool
	Reason string
	// Version is the version of the document that the edit made, from a client that promises to
	// name it; nil from any other.
	Version *int32
}

// Editor is the client as a delivery needs it. Methods may be called concurrently.
type Editor interface {
	// Apply requests an edit; err is an error reply, or that there was none.
	Apply(ctx context.Context, r Request) (Applied, error)
	// Save requests that documents be saved and gives those that were not, with the reason.
	Save(ctx context.Context, uris []string) (failed map[string]string, err error)
}

// Client is the editor that edits are delivered to, with what it has promised and what it has shown
// of itself.
type Client struct {
	Editor Editor
	Features
	*Traffic
	// Held is how long an edit is waited for of which the editor says that it has applied it, and
	// has not told of yet.
	Held time.Duration
	// Waits is called when an edit of the file at path has waited for a while for an editor that
	// has applied it and has not told of it. Late is called when it has become known whether an
	// edit landed of whose call that was not known.
	Waits func(c filetime.Change, path string)
	Late  func(c filetime.Change, l filetime.Landed)
	Now   func() time.Time
	Log   *slog.Logger
	Go    func(func()) // runs a function in the background
}

// Features are those of an editor's capabilities that a delivery depends on.
type Features struct {
	Encoding text.Encoding
	// Plain: the client has only LSP. It may delay didChange. Versions: edits carry the version
	// that they are for. Landed: replies to edits name the version that they made. Saves: requests
	// to save are served.
	Plain, Versions, Landed, Saves bool
}

// Traffic is what the client's own messages have shown of it.
type Traffic struct {
	kept, broken atomic.Int64 // edits of which it named the right version, and a wrong one
	heardAt      atomic.Int64 // when it last told of a document, in nanoseconds since 1970
	ends         atomic.Bool  // it ends every text with a line end
}

// Heard says that the client has told of a document.
func (t *Traffic) Heard(at time.Time) { t.heardAt.Store(at.UnixNano()) }

// Named counts the edits of which the client has named the right version, and a wrong one.
func (t *Traffic) Named() (right, wrong int64) { return t.kept.Load(), t.broken.Load() }

// EndsTexts says that the client is known to end every text with a line end.
func (t *Traffic) EndsTexts() { t.ends.Store(true) }

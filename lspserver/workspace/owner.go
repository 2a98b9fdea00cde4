package workspace

import (
	"context"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/delivery"
)

// The client as it is delivered to: the types of the room below, which are the door of this one
// too.
type (
	// Range is a range of a document in the editor's positions.
	Range = delivery.Range
	// TextEdit replaces a range by New.
	TextEdit = delivery.TextEdit
	// Delivery is the request to the editor to apply one edit of one document.
	Delivery = delivery.Request
	// Applied is the editor's reply to a Delivery.
	Applied = delivery.Applied
	// RefusedError is the error of an Editor that cannot make an edit at all; Words are for a
	// person.
	RefusedError = delivery.RefusedError
	// Unsure is an edit whose call has ended before it was known whether it landed.
	Unsure = delivery.Unsure
)

// ErrGone is the error of an Editor whose connection has ended.
var ErrGone = delivery.ErrGone

// client is the editor for a delivery.
func (w *Workspace) client() *delivery.Client {
	have := w.o.Features
	return &delivery.Client{
		Editor: w.o.Editor, Traffic: &w.traffic, Held: w.o.Held, Waits: w.o.Waits, Now: w.o.Now, Log: w.o.Log,
		Features: delivery.Features{
			Encoding: have.Encoding, Plain: have.Plain, Versions: have.Versions, Landed: have.Landed, Saves: have.Save,
		},
		Late: func(c filetime.Change, l filetime.Landed) {
			for _, f := range l.Files {
				w.noteWritten(f.Path, f.After)
			}
			w.o.Late(c, l)
		},
		Go: func(do func()) { go w.safely(do) },
	}
}

// commitEditor lands an edit in the editor.
func (w *Workspace) commitEditor(ctx context.Context, f *file, e filetime.FileEdit, c filetime.Change) (filetime.LandedFile, error) {
	return w.client().Deliver(ctx, w.delivered(f), e, c)
}

// delivered is a file as a delivery sees it.
func (w *Workspace) delivered(f *file) delivery.Document {
	return delivery.Document{Path: f.path, History: &f.History, Slot: f.Slot, Owner: owner{w, f}}
}

// owner is what a delivery has done for it.
type owner struct {
	w *Workspace
	f *file
}

func (o owner) Lock()   { o.f.mu.Lock() }
func (o owner) Unlock() { o.f.mu.Unlock() }

func (o owner) State() delivery.State {
	f := o.f
	s := delivery.State{
		URI: f.uri, Open: f.open(), Version: f.version(), ForEdit: f.openedForEdit(), TypedFirst: f.dirty() && !f.touched(),
		Exists: f.disk.exists, Mode: f.disk.Mode,
	}
	if f.doc != nil {
		s.Unversioned, s.Unsound = f.doc.unversioned, f.doc.sync != inSync || f.doc.rivals > 0
	}
	return s
}

func (o owner) Prepare(e filetime.FileEdit) (delivery.Plan, error) { return o.w.prepare(o.f, e) }
func (o owner) Refresh() error                                     { return o.w.refresh(o.f) }
func (o owner) Notify(state, by string)                            { o.w.notify(o.f, state, by) }

func (o owner) Stored() (text.Text, bool, error) {
	d, err := o.w.stored().Read(o.f.path, o.w.o.MaxFileBytes)
	return d.Text, d.Exists, err
}

func (o owner) PutOnDisk(ctx context.Context, e filetime.FileEdit, c filetime.Change) error {
	tx := o.w.begin(c)
	_, err := o.w.putOnDisk(ctx, o.f, e, tx)
	tx.End(err)
	return err
}

// Gone is for clients that send no didClose for a document that went with its file.
func (o owner) Gone() {
	o.w.withoutName(o.f.uri)
	o.w.documentClosed(o.f)
}

func (o owner) Typed() {
	if o.f.doc != nil {
		o.f.doc.opener = byPerson
	}
}

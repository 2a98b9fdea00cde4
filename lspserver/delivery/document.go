package delivery

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/follow"
	"tandem/lspserver/history"
)

// Document is a file that edits are delivered to.
type Document struct {
	Path string
	*history.History
	*Slot
	Owner
}

// Owner has the file. All but Lock and PutOnDisk are called with its lock held.
type Owner interface {
	sync.Locker
	State() State
	// Prepare rebases an edit to the present text, and Refresh reads that of a file that is not
	// open.
	Prepare(e filetime.FileEdit) (Plan, error)
	Refresh() error
	// Stored is what the disk has.
	Stored() (t text.Text, exists bool, err error)
	// PutOnDisk lands an edit on disk. The error is ErrOpened if the file was opened.
	PutOnDisk(ctx context.Context, e filetime.FileEdit, c filetime.Change) error
	// Gone says that the document went with its file, and Typed that a person has typed into it.
	Gone()
	Typed()
	// Notify notifies of a new state of the file.
	Notify(state, by string)
}

// State is how a file stands with the client.
type State struct {
	URI         string
	Open        bool
	Version     int32 // of an open document
	Unversioned bool  // the client says no version: this one is a count of its changes
	Unsound     bool  // the text may differ from the client's
	ForEdit     bool  // it was opened for an edit, and no person has typed into it
	TypedFirst  bool  // its unsaved text begins with a change that is none of ours
	Exists      bool  // on disk
	Mode        fs.FileMode
}

// Plan is an edit rebased to the present text: Set is over Before, and Theirs is what others have
// changed since, By whom.
type Plan struct {
	Before, After text.Text
	Version       *int32
	Set, Theirs   text.Set
	By            filetime.Authors
	Rebased       text.Rebased
}

// Landed is the plan as a landing, of revision rev.
func (p Plan) Landed(path string, rev uint64, applied bool) filetime.LandedFile {
	return filetime.LandedFile{
		Path: path, Before: p.Before, After: p.After, Set: p.Set, BeforeVersion: p.Version,
		Rev: rev, Applied: applied, Source: "buffer", Rebased: p.Theirs, Over: len(p.Theirs), By: p.By, SameLine: p.Rebased.SameLine,
		Ties: p.Rebased.Ties,
	}
}

// Slot is the place of the one edit that may be on its way to a document, and wakes those that wait
// for its changes. All but Free wants the lock of the document.
type Slot struct {
	inFlight chan struct{} // semaphore
	changed  chan struct{} // closed at every change
	out      *try
}

// NewSlot makes a free one.
func NewSlot() *Slot { return &Slot{inFlight: make(chan struct{}, 1), changed: make(chan struct{})} }

// Free says that nothing is on its way, and nothing waits.
func (s *Slot) Free() bool { return len(s.inFlight) == 0 && s.out == nil }

// Busy says that an edit is on its way.
func (s *Slot) Busy() bool { return s.out != nil }

// Release gives the slot free.
func (s *Slot) Release() { <-s.inFlight }

// Changed is closed at the next change.
func (s *Slot) Changed() <-chan struct{} { return s.changed }

// Wake wakes those that wait for a change.
func (s *Slot) Wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Told takes in a change of the document.
func (s *Slot) Told(c follow.Change) {
	if s.out != nil {
		s.out.events = append(s.out.events, c)
	}
	s.Wake()
}

// Last is the latest change while an edit is on its way, and else nil.
func (s *Slot) Last() *follow.Change {
	if s.out == nil {
		return nil
	}
	return &s.out.events[len(s.out.events)-1]
}

// Requested takes in that the client has sent a request about the document, whose text that is. An
// edit that it has not said yes to may be behind it.
func (s *Slot) Requested(now text.Text, rev uint64) {
	if s.out != nil && s.out.state.Applied() {
		s.Told(follow.Change{Before: now, After: now, Rev: rev + 1, Kind: follow.Requested})
		s.Settle(false)
	}
}

// Settle judges an edit whose call has returned by what has come since. over says that no change
// will tell any more.
func (s *Slot) Settle(over bool) {
	if s.out != nil && s.out.late != nil {
		s.out.late(over)
	}
}

// Leads says that a text is the one that the edit on its way leads to.
func (s *Slot) Leads(t text.Text) bool { return s.out != nil && t.Equal(s.out.Set.Apply(s.out.Before)) }

// Unsure is the edit whose call has ended before it was known whether it landed; ok is false if
// there is none.
func (s *Slot) Unsure() (u Unsure, ok bool) {
	if s.out == nil || s.out.late == nil {
		return u, false
	}
	return s.out.unsure, true
}

// Unsure is an edit whose call has ended before it was known whether it landed.
type Unsure struct {
	Session, Path, URI, Call string
	Turn                     int
}

func (f Document) open() bool { return f.State().Open }

// fail is an error with the present text.
func (f Document) fail(code filetime.Code, reason, format string, args ...any) error {
	e := fail(f.Path, code, reason, format, args...)
	e.Now, e.Known = f.Text(), true
	return e
}

// undone reports that one of some changes has led back to a text from before a revision, and none
// to a later one.
func (f Document) undone(changes []follow.Change, rev uint64) (back bool) {
	for _, e := range changes {
		if was := f.Restores(e.Rev); was != 0 {
			back = was < rev
		}
	}
	return back
}

func fail(path string, code filetime.Code, reason, format string, args ...any) *filetime.Error {
	return &filetime.Error{Code: code, Reason: reason, Path: path, Message: fmt.Sprintf(format, args...)}
}

func endsLine(s string) bool { return strings.HasSuffix(s, "\n") }

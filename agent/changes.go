package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"tandem/agent/store"
	"tandem/filetime"
	"tandem/tools/run"
)

// Operation is the kind of a FileChange.
type Operation string

// The operations. Shell is a command's change, Undo takes changes of the session back.
const (
	OpCreate Operation = "create"
	OpEdit   Operation = "edit"
	OpDelete Operation = "delete"
	OpMove   Operation = "move"
	OpShell  Operation = "shell"
	OpUndo   Operation = "undo"
)

// FileChange is one stored change of one file.
type FileChange struct {
	// ID is stable and unique within the session.
	ID   string
	Time time.Time
	Turn int
	Call string
	Path string
	// Origin is where the file was before it was moved to Path, "" where it was not.
	Origin string
	// Entry is what was changed; of one that is no text the hashes are empty.
	Entry     filetime.Entry
	Operation Operation
	// BeforeHash and AfterHash are the SHA-256 of the texts, empty where there was no file.
	BeforeHash, AfterHash string
	// Mode is the permissions of a file that a command created or deleted, 0 if they are not known.
	Mode fs.FileMode
	// Allowed says that the user permitted this change.
	Allowed bool
	// Decision, if not nil, is an argument of Session.Decided; the other fields but Time are empty then.
	Decision json.RawMessage

	blobs []store.Blob
}

// Changes lists the changes of a session, the oldest first, whether or not it is locked. Those of the turns that it shares with its parent
// belong to the parent.
func Changes(st store.Store, id string) ([]FileChange, error) {
	return changesOf(st, id, store.Change)
}

// ChangesAndDecisions lists changes and decisions in their order.
func ChangesAndDecisions(st store.Store, id string) ([]FileChange, error) {
	return changesOf(st, id, store.Change, store.Decision)
}

func changesOf(st store.Store, id string, kinds ...store.Kind) (out []FileChange, err error) {
	s, entries, err := st.Entries(id, kinds...)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, e := range entries {
		if s.Parent != "" && e.Turn <= s.At { // it is the parent's to keep or to undo
			continue
		}
		if e.Kind == store.Decision {
			out = append(out, FileChange{Time: e.Time, Decision: e.Body})
			continue
		}
		var b body
		if err := json.Unmarshal(e.Body, &b); err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrDamaged, err)
		}
		n++
		out = append(out, FileChange{
			ID: fmt.Sprintf("r%d", n), Time: e.Time, Turn: e.Turn, Call: e.Call, Path: b.Path, Origin: b.Origin, Entry: b.Entry, Operation: b.Operation,
			BeforeHash: b.Before, AfterHash: b.After, Mode: b.Mode, Allowed: b.Allowed, blobs: e.Blobs,
		})
	}
	return out, nil
}

// TurnsOf is the number of the last turn that ended or changed a file, whether or not the session is locked.
func TurnsOf(st store.Store, id string) (int, error) {
	_, entries, err := st.Entries(id, store.End, store.Change)
	n := 0
	for _, e := range entries {
		n = max(n, e.Turn)
	}
	return n, err
}

// Decided stores the user's decision about changes, in the caller's own format.
func (s *Session) Decided(decision json.RawMessage) {
	s.record.add(store.Entry{Time: s.o.Now(), Kind: store.Decision, Body: decision})
}

// Texts gives the file's text before and after. kept is false if the texts were too large to store or were dropped.
func (c FileChange) Texts(st store.Store) (before, after string, kept bool, err error) {
	if len(c.blobs) != 2 {
		return "", "", false, nil
	}
	before, err = st.Blob(c.blobs[0].Hash)
	if err == nil {
		after, err = st.Blob(c.blobs[1].Hash)
	}
	if errors.Is(err, store.ErrGone) {
		return "", "", false, nil
	}
	return before, after, err == nil, err
}

// Changed stores a change that takes changes of the session back: of the user, or of a call with Change.Undo.
func (s *Session) Changed(c filetime.Change, l filetime.Landed) {
	var entries []store.Entry
	for _, f := range l.Files {
		if f.Applied {
			entries = append(entries, s.record.landedAs(c.Turn, c.Call, body{Operation: OpUndo}, f, deletes(c.Files, f.Path)))
		}
	}
	s.record.add(entries...)
}

// Commanded stores changes of a command that were found after its call has ended.
func (s *Session) Commanded(c filetime.Change, l filetime.Landed) {
	s.record.add(s.record.effects(c.Turn, c.Call, l)...)
}

// Late takes in what became of an edit of a file whose call had ended before that was known: l is empty where the edit is not in the text.
// The model is told at its next request.
func (s *Session) Late(c filetime.Change, l filetime.Landed) {
	name := s.env(c.Turn, run.Call{ID: c.Call}, s.Tools).Name(c.Files[0].Path)
	if len(l.Files) == 0 {
		s.window.Note(fmt.Sprintf("Your edit of %s, of which it was not known whether it landed, is not in the text. Make it again if it is still right.", name))
		return
	}
	s.record.add(s.record.landed(c.Turn, c.Call, l, c.Allowed)...)
	s.window.Note(fmt.Sprintf("Your edit of %s, of which it was not known whether it landed, has landed. Do not make it again.", name))
	s.Tell(Event{Turn: c.Turn, Late: c.Call})
}

// change is the entry of a change; b has its operation and path.
func (r *record) change(turn int, call string, b body, before, after filetime.Snapshot) store.Entry {
	b.Before, b.After = hashOf(before), hashOf(after)
	e := r.entry(turn, store.Change, call, "", b)
	if max(before.Text.Len(), after.Text.Len()) <= maxBlob {
		e.Blobs = []store.Blob{{Data: before.Text.String()}, {Data: after.Text.String()}}
	}
	return e
}

func hashOf(s filetime.Snapshot) string {
	if !s.Exists {
		return ""
	}
	return fmt.Sprintf("%x", s.Text.Hash())
}

// landedAs is the entry of a change that landed.
func (r *record) landedAs(turn int, call string, b body, f filetime.LandedFile, deleted bool) store.Entry {
	b.Path, b.Origin, b.Entry = f.Path, f.Origin, f.Entry
	if f.Entry != filetime.File {
		return r.entry(turn, store.Change, call, "", b)
	}
	return r.change(turn, call, b,
		filetime.Snapshot{Text: f.Before, Exists: !f.Created}, filetime.Snapshot{Text: f.After, Exists: !deleted})
}

// deletes says whether a change deletes a file.
func deletes(files []filetime.FileEdit, path string) bool {
	return slices.ContainsFunc(files, func(e filetime.FileEdit) bool { return e.Delete && e.Path == path })
}

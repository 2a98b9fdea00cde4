// Package filetime is the view that a session has of files: their present text, the texts that the
// model has seen, and how a change lands. Files are compare-and-swap, "seen" means "was sent to the
// model", and staleness is judged by the ranges that an edit needs, never by the whole file.
//
// FileTime is what one session knows of files. Files, which the editor's side implements, are open
// buffers over the disk.
package filetime

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"tandem/filetime/text"
)

// Author says who made a change.
type Author uint8

// The authors of a Revision.
const (
	User    Author = iota // typed, or arrived from the editor
	Disk                  // found on disk
	Agent                 // one of our own changes
	Command               // found on disk after a command of a session, which has not seen it
)

// Authors are those of several changes; none are not known.
type Authors uint8

const someone Authors = 1 << 7 // who is not known

// Plus are the authors, and a further one.
func (a Authors) Plus(b Author) Authors { return a | 1<<b }

// Unknown are the authors, and somebody who is not known.
func (a Authors) Unknown() Authors { return a | someone }

// Only reports whether all changes are known to be by one author.
func (a Authors) Only(b Author) bool { return a == 1<<b }

// Snapshot is the state of one file at one moment. It is immutable.
type Snapshot struct {
	// Path is the canonical absolute path: symbolic links resolved.
	Path string
	Text text.Text
	// Rev grows by one with every change of the file's text that this process learns of.
	Rev uint64
	// Version is the editor's version of the document while it is open.
	Version int32
	// Open says that the text is an editor's buffer, Dirty that it differs from what was last
	// saved.
	Open, Dirty bool
	// Planned says that Text has changes in it that wait for a person: it is in no buffer and on no
	// disk, and no other program knows it.
	Planned bool
	// Exists is false for a path where there is no file: the text is then empty.
	Exists  bool
	Mode    fs.FileMode
	ModTime time.Time
	Links   uint64
	// Cached says that the text was in memory and proven to be the present one, so that the file
	// was not read.
	Cached bool
}

// Revision is one change of a file: Set is over the text before it, Rev is the revision that it
// made.
type Revision struct {
	Rev    uint64
	Set    text.Set
	Author Author
	// Session and Call name the tool call that made it, where Author is Agent or Command; both are
	// empty else.
	Session, Call string
	// Ours says that it landed through Files, also where Author is User because a person asked for
	// it.
	Ours bool
	// Part says that the editor reported the next revision in the same notification.
	Part bool
	// Restores is the latest earlier revision with the text that this change leads to, as an undo
	// does, whoever makes it; 0 where none of the last PastTexts had it. It may be one that the
	// history has no more.
	Restores uint64
}

// Files is the files of a workspace as tools see them. All methods may be called concurrently.
type Files interface {
	// Read gives the present text: the buffer of an open document, else the disk. A path without a
	// file is a Snapshot with Exists false, not an error; a file that cannot be read as text is an
	// *Error.
	Read(ctx context.Context, path string) (Snapshot, error)
	// History gives the changes after revision rev, oldest first, and the snapshot that they lead
	// to. ok is false when the history does not reach back to rev any more.
	History(path string, rev uint64) (changes []Revision, now Snapshot, ok bool)
	// Commit makes a change land, each of its files rebased over what happened since, in every file
	// or in none that could be judged beforehand. A refusal is a *Conflict or an *Error, and then
	// nothing of the change is in the files that it names. The caller holds the locks of the paths;
	// with Apply None, which only works the change out, it needs none.
	Commit(ctx context.Context, c Change) (Landed, error)
	// Lock takes the locks of the paths in a fixed order and gives the function that releases them.
	Lock(ctx context.Context, paths ...string) (unlock func(), err error)
}

// Apply says where a change goes.
type Apply string

// The places that a change can go to. None applies nothing: the host does it. Planned, which only
// an overlay takes, has the change wait until a person approves it.
const (
	Auto    Apply = "auto"
	Editor  Apply = "editor"
	OnDisk  Apply = "disk"
	None    Apply = "none"
	Planned Apply = "plan"
)

// Change is what one tool call does to files, worked out but not landed.
type Change struct {
	Session, Call string
	Turn          int
	// Tool is the tool's canonical name, Label what a person reads in the editor's undo list.
	Tool, Label string
	// ForUser says that a person asked for the change, so that it is news to the model.
	ForUser bool
	// Allowed says that a person was shown this change and allowed it.
	Allowed bool
	// Undo says that a call of the session takes earlier changes of the session back.
	Undo  bool
	Apply Apply
	Files []FileEdit
	// Waits, where it is not nil, is called when the change begins to wait for the editor, and what
	// it gives when that is over.
	Waits func() (over func())
}

// Wait calls Waits.
func (c Change) Wait() (over func()) {
	if c.Waits == nil {
		return func() {}
	}
	return c.Waits()
}

// CanWait says that the change can wait for a person: it edits texts and makes new ones, each file
// once.
func (c Change) CanWait() bool {
	seen := map[string]bool{}
	for _, e := range c.Files {
		if e.Entry != File || e.Delete || e.To != "" || seen[e.Path] {
			return false
		}
		seen[e.Path] = true
	}
	return len(c.Files) > 0
}

// Makes says that file i is created where the change deletes what is no text before.
func (c Change) Makes(i int) bool {
	return c.Files[i].Create && slices.ContainsFunc(c.Files[:i], func(e FileEdit) bool {
		return e.Path == c.Files[i].Path && e.Delete && e.Entry != File
	})
}

// Made is what becomes of a file that is created, worked out and not applied.
func (e FileEdit) Made() LandedFile {
	return LandedFile{Path: e.Path, After: e.Edits.Apply(text.Text{}), Set: e.Edits, Created: true, Source: "disk"}
}

// Entry is what stands at a path.
type Entry string

// The entries. Of all but a File nothing is edited, and nothing but a move can be undone: a folder
// is made, removed where it is empty, or moved with what is in it; the others are removed or moved
// as they are. A link is never followed.
const (
	File   Entry = ""      // a file that is text
	Bytes  Entry = "bytes" // a file that is no text, or too large to be read as one
	Folder Entry = "folder"
	Link   Entry = "link"
)

// Mark distinguishes the states of an entry that is no text, as far as its metadata do.
func Mark(info fs.FileInfo) string {
	if info.IsDir() { // it changes with what is in it
		return "folder"
	}
	return fmt.Sprintf("%v %d %d", info.Mode(), info.Size(), info.ModTime().UnixNano())
}

// FileEdit is the edit of one file: Edits are over Base, the text that the model had seen; Since
// leads from Base to the file's text at Rev. Commit extends Since to the moment of landing and
// rebases Edits over all of it in one step.
type FileEdit struct {
	Path string
	// To moves the file to this path, which nothing may have; "" leaves it where it is. What others
	// changed since Base moves along. A Change that deletes what is at To names that first.
	To string
	// Entry is what stands at Path; Was, where it is not "", is its Mark when the caller saw it,
	// and what is something else by then stays as it is. Was is for all but a File.
	Entry Entry
	Was   string
	// Create says that there is no such file yet; Edits are then over the empty text.
	Create bool
	// Delete removes the file if it is unchanged since Base; Edits are then empty.
	Delete bool
	// Mode is the permissions of a file that is created; 0 is the usual ones.
	Mode fs.FileMode
	// OneName refuses the edit where the file has further names (hard links) and an editor would
	// write into all of them.
	OneName bool
	Base    text.Text
	Edits   text.Set
	Since   text.Set
	// By are the authors of Since.
	By  Authors
	Rev uint64
}

// Landed is a change as it landed, one entry for each of its files.
type Landed struct {
	Files    []LandedFile
	Warnings []Warning
	// Plan is the id of the plan that the change waits in, "" where it waits for nothing.
	Plan string
}

// Warning is something to know of a file, for the model and a person. Says is the rest of a
// sentence that begins with the file's name, which whoever tells it knows: it depends on where they
// stand.
type Warning struct{ Path, Says string }

// LandedFile is one file's part: Set is over Before and leads to After.
type LandedFile struct {
	// Path is where After is now.
	Path string
	// Origin is where the file was before it was moved, "" if it was not.
	Origin        string
	Entry         Entry
	Before, After text.Text
	Set           text.Set
	// BeforeVersion is the editor's version of Before, nil where the document was not open.
	BeforeVersion *int32
	// Rev is the revision that the landing made, or the file's where nothing was applied.
	Rev              uint64
	Created, Deleted bool
	// Mode is the permissions of a file that was created or deleted; 0 if they are not known.
	Mode fs.FileMode
	// Applied is false for Apply None.
	Applied bool
	// Already says that the text had the same change by another author: Set is empty.
	Already bool
	// Source is "buffer" or "disk": where it landed, or "plan" where it waits.
	Source string
	// Attempts counts how often the editor was asked.
	Attempts int
	// Rebased are the changes by others that the edit was carried over, as a set over Base; Over
	// counts them.
	Rebased text.Set
	Over    int
	// By are the authors of Rebased.
	By Authors
	// SameLine says that another author changed a line that the edit changed too, or inserted text
	// adjacent to what it replaced.
	SameLine bool
	// Ties are insertions of the edit at the points where another author inserted, too; their order
	// is a guess. They are ranges of After.
	Ties []text.Tie
	// Stale says, as the rest of a sentence that begins with the file's name, why buffer and disk
	// differ after the edit; "" where they do not.
	Stale string
	// EndKept says that the editor ends every text with a line end, and the edit was to leave none.
	EndKept bool
}

// Code is a class of failure, one situation one code; the values are those of the wire.
type Code string

// What files can refuse with.
const (
	ReadError         Code = "READ_ERROR"
	WriteError        Code = "WRITE_ERROR"
	IsDirectory       Code = "IS_DIRECTORY"
	FileExists        Code = "FILE_EXISTS"
	FileTooLarge      Code = "FILE_TOO_LARGE"
	BinaryFile        Code = "BINARY_FILE"
	NotRead           Code = "NOT_READ"
	EditConflict      Code = "EDIT_CONFLICT"
	Timeout           Code = "TIMEOUT"
	Unknown           Code = "UNKNOWN"
	Cancelled         Code = "CANCELLED"
	Unsupported       Code = "UNSUPPORTED"
	OutsideRoots      Code = "OUTSIDE_ROOTS"
	OutsideWriteRoots Code = "OUTSIDE_WRITE_ROOTS"
)

// Held is the reason of an Unknown where the editor says that it has applied the edit and has not
// told of it: it may yet land.
const Held = "held"

// Error is a refusal that a model can read: Message is a whole sentence with the next step, Reason
// one name in lower case, its words joined by _ (enoent, not_regular, editor_busy, …).
type Error struct {
	Code    Code
	Reason  string
	Path    string
	Message string
	// Person replaces the sentence for the class of the error in what a person reads; "" does not.
	Person string
	// Now, where Known, is what the file says at the moment of the refusal.
	Now   text.Text
	Known bool
}

func (e *Error) Error() string { return e.Message }

// Conflict is an edit of text that another author has changed: nothing of it was applied.
type Conflict struct {
	Path string
	// Base is the text that the edit was made for, Now what the file says.
	Base, Now text.Text
	Hunks     []Hunk
	Author    Author
}

func (c *Conflict) Error() string {
	return fmt.Sprintf("%s: the text to be edited was changed meanwhile; nothing was applied.", c.Path)
}

// Hunk is one place of a conflict, in whole lines with their ends: as they were in Base, as the
// edit would have them, and as they are now, with the lines (1-based) at which they begin in Base
// and in Now. "" is no line at all.
type Hunk struct {
	Base, Ours, Now string
	BaseLine, Line  int
}

// Incomplete is a change of several files of which one was refused after others had landed. Those
// were reverted unless later changes by others conflict; Landed has the files that stay changed.
type Incomplete struct {
	// Err is why the file was refused: a *Conflict or an *Error.
	Err error
	// Files are those of the change, in their order.
	Files []FileReport
}

// FileReport is what became of one file of an Incomplete. Err is why it stays changed.
type FileReport struct {
	Path  string
	State FileState
	Err   error
}

// FileState is what became of a file.
type FileState string

// The states of a FileReport.
const (
	Refused   FileState = "refused"
	Reverted  FileState = "taken_back"
	Stays     FileState = "stays"     // it is changed, and reverting it failed
	Untouched FileState = "untouched" // its turn had not come
)

func (e *Incomplete) Error() string {
	return strings.TrimSuffix(e.Err.Error()+"\n"+e.Report(), "\n")
}

// Report says a line for each file that had been changed before, "" where there was none.
func (e *Incomplete) Report() string {
	var lines []string
	for _, f := range e.Files {
		switch f.State {
		case Reverted:
			lines = append(lines, f.Path+" had been changed already; that was reverted.")
		case Stays:
			lines = append(lines, fmt.Sprintf("%s was changed already and stays so, because reverting it failed: %v", f.Path, f.Err))
		}
	}
	return strings.Join(lines, "\n")
}

func (e *Incomplete) Unwrap() error { return e.Err }

// Package store keeps sessions, so that a conversation outlives the process that led it: in a database that several
// processes share, or in memory. What a session writes down is a list of entries that only grows; their meaning is the
// writer's.
package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tandem/filetime/disk"
)

// Quota is the size in bytes that a store keeps to unless it is told otherwise.
const Quota = 512 << 20

// Why a store refuses.
var (
	ErrUnknown = errors.New("there is no such session")
	ErrNewer   = errors.New("it was written by a newer version of Tandem")
	ErrDamaged = errors.New("it is damaged, or no database of sessions")
	// ErrCursor is an After that is no Next.
	ErrCursor = errors.New("there is no such page")
	// ErrGone is a text that was too much for the quota, or that nobody has stored.
	ErrGone = errors.New("the text is not kept")
)

// HeldError is a session that another process has.
type HeldError struct {
	ID  string
	PID int
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("The session %s is open in the process %d.", e.ID, e.PID)
}

// Session is what is known of a session without its entries. All its text is UTF-8.
type Session struct {
	ID    string
	Cwd   string
	More  []string // further folders
	Title string
	Mode  string
	Model string
	// CacheKey is the session's name before its model's service.
	CacheKey         string
	Created, Updated time.Time
	// PID is the process that has the session, 0 for none that lives. It is not written.
	PID int
}

// Kind says what an Entry tells.
type Kind string

// The kinds.
const (
	// Message is a message of the conversation.
	Message Kind = "message"
	// Call is a tool call that is about to be carried out, Running one that may have begun to change something, Result
	// how it ended, Change a file that it changed: the first blob is the text before, the second the one after.
	Call    Kind = "call"
	Running Kind = "running"
	Result  Kind = "result"
	Change  Kind = "change"
	// Steer is a message of a person to a turn that is running, until it is one of the conversation. End is the end of a turn.
	Steer Kind = "steer"
	End   Kind = "end"
	// Notice is something that a person is told, Decision what one decided about changes.
	Notice   Kind = "notice"
	Decision Kind = "decision"
)

// Entry is one thing that happened in a session. All its text but that of Blobs is UTF-8.
type Entry struct {
	Time time.Time
	Turn int
	Kind Kind
	// Call is the id of the call that it is about.
	Call string
	// Text is what a person has seen of it; it is what Query.Text looks in.
	Text string
	Body json.RawMessage
	// Blobs are texts that many entries may share.
	Blobs []Blob
}

// Blob is a text. Append stores Data and Entries gives Hash, which Store.Blob finds the Data by.
type Blob struct {
	Hash string
	Data string
}

// Judged is an intent whose process has ended before it did.
type Judged struct {
	disk.Intent
	Outcome disk.Outcome
}

// Backup are bytes that a file had before a change, or that somebody saved meanwhile.
type Backup struct {
	Hash, Path string
	Time       time.Time
	// Session and Tool are those of the change.
	Session, Tool string
}

// Query selects sessions, the last used first. Empty fields select all.
type Query struct {
	Cwd string
	// Text is in the title or in what was said; letters of ASCII may differ in case.
	Text string
	// After is the Next of the page before.
	After string
	// Limit is the most sessions to give, 0 for all.
	Limit int
}

// Collected is what Collect deleted.
type Collected struct {
	Sessions, Intents int
	Bytes             int64
}

// Stats are figures of a store.
type Stats struct {
	// Path is the file, empty in memory.
	Path string
	// Size and Quota are in bytes; Sessions and Intents count those kept, and those that are open.
	Size, Quota       int64
	Sessions, Intents int
}

// Store keeps sessions, and is the journal of what is done to files. All methods may be called concurrently. Whatever a
// method that returned nil has written is there after the process was killed, End's a moment later. Methods about one
// session fail with ErrUnknown, and those that write, except Save of a new one, with a *HeldError where a living process
// that is not this one has it.
type Store interface {
	disk.Journal

	// Save writes a session as it is now and takes hold of it.
	Save(s Session) error
	// Take takes hold of a session and gives it with its entries.
	Take(id string) (Session, []Entry, error)
	// Append adds entries to a session that this store holds.
	Append(id string, entries ...Entry) error
	// Release lets go of a session.
	Release(id string) error
	// Delete forgets a session, with the bytes of its intents; those that have not ended go when they do.
	Delete(id string) error
	// Sessions lists what q selects; next is for the page after, empty at the end.
	Sessions(q Query) (found []Session, next string, err error)
	// Entries gives a session with its entries, of all kinds or of those named, whoever holds it.
	Entries(id string, kinds ...Kind) (Session, []Entry, error)
	// Judged gives the intents of a session that another process than their own has judged, or is judging: without the
	// bytes before, the oldest first.
	Judged(session string) ([]Judged, error)
	// Backups lists the bytes that the journal has of files, of all or of one, the newest first; Blob gives them.
	Backups(path string) ([]Backup, error)
	// Blob gives the text of a hash, or ErrGone.
	Blob(hash string) (string, error)
	// Size is the number of bytes in use.
	Size() (int64, error)
	Stats() (Stats, error)
	// Collect deletes intents that have ended and sessions that nobody holds: those not used since before, then the
	// oldest until no more than most bytes are in use. Intents go first, and after two weeks in any case. Those that have
	// not ended lose their bytes if they began before before and belong to no session.
	Collect(most int64, before time.Time) (Collected, error)
	// Close releases every session, lets the next process judge the intents that are open, and ends the store.
	Close() error
}

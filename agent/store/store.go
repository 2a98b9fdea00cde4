// Package store keeps sessions beyond the process that runs them: in an SQLite database that
// several processes share, or in memory. A session is an append-only list of entries; the store
// does not interpret them. The same database is the write-ahead journal of changes of files
// (disk.Journal).
package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tandem/filetime/disk"
)

// Quota is the default size limit of a store in bytes.
const Quota = 512 << 20

// Why a store refuses.
var (
	ErrUnknown = errors.New("there is no such session")
	ErrNewer   = errors.New("it was written by a newer version of Tandem")
	ErrDamaged = errors.New("it is damaged, or no database of sessions: move it away to begin anew")
	// ErrCursor is a malformed Query.After.
	ErrCursor = errors.New("there is no such page")
	// ErrGone is a text that was never stored, or was dropped for the quota.
	ErrGone = errors.New("the text is not kept")
)

// HeldError is a session that another living process holds.
type HeldError struct {
	ID  string
	PID int
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("The session %s is open in the process %d.", e.ID, e.PID)
}

// Session is the metadata of a session. All text is UTF-8.
type Session struct {
	ID    string
	Cwd   string
	More  []string // further folders
	Title string
	Mode  string
	Model string
	// CacheKey is the key of the session's prompt cache at the model's service.
	CacheKey         string
	Created, Updated time.Time
	// Parent is the session that this one was forked from, At the last turn that they share, 0
	// for none. Fork alone sets them.
	Parent string
	At     int
	// PID is the living process that holds the session, else 0. It is computed, not stored.
	PID int
}

// Kind is the type of an Entry.
type Kind string

// The kinds.
const (
	// Message is a message of the conversation.
	Message Kind = "message"
	// Call is a tool call before it runs, Running one that may have begun to change something,
	// Result its outcome, Change a file that it changed: the first blob is the text before, the
	// second the text after.
	Call    Kind = "call"
	Running Kind = "running"
	Result  Kind = "result"
	Change  Kind = "change"
	// Steer is a user's message to the running turn, queued until it joins the conversation. End is
	// the end of a turn.
	Steer Kind = "steer"
	End   Kind = "end"
	// Loaded names deferred tools whose parameters the model has got.
	Loaded Kind = "loaded"
	// Notice is a message shown to the user, Decision the user's verdict on changes.
	Notice   Kind = "notice"
	Decision Kind = "decision"
	// Tasks is the session's task list as it was from then on.
	Tasks Kind = "tasks"
	// Plan is a change that waits for the user, or what became of one: the blobs are the texts that
	// its edits are over.
	Plan Kind = "plan"
	// Window is a rewrite of what the model is sent of the messages before it, which stay. Its Call
	// is an id of its own.
	Window Kind = "window"
	// Audit is a record of the audit. It has its own list, and is not among the session's entries.
	// It outlives the session, without its Text.
	Audit Kind = "audit"
	// DeadLetter is a call that failed for good. It has its own list too, see Dead.
	DeadLetter Kind = "dead_letter"
)

// Entry is one event of a session. All its text except Blobs is UTF-8.
type Entry struct {
	Time time.Time
	Turn int
	Kind Kind
	// Call is the id of the tool call.
	Call string
	// Text is the text that the user saw; Query.Text searches it.
	Text string
	Body json.RawMessage
	// Blobs are texts by content hash, shared between entries.
	Blobs []Blob
}

// Blob is a content-addressed text. Append stores Data; Entries gives the Hash alone, and
// Store.Blob its Data.
type Blob struct {
	Hash string
	Data string
}

// RecoveredIntent is an intent that recovery judged, since its process died before it ended.
type RecoveredIntent struct {
	disk.Intent
	Outcome disk.Outcome
}

// Backup are bytes that a file had before a change, or that another process saved during it.
type Backup struct {
	Hash, Path string
	Time       time.Time
	// Session and Tool are those of the change.
	Session, Tool string
}

// Query selects sessions, the most recently used first. Empty fields select all.
type Query struct {
	Cwd string
	// Text is a substring of the title or of an Entry.Text, ignoring the case of ASCII letters.
	Text string
	// After is the cursor of the previous page.
	After string
	// Limit is the size of a page, 0 for all.
	Limit int
}

// Collected counts what Collect deleted.
type Collected struct {
	Sessions, Intents int
	Records           int64 // of the audit
	Bytes             int64
}

// Stats are figures of a store.
type Stats struct {
	// Path is the file, empty in memory.
	Path string
	// Size and Quota are in bytes. Intents counts the open ones.
	Size, Quota       int64
	Sessions, Intents int
}

// Store keeps sessions and is the journal of changes of files. All methods may be called
// concurrently. A write survives a kill of the process once its method has returned nil, the write
// of End within a moment. A session is locked by the store that saved or took it. Methods with the
// id of a session fail with ErrUnknown, and those that write with a *HeldError while another living
// process holds the lock.
type Store interface {
	disk.Journal

	// Save inserts or updates a session and locks it.
	Save(s Session) error
	// Fork inserts the session s, which this store locks, with the entries of the session from up
	// to turn at, decisions and plans left out. It ignores the lock of from.
	Fork(from string, at int, s Session) error
	// Take locks a session and gives it with its entries.
	Take(id string) (Session, []Entry, error)
	// Append adds entries to a session that this store has locked.
	Append(id string, entries ...Entry) error
	// Intend is Append before an effect, which must not happen if it fails. With synced the entries
	// survive a crash of the machine too, else only once a later transaction is synced, such as one
	// of disk.Journal.
	Intend(id string, synced bool, entries ...Entry) error
	// AuditRecords visits the records of the audit that q selects, the newest first, until visit
	// returns false. visit must not use the store.
	AuditRecords(q AuditQuery, visit func(AuditRecord) bool) error
	// VerifyAudit checks the whole chain. An error may be a *TamperedError.
	VerifyAudit() (AuditState, error)
	// DeadLetters gives the dead letters of all sessions, the newest first. Discard drops those
	// with the ids, and says how many of these there were.
	DeadLetters() ([]Dead, error)
	Discard(ids ...int64) (n int, err error)
	// Release unlocks a session.
	Release(id string) error
	// Delete deletes a session and the bytes of its intents. Open intents are deleted when they
	// end.
	Delete(id string) error
	// Sessions lists the sessions that q selects; next is the cursor of the next page, empty at the
	// end.
	Sessions(q Query) (found []Session, next string, err error)
	// Entries gives a session with its entries, of all kinds or of those named. It ignores the
	// lock.
	Entries(id string, kinds ...Kind) (Session, []Entry, error)
	// RecoveredIntents gives the intents of a session that recovery has judged or is judging,
	// without the bytes before, the oldest first.
	RecoveredIntents(session string) ([]RecoveredIntent, error)
	// Backups lists the bytes that the journal keeps of one file, or of all for an empty path, the
	// newest first; Blob gives them.
	Backups(path string) ([]Backup, error)
	// Blob gives the text of a hash, or ErrGone.
	Blob(hash string) (string, error)
	// Size is the number of bytes in use.
	Size() (int64, error)
	Stats() (Stats, error)
	// Collect deletes ended intents and unlocked sessions: those last used before the time before,
	// then the oldest until most bytes or fewer are in use. Intents are deleted first, and two
	// weeks after their end in any case. Open intents that began before the time before and belong
	// to no session lose their bytes. Records of the audit are deleted after a year, or where they
	// are older than before.
	Collect(most int64, before time.Time) (Collected, error)
	// Close unlocks every session, leaves open intents to the next process's recovery, and closes
	// the store.
	Close() error
}

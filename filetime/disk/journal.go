package disk

import "time"

// Op is an operation on a file.
type Op string

// The operations.
const (
	Create Op = "create"
	Edit   Op = "edit"
	Delete Op = "delete"
	Move   Op = "move"
)

// Intent is one change of one or more files, as it is in the write-ahead log.
type Intent struct {
	// ID is the journal's number for it, 0 before Begin. It is never given twice.
	ID            int64
	Session, Call string
	Turn          int
	// Tool is the canonical name of the tool.
	Tool string
	Time time.Time
	// Files are its operations, in order.
	Files []Planned
}

// Planned is one operation of an Intent.
type Planned struct {
	Op   Op
	Path string // absolute, symbolic links resolved
	// To is where a Move leads.
	To string
	// Buffer says that the change goes to the editor's buffer. After a crash it is not known
	// whether it landed there.
	Buffer bool
	// Before are the bytes of the file, nil where there is none. A journal keeps them until the
	// intent is collected.
	Before []byte
	// BeforeHash and AfterHash are Hash of the bytes before and after, "" where there is no file.
	BeforeHash, AfterHash string
}

// Outcome is how an intent ended.
type Outcome string

// The outcomes. Open is that of an intent that has none yet.
const (
	Open      Outcome = ""
	Landed    Outcome = "landed"
	NotLanded Outcome = "not_landed" // no file has any of it
	Partly    Outcome = "partly"     // some of its files were changed and could not be reverted
	Unknown   Outcome = "unknown"    // a buffer at the moment of a crash
	Foreign   Outcome = "foreign"    // the file has neither the content before nor the one after
)

// Journal is a write-ahead log, which survives crashes of the process and of the machine. All
// methods may be called concurrently, also by several processes on the same journal.
type Journal interface {
	// Begin writes an intent with the bytes before it and gives its ID. Once it returns, both are
	// synced.
	Begin(Intent) (int64, error)
	// Keep stores bytes of a file under their Hash, and has synced them once it returns.
	Keep(intent int64, path string, data []byte) (hash string, err error)
	// End writes an outcome. It need not be synced: recovery judges by the files if it is lost.
	End(id int64, o Outcome) error
	// Orphans gives the open intents of processes that have ended, with the bytes before, and makes
	// them this process's own.
	Orphans() ([]Intent, error)
}

package disk

import "time"

// Op is what is done to a file.
type Op string

// The operations.
const (
	Create Op = "create"
	Edit   Op = "edit"
	Delete Op = "delete"
	Move   Op = "move"
)

// Intent is one change of one or more files, as it is written down before anything of it happens.
type Intent struct {
	// ID is the journal's number for it, 0 before Begin. It is never given twice.
	ID            int64
	Session, Call string
	Turn          int
	// Tool is the canonical name of the tool.
	Tool string
	Time time.Time
	// Files are what it does, in the order in which it is done.
	Files []Planned
}

// Planned is what an Intent does to one file.
type Planned struct {
	Op   Op
	Path string // absolute, symbolic links resolved
	// To is where a Move leads.
	To string
	// Buffer says that the change goes to the editor's buffer. Nobody can say after a crash whether it landed there.
	Buffer bool
	// Before are the bytes of the file, nil where there is none. A journal keeps them until the intent is collected.
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
	NotLanded Outcome = "not_landed" // nothing of it is in the files
	Partly    Outcome = "partly"     // some of its files could neither be changed nor put back
	Unknown   Outcome = "unknown"    // nobody can tell: a buffer at the moment of a crash
	Foreign   Outcome = "foreign"    // the file says something that is neither before nor after
)

// Journal keeps intents and bytes over the end of the process and of the machine. All methods may be called
// concurrently, also by several processes on the same journal.
type Journal interface {
	// Begin writes an intent down with the bytes before it and gives its ID. Once it returns, both are on the disk for
	// good.
	Begin(Intent) (int64, error)
	// Keep stores bytes of a file under their Hash, for good once it returns; path and intent say what they were.
	Keep(intent int64, path string, data []byte) (hash string, err error)
	// End writes down how an intent ended. It may be lost with the machine: recovery then judges by the files.
	End(id int64, o Outcome) error
	// Orphans gives the open intents of processes that have ended, with the bytes before, and makes them this
	// process's own.
	Orphans() ([]Intent, error)
}

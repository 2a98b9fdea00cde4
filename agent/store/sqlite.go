package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Options configure a database of sessions. The zero value is valid.
type Options struct {
	// Quota is the size limit in bytes, the constant Quota if 0.
	Quota int64
	Now   func() time.Time
}

// Open opens or creates the database in a file of mode 0600. The error may wrap ErrNewer or
// ErrDamaged.
func Open(path string, o Options) (Store, error) {
	return open(path, o, migrations())
}

// migrations are the steps from an empty database to the present schema, one for each version. A
// released step is never changed.
func migrations() []string {
	return []string{`
CREATE TABLE session (
	key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, cwd TEXT NOT NULL, more TEXT NOT NULL, title TEXT NOT NULL,
	mode TEXT NOT NULL, model TEXT NOT NULL, cachekey TEXT NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL,
	pid INTEGER NOT NULL, start INTEGER NOT NULL, nonce TEXT NOT NULL
);
CREATE INDEX session_updated ON session (updated DESC, id);
CREATE TABLE entry (
	seq INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES session ON DELETE CASCADE, time INTEGER NOT NULL,
	turn INTEGER NOT NULL, kind TEXT NOT NULL, call TEXT NOT NULL, text TEXT NOT NULL, body BLOB NOT NULL,
	blobs TEXT NOT NULL
);
CREATE INDEX entry_session ON entry (session, seq);
CREATE TABLE blob (hash TEXT PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE blob_use (
	session INTEGER NOT NULL REFERENCES session ON DELETE CASCADE, hash TEXT NOT NULL, PRIMARY KEY (session, hash)
) WITHOUT ROWID;
CREATE INDEX blob_use_hash ON blob_use (hash);
`, `
CREATE TABLE intent (
	id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, call TEXT NOT NULL, turn INTEGER NOT NULL,
	tool TEXT NOT NULL, time INTEGER NOT NULL, ended INTEGER NOT NULL, outcome TEXT NOT NULL, judged INTEGER NOT NULL,
	pid INTEGER NOT NULL, start INTEGER NOT NULL, nonce TEXT NOT NULL
);
CREATE TABLE intent_file (
	intent INTEGER NOT NULL REFERENCES intent ON DELETE CASCADE, n INTEGER NOT NULL, op TEXT NOT NULL, path TEXT NOT NULL,
	target TEXT NOT NULL, buffer INTEGER NOT NULL, before_hash TEXT NOT NULL, after_hash TEXT NOT NULL, before BLOB,
	PRIMARY KEY (intent, n)
) WITHOUT ROWID;
CREATE TABLE kept (
	intent INTEGER NOT NULL REFERENCES intent ON DELETE CASCADE, hash TEXT NOT NULL, path TEXT NOT NULL,
	time INTEGER NOT NULL, PRIMARY KEY (intent, hash, path)
) WITHOUT ROWID;
CREATE INDEX kept_hash ON kept (hash);
`, `` /* texts are compressed with S2 */, `
CREATE TABLE audit (
	seq INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, session TEXT NOT NULL, call TEXT NOT NULL, body BLOB NOT NULL,
	text BLOB, texthash BLOB NOT NULL, hash BLOB NOT NULL
);
CREATE TRIGGER audit_append_only BEFORE UPDATE ON audit WHEN NEW.text IS NOT NULL OR NEW.seq <> OLD.seq OR NEW.hash <> OLD.hash
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
`, `
CREATE TABLE dead_letter (
	id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, session TEXT NOT NULL, call TEXT NOT NULL, body BLOB NOT NULL
);
CREATE INDEX dead_letter_session ON dead_letter (session);
`, `
ALTER TABLE session ADD COLUMN parent TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
`}
}

// application marks the file as ours ("Tndm").
const application = 0x546e646d

type database struct {
	path string
	db   *sql.DB // one connection, and so one page cache
	// finder is a connection that only reads, for searches through all texts: they take long, and
	// an edit must not wait for one. In memory it is db.
	finder *sql.DB
	self   holder
	now    func() time.Time
	quota  int64
	// writing is the write lock within this process: a mutex wakes sooner than SQLite's busy
	// handler retries.
	writing         sync.Mutex
	unsynced        bool     // commits are not synced to the disk; under writing
	stuck           lockWait // under writing
	newestLink      *link    // of the audit, as far as this process knows; nil is unknown; under writing
	ends            groupCommit
	stmtsMu         sync.Mutex // guards stmts
	stmts           intentStmts
	appends         atomic.Int64 // appends so far
	overQuota       atomic.Bool  // over quota: blobs are dropped
	packer          packer
	emptied         bool
	truncatePending atomic.Bool // a truncation of the log is scheduled
	// truncateDelay is the delay before the log is truncated, after the start and after each
	// failure.
	truncateDelay time.Duration

	// The prepared statements of Append and Intend.
	selectOwn, updateTime, insertEntry *sql.Stmt
	// selectHead reads the newest record of the audit, chain appends one.
	selectHead, insertLink *sql.Stmt
}

// NewMemory makes a Store in memory, whose content is lost with Close.
func NewMemory(quota int64, now func() time.Time) Store {
	s, err := open("", Options{Quota: quota, Now: now}, migrations())
	if err != nil {
		panic(err) // there is no file, disk or other process that could be at fault
	}
	return s
}

// open opens the database in a file, or with an empty path one in memory.
func open(path string, o Options, steps []string) (Store, error) {
	if o.Quota == 0 {
		o.Quota = Quota
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	emptied := emptied(path, o.Now())
	left := false // a log, by another process, or by one that was killed
	if path != "" {
		if err := claim(path); err != nil {
			return nil, err
		}
		log, err := os.Stat(path + "-wal")
		left = err == nil && log.Size() > 0
	}
	db, err := connect(path, "synchronous(full)", "foreign_keys(on)", "secure_delete(on)", "journal_size_limit(4194304)", "cache_size(-512)")
	if err != nil {
		return nil, err
	}
	finder := db
	if path != "" {
		if finder, err = connect(path, "query_only(on)"); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	d := &database{
		path: path, db: db, finder: finder, self: holder{os.Getpid(), started(os.Getpid()), rand.Text()}, now: o.Now, quota: o.Quota,
		truncateDelay: 10 * time.Second, emptied: emptied,
		ends: groupCommit{largeIntents: map[int64]bool{}},
	}
	// While another process makes the store, its change to a write-ahead log is a lock that
	// SQLite's busy timeout does not wait for.
	err = d.migrate(steps)
	for end := time.Now().Add(busyWait * time.Millisecond); busy(err) && time.Now().Before(end); err = d.migrate(steps) {
		time.Sleep(10 * time.Millisecond)
	}
	for to, query := range map[**sql.Stmt]string{
		&d.selectOwn:   "SELECT key, updated FROM session WHERE id = ? AND nonce = ?",
		&d.updateTime:  "UPDATE session SET updated = ? WHERE key = ?",
		&d.insertEntry: "INSERT INTO entry (session, time, turn, kind, call, text, body, blobs) VALUES (?,?,?,?,?,?,?,?)",
		&d.selectHead:  "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1",
		&d.insertLink:  "INSERT INTO audit (" + linkColumns + ") VALUES (?,?,?,?,?,?,?,?)",
	} {
		if err == nil {
			*to, err = db.Prepare(query)
		}
	}
	if err != nil {
		_ = errors.Join(finder.Close(), db.Close())
		return nil, fmt.Errorf("%s: %w", path, reason(err))
	}
	if left {
		d.scheduleTruncate()
	}
	return d, nil
}

// emptied says that a database has lost its content: another process that makes one writes to it at
// once.
func emptied(path string, now time.Time) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() == 0 && now.Sub(info.ModTime()) > 2*busyWait*time.Millisecond
}

// Emptied reports that the file had no content when it was opened: sessions that it kept are lost.
func (d *database) Emptied() bool { return d.emptied }

// connect gives a connection, which is opened by its first use. Without another setting commits are
// synced to the disk (see sync).
func connect(path string, settings ...string) (*sql.DB, error) {
	u := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{
		"_txlock": {"immediate"},
		"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyWait)}, settings...),
	}.Encode()}
	if path == "" {
		u.Opaque = ":memory:"
	}
	db, err := sql.Open("sqlite", u.String())
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// reason wraps SQLite's errors about a damaged file as ErrDamaged.
func reason(err error) error {
	switch codeOf(err) {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w (%w)", ErrDamaged, err)
	}
	return err
}

// codeOf is the primary code of an error of SQLite, 0 of any other.
func codeOf(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// reason is reason with the name of the file.
func (d *database) reason(err error) error {
	if errors.Is(err, ErrDamaged) { // it has it
		return err
	}
	if err = reason(err); errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	return err
}

// migrate brings the schema up to date.
func (d *database) migrate(steps []string) error {
	var version, app int
	if err := d.db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if err := d.db.QueryRow("PRAGMA application_id").Scan(&app); err != nil {
		return err
	}
	switch {
	case version == len(steps) && app == application:
		return nil
	case app != application && (app != 0 || version != 0):
		return ErrDamaged
	case version > len(steps):
		return fmt.Errorf("%w: schema %d, this one knows %d", ErrNewer, version, len(steps))
	}
	// Both are stored in the file; auto_vacuum must be set before the first table.
	if _, err := d.db.Exec("PRAGMA auto_vacuum = incremental; PRAGMA journal_mode = wal"); err != nil {
		return err
	}
	return d.write(func(tx *sql.Tx) error {
		// Another process may have migrated meanwhile.
		if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil || version >= len(steps) {
			return err
		}
		for _, step := range steps[version:] {
			if _, err := tx.Exec(step); err != nil {
				return err
			}
		}
		_, err := tx.Exec(fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", len(steps), application))
		return err
	})
}

// write runs a transaction. Once committed it survives a crash of the process, not always one of
// the machine.
func (d *database) write(f func(*sql.Tx) error) error { return d.transact(false, f) }

// transact runs a transaction. With synced, it and those before it are on the disk when it returns.
func (d *database) transact(synced bool, f func(*sql.Tx) error) error {
	came := time.Now()
	d.writing.Lock()
	defer d.writing.Unlock()
	if err := d.sync(synced); err != nil {
		return d.reason(err)
	}
	tx, err := d.begin(came)
	if err != nil {
		return d.reason(err)
	}
	committed := false
	defer func() { // also after a panic, for the only connection
		if !committed {
			d.newestLink = nil
			_ = tx.Rollback()
		}
	}()
	if err := f(tx); err != nil {
		return d.reason(err)
	}
	ended := d.joinEnds(tx)
	err = d.reason(tx.Commit())
	committed = err == nil
	ended(err)
	return err
}

// sync sets whether commits are synced to the disk. d.writing is held.
func (d *database) sync(on bool) error {
	if on != d.unsynced {
		return nil
	}
	mode := "normal"
	if on {
		mode = "full"
	}
	_, err := d.db.Exec("PRAGMA synchronous = " + mode)
	if err == nil {
		d.unsynced = !on
	}
	return err
}

// querier is a connection, or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// scanner is the method Scan of a row.
type scanner = func(to ...any) error

// errEnough ends rows without an error.
var errEnough = errors.New("no more rows are wanted")

// rows visits the rows of a query.
func rows(from querier, query string, args []any, visit func(scan scanner) error) error {
	rows, err := from.QueryContext(context.Background(), query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // its error is rows.Err
	for rows.Next() {
		if err := visit(rows.Scan); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return rows.Err()
}

const columns = "key, id, cwd, more, title, mode, model, cachekey, created, updated, pid, start, nonce, parent, at"

// row is a session with its key and the holder of its lock.
type row struct {
	Session
	key    int64
	holder holder
}

func sessionOf(scan scanner) (r row, err error) {
	var more string
	var created, updated int64
	err = scan(&r.key, &r.ID, &r.Cwd, &more, &r.Title, &r.Mode, &r.Model, &r.CacheKey, &created, &updated,
		&r.holder.pid, &r.holder.start, &r.holder.nonce, &r.Parent, &r.At)
	if errors.Is(err, sql.ErrNoRows) {
		return r, ErrUnknown
	}
	if err != nil {
		return r, err
	}
	r.Created, r.Updated = time.UnixMicro(created), time.UnixMicro(updated)
	return r, json.Unmarshal([]byte(more), &r.More)
}

func find(tx *sql.Tx, id string) (row, error) {
	return sessionOf(tx.QueryRow("SELECT "+columns+" FROM session WHERE id = ?", id).Scan)
}

// checkHolder gives a *HeldError for a session that another process holds.
func (d *database) checkHolder(r row) error {
	if r.holder != d.self && r.holder.alive() {
		return &HeldError{r.ID, r.holder.pid}
	}
	return nil
}

func (d *database) Save(s Session) error {
	more, err := json.Marshal(s.More)
	if err != nil {
		return err
	}
	fresh := false
	err = d.write(func(tx *sql.Tx) error {
		old, err := find(tx, s.ID)
		now := d.now().UnixMicro()
		switch {
		case errors.Is(err, ErrUnknown):
			fresh = true
			_, err = d.insert(tx, s, string(more))
			return err
		case err != nil:
			return err
		}
		if err := d.checkHolder(old); err != nil {
			return err
		}
		_, err = tx.Exec("UPDATE session SET cwd = ?, more = ?, title = ?, mode = ?, model = ?, cachekey = ?, updated = ?,"+
			" pid = ?, start = ?, nonce = ? WHERE key = ?", s.Cwd, string(more), s.Title, s.Mode, s.Model, s.CacheKey, now,
			d.self.pid, d.self.start, d.self.nonce, old.key)
		return err
	})
	if err == nil && fresh {
		err = d.enforceQuota()
	}
	return err
}

// insert inserts a session that this store locks, and gives its key.
func (d *database) insert(tx *sql.Tx, s Session, more string) (key int64, err error) {
	now := d.now().UnixMicro()
	r, err := tx.Exec("INSERT INTO session (id, cwd, more, title, mode, model, cachekey, created, updated, pid, start, nonce, parent, at)"+
		" VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)", s.ID, s.Cwd, more, s.Title, s.Mode, s.Model, s.CacheKey, now, now,
		d.self.pid, d.self.start, d.self.nonce, s.Parent, s.At)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// Fork implements Store.
func (d *database) Fork(from string, at int, s Session) error {
	more, err := json.Marshal(s.More)
	if err != nil {
		return err
	}
	s.Parent, s.At = from, at
	err = d.write(func(tx *sql.Tx) error {
		r, err := find(tx, from)
		if err != nil {
			return err
		}
		key, err := d.insert(tx, s, string(more))
		if err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO entry (session, time, turn, kind, call, text, body, blobs) SELECT ?, time, turn, kind, call, text, body, blobs"+
			" FROM entry WHERE session = ? AND turn <= ? AND kind NOT IN (?, ?) ORDER BY seq", key, r.key, at, string(Decision), string(Plan)); err != nil {
			return err
		}
		var used []string
		if err := rows(tx, "SELECT blobs FROM entry WHERE session = ? AND blobs <> ''", []any{key}, func(scan scanner) error {
			var hashes string
			err := scan(&hashes)
			used = append(used, strings.Fields(hashes)...)
			return err
		}); err != nil {
			return err
		}
		for _, h := range used {
			if _, err := tx.Exec("INSERT OR IGNORE INTO blob_use (session, hash) SELECT ?, hash FROM blob WHERE hash = ?", key, h); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = d.enforceQuota()
	}
	return err
}

// enforceQuota collects when the quota is exceeded or an intent is old, and drops blobs from then
// on if that was not enough.
func (d *database) enforceQuota() error {
	size, err := d.Size()
	var old bool
	if err == nil {
		err = d.reason(d.db.QueryRow("SELECT EXISTS (SELECT 1 FROM intent WHERE outcome <> '' AND ended < ?)",
			d.now().Add(-keepIntents).UnixMicro()).Scan(&old))
	}
	if err == nil && (old || size > d.quota) {
		if _, err = d.Collect(d.quota, time.Time{}); err == nil {
			size, err = d.Size()
		}
	}
	d.overQuota.Store(size > d.quota)
	return err
}

func (d *database) Take(id string) (s Session, entries []Entry, err error) {
	err = d.write(func(tx *sql.Tx) error {
		r, err := find(tx, id)
		if err != nil {
			return err
		}
		if err := d.checkHolder(r); err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE session SET pid = ?, start = ?, nonce = ? WHERE key = ?",
			d.self.pid, d.self.start, d.self.nonce, r.key); err != nil {
			return err
		}
		s = r.Session
		entries, err = entriesOf(tx, r.key)
		return err
	})
	return s, entries, err
}

func (d *database) Entries(id string, kinds ...Kind) (s Session, entries []Entry, err error) {
	err = d.write(func(tx *sql.Tx) error {
		r, err := find(tx, id)
		if err != nil {
			return err
		}
		s = d.public(r)
		entries, err = entriesOf(tx, r.key, kinds...)
		return err
	})
	return s, entries, err
}

// public is the session of a row, with the PID of a living holder.
func (d *database) public(r row) Session {
	if r.holder.alive() {
		r.PID = r.holder.pid
	}
	return r.Session
}

func entriesOf(tx *sql.Tx, key int64, kinds ...Kind) ([]Entry, error) {
	only, args := "", []any{key}
	if len(kinds) > 0 {
		only = " AND kind IN (?" + strings.Repeat(",?", len(kinds)-1) + ")"
	}
	for _, k := range kinds {
		args = append(args, string(k))
	}
	var n int
	if err := tx.QueryRow("SELECT count(*) FROM entry WHERE session = ?"+only, args...).Scan(&n); err != nil {
		return nil, err
	}
	out := make([]Entry, 0, n)
	err := rows(tx, "SELECT time, turn, kind, call, text, body, blobs FROM entry WHERE session = ?"+only+" ORDER BY seq", args, func(scan scanner) error {
		var e Entry
		var at int64
		var hashes string
		var body sql.RawBytes // it is copied by unpack
		if err := scan(&at, &e.Turn, &e.Kind, &e.Call, &e.Text, &body, &hashes); err != nil {
			return err
		}
		plain, err := unpack(body)
		if err != nil {
			return err
		}
		if e.Time = time.UnixMicro(at); plain != "" {
			e.Body = json.RawMessage(plain)
		}
		for _, h := range strings.Fields(hashes) {
			e.Blobs = append(e.Blobs, Blob{Hash: h})
		}
		out = append(out, e)
		return nil
	})
	return out, err
}

// updatedLag is how far a held session's time of last use may lag: writing it costs as much as the
// entries themselves. It is exact at the end of a turn and after a release.
const updatedLag = time.Second

// releaseClause is the SET clause that releases a session; the time of its last use becomes that of
// its last entry.
const releaseClause = "pid = 0, start = 0, nonce = '', updated =" +
	" max(updated, coalesce((SELECT time FROM entry WHERE session = session.key ORDER BY seq DESC LIMIT 1), 0))"

func (d *database) Append(id string, entries ...Entry) error { return d.appendAll(id, false, entries) }

// Intend implements Store.
func (d *database) Intend(id string, synced bool, entries ...Entry) error {
	return d.appendAll(id, synced, entries)
}

func (d *database) appendAll(id string, synced bool, entries []Entry) error {
	const often = 100
	if d.path == "" || d.appends.Add(1)%often == 0 {
		if err := d.enforceQuota(); err != nil {
			return err
		}
	}
	// Compression and hashes are done before the lock is taken.
	type packed struct {
		body, hashes any
		blobs        map[string][]byte
	}
	var links []link
	var dead []Entry
	entries = slices.Clone(entries)
	entries = slices.DeleteFunc(entries, func(e Entry) bool {
		switch e.Kind {
		case Audit:
			links = append(links, linkOf(&d.packer, id, e))
		case DeadLetter:
			dead = append(dead, e)
		}
		return e.Kind == Audit || e.Kind == DeadLetter
	})
	all := make([]packed, len(entries))
	for i, e := range entries {
		p := packed{body: d.packer.pack(e.Body), blobs: map[string][]byte{}}
		var hashes []string
		for _, b := range e.Blobs {
			h := hashOf(b.Data)
			hashes = append(hashes, h)
			if !d.overQuota.Load() {
				p.blobs[h] = d.packer.pack([]byte(b.Data))
			}
		}
		p.hashes = strings.Join(hashes, " ")
		all[i] = p
	}
	return d.transact(synced, func(tx *sql.Tx) error {
		var key, updated int64
		err := tx.Stmt(d.selectOwn).QueryRow(id, d.self.nonce).Scan(&key, &updated)
		if errors.Is(err, sql.ErrNoRows) {
			r, err := find(tx, id)
			if err == nil {
				err = d.checkHolder(r)
			}
			return cmp.Or(err, fmt.Errorf("the session %s is not held", id))
		}
		now := d.now()
		ends := slices.ContainsFunc(entries, func(e Entry) bool { return e.Kind == End })
		if err == nil && (ends || now.Sub(time.UnixMicro(updated)).Abs() >= updatedLag) {
			_, err = tx.Stmt(d.updateTime).Exec(now.UnixMicro(), key)
		}
		if err != nil {
			return err
		}
		insert := tx.Stmt(d.insertEntry)
		for i, e := range entries {
			if _, err := insert.Exec(key, e.Time.UnixMicro(), e.Turn, string(e.Kind), e.Call, e.Text, all[i].body, all[i].hashes); err != nil {
				return err
			}
			for h, data := range all[i].blobs {
				if _, err := tx.Exec("INSERT OR IGNORE INTO blob (hash, data) VALUES (?,?)", h, data); err != nil {
					return err
				}
				if _, err := tx.Exec("INSERT OR IGNORE INTO blob_use (session, hash) VALUES (?,?)", key, h); err != nil {
					return err
				}
			}
		}
		if len(dead) > 0 {
			if err := d.insertDeadLetters(tx, id, dead); err != nil {
				return err
			}
		}
		if len(links) == 0 {
			return nil
		}
		return d.insertAudit(tx, links)
	})
}

func (d *database) Release(id string) error {
	return d.write(func(tx *sql.Tx) error {
		if _, err := find(tx, id); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE session SET "+releaseClause+" WHERE id = ? AND nonce = ?", id, d.self.nonce)
		return err
	})
}

func (d *database) Delete(id string) error {
	d.ends.flushAndWait() // so that they go with it
	err := d.write(func(tx *sql.Tx) error {
		r, err := find(tx, id)
		if err != nil {
			return err
		}
		if err := d.checkHolder(r); err != nil {
			return err
		}
		return d.forget(tx, r)
	})
	if err != nil {
		return err
	}
	return d.shrink()
}

// forget deletes a session with its intents and the texts of its audit. Open intents stay without
// bytes, for recovery.
func (d *database) forget(tx *sql.Tx, r row) error {
	if err := d.eraseAudit(tx, r.ID); err != nil {
		return err
	}
	hashes, err := hashesOf(tx, "SELECT hash FROM blob_use WHERE session = ?", r.key)
	if err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM session WHERE key = ?", r.key); err != nil {
		return err
	}
	if err := dropBlobs(tx, hashes); err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM dead_letter WHERE session = ?", r.ID); err != nil {
		return err
	}
	return forgetIntents(tx, r.ID)
}

// shrink vacuums free pages and truncates the log, so that deleted text is in neither file.
func (d *database) shrink() error {
	// In steps, since writers wait for each.
	for last := -1; ; {
		var free int
		if err := d.db.QueryRow("PRAGMA freelist_count").Scan(&free); err != nil {
			return d.reason(err)
		}
		if free == 0 || free == last {
			break
		}
		last = free
		d.writing.Lock()
		_, err := d.db.Exec("PRAGMA incremental_vacuum(2000)")
		d.writing.Unlock()
		if err != nil {
			return d.reason(err)
		}
	}
	busy, err := empty(context.Background(), d.db)
	if busy {
		d.scheduleTruncate()
	}
	return d.reason(err)
}

// empty checkpoints and truncates the log. busy says that a reader still needs it.
func empty(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
},
) (busy bool, err error) {
	var frames, done int
	err = db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &done)
	return busy, err
}

// scheduleTruncate schedules tidyNow, unless it is scheduled.
func (d *database) scheduleTruncate() {
	if d.truncatePending.Swap(true) {
		return
	}
	time.AfterFunc(d.truncateDelay, d.truncateLog)
}

// truncateLog tries to truncate the log without waiting for other processes, and schedules a retry
// if that fails.
func (d *database) truncateLog() {
	ctx := context.Background()
	d.truncatePending.Store(false)
	d.writing.Lock()
	defer d.writing.Unlock()
	conn, err := d.db.Conn(ctx)
	if err != nil { // the database was closed, which truncates the log
		return
	}
	defer conn.Close() //nolint:errcheck // returns it to the pool
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return
	}
	busy, err := empty(ctx, conn)
	wait := busyWait
	if d.stuck.short {
		wait = stuckWait
	}
	_, _ = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", wait))
	if busy || err != nil {
		d.scheduleTruncate()
	}
}

func (d *database) Sessions(q Query) (found []Session, next string, err error) {
	where, args := []string{"1"}, []any{}
	if q.Cwd != "" {
		where, args = append(where, "cwd = ?"), append(args, q.Cwd)
	}
	if q.Text != "" {
		where = append(where, "(instr(lower(title), lower(?)) OR EXISTS"+
			" (SELECT 1 FROM entry WHERE session = session.key AND instr(lower(text), lower(?))))")
		args = append(args, q.Text, q.Text)
	}
	at, id, ok := page(q.After)
	if !ok && q.After != "" {
		return nil, "", ErrCursor
	}
	if ok {
		where, args = append(where, "(updated < ? OR updated = ? AND id > ?)"), append(args, at, at, id)
	}
	limit := -1
	if q.Limit > 0 {
		limit = q.Limit + 1
	}
	db := d.db
	if q.Text != "" {
		db = d.finder
	}
	err = rows(db, "SELECT "+columns+" FROM session WHERE "+strings.Join(where, " AND ")+" ORDER BY updated DESC, id LIMIT ?", append(args, limit),
		func(scan scanner) error {
			r, err := sessionOf(scan)
			found = append(found, d.public(r))
			return err
		})
	if err != nil {
		return nil, "", d.reason(err)
	}
	found, next = cut(found, q.Limit)
	return found, next, nil
}

// cut truncates the sessions to limit and gives the cursor of the next page.
func cut(found []Session, limit int) ([]Session, string) {
	if limit <= 0 || len(found) <= limit {
		return found, ""
	}
	last := found[limit-1]
	return found[:limit], strconv.FormatInt(last.Updated.UnixMicro(), 10) + " " + last.ID
}

// page parses a cursor of cut.
func page(after string) (updated int64, id string, ok bool) {
	at, id, ok := strings.Cut(after, " ")
	updated, err := strconv.ParseInt(at, 10, 64)
	return updated, id, ok && err == nil
}

func (d *database) Blob(hash string) (string, error) {
	var data []byte
	err := d.db.QueryRow("SELECT data FROM blob WHERE hash = ?1 UNION ALL"+
		" SELECT before FROM intent_file WHERE before_hash = ?1 AND before IS NOT NULL LIMIT 1", hash).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrGone
	}
	if err != nil {
		return "", d.reason(err)
	}
	return unpack(data)
}

func (d *database) Size() (int64, error) {
	var size int64
	err := d.db.QueryRow("SELECT (c.page_count - f.freelist_count) * s.page_size" +
		" FROM pragma_page_count c, pragma_freelist_count f, pragma_page_size s").Scan(&size)
	return size, d.reason(err)
}

func (d *database) Stats() (Stats, error) {
	s := Stats{Path: d.path, Quota: d.quota}
	err := d.db.QueryRow("SELECT (SELECT count(*) FROM session), (SELECT count(*) FROM intent WHERE outcome = '')").
		Scan(&s.Sessions, &s.Intents)
	if err != nil {
		return s, d.reason(err)
	}
	s.Size, err = d.Size()
	return s, err
}

func (d *database) Collect(most int64, before time.Time) (c Collected, err error) {
	d.ends.flushAndWait() // ended intents can be deleted
	had, err := d.Size()
	if err != nil {
		return c, err
	}
	size := had
	// drop deletes ended intents, and says whether there were any.
	drop := func(where string, args ...any) (bool, error) {
		var n int64
		err := d.write(func(tx *sql.Tx) (err error) {
			n, err = dropIntents(tx, where, args...)
			return err
		})
		c.Intents += int(n)
		if err == nil {
			size, err = d.Size()
		}
		return n > 0, err
	}
	old := d.now().Add(-keepIntents)
	if before.After(old) {
		old = before
	}
	if _, err := drop("ended < ?", old.UnixMicro()); err != nil {
		return c, err
	}
	for more := true; more && size > most; {
		if more, err = drop("id IN (SELECT id FROM intent WHERE outcome <> '' ORDER BY id LIMIT 100)"); err != nil {
			return c, err
		}
	}
	aged := d.now().Add(-keepAudit)
	if before.After(aged) {
		aged = before
	}
	err = d.write(func(tx *sql.Tx) error {
		if size > most {
			middle, err := d.middleOfAudit(tx, most)
			if err != nil {
				return err
			}
			if middle.After(aged) {
				aged = middle
			}
		}
		var err error
		c.Records, err = d.dropAudit(tx, aged)
		return err
	})
	if err != nil {
		return c, err
	}
	if size, err = d.Size(); err != nil {
		return c, err
	}
	all, _, err := d.Sessions(Query{})
	if err != nil {
		return c, err
	}
	for i := len(all) - 1; i >= 0; i-- {
		s := all[i]
		if s.PID != 0 || size <= most && !s.Updated.Before(before) {
			continue
		}
		var held *HeldError
		err := d.write(func(tx *sql.Tx) error {
			r, err := find(tx, s.ID)
			if err == nil {
				err = d.checkHolder(r)
			}
			if err != nil {
				return err
			}
			return d.forget(tx, r)
		})
		switch {
		case errors.As(err, &held), errors.Is(err, ErrUnknown): // another process took or deleted it meanwhile
			continue
		case err != nil:
			return c, err
		}
		c.Sessions++
		if size, err = d.Size(); err != nil {
			return c, err
		}
	}
	if !before.IsZero() {
		err := d.write(func(tx *sql.Tx) error {
			return emptyIntents(tx, "time < ? AND session NOT IN (SELECT id FROM session)", before.UnixMicro())
		})
		if err == nil {
			size, err = d.Size()
		}
		if err != nil {
			return c, err
		}
	}
	c.Bytes = max(0, had-size)
	if c.Sessions+c.Intents == 0 && c.Records == 0 && before.IsZero() {
		return c, nil
	}
	return c, d.shrink()
}

func (d *database) Close() error {
	return errors.Join(d.stopJournal(), d.write(func(tx *sql.Tx) error {
		_, err := tx.Exec("UPDATE session SET "+releaseClause+" WHERE nonce = ?", d.self.nonce)
		return err
	}), d.finder.Close(), d.db.Close())
}

func hashOf(data string) string {
	h := sha256.Sum256([]byte(data))
	return hex.EncodeToString(h[:])
}

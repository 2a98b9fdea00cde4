package store

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"tandem/filetime/disk"
)

const (
	// maxInline is the largest size of bytes that are stored in the row of the intent's file;
	// larger ones are blobs.
	maxInline = 64 << 10
	// compressBatch is the number of ended intents whose inline bytes are moved to blobs at once.
	compressBatch = 64
	// keepIntents is how long an ended intent is kept.
	keepIntents = 14 * 24 * time.Hour
)

// The values of the column judged. An intent is forgotten when its session is deleted while it is
// open: it has lost its bytes, and is deleted when it ends.
const (
	stateJudged    = 1
	stateForgotten = 2
)

// groupCommit is the group commit of intents' ends: they are written by the next transaction of any
// kind, or after groupCommitDelay by one of their own.
type groupCommit struct {
	mu           sync.Mutex
	pending      map[int64]intentEnd
	uncompressed []int64        // written, with inline bytes that are not compressed yet
	largeIntents map[int64]bool // intents whose blobs are to be compressed at once
	compressNow  bool           // compress those of uncompressed now
	shrinkDue    bool           // bytes of a deleted session were deleted: shrink
	done         chan struct{}  // closed when the writing goroutine ends, nil without one
	flush        chan struct{}  // closed to skip that goroutine's delay
	flushing     bool           // hurry is closed
	err          error
}

// groupCommitDelay is how long ends wait for a transaction to join.
const groupCommitDelay = 50 * time.Millisecond

type intentEnd struct {
	outcome disk.Outcome
	at      time.Time
}

// flushAndWait flushes: it returns when all ends so far are written, or have failed.
func (e *groupCommit) flushAndWait() {
	e.mu.Lock()
	writing := e.done
	if writing != nil && !e.flushing {
		e.flushing = true
		close(e.flush)
	}
	e.mu.Unlock()
	if writing != nil {
		<-writing
	}
}

// Begin implements disk.Journal.
func (d *database) Begin(in disk.Intent) (id int64, err error) {
	// Compressed after the end, since the change waits for Begin.
	befores := make([][]byte, len(in.Files))
	large := false
	for i, f := range in.Files {
		if f.Before != nil {
			befores[i] = append([]byte{plain}, f.Before...)
			large = large || len(f.Before) > maxInline
		}
	}
	into, err := d.prepareIntent()
	if err != nil {
		return 0, d.journalError(reason(err))
	}
	err = d.transactSynced(func(tx *sql.Tx) error {
		r, err := tx.Stmt(into.intent).Exec(in.Session, in.Call, in.Turn, in.Tool, in.Time.UnixMicro(),
			d.self.pid, d.self.start, d.self.nonce)
		if err == nil {
			id, err = r.LastInsertId()
		}
		for i, f := range in.Files {
			if err != nil {
				return err
			}
			before := befores[i]
			hash := f.BeforeHash
			if before != nil {
				hash = cmp.Or(hash, hashOf(string(f.Before)))
			}
			if len(f.Before) > maxInline {
				if err := storeBytes(tx, id, hash, f.Path, in.Time, before); err != nil {
					return err
				}
				before = nil
			}
			_, err = tx.Stmt(into.file).Exec(id, i, string(f.Op), f.Path, f.To, f.Buffer, hash, f.AfterHash, before)
		}
		return err
	})
	if err == nil && large {
		d.ends.mu.Lock()
		d.ends.largeIntents[id] = true
		d.ends.mu.Unlock()
	}
	return id, err
}

// storeBytes stores packed bytes for an intent.
func storeBytes(tx *sql.Tx, intent int64, hash, path string, now time.Time, packed []byte) error {
	if _, err := tx.Exec("INSERT OR IGNORE INTO blob (hash, data) VALUES (?,?)", hash, packed); err != nil {
		return err
	}
	_, err := tx.Exec("INSERT INTO kept (intent, hash, path, time) VALUES (?,?,?,?)"+
		" ON CONFLICT DO UPDATE SET time = min(time, excluded.time)", intent, hash, path, now.UnixMicro())
	return err
}

// Keep implements disk.Journal.
func (d *database) Keep(intent int64, path string, data []byte) (string, error) {
	hash, packed := hashOf(string(data)), d.packer.pack(data)
	if err := d.transactSynced(func(tx *sql.Tx) error { return storeBytes(tx, intent, hash, path, d.now(), packed) }); err != nil {
		return "", err
	}
	return hash, nil
}

// transactSynced runs a transaction that is synced to the disk.
func (d *database) transactSynced(f func(*sql.Tx) error) error {
	if err := d.transact(true, f); err != nil {
		return d.journalError(err)
	}
	return nil
}

func (d *database) journalError(err error) error {
	return fmt.Errorf("the journal %s cannot be written: %w", d.path, err)
}

// intentStmts are the prepared statements of Begin.
type intentStmts struct{ intent, file *sql.Stmt }

// prepareIntent prepares them on first use.
func (d *database) prepareIntent() (intentStmts, error) {
	d.stmtsMu.Lock()
	defer d.stmtsMu.Unlock()
	if d.stmts.file != nil {
		return d.stmts, nil
	}
	intent, err := d.db.Prepare("INSERT INTO intent" +
		" (session, call, turn, tool, time, ended, outcome, judged, pid, start, nonce)" +
		fmt.Sprintf(" VALUES (?1,?,?,?,?,0,'',CASE WHEN ?1 <> '' AND NOT EXISTS (SELECT 1 FROM session WHERE id = ?1)"+
			" AND EXISTS (SELECT 1 FROM intent WHERE session = ?1 AND judged = %d) THEN %[1]d ELSE 0 END,?,?,?)", stateForgotten))
	if err != nil {
		return intentStmts{}, err
	}
	file, err := d.db.Prepare("INSERT INTO intent_file" +
		" (intent, n, op, path, target, buffer, before_hash, after_hash, before) VALUES (?,?,?,?,?,?,?,?,?)")
	if err != nil {
		return intentStmts{}, errors.Join(err, intent.Close())
	}
	d.stmts = intentStmts{intent, file}
	return d.stmts, nil
}

// End implements disk.Journal. It is written asynchronously, within groupCommitDelay.
func (d *database) End(id int64, o disk.Outcome) error {
	e := &d.ends
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pending == nil {
		e.pending = map[int64]intentEnd{}
	}
	e.pending[id] = intentEnd{o, d.now()}
	d.startEnds()
	return nil
}

// startEnds starts the writing goroutine, unless it runs. d.ends.mu is held.
func (d *database) startEnds() {
	if e := &d.ends; e.done == nil {
		e.done, e.flush, e.flushing = make(chan struct{}), make(chan struct{}), false
		go d.writeEnds(e.flush)
	}
}

// writeEnds writes the ends that no transaction has written, compresses and shrinks, and returns
// when none are left.
func (d *database) writeEnds(hurry chan struct{}) {
	e := &d.ends
	for {
		select {
		case <-time.After(groupCommitDelay):
		case <-hurry:
		}
		e.mu.Lock()
		open := len(e.pending) > 0
		e.mu.Unlock()
		var err error
		if open {
			err = d.write(func(*sql.Tx) error { return nil })
		}
		e.mu.Lock()
		e.err = cmp.Or(err, e.err)
		var loose []int64
		if e.compressNow || len(e.uncompressed) >= compressBatch {
			loose, e.uncompressed, e.compressNow = e.uncompressed, nil, false
		}
		erased := e.shrinkDue
		e.shrinkDue = false
		e.mu.Unlock()
		err = d.compressInline(loose)
		if erased {
			err = errors.Join(err, d.shrink())
		}
		e.mu.Lock()
		failed := e.err != nil // the next end, or the end of the store, tries again
		e.err = cmp.Or(e.err, err)
		if failed || len(e.pending) == 0 {
			close(e.done)
			e.done = nil
			e.mu.Unlock()
			return
		}
		e.mu.Unlock()
	}
}

// joinEnds adds the waiting ends to a transaction, which continues without them if that fails. The
// caller passes the result of the commit to done. d.writing is held.
func (d *database) joinEnds(tx *sql.Tx) (done func(error)) {
	e := &d.ends
	e.mu.Lock()
	todo := maps.Clone(e.pending)
	e.mu.Unlock()
	if len(todo) == 0 {
		return func(error) {}
	}
	erased, failed := endsInto(tx, todo)
	return func(err error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.err = cmp.Or(failed, err); e.err != nil {
			return
		}
		for id, end := range todo {
			if e.pending[id] == end {
				delete(e.pending, id)
			}
			e.compressNow = e.compressNow || e.largeIntents[id]
			delete(e.largeIntents, id)
			e.uncompressed = append(e.uncompressed, id)
		}
		e.shrinkDue = e.shrinkDue || erased
	}
}

// endsInto writes all ends within a savepoint, or none.
func endsInto(tx *sql.Tx, todo map[int64]intentEnd) (erased bool, err error) {
	if _, err := tx.Exec("SAVEPOINT ends"); err != nil {
		return false, err
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a fault inside: %v", v)
		}
		if err != nil {
			_, undone := tx.Exec("ROLLBACK TO ends")
			err = errors.Join(err, undone)
		}
	}()
	ids := make([]int64, 0, len(todo))
	for id, end := range todo {
		_, err := tx.Exec("UPDATE intent SET outcome = ?, ended = ? WHERE id = ?", string(end.outcome), end.at.UnixMicro(), id)
		if err != nil {
			return false, err
		}
		ids = append(ids, id)
	}
	return dropForgotten(tx, ids)
}

// compressInline moves the inline bytes of ended intents to compressed blobs, where they mostly
// deduplicate with the session's entries of the same change.
func (d *database) compressInline(ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	all, err := d.inlineBlobs(ids)
	if err != nil {
		return err
	}
	return d.moveToBlobs(ids, all)
}

// inlineBlob are inline bytes of an intent.
type inlineBlob struct {
	intent, n, at int64
	hash, path    string
	data          []byte
}

// inlineBlobs reads the inline bytes of intents, and compresses them.
func (d *database) inlineBlobs(ids []int64) (all []inlineBlob, err error) {
	err = rows(d.db, "SELECT intent, n, time, before_hash, path, before FROM intent_file JOIN intent ON id = intent"+
		" WHERE before IS NOT NULL AND intent IN (SELECT value FROM json_each(?))", []any{listOf(ids)}, func(scan scanner) error {
		var b inlineBlob
		err := scan(&b.intent, &b.n, &b.at, &b.hash, &b.path, &b.data)
		all = append(all, b)
		return err
	})
	if err != nil {
		return nil, reason(err)
	}
	for i := range all {
		all[i].data = d.packer.pack(all[i].data[1:])
	}
	return all, nil
}

// listOf is a JSON array, an argument for json_each.
func listOf(ids []int64) string {
	list, _ := json.Marshal(ids) // numbers
	return string(list)
}

// moveToBlobs writes them as blobs, except those deleted meanwhile.
func (d *database) moveToBlobs(ids []int64, all []inlineBlob) error {
	list := listOf(ids)
	var plain []string
	err := d.write(func(tx *sql.Tx) error {
		for _, b := range all {
			var there bool
			err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM intent_file WHERE intent = ? AND n = ? AND before IS NOT NULL)",
				b.intent, b.n).Scan(&there)
			if err == nil && there {
				err = storeBytes(tx, b.intent, b.hash, b.path, time.UnixMicro(b.at), b.data)
			}
			if err != nil {
				return err
			}
		}
		_, err := tx.Exec("UPDATE intent_file SET before = NULL"+
			" WHERE intent IN (SELECT value FROM json_each(?))", list)
		if err != nil {
			return err
		}
		plain, err = hashesOf(tx, "SELECT hash FROM blob WHERE length(data) > ? AND substr(data, 1, 1) = x'00'"+
			" AND hash IN (SELECT hash FROM kept WHERE intent IN (SELECT value FROM json_each(?)))", maxInline, list)
		return err
	})
	for _, h := range plain { // in a transaction each, since they are large
		var text string
		if err == nil {
			text, err = d.Blob(h)
		}
		if errors.Is(err, ErrGone) {
			err = nil
			continue
		}
		if err == nil {
			packed := d.packer.pack([]byte(text))
			err = d.write(func(tx *sql.Tx) error {
				_, err := tx.Exec("UPDATE blob SET data = ? WHERE hash = ?", packed, h)
				return err
			})
		}
	}
	return err
}

// stopJournal flushes the ends and releases open intents to the next process's recovery.
func (d *database) stopJournal() error {
	e := &d.ends
	e.flushAndWait()
	e.mu.Lock()
	if len(e.pending) > 0 { // retry what failed
		d.startEnds()
	}
	e.mu.Unlock()
	e.flushAndWait()
	e.mu.Lock()
	loose, err := e.uncompressed, e.err
	e.uncompressed = nil
	e.mu.Unlock()
	err = errors.Join(err, d.compressInline(loose))
	return errors.Join(err, d.write(func(tx *sql.Tx) error {
		_, err := tx.Exec("UPDATE intent SET pid = 0, start = 0, nonce = '' WHERE outcome = '' AND nonce = ?", d.self.nonce)
		return err
	}))
}

// Orphans implements disk.Journal.
func (d *database) Orphans() (found []disk.Intent, err error) {
	err = d.write(func(tx *sql.Tx) error {
		if err := d.beginLog(tx); err != nil {
			return err
		}
		dead, err := deadHolders(tx)
		if err != nil {
			return err
		}
		for _, h := range dead {
			of := []any{h.pid, h.start, h.nonce}
			const whose = " WHERE outcome = '' AND pid = ? AND start = ? AND nonce = ?"
			more, err := intentsOf(tx, "coalesce(before, data)", whose, of)
			if err != nil {
				return err
			}
			found = append(found, more...)
			if _, err := tx.Exec("UPDATE intent SET judged = max(judged, ?), pid = ?, start = ?, nonce = ?"+whose,
				append([]any{stateJudged, d.self.pid, d.self.start, d.self.nonce}, of...)...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// beginLog makes the first commit of an empty log ahead of time: with it SQLite syncs the log's
// header and folder, which would delay the first prompt.
func (d *database) beginLog(tx *sql.Tx) error {
	if d.path == "" {
		return nil
	}
	if log, err := os.Stat(d.path + "-wal"); err != nil || log.Size() > 0 {
		return nil //nolint:nilerr // the next commit creates the log
	}
	_, err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d", application))
	return err
}

// deadHolders are the holders of open intents whose processes have ended.
func deadHolders(tx *sql.Tx) (dead []holder, err error) {
	err = rows(tx, "SELECT DISTINCT pid, start, nonce FROM intent WHERE outcome = ''", nil, func(scan scanner) error {
		var h holder
		err := scan(&h.pid, &h.start, &h.nonce)
		if err == nil && !h.alive() {
			dead = append(dead, h)
		}
		return err
	})
	return dead, err
}

// RecoveredIntents implements Store.
func (d *database) RecoveredIntents(session string) (found []RecoveredIntent, err error) {
	d.ends.flushAndWait() // for outcomes judged just now
	err = d.write(func(tx *sql.Tx) error {
		in, err := intentsOf(tx, "NULL", " WHERE judged = ? AND session = ?", []any{stateJudged, session})
		if err != nil {
			return err
		}
		for _, i := range in {
			j := RecoveredIntent{Intent: i}
			if err := tx.QueryRow("SELECT outcome FROM intent WHERE id = ?", i.ID).Scan(&j.Outcome); err != nil {
				return err
			}
			found = append(found, j)
		}
		return nil
	})
	return found, err
}

// Backups implements Store.
func (d *database) Backups(path string) (found []Backup, err error) {
	err = rows(d.db, "SELECT hash, path, min(at), session, tool"+
		" FROM (SELECT intent, hash, path, time AS at FROM kept UNION ALL SELECT intent, before_hash, path, time FROM intent_file JOIN intent ON id = intent WHERE before IS NOT NULL)"+
		" JOIN intent ON id = intent WHERE ?1 = '' OR path = ?1 GROUP BY intent, hash, path"+
		" ORDER BY intent DESC, min(at) DESC, hash", []any{path}, func(scan scanner) error {
		var b Backup
		var at int64
		err := scan(&b.Hash, &b.Path, &at, &b.Session, &b.Tool)
		b.Time = time.UnixMicro(at)
		found = append(found, b)
		return err
	})
	return found, reason(err)
}

// intentsOf reads the intents that a WHERE clause selects, with their files, by id.
func intentsOf(tx *sql.Tx, before, where string, args []any) ([]disk.Intent, error) {
	var out []disk.Intent
	err := rows(tx, "SELECT id, session, call, turn, tool, intent.time,"+
		" op, path, target, buffer, before_hash, after_hash, "+before+" FROM intent LEFT JOIN intent_file ON intent = id"+
		" LEFT JOIN blob ON before IS NULL AND hash = before_hash AND before_hash <> ''"+where+" ORDER BY id, n", args, func(scan scanner) error {
		var in disk.Intent
		var at int64
		var op, path, to, was, after sql.NullString
		var buffer sql.NullBool
		var packed []byte
		if err := scan(&in.ID, &in.Session, &in.Call, &in.Turn, &in.Tool, &at, &op, &path, &to, &buffer, &was, &after,
			&packed); err != nil {
			return err
		}
		if len(out) == 0 || out[len(out)-1].ID != in.ID {
			in.Time = time.UnixMicro(at)
			out = append(out, in)
		}
		if !op.Valid { // an intent of no file
			return nil
		}
		f := disk.Planned{
			Op: disk.Op(op.String), Path: path.String, To: to.String, Buffer: buffer.Bool,
			BeforeHash: was.String, AfterHash: after.String,
		}
		if packed != nil {
			data, err := unpack(packed)
			if err != nil {
				return err
			}
			f.Before = []byte(data)
		}
		last := &out[len(out)-1]
		last.Files = append(last.Files, f)
		return nil
	})
	return out, err
}

// dropIntents deletes the selected ended intents, with unreferenced blobs, and counts them.
func dropIntents(tx *sql.Tx, where string, args ...any) (int64, error) {
	where = " WHERE outcome <> '' AND " + where
	hashes, err := hashesOf(tx, "SELECT hash FROM kept WHERE intent IN (SELECT id FROM intent"+where+")", args...)
	if err != nil {
		return 0, err
	}
	r, err := tx.Exec("DELETE FROM intent"+where, args...)
	if err != nil {
		return 0, err
	}
	if err := dropBlobs(tx, hashes); err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// forgetIntents deletes the ended intents of a session and empties the open ones.
func forgetIntents(tx *sql.Tx, session string) error {
	if _, err := dropIntents(tx, "session = ?", session); err != nil {
		return err
	}
	return emptyIntents(tx, "session = ?", session)
}

// emptyIntents deletes the bytes of the selected open intents and marks these as forgotten.
// Recovery judges them by hash alone.
func emptyIntents(tx *sql.Tx, where string, args ...any) error {
	where = "(SELECT id FROM intent WHERE outcome = '' AND " + where + ")"
	hashes, err := hashesOf(tx, "SELECT hash FROM kept WHERE intent IN "+where, args...)
	for _, step := range []string{
		"DELETE FROM kept WHERE intent IN " + where,
		"UPDATE intent_file SET before = NULL WHERE intent IN " + where,
		fmt.Sprintf("UPDATE intent SET judged = %d WHERE id IN %s", stateForgotten, where),
	} {
		if err == nil {
			_, err = tx.Exec(step, args...)
		}
	}
	if err != nil {
		return err
	}
	return dropBlobs(tx, hashes)
}

// dropForgotten deletes those of ids that are forgotten, and says whether there were any. Bytes
// that another process saved stay until Collect.
func dropForgotten(tx *sql.Tx, ids []int64) (bool, error) {
	some, err := hashesOf(tx, "SELECT id FROM intent WHERE judged = ? AND id IN (SELECT value FROM json_each(?))",
		stateForgotten, listOf(ids))
	if err != nil || len(some) == 0 {
		return false, err
	}
	among := "IN (" + strings.Join(some, ",") + ")"
	// The bytes before; those passed to Keep stay.
	mine := " FROM kept WHERE intent " + among +
		" AND EXISTS (SELECT 1 FROM intent_file f WHERE f.intent = kept.intent AND f.before_hash = hash)"
	hashes, err := hashesOf(tx, "SELECT hash"+mine)
	for _, step := range []string{
		"DELETE" + mine,
		"UPDATE intent_file SET before = NULL WHERE intent " + among,
		"DELETE FROM intent WHERE id " + among + " AND NOT EXISTS (SELECT 1 FROM kept WHERE intent = id)",
	} {
		if err == nil {
			_, err = tx.Exec(step)
		}
	}
	if err != nil {
		return false, err
	}
	return true, dropBlobs(tx, hashes)
}

// hashesOf gives the single column of a query.
func hashesOf(tx *sql.Tx, query string, args ...any) (hashes []string, err error) {
	err = rows(tx, query, args, func(scan scanner) error {
		var h string
		err := scan(&h)
		hashes = append(hashes, h)
		return err
	})
	return hashes, err
}

// dropBlobs deletes the unreferenced among blobs.
func dropBlobs(tx *sql.Tx, hashes []string) error {
	for _, h := range hashes {
		if _, err := tx.Exec("DELETE FROM blob WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM blob_use WHERE hash = ?1)"+
			" AND NOT EXISTS (SELECT 1 FROM kept WHERE hash = ?1)", h); err != nil {
			return err
		}
	}
	return nil
}

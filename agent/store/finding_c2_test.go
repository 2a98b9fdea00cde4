package store

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tandem/filetime/disk"
)

// The time of a session's last use is written at most once a second while a turn writes its entries. It is exact at the
// end of the turn, and after a release.
func TestFindingC2TheTimeOfASessionIsWrittenOnceASecond(t *testing.T) {
	now := time.UnixMicro(1_700_000_000_000_000)
	path := filepath.Join(t.TempDir(), "state", "sessions.db")
	s, err := Open(path, Options{Now: func() time.Time { return now }})
	must(t, err)
	d := s.(*database)
	// How often is counted by the database itself.
	must(t, d.write(func(tx *sql.Tx) error {
		_, err := tx.Exec("CREATE TEMP TABLE written (at); CREATE TEMP TRIGGER count AFTER UPDATE OF updated ON session" +
			" BEGIN INSERT INTO written VALUES (new.updated); END")
		return err
	}))
	writes := func(what string, want int) {
		t.Helper()
		var n int
		must(t, d.db.QueryRow("SELECT count(*) FROM written").Scan(&n))
		if _, err := d.db.Exec("DELETE FROM written"); err != nil || n != want {
			t.Errorf("%s: written %d times, want %d (%v)", what, n, want, err)
		}
	}
	used := func(what string, id string, want time.Time) {
		t.Helper()
		got, _, err := s.Entries(id)
		must(t, err)
		if !got.Updated.Equal(want) {
			t.Errorf("%s: updated %v, want %v", what, got.Updated, want)
		}
	}
	add := func(kind Kind) {
		t.Helper()
		must(t, s.Append("a", Entry{Time: now, Turn: 1, Kind: kind, Body: []byte("{}")}))
	}
	must(t, s.Save(Session{ID: "a"}))
	for range 39 { // of a turn that takes a little less than two seconds
		now = now.Add(50 * time.Millisecond)
		add(Message)
	}
	writes("39 entries in two seconds", 1)
	add(End)
	writes("the end of the turn", 1)
	used("the end of the turn", "a", now)
	now = now.Add(300 * time.Millisecond)
	add(Decision)
	writes("what comes right after it", 0)
	must(t, s.Release("a"))
	used("once it is let go", "a", now)
	now = now.Add(time.Minute)
	must(t, s.Release("a")) // nothing has happened
	used("let go twice", "a", now.Add(-time.Minute))

	must(t, s.Save(Session{ID: "a"}))
	now = now.Add(-time.Hour) // the clock was put back
	add(Message)
	used("by a clock that was put back", "a", now)
	now = now.Add(900 * time.Millisecond)
	add(Message)
	must(t, s.Close())
	s, err = Open(path, Options{Now: func() time.Time { return now }})
	must(t, err)
	used("after the end of the store", "a", now)
	must(t, s.Close())
}

// commits counts the transactions in the log of a database.
func commits(t *testing.T, path string) (n int) {
	t.Helper()
	raw, err := os.ReadFile(path + "-wal")
	must(t, err)
	const header, frame = 32, 24
	page := int(binary.BigEndian.Uint32(raw[8:]))
	for at := header; at+frame+page <= len(raw) && bytes.Equal(raw[at+8:at+16], raw[16:24]); at += frame + page {
		if binary.BigEndian.Uint32(raw[at+4:]) != 0 { // the last page of a transaction
			n++
		}
	}
	return n
}

// The end of a change is written by the transaction that comes next, or by one of its own where none comes. It cannot
// make that transaction fail, and is not lost where that one fails.
func TestFindingC2TheEndOfAChangeJoinsATransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := testDB(t, path)
	d := s.(*database)
	must(t, s.Save(Session{ID: "s"}))
	open := func(what string, want int) {
		t.Helper()
		if st, err := s.Stats(); err != nil || st.Intents != want {
			t.Errorf("%s: %d are open, want %d (%v)", what, st.Intents, want, err)
		}
	}
	begin := func() int64 {
		t.Helper()
		id, err := s.Begin(disk.Intent{Session: "s", Files: []disk.Planned{{Path: "/w/a", Before: []byte("was")}}})
		must(t, err)
		return id
	}
	run := func(sql string) {
		t.Helper()
		_, err := d.db.Exec(sql)
		must(t, err)
	}
	first := begin()
	before := commits(t, path)
	must(t, s.End(first, disk.Landed))
	must(t, s.Append("s", Entry{Kind: Result, Body: []byte("{}")}))
	open("after the next entries", 0)
	d.ends.flushAndWait()
	if n := commits(t, path) - before; n != 1 {
		t.Errorf("%d transactions for an end and an entry, want 1", n)
	}

	must(t, s.End(begin(), disk.Landed))
	d.ends.flushAndWait()
	open("by itself", 0)

	refused := begin()
	run("CREATE TEMP TRIGGER no BEFORE UPDATE ON intent BEGIN SELECT RAISE(ABORT, 'no'); END")
	must(t, s.End(refused, disk.Landed))
	must(t, s.Append("s", Entry{Kind: Result, Body: []byte("{}")}))
	if _, all, err := s.Entries("s"); err != nil || len(all) != 2 {
		t.Errorf("%d entries, want 2 (%v)", len(all), err)
	}
	d.ends.flushAndWait()
	open("where it cannot be written", 1)
	run("DROP TRIGGER no")
	if err := s.Append("none", Entry{Kind: Result}); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	open("behind a transaction that failed", 1)
	must(t, s.Append("s", Entry{Kind: Result, Body: []byte("{}")}))
	open("behind the next one", 0)
	must(t, s.Close())
}

// Only what begins a change is synced to the disk, and entries that follow it are not, though both use one connection.
func TestFindingC2OnlyIntentsAreSynced(t *testing.T) {
	s := testDB(t, filepath.Join(t.TempDir(), "sessions.db"))
	const normal, full = 1, 2
	mode := func(what string, want int) {
		t.Helper()
		var got int
		must(t, s.(*database).db.QueryRow("PRAGMA synchronous").Scan(&got))
		if got != want {
			t.Errorf("%s: synchronous is %d, want %d", what, got, want)
		}
	}
	must(t, s.Save(Session{ID: "s"}))
	mode("a session", normal)
	for range 2 {
		id, err := s.Begin(intent())
		must(t, err)
		mode("an intent", full)
		must(t, s.Append("s", Entry{Kind: Result, Body: []byte("{}")}))
		mode("an entry", normal)
		_, err = s.Keep(id, "/w/a", []byte("theirs"))
		must(t, err)
		mode("another program's bytes", full)
	}
	must(t, s.Close())
}

// The recovery that comes with the first session writes to an empty log, which syncs its head: no prompt waits for
// that. It writes nothing to one that has begun.
func TestFindingC5RecoveryBeginsTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	must(t, testDB(t, path).Close()) // the log is empty, as at the start of most processes
	s, err := Open(path, Options{})
	must(t, err)
	for range 2 {
		_, err = s.Orphans()
		must(t, err)
		if n := commits(t, path); n != 1 {
			t.Errorf("%d transactions are in the log, want 1", n)
		}
	}
	must(t, s.Save(Session{ID: "s"}))
	if n := commits(t, path); n != 2 {
		t.Errorf("%d transactions are in the log after a session, want 2", n)
	}
	must(t, s.Close())
}

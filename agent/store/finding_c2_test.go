package store

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"
)

// The time of a session's last use is written at most once a second while a turn writes its entries. It is exact at the end
// of the turn, and once nobody holds the session.
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

package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/filetime/disk"
)

// within says which of the texts are in a database's files.
func within(t *testing.T, path string, texts ...string) (found []string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(path + suffix)
		must(t, err)
		for _, s := range texts {
			if bytes.Contains(raw, []byte(s)) {
				found = append(found, s+" in sessions.db"+suffix)
			}
		}
	}
	return found
}

// A change whose end is not written down yet keeps nothing of what a deleted session knew, then or later, by whichever
// way the session goes. What another program saves afterwards is nobody's but the person's, and stays.
func TestDeletedWithOpenIntents(t *testing.T) {
	small, large := "a small secret\n", "a large secret\n"+rnd(3*maxInline)
	for name, drop := range map[string]func(Store) error{
		"delete": func(s Store) error { return s.Delete("a") },
		"gc": func(s Store) error {
			c, err := s.Collect(Quota, time.Now().Add(time.Hour))
			if err == nil && c.Sessions != 1 {
				err = errors.New("not collected")
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sessions.db")
			for kind, s := range map[string]Store{"database": testDB(t, path), "memory": NewMemory(Quota, time.Now)} {
				t.Run(kind, func(t *testing.T) {
					gone := func(text string) bool {
						_, err := s.Blob(hashOf(text))
						return errors.Is(err, ErrGone)
					}
					clean := func(when string, texts ...string) {
						t.Helper()
						for _, text := range texts {
							if !gone(text) {
								t.Errorf("%s: %.20q is kept", when, text)
							}
						}
						if kind != "database" {
							return
						}
						if f := within(t, path, "a small secret", "a large secret", "saved meanwhile", "a later secret", "a very late secret"); len(f) > 0 {
							t.Errorf("%s: %q", when, f)
						}
					}
					begin := func(session string, befores ...string) int64 {
						t.Helper()
						in := disk.Intent{Session: session, Call: "c"}
						for _, b := range befores {
							in.Files = append(in.Files, disk.Planned{Op: disk.Edit, Path: "/w/a", Before: []byte(b), BeforeHash: hashOf(b)})
						}
						id, err := s.Begin(in)
						must(t, err)
						return id
					}
					for _, id := range []string{"a", "b"} {
						must(t, s.Save(Session{ID: id}))
					}
					must(t, s.Append("a", Entry{Kind: Change, Body: []byte("{}"), Blobs: []Blob{{Data: small}}}))
					open := begin("a", small, large)
					_, err := s.Keep(open, "/w/a", []byte("saved meanwhile"))
					must(t, err)
					shared := begin("b", "of both\n")
					alike := begin("a", "of both\n")
					must(t, s.Release("a"))

					must(t, drop(s))
					clean("deleted", small, large, "saved meanwhile")
					if gone("of both\n") {
						t.Error("the other session lost its bytes")
					}
					// A displaced file is still looked after: what is written to it goes into the file, as a change of its own.
					later := begin("a", "a later secret\n", "a very late secret\n"+rnd(2*maxInline))
					must(t, s.End(later, disk.Landed))
					must(t, s.End(open, disk.Landed))
					s.(*database).ends.flushAndWait()
					clean("ended", small, large, "a later secret\n", "a very late secret\n"+rnd(2*maxInline))
					_, err = s.Keep(alike, "/w/a", []byte("what a person typed"))
					must(t, err)
					must(t, s.End(alike, disk.Landed))
					must(t, s.End(shared, disk.Landed))
					if kind == "database" {
						s = crashed(t, s)
					}
					s.(*database).ends.flushAndWait()
					if st, err := s.Stats(); err != nil || st.Intents != 0 {
						t.Error(st, err)
					}
					found, err := s.Backups("")
					must(t, err)
					var kept []string
					for _, b := range found {
						text, err := s.Blob(b.Hash)
						must(t, err)
						kept = append(kept, b.Session+": "+strings.TrimSpace(text))
					}
					if got := strings.Join(kept, ", "); got != "a: what a person typed, b: of both" {
						t.Errorf("kept: %s", got)
					}
					if orphans, err := s.Orphans(); err != nil || len(orphans) > 0 {
						t.Error(orphans, err)
					}
				})
			}
		})
	}
}

// What a killed process has left open is judged all the same, by the hashes alone.
func TestDeletedBeforeJudged(t *testing.T) {
	onDisk(t, func(t *testing.T, s Store) {
		must(t, s.Save(Session{ID: "a"}))
		id, err := s.Begin(disk.Intent{Session: "a", Call: "c", Files: []disk.Planned{
			{Op: disk.Edit, Path: "/w/a", Before: []byte("secret\n"), BeforeHash: hashOf("secret\n"), AfterHash: hashOf("public\n")},
		}})
		must(t, err)
		s = crashed(t, s)
		must(t, s.Delete("a"))
		if _, err := s.Blob(hashOf("secret\n")); !errors.Is(err, ErrGone) {
			t.Error("the text is kept:", err)
		}
		for range 2 {
			found, err := s.Orphans()
			if err != nil || len(found) != 1 || found[0].ID != id || found[0].Session != "a" || found[0].Call != "c" {
				t.Fatalf("%+v %v", found, err)
			}
			if f := found[0].Files[0]; f.Before != nil || f.BeforeHash != hashOf("secret\n") || f.AfterHash != hashOf("public\n") {
				t.Errorf("%+v", f)
			}
			s = crashed(t, s)
		}
		_, err = s.Orphans()
		must(t, err)
		must(t, s.End(id, disk.Landed))
		s = crashed(t, s)
		if known(t, s, id) {
			t.Error("the intent is still there")
		}
	})
}

// Everything that is older than a moment goes with it, also what belongs to no session that there is.
func TestCollectTakesOpenIntents(t *testing.T) {
	both(t, Quota, func(t *testing.T, s Store) {
		_, err := s.Begin(disk.Intent{Session: "never kept", Time: time.Now(), Files: []disk.Planned{{Path: "/w/a", Before: []byte("secret\n")}}})
		must(t, err)
		if _, err = s.Collect(Quota, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Blob(hashOf("secret\n")); err != nil {
			t.Error("it is younger:", err)
		}
		if _, err = s.Collect(Quota, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Blob(hashOf("secret\n")); !errors.Is(err, ErrGone) {
			t.Error("the text is kept:", err)
		}
	})
}

// Bytes that are about to be packed may be deleted in between.
func TestDeletedWhilePacked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := testDB(t, path).(*database)
	var ids []int64
	for _, session := range []string{"a", "b"} {
		must(t, s.Save(Session{ID: session}))
		id, err := s.Begin(disk.Intent{Session: session, Files: []disk.Planned{{Path: "/w/a", Before: []byte("of " + session)}}})
		must(t, err)
		must(t, s.End(id, disk.Landed))
		ids = append(ids, id)
	}
	s.ends.flushAndWait()
	all, err := s.inlineBlobs(ids)
	must(t, err)
	must(t, s.Delete("a"))
	must(t, s.moveToBlobs(ids, all))
	if f := within(t, path, "of a"); len(f) > 0 {
		t.Error(f)
	}
	if found, err := s.Backups(""); err != nil || len(found) != 1 || found[0].Session != "b" {
		t.Errorf("%+v %v", found, err)
	}
}

// Another process that reads the database keeps its log alive. What was deleted is gone once it no longer does, and
// where this process did not live to see it, some time after the next start.
func TestDeletedWhileRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	const secret = "a secret that was deleted"
	gone := func(when string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); len(within(t, path, secret)) > 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %q", when, within(t, path, secret))
			}
		}
	}
	read := func() (release func()) {
		other, err := connect(path)
		must(t, err)
		tx, err := other.Begin()
		must(t, err)
		var n int
		must(t, tx.QueryRow("SELECT count(*) FROM entry").Scan(&n))
		must(t, tx.Commit()) // it was begun to write
		conn, err := other.Conn(t.Context())
		must(t, err)
		_, err = conn.ExecContext(t.Context(), "BEGIN")
		must(t, err)
		must(t, conn.QueryRowContext(t.Context(), "SELECT count(*) FROM entry").Scan(&n))
		return func() {
			_, err := conn.ExecContext(context.Background(), "COMMIT")
			must(t, errors.Join(err, conn.Close(), other.Close()))
		}
	}
	s := testDB(t, path).(*database)
	s.truncateDelay = 10 * time.Millisecond
	for _, name := range []string{"a", "b"} {
		must(t, s.Save(Session{ID: name}))
		must(t, s.Append(name, Entry{Kind: Message, Text: secret}))
	}
	release := read()
	_, err := s.db.Exec("PRAGMA busy_timeout = 0")
	must(t, err)
	must(t, s.Delete("a"))
	must(t, s.Delete("b"))
	if len(within(t, path, secret)) == 0 {
		t.Fatal("the log is empty already")
	}
	release()
	gone("the reader has gone")

	must(t, s.Save(Session{ID: "c"}))
	must(t, s.Append("c", Entry{Kind: Message, Text: secret}))
	s.truncateDelay = time.Hour // it does not live to see it
	release = read()
	_, err = s.db.Exec("PRAGMA busy_timeout = 0")
	must(t, err)
	must(t, s.Delete("c"))
	next := testDB(t, path).(*database)
	if !next.truncatePending.Load() {
		t.Error("the next one does not look after what was left")
	}
	release()
}

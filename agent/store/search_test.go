package store

import (
	"path/filepath"
	"testing"
	"time"
)

// TestSearchIsBesideWrites searches while the connection that writes is taken, and writes while a search reads.
func TestSearchIsBesideWrites(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := s.(*database)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.Save(Session{ID: "a", Cwd: "/x", Title: "about herons"}); err != nil {
		t.Fatal(err)
	}
	taken, err := d.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := make(chan int, 1)
	go func() {
		all, _, err := s.Sessions(Query{Text: "heron"})
		if err != nil {
			t.Error(err)
		}
		found <- len(all)
	}()
	select {
	case n := <-found:
		if n != 1 {
			t.Errorf("%d sessions were found", n)
		}
	case <-time.After(30 * time.Second):
		t.Error("a search waits for the connection that writes")
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := d.finder.Query("SELECT id FROM session")
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	if err := s.Save(Session{ID: "b", Cwd: "/x"}); err != nil { // while the search goes on
		t.Error(err)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.finder.Exec("DELETE FROM session"); err == nil {
		t.Error("the connection for searches writes")
	}
}

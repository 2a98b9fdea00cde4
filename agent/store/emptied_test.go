package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFaultS11EmptyAndDamaged: a database file of 0 bytes is not taken for a new one, and an error about damage has the path of the file.
func TestFaultS11EmptyAndDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	emptied := func(now time.Time) bool {
		s, err := Open(path, Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.(interface{ Emptied() bool }).Emptied()
	}
	if emptied(time.Now()) || emptied(time.Now().Add(time.Hour)) {
		t.Error("a new store is said to have been emptied")
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(path + "-wal")
	if !emptied(time.Now().Add(time.Hour)) {
		t.Error("a store that was emptied is said to be a new one")
	}

	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if err := s.Save(Session{ID: fmt.Sprint("s", i), Cwd: "/w", Title: strings.Repeat("title ", 100)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for at := 4096; at+4096 <= len(raw); at += 4096 {
		changed := append([]byte(nil), raw...)
		for i := at; i < at+4096; i++ {
			changed[i] ^= 0x5a
		}
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := func() (int, error) {
			s, err := Open(path, Options{})
			if err != nil {
				return 0, err
			}
			defer s.Close()
			found, _, err := s.Sessions(Query{Limit: 100})
			return len(found), err
		}()
		if err == nil {
			continue
		}
		damaged++
		if !errors.Is(err, ErrDamaged) || strings.Count(err.Error(), path) != 1 || !strings.Contains(err.Error(), "move it away") {
			t.Errorf("damage at %d: %v", at, err)
		}
	}
	if damaged < 3 {
		t.Errorf("%d pages make the store unreadable", damaged)
	}
}

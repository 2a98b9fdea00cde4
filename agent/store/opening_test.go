package store

import (
	"path/filepath"
	"sync"
	"testing"
)

// TestOpenedByManyAtOnce: whoever makes a new store first, the others find it. The change to a write-ahead log, which does not
// wait for others by itself, is no failure.
func TestOpenedByManyAtOnce(t *testing.T) {
	for range 20 {
		path := filepath.Join(t.TempDir(), "sessions.db")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				s, err := Open(path, Options{})
				if err != nil {
					t.Error(err)
					return
				}
				_ = s.Close()
			})
		}
		all.Wait()
	}
}

package store

import (
	"fmt"
	"testing"
)

// TestF223DeadLettersAreBounded: the newest stay, an id is never another letter's, and what belongs to a session goes with it.
func TestF223DeadLettersAreBounded(t *testing.T) {
	both(t, Quota, func(t *testing.T, s Store) {
		must(t, s.Save(Session{ID: "a"}))
		must(t, s.Save(Session{ID: "b"}))
		for i := range MaxDead + 50 {
			must(t, s.Append([]string{"a", "b"}[i%2], Entry{Kind: DeadLetter, Call: fmt.Sprint("c", i), Body: []byte(`{"n":1}`)}))
		}
		found, err := s.DeadLetters()
		must(t, err)
		if len(found) != MaxDead || found[0].Call != fmt.Sprint("c", MaxDead+49) || found[MaxDead-1].Call != "c50" || string(found[0].Body) != `{"n":1}` {
			t.Fatalf("%d letters, %+v to %+v", len(found), found[0], found[len(found)-1])
		}
		newest := found[0].ID
		n, err := s.Discard(newest, found[1].ID, 99999, -1)
		must(t, err)
		if again, _ := s.Discard(newest); n != 2 || again != 0 {
			t.Errorf("discarded %d, then %d", n, again)
		}
		must(t, s.Append("a", Entry{Kind: DeadLetter, Call: "new", Body: []byte(`{}`)}))
		found, err = s.DeadLetters()
		must(t, err)
		if found[0].Call != "new" || found[0].ID <= newest {
			t.Errorf("%+v after the letter %d", found[0], newest)
		}
		if _, entries, err := s.Entries("a"); err != nil || len(entries) != 0 {
			t.Errorf("the session has %d entries, %v", len(entries), err)
		}
		must(t, s.Delete("a"))
		found, err = s.DeadLetters()
		must(t, err)
		for _, l := range found {
			if l.Session != "b" {
				t.Fatalf("%+v is left", l)
			}
		}
		if len(found) == 0 {
			t.Error("those of the other session are gone too")
		}
	})
}

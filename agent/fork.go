package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tandem/agent/store"
)

// NoTurnError is a turn that has not ended, or never began.
type NoTurnError struct {
	Turn, Last int // Last is the last one that has ended, 0 for none
}

func (e *NoTurnError) Error() string {
	if e.Last == 0 {
		return fmt.Sprintf("There is no turn %d that has ended: the session has none yet.", e.Turn)
	}
	return fmt.Sprintf("There is no turn %d that has ended; the last one is %d.", e.Turn, e.Last)
}

// Fork stores the beginning of a session, up to and with turn at, as another session, which the store then locks: its conversation, not the
// review of its changes. at nil is the last turn that has ended, 0 is before the first. The session may be in use, also in another process.
// An error may be a *NoTurnError or one of the store.
func Fork(st store.Store, from string, at *int, id string) error {
	s, entries, err := st.Entries(from, store.End)
	if err != nil {
		return err
	}
	last := 0
	for _, e := range entries {
		last = max(last, e.Turn)
	}
	if at == nil {
		at = &last
	}
	if *at < 0 || *at > last || *at > 0 && !slices.ContainsFunc(entries, func(e store.Entry) bool { return e.Turn == *at }) {
		return &NoTurnError{*at, last}
	}
	s.ID, s.Title = id, forkTitle(s.Title, *at)
	return st.Fork(from, *at, s)
}

// forkTitle says in a list of sessions which turn it goes on from.
func forkTitle(title string, at int) string {
	const most = 180 // characters
	if r := []rune(title); len(r) > most {
		title = string(r[:most])
	}
	if at == 0 {
		return title
	}
	return strings.TrimSpace(fmt.Sprintf("%s (from turn %d)", title, at))
}

// changedSince says which files the session that s was forked from has changed after the turns that they share: its conversation shows them
// as they were. It is "" if there are none, or that session is gone.
func changedSince(st store.Store, s store.Session) (string, error) {
	all, err := changesOf(st, s.Parent, store.Change)
	if errors.Is(err, store.ErrUnknown) {
		return "", nil
	}
	var names []string
	for _, c := range all {
		for _, path := range []string{c.Origin, c.Path} {
			if path == "" || c.Turn <= s.At {
				continue
			}
			if rel, err := filepath.Rel(s.Cwd, path); err == nil && filepath.IsLocal(rel) {
				path = filepath.ToSlash(rel)
			}
			if !slices.Contains(names, path) {
				names = append(names, path)
			}
		}
	}
	if len(names) == 0 {
		return "", err
	}
	const most = 50
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	return fmt.Sprintf("This conversation goes on from an earlier point of another one. Files that were changed after that point: %s%s. "+
		"They are not as they stand above.", strings.Join(names, ", "), more), err
}

package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/filetime"
	"tandem/filetime/text/show"
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
	if err != nil {
		if errors.Is(err, store.ErrUnknown) {
			err = nil
		}
		return "", err
	}
	var names []string
	for path, hashes := range firstAndLast(all, func(c FileChange) bool { return c.Turn > s.At }) {
		if hashes[0] == hashes[1] && hashes[0] != "" {
			continue // it was taken back
		}
		if rel, err := filepath.Rel(s.Cwd, path); err == nil && filepath.IsLocal(rel) {
			path = filepath.ToSlash(rel)
		}
		names = append(names, path)
	}
	if len(names) == 0 {
		return "", nil
	}
	slices.Sort(names)
	const most = 50
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	return fmt.Sprintf("This conversation goes on from an earlier point of another one. Files that were changed after that point: %s%s. "+
		"They are not as they stand above.", strings.Join(names, ", "), more), nil
}

// plannedBefore says that the plans of the turns which s shares with its parent are not its own, "" if there are none.
func plannedBefore(st store.Store, s store.Session) (string, error) {
	_, entries, err := st.Entries(s.Parent, store.Plan)
	if errors.Is(err, store.ErrUnknown) {
		return "", nil
	}
	if err != nil || !slices.ContainsFunc(entries, func(e store.Entry) bool { return e.Turn <= s.At }) {
		return "", err
	}
	return "What was planned above stays with the conversation that this one goes on from: nothing of it waits here, and what you read does " +
		"not have it, unless it was approved.", nil
}

// firstAndLast gives, of each path, the hashes of its text before the first and after the last of those changes that are of, "" for no file
// or one that is no text.
func firstAndLast(all []FileChange, of func(FileChange) bool) map[string][2]string {
	out := map[string][2]string{}
	change := func(path, before, after string) {
		hashes, ok := out[path]
		if !ok {
			hashes[0] = before
		}
		hashes[1] = after
		out[path] = hashes
	}
	for _, c := range all {
		switch {
		case !of(c):
		case c.Origin != "" && c.Origin != c.Path:
			change(c.Origin, c.BeforeHash, "")
			change(c.Path, "", c.AfterHash)
		default:
			change(c.Path, c.BeforeHash, c.AfterHash)
		}
	}
	return out
}

// Checkpoint is the beginning of a turn, to which a session can go back.
type Checkpoint struct {
	Turn   int
	Time   time.Time // of the prompt
	Prompt string
	// Files is how many the turn has changed. Additions and Deletions count lines, from the first text of each to its last, as far as their
	// texts are kept.
	Files, Additions, Deletions int
}

// Checkpoints lists those of a stored session, the oldest first. The turns that it shares with its parent have changed none of its files.
func Checkpoints(st store.Store, id string) ([]Checkpoint, error) {
	_, entries, err := st.Entries(id, store.Message)
	if err != nil {
		return nil, err
	}
	all, err := changesOf(st, id, store.Change)
	if err != nil {
		return nil, err
	}
	out := []Checkpoint{}
	for _, e := range entries {
		var b body
		if e.Turn == 0 || e.Text == "" || len(out) > 0 && out[len(out)-1].Turn == e.Turn {
			continue
		}
		if err := b.decode(e); err != nil {
			return nil, err
		}
		if b.Message == nil || b.Message.Role != model.User {
			continue
		}
		c := Checkpoint{Turn: e.Turn, Time: e.Time, Prompt: e.Text}
		for path, hashes := range firstAndLast(all, func(c FileChange) bool { return c.Turn == e.Turn }) {
			c.Files++
			if hashes[0] == hashes[1] {
				continue
			}
			var kept filetime.LandedFile
			err := error(nil)
			for i, hash := range hashes {
				var s string
				if hash != "" && err == nil {
					s, err = st.Blob(hash)
				}
				if i == 0 {
					kept.Before = kept.Before.Replace(0, 0, s)
				} else {
					kept.After = kept.After.Replace(0, 0, s)
				}
			}
			switch {
			case err == nil:
				d := show.Diff(path, kept.Before, kept.After, show.Options{MaxBytes: 1})
				c.Additions, c.Deletions = c.Additions+d.Additions, c.Deletions+d.Deletions
			case !errors.Is(err, store.ErrGone):
				return nil, err
			}
		}
		out = append(out, c)
	}
	return out, nil
}

package review

import (
	"context"
	"io/fs"
	"maps"
	"slices"

	"tandem/filetime"
	"tandem/filetime/text"
)

// Decision is a person's decision about hunks, by their keys, or the news sent to the model: what
// Restore needs beyond the changes themselves.
type Decision struct {
	// Path is the file in which Taken were reverted, or Again restored.
	Path     string            `json:"path,omitempty"`
	Taken    []string          `json:"taken,omitempty"`
	Again    []string          `json:"again,omitempty"`
	Accepted []string          `json:"accepted,omitempty"`
	Conflict []string          `json:"conflict,omitempty"`
	Said     map[string]string `json:"said,omitempty"`
	// Left has a digest of the text of each changed file when the session was closed: where another
	// one is found, a program has written it since.
	Left map[string]string `json:"left,omitempty"`
}

// Step is one thing that happened before: a Decision where it is one, else a change of a file.
type Step struct {
	Decision *Decision

	Path, Call string
	// Origin is where the file was before the change moved it to Path, "" where it did not.
	Origin string
	// Entry is what was moved; of one that is no text nothing else is kept.
	Entry            filetime.Entry
	Turn             int
	Created, Deleted bool
	// Mode is the permissions of a file that was created or deleted; 0 if they are not known.
	Mode fs.FileMode
	// Before and After are what the file said; Lost says that they are not known any more.
	Before, After text.Text
	Lost          bool
	// Allowed says that a person allowed this very change.
	Allowed bool
	// Person says that it is no change of the agent's.
	Person bool
	// Command says that a command made the change.
	Command bool
}

// lostChange is a change that cannot be taken back any more.
type lostChange struct {
	path, call string
	turn       int
}

// countLost counts those of a scope, by path.
func (l *Log) countLost(s Scope) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]int{}
	for _, c := range l.lostChanges {
		if s.has(c.path, c.call, c.turn) {
			out[c.path]++
		}
	}
	return out
}

// Restore makes an empty Log that of a session which happened before, oldest first. What was done
// to the files since is others' doing. The error is that of ctx, and the Log is of no use then.
func (l *Log) Restore(ctx context.Context, steps []Step) error {
	now := map[string]filetime.Snapshot{}
	for _, s := range steps {
		if _, read := now[s.Path]; s.Path != "" && !read {
			// What cannot be read now is looked at again whenever somebody asks.
			now[s.Path], _ = l.files.Read(ctx, s.Path)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	left := map[string]string{}
	by := map[string]*Step{} // a person's changes, until a decision tells what they were
	done := func(path string) {
		if s := by[path]; s != nil {
			l.tracks[path].applyForeign(s.After)
			delete(by, path)
		}
	}
	for i := range steps {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s := &steps[i]
		if d := s.Decision; d != nil {
			l.restoreDecision(*d, by[d.Path])
			delete(by, d.Path)
			maps.Copy(left, d.Left)
			continue
		}
		delete(left, s.Path)
		done(s.Path)
		if s.Origin != "" {
			done(s.Origin)
			l.rename(s.Origin, s.Path)
			now[s.Path], _ = l.files.Read(ctx, s.Path)
		}
		switch {
		case s.Entry != filetime.File && (s.Person || s.Origin == ""):
		case !s.Person:
			l.restoreChange(s)
		case l.tracks[s.Path] != nil && !s.Lost:
			by[s.Path] = s
		}
	}
	for path, t := range l.tracks {
		done(path)
		t.applyPresent(now[path], left[path])
		t.left = left[path]
		t.settled.rev = now[path].Rev
	}
	return ctx.Err()
}

// restoreChange takes in a change of the agent's.
func (l *Log) restoreChange(s *Step) {
	if s.Entry != filetime.File {
		l.landedEntry(filetime.Change{Turn: s.Turn, Call: s.Call, Allowed: s.Allowed}, filetime.LandedFile{Path: s.Path, Origin: s.Origin, Entry: s.Entry})
		return
	}
	if s.Lost {
		l.lostChanges = append(l.lostChanges, lostChange{s.Path, s.Call, s.Turn})
		return
	}
	t := l.tracks[s.Path]
	if t == nil {
		t = newTrack(s.Path, newWeave(s.Before, 0))
		l.tracks[s.Path] = t
	}
	t.applyForeign(s.Before)
	o := l.add(t, op{
		turn: s.Turn, call: s.Call, created: s.Created, deleted: s.Deleted, mode: s.Mode,
		before: s.Before, after: s.After, origin: s.Origin, dest: s.Path, command: s.Command,
	})
	o.allow(s.Allowed)
	t.land(t.settled, o, anyRevision)
}

// applyForeign takes in that somebody else has made this of the text.
func (t *track) applyForeign(now text.Text) {
	w := t.settled
	if w.text.Equal(now) {
		return
	}
	w.keep()
	if !w.restore(anyRevision, now) {
		w.change(text.Diff(w.text, now))
	}
}

// applyPresent takes in what a file says when a session is loaded. A person who typed it had the
// session open, so that its text was the same when that was closed; where that is not known, only a
// text that the file had before is a program's.
func (t *track) applyPresent(now filetime.Snapshot, left string) {
	w := t.settled
	switch {
	case w.text.Equal(now.Text):
	case left == digest(now.Text.String()), now.Open && now.Dirty:
		t.applyForeign(now.Text)
	case left != "":
		t.overwritten(w, now.Text, anyRevision)
	default:
		stood := w.statuses(len(t.edits))
		w.keep()
		if !w.restore(anyRevision, now.Text) {
			t.applyForeign(now.Text)
			return
		}
		w.markLost(stood, true)
	}
}

// Leave gives the decision to keep when the session is closed; nil where there is none.
func (l *Log) Leave() *Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := &Decision{Left: map[string]string{}}
	for path, t := range l.tracks {
		if w, _ := l.now(t); t.entry == filetime.File && w.text.Len() > 0 && t.left != digest(w.text.String()) {
			d.Left[path] = digest(w.text.String())
		}
	}
	if len(d.Left) == 0 {
		return nil
	}
	return d
}

// restoreDecision takes in a decision, with the change of its file that it made, nil for none.
func (l *Log) restoreDecision(d Decision, by *Step) {
	for key, how := range d.Said {
		if h := l.keys[key]; h != nil {
			h.newsDigest = how
		}
	}
	for _, h := range l.hunksByKey(d.Accepted) {
		h.accepted, h.acceptedByUser, h.conflict = true, true, false
	}
	for _, h := range l.hunksByKey(d.Conflict) {
		h.accepted, h.acceptedByUser, h.conflict = false, false, true
	}
	t := l.tracks[d.Path]
	if t == nil {
		return
	}
	again, in := d.Again != nil, map[int]bool{}
	for _, h := range l.hunksByKey(slices.Concat(d.Taken, d.Again)) {
		l.noteReverted(h, again)
		h.gone = !again && len(h.edits) == 0
		for _, e := range h.edits {
			in[e] = true
		}
	}
	w := t.settled
	if by != nil {
		t.applyForeign(by.Before)
	}
	set, pieces := w.flip(func(e int) bool { return in[e] }, again)
	after := set.Apply(w.text)
	switch {
	case by == nil && len(set) == 0:
		w.pieces = pieces
	case by != nil && after.Equal(by.After):
		w.keep()
		w.text, w.pieces = after, pieces
	case by != nil:
		t.applyForeign(by.After)
	}
}

func (l *Log) hunksByKey(keys []string) (out []*hunk) {
	for _, key := range keys {
		if h := l.keys[key]; h != nil {
			out = append(out, h)
		}
	}
	return out
}

// Pending counts the hunks that stand and are neither accepted nor rejected, as far as is known
// without a look at the disk.
func (l *Log) Pending() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, t := range l.tracks {
		v := l.view(t)
		for _, h := range t.hunks() {
			if !h.accepted && v.stands(h) {
				n++
			}
		}
	}
	return n
}

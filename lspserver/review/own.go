package review

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"tandem/filetime"
	"tandem/filetime/text"
)

// A call of the session may take the session's own changes back. It is planned here, and lands like
// every change of a call: the user is asked, the files are locked, what was typed since the plan
// stays. The revision that it makes is known by its call, whenever it arrives.

// Revert is how changes of one file are to be taken back.
type Revert struct {
	// Edit takes back what can be; nil where nothing can.
	Edit *filetime.FileEdit
	// Now is the file as it is, Taken counts the hunks that Edit takes back, Turn is that of the
	// newest of them.
	Now         filetime.Snapshot
	Taken, Turn int
	// Stay are the places in Now of hunks that stay, since others have changed their text. Accepted
	// counts those that stay since a person has accepted them, Lost the changes whose text before
	// them is no longer stored.
	Stay           []text.Range
	Accepted, Lost int
	// Err says that the file cannot be read or locked.
	Err error
}

// plannedRevert is a Revert that may land.
type plannedRevert struct {
	plan  revertPlan
	edits map[int]bool
}

// ChangedIn gives the canonical paths of the files that a turn has changed, sorted. It reads no
// file.
func (l *Log) ChangedIn(turn int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	paths := map[string]bool{}
	for path, t := range l.tracks {
		if slices.ContainsFunc(t.ops, func(o *op) bool { return o.turn == turn }) {
			paths[path] = true
		}
	}
	for _, c := range l.lostChanges {
		if c.turn == turn {
			paths[c.path] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// Origins gives the paths that the session's calls have moved a file from, the latest first.
func (l *Log) Origins(path string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.tracks[path]; t != nil {
		for _, o := range slices.Backward(t.ops) {
			if o.origin != "" {
				out = append(out, o.origin)
			}
		}
	}
	return out
}

// RevertTurn plans that a call takes back what a turn has changed in a file and nobody has
// accepted.
func (l *Log) RevertTurn(ctx context.Context, call, path string, turn int) Revert {
	return l.revert(ctx, call, path, Scope{Turn: &turn}, func(v view) func(*hunk) bool {
		return func(h *hunk) bool { return h.op.turn == turn }
	})
}

// RevertLast plans that a call takes back the newest change of a file that stands, which is all
// that one call did to it.
func (l *Log) RevertLast(ctx context.Context, call, path string) Revert {
	return l.revert(ctx, call, path, Scope{Path: path}, func(v view) func(*hunk) bool {
		for _, o := range slices.Backward(v.t.ops) {
			if slices.ContainsFunc(o.hunks, v.stands) {
				return func(h *hunk) bool { return h.op == o }
			}
		}
		return func(*hunk) bool { return false }
	})
}

func (l *Log) revert(ctx context.Context, call, path string, s Scope, choose func(view) func(*hunk) bool) (r Revert) {
	r.Lost = l.countLost(s)[path]
	if !l.Tracks(path) {
		r.Now, r.Err = l.files.Read(ctx, path)
		return r
	}
	unlock, err := l.files.Lock(ctx, path)
	if err != nil {
		r.Err = err
		return r
	}
	defer unlock()
	if r.Now, r.Err = l.files.Read(ctx, path); r.Err != nil {
		return r
	}
	l.mu.Lock()
	v := l.view(l.tracks[path])
	pick := choose(v)
	r.Now = v.now
	for _, h := range v.t.hunks() {
		if pick(h) && h.acceptedByUser && v.stands(h) {
			r.Accepted++
		}
	}
	l.mu.Unlock()
	var p revertPlan
	l.plan(v.t, revertRequest{dryRun: true, pick: func(h *hunk) bool { return !h.acceptedByUser && pick(h) }}, &p)
	l.mu.Lock()
	defer l.mu.Unlock()
	v = l.view(l.tracks[path])
	for _, h := range slices.Concat(p.wanted, p.hidden) {
		if p.has(h) {
			r.Taken, r.Turn = r.Taken+1, max(r.Turn, h.op.turn)
			continue
		}
		now := v.hunk(h)
		r.Stay = append(r.Stay, text.Range{Start: now.Start, End: now.End})
	}
	if p.change == nil {
		r.Taken = 0
		return r
	}
	r.Edit = &p.change.Files[0]
	v.t.plannedReverts[call] = plannedRevert{p, p.in}
	return r
}

// apply takes in a revision of a call that takes edits back, or the one by which the workspace has
// reverted that.
func (r plannedRevert) apply(w *weave, is filetime.Revision) {
	after := is.Set.Apply(w.text)
	if !w.flipTo(after, func(e int) bool { return r.edits[e] }, false) && !w.restore(is.Restores, after) {
		w.change(is.Set)
	}
}

// reverted takes in that a planned Revert has landed. The model knows of it: it is no news.
func (l *Log) reverted(c filetime.Change, landed filetime.Landed) {
	for _, f := range landed.Files {
		l.mu.Lock()
		t := l.tracks[cmp.Or(f.Origin, f.Path)]
		var r plannedRevert
		if t != nil {
			r = t.plannedReverts[c.Call]
		}
		l.mu.Unlock()
		if r.edits == nil || !f.Applied {
			continue
		}
		l.applyReverted(t, filetime.Landed{Files: []filetime.LandedFile{f}}, r.plan, false)
		_, _, about := l.outcome(t, r.plan, false)
		d := Decision{Path: f.Path, Taken: about, Said: map[string]string{}}
		l.mu.Lock()
		v := l.view(t)
		for _, key := range about {
			h := l.keys[key]
			_, how := v.news(h)
			h.newsDigest = digest(how)
			d.Said[key] = h.newsDigest
		}
		l.mu.Unlock()
		l.keep(d)
	}
}

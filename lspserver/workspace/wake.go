package workspace

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"tandem/filetime/disk"
	"tandem/filetime/text"
)

// Stale saves (lost updates): a program that reads a file, changes it and saves it overwrites an edit that lands in
// between. While an edit is landing, filetime/disk merges such saves. For a moment afterwards, the wake of the edit has
// the texts before it, by which such a save is told from one of a program that has read the edit.

// wakeTime is how long after an edit a save may be stale. A program saves what it has read within that time, and a
// person does not.
const wakeTime = time.Second

// wake has the texts of a file before and while an edit landed on disk.
type wake struct {
	until    time.Time
	versions [][]byte
	commands uint64 // how many commands the agent had begun
}

// leaveWake keeps the versions that other programs may have read before a landing. f.mu is held.
func (w *Workspace) leaveWake(f *file, versions [][]byte) {
	made := &wake{until: w.o.Now().Add(wakeTime), versions: versions, commands: w.commands.Load()}
	f.disk.wake = made
	time.AfterFunc(2*wakeTime, func() { // they may be large
		w.safely(func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.disk.wake == made {
				f.disk.wake = nil
			}
		})
	})
}

// lately are the versions of the file's wake. f.mu is held.
func (w *Workspace) lately(f *file) [][]byte {
	if f.disk.wake == nil || w.o.Now().After(f.disk.wake.until) || f.disk.wake.commands != w.commands.Load() {
		return nil
	}
	return f.disk.wake.versions
}

// restore merges a stale save with the edit that it has overwritten, and gives the disk's text then. A save of exactly
// the text before the edit reverts it on purpose, and a command of the agent may. f.mu is held.
func (w *Workspace) restore(f *file, d onDisk) onDisk {
	lately := w.lately(f)
	if len(lately) == 0 || !f.Loaded() || !f.disk.exists || !d.exists || f.Text().Equal(d.text) {
		return d
	}
	now, err := text.Encode(f.Text(), d.stat.charset)
	if err != nil {
		return d
	}
	if slices.ContainsFunc(lately, func(v []byte) bool { return bytes.Equal(v, now) }) {
		f.disk.wake = nil // the edit is gone already, as by git stash, and nothing saved since can have crossed it
		return d
	}
	saved, err := text.Encode(d.text, d.stat.charset)
	if err != nil {
		return d
	}
	versions := append([][]byte{now}, lately...)
	base := nearest(versions, saved)
	if base > 0 && string(versions[base]) == string(saved) {
		f.disk.wake = nil // the edit is gone, as by git stash: what is saved next is no save that it has crossed
		return d
	}
	if base == 0 {
		return d
	}
	merged, err := w.merge(f.path, versions[base], now, saved)
	if err != nil {
		return d
	}
	c := w.disk.Change(disk.Intent{Tool: "restore"})
	c.SetRecentVersions(lately)
	r, err := c.Replace(f.path, saved, merged)
	if err != nil {
		c.End(disk.NotLanded)
		return d
	}
	c.End(disk.Landed)
	f.disk.wake.versions = r.Versions
	w.o.Log.Debug("a stale save had overwritten an edit; both are merged now", "path", f.path)
	put, err := decode(f.path, r.After)
	if err != nil {
		return d
	}
	// The file is not read again: another stale save is found the next time.
	put.stat.ctime, put.stat.mtime, put.stat.mode, put.stat.links = d.stat.ctime, d.stat.mtime, d.stat.mode, d.stat.links
	return put
}

// settleWakes looks for stale saves for the last time.
func (w *Workspace) settleWakes() {
	w.mu.Lock()
	files := slices.Collect(maps.Values(w.files))
	w.mu.Unlock()
	for _, f := range files {
		f.mu.Lock()
		if w.lately(f) != nil && !f.open() {
			if err := w.refresh(f); err != nil {
				w.o.Log.Debug("changed file cannot be read", "path", f.path, "error", err)
			}
		}
		f.mu.Unlock()
	}
}

// nearest is the version of which data was made most probably: the first of those that it takes the least to make it of.
func nearest(versions [][]byte, data []byte) int {
	best, least := 0, -1
	for i, v := range versions {
		if n := distance(v, data, least); least < 0 || n < least {
			best, least = i, n
		}
	}
	return best
}

// distance is how many lines are added to a, and twice how many are taken out of it, to make b: programs add lines more often.
// A line that is moved is taken out and added. With limit >= 0 the result may be any number from limit on if it is as much.
func distance(a, b []byte, limit int) int {
	start := common(a, b)
	start = bytes.LastIndexByte(a[:start], '\n') + 1
	a, b = a[start:], b[start:]
	end := 0
	for end < len(a) && end < len(b) && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	if i := bytes.IndexByte(a[len(a)-end:], '\n'); i >= 0 { // what comes before it may be part of a line
		end -= i + 1
		a, b = a[:len(a)-end], b[:len(b)-end]
	}
	if n := bytes.Count(b, []byte("\n")) - bytes.Count(a, []byte("\n")); limit >= 0 && max(n, -2*n) >= limit {
		return limit
	}
	at, added := map[string][]int{}, 0 // where b has each line
	for line := range bytes.Lines(b) {
		at[string(line)] = append(at[string(line)], added)
		added++
	}
	removed, pairs := 0, 0
	for line := range bytes.Lines(a) {
		removed++
		pairs += len(at[string(line)])
	}
	// The longest common subsequence (Hunt and Szymanski 1977) by its length: the lowest place in b that one ends at. Where lines
	// repeat too often for that, the first of a is taken for the first of b, the second for the second.
	var ends []int
	for line := range bytes.Lines(a) {
		places := at[string(line)]
		if pairs > maxPairs && len(places) > 0 {
			at[string(line)], places = places[1:], places[:1]
		}
		for _, p := range slices.Backward(places) {
			if n, _ := slices.BinarySearch(ends, p); n < len(ends) {
				ends[n] = p
			} else {
				ends = append(ends, p)
			}
		}
	}
	return added - len(ends) + 2*(removed-len(ends))
}

// maxPairs is for how many pairs of like lines a common subsequence is looked for.
const maxPairs = 1 << 18

// common is how many bytes a and b begin with that are the same.
func common(a, b []byte) (n int) {
	const step = 1 << 10
	for n+step <= min(len(a), len(b)) && bytes.Equal(a[n:n+step], b[n:n+step]) {
		n += step
	}
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

package workspace

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"tandem/filetime/disk"
	"tandem/filetime/text"
	"tandem/lspserver/stored"
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
func (w *Workspace) restore(f *file, d stored.File) stored.File {
	lately := w.lately(f)
	if len(lately) == 0 || !f.Loaded() || !f.disk.exists || !d.Exists || f.Text().Equal(d.Text) {
		return d
	}
	now, err := text.Encode(f.Text(), d.Stat.Charset)
	if err != nil {
		return d
	}
	if slices.ContainsFunc(lately, func(v []byte) bool { return bytes.Equal(v, now) }) {
		f.disk.wake = nil // the edit is gone already, as by git stash, and nothing saved since can have crossed it
		return d
	}
	saved, err := text.Encode(d.Text, d.Stat.Charset)
	if err != nil {
		return d
	}
	versions := append([][]byte{now}, lately...)
	base := stored.Nearest(versions, saved)
	if base > 0 && string(versions[base]) == string(saved) {
		f.disk.wake = nil // the edit is gone, as by git stash: what is saved next is no save that it has crossed
		return d
	}
	if base == 0 {
		return d
	}
	merged, err := stored.Merge(f.path, versions[base], now, saved)
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
	put, err := stored.Decode(f.path, r.After)
	if err != nil {
		return d
	}
	// The file is not read again: another stale save is found the next time.
	put.Stat.ChangeTime, put.Stat.ModTime, put.Stat.Mode, put.Stat.Links = d.Stat.ChangeTime, d.Stat.ModTime, d.Stat.Mode, d.Stat.Links
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

// Package filetimetest has files in memory, with a person who types into them, and the contract that every
// implementation of filetime.Files fulfils.
package filetimetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"tandem/filetime"
	"tandem/filetime/text"
)

// Files is a filetime.Files in memory.
type Files struct {
	// Enter, when set, is called inside each Commit that applies something, before anything is judged, with the locks held.
	Enter func(filetime.Change)
	// Fail, when set, is what Commit answers instead.
	Fail error

	mu    sync.Mutex
	files map[string]*file
	locks map[string]chan struct{}
	rev   uint64
}

type file struct {
	text    text.Text
	rev     uint64
	history []filetime.Revision
	exists  bool
	open    bool
	version int32
}

// New makes files with nothing in them.
func New() *Files {
	return &Files{files: map[string]*file{}, locks: map[string]chan struct{}{}}
}

func (f *Files) file(path string) *file {
	k := f.files[path]
	if k == nil {
		f.rev++
		k = &file{rev: f.rev}
		f.files[path] = k
	}
	return k
}

// Put makes path say content, as if it always had; open makes it an editor's buffer.
func (f *Files) Put(path, content string, open bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.file(path)
	k.text, k.exists, k.open, k.version = text.New(content), true, open, 1
}

// Type changes path as a person, or whoever author is, does.
func (f *Files) Type(path string, set text.Set, author filetime.Author) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.file(path)
	f.record(k, filetime.Revision{Set: set, Author: author})
	k.exists = true
}

// Remove takes the file away.
func (f *Files) Remove(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.file(path)
	f.record(k, filetime.Revision{Set: text.Set{{Start: 0, End: k.text.Len()}}, Author: filetime.Disk})
	k.exists = false
}

// Text is what path says, and whether it is there.
func (f *Files) Text(path string) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.file(path)
	return k.text.String(), k.exists
}

func (f *Files) record(k *file, r filetime.Revision) {
	f.rev++
	r.Rev = f.rev
	k.text, k.rev, k.history = r.Set.Apply(k.text), r.Rev, append(k.history, r)
	k.version++
}

func (k *file) snapshot(path string) filetime.Snapshot {
	s := filetime.Snapshot{Path: path, Text: k.text, Rev: k.rev, Open: k.open, Dirty: k.open, Exists: k.exists}
	if k.open {
		s.Version = k.version
	}
	return s
}

// Read implements filetime.Files.
func (f *Files) Read(ctx context.Context, path string) (filetime.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file(path).snapshot(path), ctx.Err()
}

// History implements filetime.Files.
func (f *Files) History(path string, rev uint64) ([]filetime.Revision, filetime.Snapshot, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.file(path)
	i := slices.IndexFunc(k.history, func(r filetime.Revision) bool { return r.Rev > rev })
	if i < 0 {
		i = len(k.history)
	}
	return slices.Clone(k.history[i:]), k.snapshot(path), true
}

// Commit implements filetime.Files for changes of any number of files.
func (f *Files) Commit(ctx context.Context, c filetime.Change) (filetime.Landed, error) {
	if f.Enter != nil && c.Apply != filetime.None {
		f.Enter(c)
	}
	if err := ctx.Err(); err != nil {
		return filetime.Landed{}, err
	}
	if f.Fail != nil {
		return filetime.Landed{}, f.Fail
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	only := c
	only.Apply = filetime.None
	for _, e := range c.Files {
		if _, err := f.commit(only, e); err != nil {
			return filetime.Landed{}, err
		}
	}
	var out filetime.Landed
	for _, e := range c.Files {
		l, err := f.commit(c, e)
		if err != nil {
			return filetime.Landed{}, err
		}
		out.Files = append(out.Files, l)
	}
	return out, nil
}

func (f *Files) commit(c filetime.Change, e filetime.FileEdit) (filetime.LandedFile, error) {
	k := f.file(e.Path)
	if e.Create && k.exists {
		return filetime.LandedFile{}, &filetime.Error{
			Code: filetime.FileExists, Path: e.Path, Now: k.text, Known: true, Reason: "exists",
			Message: fmt.Sprintf("%s exists by now: somebody else made it.", e.Path),
		}
	}
	if !e.Create && !k.exists {
		return filetime.LandedFile{}, &filetime.Error{
			Code: filetime.EditConflict, Path: e.Path, Reason: "deleted",
			Message: fmt.Sprintf("%s was deleted since it was read.", e.Path),
		}
	}
	sets := []text.Set{e.Since}
	author := filetime.User
	for _, r := range k.history {
		if r.Rev > e.Rev && !e.Create {
			sets, author = append(sets, r.Set), r.Author
		}
	}
	since := text.ComposeAll(sets)
	shown := text.Canonical(e.Base, since)
	r := text.Rebase(e.Base, e.Edits, since)
	if len(r.Conflicts) > 0 {
		return filetime.LandedFile{}, filetime.Collision(e, since, k.text, r.Conflicts, author)
	}
	l := filetime.LandedFile{
		Path: e.Path, Before: k.text, Set: r.Set, Created: e.Create, Source: "disk", Attempts: 1,
		Rebased: shown, Over: len(shown), SameLine: r.SameLine,
	}
	if k.open {
		v := k.version
		l.BeforeVersion, l.Source = &v, "buffer"
	}
	l.After = r.Set.Apply(k.text)
	if l.Already = len(r.Set) == 0 && !e.Create; l.Already {
		l.Rev, l.Applied = k.rev, true
		return l, nil
	}
	if c.Apply == filetime.None {
		return l, nil
	}
	f.record(k, filetime.Revision{Set: r.Set, Author: filetime.Agent, Session: c.Session, Call: c.Call})
	k.exists = true
	l.Rev, l.Applied = k.rev, true
	return l, nil
}

// Lock implements filetime.Files.
func (f *Files) Lock(ctx context.Context, paths ...string) (func(), error) {
	var held []chan struct{}
	release := func() {
		for _, l := range held {
			<-l
		}
	}
	for _, p := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		f.mu.Lock()
		l := f.locks[p]
		if l == nil {
			l = make(chan struct{}, 1)
			f.locks[p] = l
		}
		f.mu.Unlock()
		select {
		case l <- struct{}{}:
			held = append(held, l)
		case <-ctx.Done():
			release()
			return nil, ctx.Err()
		}
	}
	return release, nil
}

// Paths lists the files that there are or were.
func (f *Files) Paths() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.files))
}

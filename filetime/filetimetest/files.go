// Package filetimetest has files in memory, with a person who types into them, and the contract that every
// implementation of filetime.Files fulfils.
package filetimetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/filetime/text"
)

// MaxSize is the size above which a file on disk is refused, in bytes.
const MaxSize = 1 << 20

// Files is a filetime.Files in memory, over the disk: a file that no method of it has changed is what the disk has, and none
// writes to the disk.
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
	ours    bool // a method has changed it: the disk does not count any more
	text    text.Text
	mode    fs.FileMode
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

// file is the state of path, with what the disk has by now where that counts. The error is about the disk.
func (f *Files) file(path string) (*file, error) {
	k := f.files[path]
	if k == nil {
		f.rev++
		k = &file{rev: f.rev}
		f.files[path] = k
	}
	if k.ours {
		return k, nil
	}
	now, mode, err := load(path)
	gone := errors.Is(err, fs.ErrNotExist)
	if err != nil && !gone {
		return k, err
	}
	if !now.Equal(k.text) || gone == k.exists {
		f.record(k, filetime.Revision{Set: text.Diff(k.text, now), Author: filetime.Disk})
	}
	k.mode, k.exists = mode, !gone
	return k, nil
}

func load(path string) (text.Text, fs.FileMode, error) {
	refuse := func(code filetime.Code, reason, message string) (text.Text, fs.FileMode, error) {
		return text.Text{}, 0, &filetime.Error{Code: code, Reason: reason, Path: path, Message: message}
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return text.Text{}, 0, err
	case err != nil:
		return refuse(filetime.ReadError, "unreadable", err.Error())
	case info.IsDir():
		return refuse(filetime.IsDirectory, "is_directory", path+" is a directory, not a file.")
	case !info.Mode().IsRegular():
		return refuse(filetime.ReadError, "not_regular", "It is no regular file.")
	case info.Size() > MaxSize:
		return text.Text{}, 0, filetime.TooLarge(path, info.Size(), MaxSize)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return refuse(filetime.ReadError, "unreadable", err.Error())
	}
	if bytes.IndexByte(b, 0) >= 0 || !utf8.Valid(b) {
		return refuse(filetime.BinaryFile, "", "It is binary.")
	}
	return text.New(string(b)), info.Mode(), nil
}

// own is the state of path, from now on without the disk.
func (f *Files) own(path string) *file {
	k, err := f.file(path)
	if err != nil {
		k.text, k.exists = text.Text{}, false
	}
	k.ours = true
	return k
}

// Put makes path say content, as if it always had; open makes it an editor's buffer.
func (f *Files) Put(path, content string, open bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.own(path)
	k.text, k.exists, k.open, k.version = text.New(content), true, open, 1
}

// Type changes path as a person, or whoever author is, does.
func (f *Files) Type(path string, set text.Set, author filetime.Author) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.own(path)
	f.record(k, filetime.Revision{Set: set, Author: author})
	k.exists = true
}

// Remove takes the file away, from the disk as well, where tools look for names.
func (f *Files) Remove(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.own(path)
	f.record(k, filetime.Revision{Set: text.Set{{Start: 0, End: k.text.Len()}}, Author: filetime.Disk})
	k.exists = false
	os.Remove(path)
}

// Text is what path says, and whether it is there.
func (f *Files) Text(path string) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k, err := f.file(path)
	return k.text.String(), k.exists && err == nil
}

func (f *Files) record(k *file, r filetime.Revision) {
	f.rev++
	r.Rev = f.rev
	k.text, k.rev, k.history = r.Set.Apply(k.text), r.Rev, append(k.history, r)
	k.version++
}

func (k *file) snapshot(path string) filetime.Snapshot {
	s := filetime.Snapshot{Path: path, Text: k.text, Rev: k.rev, Open: k.open, Dirty: k.open, Exists: k.exists, Mode: k.mode}
	if k.open {
		s.Version = k.version
	}
	return s
}

// Read implements filetime.Files.
func (f *Files) Read(ctx context.Context, path string) (filetime.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return filetime.Snapshot{}, context.Cause(ctx)
	}
	k, err := f.file(path)
	if err != nil {
		return filetime.Snapshot{Path: path}, err
	}
	return k.snapshot(path), nil
}

// History implements filetime.Files.
func (f *Files) History(path string, rev uint64) ([]filetime.Revision, filetime.Snapshot, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k, err := f.file(path)
	i := slices.IndexFunc(k.history, func(r filetime.Revision) bool { return r.Rev > rev })
	if i < 0 {
		i = len(k.history)
	}
	return slices.Clone(k.history[i:]), k.snapshot(path), err == nil
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
	for i, e := range c.Files {
		if c.Makes(i) {
			continue
		}
		if _, err := f.commit(only, e); err != nil {
			return filetime.Landed{}, err
		}
	}
	var out filetime.Landed
	for i, e := range c.Files {
		if c.Apply == filetime.None && c.Makes(i) {
			out.Files = append(out.Files, e.Made())
			continue
		}
		l, err := f.commit(c, e)
		if err != nil {
			return filetime.Landed{}, err
		}
		out.Files = append(out.Files, l)
	}
	return out, nil
}

func (f *Files) commit(c filetime.Change, e filetime.FileEdit) (filetime.LandedFile, error) {
	if e.Entry != filetime.File {
		return f.entry(c, e)
	}
	k, err := f.file(e.Path)
	if err != nil {
		return filetime.LandedFile{}, err
	}
	if e.Create && k.exists {
		return filetime.LandedFile{}, &filetime.Error{
			Code: filetime.FileExists, Path: e.Path, Now: k.text, Known: true, Reason: "exists",
			Message: fmt.Sprintf("%s exists by now: somebody else made it.", e.Path),
		}
	}
	free := func(o filetime.FileEdit) bool { return c.Apply == filetime.None && o.Delete && o.Path == e.To }
	if to, err := f.file(e.To); e.To != "" && (err != nil || to.exists) && !slices.ContainsFunc(c.Files, free) {
		return filetime.LandedFile{}, &filetime.Error{
			Code: filetime.FileExists, Path: e.To, Reason: "exists", Message: fmt.Sprintf("%s exists by now: somebody else made it.", e.To),
		}
	}
	if !e.Create && !k.exists {
		return filetime.LandedFile{}, &filetime.Error{
			Code: filetime.EditConflict, Path: e.Path, Reason: "deleted",
			Message: fmt.Sprintf("%s was deleted since it was read.", e.Path),
		}
	}
	sets := []text.Set{e.Since}
	author, authors := filetime.User, e.By
	for _, r := range k.history {
		if r.Rev > e.Rev && !e.Create {
			sets, author, authors = append(sets, r.Set), r.Author, authors.Plus(r.Author)
		}
	}
	since := text.ComposeAll(sets)
	shown := text.Canonical(e.Base, since)
	if n := len(shown); e.Delete && n > 0 {
		at := []text.Conflict{{Start: shown[0].Start, End: shown[n-1].End}}
		return filetime.LandedFile{}, filetime.Collision(e, since, k.text, at, author)
	}
	r := text.Rebase(e.Base, e.Edits, since)
	if len(r.Conflicts) > 0 {
		return filetime.LandedFile{}, filetime.Collision(e, since, k.text, r.Conflicts, author)
	}
	l := filetime.LandedFile{
		Path: e.Path, Before: k.text, Set: r.Set, Created: e.Create, Source: "disk", Attempts: 1,
		Rebased: shown, Over: len(shown), By: authors, SameLine: r.SameLine, Ties: r.Ties,
	}
	if k.open {
		v := k.version
		l.BeforeVersion, l.Source = &v, "buffer"
	}
	l.After = r.Set.Apply(k.text)
	if e.Delete {
		l.Deleted, l.After, l.Set = true, text.Text{}, nil
		if l.Before.Len() > 0 {
			l.Set = text.Set{{Start: 0, End: l.Before.Len()}}
		}
	}
	if e.To != "" {
		l.Path, l.Origin = e.To, e.Path
	}
	if l.Already = len(r.Set) == 0 && !e.Create && !e.Delete && e.To == ""; l.Already {
		l.Rev, l.Applied = k.rev, true
		return l, nil
	}
	if c.Apply == filetime.None {
		return l, nil
	}
	if e.Delete { // also from the disk, where tools look for names
		os.Remove(e.Path)
	}
	if e.To != "" { // the file goes on there, and there is another one here
		if os.MkdirAll(filepath.Dir(e.To), 0o755) == nil {
			_ = os.Rename(e.Path, e.To)
		}
		k.ours = true
		f.rev++
		f.files[e.To], f.files[e.Path] = k, &file{rev: f.rev, ours: true}
	}
	by := filetime.Revision{Set: l.Set, Author: filetime.Agent, Session: c.Session, Call: c.Call}
	if c.ForUser {
		by.Author, by.Session, by.Call = filetime.User, "", ""
	}
	f.record(k, by)
	k.exists, k.ours = !e.Delete, true
	l.Rev, l.Applied = k.rev, true
	return l, nil
}

// entry changes what is no text, on disk.
func (f *Files) entry(c filetime.Change, e filetime.FileEdit) (filetime.LandedFile, error) {
	l := filetime.LandedFile{Path: e.Path, Entry: e.Entry, Created: e.Create, Deleted: e.Delete, Source: "disk", Attempts: 1}
	if e.To != "" {
		l.Path, l.Origin = e.To, e.Path
	}
	info, err := os.Lstat(e.Path)
	if err == nil && e.Was != "" && e.Was != filetime.Mark(info) {
		return l, &filetime.Error{
			Code: filetime.EditConflict, Reason: "changed", Path: e.Path, Message: e.Path + " has changed since it was looked at.",
		}
	}
	if _, err := os.Lstat(e.To); e.To != "" && err == nil {
		return l, &filetime.Error{Code: filetime.FileExists, Reason: "exists", Path: e.To, Message: e.To + " exists by now."}
	}
	if c.Apply == filetime.None {
		return l, nil
	}
	switch l.Already = e.Create && err == nil; {
	case e.Create:
		err = os.MkdirAll(e.Path, 0o755)
	case e.Delete:
		err = os.Remove(e.Path)
	default:
		if err = os.MkdirAll(filepath.Dir(e.To), 0o755); err == nil {
			err = os.Rename(e.Path, e.To)
		}
		for path, k := range maps.Clone(f.files) {
			if rest, ok := strings.CutPrefix(path, e.Path+"/"); ok {
				delete(f.files, path)
				f.files[e.To+"/"+rest] = k
			}
		}
	}
	if err != nil {
		return l, &filetime.Error{Code: filetime.WriteError, Reason: "io", Path: e.Path, Message: err.Error()}
	}
	f.rev++
	l.Applied, l.Rev = true, f.rev
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

// Open lists the files that are open in the editor.
func (f *Files) Open() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.files)), func(path string) bool { return !f.files[path].open })
}

// Paths lists the files that a method changed.
func (f *Files) Paths() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.files)), func(path string) bool { return !f.files[path].ours })
}

package workspace

import (
	"context"
	"strings"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
)

// ContentChange is one change of a didChange: Range nil for the whole text.
type ContentChange struct {
	Range *Range
	Text  string
}

// Open takes in a didOpen. path is where the document lies; uri is the editor's own spelling.
func (w *Workspace) Open(path, uri string, version int32, content string) {
	path = w.o.Canonical(path)
	w.mu.Lock()
	f := w.fileLocked(path)
	w.uris[uri] = f
	w.mu.Unlock()

	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open && f.uri != uri {
		f.rivals++ // one file under two names: the first keeps it, and nobody edits it until one is closed
		w.o.Log.Warn("file is open under two names", "uri", f.uri, "other", uri)
		return
	}
	f.behind = nil
	f.uri, f.version = uri, version
	opened := text.New(content)
	switch {
	case f.known && f.text.Equal(opened):
		f.text = opened
	case f.known:
		w.record(f, text.Infer(f.text, opened), filetime.User)
		w.tell(f, "stale", "user")
	default:
		f.text = opened
		f.rev = w.next()
		f.base, f.history = f.rev, nil
	}
	if !f.open {
		f.lent = f.out != nil
	}
	f.open, f.known, f.suspect = true, true, false
	// What the disk says decides whether the buffer is dirty; an editor may well open text that it never saved.
	d, err := readDisk(f.path, w.o.MaxFileBytes)
	f.exists = err == nil && d.exists
	f.dirty = err != nil || !d.exists && opened.Len() > 0 || d.exists && !sameText(d.text, opened)
	if err == nil {
		f.disk = d.stat
	}
	f.touched = false
}

// Change takes in a didChange. Changes apply one after another, as LSP has it.
func (w *Workspace) Change(uri string, version int32, changes []ContentChange) bool {
	w.mu.Lock()
	f := w.uris[uri]
	w.mu.Unlock()
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.uri != uri {
		return true
	}
	written := f.text
	w.catchUp(f)
	if version <= f.version {
		f.suspect = true
		w.o.Log.Warn("document version did not grow", "uri", uri, "had", f.version, "got", version)
	}
	gathered := len(changes) == 1 && version > f.version+1
	f.version, f.dirty = version, true
	for _, c := range changes {
		set := w.convert(f, c)
		w.record(f, set, filetime.User)
	}
	if f.out != nil && gathered {
		f.out.events[len(f.out.events)-1].gathered = true
	}
	switch {
	case f.text.Equal(written): // the editor has read again what we wrote
		f.dirty = false
	case f.out == nil:
		f.lent = false
		w.tell(f, "stale", "user")
	}
	return true
}

func (w *Workspace) convert(f *file, c ContentChange) text.Set {
	if c.Range == nil {
		f.suspect = false
		return text.Infer(f.text, text.New(c.Text))
	}
	start, bad1 := f.text.Offset(c.Range.Start, w.o.Features.Encoding)
	end, bad2 := f.text.Offset(c.Range.End, w.o.Features.Encoding)
	if bad1 || bad2 || end < start {
		f.clamped++
		f.suspect = f.suspect || end < start
		w.o.Log.Warn("position outside the text, clamped", "uri", f.uri, "version", f.version)
		end = max(start, end)
	}
	set := text.Set{{Start: start, End: end, New: c.Text}}
	switch {
	case text.Infers(f.text, set):
		return text.Infer(f.text, set.Apply(f.text))
	case start < end && c.Text != "":
		// An editor that gathers changes reports one range from the first to the last of them: most of it is unchanged, even
		// of a single line.
		return text.Minimize(f.text, set)
	}
	return set
}

// catchUp goes back to what the editor shows of a file that was written on disk behind it. f.mu is held.
func (w *Workspace) catchUp(f *file) {
	if f.behind != nil {
		w.record(f, text.Diff(f.text, *f.behind), filetime.Disk)
		f.behind = nil
	}
}

// Suspect says that something about a document could not be understood: its text is not known until the editor gives it
// whole.
func (w *Workspace) Suspect(uri string) {
	w.mu.Lock()
	f := w.uris[uri]
	w.mu.Unlock()
	if f != nil {
		f.mu.Lock()
		f.suspect = true
		f.mu.Unlock()
	}
}

// Saved takes in a didSave; content is nil where the editor does not send the text.
func (w *Workspace) Saved(uri string, content *string) {
	w.mu.Lock()
	f := w.uris[uri]
	w.mu.Unlock()
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.uri != uri {
		return
	}
	w.catchUp(f)
	if content != nil {
		if now := text.New(*content); !now.Equal(f.text) {
			w.record(f, text.Infer(f.text, now), filetime.User)
		}
		f.suspect = false
	}
	f.dirty, f.touched, f.edited, f.exists = false, false, false, true
	if d, err := readDisk(f.path, w.o.MaxFileBytes); err == nil && d.exists {
		f.disk = d.stat
		f.dirty = !sameText(d.text, f.text)
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// Close takes in a didClose: from now on the file is what the disk says.
func (w *Workspace) Close(uri string) {
	w.mu.Lock()
	f := w.uris[uri]
	delete(w.uris, uri)
	w.mu.Unlock()
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rivals > 0 {
		f.rivals--
		if f.uri == uri { // the other name stays, with a text that was never followed
			f.suspect = true
		}
		return
	}
	f.behind, f.edited = nil, false
	f.open, f.dirty, f.lent, f.touched, f.suspect = false, false, false, false, false
	f.version = 0
	f.disk = stat{}
	if err := w.refresh(f); err != nil {
		f.known = false
		w.o.Log.Debug("closed document cannot be read", "path", f.path, "error", err)
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// trusted asks the editor for the whole text of a document whose positions once did not fit.
func (w *Workspace) trusted(ctx context.Context, f *file) error {
	f.mu.Lock()
	ask := f.open && f.suspect && w.o.Features.Resync
	uri, rev := f.uri, f.rev
	f.mu.Unlock()
	if !ask {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	content, version, err := w.o.Editor.Resync(ctx, uri)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || f.rev != rev || f.version != version {
		return nil // something moved on, or nobody answers: the next call asks again
	}
	if now := text.New(content); !now.Equal(f.text) {
		w.record(f, text.Infer(f.text, now), filetime.User)
	}
	f.suspect = false
	return nil
}

// sameText compares what editors do not tell apart: a byte order mark and the kind of line end.
func sameText(a, b text.Text) bool {
	if a.Equal(b) {
		return true
	}
	plain := func(t text.Text) string {
		s := strings.TrimPrefix(t.String(), "\ufeff")
		return strings.ReplaceAll(s, "\r\n", "\n")
	}
	return plain(a) == plain(b)
}

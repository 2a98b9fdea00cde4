package workspace

import (
	"context"
	"io/fs"
	"math"
	"strings"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/fileuri"
	"tandem/lspserver/follow"
	"tandem/lspserver/stored"
)

// ContentChange is one change of a didChange: Range nil for the whole text.
type ContentChange struct {
	Range *Range
	Text  string
}

// NoVersion is the version of a client that does not say one.
const NoVersion = math.MinInt32

// Open handles didOpen. path is the document's; uri is the editor's spelling.
func (w *Workspace) Open(path, uri string, version int32, content string) {
	w.traffic.Heard(w.o.Now())
	path = w.o.Canonical(path)
	w.takeMovedState(path)
	w.mu.Lock()
	f := w.fileLocked(path)
	w.uris[uri] = f
	w.mu.Unlock()

	f.mu.Lock()
	defer f.mu.Unlock()
	if f.doc != nil && f.uri != uri {
		f.doc.rivals++ // one file under two names: the first keeps it, and edits are refused until one is closed
		w.o.Log.Warn("file is open under two names", "uri", f.uri, "other", uri)
		return
	}
	doc := &document{version: version}
	switch {
	case f.doc != nil:
		doc.opener, doc.rivals, doc.clamped = f.doc.opener, f.doc.rivals, f.doc.clamped
	case f.Busy() || f.asked.Load() > 0:
		doc.opener = forEdit
	}
	if version == NoVersion {
		doc.version, doc.unversioned = 0, true
	}
	doc.lineEnds = endsOf(content)
	f.uri, f.doc = uri, doc
	opened := text.New(content)
	switch {
	case f.Loaded() && f.Text().Equal(opened):
		f.Spell(opened)
	case f.Loaded():
		w.record(f, text.Infer(f.Text(), opened), filetime.User)
		if e := f.Last(); e != nil {
			e.Kind = follow.Opened
		}
		w.notify(f, "stale", "user")
	default:
		f.Begin(opened, w.next())
	}
	f.Settle(true)
	w.compareOpened(f)
}

// Requested says that the client has sent a request about a document. Clients tell of their changes first, so what they have not told of by
// now is not there. It must be called in the order of messages.
func (w *Workspace) Requested(uri string) {
	f, _ := w.document(uri)
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Requested(f.Text(), f.Rev())
}

// Unsure lists those of a session.
func (w *Workspace) Unsure(session string) (out []Unsure) {
	for _, f := range w.opened() {
		f.mu.Lock()
		if u, ok := f.Unsure(); ok && u.Session == session {
			out = append(out, u)
		}
		f.mu.Unlock()
	}
	return out
}

// Asking says until done is called that the editor is asked about a file: if it opens the file meanwhile, that is no person's doing.
func (w *Workspace) Asking(path string) (done func()) {
	w.mu.Lock()
	f := w.fileLocked(w.o.Canonical(path))
	f.asked.Add(1) // before forget may drop the file; f.mu is never locked below w.mu
	w.mu.Unlock()
	return func() { f.asked.Add(-1) }
}

// compareOpened compares a buffer that was just opened with the disk, since an editor may open a document with unsaved text. A
// document without a Place counts as dirty until it has one. f.mu is held.
func (w *Workspace) compareOpened(f *file) {
	if _, none := w.o.Roots.Place(f.path); none != nil {
		f.doc.unplaced, f.disk.exists = true, false
		return
	}
	f.doc.unplaced = false
	d, err := w.stored().Compare(f.path)
	f.disk.exists = err == nil && d.Exists
	dirty := err != nil || !d.Exists && f.Text().Len() > 0 || d.Exists && !text.EqualLines(d.Text, f.Text())
	if err == nil {
		f.disk.Stat, f.disk.last = d.Stat, d.Text.Hash()
		if d.Exists && d.Text.Len() == 0 && f.Text().String() == "\n" { // an editor that adds it to an empty file too
			w.traffic.EndsTexts()
			dirty = false
		}
	}
	f.SetSaved(!dirty)
}

// Elsewhere sets the files with unsaved changes in editors that are not text documents, such as notebooks. No change of
// one lands, since the editor would neither show it nor keep it at the next save.
func (w *Workspace) Elsewhere(paths []string) {
	named := make(map[string]bool, len(paths))
	for _, p := range paths {
		named[w.o.Canonical(p)] = true
	}
	w.mu.Lock()
	w.elsewhere = named
	w.mu.Unlock()
}

// Change handles didChange. The changes apply one after another, as in LSP.
func (w *Workspace) Change(uri string, version int32, changes []ContentChange) bool {
	w.traffic.Heard(w.o.Now())
	f, uri := w.document(uri)
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.uri != uri || f.doc == nil {
		return true
	}
	written, behind := f.Text(), f.doc.editorText != nil
	w.catchUp(f)
	if version == NoVersion {
		f.doc.unversioned, version = true, f.doc.version+1
	}
	if version <= f.doc.version {
		f.doc.sync = max(f.doc.sync, maybeDrifted)
		w.o.Log.Warn("document version did not grow", "uri", uri, "had", f.doc.version, "got", version)
	}
	clean := !f.dirty()
	f.doc.version = version
	for i, c := range changes {
		set := w.convert(f, c)
		w.record(f, set, filetime.User)
		part := i+1 < len(changes)
		f.SetPart(part)
		if e := f.Last(); e != nil {
			e.Part, e.Version = part, version
		}
	}
	if clean {
		w.detectReload(f, len(changes)) // the history may have been folded meanwhile
	}
	w.landExpected(f)
	if f.Leads(f.Text()) {
		f.doc.echo = f.Rev()
	}
	f.Settle(false)
	switch {
	case f.Text().Equal(written): // nothing has changed, or the editor has read again what we wrote
		if clean || behind {
			f.MarkSaved()
		}
	case !f.Busy():
		f.doc.opener = byPerson
		w.notify(f, "stale", "user")
	}
	return true
}

// detectReload recognises the change by which an editor loads a file that another program has written: the buffer was clean, and is again.
// Its n revisions are the disk's. Typing costs one stat for the first key after a save. f.mu is held.
func (w *Workspace) detectReload(f *file, n int) {
	info, err := stored.Bounded(f.path, stored.CompareTimeout, func() (fs.FileInfo, error) { return w.stored().Stat(f.path) })
	if err != nil || f.disk.Same(stored.Of(info, time.Time{})) {
		return
	}
	d, err := w.stored().Compare(f.path)
	if err != nil || !d.Exists || !text.EqualLines(d.Text, f.Text()) {
		return
	}
	f.disk.exists = true
	f.disk.Stat, f.disk.last = d.Stat, d.Text.Hash()
	f.Reloaded(n)
}

// Typed says that the latest change of a document was typed: it is neither the echo of an edit of ours nor a reload
// after a program has written the file. It reads the disk, so it must not be called in the order of messages.
func (w *Workspace) Typed(uri string) bool {
	f, _ := w.document(uri)
	if f == nil {
		return true
	}
	f.mu.Lock()
	echo, was := f.doc != nil && f.doc.echo == f.Rev(), f.disk.Stat
	f.mu.Unlock()
	if echo {
		return false
	}
	d, err := w.stored().Compare(f.path)
	if err != nil || !d.Exists {
		return true
	}
	f.mu.Lock()
	now := f.Text()
	f.mu.Unlock()
	shown, disk := text.Unified(now), text.Unified(d.Text)
	more := shown != "" && was.Size < d.Stat.Size && strings.HasPrefix(disk, shown) // what the program has appended by now
	return shown != disk && !more
}

func (w *Workspace) convert(f *file, c ContentChange) text.Set {
	if c.Range == nil {
		f.doc.sync = inSync
		f.doc.lineEnds = endsOf(c.Text)
		now := text.New(c.Text)
		if set, ok := f.Discard(now); ok {
			return set
		}
		return text.Infer(f.Text(), now)
	}
	start, bad1 := f.Text().Offset(c.Range.Start, w.o.Features.Encoding)
	end, bad2 := f.Text().Offset(c.Range.End, w.o.Features.Encoding)
	if bad1 || bad2 || end < start {
		f.doc.clamped++
		w.learnFromPosition(f, c.Range.End)
		// A position past the end of a line is defined by LSP and some editors send it; one inside a character, or an
		// end before its start, means that the texts differ. With Resync every doubt is cheap.
		if end < start || w.o.Features.Resync || bad1 && f.Text().Inside(c.Range.Start, start) || bad2 && f.Text().Inside(c.Range.End, end) {
			f.doc.sync = max(f.doc.sync, maybeDrifted)
		}
		w.o.Log.Warn("position outside the text, clamped", "uri", f.uri, "version", f.doc.version)
		end = max(start, end)
	}
	w.noteOddEnds(f, c, end)
	set := text.Set{{Start: start, End: end, New: c.Text}}
	switch {
	case text.Infers(f.Text(), set):
		return text.Infer(f.Text(), set.Apply(f.Text()))
	case start < end && c.Text != "":
		// An editor that coalesces changes reports one range from the first to the last of them: most of it is unchanged.
		return text.Minimize(f.Text(), set)
	}
	return set
}

// catchUp goes back to the editor's text of a file that was written on disk behind it. f.mu is held.
func (w *Workspace) catchUp(f *file) {
	if f.doc.editorText != nil {
		w.record(f, text.Diff(f.Text(), *f.doc.editorText), filetime.Disk)
		f.doc.editorText = nil
	}
}

// LoseSync says that a change of a document was not understood: until the editor sends its text whole, nobody knows it. The
// result reports whether the document is open and was in sync.
func (w *Workspace) LoseSync(uri string) (was bool) {
	f, _ := w.document(uri)
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.doc == nil {
		return false
	}
	was = f.doc.sync != lostSync
	f.doc.sync = lostSync
	f.Wake()
	return was
}

// URIOf is the URI of a file: in the client's own spelling if it has opened the file.
func (w *Workspace) URIOf(path string) string {
	w.mu.Lock()
	f := w.files[path]
	w.mu.Unlock()
	if f == nil {
		return URI(path)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.uri
}

// document finds an open document by a URI: by the client's own spelling of it, or by the path that another spelling names.
func (w *Workspace) document(uri string) (f *file, own string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.uris[uri]; f != nil {
		return f, uri
	}
	if path, ok := fileuri.Path(uri); ok {
		for own, f := range w.uris {
			if is, _ := fileuri.Path(own); is == path {
				return f, own
			}
		}
	}
	return nil, uri
}

// Saved handles didSave; content is nil if the editor does not send the text.
func (w *Workspace) Saved(uri string, content *string) {
	w.traffic.Heard(w.o.Now())
	f, uri := w.document(uri)
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.uri != uri {
		return
	}
	if f.doc == nil {
		return
	}
	w.catchUp(f)
	if content != nil {
		if now := text.New(*content); !now.Equal(f.Text()) {
			w.record(f, text.Infer(f.Text(), now), filetime.User)
		}
		f.doc.sync = inSync
	}
	w.landExpected(f)
	f.SavedUnsaved(f.dirty())
	f.expected = nil // the person's text has replaced it, or it has arrived
	f.disk.exists, f.doc.unplaced = true, false
	w.compareSaved(f)
	f.Settle(false)
	if f.SavedRev() == f.Rev() { // what was told of is all that there is
		f.Requested(f.Text(), f.Rev())
	}
	f.Wake()
}

// compareSaved compares a document that the editor has saved with the disk, which another program may have changed since. f.mu is held.
func (w *Workspace) compareSaved(f *file) {
	d, err := w.stored().Compare(f.path)
	if err != nil || !d.Exists {
		f.MarkSaved()
		return
	}
	w.learnFromSave(f, d)
	f.disk.Stat, f.disk.last = d.Stat, d.Text.Hash()
	same := text.EqualLines(d.Text, f.Text())
	if !same && w.o.Features.Plain && text.Unified(d.Text) == text.Unified(f.Text())+"\n" && !endsLine(f.Text().String()) {
		w.traffic.EndsTexts()
		same = true
	}
	if f.SetSaved(same); same {
		f.doc.sync = inSync // the saved text is the editor's
		w.noteWritten(f.path, f.Text())
	}
}

// Close handles didClose: from now on the text is the disk's.
func (w *Workspace) Close(uri string) {
	w.traffic.Heard(w.o.Now())
	f, uri := w.document(uri)
	w.withoutName(uri)
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.doc != nil && f.doc.rivals > 0 {
		f.doc.rivals--
		if f.uri == uri { // the changes under the other name were not applied
			f.doc.sync = max(f.doc.sync, maybeDrifted)
		}
		return
	}
	w.documentClosed(f)
}

// withoutName removes a name that the client has a document open under.
func (w *Workspace) withoutName(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.uris, uri)
}

// documentClosed makes the text of a document the disk's. f.mu is held.
func (w *Workspace) documentClosed(f *file) {
	defer f.Settle(true)
	f.doc = nil
	f.disk.Stat, f.disk.valid = stored.Stat{Size: f.disk.Size}, unsure
	f.disk.wake = nil         // the disk differs from the buffer, which is no stale save
	if w.movingAway(f.path) { // its text goes on at the new path
		f.Wake()
		return
	}
	rev := f.Rev()
	if err := w.refresh(f); err != nil {
		f.disk.last = f.hash()
		f.Drop()
		w.o.Log.Debug("closed document cannot be read", "path", f.path, "error", err)
	} else if f.Rev() == rev && f.disk.valid == wasRead {
		f.disk.valid = wasWritten // by the editor
	}
	w.landExpected(f)
	f.expected = nil
	f.Wake()
}

// maxResyncs is how often Resync is repeated because its text was out of date when it came.
const maxResyncs = 5

// resyncIfUnsure requests the whole text of a document whose text is uncertain. If there is no answer, the next call requests
// it again.
func (w *Workspace) resyncIfUnsure(ctx context.Context, f *file) {
	for range maxResyncs {
		f.mu.Lock()
		ask, uri := f.uncertain() && w.o.Features.Resync, f.uri
		f.mu.Unlock()
		if !ask || !w.resync(ctx, f, uri) {
			return
		}
	}
}

// resync requests it once; false means that there was no answer.
func (w *Workspace) resync(ctx context.Context, f *file, uri string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	content, version, err := w.o.Editor.Resync(ctx, uri)
	if err != nil {
		w.o.Log.Warn("the editor does not give the text of a document", "uri", uri, "error", err)
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.doc == nil || f.uri != uri {
		return true
	}
	late := f.doc.version != version
	if f.doc.sync == lostSync { // the change that was not understood may have had any later version
		late = version < f.doc.version
	}
	switch {
	case f.doc.unversioned:
	case late:
		return true
	default:
		f.doc.version = version
	}
	if now := text.New(content); !now.Equal(f.Text()) {
		w.record(f, text.Infer(f.Text(), now), filetime.User)
	}
	f.doc.sync = inSync
	return true
}

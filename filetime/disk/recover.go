package disk

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Recovered is an intent of a process that ended without an outcome, and its outcome.
type Recovered struct {
	Intent
	Outcome Outcome
	// Files are the outcomes of Intent.Files.
	Files []RecoveredFile
}

// RecoveredFile is the outcome of one operation.
type RecoveredFile struct {
	Outcome Outcome
	// Merged says that what another program had saved was in a temporary file and is merged into
	// the file now. Kept are the hashes of such contents in the journal.
	Merged bool
	Kept   []string
}

// Recover finds the outcomes of open intents of processes that have ended, the oldest first. It
// judges by the content of the files, removes temporary files, and changes a file only to restore
// what another program had saved.
//
// A file with the content after the intent has landed, one with the content before has not, and a
// buffer is unknown. Any other content is foreign: another program has saved it since, and it
// stays.
func (d *Disk) Recover() ([]Recovered, error) {
	if d.o.Journal == nil {
		return nil, nil
	}
	orphans, err := d.o.Journal.Orphans()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(orphans, func(a, b Intent) int { return cmp.Compare(b.ID, a.ID) })
	r := recovery{d: d, temps: map[string][]string{}, files: map[string]*trail{}}
	out := make([]Recovered, 0, len(orphans))
	for _, in := range orphans {
		out = append(out, r.intent(in))
	}
	d.mu.Lock()
	for d.running > 0 {
		d.idle.Wait()
	}
	d.mu.Unlock()
	d.sync()
	slices.Reverse(out)
	return out, nil
}

// recovery goes from the newest intent to the oldest.
type recovery struct {
	d     *Disk
	temps map[string][]string // temporary files by folder
	files map[string]*trail   // by path
}

// trail is the state of a file on the way back through its intents.
type trail struct {
	data   []byte
	exists bool
	err    error // it exists and cannot be read
	hash   string
	// hashBefore is the hash of the content when the next intent began; ours says that only our own
	// changes came after that.
	hashBefore string
	onlyOurs   bool
}

func (r *recovery) intent(in Intent) Recovered {
	c := r.d.Change(in)
	c.intents = []*loggedIntent{{Intent: in, mark: markOf(in)}}
	out := Recovered{Intent: in, Outcome: NotLanded, Files: make([]RecoveredFile, len(in.Files))}
	all := map[Outcome]bool{}
	for i, p := range slices.Backward(in.Files) {
		f := &out.Files[i]
		f.Outcome = Unknown
		if !p.Buffer {
			r.file(c, i, f)
		}
		all[f.Outcome] = true
		out.Outcome = f.Outcome
	}
	switch {
	case all[Unknown]:
		out.Outcome = Unknown
	case len(all) > 1:
		out.Outcome = Partly
	}
	c.End(out.Outcome)
	return out
}

// file judges one file and removes its temporary files.
func (r *recovery) file(c *Change, i int, out *RecoveredFile) {
	p := c.intents[0].Files[i]
	w, err := c.fileChange(p.Path)
	if err != nil {
		out.Outcome = Foreign
		switch {
		case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP): // the folder was replaced by something else
		case !errors.Is(err, fs.ErrNotExist):
			c.leaveOpen()
		case p.BeforeHash == "": // not even the folder was made
			out.Outcome = NotLanded
		}
		return
	}
	defer w.close()
	w.in, w.file, w.deletes = c.intents[0], i, p.Op == Delete
	w.ownHashes[p.BeforeHash], w.ownHashes[p.AfterHash] = true, true
	w.addDir(w.at.dir)
	if p.Op == Move {
		r.finishRelink(w, p)
		out.Outcome = w.judgeMove(p)
		r.recordMove(c, p, out.Outcome)
		return
	}
	t := r.files[p.Path]
	if t == nil {
		t = &trail{onlyOurs: true}
		r.files[p.Path] = t
		t.read(w)
		t.hashBefore = t.hash
	}
	switch t.hashBefore {
	case p.AfterHash:
		out.Outcome = Landed
	case p.BeforeHash:
		out.Outcome = NotLanded
	default:
		out.Outcome, t.onlyOurs = Foreign, false
	}
	if t.err != nil {
		out.Outcome, t.onlyOurs = Foreign, false
	}
	for _, name := range r.tempFiles(w) {
		r.clear(w, p, name, t, out)
	}
	t.hashBefore = p.BeforeHash
}

func (t *trail) read(w *fileChange) {
	v, err := w.d.read(w.dir, w.at.name)
	t.data, t.hash, t.exists, t.err = nil, "", err == nil, err
	if errors.Is(err, fs.ErrNotExist) {
		t.err = nil
	}
	if err == nil {
		t.data, t.hash = v.data, v.sum()
		v.close()
	}
}

// tempFiles lists the temporary files of an operation in the order in which they were made.
func (r *recovery) tempFiles(w *fileChange) []string {
	all, ok := r.temps[w.at.dir]
	if !ok {
		names, err := w.dir.Names()
		if err != nil {
			w.d.o.Log.Warn("a folder cannot be searched for temporary files", "path", w.at.dir, "error", err)
			w.c.leaveOpen()
			return nil
		}
		all = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, TempPrefix) })
		r.temps[w.at.dir] = all
	}
	prefix := w.in.temp(w.file)
	number := func(name string) int {
		digits, _, _ := strings.Cut(name[len(prefix):], ".")
		n, _ := strconv.Atoi(digits)
		return n
	}
	var out []string
	for _, n := range all {
		if strings.HasPrefix(n, prefix) {
			out = append(out, n)
			w.in.n = max(w.in.n, number(n))
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return out
}

// clear removes a temporary file. If its content is neither the one before nor ours, another
// program saved it: it is kept in the journal, and merged into the file if that still has our
// content.
func (r *recovery) clear(w *fileChange, p Planned, name string, t *trail, out *RecoveredFile) {
	leave := func(err error) {
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
		w.d.o.Log.Error("a file is left behind", "path", place{w.at.dir, name}.path(), "error", err)
		w.c.leaveOpen()
	}
	if strings.HasSuffix(name, partSuffix) {
		leave(w.dir.Remove(name))
		return
	}
	v, err := w.d.read(w.dir, name)
	if err != nil && !errors.Is(err, ErrNotRegular) && !errors.Is(err, ErrTooLarge) {
		leave(err)
		return
	}
	back := out.Outcome == Landed && t.onlyOurs && t.exists != w.deletes
	switch {
	case err != nil && !back:
		leave(err)
		return
	case err == nil && (w.ownHashes[v.sum()] || t.exists && v.sum() == t.hash):
		w.ownHashes[v.sum()] = true
		w.discard(name, v)
		return
	}
	if v != nil {
		kept, err := w.c.keep(w.at, v.data)
		if err != nil {
			v.close()
			leave(err)
			return
		}
		out.Kept = append(out.Kept, kept)
		w.ownHashes[v.sum()] = true
	}
	switch {
	case !back:
		w.discard(name, v)
	case w.deletes: // it was to be deleted, and another program saved it at that moment
		v.close()
		err := w.d.place(w.dir, name, w.at.name)
		if errors.Is(err, fs.ErrExist) && v != nil { // and the path exists again
			err = w.dir.Remove(name)
		}
		leave(err)
		out.Outcome, t.onlyOurs = Foreign, false
		t.read(w)
	default:
		r.mergeBack(w, p, name, v, t, out)
	}
}

// mergeBack merges what another program had saved into the file with our content. If they conflict,
// or the base of the merge is lost, theirs replaces the file.
func (r *recovery) mergeBack(w *fileChange, p Planned, name string, v *openedFile, t *trail, out *RecoveredFile) {
	var merged []byte
	err := ErrNotRegular
	switch {
	case v == nil:
	case p.Before == nil && p.BeforeHash != "": // the journal has dropped the content before
		err = ErrChanged
	default:
		merged, err = w.d.o.Merge(w.at.path(), p.Before, t.data, v.data)
	}
	w.ownHashes[t.hash] = true
	switch {
	case err == nil && Hash(merged) == t.hash:
		w.discard(name, v)
		out.Merged = true
		return
	case err == nil:
		var temp string
		if temp, _, err = w.write(sideOf(merged), w.at.name, true); err != nil {
			v.close()
			w.c.leaveOpen()
			break
		}
		// If another program saves something in conflict at this moment, that stays.
		_, err = w.swap(temp, sideOf(t.data), sideOf(merged))
		out.Merged = err == nil
		if err != nil {
			out.Outcome, t.onlyOurs = Foreign, false
		}
		w.discard(name, v)
	default:
		theirs := side{unknown: true}
		if v != nil {
			theirs = v.side
			v.close()
		}
		if _, err := w.swap(name, sideOf(t.data), theirs); err != nil {
			w.d.o.Log.Error("what another program had saved could not be restored", "path", w.at.path(), "error", err)
			w.c.leaveOpen()
		}
		out.Outcome, t.onlyOurs = Foreign, false
	}
	t.read(w)
}

// recordMove takes in a Move: what older intents say of the path that it led from is about the file
// where it is now. What they left beside it there is kept in the journal and not merged any more.
func (r *recovery) recordMove(c *Change, p Planned, o Outcome) {
	if o != Landed {
		if t := r.files[p.Path]; t != nil {
			t.hashBefore = p.BeforeHash
		}
		return
	}
	t := r.files[p.To]
	if t == nil {
		t = &trail{}
		if there, err := c.fileChange(p.To); err == nil {
			t.read(there)
			there.close()
		}
	}
	t.hashBefore, t.onlyOurs = p.BeforeHash, false
	r.files[p.Path], r.files[p.To] = t, &trail{}
}

// finishRelink ends a relink: the name that the file had in between is removed if it is that of the
// moved file, else it is what another program had saved, and that goes back.
func (r *recovery) finishRelink(w *fileChange, p Planned) {
	to := placeOf(p.To)
	for _, name := range r.tempFiles(w) {
		dir, err := w.d.o.FS.Open(to.dir)
		// It is also in its place where an earlier recovery was stopped between the link and the
		// removal.
		if err == nil && (same(w.dir, name, dir, to.name) || same(w.dir, name, w.dir, w.at.name)) {
			err = w.dir.Remove(name)
		} else if err == nil {
			err = w.d.place(w.dir, name, w.at.name)
		}
		if dir != nil {
			_ = dir.Close()
		}
		if err != nil {
			w.d.o.Log.Error("a file is left behind", "path", place{w.at.dir, name}.path(), "error", err)
			w.c.leaveOpen()
		}
	}
}

// judgeMove judges a Move.
func (w *fileChange) judgeMove(p Planned) Outcome {
	to := placeOf(p.To)
	from, err := w.dir.Stat(w.at.name)
	here := err == nil
	dir, err := w.d.o.FS.Open(to.dir)
	if err != nil {
		if here {
			return NotLanded
		}
		return Foreign
	}
	defer dir.Close()
	st, err := dir.Stat(to.name)
	switch there := err == nil; {
	case here && !there:
		return NotLanded
	case here && from.Ino == st.Ino && from.Dev == st.Dev: // it has both names
		if err := dir.Remove(to.name); err != nil {
			w.c.leaveOpen()
		}
		return NotLanded
	case !here && there:
		return Landed
	}
	return Foreign
}

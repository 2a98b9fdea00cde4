package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Change is one change of one or more files. Its methods are called one after another.
type Change struct {
	d        *Disk
	template Intent // what all its intents say alike

	mu             sync.Mutex
	intents        []*loggedIntent
	dirs           []string // to be synced
	refs           int      // reference count; at 0 the outcome is written to the journal
	tempLeft       bool     // a temporary file could not be removed
	recentVersions [][]byte // further versions that another program may have read
	outcome        Outcome
}

// loggedIntent is an intent as it stands in the journal.
type loggedIntent struct {
	Intent
	mark     string
	replaced bool // another one has taken its place
	n        int  // counts the names given
}

// Change begins a change. template names its author; nothing is written yet.
func (d *Disk) Change(like Intent) *Change {
	like.ID, like.Files = 0, nil
	return &Change{d: d, template: like, refs: 1}
}

// Begin writes an intent to the journal. Replace and the others do so themselves for files that no
// intent names. The error is a *JournalError.
func (c *Change) Begin(files ...Planned) error {
	w := &loggedIntent{Intent: c.template}
	w.Time, w.Files = c.d.o.Now(), files
	if c.d.o.Journal == nil {
		w.mark = strings.ToLower(rand.Text()[:12])
	} else {
		id, err := c.d.o.Journal.Begin(w.Intent)
		if err != nil {
			return &JournalError{err}
		}
		w.ID, w.mark = id, markOf(w.Intent)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.intents { // an earlier plan for the same file was not carried out
		o.replaced = o.replaced || len(files) == 1 && len(o.Files) == 1 && o.Files[0].Path == files[0].Path
	}
	c.intents = append(c.intents, w)
	return nil
}

// markOf distinguishes intents of two journals that have the same number.
func markOf(in Intent) string {
	parts := []string{in.Session, in.Call}
	for _, f := range in.Files {
		parts = append(parts, f.Path, f.BeforeHash, f.AfterHash)
	}
	return Hash([]byte(strings.Join(parts, "\x00")))[:8]
}

// temp is how the names begin of what an intent puts beside one of its files.
func (w *loggedIntent) temp(file int) string {
	return fmt.Sprintf("%s%d-%s-%d-", TempPrefix, w.ID, w.mark, file)
}

// SetRecentVersions adds recent versions of the file of the next Replace, which another program may
// have read and may save with changes.
func (c *Change) SetRecentVersions(versions [][]byte) { c.recentVersions = versions }

// End sets the outcome. It is written to the journal once all temporary files of the change are
// removed.
func (c *Change) End(o Outcome) {
	c.mu.Lock()
	c.outcome = o
	c.mu.Unlock()
	c.release()
}

func (c *Change) retain() {
	c.mu.Lock()
	c.refs++
	c.mu.Unlock()
}

// leaveOpen keeps the intents open, so that recovery removes what could not be removed now.
func (c *Change) leaveOpen() {
	c.mu.Lock()
	c.tempLeft = true
	c.mu.Unlock()
}

func (c *Change) release() {
	c.mu.Lock()
	c.refs--
	over, effects := c.refs == 0, len(c.dirs) > 0
	c.mu.Unlock()
	switch {
	case over && effects:
		c.d.scheduleSync(c)
	case over:
		c.writeOutcome()
	}
}

// writeOutcome writes the outcome to the journal.
func (c *Change) writeOutcome() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.d.o.Journal == nil || c.tempLeft {
		return
	}
	for _, w := range c.intents {
		o := c.outcome
		if w.replaced {
			o = NotLanded
		}
		if err := c.d.o.Journal.End(w.ID, o); err != nil {
			c.d.o.Log.Warn("the end of a change is not in the journal", "intent", w.ID, "error", err)
		}
	}
}

// keep stores in the journal what another program saved.
func (c *Change) keep(at place, data []byte) (string, error) {
	if c.d.o.Journal == nil {
		return "", errors.New("there is no journal")
	}
	c.mu.Lock()
	id := c.intents[len(c.intents)-1].ID
	c.mu.Unlock()
	return c.d.o.Journal.Keep(id, at.path(), data)
}

// fileChange is the change of one file.
type fileChange struct {
	c             *Change
	d             *Disk
	at            place
	dir           Dir
	in            *loggedIntent
	file          int             // of the intent
	ownHashes     map[string]bool // hashes of our versions, and of those that the journal has
	foreignHashes map[string]bool // hashes of what others saved, even if we would write the same
	mergedHashes  map[string]bool // those of them that are merged with ours
	deletes       bool            // the file is to be deleted
	displaced     []displacedFile
}

// displacedFile is a displaced file that no other process has open for writing.
type displacedFile struct {
	temp string
	v    *openedFile
}

// fileChange opens a file's folder.
func (c *Change) fileChange(path string) (*fileChange, error) {
	w := &fileChange{
		c: c, d: c.d, at: placeOf(path), ownHashes: map[string]bool{}, foreignHashes: map[string]bool{}, mergedHashes: map[string]bool{},
	}
	var err error
	w.dir, err = c.d.o.FS.Open(w.at.dir)
	return w, err
}

// begin finds the intent for p, or writes one to the journal.
func (w *fileChange) begin(p Planned) error {
	if !w.findIntent(p) {
		if err := w.c.Begin(p); err != nil {
			return err
		}
		w.findIntent(p)
	}
	w.ownHashes[p.BeforeHash], w.ownHashes[p.AfterHash] = true, true
	w.addDir(w.at.dir)
	return nil
}

func (w *fileChange) findIntent(p Planned) bool {
	for _, in := range w.c.intents {
		for i, q := range in.Files {
			if !in.replaced && q.Op == p.Op && q.Path == p.Path && q.To == p.To && q.BeforeHash == p.BeforeHash &&
				q.AfterHash == p.AfterHash {
				w.in, w.file = in, i
				return true
			}
		}
	}
	return false
}

// addDir adds a folder to those to be synced.
func (w *fileChange) addDir(dir string) {
	w.c.mu.Lock()
	w.c.dirs = append(w.c.dirs, dir)
	w.c.mu.Unlock()
}

// close removes the displaced files in the background.
func (w *fileChange) close() {
	if len(w.displaced) == 0 {
		_ = w.dir.Close()
		return
	}
	w.c.retain()
	w.d.mu.Lock()
	w.d.running++
	w.d.mu.Unlock()
	w.d.o.Go(func() {
		defer w.d.endBackground()
		for _, s := range w.displaced {
			w.dispose(s)
		}
		_ = w.dir.Close()
		w.c.release()
	})
}

// tempName is an unused name for a temporary file.
func (w *fileChange) tempName() string {
	w.in.n++
	return fmt.Sprintf("%s%d", w.in.temp(w.file), w.in.n)
}

// check refuses files that cannot be changed, before an intent is written.
func (w *fileChange) check() (Stat, error) {
	st, err := w.dir.Stat(w.at.name)
	switch {
	case err != nil:
		return st, changedIfMissing(err)
	case !st.Mode.IsRegular():
		return st, ErrNotRegular
	case st.Mode&0o222 == 0:
		return st, &fs.PathError{Op: "write", Path: w.at.path(), Err: fs.ErrPermission}
	}
	return st, w.dir.Writable(w.at.name)
}

// changedIfMissing is ErrChanged for a file that does not exist any more.
func changedIfMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err
}

// Result is the result of a change of one file.
type Result struct {
	// After is the new content: what was to be written, merged with what others saved meanwhile.
	After []byte
	// Versions are recent contents, the newest last, which another program may have read and may
	// save with changes.
	Versions [][]byte
	// Warnings are for a person; the name of the file comes before each.
	Warnings []string
}

// Replace is a compare-and-swap of base by ours, with a three-way merge over concurrent saves. The
// error is ErrChanged if the file does not exist, and Merge's on a conflict: the saved text stays.
func (c *Change) Replace(path string, base, ours []byte) (Result, error) {
	w, err := c.fileChange(path)
	if err != nil {
		return Result{}, changedIfMissing(err)
	}
	defer w.close()
	st, err := w.check()
	if err != nil {
		return Result{}, err
	}
	// A file without a name has no effect, so it is written while the intent is.
	d := w.prepare(sideOf(ours), w.at.name, 0)
	was, now := sideOf(base), sideOf(ours)
	if err := w.begin(Planned{Op: Edit, Path: path, Before: base, BeforeHash: was.sum(), AfterHash: now.sum()}); err != nil {
		d.drop()
		return Result{}, err
	}
	temp, warnings, err := w.nameTemp(d)
	if err != nil {
		return Result{}, changedIfMissing(err)
	}
	if st.Links > 1 {
		warnings = append(warnings, "had other hard links (nlink > 1); they keep the old text")
	}
	r, err := w.swap(temp, was, now)
	r.Warnings = append(warnings, r.Warnings...)
	return r, err
}

// Create makes a file with some permissions, less those that the process may not give, and with the
// folders that it needs; 0 is the usual ones. The error is ErrChanged if the path exists.
func (c *Change) Create(path string, content []byte, mode fs.FileMode) (Result, error) {
	w, err := c.fileChange(path)
	made := errors.Is(err, fs.ErrNotExist) // the folder is missing too
	switch {
	case err == nil:
		defer w.close()
		switch _, err = w.dir.Stat(w.at.name); {
		case err == nil:
			return Result{}, fmt.Errorf("%w: %w", ErrChanged, fs.ErrExist)
		case !errors.Is(err, fs.ErrNotExist):
			return Result{}, err
		}
	case !made:
		return Result{}, err
	}
	now := sideOf(content)
	var d *tempFile
	if !made {
		d = w.prepare(now, "", mode)
	}
	if err := w.begin(Planned{Op: Create, Path: path, AfterHash: Hash(content)}); err != nil {
		if d != nil {
			d.drop()
		}
		return Result{}, err
	}
	if d != nil {
		return Result{After: content}, w.create(d)
	}
	folders, err := w.folders(w.at.dir)
	if err == nil {
		w.dir, err = c.d.o.FS.Open(w.at.dir)
	}
	if err == nil {
		defer w.close()
		err = w.create(w.prepare(now, "", mode))
	}
	if err != nil {
		w.removeFolders(folders)
	}
	return Result{After: content}, err
}

func (w *fileChange) create(d *tempFile) error {
	temp, _, err := w.nameTemp(d)
	if err != nil {
		return err
	}
	if err = w.d.place(w.dir, temp, w.at.name); err == nil {
		return nil
	}
	w.remove(temp)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err
}

// folders is mkdir -p; it gives the folders that it made, the outermost first.
func (w *fileChange) folders(path string) (made []place, err error) {
	dir, err := w.d.o.FS.Open(path)
	if err == nil {
		return nil, dir.Close()
	}
	at := placeOf(path)
	if !errors.Is(err, fs.ErrNotExist) || at.path() == at.dir {
		return nil, err
	}
	if made, err = w.folders(at.dir); err != nil {
		return made, err
	}
	dir, err = w.d.o.FS.Open(at.dir)
	if err != nil {
		return made, err
	}
	defer dir.Close()
	switch err = dir.Mkdir(at.name); {
	case err == nil:
		w.addDir(at.dir)
		return append(made, at), nil
	case errors.Is(err, fs.ErrExist):
		return made, nil
	}
	return made, err
}

// removeFolders removes the folders that were made for a file that could not be created, unless
// they are not empty.
func (w *fileChange) removeFolders(made []place) {
	for i := len(made) - 1; i >= 0; i-- {
		dir, err := w.d.o.FS.Open(made[i].dir)
		if err != nil {
			return
		}
		err = dir.Rmdir(made[i].name)
		_ = dir.Close()
		if err != nil {
			return
		}
	}
}

// expect refuses a file that cannot be changed, or whose content is not was.
func (c *Change) expect(path string, was side) (*fileChange, error) {
	w, err := c.fileChange(path)
	if err != nil {
		return nil, changedIfMissing(err)
	}
	if _, err = w.check(); err == nil {
		var v *openedFile
		if v, err = w.d.read(w.dir, w.at.name); err == nil {
			v.close()
			if !v.is(was) {
				err = ErrChanged
			}
		}
	}
	if err != nil {
		w.close()
		return nil, changedIfMissing(err)
	}
	return w, nil
}

// Delete removes a file that says base. The error is ErrChanged where it says something else.
func (c *Change) Delete(path string, base []byte) (Result, error) {
	was := sideOf(base)
	w, err := c.expect(path, was)
	if err != nil {
		return Result{}, err
	}
	defer w.close()
	w.deletes = true
	if err := w.begin(Planned{Op: Delete, Path: path, Before: base, BeforeHash: was.sum()}); err != nil {
		return Result{}, err
	}
	temp := w.tempName()
	if err := w.dir.Rename(w.at.name, temp); err != nil {
		return Result{}, changedIfMissing(err)
	}
	v, err := w.d.read(w.dir, temp)
	if err == nil && v.is(was) {
		w.discard(temp, v)
		return Result{}, nil
	}
	// Another program saved it at the last moment. If the path exists again by now, that file
	// stays.
	switch put := w.d.place(w.dir, temp, w.at.name); {
	case put == nil:
		v.close()
		return Result{}, ErrChanged
	case errors.Is(put, fs.ErrExist) && err == nil:
		w.discard(temp, v)
	default:
		v.close()
		w.c.leaveOpen()
		err = errors.Join(err, put)
	}
	return Result{}, errors.Join(ErrChanged, err)
}

// Move gives a file that says base another name, which nothing may have, in a folder that is made
// where it is missing. What another program saves meanwhile moves along. The error is ErrChanged
// where the file says something else, or where there is something already, and ErrAcross where to
// is on another file system.
func (c *Change) Move(from, to string, base []byte) (Result, error) {
	was := sideOf(base)
	w, err := c.expect(from, was)
	if err != nil {
		return Result{}, err
	}
	defer w.close()
	p := Planned{Op: Move, Path: from, To: to, Before: base, BeforeHash: was.sum(), AfterHash: was.sum()}
	if err := w.begin(p); err != nil {
		return Result{}, err
	}
	return Result{After: base}, w.rename(to)
}

func (w *fileChange) rename(to string) error {
	there := placeOf(to)
	made, err := w.folders(there.dir)
	if err == nil {
		err = w.move(there)
	}
	if err != nil {
		w.removeFolders(made)
	}
	return err
}

func (w *fileChange) move(to place) error {
	dir, err := w.d.o.FS.Open(to.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	w.addDir(to.dir)
	err = w.dir.Place(w.at.name, dir, to.name)
	switch {
	case unsupported(err):
		err = w.relink(dir, to)
	case errors.Is(err, fs.ErrExist) && w.sameFileOtherCase(dir, to):
		err = w.dir.Rename(w.at.name, to.name)
	}
	switch {
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrChanged, err)
	case errors.Is(err, syscall.EXDEV):
		return fmt.Errorf("%w: %w", ErrAcross, err)
	}
	return err
}

// relink is a rename that does not replace, for a file system that has only hard links for that.
func (w *fileChange) relink(dir Dir, to place) error {
	if err := w.dir.Link(w.at.name, dir, to.name); err != nil {
		return err
	}
	temp := w.tempName()
	if err := w.dir.Rename(w.at.name, temp); err != nil {
		return errors.Join(err, dir.Remove(to.name))
	}
	if same(w.dir, temp, dir, to.name) {
		return w.dir.Remove(temp)
	}
	// Another program has saved the file just now: it stays.
	switch err := w.d.place(w.dir, temp, w.at.name); {
	case errors.Is(err, fs.ErrExist): // and once more: what it was in between is kept
		if v, err := w.d.read(w.dir, temp); err == nil {
			w.discard(temp, v)
		}
	case err != nil:
		w.c.leaveOpen()
	}
	return errors.Join(ErrChanged, dir.Remove(to.name))
}

// same says that two names are those of one file.
func same(a Dir, name string, b Dir, as string) bool {
	x, err1 := a.Stat(name)
	y, err2 := b.Stat(as)
	return err1 == nil && err2 == nil && x.Ino == y.Ino && x.Dev == y.Dev
}

// sameFileOtherCase says that a name that is taken is the file's own, in letters of another case.
func (w *fileChange) sameFileOtherCase(dir Dir, to place) bool {
	if to.dir != w.at.dir || to.name == w.at.name || !strings.EqualFold(to.name, w.at.name) {
		return false
	}
	st, err := dir.Stat(to.name)
	return err == nil && (st.Links == 1 || st.Mode.IsDir()) && same(w.dir, w.at.name, dir, to.name)
}

// Folders makes a folder, with those that it needs, and gives those that it made, the outermost
// first. Unmake removes those of them that are empty. Neither is in the journal: a crash leaves an
// empty folder at most.
func (c *Change) Folders(path string) (made []string, err error) {
	w := &fileChange{c: c, d: c.d}
	at, err := w.folders(path)
	for _, p := range at {
		made = append(made, p.path())
	}
	return made, err
}

// Unmake is the inverse of Folders.
func (c *Change) Unmake(made []string) {
	w := &fileChange{c: c, d: c.d}
	var at []place
	for _, p := range made {
		at = append(at, placeOf(p))
	}
	w.removeFolders(at)
}

// partSuffix ends the name of a temporary file while it is being written, so that recovery never
// takes a part for the whole.
const partSuffix = ".part"

// writerWait is how long to wait for a file that another process has open for writing, and step the
// polling interval.
const (
	writerWait = 20 * time.Millisecond
	writerPoll = time.Millisecond
)

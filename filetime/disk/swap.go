package disk

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// unsupported says that the file system does not implement a call.
func unsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP)
}

// noHardLink says that the file system has no hard links, or no more of this file.
func noHardLink(err error) bool {
	return unsupported(err) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EMLINK) || errors.Is(err, syscall.EXDEV)
}

// openedFile is a file that was read, and is still open.
type openedFile struct {
	side
	file       File
	stat       Stat
	alone      bool // no other process can write to it until it is closed, see File.Alone
	aloneKnown bool
}

func (v *openedFile) close() {
	if v != nil && v.file != nil {
		_ = v.file.Close()
		v.file = nil
	}
}

// read reads a file. The error is ErrNotRegular or ErrTooLarge, or that of the system.
func (d *Disk) read(dir Dir, name string) (*openedFile, error) {
	f, err := dir.Open(name)
	switch {
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO):
		return nil, ErrNotRegular
	case err != nil:
		return nil, err
	}
	return d.readOpened(f)
}

// readOpened is look for an open file, which it closes unless it gives it.
func (d *Disk) readOpened(f File) (_ *openedFile, err error) {
	v := &openedFile{file: f}
	defer func() {
		if err != nil {
			v.close()
		}
	}()
	v.stat, err = f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !v.stat.Mode.IsRegular():
		return nil, ErrNotRegular
	case d.o.Limit > 0 && v.stat.Size > d.o.Limit:
		return nil, ErrTooLarge
	}
	v.alone, v.aloneKnown = f.Alone()
	r := io.Reader(f)
	if d.o.Limit > 0 {
		r = io.LimitReader(f, d.o.Limit+1)
	}
	v.data = make([]byte, 0, v.stat.Size+512)
	for {
		if len(v.data) == cap(v.data) {
			v.data = append(v.data, 0)[:len(v.data)]
		}
		n, err := r.Read(v.data[len(v.data):cap(v.data)])
		v.data = v.data[:len(v.data)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if d.o.Limit > 0 && int64(len(v.data)) > d.o.Limit {
		return nil, ErrTooLarge
	}
	return v, nil
}

// readDisplaced is look that waits a little for a process that is writing the file, if the content
// is not the expected one.
func (w *fileChange) readDisplaced(temp string, expected side) (*openedFile, error) {
	v, err := w.d.read(w.dir, temp)
	for waited := time.Duration(0); err == nil && !v.is(expected) && !v.alone && waited < writerWait; waited += writerPoll {
		v.close()
		pause := make(chan struct{})
		w.d.o.After(writerPoll, func() { close(pause) })
		<-pause
		v, err = w.d.read(w.dir, temp)
	}
	return v, err
}

// tempFile is a new file on its way to the disk.
type tempFile struct {
	content  side
	template string      // the file whose metadata it gets, "" for none
	mode     fs.FileMode // without one; 0 is the usual
	f        File
	warnings []string
	err      error
	ready    chan struct{}
}

// prepare begins to write an anonymous file.
func (w *fileChange) prepare(content side, like string, mode fs.FileMode) *tempFile {
	d := &tempFile{content: content, template: like, mode: mode, ready: make(chan struct{})}
	w.d.o.Go(func() {
		defer close(d.ready)
		d.err = w.fill(d, true, w.dir.Anonymous)
	})
	return d
}

func (w *fileChange) fill(d *tempFile, sync bool, open func(fs.FileMode) (File, error)) (err error) {
	mode := cmp.Or(d.mode.Perm(), 0o666)
	var model File
	if d.template != "" {
		if model, err = w.dir.Open(d.template); err != nil {
			return err
		}
		defer model.Close()
		mode = 0o600
	}
	if d.f, err = open(mode); err != nil {
		return err
	}
	_, err = d.f.Write(d.content.data)
	if err == nil && model != nil {
		d.warnings, err = copyMetadata(d.f, model)
	}
	if err == nil && sync {
		err = d.f.Sync()
	}
	return err
}

// drop closes an anonymous file.
func (d *tempFile) drop() {
	<-d.ready
	if d.f != nil {
		_ = d.f.Close()
		d.f = nil
	}
}

// nameTemp gives a temporary file a name.
func (w *fileChange) nameTemp(d *tempFile) (name string, warnings []string, err error) {
	<-d.ready
	if err = d.err; err == nil {
		name = w.tempName()
		err = d.f.Name(w.dir, name)
	}
	anonymous := d.f != nil
	if anonymous {
		if cerr := d.f.Close(); err == nil {
			err = cerr
		}
	}
	// Not every file system has anonymous files, and not every container has the /proc that is
	// needed to name them.
	if !anonymous && (unsupported(err) || errors.Is(err, syscall.EISDIR)) || anonymous && d.err == nil && err != nil && !noSpace(err) {
		return w.write(d.content, d.template, true)
	}
	return name, d.warnings, err
}

func noSpace(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// write makes a temporary file, which has the suffix partSuffix until it is complete.
func (w *fileChange) write(content side, like string, sync bool) (name string, warnings []string, err error) {
	name = w.tempName()
	d := &tempFile{content: content, template: like}
	err = w.fill(d, sync, func(mode fs.FileMode) (File, error) { return w.dir.Create(name+partSuffix, mode) })
	if d.f == nil {
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("no file can be made in its folder, which a safe change needs: %w", err)
		}
		return "", nil, err
	}
	if cerr := d.f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = w.dir.Rename(name+partSuffix, name)
	}
	if err != nil {
		w.remove(name + partSuffix)
		return "", nil, err
	}
	w.ownHashes[content.sum()] = true
	return name, d.warnings, nil
}

// copyMetadata gives f the mode without setuid and setgid, the owner and the attributes of another
// file. The attribute that gives a program rights of the system goes too.
func copyMetadata(f, model File) (warnings []string, err error) {
	st, err := model.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode.IsRegular() {
		return nil, ErrNotRegular
	}
	now, err := f.Stat()
	if err != nil {
		return nil, err
	}
	mode := st.Mode & (fs.ModePerm | fs.ModeSticky) // new content does not run with the rights of the file's owner or group
	if st.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		warnings = append(warnings, "ran with the rights of its owner or group (setuid, setgid); the new text does not")
	}
	if now.UID != st.UID || now.GID != st.GID {
		if err := f.Chown(st.UID, st.GID); err != nil {
			if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EINVAL) {
				return nil, err
			}
			_ = f.Chown(-1, st.GID) // a group may be one of the user's
			warnings = append(warnings, "belonged to another user; it is yours now")
		}
	}
	if err := f.Chmod(mode); err != nil {
		return nil, err
	}
	want, err := model.Xattrs()
	if err != nil {
		return nil, err
	}
	have, err := f.Xattrs()
	if err != nil {
		return nil, err
	}
	delete(want, "security.capability")
	for name := range have { // inherited from the folder
		if _, ok := want[name]; !ok {
			want[name] = nil
		}
	}
	for name, value := range want {
		if old, ok := have[name]; ok && value != nil && string(old) == string(value) {
			continue
		}
		// Privileged attributes cannot always be set.
		err := f.SetXattr(name, value)
		if err != nil && !strings.HasPrefix(name, "security.") && !strings.HasPrefix(name, "trusted.") {
			return nil, err
		}
	}
	return warnings, nil
}

// discard removes a displaced file once no other process has it open for writing. What another
// program saved goes to the journal first. It takes ownership of v.
func (w *fileChange) discard(temp string, v *openedFile) {
	if (w.foreignHashes[v.sum()] || !w.ownHashes[v.sum()]) && (w.d.o.Journal != nil || !w.mergedHashes[v.sum()]) {
		if _, err := w.c.keep(w.at, v.data); err != nil {
			w.d.o.Log.Error("what another program saved could not be kept in the journal and stays where it is", "path",
				filepath.Join(w.at.dir, temp), "error", err)
			w.c.leaveOpen()
			v.close()
			return
		}
	}
	if v.alone {
		w.displaced = append(w.displaced, displacedFile{temp, v})
		return
	}
	v.close()
	w.d.retain(&retainedFile{c: w.c, at: w.at, temp: temp, data: v.data, deletes: w.deletes})
}

// dispose removes a displaced file that no other process had open for writing. A file opened since
// is retained.
func (w *fileChange) dispose(s displacedFile) {
	h := &retainedFile{c: w.c, at: w.at, temp: s.temp, data: s.v.data, deletes: w.deletes}
	gone, err := s.v.removeUnlessWriter(w.dir, s.temp, h)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.logLeftBehind(s.temp, err)
	}
	s.v.close()
	if !gone && err == nil {
		w.d.retain(h)
	}
}

// removeUnlessWriter removes a file unless a process waits to open it for writing. If one began to
// wait meanwhile, h gets the file, which has no name then.
func (v *openedFile) removeUnlessWriter(dir Dir, name string, h *retainedFile) (gone bool, err error) {
	if alone, _ := v.file.Alone(); !alone {
		return false, nil
	}
	if err := dir.Remove(name); err != nil {
		return false, err
	}
	if alone, _ := v.file.Alone(); alone {
		return true, nil
	}
	h.file, err = v.file.Again()
	return err != nil, err
}

// remove removes a temporary file, or leaves that to recovery.
func (w *fileChange) remove(temp string) {
	if err := w.dir.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.logLeftBehind(temp, err)
	}
}

func (w *fileChange) logLeftBehind(temp string, err error) {
	w.d.o.Log.Error("a file is left behind", "path", filepath.Join(w.at.dir, temp), "error", err)
	w.c.leaveOpen()
}

const (
	// From this exchange on a file is one that is saved all the time, which could never be changed
	// if it is saved faster than content is synced or merged: content is synced after the exchange,
	// and programs that write in place have to wait for the exchange.
	busyThreshold = 3
	maxTries      = 200
	// How often the file is read before the first exchange, and before each further one, to merge
	// what others have saved.
	firstReads, laterReads = 20, 2
	// How many versions of a file, and bytes of them, are kept that another program may have read.
	maxVersions     = 32
	maxVersionBytes = 16 << 20
)

// errBusy says that a file was saved too often.
var errBusy = errors.New("it is being saved all the time")

// StuckError is a change that could be neither finished nor reverted: what another program had
// saved is in Temp until the next start.
type StuckError struct {
	Temp string
	Err  error
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("%v; what another program had saved is in %s", e.Err, e.Temp)
}

func (e *StuckError) Unwrap() error { return e.Err }

// side is one side of an exchange: bytes, or something that cannot be read as such.
type side struct {
	data    []byte
	hash    string // of data, computed lazily
	unknown bool
}

func sideOf(data []byte) side { return side{data: data} }

func (s *side) sum() string {
	if s.hash == "" {
		s.hash = Hash(s.data)
	}
	return s.hash
}

// is reports whether both have the same bytes, and copies the hash then.
func (s *side) is(o side) bool {
	same := !s.unknown && !o.unknown && bytes.Equal(s.data, o.data)
	if same {
		s.hash = cmp.Or(s.hash, o.hash)
	}
	return same
}

// swap exchanges temp, with the content now, and the file, which should have the content expected.
// If the displaced file has another content, another program has saved it: that is merged with now,
// or in a conflict restored, and exchanged again, until the displaced content is the one that was
// put there before.
func (w *fileChange) swap(temp string, expected, now side) (_ Result, err error) {
	type displaced struct {
		temp string
		v    *openedFile
	}
	var merged []displaced // what others saved and now contains
	stuck := func(err error) (Result, error) {
		w.c.leaveOpen()
		for _, m := range merged {
			m.v.close()
		}
		merged = nil
		return Result{}, &StuckError{filepath.Join(w.at.dir, temp), err}
	}
	defer func() {
		for _, m := range merged {
			w.discard(m.temp, m.v)
		}
	}()
	var refused error
	unsynced := false
	readVersions := append(slices.Clone(w.c.recentVersions), expected.data) // what programs may have read that save now
	var pinned *openedFile                                                  // the file under a lease until it is exchanged
	defer func() { pinned.close() }()
	if w.ownHashes[now.sum()] && !now.unknown {
		var a attempt
		a, pinned = w.catchUp(attempt{temp, expected, now}, &readVersions, firstReads, false)
		unsynced = a.temp != temp
		temp, expected, now = a.temp, a.base, a.target
	}
	for try := 1; ; try++ {
		switch err := w.dir.Exchange(temp, w.at.name); {
		case err == nil:
		case try == 1 && unsupported(err):
			if unsynced {
				if err := w.sync(temp); err != nil {
					w.remove(temp)
					return Result{}, err
				}
			}
			return w.replace(temp, expected, now)
		case try == 1 && w.ownHashes[now.sum()]:
			w.remove(temp)
			return Result{}, changedIfMissing(err)
		case errors.Is(err, fs.ErrNotExist): // removed after our exchange: it stays removed
			if v, err := w.d.read(w.dir, temp); err == nil {
				w.discard(temp, v)
			} else {
				return stuck(err)
			}
			return Result{After: now.data, Versions: newestVersions(readVersions)}, refused
		default:
			return stuck(err)
		}
		v, err := w.readDisplaced(temp, expected)
		pinned.close()
		pinned = nil
		if err == nil && v.is(expected) {
			r := Result{After: now.data, Versions: newestVersions(readVersions)}
			if unsynced {
				if err := w.sync(w.at.name); err != nil {
					r.Warnings = []string{fmt.Sprintf("could not be synced to the disk (%v): a power cut may lose the change", err)}
				}
			}
			w.discard(temp, v)
			return r, refused
		}
		if expected.unknown {
			v.close()
			return stuck(cmp.Or(refused, err, ErrNotRegular))
		}
		if err == nil && v.sum() != w.in.Files[w.file].BeforeHash {
			w.foreignHashes[v.sum()] = true
		}
		var next side
		var nextTemp string
		if err == nil && (now.unknown || try >= maxTries) {
			err = errBusy
		}
		if err == nil {
			versions := append([][]byte{expected.data}, readVersions...)
			if refused != nil { // what is being restored is theirs, too
				versions = append([][]byte{now.data}, versions...)
			}
			switch base := w.d.o.Nearest(versions, v.data); {
			case refused != nil && base != 1: // it was saved again without ours: the newest stays
				err = refused
			default:
				next.data, err = w.d.o.Merge(w.at.path(), versions[base], now.data, v.data)
			}
		}
		if err == nil {
			unsynced = try >= busyThreshold
			nextTemp, _, err = w.write(next, temp, !unsynced)
		}
		if err == nil {
			merged, w.mergedHashes[v.sum()] = append(merged, displaced{temp, v}), true
			readVersions = newestVersions(append(readVersions, v.data, now.data))
			var a attempt
			a, pinned = w.catchUp(attempt{nextTemp, now, next}, &readVersions, laterReads, try >= busyThreshold)
			unsynced = unsynced || a.temp != nextTemp
			temp, expected, now = a.temp, a.base, a.target
			continue
		}
		refused = cmp.Or(refused, err)
		theirs := side{unknown: true}
		if v != nil {
			theirs = v.side
			v.close()
		}
		expected, now = now, theirs
	}
}

// newestVersions are the last few of versions.
func newestVersions(versions [][]byte) [][]byte {
	size := 0
	for i, v := range slices.Backward(versions) {
		if size += len(v); size > maxVersionBytes || len(versions)-i > maxVersions {
			return versions[i+1:]
		}
	}
	return versions
}

// catchUp merges what others save before the exchange. A save that it misses is found after the
// exchange, but then other programs may have read the content in between. With pin it gives the
// file under its lease, if it gets one: a program that opens the file for writing waits in the
// kernel until it is closed.
func (w *fileChange) catchUp(a attempt, read *[][]byte, looks int, pin bool) (_ attempt, pinned *openedFile) {
	for range looks {
		v, err := w.d.read(w.dir, w.at.name)
		if err != nil {
			return a, pinned // the exchange finds the same error
		}
		same := v.is(a.base)
		if !same { // the lease was on another file, or was broken
			pinned.close()
			pinned = nil
		}
		if pin && v.alone && pinned == nil {
			pinned = v
		} else {
			v.close()
		}
		if same {
			return a, pinned
		}
		versions := append([][]byte{a.base.data}, *read...)
		merged, err := w.d.o.Merge(w.at.path(), versions[w.d.o.Nearest(versions, v.data)], a.target.data, v.data)
		next, further := sideOf(merged), ""
		if err == nil {
			further, _, err = w.write(next, a.temp, false)
		}
		if err != nil {
			pinned.close()
			return a, nil
		}
		w.remove(a.temp)
		w.foreignHashes[v.sum()], w.mergedHashes[v.sum()] = true, true
		*read = newestVersions(append(*read, v.data))
		a = attempt{further, v.side, next}
	}
	return a, pinned
}

// sync syncs a file that was written without.
func (w *fileChange) sync(name string) error {
	f, err := w.dir.Open(name)
	if err != nil {
		return nil // it was replaced or removed
	}
	defer f.Close()
	return f.Sync()
}

// replace is swap for file systems without exchange: a hard link keeps the old file until it has
// been compared. A save by rename between the comparison and our rename is overwritten.
func (w *fileChange) replace(temp string, base, target side) (Result, error) {
	for try := 1; ; try++ {
		r, next, err := w.tryReplace(temp, base, target)
		if err == nil && next.temp == "" {
			return r, nil
		}
		if err == nil && try >= maxTries {
			temp, err = next.temp, errBusy
		}
		if err != nil {
			if next.temp != "" {
				temp = next.temp
			}
			if w.ownHashes[target.sum()] {
				w.remove(temp)
			} else {
				w.c.leaveOpen()
			}
			return Result{}, changedIfMissing(err)
		}
		temp, base, target = next.temp, next.base, next.target
	}
}

// attempt is one try of replace: temp has the content target, the file should have base.
type attempt struct {
	temp         string
	base, target side
}

func (w *fileChange) tryReplace(temp string, base, target side) (r Result, next attempt, err error) {
	r.After = target.data
	backup := w.tempName()
	from := backup
	err = w.dir.Link(w.at.name, w.dir, backup)
	switch {
	case noHardLink(err) && w.d.o.Journal == nil:
		return r, next, ErrNoBackup
	case noHardLink(err):
		from = w.at.name
		r.Warnings = []string{"is on a file system that can neither exchange files nor link them: a save by another program " +
			"at the same moment would have been overwritten"}
	case err != nil:
		return r, next, err
	}
	remove := func() {
		if from == backup {
			w.remove(backup)
		}
	}
	v, err := w.readDisplaced(from, base)
	if err != nil {
		remove()
		return r, next, err
	}
	defer func() { v.close() }()
	if !v.is(base) {
		var merged side
		var further string
		err := errBusy
		if !target.unknown {
			merged.data, err = w.d.o.Merge(w.at.path(), base.data, target.data, v.data)
		}
		if err == nil {
			w.mergedHashes[v.sum()] = true
			further, _, err = w.write(merged, from, true)
		}
		remove()
		if err == nil {
			w.remove(temp)
		}
		return r, attempt{further, v.side, merged}, err
	}
	if st, err := w.dir.Stat(w.at.name); err != nil || st.Ino != v.stat.Ino {
		remove()
		return r, attempt{temp, base, target}, err
	}
	if from != backup && !w.ownHashes[v.sum()] {
		if _, err := w.c.keep(w.at, v.data); err != nil {
			return r, next, &JournalError{err}
		}
	}
	if err := w.dir.Rename(temp, w.at.name); err != nil {
		remove()
		return r, next, err
	}
	if from == backup {
		w.discard(backup, v)
		v = nil
	}
	return r, next, nil
}

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

// unlinked says that the file system has no hard links, or no more of this file.
func unlinked(err error) bool {
	return unsupported(err) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EMLINK) || errors.Is(err, syscall.EXDEV)
}

// seen is a file that was read, and is still open.
type seen struct {
	side
	file  File
	stat  Stat
	alone bool // no other process can write to it until it is closed, see File.Alone
	sure  bool
}

func (v *seen) close() {
	if v != nil && v.file != nil {
		_ = v.file.Close()
		v.file = nil
	}
}

// look reads a file. The error is ErrNotRegular or ErrTooLarge, or that of the system.
func (d *Disk) look(dir Dir, name string) (*seen, error) {
	f, err := dir.Open(name)
	switch {
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO):
		return nil, ErrNotRegular
	case err != nil:
		return nil, err
	}
	return d.see(f)
}

// see is look for an open file, which it closes unless it gives it.
func (d *Disk) see(f File) (_ *seen, err error) {
	v := &seen{file: f}
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
	v.alone, v.sure = f.Alone()
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

// displaced is look that waits a little for a process that is writing the file, if the content is not the expected one.
func (w *work) displaced(temp string, expected side) (*seen, error) {
	v, err := w.d.look(w.dir, temp)
	for waited := time.Duration(0); err == nil && !v.is(expected) && !v.alone && waited < patience; waited += step {
		v.close()
		pause := make(chan struct{})
		w.d.o.After(step, func() { close(pause) })
		<-pause
		v, err = w.d.look(w.dir, temp)
	}
	return v, err
}

// draft is a new file on its way to the disk.
type draft struct {
	content  side
	like     string      // the file whose metadata it gets, "" for none
	mode     fs.FileMode // without one; 0 is the usual
	f        File
	warnings []string
	err      error
	ready    chan struct{}
}

// prepare begins to write an anonymous file.
func (w *work) prepare(content side, like string, mode fs.FileMode) *draft {
	d := &draft{content: content, like: like, mode: mode, ready: make(chan struct{})}
	w.d.o.Go(func() {
		defer close(d.ready)
		d.err = w.fill(d, true, w.dir.Anonymous)
	})
	return d
}

func (w *work) fill(d *draft, sync bool, open func(fs.FileMode) (File, error)) (err error) {
	mode := cmp.Or(d.mode.Perm(), 0o666)
	var model File
	if d.like != "" {
		if model, err = w.dir.Open(d.like); err != nil {
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
		d.warnings, err = resemble(d.f, model)
	}
	if err == nil && sync {
		err = d.f.Sync()
	}
	return err
}

// drop closes an anonymous file.
func (d *draft) drop() {
	<-d.ready
	if d.f != nil {
		_ = d.f.Close()
		d.f = nil
	}
}

// put gives a draft a name.
func (w *work) put(d *draft) (name string, warnings []string, err error) {
	<-d.ready
	if err = d.err; err == nil {
		name = w.name()
		err = d.f.Name(w.dir, name)
	}
	anonymous := d.f != nil
	if anonymous {
		if cerr := d.f.Close(); err == nil {
			err = cerr
		}
	}
	// Not every file system has anonymous files, and not every container has the /proc that is needed to name them.
	if !anonymous && (unsupported(err) || errors.Is(err, syscall.EISDIR)) || anonymous && d.err == nil && err != nil && !full(err) {
		return w.write(d.content, d.like, true)
	}
	return name, d.warnings, err
}

func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// write makes a temporary file, which has the suffix partSuffix until it is complete.
func (w *work) write(content side, like string, sync bool) (name string, warnings []string, err error) {
	name = w.name()
	d := &draft{content: content, like: like}
	err = w.fill(d, sync, func(mode fs.FileMode) (File, error) { return w.dir.Create(name+unfinished, mode) })
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
		err = w.dir.Rename(name+unfinished, name)
	}
	if err != nil {
		w.remove(name + unfinished)
		return "", nil, err
	}
	w.mine[content.sum()] = true
	return name, d.warnings, nil
}

// resemble gives f the mode without setuid and setgid, the owner and the attributes of another file. The attribute that
// gives a program rights of the system goes too.
func resemble(f, model File) (warnings []string, err error) {
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

// discard removes a displaced file once no other process has it open for writing. What another program saved goes to
// the journal first. It takes ownership of v.
func (w *work) discard(temp string, v *seen) {
	if (w.theirs[v.sum()] || !w.mine[v.sum()]) && (w.d.o.Journal != nil || !w.safe[v.sum()]) {
		if _, err := w.c.keep(w.at, v.data); err != nil {
			w.d.o.Log.Error("what another program saved could not be kept in the journal and stays where it is", "path",
				filepath.Join(w.at.dir, temp), "error", err)
			w.c.leave()
			v.close()
			return
		}
	}
	if v.alone {
		w.spent = append(w.spent, spent{temp, v})
		return
	}
	v.close()
	w.d.hold(&held{c: w.c, at: w.at, temp: temp, data: v.data, gone: w.gone})
}

// dispose removes a displaced file that no other process had open for writing. A file opened since is
// retained.
func (w *work) dispose(s spent) {
	h := &held{c: w.c, at: w.at, temp: s.temp, data: s.v.data, gone: w.gone}
	gone, err := s.v.removed(w.dir, s.temp, h)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.left(s.temp, err)
	}
	s.v.close()
	if !gone && err == nil {
		w.d.hold(h)
	}
}

// removed removes a file unless a process waits to open it for writing. If one began to wait meanwhile, h gets the
// file, which has no name then.
func (v *seen) removed(dir Dir, name string, h *held) (gone bool, err error) {
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
func (w *work) remove(temp string) {
	if err := w.dir.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.left(temp, err)
	}
}

func (w *work) left(temp string, err error) {
	w.d.o.Log.Error("a file is left behind", "path", filepath.Join(w.at.dir, temp), "error", err)
	w.c.leave()
}

const (
	// From this exchange on a file is one that is saved all the time, which could never be changed if it is saved faster than content
	// is synced or merged: content is synced after the exchange, and programs that write in place have to wait for the exchange.
	firstBusy = 3
	maxTries  = 200
	// How often the file is read before the first exchange, and before each further one, to merge what others have saved.
	manyLooks, someLooks = 20, 2
	// How many versions of a file, and bytes of them, are kept that another program may have read.
	maxVersions     = 32
	maxVersionBytes = 16 << 20
)

// errBusy says that a file was saved too often.
var errBusy = errors.New("it is being saved all the time")

// StuckError is a change that could be neither finished nor reverted: what another program had saved is in Temp until
// the next start.
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

// swap exchanges temp, with the content now, and the file, which should have the content expected. If the displaced
// file has another content, another program has saved it: that is merged with now, or in a conflict restored, and
// exchanged again, until the displaced content is the one that was put there before.
func (w *work) swap(temp string, expected, now side) (_ Result, err error) {
	type displaced struct {
		temp string
		v    *seen
	}
	var merged []displaced // what others saved and now contains
	stuck := func(err error) (Result, error) {
		w.c.leave()
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
	read := append(slices.Clone(w.c.lately), expected.data) // what programs may have read that save now
	var pinned *seen                                        // the file under a lease until it is exchanged
	defer func() { pinned.close() }()
	if w.mine[now.sum()] && !now.unknown {
		var a attempt
		a, pinned = w.catchUp(attempt{temp, expected, now}, &read, manyLooks, false)
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
		case try == 1 && w.mine[now.sum()]:
			w.remove(temp)
			return Result{}, missing(err)
		case errors.Is(err, fs.ErrNotExist): // removed after our exchange: it stays removed
			if v, err := w.d.look(w.dir, temp); err == nil {
				w.discard(temp, v)
			} else {
				return stuck(err)
			}
			return Result{After: now.data, Versions: latest(read)}, refused
		default:
			return stuck(err)
		}
		v, err := w.displaced(temp, expected)
		pinned.close()
		pinned = nil
		if err == nil && v.is(expected) {
			r := Result{After: now.data, Versions: latest(read)}
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
			w.theirs[v.sum()] = true
		}
		var next side
		var further string
		if err == nil && (now.unknown || try >= maxTries) {
			err = errBusy
		}
		if err == nil {
			versions := append([][]byte{expected.data}, read...)
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
			unsynced = try >= firstBusy
			further, _, err = w.write(next, temp, !unsynced)
		}
		if err == nil {
			merged, w.safe[v.sum()] = append(merged, displaced{temp, v}), true
			read = latest(append(read, v.data, now.data))
			var a attempt
			a, pinned = w.catchUp(attempt{further, now, next}, &read, someLooks, try >= firstBusy)
			unsynced = unsynced || a.temp != further
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

// latest are the last few of versions.
func latest(versions [][]byte) [][]byte {
	size := 0
	for i, v := range slices.Backward(versions) {
		if size += len(v); size > maxVersionBytes || len(versions)-i > maxVersions {
			return versions[i+1:]
		}
	}
	return versions
}

// catchUp merges what others save before the exchange. A save that it misses is found after the exchange, but then
// other programs may have read the content in between. With pin it gives the file under its lease, if it gets one: a program
// that opens the file for writing waits in the kernel until it is closed.
func (w *work) catchUp(a attempt, read *[][]byte, looks int, pin bool) (_ attempt, pinned *seen) {
	for range looks {
		v, err := w.d.look(w.dir, w.at.name)
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
		w.theirs[v.sum()], w.safe[v.sum()] = true, true
		*read = latest(append(*read, v.data))
		a = attempt{further, v.side, next}
	}
	return a, pinned
}

// sync syncs a file that was written without.
func (w *work) sync(name string) error {
	f, err := w.dir.Open(name)
	if err != nil {
		return nil // it was replaced or removed
	}
	defer f.Close()
	return f.Sync()
}

// replace is swap for file systems without exchange: a hard link keeps the old file until it has been compared. A save
// by rename between the comparison and our rename is overwritten.
func (w *work) replace(temp string, base, target side) (Result, error) {
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
			if w.mine[target.sum()] {
				w.remove(temp)
			} else {
				w.c.leave()
			}
			return Result{}, missing(err)
		}
		temp, base, target = next.temp, next.base, next.target
	}
}

// attempt is one try of replace: temp has the content target, the file should have base.
type attempt struct {
	temp         string
	base, target side
}

func (w *work) tryReplace(temp string, base, target side) (r Result, next attempt, err error) {
	r.After = target.data
	backup := w.name()
	from := backup
	err = w.dir.Link(w.at.name, w.dir, backup)
	switch {
	case unlinked(err) && w.d.o.Journal == nil:
		return r, next, ErrNoBackup
	case unlinked(err):
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
	v, err := w.displaced(from, base)
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
			w.safe[v.sum()] = true
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
	if from != backup && !w.mine[v.sum()] {
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

//go:build linux

package disk

import (
	"io/fs"
	"slices"
	"time"
)

// crash is what a process that stops panics with.
type crash struct{}

// sim is the real file system and the machine around it: it counts the calls, stops the process before one of them, lets
// another program act before one of them, and makes calls fail.
type sim struct {
	calls  int
	stop   int
	dead   bool
	log    []string
	others map[int]func() bool // before call n; false is tried again before the next one
	fault  func(op, name string) error
	open   map[any]func() error
	timers []timer
	// waiting lets another program go on that waited for us, once it can.
	waiting func()
	// power is what a power cut would take, nil where nobody asks.
	power *power
}

type timer struct {
	in time.Duration
	f  func()
}

func (s *sim) call(op, name string) error {
	if s.dead {
		panic(crash{})
	}
	s.calls++
	if s.waiting != nil {
		s.waiting()
	}
	if act := s.others[s.calls]; act != nil && !act() {
		delete(s.others, s.calls)
		s.others[s.calls+1] = act
	}
	s.log = append(s.log, op+" "+name)
	if s.calls == s.stop {
		s.kill()
		panic(crash{})
	}
	if s.fault != nil {
		if err := s.fault(op, name); err != nil {
			return &fs.PathError{Op: op, Path: name, Err: err}
		}
	}
	return nil
}

// kill ends the process: what it had open is closed, and nothing of it happens any more.
func (s *sim) kill() {
	s.dead = true
	for _, c := range s.open {
		_ = c()
	}
	s.open, s.timers = nil, nil
}

// run reports whether f came to its end. Nothing is left open then.
func (s *sim) run(t tester, f func()) (whole bool) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(crash); !ok {
				panic(r)
			}
			whole = false
		}
	}()
	f()
	if n := len(s.open); n > 0 {
		t.Errorf("%d files are left open", n)
	}
	return true
}

func (s *sim) after(d time.Duration, f func()) func() bool {
	if d <= writerPoll {
		f()
		return func() bool { return false }
	}
	s.timers = append(s.timers, timer{d, f})
	return func() bool { return true }
}

// pass lets the time pass until nothing is to happen any more.
func (s *sim) pass() {
	for len(s.timers) > 0 {
		i := 0
		for j, t := range s.timers {
			if t.in < s.timers[i].in {
				i = j
			}
		}
		next := s.timers[i]
		s.timers = slices.Delete(s.timers, i, i+1)
		next.f()
	}
}

func (s *sim) Open(path string) (Dir, error) {
	if err := s.call("opendir", path); err != nil {
		return nil, err
	}
	d, err := System(nil).Open(path)
	if err != nil {
		return nil, err
	}
	sd := &simDir{Dir: d, s: s, path: path}
	s.open[sd] = d.Close
	return sd, nil
}

type simDir struct {
	Dir
	s    *sim
	path string
}

type simFile struct {
	File
	s    *sim
	name string
}

func (d *simDir) file(f File, err error, name string) (File, error) {
	if err != nil {
		return nil, err
	}
	sf := &simFile{f, d.s, name}
	d.s.open[sf] = f.Close
	return sf, nil
}

func (d *simDir) Open(name string) (File, error) {
	if err := d.s.call("open", name); err != nil {
		return nil, err
	}
	f, err := d.Dir.Open(name)
	return d.file(f, err, name)
}

func (d *simDir) Create(name string, mode fs.FileMode) (File, error) {
	if err := d.s.call("create", name); err != nil {
		return nil, err
	}
	f, err := d.Dir.Create(name, mode)
	return d.file(f, err, name)
}

func (d *simDir) Anonymous(mode fs.FileMode) (File, error) {
	if err := d.s.call("anonymous", d.path); err != nil {
		return nil, err
	}
	f, err := d.Dir.Anonymous(mode)
	return d.file(f, err, "no name")
}

func (d *simDir) Stat(name string) (Stat, error) {
	if err := d.s.call("stat", name); err != nil {
		return Stat{}, err
	}
	return d.Dir.Stat(name)
}

func (d *simDir) Writable(name string) error { return d.one("access", name, d.Dir.Writable) }

func (d *simDir) Mkdir(name string) error { return d.named(d.one("mkdir", name, d.Dir.Mkdir), d, "") }

func (d *simDir) Remove(name string) error {
	st, _ := d.Dir.Stat(name)
	err := d.one("remove", name, d.Dir.Remove)
	if err == nil && d.s.power != nil && st.Links == 1 {
		delete(d.s.power.files, st.Ino)
	}
	return d.named(err, d, "")
}

func (d *simDir) Rmdir(name string) error { return d.one("rmdir", name, d.Dir.Rmdir) }

func (d *simDir) one(op, name string, f func(string) error) error {
	if err := d.s.call(op, name); err != nil {
		return err
	}
	return f(name)
}

func (d *simDir) Link(name string, to Dir, as string) error {
	return d.named(d.one("link", as, func(string) error { return d.Dir.Link(name, to.(*simDir).Dir, as) }), to.(*simDir), as)
}

func (d *simDir) Rename(name, as string) error {
	return d.named(d.one("rename", as, func(string) error { return d.Dir.Rename(name, as) }), d, as)
}

func (d *simDir) Place(name string, to Dir, as string) error {
	return d.named(d.one("place", as, func(string) error { return d.Dir.Place(name, to.(*simDir).Dir, as) }), to.(*simDir), as)
}

func (d *simDir) Exchange(a, b string) error {
	return d.named(d.one("exchange", a, func(string) error { return d.Dir.Exchange(a, b) }), d, b)
}

func (d *simDir) Names() ([]string, error) {
	if err := d.s.call("readdir", d.path); err != nil {
		return nil, err
	}
	return d.Dir.Names()
}

func (d *simDir) Sync() error {
	err := d.s.call("syncdir", d.path)
	if err == nil && d.s.power != nil {
		delete(d.s.power.folders, d.path)
	}
	return err
}

func (d *simDir) Close() error { return d.s.close(d) }

func (s *sim) close(handle any) error {
	if s.dead {
		panic(crash{})
	}
	c, ok := s.open[handle]
	if !ok {
		return fs.ErrClosed
	}
	delete(s.open, handle)
	return c()
}

func (f *simFile) Read(b []byte) (int, error) {
	if err := f.s.call("read", f.name); err != nil {
		return 0, err
	}
	return f.File.Read(b)
}

// Write writes one half and then the other, so that a process may stop between.
func (f *simFile) Write(b []byte) (n int, err error) {
	for _, part := range [][]byte{b[:len(b)/2], b[len(b)/2:]} {
		if err := f.s.call("write", f.name); err != nil {
			return n, err
		}
		m, err := f.File.Write(part)
		if f.s.power != nil {
			st, _ := f.File.Stat()
			f.s.power.files[st.Ino] = true
		}
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

func (f *simFile) Stat() (Stat, error) {
	if err := f.s.call("fstat", f.name); err != nil {
		return Stat{}, err
	}
	return f.File.Stat()
}

func (f *simFile) Name(in Dir, name string) error {
	if err := f.s.call("name", name); err != nil {
		return err
	}
	d := in.(*simDir)
	return d.named(f.File.Name(d.Dir, name), d, name)
}

func (f *simFile) Chmod(mode fs.FileMode) error {
	if err := f.s.call("chmod", f.name); err != nil {
		return err
	}
	return f.File.Chmod(mode)
}

func (f *simFile) Xattrs() (map[string][]byte, error) {
	if err := f.s.call("xattrs", f.name); err != nil {
		return nil, err
	}
	return f.File.Xattrs()
}

func (f *simFile) SetXattr(name string, value []byte) error {
	if err := f.s.call("setxattr", f.name); err != nil {
		return err
	}
	return f.File.SetXattr(name, value)
}

func (f *simFile) Alone() (alone, sure bool) {
	if f.s.call("lease", f.name) != nil {
		return false, false
	}
	return f.File.Alone()
}

func (f *simFile) Again() (File, error) {
	if err := f.s.call("again", f.name); err != nil {
		return nil, err
	}
	g, err := f.File.Again()
	if err != nil {
		return nil, err
	}
	sf := &simFile{g, f.s, f.name}
	f.s.open[sf] = g.Close
	return sf, nil
}

func (f *simFile) Sync() error {
	err := f.s.call("sync", f.name)
	if err == nil && f.s.power != nil {
		st, _ := f.File.Stat()
		delete(f.s.power.files, st.Ino)
	}
	return err
}

func (f *simFile) Close() error { return f.s.close(f) }

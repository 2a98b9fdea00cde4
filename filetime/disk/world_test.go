//go:build linux

package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tandem/filetime/text"
)

// notes is a journal in memory, which outlives the processes of a world. Each of its methods is a call that a process may
// stop before.
type notes struct {
	s       *sim
	intents []*note
	kept    map[string]string // by hash
	full    bool
}

type note struct {
	Intent
	outcome Outcome
	mine    bool // of the process that runs
}

func (j *notes) Begin(in Intent) (int64, error) {
	if err := j.s.call("begin", ""); err != nil {
		return 0, err
	}
	if j.full {
		return 0, syscall.ENOSPC
	}
	in.ID = int64(len(j.intents) + 1)
	j.intents = append(j.intents, &note{Intent: in, mine: true})
	return in.ID, nil
}

func (j *notes) Keep(_ int64, _ string, data []byte) (string, error) {
	if err := j.s.call("keep", ""); err != nil {
		return "", err
	}
	j.kept[Hash(data)] = string(data)
	return Hash(data), nil
}

func (j *notes) End(id int64, o Outcome) error {
	if err := j.s.call("end", ""); err != nil {
		return err
	}
	j.intents[id-1].outcome = o
	if j.s.power != nil {
		j.s.power.ended(o)
	}
	return nil
}

func (j *notes) Orphans() (out []Intent, err error) {
	if err := j.s.call("orphans", ""); err != nil {
		return nil, err
	}
	for _, n := range j.intents {
		if n.outcome == Open && !n.mine {
			n.mine = true
			out = append(out, n.Intent)
		}
	}
	return out, nil
}

// tester is what a testing.TB and a rapid.T have in common.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Logf(format string, args ...any)
}

// world is a folder that a process of ours and other programs change.
type world struct {
	t    tester
	dir  string
	sim  *sim
	j    *notes
	d    *Disk
	err  error // what the last change came to
	errs []error
	rec  []Recovered
	fail func(op, name string) error

	whole map[string]bool // every text that a file may say
	marks []string        // what other programs wrote, which must be somewhere for ever
	saved []string        // the files that they made of it, but for those that they themselves have overwritten
	fds   []*os.File
}

// memory is a folder in memory where there is one: the sweeps make and remove many files.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "tandem-disk-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func newWorld(t tester, dir string, files map[string]string) *world {
	w := &world{t: t, dir: dir, whole: map[string]bool{}, j: &notes{kept: map[string]string{}}}
	for name, content := range files {
		w.must(os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
		w.must(os.WriteFile(w.path(name), []byte(content), 0o644))
		w.whole[content] = true
	}
	return w
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// start begins a process, which stops before call stop.
func (w *world) start(stop int) {
	w.sim = &sim{stop: stop, open: map[any]func() error{}, others: map[int]func() bool{}, fault: w.fail}
	w.j.s = w.sim
	for _, n := range w.j.intents {
		n.mine = false
	}
	w.d = New(Options{FS: w.sim, Journal: w.j, After: w.sim.after, Go: func(f func()) { f() }, Merge: w.merge})
}

var errConflict = errors.New("a conflict")

func (w *world) merge(_ string, base, ours, theirs []byte) ([]byte, error) {
	b, o, t := text.New(string(base)), text.New(string(ours)), text.New(string(theirs))
	r := text.Rebase(b, text.Diff(b, o), text.Diff(b, t))
	if len(r.Conflicts) > 0 {
		return nil, errConflict
	}
	merged := r.Set.Apply(t).String()
	w.whole[merged] = true
	return []byte(merged), nil
}

func (w *world) read(name string) (string, bool) {
	raw, err := os.ReadFile(w.path(name))
	return string(raw), err == nil
}

// replace, create and so on are changes by us.
func (w *world) change(do func(c *Change) error) {
	c := w.d.Change(Intent{Session: "s", Call: "c"})
	w.err = do(c)
	w.errs = append(w.errs, w.err)
	c.End(outcome(w.err))
}

func (w *world) edit(name, old, new string) func(*Change) error {
	return func(c *Change) error {
		raw, err := os.ReadFile(w.path(name))
		if err != nil {
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
		after := strings.Replace(string(raw), old, new, 1)
		w.whole[after] = true
		_, err = c.Replace(w.path(name), raw, []byte(after))
		return err
	}
}

func (w *world) create(name, content string) func(*Change) error {
	w.whole[content] = true
	return func(c *Change) error {
		_, err := c.Create(w.path(name), []byte(content), 0)
		return err
	}
}

func (w *world) remove(name, base string) func(*Change) error {
	return func(c *Change) error {
		_, err := c.Delete(w.path(name), []byte(base))
		return err
	}
}

func (w *world) move(from, to string) func(*Change) error {
	return func(c *Change) error {
		raw, err := os.ReadFile(w.path(from))
		if err != nil {
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
		_, err = c.Move(w.path(from), w.path(to), raw)
		return err
	}
}

// append, save and so on are what other programs do. They give false where they have to wait for us.
func (w *world) append(name string) bool {
	h, err := os.OpenFile(w.path(name), os.O_RDWR|os.O_APPEND|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.EAGAIN) {
		return false
	}
	if err != nil { // the file is not there at this moment: that program does without
		return true
	}
	defer h.Close()
	w.write(h)
	return true
}

func (w *world) mark() string {
	m := fmt.Sprintf("typed %d;", len(w.marks)+1)
	w.marks = append(w.marks, m)
	return m
}

// inode is what an open file says, whatever its name is by now.
func (w *world) inode(h *os.File) string {
	raw := make([]byte, 1<<20)
	n, err := h.ReadAt(raw, 0)
	if err != io.EOF {
		w.must(err)
	}
	return string(raw[:n])
}

// version says that another program has made now of what was.
func (w *world) version(was, now string) {
	w.whole[now] = true
	w.saved = append(slices.DeleteFunc(w.saved, func(s string) bool { return s == was }), now)
}

func (w *world) write(h *os.File) {
	was := w.inode(h)
	_, err := h.WriteString(w.mark() + "\n")
	w.must(err)
	w.version(was, w.inode(h))
}

// save replaces the file as editors do, by what they have with one more line, or with another first line.
func (w *world) save(name, old, new string) bool {
	raw, ok := w.read(name)
	if !ok {
		return true
	}
	m := w.mark()
	now := strings.Replace(raw, old, new+" "+m, 1)
	if old == "" || !strings.Contains(raw, old) {
		now = raw + m + "\n"
	}
	w.version(raw, now)
	w.must(os.WriteFile(w.path("other.swp"), []byte(now), 0o600))
	w.must(os.Rename(w.path("other.swp"), w.path(name)))
	return true
}

// rewrite empties the file and writes it anew.
func (w *world) rewrite(name string) bool {
	h, err := os.OpenFile(w.path(name), os.O_RDWR|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.EAGAIN) {
		return false
	}
	if err != nil {
		return true
	}
	defer h.Close()
	was := w.inode(h)
	now := w.mark() + "\n" + was
	w.version(was, now)
	w.must(h.Truncate(0))
	_, err = h.WriteAt([]byte(now), 0)
	w.must(err)
	return true
}

// delete and others stand in the way.
func (w *world) delete(name string) bool {
	_ = os.Remove(w.path(name))
	return true
}

func (w *world) make(name string) bool {
	m := w.mark() + "\n"
	w.whole[m] = true
	h, err := os.OpenFile(w.path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		w.marks = w.marks[:len(w.marks)-1]
		return true
	}
	defer h.Close()
	_, err = h.WriteString(m)
	w.must(err)
	w.version("", m)
	return true
}

func (w *world) mkdir(name string) bool {
	_ = os.Remove(w.path(name))
	_ = os.Mkdir(w.path(name), 0o755)
	return true
}

func (w *world) symlink(name string) bool {
	_ = os.Remove(w.path(name))
	_ = os.Symlink("elsewhere", w.path(name))
	return true
}

// texts is everything that is anywhere; temps lists what stands beside the files.
func (w *world) texts() (all, temps []string) {
	err := filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		all = append(all, string(raw))
		if strings.HasPrefix(e.Name(), TempPrefix) {
			temps = append(temps, e.Name())
		} else if !w.whole[string(raw)] {
			w.t.Errorf("%s is torn: %q", e.Name(), short(string(raw)))
		}
		return err
	})
	w.must(err)
	for _, k := range w.j.kept {
		all = append(all, k)
	}
	for _, n := range w.j.intents {
		for _, f := range n.Files {
			all = append(all, string(f.Before))
		}
	}
	return all, temps
}

func short(s string) string {
	if len(s) > 200 {
		return fmt.Sprintf("%s… (%d bytes)", s[:200], len(s))
	}
	return s
}

// check wants that nothing is torn or lost, and with clean that nothing is left behind.
func (w *world) check(clean bool) {
	w.t.Helper()
	all, temps := w.texts()
	for _, m := range w.marks {
		found := false
		for _, s := range all {
			found = found || strings.Contains(s, m)
		}
		if !found {
			w.t.Errorf("%q is lost; there are %q", m, all)
		}
	}
	for _, v := range w.saved {
		if !slices.Contains(all, v) {
			w.t.Errorf("the version %q is lost; there are %q", v, all)
		}
	}
	if !clean {
		return
	}
	if len(temps) > 0 {
		w.t.Errorf("left behind: %q", temps)
	}
	for _, n := range w.j.intents {
		if n.outcome == Open {
			w.t.Errorf("intent %d is still open", n.ID)
		}
	}
}

func (w *world) end() {
	for _, h := range w.fds {
		h.Close()
	}
	w.must(os.RemoveAll(w.dir))
}

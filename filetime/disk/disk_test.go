//go:build linux

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// TestF152LateWriter has another program write to a file that it had opened before it was displaced, for as long as it may.
func TestF152LateWriter(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(w *world, h *os.File) // before the time is up
		want   string
	}{
		{"nothing", func(*world, *os.File) {}, post},
		{"a line", func(w *world, h *os.File) { w.write(h) }, post + "typed 1;\n"},
		{"a line, and one in the file", func(w *world, h *os.File) {
			w.write(h)
			w.append("f")
		}, ""},
		{"the line that was edited", func(w *world, h *os.File) {
			w.must(h.Truncate(0))
			now := strings.Replace(pre, "three", w.mark(), 1)
			_, err := h.WriteString(now)
			w.must(err)
			w.version("", now)
		}, post},
		{"a line, and then it removes the file", func(w *world, h *os.File) {
			w.write(h)
			w.delete("f")
		}, "-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, filepath.Join(memory(t), "w"), map[string]string{"f": pre})
			w.start(0)
			var told []LateWrite
			w.d = New(Options{Journal: w.j, Merge: w.merge, After: w.sim.after, Go: func(f func()) { f() }, Late: func(l LateWrite) {
				told = append(told, l)
			}})
			h, err := os.OpenFile(w.path("f"), os.O_RDWR|os.O_APPEND, 0)
			w.must(err)
			defer h.Close()
			one(w)
			w.must(w.err)
			if len(temps(t, w.dir)) != 1 || len(w.sim.timers) != 1 || w.sim.timers[0].in != 2*time.Second {
				t.Errorf("%q stand, for %v", temps(t, w.dir), w.sim.timers)
			}
			tt.before(w, h)
			w.check(false)
			if o := w.j.intents[0].outcome; o != Open {
				t.Errorf("the intent has ended as %q", o)
			}
			w.sim.pass()
			w.check(true)
			if err := says("f", tt.want)(w); err != nil && tt.want != "" {
				t.Error(err)
			}
			if got, _ := w.read("f"); tt.want == "" && (!strings.Contains(got, "typed 1;\n") || !strings.Contains(got, "typed 2;\n")) {
				t.Errorf("f says %q", got)
			}
			if want := len(w.marks) > 0; want != (len(told) == 1) || want && told[0].Kept == "" {
				t.Errorf("told of %+v", told)
			}
		})
	}
}

// TestF152NothingStands wants nothing to stand after an edit of a file that nobody writes to, and Settle to end the rest.
func TestF152NothingStands(t *testing.T) {
	w := newWorld(t, filepath.Join(memory(t), "w"), map[string]string{"f": pre})
	w.start(0)
	w.d = New(Options{Journal: w.j, Merge: w.merge, After: w.sim.after})
	one(w)
	w.d.Settle()
	if n := temps(t, w.dir); w.err != nil || len(n) > 0 {
		t.Errorf("%q stand, %v", n, w.err)
	}
	h, err := os.OpenFile(w.path("f"), os.O_RDWR|os.O_APPEND, 0)
	w.must(err)
	defer h.Close()
	for i := range 2 * maxRetained {
		w.change(w.edit("f", "one\n", fmt.Sprintf("one\n%d\n", i)))
		w.must(w.err)
		h, err := os.OpenFile(w.path("f"), os.O_RDWR|os.O_APPEND, 0)
		w.must(err)
		defer h.Close()
	}
	if n := len(temps(t, w.dir)); n != maxRetained {
		t.Errorf("%d stand, want %d", n, maxRetained)
	}
	w.d.Settle()
	w.check(true)
	for _, n := range w.j.intents {
		if n.outcome != Landed {
			t.Errorf("intent %d ended as %q", n.ID, n.outcome)
		}
	}
}

// TestF152AttributesFindingS6 wants all that a file has beside its content to be kept, but for the rights of its owner and group
// that it runs with, and the rest of its names to keep theirs.
func TestF152AttributesFindingS6(t *testing.T) {
	w := newWorld(t, filepath.Join(t.TempDir(), "w"), map[string]string{"f": pre, "plain": pre})
	path := w.path("f")
	w.must(os.Chmod(path, 0o751|fs.ModeSetgid))
	if err := os.Chown(path, 12, 34); err == nil {
		w.must(os.Chmod(path, 0o751|fs.ModeSetgid)) // which chown takes away
	}
	w.must(os.Link(path, w.path("second")))
	attributes := true
	for name, value := range map[string]string{"user.one": "1", "user.empty": "", "user.big": strings.Repeat("x", 1000)} {
		if err := unix.Setxattr(path, name, []byte(value), 0); err != nil {
			attributes = false
			t.Logf("no attributes here: %v", err)
		}
	}
	// user:12 may read and write, as getfacl would show it; and what the folder gives to new files.
	acl := []byte("\x02\x00\x00\x00\x01\x00\x07\x00\xff\xff\xff\xff\x02\x00\x06\x00\x0c\x00\x00\x00\x04\x00\x05\x00\xff\xff\xff\xff" +
		"\x10\x00\x07\x00\xff\xff\xff\xff\x20\x00\x01\x00\xff\xff\xff\xff")
	if err := unix.Setxattr(path, "system.posix_acl_access", acl, 0); err != nil {
		t.Logf("no access lists here: %v", err)
	} else {
		w.must(unix.Setxattr(w.dir, "system.posix_acl_default", acl, 0))
	}
	about := func(name string) string {
		d, err := System(nil).Open(w.dir)
		w.must(err)
		defer d.Close()
		f, err := d.Open(name)
		w.must(err)
		defer f.Close()
		st, err := f.Stat()
		w.must(err)
		x, err := f.Xattrs()
		w.must(err)
		if len(x) == 0 && attributes && name == "f" {
			t.Error("there are no attributes")
		}
		return fmt.Sprint(st.Mode, st.UID, st.GID, x)
	}
	before, plain := about("f"), about("plain")
	setgid := strings.HasPrefix(before, "grwx")
	before = strings.Replace(before, "grwx", "-rwx", 1)
	w.start(0)
	w.d = New(Options{})
	var r Result
	w.change(func(c *Change) (err error) {
		r, err = c.Replace(path, []byte(pre), []byte(post))
		return err
	})
	w.must(w.err)
	if after := about("f"); after != before {
		t.Errorf("it was %s and is %s", before, after)
	}
	if told := strings.Join(r.Warnings, ""); !strings.Contains(told, "nlink") || strings.Contains(told, "setgid") != setgid {
		t.Errorf("warnings %q", r.Warnings)
	}
	if err := says("f", post, "second", pre)(w); err != nil {
		t.Error(err)
	}
	w.change(func(c *Change) (err error) {
		r, err = c.Replace(w.path("plain"), []byte(pre), []byte(post))
		return err
	})
	w.must(w.err)
	if after := about("plain"); after != plain || len(r.Warnings) > 0 {
		t.Errorf("it was %s and is %s, %q", plain, after, r.Warnings)
	}
}

// TestF275Refused has what cannot or must not be changed: it stays, nothing stands beside it, and nothing was written down.
func TestF275Refused(t *testing.T) {
	files := map[string]string{"f": pre, "g": "g\n", "d/s/f": pre}
	for _, tt := range []struct {
		name string
		set  func(w *world)
		do   func(w *world) func(*Change) error
		want error
	}{
		{"a read-only file", func(w *world) { w.must(os.Chmod(w.path("f"), 0o444)) }, edit, fs.ErrPermission},
		{"a read-only file, to be deleted", func(w *world) { w.must(os.Chmod(w.path("f"), 0o444)) }, func(w *world) func(*Change) error {
			return w.remove("f", pre)
		}, fs.ErrPermission},
		{"a pipe", func(w *world) { w.delete("f"); w.must(unix.Mkfifo(w.path("f"), 0o644)) }, swap, ErrNotRegular},
		{"a folder", func(w *world) { w.mkdir("f") }, swap, ErrNotRegular},
		{"a link", func(w *world) { w.delete("f"); w.must(os.Symlink("g", w.path("f"))) }, swap, ErrNotRegular},
		{"a link to nowhere, to be made", func(w *world) { w.symlink("n") }, func(w *world) func(*Change) error {
			return w.create("n", "new\n")
		}, fs.ErrExist},
		{"a file that is gone", func(w *world) { w.delete("f") }, swap, ErrChanged},
		{"a folder that is gone", func(*world) {}, func(w *world) func(*Change) error {
			return func(c *Change) error {
				_, err := c.Replace(w.path("no/f"), []byte(pre), []byte(post))
				return err
			}
		}, ErrChanged},
		{"a folder that became a link", func(w *world) {
			w.must(os.Rename(w.path("d"), w.path("e")))
			w.must(os.Symlink("e", w.path("d")))
		}, func(w *world) func(*Change) error {
			return func(c *Change) error {
				_, err := c.Replace(w.path("d/s/f"), []byte(pre), []byte(post))
				return err
			}
		}, syscall.ELOOP},
		{"another text, to be deleted", func(*world) {}, func(w *world) func(*Change) error {
			return w.remove("f", "other\n")
		}, ErrChanged},
		{"a file below a file", func(*world) {}, func(w *world) func(*Change) error {
			return w.create("f/x", "new\n")
		}, syscall.ENOTDIR},
		{"a name that is too long", func(*world) {}, func(w *world) func(*Change) error {
			return w.create(strings.Repeat("x", 300), "new\n")
		}, syscall.ENAMETOOLONG},
		{"a move onto another", func(*world) {}, func(w *world) func(*Change) error { return w.move("f", "g") }, ErrChanged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, filepath.Join(memory(t), "w"), files)
			tt.set(w)
			was, _ := w.texts()
			w.start(0)
			w.d = New(Options{Journal: w.j})
			w.change(tt.do(w))
			w.d.Settle()
			if !errors.Is(w.err, tt.want) {
				t.Errorf("got %v, want %v", w.err, tt.want)
			}
			w.j.intents = nil
			if now, stand := w.texts(); fmt.Sprint(now) != fmt.Sprint(was) || len(stand) > 0 {
				t.Errorf("%q became %q, %q", was, now, stand)
			}
		})
	}
}

func edit(w *world) func(*Change) error { return w.edit("f", "three", "THREE") }

func swap(w *world) func(*Change) error {
	return func(c *Change) error {
		_, err := c.Replace(w.path("f"), []byte(pre), []byte(post))
		return err
	}
}

// TestF275NoPermission has a user who may not write to the folder, or not to the file.
func TestF275NoPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may do everything")
	}
	w := newWorld(t, filepath.Join(t.TempDir(), "w"), map[string]string{"f": pre})
	w.must(os.Chmod(w.dir, 0o555))
	defer os.Chmod(w.dir, 0o755)
	w.start(0)
	w.d = New(Options{Journal: w.j})
	one(w)
	if !errors.Is(w.err, fs.ErrPermission) {
		t.Error(w.err)
	}
	if err := says("f", pre)(w); err != nil {
		t.Error(err)
	}
}

// TestF275NotReplaceable has files whose place nothing can take, such as one that is a mount point.
func TestF275NotReplaceable(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EBUSY, syscall.EXDEV, syscall.EPERM, syscall.EROFS, syscall.EACCES, syscall.ENOSPC} {
		w := newWorld(t, filepath.Join(memory(t), "w"), map[string]string{"f": pre})
		w.fail = func(op, _ string) error {
			if op == "exchange" {
				return errno
			}
			return nil
		}
		w.start(0)
		w.sim.run(t, func() {
			one(w)
			w.sim.pass()
		})
		if !errors.Is(w.err, errno) {
			t.Errorf("%v: got %v", errno, w.err)
		}
		if err := says("f", pre)(w); err != nil {
			t.Errorf("%v: %v", errno, err)
		}
		w.check(true)
	}
}

// TestF152WithoutJournal wants a change to be as good without one, but for what a crash may leave.
func TestF152WithoutJournal(t *testing.T) {
	for _, lacks := range []string{"", "exchange", "exchange link"} {
		w := newWorld(t, filepath.Join(memory(t), "w"), map[string]string{"f": pre})
		w.fail = func(op, _ string) error {
			if strings.Contains(lacks, op) {
				return syscall.EINVAL
			}
			return nil
		}
		w.start(0)
		w.d = New(Options{FS: w.sim, Merge: w.merge, After: w.sim.after, Go: func(f func()) { f() }})
		one(w)
		w.d.Settle()
		want := post
		if lacks == "exchange link" {
			if want = pre; !errors.Is(w.err, ErrNoBackup) {
				t.Errorf("without %s: %v", lacks, w.err)
			}
		}
		if err := says("f", want)(w); err != nil || len(temps(t, w.dir)) > 0 {
			t.Errorf("without %s: %v, %q", lacks, err, temps(t, w.dir))
		}
	}
}

// TestF152AnotherJournal has a process whose journal has numbered its intents in the same way: its files are not touched.
func TestF152AnotherJournal(t *testing.T) {
	w := newWorld(t, filepath.Join(memory(t), "w"), map[string]string{"f": pre, "g": "g\n"})
	w.start(17) // after the exchange
	w.sim.run(t, func() { one(w) })
	stand := temps(t, w.dir)
	if len(stand) != 1 {
		t.Fatalf("%q stand", stand)
	}
	other := &notes{kept: map[string]string{}}
	w.j, other = other, w.j
	w.start(0)
	w.sim.run(t, func() { w.change(w.edit("g", "g", "G")) })
	w.recover(0)
	if got := temps(t, w.dir); fmt.Sprint(got) != fmt.Sprint(stand) {
		t.Errorf("%q stand", got)
	}
	w.j = other
	w.recover(0)
	w.check(true)
}

// TestF152Recovered tells what became of each change.
func TestF152Recovered(t *testing.T) {
	w := newWorld(t, filepath.Join(memory(t), "w"), map[string]string{"f": pre, "g": "g\n", "h": "h\n"})
	w.start(0)
	w.d = New(Options{Journal: w.j, After: func(time.Duration, func()) func() bool { return func() bool { return true } }})
	one(w)                              // landed, and built upon
	w.change(w.edit("f", "THREE", "3")) // landed
	w.change(w.edit("g", "g", "G"))     // saved since
	w.change(w.create("new", "new\n"))  // removed since
	c := w.d.Change(Intent{Session: "s", Call: "c5"})
	w.must(c.Begin(Planned{Op: Edit, Path: w.path("h"), Buffer: true, Before: []byte("h\n"), BeforeHash: Hash([]byte("h\n"))}))
	w.must(w.d.Change(Intent{Session: "s", Call: "c6"}).Begin(
		Planned{Op: Edit, Path: w.path("h"), Before: []byte("h\n"), BeforeHash: Hash([]byte("h\n")), AfterHash: Hash([]byte("H\n"))},
		Planned{Op: Delete, Path: w.path("gone"), Before: []byte("x"), BeforeHash: Hash([]byte("x"))}))
	w.save("g", "", "")
	w.delete("new")
	if !w.recover(0) {
		t.Fatal("it did not come to its end")
	}
	want := []Outcome{Landed, Landed, Foreign, NotLanded, Unknown, Partly}
	if len(w.rec) != len(want) {
		t.Fatalf("got %+v", w.rec)
	}
	for i, r := range w.rec {
		if r.Outcome != want[i] || w.j.intents[i].outcome != want[i] || r.Session != "s" || r.ID != int64(i+1) {
			t.Errorf("intent %d: %q, want %q", r.ID, r.Outcome, want[i])
		}
	}
	if !w.recover(0) || len(w.rec) > 0 {
		t.Errorf("a second recovery gives %+v", w.rec)
	}
	w.check(true)
}

// TestF152Superseded has a change turn out to be another one than was written down: only the last has landed.
func TestF152Superseded(t *testing.T) {
	w := newWorld(t, filepath.Join(memory(t), "w"), map[string]string{"f": pre})
	w.start(0)
	w.d = New(Options{Journal: w.j})
	w.change(func(c *Change) error {
		w.must(c.Begin(Planned{Op: Edit, Path: w.path("f"), BeforeHash: "other", AfterHash: "one"}))
		return edit(w)(c)
	})
	w.must(w.err)
	w.d.Settle()
	if n := w.j.intents; len(n) != 2 || n[0].outcome != NotLanded || n[1].outcome != Landed {
		t.Errorf("the journal has %+v", n)
	}
}

// TestF152Property has changes of ours, other programs' saves, crashes and recoveries follow one another at random.
func TestF152Property(t *testing.T) {
	dir := memory(t)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		w := newWorld(rt, filepath.Join(dir, fmt.Sprint(runs)), map[string]string{"f": pre})
		defer w.end()
		if rapid.Bool().Draw(rt, "links only") {
			w.fail = func(op, _ string) error {
				if op == "place" {
					return syscall.EINVAL
				}
				return nil
			}
		}
		number := rapid.IntRange(1, 80)
		others := []func() bool{
			func() bool { return w.append("f") },
			func() bool { return w.save("f", "", "") },
			func() bool { return w.save("f", "three", "drei") },
			func() bool { return w.rewrite("f") },
			func() bool { return w.make("f") },
		}
		n := 0
		for range rapid.IntRange(1, 4).Draw(rt, "processes") {
			stop := 0
			if rapid.Bool().Draw(rt, "stops") {
				stop = number.Draw(rt, "stop")
			}
			w.start(stop)
			for range rapid.IntRange(0, 4).Draw(rt, "saves") {
				w.sim.others[number.Draw(rt, "at")] = rapid.SampledFrom(others).Draw(rt, "save")
			}
			whole := w.sim.run(rt, func() {
				_, err := w.d.Recover()
				w.must(err)
				for range rapid.IntRange(1, 3).Draw(rt, "changes") {
					n++
					switch got, ok := w.read("f"); rapid.IntRange(0, 5).Draw(rt, "change") {
					case 0:
						w.change(w.create("f", fmt.Sprintf("made %d\n", n)))
					case 1:
						if ok {
							w.change(w.remove("f", got))
						}
					case 2:
						w.change(w.edit("f", "three", fmt.Sprintf("three %d", n)))
					default:
						w.change(w.edit("f", "\n", fmt.Sprintf("\nagent %d\n", n)))
					}
					if rapid.Bool().Draw(rt, "time passes") {
						w.sim.pass()
					}
				}
				w.sim.pass()
			})
			w.check(whole)
			if rt.Failed() {
				rt.Fatalf("calls %q", w.sim.log)
			}
		}
		w.recover(0)
		w.check(true)
		if rt.Failed() {
			rt.Fatalf("calls %q", w.sim.log)
		}
	})
}

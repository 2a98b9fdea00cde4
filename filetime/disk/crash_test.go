//go:build linux

package disk

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

var every = flag.Bool("every", false, "stop at every call of every run, and most recoveries, too")

const pre = "one\ntwo\nthree\nfour\nfive\n"

// scenario is what one process does, and what another program does before one of its calls.
type scenario struct {
	name  string
	files map[string]string // f with pre where there are none
	set   func(w *world)
	do    func(w *world)
	other func(w *world) bool
	late  bool   // the other program writes to what it has opened before
	busy  bool   // the other program writes all the time, so that texts are on the disk right after they take their path
	lacks string // what the file system cannot do
	all   bool   // as with -every: a sample has missed a fault here
	// want are the files after it all went well, and err whether the last change may fail. Both are for no crash; with
	// another program, for each of its moments.
	want func(w *world) error
}

func one(w *world) { w.change(w.edit("f", "three", "THREE")) }

// says wants files to hold texts and no others to be there; - is a file that is gone.
func says(pairs ...string) func(w *world) error {
	return func(w *world) error {
		for i := 0; i < len(pairs); i += 2 {
			got, ok := w.read(pairs[i])
			if pairs[i+1] == "-" && !ok || ok && got == pairs[i+1] {
				continue
			}
			return fmt.Errorf("%s says %q, want %q (%v)", pairs[i], short(got), short(pairs[i+1]), w.err)
		}
		return nil
	}
}

// both wants our change in the file, and what the other program wrote, whenever that was.
func both(w *world) error {
	got, _ := w.read("f")
	if w.err != nil || !strings.Contains(got, "THREE\n") {
		return fmt.Errorf("f says %q after %v", got, w.err)
	}
	return theirs(w)
}

// theirs wants what the other program wrote, whether or not our change could be made.
func theirs(w *world) error {
	got, _ := w.read("f")
	for _, m := range w.marks {
		if !strings.Contains(got, m) {
			return fmt.Errorf("f says %q after %v: %s is missing", got, w.err, m)
		}
	}
	return nil
}

// moved wants what others wrote in f or g.
func moved(w *world) error {
	f, _ := w.read("f")
	g, _ := w.read("g")
	for _, m := range w.marks {
		if !strings.Contains(f+g, m) {
			return fmt.Errorf("f says %q and g %q after %v: %s is missing", f, g, w.err, m)
		}
	}
	return nil
}

func anything(*world) error { return nil }

var post = strings.Replace(pre, "three", "THREE", 1)

func later(w *world, write func(h *os.File)) {
	h, err := os.OpenFile(w.path("f"), os.O_RDWR|os.O_APPEND, 0)
	w.must(err)
	w.fds = append(w.fds, h)
	write(h)
}

func scenarios() []scenario {
	big := strings.Repeat("a line of a file that is not small\n", 3000)
	appends := func(w *world) bool { return w.append("f") }
	saves := func(w *world) bool { return w.save("f", "", "") }
	clashes := func(w *world) bool { return w.save("f", "three", "drei") }
	rewrites := func(w *world) bool { return w.rewrite("f") }
	writes := func(w *world) bool { w.write(w.fds[0]); return true }
	writesAndCloses := func(w *world) bool { w.write(w.fds[0]); w.fds[0].Close(); return true }
	open := func(w *world) { later(w, func(*os.File) {}) }
	removal := func(w *world) { w.change(w.remove("f", pre)) }
	making := func(w *world) { w.change(w.create("f", "new\n")) }
	moving := func(w *world) { w.change(w.move("f", "g")) }
	none := map[string]string{"g": "g\n"}
	return []scenario{
		{name: "edit", do: one, want: says("f", post)},
		{name: "edit of a large file", files: map[string]string{"f": "three\n" + big}, do: one, want: says("f", "THREE\n"+big)},
		{name: "edit of an empty file", files: map[string]string{"f": ""}, do: func(w *world) {
			w.change(w.edit("f", "", "new\n"))
		}, want: says("f", "new\n")},
		{name: "edit that empties", do: func(w *world) { w.change(w.edit("f", pre, "")) }, want: says("f", "")},
		{name: "edit twice", do: func(w *world) { one(w); w.change(w.edit("f", "four", "FOUR")) }, want: says("f",
			strings.Replace(post, "four", "FOUR", 1))},
		{name: "edit and back", do: func(w *world) { one(w); w.change(w.edit("f", "THREE", "three")) }, want: says("f", pre)},
		{name: "edit with a mode and attributes", set: func(w *world) {
			w.must(os.Chmod(w.path("f"), 0o640))
			if err := syscall.Setxattr(w.path("f"), "user.who", []byte("me"), 0); err != nil {
				w.t.Logf("no attributes here: %v", err)
			}
		}, do: one, want: says("f", post)},
		{name: "edit of a file with two names", set: func(w *world) {
			w.must(os.Link(w.path("f"), w.path("g")))
		}, do: one, want: says("f", post, "g", pre)},
		{name: "edit of a file that a program has open", set: open, do: one, want: says("f", post)},
		{name: "create", files: none, do: making, want: says("f", "new\n")},
		{
			name: "create in new folders", files: none, do: func(w *world) { w.change(w.create("a/b/f", "new\n")) },
			want: says("a/b/f", "new\n"),
		},
		{
			name: "create and edit", files: none, do: func(w *world) { making(w); w.change(w.edit("f", "new", "newer")) },
			want: says("f", "newer\n"),
		},
		{name: "create, edit and delete", files: none, do: func(w *world) {
			making(w)
			w.change(w.edit("f", "new", "newer"))
			w.change(w.remove("f", "newer\n"))
		}, want: says("f", "-")},
		{name: "delete", do: removal, want: says("f", "-")},
		{name: "delete and create", do: func(w *world) { removal(w); making(w) }, want: says("f", "new\n")},
		{name: "delete a file that a program has open", set: open, do: removal, want: says("f", "-")},
		{name: "move", do: func(w *world) { w.change(w.move("f", "a/g")) }, want: says("f", "-", "a/g", pre)},
		{name: "move without place", lacks: "place", do: func(w *world) { w.change(w.move("f", "g")) }, want: says("f", "-", "g", pre)},
		{name: "move and edit", do: func(w *world) {
			w.change(w.move("f", "g"))
			w.change(w.edit("g", "three", "THREE"))
		}, want: says("f", "-", "g", post)},
		{name: "edit and move", do: func(w *world) { one(w); w.change(w.move("f", "g")) }, want: says("f", "-", "g", post)},
		{name: "move there and back", do: func(w *world) {
			w.change(w.move("f", "a/g"))
			w.change(w.move("a/g", "f"))
		}, want: says("f", pre, "a/g", "-")},
		{name: "move over a deleted file", files: map[string]string{"f": pre, "g": "g\n"}, do: func(w *world) {
			w.change(w.remove("g", "g\n"))
			w.change(w.move("f", "g"))
		}, want: says("f", "-", "g", pre)},
		{name: "several files", files: map[string]string{"f": pre, "g": "g\n", "h": "h\n"}, do: several, want: says(
			"f", post, "g", "-", "h", "H\n", "a/i", "i\n")},
		{
			name: "several files, one in the way", files: map[string]string{"f": pre, "g": "g\n", "h": "h\n"}, do: several,
			other: func(w *world) bool { return w.append("h") }, want: anything,
		},

		{name: "no exchange: edit", lacks: "exchange", do: one, want: says("f", post)},
		{name: "no exchange: edit of an open file", lacks: "exchange", set: open, do: one, want: says("f", post)},
		{name: "no exchange, no links: edit", lacks: "exchange link", do: one, want: says("f", post)},
		{name: "no files without a name: edit", lacks: "anonymous", do: one, want: says("f", post)},
		{name: "no way to name them: edit", lacks: "name", do: one, want: says("f", post)},
		{name: "no files without a name: append meets edit", lacks: "anonymous", do: one, other: appends, want: both},
		{name: "no place: create", lacks: "place", files: none, do: making, want: says("f", "new\n")},
		{name: "no place, no links: create", lacks: "place link", files: none, do: making, want: says("f", "new\n")},
		{name: "no place: delete", lacks: "place", do: removal, want: says("f", "-")},

		{name: "append meets edit", do: one, other: appends, want: both},
		{name: "save meets edit", do: one, other: saves, want: both},
		{name: "rewriting meets edit", do: one, other: rewrites, want: both},
		{name: "appends before each exchange meet edit", busy: true, set: func(w *world) {
			w.fail = func(op, _ string) error {
				if op == "exchange" {
					w.append("f")
				}
				return nil
			}
		}, do: one, want: both},
		{name: "a save of the same line meets edit", do: one, other: clashes, want: theirs},
		{name: "append meets two edits", do: func(w *world) { one(w); w.change(w.edit("f", "one", "ONE")) }, other: appends, want: theirs},
		{name: "removal meets edit", do: one, other: func(w *world) bool { return w.delete("f") }, want: anything},
		{name: "a folder takes the place", do: one, other: func(w *world) bool { return w.mkdir("f") }, want: anything},
		{name: "a link takes the place", do: one, other: func(w *world) bool { return w.symlink("f") }, want: anything},
		{name: "a write to the file that was open", late: true, set: open, do: one, other: writes, want: both},
		{name: "a last write to the file that was open", late: true, set: open, do: one, other: writesAndCloses, want: both},
		{name: "save meets edit of an open file", set: open, do: one, other: saves, want: both},
		{name: "append meets delete", do: removal, other: appends, want: anything},
		{name: "save meets delete", do: removal, other: saves, want: anything},
		{name: "a write to the deleted file that was open", late: true, set: open, do: removal, other: writes, want: theirs},
		{name: "another makes the file", files: none, do: making, other: func(w *world) bool { return w.make("f") }, want: anything},
		{name: "another makes the deleted file", do: removal, other: func(w *world) bool { return w.make("f") }, want: anything},
		{name: "append meets move", do: moving, other: appends, want: moved},
		{name: "save meets move", do: moving, other: saves, want: moved},
		{name: "a write to the moved file that was open", set: open, do: moving, other: writes, want: moved},
		{name: "another makes the destination", do: moving, other: func(w *world) bool { return w.make("g") }, want: anything},
		{name: "no place: append meets move", lacks: "place", do: moving, other: appends, want: moved},
		{name: "no place: save meets move", lacks: "place", do: moving, other: saves, want: moved, all: true},
		{name: "no place: another makes the moved file", lacks: "place", do: moving, other: func(w *world) bool { return w.make("f") }, want: anything},
		{name: "no exchange: append meets edit", lacks: "exchange", do: one, other: appends, want: both},
		{name: "no exchange: save meets edit", lacks: "exchange", do: one, other: saves, want: both},
		{name: "no exchange, no links: append meets edit", lacks: "exchange link", do: one, other: appends, want: both},
		{name: "no place: append meets delete", lacks: "place", do: removal, other: appends, want: anything},
	}
}

// several is a change of four files that is written down as one.
func several(w *world) {
	w.change(func(c *Change) error {
		raw, _ := w.read("h")
		now := strings.Replace(raw, "h", "H", 1)
		w.whole[now], w.whole["i\n"] = true, true
		planned := []Planned{
			{Op: Edit, Path: w.path("f"), Before: []byte(pre), BeforeHash: Hash([]byte(pre)), AfterHash: Hash([]byte(post))},
			{Op: Delete, Path: w.path("g"), Before: []byte("g\n"), BeforeHash: Hash([]byte("g\n"))},
			{Op: Edit, Path: w.path("h"), Before: []byte(raw), BeforeHash: Hash([]byte(raw)), AfterHash: Hash([]byte(now))},
			{Op: Create, Path: w.path("a/i"), AfterHash: Hash([]byte("i\n"))},
		}
		if err := c.Begin(planned...); err != nil {
			return err
		}
		for _, do := range []func(*Change) error{
			w.edit("f", "three", "THREE"), w.remove("g", "g\n"),
			func(c *Change) error {
				_, err := c.Replace(w.path("h"), []byte(raw), []byte(now))
				return err
			},
			w.create("a/i", "i\n"),
		} {
			if err := do(c); err != nil {
				return err
			}
		}
		if n := len(w.j.intents); n != 1 {
			return fmt.Errorf("written down as %d", n)
		}
		return nil
	})
}

// begun makes the world of a scenario in which the other program acts before call at, 0 for never.
func (sc scenario) begun(t testing.TB, dir string, at, stop int) *world {
	files := sc.files
	if files == nil {
		files = map[string]string{"f": pre}
	}
	w := newWorld(t, dir, files)
	w.whole[post] = true
	if sc.lacks != "" {
		w.fail = func(op, _ string) error {
			if slices.Contains(strings.Fields(sc.lacks), op) {
				return syscall.EINVAL
			}
			return nil
		}
	}
	if sc.set != nil {
		sc.set(w)
	}
	w.start(stop)
	if at > 0 {
		w.sim.others[at] = func() bool { return sc.other(w) }
	}
	return w
}

func (sc scenario) run(w *world) bool {
	return w.sim.run(w.t, func() {
		sc.do(w)
		w.sim.pass()
	})
}

// recover starts the next process, which recovers and may stop at it.
func (w *world) recover(stop int) bool {
	w.start(stop)
	return w.sim.run(w.t, func() {
		var err error
		w.rec, err = w.d.Recover()
		w.must(err)
		w.sim.pass()
	})
}

// blind says that what another program does before this call cannot be seen, as docs/files.md says: renaming, where the file
// system cannot exchange files, and writing to a file that was displaced and whose time is up.
func (sc scenario) blind(log []string, call int) bool {
	op, name, _ := strings.Cut(log[call-1], " ")
	if strings.Contains(sc.lacks, "exchange") && op == "rename" && !strings.HasPrefix(name, TempPrefix) {
		return true
	}
	last := 0
	for i, c := range log {
		if strings.HasPrefix(c, "read "+TempPrefix) {
			last = i + 1
		}
	}
	return sc.late && call > last
}

// TestF152CrashSweep stops a process after each of its calls, in each scenario and with the other program acting before
// each of them, and recovers, also from recoveries that were stopped. At every moment each file is whole and nothing that
// anybody saved is lost; after a recovery nothing is left behind.
func TestF152CrashSweep(t *testing.T) {
	runs, recoveries := 0, 0
	dir := memory(t)
	if len(scenarios()) < 30 {
		t.Errorf("%d scenarios", len(scenarios()))
	}
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			fresh := func() string {
				runs++
				return filepath.Join(dir, fmt.Sprint(runs))
			}
			calls, every := 0, *every || sc.all
			var log []string
			for at := 0; at <= calls; at++ {
				if at > 0 && sc.other == nil {
					break
				}
				w := sc.begun(t, fresh(), at, 0)
				if !sc.run(w) {
					t.Fatal("it did not come to its end")
				}
				if at == 0 {
					calls, log = w.sim.calls, w.sim.log
				} else if sc.blind(log, at) {
					w.end()
					continue
				}
				w.check(true)
				if err := sc.want(w); err != nil {
					t.Errorf("the other at %d of %d: %v\n%q", at, calls, err, w.sim.log)
				}
				stride := 1
				if at > 0 && !every {
					stride += calls * w.sim.calls / 40
				}
				w.end()
				for stop := 1 + at%stride; ; stop += stride {
					w := sc.begun(t, fresh(), at, stop)
					if sc.run(w) {
						w.end()
						break
					}
					w.check(false)
					if !w.recover(0) {
						t.Fatal("the recovery did not come to its end")
					}
					w.check(true)
					steps := w.sim.calls
					if at == 0 && sc.other != nil && sc.lacks == "" && !sc.late {
						sc.duringRecovery(t, fresh, stop, steps)
					}
					if t.Failed() {
						t.Fatalf("the other at %d, stopped at %d\n%q\n%q", at, stop, log, w.sim.log)
					}
					w.end()
					for again := 1 + stop%3; again <= steps; again++ {
						sampled := 10 * stride
						if every {
							sampled = 1 + calls*calls/1000
						}
						if (at*7+stop*3+again)%sampled > 0 {
							continue
						}
						recoveries++
						w := sc.begun(t, fresh(), at, stop)
						sc.run(w)
						w.recover(again)
						w.check(false)
						for !w.recover(0) {
						}
						w.check(true)
						if t.Failed() {
							t.Fatalf("the other at %d, stopped at %d, recovery at %d\n%q\n%q", at, stop, again, log, w.sim.log)
						}
						w.end()
					}
				}
				if t.Failed() {
					t.FailNow()
				}
			}
		})
	}
	t.Logf("%d scenarios, %d runs, %d of them with two crashes", len(scenarios()), runs, recoveries)
}

// duringRecovery has the other program act before each call of the recovery.
func (sc scenario) duringRecovery(t *testing.T, fresh func() string, stop, steps int) {
	for at := 1; at <= steps; at++ {
		if !*every && (at+stop)%9 > 0 {
			continue
		}
		w := sc.begun(t, fresh(), 0, stop)
		sc.run(w)
		w.start(0)
		w.sim.others[at] = func() bool { return sc.other(w) }
		w.sim.run(t, func() {
			_, err := w.d.Recover()
			w.must(err)
			w.sim.pass()
		})
		w.check(true)
		if t.Failed() {
			t.Fatalf("stopped at %d, the other at %d of the recovery\n%q", stop, at, w.sim.log)
		}
		w.end()
	}
}

// TestF152ForgottenBefore takes from the journal what the files said before, as the deletion of a session does. Nothing else
// that anybody saved is lost in the recovery.
func TestF152ForgottenBefore(t *testing.T) {
	dir := memory(t)
	runs := 0
	forget := func(w *world) {
		for _, n := range w.j.intents {
			for i, f := range n.Files {
				w.saved = slices.DeleteFunc(w.saved, func(v string) bool { return f.Before != nil && v == string(f.Before) })
				n.Files[i].Before = nil
			}
		}
	}
	for _, sc := range scenarios() {
		if sc.other == nil || sc.lacks != "" || sc.late {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			stride := 29
			if *every {
				stride = 1
			}
			for at, calls := 0, 0; at <= calls; at++ {
				for stop := 1 + at%stride; ; stop += stride {
					runs++
					w := sc.begun(t, filepath.Join(dir, fmt.Sprint(runs)), at, stop)
					whole := sc.run(w)
					if at == 0 {
						calls = max(calls, w.sim.calls)
					}
					if !whole {
						forget(w)
						for !w.recover(0) {
						}
						w.check(true)
						if got, _ := w.read("f"); strings.Count(got, "five") > 1 {
							t.Errorf("it is there twice: %q", got)
						}
					}
					if t.Failed() {
						t.Fatalf("the other at %d, stopped at %d: %q", at, stop, w.sim.log)
					}
					w.end()
					if whole {
						break
					}
				}
			}
		})
	}
	t.Logf("%d runs", runs)
}

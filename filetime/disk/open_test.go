//go:build linux

package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// opens has another program open a file for writing that it has found before our change, which makes it wait where we have a
// lease, and then write to it. Signals make it begin to wait anew all the time. It gives what ends that program.
func opens(w *world, fd uintptr) (end func()) {
	var st syscall.Stat_t
	w.must(syscall.Fstat(int(fd), &st))
	done := make(chan struct{})
	var h *os.File
	var err error
	thread := make(chan int)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread <- unix.Gettid()
		h, err = os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR|os.O_APPEND, 0)
	}()
	go func(id int) {
		for {
			select {
			case <-done:
				return
			default:
				_ = unix.Tgkill(os.Getpid(), id, unix.SIGIO)
			}
		}
	}(<-thread)
	waits := func() bool {
		locks, err := os.ReadFile("/proc/locks")
		w.must(err)
		for line := range strings.Lines(string(locks)) {
			if strings.Contains(line, "BREAKING") && strings.Contains(line, fmt.Sprintf(":%d ", st.Ino)) {
				return true
			}
		}
		return false
	}
	written := false
	w.sim.waiting = func() {
		for {
			select {
			case <-done:
				w.must(err)
				if !written {
					w.write(h)
					written = true
				}
				return
			default:
			}
			if waits() {
				return
			}
		}
	}
	w.sim.waiting()
	return func() {
		w.sim.waiting = nil
		<-done
		if !written {
			w.must(err)
			w.write(h)
		}
		w.must(h.Close())
	}
}

// TestF152OpenedMeanwhile has another program open the file that is replaced, or deleted, before each of our calls, write to
// it as soon as it can, and close it at the next call after that. What it writes is never lost.
func TestF152OpenedMeanwhile(t *testing.T) {
	dir := memory(t)
	for _, sc := range []scenario{
		{name: "edit", do: one},
		{name: "delete", do: func(w *world) { w.change(w.remove("f", pre)) }},
		{name: "edit of a file that a program has open", do: func(w *world) {
			h, err := os.OpenFile(w.path("f"), os.O_RDWR, 0)
			w.must(err)
			one(w)
			w.must(h.Close())
		}},
	} {
		t.Run(sc.name, func(t *testing.T) {
			for at := 1; ; at++ {
				w := sc.begun(t, filepath.Join(dir, sc.name, fmt.Sprint(at)), 0, 0)
				found, err := os.Open(w.path("f"))
				w.must(err)
				var end func()
				w.sim.others[at] = func() bool {
					end = opens(w, found.Fd())
					return true
				}
				whole := w.sim.run(t, func() {
					sc.do(w)
					if w.sim.calls < at {
						return
					}
					w.sim.pass()
				})
				reached := end != nil
				if reached {
					end()
				}
				w.check(reached)
				if t.Failed() {
					t.Fatalf("at %d, %v: %q", at, w.err, w.sim.log)
				}
				w.must(found.Close())
				w.end()
				if !whole || !reached {
					break
				}
			}
		})
	}
}

// TestF152WritesOn has another program write again and again to a deleted file that has no name any more: all of it is in the
// file that was made for the first.
func TestF152WritesOn(t *testing.T) {
	w := newWorld(t, filepath.Join(memory(t), "w"), map[string]string{"f": pre})
	w.start(0)
	h, err := os.OpenFile(w.path("f"), os.O_RDWR|os.O_APPEND, 0)
	w.must(err)
	dir, err := System(nil).Open(w.dir)
	w.must(err)
	file, err := dir.Open("f")
	w.must(err)
	w.must(dir.Close())
	c := w.d.Change(Intent{Session: "s", Call: "c"})
	w.must(c.Begin(Planned{Op: Delete, Path: w.path("f"), Before: []byte(pre), BeforeHash: Hash([]byte(pre))}))
	w.must(os.Remove(w.path("f")))
	w.d.retain(&retainedFile{c: c, at: placeOf(w.path("f")), temp: TempPrefix + "gone", file: file, data: []byte(pre), deletes: true})
	c.End(Landed)
	for range 3 {
		w.write(h)
		next := w.sim.timers
		w.sim.timers = nil
		for _, t := range next {
			t.f()
		}
		if got, _ := w.read("f"); got != w.inode(h) {
			t.Errorf("the file says %q, and what was written is %q", got, w.inode(h))
		}
	}
	w.must(h.Close())
	w.sim.pass()
	w.check(true)
}

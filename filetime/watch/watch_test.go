package watch

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"
)

// patience is far more than anything here takes, and ends a test that hangs.
const patience = 20 * time.Second

// rig is a Watcher over a folder of its own.
type rig struct {
	*Watcher
	t    *testing.T
	root string
	told chan string
}

func watching(t *testing.T, change func(*Watcher)) *rig {
	t.Helper()
	r := &rig{t: t, root: t.TempDir(), told: make(chan string, 10_000)}
	r.Watcher = New(func(path string, lost bool) {
		name, _ := filepath.Rel(r.root, path) // both are absolute
		if lost {
			name += " (lost)"
		}
		r.told <- name
	}, func(string) string { return r.root }, slog.New(slog.DiscardHandler))
	if change != nil {
		change(r.Watcher)
	}
	t.Cleanup(func() {
		r.Close()
		goleak.VerifyNone(t)
	})
	return r
}

func (r *rig) path(name string) string { return filepath.Join(r.root, name) }

func (r *rig) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(r.path(name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// is waits until a file is told of.
func (r *rig) is(want string) {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case got := <-r.told:
			if got == want {
				return
			}
		case <-deadline:
			r.t.Fatalf("not told of %s", want)
		}
	}
}

// quiet forgets what was told, once all that was to be told of the past has been: a file of its own tells when.
func (r *rig) quiet() {
	r.t.Helper()
	const last = "last"
	r.write(last, "0")
	r.Add(r.path(last))
	r.is(last)
	r.write(last, fmt.Sprint(time.Now()))
	r.is(last)
	for len(r.told) > 0 {
		<-r.told
	}
}

// TestF188EveryKindOfSave has a file saved in the ways that programs have, each of which must be told of.
func TestF188EveryKindOfSave(t *testing.T) {
	r := watching(t, nil)
	r.write("a", "one")
	r.write("b", "one")
	r.Add(r.path("a"))
	r.is("a") // what happened before the watch was there
	r.Add(r.path("b"))
	r.is("b")

	r.write("a", "two")
	r.is("a")
	r.write("a.new", "three")
	r.must(os.Rename(r.path("a.new"), r.path("a")))
	r.is("a")
	r.write("a", "four") // still watched after the file behind the name has changed
	r.is("a")
	r.must(os.Rename(r.path("a"), r.path("elsewhere")))
	r.is("a")
	r.write("a", "five")
	r.is("a")
	r.must(os.Remove(r.path("a")))
	r.is("a")
	r.write("a", "six")
	r.is("a")
	r.write("unwatched", "x")
	r.write("b", "two")
	r.is("b")
	if got := r.State(); got != "on" {
		t.Errorf("State: %v", got)
	}
}

// TestF188Folders has folders come and go, also above that of the file: the file in them is told of each time.
func TestF188Folders(t *testing.T) {
	r := watching(t, nil)
	const name = "one/two/three/a"
	dir := filepath.Dir(name)
	r.must(os.MkdirAll(r.path(dir), 0o755))
	r.write(name, "0")
	r.Add(r.path(name))
	r.is(name)
	for i, away := range []string{dir, filepath.Dir(dir), "one"} {
		r.quiet()
		r.must(os.Rename(r.path(away), r.path("aside")))
		r.is(name)
		r.quiet()
		r.must(os.Rename(r.path("aside"), r.path(away)))
		r.is(name)
		r.quiet()
		r.write(name, fmt.Sprint("moved and back ", i))
		r.is(name)

		r.quiet()
		r.must(os.RemoveAll(r.path(away)))
		r.is(name)
		r.quiet()
		r.must(os.MkdirAll(r.path(dir), 0o755))
		r.write(name, "anew")
		r.is(name)
		r.quiet()
		r.write(name, fmt.Sprint("again ", i))
		r.is(name)

		// Gone and back at once, with the same text.
		r.must(os.RemoveAll(r.path(away)))
		r.must(os.MkdirAll(r.path(dir), 0o755))
		r.write(name, fmt.Sprint("again ", i))
		r.is(name)
		r.quiet()
		r.write(name, fmt.Sprint("and then ", i))
		r.is(name)
	}
	if got := r.State(); got != "on" {
		t.Errorf("State: %v", got)
	}
}

// A root that goes away is told of by nobody above it; its file is looked at until it is back, and then watched.
func TestF188TheRootItself(t *testing.T) {
	r := watching(t, nil)
	top := t.TempDir()
	root := filepath.Join(top, "root")
	r.Watcher.root = func(string) string { return root }
	path := filepath.Join(root, "a")
	name, _ := filepath.Rel(r.root, path) // both are absolute
	r.must(os.Mkdir(root, 0o755))
	r.must(os.WriteFile(path, nil, 0o644))
	r.Add(path)
	r.is(name)
	r.must(os.RemoveAll(root))
	r.is(name)
	until(t, func() bool { return strings.HasPrefix(r.State(), "polling: 1 of 1 ") })
	r.must(os.Mkdir(root, 0o755))
	r.must(os.WriteFile(path, []byte("back"), 0o644))
	r.is(name)
	until(t, func() bool { return r.State() == "on" })
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time")
		}
	}
}

// TestF188Overflow has more happen than the system remembers: then every file is looked at, and all are watched as before.
func TestF188Overflow(t *testing.T) {
	r := watching(t, nil)
	r.must(os.MkdirAll(r.path("d"), 0o755))
	for _, name := range []string{"a", "d/b"} {
		r.write(name, "0")
		r.Add(r.path(name))
		r.is(name)
	}
	limit := 16384
	if raw, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events"); err == nil {
		_, _ = fmt.Sscan(string(raw), &limit)
	}
	if limit > 200_000 {
		t.Skipf("the system remembers %d events", limit)
	}
	// Nobody takes events in meanwhile. What fsnotify has read already is not in the queue any more.
	r.mu.Lock()
	for i := range limit/2 + 10_000 {
		r.must(os.Rename(r.path([]string{"a", "x"}[i%2]), r.path([]string{"x", "a"}[i%2])))
	}
	r.must(os.RemoveAll(r.path("d")))
	r.must(os.Mkdir(r.path("d"), 0o755))
	r.write("d/b", "unseen")
	r.mu.Unlock()
	told := map[string]bool{}
	for deadline := time.After(patience); !told["a (lost)"] || !told["d/b (lost)"]; {
		select {
		case name := <-r.told:
			told[name] = true
		case <-deadline:
			t.Fatalf("told of %v", told)
		}
	}
	r.quiet()
	r.write("d/b", "seen")
	r.is("d/b")
}

// TestF188NoWatchLeft has the system give no watch: the file is looked at instead, and State says so until there is one.
func TestF188NoWatchLeft(t *testing.T) {
	var full bool
	r := watching(t, func(w *Watcher) {
		full, w.racy = true, 0
		w.add = func(f *fsnotify.Watcher, dir string) error {
			if full && filepath.Base(dir) == "d" { // setup is held
				return syscall.ENOSPC
			}
			return f.Add(dir)
		}
	})
	r.must(os.Mkdir(r.path("d"), 0o755))
	r.write("a", "0")
	r.write("d/b", "0")
	r.Add(r.path("a"))
	r.Add(r.path("d/b"))
	r.is("d/b")
	if got := r.State(); !strings.HasPrefix(got, "polling: 1 of 2 files ") || !strings.Contains(got, "no space left") {
		t.Errorf("State: %s", got)
	}
	r.quiet()
	for i, save := range []func(){
		func() { r.write("d/b", "1") },
		func() {
			info, err := os.Stat(r.path("d/b"))
			r.must(err)
			r.write("d/b", "2") // of the same size, and as old as before
			r.must(os.Chtimes(r.path("d/b"), info.ModTime(), info.ModTime()))
		},
		func() { r.write("d/new", "3"); r.must(os.Rename(r.path("d/new"), r.path("d/b"))) },
		func() { r.must(os.Remove(r.path("d/b"))) },
		func() { r.write("d/b", "4") },
	} {
		began := time.Now()
		save()
		r.is("d/b")
		if took := time.Since(began); took > 40*Every {
			t.Errorf("save %d was told of after %v", i, took)
		}
	}
	r.setup.Lock()
	full = false
	r.setup.Unlock()
	until(t, func() bool { return r.State() == "on" })
	r.quiet()
	r.write("d/b", "5")
	r.is("d/b")
}

// A folder on another machine is not watched but looked at.
func TestF188AnotherMachine(t *testing.T) {
	r := watching(t, func(w *Watcher) { w.remote = func(string) string { return "NFS" } })
	r.write("a", "0")
	r.Add(r.path("a"))
	r.is("a")
	if r.w != nil {
		t.Error("it is watched")
	}
	r.write("a", "1")
	r.is("a")
	if got := r.State(); !strings.Contains(got, "is on NFS") {
		t.Errorf("State: %s", got)
	}
}

func TestNothingIsOpenedBeforeTheFirstFile(t *testing.T) {
	r := watching(t, nil)
	if r.w != nil || r.State() != "on" {
		t.Error("a watch without a file")
	}
	r.Close()
	r.Add("/nowhere/at/all") // after Close it does nothing
	if r.w != nil {
		t.Error("a watch after Close")
	}
}

// What the system tells of is covered from the moment that it is watched, and an event is counted before it is told.
func TestF150Covers(t *testing.T) {
	asked := make(chan uint64, 100)
	r := watching(t, func(w *Watcher) {
		tell := w.changed
		w.changed = func(path string, lost bool) {
			_, events := w.Covers(path)
			asked <- events
			tell(path, lost)
		}
	})
	r.write("a", "1")
	covers := func(name string, want bool) uint64 {
		t.Helper()
		live, events := r.Covers(r.path(name))
		if live != want {
			t.Errorf("%s: live %v", name, live)
		}
		return events
	}
	covers("a", false)
	r.Watch(r.path("a"))
	was := covers("a", true)
	r.write("a", "2")
	r.is("a")
	if at := <-asked; at <= was {
		t.Errorf("%d events when it was told of, %d before", at, was)
	}
	r.Watch(r.path("none/b")) // its folder is not there
	was = covers("none/b", false)
	r.must(os.Mkdir(r.path("none"), 0o755))
	r.is("none/b")
	if now := covers("none/b", true); now <= was {
		t.Errorf("%d events, %d before", now, was)
	}
	r.Add(r.path("c"))
	covers("c", true)
	r.is("c") // it may have changed since it was read
}

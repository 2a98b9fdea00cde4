package index

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"tandem/sandbox/search/trigrams"
	"tandem/sandbox/tree"
)

// mapping is a file that is mapped into memory.
func mapping(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	return mem
}

// unheard is an index of the files a, b/c and b/d, which believes all folders, and a function that changes b/c without an event: what is in
// it is then "two" and no more "one".
func unheard(t *testing.T) (x *Indexes, tr *tree.Tree, change func()) {
	t.Helper()
	p := workspace(t, "a=one\n", "b/c=one\n", "b/d=zero\n")
	x, settle := indexes(t)
	tr = treeIn(t, p, ".")
	holding(t, tr, x, "one")
	settle()
	if !x.hears() {
		t.Skip("this system does not tell of changes")
	}
	mem := mapping(t, filepath.Join(p.Cwd, "b", "c"))
	return x, tr, func() {
		t.Helper()
		copy(mem, "two\n")
		if err := unix.Msync(mem, unix.MS_SYNC); err != nil { // which gives the file another time
			t.Fatal(err)
		}
		if found, _ := holding(t, tr, x, "two"); len(found) > 0 {
			t.Skipf("this file system tells of what is written by way of a mapping: %v", found)
		}
	}
}

// TestFaultT10AfterAnOverflow: once the queue of events has overflowed, or has told of more folders than are kept, the next search looks
// at all files and finds what no event has told of.
func TestFaultT10AfterAnOverflow(t *testing.T) {
	for name, overflow := range map[string]func(t *testing.T, i *index){
		"of the system's queue": func(_ *testing.T, i *index) { i.w.w.Errors <- fsnotify.ErrEventOverflow },
		"of what is kept": func(t *testing.T, i *index) {
			i.w.mu.Lock()
			for n := range maxEvents {
				i.w.changed[filepath.Join("/elsewhere", fmt.Sprint(n))] = true
			}
			i.w.mu.Unlock()
			i.w.w.Events <- fsnotify.Event{Name: "/elsewhere/more", Op: fsnotify.Write}
		},
		"and the end of all events": func(_ *testing.T, i *index) { _ = i.w.w.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			x, tr, change := unheard(t)
			change()
			overflow(t, x.indexFor(tr))
			if found, _ := holding(t, tr, x, "two"); fmt.Sprint(found) != "[b/c]" {
				t.Errorf("%v are found", found)
			}
			if x.hears() {
				t.Error("the watch is still believed")
			}
		})
	}
}

// TestFaultT10ChangedWhileItIsRead: a file that is changed after its text was read, and before the index has it, or after it was listed and
// before it is read, is searched as it is.
func TestFaultT10ChangedWhileItIsRead(t *testing.T) {
	for name, early := range map[string]bool{"before it is read": true, "before the index has it": false} {
		t.Run(name, func(t *testing.T) {
			p := workspace(t, "a=one\n", "b=one\n")
			x, _ := indexes(t)
			tr := treeIn(t, p, ".")
			i := x.indexFor(tr)
			jobs, err := i.pending(t.Context(), tr)
			if err != nil || len(jobs) != 2 {
				t.Fatalf("%v, %v", jobs, err)
			}
			change := func() {
				t.Helper()
				if err := os.WriteFile(filepath.Join(p.Cwd, "b"), []byte("other\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			b, buf := trigrams.NewBuilder(), make([]byte, 1<<10)
			if early {
				change()
			}
			for n := range jobs {
				buf = i.read(tr, &jobs[n], b, buf, false, func() bool { return true })
			}
			if !early {
				change()
				holding(t, tr, x, "one") // it looks at the file
			}
			i.install(b.Finish(), jobs)
			for word, want := range map[string]string{"one": "[a]", "other": "[b]"} {
				if found, _ := holding(t, tr, x, word); fmt.Sprint(found) != want {
					t.Errorf("%s: %v are found", word, found)
				}
			}
			if _, read := holding(t, tr, x, "no such text"); read != 1 {
				t.Errorf("%d files are read, though the text of one is known", read)
			}
		})
	}
}

// TestFaultT15WrittenByAMapping: what is written by way of a mapping gives no event. After a command, which Doubt says, it is found.
func TestFaultT15WrittenByAMapping(t *testing.T) {
	x, tr, change := unheard(t)
	change()
	x.Invalidate()
	if found, _ := holding(t, tr, x, "two"); fmt.Sprint(found) != "[b/c]" {
		t.Errorf("%v are found", found)
	}
	if !x.hears() {
		t.Error("the watch is gone")
	}
	// It is looked at in the background too, as other programs may write so.
	x, tr, change = unheard(t)
	change()
	x.check(tr)
	if found, _ := holding(t, tr, x, "two"); fmt.Sprint(found) != "[b/c]" {
		t.Errorf("%v are found after a look in the background", found)
	}
}

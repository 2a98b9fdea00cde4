//go:build linux

package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestF275EveryCallFails has each call of each scenario fail, once and from then on. Whoever is told of a failure finds the
// file as it was, whoever is told of none finds the change in it, and nothing stays behind or is lost.
func TestF275EveryCallFails(t *testing.T) {
	dir := memory(t)
	runs := 0
	for _, sc := range scenarios() {
		if sc.lacks != "" {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			for _, k := range []struct {
				errno  syscall.Errno
				always bool
			}{{syscall.ENOSPC, false}, {syscall.ENOSPC, true}, {syscall.EACCES, false}} {
				stride := 1
				if sc.other != nil && !*every {
					stride = 5
				}
				for at := 1; ; at += stride {
					runs++
					w := sc.begun(t, filepath.Join(dir, fmt.Sprint(runs)), 0, 0)
					if sc.other != nil { // another program is there at the worst moment: after the exchange was prepared
						w.sim.others[16] = func() bool { return sc.other(w) }
					}
					failed := false
					w.sim.fault = func(op, name string) error {
						hit := w.sim.calls == at || k.always && w.sim.calls > at
						if k.always && (op == "remove" || op == "rmdir" || op == "exchange" || op == "opendir") {
							hit = false // what needs no space goes on
						}
						failed = failed || hit
						if hit {
							return k.errno
						}
						return nil
					}
					if !sc.run(w) {
						t.Fatal("it did not come to its end")
					}
					calls, did := w.sim.calls, w.sim.log
					w.check(false)
					simple := sc.other == nil && len(w.errs) == 1 && sc.files == nil && strings.HasPrefix(sc.name, "edit")
					var stuck *StuckError
					if got, _ := w.read("f"); simple && !errors.As(w.err, &stuck) {
						if want := map[bool]string{true: pre, false: got}[w.err != nil]; got != want || w.err == nil && got == pre {
							t.Errorf("the file says %q after %v", got, w.err)
						}
					}
					for !w.recover(0) {
					}
					w.check(true)
					w.end()
					if t.Failed() {
						t.Fatalf("%v at %d of %d (%s), always %v: %v\n%q", k.errno, at, calls, did[min(at, len(did))-1], k.always, w.err, did)
					}
					if !failed {
						break
					}
				}
			}
		})
	}
	t.Logf("%d runs", runs)
}

// TestF275JournalFull has the journal refuse: nothing happens then.
func TestF275JournalFull(t *testing.T) {
	for _, sc := range scenarios() {
		if sc.other != nil {
			continue
		}
		w := sc.begun(t, filepath.Join(memory(t), "w"), 0, 0)
		before, _ := w.texts()
		w.j.full = true
		sc.run(w)
		after, temps := w.texts()
		var journal *JournalError
		if !errors.As(w.errs[0], &journal) || !errors.Is(w.errs[0], syscall.ENOSPC) {
			t.Errorf("%s: %v", sc.name, w.errs)
		}
		if fmt.Sprint(before) != fmt.Sprint(after) || len(temps) > 0 {
			t.Errorf("%s: %q became %q", sc.name, before, after)
		}
		w.end()
	}
}

// TestF275FullDisk fills a small file system up, and so has the system itself refuse, at each size that it may have left.
func TestF275FullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	defer func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	path := filepath.Join(dir, "big.txt")
	was := strings.Repeat("x", 400_000)
	if err := os.WriteFile(path, []byte(was), 0o644); err != nil {
		t.Fatal(err)
	}
	d := New(Options{})
	for left := 640_000; left >= 0; left -= 80_000 {
		fill := filepath.Join(dir, "fill")
		size := max(0, 1<<20-400_000-left)
		if err := os.WriteFile(fill, make([]byte, size), 0o644); err != nil && left > 0 {
			t.Fatal(err)
		}
		now := was[:len(was)/2] + strings.Repeat("y", 240_000) + was[len(was)/2:]
		c := d.Change(Intent{})
		_, err := c.Replace(path, []byte(was), []byte(now))
		c.End(outcome(err))
		d.Settle()
		got, rerr := os.ReadFile(path)
		if rerr != nil {
			t.Fatal(rerr)
		}
		switch {
		case err == nil && string(got) == now:
			if err := os.WriteFile(path, []byte(was), 0o644); err != nil {
				t.Fatal(err)
			}
		case errors.Is(err, syscall.ENOSPC) && string(got) == was:
		default:
			t.Errorf("%d left: %v, and the file has %d bytes", left, err, len(got))
		}
		if n := temps(t, dir); len(n) > 0 {
			t.Errorf("%d left: %q stand there", left, n)
		}
	}
}

func temps(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, TempPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

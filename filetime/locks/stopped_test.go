//go:build unix

package locks

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tandem/filetime"
)

// Who waits behind another call of its process, which waits for another process, has waited with it.
func TestF241OneDeadline(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ws := many(t, 2, dir, nil)
		unlock, err := ws[0].Lock(t.Context(), "/w/a", "/w/b")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i, paths := range [][]string{{"/w/a"}, {"/w/a"}, {"/w/a", "/w/b"}, {"/w/b", "/w/0"}, {"/w/b"}} {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				began := time.Now()
				_, err := ws[1].Lock(t.Context(), paths...)
				var refused *filetime.Error
				if !errors.As(err, &refused) || refused.Reason != "locked" || !strings.Contains(refused.Message, fmt.Sprintf("process %d", os.Getpid())) {
					t.Errorf("call %d: %v", i, err)
				}
				if took := time.Since(began); took != Wait {
					t.Errorf("call %d waited for %v", i, took)
				}
			})
		}
		wg.Wait()
		unlock()

		// But who waits for its own process alone has not waited for another yet.
		if unlock, err = ws[1].Lock(t.Context(), "/w/a"); err != nil {
			t.Fatal(err)
		}
		lock := func(w *Locks) {
			unlock, err := w.Lock(t.Context(), "/w/a")
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(Wait / 2)
			unlock()
		}
		wg.Go(func() { lock(ws[1]) })
		time.Sleep(2 * Wait)
		wg.Go(func() { lock(ws[0]) })
		synctest.Wait()
		unlock()
		wg.Wait()
	})
}

// locker is another process, which locks a file and says so.
func locker(t *testing.T, dir string, wait bool) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOCKS_TEST_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		_, err = cmd.StdinPipe() // open for as long as it lives
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if !wait {
		return cmd
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatal(line, err)
	}
	return cmd
}

func lockForAnother(dir string) {
	w := New(Options{Dir: dir})
	ctx := filetime.WithHolder(context.Background(), filetime.Holder{Session: "s1", Call: "call_7"})
	if _, err := w.Lock(ctx, "/w/a"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("locked")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
}

// TestF241StoppedProcess stops a process that has the lock of a file, and one that waits for it: who waits for either is told
// which process it is, in time.
func TestF241StoppedProcess(t *testing.T) {
	dir := t.TempDir()
	w := New(Options{Dir: dir})
	w.processes.wait = time.Second / 2
	refused := func(p *exec.Cmd, who, does, path string) {
		t.Helper()
		began := time.Now()
		const calling = 20
		var calls sync.WaitGroup
		for range calling {
			calls.Go(func() {
				_, err := w.Lock(t.Context(), path)
				var e *filetime.Error
				want := fmt.Sprintf("%sprocess %d, since ", who, p.Process.Pid)
				if !errors.As(err, &e) || e.Reason != "locked" || !strings.Contains(e.Message, want) || !strings.Contains(e.Message, does) {
					t.Errorf("refused with %v, want %s", err, want)
				}
			})
		}
		calls.Wait()
		if took := time.Since(began); took < w.processes.wait || took > calling/2*w.processes.wait { // one after the other: twice that
			t.Errorf("waited for %v", took)
		}
	}
	stop := func(p *exec.Cmd) {
		t.Helper()
		if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		var s syscall.WaitStatus
		if _, err := syscall.Wait4(p.Process.Pid, &s, syscall.WUNTRACED, nil); err != nil || !s.Stopped() { // all of its threads
			t.Fatal(s, err)
		}
	}
	first := locker(t, dir, true)
	stop(first)
	const call = "the call call_7 of session s1 in "
	refused(first, call, "is changing it.", "/w/a")
	refused(first, call, "is changing /w/a, which has the same lock.", sameShard("/w/a"))

	second := locker(t, dir, false)
	for { // until it waits
		if h, ok := w.processes.reads(shardOf("/w/a"), theTurn, func(holding) bool { return true }); ok && h.PID == second.Process.Pid {
			break
		}
		time.Sleep(time.Millisecond)
	}
	stop(second)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	refused(second, ": ", "is before this one in the queue and does not proceed.", "/w/a")
	if err := second.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) {
	if dir := os.Getenv("LOCKS_TEST_DIR"); dir != "" {
		lockForAnother(dir)
		return
	}
	os.Exit(m.Run())
}

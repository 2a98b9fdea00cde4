//go:build unix

package store

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tandem/filetime/disk"
)

// A process that is stopped while it writes is waited for once, by all who want to write then together; they are told
// which one it is, and who comes later does not wait as long again. When it is gone all is as before.
func TestStoppedWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := testDB(t, path).(*database)
	must(t, s.Save(Session{ID: "s"}))
	if pid := lockHolder(path); pid != 0 {
		t.Errorf("process %d is said to write", pid)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_WRITE="+path)
	out, err := cmd.StdoutPipe()
	must(t, err)
	_, err = cmd.StdinPipe() // open for as long as it lives
	must(t, err)
	must(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill() // it may be gone
		_ = cmd.Wait()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "writing\n" {
		t.Fatal(line, err)
	}
	must(t, cmd.Process.Signal(syscall.SIGSTOP))
	var stopped syscall.WaitStatus
	_, err = syscall.Wait4(cmd.Process.Pid, &stopped, syscall.WUNTRACED, nil)
	must(t, err)
	const patience = time.Second
	_, err = s.db.Exec(fmt.Sprintf("PRAGMA busy_timeout = %d", patience.Milliseconds()))
	must(t, err)
	refused := func(err error) {
		t.Helper()
		if want := fmt.Sprintf("the process %d is writing", cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("refused with %v, want %s", err, want)
		}
	}
	began := time.Now()
	const pairs = 8
	var wg sync.WaitGroup
	for range pairs {
		wg.Go(func() { refused(s.Append("s", Entry{Kind: Message})) })
		wg.Go(func() {
			_, err := s.Begin(disk.Intent{Session: "s"})
			refused(err)
		})
	}
	wg.Wait()
	if took := time.Since(began); took < patience || took > pairs*patience { // one after the other: twice that
		t.Errorf("they waited for %v", took)
	}
	waits := func(want int) {
		t.Helper()
		var wait int
		must(t, s.db.QueryRow("PRAGMA busy_timeout").Scan(&wait))
		if wait != want {
			t.Errorf("waits for %d ms, want %d", wait, want)
		}
	}
	waits(stuckWait)
	_, err = s.Begin(disk.Intent{Session: "s"})
	refused(err)
	s.truncateLog() // which finds no way through either, and must not make the others wait again
	waits(stuckWait)
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	must(t, s.Append("s", Entry{Kind: Message}))
	_, err = s.Begin(disk.Intent{Session: "s"})
	must(t, err)
	waits(busyWait)
}

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tandem/sandbox/keeper"
)

// waiting are the keepers of a kind that wait.
func waiting(s *system, kind string) (out []*keeper.Keeper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.idle {
		if k.kind == kind {
			out = append(out, k.Keeper)
		}
	}
	return out
}

// until waits for something that another goroutine is about to bring about.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never holds that %s", what)
		}
	}
}

// TestSpare: one keeper is started ahead, never two. The first command of a kind has it, then another one is started, and none after
// the end.
func TestSpare(t *testing.T) {
	s := newSuite(t, LevelFull)
	for range 4 {
		s.system.ahead()
	}
	until(t, "there is a spare", func() bool { return len(waiting(&s.system, spare)) > 0 })
	spares := waiting(&s.system, spare)
	if len(spares) != 1 {
		t.Fatalf("%d spares", len(spares))
	}
	for i, profile := range []Profile{Loopback, ReadOnly, Write} {
		l := launch{profile: profile, level: LevelFull, in: s.in, dir: s.folder}
		kind, _ := s.system.bounds(l)
		s.does(t, profile, "true")
		if have := waiting(&s.system, kind); len(have) != 1 || have[0] != spares[0] {
			t.Errorf("command %d ran below %v, not the spare", i, have)
		}
		until(t, "there is another spare", func() bool { return len(waiting(&s.system, spare)) == 1 })
		spares = waiting(&s.system, spare)
	}
	if o := s.does(t, ReadOnly, "touch x"); o.ExitCode == 0 {
		t.Error("what a spare runs is not confined")
	}
	// One that is closed while it is being started is not kept.
	s.system.close()
	s.system.ahead()
	s.system.mu.Lock()
	started := s.system.starting
	s.system.mu.Unlock()
	s.Close()
	<-started
	if n := len(waiting(&s.system, spare)); n != 0 {
		t.Errorf("%d spares after the end", n)
	}
}

// TestSpareIsForSeveralKinds: a trial of the sandbox and commands of one kind start no spare, the
// first command of another kind does.
func TestSpareIsForSeveralKinds(t *testing.T) {
	s := newSuite(t, LevelFull)
	s.system.close() // of what the suite has run
	s.system.misses = 0
	idle := func() int {
		s.system.mu.Lock()
		defer s.system.mu.Unlock()
		return len(s.system.idle)
	}
	starting := func() bool {
		s.system.mu.Lock()
		defer s.system.mu.Unlock()
		return s.system.starting != nil
	}
	if level := s.Level(); level.Name != LevelFull || idle() != 0 {
		t.Errorf("after the trial %d keepers wait at the level %v", idle(), level)
	}
	for range 3 {
		if s.does(t, Loopback, "true"); idle() != 1 || starting() {
			t.Fatalf("%d keepers wait, starting another: %t", idle(), starting())
		}
	}
	s.does(t, ReadOnly, "true")
	until(t, "there is a spare", func() bool { return len(waiting(&s.system, spare)) == 1 })
}

// TestSpareEndsWithServer kills a program that has a spare, by a signal that it cannot see.
func TestSpareEndsWithServer(t *testing.T) {
	const name = "SPARE"
	if path := os.Getenv(name); path != "" { // the program that is killed
		l := local(t)
		l.system.ahead()
		until(t, "there is a spare", func() bool { return len(waiting(&l.system, spare)) == 1 })
		must(t, os.WriteFile(path+".new", nil, 0o600), os.Rename(path+".new", path))
		select {}
	}
	newSuite(t, LevelFull)
	path := filepath.Join(t.TempDir(), "ready")
	server := exec.Command("/proc/self/exe", "-test.run=^TestSpareEndsWithServer$")
	server.Env = append(os.Environ(), name+"="+path)
	must(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill() })
	until(t, "it has a spare", func() bool { return there(path) })
	var spares []int
	tasks, err := filepath.Glob("/proc/" + strconv.Itoa(server.Process.Pid) + "/task/*/children")
	must(t, err)
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for _, f := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(f)
			must(t, err)
			spares = append(spares, pid)
		}
	}
	if len(spares) != 1 {
		t.Errorf("children %v", spares)
	}
	must(t, server.Process.Kill())
	_ = server.Wait()
	gone(t, spares)
}

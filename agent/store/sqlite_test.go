package store

import (
	"bufio"
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func testDB(t *testing.T, path string) Store {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // some tests close it themselves
	return s
}

func TestFileIsForItsOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "a b?c%41#d", "sessions.db")
	s := testDB(t, path)
	must(t, s.Save(Session{ID: "a"}))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", suffix, info, err)
		}
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v %v", info, err)
	}
	// One that others could read is closed to them.
	must(t, s.Close())
	must(t, os.Chmod(path, 0o644))
	testDB(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

// What is deleted is not in any of the files any more.
func TestDeletedIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := testDB(t, path)
	in := func() (found []string) {
		for _, suffix := range []string{"", "-wal"} {
			raw, err := os.ReadFile(path + suffix)
			must(t, err)
			if bytes.Contains(raw, []byte("very secret")) {
				found = append(found, "sessions.db"+suffix)
			}
		}
		return found
	}
	must(t, s.Save(Session{ID: "a", Title: "very secret"}))
	must(t, s.Append("a", Entry{Kind: Message, Text: "very secret", Body: []byte(`"very secret"`), Blobs: []Blob{{Data: "very secret"}}}))
	if len(in()) == 0 {
		t.Error("it was not there before")
	}
	must(t, s.Delete("a"))
	if f := in(); len(f) > 0 {
		t.Error("still in", f)
	}
}

func TestDamaged(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	db, err := sql.Open("sqlite", foreign)
	must(t, err)
	_, err = db.Exec("CREATE TABLE x (y); PRAGMA application_id = 7")
	must(t, errors.Join(err, db.Close()))
	other, err := os.ReadFile(foreign)
	must(t, err)
	for name, content := range map[string][]byte{
		"text": []byte(strings.Repeat("no database\n", 100)), "short": []byte("SQLite"), "another program's": other,
	} {
		path := filepath.Join(t.TempDir(), "sessions.db")
		must(t, os.WriteFile(path, content, 0o600))
		_, err := Open(path, Options{})
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, content) {
			t.Errorf("%s was changed (%v)", name, err)
		}
	}
}

func TestMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := testDB(t, path)
	must(t, s.Save(Session{ID: "a", Title: "kept"}))
	must(t, s.Close())
	next := append(migrations(), "ALTER TABLE session ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'")
	s, err := open(path, Options{}, next)
	must(t, err)
	if got, _, err := s.Entries("a"); err != nil || got.Title != "kept" {
		t.Errorf("%+v %v", got, err)
	}
	must(t, s.Close())
	if _, err = Open(path, Options{}); !errors.Is(err, ErrNewer) {
		t.Errorf("the older program: %v", err)
	}
	// A step that fails leaves the database as it was.
	if _, err := open(path, Options{}, append(next, "CREATE TABLE t (x)", "nonsense")); err == nil {
		t.Error("nonsense was taken")
	}
	s, err = open(path, Options{}, append(next, "CREATE TABLE t (x)"))
	must(t, err)
	must(t, s.Close())
}

// Many that open a new database at once make one.
func TestOpenedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := Open(path, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = s.Close() }() // nothing depends on it
			if err := s.Save(Session{ID: fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if found, _, err := testDB(t, path).Sessions(Query{}); err != nil || len(found) != 8 {
		t.Errorf("%d sessions, %v", len(found), err)
	}
}

func TestHeldElsewhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	a, b := testDB(t, path), testDB(t, path)
	must(t, a.Save(Session{ID: "s"}))
	must(t, a.Append("s", Entry{Kind: Message, Text: "one"}))
	for name, err := range map[string]error{
		"Save": b.Save(Session{ID: "s"}), "Take": second(b.Take("s")), "Delete": b.Delete("s"),
		"Append": b.Append("s", Entry{Kind: Message}),
	} {
		var held *HeldError
		if !errors.As(err, &held) || held.PID != os.Getpid() {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s, entries, err := b.Entries("s"); err != nil || len(entries) != 1 || s.PID != os.Getpid() {
		t.Errorf("reading: %+v, %d entries, %v", s, len(entries), err)
	}
	if c, err := b.Collect(0, time.Now().Add(time.Hour)); err != nil || c.Sessions != 0 {
		t.Errorf("%+v %v", c, err)
	}
	must(t, a.Release("s"))
	if _, _, err := b.Take("s"); err != nil {
		t.Error(err)
	}
	if err := a.Append("s", Entry{Kind: Message}); err == nil {
		t.Error("the one that let go still writes")
	}
	// The end of a store lets go of everything.
	must(t, b.Close())
	if _, _, err := a.Take("s"); err != nil {
		t.Error(err)
	}
}

// hold is another process: it takes hold of a session and waits to be killed.
func hold(path string) {
	s, err := Open(path, Options{})
	if err == nil {
		err = s.Save(Session{ID: "s", Title: "theirs"})
	}
	for i := 0; err == nil; i++ {
		err = s.Append("s", Entry{Kind: Message, Text: fmt.Sprint(i)})
		fmt.Println(i) // it is promised to be there now
	}
	fmt.Println("failed:", err)
}

// A process that is killed in the midst of writing loses nothing of what it was told was written, and its session can
// be had.
func TestKilledHolder(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 2
	}
	path := filepath.Join(t.TempDir(), "sessions.db")
	mine := testDB(t, path)
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "STORE_TEST_HOLD="+path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		var held *HeldError
		last := ""
		for n := 0; n < 20+round*7 && lines.Scan(); n++ {
			last = lines.Text()
			if n != 10 {
				continue
			}
			if _, _, err := mine.Take("s"); !errors.As(err, &held) || held.PID != cmd.Process.Pid {
				t.Errorf("while it lives: %v, want process %d", err, cmd.Process.Pid)
			}
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // it says that it was killed
		_, entries, err := mine.Take("s")
		must(t, err)
		found := false
		for _, e := range entries {
			found = found || e.Text == last
		}
		if !found {
			t.Errorf("%s was promised; there are %d entries", last, len(entries))
		}
		must(t, mine.Delete("s"))
	}
}

// The id of a process that has ended is given again: the time of its start tells.
func TestHolder(t *testing.T) {
	pid := os.Getpid()
	for _, row := range []struct {
		h    holder
		want bool
	}{
		{holder{}, false},
		{holder{pid: pid, start: started(pid)}, true},
		{holder{pid: pid, start: started(pid) + 1}, false},
		{holder{pid: pid}, true},
		{holder{pid: 1 << 30}, false},
	} {
		if got := row.h.alive(); got != row.want {
			t.Errorf("%+v: %v", row.h, got)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "sessions.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Save(Session{ID: "s"}); err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{200, 10_000} {
		b.Run(fmt.Sprint(n, "B"), func(b *testing.B) {
			body := []byte(`"` + strings.Repeat("some text; ", n/11) + `"`)
			for b.Loop() {
				if err := s.Append("s", Entry{Kind: Result, Call: "c", Body: body}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("64KiB text", func(b *testing.B) {
		text := strings.Repeat("func f(a int) error { return nil }\n", 64<<10/36)
		for i := 0; b.Loop(); i++ {
			e := Entry{Kind: Change, Call: "c", Body: []byte("{}"), Blobs: []Blob{{Data: text}, {Data: fmt.Sprint(i, text)}}}
			if err := s.Append("s", e); err != nil {
				b.Fatal(err)
			}
		}
	})
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "sessions.db")
	for b.Loop() {
		s, err := Open(path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tandem/filetime/disk"
)

// intent is one with every field, and with bytes of every kind.
func intent() disk.Intent {
	large := bytes.Repeat([]byte("large \x00\xff "), maxInline/8)
	return disk.Intent{
		Session: "s", Call: "c", Turn: 3, Tool: "patch", Time: time.UnixMicro(1_700_000_000_000_000),
		Files: []disk.Planned{
			{Op: disk.Edit, Path: "/w/a", Before: []byte("before"), BeforeHash: hashOf("before"), AfterHash: hashOf("after")},
			{Op: disk.Create, Path: "/w/new", AfterHash: hashOf("after")},
			{Op: disk.Delete, Path: "/w/empty", Before: []byte{}, BeforeHash: hashOf("")},
			{Op: disk.Move, Path: "/w/large", To: "/w/there", Before: large, BeforeHash: hashOf(string(large)), AfterHash: hashOf(string(large))},
			{Op: disk.Edit, Path: "/w/open", Buffer: true, Before: []byte("before"), BeforeHash: hashOf("before"), AfterHash: hashOf("x")},
		},
	}
}

// onDisk runs a test with a Store that outlives a crash.
func onDisk(t *testing.T, f func(t *testing.T, s Store)) {
	t.Helper()
	f(t, testDB(t, filepath.Join(t.TempDir(), "sessions.db")))
}

// crashed lets go of what a store holds, as its end does, and gives the store that comes after it.
func crashed(t *testing.T, s Store) Store {
	t.Helper()
	must(t, s.Close())
	return testDB(t, s.(*database).path)
}

func TestIntentsAreFoundAgain(t *testing.T) {
	onDisk(t, func(t *testing.T, s Store) {
		want := intent()
		var err error
		want.ID, err = s.Begin(want)
		must(t, err)
		ended, err := s.Begin(intent())
		must(t, err)
		if ended <= want.ID {
			t.Errorf("the ids are %d and %d", want.ID, ended)
		}
		must(t, s.End(ended, disk.Landed))
		hash, err := s.Keep(want.ID, "/w/a", []byte("somebody else's"))
		must(t, err)
		if found, err := s.Orphans(); err != nil || len(found) > 0 {
			t.Errorf("its own are orphans: %v %v", found, err)
		}
		if st, err := s.Stats(); err != nil || st.Intents > 2 || st.Quota != Quota {
			t.Errorf("%+v %v", st, err)
		}
		s = crashed(t, s)
		found, err := s.Orphans()
		must(t, err)
		if d := cmp.Diff([]disk.Intent{want}, found); d != "" {
			t.Error(d)
		}
		if again, err := s.Orphans(); err != nil || len(again) > 0 {
			t.Errorf("they were taken, and given again: %v %v", again, err)
		}
		if data, err := s.Blob(hash); data != "somebody else's" || hash != hashOf(data) {
			t.Errorf("%s: %q %v", hash, data, err)
		}
		must(t, s.End(want.ID, disk.Foreign))
		s = crashed(t, s)
		for i := range want.Files {
			want.Files[i].Before = nil
		}
		judged, err := s.RecoveredIntents("s")
		if d := cmp.Diff([]RecoveredIntent{{want, disk.Foreign}}, judged); d != "" || err != nil {
			t.Error(d, err)
		}
		if found, err := s.Orphans(); err != nil || len(found) > 0 {
			t.Errorf("one that has ended: %v %v", found, err)
		}
		// The bytes stay for as long as the intents do.
		for _, f := range intent().Files {
			if data, err := s.Blob(f.BeforeHash); f.Before != nil && (err != nil || data != string(f.Before)) {
				t.Errorf("%s: %d bytes, %v", f.Path, len(data), err)
			}
		}
		next, err := s.Begin(disk.Intent{})
		if err != nil || next <= ended {
			t.Errorf("after %d came %d, %v", ended, next, err)
		}
	})
}

// What is forgotten takes its intents along, but not what others need. Those not judged yet stay without bytes
// until then.
func TestIntentsAreForgotten(t *testing.T) {
	onDisk(t, func(t *testing.T, s Store) {
		text := strings.Repeat("the same in both\n", 1000)
		begin := func(session string) int64 {
			id, err := s.Begin(disk.Intent{Session: session, Files: []disk.Planned{{Path: "/w/a", Before: []byte(text)}}})
			must(t, err)
			_, err = s.Keep(id, "/w/a", []byte("kept for "+session))
			must(t, err)
			return id
		}
		gone := func(text string) bool {
			_, err := s.Blob(hashOf(text))
			return errors.Is(err, ErrGone)
		}
		for _, id := range []string{"a", "b"} {
			must(t, s.Save(Session{ID: id}))
			must(t, s.Append(id, Entry{Kind: Change, Body: []byte("{}"), Blobs: []Blob{{Data: text}}}))
			must(t, s.End(begin(id), disk.Landed))
		}
		open := begin("b")
		s = crashed(t, s)
		must(t, s.Delete("a"))
		if !gone("kept for a") || gone("kept for b") || gone(text) {
			t.Errorf("after a: %v %v %v", gone("kept for a"), gone("kept for b"), gone(text))
		}
		must(t, s.Delete("b"))
		if !gone(text) || !gone("kept for b") {
			t.Error("the open intent has its bytes")
		}
		if found, err := s.Orphans(); err != nil || len(found) != 1 || found[0].ID != open || found[0].Files[0].Before != nil {
			t.Fatalf("%d %v", len(found), err)
		}
		must(t, s.End(open, disk.NotLanded))
		s = crashed(t, s)
		c, err := s.Collect(Quota, time.Now().Add(time.Hour))
		if err != nil || c.Intents != 0 {
			t.Errorf("%+v %v", c, err)
		}
	})
}

// Intents that have ended give way before sessions do, and after two weeks by themselves.
func TestIntentsGiveWay(t *testing.T) {
	at := time.UnixMicro(1_700_000_000_000_000)
	now := func() time.Time { return at }
	db, err := Open(filepath.Join(t.TempDir(), "s.db"), Options{Quota: 2 << 20, Now: now})
	must(t, err)
	for name, s := range map[string]Store{"memory": NewMemory(2<<20, now), "database": db} {
		t.Run(name, func(t *testing.T) {
			must(t, s.Save(Session{ID: "a"}))
			must(t, s.Release("a"))
			noise := []byte(rnd(32 << 10))
			var open []int64
			for i := range 120 {
				data := append(fmt.Appendf(nil, "%d ", i), noise...)
				id, err := s.Begin(disk.Intent{Files: []disk.Planned{{Path: "/w/a", Before: data}}})
				must(t, err)
				if i%40 == 0 {
					open = append(open, id)
					continue
				}
				must(t, s.End(id, disk.Landed))
			}
			c, err := s.Collect(2<<20, time.Time{})
			must(t, err)
			if size, _ := s.Size(); size > 2<<20 || c.Sessions > 0 {
				t.Errorf("%d bytes are left, %+v", size, c)
			}
			for _, id := range open {
				must(t, s.End(id, disk.Unknown))
			}
			was := at
			defer func() { at = was }()
			at = at.Add(keepIntents + time.Hour)
			if _, err := s.Collect(Quota, time.Time{}); err != nil {
				t.Error(err)
			}
			if size, _ := s.Size(); size > 256<<10 {
				t.Errorf("%d bytes are left two weeks later", size)
			}
			if found, _, err := s.Sessions(Query{}); err != nil || len(found) != 1 {
				t.Errorf("%v %v", found, err)
			}
		})
	}
	must(t, db.Close())
}

// rnd is a text that cannot be packed.
func rnd(n int) string {
	var b strings.Builder
	for x := uint64(1); b.Len() < n; {
		x = x*6364136223846793005 + 1442695040888963407
		fmt.Fprintf(&b, "%c", rune(0x20+x>>58))
		b.WriteString(hashOf(fmt.Sprint(x))[:7])
	}
	return b.String()[:n]
}

// mutate is another process: it changes files of a folder after it wrote down what it was about to do.
func mutate(path, folder string) {
	s, err := Open(path, Options{})
	for i := 0; err == nil; i++ {
		name, after := filepath.Join(folder, fmt.Sprint(i%3)), fmt.Sprint("text ", i)
		before, _ := os.ReadFile(name) // none at first
		var id int64
		id, err = s.Begin(disk.Intent{Session: "s", Files: []disk.Planned{{
			Op: disk.Edit, Path: name, Before: before, BeforeHash: hashOf(string(before)), AfterHash: hashOf(after),
		}}})
		if err == nil {
			fmt.Println("begun", id)
			err = os.WriteFile(name, []byte(after), 0o600)
		}
		if err == nil {
			err = s.End(id, disk.Landed)
		}
	}
	fmt.Println("failed:", err)
}

// A process that is killed leaves what it had begun, with the bytes before; whatever its files say can be judged by
// that.
func TestKilledInTheMidst(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	folder, path := t.TempDir(), filepath.Join(t.TempDir(), "sessions.db")
	mine := testDB(t, path)
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "STORE_TEST_MUTATE="+path, "STORE_TEST_FOLDER="+folder)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		last := ""
		for n := 0; n < 5+round*5 && lines.Scan(); n++ {
			last = lines.Text()
			if found, err := mine.Orphans(); n == 3 && (err != nil || len(found) > 0) {
				t.Fatalf("while it lives: %v %v", found, err)
			}
		}
		must(t, cmd.Process.Kill())
		for lines.Scan() {
			last = lines.Text() // what it was promised before it was killed
		}
		_ = cmd.Wait() // it says that it was killed
		// Two that recover at once share what there is.
		other := testDB(t, path)
		var found [2][]disk.Intent
		var wg sync.WaitGroup
		for i, s := range []Store{mine, other} {
			wg.Go(func() {
				var err error
				if found[i], err = s.Orphans(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		// What has ended is written a little later, and so several changes of one file may be there.
		after := map[string]bool{}
		for _, in := range slices.Concat(found[0], found[1]) {
			after[in.Files[0].Path+in.Files[0].AfterHash] = true
		}
		seen := map[int64]bool{}
		for i, s := range []Store{mine, other} {
			for _, in := range found[i] {
				if seen[in.ID] {
					t.Errorf("%d was given twice", in.ID)
				}
				seen[in.ID] = true
				f := in.Files[0]
				now, _ := os.ReadFile(f.Path) // "" where there was none
				if h := hashOf(string(now)); h != f.BeforeHash && !after[f.Path+h] && len(now) > 0 {
					t.Errorf("%d: the file says %q", in.ID, now)
				}
				if hashOf(string(f.Before)) != f.BeforeHash {
					t.Errorf("%d: the bytes before are %q", in.ID, f.Before)
				}
				must(t, s.End(in.ID, disk.NotLanded))
			}
		}
		must(t, other.Close())
		mine.(*database).ends.flushAndWait()
		var promised int64
		if _, err := fmt.Sscanf(last, "begun %d", &promised); err != nil {
			t.Fatal(last)
		}
		if !known(t, mine, promised) {
			t.Errorf("%d was promised and is not there", promised)
		}
	}
}

func known(t *testing.T, s Store, id int64) bool {
	t.Helper()
	n := 0
	must(t, s.(*database).db.QueryRow("SELECT count(*) FROM intent WHERE id = ?", id).Scan(&n))
	return n == 1
}

// A database of the first schema goes on with all that it has.
func TestFromTheFirstSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.Exec("PRAGMA auto_vacuum = incremental; PRAGMA journal_mode = wal;" + migrations()[0] + `
INSERT INTO session VALUES (7, 's', '/w', '["/x"]', 'Old', 'ask', 'm/1', 'k', 1000, 2000, 0, 0, '');
INSERT INTO blob VALUES ('` + hashOf("was") + `', x'00776173');
INSERT INTO blob_use VALUES (7, '` + hashOf("was") + `');
INSERT INTO entry VALUES (1, 7, 1500, 1, 'change', 'c', 'seen', x'007b7d', '` + hashOf("was") + `');` +
		fmt.Sprintf("PRAGMA user_version = 1; PRAGMA application_id = %d", application))
	must(t, errors.Join(err, db.Close()))
	s := testDB(t, path)
	got, entries, err := s.Take("s")
	must(t, err)
	want := []Entry{{
		Time: time.UnixMicro(1500), Turn: 1, Kind: Change, Call: "c", Text: "seen", Body: []byte("{}"), Blobs: []Blob{{Hash: hashOf("was")}},
	}}
	if d := cmp.Diff(want, entries); d != "" || got.Title != "Old" {
		t.Errorf("%+v %s", got, d)
	}
	if was, err := s.Blob(hashOf("was")); was != "was" {
		t.Errorf("%q %v", was, err)
	}
	id, err := s.Begin(intent())
	must(t, err)
	must(t, s.End(id, disk.Landed))
	must(t, s.Delete("s"))
	if _, err := s.Blob(hashOf("was")); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
}

// Where the disk is full, or cannot be written, nothing is begun and the error says why; it goes on when there is room.
func TestJournalThatCannotBeWritten(t *testing.T) {
	for name, row := range map[string]struct{ lock, unlock, want string }{
		"full":      {"PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1073741823", "full"},
		"read-only": {"PRAGMA query_only = on", "PRAGMA query_only = off", "readonly"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sessions.db")
			s := testDB(t, path)
			id, err := s.Begin(intent())
			must(t, err)
			db := s.(*database).db
			_, err = db.Exec(row.lock)
			must(t, err)
			large := disk.Intent{Files: []disk.Planned{{Path: "/w/a", Before: []byte(rnd(maxInline))}}}
			refused := func(what string, err error) {
				if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), row.want) {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, err = s.Begin(large)
			refused("Begin", err)
			_, err = s.Keep(id, "/w/a", []byte(rnd(maxInline)))
			refused("Keep", err)
			if st, err := s.Stats(); err != nil || st.Intents != 1 {
				t.Errorf("%+v %v", st, err)
			}
			_, err = db.Exec(row.unlock)
			must(t, err)
			if _, err = s.Begin(large); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestManyBeginAtOnce(t *testing.T) {
	s := testDB(t, filepath.Join(t.TempDir(), "sessions.db"))
	must(t, s.Save(Session{ID: "s"}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				id, err := s.Begin(intent())
				if err == nil {
					err = errors.Join(s.Append("s", Entry{Kind: Running, Body: []byte("{}")}), s.End(id, disk.Landed))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s = crashed(t, s)
	if found, err := s.Orphans(); err != nil || len(found) > 0 {
		t.Errorf("%d are open, %v", len(found), err)
	}
	loose := 0
	must(t, s.(*database).db.QueryRow("SELECT count(*) FROM intent_file WHERE before IS NOT NULL").Scan(&loose))
	if loose > 0 {
		t.Errorf("%d texts were not packed", loose)
	}
}

// BenchmarkBegin is what writing an intent down takes, and an edit of a file with it, against one fsync in the same
// folder.
func BenchmarkBegin(b *testing.B) {
	folder := b.TempDir()
	s, err := Open(filepath.Join(folder, "sessions.db"), Options{})
	must(b, err)
	d := disk.New(disk.Options{Journal: s})
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
		path := filepath.Join(folder, "a.go")
		texts := [2][]byte{bytes.Repeat([]byte("func f(a int) error { return nil }\n"), size/35)}
		texts[1] = append([]byte("//\n"), texts[0]...)
		must(b, os.WriteFile(path, texts[0], 0o600))
		in := disk.Intent{Session: "s", Call: "c", Tool: "edit_file", Files: []disk.Planned{{
			Op: disk.Edit, Path: path, Before: texts[0], BeforeHash: hashOf(string(texts[0])), AfterHash: hashOf(string(texts[1])),
		}}}
		n := 0
		steps := []struct {
			name string
			do   func() error
		}{
			{"fsync", func() error {
				f, err := os.Create(filepath.Join(folder, "synced"))
				if err == nil {
					_, err = f.Write(texts[0])
				}
				return errors.Join(err, f.Sync(), f.Close())
			}},
			{"begin", func() error {
				id, err := s.Begin(in)
				return errors.Join(err, s.End(id, disk.Landed))
			}},
			{"edit", func() error {
				c := d.Change(disk.Intent{Session: "s", Call: "c", Tool: "edit_file"})
				_, err := c.Replace(path, texts[n%2], texts[(n+1)%2])
				n++
				c.End(disk.Landed)
				return err
			}},
		}
		var took [3][]time.Duration
		b.Run(fmt.Sprint(size>>10, "KiB"), func(b *testing.B) {
			for b.Loop() { // in turn, so that all have the same machine
				for i, step := range steps {
					began := time.Now()
					must(b, step.do())
					took[i] = append(took[i], time.Since(began))
				}
			}
			var p50 [3]time.Duration
			for i, t := range took {
				slices.Sort(t)
				p50[i] = t[len(t)/2]
				b.ReportMetric(float64(p50[i].Microseconds()), steps[i].name+"-p50-us")
				b.ReportMetric(float64(t[len(t)*99/100].Microseconds()), steps[i].name+"-p99-us")
			}
			b.ReportMetric(float64(p50[1])/float64(p50[0]), "begin/fsync")
			b.ReportMetric(float64(p50[2])/float64(p50[0]), "edit/fsync")
		})
	}
	d.Settle()
	must(b, s.Close())
}

// BenchmarkRecover is what judging 10,000 intents of a process that has ended takes, of 100 files of 4 KiB.
func BenchmarkRecover(b *testing.B) {
	const many, files = 10_000, 100
	folder := b.TempDir()
	text := bytes.Repeat([]byte("func f(a int) error { return nil }\n"), 4<<10/35)
	for b.Loop() {
		b.StopTimer()
		path := filepath.Join(folder, fmt.Sprint(b.N, "-", time.Now().UnixNano()), "sessions.db")
		s, err := Open(path, Options{})
		must(b, err)
		d := s.(*database)
		_, err = d.db.Exec("PRAGMA synchronous = off") // to be there sooner
		d.unsynced = false
		must(b, err)
		said := map[string][]byte{}
		for i := range many {
			file := filepath.Join(folder, fmt.Sprint(i%files, ".go"))
			before, after := said[file], append(fmt.Appendf(nil, "// %d\n", i), text...)
			in := disk.Intent{Session: "s", Files: []disk.Planned{{Op: disk.Edit, Path: file, Before: before, AfterHash: hashOf(string(after))}}}
			if before != nil {
				in.Files[0].BeforeHash = hashOf(string(before))
			}
			_, err := s.Begin(in)
			must(b, err)
			said[file] = after
		}
		for file, text := range said {
			must(b, os.WriteFile(file, text, 0o600))
		}
		must(b, s.Close())
		s, err = Open(path, Options{})
		must(b, err)
		b.StartTimer()
		found, err := disk.New(disk.Options{Journal: s}).Recover()
		must(b, err)
		b.StopTimer()
		if len(found) != many || found[0].Outcome != disk.Landed || found[many-1].Outcome != disk.Landed {
			b.Fatal(len(found), found[0].Outcome)
		}
		must(b, s.Close())
		b.StartTimer()
	}
}

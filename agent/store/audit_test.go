package store

import (
	"database/sql"
	"encoding/json"
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

func record(call string) Entry {
	return Entry{Time: time.UnixMicro(1), Kind: Audit, Call: call, Text: "text of " + call, Body: json.RawMessage(`{"tool":"read_file"}`)}
}

func calls(t *testing.T, s Store, q AuditQuery) string {
	t.Helper()
	var got []string
	must(t, s.AuditRecords(q, func(a AuditRecord) bool {
		got = append(got, strings.TrimSuffix(a.Session+"/"+a.Call+" "+a.Text, " text of "+a.Call))
		return true
	}))
	return strings.Join(got, " ")
}

func TestAuditIsAList(t *testing.T) {
	clock := newClock()
	now := func() time.Time { return clock.at }
	db, err := Open(filepath.Join(t.TempDir(), "sessions.db"), Options{Now: now})
	must(t, err)
	defer func() { must(t, db.Close()) }()
	for name, s := range map[string]Store{"database": db, "memory": NewMemory(Quota, now)} {
		t.Run(name, func(t *testing.T) {
			verify := func(records, first int64) {
				t.Helper()
				if st, err := s.VerifyAudit(); err != nil || st.Records != records || st.First != first || records > 0 && len(st.Head) != 64 {
					t.Errorf("%+v %v", st, err)
				}
			}
			verify(0, 1)
			for _, id := range []string{"a", "b"} {
				must(t, s.Save(Session{ID: id}))
			}
			must(t, s.Append("a", record("1"), Entry{Kind: Message, Text: "x", Body: json.RawMessage(`{}`)}))
			must(t, s.Intend("b", true, record("2")))
			late := record("3")
			late.Time = clock.at
			must(t, s.Append("a", late))
			if got := calls(t, s, AuditQuery{}); got != "a/3 b/2 a/1" {
				t.Error(got)
			}
			if got := calls(t, s, AuditQuery{Session: "a", Since: time.UnixMicro(2)}); got != "a/3" {
				t.Error(got)
			}
			verify(3, 1)
			if _, entries, err := s.Entries("a"); err != nil || len(entries) != 1 {
				t.Errorf("%d entries, %v", len(entries), err)
			}
			// The records outlive the session, and are dropped for their age, which the chain says.
			must(t, s.Release("a"))
			must(t, s.Delete("a"))
			verify(4, 1) // one says that the texts are gone
			if c, err := s.Collect(Quota, time.Time{}); err != nil || c.Records != 2 {
				t.Errorf("%+v %v", c, err)
			}
			if got := calls(t, s, AuditQuery{}); got != "a/3 " {
				t.Errorf("%q", got)
			}
			verify(3, 3)
			must(t, s.Append("b", record("4")))
			verify(4, 3)
			if c, err := s.Collect(Quota, clock.at.Add(time.Hour)); err != nil || c.Records != 4 {
				t.Errorf("%+v %v", c, err)
			}
			verify(1, 7)
			if c, err := s.Collect(Quota, clock.at.Add(time.Hour)); err != nil || c.Records != 0 {
				t.Errorf("%+v %v", c, err)
			}
		})
	}
}

// TestF210Tampering changes a chain of five records in every way that leaves a database.
func TestF210Tampering(t *testing.T) {
	for _, row := range []struct{ how, want string }{
		{"UPDATE audit SET body = x'00' || '{}' WHERE seq = 2", "record 2 does not fit"},
		{"UPDATE audit SET text = x'00' || 'other' WHERE seq = 2", "record 2 has another text"},
		{"UPDATE audit SET text = NULL WHERE seq = 2", "record 2 has lost its text"},
		{"UPDATE audit SET time = time + 1 WHERE seq = 1", "record 1 does not fit"},
		{"UPDATE audit SET session = 'b' WHERE seq = 5", "record 5 does not fit"},
		{"UPDATE audit SET call = 'x' WHERE seq = 3", "record 3 does not fit"},
		{"DELETE FROM audit WHERE seq = 3", "record 3 is missing"},
		{"DELETE FROM audit WHERE seq = 1", "record 1 is missing"},
		{"DELETE FROM audit WHERE seq = 5", "record 5 is missing"},
		{"DELETE FROM audit", "record 1 is missing"},
		{"DELETE FROM audit WHERE seq = 2; UPDATE audit SET seq = seq - 1 WHERE seq > 2", "record 2 does not fit"},
		{"INSERT INTO audit SELECT 6, time, session, call, body, text, texthash, hash FROM audit WHERE seq = 5", "record 6 does not fit"},
		{"INSERT INTO audit SELECT 6, time, '', 'dropped', x'00' || '{\"through\":2,\"hash\":\"00\"}', text, texthash, hash FROM audit WHERE seq = 5", "record 1 was dropped before"},
	} {
		path := filepath.Join(t.TempDir(), "sessions.db")
		s, err := Open(path, Options{})
		must(t, err)
		must(t, s.Save(Session{ID: "a"}))
		for i := range 5 {
			must(t, s.Append("a", record(fmt.Sprint(i))))
		}
		if st, err := s.VerifyAudit(); err != nil || st.Records != 5 {
			t.Fatalf("%+v %v", st, err)
		}
		raw, err := sql.Open("sqlite", path)
		must(t, err)
		if _, err := raw.Exec("UPDATE audit SET call = 'x'"); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("a record can be changed: %v", err)
		}
		_, err = raw.Exec("DROP TRIGGER audit_append_only; " + row.how)
		must(t, errors.Join(err, raw.Close()))
		_, err = s.VerifyAudit()
		var found *TamperedError
		if !errors.As(err, &found) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", row.how, err)
		}
		must(t, s.Close())
	}
}

// Without the table nothing that needs a record is written, and what needs none is.
func TestCaseE06NoTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, err := Open(path, Options{})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	must(t, s.Save(Session{ID: "a"}))
	raw, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = raw.Exec("DROP TABLE audit")
	must(t, errors.Join(err, raw.Close()))
	if err := s.Intend("a", true, record("1")); err == nil || !strings.Contains(err.Error(), "the audit cannot be written") {
		t.Error(err)
	}
	must(t, s.Append("a", Entry{Kind: Message, Body: json.RawMessage(`{}`)}))
}

// TestAuditOfTwoProcesses has two processes append 200 records each to one chain, alone and together with entries.
func TestAuditOfTwoProcesses(t *testing.T) {
	const each = 200
	if path := os.Getenv("TANDEM_TEST_AUDIT"); path != "" {
		s, err := Open(path, Options{})
		must(t, err)
		id := fmt.Sprint(os.Getpid())
		must(t, s.Save(Session{ID: id}))
		var wg sync.WaitGroup
		for g := range 4 { // as calls that run together
			wg.Go(func() {
				for i := range each / 4 {
					e := record(fmt.Sprint(g, "-", i))
					if i%5 == 0 {
						must(t, s.Intend(id, i%10 == 0, e))
					} else {
						must(t, s.Append(id, Entry{Kind: Message, Body: json.RawMessage(`{}`)}, e))
					}
				}
			})
		}
		wg.Wait()
		must(t, s.Close())
		return
	}
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, err := Open(path, Options{})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			c := exec.Command(os.Args[0], "-test.run=^TestAuditOfTwoProcesses$")
			c.Env = append(os.Environ(), "TANDEM_TEST_AUDIT="+path)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	if st, err := s.VerifyAudit(); err != nil || st.Records != 2*each {
		t.Errorf("%+v %v", st, err)
	}
}

// TestAuditRemembersTheNewest appends after a transaction that was taken back, and after another connection has appended: what is
// remembered of the chain is what stands in it.
func TestAuditRemembersTheNewest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	var both [2]*database
	for i := range both {
		s, err := Open(path, Options{})
		must(t, err)
		defer func() { must(t, s.Close()) }()
		both[i] = s.(*database)
		must(t, s.Save(Session{ID: fmt.Sprint(i)}))
	}
	n := 0
	append := func(i int) {
		n++
		must(t, both[i].Append(fmt.Sprint(i), record(fmt.Sprint(n))))
	}
	taken := errors.New("taken back")
	for _, i := range []int{0, 0, 1, 0, 1, 1, 0} {
		append(i)
		err := both[i].transact(false, func(tx *sql.Tx) error {
			return errors.Join(both[i].insertAudit(tx, []link{linkOf(&both[i].packer, "x", record("never"))}), taken)
		})
		if err.Error() != taken.Error() {
			t.Error(err)
		}
		append(i)
	}
	if st, err := both[0].VerifyAudit(); err != nil || st.Records != int64(n) {
		t.Errorf("%+v %v", st, err)
	}
}

// BenchmarkAudit is what a record costs that is written together with an entry, besides the entry.
func BenchmarkAudit(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "sessions.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Save(Session{ID: "s"}); err != nil {
		b.Fatal(err)
	}
	e := Entry{Kind: Result, Call: "c", Body: json.RawMessage(`"` + strings.Repeat("some text; ", 40) + `"`)}
	a := e
	a.Kind = Audit
	for name, entries := range map[string][]Entry{"entry": {e}, "entry and record": {e, a}, "record": {a}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := s.Append("s", entries...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

package store

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clock tells a time that is later whenever it is asked.
type clock struct{ at time.Time }

func (c *clock) now() time.Time {
	c.at = c.at.Add(time.Second)
	return c.at
}

func newClock() *clock { return &clock{time.UnixMicro(1_700_000_000_000_000)} }

// both runs a test with each Store.
func both(t *testing.T, quota int64, f func(t *testing.T, s Store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		s := NewMemory(quota, newClock().now)
		f(t, s)
		must(t, s.Close())
	})
	t.Run("database", func(t *testing.T) {
		s, err := Open(filepath.Join(t.TempDir(), "state", "sessions.db"), Options{Quota: quota, Now: newClock().now})
		if err != nil {
			t.Fatal(err)
		}
		f(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func ids(found []Session) string {
	var out []string
	for _, s := range found {
		out = append(out, s.ID)
	}
	return strings.Join(out, " ")
}

func TestSession(t *testing.T) {
	both(t, Quota, func(t *testing.T, s Store) {
		first := Session{ID: "a", Cwd: "/w", More: []string{"/x"}, Title: "One", Mode: "ask", Model: "m/1", CacheKey: "k"}
		must(t, s.Save(first))
		big := strings.Repeat("a line that repeats\n", 500)
		entries := []Entry{
			{Time: time.UnixMicro(5), Turn: 1, Kind: Message, Text: "Hello", Body: []byte(`{"role":"user"}`)},
			{Time: time.UnixMicro(6), Turn: 1, Kind: Call, Call: "c", Body: []byte(`{"x":"` + strings.Repeat("y", 5000) + `"}`)},
			{Time: time.UnixMicro(7), Turn: 1, Kind: Change, Call: "c", Blobs: []Blob{{Data: ""}, {Data: big}}},
		}
		must(t, s.Append("a", entries[0]))
		must(t, s.Append("a", entries[1:]...))
		first.Title, first.Mode = "Two", "auto"
		must(t, s.Save(first))
		got, have, err := s.Entries("a")
		must(t, err)
		if !got.Updated.After(got.Created) {
			t.Errorf("created %v, updated %v", got.Created, got.Updated)
		}
		got.Created, got.Updated, got.PID = time.Time{}, time.Time{}, 0
		if d := cmp.Diff(first, got); d != "" {
			t.Error(d)
		}
		for i, b := range have[2].Blobs {
			data, err := s.Blob(b.Hash)
			if err != nil || data != entries[2].Blobs[i].Data {
				t.Errorf("blob %d: %v, %d bytes", i, err, len(data))
			}
		}
		have[2].Blobs, entries[2].Blobs = nil, nil
		if d := cmp.Diff(entries, have); d != "" {
			t.Error(d)
		}
		must(t, s.Release("a"))
		if _, have, err = s.Take("a"); err != nil || len(have) != 3 {
			t.Errorf("%d entries, %v", len(have), err)
		}
		must(t, s.Delete("a"))
		for name, err := range map[string]error{
			"Append": s.Append("a", entries[0]), "Release": s.Release("a"), "Delete": s.Delete("a"),
			"Take": second(s.Take("a")), "Entries": second(s.Entries("a")),
		} {
			if !errors.Is(err, ErrUnknown) {
				t.Errorf("%s of a deleted session: %v", name, err)
			}
		}
		if _, err := s.Blob(hashOf(big)); !errors.Is(err, ErrGone) {
			t.Errorf("a text of a deleted session: %v", err)
		}
	})
}

func second[A, B any](_ A, _ B, err error) error { return err }

func TestSessions(t *testing.T) {
	both(t, Quota, func(t *testing.T, s Store) {
		for i, name := range []string{"a", "b", "c", "d"} {
			must(t, s.Save(Session{ID: name, Cwd: fmt.Sprint("/", i%2), Title: "Title " + name}))
		}
		must(t, s.Append("b", Entry{Time: time.Now(), Kind: Message, Text: "100% of Größe"}))
		must(t, s.Append("a", Entry{Time: time.Now(), Kind: Message, Text: "the last"}))
		for _, row := range []struct {
			q    Query
			want string
		}{
			{Query{}, "a b d c"},
			{Query{Cwd: "/1"}, "b d"},
			{Query{Cwd: "/2"}, ""},
			{Query{Text: "tITLE d"}, "d"},
			{Query{Text: "THE LAST"}, "a"},
			{Query{Text: "0% Of Größ"}, "b"},
			{Query{Text: "%"}, "b"},
			{Query{Text: "_"}, ""},
			{Query{Text: "title", Cwd: "/0"}, "a c"},
		} {
			found, next, err := s.Sessions(row.q)
			if err != nil || ids(found) != row.want || next != "" {
				t.Errorf("%+v: %q, next %q, %v; want %q", row.q, ids(found), next, err, row.want)
			}
		}
		if _, _, err := s.Sessions(Query{After: "nonsense"}); !errors.Is(err, ErrCursor) {
			t.Error(err)
		}
		var all []string
		q := Query{Limit: 3}
		for range 3 {
			found, next, err := s.Sessions(q)
			must(t, err)
			all = append(all, ids(found))
			if q.After = next; next == "" {
				break
			}
		}
		if got := strings.Join(all, " | "); got != "a b d | c" {
			t.Errorf("pages: %s", got)
		}
	})
}

// What two sessions share stays as long as one of them does.
func TestBlobsAreShared(t *testing.T) {
	both(t, Quota, func(t *testing.T, s Store) {
		for _, id := range []string{"a", "b"} {
			must(t, s.Save(Session{ID: id}))
			must(t, s.Append(id, Entry{Kind: Change, Blobs: []Blob{{Data: "shared"}, {Data: "own of " + id}}}))
		}
		must(t, s.Delete("a"))
		if _, err := s.Blob(hashOf("own of a")); !errors.Is(err, ErrGone) {
			t.Error(err)
		}
		for _, data := range []string{"shared", "own of b"} {
			if got, err := s.Blob(hashOf(data)); err != nil || got != data {
				t.Errorf("%q %v", got, err)
			}
		}
	})
}

// A fork has the entries of the turns that it shares, in their order, and their texts, and outlives the session that it comes from.
func TestFork(t *testing.T) {
	both(t, Quota, func(t *testing.T, s Store) {
		must(t, s.Save(Session{ID: "a", Cwd: "/w"}))
		for turn := range 4 {
			must(t, s.Append("a",
				Entry{Turn: turn, Kind: Message, Text: fmt.Sprint("asked ", turn), Body: []byte(`{"x":1}`)},
				Entry{Turn: turn, Kind: Change, Call: "c", Body: []byte(`{}`), Blobs: []Blob{{Data: fmt.Sprint("text ", turn)}, {Data: "both"}}},
				Entry{Turn: turn, Kind: Decision, Body: []byte(`{}`)},
			))
		}
		_, whole, err := s.Entries("a")
		must(t, err)
		for at := range 4 {
			id := fmt.Sprint("fork ", at)
			must(t, s.Fork("a", at, Session{ID: id, Cwd: "/w", Title: "A fork", More: []string{"/m"}}))
			must(t, s.Append(id, Entry{Turn: at + 1, Kind: Message, Text: "another course"}))
			got, entries, err := s.Entries(id)
			must(t, err)
			want := slices.DeleteFunc(slices.Clone(whole), func(e Entry) bool { return e.Turn > at || e.Kind == Decision })
			if d := cmp.Diff(entries[:len(entries)-1], want); d != "" || entries[len(entries)-1].Text != "another course" {
				t.Errorf("at %d: %s", at, d)
			}
			if got.Parent != "a" || got.At != at || got.Title != "A fork" || len(got.More) != 1 {
				t.Errorf("%+v", got)
			}
			must(t, s.Save(got)) // as each prompt does
		}
		must(t, s.Fork("fork 2", 1, Session{ID: "of a fork"}))
		must(t, s.Delete("a"))
		must(t, s.Delete("fork 3"))
		for data, want := range map[string]error{"text 0": nil, "text 2": nil, "both": nil, "text 3": ErrGone} {
			if _, err := s.Blob(hashOf(data)); !errors.Is(err, want) {
				t.Errorf("%s: %v", data, err)
			}
		}
		if got, entries, err := s.Entries("of a fork"); err != nil || len(entries) != 4 || got.Parent != "fork 2" || got.At != 1 {
			t.Errorf("%+v %d %v", got, len(entries), err)
		}
		if err := s.Fork("a", 1, Session{ID: "x"}); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
		if _, _, err := s.Entries("x"); !errors.Is(err, ErrUnknown) {
			t.Error("half a fork")
		}
	})
}

func TestCollect(t *testing.T) {
	both(t, Quota, func(t *testing.T, s Store) {
		noise := newClock()
		for i := range 5 {
			id := fmt.Sprint("s", i)
			must(t, s.Save(Session{ID: id}))
			must(t, s.Append(id, Entry{Kind: Change, Blobs: []Blob{{Data: random(noise, 100_000)}}}))
			if i != 1 {
				must(t, s.Release(id))
			}
		}
		found, _, err := s.Sessions(Query{})
		must(t, err)
		if c, err := s.Collect(1<<40, found[3].Updated); err != nil || c.Sessions != 1 {
			t.Errorf("too old: %+v %v", c, err)
		}
		size, err := s.Size()
		must(t, err)
		c, err := s.Collect(size*2/3, time.Time{})
		if err != nil || c.Sessions != 2 || c.Bytes < 200_000 {
			t.Errorf("too large: %+v %v", c, err)
		}
		if now, err := s.Size(); err != nil || now > size*2/3 {
			t.Errorf("%d of %d bytes are left, %v", now, size, err)
		}
		c, err = s.Collect(0, time.Time{})
		must(t, err)
		found, _, err = s.Sessions(Query{})
		if err != nil || ids(found) != "s1" {
			t.Errorf("left: %s after %+v, %v", ids(found), c, err)
		}
	})
}

// random is a text that cannot be packed.
func random(c *clock, n int) string {
	x := uint64(c.now().UnixNano())
	var b strings.Builder
	for b.Len() < n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		for k := range 8 {
			b.WriteByte(byte(x >> (8 * k)))
		}
	}
	return b.String()
}

// A store never grows far beyond its quota: released sessions are deleted, and the held one goes on without its texts.
func TestQuota(t *testing.T) {
	both(t, 1<<20, func(t *testing.T, s Store) {
		noise := newClock()
		must(t, s.Save(Session{ID: "old"}))
		must(t, s.Release("old"))
		must(t, s.Save(Session{ID: "held"}))
		for range 400 {
			must(t, s.Append("held", Entry{Kind: Change, Body: []byte(`{}`), Blobs: []Blob{{Data: random(noise, 20_000)}}}))
		}
		size, err := s.Size()
		if err != nil || size > 4<<20 {
			t.Errorf("%d bytes, %v", size, err)
		}
		_, entries, err := s.Entries("held")
		if err != nil || len(entries) != 400 {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		if _, err := s.Blob(entries[399].Blobs[0].Hash); !errors.Is(err, ErrGone) {
			t.Errorf("the last text: %v", err)
		}
		if _, _, err := s.Entries("old"); !errors.Is(err, ErrUnknown) {
			t.Errorf("the released session: %v", err)
		}
	})
}

func TestPack(t *testing.T) {
	var p packer // whose buffers are used again
	for _, s := range []string{"", "x", strings.Repeat("ab", 5000), random(newClock(), 5000), strings.Repeat("x", 512)} {
		b := p.pack([]byte(s))
		if got, err := unpack(b); err != nil || got != s {
			t.Errorf("%.20q came back as %.20q, %v", s, got, err)
		}
		if len(b) > len(s)+1 {
			t.Errorf("%d bytes became %d", len(s), len(b))
		}
	}
	for _, b := range []string{"", "\x02x", "\x01\xff\xff"} {
		if s, err := unpack([]byte(b)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %q %v", b, s, err)
		}
	}
}

func TestMain(m *testing.M) {
	if path := os.Getenv("STORE_TEST_HOLD"); path != "" {
		hold(path)
		return
	}
	if path := os.Getenv("STORE_TEST_MUTATE"); path != "" {
		mutate(path, os.Getenv("STORE_TEST_FOLDER"))
		return
	}
	if path := os.Getenv("STORE_TEST_WRITE"); path != "" {
		writeForEver(path)
		return
	}
	os.Exit(m.Run())
}

// TestPanicKeepsNoConnection wants the next one to write after one whose code has a fault.
func TestPanicKeepsNoConnection(t *testing.T) {
	st, err := Open(filepath.Join(t.TempDir(), "s.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	d := st.(*database)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("nothing panicked")
			}
		}()
		_ = d.write(func(*sql.Tx) error { panic("a fault") })
	}()
	if err := st.Save(Session{ID: "after"}); err != nil {
		t.Error(err)
	}
}

// writeForEver is another process, which is stopped while it writes.
func writeForEver(path string) {
	s, err := Open(path, Options{})
	if err == nil {
		err = s.(*database).write(func(tx *sql.Tx) error {
			if _, err := tx.Exec("UPDATE session SET title = 'theirs'"); err != nil {
				return err
			}
			fmt.Println("writing")
			_, err := os.Stdin.Read(make([]byte, 1))
			return err
		})
	}
	fmt.Println("failed:", err)
}

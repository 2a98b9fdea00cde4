package store

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	godiff "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tandem/filetime/disk"
)

// outcome is what an operation gave, in a form that can be compared.
func outcome(v any, err error) string {
	switch {
	case errors.Is(err, ErrUnknown):
		return "unknown"
	case errors.Is(err, ErrGone):
		return "gone"
	case err != nil:
		return "failed: " + err.Error()
	}
	return fmt.Sprintf("%+v", v)
}

// A database in a file and one in memory give the same answers to whatever is done with them.
func TestTwins(t *testing.T) {
	clock := newClock()
	now := func() time.Time { return clock.at }
	db, err := Open(filepath.Join(t.TempDir(), "sessions.db"), Options{Now: now})
	must(t, err)
	defer func() { _ = db.Close() }() // the folder goes with it
	twins := []Store{db, NewMemory(Quota, now)}
	var begun int64
	rapid.Check(t, func(t *rapid.T) {
		for _, id := range []string{"a", "b", "c"} {
			for _, s := range twins {
				_ = s.Delete(id) // of the check before, if it is there
			}
		}
		id := rapid.SampledFrom([]string{"a", "b", "c"})
		text := rapid.SampledFrom([]string{"", "x", "Two words", "größer", "100%", "a_b", strings.Repeat("long ", 200)})
		for range rapid.IntRange(1, 25).Draw(t, "operations") {
			op := rapid.IntRange(0, 15).Draw(t, "operation")
			i, one, other := id.Draw(t, "id"), text.Draw(t, "one"), text.Draw(t, "other")
			limit := rapid.IntRange(0, 2).Draw(t, "limit")
			clock.now() // goes on
			var got [2]string
			for k, s := range twins {
				switch op {
				case 0:
					got[k] = outcome(nil, s.Save(Session{ID: i, Cwd: "/" + other, Title: one, More: []string{other}}))
				case 1:
					got[k] = outcome(nil, s.Release(i))
				case 2:
					got[k] = outcome(nil, s.Delete(i))
				case 3:
					got[k] = outcome(s.Blob(hashOf(one)))
				case 4:
					found, next, err := s.Sessions(Query{Text: one, Limit: limit})
					for n := range found {
						found[n].PID = 0 // a store in memory has one process
					}
					got[k] = outcome(fmt.Sprintf("%+v %s", found, next), err)
				case 8:
					in := disk.Intent{Session: i, Files: []disk.Planned{{Path: "/w", Before: []byte(one)}}}
					n, err := s.Begin(in)
					begun = max(begun, n)
					got[k] = outcome(n, err)
				case 9:
					hash, err := s.Keep(begun-int64(limit), "/w", []byte(other))
					got[k] = fmt.Sprint(hash, err != nil)
				case 10:
					got[k] = outcome(nil, s.End(begun-int64(limit), disk.Landed))
					s.(*database).ends.flushAndWait() // what is forgotten goes with it
				case 12:
					if d := s.(*database); k == 0 && limit == 1 { // the bytes stand elsewhere then
						d.ends.flushAndWait()
						d.ends.uncompressed = append(d.ends.uncompressed, begun)
						_ = d.compressInline(d.ends.uncompressed)
					}
					path := ""
					if limit == 2 {
						path = "/none"
					}
					found, err := s.Backups(path)
					slices.SortFunc(found, func(a, b Backup) int { return cmp.Compare(a.Hash, b.Hash) })
					got[k] = outcome(found, err)
				case 13:
					found, err := s.DeadLetters()
					got[k] = outcome(found, err)
				case 14:
					found, err := s.DeadLetters()
					if err != nil {
						t.Fatal(err)
					}
					var ids []int64
					for n, l := range found {
						if n%2 == limit%2 {
							ids = append(ids, l.ID, l.ID+1000)
						}
					}
					got[k] = outcome(s.Discard(ids...))
				case 15:
					got[k] = outcome(nil, s.Fork(i, limit, Session{ID: "c", Cwd: "/" + other, Title: one}))
				case 11:
					found, err := s.Orphans()
					got[k] = outcome(found, err)
				case 5:
					_, entries, err := s.Entries(i)
					got[k] = outcome(entries, err)
				default:
					// Only who holds a session may write.
					if _, _, err := s.Take(i); err != nil {
						got[k] = outcome(nil, err)
						continue
					}
					got[k] = outcome(nil, s.Append(i,
						Entry{Turn: limit, Kind: Message, Text: one, Body: []byte(`{"x":1}`)},
						Entry{Time: clock.at, Kind: DeadLetter, Call: one, Body: []byte(`{"y":1}`)},
						Entry{Turn: limit, Kind: Change, Call: "c", Body: []byte(`{}`), Blobs: []Blob{{Data: one}, {Data: other}}},
					))
				}
			}
			if d := godiff.Diff(got[0], got[1]); d != "" {
				t.Fatalf("operation %d (database, memory): %s", op, d)
			}
		}
	})
}

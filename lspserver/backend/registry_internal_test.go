package backend

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRegistry compares the registry with a list, whatever is opened, used and closed in which order.
func TestRegistry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r registry
		var want []*Session // the least recently used first
		ended := false
		clock := time.Unix(0, 0)
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			clock = clock.Add(time.Second)
			id := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "id")
			at := slices.IndexFunc(want, func(s *Session) bool { return s.id == id })
			switch rapid.SampledFrom([]string{"open", "again", "stale", "use", "close", "end"}).Draw(t, "step") {
			case "open":
				se := &Session{id: id}
				if at >= 0 {
					continue // ids are not given twice
				}
				if ok := r.admit(se, true, clock); ok != !ended {
					t.Fatalf("admitted %t, ended %t", ok, ended)
				} else if ok {
					want = append(want, se)
				}
			case "again":
				if at >= 0 {
					if ok := r.admit(want[at], false, clock); ok != !ended {
						t.Fatalf("an open one is admitted %t, ended %t", ok, ended)
					}
				}
			case "stale":
				if r.admit(&Session{id: id}, false, clock) {
					t.Fatal("a closed session is admitted")
				}
			case "use":
				if at >= 0 {
					se := want[at]
					r.use(se, clock)
					want = append(slices.Delete(want, at, at+1), se)
				}
			case "close":
				if r.remove(id); at >= 0 {
					want = slices.Delete(want, at, at+1)
				}
			case "end":
				if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
					r.end()
					ended = true
				}
			}
			all := r.all()
			if !slices.IsSortedFunc(all, func(x, y *Session) int { return int(x.id[0]) - int(y.id[0]) }) || len(all) != len(want) {
				t.Fatalf("%d sessions, want %d", len(all), len(want))
			}
			for _, se := range want {
				if r.find(se.id) != se || !slices.Contains(all, se) {
					t.Fatalf("%s is not found", se.id)
				}
			}
			if last := r.latest(); len(want) == 0 && last != nil || len(want) > 0 && last != want[len(want)-1] {
				t.Fatalf("the latest is %v", last)
			}
		}
	})
}

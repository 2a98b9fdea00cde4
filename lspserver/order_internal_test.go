package lspserver

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tandem/lspserver/wire/wiretest"
	"tandem/lspserver/workspace"
)

// Changes that come in the place of their neighbours are applied in the order of their versions, at once when the missing one comes.
func TestFaultE14SwappedChanges(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var sent []int32
		for v := range rapid.Int32Range(1, 40).Draw(r, "changes") {
			sent = append(sent, v+2)
		}
		for i := 0; i+1 < len(sent); i++ {
			if rapid.Bool().Draw(r, "swap") {
				sent[i], sent[i+1] = sent[i+1], sent[i]
				i++
			}
		}
		var got []int32
		wrong := 0
		wiretest.Bubble(t, func(*testing.T) { // where no time passes
			o := changeOrder{docs: map[string]*docOrder{}}
			o.opened("u", 1)
			for i, v := range sent {
				o.change("u", v, func() { got = append(got, v) })
				if len(got) < i || (len(got) == i+1) != o.complete("u") {
					wrong++
				}
			}
			o.closed("u")
		})
		if wrong > 0 || len(got) != len(sent) || !slices.IsSorted(got) {
			r.Fatalf("%d wrong, of %v: %v", wrong, sent, got)
		}
	})
}

// A change is applied at the latest 50 ms after it came, and before what the client sends next. The changes of a client that leaves
// versions out wait once.
func TestFaultE14SkippedVersions(t *testing.T) {
	for name, next := range map[string]func(o *changeOrder){
		"nothing":   func(*changeOrder) { time.Sleep(swapWait); synctest.Wait() },
		"a request": func(o *changeOrder) { o.request() },
		"a save":    func(o *changeOrder) { o.settle("u") },
		"a close":   func(o *changeOrder) { o.closed("u") },
		"a reopen":  func(o *changeOrder) { o.opened("u", 7) },
	} {
		t.Run(name, func(t *testing.T) {
			wiretest.Bubble(t, func(t *testing.T) {
				o := changeOrder{docs: map[string]*docOrder{}}
				var got []int32
				applied := func() []int32 { // by the timer, too
					o.mu.Lock()
					defer o.mu.Unlock()
					return slices.Clone(got)
				}
				change := func(uri string, v int32, want ...int32) {
					t.Helper()
					if o.change(uri, v, func() { got = append(got, v) }); !slices.Equal(applied(), want) {
						t.Errorf("after %d: %v, want %v", v, applied(), want)
					}
				}
				o.opened("u", 7)
				o.opened("other", 1)
				o.opened("unversioned", workspace.NoVersion)
				change("u", 9)
				change("u", 12)
				change("other", 2, 2)
				change("unversioned", workspace.NoVersion, 2, workspace.NoVersion)
				if next(&o); !slices.Equal(applied(), []int32{2, workspace.NoVersion, 9, 12}) || !o.complete("u") {
					t.Fatalf("in the end: %v", applied())
				}
				got = nil
				change("other", 5, 5)
				change("other", 4, 5, 4) // as it is: the workspace looks at the version, too
			})
		})
	}
}

// Two changes of one version are both applied.
func TestFaultE14SameVersionTwice(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		o := changeOrder{docs: map[string]*docOrder{}}
		n := 0
		o.opened("u", 1)
		for range 2 {
			o.change("u", 9, func() { n++ })
		}
		if n != 2 || !o.complete("u") {
			t.Errorf("%d of 2", n)
		}
	})
}

// What a client is known to swap is waited for beyond a request, and the request says nothing of an edit that a waiting change may have.
func TestFaultE14RequestBetweenSwappedChanges(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		o := changeOrder{docs: map[string]*docOrder{}}
		var got []int32
		applied := func() []int32 { // by the timer, too
			o.mu.Lock()
			defer o.mu.Unlock()
			return slices.Clone(got)
		}
		o.opened("u", 1)
		for _, v := range []int32{3, 2, 5} {
			o.change("u", v, func() { got = append(got, v) })
		}
		if o.request(); o.complete("u") || !slices.Equal(applied(), []int32{2, 3}) {
			t.Error("a swapped change did not wait", applied())
		}
		time.Sleep(swapWait)
		synctest.Wait()
		if !o.complete("u") || o.skips || !slices.Equal(applied(), []int32{2, 3, 5}) {
			t.Error("the missing change is waited for", applied())
		}
	})
}

// What an answer of a client waits for is applied by the time that it is taken in; one about a document of which nothing waits is taken in
// at once.
func TestFaultE14AnswerBehindWaitingChange(t *testing.T) {
	for name, late := range map[string]func(o *changeOrder, apply func()){
		"the missing one comes": func(o *changeOrder, apply func()) { o.change("u", 2, apply) },
		"another request":       func(o *changeOrder, _ func()) { o.request() },
		"a close":               func(o *changeOrder, _ func()) { o.closed("u") },
		"nothing":               func(*changeOrder, func()) { time.Sleep(swapWait) },
	} {
		t.Run(name, func(t *testing.T) {
			wiretest.Bubble(t, func(t *testing.T) {
				o := changeOrder{docs: map[string]*docOrder{}}
				n := 0
				o.opened("u", 1)
				o.await("u")
				o.await("other")
				o.change("u", 3, func() { n++ })
				o.change("u", 4, func() { n++ })
				seen := make(chan int)
				go func() {
					o.await("u")
					seen <- n
				}()
				synctest.Wait()
				late(&o, func() {})
				if at := <-seen; at != 2 {
					t.Errorf("after %d of 2 changes", at)
				}
			})
		})
	}
}

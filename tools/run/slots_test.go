package run

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestFindingS15Places gives out no more places than there are, of one session and of all, first come first served, and
// loses none where somebody gives up.
func TestFindingS15Places(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := NewSlots(func() int { return 6 }, nil)
		var running atomic.Int32
		var wg sync.WaitGroup
		for range 2 {
			one := NewSlots(func() int { return 4 }, all)
			var here atomic.Int32
			var order []int
			var mu sync.Mutex
			for i := range 60 {
				wg.Go(func() {
					leave, err := one.take(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
					if n, m := here.Add(1), running.Add(1); n > 4 || m > 6 {
						t.Errorf("%d and %d at once", n, m)
					}
					time.Sleep(time.Second)
					here.Add(-1)
					running.Add(-1)
					leave()
				})
				synctest.Wait() // so they come one after the other
			}
			defer func() {
				for at, i := range order {
					if i >= at+8 || i <= at-8 { // at each of two queues four pass at the same moment
						t.Errorf("order %v", order)
					}
				}
			}()
		}
		wg.Wait()

		only := NewSlots(func() int { return 1 }, all)
		leave, err := only.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("why")
		wg.Go(func() {
			if _, err := only.take(ctx); !errors.Is(err, why) {
				t.Error(err)
			}
		})
		synctest.Wait()
		cancel(why)
		wg.Wait()
		leave()
		if leave, err = only.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		leave()
		if only.used != 0 || all.used != 0 {
			t.Errorf("%d and %d are lost", only.used, all.used)
		}
	})
}

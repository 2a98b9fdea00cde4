package index

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// The background waits for the end of all searches, and no longer than it has patience for in all.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns searchGate
		b := &throttle{searches: &turns, now: time.Now, waitBudget: 3 * time.Second}
		waited := func(ctx context.Context, want time.Duration, why string) {
			t.Helper()
			began := time.Now()
			if b.yield(ctx); time.Since(began) != want {
				t.Errorf("%s: waited %v, not %v", why, time.Since(began), want)
			}
		}
		waited(t.Context(), 0, "without a search")
		first, second := turns.begin(), turns.begin()
		time.AfterFunc(time.Second/2, first)
		time.AfterFunc(time.Second, second)
		waited(t.Context(), time.Second, "two searches at a time")
		waited(t.Context(), 0, "after them")
		third := turns.begin()
		waited(t.Context(), 2*time.Second, "a search without end")
		waited(t.Context(), 0, "without patience")

		b.dutyCycle = buildDutyCycle
		time.Sleep(time.Second)
		waited(t.Context(), 9*time.Second, "after a second of work")
		waited(t.Context(), 0, "at once again")
		b.dutyCycle = 0
		third()
		if b.waited != 12*time.Second {
			t.Errorf("waited %v in all, not 12 s", b.waited)
		}

		b.waitBudget = time.Hour
		defer turns.begin()()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		waited(ctx, time.Second, "cancelled")
	})
}

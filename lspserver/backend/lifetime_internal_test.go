package backend

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
)

// TestLifetime waits for what is done in the background, of which a panic is only logged, and begins nothing after the end.
func TestLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := lifetime{log: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, cancel := context.WithCancel(t.Context())
		l.start(ctx)
		done := 0
		l.later(func(context.Context) { panic("boom") })
		l.later(func(ctx context.Context) { <-ctx.Done(); done++ })
		synctest.Wait()
		if l.end(); done != 0 || l.closing.Err() != nil {
			t.Error("it ended before the connection")
		}
		cancel()
		l.wait()
		l.later(func(context.Context) { done++ })
		l.wait()
		if done != 1 || !strings.Contains(log.String(), "boom") || l.closing.Err() == nil {
			t.Errorf("%d done, log %q", done, log.String())
		}
	})
}

// TestLifetimeHurry begins the short grace period before the connection ends.
func TestLifetimeHurry(t *testing.T) {
	l := lifetime{log: slog.New(slog.DiscardHandler)}
	l.start(t.Context())
	if l.hurry(); l.closing.Err() == nil || l.ctx.Err() != nil {
		t.Error(l.closing.Err(), l.ctx.Err())
	}
}

package mcp

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestFaultT14SilenceWhileAPersonThinks: the silence of a server stands still while a person is asked, also where the server tells of its
// progress meanwhile or asks twice, and begins anew with the last answer.
func TestFaultT14SilenceWhileAPersonThinks(t *testing.T) {
	s := newServer(nil, Entry{})
	going := true
	s.calls["t"] = &activeCall{alive: func() { going = true }, hold: func() { going = false }}
	is := func(when string, want bool) {
		t.Helper()
		if going != want {
			t.Errorf("%s: its silence counts: %t", when, going)
		}
	}
	hear := func() {
		s.progress(t.Context(), &sdk.ProgressNotificationClientRequest{Params: &sdk.ProgressNotificationParams{ProgressToken: "t"}})
	}
	first := s.thinks()
	is("asked", false)
	hear()
	is("heard of", false)
	second := s.thinks()
	first()
	is("one of two is answered", false)
	second()
	is("answered", true)
	going = false
	hear()
	is("heard of later", true)
}

// TestFaultT6IdleStopOfABusyServer: a server that is being asked for its tools when it could be ended is ended once it has been idle as long
// after that, and one that is used again meanwhile is not.
func TestFaultT6IdleStopOfABusyServer(t *testing.T) {
	const idle = time.Minute
	for name, c := range map[string]struct {
		during, after func(s *server)
		want          []time.Duration // how long after the timer was started it has ended
	}{
		"it lists its tools": {func(s *server) { s.busy <- struct{}{} }, func(s *server) { <-s.busy }, []time.Duration{2 * idle}},
		"nothing":            {func(*server) {}, func(*server) {}, []time.Duration{idle}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := New(Options{Idle: func() time.Duration { return idle }, Changed: func() {}})
				defer all.Close()
				s := newServer(all, Entry{})
				began := time.Now()
				var ended []time.Duration
				s.conn = &connection{cancel: func() { ended = append(ended, time.Since(began)) }, ended: make(chan struct{})}
				s.mu.Lock()
				s.rest()
				s.mu.Unlock()
				c.during(s)
				time.Sleep(idle)
				synctest.Wait()
				c.after(s)
				time.Sleep(10 * idle)
				synctest.Wait()
				if !slices.Equal(ended, c.want) {
					t.Errorf("ended after %v, want %v", ended, c.want)
				}
			})
		})
	}
}

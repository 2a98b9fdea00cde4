package main

import (
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestResting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		var rests atomic.Int64
		r := newIdleConn(ours, time.Minute, func() { rests.Add(1) })
		want := func(n int64, what string) {
			t.Helper()
			synctest.Wait()
			if got := rests.Load(); got != n {
				t.Errorf("%s: it rested %d times, not %d", what, got, n)
			}
		}
		go func() {
			b := make([]byte, 1)
			for {
				if _, err := theirs.Read(b); err != nil {
					return
				}
			}
		}()
		write := func() {
			if _, err := r.Write([]byte("x")); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(50 * time.Second)
		write()
		time.Sleep(50 * time.Second)
		want(0, "somebody wrote")
		go func() {
			if _, err := theirs.Write([]byte("y")); err != nil {
				t.Error(err)
			}
		}()
		if _, err := r.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		time.Sleep(50 * time.Second)
		want(0, "somebody read")
		time.Sleep(20 * time.Second)
		want(1, "nothing happened")
		time.Sleep(time.Hour)
		want(1, "still nothing")
		write()
		time.Sleep(61 * time.Second)
		want(2, "nothing happened again")
		write()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		want(2, "it is closed")
		_ = theirs.Close()
	})
}

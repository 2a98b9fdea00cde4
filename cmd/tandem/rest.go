package main

import (
	"io"
	"time"
)

// resting is a connection that tells when nothing has gone through it for a while.
type resting struct {
	io.ReadWriteCloser
	after time.Duration
	timer *time.Timer
}

func newResting(rwc io.ReadWriteCloser, after time.Duration, rests func()) *resting {
	return &resting{rwc, after, time.AfterFunc(after, rests)}
}

func (r *resting) Read(b []byte) (int, error) {
	n, err := r.ReadWriteCloser.Read(b)
	r.timer.Reset(r.after)
	return n, err
}

func (r *resting) Write(b []byte) (int, error) {
	r.timer.Reset(r.after)
	return r.ReadWriteCloser.Write(b)
}

func (r *resting) Close() error {
	r.timer.Stop()
	return r.ReadWriteCloser.Close()
}

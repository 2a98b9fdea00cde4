package main

import (
	"io"
	"time"
)

// idleConn is a connection with an idle timer, which fires after idleTimeout without a read or a
// write.
type idleConn struct {
	io.ReadWriteCloser
	idleTimeout time.Duration
	timer       *time.Timer
}

func newIdleConn(rwc io.ReadWriteCloser, idleTimeout time.Duration, onIdle func()) *idleConn {
	return &idleConn{rwc, idleTimeout, time.AfterFunc(idleTimeout, onIdle)}
}

func (r *idleConn) Read(b []byte) (int, error) {
	n, err := r.ReadWriteCloser.Read(b)
	r.timer.Reset(r.idleTimeout)
	return n, err
}

func (r *idleConn) Write(b []byte) (int, error) {
	r.timer.Reset(r.idleTimeout)
	return r.ReadWriteCloser.Write(b)
}

func (r *idleConn) Close() error {
	r.timer.Stop()
	return r.ReadWriteCloser.Close()
}

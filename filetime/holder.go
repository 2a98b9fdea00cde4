package filetime

import (
	"context"
	"time"
)

// Holder is who has the lock of a file: a tool call of a session.
type Holder struct {
	Session, Call string
	// PID is the process that the session is in.
	PID int
	// Since is when it took the lock.
	Since time.Time
}

type holderKey struct{}

// WithHolder sets the Holder of locks that are taken with ctx. Empty fields keep their values in
// ctx.
func WithHolder(ctx context.Context, h Holder) context.Context {
	was := HolderOf(ctx)
	if h.Session == "" {
		h.Session = was.Session
	}
	if h.Call == "" {
		h.Call = was.Call
	}
	return context.WithValue(ctx, holderKey{}, h)
}

// HolderOf is the Holder that WithHolder has set, the zero one if none.
func HolderOf(ctx context.Context) Holder {
	h, _ := ctx.Value(holderKey{}).(Holder)
	return h
}

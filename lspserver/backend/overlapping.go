package backend

import (
	"slices"
	"sync"
	"time"
)

// command is one that changes files, or has.
type command struct{ began, ended time.Time }

// overlapping are the commands that run, and those that others ran beside: a change is only one command's where no other ran at the
// same time. Times are those of the file system.
type overlapping struct {
	mu       sync.Mutex
	commands []*command
}

// begin adds a command that begins now.
func (o *overlapping) begin() *command {
	me := &command{began: time.Now()}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.commands = append(o.commands, me)
	return me
}

// end ends a command, and gives the others that ran at the same time. It drops those that no command asks for any more.
func (o *overlapping) end(me *command) (out []command) {
	o.mu.Lock()
	defer o.mu.Unlock()
	me.ended = time.Now()
	first := me.ended
	for _, c := range o.commands {
		if c.ended.IsZero() && c.began.Before(first) {
			first = c.began
		}
	}
	for _, c := range o.commands {
		if c != me && (c.ended.IsZero() || c.ended.After(me.began)) {
			out = append(out, *c)
		}
	}
	o.commands = slices.DeleteFunc(o.commands, func(c *command) bool { return !c.ended.IsZero() && c.ended.Before(first) })
	return out
}

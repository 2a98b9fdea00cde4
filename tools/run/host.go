package run

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/schema"
	"tandem/tools/words"
)

// Offering is what may have changed about the tools since the request that calls answer. The zero value offers Host.Tools as they are.
type Offering struct {
	// Present returns the session's tools as they are now: a call of a tool that was taken out does not begin. nil where none is.
	Present func() *tools.Set
	// Resolve makes a tool known that is in no set yet, so that Present has it then; false is that there is none, and an error says why
	// not. It is called in the call's turn and may take long. May be nil.
	Resolve func(ctx context.Context, name string) (bool, error)
	// Visible returns what of a set a model is shown; nil shows all in full.
	Visible func(*tools.Set) tools.Offer
}

// now is the set that calls may be of now.
func (o *Offering) now(pinned *tools.Set) *tools.Set {
	if o.Present == nil {
		return pinned
	}
	return o.Present()
}

// Of is what of a set a model is shown.
func (o *Offering) Of(set *tools.Set) tools.Offer {
	if o.Visible == nil {
		return tools.Offer{Full: set.List()}
	}
	return o.Visible(set)
}

// lazy reports whether a tool that is in no set may still be made known.
func (o *Offering) lazy(pinned *tools.Set, name string) bool {
	return o.Resolve != nil && o.Present != nil && pinned.Get(name) == nil && pinned.Dropping(name) == nil
}

// Changes keeps track of what calls change. Its functions may be nil.
type Changes struct {
	// BeforeCommand is called before a command runs.
	BeforeCommand func(ctx context.Context, c Command) Began
	// Unkept says, in a sentence for a person who is asked about a command, what it may change for good; "" is nothing.
	Unkept func(ctx context.Context, c Command) string
	// Landed is called for every change that landed, before the result is given out; calls of one batch call it concurrently.
	Landed func(c filetime.Change, l filetime.Landed)
	// Stale is called after Landed with the files that a call or its command has changed: what is known of their syntax is of former texts.
	Stale func(l filetime.Landed)
	// Queues says that Host.Files queue changes for a person's approval. Without that, plan mode refuses them.
	Queues bool
	// Project gives what landed in a file as the session sees it, with the changes that wait.
	Project func(l filetime.LandedFile) filetime.LandedFile
}

func (c *Changes) project(l filetime.LandedFile) filetime.LandedFile {
	if c.Project == nil {
		return l
	}
	return c.Project(l)
}

func (c *Changes) before(ctx context.Context, about Command) Began {
	if c.BeforeCommand == nil {
		return Began{}
	}
	return c.BeforeCommand(ctx, about)
}

func (c *Changes) unkept(ctx context.Context, about Command) string {
	if c.Unkept == nil {
		return ""
	}
	return c.Unkept(ctx, about)
}

func (c *Changes) landed(change filetime.Change, l filetime.Landed) {
	if c.Landed != nil {
		c.Landed(change, l)
	}
}

// stale reports those of the files that were changed.
func (c *Changes) stale(all ...filetime.Landed) {
	for _, l := range all {
		if c.Stale != nil && len(l.Files) > 0 {
			c.Stale(l)
		}
	}
}

// Schedule says which calls run at the same time, and how many. The zero value goes by the tools alone.
type Schedule struct {
	// Serial lets no two changes happen at the same time, also of different files.
	Serial bool
	// SerialCommands lets no two commands run at the same time, also where they only read. Parallel makes one batch of all calls,
	// whatever they do.
	SerialCommands, Parallel bool
	// Slots bounds the calls that run at the same time, also of other runs; nil is no bound.
	Slots *Slots
	// Budget bounds the calls of the turn; nil is no bound.
	Budget *Budget
}

// Validation is how arguments are read.
type Validation struct {
	// Language is that of what the model reads.
	Language words.Language
	// Coerce lets "true" be true and the like.
	Coerce bool
}

func (v Validation) check(t tools.Tool, raw json.RawMessage) schema.Checked {
	return t.Schema().CheckIn(v.Language, raw, v.Coerce)
}

func (h *Host) now() time.Time {
	if h.Now == nil {
		return time.Now()
	}
	return h.Now()
}

func (h *Host) log() *slog.Logger {
	if h.Log == nil {
		return slog.Default()
	}
	return h.Log
}

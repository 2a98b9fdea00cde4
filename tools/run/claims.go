package run

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/tools"
)

// Claims are what the calls of all sessions are about to change: from the permission to the end of a call it claims the text that it
// replaces. An edit of another session that would replace a part of that is refused at once, with the name of the holder; any other one of
// that file waits for the file's lock, as ever. The zero value has none. Claims may be used concurrently, and must not be copied.
type Claims struct {
	mu   sync.Mutex
	held []*claim
}

// Claim is a part of a file that a call is about to change.
type Claim struct {
	Path    string
	Session string
	Call    string
	Since   time.Time
	// Whole says that it is all of the file: it is made, overwritten, deleted or moved. Else it is the bytes from Start to End of Text,
	// which is what the file says now.
	Whole      bool
	Start, End int
	Text       text.Text
}

// claim is what a call is about to do to one file.
type claim struct {
	holder filetime.Holder
	files  filetime.Files
	path   string
	edit   filetime.FileEdit
	whole  bool
}

// claimsOf are those of a change: the files that it changes, and the path that one is moved to.
func claimsOf(files filetime.Files, holder filetime.Holder, change *filetime.Change, whole func(path string) bool) (out []*claim) {
	for _, f := range change.Files {
		all := f.Create || f.Delete || f.To != "" || whole(f.Path)
		out = append(out, &claim{holder: holder, files: files, path: f.Path, edit: f, whole: all})
		if f.To != "" {
			out = append(out, &claim{holder: holder, files: files, path: f.To, edit: f, whole: true})
		}
	}
	return out
}

// spans are the texts that the claim replaces, as offsets of now; a new text between two characters is an empty one. ok is false where that
// cannot be told any more, or all of the file is claimed.
func (c *claim) spans() (spans []text.Range, now text.Text, ok bool) {
	if c.whole {
		return nil, now, false
	}
	since, snap, ok := c.files.History(c.path, c.edit.Rev)
	if !ok {
		return nil, now, false
	}
	sets := []text.Set{c.edit.Since}
	for _, r := range since {
		sets = append(sets, r.Set)
	}
	for _, e := range c.edit.Edits {
		start, end := e.Start, e.End
		for _, s := range sets {
			start, end = s.MapPos(start, start < end), s.MapPos(end, false)
		}
		spans = append(spans, text.Range{Start: start, End: max(start, end)})
	}
	return spans, snap.Text, true
}

// meets says that both claims are about the same text. Texts that only touch are two.
func (c *claim) meets(other *claim) bool {
	if c.path != other.path {
		return false
	}
	mine, _, ok := c.spans()
	theirs, _, known := other.spans()
	if !ok || !known {
		return true
	}
	return slices.ContainsFunc(mine, func(a text.Range) bool {
		return slices.ContainsFunc(theirs, func(b text.Range) bool { return a.Start < b.End && b.Start < a.End })
	})
}

// take takes all claims or none: the one that another session holds is given back then.
func (c *Claims) take(wanted []*claim) (holder *claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range wanted {
		for _, h := range c.held {
			if h.holder.Session != w.holder.Session && h.path == w.path && w.meets(h) {
				return h
			}
		}
	}
	c.held = append(c.held, wanted...)
	return nil
}

func (c *Claims) release(held []*claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = slices.DeleteFunc(c.held, func(h *claim) bool { return slices.Contains(held, h) })
}

// List gives the claims of a session, or with "" of all, in the order in which they were taken.
func (c *Claims) List(session string) (out []Claim) {
	c.mu.Lock()
	held := slices.Clone(c.held)
	c.mu.Unlock()
	for _, h := range held {
		if session != "" && h.holder.Session != session {
			continue
		}
		one := Claim{Path: h.path, Session: h.holder.Session, Call: h.holder.Call, Since: h.holder.Since}
		spans, now, ok := h.spans()
		if !ok {
			one.Whole = true
			out = append(out, one)
			continue
		}
		for _, s := range spans {
			one.Start, one.End, one.Text = s.Start, s.End, now
			out = append(out, one)
		}
	}
	return out
}

// claim takes what the call is about to change, until it has ended.
func (c *call) claim() error {
	change := c.plan.Change
	if c.host.Claims == nil || change == nil || change.Apply == filetime.None || c.queued() {
		return nil
	}
	holder := filetime.Holder{Session: c.env.Session, Call: c.ID, Since: c.host.now()}
	wanted := claimsOf(c.host.Files, holder, change, func(path string) bool {
		return slices.ContainsFunc(c.plan.Needs, func(n tools.Need) bool { return n.Act == tools.Replaces && n.Place.Path() == path })
	})
	if other := c.host.Claims.take(wanted); other != nil {
		since := c.host.now().Sub(other.holder.Since).Round(time.Millisecond)
		what := "is changing the same text of"
		if other.whole {
			what = "is writing"
		}
		return &tools.Refusal{Result: claimed(fmt.Sprintf("Another agent (session %s, call %s) %s %s just now, for %v. Nothing was done. "+
			"Do something else first, then read the file again, and make your change on what it says then if it is still wanted.",
			other.holder.Session, other.holder.Call, what, c.env.Name(other.path), since), other.holder)}
	}
	c.claims = wanted
	return nil
}

func claimed(data string, h filetime.Holder) tools.Result {
	r := tools.Fail(tools.Claimed, "claimed", "%s", data)
	r.Value = struct {
		Holder string `json:"holder"`
		CallID string `json:"toolCallId"`
	}{h.Session, h.Call}
	return r
}

// unclaim ends the claims of the call.
func (c *call) unclaim() {
	if c.claims != nil {
		c.host.Claims.release(c.claims)
		c.claims = nil
	}
}

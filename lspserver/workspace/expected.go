package workspace

import (
	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/history"
)

// expected is a change of a command that the editor has yet to read into the buffer of an open document.
type expected struct {
	mark   mark
	after  text.Text
	change filetime.Change
	late   func(filetime.Change, filetime.Landed)
}

// reloaded makes the changes by which the editor has read a file again those of a command; nil if it has not. f.mu is held.
func (f *file) reloaded(x expected) *filetime.LandedFile {
	revs, ok := f.Since(x.mark.rev)
	if !ok {
		return nil
	}
	now := x.mark.text
	for i, r := range revs {
		if r.Session != "" || r.Set.Validate(now) != nil {
			return nil
		}
		if now = r.Set.Apply(now); !text.EqualLines(now, x.after) {
			continue
		}
		one := byCommand(x.change, r.Rev, history.Compose(revs[:i+1]))
		one.Part = r.Part
		f.Replace(revs[0].Rev, r.Rev, one)
		return &filetime.LandedFile{Path: f.path, Before: x.mark.text, After: now, Set: one.Set, Rev: r.Rev, Applied: true, Source: "disk"}
	}
	return nil
}

// landExpected tells of a change of a command that the editor has just read. f.mu is held.
func (w *Workspace) landExpected(f *file) {
	if f.expected == nil {
		return
	}
	x := *f.expected
	l := f.reloaded(x)
	if l == nil {
		return
	}
	f.expected = nil
	x.change.Files = []filetime.FileEdit{{Path: f.path}}
	if x.late != nil {
		go w.safely(func() { x.late(x.change, filetime.Landed{Files: []filetime.LandedFile{*l}}) })
	}
}

// byCommand is a change by a command as an entry of a history.
func byCommand(c filetime.Change, rev uint64, set text.Set) filetime.Revision {
	return filetime.Revision{Rev: rev, Set: set, Author: filetime.Command, Session: c.Session, Call: c.Call}
}

type mark struct {
	rev         uint64
	text        text.Text
	open, dirty bool
	saves       int
}

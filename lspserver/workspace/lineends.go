package workspace

import (
	"math"
	"strings"
	"sync/atomic"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/stored"
)

// Editors count lines differently. To LSP a carriage return alone ends a line; Neovim, Vim, Emacs and most others do not count it. LSP
// counts no other signs than that and the line feed; some editors count Unicode's. Behind such a sign a position means another line to
// the editor than to us. So a plain client gets no position behind a lone carriage return until its own traffic has shown that it counts
// it, and none behind another sign once its traffic has shown that it counts that.

// counting is what a client's traffic has shown of how it counts lines: that a lone carriage return ends one, that it does not, and
// that the signs do which LSP does not count.
type counting struct{ lone, never, unicode atomic.Bool }

const (
	loneReturn  = "\r" // and no line feed behind it
	unicodeEnds = "\v\f\u0085\u2028\u2029"
)

// oddEnd finds the first line end that clients count differently, -1 if there is none. A CRLF is none.
func oddEnd(s, signs string) int {
	for from := 0; ; {
		i := strings.IndexAny(s[from:], signs)
		if i < 0 {
			return -1
		}
		if at := from + i; !strings.HasPrefix(s[at:], "\r\n") {
			return at
		}
		from += i + 2
	}
}

// endsOf says whether a text has line ends that clients count differently.
func endsOf(s string) lineEnds {
	if oddEnd(s, loneReturn+unicodeEnds) >= 0 {
		return oddEnds
	}
	return plainEnds
}

// checkLineEnds refuses an edit whose positions the client may understand differently. f.mu is held.
func (w *Workspace) checkLineEnds(f *file, set text.Set) error {
	if len(set) == 0 || !w.o.Features.Plain || f.doc == nil || f.doc.lineEnds == plainEnds {
		return nil
	}
	signs := ""
	if !w.counting.lone.Load() || w.counting.never.Load() {
		signs = loneReturn
	}
	if w.counting.unicode.Load() {
		signs += unicodeEnds
	}
	head := f.Text().Slice(0, set[len(set)-1].End)
	at := oddEnd(head, signs)
	if at < 0 || strings.HasPrefix(f.Text().Slice(at, min(at+2, f.Text().Len())), "\r\n") {
		return nil
	}
	name := map[byte]string{'\r': "carriage return without a line feed (U+000D)", '\v': "vertical tab (U+000B)", '\f': "form feed (U+000C)"}[head[at]]
	if name == "" {
		name = "line separator of Unicode"
	}
	line := strings.Count(head[:at], "\n") + 1
	e := fail(f.path, filetime.Unsupported, "line_ends", "Line %d of %s has a %s. Editors differ in whether that ends a line, and this one "+
		"has not shown how it counts, so it could change another line than the one that is meant. Nothing was changed. Ask the user to remove "+
		"the sign or to close the file, then try again.", line, f.path, name)
	e.Person = "The file has a sign that editors count differently as a line end. It was not changed."
	return e
}

// noteOddEnds takes in a change from a client to an offset of the text. f.mu is held.
func (w *Workspace) noteOddEnds(f *file, c ContentChange, end int) {
	if !w.o.Features.Plain {
		return
	}
	if f.doc.lineEnds == oddEnds && oddEnd(f.Text().Slice(0, end), loneReturn+unicodeEnds) >= 0 {
		f.doc.lineEnds = behindEnds
	}
	f.doc.lineEnds = max(f.doc.lineEnds, endsOf(c.Text))
}

// learnFromPosition learns from a position that fits no line of the text as LSP counts it. f.mu is held.
func (w *Workspace) learnFromPosition(f *file, p text.Position) {
	if f.doc.lineEnds == plainEnds || !w.o.Features.Plain {
		return
	}
	switch end, _ := f.Text().Offset(text.Position{Line: p.Line, Character: math.MaxInt}, text.UTF8); {
	case p.Line > f.Text().Position(f.Text().Len(), text.UTF8).Line:
		w.counting.unicode.Store(true)
	case end < f.Text().Len() && oddEnd(f.Text().Slice(end, min(end+2, f.Text().Len())), loneReturn) == 0:
		w.counting.never.Store(true)
	default:
		return
	}
	f.doc.sync = max(f.doc.sync, maybeDrifted)
}

// learnFromSave compares a saved document with the disk: if a change behind an odd line end was misunderstood, the disk has the text
// that the client has. f.mu is held.
func (w *Workspace) learnFromSave(f *file, d stored.File) {
	if f.doc.lineEnds != behindEnds {
		return
	}
	f.doc.lineEnds = oddEnds
	lone := oddEnd(f.Text().String(), loneReturn) >= 0
	switch right := text.EqualLines(d.Text, f.Text()); {
	case right:
		if lone {
			w.counting.lone.Store(true)
		}
		return
	case lone:
		w.counting.never.Store(true)
	default:
		w.counting.unicode.Store(true)
	}
	w.record(f, text.Infer(f.Text(), d.Text), filetime.User)
	f.doc.sync = inSync
}

func endsLine(s string) bool { return strings.HasSuffix(s, "\n") }

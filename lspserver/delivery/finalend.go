package delivery

import (
	"regexp"
	"strings"
	"sync"

	"tandem/filetime/text"
	"tandem/lspserver/follow"
)

// An editor may be unable to hold a text without a final line end: stock Neovim ends each text with
// one, answers that it has applied an edit which takes it away, and shows the rest of the edit. A
// plain client is found out by that echo, or by what it opens and saves. From then on it gets edits
// that leave the final line end alone, and one that differs in nothing else has landed.

// endEdit is a set as such an editor carries it out; false if it does the same as any other. Where
// the text has a final line end it stays, where it has none the editor adds it when it saves.
func endEdit(base text.Text, set text.Set) (text.Set, bool) {
	n := len(set)
	if n == 0 || set[n-1].End != base.Len() {
		return nil, false
	}
	had := endsLine(base.String())
	has := endsLine(set.Apply(base).String())
	out := append(text.Set{}, set...)
	last := &out[n-1]
	switch {
	case has && !had && base.Len() > 0:
		last.New = strings.TrimSuffix(strings.TrimSuffix(last.New, "\n"), "\r")
	case !has && (had || base.Len() == 0):
		end := "\n"
		if strings.HasSuffix(base.String(), "\r\n") {
			end = "\r\n"
		}
		last.New += end
	default:
		return nil, false
	}
	return text.Minimize(base, out), true
}

// shape leaves the final line end alone in an edit for an editor that is known to add it. f is
// locked.
func (a *attempt) shape(p Plan) Plan {
	if !a.to.Plain || !a.f.open() || !a.to.ends.Load() {
		return p
	}
	if set, differs := endEdit(p.Before, p.Set); differs {
		p.Set, p.After, a.endKept = set, set.Apply(p.Before), true
	}
	return p
}

// keeping is a delivery as such an editor carries it out, nil if that does the same as any other.
func (a *attempt) keeping(d *try) *try {
	if !a.to.Plain || a.reverting() {
		return nil
	}
	set, differs := endEdit(d.Before, d.Set)
	if !differs || endsLine(d.Set.Apply(d.Before).String()) {
		return nil
	}
	return &try{Plan: Plan{Before: d.Before, Set: set}, ranges: a.ranges(d.Before, set), trail: follow.NewTrail(d.Before, set)}
}

// endOnly says that the edit was to take the final line end away and do nothing else, and that the
// document shows nothing of it.
func (a *attempt) endOnly(d *try) bool {
	return d.kept != nil && len(d.kept.Set) == 0 && a.f.open() && a.f.Text().Equal(d.Before)
}

// unwritable matches what clients answer for a buffer that takes no edits.
var unwritable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bmodifiable\b|\bread[- ]?only\b`) })

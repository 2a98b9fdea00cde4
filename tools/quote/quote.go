// Package quote finds what a model quotes of a file in the texts that the model was shown, carries
// the edits made of it to the present, and words the answer where that fails: not found, at several
// places, not read, changed by somebody else, or done already.
package quote

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
)

// Part is one quotation of a call, and what replaces it.
type Part struct {
	// Label is what the model knows the quotation as, such as old_text.
	Label    string
	Old, New string
	// All replaces it at every place; else it has to stand at one place only.
	All bool
	// Block, where it is not nil, is the hunk of a patch that the part is, in place of Old, New and
	// All.
	Block *text.Block
	// Bare is how many blank lines at the end of Block may be no part of it: it is looked for
	// without them too.
	Bare int
}

// locate finds the part in t. Of several places for a block, those from the offset from on are
// preferred.
func (p Part) locate(t text.Text, from int) (text.Found, error) {
	var missing *text.NotFoundError
	if p.Block == nil {
		found, err := text.Locate(t, p.Old, p.New, p.All)
		if errors.As(err, &missing) {
			if again, e := text.LocateBare(t, p.Old, p.New, p.All); !errors.As(e, &missing) {
				return again, e
			}
		}
		return found, err
	}
	found, err := text.LocateBlock(t, *p.Block, from)
	for n := 1; n <= p.Bare && errors.As(err, &missing); n++ {
		less := *p.Block
		less.Lines = less.Lines[:len(less.Lines)-n]
		if again, e := text.LocateBlock(t, less, from); !errors.As(e, &missing) {
			return again, e
		}
	}
	return found, err
}

// before finds a block that quotes the text as it was before the parts that made edits of it, as
// the hunks of a patch that was written at once do, and carries it over those. ok is false where it
// is no such block, or would change what they have changed or do the same again.
func (p Part) before(base text.Text, made text.Set, from int) (found text.Found, ok bool) {
	if p.Block == nil || len(made) == 0 {
		return found, false
	}
	found, err := p.locate(base, made.Inverse(base).MapPos(from, true))
	if err != nil || len(found.Matches) == 0 {
		return found, false
	}
	for _, e := range found.Edits {
		if slices.ContainsFunc(made, func(m text.Edit) bool { return e.Start < m.End && m.Start < e.End || e == m }) {
			return found, false
		}
	}
	r := text.Rebase(base, found.Edits, made)
	if found.Edits = r.Set; len(r.Conflicts) > 0 {
		return found, false
	}
	for i, m := range found.Matches {
		found.Matches[i] = text.Range{Start: made.MapPos(m.Start, false), End: made.MapPos(m.End, true)}
	}
	return found, true
}

// everywhere finds the part at all its places, or at some of them.
func (p Part) everywhere(t text.Text) (text.Found, error) {
	if p.Block == nil {
		return text.Locate(t, p.Old, p.New, true)
	}
	found, err := p.locate(t, 0)
	if several, ok := errors.AsType[*text.AmbiguousError](err); ok {
		return text.Found{Count: several.Count, Lines: several.Lines}, nil
	}
	return found, err
}

// unbound finds a block where the search for it was bound to an end of the text, and says to which.
func (p Part) unbound(t text.Text) (bound string, found text.Found) {
	if p.Block == nil || !p.Block.AtStart && !p.Block.AtEnd {
		return "", found
	}
	free := *p.Block
	switch free.AtStart, free.AtEnd = false, false; {
	case p.Block.AtStart && p.Block.AtEnd:
		bound = "It is not all of the file"
	case p.Block.AtStart:
		bound = "It is not at the start of the file"
	default:
		bound = "It is not at the end of the file, as *** End of File says"
	}
	p.Block = &free
	found, err := p.everywhere(t)
	if err != nil {
		return "", found
	}
	return bound, found
}

// old is the text that the part is looked for by.
func (p Part) old() string {
	if p.Block != nil {
		return p.Block.Old()
	}
	return p.Old
}

// key is what the part asks for.
func (p Part) key() string {
	if p.Block != nil {
		return fmt.Sprintf("%#v", *p.Block)
	}
	return fmt.Sprintf("%q %q %t", p.Old, p.New, p.All)
}

// size is how many lines after its first the part has.
func (p Part) size() int {
	return min(strings.Count(strings.TrimRight(p.old(), "\n"), "\n"), maxQuoted)
}

// lines is what a model copies to quote better.
func (p Part) lines() string {
	if p.Block != nil {
		return "the lines of " + p.Label
	}
	return p.Label
}

// Search looks for the parts of a call in one file. The parts are made in order, each in the text
// as those before it leave it, and all of them or none.
type Search struct {
	Env   *tools.Env
	Place sandbox.Place
	Parts []Part

	name string
	now  filetime.Snapshot
	own  [][]text.Range // of each part, what the very same part, made before, put into the present text
}

// Match is where the parts of a call stand, as one edit of the file.
type Match struct {
	// Edit is the edit for the files.
	Edit filetime.FileEdit
	// Line is the first place, from 1, as things stand.
	Line int
	// Count is how many places there are, Tier the farthest from the quotations that one of them
	// is; Fuzzy says that one is no exact match.
	Count    int
	Tier     int
	TierName string

	s      *Search
	author filetime.Author // of the last change in Edit.Since
	found  []text.Found
	at     [][]text.Range // the places of each part, in Edit.Base
}

// Fuzzy says that a place is like its quotation and not the same.
func (m *Match) Fuzzy() bool { return m.Tier > text.TierLineEnds }

// PartError says which part of a Search could not be made: Index is that in Parts. It wraps a
// *tools.Refusal or a *filetime.Conflict.
type PartError struct {
	Index int
	Err   error
}

func (e *PartError) Error() string { return e.Err.Error() }

func (e *PartError) Unwrap() error { return e.Err }

// Run finds the parts in the texts that the model was shown, the newest first. The first text that
// holds all of them word for word decides, else the first that holds something like them. An error
// is a *tools.Refusal, which may be the success of an edit that somebody else has made already, a
// *filetime.Conflict, or one of Env.Read; a *PartError around it names the part where it is about
// one.
func (s *Search) Run(ctx context.Context) (*Match, error) {
	now, err := s.Env.Read(ctx, s.Place)
	if err != nil {
		return nil, err
	}
	s.now, s.name = now, s.Env.Name(s.Place.Path())
	views, err := tools.Seen(s.Env, now, false)
	switch {
	case tools.Unread(s.Env, s.Place, err):
		return nil, s.unread()
	case err != nil:
		return nil, err
	}
	return s.look(views)
}

func (s *Search) look(views []filetime.View) (*Match, error) {
	s.own = make([][]text.Range, len(s.Parts))
	for k, p := range s.Parts {
		s.own[k] = s.Env.FileTime.StandingEdits(p.key(), s.now)
	}
	var like *Match
	farthest := -1
	var context *text.ContextError
	for _, v := range views {
		m, k, err := s.try(v)
		var missing *text.NotFoundError
		var several *text.AmbiguousError
		var outside *text.ContextError
		switch {
		case errors.As(err, &missing), errors.As(err, &outside):
			if k > farthest {
				farthest, context = k, outside
			}
			continue
		case errors.As(err, &several):
			return nil, &PartError{k, s.several(k, m, several)}
		case err != nil:
			return nil, &PartError{k, s.wrong(k, err)}
		}
		if m.Fuzzy() {
			if like == nil {
				like = m
			}
			continue
		}
		return s.carry(m)
	}
	if like != nil {
		return s.carry(like)
	}
	if len(s.own[farthest]) > 0 {
		return nil, &PartError{farthest, s.repeated(farthest)}
	}
	return nil, &PartError{farthest, s.missing(farthest, views, context)}
}

// errRepeated says that a part was made already, by the session.
var errRepeated = errors.New("the same edit again")

// try finds the parts in one text. Where part k is not found, the match has those before.
func (s *Search) try(v filetime.View) (m *Match, k int, err error) {
	m = &Match{s: s, Edit: filetime.FileEdit{Path: s.Place.Path(), Base: v.Text, Since: v.Since, By: v.By, Rev: v.Rev}, author: v.Author}
	work, from := v.Text, 0
	for k, p := range s.Parts {
		found, err := p.locate(work, from)
		if err != nil {
			var ok bool
			if found, ok = p.before(v.Text, m.Edit.Edits, from); !ok {
				return m, k, err
			}
		}
		if s.others(k, m, &found) == 0 {
			return m, k, errRepeated
		}
		back := m.back().Mapping()
		var at []text.Range
		for _, r := range found.Matches {
			at = append(at, carried(r, back))
		}
		m.found, m.at = append(m.found, found), append(m.at, at)
		if m.Count += found.Count; found.Tier > m.Tier {
			m.Tier, m.TierName = found.Tier, found.TierName
		}
		m.Edit.Edits = text.Compose(m.Edit.Edits, found.Edits)
		work = found.Edits.Apply(work)
		from = found.Edits.MapPos(found.Matches[0].End, true)
	}
	if len(s.Parts) > 1 {
		m.Edit.Edits = text.Minimize(v.Text, m.Edit.Edits)
	}
	return m, 0, nil
}

// back leads from the text that the parts so far leave to the one that they were made for.
func (m *Match) back() text.Set { return m.Edit.Edits.Inverse(m.Edit.Base) }

// carried is where a range stands after a set, without what the set puts in at its ends.
func carried(r text.Range, over text.Mapping) text.Range {
	start := over.Pos(r.Start, true)
	return text.Range{Start: start, End: max(start, over.Pos(r.End, false))}
}

// others leaves those places in what was found of part k that do not lie in what the very same part
// put there before, and counts them.
func (s *Search) others(k int, m *Match, found *text.Found) int {
	if len(s.own[k]) == 0 {
		return found.Count
	}
	back, since := m.back().Mapping(), m.Edit.Since.Mapping()
	own := covering(s.own[k])
	mine := func(r text.Range) bool { return own.holds(carried(carried(r, back), since)) }
	if !slices.ContainsFunc(found.Matches, mine) {
		return found.Count
	}
	left := text.Found{Tier: found.Tier, TierName: found.TierName}
	for i, m := range found.Matches {
		if mine(m) {
			continue
		}
		left.Count++
		left.Matches, left.Lines = append(left.Matches, m), append(left.Lines, found.Lines[i])
		first := sort.Search(len(found.Edits), func(i int) bool { return found.Edits[i].Start >= m.Start })
		for _, e := range found.Edits[first:] {
			if e.End > m.End {
				break
			}
			left.Edits = append(left.Edits, e)
		}
	}
	*found = left
	return left.Count
}

// cover is ranges in the order of their starts; ends says how far those up to each reach.
type cover struct {
	ranges []text.Range
	ends   []int
}

func covering(ranges []text.Range) cover {
	c := cover{ranges: slices.SortedFunc(slices.Values(ranges), func(a, b text.Range) int { return a.Start - b.Start })}
	end := 0
	for _, r := range c.ranges {
		end = max(end, r.End)
		c.ends = append(c.ends, end)
	}
	return c
}

// holds says that a range lies in one of them.
func (c cover) holds(r text.Range) bool {
	i := sort.Search(len(c.ranges), func(i int) bool { return c.ranges[i].Start > r.Start })
	return i > 0 && r.End <= c.ends[i-1]
}

// carry brings what was found to the present, so that a conflict shows before anybody is asked.
func (s *Search) carry(m *Match) (*Match, error) {
	v := &m.Edit
	m.Line = v.Since.Apply(v.Base).Line(v.Since.MapPos(m.first().Start, true)) + 1
	r := text.Rebase(v.Base, v.Edits, v.Since)
	r.Conflicts = append(r.Conflicts, m.meets()...)
	switch {
	case len(v.Edits) == 0:
		return m, nil
	case len(r.Conflicts) > 0:
		return s.moved(m, r.Conflicts)
	case len(r.Set) == 0:
		return nil, &tools.Refusal{Result: m.already(tools.Unchanged(s.now), m.author, v.Since)}
	}
	return m, nil
}

// Plan is the plan of a call that edits one file.
func (m *Match) Plan() *tools.Plan {
	return &tools.Plan{
		Title: "Edit " + m.s.name, Danger: tools.Moderate, Semantic: "write",
		Locations: []tools.Location{{Path: m.Edit.Path, Line: m.Line}},
		Change:    &filetime.Change{Files: []filetime.FileEdit{m.Edit}},
		Done:      m.done,
	}
}

// first is the first place of the first part.
func (m *Match) first() text.Range { return m.at[0][0] }

// meets gives the changes of others within the places of matches that were not exact: there the
// likeness proves nothing.
func (m *Match) meets() []text.Conflict {
	var out []text.Conflict
	v := &m.Edit
	after := v.Edits.Apply(v.Base)
	for k, found := range m.found {
		if found.Tier <= text.TierLineEnds {
			continue
		}
		for _, r := range m.at[k] {
			beside := 0
			if found.Tier == text.TierEnds { // the lines beside it are not those that were quoted, and so may be new
				beside = 1
			}
			if !v.Since.Meets(r.Start-beside, r.End+beside) {
				continue
			}
			out = append(out, text.Conflict{
				Start: r.Start, End: r.End, Base: v.Base.Slice(r.Start, r.End),
				Ours: after.Slice(v.Edits.MapPos(r.Start, false), v.Edits.MapPos(r.End, true)),
			})
		}
	}
	return out
}

// moved takes the edit of texts that others have changed where they were, if they moved them as
// they were: each stands elsewhere now, or where it was, exactly and once.
func (s *Search) moved(m *Match, found []text.Conflict) (*Match, error) {
	v := m.Edit
	now := v.Since.Apply(v.Base)
	again, _, err := s.try(filetime.View{Text: now, Rev: v.Rev})
	same, since := err == nil && !again.Fuzzy(), v.Since.Mapping()
	for k := 0; same && k < len(s.Parts); k++ {
		was, is := m.at[k][0], again.at[k][0]
		stays := len(s.Parts) > 1 && carried(was, since) == is && v.Base.Slice(was.Start, was.End) == now.Slice(is.Start, is.End)
		same = !s.Parts[k].All && (stays || text.Moved(v.Base, was, v.Since, now, is))
	}
	if same {
		again.Line = now.Line(again.first().Start) + 1
		return again, nil
	}
	return nil, filetime.Collision(v, v.Since, now, found, m.author)
}

// Value is what a program gets of an edit that landed.
type Value struct {
	Path         string `json:"path"`
	Line         int    `json:"line"`
	Replacements int    `json:"replacements"`
	Additions    int    `json:"additions"`
	Deletions    int    `json:"deletions"`
	// Already says that somebody else had made the same change.
	Already bool `json:"already,omitzero"`
}

// already answers an edit that by has made; since leads from the text that it was made for to
// l.After.
func (m *Match) already(l filetime.LandedFile, by filetime.Author, since text.Set) tools.Result {
	var at []text.Range
	after := since.Mapping()
	for _, r := range slices.Concat(m.at...) {
		start := after.Pos(r.Start, false)
		at = append(at, text.Range{Start: start, End: max(start, after.Pos(r.End, true))})
	}
	r := tools.Already(m.s.Env, l, by, at...)
	r.Value = Value{Path: l.Path, Line: l.After.Line(at[0].Start) + 1, Replacements: m.Count, Already: true}
	return r
}

// Made records that the edit has landed, so that the same call is known if it comes again.
func (m *Match) Made(l filetime.LandedFile) {
	for k, p := range m.s.Parts {
		m.s.Env.FileTime.RecordEdit(p.key(), l, m.at[k])
	}
}

// done words what landed.
func (m *Match) done(landed filetime.Landed) tools.Result {
	l := landed.Files[0]
	if l.Already {
		return m.already(l, tools.MadeBy(l), l.Rebased)
	}
	m.Made(l)
	d := tools.Diff(m.s.Env, l)
	var lines []string
	lineIn := m.lineIn(l)
	for _, at := range m.at {
		lines = append(lines, fmt.Sprint(lineIn(at[0].Start)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "File edited: %s\n", m.s.name)
	if len(lines) == 1 {
		fmt.Fprintf(&b, "Replacement location: line %s\n", lines[0])
	} else {
		fmt.Fprintf(&b, "Replacement locations: lines %s\n", strings.Join(lines, ", "))
	}
	if !l.Applied {
		b.WriteString(NotApplied)
	}
	if slices.ContainsFunc(m.s.Parts, func(p Part) bool { return p.All }) {
		fmt.Fprintf(&b, "Replacements: %d\n", m.Count)
	}
	fmt.Fprintf(&b, "Changes: %d +/ %d -\n", d.Additions, d.Deletions)
	r := tools.Result{Success: true, Diffs: []show.File{d}}
	if m.Tier > text.TierExact {
		r.Meta.Tier = m.TierName
	}
	b.WriteString(m.Likeness())
	b.WriteString(tools.Told(m.s.Env, l, !m.Fuzzy()))
	r.Data = strings.TrimSuffix(b.String(), "\n")
	r.Summary = fmt.Sprintf("Modified: %s (+%d -%d)", filepath.Base(l.Path), d.Additions, d.Deletions)
	line, _ := strconv.Atoi(lines[0])
	r.Value = Value{Path: l.Path, Line: line, Replacements: m.Count, Additions: d.Additions, Deletions: d.Deletions}
	return r
}

// Likeness says of each part that was no exact match what it differs in, a line each.
func (m *Match) Likeness() string {
	var b strings.Builder
	for k, found := range m.found {
		if found.Tier > text.TierLineEnds {
			fmt.Fprintf(&b, "Not an exact match: %s fits but for %s\n", m.s.Parts[k].Label, found.TierName)
		}
	}
	return b.String()
}

// lineIn gives the line of the landed text, from 1, that a place which begins at an offset has come
// to.
func (m *Match) lineIn(l filetime.LandedFile) func(start int) int {
	ends := map[int]bool{} // what is put in there belongs to the place before
	for _, at := range m.at {
		for _, r := range at {
			if r.Start < r.End {
				ends[r.End] = true
			}
		}
	}
	rebased, landed := l.Rebased.Mapping(), l.Set.Mapping()
	return func(start int) int { return l.After.Line(landed.Pos(rebased.Pos(start, true), ends[start])) + 1 }
}

// NotApplied is what a model is told of a change that was only worked out.
const NotApplied = "Not applied here: the host that asked applies it.\n"

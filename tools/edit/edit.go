// Package edit is the tool edit_file: it replaces a text that the model quotes, wherever that text stands by now.
package edit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/tools"
)

//go:embed edit.md
var description string

// Args are the arguments of edit_file.
type Args struct {
	Path       string `json:"path" desc:"The file to edit." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
	OldText    string `json:"old_text" desc:"The text to replace." alias:"old_string,old_str" nocoerce:"true"`
	NewText    string `json:"new_text" desc:"What replaces it; empty deletes." alias:"new_string,new_str" nocoerce:"true"`
	ReplaceAll bool   `json:"replace_all,omitempty" desc:"Replace it at every place." default:"false"`
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

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[Args]{
		Spec: tools.Spec{
			Name: "edit_file", Aliases: []string{"edit", "str_replace"},
			Kind: tools.Edit, Category: "files", Description: description,
			Danger: tools.Moderate, Class: tools.ClassWrite, Together: tools.OtherFiles, Source: "builtin",
		},
		Title: func(in Args) string { return "Edit " + in.Path },
		Needs: func(env *tools.Env, in Args) ([]tools.Need, error) { return tools.ToWrite(env, tools.Edits, in.Path) },
		Plan:  plan,
	})
}

func plan(ctx context.Context, env *tools.Env, in Args) (*tools.Plan, error) {
	if in.OldText == in.NewText {
		return nil, noChange()
	}
	now, err := env.Read(ctx, env.Place())
	if err != nil {
		return nil, err
	}
	path := env.Place().Path()
	s := search{env: env, in: in, path: path, now: now, name: env.Name(path)}
	views, err := tools.Seen(env, now, false)
	switch {
	case tools.Unread(env, err):
		return nil, s.unread()
	case err != nil:
		return nil, err
	}
	if err := s.run(views); err != nil {
		return nil, err
	}
	return &tools.Plan{
		Title: "Edit " + s.name, Danger: tools.Moderate, Semantic: "write",
		Locations: []tools.Location{{Path: path, Line: s.line}},
		Change:    &filetime.Change{Files: []filetime.FileEdit{s.edit}},
		Done:      s.done,
	}, nil
}

func noChange() error {
	return tools.Refuse(tools.NoChange, "same",
		"old_text and new_text are the same: nothing was changed. Give the new text in new_text.")
}

// search finds the place of an edit.
type search struct {
	env        *tools.Env
	in         Args
	path, name string
	now        filetime.Snapshot

	found text.Found
	edit  filetime.FileEdit
	line  int          // of the first place, as things stand
	own   []text.Range // what the very same edit, made before, put into the present text
}

// run looks in every text that the model was shown, the newest first. The first that holds old_text word for word decides,
// else the first that holds something like it.
func (s *search) run(views []filetime.View) error {
	s.own = s.env.FileTime.Standing(s.key(), s.now)
	var like *filetime.View
	var likeness text.Found
	for _, v := range views {
		found, err := text.Locate(v.Text, s.in.OldText, s.in.NewText, s.in.ReplaceAll)
		var missing *text.NotFoundError
		var several *text.AmbiguousError
		switch {
		case errors.As(err, &missing):
			continue
		case errors.As(err, &several):
			if all, err := text.Locate(v.Text, s.in.OldText, s.in.NewText, true); err == nil && s.others(v, &all) == 0 {
				return s.repeated()
			}
			return s.ambiguous(v, several.Lines)
		case err != nil:
			return s.wrong(err)
		case s.others(v, &found) == 0:
			return s.repeated()
		}
		if found.Tier > text.TierLineEnds {
			if like == nil {
				like, likeness = &v, found
			}
			continue
		}
		return s.carry(v, found)
	}
	switch {
	case like != nil:
		return s.carry(*like, likeness)
	case len(s.own) > 0:
		return s.repeated()
	}
	return s.missing(views)
}

// key is what the call asks for.
func (s *search) key() string {
	return fmt.Sprintf("%q %q %t", s.in.OldText, s.in.NewText, s.in.ReplaceAll)
}

// others leaves those places in what was found that do not lie in what the very same edit put there before, and counts them.
func (s *search) others(v filetime.View, found *text.Found) int {
	mine := func(m text.Range) bool {
		start, end := v.Since.MapPos(m.Start, true), v.Since.MapPos(m.End, false)
		return slices.ContainsFunc(s.own, func(o text.Range) bool { return o.Start <= start && end <= o.End })
	}
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
		for _, e := range found.Edits {
			if m.Start <= e.Start && e.End <= m.End {
				left.Edits = append(left.Edits, e)
			}
		}
	}
	*found = left
	return left.Count
}

// repeated refuses an edit that the session has made already.
func (s *search) repeated() error {
	e := tools.Places(s.env)
	for _, r := range s.own {
		e.Lines(s.now.Text, s.now.Text.Line(r.Start)+1, s.now.Text.Line(max(r.Start, r.End-1))+1, r.Start)
	}
	e.Seen(s.env.FileTime, s.now)
	return tools.Refuse(tools.TextNotFound, "own_edit", "Text not found: you have made this very edit already, and it stands in "+
		"%s: your own edit put it there. Nothing was changed.\n%sTo change it further, quote old_text as it is there now; to do "+
		"the same at another place, quote more lines of that place.", s.name, e)
}

// carry brings what was found to the present, so that a conflict shows before anybody is asked.
func (s *search) carry(v filetime.View, found text.Found) error {
	s.found = found
	s.edit = filetime.FileEdit{Path: s.path, Base: v.Text, Edits: found.Edits, Since: v.Since, Rev: v.Rev}
	s.line = v.Since.Apply(v.Text).Line(v.Since.MapPos(found.Matches[0].Start, true)) + 1
	r := text.Rebase(v.Text, found.Edits, v.Since)
	if found.Tier > text.TierLineEnds {
		r.Conflicts = append(r.Conflicts, meets(v, found)...)
	}
	switch {
	case len(r.Conflicts) > 0:
		return s.moved(v, r.Conflicts)
	case len(r.Set) == 0:
		return &tools.Refusal{Result: s.already(tools.Unchanged(s.now), v.Author, v.Since)}
	}
	return nil
}

// meets gives the changes of others within the places of a match that was not exact: there the likeness proves nothing.
func meets(v filetime.View, found text.Found) []text.Conflict {
	var out []text.Conflict
	after := found.Edits.Apply(v.Text)
	for _, m := range found.Matches {
		if !slices.ContainsFunc(v.Since, func(e text.Edit) bool { return e.Start < m.End && m.Start < e.End }) {
			continue
		}
		out = append(out, text.Conflict{
			Start: m.Start, End: m.End, Base: v.Text.Slice(m.Start, m.End),
			Ours: after.Slice(found.Edits.MapPos(m.Start, false), found.Edits.MapPos(m.End, true)),
		})
	}
	return out
}

// moved takes the edit of a text that others have changed where it was, if they moved it as it was: it stands elsewhere now,
// exactly and once.
func (s *search) moved(v filetime.View, found []text.Conflict) error {
	now := v.Since.Apply(v.Text)
	if again, err := text.Locate(now, s.in.OldText, s.in.NewText, false); err == nil &&
		!s.in.ReplaceAll && again.Tier <= text.TierLineEnds &&
		text.Moved(v.Text, s.found.Matches[0], v.Since, now, again.Matches[0]) {
		s.found = again
		s.edit = filetime.FileEdit{Path: s.path, Base: now, Edits: again.Edits, Rev: v.Rev}
		s.line = again.Lines[0]
		return nil
	}
	return filetime.Collision(s.edit, v.Since, now, found, v.Author)
}

// ambiguous shows the places, which count as seen.
func (s *search) ambiguous(v filetime.View, at []int) error {
	now := v.Since.Apply(v.Text)
	var names []string
	e, shows := tools.Places(s.env), tools.Shows(s.env)
	for i, l := range at {
		start := v.Since.MapPos(v.Text.LineStart(l-1), true)
		if l = now.Line(start) + 1; i == 20 {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprint(l))
		if i < maxShown && shows {
			e.Lines(now, l-beside, l+s.size()+beside, start)
		}
	}
	if shows && now.Equal(s.now.Text) {
		e.Seen(s.env.FileTime, s.now)
	}
	return tools.Refuse(tools.TextMultipleMatches, "ambiguous",
		"old_text stands at %d places in %s: lines %s. Add lines before or after it until it fits one place only, "+
			"or set replace_all to change all of them.\n%s", len(at), s.name, strings.Join(names, ", "),
		strings.TrimSuffix(e.String(), "\n"))
}

const (
	// maxShown is how many of several places are shown, beside how many lines before and after each.
	maxShown, beside = 10, 2
	// maxQuoted is how many lines of a place are shown that old_text may have meant.
	maxQuoted = 40
)

// size is how many lines after its first old_text has.
func (s *search) size() int {
	return min(strings.Count(strings.TrimRight(s.in.OldText, "\n"), "\n"), maxQuoted)
}

// unread refuses to edit a file of which the model has seen nothing, and shows the place, so that the same edit can be sent
// again.
func (s *search) unread() error {
	found, err := text.Locate(s.now.Text, s.in.OldText, s.in.NewText, s.in.ReplaceAll)
	var several *text.AmbiguousError
	var missing *text.NotFoundError
	var refusal *tools.Refusal
	what := s.name + " has not been read in this session, so nothing was changed. "
	switch {
	case err == nil:
		e := tools.Places(s.env)
		for _, m := range found.Matches[:min(maxShown, len(found.Matches))] {
			line := s.now.Text.Line(m.Start) + 1
			e.Lines(s.now.Text, line-beside, line+s.size()+beside, m.Start)
		}
		e.Seen(s.env.FileTime, s.now)
		return tools.Refuse(filetime.NotRead, "not_read", "%sold_text stands here, which counts as read now:\n%s"+
			"If this is what you mean, send the same edit again.", what, e)
	case errors.As(err, &several):
		err = s.ambiguous(filetime.View{Text: s.now.Text, Rev: s.now.Rev}, several.Lines)
	case errors.As(err, &missing):
		err = s.missing(nil)
	default:
		return s.wrong(err)
	}
	if errors.As(err, &refusal) {
		refusal.Result.Error, refusal.Result.Reason, refusal.Result.Data = filetime.NotRead, "not_read", what+refusal.Result.Data
	}
	return err
}

// wrong words what Locate says of the arguments alone.
func (s *search) wrong(err error) error {
	switch {
	case errors.Is(err, text.ErrEmptyOld):
		return tools.Refuse(tools.InvalidArgs, "empty",
			"old_text is empty and stands nowhere. Quote the text to replace; "+
				"to make a file or replace all of one use write_file.")
	case errors.Is(err, text.ErrNoChange):
		return noChange()
	}
	return err
}

// missing says what is there instead. The places that it shows count as seen.
func (s *search) missing(views []filetime.View) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Text not found: old_text is not in %s", s.name)
	if len(views) > 0 {
		b.WriteString(" as you have seen it")
	}
	b.WriteString(".\n")
	if len(views) > 0 && len(views[0].Since) > 0 {
		b.WriteString("Somebody else changed the file since you read it.\n")
	}
	var at []int
	var none *text.NotFoundError
	found, err := text.Locate(s.now.Text, s.in.OldText, s.in.NewText, true)
	line, how := differs(s.now.Text, s.in.OldText)
	switch {
	case !tools.Shows(s.env):
		b.WriteString("Read the file with read_file.")
		return tools.Refuse(tools.TextNotFound, "not_found", "%s", b.String())
	case err == nil:
		at = found.Lines[:min(3, len(found.Lines))]
		b.WriteString("It stands there by now:\n")
	case line > 0:
		at = []int{line}
		fmt.Fprintf(&b, "It differs from the text at line %d in this: %s.\n", line, strings.Join(how, "; "))
	case errors.As(err, &none) && len(none.Candidates) > 0:
		for _, c := range none.Candidates {
			at = append(at, c.Line)
		}
		b.WriteString("The nearest there is:\n")
	default:
		b.WriteString("Nothing in it is like old_text. Read the file with read_file.")
		return tools.Refuse(tools.TextNotFound, "not_found", "%s", b.String())
	}
	slices.Sort(at)
	e := tools.Places(s.env)
	for _, line := range at {
		e.Lines(s.now.Text, line, line+s.size())
	}
	e.Seen(s.env.FileTime, s.now)
	b.WriteString(e.String())
	b.WriteString("Copy old_text from there, with its indentation and without the line numbers, or read more with read_file.")
	return tools.Refuse(tools.TextNotFound, "not_found", "%s", b.String())
}

// already answers an edit that by has made; since leads from the text that it was made for to l.After.
func (s *search) already(l filetime.LandedFile, by filetime.Author, since text.Set) tools.Result {
	var at []text.Range
	for _, m := range s.found.Matches {
		start := since.MapPos(m.Start, false)
		at = append(at, text.Range{Start: start, End: max(start, since.MapPos(m.End, true))})
	}
	r := tools.Already(s.env, l, by, at...)
	r.Value = Value{Path: l.Path, Line: l.After.Line(at[0].Start) + 1, Replacements: s.found.Count, Already: true}
	return r
}

// done words what landed.
func (s *search) done(landed filetime.Landed) tools.Result {
	l := landed.Files[0]
	if l.Already {
		return s.already(l, tools.MadeBy(l), l.Rebased)
	}
	s.env.FileTime.Made(s.key(), l, s.found.Matches)
	d := tools.Diff(s.env, l)
	line := l.After.Line(l.Set.MapPos(l.Rebased.MapPos(s.found.Matches[0].Start, true), false)) + 1
	var b strings.Builder
	fmt.Fprintf(&b, "File edited: %s\nReplacement location: line %d\n", s.name, line)
	if !l.Applied {
		b.WriteString("Not applied here: the host that asked applies it.\n")
	}
	if s.in.ReplaceAll {
		fmt.Fprintf(&b, "Replacements: %d\n", s.found.Count)
	}
	fmt.Fprintf(&b, "Changes: %d +/ %d -\n", d.Additions, d.Deletions)
	r := tools.Result{Success: true, Diffs: []show.File{d}}
	if s.found.Tier > text.TierExact {
		r.Meta.Tier = s.found.TierName
	}
	if s.found.Tier > text.TierLineEnds {
		fmt.Fprintf(&b, "Not an exact match: old_text fits but for %s\n", s.found.TierName)
	}
	b.WriteString(tools.Told(s.env, l))
	r.Data = strings.TrimSuffix(b.String(), "\n")
	r.Summary = fmt.Sprintf("Modified: %s (+%d -%d)", filepath.Base(s.path), d.Additions, d.Deletions)
	r.Value = Value{Path: l.Path, Line: line, Replacements: s.found.Count, Additions: d.Additions, Deletions: d.Deletions}
	return r
}

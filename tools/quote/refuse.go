package quote

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/tools"
)

const (
	// maxShown is how many of several places are shown, beside how many lines before and after
	// each.
	maxShown, beside = 10, 2
	// maxQuoted is how many lines of a place are shown that a quotation may have meant.
	maxQuoted = 40
	// maxShort is how many bytes a file has at most that is shown whole where nothing in it is what
	// is looked for.
	maxShort = 4 << 10
)

// repeated refuses a part that the session has made already.
func (s *Search) repeated(k int) error {
	e := tools.Places(s.Env)
	for _, r := range s.own[k] {
		e.Lines(s.now.Text, s.now.Text.Line(r.Start)+1, s.now.Text.Line(max(r.Start, r.End-1))+1, r.Start)
	}
	e.Seen(s.Env.FileTime, s.now)
	p := s.Parts[k]
	further := fmt.Sprintf("quote %s as it is there now; to do the same at another place, quote more lines of that place", p.Label)
	if p.Block != nil {
		further = "take the lines as they are there now; to do the same at another place, add more lines of that place"
	}
	return tools.Refuse(tools.TextNotFound, "own_edit", "Text not found: you have already made this edit, and it is in "+
		"%s: your own edit put it there. Nothing was changed.\n%sTo change it further, %s.", s.name, e, further)
}

// several refuses a part that stands at several places of the text that the parts in m leave,
// unless all of them are the session's own.
func (s *Search) several(k int, m *Match, found *text.AmbiguousError) error {
	work := m.Edit.Edits.Apply(m.Edit.Base)
	if all, err := s.Parts[k].everywhere(work); err == nil && len(all.Matches) > 0 && s.others(k, m, &all) == 0 {
		return s.repeated(k)
	}
	return s.ambiguous(k, m, found)
}

// ambiguous shows the places, which count as seen.
func (s *Search) ambiguous(k int, m *Match, found *text.AmbiguousError) error {
	p, v, back := s.Parts[k], &m.Edit, m.back()
	work, now := v.Edits.Apply(v.Base), v.Since.Apply(v.Base)
	var names []string
	e, shows := tools.Places(s.Env), tools.Shows(s.Env, s.Place)
	for i, l := range found.Lines {
		start := v.Since.MapPos(back.MapPos(work.LineStart(l-1), true), true)
		if l = now.Line(start) + 1; i == 20 {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprint(l))
		if i < maxShown && shows {
			e.Lines(now, l-beside, l+p.size()+beside, start)
		}
	}
	if shows && now.Equal(s.now.Text) {
		e.Seen(s.Env.FileTime, s.now)
	}
	what := "Add lines before or after it until it fits one place only, or set replace_all to change all of them."
	if p.Block != nil {
		what = "Add unchanged lines before or after the change until it fits one place only, or an @@ line with the function or class around it."
	}
	return tools.Refuse(tools.TextMultipleMatches, "ambiguous", "%s was found at %d places in %s: lines %s. %s\n%s",
		p.Label, found.Count, s.name, strings.Join(names, ", "), what, strings.TrimSuffix(e.String(), "\n"))
}

// unread refuses to edit a file of which the model has seen nothing, and shows the places, so that
// the same call can be sent again.
func (s *Search) unread() error {
	s.own = make([][]text.Range, len(s.Parts))
	m, k, err := s.try(filetime.View{Text: s.now.Text, Rev: s.now.Rev})
	var several *text.AmbiguousError
	var missing *text.NotFoundError
	var context *text.ContextError
	what := s.name + " has not been read in this session, so nothing was changed. "
	switch {
	case err == nil:
		e := tools.Places(s.Env)
		label := s.Parts[0].Label
		if len(s.Parts) > 1 {
			label = "What you quote"
		}
		for k, at := range m.at {
			for _, r := range at[:min(maxShown, len(at))] {
				line := s.now.Text.Line(r.Start) + 1
				e.Lines(s.now.Text, line-beside, line+s.Parts[k].size()+beside, r.Start)
			}
		}
		e.Seen(s.Env.FileTime, s.now)
		again := "edit"
		if s.Parts[0].Block != nil {
			again = "patch"
		}
		return tools.Refuse(filetime.NotRead, "not_read", "%s%s is here; these lines now count as read:\n%s"+
			"If this is the right place, send the same %s again.", what, label, e, again)
	case errors.As(err, &several):
		err = s.ambiguous(k, m, several)
	case errors.As(err, &missing):
		err = s.missing(k, nil, nil)
	case errors.As(err, &context):
		err = s.missing(k, nil, context)
	default:
		return &PartError{k, s.wrong(k, err)}
	}
	if refusal, ok := errors.AsType[*tools.Refusal](err); ok {
		refusal.Result.Error, refusal.Result.Reason, refusal.Result.Data = filetime.NotRead, "not_read", what+refusal.Result.Data
	}
	return &PartError{k, err}
}

// wrong words what is wrong with part k whatever the file says.
func (s *Search) wrong(k int, err error) error {
	label := s.Parts[k].Label
	switch {
	case errors.Is(err, errRepeated):
		return s.repeated(k)
	case errors.Is(err, text.ErrEmptyOld):
		return tools.Refuse(tools.InvalidArgs, "empty",
			"%s is empty. Quote the text to replace; to create a file or replace a whole one use write_file.", label)
	case errors.Is(err, text.ErrNoChange):
		return NoChange(label)
	}
	return err
}

// NoChange refuses a quotation that is replaced by itself.
func NoChange(label string) error {
	new := strings.Replace(label, "old_text", "new_text", 1)
	return tools.Refuse(tools.NoChange, "same", "%s and %s are the same: nothing was changed. Give the new text in %s.", label, new, new)
}

// missing says what is there instead of part k, or of the line that it is to stand below. The
// places that it shows count as seen.
func (s *Search) missing(k int, views []filetime.View, context *text.ContextError) error {
	p := s.Parts[k]
	if context != nil { // what is looked for is that line
		p = Part{Label: fmt.Sprintf("the line %q of %s", context.Line, p.Label), Old: context.Line}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Text not found: %s is not in %s", p.Label, s.name)
	if len(views) > 0 {
		b.WriteString(" as you have seen it")
	}
	b.WriteString(".\n")
	if len(views) > 0 && len(views[0].Since) > 0 {
		b.WriteString("Somebody else changed the file since you read it.\n")
	}
	refuse := func(why string) error {
		b.WriteString(why)
		return tools.Refuse(tools.TextNotFound, "not_found", "%s", b.String())
	}
	var at []int
	var none *text.NotFoundError
	found, err := p.everywhere(s.now.Text)
	inner, elsewhere := p.unbound(s.now.Text)
	earlier := false
	line, how := differs(s.now.Text, p.Label, p.old())
	switch {
	case !tools.Shows(s.Env, s.Place):
		return refuse("Read the file with read_file.")
	case err == nil:
		at = found.Lines[:min(3, len(found.Lines))]
		if _, err := p.everywhere(s.seen(views)); k > 0 && err == nil {
			earlier = true
			b.WriteString("An earlier edit of this call changes it. Before that it stands here:\n")
		} else {
			b.WriteString("It stands there by now:\n")
		}
	case inner != "":
		at = elsewhere.Lines[:min(3, len(elsewhere.Lines))]
		fmt.Fprintf(&b, "%s, but it stands here:\n", inner)
	case line > 0:
		at = []int{line}
		fmt.Fprintf(&b, "It differs from the text at line %d in this: %s.\n", line, strings.Join(how, "; "))
	case errors.As(err, &none) && len(none.Candidates) > 0:
		for _, c := range none.Candidates {
			at = append(at, c.Line)
		}
		b.WriteString("The nearest there is:\n")
	default:
		b.WriteString("Nothing in the file is similar to " + p.lines() + ". ")
		if total := tools.Lines(s.now.Text); len(views) == 0 && total > 0 && total <= maxQuoted && s.now.Text.Len() <= maxShort {
			e := tools.Places(s.Env)
			e.Lines(s.now.Text, 1, total)
			e.Seen(s.Env.FileTime, s.now)
			return refuse("These are all of its lines:\n" + e.String() + "Quote what is to be changed from there.")
		}
		return refuse("Read the file with read_file.")
	}
	slices.Sort(at)
	e := tools.Places(s.Env)
	for _, line := range at {
		e.Lines(s.now.Text, line, line+p.size())
	}
	e.Seen(s.Env.FileTime, s.now)
	b.WriteString(e.String())
	if strings.Contains(strings.Join(how, ""), "U+") && line > 0 {
		return refuse("Such a sign is lost when the line is copied: write it as \\u and its four digits in " + p.lines() + ", or quote a part without it.")
	}
	if earlier {
		return refuse("Quote it as the earlier edit leaves it.")
	}
	return refuse("Copy " + p.lines() + " from there, with its indentation and without the line numbers, or read more with read_file.")
}

// seen is the newest text that the model was shown, the present one where it was shown none.
func (s *Search) seen(views []filetime.View) text.Text {
	if len(views) == 0 {
		return s.now.Text
	}
	return views[0].Text
}

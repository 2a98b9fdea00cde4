package tools

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
)

// Diff shows what landed in one file. The unified diff names the path as people know it, Path is absolute.
func Diff(env *Env, l filetime.LandedFile) show.File {
	opts := show.Options{MaxBytes: env.Limits.MaxDiffBytes, Created: l.Created, Deleted: l.Deleted}
	if l.Origin != "" {
		opts.OldPath = env.Paths.Rel(l.Origin)
	}
	d := show.Diff(env.Paths.Rel(l.Path), l.Before, l.After, opts)
	d.Path = l.Path
	return d
}

// Told words what landed in one file, for the model: the changes of others that it was carried over, and the regions
// that it changed as they are now. What is told counts as seen. If the model has sent what was put in, character for character, many
// lines of it are not repeated: the first and the last say where it is.
func Told(env *Env, l filetime.LandedFile, sent bool) string {
	var b strings.Builder
	if l.Over > 0 {
		fmt.Fprintf(&b, "rebased over %s%s%s\n", Count(l.Over, "change"), authors(l.By), ranges(othersIn(l)))
	}
	for _, t := range l.Ties {
		theirs, mine := touched(l.After, t.Theirs.Start, t.Theirs.End), touched(l.After, t.Ours.Start, t.Ours.End)
		fmt.Fprintf(&b, "inserted at the same point as text%s: theirs: %s, yours: %s; the order of the two is a guess, check it\n",
			authors(l.By), numbers([]lines{theirs}), numbers([]lines{mine}))
	}
	if l.SameLine {
		b.WriteString("somebody else changed another part of the same line, or put text right beside what you replaced: both changes are in it\n")
	}
	b.WriteString(regions(env, l, sent && l.Over == 0))
	return b.String()
}

// authors words who made changes, "" where that is not known of all of them.
func authors(by filetime.Authors) string {
	for author, words := range map[filetime.Author]string{
		filetime.User: " by the user", filetime.Disk: " on disk", filetime.Command: " by a command", filetime.Agent: " by another agent",
	} {
		if by.Only(author) {
			return words
		}
	}
	return ""
}

// Changed says, in a line for the model, what others have changed in a file since the model was last sent it; "" is nothing.
func Changed(env *Env, s filetime.Snapshot) string {
	since, by := env.FileTime.Since(s)
	places := numbers(linesOf(since, s.Text))
	if places == "" {
		return ""
	}
	who := map[filetime.Author]string{filetime.Disk: "on disk", filetime.Agent: "by another agent", filetime.Command: "by a command"}[by]
	return fmt.Sprintf("(changed since you read it (%s), %s)", cmp.Or(who, "by the user"), places)
}

// Unchanged is the landing of an edit in a file that says what it was to say.
func Unchanged(now filetime.Snapshot) filetime.LandedFile {
	l := filetime.LandedFile{
		Path: now.Path, Before: now.Text, After: now.Text, Rev: now.Rev, Applied: true, Already: true, Source: "disk",
	}
	if now.Open {
		l.Source, l.BeforeVersion = "buffer", &now.Version
	}
	return l
}

// Already answers an edit that by has made already; at are its places in l.After, which are shown and count as seen.
func Already(env *Env, l filetime.LandedFile, by filetime.Author, at ...text.Range) Result {
	who, you := "the user", "you made the same change"
	switch by {
	case filetime.Disk:
		who, you = "something outside the editor", "the same change was made on disk"
	case filetime.Command:
		who, you = "a command", "a command made the same change"
	case filetime.Agent:
		who, you = "another agent", "another agent made the same change"
	}
	e := Excerpt{Room: maxPlaces, Width: maxContext, Most: maxRegion}
	for i := 0; i < len(at) && !e.Full(); i++ {
		t := touched(l.After, at[i].Start, at[i].End)
		e.Lines(l.After, t.first-around, t.last+around, at[i].Start)
	}
	e.Seen(env.FileTime, filetime.Snapshot{Path: l.Path, Text: l.After, Rev: l.Rev, Exists: true})
	name := env.Name(l.Path)
	return Result{
		Success: true, Summary: fmt.Sprintf("Already so: %s (%s)", filepath.Base(name), you),
		Data: strings.TrimSuffix(fmt.Sprintf(
			"%s says this already: %s made the same change since you read it. Nothing was left to do.\n%s", name, who, &e), "\n"),
		Diffs: []show.File{}, Landed: &filetime.Landed{Files: []filetime.LandedFile{l}},
		Meta: Meta{Source: l.Source, Version: l.BeforeVersion},
	}
}

// MadeBy is who made an edit that had been made already when it came to land.
func MadeBy(l filetime.LandedFile) filetime.Author {
	if l.Source == "disk" {
		return filetime.Disk
	}
	return filetime.User
}

// Count writes a number of things: 1 line, 2 lines.
func Count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(what, "y"))
	case strings.HasSuffix(what, "ch"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Counter counts what a search finds, up to a number that is enough: behind that it is not known how many there are.
type Counter struct {
	Most  int
	n     int
	ended bool
}

// Add counts one more; it is false where that is one too many to be counted.
func (c *Counter) Add() bool {
	c.ended = c.n == c.Most
	if !c.ended {
		c.n++
	}
	return !c.ended
}

// N is how many were counted.
func (c *Counter) N() int { return c.n }

// Total is how many there are, nil where that is not known.
func (c *Counter) Total() *int {
	if c.ended {
		return nil
	}
	return &c.n
}

// Say words a count: "at least" where it is not known how many there are.
func (c *Counter) Say(count string) string {
	if c.ended {
		return "at least " + count
	}
	return count
}

// lines is a range of lines, 1-based and inclusive.
type lines struct{ first, last int }

// linesOf gives the lines of after that a set, which led to it, has written to.
func linesOf(set text.Set, after text.Text) []lines {
	var out []lines
	shift, of := 0, after.Liner()
	for _, e := range set {
		start, end := e.Start+shift, e.Start+shift+len(e.New)
		first := of.Line(start)
		out = append(out, lines{first + 1, of.Line(max(start, end-1)) + 1})
		shift += len(e.New) - (e.End - e.Start)
	}
	return out
}

func touched(t text.Text, start, end int) lines {
	first := t.Line(start) + 1
	last := t.Line(max(start, end-1)) + 1
	return lines{first, last}
}

// othersIn gives the lines of After that others changed since the text that the edit was made for.
func othersIn(l filetime.LandedFile) []lines {
	var out []lines
	shift, landed := 0, l.Set.Mapping()
	for _, e := range l.Rebased {
		start, end := landed.Pos(e.Start+shift, false), landed.Pos(e.Start+shift+len(e.New), false)
		for _, t := range l.Ties {
			if t.Ours.Start == start && t.Ours.End <= end { // the edit came to stand before it
				start = t.Ours.End
			}
		}
		out = append(out, touched(l.After, start, end))
		shift += len(e.New) - (e.End - e.Start)
	}
	return out
}

func meets(at []lines, r lines) bool {
	return slices.ContainsFunc(at, func(o lines) bool { return o.first <= r.last && r.first <= o.last })
}

// maxRanges is how many places are named at most.
const maxRanges = 5

func ranges(at []lines) string {
	if places := numbers(at); places != "" {
		return " (" + places + ")"
	}
	return ""
}

// numbers names lines, such as line 3, or lines 3, 7-9; "" is none.
func numbers(at []lines) string {
	at = joined(at, 1)
	if len(at) == 0 {
		return ""
	}
	if len(at) == 1 && at[0].first == at[0].last {
		return fmt.Sprintf("line %d", at[0].first)
	}
	var parts []string
	for _, r := range at[:min(maxRanges, len(at))] {
		if r.first == r.last {
			parts = append(parts, fmt.Sprint(r.first))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", r.first, r.last))
		}
	}
	if len(at) > maxRanges {
		parts = append(parts, "…")
	}
	return "lines " + strings.Join(parts, ", ")
}

// joined sorts ranges and joins those with fewer than gap lines between them.
func joined(at []lines, gap int) []lines {
	at = slices.Clone(at)
	slices.SortFunc(at, func(a, b lines) int { return a.first - b.first })
	var out []lines
	for _, r := range at {
		if n := len(out) - 1; n >= 0 && r.first-out[n].last <= gap {
			out[n].last = max(out[n].last, r.last)
			continue
		}
		out = append(out, r)
	}
	return out
}

const (
	// around is how many lines before and after a change are shown.
	around = 3
	// maxRegion is how many lines are shown in all.
	maxRegion = 80
	// maxRepeated is how many lines of what the model has sent are shown to it.
	maxRepeated = 4
)

// inside are the lines of t all of whose text is from start to end.
func inside(t text.Text, start, end int) lines {
	first, last := t.Line(start), t.Line(end)
	if t.LineStart(first) < start {
		first++
	}
	if end < t.LineEnd(last) || end == t.LineStart(last) {
		last--
	}
	return lines{first + 1, last + 1}
}

func regions(env *Env, l filetime.LandedFile, sent bool) string {
	at, others := linesOf(l.Set, l.After), othersIn(l)
	for _, t := range l.Ties {
		both := touched(l.After, min(t.Ours.Start, t.Theirs.Start), max(t.Ours.End, t.Theirs.End))
		at, others = append(at, both), append(others, both)
	}
	focus := make([]int, len(l.Set))
	var known []lines
	shift := 0
	for i, e := range l.Set {
		focus[i] = e.Start + shift
		shift += len(e.New) - (e.End - e.Start)
		if !sent || strings.Count(e.New, "\n") < maxRepeated {
			continue
		}
		if in := inside(l.After, focus[i], focus[i]+len(e.New)); in.last-in.first >= maxRepeated {
			known = append(known, lines{in.first + 1, in.last - 1})
		}
	}
	e := Excerpt{Room: maxPlaces, Width: maxContext, Most: maxRegion}
	met := false
	for _, r := range joined(at, 2*around+1) {
		if e.Full() {
			break
		}
		r = lines{r.first - around, r.last + around}
		met = met || meets(others, r)
		for len(known) > 0 && known[0].last <= r.last && !e.Full() {
			e.Lines(l.After, r.first, known[0].first-1, focus...)
			r.first, known = known[0].last+1, known[1:]
		}
		e.Lines(l.After, r.first, r.last, focus...)
	}
	// Without others' words in it, the region says what the texts that were seen say with the edit in them; one more
	// text to remember would only push out an older one.
	if l.Applied && met {
		e.Seen(env.FileTime, filetime.Snapshot{Path: l.Path, Text: l.After, Rev: l.Rev, Exists: true})
	}
	return e.String()
}

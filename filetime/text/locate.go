package text

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Found holds the matches of a quoted text, and the edits that replace it.
type Found struct {
	Edits    Set     // minimised, over the text searched
	Count    int     // matches
	Lines    []int   // first line of each match, from 1
	Matches  []Range // what was matched
	Tier     int     // how far the text was from the quotation, 0 for exact
	TierName string
}

// Range is a range of byte offsets.
type Range struct{ Start, End int }

// The tiers of [Found], in the order in which they are tried. A later one is used
// only where no earlier one matches.
const (
	TierExact    = 0
	TierLineEnds = 1 // other line ends or a BOM
	TierTrailing = 2 // other blanks at line ends
	TierIndent   = 3 // all lines indented by the same more or less
	TierGlyphs   = 4 // typographic quotes, dashes and spaces
	TierTrim     = 5 // each line indented in another way; only [LocateBlock]
	TierEscapes  = 6 // escaped once too often
	TierEnds     = 7 // blank lines before or after it that are not there
)

func tierName(tier int) string {
	switch tier {
	case TierExact:
		return "exact"
	case TierLineEnds:
		return "line ends"
	case TierTrailing:
		return "trailing blanks"
	case TierIndent:
		return "indentation"
	case TierGlyphs:
		return "typographic signs"
	case TierTrim:
		return "the indentation of each line"
	case TierEnds:
		return "blank lines at its start or end"
	}
	return "escapes"
}

// maxLines limits the lines that an [AmbiguousError] names.
const maxLines = 100

// ErrEmptyOld is the error of [Locate] for an empty text to look for.
var ErrEmptyOld = errors.New("the text to replace is empty")

// ErrNoChange is the error of [Locate] when the new text changes nothing.
var ErrNoChange = errors.New("the new text is the same as the text to replace")

// NotFoundError is the error for a text without a match.
type NotFoundError struct {
	Candidates []Candidate // the most similar places, best first; perhaps none
}

// Candidate is a place that resembles the text looked for.
type Candidate struct {
	Line  int // from 1
	Text  string
	Score float64 // 0 to 1
}

func (e *NotFoundError) Error() string {
	if len(e.Candidates) == 0 {
		return "text not found"
	}
	return fmt.Sprintf("text not found; the most similar place is line %d", e.Candidates[0].Line)
}

// AmbiguousError is the error for a text with several matches.
type AmbiguousError struct {
	Count int
	Lines []int // first line of each from 1, at most 100
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("text found at %d places, lines %s", e.Count, strings.Trim(fmt.Sprint(e.Lines), "[]"))
}

// Locate looks for old in t and returns the edits that put new in its place: at the
// only place where old stands, or at every place when all is set. The line ends and
// the BOM of t do not matter for the search and are kept in what is put in.
//
// The errors are [ErrEmptyOld], [ErrNoChange], [*NotFoundError] and [*AmbiguousError].
func Locate(t Text, old, new string, all bool) (Found, error) {
	l := locator{t: t, all: all, new: toLF(t, new)}
	l.old = strings.TrimPrefix(old, bom)
	if l.old == "" {
		return Found{}, ErrEmptyOld
	}
	if toLF(t, old) == l.new {
		return Found{}, ErrNoChange
	}
	return l.result(l.search(l.exact, l.trailing, l.indent, l.glyphs, l.escapes))
}

// LocateBare is Locate for a quotation that has blank lines at its start or its end which the text
// has not: it is looked for with as few of them less as may be, and the new text has those less,
// too. It is for texts that the quotation was made of: in a later one the line beside it may be
// another.
func LocateBare(t Text, old, new string, all bool) (Found, error) {
	l := locator{t: t, all: all, new: toLF(t, new)}
	l.old = project(strings.TrimPrefix(old, bom), 0).s
	return l.result(l.searchWithoutBlanks())
}

// result turns the outcome of a search into that of Locate.
func (l *locator) result(f Found, err error) (Found, error) {
	switch {
	case err != nil:
		return Found{}, err
	case f.Count == 0:
		return Found{}, &NotFoundError{Candidates: l.t.similar(l.old)}
	case len(f.Edits) == 0:
		return Found{}, ErrNoChange
	}
	f.TierName = tierName(f.Tier)
	return f, nil
}

// search tries the ways in turn: in the text, and in the text with a final line end added.
func (l *locator) search(ways ...func() (Found, error)) (f Found, err error) {
	if !l.all || !l.needsFinalEOL() { // else the last line counts, too
		for _, way := range ways {
			if f, err = way(); err != nil || f.Count > 0 {
				return f, err
			}
		}
	}
	if !l.needsFinalEOL() {
		return f, err
	}
	return l.searchWithFinalEOL(func() (Found, error) { return l.search(ways...) })
}

// needsFinalEOL reports whether the quotation ends with a line end and the text does not: as whole
// lines are quoted, its last one would never be found.
func (l *locator) needsFinalEOL() bool {
	n := l.t.Len()
	return n > 0 && endsLine(l.old) && !endsLine(l.t.Slice(n-1, n))
}

// searchWithFinalEOL runs a search in the text with a final line end added. The edits do not add
// it: the text ends without one, as before.
func (l *locator) searchWithFinalEOL(search func() (Found, error)) (Found, error) {
	t := l.t
	n, eol := t.Len(), cmp.Or(eolAt(t, t.Len()), l.old[unitStart(l.old, len(l.old)-1):])
	end := Set{{n, n, eol}}
	l.t = end.Apply(t)
	l.new = toLF(l.t, l.new)
	f, err := search()
	after := f.Edits.Apply(l.t)
	l.t = t
	if err != nil || f.Count == 0 {
		return f, err
	}
	switch last := f.Matches[len(f.Matches)-1]; {
	case last.End <= n:
		f.Edits = Compose(f.Edits, Set{{after.Len() - len(eol), after.Len(), ""}})
	case endsLine(l.new): // in a line end of its own, which may be shorter than eol
		put := after.Slice(f.Edits.MapPos(last.Start, false), after.Len())
		f.Edits = Compose(f.Edits, Set{{after.Len() - len(put) + unitStart(put, len(put)-1), after.Len(), ""}})
	}
	f.Edits = Trim(t, Compose(end, f.Edits))
	for i, m := range f.Matches {
		f.Matches[i] = Range{min(m.Start, n), min(m.End, n)}
	}
	f.Tier = max(f.Tier, TierLineEnds)
	return f, nil
}

// maxBlankLines limits the surplus blank lines before and after a quotation.
const maxBlankLines = 3

// searchWithoutBlanks searches for the quotation without its first and last blank lines.
func (l *locator) searchWithoutBlanks() (Found, error) {
	top, bottom := blankLines(l.old)
	newTop, newBottom := blankLines(l.new)
	if strings.TrimSpace(l.old) == "" {
		return Found{}, nil
	}
	for n := 1; n <= top+bottom; n++ {
		for up := max(0, n-bottom); up <= min(n, top); up++ {
			in := *l
			in.old = withoutLines(l.old, up, n-up)
			if in.new = withoutLines(l.new, min(up, newTop), min(n-up, newBottom)); in.old == in.new {
				continue
			}
			f, err := in.search(in.exact)
			if f.Tier = TierEnds; err != nil || f.Count > 0 {
				return f, err
			}
		}
	}
	return Found{}, nil
}

// blankLines counts the blank lines with which a text in lines begins and ends, of each no more
// than maxBlankLines. If there is nothing else they are those at its start.
func blankLines(s string) (top, bottom int) {
	lines := strings.SplitAfter(s, "\n")
	blank := func(line string) bool { return strings.HasSuffix(line, "\n") && strings.TrimSpace(line) == "" }
	for top < min(maxBlankLines, len(lines)) && blank(lines[top]) {
		top++
	}
	if lines = lines[top:]; len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for bottom < min(maxBlankLines, len(lines)) && blank(lines[len(lines)-1-bottom]) {
		bottom++
	}
	return top, bottom
}

// withoutLines returns a text without so many of its first and of its last lines.
func withoutLines(s string, top, bottom int) string {
	for ; top > 0; top-- {
		s = s[strings.IndexByte(s, '\n')+1:]
	}
	for ; bottom > 0; bottom-- {
		s = strings.TrimSuffix(s, "\n")
		s = s[:strings.LastIndexByte(s, '\n')+1]
	}
	return s
}

type locator struct {
	t        Text
	old, new string
	all      bool
}

// match is a place in a view where a quotation stands. Each has its own words, since
// those of an indented match are shifted.
type match struct {
	at       int
	old, new string
}

func (l *locator) exact() (Found, error) { return l.searchLiteral(l.old, l.new) }

// searchLiteral searches for old with any line ends. If a quotation with CRs matches byte for byte,
// only those matches count.
func (l *locator) searchLiteral(old, new string) (Found, error) {
	text := l.t.String()
	tv := project(text, leading)
	ov := project(old, 0)
	places := l.findAll(&tv, ov.s)
	var same []match
	for _, at := range places {
		if text[tv.src(at):tv.src(at+len(ov.s))] == old {
			same = append(same, match{at, ov.s, new})
		}
	}
	tier := TierExact
	if len(same) < len(places) && (len(same) == 0 || !strings.Contains(old, "\r")) {
		tier = TierLineEnds
		same = same[:0]
		for _, at := range places {
			same = append(same, match{at, ov.s, new})
		}
	}
	return l.editsFor(&tv, 0, same, tier)
}

func (l *locator) trailing() (Found, error) { return l.searchFolded(trailing, TierTrailing) }

func (l *locator) glyphs() (Found, error) { return l.searchFolded(trailing|glyphs, TierGlyphs) }

func (l *locator) searchFolded(how fold, tier int) (Found, error) {
	old := project(l.old, 0).s
	ov := project(old, how)
	if strings.TrimSpace(ov.s) == "" {
		return Found{}, nil
	}
	tv := project(l.t.String(), leading|how)
	var ms []match
	for _, at := range l.findAll(&tv, ov.s) {
		end := at + len(ov.s)
		if ov.srcAfter(len(ov.s)) > ov.src(len(ov.s)) && end < len(tv.s) && tv.s[end] != '\n' {
			continue // blanks at its end were left out, so the line has to end there
		}
		ms = append(ms, match{at, old, l.new})
	}
	return l.editsFor(&tv, how, ms, tier)
}

// escapes takes a quotation that was escaped once too often, if it then stands at
// exactly one place.
func (l *locator) escapes() (Found, error) {
	old := unescape(l.old)
	if strings.Contains(l.old, "\n") || old == l.old {
		return Found{}, nil
	}
	new := l.new
	if !strings.Contains(new, "\n") {
		new = toLF(l.t, unescape(new))
	}
	one := *l
	one.all = false
	f, err := one.searchLiteral(old, new)
	f.Tier = TierEscapes
	return f, err
}

// unescape undoes one level of JSON's escapes.
func unescape(s string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\"`, `"`, `\\`, `\`).Replace(s)
}

// findAll returns where s stands in the view, at most every one that counts: without
// all, overlapping ones too, as each of them makes the quotation ambiguous.
func (l *locator) findAll(v *view, s string) []int {
	var out []int
	cur := cursor{c: l.t.chunks()}
	for from := 0; ; {
		i := strings.Index(v.s[from:], s)
		if i < 0 || s == "" {
			return out
		}
		at := from + i
		if cur.splits(v.src(at)) || cur.splits(v.src(at+len(s))) {
			from = at + 1
			continue
		}
		out = append(out, at)
		from = at + 1
		if l.all {
			from = at + len(s)
		}
	}
}

// indent searches for the lines of the quotation with the same indentation added to, or removed
// from, each.
func (l *locator) indent() (Found, error) {
	old := project(project(l.old, 0).s, trailing).s
	quoted := strings.Split(old, "\n")
	open := quoted[len(quoted)-1] != "" // does not end with a line end
	if !open {
		quoted = quoted[:len(quoted)-1]
	}
	first, words := -1, 0
	for i, q := range quoted {
		if q == "" {
			continue
		}
		if words++; first < 0 {
			first = i
		}
	}
	if words < 2 {
		return Found{}, nil
	}
	key := strings.TrimLeft(quoted[first], " \t")
	tv := project(l.t.String(), leading|trailing)
	lines := strings.Split(tv.s, "\n")
	room := len(lines)
	if !open {
		room-- // the last one has no line end
	}
	var ms []match
	at := 0
	next := 0 // first line after the last match
	for i := 0; i+len(quoted) <= room; at, i = at+len(lines[i])+1, i+1 {
		line := lines[i+first]
		if len(line) < len(key) || i < next || strings.TrimLeft(line, " \t") != key {
			continue
		}
		s, ok := shiftOf(quoted[first], line)
		for k := 0; ok && k < len(quoted); k++ {
			ok = s.fits(quoted[k], lines[i+k])
		}
		if ok {
			ms = append(ms, match{at, s.apply(old), s.apply(l.new)})
			if l.all {
				next = i + len(quoted)
			}
		}
	}
	return l.editsFor(&tv, trailing, ms, TierIndent)
}

// indentation is a piece that each line has more or less.
type indentation struct {
	piece string
	less  bool
}

func shiftOf(from, to string) (indentation, bool) {
	if p, ok := strings.CutSuffix(to, from); ok && p != "" {
		return indentation{piece: p}, true
	}
	p, ok := strings.CutSuffix(from, to)
	return indentation{piece: p, less: true}, ok && p != ""
}

func (d indentation) fits(from, to string) bool {
	switch {
	case from == "" || to == "":
		return from == to
	case d.less:
		from, to = to, from
	}
	return len(to) == len(from)+len(d.piece) && to[:len(d.piece)] == d.piece && to[len(d.piece):] == from
}

// apply shifts all lines that are not blank.
func (d indentation) apply(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		switch {
		case strings.TrimSpace(line) == "":
		case d.less:
			line = line[prefixLen(line, d.piece):]
		default:
			b.WriteString(d.piece)
		}
		b.WriteString(line)
	}
	return b.String()
}

// editsFor returns the edits for matches in a view, or an AmbiguousError if only one match is
// allowed.
func (l *locator) editsFor(tv *view, how fold, ms []match, tier int) (Found, error) {
	f := Found{Count: len(ms), Tier: tier}
	ambiguous := len(ms) > 1 && !l.all
	line, last, whole := 1, 0, l.t.String()
	for _, m := range ms {
		if ambiguous && len(f.Lines) == maxLines {
			break
		}
		at := tv.src(m.at)
		line += strings.Count(whole[last:at], "\n")
		last = at
		f.Lines = append(f.Lines, line)
	}
	if ambiguous {
		return Found{}, &AmbiguousError{Count: len(ms), Lines: f.Lines}
	}
	var ov view
	var edits Set
	cur, lineEnds := cursor{c: l.t.chunks()}, l.t.ends()
	for i, m := range ms {
		if i == 0 || m.old != ms[i-1].old {
			ov, edits = project(m.old, how), diffStrings(m.old, m.new)
		}
		r := Range{tv.src(m.at), l.sourceEnd(tv, &ov, m.at, len(m.old))}
		f.Matches = append(f.Matches, r)
		eol := lineEnds.at(r.Start)
		for _, e := range edits {
			start, end := tv.src(m.at+ov.find(e.Start)), 0
			if end = start; e.Start < e.End {
				end = l.sourceEnd(tv, &ov, m.at, e.End)
			}
			e = Edit{start, end, withEOL(e.New, eol)}
			if cur.slice(start, end) != e.New {
				f.Edits = appendEdit(f.Edits, e)
			}
		}
	}
	return f, nil
}

// sourceEnd returns the offset in the text where a range ends that ends at off in the
// quotation ov, which stands at a place in tv. If it takes in blanks that the view
// leaves out, so does the range.
func (l *locator) sourceEnd(tv, ov *view, at, off int) int {
	p := ov.find(off)
	if ov.src(p) < off {
		return tv.srcAfter(at + p)
	}
	return tv.src(at + p)
}

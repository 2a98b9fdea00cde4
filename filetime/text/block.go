package text

import (
	"fmt"
	"slices"
	"strings"
)

// Op is the operation on a [Line].
type Op byte

// The operations, as a patch writes them before a line.
const (
	Keep   Op = ' '
	Remove Op = '-'
	Add    Op = '+'
)

// Line is one line of a [Block], without its line end.
type Line struct {
	Op   Op
	Text string
}

// Block is a hunk of a patch: consecutive lines of a text with their operations. All fields but
// Lines narrow the search. A block that only adds goes below the innermost line of Under, to the
// start with AtStart, else to the end of the text.
type Block struct {
	Lines []Line
	// Under are lines that the block stands below, the outermost first: each has a block of its own
	// of the lines that are indented more, and the search is in there; only where nothing is found,
	// in all that follows.
	Under []string
	// Section is one more such line, if the text has it.
	Section string
	// Number is the line (from 1) at which the block begins, for choosing among several places; 0
	// is not known.
	Number int
	// AtStart and AtEnd say that the block begins and ends with the text.
	AtStart, AtEnd bool
	// Open says that the last line that is added gets no line end, if it becomes the last of the
	// text.
	Open bool
	// Loose takes lines for the same that differ in their indentation.
	Loose bool
}

// Old is the text to search for: the lines that are kept and removed.
func (b Block) Old() string { return b.join(Add) }

// New is the text after the patch: the lines that are kept and added.
func (b Block) New() string { return b.join(Remove) }

func (b Block) join(without Op) string {
	var out strings.Builder
	for _, l := range b.Lines {
		if l.Op != without {
			out.WriteString(l.Text + "\n")
		}
	}
	return out.String()
}

// ContextError is the error for a text without a line of [Block].Under.
type ContextError struct{ Line string }

func (e *ContextError) Error() string { return fmt.Sprintf("there is no line %q", e.Line) }

// LocateBlock finds the only place of a block in t, and the edits that its lines make there: of
// whole lines, and with the lines that are kept as t has them. Where several places fit, those from
// the byte offset from on are preferred, then the one at the line b.Number. A block that changes
// nothing has no edits.
//
// The errors are [*NotFoundError], [*AmbiguousError] and [*ContextError].
func LocateBlock(t Text, b Block, from int) (Found, error) {
	l := blockLocator{t: t, b: b, from: from}
	l.b.Lines = rowsOf(b.Lines)
	for _, line := range l.b.Lines {
		if line.Op != Add {
			l.old = append(l.old, line.Text)
		}
	}
	plain := l.rows(leading)
	near, far, err := l.scopes(plain)
	if err != nil {
		return Found{}, err
	}
	if len(l.old) == 0 {
		return l.insert(plain, near)
	}
	scopes := [][]scope{near}
	if len(b.Under) > 0 || b.Section != "" {
		scopes = append(scopes, []scope{far})
	}
	tiers := []int{TierExact, TierTrailing, TierIndent, TierGlyphs}
	if b.Loose {
		tiers = append(tiers, TierTrim)
	}
	for _, within := range scopes {
		for _, tier := range tiers {
			p := l.findPlaces(plain, tier, within)
			switch n := len(p.at); {
			case n == 1:
				return l.editsAt(plain, p, tier)
			case n > 1:
				return Found{}, l.ambiguous(p)
			}
		}
	}
	return Found{}, &NotFoundError{Candidates: t.similar(strings.Join(l.old, "\n"))}
}

// rowsOf splits the lines to search for into rows, which end at a lone CR too.
func rowsOf(lines []Line) []Line {
	out := make([]Line, 0, len(lines))
	for _, line := range lines {
		if line.Op == Add {
			out = append(out, line)
			continue
		}
		for _, row := range strings.Split(strings.TrimSuffix(line.Text, "\r"), "\r") {
			out = append(out, Line{Op: line.Op, Text: row})
		}
	}
	return out
}

type blockLocator struct {
	t    Text
	b    Block
	from int
	old  []string
}

// rowView is a view in rows, which are called lines here. A text that ends with a line end has no
// further line.
type rowView struct {
	view
	lines         []string
	at            []int // of each line, and the end
	lacksFinalEOL bool  // the last line has no line end
}

func (l *blockLocator) rows(how fold) *rowView {
	v := &rowView{view: project(l.t.String(), how)}
	at := 0
	for line := range strings.Lines(v.s) {
		v.at = append(v.at, at)
		at += len(line)
		line, closed := strings.CutSuffix(line, "\n")
		v.lines, v.lacksFinalEOL = append(v.lines, line), !closed
	}
	v.at = append(v.at, at)
	return v
}

// scope is a range of lines, from 0, without the last.
type scope struct{ start, end int }

// scopes returns where to search first, the blocks below the lines of Under, and as fallback all
// that follows the first of the outermost.
func (l *blockLocator) scopes(v *rowView) (near []scope, far scope, err error) {
	whole := scope{0, len(v.lines)}
	near, far = []scope{whole}, whole
	narrow := func(line string) bool {
		at := v.matchingLines(line, near)
		if len(at) == 0 {
			at = v.matchingLines(line, []scope{far})
		}
		if len(at) == 0 {
			return false
		}
		far.start, near = at[0], nil
		for _, i := range at {
			near = append(near, scope{i, v.scopeEnd(i)})
		}
		return true
	}
	for _, line := range l.b.Under {
		if rows := rowsOf([]Line{{Op: Keep, Text: line}}); !narrow(rows[len(rows)-1].Text) {
			return nil, far, &ContextError{Line: line}
		}
	}
	if l.b.Section != "" {
		narrow(l.b.Section)
	}
	return near, far, nil
}

// outermost drops the scopes that lie in another.
func outermost(within []scope) []scope {
	var out []scope
	for _, w := range within {
		if n := len(out); n > 0 && w.end <= out[n-1].end {
			continue
		}
		out = append(out, w)
	}
	return out
}

// matchingLines returns the lines within scopes that match one: exactly, but for blanks around
// them, with plain signs, or else by prefix.
func (v *rowView) matchingLines(line string, within []scope) []int {
	bare := strings.TrimSpace(line)
	plain := func(s string) string { return project(strings.TrimSpace(s), glyphs).s }
	same := []func(string) bool{
		func(s string) bool { return s == line },
		func(s string) bool { return strings.TrimSpace(s) == bare },
		func(s string) bool { return plain(s) == plain(line) },
		func(s string) bool { return bare != "" && strings.HasPrefix(strings.TrimSpace(s), bare) },
	}
	for _, is := range same {
		var at []int
		for _, w := range within {
			for i := w.start; i < w.end; i++ {
				if is(v.lines[i]) {
					at = append(at, i)
				}
			}
		}
		if len(at) > 0 {
			slices.Sort(at)
			return slices.Compact(at)
		}
	}
	return nil
}

// scopeEnd is the line after the block that line i begins: the next that is indented no more and
// closes nothing.
func (v *rowView) scopeEnd(i int) int {
	depth := columns(v.lines[i])
	for j := i + 1; j < len(v.lines); j++ {
		line := strings.TrimLeft(v.lines[j], " \t")
		if line == "" || strings.ContainsRune("{}[]()", rune(line[0])) && columns(v.lines[j]) == depth {
			continue
		}
		if columns(v.lines[j]) <= depth {
			return j
		}
	}
	return len(v.lines)
}

// columns is the width of a line's indentation.
func columns(line string) int {
	n := 0
	for _, c := range []byte(line) {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		default:
			return n
		}
	}
	return n
}

// placement holds the rows where a block matches, and the indentation shift of each.
type placement struct {
	at     []int // rows, from 0
	shifts []indentation
}

func (l *blockLocator) ambiguous(p placement) error {
	e := &AmbiguousError{Count: len(p.at)}
	for _, i := range p.at[:min(maxLines, len(p.at))] {
		e.Lines = append(e.Lines, l.t.lineOfRow(i)+1)
	}
	return e
}

// findPlaces returns the matches of the block at a tier. Of several it prefers the one after the
// previous block, then the one at the line number.
func (l *blockLocator) findPlaces(plain *rowView, tier int, within []scope) placement {
	lines, old := plain.lines, l.old
	fold := func(how func(string) string) {
		lines, old = mapLines(lines, how), mapLines(old, how)
	}
	bare := func(s string) string { return strings.TrimRight(s, " \t") }
	switch tier {
	case TierTrailing, TierIndent:
		fold(bare)
	case TierGlyphs:
		fold(func(s string) string { return bare(project(s, glyphs).s) })
	case TierTrim:
		fold(func(s string) string { return strings.TrimSpace(project(s, glyphs).s) })
	}
	if strings.TrimSpace(strings.Join(old, "")) == "" && tier != TierExact {
		return placement{}
	}
	var p placement
	for _, w := range outermost(within) {
		for i := w.start; i+len(old) <= w.end; i++ {
			s, ok := indentation{}, false
			if tier == TierIndent {
				s, ok = commonShift(old, lines[i:i+len(old)])
			} else {
				ok = slices.Equal(old, lines[i:i+len(old)])
			}
			if !ok || l.b.AtStart && i > 0 || l.b.AtEnd && i+len(old) < len(lines) || len(p.at) > 0 && i <= p.at[len(p.at)-1] {
				continue
			}
			p.at, p.shifts = append(p.at, i), append(p.shifts, s)
		}
	}
	p.prefer(func(i int) bool { return plain.src(plain.at[i]) >= l.from })
	p.prefer(func(i int) bool { return l.t.lineOfRow(i)+1 == l.b.Number })
	return p
}

// prefer filters the places by a predicate, if there are several and it holds for some.
func (p *placement) prefer(is func(line int) bool) {
	var some placement
	for k, i := range p.at {
		if is(i) {
			some.at, some.shifts = append(some.at, i), append(some.shifts, p.shifts[k])
		}
	}
	if len(p.at) > 1 && len(some.at) > 0 {
		*p = some
	}
}

// commonShift finds the indentation by which all lines differ.
func commonShift(old, lines []string) (indentation, bool) {
	words, first := 0, -1
	for i, o := range old {
		if o == "" {
			continue
		}
		if words++; first < 0 {
			first = i
		}
	}
	if words < 2 {
		return indentation{}, false
	}
	s, ok := shiftOf(old[first], lines[first])
	if ok = ok && strings.TrimLeft(s.piece, " \t") == ""; !ok {
		return s, false
	}
	for i := range old {
		if !s.fits(old[i], lines[i]) {
			return s, false
		}
	}
	return s, true
}

// editsAt returns the edits of a block at its only match.
func (l *blockLocator) editsAt(plain *rowView, p placement, tier int) (Found, error) {
	how := map[int]fold{TierTrailing: trailing, TierIndent: trailing, TierGlyphs: trailing | glyphs}[tier]
	v := plain
	if how != 0 {
		v = l.rows(leading | how)
	}
	first, end := p.at[0], p.at[0]+len(l.old)
	quoted := func(s string) string { return s }
	switch tier {
	case TierIndent:
		quoted = p.shifts[0].apply
	case TierTrim:
		reindent := newReindent(l.old, plain.lines[first:end])
		quoted = reindent.apply
	}
	loc := locator{t: l.t}
	f := Found{
		Count: 1, Tier: tier, Lines: []int{l.t.lineOfRow(first) + 1},
		Matches: []Range{{plain.src(plain.at[first]), plain.src(plain.at[end])}},
	}
	at := first
	for i := 0; i < len(l.b.Lines); {
		if l.b.Lines[i].Op == Keep {
			i, at = i+1, at+1
			continue
		}
		from, old, add := at, "", ""
		for ; i < len(l.b.Lines) && l.b.Lines[i].Op != Keep; i++ {
			switch line := l.b.Lines[i]; {
			case line.Op == Add:
				add += quoted(line.Text) + "\n"
			case tier == TierTrim:
				old += plain.lines[at] + "\n"
				at++
			default:
				old += quoted(line.Text) + "\n"
				at++
			}
		}
		old, add = l.fixLineEnds(v, from, at, i == len(l.b.Lines), old, add)
		in, fold := v, how
		if old == "" {
			in, fold = plain, 0
		}
		run, err := loc.editsFor(&in.view, fold, []match{{in.at[from], old, add}}, tier)
		if err != nil {
			return Found{}, err
		}
		for _, e := range run.Edits {
			f.Edits = appendEdit(f.Edits, e)
		}
	}
	if tier == TierExact && strings.TrimSuffix(l.t.Slice(f.Matches[0].Start, f.Matches[0].End), "\n") != strings.Join(l.old, "\n") {
		f.Tier = TierLineEnds
	}
	f.TierName = tierName(f.Tier)
	return f, nil
}

// fixLineEnds adjusts the last line end at the end of the text, where rows from to at of v are
// replaced by add.
func (l *blockLocator) fixLineEnds(v *rowView, from, at int, last bool, old, add string) (string, string) {
	if at < len(v.lines) {
		return old, add
	}
	if v.lacksFinalEOL && from < at {
		old = strings.TrimSuffix(old, "\n")
	}
	if v.lacksFinalEOL && from == at && add != "" && from > 0 {
		add = "\n" + add
	}
	if l.b.Open && last {
		add = strings.TrimSuffix(add, "\n")
	}
	return old, add
}

// insert returns the edit of a block that only adds.
func (l *blockLocator) insert(v *rowView, within []scope) (Found, error) {
	at := []int{len(v.lines)}
	switch {
	case len(l.b.Under) > 0:
		at = nil
		for _, w := range within {
			at = append(at, w.start+1)
		}
	case l.b.AtStart:
		at[0] = 0
	}
	p := placement{at: at, shifts: make([]indentation, len(at))}
	p.prefer(func(i int) bool { return i == len(v.lines) || v.src(v.at[i]) >= l.from })
	if len(p.at) > 1 {
		return Found{}, l.ambiguous(p)
	}
	return l.editsAt(v, p, TierExact)
}

// reindent maps the indentation of quoted lines to that of the text.
type reindent struct{ from, to []string }

func newReindent(old, lines []string) reindent {
	var r reindent
	for i := range old {
		if strings.TrimSpace(old[i]) != "" {
			r.from, r.to = append(r.from, indentOf(old[i])), append(r.to, indentOf(lines[i]))
		}
	}
	return r
}

// apply gives a line the indentation that a line of the text has which was quoted with the line's
// own, else what the longest shorter one has and the rest of its own.
func (r reindent) apply(line string) string {
	if strings.TrimSpace(line) == "" {
		return line
	}
	own := indentOf(line)
	best := -1
	for i, from := range r.from {
		if strings.HasPrefix(own, from) && (best < 0 || len(from) > len(r.from[best])) {
			best = i
		}
	}
	if best < 0 {
		return line
	}
	return r.to[best] + strings.TrimPrefix(line, r.from[best])
}

func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

func mapLines(lines []string, how func(string) string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = how(l)
	}
	return out
}

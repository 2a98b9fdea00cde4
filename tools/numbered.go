package tools

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/filetime/text"
)

// Lines counts the lines of t as a person does: what follows the last line end is a line only if there is something.
func Lines(t text.Text) int {
	n := t.LineCount()
	if t.LineStart(n-1) == t.Len() {
		n--
	}
	return n
}

const (
	// MaxLine is how many characters of a line a model is shown.
	MaxLine = 2000
	// maxContext is the same for the lines around a change.
	maxContext = 500
	// maxPlaces is how many bytes of a file an answer shows that was not asked for them.
	maxPlaces = 8 << 10
)

// Excerpt is what of a text is put in front of a model: lines with their numbers, a bar before each, as many as there is
// room for. A line that is too long is cut, with a mark that says so.
type Excerpt struct {
	// Room is how many bytes there are left, numbers and marks included; at least one line is always taken.
	Room int
	// Width is how many characters of a line are shown, Most how many lines, 0 for any number.
	Width, Most int

	body  strings.Builder
	count int
	next  int     // the line after the last one that was taken
	whole []lines // that were shown whole
	parts []part  // of lines that were cut
	full  bool
}

// part is what was shown of a line that was cut: characters from to to, from 1, in the bytes start to end, of size characters in all.
type part struct{ line, from, to, start, end, size int }

// Places is an Excerpt for the places of a file that an answer is about.
func Places(env *Env) *Excerpt {
	return &Excerpt{Room: min(maxPlaces, room(env)), Width: MaxLine}
}

// WholeFile is an Excerpt for all of a file, as far as one answer can hold it.
func WholeFile(env *Env) *Excerpt {
	e := &Excerpt{Room: room(env), Width: MaxLine}
	if env.Limits.MaxReadBytes > 0 {
		e.Room = min(e.Room, env.Limits.MaxReadBytes)
	}
	return e
}

// room is how much of a failed call's answer may be a file's text: all of it stays below what an answer is cut down to.
func room(env *Env) int {
	n := maxWhole
	if env.Limits.MaxToolOutputChars > 0 {
		n = min(n, env.Limits.MaxToolOutputChars*2/3)
	}
	return n
}

const maxWhole = 20_000

// Grow makes room in memory for about so many lines, of so many bytes together.
func (e *Excerpt) Grow(lines, bytes int) {
	const head = len("1000 | \n")
	e.body.Grow(max(0, min(e.Room, bytes+lines*head)))
}

// Line takes in a line of size characters, of which line has all, or the first Width at least. Of one that is too long the
// part around the byte offset at is shown. It is false where there is no room for it.
func (e *Excerpt) Line(number int, line string, size, at int) bool {
	if e.full = e.full || e.Most > 0 && e.count == e.Most; e.full {
		return false
	}
	var front [48]byte
	head := front[:0]
	if e.count > 0 && number != e.next {
		head = append(head, "     …\n"...)
	}
	for least := 1000; number < least && least > 1; least /= 10 {
		head = append(head, ' ')
	}
	head = append(strconv.AppendInt(head, int64(number), 10), " | "...)
	shown, in := window(line, size, at, e.Width)
	if need := len(head) + len(shown) + 1; need > e.Room {
		const least, mark = 80, 64
		keep := max(e.Room-len(head)-mark, least)
		if e.full = e.count > 0; e.full {
			return false
		}
		if len(line) > keep {
			shown, in = window(line, size, at, utf8.RuneCountInString(line[:keep]))
		}
	}
	e.put(head, shown, number, in)
	return true
}

// Columns takes in a part of a line: its characters from column first on, from 1, as many as there is room for. The line has size
// characters, and the part begins at the byte offset at.
func (e *Excerpt) Columns(number int, shown string, first, size, at int) {
	head := fmt.Appendf(nil, "%4d | ", number)
	const marks = 80
	if most := max(e.Room-len(head)-marks, utf8.UTFMax); len(shown) > most {
		for most > 0 && !utf8.RuneStart(shown[most]) {
			most--
		}
		shown = shown[:most]
	}
	in := part{from: first, to: first + utf8.RuneCountInString(shown) - 1, start: at, end: at + len(shown), size: size}
	if first == 1 && in.to >= size {
		in = part{}
	} else {
		shown = in.mark(shown)
	}
	e.put(head, shown, number, in)
}

// Rest is where the first line that was cut goes on, from 1; 0 where none does.
func (e *Excerpt) Rest() (line, column int) {
	for _, p := range e.parts {
		if p.to < p.size {
			return p.line, p.to + 1
		}
	}
	return 0, 0
}

// put writes a line, or a part of one.
func (e *Excerpt) put(head []byte, shown string, number int, in part) {
	e.body.Write(head)
	e.body.WriteString(strings.ToValidUTF8(shown, "\uFFFD"))
	e.body.WriteByte('\n')
	e.Room -= len(head) + len(shown) + 1
	e.count++
	switch n := len(e.whole); {
	case in.size > 0:
		in.line = number
		e.parts = append(e.parts, in)
	case n > 0 && e.whole[n-1].last == number-1:
		e.whole[n-1].last = number
	default:
		e.whole = append(e.whole, lines{number, number})
	}
	e.next = number + 1
}

// window is the part of a line around at that has width characters, with a mark where that is not all of it; the size of the part is
// 0 where it is.
func window(line string, size, at, width int) (string, part) {
	if size <= width {
		return line, part{}
	}
	first := max(0, min(utf8.RuneCountInString(line[:min(at, len(line))])-width/4, size-width))
	start := Skip(line, first)
	end := start + Skip(line[start:], width)
	in := part{from: first + 1, to: first + width, start: start, end: end, size: size}
	return in.mark(line[start:end]), in
}

// mark puts marks round what is shown of a line that say which part it is.
func (p part) mark(shown string) string {
	switch {
	case p.from == 1:
		return fmt.Sprintf("%s … [line cut: %d of %d characters]", shown, p.to, p.size)
	case p.to == p.size:
		return fmt.Sprintf("… %s [line cut: characters %d-%d of %d]", shown, p.from, p.to, p.size)
	}
	return fmt.Sprintf("… %s … [line cut: characters %d-%d of %d]", shown, p.from, p.to, p.size)
}

// Skip gives the offset after n characters, or the length of a text that has no more.
func Skip(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// Lines takes in the lines first to last (1-based, inclusive) of t, as far as t has them. Long ones are shown around the
// first of the offsets in focus that lies in them.
func (e *Excerpt) Lines(t text.Text, first, last int, focus ...int) {
	last = min(last, Lines(t))
	for n := max(1, first, e.after(first)); n <= last; n++ {
		start, end := t.LineStart(n-1), t.LineEnd(n-1)
		at := 0
		if i := slices.IndexFunc(focus, func(off int) bool { return start <= off && off <= end }); i >= 0 {
			at = focus[i] - start
		}
		line := t.Slice(start, end)
		if n == 1 {
			line = strings.TrimPrefix(line, "\uFEFF")
		}
		size := len(line)
		if size > e.Width {
			size = utf8.RuneCountInString(line)
		}
		was := e.full
		switch {
		case e.Line(n, line, size, at):
			continue
		case !was:
			fmt.Fprintf(&e.body, "     … %s more\n", Count(last-n+1, "line"))
		}
		return
	}
}

// Part takes in lines that no file has, numbered from line on.
func (e *Excerpt) Part(s string, line int) {
	t := text.New(s)
	for n := range Lines(t) {
		l := t.Slice(t.LineStart(n), t.LineEnd(n))
		if !e.Line(line+n, l, utf8.RuneCountInString(l), 0) {
			return
		}
	}
}

// after is the line behind the last one, where lines from first on are there already.
func (e *Excerpt) after(first int) int {
	if first < e.next {
		return e.next
	}
	return first
}

// String is all that was taken.
func (e *Excerpt) String() string { return e.body.String() }

// Count is how many lines were taken.
func (e *Excerpt) Count() int { return e.count }

// Full says that a line was left out, Cut that one was cut.
func (e *Excerpt) Full() bool { return e.full }

// Cut says that a line was not shown whole.
func (e *Excerpt) Cut() bool { return len(e.parts) > 0 }

// Seen records that the model has been shown the lines, which are those of s. A line that was cut counts in parts: what is
// replaced or deleted whole must have been seen whole.
func (e *Excerpt) Seen(ft *filetime.FileTime, s filetime.Snapshot) {
	total := Lines(s.Text)
	if total == 0 {
		ft.Read(s, 1, s.Text.LineCount())
		return
	}
	for _, r := range e.whole {
		if r.last == total { // the end of the last line counts as seen with it
			r.last = s.Text.LineCount()
		}
		ft.Read(s, r.first, r.last)
	}
	for _, p := range e.parts {
		base := s.Text.LineStart(p.line - 1)
		first := base
		if mark := len("\uFEFF"); p.line == 1 && strings.HasPrefix(s.Text.Slice(0, min(mark, s.Text.Len())), "\uFEFF") {
			first += mark
		}
		r := text.Range{Start: first + p.start, End: first + p.end}
		if p.start == 0 {
			r.Start = base
		}
		if p.to == p.size { // the end of the line counts as seen with it
			r.End = s.Text.LineStart(p.line)
		}
		ft.ReadPart(s, r)
	}
	if e.count > 0 && len(e.whole) == 0 {
		ft.Read(s, 1, 0)
	}
}

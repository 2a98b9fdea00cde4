package grep

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"tandem/filetime/text"
	"tandem/sandbox/tree"
	"tandem/tools/regex"
)

// sniffed is how much of a file is looked at for a NUL before it is searched, and how much ripgrep reads at once.
const sniffed = tree.Sniffed

// engine searches files in the order of compare, several at a time.
type engine struct{}

func (engine) files(ctx context.Context, q *query, to sink) error {
	if q.file != "" {
		head, rest, err := q.tree.Read(q.file)
		if err != nil {
			return nil
		}
		if rest != nil {
			defer rest.Close()
		}
		if found, ok := newSearch(ctx, q).file(tree.File{Path: q.file, Head: head, Rest: rest}); ok {
			to.take(q.file, found)
		}
		return ctx.Err()
	}
	buffers := map[string]bool{}
	for _, b := range q.buffers {
		buffers[b.path] = true
	}
	return tree.Scan(ctx, q.tree,
		tree.Options{
			Wants: func(path string) bool { return q.wants(path) && !buffers[path] },
			Need:  q.re.Required(), OneLine: !q.re.Multiline, Indexes: q.indexes,
		},
		func() func(tree.File) (found, bool) { return newSearch(ctx, q).file },
		to.take,
	)
}

func (engine) text(ctx context.Context, q *query, text string) found {
	f, _ := newSearch(ctx, q).file(tree.File{Head: []byte(text)})
	return f
}

// search searches texts one after the other.
type search struct {
	q *query
	m *regex.Matcher
	found
	// bare says that lines are counted alone. Otherwise lines are those that were given, texts what they say and ends where each ends in it;
	// all three are used again for the next file.
	bare  bool
	lines []line
	texts []byte
	ends  []int

	// n is the number of the line that begins at counted, due how many lines after a match are still to be given from given on.
	n, counted, given, due int
}

func newSearch(ctx context.Context, q *query) *search {
	return &search{q: q, m: q.re.Matcher(func() bool { return ctx.Err() != nil })}
}

// plain is text without byte order mark, in UTF-8 and with single ends of lines. It changes b.
func plain(b []byte) []byte {
	if marked16(b) {
		if t, _, err := text.Decode(b); err == nil {
			b = []byte(t.String())
		}
	}
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	to := bytes.Index(b, []byte("\r\n"))
	if to < 0 {
		return b
	}
	for from := to + 1; ; {
		n := bytes.Index(b[from:], []byte("\r\n"))
		if n < 0 {
			return b[:to+copy(b[to:], b[from:])]
		}
		to += copy(b[to:], b[from:from+n])
		from += n + 1
	}
}

// marked16 says that a file begins with the byte order mark of UTF-16.
func marked16(b []byte) bool {
	return bytes.HasPrefix(b, []byte("\xff\xfe")) || bytes.HasPrefix(b, []byte("\xfe\xff"))
}

// file searches one file; ok is false where nothing was found. What is binary is passed over, from the piece of it on in which the first
// NUL is.
func (s *search) file(f tree.File) (_ found, ok bool) {
	b := f.Head
	if marked16(b) && f.Rest == nil {
		b = plain(b)
	}
	nul := -1
	if text.Binary(b) {
		nul = bytes.Index(b, []byte{0})
	}
	if len(b) == 0 || nul >= 0 && nul < sniffed || f.Rest != nil && s.q.re.Multiline {
		return found{}, false
	}
	s.found, s.n = found{most: s.q.enough()}, 1
	if s.q.OutputMode == names {
		s.most = 1
	}
	s.bare = s.q.OutputMode != content || s.q.crammed.Load()
	s.lines, s.texts, s.ends = s.lines[:0], s.texts[:0], s.ends[:0]
	if f.Rest != nil {
		s.stream(f)
	} else {
		s.text(plain(searchable(b, nul)))
	}
	s.found.lines = s.written()
	return s.found, s.hits > 0
}

// written is the lines that were given, with what they say.
func (s *search) written() []line {
	all, from := string(s.texts), 0
	valid := utf8.ValidString(all)
	for i, end := range s.ends {
		l := &s.lines[i]
		if l.text = all[from:end]; !valid {
			l.text = strings.ToValidUTF8(l.text, "\uFFFD")
		}
		from = end
	}
	return slices.Clone(s.lines)
}

// searchable is what of a text is searched: with a NUL, what was read before the piece that it is in, as ripgrep reads.
func searchable(b []byte, nul int) []byte {
	if nul < 0 {
		return b
	}
	end, lines, size := sniffed, 0, sniffed
	for end <= nul {
		if lines = bytes.LastIndexByte(b[:end], '\n') + 1; end-lines == size {
			size *= 2
		}
		end = lines + size
	}
	return b[:lines]
}

// stream searches a large file piece by piece; a line that is longer than one is cut.
func (s *search) stream(f tree.File) {
	b := bytes.Clone(f.Head)
	for more := true; more && len(b) > 0; {
		end := bytes.LastIndexByte(b, '\n') + 1
		if end == 0 {
			end = len(b)
		}
		if text.Binary(b[:end]) {
			return
		}
		kept := len(b) - end
		part := plain(b[:end])
		s.text(part)
		s.n += bytes.Count(part[s.counted:], []byte("\n"))
		if s.full() {
			return
		}
		copy(b[:kept], b[end:])
		n, err := io.ReadFull(f.Rest, b[kept:cap(b)])
		b = b[:kept+n]
		if more = err == nil; !more && len(b) > 0 {
			if !text.Binary(b) {
				s.text(plain(b))
			}
		}
	}
}

// text searches a text whose first line has the number n.
func (s *search) text(b []byte) {
	s.counted, s.given, s.due = 0, 0, 0
	if len(b) == 0 {
		return
	}
	if s.q.re.Multiline {
		s.spans(b)
		return
	}
	s.m.Lines(b, func(start, end int) bool {
		if s.bare {
			s.hits++
			return !s.full()
		}
		s.after(b, start)
		for from := s.before(b, start); from < start; {
			from = s.give(b, from, false)
		}
		s.give(b, start, true)
		s.hits++
		s.due = s.q.after
		return !s.full()
	})
	s.after(b, len(b))
}

// after gives the lines after a match that are due before a position.
func (s *search) after(b []byte, until int) {
	for ; s.due > 0 && s.given < until; s.due-- {
		s.give(b, s.given, false)
	}
}

// before is where the lines before a match begin that have not been given.
func (s *search) before(b []byte, at int) int {
	for range s.q.before {
		if at <= s.given {
			break
		}
		at = bytes.LastIndexByte(b[:at-1], '\n') + 1
	}
	return at
}

// give gives the line that begins at a position, and answers where the next one does.
func (s *search) give(b []byte, start int, match bool) int {
	l, _, _ := bytes.Cut(b[start:], []byte("\n"))
	end, at := start+len(l), 0
	s.n += bytes.Count(b[s.counted:start], []byte("\n"))
	s.counted = start
	if match && len(l) > maxLine {
		at = s.m.Near(l)
	}
	s.put(l, line{n: s.n, at: at, match: match})
	s.given = min(end+1, len(b))
	return end + 1
}

// put adds a line and what it says, cut where it is long.
func (s *search) put(text []byte, l line) {
	s.texts, l.cut = shorten(s.texts, text, l.at)
	s.lines, s.ends = append(s.lines, l), append(s.ends, len(s.texts))
}

// spans looks for matches that may run over several lines, and gives the lines around them with them.
func (s *search) spans(b []byte) {
	if !s.m.Has(b) {
		return
	}
	var matches []span
	for from, last := 0, -1; from <= len(b); {
		start, end, ok := s.m.Find(b, from)
		if !ok {
			break
		}
		if from = end; start == end {
			from++
			if start == last {
				continue
			}
		}
		matches, last = append(matches, span{start, end}), end
	}
	all := mark(b, matches)
	given, due := 0, 0
	for i, l := range all {
		if !l.match && i >= due {
			continue
		}
		from := i
		if l.match && !l.more {
			if s.full() {
				return
			}
			s.hits++
			from = max(given, i-s.q.before)
		}
		if !s.bare {
			for ; from <= i; from++ {
				s.put(all[from].whole, all[from].line)
			}
		}
		given = i + 1
		if l.match {
			due = i + 1 + s.q.after
		}
	}
}

// span is where a match lies in a text, in bytes.
type span struct{ start, end int }

// marked is a line, and what it says.
type marked struct {
	line
	whole []byte
}

// mark cuts a text into lines, numbered from 1, and says what the matches, in their order, make of each.
func mark(b []byte, matches []span) []marked {
	var lines []marked
	covered, at := 0, 0
	for l := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte("\n")), []byte("\n")) {
		out := marked{line{n: len(lines) + 1}, l}
		out.more = covered > at
		out.match = out.more
		end := at + len(l) + 1
		for len(matches) > 0 && matches[0].start < end {
			if !out.match {
				out.match, out.at = true, matches[0].start-at
			}
			covered = max(covered, matches[0].end)
			matches = matches[1:]
		}
		lines, at = append(lines, out), end
	}
	return lines
}

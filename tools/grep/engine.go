package grep

import (
	"bytes"
	"context"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"tandem/filetime/text"
	"tandem/sandbox/search/index"
	"tandem/sandbox/search/regex"
)

// engine searches files in the order of compare, several at a time.
type engine struct{}

func (engine) files(ctx context.Context, q *query, to sink) error {
	if q.file != "" {
		head, rest, err := index.Read(q.tree, q.file)
		if err != nil {
			return q.tree.Incomplete()
		}
		if rest != nil {
			defer rest.Close()
		}
		if found, ok := newSearch(ctx, q).file(index.File{Path: q.file, Head: head, Rest: rest}); ok {
			to.take(q.file, found)
		}
		return ctx.Err()
	}
	buffers := map[string]bool{}
	for _, b := range q.buffers {
		buffers[b.path] = true
	}
	return index.Scan(ctx, q.tree,
		index.Options{
			Wants: func(path string) bool { return q.wants(path) && !buffers[path] },
			Need:  q.re.Required(), OneLine: !q.re.Multiline, Indexes: q.indexes,
			Narrowed: func() { q.odd.Store(true) },
		},
		func() func(index.File) (found, bool) { return newSearch(ctx, q).file },
		to.take,
	)
}

func (engine) text(ctx context.Context, q *query, t text.Text) found {
	s := newSearch(ctx, q)
	if s.room = bufferRoom; q.re.Crosses() {
		s.room = t.Len()
	}
	r := &reader{t: t}
	f := index.File{Head: make([]byte, min(s.room, t.Len()))}
	_, _ = io.ReadFull(r, f.Head)
	if len(f.Head) < t.Len() {
		f.Rest = r
	}
	out, _ := s.file(f)
	return out
}

// bufferRoom is how much of an unsaved text is copied at once. A copy of many megabytes in one
// piece holds the garbage collector up, and with it everybody who waits for that, such as the
// handler of a key.
const bufferRoom = 256 << 10

// reader reads a text, of which it joins no more than is asked for at once.
type reader struct {
	t  text.Text
	at int
}

func (r *reader) Read(b []byte) (int, error) {
	if r.at == r.t.Len() {
		return 0, io.EOF
	}
	n := min(len(b), r.t.Len()-r.at, 64<<10)
	n = copy(b, r.t.Slice(r.at, r.at+n))
	r.at += n
	return n, nil
}

// search searches texts one after the other.
type search struct {
	q *query
	m *regex.Matcher
	found
	// bare says that lines are counted alone. Otherwise lines are those that were given, texts what
	// they say and ends where each ends in it; all three are used again for the next file.
	bare  bool
	lines []line
	texts []byte
	ends  []int

	// room is how much of a text is searched at once where it comes piece by piece.
	room int
	// binary says that there was a NUL.
	binary bool

	// n is the number of the line that begins at counted, due how many lines after a match are
	// still to be given from given on.
	n, counted, given, due int
}

func newSearch(ctx context.Context, q *query) *search {
	return &search{q: q, room: index.Head, m: q.re.Matcher(func() bool { return ctx.Err() != nil })}
}

// file searches one file; ok is false where nothing was found. What is binary is searched as far as
// ripgrep does, which for a file that has a NUL at its beginning is not at all.
func (s *search) file(f index.File) (_ found, ok bool) {
	if !s.q.odd.Load() && (f.Rest != nil || slices.ContainsFunc(f.Head, func(b byte) bool { return b >= utf8.RuneSelf })) {
		s.q.odd.Store(true)
	}
	if marked16(f.Head) {
		in := io.Reader(bytes.NewReader(f.Head))
		if f.Rest != nil {
			in = io.MultiReader(in, f.Rest)
		}
		f.Rest = newDecoder(in)
		f.Head, _ = io.ReadAll(io.LimitReader(f.Rest, index.Head))
		if len(f.Head) < index.Head {
			f.Rest = nil
		}
	}
	if f.Rest != nil && s.q.re.Crosses() {
		if f.Head, ok = whole(f.Head, f.Rest); !ok {
			return found{}, false
		}
		f.Rest = nil
	}
	b := bytes.TrimPrefix(f.Head, []byte("\uFEFF"))
	if len(b) == 0 || text.Binary(b[:min(len(b), sniffed)]) {
		return found{}, false
	}
	s.found, s.n = found{most: s.q.enough()}, 1
	s.counted, s.given, s.due = 0, 0, 0
	switch s.q.OutputMode {
	case names:
		s.most = 1
	case counts:
		s.most = math.MaxInt
	}
	s.bare = s.q.OutputMode != content || s.q.crammed.Load()
	s.lines, s.texts, s.ends = s.lines[:0], s.texts[:0], s.ends[:0]
	s.binary = false
	if f.Rest != nil {
		s.stream(b, f.Rest)
	} else {
		if !s.q.re.Crosses() && text.Binary(b) {
			pieces := newFills()
			var n int
			n, s.binary = pieces.until(b, true)
			b = b[:n]
		}
		s.text(b, 0)
	}
	if s.binary && s.q.OutputMode == counts && s.q.file == "" { // as ripgrep does, which does not say how many there would be
		return found{}, false
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

// stream searches a large file piece by piece; a line that is longer than can be held is cut. The
// lines that a match in the next piece may have before it stay in front of that.
func (s *search) stream(b []byte, rest io.Reader) {
	b = append(make([]byte, 0, max(s.room, len(b))+1), b...)
	pieces, from := newFills(), 0
	for more := true; more || len(b) > 0; {
		n, err := io.ReadFull(rest, b[len(b):cap(b)])
		b, more = b[:len(b)+n], err == nil
		end, nul := pieces.until(b, !more)
		if end == from && more && !nul {
			if cap(b) < mostHeld {
				b = append(make([]byte, 0, 2*cap(b)), b...)
				continue
			}
			end = len(b)
			pieces = newFills()
			pieces.drop(-end)
		}
		s.text(b[:end], from)
		if s.binary = nul; s.full() && s.due == 0 || nul || !more {
			return
		}
		keep := s.kept(b[:end])
		s.n += bytes.Count(b[s.counted:keep], []byte("\n"))
		s.counted, s.given = 0, 0
		b = b[:copy(b, b[keep:])]
		pieces.drop(keep)
		from = end - keep
	}
}

// mostKept limits the lines that stay in front of the next piece.
const mostKept = 1 << 20

// kept is where the lines of a piece begin that the next one needs and that have not been given.
func (s *search) kept(b []byte) int {
	keep := len(b)
	for range s.q.before {
		if keep <= s.given || b[keep-1] != '\n' {
			break
		}
		start := bytes.LastIndexByte(b[:keep-1], '\n') + 1
		if len(b)-start > mostKept {
			break
		}
		keep = start
	}
	return max(keep, s.given)
}

// text searches a text from a position on. Its first line has the number n where nothing of it was
// counted.
func (s *search) text(b []byte, from int) {
	if len(b) == from {
		return
	}
	if s.q.re.Crosses() {
		s.spans(b)
		return
	}
	found := func(start, end int) bool {
		if s.bare {
			s.hits++
			return !s.full()
		}
		start += from
		s.after(b, start)
		for from := s.before(b, start); from < start; {
			from = s.give(b, from, false)
		}
		s.give(b, start, true)
		s.hits++
		s.due = s.q.after
		return !s.full()
	}
	if !s.full() { // otherwise lines after the last match are due
		s.m.Lines(b[from:], found)
	}
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

// put adds a line and what it says, without the \r at its end and cut where it is long.
func (s *search) put(text []byte, l line) {
	s.texts, l.cut = shorten(s.texts, bytes.TrimSuffix(text, []byte("\r")), l.at)
	s.lines, s.ends = append(s.lines, l), append(s.ends, len(s.texts))
}

// spans looks for matches that may run over several lines, and gives the lines around them with
// them.
func (s *search) spans(b []byte) {
	if !s.m.Has(b) {
		return
	}
	var matches []span
	for from := 0; from < len(b); {
		start, end, ok := s.m.Find(b[from:], 0) // what is before does not count, as with ripgrep
		if !ok {
			break
		}
		start, end = from+start, from+end
		matches = append(matches, span{start, end})
		if from = end; start == end {
			from++
		}
	}
	all := mark(b, matches)
	if n := binaryMatch(all); n >= 0 {
		all, s.binary = all[:n], true
	}
	if s.q.OutputMode == counts && s.q.re.Crosses() {
		s.hits = s.single(b, all)
		return
	}
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

// single counts matches, and not lines, as ripgrep does where they may run over several.
func (s *search) single(b []byte, all []marked) (n int) {
	end := 0
	for i := 0; i < len(all); i++ {
		begin := end
		if end += len(all[i].whole) + 1; !all[i].match {
			continue
		}
		for ; i+1 < len(all) && all[i+1].match; i++ {
			end += len(all[i+1].whole) + 1
		}
		before := n
		for from, last := begin, -1; from <= len(b); {
			start, stop, ok := s.m.Find(b, from)
			if !ok || start >= end {
				break
			}
			if from = stop; start == stop {
				if from++; start == last {
					continue
				}
			}
			n, last = n+1, stop
		}
		n = max(n, before+1)
	}
	return n
}

// binaryMatch is where lines with matches begin one of which has a NUL, -1 for none: there ripgrep
// ends.
func binaryMatch(all []marked) int {
	begun := 0
	for i, l := range all {
		if l.match && (i == 0 || !all[i-1].match) {
			begun = i
		}
		if l.match && text.Binary(l.whole) {
			return begun
		}
	}
	return -1
}

// span is where a match lies in a text, in bytes.
type span struct{ start, end int }

// marked is a line, and what it says.
type marked struct {
	line
	whole []byte
}

// mark cuts a text into lines, numbered from 1, and says what the matches, in their order, make of
// each.
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

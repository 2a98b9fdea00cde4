package grep

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/tools"
)

// maxLine is how much of a line is shown.
const maxLine = 500

// hit is one result: a match with the lines around it, or a file, with its number of matching lines where they are
// counted.
type hit struct {
	path  string
	n     int
	lines []line // in their order; the match is the first of those that match
}

func (h hit) match() line {
	for _, l := range h.lines {
		if l.match {
			return l
		}
	}
	return line{}
}

// collector is the sink that makes the answer. It lets the buffers in where they belong.
type collector struct {
	q       *query
	buffers []buffer
	hits    []hit
	// results counts the results, matches the lines that match, fileN the files.
	results, matches, fileN int
	stopped                 bool

	path    string
	begun   bool
	pending []line
	last    *hit
	end     int
}

func newCollector(q *query) *collector { return &collector{q: q} }

func (c *collector) start(path string) bool {
	c.flush(path)
	c.path, c.begun, c.pending, c.last, c.end = path, false, nil, nil, 0
	return !c.stopped
}

// flush lets in the buffers that come before path, all that are left where it is empty.
func (c *collector) flush(path string) {
	for len(c.buffers) > 0 && (path == "" || compare(c.buffers[0].path, path) < 0) {
		b := c.buffers[0]
		c.buffers = c.buffers[1:]
		b.found.play(b.path, c)
	}
}

func (c *collector) line(l line) bool {
	l = shorten(l)
	after := c.last != nil && l.n <= c.end+c.q.after
	switch {
	case !l.match && after:
		c.last.lines = append(c.last.lines, l)
	case !l.match:
		c.pending = append(c.pending, l)
	case l.more && c.last != nil:
		c.last.lines = append(c.last.lines, l)
		c.end = l.n
	default:
		c.matches++
		if c.q.OutputMode == content {
			c.add(hit{path: c.path, lines: append(c.pending, l)})
		} else if c.begin() {
			c.add(hit{path: c.path, n: 1})
		} else if c.last != nil {
			c.last.n++
		}
		c.begin()
		c.pending, c.end = nil, l.n
	}
	return !c.stopped
}

func (c *collector) begin() bool {
	if c.begun {
		return false
	}
	c.begun = true
	c.fileN++
	return true
}

func (c *collector) total(n int) bool {
	c.matches += n
	if c.begin() {
		c.add(hit{path: c.path, n: n})
	}
	return !c.stopped
}

func (c *collector) add(h hit) {
	c.results++
	c.last = &hit{}
	if c.results > c.q.Offset && len(c.hits) < c.q.HeadLimit {
		c.hits = append(c.hits, h)
		c.last = &c.hits[len(c.hits)-1]
	}
	c.stopped = c.results >= c.q.enough()
}

// shorten cuts a long line to what stands around the match.
func shorten(l line) line {
	if len(l.text) <= maxLine {
		return l
	}
	from := max(0, min(l.at-maxLine/4, len(l.text)-maxLine))
	to := min(len(l.text), from+maxLine)
	for from > 0 && !utf8.RuneStart(l.text[from]) {
		from--
	}
	for to < len(l.text) && !utf8.RuneStart(l.text[to]) {
		to++
	}
	text := l.text[from:to]
	if from > 0 {
		text = "…" + text
	}
	if to < len(l.text) {
		text += "…"
	}
	l.text, l.cut = text, true
	return l
}

// recorder keeps what is found in a buffer until its turn comes.
type recorder struct {
	most  int
	lines []line
	n     int
}

func (r *recorder) start(string) bool { return true }

func (r *recorder) line(l line) bool {
	r.lines = append(r.lines, l)
	if l.match && !l.more {
		r.n++
	}
	return r.n < r.most
}

func (r *recorder) total(n int) bool {
	r.n = n
	return true
}

func (r *recorder) play(path string, to *collector) {
	if r.n == 0 {
		return
	}
	to.path, to.begun, to.pending, to.last, to.end = path, false, nil, nil, 0
	for _, l := range r.lines {
		if !to.line(l) {
			return
		}
	}
	if len(r.lines) == 0 {
		to.total(r.n)
	}
}

type value struct {
	Matches   []matchValue `json:"matches,omitzero"`
	Files     []string     `json:"files,omitzero"`
	Counts    []countValue `json:"counts,omitzero"`
	Total     *int         `json:"total,omitempty"` // absent where the search ended before the end of the files
	Truncated bool         `json:"truncated"`
}

type matchValue struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

type countValue struct {
	Path  string `json:"path"`
	Count int    `json:"count"`
}

// result words what was found. A search that ran to its end has totals, one that ended at the limit has none.
func (c *collector) result(env *tools.Env, q *query) tools.Result {
	v := &value{}
	r := tools.Result{Success: true, Value: v}
	body := body{c: c, env: env}
	shown := 0
	for i, h := range c.hits {
		was := body.Len()
		body.add(q.Offset+i+1, h)
		if room := env.Limits.MaxToolOutputChars; i > 0 && room > 0 && body.Len() > room-300 {
			body.cut = was
			break
		}
		v.add(q, h)
		shown++
	}
	c.hits = c.hits[:shown]
	v.ensure(q)
	end := q.Offset + shown
	v.Truncated = end < c.results
	r.Truncated = v.Truncated
	if !c.stopped {
		v.Total = &c.results
	}
	head := c.head(q, shown)
	r.Summary = head
	switch {
	case c.results == 0:
		r.Summary = "No matches for " + q.Pattern
		r.Data = r.Summary + " in " + env.Name(filepath.Join(q.dir, q.file))
	case shown == 0:
		r.Data = fmt.Sprintf("%s, none of them after the first %d.", head, q.Offset)
	default:
		r.Data = head + ":\n" + strings.TrimSuffix(body.text(), "\n")
		if v.Truncated && !c.stopped {
			r.Data += fmt.Sprintf("\n… %d more (offset=%d)", c.results-end, end)
		}
	}
	if q.literally != "" {
		note := fmt.Sprintf("The pattern is no regular expression (%s), so it was taken literally.", q.literally)
		r.Data += "\n" + note
		r.Warnings = append(r.Warnings, note)
	}
	return r
}

// cutShort makes r the result of a search that was ended before its end, with what was found until then.
func cutShort(ctx context.Context, r tools.Result, results int) tools.Result {
	r.Success, r.Truncated = false, true
	r.Error, r.Reason = filetime.Timeout, "timeout"
	what := "The search ran out of time"
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.Error, r.Reason = filetime.Cancelled, "cancelled"
		what = "The search was cancelled"
	}
	r.Data = what + " before every file was searched. Narrow it with path, glob or type. Until then:\n" + r.Data
	if results == 0 {
		r.Data = what + " before every file was searched, with no match so far. Narrow it with path, glob or type."
	}
	r.Summary = what
	return r
}

// head says what was found; shown is how many results the answer has.
func (c *collector) head(q *query, shown int) string {
	one, many := "match", "matches"
	if q.OutputMode != content {
		one, many = "file", "files"
	}
	switch {
	case c.stopped && q.Offset == 0:
		return fmt.Sprintf("First %s (more: offset=%d)", count(shown, one, many), shown)
	case c.stopped:
		return fmt.Sprintf("%s after the first %d (more: offset=%d)", count(shown, one, many), q.Offset, q.Offset+shown)
	case q.OutputMode == names:
		return "Found " + tools.Count(c.fileN, "file")
	}
	return "Found " + count(c.matches, "match", "matches") + " in " + tools.Count(c.fileN, "file")
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// body is the list of results as it is shown: numbered, or, where lines around the matches are wanted, one block for each
// file with its name once and its lines in ascending order behind one gutter.
type body struct {
	strings.Builder
	c    *collector
	env  *tools.Env
	cut  int // where it ends, where not all of it has room
	path string
	last int // line of path that was written last
}

func (b *body) text() string {
	if b.cut > 0 {
		return b.String()[:b.cut]
	}
	return b.String()
}

// add writes result number n.
func (b *body) add(n int, h hit) {
	q := b.c.q
	name := b.env.Name(filepath.Join(q.dir, h.path))
	switch {
	case q.OutputMode == names:
		fmt.Fprintf(b, "%d. %s\n", n, name)
	case q.OutputMode == counts:
		fmt.Fprintf(b, "%d. %s: %d\n", n, name, h.n)
	case q.before+q.after == 0:
		for i, l := range h.lines {
			if i == 0 {
				fmt.Fprintf(b, "%d. %s:%d → %s\n", n, name, l.n, valid(l.text))
			} else { // of a match over several lines
				fmt.Fprintf(b, "   %4d | %s\n", l.n, valid(l.text))
			}
		}
	default:
		b.block(name, h)
	}
}

// block writes a match with the lines around it.
func (b *body) block(name string, h hit) {
	switch {
	case name != b.path:
		fmt.Fprintf(b, "%s\n", name)
		b.path = name
	case h.lines[0].n > b.last+1:
		b.WriteString("--\n")
	}
	for _, l := range h.lines {
		mark := ' '
		if l.match {
			mark = '>'
		}
		fmt.Fprintf(b, "%c%3d | %s\n", mark, l.n, valid(l.text))
		b.last = l.n
	}
}

// ensure makes the list of the mode a list also where it is empty.
func (v *value) ensure(q *query) {
	switch {
	case q.OutputMode == names && v.Files == nil:
		v.Files = []string{}
	case q.OutputMode == counts && v.Counts == nil:
		v.Counts = []countValue{}
	case q.OutputMode == content && v.Matches == nil:
		v.Matches = []matchValue{}
	}
}

func (v *value) add(q *query, h hit) {
	file := filepath.Join(q.dir, h.path)
	switch q.OutputMode {
	case names:
		v.Files = append(v.Files, file)
	case counts:
		v.Counts = append(v.Counts, countValue{file, h.n})
	default:
		m := h.match()
		v.Matches = append(v.Matches, matchValue{file, m.n, valid(m.text)})
	}
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

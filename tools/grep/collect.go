package grep

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

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
	Total     int          `json:"total"`
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

// result words what was found. total counts the results that there are, as far as they were counted.
func (c *collector) result(env *tools.Env, q *query) tools.Result {
	v := &value{Total: c.results}
	r := tools.Result{Success: true, Value: v}
	var body strings.Builder
	shown := 0
	for i, h := range c.hits {
		entry := c.entry(env, q.Offset+i+1, h)
		if room := env.Limits.MaxToolOutputChars; i > 0 && room > 0 && body.Len()+len(entry) > room-300 {
			break
		}
		body.WriteString(entry)
		v.add(q, h)
		shown++
	}
	c.hits = c.hits[:shown]
	v.ensure(q)
	v.Truncated = q.Offset+shown < c.results
	r.Truncated = v.Truncated
	r.Summary = c.head(q)
	switch {
	case c.results == 0:
		r.Data = fmt.Sprintf("No matches for %s in %s", q.Pattern, env.Name(filepath.Join(q.dir, q.file)))
		r.Summary = "No matches for " + q.Pattern
	case shown == 0:
		r.Data = fmt.Sprintf("%s, none of them after the first %d.", c.head(q), q.Offset)
	default:
		r.Data = c.head(q) + ":\n" + strings.TrimSuffix(body.String(), "\n")
	}
	if rest := c.results - q.Offset - shown; rest > 0 && shown > 0 {
		more := fmt.Sprint(rest)
		if c.stopped {
			more = "more than " + more
		}
		r.Data += fmt.Sprintf("\n… %s more (offset=%d)", more, q.Offset+shown)
	}
	if q.literally != "" {
		note := fmt.Sprintf("The pattern is no regular expression (%s), so it was taken literally.", q.literally)
		r.Data += "\n" + note
		r.Warnings = append(r.Warnings, note)
	}
	return r
}

func (c *collector) head(q *query) string {
	found := "Found "
	if c.stopped {
		found += "more than "
	}
	files := tools.Count(c.fileN, "file")
	if q.OutputMode == names {
		return found + files
	}
	matches := fmt.Sprintf("%d matches", c.matches)
	if c.matches == 1 {
		matches = "1 match"
	}
	return found + matches + " in " + files
}

func (c *collector) entry(env *tools.Env, n int, h hit) string {
	name := env.Name(filepath.Join(c.q.dir, h.path))
	switch c.q.OutputMode {
	case names:
		return fmt.Sprintf("%d. %s\n", n, name)
	case counts:
		return fmt.Sprintf("%d. %s: %d\n", n, name, h.n)
	}
	m := h.match()
	var b strings.Builder
	fmt.Fprintf(&b, "%d. %s:%d → %s\n", n, name, m.n, valid(m.text))
	for _, l := range h.lines {
		if l.n != m.n {
			fmt.Fprintf(&b, "   %4d | %s\n", l.n, valid(l.text))
		}
	}
	return b.String()
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

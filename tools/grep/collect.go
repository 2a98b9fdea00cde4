package grep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/rawjson"
)

// maxLine is how much of a line is shown.
const maxLine = 500

// hit is one result: a match with the lines around it, or a file, with its number of matching lines where they are
// counted.
type hit struct {
	path  string
	n     int
	lines []line // in their order, a part of those of the file; the match is the first of those that match
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
	// room is how many bytes the answer may have, 0 for any number; size is less than what those of the hits take.
	room, size int
	// results counts the results, matches the lines that match, fileN the files.
	results, matches, fileN int
	stopped                 bool
}

func (c *collector) take(path string, f found) bool {
	c.flush(path)
	return !c.stopped && c.play(path, f)
}

// flush lets in the buffers that come before path, all that are left where it is empty.
func (c *collector) flush(path string) {
	for len(c.buffers) > 0 && (path == "" || compare(c.buffers[0].path, path) < 0) {
		b := c.buffers[0]
		c.buffers = c.buffers[1:]
		c.play(b.path, b.found)
	}
}

// play adds what was found in a file or a buffer.
func (c *collector) play(path string, f found) bool {
	switch {
	case f.hits == 0:
		return true
	case c.q.OutputMode != content:
		c.matches += f.hits
		c.add(hit{path: path, n: f.hits})
	case c.q.crammed.Load():
		c.matches += f.hits
		c.results += f.hits
	default:
		c.lines(path, f.lines)
	}
	c.fileN++
	c.stopped = c.results >= c.q.enough()
	return !c.stopped
}

// lines adds the matches of a file. To each belong the lines before it that are none of the last one's, those that go on with it, and some
// after it.
func (c *collector) lines(path string, all []line) {
	for from := 0; from < len(all) && c.results < c.q.enough(); {
		to := from
		for to < len(all) && !all[to].match {
			to++
		}
		if to == len(all) {
			return
		}
		for last := all[to].n; ; {
			if to++; to == len(all) || all[to].match && !all[to].more || !all[to].match && all[to].n > last+c.q.after {
				break
			}
			if all[to].match {
				last = all[to].n
			}
		}
		c.matches++
		c.add(hit{path: path, lines: all[from:to]})
		from = to
	}
}

func (c *collector) add(h hit) {
	c.results++
	if c.results <= c.q.Offset || len(c.hits) == c.q.HeadLimit || c.q.crammed.Load() {
		return
	}
	c.hits = append(c.hits, h)
	c.size += len(h.path)
	for _, l := range h.lines {
		c.size += len(l.text)
	}
	if c.room > 0 && c.size > c.room {
		c.q.crammed.Store(true)
	}
}

// shorten adds to b a text, cut to what stands around the match at a place of it where it is long.
func shorten(b, text []byte, at int) (_ []byte, cut bool) {
	if len(text) <= maxLine {
		return append(b, text...), false
	}
	from := max(0, min(at-maxLine/4, len(text)-maxLine))
	to := min(len(text), from+maxLine)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	if from > 0 {
		b = append(b, "…"...)
	}
	if b = append(b, text[from:to]...); to < len(text) {
		b = append(b, "…"...)
	}
	return b, true
}

type value struct {
	Matches   []matchValue `json:"matches,omitzero"`
	Files     []string     `json:"files,omitzero"`
	Counts    []countValue `json:"counts,omitzero"`
	Total     *int         `json:"total,omitempty"` // absent where the search ended before the end of the files
	Truncated bool         `json:"truncated"`
}

// perResult is how many bytes the names, the punctuation and the number of a result take in JSON, roughly.
const perResult = 40

// JSONSize is about how many bytes AppendJSON appends.
func (v *value) JSONSize() int {
	n := 256
	for _, m := range v.Matches {
		n += len(m.Path) + rawjson.SizeOf(m.Text) + perResult
	}
	for _, f := range v.Files {
		n += len(f) + perResult
	}
	for _, c := range v.Counts {
		n += len(c.Path) + perResult
	}
	return n
}

// AppendJSON appends what encoding/json/v2 makes of the value, whose lists may be very long: a path is encoded once for all of its file.
func (v *value) AppendJSON(b []byte) ([]byte, error) {
	b = append(b, '{')
	if v.Matches != nil {
		path, from, to := "", 0, 0
		b = appendList(append(b, `"matches":`...), v.Matches, func(b []byte, m matchValue) []byte {
			b = append(b, `{"path":`...)
			if at := len(b); to > 0 && m.Path == path {
				b = append(b, b[from:to]...)
			} else {
				b = rawjson.AppendString(b, m.Path)
				path, from, to = m.Path, at, len(b)
			}
			b = strconv.AppendInt(append(b, `,"line":`...), int64(m.Line), 10)
			return append(rawjson.AppendString(append(b, `,"text":`...), m.Text), '}')
		})
	}
	if v.Files != nil {
		b = appendList(append(b, `"files":`...), v.Files, rawjson.AppendString)
	}
	if v.Counts != nil {
		b = appendList(append(b, `"counts":`...), v.Counts, func(b []byte, c countValue) []byte {
			b = rawjson.AppendString(append(b, `{"path":`...), c.Path)
			return append(strconv.AppendInt(append(b, `,"count":`...), int64(c.Count), 10), '}')
		})
	}
	if v.Total != nil {
		b = append(strconv.AppendInt(append(b, `"total":`...), int64(*v.Total), 10), ',')
	}
	return append(strconv.AppendBool(append(b, `"truncated":`...), v.Truncated), '}'), nil
}

// appendList appends a list and a comma.
func appendList[T any](b []byte, list []T, element func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = element(b, e)
	}
	return append(b, "],"...)
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
	body := body{q: q, env: env, text: make([]byte, 0, c.size+32*len(c.hits))}
	if q.OutputMode == content {
		v.Matches = make([]matchValue, 0, len(c.hits))
	}
	shown := 0
	for i, h := range c.hits {
		was := len(body.text)
		body.add(q.Offset+i+1, h)
		if room := env.Limits.MaxToolOutputChars; i > 0 && room > 0 && len(body.text) > room-300 {
			body.text = body.text[:was]
			break
		}
		v.add(q.OutputMode, body.file, h)
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
		more := ""
		if v.Truncated && !c.stopped {
			more = fmt.Sprintf("\n… %d more (offset=%d)", c.results-end, end)
		}
		var data strings.Builder // of many megabytes, which are copied once
		data.Grow(len(head) + len(body.text) + len(more) + 2)
		data.WriteString(head + ":\n")
		data.Write(bytes.TrimSuffix(body.text, []byte("\n")))
		data.WriteString(more)
		r.Data = data.String()
	}
	if q.note != "" {
		r.Data += "\n" + q.note
		r.Warnings = append(r.Warnings, q.note)
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
	text []byte
	q    *query
	env  *tools.Env
	path string // of the last result
	name string // as it is shown
	file string // from the root on
	last int    // line of path that was written last
}

// add writes result number n.
func (b *body) add(n int, h hit) {
	fresh := b.path != h.path
	if fresh {
		b.path, b.file = h.path, filepath.Join(b.q.dir, h.path)
		b.name = b.env.Name(b.file)
	}
	if b.q.OutputMode == content && b.q.before+b.q.after > 0 {
		b.block(fresh, h)
		return
	}
	b.text = strconv.AppendInt(b.text, int64(n), 10)
	b.text = append(append(b.text, ". "...), b.name...)
	switch b.q.OutputMode {
	case names:
	case counts:
		b.text = strconv.AppendInt(append(b.text, ": "...), int64(h.n), 10)
	default:
		b.text = strconv.AppendInt(append(b.text, ':'), int64(h.lines[0].n), 10)
		b.text = append(append(b.text, " → "...), h.lines[0].text...)
		for _, l := range h.lines[1:] { // of a match over several lines
			b.text = append(fmt.Appendf(b.text, "\n   %4d | ", l.n), l.text...)
		}
	}
	b.text = append(b.text, '\n')
}

// block writes a match with the lines around it; fresh says that it is the first one of its file.
func (b *body) block(fresh bool, h hit) {
	switch {
	case fresh:
		b.text = append(append(b.text, b.name...), '\n')
	case h.lines[0].n > b.last+1:
		b.text = append(b.text, "--\n"...)
	}
	for _, l := range h.lines {
		mark := ' '
		if l.match {
			mark = '>'
		}
		b.text = append(fmt.Appendf(b.text, "%c%3d | ", mark, l.n), l.text...)
		b.text = append(b.text, '\n')
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

func (v *value) add(mode, file string, h hit) {
	switch mode {
	case names:
		v.Files = append(v.Files, file)
	case counts:
		v.Counts = append(v.Counts, countValue{file, h.n})
	default:
		m := h.match()
		v.Matches = append(v.Matches, matchValue{file, m.n, m.text})
	}
}

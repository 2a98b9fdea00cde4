package grep

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/rawjson"
)

// maxLine is how much of a line is shown.
const maxLine = 500

// hit is one result: a match with the lines around it, or a file, with its number of matching lines
// where they are counted.
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

// collector is the sink that makes the answer, while files are searched. It lets the buffers in
// where they belong.
type collector struct {
	q       *query
	buffers []buffer
	// room is how many bytes the answer may have, 0 for any number.
	room  int
	body  body
	value *value
	// results counts the results, shown those that the answer has, matches the lines that match,
	// fileN the files.
	results, shown, matches, fileN int
	stopped                        bool
	// leftOut counts the files with matches that a rule refuses.
	leftOut int
	// seen are the files of the first results, up to mostSeen, with the lines that are shown of
	// them.
	seen []shownFile
}

// shownFile is a file with lines that an answer shows, in their order.
type shownFile struct {
	path  string
	lines []line
}

func newCollector(env *tools.Env, q *query) *collector {
	return &collector{q: q, room: env.Limits.MaxToolOutputChars, body: body{q: q, env: env}, value: &value{mode: q.OutputMode}}
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
	case c.body.env.Judged.Denied(c.q.folder.Join(path)):
		c.leftOut++
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

// lines adds the matches of a file. To each belong the lines before it that are none of the last
// one's, those that go on with it, and some after it.
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

// endRoom is how many bytes of an answer are left for what is said beside the results.
const endRoom = 300

func (c *collector) add(h hit) {
	c.results++
	if c.results <= c.q.Offset || c.shown == c.q.HeadLimit || c.q.crammed.Load() {
		return
	}
	was := len(c.body.Last)
	c.body.add(c.q.Offset+c.shown+1, h)
	if c.room > 0 && c.shown > 0 && c.body.Size() > c.room-endRoom {
		c.body.Last = c.body.Last[:was]
		c.q.crammed.Store(true)
		return
	}
	c.shown++
	c.value.add(c.body.file, h)
	c.show(h)
	c.body.Grown()
	c.value.Grown()
}

// show remembers the lines of a result, as long as the answer is not too long.
func (c *collector) show(h hit) {
	if len(h.lines) == 0 || c.body.Size() > mostSeen {
		return // a file that is named or counted
	}
	if len(c.seen) == 0 || c.seen[len(c.seen)-1].path != h.path {
		c.seen = append(c.seen, shownFile{path: h.path})
	}
	f := &c.seen[len(c.seen)-1]
	f.lines = append(f.lines, h.lines...)
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

// value is the answer for a program, of which the list is JSON already: matches, files or counts.
type value struct {
	rawjson.Text
	mode string
	// path is the file of the last result, encoded is that as JSON.
	path, encoded string
	Total         *int // nil where the search ended before the end of the files
	Truncated     bool
}

// add adds a result to the list.
func (v *value) add(file string, h hit) {
	if v.Size() > 0 {
		v.Last = append(v.Last, ',')
	}
	if v.encoded == "" || v.path != file {
		v.path, v.encoded = file, string(rawjson.AppendString(nil, file))
	}
	switch v.mode {
	case names:
		v.Last = append(v.Last, v.encoded...)
	case counts:
		v.Last = append(append(v.Last, `{"path":`...), v.encoded...)
		v.Last = append(strconv.AppendInt(append(v.Last, `,"count":`...), int64(h.n), 10), '}')
	default:
		m := h.match()
		v.Last = append(append(v.Last, `{"path":`...), v.encoded...)
		v.Last = strconv.AppendInt(append(v.Last, `,"line":`...), int64(m.n), 10)
		v.Last = append(rawjson.AppendString(append(v.Last, `,"text":`...), m.text), '}')
	}
}

// JSONPieces implements rawjson.Pieced.
func (v *value) JSONPieces() ([][]byte, error) {
	list := "matches"
	switch v.mode {
	case names:
		list = "files"
	case counts:
		list = "counts"
	}
	end := []byte("],")
	if v.Total != nil {
		end = append(strconv.AppendInt(append(end, `"total":`...), int64(*v.Total), 10), ',')
	}
	end = append(strconv.AppendBool(append(end, `"truncated":`...), v.Truncated), '}')
	return slices.Concat([][]byte{[]byte(`{"` + list + `":[`)}, v.Pieces(), [][]byte{end}), nil
}

// MarshalJSON is JSONPieces in one.
func (v *value) MarshalJSON() ([]byte, error) {
	pieces, err := v.JSONPieces()
	return slices.Concat(pieces...), err
}

// result words what was found. A search that ran to its end has totals, one that ended at the limit
// has none.
func (c *collector) result(env *tools.Env, q *query) tools.Result {
	v, shown := c.value, c.shown
	r := tools.Result{Success: true, Value: v}
	end := q.Offset + shown
	v.Truncated = end < c.results
	r.Truncated = v.Truncated
	if total := c.results; !c.stopped {
		v.Total = &total
	}
	head := c.head(q, shown)
	r.Summary = head
	switch {
	case c.results == 0:
		r.Summary = nothing(q)
		r.Data = r.Summary + " in " + env.Name(filepath.Join(q.dir, q.file))
	case shown == 0:
		r.Data = fmt.Sprintf("%s, none of them after the first %d.", head, q.Offset)
	default:
		more := ""
		if v.Truncated && !c.stopped {
			more = fmt.Sprintf("\n… %d more (offset=%d)", c.results-end, end)
		}
		var data strings.Builder // of many megabytes, which are copied once
		data.Grow(len(head) + c.body.Size() + len(more) + 2)
		data.WriteString(head + ":")
		for _, p := range c.body.Pieces() {
			data.Write(p)
		}
		data.WriteString(more)
		r.Data = data.String()
	}
	if q.note != "" {
		r.Data += "\n" + q.note
		r.Warnings = append(r.Warnings, q.note)
	}
	return r
}

// cutShort makes r the result of a search that was ended before its end, with what was found until
// then.
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
	what := "match"
	if q.OutputMode != content {
		what = "file"
	}
	switch {
	case c.stopped && q.Offset == 0:
		return fmt.Sprintf("First %s (more: offset=%d)", tools.Count(shown, what), shown)
	case c.stopped:
		return fmt.Sprintf("%s after the first %d (more: offset=%d)", tools.Count(shown, what), q.Offset, q.Offset+shown)
	case q.OutputMode == names:
		return "Found " + tools.Count(c.fileN, "file")
	}
	return "Found " + tools.Count(c.matches, "match") + " in " + tools.Count(c.fileN, "file")
}

// body is the list of results as it is shown, each line of it behind a line end: numbered, or,
// where lines around the matches are wanted, one block for each file with its name once and its
// lines in ascending order behind one gutter.
type body struct {
	rawjson.Text
	q    *query
	env  *tools.Env
	path string // of the last result
	name string // as it is shown
	file string // from the root on
	line int    // of path that was written last
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
	b.Last = strconv.AppendInt(append(b.Last, '\n'), int64(n), 10)
	b.Last = append(append(b.Last, ". "...), b.name...)
	switch b.q.OutputMode {
	case names:
	case counts:
		b.Last = strconv.AppendInt(append(b.Last, ": "...), int64(h.n), 10)
	default:
		b.Last = strconv.AppendInt(append(b.Last, ':'), int64(h.lines[0].n), 10)
		b.Last = append(append(b.Last, " → "...), h.lines[0].text...)
		for _, l := range h.lines[1:] { // of a match over several lines
			b.Last = append(fmt.Appendf(b.Last, "\n   %4d | ", l.n), l.text...)
		}
	}
}

// block writes a match with the lines around it; fresh says that it is the first one of its file.
func (b *body) block(fresh bool, h hit) {
	switch {
	case fresh:
		b.Last = append(append(b.Last, '\n'), b.name...)
	case h.lines[0].n > b.line+1:
		b.Last = append(b.Last, "\n--"...)
	}
	for _, l := range h.lines {
		mark := ' '
		if l.match {
			mark = '>'
		}
		b.Last = append(fmt.Appendf(b.Last, "\n%c%3d | ", mark, l.n), l.text...)
		b.line = l.n
	}
}

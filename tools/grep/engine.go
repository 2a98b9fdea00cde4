package grep

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"io/fs"
	"strings"

	"tandem/sandbox/tree"
	"tandem/tools"
)

const (
	// sniffed is how much of a file must be without NUL for it to be text.
	sniffed = 8 << 10
	// wholeFile is up to what size a file is read at once, and the most that a match over several lines is looked for in.
	wholeFile = 8 << 20
	// longestLine is the longest line that is searched in a larger file.
	longestLine = 4 << 20
)

// engine searches without another program.
type engine struct{}

func (e engine) files(ctx context.Context, env *tools.Env, q *query, to sink) error {
	if q.re == nil {
		return q.unsupported()
	}
	if q.kind != "" && types()[q.kind] == "" {
		return invalid("$.type", "file type", "type "+q.kind+" is not known. Use glob instead, for example *."+q.kind)
	}
	if q.file != "" {
		e.file(ctx, q, q.file, to)
		return ctx.Err()
	}
	buffers := map[string]bool{}
	for _, b := range q.buffers {
		buffers[b.path] = true
	}
	_, err := q.tree.Walk(ctx, 0, func(entry tree.Entry) error {
		if !entry.Type.IsRegular() || buffers[entry.Path] || !q.wants(entry.Path) {
			return nil
		}
		if !e.file(ctx, q, entry.Path, to) {
			return fs.SkipAll
		}
		return nil
	})
	return err
}

func (e engine) text(ctx context.Context, _ *tools.Env, q *query, text string, to sink) error {
	if q.re == nil {
		return q.unsupported()
	}
	e.search(ctx, q, plain([]byte(text)), to)
	return nil
}

// plain is text without byte order mark and with single ends of lines.
func plain(text []byte) []byte {
	return bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\uFEFF")), []byte("\r\n"), []byte("\n"))
}

// file searches one file; what cannot be read or is binary is passed over. It answers whether more is wanted.
func (e engine) file(ctx context.Context, q *query, path string, to sink) bool {
	f, err := q.tree.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	if head, _ := in.Peek(sniffed); bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	whole, err := io.ReadAll(io.LimitReader(in, wholeFile))
	if err != nil {
		return true
	}
	if len(whole) < wholeFile {
		whole = plain(whole)
		if !q.re.Match(whole) && !strings.Contains(q.Pattern, `\A`) && !strings.Contains(q.Pattern, `\z`) {
			return true
		}
		return to.start(path) && e.search(ctx, q, whole, to)
	}
	if q.Multiline {
		return true
	}
	lines := bufio.NewScanner(io.MultiReader(bytes.NewReader(whole), in))
	lines.Buffer(make([]byte, 64<<10), longestLine)
	return to.start(path) && q.lines(ctx, func() ([]byte, bool) { ok := lines.Scan(); return lines.Bytes(), ok }, to)
}

func (e engine) search(ctx context.Context, q *query, text []byte, to sink) bool {
	if q.Multiline && len(text) > 0 {
		return q.spans(text, to)
	}
	return q.lines(ctx, func() ([]byte, bool) {
		if len(text) == 0 {
			return nil, false
		}
		l, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		return l, true
	}, to)
}

// lines looks at one line after the other and gives those that match with the lines around them.
func (q *query) lines(ctx context.Context, next func() ([]byte, bool), to sink) bool {
	before := make([]line, 0, q.before)
	after := 0
	for n := 1; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return false
		}
		b, ok := next()
		if !ok {
			return true
		}
		b = bytes.TrimSuffix(b, []byte("\r"))
		at := q.re.FindIndex(b)
		switch {
		case at != nil:
			for _, l := range before {
				if !to.line(l) {
					return false
				}
			}
			before, after = before[:0], q.after
			if !to.line(line{n: n, at: at[0], text: string(b), match: true}) {
				return false
			}
		case after > 0:
			after--
			if !to.line(line{n: n, text: string(b)}) {
				return false
			}
		case q.before > 0:
			if len(before) == q.before {
				before = append(before[:0], before[1:]...)
			}
			before = append(before, line{n: n, text: string(b)})
		}
	}
}

// spans looks for matches that may run over several lines. Matches on the same lines are one.
func (q *query) spans(text []byte, to sink) bool {
	all := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	starts := make([]int, 0, len(all))
	for at, i := 0, 0; i < len(all); i++ {
		starts = append(starts, at)
		at += len(all[i]) + 1
	}
	lineOf := func(off, from int) int {
		for from+1 < len(starts) && starts[from+1] <= off {
			from++
		}
		return from
	}
	give := func(i, at int, match bool) bool {
		return to.line(line{n: i + 1, at: at, text: string(all[i]), match: match})
	}
	shown, last := 0, 0 // the first line not given yet, and the end of context due
	for pos, at := 0, 0; pos <= len(text); {
		m := q.re.FindIndex(text[pos:])
		if m == nil || pos+m[0] == len(text) && len(text) > 0 {
			break
		}
		first := lineOf(pos+m[0], at)
		end := lineOf(max(pos+m[0], pos+m[1]-1), first)
		for ; shown < min(last, first); shown++ {
			if !give(shown, 0, false) {
				return false
			}
		}
		for shown = max(shown, first-q.before); shown < first; shown++ {
			if !give(shown, 0, false) {
				return false
			}
		}
		for ; shown <= end; shown++ {
			off := -1
			if shown == first {
				off = pos + m[0] - starts[first]
			}
			if !give(shown, off, true) {
				return false
			}
		}
		last, at = end+1+q.after, end
		pos = len(text) + 1
		if end+1 < len(starts) {
			pos = starts[end+1]
		}
	}
	for ; shown < min(last, len(all)); shown++ {
		if !give(shown, 0, false) {
			return false
		}
	}
	return true
}

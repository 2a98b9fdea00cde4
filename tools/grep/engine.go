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
		at := q.re.FindSubmatchIndex(b)
		switch {
		case at != nil:
			for _, l := range before {
				if !to.line(l) {
					return false
				}
			}
			before, after = before[:0], q.after
			if !to.line(line{n: n, at: at[2], text: string(b), match: true}) {
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

// spans looks for matches that may run over several lines, and gives the lines around them with them.
func (q *query) spans(text []byte, to sink) bool {
	var matches []span
	for _, m := range q.re.FindAllSubmatchIndex(text, -1) {
		matches = append(matches, span{m[2], m[3]})
	}
	lines := mark(string(text), matches)
	given, due := 0, 0
	for i, l := range lines {
		if !l.match && i >= due {
			continue
		}
		from := i
		if l.match && !l.more {
			from = max(given, i-q.before)
		}
		for ; from <= i; from++ {
			if !to.line(lines[from]) {
				return false
			}
		}
		given = i + 1
		if l.match {
			due = i + 1 + q.after
		}
	}
	return true
}

package grep

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"io/fs"
	"strings"

	"tandem/filetime/text"
	"tandem/sandbox/tree"
	"tandem/tools"
)

const (
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
	if head, _ := in.Peek(text.Sniffed); text.Binary(head) {
		return true
	}
	whole, err := io.ReadAll(io.LimitReader(in, wholeFile))
	if err != nil {
		return true
	}
	if len(whole) < wholeFile {
		whole = plain(whole)
		if !q.dear(len(whole)) && !q.re.Match(whole) && !strings.Contains(q.Pattern, `\A`) && !strings.Contains(q.Pattern, `\z`) {
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
		return q.spans(ctx, text, to)
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
	after, since := 0, 0
	for n := 1; ; n++ {
		if q.dear(since) {
			if since = 0; ctx.Err() != nil {
				return false
			}
		}
		b, ok := next()
		if !ok {
			return true
		}
		since += 1 + len(b)
		b = bytes.TrimSuffix(b, []byte("\r"))
		at := q.match(ctx, b)
		if ctx.Err() != nil && q.dear(len(b)) {
			return false
		}
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

// dear tells whether a look at so many bytes takes so long that the search must be able to end meanwhile: what it takes
// grows with the length of the text times that of the pattern.
func (q *query) dear(n int) bool { return n*q.steps > 32<<20 }

// match finds the first match in a text. Where that is dear it ends early with ctx; what it finds then means nothing.
func (q *query) match(ctx context.Context, text []byte) []int {
	if !q.dear(len(text)) {
		return q.re.FindSubmatchIndex(text)
	}
	return q.re.FindReaderSubmatchIndex(&ending{ctx: ctx, in: bytes.NewReader(text), every: max(1, 1<<20/q.steps)})
}

// ending is a text that ends when ctx does.
type ending struct {
	ctx      context.Context
	in       *bytes.Reader
	n, every int
}

// ReadRune implements io.RuneReader.
func (e *ending) ReadRune() (rune, int, error) {
	if e.n++; e.n%e.every == 0 && e.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	return e.in.ReadRune()
}

// all finds the matches in a text. Where that is dear the next one is looked for from the line on after the last.
func (q *query) all(ctx context.Context, text []byte) (matches []span) {
	if !q.dear(len(text)) {
		for _, m := range q.re.FindAllSubmatchIndex(text, -1) {
			matches = append(matches, span{m[2], m[3]})
		}
		return matches
	}
	for from := 0; from < len(text); {
		m := q.match(ctx, text[from:])
		if m == nil || ctx.Err() != nil {
			break
		}
		matches = append(matches, span{from + m[2], from + m[3]})
		end := max(m[3], m[2]+1)
		next := bytes.IndexByte(text[min(from+end-1, len(text)):], '\n')
		if next < 0 || strings.Contains(q.Pattern, `\A`) {
			break
		}
		from += end + next
	}
	return matches
}

// spans looks for matches that may run over several lines, and gives the lines around them with them.
func (q *query) spans(ctx context.Context, text []byte, to sink) bool {
	matches := q.all(ctx, text)
	if ctx.Err() != nil {
		return false
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

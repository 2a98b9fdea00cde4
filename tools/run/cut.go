package run

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tandem/tools"
	"tandem/tools/outputs"
)

// long is a text with marks where its tool left something out, as it is kept and before it is cut for a model.
type long struct {
	text  string
	marks []mark
}

// mark is a line from start to end that stands for what is missing there.
type mark struct {
	start, end   int
	lines, bytes int64
}

// marked puts a line in the place of every gap. A gap without a count is none.
func marked(s string, gaps []tools.Gap) long {
	if len(gaps) == 0 {
		return long{text: s}
	}
	var b strings.Builder
	b.Grow(len(s) + 128*len(gaps))
	var l long
	from := 0
	for _, g := range gaps {
		if g.Bytes == 0 {
			continue
		}
		b.WriteString(s[from:g.At])
		from = g.At
		m := mark{start: b.Len(), lines: g.Lines, bytes: g.Bytes}
		startLine(&b)
		fmt.Fprintf(&b, "… [%s not kept] …\n", amount(g.Lines, g.Bytes))
		m.end = b.Len()
		l.marks = append(l.marks, m)
	}
	b.WriteString(s[from:])
	l.text = b.String()
	return l
}

// startLine ends the line that b ends with, if it is not ended.
func startLine(b *strings.Builder) {
	if s := b.String(); s != "" && s[len(s)-1] != '\n' {
		b.WriteByte('\n')
	}
}

// amount counts what is missing: whole lines, and all bytes.
func amount(lines, bytes int64) string {
	b := fmt.Sprintf("%d bytes", bytes)
	if bytes == 1 {
		b = "1 byte"
	}
	if lines == 0 {
		return b
	}
	return tools.Count(int(lines), "line") + ", " + b
}

// piece is what a cut leaves: the text from the beginning to from and that from to on, and how much is missing in between, whatever
// was missing there before included. Lines are those of which nothing is left.
type piece struct {
	from, to     int
	lines, bytes int64
}

// cut says what to leave of a text that has more than limit characters: head and tail, of half of them each, in whole lines unless
// that took more than half of either. ok is false where nothing has to be cut.
func (l long) cut(limit int) (p piece, ok bool) {
	s := l.text
	n := utf8.RuneCountInString(s)
	if limit <= 0 || n <= limit {
		return piece{}, false
	}
	p.from = tools.Skip(s, (limit+1)/2)
	p.to = p.from + tools.Skip(s[p.from:], n-limit)
	if at := strings.LastIndexByte(s[:p.from], '\n') + 1; at >= p.from/2 && at > 0 {
		p.from = at
	}
	if at := strings.IndexByte(s[p.to-1:], '\n'); at >= 0 && p.to+at <= p.to+(len(s)-p.to)/2 {
		p.to += at
	}
	for _, m := range l.marks { // a mark is left whole or goes whole
		if m.start < p.from && p.from < m.end {
			p.from = m.start
		}
		if m.start < p.to && p.to < m.end {
			p.to = m.end
		}
	}
	p = l.between(p.from, p.to)
	return p, true
}

// between is the piece that leaves out everything from one offset to the other, neither of which lies within a mark.
func (l long) between(from, to int) piece {
	p := piece{from: from, to: to, lines: int64(strings.Count(l.text[from:to], "\n")), bytes: int64(to - from)}
	if from > 0 && l.text[from-1] != '\n' && p.lines > 0 {
		p.lines-- // of that one the beginning is left
	}
	for _, m := range l.marks {
		if from <= m.start && m.end <= to {
			p.lines += m.lines - int64(strings.Count(l.text[m.start:m.end], "\n"))
			p.bytes += m.bytes - int64(m.end-m.start)
		}
	}
	p.lines = max(p.lines, 0)
	return p
}

// without is the text with a line in the place of what was cut. before is what is kept before the text under id, so that the line says
// where to read on; "" is no id.
func (l long) without(p piece, id, before string) string {
	var b strings.Builder
	b.WriteString(l.text[:p.from])
	startLine(&b)
	fmt.Fprintf(&b, "… [%s cut", amount(p.lines, p.bytes))
	if id != "" {
		line := strings.Count(outputs.Lines(before+l.text[:p.from]), "\n") + 1
		fmt.Fprintf(&b, ": read_file shows them with path %q and start_line %d", outputs.Prefix+id, line)
	}
	b.WriteString("] …\n")
	b.WriteString(l.text[p.to:])
	return b.String()
}

// shorten makes a result keep to the limits: no more than a number of characters is left of its texts together, and of data that is larger
// than an image may be, its name. What was cut is kept whole in env.Outputs.
func shorten(r *tools.Result, env *tools.Env, l tools.Limits) {
	r.Parts = slices.Clone(r.Parts)
	texts, of := []long{marked(r.Data, r.Gaps)}, []*string{&r.Data}
	r.Truncated = r.Truncated || len(texts[0].marks) > 0
	for i, p := range r.Parts {
		switch {
		case p.Kind == tools.TextPart:
			r.Parts[i] = tools.Part{Kind: p.Kind}
			texts, of = append(texts, long{text: strings.ToValidUTF8(p.Text, "\uFFFD")}), append(of, &r.Parts[i].Text)
		case len(p.Data) > l.MaxImageBytes:
			r.Parts[i] = tools.Part{
				Kind: tools.TextPart, Text: fmt.Sprintf("[Not shown, since it is larger than %d bytes: %s]", l.MaxImageBytes, p.Describe()),
			}
			r.Truncated = true
		}
	}
	pieces, cut, used := make([]*piece, len(texts)), false, 0
	for i, t := range texts {
		if l.MaxToolOutputChars <= 0 {
			break
		}
		n, room := utf8.RuneCountInString(t.text), l.MaxToolOutputChars-used
		if used += n; n <= room {
			continue
		}
		p := t.between(0, len(t.text))
		if room > 0 {
			p, _ = t.cut(room)
		}
		pieces[i], cut = &p, true
	}
	id := ""
	if cut && env.Outputs != nil {
		var whole []string
		for _, t := range texts {
			whole = append(whole, t.text)
		}
		id = outputs.ID(env.Call)
		env.Outputs.Keep(id, strings.Join(whole, "\n"))
	}
	for i, t := range texts {
		if *of[i] = t.text; pieces[i] != nil {
			var before strings.Builder
			for _, earlier := range texts[:i] {
				before.WriteString(earlier.text + "\n")
			}
			*of[i] = t.without(*pieces[i], id, before.String())
		}
	}
	r.Gaps, r.Truncated, r.Meta.Output = nil, r.Truncated || cut, id
}

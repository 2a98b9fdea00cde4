package show

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Inline finds the changed characters within changed lines. The search has a time limit: what comes
// after it has none.
type Inline struct{ deadline time.Time }

// NewInline gives one for the hunks of a file.
func NewInline() Inline { return Inline{time.Now().Add(inlineLimit)} }

// Spans are the changed parts of two versions of some lines; nil where one has no text, is large or
// no valid UTF-8, or where the time is up.
func (l Inline) Spans(old, new string) (out []Span) {
	if old == "" || new == "" || len(old)+len(new) > maxInline || l.late() {
		return nil
	}
	if !utf8.ValidString(old) || !utf8.ValidString(new) {
		return nil // the library does not keep invalid bytes
	}
	dmp := l.engine()
	i, j := 0, 0
	for _, p := range dmp.DiffCleanupSemantic(dmp.DiffMain(old, new, false)) {
		n := utf8.RuneCountInString(p.Text)
		switch p.Type {
		case diffmatchpatch.DiffEqual:
			i, j = i+n, j+n
		case diffmatchpatch.DiffDelete:
			out = append(out, Span{i, i + n, "delete"})
			i += n
		case diffmatchpatch.DiffInsert:
			out = append(out, Span{j, j + n, "insert"})
			j += n
		}
	}
	return out
}

func (l Inline) late() bool { return !time.Now().Before(l.deadline) }

// engine returns the library with the time that is left.
func (l Inline) engine() *diffmatchpatch.DiffMatchPatch {
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = max(time.Until(l.deadline), time.Nanosecond)
	return dmp
}

// LineSpan is a changed part of a line of File.Unified: runes Start to End behind the sign. Line is
// from 0.
type LineSpan struct{ Line, Start, End int }

// Spans are the changed parts of the lines of Unified. A line that is changed as a whole has none:
// its sign says it.
func (f File) Spans() (out []LineSpan) {
	var sides []side // in the order of Unified
	for _, h := range f.Hunks {
		sides = append(sides, sideOf(h, h.Old, "delete"), sideOf(h, h.New, "insert"))
	}
	inHunk := false
	n := 0
	for line := range strings.SplitSeq(f.Unified, "\n") {
		switch {
		case strings.HasPrefix(line, "@@"):
			inHunk = true
		case inHunk && line != "" && (line[0] == '-' || line[0] == '+'):
			for len(sides) > 0 && sides[0].text == "" {
				sides = sides[1:]
			}
			if len(sides) == 0 {
				return out
			}
			for _, s := range sides[0].next() {
				out = append(out, LineSpan{n, s.Start, s.End})
			}
		}
		n++
	}
	return out
}

// side is the lines of one side of a hunk that are still to come, and the spans of that side.
type side struct {
	text  string
	at    int // runes before text
	spans []Span
}

func sideOf(h Hunk, text, op string) side {
	s := side{text: text}
	for _, span := range h.Inline {
		if span.Op == op {
			s.spans = append(s.spans, span)
		}
	}
	return s
}

// next gives the spans within the next line, without its line end.
func (s *side) next() (out []Span) {
	line, rest, _ := strings.Cut(s.text, "\n")
	all := utf8.RuneCountInString(line)
	shown := utf8.RuneCountInString(strings.TrimSuffix(line, "\r"))
	for _, span := range s.spans {
		from, to := max(span.Start-s.at, 0), min(span.End-s.at, shown)
		if from < to && to-from < shown {
			out = append(out, Span{from, to, span.Op})
		}
	}
	s.text, s.at = rest, s.at+all+1
	return out
}

// Package show makes what people look at: diffs as unified text, whole lines per hunk
// and the changed characters within them, and texts in which nothing is invisible.
//
// Nothing is ever edited by these diffs. They have a time limit, so a very large
// change may come out coarser on a slow machine; the edits themselves are made by
// package text.
package show

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"

	"tandem/filetime/text"
)

const (
	defaultContext  = 3
	defaultMaxBytes = 1 << 20
	timeLimit       = 300 * time.Millisecond
	maxLines        = 1_000_000 // what the library can number
	manyLines       = 50_000    // from here on lines must not repeat much: those searches have no time limit
	maxInline       = 16 << 10
)

// Hunk is one run of changed lines, without context. Line numbers are from 1; a side
// with no lines has the number of the line before it, as in a unified diff.
type Hunk struct {
	OldStart, OldLines, NewStart, NewLines int

	Old, New string // the whole lines, with their line ends
	Inline   []Span // the changed parts, when both sides have lines and are valid UTF-8
}

// Span is a changed part of a hunk: runes Start to End of Old for "delete", of New
// for "insert".
type Span struct {
	Start, End int
	Op         string
}

// File is the diff of one file.
type File struct {
	Path, Unified        string
	Additions, Deletions int // lines
	Hunks                []Hunk
	Truncated            bool // too large: Unified and Hunks are left out
	Coarse               bool // a smaller diff may exist: time or size was at the limit
}

// Options change how a diff is written. The zero value is usable.
type Options struct {
	Context  int    // lines around a change; 0 means 3, negative none
	MaxBytes int    // limit of Unified; 0 means 1 MiB
	OldPath  string // the former path of a renamed file
	Created  bool   // the file did not exist before
	Deleted  bool   // the file does not exist any more
}

// Diff compares two versions of a file. Unified is what patch and git apply take; it
// is empty when nothing has changed.
func Diff(path string, old, new text.Text, o Options) File {
	return diff(path, old, new, o, timeLimit)
}

func diff(path string, old, new text.Text, o Options, limit time.Duration) File {
	d := differ{
		o:        o,
		f:        File{Path: path},
		deadline: time.Now().Add(limit),
	}
	if d.o.Context == 0 {
		d.o.Context = defaultContext
	}
	if d.o.MaxBytes == 0 {
		d.o.MaxBytes = defaultMaxBytes
	}
	if !old.Equal(new) {
		d.compare(old.String(), new.String())
	} else if o.OldPath != "" && o.OldPath != path {
		d.f.Unified = d.header()
	}
	return d.f
}

type differ struct {
	o        Options
	f        File
	deadline time.Time
	a, b     []string // lines
}

// run is a run of changed lines: a[a0:a1] became b[b0:b1].
type run struct{ a0, a1, b0, b1 int }

func (d *differ) compare(old, new string) {
	d.a, d.b = split(old), split(new)
	p, s := 0, 0
	for p < len(d.a) && p < len(d.b) && d.a[p] == d.b[p] {
		p++
	}
	for s < len(d.a)-p && s < len(d.b)-p && d.a[len(d.a)-1-s] == d.b[len(d.b)-1-s] {
		s++
	}
	x, y, fewest := intern(d.a[p:len(d.a)-s], d.b[p:len(d.b)-s])
	if fewest.bytes > d.o.MaxBytes {
		d.f.Additions, d.f.Deletions = fewest.additions, fewest.deletions
		d.f.Truncated, d.f.Coarse = true, true
		return
	}
	runs := d.align(x, y, fewest.distinct, p)
	for _, r := range runs {
		d.f.Deletions += r.a1 - r.a0
		d.f.Additions += r.b1 - r.b0
	}
	var ok bool
	if d.f.Unified, ok = d.unified(runs); !ok {
		d.f.Unified, d.f.Truncated = "", true
		return
	}
	for _, r := range runs {
		d.f.Hunks = append(d.f.Hunks, d.hunk(r))
	}
}

// split cuts a text after each \n.
func split(s string) []string {
	lines := make([]string, 0, strings.Count(s, "\n")+1)
	for s != "" {
		n := strings.IndexByte(s, '\n') + 1
		if n == 0 {
			n = len(s)
		}
		lines = append(lines, s[:n])
		s = s[n:]
	}
	return lines
}

// least is what every diff of two lists of lines has in it at the least, and how many
// different lines there are.
type least struct{ additions, deletions, bytes, distinct int }

// intern gives each distinct line a rune of its own.
func intern(a, b []string) (x, y []rune, fewest least) {
	ids := make(map[string]rune, len(a)+len(b))
	var surplus []int // by rune: how many more of a line a has
	number := func(lines []string, side int) []rune {
		out := make([]rune, len(lines))
		for i, l := range lines {
			id, ok := ids[l]
			if !ok {
				id = rune(len(ids))
				ids[l] = id
				surplus = append(surplus, 0)
			}
			surplus[id] += side
			if out[i] = id + 1; out[i] >= 0xD800 {
				out[i] += 0x800 // no surrogates: they do not survive in a string
			}
		}
		return out
	}
	x, y = number(a, 1), number(b, -1)
	fewest.distinct = len(ids)
	for l, id := range ids {
		n := surplus[id]
		fewest.deletions += max(n, 0)
		fewest.additions += max(-n, 0)
		fewest.bytes += max(n, -n) * (len(l) + 1)
	}
	return x, y, fewest
}

// align finds the changed runs between two lists of interned lines that begin at line
// first.
func (d *differ) align(x, y []rune, distinct, first int) []run {
	if n := len(x) + len(y); n > maxLines || n > manyLines && distinct < n/8 {
		d.f.Coarse = true
		return []run{{first, first + len(x), first, first + len(y)}}
	}
	var runs []run
	i, j, open := first, first, false
	for _, p := range d.engine().DiffMainRunes(x, y, false) {
		n := utf8.RuneCountInString(p.Text)
		if p.Type == diffmatchpatch.DiffEqual {
			i, j, open = i+n, j+n, false
			continue
		}
		if !open {
			runs, open = append(runs, run{i, i, j, j}), true
		}
		r := &runs[len(runs)-1]
		if p.Type == diffmatchpatch.DiffDelete {
			i += n
			r.a1 = i
		} else {
			j += n
			r.b1 = j
		}
	}
	d.f.Coarse = d.late()
	return runs
}

func (d *differ) late() bool { return !time.Now().Before(d.deadline) }

// engine returns the library with the time that is left.
func (d *differ) engine() *diffmatchpatch.DiffMatchPatch {
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = max(time.Until(d.deadline), time.Nanosecond)
	return dmp
}

func (d *differ) hunk(r run) Hunk {
	h := Hunk{
		OldStart: number(r.a0, r.a1), OldLines: r.a1 - r.a0,
		NewStart: number(r.b0, r.b1), NewLines: r.b1 - r.b0,
		Old: strings.Join(d.a[r.a0:r.a1], ""), New: strings.Join(d.b[r.b0:r.b1], ""),
	}
	if h.Old == "" || h.New == "" || len(h.Old)+len(h.New) > maxInline {
		return h
	}
	if !utf8.ValidString(h.Old) || !utf8.ValidString(h.New) {
		return h // the library does not keep invalid bytes
	}
	if d.late() {
		d.f.Coarse = true
		return h
	}
	dmp := d.engine()
	i, j := 0, 0
	for _, p := range dmp.DiffCleanupSemantic(dmp.DiffMain(h.Old, h.New, false)) {
		n := utf8.RuneCountInString(p.Text)
		switch p.Type {
		case diffmatchpatch.DiffEqual:
			i, j = i+n, j+n
		case diffmatchpatch.DiffDelete:
			h.Inline = append(h.Inline, Span{i, i + n, "delete"})
			i += n
		case diffmatchpatch.DiffInsert:
			h.Inline = append(h.Inline, Span{j, j + n, "insert"})
			j += n
		}
	}
	return h
}

// number is the first line of a range as a unified diff writes it.
func number(from, to int) int {
	if from == to {
		return from
	}
	return from + 1
}

// Package show makes what people look at: diffs as unified text, whole lines per hunk
// and the changed characters within them, and texts in which nothing is invisible.
//
// Which lines have changed depends on the texts alone: what a person decides about a
// hunk is kept by its number. Only the search for the changed characters within the
// lines has a time limit; on a slow machine some hunks of a very large change come
// without them.
package show

import (
	"slices"
	"strings"
	"time"

	"tandem/filetime/text"
)

const (
	defaultContext  = 3
	defaultMaxBytes = 1 << 20
	inlineLimit     = 300 * time.Millisecond // for the Inline of all hunks of a file together
	maxInline       = 16 << 10
)

// Hunk is one run of changed lines, without context. Line numbers are from 1; a side
// with no lines has the number of the line before it, as in a unified diff.
type Hunk struct {
	OldStart, OldLines, NewStart, NewLines int

	Old, New string // the whole lines, with their line ends
	Inline   []Span // the changed parts, when both sides have lines and are valid UTF-8 and there was time
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
// is empty when nothing has changed. No hunk has a line on both of its sides.
func Diff(path string, old, new text.Text, o Options) File {
	return diff(path, old, new, o, inlineLimit)
}

func diff(path string, old, new text.Text, o Options, limit time.Duration) File {
	d := newDiffer(path, o, limit)
	if !old.Equal(new) {
		d.lines(old, new)
		d.compare([]run{d.whole()})
	} else if o.OldPath != "" && o.OldPath != path {
		d.f.Unified = d.header()
	}
	return d.f
}

// Back is Diff where it is known what was changed: back leads from the new version to
// the old one. Only lines that it touches are in the hunks.
func Back(path string, new text.Text, back text.Set, o Options) File {
	d := newDiffer(path, o, inlineLimit)
	old := back.Apply(new)
	if !old.Equal(new) {
		d.lines(old, new)
		d.compare(d.touched(back))
	}
	return d.f
}

// Lines gives the lines that Diff shows as changed: each edit is a hunk, and of whole
// lines.
func Lines(old, new text.Text) text.Set {
	if old.Equal(new) {
		return nil
	}
	d := newDiffer("", Options{}, 0)
	d.lines(old, new)
	at := offsets(d.a)
	var out text.Set
	for _, r := range d.align(d.whole()) {
		out = append(out, text.Edit{Start: at[r.a0], End: at[r.a1], New: strings.Join(d.b[r.b0:r.b1], "")})
	}
	return out
}

type differ struct {
	o      Options
	f      File
	inline Inline
	a, b   []string // lines
}

// newDiffer gives one that looks for changed characters for so long.
func newDiffer(path string, o Options, limit time.Duration) *differ {
	if o.Context == 0 {
		o.Context = defaultContext
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	return &differ{o: o, f: File{Path: path}, inline: Inline{time.Now().Add(limit)}}
}

func (d *differ) lines(old, new text.Text) { d.a, d.b = split(old.String()), split(new.String()) }

// run is a run of changed lines: a[a0:a1] became b[b0:b1].
type run struct{ a0, a1, b0, b1 int }

func (d *differ) whole() run { return run{0, len(d.a), 0, len(d.b)} }

// compare fills in the file; what has changed lies within some runs.
func (d *differ) compare(within []run) {
	var runs []run
	for _, r := range within {
		runs = append(runs, d.align(r)...)
	}
	bytes := 0
	for _, r := range runs {
		d.f.Deletions += r.a1 - r.a0
		d.f.Additions += r.b1 - r.b0
		for _, l := range slices.Concat(d.a[r.a0:r.a1], d.b[r.b0:r.b1]) {
			bytes += len(l) + 1
		}
	}
	ok := bytes <= d.o.MaxBytes
	if ok {
		d.f.Unified, ok = d.unified(runs)
	}
	if !ok {
		d.f.Unified, d.f.Truncated = "", true
		return
	}
	for _, r := range runs {
		d.f.Hunks = append(d.f.Hunks, d.hunk(r))
	}
}

// touched gives the lines that a set from the new version back to the old one touches.
func (d *differ) touched(back text.Set) []run {
	old, new := offsets(d.a), offsets(d.b)
	var out []run
	grown := 0
	for _, e := range back {
		first := lineOf(new, d.b, e.Start)
		began := new[first] + grown
		grown += len(e.New) - (e.End - e.Start)
		stop, at := lineOf(new, d.b, e.End), lineOf(old, d.a, e.End+grown)
		if new[stop] < e.End || old[at] < e.End+grown {
			stop = min(stop+1, len(d.b)) // the line goes on behind the edit
		}
		n := len(out) - 1
		if n < 0 || first > out[n].b1 {
			a0, _ := slices.BinarySearch(old, began)
			out = append(out, run{a0, a0, first, first})
			n++
		}
		r := &out[n]
		r.b1 = max(r.b1, stop)
		r.a1, _ = slices.BinarySearch(old, new[r.b1]+grown)
	}
	return out
}

// offsets says where each line begins, and where the last one ends.
func offsets(lines []string) []int {
	out := make([]int, len(lines)+1)
	for i, l := range lines {
		out[i+1] = out[i] + len(l)
	}
	return out
}

// lineOf is the line that an offset is in. The end of a text that ends a line is behind
// the last one.
func lineOf(at []int, lines []string, off int) int {
	i, found := slices.BinarySearch(at, off)
	if !found || i == len(lines) && i > 0 && !strings.HasSuffix(lines[i-1], "\n") {
		i--
	}
	return i
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

// align finds the changed runs within a run.
func (d *differ) align(r run) (out []run) {
	for r.a0 < r.a1 && r.b0 < r.b1 && d.a[r.a0] == d.b[r.b0] {
		r.a0, r.b0 = r.a0+1, r.b0+1
	}
	for r.a0 < r.a1 && r.b0 < r.b1 && d.a[r.a1-1] == d.b[r.b1-1] {
		r.a1, r.b1 = r.a1-1, r.b1-1
	}
	for _, l := range text.Lines(strings.Join(d.a[r.a0:r.a1], ""), strings.Join(d.b[r.b0:r.b1], "")) {
		out = append(out, run{r.a0 + l.A0, r.a0 + l.A1, r.b0 + l.B0, r.b0 + l.B1})
	}
	return out
}

func (d *differ) hunk(r run) Hunk {
	h := Hunk{
		OldStart: number(r.a0, r.a1), OldLines: r.a1 - r.a0,
		NewStart: number(r.b0, r.b1), NewLines: r.b1 - r.b0,
		Old: strings.Join(d.a[r.a0:r.a1], ""), New: strings.Join(d.b[r.b0:r.b1], ""),
	}
	h.Inline = d.inline.Spans(h.Old, h.New)
	return h
}

// number is the first line of a range as a unified diff writes it.
func number(from, to int) int {
	if from == to {
		return from
	}
	return from + 1
}

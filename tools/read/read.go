// Package read is the tool read_file: the text of a file as it is now, unsaved changes included.
package read

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/entry"
	"tandem/tools/outputs"
)

//go:embed read.md
var description string

const (
	defaultLimit = 2000
	defaultBytes = 50 << 10
)

type input struct {
	Path      string `json:"path" desc:"The file." minlen:"1" alias:"file_path,absolute_path,file,filename" nocoerce:"true"`
	StartLine *int   `json:"start_line" desc:"From 1." min:"1"`
	EndLine   *int   `json:"end_line" desc:"Included." min:"1"`
	StartCol  *int   `json:"start_column" desc:"In a long line." min:"1" shown:"false"`
	EndCol    *int   `json:"end_column" desc:"Included." min:"1" shown:"false"`
	Offset    *int   `json:"offset" desc:"Lines to skip." min:"0" shown:"false"`
	Limit     int    `json:"limit" desc:"Lines at most." default:"2000" min:"1" shown:"false"`
}

type value struct {
	Path      string `json:"path"`
	StartLine int    `json:"startLine"`
	EndLine   int    `json:"endLine"`
	// StartColumn and EndColumn are the characters of the line, from 1, where a part of it was
	// asked for.
	StartColumn int    `json:"startColumn,omitzero"`
	EndColumn   int    `json:"endColumn,omitzero"`
	TotalLines  int    `json:"totalLines"`
	Source      string `json:"source"`
	Version     *int32 `json:"version,omitempty"`
}

// outcome is how much of the file was read.
func outcome(r *tools.Result) string {
	v, ok := r.Value.(*value)
	switch {
	case !ok:
		return ""
	case v.StartLine <= 1 && v.EndLine == v.TotalLines:
		return tools.Count(v.TotalLines, "line")
	}
	return fmt.Sprintf("lines %d-%d of %d", v.StartLine, v.EndLine, v.TotalLines)
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[input]{
		Spec: tools.Spec{
			Name: "read_file", Aliases: []string{"read", "view", "cat_file", "view_image"}, Kind: tools.Read, Category: "files",
			Description: strings.TrimSpace(description), Danger: tools.Safe, Class: tools.ClassRead,
			Together: tools.WithReads, NotDestructive: true, Source: "builtin", Pages: true,
		},
		Title:   func(in input) string { return "Read " + in.Path },
		Subject: func(in input) string { return in.Path },
		Outcome: outcome,
		Needs:   needs,
		Plan:    plan,
	})
}

// needs are none for an output of the session, which is no file.
func needs(env *tools.Env, in input) ([]tools.Need, error) {
	if strings.HasPrefix(in.Path, outputs.Prefix) {
		place, err := env.Paths.Readable(in.Path)
		if err == nil {
			_, err = place.Stat()
		}
		if err != nil { // no file has this very name
			return []tools.Need{{Act: tools.Nothing}}, nil
		}
	}
	return tools.ToRead(env, in.Path)
}

// window is which lines are wanted: first counts from 1, most is how many at most, 0 meaning all
// the rest.
type window struct {
	first, most int
	// asked says that somebody wanted just these lines.
	asked bool
	// column is the first character of the line that is wanted, from 1, width how many at most; 0
	// is all of the line.
	column, width int
}

func plan(_ context.Context, env *tools.Env, in input) (*tools.Plan, error) {
	w, err := in.window()
	if err != nil {
		return nil, err
	}
	if id, ok := strings.CutPrefix(in.Path, outputs.Prefix); ok && env.Needs[0].Act == tools.Nothing {
		return &tools.Plan{
			Title: "Read " + in.Path, Kind: tools.Read, Danger: tools.Safe, Semantic: "read",
			Run: func(context.Context) (tools.Result, error) { return kept(env, id, w) },
		}, nil
	}
	place := env.Place()
	path := place.Path()
	return &tools.Plan{
		Title: "Read " + env.Name(path), Kind: tools.Read, Danger: tools.Safe,
		Locations: []tools.Location{{Path: path, Line: w.first}}, Semantic: "read",
		Run: func(ctx context.Context) (tools.Result, error) { return run(ctx, env, place, w) },
	}, nil
}

func (in input) window() (window, error) {
	w := window{first: 1, most: in.Limit}
	byLine := in.StartLine != nil || in.EndLine != nil
	switch {
	case byLine && (in.Offset != nil || in.Limit != 0 && in.Limit != defaultLimit):
		return w, tools.Misused("$.offset", "absent", "start_line and end_line cannot be combined with offset and limit: give one pair.")
	case in.StartLine != nil && in.EndLine != nil && *in.EndLine < *in.StartLine:
		return w, tools.Misused("$.end_line", fmt.Sprintf(">= %d", *in.StartLine),
			fmt.Sprintf("end_line %d lies before start_line %d.", *in.EndLine, *in.StartLine))
	}
	if in.StartCol != nil || in.EndCol != nil {
		return in.part()
	}
	w.asked = byLine || in.Offset != nil || in.Limit != 0 && in.Limit != defaultLimit
	if in.StartLine != nil {
		w.first = *in.StartLine
	}
	if in.Offset != nil {
		w.first = *in.Offset + 1
	}
	if in.EndLine != nil {
		w.most = *in.EndLine - w.first + 1
	}
	if w.most == 0 {
		w.most = defaultLimit
	}
	return w, nil
}

// part is the window of a part of one line.
func (in input) part() (window, error) {
	w := window{first: 1, most: 1, asked: true, column: 1, width: tools.MaxLine}
	if in.StartLine != nil {
		w.first = *in.StartLine
	}
	if in.StartCol != nil {
		w.column = *in.StartCol
	}
	if in.EndCol != nil {
		w.width = *in.EndCol - w.column + 1
	}
	switch {
	case in.Offset != nil || in.Limit != 0 && in.Limit != defaultLimit:
		return w, tools.Misused("$.offset", "absent", "start_column and end_column cannot be combined with offset and limit: give start_line.")
	case in.EndLine != nil && *in.EndLine != w.first:
		return w, tools.Misused("$.end_line", fmt.Sprint(w.first), "start_column and end_column are of one line: give start_line alone.")
	case w.width < 1:
		return w, tools.Misused("$.end_column", fmt.Sprintf(">= %d", w.column), fmt.Sprintf("end_column %d lies before start_column %d.", *in.EndCol, w.column))
	}
	return w, nil
}

func run(ctx context.Context, env *tools.Env, place sandbox.Place, w window) (tools.Result, error) {
	path := place.Path()
	if r := shown(ctx, env, place); r != nil {
		return *r, nil
	}
	snap, err := env.Read(ctx, place)
	var fe *filetime.Error
	switch {
	case errors.As(err, &fe):
		return refused(ctx, env, place, w, fe)
	case err != nil:
		return tools.Result{}, err
	case !snap.Exists:
		return tools.Result{}, &filetime.Error{
			Code: filetime.ReadError, Reason: "enoent", Path: path,
			Message: fmt.Sprintf("File not found: %s (ENOENT). Look for it with glob.", path),
		}
	}
	if !w.asked {
		if r := notebook(env, snap); r != nil {
			return *r, nil
		}
	}
	total := tools.Lines(snap.Text)
	p := newPage(env, env.Name(path), w)
	p.fill(snap.Text)
	r, err := p.result(path, total)
	if err != nil {
		return r, err
	}
	v := r.Value.(*value)
	v.Source, v.Version = from(&r, snap)
	if note := tools.Changed(env, snap); note != "" {
		r.Data += "\n" + note
	} else if p.Count() > 0 && !p.Cut() && env.FileTime.Sent(snap, p.first, p.last()) {
		r.Again = &tools.Repeat{
			Head: p.head(), Lines: "\n" + p.String(),
			Instead: fmt.Sprintf("Unchanged: lines %d-%d of %s are as you read them before, see the earlier result.", p.first, p.last(), p.name),
		}
	}
	p.Seen(env.FileTime, snap)
	return r, nil
}

// from notes in a result where its text comes from, and gives that.
func from(r *tools.Result, snap filetime.Snapshot) (source string, version *int32) {
	source = "disk"
	if snap.Open {
		source, version = "buffer", &snap.Version
	}
	r.Meta.Source, r.Meta.Version, r.Meta.Cache = source, version, "miss"
	if snap.Cached {
		r.Meta.Cache = "hit"
	}
	return source, version
}

// kept shows an answer of the session that was too long for the model.
func kept(env *tools.Env, id string, w window) (tools.Result, error) {
	name := outputs.Prefix + id
	s, err := "", outputs.ErrGone
	if env.Outputs != nil {
		s, err = env.Outputs.Get(id)
	}
	switch {
	case errors.Is(err, outputs.ErrGone):
		return tools.Fail(filetime.ReadError, "output_gone", "Output not found: %q. Outputs that were cut are kept until the session is closed, "+
			"and the oldest are dropped. Make the call again, and have it give less. A file of this name is read as ./%[1]s.", name), nil
	case err != nil:
		return tools.Fail(filetime.ReadError, "unreadable", "The output cannot be read: %v. Make the call again.", err), nil
	}
	t := text.New(s)
	p := newPage(env, show.Visible(name, false), w)
	p.fill(t)
	r, err := p.result(name, tools.Lines(t))
	if v, ok := r.Value.(*value); ok {
		v.Source = "output"
	}
	return r, err
}

// page gathers the lines of a window as long as they fit.
type page struct {
	tools.Excerpt
	window
	name string
	size int // characters of the line of which a part is wanted
}

func newPage(env *tools.Env, name string, w window) *page {
	p := &page{window: w, name: name}
	const frame = 300 // bytes of all that is written around the lines
	p.Room, p.Width, p.Most = cmp.Or(env.Limits.MaxReadBytes, defaultBytes)-frame-len(p.name), tools.MaxLine, w.most
	return p
}

func (p *page) head() string { return fmt.Sprintf("<file path=%q ", p.name) }
func (p *page) last() int    { return p.first + p.Count() - 1 }
func (p *page) more() bool   { return !p.Full() && p.Count() < p.most }

// blockBytes is how much of a text is looked at in one piece.
const blockBytes = 64 << 10

// fill takes the lines out of t, of which it looks at no more than what can fit.
func (p *page) fill(t text.Text) {
	start := t.LineStart(p.first - 1)
	if p.column > 0 {
		if p.first <= tools.Lines(t) {
			whole := p.bare(t.Slice(start, t.LineEnd(p.first-1)))
			from := tools.Skip(whole, p.column-1)
			p.columns(whole[from:from+tools.Skip(whole[from:], p.width)], utf8.RuneCountInString(whole), from)
		}
		return
	}
	if lines := min(p.most, t.LineCount()-p.first+1); lines > 0 {
		p.Grow(lines, t.LineStart(p.first-1+lines)-start)
	}
	for at := start; at < t.Len() && p.more(); {
		block := t.Slice(at, min(t.Len(), at+blockBytes))
		used := 0
		for p.more() {
			i := strings.IndexByte(block[used:], '\n')
			if i < 0 {
				break
			}
			p.add(strings.TrimSuffix(block[used:used+i], "\r"))
			used += i + 1
		}
		if used == 0 { // it is longer than a block, or the last one
			n := p.last() + 1
			p.add(t.Slice(at, t.LineEnd(n-1)))
			used = t.LineStart(n) - at
		}
		at += used
	}
}

// add takes in the next line.
func (p *page) add(line string) {
	size := len(line)
	if size > p.Width {
		size = utf8.RuneCountInString(line)
	}
	p.put(line, size)
}

func (p *page) put(line string, size int) { p.Line(p.last()+1, p.bare(line), size, 0) }

// bare is the next line without the byte order mark of the file.
func (p *page) bare(line string) string {
	if p.last() == 0 {
		return strings.TrimPrefix(line, "\uFEFF")
	}
	return line
}

// columns takes in the part of a line that is wanted, which begins at a byte offset; the line has
// size characters.
func (p *page) columns(part string, size, at int) {
	if p.size = max(size, 1); p.column <= p.size {
		p.Columns(p.first, part, p.column, size, at)
	}
}

func (p *page) result(path string, total int) (tools.Result, error) {
	if p.first > total && p.first > 1 {
		return tools.Result{}, tools.Misused("$.start_line", fmt.Sprintf("<= %d", total),
			fmt.Sprintf("%s has %s: there is no line %d.", p.name, tools.Count(total, "line"), p.first))
	}
	if p.column > max(p.size, 1) {
		return tools.Result{}, tools.Misused("$.start_column", fmt.Sprintf("<= %d", p.size),
			fmt.Sprintf("Line %d of %s has %s: there is no column %d.", p.first, p.name, tools.Count(p.size, "character"), p.column))
	}
	r := tools.Result{Success: true, Summary: fmt.Sprintf("Read %s (%s)", p.name, tools.Count(p.Count(), "line"))}
	first, lines := p.first, p.String()
	if p.Count() == 0 {
		first, lines = 0, "(the file is empty)\n"
	}
	var b strings.Builder
	b.Grow(len(lines) + len(p.name) + 300)
	fmt.Fprintf(&b, "%slines=\"%d-%d\" total=\"%d\">\n%s</file>", p.head(), first, p.last(), total, lines)
	if rest := p.last() < total; rest && (p.Full() || !p.asked) {
		fmt.Fprintf(&b, "\n(continue with start_line=%d)", p.last()+1)
		r.Truncated = true
	}
	v := &value{Path: path, StartLine: first, EndLine: p.last(), TotalLines: total}
	line, column := p.Rest()
	if p.column > 0 {
		v.StartColumn, v.EndColumn = p.column, p.size
		if column > 0 {
			v.EndColumn = column - 1
		}
	}
	if column > 0 && column < p.column+p.width || p.column == 0 && column > 0 {
		fmt.Fprintf(&b, "\n(line %d goes on: start_line=%[1]d, start_column=%d)", line, column)
		r.Truncated = true
	}
	r.Data = b.String()
	r.Value = v
	return r, nil
}

// refused words what the files cannot give as text, with what to do instead. A range of a file that
// is too large to be held is read from the disk.
func refused(ctx context.Context, env *tools.Env, place sandbox.Place, w window, fe *filetime.Error) (tools.Result, error) {
	switch {
	case fe.Code == filetime.BinaryFile && fe.Reason != "encoding":
		if sum, ok := entry.Sum(place); ok { // there is no more of it to see
			env.FileTime.ReadBytes(place.Path(), sum)
		}
		return binary(env.Name(place.Path()), fe.Reason), nil
	case fe.Code == filetime.FileTooLarge && w.asked:
		return large(ctx, env, place, w)
	}
	return tools.Result{}, fe
}

func binary(name, reason string) tools.Result {
	return tools.Fail(filetime.BinaryFile, reason, "%s: Looks like a binary file. It cannot be shown as text; "+
		"use bash with a program that understands it.", name)
}

// large reads a range of a file that is too large to be held, so that it cannot be edited either.
func large(ctx context.Context, env *tools.Env, place sandbox.Place, w window) (tools.Result, error) {
	path := place.Path()
	f, _, err := place.Open()
	if err != nil {
		return tools.Fail(filetime.ReadError, "unreadable", "%s cannot be read: %v.", env.Name(path), err), nil
	}
	defer f.Close()
	p := newPage(env, env.Name(path), w)
	in := bufio.NewReaderSize(f, 256<<10)
	if head, _ := in.Peek(text.Sniffed); text.Binary(head) {
		return binary(p.name, "binary"), nil
	} else if bytes.HasPrefix(head, []byte("\uFEFF")) {
		in.Discard(len("\uFEFF")) // it was peeked at
	}
	total := 0
	for ctx.Err() == nil {
		wanted := total+1 >= p.first && p.more()
		line, err := limited(in, wanted, max(p.column-1, 0), max(p.width, tools.MaxLine+1))
		if line.bytes > 0 {
			switch total++; {
			case wanted && p.column > 0:
				p.columns(line.text, line.size, 0)
			case wanted:
				p.put(line.text, line.size)
			}
		}
		if errors.Is(err, io.EOF) {
			r, err := p.result(path, total)
			if v, ok := r.Value.(*value); ok {
				v.Source, r.Meta.Source = "disk", "disk"
				r.Data += fmt.Sprintf("\n(the file is over the limit of %s: it can be read in ranges, but not edited)",
					filetime.Size(env.Limits.MaxFileBytes))
			}
			return r, err
		}
		if err != nil {
			return tools.Fail(filetime.ReadError, "unreadable", "%s cannot be read: %v.", p.name, err), nil
		}
	}
	return tools.Result{}, context.Cause(ctx)
}

// line is one line of a stream: a part of its text, and how many characters and, with its end,
// bytes it has.
type line struct {
	text        string
	size, bytes int
}

// limited reads one line, of which it keeps so many characters behind the first few, and nothing
// where keep is false.
func limited(in *bufio.Reader, keep bool, skipped, most int) (line, error) {
	var l line
	var kept []byte
	for {
		part, err := in.ReadSlice('\n')
		l.bytes += len(part)
		whole := !errors.Is(err, bufio.ErrBufferFull)
		if keep {
			if whole {
				part = bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r"))
			}
			for i, b := range part {
				if utf8.RuneStart(b) {
					l.size++
				}
				if skipped < l.size && l.size <= skipped+most {
					kept = append(kept, part[i])
				}
			}
		}
		if whole {
			l.text = string(kept)
			return l, err
		}
	}
}

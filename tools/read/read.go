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
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/sandbox/tree"
	"tandem/tools"
	"tandem/tools/schema"
)

//go:embed read.md
var description string

const (
	defaultLimit = 2000
	defaultBytes = 50 << 10
)

type input struct {
	Path      string `json:"path" desc:"The file to read." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
	StartLine *int   `json:"start_line" desc:"First line to show, counted from 1." min:"1"`
	EndLine   *int   `json:"end_line" desc:"Last line to show, included." min:"1"`
	Offset    *int   `json:"offset" desc:"How many lines to skip, instead of start_line." min:"0"`
	Limit     int    `json:"limit" desc:"How many lines to show." default:"2000" min:"1"`
}

type value struct {
	Path       string `json:"path"`
	StartLine  int    `json:"startLine"`
	EndLine    int    `json:"endLine"`
	TotalLines int    `json:"totalLines"`
	Source     string `json:"source"`
	Version    *int32 `json:"version,omitempty"`
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[input]{
		Spec: tools.Spec{
			Name: "read_file", Aliases: []string{"read", "view", "cat_file"}, Kind: tools.Read, Category: "files",
			Description: strings.TrimSpace(description), Danger: tools.Safe, Class: tools.ClassRead,
			Together: tools.WithReads, NotDestructive: true, Source: "builtin", Pages: true,
		},
		Title:   func(in input) string { return "Read " + in.Path },
		Targets: func(in input) []string { return []string{in.Path} },
		Plan:    plan,
	})
}

// window is which lines are wanted: first counts from 1, most is how many at most, 0 meaning all the rest.
type window struct {
	first, most int
	// asked says that somebody wanted just these lines.
	asked bool
}

func plan(_ context.Context, env *tools.Env, in input) (*tools.Plan, error) {
	w, err := in.window()
	if err != nil {
		return nil, err
	}
	path, err := env.Paths.Readable(in.Path)
	if err != nil {
		return nil, err
	}
	return &tools.Plan{
		Title: "Read " + env.Name(path), Kind: tools.Read, Danger: tools.Safe, Op: tools.OpRead,
		Locations: []tools.Location{{Path: path, Line: w.first}}, Paths: []string{path}, Semantic: "read",
		Run: func(ctx context.Context) (tools.Result, error) { return run(ctx, env, path, w) },
	}, nil
}

func (in input) window() (window, error) {
	w := window{first: 1, most: in.Limit}
	byLine := in.StartLine != nil || in.EndLine != nil
	switch {
	case byLine && (in.Offset != nil || in.Limit != 0 && in.Limit != defaultLimit):
		return w, invalid("$.offset", "absent", "start_line and end_line do not go with offset and limit: give one pair.")
	case in.StartLine != nil && in.EndLine != nil && *in.EndLine < *in.StartLine:
		return w, invalid("$.end_line", fmt.Sprintf(">= %d", *in.StartLine),
			fmt.Sprintf("end_line %d lies before start_line %d.", *in.EndLine, *in.StartLine))
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

func invalid(path, expected, message string) error {
	r := tools.Fail(tools.InvalidArgs, "", "Parameter validation failed:\n%s", message)
	pointer := strings.ReplaceAll(strings.TrimPrefix(path, "$"), ".", "/")
	r.Issues = []schema.Issue{{Path: path, Pointer: pointer, Expected: expected, Received: "present", Message: message}}
	return &tools.Refusal{Result: r}
}

func run(ctx context.Context, env *tools.Env, path string, w window) (tools.Result, error) {
	snap, err := env.Files.Read(ctx, path)
	var fe *filetime.Error
	switch {
	case errors.As(err, &fe):
		return refused(ctx, env, path, w, fe)
	case err != nil:
		return tools.Result{}, err
	case !snap.Exists:
		return missing(ctx, env, path), nil
	}
	total := tools.Lines(snap.Text)
	p := page{name: env.Name(path), window: w, budget: budget(env)}
	p.fill(snap.Text)
	r, err := p.result(path, total)
	if err != nil {
		return r, err
	}
	v := r.Value.(*value)
	v.Source, r.Meta.Source = "disk", "disk"
	if snap.Open {
		v.Source, v.Version = "buffer", &snap.Version
		r.Meta.Source, r.Meta.Version = "buffer", &snap.Version
	}
	see(env.FileTime, snap, &p, total)
	return r, nil
}

// see records the lines that were shown whole. The end of the last line counts as seen with it.
func see(ft *filetime.FileTime, snap filetime.Snapshot, p *page, total int) {
	last := p.last()
	if p.cut {
		last--
	}
	if last == total {
		last = snap.Text.LineCount()
	}
	ft.Read(snap, p.first, last)
}

func budget(env *tools.Env) int {
	if env.Limits.MaxReadBytes > 0 {
		return env.Limits.MaxReadBytes
	}
	return defaultBytes
}

// page gathers the lines of a window as long as they fit.
type page struct {
	window
	name   string
	budget int
	lines  int
	bytes  int
	body   []byte
	// full says that a line did not fit any more, cut that the only line did not fit whole.
	full, cut bool
}

func (p *page) last() int  { return p.first + p.lines - 1 }
func (p *page) more() bool { return !p.full && !p.cut && p.lines < p.most }

// fill takes the lines out of t, of which it looks at no more than what can fit: each line counts one byte for its end,
// which has two at most.
func (p *page) fill(t text.Text) {
	start := t.LineStart(p.first - 1)
	rest := t.Slice(start, min(t.Len(), start+2*p.budget+2))
	if start == 0 {
		rest = strings.TrimPrefix(rest, "\uFEFF")
	}
	p.body = make([]byte, 0, min(len(rest), p.budget)*5/4+64)
	for rest != "" && p.more() {
		line, after := rest, ""
		if i := strings.IndexAny(rest, "\r\n"); i >= 0 {
			line, after = rest[:i], rest[i+1:]
			if rest[i] == '\r' {
				after = strings.TrimPrefix(after, "\n")
			}
		}
		p.add(line, len(line))
		rest = after
	}
}

// add takes one line of size bytes in, of which line holds at least as much as fits.
func (p *page) add(line string, size int) {
	if p.bytes+size > p.budget {
		if p.full = p.lines > 0; p.full {
			return
		}
		p.cut = true
		line = line[:p.budget]
		for !utf8.ValidString(line[max(0, len(line)-utf8.UTFMax):]) && len(line) > p.budget-utf8.UTFMax {
			line = line[:len(line)-1]
		}
		line += fmt.Sprintf(" … (the first %s of a longer line)", tree.Size(int64(len(line))))
	}
	p.lines++
	p.bytes += len(line) + 1
	number := strconv.Itoa(p.last())
	p.body = append(p.body, "    "[min(len(number), 4):]...)
	p.body = append(p.body, number...)
	p.body = append(p.body, " | "...)
	p.body = append(p.body, strings.ToValidUTF8(line, "\uFFFD")...)
	p.body = append(p.body, '\n')
}

func (p *page) result(path string, total int) (tools.Result, error) {
	if p.first > total && p.first > 1 {
		return tools.Result{}, invalid("$.start_line", fmt.Sprintf("<= %d", total),
			fmt.Sprintf("%s has %d lines: there is no line %d.", p.name, total, p.first))
	}
	r := tools.Result{Success: true, Summary: fmt.Sprintf("Read %s (%s)", p.name, tools.Count(p.lines, "line"))}
	first := p.first
	if p.lines == 0 {
		first = 0
		p.body = append(p.body, "(the file is empty)\n"...)
	}
	var b strings.Builder
	b.Grow(len(p.body) + len(p.name) + 128)
	fmt.Fprintf(&b, "<file path=%q lines=\"%d-%d\" total=\"%d\">\n", p.name, first, p.last(), total)
	b.Write(p.body)
	b.WriteString("</file>")
	if rest := p.last() < total; rest && (p.full || p.cut || !p.asked) {
		fmt.Fprintf(&b, "\n(continue with start_line=%d)", p.last()+1)
		r.Truncated = true
	}
	r.Truncated = r.Truncated || p.cut
	r.Data = b.String()
	r.Value = &value{Path: path, StartLine: first, EndLine: p.last(), TotalLines: total}
	return r, nil
}

// refused words what the files cannot give as text, with what to do instead. A range of a file that is too large to be
// held is read from the disk.
func refused(ctx context.Context, env *tools.Env, path string, w window, fe *filetime.Error) (tools.Result, error) {
	name := env.Name(path)
	switch {
	case fe.Code == filetime.IsDirectory:
		return tools.Fail(fe.Code, fe.Reason, "%s is a directory. See what is in it with list_files.", name), nil
	case fe.Code == filetime.BinaryFile && fe.Reason != "encoding":
		return tools.Fail(fe.Code, fe.Reason, "%s: Looks like a binary file. It cannot be shown as text; "+
			"use bash with a program that understands it.", name), nil
	case fe.Code == filetime.FileTooLarge:
		if w.asked {
			return large(ctx, env, path, w)
		}
		size := "more than can be read at once"
		if info, err := tree.Stat(env.Paths, path); err == nil {
			size = tree.Size(info.Size())
		}
		return tools.Fail(fe.Code, fe.Reason, "%s is too large to be read whole (%s). Read a part with start_line and "+
			"end_line, or find the place with grep.", name, size), nil
	}
	return tools.Result{}, fe
}

func large(ctx context.Context, env *tools.Env, path string, w window) (tools.Result, error) {
	dir, err := tree.Open(env.Paths, filepath.Dir(path))
	if err != nil {
		return tools.Result{}, err
	}
	defer dir.Close()
	f, err := dir.Open(filepath.Base(path))
	if err != nil {
		return tools.Fail(filetime.ReadError, "unreadable", "%s cannot be read: %v.", env.Name(path), err), nil
	}
	defer f.Close()
	p := page{name: env.Name(path), window: w, budget: budget(env)}
	in := bufio.NewReaderSize(f, 256<<10)
	total := 0
	for ctx.Err() == nil {
		line, err := limited(in, p.budget+1, total+1 >= p.first && p.more())
		if line.size > 0 {
			if total++; total >= p.first && p.more() {
				p.add(line.text, line.size)
			}
		}
		if errors.Is(err, io.EOF) {
			r, err := p.result(path, total)
			if v, ok := r.Value.(*value); ok {
				v.Source, r.Meta.Source = "disk", "disk"
				r.Warnings = append(r.Warnings, "The file is too large to be edited with the edit tools.")
			}
			return r, err
		}
		if err != nil {
			return tools.Fail(filetime.ReadError, "unreadable", "%s cannot be read: %v.", p.name, err), nil
		}
	}
	return tools.Result{}, context.Cause(ctx)
}

type line struct {
	text string
	size int
}

// limited reads one line, of which it keeps no more than most bytes, and none where keep is false.
func limited(in *bufio.Reader, most int, keep bool) (line, error) {
	var l line
	var kept []byte
	for {
		part, err := in.ReadSlice('\n')
		l.size += len(part)
		if keep {
			kept = append(kept, part[:min(len(part), most-len(kept))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			l.text = string(bytes.TrimSuffix(bytes.TrimSuffix(kept, []byte("\n")), []byte("\r")))
			return l, err
		}
	}
}

// missing names the files whose names are near the one that is not there.
func missing(ctx context.Context, env *tools.Env, path string) tools.Result {
	hint := "Look for it with glob."
	if near := similar(ctx, env, path); len(near) > 0 {
		hint = "Did you mean " + strings.Join(near, " or ") + "?"
	}
	return tools.Fail(filetime.ReadError, "enoent", "Read file failed: %s does not exist (ENOENT). %s",
		env.Name(path), hint)
}

func similar(ctx context.Context, env *tools.Env, path string) []string {
	dir, err := tree.Open(env.Paths, filepath.Dir(path))
	if err != nil {
		return nil
	}
	defer dir.Close()
	type candidate struct {
		name     string
		distance float64
	}
	var found []candidate
	want := strings.ToLower(filepath.Base(path))
	_, _ = dir.Walk(ctx, 1, func(e tree.Entry) error {
		if d := distance(want, strings.ToLower(e.Path)); !e.Type.IsDir() && d <= 0.34 {
			found = append(found, candidate{env.Name(filepath.Join(filepath.Dir(path), e.Path)), d})
		}
		return nil
	})
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, c := range found[:min(3, len(found))] {
		names = append(names, c.name)
	}
	return names
}

// distance is how far two names are apart, from 0 to 1; two that differ in their ending alone are next to each other.
func distance(a, b string) float64 {
	if strings.TrimSuffix(a, filepath.Ext(a)) == strings.TrimSuffix(b, filepath.Ext(b)) {
		return 0
	}
	return float64(schema.Distance(a, b)) / float64(max(len(a), len(b), 1))
}

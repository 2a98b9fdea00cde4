// Package code is the tools that ask language servers about code: definition, references,
// document_symbols, workspace_symbols, diagnostics, rename_symbol, format and code_actions.
package code

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
)

// limit is how many places, symbols or findings an answer has.
const limit = 100

// spec is what the tools have in common.
func spec(name string, kind tools.Kind, description string) tools.Spec {
	return tools.Spec{
		Name: name, Kind: kind, Category: tools.Code, Description: strings.TrimSpace(description), Danger: tools.Safe, Class: tools.ClassRead,
		Together: tools.WithReads, NotDestructive: true, Deferred: true, Source: tools.SourceBuiltin, Pages: true,
	}
}

// needs are the file or folder that a call is about and the session's folders, since an answer
// quotes other files of theirs.
func needs(env *tools.Env, path string) ([]tools.Need, error) {
	out, err := tools.ToRead(env, path)
	if err != nil {
		return nil, err
	}
	for _, root := range env.Paths.Read {
		if place, err := env.Paths.Readable(root); err == nil {
			out = append(out, tools.Need{Act: tools.Reads, Place: place})
		}
	}
	return out, nil
}

// languages gives the servers to ask.
func languages(env *tools.Env) (tools.Languages, error) {
	l, err := env.Servers.Ask()
	if err != nil {
		return nil, missing(err)
	}
	return l, nil
}

// missing words the error of a server for the model.
func missing(err error) error {
	var none *tools.NoServerError
	if !errors.As(err, &none) {
		return err
	}
	says := none.Says
	if says == "" {
		says = "The editor runs none for this file, and none is configured."
	}
	return tools.Refuse(tools.Unsupported, "no_language_server", "No language server answers here. %s Use grep and read_file instead.", says)
}

// file reads the file that a call is about.
func file(ctx context.Context, env *tools.Env) (filetime.Snapshot, error) {
	now, err := env.Read(ctx, env.Place())
	if err != nil {
		return now, err
	}
	if !now.Exists {
		return now, &filetime.Error{
			Code: filetime.ReadError, Reason: "enoent", Path: now.Path, Message: fmt.Sprintf("File not found: %s (ENOENT).", now.Path),
		}
	}
	return now, planned(env, now)
}

// planned refuses a file with changes that wait for approval: its server has another text, so the
// positions of both would be mixed up.
func planned(env *tools.Env, now filetime.Snapshot) error {
	if !now.Planned {
		return nil
	}
	return tools.Refuse(tools.Unsupported, "planned", "%s has changes that wait for the user's approval, which the language server does not see. "+
		"Nothing was done. Use grep, read_file and edit_file there.", env.Name(now.Path))
}

// locate finds a name in a text: on the line that is said, from 1, else where it stands nearest to
// it. Of a qualified name it is the last part.
func locate(t text.Text, line int, name string) (offset int, ok bool) {
	whole, best := t.String(), -1
	for at := 0; ; {
		i := strings.Index(whole[at:], name)
		if i < 0 {
			break
		}
		start := at + i
		at = start + len(name)
		if !alone(whole, start, at) {
			continue
		}
		if best < 0 || apart(t.Line(start)+1, line) < apart(t.Line(best)+1, line) {
			best = start
		}
	}
	if best < 0 {
		return 0, false
	}
	if i := strings.LastIndexAny(name, ".:#>"); i >= 0 && i+1 < len(name) {
		best += i + 1
	}
	return best, true
}

func apart(a, b int) int { return max(a-b, b-a) }

// alone says that a name is no part of a longer one.
func alone(s string, start, end int) bool {
	word := func(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	before, _ := utf8.DecodeLastRuneInString(s[:start])
	after, _ := utf8.DecodeRuneInString(s[end:])
	first, _ := utf8.DecodeRuneInString(s[start:])
	last, _ := utf8.DecodeLastRuneInString(s[:end])
	return (start == 0 || !word(before) || !word(first)) && (end == len(s) || !word(after) || !word(last))
}

// spot is the place of a name, and a sentence where it is another line than was said.
func spot(env *tools.Env, now filetime.Snapshot, line int, name string) (at tools.Spot, told string, err error) {
	offset, ok := locate(now.Text, line, name)
	if !ok {
		e := tools.Places(env)
		e.Lines(now.Text, max(1, line-2), line+2)
		if tools.Shows(env, env.Place()) {
			e.Seen(env.FileTime, now)
		}
		return at, "", tools.Refuse(tools.InvalidArgs, "symbol", "%s is not in %s. Give the name as it stands in the file, and its line. Around line %d:\n%s",
			quoted(name), env.Name(now.Path), line, strings.TrimSuffix(e.String(), "\n"))
	}
	if is := now.Text.Line(offset) + 1; is != line {
		told = fmt.Sprintf(" (%s is not on line %d; taken from line %d)", quoted(name), line, is)
	}
	return tools.Spot{File: now, Offset: offset}, told, nil
}

func quoted(name string) string { return "`" + show.Visible(show.Clip(name, 100), false) + "`" }

// Place is a place in a file for a program; Line and Character, in code points, are from 1.
type Place struct {
	Path      string `json:"path"`
	URI       string `json:"uri,omitempty"` // in place of the path, of what is no file
	Line      int    `json:"line"`
	Character int    `json:"character"`
	Text      string `json:"text,omitempty"`
}

// reader reads the files that answers name, each once.
type reader struct {
	env   *tools.Env
	known map[string]*filetime.Snapshot // nil is one that may not be read, or cannot be
}

func newReader(env *tools.Env) *reader {
	return &reader{env, map[string]*filetime.Snapshot{}}
}

// read gives a file, nil where the call may not read it.
func (r *reader) read(ctx context.Context, path string) *filetime.Snapshot {
	path = sandbox.Canonical(path)
	if s, ok := r.known[path]; ok {
		return s
	}
	r.known[path] = nil
	place, err := r.env.Paths.Readable(path)
	if err != nil {
		return nil
	}
	if now, err := r.env.Read(ctx, place); err == nil && now.Exists && !now.Planned {
		r.known[path] = &now
	}
	return r.known[path]
}

// file gives the file of a span, nil where there is none that the call may read.
func (r *reader) file(ctx context.Context, s tools.Span) *filetime.Snapshot {
	if s.URI != "" {
		return nil
	}
	return r.read(ctx, s.Path)
}

// place reads what stands at a span: its line, without what is before and behind it. The text is ""
// where it may not be read.
func (r *reader) place(ctx context.Context, s tools.Span) Place {
	if s.URI != "" {
		return Place{URI: s.URI, Line: s.Start.Line + 1, Character: s.Start.Character + 1}
	}
	p := Place{Path: sandbox.Canonical(s.Path), Line: r.number(ctx, s), Character: s.Start.Character + 1}
	now := r.read(ctx, s.Path)
	if now == nil || !s.In(now.Text) {
		return p
	}
	off, _ := now.Text.Offset(s.Start, s.Encoding)
	start := now.Text.LineStart(p.Line - 1)
	p.Character = utf8.RuneCountInString(now.Text.Slice(start, off)) + 1
	line := now.Text.Slice(start, now.Text.LineEnd(p.Line-1))
	if p.Text = strings.TrimSpace(line); len(line) <= 500 {
		r.env.FileTime.Read(*now, p.Line, p.Line)
	}
	return p
}

// number is the line of a span, from 1: as its server counts lines where the file may not be read.
func (r *reader) number(ctx context.Context, s tools.Span) int {
	if now := r.file(ctx, s); now != nil && s.In(now.Text) {
		return s.Line(now.Text)
	}
	return s.Start.Line + 1
}

// line is a place as a line of an answer.
func (r *reader) line(number int, p Place) string {
	if p.URI != "" {
		return fmt.Sprintf("%d. %s:%d → (no file: its text cannot be read)", number, show.Visible(show.Clip(p.URI, 500), false), p.Line)
	}
	says := show.Visible(show.Clip(p.Text, 500), false)
	if p.Text == "" {
		says = "(its text cannot be shown)"
		if r.read(context.Background(), p.Path) == nil && !filepath.IsLocal(r.env.Paths.Rel(p.Path)) {
			says = "(outside the folders of this session)"
		}
	}
	return fmt.Sprintf("%d. %s:%d → %s", number, r.env.Name(p.Path), p.Line, says)
}

package tools

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
)

// Code is the category of the tools that ask language servers.
const Code = "code"

// Languages asks language servers about code. Its methods may be called concurrently. They fail with a *NoServerError where no server
// answers for the language of the file, and give nothing where one answers and knows nothing.
type Languages interface {
	// Serves says that there is reason to offer a model the tools of the category Code in a folder.
	Serves(folder string) bool
	// Definition and References say where what stands at a place is defined, and where it is used, its definition among them.
	Definition(ctx context.Context, at Spot) ([]Span, error)
	References(ctx context.Context, at Spot) ([]Span, error)
	// Rename says what another name for what stands at a place would change, by file.
	Rename(ctx context.Context, at Spot, name string) ([]FileEdits, error)
	// Format says what the formatter would change in a file as it is now.
	Format(ctx context.Context, file filetime.Snapshot) ([]FileEdits, error)
	// Actions gives what servers offer to do about the part of a file between two offsets in bytes. Of those with the title, which may be "",
	// it finds out what they would change.
	Actions(ctx context.Context, file filetime.Snapshot, start, end int, title string) ([]Action, error)
	// Outline gives the symbols of a file as it is now, each before those in it.
	Outline(ctx context.Context, file filetime.Snapshot) ([]Symbol, error)
	// Find gives the symbols of a workspace that fit a name; file is any file of it, which says the language, or the folder. With running
	// no server is started for it.
	Find(ctx context.Context, file, query string, running bool) ([]Symbol, error)
	// Diagnose gives what is wrong with a file as it is now, and waits a moment for servers that are still looking at it.
	Diagnose(ctx context.Context, file filetime.Snapshot) (Diagnosis, error)
	// Glance is Diagnose by servers that run already, with a limit to the wait, and leaves out what may be about an older text. With a
	// limit of 0 it does not wait and leaves nothing out.
	Glance(ctx context.Context, file filetime.Snapshot, patience time.Duration) (Diagnosis, error)
	// Known gives what is known to be wrong with files, without waiting; folder is that of the session.
	Known(ctx context.Context, folder string) ([]Diagnosis, error)
}

// NoServerError says that no language server answers. Says is what to do about it, a sentence; it may be empty. Idle is the name of one
// that is installed and would be started for another question.
type NoServerError struct{ Says, Idle string }

func (e *NoServerError) Error() string { return "no language server answers. " + e.Says }

// Spot is a place in the text of a file.
type Spot struct {
	File filetime.Snapshot
	// Offset is in bytes.
	Offset int
}

// Span is a part of a file as a server names it: positions in a text that the server has, which may be another than that of the file
// by now. Path is absolute; where the server names something that is no file, such as a class of an archive, it is "" and URI is set.
type Span struct {
	Path       string
	URI        string
	Start, End text.Position
	Encoding   text.Encoding
	// Unplaced says that the server names the file and no place in it.
	Unplaced bool
}

// Symbol is something that has a name. Depth is 0 for what stands in no other symbol of its file.
type Symbol struct {
	Name, Kind, Detail string
	// In is the name of what it belongs to, where the server says that instead of nesting it.
	In    string
	Depth int
	Span  Span
}

// Severity is how bad a Finding is; the values are those of LSP.
type Severity int

// The severities.
const (
	SeverityError Severity = 1 + iota
	SeverityWarning
	SeverityInformation
	SeverityHint
)

func (s Severity) String() string {
	if s < SeverityError || s > SeverityHint {
		return "error"
	}
	return [...]string{"error", "warning", "information", "hint"}[s-1]
}

// Finding is a diagnostic: what a server holds against a part of a file.
type Finding struct {
	Severity     Severity
	Source, Code string
	Message      string
	Span         Span
}

// Line gives the line, from 1, of a span in the text of its file, in which lines end with \n alone.
func (s Span) Line(t text.Text) int {
	off, _ := t.Offset(s.Start, s.Encoding)
	return t.Line(off) + 1
}

// In reports whether a text has the row at which a span starts.
func (s Span) In(t text.Text) bool { return s.Start.Line <= t.Position(t.Len(), s.Encoding).Line }

// Says is a finding as a line for a model or a person. It reads the file for the number of the line, where it may be read.
func (f Finding) Says(ctx context.Context, env *Env) string {
	line := f.Span.Start.Line + 1
	if place, err := env.Paths.Readable(f.Span.Path); err == nil {
		if now, err := env.Read(ctx, place); err == nil && now.Exists {
			line = f.Span.Line(now.Text)
		}
	}
	return f.At(env, line)
}

// At is Says where the line is known.
func (f Finding) At(env *Env, line int) string {
	by := strings.TrimSpace(f.Source + " " + f.Code)
	if by != "" {
		by = " (" + by + ")"
	}
	message := []rune(strings.Join(strings.Fields(f.Message), " "))
	if len(message) > maxContext {
		message = append(message[:maxContext], '…')
	}
	return fmt.Sprintf("%s:%d %s: %s", env.Name(f.Span.Path), line, f.Severity, show.Visible(string(message)+by, false))
}

// Diagnosis is what servers say of one file. Fresh says that it is about the present text; otherwise it may be about an older one.
type Diagnosis struct {
	Path     string
	Fresh    bool
	Findings []Finding
}

// Findings remembers what was wrong with files before a session changed them, so that what is new can be told from what was there. The
// zero value remembers nothing. Its methods may be called concurrently.
type Findings struct {
	mu        sync.Mutex
	before    map[string][]Finding
	unchecked map[string]string
}

// Unchecked remembers why files of a kind are not checked, "" where they are, and reports whether that is another reason than before.
func (f *Findings) Unchecked(kind, why string) (news bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unchecked == nil {
		f.unchecked = map[string]string{}
	}
	news = f.unchecked[kind] != why
	f.unchecked[kind] = why
	return news
}

// Keep remembers what is wrong with a file that is about to be changed for the first time; later calls for the file do nothing.
func (f *Findings) Keep(path string, before []Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.before[path]; ok {
		return
	}
	if f.before == nil {
		f.before = map[string][]Finding{}
	}
	f.before[path] = before
}

// Kept says that Keep was called for a file.
func (f *Findings) Kept(path string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.before[path]
	return ok
}

// New is what of a list was not there before the session changed the file, wherever it stands by now: all of it for a file that the
// session has not changed.
func (f *Findings) New(path string, now []Finding) []Finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	return NewFindings(f.before[path], now)
}

// NewFindings is what of a list was not in an earlier one. Lines do not count: an edit moves them.
func NewFindings(before, now []Finding) []Finding {
	type what struct {
		Severity              Severity
		Source, Code, Message string
	}
	of := func(f Finding) what { return what{f.Severity, f.Source, f.Code, f.Message} }
	had := map[what]int{}
	for _, f := range before {
		had[of(f)]++
	}
	var out []Finding
	for _, f := range now {
		if had[of(f)]--; had[of(f)] < 0 {
			out = append(out, f)
		}
	}
	return out
}

// FileEdits are the changes of one file, as a server wants them: positions are those of the text that it has. Path is canonical.
type FileEdits struct {
	Path     string
	Encoding text.Encoding
	Edits    []SpanEdit
}

// Action is something that a server offers to do to the text of a file.
type Action struct {
	Title, Kind string
	// Preferred says that the server would choose it.
	Preferred bool
	// Refused is why it cannot be applied: the server says so, its edit cannot be followed, or it is a command that does not say what it
	// changes. "" is that nothing is known against it.
	Refused string
	// Command is the name of a command of the server that goes on after Edits; "" is none.
	Command string
	// Edits are what it would change, as far as that is known.
	Edits []FileEdits
}

// SpanEdit replaces what is between two positions.
type SpanEdit struct {
	Start, End text.Position
	New        string
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"tandem/agent/prompt"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/run"
)

// What a message can name behind an @ beside files and resources: what the person has selected, what language servers hold against the files,
// and symbols, by their names behind MentionSymbol.
const (
	MentionSelection   = "selection"
	MentionDiagnostics = "diagnostics"
	MentionSymbol      = "symbol:"
)

// The limits of mentions: how long language servers are waited for, how many symbols of one name are shown, and how many diagnostics.
const (
	asking          = 10 * time.Second
	mostSymbols     = 5
	mostDiagnostics = 100
)

// spoken is what a message names of the editor and its language servers, behind the message: once each.
func (t *Turn) spoken(ctx context.Context, blocks []prompt.Block) (out []prompt.Block) {
	ctx, done := context.WithTimeout(ctx, asking)
	defer done()
	var named []string
	for _, b := range blocks {
		if b.Type == "text" {
			named = append(named, prompt.Mentions(b.Text)...)
		}
	}
	slices.Sort(named)
	for _, name := range slices.Compact(named) {
		var said []prompt.Block
		var err error
		symbol, is := strings.CutPrefix(name, MentionSymbol)
		switch {
		case name == MentionSelection:
			err = t.selected(blocks)
		case name == MentionDiagnostics:
			said, err = t.diagnostics(ctx)
		case is && symbol != "" && !t.s.servers.Names(name):
			said, err = t.symbol(ctx, symbol)
		default:
			continue
		}
		if err != nil {
			why := fmt.Sprintf("@%s: %s.", show.Visible(name, false), strings.TrimRight(show.Visible(err.Error(), false), "."))
			if t.ctx.Err() == nil {
				t.s.Tell(Event{Turn: t.number, Notice: why})
			}
			said = []prompt.Block{{Type: "resource", URI: name, Text: why}}
		}
		out = append(out, said...)
	}
	return out
}

// selected says why a message does not hold what is selected: the editor sends that along with it, or it is attached.
func (t *Turn) selected(blocks []prompt.Block) error {
	attached := slices.ContainsFunc(blocks, func(b prompt.Block) bool { return strings.Contains(b.URI, "#") })
	if attached || t.in.Editor.From > 0 {
		return nil
	}
	return errors.New("nothing is selected, or the editor does not say what is")
}

// diagnostics are those of the document with the cursor as it is now, and what is known of the other files of all folders.
func (t *Turn) diagnostics(ctx context.Context) ([]prompt.Block, error) {
	s := t.s
	if s.reach.languages == nil {
		return nil, &tools.NoServerError{}
	}
	env := s.env(t.number, run.Call{}, s.Tools)
	byPath := map[string][]tools.Finding{}
	asked, failed := false, error(nil)
	for _, folder := range s.reach.roots() {
		known, err := s.reach.languages.Known(ctx, folder)
		if err != nil {
			failed = err
			continue
		}
		asked = true
		for _, d := range known {
			byPath[sandbox.Canonical(d.Path)] = d.Findings
		}
	}
	if active := t.in.Editor.Active; active != "" && s.Shows(active) {
		if place, err := env.Paths.Readable(active); err == nil {
			if now, err := env.Read(ctx, place); err == nil && now.Exists {
				if d, err := s.reach.languages.Diagnose(ctx, now); err == nil {
					asked, byPath[now.Path] = true, d.Findings
				}
			}
		}
	}
	if !asked {
		return nil, failed
	}
	var lines []string
	for path, list := range byPath {
		if !s.Shows(path) {
			continue
		}
		for _, f := range list {
			lines = append(lines, f.Says(ctx, env))
		}
	}
	slices.Sort(lines)
	if more := len(lines) - mostDiagnostics; more > 0 {
		lines = append(lines[:mostDiagnostics], fmt.Sprintf("… %d more", more))
	}
	if len(lines) == 0 {
		lines = []string{"The language servers report nothing."}
	}
	return []prompt.Block{{Type: "resource", URI: MentionDiagnostics, Text: strings.Join(lines, "\n")}}, nil
}

// symbol is the lines where symbols of a name are defined, in all folders. They count as seen.
func (t *Turn) symbol(ctx context.Context, name string) (out []prompt.Block, err error) {
	s := t.s
	env := s.env(t.number, run.Call{}, s.Tools)
	found, err := s.find(ctx, name, false)
	for _, one := range found {
		if !isNamed(one.Name, name) || len(out) == mostSymbols {
			continue
		}
		place, err := env.Paths.Readable(one.Span.Path)
		if err != nil {
			continue
		}
		now, err := env.Read(ctx, place)
		if err != nil || !now.Exists || !one.Span.In(now.Text) {
			continue
		}
		at := one.Span.Line(now.Text) - 1
		if one.Span.Unplaced {
			i := strings.Index(now.Text.String(), name)
			if i < 0 {
				continue
			}
			at = now.Text.Line(i)
		}
		first, last := max(1, at-1), min(at+16, tools.Lines(now.Text))
		e := tools.Places(env)
		e.Lines(now.Text, first, last)
		e.Seen(env.FileTime, now)
		uri := url.URL{Scheme: "file", Path: now.Path, Fragment: fmt.Sprintf("L%d-L%d", first, last)}
		out = append(out, prompt.Block{Type: "resource", URI: uri.String(), Text: e.String()})
	}
	if len(out) == 0 && err == nil {
		err = errors.New("the language servers know no symbol of this name")
	}
	if len(out) > 0 {
		err = nil
	}
	return out, err
}

// isNamed says that a symbol is called so: by its whole name, or by the last part of a qualified one.
func isNamed(symbol, name string) bool {
	return symbol == name || symbol[strings.LastIndexAny(symbol, ".:/")+1:] == name
}

// find are the symbols of all folders that fit a name and may be shown, each place once.
func (s *Session) find(ctx context.Context, name string, running bool) (out []tools.Symbol, err error) {
	if s.reach.languages == nil {
		return nil, &tools.NoServerError{}
	}
	type place struct {
		path, name string
		line       int
	}
	had := map[place]bool{}
	var failed error
	for _, folder := range s.reach.roots() {
		list, err := s.reach.languages.Find(ctx, folder, name, running)
		if err != nil {
			failed = err
			continue
		}
		for _, one := range list {
			at := place{one.Span.Path, one.Name, one.Span.Start.Line}
			if one.Span.URI == "" && !had[at] && s.Shows(one.Span.Path) {
				had[at] = true
				out = append(out, one)
			}
		}
	}
	if len(out) > 0 {
		failed = nil
	}
	return out, failed
}

// Symbols are the names of symbols that fit the beginning of one, by servers that run already; for a mention, so without names that have
// blanks or quotes.
func (s *Session) Symbols(ctx context.Context, prefix string) (names []string) {
	found, _ := s.find(ctx, prefix, true) // what is not known now is not offered
	for _, one := range found {
		if !strings.ContainsAny(one.Name, " \t\n\"'`") && !slices.Contains(names, one.Name) {
			names = append(names, one.Name)
		}
	}
	return names
}

package code

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"tandem/filetime/text/show"
	"tandem/tools"
)

//go:embed document_symbols.md
var outlineDescription string

//go:embed workspace_symbols.md
var findDescription string

type outlineInput struct {
	Path string `json:"path" desc:"The file." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
}

type findInput struct {
	Query string `json:"query" desc:"The name, or a part of it." minlen:"1" maxlen:"500" alias:"symbol,name"`
}

// Symbol is a symbol for a program. Line is from 1, or 0 where the server names the file alone;
// Depth is 0 for what stands in no other symbol of its file.
type Symbol struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	In    string `json:"in,omitempty"`
	Path  string `json:"path"`
	URI   string `json:"uri,omitempty"` // in place of the path, of what is no file
	Line  int    `json:"line"`
	Depth int    `json:"depth,omitzero"`
}

// Symbols is what a program gets of document_symbols and workspace_symbols.
type Symbols struct {
	Symbols   []Symbol `json:"symbols"`
	Total     int      `json:"total"`
	Truncated bool     `json:"truncated"`
}

// outlined is how many symbols of one file an answer has.
const outlined = 500

// NewOutline makes the tool document_symbols.
func NewOutline() tools.Tool {
	return tools.Define(tools.Definition[outlineInput]{
		Spec:    spec("document_symbols", tools.Read, outlineDescription),
		Title:   func(in outlineInput) string { return "List the symbols of " + in.Path },
		Subject: func(in outlineInput) string { return in.Path },
		Needs:   func(env *tools.Env, in outlineInput) ([]tools.Need, error) { return tools.ToRead(env, in.Path) },
		Plan: func(_ context.Context, env *tools.Env, _ outlineInput) (*tools.Plan, error) {
			servers, err := languages(env)
			if err != nil {
				return nil, err
			}
			return &tools.Plan{
				Title: "List the symbols of " + env.Name(env.Place().Path()), Danger: tools.Safe, Semantic: "read",
				Run: func(ctx context.Context) (tools.Result, error) {
					now, err := file(ctx, env)
					if err != nil {
						return tools.Result{}, err
					}
					list, err := servers.Outline(ctx, now)
					if err != nil {
						return tools.Result{}, missing(err)
					}
					return outline(env.Name(now.Path), values(list, outlined, func(s tools.Span) int { return s.Line(now.Text) }), list), nil
				},
			}, nil
		},
	})
}

func outline(name string, v Symbols, list []tools.Symbol) tools.Result {
	r := tools.Result{Success: true, Value: v, Truncated: v.Truncated, Summary: "Found " + tools.Count(v.Total, "symbol")}
	if v.Total == 0 {
		r.Data = fmt.Sprintf("The language server knows no symbols of %s. Read it with read_file.", name)
		return r
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s has %s:", name, tools.Count(v.Total, "symbol"))
	for i, s := range v.Symbols {
		fmt.Fprintf(&b, "\n%4d | %s%s", s.Line, strings.Repeat("  ", s.Depth), describe(s))
		if detail := strings.Join(strings.Fields(list[i].Detail), " "); detail != "" {
			b.WriteString("  " + show.Visible(show.Clip(detail, 120), false))
		}
	}
	if v.Truncated {
		fmt.Fprintf(&b, "\n… %d more: read the file with read_file", v.Total-len(v.Symbols))
	}
	r.Data = b.String()
	return r
}

// NewFind makes the tool workspace_symbols.
func NewFind() tools.Tool {
	return tools.Define(tools.Definition[findInput]{
		Spec:    spec("workspace_symbols", tools.Search, findDescription),
		Title:   func(in findInput) string { return "Find symbols " + in.Query },
		Subject: func(in findInput) string { return in.Query },
		Needs:   func(env *tools.Env, _ findInput) ([]tools.Need, error) { return needs(env, ".") },
		Plan: func(_ context.Context, env *tools.Env, in findInput) (*tools.Plan, error) {
			servers, err := languages(env)
			if err != nil {
				return nil, err
			}
			return &tools.Plan{
				Title: "Find symbols " + in.Query, Danger: tools.Safe, Semantic: "search",
				Run: func(ctx context.Context) (tools.Result, error) {
					list, err := servers.Find(ctx, env.Place().Path(), in.Query, false)
					if err != nil {
						return tools.Result{}, missing(err)
					}
					read := newReader(env)
					return found(env, in.Query, values(list, limit, func(s tools.Span) int { return read.number(ctx, s) })), nil
				},
			}, nil
		},
	})
}

func found(env *tools.Env, query string, v Symbols) tools.Result {
	r := tools.Result{Success: true, Value: v, Truncated: v.Truncated, Summary: fmt.Sprintf("Found %s for %s", tools.Count(v.Total, "symbol"), query)}
	if v.Total == 0 {
		r.Data = fmt.Sprintf("The language server knows no symbol %s. Use a shorter part of the name, or grep.", quoted(query))
		return r
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Found %s:", tools.Count(v.Total, "symbol"))
	for i, s := range v.Symbols {
		in := ""
		if s.In != "" {
			in = " in " + show.Visible(show.Clip(s.In, 100), false)
		}
		at := show.Visible(show.Clip(s.URI, 500), false)
		if at == "" {
			at = env.Name(s.Path)
		}
		if s.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, s.Line)
		}
		fmt.Fprintf(&b, "\n%d. %s → %s%s", i+1, at, describe(s), in)
	}
	if v.Truncated {
		fmt.Fprintf(&b, "\n… %d more: give more of the name", v.Total-len(v.Symbols))
	}
	r.Data = b.String()
	return r
}

func describe(s Symbol) string { return s.Kind + " " + show.Visible(show.Clip(s.Name, 200), false) }

// values are the first symbols for a program; line gives the line of each.
func values(list []tools.Symbol, most int, line func(tools.Span) int) Symbols {
	v := Symbols{Symbols: []Symbol{}, Total: len(list), Truncated: len(list) > most}
	for _, s := range list[:min(most, len(list))] {
		at := 0
		if !s.Span.Unplaced {
			at = line(s.Span)
		}
		v.Symbols = append(v.Symbols, Symbol{Name: s.Name, Kind: s.Kind, In: s.In, Path: s.Span.Path, URI: s.Span.URI, Line: at, Depth: s.Depth})
	}
	return v
}

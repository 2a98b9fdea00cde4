package code

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"tandem/tools"
)

//go:embed definition.md
var definitionDescription string

//go:embed references.md
var referencesDescription string

type spotInput struct {
	Path   string `json:"path" desc:"The file where the name stands." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
	Line   int    `json:"line" desc:"Its line, from 1." min:"1"`
	Symbol string `json:"symbol" desc:"The name, as it stands on that line." minlen:"1" maxlen:"500" alias:"name"`
}

// Places is what a program gets of definition and references.
type Places struct {
	Places    []Place `json:"places"`
	Total     int     `json:"total"`
	Truncated bool    `json:"truncated"`
}

// NewDefinition makes the tool definition.
func NewDefinition() tools.Tool {
	return places("definition", definitionDescription, "Go to the definition of ", tools.Languages.Definition, definitions)
}

// NewReferences makes the tool references.
func NewReferences() tools.Tool {
	return places("references", referencesDescription, "Find references to ", tools.Languages.References, references)
}

func places(
	name, description, title string, ask func(tools.Languages, context.Context, tools.Spot) ([]tools.Span, error),
	answer func(context.Context, *tools.Env, string, []tools.Span) tools.Result,
) tools.Tool {
	return tools.Define(tools.Definition[spotInput]{
		Spec:    spec(name, tools.Search, description),
		Title:   func(in spotInput) string { return title + in.Symbol },
		Subject: func(in spotInput) string { return in.Symbol },
		Needs:   func(env *tools.Env, in spotInput) ([]tools.Need, error) { return needs(env, in.Path) },
		Plan: func(ctx context.Context, env *tools.Env, in spotInput) (*tools.Plan, error) {
			servers, err := languages(env)
			if err != nil {
				return nil, err
			}
			return &tools.Plan{
				Title: title + in.Symbol, Danger: tools.Safe, Semantic: "search", Locations: []tools.Location{{Path: env.Place().Path(), Line: in.Line}},
				Run: func(ctx context.Context) (tools.Result, error) {
					now, err := file(ctx, env)
					if err != nil {
						return tools.Result{}, err
					}
					at, told, err := spot(env, now, in.Line, in.Symbol)
					if err != nil {
						return tools.Result{}, err
					}
					found, err := ask(servers, ctx, at)
					if err != nil {
						return tools.Result{}, missing(err)
					}
					return answer(ctx, env, quoted(in.Symbol)+told, found), nil
				},
			}, nil
		},
	})
}

// most is how many definitions are shown with the lines around them.
const most = 5

func definitions(ctx context.Context, env *tools.Env, what string, found []tools.Span) tools.Result {
	v := Places{Places: []Place{}, Total: len(found)}
	r := tools.Result{Success: true, Summary: "Found " + tools.Count(len(found), "definition")}
	if len(found) == 0 {
		r.Value, r.Data = v, fmt.Sprintf("The language server knows no definition of %s. Look for it with grep.", what)
		return r
	}
	read := newReader(env)
	var b strings.Builder
	fmt.Fprintf(&b, "Found %s of %s:", tools.Count(len(found), "definition"), what)
	for i, s := range found {
		if i == limit {
			v.Truncated = true
			fmt.Fprintf(&b, "\n… %d more", len(found)-limit)
			break
		}
		p := read.place(ctx, s)
		v.Places = append(v.Places, p)
		if now := read.file(ctx, s); i < most && now != nil && p.Text != "" {
			e := tools.Places(env)
			e.Lines(now.Text, p.Line-3, p.Line+12)
			e.Seen(env.FileTime, *now)
			fmt.Fprintf(&b, "\n%s:%d\n%s", env.Name(p.Path), p.Line, strings.TrimSuffix(e.String(), "\n"))
			continue
		}
		b.WriteString("\n" + read.line(i+1, p))
	}
	r.Value, r.Data, r.Truncated = v, b.String(), v.Truncated
	return r
}

func references(ctx context.Context, env *tools.Env, what string, found []tools.Span) tools.Result {
	v := Places{Places: []Place{}, Total: len(found)}
	r := tools.Result{Success: true, Summary: "Found " + tools.Count(len(found), "reference")}
	if len(found) == 0 {
		r.Value, r.Data = v, fmt.Sprintf("The language server knows no reference to %s. Look for it with grep.", what)
		return r
	}
	files := map[string]bool{}
	for _, s := range found {
		files[s.URI+s.Path] = true
	}
	read := newReader(env)
	var b strings.Builder
	fmt.Fprintf(&b, "Found %s to %s in %s, its definition among them:", tools.Count(len(found), "reference"), what, tools.Count(len(files), "file"))
	for i, s := range found {
		if i == limit {
			v.Truncated = true
			fmt.Fprintf(&b, "\n… %d more: grep with a path shows those of one folder", len(found)-limit)
			break
		}
		p := read.place(ctx, s)
		v.Places = append(v.Places, p)
		b.WriteString("\n" + read.line(i+1, p))
	}
	r.Value, r.Data, r.Truncated = v, b.String(), v.Truncated
	return r
}

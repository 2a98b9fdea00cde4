package code

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
)

//go:embed diagnostics.md
var diagnosticsDescription string

type diagnosticsInput struct {
	Path     string `json:"path" desc:"The file; absent is every file of which something is known." default:"." alias:"file_path,file,filename" nocoerce:"true"`
	Severity string `json:"severity" desc:"The least severity." enum:"error,warning,information,hint" default:"warning"`
	NewOnly  bool   `json:"new_only" desc:"Leaves out what was wrong before you changed the file." default:"true"`
}

// Finding is a diagnostic for a program; Line and Character are from 1.
type Finding struct {
	Path      string `json:"path"`
	Line      int    `json:"line"`
	Character int    `json:"character"`
	Severity  string `json:"severity"`
	Source    string `json:"source,omitempty"`
	Code      string `json:"code,omitempty"`
	Message   string `json:"message"`
}

// Findings is what a program gets of diagnostics. Fresh says that they are about the present text
// of the file; otherwise they may be about an older one. Older counts those that were there before
// the session changed the file.
type Findings struct {
	Findings  []Finding `json:"diagnostics"`
	Fresh     bool      `json:"fresh"`
	Older     int       `json:"older,omitzero"`
	Total     int       `json:"total"`
	Truncated bool      `json:"truncated"`
}

// NewDiagnostics makes the tool diagnostics.
func NewDiagnostics() tools.Tool {
	s := spec("diagnostics", tools.Read, diagnosticsDescription)
	s.Aliases = []string{"getDiagnostics"}
	return tools.Define(tools.Definition[diagnosticsInput]{
		Spec: s,
		Title: func(in diagnosticsInput) string {
			if in.Path == "." {
				return "List diagnostics"
			}
			return "List the diagnostics of " + in.Path
		},
		Subject: func(in diagnosticsInput) string { return in.Path },
		Needs:   func(env *tools.Env, in diagnosticsInput) ([]tools.Need, error) { return needs(env, in.Path) },
		Plan: func(_ context.Context, env *tools.Env, in diagnosticsInput) (*tools.Plan, error) {
			servers, err := languages(env)
			if err != nil {
				return nil, err
			}
			return &tools.Plan{
				Title: "List the diagnostics of " + env.Name(env.Place().Path()), Danger: tools.Safe, Semantic: "read",
				Run: func(ctx context.Context) (tools.Result, error) { return diagnose(ctx, env, servers, in) },
			}, nil
		},
	})
}

func diagnose(ctx context.Context, env *tools.Env, servers tools.Languages, in diagnosticsInput) (tools.Result, error) {
	var all []tools.Diagnosis
	about := "the files that the language servers look at"
	if info, err := env.Place().Stat(); err == nil && info.IsDir() {
		known, err := servers.Known(ctx, env.Place().Path())
		if err != nil {
			return tools.Result{}, missing(err)
		}
		for _, d := range known {
			if d.Path = sandbox.Canonical(d.Path); below(env.Place().Path(), d.Path) {
				all = append(all, d)
			}
		}
	} else {
		now, err := file(ctx, env)
		if err != nil {
			return tools.Result{}, err
		}
		about = env.Name(now.Path)
		d, err := servers.Diagnose(ctx, now)
		if err != nil {
			return tools.Result{}, missing(err)
		}
		all = append(all, d)
	}
	return answer(ctx, env, in, about, all), nil
}

func below(folder, path string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// least is the number of a severity.
func least(name string) tools.Severity {
	for s := tools.SeverityError; s < tools.SeverityHint; s++ {
		if s.String() == name {
			return s
		}
	}
	return tools.SeverityHint
}

func answer(ctx context.Context, env *tools.Env, in diagnosticsInput, about string, all []tools.Diagnosis) tools.Result {
	v := Findings{Findings: []Finding{}, Fresh: true}
	read := newReader(env)
	var lines []string
	for _, d := range all {
		v.Fresh = v.Fresh && d.Fresh
		list := slices.DeleteFunc(slices.Clone(d.Findings), func(f tools.Finding) bool { return f.Severity > least(in.Severity) })
		if in.NewOnly {
			before := len(list)
			list = env.Servers.New(d.Path, list)
			v.Older += before - len(list)
		}
		slices.SortStableFunc(list, func(a, b tools.Finding) int { return a.Span.Start.Line - b.Span.Start.Line })
		for _, f := range list {
			if v.Total++; v.Total > limit {
				v.Truncated = true
				continue
			}
			p := read.place(ctx, f.Span)
			v.Findings = append(v.Findings, Finding{
				Path: p.Path, Line: p.Line, Character: p.Character, Severity: f.Severity.String(), Source: f.Source, Code: f.Code, Message: f.Message,
			})
			lines = append(lines, f.At(env, p.Line))
			if p.Text != "" {
				lines = append(lines, fmt.Sprintf("%6d | %s", p.Line, show.Visible(show.Clip(p.Text, 300), false)))
			}
		}
	}
	what := "diagnostic"
	if in.Severity == "error" {
		what = "error"
	}
	if v.Older > 0 {
		what = "new " + what
	}
	r := tools.Result{Success: true, Value: v, Truncated: v.Truncated, Summary: "Found " + tools.Count(v.Total, what)}
	if v.Total == 0 {
		r.Data = fmt.Sprintf("No %ss in %s.", what, about)
	} else {
		r.Data = fmt.Sprintf("Found %s in %s:\n%s", tools.Count(v.Total, what), about, strings.Join(lines, "\n"))
	}
	if v.Truncated {
		r.Data += fmt.Sprintf("\n… %d more: ask for one file, or for a higher severity", v.Total-limit)
	}
	if v.Older > 0 {
		r.Data += fmt.Sprintf("\n%d more %s there before you changed the file; new_only=false shows them.", v.Older, was(v.Older))
	}
	if !v.Fresh {
		r.Data += "\nIt is not known whether the language server has looked at the present text yet: ask again after a moment."
	}
	return r
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

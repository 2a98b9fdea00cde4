package code

import (
	"context"
	_ "embed"
	"fmt"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/tools"
)

//go:embed format.md
var formatDescription string

type formatInput struct {
	Path string `json:"path" desc:"The file." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
	span
}

// Formatted is what a program gets of format.
type Formatted struct {
	Path   string `json:"path"`
	Places int    `json:"places"`
}

// NewFormat makes the tool format.
func NewFormat() tools.Tool {
	return tools.Define(tools.Definition[formatInput]{
		Spec:    editing("format", formatDescription),
		Title:   func(in formatInput) string { return "Format " + in.Path + in.says() },
		Subject: func(in formatInput) string { return in.Path },
		Needs: func(env *tools.Env, in formatInput) ([]tools.Need, error) {
			return tools.ToWrite(env, tools.Edits, in.Path)
		},
		Plan: formatPlan,
	})
}

func formatPlan(ctx context.Context, env *tools.Env, in formatInput) (*tools.Plan, error) {
	servers, err := languages(env)
	if err != nil {
		return nil, err
	}
	name := env.Name(env.Place().Path())
	p := &tools.Plan{Title: "Format " + name + in.says(), Danger: tools.Moderate, Semantic: "write"}
	var now filetime.Snapshot
	files, _, err := follow(ctx, env, p, func() (list []tools.FileEdits, err error) {
		if now, err = file(ctx, env); err != nil {
			return nil, err
		}
		if _, _, err = in.in(now.Text); err != nil {
			return nil, err
		}
		list, err = servers.Format(ctx, now)
		return list, missing(err)
	})
	if err != nil {
		return nil, err
	}
	places, beyond := 0, false
	if len(files) > 0 {
		f := &p.Change.Files[0]
		f.Edits, beyond = in.only(f.Base, f.Edits)
		places = len(f.Edits)
	}
	switch {
	case places == 0 && beyond:
		return nil, tools.Refuse(tools.NoChange, "beyond",
			"What the formatter would change in %s%s reaches beyond these lines. Nothing was changed. Give more lines.", name, in.says())
	case places == 0:
		done := "Already formatted: " + name + in.says()
		return nil, &tools.Refusal{Result: tools.Result{
			Success: true, Data: done + ". Nothing was changed.", Summary: done, Value: Formatted{Path: now.Path},
		}}
	}
	p.Done = func(l filetime.Landed) tools.Result {
		files := []ChangedFile{{l.Files[0].Path, places}}
		return tools.Result{
			Success: true, Data: told(env, fmt.Sprintf("Formatted %s%s.", name, in.says()), files, l), Summary: "Formatted " + name + in.says(),
			Value: Formatted(files[0]),
		}
	}
	return p, nil
}

// only are the edits that lie within the lines; beyond says that others reach into them.
func (s span) only(t text.Text, set text.Set) (within text.Set, beyond bool) {
	first, last, err := s.in(t)
	if err != nil {
		return nil, false
	}
	for _, e := range set {
		from, to := t.Line(e.Start), t.Line(max(e.Start, e.End-1))
		if first <= from && to <= last {
			within = append(within, e)
		} else if from <= last && first <= to {
			beyond = true
		}
	}
	return within, beyond
}

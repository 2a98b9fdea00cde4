// Package multiedit is the tool multi_edit: several quotations of one file are replaced, all of
// them or none.
package multiedit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/quote"
)

//go:embed multiedit.md
var description string

// Args are the arguments of multi_edit.
type Args struct {
	Path  string `json:"path" desc:"The file to edit." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
	Edits []Edit `json:"edits" desc:"The replacements, in the order in which they are made." minlen:"1" alias:"changes,replacements"`
}

// Edit is one replacement.
type Edit struct {
	OldText    string `json:"old_text" desc:"The text to replace, as the edits before this one leave it." alias:"old_string,old_str"`
	NewText    string `json:"new_text" desc:"What replaces it; empty deletes." alias:"new_string,new_str"`
	ReplaceAll bool   `json:"replace_all,omitempty" desc:"Replace it at every place." default:"false"`
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[Args]{
		Spec: tools.Spec{
			Name: "multi_edit", Aliases: []string{"MultiEdit"},
			Kind: tools.Edit, Category: "files", Description: strings.TrimSpace(description),
			Danger: tools.Moderate, Class: tools.ClassWrite, Together: tools.OtherFiles, Source: "builtin", Deferred: true, InputStreaming: true,
		},
		Title:   func(in Args) string { return "Edit " + in.Path },
		Subject: func(in Args) string { return in.Path },
		Needs:   func(env *tools.Env, in Args) ([]tools.Need, error) { return tools.ToWrite(env, tools.Edits, in.Path) },
		Plan:    plan,
	})
}

func plan(ctx context.Context, env *tools.Env, in Args) (*tools.Plan, error) {
	s := quote.Search{Env: env, Place: env.Place()}
	for i, e := range in.Edits {
		s.Parts = append(s.Parts, quote.Part{
			Label: fmt.Sprintf("edits[%d].old_text", i), Old: e.OldText, New: e.NewText, All: e.ReplaceAll,
		})
	}
	m, err := s.Run(ctx)
	if err != nil {
		return nil, named(err, len(in.Edits))
	}
	if len(m.Edit.Edits) == 0 {
		return nil, tools.Refuse(tools.NoChange, "same", "The edits cancel each other out: %s would stay as it is. Nothing was changed.",
			env.Name(m.Edit.Path))
	}
	return m.Plan(), nil
}

// named says which of several edits failed.
func named(err error, of int) error {
	var part *quote.PartError
	var refusal *tools.Refusal
	if of > 1 && errors.As(err, &part) && errors.As(err, &refusal) && refusal.Result.Error != filetime.NotRead {
		refusal.Result.Data = fmt.Sprintf("edits[%d] failed, so none of the %d edits was made.\n", part.Index, of) + refusal.Result.Data
	}
	return err
}

// Package edit is the tools edit_file and multi_edit: they replace texts that the model quotes,
// wherever those stand by now.
package edit

import (
	"context"
	_ "embed"
	"strings"

	"tandem/tools"
	"tandem/tools/quote"
)

//go:embed edit_file.md
var fileDescription string

type fileInput struct {
	Path       string `json:"path" desc:"The file." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
	OldText    string `json:"old_text" desc:"The file's own text, without line numbers." alias:"old_string,old_str"`
	NewText    string `json:"new_text" desc:"Its replacement; empty deletes." alias:"new_string,new_str"`
	ReplaceAll bool   `json:"replace_all,omitempty" desc:"All places." default:"false"`
}

// New makes the tool edit_file.
func New() tools.Tool {
	return define(tools.Spec{
		Name: "edit_file", Aliases: []string{"edit", "str_replace", "replace_string_in_file"}, Description: fileDescription,
	}, func(in fileInput) string { return in.Path }, planFile)
}

// define makes a tool that edits the file at a path of its arguments.
func define[In any](spec tools.Spec, path func(In) string, plan func(context.Context, *tools.Env, In) (*tools.Plan, error)) tools.Tool {
	spec.Kind, spec.Category, spec.Description = tools.Edit, "files", strings.TrimSpace(spec.Description)
	spec.Danger, spec.Class, spec.Together, spec.Source, spec.InputStreaming = tools.Moderate, tools.ClassWrite, tools.OtherFiles, "builtin", true
	return tools.Define(tools.Definition[In]{
		Spec:    spec,
		Title:   func(in In) string { return "Edit " + path(in) },
		Subject: path,
		Needs:   func(env *tools.Env, in In) ([]tools.Need, error) { return tools.ToWrite(env, tools.Edits, path(in)) },
		Plan:    plan,
	})
}

func planFile(ctx context.Context, env *tools.Env, in fileInput) (*tools.Plan, error) {
	const label = "old_text"
	if in.OldText == in.NewText {
		return nil, quote.NoChange(label)
	}
	s := quote.Search{
		Env: env, Place: env.Place(),
		Parts: []quote.Part{{Label: label, Old: in.OldText, New: in.NewText, All: in.ReplaceAll}},
	}
	m, err := s.Run(ctx)
	if err != nil {
		return nil, err
	}
	return m.Plan(), nil
}

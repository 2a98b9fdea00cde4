// Package edit is the tool edit_file: it replaces a text that the model quotes, wherever that text
// stands by now.
package edit

import (
	"context"
	_ "embed"
	"strings"

	"tandem/tools"
	"tandem/tools/quote"
)

//go:embed edit.md
var description string

// Args are the arguments of edit_file.
type Args struct {
	Path       string `json:"path" desc:"The file." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
	OldText    string `json:"old_text" desc:"The file's own text, without line numbers." alias:"old_string,old_str"`
	NewText    string `json:"new_text" desc:"Its replacement; empty deletes." alias:"new_string,new_str"`
	ReplaceAll bool   `json:"replace_all,omitempty" desc:"All places." default:"false"`
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[Args]{
		Spec: tools.Spec{
			Name: "edit_file", Aliases: []string{"edit", "str_replace", "replace_string_in_file"},
			Kind: tools.Edit, Category: "files", Description: strings.TrimSpace(description),
			Danger: tools.Moderate, Class: tools.ClassWrite, Together: tools.OtherFiles, Source: "builtin", InputStreaming: true,
		},
		Title:   func(in Args) string { return "Edit " + in.Path },
		Subject: func(in Args) string { return in.Path },
		Needs:   func(env *tools.Env, in Args) ([]tools.Need, error) { return tools.ToWrite(env, tools.Edits, in.Path) },
		Plan:    plan,
	})
}

// label is what the quotation is called.
const label = "old_text"

func plan(ctx context.Context, env *tools.Env, in Args) (*tools.Plan, error) {
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

package edit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/quote"
)

//go:embed multi_edit.md
var multiDescription string

type multiInput struct {
	Path  string        `json:"path" desc:"The file to edit." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
	Edits []replacement `json:"edits" desc:"The replacements, in the order in which they are made." minlen:"1" alias:"changes,replacements"`
}

type replacement struct {
	OldText    string `json:"old_text" desc:"The text to replace, as the edits before this one leave it." alias:"old_string,old_str"`
	NewText    string `json:"new_text" desc:"What replaces it; empty deletes." alias:"new_string,new_str"`
	ReplaceAll bool   `json:"replace_all,omitempty" desc:"Replace it at every place." default:"false"`
}

// NewMulti makes the tool multi_edit: several quotations of one file are replaced, all of them or
// none.
func NewMulti() tools.Tool {
	return define(tools.Spec{
		Name: "multi_edit", Aliases: []string{"MultiEdit"}, Description: multiDescription, Deferred: true,
	}, func(in multiInput) string { return in.Path }, planMulti)
}

func planMulti(ctx context.Context, env *tools.Env, in multiInput) (*tools.Plan, error) {
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
	if refusal, ok := errors.AsType[*tools.Refusal](err); of > 1 && errors.As(err, &part) && ok && refusal.Result.Error != filetime.NotRead {
		refusal.Result.Data = fmt.Sprintf("edits[%d] failed, so none of the %d edits was made.\n", part.Index, of) + refusal.Result.Data
	}
	return err
}

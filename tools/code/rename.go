package code

import (
	"context"
	_ "embed"
	"fmt"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/tools"
)

//go:embed rename_symbol.md
var renameDescription string

type renameInput struct {
	Path    string `json:"path" desc:"The file where the name stands." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
	Line    int    `json:"line" desc:"Its line, from 1." min:"1"`
	Symbol  string `json:"symbol" desc:"The name, as it stands on that line." minlen:"1" maxlen:"500" alias:"name,old_name"`
	NewName string `json:"new_name" desc:"The new name." minlen:"1" maxlen:"500"`
}

// Renamed is what a program gets of rename_symbol.
type Renamed struct {
	Files  []ChangedFile `json:"files"`
	Places int           `json:"places"`
}

// editing is spec for a tool that changes files.
func editing(name, description string) tools.Spec {
	s := spec(name, tools.Edit, description)
	s.Danger, s.Class, s.Together, s.NotDestructive, s.Pages = tools.Moderate, tools.ClassWrite, tools.OtherFiles, false, false
	return s
}

// NewRename makes the tool rename_symbol.
func NewRename() tools.Tool {
	s := editing("rename_symbol", renameDescription)
	s.Together = tools.Alone
	return tools.Define(tools.Definition[renameInput]{
		Spec:    s,
		Title:   func(in renameInput) string { return fmt.Sprintf("Rename %s to %s", in.Symbol, in.NewName) },
		Subject: func(in renameInput) string { return in.Symbol },
		Needs:   func(env *tools.Env, in renameInput) ([]tools.Need, error) { return writable(env, in.Path) },
		Plan:    renamePlan,
	})
}

func renamePlan(ctx context.Context, env *tools.Env, in renameInput) (*tools.Plan, error) {
	servers, err := languages(env)
	if err != nil {
		return nil, err
	}
	p := &tools.Plan{Title: fmt.Sprintf("Rename %s to %s", in.Symbol, in.NewName), Danger: tools.Moderate, Semantic: "write"}
	from := ""
	files, places, err := follow(ctx, env, p, func() ([]tools.FileEdits, error) {
		now, err := file(ctx, env)
		if err != nil {
			return nil, err
		}
		at, told, err := spot(env, now, in.Line, in.Symbol)
		if err != nil {
			return nil, err
		}
		from = told
		list, err := servers.Rename(ctx, at, in.NewName)
		return list, missing(err)
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, tools.Refuse(tools.NoChange, "nothing", "The language server has nothing to rename at %s%s. Nothing was changed. Use edit_file.",
			quoted(in.Symbol), from)
	}
	p.Done = func(l filetime.Landed) tools.Result {
		sentence := fmt.Sprintf("Renamed %s%s to %s at %s in %s.", quoted(in.Symbol), from, quoted(in.NewName), tools.Count(places, "place"),
			tools.Count(len(files), "file"))
		return tools.Result{
			Success: true, Data: told(env, sentence, files, l), Value: Renamed{files, places},
			Summary: fmt.Sprintf("Renamed %s to %s in %s", show.Visible(in.Symbol, false), show.Visible(in.NewName, false), tools.Count(len(files), "file")),
		}
	}
	return p, nil
}

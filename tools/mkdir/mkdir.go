// Package mkdir is the tool create_directory.
package mkdir

import (
	"context"
	_ "embed"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/tools"
)

//go:embed create_directory.md
var description string

// Args are the arguments of create_directory.
type Args struct {
	Path string `json:"path" desc:"The directory to make." minlen:"1" alias:"directory,dir,folder,dir_path,file_path" nocoerce:"true"`
}

// Value is what a program gets; Already says that there was such a directory.
type Value struct {
	Path    string `json:"path"`
	Already bool   `json:"already,omitzero"`
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[Args]{
		Spec: tools.Spec{
			Name: "create_directory", Aliases: []string{"mkdir"}, Kind: tools.Edit, Category: "files", Description: strings.TrimSpace(description),
			Danger: tools.Safe, Class: tools.ClassWrite, Together: tools.OtherFiles, NotDestructive: true, Source: "builtin", Deferred: true,
		},
		Title:   func(in Args) string { return "Create the directory " + in.Path },
		Subject: func(in Args) string { return in.Path },
		Needs:   func(env *tools.Env, in Args) ([]tools.Need, error) { return tools.ToWrite(env, tools.Creates, in.Path) },
		Plan:    plan,
	})
}

func plan(_ context.Context, env *tools.Env, _ Args) (*tools.Plan, error) {
	place := env.Place()
	name := env.Name(place.Path())
	switch info, err := place.Stat(); {
	case err == nil && info.IsDir():
		return nil, &tools.Refusal{Result: answer(name, Value{Path: place.Path(), Already: true})}
	case err == nil:
		return nil, tools.Refuse(filetime.FileExists, "exists", "%s exists and is a file, so no directory was made. Choose another name.", name)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, tools.Refuse(filetime.WriteError, "unreadable", "The directory %s cannot be made: %v.", name, errors.Unwrap(err))
	}
	e := filetime.FileEdit{Path: place.Path(), Entry: filetime.Folder, Create: true}
	return &tools.Plan{
		Title: "Create the directory " + name, Danger: tools.Safe, Semantic: "write", Change: &filetime.Change{Files: []filetime.FileEdit{e}},
		Done: func(landed filetime.Landed) tools.Result {
			l := landed.Files[0]
			r := answer(name, Value{Path: l.Path, Already: l.Already})
			if !l.Applied {
				r.Data += "\nNot applied here: the host that asked applies it."
			}
			return r
		},
	}, nil
}

func answer(name string, v Value) tools.Result {
	did := "Directory created"
	if v.Already {
		did = "Directory exists already"
	}
	return tools.Result{
		Success: true, Data: did + ": " + name, Summary: did + ": " + filepath.Base(v.Path), Value: v, Diffs: []show.File{},
	}
}

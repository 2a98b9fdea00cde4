// Package exampletool is a template for a tool, count_words: copy the folder, rename it, and
// replace what it does. It is complete and tested, and not among those that are shipped; a line in
// tools/builtin ships a tool.
package exampletool

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/tools"
)

// What the model reads stands beside the code: when to use the tool, when not, and the way out of
// an error.
//
//go:embed count_words.md
var description string

// Args are the arguments. Their tags make the JSON Schema, the validator and the defaults; see
// tools/schema. Paths and commands are never coerced from other types.
type Args struct {
	Path string `json:"path" desc:"The file." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
	Min  int    `json:"min_length,omitempty" desc:"Leave shorter words out." default:"1" min:"1"`
}

// Value is what a program gets beside the words for the model. Paths are absolute here and short
// there.
type Value struct {
	Path  string `json:"path"`
	Words int    `json:"words"`
}

// New makes the tool. What Spec does not declare fails closed: without Danger, Class, Together and
// NotDestructive the tool would be dangerous, and run alone.
func New() tools.Tool {
	return tools.Define(tools.Definition[Args]{
		Spec: tools.Spec{
			Name: "count_words", Aliases: []string{"wc"}, Kind: tools.Read, Category: "files", Description: strings.TrimSpace(description),
			Danger: tools.Safe, Class: tools.ClassRead, Together: tools.WithReads, NotDestructive: true, Source: "builtin",
		},
		Title: func(in Args) string { return "Count the words of " + in.Path },
		// People are shown `a.txt` → 3 words. A path, a command or a pattern is a good Subject.
		Subject: func(in Args) string { return in.Path },
		Outcome: func(r *tools.Result) string {
			if v, ok := r.Value.(Value); ok {
				return tools.Count(v.Words, "word")
			}
			return ""
		},
		// Needs say what the call is about to touch, at most. They resolve paths and read nothing:
		// the gate judges them first.
		Needs: func(env *tools.Env, in Args) ([]tools.Need, error) { return tools.ToRead(env, in.Path) },
		Plan:  plan,
	})
}

// plan works the call out. What is impossible is refused here, before anybody is asked: with a
// class of error, a word for the detail, and a sentence that says what to do next. A tool that
// changes files returns a Change in place of Run, and the pipeline lands it.
func plan(ctx context.Context, env *tools.Env, in Args) (*tools.Plan, error) {
	now, err := env.Read(ctx, env.Place()) // unsaved text of an open document included
	if err != nil {
		return nil, err
	}
	name := env.Name(env.Place().Path())
	if !now.Exists {
		return nil, tools.Refuse(filetime.ReadError, "enoent", "File not found: %s (ENOENT). Look for its name with glob.", name)
	}
	return &tools.Plan{Run: func(context.Context) (tools.Result, error) {
		n := 0
		for word := range strings.FieldsSeq(now.Text.String()) {
			if len([]rune(word)) >= in.Min {
				n++
			}
		}
		return tools.Result{
			Success: true,
			Data:    fmt.Sprintf("%s has %s.", name, tools.Count(n, "word")),
			Summary: fmt.Sprintf("%s: %s", show.Visible(filepath.Base(now.Path), false), tools.Count(n, "word")),
			Value:   Value{now.Path, n},
		}, nil
	}}, nil
}

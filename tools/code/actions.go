package code

import (
	"context"
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/tools"
)

//go:embed code_actions.md
var actionsDescription string

type actionsInput struct {
	Path string `json:"path" desc:"The file." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
	span
	Apply string `json:"apply,omitempty" desc:"The title of the one to do, as it was listed; absent lists them." maxlen:"1000" alias:"title"`
}

// Action is a code action for a program. Refused is why it cannot be applied.
type Action struct {
	Title     string `json:"title"`
	Kind      string `json:"kind,omitempty"`
	Preferred bool   `json:"preferred,omitzero"`
	Refused   string `json:"refused,omitempty"`
}

// Actions is what a program gets of code_actions that lists.
type Actions struct {
	Actions   []Action `json:"actions"`
	Total     int      `json:"total"`
	Truncated bool     `json:"truncated"`
}

// Applied is what a program gets of code_actions that applies one.
type Applied struct {
	Applied string        `json:"applied"`
	Files   []ChangedFile `json:"files"`
	Places  int           `json:"places"`
}

// NewActions makes the tool code_actions.
func NewActions() tools.Tool {
	return tools.Define(tools.Definition[actionsInput]{
		Spec:    editing("code_actions", actionsDescription),
		Title:   actionsTitle,
		Subject: func(in actionsInput) string { return in.Path },
		Needs: func(env *tools.Env, in actionsInput) ([]tools.Need, error) {
			if in.Apply == "" {
				return tools.ToWrite(env, tools.Edits, in.Path)
			}
			return writable(env, in.Path)
		},
		Plan: func(ctx context.Context, env *tools.Env, in actionsInput) (*tools.Plan, error) {
			servers, err := languages(env)
			if err != nil {
				return nil, err
			}
			if in.Apply != "" {
				return applyPlan(ctx, env, servers, in)
			}
			return &tools.Plan{
				Title: actionsTitle(in), Danger: tools.Safe, Semantic: "read",
				Run: func(ctx context.Context) (tools.Result, error) {
					list, err := offered(ctx, env, servers, in)
					if err != nil {
						return tools.Result{}, err
					}
					v, lines := listed(list)
					r := tools.Result{Success: true, Value: v, Truncated: v.Truncated, Summary: "Found " + tools.Count(v.Total, "code action")}
					where := env.Name(env.Place().Path()) + in.says()
					if v.Total == 0 {
						r.Data = fmt.Sprintf("The language server offers nothing for %s.", where)
						return r, nil
					}
					r.Data = fmt.Sprintf("%s for %s; apply takes a title:%s", tools.Count(v.Total, "code action"), where, lines)
					return r, nil
				},
			}, nil
		},
	})
}

func actionsTitle(in actionsInput) string {
	if in.Apply == "" {
		return "List the code actions of " + in.Path + in.says()
	}
	return fmt.Sprintf("%s in %s%s", in.Apply, in.Path, in.says())
}

// offered asks for the actions of the lines of a call, from the first sign that is no blank to the
// last one.
func offered(ctx context.Context, env *tools.Env, servers tools.Languages, in actionsInput) ([]tools.Action, error) {
	now, err := file(ctx, env)
	if err != nil {
		return nil, err
	}
	first, last, err := in.in(now.Text)
	if err != nil {
		return nil, err
	}
	start, end := now.Text.LineStart(first), now.Text.LineEnd(last)
	part := now.Text.Slice(start, end)
	if bare := strings.TrimSpace(part); bare != "" {
		start += strings.Index(part, bare)
		end = start + len(bare)
	}
	list, err := servers.Actions(ctx, now, start, end, in.Apply)
	return list, missing(err)
}

// listed are actions for a program, and as lines for a model.
func listed(list []tools.Action) (v Actions, lines string) {
	v = Actions{Actions: []Action{}, Total: len(list), Truncated: len(list) > limit}
	var b strings.Builder
	for i, a := range list[:min(limit, len(list))] {
		v.Actions = append(v.Actions, Action{a.Title, a.Kind, a.Preferred, a.Refused})
		fmt.Fprintf(&b, "\n%d. %s", i+1, show.Visible(show.Clip(a.Title, 300), false))
		if a.Kind != "" {
			b.WriteString(" (" + show.Visible(show.Clip(a.Kind, 100), false) + ")")
		}
		if why := a.Refused; why != "" {
			b.WriteString(": cannot be applied: " + show.Visible(show.Clip(why, 200), false))
		}
	}
	if v.Truncated {
		fmt.Fprintf(&b, "\n… %d more: give fewer lines", len(list)-limit)
	}
	return v, b.String()
}

// chosen is the action of a title.
func chosen(list []tools.Action, env *tools.Env, in actionsInput) (a tools.Action, err error) {
	same := slices.DeleteFunc(slices.Clone(list), func(a tools.Action) bool {
		return a.Title != in.Apply && show.Visible(a.Title, false) != in.Apply
	})
	where := env.Name(env.Place().Path()) + in.says()
	if len(same) == 0 {
		_, lines := listed(list)
		if lines == "" {
			lines = " nothing"
		}
		return a, tools.Refuse(tools.InvalidArgs, "title", "The language server does not offer %s for %s. Nothing was changed. It offers:%s",
			quoted(in.Apply), where, lines)
	}
	for _, other := range same[1:] {
		if !reflect.DeepEqual(other.Edits, same[0].Edits) {
			return a, tools.Refuse(tools.InvalidArgs, "ambiguous",
				"The language server offers %s for %s more than once. Nothing was changed. Give fewer lines.", quoted(in.Apply), where)
		}
	}
	if why := same[0].Refused; why != "" {
		return a, tools.Refuse(tools.Unsupported, "action", "%s cannot be applied: %s. Nothing was changed. Use edit_file.",
			quoted(in.Apply), show.Visible(why, false))
	}
	return same[0], nil
}

func applyPlan(ctx context.Context, env *tools.Env, servers tools.Languages, in actionsInput) (*tools.Plan, error) {
	p := &tools.Plan{Title: actionsTitle(in), Danger: tools.Moderate, Semantic: "write"}
	left := ""
	files, places, err := follow(ctx, env, p, func() ([]tools.FileEdits, error) {
		list, err := offered(ctx, env, servers, in)
		if err != nil {
			return nil, err
		}
		a, err := chosen(list, env, in)
		if err != nil {
			return nil, err
		}
		left = ""
		if a.Command != "" {
			left = fmt.Sprintf(" Its command %s was not run.", quoted(a.Command))
		}
		return a.Edits, nil
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, tools.Refuse(tools.NoChange, "nothing", "The language server has nothing to change for %s. Nothing was changed.", quoted(in.Apply))
	}
	p.Done = func(l filetime.Landed) tools.Result {
		sentence := fmt.Sprintf("Applied %s: %s in %s.%s", quoted(in.Apply), tools.Count(places, "place"), tools.Count(len(files), "file"), left)
		return tools.Result{
			Success: true, Data: told(env, sentence, files, l), Value: Applied{in.Apply, files, places},
			Summary: fmt.Sprintf("%s in %s", show.Visible(show.Clip(in.Apply, 100), false), tools.Count(len(files), "file")),
		}
	}
	return p, nil
}

// Package clarify is the tool clarify: a question to the person at the editor.
package clarify

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tandem/filetime/text/show"
	"tandem/tools"
)

//go:embed clarify.md
var description string

type option struct {
	ID    string `json:"id" desc:"The answer then." minlen:"1"`
	Label string `json:"label" desc:"What the user reads." minlen:"1"`
}

type input struct {
	Question string   `json:"question" desc:"A whole sentence." minlen:"1" alias:"prompt,message"`
	Options  []option `json:"options,omitempty" desc:"The user may answer freely too."`
	Default  string   `json:"default_answer,omitempty" desc:"Holds if none comes in time." alias:"defaultAnswer"`
	Timeout  int      `json:"timeout_ms,omitempty" desc:"How long to wait." min:"0" max:"86400000" alias:"timeoutMs"`
}

type value struct {
	Answer string `json:"answer"`
	Source string `json:"source"` // user or default
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[input]{
		Spec: tools.Spec{
			Name: "clarify", Aliases: []string{"ask_user", "AskUserQuestion", "ask_followup_question", "request_user_input"}, Kind: tools.Think, Category: "dialog",
			Description: strings.TrimSpace(description), Danger: tools.Safe, Class: tools.ClassExecute,
			Together: tools.Alone, NotDestructive: true, Source: "builtin", NoTimeout: true,
		},
		Title:   func(in input) string { return "Ask: " + line(in.Question) },
		Subject: func(in input) string { return in.Question },
		Needs:   tools.Always[input](tools.Need{Act: tools.Nothing}),
		Plan:    plan,
	})
}

// line is the beginning of a question, for a title.
func line(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return show.Clip(s, 80)
}

func plan(_ context.Context, env *tools.Env, in input) (*tools.Plan, error) {
	if !env.Person.Asked() {
		return nil, unsupported()
	}
	in.Question = show.Visible(in.Question, true)
	in.Options = slices.Clone(in.Options)
	for i := range in.Options {
		in.Options[i].Label = show.Visible(in.Options[i].Label, false)
	}
	for i, o := range in.Options {
		if slices.ContainsFunc(in.Options[:i], func(p option) bool { return p.ID == o.ID || p.Label == o.Label }) {
			return nil, tools.Refuse(tools.InvalidArgs, "", "Two options are called %q. Give each an id and a label of its own.", o.Label)
		}
	}
	return &tools.Plan{
		Kind: tools.Think, Danger: tools.Safe,
		Run: func(ctx context.Context) (tools.Result, error) { return run(ctx, env, in) },
	}, nil
}

func unsupported() error {
	return tools.Refuse(tools.Unsupported, "no_client",
		"The user cannot be asked here: the editor does not take questions. Decide yourself and say what you assumed.")
}

func run(ctx context.Context, env *tools.Env, in input) (tools.Result, error) {
	q := tools.Clarification{Call: env.Call, Question: in.Question, Default: in.Default, Timeout: time.Duration(in.Timeout) * time.Millisecond}
	for _, o := range in.Options {
		q.Options = append(q.Options, tools.Choice(o))
	}
	answer, err := env.Person.Clarify(ctx, q)
	switch {
	case ctx.Err() != nil:
		return tools.Result{}, context.Cause(ctx)
	case err == nil && strings.TrimSpace(answer) != "":
		return answered(in, answer, "user"), nil
	case errors.Is(err, errors.ErrUnsupported):
		return tools.Result{}, unsupported()
	case in.Default != "":
		return answered(in, in.Default, "default"), nil
	}
	why := "The user closed the question without an answer."
	if errors.Is(err, context.DeadlineExceeded) {
		why = fmt.Sprintf("The user did not answer within %v.", q.Timeout)
	}
	return tools.Fail(tools.ClarifyTimeout, "no_answer",
		"%s Decide yourself and say what you assumed, or end the turn with the question.", why), nil
}

func answered(in input, answer, source string) tools.Result {
	said := answer
	i := slices.IndexFunc(in.Options, func(o option) bool { return o.ID == answer })
	if i < 0 {
		i = slices.IndexFunc(in.Options, func(o option) bool { return o.Label == answer })
	}
	if i >= 0 {
		o := in.Options[i]
		answer, said = o.ID, fmt.Sprintf("%s (%s)", o.Label, o.ID)
	}
	r := tools.Result{Success: true, Value: value{answer, source}, Data: "The user answered: " + said, Summary: line(said)}
	if source == "default" {
		r.Data = "The user did not answer; the default answer holds: " + said
		r.Summary = "No answer: " + line(said)
	}
	return r
}

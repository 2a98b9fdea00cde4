// Package undo is the tools undo_file and undo_turn: the model takes changes of its own session
// back, around what others have typed since.
package undo

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
)

//go:embed undo_file.md
var fileDescription string

//go:embed undo_turn.md
var turnDescription string

type fileInput struct {
	Path string `json:"path" desc:"The file." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
}

type turnInput struct {
	Turn *int `json:"turn,omitempty" desc:"The number of the turn, from 1 on; absent is the newest turn with changes that stand." min:"1"`
}

// Value is what a program gets.
type Value struct {
	// Turn is that of the changes.
	Turn int `json:"turn"`
	// Changed are the absolute paths of the files that the call has changed.
	Changed   []string   `json:"changed"`
	Conflicts []Conflict `json:"conflicts"`
}

// Conflict is a file in which changes stay.
type Conflict struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// NewFile makes the tool undo_file.
func NewFile() tools.Tool {
	return tools.Define(tools.Definition[fileInput]{
		Spec:    spec(tools.UndoFile, fileDescription),
		Title:   func(in fileInput) string { return "Undo the last change of " + in.Path },
		Subject: func(in fileInput) string { return in.Path },
		Needs: func(env *tools.Env, in fileInput) ([]tools.Need, error) {
			needs, err := tools.ToWrite(env, tools.Replaces, in.Path)
			if err == nil && env.Undo != nil {
				needs = withOrigins(env, needs)
			}
			return needs, err
		},
		Plan: func(ctx context.Context, env *tools.Env, _ fileInput) (*tools.Plan, error) {
			if env.Undo == nil {
				return nil, unsupported()
			}
			path := env.Place().Path()
			u := undoing{env: env}
			u.add(env.Needs[0], env.Undo.RevertLast(ctx, env.Call, path))
			return u.plan("Undo the last change of "+env.Name(path), fmt.Sprintf("No change of this session stands in %s", env.Name(path)))
		},
	})
}

// NewTurn makes the tool undo_turn.
func NewTurn() tools.Tool {
	return tools.Define(tools.Definition[turnInput]{
		Spec: spec(tools.UndoTurn, turnDescription),
		Title: func(in turnInput) string {
			if in.Turn == nil {
				return "Undo the last turn"
			}
			return fmt.Sprintf("Undo turn %d", *in.Turn)
		},
		Needs: turnNeeds,
		Plan: func(ctx context.Context, env *tools.Env, in turnInput) (*tools.Plan, error) {
			if env.Undo == nil {
				return nil, unsupported()
			}
			u := undoing{env: env, turn: in.number(env)}
			for _, n := range env.Needs {
				if n.Act == tools.Replaces {
					u.add(n, env.Undo.RevertTurn(ctx, env.Call, n.Place.Path(), u.turn))
				}
			}
			if u.turn > 0 {
				u.forbidden()
			}
			nothing := "No change of this session stands in the files"
			if in.Turn != nil {
				nothing = fmt.Sprintf("No change of turn %d stands in the files", u.turn)
			}
			return u.plan(fmt.Sprintf("Undo turn %d", u.turn), nothing)
		},
	})
}

func spec(name, description string) tools.Spec {
	return tools.Spec{
		Name: name, Kind: tools.Edit, Category: "files", Description: strings.TrimSpace(description),
		Danger: tools.Moderate, Class: tools.ClassWrite, Together: tools.Alone, Source: "builtin", Deferred: true,
	}
}

// number is the turn that is meant; 0 where nothing stands.
func (in turnInput) number(env *tools.Env) int {
	if in.Turn != nil {
		return *in.Turn
	}
	return env.Undo.Turn()
}

// turnNeeds are the files that the turn has changed, as far as they may be written.
func turnNeeds(env *tools.Env, in turnInput) ([]tools.Need, error) {
	var needs []tools.Need
	if env.Undo != nil {
		if turn := in.number(env); turn > 0 {
			for _, path := range env.Undo.Paths(turn) {
				if place, err := env.Paths.Writable(path); err == nil {
					needs = append(needs, tools.Need{Act: tools.Replaces, Place: place, Arg: tools.PathArg})
				}
			}
		}
	}
	if needs == nil {
		return []tools.Need{{Act: tools.Nothing}}, nil
	}
	return withOrigins(env, needs), nil
}

// withOrigins adds where the files may be moved back to.
func withOrigins(env *tools.Env, needs []tools.Need) []tools.Need {
	for _, n := range needs {
		for _, path := range env.Undo.Origins(n.Place.Path()) {
			if place, err := env.Paths.Writable(path); err == nil {
				needs = append(needs, tools.Need{Act: tools.Creates, Place: place})
			}
		}
	}
	return needs
}

func unsupported() error {
	return tools.Refuse(tools.Unsupported, "no_record", "Changes are not recorded here, so none can be undone. Nothing was changed. Use edit_file.")
}

// undoing is one call on its way.
type undoing struct {
	env   *tools.Env
	turn  int
	taken int // changes
	files []file
	stay  []Conflict
	shown strings.Builder // what stays, for the model
}

// file is one that the call will change.
type file struct {
	need  tools.Need
	edit  filetime.FileEdit
	taken int
}

// add takes in what can be done with a file.
func (u *undoing) add(n tools.Need, r tools.Revert) {
	if u.turn == 0 {
		u.turn = r.Turn
	}
	if r.Edit != nil && r.Edit.To != "" && u.needed(r.Edit.To) == (sandbox.Place{}) {
		u.conflict(n.Place.Path(), "not changed: "+u.env.Name(r.Edit.To)+", from where it was moved, may not be written")
		return
	}
	if r.Edit != nil {
		u.taken += r.Taken
		u.files = append(u.files, file{u.act(n, r), *r.Edit, r.Taken})
	}
	path := n.Place.Path()
	left := func(count int, why string) {
		was, as := "were", "are left as they are"
		if count == 1 {
			was, as = "was", "is left as it is"
		}
		u.conflict(path, fmt.Sprintf("%s %s %s and %s", tools.Count(count, "change"), was, why, as))
	}
	if r.Err != nil {
		u.conflict(path, r.Err.Error())
	}
	if n := len(r.Stay); n > 0 {
		left(n, "edited since")
		u.show(r, tools.Shows(u.env, u.needed(path)))
	}
	if r.Accepted > 0 {
		left(r.Accepted, "accepted by the user")
	}
	if r.Lost > 0 {
		u.conflict(path, fmt.Sprintf("changes whose original text is no longer stored: %d", r.Lost))
	}
}

func (u *undoing) needed(path string) (p sandbox.Place) {
	for _, n := range u.env.Needs {
		if n.Place.Path() == path {
			p = n.Place
		}
	}
	return p
}

// act is what taking back does to the file.
func (u *undoing) act(n tools.Need, r tools.Revert) tools.Need {
	switch {
	case r.Edit.Create:
		n.Act = tools.Creates
	case !r.Edit.Delete && r.Edit.To == "":
		n.Act = tools.Edits
	}
	return n
}

func (u *undoing) conflict(path, reason string) {
	u.stay = append(u.stay, Conflict{path, reason})
	fmt.Fprintf(&u.shown, "%s: %s.\n", u.env.Name(path), strings.TrimSuffix(reason, "."))
}

// forbidden names the files of the turn that may not be written.
func (u *undoing) forbidden() {
	for _, path := range u.env.Undo.Paths(u.turn) {
		if u.needed(path) == (sandbox.Place{}) {
			u.conflict(path, "not changed: the file may not be written")
		}
	}
}

// show puts the text of what stays in front of the model.
func (u *undoing) show(r tools.Revert, may bool) {
	if !may || u.shown.Len() > maxShown {
		return
	}
	const around = 2
	e := tools.Places(u.env)
	for _, s := range r.Stay {
		e.Lines(r.Now.Text, r.Now.Text.Line(s.Start)+1-around, r.Now.Text.Line(max(s.Start, s.End-1))+1+around)
	}
	e.Seen(u.env.FileTime, r.Now)
	u.shown.WriteString(e.String())
}

// maxShown is how many bytes of the files an answer shows, about.
const maxShown = 8 << 10

const next = "Where it has to go all the same, change the text with edit_file."

// plan is the call's plan. What nothing can be done about is refused.
func (u *undoing) plan(title, nothing string) (*tools.Plan, error) {
	switch {
	case len(u.files) == 0 && len(u.stay) == 0:
		return nil, tools.Refuse(tools.NoChange, "nothing", "%s: nothing was changed. Use edit_file for text of others.", nothing)
	case len(u.files) == 0:
		r := tools.Fail(filetime.EditConflict, "changed", "Nothing was taken back.\n%s%s", &u.shown, next)
		r.Value = u.value(nil)
		return nil, &tools.Refusal{Result: r}
	}
	p := &tools.Plan{
		Title: title, Danger: tools.Moderate, Semantic: "write",
		Change: &filetime.Change{Undo: true}, Done: u.done,
	}
	for _, f := range u.files {
		p.Needs = append(p.Needs, f.need)
		if f.edit.To != "" {
			p.Needs = append(p.Needs, tools.Need{Act: tools.Creates, Place: u.needed(f.edit.To)})
		}
		p.Change.Files = append(p.Change.Files, f.edit)
	}
	return p, nil
}

func (u *undoing) value(changed []string) Value {
	return Value{Turn: u.turn, Changed: append([]string{}, changed...), Conflicts: append([]Conflict{}, u.stay...)}
}

// done words what landed.
func (u *undoing) done(landed filetime.Landed) tools.Result {
	var b strings.Builder
	fmt.Fprintf(&b, "Undone: %s of turn %d in %s.\n", tools.Count(u.taken, "change"), u.turn, tools.Count(len(u.files), "file"))
	var diffs []show.File
	var changed []string
	adds, dels := 0, 0
	for i, l := range landed.Files {
		f, name := u.files[i], u.env.Name(l.Path)
		d := tools.Diff(u.env, l)
		diffs, changed = append(diffs, d), append(changed, l.Path)
		adds, dels = adds+d.Additions, dels+d.Deletions
		switch {
		case f.edit.Create:
			fmt.Fprintf(&b, "%s is there again.\n", name)
		case f.edit.Delete:
			fmt.Fprintf(&b, "%s is deleted: the change had created it.\n", name)
		case l.Origin != "":
			fmt.Fprintf(&b, "%s: %s taken back, and moved back from %s\n", name, tools.Count(f.taken, "change"), u.env.Name(l.Origin))
		default:
			fmt.Fprintf(&b, "%s: %s taken back\n", name, tools.Count(f.taken, "change"))
			if b.Len() < maxShown && tools.Shows(u.env, f.need.Place) {
				b.WriteString(tools.Told(u.env, l, false))
			}
		}
		if !l.Applied {
			b.WriteString("Not applied here: the host that asked applies it.\n")
		}
	}
	if len(u.stay) > 0 {
		fmt.Fprintf(&b, "Not taken back:\n%s%s\n", &u.shown, next)
	}
	what := tools.Count(len(u.files), "file")
	if len(u.files) == 1 {
		what = show.Visible(filepath.Base(u.files[0].edit.Path), false)
	}
	r := tools.Result{
		Success: true, Data: strings.TrimSuffix(b.String(), "\n"), Summary: fmt.Sprintf("Undone: %s (+%d -%d)", what, adds, dels),
		Value: u.value(changed), Diffs: diffs,
	}
	for _, c := range u.stay {
		r.Warnings = append(r.Warnings, u.env.Name(c.Path)+": "+c.Reason)
	}
	return r
}

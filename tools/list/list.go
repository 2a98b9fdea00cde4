// Package list is the tool list_files: what is in a directory.
package list

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"tandem/sandbox"
	"tandem/sandbox/tree"
	"tandem/tools"
	"tandem/tools/rawjson"
)

//go:embed list.md
var description string

// counted is how many entries beyond the limit are counted before that is given up too.
const counted = 10_000

type input struct {
	Path    string `json:"path" desc:"The directory." default:"." alias:"directory,dir,folder,dir_path" nocoerce:"true"`
	Pattern string `json:"pattern,omitempty" desc:"Such as src/**/*.ts." alias:"glob" nocoerce:"true"`
	Depth   int    `json:"depth" desc:"Levels to show." default:"1" min:"1"`
	Limit   int    `json:"limit" desc:"Entries at most." default:"500" shown:"nodefault" min:"1"`
}

type value struct {
	Path      string
	Entries   []tools.Entry
	Total     *int // nil where the count was given up
	Ignored   int
	Truncated bool
	found     tools.Counter
}

// JSONPieces implements rawjson.Pieced.
func (v *value) JSONPieces() ([][]byte, error) {
	var t rawjson.Text
	t.Last = append(rawjson.AppendString(append(t.Last, `{"path":`...), v.Path), `,"entries":[`...)
	for i, e := range v.Entries {
		if i > 0 {
			t.Last = append(t.Last, ',')
		}
		t.Last = append(rawjson.AppendString(append(t.Last, `{"path":`...), e.Path), `,"type":"`...)
		t.Last = append(append(t.Last, e.Type...), '"')
		if e.Size > 0 {
			t.Last = strconv.AppendInt(append(t.Last, `,"size":`...), e.Size, 10)
		}
		t.Last = append(t.Last, '}')
		t.Grown()
	}
	t.Last = append(t.Last, ']')
	if v.Total != nil {
		t.Last = strconv.AppendInt(append(t.Last, `,"total":`...), int64(*v.Total), 10)
	}
	t.Last = strconv.AppendInt(append(t.Last, `,"ignored":`...), int64(v.Ignored), 10)
	t.Last = append(strconv.AppendBool(append(t.Last, `,"truncated":`...), v.Truncated), '}')
	return t.Pieces(), nil
}

// MarshalJSON is JSONPieces in one.
func (v *value) MarshalJSON() ([]byte, error) {
	pieces, err := v.JSONPieces()
	return slices.Concat(pieces...), err
}

// outcome is how much there is.
func outcome(r *tools.Result) string {
	v, ok := r.Value.(*value)
	if !ok {
		return ""
	}
	return v.found.Say(tools.Count(v.found.N(), "entry"))
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[input]{
		Spec: tools.Spec{
			Name: "list_files", Aliases: []string{"ls", "list_dir", "list_directory"}, Kind: tools.Read, Category: "files",
			Description: strings.TrimSpace(description), Danger: tools.Safe, Class: tools.ClassRead,
			Together: tools.WithReads, NotDestructive: true, Source: "builtin", Pages: true,
		},
		Title:   func(in input) string { return "List " + in.Path },
		Subject: func(in input) string { return in.Path },
		Outcome: outcome,
		Needs:   func(env *tools.Env, in input) ([]tools.Need, error) { return tools.ToRead(env, in.narrowed(env).Path) },
		Plan:    plan,
	})
}

// narrowed has the directory to look in, which the pattern may begin with, and what of the pattern
// is below it.
func (in input) narrowed(env *tools.Env) input {
	in.Path, in.Pattern = tools.Narrow(env, in.Path, in.Pattern)
	return in
}

func plan(_ context.Context, env *tools.Env, in input) (*tools.Plan, error) {
	only, err := tree.ParseGlob(in.narrowed(env).Pattern)
	if err != nil {
		return nil, tools.Refuse(tools.InvalidArgs, "pattern", "Parameter validation failed:\npattern: %v", err)
	}
	place := env.Place()
	return &tools.Plan{
		Title: "List " + env.Name(place.Path()), Kind: tools.Read, Danger: tools.Safe,
		Semantic: "read",
		Run:      func(ctx context.Context) (tools.Result, error) { return run(ctx, env, in, place, only) },
	}, nil
}

func run(ctx context.Context, env *tools.Env, in input, place sandbox.Place, only *tree.Glob) (tools.Result, error) {
	path := place.Path()
	dir, err := tools.Folder(env, place)
	if err != nil {
		return tools.Result{}, err
	}
	what, depth := "entry", in.Depth
	if in.Pattern != "" {
		what, depth = "file", 0
	}
	dir.Only(only)
	v := &value{Path: path, Entries: []tools.Entry{}, found: tools.Counter{Most: in.Limit + counted}}
	var lines []string
	leftOut := 0
	room, join := env.Limits.MaxToolOutputChars, place.Joiner()
	v.Ignored, err = env.Searches.Indexes.Walk(ctx, dir, depth, func(e tree.Entry) error {
		if in.Pattern != "" && !e.Type.IsRegular() {
			return nil
		}
		if env.Judged.Denied(join(e.Path)) {
			leftOut++
			return nil
		}
		if !v.found.Add() {
			return fs.SkipAll
		}
		if v.Truncated = v.Truncated || v.found.N() > in.Limit; v.Truncated {
			return nil
		}
		line, found := tools.Describe(env, path, e)
		if room -= len(line) + 1; room < 0 && env.Limits.MaxToolOutputChars > 0 {
			v.Truncated = true
			return nil
		}
		lines, v.Entries = append(lines, line), append(v.Entries, found)
		return nil
	})
	if err != nil {
		return tools.Result{}, err
	}
	v.Total = v.found.Total()
	r := answer(env, in, v, lines, what)
	r.Data += tools.Withheld(dir.Withheld()) + tools.TooDeep(dir.Deep()) + tools.LeftOut(leftOut)
	return r, nil
}

func answer(env *tools.Env, in input, v *value, lines []string, what string) tools.Result {
	name := env.Name(v.Path)
	head := fmt.Sprintf("%s in %s", v.found.Say(tools.Count(v.found.N(), what)), name)
	if in.Pattern != "" {
		head += " fit " + in.Pattern
	}
	var b strings.Builder
	b.WriteString(head)
	if len(lines) > 0 {
		b.WriteString(":\n" + strings.Join(lines, "\n"))
	}
	if more := v.found.N() - len(lines); v.Total == nil {
		fmt.Fprintf(&b, "\n… at least %d more: look into one of the directories", more)
	} else if more > 0 {
		fmt.Fprintf(&b, "\n… %d more: look into one of the directories, or raise limit", more)
	}
	if v.Ignored > 0 {
		fmt.Fprintf(&b, "\n(%d ignored by git not shown)", v.Ignored)
	}
	return tools.Result{
		Success: true, Data: b.String(), Summary: "Listed " + head, Value: v, Truncated: v.Truncated,
	}
}

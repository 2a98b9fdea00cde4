// Package glob is the tool glob: files by their names.
package glob

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tandem/filetime/text"
	"tandem/sandbox"
	"tandem/sandbox/tree"
	"tandem/tools"
	"tandem/tools/rawjson"
)

//go:embed glob.md
var description string

// counted is how many files beyond the limit are counted before that is given up too.
const counted = 10_000

type input struct {
	Pattern string `json:"pattern" desc:"Such as src/**/*.{ts,tsx}." minlen:"1" alias:"glob" nocoerce:"true"`
	Path    string `json:"path" desc:"The directory." default:"." alias:"directory,dir,folder,dir_path" nocoerce:"true"`
	Limit   int    `json:"limit" desc:"Files at most." default:"200" shown:"nodefault" min:"1"`
	other   bool
}

// as is the same search for a pattern in another Unicode form.
func (in input) as(pattern string) input {
	in.Pattern, in.other = pattern, true
	return in
}

type value struct {
	Files     []string
	Total     *int // nil where the count was given up
	Truncated bool
	found     tools.Counter
}

// JSONPieces implements rawjson.Pieced.
func (v *value) JSONPieces() ([][]byte, error) {
	var t rawjson.Text
	t.Last = append(t.Last, `{"files":[`...)
	for i, file := range v.Files {
		if i > 0 {
			t.Last = append(t.Last, ',')
		}
		t.Last = rawjson.AppendString(t.Last, file)
		t.Grown()
	}
	t.Last = append(t.Last, ']')
	if v.Total != nil {
		t.Last = strconv.AppendInt(append(t.Last, `,"total":`...), int64(*v.Total), 10)
	}
	t.Last = append(strconv.AppendBool(append(t.Last, `,"truncated":`...), v.Truncated), '}')
	return t.Pieces(), nil
}

// MarshalJSON is JSONPieces in one.
func (v *value) MarshalJSON() ([]byte, error) {
	pieces, err := v.JSONPieces()
	return slices.Concat(pieces...), err
}

// outcome is how many files were found.
func outcome(r *tools.Result) string {
	if v, ok := r.Value.(*value); ok {
		return v.found.Say(tools.Count(v.found.N(), "file"))
	}
	return ""
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[input]{
		Spec: tools.Spec{
			Name: "glob", Aliases: []string{"find_files"}, Kind: tools.Search, Category: "search",
			Description: strings.TrimSpace(description), Danger: tools.Safe, Class: tools.ClassRead,
			Together: tools.WithReads, NotDestructive: true, Source: "builtin", Pages: true,
		},
		Title:   func(in input) string { return "Find " + in.Pattern },
		Subject: func(in input) string { return in.Pattern },
		Outcome: outcome,
		Needs:   func(env *tools.Env, in input) ([]tools.Need, error) { return tools.ToRead(env, in.narrowed(env).Path) },
		Plan:    plan,
	})
}

// narrowed has the directory to look in, which the pattern may begin with, and what of the pattern is below it.
func (in input) narrowed(env *tools.Env) input {
	dir, rest := tools.Narrow(env, in.Path, in.Pattern)
	if filepath.IsAbs(in.Pattern) && rest == in.Pattern { // nothing of it is there
		dir, rest = spelled(path.Clean(in.Pattern))
	}
	in.Path, in.Pattern = dir, rest
	return in
}

// spelled cuts an absolute pattern behind the folders that it spells out.
func spelled(pattern string) (dir, rest string) {
	end := strings.IndexAny(pattern, `*?[{\`)
	if end < 0 {
		end = len(pattern)
	}
	slash := strings.LastIndexByte(pattern[:end], '/')
	return cmp.Or(pattern[:slash], "/"), pattern[slash:]
}

func plan(_ context.Context, env *tools.Env, in input) (*tools.Plan, error) {
	only, err := tree.ParseGlob(in.narrowed(env).Pattern)
	if err != nil {
		return nil, tools.Refuse(tools.InvalidArgs, "pattern", "Parameter validation failed:\npattern: %v", err)
	}
	place := env.Place()
	return &tools.Plan{
		Title: "Find " + in.Pattern, Kind: tools.Search, Danger: tools.Safe,
		Semantic: "search",
		Run:      func(ctx context.Context) (tools.Result, error) { return run(ctx, env, in, place, only) },
	}, nil
}

func run(ctx context.Context, env *tools.Env, in input, place sandbox.Place, only *tree.Glob) (tools.Result, error) {
	base := place.Path()
	dir, err := tools.Folder(env, place)
	if err != nil {
		return tools.Result{}, err
	}
	dir.Only(only)
	v := &value{Files: []string{}, found: tools.Counter{Most: in.Limit + counted}}
	var names []string
	leftOut := 0
	within := strings.TrimSuffix(base, string(filepath.Separator)) + string(filepath.Separator)
	room, join := env.Limits.MaxToolOutputChars, place.Joiner()
	ignored, err := env.Searches.Indexes.Walk(ctx, dir, 0, func(e tree.Entry) error {
		if !e.Type.IsRegular() {
			return nil
		}
		if env.Judged.Denied(join(e.Path)) {
			leftOut++
			return nil
		}
		if !v.found.Add() {
			return fs.SkipAll
		}
		file := within + filepath.FromSlash(e.Path)
		name := env.Name(file)
		room -= len(name) + 8
		if v.Truncated = v.Truncated || v.found.N() > in.Limit || room < 0 && env.Limits.MaxToolOutputChars > 0; !v.Truncated {
			names, v.Files = append(names, name), append(v.Files, file)
		}
		return nil
	})
	if err != nil {
		return tools.Result{}, err
	}
	if v.found.N() == 0 && !in.other {
		for _, o := range others(in.Pattern) {
			again, err := tree.ParseGlob(in.as(o.pattern).narrowed(env).Pattern)
			if err != nil {
				continue
			}
			if r, err := run(ctx, env, in.as(o.pattern), place, again); err == nil && len(r.Value.(*value).Files) > 0 {
				r.Data += "\n(" + o.note + ")"
				return r, nil
			}
		}
	}
	v.Total = v.found.Total()
	r := answer(env.Name(base), in.Pattern, v, names)
	if v.found.N() == 0 {
		r.Data += tools.NothingFits(in.Pattern, ignored)
	}
	r.Data += tools.Withheld(dir.Withheld()) + tools.TooDeep(dir.Deep()) + tools.LeftOut(leftOut)
	return r, nil
}

// other is what a pattern that fits no file may mean.
type other struct{ pattern, note string }

// others are those of a pattern: its other Unicode form, what it looks like, and all files below the folders that it fits.
func others(pattern string) (out []other) {
	if form := text.OtherForm(pattern); form != "" {
		out = append(out, other{form, "their names are the pattern in another Unicode form, NFC or NFD: letters with accents are one sign or several"})
	}
	if plain := text.Skeleton(pattern); plain != pattern {
		out = append(out, other{plain, "their names look like the pattern, which has " + text.Odd(pattern, plain)})
	}
	if last := path.Base(pattern); pattern[0] != '!' && !strings.Contains(last, ".") && last != "**" {
		out = append(out, other{strings.TrimSuffix(pattern, "/") + "/**", "the pattern fits folders alone: these are the files below them"})
	}
	return out
}

func answer(place, pattern string, v *value, names []string) tools.Result {
	r := tools.Result{Success: true, Value: v, Truncated: v.Truncated}
	files := v.found.Say(tools.Count(v.found.N(), "file"))
	r.Summary = fmt.Sprintf("Found %s for %s", files, pattern)
	if v.found.N() == 0 {
		r.Data = fmt.Sprintf("No files in %s fit %s. Try a wider pattern.", place, pattern)
		return r
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Found %s:", files)
	for i, name := range names {
		b.WriteString("\n" + strconv.Itoa(i+1) + ". " + name)
	}
	if more := v.found.N() - len(names); v.Total == nil {
		fmt.Fprintf(&b, "\n… at least %d more: narrow the pattern", more)
	} else if more > 0 {
		fmt.Fprintf(&b, "\n… %d more: narrow the pattern, or raise limit", more)
	}
	r.Data = b.String()
	return r
}

package undo_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/toolstest"
	"tandem/tools/undo"
)

// past is the record of a host in which nothing but the words of a case happened, all of it in turn 1: a change of OLD to NEW in a
// file, or one that made or removed it.
type past struct {
	env  *tools.Env
	done []string // PATH,OLD,NEW | made:PATH | removed:PATH,TEXT | accepted:PATH | lost:PATH | outside:/PATH
}

func (p *past) Turn() int { return min(1, len(p.done)) }

func (*past) Origins(string) []string { return nil }

func (p *past) Paths(turn int) (out []string) {
	for _, d := range p.done {
		if path := p.path(d); turn == 1 && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

func (p *past) path(d string) string {
	_, d, _ = strings.Cut(":"+d, ":")
	if _, rest, typed := strings.Cut(d, ":"); typed {
		d = rest
	}
	name, _, _ := strings.Cut(d, ",")
	if strings.HasPrefix(name, "/") {
		return name
	}
	return p.env.Paths.Cwd + "/" + name
}

func (p *past) RevertTurn(ctx context.Context, call, path string, _ int) tools.Revert {
	return p.RevertLast(ctx, call, path)
}

func (p *past) RevertLast(ctx context.Context, _, path string) (r tools.Revert) {
	place, err := p.env.Paths.Readable(path)
	if err != nil {
		return tools.Revert{Err: err}
	}
	if r.Now, r.Err = p.env.Read(ctx, place); r.Err != nil {
		return r
	}
	e := filetime.FileEdit{Path: path, Base: r.Now.Text, Rev: r.Now.Rev}
	for _, d := range p.done {
		if p.path(d) != path {
			continue
		}
		what, rest, _ := strings.Cut(d, ":")
		words := strings.Split(d, ",")
		r.Turn = 1
		switch what {
		case "made":
			e.Delete = true
		case "removed":
			e.Create = true
			e.Edits = text.Set{{New: strings.Split(rest, ",")[1] + "\n"}}
		case "accepted":
			r.Accepted++
			continue
		case "lost":
			r.Lost++
			continue
		default:
			at := strings.Index(r.Now.Text.String(), words[2])
			if at < 0 {
				r.Stay = append(r.Stay, text.Range{Start: 0, End: 1})
				continue
			}
			e.Edits = append(e.Edits, text.Edit{Start: at, End: at + len(words[2]), New: words[1]})
		}
		r.Taken++
		r.Edit = &e
	}
	return r
}

func prepare(_ *testing.T, env *tools.Env, flag string) bool {
	if flag == "nothing" {
		env.Undo = &past{env: env}
		return true
	}
	done, ok := strings.CutPrefix(flag, "changed=")
	if p, is := env.Undo.(*past); ok && is {
		p.done = append(p.done, done)
	} else if ok {
		env.Undo = &past{env: env, done: []string{done}}
	}
	return ok
}

func TestCases(t *testing.T) { toolstest.Prepared(t, prepare, undo.NewFile(), undo.NewTurn()) }

// A host that keeps no changes says so.
func TestNoRecord(t *testing.T) {
	w := toolstest.NewWorld(t, undo.NewFile(), undo.NewTurn())
	for name, args := range map[string]string{"undo_file": `{"path": "a.txt"}`, "undo_turn": `{}`} {
		if r := w.Call(name, args); r.Error != tools.Unsupported {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A person is asked for what the call really does: where edits are accepted, taking one back is not asked, deleting a file is.
func TestF179AsksForWhatItDoes(t *testing.T) {
	for change, want := range map[string]int{"a.txt,one,ONE": 0, "made:a.txt": 1} {
		w := toolstest.NewWorld(t, undo.NewFile())
		w.Files.Put(w.Path("a.txt"), "ONE\n", false)
		w.Host.Gate = gate.ModeAcceptEdits
		w.Env.Undo = &past{env: &w.Env, done: []string{change}}
		if r := w.Call("undo_file", `{"path": "a.txt"}`); !r.Success || len(w.Asked) != want {
			t.Errorf("%s: asked %d times; %+v", change, len(w.Asked), r)
		}
	}
}

package run_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/run"
	"tandem/tools/shell"
	"tandem/tools/toolstest"
)

// kindOf is what the calls of the synthetic tools are, by the number of the tool: whatever a tool declares, and where the declaration
// depends on the arguments, what these say.
type kindOf int

const (
	reader    kindOf = iota // with every reader
	editor                  // with editors of other files
	command                 // with commands that only read, if it only reads
	alone                   // with nobody
	forgetful               // declares nothing at all
	kinds
)

// manyTools makes 80 tools of all kinds, in five layers. Each answers with its own name, its call and its argument.
func manyTools() *tools.Set {
	ranks := []tools.Rank{tools.RankBuiltin, tools.RankPlugin, tools.RankMCP, tools.RankClient, tools.RankTurn}
	set := tools.NewSet()
	for r, rank := range ranks {
		var list []tools.Tool
		for i := range 16 {
			n := r*16 + i
			name, kind := fmt.Sprintf("tool%02d", n), kindOf(n)%kinds
			spec := tools.Spec{Name: name, Kind: tools.Read, Source: rankName(rank)}
			switch kind {
			case reader:
				spec.Together = tools.WithReads
			case editor:
				spec.Kind, spec.Together = tools.Edit, tools.OtherFiles
			case command:
				spec.Kind, spec.Together = tools.Execute, tools.Commands
			case alone:
				spec.Kind, spec.Together = tools.Execute, tools.Alone
			case forgetful:
				spec = tools.Spec{Name: name}
			}
			list = append(list, tools.Define(tools.Definition[args]{
				Spec: spec,
				Needs: func(env *tools.Env, in args) ([]tools.Need, error) {
					switch kind {
					case editor:
						return tools.ToWrite(env, tools.Edits, in.Path)
					case command:
						need := tools.Need{Act: tools.Runs, Argv: []string{"x"}, Profile: sandbox.Unconfined, Shell: shell.Command{ReadOnly: in.MS%2 == 0}}
						if in.MS%2 == 0 {
							need.Confined, need.Profile = true, sandbox.ReadOnly
						}
						return []tools.Need{need}, nil
					case forgetful:
						return nil, nil
					}
					return []tools.Need{{Act: tools.Reads}}, nil
				},
				Plan: func(_ context.Context, env *tools.Env, in args) (*tools.Plan, error) {
					return &tools.Plan{Run: func(context.Context) (tools.Result, error) {
						return done("%s %s %s %d", name, env.Call, in.Path, in.MS), nil
					}}, nil
				},
			}))
		}
		l, err := tools.NewLayer(rank, "", list...)
		if err != nil {
			panic(err)
		}
		set = set.With(l)
	}
	return set
}

func rankName(r tools.Rank) string {
	return []string{"builtin", "plugin:p", "mcp:m", "client", "turn"}[r]
}

// asked is a call of the batches below, and what an oracle knows of it.
type asked struct {
	tool int // out of range is a tool that does not exist
	path string
	ms   int // below 0 is an invalid argument
}

func (a asked) line() string {
	return fmt.Sprintf(`tool%02d {"path":%q,"ms":%d}`, a.tool, a.path, a.ms)
}

// beside says whether two calls may run at the same time: the definition, without any notion of batches.
func (a asked) beside(b asked) bool {
	fine := func(x asked) bool { return x.tool < 80 && x.ms >= 0 }
	ka, kb := kindOf(a.tool)%kinds, kindOf(b.tool)%kinds
	if !fine(a) || !fine(b) || ka != kb {
		return false
	}
	switch ka {
	case reader:
		return true
	case editor:
		return a.path != b.path
	case command:
		return a.ms%2 == 0 && b.ms%2 == 0
	}
	return false
}

// oracle is the partition by brute force: of all ways to cut the calls into runs in which every two may run together, the one whose first run is
// longest, then its second, and so on.
func oracle(calls []asked) (best [][]int) {
	valid := func(from, to int) bool {
		for i := from; i < to; i++ {
			for j := i + 1; j < to; j++ {
				if !calls[i].beside(calls[j]) {
					return false
				}
			}
		}
		return true
	}
	var sizes []int
	var try func(from int, so []int)
	try = func(from int, so []int) {
		if from == len(calls) {
			if slices.Compare(so, sizes) > 0 || sizes == nil {
				sizes = slices.Clone(so)
			}
			return
		}
		for to := from + 1; to <= len(calls); to++ {
			if valid(from, to) {
				try(to, append(slices.Clone(so), to-from))
			}
		}
	}
	try(0, nil)
	at := 0
	for _, n := range sizes {
		var b []int
		for range n {
			b = append(b, at)
			at++
		}
		best = append(best, b)
	}
	return best
}

// TestF124_F271PartitionOracle compares the partition with what its definition says, by brute force, and the run of a batch with both:
// results are in the order of the calls, each is its own call's, and what runs together may.
func TestF124_F271PartitionOracle(t *testing.T) {
	w := toolstest.NewWorld(t)
	w.Host.Tools, w.Host.Gate = manyTools(), allowing{}
	one := rapid.Custom(func(t *rapid.T) asked {
		return asked{
			tool: rapid.OneOf(rapid.IntRange(0, 14), rapid.IntRange(0, 81)).Draw(t, "tool"), path: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "path"),
			ms: rapid.SampledFrom([]int{0, 0, 1, 2, 2, 3, -1}).Draw(t, "ms"),
		}
	})
	n := 0
	batch := func(rt *rapid.T) {
		var list []asked
		if rapid.Bool().Draw(rt, "alike") { // long runs are rare otherwise
			tool := rapid.IntRange(0, 4).Draw(rt, "kind")
			list = rapid.SliceOfN(rapid.Map(one, func(a asked) asked { a.tool, a.ms = a.tool%16*5%80+tool, a.ms&^1; return a }), 0, 10).Draw(rt, "calls")
		} else {
			list = rapid.SliceOfN(one, 0, 10).Draw(rt, "calls")
		}
		var lines []string
		for _, a := range list {
			lines = append(lines, a.line())
		}
		cs := calls(lines...)
		for i := range cs {
			n++
			cs[i].ID = fmt.Sprint("c", n)
		}
		want := oracle(list)
		got := run.Partition(w.Host, cs)
		equal(t, strings.Join(lines, "\n"), got, want)
		var mu sync.Mutex
		running := map[string]int{}
		w.Host.Observe = func(e run.Event) {
			mu.Lock()
			defer mu.Unlock()
			i := slices.IndexFunc(cs, func(c run.Call) bool { return c.ID == e.Call.ID })
			switch e.State {
			case run.Executing:
				for _, other := range running {
					if other != i && !list[i].beside(list[other]) {
						t.Errorf("%s runs beside %s", lines[i], lines[other])
					}
				}
				running[e.Call.ID] = i
			case run.Completed:
				delete(running, e.Call.ID)
			}
		}
		results, batches := run.Batch(t.Context(), w.Host, cs)
		equal(t, "batches of the run", batches, want)
		for i, r := range results {
			own := fmt.Sprintf("tool%02d %s %s %d", list[i].tool, cs[i].ID, list[i].path, list[i].ms)
			if fine := list[i].tool < 80 && list[i].ms >= 0; r.Call != cs[i].ID || r.Success != fine || fine && r.Data != own {
				t.Errorf("%s: %s", lines[i], r.Data)
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		for range 5 {
			batch(rt)
		}
	})
	if n < 1000 && !testing.Short() {
		t.Errorf("only %d calls", n)
	}
}

// TestF242PanicsReachWhoeverWaits: what goes wrong beside the calls, in a goroutine of the batch, is not lost and does not end the process: it
// is the panic of whoever waits, with the stack of where it happened.
func TestF242PanicsReachWhoeverWaits(t *testing.T) {
	w := toolstest.NewWorld(t, probe(tools.Spec{Name: "x"}, func(context.Context, *tools.Env, args) (tools.Result, error) { return done("x"), nil }))
	w.Host.Observe = func(e run.Event) {
		if e.State == run.Yielded {
			panic("an observer broke")
		}
	}
	defer func() {
		said := fmt.Sprint(recover())
		if !strings.Contains(said, "an observer broke") || !strings.Contains(said, "oracle_test.go") {
			t.Errorf("the panic is %q", said)
		}
	}()
	run.Batch(t.Context(), w.Host, calls(`x {}`))
	t.Error("nothing was said")
}

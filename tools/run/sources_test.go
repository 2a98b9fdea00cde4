package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"tandem/tools"
	"tandem/tools/foreign"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

// errand is what the tools of the test below are asked for.
type errand struct {
	Path  string `json:"path" minlen:"1"`
	Nonce string `json:"nonce" minlen:"1"`
}

const errandSchema = `{"type":"object","additionalProperties":false,"required":["path","nonce"],` +
	`"properties":{"path":{"type":"string","minLength":1},"nonce":{"type":"string","minLength":1}}}`

// floor is where the calls of one session meet: it knows which of them run, and that some must not meet.
type floor struct {
	mu      sync.Mutex
	running map[string]visitor // by nonce
	wrong   []string
	most    int
}

type visitor struct {
	together tools.Together
	path     string
}

func (f *floor) enter(nonce string, v visitor) {
	f.mu.Lock()
	for other, o := range f.running {
		if o.together != v.together || v.together == tools.Alone || v.together == tools.OtherFiles && o.path == v.path {
			f.wrong = append(f.wrong, fmt.Sprintf("%s (%+v) beside %s (%+v)", nonce, v, other, o))
		}
	}
	f.running[nonce] = v
	f.most = max(f.most, len(f.running))
	f.mu.Unlock()
	runtime.Gosched()
}

func (f *floor) leave(nonce string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, nonce)
}

// eighty are tools of five sources: structs and raw schemas, of all kinds, in layers of all ranks.
func eighty(t *testing.T, f *floor) (set *tools.Set, together map[string]tools.Together) {
	t.Helper()
	kinds := []tools.Kind{tools.Read, tools.Search, tools.Edit, tools.Fetch, tools.Think, tools.Other, tools.Delete}
	ranks := []tools.Rank{tools.RankBuiltin, tools.RankPlugin, tools.RankMCP, tools.RankClient, tools.RankTurn}
	sources := []string{"builtin", "plugin:p", "mcp:m", "client", "turn"}
	layers := make([][]tools.Tool, len(ranks))
	together = map[string]tools.Together{}
	for i := range 80 {
		kind, from := kinds[i%len(kinds)], i%len(ranks)
		spec := tools.Spec{
			Name: fmt.Sprintf("tool_%02d", i), Aliases: []string{fmt.Sprintf("alias_%02d", i)}, Kind: kind, Danger: tools.Safe,
			NotDestructive: true, Source: sources[from],
		}
		isForeign := i%2 == 1
		switch {
		case kind.ReadOnly():
			spec.Together = tools.WithReads
		case kind == tools.Edit && !isForeign:
			spec.Together = tools.OtherFiles
		}
		together[spec.Name] = spec.Together
		needs := func(env *tools.Env, path string) ([]tools.Need, error) {
			switch kind {
			case tools.Edit:
				return tools.ToWrite(env, tools.Edits, path)
			case tools.Delete:
				return tools.ToWrite(env, tools.Replaces, path)
			case tools.Fetch, tools.Other:
				return nil, nil
			}
			return []tools.Need{{Act: tools.Nothing}}, nil
		}
		do := func(env *tools.Env, in errand) (tools.Result, error) {
			f.enter(in.Nonce, visitor{spec.Together, in.Path})
			defer f.leave(in.Nonce)
			return tools.Result{Success: true, Data: spec.Name + " " + env.Call + " " + in.Nonce, Summary: "Done", Value: in}, nil
		}
		tool := tools.Define(tools.Definition[errand]{
			Spec:  spec,
			Needs: func(env *tools.Env, in errand) ([]tools.Need, error) { return needs(env, in.Path) },
			Plan: func(_ context.Context, env *tools.Env, in errand) (*tools.Plan, error) {
				return &tools.Plan{Run: func(context.Context) (tools.Result, error) { return do(env, in) }}, nil
			},
		})
		if isForeign {
			decoded := func(args json.RawMessage) (in errand) {
				if err := json.Unmarshal(args, &in); err != nil {
					t.Error(err)
				}
				return in
			}
			var err error
			tool, err = foreign.New(foreign.Spec{Spec: spec, Parameters: json.RawMessage(errandSchema)},
				func(env *tools.Env, args json.RawMessage) ([]tools.Need, error) {
					return needs(env, decoded(args).Path)
				},
				func(_ context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error) {
					return do(env, decoded(args))
				})
			if err != nil {
				t.Fatal(err)
			}
		}
		layers[from] = append(layers[from], tool)
	}
	set = tools.NewSet()
	for i, list := range layers {
		l, err := tools.NewLayer(ranks[i], "", list...)
		if err != nil {
			t.Fatal(err)
		}
		set = set.With(l)
	}
	return set, together
}

// Eighty tools of five sources, and 1,000 calls of them in random batches, in four sessions at the same time: each call gets its own
// answer, in the order of the calls, and none runs beside one that it must not meet.
func TestF038EightyToolsOfFiveSources(t *testing.T) {
	const sessions, calls = 4, 1000
	var all sync.WaitGroup
	for session := range sessions {
		all.Go(func() {
			f := &floor{running: map[string]visitor{}}
			w := toolstest.NewWorld(t)
			set, together := eighty(t, f)
			w.Host.Tools = set
			var mu sync.Mutex
			var yielded []string
			w.Host.Observe = func(e run.Event) {
				if e.State == run.Yielded {
					mu.Lock()
					yielded = append(yielded, e.Call.ID)
					mu.Unlock()
				}
			}
			random := rand.New(rand.NewPCG(38, uint64(session)))
			for done := 0; done < calls/sessions; {
				batch := make([]run.Call, min(1+random.IntN(20), calls/sessions-done))
				want := make([]string, len(batch))
				var ids []string
				for i := range batch {
					tool := random.IntN(80)
					id, nonce := fmt.Sprintf("s%d_c%d", session, done+i), fmt.Sprintf("n%d_%d", session, done+i)
					name := fmt.Sprintf([]string{"tool_%02d", "ALIAS_%02d"}[random.IntN(2)], tool)
					args := fmt.Sprintf(`{"path":"f%d.txt","nonce":%q}`, random.IntN(3), nonce)
					want[i] = fmt.Sprintf("tool_%02d %s %s", tool, id, nonce)
					if random.IntN(10) == 0 {
						args, want[i] = `{"path":"","more":1}`, "INVALID_ARGS 3"
					}
					batch[i] = run.Call{ID: id, Name: name, Arguments: json.RawMessage(args)}
					ids = append(ids, id)
				}
				yielded = nil
				results, batches := run.Batch(t.Context(), w.Host, batch)
				var order []int
				for _, b := range batches {
					order = append(order, b...)
				}
				for i, r := range results {
					got := r.Data
					if !r.Success {
						got = fmt.Sprintf("%s %d", r.Error, len(r.Issues))
					}
					if got != want[i] || r.Call != ids[i] || order[i] != i {
						t.Errorf("call %s: %q, want %q", ids[i], got, want[i])
					}
				}
				if !slices.Equal(yielded, ids) {
					t.Errorf("yielded %v, asked %v", yielded, ids)
				}
				for _, b := range batches {
					for _, i := range b {
						if name := w.Host.Tools.Get(batch[i].Name).Spec().Name; len(b) > 1 && together[name] == tools.Alone {
							t.Errorf("%s runs alone, and was put with others", name)
						}
					}
				}
				done += len(batch)
			}
			if len(f.wrong) > 0 {
				t.Errorf("%d calls met that must not, such as %s", len(f.wrong), f.wrong[0])
			}
			if session == 0 {
				t.Logf("at most %d calls at the same time", f.most)
			}
		})
	}
	all.Wait()
}

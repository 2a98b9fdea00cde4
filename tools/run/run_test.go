package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tandem/filetime"
	"tandem/filetime/filetimetest"
	"tandem/filetime/text"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/edit"
	"tandem/tools/gate"
	"tandem/tools/run"
	"tandem/tools/shell"
	"tandem/tools/task"
	"tandem/tools/toolstest"
	"tandem/tools/write"
)

// args are the arguments of the probe tools.
type args struct {
	Path  string `json:"path,omitempty"`
	MS    int    `json:"ms,omitempty" min:"0"`
	Items []item `json:"items,omitempty"`
}

type item struct {
	Name string `json:"name" minlen:"1"`
}

// probe makes a tool whose plan runs fn.
func probe(spec tools.Spec, fn func(ctx context.Context, env *tools.Env, in args) (tools.Result, error)) tools.Tool {
	if spec.Kind == "" {
		spec.Kind = tools.Read
	}
	return tools.Define(tools.Definition[args]{
		Spec:  spec,
		Title: func(in args) string { return spec.Name + " " + in.Path },
		Needs: func(env *tools.Env, in args) ([]tools.Need, error) {
			if spec.Together == tools.OtherFiles {
				return tools.ToWrite(env, tools.Edits, in.Path)
			}
			return []tools.Need{{Act: tools.Reads}}, nil
		},
		Plan: func(_ context.Context, env *tools.Env, in args) (*tools.Plan, error) {
			return &tools.Plan{Run: func(ctx context.Context) (tools.Result, error) { return fn(ctx, env, in) }}, nil
		},
	})
}

func done(format string, a ...any) tools.Result {
	return tools.Result{Success: true, Data: fmt.Sprintf(format, a...)}
}

// sleeper sleeps as long as it is told to and notes how many of its kind run at once.
type sleeper struct{ now, most atomic.Int32 }

func (s *sleeper) tool(name string, together tools.Together) tools.Tool {
	spec := tools.Spec{Name: name, Together: together}
	return probe(spec, func(ctx context.Context, _ *tools.Env, in args) (tools.Result, error) {
		if n := s.now.Add(1); n > s.most.Load() {
			s.most.Store(n)
		}
		defer s.now.Add(-1)
		select {
		case <-time.After(time.Duration(in.MS) * time.Millisecond):
			return done("slept %d", in.MS), nil
		case <-ctx.Done():
			return tools.Result{}, ctx.Err()
		}
	})
}

// recorder is a host's observer.
type recorder struct {
	mu     sync.Mutex
	events []run.Event
}

func (r *recorder) observe(e run.Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
}

func (r *recorder) of(id string) (states []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Call.ID == id {
			states = append(states, string(e.State)+" "+e.Phase)
		}
	}
	return states
}

func (r *recorder) index(id string, s run.State) int {
	return slices.IndexFunc(r.events, func(e run.Event) bool { return e.Call.ID == id && e.State == s })
}

func calls(lines ...string) []run.Call {
	var out []run.Call
	for i, l := range lines {
		name, js, _ := strings.Cut(l, " ")
		out = append(out, run.Call{ID: fmt.Sprint(i + 1), Name: name, Arguments: json.RawMessage(js)})
	}
	return out
}

func data(results []tools.Result) (out []string) {
	for _, r := range results {
		out = append(out, r.Data)
	}
	return out
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestF124Partition(t *testing.T) {
	var s sleeper
	w := toolstest.NewWorld(t, s.tool("read", tools.WithReads), s.tool("bash", tools.Alone), edit.New(), write.New())
	w.Host.Tools = toolstest.SetOf(append(w.Host.Tools.List(), task.New()...)...)
	if err := os.MkdirAll(w.Path("dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(w.Path("dir"), w.Path("link")); err != nil {
		t.Fatal(err)
	}
	e := func(path string) string {
		return fmt.Sprintf(`edit_file {"path": %q, "old_text": "a", "new_text": "b"}`, path)
	}
	for _, c := range []struct {
		name  string
		calls []string
		want  [][]int
	}{
		{"nothing", nil, nil},
		{
			"reads round a command",
			[]string{`read {"path":"a"}`, `read {"path":"b"}`, `bash {}`, `read {"path":"c"}`},
			[][]int{{0, 1}, {2}, {3}},
		},
		{"commands", []string{`bash {}`, `bash {}`}, [][]int{{0}, {1}}},
		{
			"edits of different files",
			[]string{e("a"), e("b"), `write_file {"path":"c","content":"x"}`},
			[][]int{{0, 1, 2}},
		},
		{"edits of one file", []string{e("a"), e("b"), e("a"), e("c")}, [][]int{{0, 1}, {2, 3}}},
		{
			"one file by other names",
			[]string{e("dir/a"), e("link/a"), e("./dir/a"), e("x/../dir/a")},
			[][]int{{0}, {1}, {2}, {3}},
		},
		{
			"another name of the parameter",
			[]string{`edit_file {"filePath":"a","old_text":"a","new_text":"b"}`, e("a")},
			[][]int{{0}, {1}},
		},
		{"reads and edits", []string{`read {"path":"a"}`, e("a"), `read {"path":"a"}`}, [][]int{{0}, {1}, {2}}},
		{
			"tasks beside reads, but one after another",
			[]string{`task_create {"title":"a"}`, `read {"path":"a"}`, `task_create {"title":"b"}`, `read {"path":"b"}`, `task_list {}`},
			[][]int{{0, 1}, {2, 3}, {4}},
		},
		{
			"what will be refused",
			[]string{`read {"ms":"x"}`, `read {}`, `nope {}`, e("/etc/passwd"), e("/etc/group")},
			[][]int{{0}, {1}, {2}, {3}, {4}},
		},
	} {
		equal(t, c.name, run.Partition(w.Host, calls(c.calls...)), c.want)
	}
}

// What Batch does is what Partition says, whatever is asked for: groups never overlap, results come in request order.
func TestF131BatchFollowsPartition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		asked := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) string {
			tool := rapid.SampledFrom([]string{"read", "edit", "bash", "nope"}).Draw(rt, "tool")
			path := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "path")
			return fmt.Sprintf(`%s {"path":%q,"ms":%d}`, tool, path, rapid.IntRange(0, 9).Draw(rt, "ms"))
		}), 0, 12).Draw(rt, "calls")
		synctest.Test(t, func(t *testing.T) {
			var s sleeper
			var r recorder
			w := toolstest.NewWorld(t,
				s.tool("read", tools.WithReads), s.tool("edit", tools.OtherFiles), s.tool("bash", tools.Alone))
			w.Env.Limits.MaxConcurrency = 3
			w.Host.Observe = r.observe
			list := calls(asked...)
			results, batches := run.Batch(t.Context(), w.Host, list)
			equal(t, "batches", batches, run.Partition(w.Host, list))
			var yielded []string
			open := map[string]bool{}
			batchOf := map[string]int{}
			for i, b := range batches {
				for _, k := range b {
					batchOf[list[k].ID] = i
				}
			}
			for _, e := range r.events {
				switch e.State {
				case run.Executing:
					for id := range open {
						if batchOf[id] != batchOf[e.Call.ID] {
							t.Errorf("%s runs while %s does", e.Call.ID, id)
						}
					}
					open[e.Call.ID] = true
				case run.Completed:
					delete(open, e.Call.ID)
				case run.Yielded:
					yielded = append(yielded, e.Call.ID)
				}
			}
			for i, c := range list {
				if yielded[i] != c.ID || results[i].Call != c.ID {
					t.Errorf("result %d is of call %s, yielded %s", i, results[i].Call, yielded[i])
				}
			}
		})
	})
}

func TestF131_F136RequestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sleeper
		var r recorder
		w := toolstest.NewWorld(t, s.tool("read", tools.WithReads))
		w.Host.Observe = r.observe
		began := time.Now()
		results, _ := run.Batch(t.Context(), w.Host, calls(`read {"ms":300}`, `read {"ms":100}`))
		equal(t, "results", data(results), []string{"slept 300", "slept 100"})
		equal(t, "time", time.Since(began), 300*time.Millisecond)
		// F136: what is ready early waits for its turn.
		if a, b, c := r.index("2", run.Completed), r.index("1", run.Yielded), r.index("2", run.Yielded); a >= b || b >= c {
			t.Errorf("completed(2) %d, yielded(1) %d, yielded(2) %d", a, b, c)
		}
	})
}

func TestF132_F134Progress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		var late func(tools.Progress)
		w := toolstest.NewWorld(t, probe(tools.Spec{Name: "read", Together: tools.WithReads},
			func(_ context.Context, env *tools.Env, in args) (tools.Result, error) {
				if env.Call == "1" {
					late = env.Person.Progress
				}
				time.Sleep(time.Duration(in.MS) * time.Millisecond)
				env.Person.Progress(tools.Progress{Text: "half"})
				time.Sleep(time.Duration(in.MS) * time.Millisecond)
				return done("ok"), nil
			}))
		w.Host.Observe = r.observe
		run.Batch(t.Context(), w.Host, calls(`read {"ms":300}`, `read {"ms":100}`))
		late(tools.Progress{Text: "too late"})
		want := []string{"queued use", "executing use", "executing progress", "completed result", "yielded result"}
		equal(t, "events of 1", r.of("1"), want)
		equal(t, "events of 2", r.of("2"), want)
		second := slices.IndexFunc(r.events, func(e run.Event) bool { return e.Call.ID == "2" && e.Progress != nil })
		if first := r.index("1", run.Completed); second > first {
			t.Error("the progress of the second call waited for the first")
		}
	})
}

// F134 for calls that never run.
func TestF134StatesOfRefusals(t *testing.T) {
	var r recorder
	w := toolstest.NewWorld(t, write.New())
	w.Host.Gate, w.Answer, w.Host.Observe = gate.ModeAsk, run.Answer{}, r.observe
	run.Batch(t.Context(), w.Host, calls(`nope {}`, `write_file {}`, `write_file {"path":"a","content":"b"}`))
	equal(t, "unknown", r.of("1"), []string{"queued use", "executing use", "completed error", "yielded error"})
	equal(t, "bad arguments", r.of("2"), []string{"queued use", "executing use", "completed error", "yielded error"})
	equal(t, "rejected", r.of("3"), []string{"queued use", "executing use", "completed rejected", "yielded rejected"})
	for _, e := range r.events {
		if e.Call.ID == "3" && (e.Tool != "write_file" || e.Kind != tools.Edit || !strings.HasSuffix(e.Title, " a")) {
			t.Errorf("event %+v", e)
		}
	}
}

func TestF135_F139StartsWhileTheModelWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sleeper
		var r recorder
		w := toolstest.NewWorld(t, s.tool("read", tools.WithReads), s.tool("bash", tools.Alone))
		w.Host.Observe = r.observe
		st := run.NewStream(t.Context(), w.Host)
		list := calls(`read {"ms":1000}`, `read {"ms":1000}`, `bash {"ms":1000}`, `read {"ms":1000}`)
		began := time.Now()
		for _, c := range list {
			st.Submit(c)
			time.Sleep(500 * time.Millisecond)
		}
		st.Wait()
		var at []time.Duration
		for _, c := range list {
			at = append(at, r.events[r.index(c.ID, run.Executing)].At.Sub(began))
		}
		equal(t, "starts", at, []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond, 2500 * time.Millisecond})
		equal(t, "batches", st.Batches(), [][]int{{0, 1}, {2}, {3}})
	})
}

func TestF139aBoundedPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sleeper
		w := toolstest.NewWorld(t, s.tool("read", tools.WithReads))
		w.Env.Limits.MaxConcurrency = 4
		began := time.Now()
		_, batches := run.Batch(t.Context(), w.Host, calls(slices.Repeat([]string{`read {"ms":100}`}, 20)...))
		equal(t, "at once", s.most.Load(), int32(4))
		equal(t, "batches", len(batches), 1)
		equal(t, "time", time.Since(began), 500*time.Millisecond)
	})
}

// landings watches how many changes of each file land at the same time.
func landings(w *toolstest.World) (most map[string]int, overlap *bool) {
	most, overlap = map[string]int{}, new(bool)
	var mu sync.Mutex
	now := map[string]int{}
	w.Files.Enter = func(c filetime.Change) {
		path := c.Files[0].Path
		mu.Lock()
		now[path]++
		most[path] = max(most[path], now[path])
		*overlap = *overlap || len(now) > 1
		mu.Unlock()
		time.Sleep(100 * time.Millisecond)
		mu.Lock()
		if now[path]--; now[path] == 0 {
			delete(now, path)
		}
		mu.Unlock()
	}
	return most, overlap
}

func TestF125WritesOfOneFileNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := toolstest.NewWorld(t, edit.New())
		w.Files.Put(w.Path("f"), "a b c\n", true)
		if err := w.See("f", 1, 0); err != nil {
			t.Fatal(err)
		}
		most, _ := landings(w)
		e := func(old string) string {
			return fmt.Sprintf(`edit_file {"path":"f","old_text":%q,"new_text":"%s!"}`, old, old)
		}
		began := time.Now()
		results, _ := run.Batch(t.Context(), w.Host, calls(e("a"), e("b"), e("c")))
		for _, r := range results {
			if !r.Success {
				t.Error(r.Data)
			}
		}
		equal(t, "most at once", most[w.Path("f")], 1)
		equal(t, "time", time.Since(began), 300*time.Millisecond)
		text, _ := w.Files.Text(w.Path("f"))
		equal(t, "text", text, "a! b! c!\n")
	})
}

func TestF126OtherFilesOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := toolstest.NewWorld(t, write.New())
		_, overlap := landings(w)
		began := time.Now()
		run.Batch(t.Context(), w.Host,
			calls(`write_file {"path":"a","content":"x"}`, `write_file {"path":"b","content":"x"}`))
		equal(t, "overlap", *overlap, true)
		equal(t, "time", time.Since(began), 100*time.Millisecond)
	})
}

// F187: calls of other turns and sessions come past the scheduler; the locks keep them apart.
func TestF187ManyEditsOfOneFile(t *testing.T) {
	w := toolstest.NewWorld(t, edit.New())
	var body strings.Builder
	for i := range 50 {
		fmt.Fprintf(&body, "line %02d\n", i)
	}
	w.Files.Put(w.Path("f"), body.String(), true)
	if err := w.See("f", 1, 0); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			c := calls(fmt.Sprintf(`edit_file {"path":"f","old_text":"line %02d","new_text":"LINE %02d"}`, i, i))[0]
			if r := toolstest.One(t.Context(), w.Host, c); !r.Success {
				t.Errorf("edit %d: %s", i, r.Data)
			}
		})
	}
	wg.Wait()
	text, _ := w.Files.Text(w.Path("f"))
	equal(t, "text", text, strings.ReplaceAll(body.String(), "line", "LINE"))
}

// asker answers each question when it is told to.
type asker struct {
	asked  chan run.Question
	answer chan run.Answer
}

func (a *asker) Ask(ctx context.Context, q run.Question) run.Answer {
	a.asked <- q
	select {
	case r := <-a.answer:
		return r
	case <-ctx.Done():
		return run.Answer{Outcome: run.Unavailable}
	}
}

func newAsker() *asker {
	return &asker{asked: make(chan run.Question, 100), answer: make(chan run.Answer)}
}

// askFor asks for the calls of one file only.
type askFor string

func (a askFor) Judge(c gate.Call) gate.Decision {
	if strings.HasSuffix(c.Needs[0].Place.Path(), string(a)) {
		return gate.Decision{Verdict: gate.Ask, Reason: "it is that file"}
	}
	return gate.Decision{Verdict: gate.Allow}
}

func TestF129PermissionDoesNotBlockOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		a := newAsker()
		w := toolstest.NewWorld(t, write.New())
		w.Host.Gate, w.Host.Asker, w.Host.Observe = askFor("a"), a, r.observe
		st := run.NewStream(t.Context(), w.Host)
		for _, c := range calls(`write_file {"path":"a","content":"x"}`, `write_file {"path":"b","content":"x"}`,
			`write_file {"path":"c","content":"x"}`) {
			st.Submit(c)
		}
		synctest.Wait()
		q := <-a.asked
		equal(t, "question", []string{q.Plan.Title, q.Judged.Reason, q.Diffs[0].New}, []string{"Create a", "it is that file", "x"})
		equal(t, "asked for", r.of("1"), []string{"queued use"})
		equal(t, "others", append(r.of("2"), r.of("3")...), []string{
			"queued use", "executing use", "completed result", "queued use", "executing use", "completed result",
		})
		a.answer <- run.Answer{Outcome: run.Allowed}
		results := st.Wait()
		equal(t, "results", []bool{results[0].Success, results[1].Success, results[2].Success}, []bool{true, true, true})
	})
}

func TestF129CancelledByPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sleeper
		a := newAsker()
		w := toolstest.NewWorld(t, write.New(), s.tool("bash", tools.Alone), s.tool("read", tools.OtherFiles))
		w.Host.Gate, w.Host.Asker = askFor("a"), a
		st := run.NewStream(t.Context(), w.Host)
		for _, c := range calls(`write_file {"path":"a","content":"x"}`, `read {"path":"b","ms":60000}`, `bash {}`) {
			st.Submit(c)
		}
		synctest.Wait()
		<-a.asked
		a.answer <- run.Answer{Outcome: run.Cancelled}
		synctest.Wait()
		st.Submit(calls(`bash {}`)[0])
		for i, r := range st.Wait() {
			equal(t, fmt.Sprint("code of ", i), r.Error, filetime.Cancelled)
		}
		equal(t, "cancelled", st.Cancelled(), true)
		if _, exists := w.Files.Text(w.Path("a")); exists {
			t.Error("the file was written")
		}
		equal(t, "ran", s.most.Load(), int32(1))
	})
}

// A cancelled turn leaves no call without a result, and a question that waits ends with it.
func TestF085Cancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { cancelled(t, nil) })
	synctest.Test(t, func(t *testing.T) { cancelled(t, errors.New("cancelled by the client")) })
}

func cancelled(t *testing.T, cause error) {
	var s sleeper
	w := toolstest.NewWorld(t, write.New(), s.tool("bash", tools.Alone))
	w.Host.Gate, w.Host.Asker = askFor("a"), newAsker()
	ctx, cancel := context.WithCancelCause(t.Context())
	st := run.NewStream(ctx, w.Host)
	for _, c := range calls(`bash {"ms":60000}`, `write_file {"path":"a","content":"x"}`, `bash {}`) {
		st.Submit(c)
	}
	began := time.Now()
	time.Sleep(time.Second)
	cancel(cause)
	results := st.Wait()
	equal(t, "time", time.Since(began), time.Second)
	for _, r := range results {
		equal(t, "code", r.Error, filetime.Cancelled)
	}
	equal(t, "the running one", strings.Contains(results[0].Data, "part of its work"), true)
	equal(t, "the others", strings.Contains(results[1].Data, "nothing was done"), true)
	equal(t, "cancelled by a person's answer", st.Cancelled(), false)
}

// partFiles are files of which one is changed and taken back when the time for the others is over.
type partFiles struct{ *filetimetest.Files }

func (f partFiles) Commit(ctx context.Context, _ filetime.Change) (filetime.Landed, error) {
	<-ctx.Done()
	return filetime.Landed{}, &filetime.Incomplete{Err: context.Cause(ctx), Files: []filetime.FileReport{
		{Path: "first", State: filetime.Reverted}, {Path: "second", State: filetime.Refused},
	}}
}

// Who ends a change of several files in its midst is told why it ended and what became of each of them.
func TestF085CancelInTheMidstOfAChange(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit time.Duration // of the tool
		most  time.Duration // of all calls
		end   error
		code  filetime.Code
		says  string
	}{
		{"cancelled", time.Hour, 0, nil, filetime.Cancelled, "part of its work"},
		{"cancelled by the client", time.Hour, 0, errors.New("by the client"), filetime.Cancelled, "part of its work"},
		{"the tool's time", time.Second, 0, nil, filetime.Timeout, "1s"},
		{"the turn's time", time.Hour, time.Second, nil, tools.BudgetExceeded, "budget"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := toolstest.NewWorld(t, write.New())
				w.Host.Files, w.Env.Limits.ToolTimeout = partFiles{w.Files}, c.limit
				w.Host.Schedule.Budget = &run.Budget{MaxTime: c.most}
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Minute, func() { cancel(c.end) })
				r := toolstest.One(ctx, w.Host, calls(`write_file {"path":"a","content":"x"}`)[0])
				equal(t, "code", r.Error, c.code)
				for _, want := range []string{c.says, "first had been changed already; that was reverted."} {
					if !strings.Contains(r.Data, want) {
						t.Errorf("%q does not say %q", r.Data, want)
					}
				}
			})
		})
	}
}

func TestF138Block(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, _ *tools.Env, _ args) (tools.Result, error) {
			time.Sleep(5 * time.Second)
			return done("whole"), ctx.Err()
		}
		w := toolstest.NewWorld(t, probe(tools.Spec{Name: "slow", Block: true}, slow))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		equal(t, "result", toolstest.One(ctx, w.Host, calls(`slow {}`)[0]).Data, "whole")
	})
	// A plan may ask for it as well; the end of the host's life ends it all the same, and so does its own time.
	for _, c := range []struct {
		name        string
		block       bool
		life, limit time.Duration
		want        string
		took        time.Duration
	}{
		{"one that does not", false, 0, 0, "CANCELLED", time.Second},
		{"one that does", true, 0, 0, "", 5 * time.Second},
		{"cancelled again", true, 2 * time.Second, 0, "CANCELLED", 2 * time.Second},
		{"a limit", true, 0, 3 * time.Second, "TIMEOUT", 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := toolstest.NewWorld(t, tools.Define(tools.Definition[args]{
				Spec: tools.Spec{Name: "slow", Kind: tools.Read}, Needs: tools.Always[args](tools.Need{Act: tools.Reads}),
				Plan: func(context.Context, *tools.Env, args) (*tools.Plan, error) {
					return &tools.Plan{Block: c.block, Run: func(ctx context.Context) (tools.Result, error) {
						select {
						case <-time.After(5 * time.Second):
							return done("whole"), nil
						case <-ctx.Done():
							return tools.Result{}, ctx.Err()
						}
					}}, nil
				},
			}))
			var told recorder
			w.Host.Observe = told.observe
			w.Env.Limits.ToolTimeout = c.limit
			life, kill := context.WithCancel(t.Context())
			defer kill()
			if w.Host.Life = life; c.life > 0 {
				time.AfterFunc(c.life, kill)
			}
			ctx, cancel := context.WithCancel(life)
			time.AfterFunc(time.Second, cancel)
			began := time.Now()
			r := toolstest.One(ctx, w.Host, calls(`slow {}`)[0])
			equal(t, c.name, string(r.Error), c.want)
			equal(t, "time of "+c.name, time.Since(began), c.took)
			equal(t, "told of "+c.name, slices.Contains(told.of("1"), "executing progress"), c.block)
		})
	}
}

func TestF084Timeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sleeper
		w := toolstest.NewWorld(t, s.tool("read", tools.WithReads),
			probe(tools.Spec{Name: "deaf"}, func(context.Context, *tools.Env, args) (tools.Result, error) {
				time.Sleep(time.Hour)
				return done("late"), nil
			}),
			probe(tools.Spec{Name: "own", NoTimeout: true}, func(context.Context, *tools.Env, args) (tools.Result, error) {
				time.Sleep(time.Hour)
				return done("own time"), nil
			}))
		began := time.Now()
		r := w.Call("read", `{"ms":3600000}`)
		equal(t, "code", r.Error, filetime.Timeout)
		equal(t, "duration", r.Duration, 30*time.Second)
		equal(t, "text", r.Data,
			"The tool was stopped: it did not finish within 30s. Ask for less at once, or do it another way.")
		r = w.Call("deaf", `{}`)
		equal(t, "code of one that does not listen", r.Error, filetime.Timeout)
		equal(t, "its duration", r.Duration, 37*time.Second)
		equal(t, "one that minds its own time", w.Call("own", `{}`).Data, "own time")
		equal(t, "time", time.Since(began), 67*time.Second+time.Hour)
		time.Sleep(time.Hour) // the deaf one comes to its end
	})
}

// TestF084GivenUp has calls wait for one whose tool does not return, in its plan or in what it runs: the place and the time
// of it are given back when it is given up, once, and what it does later changes nothing.
func TestF084GivenUp(t *testing.T) {
	for _, planning := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var s sleeper
			deaf := func() { time.Sleep(time.Hour) }
			w := toolstest.NewWorld(t, s.tool("read", tools.WithReads), tools.Define(tools.Definition[args]{
				Spec: tools.Spec{Name: "deaf", Kind: tools.Read, Together: tools.WithReads},
				Plan: func(context.Context, *tools.Env, args) (*tools.Plan, error) {
					if planning {
						deaf()
					}
					return &tools.Plan{Run: func(context.Context) (tools.Result, error) {
						deaf()
						return done("late"), nil
					}}, nil
				},
			}))
			w.Host.Schedule.Slots = run.NewSlots(func() int { return 1 }, nil)
			var mu sync.Mutex
			completed := map[string]int{}
			w.Host.Observe = func(e run.Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.State == run.Completed {
					completed[e.Call.ID]++
				}
			}
			began := time.Now()
			results, _ := run.Batch(t.Context(), w.Host, calls(`deaf {}`, `read {"ms":1000}`, `read {"ms":1000}`))
			equal(t, "code", results[0].Error, filetime.Timeout)
			equal(t, "those that waited", results[1].Success && results[2].Success, true)
			equal(t, "time", time.Since(began), 39*time.Second)
			time.Sleep(2 * time.Hour) // it has come to its end
			equal(t, "code of it later", results[0].Error, filetime.Timeout)
			for id, n := range completed {
				equal(t, "results of "+id, n, 1)
			}
			began = time.Now()
			run.Batch(t.Context(), w.Host, calls(`read {"ms":1000}`, `read {"ms":1000}`))
			equal(t, "time with one place", time.Since(began), 2*time.Second)
		})
	}
}

func TestF117_F273Panic(t *testing.T) {
	var log bytes.Buffer
	type planner = func(context.Context, *tools.Env, args) (*tools.Plan, error)
	planned := func(name string, title func(args) string, plan planner) tools.Tool {
		return tools.Define(tools.Definition[args]{Spec: tools.Spec{Name: name, Kind: tools.Read}, Title: title, Plan: plan})
	}
	w := toolstest.NewWorld(t,
		probe(tools.Spec{Name: "boom", Together: tools.WithReads},
			func(context.Context, *tools.Env, args) (tools.Result, error) { panic("the dam broke") }),
		probe(tools.Spec{Name: "fail"}, func(context.Context, *tools.Env, args) (tools.Result, error) {
			return tools.Result{}, errors.New("no luck")
		}),
		probe(tools.Spec{Name: "mute"}, func(context.Context, *tools.Env, args) (tools.Result, error) {
			return tools.Result{}, nil
		}),
		planned("planless", nil, func(context.Context, *tools.Env, args) (*tools.Plan, error) { return nil, nil }),
		planned("mistitled", func(args) string { panic("no title") },
			func(context.Context, *tools.Env, args) (*tools.Plan, error) { panic("no plan") }),
	)
	w.Host.Log = slog.New(slog.NewTextHandler(&log, nil))
	results, _ := run.Batch(t.Context(), w.Host,
		calls(`boom {}`, `boom {}`, `fail {}`, `mute {}`, `planless {}`, `mistitled {}`))
	for _, r := range results {
		equal(t, "code", r.Error, tools.ExecutionError)
		if strings.Contains(r.Data, "goroutine") || strings.Contains(r.Data, ".go:") {
			t.Errorf("the stack is in the answer: %s", r.Data)
		}
	}
	equal(t, "text", results[0].Data, "Exception: the dam broke\nThis is a fault of the tool, not of the arguments.")
	if !strings.Contains(log.String(), "run_test.go") {
		t.Errorf("no stack in the log:\n%s", log.String())
	}
}

func TestF046F047F048ValidatedBeforeRunning(t *testing.T) {
	entered := 0
	w := toolstest.NewWorld(t, probe(tools.Spec{Name: "spy"}, func(context.Context, *tools.Env, args) (tools.Result, error) {
		entered++
		return done("ok"), nil
	}))
	w.Host.Validation.Coerce = false
	asked := 0
	w.Host.Gate = gate.ModeAsk
	w.Host.Asker = askFunc(func(run.Question) run.Answer { asked++; return run.Answer{Outcome: run.Allowed} })
	nested := `{"items":[{"name":"a"},{"name":"b"},{"name":5}]}`
	for _, js := range []string{`{"path":42}`, `{"ms":"x"}`, `{"extra":1}`, `[]`, `"`, nested} {
		r := w.Call("spy", js)
		equal(t, js, r.Error, tools.InvalidArgs)
		if !strings.HasPrefix(r.Data, "Parameter validation failed:\n") || len(r.Issues) == 0 {
			t.Errorf("%s: %q, issues %v", js, r.Data, r.Issues)
		}
		for _, i := range r.Issues { // F047
			if i.Path == "" || i.Expected == "" || i.Received == "" || i.Message == "" {
				t.Errorf("%s: issue %+v", js, i)
			}
		}
	}
	// F048
	r := w.Call("spy", nested)
	equal(t, "path", r.Issues[0].Path, "$.items[2].name")
	equal(t, "entered", entered, 0)
	equal(t, "asked", asked, 0)
}

type askFunc func(run.Question) run.Answer

func (f askFunc) Ask(_ context.Context, q run.Question) run.Answer { return f(q) }

func TestF114ToolNotFound(t *testing.T) {
	w := toolstest.NewWorld(t, edit.New(), write.New())
	w.Host.Tools = w.Host.Tools.Narrow(tools.Without("config", []string{"create_file"}))
	r := w.Call("edit_files", `{}`)
	equal(t, "code", r.Error, tools.ToolNotFound)
	equal(t, "text", r.Data, `Tool "edit_files" does not exist. Did you mean edit_file?`)
	equal(t, "text", w.Call("frobnicate", `{}`).Data,
		`Tool "frobnicate" does not exist. The tools are edit_file.`)
	r = w.Call("Write_File", `{}`)
	equal(t, "disabled", []string{string(r.Error), r.Reason, r.Data},
		[]string{"TOOL_NOT_FOUND", "disabled", `Tool "Write_File" is disabled by config. Do it with another tool.`})
}

// What is carried out is what was judged: a plan that needs, changes or runs anything else is a fault of the tool, and nothing
// of it is done.
func TestJudgedIsRun(t *testing.T) {
	w := toolstest.NewWorld(t)
	place := func(name string) sandbox.Place {
		p, err := w.Env.Paths.Writable(name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	commands := &counting{}
	w.Env.Commands.Runner = commands
	sh := func(line string) []string { return []string{"sh", "-c", line} }
	writes := func(name string, needs ...tools.Need) planner {
		return func(*tools.Env) *tools.Plan {
			return &tools.Plan{
				Needs:  needs,
				Change: &filetime.Change{Files: []filetime.FileEdit{{Path: place(name).Path(), Create: true, Edits: text.Set{{New: "x"}}}}},
				Done:   func(filetime.Landed) tools.Result { return tools.Result{Success: true, Data: "written"} },
			}
		}
	}
	runs := func(line, dir string) planner {
		return func(env *tools.Env) *tools.Plan {
			return &tools.Plan{Run: func(ctx context.Context) (tools.Result, error) {
				_, err := env.Commands.Runner.Start(ctx, sandbox.Command{Argv: sh(line), Dir: sandbox.OpenFolder(place(dir).Path())})
				return tools.Result{Success: true, Data: "ran"}, err
			}}
		}
	}
	with := func(cmd sandbox.Command) planner {
		return func(env *tools.Env) *tools.Plan {
			return &tools.Plan{Run: func(ctx context.Context) (tools.Result, error) {
				cmd.Argv, cmd.Dir = sh("ls"), sandbox.OpenFolder(w.Root)
				_, err := env.Commands.Runner.Start(ctx, cmd)
				return tools.Result{Success: true, Data: "ran"}, err
			}}
		}
	}
	reads := func(p sandbox.Place) planner {
		return func(env *tools.Env) *tools.Plan {
			return &tools.Plan{Run: func(ctx context.Context) (tools.Result, error) {
				_, err := env.Read(ctx, p)
				return tools.Result{Success: true, Data: "read"}, err
			}}
		}
	}
	a, b, top := place("a"), place("b"), place(".")
	list, look := []tools.Need{{Act: tools.Runs, Argv: sh("ls"), Place: top}}, []tools.Need{{Act: tools.Reads, Place: top}}
	for _, c := range []struct {
		name   string
		judged []tools.Need
		plan   planner
		fine   bool
	}{
		{"as judged", []tools.Need{{Act: tools.Creates, Place: a}}, writes("a"), true},
		{"less than judged", []tools.Need{{Act: tools.Replaces, Place: a}}, writes("a", tools.Need{Act: tools.Creates, Place: a}), true},
		{"another file", []tools.Need{{Act: tools.Replaces, Place: a}}, writes("b"), false},
		{"two files", []tools.Need{{Act: tools.Replaces, Place: a}}, writes("a", tools.Need{Act: tools.Creates, Place: a}, tools.Need{Act: tools.Creates, Place: b}), false},
		{"a read that writes", []tools.Need{{Act: tools.Reads, Place: a}}, writes("a"), false},
		{"more than judged", []tools.Need{{Act: tools.Edits, Place: a}}, writes("a", tools.Need{Act: tools.Replaces, Place: a}), false},
		{"nothing judged", nil, writes("a", tools.Need{Act: tools.Creates, Place: a}), false},
		{"the command", []tools.Need{{Act: tools.Runs, Argv: sh("ls"), Place: a}}, runs("ls", "a"), true},
		{"another command", []tools.Need{{Act: tools.Runs, Argv: sh("ls"), Place: a}}, runs("rm", "a"), false},
		{"elsewhere", []tools.Need{{Act: tools.Runs, Argv: sh("ls"), Place: a}}, runs("ls", "b"), false},
		{"a command that waits", list, with(sandbox.Command{Timeout: time.Second, Grace: time.Second, MaxOutput: 1, Interactive: true}), true},
		{"an environment", list, with(sandbox.Command{Env: []string{}}), false},
		{"an input", list, with(sandbox.Command{Stdin: "rm"}), false},
		{"capabilities", list, with(sandbox.Command{Privileged: true}), false},
		{"processes that stay", list, with(sandbox.Command{Leave: true}), false},
		{"a cache that stays", list, with(sandbox.Command{Keeps: "x"}), false},
		{"ports", list, with(sandbox.Command{Ports: []int{80}}), false},
		{"ports as judged", []tools.Need{{Act: tools.Runs, Argv: sh("ls"), Place: top, Ports: []int{80}}}, with(sandbox.Command{Ports: []int{80}}), true},
		{"other ports", []tools.Need{{Act: tools.Runs, Argv: sh("ls"), Place: top, Ports: []int{81}}}, with(sandbox.Command{Ports: []int{80}}), false},
		{"variables of its own", list, with(sandbox.Command{Given: []string{"A=b"}}), false},
		{"the file", []tools.Need{{Act: tools.Reads, Place: a}}, reads(a), true},
		{"the file to be edited", []tools.Need{{Act: tools.Edits, Place: a}}, reads(a), true},
		{"a file of the folder", look, reads(top.Join("sub/x")), true},
		{"keys in the folder", look, reads(top.Join("sub/.env")), false},
		{"the keys", []tools.Need{{Act: tools.Reads, Place: place(".env")}}, reads(place(".env")), true},
		{"keys in their folder", []tools.Need{{Act: tools.Reads, Place: place(".ssh")}}, reads(place(".ssh/x")), true},
		{"a file beside", []tools.Need{{Act: tools.Reads, Place: a}}, reads(top.Join("ab")), false},
		{"a file above", []tools.Need{{Act: tools.Reads, Place: top.Join("sub")}}, reads(a), false},
		{"no place", look, reads(sandbox.Place{}), false},
		{"a read of a command", list, reads(a), false},
		{"a read of nothing judged", nil, reads(a), false},
		{"a command of a read", []tools.Need{{Act: tools.Reads, Place: a}}, runs("ls", "a"), false},
	} {
		commands.n = 0
		w.Host.Tools = toolstest.SetOf(tools.Define(tools.Definition[args]{
			Spec:  tools.Spec{Name: "x", Kind: tools.Execute},
			Needs: func(*tools.Env, args) ([]tools.Need, error) { return c.judged, nil },
			Plan: func(_ context.Context, env *tools.Env, _ args) (*tools.Plan, error) {
				return c.plan(env), nil
			},
		}))
		w.Host.Gate = allowing{}
		r := w.Call("x", `{}`)
		_, there := w.Files.Text(a.Path())
		_, other := w.Files.Text(b.Path())
		if r.Success != c.fine || !c.fine && (r.Error != tools.ExecutionError || there || other || commands.n > 0) {
			t.Errorf("%s: %+v, written %v %v, %d commands", c.name, r, there, other, commands.n)
		}
		if there {
			w.Files.Remove(a.Path())
		}
	}
}

// Each field of a command is judged, or gives it no rights, or is refused; a new one belongs to one of these lists.
func TestEveryFieldOfACommandIsJudged(t *testing.T) {
	known := strings.Fields(`Argv Dir Profile Ports
		Surroundings Interactive Timeout Grace Hurry MaxOutput Output Switched
		Env Given Privileged Leave Keeps Stdin`)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[sandbox.Command]()) {
		if !slices.Contains(known, f.Name) {
			t.Errorf("the pipeline does not know whether a tool may set %s", f.Name)
		}
	}
}

type planner = func(*tools.Env) *tools.Plan

type allowing struct{}

func (allowing) Judge(gate.Call) gate.Decision {
	return gate.Decision{Verdict: gate.Allow}
}

// counting is a runner that runs nothing.
type counting struct{ n int }

func (c *counting) Start(context.Context, sandbox.Command) (sandbox.Process, error) {
	c.n++
	return nil, nil
}

func (*counting) Find(name string, _ sandbox.Surroundings) (string, error) {
	return "/bin/" + name, nil
}

func (*counting) Level() sandbox.Level { return sandbox.Level{Name: "full"} }

// A call that is refused reads nothing, and says so before what would have been wrong with it.
func TestDeniedReadsNothing(t *testing.T) {
	planned := 0
	w := toolstest.NewWorld(t, tools.Define(tools.Definition[args]{
		Spec:  tools.Spec{Name: "x", Kind: tools.Edit},
		Needs: func(env *tools.Env, in args) ([]tools.Need, error) { return tools.ToWrite(env, tools.Edits, in.Path) },
		Plan: func(context.Context, *tools.Env, args) (*tools.Plan, error) {
			planned++
			return nil, tools.Refuse(filetime.NotRead, "", "You have not read it. It says: secret.")
		},
	}))
	for _, g := range []run.Gate{gate.ModeReadOnly, gate.New(gate.Options{
		Mode: gate.ModeAuto, Rules: []gate.Rule{{Effect: gate.Deny, Tool: "x", Source: "permissions.deny"}},
	})} {
		w.Host.Gate = g
		if r := w.Call("x", `{"path":"a"}`); r.Error != tools.GateDenied || planned > 0 {
			t.Errorf("%+v, planned %d times", r, planned)
		}
	}
}

// TestPinnedSet takes a layer out while a call of one of its tools runs and another waits: the one ends, the other does not
// begin, and a tool that is covered meanwhile is still the one that the request offered.
func TestPinnedSet(t *testing.T) {
	var present atomic.Pointer[tools.Set]
	var w *toolstest.World
	began, names := make(chan string, 9), []string{}
	say := func(word string, last bool) func(context.Context, *tools.Env, args) (tools.Result, error) {
		return func(context.Context, *tools.Env, args) (tools.Result, error) {
			began <- word
			if last {
				present.Store(w.Host.Tools.Without(tools.RankClient, "c").With(layer(t, tools.RankTurn, probe(tools.Spec{Name: "ours"}, nil))))
			}
			return done("%s", word), nil
		}
	}
	w = toolstest.NewWorld(t, probe(tools.Spec{Name: "ours"}, say("ours", false)))
	w.Host.Tools = w.Host.Tools.With(layer(t, tools.RankClient, probe(tools.Spec{Name: "theirs"}, say("theirs", true))))
	present.Store(w.Host.Tools)
	w.Host.Offering.Present = present.Load
	results, _ := run.Batch(t.Context(), w.Host, []run.Call{
		{ID: "1", Name: "theirs", Arguments: []byte("{}")},
		{ID: "2", Name: "theirs", Arguments: []byte("{}")},
		{ID: "3", Name: "ours", Arguments: []byte("{}")},
	})
	close(began)
	for name := range began {
		names = append(names, name)
	}
	equal(t, "began", names, []string{"theirs", "ours"})
	equal(t, "answers", []string{results[0].Data, string(results[1].Error) + " " + results[1].Reason, results[2].Data},
		[]string{"theirs", "TOOL_NOT_FOUND unknown", "ours"})
}

func layer(t *testing.T, rank tools.Rank, list ...tools.Tool) tools.Layer {
	t.Helper()
	l, err := tools.NewLayer(rank, "c", list...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A person's refusal says stop and wait, a rule is named, and where nobody can be asked it says that such calls cannot run.
func TestF116_FindingP1GateDenied(t *testing.T) {
	w := toolstest.NewWorld(t, write.New())
	for _, c := range []struct {
		name         string
		gate         run.Gate
		asker        run.Asker
		source, next string
	}{
		{"mode", gate.Mode("nope"), w, "policy", "The same call is denied every time"},
		{"rule", gate.New(gate.Options{Mode: gate.ModeAuto, Rules: []gate.Rule{{Effect: gate.Deny, Tool: "write*", Source: "permissions.deny"}}}), w, "policy", "write_file is refused by permissions.deny. N"},
		{"person", gate.ModeAsk, askFunc(func(run.Question) run.Answer { return run.Answer{Outcome: run.Rejected} }), "user", "Stop here: do not try to get the same result another way"},
		{"no valid answer", gate.ModeAsk, askFunc(func(run.Question) run.Answer { return run.Answer{Outcome: run.Unanswered} }), "unanswered", "Stop here"},
		{"nobody answers", gate.ModeAsk, askFunc(func(run.Question) run.Answer { return run.Answer{Outcome: run.Unavailable} }), "unattended", "cannot run in this session at all"},
		{"nobody is there", gate.ModeAsk, nil, "unattended", "cannot run in this session at all"},
	} {
		w.Host.Gate, w.Host.Asker = c.gate, c.asker
		r := w.Call("write_file", `{"path":"a","content":"b"}`)
		if r.Error != tools.GateDenied || r.Denial == nil || r.Denial.Source != c.source || r.Denial.Reason == "" {
			t.Errorf("%s: %+v, denial %+v", c.name, r.Error, r.Denial)
		}
		if !strings.HasPrefix(r.Data, "Permission denied: ") || !strings.Contains(r.Data, c.next) {
			t.Errorf("%s: %s", c.name, r.Data)
		}
		if _, exists := w.Files.Text(w.Path("a")); exists {
			t.Errorf("%s: the file was written", c.name)
		}
	}
}

// What a person writes with an answer is told to the model, whatever the answer is.
func TestFeedbackReachesTheModel(t *testing.T) {
	w := toolstest.NewWorld(t, write.New())
	w.Host.Gate = gate.ModeAsk
	for _, c := range []struct {
		outcome run.Outcome
		want    string
	}{
		{run.Allowed, "File created: a (1 line, 1 byte)"},
		{run.Rejected, "Permission denied: the user denied this call. Nothing was done. Do not try to get the same result another way; do what follows from what the user says."},
	} {
		w.Host.Asker = askFunc(func(run.Question) run.Answer {
			return run.Answer{Outcome: c.outcome, Feedback: " Use tabs.\xff" + strings.Repeat("x", 10_000)}
		})
		r := w.Call("write_file", fmt.Sprintf(`{"path":"a","content":"%d"}`, c.outcome))
		head, words, ok := strings.Cut(r.Data, "\nThe user says: Use tabs.\uFFFDxxx")
		if !ok || !strings.HasPrefix(head, c.want) || len(words) > 4100 {
			t.Errorf("%v: %.300s (%d)", c.outcome, r.Data, len(words))
		}
	}
}

// Texts keep to what an answer may have in all, and what is too large is named in its place.
func TestPartsKeepToTheLimits(t *testing.T) {
	var parts []tools.Part
	w := toolstest.NewWorld(t, probe(tools.Spec{Name: "x"}, func(context.Context, *tools.Env, args) (tools.Result, error) {
		return tools.Result{Success: true, Data: "0123456789", Parts: parts}, nil
	}))
	w.Env.Limits.MaxToolOutputChars, w.Env.Limits.MaxImageBytes = 30, 4
	image := tools.Part{Kind: tools.ImagePart, MIMEType: "image/png", Data: []byte("abcd")}
	large := tools.Part{Kind: tools.DocumentPart, MIMEType: "application/pdf", Name: "a\n.pdf", Data: []byte("abcde")}
	say := func(s string) tools.Part { return tools.Part{Kind: tools.TextPart, Text: s} }
	for _, c := range []struct {
		parts, want []tools.Part
		cut         bool
	}{
		{nil, nil, false},
		{[]tools.Part{image, say("ääää\xff")}, []tools.Part{image, say("ääää\uFFFD")}, false},
		{[]tools.Part{say(strings.Repeat("x", 20)), say("")}, []tools.Part{say(strings.Repeat("x", 20)), say("")}, false},
		{
			[]tools.Part{say("abcdefghijklmnopqrstuvwxyz"), image, say("more")},
			[]tools.Part{say("abcdefghij\n… [6 bytes cut] …\nqrstuvwxyz"), image, say("… [4 bytes cut] …\n")},
			true,
		},
		{[]tools.Part{large}, []tools.Part{say(`[Not shown, since it is larger than 4 bytes: a\u{a}.pdf (application/pdf, 5 bytes)]`)}, true},
	} {
		parts = c.parts
		r := w.Call("x", `{}`)
		equal(t, "parts", r.Parts, c.want)
		equal(t, "truncated", r.Truncated, c.cut)
	}
}

func TestF219Trace(t *testing.T) {
	w := toolstest.NewWorld(t, write.New())
	stages := func(r tools.Result) (names []string) {
		for _, s := range r.Meta.Trace {
			names = append(names, s.Stage)
		}
		return names
	}
	equal(t, "untraced", stages(w.Call("write_file", `{"path":"a","content":"b"}`)), []string(nil))
	w.Host.Trace = true
	equal(t, "traced", stages(w.Call("write_file", `{"path":"b","content":"b"}`)), []string{
		"resolve", "normalise", "validate", "before-hooks", "needs", "admission", "plan", "policy", "safety", "permission", "claim", "cache", "execute", "after-hooks",
		"truncate", "record", "ast-invalidation", "syntax", "audit", "emit",
	})
	equal(t, "refused", stages(w.Call("write_file", `{}`)), []string{
		"resolve", "normalise", "validate", "after-hooks", "truncate", "record", "ast-invalidation", "syntax", "audit", "emit",
	})
}

// TestFaultM5StagesAreNamed: the ten steps of a call are in its trace by their names, in their order, each once.
func TestFaultM5StagesAreNamed(t *testing.T) {
	w := toolstest.NewWorld(t, write.New())
	w.Host.Trace = true
	r := w.Call("write_file", `{"path":"a","content":"b"}`)
	var got []string
	want := []string{"plan", "policy", "safety", "permission", "claim", "cache", "execute", "record", "ast-invalidation", "syntax"}
	for _, s := range r.Meta.Trace {
		if slices.Contains(want, s.Stage) {
			got = append(got, s.Stage)
		}
	}
	equal(t, "steps", got, want)
}

// TestFaultM5ChangedFilesAreStale: who knows the syntax of files is notified of those that a call has changed, after the change was recorded
// and before the syntax is looked at; of a call that changes nothing there is no word.
func TestFaultM5ChangedFilesAreStale(t *testing.T) {
	w := toolstest.NewWorld(t, write.New(), probe(tools.Spec{Name: "looks"}, func(context.Context, *tools.Env, args) (tools.Result, error) {
		return done("seen"), nil
	}))
	var order []string
	w.Host.Changes.Landed = func(filetime.Change, filetime.Landed) { order = append(order, "landed") }
	w.Host.Changes.Stale = func(l filetime.Landed) { order = append(order, "stale "+w.Env.Name(l.Files[0].Path)) }
	w.Call("write_file", `{"path":"a.go","content":"package a\n"}`)
	w.Call("looks", `{}`)
	w.Call("write_file", `{}`)
	equal(t, "order", order, []string{"landed", "stale a.go"})
}

func TestF196SyntaxOfEditedFiles(t *testing.T) {
	w := toolstest.NewWorld(t, write.New())
	r := w.Call("write_file", `{"path":"a.go","content":"package a\n\nfunc f() {\n"}`)
	says := "a.go does not parse after this edit: line 3: expected '}', found 'EOF'."
	equal(t, "warnings", r.Warnings, []string{says})
	if !r.Success || !strings.HasSuffix(r.Data, "\n"+says) {
		t.Errorf("the edit did not land, or the model is not told: %s", r.Data)
	}
	equal(t, "repaired", w.Call("write_file", `{"path":"a.go","content":"}\n","mode":"append"}`).Warnings, []string(nil))
	equal(t, "refused", w.Call("write_file", `{"path":"../../x.go","content":"{"}`).Warnings, []string(nil))
}

func TestF240ResultOfAChange(t *testing.T) {
	w := toolstest.NewWorld(t, edit.New())
	path := w.Path("f")
	w.Files.Put(path, "a\nb\n", true)
	if err := w.See("f", 1, 0); err != nil {
		t.Fatal(err)
	}
	var heard []string
	w.Host.Changes.Landed = func(c filetime.Change, l filetime.Landed) {
		heard = append(heard, fmt.Sprintln(c.Session, c.Call, c.Turn, c.Tool, c.Label, l.Files[0].Path == path))
	}
	r := w.Call("edit", `{"path":"f","oldString":"a","new_text":"A","replace_all":"false"}`)
	if !r.Success {
		t.Fatal(r.Data)
	}
	equal(t, "landed", heard, []string{"s call1 1 edit_file Edit f true\n"})
	equal(t, "modified", r.Meta.Modified, []string{path})
	equal(t, "coerced", r.Meta.Coerced, []string{"$.old_text", "$.replace_all"})
	equal(t, "arguments", string(r.Meta.EffectiveArgs), `{"new_text":"A","old_text":"a","path":"f","replace_all":false}`)
	equal(t, "source", r.Meta.Source, "buffer")
	equal(t, "version", *r.Meta.Version, int32(1))
	equal(t, "diff", r.Diffs[0].Unified, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n")
	equal(t, "diff path", r.Diffs[0].Path, path)
	equal(t, "landed text", r.Landed.Files[0].After.String(), "A\nb\n")
	equal(t, "call", r.Call, "call1")
}

// A failure while the change lands is told as what it is, and nothing is taken for seen.
func TestLandingFails(t *testing.T) {
	w := toolstest.NewWorld(t, write.New())
	w.Host.Log = slog.New(slog.DiscardHandler)
	for _, c := range []struct {
		err  error
		want filetime.Code
	}{
		{&filetime.Error{Code: filetime.WriteError, Reason: "enospc", Message: "The disk is full."}, filetime.WriteError},
		{&filetime.Error{Code: filetime.Timeout, Reason: "editor_busy", Message: "The editor was busy."}, filetime.Timeout},
		{errors.New("boom"), tools.ExecutionError},
		{context.DeadlineExceeded, filetime.Timeout},
	} {
		w.Files.Fail = c.err
		r := w.Call("write_file", `{"path":"a","content":"b"}`)
		equal(t, c.err.Error(), r.Error, c.want)
		if r.Landed != nil || r.Diffs != nil {
			t.Errorf("%v: something landed", c.err)
		}
	}
}

// halfway lands a change and then says that it failed, as one of several files may.
type halfway struct{ *filetimetest.Files }

func (f halfway) Commit(ctx context.Context, c filetime.Change) (filetime.Landed, error) {
	l, _ := f.Files.Commit(ctx, c)
	return l, &filetime.Error{Code: filetime.WriteError, Message: "The second file could not be written."}
}

// What did land of a change that failed is neither hidden nor forgotten.
func TestLandsInPart(t *testing.T) {
	w := toolstest.NewWorld(t, write.New(), edit.New())
	w.Host.Files = halfway{w.Files}
	heard := 0
	w.Host.Changes.Landed = func(filetime.Change, filetime.Landed) { heard++ }
	r := w.Call("write_file", `{"path":"a","content":"b\n"}`)
	equal(t, "code", r.Error, filetime.WriteError)
	equal(t, "text", r.Data, "The second file could not be written.\na was changed already, before this failed.")
	equal(t, "landed", []int{len(r.Landed.Files), len(r.Diffs), heard}, []int{1, 1, 1})
	w.Host.Files = w.Files
	r = w.Call("edit_file", `{"path":"a","old_text":"b","new_text":"c"}`)
	equal(t, "what landed counts as seen", r.Success, true)
}

// F122, F098, F100, F102: whatever is asked for, there is an answer of the one shape.
func TestF122RandomCalls(t *testing.T) {
	w := toolstest.NewWorld(t, edit.New(), write.New())
	w.Host.Log = slog.New(slog.DiscardHandler)
	n := 0
	word := rapid.SampledFrom([]string{
		"a", "b", "dir/c", "..", "/", "/etc/passwd", "", "\x00", "@a", "~", "file:///a", "old\n", "line", "ä😀", "\r\n",
		strings.Repeat("x", 300),
	})
	value := rapid.OneOf(
		rapid.Map(word, func(s string) any { return s }),
		rapid.SampledFrom([]any{nil, true, 1, -1.5, 1e300, []any{}, map[string]any{"a": 1}, []any{"a", nil}}),
	)
	key := rapid.SampledFrom([]string{
		"path", "filePath", "old_text", "oldString", "new_text", "new_str", "replace_all", "content", "mode", "zzz", "",
	})
	raw := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) []byte {
			js, _ := json.Marshal(rapid.MapOfN(key, value, 0, 6).Draw(t, "object"))
			return js
		}),
		rapid.Custom(func(t *rapid.T) []byte {
			js, _ := json.Marshal(map[string]any{
				"path": word.Draw(t, "path"), "old_text": word.Draw(t, "old"), "new_text": word.Draw(t, "new"),
			})
			return js
		}),
		rapid.Custom(func(t *rapid.T) []byte {
			js, _ := json.Marshal(map[string]any{
				"path": word.Draw(t, "path"), "content": word.Draw(t, "content"),
				"mode": rapid.SampledFrom([]string{"overwrite", "append"}).Draw(t, "mode"),
			})
			return js
		}),
		rapid.SliceOfN(rapid.Byte(), 0, 20),
	)
	rapid.Check(t, func(rt *rapid.T) {
		for range 100 {
			n++
			c := run.Call{
				ID: fmt.Sprint(n), Arguments: raw.Draw(rt, "arguments"),
				Name: rapid.SampledFrom([]string{"edit_file", "write_file", "EDIT", "write", "nope", ""}).Draw(rt, "tool"),
			}
			w.Host.Validation.Coerce = n%2 == 0
			r := toolstest.One(t.Context(), w.Host, c)
			switch {
			case r.Success != (r.Error == ""):
				rt.Fatalf("success %v with error %q", r.Success, r.Error)
			case r.Data == "" || !utf8.ValidString(r.Data):
				rt.Fatalf("no text: %q", r.Data)
			case json.Valid([]byte(r.Data)):
				rt.Fatalf("a dump: %s", r.Data)
			case r.Error == tools.ExecutionError || r.Error == filetime.Timeout:
				rt.Fatalf("%s %s: %s", c.Name, c.Arguments, r.Data)
			case r.Success && (r.Landed == nil || len(r.Diffs) == 0):
				rt.Fatalf("%s %s: nothing landed", c.Name, c.Arguments)
			}
		}
	})
	if n < 10_000 && !testing.Short() {
		t.Errorf("%d calls", n)
	}
}

// commands are a tool of commands, each of which only reads if it says so.
func (s *sleeper) commands() tools.Tool {
	type in struct {
		Name string `json:"name,omitempty"`
		MS   int    `json:"ms,omitempty"`
		Code int    `json:"code,omitempty"`
		Only bool   `json:"only,omitempty"`
		Find bool   `json:"find,omitempty"`
	}
	return tools.Define(tools.Definition[in]{
		Spec: tools.Spec{Name: "bash", Kind: tools.Execute, Together: tools.Commands, NoTimeout: true},
		Needs: func(_ *tools.Env, in in) ([]tools.Need, error) {
			need := tools.Need{Act: tools.Runs, Shell: shell.Command{ReadOnly: in.Only, Searches: in.Find}}
			if in.Only {
				need.Confined, need.Profile = true, sandbox.ReadOnly
			}
			return []tools.Need{need}, nil
		},
		Plan: func(_ context.Context, _ *tools.Env, in in) (*tools.Plan, error) {
			return &tools.Plan{Run: func(ctx context.Context) (tools.Result, error) {
				select {
				case <-ctx.Done():
					return tools.Fail(filetime.Cancelled, "cancelled", "cut"), nil
				case <-time.After(time.Duration(in.MS) * time.Millisecond):
				}
				if in.Code != 0 {
					return tools.Fail(tools.ExitCode(in.Code), "", "failed"), nil
				}
				return done("ended"), nil
			}}, nil
		},
	})
}

func TestF127CommandsTogether(t *testing.T) {
	var s sleeper
	w := toolstest.NewWorld(t, s.tool("read", tools.WithReads), s.commands())
	list := calls(`read {}`, `bash {"only":true}`, `bash {"only":true}`, `read {}`, `bash {"only":true}`, `bash {}`, `bash {}`)
	equal(t, "batches", run.Partition(w.Host, list), [][]int{{0}, {1, 2}, {3}, {4}, {5}, {6}})
	w.Host.Schedule.SerialCommands = true
	equal(t, "serial", run.Partition(w.Host, list), [][]int{{0}, {1}, {2}, {3}, {4}, {5}, {6}})
	w.Host.Schedule.Parallel = true
	equal(t, "asked for", run.Partition(w.Host, list), [][]int{{0, 1, 2, 3, 4, 5, 6}})
}

// A command that fails ends those beside it. Reads finish, and a search that finds nothing has not failed.
func TestF133SiblingsAreCancelled(t *testing.T) {
	for name, c := range map[string]struct {
		parallel bool
		calls    []string
		want     []string
	}{
		"fails": {
			false,
			[]string{`bash {"only":true,"code":1,"ms":10}`, `bash {"only":true,"ms":5000}`, `bash {"only":true,"ms":1}`},
			[]string{"EXIT_CODE_1", "SIBLING_CANCELLED", ""},
		},
		"finds nothing": {
			false,
			[]string{`bash {"only":true,"code":1,"find":true}`, `bash {"only":true,"ms":5000}`},
			[]string{"EXIT_CODE_1", ""},
		},
		"search fails": {
			false,
			[]string{`bash {"only":true,"code":2,"find":true}`, `bash {"only":true,"ms":5000}`},
			[]string{"EXIT_CODE_2", "SIBLING_CANCELLED"},
		},
		"with reads": {
			true,
			[]string{`bash {"code":1,"ms":10}`, `bash {"ms":5000}`, `read {"ms":5000}`},
			[]string{"EXIT_CODE_1", "SIBLING_CANCELLED", ""},
		},
		"the next batch": {
			false,
			[]string{`bash {"only":true,"code":1}`, `read {}`, `bash {"only":true,"ms":10}`},
			[]string{"EXIT_CODE_1", "", ""},
		},
		"not begun": {
			false,
			[]string{`bash {"only":true,"code":1,"ms":10}`, `bash {"only":true,"ms":5000}`, `bash {"only":true,"ms":5000}`, `bash {"only":true,"ms":5000}`},
			[]string{"EXIT_CODE_1", "SIBLING_CANCELLED", "SIBLING_CANCELLED", "SIBLING_CANCELLED"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s sleeper
				w := toolstest.NewWorld(t, s.tool("read", tools.WithReads), s.commands())
				w.Env.Limits.MaxConcurrency = 3
				w.Host.Schedule.Parallel = c.parallel
				results, _ := run.Batch(t.Context(), w.Host, calls(c.calls...))
				var got []string
				for _, r := range results {
					got = append(got, string(r.Error))
				}
				equal(t, "errors", got, c.want)
			})
		})
	}
}

// gateFunc judges by a function.
type gateFunc func(gate.Call) gate.Decision

func (f gateFunc) Judge(c gate.Call) gate.Decision { return f(c) }

// TestFaultS8WhatChangesWhileAQuestionStands: an answer allows what was asked, by the mode and the rules that hold when it comes.
func TestFaultS8WhatChangesWhileAQuestionStands(t *testing.T) {
	ask := func(mode gate.Mode, rules ...gate.Rule) *gate.Policy {
		return gate.New(gate.Options{Mode: mode, Rules: append(rules, gate.Rule{Effect: gate.Ask, Tool: "write_file"})})
	}
	deny := gate.Rule{Effect: gate.Deny, Tool: "write_file"}
	for name, c := range map[string]struct {
		after *gate.Policy
		asked int
		data  string
		error filetime.Code
	}{
		"nothing":           {ask(gate.ModeAuto), 1, "File created", ""},
		"a looser mode":     {gate.New(gate.Options{Mode: gate.ModeAuto}), 1, "File created", ""},
		"mode readOnly":     {ask(gate.ModeReadOnly), 1, "the mode is readOnly", tools.GateDenied},
		"mode plan":         {ask(gate.ModePlan), 1, "The session only plans", tools.PlanMode},
		"a deny rule":       {ask(gate.ModeAuto, deny), 1, "is refused by", tools.GateDenied},
		"a mode of nothing": {ask("none"), 1, "there is no mode", tools.GateDenied},
	} {
		w := toolstest.NewWorld(t, write.New())
		now, asked := ask(gate.ModeAuto), 0
		w.Host.Gate = gateFunc(func(c gate.Call) gate.Decision { return now.Judge(c) })
		w.Host.Asker = askFunc(func(run.Question) run.Answer {
			now = c.after
			asked++
			return run.Answer{Outcome: run.Allowed}
		})
		r := w.Call("write_file", `{"path":"a","content":"x"}`)
		if asked != c.asked || !strings.Contains(r.Data, c.data) || r.Error != c.error {
			t.Errorf("%s: asked %d times: %+v", name, asked, r)
		}
	}
}

// TestFaultS8AnotherQuestionByThen: where another question has come up meanwhile, it is asked, and what the first answer allowed is not.
func TestFaultS8AnotherQuestionByThen(t *testing.T) {
	once := gate.Decision{Verdict: gate.Ask, Once: true, Reason: "it is dangerous now"}
	for _, second := range []run.Outcome{run.Allowed, run.Rejected} {
		w := toolstest.NewWorld(t, write.New())
		now := gate.Decision{Verdict: gate.Ask, Reason: "it changes a file"}
		var reasons []string
		w.Host.Gate = gateFunc(func(gate.Call) gate.Decision { return now })
		w.Host.Asker = askFunc(func(q run.Question) run.Answer {
			reasons = append(reasons, q.Judged.Reason)
			if len(reasons) == 1 {
				now = once
				return run.Answer{Outcome: run.Allowed}
			}
			return run.Answer{Outcome: second}
		})
		r := w.Call("write_file", `{"path":"a","content":"x"}`)
		if want := []string{"it changes a file", "it is dangerous now"}; !slices.Equal(reasons, want) || r.Success != (second == run.Allowed) {
			t.Errorf("%v: %q, %+v", second, reasons, r)
		}
	}
}

package toolstest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"tandem/filetime"
	"tandem/filetime/filetimetest"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/run"
)

// World is what calls of a test run in: a folder of the disk, files in memory over it, a session,
// and a host.
type World struct {
	Root     string
	Files    *filetimetest.Files
	FileTime *filetime.FileTime
	Host     *run.Host
	Env      tools.Env
	// Answer is what the person says to every question.
	Answer run.Answer
	Asked  []run.Question

	calls  int
	args   map[string]string // the texts of a case
	asking sync.Mutex
	onAsk  func() error
}

// runner starts the commands of all worlds, as a process has one runner for all sessions.
var runner sandbox.Local

// unconfined is a runner as on a system without a sandbox, so that cases are the same on all.
type unconfined struct{ sandbox.Runner }

func (unconfined) Level() sandbox.Level { return sandbox.Level{Name: sandbox.LevelNone} }

// NewWorld makes a World with the given tools, in auto mode, that demands that files be read before
// they are changed. Commands run for real.
func NewWorld(t testing.TB, list ...tools.Tool) *World {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &World{Root: root, Files: filetimetest.New(), Answer: run.Answer{Outcome: run.Allowed}}
	w.FileTime = filetime.New(w.Files, "s", nil)
	w.Env = tools.Env{
		Session: "s", Turn: 1, RequireRead: true, Now: time.Now, FileTime: w.FileTime,
		Paths: &sandbox.Paths{Cwd: root, Read: []string{root}, Write: []string{root}, Home: "/home/somebody", Unsaved: w.Files.Open},
		Read: func(ctx context.Context, p sandbox.Place) (filetime.Snapshot, error) {
			return w.Host.Files.Read(ctx, p.Path())
		},
		Searches: tools.SearchSources{Unsaved: w.Files.Open},
		Tasks:    &taskList{},
		Commands: tools.CommandEnv{Runner: unconfined{&runner}},
		Limits: tools.Limits{
			MaxToolOutputChars: 30_000, MaxConcurrency: 8, MaxReadBytes: 50 << 10, MaxFileBytes: filetimetest.MaxSize, MaxDiffBytes: 1 << 20,
			MaxImageBytes: 5 << 20, ToolTimeout: 30 * time.Second, BashTimeout: 30 * time.Second, KillGrace: 5 * time.Second,
		},
	}
	w.Host = &run.Host{
		Tools: SetOf(list...), Files: w.Files, Gate: gate.ModeAuto, Asker: w, Now: time.Now, Validation: run.Validation{Coerce: true},
		Env: func(c run.Call) *tools.Env {
			env := w.Env
			env.Call = c.ID
			return &env
		},
	}
	return w
}

// taskList is a task list in memory.
type taskList struct {
	mu  sync.Mutex
	now []tools.Task
}

func (l *taskList) Get() []tools.Task {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.now)
}

func (l *taskList) Change(change func([]tools.Task) ([]tools.Task, error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next, err := change(slices.Clone(l.now))
	if err == nil {
		l.now = next
	}
	return err
}

// SetOf is a set of one layer of built-in tools.
func SetOf(list ...tools.Tool) *tools.Set {
	l, err := tools.NewLayer(tools.RankBuiltin, "", list...)
	if err != nil {
		panic(err)
	}
	return tools.NewSet(l)
}

// Workspace is the environment of a World with the files of an archive: disk/PATH is laid on the
// disk, where the content "-> TARGET" makes a symbolic link; buffer/PATH is an open document.
func Workspace(t testing.TB, a *txtar.Archive) *tools.Env {
	t.Helper()
	w := NewWorld(t)
	for _, f := range a.Files {
		w.lay(t, f.Name, string(f.Data))
	}
	return &w.Env
}

func (w *World) lay(t testing.TB, name, content string) {
	t.Helper()
	if rel, ok := strings.CutPrefix(name, "buffer/"); ok {
		w.Files.Put(w.Path(rel), content, true)
		return
	}
	path := w.Path(strings.TrimPrefix(name, "disk/"))
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if target, ok := strings.CutPrefix(content, "-> "); ok && err == nil {
		err = os.Symlink(strings.TrimSpace(target), path)
	} else if err == nil {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for ; path != w.Root; path = filepath.Dir(path) { // so that answers are the same each time
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink == 0 {
			_ = os.Chtimes(path, laid, laid)
		}
	}
}

// laid is the time of all files of a World.
var laid = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Ask implements run.Asker.
func (w *World) Ask(_ context.Context, q run.Question) run.Answer {
	w.asking.Lock()
	defer w.asking.Unlock()
	w.Asked = append(w.Asked, q)
	if w.onAsk != nil {
		if err := w.onAsk(); err != nil {
			panic(err)
		}
		w.onAsk = nil
	}
	return w.Answer
}

// Path is the absolute path of a file of the world.
func (w *World) Path(rel string) string { return filepath.Join(w.Root, rel) }

// Call carries one call out.
func (w *World) Call(name, args string) tools.Result {
	w.calls++
	return One(context.Background(), w.Host, run.Call{
		ID: fmt.Sprintf("call%d", w.calls), Name: name, Arguments: json.RawMessage(args),
	})
}

// One carries a single call out.
func One(ctx context.Context, host *run.Host, c run.Call) tools.Result {
	results, _ := run.Batch(ctx, host, []run.Call{c})
	return results[0]
}

// Call carries one call of a tool out in an environment, in auto mode and with a person who allows
// everything. The plan is nil where the tool made none. It may be called concurrently.
func Call(ctx context.Context, tool tools.Tool, env *tools.Env, args string) (tools.Result, *tools.Plan) {
	var plan *tools.Plan
	host := &run.Host{
		Tools: SetOf(tool), Gate: gate.ModeAuto, Asker: &World{Answer: run.Answer{Outcome: run.Allowed}}, Validation: run.Validation{Coerce: true},
		Env: func(run.Call) *tools.Env {
			own := *env
			return &own
		},
		Observe: func(e run.Event) {
			plan = e.Plan
			if e.Progress != nil {
				env.Person.Progress(*e.Progress)
			}
		},
	}
	return One(ctx, host, run.Call{ID: "c", Name: tool.Spec().Name, Arguments: json.RawMessage(args)}), plan
}

// Plan gives the plan of a call with arguments that have been checked.
func Plan(ctx context.Context, tool tools.Tool, env *tools.Env, args json.RawMessage) (_ *tools.Plan, err error) {
	if env.Needs, err = tool.Needs(env, args); err != nil {
		return nil, err
	}
	return tool.Plan(ctx, env, args)
}

// See makes the model see the lines first to last of a file; last 0 means all of it.
func (w *World) See(rel string, first, last int) error {
	s, err := w.Files.Read(context.Background(), w.Path(rel))
	if err != nil {
		return err
	}
	if last == 0 {
		last = s.Text.LineCount()
	}
	w.FileTime.Read(s, first, last)
	return nil
}

// sound says what is wrong with a result that no call may have.
func sound(r tools.Result) error {
	if r.Success != (r.Error == "") || strings.TrimSpace(r.Data) == "" || !utf8.ValidString(r.Data) || r.Success && r.Summary == "" {
		return fmt.Errorf("a result that is none: %+v", r)
	}
	return nil
}

package backend_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tandem/agent"
	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/prompt"
	"tandem/agent/store"
	"tandem/filetime/text"
	"tandem/lspserver/backend"
	"tandem/lspserver/workspace"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/builtin"
	"tandem/tools/gate"
	"tandem/tools/run"
)

// begin starts a backend with options of its own.
func begin(t *testing.T, f *face, c backend.Client, o backend.Options) *backend.Backend {
	t.Helper()
	if o.Tools == nil {
		o.Tools = builtin.Tools()
	}
	if o.Opener == nil {
		o.Opener = func(config.Config, model.Lend) model.Opener { return models{"say hello\n\nsay hello\n"} }
	}
	if c.Editor == nil {
		c.Editor = noEditor{}
	}
	b := backend.New(o, f)
	if err := b.Start(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.End)
	return b
}

func kept(state string) func(config.Config) (store.Store, error) {
	return func(config.Config) (store.Store, error) {
		return store.Open(filepath.Join(state, "sessions.db"), store.Options{})
	}
}

func made(t *testing.T, b *backend.Backend, n backend.NewSession) *backend.Session {
	t.Helper()
	se, err := b.New(n)
	if err != nil {
		t.Fatal(err)
	}
	return se
}

func canonical(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRulesOfScopes: a rule is kept where its scope says, is listed there and can be taken back there; what is no rule, and what is written
// in a file of the user, changes nothing.
func TestRulesOfScopes(t *testing.T) {
	home, dir := canonical(t), canonical(t)
	settings := filepath.Join(home, "config.json")
	put(t, settings, `{"permissions":{"deny":[{"tool":"web_fetch"}]}}`)
	f := &face{}
	b := begin(t, f, backend.Client{Folders: []string{dir}}, backend.Options{Inputs: config.Inputs{UserFile: settings}})
	se := made(t, b, backend.NewSession{})
	allow := func(tool string) []gate.Rule { return []gate.Rule{{Effect: gate.Allow, Tool: tool}} }
	list := func(of *backend.Session) (out []string) {
		for _, r := range b.Rules(of) {
			out = append(out, fmt.Sprintf("%s %s %v %v", r.Effect, r.Tool, r.Removable, r.Workspace == dir))
		}
		return out
	}
	for _, tt := range []struct {
		scope  string
		se     *backend.Session
		add    []gate.Rule
		remove []string
		kind   backend.Kind
	}{
		{"user", nil, []gate.Rule{{Effect: gate.Allow}}, nil, backend.Invalid},
		{"user", nil, allow("[bash"), nil, backend.Invalid},
		{"user", nil, []gate.Rule{{Effect: gate.Allow, Tool: "bash", Class: "x"}}, nil, backend.Invalid},
		{"session", nil, allow("bash"), nil, backend.Invalid},
		{"all", se, allow("bash"), nil, backend.Invalid},
		{"user", nil, nil, []string{"none"}, backend.Invalid},
		{"user", nil, nil, []string{gate.Rule{Effect: gate.Deny, Tool: "web_fetch"}.ID()}, backend.NotPermitted},
	} {
		err := b.SetRules(tt.scope, tt.se, tt.add, tt.remove)
		var e *backend.Error
		if !errors.As(err, &e) || e.Kind != tt.kind {
			t.Errorf("%s %v %v: %v", tt.scope, tt.add, tt.remove, err)
		}
	}
	if got, want := list(se), []string{"deny web_fetch false false"}; !slices.Equal(got, want) {
		t.Errorf("after what was refused: %q", got)
	}
	for scope, tool := range map[string]string{"session": "bash", "workspace": "edit_file", "user": "write_file"} {
		if err := b.SetRules(scope, se, allow(tool), nil); err != nil {
			t.Errorf("%s: %v", scope, err)
		}
	}
	if err := b.SetRules("user", nil, []gate.Rule{{Effect: gate.Allow, Tool: "x_*", Class: tools.ClassRead}}, nil); err != nil {
		t.Error(err)
	}
	got := list(se)
	slices.Sort(got)
	want := []string{
		"allow bash true false", "allow edit_file true true", "allow write_file true false", "allow x_* true false", "deny web_fetch false false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if first := list(se)[0]; first != "deny web_fetch false false" {
		t.Errorf("the strictest rule is not first: %q", first)
	}
	if got := list(nil); slices.Contains(got, "allow bash true false") || len(got) != 4 {
		t.Errorf("without the session: %q", got)
	}
	var ids []string
	for _, r := range b.Rules(se) {
		if r.Removable {
			ids = append(ids, r.ID())
		}
	}
	if err := b.SetRules("user", se, nil, ids); err != nil {
		t.Fatal(err)
	}
	if got := list(se); !slices.Equal(got, []string{"deny web_fetch false false"}) {
		t.Errorf("after all were taken back: %q", got)
	}
	homeless := begin(t, &face{}, backend.Client{Folders: []string{dir}}, backend.Options{})
	if err := homeless.SetRules("user", nil, allow("bash"), nil); !backend.NotPermitted.Is(err) {
		t.Errorf("without a file of rules: %v", err)
	}
	if err := homeless.SetRules("user", nil, nil, nil); err != nil {
		t.Errorf("nothing to change: %v", err)
	}
	if err := begin(t, &face{}, backend.Client{}, backend.Options{Inputs: config.Inputs{UserFile: settings}}).SetRules("workspace", nil, allow("bash"), nil); !backend.Invalid.Is(err) {
		t.Errorf("a workspace without a folder: %v", err)
	}
}

// TestWideFoldersAreAskedAbout: a session begins in a folder as wide as the home folder after a yes, which holds from then on.
func TestWideFoldersAreAskedAbout(t *testing.T) {
	home := canonical(t)
	t.Setenv("HOME", home)
	sub := filepath.Join(home, "project")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		answer  *bool
		allowed bool
		asked   int // after two sessions there
	}{
		"yes":    {new(true), true, 1},
		"no":     {new(false), false, 2},
		"nobody": {nil, false, 0},
	} {
		asked := 0
		c := backend.Client{}
		if tt.answer != nil {
			c.AskFolder = func(_ context.Context, folder string) bool {
				if asked++; folder != home {
					t.Errorf("asked about %s", folder)
				}
				return *tt.answer
			}
		}
		b := begin(t, &face{}, c, backend.Options{})
		for range 2 {
			if _, err := b.New(backend.NewSession{Cwd: home}); (err == nil) != tt.allowed || err != nil && !backend.NotPermitted.Is(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		made(t, b, backend.NewSession{Cwd: sub})
		if asked != tt.asked {
			t.Errorf("%s: asked %d times", name, asked)
		}
		if _, err := b.Load(t.Context(), "s-none", home); tt.allowed != backend.UnknownSession.Is(err) {
			t.Errorf("%s: a session is loaded there: %v", name, err)
		}
	}
}

// TestFoldersOfNewSessions: a session needs a folder that exists, and works in those of the request and of the workspace.
func TestFoldersOfNewSessions(t *testing.T) {
	a, b, c := canonical(t), canonical(t), canonical(t)
	be := begin(t, &face{}, backend.Client{Folders: []string{a, b}}, backend.Options{})
	for name, tt := range map[string]struct {
		n    backend.NewSession
		cwd  string
		fine bool
	}{
		"the workspace":    {backend.NewSession{}, a, true},
		"its second":       {backend.NewSession{Cwd: b}, b, true},
		"another":          {backend.NewSession{Cwd: c}, c, true},
		"more":             {backend.NewSession{More: []string{c, a}}, a, true},
		"not there":        {backend.NewSession{Cwd: filepath.Join(c, "none")}, "", false},
		"more, not there":  {backend.NewSession{More: []string{filepath.Join(c, "none")}}, "", false},
		"a relative one":   {backend.NewSession{Cwd: "."}, "", false},
		"a file":           {backend.NewSession{Cwd: os.Args[0]}, "", false},
		"mode of its own":  {backend.NewSession{Mode: "plan"}, a, true},
		"an unknown model": {backend.NewSession{Model: ""}, a, true},
	} {
		se, err := be.New(tt.n)
		if (err == nil) != tt.fine || err == nil && se.Cwd() != tt.cwd {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	if _, err := be.New(backend.NewSession{}); err != nil {
		t.Errorf("a folder of the workspace is gone: %v", err)
	}
	if err := backend.New(backend.Options{Opener: func(config.Config, model.Lend) model.Opener { return models{"say x"} }}, &face{}).Start(t.Context(), backend.Client{Folders: []string{b}}); !backend.NoSuchFolder.Is(err) {
		t.Errorf("it starts in a folder that is not there: %v", err)
	}
	if _, err := begin(t, &face{}, backend.Client{}, backend.Options{}).New(backend.NewSession{}); !backend.NoSuchFolder.Is(err) {
		t.Errorf("no folder at all: %v", err)
	}
}

// TestKeptSessions: sessions are listed by folder, the latest first, found by text, renamed, exported and deleted, open or not.
func TestKeptSessions(t *testing.T) {
	a, c, state := canonical(t), canonical(t), t.TempDir()
	b := begin(t, &face{}, backend.Client{Folders: []string{a}}, backend.Options{Store: kept(state)})
	first, second := made(t, b, backend.NewSession{}), made(t, b, backend.NewSession{Cwd: c})
	unused := made(t, b, backend.NewSession{})
	if _, err := b.Export(unused.ID(), "markdown"); !backend.Invalid.Is(err) {
		t.Errorf("an export of nothing: %v", err)
	}
	prompted(t, b, first, "apples")
	prompted(t, b, second, "pears")
	list := func(cwd string) (out []string) {
		t.Helper()
		page, next, err := b.List(t.Context(), cwd, "")
		if err != nil || next != "" {
			t.Fatalf("%q, %v", next, err)
		}
		for _, i := range page {
			out = append(out, i.Title)
		}
		slices.Sort(out)
		return out
	}
	if got := list(""); !slices.Equal(got, []string{"", "apples", "pears"}) {
		t.Errorf("all are %q", got)
	}
	if got := list(a + "/"); !slices.Equal(got, []string{"", "apples"}) {
		t.Errorf("those of a folder are %q", got)
	}
	if _, _, err := b.List(t.Context(), "", "no cursor"); !backend.Invalid.Is(err) {
		t.Errorf("a cursor that is none: %v", err)
	}
	if found, err := b.Search("pears", 9); err != nil || len(found) != 1 || found[0].ID != second.ID() || found[0].Cwd != c {
		t.Errorf("found %+v, %v", found, err)
	}
	if err := b.Rename(first.ID(), " green apples "); err != nil || first.Title() != "green apples" {
		t.Errorf("%q, %v", first.Title(), err)
	}
	if err := b.Close(first.ID()); err != nil {
		t.Fatal(err)
	}
	for title, fine := range map[string]bool{
		"red apples": true, "": false, "  ": false, "a\rb": false, strings.Repeat("ä", 200): true, strings.Repeat("ä", 201): false,
	} {
		if err := b.Rename(first.ID(), title); (err == nil) != fine || err != nil && !backend.Invalid.Is(err) {
			t.Errorf("%q: %v", title, err)
		}
		if fine {
			if got := list(a); !slices.Contains(got, title) {
				t.Errorf("renamed to %q: %q", title, got)
			}
		}
	}
	if err := b.Rename("s-none", "x"); !backend.UnknownSession.Is(err) {
		t.Errorf("a session that is not there: %v", err)
	}
	for format, want := range map[string]string{"markdown": "apples", "jsonl": "{"} {
		if text, err := b.Export(first.ID(), format); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %q, %v", format, text, err)
		}
	}
	if _, err := b.Export(first.ID(), "html"); !backend.Invalid.Is(err) {
		t.Errorf("a format that there is not: %v", err)
	}
	if _, err := b.Export("s-none", "markdown"); !backend.UnknownSession.Is(err) {
		t.Errorf("a session that is not there: %v", err)
	}
	other := begin(t, &face{}, backend.Client{Folders: []string{c}}, backend.Options{Store: kept(state)})
	if _, err := other.Load(t.Context(), second.ID(), ""); !backend.SessionBusy.Is(err) {
		t.Errorf("it is open elsewhere: %v", err)
	}
	if _, err := other.Load(t.Context(), first.ID(), ""); !backend.NotPermitted.Is(err) {
		t.Errorf("it is of another folder: %v", err)
	}
	if _, err := b.Load(t.Context(), first.ID(), c); !backend.NotPermitted.Is(err) {
		t.Errorf("it is of another folder than that asked for: %v", err)
	}
	again, err := b.Load(t.Context(), first.ID(), a)
	if err != nil || again.Cwd() != a {
		t.Fatalf("%v", err)
	}
	if _, err := b.Load(t.Context(), first.ID(), c); !backend.NotPermitted.Is(err) {
		t.Errorf("an open one of another folder: %v", err)
	}
	if same, err := b.Load(t.Context(), first.ID(), ""); err != nil || same != again {
		t.Errorf("an open one is another session: %v", err)
	}
	for _, id := range []string{first.ID(), unused.ID(), second.ID()} {
		if err := b.Delete(id); err != nil {
			t.Errorf("%v", err)
		}
	}
	if err := b.Delete(first.ID()); !backend.UnknownSession.Is(err) {
		t.Errorf("deleted twice: %v", err)
	}
	if got := list(""); len(got) > 0 {
		t.Errorf("after all are deleted: %q", got)
	}
}

// broken is a tool that fails for good as often as it is told to.
func broken(t *testing.T, fails *bool) tools.Tool {
	t.Helper()
	return tools.Define(tools.Definition[struct {
		Text string `json:"text,omitempty"`
	}]{
		Spec: tools.Spec{Name: "broken", Kind: tools.Read, Description: "Breaks."},
		Needs: func(*tools.Env, struct {
			Text string `json:"text,omitempty"`
		},
		) ([]tools.Need, error) {
			return nil, nil
		},
		Plan: func(context.Context, *tools.Env, struct {
			Text string `json:"text,omitempty"`
		},
		) (*tools.Plan, error) {
			return &tools.Plan{Run: func(context.Context) (tools.Result, error) {
				if *fails {
					return tools.Result{}, errors.New("boom")
				}
				return tools.Result{Success: true, Data: "fine"}, nil
			}}, nil
		},
	})
}

// TestDeadLettersAreMadeAgain: a call that failed for good is kept until it was made again or is discarded; where one of several cannot be
// made, none is. The figures of its tool count each.
func TestDeadLettersAreMadeAgain(t *testing.T) {
	fails := true
	b := begin(t, &face{answer: run.Allowed}, backend.Client{Folders: []string{canonical(t)}}, backend.Options{Store: kept(t.TempDir()), Tools: []tools.Tool{broken(t, &fails)}})
	se := made(t, b, backend.NewSession{Mode: "auto"})
	call := func(args string) {
		t.Helper()
		r, _, err := se.CallTools(t.Context(), []run.Call{{Name: "broken", Arguments: json.RawMessage(args)}}, agent.CallOptions{})
		if err != nil || r[0].Error != tools.ExecutionError {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	ids := func() (out []int64) {
		t.Helper()
		all, err := b.DeadLetters()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all {
			out = append(out, l.ID)
		}
		return out
	}
	call(`{"text":"a"}`)
	call(`{"text":"b"}`)
	call(`{"text":"` + strings.Repeat("x", 70<<10) + `"}`)
	all := ids() // the newest first
	if len(all) != 3 {
		t.Fatalf("%v", all)
	}
	for name, list := range map[string][]int64{"one that there is not": {all[1], -1}, "one whose arguments are not kept": {all[1], all[0]}} {
		if r, err := b.RetryDeadLetters(t.Context(), list); !backend.Invalid.Is(err) || len(r) > 0 || len(ids()) != 3 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if err := b.DiscardDeadLetters([]int64{all[0], -1}); !backend.Invalid.Is(err) || len(ids()) != 3 {
		t.Errorf("%v", err)
	}
	if err := b.DiscardDeadLetters(all[:1]); err != nil || len(ids()) != 2 {
		t.Errorf("%v, %v", ids(), err)
	}
	if r, err := b.RetryDeadLetters(t.Context(), all[1:2]); err != nil || len(r) != 1 || r[0].Success || len(ids()) != 2 || slices.Contains(ids(), all[1]) {
		t.Errorf("failed again: %+v, %v, %v", r, ids(), err)
	}
	fails = false
	if r, err := b.RetryDeadLetters(t.Context(), ids()); err != nil || len(r) != 2 || !r[0].Success || !r[1].Success || len(ids()) > 0 {
		t.Errorf("made again: %+v, %v, %v", r, ids(), err)
	}
	st := b.Status(t.Context()).PerTool
	if len(st) != 1 || st[0].Name != "broken" || st[0].Calls != 6 || st[0].Errors != 4 || st[0].Bytes == 0 || st[0].Tokens != (st[0].Bytes+3)/4 {
		t.Errorf("figures %+v", st)
	}
	fails = true
	call(`{"text":"c"}`)
	left := ids()
	if err := b.Close(se.ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.RetryDeadLetters(t.Context(), left); !backend.UnknownSession.Is(err) || len(ids()) != 1 {
		t.Errorf("its session is closed: %v, %v", ids(), err)
	}
}

// TestToolsOfTheClient: a client registers tools whose names are free, covers built-in ones where it says so, and unregisters its own.
func TestToolsOfTheClient(t *testing.T) {
	f := &face{}
	b := begin(t, f, backend.Client{Folders: []string{canonical(t)}}, backend.Options{})
	specs := func(names ...string) (out []backend.ToolSpec) {
		for _, n := range names {
			out = append(out, backend.ToolSpec{Spec: tools.Spec{Name: n, Description: "Does it.", Kind: tools.Read}})
		}
		return out
	}
	step := func(what string, err error, fine bool, told ...string) {
		t.Helper()
		if (err == nil) != fine || err != nil && !backend.Invalid.Is(err) {
			t.Errorf("%s: %v", what, err)
		}
		var got []string
		for _, line := range f.said() {
			if strings.HasPrefix(line, "come") || strings.HasPrefix(line, "gone") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if !slices.Equal(got, told) {
			t.Errorf("%s: told %q, want %q", what, got, told)
		}
	}
	step("two", b.Register(specs("one", "two"), false), true, "come: one", "come: two")
	step("one of them again", b.Register(specs("three", "ONE"), false), false)
	step("again with replace", b.Register(specs("one"), true), false)
	step("a built-in one", b.Register(specs("glob"), false), false)
	step("a built-in one with replace", b.Register(specs("glob"), true), true, "gone: glob", "come: glob")
	step("no name", b.Register(specs(""), false), false)
	step("one that is not there", b.Unregister([]string{"one", "none"}), false)
	step("a built-in one", b.Unregister([]string{"read_file"}), false)
	step("their own", b.Unregister([]string{"ONE", "glob"}), true, "gone: glob", "gone: one", "come: glob")
	many := make([]string, 501)
	for i := range many {
		many[i] = fmt.Sprint("t", i)
	}
	step("too many", b.Register(specs(many...), false), false)
	if err := b.Register(specs(many[:500]...), false); err != nil {
		t.Errorf("500: %v", err)
	}
	f.said()
	se := made(t, b, backend.NewSession{Mode: "auto"})
	r, _, err := se.CallTools(t.Context(), []run.Call{{Name: "two", Arguments: json.RawMessage(`{"a":1}`)}}, agent.CallOptions{})
	if err != nil || !r[0].Success || !strings.Contains(r[0].Data, `two {"a":1}`) {
		t.Errorf("%+v, %v", r, err)
	}
}

// leveled is a Runner with a level.
type leveled struct {
	sandbox.Runner
	level sandbox.Level
	err   error
}

func (l leveled) Level() sandbox.Level { return l.level }

func (l leveled) Start(context.Context, sandbox.Command) (sandbox.Process, error) { return nil, l.err }

// TestSandboxIsToldOf: a person is warned where commands are confined less than they could be, not where they chose that or all is well.
func TestSandboxIsToldOf(t *testing.T) {
	below := sandbox.Level{Name: sandbox.LevelNone, Below: true, Reason: "no namespaces"}
	for name, tt := range map[string]struct {
		runner   sandbox.Runner
		settings string
		warned   bool
	}{
		"less than it could be": {leveled{level: below}, `{}`, true},
		"all that there is":     {leveled{level: sandbox.Level{Name: sandbox.LevelFull}}, `{}`, false},
		"off":                   {leveled{level: below}, `{"sandbox":{"level":"off"}}`, false},
		"no commands":           {nil, `{}`, false},
	} {
		f := &face{}
		b := begin(t, f, backend.Client{Options: []byte(tt.settings), Own: true}, backend.Options{Runner: tt.runner})
		b.Ready(t.Context())
		said := strings.Join(f.said(), "\n")
		if strings.Contains(said, "the sandbox for commands is incomplete (level none)") != tt.warned {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// TestSandboxTrialIsLater: the sandbox is not tried out while the editor starts, and what waits for
// it ends with the connection.
func TestSandboxTrialIsLater(t *testing.T) {
	tried := tried{leveled: leveled{level: sandbox.Level{Name: sandbox.LevelFull}}, count: new(atomic.Int32)}
	b := begin(t, &face{}, backend.Client{Options: []byte(`{}`), Own: true}, backend.Options{Runner: tried, SandboxTrial: time.Hour})
	b.Ready(t.Context())
	made(t, b, backend.NewSession{Cwd: canonical(t), Mode: "auto"})
	if n := tried.count.Load(); n != 0 {
		t.Errorf("the level was asked for %d times", n)
	}
	if b.Status(t.Context()); tried.count.Load() == 0 {
		t.Error("the status does not find out the level")
	}
}

// tried counts the requests for its level.
type tried struct {
	leveled
	count *atomic.Int32
}

func (r tried) Level() sandbox.Level {
	r.count.Add(1)
	return r.leveled.Level()
}

// unopened is a store that cannot be opened.
func unopened(err error) func(config.Config) (store.Store, error) {
	return func(config.Config) (store.Store, error) { return nil, err }
}

// TestWithoutAStore: without a store sessions stay in memory, calls that need a record first are refused, and the person is notified.
func TestWithoutAStore(t *testing.T) {
	for name, tt := range map[string]struct {
		open   func(config.Config) (store.Store, error)
		writes bool
		warned string
		kind   string
		lost   bool
	}{
		"in memory":     {nil, true, "", "memory", false},
		"a file":        {kept(t.TempDir()), true, "", "file", false},
		"broken":        {unopened(errors.New("disk on fire")), false, "disk on fire.", "memory", true},
		"of the future": {unopened(fmt.Errorf("it is %w", store.ErrNewer)), false, "Move that file away to start with an empty one.", "memory", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &face{answer: run.Allowed}
			dir := canonical(t)
			b := begin(t, f, backend.Client{Folders: []string{dir}}, backend.Options{Store: tt.open})
			if got := b.Status(t.Context()).Store.Kind; got != "closed" {
				t.Errorf("the store is %s before it is used", got)
			}
			se := made(t, b, backend.NewSession{Mode: "auto"})
			r, _, err := se.CallTools(t.Context(), []run.Call{{Name: "write_file", Arguments: json.RawMessage(`{"path":"a","content":"x"}`)}}, agent.CallOptions{})
			if err != nil || r[0].Success != tt.writes {
				t.Errorf("%+v, %v", r, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "a")); (err == nil) != tt.writes {
				t.Errorf("the file: %v", err)
			}
			said := strings.Join(f.said(), "\n")
			if !strings.Contains(said, tt.warned) || strings.Contains(said, "Move that file") != (tt.warned == "Move that file away to start with an empty one.") || (tt.warned == "") == strings.Contains(said, "not stored") {
				t.Errorf("told %s", said)
			}
			st := b.Status(t.Context()).Store
			if st.Kind != tt.kind || (st.Problem != "") != tt.lost {
				t.Errorf("state %+v", st)
			}
			_, err = b.Load(t.Context(), "s-none", "")
			if !backend.UnknownSession.Is(err) || strings.Contains(err.Error(), "cannot be read") != tt.lost {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestCompletions: a mention is completed with files and what fits, a slash with commands, and for a session that there is.
func TestCompletions(t *testing.T) {
	dir := canonical(t)
	for _, name := range []string{"select.go", "other.go"} {
		put(t, filepath.Join(dir, name), "x\n")
	}
	b := begin(t, &face{}, backend.Client{Folders: []string{dir}}, backend.Options{})
	se := made(t, b, backend.NewSession{})
	labels := func(id, prefix string, limit int) (out []string) {
		t.Helper()
		all, err := b.Complete(t.Context(), id, prefix, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			out = append(out, m.Label+" "+string(m.Kind))
		}
		return out
	}
	for _, tt := range []struct {
		id, prefix string
		want       []string
	}{
		{"", "sel", []string{"select.go file"}},
		{se.ID(), "sel", []string{"select.go file", "selection selection"}},
		{se.ID(), "diag", []string{"diagnostics diagnostics"}},
		{se.ID(), "", []string{"other.go file", "select.go file"}},
		{se.ID(), "/none", nil},
		{"", "/sel", nil},
	} {
		if got := labels(tt.id, tt.prefix, 9); !slices.Equal(got, tt.want) {
			t.Errorf("%q of %q: %q, want %q", tt.prefix, tt.id, got, tt.want)
		}
	}
	if got := labels(se.ID(), "", 1); len(got) != 1 {
		t.Errorf("one of them: %q", got)
	}
	if _, err := b.Complete(t.Context(), "s-none", "", 9); !backend.UnknownSession.Is(err) {
		t.Errorf("%v", err)
	}
}

// TestAttentionOfTheSession: the model learns what is open and active in the folders of the session, not of keys and not of what is elsewhere.
func TestAttentionOfTheSession(t *testing.T) {
	dir, outside := canonical(t), canonical(t)
	var seen string
	b := begin(t, &face{}, backend.Client{Folders: []string{dir}, Features: workspace.Features{Apply: true}}, backend.Options{
		Opener: func(config.Config, model.Lend) model.Opener { return reading{&seen} },
	})
	se := made(t, b, backend.NewSession{})
	uri := func(path string) string { return workspace.URI(path) }
	for _, path := range []string{filepath.Join(dir, "a.go"), filepath.Join(dir, "b.go"), filepath.Join(dir, ".env"), filepath.Join(outside, "c.go")} {
		b.Workspace().Open(path, uri(path), 1, "text of "+filepath.Base(path)+"\n")
	}
	ask := func(a *backend.Attention, blocks ...prompt.Block) string {
		t.Helper()
		seen = ""
		carryOut, err := b.Prompt(se, backend.Prompt{Blocks: append([]prompt.Block{{Type: "text", Text: "go"}}, blocks...), Attention: a})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := carryOut(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		return seen
	}
	at := filepath.Join(dir, "a.go")
	got := ask(&backend.Attention{URI: uri(at), Path: at, Selection: &workspace.Range{End: text.Position{Character: 4}}})
	for part, want := range map[string]bool{"a.go": true, "b.go": true, ".env": false, "c.go": false} {
		if strings.Contains(got, part) != want {
			t.Errorf("of %s the model reads %s", part, got)
		}
	}
}

// reading is a model that keeps what it was asked last.
type reading struct{ seen *string }

func (r reading) Open(string) (model.Model, error) { return reader(r), nil }
func (reading) Names() []string                    { return []string{"script/test"} }
func (reading) API(string) string                  { return "" }

type reader struct{ seen *string }

func (reader) Name() string { return "script/test" }

func (r reader) Stream(_ context.Context, q model.Request, _ func(model.Delta)) (model.Response, error) {
	*r.seen = fmt.Sprint(q.Messages)
	return model.Response{}, &model.Error{Kind: "http", Message: "enough"}
}

package languages_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/fileuri"
	"tandem/lspserver/languages"
	"tandem/lspserver/wire"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/toolstest"
)

type is = map[string]any

// scripted is a Runner whose commands are a language server in memory: answers by method, in order,
// the last one for good. An answer that is a function is called with the parameters. It records the
// requests and the profile of its start.
type scripted struct {
	sandbox.Runner
	capabilities is
	answers      map[string][]any

	mu       sync.Mutex
	heard    []string
	commands []sandbox.Command
	conns    []*wire.Conn
}

type fault string

func (s *scripted) Find(name string, _ sandbox.Surroundings) (string, error) {
	return "/bin/" + name, nil
}

func (s *scripted) Level() sandbox.Level { return sandbox.Level{Name: sandbox.LevelFull} }

func (s *scripted) answer(method string, p json.RawMessage) (any, error) {
	s.mu.Lock()
	s.heard = append(s.heard, method+" "+string(p))
	list := s.answers[method]
	if len(list) > 1 {
		s.answers[method] = list[1:]
	}
	s.mu.Unlock()
	if len(list) == 0 {
		return nil, nil
	}
	switch a := list[0].(type) {
	case fault:
		return nil, &wire.Error{Code: wire.CodeInternal, Message: string(a)}
	case func(json.RawMessage) any:
		return a(p), nil
	}
	return list[0], nil
}

// said are the messages of a method so far.
func (s *scripted) said(method string) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.heard {
		if name, p, _ := strings.Cut(h, " "); name == method {
			out = append(out, p)
		}
	}
	return out
}

// notify has the server say something by itself.
func (s *scripted) notify(t *testing.T, method string, p any) {
	t.Helper()
	s.mu.Lock()
	conn := s.conns[len(s.conns)-1]
	s.mu.Unlock()
	if err := conn.Notify(t.Context(), method, p); err != nil {
		t.Fatal(err)
	}
}

func (s *scripted) Start(ctx context.Context, c sandbox.Command) (sandbox.Process, error) {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	r := wire.NewRouter()
	wire.Handle(r, "initialize", func(_ context.Context, p json.RawMessage) (any, error) {
		_, _ = s.answer("initialize", p)
		return is{"capabilities": s.capabilities}, nil
	})
	for _, method := range []string{
		"shutdown", "textDocument/definition", "textDocument/references", "textDocument/rename", "textDocument/formatting", "textDocument/codeAction",
		"textDocument/documentSymbol", "textDocument/diagnostic", "workspace/symbol", "workspaceSymbol/resolve", "codeAction/resolve",
		"workspace/executeCommand",
	} {
		wire.Handle(r, method, func(_ context.Context, p json.RawMessage) (any, error) { return s.answer(method, slices.Clone(p)) })
	}
	for _, method := range []string{
		"initialized", "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "workspace/didChangeWatchedFiles",
	} {
		wire.Notify(r, method, func(_ context.Context, p json.RawMessage) { _, _ = s.answer(method, slices.Clone(p)) })
	}
	child := &child{in: toServer, out: fromServer, ended: make(chan struct{})}
	conn := wire.Serve(context.WithoutCancel(ctx), pipes{in, out}, r, wire.Options{Client: true})
	child.end = sync.OnceFunc(func() { conn.Close(); close(child.ended) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands, s.conns = append(s.commands, c), append(s.conns, conn)
	return child, nil
}

type pipes struct {
	io.ReadCloser
	out io.WriteCloser
}

func (p pipes) Write(b []byte) (int, error) { return p.out.Write(b) }
func (p pipes) Close() error                { return errors.Join(p.out.Close(), p.ReadCloser.Close()) }

type child struct {
	in    io.WriteCloser
	out   io.ReadCloser
	ended chan struct{}
	end   func()
}

func (c *child) Stdin() io.WriteCloser { return c.in }
func (c *child) Stdout() io.ReadCloser { return c.out }
func (c *child) Access(bool) error     { return nil }
func (c *child) Stop()                 { c.end() }
func (c *child) Wait() sandbox.Outcome { <-c.ended; return sandbox.Outcome{} }

// serving is a world with a scripted server for files .x of its projects.
func serving(t *testing.T, s *scripted, files map[string]string, change ...func(*languages.Program)) (*toolstest.World, *languages.Pool) {
	t.Helper()
	p := languages.Program{Name: "srv", Command: "srv", Languages: map[string]string{".x": "ex"}, Roots: []string{"project"}}
	for _, c := range change {
		c(&p)
	}
	if files == nil {
		files = map[string]string{"project": "", "a.x": "text\n"}
	}
	w, pool := world(t, files, p)
	w.Env.Commands.Runner = s
	return w, pool
}

func file(t *testing.T, w *toolstest.World, name string) filetime.Snapshot {
	t.Helper()
	snap, err := w.Files.Read(t.Context(), w.Path(name))
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func at(line, from, to int) is {
	return is{"start": is{"line": line, "character": from}, "end": is{"line": line, "character": to}}
}

// TestEncodingOfPositions: positions are counted as the server says: in UTF-16 unless it has chosen
// UTF-8.
func TestEncodingOfPositions(t *testing.T) {
	for encoding, want := range map[string]int{"": 1, "utf-16": 1, "utf-8": 2} {
		s := &scripted{capabilities: is{}}
		if encoding != "" {
			s.capabilities["positionEncoding"] = encoding
		}
		w, _ := serving(t, s, map[string]string{"project": "", "a.x": "äb\n"})
		if _, err := w.Env.Servers.Languages.Definition(t.Context(), tools.Spot{File: file(t, w, "a.x"), Offset: 2}); err != nil {
			t.Fatal(err)
		}
		if said := s.said("textDocument/definition"); len(said) != 1 || !strings.Contains(said[0], fmt.Sprintf(`"character":%d`, want)) {
			t.Errorf("%q: %q, want character %d", encoding, said, want)
		}
	}
}

// TestStartsConfined: a server may only read and has its cache; initialize names its folder, and
// shutdown and exit end it.
func TestStartsConfined(t *testing.T) {
	s := &scripted{}
	w, pool := serving(t, s, nil)
	for range 2 {
		if _, err := w.Env.Servers.Languages.Outline(t.Context(), file(t, w, "a.x")); err != nil {
			t.Fatal(err)
		}
	}
	pool.Close()
	if len(s.commands) != 1 || s.commands[0].Profile != sandbox.ReadOnly || !s.commands[0].Interactive || s.commands[0].Argv[0] != "/bin/srv" {
		t.Errorf("started %+v", s.commands)
	}
	if hello := s.said("initialize"); len(hello) != 1 || !strings.Contains(hello[0], fileuri.Of(w.Root)) {
		t.Errorf("%q", hello)
	}
	if len(s.said("textDocument/didOpen")) != 1 || len(s.said("shutdown")) != 1 {
		t.Errorf("heard %q", s.heard)
	}
	if opened := s.said("textDocument/didOpen"); !strings.Contains(opened[0], `"languageId":"ex"`) {
		t.Errorf("%q", opened)
	}
}

// TestRootsOfServers: a file belongs to the nearest project inside the session's folders, else to
// the folder of the session.
func TestRootsOfServers(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		ask   string
		root  string
	}{
		"the top":                     {map[string]string{"project": "", "p/a.x": ""}, "p/a.x", "."},
		"the nearest":                 {map[string]string{"project": "", "p/project": "", "p/q/a.x": ""}, "p/q/a.x", "p"},
		"no project":                  {map[string]string{"p/a.x": ""}, "p/a.x", "."},
		"a folder is no project file": {map[string]string{"project": "", "p/project/b": "", "p/a.x": ""}, "p/a.x", "."},
	} {
		s := &scripted{}
		w, _ := serving(t, s, tt.files)
		outside := filepath.Join(filepath.Dir(w.Root), "project")
		if err := os.WriteFile(outside, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Env.Servers.Languages.Outline(t.Context(), file(t, w, tt.ask)); err != nil {
			t.Fatal(err)
		}
		hello := s.said("initialize")
		if want := `"rootUri":"` + fileuri.Of(w.Path(tt.root)) + `"`; len(hello) != 1 || !strings.Contains(hello[0], want) {
			t.Errorf("%s: %q, want %s", name, hello, want)
		}
	}
}

// TestUnsavedOfTheProject: a server gets the unsaved texts of its project and language, and no
// others.
func TestUnsavedOfTheProject(t *testing.T) {
	s := &scripted{}
	w, _ := serving(t, s, map[string]string{"p/project": "", "p/a.x": "a", "q/b.x": "b"})
	for _, name := range []string{"p/b.x", "p/b.txt", "q/b.x"} {
		w.Files.Put(w.Path(name), "typed", true)
	}
	for range 2 {
		if _, err := w.Env.Servers.Languages.Outline(t.Context(), file(t, w, "p/a.x")); err != nil {
			t.Fatal(err)
		}
	}
	opened := s.said("textDocument/didOpen")
	if len(opened) != 2 || !strings.Contains(opened[0], "/p/a.x") || !strings.Contains(opened[1], "/p/b.x") || len(s.said("textDocument/didChange")) > 0 {
		t.Errorf("told of %q", opened)
	}
	w.Files.Put(w.Path("p/a.x"), "typed", true)
	for range 2 {
		if _, err := w.Env.Servers.Languages.Outline(t.Context(), file(t, w, "p/a.x")); err != nil {
			t.Fatal(err)
		}
	}
	if changed := s.said("textDocument/didChange"); len(changed) != 1 || !strings.Contains(changed[0], `"version":2`) || !strings.Contains(changed[0], `"text":"typed"`) {
		t.Errorf("told of changes %q", changed)
	}
}

// TestOtherServersOfAFile: if a server does not answer, the next one is asked; the error of one is
// returned.
func TestOtherServersOfAFile(t *testing.T) {
	found := []any{is{"name": "x", "kind": 5, "range": at(0, 0, 1), "selectionRange": at(0, 0, 1)}}
	for name, tt := range map[string]struct {
		answer any
		want   int
		err    string
	}{
		"an answer": {found, 1, ""},
		"nothing":   {[]any{}, 0, ""},
		"null":      {nil, 0, ""},
		"an error":  {fault("broken."), 0, "srv cannot answer: broken."},
	} {
		s := &scripted{answers: map[string][]any{"textDocument/documentSymbol": {tt.answer}}}
		w, _ := serving(t, s, nil)
		list, err := w.Env.Servers.Languages.Outline(t.Context(), file(t, w, "a.x"))
		if len(list) != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

// TestSymbolsWithoutARange: a symbol without a range is resolved, where the server does that, and
// one that cannot be keeps its file.
func TestSymbolsWithoutARange(t *testing.T) {
	bare := func(name string) is { return is{"name": name, "kind": 12, "location": is{"uri": "file:///w/" + name}} }
	whole := func(name string) is {
		return is{"name": name, "kind": 12, "location": is{"uri": "file:///w/" + name, "range": at(3, 0, 1)}}
	}
	for name, tt := range map[string]struct {
		can     any
		answer  []any
		resolve any
		asked   int
		want    []string
	}{
		"resolved":            {is{"resolveProvider": true}, []any{bare("a"), whole("b")}, whole("a"), 1, []string{"3:0-3:1", "3:0-3:1"}},
		"not offered":         {is{"resolveProvider": false}, []any{bare("a")}, whole("a"), 0, []string{"somewhere"}},
		"not at all":          {nil, []any{bare("a")}, whole("a"), 0, []string{"somewhere"}},
		"it says true":        {true, []any{bare("a")}, whole("a"), 0, []string{"somewhere"}},
		"an error":            {is{"resolveProvider": true}, []any{bare("a")}, fault("no"), 1, []string{"somewhere"}},
		"null":                {is{"resolveProvider": true}, []any{bare("a")}, nil, 1, []string{"somewhere"}},
		"no symbol among all": {is{"resolveProvider": true}, []any{7, is{"name": "c"}, bare("a")}, whole("a"), 1, []string{"3:0-3:1"}},
	} {
		s := &scripted{
			capabilities: is{"workspaceSymbolProvider": tt.can},
			answers:      map[string][]any{"workspace/symbol": {tt.answer}, "workspaceSymbol/resolve": {tt.resolve}},
		}
		w, _ := serving(t, s, nil)
		if _, err := w.Env.Servers.Languages.Outline(t.Context(), file(t, w, "a.x")); err != nil { // resolves nothing
			t.Fatal(err)
		}
		list, err := w.Env.Servers.Languages.Find(t.Context(), w.Path("a.x"), "a", false)
		var got []string
		for _, l := range list {
			got = append(got, spanText(l.Span))
		}
		if asked := len(s.said("workspaceSymbol/resolve")); err != nil || !slices.Equal(got, tt.want) || asked != tt.asked {
			t.Errorf("%s: %q, %v, resolved %d times", name, got, err, asked)
		}
	}
}

// TestActionsAreResolved: the action that is wanted gets its edit, where the server resolves
// actions; others, and those that have one or are a command, are left as they came. Repairs are
// asked for with the diagnostics of their range alone.
func TestActionsAreResolved(t *testing.T) {
	edit := is{"changes": is{"file:///w/a.x": []any{is{"range": at(0, 0, 1), "newText": "X"}}}}
	fix := is{"title": "fix", "kind": "quickfix"}
	with := is{"title": "fix", "kind": "quickfix", "edit": edit}
	command := is{"title": "fix", "command": is{"command": "c", "title": "t"}}
	can := is{"resolveProvider": true}
	for name, tt := range map[string]struct {
		can     any
		action  any
		title   string
		resolve any
		asked   int
		edits   int
		refused string
		err     string
	}{
		"resolved":             {can, fix, "fix", with, 1, 1, "", ""},
		"another one":          {can, fix, "other", with, 0, 0, "", ""},
		"none is wanted":       {can, fix, "", with, 0, 0, "", ""},
		"it has an edit":       {can, with, "fix", fix, 0, 1, "", ""},
		"not offered":          {is{"resolveProvider": false}, fix, "fix", with, 0, 0, "", ""},
		"it says true":         {true, fix, "fix", with, 0, 0, "", ""},
		"an error":             {can, fix, "fix", fault("no"), 1, 0, "", "cannot answer: no"},
		"a command's error":    {can, command, "fix", fault("no"), 1, 0, "it is the command c of the language server, which does not say what it changes", ""},
		"a command with edits": {can, command, "fix", is{"title": "fix", "command": is{"command": "c"}, "edit": edit}, 1, 1, "", ""},
		"a bare command":       {can, is{"title": "fix", "command": "c"}, "fix", with, 0, 0, "it is the command c of the language server, which does not say what it changes", ""},
		"disabled":             {can, is{"title": "fix", "disabled": is{"reason": "not here."}}, "", nil, 0, 0, "not here", ""},
		"disabled, no reason":  {can, is{"title": "fix", "disabled": is{"reason": ""}}, "", nil, 0, 0, "the language server does not say why", ""},
		"it makes a file": {
			can,
			is{"title": "fix", "edit": is{"documentChanges": []any{is{"kind": "create", "uri": "file:///w/b"}}}},
			"", nil, 0, 0,
			"it wants to create a file too", "",
		},
		"a null edit": {can, is{"title": "fix", "edit": nil}, "", nil, 0, 0, "", ""},
	} {
		s := &scripted{
			capabilities: is{"codeActionProvider": tt.can, "diagnosticProvider": is{}},
			answers: map[string][]any{
				"textDocument/codeAction": {[]any{tt.action, is{"kind": "no title"}}}, "codeAction/resolve": {tt.resolve},
				"textDocument/diagnostic": {is{"kind": "full", "items": []any{
					is{"range": at(0, 0, 2), "message": "in"},
					is{"range": at(1, 0, 2), "message": "below"},
					is{"range": at(0, 3, 4), "message": "touches"},
					is{"range": at(0, 4, 5), "message": "behind"},
					7,
				}}},
			},
		}
		w, _ := serving(t, s, map[string]string{"project": "", "a.x": "0123456789\n1\n"})
		list, err := w.Env.Servers.Languages.Actions(t.Context(), file(t, w, "a.x"), 0, 3, tt.title)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || len(list) != 1 || len(list[0].Edits) != tt.edits || list[0].Refused != tt.refused || len(s.said("codeAction/resolve")) != tt.asked {
			t.Errorf("%s: %+v, %v, resolved %d times", name, list, err, len(s.said("codeAction/resolve")))
		}
		asked := s.said("textDocument/codeAction")[0]
		for message, in := range map[string]bool{"in": true, "touches": true, "below": false, "behind": false} {
			if strings.Contains(asked, `"message":"`+message+`"`) != in {
				t.Errorf("%s: asked with %s", name, asked)
			}
		}
	}
}

// TestActionsWithPublishedFaults: where a server publishes diagnostics, repairs are asked for with
// those.
func TestActionsWithPublishedFaults(t *testing.T) {
	s := &scripted{}
	w, _ := serving(t, s, nil)
	ask := func() string {
		t.Helper()
		if _, err := w.Env.Servers.Languages.Actions(t.Context(), file(t, w, "a.x"), 0, 1, ""); err != nil {
			t.Fatal(err)
		}
		said := s.said("textDocument/codeAction")
		return said[len(said)-1]
	}
	if first := ask(); !strings.Contains(first, `"diagnostics":[]`) && !strings.Contains(first, `"diagnostics":null`) {
		t.Errorf("before any: %s", first)
	}
	s.notify(t, "textDocument/publishDiagnostics", is{"uri": fileuri.Of(w.Path("a.x")), "version": 1, "diagnostics": []any{is{"range": at(0, 0, 1), "message": "bad"}}})
	until(t, func() bool { return strings.Contains(ask(), `"message":"bad"`) })
}

// until waits for what a server's notification brings about.
func until(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); {
		if time.Now().After(end) {
			t.Fatal("it does not come")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestPublishedDiagnostics: published diagnostics are shown for the present text alone, also where
// those of all files are asked for. Diagnostics of an older text are left out, and a file whose
// diagnostics are still due is not called clean.
func TestPublishedDiagnostics(t *testing.T) {
	s := &scripted{}
	w, _ := serving(t, s, map[string]string{"project": "", "a.x": "a\n", "b.x": "b\n", "c.x": "c\n"})
	publish := func(name string, version int, items any) {
		t.Helper()
		p := is{"uri": fileuri.Of(w.Path(name)), "diagnostics": items}
		if version > 0 {
			p["version"] = version
		}
		s.notify(t, "textDocument/publishDiagnostics", p)
	}
	bad := func(message string) []any { return []any{is{"range": at(0, 0, 1), "message": message}} }
	glance := func() tools.Diagnosis {
		t.Helper()
		d, err := w.Env.Servers.Languages.Glance(t.Context(), file(t, w, "a.x"), time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if _, err := w.Env.Servers.Languages.Outline(t.Context(), file(t, w, "a.x")); err != nil {
		t.Fatal(err)
	}
	if d := glance(); d.Fresh || len(d.Findings) > 0 {
		t.Errorf("before it has published anything: %+v", d)
	}
	publish("a.x", 1, bad("old"))
	until(t, func() bool { d := glance(); return d.Fresh && len(d.Findings) == 1 && d.Findings[0].Message == "old" })
	w.Files.Put(w.Path("a.x"), "new\n", true)
	if d := glance(); d.Fresh || len(d.Findings) > 0 {
		t.Errorf("of an older text: %+v", d)
	}
	known := func() (out []string) {
		t.Helper()
		list, err := w.Env.Servers.Languages.Known(t.Context(), w.Root)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			out = append(out, fmt.Sprint(w.Env.Name(d.Path), " ", len(d.Findings)))
		}
		return out
	}
	if got := known(); !slices.Equal(got, []string{"a.x 0"}) { // still to be looked at
		t.Errorf("known %q", got)
	}
	publish("a.x", 2, []any{})
	publish("b.x", 0, append(bad("one"), bad("two")...))
	publish("c.x", 0, []any{})
	s.notify(t, "textDocument/publishDiagnostics", is{"uri": fileuri.Of(w.Path("d.x"))})
	s.notify(t, "textDocument/publishDiagnostics", is{"uri": "untitled:x", "diagnostics": bad("no file")})
	until(t, func() bool { return slices.Equal(known(), []string{"b.x 2"}) })
}

// TestKnownOfAll: what servers know of one file is joined, a clean file is not named, one that is
// being looked at is.
func TestKnownOfAll(t *testing.T) {
	bad := func(messages ...string) (out []any) {
		for _, m := range messages {
			out = append(out, is{"range": at(0, 0, 1), "message": m})
		}
		return out
	}
	raw, err := json.Marshal(is{"items": []any{
		is{"uri": "file:///w/b", "items": bad("1")},
		is{"uri": "file:///w/a", "items": bad("2", "3")},
		is{"uri": "file:///w/b", "items": bad("4")},
		is{"uri": "file:///w/clean", "items": []any{}},
		is{"uri": "file:///w/due", "items": []any{}, "pending": true},
		is{"uri": "x:y", "items": bad("5")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := languages.New(canned{result: raw}).Known(t.Context(), "/w")
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprint(d.Path, " ", len(d.Findings)))
	}
	if want := []string{"/w/a 2", "/w/b 2", "/w/due 0"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if _, err := languages.New(failing{}).Known(t.Context(), "/w"); err == nil {
		t.Error("an error of a server is no clean project")
	}
}

// failing is a Server that cannot answer.
type failing struct{}

func (failing) Serves(string) bool { return false }

func (failing) Ask(context.Context, languages.Request) ([]languages.Reply, error) {
	return nil, errors.New("broken")
}

// several is a Server whose replies are of several servers, one text each.
type several []languages.Reply

func (several) Serves(string) bool { return true }

func (s several) Ask(context.Context, languages.Request) ([]languages.Reply, error) { return s, nil }

// TestAnswersOfSeveralServers: places are the union, each once; of edits and symbols the first that
// has any counts.
func TestAnswersOfSeveralServers(t *testing.T) {
	reply := func(v any) languages.Reply {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return languages.Reply{Server: "s", Encoding: text.UTF16, Result: raw}
	}
	place := func(uri string, line int) is { return is{"uri": uri, "range": at(line, 0, 1)} }
	edits := func(name string) is {
		return is{"changes": is{"file:///w/" + name: []any{is{"range": at(0, 0, 1), "newText": name}}}}
	}
	format := func(s string) []any { return []any{is{"range": at(0, 0, 1), "newText": s}} }
	outline := func(name string) []any {
		return []any{is{"name": name, "kind": 1, "selectionRange": at(0, 0, 1), "children": []any{is{"name": "in " + name, "kind": 26, "selectionRange": at(0, 0, 1)}}}}
	}
	spot := tools.Spot{File: filetime.Snapshot{Path: "/w/a", Text: text.New("t\n")}}

	spans, err := languages.New(several{
		reply([]any{place("file:///w/b", 1), place("file:///w/a", 2), place("x:y", 1)}),
		reply([]any{place("file:///w/a", 2), place("file:///w/a", 1), place("x:z", 1), place("x:y", 1), place("file:///w/b", 1), 7}),
	}).Definition(t.Context(), spot)
	var got []string
	for _, s := range spans {
		got = append(got, fmt.Sprint(s.URI, s.Path, " ", s.Start.Line))
	}
	if want := []string{"/w/a 1", "/w/a 2", "/w/b 1", "x:y 1", "x:z 1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("places %q, %v", got, err)
	}

	renamed, err := languages.New(several{reply(nil), reply(edits("a")), reply(edits("b"))}).Rename(t.Context(), spot, "n")
	if err != nil || len(renamed) != 1 || renamed[0].Path != "/w/a" {
		t.Errorf("renamed %+v, %v", renamed, err)
	}
	formatted, err := languages.New(several{reply([]any{}), reply(format("a")), reply(format("b"))}).Format(t.Context(), spot.File)
	if err != nil || len(formatted) != 1 || formatted[0].Edits[0].New != "a" {
		t.Errorf("formatted %+v, %v", formatted, err)
	}
	nothing, err := languages.New(several{reply([]any{})}).Format(t.Context(), spot.File)
	if err != nil || len(nothing) != 0 {
		t.Errorf("formatted %+v, %v", nothing, err)
	}
	symbols, err := languages.New(several{reply([]any{}), reply(outline("a")), reply(outline("b"))}).Outline(t.Context(), spot.File)
	if err != nil || len(symbols) != 2 || symbols[0].Name != "a" || symbols[0].Depth != 0 || symbols[0].Kind != "file" || symbols[1].Depth != 1 || symbols[1].Kind != "type parameter" {
		t.Errorf("outline %+v, %v", symbols, err)
	}
	for n, want := range map[int]string{0: "symbol", 27: "symbol", -1: "symbol", 12: "function"} {
		one, err := languages.New(several{reply([]any{is{"name": "x", "kind": n, "selectionRange": at(0, 0, 1)}})}).Outline(t.Context(), spot.File)
		if err != nil || len(one) != 1 || one[0].Kind != want {
			t.Errorf("kind %d: %+v, %v", n, one, err)
		}
	}

	named := func(names ...string) (out []any) {
		for _, n := range names {
			out = append(out, is{"name": n, "kind": 12, "location": place("file:///w/a", 1)})
		}
		return out
	}
	found, err := languages.New(several{reply(named("other", "MyAddition", "ADD", "pkg.Add")), reply(named("Add"))}).Find(t.Context(), "/w", "Add", false)
	got = nil
	for _, s := range found {
		got = append(got, s.Name)
	}
	if want := []string{"pkg.Add", "Add", "ADD", "MyAddition", "other"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("found %q, %v", got, err)
	}
}

// TestIndentation: a formatter without settings of its own gets the indentation of the text.
func TestIndentation(t *testing.T) {
	for content, want := range map[string]string{
		"a\nb\n":                     `{"insertSpaces":true,"tabSize":4}`,
		"a\n\tb\n":                   `{"insertSpaces":false,"tabSize":4}`,
		"a\n  b\n    c\n":            `{"insertSpaces":true,"tabSize":2}`,
		"a\n    b\n        c\n":      `{"insertSpaces":true,"tabSize":4}`,
		"a\n\tb\n  c\n":              `{"insertSpaces":true,"tabSize":2}`,
		"a\n\tb\n\tb\n  c\n":         `{"insertSpaces":false,"tabSize":2}`,
		"/*\n * a\n * b\n*/\n\tb\n":  `{"insertSpaces":false,"tabSize":4}`,
		"a\n  \n      b\n":           `{"insertSpaces":true,"tabSize":6}`,
		"a\n                    b\n": `{"insertSpaces":true,"tabSize":8}`,
		"a\n  b\n  c\n\td\n\te\n\tf": `{"insertSpaces":false,"tabSize":2}`,
	} {
		s := &scripted{}
		w, _ := serving(t, s, map[string]string{"project": "", "a.x": content})
		if _, err := w.Env.Servers.Languages.Format(t.Context(), file(t, w, "a.x")); err != nil {
			t.Fatal(err)
		}
		var p struct{ Options map[string]any }
		if err := json.Unmarshal([]byte(s.said("textDocument/formatting")[0]), &p); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(p.Options); err != nil || string(got) != want {
			t.Errorf("%q: %s, %v, want %s", content, got, err, want)
		}
	}
}

// TestFreshness: who waits gets an answer about the present text, and who glances does not wait for
// what is not on its way.
func TestFreshness(t *testing.T) {
	one, older := int32(1), int32(0)
	items := func(message string) json.RawMessage {
		return json.RawMessage(`{"kind":"full","items":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"message":"` + message + `"}]}`)
	}
	snap := filetime.Snapshot{Path: "/w/a", Version: 1, Open: true}
	for name, tt := range map[string]struct {
		replies  several
		patience time.Duration
		fresh    bool
		findings int
	}{
		"the present text":             {several{{Version: &one, Result: items("a")}}, time.Millisecond, true, 1},
		"an older one":                 {several{{Version: &older, Result: items("a")}}, time.Millisecond, false, 0},
		"nobody knows which":           {several{{Result: items("a")}}, time.Millisecond, false, 0},
		"one knows, one does not":      {several{{Version: &one, Result: items("a")}, {Result: items("b")}}, time.Millisecond, true, 1},
		"one of two is late":           {several{{Version: &one, Result: items("a")}, {Version: &older, Result: items("b")}}, time.Millisecond, true, 1},
		"no report":                    {several{{Version: &one, Result: json.RawMessage("7")}}, time.Millisecond, true, 0},
		"all that is known, no waits":  {several{{Version: &older, Result: items("a")}, {Result: items("b")}}, 0, false, 2},
		"all that is known, and fresh": {several{{Version: &one, Result: items("a")}}, 0, true, 1},
		"known in part":                {several{{Version: &one, Result: items("a")}, {Result: items("b")}}, 0, false, 2},
	} {
		synctest.Test(t, func(t *testing.T) { // no processor is too busy for a millisecond here
			d, err := languages.New(tt.replies).Glance(t.Context(), snap, tt.patience)
			if err != nil || d.Fresh != tt.fresh || len(d.Findings) != tt.findings {
				t.Errorf("%s: %+v, %v", name, d, err)
			}
		})
	}
	// An answer that comes meanwhile is waited for.
	s := &turning{answers: []languages.Reply{{Version: &older, Result: items("old")}, {Version: &one, Result: items("new")}}}
	d, err := languages.New(s).Diagnose(t.Context(), snap)
	if err != nil || !d.Fresh || len(d.Findings) != 1 || d.Findings[0].Message != "new" {
		t.Errorf("%+v, %v", d, err)
	}
}

// turning is a Server that gives one answer after the other.
type turning struct{ answers []languages.Reply }

func (*turning) Serves(string) bool { return true }

func (s *turning) Ask(context.Context, languages.Request) ([]languages.Reply, error) {
	next := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	return []languages.Reply{next}, nil
}

// TestTypeScriptDiagnostics: the server of TypeScript is asked for both kinds of faults, whose
// places count from 1.
func TestTypeScriptDiagnostics(t *testing.T) {
	body := func(line, offset int, category, message string) is {
		return is{"body": []any{is{"start": is{"line": line, "offset": offset}, "end": is{"line": line, "offset": offset + 1}, "text": message, "category": category, "code": 1}}}
	}
	typescript := func(p *languages.Program) { p.TSServer = true }
	s := &scripted{answers: map[string][]any{"workspace/executeCommand": {body(1, 1, "error", "syntax"), body(2, 3, "suggestion", "meaning")}}}
	w, _ := serving(t, s, nil, typescript)
	d, err := w.Env.Servers.Languages.Diagnose(t.Context(), file(t, w, "a.x"))
	var got []string
	for _, f := range d.Findings {
		got = append(got, fmt.Sprintf("%s %s %s %s", spanText(f.Span), f.Severity, f.Source, f.Message))
	}
	if want := []string{"0:0-0:1 error typescript syntax", "1:2-1:3 hint typescript meaning"}; err != nil || !d.Fresh || !slices.Equal(got, want) {
		t.Errorf("%q, %v, %v", got, d.Fresh, err)
	}
	for name, answers := range map[string][]any{"an error": {fault("no")}, "no answer": {7}} {
		s := &scripted{answers: map[string][]any{"workspace/executeCommand": answers}}
		w, _ := serving(t, s, nil, typescript)
		if d, err := w.Env.Servers.Languages.Diagnose(t.Context(), file(t, w, "a.x")); err == nil {
			t.Errorf("%s is a clean file: %+v", name, d)
		}
	}
}

package lspserver_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"tandem/lspserver/conformance"
)

// plain is an editor without a plug-in, and what it has been told.
type plain struct {
	*rig
	mu       sync.Mutex
	messages []string
	logs     []string
	progress []string
	token    any // of the last progress
	asked    []string
}

// startPlain starts one whose person has a model that plays a script. capabilities may be nil.
func startPlain(t *testing.T, script, mode string, capabilities map[string]any, o conformance.Options) *plain {
	t.Helper()
	dir := folder(t)
	path, user := filepath.Join(dir, "script"), filepath.Join(dir, "config.json")
	put(t, path, script)
	put(t, user, fmt.Sprintf(`{"model": %q, "mode": %q}`, "script:"+path, mode))
	so := options(nil)
	so.Inputs.UserFile = user
	p := &plain{}
	o.Capabilities = map[string]any{"experimental": nil}
	maps.Copy(o.Capabilities, capabilities)
	o.Heard = func(method string, params json.RawMessage) {
		var said struct {
			Message string
			Token   any
			Value   struct{ Kind, Title, Message string }
		}
		_ = json.Unmarshal(params, &said)
		p.mu.Lock()
		defer p.mu.Unlock()
		switch method {
		case "window/showMessage":
			p.messages = append(p.messages, said.Message)
		case "window/logMessage":
			p.logs = append(p.logs, said.Message)
		case "$/progress":
			p.token = said.Token
			p.progress = append(p.progress, strings.TrimSpace(said.Value.Kind+" "+said.Value.Title+said.Value.Message))
		}
	}
	pick := o.Pick
	o.Pick = func(text string, actions []string) string {
		p.mu.Lock()
		p.asked = append(p.asked, text)
		p.mu.Unlock()
		if pick == nil {
			return ""
		}
		return pick(text, actions)
	}
	p.rig = start(t, o, so)
	return p
}

func (p *plain) list(of *[]string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(*of)
}

// said waits for the n-th message to the person.
func (p *plain) said(n int) string {
	p.t.Helper()
	until(p.t, fmt.Sprintf("message %d", n), patience, func() bool { return len(p.list(&p.messages)) >= n })
	return p.list(&p.messages)[n-1]
}

func (p *plain) execute(command string, arguments ...any) string {
	p.t.Helper()
	var out json.RawMessage
	p.ask("workspace/executeCommand", map[string]any{"command": command, "arguments": arguments}, &out)
	return string(out)
}

// lenses are the code lenses of a document.
func (p *plain) lenses(name string) string {
	p.t.Helper()
	var out json.RawMessage
	p.ask("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": p.URI(name)}}, &out)
	return string(out)
}

// actions are the code actions in a line.
func (p *plain) actions(name string, line int, diagnostics ...any) (out []struct {
	Title, Command string
	Arguments      []any
},
) {
	p.t.Helper()
	at := map[string]any{"line": line, "character": 0}
	p.ask("textDocument/codeAction", map[string]any{
		"textDocument": map[string]any{"uri": p.URI(name)}, "range": map[string]any{"start": at, "end": at},
		"context": map[string]any{"diagnostics": append([]any{}, diagnostics...)},
	}, &out)
	return out
}

// An editor that tells of its changes only when it has a request of its own, and so of none while it waits for the answer of a command: the
// command is answered before the change that it asks for, and then done.
func TestFaultL2CommandsAreAnsweredAtOnce(t *testing.T) {
	const before, after = "one\ntwo\nthree\nfour\nfive\n", "1\ntwo\n3\nfour\n5\n"
	const script = `call read_file {"path": "a.txt"}

call edit_file {"path": "a.txt", "old_text": "one", "new_text": "1"}
call edit_file {"path": "a.txt", "old_text": "three", "new_text": "3"}
call edit_file {"path": "a.txt", "old_text": "five", "new_text": "5"}

say Done.
`
	for command, c := range map[string]struct {
		one  bool // it is about one change
		want string
	}{
		"tandem.acceptHunk": {true, after},
		"tandem.rejectHunk": {true, "one\ntwo\n3\nfour\n5\n"},
		"tandem.acceptFile": {false, after},
		"tandem.rejectFile": {false, before},
		"tandem.acceptAll":  {false, after},
		"tandem.undoTurn":   {false, before},
	} {
		t.Run(command, func(t *testing.T) {
			p := startPlain(t, script, "acceptEdits", nil, conformance.Options{Hold: time.Hour, Merge: true})
			put(t, filepath.Join(p.root, "a.txt"), before)
			p.Open("a.txt")
			hunks := func() string { return p.lenses("a.txt") } // a request, so all is told of
			p.execute("tandem.ask", map[string]any{"uri": p.URI("a.txt"), "text": "make them numbers"})
			until(t, "the end of the turn", patience, func() bool { hunks(); return len(p.list(&p.messages)) > 0 })
			all := hunks()

			target := map[string]any{"uri": p.URI("a.txt")}
			if c.one {
				target["hunkId"] = "h1"
			}
			if got := p.execute(command, target); got != "null" {
				t.Errorf("answered %s", got)
			}
			until(t, "the change", patience, func() bool {
				text, _ := p.Text("a.txt")
				return hunks() != all && text == c.want
			})
			if left := hunks(); strings.Contains(left, `"h1"`) || c.one != strings.Contains(left, `"h2"`) {
				t.Errorf("waiting: %s", left)
			}
			if said := p.list(&p.messages)[1:]; len(said) > 0 {
				t.Errorf("said %q", said)
			}
			p.end()
		})
	}
}

const asks = "package calc\n\n// tandem: make it add\nfunc add(a, b int) int { return a - b }\n"

const fulfils = `call read_file {"path": "calc.go"}

call edit_file {"path": "calc.go", "old_text": "// tandem: make it add\nfunc add(a, b int) int { return a - b }", "new_text": "func add(a, b int) int { return a + b }"}

see /File edited|\[UNSUPPORTED\]/
say It adds now. And this is a long tail of words that nobody needs to read while they type, so that it is cut at some point.
`

// A comment is the prompt: its code action begins a turn, the edit lands in the open buffer, and the answer is shown in
// one line. It holds for each form in which a client can take edits; where it can take none, its document stays as it
// is.
func TestFindingL3L6L8L9ACommentBeginsATurn(t *testing.T) {
	for name, c := range map[string]struct {
		workspace map[string]any
		edited    bool
	}{
		"documentChanges":    {map[string]any{}, true},
		"resourceOperations": {map[string]any{"workspaceEdit": map[string]any{"documentChanges": nil}}, true},
		"changes":            {map[string]any{"workspaceEdit": nil}, true},
		"no applyEdit":       {map[string]any{"applyEdit": false, "workspaceEdit": nil}, false},
		"annotations":        {map[string]any{"workspaceEdit": map[string]any{"changeAnnotationSupport": map[string]any{}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPlain(t, fulfils, "ask", map[string]any{"workspace": c.workspace}, conformance.Options{
				Pick: func(string, []string) string { return "Allow once" },
			})
			path := p.write("calc.go", asks)
			if err := p.Open("calc.go"); err != nil {
				t.Fatal(err)
			}
			got := p.actions("calc.go", 2)
			if len(got) != 1 || got[0].Title != "Tandem: do what this comment says" || got[0].Command != "tandem.ask" {
				t.Fatalf("%+v", got)
			}
			if len(p.actions("calc.go", 3)) != 0 {
				t.Error("offered in a line that asks for nothing")
			}
			equal(t, "the answer", p.execute(got[0].Command, got[0].Arguments...), "null")
			n := 1
			if !c.edited { // that it takes no edits is said first
				n = 2
			}
			said := p.said(n)
			if !strings.HasPrefix(said, "Tandem: It adds now.") || utf8.RuneCountInString(said) > 100 || !strings.HasSuffix(said, "…") {
				t.Errorf("said %q", said)
			}
			if logs := p.list(&p.logs); !strings.Contains(logs[len(logs)-1], "at some point.") {
				t.Errorf("in full: %q", logs)
			}
			text, _ := p.Text("calc.go")
			disk, _ := os.ReadFile(path)
			want := asks
			if c.edited {
				want = "package calc\n\nfunc add(a, b int) int { return a + b }\n"
			}
			equal(t, "buffer", text, want)
			equal(t, "disk", string(disk), asks)
			questions := p.list(&p.asked)
			equal(t, "questions", len(questions), map[bool]int{true: 1, false: 1}[c.edited])
			told := ""
			until(t, "the end of the progress", patience, func() bool { // it begins once the editor has taken its token
				told = strings.Join(p.list(&p.progress), "; ")
				return strings.HasSuffix(told, "; end Done.")
			})
			if !strings.HasPrefix(told, "begin Tandem: make it add") || !strings.Contains(told, "Edit calc.go; ") {
				t.Errorf("progress: %s", told)
			}
			p.end()
		})
	}
}

// The diagnostics of a place are a prompt as well.
func TestFindingL9FixThis(t *testing.T) {
	p := startPlain(t, "see /Fix this problem: calc.go, line 4: wrong sign/\nsay Looked.\n", "ask", nil, conformance.Options{})
	p.write("calc.go", asks)
	if err := p.Open("calc.go"); err != nil {
		t.Fatal(err)
	}
	at := map[string]any{"line": 3, "character": 30}
	got := p.actions("calc.go", 3, map[string]any{"range": map[string]any{"start": at, "end": at}, "message": "wrong sign"})
	if len(got) != 1 || got[0].Title != "Tandem: fix this" {
		t.Fatalf("%+v", got)
	}
	p.execute(got[0].Command, got[0].Arguments...)
	equal(t, "said", p.said(1), "Tandem: Looked.")
	p.end()
}

// Without a workspace folder the document's folder is the session's: one for each folder, kept from prompt to prompt.
func TestFindingL7TheDocumentsFolder(t *testing.T) {
	script := "call list_files {}\n\nsee /one\\.txt/\nsay One.\n\nsee /the first(?s:.*)the second/\nsay Two.\n"
	p := startPlain(t, script, "ask", nil, conformance.Options{NoFolder: true})
	p.write("a/one.txt", "1\n")
	p.write("b/one.txt", "1\n")
	for _, name := range []string{"a/one.txt", "b/one.txt"} {
		if err := p.Open(name); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(name, text string) { p.execute("tandem.ask", map[string]any{"uri": p.URI(name), "text": text}) }
	ask("a/one.txt", "the first")
	equal(t, "the first", p.said(1), "Tandem: One.")
	ask("a/one.txt", "the second")
	equal(t, "the second", p.said(2), "Tandem: Two.")
	ask("b/one.txt", "the first") // its script begins anew
	equal(t, "elsewhere", p.said(3), "Tandem: One.")
	var list struct{ Sessions []struct{ Cwd string } }
	p.ask("tandem/session/list", map[string]any{}, &list)
	var folders []string
	for _, s := range list.Sessions {
		folders = append(folders, filepath.Base(s.Cwd))
	}
	slices.Sort(folders)
	sameList(t, "sessions", folders, "a", "b")
	p.end()
}

// What cannot be asked is refused, and what fails is said: a second prompt while one is answered, a model that is not
// there.
func TestFindingL9WhatFailsIsSaid(t *testing.T) {
	hold := make(chan struct{})
	p := startPlain(t, "call write_file {\"path\": \"new.txt\", \"content\": \"x\"}\n\nsay Done.\n", "ask", nil, conformance.Options{
		Pick: func(string, []string) string { <-hold; return "" },
	})
	p.write("a.txt", "1\n")
	if err := p.Open("a.txt"); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []any{
		map[string]any{"uri": "untitled:1", "text": "x"}, map[string]any{"uri": p.URI("a.txt"), "text": " "}, "x",
	} {
		if e := p.refused("workspace/executeCommand", map[string]any{"command": "tandem.ask", "arguments": []any{bad}}); e.Code != -32602 {
			t.Errorf("%v: %+v", bad, e)
		}
	}
	target := map[string]any{"uri": p.URI("a.txt"), "text": "go"}
	p.execute("tandem.ask", target)
	until(t, "the question", patience, func() bool { return len(p.list(&p.asked)) == 1 })
	p.execute("tandem.ask", target)
	equal(t, "busy", p.said(1), "Tandem: The session is answering another prompt.")
	close(hold)
	equal(t, "the turn goes on", p.said(2), "Tandem: Done.")
	p.end()

	p = startPlain(t, "", "ask", nil, conformance.Options{})
	put(t, filepath.Join(folder(t), "x"), "")
	p.execute("tandem.ask", map[string]any{"uri": p.URI("a.txt"), "text": "go"})
	if said := p.said(1); strings.Contains(said, "\n") || utf8.RuneCountInString(said) > 200 {
		t.Errorf("%q", said)
	}
	p.end()
}

// Helix lists the commands and runs them without arguments: each does what is natural, or says what to do.
func TestFindingL8CommandsWithoutArguments(t *testing.T) {
	p := startPlain(t, `call read_file {"path": "a.txt"}
call read_file {"path": "b.txt"}

call edit_file {"path": "a.txt", "old_text": "one", "new_text": "1"}
call edit_file {"path": "a.txt", "old_text": "four", "new_text": "4"}
call edit_file {"path": "b.txt", "old_text": "one", "new_text": "1"}

say Done.
`, "auto", nil, conformance.Options{})
	const text = "one\ntwo\nthree\nfour\n"
	for _, name := range []string{"a.txt", "b.txt"} {
		p.write(name, text)
		if err := p.Open(name); err != nil {
			t.Fatal(err)
		}
	}
	var init struct {
		Capabilities struct {
			ExecuteCommandProvider struct{ Commands []string }
		}
	}
	if err := json.Unmarshal(p.InitializeResult(), &init); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range init.Capabilities.ExecuteCommandProvider.Commands {
		if c == "tandem.acceptAll" {
			continue
		}
		n++
		equal(t, c+" with nothing to do", p.execute(c), "null")
		if said := p.said(n); utf8.RuneCountInString(said) > 100 {
			t.Errorf("%s: %q", c, said)
		}
	}
	p.execute("tandem.ask", map[string]any{"uri": p.URI("a.txt"), "text": "go"})
	n++
	equal(t, "the turn", p.said(n), "Tandem: Done.")
	equal(t, "three changes", p.execute("tandem.rejectHunk"), "null")
	n++
	equal(t, "three changes", p.said(n), "Tandem: 3 changes to review. Choose the code action on one of them.")
	equal(t, "two files", p.execute("tandem.acceptFile"), "null")
	n++
	equal(t, "two files", p.said(n), "Tandem: 2 files have changes to review. Choose a code action in one of them.")
	p.execute("tandem.rejectFile", map[string]any{"uri": p.URI("b.txt")})
	until(t, "nothing to review in b.txt", patience, func() bool { return p.lenses("b.txt") == "[]" })
	p.execute("tandem.acceptFile")
	until(t, "nothing to review in a.txt", patience, func() bool { return p.lenses("a.txt") == "[]" })
	p.execute("tandem.undoTurn")
	until(t, "the texts from before", patience, func() bool {
		a, _ := p.Text("a.txt")
		b, _ := p.Text("b.txt")
		return a == text && b == text
	})
	p.end()
}

// A key that is pressed keeps questions away, also over the wire.
func TestFindingL1NoQuestionAmongKeys(t *testing.T) {
	var at time.Time
	p := startPlain(t, "call write_file {\"path\": \"new.txt\", \"content\": \"x\"}\n\nsay Done.\n", "ask", nil, conformance.Options{
		Pick: func(_ string, actions []string) string { at = time.Now(); return actions[0] },
	})
	p.write("a.txt", "1\n")
	if err := p.Open("a.txt"); err != nil {
		t.Fatal(err)
	}
	if err := p.Change("a.txt", func(string) []conformance.Splice { return []conformance.Splice{{New: "k"}} }); err != nil {
		t.Fatal(err)
	}
	typed := time.Now()
	p.execute("tandem.ask", map[string]any{"uri": p.URI("a.txt"), "text": "go"})
	equal(t, "the answer", p.said(1), "Tandem: Done.")
	if at.Sub(typed) < 1400*time.Millisecond {
		t.Errorf("asked %v after a key", at.Sub(typed))
	}
	if _, err := os.Stat(p.Path("new.txt")); err == nil {
		t.Error("Enter has allowed it")
	}
	p.end()
}

// A person without a plug-in stops the agent by the progress that the editor shows, by a code action in any file, or by a command of their own;
// what is stopped says so, and nothing is offered once nothing runs.
func TestFaultL1StopWithoutAPlugIn(t *testing.T) {
	const script = "say Half.\nwait 10m\nsay Never.\n"
	for name, stop := range map[string]func(p *plain){
		"progress": func(p *plain) {
			p.mu.Lock()
			token := p.token
			p.mu.Unlock()
			p.Notify("window/workDoneProgress/cancel", map[string]any{"token": "tandem-none"})
			p.Notify("window/workDoneProgress/cancel", map[string]any{"token": token})
		},
		"action": func(p *plain) {
			for _, a := range p.actions("a.txt", 1) {
				if a.Title == "Tandem: stop the agent" {
					p.execute(a.Command, a.Arguments...)
					return
				}
			}
			p.t.Error("no code action stops it")
		},
		"command": func(p *plain) { p.execute("tandem.stop") },
		"stranger": func(p *plain) {
			if e := p.refused("workspace/executeCommand", map[string]any{"command": "tandem.stop", "arguments": []any{map[string]any{"sessionId": "s-none"}}}); e.Code != -32011 {
				p.t.Errorf("%+v", e)
			}
			p.execute("tandem.stop")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPlain(t, script, "auto", nil, conformance.Options{})
			p.write("a.txt", "one\ntwo\n")
			if err := p.Open("a.txt"); err != nil {
				t.Fatal(err)
			}
			if len(p.actions("a.txt", 1)) != 0 {
				t.Error("there is nothing to stop")
			}
			p.execute("tandem.ask", map[string]any{"uri": p.URI("a.txt"), "text": "Do it."})
			until(t, "the turn shows", patience, func() bool { return len(p.list(&p.progress)) > 0 })
			stop(p)
			if said := p.said(1); !strings.Contains(said, "ancelled") && !strings.Contains(said, "topped") {
				t.Errorf("a person is told %q", said)
			}
			until(t, "the end of the progress", patience, func() bool {
				told := p.list(&p.progress)
				return strings.HasPrefix(told[len(told)-1], "end ")
			})
			if len(p.actions("a.txt", 1)) != 0 {
				t.Error("a turn that is over can be stopped")
			}
			p.end()
		})
	}
}

// A person whose editor takes no edits is told which open file was not changed, once, whatever the model says.
func TestFaultL4EditorTakesNoEdits(t *testing.T) {
	read, edit := `call read_file {"path": "a.txt"}`+"\n\n", `call edit_file {"path": "a.txt", "old_text": "one", "new_text": "1"}`+"\n\n"
	p := startPlain(t, read+edit+edit+"say All done.\n", "auto", map[string]any{"workspace": map[string]any{"applyEdit": false}}, conformance.Options{})
	p.write("a.txt", "one\n")
	if err := p.Open("a.txt"); err != nil {
		t.Fatal(err)
	}
	p.execute("tandem.ask", map[string]any{"uri": p.URI("a.txt"), "text": "Do it."})
	if said := p.said(2); said != "Tandem: All done." {
		t.Errorf("in the end %q", said)
	}
	if said := p.said(1); !strings.Contains(said, "a.txt is open, and this editor takes no edits") {
		t.Errorf("a person is told %q", said)
	}
	p.disk("a.txt", "one\n")
	p.end()
}

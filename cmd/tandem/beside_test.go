package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tandem/lspserver/conformance"
)

// row is a file that a model has read and that somebody else changes before the model does.
type row struct {
	name   string
	begin  string // the file, ten lines where it is empty
	unread bool
	user   func(e *editor, path string)
	asked  bool // the change of the user's comes while the agent's waits for permission
	edit   [2]string
	write  string // all of the file instead
	err    string // the code of the refusal
	tells  string // what the refusal must show
	want   string // the file in the end
}

// F152, F186: whatever happens on disk between a model's reading of a file and its change, both changes are there in the
// end, or the model is told why not and the file is as the user left it.
func TestF152WhateverHappensOnDisk(t *testing.T) {
	const names = "one two three four five six seven eight nine ten"
	ten := strings.ReplaceAll(names, " ", "\n") + "\n"
	nine, neun := [2]string{"nine", "nine AGENT"}, [2]string{"nine", "neun"}
	now := func(more ...string) string { return strings.NewReplacer(more...).Replace(ten) }
	save := func(more ...string) func(*editor, string) {
		return func(e *editor, path string) { e.must(os.WriteFile(path, []byte(now(more...)), 0o644)) }
	}
	appended := func(e *editor, path string) {
		h, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		e.must(err)
		_, err = h.WriteString("eleven USER\n")
		e.must(err)
		e.must(h.Close())
	}
	stealthily := func(e *editor, path string) {
		info, err := os.Stat(path)
		e.must(err)
		save("two", "TWO")(e, path)
		e.must(os.Chtimes(path, info.ModTime(), info.ModTime()))
	}
	touch := func(e *editor, path string) {
		info, err := os.Stat(path)
		e.must(err)
		later := info.ModTime().Add(3e9)
		e.must(os.Chtimes(path, later, later))
	}
	agent := now("nine", "nine AGENT")
	rows := []row{
		{name: "nothing, edit", edit: nine, want: agent},
		{name: "nothing, write", write: agent, want: agent},
		{name: "another line, edit", user: save("two", "two USER"), edit: nine, want: now("two", "two USER", "nine", "nine AGENT")},
		{name: "another line, write", user: save("two", "two USER"), write: agent, want: now("two", "two USER", "nine", "nine AGENT")},
		{name: "another word of the line, edit", user: save("nine", "nine USER"), edit: [2]string{"nine", "AGENT nine"}, want: now("nine", "AGENT nine USER")},
		{name: "the same word, edit", user: save("nine", "nein USER"), edit: neun, err: "EDIT_CONFLICT", tells: "nein USER", want: now("nine", "nein USER")},
		{name: "the same word, write", user: save("nine", "nein USER"), write: now("nine", "neun"), err: "EDIT_CONFLICT", tells: "nein USER", want: now("nine", "nein USER")},
		{name: "the same line twice, edit", user: save("one", "nine\none"), edit: nine, want: "nine\n" + agent},
		{name: "a line more, edit", user: appended, edit: nine, want: agent + "eleven USER\n"},
		{name: "a line more, write", user: appended, write: agent, want: agent + "eleven USER\n"},
		{name: "unread, edit", unread: true, edit: nine, err: "NOT_READ", want: ten},
		{name: "unread, write", unread: true, write: agent, err: "NOT_READ", want: ten},
		{name: "a touch, edit", user: touch, edit: nine, want: agent},
		{name: "a touch, write", user: touch, write: agent, want: agent},
		{name: "same size and time, edit", user: stealthily, edit: nine, want: now("two", "TWO", "nine", "nine AGENT")},
		{name: "same size and time, write", user: stealthily, write: agent, want: now("two", "TWO", "nine", "nine AGENT")},
		{name: "saved by rename, edit", user: func(e *editor, path string) {
			save("two", "two USER")(e, path+".new")
			e.must(os.Rename(path+".new", path))
		}, edit: nine, want: now("two", "two USER", "nine", "nine AGENT")},
		{name: "deleted, edit", user: func(e *editor, path string) { e.must(os.Remove(path)) }, edit: nine, err: "READ_ERROR", want: "(none)"},
		{name: "deleted, write", user: func(e *editor, path string) { e.must(os.Remove(path)) }, write: agent, want: agent},
		{name: "deleted and back, edit", user: func(e *editor, path string) {
			e.must(os.Remove(path))
			save("two", "two USER")(e, path)
		}, edit: nine, want: now("two", "two USER", "nine", "nine AGENT")},
		{name: "a binary instead, edit", user: func(e *editor, path string) {
			e.must(os.WriteFile(path, []byte("\x7fELF\x00\x00nine\n"), 0o644))
		}, edit: nine, err: "BINARY_FILE", want: "\x7fELF\x00\x00nine\n"},
		{name: "a folder instead, edit", user: func(e *editor, path string) {
			e.must(os.Remove(path))
			e.must(os.Mkdir(path, 0o755))
		}, edit: nine, err: "IS_DIRECTORY", want: "(folder)"},
		{name: "its own command, edit", user: func(e *editor, path string) {
			e.tool(e.session("auto"), "bash", map[string]any{"command": "sed -i 's/two/two SED/' " + filepath.Base(path)})
		}, edit: nine, want: now("two", "two SED", "nine", "nine AGENT")},
		{name: "other line ends, edit", begin: strings.ReplaceAll(ten, "\n", "\r\n"), edit: [2]string{"eight\nnine", "eight\nnine AGENT\nmore"}, want: strings.ReplaceAll(now("nine", "nine AGENT\nmore"), "\n", "\r\n")},
		{name: "other line ends while it was away, edit", user: func(e *editor, path string) {
			e.must(os.WriteFile(path, []byte(strings.ReplaceAll(ten, "\n", "\r\n")), 0o644))
		}, edit: nine, want: strings.ReplaceAll(agent, "\n", "\r\n")},
		{name: "asked, another line, edit", asked: true, user: save("two", "two USER"), edit: nine, want: now("two", "two USER", "nine", "nine AGENT")},
		{name: "asked, a line more, write", asked: true, user: appended, write: agent, want: agent + "eleven USER\n"},
		{name: "asked, the same word, edit", asked: true, user: save("nine", "nein USER"), edit: neun, err: "EDIT_CONFLICT", tells: "nein USER", want: now("nine", "nein USER")},
		{name: "asked, deleted, edit", asked: true, user: func(e *editor, path string) { e.must(os.Remove(path)) }, edit: nine, err: "EDIT_CONFLICT", want: "(none)"},
	}
	var question func()
	e := run(t, nil, nil, "--stdio").editor(quick(t, conformance.Options{Ask: func(int, conformance.Ask) string {
		question()
		return "allow_once"
	}}))
	for i, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			path := e.Path(fmt.Sprintf("f%d.txt", i))
			begin := r.begin
			if begin == "" {
				begin = ten
			}
			e.must(os.WriteFile(path, []byte(begin), 0o640))
			mode := "auto"
			if r.asked {
				mode = "ask"
			}
			s := e.session(mode)
			if !r.unread {
				e.tool(s, "read_file", map[string]any{"path": path})
			}
			question = func() {}
			if r.asked {
				question = sync.OnceFunc(func() { r.user(e, path) })
			} else if r.user != nil {
				r.user(e, path)
			}
			call := map[string]any{"sessionId": s, "name": "edit_file", "arguments": map[string]any{
				"path": path, "old_text": r.edit[0], "new_text": r.edit[1],
			}}
			if r.write != "" {
				call["name"], call["arguments"] = "write_file", map[string]any{"path": path, "content": r.write}
			}
			var got struct {
				Success     bool
				Error, Data string
			}
			e.ask("tandem/tools/call", call, &got)
			if got.Error != r.err || got.Success != (r.err == "") || !strings.Contains(got.Data, r.tells) {
				t.Errorf("the call ended with %+v", got)
			}
			text := "(none)"
			if info, err := os.Lstat(path); err == nil && info.IsDir() {
				text = "(folder)"
			} else if err == nil {
				raw, err := os.ReadFile(path)
				e.must(err)
				text = string(raw)
			}
			if text != r.want {
				t.Errorf("the file is\n%q, want\n%q", text, r.want)
			}
		})
	}
	e.leaves()
}

// Eight edits of one file in one message all land; a link stays one, and the file behind it keeps its mode.
func TestF187EightAtOnce(t *testing.T) {
	e := run(t, nil, nil, "--stdio").editor(quick(t, conformance.Options{}))
	text, want := "", ""
	for i := range 8 {
		text += fmt.Sprintf("line %d;\n", i)
		want += fmt.Sprintf("line %d; edited\n", i)
	}
	e.must(os.WriteFile(e.Path("real"), []byte(text), 0o600))
	e.must(os.Chmod(e.Path("real"), 0o751))
	e.must(os.Symlink("real", e.Path("link")))
	s := e.session("auto")
	e.tool(s, "read_file", map[string]any{"path": "link"})
	var calls []any
	for i := range 8 {
		calls = append(calls, map[string]any{"name": "edit_file", "arguments": map[string]any{
			"path": []string{"link", "real"}[i%2], "old_text": fmt.Sprintf("line %d;", i), "new_text": fmt.Sprintf("line %d; edited", i),
		}})
	}
	e.ask("tandem/tools/batch", map[string]any{"sessionId": s, "calls": calls}, nil)
	raw, err := os.ReadFile(e.Path("real"))
	if err != nil || string(raw) != want {
		t.Errorf("%s %v", raw, err)
	}
	to, err := os.Readlink(e.Path("link"))
	info, errStat := os.Stat(e.Path("real"))
	if err != nil || errStat != nil || to != "real" || info.Mode() != 0o751 {
		t.Errorf("%s %v %v %v", to, info.Mode(), err, errStat)
	}
	e.leaves()
}

func (e *editor) must(err error) {
	e.p.t.Helper()
	if err != nil {
		e.p.t.Fatal(err)
	}
}

// TestCaseR07OneOfTwo lets two calls change the same text at the same time: one lands, the other is told of it, and the text is that
// of the one that landed. What does not touch the same text lands as well.
func TestCaseR07OneOfTwo(t *testing.T) {
	p := run(t, map[string]any{"requireRead": false}, nil, "--stdio")
	e := p.editor(quick(t, conformance.Options{}))
	s := e.session("auto")
	path := filepath.Join(p.root, "a.txt")
	for range 20 {
		if err := os.WriteFile(path, []byte("the text\nanother\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		e.tool(s, "read_file", map[string]any{"path": "a.txt"})
		var answers []func(context.Context) (json.RawMessage, error)
		for _, change := range [][2]string{{"the text", "mine"}, {"the text", "yours"}, {"another", "ours"}} {
			answers = append(answers, e.Begin("tandem/tools/call", map[string]any{
				"sessionId": s, "name": "edit_file", "arguments": map[string]any{"path": "a.txt", "old_text": change[0], "new_text": change[1]},
			}))
		}
		var landed []string
		for i, answer := range answers {
			var r struct {
				Success bool
				Error   string
			}
			raw, err := answer(e.ctx)
			if err != nil || json.Unmarshal(raw, &r) != nil {
				t.Fatalf("%s %v", raw, err)
			}
			switch {
			case r.Success:
				landed = append(landed, []string{"mine", "yours", "ours"}[i])
			case r.Error != "EDIT_CONFLICT" && r.Error != "TEXT_NOT_FOUND":
				t.Errorf("%s", raw)
			}
		}
		if text, err := os.ReadFile(path); err != nil || len(landed) != 2 || string(text) != strings.Join(landed, "\n")+"\n" {
			t.Errorf("%v landed, and the text is %q, %v", landed, text, err)
		}
	}
	e.leaves()
}

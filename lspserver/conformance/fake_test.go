package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"tandem/agent/model"
	"tandem/sandbox"
)

// fake is a server of few lines, for the tests of this package alone: it keeps the documents, plays turns with a naive
// edit_file and read_file, and asks for permission in mode ask. It does not rebase: a refused edit fails.
type fake struct {
	conn   *conn
	models model.Opener
	runner sandbox.Runner
	ended  chan int

	mu      sync.Mutex
	mode    string
	root    string
	texts   map[string]string
	version map[string]int32
	changes int // contentChanges seen
	notes   int // didChange seen
	narrow  int // ranges that do not begin with their line
	sorts   bool
	swapped int // changes that came before the one before
	early   map[int32][]contentChange
}

// serveFake is a Server.
func serveFake(_ context.Context, rwc io.ReadWriteCloser, models model.Opener, runner sandbox.Runner, _ []byte) int {
	return newFake(rwc, models, runner).wait()
}

func newFake(rwc io.ReadWriteCloser, models model.Opener, runner sandbox.Runner) *fake {
	f := &fake{
		models: models, runner: runner, ended: make(chan int, 1), texts: map[string]string{}, version: map[string]int32{},
		early: map[int32][]contentChange{},
	}
	f.conn = newConn(rwc, f.hear)
	f.conn.start()
	return f
}

func (f *fake) wait() int {
	f.conn.reading.Wait()
	f.conn.finish()
	select {
	case code := <-f.ended:
		return code
	default:
		return 1
	}
}

func (f *fake) text(uri string) (string, int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.texts[uri], f.version[uri]
}

func (f *fake) hear(m message) {
	var p struct {
		RootURI               string
		InitializationOptions struct{ Mode string }
		TextDocument          struct {
			URI     string
			Text    string
			Version int32
		}
		ContentChanges []contentChange
	}
	_ = json.Unmarshal(m.Params, &p)
	doc := p.TextDocument
	f.mu.Lock()
	switch m.Method {
	case "initialize":
		f.root = FromURI(p.RootURI)
		f.mode = p.InitializationOptions.Mode
		f.conn.reply(m.ID, map[string]any{"capabilities": map[string]any{}})
	case "shutdown":
		f.ended <- 0
		f.conn.reply(m.ID, nil)
	case "textDocument/didOpen":
		f.texts[doc.URI], f.version[doc.URI] = doc.Text, doc.Version
	case "textDocument/didClose":
		delete(f.texts, doc.URI)
	case "textDocument/didChange":
		f.notes++
		if f.sorts && doc.Version > f.version[doc.URI]+1 {
			f.early[doc.Version] = p.ContentChanges
			f.swapped++
			break
		}
		f.change(doc.URI, doc.Version, p.ContentChanges)
		for next := doc.Version + 1; f.early[next] != nil; next++ {
			f.change(doc.URI, next, f.early[next])
			delete(f.early, next)
		}
	case "tandem/session/new":
		f.conn.reply(m.ID, map[string]any{"sessionId": "s1"})
	case "tandem/session/prompt":
		go func() { f.conn.reply(m.ID, map[string]any{"stopReason": f.turn(), "turn": 1}) }()
	case "tandem/surprise":
		f.conn.notify("tandem/unheardOf", map[string]any{})
		f.conn.reply(m.ID, map[string]any{"id": "x", "durationMs": 12.5})
	default:
		if m.ID != nil {
			f.conn.fail(m.ID, -32601, "no such method: "+m.Method)
		}
	}
	f.mu.Unlock()
}

// change is one version of a document. The caller holds f.mu.
func (f *fake) change(uri string, version int32, changes []contentChange) {
	f.version[uri] = version
	for _, c := range changes {
		f.changes++
		text := f.texts[uri]
		if c.Range == nil {
			f.texts[uri] = c.Text
			continue
		}
		if c.Range.Start.Character > 0 {
			f.narrow++
		}
		start, ok := UTF16.Offset(text, c.Range.Start)
		end, too := UTF16.Offset(text, c.Range.End)
		if !ok || !too {
			panic(fmt.Sprintf("a change points nowhere: %+v in %q", *c.Range, text))
		}
		f.texts[uri] = text[:start] + c.Text + text[end:]
	}
}

func (f *fake) update(u map[string]any) {
	f.conn.notify("tandem/session/update", map[string]any{"sessionId": "s1", "update": u})
}

func (f *fake) turn() string {
	m, err := f.models.Open("")
	if err != nil {
		return "error"
	}
	var messages []model.Message
	for {
		said := model.Message{Role: model.Assistant}
		_, err := m.Stream(context.Background(), model.Request{Messages: messages}, func(d model.Delta) {
			if d.Text != "" {
				f.update(map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"text": d.Text}})
			}
			if c := d.Call; c != nil {
				if c.ID != "" {
					said.Calls = append(said.Calls, model.Call{ID: c.ID, Name: c.Name})
				}
				said.Calls[c.Index].Arguments += c.Arguments
			}
		})
		if err != nil {
			return "error"
		}
		if len(said.Calls) == 0 {
			return "end_turn"
		}
		messages = append(messages, said)
		for _, c := range said.Calls {
			messages = append(messages, model.Message{Role: model.Tool, CallID: c.ID, Text: f.call(c)})
		}
	}
}

func (f *fake) call(c model.Call) string {
	var a struct {
		Path    string
		OldText string `json:"old_text"`
		NewText string `json:"new_text"`
		Command string
	}
	_ = json.Unmarshal([]byte(c.Arguments), &a)
	code, said := "", ""
	tell := func(status, state string) {
		f.update(map[string]any{
			"sessionUpdate": "tool_call_update", "toolCallId": c.ID, "status": status,
			"_meta": map[string]any{"tandem": map[string]any{"state": state, "error": code}},
		})
	}
	tell("pending", "queued")
	if f.mode == "ask" {
		raw, err := f.conn.begin("tandem/session/requestPermission", map[string]any{
			"sessionId": "s1", "toolCall": map[string]any{"toolCallId": c.ID, "title": c.Name},
			"options": []any{map[string]any{"optionId": "allow_once"}, map[string]any{"optionId": "reject_once"}},
		})(context.Background())
		if err != nil || !strings.Contains(string(raw), "allow") {
			code = "GATE_DENIED"
		}
	}
	tell("in_progress", "executing")
	switch {
	case code != "":
	case c.Name == "read_file":
		said, _ = f.text(ToURI(a.Path))
	case c.Name == "bash":
		dir := sandbox.OpenFolder(f.root)
		defer dir.Close()
		out, err := sandbox.Run(context.Background(), f.runner, sandbox.Command{
			Argv: []string{"/bin/bash", "-c", a.Command}, Dir: dir, Profile: sandbox.Unconfined,
		})
		if said = out.Stdout; err != nil {
			code = "EXECUTION_ERROR"
		}
	case c.Name == "write_disk":
		if os.WriteFile(a.Path, []byte(a.NewText), 0o644) != nil {
			code = "WRITE_ERROR"
		}
	case c.Name == "edit_file":
		if !f.edit(ToURI(a.Path), a.OldText, a.NewText) {
			code = "EDIT_CONFLICT"
		}
	}
	status := "completed"
	if code != "" {
		status = "failed"
	}
	for _, state := range []string{"completed", "yielded"} {
		tell(status, state)
	}
	if code != "" {
		code = "[" + code + "] "
	}
	return code + said + "ok"
}

func (f *fake) edit(uri, old, text string) bool {
	now, version := f.text(uri)
	i := strings.Index(now, old)
	if i < 0 {
		return false
	}
	raw, err := f.conn.begin("workspace/applyEdit", map[string]any{"edit": map[string]any{"documentChanges": []any{
		map[string]any{
			"textDocument": map[string]any{"uri": uri, "version": version},
			"edits": []any{map[string]any{
				"range":   Range{UTF16.Position(now, i), UTF16.Position(now, i+len(old))},
				"newText": text,
			}},
		},
	}}})(context.Background())
	return err == nil && strings.Contains(string(raw), "true")
}

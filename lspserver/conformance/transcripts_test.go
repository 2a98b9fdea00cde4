package conformance

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/registry"
	"tandem/lspserver"
	"tandem/lspserver/backend"
	"tandem/lspserver/wire/wiretest"
	"tandem/tools/builtin"
)

// transcript is one file of editors/transcripts, which are described there.
type transcript struct {
	path    string
	archive *txtar.Archive
	plan    struct {
		Open  []string
		Steps []struct{ Prompt, Answer, CancelOn string }
	}
	wire   []passed
	expect []*item
}

// passed is a line of wire.jsonl.
type passed struct {
	Dir string  `json:"dir"`
	Msg message `json:"msg"`
}

func (t *transcript) section(name string) string {
	for _, f := range t.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func loadTranscript(t *testing.T, path string) *transcript {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := &transcript{path: path, archive: archive}
	if err := json.Unmarshal([]byte(out.section("in/plan.json")), &out.plan); err != nil {
		t.Fatalf("in/plan.json: %v", err)
	}
	if err := json.Unmarshal([]byte(out.section("expect.json")), &out.expect); err != nil {
		t.Fatalf("expect.json: %v", err)
	}
	for line := range strings.Lines(out.section("wire.jsonl")) {
		var p passed
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatalf("wire.jsonl: %v: %s", err, line)
		}
		out.wire = append(out.wire, p)
	}
	return out
}

// The recorded conversations are what the server says today, and this package's editor takes its part in them, as those
// of VS Code and Neovim do. "go test ./lspserver/conformance -run Transcripts -update" records anew what has changed.
func TestF243Transcripts(t *testing.T) {
	paths, err := filepath.Glob("../../editors/transcripts/*.txtar")
	if err != nil || len(paths) < 6 {
		t.Fatalf("%d transcripts: %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			tr := loadTranscript(t, path)
			now := tr.record(t)
			was, is := essence(tr.wire), essence(now)
			if *update && (was != is || said(tr.wire) != said(now) || shown(tr.expect) != shown(digest(now))) {
				tr.write(t, now)
				tr = loadTranscript(t, path)
			} else if was != is {
				t.Errorf("the server says something else today (- recorded, + now):\n%s", Diff(was, is))
			}
			tr.replay(t)
		})
	}
}

// A change of anything but times and the cutting of text into pieces is noticed.
func TestTranscriptsNoticeDrift(t *testing.T) {
	tr := loadTranscript(t, "../../editors/transcripts/edit.txtar")
	is := essence(tr.wire)
	for _, c := range []struct {
		old, new string
		same     bool
	}{
		{`"completed":`, `"completed":1`, true},
		{`"status":"completed"`, `"status":"done"`, false},
		{`"label":`, `"name":`, false},
		{`"additions":1`, `"additions":2`, false},
		{`"version":1`, `"version":2`, false},
		{`It subtracts.`, `It adds.`, false},
		{`"stopReason":"end_turn"`, `"stopReason":"end"`, false},
		{`tandem/changes/didChange`, `tandem/changes/changed`, false},
	} {
		changed := slices.Clone(tr.wire)
		found := false
		for i, p := range changed {
			line := jsonLine(t, p)
			raw := strings.ReplaceAll(line, c.old, c.new)
			found = found || raw != line
			changed[i] = passed{}
			if err := json.Unmarshal([]byte(raw), &changed[i]); err != nil {
				t.Fatal(err)
			}
		}
		if same := essence(changed) == is; same != c.same || !found {
			t.Errorf("%s for %s, which is there (%v): taken for the same: %v", c.new, c.old, found, same)
		}
	}
}

// converse has an editor do what the plan says, in a bubble, with serve at the other end. It gives what passed.
func (tr *transcript) converse(
	t *testing.T, root string, settings any, serve func(context.Context, io.ReadWriteCloser),
) (all []passed) {
	t.Helper()
	wiretest.Bubble(t, func(t *testing.T) {
		var e *Editor
		step, cancelled := 0, false
		client, server := Pipe(nil, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var served sync.WaitGroup
		served.Go(func() { serve(ctx, server) })
		e, err := Start(ctx, client, Options{
			Root: root, Settings: settings,
			Capabilities: map[string]any{"window": nil, "experimental": map[string]any{"tandem": map[string]any{"save": nil}}},
			Ask:          func(int, Ask) string { return tr.plan.Steps[step].Answer },
			Invoke: func(method string, _ json.RawMessage) (any, error) {
				if method != "tandem/session/clarify" {
					return nil, &RPCError{Code: -32601, Message: method}
				}
				return map[string]any{"answer": tr.plan.Steps[step].Answer}, nil
			},
			Heard: func(_ string, params json.RawMessage) {
				var p struct {
					SessionID string
					Update    sessionUpdate
				}
				_ = json.Unmarshal(params, &p) // what is no update has no state
				state := p.Update.Meta.Tandem.State
				if state != "" && state == tr.plan.Steps[step].CancelOn && !cancelled {
					cancelled = true
					e.Notify("tandem/session/cancel", map[string]any{"sessionId": p.SessionID})
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range tr.plan.Open {
			e.OpenUnsaved(name, tr.section("in/workspace/"+name))
		}
		var session struct{ SessionID string }
		answer, err := e.Request(ctx, "tandem/session/new", map[string]any{"cwd": root})
		if err == nil {
			err = json.Unmarshal(answer, &session)
		}
		for i, s := range tr.plan.Steps {
			step, cancelled = i, false
			if err == nil {
				_, err = e.Request(ctx, "tandem/session/prompt", map[string]any{
					"sessionId": session.SessionID, "prompt": []any{map[string]any{"type": "text", "text": s.Prompt}},
				})
			}
			synctest.Wait()
		}
		if err != nil {
			t.Error(err)
		}
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
		served.Wait()
		for _, v := range e.Violations() {
			t.Error(v)
		}
		all = settled(t, e.Wire(), root, session.SessionID)
	})
	return all
}

// record has the conversation with the real server.
func (tr *transcript) record(t *testing.T) []passed {
	t.Helper()
	home := root(t)
	workspace := filepath.Join(home, "workspace")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range tr.archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "in/"); ok {
			write(t, home, name, string(f.Data))
		}
	}
	settings := map[string]any{}
	if tr.section("in/model.script") != "" {
		settings["model"] = "script:" + filepath.Join(home, "model.script")
	}
	commands, err := NewCommands(tr.section("in/commands"), 1)
	if err != nil {
		t.Fatalf("in/commands:%v", err)
	}
	all := tr.converse(t, workspace, settings, func(ctx context.Context, rwc io.ReadWriteCloser) {
		code := lspserver.Serve(ctx, rwc, lspserver.Options{Version: "test", Options: backend.Options{
			Tools: builtin.Tools(), Runner: commands,
			Opener: func(c config.Config, lend model.Lend) model.Opener {
				return &registry.Registry{Editor: lend, Config: c, Getenv: func(string) string { return "" }}
			},
		}})
		if code != 0 {
			t.Errorf("the server ended with %d", code)
		}
		_ = rwc.Close()
	})
	for _, p := range commands.Problems() {
		t.Errorf("in/commands:%s", p)
	}
	return all
}

// replay has the conversation with the recorded messages in the server's place: the editor must say what is recorded,
// and what it hears must come to what expect.json says.
func (tr *transcript) replay(t *testing.T) {
	t.Helper()
	all := tr.converse(t, "/workspace", nil, func(_ context.Context, rwc io.ReadWriteCloser) {
		defer rwc.Close()
		r, framer := bufio.NewReader(rwc), &conn{}
		send := func(m message) {
			m.JSONRPC = "2.0"
			body := encode(m)
			fmt.Fprintf(rwc, "Content-Length: %d\r\n\r\n%s", len(body), body)
		}
		next := func() (m message, ok bool) {
			for {
				body, err := framer.frame(r)
				if err != nil || json.Unmarshal(body, &m) != nil {
					return m, false
				}
				if !noise.MatchString(m.Method) {
					return m, true
				}
				if m.ID != nil {
					send(message{ID: m.ID, Result: encode(nil)})
				}
				m = message{}
			}
		}
		for _, p := range tr.wire {
			if p.Dir == "<-" {
				send(p.Msg)
			} else if _, ok := next(); !ok {
				t.Errorf("the editor is gone, and should have said\n%s", jsonLine(t, p))
				return
			}
		}
		if m, more := next(); more {
			t.Errorf("the editor says more than was recorded: %s", encode(m))
		}
	})
	if was, is := said(tr.wire), said(all); was != is {
		t.Errorf("the editor says something else (- recorded, + now):\n%s", Diff(was, is))
	}
	if want, got := shown(tr.expect), shown(digest(all)); want != got {
		t.Errorf("it comes to something else (- expect.json, + now):\n%s", Diff(want, got))
	}
}

func (tr *transcript) write(t *testing.T, all []passed) {
	t.Helper()
	var b strings.Builder
	for _, p := range all {
		b.WriteString(jsonLine(t, p) + "\n")
	}
	for i, f := range tr.archive.Files {
		switch f.Name {
		case "wire.jsonl":
			tr.archive.Files[i].Data = []byte(b.String())
		case "expect.json":
			tr.archive.Files[i].Data = []byte(shown(digest(all)))
		}
	}
	if err := os.WriteFile(tr.path, txtar.Format(tr.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// noise is what has no part in a conversation.
var noise = regexp.MustCompile(
	`^(window/logMessage|workspace/configuration|\$/progress|tandem/fileTime|initialized|shutdown|exit)$`)

// settled takes out what is noise, and what is of one machine and one moment.
func settled(t *testing.T, wire []Wire, workspace, session string) (all []passed) {
	t.Helper()
	asked := map[string]bool{}
	names := strings.NewReplacer(cmp.Or(session, "session-1"), "session-1")
	if workspace != "/workspace" {
		names = strings.NewReplacer(
			workspace, "/workspace", filepath.Dir(workspace), "/home", cmp.Or(session, "session-1"), "session-1",
		)
	}
	for _, w := range wire {
		p := passed{Dir: "<-"}
		if w.ToServer {
			p.Dir = "->"
		}
		if err := json.Unmarshal([]byte(names.Replace(string(w.Raw))), &p.Msg); err != nil {
			t.Fatal(err)
		}
		// An answer is under the id that the other side chose.
		from := p.Dir + string(p.Msg.ID)
		if p.Msg.Method == "" {
			from = map[string]string{"->": "<-", "<-": "->"}[p.Dir] + string(p.Msg.ID)
		}
		if noise.MatchString(p.Msg.Method) {
			asked[from] = p.Msg.ID != nil
			continue
		}
		if p.Msg.Method == "" && asked[from] {
			continue
		}
		switch r := (struct{ Capabilities json.RawMessage }{}); {
		case p.Msg.Method == "initialize":
			p.Msg.Params = encode(map[string]any{"rootUri": ToURI("/workspace")})
		case p.Msg.Method == "" && json.Unmarshal(p.Msg.Result, &r) == nil && r.Capabilities != nil:
			p.Msg.Result = encode(map[string]any{})
		}
		all = append(all, p)
	}
	return all
}

// said is what the editor says, a line each.
func said(all []passed) string {
	var b strings.Builder
	for _, p := range all {
		var m any
		p.Msg.JSONRPC = "2.0"
		_ = json.Unmarshal(encode(p.Msg), &m) // it was read as a message before
		if p.Dir == "->" {
			b.Write(append(encode(m), '\n'))
		}
	}
	return b.String()
}

func jsonLine(t *testing.T, p passed) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	p.Msg.JSONRPC = "2.0"
	if err := enc.Encode(p); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.Replace(b.String(), `{"jsonrpc":"2.0",`, "{", 1), "\n")
}

// essence is what the server says, without times and without what is a matter of luck: how a text is cut into pieces,
// which of the calls that run together begins first, and how much of a call's arguments is shown as they are written.
func essence(all []passed) string {
	told := map[string][]string{}
	var text, kind string // of the chunks that are being gathered
	gathered := func() {
		if text != "" {
			told["chat"] = append(told["chat"], kind+": "+text)
		}
		text = ""
	}
	for _, p := range all {
		if p.Dir != "<-" {
			continue
		}
		var m struct {
			Params, Result, Error any
			ID                    any
		}
		_ = json.Unmarshal(encode(p.Msg), &m) // it was read as a message before
		params, _ := m.Params.(map[string]any)
		update, _ := params["update"].(map[string]any)
		what, _ := update["sessionUpdate"].(string)
		content, _ := update["content"].(map[string]any)
		if strings.HasSuffix(what, "_chunk") {
			if what != kind {
				gathered()
			}
			s, _ := content["text"].(string)
			kind, text = what, text+s
			continue
		}
		if meta, _ := update["_meta"].(map[string]any); meta != nil {
			about, _ := meta["tandem"].(map[string]any)
			if about["phase"] == "grouped" || about["partialInput"] != nil {
				continue
			}
			delete(about, "groupId")
		}
		key := "chat"
		for _, where := range []any{update, params["toolCall"], params["tandem"], params} {
			if in, ok := where.(map[string]any); ok {
				if id, ok := in["toolCallId"].(string); ok {
					key = id
					break
				}
			}
		}
		line := p.Msg.Method
		switch {
		case line == "":
			line = fmt.Sprintf("answer %v: %s", m.ID, encode(timeless(m.Result)))
			if m.Error != nil {
				line = fmt.Sprintf("answer %v: %s", m.ID, encode(m.Error))
			}
		case strings.HasPrefix(line, "tandem/changes/"):
			key = line
			fallthrough
		default:
			line += " " + string(encode(timeless(m.Params)))
		}
		if gathered(); what == "tool_call" {
			told["chat"] = append(told["chat"], key)
		}
		told[key] = append(told[key], line)
	}
	gathered()
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(told)) {
		fmt.Fprintf(&b, "%s\n\t%s\n", key, strings.Join(told[key], "\n\t"))
	}
	return b.String()
}

// timeless is a value of JSON without what was measured.
func timeless(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			if name == "at" || name == "durationMs" {
				delete(v, name)
			} else {
				v[name] = timeless(v[name])
			}
		}
	case []any:
		for i := range v {
			v[i] = timeless(v[i])
		}
	}
	return v
}

// item is an element of expect.json.
type item struct {
	Role   string `json:"role,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Ending string `json:"ending,omitempty"`
	Title  string `json:"title,omitempty"`
	Text   string `json:"text,omitempty"`
	Status string `json:"status,omitempty"`
}

// shown is expect.json, with a line for each item.
func shown(items []*item) string {
	var lines []string
	for _, i := range items {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(i) // it is made of text
		lines = append(lines, "  "+strings.TrimSuffix(b.String(), "\n"))
	}
	return "[\n" + strings.Join(lines, ",\n") + "\n]\n"
}

// digest is what a person is shown of a conversation, in the form of expect.json.
func digest(all []passed) (out []*item) {
	prompts, calls := map[string]bool{}, map[string]*item{}
	open := false // more of the last text may come
	add := func(i item) *item {
		open, out = false, append(out, &i)
		return &i
	}
	for _, p := range all {
		switch m := p.Msg; {
		case p.Dir == "->" && m.Method == "tandem/session/prompt":
			var q struct{ Prompt []struct{ Text string } }
			_ = json.Unmarshal(m.Params, &q) // the editor of the tests said it
			prompts[string(m.ID)] = true
			add(item{Role: "user", Text: q.Prompt[0].Text})
		case p.Dir == "<-" && m.Method == "" && prompts[string(m.ID)]:
			var r struct {
				StopReason string
				Error      struct{ Message string }
			}
			_ = json.Unmarshal(m.Result, &r) // without a reason the ending shows that
			for _, c := range calls {
				if c.Status == "pending" || c.Status == "in_progress" {
					c.Status = "failed"
				}
			}
			if last := out[len(out)-1]; last.Role == "notice" && last.Text == r.Error.Message {
				out = out[:len(out)-1] // it is said once
			}
			if open = false; r.StopReason != "end_turn" {
				add(item{Ending: cmp.Or(r.StopReason, "none")})
			}
		case p.Dir == "<-" && m.Method == "tandem/session/update":
			var u struct {
				Update struct {
					SessionUpdate, ToolCallID, Title, Status string
					Content                                  json.RawMessage
				}
			}
			_ = json.Unmarshal(m.Params, &u) // what cannot be read is not shown
			role := map[string]string{
				"user_message_chunk": "user", "agent_message_chunk": "agent", "agent_thought_chunk": "thought", "notice": "notice",
			}[u.Update.SessionUpdate]
			switch {
			case role == "notice" && chunk(u.Update.Content) == "": // it is for programs
			case role != "" && open && out[len(out)-1].Role == role:
				out[len(out)-1].Text += chunk(u.Update.Content)
			case role != "":
				add(item{Role: role, Text: chunk(u.Update.Content)})
				open = role != "notice"
			case u.Update.ToolCallID != "":
				c := calls[u.Update.ToolCallID]
				if c == nil {
					c = add(item{Tool: u.Update.ToolCallID})
					calls[c.Tool] = c
				}
				c.Title, c.Status = cmp.Or(u.Update.Title, c.Title), cmp.Or(u.Update.Status, c.Status)
			}
		}
	}
	return out
}

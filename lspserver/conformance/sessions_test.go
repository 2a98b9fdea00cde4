package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/agent/model"
	"tandem/lspserver/wire/wiretest"
)

// twenty is a model for many sessions at once: what it does next depends on nothing but the conversation that it is
// given, and it fails when that holds a word of another session.
type twenty struct {
	t *testing.T
	// refused is told of an edit of the shared file that did not land; nil where all must.
	refused func(who, why string)
}

func (m twenty) Name() string { return "script/twenty" }

func (m twenty) Names() []string { return []string{m.Name()} }
func (twenty) API(string) string { return "" }

func (m twenty) Open(string) (model.Model, error) { return m, nil }

func (m twenty) Stream(ctx context.Context, q model.Request, on func(model.Delta)) (model.Response, error) {
	var who, all strings.Builder
	done := 0
	for _, msg := range q.Messages {
		all.WriteString(msg.Text)
		switch msg.Role {
		case model.User:
			who.WriteString(strings.TrimPrefix(msg.Text, "I am "))
		case model.Tool:
			done++
			switch why, failed := strings.CutPrefix(msg.Text, "["); {
			case failed && done == 4 && m.refused != nil:
				m.refused(strings.TrimSpace(who.String()), why)
			case failed:
				m.t.Errorf("%s: call %d: %s", who.String(), done, msg.Text)
			}
		}
	}
	me := strings.TrimSpace(who.String())
	if n := strings.Count(all.String(), "secret of "); n != strings.Count(all.String(), "secret of "+me) {
		m.t.Errorf("%s was told what is another's:\n%s", me, all.String())
	}
	steps := []struct{ tool, path, old, text string }{
		{"read_file", me + ".txt", "", ""},
		{"edit_file", me + ".txt", "secret of " + me, "the secret of " + me},
		{"read_file", "shared.txt", "", ""},
		{"edit_file", "shared.txt", "line of " + me + ";", "edited by " + me + ";"},
		{"write_file", "new/" + me + ".txt", "", "secret of " + me + "\n"},
	}
	if done == len(steps) {
		on(model.Delta{Text: "Done, says " + me + "."})
		return model.Response{Stop: model.StopEnd}, nil
	}
	select {
	case <-time.After(time.Duration(len(me)+done) * time.Millisecond):
	case <-ctx.Done():
		return model.Response{}, ctx.Err()
	}
	st := steps[done]
	arguments := map[string]string{"path": st.path}
	switch st.tool {
	case "edit_file":
		arguments["old_text"], arguments["new_text"] = st.old, st.text
	case "write_file":
		arguments["content"] = st.text
	}
	on(model.Delta{Call: &model.CallDelta{ID: fmt.Sprintf("call_%d", done), Name: st.tool}})
	on(model.Delta{Call: &model.CallDelta{Arguments: string(encode(arguments))}})
	on(model.Delta{Call: &model.CallDelta{Done: true}})
	return model.Response{Stop: model.StopCalls}, nil
}

// Twenty sessions in one server, all at once, each with files of its own and all in one more that a person types into.
func TestTwentySessionsAtOnce(t *testing.T) {
	for _, profile := range []Profile{Strict, Race, Lying} {
		t.Run(string(profile), func(t *testing.T) {
			r := dice(t)
			dir := root(t)
			wiretest.Bubble(t, func(t *testing.T) {
				o := Options{Root: dir, Profile: profile}
				if !*unchecked { // one that never looks at a version misplaces repairs as often as edits at this speed
					o.Window = 2 * time.Millisecond
				}
				twentySessions(t, o, Human(r, 3*time.Millisecond))
			})
		})
	}
}

func twentySessions(t *testing.T, o Options, gap func() time.Duration) {
	const sessions = 20
	shared := ""
	for i := range sessions {
		shared += fmt.Sprintf("%d: line of s%02d;\n", i, i)
		write(t, o.Root, fmt.Sprintf("s%02d.txt", i), fmt.Sprintf("secret of s%02d\n", i))
	}
	write(t, o.Root, "shared.txt", shared)
	o.Settings = map[string]any{"mode": "auto"}
	var mu sync.Mutex
	heard, refused := map[string]string{}, map[string]string{}
	m := twenty{t: t}
	if o.Profile != Strict { // such an editor may not let an edit in for as long as is tried
		m.refused = func(who, why string) {
			mu.Lock()
			defer mu.Unlock()
			refused[who] = why
		}
	}
	o.Heard = func(_ string, params json.RawMessage) {
		var p struct {
			SessionID string
			Update    struct {
				SessionUpdate string
				Content       json.RawMessage
			}
		}
		if json.Unmarshal(params, &p) == nil && p.Update.SessionUpdate == "agent_message_chunk" {
			mu.Lock()
			heard[p.SessionID] += chunk(p.Update.Content)
			mu.Unlock()
		}
	}
	client, server := Pipe(Steady(2*time.Millisecond), Steady(2*time.Millisecond))
	exit := make(chan int, 1)
	go func() {
		exit <- serve(t.Context(), server, m, nil, nil)
		_ = server.Close()
	}()
	e, err := Start(t.Context(), client, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Open("shared.txt"); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	ids := make([]string, sessions)
	for i := range sessions {
		work.Go(func() {
			raw, err := e.Request(t.Context(), "tandem/session/new", map[string]any{"cwd": o.Root})
			var s struct{ SessionID string }
			if err != nil || json.Unmarshal(raw, &s) != nil {
				t.Errorf("session %d: %s %v", i, raw, err)
				return
			}
			ids[i] = s.SessionID
			end, err := e.Request(t.Context(), "tandem/session/prompt", map[string]any{
				"sessionId": s.SessionID, "prompt": []any{map[string]any{"type": "text", "text": fmt.Sprintf("I am s%02d", i)}},
			})
			if err != nil || !strings.Contains(string(end), `"end_turn"`) {
				t.Errorf("session %d ended with %s %v", i, end, err)
			}
		})
	}
	typed := 0
	p := Person{e, "shared.txt", gap}
	if _, err := p.Type(t.Context(), 100, func(text string) []Splice {
		typed++
		at := strings.Index(text, "\n") + 1
		return []Splice{{at, at, fmt.Sprintf("<%d>\n", typed)}}
	}); err != nil {
		t.Error(err)
	}
	work.Wait()
	time.Sleep(time.Second)
	got, _ := e.Text("shared.txt")
	for i := range sessions {
		me := fmt.Sprintf("s%02d", i)
		n, why := strings.Count(got, fmt.Sprintf("%d: edited by %s;\n", i, me)), refused[me]
		switch {
		case why == "" && n != 1, n > 1, n == 1 && !strings.HasPrefix(why, "UNKNOWN]") && why != "":
			t.Errorf("the edit by %s is there %d times; its model was told %.200q", me, n, why)
		case why != "" && !slices.ContainsFunc([]string{"UNKNOWN]", "TIMEOUT]", "EDIT_CONFLICT]"}, func(code string) bool {
			return strings.HasPrefix(why, code)
		}):
			t.Errorf("the edit by %s failed with %.200q", me, why)
		}
		if text, _ := e.Text(me + ".txt"); text != "the secret of "+me+"\n" {
			t.Errorf("%s.txt is %q", me, text)
		}
		if text, _ := e.Text("new/" + me + ".txt"); text != "secret of "+me+"\n" {
			t.Errorf("new/%s.txt is %q", me, text)
		}
		if want := "Done, says " + me + "."; heard[ids[i]] != want {
			t.Errorf("session %d said %q", i, heard[ids[i]])
		}
	}
	if len(refused) > sessions/4 {
		t.Errorf("%d of %d edits did not land: %v", len(refused), sessions, refused)
	}
	for k := 1; k <= typed; k++ {
		if strings.Count(got, fmt.Sprintf("<%d>\n", k)) != 1 {
			t.Errorf("what was typed as number %d is not there once", k)
		}
	}
	if lines := strings.Count(got, "\n"); lines != sessions+typed {
		t.Errorf("%d lines:\n%s", lines, got)
	}
	if v := e.Violations(); len(v) > 0 {
		t.Error(v)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if code := <-exit; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Damage on the wire reaches the whole server, not only its frames: it is answered or passed over, what is open stays
// right, and the next request is served.
func TestMalformedThroughServe(t *testing.T) {
	frame := func(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }
	rows := []struct{ name, in, answer string }{
		{"J01 no length", "Content-Type: x\r\n\r\n", ""},
		{"J01 letters", "Content-Length: abc\r\n\r\n", ""},
		{"J04 no JSON", frame("{abc}"), "-32700"},
		{"J05 depth", frame(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)), "-32700"},
		{"J07 batch", frame(`[{"jsonrpc":"2.0","id":1,"method":"tandem/status"}]`), "-32600"},
		{"J08 id", frame(`{"jsonrpc":"2.0","id":{},"method":"tandem/status"}`), "-32600"},
		{"J09 notification", frame(`{"jsonrpc":"2.0","method":"foo/bar"}`), ""},
		{"J09 second initialize", frame(`{"jsonrpc":"2.0","id":"again","method":"initialize","params":{}}`), "-32600"},
		{"params of didChange", frame(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":7}}`), ""},
		{"params of a request", frame(`{"jsonrpc":"2.0","id":"x","method":"tandem/session/prompt",` +
			`"params":{"sessionId":7}}`), "-32602"},
		{"cancel of nothing", frame(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":null}}`), ""},
		{"an answer to nothing", frame(`{"jsonrpc":"2.0","id":4711,"result":true}`), ""},
		{"change of what is closed", frame(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":` +
			`{"textDocument":{"uri":"file:///none","version":2},"contentChanges":[{"text":"x"}]}}`), ""},
		{"uri that is none", frame(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":` +
			`{"textDocument":{"uri":"untitled:1","languageId":"x","version":1,"text":"x"}}}`), ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := root(t)
			write(t, dir, "a.txt", "one\n")
			wiretest.Bubble(t, func(t *testing.T) {
				client, server := Pipe(nil, nil)
				exit := make(chan int, 1)
				go func() {
					exit <- serve(t.Context(), server, twenty{t: t}, nil, nil)
					_ = server.Close()
				}()
				e, err := Start(t.Context(), client, Options{Root: dir})
				if err != nil {
					t.Fatal(err)
				}
				if err := e.Open("a.txt"); err != nil {
					t.Fatal(err)
				}
				e.Raw([]byte(row.in))
				typeAt(t, e, "a.txt", 0, "zero\n")
				raw, err := e.Request(t.Context(), "tandem/session/new", map[string]any{"cwd": dir})
				var s struct{ SessionID string }
				if err != nil || json.Unmarshal(raw, &s) != nil {
					t.Fatalf("%s %v", raw, err)
				}
				raw, err = e.Request(t.Context(), "tandem/tools/call", map[string]any{
					"sessionId": s.SessionID, "name": "read_file", "arguments": map[string]any{"path": "a.txt"},
				})
				if err != nil || !strings.Contains(string(raw), `zero\n   2 | one`) {
					t.Errorf("%s %v", raw, err)
				}
				answered := ""
				for _, w := range e.Wire() {
					if !w.ToServer && strings.Contains(string(w.Raw), `"error"`) {
						answered += string(w.Raw)
					}
				}
				if (row.answer == "") != (answered == "") || !strings.Contains(answered, row.answer) {
					t.Errorf("answered %s, want %s", answered, row.answer)
				}
				if err := e.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if code := <-exit; code != 0 {
					t.Errorf("exit code %d", code)
				}
			})
		})
	}
}

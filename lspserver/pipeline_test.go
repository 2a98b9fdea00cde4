package lspserver_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"

	"tandem/lspserver/conformance"
	"tandem/lspserver/protocol"
)

// TestF225ProgressOfACommand sees in $/progress what a command prints, before it has ended: it ends only once that was seen.
func TestF225ProgressOfACommand(t *testing.T) {
	seen := make(chan struct{})
	var once sync.Once
	var mu sync.Mutex
	var kinds []string
	r := start(t, conformance.Options{Heard: func(method string, params json.RawMessage) {
		var p struct {
			Value struct{ Kind, Message string }
		}
		if method != "$/progress" || json.Unmarshal(params, &p) != nil {
			return
		}
		mu.Lock()
		kinds = append(kinds, p.Value.Kind)
		mu.Unlock()
		if strings.HasSuffix(p.Value.Message, ": half way") {
			once.Do(func() { close(seen) })
		}
	}}, options(nil))
	id := r.session(map[string]any{"model": r.script(
		`call bash {"command": "echo begun; printf 'half \\033[31mway\\n\\n'; while [ ! -e go ]; do sleep 0.05; done"}` + "\n\nsay Done.\n",
	)})
	answer := r.Begin("tandem/session/prompt", prompt(id, "go"))
	select {
	case <-seen:
	case <-r.ctx.Done():
		t.Error("no progress tells of what the command prints")
	}
	r.write("go", "")
	if raw, err := answer(r.ctx); err != nil || !strings.Contains(string(raw), `"end_turn"`) {
		t.Errorf("%s %v", raw, err)
	}
	until(t, "the end of the progress", patience, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return kinds[0] == "begin" && kinds[len(kinds)-1] == "end"
	})
	r.end()
}

// TestF052TheSameIssues: the result of a call, the update of a call and the message to the model have the same issues.
func TestF052TheSameIssues(t *testing.T) {
	const arguments = `{"path": 42, "lines": 3}`
	var mu sync.Mutex
	var told []protocol.Issue
	r := start(t, conformance.Options{Heard: func(method string, params json.RawMessage) {
		var u struct {
			Update struct {
				Meta struct{ Tandem protocol.UpdateMeta } `json:"_meta"`
			}
		}
		if method == "tandem/session/update" && json.Unmarshal(params, &u) == nil && u.Update.Meta.Tandem.Phase == "error" {
			mu.Lock()
			told = u.Update.Meta.Tandem.Issues
			mu.Unlock()
		}
	}}, options(nil))
	direct := r.session(nil)
	var want struct{ Issues []protocol.Issue }
	if err := json.Unmarshal([]byte(r.call(direct, "read_file", arguments).raw), &want); err != nil || len(want.Issues) != 2 {
		t.Fatalf("%+v %v", want, err)
	}
	see := ""
	for _, i := range want.Issues {
		see += "see /" + strings.NewReplacer("$", `\$`, ".", `\.`, "(", `\(`, ")", `\)`, "?", `\?`, "/", "").Replace(i.Message) + "/\n"
	}
	id := r.session(map[string]any{"model": r.script("call read_file " + arguments + "\n\n" + see + "say Done.\n")})
	if end := r.prompt(id, "go"); end.StopReason != "end_turn" {
		t.Errorf("the model did not read the issues: %+v", end)
	}
	mu.Lock()
	if !reflect.DeepEqual(told, want.Issues) {
		t.Errorf("the client was told of %+v, the result has %+v", told, want.Issues)
	}
	mu.Unlock()
	r.end()
}

// TestF226UsageOfTools counts calls, failures, time, bytes and tokens of each tool.
func TestF226UsageOfTools(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	r.write("a.txt", "one\n")
	id := r.session(nil)
	bytes := 0
	for range 3 {
		bytes += len(r.call(id, "read_file", `{"path":"a.txt"}`).Data)
	}
	bytes += len(r.call(id, "Read", `{"path":"none"}`).Data)
	r.call(id, "glob", `{"pattern":"*"}`)
	r.call(id, "frobnicate", `{}`)
	var status struct{ PerTool []protocol.ToolStats }
	r.ask("tandem/status", nil, &status)
	got := map[string]protocol.ToolStats{}
	for _, s := range status.PerTool {
		got[s.Name] = s
	}
	read := got["read_file"]
	if read.Calls != 4 || read.Errors != 1 || read.MS <= 0 || read.Bytes != int64(bytes) || read.Tokens != int64(bytes+3)/4 {
		t.Errorf("read_file: %+v, of %d bytes", read, bytes)
	}
	if len(got) != 3 || got["glob"].Calls != 1 || got["glob"].Errors != 0 || got["(unknown)"].Errors != 1 {
		t.Errorf("per tool: %+v", got)
	}
	r.end()
}

// TestF138InterruptOfACommand: a cancel ends a command; one that asked for it finishes first and its output is in the history; a second
// cancel ends that too.
func TestF138InterruptOfACommand(t *testing.T) {
	for _, c := range []struct {
		name, interrupt string
		cancels         int
		finishes        bool
	}{{"default", "", 1, false}, {"cancel", `, "interrupt": "cancel"`, 1, false}, {"block", `, "interrupt": "block"`, 1, true}, {"block, twice", `, "interrupt": "block"`, 2, false}} {
		t.Run(c.name, func(t *testing.T) {
			begun, waits := make(chan struct{}), make(chan struct{})
			begin, wait := sync.OnceFunc(func() { close(begun) }), sync.OnceFunc(func() { close(waits) })
			var mu sync.Mutex
			var output string
			r := start(t, conformance.Options{Settings: map[string]any{"limits": map[string]any{"killGraceMs": 100}}, Heard: func(method string, params json.RawMessage) {
				said := string(params)
				if method != "tandem/session/update" {
					return
				}
				if strings.Contains(said, `"output":"begun\n`) {
					begin()
				}
				if strings.Contains(said, "cancel once more to end it") {
					wait()
				}
				if strings.Contains(said, `"state":"completed"`) {
					mu.Lock()
					output = said
					mu.Unlock()
				}
			}}, options(nil))
			id := r.session(map[string]any{"model": r.script(
				`call bash {"command": "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo finished"` + c.interrupt + "}\n\nsay Done.\n",
			)})
			answer := r.Begin("tandem/session/prompt", prompt(id, "go"))
			<-begun
			r.Notify("tandem/session/cancel", map[string]any{"sessionId": id})
			if c.finishes || c.cancels > 1 {
				<-waits // it runs on
			}
			if c.cancels > 1 {
				r.Notify("tandem/session/cancel", map[string]any{"sessionId": id})
			} else if c.finishes {
				r.write("go", "")
			}
			raw, err := answer(r.ctx)
			if err != nil || !strings.Contains(string(raw), `"cancelled"`) {
				t.Errorf("%s %v", raw, err)
			}
			mu.Lock()
			if finished := strings.Contains(output, `finished`) && strings.Contains(output, `"status":"completed"`); finished != c.finishes {
				t.Errorf("the command finished: %v; %s", finished, output)
			}
			mu.Unlock()
			r.end()
		})
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tandem/agent/store"
	"tandem/lspserver/conformance"
)

// patience is far more than anything here takes, and ends a test that hangs.
const patience = 30 * time.Second

// shortly is what ought to take no time at all, on a machine that has much else to do.
const shortly = 15 * time.Second

// process is the program with pipes at both ends.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   *os.File // what it reads
	out  *os.File // what it prints
	root string
	err  bytes.Buffer
	// host makes the command one on another kind of host; nil is this one.
	host func(*exec.Cmd)
	env  []string
	life time.Duration // how long it may run; 0 is what ends a test that hangs

	mu    sync.Mutex
	heard bytes.Buffer // all that it printed

	ended chan struct{}
	at    time.Time
}

// run starts the program in a folder of its own, with a home of its own that config, if any, is the settings of.
func run(t *testing.T, config any, env []string, args ...string) *process {
	t.Helper()
	p := prepared(t, config)
	p.start(append(env, p.env...), args)
	return p
}

// prepared is what run starts.
func prepared(t *testing.T, config any) *process {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, root: filepath.Join(dir, "work")}
	home := filepath.Join(dir, "home")
	raw, err := json.Marshal(config)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Join(home, "tandem"), 0o700), os.Mkdir(p.root, 0o700))
	}
	if err == nil && config != nil {
		err = os.WriteFile(filepath.Join(home, "tandem", "config.json"), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home}
	return p
}

// another starts the program once more, in the same folder and with the same home.
func (p *process) another(args ...string) *process {
	p.t.Helper()
	q := &process{t: p.t, root: p.root}
	q.start(p.cmd.Env, args)
	return q
}

func (p *process) start(env, args []string) {
	t := p.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), max(p.life, 2*patience))
	t.Cleanup(cancel)
	p.ended = make(chan struct{})
	p.cmd = exec.CommandContext(ctx, program, args...)
	p.cmd.Dir, p.cmd.Env = p.root, env
	if p.host != nil {
		p.host(p.cmd)
	}
	p.cmd.Stderr = &p.err
	stdin, in, err1 := os.Pipe()
	out, stdout, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.in, p.out = stdin, stdout, in, out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = stdin.Close(), stdout.Close()
	go func() {
		_ = p.cmd.Wait() // its code is in the ProcessState
		p.at = time.Now()
		close(p.ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-p.ended
		_, _ = in.Close(), out.Close()
		if t.Failed() {
			t.Logf("standard error:\n%s", p.err.String())
		}
	})
}

func (p *process) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	p.mu.Lock()
	p.heard.Write(b[:n])
	p.mu.Unlock()
	return n, err
}

func (p *process) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close ends what the program reads. What it prints ends with itself.
func (p *process) Close() error { return p.in.Close() }

// ends wants the program to have ended with a code, not by a signal, within a time since began.
func (p *process) ends(code int, began time.Time, limit time.Duration) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatal("the program does not end")
	}
	if s := p.cmd.ProcessState; !s.Exited() || s.ExitCode() != code {
		p.t.Errorf("ended with %v, want exit code %d", s, code)
	}
	if took := p.at.Sub(began); took > limit {
		p.t.Errorf("the end took %v", took)
	}
}

// frames wants all that the program printed to be frames, and nothing else.
func (p *process) frames() (out []string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for br := bufio.NewReader(&p.heard); ; {
		if _, err := br.Peek(1); errors.Is(err, io.EOF) {
			return out
		}
		h, err := textproto.NewReader(br).ReadMIMEHeader()
		n, errN := strconv.Atoi(h.Get("Content-Length"))
		if err != nil || errN != nil || len(h) != 1 {
			p.t.Fatalf("no frame: %v %v", h, err)
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(br, body); err != nil || !json.Valid(body) {
			p.t.Fatalf("no frame: %s %v", body, err)
		}
		out = append(out, string(body))
	}
}

// editor connects an editor to the program.
func (p *process) editor(o conformance.Options) *editor {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), max(p.life, patience))
	p.t.Cleanup(cancel)
	o.Root = p.root
	e, err := conformance.Start(ctx, p, o)
	if err != nil {
		p.t.Fatal(err)
	}
	return &editor{e, p, ctx}
}

type editor struct {
	*conformance.Editor
	p   *process
	ctx context.Context
}

func (e *editor) ask(method string, params, out any) {
	e.p.t.Helper()
	raw, err := e.Request(e.ctx, method, params)
	if err == nil && out != nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		e.p.t.Fatalf("%s: %v %s", method, err, raw)
	}
}

func (e *editor) session(mode string) string {
	e.p.t.Helper()
	var s struct{ SessionID string }
	e.ask("tandem/session/new", map[string]any{"mode": mode}, &s)
	return s.SessionID
}

// leaves says goodbye in order.
func (e *editor) leaves() {
	e.p.t.Helper()
	began := time.Now()
	if err := e.Close(e.ctx); err != nil {
		e.p.t.Error("shutdown:", err)
	}
	e.p.ends(0, began, shortly)
	e.p.frames()
	for _, v := range e.Violations() {
		e.p.t.Error(v)
	}
}

// stubborn starts a command that is deaf to TERM, and gives its process and its child's.
func (e *editor) stubborn() (pids []int) {
	t := e.p.t
	t.Helper()
	e.Begin("tandem/tools/call", map[string]any{
		"sessionId": e.session("auto"), "name": "bash", "arguments": map[string]any{
			"command": `trap '' TERM; sleep 300 & echo $! $$ > pids.tmp; mv pids.tmp pids; while :; do wait; done`,
		},
	})
	var raw []byte
	until(t, "the command runs", func() (ok bool) {
		var err error
		raw, err = os.ReadFile(filepath.Join(e.p.root, "pids"))
		return err == nil
	})
	for _, f := range strings.Fields(string(raw)) {
		found := e.p.below(f)
		if len(found) != 1 {
			t.Fatalf("process %s is %v", f, found)
		}
		command, err := os.FindProcess(found[0])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = command.Kill() })
		pids = append(pids, found...)
	}
	if len(pids) != 2 {
		t.Fatalf("%q", raw)
	}
	return pids
}

// below gives the processes below the program that call themselves pid, as a command in a namespace of its own does.
func (p *process) below(pid string) (found []int) {
	parents, inside := map[int]int{}, map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, f := range files {
		text, _ := os.ReadFile(f)
		own, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		for line := range strings.Lines(string(text)) {
			switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name {
			case "PPid":
				parents[own], _ = strconv.Atoi(strings.TrimSpace(value))
			case "NSpid":
				all := strings.Fields(value)
				inside[own] = all[len(all)-1]
			}
		}
	}
	for own, name := range inside {
		for at := own; name == pid && at != 0; at = parents[at] {
			if at == p.cmd.Process.Pid {
				found = append(found, own)
			}
		}
	}
	return found
}

// gone wants processes to be dead, collected by whoever has to or not.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		until(t, fmt.Sprintf("process %d is gone", pid), func() bool { return over(pid) })
	}
}

// over says that a process has ended, whether or not anybody has asked how.
func over(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return store.Gone(pid) || err == nil && strings.Contains(string(stat), ") Z ")
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// service is a loopback service that speaks Chat Completions. talk is asked for the events of an answer by how many
// results of tools the request holds.
func service(t *testing.T, talk func(results int, send func(delta, finish string))) (config map[string]any) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer right" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error"}}`)
			return
		}
		var request struct {
			Model    string
			Stream   bool
			Messages []struct{ Role string }
			Tools    []struct{ Function struct{ Name string } }
		}
		err := json.NewDecoder(q.Body).Decode(&request)
		if err != nil || request.Model != "m" || !request.Stream || len(request.Tools) < 7 {
			t.Errorf("%s: %+v %v", q.URL, request, err)
		}
		results := 0
		for _, m := range request.Messages {
			if m.Role == "tool" {
				results++
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		talk(results, func(delta, finish string) {
			fmt.Fprintf(w, `data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":`+
				`[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
			w.(http.Flusher).Flush()
		})
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return map[string]any{"model": "mock/m", "providers": map[string]any{
		"mock": map[string]any{"api": "openai-chat", "baseUrl": s.URL + "/v1", "apiKeyEnv": "MOCK_KEY"},
	}}
}

// call is a tool call whose arguments come a few bytes at a time.
func call(send func(delta, finish string), name, arguments string) {
	send(fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_%s","type":"function","function":{"name":%q,"arguments":""}}]}`,
		name, name), "null")
	for len(arguments) > 0 {
		n := min(7, len(arguments))
		send(fmt.Sprintf(`{"tool_calls":[{"index":0,"function":{"arguments":%q}}]}`, arguments[:n]), "null")
		arguments = arguments[n:]
	}
	send(`{}`, `"tool_calls"`)
}

const calc = "package calc\n\n// Add adds.\nfunc Add(a, b int) int { return a - b }\n"

// The main job with the built program and a real API: an edit lands in a buffer that is typed into all the while, and is
// undone with the typing kept. The user's own file names the model.
func TestF157MainJobOverStdio(t *testing.T) {
	var keys atomic.Int32
	config := service(t, func(results int, send func(delta, finish string)) {
		switch results {
		case 0:
			send(`{"content":"Let me "}`, "null")
			send(`{"content":"look."}`, "null")
			call(send, "read_file", `{"path":"calc.go"}`)
		case 1:
			until(t, "the person has typed a while", func() bool { return keys.Load() > 20 })
			call(send, "edit_file", `{"path":"calc.go","old_text":"// Add adds.\nfunc Add(a, b int) int { return a - b }",`+
				`"new_text":"// Add adds.\nfunc Add(a, b int) int { return a + b }"}`)
		default:
			until(t, "the person goes on", func() bool { return keys.Load() > 50 })
			send(`{"content":"Mended."}`, "null")
			send(`{}`, `"stop"`)
		}
	})
	p := run(t, config, []string{"MOCK_KEY=right"}, "--stdio")
	path := filepath.Join(p.root, "calc.go")
	if err := os.WriteFile(path, []byte(calc), 0o600); err != nil {
		t.Fatal(err)
	}
	e := p.editor(conformance.Options{Profile: conformance.Race})
	if err := e.Open("calc.go"); err != nil {
		t.Fatal(err)
	}
	s := e.session("auto")
	turn := e.Begin("tandem/session/prompt", map[string]any{
		"sessionId": s, "prompt": []any{map[string]any{"type": "text", "text": "Add subtracts. Mend it."}},
	})
	const typed = "// A person writes here,\n// above and below,\n// at the same time.\n"
	caret := 0
	person := conformance.Person{Editor: e.Editor, File: "calc.go", Gap: func() time.Duration { return 3 * time.Millisecond }}
	if _, err := person.Type(e.ctx, len(typed), func(string) []conformance.Splice {
		at := len("package calc\n") + caret
		caret++
		keys.Add(1)
		return []conformance.Splice{{Start: at, End: at, New: typed[caret-1 : caret]}}
	}); err != nil {
		t.Fatal(err)
	}
	raw, err := turn(e.ctx)
	if err != nil || !strings.Contains(string(raw), `"end_turn"`) {
		t.Fatalf("%s %v", raw, err)
	}
	withTyping := strings.Replace(calc, "package calc\n", "package calc\n"+typed, 1)
	until(t, "the edit is in the text", func() bool { now, _ := e.Text("calc.go"); return strings.Contains(now, "a + b") })
	if now, _ := e.Text("calc.go"); now != strings.Replace(withTyping, "a - b", "a + b", 1) {
		t.Errorf("after the turn:\n%s", now)
	}
	var undone struct {
		Changed   []string
		Conflicts []any
	}
	e.ask("tandem/changes/undo", map[string]any{"sessionId": s, "scope": "turn"}, &undone)
	if now, _ := e.Text("calc.go"); now != withTyping || len(undone.Changed) != 1 || len(undone.Conflicts) != 0 {
		t.Errorf("after the undo: %+v\n%s", undone, now)
	}
	if disk, err := os.ReadFile(path); err != nil || string(disk) != calc {
		t.Errorf("an unsaved buffer went to disk: %s %v", disk, err)
	}
	e.leaves()
}

func TestRunAgainstAService(t *testing.T) {
	config := service(t, func(results int, send func(delta, finish string)) {
		if results == 0 {
			call(send, "write_file", `{"path":"made.txt","content":"made\n"}`)
			return
		}
		send(`{"content":"Made."}`, "null")
		send(`{}`, `"stop"`)
	})
	for _, c := range []struct {
		key  string
		code int
		out  string
		err  []string
	}{
		{"right", 0, "Made.\n", []string{"✓ Create made.txt", "Done. ("}},
		{"sk-wrong", 1, "", []string{"401", "MOCK_KEY"}},
	} {
		p := run(t, config, []string{"MOCK_KEY=" + c.key}, "--mode=auto", "run", "make it")
		_ = p.in.Close()
		out, err := io.ReadAll(p)
		p.ends(c.code, time.Now(), patience)
		if err != nil || string(out) != c.out {
			t.Errorf("%s: printed %q %v", c.key, out, err)
		}
		for _, want := range c.err {
			if !strings.Contains(p.err.String(), want) || strings.Contains(p.err.String(), "sk-wrong") {
				t.Errorf("%s: no %q in\n%s", c.key, want, p.err.String())
			}
		}
		made, err := os.ReadFile(filepath.Join(p.root, "made.txt"))
		if (c.code == 0) != (err == nil && string(made) == "made\n") {
			t.Errorf("%s: %q %v", c.key, made, err)
		}
	}
}

func TestRunIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("say Wait.\nwait 60s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := run(t, nil, nil, "--model=script:"+script, "run", "x")
	begun := make([]byte, len("Wait."))
	if _, err := io.ReadFull(p, begun); err != nil || string(begun) != "Wait." {
		t.Fatalf("%s %v", begun, err)
	}
	began := time.Now()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.ends(130, began, shortly)
}

func TestExitCodes(t *testing.T) {
	t.Run("shutdown", func(t *testing.T) {
		e := run(t, nil, nil, "serve", "--stdio").editor(conformance.Options{})
		running := e.stubborn()
		e.leaves()
		gone(t, running)
	})
	t.Run("end of input", func(t *testing.T) {
		p := run(t, nil, nil, "--stdio")
		e := p.editor(conformance.Options{})
		running := e.stubborn()
		began := time.Now()
		e.HangUp()
		p.ends(1, began, shortly)
		gone(t, running)
		p.frames()
	})
	t.Run("exit without shutdown", func(t *testing.T) {
		p := run(t, nil, nil, "--stdio")
		e := p.editor(conformance.Options{})
		began := time.Now()
		e.Notify("exit", nil)
		p.ends(1, began, shortly)
	})
	t.Run("TERM", func(t *testing.T) {
		p := run(t, nil, nil, "--stdio")
		e := p.editor(conformance.Options{})
		running := e.stubborn()
		began := time.Now()
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		p.ends(1, began, shortly)
		gone(t, running)
	})
	t.Run("the editor's process dies", func(t *testing.T) {
		other := exec.Command("sleep", "300")
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		p := run(t, nil, nil, "--stdio")
		e := p.editor(conformance.Options{ProcessID: other.Process.Pid})
		running := e.stubborn()
		began := time.Now()
		_, _ = other.Process.Kill(), other.Wait()
		p.ends(1, began, shortly) // though its input is open
		gone(t, running)
		p.frames()
	})
	t.Run("nobody reads", func(t *testing.T) {
		p := run(t, nil, nil, "--stdio")
		e := p.editor(conformance.Options{})
		running := e.stubborn()
		began := time.Now()
		_ = p.out.Close()
		for i := range 3 { // the first answer may still have gone into the pipe
			_, _ = p.Write([]byte(frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tandem/status"}`, 9000+i))))
		}
		p.ends(1, began, shortly)
		gone(t, running)
	})
}

func frame(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

// Damage on standard input is answered or logged, never printed, and the next request is served.
func TestDamageOverStdio(t *testing.T) {
	p := run(t, nil, nil, "--stdio")
	e := p.editor(conformance.Options{})
	for _, damage := range []string{
		"hello\r\n\r\n", "Content-Length: -1\r\n\r\n", "Content-Length: 99999999999999999999\r\n\r\n", frame("{"), frame("[]"),
		"Content-Length: 1000000000\r\n\r\n{", frame(strings.Repeat("[", 20_000)), strings.Repeat("x", 1<<20) + "\r\n\r\n",
	} {
		e.Raw([]byte(damage))
		var status struct{ Version string }
		e.ask("tandem/status", map[string]any{}, &status)
		if status.Version == "" {
			t.Errorf("%.30q: %+v", damage, status)
		}
	}
	if err := e.Close(e.ctx); err != nil {
		t.Error(err)
	}
	p.ends(0, time.Now(), shortly)
	refused := 0
	for _, f := range p.frames() {
		if strings.Contains(f, "-32700") || strings.Contains(f, "-32600") {
			refused++
		}
	}
	if refused != 4 {
		t.Errorf("%d were answered", refused)
	}
	if !strings.Contains(p.err.String(), "level=WARN") {
		t.Errorf("nothing was logged: %s", p.err.String())
	}
}

// A command that the agent runs is not told the keys of models.
func TestKeysStayHere(t *testing.T) {
	config := service(t, func(int, func(delta, finish string)) { t.Error("no model is asked") })
	p := run(t, config, []string{"MOCK_KEY=right", "OPENAI_API_KEY=other", "LANG=C.UTF-8"}, "--stdio")
	e := p.editor(conformance.Options{})
	var r struct {
		Success bool
		Result  struct{ Stdout string }
	}
	e.ask("tandem/tools/call", map[string]any{
		"sessionId": e.session("auto"), "name": "bash", "arguments": map[string]any{"command": "env"},
	}, &r)
	if !r.Success || !strings.Contains(r.Result.Stdout, "LANG=C.UTF-8") ||
		strings.Contains(r.Result.Stdout, "MOCK_KEY") || strings.Contains(r.Result.Stdout, "API_KEY") {
		t.Errorf("%+v", r)
	}
	e.leaves()
}

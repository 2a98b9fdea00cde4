package lspserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/lspserver"
	"tandem/lspserver/conformance"
	jsonrpc "tandem/lspserver/wire"
)

var (
	soak     = flag.Duration("soak", 4*time.Second, "how long TestSoak goes on")
	soakSeed = flag.Uint64("soakseed", uint64(time.Now().UnixNano()), "what TestSoak begins with")
)

// soakScripts are what models say in a soak; FILE is one of the workspace.
var soakScripts = []string{
	"think Let me see.\nsay Hello.\nwait 20ms\nsay More.\n\nsay Again.\n",
	"call read_file {\"path\":\"FILE\"}\n\ncall edit_file {\"path\":\"FILE\",\"old_text\":\"mark\",\"new_text\":\"marked\"}\n\nsay Done.\n\n" +
		"call read_file {\"path\":\"FILE\"}\n\ncall edit_file {\"path\":\"FILE\",\"old_text\":\"marked\",\"new_text\":\"mark\"}\n\nsay Undone.\n",
	"call bash {\"command\":\"sleep 30 & sleep 30\"}\nwait 10s\n\nsay Slept.\n",
	"call bash {\"command\":\"trap '' TERM; for i in 1 2 3; do echo $i; sleep 0.02; done\"}\ncall grep {\"pattern\":\"mark\"}\n" +
		"call glob {\"pattern\":\"**/*.txt\"}\n\nsay Found.\n",
	"call write_file {\"path\":\"new/made.txt\",\"content\":\"one\\ntwo\\n\"}\n\nsay Made.\n\ncall delete_file {\"path\":\"new/made.txt\"}\n\nsay Gone.\n",
	"say Wait.\nwait 10s\nsay Never.\n",
	"stop error\n",
	"call nothing {\"at\":1}\n\nsay So what.\n",
}

// soaker is one soak.
type soaker struct {
	t       *testing.T
	rnd     func(n int) int
	options lspserver.Options
	scripts []string // models
	roots   []string
	texts   string // what a file says at the beginning

	actions, turns, connections, kills atomic.Int64
}

// Editors come and go, at random and several at once: sessions are begun, steered, cancelled, loaded and forgotten,
// files are edited by both sides, commands are killed under the hands of the agent, connections are cut. One more
// editor stays all the time. After each round nothing may be left of it: no goroutine, no descriptor, no process, no
// memory.
func TestSoak(t *testing.T) {
	seed := *soakSeed
	t.Logf("-soakseed=%d", seed)
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, 0))
	s := &soaker{t: t, rnd: func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return source.IntN(n)
	}}
	s.texts = strings.Repeat("a line of the file\n", 50) + "mark\n" + strings.Repeat("another line\n", 50)
	db := filepath.Join(folder(t), "sessions.db")
	s.options = options(nil)
	s.options.Store = func(config.Config) (store.Store, error) {
		return store.Open(db, store.Options{Quota: 16 << 20})
	}
	scripts := folder(t)
	for i, text := range soakScripts {
		path := filepath.Join(scripts, strconv.Itoa(i))
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "FILE", "a.txt")), 0o600); err != nil {
			t.Fatal(err)
		}
		s.scripts = append(s.scripts, "script:"+path)
	}
	for range 3 {
		s.roots = append(s.roots, folder(t))
	}
	round := min(max(*soak/5, 800*time.Millisecond), 10*time.Second)
	stays := s.stay()
	var first, last sample
	end := time.Now().Add(*soak)
	for n := 0; n < 5 || time.Now().Before(end); n++ {
		var editors sync.WaitGroup
		until := time.Now().Add(round)
		for i := range s.roots {
			editors.Go(func() {
				for time.Now().Before(until) && !t.Failed() {
					s.visit(s.roots[i], until)
				}
			})
		}
		editors.Go(func() { s.resident(stays, until) })
		editors.Wait()
		if t.Failed() {
			break
		}
		last = s.measure(first)
		t.Logf("round %d: %v", n+1, last)
		if n == 1 { // what is made once has been made
			first = last
		}
	}
	if !t.Failed() {
		first.same(t, last)
	}
	stays.Close()
	t.Logf("%v: %d connections, %d turns, %d actions, %d processes killed", *soak, s.connections.Load(), s.turns.Load(), s.actions.Load(), s.kills.Load())
}

// sample is what the process has.
type sample struct{ goroutines, descriptors, children, heap int }

func (s sample) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %d processes, %.1f MB", s.goroutines, s.descriptors, s.children, float64(s.heap)/(1<<20))
}

// measure waits until no more is left than there was or, at first, until it stays the same.
func (s *soaker) measure(before sample) (now sample) {
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		earlier := now
		commands.Close()
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			s.t.Skip("there is no /proc:", err)
		}
		now = sample{runtime.NumGoroutine(), len(files), len(children(os.Getpid())), int(live())}
		if before == (sample{}) {
			before = earlier
		}
		if time.Now().After(limit) || now.goroutines <= before.goroutines && now.descriptors <= before.descriptors && now.children == 0 {
			return now
		}
	}
}

// same wants nothing to have grown. A little of memory is taken by tables that keep their size and by the histories of
// files, and SQLite keeps a few descriptors for the next connection, as long as another one of the process has the file
// open.
func (first sample) same(t *testing.T, last sample) {
	const (
		spare   = 6
		history = 16 << 20 // of the files that stay open; it has a limit
	)
	t.Helper()
	if last.goroutines > first.goroutines || last.descriptors > first.descriptors+spare || last.children > 0 || last.heap > first.heap*5/4+history {
		t.Errorf("at first %v, in the end %v", first, last)
		if last.goroutines > first.goroutines {
			buf := make([]byte, 1<<20)
			t.Logf("%s", buf[:runtime.Stack(buf, true)])
		}
	}
}

// children are the processes that a process has started and their children.
func children(pid int) (out []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		raw, _ := os.ReadFile(task) // a thread may be gone
		for _, f := range strings.Fields(string(raw)) {
			if n, err := strconv.Atoi(f); err == nil {
				out = append(append(out, n), children(n)...)
			}
		}
	}
	return out
}

// stay connects an editor that keeps nothing of what it is told.
func (s *soaker) stay() *jsonrpc.Conn {
	client, server := conformance.Pipe(nil, nil)
	go lspserver.Serve(context.Background(), server, s.options)
	c := jsonrpc.Serve(context.Background(), client, jsonrpc.NewRouter(), jsonrpc.Options{Client: true})
	params := map[string]any{"rootUri": conformance.ToURI(s.roots[0]), "capabilities": map[string]any{}}
	if err := c.Call(s.t.Context(), "initialize", params, nil); err != nil {
		s.t.Fatal(err)
	}
	if err := c.Notify(s.t.Context(), "initialized", map[string]any{}); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// resident is a round of the editor that stays.
func (s *soaker) resident(c *jsonrpc.Conn, until time.Time) {
	call := func(method string, params map[string]any, out any) {
		ctx, cancel := context.WithTimeout(s.t.Context(), patience)
		defer cancel()
		err := c.Call(ctx, method, params, out)
		var e *jsonrpc.Error
		busy := errors.As(err, &e) && (e.Code == -32012 || e.Name == "no_turn")
		if err != nil && !busy {
			s.t.Errorf("%s: %v", method, err)
		}
		s.actions.Add(1)
	}
	for n := 0; time.Now().Before(until) && !s.t.Failed(); n++ {
		var se struct {
			SessionID string `json:"sessionId"`
		}
		call("tandem/session/new", map[string]any{"mode": "auto", "model": s.scripts[s.rnd(2)]}, &se)
		var turns sync.WaitGroup
		for range 2 {
			turns.Go(func() { call("tandem/session/prompt", prompt(se.SessionID, "go"), nil) })
			time.Sleep(time.Duration(s.rnd(20)) * time.Millisecond)
		}
		call("tandem/session/steer", prompt(se.SessionID, "and then"), nil)
		call("tandem/changes/list", map[string]any{"sessionId": se.SessionID}, nil)
		call("tandem/status", nil, nil)
		turns.Wait()
		call("tandem/session/delete", map[string]any{"sessionId": se.SessionID}, nil)
		s.turns.Add(2)
	}
}

// visit is one connection from its beginning to its end, which is not always a polite one.
func (s *soaker) visit(root string, until time.Time) {
	s.connections.Add(1)
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(s.texts), 0o600); err != nil {
			s.t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, server := conformance.Pipe(nil, nil)
	exit := make(chan int, 1)
	go func() {
		code := lspserver.Serve(context.Background(), server, s.options)
		_ = server.Close()
		exit <- code
	}()
	profiles := []conformance.Profile{conformance.Strict, conformance.Race, conformance.Lying}
	e, err := conformance.Start(ctx, client, conformance.Options{
		Root: root, Profile: profiles[s.rnd(len(profiles))],
		Ask: func(int, conformance.Ask) string {
			time.Sleep(time.Duration(s.rnd(10)) * time.Millisecond)
			return []string{"allow_once", "allow_once", "reject_once", "cancelled"}[s.rnd(4)]
		},
	})
	if err != nil {
		s.t.Error(err)
		return
	}
	v := &visit{s: s, e: e, ctx: ctx}
	v.session()
	for n := 10 + s.rnd(60); n > 0 && time.Now().Before(until) && !s.t.Failed(); n-- {
		v.act()
		s.actions.Add(1)
		time.Sleep(time.Duration(s.rnd(20)) * time.Millisecond)
	}
	polite := s.rnd(3) > 0
	if polite {
		if err := e.Close(ctx); err != nil {
			s.t.Error("shutdown:", err)
		}
	} else {
		e.HangUp()
	}
	select {
	case code := <-exit:
		if polite && code != 0 {
			s.t.Errorf("exit code %d", code)
		}
	case <-time.After(patience):
		s.t.Error("a server does not end")
	}
	v.turns.Wait()
	for _, violation := range e.Violations() {
		// Damage is answered without an id, and an edit may cross the opening of its document.
		if !strings.Contains(violation, `"id":null`) && !strings.HasPrefix(violation, "no version for ") {
			s.t.Error(violation)
		}
	}
}

// visit is one editor and its sessions.
type visit struct {
	s        *soaker
	e        *conformance.Editor
	ctx      context.Context
	sessions []string
	turns    sync.WaitGroup
}

func (v *visit) pick() string {
	if len(v.sessions) == 0 {
		return "s-none"
	}
	return v.sessions[v.s.rnd(len(v.sessions))]
}

// ask sends a request. Being refused is part of it, as is the end of the connection; a fault or no answer is not.
func (v *visit) ask(method string, params, out any) {
	raw, err := v.e.Request(v.ctx, method, params)
	var refused *conformance.RPCError
	switch {
	case errors.As(err, &refused) && refused.Code != jsonrpc.CodeInternal:
	case err != nil:
		v.s.t.Errorf("%s: %v", method, err)
	case out != nil:
		if err := json.Unmarshal(raw, out); err != nil {
			v.s.t.Error(err)
		}
	}
}

func (v *visit) session() {
	var se struct{ SessionID string }
	v.ask("tandem/session/new", map[string]any{
		"mode": []string{"ask", "auto"}[v.s.rnd(2)], "model": v.s.scripts[v.s.rnd(len(v.s.scripts))],
	}, &se)
	if se.SessionID != "" {
		v.sessions = append(v.sessions, se.SessionID)
	}
}

// act does something.
func (v *visit) act() {
	file := []string{"a.txt", "b.txt", "new/made.txt"}[v.s.rnd(3)]
	id := map[string]any{"sessionId": v.pick()}
	tool := func(name, args string) {
		v.ask("tandem/tools/call", map[string]any{"sessionId": v.pick(), "name": name, "arguments": json.RawMessage(args)}, nil)
	}
	switch v.s.rnd(26) {
	case 0:
		v.session()
	case 1, 2, 3, 4:
		wait := v.e.Begin("tandem/session/prompt", prompt(v.pick(), "Go on."))
		v.s.turns.Add(1)
		v.turns.Go(func() {
			raw, err := wait(v.ctx)
			var refused *conformance.RPCError
			if v.ctx.Err() != nil || errors.As(err, &refused) && refused.Code == jsonrpc.CodeInternal {
				v.s.t.Errorf("a turn: %s %v", raw, err)
			}
		})
	case 5, 6:
		v.ask("tandem/session/steer", prompt(v.pick(), "By the way."), nil)
	case 7, 8:
		v.e.Notify("tandem/session/cancel", id)
	case 9, 10:
		_ = v.e.Open(file) // it may be gone, or open
	case 11:
		_ = v.e.CloseFile(file)
	case 12, 13, 14:
		_ = v.e.Change(file, func(text string) []conformance.Splice {
			at := v.s.rnd(len(text) + 1)
			return []conformance.Splice{{Start: at, End: at, New: "typed"}}
		})
	case 15:
		_ = v.e.Save(file)
	case 16:
		_ = v.e.Undo(file)
	case 17:
		tool("read_file", `{"path":"a.txt"}`)
	case 18:
		tool("grep", `{"pattern":"line"}`)
	case 19:
		tool("bash", `{"command":"sleep 0.05; echo x"}`)
	case 20:
		v.ask("tandem/changes/"+[]string{"list", "accept", "reject"}[v.s.rnd(3)], id, nil)
	case 21:
		v.ask("tandem/changes/undo", map[string]any{"sessionId": v.pick(), "scope": "session"}, nil)
	case 22:
		var all struct{ Sessions []struct{ SessionID string } }
		v.ask("tandem/session/list", map[string]any{"cwd": v.e.Path("")}, &all)
		if n := len(all.Sessions); n > 0 {
			load := all.Sessions[v.s.rnd(n)].SessionID
			v.ask("tandem/session/load", map[string]any{"sessionId": load}, nil)
		}
	case 23:
		v.ask("tandem/session/"+[]string{"close", "delete"}[v.s.rnd(2)], id, nil)
	case 24:
		v.e.Raw([]byte([]string{
			"Content-Length: -1\r\n\r\n", frame("{]"), frame("[]"), frame(`{"jsonrpc":"2.0","id":{},"method":"x"}`), "garbage\r\n\r\n",
			frame(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"x","version":"y"},"contentChanges":7}}`),
		}[v.s.rnd(6)]))
	case 25:
		if all := children(os.Getpid()); len(all) > 0 {
			if p, err := os.FindProcess(all[v.s.rnd(len(all))]); err == nil {
				_ = p.Kill() // it may be gone by itself
			}
			v.s.kills.Add(1)
		}
	}
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/lspserver/conformance"
	"tandem/lspserver/wire/wiretest"
)

var (
	edits = flag.Int("edits", 200, "how many edits two processes make of the same files")
	kills = flag.Int("kills", 24, "how often a server is killed that writes")
)

// besides is what another program does that works on the same file: this test's own binary, by the environment. A line
// more every 2 ms, until its input ends; then it says how many there were.
func besides(way, path string) error {
	end := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(end)
	}()
	var kept *os.File
	if way == "kept open" {
		var err error
		if kept, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0); err != nil {
			return err
		}
	}
	every := 2 * time.Millisecond
	if wiretest.Raced() { // the server takes longer to look than the other program to write
		every *= 10
	}
	tick := time.NewTicker(every)
	fmt.Println("begun")
	for n := 0; ; n++ {
		select {
		case <-end:
			fmt.Println(n)
			return nil
		case <-tick.C:
		}
		line := fmt.Sprintf("typed %d;\n", n)
		var err error
		switch way {
		case "append":
			var f *os.File
			if f, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0); err == nil {
				_, err = f.WriteString(line)
				err = errors.Join(err, f.Close())
			}
		case "kept open":
			_, err = kept.WriteString(line)
		case "rename":
			var raw []byte
			if raw, err = os.ReadFile(path); err == nil {
				err = os.WriteFile(path+".new", append(raw, line...), 0o644)
			}
			if err == nil {
				err = os.Rename(path+".new", path)
			}
		}
		if err != nil {
			return err
		}
	}
}

// other is another program, until it is stopped.
type other struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Closer
	out io.Reader
}

func beside(t *testing.T, way, path string) *other {
	t.Helper()
	o := &other{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0])}
	o.cmd.Env = append(os.Environ(), "TANDEM_TEST_BESIDE="+way, "TANDEM_TEST_PATH="+path)
	o.cmd.Stderr = os.Stderr
	in, err1 := o.cmd.StdinPipe()
	out, err2 := o.cmd.StdoutPipe()
	if err := errors.Join(err1, err2, o.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	o.in, o.out = in, out
	if _, err := io.ReadFull(out, make([]byte, len("begun\n"))); err != nil {
		t.Fatal(err)
	}
	return o
}

// stop ends it and gives the number of its lines.
func (o *other) stop() int {
	o.t.Helper()
	_ = o.in.Close()
	raw, err := io.ReadAll(o.out)
	n, errN := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err := errors.Join(err, errN, o.cmd.Wait()); err != nil {
		o.t.Fatal(err)
	}
	return n
}

// play plays a model's script to its end, in as many turns as that takes.
func (e *editor) play(session string) {
	e.p.t.Helper()
	for {
		var r struct{ StopReason string }
		e.ask("tandem/session/prompt", map[string]any{
			"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": "Go on."}},
		}, &r)
		switch r.StopReason {
		case "max_turn_requests":
		case "end_turn":
			return
		default:
			e.p.t.Errorf("the turn ended with %s", r.StopReason)
			return
		}
	}
}

// script writes what a model says and does, a message each.
func script(t *testing.T, messages ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte(strings.Join(messages, "\n\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func editCall(path, from, to string) string {
	return fmt.Sprintf(`call edit_file {"path":%q,"old_text":%q,"new_text":%q}`, path, from, to)
}

// F152: another program writes a line more every 2 ms while the agent makes 20 edits of the same file.
func TestF152RaceWithAnotherProgram(t *testing.T) {
	for _, way := range []string{"append", "rename", "kept open"} {
		t.Run(way, func(t *testing.T) {
			n := 20
			if wiretest.Raced() {
				n = 5
			}
			lines := "begin\n"
			messages := []string{`call read_file {"path":"a.txt"}`}
			for i := range n {
				lines += fmt.Sprintf("line %d; todo\n", i)
				messages = append(messages, editCall("a.txt", fmt.Sprintf("line %d; todo", i), fmt.Sprintf("line %d; done", i)))
			}
			p := run(t, map[string]any{"model": "script:" + script(t, append(messages, "say Done.")...)}, nil, "--stdio")
			heard := newNews()
			e := p.editor(quick(t, conformance.Options{Heard: heard.hear}))
			path := e.Path("a.txt")
			if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
				t.Fatal(err)
			}
			s := e.session("auto")
			o := beside(t, way, path)
			began := time.Now()
			e.play(s)
			took := time.Since(began)
			typed := o.stop()
			// What the other program did last may only now be brought together with the edits.
			got := map[string]int{}
			var raw []byte
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				left, err := os.ReadDir(p.root)
				e.must(err)
				raw, err = os.ReadFile(path)
				e.must(err)
				clear(got)
				for line := range strings.Lines(string(raw)) {
					got[line]++
				}
				if len(left) == 1 && len(got) == 1+n+typed && strings.Count(string(raw), "; done\n") == n {
					break
				}
			}
			e.leaves()
			applied, lost, twice := 0, 0, 0
			for i := range n {
				switch done, todo := got[fmt.Sprintf("line %d; done\n", i)], got[fmt.Sprintf("line %d; todo\n", i)]; {
				case done == 1 && todo == 0:
					applied++
				case done+todo != 1:
					t.Errorf("line %d: %d times done, %d times to do", i, done, todo)
				}
			}
			for i := range typed {
				switch n := got[fmt.Sprintf("typed %d;\n", i)]; {
				case n == 0:
					lost++
				case n > 1:
					twice++
				}
			}
			t.Logf("applied %d of %d, typed %d, lost %d, twice %d, %d ms", applied, n, typed, lost, twice, took.Milliseconds())
			if ended := heard.counts(); ended["completed"] != n+1 {
				t.Errorf("the calls ended with %v", ended)
			}
			if applied != n || lost != 0 || twice != 0 || len(got) != 1+n+typed {
				t.Errorf("not everything is there once:\n%s", raw)
			}
		})
	}
}

// counts is how the calls ended.
func (n *news) counts() map[string]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := map[string]int{}
	for _, how := range n.ended {
		out[how]++
	}
	return out
}

// F241: two processes edit the same files, each for a model of its own that knows nothing of the other: each edit lands
// exactly once. The second time they have nothing in common but the files.
func TestF241TwoProcesses(t *testing.T) {
	for _, apart := range []bool{false, true} {
		t.Run(fmt.Sprintf("apart=%v", apart), func(t *testing.T) {
			total := *edits
			if wiretest.Raced() || apart {
				total /= 2
			}
			twoProcesses(t, total, apart)
		})
	}
}

func twoProcesses(t *testing.T, total int, apart bool) {
	const files = 20
	name := func(i int) string { return fmt.Sprintf("f%02d.txt", i%files) }
	texts := make([]string, files)
	var models [2][]string
	for m := range models {
		for i := range files {
			models[m] = append(models[m], fmt.Sprintf(`call read_file {"path":%q}`, name(i)))
		}
		models[m] = []string{strings.Join(models[m], "\n")}
	}
	order := rand.Perm(total)
	for i := range total {
		texts[i%files] += fmt.Sprintf("<%d> \n", i)
	}
	for k := 0; k < total; {
		m := rand.IntN(2)
		var message []string
		for range 1 + rand.IntN(4) { // calls of different files run together
			if k < total {
				i := order[k]
				message = append(message, editCall(name(i), fmt.Sprintf("<%d> \n", i), fmt.Sprintf("<%d> edit of %d.\n", i, m)))
				k++
			}
		}
		models[m] = append(models[m], strings.Join(message, "\n"))
	}
	var ps [2]*process
	ps[0] = run(t, nil, nil, "--stdio", "--model=script:"+script(t, append(models[0], "say Done.")...))
	env := ps[0].cmd.Env
	if apart {
		env = append(slices.Clone(env), "XDG_STATE_HOME="+t.TempDir())
	}
	ps[1] = ps[0].with(env, "--stdio", "--model=script:"+script(t, append(models[1], "say Done.")...))
	for i, text := range texts {
		if err := os.WriteFile(filepath.Join(ps[0].root, name(i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var es [2]*editor
	var heard [2]*news
	var sessions [2]string
	for m, p := range ps {
		heard[m] = newNews()
		es[m] = p.editor(quick(t, conformance.Options{Heard: heard[m].hear}))
		sessions[m] = es[m].session("auto")
	}
	began := time.Now()
	var wg sync.WaitGroup
	for m, e := range es {
		wg.Go(func() { e.play(sessions[m]) })
	}
	wg.Wait()
	took := time.Since(began)
	landed, twice := 0, 0
	for i := range total {
		raw, err := os.ReadFile(filepath.Join(ps[0].root, name(i)))
		if err != nil {
			t.Fatal(err)
		}
		switch strings.Count(string(raw), fmt.Sprintf("<%d> edit of ", i)) {
		case 0:
		case 1:
			landed++
		default:
			twice++
		}
		if i < files && strings.Count(string(raw), "\n") != strings.Count(texts[i], "\n") {
			t.Errorf("%s has other lines:\n%s", name(i), raw)
		}
	}
	t.Logf("%d edits of %d files by two processes: %d landed once, %d lost, %d twice, %d ms", total, files, landed,
		total-landed-twice, twice, took.Milliseconds())
	if landed != total {
		t.Error("not every edit landed once")
	}
	for m := range ps {
		if ended := heard[m].counts(); len(ended) != 1 {
			t.Errorf("the calls of process %d ended with %v", m, ended)
		}
		es[m].leaves()
	}
	until(t, "nothing stands beside the files", func() bool {
		left, err := os.ReadDir(ps[0].root)
		return err == nil && len(left) == files
	})
}

// with starts the program once more in the same folder, with another environment.
func (p *process) with(env []string, args ...string) *process {
	p.t.Helper()
	q := &process{t: p.t, root: p.root}
	q.start(env, args)
	return q
}

// F241: while a process changes a file, another that wants to is told of whom it waits for, and waits until the first is
// done, or is killed.
func TestF241ALockEndsWithItsProcess(t *testing.T) {
	p := run(t, nil, nil, "--stdio")
	asked, answer := make(chan struct{}), make(chan struct{})
	a := p.editor(conformance.Options{
		Settings:    map[string]any{"mode": "auto", "closedFiles": "editor"},
		BeforeApply: func(int) { close(asked); <-answer },
	})
	defer close(answer)
	b := p.another("--stdio").editor(quick(t, conformance.Options{}))
	a.must(os.WriteFile(a.Path("a.txt"), []byte("one\n"), 0o644))
	read := map[string]any{"path": "a.txt"}
	edit := func(session, to string) map[string]any {
		return map[string]any{"sessionId": session, "callId": "call_of_" + to, "name": "edit_file", "arguments": map[string]any{
			"path": "a.txt", "old_text": "one", "new_text": to,
		}}
	}
	sa, sb := a.session("auto"), b.session("auto")
	a.tool(sa, "read_file", read)
	b.tool(sb, "read_file", read)
	a.Begin("tandem/tools/call", edit(sa, "first"))
	<-asked
	var state struct {
		Files []struct {
			Lock struct {
				Holder, ToolCallID, Since string
				PID                       int
			}
		}
	}
	b.ask("tandem/fileTime/get", map[string]any{"uris": []string{b.URI("a.txt")}}, &state)
	if len(state.Files) != 1 || state.Files[0].Lock.Holder != sa || state.Files[0].Lock.ToolCallID != "call_of_first" ||
		state.Files[0].Lock.PID != p.cmd.Process.Pid || state.Files[0].Lock.Since == "" {
		t.Errorf("the other process is told of %+v", state.Files)
	}
	wait := b.Begin("tandem/tools/call", edit(sb, "second"))
	until(t, "the other process waits", func() bool {
		turns, err := filepath.Glob(filepath.Join(filepath.Dir(p.root), "home", "tandem", "locks", "*.turn"))
		return err == nil && len(turns) > 0 && locked(turns[0])
	})
	p.kill()
	if raw, err := wait(b.ctx); err != nil || !strings.Contains(string(raw), `"success":true`) {
		t.Errorf("%s %v", raw, err)
	}
	if raw, err := os.ReadFile(a.Path("a.txt")); err != nil || string(raw) != "second\n" {
		t.Errorf("%s %v", raw, err)
	}
	b.leaves()
}

// locked says that somebody has a lock.
func locked(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	return !tryLock(f)
}

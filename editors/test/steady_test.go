package editorstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// result is what the model was told of a call.
type result struct {
	edit    int // its number
	at      time.Time
	success bool
	says    string
}

// results are what the model has been told of its edits in the only session, from the first edit on, and whether the turn has ended.
func (e *terminal) results() (began time.Time, all []result, ended bool) {
	e.t.Helper()
	server, err := binary()
	if err != nil {
		e.t.Fatal(err)
	}
	tandem := func(args ...string) []byte {
		cmd := command(e.t, server, append([]string{"session"}, args...)...)
		cmd.Dir, cmd.Env = e.dir, append(os.Environ(), e.env...)
		out, err := cmd.Output()
		if err != nil {
			e.t.Fatalf("tandem session %v: %v\n%s", args, err, out)
		}
		return out
	}
	id, _, _ := strings.Cut(string(tandem("list")), " ")
	if !strings.HasPrefix(id, "s-") {
		return
	}
	edits := map[string]int{}
	for line := range bytes.Lines(tandem("export", id, "--format=jsonl")) {
		var entry struct {
			Time         time.Time
			Kind, CallID string
			Body         struct {
				Tool   string
				Result struct {
					Success     bool
					Error, Data string
				}
			}
		}
		if err := json.Unmarshal(line, &entry); err != nil {
			e.t.Fatalf("%v: %s", err, line)
		}
		edit := entry.Body.Tool == "edit_file"
		switch {
		case edit && entry.Kind == "call":
			if edits[entry.CallID] = len(edits); len(edits) == 1 {
				began = entry.Time
			}
		case edit && entry.Kind == "result":
			is := entry.Body.Result
			all = append(all, result{edits[entry.CallID], entry.Time, is.Success, is.Error + " " + is.Data})
		case entry.Kind == "end":
			ended = true
		}
	}
	return began, all, ended
}

// steadily types words a key at a time, a line after every few, for so long, and gives what was typed.
func (e *terminal) steadily(long time.Duration) string {
	e.t.Helper()
	const every = 65 * time.Millisecond
	// One client for all keys: a process for each would leave pauses.
	keyboard := e.command("-C", "attach-session", "-t", "e", "-f", "ignore-size,no-output")
	in, err := keyboard.StdinPipe()
	if err == nil {
		err = keyboard.Start()
	}
	if err != nil {
		e.t.Fatal(err)
	}
	var typed strings.Builder
	var longest time.Duration
	key := time.NewTicker(every)
	defer key.Stop()
	began := time.Now()
	for last := began; time.Since(began) < long; {
		for _, c := range fmt.Sprintf("typed at %d\n", typed.Len()) {
			<-key.C
			longest, last = max(longest, time.Since(last)), time.Now()
			name := string(c)
			switch c {
			case '\n':
				name = "Enter"
			case ' ':
				name = "Space"
			}
			if _, err := fmt.Fprintf(in, "send-keys -t e %s\n", name); err != nil {
				e.t.Fatal(err)
			}
			typed.WriteRune(c)
		}
	}
	e.t.Logf("%d keys, %.1f in a second, %v at most between two", typed.Len(), float64(typed.Len())/time.Since(began).Seconds(), longest.Round(time.Millisecond))
	_, _ = io.WriteString(in, "detach-client\n")
	_ = keyboard.Wait()
	return typed.String()
}

// steady are the lines of the file that the agent edits twelve times.
type steady struct {
	text, script string
	edits        []string // new texts, in the order of the calls
	after        func(without int) string
}

const tail = "last\n"

// twelve are twelve edits below some more lines, six in one answer of the model and six in one each: some make a line two, some swap two.
func twelve(lines int) (s steady) {
	const n = 12
	old := func(i int) string { return fmt.Sprintf("line %02d old\n", i) }
	keep := func(i int) string { return fmt.Sprintf("keep %02d\n", i) }
	edit := func(i int) string {
		switch i % 3 {
		case 1:
			return fmt.Sprintf("line %02d new\nline %02d more\n", i, i)
		case 2:
			return keep(i) + fmt.Sprintf("line %02d new\n", i)
		}
		return fmt.Sprintf("line %02d new\n", i)
	}
	head := "first\n# tandem: make the lines new\n"
	for i := range lines {
		head += fmt.Sprintf("more %02d\n", i)
	}
	var script strings.Builder
	script.WriteString(`call read_file {"path": "a.txt"}` + "\n\nwait 3s\n")
	s.text = head
	for i := 1; i <= n; i++ {
		s.text += old(i) + keep(i)
		from, to := old(i), edit(i)
		if i%3 == 2 {
			from += keep(i)
		}
		args, _ := json.Marshal(map[string]string{"path": "a.txt", "old_text": from, "new_text": to})
		fmt.Fprintf(&script, "call edit_file %s\n", args)
		if i >= n/2 {
			script.WriteString("\nwait 1s\n")
		}
		s.edits = append(s.edits, to)
	}
	s.text += tail
	script.WriteString("say All is done.\n")
	s.script = script.String()
	s.after = func(without int) string {
		text := head
		for i := 1; i <= n; i++ {
			switch {
			case i == without:
				text += old(i) + keep(i)
			case i%3 == 2:
				text += edit(i)
			default:
				text += edit(i) + keep(i)
			}
		}
		return text + tail
	}
	return s
}

// Somebody types 15 keys a second for twenty seconds above twelve edits of the agent, in an editor that may tell of its changes only when no
// key has been pressed for a while, and then does nothing. All edits land, each is told as what it is, one can be rejected, and the turn undone.
func TestFaultE15SteadyKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real editors")
	}
	run := func(name string, ed plainEditor, lines, lost int) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			typeSteadily(t, ed, twelve(lines), lost)
		})
	}
	trixie := plainEditors["Neovim"]
	trixie.suite = "trixie"
	run("Neovim", plainEditors["Neovim"], 0, 0)
	run("Neovim 0.10", trixie, 0, 0)
	run("Helix", plainEditors["Helix"], 0, 0)
	run("eglot", plainEditors["eglot"], 40, 0)
	// eglot puts an edit over typing that it has not told of, three characters here, which are then known to nobody.
	run("eglot over typing", plainEditors["eglot"], 0, 3)
}

// typeSteadily is the test in one editor, which may lose so many of the typed characters.
func typeSteadily(t *testing.T, ed plainEditor, s steady, lost int) {
	const rejected = 6
	e := ed.open(t, s.text, s.script, "acceptEdits")
	ed.act(e)
	ed.above(e)
	typed := e.steadily(20*time.Second) + "\n" // the line that was opened
	stopped := time.Now()

	var began time.Time
	var told []result
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(500 * time.Millisecond) {
		var ended bool
		if began, told, ended = e.results(); ended {
			break
		}
		if time.Now().After(deadline) {
			t.Error("the turn has not ended")
			break
		}
	}
	ed.rest(e)
	text := e.saved(ed, func(text string) bool { return strings.HasSuffix(text, tail) })
	landed := 0
	for _, r := range told {
		there := strings.Contains(text, s.edits[r.edit])
		if there {
			landed++
		}
		if r.success != there {
			t.Errorf("edit %d: success %v, in the text %v: %s", r.edit+1, r.success, there, r.says)
		}
		took := r.at.Sub(began)
		if took > time.Minute {
			t.Errorf("edit %d was told of %v after the first", r.edit+1, took)
		}
		t.Logf("edit %d: %.1f s after the first, %.1f s after the last key, success %v: %.150q", r.edit+1, took.Seconds(), r.at.Sub(stopped).Seconds(),
			r.success, r.says)
	}
	if landed != len(s.edits) {
		t.Errorf("%d of %d edits landed", landed, len(s.edits))
	}
	above, ok := strings.CutSuffix(text, s.after(0))
	if n := len(above); !ok || n < len(typed)-lost || lost == 0 && above != typed || strings.Count(above, "\n") != strings.Count(typed, "\n") {
		t.Fatalf("the text is\n%s\nwant\n%s", text, typed+s.after(0))
	}

	ed.find(e, fmt.Sprintf("line %02d new", rejected))
	ed.actions(e)
	ed.choose(e, 2, "Reject the agent's change (+1 −1)")
	e.saved(ed, func(text string) bool { return text == above+s.after(rejected) })
	ed.undo(e)
	e.saved(ed, func(text string) bool { return text == above+s.text })
	ed.quit(e)
}

// saved writes the file until its text is right, and gives it.
func (e *terminal) saved(ed plainEditor, right func(string) bool) string {
	e.t.Helper()
	var pressed time.Time
	var text []byte
	before, _ := os.Stat(e.path("a.txt"))
	e.until("the file is saved", func() bool {
		if time.Since(pressed) > 3*time.Second {
			ed.save(e)
			pressed = time.Now()
		}
		now, err := os.Stat(e.path("a.txt"))
		if err != nil || now.ModTime().Equal(before.ModTime()) {
			return false
		}
		text, err = os.ReadFile(e.path("a.txt"))
		return err == nil && right(string(text))
	})
	return string(text)
}

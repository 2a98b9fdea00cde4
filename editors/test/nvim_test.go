package editorstest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// The plugin's modules, in Lua.
func TestNvimModules(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		plugin, err := filepath.Abs(filepath.Join("..", "nvim"))
		if err != nil {
			t.Fatal(err)
		}
		for _, seed := range []string{"1", "2"} {
			script := filepath.Join("lua", "unit.lua")
			cmd := exec.CommandContext(t.Context(), nvim, "--clean", "--headless", "-l", script, plugin, seed)
			cmd.Env = append(cmd.Environ(), "XDG_STATE_HOME="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir())
			out, err := cmd.CombinedOutput()
			t.Logf("seed %s: %s", seed, out)
			if err != nil || !strings.Contains(string(out), " 0 failed") {
				t.Errorf("seed %s: %v", seed, err)
			}
		}
	})
}

// A turn as a person sees it: asked from the file, streamed, shown in the chat, ended.
func TestNvimChat(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		s, lua := listen(t)
		e := start(t, nvim, options{lua: lua, files: map[string]string{"a.txt": "one\ntwo\n"}, open: "a.txt"})
		e.ex("Tandem please look at it")
		asked, end := s.turn()
		if asked != "please look at it" {
			t.Errorf("asked %q", asked)
		}
		s.say("Let me ")
		s.say("see.")
		s.update(map[string]any{
			"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Read a.txt", "kind": "read", "status": "in_progress",
		})
		e.see(`Let me see\.`)
		e.see(`▤ Read a\.txt  running`)
		s.update(map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"})
		s.update(map[string]any{"sessionUpdate": "notice", "content": map[string]any{"type": "text", "text": "Careful."}})
		e.see(`(?m)▤ Read a\.txt *$`)
		e.see(`! Careful\.`)
		if got := e.lua("vim.fn.expand('%:t')"); got != "a.txt" {
			t.Errorf("the cursor went to %q", got)
		}
		s.update(map[string]any{
			"sessionUpdate": "usage_update", "usage": map[string]any{"inputTokens": 1200, "outputTokens": 34, "totalTokens": 1234},
			"cost": map[string]any{"amount": 0.0123, "currency": "USD"},
		})
		e.see(`1\.2k tokens · \$0\.012`)
		// A message of any length leaves the keyboard to the person.
		long := strings.Repeat("a long message ", 20) + "\nwith a second line"
		s.notify("window/showMessage", map[string]any{"type": 2, "message": long})
		e.see(`with a second line`)
		e.text("x")
		uri := "file://" + e.path("a.txt")
		s.wait("the next key goes into the text", func() bool { return s.docs[uri].text == "ne\ntwo\n" })
		e.ex("Tandem stop")
		s.wait("the cancel arrives", func() bool { return s.cancels == 1 })
		end("cancelled")
		e.see(`■ Stopped\.`)
		e.show("the chat")
		e.ex("Tandem quit")
		e.see(`The server stopped \(0\)`)
		s.wait("it has said shutdown and exit", func() bool { return s.got[len(s.got)-1] == "exit" })
		e.ex("Tandem anew")
		if asked, _ := s.turn(); asked != "anew" {
			t.Errorf("asked %q after a restart", asked)
		}
	})
}

// What is said while a turn runs goes to that turn, and becomes the next prompt where that has just ended. With every
// prompt goes what the person looks at, unless they keep it to themselves.
func TestNvimSteer(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		s, lua := listen(t)
		e := start(t, nvim, options{lua: lua, files: map[string]string{"a.txt": "one\nzwölf\nthree\n"}, open: "a.txt"})
		e.ex("normal! 2G0fl")
		e.ex("Tandem begin")
		_, end := s.turn()
		var meta struct {
			Tandem struct {
				Editor struct {
					URI              string
					Cursor           position
					Visible          span
					Selection, Other *span
				}
			}
		}
		if err := json.Unmarshal(s.meta, &meta); err != nil {
			t.Fatalf("%v: %s", err, s.meta)
		}
		if m := meta.Tandem.Editor; m.URI != "file://"+e.path("a.txt") || m.Cursor != (position{1, 4}) || m.Selection != nil ||
			m.Visible != (span{position{0, 0}, position{2, 0}}) {
			t.Errorf("%s", s.meta)
		}
		s.say("I begin.")
		e.ex("Tandem also this")
		s.wait("the turn hears of it", func() bool { return len(s.steered) == 1 && s.steered[0] == "also this" })
		e.see(`the model gets it with its next request`)
		s.update(map[string]any{
			"sessionUpdate": "user_message_chunk", "content": map[string]any{"type": "text", "text": "also this"},
		})
		e.see(`also this`)
		s.mu.Lock()
		s.over = true
		s.mu.Unlock()
		e.ex("Tandem too late")
		s.wait("the turn is over", func() bool { return len(s.steered) == 2 })
		e.lua("(function() local g = vim.g.tandem; g.share_editor = false; vim.g.tandem = g end)()")
		end("end_turn")
		if asked, _ := s.turn(); asked != "too late" || s.meta != nil {
			t.Errorf("asked %q with %s", asked, s.meta)
		}
	})
}

// A program that speaks another version is refused with a word on what to update.
func TestNvimOtherVersion(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		for _, c := range []struct {
			version any
			want    string
		}{
			{0, `update the program`}, {2, `update this plugin`}, {nil, `not tandem, or one that is too old`},
		} {
			s, lua := listen(t)
			s.version = c.version
			e := start(t, nvim, options{lua: lua, files: map[string]string{"a.txt": "one\n"}, open: "a.txt"})
			e.ex("Tandem go")
			e.see(c.want)
		}
	})
}

// It works with no file at hand, and the file that is edited then lands on disk.
func TestNvimEmptyBuffer(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		s, lua := listen(t)
		e := start(t, nvim, options{lua: lua, files: map[string]string{"dir/closed.txt": "one\ntwo"}})
		e.ex("Tandem go")
		_, end := s.turn()
		if d := s.docs; len(d) != 0 {
			t.Errorf("documents %v", d)
		}
		uri := "file://" + e.path("dir/closed.txt")
		edit := textEdit{span{position{1, 0}, position{1, 3}}, "TWO"}
		if r := s.apply(uri, nil, edit); r.Applied || r.FailureReason != "version" {
			t.Errorf("a text that the server has not seen: %+v", r)
		}
		d, ok := s.doc(uri)
		if !ok || d.text != "one\ntwo" {
			t.Fatalf("the document is %+v", d)
		}
		if r := s.apply(uri, &d.version, edit); !r.Applied {
			t.Errorf("refused: %+v", r)
		}
		var saved struct{ Saved, Failed []any }
		s.call("tandem/documents/save", map[string]any{"uris": []string{uri, uri + ".none"}}, &saved)
		if len(saved.Saved) != 1 || len(saved.Failed) != 1 {
			t.Errorf("saved %+v", saved)
		}
		if got := e.disk("dir/closed.txt"); got != "one\nTWO" {
			t.Errorf("on disk: %q", got)
		}
		s.wait("it is closed again", func() bool { return len(s.docs) == 0 })
		end("end_turn")
		e.turn(1)
	})
}

// An edit for a text that has moved on is refused; the text that the server is told of is always the buffer's.
func TestNvimStaleEditIsRefused(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		s, lua := listen(t)
		e := start(t, nvim, options{lua: lua, files: map[string]string{"a.txt": "one\ntwo\n"}, open: "a.txt"})
		e.ex("Tandem go")
		s.turn()
		uri := "file://" + e.path("a.txt")
		before, _ := s.doc(uri)
		e.text("A!")
		s.wait("the keystroke arrives", func() bool { return s.docs[uri].text == "one!\ntwo\n" })
		edit := textEdit{span{position{1, 0}, position{1, 3}}, "TWO"}
		if r := s.apply(uri, &before.version, edit); r.Applied || r.FailureReason != "version" {
			t.Errorf("the stale edit: %+v", r)
		}
		if r := s.apply(uri, nil, edit); r.Applied {
			t.Errorf("an edit of an open document without a version: %+v", r)
		}
		if got := e.buffer("a.txt"); got != "one!\ntwo" {
			t.Errorf("the buffer is %q", got)
		}
		s.replace(uri, "two", "TWO")
		e.text("?")
		s.wait("typing goes on", func() bool { return s.docs[uri].text == "one!?\nTWO\n" })
		e.keys("Escape")
		e.text("uu")
		s.wait("the second undo takes the edit", func() bool { return s.docs[uri].text == "one!\ntwo\n" })
	})
}

// Three hundred keystrokes at a quick hand's speed while twenty edits land in the same file: above, below and in the
// line that is being typed. Every keystroke and every edit is in the text, and undo takes them back step by step.
func TestNvimTypingWhileEditsLand(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		s, lua := listen(t)
		var body strings.Builder
		for i := range 40 {
			fmt.Fprintf(&body, "line %d 😀 <%02d>\n", i, i)
		}
		e := start(t, nvim, options{lua: lua, files: map[string]string{"a.txt": body.String()}, open: "a.txt"})
		e.ex("Tandem go")
		s.turn()
		uri := "file://" + e.path("a.txt")

		var typed strings.Builder
		for i := 0; typed.Len() < 300; i++ {
			fmt.Fprintf(&typed, "k%d", i)
			if i%7 == 6 {
				typed.WriteByte('\n')
			} else {
				typed.WriteByte(' ')
			}
		}
		keystrokes := typed.String()[:300]
		e.text("21GO")

		refused := 0
		var edits sync.WaitGroup
		edits.Go(func() {
			for i := range 20 {
				// Between two edits the person types on, so that each meets a text on the move.
				d, _ := s.doc(uri)
				s.wait("a key arrives", func() bool { return s.docs[uri].version > d.version || i == 19 })
				old, text := fmt.Sprintf("<%02d>", 2*i), fmt.Sprintf("<%02d> edited", 2*i)
				switch i % 4 {
				case 1:
					text += "\nand a line of its own"
				case 2:
					old, text = fmt.Sprintf("line %d 😀", 2*i), fmt.Sprintf("😀 LINE %d", 2*i)
				}
				refused += s.replace(uri, old, text)
			}
		})
		for _, key := range keystrokes {
			if key == '\n' {
				e.keys("Enter")
			} else {
				e.text(string(key))
			}
			time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
		}
		edits.Wait()
		e.keys("Escape")

		want := strings.Builder{}
		for i := range 40 {
			if i == 20 {
				want.WriteString(keystrokes + "\n")
			}
			switch {
			case i%2 == 1:
				fmt.Fprintf(&want, "line %d 😀 <%02d>\n", i, i)
			case i/2%4 == 1:
				fmt.Fprintf(&want, "line %d 😀 <%02d> edited\nand a line of its own\n", i, i)
			case i/2%4 == 2:
				fmt.Fprintf(&want, "😀 LINE %d <%02d>\n", i, i)
			default:
				fmt.Fprintf(&want, "line %d 😀 <%02d> edited\n", i, i)
			}
		}
		e.holds("a.txt", want.String(), "afterwards")
		s.wait("the server holds the same", func() bool { return s.docs[uri].text == want.String() })
		t.Logf("300 keystrokes, 20 edits, %d refusals on the way", refused)
		e.show("afterwards")
		e.ex("undo 0")
		s.wait("undo leads back to the beginning", func() bool { return s.docs[uri].text == body.String() })
	})
}

// An edit in the very line that is being typed, to the left of the caret: typing goes on at the caret.
func TestNvimEditInTheTypedLine(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		s, lua := listen(t)
		e := start(t, nvim, options{lua: lua, files: map[string]string{"a.txt": "alpha beta\n"}, open: "a.txt"})
		e.ex("Tandem go")
		s.turn()
		uri := "file://" + e.path("a.txt")
		text := "alpha beta"
		e.text("A")
		for i := range 30 {
			key := string(rune('a' + i%26))
			e.text(key)
			text += key
			s.wait("the key arrives", func() bool { return s.docs[uri].text == text+"\n" })
			if i%3 == 0 {
				old, repl := "alpha", "ALPHA 😀"
				if i%2 == 1 {
					old, repl = repl, old
				}
				s.replace(uri, old, repl)
				text = strings.Replace(text, old, repl, 1)
			}
		}
		e.keys("Escape")
		e.holds("a.txt", text, "afterwards")
	})
}

// fold sends what makes the chat take away and make folds.
func (s *server) fold(id string) {
	s.update(map[string]any{
		"sessionUpdate": "tool_call_update", "toolCallId": id, "title": "make", "kind": "execute", "status": "in_progress",
		"_meta": map[string]any{"tandem": map[string]any{"output": "one\ntwo\n"}},
	})
}

// Edits land whatever the person is about to do, the chat goes on beside it, and what was begun has its effect.
func TestNvimEditsLandInEveryMode(t *testing.T) {
	const files = "one\ntwo\nthree\nthroat\n"
	for _, c := range []struct{ name, begin, mode, end, want string }{
		{"operator pending", "2Gd", "no", "d", "ONE\nthree\nthroat\n"},
		{"visual", "2Gv$h", "v", "d", "ONE\n\nthree\nthroat\n"},
		{"visual line", "2GVj", "V", "d", "ONE\nthroat\n"},
		{"replace", "2GR12", "R", "3\x1b", "ONE\n123\nthree\nthroat\n"},
		{"command line", ":2", "c", "d\r", "ONE\nthree\nthroat\n"},
		{"search", "/thr", "c", "ee\rx", "ONE\ntwo\nhree\nthroat\n"},
		{"command-line window", "q:i2d", "i", "\x1b\r", "ONE\nthree\nthroat\n"},
		{"recording", "qa2Gx", "n", "q", "ONE\nwo\nthree\nthroat\n"},
		{"insert", "2GAx", "i", "y\x1b", "ONE\ntwoxy\nthree\nthroat\n"},
		{"insert, one command", "2G0ax\x0f", "niI", "D\x1b", "ONE\ntx\nthree\nthroat\n"},
		{"completion menu", "2Goth\x0e", "ic", "\x0e\x19!\x1b", "ONE\ntwo\nthroat!\nthree\nthroat\n"},
		{"another window", "\x17w", "n", "\x17p2GD", "ONE\n\nthree\nthroat\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachNvim(t, func(t *testing.T, nvim string) {
				s, lua := listen(t)
				e := start(t, nvim, options{lua: lua, files: map[string]string{"a.txt": files}, open: "a.txt"})
				e.ex("Tandem go")
				s.turn()
				uri := "file://" + e.path("a.txt")
				e.text(c.begin)
				e.until("the mode is "+c.mode, func() bool { return e.try("vim.fn.mode(1)") == c.mode })
				s.fold("1")
				s.replace(uri, "one", "ONE")
				s.fold("1")
				s.fold("2")
				e.text(c.end)
				s.wait("what was begun has its effect", func() bool { return s.docs[uri].text == c.want })
				e.holds("a.txt", c.want, "afterwards")
			})
		})
	}
}

// Where the completion menu has changed a line, an edit of that line has to wait: the menu would take away the wrong
// characters.
func TestNvimEditUnderTheCompletionMenuWaits(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		s, lua := listen(t)
		e := start(t, nvim, options{lua: lua, files: map[string]string{"a.txt": "three\nthroat\nx\n"}, open: "a.txt"})
		e.ex("Tandem go")
		s.turn()
		uri := "file://" + e.path("a.txt")
		e.text("GAyy th\x0e")
		s.wait("the menu is open", func() bool { return s.docs[uri].text == "three\nthroat\nxyy three\n" })
		s.refused(uri, "busy", textEdit{span{position{2, 0}, position{2, 1}}, "XXXXX"})
		e.text("\x0e\x19")
		s.wait("the menu is closed", func() bool { return s.docs[uri].text == "three\nthroat\nxyy throat\n" })
		s.replace(uri, "xyy", "XXXXX")
		e.text("!")
		s.wait("typing goes on", func() bool { return s.docs[uri].text == "three\nthroat\nXXXXX throat!\n" })
	})
}

// Renamed, written, reloaded and closed buffers are told as what they are, once.
func TestNvimDocumentLifecycle(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		s, lua := listen(t)
		e := start(t, nvim, options{
			lua: lua, open: "a.txt",
			files: map[string]string{"a.txt": "one\n", "b.txt": "bee\n", "../outside.txt": "out\n"},
		})
		e.ex("Tandem go")
		s.turn()
		uri := func(name string) string { return "file://" + e.path(name) }
		is := func(name, text string) {
			t.Helper()
			s.wait(fmt.Sprintf("%s is %q", name, text), func() bool {
				d := s.docs[uri(name)]
				return d != nil && d.text == text
			})
		}
		e.ex("edit b.txt")
		is("b.txt", "bee\n")
		e.ex("edit ../outside.txt")
		e.ex("new")
		e.ex("buffer a.txt")
		e.ex("saveas c.txt")
		is("c.txt", "one\n")
		e.text("Ax")
		e.keys("Escape")
		is("c.txt", "onex\n")
		e.ex("edit!")
		is("c.txt", "one\n")
		write(t, e.path("c.txt"), "from outside\n")
		e.ex("edit")
		is("c.txt", "from outside\n")
		e.ex("write")
		s.wait("the write is told", func() bool { return s.got[len(s.got)-1] == "textDocument/didSave" })
		e.ex("bwipeout b.txt")
		s.wait("b.txt is closed", func() bool { return s.docs[uri("b.txt")] == nil })
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.docs) != 1 {
			t.Errorf("open: %v", s.docs)
		}
	})
}

// A permission question waits until nobody types, and takes no key that was meant for the text.
func TestNvimPermission(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		s, lua := listen(t)
		e := start(t, nvim, options{lua: lua, files: map[string]string{"a.txt": "one\n"}, open: "a.txt"})
		e.ex("Tandem go")
		_, end := s.turn()
		uri := "file://" + e.path("a.txt")
		ask := func(id string) int {
			return s.begin("tandem/session/requestPermission", map[string]any{
				"sessionId": "s1",
				"toolCall": map[string]any{
					"sessionUpdate": "tool_call_update", "toolCallId": id, "title": "Run make", "status": "pending",
					"rawInput": map[string]any{"command": "make target-" + id},
				},
				"options": []any{
					map[string]any{"optionId": "allow_once", "name": "Allow once", "kind": "allow_once"},
					map[string]any{"optionId": "reject_once", "name": "Reject", "kind": "reject_once"},
				},
			})
		}
		var answer struct {
			Outcome struct{ Outcome, OptionID string }
		}

		e.text("A typing")
		id := ask("1")
		e.see(`• Run make  waits for you`)
		for range 5 {
			e.text("1 ")
		}
		s.wait("what is typed goes into the text", func() bool { return s.docs[uri].text == "one typing1 1 1 1 1 \n" })
		e.keys("Escape")
		e.see(`(?s)asks to run.*│ make target-1.*1  Allow once.*Esc: later`)
		e.show("the question")
		e.keys("Enter") // answers nothing: no option is chosen
		e.text("1")
		e.keys("Enter")
		if s.end(id, &answer); answer.Outcome.OptionID != "allow_once" {
			t.Errorf("answered %+v", answer)
		}

		// While a question is on the screen, edits land all the same.
		id = ask("2")
		e.see(`(?s)make target-2.*1  Allow once.*2  Reject.*Esc: later`)
		s.replace(uri, "one", "ONE")
		// Turning away leaves it open, and the keyboard to the text.
		e.keys("Escape")
		e.until("the cursor is in the text", func() bool { return e.try("vim.fn.expand('%:t')") == "a.txt" })
		e.text("x")
		s.wait("a key goes into the text", func() bool { return s.docs[uri].text == "ONE typing1 1 1 1 1\n" })
		e.see(`(?s)make target-2.*:Tandem answer`)
		e.ex("Tandem answer")
		e.see(`Esc: later`)
		e.text("2")
		e.keys("Enter")
		if s.end(id, &answer); answer.Outcome.OptionID != "reject_once" {
			t.Errorf("answered %+v", answer)
		}

		e.text("A")
		e.see(`-- INSERT --`)
		id = ask("3")
		e.see(`make target-3`)
		end("cancelled")
		if s.end(id, &answer); answer.Outcome.Outcome != "cancelled" {
			t.Errorf("a question of a turn that has ended is answered %+v", answer)
		}
	})
}

// What the plugin says of itself, and what it says when there is no server.
func TestNvimCapabilitiesAndErrors(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		s, lua := listen(t)
		e := start(t, nvim, options{lua: lua, files: map[string]string{"a.txt": "one\n"}, open: "a.txt"})
		e.ex("Tandem stop")
		e.see(`no session here yet`)
		e.lua(`(function() local g = vim.g.tandem; g.binary = "no-such-program"; vim.g.tandem, good = g, vim.g.tandem end)()`)
		e.ex("Tandem go")
		e.see(`"no-such-program" is not a program`)
		e.lua(`(function() vim.g.tandem = good end)()`)
		e.ex("Tandem go")
		s.turn()
		for _, want := range []string{
			`"tandem":{[^}]*"permission":true`, `"tandem":{[^}]*"save":true`, `"tandem":{[^}]*"clarify":true`,
			`"tandem":{[^}]*"review":true`, `"positionEncodings":\["utf-8"\]`,
			`"resourceOperations":\["create","rename","delete"\]`,
		} {
			if !regexp.MustCompile(want).Match(s.init) {
				t.Errorf("initialize does not say %s: %s", want, s.init)
			}
		}
		if !regexp.MustCompile(`"settingsAreOwn":true`).Match(s.init) {
			t.Errorf("initialize does not say that its settings are the person's own: %s", s.init)
		}
		e.ex("checkhealth tandem")
		e.see(`Neovim 0\.1`)
	})
}

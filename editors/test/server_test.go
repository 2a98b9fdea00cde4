package editorstest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const calc = "package calc\n\nfunc Add(a, b int) int { return a - b }\n\nfunc Sub(a, b int) int { return a - b }\n"

// session opens a Neovim whose plugin runs the real server with a model that plays a script.
func session(t *testing.T, nvim, mode, script string, o options) *terminal {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.txt")
	write(t, path, script)
	o.lua = fmt.Sprintf(`vim.g.tandem = {
		binary = %q, env = { TANDEM_MODEL = %q }, ask_idle_ms = 200, settings = { mode = %q },
	}`, bin, "script:"+path, mode)
	return start(t, nvim, o)
}

// The main job: ask, type while the agent works, see its edit land, take it back; the typing stays.
func TestNvimMainJob(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", `say Let me look.
call read_file {"path":"calc.go"}

say Found it: it subtracts.
wait 1500ms
call edit_file {"path":"calc.go","old_text":"Add(a, b int) int { return a -","new_text":"Add(a, b int) int { return a +"}

say Done: it adds now.
`, options{files: map[string]string{"calc.go": calc}, open: "calc.go"})
		e.ex("Tandem Add subtracts. Fix it.")
		e.see(`Found it: it subtracts\.`)
		e.text("ggO// typed while it works")
		e.see(`Done: it adds now\.`)
		e.see(`✎ Edit calc\.go  \+1 −1`)
		e.turn(1)
		e.show("after the turn, still in Insert mode")
		e.text(", and after")
		e.keys("Escape")
		fixed := strings.Replace(calc, "a - b", "a + b", 1)
		typed := "// typed while it works, and after\n"
		e.holds("calc.go", typed+fixed, "after the turn")
		if got := e.disk("calc.go"); got != calc {
			t.Errorf("an open buffer was written behind the person's back:\n%s", got)
		}
		e.ex("Tandem undo")
		e.see(`undone in 1 file`)
		e.holds("calc.go", typed+calc, "after :Tandem undo")
		e.keys("u")
		e.holds("calc.go", typed+fixed, "after u, which takes that back,")
	})
}

// Neovim's own undo takes a tool call back in one step, although it changed two places.
func TestNvimUndoOfAnEdit(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", `call read_file {"path":"a.txt"}

call edit_file {"path":"a.txt","old_text":"one\ntwo\nthree","new_text":"ONE\ntwo\nTHREE"}

say ok
`, options{files: map[string]string{"a.txt": "one\ntwo\nthree\n"}, open: "a.txt"})
		e.ex("Tandem shout")
		e.turn(1)
		e.holds("a.txt", "ONE\ntwo\nTHREE", "after the turn")
		e.keys("u")
		e.holds("a.txt", "one\ntwo\nthree", "after u")
	})
}

// A command is asked for word by word, runs when it is allowed, sees what the agent has changed, and its refusal is
// told to the model.
func TestNvimAsksBeforeACommand(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "ask", `call read_file {"path":"a.txt"}

call edit_file {"path":"a.txt","old_text":"one","new_text":"uno"}

call bash {"command":"cp a.txt copy.txt; echo copied"}

see /copied/
call bash {"command":"touch never.txt"}

see /denied/
say As you like.
`, options{files: map[string]string{"a.txt": "one\n"}, open: "a.txt"})
		e.ex("Tandem go")
		e.see(`(?s)Tandem asks .*Edit a\.txt.*a\.txt  \+1 −1.*1  Allow.*-one.*\+uno.*Esc: later`)
		e.show("the first question")
		e.text("1")
		e.keys("Enter")
		e.see(`(?s)asks to run.*in .*│ cp a\.txt copy\.txt; echo copied.*1  Allow.*Esc: later`)
		e.show("the second question")
		e.text("1")
		e.keys("Enter")
		e.see(`(?s)asks to run.*│ touch never\.txt.*2  Reject.*Esc: later`)
		e.text("2")
		e.keys("Enter")
		e.see(`As you like\.`)
		e.show("afterwards")
		if got := e.disk("copy.txt"); got != "uno\n" {
			t.Errorf("the command saw %q", got)
		}
		if _, err := os.Stat(e.path("never.txt")); err == nil {
			t.Error("a refused command ran")
		}
	})
}

// A turn can be ended while the model talks and while a command runs.
func TestNvimCancel(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", `say Thinking
wait 60s
say never said

say Once more.
`, options{files: map[string]string{"a.txt": "one\n"}, open: "a.txt"})
		e.ex("Tandem go")
		e.see(`Thinking`)
		begun := time.Now()
		e.ex("Tandem stop")
		e.see(`■ Stopped\.`)
		if took := time.Since(begun); took > 30*time.Second { // the model would go on for twice that
			t.Errorf("it took %v", took)
		}
		e.ex("Tandem again")
		e.see(`Once more\.`)
		e.turn(2)
	})
}

// Files that are not open are changed and created on disk, from a buffer without a name, and undone there.
func TestNvimClosedFiles(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", `call read_file {"path":"d/x.txt"}

call edit_file {"path":"d/x.txt","old_text":"two","new_text":"TWO"}
call write_file {"path":"d/new.txt","content":"hello\n"}

say ok
`, options{files: map[string]string{"d/x.txt": "one\r\ntwo\r\nthree"}})
		e.ex("Tandem go")
		e.turn(1)
		if got := e.disk("d/x.txt"); got != "one\r\nTWO\r\nthree" {
			t.Errorf("on disk: %q", got)
		}
		if got := e.disk("d/new.txt"); got != "hello\n" {
			t.Errorf("the new file: %q", got)
		}
		if got := e.lua(`#vim.tbl_filter(function(b) return vim.bo[b].modified end, vim.api.nvim_list_bufs())`); got != "0" {
			t.Errorf("%s modified buffers stay behind", got)
		}
		e.ex("Tandem undo")
		e.see(`undone in 2 files`)
		if got := e.disk("d/x.txt"); got != "one\r\ntwo\r\nthree" {
			t.Errorf("undone on disk: %q", got)
		}
	})
}

// A buffer with unsaved text moves with its file, can be saved there, and moves back; a buffer goes with a file that is deleted, but
// not where there is unsaved text in it.
func TestNvimF162MovesAndDeletes(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", `call read_file {"path":"a.txt"}
call read_file {"path":"b.txt"}

call move_file {"path":"a.txt","destination":"d/new.txt"}

call delete_file {"path":"d/new.txt"}

call delete_file {"path":"b.txt"}

see /EDIT_CONFLICT. d.new.txt is open in the editor with unsaved text/
say ok
`, options{files: map[string]string{"a.txt": "one\ntwo\n", "b.txt": "b\n"}, open: "a.txt"})
		e.ex("badd b.txt")
		e.ex("call bufload('b.txt')")
		e.keys("O")
		e.text("typed")
		e.keys("Escape")
		e.ex("Tandem go")
		e.turn(1)
		if got := e.lua(`vim.fn.fnamemodify(vim.api.nvim_buf_get_name(vim.fn.bufnr("new.txt")), ":t") .. " " .. tostring(vim.bo[vim.fn.bufnr("new.txt")].modified)`); got != "new.txt true" {
			t.Errorf("the buffer is %q", got)
		}
		if got := e.lua(`vim.fn.bufnr("a.txt") .. " " .. vim.fn.bufnr("b.txt")`); got != "-1 -1" {
			t.Errorf("buffers stay behind: %s", got)
		}
		if got := e.disk("d/new.txt"); got != "one\ntwo\n" {
			t.Errorf("on disk: %q", got)
		}
		e.lua(`vim.api.nvim_buf_call(vim.fn.bufnr("new.txt"), function() vim.cmd("silent write") end)`)
		if got := e.disk("d/new.txt"); got != "typed\none\ntwo\n" {
			t.Errorf("saved: %q", got)
		}
		if _, err := os.Stat(e.path("b.txt")); err == nil {
			t.Error("b.txt is there")
		}
		e.ex("Tandem undo")
		e.see(`undone in`)
		if got := e.disk("a.txt"); got != "typed\none\ntwo\n" {
			t.Errorf("moved back: %q", got)
		}
		if got := e.disk("b.txt"); got != "b\n" {
			t.Errorf("made again: %q", got)
		}
	})
}

// Five hundred keystrokes while thirty edits of the agent land in the same file, through the whole server. The person
// also saves, undoes and redoes whatever came last, and takes back what was typed by mistake: no keystroke is lost, and
// every edit is in the text once, or its call says that it failed.
func TestNvimTypingAgainstTheServer(t *testing.T) {
	const edits, keystrokes = 30, 500
	eachNvim(t, func(t *testing.T, nvim string) {
		var body, script strings.Builder
		script.WriteString("call read_file {\"path\":\"a.txt\"}\n\n")
		for i := range 2 * edits {
			fmt.Fprintf(&body, "line %d 😀 <%02d>\n", i, i)
			if i == edits {
				body.WriteString("HERE\n")
			}
			if i%2 == 0 {
				line := fmt.Sprintf("line %d 😀 <%02d>", i, i)
				fmt.Fprintf(&script, "wait 60ms\ncall edit_file {\"path\":\"a.txt\",\"old_text\":%q,\"new_text\":%q}\n\n",
					line+"\n", line+" edited\n")
			}
		}
		script.WriteString("say All are through.\n")
		files := map[string]string{"a.txt": body.String()}
		e := session(t, nvim, "auto", script.String(), options{files: files, open: "a.txt", rc: `
			-- What one key does happens in one go, so that it is known what is undone.
			local there = '<Cmd>call search("^HERE", "w")<CR>k$'
			vim.keymap.set('n', '<F5>', 'ijunk<Esc>u' .. there)
			vim.keymap.set('n', '<F6>', 'u<C-r>' .. there)`})
		e.ex("Tandem go")
		e.see(`✎ Edit a\.txt  \+1 −1`)
		e.ex("call search('^HERE', 'w')")
		e.text("O")
		var typed strings.Builder
		for i := 0; typed.Len() < keystrokes; i++ {
			key := string("0123456 89 abcdefghi klmnopqrst\n"[i%32])
			typed.WriteString(key)
			if key == "\n" {
				e.keys("Enter")
			} else {
				e.text(key)
			}
			switch i % 60 {
			case 20:
				e.keys("Escape")
				e.ex("silent write")
				e.text("A")
			case 40:
				e.keys("Escape", "F5")
				e.text("A")
			case 59:
				e.keys("Escape", "F6")
				e.text("A")
			}
		}
		e.keys("Escape")
		e.see(`All are through\.`)
		e.turn(1)
		e.show("afterwards")
		failed := 0
		e.until("the last key has its effect", func() bool {
			return strings.Contains(e.buffer("a.txt"), typed.String()[keystrokes-20:])
		})
		got := e.buffer("a.txt")
		calls := strings.Fields(e.lua(`(function()
			local out = {}
			for _, item in ipairs(require('tandem.client').all()[1].chat.items) do
				out[#out + 1] = item.kind == 'edit' and item.status or nil
			end
			return table.concat(out, ' ')
		end)()`))
		if len(calls) != edits {
			t.Fatalf("%d edits in the chat: %v", len(calls), calls)
		}
		want := body.String()
		for i, status := range calls {
			line := fmt.Sprintf("line %d 😀 <%02d>", 2*i, 2*i)
			if status == "completed" {
				want = strings.Replace(want, line+"\n", line+" edited\n", 1)
			} else {
				failed++
			}
		}
		want = strings.Replace(want, "HERE\n", typed.String()+"\nHERE\n", 1)
		if got+"\n" != want {
			t.Fatalf("the text is\n%s\nwant\n%s", got, want)
		}
		t.Logf("%d keystrokes, %d edits, %d of them reported as failed", keystrokes, edits, failed)
		e.ex("write")
		e.until("it is on disk", func() bool { return e.disk("a.txt") == want })
		e.ex("Tandem undo")
		e.see(`undone in 1 file`)
		e.holds("a.txt", strings.ReplaceAll(want, " edited", ""), "after :Tandem undo")
	})
}

// A wrong model is told with what to set, and does not leave a server behind that cannot be used.
func TestNvimUnknownModel(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		bin, err := binary()
		if err != nil {
			t.Fatal(err)
		}
		e := start(t, nvim, options{
			lua:   fmt.Sprintf("vim.g.tandem = { binary = %q, settings = { model = 'nobody/nothing' } }", bin),
			files: map[string]string{"a.txt": "one\n"}, open: "a.txt",
		})
		e.ex("Tandem go")
		e.see(`tandem: .*nobody`)
		e.see(`:help tandem-model`)
		e.show("the message")
		e.lua(`(function() vim.g.tandem = { binary = vim.g.tandem.binary } end)()`)
		e.ex("Tandem go")
		e.turn(1)
	})
}

// The server ends with the editor, also when that is killed.
func TestNvimEndTakesTheServerAlong(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		for _, end := range []func(e *terminal){
			func(e *terminal) { e.ex("qa!") },
			func(e *terminal) { _ = e.command("kill-server").Run() },
		} {
			files := map[string]string{"a.txt": "one\n"}
			e := session(t, nvim, "auto", "say up\nwait 60s\n", options{files: files, open: "a.txt"})
			e.ex("Tandem go")
			e.see(`(?m)│ up *$`)
			e.until("there is one server", func() bool { return len(e.servers()) == 1 }) // what it starts begins in its folder
			end(e)
			e.until("the server has ended", func() bool { return len(e.servers()) == 0 })
		}
	})
}

// servers are the processes of the real server that work in the workspace.
func (e *terminal) servers() []string {
	e.t.Helper()
	bin, err := binary()
	if err != nil {
		e.t.Fatal(err)
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		e.t.Fatal(err)
	}
	var found []string
	for _, p := range processes {
		exe, _ := os.Readlink(filepath.Join(p, "exe"))
		cwd, _ := os.Readlink(filepath.Join(p, "cwd"))
		if exe == bin && cwd == e.dir {
			found = append(found, p)
		}
	}
	return found
}

package editorstest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const reviewKeys = `
	vim.keymap.set('n', ']h', '<Plug>(tandem-next)')
	vim.keymap.set('n', 'gha', '<Plug>(tandem-accept)')
	vim.keymap.set('n', 'ghr', '<Plug>(tandem-reject)')`

var (
	mendedTotal = strings.Replace(shop, "item.Cents\n", "item.Cents * item.Quantity\n", 1)
	mendedBoth  = strings.Replace(mendedTotal, "\treturn len(items)\n", "\tn := len(items)\n\treturn n\n", 1)
)

// marked waits until both changes of cart.go are marked.
func (e *terminal) marked() {
	e.t.Helper()
	e.pending(2)
	e.see(`(?m)^ +− +sum \+= item\.Cents *(│.*)?\n▎ +sum \+= item\.Cents \* item\.Quantity`)
	e.see(`(?m)^ +− +return len\(items\) *(│.*)?\n▎ +n := len\(items\).*\n▎ +return n`)
}

// inReview is a session with two changes that wait, written to disk.
func inReview(t *testing.T, nvim, more string) *terminal {
	t.Helper()
	e := session(t, nvim, "auto", `call read_file {"path":"cart.go"}

`+mendTotal+mendCount+"say Both are done.\n"+more, options{files: map[string]string{"cart.go": shop}, open: "cart.go", rc: reviewKeys})
	e.ex("Tandem fix both")
	e.see(`Both are done\.`)
	e.marked()
	e.ex("write")
	e.until("it is on disk", func() bool { return e.disk("cart.go") == mendedBoth })
	return e
}

// In the middle of a review Neovim ends, by :qa or killed, and starts again: the marks are back by themselves, the
// conversation is in the chat, and what the turn did can be undone.
func TestFindingU1NvimRestartInReview(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		for name, end := range map[string]func(e *terminal){
			"quit":   func(e *terminal) { e.ex("qa") },
			"killed": func(e *terminal) { _ = e.command("kill-server").Run() },
		} {
			t.Run(name, func(t *testing.T) {
				e := inReview(t, nvim, "")
				end(e)
				e.until("the server has ended", func() bool { return len(e.servers()) == 0 })
				e.launch("cart.go")
				e.see(`2 changes wait here; :Tandem next goes there`)
				e.marked()
				e.show("right after the start")
				e.text("gg]h")
				e.see(`1/2 · gha accept · ghr reject`)
				e.text("gha")
				e.pending(1)
				e.ex("Tandem")
				e.see(`(?s)▎ fix both.*▤ Read cart\.go.*✎ Edit cart\.go  \+1 −1.*✎ Edit cart\.go  \+2 −1.*Both are done\.`)
				e.see(`(?s)Resumed the session.*“fix both”`)
				e.show("the chat")
				e.ex("Tandem undo")
				e.see(`undone in 1 file`)
				e.holds("cart.go", shop, "after the undo")
				e.pending(0)
				// Where nothing waits any more nothing starts.
				e.ex("wall")
				e.ex("qa")
				e.launch("cart.go")
				e.text("x")
				if got := e.lua("tostring(package.loaded['tandem.client'])"); got != "nil" {
					t.Errorf("something was loaded: %s", got)
				}
			})
		}
	})
}

// A server that is killed in the middle of a turn takes nothing along: the next command marks what waits, and the chat has
// the conversation and says what became of the turn.
func TestFindingU1NvimServerKilledInATurn(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := inReview(t, nvim, "\nsay Well.\n\nsay I look.\ncall read_file {\"path\":\"cart.go\"}\n\nsay Slowly\nwait 60s\nsay never\n")
		e.turn(1)
		e.ex("Tandem well?")
		e.turn(2)
		e.ex("Tandem go on")
		e.see(`(?m)│ Slowly`)
		kill(t, e, 1)
		e.see(`(?s)The server stopped.*2 changes\s+wait`)
		e.text("gg]h")
		e.marked()
		e.see(`1/2 · gha accept`)
		e.see(`(?s)Both are done\..*▎ go on.*I look\.`)
		e.see(`(?s)The program ended.*this turn`)
		e.show("after the restart")
		if e.lua("tostring(require('tandem.client').all()[1].running)") != "false" {
			t.Error("something still runs")
		}
		e.text("ghr")
		e.pending(1)
		e.holds("cart.go", strings.Replace(mendedBoth, "item.Cents * item.Quantity\n", "item.Cents\n", 1), "after the rejection")
	})
}

// A new session says what waits in the one before, and the list leads back to it.
func TestFindingU1NvimSessions(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := inReview(t, nvim, "")
		e.ex("Tandem new")
		e.see(`(?s)Ask the agent about ws.*2 changes wait in the session before`)
		e.pending(0)
		e.show("the new session")
		e.ex("Tandem sessions")
		e.see(`(?s)Sessions of ws.*“fix both” · just now · 1 turn · 2 changes wait`)
		e.show("the list")
		// Both were used just now, and what the server still writes of the session before may come last.
		row := regexp.MustCompile(`(\d): “fix both”`).FindStringSubmatch(e.screen())
		if row == nil {
			t.Fatalf("the list:\n%s", e.screen())
		}
		e.text(row[1])
		e.keys("Enter")
		e.see(`(?s)▎ fix both.*Both are done\.`)
		e.marked()
		// What another Neovim has open is not taken, and that is said.
		other := session(t, nvim, "auto", "say Here I am.\n", options{files: map[string]string{}, name: "other"})
		other.lua(fmt.Sprintf("(function() vim.env.XDG_STATE_HOME, vim.env.XDG_CONFIG_HOME = %q, %q end)()",
			filepath.Join(filepath.Dir(e.dir), "state"), filepath.Join(filepath.Dir(e.dir), "config")))
		other.ex("cd " + e.dir)
		other.ex("Tandem")
		other.see(`(?s)Ask the agent about ws.*“fix both” is open in.*program \(process \d+\).*This is a new one`)
		other.show("beside another Neovim")
		other.ex("Tandem hello")
		other.see(`Here I am\.`)
	})
}

// TestFaultV9NvimElsewhere: changes that wait in another session of the folder than the one that is shown are told, also where another
// Neovim has that session.
func TestFaultV9NvimElsewhere(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := inReview(t, nvim, "")
		e.ex("Tandem new")
		e.see(`(?s)Ask the agent about ws.*2 changes wait in the session before`)
		e.pending(0)
		e.ex("Tandem hello")
		e.see(`(?s)▎ hello.*Both are done\.`)
		other := session(t, nvim, "auto", "say Here I am.\n", options{files: map[string]string{}, name: "other"})
		other.lua(fmt.Sprintf("(function() vim.env.XDG_STATE_HOME, vim.env.XDG_CONFIG_HOME = %q, %q end)()",
			filepath.Join(filepath.Dir(e.dir), "state"), filepath.Join(filepath.Dir(e.dir), "config")))
		other.ex("cd " + e.dir)
		other.ex("Tandem")
		other.see(`(?s)“hello” is open in.*2 changes wait in the session.*“fix both”`)
		other.show("what waits elsewhere")
	})
}

// A key that is set after the service has refused one is used by the next prompt, in the same session: one in Neovim's
// environment, and one that a command prints. Nothing looks like a crash.
func TestFindingU3NvimKeyAfter401(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":{"message":"Incorrect API key provided."}}`))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"The key is right."}}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"))
	}))
	t.Cleanup(service.Close)
	eachNvim(t, func(t *testing.T, nvim string) {
		bin, err := binary()
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			provider string
			set      func(e *terminal)
		}{
			"environment": {"apiKeyEnv = 'SHOP_SECRET'", func(e *terminal) { e.ex("let $SHOP_SECRET = 'right'") }},
			"command":     {"apiKeyCommand = { 'cat', '%s' }", func(e *terminal) { write(t, e.path("../key"), "right\n") }},
		} {
			t.Run(name, func(t *testing.T) {
				key := filepath.Join(t.TempDir(), "key")
				write(t, key, "wrong\n")
				provider := strings.ReplaceAll(c.provider, "%s", key)
				e := start(t, nvim, options{
					lua: fmt.Sprintf(`vim.env.SHOP_SECRET = 'wrong'
						vim.g.tandem = { binary = %q, settings = { model = 'shop/large', providers = {
							shop = { api = 'openai-chat', baseUrl = %q, %s } } } }`, bin, service.URL, provider),
					files: map[string]string{"a.txt": "one\n"}, open: "a.txt",
				})
				e.ex("Tandem first")
				e.see(`Incorrect API key`)
				e.turn(1)
				if name == "command" {
					write(t, key, "right\n")
				} else {
					c.set(e)
				}
				e.ex("Tandem second")
				e.see(`(?s)▎ first.*Incorrect API key.*▎ second.*The key is right\.`)
				e.show("afterwards")
				if strings.Contains(e.screen(), "The server stopped") {
					t.Error("it looks like a crash")
				}
			})
		}
	})
}

// A mode that is chosen before there is a session holds for the session that comes; a word that is no mode is an error with
// those that there are, and nothing of it goes to the model.
func TestFindingU4NvimModeBeforeTheServer(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "ask", "say Yes.\n\nsay And yes.\n", options{files: map[string]string{"a.txt": "one\n"}, open: "a.txt"})
		e.ex("Tandem mode fast")
		e.see(`:Tandem mode takes one of readOnly, plan, ask, acceptEdits, auto`)
		e.ex("Tandem mode auto")
		e.see(`the next session here has the mode auto`)
		if got := e.lua("#require('tandem.client').all()"); got != "0" {
			t.Errorf("%s servers run", got)
		}
		e.ex("Tandem hello")
		e.see(`(?s)Tandem .* · auto.*▎ hello.*Yes\.`)
		e.turn(1)
		e.ex("Tandem mode slow")
		e.see(`:Tandem mode takes one of readOnly, plan, ask, acceptEdits, auto`)
		e.ex("Tandem model nobody/nothing")
		e.see(`There is no provider`)
		e.ex("Tandem mode readOnly")
		e.see(`Tandem .* · readOnly`)
		if got := e.lua(`table.concat(require('tandem.commands').MODES, ' ') == table.concat(vim.tbl_map(function(mode)
				return mode.id
			end, require('tandem.client').all()[1].modes), ' ')`); got != "true" && got != "v:true" {
			t.Errorf("the modes of the server are others: %s", got)
		}
		if got := e.lua("#vim.tbl_filter(function(i) return i.role == 'user' end, require('tandem.client').all()[1].chat.items)"); got != "1" {
			t.Errorf("%s prompts went to the model", got)
		}
	})
}

// A buffer that is read-only refuses the edit at once; the person is told, and the model goes on.
func TestFindingU5NvimReadOnly(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", `call read_file {"path":"cart.go"}

`+mendTotal+`see /cart\.go is read-only in Neovim/
say I cannot, then.
`, options{files: map[string]string{"cart.go": shop}})
		if err := os.Chmod(e.path("cart.go"), 0o444); err != nil {
			t.Fatal(err)
		}
		e.ex("edit cart.go")
		e.ex("Tandem fix Total")
		begun := time.Now()
		e.see(`I cannot, then\.`)
		took := time.Since(begun)
		t.Logf("the turn took %v", took.Round(time.Millisecond))
		if took > 8*time.Second {
			t.Errorf("it took %v", took)
		}
		e.see(`✎ Edit cart\.go  failed`)
		e.see(`(?s)cart\.go is read-only in Neovim; :set\s+noreadonly`)
		e.show("afterwards")
		e.holds("cart.go", shop, "afterwards")
		if strings.Contains(e.screen(), "WRITE_ERROR") || strings.Contains(e.screen(), "keystrokes") {
			t.Error("words that are not for people")
		}
	})
}

// What is added to a running turn is in the chat at once, and stands where the model got it afterwards. In the window for
// prompts an @ offers files.
func TestFindingU9NvimSteerAndMentions(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", `say I begin.
wait 3s
call read_file {"path":"a.txt"}

see /also that/
say With that.

see /docs\/guide\.md/
say The guide, then.
`, options{files: map[string]string{"a.txt": "one\n", "docs/guide.md": "# Guide\n", "docs/other.md": "# Other\n"}, open: "a.txt", rc: `
			vim.keymap.set('n', ' t', '<Plug>(tandem-ask)')`})
		e.ex("Tandem begin")
		e.see(`I begin\.`)
		e.ex("Tandem also that")
		e.see(`(?s)▎ also that.*added; the model gets it with its`)
		e.show("while it waits")
		e.see(`With that\.`)
		e.turn(1)
		e.see(`(?s)▤ Read a\.txt.*▎ also that.*With that\.`)
		if s := e.screen(); strings.Contains(s, "added; the model") || strings.Count(s, "▎ also that") != 1 {
			t.Errorf("it is there in another way too:\n%s", s)
		}
		e.text(" t")
		e.see(`Ask about ws`)
		e.text("read @gui")
		e.see(`docs/guide\.md +file`)
		e.show("the menu")
		e.keys("C-n", "Enter")
		e.text(" please")
		e.see(`read @docs/guide\.md please`)
		e.keys("Enter")
		e.see(`(?s)▎ read @docs/guide\.md please.*The guide, then\.`)
	})
}

// A long and hostile command is shown whole and as it is. Nothing that was typed before one can have seen the question
// answers it.
func TestFindingS3S22NvimQuestion(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		var command strings.Builder
		for i := range 60 {
			fmt.Fprintf(&command, "echo line %d\n", i)
		}
		command.WriteString("touch done # \u202egnp.exe\u200b \x1b[2K")
		js := strings.NewReplacer("\n", `\n`, "\x1b", `\u001b`).Replace(command.String())
		e := session(t, nvim, "ask", `call bash {"command":"`+js+`"}

see /denied/
call bash {"command":"touch second","cwd":"sub"}

say As you like.
`, options{files: map[string]string{"a.txt": "one\n", "sub/x": ""}, open: "a.txt"})
		e.ex("Tandem go")
		e.see(`(?s)asks to run.*in .*/ws · 61 lines, [\d]+ bytes.*It goes on below.*│ echo line 0`)
		// Keys that follow the command close on its heels are not for the question.
		e.ex("Tandem answer")
		e.text("1\r1\r")
		e.see(`Esc: later`)
		e.show("the question")
		e.text("G")
		e.see(`(?s)│ touch done # \\u\{202e\}gnp\.exe\\u\{200b\} \\u\{1b\}\[2K.*1  Allow.*2  Reject`)
		e.show("its end")
		if _, err := os.Stat(e.path("done")); err == nil {
			t.Fatal("the command ran")
		}
		e.choose(2)
		e.see(`(?s)in .*/ws/sub\s.*│ touch second`)
		e.choose(1)
		e.see(`As you like\.`)
		e.until("it ran", func() bool { _, err := os.Stat(e.path("sub/second")); return err == nil })
		if _, err := os.Stat(e.path("done")); err == nil {
			t.Error("the denied command ran")
		}
	})
}

// A line that is taken away beside lines that begin alike: chat, marks and list say the same.
func TestFindingU2NvimNumbersAgree(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		text := "func a() {\n\treturn\n\t}\n\n\tone\n\ttwo\n\tthree\n}\n"
		e := session(t, nvim, "auto", `call read_file {"path":"a.txt"}

call edit_file {"path":"a.txt","old_text":"\ttwo\n","new_text":""}

say Gone.
`, options{files: map[string]string{"a.txt": text}, open: "a.txt"})
		e.ex("Tandem go")
		e.see(`Gone\.`)
		e.pending(1)
		e.see(`✎ Edit a\.txt  \+0 −1`)
		e.see(`(?m)^ +− +two +│.*\n▁? +three`)
		e.ex("Tandem next")
		e.see(`change 1 of 1  \+0 −1`)
		e.show("the mark")
		e.ex("Tandem changes")
		e.see(`\+0 −1  two`)
	})
}

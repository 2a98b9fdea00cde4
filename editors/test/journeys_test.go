package editorstest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const shop = `package cart

// Total is what a cart costs, in cents.
func Total(items []Item) int {
	sum := 0
	for _, item := range items {
		sum += item.Cents
	}
	return sum
}

// Count is how many things a cart holds.
func Count(items []Item) int {
	return len(items)
}
`

const (
	mendTotal = `call edit_file {"path":"cart.go","old_text":"item.Cents\n","new_text":"item.Cents * item.Quantity\n"}

`
	mendCount = `call edit_file {"path":"cart.go","old_text":"return len(items)\n","new_text":"n := len(items)\n\treturn n\n"}

`
)

// pending waits until so many changes wait for a word.
func (e *terminal) pending(n int) {
	e.t.Helper()
	want := "tandem"
	if n > 0 {
		want = fmt.Sprintf("tandem ±%d", n)
	}
	e.until(fmt.Sprintf("the status line says %q", want), func() bool {
		return e.try("require('tandem').status()") == want
	})
}

// The first time, with nothing set up: the chat says so and how to change it, and what is asked is answered.
func TestNvimFirstRunWithoutModel(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		bin, err := binary()
		if err != nil {
			t.Fatal(err)
		}
		e := start(t, nvim, options{
			lua:   fmt.Sprintf("vim.g.tandem = { binary = %q, env = { TANDEM_MODEL = 'script/embedded' } }", bin),
			files: map[string]string{"a.txt": "one\n"}, open: "a.txt",
		})
		e.ex("Tandem")
		e.see(`(?s)Ask the agent about ws.*No model is set up\..*:help tandem-model`)
		e.show("the empty chat")
		if got := e.lua("vim.fn.expand('%:t')"); got != "a.txt" {
			t.Errorf("the cursor went to %q", got)
		}
		e.ex("Tandem hello")
		e.see(`(?s)▎ hello.*not a language.*▤ Read a\.txt`)
		e.turn(1)
		e.ex("checkhealth tandem")
		e.see(`no language model is configured`)
		e.show("checkhealth")
	})
}

// A denied edit changes nothing, and the turn goes on.
func TestNvimDenyAnEdit(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "ask", `call read_file {"path":"cart.go"}

`+mendTotal+`see /denied/
say Then not.
`, options{files: map[string]string{"cart.go": shop}, open: "cart.go"})
		e.ex("Tandem fix Total")
		e.see(`(?s)-    sum \+= item\.Cents.*\+    sum \+= item\.Cents \* item\.Quantity`)
		e.choose(2)
		e.see(`Then not\.`)
		e.see(`✎ Edit cart\.go.*denied`)
		e.turn(1)
		e.holds("cart.go", shop, "after the refusal")
		e.pending(0)
	})
}

// "Always" is kept as the rule that the question shows: it is not asked again, :Tandem permissions lists the rule and takes it back,
// and then it is asked again.
func TestF204NvimAlways(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "ask", `call read_file {"path":"cart.go"}

`+mendTotal+`say Mended.

`+mendCount+`say Again.

call edit_file {"path":"cart.go","old_text":"n := len(items)","new_text":"m := len(items)"}

say Not any more.
`, options{files: map[string]string{"cart.go": shop}, open: "cart.go"})
		e.ex("Tandem fix Total")
		e.see(`7  Always allow edits of all files`)
		e.show("the question")
		e.choose(7)
		e.see(`Mended\.`)
		e.turn(1)
		e.ex("Tandem fix Count")
		e.see(`Again\.`) // unasked
		e.turn(2)
		e.ex("Tandem permissions")
		e.see(`(?s)Permission rules.*1: allow edit_file \*  \(`)
		e.show("the rules")
		e.text("1")
		e.keys("Enter")
		e.see(`2: Take it back`)
		e.text("2")
		e.keys("Enter")
		e.see(`the rule was taken back`)
		e.ex("Tandem permissions")
		e.see(`there are no permission rules`)
		e.ex("Tandem rename it")
		e.see(`(?s)Tandem asks.*7  Always allow edits of all files`)
		e.choose(2)
		e.see(`Not any more\.`)
	})
}

// A refusal says why: the agent reads it and goes on by it.
func TestNvimRejectAndSayWhy(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "ask", `call read_file {"path":"cart.go"}

`+mendTotal+`see /The user says: keep it as it is/
say As you like.
`, options{files: map[string]string{"cart.go": shop}, open: "cart.go"})
		e.ex("Tandem fix Total")
		e.see(`3  Reject, and say why …`)
		e.choose(3)
		e.see(`Reject, and tell the agent why`)
		e.text("keep it as it is")
		e.show("the reason")
		e.keys("Enter")
		e.see(`As you like\.`)
		e.turn(1)
		e.holds("cart.go", shop, "after the refusal")
	})
}

// Of two questions that stand, the answer to one covers the other, which goes away; and a cancelled turn takes its questions along.
func TestF216NvimQuestionsGoAway(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		const two = `call write_file {"path":"one.txt","content":"1\n"}
call write_file {"path":"two.txt","content":"2\n"}

`
		e := session(t, nvim, "ask", two+`say Both are there.

call bash {"command":"touch never.txt"}

say not said
`, options{files: map[string]string{"cart.go": shop}, open: "cart.go"})
		waiting := func(n string) {
			t.Helper()
			e.until(n+" questions wait", func() bool {
				return e.try("require('tandem.question').waiting(require('tandem.client').all()[1].session)") == n
			})
		}
		e.ex("Tandem two files")
		waiting("2")
		e.see(`4  Allow all edits of this turn`)
		e.choose(4)
		e.see(`Both are there\.`)
		e.turn(1)
		waiting("0")
		if e.disk("one.txt") != "1\n" || e.disk("two.txt") != "2\n" {
			t.Error("they are not written")
		}
		e.ex("Tandem a command")
		waiting("1")
		e.ex("Tandem stop")
		e.see(`■ Stopped\.`)
		waiting("0")
	})
}

// Commands in the background are counted above the chat and listed, and one can be ended.
func TestNvimJobs(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", `call bash {"command":"sleep 8123459","background":true}

say It runs.
`, options{files: map[string]string{"a.txt": "one\n"}, open: "a.txt"})
		e.ex("Tandem jobs")
		e.see(`no command runs in the background`)
		e.ex("Tandem go")
		e.see(`It runs\.`)
		e.turn(1)
		e.see(`(?m)1 job$`)
		e.ex("Tandem jobs")
		e.see(`(?s)Commands in the background.*1: job_1  \$ sleep 8123459`)
		e.show("the jobs")
		e.text("1")
		e.keys("Enter")
		e.see(`2: End it`)
		e.text("2")
		e.keys("Enter")
		e.see(`job_1 has ended`)
		e.until("the command is gone", func() bool { return !sleeps("8123459") })
		e.until("nothing is counted", func() bool { return !strings.Contains(e.screen(), "1 job") })
	})
}

// TestFaultV3NvimNewSession: a session with commands in the background is left only when the person has said what becomes of
// them: stay, let them run, or end them.
func TestFaultV3NvimNewSession(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", `call bash {"command":"sleep 8123460","background":true}

say It runs.

say Anew.
`, options{files: map[string]string{"a.txt": "one\n"}, open: "a.txt"})
		choose := func(what, n string) {
			e.ex(what)
			e.see(`(?s)In the background: job_1  \$ sleep 8123460.*1: Stay in this session.*2: Keep running.*3: End it`)
			e.text(n)
			e.keys("Enter")
			e.until("the question is gone", func() bool { return !strings.Contains(e.screen(), "Stay in this session") })
		}
		e.ex("Tandem go")
		e.see(`It runs\.`)
		e.turn(1)
		choose("Tandem new", "1")
		e.until("the session stays", func() bool { return strings.Contains(e.screen(), "It runs.") })
		choose("Tandem new", "2")
		e.until("the chat is empty", func() bool { return !strings.Contains(e.screen(), "It runs.") })
		e.see(`Ask the agent about ws`)
		e.show("a new session beside a command")
		if !sleeps("8123460") {
			t.Error("the command was ended")
		}
		e.ex("Tandem jobs")
		e.see(`(?s)Commands in the background.*1: job_1  \$ sleep 8123460`)
		e.keys("Enter")
		e.see(`(?m)1 job$`) // of a session that is not shown
		e.ex("Tandem sessions")
		e.see(`\d: “go”`)
		e.text(regexp.MustCompile(`(\d): “go”`).FindStringSubmatch(e.screen())[1])
		e.keys("Enter")
		e.see(`It runs\.`)
		choose("Tandem new", "3")
		e.until("the command is gone", func() bool { return !sleeps("8123460") })
		e.see(`Ask the agent about ws`)
	})
}

// In the mode plan an edit is queued and made once :Tandem plans approves it, a deletion is refused in plain words, and the mode can be left.
func TestNvimPlan(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "ask", `call write_file {"path":"new.txt","content":"x\n"}

call read_file {"path":"a.txt"}

call delete_file {"path":"a.txt"}

say I would write it.
`, options{files: map[string]string{"a.txt": "one\n"}, open: "a.txt"})
		e.ex("Tandem")
		e.ex("Tandem mode plan")
		e.see(`Tandem model.txt · plan`)
		e.ex("Tandem write")
		e.see(`I would write it\.`)
		e.turn(1)
		e.see(`Planned: Create new\.txt`)
		e.see(`In plan mode nothing is changed`)
		e.show("the plan")
		written := func() bool { _, err := os.Stat(e.path("new.txt")); return err == nil }
		if written() {
			t.Error("it was written")
		}
		e.ex("Tandem plans")
		e.see(`(?s)Planned changes.*1: plan_1  Create new\.txt`)
		e.show("the plans")
		e.text("1")
		e.keys("Enter")
		e.see(`2: Approve it`)
		e.text("2")
		e.keys("Enter")
		e.see(`1 planned change is made`)
		e.until("the file is written", written)
		e.ex("Tandem plans")
		e.see(`no change is planned`)
		e.ex("Tandem mode ask")
		e.see(`Tandem model.txt · ask`)
	})
}

// sleeps says that a process of this machine runs sleep for a number of seconds. The process ids that a command sees are those
// of its own namespace.
func sleeps(seconds string) bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(lines, func(name string) bool {
		line, _ := os.ReadFile(name)
		return string(line) == "sleep\x00"+seconds+"\x00"
	})
}

// A command that runs is ended with all that it started.
func TestNvimStopARunningCommand(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "ask", `call bash {"command":"echo begun; sleep 8123456"}

say never said
`, options{files: map[string]string{"a.txt": "one\n"}, open: "a.txt"})
		e.ex("Tandem go")
		e.see(`(?s)running · begun`)
		e.until("the command sleeps", func() bool { return sleeps("8123456") })
		e.ex("Tandem stop")
		e.see(`■ Stopped\.`)
		e.turn(1)
		e.until("the command is gone", func() bool { return !sleeps("8123456") })
		e.see(`❯ \$ echo begun.*  stopped`)
	})
}

// Of two changes one is accepted and the other rejected, by keys; the marks go, and u brings back what was rejected.
func TestNvimAcceptOneRejectAnother(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", `call read_file {"path":"cart.go"}

`+mendTotal+mendCount+`say Both are done.
`, options{files: map[string]string{"cart.go": shop}, open: "cart.go", rc: `
			vim.keymap.set('n', ']h', '<Plug>(tandem-next)')
			vim.keymap.set('n', '[h', '<Plug>(tandem-prev)')
			vim.keymap.set('n', 'gha', '<Plug>(tandem-accept)')
			vim.keymap.set('n', 'ghr', '<Plug>(tandem-reject)')
			vim.keymap.set('n', 'ghd', '<Plug>(tandem-diff)')`})
		e.ex("Tandem fix both")
		e.see(`Both are done\.`)
		e.pending(2)
		// What was taken away stands above what came, and that is marked.
		e.see(`(?m)^ +− +sum \+= item\.Cents +│.*\n▎ +sum \+= item\.Cents \* item\.Quantity`)
		e.see(`(?m)^ +− +return len\(items\) +│.*\n▎ +n := len\(items\).*\n▎ +return n`)
		e.text("gg]h")
		e.see(`1/2 · gha `)
		e.show("at the first change")
		e.text("ghd")
		e.see(`(?s)\+\+\+ b/cart\.go.*\n-\t? *sum \+= item\.Cents.*\n\+\t? *sum \+= item\.Cents \* item\.Quantity`)
		e.show("the diff")
		e.text("q")
		e.until("the diff is closed", func() bool { return e.try("vim.bo.filetype") != "diff" })
		e.text("gha")
		e.pending(1)
		e.text("]h")
		e.see(`1/1 · gha accept · ghr reject`)
		e.text("ghr")
		e.pending(0)
		mended := strings.Replace(shop, "item.Cents\n", "item.Cents * item.Quantity\n", 1)
		e.holds("cart.go", mended, "after the rejection")
		e.show("afterwards")
		e.keys("u")
		e.holds("cart.go", strings.Replace(mended, "\treturn len(items)\n", "\tn := len(items)\n\treturn n\n", 1), "after u")
		if got := e.disk("cart.go"); got != shop {
			t.Errorf("on disk:\n%s", got)
		}
	})
}

// All at once, from the chat; and the changes as a list and side by side.
func TestNvimReviewOfAll(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", `call read_file {"path":"cart.go"}
call read_file {"path":"closed.txt"}

call edit_file {"path":"closed.txt","old_text":"two","new_text":"TWO"}
`+mendTotal+`say Done.
`, options{files: map[string]string{"cart.go": shop, "closed.txt": "one\ntwo\n"}, open: "cart.go"})
		e.ex("Tandem fix all")
		e.see(`Done\.`)
		e.until("two changes wait in two files", func() bool { return e.try("require('tandem').status()") == "tandem ±2/2" })
		e.ex("Tandem diff split")
		e.until("Neovim's diff mode", func() bool { return e.try("tostring(vim.wo.diff)") == "true" })
		e.see(`(?m)sum \+= item\.Cents +│.*sum \+= item\.Cents \* item\.Quantity`)
		e.ex("tabclose")
		e.ex("Tandem changes")
		e.see(`(?s)cart\.go\|7\|[^\n]*\+1 −1.*closed\.txt\|2`)
		e.ex("cclose")
		e.ex("Tandem prev")
		e.until("it goes to the other file", func() bool { return e.try("vim.fn.expand('%:t')") == "closed.txt" })
		e.see(`(?m)^ *−two +│.*\n▎ TWO`)
		e.ex("Tandem diff all")
		e.see(`(?s)\+\+\+ b/cart\.go.*\+\+\+ b/closed\.txt.*\+TWO|\+\+\+ b/closed\.txt.*\+TWO.*\+\+\+ b/cart\.go`)
		e.text("q")
		e.ex("wincmd l")
		e.ex("Tandem reject all")
		e.pending(0)
		e.holds("cart.go", shop, "after the rejection")
		e.holds("closed.txt", "one\ntwo", "after the rejection")
	})
}

// u takes back the agent's edits and one's own in the order in which they came, and C-r brings all of them back.
func TestNvimUndoMixed(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", `call read_file {"path":"cart.go"}

`+mendTotal+`say First.

`+mendCount+`say Second.
`, options{files: map[string]string{"cart.go": shop}, open: "cart.go"})
		states := []string{shop}
		is := func(text, when string) {
			t.Helper()
			e.holds("cart.go", text, when)
			states = append(states, text)
		}
		e.text("ggO// mine")
		e.keys("Escape")
		now := "// mine\n" + shop
		is(now, "after typing")
		e.ex("Tandem fix Total")
		e.turn(1)
		now = strings.Replace(now, "item.Cents\n", "item.Cents * item.Quantity\n", 1)
		is(now, "after the first turn")
		e.text("Go// mine, too")
		e.keys("Escape")
		now += "// mine, too\n"
		is(now, "after typing again")
		e.ex("Tandem fix Count")
		e.turn(2)
		now = strings.Replace(now, "\treturn len(items)\n", "\tn := len(items)\n\treturn n\n", 1)
		is(now, "after the second turn")
		for i := len(states) - 2; i >= 0; i-- {
			e.keys("u")
			e.holds("cart.go", states[i], fmt.Sprintf("after u, back to state %d,", i))
		}
		e.pending(0)
		for i := 1; i < len(states); i++ {
			e.keys("C-r")
			e.holds("cart.go", states[i], fmt.Sprintf("after C-r, on to state %d,", i))
		}
	})
}

// A buffer that is not saved is what the agent sees and changes; a CRLF file stays one, open or not.
func TestNvimDirtyAndCRLF(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", `call read_file {"path":"dirty.txt"}
call read_file {"path":"crlf.txt"}

see /typed and not saved/
call edit_file {"path":"dirty.txt","old_text":"typed and not saved","new_text":"typed, and seen"}
call edit_file {"path":"crlf.txt","old_text":"two\nthree","new_text":"TWO\nand a half\nTHREE"}

say Done.
`, options{files: map[string]string{"dirty.txt": "one\n", "crlf.txt": "one\r\ntwo\r\nthree\r\n"}, open: "crlf.txt"})
		e.ex("split dirty.txt")
		e.text("otyped and not saved")
		e.keys("Escape")
		e.ex("Tandem go")
		e.turn(1)
		e.holds("dirty.txt", "one\ntyped, and seen", "after the turn")
		e.holds("crlf.txt", "one\nTWO\nand a half\nTHREE", "after the turn")
		if got := e.disk("dirty.txt"); got != "one\n" {
			t.Errorf("dirty.txt was written behind the person's back: %q", got)
		}
		if got := e.lua("vim.bo[vim.fn.bufnr('crlf.txt')].fileformat"); got != "dos" {
			t.Errorf("the file format has become %s", got)
		}
		e.ex("wall")
		e.until("both are written", func() bool {
			crlf := "one\r\nTWO\r\nand a half\r\nTHREE\r\n"
			return e.disk("crlf.txt") == crlf && e.disk("dirty.txt") == "one\ntyped, and seen\n"
		})
	})
}

// A killed server takes nothing along: what is typed stays, it is said, and the next prompt starts another one.
func TestNvimServerKilled(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", `call read_file {"path":"cart.go"}

`+mendTotal+`say Done.
wait 60s
`, options{files: map[string]string{"cart.go": shop}, open: "cart.go"})
		e.ex("Tandem go")
		e.see(`Done\.`)
		e.until("one change waits", func() bool { return strings.HasSuffix(e.try("require('tandem').status()"), "±1") })
		e.text("ggO// typed")
		kill(t, e, 1)
		e.see(`The server stopped`)
		e.text(" on")
		e.keys("Escape")
		mended := "// typed on\n" + strings.Replace(shop, "item.Cents\n", "item.Cents * item.Quantity\n", 1)
		e.holds("cart.go", mended, "afterwards")
		e.show("after the server was killed")
		if strings.Contains(e.screen(), "▎       ") {
			t.Error("marks of the dead session are left")
		}
		e.keys("u", "u")
		e.holds("cart.go", shop, "after u")
		e.ex("Tandem go again")
		e.see(`(?s)go again.*Done\.`)
		e.holds("cart.go", strings.Replace(shop, "item.Cents\n", "item.Cents * item.Quantity\n", 1), "after the restart")
	})
}

// kill ends the servers of a workspace the hard way.
func kill(t *testing.T, e *terminal, n int) {
	t.Helper()
	var servers []string
	e.until(fmt.Sprintf("there are %d servers", n), func() bool { // what one starts begins in its folder
		servers = e.servers()
		return len(servers) == n
	})
	for _, p := range servers {
		pid := 0
		if _, err := fmt.Sscan(filepath.Base(p), &pid); err != nil {
			t.Fatal(err)
		}
		p, err := os.FindProcess(pid)
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Two workspaces in one Neovim have a server, a chat and changes each.
func TestNvimTwoWorkspaces(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", `call read_file {"path":"x.txt"}

call edit_file {"path":"x.txt","old_text":"one","new_text":"ONE"}

say Done here.
`, options{files: map[string]string{
			"a/.tandem/keep": "", "a/x.txt": "one a\n", "b/.tandem/keep": "", "b/x.txt": "one b\n",
		}, open: "a/x.txt"})
		e.ex("Tandem in a")
		e.holds("a/x.txt", "ONE a", "after the first turn")
		e.pending(1)
		e.ex("edit b/x.txt")
		e.ex("Tandem in b")
		e.holds("b/x.txt", "ONE b", "after the second turn")
		e.until("both servers run", func() bool { return e.try("#require('tandem.client').all()") == "2" })
		e.until("both chats have their own", func() bool {
			return e.try(`(function()
				local roots = {}
				for _, i in ipairs(require('tandem.client').all()) do
					roots[#roots + 1] = vim.fs.basename(i.root) .. i.chat.items[1].text .. tostring(i.turn)
				end
				table.sort(roots)
				return table.concat(roots, ' ')
			end)()`) == "ain a1 bin b1"
		})
		e.ex("Tandem reject all")
		e.holds("b/x.txt", "one b", "after the rejection in b")
		e.holds("a/x.txt", "ONE a", "after the rejection in b")
		e.ex("buffer a/x.txt")
		e.ex("Tandem quit")
		e.until("one of them is left", func() bool { return e.try("#require('tandem.client').all()") == "1" })
	})
}

const clarify = `call clarify {"question":"Which one?",` +
	`"options":[{"id":"a","label":"The first"},{"id":"b","label":"The second"}]}`

// The model asks back: with one of the options, and in words of one's own.
func TestNvimClarify(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", clarify+`

see /The second/
call clarify {"question":"And how?"}

see /gently/
say Gently, then.
`, options{files: map[string]string{"a.txt": "one\n"}, open: "a.txt"})
		e.ex("Tandem go")
		e.text("A typing")
		e.see(`(?s)Tandem wants to know.*Which one\?.*1  The first.*2  The second.*3  In your own words`)
		e.text(" on 2")
		e.keys("Escape")
		e.choose(2)
		e.see(`And how\?`)
		e.choose(1)
		e.see(`(?s)And how\?.*Ctrl-J new line`)
		e.text("gently")
		e.show("the answer is written")
		e.keys("Enter")
		e.see(`Gently, then\.`)
		e.turn(1)
		e.holds("a.txt", "one typing on 2", "afterwards")
	})
}

// What is asked is written in a window of its own, in several lines, with the lines that were chosen; then a new
// session.
func TestNvimPromptWindowAndNewSession(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		e := session(t, nvim, "auto", "see /two and\\nthree/\nsee /line B/\nsay As you wish.\n\nsay Anew.\n", options{
			files: map[string]string{"a.txt": "line A\nline B\nline C\n"}, open: "a.txt",
			rc: `vim.o.statusline = "%f %{v:lua.require'tandem'.status()}"
				vim.keymap.set({ 'n', 'x' }, ' t', '<Plug>(tandem-ask)')`,
		})
		e.text("jV t")
		e.see(`Ask about ws · a\.txt:2-2`)
		e.text("two and")
		e.keys("C-j")
		e.text("three")
		e.keys("Escape", "Escape")
		e.until("the window is closed", func() bool { return e.try("vim.bo.filetype") != "tandem-prompt" })
		e.text("2GV t")
		e.see(`(?s)two and.*three`) // it was not lost
		e.show("the prompt")
		e.keys("Enter")
		e.see(`(?s)▎ two and.*▎ three.*As you wish\.`)
		e.turn(1)
		e.see(`(?m)^a\.txt tandem `)
		e.ex("Tandem new")
		e.until("the chat is empty", func() bool { return !strings.Contains(e.screen(), "As you wish") })
		e.see(`Ask the agent about ws`)
		e.ex("Tandem mode ask")
		e.see(`Tandem .* · ask`)
		e.ex("wincmd l")
		e.keys("i")
		e.see(`Ctrl-J new line`)
		e.text("again")
		e.keys("Enter")
		e.see(`▎ again`)
		e.turn(1)
	})
}

// Before the first use nothing of the plugin is loaded but its command, in less than a millisecond.
func TestNvimStartup(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		dir := t.TempDir()
		plugin, err := filepath.Abs(filepath.Join("..", "nvim"))
		if err != nil {
			t.Fatal(err)
		}
		init := filepath.Join(dir, "init.lua")
		write(t, init, fmt.Sprintf(`vim.opt.runtimepath:prepend(%q)
			vim.api.nvim_create_autocmd('VimLeavePre', { callback = function()
				local loaded = vim.tbl_filter(function(name) return name:find('^tandem') end, vim.tbl_keys(package.loaded))
				vim.fn.writefile({ vim.fn.exists(':Tandem') .. table.concat(loaded, ' ') }, %q)
			end })`, plugin, filepath.Join(dir, "loaded")))
		var all []float64
		for i := range 10 {
			log := filepath.Join(dir, fmt.Sprint("log", i))
			cmd := command(t, nvim, "--headless", "--startuptime", log, "-u", init, "-i", "NONE", "+qa")
			cmd.Env = append(cmd.Environ(), "XDG_STATE_HOME="+dir, "XDG_DATA_HOME="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				var clock, elapsed, self float64
				if strings.Contains(line, plugin+"/plugin/tandem.lua") {
					if _, err := fmt.Sscanf(strings.ReplaceAll(line, ":", " "), "%f %f %f", &clock, &elapsed, &self); err != nil {
						t.Fatalf("%v in %q", err, line)
					}
					all = append(all, elapsed)
				}
			}
		}
		if got, err := os.ReadFile(filepath.Join(dir, "loaded")); err != nil || string(got) != "2\n" {
			t.Errorf("loaded before the first use: %q, %v", got, err)
		}
		if len(all) != 10 {
			t.Fatalf("the plugin was sourced %d times in 10 starts", len(all))
		}
		slices.Sort(all)
		t.Logf("sourcing the plugin takes %.2f to %.2f ms, %.2f in the middle", all[0], all[9], all[5])
		if all[0] > 1 {
			t.Errorf("even the best of 10 starts took %.2f ms", all[0])
		}
	})
}

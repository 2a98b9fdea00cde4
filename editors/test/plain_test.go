package editorstest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// plainEditor is an editor with its own language client and no plug-in, and the keys of a person in front of it.
type plainEditor struct {
	editor, suite string
	// start writes the person's configuration below base and gives the command line that opens file.
	start func(t *testing.T, base, program, server, file string) []string
	// ready is what the screen shows once the server is there, "" where that does not show.
	ready string
	// act opens the code actions of the line that asks and takes the first, choose takes an answer that is not the first, by
	// its number and its title, save writes the file, and quit leaves the editor.
	act, save, quit func(e *terminal)
	choose          func(e *terminal, n int, title string)
	// above begins to type in a new first line, rest ends that, find goes to a line, actions opens its code actions, and undo takes the
	// agent's turn back.
	above, rest, actions, undo func(e *terminal)
	find                       func(e *terminal, line string)
	// key is one that changes nothing. Emacs does not count as idle after a question until a key is pressed, and eglot tells
	// of changes when it is idle.
	key string
}

var plainEditors = map[string]plainEditor{
	"Neovim": {
		editor: "nvim", suite: "sid",
		start: func(t *testing.T, base, program, server, file string) []string {
			init := filepath.Join(base, "init.lua")
			write(t, init, fmt.Sprintf(`vim.opt.shortmess:append('I')
vim.o.swapfile = false
vim.api.nvim_create_autocmd('BufReadPost', { callback = function()
	vim.lsp.start({ name = 'tandem', cmd = { %q, '--stdio' }, root_dir = vim.fn.getcwd() })
end })
vim.api.nvim_create_autocmd('LspAttach', { callback = function() vim.o.statusline = 'attached' end })
`, server))
			return []string{program, "--clean", "-u", init, "-i", "NONE", "+2", file}
		},
		ready: "attached",
		act: func(e *terminal) {
			e.ex("lua vim.lsp.buf.code_action()")
			e.see(`do what this comment says`)
			e.text("1")
			e.send("Enter")
		},
		choose: func(e *terminal, n int, _ string) { e.text(fmt.Sprint(n)); e.send("Enter") },
		save:   func(e *terminal) { e.text(":w"); e.send("Enter") },
		quit:   func(e *terminal) { e.text(":qa!"); e.send("Enter") },
		above:  func(e *terminal) { e.text("ggO") },
		rest: func(e *terminal) {
			e.send("Escape")
			e.until("Insert mode has ended", func() bool { return !seen(e, `-- INSERT --`) })
		},
		find: func(e *terminal, line string) { e.text("/" + line); e.send("Enter") },
		actions: func(e *terminal) {
			e.ex("lua vim.lsp.buf.code_action()")
			e.see(`Reject the agent`)
		},
		undo: func(e *terminal) {
			e.ex("lua vim.lsp.buf_request(0, 'workspace/executeCommand', { command = 'tandem.undoTurn' }, function() end)")
		},
	},
	"Helix": {
		editor: "helix", suite: "sid",
		start: func(t *testing.T, base, program, server, file string) []string {
			write(t, filepath.Join(base, "config", "helix", "languages.toml"), fmt.Sprintf(`[language-server.tandem]
command = %q
args = ["--stdio"]

[[language]]
name = "plaintext"
scope = "text.plain"
file-types = ["txt"]
language-servers = ["tandem"]
`, server))
			return []string{program, file + ":2"}
		},
		act: func(e *terminal) {
			var pressed time.Time
			e.until("the code actions are there", func() bool { // until the server is there Helix only says that it is not
				if time.Since(pressed) > 3*time.Second {
					e.send("Space", "a")
					pressed = time.Now()
				}
				return seen(e, `do what this comment says`)
			})
			e.send("Enter")
		},
		choose: func(e *terminal, n int, _ string) {
			for range n - 1 {
				e.send("Down")
			}
			e.send("Enter")
		},
		save:    func(e *terminal) { e.text(":w"); e.send("Enter") },
		quit:    func(e *terminal) { e.text(":q!"); e.send("Enter") },
		above:   func(e *terminal) { e.text("ggO") },
		rest:    func(e *terminal) { e.send("Escape"); e.see(`(?m)^ *NOR`) },
		find:    func(e *terminal, line string) { e.text("/" + line); e.send("Enter") },
		actions: func(e *terminal) { e.send("Space", "a"); e.see(`Reject the agent`) },
		undo:    func(e *terminal) { e.text(":lsp-workspace-command tandem.undoTurn"); e.send("Enter") },
	},
	"eglot": {
		editor: "emacs", suite: "trixie",
		start: func(t *testing.T, base, program, server, file string) []string {
			init := filepath.Join(base, "init.el")
			write(t, init, fmt.Sprintf(`(require 'eglot)
(setq make-backup-files nil auto-save-default nil create-lockfiles nil inhibit-startup-screen t)
(add-to-list 'eglot-server-programs '(text-mode . (%q "--stdio")))
(add-hook 'text-mode-hook #'eglot-ensure)
`, server))
			return []string{program, "-nw", "-Q", "-l", init, "+2", file}
		},
		ready: `\[eglot:`,
		act: func(e *terminal) {
			e.send("M-x")
			e.text("eglot-code-actions")
			e.send("Enter")
			e.see(`do what this comment says|tandem`)
			e.send("Enter")
		},
		choose: func(e *terminal, _ int, title string) {
			e.send("C-a", "C-Space", "C-e", "C-w") // C-k on an empty line is an error, at which Emacs forgets the keys behind it
			for i, word := range strings.Fields(title) {
				if i > 0 {
					e.send("C-q", "Space") // a Space by itself completes
				}
				e.text(word)
			}
			e.send("Enter")
		},
		save:  func(e *terminal) { e.send("C-x", "C-s") },
		quit:  func(e *terminal) { e.send("C-x", "C-c") },
		above: func(e *terminal) { e.send("M-<", "C-o") },
		rest:  func(*terminal) {},
		find: func(e *terminal, line string) {
			e.send("M-<", "C-s")
			e.text(line)
			e.send("Enter", "C-a")
		},
		actions: func(e *terminal) {
			e.send("M-x")
			e.text("eglot-code-actions")
			e.send("Enter")
			e.see(`Reject the agent|Accept the agent`)
		},
		undo: func(e *terminal) {
			e.send("M-:")
			e.text(`(eglot-execute-command (eglot-current-server) 'tandem.undoTurn [])`)
			e.send("Enter")
		},
		key: "C-a",
	},
}

func seen(e *terminal, pattern string) bool {
	return regexp.MustCompile(pattern).MatchString(e.screen())
}

// open starts the editor with the server and a.txt, which has text.
func (ed plainEditor) open(t *testing.T, text, script, mode string) *terminal {
	program := filepath.Join(editors(t), ed.editor+"-"+ed.suite, "bin", ed.editor)
	need(t, program, "install-debian.sh "+ed.editor+" "+ed.suite+" installs it")
	need(t, "tmux", "the package tmux has it")
	server, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	base, err := os.MkdirTemp("", "te-")
	if err != nil {
		t.Fatal(err)
	}
	e := &terminal{t: t, dir: filepath.Join(base, "ws"), tmux: filepath.Join(base, "tmux")}
	write(t, e.path("a.txt"), text)
	write(t, filepath.Join(base, "script"), script)
	write(t, filepath.Join(base, "config", "tandem", "config.json"),
		fmt.Sprintf(`{"mode": %q, "model": %q}`, mode, "script:"+filepath.Join(base, "script")))
	args := []string{"new-session", "-d", "-x", "110", "-y", "30", "-s", "e", "-c", e.dir}
	for _, kind := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
		e.env = append(e.env, fmt.Sprintf("XDG_%s_HOME=%s", kind, filepath.Join(base, strings.ToLower(kind))))
		args = append(args, "-e", e.env[len(e.env)-1])
	}
	t.Cleanup(func() {
		if t.Failed() {
			e.show("the screen at the end")
			t.Logf("logs:\n%s", e.log(base))
		}
		_ = e.command("kill-server").Run()
		_ = os.RemoveAll(base)
	})
	args = append(args, ed.start(t, base, program, server, "a.txt")...)
	if out, err := e.command(args...).CombinedOutput(); err != nil {
		t.Fatalf("starting tmux: %v\n%s", err, out)
	}
	first, _, _ := strings.Cut(text, "\n")
	e.see(first)
	if ed.ready != "" {
		e.see(ed.ready)
	}
	return e
}

// In an editor that knows nothing of Tandem but LSP: a comment is the prompt, its code action begins a turn, the edit of the
// open file lands in the buffer once it is allowed, and Enter allows nothing.
func TestFindingL1L2L9PlainEditors(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real editors")
	}
	const script = `call read_file {"path": "a.txt"}

call write_file {"path": "wrong.txt", "content": "wrong\n"}

see /denied/
call edit_file {"path": "a.txt", "old_text": "gamma", "new_text": "delta"}

see /File edited/
call bash {"command": "touch ran"}

see /denied/
say All is done.
`
	const before, after = "alpha\n# tandem: make it delta\ngamma\n", "alpha\n# tandem: make it delta\ndelta\n"
	for name, ed := range plainEditors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := ed.open(t, before, script, "ask")
			ed.act(e)

			e.see(`Create wrong\.txt`)
			e.send("Enter")
			e.see(`a\.txt \+1 −1, line`)
			if _, err := os.Stat(e.path("wrong.txt")); err == nil {
				t.Error("Enter has allowed a file to be made")
			}
			ed.choose(e, 2, "Allow once")
			var pressed time.Time
			e.until("the question about a command", func() bool {
				if ed.key != "" && time.Since(pressed) > 2*time.Second {
					e.send(ed.key)
					pressed = time.Now()
				}
				return seen(e, `run a command\?`)
			})
			e.show("the question")
			e.see(`(?m)^[ ~\d]*delta`)
			if got := e.disk("a.txt"); got != before {
				t.Errorf("the open file was written on disk: %q", got)
			}
			e.send("Enter")
			e.see(`All is done\.`)
			if _, err := os.Stat(e.path("ran")); err == nil {
				t.Error("Enter has allowed a command")
			}
			ed.save(e)
			e.until("the file is saved", func() bool { // Helix moves the old one away first, so that there is none for a moment
				text, err := os.ReadFile(e.path("a.txt"))
				return err == nil && string(text) == after
			})
			ed.quit(e)
		})
	}
}

package editorstest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// starting is Lua of a person who runs gopls.
func starting(gopls string) string {
	return fmt.Sprintf(`vim.api.nvim_create_autocmd('FileType', { pattern = 'go', callback = function(a)
	vim.lsp.start({ name = 'gopls', cmd = { %q }, root_dir = vim.fs.dirname(vim.api.nvim_buf_get_name(a.buf)) })
end })
`, gopls)
}

// The agent asks gopls, which Neovim runs, about code: buffers with unsaved text, files that are not open, and what an edit breaks.
func TestNvimLanguages(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		gopls := filepath.Join(editors(t), "gopls", "bin", "gopls")
		need(t, gopls, "run.sh installs it")
		e := session(t, nvim, "auto", `call definition {"path":"use.go","line":3,"symbol":"Add"}

see /(?s)1 definition.*calc\.go:5\n.*5 \| func Add/
call references {"path":"calc.go","line":5,"symbol":"Add"}

see /(?s)2 references to .Add. in 2 files.*calc\.go:5 → .*use\.go:3 → /
call document_symbols {"path":"use.go"}

see /3 \| variable three/
call workspace_symbols {"query":"Add"}

see /calc\.go:5 → function/
call read_file {"path":"calc.go"}

call edit_file {"path":"calc.go","old_text":"return a + b","new_text":"return \"ä\" + cc"}

call diagnostics {"path":"calc.go"}

see /(?s)Found 1 diagnostic in calc.go:\ncalc.go:5 error: undefined: cc \(compiler UndeclaredName\)\n     5 \| func Add/
call edit_file {"path":"calc.go","old_text":"\"ä\" + cc","new_text":"a + b"}

call diagnostics {"path":"calc.go"}

see /No diagnostics in calc.go\.\s*\z/
call rename_symbol {"path":"use.go","line":3,"symbol":"Add","new_name":"Sum"}

see /Renamed .Add. to .Sum. at 2 places in 2 files/
call code_actions {"path":"odd.go","apply":"Organize Imports"}

see /Applied .Organize Imports./
call format {"path":"odd.go"}

see /Formatted odd\.go/
call code_actions {"path":"calc.go","start_line":1}

see /code actions for calc\.go line 1/
say The servers agree.
`, options{
			files: map[string]string{
				"go.mod":  "module calc\n\ngo 1.24\n",
				"calc.go": "package calc\n\nfunc Add(a, b int) int { return a + b }\n",
				"use.go":  "package calc\n\nvar three = Add(1, 2)\n",
				"odd.go":  "package calc\n\nimport \"fmt\"\n\nfunc   Odd()  {}\n",
			},
			open: "calc.go",
			rc:   starting(gopls),
		})
		e.text("jo// Add adds.")
		e.keys("Enter", "Escape")
		e.until("gopls is there", func() bool { return e.lua("#vim.lsp.get_clients({ name = 'gopls' })") == "1" })
		e.ex("Tandem look")
		e.see(`The servers agree\.`)
		e.holds("calc.go", "package calc\n\n// Add adds.\n\nfunc Sum(a, b int) int { return a + b }\n", "after the rename")
		if got := e.disk("use.go"); got != "package calc\n\nvar three = Sum(1, 2)\n" {
			t.Errorf("a file that is not open says %q", got)
		}
		if got := e.disk("odd.go"); got != "package calc\n\nfunc Odd() {}\n" {
			t.Errorf("a file that was put in order says %q", got)
		}
		e.show("the answers")
	})
}

// A person mentions a symbol, what is wrong and what is selected. The menu offers each, and the model gets the lines of the symbol as they
// are in the buffer, what gopls reports, and the selection. Afterwards :checkhealth says how the folder was searched.
func TestNvimMentionsOfCode(t *testing.T) {
	eachNvim(t, func(t *testing.T, nvim string) {
		gopls := filepath.Join(editors(t), "gopls", "bin", "gopls")
		need(t, gopls, "run.sh installs it")
		e := session(t, nvim, "auto", `call workspace_symbols {"query":"Add"}

see /calc\.go:5 → function/
call grep {"pattern":"Add"}

say Ready.

see /(?s)explain @symbol:\S*Add please.*<attached path="calc\.go" lines="[0-9]+-[0-9]+">.*3 \| // Add adds\..*5 \| func Add\(a, b int\).*<\/attached>/
say It adds.

see /(?s)mend @diagnostics.*<attached path="diagnostics">\ncalc\.go:7 error: undefined: y [^\n]*\n<\/attached>/
say It is broken.

see /(?s)what is @selection\n\n<attached path="calc\.go" lines="5-7">\nfunc Add[^\n]*\n\nvar x = y\n<\/attached>/
say Two declarations.
`, options{
			files: map[string]string{
				"go.mod":  "module calc\n\ngo 1.24\n",
				"calc.go": "package calc\n\nfunc Add(a, b int) int { return a + b }\n\nvar x = y\n",
			},
			open: "calc.go",
			rc:   starting(gopls) + "vim.keymap.set({ 'n', 'x' }, ' t', '<Plug>(tandem-ask)')",
		})
		e.text("jo// Add adds.")
		e.keys("Enter", "Escape")
		e.until("gopls is there", func() bool { return e.lua("#vim.lsp.get_clients({ name = 'gopls' })") == "1" })
		e.ex("Tandem look")
		e.see(`Ready\.`)
		e.turn(1)

		// shown types the letters after what stands there, the last of them anew until the menu has what they begin: symbols are
		// not waited for.
		shown := func(letters, menu string) {
			re := regexp.MustCompile(menu)
			e.text(letters)
			again := time.Now().Add(2 * time.Second)
			e.until("the menu has "+menu, func() bool {
				if time.Now().After(again) {
					e.keys("BSpace")
					e.text(letters[len(letters)-1:])
					again = time.Now().Add(2 * time.Second)
				}
				return re.MatchString(e.screen())
			})
			e.show("the menu")
		}
		offered := func(letters, menu string) {
			shown(letters, menu)
			e.keys("C-n", "Enter")
		}
		e.text(" t")
		e.see(`Ask about ws`)
		e.text("explain ")
		offered("@symbol:Ad", `Add +symbol`)
		e.text(" please")
		e.see(`explain @symbol:\S*Add please`)
		e.keys("Enter")
		e.see(`It adds\.`)
		e.turn(2)

		e.text(" t")
		e.see(`Ask about ws`)
		e.text("mend ")
		offered("@dia", `diagnostics +diagnostics`)
		e.see(`mend @diagnostics`)
		e.keys("Enter")
		e.see(`It is broken\.`)
		e.turn(3)

		e.text("5GV7G t")
		e.see(`calc\.go:5-7`)
		e.text("what is ")
		shown("@sel", `selection +selection`)
		e.lua(`vim.api.nvim_input("<C-n><CR><CR>")`) // the last key is there before the one before it has done its work
		e.see(`Two declarations\.`)
		e.turn(4)
		e.show("the answers")

		e.ex("checkhealth tandem")
		e.see(`(?s)searches of \S*/ws: without an index\s+\(no search has come by 2000\s+files yet\)`)
		e.show("checkhealth")
	})
}

package editorstest

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/captures/nvim-*.txt anew")

const cartTest = `package cart

import "testing"

func TestTotal(t *testing.T) {
	items := []Item{{"tea", 250, 2}, {"cup", 900, 1}}
	if got := Total(items); got != 1400 {
		t.Errorf("Total = %d, want 1400", got)
	}
}
`

const (
	looksAround = `think The total ignores the quantity. I look at the test and at who calls it.
call read_file {"path":"cart/cart.go"}
call read_file {"path":"cart/cart_test.go"}
call grep {"pattern":"Total"}

`
	findsIt = "say `Total` adds the price of each line **once**, whatever its quantity, so `TestTotal` gets 1150 instead of 1400.\n" +
		"say The fix is in `cart/cart.go:7`:\nsay\nsay ```go\nsay sum += item.Cents * item.Quantity\nsay ```\n" +
		`call edit_file {"path":"cart/cart.go","old_text":"\t\tsum += item.Cents\n","new_text":"\t\tsum += item.Cents * item.Quantity\n"}

`
	question = "The total of a cart is too small when somebody buys two of a thing. Can you fix it?"
)

// captures are the states of the plugin as a person sees them, the same as those of the pictures of VS Code.
var captures = []struct {
	name, mode, script string
	reach              func(e *terminal)
}{
	{"empty", "ask", "", func(e *terminal) {
		e.ex("Tandem")
		e.see(`(?s)Ask the agent about shop.*:help tandem-model`)
	}},
	{"running", "auto", looksAround + findsIt + `say Now to see that it builds.
call bash {"command":"echo ok example.com/shop/cart; sleep 300"}

say never
`, func(e *terminal) {
		e.ex("Tandem " + question)
		e.see(`running · ok`)
		e.text("}oA line of my own")
		e.see(`A line of my own`)
	}},
	{"permission", "ask", looksAround + findsIt, func(e *terminal) {
		e.ex("Tandem " + question)
		e.see(`(?s)Tandem asks .*Esc: later`)
	}},
	{"reason", "ask", looksAround + findsIt, func(e *terminal) {
		e.ex("Tandem " + question)
		e.choose(3)
		e.text("Mend Count, too, in the same edit.")
		e.see(`in the same edit\.`)
	}},
	{"jobs", "auto", looksAround + `say I start the shop, to see it in use.
call bash {"command":"sleep 300","background":true}

say It runs on.
`, func(e *terminal) {
		e.ex("Tandem " + question)
		e.turn(1)
		e.see(`(?m)1 job$`)
		e.ex("Tandem jobs")
		e.see(`1: job_1`)
	}},
	{"review", "auto", looksAround + findsIt + "say `Count` has the same mistake.\n" +
		`call edit_file {"path":"cart/cart.go","old_text":"\treturn len(items)\n",` +
		`"new_text":"\tn := 0\n\tfor _, item := range items {\n\t\tn += item.Quantity\n\t}\n\treturn n\n"}

say Both functions now heed the quantity.
`, func(e *terminal) {
		e.ex("Tandem " + question)
		e.see(`Both functions now`)
		e.turn(1)
		e.pending(2)
		e.text("gg]h]h")
		e.see(`2/2 · gha accept · ghr reject`)
	}},
	{"error", "ask", "", func(e *terminal) {
		e.ex("Tandem " + question)
		e.see(`■ .*(?s:.*)Incorrect API key`)
		e.turn(1)
	}},
}

// TestNvimCaptures keeps the captures of the documentation: with -update it writes them, without it they must be as they
// stand there. They are those of the Neovim that does not change any more.
func TestNvimCaptures(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real editors")
	}
	nvim := filepath.Join(editors(t), "nvim-trixie", "bin", "nvim")
	need(t, nvim, "install-debian.sh nvim trixie installs it")
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"message":"Incorrect API key provided. Check the key and try again."}}`))
	}))
	t.Cleanup(refuses.Close)
	for _, c := range captures {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			script := filepath.Join(t.TempDir(), "demo-model")
			write(t, script, c.script)
			lua := fmt.Sprintf(`env = { TANDEM_MODEL = %q }, settings = { mode = %q }`, "script:"+script, c.mode)
			if c.name == "empty" {
				lua = `env = { TANDEM_MODEL = 'script/embedded' }`
			} else if c.name == "error" {
				lua = fmt.Sprintf(`env = { SHOP_KEY = 'k' }, settings = { model = 'shop/large', providers = {
					shop = { api = 'openai-chat', baseUrl = %q, apiKeyEnv = 'SHOP_KEY' } } }`, refuses.URL)
			}
			e := start(t, nvim, options{
				name: "shop",
				lua:  fmt.Sprintf("vim.g.tandem = { binary = %q, ask_idle_ms = 100, %s }", bin, lua),
				rc: `vim.o.background, vim.o.laststatus, vim.o.ruler, vim.o.expandtab = 'dark', 2, false, true
					vim.o.tabstop, vim.o.number, vim.o.showcmd = 4, true, false
					vim.o.statusline = " %f%m %= %{v:lua.require'tandem'.status()} "
					vim.keymap.set('n', ']h', '<Plug>(tandem-next)')
					vim.keymap.set('n', 'gha', '<Plug>(tandem-accept)')
					vim.keymap.set('n', 'ghr', '<Plug>(tandem-reject)')`,
				files: map[string]string{
					"go.mod": "module example.com/shop\n", "cart/cart.go": shop, "cart/cart_test.go": cartTest,
				},
				open: "cart/cart.go",
			})
			c.reach(e)
			path := filepath.Join("..", "..", "docs", "captures", "nvim-"+c.name+".txt")
			got := ""
			settled := func() bool { // two looks that are the same
				before := got
				got = tidy(e.screen())
				return got == before
			}
			e.until("the screen stands still", settled)
			if *update {
				write(t, path, got)
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				e.until("the screen is that of "+path+", which -run Captures -update writes anew", func() bool {
					got = tidy(e.screen())
					return got == string(want)
				})
			}
		})
	}
}

// tidy takes away what is not the same each time, and blanks that nobody sees.
func tidy(screen string) string {
	screen = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(screen, "127.0.0.1:8080 ")
	screen = regexp.MustCompile(`(?m) +$`).ReplaceAllString(screen, "")
	return strings.TrimRight(screen, "\n") + "\n"
}

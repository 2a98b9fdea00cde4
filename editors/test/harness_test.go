// Package editorstest drives real editors against the server, as a person would: it types into them through a terminal
// and looks at the screen. The editors come from the install scripts beside it; where one is missing its tests are
// skipped, and fail in CI.
package editorstest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long anything that must happen may take. It is generous, since the machine may be busy; nothing waits
// for it unless something is wrong.
const patience = 30 * time.Second

// relayTo names the socket to which this program relays its standard input and output, when it runs as the "server" of
// an editor: the test that holds the other end then is the server.
const relayTo = "TANDEM_TEST_RELAY"

func TestMain(m *testing.M) {
	if path := os.Getenv(relayTo); path != "" {
		if err := relay(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "tandem-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// built is the folder for programs that the tests build.
var built string

func relay(path string) error {
	c, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(c, os.Stdin)
		_ = c.(*net.UnixConn).CloseWrite()
	}()
	_, err = io.Copy(os.Stdout, c)
	return err
}

// neovims are the versions that are tested, by the Debian suite that they come from.
var neovims = []string{"sid", "trixie"}

// eachNvim runs a test in every Neovim.
func eachNvim(t *testing.T, test func(t *testing.T, nvim string)) {
	if testing.Short() {
		t.Skip("starts real editors")
	}
	for _, suite := range neovims {
		t.Run(suite, func(t *testing.T) {
			t.Parallel()
			nvim := filepath.Join(editors(t), "nvim-"+suite, "bin", "nvim")
			need(t, nvim, "install-debian.sh nvim "+suite+" installs it")
			test(t, nvim)
		})
	}
}

// editors is the cache folder of the install scripts.
func editors(t *testing.T) string {
	if dir := os.Getenv("TANDEM_EDITORS"); dir != "" {
		return dir
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "tandem-editors")
}

// need skips the test, or fails it in CI, where a program is not there.
func need(t *testing.T, program, hint string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing (%s)", program, hint)
	}
	t.Skipf("%s is missing (%s)", program, hint)
}

// binary is the real server: the one that TANDEM_BINARY names, or one that is built once.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("TANDEM_BINARY"); path != "" {
		return filepath.EvalSymlinks(path)
	}
	path := filepath.Join(built, "tandem")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/tandem")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the server: %w\n%s", err, out)
	}
	return path, nil
})

// terminal is a Neovim in a tmux of its own.
type terminal struct {
	t      *testing.T
	dir    string // the workspace
	nvim   string
	tmux   string // its socket
	listen string // Neovim's socket
	args   []string
	env    []string // folders of the server's own files
}

// options say how an editor is started.
type options struct {
	// lua is the rest of its init.lua, which has the plugin in its runtime path.
	lua string
	// files are the workspace.
	files map[string]string
	// name is that of the workspace's folder, if it matters.
	name string
	// rc is Lua of the person's own.
	rc string
	// open is the file to begin with; none for an empty buffer.
	open string
}

// countEscapes is Lua that counts the Escapes that Neovim gets, mapped or not.
const countEscapes = `escapes = 0
vim.on_key(function(key, typed)
	escapes = escapes + ((key == '\27' or typed == '\27') and 1 or 0)
end)
`

// start opens Neovim in a terminal.
func start(t *testing.T, nvim string, o options) *terminal {
	t.Helper()
	need(t, "tmux", "the package tmux has it")
	// Sockets have short names, and those of t.TempDir can be too long.
	base, err := os.MkdirTemp("", "te-")
	if err != nil {
		t.Fatal(err)
	}
	e := &terminal{
		t: t, nvim: nvim, dir: filepath.Join(base, cmp.Or(o.name, "ws")),
		tmux: filepath.Join(base, "tmux"), listen: filepath.Join(base, "nvim"),
	}
	for name, content := range o.files {
		write(t, filepath.Join(e.dir, name), content)
	}
	plugin, err := filepath.Abs(filepath.Join("..", "nvim"))
	if err != nil {
		t.Fatal(err)
	}
	init := filepath.Join(base, "init.lua")
	write(t, init, fmt.Sprintf("vim.opt.runtimepath:prepend(%q)\n", plugin)+
		"vim.opt.shortmess:append('I')\nvim.o.swapfile = false\n"+countEscapes+o.lua+"\n"+o.rc+"\n")

	args := []string{"new-session", "-d", "-x", "120", "-y", "40", "-s", "e", "-c", e.dir}
	for _, name := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
		args = append(args, "-e", fmt.Sprintf("XDG_%s_HOME=%s", name, filepath.Join(base, strings.ToLower(name))))
	}
	e.args = append(args, nvim, "-u", init, "-i", "NONE", "--listen", e.listen)
	if err := os.MkdirAll(e.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			e.show("the screen at the end")
			t.Logf("the server's log:\n%s", e.log(base))
		}
		_ = exec.Command("tmux", "-S", e.tmux, "kill-server").Run()
		_ = os.RemoveAll(base)
	})
	e.launch(o.open)
	return e
}

// launch starts Neovim with a file, or none: the first time, and again when it has ended.
func (e *terminal) launch(open string) {
	e.t.Helper()
	e.until("nothing is left of the one before", func() bool { return e.command("has-session").Run() != nil })
	_ = os.Remove(e.listen)
	args := e.args
	if open != "" {
		args = append(args[:len(args):len(args)], open)
	}
	e.until("tmux has started, which fails while its last server is on its way out", func() bool { return e.command(args...).Run() == nil })
	e.until("Neovim is up", func() bool { return e.try("1") == "1" })
}

// log is what the language server log of Neovim and the server's own say.
func (e *terminal) log(base string) string {
	var b strings.Builder
	for _, pattern := range []string{"state/nvim/*.log", "state/tandem/*.log"} {
		names, _ := filepath.Glob(filepath.Join(base, pattern))
		for _, name := range names {
			text, _ := os.ReadFile(name)
			fmt.Fprintf(&b, "%s:\n%s\n", filepath.Base(name), text[max(0, len(text)-4000):])
		}
	}
	return b.String()
}

// command is a program that ends with the test.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(t.Context(), name, args...)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (e *terminal) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", e.tmux, "-f", "/dev/null", "-u"}, args...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8")
	return cmd
}

func (e *terminal) send(args ...string) {
	e.t.Helper()
	if out, err := e.command(append([]string{"send-keys", "-t", "e"}, args...)...).CombinedOutput(); err != nil {
		e.t.Fatalf("typing %q: %v\n%s", args, err, out)
	}
}

// text types text as it is.
func (e *terminal) text(s string) {
	e.t.Helper()
	e.send("-l", s)
}

// keys types named keys: Enter, Escape, C-r, or characters.
func (e *terminal) keys(names ...string) {
	e.t.Helper()
	for _, name := range names {
		if name == "Escape" {
			e.escape()
		} else {
			e.send(name)
		}
	}
}

// escape types Escape and waits until Neovim has it, since what comes close behind would be taken for a key with Alt. It
// types it once more now and then: right after its start Neovim asks the terminal what it can do, and an answer that
// comes close behind the key swallows it.
func (e *terminal) escape() {
	e.t.Helper()
	before := e.lua("escapes")
	var again time.Time
	e.until("Escape arrives", func() bool {
		if time.Now().After(again) {
			e.send("Escape")
			again = time.Now().Add(2 * time.Second)
		}
		now := e.try("escapes")
		return now != "" && now != before
	})
}

// ex types a command line.
func (e *terminal) ex(command string) {
	e.t.Helper()
	e.text(":" + command)
	e.keys("Enter")
}

// screen is what a person sees.
func (e *terminal) screen() string {
	out, err := e.command("capture-pane", "-p", "-t", "e").Output()
	if err != nil {
		return "(no screen: " + err.Error() + ")"
	}
	return string(out)
}

// see waits until the screen matches.
func (e *terminal) see(pattern string) {
	e.t.Helper()
	re := regexp.MustCompile(pattern)
	e.until("the screen shows "+pattern, func() bool { return re.MatchString(e.screen()) })
}

// show logs the screen.
func (e *terminal) show(what string) {
	e.t.Helper()
	e.t.Logf("%s:\n%s", what, regexp.MustCompile(`(?m)^~? *(│~?)?\n`).ReplaceAllString(e.screen(), ""))
}

// until polls until a condition holds.
func (e *terminal) until(what string, holds func() bool) {
	e.t.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			e.t.Fatalf("it never came that %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// try evaluates a Lua expression in the editor by its back door, beside the keyboard; "" where that failed.
func (e *terminal) try(lua string) string {
	out, _ := e.eval(lua)
	return out
}

func (e *terminal) eval(lua string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	quoted := "'" + strings.ReplaceAll(lua, "'", "''") + "'"
	cmd := exec.CommandContext(ctx, e.nvim, "--server", e.listen, "--remote-expr", "luaeval("+quoted+")")
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	if err := cmd.Run(); err != nil {
		return "", errors.Join(err, errors.New(bad.String()))
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// lua evaluates a Lua expression.
func (e *terminal) lua(expr string) string {
	e.t.Helper()
	out, err := e.eval(expr)
	if err != nil {
		e.t.Fatalf("evaluating %s: %v", expr, err)
	}
	return out
}

// holds waits until the buffer of a file has a text: keys take effect when Neovim comes to them.
func (e *terminal) holds(name, want, when string) {
	e.t.Helper()
	want = strings.TrimSuffix(want, "\n")
	deadline := time.Now().Add(patience)
	for {
		got := e.buffer(name)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			e.t.Fatalf("%s the buffer is\n%s\nwant\n%s", when, got, want)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// turn waits for the end of a turn, by its number.
func (e *terminal) turn(n int) {
	e.t.Helper()
	e.until(fmt.Sprintf("turn %d has ended", n), func() bool {
		return e.try("(require('tandem.client').all()[1] or {}).turn") == strconv.Itoa(n)
	})
}

// buffer is the text of a file's buffer, "" while there is none.
func (e *terminal) buffer(name string) string {
	e.t.Helper()
	path := e.path(name)
	return e.lua(fmt.Sprintf(`vim.fn.bufnr(%q) < 0 and "" or table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr(%q), 0, -1, true), "\n")`,
		path, path))
}

func (e *terminal) path(name string) string { return filepath.Join(e.dir, name) }

func (e *terminal) disk(name string) string {
	e.t.Helper()
	b, err := os.ReadFile(e.path(name))
	if err != nil {
		e.t.Fatal(err)
	}
	return string(b)
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tandem/lspserver/protocol"
	"tandem/lspserver/terminal"
)

// tty is a pseudoterminal. What is on its screen is what the program has written and the terminal has echoed.
type tty struct {
	t      *testing.T
	keys   *os.File // the side of the person
	device *os.File // the side of the program

	mu     sync.Mutex
	more   *sync.Cond
	screen bytes.Buffer
	gone   bool
}

func newTTY(t *testing.T, rows, columns int) *tty {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no pseudoterminals here:", err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	fd := int(keys.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)})
	}
	if err != nil {
		t.Fatal(err)
	}
	device, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = device.Close() })
	y := &tty{t: t, keys: keys, device: device}
	y.more = sync.NewCond(&y.mu)
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := keys.Read(buf)
			y.mu.Lock()
			y.screen.Write(buf[:n])
			y.gone = err != nil
			y.more.Broadcast()
			y.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return y
}

// await returns what has come to the screen since the last call, up to and with one of the words, once one is there.
func (y *tty) await(words ...string) string {
	y.t.Helper()
	late := time.AfterFunc(20*time.Second, func() {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.gone = true
		y.more.Broadcast()
	})
	defer late.Stop()
	y.mu.Lock()
	defer y.mu.Unlock()
	for {
		for _, w := range words {
			w = strings.ReplaceAll(w, "\n", "\r\n")
			if at := bytes.Index(y.screen.Bytes(), []byte(w)); at >= 0 {
				return strings.ReplaceAll(string(y.screen.Next(at+len(w))), "\r\n", "\n")
			}
		}
		if y.gone {
			y.t.Fatalf("%q never came to the screen, which says\n%s", words, y.screen.String())
		}
		y.more.Wait()
	}
}

func (y *tty) press(keys string) {
	y.t.Helper()
	if _, err := y.keys.WriteString(keys); err != nil {
		y.t.Fatal(err)
	}
}

// person is somebody at the terminal for whom time passes when the test lets it.
func (y *tty) person() (p *terminal.Person, waits chan chan struct{}) {
	waits = make(chan chan struct{})
	p = terminal.On(y.device)
	p.Wait = func(ctx context.Context, d time.Duration) error {
		if d != 300*time.Millisecond {
			return errors.New("it waits for another time")
		}
		over := make(chan struct{})
		waits <- over
		<-over
		return ctx.Err()
	}
	return p, waits
}

// askInto sends the answer, which is a no where nobody can be asked.
func askInto(ctx context.Context, p *terminal.Person, q protocol.PermissionParams, answer chan<- bool) {
	go func() {
		option, _, err := p.Permission(ctx, q)
		answer <- option == "allow_once" && err == nil
	}()
}

func command(text string) protocol.PermissionParams {
	return protocol.PermissionParams{
		ToolCall: protocol.Update{
			Title: "$ …", Kind: "execute", Locations: []protocol.Location{{Path: "/srv/shop"}},
			Content: []protocol.ToolContent{{Type: "content", Content: &protocol.ContentBlock{Type: "text", Text: text}}},
		},
		Meta: &protocol.Meta{Tandem: protocol.PermissionMeta{Danger: "moderate", Reason: "bash runs a command"}},
	}
}

// What was typed before a question, or while it has stood for less than 300 ms, answers nothing: neither lines nor keys.
func TestFindingS3S22NothingTypedAheadIsAnAnswer(t *testing.T) {
	for _, c := range []struct {
		keys string
		want bool
	}{{"n\n", false}, {"\n", false}, {"maybe\n", false}, {"y\n", true}, {" YES \n", true}} {
		y := newTTY(t, 24, 80)
		p, waits := y.person()
		y.press("y\n")
		y.await("y\n")
		answer := make(chan bool)
		askInto(t.Context(), p, command("make"), answer)
		over := <-waits
		y.await("  | make\n")
		y.press("yes\ny")
		y.await("yes\ny")
		close(over)
		y.await("Allow? [y/N] ")
		select {
		case <-answer:
			t.Fatal("it was answered before anything was typed")
		default:
		}
		if y.press(c.keys); <-answer != c.want {
			t.Errorf("%q was taken for %v", c.keys, !c.want)
		}
	}
}

// The end of the input, and of the turn, is a no.
func TestFindingS3NoAnswerIsANo(t *testing.T) {
	y := newTTY(t, 24, 80)
	p, waits := y.person()
	answer := make(chan bool)
	ctx, cancel := context.WithCancel(t.Context())
	ask := func() { askInto(ctx, p, command("make"), answer) }
	ask()
	close(<-waits)
	y.await("Allow? [y/N] ")
	y.press("\x04") // the end of the input
	if <-answer {
		t.Error("the end of the input allowed a command")
	}
	ask()
	over := <-waits
	cancel()
	close(over)
	if <-answer {
		t.Error("the end of the turn allowed a command")
	}
	ctx, cancel = context.WithCancel(t.Context())
	ask()
	close(<-waits)
	y.await("Allow? [y/N] ")
	if cancel(); <-answer {
		t.Error("the end of the turn allowed a command that was asked about")
	}
}

// All of a question is shown, between margins and page by page; who has not seen the last page cannot allow.
func TestFindingS3S17AllIsShown(t *testing.T) {
	const lines = 100
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "echo %d\n", i)
	}
	long := strings.Repeat("x", 200) + strings.Repeat(" ", 80) + "Allow? [y/N] y"
	text.WriteString(long + "\x1b[2J\u202e\n")
	y := newTTY(t, 24, 80)
	p, waits := y.person()
	answer := make(chan bool)
	ask := func() { askInto(t.Context(), p, command(text.String()), answer) }
	ask()
	seen := ""
	for pages := 0; ; pages++ {
		if pages > 20 {
			t.Fatal("there is no end of pages")
		}
		close(<-waits)
		part := y.await("denies: ", "\nAllow? [y/N] ")
		if n := strings.Count(part, "\n"); n > 24 {
			t.Errorf("a page of %d rows on a terminal of 24", n)
		}
		for row := range strings.SplitSeq(part, "\n") {
			if len([]rune(row)) > 80 {
				t.Errorf("a row is wider than the terminal: %q", row)
			}
		}
		if seen += part; strings.HasSuffix(part, "\nAllow? [y/N] ") {
			break
		}
		y.press("\n")
	}
	y.press("y\n")
	if !<-answer {
		t.Error("it was not allowed")
	}
	if !strings.HasPrefix(seen, "Run a command in /srv/shop\n  bash runs a command\n  101 lines, ") {
		t.Errorf("the question begins with %.200q", seen)
	}
	for i := range lines {
		if !strings.Contains(seen, fmt.Sprintf("\n  | echo %d\n", i)) {
			t.Errorf("line %d was not shown", i)
		}
	}
	whole := strings.ReplaceAll(seen, "\n  · ", "")
	if strings.ContainsAny(seen, "\x1b\u202e") || !strings.Contains(whole, "\n  | "+long+"\\u{1b}[2J\\u{202e}\n") || strings.Count(seen, "\nAllow?") != 1 {
		t.Errorf("the last line is %q", whole[strings.Index(whole, "xxx"):])
	}

	ask()
	close(<-waits)
	y.await("denies: ")
	y.press("y\n")
	if <-answer {
		t.Error("a command was allowed before its last page")
	}
}

// runs is the built program playing a script in a folder of its own, in mode ask.
func runs(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "model")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "sub"), 0o755), os.WriteFile(path, []byte(script), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "run", "--model=script:"+path, "--mode=ask", "Go.")
	home := t.TempDir()
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// on makes a terminal the controlling one of a program, whose input and output are something else.
func (y *tty) on(cmd *exec.Cmd) {
	cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Ctty = true, 3
	cmd.ExtraFiles = []*os.File{y.device}
}

// A question is on the terminal that its answer comes from, wherever the output goes; without a terminal nobody is asked, and
// that is said once.
func TestFindingS3AskedOnTheControllingTerminal(t *testing.T) {
	const script = "call bash {\"command\": \"touch ran\"}\n\ncall bash {\"command\": \"touch ran2\"}\n\nsay Done.\n"
	for _, there := range []bool{true, false} {
		cmd := runs(t, script)
		var out, info bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &info
		y := newTTY(t, 24, 100)
		if there {
			y.on(cmd)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if there {
			if asked := y.await("Allow? [y/N] "); !strings.Contains(asked, "  | touch ran\n") {
				t.Errorf("asked %q", asked)
			}
			y.press("y\n")
			y.await("  | touch ran2\n", "[y/N] ")
			y.await("[y/N] ")
			y.press("n\n")
		}
		if err := cmd.Wait(); (err == nil) != there { // without a terminal every change is refused, which is a failure
			t.Errorf("a terminal: %v, %v", there, err)
		}
		if got := strings.Count(info.String(), "! there is no terminal, so no permission prompt can be shown. Actions that need one are refused.\n"); (got == 1) == there {
			t.Errorf("a terminal: %v, said %d times\n%s", there, got, info.String())
		}
		if strings.Contains(out.String()+info.String(), "[y/N]") || out.String() != "Done.\n" {
			t.Errorf("the output is %q and %q", out.String(), info.String())
		}
		if _, err := os.Stat(filepath.Join(cmd.Dir, "ran")); (err == nil) != there {
			t.Errorf("a terminal: %v, ran: %v", there, err)
		}
		if _, err := os.Stat(filepath.Join(cmd.Dir, "ran2")); err == nil {
			t.Error("what was denied ran")
		}
	}
}

// TestF204AnswersAtTheTerminal: "always" is kept as the rule that was shown, asks nothing afterwards, and can be taken back.
func TestF204AnswersAtTheTerminal(t *testing.T) {
	const script = `call write_file {"path": "sub/a", "content": "x"}` + "\n\n" + `call write_file {"path": "sub/b", "content": "x"}` + "\n\nsay Done.\n"
	cmd := runs(t, script)
	y := newTTY(t, 24, 100)
	y.on(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if asked := y.await("Allow? [y/N] "); !strings.Contains(asked, "\n  a: Always allow new files below sub/, in this workspace\n") {
		t.Errorf("asked %q", asked)
	}
	y.press("a\n")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := os.Stat(filepath.Join(cmd.Dir, "sub", name)); err != nil {
			t.Error(err)
		}
	}
	permissions := func(args ...string) string {
		c := exec.CommandContext(t.Context(), program, append([]string{"permissions"}, args...)...)
		c.Dir, c.Env = cmd.Dir, cmd.Env
		out, err := c.Output()
		if err != nil {
			t.Error(args, err)
		}
		return string(out)
	}
	list := permissions("list")
	if !strings.Contains(list, "  allow  write_file sub/**  ("+cmd.Dir+", ") {
		t.Errorf("%q", list)
	}
	permissions("remove", strings.Fields(list)[0])
	if list = permissions("list"); list != "" {
		t.Errorf("%q", list)
	}
}

// A refusal at the terminal says why, in the letters that were typed, and the model reads it.
func TestTheTerminalRejectsAndSaysWhy(t *testing.T) {
	const script = `call write_file {"path": "a", "content": "x"}` + "\n\nsee /The user says: Not in A, in B\\./\nsay Done.\n"
	cmd := runs(t, script)
	y := newTTY(t, 24, 100)
	y.on(cmd)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if asked := y.await("Allow? [y/N] "); !strings.Contains(asked, "\n  w: Reject, and say why\n") {
		t.Errorf("asked %q", asked)
	}
	y.press("w\n")
	y.await("Why, or what instead? ")
	y.press(" Not in A, in B.\n")
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "Done.") {
		t.Error(err, out.String())
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "a")); err == nil {
		t.Error("it was written")
	}
}

// The end of a turn takes back the question that stands, and what came meanwhile is printed.
func TestFindingS3TheEndPrintsWhatWaits(t *testing.T) {
	y := newTTY(t, 24, 100)
	asked, waits := y.person()
	var out bytes.Buffer
	p := terminal.NewPrinter(&out, io.Discard, asked)
	h := p.Handlers()
	outcome := make(chan protocol.PermissionOutcome)
	ask := func() {
		o, err := h.Permission(t.Context(), command("make"))
		if err != nil {
			t.Error(err)
		}
		outcome <- o.Outcome
	}
	go ask()
	close(<-waits)
	y.await("Allow? [y/N] ")
	h.Update(protocol.UpdateParams{Update: protocol.Update{
		SessionUpdate: "agent_message_chunk", Content: map[string]any{"type": "text", "text": "Said meanwhile."},
	}})
	go p.End()
	if o := <-outcome; o.Outcome != "cancelled" {
		t.Errorf("%+v", o)
	}
	p.End()
	if out.String() != "Said meanwhile.\n" {
		t.Errorf("printed %q", out.String())
	}
	go ask()
	close(<-waits)
	if o := <-outcome; o.Outcome != "cancelled" {
		t.Errorf("asked after the end: %+v", o)
	}
}

// ^C takes back the question that stands: nobody has to answer it first.
func TestFindingS3ACancelEndsTheQuestion(t *testing.T) {
	cmd := runs(t, "call bash {\"command\": \"touch ran\"}\n\nsay Done.\n")
	y := newTTY(t, 24, 100)
	y.on(cmd)
	cmd.Stdout, cmd.Stderr = y.device, y.device
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	y.await("Allow? [y/N] ")
	y.press("\x03")
	y.await(" tokens in, ")
	var code *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &code) || code.ExitCode() != 130 {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

// The built program asks so on a terminal.
func TestFindingS3S22P13RunAsksOnATerminal(t *testing.T) {
	text := "call bash {\"command\": \"touch ran; echo boom >&2; exit 3\\n# \\u001b]52;c;cm0=\\u0007\\u202e\", \"cwd\": \"sub\"}\n\nsay Done.\n"
	for _, c := range []struct {
		keys string
		ran  bool
	}{{"n\n", false}, {"y\n", true}} {
		y := newTTY(t, 24, 100)
		cmd := runs(t, text)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = y.device, y.device, y.device
		cmd.SysProcAttr.Setctty = true
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		y.await("model ")
		y.press("y\ny\n")
		asked := y.await("Allow? [y/N] ")
		for _, want := range []string{"Run a command in " + filepath.Join(cmd.Dir, "sub"), "2 lines, 64 bytes:\n  | touch ran; echo boom >&2; exit 3\n  | # \\u{1b}]52;c;cm0=\\u{7}\\u{202e}\n"} {
			if !strings.Contains(asked, want) {
				t.Errorf("the question lacks %q:\n%q", want, asked)
			}
		}
		if strings.ContainsAny(asked, "\x1b\a\u202e") {
			t.Errorf("the terminal was sent %q", asked)
		}
		y.press(c.keys)
		after := y.await("Done. (")
		if says := strings.Contains(after, "· The command ended with exit code 3.\n  | stderr:\n  | boom\n"); says != c.ran { // P13
			t.Errorf("%q: it ends with %q", c.keys, after)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(cmd.Dir, "sub", "ran")); (err == nil) != c.ran {
			t.Errorf("%q: %v", c.keys, err)
		}
	}
}

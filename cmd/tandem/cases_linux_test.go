package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"golang.org/x/tools/txtar"

	"tandem/lspserver/conformance"
	"tandem/lspserver/protocol"
)

// TestCases plays testdata/cases/*.txtar, rows of docs/security-cases.md that are about calls of tools, by the built program: as
// this user and, if that is root, also as one without rights. A case is prose and then files:
//
//	settings    laid over the person's configuration
//	make        what is there at the beginning beside files, a line each: folder PATH, fifo PATH, socket PATH, device PATH
//	            (/dev/zero's; the case is then root's alone), link PATH TO (a hard link). "level full" is for a case that is about
//	            that level, and skipped where the server says that it has another
//	work/PATH   a file of the workspace $W; "-> TARGET" makes a symbolic link
//	out/PATH    a file of the folder $OUT beside it
//	home/PATH   a file of the home folder $HOME
//	steps       a line each:
//	            mode NAME          another session in that mode, for what follows
//	            answer OPTION      what the person answers from now on; allow_once at the beginning
//	            asking SHELL       what another program does while the next question stands
//	            do SHELL           what another program does, in $W
//	            gone TEXT          no process is left that has the text among its arguments
//	            call NAME {JSON}   tandem/tools/call
//	                               in which {5000*x} is the letter x 5000 times
//	            held NAME {JSON}   the same, of a call that takes longer than the server may take to answer something else
//	@out        golden: what was asked and answered
//	@work/PATH  golden: a file of the workspace that is other than it was
//
// What every case asserts beside its goldens: nothing in $OUT and $HOME has changed; each call has one record in the audit, with
// the same error; and the server answers while a call runs, while its question stands, and after it.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	users := map[string]int{"user": os.Getuid()}
	if os.Getuid() == 0 {
		users = map[string]int{"root": 0, "user": 65534}
	}
	for _, f := range files {
		for who, uid := range users {
			t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar")+"/"+who, func(t *testing.T) { playCase(t, f, uid) })
		}
	}
}

// secured is a case that is played.
type secured struct {
	*editor
	t       *testing.T
	dir     string               // has the folders w, out and home
	as      *syscall.SysProcAttr // another user; nil is this one
	level   string               // of the sandbox that the case is about, if any
	session string
	calls   int

	mu     sync.Mutex // guards what the person does, who is asked at any time
	answer string
	asking string
	out    strings.Builder
}

func playCase(t *testing.T, name string, uid int) {
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	c := &secured{t: t, dir: t.TempDir(), answer: "allow_once"}
	c.must(os.Chmod(filepath.Dir(c.dir), 0o755))
	settings := map[string]any{"mode": "ask", "closedFiles": "disk", "requireRead": false}
	var inputs, goldens []txtar.File
	var make, steps string
	for _, folder := range []string{"w", "out", "home", "own/tandem"} {
		c.must(os.MkdirAll(filepath.Join(c.dir, folder), 0o755))
	}
	for _, f := range a.Files {
		kind, _, _ := strings.Cut(f.Name, "/")
		switch {
		case strings.HasPrefix(f.Name, "@"):
			goldens = append(goldens, f)
			continue
		case f.Name == "settings":
			c.must(json.Unmarshal([]byte(c.folders(string(f.Data))), &settings))
		case f.Name == "make":
			make = string(f.Data)
		case f.Name == "steps":
			steps = string(f.Data)
		case kind == "work", kind == "out", kind == "home":
			c.lay(f.Name, c.folders(string(f.Data)))
		default:
			t.Fatalf("%s: unknown section %s", name, f.Name)
		}
		inputs = append(inputs, f)
	}
	c.each(make, c.make)
	raw, err := json.Marshal(settings)
	c.must(err, os.WriteFile(filepath.Join(c.dir, "own/tandem/config.json"), raw, 0o600))
	c.must(filepath.WalkDir(c.dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, uid))
	}), os.Chmod(filepath.Join(c.dir, "own/tandem"), 0o700), os.Chmod(filepath.Join(c.dir, "own"), 0o700))
	before, outside := c.workspace(), c.outside()

	p := &process{t: t, root: filepath.Join(c.dir, "w")}
	if uid != os.Getuid() {
		c.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		p.host = func(cmd *exec.Cmd) { cmd.SysProcAttr = c.as }
	}
	own := filepath.Join(c.dir, "own")
	p.start([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(c.dir, "home"), "XDG_CONFIG_HOME=" + own, "XDG_STATE_HOME=" + own, "XDG_CACHE_HOME=" + own,
		"RIPGREP_CONFIG_PATH=" + c.path("home/.ripgreprc"),
	}, []string{"--stdio"})
	c.editor = p.editor(conformance.Options{Ask: c.asked})
	if status := c.lives(); c.level != "" && status.Sandbox.Level != c.level {
		t.Skipf("the level is %s: %s", status.Sandbox.Level, status.Sandbox.Reason)
	}
	c.session = c.editor.session("")
	c.each(steps, c.step)
	c.leaves()

	if now := c.outside(); now != outside {
		t.Errorf("outside, before:\n%s\nafter:\n%s", outside, now)
	}
	got := []txtar.File{{Name: "@out", Data: []byte(c.shown(c.out.String()))}}
	now := c.workspace()
	for _, path := range slices.Sorted(maps.Keys(union(before, now))) {
		switch text, there := now[path]; {
		case !there:
			got = append(got, txtar.File{Name: "@work/" + path, Data: []byte("(gone)\n")})
		case text != before[path]:
			got = append(got, txtar.File{Name: "@work/" + path, Data: []byte(c.shown(text))})
		}
	}
	if *update {
		a.Files = append(inputs, got...)
		c.must(os.WriteFile(name, txtar.Format(a), 0o644))
		return
	}
	if d := cmp.Diff(string(txtar.Format(&txtar.Archive{Files: goldens})), string(txtar.Format(&txtar.Archive{Files: got}))); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// folders puts the folders of this run in the place of their names, and shown does the opposite.
func (c *secured) folders(s string) string {
	return strings.NewReplacer("$W", c.dir+"/w", "$OUT", c.dir+"/out", "$HOME", c.dir+"/home").Replace(s)
}

func (c *secured) shown(s string) string {
	s = strings.NewReplacer(c.dir+"/w", "$W", c.dir+"/out", "$OUT", c.dir+"/home", "$HOME").Replace(s)
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "(no line end)\n"
	}
	return s
}

func (c *secured) must(errs ...error) {
	c.t.Helper()
	if err := errors.Join(errs...); err != nil {
		c.t.Fatal(err)
	}
}

// each does something for each line of a section, whose words are separated by blanks.
func (c *secured) each(section string, do func(word, rest string)) {
	for line := range strings.Lines(section) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			word, rest, _ := strings.Cut(line, " ")
			do(word, rest)
		}
	}
}

// path is where a name of a section lies: work/a, out/a, home/a.
func (c *secured) path(name string) string {
	kind, rest, _ := strings.Cut(name, "/")
	if kind == "work" {
		kind = "w"
	}
	return filepath.Join(c.dir, kind, rest)
}

func (c *secured) lay(name, content string) {
	path := c.path(name)
	c.must(os.MkdirAll(filepath.Dir(path), 0o755))
	if target, ok := strings.CutPrefix(content, "-> "); ok {
		c.must(os.Symlink(strings.TrimSpace(target), path))
		return
	}
	c.must(os.WriteFile(path, []byte(content), 0o644))
}

func (c *secured) make(what, rest string) {
	words := strings.Fields(rest)
	if what == "level" {
		c.level = rest
		return
	}
	path := c.path(words[0])
	c.must(os.MkdirAll(filepath.Dir(path), 0o755))
	switch what {
	case "folder":
		c.must(os.MkdirAll(path, 0o755))
	case "fifo":
		c.must(unix.Mkfifo(path, 0o644))
	case "socket":
		l, err := net.Listen("unix", path)
		c.must(err)
		c.t.Cleanup(func() { _ = l.Close() })
	case "device":
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))); err != nil {
			c.t.Skip("a device is made by root:", err)
		}
	case "link":
		c.must(os.Link(c.path(words[1]), path))
	default:
		c.t.Fatalf("nothing makes a %s", what)
	}
}

// outside is what may not change: names, kinds, modes and contents of what lies beside the workspace.
func (c *secured) outside() string { return hashes(c.t, c.dir+"/out") + hashes(c.t, c.dir+"/home") }

// workspace has the files and links of the workspace. What is neither is named.
func (c *secured) workspace() map[string]string {
	all := map[string]string{}
	root := filepath.Join(c.dir, "w")
	c.must(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		switch {
		case d.Type().IsRegular():
			text, err := os.ReadFile(path)
			all[rel] = string(text)
			return err
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			all[rel] = "-> " + target + "\n"
			return err
		}
		all[rel] = d.Type().String() + "\n"
		return nil
	}))
	return all
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// another does what another program would, as the same user.
func (c *secured) another(line string) {
	cmd := exec.Command("/bin/bash", "-ec", line)
	cmd.Dir, cmd.SysProcAttr = filepath.Join(c.dir, "w"), c.as
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "W=" + c.dir + "/w", "OUT=" + c.dir + "/out", "HOME=" + c.dir + "/home"}
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Errorf("%s: %v\n%s", line, err, out)
	}
}

// lives wants the server to answer.
func (c *secured) lives() (status protocol.StatusResult) {
	raw, err := c.Request(c.ctx, "tandem/status", map[string]any{})
	if err != nil || json.Unmarshal(raw, &status) != nil || status.Version == "" {
		c.t.Errorf("status: %s %v", raw, err)
	}
	return status
}

// asked is the person at a question, which stands for as long as that takes.
func (c *secured) asked(_ int, a conformance.Ask) string {
	c.lives()
	c.mu.Lock()
	defer c.mu.Unlock()
	var options []string
	for _, o := range a.Options {
		options = append(options, o.OptionID)
	}
	fmt.Fprintf(&c.out, "asked: %s [%s]\n", a.ToolCall.Title, strings.Join(options, " "))
	if c.asking != "" {
		c.another(c.asking)
		c.asking = ""
	}
	return c.answer
}

func (c *secured) set(what *string, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*what = value
}

func (c *secured) step(word, rest string) {
	c.t.Helper()
	switch word {
	case "mode":
		c.session = c.editor.session(rest)
		c.calls = 0
	case "answer":
		c.set(&c.answer, rest)
	case "asking":
		c.set(&c.asking, rest)
	case "do":
		c.another(rest)
	case "gone":
		until(c.t, "no process has "+rest, func() bool {
			all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			return !slices.ContainsFunc(all, func(name string) bool {
				args, _ := os.ReadFile(name) // of one that has just ended there are none
				return strings.Contains(strings.ReplaceAll(string(args), "\x00", " "), rest)
			})
		})
	case "call", "held":
		name, args, _ := strings.Cut(rest, " ")
		c.mu.Lock()
		fmt.Fprintf(&c.out, "> %s %s\n", name, args)
		c.mu.Unlock()
		c.call(name, repeated(c.folders(args)), word == "held")
	default:
		c.t.Fatalf("unknown step %s", word)
	}
}

// repeats is how a long argument is written: {5000*x} is the letter x 5000 times.
var repeats = regexp.MustCompile(`\{(\d+)\*(.)\}`)

func repeated(s string) string {
	return repeats.ReplaceAllStringFunc(s, func(m string) string {
		parts := repeats.FindStringSubmatch(m)
		n, _ := strconv.Atoi(parts[1])
		return strings.Repeat(parts[2], n)
	})
}

func (c *secured) call(name, args string, held bool) {
	c.t.Helper()
	ended := make(chan struct{})
	var raw json.RawMessage
	var err error
	answer := c.Begin("tandem/tools/call", map[string]any{"sessionId": c.session, "name": name, "arguments": json.RawMessage(args)})
	go func() {
		defer close(ended)
		raw, err = answer(c.ctx)
	}()
	c.lives()
	select {
	case <-ended:
		if held {
			c.t.Errorf("%s %s was over before the server answered something else", name, args)
		}
	default:
	}
	<-ended
	c.lives()
	if err != nil { // no tool was called
		c.mu.Lock()
		defer c.mu.Unlock()
		fmt.Fprintf(&c.out, "error %v\n", err)
		return
	}
	var r struct {
		Success             bool
		Error, Reason, Data string
		CallID              string
		Warnings            []string
		Denial              *struct{ Layer string }
	}
	c.must(json.Unmarshal(raw, &r))
	c.calls++
	c.audited(r.CallID, r.Error)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Success {
		c.out.WriteString("ok\n")
	} else {
		layer := ""
		if r.Denial != nil {
			layer = ", layer " + r.Denial.Layer
		}
		fmt.Fprintf(&c.out, "%s %s%s\n", r.Error, r.Reason, layer)
	}
	for line := range strings.Lines(r.Data) {
		c.out.WriteString("| " + strings.TrimSuffix(line, "\n") + "\n")
	}
	for _, w := range r.Warnings {
		c.out.WriteString("warning: " + w + "\n")
	}
}

// audited wants the session to have one record for each call, the newest one that of a call that ended so.
func (c *secured) audited(call, failure string) {
	c.t.Helper()
	var all struct {
		Entries []struct {
			CallID, Error string
			Pending       bool
		}
	}
	c.ask("tandem/audit/query", map[string]any{"sessionId": c.session}, &all)
	found := 0
	for _, e := range all.Entries {
		if e.CallID == call && e.Error == failure && !e.Pending {
			found++
		}
	}
	if len(all.Entries) != c.calls || found != 1 {
		c.t.Errorf("%d records of %d calls, %d of the newest: %+v", len(all.Entries), c.calls, found, all.Entries)
	}
}

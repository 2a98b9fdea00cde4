//go:build unix

package sandbox

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// top is the folder that commands run in that do not care.
var top = OpenFolder("/")

func bash(line string) Command {
	return Command{
		Argv: []string{"/bin/bash", "-c", line}, Dir: top, Profile: Unconfined, Timeout: 20 * time.Second, Grace: 50 * time.Millisecond,
	}
}

func local(t testing.TB) *Local {
	l := new(Local)
	t.Cleanup(l.Close)
	return l
}

func run(t *testing.T, c Command) Outcome {
	t.Helper()
	o, err := Run(t.Context(), local(t), c)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// pids reads the process numbers that a command has left in a file.
func pids(t *testing.T, file string, n int) []int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, f := range strings.Fields(string(b)) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, pid)
	}
	if len(out) != n {
		t.Fatalf("%d processes were started, not %d", len(out), n)
	}
	return out
}

// gone waits until the kernel has done away with a killed process that is no child of ours: what is left of it may be
// seen for a moment, but must be dead.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		for deadline := time.Now().Add(20 * time.Second); ; {
			if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				break
			}
			if stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); strings.Contains(string(stat), ") Z ") {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("process %d is alive", pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func TestRun(t *testing.T) {
	c := bash(`echo out; echo err >&2; pwd; exit 3`)
	c.Dir = OpenFolder(t.TempDir())
	defer c.Dir.Close()
	var got [3]strings.Builder
	c.Output = func(s Stream, chunk []byte) { got[s].Write(chunk) }
	o := run(t, c)
	if o.ExitCode != 3 || o.Stdout != "out\n"+c.Dir.Path()+"\n" || o.Stderr != "err\n" || o.TimedOut || o.Cancelled || o.StdoutGap != (Gap{}) || o.StderrGap != (Gap{}) {
		t.Errorf("%+v", o)
	}
	if got[Stdout].String() != o.Stdout || got[Stderr].String() != o.Stderr {
		t.Errorf("streamed %q, %q", got[Stdout].String(), got[Stderr].String())
	}
	if o := run(t, bash(`cat; echo $((1+1))`)); o.Stdout != "2\n" {
		t.Errorf("there must be no input: %+v", o)
	}
	c = bash(`cat`)
	c.Stdin = strings.Repeat("line\n", 100_000)
	if o := run(t, c); o.Stdout != c.Stdin {
		t.Errorf("%d bytes of %d", len(o.Stdout), len(c.Stdin))
	}
	c.Argv[2] = `head -n 1`
	if o := run(t, c); o.Stdout != "line\n" || o.ExitCode != 0 {
		t.Errorf("a command that does not read everything: %+v", o)
	}
	if o := run(t, bash(`kill -SEGV $$`)); o.ExitCode != 128+int(syscall.SIGSEGV) || o.TimedOut {
		t.Errorf("killed by a signal of its own: %+v", o)
	}
	for _, c := range []Command{
		{},
		{Argv: []string{"/nowhere/x"}, Dir: top, Profile: Unconfined},
		{Argv: []string{"/bin/true"}, Dir: OpenFolder("/nowhere"), Profile: Unconfined},
		{Argv: []string{"/bin/true"}, Dir: OpenFolder("/bin/true"), Profile: Unconfined},
		{Argv: []string{"true"}, Dir: top, Profile: Unconfined},
		{Argv: []string{"./true"}, Dir: top, Profile: Unconfined},
		{Argv: []string{"/bin/true", "a\x00b"}, Dir: top, Profile: Unconfined},
		{Argv: []string{"/bin/true"}, Dir: top},
		{Argv: []string{"/bin/true"}, Profile: Unconfined},
		{Argv: []string{"/bin/true"}, Dir: top, Profile: Proxy + 1},
	} {
		if _, err := local(t).Start(t.Context(), c); err == nil {
			t.Errorf("%v must be an error", c)
		}
	}
}

// A command that minds TERM, one that does not, and one whose grandchildren do not: all are gone in time.
func TestCaseK01K02K03K08_F086Killed(t *testing.T) {
	const stubborn = `trap '' TERM; echo $BASHPID >>"$F"; while :; do sleep 1; done`
	tests := []struct {
		id, line string
		n        int
	}{
		{"K01", `echo $$ >>"$F"; sleep 60`, 1},
		{"K02", stubborn, 1},
		{"K03", `echo $$ >>"$F"; for i in 1 2 3; do (` + stubborn + `) & done; wait`, 4},
		{"K08", `echo $$ >>"$F"; (echo $BASHPID >>"$F"; kill -STOP $BASHPID; sleep 60) & wait`, 2},
		{"K08 leader", `trap '' TERM; echo $$ >>"$F"; kill -STOP $$; sleep 60`, 1},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pids")
			c := bash(`F=` + file + `; echo before; ` + tt.line)
			c.Timeout, c.Grace = 2*time.Second, 100*time.Millisecond // enough for all of its processes to begin
			o := run(t, c)
			if !o.TimedOut || o.Cancelled || o.ExitCode != -1 || o.Stdout != "before\n" {
				t.Errorf("%+v", o)
			}
			if o.Duration > 5*(c.Timeout+c.Grace) {
				t.Errorf("took %v", o.Duration)
			}
			gone(t, pids(t, file, tt.n))
		})
	}
}

// A command that ends at once but leaves something behind in its group, with the outputs open or closed: what was left
// behind is killed and nobody waits for it.
func TestCaseK05K06Leftovers(t *testing.T) {
	for id, redirect := range map[string]string{"K05": ">/dev/null 2>&1", "K06": ""} {
		t.Run(id, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pids")
			o := run(t, bash(`F=`+file+`; ( ( echo $BASHPID >>"$F"; echo ready; sleep 60 ) `+redirect+` & ); `+
				`until [ -s "$F" ]; do :; done; echo done`))
			if o.ExitCode != 0 || !strings.Contains(o.Stdout, "done\n") || o.Duration > 10*time.Second {
				t.Errorf("%+v", o)
			}
			gone(t, pids(t, file, 1))
		})
	}
}

// A process in a session of its own that holds the outputs open does not hold us, also where it is out of reach.
func TestPipeHolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	o := run(t, bash(`F=`+file+`; setsid bash -c 'echo $$ >'"$F"'; exec sleep 60' & until [ -s "$F" ]; do :; done; echo done`))
	held := pids(t, file, 1)
	if o.ExitCode != 0 || o.Stdout != "done\n" || o.Duration > 10*time.Second {
		t.Errorf("%+v", o)
	}
	_ = syscall.Kill(held[0], syscall.SIGKILL)
	gone(t, held)
}

func TestCaseK10Flood(t *testing.T) {
	c := bash(`printf head; yes | head -c 50000000; printf tail`)
	c.MaxOutput = 4096
	var streamed int64
	c.Output = func(_ Stream, chunk []byte) { streamed += int64(len(chunk)) }
	o := run(t, c)
	if !strings.HasPrefix(o.Stdout, "heady\n") || !strings.HasSuffix(o.Stdout, "y\ntail") || len(o.Stdout) > 4200 {
		t.Errorf("%d bytes: %.20q … %q", len(o.Stdout), o.Stdout, o.Stdout[len(o.Stdout)-20:])
	}
	if want := (Gap{2048, 50000008 - 4096, 25000000 - 2044}); o.StdoutGap != want || streamed != 50000008 {
		t.Errorf("gap %+v, streamed %d", o.StdoutGap, streamed)
	}
}

func TestCaseK14Cancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var once sync.Once
	c := bash(`echo started; sleep 60`)
	c.Output = func(Stream, []byte) { once.Do(cancel) }
	o, err := Run(ctx, local(t), c)
	if err != nil || !o.Cancelled || o.TimedOut || o.ExitCode != -1 || o.Stdout != "started\n" {
		t.Errorf("%+v, %v", o, err)
	}
	cancel()
	o, err = Run(ctx, local(t), c)
	if err != nil || !o.Cancelled || o.Stdout != "" {
		t.Errorf("cancelled beforehand: %+v, %v", o, err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	o, err = Run(ctx, local(t), bash(`sleep 60`))
	if err != nil || !o.TimedOut || o.Cancelled {
		t.Errorf("the context's own limit: %+v, %v", o, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	l := local(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if o, err := Run(t.Context(), l, bash("echo "+strconv.Itoa(i))); err != nil || o.Stdout != strconv.Itoa(i)+"\n" {
				t.Errorf("%d: %+v, %v", i, o, err)
			}
		})
	}
	wg.Wait()
}

// TestCaseE01E02Environment: commands get what is listed, and no keys under whatever name.
// TestShellIsNamed: bash is told a shell where the environment names none, and no other program is.
func TestShellIsNamed(t *testing.T) {
	for _, tt := range []struct {
		env     []string
		program string
		want    string
	}{
		{nil, "/usr/bin/bash", "/usr/bin/bash"},
		{[]string{"SHELL="}, "/usr/bin/bash", "/usr/bin/bash"},
		{[]string{"SHELL=/bin/zsh"}, "/usr/bin/bash", "/bin/zsh"},
		{nil, "/usr/bin/env", ""},
	} {
		if got := lookup(shellNamed(tt.env, tt.program), "SHELL"); got != tt.want {
			t.Errorf("%q with %q: %q", tt.program, tt.env, got)
		}
	}
	l := local(t)
	l.Environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	if o, err := Run(t.Context(), l, bash("env")); err != nil || !strings.Contains(o.Stdout, "SHELL=/bin/bash\n") {
		t.Errorf("%v, %v", o.Stdout, err)
	}
}

func TestCaseE01E02Environment(t *testing.T) {
	base := []string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "FOO_API_KEY=x", "AWS_SECRET_ACCESS_KEY=x", "GITHUB_TOKEN=x", "LD_PRELOAD=x",
		"BASH_ENV=x", "NODE_OPTIONS=x", "GIT_DIR=x", "PROMPT_COMMAND=x", "SSH_AUTH_SOCK=x", "MINE=1", "LC_PASSWORD=x", "odd",
		"PYTHONSTARTUP=x", "GIT_SSH_COMMAND=x", "GOPROXY" + "=https://me:pw@example.org", "LC_X=a http://me@example.org/", "LC_Y=http://example.org/@",
	}
	got := Environment(base, []string{"MINE", "GITHUB_TOKEN", "SET=a=b", "HOME=/other", "my_credential=x", "ABSENT", "URL=ftp://u:p@h/"})
	want := []string{"PATH=/bin", "LC_ALL=C", "MINE=1", "LC_Y=http://example.org/@", "SET=a=b", "HOME=/other"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	l := Local{Environ: append(base, "PATH="+os.Getenv("PATH")), Pass: []string{"MINE"}}
	defer l.Close()
	o, err := Run(t.Context(), &l, bash("env"))
	if err != nil || strings.Contains(o.Stdout, "=x\n") || !strings.Contains(o.Stdout, "MINE=1\n") {
		t.Errorf("%v, %v", o.Stdout, err)
	}
}

// TestRedirected: the caches of a confined command are folders of ours, and what a person has set stays.
func TestRedirected(t *testing.T) {
	home := t.TempDir()
	must(t, os.MkdirAll(home+"/.cache/ms-playwright", 0o700))
	env := []string{"HOME=" + home, "GOCACHE=/x", "npm_config_cache=/mine", "GOPATH=/a b:/c"}
	named := func(name string) bool { return name == "npm_config_cache" }
	for proxy, want := range map[string]map[string]string{
		"": {
			"XDG_CACHE_HOME": "/ours", "GOCACHE": "/ours/go-build", "npm_config_cache": "/mine", "PIP_CACHE_DIR": "/ours/pip", "GOMODCACHE": "",
			"HTTPS_PROXY": "", "CARGO_HOME": "", "CARGO_NET_OFFLINE": "true", "PLAYWRIGHT_BROWSERS_PATH": home + "/.cache/ms-playwright", "COREPACK_HOME": "",
		},
		"http://127.0.0.1:1": {
			"GOMODCACHE": "/ours/go-mod", "GOPROXY": "file:///a%20b/pkg/mod/cache/download," + goProxy, "CARGO_HOME": "/ours/cargo", "CARGO_NET_OFFLINE": "",
			"HTTPS_PROXY": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1", "NO_PROXY": "localhost,127.0.0.1,::1", "GOCACHE": "/ours/go-build",
		},
	} {
		got := redirected(env, "/ours", proxy, named)
		for name, value := range want {
			if have := lookup(got, name); have != value {
				t.Errorf("proxy %q: %s is %q, want %q", proxy, name, have, value)
			}
		}
	}
	if lookup(env, "GOCACHE") != "/x" {
		t.Error("the environment that was given has changed")
	}
	if got := lookup(redirected([]string{"GOMODCACHE=/m", "GOPROXY" + "=off"}, "/ours", "http://p", named), "GOPROXY"); got != "file:///m/cache/download,off" {
		t.Error(got)
	}
}

// Head and tail are what was written, the rest is counted to the byte, and no rune is cut.
func TestKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := NewKept(2 * rapid.IntRange(1, 20).Draw(t, "half"))
		var all strings.Builder
		for _, s := range rapid.SliceOf(rapid.StringOf(rapid.SampledFrom([]rune("ab\näß…😀")))).Draw(t, "writes") {
			all.WriteString(s)
			k.Write([]byte(s))
		}
		got, gap := k.Output()
		if all.Len() <= 2*k.half {
			if got != all.String() || gap != (Gap{}) || gap.Mark(got) != got {
				t.Fatalf("%q, gap %+v of %q", got, gap, all.String())
			}
			return
		}
		head, tail := got[:gap.At], got[gap.At:]
		lost := strings.TrimSuffix(strings.TrimPrefix(all.String(), head), tail)
		if !utf8.ValidString(got) || len(head)+len(lost)+len(tail) != all.Len() || head+lost+tail != all.String() ||
			gap.Bytes != int64(len(lost)) || gap.Lines != int64(strings.Count(lost, "\n")) || len(head) > k.half || len(tail) > k.half {
			t.Fatalf("%q, gap %+v of %q", got, gap, all.String())
		}
		if got := gap.Mark(got); got != head+"\n[… "+strconv.FormatInt(gap.Bytes, 10)+" bytes left out …]\n"+tail {
			t.Fatal(got)
		}
	})
}

// What a command costs over starting it in the plainest way.
func BenchmarkRun(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		l := local(b)
		for b.Loop() {
			if _, err := Run(b.Context(), l, Command{Argv: []string{"/bin/true"}, Dir: top, Profile: Unconfined}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if _, err := exec.Command("/bin/true").Output(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// What a command has printed is read also where nobody came to read it before the time for it was over.
func TestLateReaderLosesNothing(t *testing.T) {
	o := &streams{}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o.readers[0] = r
	defer o.readers[0].Close()
	defer w.Close() // somebody else holds it open
	if _, err := w.WriteString("printed\n"); err != nil {
		t.Fatal(err)
	}
	if err := o.readers[0].SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	var got []byte
	o.read(0, func(chunk []byte) { got = append(got, chunk...) })
	if string(got) != "printed\n" {
		t.Errorf("%q", got)
	}
}

// A command that is talked to: an answer for each line, until it is stopped or its input ends. Standard error is kept.
func TestInteractive(t *testing.T) {
	c := bash(`echo hello >&2; while read -r l; do echo "got $l"; done; echo over`)
	c.Interactive, c.Timeout = true, 0
	for _, stop := range []bool{true, false} {
		p, err := local(t).Start(t.Context(), c)
		must(t, err)
		defer p.Stdout().Close()
		answers := bufio.NewReader(p.Stdout())
		for _, l := range []string{"a\n", "b\n"} {
			if _, err := io.WriteString(p.Stdin(), l); err != nil {
				t.Fatal(err)
			}
			if got, err := answers.ReadString('\n'); err != nil || got != "got "+l {
				t.Fatalf("%q, %v", got, err)
			}
		}
		if stop {
			p.Stop()
		} else {
			must(t, p.Stdin().Close())
		}
		rest, err := io.ReadAll(answers)
		o := p.Wait()
		if stop && (!o.Cancelled || o.ExitCode != -1) || !stop && (o.ExitCode != 0 || string(rest) != "over\n") || err != nil ||
			o.Stderr != "hello\n" || o.Stdout != "" {
			t.Errorf("stopped %v: %q, %v, %+v", stop, rest, err, o)
		}
		if _, err := io.WriteString(p.Stdin(), "x"); err == nil {
			t.Error("it can still be written to")
		}
		if again := p.Wait(); again != o {
			t.Errorf("%+v, %+v", o, again)
		}
	}
	p, err := local(t).Start(t.Context(), bash("true"))
	must(t, err)
	if p.Stdin() != nil || p.Stdout() != nil {
		t.Error("it was not to be talked to")
	}
	p.Wait()
}

// A program that stops reading writers, such as head, ends them by SIGPIPE, also where this process ignores it.
func TestBrokenPipe(t *testing.T) {
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	if o := run(t, bash(`yes | head -n 1; echo ${PIPESTATUS[0]}`)); o.Stdout != "y\n141\n" || o.Stderr != "" {
		t.Errorf("%+v", o)
	}
}

package sandbox

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lifeline is a pipe that every process of a command holds open as its file 9. Its end is the death of the last one.
type lifeline struct {
	path string
	r    *os.File
	w    *os.File // until the processes have it
}

func newLifeline(t *testing.T) lifeline {
	t.Helper()
	return lifelineAt(t, filepath.Join(t.TempDir(), "lifeline"))
}

func lifelineAt(t *testing.T, path string) lifeline {
	t.Helper()
	must(t, syscall.Mkfifo(path, 0o600))
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	must(t, err)
	t.Cleanup(func() { _ = r.Close() })
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return lifeline{path, r, w}
}

// holding is a command line whose processes hold the lifeline.
func (l lifeline) holding(line string) Command {
	c := bash("exec 9>" + l.path + "; echo begun >&9; " + line)
	c.Timeout = time.Minute
	return c
}

// begun waits until n processes have said so.
func (l lifeline) begun(t *testing.T, n int) {
	t.Helper()
	must(t, l.r.SetReadDeadline(time.Now().Add(time.Minute)))
	for buf := make([]byte, len("begun\n")); n > 0; n-- {
		if _, err := io.ReadFull(l.r, buf); err != nil {
			t.Fatalf("%d processes have not begun: %v", n, err)
		}
	}
	_ = l.w.Close()
}

// over wants no process to hold the lifeline any more.
func (l lifeline) over(t *testing.T) {
	t.Helper()
	must(t, l.r.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, err := io.ReadAll(l.r); err != nil {
		t.Errorf("something of the command is alive: %v", err)
	}
}

// forms are the ways in which a command leaves a process behind. Each says that it has begun, and is waited for by the
// shell that starts it.
var forms = map[string]string{
	"ordinary":       `(echo begun >&9; exec sleep 600) &`,
	"setsid":         `setsid sh -c 'echo begun >&9; exec sleep 600' &`,
	"double fork":    `( (echo begun >&9; exec sleep 600) & );`,
	"daemon":         `( setsid sh -c '(echo begun >&9; exec sleep 600) & exit' & );`,
	"deaf":           `setsid bash -c 'trap "" TERM HUP INT; echo begun >&9; while :; do sleep 600; done' &`,
	"stopped":        `setsid sh -c 'echo begun >&9; kill -STOP $$; sleep 600' &`,
	"no environment": `env -i setsid sh -c 'echo begun >&9; exec sleep 600' &`,
	"outputs closed": `setsid sh -c 'echo begun >&9; exec sleep 600' >/dev/null 2>&1 </dev/null &`,
	"deep":           `setsid bash -c 'for i in 1 2 3 4 5; do (setsid bash -c "sleep 600; :" &) ; done; echo begun >&9; sleep 600; :' &`,
}

// TestCaseK04K05K06K08FindingS8NormalEnd: a command that ends by itself leaves nothing behind, however it tries, and says that it did.
func TestCaseK04K05K06K08FindingS8NormalEnd(t *testing.T) {
	for name, line := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLifeline(t)
			c := l.holding(line + ` read -r _ <` + l.path + `.go; echo done`)
			must(t, syscall.Mkfifo(l.path+".go", 0o600))
			p, err := local(t).Start(t.Context(), c)
			must(t, err)
			l.begun(t, 2)
			must(t, os.WriteFile(l.path+".go", []byte("\n"), 0)) // now the shell ends
			o := p.Wait()
			if o.ExitCode != 0 || !strings.HasSuffix(o.Stdout, "done\n") || o.Background < 1 || o.Left != 0 || o.Level != "none" {
				t.Errorf("%+v", o)
			}
			l.over(t) // the kernel closes files a moment after a process is seen to be dead
		})
	}
}

// TestCaseK04K08FindingS8Stopped ends commands from outside, by their time and by a cancel.
func TestCaseK04K08FindingS8Stopped(t *testing.T) {
	all := ""
	for _, line := range forms {
		all += line + " "
	}
	for range 3 {
		l := newLifeline(t)
		p, err := local(t).Start(t.Context(), l.holding(all+"wait"))
		must(t, err)
		l.begun(t, 1+len(forms))
		p.Stop()
		if o := p.Wait(); !o.Cancelled || o.ExitCode != -1 || o.Background != 0 || o.Left != 0 {
			t.Errorf("%+v", o)
		}
		l.over(t)
	}
}

// TestFindingS8TwoAtOnce ends one of two commands that run at the same time, whose processes nothing but their keepers
// tells apart: the other one keeps all of its own.
func TestFindingS8TwoAtOnce(t *testing.T) {
	runner := local(t)
	first, second := newLifeline(t), newLifeline(t)
	stays, err := runner.Start(t.Context(), second.holding(forms["daemon"]+forms["ordinary"]+"wait; sleep 600"))
	must(t, err)
	second.begun(t, 3)
	for range 10 {
		l := first
		p, err := runner.Start(t.Context(), l.holding(forms["daemon"]+forms["setsid"]+"wait"))
		must(t, err)
		l.begun(t, 3)
		p.Stop()
		p.Wait()
		l.over(t)
		first = newLifeline(t)
	}
	must(t, second.r.SetReadDeadline(time.Now()))
	if _, err := second.r.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Errorf("the other command lost its processes: %v", err)
	}
	stays.Stop()
	stays.Wait()
	second.over(t)
}

// TestFindingS8ForkBomb ends a command that forks as fast as it can.
func TestFindingS8ForkBomb(t *testing.T) {
	l := newLifeline(t)
	p, err := local(t).Start(t.Context(), l.holding(
		`ulimit -u 2000; f() { echo begun >&9 2>/dev/null; n=$1; while [ $n -gt 0 ]; do (f $((n-1))) & n=$((n-1)); done; sleep 600; }; f 7 2>/dev/null`))
	must(t, err)
	l.begun(t, 20)
	p.Stop()
	if o := p.Wait(); o.Left != 0 {
		t.Errorf("%d are left", o.Left)
	}
	l.over(t)
}

// TestCaseK11FindingS8KilledServer kills a program that runs commands, with 30 ordinary and 30 setsid processes of them, by a
// signal that it cannot see: nothing of them is left.
func TestCaseK11FindingS8KilledServer(t *testing.T) {
	if path := os.Getenv("LIFELINE"); path != "" { // the program that is killed
		l := lifeline{path: path}
		many := func(form string) string { return strings.Repeat(form+" ", 15) }
		for range 2 {
			_, err := local(t).Start(t.Context(), l.holding(many(forms["ordinary"])+many(forms["setsid"])+"wait"))
			must(t, err)
		}
		select {}
	}
	l := newLifeline(t)
	server := exec.Command("/proc/self/exe", "-test.run=^TestCaseK11FindingS8KilledServer$")
	server.Env = append(os.Environ(), "LIFELINE="+l.path)
	must(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill() })
	l.begun(t, 2+60)
	must(t, server.Process.Kill())
	_ = server.Wait()
	l.over(t)
}

// TestFindingS8KeeperKilled: a command that kills its keeper loses its process group at least, and the next command runs.
func TestFindingS8KeeperKilled(t *testing.T) {
	runner := local(t)
	l := newLifeline(t)
	c := l.holding(forms["ordinary"] + `read -r _; kill -KILL $PPID; sleep 600`)
	c.Interactive = true
	p, err := runner.Start(t.Context(), c)
	must(t, err)
	defer p.Stdout().Close()
	l.begun(t, 2)
	if _, err := io.WriteString(p.Stdin(), "\n"); err != nil { // not before it is known which group it is
		t.Fatal(err)
	}
	o := p.Wait()
	if o.ExitCode != 128+int(syscall.SIGKILL) {
		t.Errorf("%+v", o)
	}
	l.over(t)
	if o := run(t, bash("echo fine")); o.Stdout != "fine\n" {
		t.Errorf("%+v", o)
	}
	// One that is killed while it waits is replaced without a word.
	o, err = Run(t.Context(), runner, bash("echo $PPID"))
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(o.Stdout))
	must(t, err)
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	gone(t, []int{pid})
	if o, err := Run(t.Context(), runner, bash("echo $PPID")); err != nil || o.Stdout == strconv.Itoa(pid)+"\n" {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestFindingS8KeeperStopped: a command that stops its keeper is ended by its time like any other, nothing of it is left,
// and the keeper serves the next one.
func TestFindingS8KeeperStopped(t *testing.T) {
	runner := local(t)
	l := newLifeline(t)
	c := l.holding(forms["setsid"] + `echo $PPID; kill -STOP $PPID; sleep 600`)
	c.Timeout = 2 * time.Second
	p, err := runner.Start(t.Context(), c)
	must(t, err)
	l.begun(t, 2)
	o := p.Wait()
	if !o.TimedOut || o.ExitCode != -1 || o.Left != 0 || o.Duration > stuck {
		t.Errorf("%+v", o)
	}
	l.over(t)
	next, err := Run(t.Context(), runner, bash("echo $PPID"))
	if err != nil || next.Stdout != o.Stdout {
		t.Errorf("%q, %q, %v", o.Stdout, next.Stdout, err)
	}
}

// TestFindingS8KeeperStoppedWhileIdle stops a keeper that waits for the next command, by a process that is not below it:
// the command runs nevertheless. Stopped once more, the keeper ends when the runner is closed.
func TestFindingS8KeeperStoppedWhileIdle(t *testing.T) {
	runner := new(Local)
	keeper := func() int {
		t.Helper()
		o, err := Run(t.Context(), runner, bash("echo $PPID"))
		must(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(o.Stdout))
		must(t, err)
		return pid
	}
	pid := keeper()
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	if again := keeper(); again != pid {
		t.Errorf("keepers %d and %d", pid, again)
	}
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	runner.Close()
	gone(t, []int{pid})
}

// TestFindingS8KeeperStoppedServerKilled kills a program by a signal that it cannot see, while its command has stopped the
// keeper: the command and its keeper end.
func TestFindingS8KeeperStoppedServerKilled(t *testing.T) {
	if path := os.Getenv("LIFELINE"); path != "" { // the program that is killed
		l := lifeline{path: path}
		_, err := local(t).Start(t.Context(), l.holding(`echo $PPID >`+path+`.keeper; kill -STOP $PPID; `+forms["setsid"]+forms["ordinary"]+"wait"))
		must(t, err)
		select {}
	}
	l := newLifeline(t)
	server := exec.Command("/proc/self/exe", "-test.run=^TestFindingS8KeeperStoppedServerKilled$")
	server.Env = append(os.Environ(), "LIFELINE="+l.path)
	must(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill() })
	l.begun(t, 3)
	must(t, server.Process.Kill())
	_ = server.Wait()
	l.over(t)
	gone(t, pids(t, l.path+".keeper", 1))
}

// TestNoLeftoverOfFailedStart: where a command cannot be started, its pipes are closed.
func TestNoLeftoverOfFailedStart(t *testing.T) {
	runner := local(t)
	c := bash("")
	c.Argv, c.Interactive = []string{"/nonexistent/program"}, true
	open := func() int {
		t.Helper()
		if _, err := runner.Start(t.Context(), c); err == nil {
			t.Fatal("it was started")
		}
		files, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(files)
	}
	before := open()
	for range 10 {
		if now := open(); now > before {
			t.Fatalf("%d files were open, %d are", before, now)
		}
	}
}

// TestFindingS8OneKeeper: commands one after the other have the same keeper, without zombies and files of the one before.
func TestFindingS8OneKeeper(t *testing.T) {
	runner := local(t)
	keepers := map[string]bool{}
	for range 20 {
		o, err := Run(t.Context(), runner, bash(`echo $PPID; (setsid sleep 600 &); ls -l /proc/self/fd | grep -c ' -> ' >&2`))
		must(t, err)
		keepers[o.Stdout] = true
		if o.Stderr != "4\n" { // its three and the folder
			t.Errorf("files %s", o.Stderr)
		}
	}
	if len(keepers) != 1 {
		t.Errorf("keepers %v", keepers)
	}
}

// TestLeave: what a person's own program leaves in the background lives on, where that is asked for.
func TestLeave(t *testing.T) {
	l := newLifeline(t)
	c := l.holding(`setsid sh -c 'echo $$; echo begun >&9; exec sleep 600' & ` + `read -r _ <` + l.path + `.go`)
	c.Leave = true
	must(t, syscall.Mkfifo(l.path+".go", 0o600))
	p, err := local(t).Start(t.Context(), c)
	must(t, err)
	l.begun(t, 2)
	must(t, os.WriteFile(l.path+".go", []byte("\n"), 0))
	if o := p.Wait(); o.ExitCode != 0 || o.Background != 0 {
		t.Errorf("%+v", o)
	}
	must(t, l.r.SetReadDeadline(time.Now()))
	if _, err := l.r.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Errorf("it was ended: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(p.Wait().Stdout))
	must(t, err, syscall.Kill(pid, syscall.SIGKILL))
	l.over(t)
}

package keeper

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tandem/sandbox/confine"
)

// specOf is a bash command, with standard output to the file given.
func specOf(t *testing.T, line string, stdout *os.File) *Spec {
	t.Helper()
	dir, err1 := os.Open("/")
	null, err2 := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = dir.Close(), null.Close() })
	if stdout == nil {
		stdout = null
	}
	return &Spec{
		Argv: []string{"/bin/bash", "-c", line}, Env: []string{"PATH=/usr/bin:/bin"},
		Dir: dir, Stdin: null, Stdout: stdout, Stderr: null,
	}
}

// collected waits until the keeper of a Keeper that was closed is no process any more.
func collected(t *testing.T, k *Keeper) {
	t.Helper()
	k.Close()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if errors.Is(unix.Kill(k.cmd.Process.Pid, 0), unix.ESRCH) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the keeper is alive")
		}
	}
}

// TestFindingS8Destroy destroys a keeper that does not go on, since processes of its command stop it again and again:
// nothing of the command is left, nor the keeper.
func TestFindingS8Destroy(t *testing.T) {
	k, err := New(false)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := specOf(t, `read -r _; K=$PPID; export K; for i in 1 2 3; do
		setsid bash -c 'trap "" TERM; while :; do kill -STOP $K; [ $K = 0 ] || echo x; sleep 0.001; done' & done; wait`, w)
	stdin, begin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer begin.Close()
	s.Stdin = stdin
	_, err = k.Run(t.Context(), s)
	_, _ = w.Close(), stdin.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := begin.WriteString("\n"); err != nil { // not before the keeper has answered
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 20)); err != nil { // they are at it
		t.Fatal(err)
	}
	if left := k.Destroy(); left != 0 {
		t.Errorf("%d are left", left)
	}
	if err := r.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r); err != nil { // until nobody can write to it
		t.Errorf("something of the command is alive: %v", err)
	}
	if _, err := k.Wait(); err == nil {
		t.Error("the keeper has answered")
	}
	collected(t, k)
}

// TestFindingS8SilentKeeper: a keeper that reads nothing is given up after its time or with the context, and is known to
// have begun nothing.
func TestFindingS8SilentKeeper(t *testing.T) {
	deaf := func(answer time.Duration) *Keeper {
		k, err := start(exec.Command("/bin/sleep", "600"), false)
		if err != nil {
			t.Fatal(err)
		}
		k.answer = answer
		t.Cleanup(k.Close)
		return k
	}
	k := deaf(10 * time.Millisecond)
	if _, err := k.Run(t.Context(), specOf(t, "true", nil)); !errors.Is(err, ErrGone) {
		t.Errorf("after its time: %v", err)
	}
	collected(t, k)
	k = deaf(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := k.Run(ctx, specOf(t, "true", nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	collected(t, k)
	collected(t, deaf(time.Hour)) // closed without a word
}

// TestDescendants: what the kernel lists is what a look at all processes finds.
func TestDescendants(t *testing.T) {
	if lists, _ := filepath.Glob("/proc/self/task/*/children"); len(lists) == 0 {
		t.Skip("the kernel lists no children")
	}
	cmd := exec.Command("/bin/bash", "-c", `(sleep 600 & setsid sleep 600 & wait) & (exit 0) & echo; read -r _; exec sleep 600`)
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		killBelow(os.Getpid())
		_, _ = stdin.Close(), cmd.Wait()
	}()
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	below := func(children func(int) []int) (n int) {
		for next := []int{os.Getpid()}; len(next) > 0; next = next[1:] {
			for _, pid := range children(next[0]) {
				n, next = n+1, append(next, pid)
			}
		}
		return n
	}
	for deadline := time.Now().Add(20 * time.Second); below(everybody()) < 4 || below(listed) != below(everybody()); {
		if time.Now().After(deadline) {
			t.Fatalf("%d are listed, %d found", below(listed), below(everybody()))
		}
	}
}

// TestWatchEnds: when nothing is left to sweep, the watch over the children has ended too, so that it does not wait for the
// ones of the next command.
func TestWatchEnds(t *testing.T) {
	if os.Getenv("CHILDLESS") == "" {
		again := exec.Command("/proc/self/exe", "-test.run=^TestWatchEnds$")
		again.Env = append(os.Environ(), "CHILDLESS=1")
		if out, err := again.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	for range 100 {
		c := command{kill: func() int { return 0 }, dead: make(chan struct{}), collected: make(chan struct{})}
		go c.watch()
		c.sweep()
		select {
		case <-c.dead:
		default:
			t.Fatal("it watches")
		}
	}
}

// TestProxied: what listens for the commands of a keeper is the server's, which accepts what they connect to, one command after
// the other, until the keeper is closed.
func TestProxied(t *testing.T) {
	b := boundsOf()
	b.Policy.Network = confine.Proxy
	k := confined(t)
	ended := make(chan struct{})
	k.Proxied = func(l net.Listener) {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			got := make([]byte, 3)
			_, _ = io.ReadFull(c, got)
			_, _ = c.Write(append(got[:2], "!\n"...))
			_ = c.Close()
		}
	}
	for range 3 {
		if got := says(t, k, b, "/", "exec 3<>/dev/tcp/"+strings.ReplaceAll(ProxyAddress, ":", "/")+"; echo hi >&3; cat <&3"); got != "hi!" {
			t.Errorf("%q", got)
		}
	}
	k.Close()
	<-ended
}

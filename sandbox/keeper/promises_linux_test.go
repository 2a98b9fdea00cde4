package keeper

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tandem/sandbox/confine"
)

// running is a command that a keeper runs: its standard input and output.
type running struct {
	stdin  *os.File
	stdout *bufio.Reader
	ended  chan struct{}
	end    End
	err    error
}

// runs starts a bash command at a folder with a pipe at both ends, and waits for it in a goroutine.
func runs(t *testing.T, k *Keeper, s *Spec, b *Bounds, dir string) *running {
	t.Helper()
	in, stdin, err1 := os.Pipe()
	stdout, out, err2 := os.Pipe()
	folder, err3 := os.Open(dir)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = stdin.Close(), stdout.Close() })
	s.Stdin, s.Stdout, s.Stderr, s.Bounds, s.Path, s.Dir = in, out, out, b, dir, folder
	_, err := k.Run(t.Context(), s)
	_, _, _ = in.Close(), out.Close(), folder.Close()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{stdin: stdin, stdout: bufio.NewReader(stdout), ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		r.end, r.err = k.Wait()
	}()
	return r
}

// asks writes a line and gives the one that is answered.
func (r *running) asks(t *testing.T, line string) string {
	t.Helper()
	if line != "" {
		if _, err := r.stdin.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := r.stdout.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(answer)
}

// TestSwitchedPaths: what Bounds.Switched names cannot be written between calls of Access, and can within; nothing else is changed.
func TestSwitchedPaths(t *testing.T) {
	dir := files(t, "app/.git/config", "app/x", "other/x")
	app, other := dir+"/app", dir+"/other"
	b := boundsOf(confine.Rule{Path: app, Access: confine.Write}, confine.Rule{Path: other, Access: confine.Write}, confine.Rule{Path: app + "/.git", Access: confine.Read})
	b.Switched = []string{app, dir + "/none"}
	k := confined(t)
	r := runs(t, k, specOf(t, "while read -r l; do eval \"$l\" 2>/dev/null && echo yes || echo no; done", nil), b, app)
	can := func(want string) {
		t.Helper()
		for _, try := range [][2]string{{"echo x >x", want}, {"echo x >" + other + "/x", "yes"}, {"echo x >.git/config", "no"}, {"cat x >/dev/null", "yes"}} {
			if got := r.asks(t, try[0]); got != try[1] {
				t.Errorf("%s: %s, want %s", try[0], got, try[1])
			}
		}
	}
	can("yes")
	for range 2 {
		if err := k.Access(false, r.ended); err != nil {
			t.Fatal(err)
		}
		can("no")
		if err := k.Access(true, r.ended); err != nil {
			t.Fatal(err)
		}
		can("yes")
	}
	if got := r.asks(t, "exec 3>x"); got != "yes" {
		t.Error(got)
	}
	if err := k.Access(false, r.ended); !errors.Is(err, unix.EBUSY) {
		t.Errorf("while a file is open for writing: %v", err)
	}
	can("yes")
	_ = r.stdin.Close()
	<-r.ended
	if err := k.Access(false, r.ended); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("when the command has ended: %v", err)
	}
	r = runs(t, k, specOf(t, "read -r _", nil), boundsOf(confine.Rule{Path: app, Access: confine.Write}), app)
	if err := k.Access(false, r.ended); err == nil {
		t.Error("a command without switched paths")
	}
	_ = r.stdin.Close()
	<-r.ended
	plain, err := New(false)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	r = runs(t, plain, specOf(t, "read -r _", nil), nil, "/")
	if err := plain.Access(false, r.ended); !errors.Is(err, unix.ENOTSUP) {
		t.Errorf("without namespaces: %v", err)
	}
	if n, err := plain.Network(r.ended); err != nil || len(n.Listening) > 0 || n.Refused != (confine.Sockets{}) {
		t.Errorf("%+v, %v", n, err)
	}
	if _, err := plain.Dial(1, r.ended); !errors.Is(err, unix.ENETUNREACH) {
		t.Errorf("a port of a command in the host's network: %v", err)
	}
	_ = r.stdin.Close()
	<-r.ended
}

// TestCovered: a file system that is mounted below a switched path, and that no rule names, would stay writable; nothing is switched then.
func TestCovered(t *testing.T) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	at := ""
	for line := range strings.Lines(string(mounts)) {
		if p := unescaped(strings.Fields(line)[4]); strings.Count(p, "/") > 1 && !strings.HasPrefix(p, at+"/") || at == "" && strings.Count(p, "/") > 1 {
			at = p
		}
	}
	if at == "" {
		t.Skip("nothing is mounted below a folder")
	}
	above := filepath.Dir(at)
	b := Bounds{Switched: []string{above}}
	for line := range strings.Lines(string(mounts)) { // all but one have a rule
		if p := unescaped(strings.Fields(line)[4]); p != at {
			b.Policy.Rules = append(b.Policy.Rules, confine.Rule{Path: p})
		}
	}
	if err := covered(b); !errors.Is(err, unix.EXDEV) {
		t.Errorf("%s below %s: %v", at, above, err)
	}
	b.Switched = []string{at, above + "x"}
	if err := covered(b); err != nil {
		t.Errorf("%s itself: %v", at, err)
	}
	b.Switched = []string{above}
	b.Policy.Rules = append(b.Policy.Rules, confine.Rule{Path: at})
	if err := covered(b); err != nil {
		t.Errorf("with a rule: %v", err)
	}
	for s, want := range map[string]string{`/a\040b`: "/a b", `/a\134\011b`: "/a\\\tb", `\`: `\`, `a\04`: `a\04`, `a\040`: "a ", `a\09x`: `a\09x`, `a\777`: `a\777`, "": "", "/a": "/a", `\101\102`: "AB"} {
		if got := unescaped(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// TestPortsOfCommands: the ports at which a command listens are known, and connections to them reach it.
func TestPortsOfCommands(t *testing.T) {
	if os.Getenv("LISTENS") != "" { // within
		a, err1 := net.Listen("tcp", "127.0.0.1:0")
		b, err2 := net.Listen("tcp", "[::1]:0")
		if err := errors.Join(err1, err2); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(a.Addr().(*net.TCPAddr).Port, b.Addr().(*net.TCPAddr).Port)
		for _, l := range []net.Listener{a, b} {
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = io.WriteString(c, "hello\n")
					_ = c.Close()
				}
			}()
		}
		_, _ = io.ReadAll(os.Stdin)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if exe, err = filepath.EvalSymlinks(exe); err != nil {
		t.Fatal(err)
	}
	k, b := confined(t), boundsOf(confine.Rule{Path: filepath.Dir(exe), Access: confine.Read})
	s := specOf(t, "", nil)
	s.Argv, s.Env = []string{exe, "-test.run=^TestPortsOfCommands$"}, []string{"LISTENS=1"}
	r := runs(t, k, s, b, "/")
	said := r.asks(t, "")
	var first, second int
	if _, err := fmt.Sscan(said, &first, &second); err != nil {
		t.Fatal(said, err)
	}
	ports := []int{first, second}
	slices.Sort(ports)
	if n, err := k.Network(r.ended); err != nil || !slices.Equal(n.Listening, slices.Compact(ports)) || n.Refused != (confine.Sockets{}) {
		t.Errorf("%+v, %v, want %v", n, err, ports)
	}
	for _, port := range []int{first, second, first} {
		c, err := k.Dial(port, r.ended)
		if err != nil {
			t.Fatal(port, err)
		}
		if text, err := io.ReadAll(c); string(text) != "hello\n" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		_ = c.Close()
	}
	free := 1
	if _, err := k.Dial(free, r.ended); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("where nobody listens: %v", err)
	}
	_ = r.stdin.Close()
	<-r.ended
	if _, err := k.Dial(first, r.ended); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("when it has ended: %v", err)
	}
	if _, err := k.Network(r.ended); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("when it has ended: %v", err)
	}
	if len(k.dials) != 0 {
		t.Errorf("%d connections are waited for", len(k.dials))
	}
}

// TestRefusedSockets: what a command did not get of the network is said of that command alone.
func TestRefusedSockets(t *testing.T) {
	k, b := confined(t), boundsOf()
	for _, tt := range []struct {
		line string
		want confine.Sockets
	}{
		{"true", confine.Sockets{}},
		{"exec 3<>/dev/tcp/10.1.2.3/80; true", confine.Sockets{Network: true}},
		{"true", confine.Sockets{}},
		{"exec 3<>/dev/udp/10.1.2.3/80; true", confine.Sockets{Network: true}},
		{"exec 3<>/dev/tcp/127.0.0.1/1; true", confine.Sockets{}},
		{"sleep 600", confine.Sockets{}},
	} {
		r := runs(t, k, specOf(t, tt.line+" 2>/dev/null", nil), b, "/")
		if tt.line == "sleep 600" {
			k.Kill()
		}
		if <-r.ended; r.err != nil || r.end.Refused != tt.want {
			t.Errorf("%s: %+v, %v", tt.line, r.end, r.err)
		}
	}
	for text, want := range map[string]int{
		"Ip: Forwarding OutNoRoutes X\nIp: 1 5 7\nUdp: InDatagrams NoPorts\nUdp: 3 2\n": 7, "Ip6OutNoRoutes  \t4\nUdp6NoPorts 3\nIp6InReceives 9\n": 7, "": 0, "Ip: OutNoRoutes\n": 0, "Ip: OutNoRoutes\nIp: x\n": 0,
		"Ip: OutNoRoutes A\nIp: 1\n": 0, "OutNoRoutes 3\n": 0, "Ip6OutNoRoutes x\n": 0, "Ip: OutNoRoutes\nIp: 1\nIp: 2\n": 3, "Tcp: OutNoRoutes\nTcp: 5\n": 0,
	} {
		if got := counted(text, "Ip:OutNoRoutes", "Udp:NoPorts", "Ip6OutNoRoutes", "Udp6NoPorts"); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	for _, s := range []confine.Sockets{{}, {Network: true}, {Unix: true}, {Network: true, Unix: true}} {
		if socketsOf(bits(s)) != s {
			t.Errorf("%+v", s)
		}
	}
	if socketsOf(4) != (confine.Sockets{}) {
		t.Error("another bit")
	}
}

// TestHowCommandsEnd: exit codes, signals and leftover processes are reported, and the keeper serves the next command.
func TestHowCommandsEnd(t *testing.T) {
	for _, namespaces := range []bool{false, true} {
		var k *Keeper
		var b *Bounds
		if namespaces {
			k, b = confined(t), boundsOf()
		} else {
			var err error
			if k, err = New(false); err != nil {
				t.Fatal(err)
			}
			defer k.Close()
		}
		for _, tt := range []struct {
			line       string
			end        func()
			status     string
			background int
		}{
			{"exit 0", nil, "exit 0", 0},
			{"exit 7", nil, "exit 7", 0},
			{"kill -9 $$", nil, "signal 9", 0},
			{"echo; sleep 600", k.Terminate, "signal 15", -1},
			{"trap 'exit 3' TERM; echo; while :; do sleep 0.01; done", k.Terminate, "exit 3", -1},
			{"echo; kill -STOP $$; exit 1", k.Terminate, "signal 15", -1},
			{"trap '' TERM; echo; sleep 600", k.Kill, "signal 9", -1},
			{"echo; kill -STOP $$", k.Kill, "signal 9", -1},
			{"setsid sleep 600 & setsid sleep 600 & exit 4", nil, "exit 4", 2},
			{"(setsid bash -c 'trap \"\" TERM; sleep 600' &); exit 5", nil, "exit 5", -1},
		} {
			r := runs(t, k, specOf(t, tt.line, nil), b, "/")
			if tt.end != nil {
				r.asks(t, "")
				tt.end()
			}
			<-r.ended
			status := fmt.Sprint("exit ", r.end.Status.ExitStatus())
			if r.end.Status.Signaled() {
				status = fmt.Sprint("signal ", int(r.end.Status.Signal()))
			}
			if r.err != nil || status != tt.status || r.end.Left != 0 || tt.background >= 0 && r.end.Background != tt.background {
				t.Errorf("%v %s: %s, %+v, %v", namespaces, tt.line, status, r.end, r.err)
			}
		}
		s := specOf(t, "true", nil)
		s.Argv[0], s.Bounds, s.Path = "/none", b, "/"
		var failed *os.PathError
		if _, err := k.Run(t.Context(), s); !errors.As(err, &failed) || !errors.Is(err, unix.ENOENT) || failed.Op != "fork/exec" || failed.Path != "/none" {
			t.Errorf("a program that is not there: %v", err)
		}
		if s = specOf(t, "true", nil); namespaces {
			s.Bounds, s.Path = b, "/etc" // the handle is another folder
			if _, err := k.Run(t.Context(), s); !errors.Is(err, unix.ESTALE) || !strings.Contains(err.Error(), "enter the folder") {
				t.Errorf("another folder: %v", err)
			}
			s.Path = "/none"
			if _, err := k.Run(t.Context(), s); !errors.Is(err, unix.ENOENT) {
				t.Errorf("no folder: %v", err)
			}
		}
		s = specOf(t, "true", nil)
		s.Bounds, s.Path, s.Env = b, "/", []string{"A=" + strings.Repeat("x", maxBody)}
		if _, err := k.Run(t.Context(), s); !errors.Is(err, unix.E2BIG) || !errors.As(err, &failed) {
			t.Errorf("more than a command can be: %v", err)
		}
		if r := runs(t, k, specOf(t, "echo; exit 2", nil), b, "/"); r.asks(t, "") != "" {
			t.Error("it cannot be used again")
		} else if <-r.ended; r.end.Status.ExitStatus() != 2 {
			t.Errorf("%+v", r.end)
		}
	}
}

// TestLeave: a command may leave processes behind where that is wanted, and its rights are kept where that is.
func TestLeave(t *testing.T) {
	k, err := New(false)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	s := specOf(t, "setsid sleep 600 >/dev/null 2>&1 </dev/null & echo $!; exit 6", nil)
	s.Leave = true
	r := runs(t, k, s, nil, "/")
	pid, err := strconv.Atoi(r.asks(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if <-r.ended; r.err != nil || r.end.Status.ExitStatus() != 6 || r.end.Background != 0 || r.end.Left != 0 {
		t.Errorf("%+v, %v", r.end, r.err)
	}
	collected(t, k)
	if _, ended, ok := status(pid); !ok || ended {
		t.Error("what was to live has ended")
	}
	_ = unix.Kill(pid, unix.SIGKILL)
	if os.Geteuid() != 0 {
		return
	}
	for _, privileged := range []bool{false, true} {
		k, err := New(false)
		if err != nil {
			t.Fatal(err)
		}
		s := specOf(t, "grep CapEff /proc/self/status", nil)
		s.Privileged = privileged
		r := runs(t, k, s, nil, "/")
		if none := strings.HasSuffix(r.asks(t, ""), "0000000000000000"); none == privileged {
			t.Errorf("privileged %v: it has none: %v", privileged, none)
		}
		<-r.ended
		k.Close()
	}
}

// told is a Keeper whose process says nothing, and the other end of its socket.
func told(t *testing.T) (*Keeper, *os.File) {
	t.Helper()
	k, err := start(exec.Command("/bin/sleep", "600"), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	_ = k.socket.Close()
	ours, theirs := pair(t)
	k.socket, k.answer = ours, 10*time.Second
	return k, theirs
}

// TestAnswersOfKeepers: what a keeper answers is taken as it is meant, and what makes no sense is refused.
func TestAnswersOfKeepers(t *testing.T) {
	for _, tt := range []struct {
		kind byte
		body []byte
		want string
	}{
		{msgStarted, numbers(77), "pid 77"},
		{msgStarted, nil, errMessage.Error()},
		{msgStarted, []byte{1, 2, 3}, errMessage.Error()},
		{msgFailed, append(numbers(int(unix.EACCES)), "fork/exec"...), "fork/exec /bin/bash: permission denied"},
		{msgUnfit, []byte("mounts: no"), "mounts: no"},
		{msgEnded, numbers(1), errMessage.Error()},
	} {
		k, keeper := told(t)
		go func() {
			_, _, files, _ := receive(keeper)
			for _, f := range files {
				_ = f.Close()
			}
			_ = send(keeper, tt.kind, tt.body)
		}()
		pid, err := k.Run(t.Context(), specOf(t, "true", nil))
		got := fmt.Sprint("pid ", pid)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%c %q: %s, want %s", tt.kind, tt.body, got, tt.want)
		}
		if var1 := UnfitError(""); errors.As(err, &var1) != (tt.kind == msgUnfit) {
			t.Errorf("%c: %T", tt.kind, err)
		}
	}
	for _, tt := range []struct {
		kind byte
		body []byte
		end  End
		ok   bool
	}{
		{msgEnded, numbers(256, 3, 2, 1), End{syscall.WaitStatus(256), 3, 2, confine.Sockets{Network: true}}, true},
		{msgEnded, numbers(0, 0, 0, 2), End{Refused: confine.Sockets{Unix: true}}, true},
		{msgEnded, numbers(1, 2, 3), End{}, false},
		{msgStarted, numbers(1, 2, 3, 4), End{}, false},
		{msgAccess, nil, End{}, false},
		{msgAccess, []byte{1}, End{}, false},
		{msgNetwork, nil, End{}, false},
		{msgDial, numbers(1), End{}, false},
		{msgDial, numbers(1, 2, 3), End{}, false},
	} {
		k, keeper := told(t)
		if err := send(keeper, tt.kind, tt.body); err != nil {
			t.Fatal(err)
		}
		if end, err := k.Wait(); end != tt.end || (err == nil) != tt.ok {
			t.Errorf("%c %v: %+v, %v", tt.kind, tt.body, end, err)
		}
	}
	k, keeper := told(t)
	over := make(chan struct{})
	go func() { _, _ = k.Wait() }()
	k.accessed <- unix.EIO // stale replies: their callers have given up
	k.network <- Network{}
	answered := make(chan string, 1)
	go func() {
		for {
			kind, body, _, err := receive(keeper)
			if err != nil {
				return
			}
			switch kind {
			case msgAccess:
				answered <- string(body)
				no := 0
				if string(body) == "r" {
					no = int(unix.EBUSY)
				}
				_ = send(keeper, msgAccess, numbers(no))
			case msgNetwork:
				_ = send(keeper, msgNetwork, numbers(3, 80, 8080))
			case msgDial:
				n, _ := parseNumbers(body, 2)
				switch n[1] {
				case 1: // no connection came
					_ = send(keeper, msgDial, numbers(n[0], 0))
				case 2:
					_ = send(keeper, msgDial, numbers(n[0], int(unix.ECONNREFUSED)))
				case 3: // an answer for somebody else first
					a, b := pair(t)
					_ = send(keeper, msgDial, numbers(n[0]+100, 0), a)
					_ = send(keeper, msgDial, numbers(n[0], 0), b)
				case 4: // too late
					close(over)
				}
			}
		}
	}()
	if err := k.Access(true, nil); err != nil || <-answered != "w" {
		t.Errorf("%v", err)
	}
	if err := k.Access(false, nil); !errors.Is(err, unix.EBUSY) || <-answered != "r" {
		t.Errorf("%v", err)
	}
	if n, err := k.Network(nil); err != nil || n.Refused != (confine.Sockets{Network: true, Unix: true}) || !slices.Equal(n.Listening, []int{80, 8080}) {
		t.Errorf("%+v, %v", n, err)
	}
	for port, want := range map[int]error{1: errMessage, 2: unix.ECONNREFUSED, 3: nil, 4: os.ErrProcessDone} {
		ended := over
		if port != 4 {
			ended = nil
		}
		c, err := k.Dial(port, ended)
		if !errors.Is(err, want) || (c == nil) != (want != nil) {
			t.Errorf("port %d: %v, %v", port, c, err)
		}
		if c != nil {
			_ = c.Close()
		}
		if len(k.dials) != 0 {
			t.Errorf("port %d: %d are waited for", port, len(k.dials))
		}
	}
	_ = keeper.Close()
	_ = k.socket.Close()
	if err := k.Access(true, nil); err == nil || errors.Is(err, os.ErrProcessDone) {
		t.Errorf("without a socket: %v", err)
	}
	if _, err := k.Network(nil); err == nil {
		t.Error("without a socket")
	}
	if _, err := k.Dial(1, nil); err == nil || len(k.dials) != 0 {
		t.Error("without a socket")
	}
}

// TestSpecsThatMakeNoSense: an incomplete Spec, or one without its four files, is refused.
func TestSpecsThatMakeNoSense(t *testing.T) {
	files := make([]*os.File, 4)
	spec := func(fields ...string) []byte { return join(fields) }
	for _, tt := range []struct {
		body  []byte
		files []*os.File
		ok    bool
	}{
		{spec("true", "false", "/", "", "1", "a"), files, true},
		{spec("true", "false", "/", "", "2", "a", "b", "C=d"), files, true},
		{spec("true", "false", "/", "", "2", "a"), files, false},
		{spec("true", "false", "/", "", "0", "a"), files, false},
		{spec("true", "false", "/", "", "x", "a"), files, false},
		{spec("true", "false", "/", "", "1"), files, false},
		{spec("true", "false", "/", "x", "1", "a"), files, false},
		{spec("true", "false", "/", "", "1", "a"), files[:3], false},
		{spec("true", "false", "/", "", "1", "a"), append(files, nil), false},
		{nil, files, false},
		{[]byte{0x80}, files, false},
		{[]byte{5, 'a'}, files, false},
	} {
		s, err := decodeSpec(tt.body, tt.files)
		if (err == nil) != tt.ok {
			t.Errorf("%q: %v", tt.body, err)
		}
		if tt.ok && (!s.Privileged || s.Leave || s.Path != "/" || s.Bounds != nil) {
			t.Errorf("%q: %+v", tt.body, s)
		}
	}
	b := boundsOf()
	b.Switched = []string{"/a", "/b c"}
	if got, err := decodeBounds(b.encode()); err != nil || !slices.Equal(got.Switched, b.Switched) {
		t.Errorf("%+v, %v", got, err)
	}
	empty := string(join([]string{confine.Policy{Network: confine.Loopback}.Encode(), ""}))
	if _, err := decodeBounds(empty); err != nil {
		t.Errorf("without a rule: %v", err)
	}
	for _, n := range []int{0, 1, -1, 1 << 30, -1 << 31} {
		if got, err := parseNumbers(numbers(n, 5), 2); err != nil || got[0] != n || got[1] != 5 {
			t.Errorf("%d: %v, %v", n, got, err)
		}
	}
	for _, n := range []int{1, 3} {
		if _, err := parseNumbers(numbers(1, 2), n); err == nil {
			t.Errorf("%d of two", n)
		}
	}
	a, c := pair(t)
	if _, err := a.Write([]byte{msgStart, 1, 0, 0, 1}); err != nil { // 16 MiB and a byte
		t.Fatal(err)
	}
	if _, _, _, err := receive(c); !errors.Is(err, errMessage) {
		t.Errorf("a body of more than a command can be: %v", err)
	}
	if err := send(a, msgNetwork, nil); err != nil {
		t.Fatal(err)
	}
	if kind, body, files, err := receive(c); kind != msgNetwork || len(body) != 0 || files != nil || err != nil {
		t.Errorf("%c, %q, %v", kind, body, err)
	}
}

// TestStatusOfProcesses: whether there is a process, what its parent is, and whether it has ended, whatever it is called.
func TestStatusOfProcesses(t *testing.T) {
	if parent, ended, ok := status(os.Getpid()); parent != os.Getppid() || ended || !ok {
		t.Errorf("%d, %v, %v", parent, ended, ok)
	}
	if _, _, ok := status(1 << 30); ok {
		t.Error("there is none")
	}
	cmd := exec.Command("/bin/bash", "-c", "echo '(x) Z 9' >/proc/self/comm; printf '(x) Z 9' >/proc/$$/comm; echo; read -r _")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if parent, ended, ok := status(cmd.Process.Pid); parent != os.Getpid() || ended || !ok {
		t.Errorf("%d, %v, %v", parent, ended, ok)
	}
	_ = in.Close()
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if parent, ended, ok := status(cmd.Process.Pid); parent != os.Getpid() || !ended || !ok {
		t.Errorf("when it has ended: %d, %v, %v", parent, ended, ok)
	}
	if below := descendants(os.Getpid()); !below[cmd.Process.Pid] {
		t.Errorf("%v", below)
	}
	_ = cmd.Wait()
	if left := killBelow(os.Getpid()); left != 0 {
		t.Errorf("%d are left", left)
	}
}

// TestProbe: a trial that nothing confines says all that it could do, and one that is confined says nothing.
func TestProbe(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if exe, err = filepath.EvalSymlinks(exe); err != nil {
		t.Fatal(err)
	}
	dir := files(t, ProbeInside+"/a", ProbeHooks+"/a", ProbeOutside+"/a", ProbeKey)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.WriteFile(filepath.Join(dir, ProbePort), []byte(strconv.Itoa(l.Addr().(*net.TCPAddr).Port)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, at := range []string{"@" + filepath.Join(dir, ProbeSocket), filepath.Join(dir, ProbeSocket)} {
		l, err := net.Listen("unix", at)
		if err != nil {
			t.Skip("the folder has too long a path for a socket: ", err)
		}
		defer l.Close()
	}
	argv := func(level string) []string { return []string{exe, ProbeName, dir, strconv.Itoa(os.Getpid()), level} }
	for level, more := range map[string][]string{"": nil, "full": {"what is protected can be written", "what is protected can be renamed", "modes outside can be changed", `it is not "CapBnd:\t0000000000000000": <nil>`}} {
		cmd := exec.Command(exe, argv(level)[1:]...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		want := append([]string{
			"a file outside can be written", "a hidden file can be read", "the network of the host can be reached", "an abstract socket can be reached", "a socket of the file system is reachable",
			"the server can be sent signals", "the server can be looked into", `it is not "NoNewPrivs:\t1": <nil>`, `it is not "Seccomp:\t2": <nil>`,
		}, more...)
		if os.Geteuid() == 0 {
			want = append(want, `it is not "CapEff:\t0000000000000000": <nil>`)
		}
		got := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(out)), "\n"), func(l string) bool {
			return l == "the files of the host can be reached" // where the first process is another user's they cannot
		})
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) && os.Geteuid() == 0 {
			t.Errorf("%q: %q\nwant %q", level, got, want)
		}
		if level == "full" {
			if err := os.Rename(filepath.Join(dir, ProbeInside, "git"), filepath.Join(dir, ProbeInside, ".git")); err != nil {
				t.Fatal(err)
			}
		}
	}
	b := boundsOf(
		confine.Rule{Path: filepath.Dir(exe), Access: confine.Read}, confine.Rule{Path: dir, Access: confine.Read}, confine.Rule{Path: dir + "/" + ProbeInside, Access: confine.Write},
		confine.Rule{Path: dir + "/" + ProbeHooks, Access: confine.Read}, confine.Rule{Path: dir + "/" + ProbeInside + "/.git", Access: confine.Write}, confine.Rule{Path: filepath.Dir(filepath.Join(dir, ProbeKey)), Access: confine.Hidden},
	)
	s := specOf(t, "", nil)
	s.Argv = argv("full")
	r := runs(t, confined(t), s, b, "/")
	out, err := io.ReadAll(r.stdout)
	if <-r.ended; err != nil || len(out) > 0 || r.end.Status != 0 {
		t.Errorf("confined: %q, %+v, %v", out, r.end, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, ProbeInside)); err != nil {
		t.Fatal(err)
	}
	if out, _ := exec.Command(exe, argv("")[1:]...).CombinedOutput(); !strings.Contains(string(out), "not even what is allowed can be written") {
		t.Errorf("%s", out)
	}
}

// TestLinksAndDevices: where .git is a link to a repository that may be read, a file says so; a link to what is hidden shows nothing; a device in a
// folder that may be written is none, and a program there that has another user's rights does not get them.
func TestLinksAndDevices(t *testing.T) {
	dir := files(t, "app/x", "repo/HEAD", "keys/HEAD", "other/x", "third/x")
	if err := errors.Join(os.Symlink("../repo", dir+"/app/.git"), os.Symlink("../keys", dir+"/other/.git"), os.Symlink("../repo", dir+"/app/hooks"), os.Symlink("none", dir+"/third/.git")); err != nil {
		t.Fatal(err)
	}
	device := unix.Mknod(dir+"/app/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) == nil
	k := confined(t)
	b := boundsOf(
		confine.Rule{Path: dir + "/app", Access: confine.Write}, confine.Rule{Path: dir + "/app/.git", Access: confine.Read}, confine.Rule{Path: dir + "/app/hooks", Access: confine.Read}, confine.Rule{Path: dir + "/repo", Access: confine.Read},
		confine.Rule{Path: dir + "/other", Access: confine.Write}, confine.Rule{Path: dir + "/other/.git", Access: confine.Read}, confine.Rule{Path: dir + "/keys", Access: confine.Hidden},
		confine.Rule{Path: dir + "/third", Access: confine.Write}, confine.Rule{Path: dir + "/third/.git", Access: confine.Read},
	)
	for range 2 { // also of a keeper that has made the file before
		said := lines(t, k, b, dir+"/app", "cat .git", "cat hooks", "echo x >.git", "cat ../other/.git", "cat ../third/.git", "cat ../repo/HEAD", "cat null", "awk '$5 == \""+dir+"/app\" {print $6}' /proc/self/mountinfo")
		want := []string{
			"gitdir: " + dir + "/repo", "cat: hooks: Permission denied", "/bin/bash: line 3: .git: Read-only file system", "cat: ../other/.git: Permission denied", "cat: ../third/.git: Permission denied", "repo/HEAD", "cat: null: Permission denied", "",
		}
		if !device {
			want[6] = said[6]
		}
		if len(said) < 8 || !strings.Contains(said[7], "nosuid") || !strings.Contains(said[7], "nodev") {
			t.Errorf("%q", said)
			continue
		}
		want[7] = said[7]
		if !slices.Equal(said[:8], want) {
			t.Errorf("%q\nwant %q", said[:8], want)
		}
	}
}

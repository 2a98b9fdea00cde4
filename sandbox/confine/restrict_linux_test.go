package confine

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The test program is also what restricts a thread and starts a command from it: as confinedRun it runs its arguments,
// as confinedCalls it makes system calls.
const (
	confinedRun   = "confined-run"
	confinedCalls = "confined-calls"
)

func TestMain(m *testing.M) {
	switch os.Args[0] {
	case confinedRun, confinedCalls:
		runtime.LockOSThread()
		os.Exit(confined())
	}
	os.Exit(m.Run())
}

func confined() int {
	failed := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	p, err := Decode(strings.ReplaceAll(os.Args[1], "|", "\x00"))
	if err != nil {
		return failed(err)
	}
	namespaces := os.Args[2] == "true"
	if namespaces {
		if err := loopback(); err != nil {
			return failed(err)
		}
	}
	listener, err := new(Landlock).Restrict(p, namespaces)
	if err != nil {
		return failed(err)
	}
	if listener < 0 {
		fmt.Fprintln(os.Stderr, "no listener")
	}
	_ = unix.SetNonblock(listener, true)
	go Refuse(os.NewFile(uintptr(listener), "seccomp"), "/proc", func(s Sockets) { fmt.Fprintf(os.Stderr, "refused: %+v\n", s) })
	if os.Args[0] == confinedCalls {
		for _, n := range slices.Concat(refused, absent, shared) {
			_, _, no := unix.RawSyscall6(n, ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0))
			fmt.Println(n, int(no))
		}
		for _, c := range calls {
			_, _, no := unix.Syscall6(c.n, c.a[0], c.a[1], c.a[2], 0, 0, 0)
			fmt.Println(c.name, int(no))
		}
		return 0
	}
	pid, err := syscall.ForkExec(os.Args[3], os.Args[3:], &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return failed(err)
	}
	var status syscall.WaitStatus
	for {
		_, err = syscall.Wait4(pid, &status, 0, nil)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// loopback brings the loopback interface up.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// calls are system calls whose arguments decide, with arguments that are to be refused, or, with the name ending in "+", not.
var calls = []struct {
	name string
	n    uintptr
	a    [3]uintptr
}{
	{"socket inet", unix.SYS_SOCKET, [3]uintptr{unix.AF_INET, unix.SOCK_STREAM, 0}},
	{"socket inet6 udp", unix.SYS_SOCKET, [3]uintptr{unix.AF_INET6, unix.SOCK_DGRAM, 0}},
	{"socket mptcp", unix.SYS_SOCKET, [3]uintptr{unix.AF_INET, unix.SOCK_STREAM, 262}},
	{"socket route", unix.SYS_SOCKET, [3]uintptr{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}},
	{"socket unix", unix.SYS_SOCKET, [3]uintptr{unix.AF_UNIX, unix.SOCK_STREAM, 0}},
	{"socket vsock", unix.SYS_SOCKET, [3]uintptr{unix.AF_VSOCK, unix.SOCK_STREAM, 0}},
	{"socket packet", unix.SYS_SOCKET, [3]uintptr{unix.AF_PACKET, unix.SOCK_DGRAM, 0}},
	{"socket audit", unix.SYS_SOCKET, [3]uintptr{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}},
	{"socket unix, upper half", unix.SYS_SOCKET, [3]uintptr{unix.AF_UNIX | 1<<32, unix.SOCK_STREAM, 0}},
	{"socketpair inet", unix.SYS_SOCKETPAIR, [3]uintptr{unix.AF_INET, unix.SOCK_STREAM, 0}},
	{"clone user", unix.SYS_CLONE, [3]uintptr{unix.CLONE_NEWUSER | uintptr(unix.SIGCHLD)}},
	{"clone mount, upper half", unix.SYS_CLONE, [3]uintptr{1<<40 | unix.CLONE_NEWNS | uintptr(unix.SIGCHLD)}},
	{"ioctl TIOCSTI", unix.SYS_IOCTL, [3]uintptr{0, unix.TIOCSTI, 0}},
	{"ioctl TIOCLINUX, upper half", unix.SYS_IOCTL, [3]uintptr{0, tiocLinux | 1<<32, 0}},
	{"prlimit other", unix.SYS_PRLIMIT64, [3]uintptr{1, unix.RLIMIT_CORE, 0}},
	{"prlimit self+", unix.SYS_PRLIMIT64, [3]uintptr{0, unix.RLIMIT_CORE, 0}},
	{"kill self+", unix.SYS_KILL, [3]uintptr{0, 0, 0}},
	{"getppid+", unix.SYS_GETPPID, [3]uintptr{}},
}

// bench is where commands are tried: a folder to write, and beside it what they must not reach.
type bench struct {
	top, work, secret, program string
	uid                        int
}

// each calls f as root, if the test runs as root, and as an ordinary user.
func each(t *testing.T, f func(t *testing.T, b bench)) {
	uids := []int{os.Getuid()}
	if uids[0] == 0 {
		uids = append(uids, 65534)
	}
	for _, uid := range uids {
		t.Run(strconv.Itoa(uid), func(t *testing.T) {
			top, err := os.MkdirTemp("", "confine")
			must(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(top) })
			b := bench{top: top, work: top + "/home/work", secret: top + "/home/.ssh", program: top + "/program", uid: uid}
			must(t, os.MkdirAll(b.work+"/sub", 0o777), os.Mkdir(b.secret, 0o700), os.WriteFile(b.secret+"/id", []byte("the key"), 0o600),
				os.WriteFile(top+"/home/.bashrc", []byte("rc"), 0o644), os.WriteFile(top+"/home/plain", []byte("plain"), 0o644))
			self, err := os.Executable()
			// Another process copies it: a child that is forked while a file is open for writing here keeps it open, and then it cannot be run.
			must(t, err, exec.Command("cp", "--", self, b.program).Run(), os.Chmod(b.program, 0o755), filepath.Walk(top, func(at string, _ os.FileInfo, err error) error {
				return errors.Join(err, os.Chown(at, uid, uid))
			}))
			must(t, os.Chmod(top, 0o755))
			f(t, b)
		})
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// policy is that of an ordinary command: everything is read but keys, the workspace is written.
func (b bench) policy() Policy {
	return Policy{
		Rules: []Rule{
			{"/", Read}, {"/dev/null", Write}, {"/tmp", Private}, {b.top, Read}, {b.secret, Hidden}, {b.work, Write},
		},
		Network: NoNetwork,
		Limits:  Limits{Files: 512, FileSize: 1 << 30},
	}
}

// run runs a command under a policy. Beside namespaces it is in a network namespace, which the policy of the network is about.
func (b bench) run(t *testing.T, p Policy, namespaces bool, as string, argv ...string) (stdout, stderr string, code int) {
	t.Helper()
	text := strings.ReplaceAll(p.Encode(), "\x00", "|")
	cmd := exec.CommandContext(t.Context(), b.program)
	cmd.Args = append([]string{as, text, strconv.FormatBool(namespaces)}, argv...)
	cmd.Dir = b.work
	cmd.Env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin:" + filepath.Dir(goTool()), "HOME=" + b.top + "/home", "WORK=" + b.work, "TMPDIR=" + b.work + "/sub",
		"GOCACHE=" + b.work + "/sub/go", "GOFLAGS=-buildvcs=false", "GOTOOLCHAIN=local", "AGENT=" + strconv.Itoa(os.Getpid()),
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if b.uid != os.Getuid() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(b.uid), Gid: uint32(b.uid)}
	}
	if namespaces {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: b.uid, HostID: b.uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: b.uid, HostID: b.uid, Size: 1}},
			Credential:  &syscall.Credential{Uid: uint32(b.uid), Gid: uint32(b.uid), NoSetGroups: true},
			AmbientCaps: []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SETPCAP},
		}
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if cmd.ProcessState.ExitCode() == 99 {
		t.Fatalf("it was not restricted: %s", errs.String())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func goTool() string {
	path, _ := exec.LookPath("go")
	return path
}

// line runs a line of bash as the room does alone.
func (b bench) line(t *testing.T, line string) (stdout, stderr string, code int) {
	t.Helper()
	return b.run(t, b.policy(), false, confinedRun, "/bin/bash", "-c", line)
}

// TestCaseS01S06S08S09S10Alone: without namespaces, what a command does outside of what it may write is refused by the kernel.
func TestCaseS01S06S08S09S10Alone(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		abstract, err := net.Listen("unix", "@confine-"+filepath.Base(b.top))
		must(t, err)
		defer abstract.Close()
		for name, line := range map[string]string{
			"S01 etc":           `echo x >/etc/confine-test`,
			"S01 rc":            `echo x >>$HOME/.bashrc`,
			"S01 truncate":      `truncate -s 0 $HOME/plain`,
			"S01 tmp":           `echo x >/tmp/confine-test`,
			"S01 device":        `echo x >/dev/kmsg`,
			"S01 make":          `mkdir $HOME/new`,
			"S01 link out":      `ln $HOME/plain $WORK/plain && echo x >$WORK/plain`,
			"S01 move out":      `touch m; mv m $HOME/m`,
			"S01 symlink":       `ln -s $HOME/plain l; echo x >l`,
			"S06 read":          `cat $HOME/.ssh/id`,
			"S06 list":          `ls $HOME/.ssh`,
			"S06 by link":       `ln -s $HOME/.ssh/id k; cat k`,
			"S06 by process":    `cat /proc/self/root$HOME/.ssh/id`,
			"S07 tcp":           `exec 3<>/dev/tcp/127.0.0.1/1`,
			"S08 unix":          `python3 -c 'import socket; socket.socket(socket.AF_UNIX)'`,
			"S09 signal":        `kill -0 $AGENT`,
			"S09 environment":   `cat /proc/$AGENT/environ`,
			"S10 unshare":       `unshare -r true`,
			"S10 mount":         `mount -t tmpfs none $WORK/sub`,
			"S10 namespace":     `nsenter -t $$ -n true`,
			"S10 set-user-ID":   `su -c true </dev/null`,
			"S10 another owner": `chown 1:1 sub`,
		} {
			stdout, stderr, code := b.line(t, line)
			if code == 0 || code == 127 || strings.Contains(stdout+stderr, "the key") {
				t.Errorf("%s: code %d\n%s%s", name, code, stdout, stderr)
			}
		}
		for at, want := range map[string]string{b.secret + "/id": "the key", b.top + "/home/.bashrc": "rc", b.top + "/home/plain": "plain"} {
			if have, err := os.ReadFile(at); err != nil || string(have) != want {
				t.Errorf("%s: %q, %v", at, have, err)
			}
		}
		for _, at := range []string{"/etc/confine-test", "/tmp/confine-test", b.top + "/home/new", b.top + "/home/m"} {
			if _, err := os.Lstat(at); err == nil {
				t.Errorf("there is %s", at)
				_ = os.Remove(at)
			}
		}
	})
}

// TestCaseS07Calls makes each refused system call: in the restricted thread, and for each class of network.
func TestCaseS07Calls(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		for _, c := range []struct {
			network    Network
			namespaces bool
			inet       bool // sockets of the internet's families
		}{{NoNetwork, false, false}, {Loopback, false, false}, {Proxy, false, false}, {NoNetwork, true, false}, {Loopback, true, true}, {Proxy, true, true}} {
			t.Run(fmt.Sprintf("network %d, namespaces %v", c.network, c.namespaces), func(t *testing.T) {
				p := b.policy()
				p.Network = c.network
				stdout, stderr, code := b.run(t, p, c.namespaces, confinedCalls)
				if code != 0 {
					t.Fatal(stderr)
				}
				have := map[string]syscall.Errno{}
				for l := range strings.Lines(stdout) {
					at := strings.LastIndexByte(l, ' ')
					n, err := strconv.Atoi(strings.TrimSpace(l[at+1:]))
					must(t, err)
					have[l[:at]] = syscall.Errno(n)
				}
				want := map[string]syscall.Errno{}
				for _, n := range refused {
					want[strconv.Itoa(int(n))] = unix.EPERM
				}
				for _, n := range absent {
					want[strconv.Itoa(int(n))] = unix.ENOSYS
				}
				for _, n := range shared {
					if !c.namespaces {
						want[strconv.Itoa(int(n))] = unix.EACCES
					}
				}
				for _, call := range calls {
					no := unix.EPERM
					switch {
					case strings.HasSuffix(call.name, "+"), call.name == "prlimit other" && c.namespaces:
						no = 0
					case call.name == "socket inet", call.name == "socket inet6 udp", call.name == "socket mptcp", call.name == "socket route":
						if no = unix.EACCES; c.inet {
							no = 0
						}
					case strings.HasPrefix(call.name, "socket"):
						no = unix.EACCES
					}
					want[call.name] = no
				}
				for name, no := range want {
					if got := have[name]; got != no && !(name == "socket mptcp" && no == 0 && got == unix.EPROTONOSUPPORT) &&
						!(name == "prlimit other" && no == 0) {
						t.Errorf("%s: %d (%v), want %d", name, int(got), got, int(no))
					}
				}
			})
		}
	})
}

// TestNoSetUserID: a command makes no file that runs with the rights of its owner, and sets every other mode.
func TestNoSetUserID(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		_, stderr, code := b.run(t, b.policy(), false, confinedRun, "/bin/sh", "-ec", `
cd "$1"
cp /bin/true s
chmod 755 s
if chmod 4755 s || chmod g+s s || install -m 4755 /bin/true i; then echo it made one; exit 1; fi 2>/dev/null
mkdir d
chmod 1777 d
tar cf t s
mkdir x
tar xf t -C x
test -x x/s
`, "sh", b.work)
		if code != 0 {
			t.Errorf("%d: %s", code, stderr)
		}
	})
}

// TestCaseS07Loopback: servers and clients of one command reach each other, and nothing else.
func TestCaseS07Loopback(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		p := b.policy()
		p.Network = Loopback
		host, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer host.Close()
		_, port, _ := net.SplitHostPort(host.Addr().String())
		stdout, stderr, code := b.run(t, p, true, confinedRun, "/usr/bin/python3", "-c", `
import socket, sys
for family, at in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    server = socket.create_server((at, 0), family=family)
    client = socket.create_connection(server.getsockname()[:2])
    client.sendall(b"x")
    assert server.accept()[0].recv(1) == b"x"
def refused(family, kind, at, protocol=0):
    try:
        s = socket.socket(family, kind, protocol)
        s.settimeout(5)
        s.connect(at)
        s.send(b"x")
    except OSError as e:
        print(e.errno)
        return
    sys.exit("reached " + str(at))
refused(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int(sys.argv[1])))
refused(socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 53))
refused(socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 53), 262)
refused(socket.AF_INET, socket.SOCK_DGRAM, ("1.1.1.1", 53))
refused(socket.AF_INET6, socket.SOCK_DGRAM, ("2606:4700:4700::1111", 53))
refused(socket.AF_UNIX, socket.SOCK_STREAM, "/run/x.sock")
a, b = socket.socketpair()
a.send(b"y")
assert b.recv(1) == b"y"
`, port)
		if code != 0 || strings.Count(stdout, "\n") != 6 {
			t.Errorf("code %d\n%s%s", code, stdout, stderr)
		}
	})
}

// TestCaseS14Status: a command has no capabilities, gets none, and has its limits.
func TestCaseS14Status(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		for _, namespaces := range []bool{false, true} {
			stdout, stderr, _ := b.run(t, b.policy(), namespaces, confinedRun, "/bin/bash", "-c",
				`grep -v Groups /proc/self/status; ulimit -Hc; ulimit -Sn; ulimit -Hn; ulimit -Hf; ulimit -Hc 1 2>&1 || echo no`)
			fields := map[string]string{}
			var rest []string
			for l := range strings.Lines(stdout) {
				if name, value, ok := strings.Cut(strings.TrimSpace(l), ":\t"); ok {
					fields[name] = value
				} else {
					rest = append(rest, strings.TrimSpace(l))
				}
			}
			none := "0000000000000000"
			want := map[string]string{"NoNewPrivs": "1", "Seccomp": "2", "CapEff": none, "CapPrm": none, "CapInh": none, "CapAmb": none}
			if b.uid == 0 || namespaces { // else it cannot be bounded, and there is no way to it
				want["CapBnd"] = none
			}
			for name, value := range want {
				if fields[name] != value {
					t.Errorf("namespaces %v: %s is %q", namespaces, name, fields[name])
				}
			}
			if len(rest) < 5 || !slices.Equal(rest[:4], []string{"0", "512", "512", "1048576"}) || rest[len(rest)-1] != "no" {
				t.Errorf("limits %q, %s", rest, stderr)
			}
		}
	})
}

// TestCaseS07ForeignCalls: a program that makes system calls of another architecture is ended by the kernel.
func TestCaseS07ForeignCalls(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Log("the program is for amd64")
		return
	}
	each(t, func(t *testing.T, b bench) {
		code := []byte{0xb8, 1, 0, 0, 0, 0xbb, 42, 0, 0, 0, 0xcd, 0x80} // exit(42) by int 0x80
		var elf bytes.Buffer
		elf.WriteString("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\x3e\x00\x01\x00\x00\x00")
		little := func(size int, n ...int) {
			for _, v := range n {
				for i := range size {
					elf.WriteByte(byte(v >> (8 * i)))
				}
			}
		}
		little(8, 0x400078, 64, 0) // the entry, the program header, no section header
		little(4, 0)
		little(2, 64, 56, 1, 0, 0, 0)
		little(4, 1, 5) // loaded to read and execute
		little(8, 0, 0x400000, 0x400000, 0x78+len(code), 0x78+len(code), 0x1000)
		elf.Write(code)
		must(t, os.WriteFile(b.work+"/foreign", elf.Bytes(), 0o755))
		free := exec.CommandContext(t.Context(), b.work+"/foreign")
		_ = free.Run()
		_, stderr, got := b.run(t, b.policy(), false, confinedRun, b.work+"/foreign")
		if got != 128+int(unix.SIGSYS) {
			t.Errorf("code %d (free: %v) %s", got, free.ProcessState, stderr)
		}
	})
}

// TestCaseS04Programs: what developers run works.
func TestCaseS04Programs(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		for name, line := range map[string]string{
			"shell":  `echo x >f && mkdir d && mv f d && rm -r d && touch sub/g && mv sub/g . && cat <(echo y) && trap : TERM && kill -TERM $$`,
			"git":    `git init -q r && cd r && git config user.email a@b && git config user.name a && echo x >f && git add f && git commit -qm x && git status`,
			"python": `python3 -c 'import asyncio, subprocess, tempfile; asyncio.run(asyncio.sleep(0)); subprocess.run(["true"], check=True); tempfile.TemporaryFile()'`,
			"node":   `node -e 'require("child_process").execSync("true"); require("fs").writeFileSync("n", "x"); setTimeout(() => {}, 1)'`,
			"cc":     `echo 'int main(){return 0;}' >c.c && cc c.c -o c && ./c`,
			"go":     `mkdir m && cd m && printf 'module m\ngo 1.26\n' >go.mod && printf 'package m\nfunc F() {}\n' >x.go && go build . && go vet .`,
			"make":   `printf 'all:\n\ttrue\n' >Makefile && make -j2`,
		} {
			if stdout, stderr, code := b.line(t, line); code != 0 {
				t.Errorf("%s: code %d\n%s%s", name, code, stdout, stderr)
			}
		}
	})
}

// TestRestrictThread: the other threads of the process keep their rights, so that the next command can be confined otherwise.
func TestRestrictThread(t *testing.T) {
	file := t.TempDir() + "/f"
	errs := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and ends with the goroutine
		_, err := new(Landlock).Restrict(Policy{Rules: []Rule{{"/", Read}}, Network: NoNetwork}, false)
		if err == nil {
			if err := os.WriteFile(file, nil, 0o600); !errors.Is(err, os.ErrPermission) {
				errs <- fmt.Errorf("the thread writes: %w", err)
				return
			}
		}
		errs <- err
	}()
	must(t, <-errs)
	for range 20 {
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			done <- os.WriteFile(file, nil, 0o600)
		}()
		must(t, <-done)
	}
}

// TestRestrictRefuses: a policy that makes no sense, or a kernel that offers less, restricts nothing and says so.
func TestRestrictRefuses(t *testing.T) {
	if _, err := new(Landlock).Restrict(Policy{}, false); err == nil {
		t.Error("a policy without a network")
	}
}

// TestGrants: what Landlock gives for a policy, on a file system of names.
func TestGrants(t *testing.T) {
	tree := map[string][]string{
		"/": {"bin", "home", "proc", "tmp"}, "/home": {"u", "v"}, "/home/u": {".ssh", "app", "doc", ".config"}, "/home/u/.config": {"gh", "x"},
	}
	list := func(dir string) []string { return tree[dir] }
	rules := []Rule{
		{"/", Read},
		{"/home/u/.ssh", Hidden},
		{"/home/u/.config/gh", Hidden},
		{"/home/u/app", Write},
		{"/home/u/app/.git/hooks", Read},
		{"/tmp", Private},
		{"/closed/a/b", Hidden},
		{"/closed/a/c", Read},
	}
	const alone = "r/bin r/home/u/.config/x r/home/u/doc r/home/v r/proc w/home/u/app r/closed/a/c"
	for namespaces, want := range map[bool]string{false: alone, true: alone + " l/ w/tmp"} {
		var have []string
		for _, g := range grants(Policy{Rules: rules}, namespaces, list) {
			kind := "l"
			switch g.rights {
			case readRights:
				kind = "r"
			case writeRights:
				kind = "w"
			}
			have = append(have, kind+g.path)
		}
		wanted := strings.Fields(want)
		slices.Sort(have)
		slices.Sort(wanted)
		if !slices.Equal(have, wanted) {
			t.Errorf("namespaces %v:\n%q\n%q", namespaces, have, wanted)
		}
	}
}

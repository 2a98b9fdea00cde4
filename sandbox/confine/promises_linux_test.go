package confine

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRuleset: what a kernel's Landlock knows is handled, all of it, and a kernel that knows too little is refused.
func TestRuleset(t *testing.T) {
	const (
		base     = uint64(1)<<13 - 1
		refer    = base | unix.LANDLOCK_ACCESS_FS_REFER
		truncate = refer | unix.LANDLOCK_ACCESS_FS_TRUNCATE
		devices  = truncate | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
		net      = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		scopes   = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	)
	for _, c := range []struct {
		abi        int
		namespaces bool
		network    Network
		files, net uint64 // files 0: refused
		scoped     uint64
	}{
		{1, true, NoNetwork, 0, 0, 0},
		{2, true, NoNetwork, refer, 0, 0},
		{3, true, NoNetwork, truncate, 0, 0},
		{4, true, NoNetwork, truncate, net, 0},
		{4, true, Loopback, truncate, 0, 0},
		{5, true, NoNetwork, devices, net, 0},
		{5, true, Proxy, devices, 0, 0},
		{6, true, NoNetwork, devices, net, scopes},
		{6, true, Loopback, devices, 0, scopes},
		{9, true, Loopback, devices, 0, scopes},
		{2, false, NoNetwork, 0, 0, 0},
		{5, false, NoNetwork, 0, 0, 0},
		{6, false, NoNetwork, devices, net, scopes},
		{6, false, Loopback, devices, net, scopes}, // there is no namespace that could hold the network
	} {
		attr, err := rulesetOf(c.abi, c.network, c.namespaces)
		if (err != nil) != (c.files == 0) {
			t.Errorf("%+v: %v", c, err)
		}
		if err == nil && (attr.Handled_access_fs != c.files || attr.Handled_access_net != c.net || attr.Scoped != c.scoped) {
			t.Errorf("%+v: %+v", c, attr)
		}
	}
	if rightsOf(1) != base {
		t.Errorf("ABI 1 knows %#x", rightsOf(1))
	}
}

// TestList: the names in a folder without links, and nothing of a folder behind one.
func TestList(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err, os.Mkdir(dir+"/d", 0o755), os.WriteFile(dir+"/f", nil, 0o644), os.Symlink("f", dir+"/l"), os.Symlink("d", dir+"/k"),
		os.WriteFile(dir+"/d/in", nil, 0o644))
	names := list(dir)
	slices.Sort(names)
	if !slices.Equal(names, []string{"d", "f"}) {
		t.Errorf("%q", names)
	}
	if in := list(dir + "/d"); !slices.Equal(in, []string{"in"}) {
		t.Errorf("%q", in)
	}
	for _, none := range []string{dir + "/k", dir + "/f", dir + "/none"} {
		if names := list(none); names != nil {
			t.Errorf("%s: %q", none, names)
		}
	}
}

// TestReportedSockets: each kind of socket that a command is refused is reported, but for those of the C library's own look-ups.
func TestReportedSockets(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		for line, want := range map[string]string{
			"exec 3<>/dev/tcp/127.0.0.1/1":                              "{Network:true Unix:false}",
			"python3 -c 'import socket; socket.socket()'":               "{Network:true Unix:false}",
			"python3 -c 'import socket; socket.socket(socket.AF_UNIX)'": "{Network:false Unix:true}",
			"getent passwd nobody; id -un 12345":                        "",
		} {
			_, stderr, _ := b.line(t, line)
			if strings.Contains(stderr, "no listener") {
				t.Skip("the tests run below a filter with a listener, and the kernel allows one")
			}
			_, report, _ := strings.Cut(stderr, "refused: ")
			if report, _, _ = strings.Cut(report, "\n"); report != want {
				t.Errorf("%s: %q, want %q\n%s", line, report, want, stderr)
			}
		}
	})
}

// TestProcesses: how many processes a command may have is limited where they are counted for it alone.
func TestProcesses(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		for namespaces, limited := range map[bool]bool{true: true, false: false} {
			p := b.policy()
			p.Limits.Processes = 77
			stdout, stderr, _ := b.run(t, p, namespaces, confinedRun, "/bin/bash", "-c", "ulimit -u")
			if (strings.TrimSpace(stdout) == "77") != limited || stdout == "" {
				t.Errorf("namespaces %v: %q %s", namespaces, stdout, stderr)
			}
		}
	})
}

const someMaps = `00400000-00500000 r-xp 00000000 08:01 1 /usr/bin/git
7f0000000000-7f0000001000 r-xp 00000000 08:01 2 /usr/lib/libc.so.6
7f0000001000-7f0000002000 rw-p 00000000 00:00 0
7f0000002000-7f0000003000 r-xp 00000000 08:01 3 /usr/lib/libnss_sss.so.2
7f0000003000-7f0000004000 r-xp 00000000 08:01 4 /usr/lib/libother.so
no-7f0000009000 r-xp 00000000 08:01 4 /usr/lib/wrong
7f0000008000-no r-xp 00000000 08:01 4 /usr/lib/wrong
7f0000005000-7f0000006000 r-xp 00000000 08:01 5 /usr/lib/libc-2.31.so
`

// TestMapped: the file at an address, from its first byte up to the one before the next.
func TestMapped(t *testing.T) {
	for at, want := range map[uint64]string{
		0x400000: "git", 0x4fffff: "git", 0x500000: "", 0x3fffff: "", 0: "", 0x7f0000000000: "libc.so.6", 0x7f0000000fff: "libc.so.6", 0x7f0000001000: "",
		0x7f0000002000: "libnss_sss.so.2", 0x7f0000008500: "", 0x10: "", 0x7f0000005001: "libc-2.31.so",
	} {
		if got := mapped(someMaps, at); got != want {
			t.Errorf("%#x: %q, want %q", at, got, want)
		}
	}
	if mapped("", 1) != "" || mapped("400000-500000 /x\n", 0x400000) != "" {
		t.Error("what is no map has a file")
	}
}

// TestNameService: the sockets of the C library's own look-ups of users, and none that a program asks for itself.
func TestNameService(t *testing.T) {
	const (
		nscd, syslog = unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC
		libc, old    = 0x7f0000000010, 0x7f0000005010
		nss, other   = 0x7f0000002010, 0x7f0000003010
		program      = 0x400010
		registers    = "41 0x1 0x2 0x0 0x0 0x0 0x0 0x10 0x7f0000000010\n"
	)
	amd64 := runtime.GOARCH == "amd64"
	for name, c := range map[string]struct {
		kind      uint32
		at        uint64
		caller    uint64
		registers string
		want      bool
	}{
		"by itself":                {nscd, libc, libc + 5, registers, true},
		"by a module":              {nscd, libc, nss, registers, true},
		"the log":                  {syslog, libc, libc + 5, registers, true},
		"an older library":         {nscd, old, old + 5, registers, true},
		"by a program":             {nscd, libc, program, registers, !amd64},
		"by another library":       {nscd, libc, other, registers, !amd64},
		"by one library in two":    {nscd, libc, old, registers, !amd64},
		"another kind":             {unix.SOCK_STREAM, libc, libc + 5, registers, false},
		"a stream that blocks":     {unix.SOCK_STREAM | unix.SOCK_CLOEXEC, libc, libc + 5, registers, false},
		"a datagram that does not": {syslog | unix.SOCK_NONBLOCK, libc, libc + 5, registers, false},
		"without the library":      {nscd, program, libc + 5, registers, false},
		"from another library":     {nscd, other, libc + 5, registers, false},
		"from nowhere":             {nscd, 1, libc + 5, registers, false},
		"no registers":             {nscd, libc, program, "", true},
		"a thread that runs":       {nscd, libc, program, "running\n", true},
		"too few registers":        {nscd, libc, program, "41 0x1 0x2 0x0 0x0 0x0 0x0 0x10\n", true},
		"no stack":                 {nscd, libc, program, strings.Replace(registers, "0x10 ", "none ", 1), true},
		"a stack elsewhere":        {nscd, libc, program, strings.Replace(registers, "0x10 ", "0x1000 ", 1), true},
	} {
		proc := t.TempDir()
		must(t, os.Mkdir(proc+"/42", 0o755), os.WriteFile(proc+"/42/maps", []byte(someMaps), 0o644),
			os.WriteFile(proc+"/42/syscall", []byte(c.registers), 0o644),
			os.WriteFile(proc+"/42/mem", binary.NativeEndian.AppendUint64(make([]byte, 16), c.caller), 0o644))
		if got := nameService(proc, 42, c.kind, c.at); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if nameService(proc, 43, c.kind, c.at) {
			t.Errorf("%s: a process that has ended", name)
		}
		must(t, os.Remove(proc+"/42/mem"))
		if kind := c.kind == nscd || c.kind == syslog; nameService(proc, 42, c.kind, c.at) != (kind && (c.at == libc || c.at == old)) {
			t.Errorf("%s: without its memory", name)
		}
		must(t, os.Remove(proc+"/42/syscall"))
		if kind := c.kind == nscd || c.kind == syslog; nameService(proc, 42, c.kind, c.at) != (kind && (c.at == libc || c.at == old)) {
			t.Errorf("%s: without its registers", name)
		}
	}
}

package sandbox

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// TestFaultV13Refused: it is known of a command that it tried to reach a host or a Unix socket, and of none that only used its own network,
// or whose C library looked for a service of its own.
func TestFaultV13Refused(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	unix := func(kind string) string {
		return `python3 -c 'import socket; socket.socket(socket.AF_UNIX, ` + kind + `)' 2>&1`
	}
	none, network, socket := Refused{}, Refused{Network: true}, Refused{Unix: true}
	for _, c := range []struct {
		profile    Profile
		line       string
		full, part Refused
	}{
		{Loopback, "true", none, none},
		{Loopback, "echo x", none, none},
		{Loopback, "exec 3<>/dev/tcp/192.0.2.1/80", network, network},
		{Loopback, "exec 3<>/dev/tcp/127.0.0.1/9", none, network},
		{Loopback, "exec 3<>/dev/udp/192.0.2.1/53", network, network},
		{Loopback, "exec 3<>/dev/udp/127.0.0.1/53; echo x >&3; echo x >&3", network, network}, // a resolver of the host
		{Loopback, "exec 3<>/dev/tcp/2001:db8::1/80", network, network},
		{Write, "exec 3<>/dev/tcp/127.0.0.1/9", network, network},
		{ReadOnly, "exec 3<>/dev/udp/127.0.0.1/9", network, network},
		{Loopback, unix("socket.SOCK_STREAM"), socket, socket},
		{Loopback, unix("socket.SOCK_STREAM | socket.SOCK_NONBLOCK"), socket, socket}, // as the C library does
		{Loopback, unix("socket.SOCK_DGRAM"), socket, socket},
		{ReadOnly, unix("socket.SOCK_SEQPACKET"), socket, socket},
		{Loopback, unix("socket.SOCK_STREAM") + "; exec 3<>/dev/tcp/192.0.2.1/80", Refused{true, true}, Refused{true, true}},
		{Loopback, "getent passwd no-such-user; id no-such-user; ls -l; python3 -c 'import pwd; pwd.getpwall(); pwd.getpwuid(4711)'", none, none}, // nscd
		{Loopback, "python3 -c 'import socket; socket.socketpair()'", none, none},
	} {
		for level, want := range map[string]Refused{LevelFull: c.full, LevelPart: c.part} {
			t.Run(level, func(t *testing.T) {
				t.Parallel()
				s := newSuite(t, level)
				if o := s.does(t, c.profile, c.line); o.Refused != want {
					t.Errorf("%v %s: %+v", c.profile, c.line, o)
				}
			})
		}
	}
}

// TestFaultV13Relay: as long as a command runs, the host reaches the ports that were asked for and no other, at the same port or at a free
// one, and nothing is left open afterwards.
func TestFaultV13Relay(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	s := newSuite(t, LevelFull)
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	open := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(fds)
	}
	one := taken.Addr().(*net.TCPAddr).Port
	before := 0
	for round := range 4 {
		c := bash(fmt.Sprintf(`python3 -uc '
import socket, threading
def serve(l):
    while True:
        c = l.accept()[0]
        while data := c.recv(65536): c.sendall(data)
        c.close()
for host, port in ("127.0.0.1", %d), ("::1", 7001), ("0.0.0.0", 7003):
    l = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    threading.Thread(target=serve, args=(l,)).start()
print("ready")'`, one))
		ready := make(chan bool, 1)
		c.Profile, c.Dir, c.Surroundings, c.Grace, c.Ports = Loopback, s.folder, s.in, time.Second, []int{one, 7001, 7002}
		c.Output = func(stream Stream, chunk []byte) { ready <- stream == Stdout }
		p, err := s.start(t.Context(), c, s.level)
		if err != nil {
			t.Fatal(err)
		}
		if !<-ready {
			t.Fatalf("%+v", p.Wait())
		}
		known, err := p.(Networked).Connections()
		if err != nil || !slices.Equal(known.Listening, []int{7001, 7003, one}) || !slices.Equal(known.Unreached(), []int{7003}) || len(known.Relays) != 3 {
			t.Errorf("%+v, %v", known, err)
		}
		for i, want := range []bool{true, true, false} {
			r := known.Relays[i]
			if r.Host == one || r.Port != c.Ports[i] {
				t.Errorf("relay %+v", r)
			}
			text := make([]byte, 1<<20)
			got, err := echoed(r.Host, text)
			if want != (err == nil && len(got) == len(text)) {
				t.Errorf("port %d: %d bytes, %v", r.Port, len(got), err)
			}
		}
		idle, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", known.Relays[0].Host))
		if err != nil {
			t.Fatal(err)
		}
		p.Stop()
		p.Wait()
		if _, err := idle.Read(make([]byte, 1)); err == nil {
			t.Error("a connection outlives the command")
		}
		_ = idle.Close()
		for _, r := range known.Relays {
			// A process that is forked at this moment has the listener until it executes its program.
			until(t, fmt.Sprintf("port %d is closed", r.Host), func() bool {
				c, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", r.Host))
				if err == nil {
					_ = c.Close()
				}
				return err != nil
			})
		}
		if round == 1 { // by then the keepers are there that are used again
			before = open()
		} else if round > 1 { // a keeper may be started or ended at this moment
			until(t, "no descriptor is left", func() bool { return open() <= before })
		}
	}
	c := bash("true")
	c.Profile, c.Dir, c.Surroundings, c.Ports = Loopback, s.folder, s.in, make([]int, MaxPorts+1)
	if _, err := s.start(t.Context(), c, s.level); err == nil {
		t.Error("too many ports")
	}
}

// echoed sends a text, says that it was all, and reads what comes back.
func echoed(port int, text []byte) ([]byte, error) {
	c, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(text)
		_ = c.(*net.TCPConn).CloseWrite()
		sent <- err
	}()
	got, err := io.ReadAll(c)
	if err2 := <-sent; err == nil {
		err = err2
	}
	return got, err
}

package dial

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestCaseN01: addresses of this machine, of private networks and of clouds' metadata are not public, in whatever form.
func TestCaseN01Public(t *testing.T) {
	for _, s := range strings.Fields(`127.0.0.1 127.1.2.3 0.0.0.0 0.1.2.3 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1
		100.100.100.200 168.63.129.16 192.0.0.192 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255
		:: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1::1
		3fff::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%lo fec0::1 ff02::1 4000::1 2606:4700::1%eth0`) {
		var refused *RefusedError
		if err := Public(netip.MustParseAddr(s)); !errors.As(err, &refused) || refused.Why == "" {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range strings.Fields(`1.1.1.1 8.8.8.8 172.32.0.1 100.63.255.255 100.128.0.1 192.0.1.1 198.17.0.1 223.255.255.255 2606:4700:4700::1111
		2a00::1 ::ffff:1.1.1.1 64:ff9b::101:101`) {
		if err := Public(netip.MustParseAddr(s)); err != nil {
			t.Error(err)
		}
	}
	if Public(netip.Addr{}) == nil {
		t.Error("no address at all")
	}
}

// TestCaseN02: what is judged is the address that is connected to, not the name.
func TestCaseN02Dialled(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost", "::ffff:127.0.0.1"} {
		var refused *RefusedError
		conn, err := Dialer{}.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", host, err)
		}
		if conn != nil {
			_ = conn.Close()
		}
	}
	conn, err := Dialer{Judge: func(netip.Addr) error { return nil }}.DialContext(t.Context(), "tcp", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if _, err := (Dialer{Timeout: time.Nanosecond}).DialContext(t.Context(), "tcp", "1.1.1.1:53"); err == nil {
		t.Error("it took no time")
	}
}

// TestCaseN04: hosts are the same only if all of their names are.
func TestCaseN04Host(t *testing.T) {
	for s, want := range map[string]string{
		"Example.ORG": "example.org", "example.org.": "example.org", "xn--bcher-kva.example": "xn--bcher-kva.example", "a_b.c": "a_b.c",
		"127.0.0.1": "127.0.0.1", "[::1]": "::1", "::FFFF:1.2.3.4": "1.2.3.4", "localhost": "localhost", "1.example": "1.example",
	} {
		if have, err := Host(s); err != nil || have != want {
			t.Errorf("%q: %q, %v", s, have, err)
		}
	}
	for _, s := range []string{
		"", ".", "a..b", "-a", "a-", "bücher.example", "ex\u0430mple.org", "a b", "a\x00.example.org", "user@host", "a/b", "a:80", "127.1", "2130706433",
		"0x7f000001", "0x7f.1", "1.2.3.4.5", "017700000001", "[1.2.3.4]", "[::1", "fe80::1%lo", "a.0x1", strings.Repeat("a", 64), strings.Repeat("a.", 127) + "ab",
		"*.example.org", "example.org,other", "İ.example", "\u212aelvin.example",
	} {
		if have, err := Host(s); err == nil {
			t.Errorf("%q: %q", s, have)
		}
	}
}

func TestEntry(t *testing.T) {
	for s, want := range map[string][2]string{
		"example.org": {"example.org", ""}, "Example.org:8443": {"example.org", "8443"}, "[::1]:80": {"::1", "80"}, "::1": {"::1", ""}, "1.2.3.4": {"1.2.3.4", ""},
	} {
		if host, port, err := Entry(s); err != nil || [2]string{host, port} != want {
			t.Errorf("%q: %q, %q, %v", s, host, port, err)
		}
	}
	for _, s := range []string{"", "*", "*.example.org", "http://example.org", "example.org:http", "example.org:0", "example.org:70000", "example.org:080", "example.org:", "a b"} {
		if host, port, err := Entry(s); err == nil {
			t.Errorf("%q: %q, %q", s, host, port)
		}
	}
}

func FuzzHost(f *testing.F) {
	f.Add("Example.org.")
	f.Add("[::1]")
	f.Fuzz(func(t *testing.T, s string) {
		h, err := Host(s)
		if err != nil {
			return
		}
		if again, err := Host(h); err != nil || again != h {
			t.Errorf("%q: %q, then %q, %v", s, h, again, err)
		}
		for i := range len(h) {
			if h[i] <= ' ' || h[i] >= 0x7f {
				t.Errorf("%q: %q", s, h)
			}
		}
	})
}

// Package dial connects to hosts on the public internet and to nothing else: what is judged is the
// address that is connected to, after the name was resolved, so that a name which leads to this
// machine, its network or the metadata of a cloud reaches nothing.
package dial

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Dialer connects to public addresses. The zero value is ready. It may be used concurrently.
type Dialer struct {
	// Judge says why an address is not to be connected to. nil is Public.
	Judge func(netip.Addr) error
	// Resolver finds the addresses of a name. nil is that of the system.
	Resolver *net.Resolver
	// Timeout is how long a connection may take to be made; 0 means 15 seconds.
	Timeout time.Duration
}

// RefusedError says that an address is not to be connected to. errors.As finds it in what
// DialContext returns.
type RefusedError struct {
	Addr netip.Addr
	// Why is what the address is for.
	Why string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s is not connected to: it is %s", e.Addr, e.Why)
}

// DialContext is a net.Dialer's. Each address is judged when it is about to be connected to, so it
// does not matter what the name leads to later.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	judge := d.Judge
	if judge == nil {
		judge = Public
	}
	timeout := d.Timeout
	if timeout == 0 {
		timeout = 15 * time.Second
	}
	n := net.Dialer{Timeout: timeout, Resolver: d.Resolver, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return judge(to.Addr())
	}}
	return n.DialContext(ctx, network, address)
}

// special are the ranges that are not those of hosts on the public internet, beside those that
// netip names, and the addresses at which clouds answer their machines.
var special = []struct {
	in  netip.Prefix
	why string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "of this network"},
	{netip.MustParsePrefix("100.64.0.0/10"), "of a provider's own network"},
	{netip.MustParsePrefix("168.63.129.16/32"), "the metadata service of a cloud"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a relay"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for measurements"},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("2001::/23"), "reserved"},
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation"},
	{netip.MustParsePrefix("2002::/16"), "an IPv4 address within IPv6"},
	{netip.MustParsePrefix("3fff::/20"), "for documentation"},
}

var (
	global = netip.MustParsePrefix("2000::/3")
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
)

// Public says why an address is not one of a host on the public internet, with a *RefusedError, and
// nil if it is.
func Public(addr netip.Addr) error {
	refused := func(why string) error { return &RefusedError{addr, why} }
	a := addr.Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	switch {
	case !a.IsValid():
		return refused("no address")
	case a.Zone() != "" || a.IsLinkLocalUnicast():
		return refused("of the local link")
	case a.IsLoopback():
		return refused("this machine")
	case a.IsPrivate():
		return refused("of a private network")
	case a.IsUnspecified(), a.IsMulticast():
		return refused("no address of one host")
	}
	for _, s := range special {
		if s.in.Contains(a) {
			return refused(s.why)
		}
	}
	if a.Is6() && !global.Contains(a) {
		return refused("reserved")
	}
	return nil
}

// Host is the one form in which hosts are compared: a name in lower case without the dot at its
// end, or an address. A name is of ASCII letters, digits, - and _ (names in other scripts have an
// xn-- form), and what other programs may take for an address, such as 127.1 or 0x7f000001, is
// none.
func Host(s string) (string, error) {
	bad := func(why string) (string, error) { return "", fmt.Errorf("%q is no host: %s", s, why) }
	for i := range len(s) { // some letters of other scripts are ASCII in lower case
		if s[i] >= 0x80 {
			return bad("a name is of ASCII letters, digits, - and _")
		}
	}
	name := strings.ToLower(s)
	if a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")); err == nil {
		if a.Zone() != "" || strings.Contains(name, "[") != strings.Contains(name, "]") || a.Is4() && name[0] == '[' {
			return bad("that is no plain address")
		}
		return a.Unmap().String(), nil
	}
	name = strings.TrimSuffix(name, ".")
	if len(name) > 253 {
		return bad("it is longer than 253 characters")
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 {
			return bad("between two dots are 1 to 63 characters")
		}
		for i := range len(l) {
			if c := l[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-' && i > 0 && i < len(l)-1) {
				return bad("a name is of ASCII letters, digits, - and _")
			}
		}
	}
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return bad("it is neither a name nor an address")
	}
	return name, nil
}

// Entry takes a host with or without a port, "example.org" or "example.org:8443", apart. host is in
// the form of Host; port is "" where there is none.
func Entry(s string) (host, port string, err error) {
	name := s
	if h, p, err := net.SplitHostPort(s); err == nil && p != "" {
		name, port = h, p
	}
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0 || strconv.FormatUint(n, 10) != port) {
		return "", "", fmt.Errorf("%q is no host: %q is no port", s, port)
	}
	host, err = Host(name)
	return host, port, err
}

package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"tandem/sandbox/dial"
)

// network is a proxy in front of one server, which stands for every public address.
type network struct {
	proxy  *url.URL
	dialed chan string
}

func start(t *testing.T, hosts []string, server string, judge func(string) error) network {
	t.Helper()
	n := network{dialed: make(chan string, 100)}
	s, err := New(hosts, dial.Dialer{})
	if err != nil {
		t.Fatal(err)
	}
	s.dial = func(ctx context.Context, _, address string) (net.Conn, error) {
		n.dialed <- address
		if err := judge(address); err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, "tcp", server)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	n.proxy = &url.URL{Scheme: "http", Host: l.Addr().String()}
	return n
}

func (n network) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(n.proxy), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}}
}

func always(string) error { return nil }

// TestProxy reaches the hosts that are named, in a tunnel and by plain requests, and no others.
func TestProxy(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s %q", r.Method, r.Host, body, r.Header.Get("Proxy-Authorization"))
	})
	plain, secure := httptest.NewServer(page), httptest.NewTLSServer(page)
	defer plain.Close()
	defer secure.Close()
	for _, c := range []struct{ server, url, dialed, host string }{
		{plain.Listener.Addr().String(), "http://Example.org/x", "example.org:80", "example.org"},
		{plain.Listener.Addr().String(), "http://example.org.:8080/x", "example.org:8080", "example.org:8080"},
		{secure.Listener.Addr().String(), "https://example.org/x", "example.org:443", "example.org"},
		{secure.Listener.Addr().String(), "https://[2606:4700::1]/x", "[2606:4700::1]:443", "[2606:4700::1]"},
	} {
		n := start(t, []string{"EXAMPLE.org", "example.org:8080", "2606:4700::1"}, c.server, always)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Proxy-Authorization", "x")
		res, err := n.client().Do(req)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if got := <-n.dialed; got != c.dialed || !strings.HasPrefix(string(body), "POST "+c.host+" body ") || strings.HasPrefix(c.url, "http:") && !strings.HasSuffix(string(body), `""`) {
			t.Errorf("%s: %s, %s", c.url, got, body)
		}
	}
}

// TestCaseN04Hosts: names that begin or end like an allowed one, other forms and other ports are refused, and nothing is
// connected to.
func TestCaseN04Hosts(t *testing.T) {
	n := start(t, []string{"trusted.com", "other.org:8443"}, "", func(string) error { return errors.New("it was dialled") })
	for _, target := range []string{
		"trusted.com.evil.com:443", "eviltrusted.com:443", "evil.com:443", "sub.trusted.com:443", "trusted.com@evil.com:443", "trusted.com:22",
		"trusted.com:0443", "trusted.com:", "other.org:443", "trusted.com%00.evil.com:443", "trusted.co:443", "trusted.com\x00.evil.com:443",
		"127.0.0.1:443", "[::1]:443", "localhost:443", "2130706433:443", "*:443", "trusted.com,evil.com:443", "evil.com#trusted.com:443", "evil.com/trusted.com:443",
	} {
		for _, request := range []string{
			"CONNECT " + target + " HTTP/1.1\r\nHost: trusted.com:443\r\n\r\n",
			"GET http://" + target + "/ HTTP/1.1\r\nHost: trusted.com\r\n\r\n",
		} {
			answer := n.raw(t, request)
			if !strings.HasPrefix(answer, "HTTP/1.1 403 ") && !strings.HasPrefix(answer, "HTTP/1.1 400 ") {
				t.Errorf("%q: %q", request, answer)
			}
			select {
			case d := <-n.dialed:
				t.Errorf("%q dials %s", request, d)
			default:
			}
		}
	}
	// What the request says beside its target does not count.
	if a := n.raw(t, "CONNECT evil.com:443 HTTP/1.1\r\nHost: trusted.com:443\r\n\r\n"); !strings.Contains(a, "evil.com:443 is none of the hosts") {
		t.Errorf("%q", a)
	}
	for _, request := range []string{"GET / HTTP/1.1\r\nHost: trusted.com\r\n\r\n", "GET https://trusted.com/ HTTP/1.1\r\nHost: x\r\n\r\n", "GET ftp://trusted.com/ HTTP/1.1\r\nHost: x\r\n\r\n"} {
		if a := n.raw(t, request); !strings.HasPrefix(a, "HTTP/1.1 400 ") {
			t.Errorf("%q: %q", request, a)
		}
	}
}

func (n network) raw(t *testing.T, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", n.proxy.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, request)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
	return fmt.Sprintf("HTTP/1.1 %s %s", res.Status, body)
}

// TestCaseN02Rebinding: an allowed name that leads to this machine is not connected to.
func TestCaseN02Rebinding(t *testing.T) {
	s, err := New([]string{"localhost:1"}, dial.Dialer{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	defer l.Close()
	n := network{proxy: &url.URL{Host: l.Addr().String()}}
	for _, request := range []string{"CONNECT localhost:1 HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://localhost:1/ HTTP/1.1\r\nHost: x\r\n\r\n"} {
		if a := n.raw(t, request); !strings.HasPrefix(a, "HTTP/1.1 403 ") || !strings.Contains(a, "is not connected to: it is this machine") {
			t.Errorf("%q: %q", request, a)
		}
	}
}

// TestTunnelEnds: when the listener is closed, tunnels end.
func TestTunnelEnds(t *testing.T) {
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	s, err := New([]string{"127.0.0.1:" + port(far)}, dial.Dialer{Judge: func(netip.Addr) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Serve(l)
	}()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	_, _ = io.WriteString(near, "CONNECT "+far.Addr().String()+" HTTP/1.1\r\nHost: x\r\n\r\nhello")
	conn, err := far.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, c := range []net.Conn{conn, near} {
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	}
	hello := make([]byte, 5)
	if _, err := io.ReadFull(conn, hello); err != nil || string(hello) != "hello" {
		t.Fatalf("%q, %v", hello, err)
	}
	_ = l.Close()
	<-ended
	if _, err := io.Copy(io.Discard, near); timedOut(err) {
		t.Error("the tunnel goes on")
	}
	if _, err := conn.Read(hello); timedOut(err) {
		t.Error("the tunnel goes on")
	}
}

func timedOut(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

func port(l net.Listener) string {
	_, p, _ := net.SplitHostPort(l.Addr().String())
	return p
}

// TestEntries: ports are those that are written, or those of the web.
func TestEntries(t *testing.T) {
	s, err := New([]string{"a.org", "b.org:8443"}, dial.Dialer{})
	if err != nil || len(s.allowed) != 3 || !s.allowed["a.org:80"] || !s.allowed["a.org:443"] || !s.allowed["b.org:8443"] {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := New([]string{"a.org", "*.b.org"}, dial.Dialer{}); err == nil {
		t.Error("a pattern is no host")
	}
}

// TestBracketed: an address of IPv6 stands in brackets in a URL.
func TestBracketed(t *testing.T) {
	for host, want := range map[string]string{
		"::1": "[::1]", "2001:db8::1": "[2001:db8::1]", "127.0.0.1": "127.0.0.1", "example.org": "example.org", "": "",
	} {
		if got := bracketed(host); got != want {
			t.Errorf("%s: %s", host, got)
		}
	}
}

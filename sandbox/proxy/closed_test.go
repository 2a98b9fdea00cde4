package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"tandem/sandbox/dial"
)

// counted is a connection of which is known whether it is open.
type counted struct {
	*net.TCPConn
	once sync.Once
	open *sync.WaitGroup
}

func (c *counted) Close() error {
	defer c.once.Do(c.open.Done)
	return c.TCPConn.Close()
}

// accepting counts the connections that are accepted.
type accepting struct {
	net.Listener
	open *sync.WaitGroup
}

func (a accepting) Accept() (net.Conn, error) {
	c, err := a.Listener.Accept()
	if err != nil {
		return nil, err
	}
	a.open.Add(1)
	return &counted{TCPConn: c.(*net.TCPConn), open: a.open}, nil
}

// TestFaultT17DescriptorsOfTunnels: when a tunnel has ended, by either side or since the host could not be reached, the proxy goes on and
// keeps no descriptor of it, neither of the command's connection nor of that to the host.
func TestFaultT17DescriptorsOfTunnels(t *testing.T) {
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	for name, use := range map[string]func(near net.Conn, there func() net.Conn){
		"the command ends it": func(near net.Conn, there func() net.Conn) {
			conn := there()
			_ = near.Close()
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		},
		"the host ends it": func(near net.Conn, there func() net.Conn) {
			_ = there().Close()
			_, _ = io.Copy(io.Discard, near)
			_ = near.Close()
		},
		"both end their half": func(near net.Conn, there func() net.Conn) {
			conn := there()
			_ = near.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			_, _ = io.WriteString(conn, "the answer")
			_ = conn.(*net.TCPConn).CloseWrite()
			if text, err := io.ReadAll(near); err != nil || !strings.HasSuffix(string(text), "the answer") {
				t.Errorf("%q, %v", text, err)
			}
		},
		"the host is not allowed": nil,
	} {
		t.Run(name, func(t *testing.T) {
			host := far.Addr().String()
			s, err := New([]string{host}, dial.Dialer{})
			if err != nil {
				t.Fatal(err)
			}
			var open sync.WaitGroup
			s.dial = func(ctx context.Context, _, address string) (net.Conn, error) {
				c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
				if err != nil {
					return nil, err
				}
				open.Add(1)
				return &counted{TCPConn: c.(*net.TCPConn), open: &open}, nil
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				s.Serve(accepting{l, &open})
			}()
			defer func() {
				_ = l.Close()
				<-ended
			}()
			near, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer near.Close()
			if use == nil {
				host = "example.org:443"
			}
			_, _ = io.WriteString(near, "CONNECT "+host+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			res, err := http.ReadResponse(bufio.NewReader(near), &http.Request{Method: http.MethodConnect})
			if err != nil {
				t.Fatal(err)
			}
			if use == nil {
				if res.StatusCode != http.StatusForbidden {
					t.Errorf("%s", res.Status)
				}
				_ = near.Close()
			} else {
				use(near, func() net.Conn {
					conn, err := far.Accept()
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = conn.Close() })
					return conn
				})
			}
			open.Wait() // for ever where one is kept
		})
	}
}

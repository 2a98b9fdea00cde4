// Package proxy is the way of confined commands to the hosts that a person has named: an HTTP proxy
// that decides about each host and connects to public addresses alone. The commands reach nothing
// else.
package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"tandem/sandbox/dial"
)

const (
	// most is how many requests are served at once. More of them wait.
	most = 256
	// silence is how long a tunnel may carry nothing in either direction.
	silence = 10 * time.Minute
)

// Server is a proxy: CONNECT for tunnels, and requests with an absolute http URL. It may serve
// several listeners at once.
type Server struct {
	allowed map[string]bool // "host:port"
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	places  chan struct{}
}

// New makes a proxy to hosts. A host is a name or an address, at the ports 80 and 443; "host:port"
// is that port alone. Names below a host are other hosts. An error says which entry makes no sense.
func New(hosts []string, d dial.Dialer) (*Server, error) {
	s := &Server{allowed: map[string]bool{}, dial: d.DialContext, places: make(chan struct{}, most)}
	for _, h := range hosts {
		host, port, err := dial.Entry(h)
		if err != nil {
			return nil, err
		}
		ports := []string{port}
		if port == "" {
			ports = []string{"80", "443"}
		}
		for _, p := range ports {
			s.allowed[net.JoinHostPort(host, p)] = true
		}
	}
	return s, nil
}

// judge gives the address to connect to, or why there is none.
func (s *Server) judge(hostport, defaultPort string) (string, error) {
	host, port, err := dial.Entry(hostport)
	if err != nil {
		return "", err
	}
	address := net.JoinHostPort(host, cmp.Or(port, defaultPort))
	if !s.allowed[address] {
		return "", fmt.Errorf("%s is none of the hosts that sandbox.network allows", address)
	}
	return address, nil
}

// Serve serves a listener until that is closed. What was begun is then ended too.
func (s *Server) Serve(l net.Listener) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// No proxy of the environment, no cookies, no redirects that are followed: the command decides
	// about these.
	transport := &http.Transport{DialContext: s.dial, DisableCompression: true, ResponseHeaderTimeout: silence}
	defer transport.CloseIdleConnections()
	forward := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.Out.Host = r.Out.URL.Host },
		Transport:    transport,
		ErrorLog:     log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { refuse(w, err) },
	}
	server := &http.Server{
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          log.New(io.Discard, "", 0),
		MaxHeaderBytes:    64 << 10,
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case s.places <- struct{}{}:
				defer func() { <-s.places }()
			case <-r.Context().Done():
				return
			}
			switch {
			case r.Method == http.MethodConnect:
				s.tunnel(ctx, w, r)
			case r.URL.Scheme != "http" || r.URL.User != nil:
				http.Error(w, "this is a proxy: it takes CONNECT and absolute http URLs without a user", http.StatusBadRequest)
			default:
				address, err := s.judge(r.URL.Host, "80")
				if err != nil {
					http.Error(w, err.Error(), http.StatusForbidden)
					return
				}
				r.URL.Host = address
				if host, port, _ := net.SplitHostPort(address); port == "80" {
					r.URL.Host = bracketed(host)
				}
				forward.ServeHTTP(w, r)
			}
		}),
	}
	_ = server.Serve(l) // ends with the listener
	_ = server.Close()
}

// bracketed is a host as it stands in a URL.
func bracketed(host string) string {
	if net.ParseIP(host) != nil && net.ParseIP(host).To4() == nil {
		return "[" + host + "]"
	}
	return host
}

// refuse answers that a host was not reached.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	if _, ok := errors.AsType[*dial.RefusedError](err); ok {
		status = http.StatusForbidden
	}
	http.Error(w, err.Error(), status)
}

// tunnel serves a CONNECT.
func (s *Server) tunnel(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	address, err := s.judge(r.Host, "443")
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	there, err := s.dial(r.Context(), "tcp", address)
	if err != nil {
		refuse(w, err)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer here.Close()
	defer context.AfterFunc(ctx, func() { _, _ = here.Close(), there.Close() })()
	_ = here.SetDeadline(time.Time{})
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	alive := func() {
		t := time.Now().Add(silence)
		_, _ = here.SetDeadline(t), there.SetDeadline(t)
	}
	var both sync.WaitGroup
	carry := func(to net.Conn, from io.Reader) {
		alive()
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				alive()
				if _, err := to.Write(buf[:n]); err != nil {
					break
				}
			}
			if err != nil {
				break
			}
		}
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	both.Go(func() { carry(there, buffered) })
	both.Go(func() { carry(here, there) })
	both.Wait()
}

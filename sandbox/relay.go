package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// MaxPorts is how many ports of a command the host reaches at most, and maxRelayed how many
// connections to each at once.
const (
	MaxPorts   = 8
	maxRelayed = 64
)

// relay forwards connections from a listener of the host to a port of a command's network.
type relay struct {
	leads    Relay
	listener net.Listener
	served   sync.WaitGroup

	mu    sync.Mutex
	over  bool
	conns map[net.Conn]bool
}

// listenFor opens a listener for each port: at the same port of 127.0.0.1, or a free one where that
// is taken.
func listenFor(ports []int) (relays []*relay, err error) {
	defer func() {
		if err != nil {
			closeAll(relays)
			relays = nil
		}
	}()
	if len(ports) > MaxPorts {
		return nil, fmt.Errorf("%d ports are more than %d", len(ports), MaxPorts)
	}
	for _, port := range ports {
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
			l, err = net.Listen("tcp4", "127.0.0.1:0")
		}
		if err != nil {
			return relays, fmt.Errorf("no port for %d: %w", port, err)
		}
		host := l.Addr().(*net.TCPAddr).Port
		relays = append(relays, &relay{leads: Relay{Port: port, Host: host}, listener: l, conns: map[net.Conn]bool{}})
	}
	return relays, nil
}

// serve forwards until close.
func (r *relay) serve(dial func(port int) (net.Conn, error)) {
	slots := make(chan struct{}, maxRelayed)
	for {
		slots <- struct{}{}
		c, err := r.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // too many descriptors are open
			<-slots
			time.Sleep(100 * time.Millisecond)
			continue
		}
		r.served.Go(func() {
			defer func() { <-slots }()
			r.forward(c, dial)
		})
	}
}

// forward copies both ways until both ends have said all. A connection that the command does not
// take is reset.
func (r *relay) forward(outer net.Conn, dial func(port int) (net.Conn, error)) {
	defer r.drop(outer)
	if !r.hold(outer) {
		return
	}
	inner, err := dial(r.leads.Port)
	if err != nil {
		_ = outer.(*net.TCPConn).SetLinger(0)
		return
	}
	defer r.drop(inner)
	if !r.hold(inner) {
		return
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		pass(outer, inner)
	}()
	pass(inner, outer)
	<-answered
}

// pass copies to the end of one direction and hands the end on.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(*net.TCPConn); err == nil && ok {
		_ = half.CloseWrite()
		return
	}
	_, _ = to.Close(), from.Close() // the other direction ends too
}

func (r *relay) hold(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[c] = true
	return !r.over
}

func (r *relay) drop(c net.Conn) {
	_ = c.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
}

// close ends the listener and its connections.
func (r *relay) close() {
	_ = r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for c := range r.conns {
		_ = c.Close()
	}
}

// closeAll ends relays, and returns when nothing of them is open.
func closeAll(relays []*relay) {
	for _, r := range relays {
		r.close()
	}
	for _, r := range relays {
		r.served.Wait()
	}
}

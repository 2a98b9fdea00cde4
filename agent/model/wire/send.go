package wire

import (
	"context"
	"io"
	"net"
)

// pieces reads a Body, which it takes its list from.
type pieces struct{ net.Buffers }

// Close implements io.Closer.
func (p *pieces) Close() error { return nil }

// Reader reads it from its beginning.
func (b Body) Reader() io.ReadCloser { return &pieces{append(net.Buffers(nil), b...)} }

// Dialer makes connections, as net.Dialer.DialContext does.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// Gathering gives a Dialer whose connections send a Body by gathering writes (writev): it is not
// copied into a buffer first, which for each request of a long conversation took as long as
// everything else about it. An encrypted connection encrypts into buffers of its own, so nothing
// changes for it.
func Gathering(dial Dialer) Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if tcp, ok := c.(*net.TCPConn); ok && err == nil {
			return gathering{tcp}, nil
		}
		return c, err
	}
}

// gathering is a connection that knows how to send a Body.
type gathering struct{ *net.TCPConn }

// ReadFrom implements io.ReaderFrom, by which net/http sends what has room in no buffer.
func (c gathering) ReadFrom(r io.Reader) (int64, error) {
	l, limited := r.(*io.LimitedReader)
	if !limited {
		return c.TCPConn.ReadFrom(r)
	}
	p, ok := l.R.(*pieces)
	if !ok || Body(p.Buffers).Len() != l.N {
		return c.TCPConn.ReadFrom(r)
	}
	n, err := p.WriteTo(c.TCPConn)
	l.N -= n
	return n, err
}

package conformance

import (
	"io"
	"sync"
	"time"
)

// Latency gives how long the next piece of a stream is under way. Pieces never overtake each other.
type Latency func() time.Duration

// Steady is a Latency that never changes.
func Steady(d time.Duration) Latency { return func() time.Duration { return d } }

// Pipe is a connection in memory whose two ends wait in a way that a testing/synctest bubble can see. There delays what
// the client sends, back what the server sends; nil is no delay. A write never blocks.
func Pipe(there, back Latency) (client, server io.ReadWriteCloser) {
	up, down := newStream(there), newStream(back)
	return &end{in: down, out: up}, &end{in: up, out: down}
}

type end struct{ in, out *stream }

func (e *end) Read(p []byte) (int, error)  { return e.in.read(p) }
func (e *end) Write(p []byte) (int, error) { return e.out.write(p) }

// Close lets the other side read what was written before, then it finds the end.
func (e *end) Close() error {
	e.in.close()
	e.out.close()
	return nil
}

type packet struct {
	due  time.Time
	data []byte
}

type stream struct {
	latency Latency

	mu     sync.Mutex
	ready  *sync.Cond // guards the fields below
	queue  []packet
	last   time.Time
	closed bool
}

func newStream(l Latency) *stream {
	s := &stream{latency: l}
	s.ready = sync.NewCond(&s.mu)
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.queue) == 0 {
			if s.closed {
				return 0, io.EOF
			}
			s.ready.Wait()
		}
		wait := time.Until(s.queue[0].due)
		if wait <= 0 {
			break
		}
		s.mu.Unlock()
		time.Sleep(wait)
		s.mu.Lock()
	}
	n := copy(p, s.queue[0].data)
	if s.queue[0].data = s.queue[0].data[n:]; len(s.queue[0].data) == 0 {
		s.queue = s.queue[1:]
	}
	return n, nil
}

func (s *stream) write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, io.ErrClosedPipe
	}
	due := time.Now()
	if s.latency != nil {
		due = due.Add(s.latency())
	}
	if due.Before(s.last) {
		due = s.last
	}
	s.last = due
	s.queue = append(s.queue, packet{due: due, data: append([]byte(nil), p...)})
	s.ready.Signal()
	return len(p), nil
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.ready.Broadcast()
}

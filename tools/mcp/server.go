package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
)

// The states of a server.
const (
	Off      = "off"      // it does not run: it was not needed yet, or Reason says why not
	Starting = "starting" // a person may have been asked
	Ready    = "ready"
)

const (
	// maxFailures is how often in a row a server may end by itself, or fail to start, until it
	// stays off.
	maxFailures = 3
	// maxTools is how many tools of one server there may be, maxPages in how many pages it may tell
	// of them.
	maxTools = 256
	maxPages = 64
	// leave is how long a process may take to end once its input is closed, before it is
	// terminated.
	leave = 500 * time.Millisecond
)

const (
	// protocolVersion is the one that a process is asked for. An older one that the library knows
	// is taken.
	protocolVersion = "2025-11-25"
	// newest is that of the newer era, which begins with server/discover. Where that is not known,
	// the library goes on with initialize. A process may not answer at all what comes before
	// initialize, so it is asked for only where the process says so.
	newest = "2026-07-28"
)

// server is one server of a session.
type server struct {
	all   *Servers
	entry Entry
	key   string

	busy chan struct{} // held while it is started, or its tools are listed

	mu sync.Mutex
	// conn is nil while it does not run.
	conn         *connection
	state        string
	reason       string
	stays        bool // off, for the rest of the session
	failures     int
	listed       bool // the tools are known
	pins         pins
	changedTools map[string]toolChange // tools that are not what they were, by name
	seen         map[string]bool       // the server's own names of the tools that it has now
	layer        tools.Layer
	made         map[string]tools.Tool // those of layer, by name and by the hash of what the server tells of them
	names        map[string]string     // of the tools that are offered: by their name among all tools, the server's own
	remarks      []string
	further      offers
	noisy        string              // a remark about lines that were no messages
	calls        map[any]*activeCall // by progress token
	lastCall     string              // the id of the call that began last
	tokens       int
	// users are those who are about to speak to it, or do, by a number: what is called while a
	// person is asked, see tools.Person.Asking.
	users    map[int]func() (answered func())
	lastUser int
	resting  *time.Timer // ends the process, nil until it has run
}

// connection is a server that runs.
type connection struct {
	session *sdk.ClientSession
	process sandbox.Process // nil for one with a URL
	cancel  context.CancelFunc
	tail    *tail   // of its standard error
	files   *access // nil without a sandbox
	// deaf says that the server has ended the stream on which it notified of changes.
	deaf atomic.Bool

	once  sync.Once
	ended chan struct{} // closed once nothing of it is left

	mu  sync.Mutex
	why error // the first reason for its end
}

// blame keeps the first reason for the end of a connection, and gives it.
func (c *connection) blame(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = err
	}
	return c.why
}

// who is the server in a sentence.
func (s *server) who() string { return fmt.Sprintf("the MCP server %s", line(s.entry.Name)) }

// last is the id of the call that began last.
func (s *server) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastCall
}

// found passes on what was said outside of a call of files that run later.
func (s *server) found(said []string) {
	if len(said) > 0 && s.all.o.Autorun != nil {
		s.all.o.Autorun(said)
	}
}

// activeCall is a request that waits for its answer.
type activeCall struct {
	progress func(tools.Progress)
	alive    func() // begins the silence of the server anew
	hold     func() // and stops that

	mu    sync.Mutex
	asked int // questions to a person that stand
}

// heard takes in that the server was heard of. While a person is asked its silence does not count.
func (r *activeCall) heard() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == 0 {
		r.alive()
	}
}

// asks says that so many questions more stand.
func (r *activeCall) asks(more int) {
	r.mu.Lock()
	r.asked += more
	r.hold()
	r.mu.Unlock()
	r.heard()
}

// thinks stops the time of the requests that wait for the server, and of the calls that use it,
// until a person has answered.
func (s *server) thinks() (answered func()) {
	s.mu.Lock()
	waiting := slices.Collect(maps.Values(s.calls))
	users := slices.Collect(maps.Values(s.users))
	s.mu.Unlock()
	for _, r := range waiting {
		r.asks(1)
	}
	var ends []func()
	for _, asking := range users {
		if asking != nil {
			ends = append(ends, asking())
		}
	}
	return func() {
		for _, end := range ends {
			end()
		}
		for _, r := range waiting {
			r.asks(-1)
		}
	}
}

func newServer(all *Servers, e Entry) *server {
	return &server{
		all: all, entry: e, key: e.Key(), busy: make(chan struct{}, 1), state: Off,
		changedTools: map[string]toolChange{}, calls: map[any]*activeCall{}, names: map[string]string{},
		users: map[int]func() (answered func()){},
	}
}

// ready gives a connection to the server, which is started where it does not run. One caller at a
// time starts it.
func (s *server) ready(ctx context.Context) (*connection, error) {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	c, stays, reason := s.conn, s.stays, s.reason
	s.mu.Unlock()
	switch {
	case c != nil:
		select {
		case <-c.ended:
		default:
			return s.hearing(ctx, c), nil
		}
	case stays:
		return nil, errors.New(reason)
	}
	s.set(Starting, "")
	c, err := s.begin(ctx)
	if err != nil {
		s.failed(ctx, err)
		return nil, err
	}
	return c, nil
}

// hearing is a connection that hears of changes: c, or where the server has ended its
// notifications, as one that was started anew has, a connection that takes its place. While c is in
// use by others, or cannot be replaced, it stays: it still takes calls.
func (s *server) hearing(ctx context.Context, c *connection) *connection {
	s.mu.Lock()
	shared := len(s.users) > 1
	s.mu.Unlock()
	if !c.deaf.Load() || shared {
		return c
	}
	next, err := s.begin(ctx)
	if err != nil {
		s.all.o.log().Warn("MCP server", "server", s.entry.Name, "error", err)
		return c
	}
	s.end(c, errIdle)
	return next
}

// begin starts the server and learns its tools.
func (s *server) begin(ctx context.Context) (*connection, error) {
	l, err := prepare(s.entry, s.all.o.Env())
	if err != nil {
		return nil, err
	}
	answered := s.thinks()
	err = s.all.o.Allow(ctx, l)
	if answered(); err != nil {
		return nil, err
	}
	first, second := protocolVersion, newest
	if l.url != nil { // the newer era asks and notifies without a session, which many services have not
		first, second = second, ""
	}
	c, err := s.connect(ctx, l, first)
	if refused, ok := errors.AsType[*versionError](err); ok && refused.newer() && second != "" {
		c, err = s.connect(ctx, l, second)
	}
	if err != nil {
		return nil, err
	}
	listing, stop := context.WithTimeout(ctx, s.all.hello())
	defer stop()
	if err := s.list(listing, c); err != nil {
		if listing.Err() != nil && ctx.Err() == nil {
			err = &SilentError{For: s.all.hello(), Start: true}
		}
		s.end(c, err)
		return nil, err
	}
	if err := s.learn(listing, c); err != nil {
		s.all.o.log().Warn("MCP server", "server", s.entry.Name, "error", err)
	}
	s.found(c.files.settle())
	s.mu.Lock()
	s.conn, s.state, s.reason = c, Ready, ""
	s.rest()
	s.mu.Unlock()
	return c, nil
}

// use is to be called before the server is spoken to, and what it gives behind that: in between it
// is not ended for having nothing to do. asking may be nil.
func (s *server) use(asking func() (answered func())) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastUser++
	me := s.lastUser
	s.users[me] = asking
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.users, me)
		s.rest()
	}
}

// rest has the process end when it has had nothing to do for a while. s.mu is held.
func (s *server) rest() {
	if s.entry.URL != "" || s.all.o.Idle == nil || s.conn == nil || len(s.users) > 0 {
		return
	}
	after := s.all.o.Idle()
	switch {
	case after <= 0 && s.resting != nil:
		s.resting.Stop()
	case after <= 0:
	case s.resting == nil:
		s.resting = time.AfterFunc(after, func() { s.all.later(func(context.Context) { s.retire() }) })
	default:
		s.resting.Reset(after)
	}
}

// retire ends a process that nobody has used for a while. The next call starts it again.
func (s *server) retire() {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	default: // it is started, or tells its tools
		s.mu.Lock()
		defer s.mu.Unlock()
		s.rest()
		return
	}
	s.mu.Lock()
	c := s.conn
	if c == nil || len(s.users) > 0 {
		s.mu.Unlock()
		return
	}
	s.conn, s.state, s.reason = nil, Off, ""
	s.mu.Unlock()
	s.end(c, errIdle)
	s.all.changed()
}

// connect starts the process, or opens the connection, and speaks the handshake.
func (s *server) connect(ctx context.Context, l Launch, version string) (*connection, error) {
	c := &connection{ended: make(chan struct{}), tail: &tail{}}
	life, cancel := context.WithCancel(s.all.ctx)
	c.cancel = cancel
	var to sdk.Transport
	if l.url != nil {
		t, err := s.all.transport(l, func() { c.deaf.Store(true) })
		if err != nil {
			cancel()
			return nil, err
		}
		to = t
	} else {
		env := s.all.o.Env()
		dir, err := l.Place.Enter(nil)
		if err != nil {
			cancel()
			return nil, err
		}
		if l.Confined && env.Commands.Autorun != nil {
			c.files = &access{
				always: l.Writes,
				begin:  func() []string { return env.Commands.Autorun.Begin(s.last(), s.who()) },
				end:    func() []string { return env.Commands.Autorun.End(s.last(), s.who()) },
			}
			s.found(c.files.watch())
		}
		c.process, err = env.Commands.Runner.Start(life, sandbox.Command{
			Argv: l.Argv, Dir: dir, Profile: l.Profile, Given: sorted(l.Env), Interactive: true, Switched: true,
			Grace:  env.Limits.KillGrace,
			Output: func(_ sandbox.Stream, chunk []byte) { c.tail.write(chunk) },
		})
		dir.Close()
		if err == nil && c.process.Stdin() == nil {
			err = errors.New("it was not started")
		}
		if err != nil {
			s.found(c.files.close())
			cancel()
			return nil, err
		}
		if c.files != nil {
			c.files.process = c.process
		}
		to = newPipe(c.process.Stdin(), c.process.Stdout(), func(err error) { s.broke(c, err) }, s.noise)
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "tandem", Version: "1"}, &sdk.ClientOptions{
		Capabilities:       s.all.capable(),
		ElicitationHandler: s.elicit(),
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			s.all.later(func(ctx context.Context) { s.again(ctx, c, s.list) })
		},
		PromptListChangedHandler: func(context.Context, *sdk.PromptListChangedRequest) {
			s.all.later(func(ctx context.Context) { s.again(ctx, c, s.learn) })
		},
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) {
			s.all.later(func(ctx context.Context) { s.again(ctx, c, s.learn) })
		},
		ProgressNotificationHandler: s.progress,
		MultiRoundTrip:              &sdk.MultiRoundTripOptions{Disabled: true},
	})
	client.AddSendingMiddleware(s.rounds)
	s.all.rooted(client)
	hand, stop := context.WithTimeoutCause(ctx, s.all.hello(), errSilent)
	defer stop()
	// The library's own goroutines live as long as the context that it is connected with.
	detach := context.AfterFunc(hand, cancel)
	session, err := client.Connect(life, to, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if !detach() && err == nil {
		_ = session.Close()
		err = context.Cause(hand)
	}
	if err != nil {
		if errors.Is(context.Cause(hand), errSilent) {
			err = &SilentError{For: s.all.hello(), Start: true}
		}
		err = c.blame(versions(err))
		s.end(c, err)
		return nil, s.worded(c, err)
	}
	c.session = session
	go func() {
		err := session.Wait()
		_ = session.Close() // ends what waits for notifications
		s.broke(c, cmp.Or(err, errEnded))
	}()
	return c, nil
}

var (
	errSilent = errors.New("no answer")
	errEnded  = errors.New("it ended by itself")
	errIdle   = errors.New("it was not used")
)

// SilentError says that a server did not answer for so long that it was stopped. Start says that it
// was being started.
type SilentError struct {
	For   time.Duration
	Start bool
}

func (e *SilentError) Error() string {
	return fmt.Sprintf("it did not answer for %s and was stopped", e.For.Round(time.Millisecond))
}

// worded is why a connection that has ended did so, with what its process has said.
func (s *server) worded(c *connection, err error) error {
	var bad *violation
	if c.process == nil || errors.As(err, &bad) {
		return err
	}
	var late *SilentError
	if !errors.As(err, &late) && !ended(err) {
		return err // we have ended it
	}
	if !errors.As(err, &late) {
		if o := c.process.Wait(); o.Cancelled {
			err = errors.New("it closed its output")
		} else {
			err = fmt.Errorf("it ended with the exit code %d", o.ExitCode)
		}
	}
	if said := c.tail.String(); said != "" {
		err = fmt.Errorf("%w; it said: %s", err, said)
	}
	return err
}

// ended says that an error is the end of a connection by the other side, and no reason for that.
func ended(err error) bool {
	return slices.ContainsFunc([]error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, fs.ErrClosed, syscall.EPIPE, sdk.ErrConnectionClosed, errEnded}, func(end error) bool {
		return errors.Is(err, end)
	})
}

// noise notifies the person of a line that is no message. Those that follow are skipped without a
// word.
func (s *server) noise(text []byte) {
	said := fmt.Sprintf("It prints lines to its standard output that are no messages; they are skipped. The first one: %s", show.Clip(line(string(text)), 80))
	s.mu.Lock()
	first := s.noisy == ""
	s.noisy = said
	s.mu.Unlock()
	if first {
		s.all.o.log().Warn("MCP server", "server", s.entry.Name, "skipped", show.Clip(line(string(text)), 80))
		if s.all.o.Told != nil {
			s.all.o.Told(fmt.Sprintf("The MCP server %s prints lines to its standard output that are no messages; they are skipped.", line(s.entry.Name)))
		}
	}
}

// broke ends a connection in the background, since its server has.
func (s *server) broke(c *connection, err error) {
	err = c.blame(err)
	go func() {
		s.end(c, err)
		s.mu.Lock()
		mine := s.conn == c
		if mine {
			s.conn = nil
		}
		s.mu.Unlock()
		if mine {
			s.failed(context.Background(), s.worded(c, err))
		}
	}()
}

// end ends a connection and what is behind it: first its input is closed, then it is terminated,
// then killed. It returns when nothing is left.
func (s *server) end(c *connection, why error) {
	c.once.Do(func() {
		why = c.blame(why)
		if c.process == nil {
			if c.session != nil {
				_ = c.session.Close()
			}
			c.cancel()
			close(c.ended)
			return
		}
		gone := make(chan struct{})
		go func() {
			c.process.Wait()
			close(gone)
		}()
		var bad *violation
		var late *SilentError
		if !errors.As(why, &bad) && !errors.As(why, &late) {
			_ = c.process.Stdin().Close()
			t := time.NewTimer(leave)
			select {
			case <-gone:
			case <-t.C:
			}
			t.Stop()
		}
		c.process.Stop()
		<-gone
		_ = c.process.Stdout().Close()
		s.found(c.files.close())
		c.cancel()
		close(c.ended)
	})
	<-c.ended
}

// set changes the state.
func (s *server) set(state, reason string) {
	s.mu.Lock()
	s.state, s.reason = state, reason
	s.mu.Unlock()
}

// failed records that the server is off, and why, and tells the person. What a person has refused,
// and what has broken the protocol, stays off.
func (s *server) failed(ctx context.Context, err error) {
	reason, news := s.goOff(err, ctx.Err() != nil || s.all.ctx.Err() != nil)
	if news {
		s.all.o.log().Warn("MCP server", "server", s.entry.Name, "error", reason)
		if s.all.o.Told != nil && !errors.Is(err, ErrRejected) {
			s.all.o.Told(fmt.Sprintf("The MCP server %s is off: %s.", s.entry.Name, reason))
		}
	}
	s.all.changed()
}

func (s *server) goOff(err error, cancelled bool) (reason string, news bool) {
	var bad *violation
	var later *NotNowError
	var late *SilentError
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stays {
		return s.reason, false
	}
	reason = strings.TrimRight(show.Visible(err.Error(), false), ".")
	if !cancelled && !errors.As(err, &later) {
		news = true
		s.failures++
		mute := errors.As(err, &late) && late.Start // nobody waits for it once more
		if s.stays = mute || errors.As(err, &bad) || errors.Is(err, ErrRejected); !s.stays && s.failures >= maxFailures {
			s.stays = true
			reason += fmt.Sprintf(" (%d times; it is not started again in this session)", s.failures)
		}
	}
	s.state, s.reason = Off, reason
	return reason, news
}

// ErrRejected is the error of Options.Allow with which a server stays off for the rest of the
// session.
var ErrRejected = errors.New("the user does not want it")

// NotNowError is the error of Options.Allow for a server that may be asked for again, such as in
// another mode.
type NotNowError struct{ Why string }

func (e *NotNowError) Error() string { return e.Why }

// tail is the end of what a process prints on its standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxSaid = 2 << 10

func (t *tail) write(chunk []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, chunk[max(0, len(chunk)-maxSaid):]...)
	t.text = t.text[max(0, len(t.text)-maxSaid):]
}

// String is the last lines, with nothing invisible in them.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 300
	text := []rune(show.Visible(strings.Join(strings.Fields(strings.ToValidUTF8(string(t.text), "\uFFFD")), " "), false))
	return string(text[max(0, len(text)-most):])
}

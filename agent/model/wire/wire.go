// Package wire sends requests to model services and reads their event streams. It handles what
// services have in common, above all their errors; the meaning of events is up to each vendor's
// package.
package wire

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	"tandem/agent/model"
)

// Service says which service to speak to. KeyEnv is for messages only.
type Service struct {
	Provider, Model string
	BaseURL         string
	// Key is a secret, and so is every value of Headers. KeyEnv is the variable that Key came from.
	Key, KeyEnv string
	Headers     map[string]string
	// InClear lets the secrets go over http:// to another machine.
	InClear bool
	// Idle is how long the service may stay silent; 0 means five minutes, since a local model can
	// take that long to read a prompt.
	Idle time.Duration
	// Transport is nil for the default one.
	Transport http.RoundTripper
	// Price is nil where it is not known.
	Price *model.Price
	// Hint ends the message about an address that is not served; may be empty.
	Hint string
}

// Client speaks to one service. It may be used concurrently.
type Client struct {
	Service
	// address is BaseURL without what might be secret in it, which is within.
	address string
	within  []string
	http    http.Client
	readers sync.Pool // of *bufio.Reader
}

// New gives a client. The error is a *model.Error of kind "unavailable" when the address is none,
// or the key or a header cannot be sent.
func New(s Service) (*Client, error) {
	u, err := url.Parse(s.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, &model.Error{Kind: "unavailable", Message: fmt.Sprintf(
			"The provider %q has no usable address: set providers.%s.baseUrl to something like http://127.0.0.1:11434/v1.",
			s.Provider, s.Provider)}
	}
	s.Idle = cmp.Or(s.Idle, 5*time.Minute)
	s.Key = strings.TrimSpace(s.Key)
	if strings.ContainsFunc(s.Key, unicode.IsControl) {
		return nil, &model.Error{Kind: "unavailable", Message: fmt.Sprintf(
			"The key of the provider %s has a line break or another control character in it, which no key has: set %s anew.",
			s.Provider, cmp.Or(s.KeyEnv, "it"))}
	}
	for name, value := range s.Headers {
		if strings.ContainsFunc(name+value, unicode.IsControl) || strings.ContainsAny(name, " :") || name == "" {
			return nil, &model.Error{Kind: "unavailable", Message: fmt.Sprintf(
				"The header %q of the provider %s cannot be sent: correct providers.%s.headers.", name, s.Provider, s.Provider)}
		}
	}
	address, within := Address(u)
	if u.Scheme == "http" && !s.InClear && !loopback(u.Hostname()) && (s.Key != "" || len(within) > 0 || hasSecret(s.Headers)) {
		return nil, &model.Error{Kind: "unavailable", Message: fmt.Sprintf(
			"The key of the provider %s is not sent to %s: over http:// everybody on the way can read it. Use https://, or set "+
				"providers.%s.sendKeyInClear to true in your own configuration.", s.Provider, address, s.Provider)}
	}
	return &Client{
		Service: s, address: address, within: within,
		http: http.Client{
			Transport: s.Transport,
			// A redirect would send the conversation to an address that was not configured.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// loopback says that a host is this machine.
func loopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && addr.Unmap().IsLoopback()
}

// hasSecret says that a header looks like one that carries a key.
func hasSecret(headers map[string]string) bool {
	for name := range headers {
		name = strings.ToLower(name)
		for _, word := range []string{"auth", "key", "token", "secret", "pass", "cred", "cookie"} {
			if strings.Contains(name, word) {
				return true
			}
		}
	}
	return false
}

// Address words an address for people, and gives what it leaves out: names, passwords and
// parameters may all be keys.
func Address(u *url.URL) (shown string, within []string) {
	plain := *u
	plain.User, plain.RawQuery, plain.Fragment, plain.RawFragment = nil, "", "", ""
	shown = plain.String()
	if u.User != nil {
		password, _ := u.User.Password()
		within = append(within, u.User.Username(), password)
		shown = strings.Replace(shown, "://", "://[redacted]@", 1)
	}
	if u.RawQuery != "" {
		for _, values := range u.Query() {
			within = append(within, values...)
		}
		shown += "?[redacted]"
	}
	return shown, within
}

// Address is where the service is, without what might be secret in it.
func (c *Client) Address() string { return c.address }

// Name is "provider/model".
func (c *Client) Name() string { return c.Provider + "/" + c.Model }

// Priced gives u with its cost, where the service has not told it and the price is known.
func (c *Client) Priced(u model.Usage) model.Usage {
	if u.CostUSD == 0 && c.Price != nil {
		u.CostUSD = c.Price.Of(u)
	}
	return u
}

// Exchange is one request and its answer. It is an HTTP client for the vendors' libraries, which
// must be told not to try again by themselves.
type Exchange struct {
	// Body, where it is not nil, is sent instead of what the library has made of the request.
	Body Body
	// Early, where it is not nil, says that the service has named a reason to end and may go on all
	// the same: some name one with each event. It may then be silent for as long as before.
	Early func() bool

	c      *Client
	outer  context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   *time.Timer
	wait   time.Duration
	body   io.ReadCloser
	events *events
	late   *model.Error // what the service reported after its answer was complete
}

// How long a service may take, after an answer is complete, to send its usage and to close the
// stream.
const (
	tail    = 5 * time.Second
	closing = 20 * time.Millisecond
)

var errIdle = errors.New("idle")

const maxErrorBody = 64 << 10

// maxStream is the largest stream. An event for every few letters makes it many times larger than
// the answer in it, which model.Bounded bounds; here it is about what a service sends besides.
const maxStream = 256 << 20

// Start begins an exchange; End must be called.
func (c *Client) Start(ctx context.Context) *Exchange {
	x := &Exchange{c: c, outer: ctx, wait: c.Idle}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	x.idle = time.AfterFunc(x.wait, func() { x.cancel(errIdle) })
	return x
}

// End frees the exchange's resources.
func (x *Exchange) End() {
	x.idle.Stop()
	x.cancel(nil)
	if x.body != nil {
		x.body.Close()
		x.events.lines.Reset(nil)
		x.c.readers.Put(x.events.lines)
		x.body = nil
	}
}

// Context ends when the exchange has failed or was cancelled.
func (x *Exchange) Context() context.Context { return x.ctx }

// Do sends the request. A status other than 200 is a *model.Error.
func (x *Exchange) Do(req *http.Request) (*http.Response, error) {
	for k, v := range x.c.Headers {
		req.Header.Set(k, v)
	}
	if x.Body != nil {
		req.Body, req.ContentLength = x.Body.Reader(), x.Body.Len()
		req.GetBody = func() (io.ReadCloser, error) { return x.Body.Reader(), nil }
	}
	resp, err := x.c.http.Do(req)
	if err != nil {
		return nil, err
	}
	x.idle.Reset(x.wait)
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		return nil, x.c.refusal(resp, text)
	}
	x.body = resp.Body
	lines, _ := x.c.readers.Get().(*bufio.Reader)
	if lines == nil {
		lines = bufio.NewReaderSize(nil, 16<<10)
	}
	x.events = newEvents(resp.Body, lines, func() { x.idle.Reset(x.wait) })
	return resp, nil
}

// Read hands the data of every event to on. When whole says that the answer is complete, nothing
// that happens later is an error any more, see Answered; on may then end the reading with io.EOF.
// Errors are *model.Error or the context's.
func (x *Exchange) Read(on func(data []byte) error, whole func() bool) error {
	for total := 0; ; {
		data, err := x.events.next()
		if total += len(data); total > maxStream {
			return x.c.Bad("sent a stream of more than %d MiB", maxStream>>20)
		}
		if err == nil {
			err = on(data)
		}
		switch {
		case whole() && x.outer.Err() == nil:
			if err == nil {
				if x.wait = tail; x.Early != nil && x.Early() {
					x.wait = x.c.Idle
				}
				x.idle.Reset(x.wait)
				continue
			}
			if errors.As(err, &x.late) && x.late.Kind == "bad_response" {
				x.late = nil // it reports nothing, it is only not understood
			}
			// Reading to the end lets the connection be used again.
			x.idle.Reset(closing)
			_, _ = io.CopyN(io.Discard, x.body, 4096)
			return nil
		case err == nil:
			continue
		case errors.Is(err, errTooLong):
			return x.c.Bad("sent an event of more than 16 MiB")
		case errors.Is(err, io.EOF) && !x.events.any:
			return x.notAStream()
		}
		return x.cut(err)
	}
}

// Answered gives what has come of the answer that was read. An error that the service reported
// after the answer was complete is told as a Notice; it is the error of the request only where the
// answer has not a word.
func (x *Exchange) Answered(resp model.Response, on func(model.Delta)) (model.Response, error) {
	switch {
	case x.late == nil:
	case resp.Stop == model.StopEnd && resp.Detail != "":
		return model.Response{}, x.late
	default:
		on(model.Delta{Notice: x.late.Message + " It came after the complete answer, which is kept."})
	}
	return resp, nil
}

// notAStream is what an answer without a single event was instead.
func (x *Exchange) notAStream() *model.Error {
	head := strings.TrimSpace(string(x.events.head))
	switch {
	case head == "":
		return x.c.Bad("sent an empty answer")
	case strings.HasPrefix(head, "<"):
		return x.c.Bad("answered with a web page instead of a stream; check providers.%s.baseUrl (it is %s)",
			x.c.Provider, x.c.address)
	case IsError([]byte(head)):
		return x.c.Reported([]byte(head))
	}
	return x.c.Bad("sent something else than a stream of events: %s", Short(x.c.clean(head), 200))
}

// Fail words an error of the request.
func (x *Exchange) Fail(err error) error {
	var sending *url.Error
	switch known := x.known(err); {
	case known != nil:
		return known
	case errors.As(err, &sending):
		return x.c.unreached(sending.Err)
	}
	return &model.Error{Kind: "http", Message: fmt.Sprintf("%s: %s.", x.c.Name(), x.c.clean(err.Error()))}
}

// unreached words what kept a request from its service.
func (c *Client) unreached(err error) *model.Error {
	e := &model.Error{Kind: "http", Retryable: true}
	next := fmt.Sprintf("Is it running, and is providers.%s.baseUrl right?", c.Provider)
	var untrusted *tls.CertificateVerificationError
	var proxy *net.OpError
	switch {
	case errors.As(err, &untrusted):
		e.Retryable = false
		next = fmt.Sprintf("Where its certificate is to be trusted, name the file that has it, or the one that has signed it, "+
			"in providers.%s.caFile.", c.Provider)
	case errors.As(err, &proxy) && proxy.Op == "proxyconnect":
		next = fmt.Sprintf("That is the proxy: correct providers.%s.proxy, or HTTPS_PROXY and its kin.", c.Provider)
	}
	e.Message = fmt.Sprintf("%s cannot be reached at %s: %s. %s", c.Provider, c.address, c.clean(err.Error()), next)
	return e
}

// cut words an error of the connection while the answer came; it is told in many ways.
func (x *Exchange) cut(err error) error {
	if known := x.known(err); known != nil {
		return known
	}
	return &model.Error{Kind: "cut", Retryable: true, Message: x.c.Name() + " broke off in the middle of its answer."}
}

func (x *Exchange) known(err error) error {
	var known *model.Error
	switch {
	case x.outer.Err() != nil:
		return x.outer.Err()
	case errors.As(err, &known):
		return known
	case errors.Is(context.Cause(x.ctx), errIdle):
		return &model.Error{Kind: "cut", Message: fmt.Sprintf("%s has been silent for %s.", x.c.Name(), x.c.Idle)}
	}
	return nil
}

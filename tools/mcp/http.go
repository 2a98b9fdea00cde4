package mcp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tandem/sandbox/dial"
	"tandem/tools/web"
)

// transport is the way to a server with a URL: its host alone is connected to, no redirect is
// followed, and an answer is bounded. deaf is called where the server ends the stream of its
// notifications.
func (s *Servers) transport(l Launch, deaf func()) (sdk.Transport, error) {
	if len(l.Headers)+len(l.KeyCommand) > 0 && l.url.Scheme != "https" && !web.Here(l.url) {
		return nil, fmt.Errorf("its key would be sent to %s unencrypted: its url needs https://", l.url.Host)
	}
	judge := s.o.Judge
	if judge == nil && l.Own {
		judge = web.Named(l.url, dial.Public)
	}
	return &sdk.StreamableClientTransport{
		Endpoint: l.url.String(), MaxEventSize: maxMessage, MaxRetries: 2,
		HTTPClient: &http.Client{
			Transport: &bounded{l: l, key: s.o.Key, deaf: deaf, next: &http.Transport{
				DialContext: dial.Dialer{Judge: judge}.DialContext, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
				TLSHandshakeTimeout: 15 * time.Second, IdleConnTimeout: time.Minute, MaxIdleConns: 4,
			}},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// bounded sends the headers of a server to its host and to no other, and bounds what comes back.
type bounded struct {
	l    Launch
	key  func(command []string) (string, error)
	next *http.Transport
	deaf func()

	asked asked

	mu     sync.Mutex
	bearer string // the key that the command has printed last
}

// keyError is why a server does not let us in. It says what a person can do.
type keyError struct{ what string }

func (e *keyError) Error() string { return e.what }

// authorization is the header for the key of the entry's command, "" where it has none. The command
// runs where no key is there, and where refused is the one that is.
func (b *bounded) authorization(refused string) (string, error) {
	if len(b.l.KeyCommand) == 0 {
		return "", nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bearer == "" || b.bearer == refused {
		key, err := b.key(b.l.KeyCommand)
		if err != nil {
			return "", &keyError{"its apiKeyCommand " + err.Error()}
		}
		b.bearer = "Bearer " + key
	}
	return b.bearer, nil
}

// refused is the error for a server that does not accept our key, or wants one.
func (b *bounded) refused(answer *http.Response) error {
	what := "it has no key of yours"
	if len(b.l.Headers) > 0 || len(b.l.KeyCommand) > 0 {
		what = "it does not accept the key that was sent"
	}
	if strings.Contains(answer.Header.Get("WWW-Authenticate"), "resource_metadata") {
		what += " (it wants a token of OAuth; signing in is not served here)"
	}
	return &keyError{fmt.Sprintf("it answers with the status %d: %s. Put a token into mcpServers.%s.headers as Authorization, or into "+
		"mcpServers.%s.apiKeyCommand a command that prints one", answer.StatusCode, what, b.l.Name, b.l.Name)}
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != b.l.url.Scheme || r.URL.Host != b.l.url.Host {
		return nil, fmt.Errorf("%s is another host than that of the server", r.URL.Host)
	}
	bearer, err := b.authorization("")
	if err != nil {
		return nil, err
	}
	listens := b.asked.expect(r) == "subscriptions/listen"
	answer, err := b.send(r, r.Body, bearer)
	if err == nil && answer.StatusCode == http.StatusUnauthorized && bearer != "" && (r.Body == nil || r.GetBody != nil) {
		_ = answer.Body.Close()
		if bearer, err = b.authorization(bearer); err != nil {
			return nil, err
		}
		again := r.Body
		if r.GetBody != nil {
			if again, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
		answer, err = b.send(r, again, bearer)
	}
	if err != nil {
		return nil, err
	}
	switch kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); {
	case answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden:
		_ = answer.Body.Close()
		return nil, b.refused(answer)
	case kind == "text/event-stream": // the library bounds each event of a stream
		stream := &events{Closer: answer.Body, in: bufio.NewReaderSize(answer.Body, 64<<10), mend: b.asked.mend}
		if answer.Body = stream; listens {
			stream.ended = b.deaf
		}
	case kind == "application/json":
		answer.Body = &whole{ReadCloser: &body{answer.Body, maxMessage}, mend: b.asked.mend}
		answer.ContentLength = -1
	default:
		answer.Body = &body{answer.Body, maxMessage}
	}
	return answer, nil
}

// send sends a request with the headers of the entry.
func (b *bounded) send(r *http.Request, body io.ReadCloser, bearer string) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Body = body
	if bearer != "" {
		r.Header.Set("Authorization", bearer)
	}
	for name, value := range b.l.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("User-Agent", "tandem")
	return b.next.RoundTrip(r)
}

// CloseIdleConnections implements what http.Client looks for.
func (b *bounded) CloseIdleConnections() { b.next.CloseIdleConnections() }

// body is an answer of at most left bytes.
type body struct {
	io.ReadCloser
	left int
}

var errLarge = errors.New("the answer is larger than 10 MiB")

func (b *body) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

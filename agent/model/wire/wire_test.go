package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"tandem/agent/model"
)

func client(t *testing.T, s Service) *Client {
	t.Helper()
	s.Provider, s.Model = "mock", "m"
	c, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ask sends a request and joins the data of all events; an event "end" makes the answer whole.
func ask(ctx context.Context, c *Client, on func()) (string, error) {
	x := c.Start(ctx)
	defer x.End()
	req, err := http.NewRequestWithContext(x.Context(), http.MethodPost, c.BaseURL, strings.NewReader("{}"))
	if err != nil {
		return "", err
	}
	if _, err := x.Do(req); err != nil {
		return "", x.Fail(err)
	}
	var got []string
	whole := false
	err = x.Read(func(data []byte) error {
		if on != nil {
			on()
		}
		got = append(got, string(data))
		whole = whole || string(data) == `"end"`
		return nil
	}, func() bool { return whole })
	return strings.Join(got, "|"), err
}

func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return client(t, Service{BaseURL: s.URL})
}

func TestEvents(t *testing.T) {
	for _, c := range []struct{ name, stream, want string }{
		{"plain", "data: 1\n\ndata: 2\n\n", "1|2"},
		{"tight", "data:1\ndata:2\n", "1|2"},
		{"windows", "\ufeffevent: x\r\ndata: 1\r\n\r\n", "1"},
		{"old macs", "event: x\rdata: 1\r\rdata: [1,\rdata: 2]\r\rdata: [DONE]\r\r", "1|[1,\n2]|[DONE]"},
		{"several lines", "data: {\ndata: \"a\":1}\n\ndata: 2", "{\n\"a\":1}|2"},
		{"no JSON", "data: {oops\n\ndata: 2\n\n", "{oops|2"},
		{"done", "data: 1\n\ndata: [DONE]\n\n", "1|[DONE]"},
		{"comments", strings.Repeat(": busy\n\n", 3) + "data: 1\n\nid: 7\nretry: 9\ndata:\n\n", "1"},
		{"a long line", "data: \"" + strings.Repeat("x", 40_000) + "\"\n\n", "\"" + strings.Repeat("x", 40_000) + "\""},
		{"nothing", "\n\n", ""},
	} {
		e := newEvents(strings.NewReader(c.stream), bufio.NewReader(nil), func() {})
		var got []string
		for {
			data, err := e.next()
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(data))
		}
		if joined := strings.Join(got, "|"); joined != c.want {
			t.Errorf("%s: %q", c.name, joined)
		}
	}
	for _, cut := range []string{"data: {", "data: {\ndata: 1", "data: {\n"} {
		if _, err := newEvents(strings.NewReader(cut), bufio.NewReader(nil), func() {}).next(); err != io.ErrUnexpectedEOF {
			t.Errorf("%q: %v", cut, err)
		}
	}
	for _, long := range []string{"data: " + strings.Repeat("x", maxEvent+1), strings.Repeat("data: [["+strings.Repeat("x", 1<<20)+"\n", 17)} {
		if _, err := newEvents(strings.NewReader(long), bufio.NewReader(nil), func() {}).next(); err != errTooLong {
			t.Error(err)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("data: {\ndata: 1}\n\n: c\r\ndata: [DONE]")
	f.Fuzz(func(t *testing.T, stream string) {
		e := newEvents(strings.NewReader(stream), bufio.NewReader(nil), func() {})
		for range len(stream) + 1 {
			data, err := e.next()
			if err != nil {
				if len(e.head) > maxHead+len(stream) {
					t.Error("the head is longer than the stream")
				}
				return
			}
			if len(data) == 0 {
				t.Error("an empty event")
			}
		}
		t.Error("more events than bytes")
	})
}

func TestNobodyListens(t *testing.T) {
	s := httptest.NewServer(nil)
	base := s.URL
	s.Close()
	_, err := ask(t.Context(), client(t, Service{BaseURL: base}), nil)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != "http" || !e.Retryable || !strings.Contains(e.Message, "mock cannot be reached at "+base) {
		t.Error(err)
	}
}

func TestCancelEndsTheRequest(t *testing.T) {
	gone := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := ask(ctx, c, cancel); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-gone
}

// TestNoAnswer waits for a service that takes a request and says nothing at all.
func TestNoAnswer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer s.Close()
	_, err := ask(t.Context(), client(t, Service{BaseURL: s.URL, Idle: 50 * time.Millisecond}), nil)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != "cut" || e.Message != "mock/m has been silent for 50ms." {
		t.Error(err)
	}
}

// TestHTTP2StreamIsReset breaks off in the way of the protocol that most services are spoken to in.
func TestHTTP2StreamIsReset(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Error(r.Proto)
		}
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	got, err := ask(t.Context(), client(t, Service{BaseURL: s.URL, Transport: s.Client().Transport}), nil)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != "cut" || !e.Retryable || got != "1" {
		t.Error(got, err)
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	peers := map[string]bool{}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		peers[r.RemoteAddr] = true
		_, _ = io.WriteString(w, "data: \"end\"\n\ndata: 1\n\n")
	})
	for range 5 {
		if got, err := ask(t.Context(), c, nil); err != nil || got != `"end"|1` {
			t.Fatal(got, err)
		}
	}
	if len(peers) != 1 {
		t.Errorf("%d connections for 5 requests", len(peers))
	}
}

func TestAddress(t *testing.T) {
	for _, bad := range []string{"", "localhost:11434", "ftp://x/v1", "http://", "http://[", "/v1"} {
		_, err := New(Service{Provider: "p", BaseURL: bad})
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != "unavailable" || !strings.Contains(e.Message, "providers.p.baseUrl") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		header, value string
		want          time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After", "Wed, 21 Oct 2026 07:28:05 GMT", 5 * time.Second},
		{"Retry-After", "Wed, 21 Oct 2026 07:27:00 GMT", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "-1", 0},
		{"Retry-After-Ms", "30", 30 * time.Millisecond},
	} {
		h := http.Header{"Date": {"Wed, 21 Oct 2026 07:28:00 GMT"}}
		h.Set(c.header, c.value)
		if d := retryAfter(h, time.Time{}); d != c.want {
			t.Errorf("%s: %s", c.value, d)
		}
	}
}

// TestRetryAfterDateAlone is about services that tell when, and not what time it is.
func TestRetryAfterDateAlone(t *testing.T) {
	now := time.Date(2026, 10, 21, 7, 28, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"Wed, 21 Oct 2026 07:28:05 GMT": 5 * time.Second,
		"Wed, 21 Oct 2026 07:27:00 GMT": 0,
		"soon":                          0,
	} {
		if d := retryAfter(http.Header{"Retry-After": {value}}, now); d != want {
			t.Errorf("%s: %s", value, d)
		}
	}
}

func TestWordsForTheWindow(t *testing.T) {
	c := client(t, Service{BaseURL: "http://x"})
	for _, says := range []string{
		"prompt is too long: 250000 tokens > 200000 maximum",
		"Your input exceeds the context window of this model. Please adjust your input and try again.",
		"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context " +
			"length of only 4096 tokens, which is not enough.",
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
		"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
		"The input (9000 tokens) is longer than the model's context length (8192 tokens).",
		"The number of tokens to keep from the initial prompt is greater than the context length",
		"Input is too long for requested model.",
		"context length exceeded",
	} {
		if e := c.refused(http.StatusBadRequest, says, "", http.Header{}); e.Kind != "context_window" || e.Retryable {
			t.Errorf("%s: %+v", says, e)
		}
	}
	for _, says := range []string{
		"Request too large on tokens per min (TPM): Limit 10000, Requested 20000", "max_tokens is too large", "the name is too long",
	} {
		if e := c.refused(http.StatusTooManyRequests, says, "", http.Header{}); e.Kind != "rate_limit" {
			t.Errorf("%s: %+v", says, e)
		}
	}
}

func TestWordsForTheKey(t *testing.T) {
	c := client(t, Service{BaseURL: "https://x", Key: "k", KeyEnv: "MOCK_KEY"})
	for says, code := range map[string]string{
		"API key not valid. Please pass a valid API key.": "400 INVALID_ARGUMENT",
		"nope": "authentication_error",
	} {
		e := c.refused(http.StatusBadRequest, says, code, http.Header{})
		if e.Kind != "auth" || !strings.Contains(e.Message, "MOCK_KEY") {
			t.Errorf("%s: %+v", says, e)
		}
	}
}

// TestSecretsOfTheAddress wants no message to show the secret parts of an address: a name, a password or a
// parameter may be a key.
func TestSecretsOfTheAddress(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "nothing at "+r.URL.String())
	}))
	defer s.Close()
	there := strings.TrimPrefix(s.URL, "http://")
	for _, base := range []string{
		"http://canary-name@" + there + "/v1",
		"http://u:canary-word@" + there + "/v1?key=canary-key",
		"http://canary-1:canary-2@" + there + "?k=canary-3&l=canary-4#canary-5",
	} {
		c := client(t, Service{BaseURL: base})
		_, err := ask(t.Context(), c, nil)
		if err == nil || strings.Contains(err.Error(), "canary") || strings.Contains(c.Address(), "canary") {
			t.Errorf("%s: %s: %v", base, c.Address(), err)
		}
		if !strings.Contains(c.Address(), there) {
			t.Error(c.Address())
		}
	}
}

// TestWhoKeepsItFromItsService wants a person to be told what to set: certificates and proxies are not the service.
func TestWhoKeepsItFromItsService(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	_, err := ask(t.Context(), client(t, Service{BaseURL: s.URL}), nil)
	var e *model.Error
	if !errors.As(err, &e) || e.Retryable || !strings.Contains(e.Message, "providers.mock.caFile") {
		t.Errorf("an unknown certificate: %+v", err)
	}
	gone := httptest.NewServer(nil)
	proxy, err := url.Parse(gone.URL)
	gone.Close()
	if err != nil {
		t.Fatal(err)
	}
	through := &http.Transport{Proxy: http.ProxyURL(proxy)}
	_, err = ask(t.Context(), client(t, Service{BaseURL: "http://models.example.org", Transport: through}), nil)
	if !errors.As(err, &e) || !e.Retryable || !strings.Contains(e.Message, "providers.mock.proxy") {
		t.Errorf("a proxy that is down: %+v", err)
	}
}

// TestWhatCannotBeSent wants a key with a line break in it to be told as that, not as a service that cannot be reached.
func TestWhatCannotBeSent(t *testing.T) {
	for _, s := range []Service{
		{Key: "sk-canary\nmore", KeyEnv: "MOCK_KEY"},
		{Headers: map[string]string{"X-Mock": "canary\r\nX-Evil: 1"}},
		{Headers: map[string]string{"X Mock": "canary"}},
	} {
		s.Provider, s.BaseURL = "mock", "https://x"
		_, err := New(s)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != "unavailable" || strings.Contains(e.Message, "canary") ||
			!strings.Contains(e.Message, "MOCK_KEY") && !strings.Contains(e.Message, "providers.mock.headers") {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if _, err := New(Service{Provider: "mock", BaseURL: "https://x", Key: " sk-fine\n"}); err != nil {
		t.Error(err)
	}
}

func TestShouldRetry(t *testing.T) {
	c := client(t, Service{BaseURL: "http://x"})
	for status, want := range map[int]bool{400: false, 404: false, 408: true, 409: true, 429: true, 500: true, 529: true} {
		if e := c.refused(status, "", "", http.Header{}); e.Retryable != want {
			t.Errorf("%d: %+v", status, e)
		}
		for says, want := range map[string]bool{"true": true, "false": false} {
			if e := c.refused(status, "", "", http.Header{"X-Should-Retry": {says}}); e.Retryable != want {
				t.Errorf("%d, %s: %+v", status, says, e)
			}
		}
	}
}

func TestCallIDsStayApart(t *testing.T) {
	seen := map[string]string{}
	long := strings.Repeat("x", 80)
	for _, id := range []string{"", "call_1", "a.b", "a:b", "a_b", "functions.bash:0", long, long + "y", "ä"} {
		safe := CallID(id)
		if safe == "" || len(safe) > 64 || plain(safe) != safe {
			t.Errorf("%q gives %q", id, safe)
		}
		if other, ok := seen[safe]; ok {
			t.Errorf("%q and %q give %q", id, other, safe)
		}
		seen[safe] = id
	}
}

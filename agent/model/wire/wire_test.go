package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
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
		if d := retryAfter(h); d != c.want {
			t.Errorf("%s: %s", c.value, d)
		}
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

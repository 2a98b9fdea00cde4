package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tandem/tools"
	"tandem/tools/mcp"
	"tandem/tools/run"
)

// remote is a server with a URL.
type remote struct {
	*httptest.Server
	key     atomic.Value // what it has seen of the header
	down    atomic.Bool  // it answers 503
	busy    atomic.Int64 // how often more it does so
	wants   atomic.Value // the only header that it accepts
	forgets atomic.Bool  // it knows no session
	calls   atomic.Int64 // of the tool
	huge    atomic.Bool  // it answers without end
	moved   atomic.Value // where it redirects to
}

func serve(t *testing.T) *remote {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "remote", Version: "1"}, nil)
	r := &remote{}
	type in struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again."}, func(_ context.Context, _ *sdk.CallToolRequest, a in) (*sdk.CallToolResult, any, error) {
		r.calls.Add(1)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: a.Text}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "look", Description: "Looks.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest, in) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "seen"}}}, nil, nil
		})
	handler := func() http.Handler {
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{JSONResponse: true})
	}
	now := handler()
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.key.Store(q.Header.Get("Authorization"))
		to, _ := r.moved.Load().(string)
		switch {
		case to != "":
			http.Redirect(w, q, to, http.StatusTemporaryRedirect)
			return
		case r.wants.Load() != nil && r.wants.Load() != q.Header.Get("Authorization"):
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://example.org/x"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		case r.busy.Load() > 0 && q.Method == http.MethodPost:
			r.busy.Add(-1)
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		case r.down.Load():
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		case r.huge.Load() && q.Method == http.MethodPost:
			w.Header().Set("Content-Type", "application/json")
			for range 20 << 20 / 1024 {
				if _, err := fmt.Fprint(w, strings.Repeat(" ", 1024)); err != nil {
					return
				}
			}
			return
		case r.forgets.CompareAndSwap(true, false):
			now = handler()
		}
		now.ServeHTTP(w, q)
	}))
	t.Cleanup(r.Close)
	t.Cleanup(r.CloseClientConnections)
	return r
}

func (r *remote) entry() mcp.Entry {
	return mcp.Entry{Name: "r", URL: r.URL, Headers: map[string]string{"Authorization": "Bearer k"}, Own: true, Source: "the test"}
}

func TestHTTP(t *testing.T) {
	r := serve(t)
	b := begin(t, mcp.Options{}, r.entry())
	b.prepare(t)
	if got := b.call("mcp__r__echo", `{"text":"hello"}`); !got.Success || !strings.Contains(got.Data, "\nhello\n") {
		t.Errorf("%+v", got)
	}
	if k := r.key.Load(); k != "Bearer k" {
		t.Error(k)
	}
	needs, err := b.set().Get("mcp__r__echo").Needs(&b.Env, []byte(`{}`))
	if err != nil || needs[0].Host == "" || !strings.HasSuffix(r.URL, needs[0].Host) {
		t.Errorf("%+v %v", needs, err)
	}

	r.forgets.Store(true) // as after its restart
	if got := b.call("mcp__r__echo", `{"text":"again"}`); !got.Success || r.calls.Load() != 2 {
		t.Errorf("%d %+v", r.calls.Load(), got)
	}

	r.down.Store(true)
	got := b.call("mcp__r__echo", `{"text":"down"}`)
	if got.Error != tools.ExecutionError || !strings.Contains(got.Data, "503") && !strings.Contains(got.Data, "Service Unavailable") {
		t.Errorf("%+v", got)
	}
	r.down.Store(false)
	if got := b.call("mcp__r__echo", `{"text":"up"}`); !got.Success || r.calls.Load() != 3 {
		t.Errorf("%d %+v", r.calls.Load(), got)
	}
	for _, s := range append(b.told, got.Data) {
		if strings.Contains(s, "Bearer k") {
			t.Error(s)
		}
	}
}

func TestCaseM05HTTP(t *testing.T) {
	r := serve(t)
	r.huge.Store(true)
	b := begin(t, mcp.Options{}, r.entry())
	b.Prepare(t.Context())
	if s := b.state("r"); s.State != mcp.Off || s.Reason == "" {
		t.Errorf("%+v", s)
	}
}

// A proposal reaches no machine of the person's network, a redirect leads nowhere, and a key is sent to no other machine in clear.
func TestHTTPWhere(t *testing.T) {
	r := serve(t)
	proposal := r.entry()
	proposal.Own, proposal.Name = false, "p"
	b := begin(t, mcp.Options{}, proposal)
	b.Prepare(t.Context())
	if s := b.state("p"); !strings.Contains(s.Reason, "it is this machine") && !strings.Contains(s.Reason, "not connected to") {
		t.Errorf("%+v", s)
	}
	other := serve(t)
	r.moved.Store(other.URL)
	b = begin(t, mcp.Options{}, r.entry())
	b.Prepare(t.Context())
	if s := b.state("r"); s.State != mcp.Off || other.key.Load() != nil {
		t.Errorf("%+v %v", s, other.key.Load())
	}
	clear := mcp.Entry{Name: "c", URL: "http://93.184.216.34/mcp", Headers: map[string]string{"A": "b"}, Own: true}
	b = begin(t, mcp.Options{}, clear)
	b.Prepare(t.Context())
	if s := b.state("c"); !strings.Contains(s.Reason, "unencrypted") {
		t.Errorf("%+v", s)
	}
}

// A call that did not arrive is made again where the tool says that this does no harm.
func TestHTTPTriedAgain(t *testing.T) {
	r := serve(t)
	b := begin(t, mcp.Options{}, r.entry())
	b.prepare(t)
	b.Host.Retry = run.Retry{Attempts: 3, Backoff: time.Millisecond}
	r.busy.Store(2)
	if got := b.call("mcp__r__look", `{"text":""}`); !got.Success || got.Meta.Attempts != 3 {
		t.Errorf("%+v", got)
	}
	r.busy.Store(1)
	if got := b.call("mcp__r__echo", `{"text":"x"}`); got.Success || got.Reason != "unreachable" || r.calls.Load() != 0 {
		t.Errorf("%+v", got)
	}
}

// A key comes from a command, which is asked again when the server takes the key no more. One that is not accepted is told, with what
// can be done.
func TestHTTPKeyOfACommand(t *testing.T) {
	r := serve(t)
	var mu sync.Mutex
	ran, key := 0, "first"
	next := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		key = s
	}
	o := mcp.Options{Key: func(command []string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if ran++; len(command) != 2 || command[0] != "print-key" {
			t.Error(command)
		}
		if key == "" {
			return "", errors.New("printed nothing")
		}
		return key, nil
	}}
	e := mcp.Entry{Name: "r", URL: r.URL, KeyCommand: []string{"print-key", "r"}, Own: true, Source: "the test"}
	r.wants.Store("Bearer first")
	b := begin(t, o, e)
	b.Host.Retry = run.Retry{Attempts: 3, Backoff: time.Millisecond}
	b.prepare(t)
	if got := b.call("mcp__r__look", `{"text":""}`); !got.Success || ran != 1 {
		t.Errorf("%d %+v", ran, got)
	}
	next("second")
	r.wants.Store("Bearer second")
	if got := b.call("mcp__r__look", `{"text":""}`); !got.Success || ran != 2 {
		t.Errorf("%d %+v", ran, got)
	}
	r.wants.Store("Bearer third")
	got := b.call("mcp__r__look", `{"text":""}`)
	for _, want := range []string{"status 401", "does not accept the key", "OAuth", "mcpServers.r.headers", "mcpServers.r.apiKeyCommand"} {
		if !strings.Contains(got.Data, want) {
			t.Errorf("no %q: %s", want, got.Data)
		}
	}
	if got.Success || got.Meta.Attempts > 1 || strings.Contains(got.Data, "second") {
		t.Errorf("%+v", got)
	}
	next("")
	if got := b.call("mcp__r__look", `{"text":""}`); !strings.Contains(got.Data, "its apiKeyCommand printed nothing") {
		t.Errorf("%+v", got)
	}
	none := serve(t)
	none.wants.Store("Bearer k")
	b = begin(t, mcp.Options{}, mcp.Entry{Name: "n", URL: none.URL, Own: true})
	b.Prepare(t.Context())
	if s := b.state("n"); !strings.Contains(s.Reason, "it has no key of yours (it wants a token of OAuth") {
		t.Errorf("%+v", s)
	}
}

// Package modeltest plays recorded answers of model services to the packages that read them, byte for byte.
//
// A case is a txtar file in testdata: prose that says what the service does, then
//
//	-- request --      the body that our side must send (may be missing)
//	-- response --     status line, headers, an empty line and the body, as on the wire; CRLF is put in up to the body,
//	                   and a body of "Transfer-Encoding: chunked" is cut into chunks
//	-- response 2 --   the answer to the next request; where there is one, what failed is tried three times
//	-- then --         what follows the last response: "end" (as missing), "cut" (no end of the chunks), "reset" (of the
//	                   connection) or "silence"
//	-- want --         what our side makes of it
//
// Want has a line for each piece of the answer, pieces of the same kind joined, and one for how it ended. The flag
// -update writes the sections request and want.
package modeltest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

var update = flag.Bool("update", false, "write the sections request and want")

// Key is the key that the services of Corpus want, Header another secret; no message may hold them.
const (
	Key    = "sk-very-secret-0001"
	Header = "team-secret"
)

// limit is far above what any case takes.
const limit = 20 * time.Second

// Corpus plays every case of testdata, once as it is written and once in chunks of few bytes, and gives how many there
// are.
func Corpus(t *testing.T, open func(wire.Service) (model.Model, error)) int {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			c := parse(t, ar)
			for _, size := range []int{1 << 20, 7} {
				request, got := c.play(t, open, size)
				if *update {
					c.set(ar, "want", got)
					if c.request != "" {
						c.set(ar, "request", request)
					}
					continue
				}
				if diff := cmp.Diff(c.Want, got); diff != "" {
					t.Errorf("in chunks of %d: %s", size, diff)
				}
				if diff := cmp.Diff(c.request, request); diff != "" && c.request != "" {
					t.Errorf("request: %s", diff)
				}
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	return len(paths)
}

// Case is one recorded answer, and the expected decoding.
type Case struct {
	Name string
	// Want is as the section of that name has it.
	Want          string
	request, then string
	responses     []string
}

// Cases reads the cases of a folder.
func Cases(t testing.TB, dir string) []*Case {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	var out []*Case
	for _, path := range paths {
		ar, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := parse(t, ar)
		c.Name = strings.TrimSuffix(filepath.Base(path), ".txtar")
		out = append(out, c)
	}
	return out
}

// Silent says that the service falls silent, for longer than SilentFor.
func (c *Case) Silent() bool { return c.then == "silence" }

// SilentFor is how long a service may be silent in Corpus, which Want has in words.
const SilentFor = 100 * time.Millisecond

// Again says that there is more than one answer: what failed is tried again.
func (c *Case) Again() bool { return len(c.responses) > 1 }

func parse(t testing.TB, ar *txtar.Archive) *Case {
	t.Helper()
	c := &Case{then: "end"}
	for _, f := range ar.Files {
		text := string(f.Data)
		switch {
		case f.Name == "request":
			c.request = text
		case strings.HasPrefix(f.Name, "response"):
			c.responses = append(c.responses, text)
		case f.Name == "then":
			c.then = strings.TrimSpace(text)
		case f.Name == "want":
			c.Want = text
		default:
			t.Fatalf("there is no section %q", f.Name)
		}
	}
	return c
}

func (*Case) set(ar *txtar.Archive, name, text string) {
	for i := range ar.Files {
		if ar.Files[i].Name == name {
			ar.Files[i].Data = []byte(text)
			return
		}
	}
	ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(text)})
}

// play gives the first request and what was made of the answers.
func (c *Case) play(t *testing.T, open func(wire.Service) (model.Model, error), size int) (request, got string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan string, 1)
	go func() {
		defer close(first)
		for at := 0; ; at++ {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			body := c.Serve(conn, at, size)
			if at == 0 {
				first <- body
			}
		}
	}()

	s := wire.Service{
		Provider: "mock", Model: "m", BaseURL: "http://" + ln.Addr().String() + "/v1", Key: Key, KeyEnv: "MOCK_KEY",
		Headers: map[string]string{"X-Team": Header}, Transport: &http.Transport{DisableKeepAlives: true},
		Price: &model.Price{Input: 1000, Output: 10_000, CachedInput: 100, CacheWrite: 2000},
	}
	if c.Silent() {
		s.Idle = SilentFor
	}
	m, err := open(s)
	if err != nil {
		t.Fatal(err)
	}
	if c.Again() {
		m = model.Retrying(m, 3, time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	got = Write(ctx, t, m, Conversation())
	if ctx.Err() != nil {
		t.Error("it hangs")
	}
	ln.Close()
	request = <-first
	for range first { // until the service has ended
	}
	got = strings.ReplaceAll(got, ln.Addr().String(), "HOST")
	if strings.Contains(got, Key) || strings.Contains(got, Header) {
		t.Error("a secret is in", got)
	}
	return indent(request), got
}

func indent(body string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(body), "", "\t") != nil {
		return body
	}
	return b.String() + "\n"
}

// Serve reads a request and gives its body, after it has played the response at, or the last one: in chunks of that
// size where the response is chunked. It closes the connection.
func (c *Case) Serve(conn net.Conn, at, size int) string {
	defer conn.Close()
	at = min(at, len(c.responses)-1)
	_ = conn.SetDeadline(time.Now().Add(limit))
	r := bufio.NewReader(conn)
	req, err := http.ReadRequest(r)
	if err != nil {
		return ""
	}
	body, _ := io.ReadAll(req.Body)
	head, text, _ := strings.Cut(c.responses[at], "\n\n")
	w := bufio.NewWriterSize(conn, 64<<10)
	fmt.Fprintf(w, "%s\r\n\r\n", strings.ReplaceAll(head, "\n", "\r\n"))
	then := "end"
	if at == len(c.responses)-1 {
		then = c.then
	}
	if !strings.Contains(head, "Transfer-Encoding: chunked") {
		_, _ = w.WriteString(text)
	} else {
		for len(text) > 0 {
			n := min(size, len(text))
			fmt.Fprintf(w, "%x\r\n%s\r\n", n, text[:n])
			text = text[n:]
		}
		if then == "end" {
			_, _ = w.WriteString("0\r\n\r\n")
		}
	}
	_ = w.Flush()
	switch then {
	case "silence":
		_, _ = r.ReadByte() // until the other side has had enough
	case "reset":
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
	return string(body)
}

// Conversation is what Corpus asks: one of every kind of message, among them what an earlier model got wrong.
func Conversation() model.Request {
	return model.Request{
		Session: "session-1",
		Messages: []model.Message{
			{Role: model.System, Text: "Be kind."},
			{Role: model.User, Text: "Look & say", Attachments: []model.Attachment{{MIMEType: "image/png", Data: []byte("png")}}},
			{
				Role: model.Assistant, Text: "Looking.",
				Calls: []model.Call{
					{ID: "call_1", Name: "bash", Arguments: `{"command": "ls"}`},
					{ID: "call.2:x", Name: "functions.bäsh", Arguments: `{"command": `},
				},
				Thoughts: []model.Thought{
					{Model: "mock/m", Text: "Hm.", Sealed: json.RawMessage(`{"type":"sealed"}`)},
					{Model: "other/m", Text: "Not for you.", Sealed: json.RawMessage(`{"type":"foreign"}`)},
				},
			},
			{
				Role: model.Tool, CallID: "call_1", Name: "bash",
				Attachments: []model.Attachment{
					{MIMEType: "image/png", Data: []byte("gnp")},
					{MIMEType: "application/pdf", Name: "a.pdf", Data: []byte("%PDF")},
					{MIMEType: "application/zip", Data: []byte("PK")},
				},
			},
			{Role: model.Tool, CallID: "call.2:x", Name: "bash", Text: "[INVALID_ARGS] no JSON", Failed: true},
			{Role: model.Assistant},
			{Role: model.User, Text: "Go on."},
			{Role: model.User, Text: "Now."},
		},
		Tools: []model.ToolSpec{
			{Name: "bash", Description: "Runs.", Parameters: json.RawMessage(
				`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)},
			{Name: "none", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
		},
	}
}

// Write asks m and writes down what comes back. It fails where an answer breaks what every model promises: a call is
// begun before it goes on and done at most once, and an answer without a word says why.
func Write(ctx context.Context, t testing.TB, m model.Model, r model.Request) string {
	t.Helper()
	var b strings.Builder
	last, said := "", false
	say := func(kind, text string) {
		if kind != last {
			if last != "" {
				b.WriteByte('\n')
			}
			b.WriteString(kind)
			if text != "" {
				b.WriteByte(' ')
			}
		}
		b.WriteString(strings.ReplaceAll(text, "\n", "\\n"))
		last = kind
	}
	begun, done := map[int]bool{}, map[int]bool{}
	resp, err := m.Stream(ctx, r, func(d model.Delta) {
		said = said || d.Text != "" || d.Call != nil
		switch c := d.Call; {
		case c != nil:
			if c.Extra != nil {
				say(fmt.Sprint("extra ", c.Index), strings.TrimSpace(fmt.Sprintf("%s %s", c.Extra.Model, c.Extra.Fields)))
				last = "-"
				return
			}
			if done[c.Index] || (c.Done && !begun[c.Index]) {
				t.Errorf("call %d: %+v is out of order", c.Index, *c)
			}
			if !begun[c.Index] {
				say(fmt.Sprintf("call %d %q %q:", c.Index, c.ID, c.Name), c.Arguments)
				last = fmt.Sprint("call ", c.Index)
				begun[c.Index] = true
			} else if c.Done {
				done[c.Index] = true
				say(fmt.Sprint("done ", c.Index), "")
			} else if last == fmt.Sprint("call ", c.Index) {
				b.WriteString(c.Arguments)
			} else {
				say(fmt.Sprint("call ", c.Index), c.Arguments)
			}
		case d.Kept != nil:
			say("kept", strings.TrimSpace(fmt.Sprintf("%s %s %s", d.Kept.Field, d.Kept.Text, d.Kept.Sealed)))
			last = "-"
		case d.Thought != "":
			say("thought", d.Thought)
		case d.Notice != "":
			say("notice", d.Notice)
			last = "-"
		default:
			say("text", d.Text)
		}
	})
	if last != "" {
		b.WriteByte('\n')
	}
	var e *model.Error
	switch {
	case err == nil:
		u := resp.Usage
		fmt.Fprintf(&b, "= %s; in %d (cached %d, written %d), out %d, $%.4f",
			resp.Stop, u.Input, u.CachedInput, u.CacheWrite, u.Output, u.CostUSD)
		if resp.Detail != "" {
			fmt.Fprintf(&b, "; %s", resp.Detail)
		}
		if !said && resp.Detail == "" {
			t.Error("an empty success")
		}
	case errors.As(err, &e):
		fmt.Fprintf(&b, "! %s %d", e.Kind, e.Status)
		if e.Retryable {
			fmt.Fprintf(&b, " retryable")
		}
		if e.After > 0 {
			fmt.Fprintf(&b, " after %s", e.After)
		}
		fmt.Fprintf(&b, ": %s", e.Message)
	default:
		t.Errorf("%T is no error of a model: %v", err, err)
	}
	return b.String() + "\n"
}

// Fuzz feeds arbitrary bodies to what open gives, beginning with those of the cases: whatever comes, it ends in an
// answer or in an error that holds no secret.
func Fuzz(f *testing.F, open func(wire.Service) (model.Model, error)) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		ar, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range ar.Files {
			if _, body, ok := strings.Cut(string(file.Data), "\n\n"); ok && strings.HasPrefix(file.Name, "response") {
				f.Add([]byte(body))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := open(wire.Service{
			Provider: "mock", Model: "m", BaseURL: "https://x/v1", Key: Key, KeyEnv: "MOCK_KEY", Transport: Answer(string(body)),
		})
		if err != nil {
			t.Fatal(err)
		}
		got := Write(t.Context(), t, m, model.Request{Messages: []model.Message{{Role: model.User, Text: "Go."}}})
		if _, failure, ok := strings.Cut("\n"+got, "\n! "); ok && strings.Contains(failure, Key) {
			t.Error("the key is in", failure)
		}
	})
}

// Answer is a service that answers everything with status 200 and a body.
type Answer string

// RoundTrip answers.
func (a Answer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(string(a))),
	}, nil
}

// Bench reads the answer of the case named text over and over.
func Bench(b *testing.B, open func(wire.Service) (model.Model, error)) {
	ar, err := txtar.ParseFile("testdata/text.txtar")
	if err != nil {
		b.Fatal(err)
	}
	_, body, _ := strings.Cut(string(ar.Files[1].Data), "\n\n")
	m, err := open(wire.Service{Provider: "mock", Model: "m", BaseURL: "https://x/v1", Transport: Answer(body)})
	if err != nil {
		b.Fatal(err)
	}
	r := Conversation()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Stream(b.Context(), r, func(model.Delta) {}); err != nil {
			b.Fatal(err)
		}
	}
}

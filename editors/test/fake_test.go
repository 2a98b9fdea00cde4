package editorstest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is a language server played by the test: it holds the texts of the documents as it is told of them, and says
// what the test wants said. What it cannot follow fails the test.
type server struct {
	t    *testing.T
	conn net.Conn

	mu      sync.Mutex
	changed chan struct{} // closed and renewed whenever something arrived
	docs    map[string]*document
	next    int
	replies map[int]json.RawMessage
	prompts []prompt
	cancels int
	got     []string // methods, in order
	init    json.RawMessage
	session json.RawMessage // what the client is told of its session
	version any             // of the protocol, as initialize is answered
	methods []string        // that the server says that it takes
	meta    json.RawMessage // what the last prompt said beside its text
	steered []string        // what was said to running turns
	over    bool            // there is no turn to steer
}

type document struct {
	text    string
	version int
}

// prompt is a turn that waits for its end.
type prompt struct {
	id   json.RawMessage
	text string
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type textEdit struct {
	Range   span   `json:"range"`
	NewText string `json:"newText"`
}

// listen makes the socket of a server and the Lua that has the plugin use it.
func listen(t *testing.T) (*server, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "tf-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{
		t: t, changed: make(chan struct{}), docs: map[string]*document{}, replies: map[int]json.RawMessage{},
		session: raw(map[string]any{"sessionId": "s1"}), version: 1, methods: []string{"tandem/session/steer"},
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conn = c
			s.mu.Unlock()
			s.serve(c)
		}
	}()
	return s, fmt.Sprintf("vim.g.tandem = { binary = %q, env = { %s = %q }, ask_idle_ms = 300 }", self, relayTo, path)
}

func (s *server) serve(c net.Conn) {
	r := bufio.NewReader(c)
	for {
		h, err := textproto.NewReader(r).ReadMIMEHeader()
		if err != nil {
			return
		}
		n, _ := strconv.Atoi(h.Get("Content-Length"))
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			s.t.Errorf("the editor sent no JSON: %v", err)
			return
		}
		s.mu.Lock()
		s.take(m)
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
	}
}

// take deals with a message. s.mu is held.
func (s *server) take(m message) {
	if m.Method == "" {
		var id int
		if json.Unmarshal(m.ID, &id) == nil {
			if s.replies[id] = m.Result; m.Result == nil {
				s.replies[id] = m.Error
			}
		}
		return
	}
	s.got = append(s.got, m.Method)
	var p struct {
		TextDocument struct {
			URI     string
			Version int
			Text    string
		}
		ContentChanges []struct {
			Range *span
			Text  string
		}
		Prompt []struct{ Text string }
		Meta   json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p)
	uri := p.TextDocument.URI
	switch m.Method {
	case "initialize":
		s.init, s.docs = m.Params, map[string]*document{}
		s.write(message{ID: m.ID, Result: raw(map[string]any{"capabilities": map[string]any{
			"positionEncoding": "utf-8",
			"textDocumentSync": map[string]any{"openClose": true, "change": 2, "save": true},
			"experimental":     map[string]any{"tandem": map[string]any{"protocolVersion": s.version, "methods": s.methods}},
		}})})
	case "tandem/session/new":
		s.write(message{ID: m.ID, Result: s.session})
	case "tandem/session/prompt":
		s.prompts = append(s.prompts, prompt{m.ID, p.Prompt[0].Text})
		s.meta = p.Meta
	case "tandem/session/steer":
		if s.steered = append(s.steered, p.Prompt[0].Text); s.over {
			s.write(message{ID: m.ID, Error: raw(map[string]any{
				"code": -32602, "message": "No prompt is being answered.", "data": map[string]any{"code": "no_turn"},
			})})
			return
		}
		s.write(message{ID: m.ID, Result: raw(map[string]any{})})
	case "tandem/session/cancel":
		s.cancels++
	case "shutdown":
		s.write(message{ID: m.ID, Result: raw(nil)})
	case "exit":
		_ = s.conn.Close()
	case "textDocument/didOpen":
		if s.docs[uri] != nil {
			s.t.Errorf("%s was opened twice", uri)
		}
		s.docs[uri] = &document{p.TextDocument.Text, p.TextDocument.Version}
	case "textDocument/didClose":
		delete(s.docs, uri)
	case "textDocument/didChange":
		d := s.docs[uri]
		if d == nil || p.TextDocument.Version != d.version+1 {
			s.t.Errorf("didChange to version %d of %s, which is %+v", p.TextDocument.Version, uri, d)
			return
		}
		d.version++
		for _, c := range p.ContentChanges {
			from, to := offset(d.text, c.Range.Start), offset(d.text, c.Range.End)
			if from < 0 || to < from {
				s.t.Errorf("a change outside the text: %+v", c)
				return
			}
			d.text = d.text[:from] + c.Text + d.text[to:]
		}
	}
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// offset is the byte that a position means, or -1.
func offset(text string, p position) int {
	at := 0
	for range p.Line {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return -1
		}
		at += n + 1
	}
	if at += p.Character; at > len(text) {
		return -1
	}
	return at
}

func place(text string, offset int) position {
	before := text[:offset]
	return position{strings.Count(before, "\n"), offset - strings.LastIndexByte(before, '\n') - 1}
}

// write sends a message. s.mu is held.
func (s *server) write(m message) {
	b := raw(struct {
		Version string `json:"jsonrpc"`
		message
	}{"2.0", m})
	// The end of the test closes the connection, maybe while an editor that is being ended is answered.
	if _, err := fmt.Fprintf(s.conn, "Content-Length: %d\r\n\r\n%s", len(b), b); err != nil && !errors.Is(err, net.ErrClosed) {
		s.t.Errorf("writing to the editor: %v", err)
	}
}

// wait waits until a condition on the server holds. The condition runs with s.mu held.
func (s *server) wait(what string, holds func() bool) {
	s.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		s.mu.Lock()
		ok, changed := holds(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			s.t.Fatalf("it never came that %s; got %q", what, s.got)
		}
	}
}

func (s *server) notify(method string, params any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(message{Method: method, Params: raw(params)})
}

// begin sends a request and gives its number.
func (s *server) begin(method string, params any) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	s.write(message{ID: raw(s.next), Method: method, Params: raw(params)})
	return s.next
}

// end waits for the answer of a request.
func (s *server) end(id int, result any) {
	s.t.Helper()
	var got json.RawMessage
	s.wait(fmt.Sprintf("request %d is answered", id), func() bool {
		got = s.replies[id]
		return got != nil
	})
	if err := json.Unmarshal(got, result); err != nil {
		s.t.Fatalf("the answer %s: %v", got, err)
	}
}

func (s *server) call(method string, params, result any) {
	s.t.Helper()
	s.end(s.begin(method, params), result)
}

// answer sends the result of a request.
func (s *server) answer(id, result json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(message{ID: id, Result: result})
}

// turn waits for the next prompt and gives what ends it.
func (s *server) turn() (string, func(stop string)) {
	s.t.Helper()
	var p prompt
	s.wait("a prompt arrives", func() bool {
		if len(s.prompts) == 0 {
			return false
		}
		p, s.prompts = s.prompts[0], s.prompts[1:]
		return true
	})
	return p.text, func(stop string) {
		s.answer(p.id, raw(map[string]any{"stopReason": stop, "turn": 1, "usage": map[string]any{}}))
	}
}

func (s *server) update(u map[string]any) {
	s.notify("tandem/session/update", map[string]any{"sessionId": "s1", "update": u})
}

func (s *server) say(text string) {
	content := map[string]any{"type": "text", "text": text}
	s.update(map[string]any{"sessionUpdate": "agent_message_chunk", "content": content})
}

// doc is a document as the server knows it.
func (s *server) doc(uri string) (document, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.docs[uri]; d != nil {
		return *d, true
	}
	return document{}, false
}

// applyReply is the answer to workspace/applyEdit.
type applyReply struct {
	Applied       bool   `json:"applied"`
	FailureReason string `json:"failureReason"`
}

// apply sends one edit of one document.
func (s *server) apply(uri string, version *int, edits ...textEdit) applyReply {
	s.t.Helper()
	var r applyReply
	s.call("workspace/applyEdit", map[string]any{"label": "edit", "edit": map[string]any{"documentChanges": []any{
		map[string]any{"textDocument": map[string]any{"uri": uri, "version": version}, "edits": edits},
	}}}, &r)
	return r
}

// replace has the editor replace one text with another wherever it stands by then, and gives the number of refusals on
// the way. The text must be there exactly once.
func (s *server) replace(uri, old, text string) int {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for tries := 0; ; tries++ {
		d, ok := s.doc(uri)
		at := strings.Index(d.text, old)
		if !ok || at < 0 || strings.Count(d.text, old) != 1 {
			s.t.Fatalf("%q is not once in %q", old, d.text)
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%q found no moment in %d tries", old, tries)
		}
		r := s.apply(uri, &d.version, textEdit{span{place(d.text, at), place(d.text, at+len(old))}, text})
		if !r.Applied {
			if r.FailureReason != "version" {
				s.t.Fatalf("refused: %q", r.FailureReason)
			}
			continue
		}
		// The echo is sent before the reply, so it is here.
		if now, _ := s.doc(uri); !strings.Contains(now.text, text) {
			s.t.Fatalf("said to be applied, and the text is %q", now.text)
		}
		return tries
	}
}

// refused sends an edit of the present text that must be refused for a reason.
func (s *server) refused(uri, reason string, edit textEdit) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		d, _ := s.doc(uri)
		r := s.apply(uri, &d.version, edit)
		if !r.Applied && r.FailureReason == reason {
			return
		}
		if r.Applied || r.FailureReason != "version" || time.Now().After(deadline) {
			s.t.Fatalf("the reply is %+v, not a refusal for %q", r, reason)
		}
	}
}

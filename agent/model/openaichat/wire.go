package openaichat

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"tandem/agent/model"
)

// wire carries one request. It stands between the client library and the network, because the library takes a redirect
// or a page for an empty stream, reads an error's body without a limit and gives up on services that send many
// comments.
type wire struct {
	m     *chat
	alive func()
	body  io.Reader // of the answer, as it comes
	lines *bufio.Scanner
	// rest is what has been read but not handed on; head is the beginning of what is no event.
	rest, head []byte
	// events says that there was any, done that the service said it was the last.
	events, done bool
}

const (
	done         = "[DONE]"
	maxEvent     = 16 << 20
	maxErrorBody = 64 << 10
)

// Do sends the request.
func (w *wire) Do(req *http.Request) (*http.Response, error) {
	for k, v := range w.m.Headers {
		req.Header.Set(k, v)
	}
	resp, err := w.m.client.Do(req)
	if err != nil {
		return nil, err
	}
	w.alive()
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		return nil, w.m.refusal(resp, text)
	}
	w.body = resp.Body
	w.lines = bufio.NewScanner(w.body)
	w.lines.Buffer(nil, maxEvent)
	w.lines.Split(wholeLines)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{w, resp.Body}
	return resp, nil
}

// wholeLines is bufio.ScanLines without an event that was cut off in the middle.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	if atEOF && bytes.IndexByte(data, '\n') < 0 {
		event, ok := bytes.CutPrefix(data, []byte("data:"))
		if ok && !json.Valid(event) && string(bytes.TrimSpace(event)) != done {
			return len(data), nil, nil
		}
	}
	return bufio.ScanLines(data, atEOF)
}

// Read hands on the events alone.
func (w *wire) Read(p []byte) (int, error) {
	for len(w.rest) == 0 {
		if !w.lines.Scan() {
			if errors.Is(w.lines.Err(), bufio.ErrTooLong) {
				return 0, w.m.bad("sent an event of more than 16 MiB")
			}
			if err := w.lines.Err(); err != nil {
				return 0, err
			}
			return 0, io.EOF
		}
		w.alive()
		line := bytes.TrimSpace(w.lines.Bytes())
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		switch data = bytes.TrimSpace(data); {
		case ok && bytes.HasPrefix(data, []byte(`{"error"`)):
			return 0, w.m.streamError(data)
		case ok && len(data) > 0:
			w.done = string(data) == done
			w.events = w.events || !w.done
			w.rest = append(append(append(w.rest[:0], "data: "...), data...), '\n')
		case !ok && len(w.head) < 4096 && !bytes.HasPrefix(line, []byte(":")) && !bytes.HasPrefix(line, []byte("event:")):
			w.head = append(append(w.head, line...), '\n')
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

// notAStream is what an answer without a single event was instead.
func (w *wire) notAStream() *model.Error {
	head := strings.TrimSpace(string(w.head))
	switch {
	case head == "":
		return w.m.bad("sent an empty answer")
	case strings.HasPrefix(head, "<"):
		return w.m.bad(fmt.Sprintf("answered with a web page instead of a stream; check providers.%s.baseUrl (it is %s)",
			w.m.Provider, w.m.address))
	case strings.Contains(head, `"error"`):
		return w.m.streamError([]byte(head))
	}
	return w.m.bad("sent something else than a stream of events: " + short(w.m.clean(head), 200))
}

func (m *chat) bad(what string) *model.Error {
	return &model.Error{Kind: "bad_response", Status: http.StatusOK, Message: fmt.Sprintf("%s %s.", m.Name(), what)}
}

// failure words an error of the connection.
func (m *chat) failure(ctx, reqCtx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var known *model.Error
	if errors.As(err, &known) {
		return known
	}
	if errors.Is(context.Cause(reqCtx), errIdle) {
		return &model.Error{Kind: "cut", Message: fmt.Sprintf("%s has been silent for %s.", m.Name(), m.Idle)}
	}
	var sending *url.Error
	if errors.As(err, &sending) {
		return &model.Error{Kind: "http", Retryable: true, Message: fmt.Sprintf(
			"%s cannot be reached at %s: %s. Is it running, and is providers.%s.baseUrl right?",
			m.Provider, m.address, m.clean(sending.Err.Error()), m.Provider)}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(interface{ Timeout() bool })) {
		return &model.Error{Kind: "cut", Retryable: true, Message: m.Name() + " broke off in the middle of its answer."}
	}
	return &model.Error{Kind: "http", Message: fmt.Sprintf("%s: %s.", m.Name(), m.clean(err.Error()))}
}

// streamError words an error that came inside an answer with status 200.
func (m *chat) streamError(body []byte) *model.Error {
	message, code := m.details(body)
	if e := m.outgrown(message, code); e != nil {
		return e
	}
	return &model.Error{
		Kind: "overloaded", Status: http.StatusOK, Retryable: true,
		Message: fmt.Sprintf("%s reported an error: %s.", m.Name(), strings.TrimSuffix(message, ".")),
	}
}

// refusal words an answer with another status than 200.
func (m *chat) refusal(resp *http.Response, body []byte) *model.Error {
	message, code := m.details(body)
	e := &model.Error{Kind: "http", Status: resp.StatusCode, After: retryAfter(resp.Header)}
	said := strconv.Itoa(resp.StatusCode)
	if message != "" {
		said += ": " + strings.TrimSuffix(message, ".")
	}
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Kind = "auth"
		switch {
		case m.Key != "" && m.KeyEnv != "":
			e.Message = fmt.Sprintf("%s refused the key (%s). Set %s to a key that is valid.", m.Provider, said, m.KeyEnv)
		case m.KeyEnv != "":
			e.Message = fmt.Sprintf("%s wants a key (%s). Set %s.", m.Provider, said, m.KeyEnv)
		default:
			e.Message = fmt.Sprintf("%s wants a key (%s). Set providers.%s.apiKeyEnv to the variable that holds it.",
				m.Provider, said, m.Provider)
		}
	case m.outgrown(message, code) != nil:
		e = m.outgrown(message, code)
		e.Status = status
	case status == http.StatusNotFound:
		e.Message = fmt.Sprintf("%s does not know the model %q (%s). Set \"model\" to one that it serves, or correct "+
			"providers.%s.baseUrl (it is %s).", m.Provider, m.Model, said, m.Provider, m.address)
	case status == http.StatusTooManyRequests:
		e.Kind, e.Retryable = "rate_limit", code != "insufficient_quota"
		e.Message = fmt.Sprintf("%s limits the rate of requests (%s).", m.Provider, said)
	case status >= 500 || status == http.StatusRequestTimeout:
		e.Kind, e.Retryable = "overloaded", true
		e.Message = fmt.Sprintf("%s is failing or overloaded (%s).", m.Provider, said)
	case status >= 300 && status < 400:
		e.Message = fmt.Sprintf("%s redirects to %q (%d), which is not followed. Correct providers.%s.baseUrl (it is %s).",
			m.Provider, m.clean(resp.Header.Get("Location")), status, m.Provider, m.address)
	default:
		e.Message = fmt.Sprintf("%s refused the request (%s).", m.Provider, said)
	}
	return e
}

func (m *chat) outgrown(message, code string) *model.Error {
	lower := strings.ToLower(message)
	if code != "context_length_exceeded" && !strings.Contains(lower, "maximum context length") &&
		!strings.Contains(lower, "exceeds the available context size") {
		return nil
	}
	return &model.Error{Kind: "context_window", Message: fmt.Sprintf(
		"The conversation has outgrown what %s can read (%s). Start a new session.",
		m.Name(), strings.TrimSuffix(message, "."))}
}

// details finds the message and the code in an error's body; services write it in several ways.
func (m *chat) details(body []byte) (message, code string) {
	type fields struct {
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Code    json.RawMessage `json:"code"`
		Error   json.RawMessage `json:"error"`
	}
	text := func(raw json.RawMessage) string {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		return s
	}
	raw := json.RawMessage(bytes.TrimSpace(body))
	for range 4 {
		var list []json.RawMessage
		var f fields
		if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
			raw = list[0]
		} else if json.Unmarshal(raw, &f) != nil {
			break
		} else if len(f.Error) > 0 && f.Error[0] != 'n' {
			raw = f.Error
		} else if len(f.Message) > 0 {
			return short(m.clean(text(f.Message)), 500), text(f.Code)
		} else if len(f.Detail) > 0 {
			return short(m.clean(text(f.Detail)), 500), text(f.Code)
		} else {
			break
		}
	}
	if bytes.HasPrefix(raw, []byte("<")) {
		return "a web page", ""
	}
	return short(m.clean(text(raw)), 300), ""
}

// clean takes the key and what was configured as a header out of a text that the other side wrote.
func (m *chat) clean(text string) string {
	secrets := []string{m.Key}
	for _, v := range m.Headers {
		secrets = append(secrets, v, strings.TrimPrefix(v, "Bearer "))
	}
	for _, s := range secrets {
		if len(s) >= 4 {
			text = strings.ReplaceAll(text, s, "[redacted]")
		}
	}
	return text
}

// short is the beginning of a text as one line.
func short(text string, most int) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// retryAfter reads the server's advice: seconds, or a date as seen by the server's own clock.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(min(ms, 1e9) * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return time.Duration(min(s, 1e6) * float64(time.Second))
	}
	then, err1 := http.ParseTime(v)
	now, err2 := http.ParseTime(h.Get("Date"))
	if err1 == nil && err2 == nil {
		return max(0, then.Sub(now))
	}
	return 0
}

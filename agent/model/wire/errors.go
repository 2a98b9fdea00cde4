package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"tandem/agent/model"
)

// Bad is an answer that does not keep to the protocol; what goes on after the model's name.
func (c *Client) Bad(what string, args ...any) *model.Error {
	return &model.Error{
		Kind: "bad_response", Status: http.StatusOK, Message: fmt.Sprintf("%s %s.", c.Name(), fmt.Sprintf(what, args...)),
	}
}

// BadEvent is an event that cannot be understood as one of the named protocol.
func (c *Client) BadEvent(protocol string, data []byte) *model.Error {
	return c.Bad("sent an event that is not of the %s format: %s", protocol, Short(c.clean(string(data)), 200))
}

// IsError says that data reports an error, in one of the ways that do without the protocol's own
// events.
func IsError(data []byte) bool {
	e, ok := ReadText[struct {
		Type    string          `wire:"type,name"`
		Object  string          `wire:"object,name"`
		Error   json.RawMessage `wire:"error"`
		Message string          `wire:"error_message,name"`
	}](data)
	return ok && (e.Type == "error" || e.Object == "error" || len(e.Error) > 0 && string(e.Error) != "null" || e.Message != "")
}

// Reported words an error that came inside an answer with status 200.
func (c *Client) Reported(body []byte) *model.Error {
	message, code := c.details(body)
	status := statusOf(code)
	if status >= 500 {
		if e := c.outgrown(message, code); e != nil {
			return e
		}
		return &model.Error{
			Kind: "overloaded", Status: http.StatusOK, Retryable: true,
			Message: fmt.Sprintf("%s reported an error: %s.", c.Name(), strings.TrimSuffix(message, ".")),
		}
	}
	return c.refused(status, message, code, http.Header{})
}

// statusOf gives the status that goes with a code inside an answer; services name the same things
// differently.
func statusOf(code string) int {
	for word := range strings.FieldsSeq(code) {
		if n, err := strconv.Atoi(word); err == nil && n >= 400 && n < 600 {
			return n
		}
	}
	for _, c := range []struct {
		word   string
		status int
	}{
		{"quota", 402},
		{"billing", 402},
		{"rate_limit", 429},
		{"authentication", 401},
		{"api_key", 401},
		{"permission", 403},
		{"not_found", 404},
		{"too_large", 413},
		{"invalid", 400},
		{"bad_request", 400},
		{"context_length", 400},
	} {
		if strings.Contains(code, c.word) {
			return c.status
		}
	}
	return http.StatusInternalServerError
}

// refusal words an answer with another status than 200.
func (c *Client) refusal(resp *http.Response, body []byte) *model.Error {
	message, code := c.details(body)
	return c.refused(resp.StatusCode, message, code, resp.Header)
}

func (c *Client) refused(status int, message, code string, header http.Header) *model.Error {
	e := &model.Error{Kind: "http", Status: status, After: retryAfter(header, time.Now())}
	said := strconv.Itoa(status)
	if message != "" {
		said += ": " + strings.TrimSuffix(message, ".")
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		status == http.StatusBadRequest && wrongKey(message, code):
		e.Kind = "auth"
		switch {
		case c.Key != "" && c.KeyEnv != "":
			e.Message = fmt.Sprintf("%s refused the key (%s). Set %s to a key that is valid.", c.Provider, said, c.KeyEnv)
		case c.KeyEnv != "":
			e.Message = fmt.Sprintf("%s wants a key (%s). Set %s.", c.Provider, said, c.KeyEnv)
		default:
			e.Message = fmt.Sprintf("%s wants a key (%s). Set providers.%s.apiKeyEnv to the variable that holds it.",
				c.Provider, said, c.Provider)
		}
	case c.outgrown(message, code) != nil || status == http.StatusRequestEntityTooLarge:
		e = c.outgrew(message)
		e.Status = status
	case status == http.StatusNotFound:
		e.Message = fmt.Sprintf("%s does not know the model %q (%s). Set \"model\" to one that it serves, or correct "+
			"providers.%s.baseUrl (it is %s).%s", c.Provider, c.Model, said, c.Provider, c.address, c.Hint)
	case status == http.StatusPaymentRequired || strings.Contains(code, "quota") || strings.Contains(code, "billing"):
		e.Kind = "rate_limit"
		e.Message = fmt.Sprintf("%s has no more credit for this key (%s).", c.Provider, said)
	case status == http.StatusTooManyRequests:
		e.Kind, e.Retryable = "rate_limit", true
		e.Message = fmt.Sprintf("%s limits the rate of requests (%s).", c.Provider, said)
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		e.Kind, e.Retryable = "overloaded", true
		e.Message = fmt.Sprintf("%s is failing or overloaded (%s).", c.Provider, said)
	case status >= 300 && status < 400:
		e.Message = fmt.Sprintf("%s redirects to %q (%d), which is not followed. Correct providers.%s.baseUrl (it is %s).",
			c.Provider, c.clean(header.Get("Location")), status, c.Provider, c.address)
	default:
		e.Message = fmt.Sprintf("%s refused the request (%s).", c.Provider, said)
	}
	switch header.Get("X-Should-Retry") {
	case "true":
		e.Retryable = true
	case "false":
		e.Retryable = false
	}
	return e
}

// wrongKey says that an error is about the key, which some services tell with status 400.
func wrongKey(message, code string) bool {
	lower := strings.ToLower(message)
	return strings.Contains(code, "authentication") || strings.Contains(code, "invalid_api_key") ||
		strings.Contains(lower, "api key not valid") || strings.Contains(lower, "invalid api key") ||
		strings.Contains(lower, "incorrect api key")
}

// outgrown is nil where the error is not about the length of the conversation.
func (c *Client) outgrown(message, code string) *model.Error {
	if strings.Contains(code, "context_length_exceeded") || TooLong(message) {
		return c.outgrew(message)
	}
	return nil
}

func (c *Client) outgrew(message string) *model.Error {
	return &model.Error{Kind: "context_window", Window: WindowIn(message), Message: fmt.Sprintf(
		"The conversation has outgrown what %s can read (%s). Start a new session, or use a model that can read more.",
		c.Name(), strings.TrimSuffix(message, "."))}
}

// details finds the message and the code in an error's body; services write it in several ways.
func (c *Client) details(body []byte) (message, code string) {
	type fields struct {
		Message json.RawMessage `json:"message"`
		Named   json.RawMessage `json:"error_message"`
		Detail  json.RawMessage `json:"detail"`
		Code    json.RawMessage `json:"code"`
		Type    json.RawMessage `json:"type"`
		Class   json.RawMessage `json:"error_type"`
		Error   json.RawMessage `json:"error"`
	}
	text := func(raw json.RawMessage) string {
		var s string
		if json.Unmarshal(raw, &s) != nil && string(raw) != "null" {
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
		} else {
			code = strings.Join(strings.Fields(text(f.Code)+" "+text(f.Type)+" "+text(f.Class)), " ")
			for _, said := range []json.RawMessage{f.Message, f.Named, f.Detail} {
				if len(said) > 0 {
					return Short(c.clean(text(said)), 500), code
				}
			}
			break
		}
	}
	if bytes.HasPrefix(raw, []byte("<")) {
		return "a web page", code
	}
	return Short(c.clean(text(raw)), 300), code
}

// clean takes the key and what else was configured as a secret out of a text that the other side
// wrote.
func (c *Client) clean(text string) string {
	secrets := append([]string{c.Key}, c.within...)
	for _, v := range c.Headers {
		secrets = append(secrets, v, strings.TrimPrefix(v, "Bearer "))
	}
	for _, s := range secrets {
		if len(s) >= 4 {
			text = strings.ReplaceAll(text, s, "[redacted]")
		}
	}
	return text
}

// Short is the beginning of a text as one line.
func Short(text string, most int) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// retryAfter reads the server's advice: seconds, or a date, as seen by the server's own clock if it
// tells the time.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(min(ms, 1e9) * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return time.Duration(min(s, 1e6) * float64(time.Second))
	}
	then, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if there, err := http.ParseTime(h.Get("Date")); err == nil {
		now = there
	}
	return max(0, then.Sub(now)).Round(100 * time.Millisecond)
}

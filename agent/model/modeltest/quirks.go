package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// Quirk is an answer in which a service departs from its protocol, as somebody has seen it.
type Quirk struct {
	// Line is that of docs/faults.md, Name what is unusual.
	Line, Name string
	// Source is who has seen it: owner/repository#number.
	Source string
	// Events are the data of the stream. For Chat Completions, "+{…}" is a delta of the first choice, and ".reason" ends it.
	Events []string
	// Body is the stream as it is sent, in place of Events.
	Body string
	// Want is what is understood, as understood words it.
	Want string
	// Back are JSON members, with sorted keys, that the next request to the same model has, and none to another model.
	Back []string
	// Next are members that the next request has to every model.
	Next []string
}

// Quirks plays every row of a table to what open gives.
func Quirks(t *testing.T, table []Quirk, open func(wire.Service) (model.Model, error)) {
	t.Helper()
	for _, q := range table {
		t.Run(q.Line+" "+q.Name, func(t *testing.T) {
			s := &recorder{answer: q.stream()}
			ask := func(name string, messages ...model.Message) (model.Message, string) {
				m, err := open(wire.Service{Provider: "mock", Model: name, BaseURL: "https://x/v1", Transport: s})
				if err != nil {
					t.Fatal(err)
				}
				return understood(t, m, model.Request{Messages: append([]model.Message{{Role: model.User, Text: "Go."}}, messages...)})
			}
			said, got := ask("m")
			if got != q.Want {
				t.Errorf("%s:\n got %s\nwant %s", q.Source, got, q.Want)
			}
			history := []model.Message{stored(t, said)}
			for _, c := range said.Calls {
				history = append(history, model.Message{Role: model.Tool, CallID: c.ID, Name: c.Name, Text: "Done."})
			}
			history = append(history, model.Message{Role: model.User, Text: "Go on."})
			for name, want := range map[string]bool{"m": true, "n": false} {
				_, _ = ask(name, history...)
				for _, member := range q.Next {
					if !strings.Contains(s.body, member) {
						t.Errorf("%s: the request to %s lacks %s\n%s", q.Source, name, member, s.body)
					}
				}
				for _, member := range q.Back {
					if strings.Contains(s.body, member) != want {
						t.Errorf("%s: the request to %s has %s: %t\n%s", q.Source, name, member, !want, s.body)
					}
				}
			}
		})
	}
}

// stored is a message as a store gives it back.
func stored(t *testing.T, m model.Message) model.Message {
	t.Helper()
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back model.Message
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

// stream is the body of the answer.
func (q Quirk) stream() string {
	if q.Body != "" {
		return q.Body
	}
	var b strings.Builder
	for _, e := range q.Events {
		if d, ok := strings.CutPrefix(e, "+"); ok {
			e = `{"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`
		} else if reason, ok := strings.CutPrefix(e, "."); ok {
			e = `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
		}
		fmt.Fprintf(&b, "data: %s\n\n", e)
	}
	return b.String()
}

// recorder is a service that gives one answer to all requests, and keeps the body of the last one with sorted keys.
type recorder struct{ answer, body string }

// RoundTrip answers.
func (s *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var sorted any
	if err := json.Unmarshal(raw, &sorted); err != nil {
		return nil, err
	}
	raw, err = json.Marshal(sorted)
	s.body = string(raw)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(s.answer)),
	}, err
}

// understood asks m, and gives its message as a session keeps it, and in words: text, thoughts in braces, calls with their
// arguments, "cut" before a call that is not complete, and after a bar why the answer ended and, where they were counted,
// the tokens in and out, and how many of those in came from a cache.
func understood(t *testing.T, m model.Model, r model.Request) (model.Message, string) {
	t.Helper()
	msg := model.Message{Role: model.Assistant}
	thought := ""
	at, done := map[int]int{}, map[int]bool{}
	resp, err := m.Stream(t.Context(), r, func(d model.Delta) {
		msg.Text += d.Text
		thought += d.Thought
		if k := d.Kept; k != nil {
			kept := *k
			kept.AfterText, kept.AfterCalls = len(msg.Text), len(msg.Calls)
			msg.Thoughts = append(msg.Thoughts, kept)
		}
		c := d.Call
		if c == nil {
			return
		}
		i, ok := at[c.Index]
		if !ok {
			i = len(msg.Calls)
			at[c.Index] = i
			id := c.ID
			if id == "" {
				id = fmt.Sprintf("own_%d", i)
			}
			msg.Calls = append(msg.Calls, model.Call{ID: id, Name: c.Name})
		}
		msg.Calls[i].Arguments += c.Arguments
		done[i] = done[i] || c.Done
		if c.Extra != nil {
			msg.Calls[i].Extra = c.Extra
		}
	})
	var b strings.Builder
	if thought != "" {
		fmt.Fprintf(&b, "{%s} ", thought)
	}
	if msg.Text != "" {
		fmt.Fprintf(&b, "%s ", msg.Text)
	}
	for i, c := range msg.Calls {
		if !done[i] {
			b.WriteString("cut ")
		}
		fmt.Fprintf(&b, "%s(%s) ", c.Name, c.Arguments)
	}
	var e *model.Error
	switch {
	case errors.As(err, &e):
		fmt.Fprintf(&b, "| %s", e.Kind)
	case err != nil:
		t.Error(err)
	default:
		fmt.Fprintf(&b, "| %s", resp.Stop)
	}
	if u := resp.Usage; u.Input+u.Output > 0 {
		fmt.Fprintf(&b, " %d %d", u.Input, u.Output)
		if u.CachedInput > 0 {
			fmt.Fprintf(&b, " (%d cached)", u.CachedInput)
		}
	}
	return msg, b.String()
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// call is a tool call that the model makes.
type call struct {
	tool      string
	arguments any
}

// service is a model on this machine that takes no time: its answers are made before they are asked
// for. It speaks Chat Completions and Messages.
type service struct {
	server http.Server
	url    string

	mu      sync.Mutex
	answers [][]byte
	next    int
	asked   []request
}

// request is a recorded request, for replay.
type request struct {
	url  string
	body []byte
}

func newService() (*service, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &service{url: "http://" + l.Addr().String()}
	s.server.Handler = s
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || s.next >= len(s.answers) {
		http.Error(w, "nobody asks for that", http.StatusTeapot)
		return
	}
	s.asked = append(s.asked, request{s.url + r.URL.Path, body})
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(s.answers[s.next])
	s.next++
}

// play makes the model answer with each batch of calls in turn, and with words after them.
func (s *service) play(api string, batches [][]call) error {
	answer := chatAnswer
	if api == "anthropic" {
		answer = messagesAnswer
	}
	var answers [][]byte
	for i := range len(batches) + 1 {
		var calls []call
		if i < len(batches) {
			calls = batches[i]
		}
		text, err := answer(i, calls)
		if err != nil {
			return err
		}
		answers = append(answers, text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers, s.next, s.asked = answers, 0, nil
	return nil
}

// replay sends what was asked again from a plain client, reads the answers, and says how many there
// were.
func (s *service) replay(c *http.Client) (int, error) {
	s.mu.Lock()
	asked := s.asked
	s.next, s.asked = 0, nil
	s.mu.Unlock()
	for _, r := range asked {
		resp, err := c.Post(r.url, "application/json", bytes.NewReader(r.body))
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err := resp.Body.Close(); err != nil {
			return 0, err
		}
		if err != nil || resp.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("%s: %s %w", r.url, resp.Status, err)
		}
	}
	return len(asked), nil
}

// words are the final text of the model, one event each.
func words() []string {
	return strings.SplitAfter("That is all that there was to do here , and it is done as you wished it to be .", " ")
}

// stream puts a stream of events together.
type stream struct {
	bytes.Buffer
	err error
}

func (s *stream) event(name string, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		s.err = err
	}
	if name != "" {
		fmt.Fprintf(s, "event: %s\n", name)
	}
	fmt.Fprintf(s, "data: %s\n\n", raw)
}

type object = map[string]any

func chatAnswer(n int, calls []call) ([]byte, error) {
	var s stream
	chunk := func(delta object, finish any) {
		s.event("", object{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1760000000, "model": "m",
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	finish := "stop"
	for i, c := range calls {
		arguments, err := json.Marshal(c.arguments)
		if err != nil {
			return nil, err
		}
		finish = "tool_calls"
		chunk(object{"tool_calls": []object{{
			"index": i, "id": fmt.Sprintf("call_%d_%d", n, i), "type": "function",
			"function": object{"name": c.tool, "arguments": string(arguments)},
		}}}, nil)
	}
	if len(calls) == 0 {
		for _, w := range words() {
			chunk(object{"content": w}, nil)
		}
	}
	chunk(object{}, finish)
	s.event("", object{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1760000000, "model": "m", "choices": []object{},
		"usage": object{"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020},
	})
	s.WriteString("data: [DONE]\n\n")
	return s.Bytes(), s.err
}

func messagesAnswer(n int, calls []call) ([]byte, error) {
	var s stream
	typed := func(name string, more object) {
		more["type"] = name
		s.event(name, more)
	}
	typed("message_start", object{"message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []any{}, "stop_reason": nil,
		"stop_sequence": nil, "usage": object{"input_tokens": 1000, "output_tokens": 1},
	}})
	finish := "end_turn"
	for i, c := range calls {
		arguments, err := json.Marshal(c.arguments)
		if err != nil {
			return nil, err
		}
		finish = "tool_use"
		typed("content_block_start", object{"index": i, "content_block": object{
			"type": "tool_use", "id": fmt.Sprintf("toolu_%d_%d", n, i), "name": c.tool, "input": object{},
		}})
		typed("content_block_delta", object{
			"index": i, "delta": object{"type": "input_json_delta", "partial_json": string(arguments)},
		})
		typed("content_block_stop", object{"index": i})
	}
	if len(calls) == 0 {
		typed("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
		for _, w := range words() {
			typed("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": w}})
		}
		typed("content_block_stop", object{"index": 0})
	}
	typed("message_delta", object{
		"delta": object{"stop_reason": finish, "stop_sequence": nil}, "usage": object{"output_tokens": 20},
	})
	typed("message_stop", object{})
	return s.Bytes(), s.err
}

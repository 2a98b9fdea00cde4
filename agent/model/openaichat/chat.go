// Package openaichat speaks Chat Completions, the protocol of OpenAI and of most services and local servers after it.
package openaichat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"tandem/agent/model"
)

// Options say which service to speak to. Provider and KeyEnv are for messages only.
type Options struct {
	Provider, Model string
	// BaseURL is the address with the version, such as http://127.0.0.1:11434/v1.
	BaseURL string
	// Key is sent as a bearer token where it is not empty. KeyEnv is the variable that it came from.
	Key, KeyEnv string
	Headers     map[string]string
	// Idle is how long the service may stay silent; 0 means five minutes, since a local model can take that long to
	// read a prompt.
	Idle time.Duration
	// Transport is nil for the default one.
	Transport http.RoundTripper
}

// New gives a model. The error is a *model.Error of kind "unavailable" when the address is none.
func New(o Options) (model.Model, error) {
	u, err := url.Parse(o.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, &model.Error{Kind: "unavailable", Message: fmt.Sprintf(
			"The provider %q has no usable address: set providers.%s.baseUrl to something like http://127.0.0.1:11434/v1.",
			o.Provider, o.Provider)}
	}
	if o.Idle == 0 {
		o.Idle = 5 * time.Minute
	}
	o.Key = strings.TrimSpace(o.Key)
	m := &chat{Options: o, address: u.Redacted()}
	m.client = http.Client{
		Transport: o.Transport,
		// Following a redirect would send the conversation somewhere that nobody has named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return m, nil
}

type chat struct {
	Options
	address string
	client  http.Client
}

func (m *chat) Name() string { return m.Provider + "/" + m.Model }

// How long a service may take, after an answer is complete, to send its usage and to close it.
const (
	tail    = 5 * time.Second
	closing = 20 * time.Millisecond
)

var errIdle = errors.New("idle")

func (m *chat) Stream(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
	reqCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(m.Idle, func() { cancel(errIdle) })
	defer idle.Stop()
	w := &wire{m: m, alive: func() { idle.Reset(m.Idle) }}
	cfg := openai.DefaultConfig(m.Key)
	cfg.BaseURL, cfg.HTTPClient, cfg.EmptyMessagesLimit = m.BaseURL, w, math.MaxInt
	stream, err := openai.NewClientWithConfig(cfg).CreateChatCompletionStream(reqCtx, request(m.Model, r))
	if err != nil {
		return model.Response{}, m.failure(ctx, reqCtx, err)
	}
	defer stream.Close()
	a := answer{on: on}
	for {
		raw, err := stream.RecvRaw()
		if err == nil {
			err = m.chunk(raw, &a)
		}
		if errors.Is(err, io.EOF) && w.done && a.finish == "" {
			a.finish = "stop" // some services only say that they are done
			a.settle(true)
		}
		switch {
		case err == nil:
			if a.finish != "" {
				w.alive = func() { idle.Reset(tail) }
				w.alive()
			}
			continue
		case a.finish != "" && ctx.Err() == nil:
			// The answer is whole, whatever became of the connection. Reading to the end lets it be used again.
			idle.Reset(closing)
			_, _ = io.CopyN(io.Discard, w.body, 4096)
			return a.end()
		case errors.Is(err, io.EOF) && !w.events:
			return model.Response{}, w.notAStream()
		}
		return model.Response{}, m.failure(ctx, reqCtx, err)
	}
}

func request(name string, r model.Request) openai.ChatCompletionRequest {
	req := openai.ChatCompletionRequest{Model: name, StreamOptions: &openai.StreamOptions{IncludeUsage: true}}
	for _, msg := range r.Messages {
		out := openai.ChatCompletionMessage{Role: string(msg.Role), Content: msg.Text, ToolCallID: msg.CallID}
		for _, c := range msg.Calls {
			out.ToolCalls = append(out.ToolCalls, openai.ToolCall{
				ID: c.ID, Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: toolName(c.Name), Arguments: object(c.Arguments)},
			})
		}
		if out.Content == "" && out.ToolCalls == nil {
			if msg.Role == model.Assistant {
				continue
			}
			out.Content = "(empty)" // services refuse a message without content
		}
		req.Messages = append(req.Messages, out)
	}
	for _, t := range r.Tools {
		if len(t.Parameters) == 0 {
			t.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		req.Tools = append(req.Tools, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters},
		})
	}
	return req
}

// toolName gives the name of an earlier call as services accept it; a model may have written anything.
func toolName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	return cmp.Or(name[:min(len(name), 64)], "unknown")
}

// object gives the arguments of an earlier call as a JSON object. Several services parse them again and refuse the
// whole conversation for ever when a model once wrote something else.
func object(args string) string {
	args = strings.TrimSpace(args)
	if args == "" {
		return "{}"
	}
	if args[0] == '{' && json.Valid([]byte(args)) {
		return args
	}
	wrapped, _ := json.Marshal(map[string]string{"invalid_arguments": args})
	return string(wrapped)
}

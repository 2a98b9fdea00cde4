// Package openai speaks the Responses API of OpenAI and of the services after it. It keeps nothing
// on the service's side: every request carries the whole conversation.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	client "github.com/sashabaranov/go-openai"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// New gives a model of a service whose BaseURL has the version in it, such as
// https://api.openai.com/v1. The error is a *model.Error of kind "unavailable" when the address is
// none.
func New(s wire.Service) (model.Model, error) {
	c, err := wire.New(s)
	if err != nil {
		return nil, err
	}
	m := &responses{Client: c}
	m.thinks.Store(reasons(s.Model))
	m.sent.Store(&sent{without: map[string]bool{}})
	return m, nil
}

type responses struct {
	*wire.Client
	// thinks says that the model has thoughts to ask for.
	thinks atomic.Bool
	sent   atomic.Pointer[sent]
	tools  wire.Grown[model.ToolSpec, client.ResponseTool]
}

// sent is the conversation as it is sent: without fields that the service has refused.
type sent struct {
	// input is kept apart for requests with thoughts and without.
	input   [2]wire.Grown[model.Message, any]
	without map[string]bool
}

// reasons goes by the name, since other models refuse to be asked for their thoughts.
func reasons(name string) bool {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	if strings.Contains(name, "-chat") {
		return false
	}
	return slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5", "gpt-6", "gpt-oss", "codex"}, func(family string) bool {
		return strings.HasPrefix(name, family)
	})
}

func (m *responses) Stream(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
	thinks, s := m.thinks.Load(), m.sent.Load()
	resp, err := m.stream(ctx, r, thinks, on)
	var e *model.Error
	if errors.As(err, &e) {
		if field := wire.RefusedField(err, wire.Added(r.Messages, m.Name())); field != "" && !s.without[field] {
			without := maps.Clone(s.without)
			without[field] = true
			m.sent.CompareAndSwap(s, &sent{without: without})
			return m.Stream(ctx, r, on)
		}
	}
	if thinks && errors.As(err, &e) && e.Status == http.StatusBadRequest && e.Kind == "http" && aboutThoughts(e.Message) {
		// Some organisations and some services may not ask for thoughts.
		m.thinks.Store(false)
		return m.stream(ctx, r, false, on)
	}
	return resp, err
}

func aboutThoughts(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "reasoning") || strings.Contains(message, "encrypted") ||
		strings.Contains(message, "include")
}

func (m *responses) stream(
	ctx context.Context, r model.Request, thinks bool, on func(model.Delta),
) (model.Response, error) {
	x := m.Start(ctx)
	defer x.End()
	cfg := client.DefaultConfig(m.Key)
	cfg.BaseURL, cfg.HTTPClient = m.BaseURL, x
	req := m.request(r, thinks)
	var err error
	if x.Body, err = m.body(req, r, thinks); err != nil {
		return model.Response{}, x.Fail(err)
	}
	stream, err := client.NewClientWithConfig(cfg).CreateResponseStream(x.Context(), req)
	if err != nil {
		return model.Response{}, x.Fail(err)
	}
	defer stream.Close()
	a := answer{m: m, on: on, calls: wire.Calls{On: on, Model: m.Name()}, byIndex: map[int64]*item{}}
	err = x.Read(a.event, func() bool { return a.end != nil })
	a.kept()
	if err != nil {
		return model.Response{}, err
	}
	return *a.end, nil
}

// body encodes a request, and of its lists only what the last one did not have.
func (m *responses) body(req client.CreateResponseRequest, r model.Request, thinks bool) (wire.Body, error) {
	item, tool := "here", client.ResponseTool{Type: "here"}
	req.Stream, req.Input = true, []any{item}
	if len(r.Tools) > 0 {
		req.Tools = []client.ResponseTool{tool}
	}
	head, err := wire.Encode(req)
	body := wire.Body{head}
	if err == nil && len(r.Tools) > 0 {
		body, err = m.tools.Fill(body, tool, r.Tools, offered())
	}
	if err != nil {
		return nil, err
	}
	s := m.sent.Load()
	input := &s.input[0]
	if thinks {
		input = &s.input[1]
	}
	return input.Fill(body, item, r.Messages, wire.Writing[model.Message, any]{
		Same: model.Message.Same,
		Add: func(items []any, from []model.Message, i int) []any {
			return append(items, m.item(from, i, thinks, s.without)...)
		},
	})
}

func offered() wire.Writing[model.ToolSpec, client.ResponseTool] {
	return wire.Writing[model.ToolSpec, client.ResponseTool]{
		Same: model.ToolSpec.Same,
		Add: func(items []client.ResponseTool, from []model.ToolSpec, i int) []client.ResponseTool {
			t := from[i]
			def := map[string]any{
				"name": t.Name, "parameters": t.Parameters,
				// Without it the service wants every parameter to be required.
				"strict": false,
			}
			if t.Description != "" {
				def["description"] = t.Description
			}
			return append(items, client.ResponseTool{Type: client.ToolTypeFunction, Parameters: def})
		},
	}
}

// request is all of a request but its lists.
func (m *responses) request(r model.Request, thinks bool) client.CreateResponseRequest {
	req := client.CreateResponseRequest{Model: m.Model, Store: new(false), PromptCacheKey: r.Session}
	if thinks {
		req.Reasoning = &client.ResponseReasoning{Summary: "auto"}
		req.Include = []client.ResponseInclude{"reasoning.encrypted_content"}
	}
	for _, msg := range r.Messages {
		if msg.Role == model.System {
			if req.Instructions != "" {
				req.Instructions += "\n\n"
			}
			req.Instructions += msg.Text
		}
	}
	return req
}

// item gives the items that stand for from[i]; the system prompt has none.
func (m *responses) item(from []model.Message, i int, thinks bool, without map[string]bool) []any {
	msg := from[i].Carried(func(a model.Attachment) bool { return a.Image() || a.PDF() })
	switch msg.Role {
	case model.User:
		return []any{client.ResponseInputMessage{Role: "user", Content: content(msg)}}
	case model.Tool:
		var output any = msg.Text
		if len(msg.Attachments) > 0 || msg.Text == "" {
			output = content(msg)
		}
		return []any{client.ResponseFunctionCallOutput{
			Type: "function_call_output", CallID: wire.AnsweredID(from, i, m.Name()), Output: output,
		}}
	case model.Assistant:
		return m.said(msg, thinks, without)
	}
	return nil
}

// said gives a message of the model's own as the items that it was made of.
func (m *responses) said(msg model.Message, thinks bool, without map[string]bool) []any {
	var out []any
	message := -1 // the last one
	for _, p := range msg.Parts(m.Name()) {
		switch {
		case p.Thought != nil:
			switch fields := wire.Unsealed(*p.Thought); {
			case fields != nil && message >= 0: // of the message before it
				out[message] = extended(out[message], wire.Without(fields, without))
			case thinks && wire.Typed(*p.Thought):
				out = append(out, p.Thought.Sealed)
			}
		case p.Call != nil:
			out = append(out, extended(functionCall{
				Type: "function_call", CallID: wire.IDOf(*p.Call, m.Name()), Name: wire.ToolName(p.Call.Name),
				Arguments: wire.Object(p.Call.Arguments),
			}, wire.Without(wire.ExtraOf(*p.Call, m.Name()), without)))
		default:
			message = len(out)
			out = append(out, client.ResponseInputMessage{Role: "assistant", Content: p.Text})
		}
	}
	return out
}

// extended adds the fields that the service wants back to an item.
func extended(item any, fields json.RawMessage) any {
	if fields == nil {
		return item
	}
	raw, err := wire.Encode(item)
	if err != nil {
		return item
	}
	return wire.With(raw, fields)
}

type functionCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func content(msg model.Message) []any {
	var parts []any
	if msg.Text == "" && len(msg.Attachments) == 0 {
		msg.Text = wire.Empty
	}
	if msg.Text != "" {
		parts = append(parts, client.ResponseInputText{Type: "input_text", Text: msg.Text})
	}
	for _, i := range msg.Attachments {
		if i.PDF() {
			parts = append(parts, client.ResponseInputFile{Type: "input_file", FileData: wire.DataURL(i), Filename: cmp.Or(i.Name, "document.pdf")})
			continue
		}
		parts = append(parts, client.ResponseInputImage{Type: "input_image", Detail: "auto", ImageURL: wire.DataURL(i)})
	}
	return parts
}

// Package openaichat speaks Chat Completions, the protocol of OpenAI and of most services and local
// servers after it.
package openaichat

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync/atomic"

	openai "github.com/sashabaranov/go-openai"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// New gives a model of a service whose BaseURL has the version in it, such as
// http://127.0.0.1:11434/v1. The error is a *model.Error of kind "unavailable" when the address is
// none.
func New(s wire.Service) (model.Model, error) {
	c, err := wire.New(s)
	if err != nil {
		return nil, err
	}
	m := &chat{Client: c}
	m.sent.Store(&sent{without: map[string]bool{}})
	return m, nil
}

type chat struct {
	*wire.Client
	sent  atomic.Pointer[sent]
	tools wire.Grown[model.ToolSpec, openai.Tool]
}

// sent are the messages as they are sent: without fields that the service has refused.
type sent struct {
	messages wire.Grown[model.Message, message]
	without  map[string]bool
}

func (m *chat) Stream(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
	for {
		s := m.sent.Load()
		resp, err := m.stream(ctx, r, s, on)
		refused := ""
		if err != nil {
			refused = wire.RefusedField(err, added(r.Messages, m.Name()))
		}
		if refused == "" || s.without[refused] {
			return resp, err
		}
		without := maps.Clone(s.without)
		without[refused] = true
		m.sent.CompareAndSwap(s, &sent{without: without})
	}
}

// added names the fields of messages that are not of the protocol itself.
func added(messages []model.Message, name string) []string {
	all := wire.Added(messages, name)
	for _, msg := range messages {
		for _, t := range msg.Thoughts {
			if t.Model == name && t.Text != "" {
				all = append(all, cmp.Or(t.Field, "reasoning_content"))
			}
		}
	}
	return all
}

func (m *chat) stream(ctx context.Context, r model.Request, s *sent, on func(model.Delta)) (model.Response, error) {
	x := m.Start(ctx)
	defer x.End()
	cfg := openai.DefaultConfig(m.Key)
	cfg.BaseURL, cfg.HTTPClient = m.BaseURL, x
	req := openai.ChatCompletionRequest{Model: m.Model, StreamOptions: &openai.StreamOptions{IncludeUsage: true}}
	var err error
	if x.Body, err = m.body(req, r, s); err != nil {
		return model.Response{}, x.Fail(err)
	}
	stream, err := openai.NewClientWithConfig(cfg).CreateChatCompletionStream(x.Context(), req)
	if err != nil {
		return model.Response{}, x.Fail(err)
	}
	defer stream.Close()
	a := answer{m: m, on: on, calls: wire.Calls{On: on, Model: m.Name(), Tools: r.Tools}}
	x.Early = a.early
	if err := x.Read(a.event, func() bool { return a.finish != "" }); err != nil {
		a.kept()
		return model.Response{}, err
	}
	resp := a.end()
	a.kept()
	return x.Answered(resp, on)
}

// body encodes a request, and of its lists only what the last one did not have.
func (m *chat) body(req openai.ChatCompletionRequest, r model.Request, s *sent) (wire.Body, error) {
	mark, tool := message{ChatCompletionMessage: openai.ChatCompletionMessage{Role: "here"}}, openai.Tool{Type: "here"}
	req.Stream, req.Messages = true, []openai.ChatCompletionMessage{mark.ChatCompletionMessage}
	if len(r.Tools) > 0 {
		req.Tools = []openai.Tool{tool}
	}
	head, err := wire.Encode(req)
	body := wire.Body{head}
	if err == nil && len(r.Tools) > 0 {
		body, err = m.tools.Fill(body, tool, r.Tools, offered())
	}
	if err != nil {
		return nil, err
	}
	return s.messages.Fill(body, mark, r.Messages, said(m.Name(), s.without))
}

func offered() wire.Writing[model.ToolSpec, openai.Tool] {
	return wire.Writing[model.ToolSpec, openai.Tool]{
		Same: model.ToolSpec.Same,
		Add: func(items []openai.Tool, from []model.ToolSpec, i int) []openai.Tool {
			t := from[i]
			return append(items, openai.Tool{
				Type:     openai.ToolTypeFunction,
				Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters},
			})
		},
	}
}

// message is a message as it is sent, with what services add to the protocol.
type message struct {
	openai.ChatCompletionMessage
	// parts, where there are any, are the content instead.
	parts []json.RawMessage
	// fields are those of the message, calls those of each call.
	fields json.RawMessage
	calls  []json.RawMessage
}

// MarshalJSON implements json.Marshaler.
func (m message) MarshalJSON() ([]byte, error) {
	raw, err := m.ChatCompletionMessage.MarshalJSON()
	if err != nil || m.fields == nil && m.parts == nil && !slices.ContainsFunc(m.calls, func(c json.RawMessage) bool { return c != nil }) {
		return raw, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	var calls []json.RawMessage
	if err := json.Unmarshal([]byte(cmp.Or(string(all["tool_calls"]), "null")), &calls); err != nil {
		return nil, err
	}
	for i := range calls {
		calls[i] = wire.With(calls[i], m.calls[i])
	}
	if calls != nil {
		all["tool_calls"], err = wire.Encode(calls)
	}
	if err == nil && m.parts != nil {
		all["content"], err = wire.Encode(m.parts)
	}
	if err == nil {
		raw, err = wire.Encode(all)
	}
	return wire.With(raw, m.fields), err
}

// said writes the messages of a conversation for the model of that name, without the fields that
// its service refuses.
func said(name string, without map[string]bool) wire.Writing[model.Message, message] {
	return wire.Writing[model.Message, message]{
		Same: model.Message.Same,
		Add: func(items []message, from []model.Message, i int) []message {
			if from[i].CallID == "" {
				items = append(items, late(from[:i])...)
			}
			return add(items, from, i, name, without)
		},
		End: func(_ []message, from []model.Message) (map[int]message, []message) {
			return nil, late(from)
		},
	}
}

// late are the images of the results that from ends with. A tool's message holds text alone, so
// that they follow, in one message of the person's, when all results are said.
func late(from []model.Message) []message {
	first := len(from)
	for first > 0 && from[first-1].CallID != "" {
		first--
	}
	var all []openai.ChatMessagePart
	for _, msg := range from[first:] {
		msg = msg.Carried(model.Attachment.Image)
		if len(msg.Attachments) > 0 {
			all = append(all, images(msg, "From "+wire.ToolName(msg.Name)+":")...)
		}
	}
	if all == nil {
		return nil
	}
	return []message{{ChatCompletionMessage: openai.ChatCompletionMessage{Role: string(model.User), MultiContent: all}}}
}

// add writes from[i] behind the messages before it.
func add(items []message, from []model.Message, i int, name string, without map[string]bool) []message {
	msg := from[i].Carried(model.Attachment.Image)
	var out message
	out.Role, out.Content = string(msg.Role), msg.Text
	if msg.CallID != "" {
		out.ToolCallID = wire.AnsweredID(from, i, name)
	}
	for _, c := range msg.Calls {
		out.ToolCalls = append(out.ToolCalls, openai.ToolCall{
			ID: wire.IDOf(c, name), Type: openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: wire.ToolName(c.Name), Arguments: wire.Object(c.Arguments)},
		})
		out.calls = append(out.calls, wire.Without(wire.ExtraOf(c, name), without))
	}
	for _, t := range msg.Thoughts {
		if t.Model == name {
			out.think(t, len(msg.Calls) > 0, without)
		}
	}
	if out.Content == "" && out.ToolCalls == nil && (len(msg.Attachments) == 0 || msg.Role == model.Tool) {
		if msg.Role == model.Assistant {
			return items
		}
		out.Content = wire.Empty
	}
	if len(msg.Attachments) > 0 && msg.Role != model.Tool {
		out.Content, out.MultiContent = "", images(msg, msg.Text)
	}
	last := len(items) - 1
	if last < 0 || out.Role != string(model.User) || items[last].Role != out.Role {
		return append(items, out)
	}
	// Many a local model wants person and model to take turns.
	was := &items[last]
	if was.MultiContent == nil && out.MultiContent == nil {
		was.Content += "\n\n" + out.Content
		return items
	}
	was.MultiContent = slices.Concat(parts(was.ChatCompletionMessage), parts(out.ChatCompletionMessage))
	was.Content = ""
	return items
}

// parts gives the content of a message in parts.
func parts(msg openai.ChatCompletionMessage) []openai.ChatMessagePart {
	if msg.MultiContent == nil {
		return []openai.ChatMessagePart{{Type: openai.ChatMessagePartTypeText, Text: msg.Content}}
	}
	return msg.MultiContent
}

// think adds a thought of the model's own. Services that want its text back want it with the calls,
// and refuse it elsewhere.
func (m *message) think(t model.Thought, calls bool, without map[string]bool) {
	m.fields = wire.With(json.RawMessage(cmp.Or(string(m.fields), "{}")), wire.Without(wire.Unsealed(t), without))
	if string(m.fields) == "{}" {
		m.fields = nil
	}
	switch field := cmp.Or(t.Field, "reasoning_content"); {
	case !calls || t.Text == "" || without[field]:
	case field == "content":
		thinking := contentPart{Type: "thinking", Thinking: []contentPart{{Type: "text", Text: t.Text}}}
		m.parts = parted(thinking, contentPart{Type: "text", Text: m.Content})
	case field == "reasoning_content":
		m.ReasoningContent += t.Text
	case field != "reasoning_details": // which comes back as it was
		text, _ := wire.Encode(map[string]string{field: t.Text})
		m.fields = wire.With(text, m.fields)
	}
}

// contentPart is a part of a content that holds thoughts.
type contentPart struct {
	Type     string        `json:"type"`
	Text     string        `json:"text,omitempty"`
	Thinking []contentPart `json:"thinking,omitempty"`
}

// parted encodes the parts that say something.
func parted(all ...contentPart) (out []json.RawMessage) {
	for _, p := range all {
		if raw, err := wire.Encode(p); err == nil && (p.Text != "" || p.Thinking != nil) {
			out = append(out, raw)
		}
	}
	return out
}

func images(msg model.Message, text string) []openai.ChatMessagePart {
	var parts []openai.ChatMessagePart
	if text != "" {
		parts = append(parts, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: text})
	}
	for _, i := range msg.Attachments {
		parts = append(parts, openai.ChatMessagePart{
			Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: wire.DataURL(i)},
		})
	}
	return parts
}

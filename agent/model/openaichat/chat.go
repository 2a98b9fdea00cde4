// Package openaichat speaks Chat Completions, the protocol of OpenAI and of most services and local servers after it.
package openaichat

import (
	"context"
	"encoding/json"
	"slices"

	openai "github.com/sashabaranov/go-openai"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// New gives a model of a service whose BaseURL has the version in it, such as http://127.0.0.1:11434/v1. The error is a
// *model.Error of kind "unavailable" when the address is none.
func New(s wire.Service) (model.Model, error) {
	c, err := wire.New(s)
	if err != nil {
		return nil, err
	}
	return &chat{Client: c}, nil
}

type chat struct {
	*wire.Client
	messages wire.Grown[model.Message, openai.ChatCompletionMessage]
	tools    wire.Grown[model.ToolSpec, openai.Tool]
}

func (m *chat) Stream(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
	x := m.Start(ctx)
	defer x.End()
	cfg := openai.DefaultConfig(m.Key)
	cfg.BaseURL, cfg.HTTPClient = m.BaseURL, x
	req := openai.ChatCompletionRequest{Model: m.Model, StreamOptions: &openai.StreamOptions{IncludeUsage: true}}
	var err error
	if x.Body, err = m.body(req, r); err != nil {
		return model.Response{}, x.Fail(err)
	}
	stream, err := openai.NewClientWithConfig(cfg).CreateChatCompletionStream(x.Context(), req)
	if err != nil {
		return model.Response{}, x.Fail(err)
	}
	defer stream.Close()
	a := answer{m: m, on: on, calls: wire.Calls{On: on}}
	if err := x.Read(a.event, func() bool { return a.finish != "" }); err != nil {
		return model.Response{}, err
	}
	return x.Answered(a.end(), on)
}

// body encodes a request, and of its lists only what the last one did not have.
func (m *chat) body(req openai.ChatCompletionRequest, r model.Request) (wire.Body, error) {
	message, tool := openai.ChatCompletionMessage{Role: "here"}, openai.Tool{Type: "here"}
	req.Stream, req.Messages = true, []openai.ChatCompletionMessage{message}
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
	return m.messages.Fill(body, message, r.Messages, said(m.Name()))
}

func offered() wire.Writing[model.ToolSpec, openai.Tool] {
	return wire.Writing[model.ToolSpec, openai.Tool]{
		Same: model.ToolSpec.Same,
		Add: func(items []openai.Tool, from []model.ToolSpec, i int) []openai.Tool {
			t := from[i]
			return append(items, openai.Tool{
				Type:     openai.ToolTypeFunction,
				Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: wire.Schema(t)},
			})
		},
	}
}

// said writes the messages of a conversation for the model of that name.
func said(name string) wire.Writing[model.Message, openai.ChatCompletionMessage] {
	return wire.Writing[model.Message, openai.ChatCompletionMessage]{
		Same: model.Message.Same,
		Add: func(items []openai.ChatCompletionMessage, from []model.Message, i int) []openai.ChatCompletionMessage {
			if from[i].CallID == "" {
				items = append(items, late(from[:i])...)
			}
			return add(items, from[i], name)
		},
		End: func(_ []openai.ChatCompletionMessage, from []model.Message) (map[int]openai.ChatCompletionMessage, []openai.ChatCompletionMessage) {
			return nil, late(from)
		},
	}
}

// late are the images of the results that from ends with. A tool's message holds text alone, so that they follow, in
// one message of the person's, when all results are said.
func late(from []model.Message) []openai.ChatCompletionMessage {
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
	return []openai.ChatCompletionMessage{{Role: string(model.User), MultiContent: all}}
}

// add writes a message behind those before it.
func add(items []openai.ChatCompletionMessage, msg model.Message, name string) []openai.ChatCompletionMessage {
	msg = msg.Carried(model.Attachment.Image)
	out := openai.ChatCompletionMessage{Role: string(msg.Role), Content: msg.Text}
	if msg.CallID != "" {
		out.ToolCallID = wire.CallID(msg.CallID)
	}
	for _, c := range msg.Calls {
		out.ToolCalls = append(out.ToolCalls, openai.ToolCall{
			ID: wire.CallID(c.ID), Type: openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: wire.ToolName(c.Name), Arguments: wire.Object(c.Arguments)},
		})
	}
	for _, t := range msg.Thoughts {
		// Services that want a thought back want it with its calls and refuse it elsewhere.
		if t.Model == name && len(msg.Calls) > 0 {
			out.ReasoningContent += t.Text
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
	was.MultiContent = slices.Concat(parts(*was), parts(out))
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

// event is one event of the stream, as much of it as is used here. Error, the two kinds of reasoning and the cost are
// what services add to OpenAI's own form.
type event struct {
	Choices []struct {
		Index        int    `json:"index"`
		Delta        piece  `json:"delta"`
		Message      *piece `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     int64 `json:"prompt_tokens"`
		CompletionTokens int64 `json:"completion_tokens"`
		Details          struct {
			CachedTokens int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CacheHit int64   `json:"prompt_cache_hit_tokens"`
		Cost     float64 `json:"cost"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// piece is a part of the answer, or all of it.
type piece struct {
	Content          string            `json:"content"`
	Refusal          string            `json:"refusal"`
	Reasoning        string            `json:"reasoning"`
	ReasoningContent string            `json:"reasoning_content"`
	ToolCalls        []openai.ToolCall `json:"tool_calls"`
}

// Package openaichat speaks Chat Completions, the protocol of OpenAI and of most services and local servers after it.
package openaichat

import (
	"context"
	"encoding/json"

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
	messages wire.Grown[openai.ChatCompletionMessage]
	tools    wire.Grown[openai.Tool]
}

func (m *chat) Stream(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
	x := m.Start(ctx)
	defer x.End()
	cfg := openai.DefaultConfig(m.Key)
	cfg.BaseURL, cfg.HTTPClient = m.BaseURL, x
	req := m.request(r)
	var err error
	if x.Body, err = m.body(req); err != nil {
		return model.Response{}, x.Fail(err)
	}
	req.Messages, req.Tools = nil, nil // they are in the body
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
func (m *chat) body(req openai.ChatCompletionRequest) (wire.Body, error) {
	messages, tools := req.Messages, req.Tools
	message, tool := openai.ChatCompletionMessage{Role: "here"}, openai.Tool{Type: "here"}
	req.Stream, req.Messages = true, []openai.ChatCompletionMessage{message}
	if len(tools) > 0 {
		req.Tools = []openai.Tool{tool}
	}
	head, err := json.Marshal(req)
	body := wire.Body{head}
	if err == nil && len(tools) > 0 {
		body, err = m.tools.Fill(body, tool, tools)
	}
	if err != nil {
		return nil, err
	}
	return m.messages.Fill(body, message, messages)
}

func (m *chat) request(r model.Request) openai.ChatCompletionRequest {
	req := openai.ChatCompletionRequest{Model: m.Model, StreamOptions: &openai.StreamOptions{IncludeUsage: true}}
	var late []openai.ChatCompletionMessage
	add := func(msg openai.ChatCompletionMessage) {
		last := len(req.Messages) - 1
		if last < 0 || msg.Role != string(model.User) || req.Messages[last].Role != msg.Role {
			req.Messages = append(req.Messages, msg)
			return
		}
		// Many a local model wants person and model to take turns.
		was := &req.Messages[last]
		if was.MultiContent == nil && msg.MultiContent == nil {
			was.Content += "\n\n" + msg.Content
			return
		}
		was.MultiContent = append(parts(*was), parts(msg)...)
		was.Content = ""
	}
	flush := func() {
		for _, msg := range late {
			add(msg)
		}
		late = nil
	}
	for _, msg := range r.Messages {
		out := openai.ChatCompletionMessage{Role: string(msg.Role), Content: msg.Text}
		if msg.CallID != "" {
			out.ToolCallID = wire.CallID(msg.CallID)
		} else {
			flush()
		}
		for _, c := range msg.Calls {
			out.ToolCalls = append(out.ToolCalls, openai.ToolCall{
				ID: wire.CallID(c.ID), Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: wire.ToolName(c.Name), Arguments: wire.Object(c.Arguments)},
			})
		}
		for _, t := range msg.Thoughts {
			// Services that want a thought back want it with its calls and refuse it elsewhere.
			if t.Model == m.Name() && len(msg.Calls) > 0 {
				out.ReasoningContent += t.Text
			}
		}
		if out.Content == "" && out.ToolCalls == nil && (len(msg.Images) == 0 || msg.Role == model.Tool) {
			if msg.Role == model.Assistant {
				continue
			}
			out.Content = wire.Empty
		}
		switch {
		case len(msg.Images) == 0:
		case msg.Role == model.Tool:
			// A tool's message holds text alone, so that its images follow when all results are said.
			late = append(late, openai.ChatCompletionMessage{
				Role: string(model.User), MultiContent: images(msg, "From "+wire.ToolName(msg.Name)+":"),
			})
		default:
			out.Content, out.MultiContent = "", images(msg, msg.Text)
		}
		add(out)
	}
	flush()
	for _, t := range r.Tools {
		req.Tools = append(req.Tools, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: wire.Schema(t)},
		})
	}
	return req
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
	for _, i := range msg.Images {
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

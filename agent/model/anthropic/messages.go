// Package anthropic speaks the Messages API of Anthropic and of the services after it.
package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// New gives a model of a service whose BaseURL is without the version, such as
// https://api.anthropic.com. The error is a *model.Error of kind "unavailable" when the address is
// none.
func New(s wire.Service) (model.Model, error) {
	s.BaseURL = strings.TrimSuffix(strings.TrimSuffix(s.BaseURL, "/"), "/v1")
	c, err := wire.New(s)
	if err != nil {
		return nil, err
	}
	return &messages{Client: c}, nil
}

type messages struct {
	*wire.Client
	// said is kept apart for services that take thoughts without a signature, and for those that
	// want one.
	said [2]wire.Grown[model.Message, sdk.MessageParam]
	// signed says that the service wants one.
	signed atomic.Bool
	tools  wire.Grown[model.ToolSpec, sdk.ToolUnionParam]
}

func (m *messages) Stream(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
	signed := m.signed.Load()
	resp, err := m.stream(ctx, r, signed, on)
	var e *model.Error
	if !signed && errors.As(err, &e) && e.Status == http.StatusBadRequest && e.Kind == "http" && strings.Contains(e.Message, "signature") &&
		slices.ContainsFunc(r.Messages, m.unsigned) {
		m.signed.Store(true)
		return m.stream(ctx, r, true, on)
	}
	return resp, err
}

// unsigned says that a message has a thought of the model's own without a signature. Services that
// sign none want them back all the same, and Anthropic refuses them.
func (m *messages) unsigned(msg model.Message) bool {
	return slices.ContainsFunc(msg.Thoughts, func(t model.Thought) bool {
		return t.Model == m.Name() && wire.Typed(t) && !isSigned(t)
	})
}

func isSigned(t model.Thought) bool {
	var s struct {
		Type, Signature string
	}
	return json.Unmarshal(t.Sealed, &s) == nil && (s.Signature != "" || s.Type != "thinking")
}

func (m *messages) stream(ctx context.Context, r model.Request, signed bool, on func(model.Delta)) (model.Response, error) {
	x := m.Start(ctx)
	defer x.End()
	// The library's own constructors would read keys and addresses from the environment and the
	// home folder.
	client := sdk.Client{Options: []option.RequestOption{
		option.WithBaseURL(m.BaseURL), option.WithHTTPClient(x), option.WithMaxRetries(0),
	}}
	if m.Key != "" {
		client.Options = append(client.Options, option.WithAPIKey(m.Key))
	}
	var resp *http.Response
	var err error
	if x.Body, err = m.body(r, signed); err == nil {
		empty := []byte("{}") // x.Body is sent instead
		err = client.Post(x.Context(), "v1/messages", empty, &resp, option.WithHeader("Accept", "text/event-stream"))
	}
	if err != nil {
		return model.Response{}, x.Fail(err)
	}
	a := answer{m: m, on: on, calls: wire.Calls{On: on, Model: m.Name()}, blocks: map[int64]*block{}}
	if err := x.Read(a.event, func() bool { return a.stop != "" }); err != nil {
		a.kept()
		return model.Response{}, err
	}
	end := a.end()
	a.kept()
	return x.Answered(end, on)
}

// body encodes a request, and of its lists only what the last one did not have. It says where the
// service may cache what it has read: after the tools, after the system prompt, and after the two
// newest messages of the person's side, so that what this request adds is found by the next one.
func (m *messages) body(r model.Request, signed bool) (wire.Body, error) {
	limits := limitsOf(m.Model)
	message, tool := sdk.MessageParam{Role: "here"}, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{Name: "here"}}
	req := sdk.MessageNewParams{Model: m.Model, MaxTokens: limits.maxTokens, Messages: []sdk.MessageParam{message}}
	if limits.adaptive {
		req.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{
			Display: sdk.ThinkingConfigAdaptiveDisplaySummarized,
		}
	}
	if len(r.Tools) > 0 {
		req.Tools = []sdk.ToolUnionParam{tool}
	}
	for _, msg := range r.Messages {
		if msg.Role == model.System && strings.TrimSpace(msg.Text) != "" {
			req.System = append(req.System, sdk.TextBlockParam{Text: msg.Text})
		}
	}
	if n := len(req.System); n > 0 {
		req.System[n-1].CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	head, err := wire.Encode(req)
	head = append(bytes.TrimSuffix(head, []byte("}")), `,"stream":true}`...)
	body := wire.Body{head}
	if err == nil && len(r.Tools) > 0 {
		body, err = m.tools.Fill(body, tool, r.Tools, offered())
	}
	if err == nil {
		said := &m.said[0]
		if signed {
			said = &m.said[1]
		}
		body, err = said.Fill(body, message, r.Messages, wire.Writing[model.Message, sdk.MessageParam]{
			Same: model.Message.Same, End: marked,
			Add: func(items []sdk.MessageParam, from []model.Message, i int) []sdk.MessageParam {
				return m.add(items, from, i, signed)
			},
		})
	}
	return body, err
}

func offered() wire.Writing[model.ToolSpec, sdk.ToolUnionParam] {
	return wire.Writing[model.ToolSpec, sdk.ToolUnionParam]{
		Same: model.ToolSpec.Same,
		Add: func(items []sdk.ToolUnionParam, from []model.ToolSpec, i int) []sdk.ToolUnionParam {
			t := from[i]
			tool := &sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](wire.Schema(t))}
			if t.Description != "" {
				tool.Description = param.NewOpt(t.Description)
			}
			return append(items, sdk.ToolUnionParam{OfTool: tool})
		},
		End: func(items []sdk.ToolUnionParam, _ []model.ToolSpec) (map[int]sdk.ToolUnionParam, []sdk.ToolUnionParam) {
			last := len(items) - 1
			tool := *items[last].OfTool
			tool.CacheControl = sdk.NewCacheControlEphemeralParam()
			return map[int]sdk.ToolUnionParam{last: {OfTool: &tool}}, nil
		},
	}
}

// add writes a message behind those before it; the system prompt is none of them.
func (m *messages) add(items []sdk.MessageParam, from []model.Message, i int, signed bool) []sdk.MessageParam {
	if from[i].Role == model.System {
		return items
	}
	role, blocks := sdk.MessageParamRoleUser, m.blocks(from, i, signed)
	if from[i].Role == model.Assistant {
		role = sdk.MessageParamRoleAssistant
	}
	last := len(items) - 1
	switch {
	case len(blocks) == 0:
	case last >= 0 && items[last].Role == role:
		// The results of all calls of one message belong into one message.
		items[last].Content = append(items[last].Content, blocks...)
	default:
		items = append(items, sdk.MessageParam{Role: role, Content: blocks})
	}
	return items
}

// marked are the two newest messages of the person's side, with the mark that the service may cache
// what ends with them.
func marked(items []sdk.MessageParam, _ []model.Message) (map[int]sdk.MessageParam, []sdk.MessageParam) {
	other := map[int]sdk.MessageParam{}
	for i := len(items) - 1; i >= 0 && len(other) < 2; i-- {
		if items[i].Role != sdk.MessageParamRoleUser {
			continue
		}
		msg := items[i]
		msg.Content = slices.Clone(msg.Content)
		last := &msg.Content[len(msg.Content)-1]
		switch block := *last; {
		case block.OfText != nil:
			last.OfText = new(*block.OfText)
		case block.OfImage != nil:
			last.OfImage = new(*block.OfImage)
		case block.OfToolResult != nil:
			last.OfToolResult = new(*block.OfToolResult)
		}
		if at := last.GetCacheControl(); at != nil {
			*at = sdk.NewCacheControlEphemeralParam()
			other[i] = msg
		}
	}
	return other, nil
}

// blocks gives the blocks that stand for from[i].
func (m *messages) blocks(from []model.Message, i int, signed bool) []sdk.ContentBlockParamUnion {
	msg := from[i].Carried(carries)
	var out []sdk.ContentBlockParamUnion
	text := func(t string) {
		if strings.TrimSpace(t) != "" { // the service refuses an empty text
			out = append(out, sdk.NewTextBlock(t))
		}
	}
	switch msg.Role {
	case model.Assistant:
		for _, p := range msg.Parts(m.Name()) {
			switch {
			case p.Thought != nil:
				fields := wire.Unsealed(*p.Thought)
				last := len(out) - 1
				switch {
				case fields != nil && last >= 0 && out[last].OfText != nil: // of the text before it
					out[last] = extended(out[last], fields)
				case wire.Typed(*p.Thought) && (!signed || isSigned(*p.Thought)):
					out = append(out, param.Override[sdk.ContentBlockParamUnion](p.Thought.Sealed))
				}
			case p.Call != nil:
				out = append(out, extended(sdk.NewToolUseBlock(
					wire.IDOf(*p.Call, m.Name()), json.RawMessage(wire.Object(p.Call.Arguments)), wire.ToolName(p.Call.Name),
				), wire.ExtraOf(*p.Call, m.Name())))
			default:
				text(p.Text)
			}
		}
		return out
	case model.Tool:
		result := sdk.ToolResultBlockParam{ToolUseID: wire.AnsweredID(from, i, m.Name())}
		if msg.Failed {
			result.IsError = param.NewOpt(true)
		}
		if strings.TrimSpace(msg.Text) != "" || len(msg.Attachments) == 0 {
			if strings.TrimSpace(msg.Text) == "" {
				msg.Text = wire.Empty
			}
			result.Content = append(result.Content,
				sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: msg.Text}})
		}
		for _, i := range msg.Attachments {
			block := attached(i)
			result.Content = append(result.Content, sdk.ToolResultBlockParamContentUnion{OfImage: block.OfImage, OfDocument: block.OfDocument})
		}
		return append(out, sdk.ContentBlockParamUnion{OfToolResult: &result})
	}
	text(msg.Text)
	for _, i := range msg.Attachments {
		out = append(out, attached(i))
	}
	if len(out) == 0 {
		text(wire.Empty)
	}
	return out
}

// extended adds the fields that the service wants back to a block.
func extended(block sdk.ContentBlockParamUnion, fields json.RawMessage) sdk.ContentBlockParamUnion {
	raw, err := wire.Encode(block)
	if fields == nil || err != nil {
		return block
	}
	return param.Override[sdk.ContentBlockParamUnion](wire.With(raw, fields))
}

// carries says what can be attached.
func carries(a model.Attachment) bool { return a.Image() || a.PDF() }

func attached(a model.Attachment) sdk.ContentBlockParamUnion {
	_, data, _ := strings.Cut(wire.DataURL(a), ",")
	if !a.PDF() {
		return sdk.NewImageBlockBase64(a.MIMEType, data)
	}
	block := sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: data})
	if a.Name != "" {
		block.OfDocument.Title = param.NewOpt(a.Name)
	}
	return block
}

// limits are what a model takes: how long its answer may be, and whether it decides by itself how
// much to think.
type limits struct {
	maxTokens int64
	adaptive  bool
}

var modelName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^claude-(?:[a-z]+-(\d)(?:-(\d))?|(\d)(?:-(\d))?-[a-z]+)(?:$|[-@:])`)
})

// limitsOf goes by the name, since the service refuses what a model does not take. Names that it
// does not know get what every service takes.
func limitsOf(name string) limits {
	v := modelName().FindStringSubmatch(name)
	if v == nil {
		return limits{maxTokens: 16_000}
	}
	major, _ := strconv.Atoi(v[1] + v[3])
	minor, _ := strconv.Atoi(v[2] + v[4])
	switch version := major*10 + minor; {
	case version >= 46:
		return limits{maxTokens: 64_000, adaptive: true}
	case strings.HasPrefix(name, "claude-opus-4") && version < 45:
		return limits{maxTokens: 32_000}
	case version >= 37:
		return limits{maxTokens: 64_000}
	case version >= 35:
		return limits{maxTokens: 8192}
	}
	return limits{maxTokens: 4096}
}

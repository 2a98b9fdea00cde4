// Package anthropic speaks the Messages API of Anthropic and of the services after it.
package anthropic

import (
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
	said [2]wire.Grown[model.Message, message]
	// signed says that the service wants one.
	signed atomic.Bool
	tools  wire.Grown[model.ToolSpec, tool]
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
	if err := m.send(x, r, signed); err != nil {
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

// send posts a request. Its answer is a stream of events.
func (m *messages) send(x *wire.Exchange, r model.Request, signed bool) error {
	var err error
	if x.Body, err = m.body(r, signed); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(x.Context(), http.MethodPost, m.BaseURL+"/v1/messages", http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "tandem")
	if m.Key != "" {
		req.Header.Set("X-Api-Key", m.Key)
	}
	_, err = x.Do(req)
	return err
}

// body encodes a request, and of its lists only what the last one did not have. It says where the
// service may cache what it has read: after the tools, after the system prompt, and after the two
// newest messages of the person's side, so that what this request adds is found by the next one.
func (m *messages) body(r model.Request, signed bool) (wire.Body, error) {
	limits := limitsOf(m.Model)
	said, offer := message{Role: "here"}, tool{Name: "here"}
	req := request{Model: m.Model, MaxTokens: limits.maxTokens, Messages: []message{said}, Stream: true}
	if limits.adaptive {
		req.Thinking = &thinkingConfig{Display: "summarized", Type: "adaptive"}
	}
	if len(r.Tools) > 0 {
		req.Tools = []tool{offer}
	}
	for _, msg := range r.Messages {
		if msg.Role == model.System && strings.TrimSpace(msg.Text) != "" {
			req.System = append(req.System, textBlock(msg.Text))
		}
	}
	if n := len(req.System); n > 0 {
		req.System[n-1].CacheControl = ephemeral
	}
	head, err := wire.Encode(req)
	body := wire.Body{head}
	if err == nil && len(r.Tools) > 0 {
		body, err = m.tools.Fill(body, offer, r.Tools, offered())
	}
	if err == nil {
		list := &m.said[0]
		if signed {
			list = &m.said[1]
		}
		body, err = list.Fill(body, said, r.Messages, wire.Writing[model.Message, message]{
			Same: model.Message.Same, End: marked,
			Add: func(items []message, from []model.Message, i int) []message {
				return m.add(items, from, i, signed)
			},
		})
	}
	return body, err
}

func offered() wire.Writing[model.ToolSpec, tool] {
	return wire.Writing[model.ToolSpec, tool]{
		Same: model.ToolSpec.Same,
		Add: func(items []tool, from []model.ToolSpec, i int) []tool {
			t := from[i]
			return append(items, tool{InputSchema: t.Parameters, Name: t.Name, Description: t.Description})
		},
		End: func(items []tool, _ []model.ToolSpec) (map[int]tool, []tool) {
			last := len(items) - 1
			marked := items[last]
			marked.CacheControl = ephemeral
			return map[int]tool{last: marked}, nil
		},
	}
}

// add writes a message behind those before it; the system prompt is none of them.
func (m *messages) add(items []message, from []model.Message, i int, signed bool) []message {
	if from[i].Role == model.System {
		return items
	}
	role, blocks := string(model.User), m.blocks(from, i, signed)
	if from[i].Role == model.Assistant {
		role = string(model.Assistant)
	}
	last := len(items) - 1
	switch {
	case len(blocks) == 0:
	case last >= 0 && items[last].Role == role:
		// The results of all calls of one message belong into one message.
		items[last].Content = append(items[last].Content, blocks...)
	default:
		items = append(items, message{Role: role, Content: blocks})
	}
	return items
}

// marked are the two newest messages of the person's side, with the mark that the service may cache
// what ends with them.
func marked(items []message, _ []model.Message) (map[int]message, []message) {
	other := map[int]message{}
	for i := len(items) - 1; i >= 0 && len(other) < 2; i-- {
		if items[i].Role != string(model.User) {
			continue
		}
		msg := items[i]
		msg.Content = slices.Clone(msg.Content)
		if last := &msg.Content[len(msg.Content)-1]; last.encoded == nil {
			last.CacheControl = ephemeral
			other[i] = msg
		}
	}
	return other, nil
}

// blocks gives the blocks that stand for from[i].
func (m *messages) blocks(from []model.Message, i int, signed bool) []content {
	msg := from[i].Carried(carries)
	var out []content
	text := func(t string) {
		if strings.TrimSpace(t) != "" { // the service refuses an empty text
			out = append(out, textBlock(t))
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
				case fields != nil && last >= 0 && out[last].Type == "text": // of the text before it
					out[last] = extended(out[last], fields)
				case wire.Typed(*p.Thought) && (!signed || isSigned(*p.Thought)):
					out = append(out, content{encoded: p.Thought.Sealed})
				}
			case p.Call != nil:
				out = append(out, extended(content{
					Type: "tool_use", ID: wire.IDOf(*p.Call, m.Name()), Name: wire.ToolName(p.Call.Name),
					Input: json.RawMessage(wire.Object(p.Call.Arguments)),
				}, wire.ExtraOf(*p.Call, m.Name())))
			default:
				text(p.Text)
			}
		}
		return out
	case model.Tool:
		result := content{Type: "tool_result", ToolUseID: wire.AnsweredID(from, i, m.Name()), IsError: msg.Failed}
		if strings.TrimSpace(msg.Text) != "" || len(msg.Attachments) == 0 {
			if strings.TrimSpace(msg.Text) == "" {
				msg.Text = wire.Empty
			}
			result.Content = append(result.Content, textBlock(msg.Text))
		}
		for _, i := range msg.Attachments {
			result.Content = append(result.Content, attached(i))
		}
		return append(out, result)
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
func extended(block content, fields json.RawMessage) content {
	raw, err := wire.Encode(block)
	if fields == nil || err != nil {
		return block
	}
	return content{encoded: wire.With(raw, fields)}
}

// carries says what can be attached.
func carries(a model.Attachment) bool { return a.Image() || a.PDF() }

func attached(a model.Attachment) content {
	_, data, _ := strings.Cut(wire.DataURL(a), ",")
	block := content{Type: "image", Source: &source{Data: data, MediaType: a.MIMEType, Type: "base64"}}
	if a.PDF() {
		block.Type, block.Title = "document", a.Name
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

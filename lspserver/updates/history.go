package updates

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"tandem/agent/model"
	"tandem/lspserver/protocol"
)

// History decodes a conversation of Chat Completions. It is one that every model takes: system
// messages come first, then the user's; every call has an id of its own and its result before the
// next message; the last message is the assistant's. The error names the first message that breaks
// this.
func History(messages []protocol.ChatMessage) ([]model.Message, error) {
	h := history{names: map[string]string{}}
	for i, m := range messages {
		if err := h.add(m); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	switch last := len(h.out) - 1; {
	case len(h.open) > 0:
		return nil, fmt.Errorf("messages: the call %q has no result", h.open[0])
	case last >= 0 && h.out[last].Role != model.Assistant:
		return nil, fmt.Errorf("messages: the last one must be the assistant's; what the user says next is the first prompt")
	}
	return h.out, nil
}

type history struct {
	out   []model.Message
	names map[string]string // of all calls, by id
	open  []string          // the ids of the calls without a result
}

func (h *history) add(c protocol.ChatMessage) error {
	m := model.Message{Role: model.Role(c.Role), CallID: c.ToolCallID}
	if err := content(&m, c.Content); err != nil {
		return err
	}
	begun := len(h.out) > 0 && h.out[len(h.out)-1].Role != model.System
	switch {
	case m.Role != model.Tool && len(h.open) > 0:
		return fmt.Errorf("the call %q has no result before it", h.open[0])
	case m.Role != model.Tool && m.CallID != "":
		return fmt.Errorf("tool_call_id is for the role tool")
	case m.Role != model.Assistant && len(c.ToolCalls) > 0:
		return fmt.Errorf("tool_calls are for the role assistant")
	case m.Role != model.User && m.Role != model.Tool && len(m.Attachments) > 0:
		return fmt.Errorf("images are for the roles user and tool")
	}
	switch m.Role {
	case model.System:
		if begun {
			return fmt.Errorf("system messages come first")
		}
	case model.User:
		if m.Text == "" && m.Attachments == nil {
			return fmt.Errorf("the user says nothing")
		}
	case model.Assistant:
		if !begun {
			return fmt.Errorf("the user's message comes before the assistant's")
		}
		if m.Text == "" && len(c.ToolCalls) == 0 {
			return fmt.Errorf("the assistant says and calls nothing")
		}
		for _, call := range c.ToolCalls {
			if _, twice := h.names[call.ID]; call.ID == "" || twice || call.Function.Name == "" {
				return fmt.Errorf("a call has a name and an id of its own, not %q and %q", call.Function.Name, call.ID)
			}
			h.names[call.ID] = call.Function.Name
			h.open = append(h.open, call.ID)
			m.Calls = append(m.Calls, model.Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
	case model.Tool:
		if len(h.open) == 0 || h.open[0] != m.CallID {
			return fmt.Errorf("tool_call_id is %q; results follow their calls, in the same order", m.CallID)
		}
		h.open, m.Name = h.open[1:], h.names[m.CallID]
	default:
		return fmt.Errorf("the role is %q, not system, user, assistant or tool", c.Role)
	}
	h.out = append(h.out, m)
	return nil
}

// content decodes text, a list of parts, or nothing.
func content(m *model.Message, from any) error {
	switch from := from.(type) {
	case nil:
		return nil
	case string:
		m.Text = from
		return nil
	}
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	var parts []protocol.ChatPart
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("content is a text or a list of parts")
	}
	var text []string
	for _, p := range parts {
		switch {
		case p.Type == "text":
			text = append(text, p.Text)
		case p.Type == "image_url" && p.ImageURL != nil:
			kind, data, ok := strings.Cut(strings.TrimPrefix(p.ImageURL.URL, "data:"), ";base64,")
			image := model.Attachment{MIMEType: kind}
			if image.Data, err = base64.StdEncoding.DecodeString(data); err != nil || !ok || !image.Image() {
				return fmt.Errorf("an image is a data URL in Base64, of PNG, JPEG, GIF or WebP")
			}
			m.Attachments = append(m.Attachments, image)
		default:
			return fmt.Errorf("a part is of type text or image_url, not %q", p.Type)
		}
	}
	m.Text = strings.Join(text, "\n")
	return nil
}

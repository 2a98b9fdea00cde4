package acp

import (
	"cmp"
	"strings"

	"tandem/lspserver/protocol"
)

// Those of the payloads that the protocol has in another form than tandem/session/*.
type (
	updateParams struct {
		SessionID string `json:"sessionId"`
		Update    any    `json:"update"`
	}
	// textBlock is a text that is there also where it is empty.
	textBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	toolContent struct {
		protocol.ToolContent
		Content any `json:"content,omitempty"`
	}
	notice struct {
		SessionUpdate string         `json:"sessionUpdate"`
		Severity      string         `json:"severity"`
		Title         string         `json:"title"`
		Description   string         `json:"description,omitempty"`
		Meta          *protocol.Meta `json:"_meta,omitempty"`
	}
	// option is a choice among values; Type is "select".
	option struct {
		ID           string   `json:"id"`
		Name         string   `json:"name"`
		Category     string   `json:"category"`
		Type         string   `json:"type"`
		CurrentValue string   `json:"currentValue"`
		Options      []choice `json:"options"`
	}
	choice struct {
		Value string `json:"value"`
		Name  string `json:"name"`
	}
	// question asks for permission. Its call is no update.
	question struct {
		protocol.PermissionParams
		ToolCall call `json:"toolCall"`
	}
	call struct {
		protocol.Update
		SessionUpdate string `json:"sessionUpdate,omitempty"`
	}
	// options are an update, or the answer to session/set_config_option.
	options struct {
		SessionUpdate string   `json:"sessionUpdate,omitempty"`
		ConfigOptions []option `json:"configOptions"`
	}
)

// payload is an update in the protocol's form; ok is false for one that it cannot say. notices says
// that the client takes notices.
func payload(u protocol.Update, notices bool) (out any, ok bool) {
	switch u.SessionUpdate {
	case "usage_update":
		return nil, false // it wants the size of the model's window, which is not known; the answer to the prompt has the usage
	case "notice":
		block, _ := u.Content.(protocol.ContentBlock) // the boundary of a turn is for programs that know Tandem
		title, rest, _ := strings.Cut(strings.TrimSpace(block.Text), "\n")
		if title == "" || !notices {
			return nil, false
		}
		return notice{u.SessionUpdate, "info", title, strings.TrimSpace(rest), u.Meta}, true
	case "tool_call":
		u.Title = cmp.Or(u.Title, "Tool")
	}
	u.Content = content(u.Content)
	return u, true
}

// content is that of an update, with a text in every block of text.
func content(c any) any {
	switch c := c.(type) {
	case protocol.ContentBlock:
		if c.Type == "text" {
			return textBlock{c.Type, c.Text}
		}
	case []protocol.ToolContent:
		out := make([]toolContent, len(c))
		for i, one := range c {
			if out[i].ToolContent = one; one.Content != nil {
				out[i].Content = content(*one.Content)
			}
		}
		return out
	}
	return c
}

// permission is a question for permission in the protocol's form.
func permission(p protocol.PermissionParams) question {
	p.ToolCall.Content = content(p.ToolCall.Content)
	return question{p, call{Update: p.ToolCall}}
}

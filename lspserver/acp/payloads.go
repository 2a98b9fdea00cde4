package acp

import (
	"cmp"
	"strings"

	"tandem/lspserver/protocol"
)

// The payloads that differ from those of tandem/session/*.
type (
	updateParams struct {
		SessionID string `json:"sessionId"`
		Update    any    `json:"update"`
	}
	// textBlock is a text block whose text is sent even if it is empty.
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
	// configOption is a choice among values; Type is "select".
	configOption struct {
		ID           string        `json:"id"`
		Name         string        `json:"name"`
		Category     string        `json:"category"`
		Type         string        `json:"type"`
		CurrentValue string        `json:"currentValue"`
		Options      []optionValue `json:"options"`
	}
	optionValue struct {
		Value string `json:"value"`
		Name  string `json:"name"`
	}
	// permissionParams asks for permission. Its call is no update.
	permissionParams struct {
		protocol.PermissionParams
		ToolCall permissionCall `json:"toolCall"`
	}
	permissionCall struct {
		protocol.Update
		SessionUpdate string `json:"sessionUpdate,omitempty"`
	}
	// configOptions are an update, or the answer to session/set_config_option.
	configOptions struct {
		SessionUpdate string         `json:"sessionUpdate,omitempty"`
		ConfigOptions []configOption `json:"configOptions"`
	}
)

// updatePayload converts an update to the protocol's form; ok is false if it has none. notices and
// compaction are set if the client supports these.
func updatePayload(u protocol.Update, notices, compaction bool) (out any, ok bool) {
	switch u.SessionUpdate {
	case "compaction_update":
		if !compaction {
			return nil, false
		}
	case "usage_update":
		if u.Size == 0 {
			return nil, false // the protocol requires it
		}
		u.Usage = nil // the answer to the prompt has it
	case "notice":
		block, _ := u.Content.(protocol.ContentBlock) // turn boundaries are for clients that know Tandem
		title, rest, _ := strings.Cut(strings.TrimSpace(block.Text), "\n")
		if title == "" || !notices {
			return nil, false
		}
		return notice{u.SessionUpdate, "info", title, strings.TrimSpace(rest), u.Meta}, true
	case "tool_call":
		u.Title = cmp.Or(u.Title, "Tool")
	}
	u.Content = contentPayload(u.Content)
	return u, true
}

// contentPayload converts the content of an update: every text block gets a text, even an empty
// one.
func contentPayload(c any) any {
	switch c := c.(type) {
	case protocol.ContentBlock:
		if c.Type == "text" {
			return textBlock{c.Type, c.Text}
		}
	case []protocol.ToolContent:
		out := make([]toolContent, len(c))
		for i, one := range c {
			if out[i].ToolContent = one; one.Content != nil {
				out[i].Content = contentPayload(*one.Content)
			}
		}
		return out
	}
	return c
}

// permissionPayload converts a permission request to the protocol's form.
func permissionPayload(p protocol.PermissionParams) permissionParams {
	p.ToolCall.Content = contentPayload(p.ToolCall.Content)
	return permissionParams{p, permissionCall{Update: p.ToolCall}}
}

package anthropic

import "encoding/json"

// request is the body of a request to the Messages API. A tag of an unset field is omitempty: the
// service refuses several fields that are null.
type request struct {
	MaxTokens int64           `json:"max_tokens"`
	Messages  []message       `json:"messages"`
	Model     string          `json:"model"`
	System    []content       `json:"system,omitempty"`
	Thinking  *thinkingConfig `json:"thinking,omitempty"`
	Tools     []tool          `json:"tools,omitempty"`
	Stream    bool            `json:"stream"`
}

type message struct {
	Content []content `json:"content"`
	Role    string    `json:"role"`
}

type thinkingConfig struct {
	Display string `json:"display"`
	Type    string `json:"type"`
}

type tool struct {
	InputSchema  json.RawMessage `json:"input_schema"`
	Name         string          `json:"name"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
	Description  string          `json:"description,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
}

// ephemeral lets the service cache what ends with the block or the tool that has it.
var ephemeral = &cacheControl{"ephemeral"}

// content is a block of any type; Type says which of the fields it has.
type content struct {
	encoded json.RawMessage // the whole block, in place of the fields; nil for none

	ID        string          `json:"id,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Name      string          `json:"name,omitempty"`
	Text      string          `json:"text,omitempty"`
	Source    *source         `json:"source,omitempty"`
	Title     string          `json:"title,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`

	CacheControl *cacheControl `json:"cache_control,omitempty"`
	Content      []content     `json:"content,omitempty"`
	Type         string        `json:"type"`
}

type source struct {
	Data      string `json:"data"`
	MediaType string `json:"media_type"`
	Type      string `json:"type"`
}

// MarshalJSON implements json.Marshaler.
func (c content) MarshalJSON() ([]byte, error) {
	if c.encoded != nil {
		return c.encoded, nil
	}
	type fields content
	return json.Marshal(fields(c))
}

func textBlock(text string) content { return content{Type: "text", Text: text} }

package anthropic

import (
	"encoding/json"

	"tandem/agent/model/wire"
)

// event is one event of the stream, as much of it as is used here.
type event struct {
	Kind  string          `wire:"type"`
	Index wire.Int        `wire:"index"`
	Block json.RawMessage `wire:"content_block"`
	Delta json.RawMessage `wire:"delta"`
	Usage json.RawMessage `wire:"usage"`
	Begun json.RawMessage `wire:"message.usage"` // with which a message begins
	// Content and Stop are those of a whole message.
	Content json.RawMessage `wire:"content"`
	Stop    string          `wire:"stop_reason,name"`
}

// usage counts tokens; a field that is missing has not changed.
type usage struct {
	Input  wire.Int `wire:"input_tokens"`
	Write  wire.Int `wire:"cache_creation_input_tokens"`
	Cached wire.Int `wire:"cache_read_input_tokens"`
	Output wire.Int `wire:"output_tokens"`
}

// delta is a piece of a block, or what the message ends with.
type delta struct {
	Kind        string    `wire:"type"`
	Text        wire.Text `wire:"text"`
	Input       string    `wire:"partial_json,args"`
	Thinking    wire.Text `wire:"thinking"`
	Signature   string    `wire:"signature,name"`
	Stop        string    `wire:"stop_reason,name"`
	Explanation string    `wire:"stop_details.explanation"`
}

// start is what a block begins with.
type start struct {
	Kind      string    `wire:"type"`
	ID        string    `wire:"id,name"`
	Name      string    `wire:"name,name"`
	Text      wire.Text `wire:"text"`
	Thinking  wire.Text `wire:"thinking"`
	Signature string    `wire:"signature,name"`
	Input     string    `wire:"input,args"`
}

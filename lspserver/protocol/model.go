package protocol

// ModelStreamParams of tandem/model/stream.
type ModelStreamParams struct {
	StreamID string       `json:"streamId" doc:"What the chunks of the answer name."`
	Messages any          `json:"messages" as:"[]ChatMessage" doc:"The whole conversation, the system prompt first."`
	Tools    any          `json:"tools" as:"[]ChatTool" doc:"What the model may call."`
	Options  ModelOptions `json:"options"`
}

// ModelOptions say how a model is to answer.
type ModelOptions struct {
	Model string `json:"model,omitempty" doc:"The id that follows editor/ in the model's name; absent leaves the choice to the client."`
}

// ChatMessage is a message as Chat Completions has it.
type ChatMessage struct {
	Role       string     `json:"role" enum:"system,user,assistant,tool"`
	Content    any        `json:"content,omitzero" doc:"Text, or a list of ChatPart."`
	ToolCalls  []ChatCall `json:"tool_calls,omitempty" doc:"Of an assistant."`
	ToolCallID string     `json:"tool_call_id,omitempty" doc:"Of a tool's message: the call that it answers."`
}

// ChatPart is a part of a message that is not text alone.
type ChatPart struct {
	Type     string     `json:"type" enum:"text,image_url"`
	Text     string     `json:"text,omitempty"`
	ImageURL *ChatImage `json:"image_url,omitempty"`
}

// ChatImage is a picture.
type ChatImage struct {
	URL string `json:"url" doc:"A data URL in Base64."`
}

// ChatCall is a call that a model has asked for.
type ChatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type" enum:"function"`
	Function ChatFunction `json:"function"`
}

// ChatFunction names the function that is called.
type ChatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments" doc:"An object, as JSON."`
}

// ChatTool is a tool that a model may call.
type ChatTool struct {
	Type     string       `json:"type" enum:"function"`
	Function ChatToolSpec `json:"function"`
}

// ChatToolSpec describes a tool.
type ChatToolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Parameters  any    `json:"parameters" doc:"A JSON Schema."`
}

// ModelChunk of tandem/model/chunk; one of text, thought and toolCall is set.
type ModelChunk struct {
	StreamID string          `json:"streamId"`
	Text     string          `json:"text,omitempty"`
	Thought  string          `json:"thought,omitempty"`
	ToolCall *ModelChunkCall `json:"toolCall,omitempty"`
}

// ModelChunkCall is a piece of a call; pieces of one index belong together.
type ModelChunkCall struct {
	Index          int    `json:"index"`
	ID             string `json:"id,omitempty" doc:"With the first piece."`
	Name           string `json:"name,omitempty" doc:"With the first piece."`
	ArgumentsDelta string `json:"argumentsDelta,omitempty" doc:"The next piece of the arguments, which are an object as JSON."`
}

// ModelStreamResult of tandem/model/stream, after the last chunk.
type ModelStreamResult struct {
	StopReason string `json:"stopReason" doc:"end_turn, also where the model waits for its calls; max_tokens or refusal. Others are failures."`
	Usage      *Usage `json:"usage,omitempty"`
}

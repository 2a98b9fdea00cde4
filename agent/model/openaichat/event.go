package openaichat

import (
	"cmp"
	"encoding/json"
	"strings"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// event is one event of the stream, as much of it as is used here. The error, the kinds of
// reasoning and the cost are what services add to OpenAI's own form.
type event struct {
	Choices json.RawMessage `wire:"choices"`
	Usage   json.RawMessage `wire:"usage"`
	Groq    json.RawMessage `wire:"x_groq.usage"`
	Failure json.RawMessage `wire:"error"`
}

// chosen says that the event has a part of an answer.
func (e event) chosen() bool {
	c := wire.ElementsOf(e.Choices)
	return c.Next()
}

func eventOf(data []byte) (event, bool) {
	e, ok := wire.ReadText[event](data)
	return e, ok && wire.Listed(e.Choices)
}

// choice is one of the answers that a request may have.
type choice struct {
	Index   wire.Int        `wire:"index"`
	Delta   json.RawMessage `wire:"delta"`
	Message json.RawMessage `wire:"message"`
	Usage   json.RawMessage `wire:"usage"` // Moonshot's place for it
	Finish  string          `wire:"finish_reason,name"`
}

// usage counts tokens, with the names that several services have for one count.
type usage struct {
	Prompt     wire.Int `wire:"prompt_tokens"`
	Completion wire.Int `wire:"completion_tokens"`
	Input      wire.Int `wire:"input_tokens"`
	Output     wire.Int `wire:"output_tokens"`
	Within     wire.Int `wire:"prompt_tokens_details.cached_tokens"`
	Hit        wire.Int `wire:"prompt_cache_hit_tokens"`
	Cached     wire.Int `wire:"cached_tokens"`
	Cost       float64  `wire:"cost"`
}

func usageOf(raw json.RawMessage) model.Usage {
	u := wire.Read[usage](raw)
	return model.Usage{
		Input: cmp.Or(u.Prompt.N, u.Input.N), Output: cmp.Or(u.Completion.N, u.Output.N), CachedInput: cmp.Or(u.Within.N, u.Hit.N, u.Cached.N),
		CostUSD: u.Cost,
	}
}

// piece is a part of the answer, or all of it.
type piece struct {
	Content          wire.Text       `wire:"content"`
	Refusal          wire.Text       `wire:"refusal"`
	Reasoning        wire.Text       `wire:"reasoning"`
	ReasoningContent wire.Text       `wire:"reasoning_content"`
	ReasoningText    wire.Text       `wire:"reasoning_text"`
	ReasoningDetails wire.Text       `wire:"reasoning_details"`
	ToolCalls        json.RawMessage `wire:"tool_calls"`
	FunctionCall     json.RawMessage `wire:"function_call"` // the one call of the protocol before it had tools
}

// called is what a call has in its function, or with several services beside it.
type called struct {
	Name      string `wire:"name,name"`
	Arguments string `wire:"arguments,args"`
}

// toolCall is a part of a call, or all of it.
type toolCall struct {
	Index    wire.Int        `wire:"index"`
	ID       string          `wire:"id,name"`
	Function json.RawMessage `wire:"function"`
	called
}

func toolCallOf(raw json.RawMessage) toolCall {
	tc, beside := wire.Read[toolCall](raw), wire.Read[called](raw)
	tc.called = wire.Read[called](tc.Function)
	tc.Name, tc.Arguments = strings.TrimSpace(cmp.Or(tc.Name, beside.Name)), cmp.Or(tc.Arguments, beside.Arguments)
	return tc
}

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
type event struct{ choices, usage, groq, failure json.RawMessage }

// chosen says that the event has a part of an answer.
func (e event) chosen() bool {
	c := wire.ElementsOf(e.choices)
	return c.Next()
}

func eventOf(data []byte) (e event, ok bool) {
	f, ok := wire.Parse(data)
	for ok && f.Next() {
		switch string(f.Key) {
		case "choices":
			e.choices = f.Value
		case "usage":
			e.usage = f.Value
		case "x_groq":
			for g := wire.FieldsOf(f.Value); g.Next(); {
				if string(g.Key) == "usage" {
					e.groq = g.Value
				}
			}
		case "error":
			e.failure = f.Value
		}
	}
	return e, ok && wire.Listed(e.choices)
}

// choice is one of the answers that a request may have.
type choice struct {
	index                 wire.Int
	delta, message, usage json.RawMessage
	finish                string
}

func choiceOf(raw json.RawMessage) (c choice) {
	for f := wire.FieldsOf(raw); f.Next(); {
		switch string(f.Key) {
		case "index":
			c.index = wire.IntOf(f.Value)
		case "delta":
			c.delta = f.Value
		case "message":
			c.message = f.Value
		case "usage": // Moonshot's place for it
			c.usage = f.Value
		case "finish_reason":
			c.finish = wire.NameOf(f.Value)
		}
	}
	return c
}

// usageOf counts tokens, with the names that several services have for one count.
func usageOf(raw json.RawMessage) model.Usage {
	var prompt, completion, input, output, within, hit, cached int64
	cost := 0.0
	for f := wire.FieldsOf(raw); f.Next(); {
		n := wire.IntOf(f.Value).N
		switch string(f.Key) {
		case "prompt_tokens":
			prompt = n
		case "completion_tokens":
			completion = n
		case "input_tokens":
			input = n
		case "output_tokens":
			output = n
		case "prompt_tokens_details":
			for d := wire.FieldsOf(f.Value); d.Next(); {
				if string(d.Key) == "cached_tokens" {
					within = wire.IntOf(d.Value).N
				}
			}
		case "prompt_cache_hit_tokens":
			hit = n
		case "cached_tokens":
			cached = n
		case "cost":
			cost = wire.FloatOf(f.Value)
		}
	}
	return model.Usage{
		Input: cmp.Or(prompt, input), Output: cmp.Or(completion, output), CachedInput: cmp.Or(within, hit, cached), CostUSD: cost,
	}
}

// piece is a part of the answer, or all of it.
type piece struct {
	content, refusal                                             wire.Text
	reasoning, reasoningContent, reasoningText, reasoningDetails wire.Text
	toolCalls                                                    json.RawMessage
	functionCall                                                 json.RawMessage // the one call of the protocol before it had tools
}

func pieceOf(raw json.RawMessage) (p piece) {
	for f := wire.FieldsOf(raw); f.Next(); {
		switch string(f.Key) {
		case "content":
			p.content = wire.TextOf(f.Value)
		case "refusal":
			p.refusal = wire.TextOf(f.Value)
		case "reasoning":
			p.reasoning = wire.TextOf(f.Value)
		case "reasoning_content":
			p.reasoningContent = wire.TextOf(f.Value)
		case "reasoning_text":
			p.reasoningText = wire.TextOf(f.Value)
		case "reasoning_details":
			p.reasoningDetails = wire.TextOf(f.Value)
		case "tool_calls":
			p.toolCalls = f.Value
		case "function_call":
			p.functionCall = f.Value
		}
	}
	return p
}

// toolCall is a part of a call, or all of it.
type toolCall struct {
	index               wire.Int
	id, name, arguments string
	function            json.RawMessage
}

func toolCallOf(raw json.RawMessage) (tc toolCall) {
	var name, arguments string // where several services put them
	for f := wire.FieldsOf(raw); f.Next(); {
		switch string(f.Key) {
		case "index":
			tc.index = wire.IntOf(f.Value)
		case "id":
			tc.id = wire.NameOf(f.Value)
		case "function":
			tc.function = f.Value
		case "name":
			name = wire.NameOf(f.Value)
		case "arguments":
			arguments = wire.ArgsOf(f.Value)
		}
	}
	for f := wire.FieldsOf(tc.function); f.Next(); {
		switch string(f.Key) {
		case "name":
			tc.name = wire.NameOf(f.Value)
		case "arguments":
			tc.arguments = wire.ArgsOf(f.Value)
		}
	}
	tc.name, tc.arguments = strings.TrimSpace(cmp.Or(tc.name, name)), cmp.Or(tc.arguments, arguments)
	return tc
}

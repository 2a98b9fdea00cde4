package modeltest

const (
	msgStart = `{"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}`
	msgStop  = `{"type":"message_stop"}`
	msgCall  = `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}`
	msgEnd   = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`
)

// MessagesQuirks are those of services that speak Messages.
var MessagesQuirks = []Quirk{
	{
		"W7", "a thought without a signature", "NousResearch/hermes-agent#17510", []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"look","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`, `{"type":"content_block_stop","index":1}`, msgCall, msgStop,
		}, `{Hm.} look({"a":1}) | tool_calls 5 2`, []string{`{"signature":"","thinking":"Hm.","type":"thinking"}`},
	},
	{
		"W7", "a thought that has no signature at all", "QuantumNous/new-api#4763", []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"."}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"Hi"}}`, `{"type":"content_block_stop","index":1}`, msgEnd, msgStop,
		}, `{Hm.} Hi | end_turn 5 2`, []string{`{"thinking":"Hm.","type":"thinking"}`},
	},
	{
		"W7", "a signature that is the id of the message", "NousResearch/hermes-agent#21048", []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":"91cfbb94-554b-4136-8e21-fa02280d56ed"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"Hi"}}`, `{"type":"content_block_stop","index":1}`, msgEnd, msgStop,
		}, `{Hm.} Hi | end_turn 5 2`, []string{`"signature":"91cfbb94-554b-4136-8e21-fa02280d56ed","thinking":"Hm."`},
	},
	{
		"W7", "a signature without a thought", "BerriAI/litellm#38809", []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"Hi"}}`, `{"type":"content_block_stop","index":1}`, msgEnd, msgStop,
		}, `Hi | end_turn 5 2`, []string{`{"signature":"EqQB","thinking":"","type":"thinking"}`},
	},
	{
		"W7", "a signature of a call", "lbjlaq/Antigravity-Manager#3202", []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"look","input":{},"thought_signature":"c2ln"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`, `{"type":"content_block_stop","index":0}`, msgCall, msgStop,
		}, `look({"a":1}) | tool_calls 5 2`, []string{`"thought_signature":"c2ln"`},
	},
	{
		"W7", "the id of a call has the form that the model knows", "openclaw/openclaw#70693", []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"functions.look:0","name":"look","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`, `{"type":"content_block_stop","index":0}`, msgCall, msgStop,
		}, `look({"a":1}) | tool_calls 5 2`, []string{`"id":"functions.look:0"`, `"tool_use_id":"functions.look:0"`},
	},
	{
		"W8", "the whole input where the call begins", "Yeachan-Heo/gajae-code#1895", []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"look","input":{"a":1}}}`, `{"type":"content_block_stop","index":0}`, msgCall, msgStop,
		}, `look({"a":1}) | tool_calls 5 2`, nil,
	},
	{
		"W8", "the whole input where the call begins, and in pieces", "yannikzz/narracat-novel-agent#16", []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"look","input":{"a":1}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1}"}}`, `{"type":"content_block_stop","index":0}`, msgCall, msgStop,
		}, `look({"a":1}) | tool_calls 5 2`, nil,
	},
	{
		"W8", "no input where the call begins", "farion1231/cc-switch#2557", []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"look"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`, `{"type":"content_block_stop","index":0}`, msgCall, msgStop,
		}, `look({"a":1}) | tool_calls 5 2`, nil,
	},
	{
		"W8", "null for the usage", "NousResearch/hermes-agent#60683", []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":null}`, msgStop,
		}, `Hi | end_turn 5 1`, nil,
	},
}

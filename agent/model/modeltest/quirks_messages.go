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
		Line: "W7", Name: "a thought without a signature", Source: "NousResearch/hermes-agent#17510", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"look","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`, `{"type":"content_block_stop","index":1}`, msgCall, msgStop,
		}, Want: `{Hm.} look({"a":1}) | tool_calls 5 2`, Back: []string{`{"signature":"","thinking":"Hm.","type":"thinking"}`},
	},
	{
		Line: "W7", Name: "a thought that has no signature at all", Source: "QuantumNous/new-api#4763", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"."}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":1}`, msgEnd, msgStop,
		}, Want: `{Hm.} Hi | end_turn 5 2`, Back: []string{`{"thinking":"Hm.","type":"thinking"}`},
	},
	{
		Line: "W7", Name: "a signature that is the id of the message", Source: "NousResearch/hermes-agent#21048", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":"91cfbb94-554b-4136-8e21-fa02280d56ed"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":1}`, msgEnd, msgStop,
		}, Want: `{Hm.} Hi | end_turn 5 2`, Back: []string{`"signature":"91cfbb94-554b-4136-8e21-fa02280d56ed","thinking":"Hm."`},
	},
	{
		Line: "W7", Name: "a signature without a thought", Source: "BerriAI/litellm#38809", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":1}`, msgEnd, msgStop,
		}, Want: `Hi | end_turn 5 2`, Back: []string{`{"signature":"EqQB","thinking":"","type":"thinking"}`},
	},
	{
		Line: "W7", Name: "a signature of a call", Source: "lbjlaq/Antigravity-Manager#3202", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"look","input":{},"thought_signature":"c2ln"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`, `{"type":"content_block_stop","index":0}`, msgCall, msgStop,
		}, Want: `look({"a":1}) | tool_calls 5 2`, Back: []string{`"thought_signature":"c2ln"`},
	},
	{
		Line: "W7", Name: "the id of a call that begins a block has the form that the model knows", Source: "openclaw/openclaw#70693", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"functions.look:0","name":"look","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`, `{"type":"content_block_stop","index":0}`, msgCall, msgStop,
		}, Want: `look({"a":1}) | tool_calls 5 2`, Back: []string{`"id":"functions.look:0"`, `"tool_use_id":"functions.look:0"`},
	},
	{
		Line: "W8", Name: "the whole input where the call begins", Source: "Yeachan-Heo/gajae-code#1895", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"look","input":{"a":1}}}`, `{"type":"content_block_stop","index":0}`, msgCall, msgStop,
		}, Want: `look({"a":1}) | tool_calls 5 2`,
	},
	{
		Line: "W8", Name: "the whole input where the call begins, and in pieces", Source: "yannikzz/narracat-novel-agent#16", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"look","input":{"a":1}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1}"}}`, `{"type":"content_block_stop","index":0}`, msgCall, msgStop,
		}, Want: `look({"a":1}) | tool_calls 5 2`,
	},
	{
		Line: "W8", Name: "no input where the call begins", Source: "farion1231/cc-switch#2557", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"look"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`, `{"type":"content_block_stop","index":0}`, msgCall, msgStop,
		}, Want: `look({"a":1}) | tool_calls 5 2`,
	},
	{
		Line: "W8", Name: "null for the usage", Source: "NousResearch/hermes-agent#60683", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":null}`, msgStop,
		}, Want: `Hi | end_turn 5 1`,
	},
	{
		Line: "W7", Name: "the first text of a thought is in the start of its block", Source: "can1357/oh-my-pi#8319", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Let ","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"me."}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":1}`, msgEnd, msgStop,
		}, Want: `{Let me.} Hi | end_turn 5 2`, Back: []string{`{"signature":"EqQB","thinking":"Let me.","type":"thinking"}`},
	},
	{
		Line: "W7", Name: "no signature where a thought begins, and one at its end", Source: "anthropics/anthropic-sdk-csharp#181", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":1}`, msgEnd, msgStop,
		}, Want: `{Hm.} Hi | end_turn 5 2`, Back: []string{`{"signature":"EqQB","thinking":"Hm.","type":"thinking"}`},
	},
	{
		Line: "W7", Name: "a thought ends after the call that follows it has begun", Source: "ihsan-ramadhan/bansos-router#3", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm.","signature":"s"}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"look","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`, `{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_stop","index":0}`, msgCall, msgStop,
		}, Want: `{Hm.} look({"a":1}) | tool_calls 5 2`, Back: []string{`"content":[{"signature":"s","thinking":"Hm.","type":"thinking"},{"id":"t"`},
	},
	{
		Line: "W8", Name: "the text begins where it is announced", Source: "earendil-works/pi#7283", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hel"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}`, `{"type":"content_block_stop","index":0}`, msgEnd, msgStop,
		}, Want: `Hello | end_turn 5 2`,
	},
	{
		Line: "W8", Name: "a call, and the reason to end of a text", Source: "BerriAI/litellm#34692", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"look","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`, `{"type":"content_block_stop","index":1}`, msgEnd, msgStop,
		}, Want: `look({"a":1}) | tool_calls 5 2`,
	},
	{
		Line: "W7", Name: "a block ends twice", Source: "BerriAI/litellm#37273", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm.","signature":"s"}}`,
			`{"type":"content_block_stop","index":0}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"look","input":{"a":1}}}`,
			`{"type":"content_block_stop","index":1}`, `{"type":"content_block_stop","index":1}`, msgCall, msgStop,
		}, Want: `{Hm.} look({"a":1}) | tool_calls 5 2`, Back: []string{`"content":[{"signature":"s","thinking":"Hm.","type":"thinking"},{"id":"t"`},
	},
	{
		Line: "W8", Name: "nothing after the reason to end", Source: "esengine/DeepSeek-Reasonix#8756", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":0}`, msgEnd,
		}, Want: `Hi | end_turn 5 2`,
	},
	{
		Line: "W7", Name: "a thought with the index of the text before it, which never ended", Source: "ollama/ollama#17225", Events: []string{
			msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"---"}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":1}`, msgEnd, msgStop,
		}, Want: `{Hm.} ---Hi | end_turn 5 2`, Back: []string{`{"text":"---","type":"text"},{"thinking":"Hm.","type":"thinking"},{`},
	},
}

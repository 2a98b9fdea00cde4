package modeltest

const (
	respEmpty = `{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":5,"output_tokens":2}}}`
)

// ResponsesQuirks are those of services that speak Responses.
var ResponsesQuirks = []Quirk{
	{
		Line: "W7", Name: "the phase of a message", Source: "openai/openai-agents-js#1513", Events: []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m1","phase":"commentary","content":[]}}`,
			`{"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":"Let me look."}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m1","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"Let me look."}]}}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":"{}","status":"completed"}}`, respEmpty,
		}, Want: `Let me look. look({}) | tool_calls 5 2`, Back: []string{`"phase":"commentary"`},
	},
	{
		Line: "W7", Name: "two messages of different phases", Source: "langchain4j/langchain4j#6403", Events: []string{
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m1","phase":"commentary","content":[{"type":"output_text","text":"One. "}]}}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"m2","phase":"final_answer","content":[{"type":"output_text","text":"Two."}]}}`,
			`{"type":"response.completed","response":{"output":[{"type":"message","id":"m1","phase":"commentary","content":[{"type":"output_text","text":"One. "}]},{"type":"message","id":"m2","phase":"final_answer","content":[{"type":"output_text","text":"Two."}]}]}}`,
		}, Want: `One. Two. | end_turn`, Back: []string{
			`{"content":"One. ","phase":"commentary","role":"assistant"},{"content":"Two.","phase":"final_answer","role":"assistant"}`,
		},
	},
	{
		Line: "W8", Name: "another id of the item with each event, of a thought", Source: "vercel/ai#18548", Events: []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r0","summary":[]}}`,
			`{"type":"response.reasoning_summary_text.delta","item_id":"r1","output_index":0,"summary_index":0,"delta":"H"}`,
			`{"type":"response.reasoning_summary_text.delta","item_id":"r2","output_index":0,"summary_index":0,"delta":"m."}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"r3","summary":[{"type":"summary_text","text":"Hm."}]}}`,
			`{"type":"response.completed","response":{"output":[{"type":"reasoning","id":"r4","summary":[{"type":"summary_text","text":"Hm."}]},{"type":"message","id":"m","content":[{"type":"output_text","text":"Hi"}]}]}}`,
		}, Want: `{Hm.} Hi | end_turn`,
	},
	{
		Line: "W8", Name: "another id of the item with each event, of a message", Source: "BerriAI/litellm#30072", Events: []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"a","content":[]}}`,
			`{"type":"response.output_text.delta","item_id":"b","output_index":0,"content_index":0,"delta":"He"}`,
			`{"type":"response.output_text.delta","item_id":"c","output_index":0,"content_index":0,"delta":"llo"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"d","content":[{"type":"output_text","text":"Hello"}]}}`,
			`{"type":"response.completed","response":{"output":[{"type":"message","id":"e","content":[{"type":"output_text","text":"Hello"}]}]}}`,
		}, Want: `Hello | end_turn`,
	},
	{
		Line: "W8", Name: "encrypted pieces, and then the plain arguments", Source: "lidge-jun/opencodex#989", Events: []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f0","call_id":"c","name":"look","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"f1","output_index":0,"delta":"q83vEjRWeJA","obfuscation":"x"}`,
			`{"type":"response.function_call_arguments.delta","item_id":"f2","output_index":0,"delta":"q83vAAAAAAA","obfuscation":"x"}`,
			`{"type":"response.function_call_arguments.done","item_id":"f3","output_index":0,"arguments":"{\"a\":1}"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f4","call_id":"c","name":"look","arguments":"{\"a\":1}","status":"completed"}}`, respEmpty,
		}, Want: `look({"a":1}) | tool_calls 5 2`,
	},
	{
		Line: "W8", Name: "one index for all items", Source: "BerriAI/litellm#36375", Events: []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f1","call_id":"c1","name":"look","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"f1","output_index":0,"delta":"{\"a\":1}"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f1","call_id":"c1","name":"look","arguments":"{\"a\":1}"}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f2","call_id":"c2","name":"look","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"f2","output_index":0,"delta":"{\"a\":2}"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f2","call_id":"c2","name":"look","arguments":"{\"a\":2}"}}`,
			`{"type":"response.completed","response":{"output":[{"type":"function_call","id":"f1","call_id":"c1","name":"look","arguments":"{\"a\":1}"},{"type":"function_call","id":"f2","call_id":"c2","name":"look","arguments":"{\"a\":2}"}]}}`,
		}, Want: `look({"a":1}) look({"a":2}) | tool_calls`,
	},
	{
		Line: "W8", Name: "one index for a message and a call", Source: "teabranch/open-responses-server#63", Events: []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","content":[]}}`,
			`{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"Hi"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":[{"type":"output_text","text":"Hi"}]}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,"delta":"{\"a\":1}"}`,
			`{"type":"response.function_call_arguments.done","item_id":"f","output_index":0,"arguments":"{\"a\":1}"}`,
			`{"type":"response.completed","response":{"output":[{"type":"message","id":"m","content":[{"type":"output_text","text":"Hi"}]},{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":"{\"a\":1}"}]}}`,
		}, Want: `Hi look({"a":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "text of an item that was not announced", Source: "BerriAI/litellm#36375", Events: []string{
			`{"type":"response.output_text.delta","item_id":"m","content_index":0,"delta":"He"}`, `{"type":"response.output_text.delta","item_id":"m","content_index":0,"delta":"llo"}`,
			`{"type":"response.completed","response":{"output":[{"type":"message","id":"other","content":[{"type":"output_text","text":"Hello"}]}]}}`,
		}, Want: `Hello | end_turn`,
	},
	{
		Line: "W8", Name: "the end of the arguments at the end alone", Source: "vllm-project/vllm#44348", Events: []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,"delta":"{\"a\""}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":"{\"a\":1}"}}`, respEmpty,
		}, Want: `look({"a":1}) | tool_calls 5 2`,
	},
	{
		Line: "W8", Name: "the arguments where the call is announced, and again", Source: "icoretech/codex-pooler#193", Events: []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":"{\"a\":1}"}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":"{\"a\": 1}"}}`, respEmpty,
		}, Want: `look({"a":1}) | tool_calls 5 2`,
	},
	{
		Line: "W8", Name: "thoughts as reasoning_text", Source: "can1357/oh-my-pi#750", Events: []string{
			`{"type":"response.reasoning_text.delta","item_id":"r","output_index":0,"content_index":0,"delta":"Hm."}`,
			`{"type":"response.output_text.delta","item_id":"m","output_index":1,"content_index":0,"delta":"Hi"}`, respEmpty,
		}, Want: `{Hm.} Hi | end_turn 5 2`,
	},
	{
		Line: "W8", Name: "null for lists of an item", Source: "vllm-project/vllm#24788", Events: []string{
			`{"item":{"id":"r","summary":null,"type":"reasoning","content":null,"encrypted_content":null,"status":"in_progress"},"output_index":0,"sequence_number":2,"type":"response.output_item.added"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"id":"r","summary":null,"type":"reasoning","content":null,"encrypted_content":null}}`,
			`{"type":"response.output_text.delta","item_id":"m","output_index":1,"content_index":0,"delta":"Hi"}`, respEmpty,
		}, Want: `Hi | end_turn 5 2`,
	},
	{
		Line: "W8", Name: "a call that is announced and never completed", Source: "open-webui/open-webui#29630", Events: []string{
			`{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"Hi"}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"f","call_id":"c","name":"list","arguments":""}}`, respEmpty,
		}, Want: `Hi cut list() | tool_calls 5 2`,
	},
	{
		Line: "W8", Name: "another word for the end", Source: "decolua/9router#2142", Events: []string{
			`{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"Hi"}`,
			`{"type":"response.done","response":{"status":"completed","usage":{"input_tokens":5,"output_tokens":2}}}`,
		}, Want: `Hi | end_turn 5 2`,
	},
}

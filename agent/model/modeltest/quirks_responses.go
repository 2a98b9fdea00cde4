package modeltest

const (
	respEmpty = `{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":5,"output_tokens":2}}}`
)

// ResponsesQuirks are those of services that speak Responses.
var ResponsesQuirks = []Quirk{
	{
		"W7", "the phase of a message", "openai/openai-agents-js#1513", []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m1","phase":"commentary","content":[]}}`,
			`{"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":"Let me look."}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m1","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"Let me look."}]}}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":"{}","status":"completed"}}`, respEmpty,
		}, `Let me look. look({}) | tool_calls 5 2`, []string{`"phase":"commentary"`},
	},
	{
		"W7", "two messages of different phases", "langchain4j/langchain4j#6403", []string{
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m1","phase":"commentary","content":[{"type":"output_text","text":"One. "}]}}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"m2","phase":"final_answer","content":[{"type":"output_text","text":"Two."}]}}`,
			`{"type":"response.completed","response":{"output":[{"type":"message","id":"m1","phase":"commentary","content":[{"type":"output_text","text":"One. "}]},{"type":"message","id":"m2","phase":"final_answer","content":[{"type":"output_text","text":"Two."}]}]}}`,
		}, `One. Two. | end_turn`, []string{
			`{"content":"One. ","phase":"commentary","role":"assistant"},{"content":"Two.","phase":"final_answer","role":"assistant"}`,
		},
	},
	{
		"W8", "another id of the item with each event, of a thought", "vercel/ai#18548", []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r0","summary":[]}}`,
			`{"type":"response.reasoning_summary_text.delta","item_id":"r1","output_index":0,"summary_index":0,"delta":"H"}`,
			`{"type":"response.reasoning_summary_text.delta","item_id":"r2","output_index":0,"summary_index":0,"delta":"m."}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"r3","summary":[{"type":"summary_text","text":"Hm."}]}}`,
			`{"type":"response.completed","response":{"output":[{"type":"reasoning","id":"r4","summary":[{"type":"summary_text","text":"Hm."}]},{"type":"message","id":"m","content":[{"type":"output_text","text":"Hi"}]}]}}`,
		}, `{Hm.} Hi | end_turn`, nil,
	},
	{
		"W8", "another id of the item with each event, of a message", "BerriAI/litellm#30072", []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"a","content":[]}}`,
			`{"type":"response.output_text.delta","item_id":"b","output_index":0,"content_index":0,"delta":"He"}`,
			`{"type":"response.output_text.delta","item_id":"c","output_index":0,"content_index":0,"delta":"llo"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"d","content":[{"type":"output_text","text":"Hello"}]}}`,
			`{"type":"response.completed","response":{"output":[{"type":"message","id":"e","content":[{"type":"output_text","text":"Hello"}]}]}}`,
		}, `Hello | end_turn`, nil,
	},
	{
		"W8", "encrypted pieces, and then the plain arguments", "lidge-jun/opencodex#989", []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f0","call_id":"c","name":"look","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"f1","output_index":0,"delta":"q83vEjRWeJA","obfuscation":"x"}`,
			`{"type":"response.function_call_arguments.delta","item_id":"f2","output_index":0,"delta":"q83vAAAAAAA","obfuscation":"x"}`,
			`{"type":"response.function_call_arguments.done","item_id":"f3","output_index":0,"arguments":"{\"a\":1}"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f4","call_id":"c","name":"look","arguments":"{\"a\":1}","status":"completed"}}`, respEmpty,
		}, `look({"a":1}) | tool_calls 5 2`, nil,
	},
	{
		"W8", "one index for all items", "BerriAI/litellm#36375", []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f1","call_id":"c1","name":"look","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"f1","output_index":0,"delta":"{\"a\":1}"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f1","call_id":"c1","name":"look","arguments":"{\"a\":1}"}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f2","call_id":"c2","name":"look","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"f2","output_index":0,"delta":"{\"a\":2}"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f2","call_id":"c2","name":"look","arguments":"{\"a\":2}"}}`,
			`{"type":"response.completed","response":{"output":[{"type":"function_call","id":"f1","call_id":"c1","name":"look","arguments":"{\"a\":1}"},{"type":"function_call","id":"f2","call_id":"c2","name":"look","arguments":"{\"a\":2}"}]}}`,
		}, `look({"a":1}) look({"a":2}) | tool_calls`, nil,
	},
	{
		"W8", "one index for a message and a call", "teabranch/open-responses-server#63", []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","content":[]}}`,
			`{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"Hi"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":[{"type":"output_text","text":"Hi"}]}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,"delta":"{\"a\":1}"}`,
			`{"type":"response.function_call_arguments.done","item_id":"f","output_index":0,"arguments":"{\"a\":1}"}`,
			`{"type":"response.completed","response":{"output":[{"type":"message","id":"m","content":[{"type":"output_text","text":"Hi"}]},{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":"{\"a\":1}"}]}}`,
		}, `Hi look({"a":1}) | tool_calls`, nil,
	},
	{
		"W8", "text of an item that was not announced", "BerriAI/litellm#36375", []string{
			`{"type":"response.output_text.delta","item_id":"m","content_index":0,"delta":"He"}`, `{"type":"response.output_text.delta","item_id":"m","content_index":0,"delta":"llo"}`,
			`{"type":"response.completed","response":{"output":[{"type":"message","id":"other","content":[{"type":"output_text","text":"Hello"}]}]}}`,
		}, `Hello | end_turn`, nil,
	},
	{
		"W8", "the end of the arguments at the end alone", "vllm-project/vllm#44348", []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,"delta":"{\"a\""}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":"{\"a\":1}"}}`, respEmpty,
		}, `look({"a":1}) | tool_calls 5 2`, nil,
	},
	{
		"W8", "the arguments where the call is announced, and again", "icoretech/codex-pooler#193", []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":"{\"a\":1}"}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":"{\"a\": 1}"}}`, respEmpty,
		}, `look({"a":1}) | tool_calls 5 2`, nil,
	},
	{
		"W8", "thoughts as reasoning_text", "can1357/oh-my-pi#750", []string{
			`{"type":"response.reasoning_text.delta","item_id":"r","output_index":0,"content_index":0,"delta":"Hm."}`,
			`{"type":"response.output_text.delta","item_id":"m","output_index":1,"content_index":0,"delta":"Hi"}`, respEmpty,
		}, `{Hm.} Hi | end_turn 5 2`, nil,
	},
	{
		"W8", "null for lists of an item", "vllm-project/vllm#24788", []string{
			`{"item":{"id":"r","summary":null,"type":"reasoning","content":null,"encrypted_content":null,"status":"in_progress"},"output_index":0,"sequence_number":2,"type":"response.output_item.added"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"id":"r","summary":null,"type":"reasoning","content":null,"encrypted_content":null}}`,
			`{"type":"response.output_text.delta","item_id":"m","output_index":1,"content_index":0,"delta":"Hi"}`, respEmpty,
		}, `Hi | end_turn 5 2`, nil,
	},
	{
		"W8", "a call that is announced and never completed", "open-webui/open-webui#29630", []string{
			`{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"Hi"}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"f","call_id":"c","name":"list","arguments":""}}`, respEmpty,
		}, `Hi cut list() | tool_calls 5 2`, nil,
	},
}

package modeltest

// ChatQuirks are those of services that speak Chat Completions.
var ChatQuirks = []Quirk{
	{
		Line: "W7", Name: "a signature in extra_content", Source: "securo-finance/securo#884", Events: []string{
			`+{"role":"assistant","tool_calls":[{"id":"function-call-1","type":"function","function":{"name":"look","arguments":"{\"a\":1}"},"extra_content":{"google":{"thought_signature":"c2ln+/="}}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) | tool_calls`, Back: []string{`"extra_content":{"google":{"thought_signature":"c2ln+/="}}`},
	},
	{
		Line: "W7", Name: "of parallel calls the first alone is signed", Source: "noho/dayu-agent#82",
		Events: []string{
			`+{"tool_calls":[{"id":"eaifhb3y","function":{"name":"search","arguments":"{\"q\":\"a\"}"},"type":"function","extra_content":{"google":{"thought_signature":"EjQKMg"}}}]}`,
			`+{"tool_calls":[{"id":"mw4fnecu","function":{"name":"search","arguments":"{\"q\":\"b\"}"},"type":"function"}]}`, ".stop",
		},
		Want: `search({"q":"a"}) search({"q":"b"}) | tool_calls`,
		Back: []string{`{"extra_content":{"google":{"thought_signature":"EjQKMg"}},"function":{"arguments":"{\"q\":\"a\"}","name":"search"},"id":"eaifhb3y","type":"function"},{"function":{"arguments":"{\"q\":\"b\"}"`},
	},
	{
		Line: "W7", Name: "a signature comes before the rest of its call", Source: "ServiceNow/eva#206", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":""},"extra_content":{"google":{"thought_signature":"s1"}}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) | tool_calls`, Back: []string{`"extra_content":{"google":{"thought_signature":"s1"}}`},
	},
	{
		Line: "W7", Name: "provider_specific_fields of a call and of its function", Source: "langbot-app/LangBot#2265", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}","provider_specific_fields":{"thought_signature":"in"}},"provider_specific_fields":{"thought_signature":"out"}}]}`, ".tool_calls",
		}, Want: `look({}) | tool_calls`, Back: []string{
			`"function":{"arguments":"{}","name":"look","provider_specific_fields":{"thought_signature":"in"}}`,
			`"provider_specific_fields":{"thought_signature":"out"}`,
		},
	},
	{
		Line: "W7", Name: "provider_specific_fields of a message", Source: "google/adk-python#5712", Events: []string{
			`+{"role":"assistant","content":"Hi","provider_specific_fields":{"thought_signatures":["s"]},"thinking_blocks":[{"type":"thinking","thinking":"Hm."}]}`, ".stop",
		}, Want: `Hi | end_turn`, Back: []string{`"provider_specific_fields":{"thought_signatures":["s"]}`, `"thinking_blocks":[{"thinking":"Hm.","type":"thinking"}]`},
	},
	{
		Line: "W7", Name: "a signature within the id of a call", Source: "BerriAI/litellm#16895", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"call_1__thought__CpAB+c2lnbmF0dXJl/c2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2ln==","type":"function","function":{"name":"look","arguments":"{}"}}]}`, ".tool_calls",
		}, Want: `look({}) | tool_calls`, Back: []string{
			`"id":"call_1__thought__CpAB+c2lnbmF0dXJl/c2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2ln=="`,
			`"tool_call_id":"call_1__thought__CpAB+c2lnbmF0dXJl/c2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2ln=="`,
		},
	},
	{
		Line: "W7", Name: "the id of a call has the form that the model knows", Source: "MoonshotAI/kimi-code#2503", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"functions.Read:0","type":"function","function":{"name":"Read","arguments":"{\"p\":1}"}}]}`, ".tool_calls",
		}, Want: `Read({"p":1}) | tool_calls`, Back: []string{`"id":"functions.Read:0"`, `"tool_call_id":"functions.Read:0"`},
	},
	{
		Line: "W7", Name: "encrypted reasoning_details", Source: "microsoft/agent-framework#2947", Events: []string{
			`+{"role":"assistant","content":"","reasoning_details":[{"type":"reasoning.encrypted","data":"b3Bh","format":"google-gemini-v1","index":0,"id":"c"}]}`,
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}`, ".tool_calls",
		}, Want: `look({}) | tool_calls`, Back: []string{`"reasoning_details":[{"data":"b3Bh","format":"google-gemini-v1","id":"c","index":0,"type":"reasoning.encrypted"}]`},
	},
	{
		Line: "W7", Name: "two encrypted reasoning_details of one index stay two", Source: "earendil-works/pi#260", Events: []string{
			`+{"reasoning_details":[{"type":"reasoning.encrypted","data":"YQ","id":"a","index":0}]}`,
			`+{"reasoning_details":[{"type":"reasoning.encrypted","data":"Yg","id":"b","index":0}]}`,
			`+{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]}`, ".tool_calls",
		}, Want: `look({}) | tool_calls`, Back: []string{`[{"data":"YQ","id":"a","index":0,"type":"reasoning.encrypted"},{"data":"Yg","id":"b","index":0,"type":"reasoning.encrypted"}]`},
	},
	{
		Line: "W7", Name: "reasoning_details in pieces, the signature in the last", Source: "agno-agi/agno#5802", Events: []string{
			`+{"reasoning":"Let","reasoning_details":[{"type":"reasoning.text","text":"Let","format":"anthropic-claude-v1","index":0}]}`,
			`+{"reasoning":" me see.","reasoning_details":[{"type":"reasoning.text","text":" me see.","format":"anthropic-claude-v1","index":0}]}`,
			`+{"reasoning_details":[{"type":"reasoning.text","signature":"Et8B","format":"anthropic-claude-v1","index":0}]}`,
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}`, ".tool_calls",
		}, Want: `{Let me see.} look({}) | tool_calls`, Back: []string{`"reasoning_details":[{"format":"anthropic-claude-v1","index":0,"signature":"Et8B","text":"Let me see.","type":"reasoning.text"}]`},
	},
	{
		Line: "W7", Name: "two blocks of reasoning_details after each other", Source: "agno-agi/agno#5802", Events: []string{
			`+{"reasoning_details":[{"type":"reasoning.text","text":"One.","signature":"s1","index":0}]}`,
			`+{"reasoning_details":[{"type":"reasoning.text","text":"Two.","signature":"s2","index":1}]}`,
			`+{"content":"Hi"}`, ".stop",
		}, Want: `{One.Two.} Hi | end_turn`, Back: []string{`[{"index":0,"signature":"s1","text":"One.","type":"reasoning.text"},{"index":1,"signature":"s2","text":"Two.","type":"reasoning.text"}]`},
	},
	{
		Line: "W7", Name: "a thought, and the same in reasoning_details of another event", Source: "Alishahryar1/free-claude-code#1274", Events: []string{
			`+{"reasoning":"Hm."}`, `+{"reasoning_details":[{"type":"reasoning.text","text":"Hm.","index":0}]}`, `+{"content":"Hi"}`, ".stop",
		}, Want: `{Hm.} Hi | end_turn`, Back: []string{`"reasoning_details":[{"index":0,"text":"Hm.","type":"reasoning.text"}]`},
	},
	{
		Line: "W7", Name: "thinking_blocks in pieces beside reasoning_content", Source: "BerriAI/litellm#16434", Events: []string{
			`+{"reasoning_content":"ha","thinking_blocks":[{"type":"thinking","thinking":"ha","signature":""}]}`,
			`+{"reasoning_content":"ha","thinking_blocks":[{"type":"thinking","thinking":"ha","signature":""}]}`,
			`+{"thinking_blocks":[{"type":"thinking","thinking":"","signature":"EqQB"}]}`,
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}`, ".tool_calls",
		}, Want: `{haha} look({}) | tool_calls`, Back: []string{`"thinking_blocks":[{"signature":"EqQB","thinking":"haha","type":"thinking"}]`, `"reasoning_content":"haha"`},
	},
	{
		Line: "W7", Name: "thoughts mirrored in two fields", Source: "MoonshotAI/kimi-code#3928", Events: []string{
			`+{"role":"assistant","content":"","reasoning":"The","reasoning_content":"The"}`,
			`+{"reasoning":" user","reasoning_content":" user"}`, `+{"content":"Hi"}`, ".stop",
		}, Want: `{The user} Hi | end_turn`,
	},
	{
		Line: "W7", Name: "thoughts go back in the field that they came in", Source: "anomalyco/opencode#30477", Events: []string{
			`+{"reasoning":"Hm."}`, `+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}`, ".tool_calls",
		}, Want: `{Hm.} look({}) | tool_calls`, Back: []string{`"reasoning":"Hm."`},
	},
	{
		Line: "W7", Name: "reasoning_text, and its seal in a piece of its own", Source: "BerriAI/litellm#35021", Events: []string{
			`+{"reasoning_text":"Hm"}`, `+{"reasoning_text":"."}`, `+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}`,
			`+{"reasoning_opaque":"b3BhcXVl"}`, ".tool_calls",
		}, Want: `{Hm.} look({}) | tool_calls`, Back: []string{`"reasoning_opaque":"b3BhcXVl"`, `"reasoning_text":"Hm."`},
	},
	{
		Line: "W7", Name: "the seal of a thought after the text has begun", Source: "anomalyco/opencode#46022", Events: []string{
			`+{"content":"Hi"}`, `+{"content":"!","reasoning_opaque":"bGF0ZQ"}`, ".stop",
		}, Want: `Hi! | end_turn`, Back: []string{`"reasoning_opaque":"bGF0ZQ"`},
	},
	{
		Line: "W7", Name: "thoughts as parts of the content go back as one part", Source: "earendil-works/pi#9674", Events: []string{
			`+{"content":[{"type":"thinking","thinking":[{"type":"text","text":"One "}]}]}`, `+{"content":""}`,
			`+{"content":[{"type":"thinking","thinking":[{"type":"text","text":"two."}]}]}`, `+{"content":"Hi"}`,
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}`, ".tool_calls",
		}, Want: `{One two.} Hi look({}) | tool_calls`, Back: []string{`"content":[{"thinking":[{"text":"One two.","type":"text"}],"type":"thinking"},{"text":"Hi","type":"text"}]`},
	},
	{
		Line: "W7", Name: "empty fields do not go back", Source: "BerriAI/litellm#12481",
		Events: []string{
			`+{"provider_specific_fields":null,"content":"Hi","role":null,"function_call":null,"tool_calls":null,"audio":null}`, `+{"annotations":[],"reasoning_details":[],"note":""}`, ".stop",
		},
		Want: `Hi | end_turn`, Next: []string{`{"content":"Hi","role":"assistant"}`},
	},
	{
		Line: "W8", Name: "content in parts", Source: "symfony/ai#2422", Events: []string{
			`+{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"Hi"}]}`, ".stop",
		}, Want: `{Hm.} Hi | end_turn`,
	},
	{
		Line: "W8", Name: "content in parts, then as text", Source: "mozilla-ai/any-llm-go#162", Events: []string{
			`+{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]}]}`, `+{"content":[{"type":"text","text":"He"}]}`, `+{"content":"llo"}`, ".stop",
		}, Want: `{Hm.} Hello | end_turn`,
	},
	{
		Line: "W8", Name: "arguments as an object", Source: "can1357/oh-my-pi#1779", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"bash","arguments":{"command":"printf ok"}}}]}`, ".tool_calls",
		}, Want: `bash({"command":"printf ok"}) | tool_calls`,
	},
	{
		Line: "W8", Name: "arguments as an object in a whole message", Source: "ggml-org/llama.cpp#20198", Events: []string{
			`{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":{"a":[1]}}}]}}]}`,
		}, Want: `look({"a":[1]}) | tool_calls`,
	},
	{
		Line: "W8", Name: "no index at all", Source: "ollama/ollama#7881", Events: []string{
			`+{"tool_calls":[{"id":"call_a","type":"function","function":{"name":"look","arguments":"{\"a\":1}"}}]}`,
			`+{"tool_calls":[{"id":"call_b","type":"function","function":{"name":"look","arguments":"{\"a\":2}"}}]}`, ".stop",
		}, Want: `look({"a":1}) look({"a":2}) | tool_calls`,
	},
	{
		Line: "W8", Name: "an index of null", Source: "chatanywhere/GPT_API_free#254", Events: []string{
			`+{"tool_calls":[{"index":null,"id":"call_a","type":"function","function":{"name":"look","arguments":""}}]}`,
			`+{"tool_calls":[{"index":null,"function":{"arguments":"{\"a\":1}"}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "no index where the arguments go on", Source: "openai/openai-python#3246", Events: []string{
			`+{"tool_calls":[{"id":"call_a","type":"function","function":{"name":"look","arguments":"{\"a\""}}]}`,
			`+{"tool_calls":[{"function":{"arguments":":1}"}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "no index, the arguments told apart by the id", Source: "vercel/ai#15879", Events: []string{
			`+{"tool_calls":[{"id":"a","type":"function","function":{"arguments":"{\"a\""}},{"id":"b","type":"function","function":{"arguments":"{\"b\""}}]}`,
			`+{"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":":1}"}},{"id":"b","type":"function","function":{"name":"see","arguments":":2}"}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) see({"b":2}) | tool_calls`,
	},
	{
		Line: "W8", Name: "neither index nor id", Source: "SamSaffron/term-llm#314", Events: []string{
			`+{"tool_calls":[{"type":"function","function":{"name":"look","arguments":"{\"a\":1}"}}]}`,
			`+{"tool_calls":[{"type":"function","function":{"name":"see","arguments":"{\"a\":2}"}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) see({"a":2}) | tool_calls`,
	},
	{
		Line: "W8", Name: "no id, and one index for all calls", Source: "NousResearch/hermes-agent#57941", Events: []string{
			`+{"tool_calls":[{"index":0,"type":"function","function":{"name":"read","arguments":"{\"path\":\"A\"}"}}]}`,
			`+{"tool_calls":[{"index":0,"type":"function","function":{"name":"read","arguments":"{\"path\":\"B\"}"}}]}`, ".tool_calls",
		}, Want: `read({"path":"A"}) read({"path":"B"}) | tool_calls`,
	},
	{
		Line: "W8", Name: "no id, and the second call sent twice", Source: "NousResearch/hermes-agent#111686", Events: []string{
			`+{"tool_calls":[{"index":0,"type":"function","function":{"name":"read","arguments":"{\"path\":\"A\"}"}}]}`,
			`+{"tool_calls":[{"index":0,"type":"function","function":{"name":"read","arguments":"{\"path\":\"B\"}"}}]}`,
			`+{"tool_calls":[{"index":0,"type":"function","function":{"name":"read","arguments":"{\"path\": \"B\"}"}}]}`, ".tool_calls",
		}, Want: `read({"path":"A"}) read({"path":"B"}) | tool_calls`,
	},
	{
		Line: "W8", Name: "one index for all calls, each in its event", Source: "su-kaka/gcli2api#406", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"w","arguments":"{\"c\":1}"}}]}`,
			`+{"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"w","arguments":"{\"c\":2}"}}]}`,
			`+{"tool_calls":[{"index":0,"id":"d","type":"function","function":{"name":"w","arguments":"{\"c\":3}"}}]}`, ".tool_calls",
		}, Want: `w({"c":1}) w({"c":2}) w({"c":3}) | tool_calls`,
	},
	{
		Line: "W8", Name: "one index for all calls of one event", Source: "omnigent-ai/omnigent#28", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"w","arguments":"{\"c\":1}"}},{"index":0,"id":"b","type":"function","function":{"name":"t","arguments":"{\"z\":2}"}}]}`, ".tool_calls",
		}, Want: `w({"c":1}) t({"z":2}) | tool_calls`,
	},
	{
		Line: "W8", Name: "a numeric id and a numeric reason", Source: "NousResearch/hermes-agent#58562", Events: []string{
			`+{"tool_calls":[{"index":0,"id":17,"type":"function","function":{"name":"look","arguments":"{\"a\":1}"}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":24}]}`,
		}, Want: `look({"a":1}) | tool_calls`, Next: []string{`"id":"17"`, `"tool_call_id":"17"`},
	},
	{
		Line: "W8", Name: "{} and then the arguments", Source: "openai/openai-agents-js#712", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`, `+{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "null and then the arguments", Source: "ogx-ai/ogx#5462", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":null}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "empty arguments of a call without parameters", Source: "langchain-ai/langchainjs#11383", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"now","arguments":""}}]}`, ".tool_calls",
		}, Want: `now() | tool_calls`,
	},
	{
		Line: "W8", Name: "the first brace with the name", Source: "agentjido/req_llm#801", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"\"a\":"}}]}`, `+{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "more calls after a reason to end", Source: "BerriAI/litellm#31634", Events: []string{
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"w","arguments":"{\"c\":1}"}}]},"finish_reason":"tool_calls"}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"w","arguments":"{\"c\":2}"}}]},"finish_reason":"tool_calls"}]}`,
		}, Want: `w({"c":1}) w({"c":2}) | tool_calls`,
	},
	{
		Line: "W8", Name: "a reason to end before the arguments, and one after them", Source: "sgl-project/sglang#8417", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":""}}]}`, ".tool_calls",
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "the reason to end with the last piece", Source: "vllm-project/vllm-ascend#8327", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{\"a\""}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}`,
		}, Want: `look({"a":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "no reason to end", Source: "vllm-project/vllm#27572", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{\"a\":1}"}}]}`, "[DONE]",
		}, Want: `look({"a":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "all arguments so far with every piece", Source: "NousResearch/hermes-agent#35718", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{\"a"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}`, `+{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":{\"b\":1}}"}}]}`, ".tool_calls",
		}, Want: `look({"a":{"b":1}}) | tool_calls`,
	},
	{
		Line: "W8", Name: "the whole arguments twice", Source: "lidge-jun/opencodex#361", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"shell","arguments":""}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":\"ls\"}"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":\"ls\"}"}}]}`, ".tool_calls",
		}, Want: `shell({"command":"ls"}) | tool_calls`,
	},
	{
		Line: "W8", Name: "pieces of the arguments, and then all of them", Source: "elizaOS/eliza#16973", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"shell","arguments":"{\"command\": "}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"\"ls\"}"}}]}`,
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"shell","arguments":"{\"command\":\"ls\"}"}}]}`, ".tool_calls",
		}, Want: `shell({"command": "ls"}) | tool_calls`,
	},
	{
		Line: "W8", Name: "equal pieces that follow each other are both meant", Source: "VicBilibily/GCMP#194", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"set","arguments":"{\"n\":1"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"00"}}]}`, `+{"tool_calls":[{"index":0,"function":{"arguments":"00"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}`, ".tool_calls",
		}, Want: `set({"n":10000}) | tool_calls`,
	},
	{
		Line: "W8", Name: "equal letters that follow each other are both meant", Source: "diegosouzapw/OmniRoute#3762", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"set","arguments":"{\"a\":\""}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"x"}}]}`, `+{"tool_calls":[{"index":0,"function":{"arguments":"x"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}`, ".tool_calls",
		}, Want: `set({"a":"xx"}) | tool_calls`,
	},
	{
		Line: "W8", Name: "the arguments within a string", Source: "quarkiverse/quarkus-langchain4j#2642", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"set","arguments":"\"{ \\\"n\\\": 2 }\""}}]}`, ".tool_calls",
		}, Want: `set({ "n": 2 }) | tool_calls`,
	},
	{
		Line: "W8", Name: "the arguments within a string, in pieces", Source: "vllm-project/vllm#54964", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"set","arguments":"\"{\\\"n"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"\\\": 2}\""}}]}`, ".tool_calls",
		}, Want: `set({"n": 2}) | tool_calls`,
	},
	{
		Line: "W8", Name: "an empty id with each further piece", Source: "anomalyco/opencode#40969", Events: []string{
			`+{"tool_calls":[{"id":"call_a","type":"function","index":0,"function":{"name":"bash","arguments":""}}]}`,
			`+{"tool_calls":[{"id":"","type":"function","index":0,"function":{"arguments":"{\"c\": "}}]}`,
			`+{"tool_calls":[{"id":"","type":"function","index":0,"function":{"arguments":"1}"}}]}`, ".tool_calls",
		}, Want: `bash({"c": 1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "null for id and name in further pieces", Source: "sgl-project/sglang#35542", Events: []string{
			`+{"tool_calls":[{"id":"call_a","index":0,"type":"function","function":{"name":"w","arguments":""}}]}`,
			`+{"tool_calls":[{"id":null,"index":0,"type":"function","function":{"name":null,"arguments":"{\"c\":1}"}}]}`, ".tool_calls",
		}, Want: `w({"c":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "the id and the name in different pieces", Source: "pipecat-ai/pipecat#5023", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"call_a","type":"function"}]}`, `+{"tool_calls":[{"index":0,"function":{"name":"w"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"c\":1}"}}]}`, ".tool_calls",
		}, Want: `w({"c":1}) | tool_calls`, Next: []string{`"id":"call_a"`, `"tool_call_id":"call_a"`},
	},
	{
		Line: "W8", Name: "no id", Source: "BerriAI/litellm#33223", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"","type":"function","function":{"name":"w","arguments":"{\"c\":1}"}}]}`, ".tool_calls",
		}, Want: `w({"c":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "an empty role, and a usage of other names", Source: "MiniMax-AI/MiniMax-M2.5#2", Events: []string{
			`{"choices":[{"index":0,"delta":{"role":"","reasoning_content":""}}],"usage":{"total_tokens":0,"total_characters":0}}`,
			`+{"role":"","content":"Hi"}`, ".stop",
		}, Want: `Hi | end_turn`,
	},
	{
		Line: "W8", Name: "null for the content of a call", Source: "vllm-project/vllm-ascend#14501", Events: []string{
			`+{"content":null,"tool_calls":[{"id":"c","type":"function","index":0,"function":{"name":"read","arguments":""}}]}`,
			`+{"content":null,"tool_calls":[{"index":0,"function":{"arguments":"{\"p\":1}"}}]}`, ".tool_calls",
		}, Want: `read({"p":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "tokens as strings", Source: "Arize-ai/openinference#1183", Events: []string{
			`+{"content":"Hi"}`, ".stop", `{"choices":[],"usage":{"prompt_tokens":"12","completion_tokens":"3","total_tokens":"15"}}`,
		}, Want: `Hi | end_turn 12 3`,
	},
	{
		Line: "W8", Name: "a usage without the tokens of the answer", Source: "vercel/ai#2763", Events: []string{
			`{"choices":[{"index":0,"delta":{"content":"Hi","role":"assistant"}}],"usage":{"prompt_tokens":11,"total_tokens":11}}`, ".stop",
		}, Want: `Hi | end_turn 11 0`,
	},
	{
		Line: "W8", Name: "the same call twice in one answer of a mirroring proxy", Source: "anomalyco/opencode#17339", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"read","arguments":"{\"p\""}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"name":"read","arguments":"{\"p\":1}"}}]}`, ".tool_calls",
		}, Want: `read({"p":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "null for the arguments after the last of them", Source: "DataDog/dd-trace-py#19386", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{\"a\":1}"}}]}`,
			`+{"tool_calls":[{"index":0,"id":null,"type":"function","function":{"name":null,"arguments":null}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "the name in pieces", Source: "ankit373/hydra#958", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"get_wea","arguments":""}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"name":"ther","arguments":"{\"city\":\"Paris\"}"}}]}`, ".tool_calls",
		}, Want: `get_weather({"city":"Paris"}) | tool_calls`,
	},
	{
		Line: "W8", Name: "the whole name with each piece", Source: "NousResearch/hermes-agent#12230", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"read_file","arguments":""}}]}`,
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"read_file","arguments":"{\"p\":"}}]}`,
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"read_file","arguments":"1}"}}]}`, ".tool_calls",
		}, Want: `read_file({"p":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "id, type and name with each piece, and another name beside the function", Source: "SillyTavern/SillyTavern#5948", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"chatcmpl-tool-aa62","type":"function","function":{"name":"debug_tool","arguments":""},"name":null}]}`,
			`+{"tool_calls":[{"index":0,"id":"chatcmpl-tool-aa62","type":"function","function":{"name":"debug_tool","arguments":"{\"a\""},"name":null}]}`,
			`+{"tool_calls":[{"index":0,"id":"chatcmpl-tool-aa62","type":"function","function":{"name":"debug_tool","arguments":":1}"},"name":null}]}`, ".tool_calls",
		}, Want: `debug_tool({"a":1}) | tool_calls`, Next: []string{`"id":"chatcmpl-tool-aa62"`},
	},
	{
		Line: "W8", Name: "arguments before the name", Source: "vercel/ai#14760", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"arguments":"{\"a\""}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"name":"look","arguments":":1}"}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "another id with the second piece", Source: "poolsideai/pool#9", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"look","arguments":""}}]}`,
			`+{"tool_calls":[{"index":0,"id":"call_2","type":"function","function":{"arguments":"{\"a\""}}]}`,
			`+{"tool_calls":[{"index":0,"id":"call_2","type":"function","function":{"arguments":":1}"}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) | tool_calls`, Next: []string{`"id":"call_1"`, `"tool_call_id":"call_1"`},
	},
	{
		Line: "W8", Name: "another id and an empty name with each piece", Source: "NousResearch/hermes-agent#106943", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"look","arguments":""}}]}`,
			`+{"tool_calls":[{"index":0,"id":"2","type":"function","function":{"name":"","arguments":"{"}}]}`,
			`+{"tool_calls":[{"index":0,"id":"3","type":"function","function":{"name":"","arguments":"\"a\":1"}}]}`,
			`+{"tool_calls":[{"index":0,"id":"4","type":"function","function":{"name":"","arguments":"}"}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "indexes that begin with 1 and have gaps", Source: "vercel/ai#18333", Events: []string{
			`+{"content":"Looking."}`, `+{"tool_calls":[{"index":1,"id":"a","type":"function","function":{"name":"look","arguments":""}}]}`,
			`+{"tool_calls":[{"index":1,"function":{"arguments":"{\"a\":1}"}}]}`,
			`+{"tool_calls":[{"index":4,"id":"b","type":"function","function":{"name":"look","arguments":""}}]}`,
			`+{"tool_calls":[{"index":4,"function":{"arguments":"{\"a\":2}"}}]}`, ".tool_calls",
		}, Want: `Looking. look({"a":1}) look({"a":2}) | tool_calls`,
	},
	{
		Line: "W8", Name: "an index of -1", Source: "aws-samples/bedrock-access-gateway#247", Events: []string{
			`+{"tool_calls":[{"index":-1,"id":"tooluse_a","type":"function","function":{"name":"look","arguments":""}}]}`,
			`+{"tool_calls":[{"index":-1,"function":{"arguments":"{\"a\":1}"}}]}`,
			`+{"tool_calls":[{"index":0,"id":"tooluse_b","type":"function","function":{"name":"see","arguments":""}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":2}"}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) see({"a":2}) | tool_calls`,
	},
	{
		Line: "W8", Name: "name and arguments beside an absent function", Source: "OpenBMB/PilotDeck#85", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","name":"look","arguments":{"a":1}}]}`, ".tool_calls",
		}, Want: `look({"a":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "a call of the protocol before tools", Source: "can1357/oh-my-pi#1692", Events: []string{
			`+{"role":"assistant","content":null,"function_call":{"name":"look","arguments":""}}`,
			`+{"function_call":{"arguments":"{\"a\""}}`, `+{"function_call":{"arguments":":1}"}}`, ".function_call",
		}, Want: `look({"a":1}) | tool_calls`,
	},
	{
		Line: "W8", Name: "the usage in the choice", Source: "earendil-works/pi#2017", Events: []string{
			`+{"content":"Hi"}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":1336,"completion_tokens":31}}],"usage":null}`,
		}, Want: `Hi | end_turn 1336 31`,
	},
	{
		Line: "W8", Name: "the cached tokens beside the others", Source: "vercel/ai#12352", Events: []string{
			`+{"content":"Hi"}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":19,"completion_tokens":21,"cached_tokens":10}}`,
		}, Want: `Hi | end_turn 19 21 (10 cached)`,
	},
	{
		Line: "W8", Name: "the usage in x_groq", Source: "vercel/ai#1651", Events: []string{
			`+{"content":"Hi"}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"queue_time":0.07,"prompt_tokens":23,"completion_tokens":19}}}`,
		}, Want: `Hi | end_turn 23 19`,
	},
	{
		Line: "W8", Name: "a usage with the names of Messages", Source: "earendil-works/pi#2326", Events: []string{
			`+{"content":"Hi"}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"input_tokens":11,"output_tokens":5,"prompt_tps":21.55}}`,
		}, Want: `Hi | end_turn 11 5`,
	},
	{
		Line: "W8", Name: "a usage that grows with each piece", Source: "cline/cline#11304", Events: []string{
			`{"choices":[{"index":0,"delta":{"content":"H"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`,
			`{"choices":[{"index":0,"delta":{"content":"i"}}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`, ".stop",
		}, Want: `Hi | end_turn 9 2`,
	},
	{
		Line: "W8", Name: "a limit of tokens in the words of Gemini", Source: "QwenLM/qwen-code#9884", Events: []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"write","arguments":"{\"text\":\"half"}}]}`, ".MAX_TOKENS",
		}, Want: `cut write({"text":"half) | max_tokens`,
	},
	{
		Line: "W8", Name: "a reason to end that is a failure of the service", Source: "can1357/oh-my-pi#8563", Events: []string{
			`+{"reasoning_content":"Hm"}`, ".insufficient_system_resource",
		}, Want: `{Hm} | overloaded`,
	},
	{
		Line: "W8", Name: "a reason to end that is a failure of the model", Source: "NousResearch/hermes-agent#11171", Events: []string{
			`+{"role":"assistant","content":""}`, ".function_call_filter: MALFORMED_FUNCTION_CALL",
		}, Want: `| overloaded`,
	},
	{
		Line: "W8", Name: "a request that was aborted", Source: "vllm-project/vllm#53270", Events: []string{`+{"content":"Ha"}`, ".abort", "[DONE]"},
		Want: `Ha | overloaded`,
	},
	{
		Line: "W8", Name: "a reason to end with each piece", Source: "su-kaka/gcli2api#403", Events: []string{
			`{"choices":[{"index":0,"delta":{"reasoning_content":"Hm."},"finish_reason":"stop"}]}`,
			`{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"c","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"stop"}]}`, "[DONE]",
		}, Want: `{Hm.} Hi look({}) | tool_calls`,
	},
	{
		Line: "W8", Name: "an error in place of a piece", Source: "langchain-ai/langchain-nvidia#201", Events: []string{
			`{"error":{"object":"error","message":"Tool calling is not supported in streaming mode!","type":"BadRequestError","param":null,"code":400}}`, "[DONE]",
		}, Want: `| http`,
	},
	{
		Line: "W8", Name: "an error of other names beside choices of null", Source: "NousResearch/hermes-agent#65643", Events: []string{
			`{"choices":null,"error_type":"400 BadRequestError","error_message":"This model's maximum context length is 8192 tokens."}`, "[DONE]",
		}, Want: `| context_window`,
	},
	{
		Line: "W8", Name: "several choices", Source: "openai/openai-agents-python#3313", Events: []string{
			`{"choices":[{"index":0,"delta":{"content":"Hi"}},{"index":1,"delta":{"content":"Hello"}}]}`,
			`{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}`, ".stop",
		}, Want: `Hi | end_turn`,
	},
	{
		Line: "W8", Name: "an error on a line of its own name", Source: "ggml-org/llama.cpp#16109",
		Body: "error: {\"code\":400,\"message\":\"the request exceeds the available context size\",\"type\":\"invalid_request_error\"}\n\ndata: [DONE]\n\n",
		Want: `| context_window`,
	},
	{
		Line: "W8", Name: "an error without data: after the first piece", Source: "lemonade-sdk/lemonade#2826",
		Body: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n" +
			"{\"error\":{\"code\":400,\"message\":\"request (19185 tokens) exceeds the available context size (16384 tokens)\"}}\n",
		Want: `Hi | context_window`,
	},
	{
		Line: "W8", Name: "the answer is no stream", Source: "tinyhumansai/tinyagents#56",
		Body: "{\n  \"choices\": [{\n    \"index\": 0, \"finish_reason\": \"tool_calls\",\n    \"message\": {\"role\": \"assistant\", \"content\": \"Hi\",\n" +
			"      \"tool_calls\": [{\"id\": \"c\", \"type\": \"function\", \"function\": {\"name\": \"look\", \"arguments\": \"{}\"}}]}\n  }],\n" +
			"  \"usage\": {\"prompt_tokens\": 3, \"completion_tokens\": 2}\n}\n",
		Want: `Hi look({}) | tool_calls 3 2`,
	},
	{
		Line: "W8", Name: "the answer is no stream, and has the end of one", Source: "decolua/9router#3492",
		Body: "{\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"OK\"},\"finish_reason\":\"stop\"}]}\ndata: [DONE]\n\n",
		Want: `OK | end_turn`,
	},
	{
		Line: "W8", Name: "comments that a proxy took for data", Source: "mnfst/llm-gateway#2053",
		Body: "data: : OPENROUTER PROCESSING\n\ndata: : OPENROUTER PROCESSING\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		Want: `Hi | end_turn`,
	},
	{
		Line: "W8", Name: "an event that ends in the middle, and another on its line", Source: "anomalyco/opencode#23442",
		Body: "data: {\"id\":\"2026\",\"object\":\"chat.completion.cdata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n" +
			"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
		Want: `Hi | end_turn`,
	},
	{
		Line: "W8", Name: "no space before the data", Source: "dataelement/Clawith#106",
		Body: "data:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata:[DONE]\n\n", Want: `Hi | end_turn`,
	},
	{
		Line: "W8", Name: "lines that end with a carriage return alone", Source: "openai/openai-node#2309",
		Body: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\r\rdata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\r\r", Want: `Hi | end_turn`,
	},
	{
		Line: "W8", Name: "no empty line after the last event", Source: "darshi1337/apogee#139",
		Body: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]", Want: `Hi | end_turn`,
	},
	{
		Line: "W8", Name: "an event of several lines", Source: "SamSaffron/term-llm#454",
		Body: "data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"Hi\"},\ndata: \"finish_reason\":\"stop\"}]}\n\n", Want: `Hi | end_turn`,
	},
}

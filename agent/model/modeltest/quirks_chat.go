package modeltest

// ChatQuirks are those of services that speak Chat Completions.
var ChatQuirks = []Quirk{
	{
		"W7", "a signature in extra_content", "securo-finance/securo#884", []string{
			`+{"role":"assistant","tool_calls":[{"id":"function-call-1","type":"function","function":{"name":"look","arguments":"{\"a\":1}"},"extra_content":{"google":{"thought_signature":"c2ln+/="}}}]}`, ".tool_calls",
		}, `look({"a":1}) | tool_calls`, []string{`"extra_content":{"google":{"thought_signature":"c2ln+/="}}`},
	},
	{
		"W7", "of parallel calls the first alone is signed", "noho/dayu-agent#82",
		[]string{
			`+{"tool_calls":[{"id":"eaifhb3y","function":{"name":"search","arguments":"{\"q\":\"a\"}"},"type":"function","extra_content":{"google":{"thought_signature":"EjQKMg"}}}]}`,
			`+{"tool_calls":[{"id":"mw4fnecu","function":{"name":"search","arguments":"{\"q\":\"b\"}"},"type":"function"}]}`, ".stop",
		},
		`search({"q":"a"}) search({"q":"b"}) | tool_calls`,
		[]string{`{"extra_content":{"google":{"thought_signature":"EjQKMg"}},"function":{"arguments":"{\"q\":\"a\"}","name":"search"},"id":"eaifhb3y","type":"function"},{"function":{"arguments":"{\"q\":\"b\"}"`},
	},
	{
		"W7", "a signature comes before the rest of its call", "ServiceNow/eva#206", []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":""},"extra_content":{"google":{"thought_signature":"s1"}}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}`, ".tool_calls",
		}, `look({"a":1}) | tool_calls`, []string{`"extra_content":{"google":{"thought_signature":"s1"}}`},
	},
	{
		"W7", "provider_specific_fields of a call and of its function", "langbot-app/LangBot#2265", []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}","provider_specific_fields":{"thought_signature":"in"}},"provider_specific_fields":{"thought_signature":"out"}}]}`, ".tool_calls",
		}, `look({}) | tool_calls`, []string{
			`"function":{"arguments":"{}","name":"look","provider_specific_fields":{"thought_signature":"in"}}`,
			`"provider_specific_fields":{"thought_signature":"out"}`,
		},
	},
	{
		"W7", "provider_specific_fields of a message", "google/adk-python#5712", []string{
			`+{"role":"assistant","content":"Hi","provider_specific_fields":{"thought_signatures":["s"]},"thinking_blocks":[{"type":"thinking","thinking":"Hm."}]}`, ".stop",
		}, `Hi | end_turn`, []string{`"provider_specific_fields":{"thought_signatures":["s"]}`, `"thinking_blocks":[{"thinking":"Hm.","type":"thinking"}]`},
	},
	{
		"W7", "a signature within the id of a call", "BerriAI/litellm#16895", []string{
			`+{"tool_calls":[{"index":0,"id":"call_1__thought__CpAB+c2lnbmF0dXJl/c2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2ln==","type":"function","function":{"name":"look","arguments":"{}"}}]}`, ".tool_calls",
		}, `look({}) | tool_calls`, []string{
			`"id":"call_1__thought__CpAB+c2lnbmF0dXJl/c2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2ln=="`,
			`"tool_call_id":"call_1__thought__CpAB+c2lnbmF0dXJl/c2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2ln=="`,
		},
	},
	{
		"W7", "the id of a call has the form that the model knows", "MoonshotAI/kimi-code#2503", []string{
			`+{"tool_calls":[{"index":0,"id":"functions.Read:0","type":"function","function":{"name":"Read","arguments":"{\"p\":1}"}}]}`, ".tool_calls",
		}, `Read({"p":1}) | tool_calls`, []string{`"id":"functions.Read:0"`, `"tool_call_id":"functions.Read:0"`},
	},
	{
		"W7", "encrypted reasoning_details", "microsoft/agent-framework#2947", []string{
			`+{"role":"assistant","content":"","reasoning_details":[{"type":"reasoning.encrypted","data":"b3Bh","format":"google-gemini-v1","index":0,"id":"c"}]}`,
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}`, ".tool_calls",
		}, `look({}) | tool_calls`, []string{`"reasoning_details":[{"data":"b3Bh","format":"google-gemini-v1","id":"c","index":0,"type":"reasoning.encrypted"}]`},
	},
	{
		"W7", "two encrypted reasoning_details of one index stay two", "earendil-works/pi#260", []string{
			`+{"reasoning_details":[{"type":"reasoning.encrypted","data":"YQ","id":"a","index":0}]}`,
			`+{"reasoning_details":[{"type":"reasoning.encrypted","data":"Yg","id":"b","index":0}]}`,
			`+{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]}`, ".tool_calls",
		}, `look({}) | tool_calls`, []string{`[{"data":"YQ","id":"a","index":0,"type":"reasoning.encrypted"},{"data":"Yg","id":"b","index":0,"type":"reasoning.encrypted"}]`},
	},
	{
		"W7", "reasoning_details in pieces, the signature in the last", "agno-agi/agno#5802", []string{
			`+{"reasoning":"Let","reasoning_details":[{"type":"reasoning.text","text":"Let","format":"anthropic-claude-v1","index":0}]}`,
			`+{"reasoning":" me see.","reasoning_details":[{"type":"reasoning.text","text":" me see.","format":"anthropic-claude-v1","index":0}]}`,
			`+{"reasoning_details":[{"type":"reasoning.text","signature":"Et8B","format":"anthropic-claude-v1","index":0}]}`,
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}`, ".tool_calls",
		}, `{Let me see.} look({}) | tool_calls`, []string{`"reasoning_details":[{"format":"anthropic-claude-v1","index":0,"signature":"Et8B","text":"Let me see.","type":"reasoning.text"}]`},
	},
	{
		"W7", "two blocks of reasoning_details after each other", "agno-agi/agno#5802", []string{
			`+{"reasoning_details":[{"type":"reasoning.text","text":"One.","signature":"s1","index":0}]}`,
			`+{"reasoning_details":[{"type":"reasoning.text","text":"Two.","signature":"s2","index":1}]}`,
			`+{"content":"Hi"}`, ".stop",
		}, `{One.Two.} Hi | end_turn`, []string{`[{"index":0,"signature":"s1","text":"One.","type":"reasoning.text"},{"index":1,"signature":"s2","text":"Two.","type":"reasoning.text"}]`},
	},
	{
		"W7", "a thought, and the same in reasoning_details of another event", "Alishahryar1/free-claude-code#1274", []string{
			`+{"reasoning":"Hm."}`, `+{"reasoning_details":[{"type":"reasoning.text","text":"Hm.","index":0}]}`, `+{"content":"Hi"}`, ".stop",
		}, `{Hm.} Hi | end_turn`, []string{`"reasoning_details":[{"index":0,"text":"Hm.","type":"reasoning.text"}]`},
	},
	{
		"W7", "thinking_blocks in pieces beside reasoning_content", "BerriAI/litellm#16434", []string{
			`+{"reasoning_content":"ha","thinking_blocks":[{"type":"thinking","thinking":"ha","signature":""}]}`,
			`+{"reasoning_content":"ha","thinking_blocks":[{"type":"thinking","thinking":"ha","signature":""}]}`,
			`+{"thinking_blocks":[{"type":"thinking","thinking":"","signature":"EqQB"}]}`,
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}`, ".tool_calls",
		}, `{haha} look({}) | tool_calls`, []string{`"thinking_blocks":[{"signature":"EqQB","thinking":"haha","type":"thinking"}]`, `"reasoning_content":"haha"`},
	},
	{
		"W7", "thoughts mirrored in two fields", "MoonshotAI/kimi-code#3928", []string{
			`+{"role":"assistant","content":"","reasoning":"The","reasoning_content":"The"}`,
			`+{"reasoning":" user","reasoning_content":" user"}`, `+{"content":"Hi"}`, ".stop",
		}, `{The user} Hi | end_turn`, nil,
	},
	{
		"W7", "thoughts go back in the field that they came in", "anomalyco/opencode#30477", []string{
			`+{"reasoning":"Hm."}`, `+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}`, ".tool_calls",
		}, `{Hm.} look({}) | tool_calls`, []string{`"reasoning":"Hm."`},
	},
	{
		"W7", "reasoning_text, and its seal in a piece of its own", "BerriAI/litellm#35021", []string{
			`+{"reasoning_text":"Hm"}`, `+{"reasoning_text":"."}`, `+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}`,
			`+{"reasoning_opaque":"b3BhcXVl"}`, ".tool_calls",
		}, `{Hm.} look({}) | tool_calls`, []string{`"reasoning_opaque":"b3BhcXVl"`, `"reasoning_text":"Hm."`},
	},
	{
		"W7", "the seal of a thought after the text has begun", "anomalyco/opencode#46022", []string{
			`+{"content":"Hi"}`, `+{"content":"!","reasoning_opaque":"bGF0ZQ"}`, ".stop",
		}, `Hi! | end_turn`, []string{`"reasoning_opaque":"bGF0ZQ"`},
	},
	{
		"W7", "thoughts as parts of the content go back as one part", "earendil-works/pi#9674", []string{
			`+{"content":[{"type":"thinking","thinking":[{"type":"text","text":"One "}]}]}`, `+{"content":""}`,
			`+{"content":[{"type":"thinking","thinking":[{"type":"text","text":"two."}]}]}`, `+{"content":"Hi"}`,
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}`, ".tool_calls",
		}, `{One two.} Hi look({}) | tool_calls`, []string{`"content":[{"thinking":[{"text":"One two.","type":"text"}],"type":"thinking"},{"text":"Hi","type":"text"}]`},
	},
	{
		"W8", "content in parts", "symfony/ai#2422", []string{
			`+{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"Hi"}]}`, ".stop",
		}, `{Hm.} Hi | end_turn`, nil,
	},
	{
		"W8", "content in parts, then as text", "mozilla-ai/any-llm-go#162", []string{
			`+{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]}]}`, `+{"content":[{"type":"text","text":"He"}]}`, `+{"content":"llo"}`, ".stop",
		}, `{Hm.} Hello | end_turn`, nil,
	},
	{
		"W8", "arguments as an object", "can1357/oh-my-pi#1779", []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"bash","arguments":{"command":"printf ok"}}}]}`, ".tool_calls",
		}, `bash({"command":"printf ok"}) | tool_calls`, nil,
	},
	{
		"W8", "arguments as an object in a whole message", "ggml-org/llama.cpp#20198", []string{
			`{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":{"a":[1]}}}]}}]}`,
		}, `look({"a":[1]}) | tool_calls`, nil,
	},
	{
		"W8", "no index at all", "ollama/ollama#7881", []string{
			`+{"tool_calls":[{"id":"call_a","type":"function","function":{"name":"look","arguments":"{\"a\":1}"}}]}`,
			`+{"tool_calls":[{"id":"call_b","type":"function","function":{"name":"look","arguments":"{\"a\":2}"}}]}`, ".stop",
		}, `look({"a":1}) look({"a":2}) | tool_calls`, nil,
	},
	{
		"W8", "an index of null", "chatanywhere/GPT_API_free#254", []string{
			`+{"tool_calls":[{"index":null,"id":"call_a","type":"function","function":{"name":"look","arguments":""}}]}`,
			`+{"tool_calls":[{"index":null,"function":{"arguments":"{\"a\":1}"}}]}`, ".tool_calls",
		}, `look({"a":1}) | tool_calls`, nil,
	},
	{
		"W8", "no index where the arguments go on", "openai/openai-python#3246", []string{
			`+{"tool_calls":[{"id":"call_a","type":"function","function":{"name":"look","arguments":"{\"a\""}}]}`,
			`+{"tool_calls":[{"function":{"arguments":":1}"}}]}`, ".tool_calls",
		}, `look({"a":1}) | tool_calls`, nil,
	},
	{
		"W8", "no index, the arguments told apart by the id", "vercel/ai#15879", []string{
			`+{"tool_calls":[{"id":"a","type":"function","function":{"arguments":"{\"a\""}},{"id":"b","type":"function","function":{"arguments":"{\"b\""}}]}`,
			`+{"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":":1}"}},{"id":"b","type":"function","function":{"name":"see","arguments":":2}"}}]}`, ".tool_calls",
		}, `look({"a":1}) see({"b":2}) | tool_calls`, nil,
	},
	{
		"W8", "neither index nor id", "SamSaffron/term-llm#314", []string{
			`+{"tool_calls":[{"type":"function","function":{"name":"look","arguments":"{\"a\":1}"}}]}`,
			`+{"tool_calls":[{"type":"function","function":{"name":"see","arguments":"{\"a\":2}"}}]}`, ".tool_calls",
		}, `look({"a":1}) see({"a":2}) | tool_calls`, nil,
	},
	{
		"W8", "no id, and one index for all calls", "NousResearch/hermes-agent#57941", []string{
			`+{"tool_calls":[{"index":0,"type":"function","function":{"name":"read","arguments":"{\"path\":\"A\"}"}}]}`,
			`+{"tool_calls":[{"index":0,"type":"function","function":{"name":"read","arguments":"{\"path\":\"B\"}"}}]}`, ".tool_calls",
		}, `read({"path":"A"}) read({"path":"B"}) | tool_calls`, nil,
	},
	{
		"W8", "no id, and the second call sent twice", "NousResearch/hermes-agent#111686", []string{
			`+{"tool_calls":[{"index":0,"type":"function","function":{"name":"read","arguments":"{\"path\":\"A\"}"}}]}`,
			`+{"tool_calls":[{"index":0,"type":"function","function":{"name":"read","arguments":"{\"path\":\"B\"}"}}]}`,
			`+{"tool_calls":[{"index":0,"type":"function","function":{"name":"read","arguments":"{\"path\": \"B\"}"}}]}`, ".tool_calls",
		}, `read({"path":"A"}) read({"path":"B"}) | tool_calls`, nil,
	},
	{
		"W8", "one index for all calls, each in its event", "su-kaka/gcli2api#406", []string{
			`+{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"w","arguments":"{\"c\":1}"}}]}`,
			`+{"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"w","arguments":"{\"c\":2}"}}]}`,
			`+{"tool_calls":[{"index":0,"id":"d","type":"function","function":{"name":"w","arguments":"{\"c\":3}"}}]}`, ".tool_calls",
		}, `w({"c":1}) w({"c":2}) w({"c":3}) | tool_calls`, nil,
	},
	{
		"W8", "one index for all calls of one event", "omnigent-ai/omnigent#28", []string{
			`+{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"w","arguments":"{\"c\":1}"}},{"index":0,"id":"b","type":"function","function":{"name":"t","arguments":"{\"z\":2}"}}]}`, ".tool_calls",
		}, `w({"c":1}) t({"z":2}) | tool_calls`, nil,
	},
	{
		"W8", "a numeric id and a numeric reason", "NousResearch/hermes-agent#58562", []string{
			`+{"tool_calls":[{"index":0,"id":17,"type":"function","function":{"name":"look","arguments":"{\"a\":1}"}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":24}]}`,
		}, `look({"a":1}) | tool_calls`, []string{},
	},
	{
		"W8", "{} and then the arguments", "openai/openai-agents-js#712", []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`, `+{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`, ".tool_calls",
		}, `look({"a":1}) | tool_calls`, nil,
	},
	{
		"W8", "null and then the arguments", "ogx-ai/ogx#5462", []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":null}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}`, ".tool_calls",
		}, `look({"a":1}) | tool_calls`, nil,
	},
	{
		"W8", "empty arguments of a call without parameters", "langchain-ai/langchainjs#11383", []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"now","arguments":""}}]}`, ".tool_calls",
		}, `now() | tool_calls`, nil,
	},
	{
		"W8", "the first brace with the name", "agentjido/req_llm#801", []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"\"a\":"}}]}`, `+{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`, ".tool_calls",
		}, `look({"a":1}) | tool_calls`, nil,
	},
	{
		"W8", "more calls after a reason to end", "BerriAI/litellm#31634", []string{
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"w","arguments":"{\"c\":1}"}}]},"finish_reason":"tool_calls"}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"w","arguments":"{\"c\":2}"}}]},"finish_reason":"tool_calls"}]}`,
		}, `w({"c":1}) w({"c":2}) | tool_calls`, nil,
	},
	{
		"W8", "a reason to end before the arguments, and one after them", "sgl-project/sglang#8417", []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":""}}]}`, ".tool_calls",
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}`, ".tool_calls",
		}, `look({"a":1}) | tool_calls`, nil,
	},
	{
		"W8", "the reason to end with the last piece", "vllm-project/vllm-ascend#8327", []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{\"a\""}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}`,
		}, `look({"a":1}) | tool_calls`, nil,
	},
	{
		"W8", "no reason to end", "vllm-project/vllm#27572", []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{\"a\":1}"}}]}`, "[DONE]",
		}, `look({"a":1}) | tool_calls`, nil,
	},
	{
		"W8", "all arguments so far with every piece", "NousResearch/hermes-agent#35718", []string{
			`+{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{\"a"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}`, `+{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":{\"b\":1}}"}}]}`, ".tool_calls",
		}, `look({"a":{"b":1}}) | tool_calls`, nil,
	},
	{
		"W8", "the whole arguments twice", "lidge-jun/opencodex#361", []string{
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"shell","arguments":""}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":\"ls\"}"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":\"ls\"}"}}]}`, ".tool_calls",
		}, `shell({"command":"ls"}) | tool_calls`, nil,
	},
	{
		"W8", "pieces of the arguments, and then all of them", "elizaOS/eliza#16973", []string{
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"shell","arguments":"{\"command\": "}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"\"ls\"}"}}]}`,
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"shell","arguments":"{\"command\":\"ls\"}"}}]}`, ".tool_calls",
		}, `shell({"command": "ls"}) | tool_calls`, nil,
	},
	{
		"W8", "equal pieces that follow each other are both meant", "VicBilibily/GCMP#194", []string{
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"set","arguments":"{\"n\":1"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"00"}}]}`, `+{"tool_calls":[{"index":0,"function":{"arguments":"00"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}`, ".tool_calls",
		}, `set({"n":10000}) | tool_calls`, nil,
	},
	{
		"W8", "equal letters that follow each other are both meant", "diegosouzapw/OmniRoute#3762", []string{
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"set","arguments":"{\"a\":\""}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"x"}}]}`, `+{"tool_calls":[{"index":0,"function":{"arguments":"x"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}`, ".tool_calls",
		}, `set({"a":"xx"}) | tool_calls`, nil,
	},
	{
		"W8", "the arguments within a string", "quarkiverse/quarkus-langchain4j#2642", []string{
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"set","arguments":"\"{ \\\"n\\\": 2 }\""}}]}`, ".tool_calls",
		}, `set({ "n": 2 }) | tool_calls`, nil,
	},
	{
		"W8", "the arguments within a string, in pieces", "vllm-project/vllm#54964", []string{
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"set","arguments":"\"{\\\"n"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"\\\": 2}\""}}]}`, ".tool_calls",
		}, `set({"n": 2}) | tool_calls`, nil,
	},
	{
		"W8", "an empty id with each further piece", "anomalyco/opencode#40969", []string{
			`+{"tool_calls":[{"id":"call_a","type":"function","index":0,"function":{"name":"bash","arguments":""}}]}`,
			`+{"tool_calls":[{"id":"","type":"function","index":0,"function":{"arguments":"{\"c\": "}}]}`,
			`+{"tool_calls":[{"id":"","type":"function","index":0,"function":{"arguments":"1}"}}]}`, ".tool_calls",
		}, `bash({"c": 1}) | tool_calls`, nil,
	},
	{
		"W8", "null for id and name in further pieces", "sgl-project/sglang#35542", []string{
			`+{"tool_calls":[{"id":"call_a","index":0,"type":"function","function":{"name":"w","arguments":""}}]}`,
			`+{"tool_calls":[{"id":null,"index":0,"type":"function","function":{"name":null,"arguments":"{\"c\":1}"}}]}`, ".tool_calls",
		}, `w({"c":1}) | tool_calls`, nil,
	},
	{
		"W8", "the id and the name in different pieces", "pipecat-ai/pipecat#5023", []string{
			`+{"tool_calls":[{"index":0,"id":"call_a","type":"function"}]}`, `+{"tool_calls":[{"index":0,"function":{"name":"w"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":"{\"c\":1}"}}]}`, ".tool_calls",
		}, `w({"c":1}) | tool_calls`, nil,
	},
	{
		"W8", "no id", "BerriAI/litellm#33223", []string{
			`+{"tool_calls":[{"index":0,"id":"","type":"function","function":{"name":"w","arguments":"{\"c\":1}"}}]}`, ".tool_calls",
		}, `w({"c":1}) | tool_calls`, nil,
	},
	{
		"W8", "an empty role, and a usage of other names", "MiniMax-AI/MiniMax-M2.5#2", []string{
			`{"choices":[{"index":0,"delta":{"role":"","reasoning_content":""}}],"usage":{"total_tokens":0,"total_characters":0}}`,
			`+{"role":"","content":"Hi"}`, ".stop",
		}, `Hi | end_turn`, nil,
	},
	{
		"W8", "null for the content of a call", "vllm-project/vllm-ascend#14501", []string{
			`+{"content":null,"tool_calls":[{"id":"c","type":"function","index":0,"function":{"name":"read","arguments":""}}]}`,
			`+{"content":null,"tool_calls":[{"index":0,"function":{"arguments":"{\"p\":1}"}}]}`, ".tool_calls",
		}, `read({"p":1}) | tool_calls`, nil,
	},
	{
		"W8", "tokens as strings", "Arize-ai/openinference#1183", []string{
			`+{"content":"Hi"}`, ".stop", `{"choices":[],"usage":{"prompt_tokens":"12","completion_tokens":"3","total_tokens":"15"}}`,
		}, `Hi | end_turn 12 3`, nil,
	},
	{
		"W8", "a usage without the tokens of the answer", "vercel/ai#2763", []string{
			`{"choices":[{"index":0,"delta":{"content":"Hi","role":"assistant"}}],"usage":{"prompt_tokens":11,"total_tokens":11}}`, ".stop",
		}, `Hi | end_turn 11 0`, nil,
	},
	{
		"W8", "the same call twice in one answer of a mirroring proxy", "anomalyco/opencode#17339", []string{
			`+{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"read","arguments":"{\"p\""}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`,
			`+{"tool_calls":[{"index":0,"function":{"name":"read","arguments":"{\"p\":1}"}}]}`, ".tool_calls",
		}, `read({"p":1}) | tool_calls`, nil,
	},
}

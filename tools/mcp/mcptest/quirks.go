package mcptest

// Quirk is what a server does that the protocol does not have, as somebody has seen it.
type Quirk struct {
	Name string `json:"-"`
	// Source is where it was seen: owner/repository#number, or a package and its version. A row without one is our own, a neighbour of one
	// that was seen.
	Source string `json:"-"`
	// Lines are printed before the first message.
	Lines []string `json:"lines,omitempty"`
	// Answers are results by method, in place of those of a plain server, Raw are whole messages; ID stands for the id. Noise is printed
	// before the answer to a method.
	Answers map[string]string `json:"answers,omitempty"`
	Raw     map[string]string `json:"raw,omitempty"`
	Noise   map[string]string `json:"noise,omitempty"`
	// Prints says that there is output that is no message, of which the person is warned.
	Prints bool `json:"-"`
	// Wants is what the model then reads of a call of its tool "t"; "" is that it works.
	Wants string `json:"-"`
}

// Quirky is a program in Python, a server that does what the file quirk.json in its folder says, which is a Quirk.
const Quirky = `
import json, sys
q = json.load(open("quirk.json"))
for l in q.get("lines", []):
    print(l, flush=True)
plain = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "q", "version": "1"}},
    "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "it works"}]},
}
for line in sys.stdin:
    m = json.loads(line)
    n = m.get("method")
    if n is None:
        continue
    for l in q.get("noise", {}).get(n, "").split("\n"):
        if l:
            print(l, flush=True)
    if "id" not in m:
        continue
    if n in q.get("raw", {}) and "inputResponses" not in m.get("params", {}):
        print(q["raw"][n].replace("ID", str(m["id"])), flush=True)
        continue
    r = json.loads(q["answers"][n]) if n in q.get("answers", {}) and "inputResponses" not in m.get("params", {}) else plain.get(n, {})
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

func aTool(members string) map[string]string {
	return map[string]string{"tools/list": `{"tools":[{"name":"t",` + members + `}]}`}
}

func called(result string) map[string]string { return map[string]string{"tools/call": result} }

// newer are the answers of a server of the newer era.
var newer = map[string]string{"server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`}

// Quirks is the table.
var Quirks = []Quirk{
	{Name: "a banner", Source: "microsoft/azure-devops-mcp#147", Prints: true, Lines: []string{"Toy server 1.2 is running"}},
	{Name: "a log line in JSON", Source: "czlonkowski/n8n-mcp#555", Prints: true, Lines: []string{`{"level":"info","msg":"ready"}`}},
	{Name: "a number", Prints: true, Lines: []string{"42"}},
	{Name: "a null", Prints: true, Lines: []string{"null"}},
	{Name: "a byte order mark", Source: "modelcontextprotocol/typescript-sdk#2796", Raw: map[string]string{"tools/call": "\uFEFF" + `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"it works"}]}}`}},
	{Name: "no version of JSON-RPC", Raw: map[string]string{"tools/call": `{"id":ID,"result":{"content":[{"type":"text","text":"it works"}]}}`}},
	{Name: "an id as a text", Source: "modelcontextprotocol/python-sdk#1720", Raw: map[string]string{"tools/call": `{"jsonrpc":"2.0","id":"ID","result":{"content":[{"type":"text","text":"it works"}]}}`}},
	{Name: "an answer twice", Raw: map[string]string{"tools/list": `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}` + "\n" +
		`{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}}`}},
	{Name: "a batch", Source: "gensecaihq/Wazuh-MCP-Server#59", Raw: map[string]string{"tools/call": `[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}},` +
		`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"it works"}]}}]`}},
	{Name: "an error that is null", Raw: map[string]string{"tools/call": `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"it works"}]},"error":null}`}},
	{Name: "an error that is a text", Raw: map[string]string{"tools/call": `{"jsonrpc":"2.0","id":ID,"error":"no such row"}`}, Wants: "no such row"},
	{Name: "an error code that is a text", Raw: map[string]string{"tools/call": `{"jsonrpc":"2.0","id":ID,"error":{"code":"E42","message":"no such row"}}`}, Wants: "no such row"},
	{Name: "a tool's title that is a number", Answers: aTool(`"inputSchema":{"type":"object"},"title":5`)},
	{Name: "a tool's description that is a list", Answers: aTool(`"inputSchema":{"type":"object"},"description":["a"]`)},
	{Name: "annotations as a list", Answers: aTool(`"inputSchema":{"type":"object"},"annotations":[]`)},
	{Name: "a hint that is a text", Answers: aTool(`"inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"true"}`)},
	{Name: "icons as a text", Answers: aTool(`"inputSchema":{"type":"object"},"icons":"x.png"`)},
	{Name: "_meta as a list", Answers: aTool(`"inputSchema":{"type":"object"},"_meta":[]`)},
	{Name: "no schema", Answers: aTool(`"description":"x"`)},
	{Name: "a root that is a text", Source: "sandialabs/atlas-ui-3#727", Answers: aTool(`"inputSchema":{"type":"string"}`)},
	{Name: "a pattern that looks ahead", Source: "Dokploy/mcp#72", Answers: aTool(`"inputSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x)"}}}`)},
	{Name: "required: true", Answers: aTool(`"inputSchema":{"type":"object","properties":{"a":{"type":"string","required":true}}}`)},
	{Name: "another tool that is null", Source: "cognizant-ai-lab/neuro-san#1341", Answers: map[string]string{"tools/list": `{"tools":[null,{"name":"t","inputSchema":{"type":"object"}}]}`}},
	{Name: "another tool without a name", Answers: map[string]string{"tools/list": `{"tools":[{"name":7},{"name":"t","inputSchema":{"type":"object"}}]}`}},
	{Name: "tools as the whole answer", Answers: map[string]string{"tools/list": `[{"name":"t","inputSchema":{"type":"object"}}]`}},
	{Name: "a cursor that is a number", Answers: map[string]string{"tools/list": `{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":0}`}},
	{Name: "capabilities that are lists", Answers: map[string]string{"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":[],"logging":true},"serverInfo":{"name":"q","version":"1"}}`}},
	{Name: "a capability that is true", Answers: map[string]string{"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":true},"serverInfo":{"name":"q","version":"1"}}`}},
	{Name: "no capability declared", Answers: map[string]string{"initialize": `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"q","version":"1"}}`}},
	{Name: "capabilities that are null", Answers: map[string]string{"initialize": `{"protocolVersion":"2025-11-25","capabilities":null,"serverInfo":{"name":"q","version":"1"}}`}},
	{Name: "serverInfo as a text", Answers: map[string]string{"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":"q"}`}},
	{Name: "a version of itself that is a number", Answers: map[string]string{"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"q","version":1.2}}`}},
	{Name: "content as a text", Source: "GopherSecurity/gopher-mcp#202", Answers: called(`{"content":"it works"}`)},
	{Name: "content as one part", Answers: called(`{"content":{"type":"text","text":"it works"}}`)},
	{Name: "content of texts", Answers: called(`{"content":["it works"]}`)},
	{Name: "the answer is a text", Answers: called(`"it works"`)},
	{Name: "the answer is a list", Answers: called(`[{"type":"text","text":"it works"}]`)},
	{Name: "the answer is any object", Source: "samihalawa/mcp-server-smtp#4", Answers: called(`{"rows":"it works","n":1}`)},
	{Name: "toolResult of 2024-10-07", Source: "cloudflare/mcp-server-cloudflare#12", Answers: called(`{"toolResult":"it works"}`)},
	{Name: "a part of an unknown type", Source: "use-agent-os/agent-os#2249", Answers: called(`{"content":[{"type":"hologram","data":"x"},{"type":"text","text":"it works"}]}`)},
	{Name: "a part without a type", Answers: called(`{"content":[{"text":"it works"}]}`)},
	{Name: "a text that is a number", Answers: called(`{"content":[{"type":"text","text":4217}]}`), Wants: "4217"},
	{Name: "a picture that is no base64", Answers: called(`{"content":[{"type":"image","mimeType":"image/png","data":"%%"},{"type":"text","text":"it works"}]}`)},
	{Name: "isError as a text", Answers: called(`{"content":[{"type":"text","text":"it works"}],"isError":"false"}`)},
	{Name: "structured content beside a text", Source: "usememos/memos#6226", Answers: called(`{"content":[{"type":"text","text":"see below"}],"structuredContent":{"a":"it works"}}`)},
	{Name: "a blob", Answers: called(`{"content":[{"type":"resource","resource":{"uri":"x://y","mimeType":"application/zip","blob":"UEsDBP8="}}]}`), Wants: "application/zip, 5 bytes"},
	{Name: "a blob that is a text", Answers: called(`{"content":[{"type":"resource","resource":{"uri":"x://y","mimeType":"text/csv","blob":"aXQgd29ya3M="}}]}`)},
	// Lines that are no messages.
	{Name: "a heading and JSON in several lines", Source: "TSavo/printify-mcp#3", Prints: true, Lines: []string{"Found 2 shops: [", "  {", `    "id": 1`, "  }", "]"}},
	{Name: "a line of a log in the midst of a call", Source: "Kapeli/dash-mcp-server#10", Prints: true, Noise: map[string]string{"tools/call": "Processing request of type CallToolRequest"}},
	{Name: "words before an answer in its line", Prints: true, Raw: map[string]string{"tools/call": `Loading {model}... {"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"it works"}]}}`}},
	{Name: "a log of the request and of the answer", Prints: true, Noise: map[string]string{
		"tools/call": `< {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t"}}` + "\n" + `> {"jsonrpc":"2.0","id":2,"result":{"content":[]}}`,
	}},
	{Name: "an answer to a notification, without an id", Source: "zeenix/rust-analyzer-mcp#28", Prints: true, Noise: map[string]string{
		"notifications/initialized": `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found: notifications/initialized","data":null}}`,
	}},
	{Name: "an error for a notification, with the id null", Source: "pzalutski-pixel/sharplens-mcp#6", Prints: true, Noise: map[string]string{
		"notifications/initialized": `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found: notifications/initialized"}}`,
	}},
	{Name: "a result for a notification, with the id null", Source: "yjacquin/fast-mcp#39", Prints: true, Noise: map[string]string{
		"notifications/initialized": `{"jsonrpc":"2.0","id":null,"result":{}}`,
	}},
	{Name: "an error for a notification, with the id of initialize", Source: "oisee/odata_mcp_go#33", Noise: map[string]string{
		"notifications/initialized": `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: notifications/initialized"}}`,
	}},
	// Envelopes.
	{Name: "a list around the answer, and error null", Source: "gensecaihq/Wazuh-MCP-Server#59", Raw: map[string]string{
		"tools/list": `[{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]},"error":null}]`,
	}},
	// Handshakes.
	{Name: "no serverInfo and no version of the protocol", Source: "ian-cowley/MCPSqlServer#3", Answers: map[string]string{
		"initialize": `{"capabilities":{"tools":{}}}`,
	}},
	{
		Name: "the newer era alone", Source: "@modelcontextprotocol/server 2.4.0", Raw: map[string]string{
			"initialize": `{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"Unsupported protocol version: 2025-11-25","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}`,
		},
		Answers: newer,
	},
	{
		Name: "a question for roots without parameters", Source: "@modelcontextprotocol/server 2.4.0", Raw: map[string]string{
			"initialize": `{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"Unsupported protocol version: 2025-11-25","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}`,
			"tools/call": `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}}`,
		},
		Answers: newer,
	},
	{
		Name: "a question that is not known", Raw: map[string]string{
			"initialize": `{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"Unsupported protocol version: 2025-11-25","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}`,
			"tools/call": `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"dreams/list"}}}}`,
		},
		Answers: newer, Wants: "The server wants dreams/list before it answers, which is not known here.",
	},
	// Tools.
	{Name: "an empty schema", Source: "zereight/gitlab-mcp#286", Answers: aTool(`"inputSchema":{}`)},
	{Name: "a schema that is a dialect alone", Source: "modelcontextprotocol/servers#3051", Answers: aTool(`"inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#"}`)},
	{Name: "a root that is a reference into components", Source: "cognizant-ai-lab/neuro-san#1341", Answers: aTool(
		`"inputSchema":{"$ref":"#/components/schemas/C","components":{"schemas":{"C":{"type":"object","properties":{"a":{"type":"string"}}}}}}`)},
	{Name: "exclusiveMinimum of draft 4", Source: "Dokploy/mcp#74", Answers: aTool(
		`"inputSchema":{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"ttl":{"type":"integer","exclusiveMinimum":true,"minimum":0}}}`)},
	{Name: "a schema of results that is none", Source: "ThinkInAIXYZ/deepchat#2075", Answers: aTool(
		`"inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"type":{"type":"text of what it is"}}}`)},
	{Name: "a cursor that is null", Source: "Hmbown/Codewhale#5335", Answers: map[string]string{"tools/list": `{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":null}`}},
	{Name: "a cursor that is empty", Source: "modelcontextprotocol/java-sdk#575", Answers: map[string]string{"tools/list": `{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":""}`}},
	{Name: "a cursor that leads back", Source: "DeusData/codebase-memory-mcp#1247", Answers: map[string]string{"tools/list": `{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":"1"}`}},
	// Results.
	{Name: "content null beside structured content", Source: "agno-agi/agno#10239", Answers: called(`{"content":null,"structuredContent":{"a":"it works"}}`)},
	{Name: "structured content without content", Source: "use-agent-os/agent-os#2249", Answers: called(`{"structuredContent":{"a":"it works"}}`)},
	{Name: "no content at all", Source: "Minidoracat/mcp-feedback-enhanced#234", Answers: called(`{"isError":false}`), Wants: "(no output)"},
	{Name: "structured content that is a list", Source: "NovasPlace/CSM#28", Answers: called(`{"content":[],"structuredContent":[{"a":"it works"}]}`)},
	{Name: "a picture as a data URI", Source: "nota/gyazo-mcp-server#129", Answers: called(
		`{"content":[{"type":"image","mimeType":"image/png","data":"data:image/png;base64,aGVsbG8="},{"type":"text","text":"it works"}]}`)},
	{Name: "a picture as a URL", Source: "agentscope-ai/agentscope-java#3052", Answers: called(
		`{"content":[{"type":"image","mimeType":"image/png","data":"https://example.org/a.png"}]}`), Wants: "https://example.org/a.png"},
}

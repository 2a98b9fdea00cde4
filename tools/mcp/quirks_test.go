package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/tools/mcp"
)

// quirk is what a server does that the protocol does not have. answers are its results by method, in place of those of a plain server;
// lines are printed before its first message. wants is what the model then reads of a call of its tool "t".
type quirk struct {
	name    string
	source  string // where it was seen
	lines   []string
	answers map[string]string
	raw     map[string]string // whole messages by method; ID stands for the id
	wants   string
}

// quirky is a server that does what the file quirk.json in its folder says.
const quirky = `
import json, sys
q = json.load(open("quirk.json"))
for l in q["lines"] or []:
    print(l, flush=True)
plain = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "q", "version": "1"}},
    "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "it works"}]},
}
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m or "method" not in m:
        continue
    n = m["method"]
    if n in (q["raw"] or {}):
        print(q["raw"][n].replace("ID", str(m["id"])), flush=True)
        continue
    r = json.loads(q["answers"][n]) if n in (q["answers"] or {}) else plain.get(n, {})
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

func tool1(members string) map[string]string {
	return map[string]string{"tools/list": `{"tools":[{"name":"t",` + members + `}]}`}
}

func called1(result string) map[string]string { return map[string]string{"tools/call": result} }

// quirks: no library for servers is behind a row without a source; those are neighbours of the rows with one, of the same kind.
var quirks = []quirk{
	{name: "a banner", source: "microsoft/azure-devops-mcp#147", lines: []string{"Toy server 1.2 is running"}},
	{name: "a log line in JSON", source: "czlonkowski/n8n-mcp#555", lines: []string{`{"level":"info","msg":"ready"}`}},
	{name: "a number", lines: []string{"42"}},
	{name: "a null", lines: []string{"null"}},
	{name: "a byte order mark", raw: map[string]string{"tools/call": "\uFEFF" + `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"it works"}]}}`}},
	{name: "no version of JSON-RPC", raw: map[string]string{"tools/call": `{"id":ID,"result":{"content":[{"type":"text","text":"it works"}]}}`}},
	{name: "an id as a text", raw: map[string]string{"tools/call": `{"jsonrpc":"2.0","id":"ID","result":{"content":[{"type":"text","text":"it works"}]}}`}},
	{name: "an answer twice", raw: map[string]string{"tools/list": `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}` + "\n" +
		`{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}}`}},
	{name: "a batch", raw: map[string]string{"tools/call": `[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}},` +
		`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"it works"}]}}]`}},
	{name: "an error that is null", raw: map[string]string{"tools/call": `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"it works"}]},"error":null}`}},
	{name: "an error that is a text", raw: map[string]string{"tools/call": `{"jsonrpc":"2.0","id":ID,"error":"no such row"}`}, wants: "no such row"},
	{name: "an error code that is a text", raw: map[string]string{"tools/call": `{"jsonrpc":"2.0","id":ID,"error":{"code":"E42","message":"no such row"}}`}, wants: "no such row"},
	{name: "a tool's title that is a number", answers: tool1(`"inputSchema":{"type":"object"},"title":5`)},
	{name: "a tool's description that is a list", answers: tool1(`"inputSchema":{"type":"object"},"description":["a"]`)},
	{name: "annotations as a list", answers: tool1(`"inputSchema":{"type":"object"},"annotations":[]`)},
	{name: "a hint that is a text", answers: tool1(`"inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"true"}`)},
	{name: "icons as a text", answers: tool1(`"inputSchema":{"type":"object"},"icons":"x.png"`)},
	{name: "_meta as a list", answers: tool1(`"inputSchema":{"type":"object"},"_meta":[]`)},
	{name: "no schema", answers: tool1(`"description":"x"`)},
	{name: "a root that is a text", source: "sandialabs/atlas-ui-3#727", answers: tool1(`"inputSchema":{"type":"string"}`)},
	{name: "a pattern that looks ahead", source: "Dokploy/mcp#72", answers: tool1(`"inputSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x)"}}}`)},
	{name: "required: true", answers: tool1(`"inputSchema":{"type":"object","properties":{"a":{"type":"string","required":true}}}`)},
	{name: "another tool that is null", answers: map[string]string{"tools/list": `{"tools":[null,{"name":"t","inputSchema":{"type":"object"}}]}`}},
	{name: "another tool without a name", answers: map[string]string{"tools/list": `{"tools":[{"name":7},{"name":"t","inputSchema":{"type":"object"}}]}`}},
	{name: "tools as the whole answer", answers: map[string]string{"tools/list": `[{"name":"t","inputSchema":{"type":"object"}}]`}},
	{name: "a cursor that is a number", answers: map[string]string{"tools/list": `{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":0}`}},
	{name: "capabilities that are lists", answers: map[string]string{"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":[],"logging":true},"serverInfo":{"name":"q","version":"1"}}`}},
	{name: "serverInfo as a text", answers: map[string]string{"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":"q"}`}},
	{name: "a version of itself that is a number", answers: map[string]string{"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"q","version":1.2}}`}},
	{name: "content as a text", answers: called1(`{"content":"it works"}`)},
	{name: "content as one part", answers: called1(`{"content":{"type":"text","text":"it works"}}`)},
	{name: "content of texts", answers: called1(`{"content":["it works"]}`)},
	{name: "the answer is a text", answers: called1(`"it works"`)},
	{name: "the answer is a list", answers: called1(`[{"type":"text","text":"it works"}]`)},
	{name: "the answer is any object", answers: called1(`{"rows":"it works","n":1}`)},
	{name: "toolResult of 2024-10-07", answers: called1(`{"toolResult":"it works"}`)},
	{name: "a part of an unknown type", answers: called1(`{"content":[{"type":"hologram","data":"x"},{"type":"text","text":"it works"}]}`)},
	{name: "a part without a type", answers: called1(`{"content":[{"text":"it works"}]}`)},
	{name: "a text that is a number", answers: called1(`{"content":[{"type":"text","text":4217}]}`), wants: "4217"},
	{name: "a picture that is no base64", answers: called1(`{"content":[{"type":"image","mimeType":"image/png","data":"%%"},{"type":"text","text":"it works"}]}`)},
	{name: "isError as a text", answers: called1(`{"content":[{"type":"text","text":"it works"}],"isError":"false"}`)},
	{name: "structured content beside a text", answers: called1(`{"content":[{"type":"text","text":"see below"}],"structuredContent":{"a":"it works"}}`)},
	{name: "a blob", answers: called1(`{"content":[{"type":"resource","resource":{"uri":"x://y","mimeType":"application/zip","blob":"UEsDBP8="}}]}`), wants: "application/zip, 5 bytes"},
	{name: "a blob that is a text", answers: called1(`{"content":[{"type":"resource","resource":{"uri":"x://y","mimeType":"text/csv","blob":"aXQgd29ya3M="}}]}`)},
}

// TestFaultW11Quirks: a server that does one of these is of use all the same.
func TestFaultW11Quirks(t *testing.T) {
	for _, q := range quirks {
		t.Run(q.name, func(t *testing.T) {
			t.Parallel()
			b := begin(t, mcp.Options{}, mcp.Entry{Name: "q", Command: "python3", Args: []string{"-c", quirky}, Own: true, Source: "the test"})
			about, err := json.Marshal(map[string]any{"lines": q.lines, "answers": q.answers, "raw": q.raw})
			if err == nil {
				err = os.WriteFile(filepath.Join(b.Root, "quirk.json"), about, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			b.Prepare(t.Context())
			wants := q.wants
			if wants == "" {
				wants = "it works"
			}
			if r := b.call("mcp__q__t", `{}`); !strings.Contains(r.Data, wants) {
				t.Errorf("%s\n%+v", r.Data, b.States())
			}
		})
	}
}

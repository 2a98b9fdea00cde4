package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"tandem/filetime/text/show"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The library decodes an answer as a whole: one member of another type, or one part of a type that
// it does not know, costs all tools of a server, or ends the connection. So an answer is brought
// into the form that it decodes, before it does: what fits stays the same bytes, what does not is
// left out, and content of an unknown type is shown as text.

// results are what the library decodes the answers to methods into.
var results = sync.OnceValue(func() map[string]reflect.Type {
	return map[string]reflect.Type{
		"initialize":               reflect.TypeFor[sdk.InitializeResult](),
		"server/discover":          reflect.TypeFor[sdk.DiscoverResult](),
		"tools/list":               reflect.TypeFor[sdk.ListToolsResult](),
		"prompts/list":             reflect.TypeFor[sdk.ListPromptsResult](),
		"resources/list":           reflect.TypeFor[sdk.ListResourcesResult](),
		"resources/templates/list": reflect.TypeFor[sdk.ListResourceTemplatesResult](),
		"resources/read":           reflect.TypeFor[sdk.ReadResourceResult](),
		"prompts/get":              reflect.TypeFor[sdk.GetPromptResult](),
		"tools/call":               reflect.TypeFor[sdk.CallToolResult](),
	}
})

// asked are the methods of the requests that have no answer yet, by id.
type asked struct {
	mu      sync.Mutex
	methods map[string]string
}

func (a *asked) sent(id, method string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.methods == nil {
		a.methods = map[string]string{}
	}
	a.methods[id] = method
}

// answered is the method of a request that has its answer now.
func (a *asked) answered(id string) (method string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	method = a.methods[id]
	delete(a.methods, id)
	return method
}

// envelope is a message, as far as it is to be told from what is none.
type envelope map[string]json.RawMessage

func (e envelope) has(name string) bool { return e[name] != nil && string(e[name]) != "null" }

// message says that it is one: a request or a notification has a method, an answer has an id and a
// result or an error.
func (e envelope) message() bool {
	_, result := e["result"]
	return e.has("method") && e["method"][0] == '"' || e.has("id") && (result || e.has("error"))
}

// messages are those that a text holds, each in the form that the library decodes: several of a
// batch, none of what is no message.
func messages(text []byte) (out [][]byte) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\uFEFF")))
	var batch []json.RawMessage
	if json.Unmarshal(text, &batch) == nil {
		for _, one := range batch {
			out = append(out, messages(one)...)
		}
		return out
	}
	var e envelope
	if json.Unmarshal(text, &e) != nil || !e.message() {
		return nil
	}
	same := string(e["jsonrpc"]) == `"2.0"`
	if e.has("method") {
		if p := e["params"]; p != nil && p[0] != '{' && p[0] != '[' { // such as null
			delete(e, "params")
			same = false
		}
	} else if err, has := e["error"]; has {
		if now := failure(err); !bytes.Equal(now, err) {
			e["error"], same = now, false
			if now == nil {
				delete(e, "error")
			}
		}
	}
	if same {
		return [][]byte{text}
	}
	e["jsonrpc"] = json.RawMessage(`"2.0"`)
	text, _ = json.Marshal(e) // it was decoded from JSON
	return [][]byte{text}
}

// maxStarts is at how many places of a line an answer is looked for.
const maxStarts = 16

// answerBehind is the answer that a line ends with, nil where it ends with none: a program prints
// words without the end of a line, and the answer follows them. A request is none: a log shows
// those that were received.
func answerBehind(line []byte) []byte {
	at := 0
	for range maxStarts {
		next := bytes.IndexByte(line[at:], '{')
		if next < 0 {
			return nil
		}
		at += next
		var e envelope
		if found := messages(line[at:]); len(found) == 1 && json.Unmarshal(found[0], &e) == nil && !e.has("method") {
			return found[0]
		}
		at++
	}
	return nil
}

// failure is an error of an answer, nil for null. One that is a text, or has its code as one, is
// put right.
func failure(raw json.RawMessage) json.RawMessage {
	var e struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}
	switch {
	case string(raw) == "null":
		return nil
	case json.Unmarshal(raw, &e) == nil:
		return raw
	}
	var m map[string]any
	if json.Unmarshal(raw, &m) != nil {
		e.Message = plain(raw)
	} else if e.Message, _ = m["message"].(string); e.Message == "" {
		e.Message = string(raw)
	}
	e.Code = -32000
	out, _ := json.Marshal(e)
	return out
}

// plain is a JSON value as a text.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// mended is an answer to a method in the form that the library decodes. A nil one stays nil.
func mended(method string, raw json.RawMessage) json.RawMessage {
	of, known := results()[method]
	raw = requesting(method, raw)
	if method == "initialize" {
		raw = declared(versioned(raw))
	}
	if raw == nil || !known || json.Unmarshal(raw, reflect.New(of).Interface()) == nil && string(raw) != "null" && (method != "tools/call" || answers(raw)) {
		return raw
	}
	switch method {
	case "tools/call":
		raw = called(raw)
	case "prompts/get":
		raw = prompted(raw)
	default:
		if name := only(of); name != "" && raw[0] == '[' { // the list alone
			raw, _ = json.Marshal(map[string]json.RawMessage{name: raw})
		}
	}
	if out := fitting(raw, of); out != nil {
		return out
	}
	return json.RawMessage("{}")
}

// unversioned is the version of a server that tells none: the one that the protocol has taken for
// such servers since it has several.
const unversioned = "2025-03-26"

// versioned is the answer to initialize with a version of the protocol.
func versioned(raw json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil || m["protocolVersion"] != nil {
		return raw
	}
	m["protocolVersion"] = json.RawMessage(`"` + unversioned + `"`)
	out, _ := json.Marshal(m) // it was decoded from JSON
	return out
}

// declared is the answer to initialize with each capability as an object: some servers say true.
func declared(raw json.RawMessage) json.RawMessage {
	var m, all map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || json.Unmarshal(m["capabilities"], &all) != nil {
		return raw
	}
	some := false
	for name, value := range all {
		if string(value) == "true" {
			all[name], some = json.RawMessage(`{}`), true
		}
	}
	if !some {
		return raw
	}
	m["capabilities"], _ = json.Marshal(all)
	out, _ := json.Marshal(m)
	return out
}

// only is the name of the member of a result that is a list, "" where there are several or none.
func only(of reflect.Type) (name string) {
	for f := range of.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.Type.Kind() == reflect.Slice && tag != "" && tag != "-" {
			if name != "" {
				return ""
			}
			name = tag
		}
	}
	return name
}

// fitting is a value without what does not decode into a type, nil where nothing of it does.
func fitting(raw json.RawMessage, of reflect.Type) json.RawMessage {
	decodes := func(raw json.RawMessage) bool { return json.Unmarshal(raw, reflect.New(of).Interface()) == nil }
	if decodes(raw) {
		return raw
	}
	of2 := of
	for of2.Kind() == reflect.Pointer {
		of2 = of2.Elem()
	}
	var out json.RawMessage
	switch of2.Kind() {
	case reflect.Struct:
		var m map[string]json.RawMessage
		if json.Unmarshal(raw, &m) != nil {
			return nil
		}
		types := map[string]reflect.Type{}
		members(of2, types)
		for name, value := range m {
			if t := types[name]; t != nil && !content(t) {
				if m[name] = fitting(value, t); m[name] == nil {
					delete(m, name)
				}
			}
		}
		out, _ = json.Marshal(m)
	case reflect.Map:
		var m map[string]json.RawMessage
		if json.Unmarshal(raw, &m) != nil {
			return nil
		}
		for name, value := range m {
			if m[name] = fitting(value, of2.Elem()); m[name] == nil {
				delete(m, name)
			}
		}
		out, _ = json.Marshal(m)
	case reflect.Slice:
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil
		}
		kept := []json.RawMessage{}
		for _, value := range list {
			if value = fitting(value, of2.Elem()); value != nil {
				kept = append(kept, value)
			}
		}
		out, _ = json.Marshal(kept)
	}
	if out == nil || !decodes(out) {
		return nil
	}
	return out
}

// content says that a type is that of parts, which parts has seen to, and which decode within their
// message alone.
func content(t reflect.Type) bool {
	part := reflect.TypeFor[sdk.Content]()
	return t == part || t.Kind() == reflect.Slice && t.Elem() == part
}

// members are the types of the fields of a struct by their names in JSON.
func members(of reflect.Type, types map[string]reflect.Type) {
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			members(f.Type, types)
		case name != "" && name != "-":
			types[name] = f.Type
		}
	}
}

// answers says that an object has a member by which it is the answer of a call, and not what such
// an answer holds.
func answers(raw json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(raw, &m) == nil &&
		(len(m) == 0 || m["content"] != nil || m["structuredContent"] != nil || m["isError"] != nil || m["resultType"] != nil)
}

// called is the answer of a call with a list of parts as its content.
func called(raw json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil || !answers(raw) && m["toolResult"] == nil {
		m = map[string]json.RawMessage{"content": raw} // the answer alone
	}
	if m["content"] == nil && m["toolResult"] != nil { // as the first version of the protocol had it
		m["content"] = m["toolResult"]
	}
	m["content"] = parts(m["content"])
	if failed, is := m["isError"]; is {
		m["isError"], _ = json.Marshal(plain(failed) == "true" || plain(failed) == "1")
	}
	out, _ := json.Marshal(m)
	return out
}

// prompted is a prompt whose messages each have one part as their content. One with several becomes
// several messages.
func prompted(raw json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return raw
	}
	var all []map[string]json.RawMessage
	if json.Unmarshal(m["messages"], &all) != nil {
		var text string
		if json.Unmarshal(m["messages"], &text) != nil {
			return raw
		}
		all = []map[string]json.RawMessage{{"role": json.RawMessage(`"user"`), "content": m["messages"]}}
	}
	out := []map[string]json.RawMessage{}
	for _, one := range all {
		var several []json.RawMessage
		_ = json.Unmarshal(parts(one["content"]), &several)
		for _, p := range several {
			out = append(out, map[string]json.RawMessage{"role": one["role"], "content": p})
		}
	}
	m["messages"], _ = json.Marshal(out)
	js, _ := json.Marshal(m)
	return js
}

// parts is a list of parts, each of a type that is known.
func parts(raw json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil && raw != nil && string(raw) != "null" {
		list = []json.RawMessage{raw}
	}
	out := []json.RawMessage{}
	for _, p := range list {
		out = append(out, partOf(p))
	}
	js, _ := json.Marshal(out)
	return js
}

// maxUnknown is how much is shown of a part that is not known.
const maxUnknown = 2000

func partOf(raw json.RawMessage) json.RawMessage {
	one := answerOf(raw)
	if json.Unmarshal(one, new(sdk.CallToolResult)) == nil && string(raw) != "null" {
		return raw
	}
	var m map[string]json.RawMessage
	said := plain(raw)
	if json.Unmarshal(raw, &m) == nil && m != nil {
		if m["text"] != nil {
			said = plain(m["text"])
		} else {
			said = fmt.Sprintf("(a part of the type %s, which is not shown here: %s)", show.Clip(line(plain(m["type"])), 40), show.Clip(said, maxUnknown))
		}
	}
	text, _ := json.Marshal(map[string]string{"type": "text", "text": said})
	return text
}

// answerOf is an answer with one part.
func answerOf(part json.RawMessage) json.RawMessage {
	return bytes.Join([][]byte{[]byte(`{"content":[`), part, []byte(`]}`)}, nil)
}

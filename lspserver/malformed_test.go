package lspserver_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	lsp "go.lsp.dev/protocol"

	"tandem/lspserver/conformance"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire/wiretest"
)

// begin shakes hands with a server of a folder.
func (r *raw) begin(dir string) {
	r.t.Helper()
	r.send(request("0", "initialize", fmt.Sprintf(`{"processId":null,"rootUri":%q,"capabilities":{}}`, conformance.ToURI(dir))))
	r.answers("0", 0)
	r.send(frame(`{"jsonrpc":"2.0","method":"initialized","params":{}}`))
}

// result waits for the answer of an id and decodes its result.
func (r *raw) result(id string, out any) {
	r.t.Helper()
	for limit := time.After(patience); ; {
		select {
		case body, ok := <-r.in:
			var m struct {
				ID     json.RawMessage
				Method string
				Result json.RawMessage
				Error  json.RawMessage
			}
			if !ok || json.Unmarshal([]byte(body), &m) != nil {
				r.t.Fatalf("%v %s", ok, body)
			}
			if m.Method != "" {
				r.passed = append(r.passed, m.Method)
				continue
			}
			if string(m.ID) != id {
				continue
			}
			if err := json.Unmarshal(m.Result, out); err != nil {
				r.t.Fatalf("%s: %v", body, err)
			}
			return
		case <-limit:
			r.t.Fatal("no answer with id", id)
		}
	}
}

// alive wants a status request to be answered, and n other answers before or behind it.
func (r *raw) alive(id, n int) []string {
	r.t.Helper()
	r.send(request(strconv.Itoa(id), "tandem/status", "{}"))
	return r.answers(strconv.Itoa(id), n)
}

func (r *raw) bye() {
	r.t.Helper()
	r.send(request("999999", "shutdown", "null"))
	r.answers("999999", 0)
	r.send(frame(`{"jsonrpc":"2.0","method":"exit"}`))
	select {
	case code := <-r.exit:
		equal(r.t, "exit code", code, 0)
	case <-time.After(patience):
		r.t.Fatal("the server does not end")
	}
}

// Whatever comes in, the server is there afterwards, and answers what can be answered. All rows go to one server.
func TestCaseJ01J02J04J05J07J08J10Malformed(t *testing.T) {
	dir := folder(t)
	r := dialRaw(t, options(nil))
	r.begin(dir)
	var s struct{ SessionID string }
	r.send(request("1", "tandem/session/new", "{}"))
	r.result("1", &s)
	doc := conformance.ToURI(dir) + "/a.txt"
	note := func(method, params string) string {
		return frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
	}
	change := func(uri, version, changes string) string {
		return note("textDocument/didChange", fmt.Sprintf(`{"textDocument":{"uri":%q,"version":%s},"contentChanges":%s}`, uri, version, changes))
	}
	place := func(l1, c1, l2, c2 any) string {
		return fmt.Sprintf(`{"start":{"line":%v,"character":%v},"end":{"line":%v,"character":%v}}`, l1, c1, l2, c2)
	}
	edit := func(version string, l1, c1, l2, c2 any) string {
		return change(doc, version, fmt.Sprintf(`[{"range":%s,"text":"x"}]`, place(l1, c1, l2, c2)))
	}
	open := func(uri, text string) string {
		return note("textDocument/didOpen", fmt.Sprintf(`{"textDocument":{"uri":%q,"languageId":"x","version":1,"text":%s}}`, uri, text))
	}
	tool := func(name, args string) string {
		return request("7", "tandem/tools/call", fmt.Sprintf(`{"sessionId":%q,"name":%s,"arguments":%s}`, s.SessionID, name, args))
	}
	status := `{"jsonrpc":"2.0","id":7,"method":"tandem/status"}`
	const parse, invalid, params, ok = "null -32700", "null -32600", "7 -32602", "7 ok"
	long := strings.Repeat("x", 1<<20)
	many := 8 << 20 // three bytes each
	if wiretest.Raced() {
		many >>= 4
	}
	rows := []struct {
		name, in string
		want     string // answers, with commas; "?" for whatever comes
	}{
		// frames and headers
		{"length negative", "Content-Length: -1\r\n\r\n", ""},
		{"length zero", "Content-Length: 0\r\n\r\n", parse},
		{"length in letters", "Content-Length: abc\r\n\r\n", ""},
		{"length beyond 64 bits", "Content-Length: 99999999999999999999\r\n\r\n", ""},
		{"length with a fraction", "Content-Length: 12.5\r\n\r\n", ""},
		{"length in hexadecimal", "Content-Length: 0x10\r\n\r\n", ""},
		{"length missing", "Content-Type: x\r\n\r\n", ""},
		{"length twice", "Content-Length: 10\r\nContent-Length: 49\r\n\r\n" + status, ""},
		{"length of 1 GiB", "Content-Length: 1073741824\r\n\r\n{", parse},
		{"length too short", "Content-Length: 10\r\n\r\n" + status, parse},
		{"a line of 1 MB", "X: " + long + "\r\n\r\n", ""},
		{"10 000 header lines", strings.Repeat("X-Y: z\r\n", 10_000) + "\r\n", ""},
		{"bytes of no frame", "\x00\x01\xff\xfe garbage\r\n\r\n", ""},
		{"a request of HTTP", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", ""},
		{"a blank line only", "\r\n\r\n\r\n", ""},
		// bodies
		{"words", frame("{abc}"), parse},
		{"cut off", frame(status[:20]), parse},
		{"two values", frame(status + status), parse},
		{"NUL bytes", frame("\x00\x00\x00"), parse},
		{"invalid UTF-8", frame("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\"}"), parse},
		{"UTF-16", frame("\xff\xfe{\x00}\x00"), parse},
		{"lone surrogate", frame(`{"jsonrpc":"2.0","id":7,"method":"tandem/status","params":{"a":"\ud800"}}`), "7 -32700"},
		{"10 001 levels", frame(strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)), parse},
		{"1 000 000 levels", frame(`{"jsonrpc":"2.0","id":7,"method":"tandem/status","params":` + strings.Repeat(`{"a":`, 1_000_000)), parse},
		{"24 MB of small values", frame(`{"jsonrpc":"2.0","id":7,"method":"tandem/status","params":{"a":[` + strings.Repeat("{},", many) + `{}]}}`), ok},
		{"a number of a megabyte", frame(`{"jsonrpc":"2.0","id":7,"method":"tandem/status","params":{"a":` + strings.Repeat("9", 1<<20) + `}}`), ok},
		{"65 MiB", frame(`"` + strings.Repeat("x", 65<<20) + `"`), invalid},
		// envelopes
		{"a batch", frame("[" + status + "]"), invalid},
		{"a batch of 10 000", frame("[" + strings.Repeat(status+",", 9999) + status + "]"), invalid},
		{"an empty batch", frame("[]"), invalid},
		{"a scalar", frame("7"), invalid},
		{"an empty object", frame("{}"), invalid},
		{"id null", frame(`{"jsonrpc":"2.0","id":null,"method":"tandem/status"}`), invalid},
		{"id 1e999", frame(`{"jsonrpc":"2.0","id":1e999,"method":"tandem/status"}`), invalid},
		{"id an object", frame(`{"jsonrpc":"2.0","id":{"a":1},"method":"tandem/status"}`), invalid},
		{"id true", frame(`{"jsonrpc":"2.0","id":true,"method":"tandem/status"}`), invalid},
		{"id beyond 64 bits", frame(`{"jsonrpc":"2.0","id":9223372036854775808,"method":"tandem/status"}`), invalid},
		{"no version", frame(`{"id":7,"method":"tandem/status"}`), "7 -32600"},
		{"another version", frame(`{"jsonrpc":"1.0","id":7,"method":"tandem/status"}`), "7 -32600"},
		{"method a number", frame(`{"jsonrpc":"2.0","id":7,"method":7}`), "7 -32600"},
		{"method twice", frame(`{"jsonrpc":"2.0","id":7,"method":"tandem/none","method":"tandem/status"}`), "7 -32600"},
		{"METHOD", frame(`{"jsonrpc":"2.0","id":7,"METHOD":"tandem/status"}`), "7 -32600"},
		{"method empty", request("7", "", "{}"), "7 -32601"},
		{"method of a megabyte", request("7", long, "{}"), "7 -32601"},
		{"an answer to nothing", frame(`{"jsonrpc":"2.0","id":12345,"result":{}}`), ""},
		{"an answer without an id", frame(`{"jsonrpc":"2.0","result":{}}`), "?"},
		{"an error of another shape", frame(`{"jsonrpc":"2.0","id":12345,"error":[1]}`), ""},
		{"initialize again", request("7", "initialize", "{}"), "7 -32600"},
		{"initialized again", note("initialized", "{}"), ""},
		{"a notification as a request", request("7", "textDocument/didOpen", "{}"), "7 -32601"},
		{"a request as a notification", note("tandem/session/prompt", "{}"), ""},
		{"a name twice in our parameters", tool(`"glob"`, `{"a":1,"a":2}`), params},
		{"params a string", request("7", "tandem/tools/call", `"x"`), params},
		{"params true", request("7", "tandem/session/prompt", `true`), params},
		// cancels
		{"cancel of nothing", note("$/cancelRequest", `{"id":4711}`), ""},
		{"cancel without an id", note("$/cancelRequest", `{}`), ""},
		{"cancel of an object", note("$/cancelRequest", `{"id":{}}`), ""},
		{"cancel of an unknown session", note("tandem/session/cancel", `{"sessionId":"s-none"}`), ""},
		{"cancel of a session that is a number", note("tandem/session/cancel", `{"sessionId":-1}`), ""},
		// documents
		{"change of a document that is not open", change(conformance.ToURI(dir)+"/none.txt", "2", `[{"text":"x"}]`), ""},
		{"close of a document that is not open", note("textDocument/didClose", fmt.Sprintf(`{"textDocument":{"uri":%q}}`, conformance.ToURI(dir)+"/none.txt")), ""},
		{"save of a document that is not open", note("textDocument/didSave", fmt.Sprintf(`{"textDocument":{"uri":%q}}`, conformance.ToURI(dir)+"/none.txt")), ""},
		{"open", open(doc, `"one\ntwo\n"`), ""},
		{"open again", open(doc, `"one\ntwo\n"`), ""},
		{"open with half a character", open(conformance.ToURI(dir)+"/half.txt", `"a\ud800b"`), ""},
		{"open of no file", open("untitled:Untitled-1", `"x"`), ""},
		{"open of no URI", open("::not a uri\u0000", `"x"`), "?"},
		{"open of another host", open("file://elsewhere/etc/passwd", `"x"`), ""},
		{"open of a document without a name", open("", `"x"`), "?"},
		{"version backwards", edit("-5", 0, 0, 0, 0), ""},
		{"version beyond 32 bits", edit("99999999999", 0, 0, 0, 0), ""},
		{"version a string", edit(`"2"`, 0, 0, 0, 0), ""},
		{"a place behind the end", edit("3", 1000, 1000, 1000, 1001), ""},
		{"a place at the largest numbers", edit("4", 4294967295, 4294967295, 4294967295, 4294967295), ""},
		{"a place beyond 32 bits", edit("5", 4294967296, 0, 4294967296, 0), ""},
		{"a place before the beginning", edit("6", -1, 0, 0, 0), ""},
		{"a range backwards", edit("7", 1, 2, 0, 1), ""},
		{"a place with a fraction", edit("8", 0.5, 0, 1, 0), ""},
		{"no changes", change(doc, "9", `[]`), ""},
		{"changes null", change(doc, "10", `null`), ""},
		{"a change that says nothing", change(doc, "11", `[{}]`), ""},
		{"10 000 changes", change(doc, "12", "["+strings.Repeat(`{"range":`+place(0, 0, 0, 0)+`,"text":"y"},`, 9999)+`{"text":"one"}]`), ""},
		{"watched files of no kind", note("workspace/didChangeWatchedFiles", `{"changes":[{"uri":"file:///","type":77},{"uri":"x","type":-1}]}`), ""},
		{"folders of no kind", note("workspace/didChangeWorkspaceFolders", `{"event":{"added":[{"uri":"http://x","name":""}],"removed":[{"uri":"","name":""}]}}`), ""},
		{"configuration of another shape", note("workspace/didChangeConfiguration", `{"settings":[1,2,3]}`), ""},
		{"configuration with wrong types", note("workspace/didChangeConfiguration", `{"settings":{"tandem":{"mode":7,"limits":[],"providers":"x"}}}`), ""},
		{"a trace of no kind", note("$/setTrace", `{"value":"loud"}`), ""},
		// sessions and tools
		{"an unknown session", request("7", "tandem/session/prompt", `{"sessionId":"s-none","prompt":[]}`), "7 -32011"},
		{"a session id of a megabyte", request("7", "tandem/session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[]}`, long)), "7 -32011"},
		{"a session id that is a path", request("7", "tandem/session/load", `{"sessionId":"../../../etc/passwd"}`), "7 -32011"},
		{"a prompt of blocks of no kind", request("7", "tandem/session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"hologram"}]}`, s.SessionID)), ok},
		{"a tool of no name", tool(`""`, "{}"), ok},
		{"a tool whose name is a number", tool("5", "{}"), params},
		{"arguments that are no object", tool(`"glob"`, `[1]`), ok},
		{"arguments null", tool(`"glob"`, `null`), ok},
		{"a negative offset", tool(`"read_file"`, `{"path":"a.txt","offset":-7,"limit":-1}`), ok},
		{"an offset beyond 64 bits", tool(`"read_file"`, `{"path":"a.txt","offset":99999999999999999999}`), ok},
		{"a pattern that is none", tool(`"grep"`, `{"pattern":"(((("}`), ok},
		{"a path of a megabyte", tool(`"read_file"`, fmt.Sprintf(`{"path":%q}`, long)), ok},
		{"a time that is negative", tool(`"bash"`, `{"command":"true","timeout_ms":-5}`), ok},
		{"a cursor that is none", request("7", "tandem/session/list", `{"cursor":"no cursor"}`), "?"},
		{"an undo of a negative turn", request("7", "tandem/changes/undo", fmt.Sprintf(`{"sessionId":%q,"scope":"turn","turn":-1}`, s.SessionID)), "?"},
		{"a batch of no calls", request("7", "tandem/tools/batch", fmt.Sprintf(`{"sessionId":%q,"calls":null}`, s.SessionID)), "?"},
	}
	if len(rows) < 49 {
		t.Errorf("%d rows", len(rows))
	}
	for i, row := range rows {
		began := time.Now()
		r.send(row.in)
		want := strings.FieldsFunc(row.want, func(c rune) bool { return c == ',' })
		if row.want == "?" {
			want = nil
		}
		got := r.alive(1000+i, len(want))
		if row.want != "?" && !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", row.name, got, want)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: took %v", row.name, took)
		}
	}
	// The document went through all that with its last whole text.
	var read json.RawMessage
	r.send(strings.Replace(tool(`"read_file"`, `{"path":"a.txt"}`), `"id":7`, `"id":8`, 1))
	r.result("8", &read)
	if !strings.Contains(string(read), "one") {
		t.Errorf("a.txt: %s", read)
	}
	r.bye()
}

// wrong are values that some member does not take.
var wrong = []string{
	"null", "true", "-1", "0.5", "1e300", "99999999999999999999", `""`, `"x"`, `"\u0000"`, "[]", "[[]]", "{}", `{"a":{}}`,
	`"file:///"`, `["x",null,1]`,
}

// spoil gives v with each of its nodes in turn replaced by something wrong.
func spoil(v any, depth int) (out []string) {
	out = append(out, wrong...)
	raw := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if depth == 0 {
				continue
			}
			others := []string{}
			for other, value := range v {
				if other != name {
					others = append(others, raw(other)+":"+raw(value))
				}
			}
			slices.Sort(others)
			for _, bad := range spoil(member, depth-1) {
				out = append(out, "{"+strings.Join(append(others, raw(name)+":"+bad), ",")+"}")
			}
		}
	case []any:
		if len(v) > 0 && depth > 0 {
			for _, bad := range spoil(v[0], depth-1) {
				out = append(out, "["+bad+"]")
			}
		}
	}
	return out
}

// fill puts something into everything.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), depth-1)
			}
		}
	case reflect.Slice:
		if depth > 0 && v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), depth-1)
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint32:
		v.SetUint(1)
	}
}

// Parameters of the wrong types, at every place, for every method that there is: each request is answered once.
func TestMalformedParametersOfEveryMethod(t *testing.T) {
	dir := folder(t)
	r := dialRaw(t, options(nil))
	r.begin(dir)
	id, sent := 10, 0
	var session struct{ SessionID string }
	for _, m := range protocol.Methods() {
		if m.Direction == protocol.ToClient || m.Name == "exit" || m.Name == "shutdown" || m.Name == "initialize" {
			continue
		}
		// A folder that a message before has named may be one that a person is asked about.
		r.send(frame(`{"jsonrpc":"2.0","method":"workspace/didChangeWorkspaceFolders","params":{"event":{"added":[],"removed":[{"uri":"file:///","name":"/"}]}}}`))
		id++
		r.send(request(strconv.Itoa(id), "tandem/session/new", "{}"))
		r.result(strconv.Itoa(id), &session)
		var base any
		if m.Params != nil {
			for _, depth := range []int{6, 0} { // not every union can be filled
				v := reflect.New(m.Params)
				fill(v.Elem(), depth)
				raw, err := lsp.Marshal(v.Interface())
				if err == nil && json.Unmarshal(raw, &base) == nil {
					break
				}
			}
		}
		if o, ok := base.(map[string]any); ok {
			if o["sessionId"] != nil {
				o["sessionId"] = session.SessionID
			}
			if d, ok := o["textDocument"].(map[string]any); ok {
				d["uri"] = conformance.ToURI(dir) + "/doc.txt"
			}
		}
		for _, params := range spoil(base, 4) {
			sent++
			if m.Kind == protocol.Notification {
				r.send(frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, m.Name, params)))
				continue
			}
			id++
			r.send(request(strconv.Itoa(id), m.Name, params))
			r.answers(strconv.Itoa(id), 0)
		}
		id++
		r.alive(id, 0)
	}
	if sent < 1000 {
		t.Errorf("only %d messages", sent)
	}
	t.Logf("%d messages", sent)
	r.bye()
}

// A document near the limit of a message, one beyond it, and two thousand at once.
func TestHugeDocuments(t *testing.T) {
	dir := folder(t)
	r := dialRaw(t, options(nil))
	r.begin(dir)
	size := 58 << 20
	if wiretest.Raced() {
		size >>= 4
	}
	huge := strings.Repeat("a line of a huge document\n", 60<<20/26)
	uri := conformance.ToURI(dir) + "/huge.txt"
	open := func(uri, text string) string {
		return frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":%q,"languageId":"x","version":1,"text":%s}}}`,
			uri, strings.ReplaceAll(`"`+text+`"`, "\n", `\n`)))
	}
	before := live()
	r.send(open(uri, huge[:size])) // the line ends take two bytes each
	r.alive(1, 0)
	held := live() - before
	if int(held) < size*9/10 || int(held) > 4*size { // what was there before may be given back meanwhile
		t.Errorf("%d MB are held of a document of %d", held>>20, size>>20)
	}
	last := strings.Count(huge[:size], "\n")
	for version := 2; version < 50; version++ {
		r.send(frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":%q,"version":%d},`+
			`"contentChanges":[{"range":{"start":{"line":%d,"character":0},"end":{"line":%d,"character":0}},"text":"typed\n"}]}}`,
			uri, version, last-version, last-version)))
	}
	r.alive(2, 0)
	r.send(open(conformance.ToURI(dir)+"/beyond.txt", huge+strings.Repeat("x", 8<<20)))
	sameList(t, "a message beyond the limit", r.alive(3, 1), "null -32600")
	r.send(frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didClose","params":{"textDocument":{"uri":%q}}}`, uri)))
	r.alive(4, 0)
	if after := live(); after > before+8<<20 {
		t.Errorf("%d MB are held of a document that was closed", (after-before)>>20)
	}

	var s struct{ SessionID string }
	r.send(request("5", "tandem/session/new", "{}"))
	r.result("5", &s)
	const many = 2000
	var b strings.Builder
	for i := range many {
		b.WriteString(open(fmt.Sprintf("%s/many/%04d.txt", conformance.ToURI(dir), i), fmt.Sprintf("text %d\n", i)))
	}
	r.send(b.String())
	began := time.Now()
	r.alive(6, 0)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("%d documents took %v", many, took)
	}
	var read struct{ Data string }
	r.send(request("7", "tandem/tools/call", fmt.Sprintf(`{"sessionId":%q,"name":"read_file","arguments":{"path":"many/1999.txt"}}`, s.SessionID)))
	r.result("7", &read)
	if !strings.Contains(read.Data, "text 1999") {
		t.Errorf("the last of them says %q", read.Data)
	}
	for i := range many {
		r.send(frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didClose","params":{"textDocument":{"uri":"%s/many/%04d.txt"}}}`, conformance.ToURI(dir), i)))
	}
	r.alive(8, 0)
	r.bye()
}

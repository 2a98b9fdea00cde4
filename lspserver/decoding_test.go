package lspserver_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	lsp "go.lsp.dev/protocol"

	"tandem/lspserver/conformance"
	"tandem/lspserver/protocol"
	codec "tandem/lspserver/wire"
)

// received are the types of what clients send: the parameters of their messages and the results of the server's requests.
func received() (out []reflect.Type) {
	for _, m := range protocol.Methods() {
		t := m.Params
		if m.Direction == protocol.ToClient {
			t = m.Result
		}
		if t != nil && t.Kind() == reflect.Struct && ofLSP(t) {
			out = append(out, t)
		}
	}
	// Those that are read as types of ours, see TestFaultD1ContentChanges and TestFaultD2Versions.
	return slices.DeleteFunc(out, func(t reflect.Type) bool {
		return strings.HasPrefix(t.Name(), "Did") && strings.HasSuffix(t.Name(), "TextDocumentParams")
	})
}

func ofLSP(t reflect.Type) bool { return t.PkgPath() == reflect.TypeFor[lsp.Position]().PkgPath() }

// leaf is a value in a message: how the message is written around it, and its type.
type leaf struct {
	path         string
	around       func(value string) string
	typ          reflect.Type
	required, in bool // in: it is an element of a list, or a Nullable, which tells null from absent
}

// leaves finds the scalars, unions and enums of a type, each in a message that has nothing but what leads to it.
func leaves(t reflect.Type, path string, around func(string) string, required bool, depth int) (out []leaf) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name := t.Name(); ofLSP(t) && (strings.HasPrefix(name, "Optional[") || strings.HasPrefix(name, "Nullable[")) {
		f, _ := t.FieldByName("value")
		out := leaves(f.Type, path, around, required, depth)
		if len(out) == 1 && out[0].path == path {
			out[0].in = strings.HasPrefix(name, "Nullable[")
		}
		return out
	}
	switch {
	case depth > 9 || t == reflect.TypeFor[lsp.LSPAny]() || t.Kind() == reflect.Struct && !ofLSP(t):
		return nil
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous && name == "" {
				out = append(out, leaves(f.Type, path, around, required, depth+1)...)
				continue
			}
			if !f.IsExported() || name == "" || name == "-" {
				continue
			}
			out = append(out, leaves(f.Type, path+"."+name, func(v string) string {
				if v == "" {
					return around("{}")
				}
				return around(fmt.Sprintf(`{%q:%s}`, name, v))
			}, !strings.Contains(options, "omit"), depth+1)...)
		}
		return out
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		for _, l := range leaves(t.Elem(), path+"[]", func(v string) string { return around("[" + v + "]") }, true, depth+1) {
			l.in = l.in || !strings.Contains(strings.TrimPrefix(l.path, path+"[]"), ".")
			out = append(out, l)
		}
		return out
	case t.Kind() == reflect.Interface, t.Kind() == reflect.String, t.Kind() == reflect.Bool, t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64:
		return []leaf{{path: path, around: around, typ: t, required: required}}
	}
	return nil
}

// The unions and enums of go.lsp.dev/protocol that clients send and the server reads. Each is read with null, with a fraction
// of zero and with a value that is unknown: null is absent, 1.0 is 1, and a value that nobody knows refuses no message.
func TestFaultD2UnionsAndEnums(t *testing.T) {
	want := []string{
		"ClientSemanticTokensRequestOptionsFull", "ClientSemanticTokensRequestOptionsRange", "CodeActionKind", "CodeActionTag", "CodeActionTriggerKind",
		"CompletionItemKind", "CompletionItemTag", "DiagnosticSeverity", "DiagnosticTag", "FailureHandlingKind", "FileChangeType", "FoldingRangeKind",
		"InlayHintTooltip", "InsertTextMode", "MarkupKind", "PositionEncodingKind", "PrepareSupportDefaultBehavior", "ProgressToken",
		"RegularExpressionEngineKind", "ResourceOperationKind", "SymbolKind", "SymbolTag", "TextDocumentSaveReason", "TokenFormat", "TraceValue",
	}
	met := map[string]bool{}
	read := func(typ reflect.Type, body string) (any, error) {
		p := reflect.New(typ)
		err := codec.Unmarshal([]byte(body), p.Interface())
		return p.Elem().Interface(), err
	}
	for _, root := range received() {
		for _, l := range leaves(root, root.Name(), func(v string) string { return v }, true, 0) {
			kind := l.typ.Kind()
			number := kind >= reflect.Int && kind <= reflect.Uint64
			if kind == reflect.Interface || ofLSP(l.typ) && l.typ != reflect.TypeFor[lsp.URI]() {
				met[l.typ.Name()] = true
			}
			if !l.in {
				got, err := read(root, l.around("null"))
				absent, absentErr := read(root, l.around(""))
				if err != nil || absentErr != nil || !reflect.DeepEqual(got, absent) {
					t.Errorf("%s: null is not absent: %v %v", l.path, err, absentErr)
				}
			}
			if number {
				got, err := read(root, l.around("2.0"))
				whole, wholeErr := read(root, l.around("2"))
				if err != nil || wholeErr != nil || !reflect.DeepEqual(got, whole) {
					t.Errorf("%s: 2.0 is not 2: %v %v", l.path, err, wholeErr)
				}
			}
			unknown := map[bool]string{true: "99", false: `"unknown"`}[number]
			switch {
			case kind == reflect.Bool:
				continue
			case kind == reflect.Interface:
				unknown = `4294967295`
				if _, err := read(root, l.around(`4294967295.0`)); err != nil && !l.required {
					t.Errorf("%s: a large number: %v", l.path, err)
				}
			}
			if _, err := read(root, l.around(unknown)); err != nil && (!l.required || kind != reflect.Interface) {
				t.Errorf("%s: %s: %v", l.path, unknown, err)
			}
			if _, err := read(root, l.around(`{"unknown":[]}`)); err != nil && !l.required {
				t.Errorf("%s: an object: %v", l.path, err)
			}
		}
	}
	if got := slices.Sorted(maps.Keys(met)); !slices.Equal(got, want) {
		t.Errorf("unions and enums that are read:\n%q, the table has\n%q", got, want)
	}
}

// wait takes messages of the server until one with a method comes, and gives its id and parameters.
func (r *raw) wait(method string) (id string, params json.RawMessage) {
	r.t.Helper()
	for limit := time.After(patience); ; {
		select {
		case body, ok := <-r.in:
			var m struct {
				ID     json.RawMessage
				Method string
				Params json.RawMessage
			}
			if !ok || json.Unmarshal([]byte(body), &m) != nil {
				r.t.Fatalf("%v %s", ok, body)
			}
			if m.Method == method {
				return string(m.ID), m.Params
			}
		case <-limit:
			r.t.Fatal("no", method)
		}
	}
}

// A change that is not understood never becomes another text: the document is not read until its text is known again, by a
// resync or by a whole text. Where the client serves no resync, its person is asked to reopen the document.
func TestFaultD1OutOfSync(t *testing.T) {
	const broken = `{"range":{"start":{"line":0.5,"character":0},"end":{"line":1,"character":0}},"text":"x"}`
	for _, resync := range []bool{false, true} {
		t.Run(fmt.Sprint("resync ", resync), func(t *testing.T) {
			dir := folder(t)
			r := dialRaw(t, options(nil))
			r.send(request("0", "initialize", fmt.Sprintf(
				`{"processId":null,"rootUri":%q,"capabilities":{"experimental":{"tandem":{"protocolVersion":1,"resync":%v}}}}`, conformance.ToURI(dir), resync)))
			r.answers("0", 0)
			r.send(frame(`{"jsonrpc":"2.0","method":"initialized","params":{}}`))
			r.send(request("1", "tandem/session/new", "{}"))
			var s struct{ SessionID string }
			r.result("1", &s)
			doc := "file://localhost" + filepath.Join(dir, "a.txt")
			note := func(method, params string) {
				r.send(frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/%s","params":%s}`, method, params)))
			}
			change := func(version int, changes string) {
				note("didChange", fmt.Sprintf(`{"textDocument":{"uri":%q,"version":%d},"contentChanges":[%s]}`, doc, version, changes))
			}
			read := func(id string) {
				r.send(request(id, "tandem/tools/call", fmt.Sprintf(`{"sessionId":%q,"name":"read_file","arguments":{"path":"a.txt"}}`, s.SessionID)))
			}
			var got struct {
				Success     bool
				Data, Error string
			}
			note("didOpen", fmt.Sprintf(`{"textDocument":{"uri":%q,"languageId":"x","version":1,"text":"one\ntwo\n"}}`, doc))
			change(2, `{"text":"gone"},`+broken)
			if resync {
				read("2")
				id, params := r.wait("tandem/documents/resync")
				if !strings.Contains(string(params), doc) {
					t.Errorf("the text is asked for under another name than the client's: %s", params)
				}
				r.send(frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"text":"whole\n","version":2}}`, id)))
				r.result("2", &got)
				if !got.Success || !strings.Contains(got.Data, "whole") {
					t.Errorf("after the resync: %+v", got)
				}
			} else {
				if _, params := r.wait("window/showMessage"); !strings.Contains(string(params), "Close and reopen it.") {
					t.Errorf("%s", params)
				}
				read("2")
				r.result("2", &got)
				if got.Success || got.Error != "READ_ERROR" || strings.Contains(got.Data, "gone") || strings.Contains(got.Data, "two") {
					t.Errorf("a text that nobody knows: %+v", got)
				}
				change(3, `{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"text":"more"}`)
				read("3")
				if r.result("3", &got); got.Success {
					t.Errorf("after a later change: %+v", got)
				}
				change(4, `{"range":null,"text":"whole\n"}`)
				read("4")
				if r.result("4", &got); !got.Success || !strings.Contains(got.Data, "whole") {
					t.Errorf("after a whole text: %+v", got)
				}
			}
			r.bye()
		})
	}
}

func TestFaultD2Initialize(t *testing.T) {
	for _, member := range []string{
		`"trace":null`, `"trace":"compact"`, `"processId":1.0`, `"rootPath":null`, `"locale":null`, `"clientInfo":null`,
		`"capabilities":{"workspace":{"workspaceEdit":{"failureHandling":null,"resourceOperations":null,"documentChanges":null}}}`,
		`"capabilities":{"workspace":{"workspaceEdit":{"failureHandling":7}},"general":{"positionEncodings":["utf-8","cells"]}}`,
		`"capabilities":{"textDocument":{"semanticTokens":{"requests":{"range":null,"full":"delta"}}},"general":null,"window":null}`,
	} {
		dir := folder(t)
		r := dialRaw(t, options(nil))
		r.send(request("0", "initialize", fmt.Sprintf(`{"rootUri":%q,%s}`, conformance.ToURI(dir), member)))
		var got struct{ Capabilities json.RawMessage }
		if r.result("0", &got); len(got.Capabilities) == 0 {
			t.Errorf("%s: %+v", member, got)
		}
		r.bye()
	}
}

// handClient is a client by hand: it has one document and a spelling of its URI.
type handClient struct {
	*raw
	session, doc, text string
}

func newHandClient(t *testing.T, name, content string, spell func(path string) string) *handClient {
	dir := folder(t)
	r := dialRaw(t, options(nil))
	r.send(request("0", "initialize", fmt.Sprintf(`{"processId":null,"rootUri":%q,"capabilities":{"workspace":{"applyEdit":true,
		"workspaceEdit":{"documentChanges":true}},"experimental":{"tandem":{"protocolVersion":1,"save":true}}},
		"initializationOptions":{"limits":{"heldMs":1000}}}`, conformance.ToURI(dir))))
	r.answers("0", 0)
	r.send(frame(`{"jsonrpc":"2.0","method":"initialized","params":{}}`))
	r.send(request("1", "tandem/session/new", `{"mode":"auto"}`))
	var s struct{ SessionID string }
	r.result("1", &s)
	return &handClient{raw: r, session: s.SessionID, doc: spell(filepath.Join(dir, name)), text: content}
}

func (c *handClient) note(method, format string, args ...any) {
	c.t.Helper()
	c.send(frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, fmt.Sprintf(format, args...))))
}

func (c *handClient) tool(id, name, args string) {
	c.send(request(id, "tandem/tools/call", fmt.Sprintf(`{"sessionId":%q,"name":%q,"arguments":%s}`, c.session, name, args)))
}

// edited answers the next workspace/applyEdit, shows the document with its version, and gives what the edit was for.
func (c *handClient) edited(version string) (uri string, of json.RawMessage) {
	c.t.Helper()
	id, params := c.wait("workspace/applyEdit")
	var p struct {
		Edit struct {
			DocumentChanges []struct {
				TextDocument struct {
					URI     string
					Version json.RawMessage
				}
				Edits []struct {
					Range   json.RawMessage
					NewText string
				}
			}
		}
	}
	if err := json.Unmarshal(params, &p); err != nil || len(p.Edit.DocumentChanges) != 1 || len(p.Edit.DocumentChanges[0].Edits) != 1 {
		c.t.Fatalf("%s: %v", params, err)
	}
	d := p.Edit.DocumentChanges[0]
	c.note("textDocument/didChange", `{"textDocument":{"uri":%q,"version":%s},"contentChanges":[{"range":%s,"text":%q}]}`,
		c.doc, version, d.Edits[0].Range, d.Edits[0].NewText)
	c.send(frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"applied":true}}`, id)))
	return d.TextDocument.URI, d.TextDocument.Version
}

// A client that says no version, or one with a fraction, has its documents read and edited; an edit names the version that was
// said, or none.
func TestFaultD2NoVersion(t *testing.T) {
	for said, want := range map[string]string{"null": "null", "1.0": "2", `"x"`: "null"} {
		c := newHandClient(t, "a.txt", "", func(path string) string { return "file://" + path })
		next := map[bool]string{true: "2.0", false: said}[said == "1.0"]
		c.note("textDocument/didOpen", `{"textDocument":{"uri":%q,"languageId":"x","version":%s,"text":"one\ntwo\n"}}`, c.doc, said)
		c.note("textDocument/didChange", `{"textDocument":{"uri":%q,"version":%s},"contentChanges":[{"text":"one\nthree\n"}]}`, c.doc, next)
		c.tool("2", "read_file", `{"path":"a.txt"}`)
		var got struct {
			Success bool
			Data    string
		}
		if c.result("2", &got); !strings.Contains(got.Data, "three") {
			t.Errorf("version %s: %+v", said, got)
		}
		c.tool("3", "edit_file", `{"path":"a.txt","old_text":"three","new_text":"four"}`)
		if _, version := c.edited(map[bool]string{true: "3.0", false: said}[said == "1.0"]); string(version) != want && !(want == "null" && len(version) == 0) {
			t.Errorf("version %s: the edit is for %s", said, version)
		}
		if c.result("3", &got); !got.Success {
			t.Errorf("version %s: %+v", said, got)
		}
		c.bye()
	}
}

// All spellings of a URI are one document, and the client gets back the one that it opened the document with.
func TestFaultW5OwnSpelling(t *testing.T) {
	escaped := func(path string) string {
		var b strings.Builder
		for _, c := range []byte(path) {
			if c == '/' {
				b.WriteByte(c)
				continue
			}
			fmt.Fprintf(&b, "%%%02x", c)
		}
		return b.String()
	}
	spellings := map[string]func(string) string{
		"canonical": conformance.ToURI,
		"localhost": func(p string) string { return "file://localhost" + p },
		"scheme":    func(p string) string { return "FILE://" + p },
		"slash":     func(p string) string { return "file:" + p },
		"bare":      func(p string) string { return "file://" + p },
		"escaped":   func(p string) string { return "file://" + escaped(p) },
	}
	others := slices.Sorted(maps.Keys(spellings))
	for i, name := range others {
		t.Run(name, func(t *testing.T) {
			const file = "(group)/[ü].txt"
			var path string
			c := newHandClient(t, file, "", func(p string) string { path = p; return spellings[name](p) })
			other := spellings[others[(i+1)%len(others)]](path)
			c.note("textDocument/didOpen", `{"textDocument":{"uri":%q,"languageId":"x","version":1,"text":"one\ntwo\n"}}`, c.doc)
			c.note("textDocument/didChange", `{"textDocument":{"uri":%q,"version":2},"contentChanges":[{"text":"one\nthree\n"}]}`, other)
			c.tool("2", "read_file", fmt.Sprintf(`{"path":%q}`, file))
			var got struct {
				Success bool
				Data    string
			}
			if c.result("2", &got); !strings.Contains(got.Data, "three") {
				t.Errorf("%+v", got)
			}
			c.tool("3", "edit_file", fmt.Sprintf(`{"path":%q,"old_text":"three","new_text":"four"}`, file))
			if uri, _ := c.edited("3"); uri != c.doc {
				t.Errorf("the edit is for %s, the client has %s", uri, c.doc)
			}
			if c.result("3", &got); !got.Success {
				t.Errorf("%+v", got)
			}
			c.send(request("4", "tandem/changes/list", fmt.Sprintf(`{"sessionId":%q}`, c.session)))
			var list struct{ Files []struct{ URI string } }
			if c.result("4", &list); len(list.Files) != 1 || list.Files[0].URI != c.doc {
				t.Errorf("the changes are of %+v, the client has %s", list, c.doc)
			}
			c.note("textDocument/didClose", `{"textDocument":{"uri":%q}}`, other)
			c.tool("5", "read_file", fmt.Sprintf(`{"path":%q}`, file))
			if c.result("5", &got); got.Success {
				t.Errorf("a file that is not on disk, after its document was closed: %+v", got)
			}
			c.bye()
		})
	}
}

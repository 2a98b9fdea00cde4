package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tandem/sandbox"
	"tandem/tools"
)

// switching is a process that can be switched unless err says why not. It writes down what it was switched to.
type switching struct {
	sandbox.Process
	err error
	log *[]string
}

func (s *switching) Access(write bool) error {
	if s.err != nil {
		*s.log = append(*s.log, "refused")
		return s.err
	}
	*s.log = append(*s.log, map[bool]string{true: "writes", false: "reads"}[write])
	return nil
}

// TestAccessBetweenCalls: a process writes while a call runs, and only reads otherwise; where it cannot be switched the workspace is looked
// after between its calls too, until it can be or has ended.
func TestAccessBetweenCalls(t *testing.T) {
	for name, tt := range map[string]struct {
		always bool
		steps  string // of watch settle use done close, busy (it cannot be switched) and free
		want   string
		said   int // how often something was said of what was found
		keeps  bool
	}{
		"one call":                    {false, "watch settle use done close", "begin reads end writes reads", 1, false},
		"two at once":                 {false, "watch settle use use done done", "begin reads end writes reads", 1, false},
		"one after another":           {false, "watch settle use done use done", "begin reads end writes reads writes reads", 1, false},
		"a call from the beginning":   {false, "watch use settle done", "begin reads end", 1, false},
		"it writes at any time":       {true, "watch settle use done close", "begin end", 1, false},
		"it cannot be switched":       {false, "watch busy settle use done close", "begin refused refused end", 1, true},
		"it cannot be switched back":  {false, "watch settle use busy done close", "begin reads end writes refused begin end", 3, true},
		"it can be again":             {false, "watch settle use busy done free use done close", "begin reads end writes refused begin reads end", 3, true},
		"a call while it is watched":  {false, "watch settle use busy done free use use done done", "begin reads end writes refused begin reads end", 3, true},
		"it ends during a call":       {false, "watch settle use close done", "begin reads end writes", 1, false},
		"it ends before it is asked":  {false, "watch close", "begin end", 1, false},
		"it ends while it is watched": {false, "watch busy settle use close done", "begin refused end", 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			var log []string
			said := 0
			p := &switching{log: &log}
			a := &access{
				process: p, always: tt.always,
				begin: func() []string { log = append(log, "begin"); return nil },
				end:   func() []string { log = append(log, "end"); return []string{"found"} },
			}
			var open []func() []string
			heard := func(s []string) { said += len(s) }
			for _, step := range strings.Fields(tt.steps) {
				switch step {
				case "watch":
					heard(a.watch())
				case "settle":
					heard(a.settle())
				case "use":
					open = append(open, a.use())
				case "done":
					heard(open[0]())
					open = open[1:]
				case "close":
					heard(a.close())
				case "busy":
					p.err = syscall.EBUSY
				case "free":
					p.err = nil
				}
			}
			if got := strings.Join(log, " "); got != tt.want || a.keeps.Load() != tt.keeps {
				t.Errorf("%s, keeps %v; want %s", got, a.keeps.Load(), tt.want)
			}
			if ends := strings.Count(tt.want, "end"); said != ends {
				t.Errorf("said %d times, of %d ends", said, ends)
			}
		})
	}
	var none *access
	if none.use()() != nil || none.settle() != nil || none.close() != nil {
		t.Error("without a sandbox something is said")
	}
	gone := &access{process: &switching{err: errors.New("it has ended"), log: new([]string)}, begin: func() []string { return nil }}
	gone.settle()
	if gone.keeps.Load() {
		t.Error("a process that has ended keeps files open")
	}
}

// TestAnswersToForms: an answer of a person becomes a value of the field's type, or none.
func TestAnswersToForms(t *testing.T) {
	choice := func(s string) field {
		var f field
		if err := json.Unmarshal([]byte(s), &f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	oneOf := choice(`{"oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}`)
	enum := choice(`{"enum":["x","y"],"enumNames":["X"]}`)
	for _, tt := range []struct {
		f      field
		answer string
		want   any // nil is none
	}{
		{oneOf, "0", "a"},
		{oneOf, "1", "b"},
		{oneOf, "2", nil},
		{oneOf, "-1", nil},
		{oneOf, "a", nil},
		{oneOf, "", nil},
		{enum, "0", "x"},
		{enum, "1", "y"},
		{enum, "2", nil},
		{enum, "-1", nil},
		{enum, "x", nil},
		{field{Type: "boolean"}, "true", true},
		{field{Type: "boolean"}, "false", false},
		{field{Type: "boolean"}, "maybe", nil},
		{field{Type: "integer"}, "7", 7},
		{field{Type: "integer"}, "7.5", nil},
		{field{Type: "number"}, "7.5", 7.5},
		{field{Type: "number"}, "x", nil},
		{field{Type: "string"}, "x", "x"},
		{field{}, "x", "x"},
		{field{Type: "object"}, "x", nil},
	} {
		value, ok := tt.f.value(tt.answer)
		if ok != (tt.want != nil) || ok && value != tt.want {
			t.Errorf("%+v %q: %v, %v", tt.f, tt.answer, value, ok)
		}
	}
	for _, tt := range []struct {
		f    field
		want string
	}{
		{oneOf, "decline No answer, 0 A, 1 B"},
		{enum, "decline No answer, 0 X, 1 y"},
		{field{Type: "boolean"}, "decline No answer, true Yes, false No"},
		{field{Type: "string"}, ""},
	} {
		var got []string
		for _, o := range tt.f.options() {
			got = append(got, o.ID+" "+o.Label)
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%+v offers %q, want %s", tt.f, got, tt.want)
		}
	}
}

// level is a Runner with a level, and no program but this one.
type level struct {
	sandbox.Runner
	name string
}

func (l level) Level() sandbox.Level { return sandbox.Level{Name: l.name} }

func (level) Find(string, sandbox.Surroundings) (string, error) { return os.Executable() }

// TestLaunchesAreToldOf: what a person is asked about, and what is judged, is all of a launch: the program or the address, the names of
// variables and headers, and whether a sandbox confines it.
func TestLaunchesAreToldOf(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		e        Entry
		level    string
		told     string
		title    string
		act      tools.Act
		confined bool
		profile  sandbox.Profile
		args     []string // parts of the arguments
		not      []string
	}{
		"a command": {
			Entry{Name: "s", Command: "x", Source: "f"},
			sandbox.LevelFull,
			"f names this server. The command: " + self + ". It gets no variables.", "Start the MCP server s: " + self,
			tools.Runs, true, sandbox.Loopback,
			[]string{`"folder":"` + dir, `"sandbox":`, self},
			[]string{"url", "headers"},
		},
		"without a sandbox here": {
			Entry{Name: "s", Command: "x", Args: []string{"a b"}, Source: "f"},
			sandbox.LevelNone,
			"f names this server. The command: " + self + ` "a b". It gets no variables. No sandbox confines it.`, "Start the MCP server s: " + self + ` "a b"`,
			tools.Runs, false, sandbox.Unconfined,
			[]string{`"a b"`},
			nil,
		},
		"without a sandbox as written": {
			Entry{Name: "s", Command: "x", Source: "f", Own: true, Unconfined: true},
			sandbox.LevelFull,
			"f names this server. The command: " + self + ". It gets no variables. No sandbox confines it.", "Start the MCP server s: " + self,
			tools.Runs, false, sandbox.Unconfined, nil, nil,
		},
		"with variables, writing": {
			Entry{Name: "s", Command: "x", Source: "f", Env: map[string]string{"B": "secret", "A": "1"}, Writes: true},
			sandbox.LevelFull,
			"f names this server. The command: " + self + ". It gets the variables A, B. It may change files of the workspace at any time, also between its calls.",
			"Start the MCP server s: " + self, tools.Runs, true, sandbox.Loopback,
			[]string{`"env":["A","B"]`},
			[]string{"secret"},
		},
		"an address": {
			Entry{Name: "s", URL: "https://example.org/mcp", Source: "f", Writes: true},
			sandbox.LevelFull,
			"f names this server.", "Connect to the MCP server s at https://example.org/mcp",
			tools.Reaches, false, 0,
			[]string{`"url":"https://example.org/mcp"`},
			[]string{"folder", "sandbox", "command"},
		},
		"an address with headers": {
			Entry{Name: "s", URL: "https://example.org/mcp", Source: "f", Headers: map[string]string{"X-Key": "secret", "A": "1"}},
			sandbox.LevelFull,
			"f names this server. It gets the headers A, X-Key.", "Connect to the MCP server s at https://example.org/mcp",
			tools.Reaches, false, 0,
			[]string{`"headers":["A","X-Key"]`},
			[]string{"secret"},
		},
	} {
		paths := &sandbox.Paths{Cwd: dir, Read: []string{dir}, Write: []string{dir}}
		l, err := prepare(tt.e, &tools.Env{Paths: paths, Commands: tools.CommandEnv{Runner: level{name: tt.level}}})
		paths.Close()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		need, args := l.Need(), string(l.Args())
		if l.Told() != tt.told || l.Title() != tt.title {
			t.Errorf("%s: %s\n%s", name, l.Told(), l.Title())
		}
		if need.Act != tt.act || need.Confined != tt.confined || need.Profile != tt.profile || need.Scripts != l.Seal || l.Seal == "" {
			t.Errorf("%s: %+v", name, need)
		}
		if class := l.Tool().Spec().Class; (class == tools.ClassNetwork) != (tt.act == tools.Reaches) || need.Act == tools.Reaches && need.Host != "example.org" {
			t.Errorf("%s: class %s, %+v", name, class, need)
		}
		for _, part := range tt.args {
			if !strings.Contains(args, part) {
				t.Errorf("%s: no %s in %s", name, part, args)
			}
		}
		for _, part := range tt.not {
			if strings.Contains(args, part) {
				t.Errorf("%s: %s in %s", name, part, args)
			}
		}
	}
}

// TestEntriesThatAreRefused: what is wrong with an entry, and what a proposal may not do, is said; nothing of it is started.
func TestEntriesThatAreRefused(t *testing.T) {
	for _, tt := range []struct {
		e    Entry
		says string // "" where it is fine
	}{
		{Entry{Name: "s", Command: "x"}, ""},
		{Entry{Name: "s", URL: "https://x"}, ""},
		{Entry{Name: "s", Command: "x", Bad: "bad"}, "bad"},
		{Entry{Name: "!", Command: "x"}, "no name"},
		{Entry{Name: "s"}, "either"},
		{Entry{Name: "s", Command: "x", URL: "https://x"}, "either"},
		{Entry{Name: "s", Command: "x\x00"}, "NUL"},
		{Entry{Name: "s", Command: "x", Args: []string{"a\x00"}}, "NUL"},
		{Entry{Name: "s", Command: "x", Unconfined: true}, "switch the sandbox off"},
		{Entry{Name: "s", Command: "x", Unconfined: true, Own: true}, ""},
		{Entry{Name: "s", URL: "https://x", KeyCommand: []string{"k"}}, "prints a key"},
		{Entry{Name: "s", URL: "https://x", KeyCommand: []string{"k"}, Own: true}, ""},
		{Entry{Name: "s", Command: "x", KeyCommand: []string{"k"}, Own: true}, "with a url alone"},
		{Entry{Name: "s", Command: "x", Env: map[string]string{"": "1"}}, "no variable"},
		{Entry{Name: "s", Command: "x", Env: map[string]string{"A=": "1"}}, "no variable"},
		{Entry{Name: "s", Command: "x", Env: map[string]string{"A": "\x00"}}, "no variable"},
		{Entry{Name: "s", Command: "x", Env: map[string]string{"A": "1"}}, ""},
		{Entry{Name: "s", Command: "x", Env: map[string]string{"ld_preload": "1"}}, "a proposal cannot"},
		{Entry{Name: "s", Command: "x", Env: map[string]string{"DYLD_X": "1"}}, "a proposal cannot"},
		{Entry{Name: "s", Command: "x", Env: map[string]string{"NODE_OPTIONS": "1"}}, "a proposal cannot"},
		{Entry{Name: "s", Command: "x", Env: map[string]string{"PATH": "1"}, Own: true}, ""},
	} {
		err := tt.e.Check()
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v", tt.e, err)
		}
	}
}

// TestNamesOfServers: names of servers and tools keep to their bounds, and two stay two.
func TestNamesOfServers(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "My Server!": "My_Server", "__a__b__": "a_b", strings.Repeat("x", 40): strings.Repeat("x", 40),
	} {
		if got := (Entry{Name: name}).Key(); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	one, two := Entry{Name: strings.Repeat("x", 41)}.Key(), Entry{Name: strings.Repeat("x", 42)}.Key()
	if len(one) != maxServer || len(two) != maxServer || one == two {
		t.Errorf("%s and %s", one, two)
	}
	e := Entry{Name: "s"}
	fits := strings.Repeat("t", maxName-len("mcp__s__"))
	if got := e.toolName(fits); got != "mcp__s__"+fits {
		t.Error(got)
	}
	if a, b := e.toolName(fits+"a"), e.toolName(fits+"b"); len(a) != maxName || len(b) != maxName || a == b {
		t.Errorf("%s and %s", a, b)
	}
	for tool, want := range map[string]string{
		"mcp__s__t": "s", "MCP__S__T": "s", "mcp__s__t__u": "s", "mcp__s__": "", "mcp__s": "", "s__t": "", "xmcp__s__t": "",
	} {
		if got := KeyOf(tool); got != want {
			t.Errorf("%s is of %q, want %q", tool, got, want)
		}
	}
	command, address := Entry{Name: "s", Command: "x"}, Entry{Name: "s", URL: "https://x"}
	if command.id("/a") == command.id("/b") || address.id("/a") != address.id("/b") {
		t.Error("a process is that of its folder, an address is not")
	}
	other := command
	if other.Source = "elsewhere"; other.id("/a") != command.id("/a") {
		t.Error("the tools depend on the file that names the server")
	}
	if other.Args = []string{"-x"}; other.id("/a") == command.id("/a") {
		t.Error("another server has the same tools")
	}
}

// TestAnswersAreMended: an answer that the library would not decode is brought into its form; one that it decodes stays as it is.
func TestAnswersAreMended(t *testing.T) {
	for _, tt := range []struct{ method, in, want string }{
		{"initialize", `{"protocolVersion":"1","capabilities":{"tools":true,"prompts":{}}}`, `{"capabilities":{"prompts":{},"tools":{}},"protocolVersion":"1"}`},
		{"initialize", `{"protocolVersion":"1","capabilities":{"tools":{}}}`, `{"protocolVersion":"1","capabilities":{"tools":{}}}`},
		{"initialize", `{"capabilities":{}}`, `{"capabilities":{},"protocolVersion":"2025-03-26"}`},
		{"initialize", `{"protocolVersion":"1","capabilities":7}`, `{"protocolVersion":"1"}`},
		{"initialize", `{"protocolVersion":"1","capabilities":{"tools":false}}`, `{"capabilities":{},"protocolVersion":"1"}`},
		{"tools/call", `{"content":[{"type":"text","text":"a"}]}`, `{"content":[{"type":"text","text":"a"}]}`},
		{"tools/call", `{"content":"a"}`, `{"content":[{"text":"a","type":"text"}]}`},
		{"tools/call", `{"content":[null]}`, `{"content":[{"text":"","type":"text"}]}`},
		{"tools/call", `{"content":[7]}`, `{"content":[{"text":"7","type":"text"}]}`},
		{"tools/call", `{"content":[{"type":"film","text":"a"}]}`, `{"content":[{"text":"a","type":"text"}]}`},
		{"tools/call", `{"content":[{"type":"film","x":1}]}`, `{"content":[{"text":"(a part of the type film, which is not shown here: {\"type\":\"film\",\"x\":1})","type":"text"}]}`},
		{"tools/call", `{"content":[],"isError":"true"}`, `{"content":[],"isError":true}`},
		{"tools/call", `{"content":[],"isError":"no"}`, `{"content":[],"isError":false}`},
		{"tools/call", `{"content":[],"isError":1}`, `{"content":[],"isError":true}`},
		{"tools/call", `{"toolResult":"a"}`, `{"content":[{"text":"a","type":"text"}],"toolResult":"a"}`},
		{"tools/call", `"a"`, `{"content":[{"text":"a","type":"text"}]}`},
		{"tools/call", `{"x":1}`, `{"content":[{"text":"(a part of the type , which is not shown here: {\"x\":1})","type":"text"}]}`},
		{"tools/call", `{}`, `{}`},
		{"prompts/get", `{"messages":"a"}`, `{"messages":[{"content":{"type":"text","text":"a"},"role":"user"}]}`},
		{"prompts/get", `{"messages":[{"role":"user","content":["a","b"]}]}`, `{"messages":[{"content":{"text":"a","type":"text"},"role":"user"},{"content":{"text":"b","type":"text"},"role":"user"}]}`},
		{"prompts/get", `7`, `{}`},
		{"prompts/get", `{"messages":7}`, `{}`},
		{"tools/list", `[{"name":"a","inputSchema":{"type":"object"}}]`, `{"tools":[{"inputSchema":{"type":"object"},"name":"a"}]}`},
		{"tools/list", `{"tools":[{"name":"a","description":7},7]}`, `{"tools":[{"name":"a"}]}`},
		{"tools/list", `{"tools":[{"name":"a"}]}`, `{"tools":[{"name":"a"}]}`},
		{"resources/read", `{"contents":[{"uri":"u","text":"t","mimeType":7}]}`, `{"contents":[{"uri":"u","text":"t"}]}`},
		{"unknown", `{"x":7}`, `{"x":7}`},
	} {
		got := string(mended(tt.method, json.RawMessage(tt.in)))
		var a, b any
		if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(tt.want), &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s %s:\n%s, want\n%s", tt.method, tt.in, got, tt.want)
		}
	}
	if mended("tools/call", nil) != nil {
		t.Error("no answer is one")
	}
	for in, want := range map[string]string{
		`null`:                               ``,
		`{"code":1,"message":"a"}`:           `{"code":1,"message":"a"}`,
		`"a"`:                                `{"code":-32000,"message":"a"}`,
		`7`:                                  `{"code":-32000,"message":"7"}`,
		`{"code":"x","message":"a"}`:         `{"code":-32000,"message":"a"}`,
		`{"code":"x","message":7}`:           `{"code":-32000,"message":"{\"code\":\"x\",\"message\":7}"}`,
		`{"code":"x","message":""}`:          `{"code":-32000,"message":"{\"code\":\"x\",\"message\":\"\"}"}`,
		`["a"]`:                              `{"code":-32000,"message":"[\"a\"]"}`,
		`{"code":1,"message":"a","data":{}}`: `{"code":1,"message":"a","data":{}}`,
	} {
		if got := string(failure(json.RawMessage(in))); got != want {
			t.Errorf("the error %s: %s, want %s", in, got, want)
		}
	}
}

// TestMessagesOfALine: messages of a text are told from what is none, each in the form that the library decodes.
func TestMessagesOfALine(t *testing.T) {
	for in, want := range map[string][]string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`:              {`{"jsonrpc":"2.0","id":1,"result":{}}`},
		"\ufeff" + `{"jsonrpc":"2.0","method":"m"}`:         {`{"jsonrpc":"2.0","method":"m"}`},
		`{"id":1,"result":null}`:                            {`{"id":1,"jsonrpc":"2.0","result":null}`},
		`{"id":null,"result":{}}`:                           nil,
		`{"id":1}`:                                          nil,
		`{"id":1,"error":null}`:                             nil,
		`{"jsonrpc":"2.0","id":1,"error":"a"}`:              {`{"error":{"code":-32000,"message":"a"},"id":1,"jsonrpc":"2.0"}`},
		`{"jsonrpc":"2.0","id":1,"error":null,"result":{}}`: {`{"id":1,"jsonrpc":"2.0","result":{}}`},
		`{"method":7}`:                                      nil,
		`{"jsonrpc":"2.0","method":"m","params":null}`:      {`{"jsonrpc":"2.0","method":"m"}`},
		`{"jsonrpc":"2.0","method":"m","params":[]}`:        {`{"jsonrpc":"2.0","method":"m","params":[]}`},
		`[{"jsonrpc":"2.0","method":"m"},7,{"method":"n"}]`: {`{"jsonrpc":"2.0","method":"m"}`, `{"jsonrpc":"2.0","method":"n"}`},
		`words`: nil,
		`7`:     nil,
	} {
		var got []string
		for _, m := range messages([]byte(in)) {
			got = append(got, string(m))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		`words {"id":1,"result":{}}`:      `{"id":1,"jsonrpc":"2.0","result":{}}`,
		`{a} {"id":1,"result":{}}`:        `{"id":1,"jsonrpc":"2.0","result":{}}`,
		`words {"method":"m"}`:            ``,
		`words {"id":1,"result":{}} more`: ``,
		`words`:                           ``,
	} {
		if got := string(answerBehind([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestBooksOfRequests: an answer is given once and to a request that was made; a server may not have too many requests open.
func TestBooksOfRequests(t *testing.T) {
	id := func(v any) jsonrpc.ID {
		out, err := jsonrpc.MakeID(v)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	p := newPipe(nil, strings.NewReader(""), nil, nil)
	p.sent[id(1.0)], p.sent[id("a")] = true, true
	for _, tt := range []struct {
		id    jsonrpc.ID
		again bool
		fine  bool
	}{
		{id(2.0), false, false}, {id(1.0), false, true}, {id(1.0), true, true}, {id("1"), true, true}, {id("a"), false, true}, {id("b"), false, false},
	} {
		again, err := p.count(&jsonrpc.Response{ID: tt.id})
		var bad *violation
		if again != tt.again || (err == nil) != tt.fine || err != nil && !errors.As(err, &bad) {
			t.Errorf("%v: again %v, %v", tt.id.Raw(), again, err)
		}
	}
	for range 2 * maxAsked {
		if again, err := p.count(&jsonrpc.Request{Method: "note"}); again || err != nil {
			t.Fatalf("a notification: %v, %v", again, err)
		}
	}
	for n := range maxAsked + 1 {
		_, err := p.count(&jsonrpc.Request{ID: id(float64(n)), Method: "ask"})
		if (err == nil) != (n < maxAsked) {
			t.Errorf("request %d: %v", n, err)
		}
	}
}

// TestStreamsAreMended: the answer in an event of a stream is mended as one that is alone, with the id that it was asked by; what is no
// message, or too long, passes as it is.
func TestStreamsAreMended(t *testing.T) {
	sent := func() *asked {
		a := &asked{}
		a.sent("1", "tools/call")
		return a
	}
	for in, want := range map[string]string{
		"event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":\"a\"}}\n\n": "event: message\ndata:{\"id\":1,\"jsonrpc\":\"2.0\",\"result\":{\"content\":[{\"text\":\"a\",\"type\":\"text\"}]}}\n\n",
		"data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}\n\n":                              "data:{\"id\":1,\"jsonrpc\":\"2.0\",\"result\":{}}\n\n",
		"data: words\n\n": "data:words\n\n",
		"data: [{\"jsonrpc\":\"2.0\",\"method\":\"m\"},{\"jsonrpc\":\"2.0\",\"method\":\"n\"}]\n\n": "data: [{\"jsonrpc\":\"2.0\",\"method\":\"m\"},{\"jsonrpc\":\"2.0\",\"method\":\"n\"}]\n\n",
		": comment\n": ": comment\n",
		"data: cut":   "data: cut",
	} {
		ended := 0
		e := &events{in: bufio.NewReaderSize(strings.NewReader(in), 16), mend: sent().mend, ended: func() { ended++ }}
		out, err := io.ReadAll(e)
		if err != nil || string(out) != want || ended != 1 {
			t.Errorf("%q: %q, %v, ended %d times", in, out, err, ended)
		}
	}
	if out, err := io.ReadAll(&events{in: bufio.NewReader(strings.NewReader("x\n")), mend: sent().mend}); err != nil || string(out) != "x\n" {
		t.Errorf("%q, %v", out, err)
	}
	long := "data: " + strings.Repeat("x", maxMessage+(200<<10)) + "\n"
	if out, err := io.ReadAll(&events{in: bufio.NewReaderSize(strings.NewReader(long), 64<<10), mend: func([]byte) []byte { return []byte("mended") }}); err != nil || string(out) != long {
		t.Errorf("%d bytes of a line that is too long, %v", len(out), err)
	}
}

// TestExpectedAnswers: the method of a request is noted with its id; a notification and a body that is none are not.
func TestExpectedAnswers(t *testing.T) {
	for body, want := range map[string]string{
		`{"id":1,"method":"tools/call"}`: "tools/call", `{"method":"tools/call"}`: "", `{"id":1}`: "", `words`: "",
	} {
		a := &asked{}
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://x/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		a.expect(r)
		if got := a.answered("1"); got != want || a.answered("1") != "" {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://x/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := new(asked).expect(r); got != "" {
		t.Error(got)
	}
}

// TestVersionsAreNamed: an error about versions names those of the server, or what it said.
func TestVersionsAreNamed(t *testing.T) {
	coded := func(code int64, message, data string) error {
		return &jsonrpc.Error{Code: code, Message: message, Data: json.RawMessage(data)}
	}
	for _, tt := range []struct {
		err   error
		says  string
		newer bool
		about bool
	}{
		{coded(sdk.CodeUnsupportedProtocolVersion, "no", `{"supported":["1999-01-01"]}`), "it speaks the version 1999-01-01 of", false, true},
		{coded(sdk.CodeUnsupportedProtocolVersion, "no", `{"supported":["`+newest+`"]}`), "it speaks the version " + newest, true, true},
		{coded(sdk.CodeUnsupportedProtocolVersion, "no", `{"supported":["2999-01-01"]}`), "it speaks the version 2999-01-01", false, true},
		{coded(-1, "Bad Protocol Version", `null`), "it speaks another version of the protocol (Bad Protocol Version)", false, true},
		{coded(-1, "no", `null`), "no", false, false},
		{errors.New(`unsupported protocol version: "1"`), "it speaks the version 1 of", false, true},
		{errors.New("boom"), "boom", false, false},
	} {
		err := versions(tt.err)
		var v *versionError
		if is := errors.As(err, &v); is != tt.about || is && v.newer() != tt.newer || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v: %v", tt.err, err)
		}
	}
}

// TestToolsOfAServer: what a server says of a tool makes questions milder and no more; one whose parameters are too large is left out.
func TestToolsOfAServer(t *testing.T) {
	yes, no := true, false
	for name, tt := range map[string]struct {
		a    *sdk.ToolAnnotations
		want string
	}{
		"nothing":       {nil, "network dangerous false alone false"},
		"reads":         {&sdk.ToolAnnotations{ReadOnlyHint: true}, "network moderate true reads true"},
		"destroys":      {&sdk.ToolAnnotations{DestructiveHint: &yes}, "network dangerous false alone false"},
		"destroys none": {&sdk.ToolAnnotations{DestructiveHint: &no}, "network moderate true alone false"},
		"idempotent":    {&sdk.ToolAnnotations{IdempotentHint: true}, "network dangerous false alone true"},
		"closed":        {&sdk.ToolAnnotations{OpenWorldHint: &no}, "execute dangerous false alone false"},
		"open":          {&sdk.ToolAnnotations{OpenWorldHint: &yes}, "network dangerous false alone false"},
	} {
		for _, url := range []string{"", "https://example.org"} {
			s := newServer(&Servers{}, Entry{Name: "s", Command: "x", URL: url})
			tool, err := s.tool("mcp__s__t", toolDescriptor{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: tt.a})
			if err != nil {
				t.Fatal(err)
			}
			spec := tool.Spec()
			together := map[bool]string{true: "reads", false: "alone"}[spec.Together == tools.WithReads]
			if got := fmt.Sprint(spec.Class, " ", spec.Danger, " ", spec.NotDestructive, " ", together, " ", spec.Idempotent); got != tt.want {
				t.Errorf("%s: %s, want %s", name, got, tt.want)
			}
			plan, err := tool.Plan(t.Context(), &tools.Env{}, json.RawMessage(`{}`))
			if err != nil || plan.Touches != (url == "") {
				t.Errorf("%s at %q: %+v, %v", name, url, plan, err)
			}
			needs, err := tool.Needs(&tools.Env{}, json.RawMessage(`{}`))
			if err != nil || len(needs) != 1 || needs[0].Act != tools.Reaches || needs[0].Host != strings.TrimPrefix(url, "https://") {
				t.Errorf("%s: %+v, %v", name, needs, err)
			}
		}
	}
	schema := func(n int) json.RawMessage {
		head := `{"type":"object","description":"`
		return json.RawMessage(head + strings.Repeat("x", n-len(head)-2) + `"}`)
	}
	s := newServer(&Servers{}, Entry{Name: "s", Command: "x"})
	if _, err := s.tool("mcp__s__t", toolDescriptor{Name: "t", InputSchema: schema(maxSchema)}); err != nil {
		t.Error(err)
	}
	if _, err := s.tool("mcp__s__t", toolDescriptor{Name: "t", InputSchema: schema(maxSchema + 1)}); err == nil {
		t.Error("parameters that are too large are taken")
	}
}

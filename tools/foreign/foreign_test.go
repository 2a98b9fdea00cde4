package foreign_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"tandem/filetime/text/show"
	"tandem/tools"
	"tandem/tools/foreign"
	"tandem/tools/gate"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

// answering is a Run that always answers what Parse makes of raw.
func answering(raw string) foreign.Run {
	return func(context.Context, *tools.Env, json.RawMessage) (tools.Result, error) {
		return foreign.Parse([]byte(raw)), nil
	}
}

func make1(t testing.TB, s foreign.Spec, r foreign.Run) tools.Tool {
	t.Helper()
	x, err := foreign.New(s, nil, r)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func named(name, parameters string) foreign.Spec {
	return foreign.Spec{Spec: tools.Spec{Name: name}, Parameters: json.RawMessage(parameters)}
}

// The same parameters as a Go struct and as JSON Schema by hand.
type twin struct {
	Path  string   `json:"path" minlen:"1"`
	Mode  string   `json:"mode" enum:"fast,slow" default:"fast"`
	Limit int      `json:"limit,omitempty" min:"1" max:"9"`
	Tags  []string `json:"tags,omitempty"`
	Deep  *struct {
		Name string `json:"name"`
	} `json:"deep,omitempty"`
}

const twinSchema = `{"type":"object","additionalProperties":false,"required":["path"],"properties":{
	"path":{"type":"string","minLength":1},"mode":{"type":"string","enum":["fast","slow"],"default":"fast"},
	"limit":{"type":"integer","minimum":1,"maximum":9},"tags":{"type":"array","items":{"type":"string"}},
	"deep":{"type":"object","additionalProperties":false,"required":["name"],"properties":{"name":{"type":"string"}}}}}`

// A tool of a Go struct and one of JSON Schema stand beside each other and answer alike, good arguments and bad ones.
func TestF043F251TwinsThroughThePipeline(t *testing.T) {
	echo := func(args json.RawMessage) (tools.Result, error) {
		return tools.Result{Success: true, Data: string(args), Summary: "Echo"}, nil
	}
	typed := tools.Define(tools.Definition[twin]{
		Spec:  tools.Spec{Name: "typed", Kind: tools.Think, Class: tools.ClassExecute, Danger: tools.Safe, NotDestructive: true},
		Needs: tools.Always[twin](tools.Need{Act: tools.Nothing}),
		Plan: func(_ context.Context, _ *tools.Env, in twin) (*tools.Plan, error) {
			return &tools.Plan{Run: func(context.Context) (tools.Result, error) {
				js, err := json.Marshal(in)
				if err != nil {
					return tools.Result{}, err
				}
				return echo(js)
			}}, nil
		},
	})
	raw := make1(t, foreign.Spec{
		Spec:       tools.Spec{Name: "raw", Kind: tools.Think, Danger: tools.Safe, NotDestructive: true},
		Parameters: json.RawMessage(twinSchema),
	}, func(_ context.Context, _ *tools.Env, args json.RawMessage) (tools.Result, error) { return echo(args) })
	w := toolstest.NewWorld(t, typed, raw)
	bad := 0
	for _, args := range []string{
		`{"path":"a"}`, `{"path":"a","limit":3,"tags":["x"],"deep":{"name":"n"}}`, `{"path":"a","limit":"3"}`, `{"Path":"a","MODE":"SLOW"}`,
		`{}`, `{"path":""}`, `{"path":42,"mode":"quick"}`, `{"path":"a","limit":0}`, `{"path":"a","limit":1.5}`, `{"path":"a","limit":10}`,
		`{"path":"a","tags":["x",{}]}`, `{"path":"a","deep":{}}`, `{"path":"a","deep":{"name":"n","more":1}}`, `{"path":"a","modes":"fast"}`,
		`[]`, `7`, `"text"`, `null`, `{`, `{"path":"a"} {}`, `{"path":"a","tags":null}`,
	} {
		a, b := w.Call("typed", args), w.Call("raw", args)
		if a.Success != b.Success || a.Error != b.Error || !reflect.DeepEqual(a.Issues, b.Issues) || !a.Success && a.Data != b.Data {
			t.Errorf("%s:\ntyped %s %+v\nraw   %s %+v", args, a.Data, a.Issues, b.Data, b.Issues)
		}
		if !reflect.DeepEqual(a.Meta.Coerced, b.Meta.Coerced) {
			t.Errorf("%s: %v, %v", args, a.Meta.Coerced, b.Meta.Coerced)
		}
		if len(a.Issues) > 0 {
			bad++
		}
	}
	if bad < 12 {
		t.Errorf("only %d of the arguments are bad", bad)
	}
}

// A schema that is no object constrains nothing.
func TestF045NoConstraints(t *testing.T) {
	for _, parameters := range []string{``, `true`, `false`, `null`, `[]`, `"x"`, `7`, `{}`} {
		x := make1(t, named("free", parameters), answering(`"ok"`))
		w := toolstest.NewWorld(t, x)
		for _, args := range []string{`{}`, `{"any":[1,{"x":null}]}`} {
			if r := w.Call("free", args); !r.Success || r.Data != "ok" {
				t.Errorf("parameters %s, arguments %s: %+v", parameters, args, r)
			}
		}
		if r := w.Call("free", `[1]`); r.Error != tools.InvalidArgs {
			t.Errorf("parameters %s: arguments that are no object: %+v", parameters, r)
		}
	}
}

// What a tool does not declare is assumed to be the worst of.
func TestF010F033FailsClosed(t *testing.T) {
	x := make1(t, named("undeclared", ``), answering(`"ran"`))
	s := x.Spec()
	if s.Kind != tools.Other || s.NotDestructive || s.Together != tools.Alone || s.Danger != tools.Dangerous || s.Class != tools.ClassExecute {
		t.Errorf("%+v", s)
	}
	for _, m := range gate.Modes() {
		needs, err := x.Needs(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		d := m.Mode.Judge(gate.Call{Tool: x, Needs: needs})
		if d.Verdict > gate.Ask || d.Verdict == gate.Ask && !d.Once {
			t.Errorf("mode %s: %+v", m.Mode, d)
		}
	}
	w := toolstest.NewWorld(t, x)
	w.Answer = run.Answer{Outcome: run.Rejected}
	if r := w.Call("undeclared", `{}`); r.Error != tools.GateDenied || len(w.Asked) != 1 {
		t.Errorf("%+v, asked %d", r, len(w.Asked))
	}
	if got := make1(t, foreign.Spec{Spec: tools.Spec{Name: "x", NotDestructive: true}}, nil).Spec().Danger; got != tools.Moderate {
		t.Errorf("not destructive, danger not declared: %s", got)
	}
}

// What a tool declares decides what a mode says to it.
func TestF033Declared(t *testing.T) {
	for _, c := range []struct {
		spec      tools.Spec
		ask, auto gate.Verdict
	}{
		{tools.Spec{Kind: tools.Read}, gate.Allow, gate.Allow},
		{tools.Spec{Kind: tools.Search}, gate.Allow, gate.Allow},
		{tools.Spec{Kind: tools.Think, NotDestructive: true}, gate.Allow, gate.Allow},
		{tools.Spec{Kind: tools.Edit, NotDestructive: true}, gate.Ask, gate.Allow},
		{tools.Spec{Kind: tools.Edit}, gate.Ask, gate.Ask},
		{tools.Spec{Kind: tools.Fetch, NotDestructive: true}, gate.Ask, gate.Ask},
		{tools.Spec{Kind: tools.Execute, NotDestructive: true}, gate.Ask, gate.Ask},
		{tools.Spec{Kind: tools.Read, Danger: tools.Dangerous}, gate.Ask, gate.Ask},
	} {
		c.spec.Name = "x"
		x := make1(t, foreign.Spec{Spec: c.spec}, nil)
		needs, _ := x.Needs(nil, nil)
		call := gate.Call{Tool: x, Needs: needs}
		if ask, auto := gate.ModeAsk.Judge(call).Verdict, gate.ModeAuto.Judge(call).Verdict; ask != c.ask || auto != c.auto {
			t.Errorf("%+v: ask %s, auto %s", c.spec, ask, auto)
		}
	}
}

func TestRefusedSpecs(t *testing.T) {
	for want, s := range map[string]foreign.Spec{
		"of a tool is not valid: it has":   named("two words", ``),
		"it has 1 to 64 letters":           named(strings.Repeat("a", 65), ``),
		`the name "" of a tool`:            named("", ``),
		"is not a kind of tool":            {Spec: tools.Spec{Name: "x", Kind: "magic"}},
		"is not a permission class":        {Spec: tools.Spec{Name: "x", Class: "root"}},
		"is not a level of danger":         {Spec: tools.Spec{Name: "x", Danger: "mild"}},
		"contradict each other":            {Spec: tools.Spec{Name: "x", Kind: tools.Read, Class: tools.ClassWrite}},
		"are not a usable JSON Schema":     named("x", `{"type":7}`),
		"the limit is 262144":              named("x", `{"description":"`+strings.Repeat("a", 300_000)+`"}`),
		`u{200b}b" of a tool is not valid`: {Spec: tools.Spec{Name: "x", Aliases: []string{"a\u200bb"}}},
		"17 aliases":                       {Spec: tools.Spec{Name: "x", Aliases: strings.Split(strings.Repeat("b ", 16)+"b", " ")}},
	} {
		if _, err := foreign.New(s, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// Nothing invisible gets to a model or a person, neither in the description nor in the schema.
func TestM07DescriptionsAreVisible(t *testing.T) {
	const hidden = "a\u200b\U000E0041\x1b[2Jb"
	js, _ := json.Marshal(map[string]any{
		"type": "object", "description": hidden, "properties": map[string]any{"p" + hidden: map[string]any{"enum": []string{hidden}}},
	})
	x := make1(t, foreign.Spec{Spec: tools.Spec{Name: "x", Title: hidden + "\n", Description: hidden + "\nsecond"}, Parameters: js}, nil)
	var decoded any
	if err := json.Unmarshal(x.Schema().JSON(), &decoded); err != nil {
		t.Fatal(err)
	}
	plain, _ := json.Marshal(decoded)
	for _, s := range []string{x.Spec().Description, x.Spec().Title, x.Title([]byte(`{"k":"` + "\u202e" + `"}`)), strings.ReplaceAll(string(plain), `\\`, `\`)} {
		if show.Visible(s, true) != s || strings.Contains(s, `\u200b`) || strings.Contains(s, `\u001b`) {
			t.Errorf("%q", s)
		}
	}
	if !strings.Contains(x.Spec().Description, "\nsecond") {
		t.Errorf("%q", x.Spec().Description)
	}
}

func TestR3Answers(t *testing.T) {
	for raw, want := range map[string]string{
		``:                 `true  (no output)`,
		`plain text`:       `true  plain text`,
		`"a string"`:       `true  a string`,
		`{"n":1}`:          `true  {"n":1} value {"n":1}`,
		`[1,2]`:            `true  [1,2] value [1,2]`,
		`7`:                `true  7 value 7`,
		`{"success":true}`: `true  (no output)`,
		`{"success":true,"data":"d","context":"c","result":{"x":1},"unknown":1}`: `true  d value {"x":1}`,
		`{"success":true,"context":"c"}`:                                         `true  c`,
		`{"success":false,"data":"no such row","error":"READ_ERROR"}`:            `false READ_ERROR no such row`,
		`{"success":false,"data":"x","error":"READ_ERROR","reason":"enoent"}`:    `false READ_ERROR/enoent x`,
		`{"success":false,"data":"x","error":"GATE_DENIED","reason":"De nied"}`:  `false EXECUTION_ERROR x`,
		`{"success":false,"data":"x","error":"EXIT_CODE_3"}`:                     `false EXIT_CODE_3 x`,
		`{"success":false}`: `false EXECUTION_ERROR The tool failed and did not say why.`,
		`{"success":true,"data":"a\u001b[2J\u200bb\r\nc"}`:                                   `true  a\u{1b}[2J\u{200b}b` + "\nc",
		`{"success":true,"data":"d","edit":{"changes":{}}}`:                                  `true  d`,
		`{"success":true,"content":[{"type":"text","text":"t\u0007"}]}`:                      `true  (no output) text t\u{7}`,
		`{"success":true,"content":[{"type":"image","mimeType":"image/PNG","data":"QQ=="}]}`: `true  (no output) image image/png A`,
	} {
		w := toolstest.NewWorld(t, make1(t, named("x", ``), answering(raw)))
		r := w.Call("x", `{}`)
		got := map[bool]string{true: "true ", false: "false"}[r.Success] + " "
		if r.Error != "" {
			got += string(r.Error)
			if r.Reason != "" {
				got += "/" + r.Reason
			}
			got += " "
		}
		got += r.Data
		if r.Value != nil {
			js, _ := json.Marshal(r.Value)
			got += " value " + string(js)
		}
		for _, p := range r.Parts {
			got += " " + strings.TrimSpace(string(p.Kind)+" "+strings.TrimSpace(p.MIMEType+" "+p.Text+string(p.Data)))
		}
		if got != want {
			t.Errorf("%s:\n got %q\nwant %q", raw, got, want)
		}
		if r.Landed != nil || r.Denial != nil {
			t.Errorf("%s: %+v", raw, r)
		}
	}
}

func TestAnswersOfTheWrongShape(t *testing.T) {
	for raw, want := range map[string]string{
		`{"success":"yes"}`:                                        "success",
		`{"success":null}`:                                         "success must be a boolean",
		`{"success":true,"data":7}`:                                "data",
		`{"success":true,"error":"READ_ERROR"}`:                    "success is true and error is",
		`{"success":true,"content":[{"type":"hi"}]}`:               "content[0].type must be one of",
		`{"success":true,"content":[{"type":"image","data":"%"}]}`: "base64",
		`{"success":true,"content":[{"type":"image"}]}`:            "has no data",
		`{"success":true,"content":{}}`:                            "content",
	} {
		w := toolstest.NewWorld(t, make1(t, named("x", ``), answering(raw)))
		if r := w.Call("x", `{}`); r.Success || r.Error != tools.ExecutionError || r.Reason != "bad_answer" || !strings.Contains(r.Data, want) {
			t.Errorf("%s: %s %s %q", raw, r.Error, r.Reason, r.Data)
		}
	}
}

// What a tool sends is bounded, whatever it sends.
func TestM07AnswersAreBounded(t *testing.T) {
	big := strings.Repeat("ab\x1b", 5<<20)
	w := toolstest.NewWorld(t, make1(t, named("x", ``), func(context.Context, *tools.Env, json.RawMessage) (tools.Result, error) {
		warnings := make([]string, 1000)
		parts := make([]tools.Part, 1000)
		for i := range parts {
			warnings[i], parts[i] = big[:1000], tools.Part{Kind: tools.TextPart, Text: "part"}
		}
		parts[0] = tools.Part{Kind: tools.ImagePart, MIMEType: "image/png", Data: make([]byte, 6<<20)}
		return tools.Result{Success: true, Data: big, Value: big, Warnings: warnings, Parts: parts, Summary: big}, nil
	}))
	r := w.Call("x", `{}`)
	if !r.Success || !r.Truncated || utf8.RuneCountInString(r.Data) > 31_000 || r.Value != nil || len(r.Warnings) > 30 || len(r.Parts) > 64 ||
		len(r.Parts[0].Data) > 0 || utf8.RuneCountInString(r.Summary) > 600 || strings.Contains(r.Data, "\x1b") {
		t.Errorf("%d characters, %d warnings, %d parts, summary of %d", len(r.Data), len(r.Warnings), len(r.Parts), len(r.Summary))
	}
}

func TestErrorsOfARun(t *testing.T) {
	w := toolstest.NewWorld(t, make1(t, named("x", ``), func(context.Context, *tools.Env, json.RawMessage) (tools.Result, error) {
		return tools.Result{}, errors.New("it broke\x1b[2J.")
	}))
	r := w.Call("x", `{}`)
	if r.Error != tools.ExecutionError || r.Data != `The tool x failed: it broke\u{1b}[2J. This is a fault of the tool, not of the arguments.` {
		t.Errorf("%+v", r)
	}
}

func FuzzForeign(f *testing.F) {
	f.Add("name", twinSchema, `{"path":"a"}`, `{"success":true,"data":"d"}`)
	f.Add("x", `true`, `{}`, `{"success":false,"content":[{"type":"text","text":"t"}]}`)
	f.Fuzz(func(t *testing.T, name, parameters, args, answer string) {
		x, err := foreign.New(named(name, parameters), nil, answering(answer))
		if err != nil {
			return
		}
		r := toolstest.NewWorld(t, x).Call(name, args)
		if r.Success != (r.Error == "") || strings.TrimSpace(r.Data) == "" || r.Landed != nil ||
			r.Error != tools.InvalidArgs && show.Visible(r.Data, true) != r.Data {
			t.Errorf("%+v", r)
		}
	})
}

// A tool from elsewhere keeps to the contract of those that are shipped, whatever it declares.
func TestF021F251Contract(t *testing.T) {
	for _, kind := range []tools.Kind{"", tools.Read, tools.Search, tools.Edit, tools.Delete, tools.Move, tools.Execute, tools.Fetch, tools.Think} {
		for _, parameters := range []string{twinSchema, ``, `{"properties":{"q":{"type":"string"}},"required":["q"],"additionalProperties":false}`} {
			s := named("foreign_tool", parameters)
			s.Kind, s.Description, s.Source = kind, "Does something. Use it for that.", "client"
			toolstest.Contract(t, make1(t, s, answering(`"ok"`)))
		}
	}
}

// TestFaultM7RetryableAnswers: an answer may say that its failure may pass, and a call that only reads is then made again.
func TestFaultM7RetryableAnswers(t *testing.T) {
	const busy = `{"success":false,"error":"READ_ERROR","data":"busy","retryable":true}`
	for _, c := range []struct {
		what, first string
		kind        tools.Kind
		calls       int
		success     bool
	}{
		{"a read", busy, tools.Read, 2, true},
		{"one that may write", busy, tools.Other, 1, false},
		{"a failure for good", `{"success":false,"error":"READ_ERROR","data":"gone"}`, tools.Read, 1, false},
		{"a success that may pass", `{"success":true,"data":"done","retryable":true}`, tools.Read, 1, false},
	} {
		calls := 0
		tool := make1(t, foreign.Spec{Spec: tools.Spec{Name: "x", Kind: c.kind}}, func(context.Context, *tools.Env, json.RawMessage) (tools.Result, error) {
			calls++
			if calls == 1 {
				return foreign.Parse([]byte(c.first)), nil
			}
			return foreign.Parse([]byte("at last")), nil
		})
		w := toolstest.NewWorld(t, tool)
		w.Host.Retry = run.Retry{Attempts: 3}
		if r := w.Call("x", `{}`); calls != c.calls || r.Success != c.success {
			t.Errorf("%s: %d calls, %+v", c.what, calls, r)
		}
	}
}

package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tandem/agent/model"
)

func parse(t *testing.T, text string) *Script {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask sends one request and writes down everything that comes back, a line for each piece.
func ask(ctx context.Context, m model.Model, r model.Request) (string, error) {
	var b strings.Builder
	resp, err := m.Stream(ctx, r, func(d model.Delta) {
		switch {
		case d.Call != nil && d.Call.Done:
			fmt.Fprintf(&b, "done %d\n", d.Call.Index)
		case d.Call != nil && d.Call.ID != "":
			fmt.Fprintf(&b, "call %d %s %s\n", d.Call.Index, d.Call.ID, d.Call.Name)
		case d.Call != nil:
			fmt.Fprintf(&b, "arguments %d %s\n", d.Call.Index, d.Call.Arguments)
		case d.Thought != "":
			fmt.Fprintf(&b, "thought %q\n", d.Thought)
		default:
			fmt.Fprintf(&b, "text %q\n", d.Text)
		}
	})
	fmt.Fprintf(&b, "stop %s\n", resp.Stop)
	return b.String(), err
}

func user(text string) model.Request {
	return model.Request{Messages: []model.Message{{Role: model.User, Text: text}}}
}

func TestF268ScriptDrivesATurn(t *testing.T) {
	p := New("script/x", parse(t, "think Hm, well.\nsay Let me  look.\nsay Here:\n"+
		"call read_file {\"path\": \"calc.go\"}\ncall bash\n\t\r\n\nsee /a - b/\nsay Done.\nstop max_tokens\r\n"))
	got, err := ask(t.Context(), p, user("go"))
	want := `thought "Hm, "
thought "well."
text "Let "
text "me  "
text "look."
text "\n"
text "Here:"
call 0 call_1_1 read_file
arguments 0 {"path": "calc.g
arguments 0 o"}
done 0
call 1 call_1_2 bash
arguments 1 {}
done 1
stop tool_calls
`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if unused := p.Unused(); len(unused) != 3 || unused[0] != "line 8: see /a - b/" {
		t.Errorf("%q", unused)
	}
	r := user("go")
	r.Messages = append(r.Messages, model.Message{Role: model.Tool, CallID: "call_1_1", Text: "return a - b"})
	got, err = ask(t.Context(), p, r)
	if want := "text \"Done.\"\nstop max_tokens\n"; got != want || err != nil {
		t.Error(err, got)
	}
	if unused := p.Unused(); unused != nil {
		t.Errorf("%q", unused)
	}
	got, err = ask(t.Context(), p, r)
	if want := "text \"(script ended)\"\nstop end_turn\n"; got != want || err != nil {
		t.Error(err, got)
	}
}

func TestSeeThatDoesNotMatch(t *testing.T) {
	p := New("s", parse(t, "say First.\nsee /never/\nsay Not this."))
	r := user(strings.Repeat("é", 3000) + "the end")
	r.Messages = append([]model.Message{{Role: model.System, Text: "never"}}, r.Messages...)
	r.Messages = append(r.Messages, model.Message{
		Role: model.Assistant, Calls: []model.Call{{Name: "bash", Arguments: `{"command": "ls"}`}},
	})
	got, err := ask(t.Context(), p, r)
	if got != "text \"First.\"\nstop \n" {
		t.Error(got)
	}
	var e *model.Error
	if !errors.As(err, &e) || e.Retryable || !strings.HasPrefix(e.Message, "script line 2: the conversation does not match /never/") ||
		!strings.HasSuffix(e.Message, "the end\nassistant: \ncall bash {\"command\": \"ls\"}\n") || len(e.Message) > 2200 {
		t.Error(err)
	}
	if unused := p.Unused(); len(unused) != 2 {
		t.Errorf("%q", unused)
	}
}

func TestStopError(t *testing.T) {
	_, err := ask(t.Context(), New("s", parse(t, "stop error")), user("go"))
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != "cut" {
		t.Error(err)
	}
}

func TestWaitTakesItsTimeAndCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New("s", parse(t, "wait 200ms\nsay a\n\nwait 1h\nsay b"))
		began := time.Now()
		if _, err := ask(t.Context(), p, user("")); err != nil || time.Since(began) != 200*time.Millisecond {
			t.Error(err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		got, err := ask(ctx, p, user(""))
		if got != "stop \n" || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Error(got, err, time.Since(began))
		}
	})
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"say a\n\nshout b":         `line 3: "shout" is none of say, think, call, see, wait and stop`,
		"call":                     "line 1: call needs the name of a tool",
		"call x {":                 "line 1: the arguments of x are no JSON object: {",
		"call x [1]":               "line 1: the arguments of x are no JSON object: [1]",
		"see x":                    "line 1: see needs a /regular expression/",
		"see //":                   "line 1: see needs a /regular expression/",
		"see /(/":                  "line 1: error parsing regexp: missing closing ): `(`",
		"wait long":                `line 1: wait needs a time such as 200ms, not "long"`,
		"wait -1s":                 `line 1: wait needs a time such as 200ms, not "-1s"`,
		"stop":                     `line 1: stop needs one of end_turn, max_tokens, refusal, error, not ""`,
		"say a\nstop refusal\nsay": "line 3: nothing can follow stop in a message",
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("say a b\ncall x {\"é\": 1}\n\nsee /a/\nwait 1ms\nstop error")
	f.Add("think \xff\r\n\r\ncall y {\"aaaaaaaaaaaaaaa\xff\": 1}")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			var pe *ParseError
			if !errors.As(err, &pe) || pe.Line < 1 || pe.Line > 1+strings.Count(text, "\n") {
				t.Errorf("%v", err)
			}
			return
		}
		synctest.Test(t, func(t *testing.T) {
			p := New("s", s)
			for _, m := range s.messages {
				args := map[int]string{}
				_, err := p.Stream(t.Context(), model.Request{}, func(d model.Delta) {
					if d.Call != nil {
						args[d.Call.Index] += d.Call.Arguments
					}
				})
				calls := 0
				for _, st := range m {
					if st.word == "call" {
						if err == nil && args[calls] != st.json {
							t.Errorf("%q became %q", st.json, args[calls])
						}
						calls++
					}
				}
			}
		})
	})
}

func TestEmbedded(t *testing.T) {
	tools := []model.ToolSpec{{Name: "list_files"}, {Name: "read_file"}}
	for _, c := range []struct {
		name string
		r    model.Request
		want []string
		not  string
	}{
		{
			"lists the workspace",
			model.Request{Messages: user("Fix me@home").Messages, Tools: tools},
			[]string{"not a language model", "Set X.", `call list_files {}`},
			"read_file",
		},
		{
			"reads the file that is named",
			model.Request{Messages: user("What is in @src/a.go?").Messages, Tools: tools},
			[]string{`call read_file {"path":"src/a.go"}`},
			"list_files",
		},
		{"calls nothing that is not offered", user("What is in @src/a.go?"), []string{"Set X."}, "call"},
		{
			"passes over rules",
			model.Request{Messages: []model.Message{
				{Role: model.Tool, Name: "list_files", Text: "a.go\n"}, {Role: model.User, Text: "<rules>\nSee @b.go.\n</rules>"},
			}, Tools: tools},
			[]string{"This is what list_files shows:\n\na.go"},
			"call",
		},
		{
			"shows a result",
			model.Request{Messages: []model.Message{{Role: model.Tool, Name: "list_files", Text: "a.go\n"}}},
			[]string{"This is what list_files shows:\n\na.go"},
			"call",
		},
		{
			"shows a failure",
			model.Request{Messages: []model.Message{{Role: model.Tool, Text: "[READ_ERROR] none"}}},
			[]string{"did not work: [READ_ERROR] none"},
			"call",
		},
		{"survives an empty conversation", model.Request{}, []string{"Set X."}, "call"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			m := Embedded("Set X.")
			if _, err := m.Stream(t.Context(), c.r, func(d model.Delta) {
				b.WriteString(d.Text)
				if d.Call != nil && d.Call.Name != "" {
					b.WriteString("\ncall " + d.Call.Name + " ")
				} else if d.Call != nil {
					b.WriteString(d.Call.Arguments)
				}
			}); err != nil {
				t.Fatal(err)
			}
			for _, w := range c.want {
				if !strings.Contains(b.String(), w) {
					t.Errorf("no %q in %s", w, &b)
				}
			}
			if strings.Contains(b.String(), c.not) {
				t.Errorf("%q in %s", c.not, &b)
			}
		})
	}
}

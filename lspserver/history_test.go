package lspserver_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tandem/lspserver/conformance"
)

// A conversation that a host brings is what the model gets before the first prompt, also after the session was loaded by
// another process, and is what a client that loads it is shown.
func TestSessionBeginsWithMessages(t *testing.T) {
	const messages = `[
		{"role":"system","content":"Answer in rhymes."},
		{"role":"user","content":[{"type":"text","text":"What is in a.txt?"}]},
		{"role":"assistant","content":"Let me look.","tool_calls":[
			{"id":"c1","type":"function","function":{"name":"cat","arguments":"{\"file\":\"a.txt\"}"}},
			{"id":"c2","type":"function","function":{"name":"ls","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"apples"},
		{"role":"tool","tool_call_id":"c2","content":"a.txt"},
		{"role":"assistant","content":"Apples."}
	]`
	const want = "user What is in a.txt?\nassistant Let me look. [c1 cat {\"file\":\"a.txt\"}] [c2 ls {}]\ntool apples (c1)\ntool a.txt (c2)\n" +
		"assistant Apples.\nuser And now?\n"
	store := filepath.Join(t.TempDir(), "sessions.db")
	var got, system string
	answer := func(r *rig, a asked) (any, error) {
		var b strings.Builder
		for _, m := range a.Messages {
			if m.Role == "system" {
				system = m.Content
				continue
			}
			content, _, _ := strings.Cut(m.Content, "\n\n") // what the editor adds follows
			fmt.Fprint(&b, m.Role, " ", content)
			for _, c := range m.ToolCalls {
				fmt.Fprintf(&b, " [%s %s %s]", c.ID, c.Function.Name, c.Function.Arguments)
			}
			if m.ToolCallID != "" {
				fmt.Fprintf(&b, " (%s)", m.ToolCallID)
			}
			b.WriteString("\n")
		}
		got = b.String()
		r.chunk(a, `"text":"More."`)
		return map[string]any{"stopReason": "end_turn"}, nil
	}
	a := lenderOf(t, keeping(store), conformance.Options{}, answer)
	id := a.session(map[string]any{"model": "editor", "messages": json.RawMessage(messages)})
	a.prompt(id, "And now?")
	equal(t, "the model got", got, want)
	if !strings.Contains(system, "Answer in rhymes.") {
		t.Errorf("the system prompt is %s", system)
	}
	a.end()

	heard := wire{calls: map[string][]string{}}
	b := lenderOf(t, keeping(store), conformance.Options{Root: a.root, Heard: heard.hear}, answer)
	b.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	equal(t, "the client was shown", heard.text.String(), "user_message_chunk What is in a.txt?\nagent_message_chunk Let me look.\n"+
		"agent_message_chunk Apples.\nuser_message_chunk And now?\nagent_message_chunk More.\n")
	if len(heard.calls["c1"]) != 1 || !strings.Contains(heard.calls["c1"][0], `"status":"completed"`) || !strings.Contains(heard.calls["c1"][0], "apples") {
		t.Errorf("the call was shown as %q", heard.calls["c1"])
	}
	system = ""
	b.prompt(id, "And then?")
	equal(t, "the model got after loading", got, want+"assistant More.\nuser And then?\n")
	if !strings.Contains(system, "Answer in rhymes.") {
		t.Errorf("after loading the system prompt is %s", system)
	}
	b.end()
}

// A conversation that some model would refuse is refused by Tandem, and says where.
func TestMessagesOfWrongShape(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	const user = `{"role":"user","content":"x"}`
	const call = `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}`
	for messages, where := range map[string]string{
		`[` + user + `]`: "the last one", `{}`: "", `["x"]`: "", `[{"role":"robot","content":"x"}]`: "messages[0]",
		`[{"role":"assistant","content":"x"}]`:                                                     "messages[0]",
		`[` + user + `,{"role":"system","content":"x"}]`:                                           "messages[1]",
		`[{"role":"user","content":""}]`:                                                           "messages[0]",
		`[{"role":"user","content":7}]`:                                                            "messages[0]",
		`[{"role":"user","content":[{"type":"video"}]}]`:                                           "messages[0]",
		`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x/y"}}]}]`:      "messages[0]",
		`[` + user + `,{"role":"assistant","content":""}]`:                                         "messages[1]",
		`[` + user + `,` + call + `]`:                                                              `"c" has no result`,
		`[` + user + `,` + call + `,` + user + `]`:                                                 "messages[2]",
		`[` + user + `,{"role":"tool","tool_call_id":"c","content":"x"}]`:                          "messages[1]",
		`[` + user + `,` + call + `,{"role":"tool","tool_call_id":"c","content":""},` + call + `]`: "messages[3]",
		`[{"role":"user","content":"x","tool_call_id":"c"}]`:                                       "messages[0]",
	} {
		e := r.refused("tandem/session/new", map[string]any{"messages": json.RawMessage(messages)})
		if e.Code != -32602 || !strings.Contains(e.Message, where) {
			t.Errorf("%s: %+v", messages, e)
		}
	}
	r.end()
}

package updates_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/agent"
	"tandem/lspserver/protocol"
	"tandem/lspserver/updates"
	"tandem/tools"
	"tandem/tools/run"
)

// TestCaseI07Said: escape sequences, links of a terminal and characters that turn text around are written out in what a model says and
// thinks, also where they come in pieces; what languages are written with stays.
func TestCaseI07Said(t *testing.T) {
	var said strings.Builder
	u := updates.New(updates.Options{
		Send: func(p protocol.Update) {
			if block, ok := p.Content.(protocol.ContentBlock); ok {
				said.WriteString(block.Text)
			}
		},
		Waiting: func() int { return 0 }, Guard: func(f func()) { f() }, MaxDiff: func() int { return 0 },
	})
	pieces := []string{"a\x1b", "[2Jb\n\t", "\x1b]8;;http://evil\x07link", "\u202e", "txt\u2066", "\u009b31m\r", "\u2028"}
	for _, text := range pieces {
		u.On(agent.Event{Text: text})
	}
	for _, text := range pieces {
		u.On(agent.Event{Thought: text})
	}
	u.Flush()
	if strings.ContainsAny(said.String(), "\x1b\x07\r\u202e\u2066\u009b\u2028") || strings.Count(said.String(), `a\u{1b}[2Jb`+"\n\t"+`\u{1b}]8;;http://evil\u{7}link`) != 2 {
		t.Errorf("%q", said.String())
	}
	const prose = "می\u200cخواهم 👩\u200d💻 ⚠️ é العربية\u200f.\n"
	said.Reset()
	u.On(agent.Event{Text: prose})
	if u.Flush(); said.String() != prose {
		t.Errorf("%q", said.String())
	}
}

// TestLargeResults: of a result that is large an update has the first lines, and not what a program gets as the answer of its call.
func TestLargeResults(t *testing.T) {
	for words, whole := range map[string]bool{"a line\n": true, strings.Repeat("a line of many\n", 30_000): false} {
		var last protocol.Update
		u := updates.New(updates.Options{
			Send: func(p protocol.Update) {
				if p.RawOutput != nil || p.Content != nil {
					last = p
				}
			},
			Waiting: func() int { return 0 }, Guard: func(f func()) { f() }, MaxDiff: func() int { return 0 },
		})
		result := tools.Result{Success: true, Data: words, Value: map[string]int{"n": 1}}
		u.On(agent.Event{Call: &run.Event{Call: run.Call{ID: "c", Name: "grep"}, State: run.Completed, Kind: tools.Search, Result: &result}})
		u.Flush()
		content, _ := last.Content.([]protocol.ToolContent)
		if len(content) != 1 {
			t.Fatalf("%+v", last)
		}
		text := content[0].Content.Text
		if (text == words) != whole || (last.RawOutput != nil) != whole {
			t.Errorf("%d bytes: %d are told, and %v", len(words), len(text), last.RawOutput)
		}
		if !whole && !strings.HasSuffix(text, "\n… 187860 more bytes") {
			t.Errorf("it ends %q", text[len(text)-40:])
		}
	}
}

// A call that is told again ends with its result, and its time is not mixed with that of a second replay.
func TestReplayOfCalls(t *testing.T) {
	var order []string
	u := updates.New(updates.Options{
		Send: func(p protocol.Update) {
			state := ""
			if p.Meta != nil {
				m := p.Meta.Tandem.(protocol.UpdateMeta)
				state = fmt.Sprint(" ", m.State, " ", m.At)
			}
			order = append(order, p.SessionUpdate+p.ToolCallID+state)
		},
		Waiting: func() int { return 0 }, Guard: func(f func()) { f() }, MaxDiff: func() int { return 0 },
	})
	for i := range 2 {
		order = nil
		events := []agent.Event{{User: "Do it."}}
		for _, id := range []string{"1", "2"} {
			begun := run.Event{Call: run.Call{ID: id, Name: "grep", Arguments: []byte("{}")}, State: run.Queued, Kind: tools.Search}
			ended := begun
			ended.State, ended.Phase, ended.Result = run.Completed, "result", &tools.Result{Success: true, Data: "a line\n"}
			events = append(events, agent.Event{Call: &begun}, agent.Event{Call: &ended, At: time.Duration(i) * time.Second}, agent.Event{Text: "Said."})
		}
		u.Replay(t.Context(), slices.Values(events))
		at := fmt.Sprintf(" completed map[completed:%d queued:0]", 1000*i)
		if wanted := []string{
			"user_message_chunk", "tool_call1 queued map[queued:0]", "tool_call_update1" + at, "agent_message_chunk",
			"tool_call2 queued map[queued:0]", "tool_call_update2" + at, "agent_message_chunk",
		}; !slices.Equal(order, wanted) {
			t.Errorf("%q, not %q", order, wanted)
		}
	}
}

package acp

import (
	"encoding/json"
	"testing"

	"tandem/lspserver/protocol"
	"tandem/lspserver/updates"
)

// What the protocol has in another form than tandem/session/update is said in its form, or not at
// all.
func TestFindingL10Payloads(t *testing.T) {
	text := func(s string) []protocol.ToolContent {
		block := updates.Text(s)
		return []protocol.ToolContent{{Type: "content", Content: &block}}
	}
	for _, tt := range []struct {
		name    string
		notices bool
		u       protocol.Update
		want    string // "" for nothing
	}{
		{
			"a chunk", false,
			protocol.Update{SessionUpdate: "agent_message_chunk", Content: updates.Text("a")},
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}`,
		},
		{
			"a call without a title", false,
			protocol.Update{SessionUpdate: "tool_call", ToolCallID: "c"},
			`{"sessionUpdate":"tool_call","toolCallId":"c","title":"Tool"}`,
		},
		{
			"a call that printed nothing", false,
			protocol.Update{SessionUpdate: "tool_call_update", ToolCallID: "c", Status: "completed", Content: text("")},
			`{"sessionUpdate":"tool_call_update","content":[{"type":"content","content":{"type":"text","text":""}}],"toolCallId":"c",` +
				`"status":"completed"}`,
		},
		{
			"a notice", true,
			protocol.Update{SessionUpdate: "notice", Content: updates.Text("One.\nTwo.\nThree.")},
			`{"sessionUpdate":"notice","severity":"info","title":"One.","description":"Two.\nThree."}`,
		},
		{"a notice that was not declared", false, protocol.Update{SessionUpdate: "notice", Content: updates.Text("One.")}, ""},
		{
			"the boundary of a turn", true,
			protocol.Update{SessionUpdate: "notice", Content: map[string]string{"type": "text", "text": ""}},
			"",
		},
		{
			"a compaction", true,
			protocol.Update{SessionUpdate: "compaction_update", CompactionID: "c", Status: "completed"},
			`{"sessionUpdate":"compaction_update","status":"completed","compactionId":"c"}`,
		},
		{"a compaction that was not declared", false, protocol.Update{SessionUpdate: "compaction_update", CompactionID: "c", Status: "completed"}, ""},
		{"usage without a size", true, protocol.Update{SessionUpdate: "usage_update", Used: 5, Usage: &protocol.Usage{}}, ""},
		{
			"usage", true,
			protocol.Update{SessionUpdate: "usage_update", Used: 5, Size: 9, Usage: &protocol.Usage{}, Cost: &protocol.Cost{Amount: 0.5, Currency: "USD"}},
			`{"sessionUpdate":"usage_update","used":5,"size":9,"cost":{"amount":0.5,"currency":"USD"}}`,
		},
	} {
		out, ok := updatePayload(tt.u, tt.notices, tt.notices)
		if ok != (tt.want != "") {
			t.Errorf("%s: said is %v", tt.name, ok)
		}
		raw, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		want := tt.want
		if want == "" {
			want = "null"
		}
		if string(raw) != want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, raw, want)
		}
	}
}

// A picture of a result reaches the client whole.
func TestContentOfOtherTypes(t *testing.T) {
	u, _ := updatePayload(protocol.Update{SessionUpdate: "tool_call_update", ToolCallID: "c", Content: []protocol.ToolContent{
		{Type: "content", Content: &protocol.ContentBlock{Type: "image", MimeType: "image/png", Data: "eA=="}},
		{Type: "content", Content: &protocol.ContentBlock{Type: "text"}},
	}}, false, false)
	raw, err := json.Marshal(u.(protocol.Update).Content)
	const want = `[{"type":"content","content":{"type":"image","mimeType":"image/png","data":"eA=="}},{"type":"content","content":{"type":"text","text":""}}]`
	if err != nil || string(raw) != want {
		t.Errorf("%s, %v", raw, err)
	}
}

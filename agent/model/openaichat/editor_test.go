package openaichat

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tandem/agent/model"
	"tandem/agent/model/modeltest"
)

func TestEditor(t *testing.T) {
	for _, c := range []struct {
		name, chunks, lent string
		err                error
		want               string
	}{
		{
			"text", `[{"thought":"Hm."},{"text":"Hel"},{"text":"lo"}]`,
			`{"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":2,"cachedInputTokens":5}}`, nil,
			"thought Hm.\ntext Hello\n= end_turn; in 7 (cached 5, written 0), out 2, $0.0000\n",
		},
		{
			"calls", `[{"toolCall":{"index":0,"id":"a","name":"look","argumentsDelta":"{\"a\":"}},
				{"toolCall":{"index":0,"id":"a","argumentsDelta":"1}"}},{"toolCall":{"index":1,"id":"b","name":"look"}}]`, `{}`, nil,
			"call 0 \"a\" \"look\": {\"a\":1}\ndone 0\ncall 1 \"b\" \"look\":\ndone 1\n" +
				"= tool_calls; in 0 (cached 0, written 0), out 0, $0.0000\n",
		},
		{
			"a call that was cut", `[{"toolCall":{"index":0,"id":"a","name":"look","argumentsDelta":"{\"a\":"}}]`,
			`{"stopReason":"max_tokens"}`, nil,
			"call 0 \"a\" \"look\": {\"a\":\n= max_tokens; in 0 (cached 0, written 0), out 0, $0.0000; " +
				"The answer reached the model's limit of tokens.\n",
		},
		{"silent", `[]`, `{"stopReason":"end_turn"}`, nil, "= end_turn; in 0 (cached 0, written 0), out 0, $0.0000; " +
			"The editor's model ended its answer without a word.\n"},
		{"refused", `[{"text":"No."}]`, `{"stopReason":"refusal"}`, nil, "text No.\n= refusal; in 0 (cached 0, written 0), out 0, $0.0000; " +
			"The editor's model declined to answer.\n"},
		{"broken off", `[{"text":"Half"}]`, `{"stopReason":"error"}`, nil, "text Half\n! cut 0: The editor's model broke off: error.\n"},
		{"an error", `[]`, `{}`, errors.New("no model is chosen"), "! http 0: The editor's model failed: no model is chosen.\n"},
		{"a known error", `[]`, `{}`, &model.Error{Kind: "unavailable", Message: "Gone."}, "! unavailable 0: Gone.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := Editor(func(_ context.Context, messages, tools json.RawMessage, on func(Chunk)) (Lent, error) {
				if !strings.Contains(string(messages), `"tool_call_id":"call_1"`) || !strings.Contains(string(tools), `"name":"bash"`) {
					t.Errorf("%s %s", messages, tools)
				}
				var chunks []Chunk
				var lent Lent
				if err := errors.Join(json.Unmarshal([]byte(c.chunks), &chunks), json.Unmarshal([]byte(c.lent), &lent)); err != nil {
					t.Error(err)
				}
				for _, chunk := range chunks {
					on(chunk)
				}
				return lent, c.err
			})
			if got := modeltest.Write(t.Context(), t, m, modeltest.Conversation()); got != c.want || m.Name() != "editor" {
				t.Error(got)
			}
		})
	}
}

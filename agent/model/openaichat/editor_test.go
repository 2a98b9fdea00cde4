package openaichat

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent/model"
	"tandem/agent/model/modeltest"
)

func TestEditor(t *testing.T) {
	for _, c := range []struct {
		name, chunks string
		lent         model.Lent
		err          error
		want         string
	}{
		{
			"text", `[{"thought":"Hm."},{"text":"Hel"},{"text":"lo"}]`,
			model.Lent{StopReason: "end_turn", Usage: model.Usage{Input: 7, Output: 2, CachedInput: 5}},
			nil,
			"thought Hm.\ntext Hello\n= end_turn; in 7 (cached 5, written 0), out 2, $0.0000\n",
		},
		{
			"calls", `[{"toolCall":{"index":0,"id":"a","name":"look","argumentsDelta":"{\"a\":"}},
				{"toolCall":{"index":0,"id":"a","argumentsDelta":"1}"}},{"toolCall":{"index":1,"id":"b","name":"look"}}]`,
			model.Lent{},
			nil,
			"call 0 \"a\" \"look\":{\"a\":1}\ndone 0\ncall 1 \"b\" \"look\":\ndone 1\n" +
				"= tool_calls; in 0 (cached 0, written 0), out 0, $0.0000\n",
		},
		{
			"a call that was cut", `[{"toolCall":{"index":0,"id":"a","name":"look","argumentsDelta":"{\"a\":"}}]`,
			model.Lent{StopReason: "max_tokens"},
			nil,
			"call 0 \"a\" \"look\":{\"a\":\n= max_tokens; in 0 (cached 0, written 0), out 0, $0.0000; " +
				"The answer reached the model's limit of tokens.\n",
		},
		{
			"a call that goes on", `[{"toolCall":{"index":0,"id":"a","name":"look","argumentsDelta":"{\"k\":1}"}},
				{"toolCall":{"index":1,"id":"b","name":"look"}},{"toolCall":{"index":0,"argumentsDelta":"{}"}},{"text":"On."}]`,
			model.Lent{},
			nil,
			"call 0 \"a\" \"look\":{\"k\":1}\ndone 0\ncall 1 \"b\" \"look\":\n" +
				"! bad_response 0: The editor's model went on with the arguments of look after they were complete.\n",
		},
		{"silent", `[]`, model.Lent{StopReason: "end_turn"}, nil, "= end_turn; in 0 (cached 0, written 0), out 0, $0.0000; " +
			"The editor's model ended its answer without a word.\n"},
		{"refused", `[{"text":"No."}]`, model.Lent{StopReason: "refusal"}, nil, "text No.\n= refusal; in 0 (cached 0, written 0), out 0, $0.0000; " +
			"The editor's model declined to answer.\n"},
		{"broken off", `[{"text":"Half"}]`, model.Lent{StopReason: "error"}, nil, "text Half\n! cut 0: The editor's model broke off: error.\n"},
		{"too long", `[]`, model.Lent{}, errors.New("Message exceeds token limit"), "! context_window 0: The editor's model failed: Message exceeds token limit.\n"},
		{"too long, in another way", `[]`, model.Lent{}, &model.Error{Kind: "unavailable", Message: "The editor's model does not answer: prompt token count of 9 exceeds the limit of 8."}, "! context_window 0: The editor's model does not answer: prompt token count of 9 exceeds the limit of 8.\n"},
		{"an error", `[]`, model.Lent{}, errors.New("no model is chosen"), "! http 0: The editor's model failed: no model is chosen.\n"},
		{"a known error", `[]`, model.Lent{}, &model.Error{Kind: "unavailable", Message: "Gone."}, "! unavailable 0: Gone.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := Editor(func(_ context.Context, r model.Loan, on func(model.Chunk)) (model.Lent, error) {
				messages, tools := string(r.Messages), string(r.Tools)
				if !strings.Contains(messages, `"tool_call_id":"call_1"`) || !strings.Contains(tools, `"name":"bash"`) {
					t.Errorf("%s %s", messages, tools)
				}
				var chunks []model.Chunk
				if err := json.Unmarshal([]byte(c.chunks), &chunks); err != nil || r.Model != "large" {
					t.Error(r.Model, err)
				}
				for _, chunk := range chunks {
					on(chunk)
				}
				return c.lent, c.err
			}, "large", time.Minute)
			if got := modeltest.Write(t.Context(), t, m, modeltest.Conversation()); got != c.want || m.Name() != "editor/large" {
				t.Error(got)
			}
		})
	}
}

// TestEditorSilent sees to it that an editor which stops answering does not hold up a turn, and one that is slow does
// not fail.
func TestEditorSilent(t *testing.T) {
	for _, c := range []struct {
		name   string
		pauses []time.Duration
		want   string
	}{
		{"slow", []time.Duration{59 * time.Second, 59 * time.Second, 59 * time.Second}, "text ...\n= end_turn; " +
			"in 0 (cached 0, written 0), out 0, $0.0000\n"},
		{"silent from the first", []time.Duration{time.Hour}, "! cut 0: The editor's model has been silent for 1m0s.\n"},
		{"silent midway", []time.Duration{time.Second, time.Hour}, "text .\n! cut 0: The editor's model has been silent for 1m0s.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := Editor(func(ctx context.Context, _ model.Loan, on func(model.Chunk)) (model.Lent, error) {
					for _, pause := range c.pauses {
						select {
						case <-ctx.Done():
							return model.Lent{}, ctx.Err()
						case <-time.After(pause):
							on(model.Chunk{Text: "."})
						}
					}
					return model.Lent{}, nil
				}, "", time.Minute)
				if got := modeltest.Write(t.Context(), t, m, modeltest.Conversation()); got != c.want || m.Name() != "editor" {
					t.Error(got)
				}
			})
		})
	}
}

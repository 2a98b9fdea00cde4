package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// TestFaultW7Fields sees that fields of calls and messages go back to the model that wrote them, and to no other.
func TestFaultW7Fields(t *testing.T) {
	said := model.Message{
		Role: model.Assistant, Text: "One. Two.",
		Calls: []model.Call{{ID: "a:1", Name: "look", Arguments: "{}", Extra: &model.Extra{Model: "p/m", Fields: json.RawMessage(`{"seal":"c2ln<>"}`)}}},
		Thoughts: []model.Thought{
			{Model: "p/m", Sealed: wire.Sealed(json.RawMessage(`{"phase":"commentary"}`)), AfterText: 5},
			{Model: "p/m", Sealed: json.RawMessage(`{"type":"reasoning","id":"r"}`), AfterText: 5},
			{Model: "p/m", Sealed: wire.Sealed(json.RawMessage(`{"phase":"final_answer"}`)), AfterText: 9},
			{Model: "p/m", Text: "of another protocol", AfterText: 9},
		},
	}
	for name, want := range map[string]string{
		"m": `[{"content":"One. ","phase":"commentary","role":"assistant"},{"type":"reasoning","id":"r"},` +
			`{"content":"Two.","phase":"final_answer","role":"assistant"},` +
			`{"arguments":"{}","call_id":"a:1","name":"look","seal":"c2ln<>","type":"function_call"},{"type":"function_call_output","call_id":"a:1","output":"Done."}]`,
		"other": `[{"role":"assistant","content":"One. Two."},{"type":"function_call","call_id":"a_1_abcd","name":"look","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"a_1_abcd","output":"Done."}]`,
	} {
		m := &responses{Client: &wire.Client{Service: wire.Service{Provider: "p", Model: name}}}
		m.sent.Store(&sent{})
		r := model.Request{Messages: []model.Message{said, {Role: model.Tool, CallID: "a:1", Text: "Done."}}}
		body, err := m.body(m.request(r, true), r, true)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(body.Reader())
		if err != nil {
			t.Fatal(err)
		}
		want = strings.ReplaceAll(want, "a_1_abcd", wire.CallID("a:1"))
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s", raw)
		}
	}
}

// TestFaultW7RefusedFields has a service refuse fields that it has sent: they are left out, and the rest stays.
func TestFaultW7RefusedFields(t *testing.T) {
	r := model.Request{Messages: []model.Message{
		{Role: model.User, Text: "Go."},
		{
			Role: model.Assistant, Text: "Hi",
			Calls:    []model.Call{{ID: "c", Name: "look", Arguments: "{}", Extra: &model.Extra{Model: "p/m", Fields: json.RawMessage(`{"seal":"x","mark":1}`)}}},
			Thoughts: []model.Thought{{Model: "p/m", Sealed: wire.Sealed(json.RawMessage(`{"phase":"commentary"}`)), AfterText: 2}},
		},
		{Role: model.Tool, CallID: "c", Text: "Done."},
	}}
	var had []string
	m, err := New(wire.Service{
		Provider: "p", Model: "m", BaseURL: "https://x",
		Transport: roundTrip(func(q *http.Request) (*http.Response, error) {
			raw, err := io.ReadAll(q.Body)
			body, fields := string(raw), ""
			for _, field := range []string{"mark", "phase", "seal"} {
				if strings.Contains(body, `"`+field+`":`) {
					fields += field + " "
				}
			}
			had = append(had, fields)
			resp := &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Request: q}
			answer := `{"error":{"message":"Unknown parameter: 'input[1].phase'.","type":"invalid_request_error"}}`
			switch {
			case strings.Contains(fields, "phase"):
			case strings.Contains(fields, "seal"):
				answer = `{"error":{"message":"Unknown parameter: 'input[2].seal'.","type":"invalid_request_error"}}`
			default:
				resp.StatusCode = http.StatusOK
				answer = `data: {"type":"response.completed","response":{"output":[]}}` + "\n\n"
			}
			resp.Body = io.NopCloser(strings.NewReader(answer))
			return resp, err
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := m.Stream(t.Context(), r, func(model.Delta) {}); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(had, "|"); got != "mark phase seal |mark seal |mark |mark " {
		t.Error(got)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

package anthropic

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// TestFaultW7Unsigned has thoughts without a signature go back, but not to a service that has refused one.
func TestFaultW7Unsigned(t *testing.T) {
	for _, strict := range []bool{false, true} {
		var had []bool
		m, err := New(wire.Service{
			Provider: "p", Model: "m", BaseURL: "https://x",
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				raw, err := io.ReadAll(r.Body)
				has := strings.Contains(string(raw), `"thinking":"Hm."`)
				had = append(had, has)
				resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r}
				answer := "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Hi\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"
				if has && strict {
					resp.StatusCode = http.StatusBadRequest
					answer = `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0.thinking.signature: Field required"}}`
				}
				resp.Body = io.NopCloser(strings.NewReader(answer))
				return resp, err
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		r := model.Request{Messages: []model.Message{
			{Role: model.User, Text: "Go."},
			{Role: model.Assistant, Text: "Hi", Thoughts: []model.Thought{{Model: "p/m", Text: "Hm.", Sealed: []byte(`{"thinking":"Hm.","type":"thinking"}`)}}},
			{Role: model.User, Text: "Go on."},
		}}
		for range 2 {
			if _, err := m.Stream(t.Context(), r, func(model.Delta) {}); err != nil {
				t.Error(err)
			}
		}
		want := []bool{true, true}
		if strict {
			want = []bool{true, false, false}
		}
		if len(had) != len(want) || had[1] != want[1] || had[len(had)-1] != want[len(want)-1] {
			t.Errorf("strict %t: %v", strict, had)
		}
	}
}

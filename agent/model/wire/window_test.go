package wire

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"tandem/agent/model"
)

// TestWindowInRefusals has services refuse a request for its length in their own words: the error says so, and how much
// the model can read where the service does.
func TestWindowInRefusals(t *testing.T) {
	for _, c := range []struct {
		service string
		status  int
		body    string
		want    int64
	}{
		{"openai", 400, `{"error":{"message":"This model's maximum context length is 16384 tokens. However, your messages resulted in 30000 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, 16384},
		{"openai, Responses", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, 0},
		{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 250000 tokens > 200000 maximum"}}`, 200000},
		{"anthropic, with the answer", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 190000 + 20000 > 200000, decrease input length or ` + "`max_tokens`" + ` and try again"}}`, 200000},
		{"anthropic, bytes", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, 0},
		{"gemini", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, 1048576},
		{"openrouter", 400, `{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 140123 tokens (139000 of text input, 1123 of tool input). Please reduce the length of either one.","code":400}}`, 131072},
		{"ollama", 400, `{"error":{"message":"prompt too long; exceeded max context length by 123 tokens","type":"invalid_request_error"}}`, 0},
		{"ollama, embedding", 400, `{"error":"the input length exceeds the context length"}`, 0},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"request (19185 tokens) exceeds the available context size (16384 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":19185,"n_ctx":16384}}`, 16384},
		{"llama.cpp, before", 400, `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"invalid_request_error"}}`, 0},
		{"vllm", 400, `{"object":"error","message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8500 in the messages, 500 in the completion).","type":"BadRequestError","param":null,"code":400}`, 8192},
		{"vllm, length of the model", 400, `{"error":{"message":"The decoder prompt (length 9000) is longer than the maximum model length of 8192.","type":"BadRequestError","code":400}}`, 8192},
		{"vllm, context only", 400, `{"error":{"message":"You passed 8193 input tokens and requested 0 output tokens. However, the model's context length is only 8192 tokens, resulting in a maximum input length of 8192 tokens.","type":"BadRequestError","code":400}}`, 8192},
		{"lm studio", 400, `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`, 4096},
		{"xai", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131,072 but the request contains 537,812 tokens."}`, 131072},
		{"mistral", 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error"}`, 32768},
		{"copilot", 400, `{"error":{"message":"prompt token count of 140123 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, 128000},
		{"a proxy", 413, `<html><body><h1>413 Request Entity Too Large</h1></body></html>`, 0},
		{"nobody", 413, ``, 0},
	} {
		t.Run(c.service, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			}))
			defer s.Close()
			_, err := ask(t.Context(), client(t, Service{BaseURL: s.URL}), nil)
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != "context_window" || e.Window != c.want || e.Status != c.status || e.Retryable {
				t.Errorf("%+v, not a window of %d", e, c.want)
			}
		})
	}
}

// TestWindowIsNoRate leaves errors that name numbers of tokens and are not about the length of a conversation.
func TestWindowIsNoRate(t *testing.T) {
	c := client(t, Service{BaseURL: "http://x"})
	for status, says := range map[int]string{
		429: "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000.",
		400: "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for this model",
		422: "max_completion_tokens must be less than 8192",
		500: "the model has crashed",
	} {
		if e := c.refused(status, says, "", http.Header{}); e.Kind == "context_window" || e.Window != 0 {
			t.Errorf("%s: %+v", says, e)
		}
	}
}

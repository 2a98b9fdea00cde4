package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/agent/config"
	"tandem/agent/model/registry"
	"tandem/agent/store"
	"tandem/tools/gate"
)

// sentMessage is a message of a request, as a service looks at it.
type sentMessage map[string]any

func (m sentMessage) calls() (out []sentMessage) {
	list, _ := m["tool_calls"].([]any)
	for _, c := range list {
		out = append(out, c.(map[string]any))
	}
	return out
}

// at gives what a path of names leads to.
func (m sentMessage) at(path ...string) any {
	var v any = map[string]any(m)
	for _, name := range path {
		of, _ := v.(map[string]any)
		v = of[name]
	}
	return v
}

// strict is a service that speaks Chat Completions and is as strict as the real one has been reported to be.
type strict struct {
	name, source string
	// calls are the events of the n-th answer that calls look, say those of one that does not.
	calls func(n int) []string
	say   []string
	// judge is called for each assistant's message that calls; n counts them. It gives what the service complains about.
	judge func(n int, m sentMessage) string
	// message is called for every message.
	message func(m sentMessage) string
	status  int
	// most is how many requests may be refused, each time the model is opened.
	most int
}

func plainCall(n int, more string) string {
	return fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":"look","arguments":"{\"text\":\"%d\"}"}%s}]}`, n, n, more)
}

// only complains about fields that are none of those named.
func only(names ...string) func(sentMessage) string {
	return func(m sentMessage) string {
		for field := range m {
			if !strings.Contains(" role content tool_calls tool_call_id name "+strings.Join(names, " ")+" ", " "+field+" ") {
				return fmt.Sprintf("property '%s' is unsupported", field)
			}
		}
		return ""
	}
}

func strictServices() []strict {
	done := []string{`{"content":"Done."}`, "stop"}
	mistralID := regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	bedrockID := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	return []strict{
		{
			name: "Gemini", source: "securo-finance/securo#884, noho/dayu-agent#82", say: done, message: only(), status: 400,
			calls: func(n int) []string {
				return []string{
					fmt.Sprintf(`{"tool_calls":[{"id":"a%d","type":"function","function":{"name":"look","arguments":"{\"text\":\"a\"}"},"extra_content":{"google":{"thought_signature":"sig+%d/="}}}]}`, n, n),
					fmt.Sprintf(`{"tool_calls":[{"id":"b%d","type":"function","function":{"name":"default_api:look","arguments":"{\"text\":\"b\"}"}}]}`, n), "stop",
				}
			},
			judge: func(n int, m sentMessage) string {
				if c := m.calls(); c[0].at("extra_content", "google", "thought_signature") != fmt.Sprintf("sig+%d/=", n) || c[1]["extra_content"] != nil {
					return "Function call is missing a thought_signature in functionCall parts."
				}
				return ""
			},
		},
		{
			name: "OpenRouter", source: "microsoft/agent-framework#2947, agno-agi/agno#5802", say: done, message: only("reasoning", "reasoning_details"), status: 400,
			calls: func(n int) []string {
				return []string{
					`{"reasoning":"Let","reasoning_details":[{"type":"reasoning.text","text":"Let","index":0}]}`,
					`{"reasoning":" me.","reasoning_details":[{"type":"reasoning.text","text":" me.","index":0}]}`,
					fmt.Sprintf(`{"reasoning_details":[{"type":"reasoning.text","signature":"s%d","index":0}]}`, n),
					fmt.Sprintf(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"ZA","id":"call_%d","index":1}]}`, n),
					plainCall(n, ""), "tool_calls",
				}
			},
			judge: func(n int, m sentMessage) string {
				want := []any{
					map[string]any{"type": "reasoning.text", "text": "Let me.", "signature": fmt.Sprint("s", n), "index": 0.0},
					map[string]any{"type": "reasoning.encrypted", "data": "ZA", "id": fmt.Sprint("call_", n), "index": 1.0},
				}
				if !reflect.DeepEqual(m["reasoning_details"], want) {
					return "Gemini models require OpenRouter reasoning details to be preserved in each request."
				}
				return ""
			},
		},
		{
			name: "LiteLLM", source: "BerriAI/litellm#16895, langbot-app/LangBot#2265, BerriAI/litellm#16434", say: done, status: 400,
			calls: func(n int) []string {
				return []string{
					`{"reasoning_content":"Hm.","thinking_blocks":[{"type":"thinking","thinking":"Hm.","signature":""}]}`,
					`{"thinking_blocks":[{"type":"thinking","thinking":"","signature":"EqQB"}]}`,
					fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_%d__thought__%s==","type":"function","function":{"name":"look","arguments":"{\"text\":\"x\"}","provider_specific_fields":{"thought_signature":"f"}},"provider_specific_fields":{"thought_signature":"t"}}]}`, n, strings.Repeat("c2ln+/", 20)), "tool_calls",
				}
			},
			judge: func(n int, m sentMessage) string {
				c := m.calls()[0]
				blocks := []any{map[string]any{"type": "thinking", "thinking": "Hm.", "signature": "EqQB"}}
				if c["id"] != fmt.Sprintf("call_%d__thought__%s==", n, strings.Repeat("c2ln+/", 20)) || c.at("provider_specific_fields", "thought_signature") != "t" ||
					c.at("function", "provider_specific_fields", "thought_signature") != "f" {
					return "Function call is missing a thought_signature in functionCall parts."
				}
				if !reflect.DeepEqual(m["thinking_blocks"], blocks) {
					return "Expected `thinking` or `redacted_thinking`, but found `tool_use`."
				}
				return ""
			},
		},
		{
			name: "vLLM", source: "ogx-ai/ogx#5462, anomalyco/opencode#30477, sgl-project/sglang#9606", say: done, status: 400,
			calls: func(n int) []string {
				return []string{
					`{"reasoning":"Hm."}`,
					fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"functions.look:%d","type":"function","function":{"name":"look","arguments":null}}]}`, n),
					`{"tool_calls":[{"index":0,"function":{"arguments":"{\"text\":"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"\"x\"}"}}]}`, "tool_calls",
				}
			},
			judge: func(n int, m sentMessage) string {
				if c := m.calls()[0]; m["reasoning"] != "Hm." || m["reasoning_content"] != nil || c["id"] != fmt.Sprintf("functions.look:%d", n) ||
					c.at("function", "arguments") != `{"text":"x"}` {
					return fmt.Sprintf("the template cannot be filled: %v", m)
				}
				return ""
			},
		},
		{
			name: "Mistral", source: "symfony/ai#2422, earendil-works/pi#9674, OpenMinis/OpenMinis#87", say: []string{`{"content":[{"type":"text","text":"Done."}]}`, "stop"}, status: 422,
			calls: func(n int) []string {
				return []string{
					`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"One "}]}]}`, `{"content":""}`,
					`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"two."}]}]}`,
					fmt.Sprintf(`{"content":"","tool_calls":[{"id":"D681Peva%d","function":{"name":"look","arguments":{"text":"x"}},"index":0}]}`, n), "tool_calls",
				}
			},
			message: func(m sentMessage) string {
				if why := only()(m); why != "" {
					return `[{"type":"extra_forbidden","msg":"Extra inputs are not permitted"}] ` + why
				}
				if id, ok := m["tool_call_id"].(string); ok && !mistralID.MatchString(id) {
					return "Tool call id was " + id + " but must be a-z, A-Z, 0-9, with a length of 9."
				}
				return ""
			},
			judge: func(_ int, m sentMessage) string {
				parts, _ := m["content"].([]any)
				if len(parts) != 1 || !reflect.DeepEqual(parts[0], map[string]any{"type": "thinking", "thinking": []any{map[string]any{"type": "text", "text": "One two."}}}) {
					return fmt.Sprintf("Expected at most one leading ThinkChunk, got %v", m["content"])
				}
				return ""
			},
		},
		{
			name: "Ollama", source: "ollama/ollama#7881, google/adk-python#3928", say: done, status: 400,
			calls: func(n int) []string {
				return []string{fmt.Sprintf(`{"role":"assistant","content":"","tool_calls":[{"id":"call_%d","type":"function","function":{"name":"look","arguments":"{\"text\":\"x\"}"}},`+
					`{"id":"call_%db","type":"function","function":{"name":"look","arguments":"{\"text\":\"y\"}"}}]}`, n, n), "stop"}
			},
			message: func(m sentMessage) string {
				if _, text := m["content"].(string); !text && m["content"] != nil {
					return "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string"
				}
				return ""
			},
			judge: func(_ int, m sentMessage) string {
				if len(m.calls()) != 2 {
					return "invalid message content"
				}
				return ""
			},
		},
		{
			name: "Bedrock", source: "openai/openai-agents-js#712", say: done, message: only(), status: 400,
			calls: func(n int) []string {
				return []string{
					fmt.Sprintf(`{"content":"Looking.","tool_calls":[{"index":0,"id":"tooluse_%d","type":"function","function":{"name":"look","arguments":"{}"}}]}`, n),
					`{"tool_calls":[{"index":0,"function":{"arguments":"{\"text\":\"x\"}"}}]}`,
					fmt.Sprintf(`{"tool_calls":[{"index":1,"id":"tooluse_%db","type":"function","function":{"name":"look","arguments":"{}"}}]}`, n),
					`{"tool_calls":[{"index":1,"function":{"arguments":"{\"text\":\"y\"}"}}]}`, "tool_calls",
				}
			},
			judge: func(_ int, m sentMessage) string {
				for _, c := range m.calls() {
					if id, _ := c["id"].(string); !bedrockID.MatchString(id) || !strings.HasPrefix(fmt.Sprint(c.at("function", "arguments")), `{"text"`) {
						return "The format of the value at toolUse.input is invalid."
					}
				}
				if len(m.calls()) != 2 || m["content"] == "" {
					return "The text field in the ContentBlock object is blank."
				}
				return ""
			},
		},
		{
			name: "Groq", source: "NousResearch/hermes-agent#11089", say: done, message: only(), status: 400, most: 1,
			calls: func(n int) []string { return []string{`{"reasoning":"Hm."}`, plainCall(n, ""), "tool_calls"} },
		},
	}
}

// TestFaultW7StrictServices has three turns with tools with each of the services. The session is stored and loaded again
// before the last one.
func TestFaultW7StrictServices(t *testing.T) {
	for _, s := range strictServices() {
		t.Run(s.name, func(t *testing.T) {
			var mu sync.Mutex
			var refused []string
			answers, results := 0, 0
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				var req struct {
					Messages []sentMessage
					Tools    []sentMessage
				}
				if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
					t.Error(err)
				}
				if why := cmp.Or(s.complaint(req.Messages), toolComplaint(req.Tools)); why != "" {
					refused = append(refused, why)
					w.WriteHeader(s.status)
					_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": why, "code": s.status}})
					return
				}
				events := s.say
				if last := req.Messages[len(req.Messages)-1]; last["role"] == "user" {
					events = s.calls(answers)
					answers++
				} else if strings.HasPrefix(fmt.Sprint(last["content"]), "saw ") {
					results++
				}
				for _, e := range events {
					delta, finish := e, "null"
					if !strings.HasPrefix(e, "{") {
						delta, finish = "{}", fmt.Sprintf("%q", e)
					}
					fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
				}
				fmt.Fprint(w, "data: [DONE]\n\n")
			}))
			defer service.Close()
			conf, problems := config.Load(config.Inputs{OwnClient: true, Client: fmt.Appendf(nil,
				`{"model": "mock/m", "providers": {"mock": {"api": "openai-chat", "baseUrl": "%s/v1"}}}`, service.URL)})
			if problems != nil {
				t.Fatal(problems)
			}
			st := memory(t)
			var past *Past
			for _, turns := range []int{2, 1} {
				c := &client{}
				session := session(t, c, nil, func(o *setup) {
					o.ID, o.Mode, o.Past, o.Keeping.Store = "kept", gate.ModeAuto, past, func() store.Store { return st }
					o.Config, o.Models = conf, &registry.Registry{Config: conf, Getenv: func(string) string { return "" }}
				})
				for range turns {
					if r := ask(t, session, "go"); r.Stop != EndTurn {
						t.Errorf("%+v\n%s", r, c.transcript())
					}
				}
				session.Close()
				var err error
				if past, err = TakePast(t.Context(), st, "kept", session.o.Workspace, time.Now, func(store.Session) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			if len(refused) > 2*s.most || answers != 3 || results != 3 {
				t.Errorf("%s: %d answers, %d results, refused: %q", s.source, answers, results, refused)
			}
		})
	}
}

// toolComplaint is what all of them say of a tool that some do not take: sandialabs/atlas-ui-3#727, can1357/oh-my-pi#2652.
func toolComplaint(offered []sentMessage) string {
	name := regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)
	for _, tool := range offered {
		n, _ := tool.at("function", "name").(string)
		root, _ := tool.at("function", "parameters").(map[string]any)
		if !name.MatchString(n) || root["type"] != "object" || root["anyOf"] != nil || root["oneOf"] != nil || root["allOf"] != nil {
			return fmt.Sprintf("Invalid schema for function '%s': the root must be an object without anyOf, oneOf, allOf.", n)
		}
	}
	return ""
}

// complaint is what the service says of a request, "" where it takes it.
func (s strict) complaint(messages []sentMessage) string {
	n := 0
	open := map[any]bool{}
	for _, m := range messages {
		if s.message != nil {
			if why := s.message(m); why != "" {
				return why
			}
		}
		if m["role"] == "tool" {
			if !open[m["tool_call_id"]] {
				return fmt.Sprintf("tool_call_id %v did not match a preceding tool_calls", m["tool_call_id"])
			}
			delete(open, m["tool_call_id"])
			continue
		}
		if len(open) > 0 {
			return "An assistant message with tool_calls must be followed by tool messages."
		}
		for _, c := range m.calls() {
			open[c["id"]] = true
		}
		if m["tool_calls"] != nil {
			if s.judge != nil {
				if why := s.judge(n, m); why != "" {
					return why
				}
			}
			n++
		}
	}
	return ""
}

// TestFaultW9RefusedTool has three turns with a service that refuses one of the tools, whatever its schema is.
func TestFaultW9RefusedTool(t *testing.T) {
	var mu sync.Mutex
	refused, taken := 0, 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var req struct {
			Tools []struct{ Function struct{ Name string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		for _, tool := range req.Tools {
			if tool.Function.Name == "slow" {
				refused++
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"error":{"message":"Invalid schema for function 'slow'","code":"invalid_function_parameters"}}`)
				return
			}
		}
		taken += len(req.Tools)
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}]}`+"\n\n")
	}))
	defer service.Close()
	conf, problems := config.Load(config.Inputs{OwnClient: true, Client: fmt.Appendf(nil,
		`{"model": "mock/m", "providers": {"mock": {"api": "openai-chat", "baseUrl": "%s/v1"}}}`, service.URL)})
	if problems != nil {
		t.Fatal(problems)
	}
	c := &client{}
	s := session(t, c, nil, func(o *setup) {
		o.Config, o.Models = conf, &registry.Registry{Config: conf, Getenv: func(string) string { return "" }}
	})
	for range 3 {
		if r := ask(t, s, "go"); r.Stop != EndTurn {
			t.Errorf("%+v", r)
		}
	}
	if got := c.transcript(); refused != 1 || taken != 6 || strings.Count(got, "refuses the tool slow, which is left out from now on") != 1 {
		t.Errorf("refused %d times, %d tools taken\n%s", refused, taken, got)
	}
}

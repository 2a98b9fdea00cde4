package lspserver_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/modeltest"
	"tandem/agent/model/registry"
	"tandem/lspserver/conformance"
)

// recorded is a service on loopback that plays a recorded answer, byte for byte.
type recorded struct {
	net.Listener
	mu   sync.Mutex
	c    *modeltest.Case
	n    int // requests so far
	busy sync.WaitGroup
}

func newRecorded(t *testing.T) *recorded {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &recorded{Listener: ln}
	s.busy.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			c, at := s.c, s.n
			s.n++
			s.mu.Unlock()
			s.busy.Go(func() { c.Serve(conn, at, 100) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		s.busy.Wait()
	})
	return s
}

func (s *recorded) play(c *modeltest.Case) {
	s.mu.Lock()
	s.c, s.n = c, 0
	s.mu.Unlock()
}

// outcome is what a case comes to: text and thoughts, the person's notices, and how it ended.
type outcome struct {
	Text, Thought string
	Notices       []string
	Stop          string
	Code, Message string
	Usage         string
	Calls         int
}

// expected reads what a case wants.
func expected(c *modeltest.Case, hint string) (o outcome) {
	silence := "silent for "
	for line := range strings.Lines(strings.ReplaceAll(c.Want, silence+modeltest.SilentFor.String(), silence+idleFor.String())) {
		line = strings.TrimSuffix(line, "\n")
		kind, rest, _ := strings.Cut(line, " ")
		rest = strings.ReplaceAll(rest, `\n`, "\n")
		switch kind {
		case "text":
			o.Text += rest
		case "thought":
			o.Thought += rest
		case "notice":
			o.Notices = append(o.Notices, rest)
		case "call":
			if _, name, _ := strings.Cut(rest, " "); strings.HasPrefix(name, `"`) { // with its id: it begins here
				o.Calls++
			}
		case "=":
			reason, rest, _ := strings.Cut(rest, "; ")
			usage, detail, _ := strings.Cut(rest, "; ")
			o.Stop, o.Usage = reason, usage
			if reason == "tool_calls" {
				o.Stop = "max_turn_requests"
				detail = "The turn stopped after 1 requests to the model (budget.maxTurnRequests)."
			}
			if detail != "" {
				o.Notices = append(o.Notices, detail)
			}
		case "!":
			about, message, _ := strings.Cut(rest, ": ")
			code, _, _ := strings.Cut(about, " ")
			o.Stop, o.Code, o.Message, o.Usage = "error", code, message+hint, "in 0 (cached 0, written 0), out 0, $0.0000"
			o.Notices = append(o.Notices, o.Message)
		}
	}
	return o
}

// idleFor is more than a busy machine takes for one answer.
const idleFor = 700 * time.Millisecond

// TestEveryAnswerOfAService plays all recorded answers through the whole server: whatever a service does, the turn
// ends, the person reads all that was said, and is told what went wrong in the words that the model's own package has
// for it.
func TestEveryAnswerOfAService(t *testing.T) {
	for _, api := range []struct{ name, folder, hint string }{
		{"anthropic", "anthropic", ""},
		{"openai", "openai", ` A service without Responses needs providers.mock.api to be "openai-chat".`},
		{"openai-chat", "openaichat", ""},
	} {
		t.Run(api.name, func(t *testing.T) {
			t.Parallel()
			service := newRecorded(t)
			so := options(nil)
			so.Tools = nil // what the recorded models call is not carried out
			transport := &http.Transport{DisableKeepAlives: true}
			opener := func(idle time.Duration) func(config.Config, model.Lend) model.Opener {
				return func(c config.Config, _ model.Lend) model.Opener {
					return &registry.Registry{
						Config: c, Getenv: func(string) string { return modeltest.Key }, Idle: idle, Transport: transport,
					}
				}
			}
			settings := map[string]any{
				"model": "mock/m", "budget": map[string]any{"maxTurnRequests": 1},
				"providers": map[string]any{"mock": map[string]any{
					"api": api.name, "baseUrl": fmt.Sprintf("http://%s/v1", service.Addr()), "apiKeyEnv": "MOCK_KEY",
					"headers": map[string]any{"X-Team": modeltest.Header},
					"prices": map[string]any{"m": map[string]any{
						"input": 1000, "output": 10_000, "cachedInput": 100, "cacheWrite": 2000,
					}},
				}},
			}
			with := func(attempts int, patience time.Duration) *rig {
				so.Opener = opener(patience)
				settings["retry"] = map[string]any{"attempts": attempts, "backoffMs": 1}
				return start(t, conformance.Options{Settings: settings}, so)
			}
			once, thrice, hasty := with(1, 0), with(3, 0), with(1, idleFor)
			for _, c := range modeltest.Cases(t, "../agent/model/"+api.folder+"/testdata") {
				service.play(c)
				r := once
				switch {
				case c.Again():
					r = thrice
				case c.Silent():
					r = hasty
				}
				hint := ""
				if strings.Contains(c.Want, "Set \"model\" to one that it serves") {
					hint = api.hint
				}
				got := play(r)
				host := strings.NewReplacer(service.Addr().String(), "HOST")
				got.Message = host.Replace(got.Message)
				for i := range got.Notices {
					got.Notices[i] = host.Replace(got.Notices[i])
				}
				if diff := cmp.Diff(expected(c, hint), got); diff != "" {
					t.Errorf("%s: %s", c.Name, diff)
				}
				if got.Text == "" && got.Thought == "" && got.Calls == 0 && len(got.Notices) == 0 {
					t.Errorf("%s: nothing is said of it", c.Name)
				}
			}
			once.end()
			thrice.end()
			hasty.end()
		})
	}
}

// play runs a turn of a new session.
func play(r *rig) outcome {
	id := r.session(nil)
	var end struct {
		turnEnd
		Usage struct {
			InputTokens, OutputTokens, CachedInputTokens, CacheWriteTokens int64
			Cost                                                           struct {
				Amount   float64
				Currency string
			}
		}
	}
	r.ask("tandem/session/prompt", prompt(id, "Go."), &end)
	u := end.Usage
	got := outcome{
		Text: r.said(id, "agent_message_chunk"), Thought: r.said(id, "agent_thought_chunk"),
		Stop: end.StopReason, Code: end.Error.Code, Message: end.Error.Message,
		Usage: fmt.Sprintf("in %d (cached %d, written %d), out %d, $%.4f",
			u.InputTokens, u.CachedInputTokens, u.CacheWriteTokens, u.OutputTokens, u.Cost.Amount),
	}
	calls := map[string]bool{}
	for _, u := range r.told(id) {
		switch u.Update.SessionUpdate {
		case "notice":
			var block struct{ Text string }
			if err := json.Unmarshal(u.Update.Content, &block); err != nil {
				r.t.Error(err)
			}
			got.Notices = append(got.Notices, block.Text)
		case "tool_call":
			calls[u.Update.ToolCallID] = true
		case "tool_call_update":
			if u.Update.Meta.Tandem.State == "yielded" && !calls[u.Update.ToolCallID] {
				r.t.Errorf("%s was never announced", u.Update.ToolCallID)
			}
		}
	}
	got.Calls = len(calls)
	r.ask("tandem/session/close", map[string]any{"sessionId": id}, nil)
	return got
}

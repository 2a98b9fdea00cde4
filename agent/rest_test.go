package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"tandem/agent/config"
	"tandem/agent/model/registry"
	"tandem/tools"
	"tandem/tools/outputs"
	"tandem/tools/toolstest"
)

// TestFaultS10SessionAtRest: an open session that has worked holds its history, once more as it was encoded for the last request, and none
// of its long outputs.
func TestFaultS10SessionAtRest(t *testing.T) {
	const sessions, turns, most = 8, 20, 2 << 20
	conf := config.Default()
	conf.Retry.Attempts, conf.Mode = 1, "auto"
	conf.Providers = map[string]config.Provider{"mock": {API: "openai-chat", BaseURL: "http://mock/v1"}}
	prints := tool("prints", tools.Read, tools.WithReads, tools.Reads, func(_ context.Context, _ *tools.Env, in note) (tools.Result, error) {
		return tools.Result{Success: true, Data: strings.Repeat("a line that a command prints "+in.Text+"\n", 3000)}, nil
	})
	dir := t.TempDir()
	before := heap()
	for i := range sessions {
		asked := 0
		models := &registry.Registry{
			Config: conf, Getenv: func(string) string { return "" },
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				_, _ = io.Copy(io.Discard, r.Body)
				asked++
				delta := `{"content":"Done."}`
				if asked%2 == 1 {
					args, _ := json.Marshal(fmt.Sprintf(`{"text":"%d %d"}`, i, asked))
					delta = fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":"prints","arguments":%s}}]}`, asked, args)
				}
				finish := []string{"stop", "tool_calls"}[asked%2]
				return &http.Response{
					StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(fmt.Sprintf(
						"data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", delta, finish))),
				}, nil
			}),
		}
		s := session(t, &client{}, nil, func(o *setup) {
			o.ID, o.Config, o.Models, o.Model = fmt.Sprint("s", i), conf, models, "mock/m"
			o.Tools = func() *tools.Set { return toolstest.SetOf(prints) }
			o.Shared.Scratch = func() (outputs.File, error) { return os.CreateTemp(dir, "output") }
		})
		for n := range turns {
			if r := ask(t, s, fmt.Sprint("Go on: ", n)); r.Stop != EndTurn {
				t.Fatalf("%+v", r)
			}
		}
		if asked != 2*turns {
			t.Fatalf("%d requests", asked)
		}
		if got, err := s.outputs.Get(s.History()[2].CallID); err != nil || len(got) < 90_000 {
			t.Fatalf("%d bytes of the first output: %v", len(got), err)
		}
	}
	each := (heap() - before) / sessions
	t.Logf("%d bytes a session, with what its last request was made of", each)
	if each > most {
		t.Errorf("%d bytes a session, want %d at most", each, most)
	}
}

// heap is how many bytes are in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

package lspserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tandem/lspserver/conformance"
	"tandem/tools"
)

// TestFindingS15CallsAtOnce makes sixty calls at once in a session: no more run than the configuration says, all of
// them do.
func TestFindingS15CallsAtOnce(t *testing.T) {
	const limit = 3
	var running, most atomic.Int32
	slow := tools.Define(tools.Definition[nothing]{
		Spec:  tools.Spec{Name: "slow", Kind: tools.Read, Together: tools.WithReads, Class: tools.ClassRead},
		Needs: tools.Always[nothing](tools.Need{Act: tools.Reads}),
		Plan: func(context.Context, *tools.Env, nothing) (*tools.Plan, error) {
			return &tools.Plan{Kind: tools.Read, Run: func(context.Context) (tools.Result, error) {
				n := running.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(5 * time.Millisecond)
				running.Add(-1)
				return tools.Result{Success: true, Data: "done"}, nil
			}}, nil
		},
	})
	r := start(t, conformance.Options{Settings: map[string]any{"limits": map[string]any{"maxConcurrency": limit}}}, options(nil, slow))
	id := r.session(nil)
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			raw, err := r.Request(r.ctx, "tandem/tools/call", map[string]any{
				"sessionId": id, "callId": fmt.Sprint("c", i), "name": "slow", "arguments": map[string]any{},
			})
			var x result
			if err == nil {
				err = json.Unmarshal(raw, &x)
			}
			if err != nil || !x.Success {
				t.Errorf("%v %s", err, raw)
			}
		})
	}
	wg.Wait()
	if n := most.Load(); n > limit || n < 2 {
		t.Errorf("%d ran at once, the limit is %d", n, limit)
	}
	r.end()
}

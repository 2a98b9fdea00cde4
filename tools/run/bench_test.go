package run_test

import (
	"context"
	"encoding/json"
	"testing"

	"tandem/tools"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

// BenchmarkDispatch is a call of a tool that does nothing, with everything that happens around it, and what it takes to
// decode its arguments alone.
func BenchmarkDispatch(b *testing.B) {
	arguments := json.RawMessage(`{"path":"a/file/somewhere.go","ms":12}`)
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			var a args
			if err := json.Unmarshal(arguments, &a); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("noop", func(b *testing.B) {
		w := toolstest.NewWorld(b, probe(tools.Spec{Name: "noop", Together: tools.WithReads},
			func(context.Context, *tools.Env, args) (tools.Result, error) { return done("nothing"), nil }))
		events := 0
		w.Host.Observe = func(run.Event) { events++ }
		b.ReportAllocs()
		for b.Loop() {
			if r := toolstest.One(b.Context(), w.Host, run.Call{ID: "c", Name: "noop", Arguments: arguments}); !r.Success {
				b.Fatal(r.Data)
			}
		}
		if events == 0 {
			b.Error("nobody was told")
		}
	})
}

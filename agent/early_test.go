package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/registry"
	"tandem/tools"
)

// late is a model whose answer is told only once it is whole, as if no call began before.
type late struct{ model.Model }

func (l late) Stream(ctx context.Context, r model.Request, on on) (model.Response, error) {
	var all []model.Delta
	resp, err := l.Model.Stream(ctx, r, func(d model.Delta) { all = append(all, d) })
	for _, d := range all {
		on(d)
	}
	return resp, err
}

const earlyCalls = 8

// works is a tool that takes a while, and never runs beside another.
func works(d time.Duration) func() *tools.Set {
	return offering(tool("work", tools.Read, tools.Alone, tools.Reads, func(ctx context.Context, _ *tools.Env, in note) (tools.Result, error) {
		select {
		case <-time.After(d):
			return saw(in), nil
		case <-ctx.Done():
			return tools.Result{}, ctx.Err()
		}
	}))
}

// TestF285GainOfStartingEarly: 8 calls that the model writes in 100 ms each, and that take 100 ms each, take 900 ms where the first begins while
// the second is being written, and 1600 ms where all wait for the end of the answer.
func TestF285GainOfStartingEarly(t *testing.T) {
	m := fake(func(_ context.Context, r model.Request, on on) (model.Response, error) {
		if r.Messages[len(r.Messages)-1].Role == model.Tool {
			return model.Response{Stop: model.StopEnd}, nil
		}
		for i := range earlyCalls {
			time.Sleep(100 * time.Millisecond)
			on(model.Delta{Call: &model.CallDelta{Index: i, ID: fmt.Sprint("c", i), Name: "work", Arguments: `{"text":"x"}`, Done: true}})
		}
		return model.Response{Stop: model.StopCalls}, nil
	})
	for _, c := range []struct {
		m    model.Model
		want time.Duration
	}{{m, 900 * time.Millisecond}, {late{m}, 1600 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			s := session(t, &client{}, opener{"main": c.m}, func(o *setup) { o.Tools = works(100 * time.Millisecond) })
			began := time.Now()
			if r := ask(t, s, "go"); r.Stop != EndTurn {
				t.Errorf("%+v", r)
			}
			if got := time.Since(began); got != c.want {
				t.Errorf("it took %v, not %v", got, c.want)
			}
			s.Close()
		})
	}
}

// BenchmarkF285EarlyCalls is the wall time of a turn over a service on loopback that writes 8 calls in 20 ms each, of a tool that takes 20 ms: with
// calls that begin while the model writes, and without.
func BenchmarkF285EarlyCalls(b *testing.B) {
	const each = 20 * time.Millisecond
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event := func(format string, args ...any) {
			fmt.Fprintf(w, "data: "+format+"\n\n", args...)
			w.(http.Flusher).Flush()
		}
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(`"role":"tool"`)) {
			event(`{"choices":[{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}]}`)
		} else {
			for i := range earlyCalls {
				time.Sleep(each)
				event(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"work","arguments":"{\"text\":\"x\"}"}}]},"finish_reason":null}]}`, i, i)
			}
			event(`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	defer service.Close()
	conf, problems := config.Load(config.Inputs{OwnClient: true, Client: fmt.Appendf(nil,
		`{"model": "mock/m", "providers": {"mock": {"api": "openai-chat", "baseUrl": "%s/v1"}}}`, service.URL)})
	if problems != nil {
		b.Fatal(problems)
	}
	real, err := (&registry.Registry{Config: conf, Getenv: func(string) string { return "" }}).Open("mock/m")
	if err != nil {
		b.Fatal(err)
	}
	var took [2]time.Duration
	for b.Loop() {
		for i, m := range []model.Model{real, late{real}} {
			o := setupOf(&client{}, opener{"main": m})
			o.Cwd, o.Tools = b.TempDir(), works(each)
			s, err := o.session()
			if err != nil {
				b.Fatal(err)
			}
			began := time.Now()
			r, err := s.Prompt(b.Context(), text("go"))
			took[i] += time.Since(began)
			if err != nil || r.Stop != EndTurn || len(s.History()) != 3+earlyCalls {
				b.Fatalf("%+v %v, %d messages", r, err, len(s.History()))
			}
			s.Close()
		}
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(b.N) }
	b.ReportMetric(ms(took[0]), "ms/early")
	b.ReportMetric(ms(took[1]), "ms/late")
	b.ReportMetric(0, "ns/op")
	b.Logf("with %.1f ms, without %.1f ms: starting early saves %.0f %%", ms(took[0]), ms(took[1]), 100*(1-ms(took[0])/ms(took[1])))
}

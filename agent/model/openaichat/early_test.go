package openaichat

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestFaultW8EarlyReason has a service name a reason to end with each event and think for long between them, as su-kaka/gcli2api#403 and
// open-webui/open-webui#23921 do. One that is silent after its last word is not waited for.
func TestFaultW8EarlyReason(t *testing.T) {
	for _, c := range []struct {
		name   string
		deltas []string
		pause  time.Duration
		silent bool
		want   string
		most   time.Duration
	}{
		{"with each event", []string{`{"reasoning_content":"Hm."}`, `{"content":"Hi"}`, `{"content":"!"}`}, 3 * time.Second, false, "Hi!", time.Minute},
		{"before the answer", []string{`{"content":""}`, `{"content":"Hi"}`}, 20 * time.Second, false, "Hi", time.Minute},
		{"after the answer went on", []string{`{"content":"H"}`, `{"content":"i"}`, `{"content":"!"}`}, 4 * time.Second, false, "Hi!", time.Minute},
		{"and then silence", []string{`{"content":"Hi"}`}, 0, true, "Hi", 6 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var writing sync.WaitGroup
				defer writing.Wait()
				m, err := New(wire.Service{Provider: "p", Model: "m", BaseURL: "https://x/v1", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					body, w := io.Pipe()
					writing.Go(func() {
						<-r.Context().Done()
						w.CloseWithError(r.Context().Err())
					})
					writing.Go(func() {
						pause := c.pause
						for _, d := range c.deltas {
							fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":%s,"finish_reason":"stop"}]}`+"\n\n", d)
							if d != c.deltas[0] && !c.silent { // it has gone on once
								pause = 20 * time.Second
							}
							time.Sleep(pause)
						}
						if !c.silent {
							fmt.Fprint(w, "data: [DONE]\n\n")
							w.Close()
						}
					})
					return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: body}, nil
				})})
				if err != nil {
					t.Fatal(err)
				}
				begun, got := time.Now(), ""
				resp, err := m.Stream(t.Context(), model.Request{}, func(d model.Delta) { got += d.Text })
				if took := time.Since(begun); err != nil || got != c.want || resp.Stop != model.StopEnd || took > c.most {
					t.Errorf("%q %v %v after %s", got, resp, err, took)
				}
			})
		})
	}
}

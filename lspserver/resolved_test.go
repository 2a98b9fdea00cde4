package lspserver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tandem/lspserver/conformance"
	"tandem/lspserver/protocol"
)

// TestF216ResolvedIsTold: a question that the answer to another one covers, or whose turn ends, is taken back, and the client hears
// why. What a person answers after that counts for nothing.
func TestF216ResolvedIsTold(t *testing.T) {
	both, taken := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var resolved []protocol.ResolvedParams
	var first string // the call that is answered
	o := conformance.Options{
		Ask: func(n int, a conformance.Ask) string {
			if n == 2 {
				close(both)
				<-taken
				return "reject_once" // too late
			}
			<-both
			mu.Lock()
			defer mu.Unlock()
			first = a.ToolCall.ToolCallID
			return "allow_session"
		},
		Heard: func(method string, params json.RawMessage) {
			if method != "tandem/session/resolved" {
				return
			}
			var p protocol.ResolvedParams
			if err := json.Unmarshal(params, &p); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			resolved = append(resolved, p)
			close(taken)
		},
	}
	r := start(t, o, own(t, "{}"))
	s := r.session(nil)
	var calls sync.WaitGroup
	for _, name := range []string{"a.txt", "b.txt"} {
		calls.Go(func() {
			if got := r.call(s, "write_file", create(name)); !got.Success {
				t.Error(got.raw)
			}
		})
	}
	calls.Wait()
	mu.Lock()
	defer mu.Unlock()
	if len(resolved) != 1 {
		t.Fatalf("%+v", resolved)
	}
	if p := resolved[0]; p.SessionID != s || p.By != "rule" || p.OptionID != "" || !p.AlreadyResolved || p.ToolCallID == "" || p.ToolCallID == first {
		t.Errorf("%+v, answered %s", p, first)
	}
	r.end()
}

// TestJobsAreTold: a client hears of every command in the background that begins or ends, and can end one.
func TestJobsAreTold(t *testing.T) {
	told := make(chan []protocol.JobState, 8)
	o := conformance.Options{Heard: func(method string, params json.RawMessage) {
		var p struct {
			Update struct {
				SessionUpdate string
				Meta          struct{ Tandem protocol.UpdateMeta } `json:"_meta"`
			}
		}
		if method == "tandem/session/update" && json.Unmarshal(params, &p) == nil && p.Update.SessionUpdate == "session_info_update" {
			told <- *p.Update.Meta.Tandem.Jobs
		}
	}}
	r := start(t, o, own(t, "{}"))
	s := r.session(nil)
	want := protocol.JobState{SessionID: s, JobID: "job_1", Title: "$ sleep 8123458"}
	if got := r.call(s, "bash", `{"command": "sleep 8123458", "background": true}`); !got.Success {
		t.Fatal(got.raw)
	}
	if jobs := <-told; len(jobs) != 1 || jobs[0] != want {
		t.Errorf("%+v", jobs)
	}
	var status protocol.StatusResult
	r.ask("tandem/status", nil, &status)
	if len(status.Jobs) != 1 || status.Jobs[0] != want {
		t.Errorf("%+v", status.Jobs)
	}
	if got := r.call(s, "job_kill", `{"job_id": "job_1"}`); !got.Success {
		t.Error(got.raw)
	}
	if jobs := <-told; len(jobs) != 0 {
		t.Errorf("%+v", jobs)
	}
	r.end()
}

// TestF216AQuestionEnds: a question that stands ends with its turn, with its session and with the end of the input; the client hears of
// it where it can, and what was asked about is not done.
func TestF216AQuestionEnds(t *testing.T) {
	for name, end := range map[string]func(r *rig, session string){
		"cancel":           func(r *rig, s string) { r.Notify("tandem/session/cancel", map[string]any{"sessionId": s}) },
		"close":            func(r *rig, s string) { r.ask("tandem/session/close", map[string]any{"sessionId": s}, nil) },
		"end of the input": func(r *rig, _ string) { go r.HangUp() },
	} {
		t.Run(name, func(t *testing.T) {
			asked, over := make(chan struct{}), make(chan struct{})
			resolved := make(chan protocol.ResolvedParams, 1)
			r := start(t, conformance.Options{
				Ask: func(int, conformance.Ask) string {
					close(asked)
					<-over
					return "allow_once" // too late
				},
				Heard: func(method string, params json.RawMessage) {
					var p protocol.ResolvedParams
					if method == "tandem/session/resolved" && json.Unmarshal(params, &p) == nil {
						resolved <- p
					}
				},
			}, own(t, "{}"))
			s := r.session(map[string]any{"model": r.script("call write_file " + create("a.txt") + "\n\nsay Done.\n"), "mode": "ask"})
			turn := r.Begin("tandem/session/prompt", prompt(s, "go"))
			<-asked
			end(r, s)
			if name == "end of the input" {
				r.ended(1)
				close(over)
			} else {
				if p := <-resolved; p.SessionID != s || p.By != "end" || !p.AlreadyResolved {
					t.Errorf("%+v", p)
				}
				close(over)
				var ended turnEnd
				if raw, err := turn(r.ctx); err != nil || json.Unmarshal(raw, &ended) != nil || ended.StopReason != "cancelled" {
					t.Errorf("%s %v", raw, err)
				}
				r.end()
			}
			if _, err := os.Stat(filepath.Join(r.root, "a.txt")); err == nil {
				t.Error("it was written")
			}
		})
	}
}

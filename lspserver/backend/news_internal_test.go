package backend

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent"
	"tandem/filetime"
	"tandem/lspserver/review"
	"tandem/tools"
	"tandem/tools/run"
)

// TestFaultT18NewsOfHunks: of a file that a call has moved there is news by its old path too, where marks still stand, and of what was not
// applied, or was there already, there is none. What a command has changed is news as well. It comes in one event, sorted.
func TestFaultT18NewsOfHunks(t *testing.T) {
	landed := func(files ...filetime.LandedFile) *filetime.Landed { return &filetime.Landed{Files: files} }
	event := func(state run.State, call, command *filetime.Landed) agent.Event {
		return agent.Event{Call: &run.Event{State: state, Result: &tools.Result{Success: true, Landed: call, Effects: command}}}
	}
	moved := filetime.LandedFile{Path: "/new", Origin: "/old", Applied: true}
	for name, c := range map[string]struct {
		events []agent.Event
		want   []string
	}{
		"a move":               {[]agent.Event{event(run.Completed, landed(moved), nil)}, []string{"/new", "/old"}},
		"a move by a command":  {[]agent.Event{event(run.Completed, nil, landed(moved))}, []string{"/new", "/old"}},
		"an edit":              {[]agent.Event{event(run.Completed, landed(filetime.LandedFile{Path: "/a", Applied: true}), nil)}, []string{"/a"}},
		"what was not applied": {[]agent.Event{event(run.Completed, landed(filetime.LandedFile{Path: "/a", Origin: "/b"}), nil)}, nil},
		"what was there":       {[]agent.Event{event(run.Completed, landed(filetime.LandedFile{Path: "/a", Applied: true, Already: true}), nil)}, nil},
		"a call that runs":     {[]agent.Event{event(run.Executing, landed(moved), nil)}, nil},
		"a text":               {[]agent.Event{{Text: "x"}}, nil},
		"several": {[]agent.Event{
			event(run.Completed, landed(filetime.LandedFile{Path: "/z", Applied: true}), nil), event(run.Completed, landed(moved), nil),
		}, []string{"/new", "/old", "/z"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got [][]string
				n := newReviewNews(review.New(nil, "s", nil), func(fn func()) { fn() }, func(e agent.Event) { got = append(got, e.Hunks) })
				for _, e := range c.events {
					n.landed(e)
				}
				time.Sleep(2 * newsEvery)
				synctest.Wait()
				var want [][]string
				if c.want != nil {
					want = [][]string{c.want}
				}
				if !slices.EqualFunc(got, want, slices.Equal) {
					t.Errorf("%q, want %q", got, want)
				}
			})
		})
	}
}

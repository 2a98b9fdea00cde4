package backend

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent"
	"tandem/tools/run"
)

// window is a client whose person answers after some time, if at all, and which hears what ended a question before that.
type window struct {
	Face
	after  time.Duration // 0 never answers
	answer run.Answer
	late   bool // the answer comes even where the question has ended

	by     string
	option run.Option
}

func (w *window) Ask(ctx context.Context, _ *Session, _ run.Question) run.Answer {
	var answered <-chan time.Time
	if w.after > 0 {
		answered = time.After(w.after)
	}
	select {
	case <-answered:
		return w.answer
	case <-ctx.Done():
		w.by, w.option = ResolvedBy(ctx)
		if w.late {
			<-answered
			return w.answer
		}
		return run.Answer{Outcome: run.Unanswered}
	}
}

// TestF216TheFirstAnswerCounts: of several clients that are asked one answers, the question ends at the others, and they hear who has
// answered and what. A late answer is ignored, and a client without an answer takes none from the others.
func TestF216TheFirstAnswerCounts(t *testing.T) {
	allow := run.Answer{Outcome: run.Allowed, Option: run.AllowOnce}
	reject := run.Answer{Outcome: run.Rejected, Option: run.RejectOnce, Feedback: "not here"}
	gone, none := run.Answer{Outcome: run.Unanswered}, run.Answer{Outcome: run.Unavailable}
	for name, c := range map[string]struct {
		first, second window
		want          run.Answer
		by            string // what the second hears
		option        run.Option
	}{
		"the first":           {window{after: time.Second, answer: reject}, window{after: time.Hour, answer: allow}, reject, "editor 1", run.RejectOnce},
		"a late answer":       {window{after: time.Second, answer: allow}, window{after: time.Minute, answer: reject, late: true}, allow, "editor 1", run.AllowOnce},
		"one goes away":       {window{after: time.Second, answer: gone}, window{after: time.Minute, answer: allow}, allow, "", ""},
		"one cannot be asked": {window{after: time.Second, answer: none}, window{after: time.Minute, answer: reject}, reject, "", ""},
		"nobody answers":      {window{after: time.Second, answer: gone}, window{after: time.Minute, answer: none}, gone, "", ""},
		"nobody can be asked": {window{after: time.Second, answer: none}, window{after: time.Minute, answer: none}, none, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second := c.first, c.second
				got := resolveOnce(t.Context(), []attached{{&first, "editor 1"}, {&second, "editor 2"}}, nil, run.Question{})
				if got != c.want || second.by != c.by || second.option != c.option {
					t.Errorf("%+v, and the second hears %q %q", got, second.by, second.option)
				}
			})
		})
	}
}

// TestF216AQuestionEnds: the end of the turn, and the answer to another question, end the question at all clients.
func TestF216AQuestionEnds(t *testing.T) {
	for want, cause := range map[string]error{"end": context.Canceled, "rule": agent.ErrGranted} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			one, two := &window{}, &window{}
			time.AfterFunc(time.Second, func() { cancel(cause) })
			got := resolveOnce(ctx, []attached{{one, "a"}, {two, "b"}}, nil, run.Question{})
			if got.Outcome != run.Unanswered || one.by != want || two.by != want {
				t.Errorf("%+v, told %q and %q, not %q", got, one.by, two.by, want)
			}
		})
	}
}
